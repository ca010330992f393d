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
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/amdgpu/opaque.h"

namespace {

using branch_list = llvm::SmallVector<llvm::BranchInst *, 4>;
using condition_map = llvm::MapVector<llvm::Instruction *, branch_list>;

/* By condition, the conditional branches. */
condition_map branches_of(llvm::Function &fn) {
  condition_map branches;
  for (llvm::BasicBlock &block : fn) {
    auto *branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional()) continue;
    auto *condition = llvm::dyn_cast<llvm::Instruction>(branch->getCondition());
    if (condition) branches[condition].push_back(branch);
  }
  return branches;
}

/* Whether scalar instructions have the comparison. */
bool is_scalar(const llvm::Instruction *condition) {
  auto *compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
  if (!compare || !compare->getOperand(0)->getType()->isIntegerTy()) return false;
  return compare->isEquality() || compare->getOperand(0)->getType()->getIntegerBitWidth() <= 32;
}

/* Whether the block chooses something by a condition: a number for it, or the lesser of two. */
bool chooses(const llvm::BasicBlock &block) {
  return llvm::any_of(block, [](const llvm::Instruction &inst) {
    if (llvm::isa<llvm::MinMaxIntrinsic>(inst)) return inst.getType()->isIntegerTy(64);
    bool is_choice = llvm::isa<llvm::SelectInst>(inst) || llvm::isa<llvm::CastInst>(inst);
    return is_choice && inst.getOperand(0)->getType()->isIntegerTy(1);
  });
}

bool are_in_one_loop(const branch_list &branches, const llvm::CycleInfo &cycles) {
  const llvm::Cycle *first = cycles.getCycle(branches.front()->getParent());
  return llvm::all_of(branches, [&](const llvm::BranchInst *branch) {
    return cycles.getCycle(branch->getParent()) == first;
  });
}

/* Those of the branches that need a comparison of their own. */
branch_list parted_of(llvm::Instruction *condition, const branch_list &branches,
                      llvm::FunctionAnalysisManager &analyses, const roc_shared_conditions &which) {
  branch_list outer, parted;
  for (llvm::BranchInst *branch : branches) {
    const llvm::BasicBlock *block = branch->getParent();
    if (block != condition->getParent()) {
      outer.push_back(branch);
    } else if (which.with_selects && !is_scalar(condition) && chooses(*block)) {
      parted.push_back(branch);
    }
  }
  if (!which.in_loops || outer.size() < 2) return parted;
  auto &cycles = analyses.getResult<llvm::CycleAnalysis>(*condition->getFunction());
  if (!are_in_one_loop(outer, cycles)) parted.append(outer);
  return parted;
}

/* In a vector register LLVM does not know that all lanes have the same. The number of the first live
 * lane is read where the branch is: nothing moves or joins that. */
void part(llvm::Instruction *condition, const branch_list &branches) {
  llvm::IRBuilder<> b(condition->getContext());
  b.SetInsertPoint(*condition->getInsertionPointAfterDef());
  b.SetCurrentDebugLocation(condition->getDebugLoc());
  llvm::Value *bit = b.CreateZExt(condition, b.getInt32Ty());
  llvm::Value *number = llvm::unwrap(roc_amdgpu_opaque_vector(llvm::wrap(&b), llvm::wrap(bit)));
  for (llvm::BranchInst *branch : branches) {
    b.SetInsertPoint(branch);
    llvm::Value *read =
        b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::amdgcn_readfirstlane, number);
    branch->setCondition(b.CreateICmpNE(read, b.getInt32(0)));
  }
}

void part_those_of(llvm::Function &fn, llvm::TargetMachine *tm,
                   const roc_shared_conditions &which) {
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::CycleAnalysis(); });
  analyses.registerPass([&] { return tm->getTargetIRAnalysis(); });
  condition_map parted;
  for (const auto &[condition, branches] : branches_of(fn)) {
    branch_list some = parted_of(condition, branches, analyses, which);
    if (!some.empty()) parted[condition] = some;
  }
  if (parted.empty()) return;
  llvm::UniformityInfo uniformity = llvm::UniformityInfoAnalysis().run(fn, analyses);
  for (const auto &[condition, branches] : parted) {
    if (!uniformity.isDivergent(condition)) part(condition, branches);
  }
}

}  // namespace

void roc_part_shared_conditions(LLVMModuleRef mod, LLVMTargetMachineRef tm,
                                const roc_shared_conditions *which) {
  for (llvm::Function &fn : *llvm::unwrap(mod)) {
    if (!fn.isDeclaration()) part_those_of(fn, reinterpret_cast<llvm::TargetMachine *>(tm), *which);
  }
}
