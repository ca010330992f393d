/* Calls: functions of the script are lowered in place, conversions and builtins become
 * instructions.
 *
 * An inlined function is a BLOCK that its returns leave, with results in variables; one that
 * returns only at its end needs neither. */
#include "frontend/lower/lower.h"

#include "frontend/types/builtin.h"

static bool list_returns(const roc_ast_list *list, const roc_ast_node *except);

static bool returns(const roc_ast_node *stat, const roc_ast_node *except) {
  if (stat->kind == ROC_AST_RETURN) return stat != except;
  return list_returns(&stat->body, except) || list_returns(&stat->orelse, except);
}

static bool list_returns(const roc_ast_list *list, const roc_ast_node *except) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (returns(list->items[i], except)) return true;
  }
  return false;
}

/* No return but the last statement. */
static bool returns_at_end_only(const roc_ast_func *func) {
  const roc_ast_node *last = func->body.count ? func->body.items[func->body.count - 1] : NULL;
  return !list_returns(&func->body, last);
}

/* Converts an argument to a type: a constant is rounded to float32, while a local keeps all digits of
 * a constant.  An argument is passed as the type that the call gives it, then as the parameter's own,
 * which what the function assigns to it may have widened or narrowed. */
static roc_operand pass(const roc_lower *lx, roc_operand op, roc_ty t) {
  bool is_rounded = op.is_const && op.value.type == ROC_VT_F64 && roc_lower_vt(lx, t) == ROC_VT_F32;
  if (is_rounded) op.value.as.f = (double)(float)op.value.as.f;
  return op;
}

static void declare_params(roc_lower *lx, const roc_operand *args) {
  const roc_fe_instance *inst = lx->frame->inst;
  const roc_ast_func *func = inst->fn->ast;
  for (uint32_t k = 0; k < func->nparams; k++) {
    const roc_ast_symbol *param = func->params[k];
    roc_operand passed = pass(lx, args[k], inst->params[k]);
    roc_lower_declare(lx, param, pass(lx, passed, roc_fe_sym(inst, param)->type));
  }
}

static uint32_t *make_result_vars(roc_lower *lx, const roc_fe_instance *inst) {
  uint32_t *vars = ROC_ARENA_ARRAY(&lx->scratch, uint32_t, inst->nresults + 1);
  if (!vars) {
    lx->stop = true;
    return NULL;
  }
  for (uint32_t k = 0; k < inst->nresults; k++) {
    vars[k] = roc_lower_temp(lx, roc_lower_vt(lx, inst->results[k]));
  }
  return vars;
}

/* A function that ends by error(…) instead of return still needs results of the right types. */
static void default_results(roc_lower *lx, const roc_fe_instance *inst, roc_operand *results) {
  for (uint32_t k = 0; k < inst->nresults; k++) {
    roc_value_type vt = roc_lower_vt(lx, inst->results[k]);
    results[k] = roc_operand_of(inst->results[k], roc_lower_zero(lx, vt));
  }
}

static void lower_body(roc_lower *lx, roc_frame *frame, const roc_ast_node *node,
                       const roc_operand *args, roc_operand *results) {
  const roc_fe_instance *inst = frame->inst;
  bool is_plain = returns_at_end_only(inst->fn->ast);
  frame->results = results;
  frame->block = ROC_IR_NONE;
  if (!is_plain) {
    frame->result_vars = make_result_vars(lx, inst);
    frame->block = roc_ir_begin_block(&lx->b);
  }
  lx->frame = frame;
  lx->ncalls++;
  declare_params(lx, args);
  if (!roc_lower_is_done(lx, node)) roc_lower_block(lx, &inst->fn->ast->body);
  lx->frame = frame->caller;
  roc_lower_place(lx, node);
  if (is_plain) {
    if (roc_ir_is_dead(&lx->b)) default_results(lx, inst, results);
    return;
  }
  if (lx->stop) return;
  roc_ir_end(&lx->b, frame->block);
  for (uint32_t k = 0; k < inst->nresults; k++) {
    results[k] = roc_operand_of(inst->results[k], roc_ir_get(&lx->b, frame->result_vars[k]));
  }
}

static void inline_function(roc_lower *lx, const roc_ast_node *node, const roc_fe_instance *callee,
                            const roc_operand *args, roc_operand *results) {
  roc_frame frame = {.inst = callee, .caller = lx->frame, .loop = ROC_IR_NONE};
  frame.slots = ROC_ARENA_ARRAY(&lx->scratch, roc_slot, callee->fn->ast->nsymbols + 1);
  if (!frame.slots) {
    lx->stop = true;
    return;
  }
  lower_body(lx, &frame, node, args, results);
}

/* roc.int32(x): a constant float conversion is only a rounding, the rest is CONVERT's. */
static roc_operand lower_conversion(roc_lower *lx, const roc_ast_node *node, roc_dtype dtype,
                                    roc_operand arg) {
  roc_ty t = roc_ty_of_dtype(dtype);
  roc_value_type vt = roc_lower_vt(lx, t);
  bool is_number = arg.type.kind != ROC_TY_BOOL;
  bool is_rounding = is_number && (dtype == ROC_DT_FLOAT32 || dtype == ROC_DT_FLOAT64);
  bool is_same = roc_lower_vt(lx, arg.type) == vt &&
                 (dtype == ROC_DT_INT64 || dtype == ROC_DT_UINT64 || dtype == ROC_DT_BOOL);
  roc_lower_place(lx, node);
  if (is_rounding || is_same) return roc_operand_of(t, roc_lower_as(lx, arg, vt));
  return roc_operand_of(t, roc_ir_convert(&lx->b, dtype, roc_lower_id(lx, arg)));
}

/* Arguments as operands; strings, which the callee reads from the tree, as nothing. */
static roc_operand *lower_arguments(roc_lower *lx, const roc_ast_node *node, uint32_t *nargs) {
  roc_operand callee = roc_lower_expr(lx, node->a);
  (void)callee; /* static: makes no instruction */
  return roc_lower_list(lx, &node->list, nargs);
}

roc_operand *roc_lower_call(roc_lower *lx, const roc_ast_node *node, uint32_t *nresults) {
  const roc_fe_call *call = roc_lower_info(lx, node)->call;
  uint32_t nargs;
  const char *array_name = lx->array_name;
  lx->array_name = NULL;
  *nresults = call->nresults;
  roc_operand *args = lower_arguments(lx, node, &nargs);
  roc_operand *results = roc_lower_operands(lx, call->nresults);
  if (!args || !results || lx->stop) return NULL;
  roc_lower_place(lx, node);
  switch (call->kind) {
    case ROC_CALLEE_FUNCTION: inline_function(lx, node, call->instance, args, results); break;
    case ROC_CALLEE_DTYPE: results[0] = lower_conversion(lx, node, call->dtype, args[0]); break;
    default:
      lx->array_name = array_name;
      roc_lower_builtin(lx, node, call->builtin, args, nargs, results);
      lx->array_name = NULL;
  }
  return lx->stop ? NULL : results;
}
