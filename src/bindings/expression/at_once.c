/* Operations on few elements of host arrays, on the calling thread.
 *
 * A launch finds the kernel by a text, its specialisation by the types of all arguments, and a
 * stream that queues it and notes what it uses: some microseconds, for ten elements as for
 * thousands. Where host arrays that no work uses lie one after the other, the types follow from a
 * few bits, by which an operation keeps what the last such launches have found, and the code is
 * called as it is. */
#include "bindings/expression/expression.h"
#include "runtime/mirror.h"
#include "runtime/registration.h"

enum { WORKGROUP = 256 };

/* ---- what the code depends on ---------------------------------------------------------------- */

typedef enum shape_kind { ONE, ALL, OTHER } shape_kind;

/* How the elements of an array lie beside those of the result. */
static shape_kind classify(const roc_array *a, int64_t size, bool is_f) {
  int64_t own = roc_array_size(a);
  if (own == 1) return ONE;
  if (own != size) return OTHER;
  bool is_packed = is_f ? roc_array_is_f_contiguous(a) : roc_array_is_c_contiguous(a);
  return is_packed ? ALL : OTHER;
}

/* Memory that the code may read as it is. */
static bool is_plain(const roc_array *a) {
  const roc_buffer *b = a->buffer;
  return !roc_buffer_pending(b) && !roc_buffer_is_mirrored(b) && !roc_buffer_is_mapped(b) &&
         !roc_buffer_is_busy(b, false);
}

/* As jit/args.c has it. */
static bool is_narrow(const roc_scalar *s) {
  return s->type == ROC_VT_INT && s->as.i >= 0 && s->as.i <= ROC_NARROW_INT_MOST;
}

/* Kinds, which operands have all elements, which integers are narrow; 0: the types do not follow
 * from these. */
static uint64_t make_key(const roc_expression_call *c, const roc_array *result) {
  int64_t size = roc_array_size(result);
  bool is_f = roc_loops_is_reversed(result);
  uint64_t key = 1 | (uint64_t)c->is_square << 1 | (uint64_t)(size == 1) << 2;
  for (uint32_t i = 0; i < c->op->noperands; i++) {
    const roc_array *a = c->arrays[i];
    shape_kind shape = ONE;
    if (a) {
      shape = classify(a, size, is_f);
      if (shape == OTHER || !is_plain(a)) return 0;
    }
    uint64_t bits = (uint64_t)c->kinds[i] | (uint64_t)(shape == ALL) << 8 |
                    (uint64_t)(!a && is_narrow(&c->scalars[i])) << 9;
    key |= bits << (8 + 16 * i);
  }
  return key;
}

static roc_ready_code *place_of(roc_operation *op, uint64_t key) {
  return &op->ready[(key ^ key >> 11 ^ key >> 26 ^ key >> 40) % ROC_READY_CODES];
}

/* ---- operands that lie otherwise ------------------------------------------------------------- */

enum { FEW = 4096 }; /* elements that are copied sooner than another kernel is made and found */

/* The array with the result's extents. */
static roc_array spread(const roc_array *a, const roc_array *result) {
  roc_array view = {
      .buffer = a->buffer, .dtype = a->dtype, .rank = result->rank, .offset = a->offset};
  uint32_t lacks = result->rank - a->rank;
  for (uint32_t k = 0; k < result->rank; k++) {
    view.extents[k] = result->extents[k];
    bool moves = k >= lacks && a->extents[k - lacks] == result->extents[k];
    view.strides[k] = moves ? a->strides[k - lacks] : 0;
  }
  return view;
}

void roc_expression_flatten(lua_State *L, roc_expression_call *c, const roc_array *result,
                            roc_loops *loops) {
  int64_t size = roc_array_size(result);
  roc_order order = roc_loops_is_reversed(result) ? ROC_ORDER_F : ROC_ORDER_C;
  if (size >= FEW) return;
  luaL_checkstack(L, ROC_EXPRESSION_MAX_OPERANDS + 4, NULL);
  for (uint32_t i = 0, n = 0; i < c->op->noperands; i++) {
    const roc_array *a = c->arrays[i];
    if (!a || !a->buffer) continue;
    n++;
    if (classify(a, size, order == ROC_ORDER_F) != OTHER || !is_plain(a)) continue;
    const roc_array *copy =
        roc_new_host_array(L, a->dtype, result->rank, result->extents, order, false);
    if (!a->buffer) return; /* a finalizer has closed it, as the caller finds */
    roc_array view = spread(a, result);
    roc_array_pack(roc_buffer_host(copy->buffer), &view, order);
    c->arrays[i] = loops->arrays[n] = copy;
  }
}

/* ---- running --------------------------------------------------------------------------------- */

/* The array as the kernel has it: a line, or one element. */
static roc_array flatten(const roc_array *a, int64_t extent) {
  return (roc_array){.buffer = a->buffer,
                     .dtype = a->dtype,
                     .rank = 1,
                     .extents = {extent},
                     .strides = {1},
                     .offset = a->offset};
}

static bool run(const roc_expression_call *c, const roc_array *result, const roc_jit_spec *spec) {
  roc_array views[ROC_EXPRESSION_MAX_OPERANDS + 1];
  roc_jit_value values[ROC_EXPRESSION_MAX_OPERANDS + 1];
  uint32_t n = c->op->noperands;
  for (uint32_t i = 0; i < n; i++) {
    const roc_array *a = c->arrays[i];
    if (a) views[i] = flatten(a, roc_array_size(a));
    values[i] = (roc_jit_value){.array = a ? &views[i] : NULL, .scalar = c->scalars[i]};
  }
  int64_t size = roc_array_size(result);
  views[n] = flatten(result, size);
  values[n] = (roc_jit_value){.array = &views[n]};
  roc_ndrange range = {.grid = {(uint64_t)size, 1, 1}, .local = {WORKGROUP, 1, 1}, .rank = 1};
  roc_buffer_note_write(result->buffer);
  return roc_jit_spec_run_at_once(spec, values, n + 1, &range);
}

bool roc_expression_run_at_once(const roc_expression_call *call, const roc_array *result,
                                uint64_t *out_key) {
  *out_key = make_key(call, result);
  if (*out_key == 0) return false;
  const roc_ready_code *ready = place_of(call->op, *out_key);
  if (ready->key != *out_key || ready->ndropped != ready->kernel->ndropped) return false;
  return run(call, result, ready->spec);
}

/* ---- noting ---------------------------------------------------------------------------------- */

/* Lines, one element, and numbers, with nothing that other arguments of those types could lack. */
static bool has_plain_types(const roc_jit_kernel *k) {
  for (uint32_t i = 0; i < k->nparams; i++) {
    const roc_arg_type *t = &k->classes[i];
    if (!roc_arg_is_array(t)) continue;
    if (t->rank != 1 || t->layout != ROC_LAYOUT_C || !t->is_narrow || t->is_alias) return false;
  }
  return true;
}

void roc_expression_note_code(lua_State *L, roc_operation *op, uint64_t key) {
  const roc_kernel_box *box = roc_check_kernel(L, -1);
  const roc_jit_kernel *k = box->kernel;
  bool has_own = k->program->narrays + k->program->nscalars > 0;
  if (!k->last || has_own || !has_plain_types(k)) return;
  const roc_codeobj *object = k->last->object;
  if (object->has_fault || object->has_print) return;
  *place_of(op, key) = (roc_ready_code){key, k, k->last, k->ndropped};
}
