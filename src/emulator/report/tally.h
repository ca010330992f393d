/* The report of --stats: what stats.h has counted, summed by kernel, class and line of the source. */
#ifndef ROC_EMULATOR_REPORT_TALLY_H
#define ROC_EMULATOR_REPORT_TALLY_H

#include <stdbool.h>

#include "base/status.h"

/* Writes the totals of all kernels so far into a new file, or with NULL to stderr: the one with the
 * most instructions first and those of ROCR at the end; *out_any: there are some.  Kernels that run
 * meanwhile may be counted in part.  False when the file system does not take the whole. */
bool emu_tally_write(const char *path, bool *out_any);
/* Has the same done when the process ends, to where ROCLUA_EMULATE_STATS says (a file, or stderr),
 * once and not in forked children; stderr is told when it cannot be written.  For repeated calls. */
void emu_tally_at_exit(void);
/* Does now what was to be done then.  IO: it cannot be written. */
roc_status emu_tally_conclude(roc_error *err);

#endif
