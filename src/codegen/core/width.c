/* Integers in as few bits as hold them (ir/value_widths.h), for a target whose vectors have more of
 * narrow ones.
 *
 * Values between instructions are i64 all the same: what is narrow is extended, and taken back by
 * its user, so that LLVM finds both and removes them.  LLVM is told nothing of what does not wrap:
 * what is proved holds for work-items that come to the instruction. */
#include "codegen/core/cg.h"

uint8_t roc_cg_width_of_var(const roc_cg *cg, uint32_t var) {
  return cg->widths.vars ? cg->widths.vars[var] : 0;
}

uint8_t roc_cg_width_of(const roc_cg *cg, uint32_t id) {
  bool is_int = cg->ir->insts.items[id].type == ROC_VT_INT;
  return cg->widths.insts && is_int ? cg->widths.insts[id] : 0;
}

LLVMTypeRef roc_cg_width_type(const roc_cg *cg, uint8_t width) {
  return LLVMIntTypeInContext(cg->ctx, width & ROC_IR_WIDTH_BITS);
}

LLVMValueRef roc_cg_width_extend(roc_cg *cg, LLVMValueRef held, uint8_t width) {
  if (!width) return held;
  LLVMTypeRef type = LLVMInt64TypeInContext(cg->ctx);
  if (LLVMGetTypeKind(LLVMTypeOf(held)) == LLVMVectorTypeKind) {
    type = LLVMVectorType(type, LLVMGetVectorSize(LLVMTypeOf(held)));
  }
  return width & ROC_IR_WIDTH_SIGNED ? LLVMBuildSExt(cg->b, held, type, "")
                                     : LLVMBuildZExt(cg->b, held, type, "");
}

/* Of what was extended from as few bits or fewer, without the way through 64. */
LLVMValueRef roc_cg_width_take(roc_cg *cg, LLVMValueRef value, uint8_t width) {
  if (!width) return value;
  LLVMTypeRef type = roc_cg_width_type(cg, width);
  if (LLVMIsAZExtInst(value) || LLVMIsASExtInst(value)) {
    LLVMValueRef from = LLVMGetOperand(value, 0);
    unsigned held = LLVMGetIntTypeWidth(LLVMTypeOf(from)), wanted = width & ROC_IR_WIDTH_BITS;
    if (held == wanted) return from;
    if (held < wanted) {
      return LLVMIsAZExtInst(value) ? LLVMBuildZExt(cg->b, from, type, "")
                                    : LLVMBuildSExt(cg->b, from, type, "");
    }
  }
  return LLVMBuildTrunc(cg->b, value, type, "");
}
