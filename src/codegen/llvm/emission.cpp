/* See emission.h.  LLVM's C API makes and frees the passes for each module. */
#include "codegen/llvm/emission.h"

#include <llvm-c/Core.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

struct roc_emission {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream;
  llvm::legacy::PassManager passes;
  roc_emission() : stream(bytes) {}
};

roc_emission *roc_emission_new(LLVMTargetMachineRef tm, LLVMCodeGenFileType kind) {
  auto emission = std::make_unique<roc_emission>();
  auto type = kind == LLVMAssemblyFile ? llvm::CodeGenFileType::AssemblyFile
                                       : llvm::CodeGenFileType::ObjectFile;
  auto *machine = reinterpret_cast<llvm::TargetMachine *>(tm);
  if (machine->addPassesToEmitFile(emission->passes, emission->stream, nullptr, type)) {
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
