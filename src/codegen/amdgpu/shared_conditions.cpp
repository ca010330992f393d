/* LLVM's analysis of what is the same for all work-items has no C interface.  See
 * shared_conditions.h. */
#include "codegen/amdgpu/shared_conditions.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Target/TargetMachine.h>

namespace {

using branch_list = llvm::SmallVector<llvm::BranchInst *, 4>;
using condition_map = llvm::MapVector<llvm::Instruction *, branch_list>;

/* Conditions from other blocks that several branches go by. */
condition_map shared_of(llvm::Function &fn) {
  condition_map shared;
  for (llvm::BasicBlock &block : fn) {
    auto *branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional()) continue;
    auto *condition = llvm::dyn_cast<llvm::Instruction>(branch->getCondition());
    if (condition && condition->getParent() != &block) shared[condition].push_back(branch);
  }
  shared.remove_if([](const auto &entry) { return entry.second.size() < 2; });
  return shared;
}

bool are_in_one_loop(const branch_list &branches, const llvm::CycleInfo &cycles) {
  const llvm::Cycle *first = cycles.getCycle(branches.front()->getParent());
  return llvm::all_of(branches, [&](const llvm::BranchInst *branch) {
    return cycles.getCycle(branch->getParent()) == first;
  });
}

/* By way of empty assembly: LLVM knows nothing of the result, and leaves it where it is. */
llvm::Value *pass(llvm::IRBuilder<> &b, llvm::Value *number, const char *constraint) {
  llvm::Type *type = number->getType();
  auto *of = llvm::FunctionType::get(type, type, false);
  llvm::CallInst *passed = b.CreateCall(llvm::InlineAsm::get(of, "", constraint, false), number);
  passed->setDoesNotAccessMemory();
  passed->setDoesNotThrow();
  passed->setConvergent();
  return passed;
}

/* LLVM gives the number a vector register, out of which it takes no scalar one by itself. */
llvm::Value *scalar_of(llvm::IRBuilder<> &b, llvm::Value *condition) {
  llvm::Value *number = pass(b, b.CreateZExt(condition, b.getInt32Ty()), "=v,0");
  return b.CreateIntrinsic(number->getType(), llvm::Intrinsic::amdgcn_readfirstlane, number);
}

void part(llvm::Instruction *condition, const branch_list &branches) {
  llvm::IRBuilder<> b(condition->getContext());
  b.SetInsertPoint(*condition->getInsertionPointAfterDef());
  b.SetCurrentDebugLocation(condition->getDebugLoc());
  llvm::Value *number = scalar_of(b, condition);
  for (llvm::BranchInst *branch : branches) {
    b.SetInsertPoint(branch);
    branch->setCondition(b.CreateICmpNE(pass(b, number, "=s,0"), b.getInt32(0)));
  }
}

void part_those_of(llvm::Function &fn, llvm::TargetMachine *tm) {
  condition_map shared = shared_of(fn);
  if (shared.empty()) return;
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::CycleAnalysis(); });
  analyses.registerPass([&] { return tm->getTargetIRAnalysis(); });
  const llvm::CycleInfo &cycles = analyses.getResult<llvm::CycleAnalysis>(fn);
  shared.remove_if([&](const auto &entry) { return are_in_one_loop(entry.second, cycles); });
  if (shared.empty()) return;
  llvm::UniformityInfo uniformity = llvm::UniformityInfoAnalysis().run(fn, analyses);
  shared.remove_if([&](const auto &entry) { return uniformity.isDivergent(entry.first); });
  for (const auto &[condition, branches] : shared) part(condition, branches);
}

}  // namespace

void roc_part_shared_conditions(LLVMModuleRef mod, LLVMTargetMachineRef tm) {
  for (llvm::Function &fn : *llvm::unwrap(mod)) {
    if (!fn.isDeclaration()) part_those_of(fn, reinterpret_cast<llvm::TargetMachine *>(tm));
  }
}
