/* Wave operations: operands are laid down per lane, then every lane takes what it needs.
 *
 * Each operation is two or three item loops over the wavefront.  Lanes that have ended take no
 * part; what would be read from a lane that does not exist is the own value. */
#include "codegen/cpu.h"

typedef struct wave_op {
  cpu_state *s;
  uint32_t id;
  const roc_ir_inst *inst;
  roc_ir_wave kind;
  uint32_t width;
} wave_op;

static LLVMValueRef operand(const wave_op *w, uint32_t n) {
  return cpu_operand(w->s->cg, roc_ir_arg(w->s->cg->ir, w->inst, n));
}

static roc_value_type operand_type(const wave_op *w, uint32_t n) {
  const roc_ir_module *ir = w->s->cg->ir;
  return (roc_value_type)ir->insts.items[roc_ir_arg(ir, w->inst, n)].type;
}

static LLVMTypeRef storage_of(const wave_op *w, roc_value_type type) {
  return type == ROC_VT_BOOL ? w->s->cg->t.i8 : roc_cg_value_type(w->s->cg, type);
}

/* The lane of the item, from 0. */
static LLVMValueRef own_lane(const wave_op *w) {
  return LLVMBuildSub(w->s->cg->b, w->s->run->lin, w->s->level->base, "");
}

static LLVMValueRef lane_cell(const wave_op *w, LLVMValueRef lane) {
  roc_cg *cg = w->s->cg;
  LLVMValueRef lin = LLVMBuildAdd(cg->b, w->s->level->base, lane, "");
  return LLVMBuildInBoundsGEP2(cg->b, cg->t.i64, w->s->wave.base, &lin, 1, "");
}

static void put(const wave_op *w, LLVMValueRef cell, roc_value_type type, LLVMValueRef value) {
  roc_cg *cg = w->s->cg;
  if (type == ROC_VT_BOOL) value = LLVMBuildZExt(cg->b, value, cg->t.i8, "");
  roc_cg_store(cg, value, cell);
}

static LLVMValueRef take(const wave_op *w, LLVMValueRef cell, roc_value_type type) {
  roc_cg *cg = w->s->cg;
  LLVMValueRef raw = roc_cg_load(cg, storage_of(w, type), cell);
  return type == ROC_VT_BOOL ? LLVMBuildTrunc(cg->b, raw, cg->t.i1, "") : raw;
}

static void begin(const wave_op *w, cpu_run *run, bool is_parallel) {
  cpu_items_begin(w->s, run, is_parallel);
}

/* ---- one result for all lanes ------------------------------------------------------------ */

/* What the lane adds to the sum so far; `is_first` when it is the first live one. */
static LLVMValueRef fold(const wave_op *w, LLVMValueRef sum, LLVMValueRef value,
                         LLVMValueRef is_first) {
  roc_cg *cg = w->s->cg;
  roc_value_type type = operand_type(w, 0);
  bool is_float = type == ROC_VT_F32 || type == ROC_VT_F64;
  LLVMValueRef least = w->kind == ROC_IR_WAVE_MIN ? value : sum;
  LLVMValueRef most = w->kind == ROC_IR_WAVE_MIN ? sum : value;
  LLVMValueRef next;
  switch (w->kind) {
    case ROC_IR_WAVE_ANY: return LLVMBuildOr(cg->b, sum, value, "");
    case ROC_IR_WAVE_ALL: return LLVMBuildAnd(cg->b, sum, value, "");
    case ROC_IR_WAVE_BALLOT: {
      LLVMValueRef bit = LLVMBuildZExt(cg->b, value, cg->t.i64, "");
      return LLVMBuildOr(cg->b, sum, LLVMBuildShl(cg->b, bit, own_lane(w), ""), "");
    }
    case ROC_IR_WAVE_SUM:
      next = is_float ? LLVMBuildFAdd(cg->b, sum, value, "") : LLVMBuildAdd(cg->b, sum, value, "");
      break;
    default: { /* MIN, MAX: as ir_ops.def defines them, in lane order */
      LLVMValueRef takes = is_float ? LLVMBuildFCmp(cg->b, LLVMRealOLT, least, most, "")
                                    : LLVMBuildICmp(cg->b, LLVMIntSLT, least, most, "");
      next = LLVMBuildSelect(cg->b, takes, value, sum, "");
    }
  }
  return LLVMBuildSelect(cg->b, is_first, value, next, "");
}

static void emit_fold(const wave_op *w) {
  roc_cg *cg = w->s->cg;
  LLVMTypeRef type = roc_cg_value_type(cg, (roc_value_type)w->inst->type);
  LLVMValueRef sum = roc_cg_alloca(cg, type, ""), first = roc_cg_alloca(cg, cg->t.i1, "");
  LLVMValueRef start = w->kind == ROC_IR_WAVE_ALL ? LLVMConstAllOnes(type) : LLVMConstNull(type);
  LLVMBuildStore(cg->b, start, sum);
  LLVMBuildStore(cg->b, LLVMConstInt(cg->t.i1, 1, 0), first);
  cpu_run run;
  begin(w, &run, true);
  LLVMValueRef so_far = LLVMBuildLoad2(cg->b, type, sum, "");
  LLVMValueRef is_first = LLVMBuildLoad2(cg->b, cg->t.i1, first, "");
  LLVMBuildStore(cg->b, fold(w, so_far, operand(w, 0), is_first), sum);
  LLVMBuildStore(cg->b, LLVMConstInt(cg->t.i1, 0, 0), first);
  cpu_items_end(w->s);
  LLVMValueRef result = LLVMBuildLoad2(cg->b, type, sum, "");
  begin(w, &run, true);
  cpu_define(cg, w->id, result);
  cpu_items_end(w->s);
}

/* ---- lanes that read each other ---------------------------------------------------------- */

static void lay_down(const wave_op *w, uint32_t n) {
  cpu_run run;
  begin(w, &run, true);
  put(w, lane_cell(w, own_lane(w)), operand_type(w, n), operand(w, n));
  cpu_items_end(w->s);
}

/* (lane - 1) modulo the width. */
static LLVMValueRef wrapped_lane(const wave_op *w, uint32_t n) {
  roc_cg *cg = w->s->cg;
  LLVMValueRef from_0 = LLVMBuildSub(cg->b, operand(w, n), roc_cg_i64(cg, 1), "");
  return LLVMBuildAnd(cg->b, from_0, roc_cg_i64(cg, w->width - 1), "");
}

/* The lane, from 0, that the item reads; anything at all when it is out of the wavefront. */
static LLVMValueRef source_lane(const wave_op *w) {
  roc_cg *cg = w->s->cg;
  switch (w->kind) {
    case ROC_IR_WAVE_SHUFFLE_UP: return LLVMBuildSub(cg->b, own_lane(w), operand(w, 1), "");
    case ROC_IR_WAVE_SHUFFLE_DOWN: return LLVMBuildAdd(cg->b, own_lane(w), operand(w, 1), "");
    case ROC_IR_WAVE_SHUFFLE_XOR: return LLVMBuildXor(cg->b, own_lane(w), operand(w, 1), "");
    case ROC_IR_WAVE_BPERMUTE: return wrapped_lane(w, 0);
    default: return LLVMBuildSub(cg->b, operand(w, 1), roc_cg_i64(cg, 1), "");
  }
}

static void emit_read(const wave_op *w) {
  roc_cg *cg = w->s->cg;
  uint32_t n = w->kind == ROC_IR_WAVE_BPERMUTE ? 1 : 0;
  roc_value_type type = operand_type(w, n);
  lay_down(w, n);
  cpu_run run;
  begin(w, &run, true);
  LLVMValueRef source = source_lane(w);
  LLVMValueRef lanes = LLVMBuildSub(cg->b, w->s->level->limit, w->s->level->base, "");
  LLVMValueRef exists = LLVMBuildICmp(cg->b, LLVMIntULT, source, lanes, "");
  source = LLVMBuildSelect(cg->b, exists, source, own_lane(w), "");
  LLVMValueRef value = take(w, lane_cell(w, source), type);
  if (w->kind == ROC_IR_WAVE_ACTIVE_PERMUTE) {
    value = LLVMBuildSelect(cg->b, operand(w, 3), operand(w, 2), value, "");
  }
  cpu_define(cg, w->id, value);
  cpu_items_end(w->s);
}

/* Lanes go in order, so the highest one that writes to a place wins. */
static void emit_push(const wave_op *w) {
  roc_cg *cg = w->s->cg;
  roc_value_type type = operand_type(w, 1);
  cpu_run run;
  begin(w, &run, true);
  put(w, lane_cell(w, own_lane(w)), type, LLVMConstNull(roc_cg_value_type(cg, type)));
  cpu_items_end(w->s);
  begin(w, &run, false);
  LLVMValueRef to = wrapped_lane(w, 0);
  LLVMValueRef lanes = LLVMBuildSub(cg->b, w->s->level->limit, w->s->level->base, "");
  LLVMBasicBlockRef push = roc_cg_block(cg, "push");
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntULT, to, lanes, ""), push, run.latch);
  roc_cg_at(cg, push);
  put(w, lane_cell(w, to), type, operand(w, 1));
  cpu_items_end(w->s);
  begin(w, &run, true);
  cpu_define(cg, w->id, take(w, lane_cell(w, own_lane(w)), type));
  cpu_items_end(w->s);
}

void cpu_emit_wave(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  wave_op w = {.s = s, .id = id, .inst = inst, .kind = (roc_ir_wave)inst->k.i};
  w.width = cg->options->wave_size == 32 ? 32 : 64;
  if (!s->wave.base) s->wave = cpu_slot_new(s, cg->t.i64, 1);
  switch (w.kind) {
    case ROC_IR_WAVE_BALLOT:
    case ROC_IR_WAVE_ANY:
    case ROC_IR_WAVE_ALL:
    case ROC_IR_WAVE_SUM:
    case ROC_IR_WAVE_MIN:
    case ROC_IR_WAVE_MAX: emit_fold(&w); break;
    case ROC_IR_WAVE_PERMUTE: emit_push(&w); break;
    default: emit_read(&w); break;
  }
}
