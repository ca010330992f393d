/* These analyses have no C interface.  See value_facts.h. */
#include "codegen/amdgpu/value_facts.h"

#include <optional>

#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Target/TargetMachine.h>

struct roc_value_facts {
  llvm::Function &function;
  llvm::FunctionAnalysisManager analyses;
  std::optional<llvm::UniformityInfo> uniformity; /* when it was first asked for */
};

roc_value_facts *roc_value_facts_make(LLVMValueRef fn, LLVMTargetMachineRef tm) {
  auto *machine = reinterpret_cast<llvm::TargetMachine *>(tm);
  auto *facts = new roc_value_facts{*llvm::cast<llvm::Function>(llvm::unwrap(fn)), {}, {}};
  facts->analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  facts->analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  facts->analyses.registerPass([] { return llvm::CycleAnalysis(); });
  facts->analyses.registerPass([=] { return machine->getTargetIRAnalysis(); });
  return facts;
}

void roc_value_facts_free(roc_value_facts *facts) {
  delete facts;
}

bool roc_value_is_divergent(roc_value_facts *facts, LLVMValueRef value) {
  if (!facts->uniformity) {
    facts->uniformity = llvm::UniformityInfoAnalysis().run(facts->function, facts->analyses);
  }
  return facts->uniformity->isDivergent(llvm::unwrap(value));
}

bool roc_value_has_32_bits(const roc_value_facts *facts, LLVMValueRef value) {
  const llvm::DataLayout &layout = facts->function.getParent()->getDataLayout();
  llvm::KnownBits bits = llvm::computeKnownBits(llvm::unwrap(value), layout);
  return bits.countMaxActiveBits() <= 32;
}
