/* Launching kernels of modules: arguments by the metadata, and what it wants to know of the launch.
 *
 * Nothing is checked in the kernel, and arrays pass as the address of their first element.  A value
 * whose type the metadata does not tell is an integer when Lua's is, else a float, of its size; and
 * what may be a pointer is one when an array or nil comes. */
#include <string.h>

#include "bindings/device/device_bind.h"
#include "bindings/kernel/launch_config.h"
#include "bindings/kernel/module_bind.h"
#include "bindings/kernel/place.h"
#include "jit/configure.h"
#include "runtime/mirror.h"
#include "runtime/registration.h"

/* A launch in the making. */
typedef struct maker {
  roc_module_box *box;
  uint32_t arg; /* the current one, from 0 */
  uint32_t nuses;
  uint32_t shared_end; /* of dynamic shared memory, which begins after the static bytes */
} maker;

static int bad_argument(lua_State *L, const maker *m, const char *what) {
  luaL_where(L, 1);
  lua_pushfstring(L, "bad argument #%d to kernel '%s' (%s)", (int)m->arg + 1, m->box->kernel->name,
                  what);
  lua_concat(L, 2);
  return lua_error(L);
}

/* Little-endian. */
static void put(unsigned char *at, uint64_t value, uint32_t nbytes) {
  memcpy(at, &value, nbytes < sizeof value ? nbytes : sizeof value);
}

/* ---- values -------------------------------------------------------------- */

/* An integer of that many bytes; signed or not, it has to fit. */
static void put_integer(lua_State *L, const maker *m, unsigned char *at, int64_t i,
                        uint32_t nbytes) {
  int bits = 8 * (int)nbytes;
  bool fits = nbytes == 8 || (i >= -(INT64_C(1) << (bits - 1)) && i < INT64_C(1) << bits);
  if (!fits) {
    bad_argument(L, m,
                 lua_pushfstring(L, "%I does not fit in %d bytes", (LUAI_UACINT)i, (int)nbytes));
  }
  put(at, (uint64_t)i, nbytes);
}

static void put_typed(lua_State *L, const maker *m, unsigned char *at, roc_scalar value) {
  roc_dtype dtype = m->box->params[m->arg].dtype;
  roc_scalar stored;
  if (!roc_dtype_store(dtype, at, value)) {
    bad_argument(L, m, lua_pushfstring(L, "%s expected", roc_dtype_name(dtype)));
  }
  if (roc_dtype_table[dtype].value_type != ROC_VT_INT) return;
  stored = roc_dtype_load(dtype, at);
  bool is_same =
      value.type == ROC_VT_INT ? stored.as.i == value.as.i : (double)stored.as.i == value.as.f;
  if (!is_same)
    bad_argument(L, m, lua_pushfstring(L, "out of the range of %s", roc_dtype_name(dtype)));
}

static int64_t to_integer(lua_State *L, const maker *m, double value) {
  lua_Integer integer = 0;
  bool is_exact = lua_numbertointeger(value, &integer) && (double)integer == value;
  if (!is_exact) bad_argument(L, m, "an integer expected");
  return integer;
}

static void put_untyped(lua_State *L, const maker *m, unsigned char *at, roc_scalar value,
                        uint32_t nbytes) {
  if (m->box->kernel->args[m->arg].is_integer && value.type == ROC_VT_F64) {
    value = (roc_scalar){.type = ROC_VT_INT, .as.i = to_integer(L, m, value.as.f)};
  }
  if (value.type == ROC_VT_BOOL) {
    put(at, value.as.b, nbytes);
  } else if (value.type == ROC_VT_INT) {
    put_integer(L, m, at, value.as.i, nbytes);
  } else if (nbytes == 1) {
    bad_argument(L, m, "no float has 1 byte");
  } else {
    roc_dtype dtype = nbytes == 2 ? ROC_DT_FLOAT16 : nbytes == 4 ? ROC_DT_FLOAT32 : ROC_DT_FLOAT64;
    roc_dtype_store(dtype, at, value);
  }
}

static void put_value(lua_State *L, const maker *m, const roc_module_arg *a, int idx) {
  unsigned char *at = m->box->block + a->offset;
  roc_scalar value;
  if (lua_type(L, idx) == LUA_TSTRING) {
    size_t len;
    const char *bytes = lua_tolstring(L, idx, &len);
    if (len != a->size) {
      bad_argument(
          L, m,
          lua_pushfstring(L, "a string of %d bytes expected, got %d", (int)a->size, (int)len));
    }
    memcpy(at, bytes, len);
    return;
  }
  bool has_number_size = a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8;
  if (!has_number_size || !roc_test_scalar(L, idx, &value)) {
    bad_argument(
        L, m,
        lua_pushfstring(L,
                        has_number_size ? "a number, a boolean or a string of %d bytes "
                                          "expected, got %s"
                                        : "a string of %d bytes (string.pack) expected, got %s",
                        (int)a->size, roc_push_type_name(L, idx)));
  }
  if (m->box->params[m->arg].has_dtype) {
    put_typed(L, m, at, value);
  } else {
    put_untyped(L, m, at, value, a->size);
  }
}

/* ---- memory -------------------------------------------------------------- */

/* The buffer that the kernel works on, and where it lies for the device. */
static roc_status reach(const roc_array *a, roc_rt_device *device, roc_buffer **out_buffer,
                        roc_devptr *out_address, roc_error *err) {
  roc_array view;
  roc_jit_value value = {.array = a};
  if (!roc_buffer_device(a->buffer)) ROC_TRY(roc_jit_place(a, device, &view, &value, err));
  *out_buffer = value.array->buffer;
  *out_address = roc_buffer_devptr(*out_buffer) + (roc_devptr)value.shift;
  return ROC_OK;
}

static void check_array(lua_State *L, const maker *m, const roc_array *a) {
  if (!a->buffer) bad_argument(L, m, "the array is closed");
  roc_rt_device *owner = roc_buffer_device(a->buffer);
  if (owner && owner != m->box->device) {
    bad_argument(L, m, "the array is on another device than the module");
  }
  bool is_reached = owner || roc_buffer_is_mirrored(a->buffer) || roc_buffer_is_mapped(a->buffer);
  if (!is_reached) {
    bad_argument(L, m,
                 "a kernel of a module does not reach this host array: pass roc.to_device(a), or "
                 "use roc.register or roc.smart_array");
  }
}

static void put_pointer(lua_State *L, maker *m, const roc_module_arg *arg, int idx) {
  unsigned char *at = m->box->block + arg->offset;
  const roc_array *a = roc_test_any_array(L, idx);
  if (!a && lua_isnil(L, idx)) {
    put(at, 0, arg->size);
    return;
  }
  if (!a) {
    bad_argument(L, m,
                 lua_pushfstring(L, "array or nil expected, got %s", roc_push_type_name(L, idx)));
  }
  check_array(L, m, a);
  roc_error err = ROC_ERROR_INIT;
  roc_buffer *buffer = NULL;
  roc_devptr address = 0;
  ROC_LUA_TRY(L, reach(a, m->box->device, &buffer, &address, &err), &err);
  put(at, address + (roc_devptr)(a->offset * (int64_t)roc_dtype_itemsize(a->dtype)), arg->size);
  m->box->uses[m->nuses++] = (roc_rt_use){buffer, m->box->params[m->arg].is_written};
}

static void put_shared(lua_State *L, maker *m, const roc_module_arg *arg, int idx) {
  int is_integer;
  lua_Integer nbytes = lua_tointegerx(L, idx, &is_integer);
  if (!is_integer || lua_type(L, idx) != LUA_TNUMBER || nbytes < 0 || nbytes > INT32_MAX / 2) {
    bad_argument(
        L, m,
        lua_pushfstring(L, "bytes of shared memory expected, got %s", roc_push_shown(L, idx)));
  }
  uint64_t begin = ((uint64_t)m->shared_end + arg->align - 1) & ~(uint64_t)(arg->align - 1);
  if (begin + (uint64_t)nbytes > INT32_MAX) bad_argument(L, m, "too much shared memory");
  put(m->box->block + arg->offset, begin, arg->size);
  m->shared_end = (uint32_t)(begin + (uint64_t)nbytes);
}

/* ---- the launch ---------------------------------------------------------- */

static uint64_t launch_value(const roc_module_arg *a, const roc_ndrange *range) {
  uint64_t grid = range->grid[a->dim], local = range->local[a->dim];
  switch (a->kind) {
    case ROC_MODULE_GROUPS: return grid / local;
    case ROC_MODULE_GROUP_SIZE: return local;
    case ROC_MODULE_REMAINDER: return grid % local;
    case ROC_MODULE_RANK: return range->rank;
    case ROC_MODULE_DYNAMIC_BYTES: return range->dynamic_shared_bytes;
    default: return 0;
  }
}

/* What the argument is in this launch. */
static roc_module_kind kind_of(lua_State *L, const maker *m, const roc_module_arg *a, int idx) {
  const roc_module_param *param = &m->box->params[m->arg];
  if (param->is_pointer) return ROC_MODULE_POINTER;
  bool has_memory = roc_module_is_open(a, param) && lua_type(L, idx) != LUA_TNUMBER &&
                    (lua_isnil(L, idx) || roc_test_any_array(L, idx));
  return has_memory ? ROC_MODULE_POINTER : a->kind;
}

/* Packs all arguments; the dynamic shared memory of the launch is known then. */
static void pack(lua_State *L, maker *m, int first, roc_ndrange *range) {
  const roc_module_kernel *k = m->box->kernel;
  memset(m->box->block, 0, k->kernarg_bytes);
  m->shared_end = k->shared_bytes + range->dynamic_shared_bytes;
  for (m->arg = 0; m->arg < k->nargs; m->arg++) {
    const roc_module_arg *a = &k->args[m->arg];
    int idx = first + (int)m->arg;
    switch (kind_of(L, m, a, idx)) {
      case ROC_MODULE_POINTER: put_pointer(L, m, a, idx); break;
      case ROC_MODULE_SHARED: put_shared(L, m, a, idx); break;
      default: put_value(L, m, a, idx); break;
    }
  }
  range->dynamic_shared_bytes = m->shared_end - k->shared_bytes;
  for (uint32_t i = k->nargs; i < k->nargs + k->nhidden; i++) {
    const roc_module_arg *a = &k->args[i];
    put(m->box->block + a->offset, launch_value(a, range), a->size);
  }
}

static void check_range(lua_State *L, const roc_module_kernel *k, const roc_ndrange *range) {
  uint64_t items = 1;
  for (uint32_t d = 0; d < 3; d++) {
    items *= range->local[d];
    if (k->exact_workgroup[0] && range->local[d] != k->exact_workgroup[d]) {
      luaL_error(L, "bad workgroup (kernel '%s' takes {%d, %d, %d} alone)", k->name,
                 (int)k->exact_workgroup[0], (int)k->exact_workgroup[1],
                 (int)k->exact_workgroup[2]);
    }
    if (k->takes_whole_groups && range->grid[d] % range->local[d] != 0) {
      luaL_error(L,
                 "bad grid (kernel '%s' was compiled for whole workgroups: %I work-items are not a "
                 "multiple of %d in dimension %d)",
                 k->name, (LUAI_UACINT)range->grid[d], (int)range->local[d], (int)d + 1);
    }
  }
  if (k->max_workgroup && items > k->max_workgroup) {
    luaL_error(L, "bad workgroup (kernel '%s' takes at most %d work-items, got %I)", k->name,
               (int)k->max_workgroup, (LUAI_UACINT)items);
  }
}

static void choose_workgroup(const roc_module_box *box, roc_ndrange *range) {
  const roc_module_kernel *k = box->kernel;
  if (k->exact_workgroup[0]) {
    memcpy(range->local, k->exact_workgroup, sizeof range->local);
    return;
  }
  static const roc_fe_options no_promise = {0};
  roc_jit_choose_workgroup(&no_promise, box->device, range);
  uint32_t *first = &range->local[0];
  while (k->max_workgroup && *first > 1 &&
         *first * range->local[1] * range->local[2] > k->max_workgroup) {
    *first /= 2;
  }
}

/* After the launch is queued: where it writes, the host's side of a smart array is stale. */
static void mark_mirrors(lua_State *L, const roc_module_box *box, int first) {
  for (uint32_t i = 0; i < box->kernel->nargs; i++) {
    const roc_array *a = roc_test_any_array(L, first + (int)i);
    bool is_marked =
        a && a->buffer && box->params[i].is_written && roc_buffer_is_mirrored(a->buffer);
    if (is_marked) roc_mirror_mark(a->buffer, ROC_SIDE_DEVICE, NULL);
  }
}

static roc_rt_stream *find_stream(lua_State *L, const roc_module_box *box, int idx) {
  roc_rt_stream *stream = roc_opt_stream_field(L, idx, box->device);
  return stream ? stream : roc_default_stream(L, box->device);
}

/* Packs the arguments, which may have been closed since the last time, and queues the launch. */
static roc_status queue(lua_State *L, roc_module_box *box, roc_ndrange range, int stream, int first,
                        roc_error *err) {
  maker m = {.box = box};
  pack(L, &m, first, &range);
  roc_rt_launch work = {.kernel = box->loaded,
                        .kernarg = box->block,
                        .kernarg_bytes = box->kernel->kernarg_bytes,
                        .range = &range,
                        .uses = box->uses,
                        .nuses = m.nuses};
  roc_ticket ticket;
  work.file = roc_launch_place(L, &work.line);
  ROC_TRY(roc_rt_launch_queue(find_stream(L, box, stream), &work, &ticket, err));
  if (!roc_ndrange_is_empty(&range)) mark_mirrors(L, box, first);
  return ROC_OK;
}

/* With the arguments from `first` on, and a stream or nil at `stream`. */
static int launch(lua_State *L, roc_module_box *box, const roc_ndrange *asked, int stream,
                  int first, int count) {
  const roc_module_kernel *k = box->kernel;
  if (count != (int)k->nargs) {
    return luaL_error(L, "kernel '%s' takes %d argument%s, got %d", k->name, (int)k->nargs,
                      k->nargs == 1 ? "" : "s", count);
  }
  roc_ndrange range = *asked;
  if (range.local[0] == 0) choose_workgroup(box, &range);
  check_range(L, k, &range);
  roc_error err = ROC_ERROR_INIT;
  roc_status status = queue(L, box, range, stream, first, &err);
  if (status == ROC_OOM && roc_gc_reclaim(L)) {
    status = queue(L, box, range, stream, first, &err);
  }
  return status == ROC_OK ? 0 : roc_lua_raise(L, &err);
}

/* ---- launchers ----------------------------------------------------------- */

enum { UV_KERNEL = 1, UV_STREAM, UV_COUNT = UV_STREAM };

/* A launcher for the kernel at index 1 with the stream, or nil, at the top of the stack. */
static int push_launcher(lua_State *L, const roc_ndrange *range) {
  int stream = lua_gettop(L);
  roc_ndrange *kept = lua_newuserdatauv(L, sizeof *kept, UV_COUNT);
  *kept = *range;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, UV_KERNEL);
  lua_pushvalue(L, stream);
  lua_setiuservalue(L, -2, UV_STREAM);
  luaL_setmetatable(L, ROC_META_MODULE_LAUNCHER);
  return 1;
}

roc_module_box *roc_check_module_kernel(lua_State *L) {
  roc_module_box *box = luaL_checkudata(L, 1, ROC_META_MODULE_KERNEL);
  if (!box->loaded) luaL_argerror(L, 1, "the kernel is closed");
  return box;
}

int roc_module_index_config(lua_State *L) {
  roc_ndrange range;
  roc_check_module_kernel(L);
  roc_config_read_index(L, &range);
  return push_launcher(L, &range);
}

int roc_module_m_forall(lua_State *L) {
  roc_ndrange range;
  roc_check_module_kernel(L);
  roc_config_read_forall(L, &range);
  return push_launcher(L, &range);
}

int roc_module_m_launch(lua_State *L) {
  roc_ndrange range;
  roc_module_box *box = roc_check_module_kernel(L);
  int count = lua_gettop(L) - 2;
  roc_config_read_launch(L, 2, &range);
  return launch(L, box, &range, lua_gettop(L), 3, count);
}

/* (launcher, arguments…) */
static int launcher_mm_call(lua_State *L) {
  const roc_ndrange *range = luaL_checkudata(L, 1, ROC_META_MODULE_LAUNCHER);
  int count = lua_gettop(L) - 1;
  lua_getiuservalue(L, 1, UV_KERNEL);
  roc_module_box *box = luaL_checkudata(L, -1, ROC_META_MODULE_KERNEL);
  if (!box->loaded) return luaL_error(L, "the kernel is closed");
  lua_getiuservalue(L, 1, UV_STREAM);
  return launch(L, box, range, lua_gettop(L), 2, count);
}

static const luaL_Reg launcher_meta[] = {{"__call", launcher_mm_call}, {NULL, NULL}};

void roc_open_module_launch(lua_State *L) {
  roc_class_new(L, ROC_META_MODULE_LAUNCHER, launcher_meta);
  lua_pop(L, 1);
}
