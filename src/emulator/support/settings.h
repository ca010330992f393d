/* What the environment asks of the software GPU; emulator.h lists it.  Any thread.
 *
 * What is not understood counts as not set: emu_settings_check says what it is. */
#ifndef ROC_EMULATOR_SUPPORT_SETTINGS_H
#define ROC_EMULATOR_SUPPORT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* INVALID: the message names a variable, its value and what was expected. */
roc_status emu_settings_check(roc_error *err);

/* Of the report; read once. */
bool emu_wants_stats(void);
const char *emu_stats_path(void); /* the file for them; NULL: stderr */
bool emu_wants_check(void);
bool emu_wants_wait_check(void); /* on by default */

/* Of the GPUs; 0: not set. */
uint64_t emu_asked_memory_mb(void);
uint32_t emu_asked_threads(void);
bool emu_lacks_atomics(void);

#endif
