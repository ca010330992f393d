/* Counting for --stats: one entry a kernel and chip, one row of counters an instruction.
 *
 * Entries are found under a lock once a dispatch and never freed; their counters are added to
 * without one. Nothing here knows how an instruction works: the interpreter reports what it is,
 * which lanes are active and what it accesses. */
#include "emulator/report/stats.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

enum { LDS_BANKS = 32, WORD = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static emu_stats *all;

static void add(emu_counter *to, uint64_t n) {
  if (n) atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

/* ---- entries ------------------------------------------------------------------------------- */

static emu_stats *make_entry(const emu_source *source, const emu_dispatch *dispatch) {
  emu_stats *stats = roc_zalloc(sizeof *stats);
  if (!stats) return NULL;
  stats->rows = roc_zalloc(sizeof *stats->rows * ((size_t)source->ninsts + 1));
  if (!stats->rows) {
    roc_free(stats);
    return NULL;
  }
  stats->source = source;
  stats->line_bytes = dispatch->chip->generation == EMU_GFX9 ? 64 : 128;
  return stats;
}

emu_stats *emu_stats_of(const emu_source *source, const emu_dispatch *dispatch) {
  pthread_mutex_lock(&lock);
  emu_stats **link = &all;
  while (*link && (*link)->source != source) link = &(*link)->next;
  if (!*link) *link = make_entry(source, dispatch);
  emu_stats *stats = *link;
  pthread_mutex_unlock(&lock);
  if (stats) add(&stats->dispatches, 1);
  return stats;
}

void emu_stats_visit(void (*visit)(void *ud, emu_stats *first), void *ud) {
  pthread_mutex_lock(&lock);
  visit(ud, all);
  pthread_mutex_unlock(&lock);
}

/* ---- instructions -------------------------------------------------------------------------- */

static emu_stats_row *row_at(emu_stats *stats, uint32_t index) {
  uint32_t ninsts = stats->source->ninsts;
  return &stats->rows[index < ninsts ? index : ninsts];
}

/* The instruction executed last is to blame when some, but not all, of its lanes go on. */
static void count_split(emu_stats *stats, emu_wave *wave, uint64_t exec) {
  bool is_part = exec && exec != wave->watched_exec && !(exec & ~wave->watched_exec);
  if (is_part) add(&row_at(stats, wave->watched_last)->splits, 1);
  wave->watched_exec = exec;
}

void emu_stats_step(emu_stats *stats, emu_wave *wave, const emu_inst *inst) {
  emu_stats_row *row = row_at(stats, inst->index);
  uint64_t exec = emu_exec(wave);
  add(&row->executed, 1);
  add(&row->lanes, (uint64_t)__builtin_popcountll(exec));
  add(&row->slots, wave->width);
  count_split(stats, wave, exec);
  wave->watched_last = inst->index;
  wave->watched_steps++;
}

/* ---- global memory ------------------------------------------------------------------------- */

/* Distinct lines the lanes touch.  Lanes mostly go upward, so looking back from the last line
 * finds nearly all repeats at once; the full search keeps it exact. */
static uint32_t count_lines(uint32_t line_bytes, const uint64_t *addresses, uint64_t lanes,
                            uint32_t nbytes) {
  uint64_t seen[2 * EMU_LANES];
  uint32_t count = 0;
  for (; lanes; lanes &= lanes - 1) {
    uint64_t address = addresses[__builtin_ctzll(lanes)], last = address + nbytes - 1;
    for (uint64_t line = address / line_bytes; line <= last / line_bytes; line++) {
      uint32_t i = count;
      while (i > 0 && seen[i - 1] != line) i--;
      if (i == 0 && count < 2 * EMU_LANES) seen[count++] = line;
    }
  }
  return count;
}

/* Lines that the distinct bytes would fill: lanes that read one word together move it once. */
static uint32_t least_lines(uint32_t line_bytes, const uint64_t *addresses, uint64_t lanes,
                            uint32_t nbytes) {
  uint64_t seen[EMU_LANES];
  uint32_t count = 0;
  for (; lanes; lanes &= lanes - 1) {
    uint64_t address = addresses[__builtin_ctzll(lanes)];
    uint32_t i = count;
    while (i > 0 && seen[i - 1] != address) i--;
    if (i == 0) seen[count++] = address;
  }
  return (count * nbytes + line_bytes - 1) / line_bytes;
}

static void count_global(emu_stats *stats, emu_stats_row *row, emu_access_kind kind,
                         const uint64_t *addresses, uint64_t lanes, uint32_t nbytes) {
  uint64_t moved = (uint64_t)__builtin_popcountll(lanes) * nbytes;
  if (kind != EMU_STORE) add(&row->read, moved);
  if (kind != EMU_LOAD) add(&row->written, moved);
  add(&row->lines, count_lines(stats->line_bytes, addresses, lanes, nbytes));
  add(&row->least_lines, least_lines(stats->line_bytes, addresses, lanes, nbytes));
}

/* ---- LDS ----------------------------------------------------------------------------------- */

/* The words that are wanted of each bank in one pass. */
typedef struct bank_pass {
  uint64_t words[LDS_BANKS][EMU_LANES];
  uint8_t depth[LDS_BANKS];
} bank_pass;

static void want_word(bank_pass *pass, uint64_t word, bool is_shared) {
  unsigned bank = word % LDS_BANKS, d = 0;
  if (is_shared) {
    while (d < pass->depth[bank] && pass->words[bank][d] != word) d++;
    if (d < pass->depth[bank]) return;
  }
  if (pass->depth[bank] < EMU_LANES) pass->words[bank][pass->depth[bank]++] = word;
}

/* Cycles beyond the first that the lanes of `lanes` need. */
static uint32_t count_extra(const uint64_t *addresses, uint64_t lanes, uint32_t nbytes,
                            bool is_shared) {
  bank_pass pass;
  uint8_t most = 1;
  memset(pass.depth, 0, sizeof pass.depth);
  for (; lanes; lanes &= lanes - 1) {
    uint64_t address = addresses[__builtin_ctzll(lanes)];
    for (uint64_t word = address / WORD; word <= (address + nbytes - 1) / WORD; word++) {
      want_word(&pass, word, is_shared);
    }
  }
  for (unsigned bank = 0; bank < LDS_BANKS; bank++) {
    if (pass.depth[bank] > most) most = pass.depth[bank];
  }
  return most - 1u;
}

static uint32_t count_conflicts(const uint64_t *addresses, uint64_t lanes, uint32_t nbytes,
                                bool is_shared) {
  unsigned served = nbytes <= WORD ? 32 : nbytes <= 2 * WORD ? 16 : 8;
  uint64_t mask = (UINT64_C(1) << served) - 1;
  uint32_t extra = 0;
  for (unsigned first = 0; first < EMU_LANES; first += served) {
    uint64_t some = lanes & mask << first;
    if (some) extra += count_extra(addresses, some, nbytes, is_shared);
  }
  return extra;
}

/* ---- what is told -------------------------------------------------------------------------- */

void emu_stats_access(emu_stats *stats, const emu_inst *inst, emu_space space, emu_access_kind kind,
                      const uint64_t addresses[EMU_LANES], uint64_t lanes, uint32_t nbytes) {
  emu_stats_row *row = row_at(stats, inst->index);
  uint64_t moved = (uint64_t)__builtin_popcountll(lanes) * nbytes;
  if (inst->op->class == EMU_CLASS_SMEM) {
    add(&row->scalar_bytes, moved);
  } else if (space == EMU_GLOBAL) {
    count_global(stats, row, kind, addresses, lanes, nbytes);
  } else if (space == EMU_LDS) {
    add(&row->lds_bytes, moved);
    add(&row->conflicts, count_conflicts(addresses, lanes, nbytes, kind != EMU_ATOMIC));
  } else {
    add(&row->private_bytes, moved);
  }
}

void emu_stats_group(emu_stats *stats, const emu_group *group) {
  add(&stats->groups, 1);
  add(&stats->wavefronts, group->nwaves);
}

/* Wavefronts that have ended neither wait nor are waited for. */
void emu_stats_barrier(emu_stats *stats, const emu_group *group) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < group->nwaves; i++) {
    const emu_wave *wave = &group->waves[i];
    if (wave->state != EMU_ENDED && wave->watched_steps > most) most = wave->watched_steps;
  }
  for (uint32_t i = 0; i < group->nwaves; i++) {
    emu_wave *wave = &group->waves[i];
    if (wave->state == EMU_ENDED) continue;
    add(&row_at(stats, wave->watched_last)->waited, most - wave->watched_steps);
    wave->watched_steps = 0;
  }
  add(&stats->barriers, 1);
}
