/* roc.Stream: ordered work on one device, and scopes that wait for it.
 *
 * Closing a stream, explicitly or by the collector, never waits: its work continues, and the memory
 * that the work uses is kept until then.  Only synchronize and the end of a scope wait. */
#include "bindings/device/device_bind.h"
#include "bindings/support/unknown.h"

/* Accepted wherever its stream is. */
typedef roc_stream_box scope_box;

static roc_stream_box *new_box(lua_State *L) {
  roc_stream_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (roc_stream_box){0};
  luaL_setmetatable(L, ROC_META_STREAM);
  return box;
}

void roc_push_stream(lua_State *L, int idx, roc_rt_stream *fallback) {
  idx = lua_absindex(L, idx);
  roc_stream_box *box = new_box(L);
  roc_rt_stream *stream = roc_opt_stream_field(L, idx, NULL);
  if (!stream) stream = fallback;
  roc_rt_stream_retain(stream);
  box->stream = stream;
}

static const roc_stream_box *check_box(lua_State *L) {
  const roc_stream_box *box = roc_test_stream(L, 1);
  if (!box) luaL_typeerror(L, 1, ROC_META_STREAM);
  return box;
}

static roc_rt_stream *check_stream(lua_State *L) {
  const roc_stream_box *box = check_box(L);
  if (!box->stream) luaL_argerror(L, 1, "the stream is closed");
  return box->stream;
}

/* A stream of roclua's own, or on the queue of another library. */
typedef struct source {
  bool is_foreign;
  void *native;
} source;

static roc_status open_stream(lua_State *L, roc_rt_device *device, const source *from,
                              roc_rt_stream **out_stream, roc_error *err) {
  roc_rt_session *session = roc_session(L);
  if (!from->is_foreign) return roc_rt_stream_create(session, device, out_stream, err);
  return roc_rt_stream_adopt(session, device, from->native, out_stream, err);
}

static int push_new(lua_State *L, roc_rt_device *device, const source *from) {
  roc_stream_box *box = new_box(L);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = open_stream(L, device, from, &box->stream, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) {
    status = open_stream(L, device, from, &box->stream, &err);
  }
  if (status != ROC_OK) roc_lua_raise(L, &err);
  return 1;
}

/* roc.stream([device]) */
static int stream_stream(lua_State *L) {
  return push_new(L, roc_opt_device(L, 1), &(source){.is_foreign = false});
}

/* roc.stream_from(pointer [, device]) */
static int stream_from(lua_State *L) {
  source from = {.is_foreign = true};
  if (lua_type(L, 1) == LUA_TLIGHTUSERDATA) {
    from.native = lua_touserdata(L, 1);
  } else if (lua_isinteger(L, 1) && lua_type(L, 1) == LUA_TNUMBER) {
    from.native = (void *)(uintptr_t)lua_tointeger(L, 1);
  } else {
    luaL_typeerror(L, 1, "light userdata or an address");
  }
  return push_new(L, roc_opt_device(L, 2), &from);
}

/* ---- methods ------------------------------------------------------------- */

static int stream_m_synchronize(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_stream_synchronize(check_stream(L), &err);
  roc_bind_after_wait(L, status, &err);
  return 0;
}

static int stream_m_query(lua_State *L) {
  roc_rt_stream *stream = check_stream(L);
  roc_error err = ROC_ERROR_INIT;
  bool is_done = false;
  roc_status status = roc_rt_stream_query(stream, roc_rt_stream_last(stream), &is_done, &err);
  roc_bind_after_wait(L, status, &err);
  lua_pushboolean(L, is_done);
  return 1;
}

static int stream_m_wait(lua_State *L) {
  roc_rt_stream *stream = check_stream(L);
  const roc_rt_event *event = roc_check_event(L, 2);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_rt_stream_wait_event(stream, event, &err), &err);
  return 0;
}

/* s:callback(f, …) */
static int stream_m_callback(lua_State *L) {
  check_stream(L);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  roc_add_callback(L);
  return 0;
}

static int stream_m_auto_synchronize(lua_State *L) {
  check_stream(L);
  scope_box *scope = lua_newuserdatauv(L, sizeof *scope, 0);
  *scope = (scope_box){0};
  luaL_setmetatable(L, ROC_META_STREAM_SCOPE);
  roc_rt_stream *stream = check_stream(L);
  roc_rt_stream_retain(stream);
  scope->stream = stream;
  return 1;
}

/* __gc, __close and close: never wait. */
static int stream_m_close(lua_State *L) {
  roc_stream_box *box = luaL_checkudata(L, 1, ROC_META_STREAM);
  roc_rt_stream *stream = box->stream;
  box->stream = NULL;
  roc_rt_stream_release(stream);
  return 0;
}

static const char *class_name(lua_State *L) {
  bool is_scope = luaL_testudata(L, 1, ROC_META_STREAM_SCOPE) != NULL;
  return is_scope ? ROC_META_STREAM_SCOPE : ROC_META_STREAM;
}

/* Of a scope as well. */
static int stream_mm_tostring(lua_State *L) {
  const roc_stream_box *box = check_box(L);
  const char *name = class_name(L);
  if (box->stream) {
    const roc_device *driver = roc_rt_device_driver(roc_rt_stream_device(box->stream));
    lua_pushfstring(L, "%s: %p on %s", name, (void *)box->stream, driver->props.name);
  } else {
    lua_pushfstring(L, "%s (closed)", name);
  }
  return 1;
}

/* Upvalue 1: the methods; of a scope the stream's, but for its own close. */
static int stream_mm_index(lua_State *L) {
  check_box(L);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  lua_pushliteral(L, "device");
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  if (!lua_rawequal(L, 2, -1)) {
    roc_near near = roc_near_to_key(L);
    roc_near_offer(&near, "device", "device");
    return roc_fail_field(L, class_name(L), NULL, lua_upvalueindex(1), &near);
  }
  roc_push_device(L, roc_rt_device_index(roc_rt_stream_device(check_stream(L))));
  return 1;
}

/* ---- scopes -------------------------------------------------------------- */

/* When an error leaves the scope, that error is propagated: the scope waits for the work, and the
 * work's own failures stay for the next wait. */
static int scope_m_close(lua_State *L) {
  scope_box *scope = luaL_checkudata(L, 1, ROC_META_STREAM_SCOPE);
  bool is_unwinding = !lua_isnoneornil(L, 2);
  roc_rt_stream *stream = scope->stream;
  if (!stream) return 0;
  scope->stream = NULL;
  roc_error err = ROC_ERROR_INIT;
  roc_status status =
      is_unwinding ? roc_rt_stream_settle(stream, &err) : roc_rt_stream_synchronize(stream, &err);
  roc_rt_stream_release(stream);
  if (!is_unwinding) roc_bind_after_wait(L, status, &err);
  return 0;
}

static int scope_mm_gc(lua_State *L) {
  scope_box *scope = luaL_checkudata(L, 1, ROC_META_STREAM_SCOPE);
  roc_rt_stream_release(scope->stream);
  scope->stream = NULL;
  return 0;
}

/* ---- the classes --------------------------------------------------------- */

static const luaL_Reg stream_methods[] = {{"synchronize", stream_m_synchronize},
                                          {"query", stream_m_query},
                                          {"wait", stream_m_wait},
                                          {"callback", stream_m_callback},
                                          {"auto_synchronize", stream_m_auto_synchronize},
                                          {"close", stream_m_close},
                                          {NULL, NULL}};

static const luaL_Reg stream_meta[] = {{"__gc", stream_m_close},
                                       {"__close", stream_m_close},
                                       {"__tostring", stream_mm_tostring},
                                       {NULL, NULL}};

static const luaL_Reg scope_methods[] = {{"close", scope_m_close}, {NULL, NULL}};

static const luaL_Reg scope_meta[] = {{"__gc", scope_mm_gc},
                                      {"__close", scope_m_close},
                                      {"__tostring", stream_mm_tostring},
                                      {NULL, NULL}};

static const luaL_Reg stream_functions[] = {
    {"stream", stream_stream}, {"stream_from", stream_from}, {NULL, NULL}};

/* core.stream; core.Stream: the metatable. */
void roc_open_stream(lua_State *L) {
  if (roc_class_new(L, ROC_META_STREAM_SCOPE, scope_meta)) {
    luaL_newlib(L, stream_methods);
    luaL_setfuncs(L, scope_methods, 0);
    lua_pushcclosure(L, stream_mm_index, 1);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
  if (roc_class_new(L, ROC_META_STREAM, stream_meta)) {
    luaL_newlib(L, stream_methods);
    lua_pushcclosure(L, stream_mm_index, 1);
    lua_setfield(L, -2, "__index");
  }
  lua_setfield(L, -2, "Stream");
  luaL_setfuncs(L, stream_functions, 0);
}
