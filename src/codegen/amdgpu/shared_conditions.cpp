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

/* In a vector register, by way of empty assembly: LLVM does not know that all lanes have the same. */
llvm::Value *pass(llvm::IRBuilder<> &b, llvm::Value *number) {
  llvm::Type *type = number->getType();
  auto *of = llvm::FunctionType::get(type, type, false);
  llvm::CallInst *passed = b.CreateCall(llvm::InlineAsm::get(of, "", "=v,0", false), number);
  passed->setDoesNotAccessMemory();
  passed->setDoesNotThrow();
  return passed;
}

/* The number of the first live lane is read where the branch is: nothing moves or joins that. */
void part(llvm::Instruction *condition, const branch_list &branches) {
  llvm::IRBuilder<> b(condition->getContext());
  b.SetInsertPoint(*condition->getInsertionPointAfterDef());
  b.SetCurrentDebugLocation(condition->getDebugLoc());
  llvm::Value *number = pass(b, b.CreateZExt(condition, b.getInt32Ty()));
  for (llvm::BranchInst *branch : branches) {
    b.SetInsertPoint(branch);
    llvm::Value *read =
        b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::amdgcn_readfirstlane, number);
    branch->setCondition(b.CreateICmpNE(read, b.getInt32(0)));
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
