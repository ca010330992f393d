/* The report of --stats: what stats.h has counted, summed by kernel, class and line of the source.
 */
#ifndef ROC_EMULATOR_REPORT_TALLY_H
#define ROC_EMULATOR_REPORT_TALLY_H

#include <stdbool.h>

#include "base/status.h"

/* Has the totals of all kernels written when the process ends, to where ROCLUA_EMULATE_STATS says
 * (a file, or stderr): the one with the most instructions first and those of ROCR at the end. Once,
 * and not in forked children; stderr is told when it cannot be written. For repeated calls. */
void emu_tally_at_exit(void);
/* Does now what was to be done then.  IO: it cannot be written. */
roc_status emu_tally_conclude(roc_error *err);

#endif
