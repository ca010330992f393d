/* Elementary functions as plain arithmetic: IEEE additions, products, quotients and fused products
 * of one work-item, that every target computes alike and LLVM's vectorisers and its folding of
 * constants cannot change.  Each emits at cg->b and takes and gives F32 or F64. */
#ifndef ROC_CODEGEN_CORE_ELEMENTARY_H
#define ROC_CODEGEN_CORE_ELEMENTARY_H

#include "codegen/core/cg.h"

/* C's pow, within 0.7 ULP; powers that the type can represent are exact. */
LLVMValueRef roc_cg_pow(roc_cg *cg, roc_value_type type, LLVMValueRef x, LLVMValueRef y);

/* Within 1.1 ULP, denormal results within 1.5. */
LLVMValueRef roc_cg_exp(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_exp2(roc_cg *cg, roc_value_type type, LLVMValueRef x);

/* Within 1 ULP. */
LLVMValueRef roc_cg_log(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_log2(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_log10(roc_cg *cg, roc_value_type type, LLVMValueRef x);

/* Within 2 ULP. */
LLVMValueRef roc_cg_expm1(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_tanh(roc_cg *cg, roc_value_type type, LLVMValueRef x);

/* Of F32. */
LLVMValueRef roc_cg_erf_f32(roc_cg *cg, LLVMValueRef x);
LLVMValueRef roc_cg_sinh(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_cosh(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_asinh(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_acosh(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_atanh(roc_cg *cg, roc_value_type type, LLVMValueRef x);
LLVMValueRef roc_cg_log1p(roc_cg *cg, roc_value_type type, LLVMValueRef x);

/* The gamma function of F64 with x >= 16; within 1 ULP. */
LLVMValueRef roc_cg_large_gamma(roc_cg *cg, LLVMValueRef x);

/* Of F64 with |x| <= 2^20; within 1 ULP, the tangent within 2. */
LLVMValueRef roc_cg_small_sin(roc_cg *cg, LLVMValueRef x);
LLVMValueRef roc_cg_small_cos(roc_cg *cg, LLVMValueRef x);
LLVMValueRef roc_cg_small_tan(roc_cg *cg, LLVMValueRef x);

#endif
