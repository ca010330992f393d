/* The compiler thread: everything that touches LLVM runs here.
 *
 * Opens libroclua-codegen.so on the first need and hands work to one thread with a stack of its
 * own; callers wait. When LLVM ends with a fatal error the work in hand is marked failed with
 * LLVM's message, that thread is parked for good inside LLVM, and the next piece of work gets a new
 * thread.  One driver a process; any thread may call. */
#ifndef ROC_JIT_DRIVER_H
#define ROC_JIT_DRIVER_H

#include "base/codeobj.h"
#include "base/status.h"
#include "base/str.h"
#include "codegen/codegen.h"
#include "ir/ir.h"

/* Runs fn(ud) on the compiler thread and waits for it.  Not to be called from that thread.
 * COMPILE: LLVM died in it, the message says of what.  UNAVAILABLE: no thread, or a process made by
 * fork. */
roc_status roc_jit_run(void (*fn)(void *ud), void *ud, roc_error *err);

/* Verified IR to a code object, freed with (*out_object)->free.  *times may be NULL.
 * UNAVAILABLE: the compiler object could not be opened, and where it was looked for. */
roc_status roc_jit_compile(const roc_ir_module *module, const roc_cg_options *options,
                           roc_codeobj **out_object, roc_cg_times *times, roc_error *err);

/* What code for `options` depends on beside the module, as roc_codegen_api has it; `out` has
 * ROC_CG_FINGERPRINT_BYTES. */
roc_status roc_jit_fingerprint(const roc_cg_options *options, char *out, roc_error *err);

/* True once the compiler is open; what it says of itself then holds, whatever became of its file. */
bool roc_jit_is_open(void);

/* The files behind the fingerprint, as roc_codegen_api has it; "" before the compiler is open. */
void roc_jit_compiler_files(char out[ROC_CG_FILES_BYTES]);

/* Appends the text of a stage, or the bytes of an object, to *out. */
roc_status roc_jit_dump(const roc_ir_module *module, const roc_cg_options *options,
                        roc_cg_stage stage, roc_str *out, roc_error *err);

/* "llvm", "llvm.opt", "asm", "obj"; false when there is no such stage. */
bool roc_jit_stage_from_name(const char *name, roc_cg_stage *out);

/* INVALID: no such target; the message lists what is. */
roc_status roc_jit_check_target(const char *target, roc_error *err);

#endif
