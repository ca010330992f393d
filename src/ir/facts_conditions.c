/* See facts.h: what the truth of conditions says of their operands, and whether ranges decide them. */
#include "ir/facts_terms.h"

enum { ASSUME_DEPTH = 32 };

/* Follows NOT; *truth is turned each time. */
static uint32_t strip_not(const roc_ir_facts *f, uint32_t id, bool *truth) {
  while (f->values.items[id].op == ROC_IR_NOT) {
    id = f->values.items[id].args[0];
    *truth = !*truth;
  }
  return id;
}

/* True when `id` cannot be `truth` while `test` is `outcome`. */
static bool is_excluded(const roc_ir_facts *f, uint32_t id, bool truth, uint32_t test,
                        bool outcome) {
  id = strip_not(f, id, &truth);
  test = strip_not(f, test, &outcome);
  if (f->values.items[id].op == ROC_IR_CONST) return (f->values.items[id].k != 0) != truth;
  return id == test && truth != outcome;
}

static void assume(roc_ir_facts *f, uint32_t test, bool truth, int depth);

/* `and`, `or`: the value is that of the one path which can have given it, so that path was
 * taken. */
static void assume_merged(roc_ir_facts *f, const roc_ir_value *v, bool truth, int depth) {
  uint32_t test = v->args[0], yes = v->args[1], no = v->args[2];
  if (is_excluded(f, no, truth, test, false)) {
    assume(f, test, true, depth - 1);
    assume(f, yes, truth, depth - 1);
  } else if (is_excluded(f, yes, truth, test, true)) {
    assume(f, test, false, depth - 1);
    assume(f, no, truth, depth - 1);
  }
}

static void assume_equal(roc_ir_facts *f, uint32_t a, uint32_t b) {
  roc_ir_facts_add(f, a, b, 0);
  roc_ir_facts_add(f, b, a, 0);
}

/* Where one is known to be no more than the other, it is less. */
static void assume_different(roc_ir_facts *f, uint32_t a, uint32_t b) {
  if (b == ROC_IR_VALUE_ZERO) roc_ir_facts_add_nonzero(f, a);
  if (a == ROC_IR_VALUE_ZERO) roc_ir_facts_add_nonzero(f, b);
  if (roc_ir_facts_follows(f, a, b, 0)) {
    roc_ir_facts_add(f, a, b, -1);
  } else if (roc_ir_facts_follows(f, b, a, 0)) {
    roc_ir_facts_add(f, b, a, -1);
  }
}

static void assume(roc_ir_facts *f, uint32_t test, bool truth, int depth) {
  if (f->failed || !depth) return;
  test = strip_not(f, test, &truth);
  roc_ir_value v = f->values.items[test]; /* a copy: the table may move */
  bool is_merge = v.op == ROC_IR_OP_COUNT_ && v.nargs == 3;
  if (is_merge || v.op == ROC_IR_SELECT) {
    assume_merged(f, &v, truth, depth);
    return;
  }
  if (v.op == ROC_IR_INDEX_FITS && truth) {
    roc_ir_facts_add(f, roc_ir_facts_constant(f, 1), v.args[0], 0);
    roc_ir_facts_add(f, v.args[0], roc_ir_facts_extent(f, v.aux, (uint32_t)v.k), 0);
  }
  if (v.nargs != 2) return;
  uint32_t a = v.args[0], b = v.args[1];
  uint8_t type = f->values.items[a].type;
  bool is_order = v.op == ROC_IR_LT || v.op == ROC_IR_LE;
  bool is_float = type == ROC_VT_F32 || type == ROC_VT_F64;
  if (is_order && truth && is_float && !f->m->fastmath) roc_ir_facts_add_ordered(f, a, b);
  if (type != ROC_VT_INT || f->values.items[b].type != ROC_VT_INT) return;
  switch ((roc_ir_op)v.op) {
    case ROC_IR_EQ: truth ? assume_equal(f, a, b) : assume_different(f, a, b); break;
    case ROC_IR_NE: truth ? assume_different(f, a, b) : assume_equal(f, a, b); break;
    case ROC_IR_LT: truth ? roc_ir_facts_add(f, a, b, -1) : roc_ir_facts_add(f, b, a, 0); break;
    case ROC_IR_LE: truth ? roc_ir_facts_add(f, a, b, 0) : roc_ir_facts_add(f, b, a, -1); break;
    default: break;
  }
}

void roc_ir_facts_assume(roc_ir_facts *f, uint32_t test, bool truth) {
  assume(f, test, truth, ASSUME_DEPTH);
}

/* Of a pair of integers. */
static bool decide_order(const roc_ir_facts *f, const roc_ir_value *v, bool *truth) {
  roc_ir_range a = roc_ir_facts_range_now(f, v->args[0]);
  roc_ir_range b = roc_ir_facts_range_now(f, v->args[1]);
  if (a.low > a.high || b.low > b.high) return false;
  bool is_less = a.high < b.low;
  bool is_more = b.high < a.low;
  bool is_same = a.low == a.high && b.low == b.high && a.low == b.low;
  switch ((roc_ir_op)v->op) {
    case ROC_IR_LT: *truth = is_less; return is_less || a.low >= b.high;
    case ROC_IR_LE: *truth = a.high <= b.low; return *truth || is_more;
    case ROC_IR_EQ: *truth = is_same; return is_same || is_less || is_more;
    case ROC_IR_NE: *truth = !is_same; return is_same || is_less || is_more;
    default: return false;
  }
}

static bool decide(const roc_ir_facts *f, uint32_t test, bool *truth, int depth) {
  bool is_turned = true, of_test;
  test = strip_not(f, test, &is_turned);
  const roc_ir_value *v = &f->values.items[test];
  bool is_decided = false;
  if (v->op == ROC_IR_CONST) {
    *truth = v->k != 0;
    is_decided = true;
  } else if (roc_ir_facts_is_choice(v) && depth > 0) {
    is_decided = decide(f, v->args[0], &of_test, depth - 1) &&
                 decide(f, v->args[of_test ? 1 : 2], truth, depth - 1);
  } else if (v->nargs == 2 && f->values.items[v->args[0]].type == ROC_VT_INT &&
             f->values.items[v->args[1]].type == ROC_VT_INT) {
    is_decided = decide_order(f, v, truth);
  }
  if (is_decided && !is_turned) *truth = !*truth;
  return is_decided;
}

bool roc_ir_facts_decide(const roc_ir_facts *f, uint32_t test, bool *truth) {
  return !f->failed && decide(f, test, truth, ASSUME_DEPTH);
}
