/* The report of --stats: what stats.h has counted, summed by kernel, class and line of the source. */
#ifndef ROC_EMULATOR_REPORT_TALLY_H
#define ROC_EMULATOR_REPORT_TALLY_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the totals of all kernels so far, the one with the most instructions first and those of
 * ROCR at the end; false when there are none.  Kernels that run meanwhile may be counted in part. */
bool emu_tally_print(FILE *out);
/* The same, to where ROCLUA_EMULATE_STATS says: a file, or stderr.  False also when the file cannot
 * be written, which stderr is told. */
bool emu_tally_print_as_asked(void);
/* Has that done when the process ends, once and not in forked children; for repeated calls. */
void emu_tally_at_exit(void);

#endif
