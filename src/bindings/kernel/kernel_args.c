/* Arguments of a launch, read from Lua.
 *
 * Fills kernel->values and, for host arrays, box->stages (registered and smart ones are used in
 * place, so for them In, Out and InOut have no effect); the error of a failed check names kernel
 * and argument.  The class of a host array is that of its packed copy on the device; arrays that
 * share memory keep their own strides. */
#include <string.h>

#include "bindings/kernel/kernel_bind.h"
#include "jit/configure.h"
#include "runtime/mirror.h"
#include "runtime/registration.h"

/* ---- roc.In, Out, InOut ---- */

static int wrap_given(lua_State *L, roc_kernel_mode what) {
  roc_kernel_mode *mode = lua_newuserdatauv(L, sizeof *mode, 1);
  *mode = what;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, ROC_META_ARG);
  return 1;
}

static int wrap_argument(lua_State *L, roc_kernel_mode what) {
  roc_check_array(L, 1);
  return wrap_given(L, what);
}

static int arg_in(lua_State *L) {
  return wrap_argument(L, (roc_kernel_mode){.copies_in = true});
}
static int arg_out(lua_State *L) {
  return wrap_argument(L, (roc_kernel_mode){.copies_out = true});
}
static int arg_inout(lua_State *L) {
  return wrap_argument(L, (roc_kernel_mode){.copies_in = true, .copies_out = true});
}
/* core.New: of what roclua itself has made for the result.  What is pending is not computed: it is
 * the kernel that does. */
static int arg_new(lua_State *L) {
  luaL_argcheck(L, roc_test_array_box(L, 1), 1, "an array expected");
  return wrap_given(L, (roc_kernel_mode){.copies_out = true, .is_new = true});
}

/* ---- reading ---- */

typedef struct reader {
  roc_kernel_box *box;
  roc_rt_device *device;
  roc_rt_stream *stream; /* computes what is pending; NULL: any */
  int first, count;      /* of the arguments on the stack */
  int arg;               /* the current argument, from 1 */
} reader;

static int bad_argument(lua_State *L, const reader *r, const char *what) {
  luaL_where(L, 1);
  lua_pushfstring(L, "bad argument #%d to kernel '%s' (%s)", r->arg, r->box->kernel->name, what);
  lua_concat(L, 2);
  return lua_error(L);
}

/* What the signature says of the argument. */
static void declare(lua_State *L, const reader *r, roc_jit_value *v) {
  if (!r->box->signature) return;
  roc_error err = ROC_ERROR_INIT;
  if (roc_jit_declare(&r->box->signature[r->arg - 1], v, &err) == ROC_OK) return;
  bad_argument(L, r, err.message);
}

static void check_device(lua_State *L, const reader *r, const roc_array *a) {
  roc_rt_device *owner = roc_buffer_device(a->buffer);
  if (owner == r->device || !owner || !r->device) return;
  bad_argument(L, r,
               lua_pushfstring(L, "the array is on device '%s', the launch on '%s'",
                               roc_rt_device_label(owner), roc_rt_device_label(r->device)));
}

/* The view that the kernel gets of a host array: the layout of the copy, at the array's lowest
 * address. */
static void plan_host_array(roc_kernel_stage *s, const roc_array *a) {
  s->host = a;
  s->view = *a;
  if (a->rank == 1 && a->strides[0] == 1) return; /* as most are: it has the copy's layout */
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

static void take_host_array(roc_kernel_box *box, uint32_t i, const roc_array *a,
                            roc_kernel_mode mode, bool is_plain) {
  roc_kernel_stage *s = &box->stages[i];
  plan_host_array(s, a);
  s->leader = i;
  s->temporary = NULL;
  s->is_shared = false;
  s->copies_in = mode.copies_in;
  s->copies_out = mode.copies_out;
  s->is_plain = is_plain;
  s->is_new = mode.is_new;
  box->kernel->values[i] = (roc_jit_value){.array = &s->view};
  box->nhosts++;
}

/* A host array that the device reaches is used in place, others are copied. */
static void place_host_array(roc_kernel_box *box, uint32_t i, const roc_array *a,
                             roc_kernel_mode mode, bool is_plain) {
  if (!roc_buffer_is_mirrored(a->buffer) && !roc_buffer_is_mapped(a->buffer)) {
    take_host_array(box, i, a, mode, is_plain);
    return;
  }
  box->stages[i].direct = a;
  box->stages[i].copies_in = mode.copies_in; /* only to refuse overlaps of roc.Out */
  box->ndirect++;
}

bool roc_kernel_evaluate(lua_State *L, const roc_array *a, roc_rt_stream *stream) {
  return roc_array_evaluate(L, a, stream);
}

/* With the other arguments that are pending. */
static bool evaluate(lua_State *L, const reader *r, const roc_array *a) {
  if (!roc_buffer_pending(a->buffer)) return roc_kernel_evaluate(L, a, r->stream);
  return roc_array_evaluate_all(L, r->first, r->count, r->stream);
}

/* An array on the launch's device, as most arguments are; false: another argument. */
static bool read_device_array(lua_State *L, const reader *r, int idx) {
  const roc_array_box *found = roc_test_array_box(L, idx);
  if (!found || !found->array.buffer) return false;
  if (!roc_buffer_is_settled(found->array.buffer, r->device)) return false;
  roc_jit_value *v = &r->box->kernel->values[r->arg - 1];
  roc_kernel_stage *s = &r->box->stages[r->arg - 1];
  *v = (roc_jit_value){.array = &found->array};
  s->direct = s->host = NULL;
  declare(L, r, v);
  return true;
}

/* False: the array had to be computed first. */
static bool read_arg(lua_State *L, reader *r, int idx) {
  uint32_t i = (uint32_t)r->arg - 1;
  roc_jit_value *v = &r->box->kernel->values[i];
  roc_kernel_stage *s = &r->box->stages[i];
  *v = (roc_jit_value){0};
  s->direct = s->host = NULL; /* the other fields are used for host arrays only */
  const roc_kernel_mode *mode = NULL;
  const roc_array_box *array = roc_test_array_box(L, idx);
  if (!array && roc_test_scalar(L, idx, &v->scalar)) {
    declare(L, r, v);
    return true;
  }
  if (!array && (mode = luaL_testudata(L, idx, ROC_META_ARG))) {
    lua_getiuservalue(L, idx, 1); /* the wrapper keeps it */
    array = roc_test_array_box(L, -1);
    lua_pop(L, 1);
  }
  if (!array) {
    const char *meant = lua_istable(L, idx) ? "; make an array of it: roc.array(t)" : "";
    bad_argument(L, r,
                 lua_pushfstring(L, "array, number or boolean expected, got %s%s",
                                 roc_push_type_name(L, idx), meant));
  }
  const roc_array *a = &array->array;
  if (!a->buffer) bad_argument(L, r, "the array is closed");
  if (!(mode && mode->is_new) && evaluate(L, r, a)) return false;
  v->array = a;
  declare(L, r, v);
  if (roc_buffer_device(a->buffer)) {
    check_device(L, r, a);
  } else {
    place_host_array(r->box, i, a, mode ? *mode : (roc_kernel_mode){true, true, false}, !mode);
  }
  return true;
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

static const roc_array *host_array(const roc_kernel_stage *s) {
  return s->direct ? s->direct : s->host;
}

static void join_overlaps(lua_State *L, reader *r) {
  roc_kernel_box *box = r->box;
  for (uint32_t j = 1; j < box->kernel->nparams; j++) {
    const roc_array *b = host_array(&box->stages[j]);
    for (uint32_t i = 0; b && i < j; i++) {
      const roc_array *a = host_array(&box->stages[i]);
      if (!a || !overlap(a, b)) continue;
      bool i_is_out = !box->stages[i].copies_in;
      if (i_is_out || !box->stages[j].copies_in) {
        r->arg = (int)(i_is_out ? i : j) + 1;
        bad_argument(L, r,
                     lua_pushfstring(L, "a roc.Out array overlaps argument #%d",
                                     (int)(i_is_out ? j : i) + 1));
      }
      if (box->stages[i].host && box->stages[j].host) join(box, i, j);
    }
  }
}

static void check_count(lua_State *L, const roc_kernel_box *box, int count) {
  int wanted = (int)box->kernel->nparams;
  if (count == wanted) return;
  bool has_rest = box->kernel->program->funcs[0].ast->is_vararg;
  luaL_error(
      L, "kernel '%s' takes %d argument%s, got %d%s", box->kernel->name, wanted,
      wanted == 1 ? "" : "s", count,
      has_rest ? " ('...' takes none in a kernel; name the parameters, or pass an array)" : "");
}

bool roc_kernel_read_args(lua_State *L, roc_kernel_box *box, int first, int count,
                          roc_rt_device *device, roc_rt_stream *stream) {
  check_count(L, box, count);
  reader r = {.box = box, .device = device, .stream = stream, .first = first, .count = count};
  box->nhosts = box->ndirect = 0;
  for (r.arg = 1; r.arg <= count; r.arg++) {
    int idx = first + r.arg - 1;
    if (!read_device_array(L, &r, idx) && !read_arg(L, &r, idx)) return false;
  }
  if (box->nhosts + box->ndirect > 1) join_overlaps(L, &r);
  return true;
}

static void take_operand(lua_State *L, roc_kernel_box *box, uint32_t i,
                         roc_kernel_operand *operand) {
  roc_jit_value *v = &box->kernel->values[i];
  roc_kernel_stage *s = &box->stages[i];
  *v = (roc_jit_value){.scalar = operand->scalar};
  s->direct = s->host = NULL;
  if (!operand->source) return;
  if (!operand->source->buffer) luaL_error(L, "an array was closed while it was computed with");
  operand->view.buffer = operand->source->buffer;
  v->array = &operand->view;
  if (roc_buffer_device(operand->view.buffer)) return;
  place_host_array(box, i, &operand->view,
                   (roc_kernel_mode){!operand->is_result, operand->is_result, operand->is_result},
                   false);
}

void roc_kernel_take_operands(lua_State *L, roc_kernel_box *box, roc_kernel_operand *operands,
                              uint32_t count) {
  check_count(L, box, (int)count);
  box->nhosts = box->ndirect = 0;
  for (uint32_t i = 0; i < count; i++) take_operand(L, box, i, &operands[i]);
}

void roc_kernel_signature_values(roc_kernel_box *box, roc_array *arrays) {
  for (uint32_t i = 0; i < box->kernel->nparams; i++) {
    const roc_arg_type *p = &box->signature[i];
    roc_jit_value *v = &box->kernel->values[i];
    *v = (roc_jit_value){0};
    if (roc_arg_is_array(p)) {
      arrays[i] = (roc_array){.dtype = (roc_dtype)p->dtype, .rank = p->rank};
      v->array = &arrays[i];
      v->declared_layout = p->layout;
    } else {
      v->is_float32 = p->value == ROC_VT_F32;
      v->scalar.type = v->is_float32 ? ROC_VT_F64 : (roc_value_type)p->value;
    }
  }
}
static const luaL_Reg functions[] = {
    {"In", arg_in}, {"Out", arg_out}, {"InOut", arg_inout}, {"New", arg_new}, {NULL, NULL}};

void roc_open_kernel_args(lua_State *L) {
  roc_class_new(L, ROC_META_ARG, NULL);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
