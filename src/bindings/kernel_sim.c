/* What lua/roc/kernel.lua needs of C to launch on sim, whose kernels run in the Lua VM: host views
 * of device arrays, putting host arrays back after a failed launch, and leaving faults and prints
 * for the next wait. */
#include "bindings/device_bind.h"
#include "bindings/kernel_bind.h"

/* core.kernel_host_argument(v) -> the host array that is or hides in an argument, and whether it is
 * copied back; or nothing */
static int kernel_host_argument(lua_State *L) {
  lua_settop(L, 1);
  const roc_kernel_mode *mode = luaL_testudata(L, 1, ROC_META_ARG);
  bool copies_out = !mode || mode->copies_out;
  if (mode) lua_getiuservalue(L, 1, 1);
  if (!roc_test_array(L, -1)) return 0;
  lua_pushboolean(L, copies_out);
  return 2;
}

/* core.kernel_restore(array, copy): elements back, bit for bit. */
static int kernel_restore(lua_State *L) {
  const roc_array *array = roc_check_array(L, 1), *copy = roc_check_array(L, 2);
  luaL_argcheck(L,
                array->dtype == copy->dtype && roc_array_size(array) == roc_array_size(copy) &&
                    roc_array_is_c_contiguous(copy),
                2, "a copy of the array expected");
  const char *first = roc_buffer_host(copy->buffer);
  roc_array_unpack(array, first + copy->offset * (int64_t)roc_dtype_itemsize(copy->dtype),
                   ROC_ORDER_C);
  return 0;
}

static void release_viewed(void *buffer) {
  roc_buffer_release(buffer);
}

/* core.kernel_sim_view(v): a host array on the memory of a device array, so that a kernel's own
 * accesses are no waits that report earlier faults; anything else as it is. */
static int kernel_sim_view(lua_State *L) {
  lua_settop(L, 1);
  const roc_array *a = roc_test_device_array(L, 1);
  if (!a || !a->buffer || !roc_buffer_host(a->buffer)) return 1;
  roc_array *view = roc_push_array(L, &roc_host_array_class);
  if (!a->buffer) return luaL_error(L, "the array was closed during a launch"); /* by a finalizer */
  roc_array described = *a;
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L,
              roc_buffer_wrap_host(roc_buffer_host(a->buffer), roc_buffer_nbytes(a->buffer),
                                   release_viewed, a->buffer, &described.buffer, &err),
              &err);
  roc_buffer_retain(a->buffer);
  *view = described;
  return 1;
}

static void post_fault(lua_State *L, int arrays, const char *message) {
  int count = (int)lua_rawlen(L, arrays), nbuffers = 0;
  roc_buffer **buffers = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof(roc_buffer *), 0);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, arrays, i);
    const roc_array *a = roc_test_device_array(L, -1);
    if (a && a->buffer) buffers[nbuffers++] = a->buffer; /* the table keeps it */
    lua_pop(L, 1);
  }
  roc_rt_stream *stream = roc_rt_device_default_stream(roc_current_device(L));
  roc_rt_post_fault(stream, message, buffers, (uint32_t)nbuffers);
}

/* core.kernel_sim_done(message or nil, lines, waits, arrays): what a launch on sim left.  One with
 * host arrays reports at once, others at the next wait that concerns the device or one of the
 * arrays. */
static int kernel_sim_done(lua_State *L) {
  const char *message = luaL_optstring(L, 1, NULL);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 4, LUA_TTABLE);
  lua_settop(L, 4);
  for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; i++) {
    size_t len;
    const char *line = lua_tolstring(L, -1, &len);
    roc_rt_post_print(line, len);
    lua_pop(L, 1);
  }
  if (!lua_toboolean(L, 3)) {
    if (message) post_fault(L, 4, message);
    return 0;
  }
  roc_error err = ROC_ERROR_INIT;
  roc_status status = message ? roc_fail(&err, ROC_FAULT, "%s", message) : ROC_OK;
  roc_bind_after_wait(L, status, &err);
  return 0;
}
static const luaL_Reg functions[] = {{"kernel_host_argument", kernel_host_argument},
                                     {"kernel_restore", kernel_restore},
                                     {"kernel_sim_view", kernel_sim_view},
                                     {"kernel_sim_done", kernel_sim_done},
                                     {NULL, NULL}};

void roc_open_kernel_sim(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
