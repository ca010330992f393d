/* Wave operations: operands are laid down per lane, then every lane takes what it needs.
 *
 * Each operation is two or three item loops over the wavefront.  Lanes that have ended take no
 * part; what would be read from a lane that does not exist is the own value. */

#include "codegen/core/wave_reduce.h"
#include "codegen/cpu/cpu.h"

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

/* What the lane adds to the sum so far. */
static LLVMValueRef fold(const wave_op *w, LLVMValueRef sum, LLVMValueRef value) {
  roc_cg *cg = w->s->cg;
  switch (w->kind) {
    case ROC_IR_WAVE_ANY: return LLVMBuildOr(cg->b, sum, value, "");
    case ROC_IR_WAVE_ALL: return LLVMBuildAnd(cg->b, sum, value, "");
    default: { /* BALLOT */
      LLVMValueRef bit = LLVMBuildZExt(cg->b, value, cg->t.i64, "");
      return LLVMBuildOr(cg->b, sum, LLVMBuildShl(cg->b, bit, own_lane(w), ""), "");
    }
  }
}

static void define_for_all(const wave_op *w, LLVMValueRef result) {
  cpu_run run;
  begin(w, &run, true);
  cpu_define(w->s->cg, w->id, result);
  cpu_items_end(w->s);
}

static void emit_fold(const wave_op *w) {
  roc_cg *cg = w->s->cg;
  LLVMTypeRef type = roc_cg_value_type(cg, (roc_value_type)w->inst->type);
  LLVMValueRef sum = roc_cg_alloca(cg, type, "");
  LLVMValueRef start = w->kind == ROC_IR_WAVE_ALL ? LLVMConstAllOnes(type) : LLVMConstNull(type);
  LLVMBuildStore(cg->b, start, sum);
  cpu_run run;
  begin(w, &run, true);
  LLVMValueRef so_far = LLVMBuildLoad2(cg->b, type, sum, "");
  LLVMBuildStore(cg->b, fold(w, so_far, operand(w, 0)), sum);
  cpu_items_end(w->s);
  define_for_all(w, LLVMBuildLoad2(cg->b, type, sum, ""));
}

/* ---- reductions: a tree over neighbours, then neighbouring pairs, … (ir.h) ---------- */

/* Every second element, from `first` on. */
static LLVMValueRef every_second(const wave_op *w, LLVMValueRef values, uint32_t count,
                                 uint32_t first) {
  roc_cg *cg = w->s->cg;
  LLVMValueRef mask[64];
  for (uint32_t i = 0; i < count / 2; i++) mask[i] = roc_cg_i32(cg, 2 * i + first);
  return LLVMBuildShuffleVector(cg->b, values, values, LLVMConstVector(mask, count / 2), "");
}

static void emit_reduction(const wave_op *w) {
  roc_cg *cg = w->s->cg;
  LLVMTypeRef type = roc_cg_value_type(cg, (roc_value_type)w->inst->type);
  LLVMTypeRef lanes_type = LLVMVectorType(type, w->width);
  LLVMValueRef lanes = roc_cg_alloca(cg, lanes_type, ""), all[64];
  for (uint32_t i = 0; i < w->width; i++) all[i] = roc_cg_wave_neutral(w->kind, type);
  LLVMBuildStore(cg->b, LLVMConstVector(all, w->width), lanes);
  cpu_run run;
  begin(w, &run, true);
  LLVMValueRef lane = own_lane(w);
  LLVMBuildStore(cg->b, operand(w, 0), LLVMBuildInBoundsGEP2(cg->b, type, lanes, &lane, 1, ""));
  cpu_items_end(w->s);
  LLVMValueRef values = LLVMBuildLoad2(cg->b, lanes_type, lanes, "");
  for (uint32_t count = w->width; count > 1; count /= 2) {
    values = roc_cg_wave_combine(w->s->cg, w->kind, every_second(w, values, count, 0),
                                 every_second(w, values, count, 1));
  }
  define_for_all(w, LLVMBuildExtractElement(cg->b, values, roc_cg_i32(cg, 0), ""));
}

/* ---- lanes that read each other ---------------------------------------------------------- */

/* Lays the operand down in the lanes' cells.  Which lanes did, as a ballot: a group may lack items,
 * and some may have ended. */
static LLVMValueRef lay_down(const wave_op *w, uint32_t n) {
  roc_cg *cg = w->s->cg;
  LLVMValueRef present = roc_cg_alloca(cg, cg->t.i64, "");
  LLVMBuildStore(cg->b, roc_cg_i64(cg, 0), present);
  cpu_run run;
  begin(w, &run, true);
  put(w, lane_cell(w, own_lane(w)), operand_type(w, n), operand(w, n));
  LLVMValueRef bit = LLVMBuildShl(cg->b, roc_cg_i64(cg, 1), own_lane(w), "");
  LLVMValueRef so_far = LLVMBuildLoad2(cg->b, cg->t.i64, present, "");
  LLVMBuildStore(cg->b, LLVMBuildOr(cg->b, so_far, bit, ""), present);
  cpu_items_end(w->s);
  return LLVMBuildLoad2(cg->b, cg->t.i64, present, "");
}

/* Whether the lane, which may be any number, is one of them. */
static LLVMValueRef is_present(const wave_op *w, LLVMValueRef present, LLVMValueRef lane) {
  roc_cg *cg = w->s->cg;
  LLVMValueRef is_lane = LLVMBuildICmp(cg->b, LLVMIntULT, lane, roc_cg_i64(cg, w->width), "");
  LLVMValueRef at = LLVMBuildAnd(cg->b, lane, roc_cg_i64(cg, 63), "");
  LLVMValueRef bit = LLVMBuildTrunc(cg->b, LLVMBuildLShr(cg->b, present, at, ""), cg->t.i1, "");
  return LLVMBuildAnd(cg->b, is_lane, bit, "");
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
  LLVMValueRef present = lay_down(w, n);
  cpu_run run;
  begin(w, &run, true);
  LLVMValueRef source = source_lane(w);
  source = LLVMBuildSelect(cg->b, is_present(w, present, source), source, own_lane(w), "");
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
    case ROC_IR_WAVE_ALL: emit_fold(&w); break;
    case ROC_IR_WAVE_SUM:
    case ROC_IR_WAVE_MIN:
    case ROC_IR_WAVE_MAX: emit_reduction(&w); break;
    case ROC_IR_WAVE_PERMUTE: emit_push(&w); break;
    default: emit_read(&w); break;
  }
}
