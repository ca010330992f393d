/* See fields.h. */
#include "codegen/core/fields.h"

#include <ctype.h>

#include "ir/layout.h"

/* Keeps the list in the order of the offsets. */
static void add_field(roc_cg_field_list *fields, roc_cg_arg added) {
  unsigned at = fields->count++;
  while (at > 0 && fields->items[at - 1].offset > added.offset) {
    fields->items[at] = fields->items[at - 1];
    at--;
  }
  fields->items[at] = added;
}

static LLVMTypeRef scalar_type(const roc_cg *cg, const roc_ir_param *param) {
  if (param->type.value == ROC_VT_BOOL) return cg->t.i8;
  if (param->type.value == ROC_VT_INT && param->type.is_narrow) return cg->t.i32;
  return roc_cg_value_type(cg, param->type.value);
}

static void add_param(roc_cg *cg, roc_cg_field_list *fields, uint32_t i, const roc_arg_slot *slot) {
  const roc_ir_param *param = &cg->ir->params.items[i];
  if (!roc_arg_is_array(&param->type)) {
    add_field(fields, (roc_cg_arg){scalar_type(cg, param), slot->offset, i});
    return;
  }
  LLVMTypeRef size = param->type.is_narrow ? cg->t.i32 : cg->t.i64;
  LLVMTypeRef data = LLVMPointerTypeInContext(cg->ctx, cg->target->global_space);
  uint32_t step = param->type.is_narrow ? 4 : 8;
  add_field(fields, (roc_cg_arg){data, slot->offset, i});
  for (uint32_t d = 0; d < param->type.rank; d++) {
    add_field(fields, (roc_cg_arg){size, slot->extents_offset + d * step, i});
    if (roc_arg_has_strides(&param->type))
      add_field(fields, (roc_cg_arg){size, slot->strides_offset + d * step, i});
  }
}

roc_cg_field_list roc_cg_list_fields(roc_cg *cg, const LLVMTypeRef *own, unsigned nown) {
  const roc_ir_module *ir = cg->ir;
  unsigned most = (1 + 2 * ROC_MAX_RANK) * ir->params.count + nown;
  roc_arg_slot *slots = ROC_ARENA_ARRAY(&cg->arena, roc_arg_slot, ir->params.count + 1);
  roc_cg_field_list fields = {.items = ROC_ARENA_ARRAY(&cg->arena, roc_cg_arg, most),
                              .types = ROC_ARENA_ARRAY(&cg->arena, LLVMTypeRef, most)};
  if (!slots || !fields.items || !fields.types) return fields;
  LLVMTargetDataRef layout = LLVMGetModuleDataLayout(cg->mod);
  uint32_t end = roc_ir_layout_args(ir, slots);
  for (uint32_t i = 0; i < ir->params.count; i++) add_param(cg, &fields, i, &slots[i]);
  for (unsigned i = 0; i < nown; i++) {
    uint32_t nbytes = (uint32_t)LLVMABISizeOfType(layout, own[i]);
    end = (end + nbytes - 1) / nbytes * nbytes;
    add_field(&fields, (roc_cg_arg){own[i], end, ROC_IR_NONE});
    end += nbytes;
  }
  for (unsigned i = 0; i < fields.count; i++) fields.types[i] = fields.items[i].type;
  return fields;
}

LLVMValueRef roc_cg_field_at(const roc_cg *cg, const roc_cg_field_list *fields, uint32_t offset) {
  unsigned arg = 0;
  while (fields->items[arg].offset != offset) arg++;
  return LLVMGetParam(cg->fn, arg);
}

const char *roc_cg_kernel_symbol(roc_cg *cg) {
  if (cg->options->symbol) return cg->options->symbol;
  char *symbol = roc_arena_printf(&cg->arena, "roc_%s", cg->ir->name);
  for (char *c = symbol; c && *c; c++) {
    if (!isalnum((unsigned char)*c)) *c = '_';
  }
  return symbol;
}
