/* Floats that are rounded to integers of which 32 bits tell enough, as in `k = math.floor(t) + 1; if
 * k >= 1 and k <= #x then … x[k]`.  A value outside of 32 bits may be replaced by their least or
 * largest integer, or one near it, where it is only compared with integers inside.  Other uses need
 * the value itself, unless the facts at their place say that it is inside.  What uses need of a
 * variable, of a minimum or maximum with an integer inside, and of a sum with an integer that is not
 * negative, they need of the rounded float, too; the sum must not wrap in 64 bits: neighbouring
 * floats near 2^63 are further apart than what is added. */
#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/facts_terms.h"

enum {
  WANTED = 1,
  WANTED_BY_USERS = 2, /* if what is made of it is */
  SUM = 4 /* what can be added at the end of 32 bits as well to a float that is rounded */
};

/* What 32 bits hold, but for what the sum of their least integer and of MOST_ADDED comes to. */
enum { MOST_ADDED = 1 << 30, LEAST = INT32_MIN + MOST_ADDED, MOST = INT32_MAX };

static bool is_int(const roc_ir_check_walk *w, uint32_t id) {
  return w->m->insts.items[id].type == ROC_VT_INT;
}

static bool lies_between(const roc_ir_check_walk *w, uint32_t id, int64_t least, int64_t most) {
  roc_ir_range range = roc_ir_facts_range_now(&w->f, w->values[id]);
  return range.low >= least && range.low <= range.high && range.high <= most;
}

static bool rounds(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_FLOOR || inst->op == ROC_IR_CEIL;
}

/* Whether operand `n` of a sum is a float that was rounded, to which the other one can be added at the
 * end of 32 bits as well.  An unchecked kernel rounds to the largest integer, too. */
static bool is_added_to(const roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t n) {
  const roc_ir_inst *rounded = &w->m->insts.items[roc_ir_arg(w->m, inst, n)];
  if (inst->op != ROC_IR_ADD || !w->m->check || !rounds(rounded)) return false;
  bool is_f32 = w->m->insts.items[roc_ir_arg(w->m, rounded, 0)].type == ROC_VT_F32;
  int64_t most = is_f32 ? MOST_ADDED : 1023; /* no float lies between 2^63-1024 and 2^63 */
  return lies_between(w, roc_ir_arg(w->m, inst, 1 - n), 0, most);
}

/* Whether what is wanted of the result is wanted of the operand `n`. */
static bool passes_on(const roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t n) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_SET: return true;
    case ROC_IR_SELECT: return n > 0;
    case ROC_IR_MIN:
    case ROC_IR_MAX: return lies_between(w, roc_ir_arg(w->m, inst, 1 - n), LEAST, MOST);
    case ROC_IR_ADD: return is_added_to(w, inst, n);
    default: return false;
  }
}

static bool is_compared(const roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t n) {
  bool compares = inst->op == ROC_IR_LT || inst->op == ROC_IR_LE || inst->op == ROC_IR_EQ ||
                  inst->op == ROC_IR_NE;
  return compares && lies_between(w, roc_ir_arg(w->m, inst, 1 - n), LEAST + 1, MOST - 1);
}

void roc_ir_note_uses(roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(w->m, inst, n);
    if (is_added_to(w, inst, n)) w->wanted[id] |= SUM;
    bool suffices = !is_int(w, arg) || lies_between(w, arg, LEAST, MOST) || is_compared(w, inst, n);
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
    case ROC_IR_ADD:
    case ROC_IR_MIN:
    case ROC_IR_MAX: return want(w, inst, is_wanted);
    default: return false;
  }
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

static bool adds_to_saturated(const roc_ir_check_walk *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  return (w->narrow[roc_ir_arg(w->m, inst, 0)] | w->narrow[roc_ir_arg(w->m, inst, 1)]) &
         ROC_IR_SATURATES;
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
  for (uint32_t id = 0; id < w->m->insts.count; id++) { /* sums come after what they add to */
    bool may = rounds(&w->m->insts.items[id]) || (w->wanted[id] & SUM && adds_to_saturated(w, id));
    if (may && !(w->wanted[id] & WANTED) && !(w->narrow[id] & known)) {
      w->narrow[id] |= ROC_IR_SATURATES;
    }
  }
  roc_free(vars);
  return true;
}
