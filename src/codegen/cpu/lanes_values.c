/* Values and variables of the lanes of a vector, and what a mask is made of.
 *
 * A value whose shape tells all lanes from the first (cpu/shape.c) is that of the first; an emitter
 * that works on all lanes has it spread. */
#include "codegen/cpu/lanes.h"

static const roc_ir_inst *inst_of(const cpu_state *s, uint32_t id) {
  return &s->cg->ir->insts.items[id];
}

static uint32_t arg_of(const cpu_state *s, uint32_t id, uint32_t n) {
  return roc_ir_arg(s->cg->ir, inst_of(s, id), n);
}

static int32_t stride_of(const cpu_state *s, uint32_t id) {
  return s->shapes->insts[id];
}

/* ---- masks ------------------------------------------------------------------------------- */

/* Where the processor has registers for masks, they are vectors of bits; elsewhere LLVM would make
 * them out of such vectors again and again, so they are vectors of integers, 0 or -1. */
LLVMValueRef cpu_lanes_mask_of(cpu_state *s, LLVMValueRef bits) {
  const cpu_lanes *l = s->lanes;
  return l->has_bits ? bits : LLVMBuildSExt(s->cg->b, bits, l->mask_type, "");
}

LLVMValueRef cpu_lanes_bits_of(cpu_state *s, LLVMValueRef mask) {
  const cpu_lanes *l = s->lanes;
  if (l->has_bits) return mask;
  return LLVMBuildICmp(s->cg->b, LLVMIntSLT, mask, LLVMConstNull(l->mask_type), "");
}

LLVMValueRef cpu_lanes_mask(cpu_state *s) {
  return cpu_lanes_bits_of(s, s->lanes->mask);
}

/* ---- memory of neighbours ------------------------------------------------------------------ */

LLVMValueRef cpu_lanes_put(cpu_state *s, LLVMValueRef value, LLVMValueRef ptr, LLVMValueRef bits) {
  LLVMTypeRef types[2] = {LLVMTypeOf(value), LLVMTypeOf(ptr)};
  LLVMValueRef args[3] = {value, ptr, bits};
  bool is_piece = LLVMGetTypeKind(types[1]) == LLVMPointerTypeKind;
  const char *name = is_piece ? "llvm.masked.store" : "llvm.masked.scatter";
  return roc_cg_intrinsic(s->cg, name, types, 2, args, 3);
}

LLVMValueRef cpu_lanes_take(cpu_state *s, LLVMValueRef ptr, LLVMTypeRef element) {
  LLVMTypeRef type = LLVMVectorType(element, s->lanes->count);
  LLVMValueRef load = LLVMBuildLoad2(s->cg->b, type, ptr, "");
  LLVMSetAlignment(load, 1);
  return load;
}

LLVMValueRef cpu_lanes_take_slot(cpu_state *s, const cpu_slot *slot, roc_value_type type,
                                 uint8_t width) {
  LLVMValueRef raw = cpu_lanes_take(s, cpu_slot_item(s, slot), slot->type);
  if (type != ROC_VT_BOOL) return roc_cg_width_extend(s->cg, raw, width);
  LLVMTypeRef bits = LLVMVectorType(LLVMInt1TypeInContext(s->cg->ctx), s->lanes->count);
  return LLVMBuildTrunc(s->cg->b, raw, bits, "");
}

void cpu_lanes_put_slot(cpu_state *s, const cpu_slot *slot, LLVMValueRef value, LLVMValueRef bits) {
  LLVMTypeRef type = LLVMVectorType(slot->type, s->lanes->count);
  if (LLVMTypeOf(value) != type) value = LLVMBuildIntCast2(s->cg->b, value, type, 0, "");
  cpu_lanes_put(s, value, cpu_slot_item(s, slot), bits);
}

/* ---- values ------------------------------------------------------------------------------ */

/* The numbers of the lanes from 0, times `stride`. */
LLVMValueRef cpu_lanes_steps(cpu_state *s, int64_t stride) {
  LLVMValueRef all[ROC_CG_MOST_LANES];
  LLVMTypeRef i64 = LLVMInt64TypeInContext(s->cg->ctx);
  for (unsigned i = 0; i < s->lanes->count; i++) {
    all[i] = LLVMConstInt(i64, (uint64_t)(stride * (int64_t)i), 1);
  }
  return LLVMConstVector(all, s->lanes->count);
}

LLVMValueRef cpu_lanes_spread(cpu_state *s, LLVMValueRef first, int32_t stride) {
  unsigned lanes = s->cg->lanes;
  roc_cg_set_lanes(s->cg, s->lanes->count);
  LLVMValueRef all = roc_cg_spread(s->cg, first);
  if (stride != 0) all = LLVMBuildAdd(s->cg->b, all, cpu_lanes_steps(s, stride), "");
  roc_cg_set_lanes(s->cg, lanes);
  return all;
}

/* Masks of integers are as wide as most of what is computed, and what is narrower would have to be
 * widened at each condition. */
static bool uses_32_bits(const cpu_state *s) {
  return s->lanes->has_bits || s->lanes->is_narrow;
}

uint8_t cpu_lanes_narrow(const cpu_state *s, uint32_t id) {
  return uses_32_bits(s) ? s->shapes->narrow[id] : 0;
}

static uint8_t narrow_of_var(const cpu_state *s, uint32_t var) {
  return uses_32_bits(s) ? s->shapes->narrow_vars[var] : 0;
}

static bool is_first_id(const roc_ir_inst *inst) {
  return (inst->op == ROC_IR_GLOBAL_ID || inst->op == ROC_IR_LOCAL_ID) && inst->aux == 0;
}

/* An instruction without effect: its value, or that of the first lane where that is enough. */
LLVMValueRef cpu_lanes_compute(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  if (stride_of(s, id) != CPU_VARYING) return roc_cg_expr(cg, id);
  if (is_first_id(inst)) return cpu_lanes_spread(s, roc_cg_expr(cg, id), 1);
  roc_cg_set_lanes(cg, s->lanes->count);
  cg->narrow = uses_32_bits(s) ? s->shapes->narrow : NULL;
  LLVMValueRef value;
  if (inst->op == ROC_IR_LANE_ID) {
    uint32_t width = cg->options->wave_size == 32 ? 32 : 64;
    value = LLVMBuildAdd(cg->b, roc_cg_spread(cg, s->run->lin), cpu_lanes_steps(s, 1), "");
    value = LLVMBuildAnd(cg->b, value, roc_cg_i64(cg, width - 1), "");
    value = LLVMBuildAdd(cg->b, value, roc_cg_i64(cg, 1), "");
  } else {
    value = roc_cg_expr(cg, id);
  }
  cg->narrow = NULL;
  roc_cg_set_lanes(cg, 1);
  return value;
}

/* What cpu/values.c computes again in each run. */
static LLVMValueRef recompute(cpu_state *s, uint32_t id) {
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->op != ROC_IR_GET) return cpu_lanes_compute(s, id);
  if (s->plan.is_group_var[inst->aux]) return cpu_value_read_once(s, id);
  if (!s->plan.is_counter[inst->aux]) {
    return cpu_lanes_value(s, arg_of(s, s->plan.set_once[inst->aux], 0));
  }
  uint32_t wide = s->plan.wide_for[inst->aux];
  LLVMValueRef cell = wide == ROC_IR_NONE ? roc_cg_var(s->cg, inst->aux) : s->advances[inst->aux];
  LLVMValueRef value = LLVMBuildLoad2(s->cg->b, s->cg->t.i64, cell, "");
  if (wide == ROC_IR_NONE) return value;
  LLVMValueRef first = cpu_lanes_value(s, arg_of(s, wide, 0));
  if (stride_of(s, arg_of(s, wide, 0)) == CPU_VARYING) value = cpu_lanes_spread(s, value, 0);
  return LLVMBuildAdd(s->cg->b, first, value, "");
}

LLVMValueRef cpu_lanes_value(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  if (s->epochs[id] == s->epoch) return cg->values[id];
  unsigned lanes = cg->lanes;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  LLVMPositionBuilderAtEnd(cg->b, LLVMGetInsertBlock(s->run->header_b));
  roc_cg_set_lanes(cg, 1);
  LLVMValueRef value;
  if (s->plan.is_remat[id]) {
    value = recompute(s, id);
  } else {
    roc_value_type type = (roc_value_type)inst_of(s, id)->type;
    value = cpu_lanes_take_slot(s, cpu_value_slot(s, id), type, roc_cg_width_of(cg, id));
  }
  roc_cg_set_lanes(cg, lanes);
  roc_cg_at(cg, here);
  cg->values[id] = value;
  s->epochs[id] = s->epoch;
  return value;
}

/* An operand as the emitter wants it: of the first lane, or of all. */
LLVMValueRef cpu_lanes_operand(cpu_state *s, uint32_t id) {
  LLVMValueRef value = cpu_lanes_value(s, id);
  bool is_vector = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
  if (s->cg->lanes == 1 || is_vector) return value;
  return cpu_lanes_spread(s, value, stride_of(s, id));
}

LLVMValueRef cpu_lanes_of_lane(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  LLVMValueRef value = cpu_lanes_value(s, id), lane = s->lanes->lane;
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind) {
    return LLVMBuildExtractElement(cg->b, value, lane, "");
  }
  int32_t stride = stride_of(s, id);
  if (stride == 0) return value;
  return LLVMBuildAdd(cg->b, value, LLVMBuildMul(cg->b, lane, roc_cg_i64(cg, stride), ""), "");
}

void cpu_lanes_define(cpu_state *s, uint32_t id, LLVMValueRef value) {
  s->cg->values[id] = value;
  s->epochs[id] = s->epoch;
  if (!s->plan.is_slotted[id]) return;
  cpu_lanes_put_slot(s, cpu_value_slot(s, id), cpu_lanes_all(s, id), cpu_lanes_mask(s));
}

LLVMValueRef cpu_lanes_all(cpu_state *s, uint32_t id) {
  roc_cg_set_lanes(s->cg, s->lanes->count);
  LLVMValueRef value = cpu_lanes_operand(s, id);
  roc_cg_set_lanes(s->cg, 1);
  return value;
}

/* ---- variables --------------------------------------------------------------------------- */

bool cpu_lanes_is_varying(const cpu_state *s, uint32_t var) {
  return s->shapes->vars[var] == CPU_VARYING;
}

static bool is_bool(const cpu_state *s, uint32_t var) {
  return s->cg->ir->vars.items[var].type == ROC_VT_BOOL;
}

static LLVMTypeRef cell_type(cpu_state *s, uint32_t var) {
  if (is_bool(s, var)) return s->lanes->mask_type;
  LLVMTypeRef type = roc_cg_value_type(s->cg, s->cg->ir->vars.items[var].type);
  if (narrow_of_var(s, var)) type = LLVMInt32TypeInContext(s->cg->ctx);
  return LLVMVectorType(type, s->lanes->count);
}

/* What a cell of the type holds of a value, and the value of what it holds. */
static LLVMValueRef held_of(cpu_state *s, uint32_t var, LLVMValueRef value) {
  if (is_bool(s, var)) return cpu_lanes_mask_of(s, value);
  if (!narrow_of_var(s, var)) return value;
  roc_cg_set_lanes(s->cg, s->lanes->count);
  LLVMValueRef low = roc_cg_take_low(s->cg, value);
  roc_cg_set_lanes(s->cg, 1);
  return low;
}

static LLVMValueRef value_of(cpu_state *s, uint32_t var, LLVMValueRef held) {
  if (is_bool(s, var)) return cpu_lanes_bits_of(s, held);
  uint8_t facts = narrow_of_var(s, var);
  if (!facts) return held;
  roc_cg_set_lanes(s->cg, s->lanes->count);
  LLVMValueRef value = roc_cg_extend_var(s->cg, held, facts);
  roc_cg_set_lanes(s->cg, 1);
  return value;
}

/* That of a varying variable.  What no lane has set is 0, so that it is the same at each use. */
LLVMValueRef cpu_lanes_var(cpu_state *s, uint32_t var) {
  cpu_lanes *l = s->lanes;
  LLVMTypeRef type = cell_type(s, var);
  if (!l->vars[var]) l->vars[var] = roc_cg_alloca(s->cg, type, s->cg->ir->vars.items[var].name);
  if (l->begun[var] != s->epoch) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(s->cg->b);
    LLVMPositionBuilderAtEnd(s->cg->b, LLVMGetInsertBlock(s->run->header_b));
    LLVMBuildStore(s->cg->b, LLVMConstNull(type), l->vars[var]);
    roc_cg_at(s->cg, here);
    l->begun[var] = s->epoch;
  }
  return l->vars[var];
}

LLVMValueRef cpu_lanes_get(cpu_state *s, uint32_t var) {
  roc_cg *cg = s->cg;
  if (!cpu_lanes_is_varying(s, var)) {
    return roc_cg_get_var(cg, var);
  }
  LLVMValueRef held = LLVMBuildLoad2(cg->b, cell_type(s, var), cpu_lanes_var(s, var), "");
  return value_of(s, var, held);
}

/* The lanes that get a new value. */
static LLVMValueRef taking_lanes(cpu_state *s, cpu_blend blend) {
  const cpu_lanes *l = s->lanes;
  return blend == CPU_BLEND_BRANCH && l->branch ? cpu_lanes_bits_of(s, l->branch)
                                                : cpu_lanes_mask(s);
}

void cpu_lanes_set(cpu_state *s, uint32_t var, LLVMValueRef value, cpu_blend blend) {
  roc_cg *cg = s->cg;
  LLVMValueRef cell = cpu_lanes_var(s, var);
  value = held_of(s, var, value);
  if (blend == CPU_BLEND_BRANCH && s->lanes->is_side_by_side) blend = CPU_BLEND_NONE;
  if (blend != CPU_BLEND_NONE) {
    LLVMValueRef old = LLVMBuildLoad2(cg->b, cell_type(s, var), cell, "");
    value = LLVMBuildSelect(cg->b, taking_lanes(s, blend), value, old, "");
  }
  LLVMBuildStore(cg->b, value, cell);
}

LLVMValueRef cpu_lanes_swap(cpu_state *s, uint32_t var, LLVMValueRef raw) {
  LLVMValueRef cell = cpu_lanes_var(s, var);
  LLVMValueRef old = LLVMBuildLoad2(s->cg->b, cell_type(s, var), cell, "");
  if (raw) LLVMBuildStore(s->cg->b, raw, cell);
  return old;
}
