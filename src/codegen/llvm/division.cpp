/* LLVM's utility has no C interface.  See division.h. */
#include "codegen/llvm/division.h"

#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BypassSlowDivision.h>

void roc_bypass_divisions(LLVMModuleRef mod) {
  const llvm::DenseMap<unsigned, unsigned> widths = {{64, 32}};
  for (llvm::Function &fn : *llvm::unwrap(mod)) {
    llvm::BasicBlock *block = fn.empty() ? nullptr : &fn.front();
    while (block) { /* the blocks that it makes come between the block and this one */
      llvm::BasicBlock *next = block->getNextNode();
      llvm::bypassSlowDivision(block, widths);
      block = next;
    }
  }
}
