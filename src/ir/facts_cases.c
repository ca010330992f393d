/* See facts.h: proofs for each of the values that a choice may have left. */
#include "ir/facts_terms.h"

/* ---- what cannot be ---- */

static bool excludes_order(const roc_ir_facts *f, const roc_ir_value *v, bool truth) {
  uint32_t a = v->args[0], b = v->args[1];
  switch ((roc_ir_op)v->op) {
    case ROC_IR_LT:
      return truth ? roc_ir_facts_follows(f, b, a, 0) : roc_ir_facts_follows(f, a, b, -1);
    case ROC_IR_LE:
      return truth ? roc_ir_facts_follows(f, b, a, -1) : roc_ir_facts_follows(f, a, b, 0);
    case ROC_IR_EQ:
    case ROC_IR_NE:
      if (truth == (v->op == ROC_IR_EQ)) {
        return roc_ir_facts_follows(f, a, b, -1) || roc_ir_facts_follows(f, b, a, -1);
      }
      return roc_ir_facts_follows(f, a, b, 0) && roc_ir_facts_follows(f, b, a, 0);
    default: return false;
  }
}

/* What is one of two values, as `and` and `or` are, is excluded by either way to it. */
static bool excludes(const roc_ir_facts *f, uint32_t test, bool truth, int depth) {
  const roc_ir_value *v = &f->values.items[test];
  if (depth == 0) return false;
  if (v->op == ROC_IR_CONST) return (v->k != 0) != truth;
  if (v->op == ROC_IR_NOT) return excludes(f, v->args[0], !truth, depth - 1);
  if (roc_ir_facts_is_choice(v)) {
    return (excludes(f, v->args[1], truth, depth - 1) ||
            excludes(f, v->args[0], true, depth - 1)) &&
           (excludes(f, v->args[2], truth, depth - 1) || excludes(f, v->args[0], false, depth - 1));
  }
  bool is_of_ints = v->nargs == 2 && f->values.items[v->args[0]].type == ROC_VT_INT &&
                    f->values.items[v->args[1]].type == ROC_VT_INT;
  return is_of_ints && excludes_order(f, v, truth);
}

bool roc_ir_facts_excludes(const roc_ir_facts *f, uint32_t test, bool truth) {
  enum { DEPTH = 4 };
  return !f->failed && excludes(f, test, truth, DEPTH);
}

/* ---- what is one of two values ---- */

static bool prove_cases(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k, int depth);

/* One value of a choice, where its condition is `truth`; there may be no such case. */
static bool prove_case(roc_ir_facts *f, uint32_t test, bool truth, uint32_t a, uint32_t b,
                       int64_t k, int depth) {
  if (roc_ir_facts_excludes(f, test, truth)) return true;
  roc_ir_facts_point point = roc_ir_facts_mark(f);
  roc_ir_facts_assume(f, test, truth);
  bool is_proved = prove_cases(f, a, b, k, depth - 1);
  roc_ir_facts_rollback(f, point);
  return is_proved;
}

/* As prove; what is one of two values is proved for each. */
static bool prove_cases(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k, int depth) {
  if (roc_ir_facts_follows(f, a, b, k)) return true;
  if (depth == 0 || f->failed) return false;
  roc_ir_term x = roc_ir_facts_term(f, a), y = roc_ir_facts_term(f, b);
  roc_ir_value of_x = f->values.items[x.base], of_y = f->values.items[y.base];
  if (__builtin_add_overflow(k, y.offset, &k) || __builtin_sub_overflow(k, x.offset, &k)) {
    return false;
  }
  if (roc_ir_facts_is_choice(&of_x)) {
    return prove_case(f, of_x.args[0], true, of_x.args[1], y.base, k, depth) &&
           prove_case(f, of_x.args[0], false, of_x.args[2], y.base, k, depth);
  }
  if (!roc_ir_facts_is_choice(&of_y)) return false;
  return prove_case(f, of_y.args[0], true, x.base, of_y.args[1], k, depth) &&
         prove_case(f, of_y.args[0], false, x.base, of_y.args[2], k, depth);
}

bool roc_ir_facts_le_by(roc_ir_facts *f, uint32_t a, uint32_t b, int64_t k) {
  enum { CHOICES = 4 };
  return !f->failed && prove_cases(f, a, b, k, CHOICES);
}

bool roc_ir_facts_le(roc_ir_facts *f, uint32_t a, uint32_t b) {
  return roc_ir_facts_le_by(f, a, b, 0);
}
