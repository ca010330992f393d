/* The table of builtin.def, and look-up by path. */
#include "frontend/types/builtin.h"

#include <string.h>

#include "ir/ir.h"

const roc_builtin_info roc_builtin_table[ROC_BUILTIN_COUNT_] = {
#define ROC_BUILTIN(ID, path, least, most, CLASS, payload) \
  [ROC_BUILTIN_##ID] = {path, least, most, ROC_BC_##CLASS, payload, NULL},
#define ROC_REFUSED(ID, path, advice) \
  [ROC_BUILTIN_##ID] = {path, 0, 255, ROC_BC_REFUSED, 0, advice},
#include "frontend/types/builtin.def"
#undef ROC_BUILTIN
#undef ROC_REFUSED
};

bool roc_fe_builtin_from_name(const char *path, size_t len, roc_builtin *out) {
  for (int i = 0; i < ROC_BUILTIN_COUNT_; i++) {
    const char *name = roc_builtin_table[i].path;
    if (strlen(name) == len && memcmp(name, path, len) == 0) {
      *out = (roc_builtin)i;
      return true;
    }
  }
  return false;
}
