/* Devices and streams as arguments, and which device is the current one of a Lua state. */
#include <stdlib.h>
#include <string.h>

#include "bindings/device/device_bind.h"
#include "runtime/progress.h"

#define META_CURRENT "roc.CurrentDevice"

struct roc_current {
  bool is_chosen; /* else the one that ROCLUA_DEVICE or ROCLUA_EMULATE names, or the first */
  bool is_final;  /* the state is closing: `device` is NULL and stays so */
  uint32_t index;
  roc_rt_device *device;   /* held; NULL: not opened yet */
  roc_rt_session *session; /* NULL: not made yet, or ended with the state */
};

/* The address is the registry key of a state's roc_current. */
static const char current_key;

static void let_go(roc_current *current) {
  roc_rt_device_release(current->device);
  current->device = NULL;
}

static int current_mm_gc(lua_State *L) {
  roc_current *current = luaL_checkudata(L, 1, META_CURRENT);
  let_go(current);
  roc_rt_session_release(current->session);
  current->session = NULL;
  current->is_final = true;
  return 0;
}

static const luaL_Reg current_meta[] = {{"__gc", current_mm_gc}, {NULL, NULL}};

roc_current *roc_get_current(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &current_key) == LUA_TNIL) {
    lua_pop(L, 1);
    *(roc_current *)lua_newuserdatauv(L, sizeof(roc_current), 0) = (roc_current){0};
    roc_class_new(L, META_CURRENT, current_meta);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &current_key);
  }
  roc_current *current = lua_touserdata(L, -1);
  lua_pop(L, 1); /* the registry keeps it */
  return current;
}

static roc_rt_session *session_of(lua_State *L, roc_current *current) {
  if (current->session) return current->session;
  if (current->is_final) luaL_error(L, "the Lua state is closing");
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  const void *key = lua_tothread(L, -1);
  lua_pop(L, 1);
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_rt_session_create(key, &current->session, &err), &err);
  lua_getfield(L, LUA_REGISTRYINDEX, "roclua.progress"); /* of the command line programs */
  if (lua_toboolean(L, -1)) roc_rt_session_show_progress(current->session);
  lua_pop(L, 1);
  return current->session;
}

roc_rt_session *roc_session(lua_State *L) {
  return session_of(L, roc_get_current(L));
}

roc_rt_session *roc_get_session(lua_State *L) {
  const roc_current *current = NULL;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &current_key) != LUA_TNIL) current = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return current ? current->session : NULL;
}

static __attribute__((noinline)) roc_rt_stream *make_default_stream(lua_State *L,
                                                                    roc_current *current,
                                                                    roc_rt_device *device) {
  roc_error err = ROC_ERROR_INIT;
  roc_rt_stream *stream;
  roc_rt_session *session = session_of(L, current);
  ROC_LUA_TRY(L, roc_rt_session_stream(session, device, &stream, &err), &err);
  return stream;
}

/* On the path of every launch: what is rare is not inlined, and takes no room on its stack. */
roc_rt_stream *roc_default_stream_of(lua_State *L, roc_current *current, roc_rt_device *device) {
  const roc_rt_session *session = current->session;
  roc_rt_stream *stream = session ? roc_rt_session_peek_stream(session, device) : NULL;
  return stream ? stream : make_default_stream(L, current, device);
}

roc_rt_stream *roc_default_stream(lua_State *L, roc_rt_device *device) {
  return roc_default_stream_of(L, roc_get_current(L), device);
}

void roc_set_current_device(lua_State *L, uint32_t index) {
  roc_current *current = roc_get_current(L);
  let_go(current);
  current->is_chosen = true;
  current->index = index;
}

/* "argument #1 to 'stream'", or the option of to_device, the one function that takes a device
 * there; pushed. */
static const char *push_where(lua_State *L, int idx, bool is_option) {
  if (is_option) return lua_pushliteral(L, "option 'device' of 'to_device'");
  return lua_pushfstring(L, "argument #%d to '%s'", idx, roc_push_function_name(L));
}

/* NULL, or why no device has that name; pushed.  Raises when the device is absent. */
static const char *find_named(lua_State *L, int idx, bool is_option, uint32_t *index) {
  roc_error err = ROC_ERROR_INIT, told = ROC_ERROR_INIT;
  size_t len;
  const char *name = lua_tolstring(L, idx, &len);
  if (strlen(name) != len) return lua_pushfstring(L, "there is no device '%s\\0...'", name);
  roc_status status = roc_rt_device_find(name, index, &err);
  if (status == ROC_OK) return NULL;
  roc_fail(&told, status, "bad %s (%s)", push_where(L, idx, is_option), err.message);
  roc_lua_raise(L, &told);
  return NULL;
}

/* The value of an environment variable; NULL: not set, or empty. */
static const char *given(const char *variable) {
  const char *value = getenv(variable);
  return value && *value ? value : NULL;
}

/* A process that asks for software GPUs must not run elsewhere silently when there are none. */
static uint32_t default_index(lua_State *L) {
  const char *name = given("ROCLUA_DEVICE"), *asked = name ? "ROCLUA_DEVICE" : "ROCLUA_EMULATE";
  if (!name && !given("ROCLUA_EMULATE")) return 0;
  roc_error err = ROC_ERROR_INIT;
  uint32_t index = 0;
  if (roc_rt_device_find(name ? name : "hsa", &index, &err) != ROC_OK) {
    luaL_error(L, "%s: %s", asked, err.message);
  }
  return index;
}

uint32_t roc_current_device_index(lua_State *L) {
  roc_current *current = roc_get_current(L);
  if (!current->is_chosen) {
    current->index = default_index(L);
    current->is_chosen = true;
  }
  return current->index;
}

roc_rt_device *roc_open_device_at(lua_State *L, uint32_t index) {
  roc_error err; /* on the path of every launch: not zeroed, filled on failure */
  roc_rt_device *device = NULL;
  ROC_LUA_TRY(L, roc_rt_device_get(index, &device, &err), &err);
  return device;
}

roc_rt_device *roc_current_device(lua_State *L) {
  return roc_current_device_of(L, roc_get_current(L));
}

roc_rt_device *roc_current_device_of(lua_State *L, roc_current *current) {
  if (current->device) return current->device; /* every launch comes through here */
  roc_rt_device *device = roc_open_device_at(L, roc_current_device_index(L));
  if (!current->is_final) {
    roc_rt_device_retain(device);
    current->device = device;
  }
  return device;
}

/* A device, ordinal from 1, or name at `idx`.  NULL, or why it is none of these; pushed. */
static const char *find_device_problem(lua_State *L, int idx, bool is_option, uint32_t *index) {
  const roc_device_box *box = luaL_testudata(L, idx, ROC_META_DEVICE);
  if (box) {
    *index = box->index;
    return NULL;
  }
  if (lua_type(L, idx) == LUA_TSTRING) return find_named(L, idx, is_option, index);
  if (lua_type(L, idx) != LUA_TNUMBER) {
    return lua_pushfstring(L, "device, its number or its name expected, got %s",
                           roc_push_type_name(L, idx));
  }
  int is_integer;
  lua_Integer ordinal = lua_tointegerx(L, idx, &is_integer);
  if (!is_integer) return "number has no integer representation";
  uint32_t count = roc_rt_device_count();
  if (ordinal < 1 || ordinal > (lua_Integer)count) {
    return lua_pushfstring(L, "there is no device %I, only 1 to %d", (LUAI_UACINT)ordinal,
                           (int)count);
  }
  *index = (uint32_t)ordinal - 1;
  return NULL;
}

uint32_t roc_check_device_index(lua_State *L, int arg) {
  uint32_t index = 0;
  const char *problem = find_device_problem(L, arg, false, &index);
  if (problem) luaL_argerror(L, arg, problem);
  return index;
}

roc_rt_device *roc_opt_device(lua_State *L, int arg) {
  if (lua_isnoneornil(L, arg)) return roc_current_device(L);
  return roc_open_device_at(L, roc_check_device_index(L, arg));
}

roc_rt_device *roc_opt_device_field(lua_State *L, int idx) {
  if (lua_isnil(L, idx)) return roc_current_device(L);
  uint32_t index = 0;
  const char *problem = find_device_problem(L, lua_absindex(L, idx), true, &index);
  if (problem) luaL_error(L, "bad option 'device' of 'to_device' (%s)", problem);
  return roc_open_device_at(L, index);
}

void roc_push_device(lua_State *L, uint32_t index) {
  roc_device_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (roc_device_box){.index = index};
  luaL_setmetatable(L, ROC_META_DEVICE);
}

const roc_stream_box *roc_test_stream(lua_State *L, int idx) {
  const roc_stream_box *box = luaL_testudata(L, idx, ROC_META_STREAM);
  return box ? box : luaL_testudata(L, idx, ROC_META_STREAM_SCOPE);
}

/* Why the value at `idx` is no stream for `device` (NULL: for any); NULL when it is one. */
static const char *find_stream_problem(lua_State *L, int idx, const roc_rt_device *device) {
  const roc_stream_box *box = roc_test_stream(L, idx);
  if (!box) {
    return lua_pushfstring(L, ROC_META_STREAM " expected, got %s", roc_push_type_name(L, idx));
  }
  if (!box->stream) return "the stream is closed";
  if (!device || roc_rt_stream_device(box->stream) == device) return NULL;
  return lua_pushfstring(L, "the stream is of another device ('%s')",
                         roc_rt_device_label(roc_rt_stream_device(box->stream)));
}

static roc_rt_stream *stream_at(lua_State *L, int idx) {
  return ((const roc_stream_box *)lua_touserdata(L, idx))->stream;
}

roc_rt_stream *roc_opt_stream(lua_State *L, int arg, roc_rt_device *device) {
  if (lua_isnoneornil(L, arg)) return NULL;
  const char *problem = find_stream_problem(L, arg, device);
  if (problem) luaL_argerror(L, arg, problem);
  return stream_at(L, arg);
}

void roc_check_stream_option(lua_State *L, int idx, const roc_rt_device *device, const char *func) {
  const char *problem = lua_isnil(L, idx) ? NULL : find_stream_problem(L, idx, device);
  if (problem) luaL_error(L, "bad option 'stream' of '%s' (%s)", func, problem);
}

roc_rt_stream *roc_opt_stream_field(lua_State *L, int idx, roc_rt_device *device) {
  if (lua_isnil(L, idx)) return NULL;
  idx = lua_absindex(L, idx);
  const char *problem = find_stream_problem(L, idx, device);
  if (problem) luaL_error(L, "bad stream (%s)", problem);
  return stream_at(L, idx);
}
