/* The base of lowering: source positions, operands, checks.  A constant operand
 * stays a constant until an instruction needs it, in the type of that instruction. */
#include "frontend/lower/lower.h"

void roc_lower_place(roc_lower *lx, const roc_ast_node *node) {
  roc_ir_set_place(&lx->b, lx->frame->inst->fn->chunk->name, node->span.line, node->span.column);
}

roc_operand *roc_lower_operands(roc_lower *lx, uint32_t count) {
  roc_operand *ops = ROC_ARENA_ARRAY(&lx->scratch, roc_operand, count + 1);
  if (!ops) lx->stop = true;
  return ops;
}

bool roc_lower_is_done(roc_lower *lx, const roc_ast_node *node) {
  bool is_large = lx->b.module->insts.count > ROC_LOWER_MAX_INSTS ||
                  lx->ncalls > ROC_LOWER_MAX_CALLS || lx->depth > ROC_LOWER_MAX_DEPTH;
  if (!lx->stop && is_large) {
    const roc_fe_function *fn = lx->frame->inst->fn;
    roc_diag_report(lx->diags, fn->chunk, node->span, ROC_DIAG_INLINED_SIZE, fn->name);
    lx->stop = true;
  }
  return lx->stop || lx->b.failed;
}

roc_operand roc_operand_of(roc_ty type, uint32_t id) {
  return (roc_operand){.type = type, .id = id, .test = ROC_IR_NONE};
}

roc_operand roc_operand_int(int64_t value) {
  return (roc_operand){.type = roc_ty_of(ROC_TY_INT),
                       .is_const = true,
                       .value = {.type = ROC_VT_INT, .as.i = value},
                       .id = ROC_IR_NONE,
                       .test = ROC_IR_NONE};
}

roc_value_type roc_lower_vt(const roc_lower *lx, roc_ty t) {
  return roc_ty_value_type(t, lx->options);
}

static uint32_t make_constant(roc_lower *lx, roc_scalar v, roc_value_type vt) {
  bool is_int = v.type == ROC_VT_INT;
  switch (vt) {
    case ROC_VT_BOOL: return roc_ir_const_bool(&lx->b, v.as.b);
    case ROC_VT_INT: return roc_ir_const_int(&lx->b, v.as.i);
    case ROC_VT_F32:
      return roc_ir_const_f32(&lx->b, is_int ? (double)roc_f32_from_i64(v.as.i) : v.as.f);
    default: return roc_ir_const_f64(&lx->b, is_int ? (double)v.as.i : v.as.f);
  }
}

void roc_lower_pin(roc_lower *lx, roc_operand *op) {
  if (op->is_const && op->id == ROC_IR_NONE) op->id = roc_lower_id(lx, *op);
}

uint32_t roc_lower_as(roc_lower *lx, roc_operand op, roc_value_type vt) {
  bool is_pinned = op.id != ROC_IR_NONE && vt == roc_lower_vt(lx, op.type);
  if (op.is_const && !is_pinned) return make_constant(lx, op.value, vt);
  if (vt != ROC_VT_F32 && vt != ROC_VT_F64) return op.id;
  return roc_ir_to_float(&lx->b, vt, op.id);
}

uint32_t roc_lower_id(roc_lower *lx, roc_operand op) {
  return roc_lower_as(lx, op, roc_lower_vt(lx, op.type));
}

uint32_t roc_lower_truth(roc_lower *lx, roc_operand op) {
  if (op.type.maybe_false) return op.test;
  if (op.type.kind == ROC_TY_BOOL) return roc_lower_as(lx, op, ROC_VT_BOOL);
  return roc_ir_const_bool(&lx->b, true);
}

uint32_t roc_lower_zero(roc_lower *lx, roc_value_type vt) {
  return make_constant(lx, (roc_scalar){.type = vt == ROC_VT_BOOL ? ROC_VT_BOOL : ROC_VT_INT}, vt);
}

uint32_t roc_lower_float(roc_lower *lx, roc_value_type vt, double value) {
  return make_constant(lx, (roc_scalar){.type = ROC_VT_F64, .as.f = value}, vt);
}

uint32_t roc_lower_temp(roc_lower *lx, roc_value_type vt) {
  return roc_ir_add_var(&lx->b, "", vt);
}

uint32_t roc_lower_and_bits(roc_lower *lx, uint32_t x, uint32_t y) {
  return roc_ir_select(&lx->b, x, y, roc_ir_const_bool(&lx->b, false));
}

uint32_t roc_lower_site(roc_lower *lx, const roc_ast_node *node, roc_site_kind kind) {
  roc_site site = {.kind = (uint8_t)kind,
                   .file = lx->frame->inst->fn->chunk->name,
                   .line = node->span.line,
                   .column = node->span.column,
                   .nvalues = kind == ROC_SITE_NO_INTEGER};
  roc_lower_place(lx, node);
  return roc_ir_add_site(&lx->b, &site);
}

void roc_lower_check(roc_lower *lx, const roc_ast_node *node, uint32_t test, const char *text) {
  roc_site_piece piece = {.text = text};
  roc_site site = {.kind = ROC_SITE_ERROR,
                   .file = lx->frame->inst->fn->chunk->name,
                   .line = node->span.line,
                   .column = node->span.column,
                   .pieces = &piece,
                   .npieces = 1};
  roc_lower_place(lx, node);
  roc_ir_report(&lx->b, ROC_IR_CHECK, roc_ir_add_site(&lx->b, &site), &test, 1);
}
