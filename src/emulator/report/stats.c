/* Counting for --stats: one entry a kernel and chip, one row of counters an instruction.
 *
 * Entries are found under a lock once a dispatch and never freed; their counters are added to
 * without one. Nothing here knows how an instruction works: the interpreter reports what it is,
 * which lanes are active and what it accesses. */
#include "emulator/report/stats.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

enum { LDS_BANKS = 32, WORD = 4, SEEN_SHIFT = 20, SEEN_BITS = 1 << SEEN_SHIFT };
enum { CACHE_BYTES = 16384, LEAST_LINE = 64 }; /* of the first cache */

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
  stats->seen = roc_zalloc(SEEN_BITS / 8);
  if (!stats->rows || !stats->seen) {
    roc_free(stats->rows);
    roc_free(stats->seen);
    roc_free(stats);
    return NULL;
  }
  stats->source = source;
  stats->model = emu_model_find(source->chip);
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

/* Which loads the instruction waits for, and whether for all of them: AMD's ISA manuals,
 * "S_WAITCNT", and LLVM's layouts of its field. */
typedef struct wait {
  bool waits[EMU_LOAD_KINDS], is_partial[EMU_LOAD_KINDS];
} wait;

static wait read_wait(const emu_inst *inst) {
  wait w = {{false}, {false}};
  const char *name = inst->op->name;
  if (inst->chip == EMU_GFX12) {
    w.waits[EMU_LOAD_MEMORY] = strstr(name, "loadcnt") != NULL;
    w.waits[EMU_LOAD_LDS] = strstr(name, "dscnt") != NULL;
    w.waits[EMU_LOAD_SCALAR] = strstr(name, "kmcnt") != NULL;
    for (int n = 0; n < EMU_LOAD_KINDS; n++) w.is_partial[n] = inst->imm != 0;
    return w;
  }
  if (strcmp(name, "s_waitcnt")) return w;
  uint32_t field = (uint32_t)inst->imm, memory, other, most;
  if (inst->chip == EMU_GFX11) {
    memory = field >> 10 & 63, other = field >> 4 & 63, most = 63;
  } else {
    most = inst->chip == EMU_GFX9 ? 15 : 63;
    memory = (field & 15) | (field >> 14 & 3) << 4, other = field >> 8 & most;
  }
  w.waits[EMU_LOAD_MEMORY] = memory != 63;
  w.waits[EMU_LOAD_LDS] = w.waits[EMU_LOAD_SCALAR] = other != most;
  w.is_partial[EMU_LOAD_MEMORY] = memory != 0;
  w.is_partial[EMU_LOAD_LDS] = w.is_partial[EMU_LOAD_SCALAR] = other != 0;
  return w;
}

static void begin_load(emu_modelled *time, emu_load_kind kind, uint32_t latency) {
  time->last[kind] = time->now + latency;
  if (!time->first[kind]) time->first[kind] = time->last[kind];
}

/* The load that began last takes longer than was thought. */
static void delay_load(emu_modelled *time, emu_load_kind kind, uint32_t latency) {
  uint64_t due = time->now + latency;
  if (!time->last[kind] || due <= time->last[kind]) return;
  if (time->first[kind] == time->last[kind]) time->first[kind] = due;
  time->last[kind] = due;
}

/* A wait for some of a kind's loads ends with the first one's. */
static uint64_t end_loads(emu_modelled *time, const emu_inst *inst) {
  wait w = read_wait(inst);
  uint64_t until = time->now;
  for (int kind = 0; kind < EMU_LOAD_KINDS; kind++) {
    if (!w.waits[kind]) continue;
    uint64_t due = w.is_partial[kind] ? time->first[kind] : time->last[kind];
    if (due > until) until = due;
    time->first[kind] = w.is_partial[kind] ? time->last[kind] : 0;
    if (!w.is_partial[kind]) time->last[kind] = 0;
  }
  return until - time->now;
}

/* Lets the wavefront's time pass; the cycles it waits. */
static uint64_t pass_time(const emu_stats *stats, emu_wave *wave, const emu_inst *inst,
                          uint32_t factor) {
  const emu_model *model = stats->model;
  emu_modelled *time = &wave->modelled;
  uint64_t stall = 0;
  switch (inst->op->class) {
    case EMU_CLASS_LOAD:
    case EMU_CLASS_ATOMIC: begin_load(time, EMU_LOAD_MEMORY, model->l1_latency); break;
    case EMU_CLASS_LDS_LOAD:
    case EMU_CLASS_LDS_ATOMIC: begin_load(time, EMU_LOAD_LDS, model->lds_latency); break;
    case EMU_CLASS_SMEM: begin_load(time, EMU_LOAD_SCALAR, model->scalar_latency); break;
    case EMU_CLASS_WAIT: stall = end_loads(time, inst); break;
    default: break;
  }
  time->now += stall + (uint64_t)(factor ? factor : 1) * wave->width / model->lanes;
  return stall;
}

void emu_stats_step(emu_stats *stats, emu_wave *wave, const emu_inst *inst) {
  emu_stats_row *row = row_at(stats, inst->index);
  uint64_t exec = emu_exec(wave);
  add(&row->executed, 1);
  add(&row->lanes, (uint64_t)__builtin_popcountll(exec));
  add(&row->slots, wave->width);
  uint32_t factor = emu_source_place(stats->source, inst->index)->factor;
  add(&row->stalls, pass_time(stats, wave, inst, factor));
  count_split(stats, wave, exec);
  wave->watched_last = inst->index;
  wave->watched_steps++;
}

/* ---- global memory ------------------------------------------------------------------------- */

/* Distinct lines the lanes touch.  Lanes mostly go upward, so looking back from the last line
 * finds nearly all repeats at once; the full search keeps it exact. */
static uint32_t count_lines(uint32_t line_bytes, const uint64_t *addresses, uint64_t lanes,
                            uint32_t nbytes, uint64_t seen[2 * EMU_LANES]) {
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

/* Lanes that read one word together move it once. */
static uint32_t count_words(const uint64_t *addresses, uint64_t lanes) {
  uint64_t seen[EMU_LANES];
  uint32_t count = 0;
  for (; lanes; lanes &= lanes - 1) {
    uint64_t address = addresses[__builtin_ctzll(lanes)];
    uint32_t i = count;
    while (i > 0 && seen[i - 1] != address) i--;
    if (i == 0) seen[count++] = address;
  }
  return count;
}

/* A bit as good as drawn: the estimate of emu_stats_distinct takes lines that follow each other for
 * as likely to share one as any others. */
static uint64_t bit_of_line(uint64_t line) {
  line = (line ^ line >> 32) * UINT64_C(0x9e3779b97f4a7c15);
  line = (line ^ line >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
  return line >> (64 - SEEN_SHIFT);
}

/* Whether the line is a new one. */
static bool see_line(emu_stats *stats, uint64_t line) {
  uint64_t bit = bit_of_line(line);
  emu_counter *word = &stats->seen[bit / 64];
  uint64_t mask = UINT64_C(1) << bit % 64;
  if (atomic_load_explicit(word, memory_order_relaxed) & mask) return false;
  return !(atomic_fetch_or_explicit(word, mask, memory_order_relaxed) & mask);
}

/* The first cache as the workgroup that this thread runs would have it to itself: what line lies in
 * each place, plus one. */
static _Thread_local uint64_t first_cache[CACHE_BYTES / LEAST_LINE];

/* Whether it had to be fetched. */
static bool fetch_line(const emu_stats *stats, uint64_t line) {
  uint64_t *place = &first_cache[(line ^ line >> 8) % (CACHE_BYTES / stats->line_bytes)];
  bool is_new = *place != line + 1;
  *place = line + 1;
  return is_new;
}

/* Several lines may share a bit: how many there were follows from how many bits are clear. */
uint64_t emu_stats_distinct(emu_stats *stats) {
  uint64_t clear = SEEN_BITS;
  for (uint32_t i = 0; i < SEEN_BITS / 64; i++) {
    uint64_t word = atomic_load_explicit(&stats->seen[i], memory_order_relaxed);
    clear -= (uint64_t)__builtin_popcountll(word);
  }
  return (uint64_t)llround(SEEN_BITS * log((double)SEEN_BITS / (double)(clear ? clear : 1)));
}

static void count_global(emu_stats *stats, emu_stats_row *row, emu_wave *wave, emu_access_kind kind,
                         const uint64_t *addresses, uint64_t lanes, uint32_t nbytes) {
  uint64_t moved = (uint64_t)__builtin_popcountll(lanes) * nbytes;
  if (kind != EMU_STORE) add(&row->read, moved);
  if (kind != EMU_LOAD) add(&row->written, moved);
  uint64_t seen[2 * EMU_LANES];
  uint32_t nlines = count_lines(stats->line_bytes, addresses, lanes, nbytes, seen);
  uint32_t nwords = count_words(addresses, lanes);
  add(&row->accesses, 1);
  add(&row->lines, nlines);
  add(&row->least_lines, (nwords * nbytes + stats->line_bytes - 1) / stats->line_bytes);
  if (kind == EMU_ATOMIC) add(&row->turns, (uint64_t)__builtin_popcountll(lanes) - nwords);
  uint32_t misses = 0, latency = 0;
  for (uint32_t i = 0; i < nlines; i++) {
    bool is_new = see_line(stats, seen[i]), is_missed = fetch_line(stats, seen[i]);
    misses += is_missed;
    if (is_missed && !latency) latency = stats->model->l2_latency;
    if (is_new) latency = stats->model->memory_latency;
  }
  add(&row->misses, misses);
  if (kind != EMU_STORE) delay_load(&wave->modelled, EMU_LOAD_MEMORY, latency);
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

void emu_stats_access(emu_stats *stats, emu_wave *wave, const emu_inst *inst, emu_space space,
                      emu_access_kind kind, const uint64_t addresses[EMU_LANES], uint64_t lanes,
                      uint32_t nbytes) {
  emu_stats_row *row = row_at(stats, inst->index);
  uint64_t moved = (uint64_t)__builtin_popcountll(lanes) * nbytes;
  if (inst->op->class == EMU_CLASS_SMEM) {
    add(&row->scalar_bytes, moved);
  } else if (space == EMU_GLOBAL) {
    count_global(stats, row, wave, kind, addresses, lanes, nbytes);
  } else if (space == EMU_LDS) {
    add(&row->lds_bytes, moved);
    add(&row->conflicts, count_conflicts(addresses, lanes, nbytes, kind != EMU_ATOMIC));
  } else {
    add(&row->private_bytes, moved);
  }
}

void emu_stats_group(emu_stats *stats, const emu_group *group) {
  stats->resident = emu_model_resident(stats->model, group);
  memset(first_cache, 0, sizeof first_cache);
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
