/* Forms for which LLVM or ptxas makes wrong code (core/repair.h), by their rows of quirks.def.
 *
 *   NVPTX_MIN_OF_ZEROS  the same choice between the bits of the two.
 *   ABS_OF_LEAST        (x ^ s) - s, where s is x >> 63 that LLVM does not know to be so: it would
 *                       write abs again. */
#include "codegen/core/repair.h"
#include "codegen/nvptx/nvptx.h"

/* The absolute value of an integer, which the least one has too. */
static bool is_abs(roc_cg *cg, LLVMValueRef inst) {
  (void)cg;
  return roc_cg_is_call_of(inst, "llvm.abs");
}

static void rewrite_abs(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef inst) {
  LLVMValueRef x = LLVMGetOperand(inst, 0);
  LLVMTypeRef type = LLVMTypeOf(x), asm_type = LLVMFunctionType(type, &type, 1, 0);
  LLVMValueRef last = LLVMConstInt(type, LLVMGetIntTypeWidth(type) - 1, 0);
  LLVMValueRef sign = LLVMBuildAShr(b, x, last, "");
  const char *constraint = type == cg->t.i64 ? "=l,0" : type == cg->t.i32 ? "=r,0" : "=h,0";
  LLVMValueRef nothing = LLVMGetInlineAsm(asm_type, "", 0, constraint, strlen(constraint), 0, 0,
                                          LLVMInlineAsmDialectATT, 0);
  sign = LLVMBuildCall2(b, asm_type, nothing, &sign, 1, "");
  roc_cg_replace(inst, LLVMBuildSub(b, LLVMBuildXor(b, x, sign, ""), sign, ""));
}

static const roc_cg_form forms[] = {
    {ROC_QUIRK_NVPTX_MIN_OF_ZEROS, roc_cg_is_min_or_max, roc_cg_choose_bits},
    {ROC_QUIRK_ABS_OF_LEAST, is_abs, rewrite_abs},
    {.matches = NULL},
};

roc_status roc_nvptx_repair(roc_cg *cg, roc_error *err) {
  (void)err;
  static const roc_cg_form *const lists[] = {forms, NULL};
  roc_cg_rewrite_forms(cg, lists);
  return ROC_OK;
}
