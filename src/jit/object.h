/* Code objects and stages of a kernel for any target, ahead of a launch or without one. */
#ifndef ROC_JIT_OBJECT_H
#define ROC_JIT_OBJECT_H

#include "base/target.h"
#include "jit/kernel.h"

/* Compiles for the classes of the last launch (or the signature).  *out_object: object->free.
 * INVALID: the kernel has no types yet.  COMPILE: as roc_jit_kernel_select. */
roc_status roc_jit_kernel_object(roc_jit_kernel *kernel, const roc_cg_options *options,
                                 roc_codeobj **out_object, roc_error *err);

/* The same for kernel->values, which describe types of arguments and not those of a launch; the
 * kernel's classes do not change.  `is_general`: for all arguments of these dtypes and ranks, of any
 * size and layout, in any memory, overlapping or not. */
roc_status roc_jit_kernel_object_for(roc_jit_kernel *kernel, const roc_cg_options *options,
                                     bool is_general, roc_codeobj **out_object, roc_error *err);

/* What the kernel of a code object takes, in the terms of *out_facts. workgroup: 0 for what roclua
 * would choose. UNSUPPORTED: the target has no such numbers. INVALID: the kernel takes no workgroup
 * that large there. */
roc_status roc_jit_resources_of(const roc_codeobj *object, uint32_t workgroup,
                                const roc_target_facts **out_facts, roc_target_resources *out,
                                roc_error *err);

#endif
