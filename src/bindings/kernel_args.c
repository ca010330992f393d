/* Arguments of a launch: reading them from Lua, and what host arrays need.
 *
 * A plain host array is copied to the device and, once the kernel has finished well, back.  Arrays
 * that share memory share one block.  Where kernels use host memory as it is (cpu), an array is
 * used in place when nothing can tell: it is contiguous and not written, or the kernel cannot fail.
 * So the class of a host array is that of its copy, packed. */
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "bindings/kernel_bind.h"

/* ---- roc.In, Out, InOut -------------------------------------------------------------------------
 */

typedef struct argument_mode {
  bool copies_in, copies_out;
} argument_mode;

static int wrap_argument(lua_State *L, bool copies_in, bool copies_out) {
  roc_check_array(L, 1);
  argument_mode *mode = lua_newuserdatauv(L, sizeof *mode, 1);
  *mode = (argument_mode){copies_in, copies_out};
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, ROC_META_ARG);
  return 1;
}

static int arg_in(lua_State *L) {
  return wrap_argument(L, true, false);
}
static int arg_out(lua_State *L) {
  return wrap_argument(L, false, true);
}
static int arg_inout(lua_State *L) {
  return wrap_argument(L, true, true);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

typedef struct reader {
  roc_kernel_box *box;
  roc_rt_device *device;
  int arg; /* the argument in hand, from 1 */
} reader;

static int bad_argument(lua_State *L, const reader *r, const char *what) {
  luaL_where(L, 1);
  lua_pushfstring(L, "bad argument #%d to kernel '%s' (%s)", r->arg, r->box->kernel->name, what);
  lua_concat(L, 2);
  return lua_error(L);
}

static const char *class_name(lua_State *L, int idx) {
  if (luaL_getmetafield(L, idx, "__name") == LUA_TSTRING) return lua_tostring(L, -1);
  return luaL_typename(L, idx);
}

static void check_array_param(lua_State *L, const reader *r, const roc_array *a) {
  if (!a->buffer) bad_argument(L, r, "the array is closed");
  if (!r->box->signature) return;
  const roc_kernel_param *p = &r->box->signature[r->arg - 1];
  if (p->rank == 0) {
    bad_argument(L, r, lua_pushfstring(L, "%s expected, got an array", roc_dtype_name(p->dtype)));
  }
  if (p->dtype != a->dtype) {
    bad_argument(L, r,
                 lua_pushfstring(L, "array of %s expected, got %s", roc_dtype_name(p->dtype),
                                 roc_dtype_name(a->dtype)));
  }
  if (p->rank != a->rank) {
    bad_argument(
        L, r,
        lua_pushfstring(L, "array of rank %d expected, got rank %d", (int)p->rank, (int)a->rank));
  }
}

static void check_device(lua_State *L, const reader *r, const roc_array *a) {
  roc_rt_device *owner = roc_buffer_device(a->buffer);
  if (owner == r->device || !owner) return;
  bad_argument(L, r,
               lua_pushfstring(L, "the array is on device '%s', the launch on '%s'",
                               roc_rt_device_driver(owner)->props.name,
                               roc_rt_device_driver(r->device)->props.name));
}

static bool is_integer_dtype(roc_dtype dt) {
  return roc_dtype_table[dt].value_type == ROC_VT_INT;
}

/* The value a scalar parameter of a signature gets. */
static void convert_scalar(lua_State *L, const reader *r, roc_jit_value *v) {
  const roc_kernel_param *p = &r->box->signature[r->arg - 1];
  const char *want = roc_dtype_name(p->dtype);
  if (p->rank > 0)
    bad_argument(L, r, lua_pushfstring(L, "array of %s expected, got a scalar", want));
  bool wants_bool = p->dtype == ROC_DT_BOOL;
  if (wants_bool != (v->scalar.type == ROC_VT_BOOL)) {
    bad_argument(
        L, r, lua_pushfstring(L, "%s expected, got %s", want, wants_bool ? "number" : "boolean"));
  }
  if (wants_bool) return;
  if (is_integer_dtype(p->dtype)) {
    int64_t i = v->scalar.as.i;
    if (v->scalar.type == ROC_VT_F64 && !roc_i64_from_f64_exact(v->scalar.as.f, &i)) {
      bad_argument(L, r,
                   lua_pushfstring(L, "%s expected, got %f: number has no integer representation",
                                   want, v->scalar.as.f));
    }
    roc_scalar whole = {.type = ROC_VT_INT, .as.i = i};
    if (roc_dtype_convert(p->dtype, whole).as.i != i) {
      bad_argument(L, r, lua_pushfstring(L, "%I is out of the range of %s", (LUAI_UACINT)i, want));
    }
    v->scalar = whole;
    return;
  }
  if (v->scalar.type == ROC_VT_INT) {
    v->scalar = (roc_scalar){.type = ROC_VT_F64, .as.f = (double)v->scalar.as.i};
  }
  v->is_float32 = p->dtype != ROC_DT_FLOAT64;
}

/* What the kernel is told of a host array: its copy's layout, over its own lowest address. */
static void plan_host_array(roc_kernel_stage *s, const roc_array *a) {
  s->host = a;
  s->view = *a;
  bool is_f = !roc_array_is_c_contiguous(a) && roc_array_is_f_contiguous(a);
  roc_error unused;
  roc_array packed;
  if (roc_array_describe(&packed, a->dtype, a->rank, a->extents, is_f ? ROC_ORDER_F : ROC_ORDER_C,
                         &unused) != ROC_OK) {
    return; /* its size was fine when it was made */
  }
  for (uint32_t d = 0; d < a->rank; d++) {
    if (a->strides[d] < 0 && a->extents[d] > 0)
      s->view.offset += (a->extents[d] - 1) * a->strides[d];
    s->view.strides[d] = packed.strides[d];
  }
}

static void take_host_array(roc_kernel_box *box, uint32_t i, const roc_array *a, argument_mode mode,
                            bool is_plain) {
  roc_kernel_stage *s = &box->stages[i];
  plan_host_array(s, a);
  s->leader = i;
  s->temporary = NULL;
  s->is_shared = false;
  s->copies_in = mode.copies_in;
  s->copies_out = mode.copies_out;
  s->is_plain = is_plain;
  box->kernel->values[i] = (roc_jit_value){.array = &s->view};
  box->nhosts++;
}

static void read_arg(lua_State *L, reader *r, int idx) {
  uint32_t i = (uint32_t)r->arg - 1;
  roc_jit_value *v = &r->box->kernel->values[i];
  roc_kernel_stage *s = &r->box->stages[i];
  *v = (roc_jit_value){0};
  s->host = NULL; /* the rest counts only for a host array */
  if (roc_test_scalar(L, idx, &v->scalar)) {
    if (r->box->signature) convert_scalar(L, r, v);
    return;
  }
  const argument_mode *mode = NULL;
  const roc_array *a = roc_test_any_array(L, idx);
  if (!a && (mode = luaL_testudata(L, idx, ROC_META_ARG))) {
    lua_getiuservalue(L, idx, 1); /* the wrapper keeps it */
    a = roc_test_array(L, -1);
    lua_pop(L, 1);
  }
  if (!a) {
    bad_argument(
        L, r, lua_pushfstring(L, "array, number or boolean expected, got %s", class_name(L, idx)));
  }
  check_array_param(L, r, a);
  if (roc_buffer_device(a->buffer)) {
    check_device(L, r, a);
    v->array = a;
  } else {
    take_host_array(r->box, i, a, mode ? *mode : (argument_mode){true, true}, !mode);
  }
}

static bool overlap(const roc_array *a, const roc_array *b) {
  roc_devptr a_begin, a_end, b_begin, b_end;
  roc_array_range(a, &a_begin, &a_end);
  roc_array_range(b, &b_begin, &b_end);
  return a_begin < b_end && b_begin < a_end && a_begin < a_end && b_begin < b_end;
}

/* Arrays that share memory keep their own strides, over one block. */
static void join(roc_kernel_box *box, uint32_t i, uint32_t j) {
  roc_kernel_stage *a = &box->stages[i], *b = &box->stages[j];
  uint32_t from = a->leader > b->leader ? a->leader : b->leader;
  uint32_t to = a->leader > b->leader ? b->leader : a->leader;
  a->view = *a->host;
  b->view = *b->host;
  a->is_shared = b->is_shared = true;
  for (uint32_t k = 0; k < box->kernel->nparams; k++) {
    if (box->stages[k].host && box->stages[k].leader == from) box->stages[k].leader = to;
  }
}

static void join_overlaps(lua_State *L, reader *r) {
  roc_kernel_box *box = r->box;
  for (uint32_t j = 1; j < box->kernel->nparams; j++) {
    for (uint32_t i = 0; box->stages[j].host && i < j; i++) {
      if (!box->stages[i].host || !overlap(box->stages[i].host, box->stages[j].host)) continue;
      bool i_is_out = !box->stages[i].copies_in;
      if (i_is_out || !box->stages[j].copies_in) {
        r->arg = (int)(i_is_out ? i : j) + 1;
        bad_argument(L, r,
                     lua_pushfstring(L, "a roc.Out array overlaps argument #%d",
                                     (int)(i_is_out ? j : i) + 1));
      }
      join(box, i, j);
    }
  }
}

static void check_count(lua_State *L, const roc_kernel_box *box, int count) {
  int wanted = (int)box->kernel->nparams;
  if (count == wanted) return;
  luaL_error(L, "kernel '%s' takes %d argument%s, got %d", box->kernel->name, wanted,
             wanted == 1 ? "" : "s", count);
}

void roc_kernel_read_args(lua_State *L, roc_kernel_box *box, int first, int count,
                          roc_rt_device *device) {
  check_count(L, box, count);
  luaL_checkstack(L, 8, NULL);
  reader r = {.box = box, .device = device};
  box->nhosts = 0;
  for (r.arg = 1; r.arg <= count; r.arg++) read_arg(L, &r, first + r.arg - 1);
  if (box->nhosts > 1) join_overlaps(L, &r);
}

void roc_kernel_signature_values(roc_kernel_box *box, roc_array *arrays) {
  for (uint32_t i = 0; i < box->kernel->nparams; i++) {
    const roc_kernel_param *p = &box->signature[i];
    roc_jit_value *v = &box->kernel->values[i];
    *v = (roc_jit_value){0};
    if (p->rank > 0) {
      int64_t extents[ROC_ARRAY_MAX_RANK] = {0};
      roc_error unused;
      roc_array_describe(&arrays[i], p->dtype, p->rank, extents, ROC_ORDER_C, &unused);
      v->array = &arrays[i];
    } else {
      v->scalar.type = roc_dtype_table[p->dtype].value_type;
      v->is_float32 = v->scalar.type == ROC_VT_F32;
      if (v->is_float32) v->scalar.type = ROC_VT_F64;
    }
  }
}

/* ---- staging: host arrays to the device and back
 * -------------------------------------------------- */

typedef struct run {
  roc_kernel_box *box;
  roc_rt_stream *stream;
  roc_jit_spec *spec;
  roc_error *err;
} run;

void roc_kernel_drop_temporaries(roc_kernel_box *box) {
  for (uint32_t i = 0; box->kernel && i < box->kernel->nparams; i++) {
    roc_buffer_release(box->stages[i].temporary);
    box->stages[i].temporary = NULL;
  }
}

/* What the kernel does to the arrays of a group. */
typedef struct group_stores {
  bool any;     /* stores to some of them */
  bool copies;  /* and wants them back on the host */
  bool scratch; /* stores to one that must not change on the host */
} group_stores;

static group_stores stores_of(const run *r, uint32_t leader) {
  group_stores g = {0};
  for (uint32_t i = leader; i < r->box->kernel->nparams; i++) {
    const roc_kernel_stage *s = &r->box->stages[i];
    if (!s->host || s->leader != leader || !roc_jit_spec_writes(r->spec, i)) continue;
    g.any = true;
    g.copies |= s->copies_out;
    g.scratch |= !s->copies_out;
  }
  return g;
}

/* Nobody can tell the array from a copy of it: it is laid out like one, and no store would have to
 * be undone. */
static bool can_use_in_place(const run *r, uint32_t leader) {
  const roc_kernel_stage *s = &r->box->stages[leader];
  if (!roc_rt_device_driver(r->spec->device)->props.host_memory) return false;
  if (!s->is_shared && !roc_array_is_c_contiguous(s->host) && !roc_array_is_f_contiguous(s->host))
    return false;
  group_stores g = stores_of(r, leader);
  return !g.any || (!g.scratch && !r->spec->object->has_fault);
}

/* The bytes [*begin, *end) of the whole group, as host addresses. */
static void group_range(const run *r, uint32_t leader, roc_devptr *begin, roc_devptr *end) {
  roc_array_range(r->box->stages[leader].host, begin, end);
  for (uint32_t i = leader + 1; i < r->box->kernel->nparams; i++) {
    const roc_kernel_stage *s = &r->box->stages[i];
    if (!s->host || s->leader != leader) continue;
    roc_devptr b, e;
    roc_array_range(s->host, &b, &e);
    if (b < *begin) *begin = b;
    if (e > *end) *end = e;
  }
}

enum {
  BLOCK_ALIGNMENT = 64
}; /* the block's bytes are aligned like the host's, so that elements stay aligned */

/* The group's bytes as arrays of uint8: on the host and in its block. */
static void group_bytes(const run *r, uint32_t leader, roc_array *host, roc_array *block) {
  const roc_kernel_stage *s = &r->box->stages[leader];
  roc_devptr begin, end;
  group_range(r, leader, &begin, &end);
  *host = (roc_array){.buffer = s->host->buffer, .dtype = ROC_DT_UINT8, .rank = 1, .strides = {1}};
  host->extents[0] = (int64_t)(end - begin);
  host->offset = (int64_t)(begin - roc_buffer_devptr(host->buffer));
  *block = *host;
  block->buffer = s->temporary;
  block->offset = (int64_t)(begin % BLOCK_ALIGNMENT);
}

static roc_status move_view(run *r, uint32_t i, const roc_array *block, roc_devptr block_begin) {
  roc_kernel_stage *s = &r->box->stages[i];
  int64_t itemsize = (int64_t)roc_dtype_itemsize(s->view.dtype);
  int64_t first =
      (int64_t)(roc_buffer_devptr(s->host->buffer) - block_begin) + s->host->offset * itemsize;
  if (first % itemsize != 0) {
    return roc_fail(r->err, ROC_INVALID,
                    "argument #%u of kernel '%s' shares memory with another and is not aligned to "
                    "its elements; "
                    "pass a copy",
                    i + 1, r->box->kernel->name);
  }
  s->view.buffer = block->buffer;
  s->view.offset = first / itemsize;
  return ROC_OK;
}

static roc_status stage_shared(run *r, uint32_t leader) {
  roc_kernel_box *box = r->box;
  roc_array host, block;
  group_bytes(r, leader, &host, &block);
  size_t nbytes = (size_t)host.extents[0] + BLOCK_ALIGNMENT;
  ROC_TRY(
      roc_buffer_create_device(r->spec->device, nbytes, &box->stages[leader].temporary, r->err));
  block.buffer = box->stages[leader].temporary;
  roc_devptr block_begin = roc_buffer_devptr(host.buffer) + (uint64_t)(host.offset - block.offset);
  for (uint32_t i = leader; i < box->kernel->nparams; i++) {
    if (!box->stages[i].host || box->stages[i].leader != leader) continue;
    ROC_TRY(move_view(r, i, &block, block_begin));
  }
  return roc_rt_copy(r->stream, &block, &host, r->err);
}

static roc_status stage_single(run *r, uint32_t i) {
  roc_kernel_stage *s = &r->box->stages[i];
  ROC_TRY(
      roc_buffer_create_device(r->spec->device, roc_array_nbytes(s->host), &s->temporary, r->err));
  s->view.buffer = s->temporary;
  s->view.offset = 0;
  return s->copies_in ? roc_rt_copy(r->stream, &s->view, s->host, r->err) : ROC_OK;
}

static roc_status stage_in(run *r) {
  for (uint32_t i = 0; i < r->box->kernel->nparams; i++) {
    roc_kernel_stage *s = &r->box->stages[i];
    if (!s->host || s->leader != i) continue;
    if (can_use_in_place(r, i)) {
      if (!s->is_shared) s->view = *s->host;
    } else {
      ROC_TRY(s->is_shared ? stage_shared(r, i) : stage_single(r, i));
    }
  }
  return ROC_OK;
}

static roc_status stage_out(run *r) {
  bool queued = false;
  for (uint32_t i = 0; i < r->box->kernel->nparams; i++) {
    roc_kernel_stage *s = &r->box->stages[i];
    if (!s->temporary || !stores_of(r, i).copies) continue;
    roc_array host = *s->host, block = s->view;
    if (s->is_shared) group_bytes(r, i, &host, &block);
    ROC_TRY(roc_rt_copy(r->stream, &host, &block, r->err));
    queued = true;
  }
  return queued ? roc_rt_stream_synchronize(r->stream, r->err) : ROC_OK;
}

static roc_status run_with_hosts(run *r, const roc_jit_grid *grid) {
  roc_ticket ticket = 0;
  ROC_TRY(stage_in(r));
  ROC_TRY(roc_jit_kernel_launch(r->box->kernel, r->spec, r->stream, grid, &ticket, r->err));
  bool failed = false;
  roc_status status = roc_rt_stream_wait_launch(r->stream, ticket, &failed, r->err);
  if (failed) return status;
  if (status == ROC_OK) return stage_out(r);
  /* Another launch's fault is reported; this one went well. */
  r->err = NULL;
  stage_out(r);
  return status;
}

/* ---- captured host arrays
 * ------------------------------------------------------------------------ */

void roc_kernel_drop_constants(roc_kernel_box *box) {
  for (uint32_t i = 0; i < box->nconstants; i++) roc_array_release(&box->constants[i].copy);
  roc_free(box->constants);
  box->constants = NULL;
  box->nconstants = 0;
}

static roc_status copy_constant(roc_kernel_constant *c, roc_rt_stream *stream, roc_error *err) {
  roc_rt_device *device = roc_rt_stream_device(stream);
  roc_array_release(&c->copy);
  c->device = NULL;
  c->copy = *c->host; /* C order, packed: it is a copy itself */
  c->copy.offset = 0;
  c->copy.buffer = NULL;
  ROC_TRY(roc_buffer_create_device(device, roc_array_nbytes(c->host), &c->copy.buffer, err));
  ROC_TRY(roc_rt_copy(stream, &c->copy, c->host, err));
  /* Other streams may use it next. */
  ROC_TRY(roc_buffer_wait(c->copy.buffer, false, err));
  c->device = device;
  return ROC_OK;
}

static roc_status list_constants(roc_kernel_box *box, roc_error *err) {
  const roc_jit_program *p = box->kernel->program;
  if (box->constants) return ROC_OK;
  box->constants = roc_zalloc(p->narrays * sizeof *box->constants);
  if (!box->constants)
    return roc_fail(err, ROC_OOM, "out of memory in a launch of kernel '%s'", box->kernel->name);
  box->nconstants = p->narrays;
  for (uint32_t i = 0; i < p->narrays; i++) {
    if (p->arrays[i].is_constant) box->constants[i].host = p->arrays[i].value.array;
  }
  return ROC_OK;
}

/* Where the launch's device finds the captured host arrays: on the host itself, or in copies made
 * once. */
static roc_status place_constants(roc_kernel_box *box, roc_rt_stream *stream, roc_error *err) {
  roc_jit_program *p = box->kernel->program;
  if (p->narrays == 0) return ROC_OK;
  ROC_TRY(list_constants(box, err));
  roc_rt_device *device = roc_rt_stream_device(stream);
  bool in_place = roc_rt_device_driver(device)->props.host_memory;
  for (uint32_t i = 0; i < box->nconstants; i++) {
    roc_kernel_constant *c = &box->constants[i];
    if (!c->host) continue;
    if (!in_place && c->device != device) ROC_TRY(copy_constant(c, stream, err));
    p->arrays[i].value.array = in_place ? c->host : &c->copy;
  }
  return ROC_OK;
}

roc_status roc_kernel_run(roc_kernel_box *box, roc_rt_stream *stream, const roc_jit_grid *grid,
                          roc_error *err) {
  run r = {.box = box, .stream = stream, .err = err};
  ROC_TRY(place_constants(box, stream, err));
  ROC_TRY(roc_jit_kernel_select(box->kernel, roc_rt_stream_device(stream), &r.spec, err));
  if (box->nhosts == 0) {
    roc_ticket ticket;
    return roc_jit_kernel_launch(box->kernel, r.spec, stream, grid, &ticket, err);
  }
  roc_status status = run_with_hosts(&r, grid);
  roc_kernel_drop_temporaries(box);
  return status;
}

/* ---- for sim, whose launches are Lua
 * ------------------------------------------------------------- */

/* core.kernel_host_argument(v) -> the host array that is or hides in an argument, and whether it is
 * copied back; or nothing */
static int kernel_host_argument(lua_State *L) {
  lua_settop(L, 1);
  const argument_mode *mode = luaL_testudata(L, 1, ROC_META_ARG);
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

/* core.kernel_fault(message): raises what a failed work-item left. */
static int kernel_fault(lua_State *L) {
  roc_error err = ROC_ERROR_INIT;
  roc_fail(&err, ROC_FAULT, "%s", luaL_tolstring(L, 1, NULL));
  return roc_lua_raise(L, &err);
}

static const luaL_Reg functions[] = {{"kernel_host_argument", kernel_host_argument},
                                     {"kernel_restore", kernel_restore},
                                     {"kernel_fault", kernel_fault},
                                     {"In", arg_in},
                                     {"Out", arg_out},
                                     {"InOut", arg_inout},
                                     {NULL, NULL}};

void roc_open_kernel_args(lua_State *L) {
  roc_class_new(L, ROC_META_ARG, NULL);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
