/* Reads the switches of the report from the environment.
 *
 * A variable that is set and neither empty nor "0" is on; the one of the statistics may also name a
 * file. */
#include "emulator/report/settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static bool wants_stats, wants_check, wants_wait_check;
static char *stats_path;

static bool is_on(const char *name) {
  const char *value = getenv(name);
  return value && *value && strcmp(value, "0") != 0;
}

static void read_environment(void) {
  wants_stats = is_on("ROCLUA_EMULATE_STATS");
  if (wants_stats && strcmp(getenv("ROCLUA_EMULATE_STATS"), "1") != 0) {
    stats_path = strdup(getenv("ROCLUA_EMULATE_STATS")); /* for good */
  }
  wants_check = is_on("ROCLUA_EMULATE_CHECK");
  wants_wait_check = !getenv("ROCLUA_EMULATE_WAITCNT") || is_on("ROCLUA_EMULATE_WAITCNT");
}

static void read_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
}

bool emu_wants_stats(void) {
  read_once();
  return wants_stats;
}

const char *emu_stats_path(void) {
  read_once();
  return stats_path;
}

bool emu_wants_check(void) {
  read_once();
  return wants_check;
}

bool emu_wants_wait_check(void) {
  read_once();
  return wants_wait_check;
}
