/* The report of --stats: what stats.h has counted, summed by kernel, class and line of the source. */
#ifndef ROC_EMULATOR_REPORT_TALLY_H
#define ROC_EMULATOR_REPORT_TALLY_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

/* Writes the totals of all kernels so far, the one with the most instructions first and those of
 * ROCR at the end; false when there are none.  Kernels that run meanwhile may be counted in part. */
bool emu_tally_print(FILE *out);
/* Has the same done when the process ends, to where ROCLUA_EMULATE_STATS says (a file, or stderr),
 * once and not in forked children; stderr is told when it cannot be written.  For repeated calls. */
void emu_tally_at_exit(void);
/* Does now what was to be done then.  IO: it cannot be written. */
roc_status emu_tally_conclude(roc_error *err);

#endif
