/* See raised_checks.h. */
#include "ir/raised_checks.h"

static roc_ir_inst *inst_of(roc_ir_module *m, uint32_t id) {
  return &m->insts.items[id];
}

/* Whether a check that fails may do so before the instruction. */
static bool is_passed(const roc_ir_inst *inst) {
  const uint16_t seen =
      ROC_IRF_WRITE | ROC_IRF_EFFECT | ROC_IRF_STOP | ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE;
  if (inst->op == ROC_IR_SET) return true;
  return !(roc_ir_op_table[inst->op].flags & (seen | ROC_IRF_CONTROL));
}

/* The SET in front of the check at `at` whose value it checks; `at`: there is none. */
static uint32_t find_set(roc_ir_module *m, const roc_ir_ids *ids, uint32_t at) {
  uint32_t index = roc_ir_arg(m, inst_of(m, ids->items[at]), 0);
  const roc_ir_inst *get = inst_of(m, index);
  bool is_after_get = false;
  if (get->op != ROC_IR_GET) return at;
  for (uint32_t i = at; i-- > 0;) {
    const roc_ir_inst *inst = inst_of(m, ids->items[i]);
    if (!is_passed(inst)) return at;
    is_after_get = is_after_get || ids->items[i] == index;
    if (inst->op == ROC_IR_SET && inst->aux == get->aux) return is_after_get ? i : at;
  }
  return at;
}

static void raise_in_list(roc_ir_module *m, roc_ir_ids *ids) {
  for (uint32_t i = 0; i < ids->count; i++) {
    uint32_t check = ids->items[i];
    if (inst_of(m, check)->op != ROC_IR_CHECK_INDEX) continue;
    uint32_t set = find_set(m, ids, i);
    if (set == i) continue;
    m->operands.items[inst_of(m, check)->args] = roc_ir_arg(m, inst_of(m, ids->items[set]), 0);
    for (uint32_t n = i; n > set; n--) ids->items[n] = ids->items[n - 1];
    ids->items[set] = check;
  }
}

void roc_ir_raise_checks(roc_ir_module *module) {
  for (uint32_t i = 0; i < module->regions.count; i++) {
    raise_in_list(module, &module->regions.items[i]);
  }
}
