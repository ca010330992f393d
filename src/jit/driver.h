/* The compiler's back end for the rest of jit: opened on the first need, called on compiler threads
 * (workers.h).
 *
 * Opens libroclua-codegen.so once a process.  Any thread may call, several at once; each waits for
 * its own work. */
#ifndef ROC_JIT_DRIVER_H
#define ROC_JIT_DRIVER_H

#include "base/codeobj.h"
#include "base/status.h"
#include "base/str.h"
#include "backend/backend.h"
#include "ir/ir.h"
#include "runtime/session.h"

/* Opens the compiler's object, without which no code runs on cpu.  UNAVAILABLE: as roc_jit_compile. */
roc_status roc_jit_open(roc_error *err);

/* Verified IR to a code object, freed with (*out_object)->free.  *times may be NULL.
 * UNAVAILABLE: the compiler object could not be opened, and where it was looked for. */
roc_status roc_jit_compile(const roc_ir_module *module, const roc_cg_options *options,
                           roc_codeobj **out_object, roc_cg_times *times, roc_error *err);

/* What code for `options` depends on besides the module, as roc_codegen_api has it; `out` has
 * ROC_CG_FINGERPRINT_BYTES. */
roc_status roc_jit_fingerprint(const roc_cg_options *options, char *out, roc_error *err);

/* True once the compiler is open; from then on its own fingerprint is valid, even if its file
 * changes. */
bool roc_jit_is_open(void);

/* The files that determine the fingerprint, as roc_codegen_api has it; "" before the compiler is
 * open. */
void roc_jit_compiler_files(char out[ROC_CG_FILES_BYTES]);

/* The largest number of threads that generated code at the same time so far; 0 before the first
 * compile. */
uint32_t roc_jit_most_at_once(void);

/* An interrupt of the session ends a compile, dump or join with these options, with INTERRUPTED, and
 * is taken then.  NULL: nothing ends it. */
void roc_jit_let_interrupt(roc_cg_options *options, roc_rt_session *session);
/* For the specs: the compiler is told of an interrupt when it asks for the nth time from now;
 * 0: never. */
void roc_jit_plant_interrupt(uint64_t nth);

/* For the specs, as in roc_codegen_api; these open the compiler. */
roc_status roc_jit_plant_failures(uint64_t first, uint64_t last, roc_error *err);
roc_status roc_jit_memory(roc_cg_memory *out, roc_error *err);

/* Appends the text of a stage, or the bytes of an object, to *out. */
roc_status roc_jit_dump(const roc_ir_module *module, const roc_cg_options *options,
                        roc_cg_stage stage, roc_str *out, roc_error *err);

/* Appends the bytes of one code object with all of the parts' kernels to *out; as roc_codegen_api
 * has it. */
roc_status roc_jit_join(const roc_cg_part *parts, uint32_t nparts, const roc_cg_options *options,
                        roc_str *out, roc_error *err);

/* The rows of known defects, as roc_codegen_api has them. */
roc_status roc_jit_quirks(const roc_cg_quirk **out_rows, uint32_t *out_count, roc_error *err);

/* For the specs: the rows that are off in compiles from now on; code that fills roc_cg_options
 * reads them here.  Any thread. */
void roc_jit_set_quirks_off(uint64_t bits);
uint64_t roc_jit_quirks_off(void);

/* "llvm", "llvm.opt", "asm", "obj", "bitcode"; false when there is no such stage. */
bool roc_jit_stage_from_name(const char *name, roc_cg_stage *out);

/* INVALID: no such target; the message lists the targets. */
roc_status roc_jit_check_target(const char *target, roc_error *err);

#endif
