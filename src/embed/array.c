/* Arrays of C programs: memory of the program as an array, arrays between C and Lua, and their
 * elements in C for a while. */
#include <lauxlib.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sole.h"
#include "bindings/array/array_bind.h"
#include "embed/embed.h"
#include "embed/fail.h"
#include "embed/handle.h"
#include "include/roclua.h"
#include "runtime/mirror.h"

_Static_assert((int)ROCLUA_MAX_RANK == (int)ROC_ARRAY_MAX_RANK, "roclua.h has the runtime's limit");

struct roclua_array {
  _Atomic uint32_t refs;
  const roc_array_class *cls; /* of its userdata in a state */
  roc_array array;
};

/* A map in progress. */
typedef struct mapping {
  roclua_array *array;
  roc_rt_stream *stream; /* or NULL */
  int access;
  roc_array copy; /* its buffer is NULL where the host reaches the elements themselves */
} mapping;

static roclua_array *new_handle(const roc_array_class *cls) {
  roclua_array *made = roc_zalloc(sizeof *made);
  if (!made) return NULL;
  atomic_init(&made->refs, 1);
  made->cls = cls;
  return made;
}

static roc_status fail_handle(roc_error *err) {
  return roc_fail(err, ROC_OOM, "out of memory: no room for an array");
}

void roclua_array_retain(roclua_array *array) {
  if (array) atomic_fetch_add(&array->refs, 1);
}

void roclua_array_release(roclua_array *array) {
  if (!array || atomic_fetch_sub(&array->refs, 1) > 1) return;
  roc_array_release(&array->array);
  roc_free(array);
}

static roc_status read_dtype(const char *name, roc_dtype *out_dtype, roc_error *err) {
  if (!name) return roc_fail(err, ROC_INVALID, "the dtype is NULL");
  if (roc_dtype_from_name(name, strlen(name), out_dtype)) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "there is no dtype '%s'", name);
}

/* ---- making -------------------------------------------------------------- */

static roc_status allocate(const char *device, roc_array *a, roc_error *err) {
  if (!device) return roc_buffer_create_host(roc_array_nbytes(a), true, &a->buffer, err);
  roc_rt_device *on;
  ROC_TRY(roc_embed_device(device, &on, err));
  return roc_buffer_create_device(on, roc_array_nbytes(a), &a->buffer, err);
}

static roc_status create(const char *device, const char *dtype, int rank, const int64_t *shape,
                         roclua_array **out_array, roc_error *err) {
  roc_array a = {0};
  roc_dtype type;
  ROC_TRY(roc_sole_claim(err));
  ROC_TRY(roc_rt_check_open(err));
  ROC_TRY(read_dtype(dtype, &type, err));
  ROC_TRY(roc_array_describe(&a, type, (uint32_t)rank, shape, ROC_ORDER_C, err));
  roclua_array *made = new_handle(device ? &roc_device_array_class : &roc_host_array_class);
  if (!made) return fail_handle(err);
  roc_status status = allocate(device, &a, err);
  if (status != ROC_OK) {
    roc_free(made);
    return status;
  }
  made->array = a;
  *out_array = made;
  return ROC_OK;
}

int roclua_array_create(const char *device, const char *dtype, int rank, const int64_t *shape,
                        roclua_array **out_array) {
  roc_error err = ROC_ERROR_INIT;
  if (!out_array) return roc_embed_refuse("roclua_array_create: out_array is NULL");
  if (rank < 1 || rank > ROCLUA_MAX_RANK || !shape) {
    return roc_embed_refuse("roclua_array_create: a rank of 1 to %d and a shape expected",
                            ROCLUA_MAX_RANK);
  }
  return roc_embed_code(create(device, dtype, rank, shape, out_array, &err), &err);
}

/* ---- wrapping ------------------------------------------------------------ */

static uint64_t magnitude(int64_t stride) {
  return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* Whether no two elements share memory: each dimension, from the smallest stride on, steps over all
 * that the ones before it span.  The elements of the whole span, 0 for none, come out. */
static bool find_span(const roc_array *a, uint64_t *out_span) {
  bool is_done[ROC_ARRAY_MAX_RANK] = {false};
  uint64_t span = 1;
  for (uint32_t n = 0; n < a->rank; n++) {
    uint32_t next = ROC_ARRAY_MAX_RANK;
    for (uint32_t d = 0; d < a->rank; d++) {
      bool is_less =
          next == ROC_ARRAY_MAX_RANK || magnitude(a->strides[d]) < magnitude(a->strides[next]);
      if (!is_done[d] && a->extents[d] > 1 && is_less) next = d;
    }
    if (next == ROC_ARRAY_MAX_RANK) break;
    is_done[next] = true;
    uint64_t step = magnitude(a->strides[next]), reach;
    if (step < span) return false;
    if (__builtin_mul_overflow(step, (uint64_t)a->extents[next] - 1, &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      return false;
    }
  }
  *out_span = roc_array_size(a) == 0 ? 0 : span;
  return span <= INT64_MAX / 8;
}

/* Elements from the lowest address to the first element. */
static int64_t elements_below(const roc_array *a) {
  int64_t below = 0;
  for (uint32_t d = 0; d < a->rank; d++) {
    if (a->strides[d] < 0 && a->extents[d] > 1) below += -a->strides[d] * (a->extents[d] - 1);
  }
  return below;
}

/* Describes the array; the bytes from the lowest element to the highest come out. */
static roc_status read_shape(const roclua_memory *memory, roc_array *a, size_t *out_bytes,
                             roc_error *err) {
  roc_dtype dtype;
  ROC_TRY(read_dtype(memory->dtype, &dtype, err));
  if (memory->rank < 1 || memory->rank > ROCLUA_MAX_RANK || !memory->shape) {
    return roc_fail(err, ROC_INVALID, "a rank of 1 to %d and a shape expected", ROCLUA_MAX_RANK);
  }
  ROC_TRY(roc_array_describe(a, dtype, (uint32_t)memory->rank, memory->shape, ROC_ORDER_C, err));
  if (memory->strides) memcpy(a->strides, memory->strides, sizeof(int64_t) * a->rank);
  uint64_t span;
  if (!find_span(a, &span)) {
    return roc_fail(err, ROC_INVALID,
                    "by these strides elements share memory, or lie too far apart");
  }
  a->offset = span > 0 ? elements_below(a) : 0;
  *out_bytes = span * roc_dtype_itemsize(dtype);
  return ROC_OK;
}

static roc_status wrap(const roclua_memory *memory, roclua_array *made, roc_error *err) {
  roc_array a = {0};
  size_t nbytes = 0;
  ROC_TRY(read_shape(memory, &a, &nbytes, err));
  size_t itemsize = roc_dtype_itemsize(a.dtype);
  if (nbytes > 0 && (!memory->data || (uintptr_t)memory->data % itemsize != 0)) {
    return roc_fail(err, ROC_INVALID, "data is %s",
                    memory->data ? "not aligned for its dtype" : "NULL");
  }
  char *lowest = (char *)memory->data - (size_t)a.offset * itemsize;
  if (memory->device) {
    roc_rt_device *device;
    ROC_TRY(roc_embed_device(memory->device, &device, err));
    ROC_TRY(roc_buffer_wrap_device(device, (roc_devptr)(uintptr_t)lowest, nbytes, memory->release,
                                   memory->ud, &a.buffer, err));
  } else {
    ROC_TRY(roc_buffer_wrap_host(lowest, nbytes, memory->release, memory->ud, &a.buffer, err));
  }
  if (memory->read_only) roc_buffer_protect(a.buffer);
  made->array = a;
  return ROC_OK;
}

roc_status roc_embed_wrap(const char *function, const roclua_memory *memory,
                          roclua_array **out_array, roc_error *err) {
  ROC_TRY(roc_sole_claim(err));
  ROC_TRY(roc_rt_check_open(err));
  roclua_array *made = new_handle(memory->device ? &roc_device_array_class : &roc_host_array_class);
  if (!made) return fail_handle(err);
  roc_status status = wrap(memory, made, err);
  if (status == ROC_OK) {
    *out_array = made;
    return ROC_OK;
  }
  roc_free(made);
  roc_error why = *err;
  return roc_fail(err, status, "%s: %s", function, why.message);
}

roc_array *roc_embed_array_of(roclua_array *array) {
  return &array->array;
}

int roclua_array_wrap(const roclua_memory *memory, roclua_array **out_array) {
  roc_error err = ROC_ERROR_INIT;
  if (!memory || !out_array) {
    return roc_embed_refuse("roclua_array_wrap: %s is NULL", memory ? "out_array" : "memory");
  }
  if (memory->size < sizeof *memory) {
    return roc_embed_refuse(
        "roclua_array_wrap: memory->size is %zu, expected sizeof "
        "(roclua_memory), %zu",
        memory->size, sizeof *memory);
  }
  return roc_embed_code(roc_embed_wrap("roclua_array_wrap", memory, out_array, &err), &err);
}

/* ---- Lua ----------------------------------------------------------------- */

/* (light userdata: the handle) -> the array */
static int push_protected(lua_State *L) {
  roclua_array *array = lua_touserdata(L, 1);
  roc_embed_push_globals(L);
  lua_getfield(L, -1, "require"); /* the classes are made with roc */
  lua_pushliteral(L, "roc");
  lua_call(L, 1, 0);
  roc_array *pushed = roc_push_array(L, array->cls);
  roc_buffer_retain(array->array.buffer);
  roc_buffer_share(array->array.buffer); /* C may write it at any time */
  *pushed = array->array;
  return 1;
}

int roclua_array_push(lua_State *L, roclua_array *array) {
  roc_error err = ROC_ERROR_INIT;
  if (!L || !array) {
    return roc_embed_refuse("roclua_array_push: %s is NULL", L ? "the array" : "the state");
  }
  if (roc_rt_check_open(&err) != ROC_OK) return roc_embed_code(err.code, &err);
  return roc_embed_call(L, push_protected, array, 1);
}

/* (light userdata: an array, which C may write from now on) */
static int share(lua_State *L) {
  const roc_array *a = lua_touserdata(L, 1);
  roc_array_evaluate(L, a, NULL);
  roc_buffer_share(a->buffer);
  return 0;
}

int roclua_array_get(lua_State *L, int index, roclua_array **out_array) {
  roc_error err = ROC_ERROR_INIT;
  if (!L || !out_array) {
    return roc_embed_refuse("roclua_array_get: %s is NULL", L ? "out_array" : "the state");
  }
  const roc_array_box *box = roc_test_array_box(L, index);
  if (!box) {
    return roc_embed_refuse("roclua_array_get: an array of roc expected, got %s",
                            luaL_typename(L, index));
  }
  if (!box->array.buffer) return roc_embed_refuse("roclua_array_get: the array is closed");
  int code = roc_embed_call(L, share, (void *)&box->array, 0);
  if (code != ROCLUA_OK) return code;
  roclua_array *made = new_handle(box->cls);
  if (!made) return roc_embed_code(fail_handle(&err), &err);
  roc_buffer_retain(box->array.buffer);
  made->array = box->array;
  *out_array = made;
  return ROCLUA_OK;
}

/* ---- elements ------------------------------------------------------------ */

static void fill_view(roclua_view *view, const roc_array *a) {
  view->data = NULL;
  view->dtype = roc_dtype_name(a->dtype);
  view->rank = (int)a->rank;
  memcpy(view->shape, a->extents, sizeof view->shape);
  memcpy(view->strides, a->strides, sizeof view->strides);
  view->hidden = NULL;
}

/* NULL, or what is wrong with the arguments; the code is kept then. */
static bool has_problem(const char *function, const roclua_array *array, const roclua_view *view,
                        int *out_code) {
  if (!array || !view) {
    *out_code = roc_embed_refuse("%s: %s is NULL", function, array ? "view" : "the array");
    return true;
  }
  if (view->size >= sizeof *view) return false;
  *out_code = roc_embed_refuse("%s: view->size is %zu, expected sizeof (roclua_view), %zu",
                               function, view->size, sizeof *view);
  return true;
}

int roclua_array_describe(roclua_array *array, roclua_view *view) {
  int code;
  if (has_problem("roclua_array_describe", array, view, &code)) return code;
  fill_view(view, &array->array);
  return ROCLUA_OK;
}

/* dst = src, before or after what is queued on the stream, or on its own. */
static roc_status copy(const mapping *m, const roc_array *dst, const roc_array *src, bool waits,
                       roc_error *err) {
  roc_rt_session *session;
  if (!m->stream) {
    ROC_TRY(roc_embed_session(&session, err));
    return roc_rt_copy_now(session, dst, src, err);
  }
  ROC_TRY(roc_rt_copy(m->stream, dst, src, err));
  return waits ? roc_rt_stream_synchronize(m->stream, err) : ROC_OK;
}

static roc_status make_copy(mapping *m, roc_error *err) {
  const roc_array *a = &m->array->array;
  ROC_TRY(roc_array_describe(&m->copy, a->dtype, a->rank, a->extents, ROC_ORDER_C, err));
  ROC_TRY(roc_buffer_create_host(roc_array_nbytes(a), false, &m->copy.buffer, err));
  return m->access & ROCLUA_READ ? copy(m, &m->copy, a, true, err) : ROC_OK;
}

/* Fills the view with elements that the host may touch. */
static roc_status map(mapping *m, roclua_view *view, roc_error *err) {
  const roc_array *a = &m->array->array;
  if (roc_array_size(a) == 0) return ROC_OK;
  if (m->access & ROCLUA_WRITE && roc_buffer_is_read_only(a->buffer)) {
    return roc_buffer_fail_read_only(err);
  }
  if (roc_buffer_host(a->buffer)) {
    ROC_TRY(roc_buffer_wait(a->buffer, m->access & ROCLUA_WRITE, err));
  } else {
    ROC_TRY(make_copy(m, err));
    a = &m->copy;
  }
  fill_view(view, a);
  view->data =
      (char *)roc_buffer_host(a->buffer) + a->offset * (int64_t)roc_dtype_itemsize(a->dtype);
  return ROC_OK;
}

static void free_mapping(mapping *m) {
  roc_array_release(&m->copy);
  if (m->stream) roc_rt_stream_release(m->stream);
  roclua_array_release(m->array);
  roc_free(m);
}

int roclua_array_map(roclua_array *array, int access, roclua_stream *stream, roclua_view *view) {
  int code;
  roc_error err = ROC_ERROR_INIT;
  if (has_problem("roclua_array_map", array, view, &code)) return code;
  if (access < ROCLUA_READ || access > (ROCLUA_READ | ROCLUA_WRITE)) {
    return roc_embed_refuse(
        "roclua_array_map: access is %d, expected ROCLUA_READ, ROCLUA_WRITE or "
        "both",
        access);
  }
  roc_status status = roc_rt_check_open(&err);
  mapping *m = status == ROC_OK ? roc_zalloc(sizeof *m) : NULL;
  if (!m) return roc_embed_code(status == ROC_OK ? fail_handle(&err) : status, &err);
  *m = (mapping){.array = array, .stream = roc_embed_stream_of(stream), .access = access};
  roclua_array_retain(array);
  if (m->stream) roc_rt_stream_retain(m->stream);
  fill_view(view, &array->array);
  status = map(m, view, &err);
  if (status == ROC_OK) {
    view->hidden = m;
  } else {
    free_mapping(m);
  }
  roc_embed_deliver_prints();
  return roc_embed_code(status, &err);
}

static roc_status write_back(const mapping *m, roc_error *err) {
  const roc_array *a = &m->array->array;
  ROC_TRY(roc_rt_check_open(err));
  if (m->copy.buffer) return copy(m, a, &m->copy, false, err);
  /* A launch in the meantime has taken what was there before. */
  if (roc_buffer_is_mirrored(a->buffer)) return roc_mirror_mark(a->buffer, ROC_SIDE_HOST, err);
  return ROC_OK;
}

int roclua_array_unmap(roclua_view *view) {
  roc_error err = ROC_ERROR_INIT;
  if (!view || view->size < sizeof *view || !view->hidden) {
    return roc_embed_refuse("roclua_array_unmap: a view that roclua_array_map has filled expected");
  }
  mapping *m = view->hidden;
  view->hidden = view->data = NULL;
  roc_status status = m->access & ROCLUA_WRITE ? write_back(m, &err) : ROC_OK;
  free_mapping(m);
  roc_embed_deliver_prints();
  return roc_embed_code(status, &err);
}
