/* See env.h. */
#include "base/env.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *roc_env_text(const char *variable) {
  const char *text = getenv(variable);
  return text && *text ? text : NULL;
}

/* Ours, then those by which ROCR and NVIDIA's driver, or what comes with them, open code.  LD_LIBRARY_PATH and its
 * kin have done their work before the program begins. */
static const char *const loads_code[] = {
    "ROCLUA_LUA_DIR",
    "ROCLUA_LIBDIR",
    "ROCLUA_BITCODE_DIR",
    "ROCLUA_HSA_LIBRARY",
    "ROCM_PATH",
    "ROCLUA_CUDA_LIBRARY",
    "ROCLUA_CUBLAS_LIBRARY",
    "ROCLUA_CUSOLVER_LIBRARY",
    "ROCLUA_LAPACK_LIBRARY",
    "CUDA_INJECTION64_PATH",
    "CUDA_CACHE_PATH",
    "XDG_CACHE_HOME",
    "HSA_TOOLS_LIB",
    "ROCP_TOOL_LIB",
    "ROCP_TOOL_LIBRARIES",
    "ROCPROFILER_REGISTER_LIBRARY",
    "ROCPROFILER_REGISTER_FORCE_LOAD",
};

static bool ignores_code;

void roc_env_ignore_code(void) {
  for (size_t i = 0; i < sizeof loads_code / sizeof *loads_code; i++) unsetenv(loads_code[i]);
  ignores_code = true;
}

bool roc_env_ignores_code(void) {
  return ignores_code;
}

roc_status roc_env_number(const char *variable, uint64_t least, uint64_t most, uint64_t *value,
                          roc_error *err) {
  const char *text = roc_env_text(variable);
  if (!text) return ROC_OK;
  errno = 0;
  uint64_t number = strtoull(text, NULL, 10);
  bool is_number = !text[strspn(text, "0123456789")] && errno == 0;
  if (is_number && number >= least && number <= most) {
    *value = number;
    return ROC_OK;
  }
  return roc_fail(err, ROC_INVALID, "%s is '%s', expected a number from %" PRIu64 " to %" PRIu64,
                  variable, text, least, most);
}

/* "off, on or auto" */
static void list_choices(const char *const *choices, char *out, size_t size) {
  size_t used = 0;
  for (unsigned i = 0; choices[i] && used < size; i++) {
    const char *between = i == 0 ? "" : choices[i + 1] ? ", " : " or ";
    used += (size_t)snprintf(out + used, size - used, "%s%s", between, choices[i]);
  }
}

roc_status roc_env_choice(const char *variable, const char *const *choices, unsigned *value,
                          roc_error *err) {
  const char *text = roc_env_text(variable);
  if (!text) return ROC_OK;
  for (unsigned i = 0; choices[i]; i++) {
    if (strcmp(text, choices[i]) != 0) continue;
    *value = i;
    return ROC_OK;
  }
  char expected[128] = "";
  list_choices(choices, expected, sizeof expected);
  return roc_fail(err, ROC_INVALID, "%s is '%s', expected %s", variable, text, expected);
}

roc_status roc_env_switch(const char *variable, bool *value, roc_error *err) {
  static const char *const choices[] = {"0", "1", NULL};
  unsigned choice = *value;
  roc_status status = roc_env_choice(variable, choices, &choice, err);
  *value = choice == 1;
  return status;
}
