/* roc.DeviceArray: arrays in device memory, seen from the host.
 *
 * Views and properties are those of host arrays (array_view.c).  An element access or copy without
 * a stream waits for the queued work that uses the array, and only for that; with a stream it is
 * queued there.  Making a userdata may run finalizers, which may close arrays and streams, so
 * arguments are checked again afterwards. */
#include <string.h>

#include "bindings/device/device_bind.h"

#define CLASS roc_device_array_class

roc_array *roc_new_device_array(lua_State *L, roc_rt_device *device, roc_dtype dtype, uint32_t rank,
                                const int64_t *extents, roc_order order) {
  roc_error err = ROC_ERROR_INIT;
  roc_array described;
  ROC_LUA_TRY(L, roc_array_describe(&described, dtype, rank, extents, order, &err), &err);
  roc_array *a = roc_push_array(L, &CLASS);
  size_t nbytes = roc_array_nbytes(&described);
  roc_gc_account(L, nbytes);
  roc_status status = roc_buffer_create_device(device, nbytes, &described.buffer, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) {
    status = roc_buffer_create_device(device, nbytes, &described.buffer, &err);
  }
  if (status != ROC_OK) roc_lua_raise_named(L, &err);
  *a = described;
  return a;
}

static roc_order order_of(const roc_array *a) {
  return roc_array_is_f_contiguous(a) && !roc_array_is_c_contiguous(a) ? ROC_ORDER_F : ROC_ORDER_C;
}

static void check_alike(lua_State *L, int arg, const roc_array *given, const roc_array *self) {
  if (given->dtype != self->dtype) {
    luaL_argerror(L, arg,
                  lua_pushfstring(L, "%s array expected, got %s", roc_dtype_name(self->dtype),
                                  roc_dtype_name(given->dtype)));
  }
  if (!roc_array_same_shape(given, self)) {
    roc_push_shape_text(L, self->rank, self->extents);
    roc_push_shape_text(L, given->rank, given->extents);
    luaL_argerror(L, arg,
                  lua_pushfstring(L, "array of shape %s expected, got %s", lua_tostring(L, -2),
                                  lua_tostring(L, -1)));
  }
}

/* Copies on the stream, or waits and copies now when there is none. */
static roc_status copy_once(lua_State *L, roc_rt_stream *stream, const roc_array *dst,
                            const roc_array *src, roc_error *err) {
  if (stream) return roc_rt_copy(stream, dst, src, err);
  return roc_rt_copy_now(roc_session(L), dst, src, err);
}

/* The stream at stack index `on` (0, or nil there: none), borrowed until Lua code runs. */
static roc_rt_stream *stream_at(lua_State *L, int on) {
  return on ? roc_opt_stream_field(L, on, NULL) : NULL;
}

/* Computes the array at the index, if it is pending, on the stream at `on`. */
static void evaluate_for(lua_State *L, int on, int idx) {
  roc_array_evaluate(L, roc_check_described_array(L, idx), stream_at(L, on));
}

/* The same copy for the stream and arrays at three stack indices. */
static roc_status try_copy(lua_State *L, int on, int to, int from, roc_error *err) {
  evaluate_for(L, on, from);
  evaluate_for(L, on, to);
  const roc_array *dst = roc_check_any_array(L, to), *src = roc_check_any_array(L, from);
  return copy_once(L, stream_at(L, on), dst, src, err);
}

/* Copies between the arrays at two stack indices, on the stream at a third (0, or nil there: none);
 * packing a strided one needs memory. */
static void copy_arrays(lua_State *L, int on, int to, int from) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = try_copy(L, on, to, from, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) status = try_copy(L, on, to, from, &err);
  roc_bind_after_wait(L, status, &err);
}

/* Whether one device can do the copy: that of the stream, or either. */
static bool is_direct(const roc_array *dst, const roc_array *src) {
  roc_rt_device *from = roc_buffer_device(src->buffer), *to = roc_buffer_device(dst->buffer);
  if (!from || !to || roc_rt_device_copies_between(from, to)) return true;
  return roc_buffer_host(src->buffer) && roc_buffer_host(dst->buffer);
}

/* The same; between devices that cannot access each other's memory it goes through host memory, and
 * the host waits. */
static void copy_anywhere(lua_State *L, int on, int to, int from) {
  const roc_array *dst = roc_check_described_array(L, to);
  const roc_array *src = roc_check_described_array(L, from);
  if (is_direct(dst, src)) {
    copy_arrays(L, on, to, from);
    return;
  }
  roc_new_host_array(L, src->dtype, src->rank, src->extents, order_of(src), false);
  int middle = lua_gettop(L);
  copy_arrays(L, 0, middle, from);
  copy_arrays(L, 0, to, middle);
  lua_pop(L, 1);
}

/* ---- making -------------------------------------------------------------- */

static int devarray_device_array(lua_State *L) {
  roc_array_plan plan = roc_check_plan(L, 1, ROC_DT_FLOAT64, true);
  roc_new_device_array(L, roc_current_device(L), plan.dtype, plan.rank, plan.extents, plan.order);
  return 1;
}

/* On the device of a device array, else on the current one. */
static int devarray_device_array_like(lua_State *L) {
  const roc_array *a = roc_check_described_array(L, 1);
  roc_rt_device *device = roc_buffer_device(a->buffer);
  if (!device) device = roc_current_device(L);
  roc_new_device_array(L, device, a->dtype, a->rank, a->extents, order_of(a));
  return 1;
}

/* Stack indices of to_device, once its options are read. */
enum { TO_SOURCE = 1, TO_OPTIONS, TO_TARGET, TO_STREAM };

typedef struct to_device_options {
  roc_rt_device *device;
  bool copies;
  bool has_target; /* at TO_TARGET; a stream, or nil, is at TO_STREAM */
} to_device_options;

/* The device named at `idx`, else that of the target, else that of the stream. */
static roc_rt_device *choose_device(lua_State *L, const to_device_options *options, int idx) {
  if (lua_isnil(L, idx) && options->has_target) {
    return roc_buffer_device(roc_test_device_array(L, TO_TARGET)->buffer);
  }
  const roc_rt_stream *stream = roc_opt_stream_field(L, TO_STREAM, NULL);
  if (lua_isnil(L, idx) && stream) return roc_rt_stream_device(stream);
  return roc_opt_device_field(L, idx);
}

static void check_option_names(lua_State *L) {
  static const char *const known[] = {"copy", "device", "stream", "to", NULL};
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    lua_pop(L, 1);
    bool found = false;
    for (uint32_t i = 0; known[i] && lua_type(L, -1) == LUA_TSTRING; i++) {
      found |= strcmp(known[i], lua_tostring(L, -1)) == 0;
    }
    if (found) continue;
    luaL_error(L,
               "bad argument #2 to 'to_device' (unknown option '%s'; known are copy, device, "
               "stream, to)",
               roc_push_shown(L, -1));
  }
}

/* Reads the table at TO_OPTIONS and leaves the stack with TO_STREAM values. */
static to_device_options check_to_device_options(lua_State *L) {
  to_device_options options = {.copies = true};
  if (lua_isnoneornil(L, TO_OPTIONS)) {
    lua_settop(L, TO_STREAM);
    options.device = roc_current_device(L);
    return options;
  }
  check_option_names(L);
  lua_settop(L, TO_OPTIONS);
  lua_getfield(L, TO_OPTIONS, "to");
  lua_getfield(L, TO_OPTIONS, "stream");
  if (lua_getfield(L, TO_OPTIONS, "copy") != LUA_TNIL && !lua_isboolean(L, -1)) {
    luaL_error(L, "bad option 'copy' of 'to_device' (boolean expected, got %s)",
               luaL_typename(L, -1));
  }
  options.copies = lua_isnil(L, -1) || lua_toboolean(L, -1);
  lua_getfield(L, TO_OPTIONS, "device");
  options.has_target = !lua_isnil(L, TO_TARGET);
  if (options.has_target && !roc_test_device_array(L, TO_TARGET)) {
    luaL_error(L, "bad option 'to' of 'to_device' (roc.DeviceArray expected, got %s)",
               luaL_typename(L, TO_TARGET));
  }
  if (options.has_target && !roc_test_device_array(L, TO_TARGET)->buffer) {
    luaL_error(L, "bad option 'to' of 'to_device' (the array is closed)");
  }
  roc_check_stream_option(L, TO_STREAM, NULL, "to_device");
  options.device = choose_device(L, &options, lua_gettop(L));
  roc_check_stream_option(L, TO_STREAM, options.device, "to_device");
  lua_settop(L, TO_STREAM);
  return options;
}

static void check_target(lua_State *L, const roc_array *a, const roc_array *to,
                         const roc_rt_device *device) {
  if (roc_buffer_device(to->buffer) != device) {
    luaL_error(L, "bad option 'to' of 'to_device' (it is on another device than 'device')");
  }
  check_alike(L, 1, a, to);
}

static int devarray_to_device(lua_State *L) {
  roc_check_described_array(L, TO_SOURCE);
  to_device_options options = check_to_device_options(L);
  const roc_array *a = roc_check_described_array(L, TO_SOURCE);
  if (options.has_target) {
    check_target(L, a, roc_check_device_array(L, TO_TARGET), options.device);
  } else {
    roc_new_device_array(L, options.device, a->dtype, a->rank, a->extents, order_of(a));
    lua_replace(L, TO_TARGET);
  }
  if (options.copies) copy_anywhere(L, TO_STREAM, TO_TARGET, TO_SOURCE);
  lua_settop(L, TO_TARGET);
  return 1;
}

/* ---- copying ------------------------------------------------------------- */

static roc_rt_stream *opt_copy_stream(lua_State *L, int arg, const roc_array *d) {
  return roc_opt_stream(L, arg, roc_buffer_device(d->buffer));
}

static int devarray_m_copy_to_host(lua_State *L) {
  const roc_array *d = roc_check_described_device_array(L, 1);
  lua_settop(L, 3);
  opt_copy_stream(L, 3, d);
  if (lua_isnil(L, 2)) {
    roc_new_host_array(L, d->dtype, d->rank, d->extents, order_of(d), false);
    lua_replace(L, 2);
  } else {
    check_alike(L, 2, roc_check_array(L, 2), d);
  }
  copy_arrays(L, 3, 2, 1);
  lua_settop(L, 2);
  return 1;
}

static int devarray_m_copy_from_host(lua_State *L) {
  const roc_array *d = roc_check_described_device_array(L, 1);
  const roc_array *a = roc_check_array(L, 2);
  lua_settop(L, 3);
  opt_copy_stream(L, 3, d);
  check_alike(L, 2, a, d);
  copy_arrays(L, 3, 1, 2);
  lua_settop(L, 1);
  return 1;
}

/* On a stream of either device. */
static int devarray_m_copy_to_device(lua_State *L) {
  const roc_array *src = roc_check_described_device_array(L, 1);
  const roc_array *dst = roc_check_described_device_array(L, 2);
  lua_settop(L, 3);
  const roc_rt_stream *stream = roc_opt_stream(L, 3, NULL);
  if (stream && roc_rt_stream_device(stream) != roc_buffer_device(dst->buffer)) {
    opt_copy_stream(L, 3, src);
  }
  check_alike(L, 2, dst, src);
  copy_anywhere(L, 3, 2, 1);
  lua_settop(L, 2);
  return 1;
}

/* ---- elements ------------------------------------------------------------ */

/* One element of `a` as an array of its own, which holds no reference to the buffer. */
static roc_array element_of(const roc_array *a, const int64_t *indices) {
  roc_array element = {.buffer = a->buffer, .dtype = a->dtype, .rank = 1, .offset = a->offset};
  for (uint32_t d = 0; d < a->rank; d++) element.offset += indices[d] * a->strides[d];
  element.extents[0] = 1;
  element.strides[0] = 1;
  return element;
}

/* Pushes the value of one element. */
static void push_element(lua_State *L, const int64_t *indices) {
  int64_t one = 1;
  const roc_array *a = roc_check_device_array(L, 1);
  if (roc_buffer_host(a->buffer)) {
    roc_error err;
    ROC_LUA_TRY(L, roc_rt_check_open(&err), &err);
    roc_array_sync(L, a, false);
    roc_push_scalar(L, roc_dtype_load(a->dtype, roc_array_at(a, indices)));
    return;
  }
  roc_array *value = roc_new_host_array(L, a->dtype, 1, &one, ROC_ORDER_C, false);
  roc_array element = element_of(roc_check_device_array(L, 1), indices);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = copy_once(L, NULL, value, &element, &err);
  roc_bind_after_wait(L, status, &err);
  roc_push_scalar(L, roc_dtype_load(value->dtype, roc_buffer_host(value->buffer)));
}

static void fill_now(lua_State *L, const roc_array *dst, const void *element) {
  roc_error err = ROC_ERROR_INIT;
  roc_status status = roc_rt_fill_now(roc_session(L), dst, element, &err);
  roc_bind_after_wait(L, status, &err);
}

static bool is_device_array(lua_State *L, int idx) {
  const roc_array_box *box = roc_test_array_box(L, idx);
  return box && box->cls == &roc_device_array_class;
}

/* Upvalue 1: the methods. */
static int devarray_mm_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING && is_device_array(L, 1)) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1; /* also of a closed array */
  }
  const roc_array *a = roc_check_described_device_array(L, 1);
  if (lua_type(L, 2) == LUA_TSTRING) {
    if (roc_array_push_property(L, a, lua_tostring(L, 2))) return 1;
    return roc_array_fail_field(L, lua_upvalueindex(1));
  }
  if (roc_array_key_selects(L)) return roc_array_select(L);
  int64_t i;
  if (!roc_check_key(L, a, &i)) return 0;
  if (a->rank == 1) {
    push_element(L, &i);
  } else {
    roc_array_push_row(L, i);
  }
  return 1;
}

static int devarray_mm_newindex(lua_State *L) {
  unsigned char bytes[8];
  const roc_array *a = roc_check_device_array(L, 1);
  if (roc_array_assigns_many(L, a)) return roc_array_assign(L);
  int64_t i = roc_check_assigned_key(L, a);
  roc_store_assigned(L, 3, a->dtype, bytes);
  roc_array element = element_of(a, &i);
  fill_now(L, &element, bytes);
  return 0;
}

static int devarray_m_get(lua_State *L) {
  int64_t indices[ROC_ARRAY_MAX_RANK];
  roc_check_indices(L, 2, roc_check_device_array(L, 1), indices);
  push_element(L, indices);
  return 1;
}

static int devarray_m_set(lua_State *L) {
  unsigned char bytes[8];
  int64_t indices[ROC_ARRAY_MAX_RANK];
  const roc_array *a = roc_check_device_array(L, 1);
  luaL_checkany(L, 2);
  roc_check_indices(L, 3, a, indices);
  roc_store_arg(L, 2, a->dtype, bytes);
  roc_array element = element_of(a, indices);
  fill_now(L, &element, bytes);
  return 0;
}

static void fill_on(lua_State *L, roc_rt_stream *stream, const roc_array *dst,
                    const void *element) {
  roc_error err = ROC_ERROR_INIT;
  ROC_LUA_TRY(L, roc_rt_fill(stream, dst, element, &err), &err);
}

/* d:fill(v [, stream]) */
static int devarray_m_fill(lua_State *L) {
  unsigned char bytes[8];
  const roc_array *a = roc_check_described_device_array(L, 1);
  luaL_checkany(L, 2);
  roc_store_arg(L, 2, a->dtype, bytes);
  roc_array_evaluate(L, a, opt_copy_stream(L, 3, a));
  roc_rt_stream *stream = opt_copy_stream(L, 3, roc_check_device_array(L, 1));
  if (stream) {
    fill_on(L, stream, a, bytes);
  } else {
    fill_now(L, a, bytes);
  }
  lua_settop(L, 1);
  return 1;
}

static int devarray_mm_len(lua_State *L) {
  lua_pushinteger(L, roc_check_described_device_array(L, 1)->extents[0]);
  return 1;
}

/* As the host array of the same contents prints. */
static int devarray_mm_tostring(lua_State *L) {
  const roc_array_box *box = roc_test_array_box(L, 1);
  if (!is_device_array(L, 1)) return luaL_typeerror(L, 1, ROC_META_DEVICE_ARRAY);
  if (!box->array.buffer) {
    lua_pushliteral(L, ROC_META_DEVICE_ARRAY " (closed)");
    return 1;
  }
  lua_settop(L, 1);
  lua_pushcfunction(L, devarray_m_copy_to_host);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  luaL_tolstring(L, -1, NULL);
  return 1;
}

/* A view when it can be, else a packed copy on the same device. */
static int devarray_m_ravel(lua_State *L) {
  roc_check_described_device_array(L, 1);
  roc_order order = roc_opt_order(L, 2);
  if (roc_array_push_ravel(L, order)) return 1;
  const roc_array *a = roc_check_described_device_array(L, 1);
  roc_array *packed =
      roc_new_device_array(L, roc_buffer_device(a->buffer), a->dtype, a->rank, a->extents, order);
  copy_arrays(L, 0, lua_gettop(L), 1);
  packed->extents[0] = roc_array_size(packed);
  packed->strides[0] = 1;
  packed->rank = 1;
  return 1;
}

/* ---- release ------------------------------------------------------------- */

/* __gc, __close and close: drops this reference; queued work keeps the memory. */
static int devarray_m_close(lua_State *L) {
  if (!is_device_array(L, 1)) return luaL_typeerror(L, 1, ROC_META_DEVICE_ARRAY);
  roc_array_release(&roc_test_array_box(L, 1)->array);
  return 0;
}

static const luaL_Reg devarray_methods[] = {{"copy_to_host", devarray_m_copy_to_host},
                                            {"copy_from_host", devarray_m_copy_from_host},
                                            {"copy_to_device", devarray_m_copy_to_device},
                                            {"get", devarray_m_get},
                                            {"set", devarray_m_set},
                                            {"fill", devarray_m_fill},
                                            {"ravel", devarray_m_ravel},
                                            {"close", devarray_m_close},
                                            {NULL, NULL}};

static const luaL_Reg devarray_meta[] = {{"__newindex", devarray_mm_newindex},
                                         {"__len", devarray_mm_len},
                                         {"__pairs", roc_array_mm_pairs},
                                         {"__tostring", devarray_mm_tostring},
                                         {"__close", devarray_m_close},
                                         {"__gc", devarray_m_close},
                                         {NULL, NULL}};

static const luaL_Reg devarray_functions[] = {{"device_array", devarray_device_array},
                                              {"device_array_like", devarray_device_array_like},
                                              {"to_device", devarray_to_device},
                                              {NULL, NULL}};

/* core.DeviceArray: the metatable; core.device_array_methods: its methods; core.device_array, … */
void roc_open_devarray(lua_State *L) {
  roc_open_array_class(L, ROC_META_DEVICE_ARRAY, devarray_meta, devarray_methods,
                       devarray_mm_index);
  lua_setfield(L, -3, "device_array_methods");
  lua_setfield(L, -2, "DeviceArray");
  luaL_setfuncs(L, devarray_functions, 0);
}
