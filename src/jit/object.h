/* Code objects and stages of a kernel for any target, ahead of a launch or without one. */
#ifndef ROC_JIT_OBJECT_H
#define ROC_JIT_OBJECT_H

#include "base/target.h"
#include "jit/kernel.h"

/* Compiles for the classes of the last launch (or the signature).  *out_object: object->free.
 * INVALID: the kernel has no types yet.  COMPILE: as roc_jit_kernel_select. */
roc_status roc_jit_kernel_object(roc_jit_kernel *kernel, const roc_cg_options *options,
                                 roc_codeobj **out_object, roc_error *err);

/* Which arguments of some dtypes and ranks code is for. */
typedef enum roc_jit_generality {
  ROC_JIT_COMMON, /* of the layout given, small, not overlapping */
  ROC_JIT_PLAIN,  /* of the layout given, of any size, overlapping or not */
  ROC_JIT_GENERAL /* of any layout, in any memory, too */
} roc_jit_generality;

/* The same for kernel->values, which describe types of arguments and not those of a launch; the
 * kernel's classes do not change.  With `out_bitcode` not NULL, appends what roc_jit_join takes,
 * too. */
roc_status roc_jit_kernel_object_for(roc_jit_kernel *kernel, const roc_cg_options *options,
                                     roc_jit_generality generality, roc_codeobj **out_object,
                                     roc_str *out_bitcode, roc_error *err);

/* What the kernel of a code object takes, in the terms of *out_facts. workgroup: 0 for what roclua
 * would choose. UNSUPPORTED: the target has no such numbers. INVALID: the kernel takes no workgroup
 * that large there. */
roc_status roc_jit_resources_of(const roc_codeobj *object, uint32_t workgroup,
                                const roc_target_facts **out_facts, roc_target_resources *out,
                                roc_error *err);

#endif
