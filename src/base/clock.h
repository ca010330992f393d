/* Monotonic time in nanoseconds, for measuring and for deadlines.  Any thread. */
#ifndef ROC_BASE_CLOCK_H
#define ROC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t roc_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Adds the time since *mark to *ms, and moves the mark. */
static inline void roc_clock_lap(double *ms, uint64_t *mark) {
  uint64_t now = roc_clock_ns();
  *ms += (double)(now - *mark) / 1e6;
  *mark = now;
}

/* Tells the core that this thread spins. */
static inline void roc_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

#endif
