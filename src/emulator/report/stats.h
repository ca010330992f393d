/* What kernels did, counted: instructions by class, lanes at work, memory traffic, LDS conflicts.
 *
 * Counts are kept per kernel and instruction for the life of the process and added to by all threads
 * at once; the report sums them by class and by line of the source.
 *   Coalescing: a wavefront's access needs as many 64-byte lines as it touches; at best the bytes it
 * moves fill their lines.
 *   Bank conflicts: LDS has 32 banks of 4 bytes and serves half a wavefront of 64 (or one of 32) at a
 * time, a word a lane; each further word that falls into a bank already in use costs a cycle.
 *   Barrier waits: instructions the workgroup's busiest wavefront executed between two barriers, less
 * the wavefront's own. */
#ifndef ROC_EMULATOR_REPORT_STATS_H
#define ROC_EMULATOR_REPORT_STATS_H

#include <stdio.h>

#include "emulator/report/watch.h"

typedef struct emu_stats emu_stats; /* the totals of one kernel on one chip */

/* The totals that the dispatch's kernel adds to, with this dispatch counted; never freed.  NULL when
 * memory is out. */
emu_stats *emu_stats_of(const emu_dispatch *dispatch);

void emu_stats_step(emu_stats *stats, const emu_wave *wave, const emu_inst *inst);
void emu_stats_access(emu_stats *stats, const emu_inst *inst, emu_space space, emu_access_kind kind,
                      const uint64_t addresses[EMU_LANES], uint64_t lanes, uint32_t nbytes);
void emu_stats_group(emu_stats *stats, const emu_group *group);
void emu_stats_barrier(emu_stats *stats, const emu_group *group);

/* Writes all totals; false when there are none. */
bool emu_stats_print(FILE *out);

#endif
