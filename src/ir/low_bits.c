/* See low_bits.h.  Users come after what they use, so one walk from the end tells what each value is
 * needed for; what a variable is needed for may grow while loops are walked again. */
#include "ir/low_bits.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/check_elimination.h"
#include "ir/layout.h"
#include "ir/walk.h"

enum { ALL = 64, HALF = 32, MOST_WALKS = 6 };

typedef struct demand {
  const roc_ir_module *m;
  uint8_t *insts, *vars; /* how many of the lowest bits are needed */
  bool of_indices;       /* of narrow arrays the low half is enough */
  const uint8_t *narrow; /* what roc_ir_find_narrow knows so far; NULL: nothing */
  bool is_changed;       /* a variable's, by the current walk */
} demand;

static void need(demand *w, uint32_t id, unsigned nbits) {
  if (nbits > w->insts[id]) w->insts[id] = (uint8_t)nbits;
}

static const roc_ir_inst *operand_of(const demand *w, const roc_ir_inst *inst, uint32_t n) {
  return &w->m->insts.items[roc_ir_arg(w->m, inst, n)];
}

/* The operand, where it is a constant in 0 … 2^63-1. */
static bool is_known(const demand *w, const roc_ir_inst *inst, uint32_t n, int64_t *k) {
  const roc_ir_inst *from = operand_of(w, inst, n);
  if (from->op != ROC_IR_CONST || from->type != ROC_VT_INT || from->k.i < 0) return false;
  *k = from->k.i;
  return true;
}

static unsigned length_of(int64_t k) {
  return k ? ALL - (unsigned)__builtin_clzll((uint64_t)k) : 0;
}

static bool is_power(int64_t k) {
  return k > 0 && (k & (k - 1)) == 0;
}

int roc_ir_bits_moved(const roc_ir_module *m, const roc_ir_inst *inst) {
  const demand w = {.m = m};
  int64_t k;
  if (inst->nargs < 2 || !is_known(&w, inst, 1, &k)) return -1;
  bool is_shift = inst->op == ROC_IR_SHL || inst->op == ROC_IR_SHR;
  if (is_shift) return k < HALF ? (int)k : -1;
  return inst->op == ROC_IR_FLOORDIV && is_power(k) && k < UINT32_MAX ? __builtin_ctzll((uint64_t)k)
                                                                      : -1;
}

static unsigned at_most(unsigned nbits, unsigned most) {
  return nbits < most ? nbits : most;
}

/* Whether it moves bits up, by what is not negative. */
static bool moves_up(const roc_ir_module *m, const uint8_t *narrow, uint32_t id) {
  bool is_shift = m->insts.items[id].op == ROC_IR_SHL;
  return narrow && is_shift && (narrow[id] & (ROC_IR_COUNTS | ROC_IR_FEW));
}

/* Of a value of which `nbits` are needed: how many of its operand `n` are. */
static unsigned needed_of_operand(const demand *w, uint32_t id, uint32_t n, unsigned nbits) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  int moved = roc_ir_bits_moved(w->m, inst);
  int64_t k;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MUL:
    case ROC_IR_NEG:
    case ROC_IR_BOR:
    case ROC_IR_BXOR:
    case ROC_IR_BNOT: return nbits;
    case ROC_IR_SELECT: return n == 0 ? ALL : nbits;
    case ROC_IR_BAND: return is_known(w, inst, 1 - n, &k) ? at_most(nbits, length_of(k)) : nbits;
    case ROC_IR_SHL:
      if (moved < 0 && moves_up(w->m, w->narrow, id)) return n > 0 ? ALL : nbits;
      return moved < 0 || n > 0 ? ALL : nbits > (unsigned)moved ? nbits - (unsigned)moved : 0;
    case ROC_IR_SHR:
    case ROC_IR_FLOORDIV: return moved < 0 || n > 0 ? ALL : at_most(nbits + (unsigned)moved, ALL);
    case ROC_IR_MOD:
      return n == 0 && is_known(w, inst, 1, &k) && is_power(k) ? at_most(nbits, length_of(k - 1))
                                                               : ALL;
    default: return ALL;
  }
}

/* Of integers that are stored or converted, what the element holds. */
static unsigned bits_of_dtype(roc_dtype dtype) {
  const roc_dtype_info *info = &roc_dtype_table[dtype];
  bool is_int = info->kind == 'i' || info->kind == 'u';
  return is_int ? 8 * (unsigned)info->itemsize : ALL;
}

/* Whether the operand is an index into a narrow array.  It is in range where the access is made, so
 * the upper half is 0. */
static bool is_narrow_index(const demand *w, const roc_ir_inst *inst, uint32_t n) {
  bool stores = inst->op == ROC_IR_STORE;
  bool accesses = stores || inst->op == ROC_IR_LOAD || inst->op == ROC_IR_ATOMIC;
  if (!w->of_indices || !accesses) return false;
  uint32_t first = stores ? 1 : 0;
  const roc_ir_array *array = &w->m->arrays.items[inst->aux];
  return n >= first && n < first + array->rank && roc_ir_is_narrow_array(w->m, array);
}

static void look_at(demand *w, uint32_t id) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  unsigned nbits = inst->type == ROC_VT_INT ? w->insts[id] : ALL;
  if (inst->op == ROC_IR_GET && nbits > w->vars[inst->aux]) {
    w->vars[inst->aux] = (uint8_t)nbits;
    w->is_changed = true;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    unsigned needed = ALL;
    if (inst->op == ROC_IR_SET) {
      needed = w->vars[inst->aux];
    } else if (inst->op == ROC_IR_STORE && n == 0) {
      needed = bits_of_dtype(w->m->arrays.items[inst->aux].dtype);
    } else if (is_narrow_index(w, inst, n)) {
      needed = HALF;
    } else if (inst->op == ROC_IR_CONVERT) {
      needed = at_most(nbits, bits_of_dtype((roc_dtype)inst->aux));
    } else if (inst->type == ROC_VT_INT) {
      needed = needed_of_operand(w, id, n, nbits);
    }
    need(w, roc_ir_arg(w->m, inst, n), needed);
  }
}

static bool is_done_low(const roc_ir_module *m, const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MUL:
    case ROC_IR_NEG:
    case ROC_IR_BAND:
    case ROC_IR_BOR:
    case ROC_IR_BXOR:
    case ROC_IR_BNOT: return true;
    case ROC_IR_SHL:
    case ROC_IR_SHR:
    case ROC_IR_FLOORDIV: return roc_ir_bits_moved(m, inst) >= 0;
    default: return false;
  }
}

/* A shift to the right takes its bits from above. */
unsigned roc_ir_low_bits_for(const roc_ir_module *m, const roc_ir_inst *inst, unsigned needed) {
  if (!is_done_low(m, inst)) return 0;
  bool is_down = inst->op == ROC_IR_SHR || inst->op == ROC_IR_FLOORDIV;
  unsigned moved = is_down ? (unsigned)roc_ir_bits_moved(m, inst) : 0;
  unsigned nbits = (needed ? needed : 1) + moved;
  return nbits < ALL ? nbits : 0;
}

static ROC_IR_WALKS uint32_t list_insts(const roc_ir_module *m, uint32_t *ids) {
  roc_ir_walk walk;
  uint32_t count = 0;
  ROC_IR_FOR_EACH(walk, m, 0) ids[count++] = walk.id;
  return count;
}

/* Whether it has ended with what is needed of every variable. */
static bool find_demand(demand *w, const uint32_t *ids, uint32_t count) {
  for (int walks = 0; walks < MOST_WALKS; walks++) {
    w->is_changed = false;
    for (uint32_t i = count; i-- > 0;) look_at(w, ids[i]);
    if (!w->is_changed) return true;
  }
  return false;
}

/* Of everything all bits, where the walks do not end. */
static void need_all(demand *w) {
  memset(w->insts, ALL, w->m->insts.count);
  memset(w->vars, ALL, w->m->vars.count);
}

roc_status roc_ir_find_needed_bits(const roc_ir_module *module, bool of_indices,
                                   const uint8_t *narrow, roc_ir_needed_bits *out, roc_error *err) {
  demand w = {.m = module, .of_indices = of_indices, .narrow = narrow};
  w.insts = out->insts = roc_zalloc(module->insts.count + 1);
  w.vars = out->vars = roc_zalloc(module->vars.count + 1);
  uint32_t *ids = roc_alloc((module->insts.count + 1) * sizeof *ids);
  bool is_made = w.insts && w.vars && ids;
  if (is_made && !find_demand(&w, ids, list_insts(module, ids))) need_all(&w);
  roc_free(ids);
  return is_made ? ROC_OK : roc_fail(err, ROC_OOM, "out of memory");
}

void roc_ir_needed_bits_deinit(roc_ir_needed_bits *needed) {
  roc_free(needed->insts);
  roc_free(needed->vars);
}

roc_status roc_ir_find_low(const roc_ir_module *module, bool of_indices, uint8_t *narrow,
                           uint8_t *narrow_vars, roc_error *err) {
  enum { KNOWN = ROC_IR_NARROW | ROC_IR_INT32 };
  roc_ir_needed_bits needed = {0};
  roc_status status = roc_ir_find_needed_bits(module, of_indices, narrow, &needed, err);
  for (uint32_t i = 0; status == ROC_OK && i < module->insts.count; i++) {
    const roc_ir_inst *inst = &module->insts.items[i];
    if (inst->type != ROC_VT_INT || (narrow[i] & KNOWN)) continue;
    unsigned nbits = roc_ir_low_bits_for(module, inst, needed.insts[i]);
    if (moves_up(module, narrow, i)) nbits = needed.insts[i];
    if (nbits && nbits <= HALF) narrow[i] |= ROC_IR_LOW;
  }
  for (uint32_t i = 0; status == ROC_OK && i < module->vars.count; i++) {
    bool is_int = module->vars.items[i].type == ROC_VT_INT;
    if (is_int && !narrow_vars[i] && needed.vars[i] <= HALF) narrow_vars[i] = ROC_IR_LOW;
  }
  roc_ir_needed_bits_deinit(&needed);
  return status;
}
