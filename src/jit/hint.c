/* Hints found in the IR; see hint.h. */
#include "jit/hint.h"

static bool has_only_narrower_arrays(const roc_ir_module *m) {
  uint32_t nfloats = 0;
  for (uint32_t i = 0; i < m->params.count; i++) {
    const roc_ir_param *p = &m->params.items[i];
    if (!roc_arg_is_array(&p->type)) continue;
    if (p->type.dtype == ROC_DT_FLOAT64) return false;
    nfloats += roc_dtype_table[p->type.dtype].value_type == ROC_VT_F32;
  }
  return nfloats > 0;
}

/* Constants and arguments cost nothing to widen; computing with them does. */
static bool is_arithmetic(const roc_ir_inst *inst) {
  return inst->type == ROC_VT_F64 && inst->nargs > 0 &&
         (roc_ir_op_table[inst->op].flags & ROC_IRF_PURE) && inst->op != ROC_IR_TO_F64;
}

void roc_jit_hint_float64(const roc_ir_module *module, roc_str *out) {
  if (!has_only_narrower_arrays(module)) return;
  for (uint32_t i = 0; i < module->insts.count; i++) {
    const roc_ir_inst *inst = &module->insts.items[i];
    if (!is_arithmetic(inst) || inst->loc >= module->locs.count) continue;
    const roc_ir_loc *loc = &module->locs.items[inst->loc];
    roc_str_printf(
        out,
        "%s:%u: kernel '%s' computes in float64 here, and all its arrays are narrower; write "
        "roc.float32(...), or give roc.kernel number=\"float32\"",
        loc->file, loc->line, module->name);
    return;
  }
}

/* ---- shared arrays without a barrier ---- */

static bool is_shared(const roc_ir_module *m, const roc_ir_inst *inst, roc_ir_op op) {
  if (inst->op != op) return false;
  roc_ir_array_kind kind = (roc_ir_array_kind)m->arrays.items[inst->aux].kind;
  return kind == ROC_IR_ARRAY_SHARED || kind == ROC_IR_ARRAY_SHARED_DYNAMIC;
}

static bool meets(const roc_ir_module *m) {
  for (uint32_t i = 0; i < m->insts.count; i++) {
    uint16_t flags = roc_ir_op_table[m->insts.items[i].op].flags;
    if (flags & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE)) return true;
  }
  return false;
}

static bool is_read(const roc_ir_module *m, uint32_t array) {
  for (uint32_t i = 0; i < m->insts.count; i++) {
    const roc_ir_inst *inst = &m->insts.items[i];
    if (inst->op == ROC_IR_LOAD && inst->aux == array) return true;
  }
  return false;
}

void roc_jit_hint_race(const roc_ir_module *module, roc_str *out) {
  if (meets(module)) return;
  for (uint32_t i = 0; i < module->insts.count; i++) {
    const roc_ir_inst *inst = &module->insts.items[i];
    if (!is_shared(module, inst, ROC_IR_STORE) || !is_read(module, inst->aux)) continue;
    if (inst->loc >= module->locs.count) continue;
    const roc_ir_loc *loc = &module->locs.items[inst->loc];
    roc_str_printf(out,
                   "%s:%u: kernel '%s' writes and reads shared array '%s' without a barrier: a "
                   "wrong result may be a race, which roclua --device sim --check finds",
                   loc->file, loc->line, module->name, module->arrays.items[inst->aux].name);
    return;
  }
}
