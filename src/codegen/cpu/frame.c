/* Memory of the items of a group: the frame that the runtime allocates per workgroup.
 *
 * A slot is an array of the frame with `count` elements per item, indexed by the linear local
 * index. Its address is computed once, in the entry block. */
#include "codegen/cpu/cpu.h"

/* Moves the builder to the entry block; returns where it was. */
static LLVMBasicBlockRef enter_entry(roc_cg *cg) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(cg->b);
  LLVMPositionBuilderAtEnd(cg->b, LLVMGetInsertBlock(cg->entry_b));
  return here;
}

enum { SLOT_ALIGN = 64 };

cpu_slot cpu_slot_new(cpu_state *s, LLVMTypeRef type, uint64_t count) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef here = enter_entry(cg);
  LLVMTargetDataRef layout = LLVMGetModuleDataLayout(cg->mod);
  uint64_t item = LLVMABISizeOfType(layout, type) * count;
  cpu_slot slot = {.base = s->frame_end, .type = type};
  LLVMValueRef nbytes = LLVMBuildMul(cg->b, s->slots, roc_cg_i64(cg, (int64_t)item), "");
  nbytes = LLVMBuildAdd(cg->b, nbytes, roc_cg_i64(cg, SLOT_ALIGN - 1), "");
  nbytes = LLVMBuildAnd(cg->b, nbytes, roc_cg_i64(cg, -SLOT_ALIGN), "");
  s->frame_end = roc_cg_byte_offset(cg, s->frame_end, nbytes);
  s->frame_fixed += SLOT_ALIGN;
  s->frame_item += item;
  LLVMPositionBuilderAtEnd(cg->b, here);
  return slot;
}

LLVMValueRef cpu_slot_at(cpu_state *s, const cpu_slot *slot, LLVMValueRef lin) {
  LLVMValueRef index = lin;
  if (s->slot_first) index = LLVMBuildNUWAdd(s->cg->b, s->slot_first, lin, "");
  return LLVMBuildInBoundsGEP2(s->cg->b, slot->type, slot->base, &index, 1, "");
}

LLVMValueRef cpu_slot_item(cpu_state *s, const cpu_slot *slot) {
  return cpu_slot_at(s, slot, s->run->lin);
}
