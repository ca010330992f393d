/* roc.Device, and choosing the current one.
 *
 * A device value is its ordinal; the device itself is opened when a property of it is read, so that
 * listing devices starts no driver.  Once opened it is held, so that its properties stay
 * readable as long as the state exists. */
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/support/unknown.h"

/* ---- roc.Device ---------------------------------------------------------- */

static roc_device_box *check_box(lua_State *L) {
  return luaL_checkudata(L, 1, ROC_META_DEVICE);
}

static roc_rt_device *check_open_device(lua_State *L) {
  roc_device_box *box = check_box(L);
  if (!box->device) {
    box->device = roc_open_device_at(L, box->index);
    roc_rt_device_retain(box->device);
  }
  return box->device;
}

static int device_mm_gc(lua_State *L) {
  roc_device_box *box = check_box(L);
  roc_rt_device_release(box->device);
  box->device = NULL;
  return 0;
}

static int device_mm_eq(lua_State *L) {
  const roc_device_box *a = luaL_testudata(L, 1, ROC_META_DEVICE);
  const roc_device_box *b = luaL_testudata(L, 2, ROC_META_DEVICE);
  lua_pushboolean(L, a && b && a->index == b->index);
  return 1;
}

static int device_mm_tostring(lua_State *L) {
  const char *label = roc_rt_device_label(check_open_device(L));
  lua_pushfstring(L, "roc.Device %d: %s", (int)check_box(L)->index + 1, label);
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

/* core.count_executed(device) -> instructions of wavefronts so far, where it is emulated; else nil */
static int count_executed(lua_State *L) {
  roc_device *driver = roc_rt_device_driver(check_open_device(L));
  uint64_t count;
  if (!driver->ops->count_executed || !driver->ops->count_executed(&count)) return 0;
  lua_pushinteger(L, (lua_Integer)count);
  return 1;
}

/* core.device_life() -> a number of the current device until it is reset: what was written to its
 * memory is there for so long */
static int device_life(lua_State *L) {
  roc_rt_device *device = roc_current_device(L);
  lua_Integer resets = roc_rt_device_resets(device);
  lua_pushinteger(L, resets << 32 | (lua_Integer)roc_rt_device_index(device));
  return 1;
}

static int device_m_synchronize(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_device_synchronize(check_open_device(L), roc_session(L), &err);
  roc_bind_after_wait(L, status, &err);
  return 0;
}

static int device_m_reset(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_device_reset(check_open_device(L), roc_session(L), &err);
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
  roc_push_device(L, roc_current_device_index(L));
  return 1;
}

/* Opens the device before it becomes the current one: an absent device is refused here, not at its
 * first use. */
static void choose(lua_State *L, uint32_t index) {
  roc_open_device_at(L, index);
  roc_set_current_device(L, index);
}

static int device_select_device(lua_State *L) {
  luaL_checkany(L, 1);
  choose(L, roc_check_device_index(L, 1));
  return 0;
}

#define META_SCOPE "roc.DeviceScope"

typedef struct scope_box {
  bool is_open;
  uint32_t previous;
} scope_box;

static int scope_mm_close(lua_State *L) {
  scope_box *scope = luaL_checkudata(L, 1, META_SCOPE);
  if (scope->is_open) roc_set_current_device(L, scope->previous);
  scope->is_open = false;
  return 0;
}

static int device_on_device(lua_State *L) {
  luaL_checkany(L, 1);
  uint32_t index = roc_check_device_index(L, 1), previous = roc_current_device_index(L);
  scope_box *scope = lua_newuserdatauv(L, sizeof *scope, 0);
  *scope = (scope_box){.previous = previous};
  luaL_setmetatable(L, META_SCOPE);
  choose(L, index);
  scope->is_open = true;
  return 1;
}

static const luaL_Reg scope_meta[] = {{"__close", scope_mm_close}, {NULL, NULL}};

/* core.synchronize(): waits for all devices that this state has used. */
static int device_synchronize(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_bind_after_wait(L, roc_rt_session_synchronize(roc_session(L), &err), &err);
  return 0;
}

static const luaL_Reg device_functions[] = {{"devices", device_devices},
                                            {"absent_devices", device_absent_devices},
                                            {"current_device", device_current_device},
                                            {"select_device", device_select_device},
                                            {"on_device", device_on_device},
                                            {"count_executed", count_executed},
                                            {"device_life", device_life},
                                            {"synchronize", device_synchronize},
                                            {NULL, NULL}};

/* core.devices, absent_devices, current_device, select_device, on_device, synchronize; core.Device:
 * the metatable. */
void roc_open_device(lua_State *L) {
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
