/* What the formats of files share; see file_bind.h. */
#include "bindings/array/file_bind.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"

bool roc_path_ends_with(const char *path, const char *ending) {
  size_t len = strlen(path), size = strlen(ending);
  return len > size && strcasecmp(path + len - size, ending) == 0;
}

const roc_array *roc_check_saved(lua_State *L, int arg) {
  roc_fetch_device_array(L, arg);
  const roc_array *a = roc_check_array(L, arg);
  roc_array_sync(L, a, false);
  return a;
}

void roc_begin_file(lua_State *L, roc_rt_progress *work, const char *verb, const char *path) {
  char title[ROC_RT_PROGRESS_TITLE_BYTES];
  const char *slash = strrchr(path, '/');
  snprintf(title, sizeof title, "%s %s", verb, slash ? slash + 1 : path);
  roc_rt_progress_begin(work, roc_session(L), title);
}
