/* roc.Registration: page-locked host arrays, which kernels use in place.
 *
 * The registration belongs to the array's memory (runtime/registration.h); the handle only lists
 * what one call has registered, so collecting the handle ends no registration.  A call registers
 * all of its arrays or none: arguments are checked first, and when an array fails the earlier ones
 * are deregistered. */
#include "bindings/device/device_bind.h"
#include "bindings/support/unknown.h"
#include "runtime/registration.h"

#define META_REGISTRATION "roc.Registration"

typedef struct registration_box {
  uint32_t count;
  roc_registration *items[]; /* NULL: ended through this handle */
} registration_box;

static void check_arrays(lua_State *L, int count) {
  for (int i = 1; i <= count; i++) roc_check_array(L, i);
}

/* Registers all or none.  Runs no Lua code. */
static roc_status begin_all(lua_State *L, registration_box *box, roc_rt_device *device,
                            roc_error *err) {
  roc_status status = ROC_OK;
  uint32_t done = 0;
  for (; done < box->count && status == ROC_OK; done++) {
    roc_buffer *buffer = roc_test_array(L, (int)done + 1)->buffer;
    status = roc_registration_begin(buffer, device, &box->items[done], err);
  }
  for (uint32_t i = 0; i < done && status != ROC_OK; i++) {
    roc_registration_cancel(box->items[i]);
    box->items[i] = NULL;
  }
  return status;
}

/* roc.register(a, …) */
static int registration_register(lua_State *L) {
  int count = lua_gettop(L);
  check_arrays(L, count);
  roc_rt_device *device = roc_current_device(L);
  registration_box *box =
      lua_newuserdatauv(L, sizeof *box + (size_t)count * sizeof(roc_registration *), 0);
  box->count = (uint32_t)count;
  for (int i = 0; i < count; i++) box->items[i] = NULL;
  luaL_setmetatable(L, META_REGISTRATION);
  check_arrays(L, count); /* a finalizer may have closed one */
  roc_error err = ROC_ERROR_INIT;
  roc_status status = begin_all(L, box, device, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) {
    check_arrays(L, count);
    status = begin_all(L, box, device, &err);
  }
  if (status != ROC_OK) roc_lua_raise(L, &err);
  return 1;
}

/* A function of its own, so that messages name it. */
static int registration_pinned(lua_State *L) {
  return registration_register(L);
}

/* How often `buffer` occurs among the first `count` arguments. */
static uint32_t count_uses_before(lua_State *L, const roc_buffer *buffer, int count) {
  uint32_t found = 0;
  for (int i = 1; i <= count; i++) found += roc_test_array(L, i)->buffer == buffer;
  return found;
}

/* Ends each argument's newest registration; the first fault found is raised when all is done. */
static int registration_deregister(lua_State *L) {
  int count = lua_gettop(L);
  check_arrays(L, count);
  for (int i = 1; i <= count; i++) {
    const roc_buffer *buffer = roc_test_array(L, i)->buffer;
    luaL_argcheck(L, roc_buffer_registrations(buffer) > count_uses_before(L, buffer, i - 1), i,
                  "the array is not registered");
  }
  roc_error err = ROC_ERROR_INIT, found = ROC_ERROR_INIT;
  roc_status status = ROC_OK;
  for (int i = 1; i <= count && status != ROC_INTERRUPTED; i++) {
    roc_status one = roc_buffer_deregister(roc_test_array(L, i)->buffer, &found);
    if (one == ROC_OK || (status != ROC_OK && one != ROC_INTERRUPTED)) continue;
    status = one;
    err = found;
  }
  roc_bind_after_wait(L, status, &err);
  return 0;
}

/* r:close() and <close>; an error that leaves the scope is propagated, and faults stay pending. */
static int registration_m_close(lua_State *L) {
  registration_box *box = luaL_checkudata(L, 1, META_REGISTRATION);
  bool reports = lua_isnoneornil(L, 2);
  roc_error err = ROC_ERROR_INIT, found = ROC_ERROR_INIT;
  roc_status status = ROC_OK;
  for (uint32_t i = 0; i < box->count && status != ROC_INTERRUPTED; i++) {
    if (!box->items[i]) continue;
    roc_status one = roc_registration_end(box->items[i], reports, &found);
    if (one != ROC_INTERRUPTED) {
      roc_registration_free(box->items[i]);
      box->items[i] = NULL;
    }
    if (one == ROC_OK || (status != ROC_OK && one != ROC_INTERRUPTED)) continue;
    status = one;
    err = found;
  }
  if (reports) roc_bind_after_wait(L, status, &err);
  return 0;
}

static int registration_mm_gc(lua_State *L) {
  registration_box *box = luaL_checkudata(L, 1, META_REGISTRATION);
  for (uint32_t i = 0; i < box->count; i++) {
    roc_registration_free(box->items[i]);
    box->items[i] = NULL;
  }
  return 0;
}

static int registration_mm_tostring(lua_State *L) {
  const registration_box *box = luaL_checkudata(L, 1, META_REGISTRATION);
  int open = 0;
  for (uint32_t i = 0; i < box->count; i++) {
    open += box->items[i] && !roc_registration_is_over(box->items[i]);
  }
  if (open == 0) {
    lua_pushliteral(L, META_REGISTRATION " (closed)");
  } else {
    lua_pushfstring(L, META_REGISTRATION ": %d array%s", open, open == 1 ? "" : "s");
  }
  return 1;
}

/* ---- memory allocated page-locked ------------------------------------- */

/* roc.pinned_array(shape [, dtype [, order]]) */
static int registration_pinned_array(lua_State *L) {
  roc_array_plan plan = roc_check_plan(L, 1, ROC_DT_FLOAT64, true);
  roc_new_pinned_array(L, roc_current_device(L), plan.dtype, plan.rank, plan.extents, plan.order);
  return 1;
}

/* roc.mapped_array: the same, for all page-locked memory is mapped. */
static int registration_mapped_array(lua_State *L) {
  return registration_pinned_array(L);
}

static const luaL_Reg registration_methods[] = {{"close", registration_m_close}, {NULL, NULL}};

static const luaL_Reg registration_meta[] = {{"__close", registration_m_close},
                                             {"__gc", registration_mm_gc},
                                             {"__tostring", registration_mm_tostring},
                                             {NULL, NULL}};

static const luaL_Reg registration_functions[] = {
    {"register", registration_register},         {"pinned", registration_pinned},
    {"deregister", registration_deregister},     {"pinned_array", registration_pinned_array},
    {"mapped_array", registration_mapped_array}, {NULL, NULL}};

/* core.register, …; core.Registration: the metatable. */
void roc_open_registration(lua_State *L) {
  if (roc_class_new(L, META_REGISTRATION, registration_meta)) {
    luaL_newlib(L, registration_methods);
    roc_refuse_unknown(L, META_REGISTRATION);
    lua_setfield(L, -2, "__index");
  }
  lua_setfield(L, -2, "Registration");
  luaL_setfuncs(L, registration_functions, 0);
}
