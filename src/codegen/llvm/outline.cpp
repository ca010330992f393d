/* LLVM's utility has no C interface.  See outline.h. */
#include "codegen/llvm/outline.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

namespace {

using llvm::Loop;

/* Instructions of a loop: below, a call costs more than it spares; above, its inner loops are
 * outlined one by one. */
constexpr size_t tiny = 24, large = 1024;

size_t count_insts(const Loop &loop) {
  size_t count = 0;
  for (const llvm::BasicBlock *block : loop.blocks()) count += block->size();
  return count;
}

void choose(const Loop &loop, llvm::SmallVectorImpl<const Loop *> *chosen) {
  size_t count = count_insts(loop);
  if (count < tiny) return;
  if (count <= large) {
    chosen->push_back(&loop);
    return;
  }
  for (const Loop *inner : loop) choose(*inner, chosen);
}

void outline(llvm::Function &function) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  llvm::SmallVector<const Loop *> chosen;
  for (const Loop *loop : loops) {
    if (count_insts(*loop) > large) choose(*loop, &chosen);
  }
  llvm::CodeExtractorAnalysisCache allocas(function);
  for (const Loop *loop : chosen) {
    llvm::CodeExtractor(loop->getBlocks(), &dominators).extractCodeRegion(allocas);
  }
}

}  // namespace

void roc_outline_loops(LLVMModuleRef mod) {
  llvm::SmallVector<llvm::Function *> functions;
  for (llvm::Function &function : *llvm::unwrap(mod)) {
    if (!function.isDeclaration()) functions.push_back(&function);
  }
  for (llvm::Function *function : functions) outline(*function);
}
