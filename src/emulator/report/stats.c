/* Counting for --stats: one entry a kernel and chip, one row of counters an instruction.
 *
 * Entries are found under a lock once a dispatch and never freed; their counters are added to
 * without one. Nothing here knows how an instruction works: what it is, which lanes are at work and
 * what it touches is told by the interpreter. */
#include "emulator/report/stats.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "emulator/gpu/program.h"

enum {
  LINE_BYTES = 64, /* of the vector cache */
  LDS_BANKS = 32,
  LDS_LANES = 32, /* served at a time */
  WORD = 4
};

typedef _Atomic uint64_t counter;

typedef struct row {
  counter executed, lanes, slots;    /* wavefronts, their active lanes, and all their lanes */
  counter bytes, lines, least_lines; /* global memory: moved, touched, and enough at best */
  counter lds_bytes, conflicts;      /* LDS: moved, and extra cycles */
} row;

/* What the report needs of an instruction after its program is gone. */
typedef struct fact {
  uint32_t line;
  uint8_t class;
  bool is_vector, reads;
} fact;

struct emu_stats {
  emu_stats *next;
  char kernel[128];
  const char *chip;
  uint64_t entry; /* address of the code: two kernels may share a name */
  uint32_t ninsts;
  counter dispatches, groups, wavefronts, barriers, waited;
  row *rows;
  fact *facts;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static emu_stats *all;

static void add(counter *counter, uint64_t n) {
  atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t get(counter *counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- entries ------------------------------------------------------------------------------- */

static bool is_vector_class(uint8_t class) {
  return class >= EMU_CLASS_VALU && class <= EMU_CLASS_ATOMIC;
}

static void note_facts(emu_stats *stats, const emu_program *program) {
  for (uint32_t i = 0; i < stats->ninsts; i++) {
    const emu_inst *inst = &program->insts[i];
    fact *f = &stats->facts[i];
    f->line = inst->line;
    f->class = inst->op ? inst->op->class : EMU_CLASS_NOTHING;
    f->is_vector = is_vector_class(f->class);
  }
}

static emu_stats *make_entry(const emu_dispatch *dispatch) {
  emu_stats *stats = roc_zalloc(sizeof *stats);
  if (!stats) return NULL;
  stats->ninsts = dispatch->program->ninsts;
  stats->rows =
      roc_zalloc(sizeof *stats->rows * (stats->ninsts + 1)); /* the last: code met later */
  stats->facts = roc_zalloc(sizeof *stats->facts * (stats->ninsts + 1));
  if (!stats->rows || !stats->facts) {
    roc_free(stats->rows);
    roc_free(stats->facts);
    roc_free(stats);
    return NULL;
  }
  stats->chip = dispatch->chip->name;
  stats->entry = dispatch->program->entry;
  strncpy(stats->kernel, dispatch->kernel, sizeof stats->kernel - 1);
  note_facts(stats, dispatch->program);
  return stats;
}

static bool is_of(const emu_stats *stats, const emu_dispatch *dispatch) {
  return stats->entry == dispatch->program->entry && stats->ninsts == dispatch->program->ninsts &&
         stats->chip == dispatch->chip->name &&
         !strncmp(stats->kernel, dispatch->kernel, sizeof stats->kernel - 1);
}

emu_stats *emu_stats_of(const emu_dispatch *dispatch) {
  pthread_mutex_lock(&lock);
  emu_stats **link = &all;
  while (*link && !is_of(*link, dispatch)) link = &(*link)->next;
  if (!*link) *link = make_entry(dispatch);
  emu_stats *stats = *link;
  pthread_mutex_unlock(&lock);
  if (stats) add(&stats->dispatches, 1);
  return stats;
}

/* ---- counting ------------------------------------------------------------------------------ */

static row *row_of(emu_stats *stats, const emu_inst *inst) {
  return &stats->rows[inst->index < stats->ninsts ? inst->index : stats->ninsts];
}

void emu_stats_step(emu_stats *stats, const emu_wave *wave, const emu_inst *inst) {
  row *r = row_of(stats, inst);
  add(&r->executed, 1);
  add(&r->lanes, (uint64_t)__builtin_popcountll(emu_exec(wave)));
  add(&r->slots, wave->width);
}

/* Distinct lines the lanes touch.  Lanes mostly go upward, so looking back at the last few lines
 * finds nearly all repeats at once; the full search keeps it exact. */
static uint32_t count_lines(const uint64_t *addresses, uint64_t lanes, uint32_t nbytes) {
  uint64_t seen[2 * EMU_LANES];
  uint32_t count = 0;
  for (; lanes; lanes &= lanes - 1) {
    uint64_t address = addresses[__builtin_ctzll(lanes)];
    for (uint64_t l = address / LINE_BYTES; l <= (address + nbytes - 1) / LINE_BYTES; l++) {
      uint32_t i = count;
      while (i > 0 && seen[i - 1] != l) i--;
      if (i == 0 && count < 2 * EMU_LANES) seen[count++] = l;
    }
  }
  return count;
}

/* Lines that the distinct bytes would fill: lanes that read one word together move it once. */
static uint32_t least_lines(const uint64_t *addresses, uint64_t lanes, uint32_t nbytes) {
  uint64_t distinct = 0;
  for (uint64_t rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(rest);
    uint64_t before = lanes & ((UINT64_C(1) << lane) - 1);
    while (before && addresses[63 - __builtin_clzll(before)] != addresses[lane]) {
      before &= ~(UINT64_C(1) << (63 - __builtin_clzll(before)));
    }
    distinct += before == 0;
  }
  return (uint32_t)((distinct * nbytes + LINE_BYTES - 1) / LINE_BYTES);
}

/* Cycles of one pass: the most distinct words any bank has to give. */
static uint32_t bank_cycles(const uint64_t *words, unsigned n) {
  uint64_t seen[LDS_BANKS][LDS_LANES];
  uint8_t depth[LDS_BANKS] = {0};
  uint32_t most = 0;
  for (unsigned i = 0; i < n; i++) {
    unsigned bank = words[i] % LDS_BANKS, d = 0;
    while (d < depth[bank] && seen[bank][d] != words[i]) d++;
    if (d < depth[bank]) continue;
    seen[bank][depth[bank]++] = words[i];
    if (depth[bank] > most) most = depth[bank];
  }
  return most;
}

static uint32_t count_conflicts(const uint64_t *addresses, uint64_t lanes, uint32_t nbytes) {
  uint32_t extra = 0, words = (nbytes + WORD - 1) / WORD;
  for (unsigned half = 0; half < EMU_LANES; half += LDS_LANES) {
    for (uint32_t w = 0; w < words; w++) {
      uint64_t pass[LDS_LANES];
      unsigned n = 0;
      for (unsigned lane = half; lane < half + LDS_LANES; lane++) {
        if (lanes >> lane & 1) pass[n++] = addresses[lane] / WORD + w;
      }
      uint32_t cycles = bank_cycles(pass, n);
      if (cycles > 1) extra += cycles - 1;
    }
  }
  return extra;
}

void emu_stats_access(emu_stats *stats, const emu_inst *inst, emu_space space, emu_access_kind kind,
                      const uint64_t addresses[EMU_LANES], uint64_t lanes, uint32_t nbytes) {
  row *r = row_of(stats, inst);
  uint64_t moved = (uint64_t)__builtin_popcountll(lanes) * nbytes;
  if (inst->index < stats->ninsts) stats->facts[inst->index].reads = kind == EMU_LOAD;
  if (space == EMU_GLOBAL) {
    add(&r->bytes, moved);
    add(&r->lines, count_lines(addresses, lanes, nbytes));
    add(&r->least_lines, least_lines(addresses, lanes, nbytes));
  } else if (space == EMU_LDS) {
    add(&r->lds_bytes, moved);
    add(&r->conflicts, count_conflicts(addresses, lanes, nbytes));
  }
}

void emu_stats_group(emu_stats *stats, const emu_group *group) {
  add(&stats->groups, 1);
  add(&stats->wavefronts, group->nwaves);
}

void emu_stats_barrier(emu_stats *stats, const emu_group *group) {
  uint64_t most = 0, waited = 0;
  for (uint32_t i = 0; i < group->nwaves; i++) {
    const emu_wave *wave = &group->waves[i];
    if (wave->state != EMU_ENDED && wave->watched_steps > most) most = wave->watched_steps;
  }
  for (uint32_t i = 0; i < group->nwaves; i++) {
    emu_wave *wave = &group->waves[i];
    if (wave->state != EMU_ENDED) waited += most - wave->watched_steps;
    wave->watched_steps = 0;
  }
  add(&stats->barriers, 1);
  add(&stats->waited, waited);
}

/* ---- the report ---------------------------------------------------------------------------- */

typedef struct total {
  uint64_t executed, lanes, slots; /* lanes and slots: of vector instructions */
  uint64_t read, written, lines, least_lines, lds_bytes, conflicts;
} total;

static void add_row(total *t, row *r, const fact *f) {
  t->executed += get(&r->executed);
  if (f->is_vector) {
    t->slots += get(&r->slots);
    t->lanes += get(&r->lanes);
  }
  *(f->reads ? &t->read : &t->written) += get(&r->bytes);
  t->lines += get(&r->lines);
  t->least_lines += get(&r->least_lines);
  t->lds_bytes += get(&r->lds_bytes);
  t->conflicts += get(&r->conflicts);
}

static double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

static const char *const CLASS_NAMES[EMU_CLASSES] = {
    [EMU_CLASS_SALU] = "scalar",
    [EMU_CLASS_SMEM] = "scalar loads",
    [EMU_CLASS_VALU] = "vector",
    [EMU_CLASS_TRANS] = "vector, transcendental",
    [EMU_CLASS_CROSS] = "vector, across lanes",
    [EMU_CLASS_LDS_LOAD] = "LDS loads",
    [EMU_CLASS_LDS_STORE] = "LDS stores",
    [EMU_CLASS_LDS_ATOMIC] = "LDS atomics",
    [EMU_CLASS_LOAD] = "memory loads",
    [EMU_CLASS_STORE] = "memory stores",
    [EMU_CLASS_ATOMIC] = "memory atomics",
    [EMU_CLASS_CACHE] = "cache control",
    [EMU_CLASS_BRANCH] = "branches",
    [EMU_CLASS_WAIT] = "waits",
    [EMU_CLASS_BARRIER] = "barriers",
    [EMU_CLASS_MESSAGE] = "messages",
    [EMU_CLASS_NOTHING] = "no-ops",
};

static void print_classes(emu_stats *stats, FILE *out) {
  uint64_t by_class[EMU_CLASSES] = {0};
  for (uint32_t i = 0; i < stats->ninsts; i++) {
    by_class[stats->facts[i].class] += get(&stats->rows[i].executed);
  }
  for (int c = 0; c < EMU_CLASSES; c++) {
    if (by_class[c])
      fprintf(out, "    %-24s %12llu\n", CLASS_NAMES[c], (unsigned long long)by_class[c]);
  }
}

static void print_memory(const total *t, FILE *out) {
  if (t->lines) {
    fprintf(out,
            "  memory: %llu bytes read, %llu written; %llu lines of %d bytes touched, %llu at "
            "best (%.1f %% coalesced)\n",
            (unsigned long long)t->read, (unsigned long long)t->written,
            (unsigned long long)t->lines, LINE_BYTES, (unsigned long long)t->least_lines,
            percent(t->least_lines, t->lines));
  }
  if (t->lds_bytes) {
    fprintf(out, "  LDS: %llu bytes moved, %llu extra cycles for bank conflicts\n",
            (unsigned long long)t->lds_bytes, (unsigned long long)t->conflicts);
  }
}

/* Lines in the order of their number; there are few, so each is searched for. */
static void print_lines(emu_stats *stats, FILE *out) {
  bool has_head = false;
  for (uint32_t line = 0, next;; line = next) {
    next = UINT32_MAX;
    total t = {0};
    for (uint32_t i = 0; i < stats->ninsts; i++) {
      uint32_t of = stats->facts[i].line;
      if (of == line) add_row(&t, &stats->rows[i], &stats->facts[i]);
      if (of > line && of < next) next = of;
    }
    if (line && t.executed) {
      if (!has_head) {
        fprintf(out, "  %8s %14s %8s %12s %12s %10s %10s\n", "line", "instructions", "lanes %",
                "bytes read", "written", "coalesced", "conflicts");
      }
      has_head = true;
      fprintf(out, "  %8u %14llu %8.1f %12llu %12llu %10.1f %10llu\n", line,
              (unsigned long long)t.executed, percent(t.lanes, t.slots), (unsigned long long)t.read,
              (unsigned long long)t.written, percent(t.least_lines, t.lines),
              (unsigned long long)t.conflicts);
    }
    if (next == UINT32_MAX) return;
  }
}

static void print_kernel(emu_stats *stats, FILE *out) {
  total t = {0};
  for (uint32_t i = 0; i <= stats->ninsts; i++) add_row(&t, &stats->rows[i], &stats->facts[i]);
  fprintf(out, "kernel '%s' on %s: %llu dispatches, %llu workgroups, %llu wavefronts\n",
          stats->kernel, stats->chip, (unsigned long long)get(&stats->dispatches),
          (unsigned long long)get(&stats->groups), (unsigned long long)get(&stats->wavefronts));
  fprintf(out, "  instructions: %llu; lanes at work in vector instructions: %.1f %%\n",
          (unsigned long long)t.executed, percent(t.lanes, t.slots));
  print_classes(stats, out);
  print_memory(&t, out);
  if (get(&stats->barriers)) {
    fprintf(out, "  barriers: %llu, at which wavefronts waited for %llu instructions of others\n",
            (unsigned long long)get(&stats->barriers), (unsigned long long)get(&stats->waited));
  }
  print_lines(stats, out);
}

bool emu_stats_print(FILE *out) {
  pthread_mutex_lock(&lock);
  for (emu_stats *stats = all; stats; stats = stats->next) print_kernel(stats, out);
  bool is_any = all != NULL;
  pthread_mutex_unlock(&lock);
  return is_any;
}
