/* Floats that are rounded to integers of which 32 bits tell enough, as in `k = math.floor(t); if
 * k >= 1 and k <= #x then … x[k]`: a value beyond them may stay at their end where it is compared
 * with what lies between; other uses want it as it is, unless what is known where they stand says
 * that it has 32 bits.  Variables, and the larger or smaller of it and a value of 32 bits, pass on
 * what is wanted of them. */
#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/facts_terms.h"

enum { WANTED = 1, WANTED_BY_USERS = 2 }; /* if what is made of it is */

static bool is_int(const roc_ir_check_walk *w, uint32_t id) {
  return w->m->insts.items[id].type == ROC_VT_INT;
}

static bool lies_between(const roc_ir_check_walk *w, uint32_t id, int64_t least, int64_t most) {
  roc_ir_range range = roc_ir_facts_range_now(&w->f, w->values[id]);
  return range.low >= least && range.low <= range.high && range.high <= most;
}

/* Whether what is wanted of the result is wanted of the operand `n`. */
static bool passes_on(const roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t n) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_SET: return true;
    case ROC_IR_SELECT: return n > 0;
    case ROC_IR_MIN:
    case ROC_IR_MAX: return lies_between(w, roc_ir_arg(w->m, inst, 1 - n), INT32_MIN, INT32_MAX);
    default: return false;
  }
}

static bool is_compared(const roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t n) {
  bool compares = inst->op == ROC_IR_LT || inst->op == ROC_IR_LE || inst->op == ROC_IR_EQ ||
                  inst->op == ROC_IR_NE;
  return compares && lies_between(w, roc_ir_arg(w->m, inst, 1 - n), INT32_MIN + 1, INT32_MAX - 1);
}

void roc_ir_note_uses(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(w->m, inst, n);
    bool suffices =
        !is_int(w, arg) || lies_between(w, arg, INT32_MIN, INT32_MAX) || is_compared(w, inst, n);
    if (suffices) continue;
    w->wanted[arg] |= passes_on(w, inst, n) ? WANTED_BY_USERS : WANTED;
  }
}

/* Of what passes on what is wanted of it. */
static bool want(roc_ir_check_walk *w, const roc_ir_inst *inst, bool is_wanted) {
  bool is_changed = false;
  for (uint32_t n = 0; is_wanted && n < inst->nargs; n++) {
    uint8_t *arg = &w->wanted[roc_ir_arg(w->m, inst, n)];
    bool is_new = *arg & WANTED_BY_USERS && !(*arg & WANTED);
    *arg |= is_new ? WANTED : 0;
    is_changed |= is_new;
  }
  return is_changed;
}

static bool want_of_operands(roc_ir_check_walk *w, uint32_t id, uint8_t *vars) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  bool is_wanted = w->wanted[id] & WANTED;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GET: {
      bool is_new = is_wanted && !vars[inst->aux];
      vars[inst->aux] |= is_new;
      return is_new;
    }
    case ROC_IR_SET: return want(w, inst, vars[inst->aux]);
    case ROC_IR_SELECT:
    case ROC_IR_MIN:
    case ROC_IR_MAX: return want(w, inst, is_wanted);
    default: return false;
  }
}

static bool rounds(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_FLOOR || inst->op == ROC_IR_CEIL;
}

static bool has_rounding(const roc_ir_module *m) {
  for (uint32_t id = 0; id < m->insts.count; id++) {
    if (rounds(&m->insts.items[id])) return true;
  }
  return false;
}

bool roc_ir_open_uses(roc_ir_check_walk *w) {
  if (!has_rounding(w->m)) return true;
  w->wanted = roc_zalloc(w->m->insts.count + 1);
  return w->wanted != NULL;
}

bool roc_ir_find_saturated(roc_ir_check_walk *w) {
  const uint8_t known = ROC_IR_NARROW | ROC_IR_INT32;
  if (!w->wanted) return true;
  uint8_t *vars = roc_zalloc(w->m->vars.count + 1);
  if (!vars) return false;
  for (bool is_changed = true; is_changed;) { /* users come after what they use, but in loops */
    is_changed = false;
    for (uint32_t id = w->m->insts.count; id-- > 0;) is_changed |= want_of_operands(w, id, vars);
  }
  for (uint32_t id = 0; id < w->m->insts.count; id++) {
    bool suffices = rounds(&w->m->insts.items[id]) && !(w->wanted[id] & WANTED);
    if (suffices && !(w->narrow[id] & known)) w->narrow[id] |= ROC_IR_SATURATES;
  }
  roc_free(vars);
  return true;
}
