/* The tables made of ir_ops.def and ir_math.def, and the life of a module.
 *
 * Invariant: entry 0 of a module's locs is the unknown place, so that every instruction has a valid
 * one; region 0 is the kernel's body. */
#include "ir/ir.h"

#include <string.h>

#include "base/alloc.h"

enum {
  RESULT_NONE = 'N',
  RESULT_BOOL = 'B',
  RESULT_INT = 'I',
  RESULT_SAME = 'S',
  RESULT_INST = 'T'
};

const roc_ir_op_info roc_ir_op_table[ROC_IR_OP_COUNT_] = {
#define ROC_IR_OP(NAME, text, operands, fields, result, flags) \
  [ROC_IR_##NAME] = {text, operands, fields, RESULT_##result, flags},
#include "ir/ir_ops.def"
#undef ROC_IR_OP
};

enum { CLASS_OPEN, CLASS_EXACT };

const roc_ir_math_info roc_ir_math_table[ROC_IR_MATH_COUNT_] = {
#define MATH_INFO(text, libm, arity, class) \
  { text, libm, arity, (class) == CLASS_EXACT }
#define ROC_IR_MATH(NAME, text, arity, libm, cls) \
  [ROC_IR_MATH_##NAME] = MATH_INFO(text, #libm, arity, CLASS_##cls),
#include "ir/ir_math.def"
#undef ROC_IR_MATH
};

/* A compile that needs more than this is refused as out of memory rather than taking the machine
 * with it. */
static const size_t ARENA_LIMIT_BYTES = (size_t)1 << 30;

roc_ir_module *roc_ir_module_new(const char *name) {
  roc_ir_module *module = roc_zalloc(sizeof *module);
  if (!module) return NULL;
  roc_arena_init(&module->arena, ARENA_LIMIT_BYTES);
  module->name = roc_arena_strndup(&module->arena, name, strlen(name));
  bool made = module->name && roc_vec_push(&module->regions, (roc_ir_ids){0}) &&
              roc_vec_push(&module->locs, (roc_ir_loc){.file = ""});
  if (!made) {
    roc_ir_module_free(module);
    return NULL;
  }
  return module;
}

void roc_ir_module_free(roc_ir_module *module) {
  if (!module) return;
  for (uint32_t i = 0; i < module->regions.count; i++) roc_vec_deinit(&module->regions.items[i]);
  roc_vec_deinit(&module->regions);
  roc_vec_deinit(&module->params);
  roc_vec_deinit(&module->arrays);
  roc_vec_deinit(&module->vars);
  roc_vec_deinit(&module->value_names);
  roc_vec_deinit(&module->insts);
  roc_vec_deinit(&module->operands);
  roc_vec_deinit(&module->locs);
  roc_vec_deinit(&module->sites);
  roc_arena_deinit(&module->arena);
  roc_free(module);
}

bool roc_ir_only_leaves(const roc_ir_module *m, const roc_ir_inst *inst) {
  if (inst->op != ROC_IR_IF || m->regions.items[inst->k.region[1]].count > 0) return false;
  const roc_ir_ids *ids = &m->regions.items[inst->k.region[0]];
  return ids->count == 1 && m->insts.items[ids->items[0]].op == ROC_IR_LEAVE;
}
