/* See value_widths.h.  The walk of check_elimination.c gives ranges; then values are followed from
 * the elements on, and from their users back. */
#include "ir/value_widths.h"

#include "base/alloc.h"
#include "ir/check_walk.h"
#include "ir/low_bits.h"
#include "ir/range.h"
#include "ir/walk.h"

enum { MOST_WALKS = 8 /* while it becomes known what comes from elements */ };

static bool is_narrow_int(roc_dtype dtype) {
  const roc_dtype_info *info = &roc_dtype_table[dtype];
  return info->value_type == ROC_VT_INT && info->itemsize < 8;
}

bool roc_ir_has_narrow_elements(const roc_ir_module *module) {
  for (uint32_t i = 0; i < module->arrays.count; i++) {
    if (is_narrow_int(module->arrays.items[i].dtype)) return true;
  }
  return false;
}

/* ---- by ranges ------------------------------------------------------------------------------ */

static uint8_t width_of_range(roc_ir_range r) {
  if (r.low > r.high) return 0;
  for (unsigned bits = 8; bits <= 32; bits *= 2) {
    if (r.low >= 0 && r.high < (int64_t)1 << bits) return (uint8_t)bits;
    int64_t half = (int64_t)1 << (bits - 1);
    if (r.low >= -half && r.high < half) return (uint8_t)(bits | ROC_IR_WIDTH_SIGNED);
  }
  return 0;
}

static bool is_by_positive_constant(const roc_ir_module *m, const roc_ir_inst *inst) {
  const roc_ir_inst *by = &m->insts.items[roc_ir_arg(m, inst, 1)];
  return by->op == ROC_IR_CONST && by->k.i > 0;
}

/* Whether the operation is the same in any width that holds its operands and its result. */
static bool is_of_any_width(const roc_ir_module *m, const roc_ir_inst *inst, bool is_signed) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MUL:
    case ROC_IR_MIN:
    case ROC_IR_MAX:
    case ROC_IR_BAND:
    case ROC_IR_BOR:
    case ROC_IR_BXOR:
    case ROC_IR_EQ:
    case ROC_IR_NE:
    case ROC_IR_LT:
    case ROC_IR_LE:
    case ROC_IR_SELECT: return true;
    case ROC_IR_NEG:
    case ROC_IR_ABS: return is_signed;
    case ROC_IR_ULT: return !is_signed;
    case ROC_IR_MOD:
    case ROC_IR_FLOORDIV: return !is_signed || is_by_positive_constant(m, inst);
    case ROC_IR_SHL: return roc_ir_bits_moved(m, inst) >= 0;
    case ROC_IR_SHR: return !is_signed && roc_ir_bits_moved(m, inst) >= 0;
    default: return false;
  }
}

/* Of an operation all integers, of anything else the result alone. */
uint8_t roc_ir_width_of(roc_ir_check_walk *w, const roc_ir_inst *inst, uint32_t value) {
  bool is_operation = roc_ir_op_table[inst->op].flags == ROC_IRF_PURE && inst->nargs > 0;
  roc_ir_range all = {INT64_MAX, INT64_MIN};
  if (inst->type == ROC_VT_INT) all = roc_ir_facts_range(&w->f, value);
  if (all.low > all.high && inst->type == ROC_VT_INT) return 0;
  for (uint32_t n = 0; n < inst->nargs && is_operation; n++) {
    if (w->m->insts.items[roc_ir_arg(w->m, inst, n)].type != ROC_VT_INT) continue;
    roc_ir_range of = roc_ir_facts_range(&w->f, roc_ir_check_walk_operand(w, inst, n));
    if (of.low > of.high) return 0;
    all = roc_ir_range_join(all, of);
  }
  uint8_t width = width_of_range(all);
  if (!width || !is_operation) return width;
  bool is_product = inst->op == ROC_IR_MUL; /* vectors of bytes have none */
  if (is_product && (width & ROC_IR_WIDTH_BITS) == 8) width += 8;
  bool wants_sign = inst->op == ROC_IR_NEG || inst->op == ROC_IR_ABS;
  if (wants_sign && !(width & ROC_IR_WIDTH_SIGNED)) {
    if (width == 32) return 0;
    width = (uint8_t)(2 * width) | ROC_IR_WIDTH_SIGNED;
  }
  return is_of_any_width(w->m, inst, width & ROC_IR_WIDTH_SIGNED) ? width : 0;
}

uint8_t roc_ir_width_of_var(roc_ir_range held) {
  return width_of_range(held);
}

/* ---- from elements on ----------------------------------------------------------------------- */

typedef struct origins {
  const roc_ir_module *m;
  bool *insts, *vars; /* computed of elements */
  bool is_changed;
} origins;

static bool is_of_elements(const origins *o, const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_LOAD:
    case ROC_IR_ATOMIC:
    case ROC_IR_WAVE:
    case ROC_IR_FLOOR:
    case ROC_IR_CEIL: return true;
    case ROC_IR_GET: return o->vars[inst->aux];
    default: break;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t id = roc_ir_arg(o->m, inst, n);
    if (o->m->insts.items[id].type == ROC_VT_INT && o->insts[id]) return true;
  }
  return false;
}

static ROC_IR_WALKS void follow_elements(origins *o) {
  o->is_changed = true;
  for (int walks = 0; o->is_changed && walks < MOST_WALKS; walks++) {
    roc_ir_walk walk;
    o->is_changed = false;
    ROC_IR_FOR_EACH(walk, o->m, 0) {
      if (roc_ir_has_regions(walk.inst)) continue;
      bool is_set = walk.inst->op == ROC_IR_SET;
      bool *known = is_set ? &o->vars[walk.inst->aux] : &o->insts[walk.id];
      if (*known || !is_of_elements(o, walk.inst)) continue;
      *known = o->is_changed = true;
    }
  }
}

/* ---- both ----------------------------------------------------------------------------------- */

/* The width in which so many low bits are enough; 0: none. */
static uint8_t width_of_bits(unsigned nbits) {
  return nbits <= 8 ? 8 : nbits <= 16 ? 16 : nbits <= 32 ? 32 : 0;
}

static uint8_t smaller(uint8_t by_range, uint8_t by_users) {
  if (!by_range || !by_users) return by_range | by_users;
  return (by_range & ROC_IR_WIDTH_BITS) <= by_users ? by_range : by_users;
}

static uint8_t by_users(const roc_ir_module *m, const roc_ir_inst *inst, unsigned needed) {
  bool is_choice = inst->op == ROC_IR_SELECT;
  unsigned nbits = is_choice ? needed : roc_ir_low_bits_for(m, inst, needed);
  uint8_t width = nbits ? width_of_bits(nbits) : 0;
  return width == 8 && inst->op == ROC_IR_MUL ? 16 : width;
}

static ROC_IR_WALKS void keep_counters_wide(const roc_ir_module *m, uint8_t *vars) {
  roc_ir_walk walk;
  ROC_IR_FOR_EACH(walk, m, 0) {
    if (walk.inst->op == ROC_IR_FOR) vars[walk.inst->aux] = 0;
  }
}

/* Widths by range become those of the whole; `needed`: how many low bits are, of each. */
static void settle(const origins *o, const roc_ir_needed_bits *needed,
                   const roc_ir_widths *widths) {
  const roc_ir_module *m = o->m;
  uint8_t *insts = widths->insts, *vars = widths->vars;
  for (uint32_t id = 0; id < m->insts.count; id++) {
    const roc_ir_inst *inst = &m->insts.items[id];
    bool is_data = o->insts[id];
    uint8_t range = is_data ? insts[id] : 0;
    insts[id] =
        inst->type == ROC_VT_INT ? smaller(range, by_users(m, inst, needed->insts[id])) : range;
  }
  for (uint32_t v = 0; v < m->vars.count; v++) {
    bool is_int = m->vars.items[v].type == ROC_VT_INT;
    uint8_t range = o->vars[v] ? vars[v] : 0;
    vars[v] = is_int ? smaller(range, width_of_bits(needed->vars[v])) : 0;
  }
  keep_counters_wide(m, vars);
}

roc_status roc_ir_settle_widths(const roc_ir_module *module, const roc_ir_widths *widths,
                                roc_error *err) {
  origins o = {.m = module};
  o.insts = roc_zalloc((module->insts.count + 1) * sizeof *o.insts);
  o.vars = roc_zalloc((module->vars.count + 1) * sizeof *o.vars);
  roc_ir_needed_bits needed = {0};
  roc_status status = roc_ir_find_needed_bits(module, false, NULL, &needed, err);
  if (status == ROC_OK && !(o.insts && o.vars)) status = roc_fail(err, ROC_OOM, "out of memory");
  if (status == ROC_OK) {
    follow_elements(&o);
    settle(&o, &needed, widths);
  }
  roc_ir_needed_bits_deinit(&needed);
  roc_free(o.insts);
  roc_free(o.vars);
  return status;
}

void roc_ir_widths_deinit(roc_ir_widths *widths) {
  roc_free(widths->insts);
  roc_free(widths->vars);
  roc_free(widths->indices);
}
