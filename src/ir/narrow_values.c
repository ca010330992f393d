/* How many bits values take, by their ranges. */
#include "ir/check_walk.h"
#include "ir/walk.h"

static bool lies_between(roc_ir_check_walk *w, uint32_t value, int64_t least, int64_t most) {
  roc_ir_range range = roc_ir_facts_range(&w->f, value);
  return range.low >= least && range.low <= range.high && range.high <= most;
}

static bool lies_in(roc_ir_check_walk *w, uint32_t value, int64_t most) {
  return lies_between(w, value, 0, most);
}

/* Result and operands, as far as they are integers. */
static bool all_lie_between(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t value,
                            int64_t least, int64_t most) {
  for (uint32_t n = 0; n < inst->nargs; n++) {
    bool takes_int = w->m->insts.items[roc_ir_arg(w->m, inst, n)].type == ROC_VT_INT;
    if (takes_int && !lies_between(w, roc_ir_check_walk_operand(w, inst, n), least, most)) {
      return false;
    }
  }
  return inst->type != ROC_VT_INT || lies_between(w, value, least, most);
}

/* Of what looks at an index, which may be anything that 32 bits tell from what is in range: from 0,
 * -2^31 becomes the largest of 31 bits. */
static uint8_t narrow_of_index(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t value) {
  if (inst->op == ROC_IR_WORST_INDEX) return lies_in(w, value, UINT32_MAX) ? ROC_IR_NARROW : 0;
  roc_ir_range index = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, inst, 0));
  bool is_worst = inst->op == ROC_IR_WORST_FITS;
  if (is_worst && (index.low < 0 || index.high > UINT32_MAX)) return 0;
  if (is_worst) index = (roc_ir_range){0, INT32_MAX};
  const roc_ir_array *array = &w->m->arrays.items[inst->aux];
  bool fits = roc_ir_facts_is_index_of_32_bits(&w->f, array, (uint32_t)inst->k.i, index);
  return fits ? ROC_IR_NARROW | ROC_IR_NARROW_SIGNED : 0;
}

/* On a CPU, lanes have shifts of one width. */
static uint8_t counts_of(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  bool shifts = inst->op == ROC_IR_SHL || inst->op == ROC_IR_SHR;
  if (!shifts || w->f.limits != &roc_ir_limits_gpu) return 0;
  uint32_t count = roc_ir_check_walk_operand(w, inst, 1);
  if (lies_in(w, count, 31)) return ROC_IR_FEW;
  if (lies_in(w, count, 63)) return ROC_IR_COUNTS | ROC_IR_FEW;
  return lies_in(w, count, INT64_MAX) ? ROC_IR_COUNTS : 0;
}

static uint8_t by_wide(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  bool divides = inst->op == ROC_IR_FLOORDIV || inst->op == ROC_IR_MOD;
  if (!divides || inst->type != ROC_VT_INT || w->f.limits != &roc_ir_limits_gpu) return 0;
  return lies_in(w, roc_ir_check_walk_operand(w, inst, 0), UINT32_MAX) &&
                 lies_in(w, roc_ir_check_walk_operand(w, inst, 1), INT64_MAX)
             ? ROC_IR_BY_WIDE
             : 0;
}

uint8_t roc_ir_narrow_of(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t value) {
  bool is_index = inst->op == ROC_IR_CLAMP_INDEX || inst->op == ROC_IR_WORST_INDEX ||
                  inst->op == ROC_IR_INDEX_FITS || inst->op == ROC_IR_CHECK_INDEX ||
                  inst->op == ROC_IR_WORST_FITS;
  if (is_index) return narrow_of_index(w, inst, value);
  uint8_t counts = counts_of(w, inst) | by_wide(w, inst);
  bool is_narrow = all_lie_between(w, inst, value, 0, UINT32_MAX);
  if (inst->op == ROC_IR_BAND && lies_in(w, value, UINT32_MAX)) {
    is_narrow = is_narrow || lies_in(w, roc_ir_check_walk_operand(w, inst, 0), UINT32_MAX) ||
                lies_in(w, roc_ir_check_walk_operand(w, inst, 1), UINT32_MAX);
  }
  if (!is_narrow) {
    return all_lie_between(w, inst, value, INT32_MIN, INT32_MAX) ? counts | ROC_IR_INT32 : counts;
  }
  bool is_signed = inst->type == ROC_VT_INT && lies_in(w, value, INT32_MAX);
  return counts | (is_signed ? ROC_IR_NARROW | ROC_IR_NARROW_SIGNED : ROC_IR_NARROW);
}

uint8_t roc_ir_narrow_of_var(roc_ir_range held) {
  if (held.low > held.high) return 0;
  if (held.low >= 0 && held.high <= INT32_MAX) return ROC_IR_NARROW | ROC_IR_NARROW_SIGNED;
  if (held.low >= 0 && held.high <= UINT32_MAX) return ROC_IR_NARROW;
  return held.low >= INT32_MIN && held.high <= INT32_MAX ? ROC_IR_NARROW_SIGNED : 0;
}

/* Whether the loop ends with its last round alone. */
static ROC_IR_WALKS bool runs_to_its_end(const roc_ir_module *m, const roc_ir_inst *loop) {
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, m, loop->k.region[0]) {
    bool leaves = walk.inst->op == ROC_IR_LEAVE && !roc_ir_walk_is_inside(&walk, walk.inst->aux);
    bool goes_on = walk.inst->op == ROC_IR_NEXT || walk.inst->op == ROC_IR_LEAVE;
    bool ends = !goes_on && !roc_ir_has_regions(walk.inst) && roc_ir_ends_region(walk.inst);
    if (leaves || ends) return false;
  }
  return true;
}

/* Whether the instruction loads from a narrow array at the index that the loop's counter is. */
static bool loads_at_counter(const roc_ir_module *m, const roc_ir_inst *inst,
                             const roc_ir_inst *loop) {
  if (inst->op != ROC_IR_LOAD) return false;
  const roc_ir_array *array = &m->arrays.items[inst->aux];
  if (array->kind != ROC_IR_ARRAY_PARAM || !m->params.items[array->param].type.is_narrow) {
    return false;
  }
  for (uint32_t d = 0; d < inst->nargs; d++) {
    const roc_ir_inst *index = &m->insts.items[roc_ir_arg(m, inst, d)];
    if (index->op == ROC_IR_GET && index->aux == loop->aux) return true;
  }
  return false;
}

/* Whether each round loads so.  An index out of range is undefined in an unchecked kernel: if there is
 * a round, the bounds are as narrow as the array's extent. */
static bool counts_indices(const roc_ir_check_walk *w, const roc_ir_inst *loop) {
  const roc_ir_ids *body = &w->m->regions.items[loop->k.region[0]];
  for (uint32_t i = 0; i < body->count && !w->m->check; i++) {
    const roc_ir_inst *inst = &w->m->insts.items[body->items[i]];
    if (loads_at_counter(w->m, inst, loop)) return runs_to_its_end(w->m, loop);
    if (roc_ir_op_table[inst->op].flags & ~(ROC_IRF_PURE | ROC_IRF_READ | ROC_IRF_WRITE)) break;
  }
  return false;
}

/* By a constant, up or down, between bounds of 32 bits with a sign: by 1 or -1, what comes after the
 * last may wrap; by others it has to fit. */
static uint8_t signed_of_for(roc_ir_check_walk *w, const roc_ir_inst *inst, roc_ir_range step) {
  const roc_ir_inst *by = &w->m->insts.items[roc_ir_arg(w->m, inst, 2)];
  if (by->op != ROC_IR_CONST || step.low > INT32_MAX) return 0;
  bool is_up = step.low > 0;
  roc_ir_range low = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, inst, is_up ? 0 : 1));
  roc_ir_range high = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, inst, is_up ? 1 : 0));
  bool is_by_one = step.low == 1 || step.low == -1;
  if (is_by_one && counts_indices(w, inst)) return ROC_IR_LOW;
  if (low.low < INT32_MIN || high.high > INT32_MAX) return 0;
  if (is_by_one) return ROC_IR_LOW;
  bool fits = is_up ? high.high + step.low <= INT32_MAX : low.low + step.low >= INT32_MIN;
  return fits ? ROC_IR_INT32 : 0;
}

/* Whether 32 bits count the loop. */
uint8_t roc_ir_narrow_of_for(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  roc_ir_range step = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, inst, 2));
  bool is_up = step.low > 0 && step.high <= UINT32_MAX;
  bool is_down = step.high < 0 && step.low >= -INT32_MAX;
  int64_t most = is_up ? UINT32_MAX : INT32_MAX;
  if (!is_up && !is_down) return 0;
  uint32_t first = roc_ir_check_walk_operand(w, inst, 0);
  uint32_t last = roc_ir_check_walk_operand(w, inst, 1);
  if (!lies_in(w, first, most)) return signed_of_for(w, inst, step);
  uint8_t set = ROC_IR_NARROW;
  if (!lies_in(w, last, INT32_MAX)) {
    bool is_signed =
        is_up && lies_in(w, first, INT32_MAX) && lies_between(w, last, INT32_MIN, INT32_MAX);
    if (!is_signed) return signed_of_for(w, inst, step);
    set |= ROC_IR_INT32;
  }
  if (is_down) return set | ROC_IR_NARROW_SIGNED;
  return step.high > INT32_MAX ? set | ROC_IR_WRAPS : set;
}
