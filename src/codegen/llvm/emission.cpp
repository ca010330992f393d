/* See emission.h.  LLVM's C API makes and frees the passes for each module, all of them. */
#include "codegen/llvm/emission.h"

#include <llvm-c/Core.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

struct roc_emission {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream;
  llvm::legacy::PassManager passes;
  roc_emission() : stream(bytes) {}
};

namespace {

/* Takes the place of a list of passes that a machine fills, and leaves some out of it. */
class chosen_passes : public llvm::legacy::PassManagerBase {
  llvm::legacy::PassManager *all;
  bool keeps_counters;

  /* By their names: their identities are known to the files that they are written in. */
  bool wants(const llvm::Pass &pass) const {
    llvm::StringRef name = pass.getPassName();
    bool reduces_counters =
        name == "Loop Strength Reduction" || name == "Canonicalize Freeze Instructions in Loops";
    return !(keeps_counters && reduces_counters);
  }

 public:
  chosen_passes(llvm::legacy::PassManager *passes, roc_counters counters)
      : all(passes), keeps_counters(counters == ROC_COUNTERS_KEPT) {}
  void add(llvm::Pass *pass) override {
    if (wants(*pass)) {
      all->add(pass);
    } else {
      delete pass;
    }
  }
};

}  // namespace

roc_emission *roc_emission_new(LLVMTargetMachineRef tm, LLVMCodeGenFileType kind,
                               roc_counters counters) {
  auto emission = std::make_unique<roc_emission>();
  auto type = kind == LLVMAssemblyFile ? llvm::CodeGenFileType::AssemblyFile
                                       : llvm::CodeGenFileType::ObjectFile;
  auto *machine = reinterpret_cast<llvm::TargetMachine *>(tm);
  chosen_passes passes(&emission->passes, counters);
  if (machine->addPassesToEmitFile(passes, emission->stream, nullptr, type)) {
    return nullptr;
  }
  return emission.release();
}

LLVMMemoryBufferRef roc_emission_run(roc_emission *emission, LLVMModuleRef mod) {
  emission->passes.run(*llvm::unwrap(mod)); /* may be called again: llc has it as -compile-twice */
  LLVMMemoryBufferRef file =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(emission->bytes.data(), emission->bytes.size(), "");
  emission->bytes.clear();
  return file;
}

void roc_emission_free(roc_emission *emission) {
  delete emission;
}
