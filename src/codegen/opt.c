/* Verification and the pass pipeline.  Malformed IR would crash LLVM later, so it is always
 * verified first. */
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "codegen/cg.h"

roc_status roc_cg_verify(roc_cg *cg, roc_error *err) {
  char *message = NULL;
  roc_status status = ROC_OK;
  if (LLVMVerifyModule(cg->mod, LLVMReturnStatusAction, &message)) {
    status = roc_fail(err, ROC_INTERNAL, "kernel '%s': the code generator made invalid LLVM IR: %s",
                      cg->ir->name, message);
  }
  LLVMDisposeMessage(message);
  return status;
}

roc_status roc_cg_optimise(roc_cg *cg, roc_error *err) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
  LLVMPassBuilderOptionsSetLoopInterleaving(options, 1);
  LLVMPassBuilderOptionsSetLoopUnrolling(options, 1);
  LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
  LLVMErrorRef error = LLVMRunPasses(cg->mod, cg->target->passes(cg), cg->tm, options);
  LLVMDisposePassBuilderOptions(options);
  if (error) {
    char *message = LLVMGetErrorMessage(error);
    roc_fail(err, ROC_COMPILE, "kernel '%s': %s", cg->ir->name, message);
    LLVMDisposeErrorMessage(message);
    return ROC_COMPILE;
  }
  if (cg->nerrors) {
    return roc_fail(err, ROC_COMPILE, "kernel '%s': %s", cg->ir->name,
                    roc_str_text(&cg->diagnostics));
  }
  return ROC_OK;
}
