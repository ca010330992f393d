/* Settings from the environment.
 *
 * A variable that is not set, or is empty, leaves the default in *value. Any other text that is not
 * what the variable takes gives INVALID, with a message that names the variable, its text and what
 * was expected, and leaves the default as well. Any thread, while no thread sets variables. */
#ifndef ROC_BASE_ENV_H
#define ROC_BASE_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* The variable's text; NULL when it is not set or empty. */
const char *roc_env_text(const char *variable);

/* From now on no variable that loads code counts: they are taken out of the environment, so that
 * neither libraries that are opened later (ROCR) nor programs that are started see them, and the
 * home folder is that of the user's entry.  To be called before anything is read, while no other
 * thread runs. */
void roc_env_ignore_code(void);
/* Whether that was called. */
bool roc_env_ignores_code(void);

/* A decimal number from `least` to `most`, digits alone. */
roc_status roc_env_number(const char *variable, uint64_t least, uint64_t most, uint64_t *value,
                          roc_error *err);

/* One of `choices` (NULL ends them): *value is its place, from 0 on. */
roc_status roc_env_choice(const char *variable, const char *const *choices, unsigned *value,
                          roc_error *err);

/* "0" or "1". */
roc_status roc_env_switch(const char *variable, bool *value, roc_error *err);

#endif
