/* LLVM's pass builder, which takes passes of ours only from C++, and what works around the defects
 * of llvm/quirks.def in LICM and InstCombine, before each of their runs.
 *
 * LICM_SAMESIGN. Comparisons of sums lose the flag that says that both sides have one sign.
 *
 * HALF_OVERFLOW. It concerns integers of few significant bits that become float16. InstCombine
 * widens such a float16 by converting the integer again, which is infinite no more. The integer is
 * kept from exceeding the least that overflows, of which too many bits are significant. */
#include "codegen/llvm/passes.h"
#include "codegen/core/quirk.h"
#include "codegen/llvm/before_vectorize.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/KnownBits.h>

namespace {

using llvm::Instruction;
using llvm::Loop;

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

/* Whether InstCombine takes the conversion of an integer to float16 for exact, though it may
 * overflow: float16 has 11 significant bits, and least_overflow becomes infinite. */
constexpr uint64_t least_overflow = 65520;

bool overflows_unseen(const llvm::Value *number, bool is_signed, const llvm::DataLayout &layout) {
  llvm::KnownBits known = llvm::computeKnownBits(number, layout);
  unsigned above =
      is_signed ? llvm::ComputeNumSignBits(number, layout) : known.countMinLeadingZeros();
  unsigned significant = known.getBitWidth() - above;
  if (significant < 16) return false;
  return significant - std::min(significant, known.countMinTrailingZeros()) <= 11;
}

/* Keeps the integer of a conversion, maybe by way of a wider float, at most what overflows. */
void clamp_half(Instruction *conversion, const llvm::DataLayout &layout) {
  if (!conversion->getType()->getScalarType()->isHalfTy()) return;
  llvm::Value *from = conversion;
  if (llvm::isa<llvm::FPTruncInst>(from)) from = conversion->getOperand(0);
  bool is_signed = llvm::isa<llvm::SIToFPInst>(from);
  if (!is_signed && !llvm::isa<llvm::UIToFPInst>(from)) return;
  auto *inner = llvm::cast<Instruction>(from);
  llvm::Value *number = inner->getOperand(0);
  if (!overflows_unseen(number, is_signed, layout)) return;
  llvm::IRBuilder<> builder(conversion);
  llvm::Constant *most = llvm::ConstantInt::get(number->getType(), least_overflow);
  auto least_of = is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
  number = builder.CreateBinaryIntrinsic(least_of, number, most);
  if (is_signed) {
    llvm::Constant *least =
        llvm::ConstantInt::getSigned(number->getType(), -int64_t(least_overflow));
    number = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number, least);
  }
  llvm::Value *clamped = is_signed ? builder.CreateSIToFP(number, inner->getType())
                                   : builder.CreateUIToFP(number, inner->getType());
  if (inner == conversion) {
    conversion->replaceAllUsesWith(clamped);
  } else {
    conversion->setOperand(0, clamped);
  }
}

void clamp_halves(llvm::Function &function) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  for (Instruction &inst : llvm::make_early_inc_range(llvm::instructions(function))) {
    clamp_half(&inst, layout);
  }
}

/* Called before each run of a pass of LLVM. */
void forget_signs_before_licm(llvm::StringRef pass, llvm::Any ir) {
  const auto *loop = pass == "LICMPass" ? llvm::any_cast<const Loop *>(&ir) : nullptr;
  if (loop) forget_signs(**loop);
}

void clamp_halves_before_combine(llvm::StringRef pass, llvm::Any ir) {
  const auto *function =
      pass == "InstCombinePass" ? llvm::any_cast<const llvm::Function *>(&ir) : nullptr;
  if (function) clamp_halves(const_cast<llvm::Function &>(**function));
}

void add_pass(llvm::PassBuilder &builder, uint64_t quirks_off) {
  builder.registerVectorizerStartEPCallback(
      [quirks_off](llvm::FunctionPassManager &passes, llvm::OptimizationLevel) {
        passes.addPass(roc_before_vectorize(quirks_off));
      });
  builder.registerPipelineParsingCallback(
      [quirks_off](llvm::StringRef name, llvm::FunctionPassManager &passes,
                   llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != "before-vectorize") return false;
        passes.addPass(roc_before_vectorize(quirks_off));
        return true;
      });
}

}  // namespace

LLVMErrorRef roc_run_passes(LLVMModuleRef mod, const char *pipeline, LLVMTargetMachineRef tm,
                            uint64_t quirks_off) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.LoopInterleaving = tuning.LoopUnrolling = true;
  tuning.SLPVectorization = true;
  llvm::PassInstrumentationCallbacks callbacks;
  if (roc_quirk_is_on(quirks_off, ROC_QUIRK_LICM_SAMESIGN)) {
    callbacks.registerBeforeNonSkippedPassCallback(forget_signs_before_licm);
  }
  if (roc_quirk_is_on(quirks_off, ROC_QUIRK_HALF_OVERFLOW)) {
    callbacks.registerBeforeNonSkippedPassCallback(clamp_halves_before_combine);
  }
  llvm::PassBuilder builder(reinterpret_cast<llvm::TargetMachine *>(tm), tuning, std::nullopt,
                            &callbacks);
  add_pass(builder, quirks_off);
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
