/* The clock, read from the host's. */
#include "emulator/support/clock.h"

#include <errno.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

uint64_t emu_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t emu_clock_ticks(void) {
  return emu_clock_ns() / EMU_TICK_NS;
}

void emu_clock_sleep(uint64_t ns) {
  struct timespec left = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}
