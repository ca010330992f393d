/* See frame.h. */
#include "codegen/amdgpu/frame.h"

#include <inttypes.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <string.h>

#define ENTRY_PREFIX "roc_" /* of the symbols of kernels */

typedef struct frame {
  uint64_t nbytes, limit;
  char kernel[124]; /* as in its symbol */
} frame;

/* LLVM has no other interface to this than its text.  Code that addresses far too large a frame
 * cannot be encoded either, which is reported before or after it. */
static bool read_frame(const char *diagnostics, frame *out) {
  const char *at = strstr(diagnostics, "stack frame size (");
  return at && sscanf(at,
                      "stack frame size (%" SCNu64 ") exceeds limit (%" SCNu64
                      ") in function '" ENTRY_PREFIX "%123[^']'",
                      &out->nbytes, &out->limit, out->kernel) == 3;
}

typedef struct largest {
  uint64_t nbytes; /* 0: the function has no arrays */
  char name[64];
} largest;

/* LLVM adds a dot and a suffix to names of values that it splits or copies. */
static void note_array(LLVMModuleRef mod, LLVMValueRef inst, largest *out) {
  LLVMTypeRef type = LLVMGetAllocatedType(inst);
  if (LLVMGetTypeKind(type) != LLVMArrayTypeKind) return;
  uint64_t nbytes = LLVMABISizeOfType(LLVMGetModuleDataLayout(mod), type);
  if (nbytes <= out->nbytes) return;
  size_t len;
  const char *name = LLVMGetValueName2(inst, &len);
  out->nbytes = nbytes;
  snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(name, "."), name);
}

static largest find_largest(LLVMModuleRef mod, const char *kernel) {
  largest found = {0};
  char symbol[sizeof ENTRY_PREFIX + 123];
  snprintf(symbol, sizeof symbol, ENTRY_PREFIX "%s", kernel);
  LLVMValueRef fn = LLVMGetNamedFunction(mod, symbol);
  if (!fn) return found;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      if (LLVMGetInstructionOpcode(i) == LLVMAlloca) note_array(mod, i, &found);
    }
  }
  return found;
}

bool roc_frame_explain(LLVMModuleRef mod, const char *diagnostics, const char *kernel,
                       const char *name, roc_error *err) {
  frame f;
  if (!read_frame(diagnostics, &f)) return false;
  largest array = find_largest(mod, f.kernel);
  char share[128] = "values that do not fit into registers";
  if (array.nbytes > 0) {
    snprintf(share, sizeof share, "array '%s' alone %" PRIu64, array.name, array.nbytes);
  }
  roc_fail(err, ROC_COMPILE,
           "kernel '%s': a work-item needs %" PRIu64
           " bytes of private memory (%s) and has "
           "%" PRIu64 " on %s; use a smaller array, or a part of an array argument",
           kernel ? kernel : f.kernel, f.nbytes, share, f.limit, name);
  return true;
}
