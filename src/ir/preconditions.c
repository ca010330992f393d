/* What of a launch would prove an index check: bounds of the index that are the same for all
 * work-items, and are less than its extent if arguments, extents and sizes are in order. */
#include "ir/check_walk.h"
#include "ir/facts_terms.h"
#include "ir/walk.h"

enum { MOST_CHOICES = 3 };

static bool is_same_value(const roc_ir_launch_value *a, const roc_ir_launch_value *b) {
  return a->op == b->op && a->aux == b->aux && a->dim == b->dim;
}

bool roc_ir_has_same_bound(const roc_ir_precondition *a, const roc_ir_precondition *b) {
  return is_same_value(&a->bound, &b->bound) && is_same_value(&a->plus, &b->plus) &&
         a->step == b->step && a->begin == b->begin && a->times == b->times &&
         a->factor == b->factor && a->is_lower == b->is_lower &&
         is_same_value(&a->by[0], &b->by[0]) && is_same_value(&a->by[1], &b->by[1]);
}

/* But for k. */
static bool is_like_precondition(const roc_ir_precondition *a, const roc_ir_precondition *b) {
  return roc_ir_has_same_bound(a, b) &&
         (a->is_lower || (a->array == b->array && a->axis == b->axis));
}

/* Arrays that look at one parameter have its extents; facts number them by parameter. */
static uint32_t array_of_extent(const roc_ir_module *m, uint32_t owner) {
  if (owner >= m->params.count) return owner - m->params.count;
  uint32_t array = 0;
  while (m->arrays.items[array].kind != ROC_IR_ARRAY_PARAM ||
         m->arrays.items[array].param != owner) {
    array++;
  }
  return array;
}

/* Of several that differ in k, one says all. */
static void keep_precondition(roc_ir_check_walk *w, const roc_ir_precondition *p) {
  for (uint32_t i = 0; i < w->preconditions->count; i++) {
    roc_ir_precondition *kept = &w->preconditions->items[i];
    if (!is_like_precondition(kept, p)) continue;
    if (p->is_lower ? p->k < kept->k : p->k > kept->k) kept->k = p->k;
    return;
  }
  if (!roc_vec_push(w->preconditions, *p)) w->failed = true;
}

static roc_ir_launch_value launch_value(const roc_ir_check_walk *w, uint32_t value) {
  const roc_ir_value *v = &w->f.values.items[value];
  bool is_extent = v->op == ROC_IR_EXTENT, is_zero = value == ROC_IR_VALUE_ZERO;
  uint32_t aux = is_extent ? array_of_extent(w->m, v->aux) : v->aux;
  return (roc_ir_launch_value){v->op, is_zero ? 0 : aux, is_extent ? v->k : 0};
}

/* value * factor + plus + k */
static bool wraps(int64_t value, int64_t factor, int64_t plus, int64_t k) {
  int64_t end;
  return __builtin_mul_overflow(value, factor, &end) || __builtin_add_overflow(end, plus, &end) ||
         __builtin_add_overflow(end, k, &end);
}

/* The bound is a value of the launch, or a quotient or multiple as roc_ir_facts_multiple says. */
static bool describe_bound(roc_ir_check_walk *w, uint32_t bound, uint32_t plus,
                           roc_ir_precondition *p) {
  roc_ir_facts_multiple m = {.base = bound};
  if (roc_ir_facts_is_multiple(&w->f, bound, &m)) {
    p->step = m.step;
    p->begin = m.begin;
    p->times = m.times;
  }
  roc_ir_range range = roc_ir_facts_range(&w->f, m.base), more = roc_ir_facts_range(&w->f, plus);
  if (wraps(range.low, p->factor, more.low, p->k)) return false;
  if (wraps(range.high, p->factor, more.high, p->k)) return false;
  p->bound = launch_value(w, m.base);
  p->plus = launch_value(w, plus);
  return true;
}

/* Whether the index is that of a flat array: of which the whole is asked for, also where not all of
 * it is reached, so that arrays of one shape are asked for the same. */
static bool describe_product(roc_ir_check_walk *w, uint32_t index, int64_t k,
                             roc_ir_precondition *p) {
  roc_ir_facts_product product;
  if (!roc_ir_facts_product_bound(&w->f, index, &product)) return false;
  if (__builtin_add_overflow(product.k, k, &p->k)) return false;
  if (p->k < 0) p->k = 0;
  p->bound = launch_value(w, product.factors[0]);
  p->plus = launch_value(w, ROC_IR_VALUE_ZERO);
  for (uint32_t i = 1; i < ROC_IR_PRODUCT_FACTORS; i++) {
    uint32_t factor = product.factors[i];
    if (factor != ROC_IR_NONE) p->by[i - 1] = launch_value(w, factor);
  }
  return true;
}

/* ---- elements of few bits, as indices ---- */

/* Whether the index is an element of 8 bits, more or less a constant. */
static bool is_small_element(const roc_ir_module *m, const roc_ir_inst *check) {
  const roc_ir_inst *index = &m->insts.items[roc_ir_arg(m, check, 0)];
  while (index->op == ROC_IR_ADD || index->op == ROC_IR_SUB) {
    if (m->insts.items[roc_ir_arg(m, index, 1)].op != ROC_IR_CONST) return false;
    index = &m->insts.items[roc_ir_arg(m, index, 0)];
  }
  return index->op == ROC_IR_LOAD && roc_dtype_itemsize(m->arrays.items[index->aux].dtype) == 1;
}

/* Whether the loop assigns and reads alone, and has the check in it. */
static ROC_IR_WALKS bool reads_and_checks(const roc_ir_module *m, const roc_ir_inst *loop,
                                          const roc_ir_inst *check) {
  const uint16_t effects = ROC_IRF_WRITE | ROC_IRF_EFFECT | ROC_IRF_STOP;
  bool has_check = false;
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, m, loop->k.region[0]) {
    roc_ir_op op = (roc_ir_op)walk.inst->op;
    bool is_plain = op == ROC_IR_SET || op == ROC_IR_CHECK_INDEX || op == ROC_IR_LEAVE ||
                    op == ROC_IR_NEXT || !(roc_ir_op_table[op].flags & effects);
    if (!is_plain) return false;
    has_check |= walk.inst == check;
  }
  return has_check;
}

/* Such elements rarely have all values that they may have, and a table need not have so many
 * entries: a condition for the launch may then never hold.  In such a loop the check costs
 * little. */
static bool is_element_in_reading_loop(const roc_ir_module *m, const roc_ir_inst *check) {
  if (!is_small_element(m, check)) return false;
  for (uint32_t i = 0; i < m->insts.count; i++) {
    const roc_ir_inst *inst = &m->insts.items[i];
    bool loops = inst->op == ROC_IR_LOOP || inst->op == ROC_IR_FOR;
    if (loops && reads_and_checks(m, inst, check)) return true;
  }
  return false;
}

static void need_upper(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t index, int64_t k,
                       int depth);

static void need_case(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t test, bool truth,
                      uint32_t value, int64_t k, int depth) {
  if (roc_ir_facts_excludes(&w->f, test, truth)) return;
  roc_ir_facts_point point = roc_ir_facts_mark(&w->f);
  roc_ir_facts_assume(&w->f, test, truth);
  need_upper(w, inst, value, k, depth - 1);
  roc_ir_facts_rollback(&w->f, point);
}

/* Whether a condition has stated less than what a local id can be (`if item <= 16`). */
static bool is_stated_less(const roc_ir_check_walk *w, uint32_t bound, roc_ir_range range) {
  const roc_ir_value *size = &w->f.values.items[bound];
  return size->op == ROC_IR_LOCAL_SIZE && range.high < size->everywhere.high;
}

/* index + k <= extent.  A constant, and what stays small, is compared as such: what is known of it
 * by way of ids and sizes would ask for more than is needed. */
static void need_upper(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t index, int64_t k,
                       int depth) {
  enum { SMALL = 4096 };
  const roc_ir_launch_value none = {.op = ROC_IR_CONST};
  roc_ir_precondition p = {
      .factor = 1, .by = {none, none}, .array = inst->aux, .axis = (uint32_t)inst->k.i};
  roc_ir_range range = roc_ir_facts_range(&w->f, index);
  uint32_t extent = roc_ir_facts_extent(&w->f, inst->aux, (uint32_t)inst->k.i);
  roc_ir_facts_bound bound;
  int64_t over = 0;
  uint32_t choice = roc_ir_facts_base(&w->f, index, &over);
  roc_ir_value v = w->f.values.items[choice];
  if (range.low > range.high) return; /* this case never comes */
  bool may_be_proved = depth < MOST_CHOICES && k != INT64_MIN;
  if (may_be_proved && roc_ir_facts_le_by(&w->f, index, extent, -k)) return;
  if (depth > 0 && roc_ir_facts_is_choice(&v)) {
    if (__builtin_add_overflow(k, over, &k)) return;
    need_case(w, inst, v.args[0], true, v.args[1], k, depth);
    need_case(w, inst, v.args[0], false, v.args[2], k, depth);
    return;
  }
  if (depth > 0 && v.op == ROC_IR_MAX && v.type == ROC_VT_INT) {
    if (__builtin_add_overflow(k, over, &k)) return;
    need_upper(w, inst, v.args[0], k, depth - 1);
    need_upper(w, inst, v.args[1], k, depth - 1);
    return;
  }
  bool is_const = range.low == range.high;
  bool is_small = range.high <= SMALL && range.high >= -SMALL;
  if (!is_small && describe_product(w, index, k, &p)) {
    keep_precondition(w, &p);
    return;
  }
  bool has_bound = !is_const && roc_ir_facts_launch_bound(&w->f, index, extent, false, &bound);
  if (!has_bound && !is_const) {
    has_bound = roc_ir_facts_launch_bound(&w->f, index, extent, true, &bound) &&
                (!is_small || w->f.values.items[bound.value].op == ROC_IR_LOCAL_SIZE) &&
                !(is_small && is_stated_less(w, bound.value, range));
  }
  if (has_bound) {
    p.factor = bound.factor;
    if (!__builtin_add_overflow(bound.k, k, &p.k) &&
        describe_bound(w, bound.value, bound.plus, &p)) {
      keep_precondition(w, &p);
    }
  } else if ((is_const || is_small) && w->f.values.items[extent].op != ROC_IR_CONST &&
             !(w->defers && is_element_in_reading_loop(w->m, inst))) {
    if (!__builtin_add_overflow(range.high, k, &p.k)) keep_precondition(w, &p);
  }
}

static bool need_lower(roc_ir_check_walk *w, uint32_t index, int64_t k, int depth);

static bool need_lower_case(roc_ir_check_walk *w, uint32_t test, bool truth, uint32_t value,
                            int64_t k, int depth) {
  if (roc_ir_facts_excludes(&w->f, test, truth)) return true;
  roc_ir_facts_point point = roc_ir_facts_mark(&w->f);
  roc_ir_facts_assume(&w->f, test, truth);
  bool may_be_low = need_lower(w, value, k, depth - 1);
  roc_ir_facts_rollback(&w->f, point);
  return may_be_low;
}

/* 1 <= index + k, where the index is an argument, more or less a constant, or the least of such. */
static bool need_lower(roc_ir_check_walk *w, uint32_t index, int64_t k, int depth) {
  const roc_ir_launch_value none = {.op = ROC_IR_CONST};
  roc_ir_precondition p = {.factor = 1, .by = {none, none}, .is_lower = true};
  if (w->f.values.items[index].has_product) {
    roc_ir_facts_product product; /* which is looked for where its least value is positive */
    if (roc_ir_facts_product_bound(&w->f, index, &product)) return true;
  }
  if (roc_ir_facts_le_by(&w->f, w->one, index, k)) return true;
  uint32_t base = roc_ir_facts_base(&w->f, index, &p.k);
  roc_ir_value v = w->f.values.items[base];
  if (__builtin_add_overflow(p.k, k, &p.k)) return false;
  if (depth > 0 && roc_ir_facts_is_choice(&v)) {
    return need_lower_case(w, v.args[0], true, v.args[1], p.k, depth) &&
           need_lower_case(w, v.args[0], false, v.args[2], p.k, depth);
  }
  if (depth > 0 && v.op == ROC_IR_MIN && v.type == ROC_VT_INT) {
    return need_lower(w, v.args[0], p.k, depth - 1) && need_lower(w, v.args[1], p.k, depth - 1);
  }
  bool is_argument = v.op == ROC_IR_PARAM || v.op == ROC_IR_EXTENT;
  if (!is_argument || !describe_bound(w, base, ROC_IR_VALUE_ZERO, &p)) return false;
  keep_precondition(w, &p);
  return true;
}

bool roc_ir_precondition_lower(roc_ir_check_walk *w, uint32_t index) {
  return need_lower(w, index, 0, MOST_CHOICES);
}

void roc_ir_precondition_upper(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t index) {
  need_upper(w, inst, index, 0, MOST_CHOICES);
}

void roc_ir_precondition_nonzero(roc_ir_check_walk *w, uint32_t value) {
  int64_t k;
  const roc_ir_value *v = &w->f.values.items[value];
  if (roc_ir_facts_takes_constant(&w->f, v, ROC_IR_MUL, &k) && k > 0) value = v->args[0];
  if (roc_ir_facts_is_argument(&w->f, value)) need_lower(w, value, 0, 0);
}

void roc_ir_precondition_mask(roc_ir_check_walk *w, const roc_ir_inst *inst) {
  for (uint32_t n = 0; n < 2; n++) {
    int64_t k;
    uint32_t mask = roc_ir_check_walk_operand(w, inst, n);
    uint32_t base = roc_ir_facts_base(&w->f, mask, &k);
    bool is_argument =
        w->f.values.items[base].op == ROC_IR_EXTENT || w->f.values.items[base].op == ROC_IR_PARAM;
    if (is_argument && k < 0) need_lower(w, mask, 1, 0);
  }
}
