/* The pass that works around the defects of LLVM's loop vectoriser (llvm/quirks.def). */
#ifndef ROC_CODEGEN_LLVM_BEFORE_VECTORIZE_H
#define ROC_CODEGEN_LLVM_BEFORE_VECTORIZE_H

#include <cstdint>
#include <llvm/IR/PassManager.h>

/* Changes loops that the vectoriser would make wrong, and keeps it off those that it would not end
 * with. */
struct roc_before_vectorize : llvm::PassInfoMixin<roc_before_vectorize> {
  uint64_t quirks_off;
  explicit roc_before_vectorize(uint64_t off) : quirks_off(off) {}
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

#endif
