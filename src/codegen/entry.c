/* The one symbol of the compiler's shared object. */
#include "codegen/cg.h"
#include "codegen/compile.h"

static const roc_codegen_api api = {
    .abi = ROC_CODEGEN_ABI,
    .set_fatal_handler = roc_cg_set_fatal_handler,
    .compile = roc_cg_compile,
    .dump = roc_cg_dump,
    .check_target = roc_cg_check_target,
    .fingerprint = roc_cg_fingerprint,
    .files = roc_cg_files,
    .jit_load = roc_jit_load,
    .jit_unload = roc_jit_unload,
};

__attribute__((visibility("default"))) const roc_codegen_api *roc_codegen_entry(void) {
  return &api;
}
