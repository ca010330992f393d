/* Builtins to instructions: one handler for each class of builtin.def. */
#include "frontend/types/builtin.h"

#include <stdio.h>

#include "frontend/lower/lower.h"

/* A call being lowered.  `results` have their types already. */
typedef struct builtin_call {
  const roc_ast_node *node;
  const roc_builtin_info *info;
  const roc_operand *args;
  uint32_t nargs;
  roc_operand *results;
  roc_value_type vt; /* of the first result */
} builtin_call;

static void give(builtin_call *c, uint32_t id) {
  c->results[0].id = id;
}

/* The k-th argument in the result's type. */
static uint32_t arg_as_result(roc_lower *lx, const builtin_call *c, uint32_t k) {
  return roc_lower_as(lx, c->args[k], c->vt);
}

/* An argument as a float of its own kind; integers as the result's plain float. */
static roc_value_type float_type(const roc_lower *lx, roc_operand op) {
  bool is_int = op.type.kind == ROC_TY_INT;
  return roc_lower_vt(lx, is_int ? roc_ty_of(ROC_TY_PLAIN) : op.type);
}

/* ---- the launch -------------------------------------------------------------------------- */

/* Beyond the third dimension ids and sizes are 1. */
static uint32_t query_constant(roc_lower *lx, roc_ir_op op, int64_t dim) {
  return dim <= 3 ? roc_ir_query(&lx->b, op, (uint32_t)dim - 1) : roc_ir_const_int(&lx->b, 1);
}

static void check_dimension(roc_lower *lx, const builtin_call *c, uint32_t dim) {
  char text[80];
  if (!lx->options->check) return;
  snprintf(text, sizeof text, "'%s' counts dimensions from 1", c->info->path);
  uint32_t test = roc_ir_binary(&lx->b, ROC_IR_LE, roc_ir_const_int(&lx->b, 1), dim);
  roc_lower_check(lx, c->node, test, text);
}

static void lower_launch_dim(roc_lower *lx, builtin_call *c) {
  roc_ir_op op = (roc_ir_op)c->info->payload;
  if (c->args[0].is_const) {
    give(c, query_constant(lx, op, c->args[0].value.as.i));
    return;
  }
  uint32_t dim = roc_lower_id(lx, c->args[0]), id = roc_ir_const_int(&lx->b, 1);
  check_dimension(lx, c, dim);
  for (int64_t d = 3; d >= 1; d--) {
    uint32_t is_it = roc_ir_binary(&lx->b, ROC_IR_EQ, dim, roc_ir_const_int(&lx->b, d));
    id = roc_ir_select(&lx->b, is_it, query_constant(lx, op, d), id);
  }
  give(c, id);
}

static void lower_launch(roc_lower *lx, builtin_call *c) {
  give(c, roc_ir_query(&lx->b, (roc_ir_op)c->info->payload, 0));
}

static void lower_grid(roc_lower *lx, builtin_call *c) {
  int64_t n = c->args[0].value.as.i;
  for (int64_t d = 0; d < n; d++) {
    c->results[d].id = roc_ir_query(&lx->b, (roc_ir_op)c->info->payload, (uint32_t)d);
  }
}

/* ---- memory ------------------------------------------------------------------------------ */

static void lower_block_array(roc_lower *lx, builtin_call *c) {
  uint32_t rank = 1;
  roc_ty t = c->results[0].type;
  roc_ir_array array = {.kind = (roc_ir_array_kind)t.space,
                        .dtype = (roc_dtype)t.dtype,
                        .rank = t.rank,
                        .name = lx->array_name ? lx->array_name : "block"};
  roc_fe_const_shape(lx->frame->inst, c->node->list.items[0], array.extents, &rank);
  if (array.kind == ROC_IR_ARRAY_SHARED_DYNAMIC && c->nargs == 3) {
    array.first_byte = c->args[2].value.as.i;
  }
  c->results[0].array = (roc_lower_array){.array = roc_lower_block_array(lx, c->node, &array)};
}

static void lower_const_array(roc_lower *lx, builtin_call *c) {
  const roc_fe_binding *made = roc_lower_info(lx, c->node)->binding;
  c->results[0] = made ? roc_lower_binding(lx, c->node, made) : c->args[0];
}

static void lower_fence(roc_lower *lx, builtin_call *c) {
  int64_t scope = c->nargs > 0 ? c->args[0].value.as.i : 3;
  roc_ir_emit(&lx->b, (roc_ir_op)c->info->payload, ROC_VT_NONE, 0, 0, scope, NULL, 0);
}

static void lower_wave_barrier(roc_lower *lx, builtin_call *c) {
  roc_ir_emit(&lx->b, (roc_ir_op)c->info->payload, ROC_VT_NONE, 0, 0, 0, NULL, 0);
}

/* index…, value…: the operands of ATOMIC */
static void lower_atomic(roc_lower *lx, builtin_call *c) {
  uint32_t operands[ROC_MAX_RANK + 2], n = 0;
  const roc_lower_array *ref = &c->args[0].array;
  const roc_operand *keys = c->args[1].items ? c->args[1].items : &c->args[1];
  uint32_t nkeys = roc_fe_atomic_index(&c->node->list.items[1]).count;
  roc_value_type vt = roc_dtype_table[c->args[0].type.dtype].value_type;
  roc_lower_place(lx, c->node);
  for (uint32_t k = 0; k < ref->nlead; k++) operands[n++] = ref->lead[k];
  for (uint32_t k = 0; k < nkeys; k++) {
    roc_operand key = keys[k];
    roc_lower_pin(lx, &key);
    roc_lower_check_index(lx, c->node, ref->array, n, key);
    operands[n++] = roc_lower_id(lx, key);
  }
  for (uint32_t k = 2; k < c->nargs; k++) operands[n++] = roc_lower_as(lx, c->args[k], vt);
  bool is_store = c->info->payload == ROC_IR_ATOMIC_STORE;
  roc_lower_mark(lx, ref->array, true, true);
  uint32_t old = roc_ir_emit(&lx->b, ROC_IR_ATOMIC, is_store ? ROC_VT_NONE : vt, ref->array, 0,
                             c->info->payload, operands, n);
  if (!is_store) give(c, old);
}

/* ---- waves ------------------------------------------------------------------------------- */

static void emit_wave(roc_lower *lx, builtin_call *c, const uint32_t *args, uint32_t nargs) {
  give(c, roc_ir_emit(&lx->b, ROC_IR_WAVE, c->vt, 0, 0, c->info->payload, args, nargs));
}

static void lower_wave(roc_lower *lx, builtin_call *c) {
  uint32_t args[4];
  for (uint32_t k = 0; k < c->nargs; k++) args[k] = roc_lower_id(lx, c->args[k]);
  emit_wave(lx, c, args, c->nargs);
}

static void lower_wave_active(roc_lower *lx, builtin_call *c) {
  uint32_t args[4] = {arg_as_result(lx, c, 0), roc_lower_id(lx, c->args[1]),
                      arg_as_result(lx, c, 2), roc_lower_id(lx, c->args[3])};
  emit_wave(lx, c, args, 4);
}

/* ---- math -------------------------------------------------------------------------------- */

static void lower_number(roc_lower *lx, builtin_call *c) {
  give(c, roc_ir_unary(&lx->b, (roc_ir_op)c->info->payload, arg_as_result(lx, c, 0)));
}

static void lower_minmax(roc_lower *lx, builtin_call *c) {
  uint32_t best = arg_as_result(lx, c, 0);
  for (uint32_t k = 1; k < c->nargs; k++) {
    best = roc_ir_binary(&lx->b, (roc_ir_op)c->info->payload, best, arg_as_result(lx, c, k));
  }
  give(c, best);
}

static void lower_to_integer(roc_lower *lx, builtin_call *c) {
  uint32_t x = roc_lower_id(lx, c->args[0]);
  if (c->args[0].type.kind != ROC_TY_INT) {
    if (lx->options->check) {
      uint32_t site = roc_lower_site(lx, c->node, ROC_SITE_NO_INTEGER);
      roc_ir_report(&lx->b, ROC_IR_CHECK_INT, site, &x, 1);
    }
    x = roc_ir_unary(&lx->b, (roc_ir_op)c->info->payload, x);
  }
  give(c, x);
}

/* C's remainder, computed from Lua's: it has the sign of the dividend. */
static void lower_integer_fmod(roc_lower *lx, builtin_call *c) {
  uint32_t a = roc_lower_id(lx, c->args[0]), b = roc_lower_id(lx, c->args[1]);
  uint32_t zero = roc_lower_zero(lx, ROC_VT_INT);
  roc_lower_check_divisor(lx, c->node, c->args[1], ROC_SITE_MODULO);
  uint32_t rest = roc_ir_binary(&lx->b, ROC_IR_MOD, a, b);
  uint32_t differs =
      roc_ir_binary(&lx->b, ROC_IR_LT, roc_ir_binary(&lx->b, ROC_IR_BXOR, rest, a), zero);
  uint32_t is_off = roc_lower_and_bits(lx, roc_ir_binary(&lx->b, ROC_IR_NE, rest, zero), differs);
  give(c, roc_ir_select(&lx->b, is_off, roc_ir_binary(&lx->b, ROC_IR_SUB, rest, b), rest));
}

static void lower_math(roc_lower *lx, builtin_call *c) {
  uint32_t args[3];
  for (uint32_t k = 0; k < c->nargs; k++) args[k] = arg_as_result(lx, c, k);
  give(c, roc_ir_call_math(&lx->b, (roc_ir_math)c->info->payload, args, c->nargs));
}

static void lower_fmod(roc_lower *lx, builtin_call *c) {
  (c->vt == ROC_VT_INT ? lower_integer_fmod : lower_math)(lx, c);
}

/* Integral part toward zero, and the rest: 0 for infinities, as Lua's.  Lua's integral part is an
 * integer where it can be, so that it is never -0.0. */
static void lower_modf(roc_lower *lx, builtin_call *c) {
  if (c->vt == ROC_VT_INT) {
    give(c, roc_lower_id(lx, c->args[0]));
    c->results[1].id = roc_lower_zero(lx, roc_lower_vt(lx, c->results[1].type));
    return;
  }
  uint32_t x = arg_as_result(lx, c, 0);
  uint32_t whole = roc_ir_call_math(&lx->b, ROC_IR_MATH_TRUNC, &x, 1);
  uint32_t is_whole = roc_ir_binary(&lx->b, ROC_IR_EQ, whole, x);
  give(c, roc_ir_binary(&lx->b, ROC_IR_ADD, whole, roc_lower_zero(lx, c->vt)));
  c->results[1].id = roc_ir_select(&lx->b, is_whole, roc_lower_zero(lx, c->vt),
                                   roc_ir_binary(&lx->b, ROC_IR_SUB, x, whole));
}

static void lower_ult(roc_lower *lx, builtin_call *c) {
  give(c, roc_ir_binary(&lx->b, ROC_IR_ULT, roc_lower_id(lx, c->args[0]),
                        roc_lower_id(lx, c->args[1])));
}

static uint32_t is_base(roc_lower *lx, uint32_t base, roc_value_type type, double value) {
  uint32_t known =
      type == ROC_VT_F32 ? roc_ir_const_f32(&lx->b, value) : roc_ir_const_f64(&lx->b, value);
  return roc_ir_binary(&lx->b, ROC_IR_EQ, base, known);
}

/* The logarithm for a base that Lua has a function for. */
static uint32_t log_of_base(roc_lower *lx, uint32_t x, double base) {
  roc_ir_math fn = base == 2 ? ROC_IR_MATH_LOG2 : ROC_IR_MATH_LOG10;
  return roc_ir_call_math(&lx->b, fn, &x, 1);
}

/* math.log(x, base): Lua treats bases 2 and 10 specially, also a base known at run time only. */
static uint32_t lower_log_of_base(roc_lower *lx, builtin_call *c, uint32_t x) {
  const roc_operand *base = &c->args[1];
  uint32_t y = arg_as_result(lx, c, 1);
  if (base->is_const) {
    double value = base->value.type == ROC_VT_INT ? (double)base->value.as.i : base->value.as.f;
    if (value == 2 || value == 10) return log_of_base(lx, x, value);
  }
  uint32_t log = roc_ir_call_math(&lx->b, ROC_IR_MATH_LOG, &x, 1);
  log = roc_ir_binary(&lx->b, ROC_IR_FDIV, log, roc_ir_call_math(&lx->b, ROC_IR_MATH_LOG, &y, 1));
  if (base->is_const) return log;
  log = roc_ir_select(&lx->b, is_base(lx, y, c->vt, 2), log_of_base(lx, x, 2), log);
  return roc_ir_select(&lx->b, is_base(lx, y, c->vt, 10), log_of_base(lx, x, 10), log);
}

static void lower_log(roc_lower *lx, builtin_call *c) {
  uint32_t x = arg_as_result(lx, c, 0);
  give(c, c->nargs == 2 ? lower_log_of_base(lx, c, x)
                        : roc_ir_call_math(&lx->b, ROC_IR_MATH_LOG, &x, 1));
}

static void lower_atan(roc_lower *lx, builtin_call *c) {
  uint32_t args[2] = {arg_as_result(lx, c, 0), ROC_IR_NONE};
  if (c->nargs == 2) args[1] = arg_as_result(lx, c, 1);
  roc_ir_math fn = c->nargs == 2 ? ROC_IR_MATH_ATAN2 : ROC_IR_MATH_ATAN;
  give(c, roc_ir_call_math(&lx->b, fn, args, c->nargs));
}

static void lower_angle(roc_lower *lx, builtin_call *c) {
  static const double pi = 3.141592653589793238462643383279502884;
  double factor = c->info->payload ? pi / 180.0 : 180.0 / pi;
  uint32_t x = arg_as_result(lx, c, 0);
  give(c, roc_ir_binary(&lx->b, ROC_IR_MUL, x, roc_lower_float(lx, c->vt, factor)));
}

static void lower_pow(roc_lower *lx, builtin_call *c) {
  give(c, roc_ir_binary(&lx->b, ROC_IR_POW, arg_as_result(lx, c, 0), arg_as_result(lx, c, 1)));
}

static void lower_fclass(roc_lower *lx, builtin_call *c) {
  uint32_t x = roc_lower_as(lx, c->args[0], float_type(lx, c->args[0]));
  give(c, roc_ir_emit(&lx->b, ROC_IR_FCLASS, ROC_VT_BOOL, c->info->payload, 0, 0, &x, 1));
}

static void lower_bits(roc_lower *lx, builtin_call *c) {
  uint32_t x = roc_lower_id(lx, c->args[0]);
  give(c, roc_ir_emit(&lx->b, ROC_IR_BITS, ROC_VT_INT, c->info->payload, 0, 0, &x, 1));
}

/* ---- messages ---------------------------------------------------------------------------- */

static void lower_print(roc_lower *lx, builtin_call *c) {
  roc_lower_message(lx, c->node, ROC_IR_PRINT, ROC_SITE_PRINT, c->args, c->nargs);
}

static void lower_error(roc_lower *lx, builtin_call *c) {
  roc_lower_message(lx, c->node, ROC_IR_FAIL, ROC_SITE_ERROR, c->args, c->nargs);
}

static void lower_assert(roc_lower *lx, builtin_call *c) {
  if (lx->options->check) {
    roc_lower_message(lx, c->node, ROC_IR_CHECK, ROC_SITE_ASSERT, c->args, c->nargs);
  }
  c->results[0] = c->args[0];
}

typedef void builtin_fn(roc_lower *lx, builtin_call *c);

static builtin_fn *const builtin_handlers[ROC_BC_COUNT_] = {
    [ROC_BC_LAUNCH_DIM] = lower_launch_dim,
    [ROC_BC_LAUNCH] = lower_launch,
    [ROC_BC_GRID] = lower_grid,
    [ROC_BC_SHARED_ARRAY] = lower_block_array,
    [ROC_BC_PRIVATE_ARRAY] = lower_block_array,
    [ROC_BC_CONST_ARRAY] = lower_const_array,
    [ROC_BC_FENCE] = lower_fence,
    [ROC_BC_WAVE_BARRIER] = lower_wave_barrier,
    [ROC_BC_ATOMIC] = lower_atomic,
    [ROC_BC_WAVE_VOTE] = lower_wave,
    [ROC_BC_WAVE_MOVE] = lower_wave,
    [ROC_BC_WAVE_REDUCE] = lower_wave,
    [ROC_BC_WAVE_DS] = lower_wave,
    [ROC_BC_WAVE_ACTIVE] = lower_wave_active,
    [ROC_BC_NUMBER] = lower_number,
    [ROC_BC_MINMAX] = lower_minmax,
    [ROC_BC_TO_INTEGER] = lower_to_integer,
    [ROC_BC_FMOD] = lower_fmod,
    [ROC_BC_MODF] = lower_modf,
    [ROC_BC_ULT] = lower_ult,
    [ROC_BC_LOG] = lower_log,
    [ROC_BC_ATAN] = lower_atan,
    [ROC_BC_ANGLE] = lower_angle,
    [ROC_BC_MATH] = lower_math,
    [ROC_BC_POW] = lower_pow,
    [ROC_BC_FCLASS] = lower_fclass,
    [ROC_BC_BITS] = lower_bits,
    [ROC_BC_PRINT] = lower_print,
    [ROC_BC_ERROR] = lower_error,
    [ROC_BC_ASSERT] = lower_assert,
};

void roc_lower_builtin(roc_lower *lx, const roc_ast_node *node, uint32_t id,
                       const roc_operand *args, uint32_t nargs, roc_operand *results) {
  const roc_fe_call *call = roc_lower_info(lx, node)->call;
  builtin_call c = {.node = node,
                    .info = &roc_builtin_table[id],
                    .args = args,
                    .nargs = nargs,
                    .results = results,
                    .vt = ROC_VT_NONE};
  for (uint32_t k = 0; k < call->nresults; k++) {
    results[k] = roc_operand_of(call->results[k], ROC_IR_NONE);
  }
  if (call->nresults > 0) c.vt = roc_lower_vt(lx, call->results[0]);
  builtin_handlers[c.info->cls](lx, &c);
}
