/* LLVM's analyses have no C interface.  See known.h. */
#include "codegen/llvm/known.h"

#include <llvm/Analysis/ValueTracking.h>
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
