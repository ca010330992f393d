/* From a kernel's classes and captures to verified IR: the front end's part of making a
 * specialisation. */
#ifndef ROC_JIT_COMPILE_H
#define ROC_JIT_COMPILE_H

#include "jit/kernel.h"

/* Types and lowers for kernel->classes and the captured scalars as they are, on the compiler
 * thread.  Settles two things on the way, which may change classes and captures: which arrays are
 * written (so which overlaps matter), and which hidden scalars the front end needs as constants.
 * COMPILE: kernel->diagnostics. */
roc_status roc_jit_compile_ir(roc_jit_kernel *kernel, roc_ir_module **out_module, roc_error *err);

/* The same without these two steps: for dumps, when the arrays of the launch may be freed. */
roc_status roc_jit_lower(roc_jit_kernel *kernel, roc_ir_module **out_module, roc_error *err);

/* The front end's other outputs for the same classes. */
typedef roc_status roc_jit_text_fn(const roc_fe_program *program, const roc_fe_arg *args,
                                   uint32_t nargs, const roc_fe_options *options, roc_diags *diags,
                                   roc_str *out, roc_error *err);
roc_status roc_jit_front_end_text(roc_jit_kernel *kernel, roc_jit_text_fn *fn, roc_str *out,
                                  roc_error *err);

#endif
