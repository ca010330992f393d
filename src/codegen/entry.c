/* The one symbol of the compiler's shared object.  Whatever works with LLVM does so between
 * roc_llvm_lock_shared and roc_llvm_unlock_shared. */
#include "codegen/compile.h"
#include "codegen/core/quirk_table.h"
#include "codegen/cpu/jit.h"
#include "codegen/join.h"
#include "codegen/llvm/llvm_lock.h"
#include "codegen/targets.h"

static roc_status compile(const roc_ir_module *module, const roc_cg_options *options,
                          roc_codeobj **out_object, roc_cg_times *times, roc_error *err) {
  roc_llvm_lock_shared(true);
  roc_status status = roc_cg_compile(module, options, out_object, times, err);
  roc_llvm_unlock_shared();
  return status;
}

static roc_status dump(const roc_ir_module *module, const roc_cg_options *options,
                       roc_cg_stage stage, void (*sink)(void *ud, const char *text, size_t len),
                       void *ud, roc_error *err) {
  roc_llvm_lock_shared(false);
  roc_status status = roc_cg_dump(module, options, stage, sink, ud, err);
  roc_llvm_unlock_shared();
  return status;
}

static roc_status join(const roc_cg_part *parts, uint32_t nparts, const roc_cg_options *options,
                       void (*sink)(void *ud, const char *bytes, size_t len), void *ud,
                       roc_error *err) {
  roc_llvm_lock_shared(false);
  roc_status status = roc_cg_join(parts, nparts, options, sink, ud, err);
  roc_llvm_unlock_shared();
  return status;
}

static roc_status fingerprint(const roc_cg_options *options, char *out, roc_error *err) {
  roc_llvm_lock_shared(false);
  roc_status status = roc_cg_fingerprint(options, out, err);
  roc_llvm_unlock_shared();
  return status;
}

static roc_status jit_load(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                           roc_error *err) {
  roc_llvm_lock_shared(false);
  roc_status status = roc_jit_load(object, out_entry, out_handle, err);
  roc_llvm_unlock_shared();
  return status;
}

static void jit_unload(void *handle) {
  roc_llvm_lock_shared(false);
  roc_jit_unload(handle);
  roc_llvm_unlock_shared();
}

static const roc_codegen_api api = {
    .abi = ROC_CODEGEN_ABI,
    .set_fatal_handler = roc_cg_set_fatal_handler,
    .compile = compile,
    .dump = dump,
    .join = join,
    .check_target = roc_target_check,
    .fingerprint = fingerprint,
    .files = roc_cg_files,
    .jit_load = jit_load,
    .jit_unload = jit_unload,
    .most_at_once = roc_llvm_lock_most,
    .quirks = roc_quirk_rows,
};

__attribute__((visibility("default"))) const roc_codegen_api *roc_codegen_entry(void) {
  roc_targets_register();
  return &api;
}
