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

LLVMValueRef cpu_frame_reserve(cpu_state *s, uint64_t nbytes) {
  LLVMBasicBlockRef here = enter_entry(s->cg);
  LLVMValueRef base = s->frame_end;
  s->frame_end = roc_cg_byte_offset(s->cg, base, roc_cg_i64(s->cg, (int64_t)nbytes));
  s->frame_fixed += nbytes;
  LLVMPositionBuilderAtEnd(s->cg->b, here);
  return base;
}

/* A new array for the items of the chunk. */
static cpu_slot new_chunk_slot(cpu_state *s, LLVMTypeRef type) {
  uint64_t size = (uint64_t)s->chunk.count * s->chunk.rows;
  LLVMValueRef base = roc_cg_alloca(s->cg, LLVMArrayType2(type, size), "");
  return (cpu_slot){.base = base, .type = type, .is_of_chunk = true};
}

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
  if (!slot->is_of_chunk) return cpu_slot_at(s, slot, s->run->lin);
  LLVMValueRef index = LLVMBuildNUWSub(s->cg->b, s->run->x, s->chunk.x, "");
  if (s->chunk.rows > 1) {
    LLVMValueRef row = LLVMBuildNUWSub(s->cg->b, s->run->y, s->chunk.y, "");
    row = LLVMBuildNUWMul(s->cg->b, row, roc_cg_i64(s->cg, s->chunk.count), "");
    index = LLVMBuildNUWAdd(s->cg->b, row, index, "");
  }
  return LLVMBuildInBoundsGEP2(s->cg->b, slot->type, slot->base, &index, 1, "");
}

/* Where a result or variable is kept that had no place yet. */
static cpu_slot *settle_slot(cpu_state *s, cpu_slot *slot, roc_value_type type, uint8_t width) {
  if (slot->base) return slot;
  LLVMTypeRef storage = type == ROC_VT_BOOL ? s->cg->t.i8 : roc_cg_value_type(s->cg, type);
  if (width) storage = roc_cg_width_type(s->cg, width);
  *slot = s->chunk.count ? new_chunk_slot(s, storage) : cpu_slot_new(s, storage, 1);
  return slot;
}

cpu_slot *cpu_value_slot(cpu_state *s, uint32_t id) {
  roc_value_type type = (roc_value_type)s->cg->ir->insts.items[id].type;
  return settle_slot(s, &s->value_slots[id], type, roc_cg_width_of(s->cg, id));
}

cpu_slot *cpu_var_slot(cpu_state *s, uint32_t var) {
  uint8_t width = roc_cg_width_of_var(s->cg, var);
  return settle_slot(s, &s->var_slots[var], s->cg->ir->vars.items[var].type, width);
}
