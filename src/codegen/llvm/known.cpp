/* LLVM's analyses have no C interface.  See known.h. */
#include "codegen/llvm/known.h"

#include <llvm/Analysis/SimplifyQuery.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownBits.h>

namespace {

const llvm::DataLayout &layout_of(LLVMModuleRef mod) {
  return llvm::unwrap(mod)->getDataLayout();
}

/* LLVM knows nothing of a freeze whose operand might be poison. No integer of a kernel is poison, and
 * the instruction becomes a copy. */
const llvm::Value *thawed(LLVMValueRef value) {
  const llvm::Value *v = llvm::unwrap(value);
  while (const auto *freeze = llvm::dyn_cast<llvm::FreezeInst>(v)) v = freeze->getOperand(0);
  return v;
}

}  // namespace

uint64_t roc_known_ones(LLVMModuleRef mod, LLVMValueRef value) {
  return llvm::computeKnownBits(thawed(value), layout_of(mod)).One.getZExtValue();
}

unsigned roc_known_width(LLVMModuleRef mod, LLVMValueRef value, bool is_signed) {
  if (is_signed) return llvm::ComputeMaxSignificantBits(llvm::unwrap(value), layout_of(mod));
  return llvm::computeKnownBits(llvm::unwrap(value), layout_of(mod)).countMaxActiveBits();
}

void roc_known_range(LLVMModuleRef mod, LLVMValueRef value, bool is_signed, double *out_low,
                     double *out_high) {
  llvm::SimplifyQuery query(layout_of(mod));
  auto range = llvm::computeConstantRangeIncludingKnownBits(llvm::unwrap(value), is_signed, query);
  llvm::APInt low = is_signed ? range.getSignedMin() : range.getUnsignedMin();
  llvm::APInt high = is_signed ? range.getSignedMax() : range.getUnsignedMax();
  *out_low = low.roundToDouble(is_signed);
  *out_high = high.roundToDouble(is_signed);
}
