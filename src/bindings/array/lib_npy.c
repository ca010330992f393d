/* roc.save and roc.load: host arrays in NumPy's .npy files. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "runtime/npy.h"

static const char npy_meta_name[] = "roc.NpyFile";

/* A path argument: a string without zero bytes, since C would end it there. */
static const char *check_path(lua_State *L, int arg) {
  size_t len;
  const char *path = luaL_checklstring(L, arg, &len);
  luaL_argcheck(L, strlen(path) == len, arg, "a path must not contain a zero byte");
  return path;
}

static int npy_save(lua_State *L) {
  const char *path = check_path(L, 1);
  roc_fetch_device_array(L, 2);
  const roc_array *a = roc_check_array(L, 2);
  roc_array_sync(L, a, false);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_npy_save(path, a, &err), &err);
  return 0;
}

/* The open file lives in a userdata: making the array may raise. */
static int npy_mm_gc(lua_State *L) {
  roc_npy_close(luaL_checkudata(L, 1, npy_meta_name));
  return 0;
}

static const luaL_Reg npy_meta[] = {{"__gc", npy_mm_gc}, {NULL, NULL}};

static int npy_load(lua_State *L) {
  const char *path = check_path(L, 1);
  roc_error err = ROC_ERROR_INIT;
  roc_npy *npy = lua_newuserdatauv(L, sizeof *npy, 0);
  *npy = (roc_npy){0};
  roc_class_new(L, npy_meta_name, npy_meta);
  lua_setmetatable(L, -2);
  ROC_LUA_TRY(L, roc_npy_open(path, npy, &err), &err);
  roc_array *a = roc_new_host_array(L, npy->shape.dtype, npy->shape.rank, npy->shape.extents,
                                    ROC_ORDER_C, false);
  memcpy(a->strides, npy->shape.strides, sizeof a->strides); /* the file's order */
  roc_status status = roc_npy_read(npy, roc_buffer_host(a->buffer), &err);
  roc_npy_close(npy);
  ROC_LUA_TRY(L, status, &err);
  roc_array_normalize_bools(a);
  return 1;
}

static const luaL_Reg npy_functions[] = {{"save", npy_save}, {"load", npy_load}, {NULL, NULL}};

void roc_open_npy(lua_State *L) {
  luaL_setfuncs(L, npy_functions, 0);
}
