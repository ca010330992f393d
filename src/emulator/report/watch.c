/* The watch of a dispatch: hands what is reported to the statistics and to the checks.
 *
 * Which of the two are on is the process's setting; a dispatch of neither has no watch. */
#include "emulator/report/watch.h"

#include <string.h>

#include "base/alloc.h"
#include "emulator/report/check.h"
#include "emulator/report/stats.h"
#include "emulator/report/tally.h"
#include "emulator/support/settings.h"

struct emu_watch {
  const emu_source *source;
  emu_stats *stats;         /* NULL: not counted */
  uint64_t dispatch_number; /* 0: not checked */
};

emu_watch *emu_watch_begin(const emu_dispatch *dispatch) {
  if (!emu_wants_stats() && !emu_wants_check()) return NULL;
  const emu_source *source = emu_source_of(dispatch);
  emu_watch *watch = source ? roc_zalloc(sizeof *watch) : NULL;
  if (!watch) return NULL;
  watch->source = source;
  if (emu_wants_stats()) {
    watch->stats = emu_stats_of(source, dispatch);
    emu_tally_at_exit();
  }
  if (emu_wants_check()) watch->dispatch_number = emu_check_begin();
  return watch;
}

void emu_watch_end(emu_watch *watch) {
  roc_free(watch);
}

void emu_watch_group(emu_watch *watch, emu_group *group) {
  for (uint32_t i = 0; i < group->nwaves; i++) {
    emu_wave *wave = &group->waves[i];
    wave->watched_steps = wave->watched_acquire = 0;
    wave->watched_exec = emu_exec(wave);
    wave->watched_last = 0;
    wave->modelled = (emu_modelled){.now = 1};
  }
  if (watch->stats) emu_stats_group(watch->stats, group);
  group->watched = watch->dispatch_number ? emu_check_group_new() : NULL;
}

void emu_watch_group_end(emu_watch *watch, emu_group *group) {
  (void)watch;
  emu_check_group_free(group->watched);
  group->watched = NULL;
}

void emu_watch_barrier(emu_watch *watch, emu_group *group) {
  if (watch->stats) emu_stats_barrier(watch->stats, group);
  if (group->watched) emu_check_barrier(group);
}

/* The invalidations that an acquire at device scope ends in. */
static bool is_acquire(const emu_inst *inst) {
  static const char *const NAMES[] = {"buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_gl1_inv",
                                      "buffer_invl2"};
  for (unsigned i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    if (!strcmp(inst->op->name, NAMES[i])) return true;
  }
  return false;
}

void emu_watch_step(emu_wave *wave, const emu_inst *inst) {
  emu_watch *watch = wave->watch;
  if (watch->stats) emu_stats_step(watch->stats, wave, inst);
  if (watch->dispatch_number && inst->op->class == EMU_CLASS_CACHE && is_acquire(inst)) {
    emu_check_acquire(wave);
  }
}

void emu_watch_access(emu_wave *wave, const emu_inst *inst, emu_space space, emu_access_kind kind,
                      const uint64_t addresses[EMU_LANES], uint64_t lanes, uint32_t nbytes,
                      const void *values) {
  emu_watch *watch = wave->watch;
  if (watch->stats) {
    emu_stats_access(watch->stats, wave, inst, space, kind, addresses, lanes, nbytes);
  }
  if (watch->dispatch_number) {
    emu_check_access(watch->source, watch->dispatch_number, wave, inst, space, kind, addresses,
                     lanes, nbytes, values);
  }
}

void emu_watch_copied(uint64_t address, uint64_t nbytes) {
  if (emu_wants_check()) emu_check_mark(address, nbytes, false);
}

void emu_watch_allocated(uint64_t address, uint64_t nbytes) {
  if (emu_wants_check()) emu_check_mark(address, nbytes, true);
}

void emu_watch_freed(uint64_t address, uint64_t nbytes) {
  if (emu_wants_check()) emu_check_forget(address, nbytes);
}
