/* Array userdata: making, recognising and synchronising them, for every class of arrays. */
#include "bindings/array/array_bind.h"
#include "bindings/device/device_bind.h"
#include "runtime/registration.h"

const roc_array_class roc_host_array_class = {ROC_META_ARRAY};
const roc_array_class roc_device_array_class = {ROC_META_DEVICE_ARRAY};
const roc_array_class roc_smart_array_class = {ROC_META_SMART_ARRAY};

/* Under the class's address, too: a look-up by name makes a string first. */
static void push_metatable(lua_State *L, const roc_array_class *cls) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, cls) == LUA_TTABLE) return;
  lua_pop(L, 1);
  luaL_getmetatable(L, cls->metatable);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, cls);
}

roc_array *roc_push_array(lua_State *L, const roc_array_class *cls) {
  roc_array_box *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = (roc_array_box){.cls = cls};
  push_metatable(L, cls);
  lua_setmetatable(L, -2);
  return &box->array;
}

/* Cheaper than comparing metatables: a full userdata of the right size (a light one has length 0)
 * whose last word is the address of one of the classes. */
roc_array_box *roc_test_array_box(lua_State *L, int idx) {
  roc_array_box *box = lua_touserdata(L, idx);
  if (!box || lua_rawlen(L, idx) != sizeof *box) return NULL;
  bool is_array = box->cls == &roc_host_array_class || box->cls == &roc_device_array_class ||
                  box->cls == &roc_smart_array_class;
  return is_array ? box : NULL;
}

static roc_array_evaluator evaluator;

void roc_array_set_evaluator(const roc_array_evaluator *given) {
  evaluator = *given;
}

bool roc_array_evaluate(lua_State *L, const roc_array *a, roc_rt_stream *stream) {
  bool may_await = a->buffer && (roc_buffer_pending(a->buffer) || roc_buffer_readers(a->buffer));
  return may_await && evaluator.one(L, a, stream);
}

bool roc_array_evaluate_all(lua_State *L, int first, int count, roc_rt_stream *stream) {
  return evaluator.all(L, first, count, stream);
}

static roc_array *evaluated(lua_State *L, roc_array *a) {
  roc_array_evaluate(L, a, NULL);
  return a;
}

roc_array *roc_test_array(lua_State *L, int idx) {
  roc_array_box *box = roc_test_array_box(L, idx);
  return box && box->cls != &roc_device_array_class ? evaluated(L, &box->array) : NULL;
}

roc_array *roc_test_device_array(lua_State *L, int idx) {
  roc_array_box *box = roc_test_array_box(L, idx);
  return box && box->cls == &roc_device_array_class ? evaluated(L, &box->array) : NULL;
}

roc_array *roc_test_any_array(lua_State *L, int idx) {
  roc_array_box *box = roc_test_array_box(L, idx);
  return box ? evaluated(L, &box->array) : NULL;
}

static roc_array *check_open(lua_State *L, int arg, roc_array *a, const char *expected) {
  if (!a) luaL_typeerror(L, arg, expected);
  if (!a->buffer) luaL_argerror(L, arg, "the array is closed");
  return a;
}

roc_array *roc_check_array(lua_State *L, int arg) {
  return check_open(L, arg, roc_test_array(L, arg), ROC_META_ARRAY);
}

roc_array *roc_check_device_array(lua_State *L, int arg) {
  return check_open(L, arg, roc_test_device_array(L, arg), ROC_META_DEVICE_ARRAY);
}

roc_array *roc_check_any_array(lua_State *L, int arg) {
  return check_open(L, arg, roc_test_any_array(L, arg), "roc.Array or roc.DeviceArray");
}

roc_array *roc_check_described_array(lua_State *L, int arg) {
  roc_array_box *box = roc_test_array_box(L, arg);
  return check_open(L, arg, box ? &box->array : NULL, "roc.Array or roc.DeviceArray");
}

roc_array *roc_check_described_device_array(lua_State *L, int arg) {
  roc_array_box *box = roc_test_array_box(L, arg);
  bool is_device = box && box->cls == &roc_device_array_class;
  return check_open(L, arg, is_device ? &box->array : NULL, ROC_META_DEVICE_ARRAY);
}

void roc_fetch_device_array(lua_State *L, int arg) {
  const roc_array_box *box = roc_test_array_box(L, arg);
  if (!box || box->cls != &roc_device_array_class) return;
  roc_check_described_device_array(L, arg);
  lua_getfield(L, arg, "copy_to_host");
  lua_pushvalue(L, arg);
  lua_call(L, 1, 1);
  lua_replace(L, arg);
}

const roc_array_class *roc_array_class_of(lua_State *L, int arg) {
  return roc_test_array_box(L, arg)->cls;
}

void roc_array_sync(lua_State *L, const roc_array *a, bool for_write) {
  if (for_write) roc_buffer_note_write(a->buffer);
  while (roc_buffer_is_busy(a->buffer, for_write)) {
    roc_error err = ROC_ERROR_INIT;
    roc_status status = roc_buffer_wait(a->buffer, for_write, &err);
    roc_bind_after_wait(L, status, &err); /* a callback may queue more work on the array */
    if (!a->buffer) luaL_error(L, "the array was closed while it was waited for");
  }
}

/* The kind of host memory: ordinary, or page-locked for a device. */
typedef struct host_memory {
  roc_rt_device *pinned_for; /* NULL: ordinary */
  bool zeroed;
} host_memory;

static roc_status create_buffer(host_memory how, size_t nbytes, roc_buffer **out, roc_error *err) {
  if (how.pinned_for) return roc_buffer_create_pinned(how.pinned_for, nbytes, out, err);
  return roc_buffer_create_host(nbytes, how.zeroed, out, err);
}

/* Pushes an array of the described shape, which is none yet. */
static roc_array *push_described(lua_State *L, const roc_array_class *cls, roc_dtype dtype,
                                 uint32_t rank, const int64_t *extents, roc_order order) {
  roc_error err; /* filled on failure; zeroing it would cost more than the rest */
  roc_array *a = roc_push_array(L, cls);
  ROC_LUA_TRY(L, roc_array_describe(a, dtype, rank, extents, order, &err), &err);
  return a;
}

/* The same with memory of its own. */
static roc_array *push_with_memory(lua_State *L, roc_dtype dtype, uint32_t rank,
                                   const int64_t *extents, roc_order order, host_memory how) {
  roc_error err;
  roc_buffer *buffer;
  roc_array *a = push_described(L, &roc_host_array_class, dtype, rank, extents, order);
  size_t nbytes = roc_array_nbytes(a);
  roc_gc_account(L, nbytes);
  roc_status status = create_buffer(how, nbytes, &buffer, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) status = create_buffer(how, nbytes, &buffer, &err);
  if (status != ROC_OK) roc_lua_raise_named(L, &err);
  a->buffer = buffer;
  return a;
}

roc_array *roc_new_host_array(lua_State *L, roc_dtype dtype, uint32_t rank, const int64_t *extents,
                              roc_order order, bool zeroed) {
  return push_with_memory(L, dtype, rank, extents, order, (host_memory){.zeroed = zeroed});
}

roc_array *roc_new_later_array(lua_State *L, roc_rt_device *device, roc_dtype dtype, uint32_t rank,
                               const int64_t *extents, roc_order order) {
  roc_error err;
  roc_buffer *buffer;
  const roc_array_class *cls = device ? &roc_device_array_class : &roc_host_array_class;
  roc_array *a = push_described(L, cls, dtype, rank, extents, order);
  roc_gc_account(L, 0); /* of what has been provided since */
  size_t nbytes = roc_array_nbytes(a);
  roc_status status = roc_buffer_create_later(device, nbytes, &buffer, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) {
    status = roc_buffer_create_later(device, nbytes, &buffer, &err);
  }
  if (status != ROC_OK) roc_lua_raise_named(L, &err);
  a->buffer = buffer;
  return a;
}

void roc_array_provide(lua_State *L, roc_array *a) {
  roc_error err = ROC_ERROR_INIT;
  roc_gc_account(L, roc_buffer_nbytes(a->buffer));
  roc_status status = roc_buffer_provide(a->buffer, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) status = roc_buffer_provide(a->buffer, &err);
  if (status != ROC_OK) roc_lua_raise_named(L, &err);
}

roc_array *roc_new_pinned_array(lua_State *L, roc_rt_device *device, roc_dtype dtype, uint32_t rank,
                                const int64_t *extents, roc_order order) {
  return push_with_memory(L, dtype, rank, extents, order, (host_memory){.pinned_for = device});
}

roc_array *roc_push_host_copy(lua_State *L, const roc_array *src) {
  roc_array *a = roc_new_host_array(L, src->dtype, src->rank, src->extents, ROC_ORDER_C, false);
  if (!src->buffer) luaL_error(L, "the array was closed while it was copied"); /* by a finalizer */
  roc_array_pack(roc_buffer_host(a->buffer), src, ROC_ORDER_C);
  return a;
}
