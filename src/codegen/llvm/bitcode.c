/* See bitcode.h.  A library is parsed lazily per kernel: its functions are made linkonce_odr, so that
 * linking brings the called ones alone. */
#include "codegen/llvm/bitcode.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

static bool has_prefix(LLVMValueRef fn, const char *prefix) {
  size_t len;
  return strncmp(LLVMGetValueName2(fn, &len), prefix, strlen(prefix)) == 0;
}

bool roc_bitcode_is_needed(const roc_cg *cg, const char *prefix) {
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    if (has_prefix(fn, prefix) && LLVMIsDeclaration(fn)) return true;
  }
  return false;
}

static void make_optional(LLVMModuleRef library) {
  for (LLVMValueRef fn = LLVMGetFirstFunction(library); fn; fn = LLVMGetNextFunction(fn)) {
    if (!LLVMIsDeclaration(fn) && LLVMGetLinkage(fn) == LLVMExternalLinkage) {
      LLVMSetLinkage(fn, LLVMLinkOnceODRLinkage);
    }
  }
}

roc_status roc_bitcode_link(roc_cg *cg, const char *name, const void *bytes, size_t nbytes,
                            roc_error *err) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(bytes, nbytes, name, 0);
  LLVMModuleRef library;
  if (LLVMGetBitcodeModuleInContext2(cg->ctx, buffer, &library)) {
    LLVMDisposeMemoryBuffer(buffer);
    return roc_fail(err, ROC_UNAVAILABLE, "%s.bc is no bitcode that this LLVM reads", name);
  }
  LLVMSetDataLayout(library, LLVMGetDataLayoutStr(cg->mod));
  LLVMSetTarget(library, LLVMGetTarget(cg->mod));
  make_optional(library);
  if (!LLVMLinkModules2(cg->mod, library)) return ROC_OK;
  return roc_fail(err, ROC_COMPILE, "kernel '%s': linking %s failed: %s", cg->ir->name, name,
                  roc_str_text(&cg->diagnostics));
}

void roc_bitcode_make_internal(roc_cg *cg, const char *prefix) {
  unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  unsigned never = LLVMGetEnumAttributeKindForName("noinline", 8);
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    if (!has_prefix(fn, prefix) || LLVMIsDeclaration(fn)) continue;
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMSetVisibility(fn, LLVMDefaultVisibility);
    LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, never);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(cg->ctx, always, 0));
  }
}
