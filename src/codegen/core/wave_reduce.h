/* What reductions over a wavefront have in common: a tree over neighbours, then neighbouring pairs,
 * … (ir.h), which gives the same bits on every target. */
#ifndef ROC_CODEGEN_CORE_WAVE_REDUCE_H
#define ROC_CODEGEN_CORE_WAVE_REDUCE_H

#include "codegen/core/cg.h"

/* The value of a pair by those of its lower and its upper half, as SUM, MIN or MAX; also of vectors,
 * element by element. */
LLVMValueRef roc_cg_wave_combine(roc_cg *cg, roc_ir_wave op, LLVMValueRef lower,
                                 LLVMValueRef upper);
/* What lanes count as that are not live: it changes no value that it is combined with. */
LLVMValueRef roc_cg_wave_neutral(roc_ir_wave op, LLVMTypeRef type);

#endif
