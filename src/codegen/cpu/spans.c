/* Checks of a loop's counter, decided before the loop.
 *
 * Of `for j = first[i], first[i + 1] - 1 do sum = sum + v[j] * x[column[j]] end` nothing is known
 * before the workgroup begins.  But the item knows the span of the counter when it comes to the
 * loop: where that lies within the arrays, it runs the loop without the checks of `v[j]` and
 * `column[j]`, and otherwise the loop as it is. */
#include "codegen/cpu/cpu.h"
#include "ir/walk.h"

enum {
  MAX_EXTENTS = 8,
  MAX_ADDEND = 1 << 20, /* `v[j + 1]` */
  MAX_INSTS = 200       /* a larger loop is not emitted twice */
};

/* An extent that indices counter + k are compared with, and the largest k. */
typedef struct bound {
  uint32_t array, dim;
  int64_t most;
} bound;

typedef struct loop_span {
  uint32_t loop;
  bound bounds[MAX_EXTENTS];
  unsigned nbounds;
  int64_t least; /* k of all indices */
} loop_span;

static const roc_ir_inst *inst_of(const cpu_state *s, uint32_t id) {
  return &s->cg->ir->insts.items[id];
}

/* Whether value `id` is the loop's counter and a constant. */
static bool is_from_counter(const cpu_state *s, uint32_t loop, uint32_t id, int64_t *out_k) {
  const roc_ir_inst *inst = inst_of(s, id);
  *out_k = 0;
  if (inst->op == ROC_IR_ADD || inst->op == ROC_IR_SUB) {
    const roc_ir_inst *k = inst_of(s, roc_ir_arg(s->cg->ir, inst, 1));
    bool is_small = k->op == ROC_IR_CONST && k->k.i > -MAX_ADDEND && k->k.i < MAX_ADDEND;
    if (!is_small) return false;
    *out_k = inst->op == ROC_IR_ADD ? k->k.i : -k->k.i;
    inst = inst_of(s, roc_ir_arg(s->cg->ir, inst, 0));
  }
  return inst->op == ROC_IR_GET && s->plan.for_of[inst->aux] == loop;
}

/* Adds a check; false: it stays where it is. */
static bool add_check(const cpu_state *s, loop_span *span, uint32_t id) {
  const roc_ir_inst *inst = inst_of(s, id);
  int64_t k;
  if (inst->op != ROC_IR_CHECK_INDEX || cpu_is_settled(s, id)) return false;
  if (!is_from_counter(s, span->loop, roc_ir_arg(s->cg->ir, inst, 0), &k)) return false;
  unsigned n = 0;
  for (; n < span->nbounds; n++) {
    if (span->bounds[n].array == inst->aux && span->bounds[n].dim == (uint32_t)inst->k.i) break;
  }
  if (n == MAX_EXTENTS) return false;
  if (n == span->nbounds) {
    span->bounds[span->nbounds++] = (bound){inst->aux, (uint32_t)inst->k.i, k};
    if (n == 0) span->least = k;
  }
  if (k > span->bounds[n].most) span->bounds[n].most = k;
  if (k < span->least) span->least = k;
  return true;
}

/* Finds the checks and promises them; false when there are none. */
static ROC_IR_WALKS bool promise_checks(cpu_state *s, loop_span *span) {
  const roc_ir_inst *loop = inst_of(s, span->loop);
  unsigned count = 0;
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, s->cg->ir, loop->k.region[0]) {
    bool is_loop = w.inst->op == ROC_IR_FOR || w.inst->op == ROC_IR_LOOP;
    if (is_loop || ++count > MAX_INSTS) return false;
  }
  ROC_IR_FOR_EACH(w, s->cg->ir, loop->k.region[0]) {
    s->is_promised[w.id] = add_check(s, span, w.id);
  }
  return span->nbounds > 0;
}

static ROC_IR_WALKS void take_back(cpu_state *s, uint32_t id) {
  roc_ir_walk w;
  ROC_IR_FOR_EACH(w, s->cg->ir, inst_of(s, id)->k.region[0]) s->is_promised[w.id] = false;
}

static LLVMValueRef lies_within(cpu_state *s, const loop_span *span) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *loop = inst_of(s, span->loop);
  LLVMValueRef low = roc_cg_operand(cg, loop, 0), high = roc_cg_operand(cg, loop, 1);
  if (inst_of(s, roc_ir_arg(cg->ir, loop, 2))->k.i < 0) {
    LLVMValueRef first = low;
    low = high;
    high = first;
  }
  LLVMValueRef fits = LLVMBuildICmp(cg->b, LLVMIntSGE, low, roc_cg_i64(cg, 1 - span->least), "");
  for (unsigned n = 0; n < span->nbounds; n++) {
    const bound *b = &span->bounds[n];
    LLVMValueRef most =
        LLVMBuildNSWSub(cg->b, roc_cg_extent(cg, b->array, b->dim), roc_cg_i64(cg, b->most), "");
    fits = LLVMBuildAnd(cg->b, fits, LLVMBuildICmp(cg->b, LLVMIntSLE, high, most, ""), "");
  }
  return fits;
}

bool cpu_emit_spanned_loop(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->op != ROC_IR_FOR || !cg->ir->check || s->is_cold || s->is_inspecting) return false;
  bool is_known = inst_of(s, roc_ir_arg(cg->ir, inst, 2))->op == ROC_IR_CONST;
  loop_span span = {.loop = id};
  if (!is_known || s->spanned == id || cg->options->opt_level == 0) return false;
  if (!promise_checks(s, &span)) return false;
  LLVMBasicBlockRef within = roc_cg_block(cg, "within"), beyond = roc_cg_block(cg, "beyond");
  LLVMBasicBlockRef join = roc_cg_block(cg, "join");
  roc_cg_branch_likely(cg, lies_within(s, &span), within, beyond);
  s->spanned = id;
  roc_cg_at(cg, within);
  roc_cg_inst(cg, id);
  roc_cg_goto(cg, join);
  take_back(s, id);
  roc_cg_at(cg, beyond);
  roc_cg_inst(cg, id);
  roc_cg_goto(cg, join);
  s->spanned = ROC_IR_NONE;
  roc_cg_at(cg, join);
  return true;
}
