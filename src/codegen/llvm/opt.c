/* Verification and the pass pipeline.  Malformed IR would crash LLVM later, so it is always
 * verified first. */
#include <llvm-c/Analysis.h>

#include "codegen/core/cg.h"
#include "codegen/llvm/outline.h"
#include "codegen/llvm/passes.h"

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

static const char *choose_passes(const roc_cg *cg) {
  switch (cg->opt_tier) {
    case ROC_CG_NO_SLP: return cg->target->no_slp_passes;
    case ROC_CG_SCALAR: return cg->target->scalar_passes;
    case ROC_CG_NO_COUNTERS: return cg->target->no_counter_passes;
    case ROC_CG_LINEAR: return cg->target->quick_passes;
    default: return cg->target->passes(cg);
  }
}

roc_status roc_cg_optimise(roc_cg *cg, roc_error *err) {
  LLVMErrorRef error = roc_run_passes(cg->mod, choose_passes(cg), cg->tm, cg->options->quirks_off);
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
  if (cg->target->bypass) cg->target->bypass(cg);
  if (cg->target->repair) ROC_TRY(cg->target->repair(cg, err));
  if (cg->target->outlines_loops && cg->opt_tier == ROC_CG_SCALAR) roc_outline_loops(cg->mod);
  return ROC_OK;
}
