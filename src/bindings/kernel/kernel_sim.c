/* The C part of a launch on sim, whose kernels run in the Lua VM (lua/roc/kernel.lua): host views
 * of device arrays, restoring host arrays after a failed launch, and keeping faults and prints for
 * the next wait. */
#include <stdio.h>

#include "bindings/device/device_bind.h"
#include "bindings/kernel/kernel_bind.h"
#include "runtime/mirror.h"
#include "runtime/registration.h"
#include "runtime/trace.h"

/* Pushes the array at `idx`, or that of roc.In(a), and returns it; any other value gives NULL. */
static const roc_array *push_argument(lua_State *L, int idx) {
  lua_pushvalue(L, idx);
  if (luaL_testudata(L, -1, ROC_META_ARG)) {
    lua_getiuservalue(L, -1, 1);
    lua_remove(L, -2);
  }
  return roc_test_any_array(L, -1);
}

static bool is_direct(const roc_array *a) {
  return roc_buffer_is_mirrored(a->buffer) || roc_buffer_is_mapped(a->buffer);
}

/* The buffer whose memory a kernel on `device` works on; NULL: that of a copy. */
static roc_buffer *used_buffer(lua_State *L, const roc_array *a, roc_rt_device *device) {
  if (roc_buffer_device(a->buffer)) return a->buffer;
  if (!roc_buffer_is_mirrored(a->buffer)) {
    return roc_buffer_is_mapped(a->buffer) ? a->buffer : NULL;
  }
  roc_error err = ROC_ERROR_INIT;
  roc_buffer *buffer;
  ROC_LUA_TRY(L, roc_mirror_fetch(a->buffer, device, &buffer, &err), &err);
  return buffer;
}

static roc_rt_stream *check_stream(lua_State *L, int arg) {
  roc_rt_stream *stream = roc_opt_stream(L, arg, NULL);
  luaL_argcheck(L, stream, arg, "stream expected");
  return stream;
}

/* core.kernel_host_argument(v) -> the host array that an argument is, or wraps, and that is copied
 * for the launch, whether it is copied back, and whether it is read-only; or nothing */
static int kernel_host_argument(lua_State *L) {
  lua_settop(L, 1);
  const roc_kernel_mode *mode = luaL_testudata(L, 1, ROC_META_ARG);
  bool copies_out = !mode || mode->copies_out;
  if (mode) lua_getiuservalue(L, 1, 1);
  const roc_array *a = roc_test_array(L, -1);
  if (!a || !a->buffer || is_direct(a)) return 0;
  lua_pushboolean(L, copies_out);
  lua_pushboolean(L, roc_buffer_is_read_only(a->buffer));
  return 3;
}

/* core.kernel_restore(array, copy): copies the elements back, bit for bit. */
static int kernel_restore(lua_State *L) {
  const roc_array *array = roc_check_array(L, 1), *copy = roc_check_array(L, 2);
  luaL_argcheck(L,
                array->dtype == copy->dtype && roc_array_size(array) == roc_array_size(copy) &&
                    roc_array_is_c_contiguous(copy),
                2, "a copy of the array expected");
  const char *first = roc_buffer_host(copy->buffer);
  roc_buffer_note_write(array->buffer);
  roc_array_unpack(array, first + copy->offset * (int64_t)roc_dtype_itemsize(copy->dtype),
                   ROC_ORDER_C);
  return 0;
}

static void release_viewed(void *buffer) {
  roc_buffer_release(buffer);
}

/* core.kernel_sim_view(v, stream): a host array on the memory of a device, registered or smart
 * array, so that a kernel's own accesses do not wait and report earlier faults; any other value
 * itself. */
static int kernel_sim_view(lua_State *L) {
  lua_settop(L, 2);
  const roc_array *a = push_argument(L, 1);
  bool has_view = a && a->buffer && (roc_buffer_device(a->buffer) || is_direct(a));
  if (!has_view) return 1;
  roc_rt_device *device = roc_rt_stream_device(check_stream(L, 2));
  roc_array *view = roc_push_array(L, &roc_host_array_class);
  if (!a->buffer) return luaL_error(L, "the array was closed during a launch"); /* by a finalizer */
  roc_buffer *used = used_buffer(L, a, device);
  luaL_argcheck(L, roc_buffer_host(used), 1, "the array is on another device than sim");
  roc_array described = *a;
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L,
              roc_buffer_wrap_host(roc_buffer_host(used), roc_buffer_nbytes(used), release_viewed,
                                   used, &described.buffer, &err),
              &err);
  roc_buffer_retain(used);
  roc_buffer_note_write(used); /* perhaps, and then the view's buffer is what is written */
  if (roc_buffer_is_read_only(used)) roc_buffer_protect(described.buffer);
  *view = described;
  return 1;
}

/* core.kernel_is_read_only(v): an argument that no kernel may write to. */
static int kernel_is_read_only(lua_State *L) {
  const roc_kernel_mode *mode = luaL_testudata(L, 1, ROC_META_ARG);
  const roc_array *a = push_argument(L, 1);
  bool is_protected = a && a->buffer && roc_buffer_is_read_only(a->buffer);
  bool writes_to_copy = is_protected && mode && !mode->copies_out && !is_direct(a);
  lua_pushboolean(L, is_protected && !writes_to_copy);
  return 1;
}

/* core.kernel_fail_read_only(name): raises what the runtime raises on other devices. */
static int kernel_fail_read_only(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_rt_fail_read_only_use(luaL_checkstring(L, 1), &err);
  return roc_lua_raise(L, &err);
}

/* core.kernel_sim_mark(v): a kernel has written to the argument. */
static int kernel_sim_mark(lua_State *L) {
  const roc_array *a = push_argument(L, 1);
  if (a && a->buffer && roc_buffer_is_mirrored(a->buffer)) {
    roc_mirror_mark(a->buffer, ROC_SIDE_DEVICE, NULL);
  }
  return 0;
}

/* core.kernel_is_smart(v) */
static int kernel_is_smart(lua_State *L) {
  const roc_array *a = push_argument(L, 1);
  lua_pushboolean(L, a && a->buffer && roc_buffer_is_mirrored(a->buffer));
  return 1;
}

static void post_fault(lua_State *L, roc_rt_stream *stream, int arrays, const char *message) {
  int count = (int)lua_rawlen(L, arrays), nbuffers = 0;
  roc_rt_device *device = roc_rt_stream_device(stream);
  roc_buffer **buffers = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof(roc_buffer *), 0);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, arrays, i);
    const roc_array *a = push_argument(L, -1);
    roc_buffer *used = a && a->buffer ? used_buffer(L, a, device) : NULL;
    if (used) buffers[nbuffers++] = used; /* the table keeps it */
    lua_pop(L, 2);
  }
  roc_rt_post_fault(stream, message, buffers, (uint32_t)nbuffers);
}

/* core.note_finding(text): tells on stderr what the check of sim has found in a kernel. */
static int note_finding(lua_State *L) {
  fprintf(stderr, "roclua: check: %s\n", luaL_checkstring(L, 1));
  roc_rt_note_finding();
  return 0;
}

/* core.kernel_sim_traced(stream, name, start): a launch on sim that began then, by core.time, and has
 * ended. */
static int kernel_sim_traced(lua_State *L) {
  roc_rt_stream *stream = check_stream(L, 1);
  const char *name = luaL_checkstring(L, 2);
  uint64_t begin_ns = (uint64_t)(luaL_checknumber(L, 3) * 1e9);
  if (roc_rt_is_traced()) roc_rt_trace_on_stream(stream, ROC_TRACE_LAUNCH, name, begin_ns);
  return 0;
}

/* core.kernel_sim_done(message or nil, lines, waits, arrays, stream): the result of a launch
 * on sim; lines.lost is the number of printed lines beyond the limit of a launch. A launch with
 * host arrays reports at once, others at the next wait for the stream or one of the arrays. */
static int kernel_sim_done(lua_State *L) {
  const char *message = luaL_optstring(L, 1, NULL);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 4, LUA_TTABLE);
  lua_settop(L, 5);
  roc_rt_stream *stream = check_stream(L, 5);
  roc_rt_session *session = roc_rt_stream_session(stream);
  for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; i++) {
    size_t len;
    const char *line = lua_tolstring(L, -1, &len);
    roc_rt_post_print(session, line, len);
    lua_pop(L, 1);
  }
  lua_getfield(L, 2, "lost");
  roc_rt_post_lost_prints(session, (uint32_t)luaL_optinteger(L, -1, 0));
  lua_settop(L, 5);
  if (!lua_toboolean(L, 3)) {
    if (message) post_fault(L, stream, 4, message);
    return 0;
  }
  roc_error err = ROC_ERROR_INIT;
  roc_status status = message ? roc_fail(&err, ROC_FAULT, "%s", message) : ROC_OK;
  roc_bind_after_wait(L, status, &err);
  return 0;
}

/* ---- interrupts -------------------------------------------------------------------------- */

static const char interrupt_key; /* its address is the error that ends an interrupted work-item */

static void end_item(lua_State *L, lua_Debug *activation) {
  (void)activation;
  lua_sethook(L, NULL, 0, 0);
  roc_rt_session *session = roc_get_session(L);
  if (!session || !roc_rt_take_interrupt(session)) return;
  lua_pushlightuserdata(L, (void *)(uintptr_t)&interrupt_key);
  lua_error(L);
}

/* A work-item cannot be interrupted safely from another thread: it runs to its end, and is the last
 * one then. */
void roc_interrupt_sim(const void *key) {
  lua_State *item = roc_rt_running_here(key);
  if (!item) return;
  lua_sethook(item, end_item, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/* core.kernel_sim_interrupted(): raises it. */
static int kernel_sim_interrupted(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_fail(&err, ROC_INTERRUPTED, "interrupted!");
  return roc_lua_raise(L, &err);
}

/* core.kernel_sim_resume(thread, ...): as coroutine.resume, for a work-item; nothing when it was
 * interrupted. */
static int kernel_sim_resume(lua_State *L) {
  lua_State *item = lua_tothread(L, 1);
  luaL_argcheck(L, item, 1, "thread expected");
  roc_rt_session *session = roc_session(L);
  if (roc_rt_take_interrupt(session)) return 0;
  int nargs = lua_gettop(L) - 1, nresults = 0;
  luaL_argcheck(L, lua_checkstack(item, nargs), 1, "too many arguments");
  lua_xmove(L, item, nargs);
  void *outer = roc_rt_session_run(session, item);
  int status = lua_resume(item, L, nargs, &nresults);
  roc_rt_session_run(session, outer);
  bool is_over = status != LUA_OK && status != LUA_YIELD;
  if (is_over && lua_touserdata(item, -1) == &interrupt_key) return 0;
  if (is_over) nresults = 1;
  luaL_checkstack(L, nresults + 1, "too many results");
  lua_pushboolean(L, !is_over);
  lua_xmove(item, L, nresults);
  return nresults + 1;
}

static const luaL_Reg functions[] = {{"kernel_sim_resume", kernel_sim_resume},
                                     {"kernel_sim_interrupted", kernel_sim_interrupted},
                                     {"kernel_host_argument", kernel_host_argument},
                                     {"kernel_restore", kernel_restore},
                                     {"kernel_sim_view", kernel_sim_view},
                                     {"kernel_sim_mark", kernel_sim_mark},
                                     {"kernel_is_smart", kernel_is_smart},
                                     {"kernel_is_read_only", kernel_is_read_only},
                                     {"kernel_fail_read_only", kernel_fail_read_only},
                                     {"kernel_sim_done", kernel_sim_done},
                                     {"kernel_sim_traced", kernel_sim_traced},
                                     {"note_finding", note_finding},
                                     {NULL, NULL}};

void roc_open_kernel_sim(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
}
