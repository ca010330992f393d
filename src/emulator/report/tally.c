/* Summing and printing what was counted.
 *
 * The layout is fixed, so that reports can be compared and read by programs: a head line that
 * begins with "kernel", lines of two blanks with totals, and a table that begins with "source". */
#include "emulator/report/tally.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "emulator/report/stats.h"
#include "emulator/support/settings.h"

enum { PLACE_WIDTH = 28 };

typedef unsigned long long number; /* as printf wants it */

typedef struct tally {
  number executed, splits;
  number lanes, slots; /* of vector instructions */
  number read, written, lines, least_lines, scalar, lds, conflicts, private, waited;
  number vector, other, accesses, misses, stalls, turns; /* of the model of time */
} tally;

static number get(emu_counter *from) {
  return atomic_load_explicit(from, memory_order_relaxed);
}

static bool is_vector_class(uint8_t class) {
  return class >= EMU_CLASS_VALU && class <= EMU_CLASS_ATOMIC;
}

static void add_row(tally *t, emu_stats_row *row, const emu_place *place) {
  t->executed += get(&row->executed);
  t->splits += get(&row->splits);
  if (is_vector_class(place->class)) {
    t->lanes += get(&row->lanes);
    t->slots += get(&row->slots);
  }
  t->vector += get(&row->slots) * place->factor;
  if (!is_vector_class(place->class)) t->other += get(&row->executed);
  t->accesses += get(&row->accesses);
  t->misses += get(&row->misses);
  t->stalls += get(&row->stalls);
  t->turns += get(&row->turns);
  t->read += get(&row->read);
  t->written += get(&row->written);
  t->lines += get(&row->lines);
  t->least_lines += get(&row->least_lines);
  t->scalar += get(&row->scalar_bytes);
  t->lds += get(&row->lds_bytes);
  t->conflicts += get(&row->conflicts);
  t->private += get(&row->private_bytes);
  t->waited += get(&row->waited);
}

static tally sum_rows(emu_stats *stats) {
  tally t = {0};
  for (uint32_t i = 0; i <= stats->source->ninsts; i++) {
    add_row(&t, &stats->rows[i], &stats->source->places[i]);
  }
  return t;
}

static double percent(number part, number whole) {
  return 100.0 * (double)part / (double)whole;
}

/* ---- a kernel's totals --------------------------------------------------------------------- */

static const char *const class_names[EMU_CLASSES] = {
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
    [EMU_CLASS_WAIT] = "waits for memory",
    [EMU_CLASS_BARRIER] = "barriers",
    [EMU_CLASS_MESSAGE] = "messages",
    [EMU_CLASS_NOTHING] = "no-ops",
};

static void print_classes(emu_stats *stats, number executed, FILE *out) {
  number by_class[EMU_CLASSES] = {0};
  for (uint32_t i = 0; i <= stats->source->ninsts; i++) {
    by_class[stats->source->places[i].class] += get(&stats->rows[i].executed);
  }
  fprintf(out, "  %-24s %14llu\n", "instructions", executed);
  for (int c = 0; c < EMU_CLASSES; c++) {
    if (!by_class[c]) continue;
    fprintf(out, "    %-22s %14llu %6.1f %%\n", class_names[c], by_class[c],
            percent(by_class[c], executed));
  }
}

static void print_total(const char *what, number count, const char *unit, FILE *out) {
  if (count) fprintf(out, "  %-24s %14llu %s\n", what, count, unit);
}

static void print_totals(emu_stats *stats, const tally *t, FILE *out) {
  if (t->slots) {
    fprintf(out, "  %-24s %14.1f %% of vector instructions\n", "lanes at work",
            percent(t->lanes, t->slots));
  }
  print_total("splits", t->splits, "times some of the active lanes went on alone", out);
  print_total("memory read", t->read, "bytes", out);
  print_total("memory written", t->written, "bytes", out);
  if (t->lines) {
    fprintf(out, "  %-24s %14llu of %u bytes, %llu at best: %.1f %% coalesced\n", "lines touched",
            t->lines, stats->line_bytes, t->least_lines, percent(t->least_lines, t->lines));
  }
  print_total("scalar memory read", t->scalar, "bytes", out);
  print_total("LDS", t->lds, "bytes", out);
  print_total("bank conflicts", t->conflicts, "extra cycles", out);
  print_total("private memory", t->private, "bytes", out);
  number barriers = get(&stats->barriers);
  print_total("workgroup barriers", barriers, "times a workgroup met", out);
  print_total("barrier waits", t->waited, "instructions of others waited for", out);
}

/* ---- the model of time --------------------------------------------------------------------- */

static void print_time(emu_stats *stats, const tally *t, FILE *out) {
  number launches = get(&stats->dispatches);
  number distinct = emu_stats_distinct(stats), most = t->lines / (launches ? launches : 1);
  const emu_work work = {
      .launches = launches,
      .groups = get(&stats->groups),
      .wavefronts = get(&stats->wavefronts),
      .resident = stats->resident,
      .vector = t->vector,
      .scalar = t->other,
      .lds_bytes = t->lds,
      .lds_conflicts = t->conflicts,
      .accesses = t->accesses,
      .misses = t->misses,
      .lines = t->lines,
      .line_bytes = stats->line_bytes,
      .distinct = (distinct < most ? distinct : most) * stats->line_bytes,
      .turns = t->turns,
      .stalls = t->stalls,
  };
  double times[EMU_BOUNDS];
  int bound = 0;
  emu_model_time(stats->model, &work, times);
  for (int i = 1; i < EMU_BOUNDS; i++) bound = times[i] > times[bound] ? i : bound;
  fprintf(out, "  %-24s %14.3f us by the model, bound by %s; %u wavefronts a SIMD\n", "time",
          times[bound], emu_bound_names[bound], work.resident);
  const char *before = "   ";
  for (int i = 0; i < EMU_BOUNDS; i++) {
    if (times[i] < 0.0005) continue;
    fprintf(out, "%s %s %.3f", before, emu_bound_names[i], times[i]);
    before = ",";
  }
  fprintf(out, "\n");
}

/* ---- its lines ----------------------------------------------------------------------------- */

static int compare_text(const char *a, const char *b) {
  if (!a || !b) return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

static int compare_places(const emu_place *a, const emu_place *b) {
  int by_file = compare_text(a->file, b->file);
  return by_file ? by_file : (a->line > b->line) - (a->line < b->line);
}

static void print_head(FILE *out) {
  fprintf(out, "  %-*s %12s %6s %7s %8s %12s %12s %9s %9s %9s\n", PLACE_WIDTH, "source",
          "instructions", "%", "lanes %", "splits", "read", "written", "coalesced", "conflicts",
          "waited");
}

static void print_share(int width, number part, number whole, FILE *out) {
  if (whole) {
    fprintf(out, " %*.1f", width, percent(part, whole));
  } else {
    fprintf(out, " %*s", width, "-");
  }
}

static void print_line(const emu_place *place, const tally *t, number executed, FILE *out) {
  char text[PLACE_WIDTH + 1];
  emu_place_format(place, text, sizeof text);
  fprintf(out, "  %-*s %12llu", PLACE_WIDTH, text, t->executed);
  print_share(6, t->executed, executed, out);
  print_share(7, t->lanes, t->slots, out);
  fprintf(out, " %8llu %12llu %12llu", t->splits, t->read, t->written);
  print_share(9, t->least_lines, t->lines, out);
  fprintf(out, " %9llu %9llu\n", t->conflicts, t->waited);
}

/* In the order of files and lines, the unknown ones first.  There are few, so each next one is
 * searched for. */
static void print_lines(emu_stats *stats, number executed, FILE *out) {
  const emu_source *source = stats->source;
  print_head(out);
  for (const emu_place *at = NULL;;) {
    const emu_place *next = NULL;
    for (uint32_t i = 0; i <= source->ninsts; i++) {
      const emu_place *place = &source->places[i];
      if (at && compare_places(place, at) <= 0) continue;
      if (!next || compare_places(place, next) < 0) next = place;
    }
    if (!next) return;
    tally t = {0};
    for (uint32_t i = 0; i <= source->ninsts; i++) {
      if (!compare_places(&source->places[i], next)) {
        add_row(&t, &stats->rows[i], &source->places[i]);
      }
    }
    if (t.executed) print_line(next, &t, executed, out);
    at = next;
  }
}

/* ---- all kernels --------------------------------------------------------------------------- */

static void print_kernel(emu_stats *stats, const tally *t, FILE *out) {
  const emu_source *source = stats->source;
  number launches = get(&stats->dispatches), groups = get(&stats->groups);
  number wavefronts = get(&stats->wavefronts);
  char ordinal[32] = "";
  if (source->ordinal > 1) snprintf(ordinal, sizeof ordinal, " (%u)", source->ordinal);
  fprintf(out, "kernel '%s'%s on %s: %llu launch%s, %llu workgroup%s, %llu wavefront%s\n",
          source->kernel, ordinal, source->chip, launches, launches == 1 ? "" : "es", groups,
          groups == 1 ? "" : "s", wavefronts, wavefronts == 1 ? "" : "s");
  print_classes(stats, t->executed, out);
  print_totals(stats, t, out);
  if (t->executed) print_time(stats, t, out);
  if (!source->is_runtime && t->executed) print_lines(stats, t->executed, out);
}

typedef struct sorted {
  emu_stats *stats;
  tally total;
  uint32_t launched; /* place in the order of first launches */
} sorted;

static int compare_kernels(const void *a, const void *b) {
  const sorted *x = a, *y = b;
  bool x_last = x->stats->source->is_runtime, y_last = y->stats->source->is_runtime;
  if (x_last != y_last) return x_last - y_last;
  if (x->total.executed != y->total.executed) {
    return x->total.executed < y->total.executed ? 1 : -1;
  }
  return (x->launched > y->launched) - (x->launched < y->launched);
}

static void print_all(void *out, emu_stats *first) {
  uint32_t count = 0;
  for (emu_stats *each = first; each; each = each->next) count++;
  sorted *kernels = count ? roc_alloc(sizeof *kernels * count) : NULL;
  if (!kernels) return;
  count = 0;
  for (emu_stats *each = first; each; each = each->next, count++) {
    kernels[count] = (sorted){each, sum_rows(each), count};
  }
  qsort(kernels, count, sizeof *kernels, compare_kernels);
  for (uint32_t i = 0; i < count; i++) {
    print_kernel(kernels[i].stats, &kernels[i].total, out);
  }
  roc_free(kernels);
}

/* Into a new file, or with NULL to stderr; false when the file system does not take the whole. */
static bool write_all(const char *path) {
  FILE *file = path ? fopen(path, "w") : stderr;
  if (!file) return false;
  emu_stats_visit(print_all, file);
  bool is_written = !ferror(file);
  return (!path || fclose(file) == 0) && is_written;
}

static _Atomic pid_t asked_in; /* 0: not asked for, or done */

roc_status emu_tally_conclude(roc_error *err) {
  const char *path = emu_stats_path();
  if (atomic_exchange(&asked_in, 0) != getpid()) return ROC_OK;
  if (write_all(path)) return ROC_OK;
  int why = errno;
  return roc_fail(err, ROC_IO, "cannot write the statistics of kernels to '%s': %s",
                  path ? path : "stderr", strerror(why));
}

static void print_at_exit(void) {
  roc_error err = ROC_ERROR_INIT;
  if (emu_tally_conclude(&err) != ROC_OK) fprintf(stderr, "roclua: %s\n", err.message);
}

static void ask_for_exit(void) {
  atomic_store(&asked_in, getpid());
  atexit(print_at_exit);
}

void emu_tally_at_exit(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ask_for_exit);
}
