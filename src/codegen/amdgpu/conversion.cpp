/* See conversion.h.  The branch is of the whole wavefront, so it costs a comparison and a jump that is
 * hardly ever taken; the conversion of 64 bits stands out of the way. */
#include "codegen/amdgpu/conversion.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace {

using llvm::Instruction;
using llvm::IRBuilder;
using llvm::Value;

bool is_to_wide(const Instruction &inst) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
  return call && call->getIntrinsicID() == llvm::Intrinsic::fptosi_sat &&
         call->getType()->isIntegerTy(64);
}

/* To float32 from an integer of 64 bits; of float64 the conversion is short. */
bool is_from_wide(const Instruction &inst, const llvm::DataLayout &layout) {
  if (!llvm::isa<llvm::SIToFPInst>(inst) || !inst.getType()->isFloatTy()) return false;
  const Value *from = inst.getOperand(0);
  const auto *whole = llvm::dyn_cast<Instruction>(from);
  if (whole && is_to_wide(*whole)) return false; /* has been bypassed with it */
  return from->getType()->isIntegerTy(64) && llvm::ComputeNumSignBits(from, layout) <= 32;
}

/* Whether 32 bits do not hold the integer, or what the float is without its fraction. */
Value *exceeds_half(IRBuilder<> &builder, Instruction &inst, bool is_from) {
  Value *x = inst.getOperand(0);
  if (is_from) {
    Value *low = builder.CreateTrunc(x, builder.getInt32Ty());
    return builder.CreateICmpNE(builder.CreateSExt(low, x->getType()), x);
  }
  Value *size = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  return builder.CreateFCmpUGE(size, llvm::ConstantFP::get(x->getType(), 0x1p31));
}

Value *holds_for_all(IRBuilder<> &builder, Value *exceeds, unsigned wave_size) {
  llvm::Type *lanes = builder.getIntNTy(wave_size);
  Value *which = builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot, {lanes}, {exceeds});
  return builder.CreateICmpEQ(which, llvm::ConstantInt::get(lanes, 0));
}

Value *convert_half(IRBuilder<> &builder, Instruction &inst, bool is_from, llvm::Type *type) {
  Value *x = inst.getOperand(0);
  if (is_from) return builder.CreateSIToFP(builder.CreateTrunc(x, builder.getInt32Ty()), type);
  Value *half = builder.CreateFPToSI(x, builder.getInt32Ty());
  return type == half->getType() ? half : builder.CreateSExt(half, type);
}

/* What the integer becomes as such a float again, which is not -0. */
Value *make_whole(IRBuilder<> &builder, Value *x) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(x);
  bool is_whole = call && (call->getIntrinsicID() == llvm::Intrinsic::floor ||
                           call->getIntrinsicID() == llvm::Intrinsic::ceil);
  if (!is_whole) x = builder.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  return builder.CreateFAdd(x, llvm::ConstantFP::get(x->getType(), 0.0));
}

/* A conversion and the ends of the two blocks in front of it. */
struct Fork {
  Instruction &inst;
  Instruction *half, *whole; /* where 32 bits do, and where they do not */
};

/* Users after the fork, of the kind `Kind`. */
template <typename Kind>
llvm::SmallVector<Kind *, 4> users_after(const Fork &fork) {
  llvm::SmallVector<Kind *, 4> users;
  for (llvm::User *user : fork.inst.users()) {
    auto *found = llvm::dyn_cast<Kind>(user);
    bool is_inside = llvm::cast<Instruction>(user)->getParent() == fork.whole->getParent();
    if (found && !is_inside) users.push_back(found);
  }
  return users;
}

/* Uses of an integer as a float of the type that it is made from take the float. */
void return_float(const Fork &fork) {
  Value *x = fork.inst.getOperand(0);
  llvm::SIToFPInst *first = nullptr;
  llvm::PHINode *result = nullptr;
  for (llvm::SIToFPInst *back : users_after<llvm::SIToFPInst>(fork)) {
    if (back->getType() != x->getType()) continue;
    IRBuilder<> builder(&fork.inst);
    if (!result) result = builder.CreatePHI(x->getType(), 2);
    back->replaceAllUsesWith(result);
    if (first) {
      back->eraseFromParent();
      continue;
    }
    first = back;
    first->moveBefore(fork.whole->getIterator());
    builder.SetInsertPoint(fork.half);
    result->addIncoming(make_whole(builder, x), fork.half->getParent());
    result->addIncoming(first, fork.whole->getParent());
  }
}

/* Users that all see no more than the lower half take that. */
bool return_lower_half(const Fork &fork) {
  auto users = users_after<Instruction>(fork);
  auto cuts = users_after<llvm::TruncInst>(fork);
  llvm::Type *half = llvm::Type::getInt32Ty(fork.inst.getContext());
  bool suffices = cuts.size() == users.size();
  for (const llvm::TruncInst *cut : cuts) suffices &= cut->getType()->getIntegerBitWidth() <= 32;
  if (!suffices) return false;
  IRBuilder<> builder(&fork.inst);
  llvm::PHINode *result = builder.CreatePHI(half, 2);
  for (llvm::TruncInst *cut : cuts) {
    builder.SetInsertPoint(cut);
    cut->replaceAllUsesWith(builder.CreateTrunc(result, cut->getType()));
    cut->eraseFromParent();
  }
  builder.SetInsertPoint(fork.half);
  result->addIncoming(convert_half(builder, fork.inst, false, half), fork.half->getParent());
  builder.SetInsertPoint(fork.whole);
  result->addIncoming(builder.CreateTrunc(&fork.inst, half), fork.whole->getParent());
  return true;
}

void return_all(const Fork &fork, bool is_from) {
  IRBuilder<> builder(&fork.inst);
  llvm::PHINode *result = builder.CreatePHI(fork.inst.getType(), 2);
  for (Instruction *user : users_after<Instruction>(fork)) {
    if (user != result) user->replaceUsesOfWith(&fork.inst, result);
  }
  builder.SetInsertPoint(fork.half);
  result->addIncoming(convert_half(builder, fork.inst, is_from, result->getType()),
                      fork.half->getParent());
  result->addIncoming(&fork.inst, fork.whole->getParent());
}

void bypass(Instruction &inst, bool is_from, unsigned wave_size) {
  IRBuilder<> builder(&inst);
  Value *holds = holds_for_all(builder, exceeds_half(builder, inst, is_from), wave_size);
  Fork fork{inst, nullptr, nullptr};
  llvm::MDNode *weights = llvm::MDBuilder(inst.getContext()).createBranchWeights(2000, 1);
  llvm::SplitBlockAndInsertIfThenElse(holds, inst.getIterator(), &fork.half, &fork.whole, weights);
  if (!is_from) return_float(fork);
  if (is_from || !return_lower_half(fork)) return_all(fork, is_from);
  inst.moveBefore(fork.whole->getParent()->getFirstNonPHIIt());
}

llvm::SmallVector<Instruction *, 16> find(LLVMModuleRef mod, bool is_from) {
  const llvm::DataLayout &layout = llvm::unwrap(mod)->getDataLayout();
  llvm::SmallVector<Instruction *, 16> found;
  for (llvm::Function &fn : *llvm::unwrap(mod)) {
    for (Instruction &inst : llvm::instructions(fn)) {
      if (is_from ? is_from_wide(inst, layout) : is_to_wide(inst)) found.push_back(&inst);
    }
  }
  return found;
}

}  // namespace

void roc_bypass_conversions(LLVMModuleRef mod, unsigned wave_size) {
  for (Instruction *inst : find(mod, false)) bypass(*inst, false, wave_size);
  for (Instruction *inst : find(mod, true)) bypass(*inst, true, wave_size);
}
