/* See settings.h.  The variable of the statistics is a switch that may also name a file. */
#include "emulator/support/settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

enum { MIN_MEMORY_MB = 64, MAX_MEMORY_MB = 1 << 24, MAX_THREADS = 256 };

static bool wants_stats, wants_check, wants_wait_check = true;
static char *stats_path;

/* ---- the report ------------------------------------------------------------------------------ */

static void read_environment(void) {
  const char *stats = roc_env_text("ROCLUA_EMULATE_STATS");
  wants_stats = stats && strcmp(stats, "0") != 0;
  if (wants_stats && strcmp(stats, "1") != 0) stats_path = strdup(stats); /* for good */
  roc_env_switch("ROCLUA_EMULATE_CHECK", &wants_check, NULL);
  roc_env_switch("ROCLUA_EMULATE_WAITCNT", &wants_wait_check, NULL);
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

/* ---- the GPUs -------------------------------------------------------------------------------- */

static roc_status read_memory_mb(uint64_t *mb, roc_error *err) {
  return roc_env_number("ROCLUA_EMULATE_MEMORY", MIN_MEMORY_MB, MAX_MEMORY_MB, mb, err);
}

static roc_status read_threads(uint64_t *threads, roc_error *err) {
  return roc_env_number("ROCLUA_EMULATE_THREADS", 1, MAX_THREADS, threads, err);
}

static roc_status read_atomics(bool *has_atomics, roc_error *err) {
  return roc_env_switch("ROCLUA_EMULATE_PCIE_ATOMICS", has_atomics, err);
}

uint64_t emu_asked_memory_mb(void) {
  uint64_t mb = 0;
  read_memory_mb(&mb, NULL);
  return mb;
}

uint32_t emu_asked_threads(void) {
  uint64_t threads = 0;
  read_threads(&threads, NULL);
  return (uint32_t)threads;
}

bool emu_lacks_atomics(void) {
  bool has_atomics = true;
  read_atomics(&has_atomics, NULL);
  return !has_atomics;
}

roc_status emu_settings_check(roc_error *err) {
  uint64_t number;
  bool is_on = false;
  ROC_TRY(read_memory_mb(&number, err));
  ROC_TRY(read_threads(&number, err));
  ROC_TRY(read_atomics(&is_on, err));
  ROC_TRY(roc_env_switch("ROCLUA_EMULATE_CHECK", &is_on, err));
  return roc_env_switch("ROCLUA_EMULATE_WAITCNT", &is_on, err);
}
