/* roc.SmartArray: host arrays with a copy on a device; a side is copied only when it is stale.
 *
 * A smart array has the layout of a host array and is accepted wherever one is: every access to its
 * elements, through any view, goes through roc_array_sync, which knows which side is up to date
 * (runtime/mirror.h).  This file adds the device's side.  Methods and elements are those of
 * roc.Array, whose metatable must have been made. */
#include "bindings/device/device_bind.h"
#include "runtime/mirror.h"

static roc_array *check_smart(lua_State *L) {
  roc_array_box *box = roc_test_array_box(L, 1);
  if (!box || box->cls != &roc_smart_array_class) luaL_typeerror(L, 1, ROC_META_SMART_ARRAY);
  return roc_check_array(L, 1);
}

/* roc.smart_array(a), or (shape [, dtype [, order]]): of a new array with undefined contents */
static int smart_new(lua_State *L) {
  if (roc_test_any_array(L, 1)) {
    luaL_argcheck(L, lua_isnoneornil(L, 2), 2,
                  "a dtype goes with a shape; an array keeps its own: use a:astype(dtype)");
  } else if (lua_istable(L, 1) || lua_type(L, 1) == LUA_TNUMBER) {
    roc_array_plan plan = roc_check_plan(L, 1, ROC_DT_FLOAT64, true);
    roc_new_host_array(L, plan.dtype, plan.rank, plan.extents, plan.order, false);
    lua_replace(L, 1);
  } else {
    luaL_typeerror(L, 1, "roc.Array, or a shape,");
  }
  roc_check_array(L, 1);
  roc_rt_session *session = roc_session(L);
  roc_array *s = roc_push_array(L, &roc_smart_array_class);
  const roc_array *a = roc_check_array(L, 1);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_mirror_create(a->buffer, session, &err), &err);
  roc_buffer_retain(a->buffer);
  *s = *a;
  return 1;
}

/* ---- sides --------------------------------------------------------------- */

static const char *const side_names[] = {"host", "device", NULL}; /* ORDER roc_side */

static int push_host_side(lua_State *L) {
  roc_array *view = roc_push_array(L, &roc_host_array_class);
  roc_array_sync(L, check_smart(L), false);
  const roc_array *s = check_smart(L);
  roc_buffer_retain(s->buffer);
  *view = *s;
  return 1;
}

/* The device of the device's side; a new side is made on the current device. */
static roc_rt_device *side_device(lua_State *L) {
  roc_rt_device *device = roc_mirror_device(check_smart(L)->buffer);
  return device ? device : roc_current_device(L);
}

static int push_device_side(lua_State *L) {
  roc_rt_device *device = side_device(L);
  roc_array *view = roc_push_array(L, &roc_device_array_class);
  roc_error err = ROC_ERROR_INIT;
  roc_buffer *buffer = NULL;
  roc_status status = roc_mirror_fetch(check_smart(L)->buffer, device, &buffer, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) {
    status = roc_mirror_fetch(check_smart(L)->buffer, device, &buffer, &err);
  }
  if (status == ROC_OK) {
    roc_buffer_retain(buffer);
    *view = *check_smart(L);
    view->buffer = buffer;
  }
  roc_bind_after_wait(L, status, &err);
  return 1;
}

/* s:get("host" | "device"), or an element.  Upvalue 1: get of roc.Array. */
static int smart_m_get(lua_State *L) {
  check_smart(L);
  if (lua_type(L, 2) == LUA_TSTRING) {
    int side = roc_check_option(L, 2, NULL, side_names);
    return side == ROC_SIDE_HOST ? push_host_side(L) : push_device_side(L);
  }
  luaL_argexpected(L, lua_type(L, 2) == LUA_TNUMBER, 2, "\"host\", \"device\" or an index");
  return lua_tocfunction(L, lua_upvalueindex(1))(L); /* called directly: errors name `get` */
}

/* s:mark_changed("host" | "device") */
static int smart_m_mark_changed(lua_State *L) {
  const roc_array *s = check_smart(L);
  roc_side side = (roc_side)roc_check_option(L, 2, NULL, side_names);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_mirror_mark(s->buffer, side, &err), &err);
  return 0;
}

/* s:close(), <close>: brings the host's side up to date and frees the device's memory. */
static int smart_m_close(lua_State *L) {
  roc_array_box *box = roc_test_array_box(L, 1);
  if (!box || box->cls != &roc_smart_array_class) return luaL_typeerror(L, 1, ROC_META_SMART_ARRAY);
  if (!box->array.buffer) return 0;
  bool reports = lua_isnoneornil(L, 2);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_mirror_end(box->array.buffer, &err);
  if (status != ROC_INTERRUPTED) roc_array_release(&box->array);
  if (reports) roc_bind_after_wait(L, status, &err);
  return 0;
}

/* ---- the class ----------------------------------------------------------- */

/* Upvalues: the methods; __index of roc.Array, which needs its own for names alone; those of
 * roc.Array. */
static int smart_mm_index(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 2) != LUA_TSTRING) return lua_tocfunction(L, lua_upvalueindex(2))(L);
  for (int methods = 1; methods <= 3; methods += 2) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(methods)) != LUA_TNIL) return 1;
    lua_pop(L, 1);
  }
  const roc_array *a = check_smart(L);
  if (roc_array_push_property(L, a, lua_tostring(L, 2))) return 1;
  return roc_array_fail_field(L, lua_upvalueindex(3));
}

/* As the host array prints. */
static int smart_mm_tostring(lua_State *L) {
  const roc_array_box *box = roc_test_array_box(L, 1);
  if (!box || box->cls != &roc_smart_array_class) return luaL_typeerror(L, 1, ROC_META_SMART_ARRAY);
  if (!box->array.buffer) {
    lua_pushliteral(L, ROC_META_SMART_ARRAY " (closed)");
    return 1;
  }
  lua_settop(L, 1);
  push_host_side(L);
  luaL_tolstring(L, -1, NULL);
  return 1;
}

static const luaL_Reg smart_methods[] = {{"mark_changed", smart_m_mark_changed},
                                         {"tostring", smart_mm_tostring},
                                         {"close", smart_m_close},
                                         {NULL, NULL}};

static const luaL_Reg smart_meta[] = {
    {"__tostring", smart_mm_tostring}, {"__close", smart_m_close}, {NULL, NULL}};

/* Copies what the new metatable, on top, shares with that of roc.Array. */
static void inherit(lua_State *L) {
  static const char *const shared[] = {"__newindex", "__len", "__pairs", "__gc"};
  luaL_getmetatable(L, ROC_META_ARRAY);
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
    lua_getfield(L, -1, shared[i]);
    lua_setfield(L, -3, shared[i]);
  }
  luaL_newlib(L, smart_methods);
  lua_getfield(L, -2, "methods");
  lua_getfield(L, -1, "get");
  lua_pushcclosure(L, smart_m_get, 1);
  lua_setfield(L, -3, "get");
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "methods");
  lua_getfield(L, -2, "__index");
  lua_getfield(L, -3, "methods");
  lua_pushcclosure(L, smart_mm_index, 3);
  lua_setfield(L, -3, "__index");
  lua_pop(L, 1);
}

/* core.smart_array; core.SmartArray: the metatable; core.smart_array_methods: what it adds. */
void roc_open_smart(lua_State *L) {
  if (roc_class_new(L, ROC_META_SMART_ARRAY, smart_meta)) inherit(L);
  lua_getfield(L, -1, "methods");
  lua_setfield(L, -3, "smart_array_methods");
  lua_setfield(L, -2, "SmartArray");
  lua_pushcfunction(L, smart_new);
  lua_setfield(L, -2, "smart_array");
}
