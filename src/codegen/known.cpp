/* LLVM's analyses have no C interface.  See known.h. */
#include "codegen/known.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownBits.h>

uint64_t roc_known_ones(LLVMModuleRef mod, LLVMValueRef value) {
  return llvm::computeKnownBits(llvm::unwrap(value), llvm::unwrap(mod)->getDataLayout())
      .One.getZExtValue();
}
