/* After the optimiser: forms of vectors that LLVM's back end makes slow code of.
 *
 * The optimiser makes `x & 1 ~= 0` a truncation to one bit.  Without AVX-512, which has registers
 * for such bits, the back end moves them through vectors of narrower elements; the comparison of a
 * shifted number with 0 is one shift, since a blend asks for the sign alone. */
#include "codegen/core/repair.h"
#include "codegen/cpu/cpu.h"
#include "codegen/llvm/processor.h"

static bool is_lowest_bits(LLVMValueRef inst) {
  if (!LLVMIsATruncInst(inst)) return false;
  LLVMTypeRef type = LLVMTypeOf(inst), from = LLVMTypeOf(LLVMGetOperand(inst, 0));
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return false;
  return LLVMGetIntTypeWidth(LLVMGetElementType(type)) == 1 &&
         LLVMGetIntTypeWidth(LLVMGetElementType(from)) >= 32;
}

static void rewrite(LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef from = LLVMGetOperand(inst, 0), all[ROC_CG_MOST_LANES];
  LLVMTypeRef type = LLVMTypeOf(from), element = LLVMGetElementType(type);
  unsigned count = LLVMGetVectorSize(type);
  if (count > ROC_CG_MOST_LANES) return;
  for (unsigned i = 0; i < count; i++) {
    all[i] = LLVMConstInt(element, LLVMGetIntTypeWidth(element) - 1, 0);
  }
  LLVMPositionBuilderBefore(b, inst);
  LLVMSetCurrentDebugLocation2(b, NULL);
  LLVMValueRef shifted = LLVMBuildShl(b, from, LLVMConstVector(all, count), "");
  roc_cg_replace(inst, LLVMBuildICmp(b, LLVMIntSLT, shifted, LLVMConstNull(type), ""));
}

void cpu_rewrite_vectors(roc_cg *cg) {
  if (roc_processor_has(cg->tm, "avx512f")) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->ctx);
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
         block = LLVMGetNextBasicBlock(block)) {
      for (LLVMValueRef inst = LLVMGetFirstInstruction(block), next; inst; inst = next) {
        next = LLVMGetNextInstruction(inst);
        if (is_lowest_bits(inst)) rewrite(b, inst);
      }
    }
  }
  LLVMDisposeBuilder(b);
}
