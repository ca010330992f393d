/* What kernels did, counted: instructions by class, lanes at work, memory traffic, LDS conflicts.
 *
 * Counts are kept per kernel and instruction for the life of the process and added to by all
 * threads at once; tally.c sums and prints them.
 *   Coalescing: a wavefront's access needs as many cache lines as it touches (64 bytes each on
 * gfx9, 128 on gfx10); at best the bytes it moves fill their lines.
 *   Bank conflicts: LDS has 32 banks of 4 bytes and gives a word of each in a cycle, so it serves
 * 32 lanes at a time, 16 when a lane moves 8 bytes, 8 when it moves more. Each further word that
 * falls into a bank already in use costs a cycle. Lanes that read one word share it; atomics do
 * not.
 *   Splits: the wavefront went on with some of its active lanes, leaving the others for later.
 *   Stalls: cycles that a wavefront waited for its loads by the model of time (model.h), if nothing
 * but its own instructions passed the time.
 *   Turns: lanes of an atomic operation on memory that found another lane on their word.
 *   Barrier waits: instructions the workgroup's busiest wavefront executed since the last barrier,
 * less the wavefront's own. */
#ifndef ROC_EMULATOR_REPORT_STATS_H
#define ROC_EMULATOR_REPORT_STATS_H

#include <stdatomic.h>
#include <stdio.h>

#include "emulator/report/model.h"
#include "emulator/report/source.h"
#include "emulator/report/watch.h"

typedef _Atomic uint64_t emu_counter;

/* Of one instruction. */
typedef struct emu_stats_row {
  emu_counter executed, lanes, slots, splits; /* by wavefronts, with active lanes out of all */
  emu_counter read, written;                  /* bytes of global memory; atomics do both */
  emu_counter lines, least_lines;             /* touched, and enough at best */
  emu_counter scalar_bytes, lds_bytes, private_bytes;
  emu_counter conflicts; /* extra cycles of LDS */
  emu_counter waited;    /* instructions of others, at a barrier */
  emu_counter stalls, turns;
  emu_counter accesses, misses; /* of global memory; lines that were not in the first cache */
} emu_stats_row;

/* The totals of one kernel on one chip. */
typedef struct emu_stats {
  struct emu_stats *next;
  const emu_source *source;
  uint32_t line_bytes;
  const emu_model *model;
  _Atomic uint32_t resident; /* wavefronts a SIMD could hold, of the last launch */
  emu_counter dispatches, groups, wavefronts, barriers;
  emu_counter *seen;   /* a bit for each line of memory, at a place that its address is mixed to */
  emu_stats_row *rows; /* as the source's places */
} emu_stats;

/* The totals that the source's kernel adds to, with this dispatch counted; never freed.  NULL when
 * memory is out. */
emu_stats *emu_stats_of(const emu_source *source, const emu_dispatch *dispatch);

/* Lines of memory that were touched at all, as far as the bits of `seen` tell. */
uint64_t emu_stats_distinct(emu_stats *stats);

/* `inst` is about to be executed. */
void emu_stats_step(emu_stats *stats, emu_wave *wave, const emu_inst *inst);
void emu_stats_access(emu_stats *stats, emu_wave *wave, const emu_inst *inst, emu_space space,
                      emu_access_kind kind, const uint64_t addresses[EMU_LANES], uint64_t lanes,
                      uint32_t nbytes);
void emu_stats_group(emu_stats *stats, const emu_group *group);
void emu_stats_barrier(emu_stats *stats, const emu_group *group);

/* Calls `visit` with the first of all totals (NULL: none); nothing is added to the list meanwhile.
 */
void emu_stats_visit(void (*visit)(void *ud, emu_stats *first), void *ud);

#endif
