/* What works around the defects of LLVM's loop vectoriser (llvm/quirks.def), in a pass before it.
 *
 * MASKED_LOAD. It concerns loads under a condition from memory that the loop writes. The vectoriser
 * makes each a load with a mask, and later on a select of "condition ? loaded : other", which is
 * then joined with the load where the select is: after the store. A frozen load is not joined.
 *
 * NARROW_COUNTERS. It concerns counters taken modulo two powers of two. The vectoriser makes two
 * loops: one for counters of some bits that do not wrap, and one for those that do; it takes the
 * check for a wider counter for one of a narrower, of the same first value and step. So one loop
 * keeps the counters of one width, the widest; those of others are frozen, and no counters to LLVM.
 *
 * UNIFORM_VALUES. The vectoriser is kept off loops for which it would not end.
 *
 * UNIFORM_DIVISION. It concerns divisions under a condition of what is the same in every round. The
 * vectoriser makes one for each lane that the condition holds for, and gives all of them that of
 * lane 0, which need not be there. Such a division is computed before the loop, by 1 where it would
 * trap; where it cannot be, the vectoriser is kept off the loop. */
#include "codegen/llvm/before_vectorize.h"
#include "codegen/core/quirk.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/LoopIterator.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace {

using llvm::Instruction;
using llvm::Loop;

bool freeze(Instruction *value) {
  llvm::IRBuilder<> builder(value->getNextNode());
  auto *frozen = llvm::cast<Instruction>(builder.CreateFreeze(value));
  value->replaceUsesWithIf(frozen, [&](llvm::Use &use) { return use.getUser() != frozen; });
  return true;
}

bool is_free_to_freeze(const Instruction &value) {
  return !value.use_empty() && !llvm::isa<llvm::FreezeInst>(*value.user_begin());
}

bool writes(const Loop &loop) {
  for (llvm::BasicBlock *block : loop.blocks()) {
    for (Instruction &inst : *block) {
      if (inst.mayWriteToMemory()) return true;
    }
  }
  return false;
}

bool can_be_masked(const Instruction &inst, const llvm::TargetTransformInfo &target) {
  const auto *load = llvm::dyn_cast<llvm::LoadInst>(&inst);
  return load && is_free_to_freeze(inst) &&
         target.isLegalMaskedLoad(load->getType(), load->getAlign(),
                                  load->getPointerAddressSpace());
}

bool freeze_guarded_loads(const Loop &loop, const llvm::DominatorTree &dominators,
                          const llvm::TargetTransformInfo &target) {
  llvm::BasicBlock *latch = loop.getLoopLatch();
  if (!latch || !writes(loop)) return false;
  bool is_changed = false;
  for (llvm::BasicBlock *block : loop.blocks()) {
    if (dominators.dominates(block, latch)) continue;
    for (Instruction &inst : llvm::make_early_inc_range(*block)) {
      if (can_be_masked(inst, target)) is_changed |= freeze(&inst);
    }
  }
  return is_changed;
}

/* The bits of the counters of the loop that are widened in the expression, which wrap first as far
 * as is known; 0: there are none. */
unsigned narrow_bits(const llvm::SCEV *expression, const Loop &loop) {
  unsigned nbits = 0;
  llvm::SCEVExprContains(expression, [&](const llvm::SCEV *part) {
    const auto *cast = llvm::dyn_cast<llvm::SCEVCastExpr>(part);
    if (!cast || llvm::isa<llvm::SCEVTruncateExpr>(cast)) return false;
    const auto *counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(cast->getOperand());
    if (!counter || counter->getLoop() != &loop || !counter->getType()->isIntegerTy()) return false;
    nbits = counter->getType()->getIntegerBitWidth();
    return true;
  });
  return nbits;
}

/* Whether SCEV may see a number of fewer bits in it, made wider. */
bool may_widen(const Instruction &inst) {
  switch (inst.getOpcode()) {
    case Instruction::And:
    case Instruction::AShr:
    case Instruction::SExt:
    case Instruction::URem:
    case Instruction::Xor:
    case Instruction::ZExt: return inst.getType()->isIntegerTy();
    default: return false;
  }
}

bool freeze_narrow_counters(const Loop &loop, llvm::ScalarEvolution &evolution) {
  llvm::SmallVector<std::pair<Instruction *, unsigned>, 8> counters;
  unsigned widest = 0;
  for (llvm::BasicBlock *block : loop.blocks()) {
    for (Instruction &inst : *block) {
      if (!may_widen(inst) || !is_free_to_freeze(inst)) continue;
      unsigned nbits = narrow_bits(evolution.getSCEV(&inst), loop);
      if (nbits) counters.push_back({&inst, nbits});
      widest = std::max(widest, nbits);
    }
  }
  bool is_changed = false;
  for (auto [inst, nbits] : counters) {
    if (nbits != widest) is_changed |= freeze(inst);
  }
  return is_changed;
}

/* How often a walk from a value to what it is made of meets that, beyond which the loop stays as it
 * is. */
constexpr uint64_t most_ways = 1 << 20;

/* Ways to the operands of a value that is the same in every round, which all must be; 0: it is not.
 */
using way_counts = llvm::DenseMap<const llvm::Value *, uint64_t>;

bool add_ways(const way_counts &ways, const Loop &loop, const llvm::Value *value, uint64_t *sum) {
  if (loop.isLoopInvariant(value) || llvm::isa<llvm::BasicBlock>(value)) return true;
  auto known = ways.find(value);
  if (known == ways.end()) return false;
  *sum += known->second;
  return true;
}

/* What joins where paths meet depends on the conditions of the branches as well. */
bool add_conditions(const way_counts &ways, const Loop &loop, const llvm::PHINode &phi,
                    uint64_t *sum) {
  return llvm::all_of(phi.blocks(), [&](const llvm::BasicBlock *from) {
    const Instruction *branch = from->getTerminator();
    return branch->getNumOperands() == 1 || add_ways(ways, loop, branch->getOperand(0), sum);
  });
}

/* Counts the ways of all values that are the same in every round. False: of some there are more
 * than there is time for: the vectoriser asks of a value whether it is the same for all lanes, and
 * so of each of its operands; LLVM 22 forgets the answers, so that a chain of values that use the
 * one before twice takes twice as long with each. */
bool count_ways(const Loop &loop, const llvm::LoopInfo &loops, way_counts *ways) {
  llvm::LoopBlocksRPO blocks(const_cast<Loop *>(&loop));
  blocks.perform(&loops);
  for (llvm::BasicBlock *block : blocks) {
    for (Instruction &inst : *block) {
      const auto *phi = llvm::dyn_cast<llvm::PHINode>(&inst);
      if (inst.mayWriteToMemory() || (phi && block == loop.getHeader())) continue;
      uint64_t sum = 1;
      bool is_same = llvm::all_of(inst.operand_values(), [&](const llvm::Value *operand) {
        return add_ways(*ways, loop, operand, &sum);
      });
      if (is_same && phi) is_same = add_conditions(*ways, loop, *phi, &sum);
      if (is_same) (*ways)[&inst] = sum;
      if (is_same && sum > most_ways) return false;
    }
  }
  return true;
}

/* Moves a division before the loop; `by` 1 where it would trap. */
bool hoist_division(Instruction *division, Loop *loop, llvm::ScalarEvolution *evolution) {
  llvm::BasicBlock *preheader = loop->getLoopPreheader();
  if (!preheader) return false;
  bool is_changed = false;
  for (llvm::Value *operand : division->operand_values()) {
    if (!loop->makeLoopInvariant(operand, is_changed, nullptr, nullptr, evolution)) return false;
  }
  llvm::IRBuilder<> builder(preheader->getTerminator());
  llvm::Value *a = builder.CreateFreeze(division->getOperand(0));
  llvm::Value *by = builder.CreateFreeze(division->getOperand(1));
  llvm::Value *traps = builder.CreateIsNull(by);
  if (division->getOpcode() == Instruction::SDiv || division->getOpcode() == Instruction::SRem) {
    auto least = llvm::APInt::getSignedMinValue(by->getType()->getScalarSizeInBits());
    llvm::Value *overflows =
        builder.CreateAnd(builder.CreateICmpEQ(a, llvm::ConstantInt::get(a->getType(), least)),
                          builder.CreateICmpEQ(by, llvm::Constant::getAllOnesValue(by->getType())));
    traps = builder.CreateOr(traps, overflows);
  }
  division->setOperand(0, a);
  division->setOperand(1,
                       builder.CreateSelect(traps, llvm::ConstantInt::get(by->getType(), 1), by));
  division->moveBefore(preheader->getTerminator()->getIterator());
  division->dropPoisonGeneratingFlags();
  return true;
}

/* Whether the vectoriser may have the loop: each division under a condition of what is the same in
 * every round is before it now. */
bool hoist_divisions(Loop *loop, const way_counts &ways, const llvm::DominatorTree &dominators,
                     llvm::ScalarEvolution *evolution, bool *is_changed) {
  llvm::BasicBlock *latch = loop->getLoopLatch();
  if (!latch) return true;
  for (llvm::BasicBlock *block : loop->blocks()) {
    if (dominators.dominates(block, latch)) continue;
    for (Instruction &inst : llvm::make_early_inc_range(*block)) {
      if (!inst.isIntDivRem() || !ways.contains(&inst)) continue;
      if (llvm::isSafeToSpeculativelyExecute(&inst)) continue;
      *is_changed = true;
      if (!hoist_division(&inst, loop, evolution)) return false;
    }
  }
  return true;
}

}  // namespace

llvm::PreservedAnalyses roc_before_vectorize::run(llvm::Function &function,
                                                  llvm::FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
  if (loops.empty()) return llvm::PreservedAnalyses::all();
  auto &dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  auto &target = analyses.getResult<llvm::TargetIRAnalysis>(function);
  auto is_on = [&](roc_quirk quirk) { return roc_quirk_is_on(quirks_off, quirk); };
  bool is_changed = false;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    way_counts ways;
    bool is_kept = !count_ways(*loop, loops, &ways) && is_on(ROC_QUIRK_UNIFORM_VALUES);
    if (!is_kept && is_on(ROC_QUIRK_UNIFORM_DIVISION)) {
      is_kept = !hoist_divisions(loop, ways, dominators, &evolution, &is_changed);
    }
    if (is_kept) {
      llvm::addStringMetadataToLoop(loop, "llvm.loop.isvectorized", 1);
      is_changed = true;
      continue;
    }
    if (is_on(ROC_QUIRK_NARROW_COUNTERS)) is_changed |= freeze_narrow_counters(*loop, evolution);
    if (is_on(ROC_QUIRK_MASKED_LOAD)) {
      is_changed |= freeze_guarded_loads(*loop, dominators, target);
    }
  }
  if (!is_changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}
