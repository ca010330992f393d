/* The checks that stay in a kernel's code, and why. */
#ifndef ROC_JIT_CHECKS_H
#define ROC_JIT_CHECKS_H

#include "jit/kernel.h"

/* Adds the kernel's IR for a target to *out, as roc_jit_kernel_dump_ir does, less the checks that
 * are proved there; each check that stays has the reason as a comment.  The kernel has types. */
roc_status roc_jit_kernel_dump_checks(roc_jit_kernel *kernel, const char *target, roc_str *out,
                                      roc_error *err);

#endif
