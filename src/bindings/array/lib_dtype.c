/* roc.DType: element types as Lua values, one userdata per dtype and state.
 *
 * `roc.float32 == a.dtype` is identity.  Calling a dtype converts a number by the rules of a
 * kernel. */
#include <string.h>

#include "bindings/array/array_bind.h"
#include "bindings/support/unknown.h"

static const char dtypes_key; /* registry: array of the dtype objects, [dtype + 1] */

void roc_push_dtype(lua_State *L, roc_dtype dtype) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &dtypes_key);
  lua_rawgeti(L, -1, (lua_Integer)dtype + 1);
  lua_remove(L, -2);
}

bool roc_test_dtype(lua_State *L, int idx, roc_dtype *out) {
  if (lua_type(L, idx) == LUA_TSTRING) {
    size_t len;
    const char *name = lua_tolstring(L, idx, &len);
    return roc_dtype_from_name(name, len, out);
  }
  const roc_dtype *box = luaL_testudata(L, idx, ROC_META_DTYPE);
  if (box) *out = *box;
  return box != NULL;
}

static const char *push_dtype_suggestion(lua_State *L, int arg) {
  size_t len;
  const char *name = lua_tolstring(L, arg, &len);
  roc_near near = roc_near_to(name, len);
  for (int i = 0; i < ROC_DT_COUNT_; i++) {
    const char *known = roc_dtype_name((roc_dtype)i);
    roc_near_offer(&near, known, known);
  }
  return roc_push_suggestion(L, roc_foreign_advice(ROC_FOREIGN_DTYPE, name, len), &near);
}

static int fail_name(lua_State *L, int arg) {
  luaL_Buffer text;
  const char *name = roc_push_shown(L, arg);
  const char *quote = lua_rawequal(L, -1, arg) ? "'" : ""; /* else it is too long to be shown */
  luaL_buffinit(L, &text);
  for (int i = 0; i < ROC_DT_COUNT_; i++) {
    if (i > 0) luaL_addchar(&text, ' ');
    luaL_addstring(&text, roc_dtype_name((roc_dtype)i));
  }
  luaL_pushresult(&text);
  const char *known = lua_tostring(L, -1);
  return luaL_argerror(L, arg,
                       lua_pushfstring(L, "%s%s%s is no dtype; there are %s%s", quote, name, quote,
                                       known, push_dtype_suggestion(L, arg)));
}

roc_dtype roc_check_dtype(lua_State *L, int arg) {
  roc_dtype dtype;
  if (roc_test_dtype(L, arg, &dtype)) return dtype;
  if (lua_type(L, arg) == LUA_TSTRING) fail_name(L, arg);
  luaL_typeerror(L, arg, "dtype, as roc.float32 or its name");
  return ROC_DT_FLOAT64;
}

roc_dtype roc_opt_dtype(lua_State *L, int arg, roc_dtype def) {
  return lua_isnoneornil(L, arg) ? def : roc_check_dtype(L, arg);
}

static roc_dtype check_self(lua_State *L) {
  return *(const roc_dtype *)luaL_checkudata(L, 1, ROC_META_DTYPE);
}

static int dtype_mm_call(lua_State *L) {
  roc_dtype dtype = check_self(L);
  roc_scalar value;
  if (!roc_test_scalar(L, 2, &value)) {
    /* for Lua the object is argument 1; for the script the number is */
    return luaL_error(L, "bad argument #1 to '%s' (number or boolean expected, got %s)",
                      roc_dtype_name(dtype), luaL_typename(L, 2));
  }
  roc_push_scalar(L, roc_dtype_convert(dtype, value));
  return 1;
}

static int dtype_mm_tostring(lua_State *L) {
  lua_pushstring(L, roc_dtype_name(check_self(L)));
  return 1;
}

static int dtype_mm_index(lua_State *L) {
  const roc_dtype_info *info = &roc_dtype_table[check_self(L)];
  static const char *const names[] = {"name", "itemsize", "kind"};
  const char *field = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(field, "name") == 0) {
    lua_pushstring(L, info->name);
  } else if (strcmp(field, "itemsize") == 0) {
    lua_pushinteger(L, info->itemsize);
  } else if (strcmp(field, "kind") == 0) {
    lua_pushlstring(L, &info->kind, 1);
  } else if (lua_type(L, 2) == LUA_TSTRING) {
    roc_near near = roc_near_to_key(L);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      roc_near_offer(&near, names[i], names[i]);
    }
    lua_newtable(L);
    return roc_fail_field(L, ROC_META_DTYPE, NULL, -1, &near);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static const luaL_Reg dtype_meta[] = {{"__call", dtype_mm_call},
                                      {"__tostring", dtype_mm_tostring},
                                      {"__index", dtype_mm_index},
                                      {NULL, NULL}};

/* The registry's table of objects; made once per state. */
static void push_dtypes(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &dtypes_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, ROC_DT_COUNT_, 0);
  for (int dt = 0; dt < ROC_DT_COUNT_; dt++) {
    roc_dtype *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = (roc_dtype)dt;
    roc_class_new(L, ROC_META_DTYPE, dtype_meta);
    lua_setmetatable(L, -2);
    lua_rawseti(L, -2, dt + 1);
  }
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &dtypes_key);
}

/* core.dtype(name or dtype) -> the object. */
static int dtype_find(lua_State *L) {
  roc_push_dtype(L, roc_check_dtype(L, 1));
  return 1;
}

/* core.dtypes = {bool = …, int8 = …, …} */
void roc_open_dtype(lua_State *L) {
  lua_pushcfunction(L, dtype_find);
  lua_setfield(L, -2, "dtype");
  push_dtypes(L);
  lua_createtable(L, 0, ROC_DT_COUNT_);
  for (int dt = 0; dt < ROC_DT_COUNT_; dt++) {
    lua_rawgeti(L, -2, dt + 1);
    lua_setfield(L, -2, roc_dtype_name((roc_dtype)dt));
  }
  lua_remove(L, -2);
  lua_setfield(L, -2, "dtypes");
}
