/* LLVM's pass builder, which takes passes of ours only from C++, and what keeps some of LLVM 22's from
 * mistakes.  Two freezes in front of the loop vectoriser, and a flag less in front of LICM.
 *
 * Loads under a condition from memory that the loop writes.  The vectoriser makes each a load with a
 * mask, and of "condition ? loaded : other" later on a select, which is then joined with the load
 * where the select is: behind the store (llvm-project issue 215453).  A frozen load is not joined.
 *
 * Counters taken modulo two powers of two.  The vectoriser runs a loop in which a counter of some
 * bits does not wrap side by side, and another one where it does; it takes the check for a wider
 * counter for one of a narrower, of the same first value and step (issue 191382).  So one loop keeps
 * the counters of one width, the widest; those of others are frozen, and no counters to LLVM then.
 *
 * Comparisons of sums.  LICM makes x - y < z to x < y + z and leaves it the flag that says that both
 * sides have one sign, which the new sum need not have (pull request 200344). */
#include "codegen/passes.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Passes/PassBuilder.h>

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

struct BeforeVectorize : llvm::PassInfoMixin<BeforeVectorize> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
    if (loops.empty()) return llvm::PreservedAnalyses::all();
    auto &dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    auto &evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    auto &target = analyses.getResult<llvm::TargetIRAnalysis>(function);
    bool is_changed = false;
    for (Loop *loop : loops.getLoopsInPreorder()) {
      if (!loop->isInnermost()) continue;
      is_changed |= freeze_narrow_counters(*loop, evolution);
      is_changed |= freeze_guarded_loads(*loop, dominators, target);
    }
    if (!is_changed) return llvm::PreservedAnalyses::all();
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
  }
};

bool is_sum(const llvm::Value *value) {
  const auto *inst = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return inst && (inst->getOpcode() == Instruction::Add || inst->getOpcode() == Instruction::Sub);
}

void forget_signs(const Loop &loop) {
  for (llvm::BasicBlock *block : loop.blocks()) {
    for (Instruction &inst : *block) {
      auto *compare = llvm::dyn_cast<llvm::ICmpInst>(&inst);
      if (!compare || !compare->hasSameSign()) continue;
      if (is_sum(compare->getOperand(0)) || is_sum(compare->getOperand(1))) {
        compare->setSameSign(false);
      }
    }
  }
}

void before_pass(llvm::StringRef pass, llvm::Any ir) {
  const auto *loop = pass == "LICMPass" ? llvm::any_cast<const Loop *>(&ir) : nullptr;
  if (loop) forget_signs(**loop);
}

void add_pass(llvm::PassBuilder &builder) {
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager &passes, llvm::OptimizationLevel) {
        passes.addPass(BeforeVectorize());
      });
  builder.registerPipelineParsingCallback([](llvm::StringRef name,
                                             llvm::FunctionPassManager &passes,
                                             llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name != "before-vectorize") return false;
    passes.addPass(BeforeVectorize());
    return true;
  });
}

}  // namespace

LLVMErrorRef roc_run_passes(LLVMModuleRef mod, const char *pipeline, LLVMTargetMachineRef tm) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.LoopInterleaving = tuning.LoopUnrolling = true;
  tuning.SLPVectorization = true;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerBeforeNonSkippedPassCallback(before_pass);
  llvm::PassBuilder builder(reinterpret_cast<llvm::TargetMachine *>(tm), tuning, std::nullopt,
                            &callbacks);
  add_pass(builder);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline)) {
    return llvm::wrap(std::move(error));
  }
  passes.run(*llvm::unwrap(mod), modules);
  return LLVMErrorSuccess;
}
