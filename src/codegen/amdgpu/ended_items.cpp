/* See ended_items.h. */
#include "codegen/amdgpu/ended_items.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Target/TargetMachine.h>

namespace {

using llvm::BasicBlock;
using llvm::BranchInst;
using llvm::Instruction;
using llvm::IntrinsicInst;
using llvm::Value;

struct Settler {
  llvm::Function &fn;
  llvm::DominatorTree &tree;
  llvm::UniformityInfo &uniformity;
  llvm::SmallVector<IntrinsicInst *, 16> ends;
  unsigned wave_size;
  roc_hide_value *hide;
  void *ud;
  llvm::SmallPtrSet<llvm::LoadInst *, 16> &parted;
};

bool is_end(const Instruction &inst) {
  const auto *call = llvm::dyn_cast<IntrinsicInst>(&inst);
  return call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_kill;
}

BranchInst *conditional(BasicBlock *block) {
  auto *branch = llvm::dyn_cast<BranchInst>(block->getTerminator());
  return branch && branch->isConditional() ? branch : nullptr;
}

/* ---- checks of what is common --------------------------------------------------------------- */

/* What is voted on for the condition; nullptr: it is no vote. */
Value *vote_of(Value *condition, int depth) {
  auto *inst = llvm::dyn_cast<Instruction>(condition);
  if (!inst || depth == 0) return nullptr;
  if (auto *call = llvm::dyn_cast<IntrinsicInst>(inst)) {
    bool is_vote = call->getIntrinsicID() == llvm::Intrinsic::amdgcn_ballot;
    return is_vote ? call->getArgOperand(0) : nullptr;
  }
  bool is_seen_through = llvm::isa<llvm::ICmpInst>(inst) || llvm::isa<llvm::CastInst>(inst) ||
                         inst->getOpcode() == Instruction::Xor;
  return is_seen_through ? vote_of(inst->getOperand(0), depth - 1) : nullptr;
}

/* What decides that items come to the end. */
struct Check {
  BasicBlock *block; /* that branches there, or dominates the one that does */
  Value *vote;       /* on what differs between items, maybe; nullptr: that is not known */
};

Check check_of(const Settler &s, const IntrinsicInst *end) {
  enum { MOST_BLOCKS = 4, MOST_OPERATIONS = 4 };
  auto *node = s.tree.getNode(end->getParent());
  if (!node) return {nullptr, nullptr};
  BasicBlock *above = node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  for (int i = 0; node && i < MOST_BLOCKS; i++, node = node->getIDom()) {
    BranchInst *branch = conditional(node->getBlock());
    Value *vote = branch ? vote_of(branch->getCondition(), MOST_OPERATIONS) : nullptr;
    if (vote) return {node->getBlock(), vote};
  }
  return {above, nullptr};
}

/* Each load that comes after the check, of one place for all, is done for each item. */
void part_loads(const Settler &s, const Check &check) {
  for (Instruction &inst : llvm::instructions(s.fn)) {
    auto *load = llvm::dyn_cast<llvm::LoadInst>(&inst);
    if (!load || !s.uniformity.isUniform(load)) continue;
    if (check.block && !s.tree.properlyDominates(check.block, load->getParent())) continue;
    if (!s.parted.insert(load).second) continue;
    llvm::IRBuilder<> b(load);
    LLVMValueRef address = llvm::wrap(load->getPointerOperand());
    load->setOperand(0, llvm::unwrap(s.hide(s.ud, llvm::wrap(&b), address)));
  }
}

/* ---- loops ------------------------------------------------------------------------------------ */

/* The mask of them, here.  LLVM knows of a vote that there is one. */
Value *live_items(const Settler &s, llvm::IRBuilder<> &b) {
  bool is_half = s.wave_size == 32;
  auto *type = llvm::FunctionType::get(b.getIntNTy(s.wave_size), false);
  return b.CreateCall(llvm::InlineAsm::get(
      type, is_half ? "s_mov_b32 $0, exec_lo" : "s_mov_b64 $0, exec", "=s", true));
}

/* Where the branch leaves the loop the wavefront does, too, when no item is left.  By a branch of its
 * own, of scalars: a condition in a mask of items has no bits then. */
void leave_without_items(const Settler &s, BranchInst *branch, const llvm::Loop &loop) {
  BasicBlock *block = branch->getParent();
  BasicBlock *out = branch->getSuccessor(loop.contains(branch->getSuccessor(0)) ? 1 : 0);
  BasicBlock *rest = block->splitBasicBlock(branch->getIterator());
  llvm::IRBuilder<> b(block->getTerminator());
  Value *left = live_items(s, b);
  b.CreateCondBr(b.CreateICmpEQ(left, llvm::ConstantInt::get(left->getType(), 0)), out, rest);
  block->getTerminator()->eraseFromParent();
  for (llvm::PHINode &phi : out->phis()) {
    phi.addIncoming(phi.getIncomingValueForBlock(rest), block);
  }
}

/* Of a loop that is left nowhere. */
void return_without_items(const Settler &s, BasicBlock *latch) {
  auto *jump = llvm::dyn_cast<BranchInst>(latch->getTerminator());
  if (!jump || jump->isConditional()) return;
  BasicBlock *end = BasicBlock::Create(s.fn.getContext(), "", &s.fn);
  llvm::ReturnInst::Create(s.fn.getContext(), end);
  llvm::IRBuilder<> b(jump);
  Value *left = live_items(s, b);
  Value *none = b.CreateICmpEQ(left, llvm::ConstantInt::get(left->getType(), 0));
  b.CreateCondBr(none, end, jump->getSuccessor(0));
  jump->eraseFromParent();
}

void settle_loop(const Settler &s, llvm::Loop &loop) {
  llvm::SmallVector<BasicBlock *, 8> exiting, latches;
  loop.getExitingBlocks(exiting);
  loop.getLoopLatches(latches);
  BranchInst *last = nullptr;
  for (BasicBlock *block : exiting) {
    BranchInst *branch = conditional(block);
    if (!branch || s.uniformity.isDivergent(branch->getCondition())) return; /* by a mask */
    bool is_always_passed =
        llvm::all_of(latches, [&](BasicBlock *latch) { return s.tree.dominates(block, latch); });
    if (is_always_passed) last = branch;
  }
  if (last) {
    leave_without_items(s, last, loop);
  } else {
    for (BasicBlock *latch : latches) return_without_items(s, latch);
  }
}

/* ---- loads ------------------------------------------------------------------------------------ */

/* Whether a scalar instruction loads it, whichever items there are. */
bool is_scalar_load(const llvm::LoadInst &load) {
  enum { SHARED = 3, CONSTANT = 4, PRIVATE = 5, SCALAR_BITS = 32 };
  unsigned space = load.getPointerAddressSpace();
  if (space == PRIVATE) return true; /* it differs for each item, and LLVM knows */
  const llvm::DataLayout &layout = load.getModule()->getDataLayout();
  if (space == SHARED || layout.getTypeSizeInBits(load.getType()) < SCALAR_BITS) return false;
  if (space == CONSTANT || load.hasMetadata(llvm::LLVMContext::MD_invariant_load)) return true;
  const auto *of =
      llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(load.getPointerOperand()));
  return of && of->onlyReadsMemory() && of->hasNoAliasAttr();
}

void hide_load(const Settler &s, llvm::LoadInst *load) {
  llvm::IRBuilder<> b(load->getNextNode());
  Value *hidden = llvm::unwrap(s.hide(s.ud, llvm::wrap(&b), llvm::wrap(load)));
  load->replaceUsesWithIf(hidden, [&](llvm::Use &use) {
    auto *user = llvm::dyn_cast<Instruction>(use.getUser());
    return user && user != hidden &&
           !(user->getParent() == load->getParent() &&
             user->comesBefore(llvm::cast<Instruction>(hidden)));
  });
}

/* ---- all of it -------------------------------------------------------------------------------- */

void settle(llvm::Function &fn, llvm::TargetMachine *tm, unsigned wave_size, roc_hide_value *hide,
            void *ud) {
  llvm::SmallVector<IntrinsicInst *, 16> ends;
  for (Instruction &inst : llvm::instructions(fn)) {
    if (is_end(inst)) ends.push_back(llvm::cast<IntrinsicInst>(&inst));
  }
  if (ends.empty()) return;
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::CycleAnalysis(); });
  analyses.registerPass([&] { return tm->getTargetIRAnalysis(); });
  llvm::UniformityInfo uniformity = llvm::UniformityInfoAnalysis().run(fn, analyses);
  auto &tree = analyses.getResult<llvm::DominatorTreeAnalysis>(fn);
  llvm::LoopInfo loops(tree);
  llvm::SmallPtrSet<llvm::LoadInst *, 16> parted;
  Settler s{fn, tree, uniformity, ends, wave_size, hide, ud, parted};
  llvm::SmallVector<llvm::LoadInst *, 16> loads;
  for (Instruction &inst : llvm::instructions(fn)) {
    auto *load = llvm::dyn_cast<llvm::LoadInst>(&inst);
    if (load && uniformity.isUniform(load) && !is_scalar_load(*load)) loads.push_back(load);
  }
  llvm::SmallPtrSet<llvm::Loop *, 8> around;
  llvm::SmallVector<Check, 16> common;
  for (IntrinsicInst *end : ends) {
    Check check = check_of(s, end);
    if (!check.vote || uniformity.isUniform(check.vote)) common.push_back(check);
    for (llvm::Loop *l = loops.getLoopFor(end->getParent()); l; l = l->getParentLoop()) {
      around.insert(l);
    }
  }
  for (const Check &check : common) part_loads(s, check);
  for (llvm::Loop *loop : around) settle_loop(s, *loop);
  for (llvm::LoadInst *load : loads) hide_load(s, load);
}

}  // namespace

void roc_settle_ended_items(LLVMModuleRef mod, LLVMTargetMachineRef tm, unsigned wave_size,
                            roc_hide_value *hide, void *ud) {
  for (llvm::Function &fn : *llvm::unwrap(mod)) {
    if (fn.isDeclaration()) continue;
    settle(fn, reinterpret_cast<llvm::TargetMachine *>(tm), wave_size, hide, ud);
  }
}
