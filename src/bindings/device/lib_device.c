/* roc.Device, and which device is the current one of a Lua state.
 *
 * A device value is its ordinal; the device behind it is opened when something of it is asked for,
 * so that listing devices starts no driver.  Once open it is held, so that its properties stay
 * readable to the end of the state. */
#include <stdlib.h>
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/support/unknown.h"

#define META_CURRENT "roc.CurrentDevice"

typedef struct device_box {
  uint32_t index;
  roc_rt_device *device; /* NULL: not opened through this value */
} device_box;

struct roc_current {
  bool is_chosen; /* else what ROCLUA_DEVICE or ROCLUA_EMULATE names, or the first */
  bool is_final;  /* the state is closing: holds nothing any more */
  uint32_t index;
  roc_rt_device *device; /* held; NULL: not opened yet */
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
  current->is_final = true;
  return 0;
}

static const luaL_Reg current_meta[] = {{"__gc", current_mm_gc}, {NULL, NULL}};

roc_current *roc_get_current(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &current_key) == LUA_TNIL) {
    lua_pop(L, 1);
    *(roc_current *)lua_newuserdatauv(L, sizeof(roc_current), 0) = (roc_current){0};
    luaL_setmetatable(L, META_CURRENT);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &current_key);
  }
  roc_current *current = lua_touserdata(L, -1);
  lua_pop(L, 1); /* the registry keeps it */
  return current;
}

static void set_current(lua_State *L, uint32_t index) {
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

/* NULL, or why the name is none of a device; pushed.  Raises why a device is absent. */
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

/* Who asks for software GPUs and gets none is not to run elsewhere without a word. */
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

static uint32_t current_index(lua_State *L) {
  roc_current *current = roc_get_current(L);
  if (!current->is_chosen) {
    current->index = default_index(L);
    current->is_chosen = true;
  }
  return current->index;
}

static roc_rt_device *open_device(lua_State *L, uint32_t index) {
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
  roc_rt_device *device = open_device(L, current_index(L));
  if (!current->is_final) {
    roc_rt_device_retain(device);
    current->device = device;
  }
  return device;
}

/* A device, ordinal from 1, or name at `idx`.  NULL, or why it is none of these; pushed. */
static const char *find_device_problem(lua_State *L, int idx, bool is_option, uint32_t *index) {
  const device_box *box = luaL_testudata(L, idx, ROC_META_DEVICE);
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

static uint32_t check_device_index(lua_State *L, int arg) {
  uint32_t index = 0;
  const char *problem = find_device_problem(L, arg, false, &index);
  if (problem) luaL_argerror(L, arg, problem);
  return index;
}

roc_rt_device *roc_opt_device(lua_State *L, int arg) {
  if (lua_isnoneornil(L, arg)) return roc_current_device(L);
  return open_device(L, check_device_index(L, arg));
}

roc_rt_device *roc_opt_device_field(lua_State *L, int idx) {
  if (lua_isnil(L, idx)) return roc_current_device(L);
  uint32_t index = 0;
  const char *problem = find_device_problem(L, lua_absindex(L, idx), true, &index);
  if (problem) luaL_error(L, "bad option 'device' of 'to_device' (%s)", problem);
  return open_device(L, index);
}

void roc_push_device(lua_State *L, uint32_t index) {
  device_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (device_box){.index = index};
  luaL_setmetatable(L, ROC_META_DEVICE);
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
                         roc_rt_device_driver(roc_rt_stream_device(box->stream))->props.name);
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

/* ---- roc.Device ---------------------------------------------------------- */

static device_box *check_box(lua_State *L) {
  return luaL_checkudata(L, 1, ROC_META_DEVICE);
}

static roc_rt_device *check_open_device(lua_State *L) {
  device_box *box = check_box(L);
  if (!box->device) {
    box->device = open_device(L, box->index);
    roc_rt_device_retain(box->device);
  }
  return box->device;
}

static int device_mm_gc(lua_State *L) {
  device_box *box = check_box(L);
  roc_rt_device_release(box->device);
  box->device = NULL;
  return 0;
}

static int device_mm_eq(lua_State *L) {
  const device_box *a = luaL_testudata(L, 1, ROC_META_DEVICE);
  const device_box *b = luaL_testudata(L, 2, ROC_META_DEVICE);
  lua_pushboolean(L, a && b && a->index == b->index);
  return 1;
}

static int device_mm_tostring(lua_State *L) {
  const roc_device *driver = roc_rt_device_driver(check_open_device(L));
  lua_pushfstring(L, "roc.Device %d: %s", (int)check_box(L)->index + 1, driver->props.name);
  return 1;
}

static void push_name(lua_State *L, const roc_device *d) {
  lua_pushstring(L, d->props.name);
}
static void push_model(lua_State *L, const roc_device *d) {
  lua_pushstring(L, d->props.model[0] ? d->props.model : d->props.name);
}
static void push_kind(lua_State *L, const roc_device *d) {
  lua_pushstring(L, d->kind);
}
static void push_arch(lua_State *L, const roc_device *d) {
  lua_pushstring(L, d->props.arch);
}
static void push_wavefront_size(lua_State *L, const roc_device *d) {
  lua_pushinteger(L, d->props.wavefront_size);
}
static void push_compute_units(lua_State *L, const roc_device *d) {
  lua_pushinteger(L, d->props.compute_units);
}
static void push_max_workgroup(lua_State *L, const roc_device *d) {
  lua_pushinteger(L, d->props.max_workgroup);
}
static void push_shared_bytes(lua_State *L, const roc_device *d) {
  lua_pushinteger(L, (lua_Integer)d->props.shared_bytes);
}
static void push_memory_total(lua_State *L, const roc_device *d) {
  lua_pushinteger(L, (lua_Integer)d->props.memory_total);
}
static void push_state(lua_State *L, const roc_device *d) {
  if (d->ops->watch) d->ops->watch(d);
  lua_pushstring(L, d->is_lost ? "lost" : "ok");
}

static const struct property {
  const char *name;
  void (*push)(lua_State *L, const roc_device *device);
} properties[] = {
    {"name", push_name},
    {"model", push_model},
    {"kind", push_kind},
    {"arch", push_arch},
    {"wavefront_size", push_wavefront_size},
    {"compute_units", push_compute_units},
    {"max_workgroup", push_max_workgroup},
    {"shared_bytes", push_shared_bytes},
    {"memory_total", push_memory_total},
    {"state", push_state},
};

/* Upvalue 1: the methods. */
static int device_mm_index(lua_State *L) {
  check_box(L);
  const char *key = luaL_checkstring(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    if (strcmp(properties[i].name, key) != 0) continue;
    properties[i].push(L, roc_rt_device_driver(check_open_device(L)));
    return 1;
  }
  roc_near near = roc_near_to_key(L);
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    roc_near_offer(&near, properties[i].name, properties[i].name);
  }
  return roc_fail_field(L, ROC_META_DEVICE, NULL, lua_upvalueindex(1), &near);
}

static int device_m_memory_free(lua_State *L) {
  roc_device *driver = roc_rt_device_driver(check_open_device(L));
  lua_pushinteger(L, (lua_Integer)driver->ops->memory_free(driver));
  return 1;
}

static int device_m_synchronize(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_device_synchronize(check_open_device(L), &err);
  roc_bind_after_wait(L, status, &err);
  return 0;
}

static int device_m_reset(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_device_reset(check_open_device(L), &err);
  roc_bind_after_wait(L, status, &err);
  return 0;
}

static const luaL_Reg device_methods[] = {{"memory_free", device_m_memory_free},
                                          {"synchronize", device_m_synchronize},
                                          {"reset", device_m_reset},
                                          {NULL, NULL}};

static const luaL_Reg device_meta[] = {{"__gc", device_mm_gc},
                                       {"__eq", device_mm_eq},
                                       {"__tostring", device_mm_tostring},
                                       {NULL, NULL}};

/* ---- choosing ------------------------------------------------------------ */

static int device_devices(lua_State *L) {
  uint32_t count = roc_rt_device_count();
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    roc_push_device(L, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* { { kind =, reason = }, … } */
static int device_absent_devices(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  const char *kind;
  lua_newtable(L);
  for (uint32_t i = 0; (kind = roc_rt_absent_kind(i, &err)); i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, kind);
    lua_setfield(L, -2, "kind");
    lua_pushstring(L, err.message);
    lua_setfield(L, -2, "reason");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int device_current_device(lua_State *L) {
  roc_push_device(L, current_index(L));
  return 1;
}

/* Opens the device before it becomes the current one: an absent device is refused here, not at its
 * first use. */
static void choose(lua_State *L, uint32_t index) {
  open_device(L, index);
  set_current(L, index);
}

static int device_select_device(lua_State *L) {
  luaL_checkany(L, 1);
  choose(L, check_device_index(L, 1));
  return 0;
}

#define META_SCOPE "roc.DeviceScope"

typedef struct scope_box {
  bool is_open;
  uint32_t previous;
} scope_box;

static int scope_mm_close(lua_State *L) {
  scope_box *scope = luaL_checkudata(L, 1, META_SCOPE);
  if (scope->is_open) set_current(L, scope->previous);
  scope->is_open = false;
  return 0;
}

static int device_on_device(lua_State *L) {
  luaL_checkany(L, 1);
  uint32_t index = check_device_index(L, 1), previous = current_index(L);
  scope_box *scope = lua_newuserdatauv(L, sizeof *scope, 0);
  *scope = (scope_box){.previous = previous};
  luaL_setmetatable(L, META_SCOPE);
  choose(L, index);
  scope->is_open = true;
  return 1;
}

static const luaL_Reg scope_meta[] = {{"__close", scope_mm_close}, {NULL, NULL}};

static const luaL_Reg device_functions[] = {{"devices", device_devices},
                                            {"absent_devices", device_absent_devices},
                                            {"current_device", device_current_device},
                                            {"select_device", device_select_device},
                                            {"on_device", device_on_device},
                                            {NULL, NULL}};

/* core.devices, absent_devices, current_device, select_device, on_device; core.Device: the
 * metatable. */
void roc_open_device(lua_State *L) {
  roc_class_new(L, META_CURRENT, current_meta);
  lua_pop(L, 1);
  if (roc_class_new(L, META_SCOPE, scope_meta)) {
    lua_newtable(L);
    lua_pushcfunction(L, scope_mm_close);
    lua_setfield(L, -2, "close");
    roc_refuse_unknown(L, META_SCOPE);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
  if (roc_class_new(L, ROC_META_DEVICE, device_meta)) {
    lua_newtable(L);
    luaL_setfuncs(L, device_methods, 0);
    lua_pushcclosure(L, device_mm_index, 1);
    lua_setfield(L, -2, "__index");
  }
  lua_setfield(L, -2, "Device");
  luaL_setfuncs(L, device_functions, 0);
}
