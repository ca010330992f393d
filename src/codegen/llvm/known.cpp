/* LLVM's analyses have no C interface.  See known.h. */
#include "codegen/llvm/known.h"

#include <algorithm>

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

/* What the bits of a sum's operands say is lost in its own where it carries into its sign. */
llvm::ConstantRange range_of_sum(const llvm::BinaryOperator &sum, bool is_signed,
                                 const llvm::SimplifyQuery &query) {
  auto left = llvm::computeConstantRangeIncludingKnownBits(sum.getOperand(0), is_signed, query);
  auto right = llvm::computeConstantRangeIncludingKnownBits(sum.getOperand(1), is_signed, query);
  return sum.getOpcode() == llvm::Instruction::Sub ? left.sub(right) : left.add(right);
}

llvm::ConstantRange range_of(LLVMModuleRef mod, LLVMValueRef value, bool is_signed) {
  const llvm::Value *v = llvm::unwrap(value);
  llvm::SimplifyQuery query(layout_of(mod));
  auto range = llvm::computeConstantRangeIncludingKnownBits(v, is_signed, query);
  const auto *sum = llvm::dyn_cast<llvm::BinaryOperator>(v);
  bool is_sum = sum && (sum->getOpcode() == llvm::Instruction::Add ||
                        sum->getOpcode() == llvm::Instruction::Sub);
  auto kind = is_signed ? llvm::ConstantRange::Signed : llvm::ConstantRange::Unsigned;
  return is_sum ? range.intersectWith(range_of_sum(*sum, is_signed, query), kind) : range;
}

}  // namespace

uint64_t roc_known_ones(LLVMModuleRef mod, LLVMValueRef value) {
  return llvm::computeKnownBits(thawed(value), layout_of(mod)).One.getZExtValue();
}

unsigned roc_known_width(LLVMModuleRef mod, LLVMValueRef value, bool is_signed) {
  if (is_signed) {
    unsigned width = llvm::ComputeMaxSignificantBits(llvm::unwrap(value), layout_of(mod));
    return std::min(width, range_of(mod, value, true).getMinSignedBits());
  }
  return llvm::computeKnownBits(llvm::unwrap(value), layout_of(mod)).countMaxActiveBits();
}

void roc_known_range(LLVMModuleRef mod, LLVMValueRef value, bool is_signed, double *out_low,
                     double *out_high) {
  auto range = range_of(mod, value, is_signed);
  llvm::APInt low = is_signed ? range.getSignedMin() : range.getUnsignedMin();
  llvm::APInt high = is_signed ? range.getSignedMax() : range.getUnsignedMax();
  *out_low = low.roundToDouble(is_signed);
  *out_high = high.roundToDouble(is_signed);
}
