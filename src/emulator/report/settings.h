/* What of the report was asked for, by the environment (emulator.h); read once.  Any thread. */
#ifndef ROC_EMULATOR_REPORT_SETTINGS_H
#define ROC_EMULATOR_REPORT_SETTINGS_H

#include <stdbool.h>

bool emu_wants_stats(void);
const char *emu_stats_path(void); /* the file for them; NULL: stderr */
bool emu_wants_check(void);
bool emu_wants_wait_check(void); /* on by default */

#endif
