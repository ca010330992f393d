/* Numbers and booleans: between the Lua stack and elements of an array. */
#include "bindings/array/array_bind.h"

bool roc_test_scalar(lua_State *L, int idx, roc_scalar *out) {
  switch (lua_type(L, idx)) {
    case LUA_TNUMBER:
      if (lua_isinteger(L, idx)) {
        *out = (roc_scalar){ROC_VT_INT, {.i = lua_tointeger(L, idx)}};
      } else {
        *out = (roc_scalar){ROC_VT_F64, {.f = lua_tonumber(L, idx)}};
      }
      return true;
    case LUA_TBOOLEAN: *out = (roc_scalar){ROC_VT_BOOL, {.b = lua_toboolean(L, idx)}}; return true;
    default: return false;
  }
}

void roc_push_scalar(lua_State *L, roc_scalar value) {
  switch (value.type) {
    case ROC_VT_BOOL: lua_pushboolean(L, value.as.b); break;
    case ROC_VT_INT: lua_pushinteger(L, value.as.i); break;
    default: lua_pushnumber(L, value.as.f); break;
  }
}

const char *roc_push_refusal(lua_State *L, int idx, roc_dtype dtype) {
  if (lua_type(L, idx) == LUA_TNUMBER && roc_dtype_table[dtype].kind != 'b') {
    return lua_pushfstring(L, "number has no integer representation, and the array is of %s",
                           roc_dtype_name(dtype));
  }
  return lua_pushfstring(L, "%s expected, got %s",
                         roc_dtype_table[dtype].kind == 'b' ? "boolean" : "number",
                         roc_push_type_name(L, idx));
}

void roc_store_arg(lua_State *L, int arg, roc_dtype dtype, void *element) {
  roc_scalar value;
  if (roc_test_scalar(L, arg, &value) && roc_dtype_store(dtype, element, value)) return;
  luaL_argerror(L, arg, roc_push_refusal(L, arg, dtype));
}

void roc_store_assigned(lua_State *L, int idx, roc_dtype dtype, void *element) {
  roc_scalar value;
  if (roc_test_scalar(L, idx, &value) && roc_dtype_store(dtype, element, value)) return;
  luaL_error(L, "cannot assign to an element: %s", roc_push_refusal(L, idx, dtype));
}
