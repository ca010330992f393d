/* The one symbol of the compiler's shared object.  Whatever works with LLVM does so between
 * roc_llvm_lock_shared and roc_llvm_unlock_shared. */
#include "codegen/compile.h"
#include "codegen/core/quirk_table.h"
#include "codegen/cpu/jit.h"
#include "codegen/join.h"
#include "codegen/llvm/llvm_lock.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/memory.h"
#include "codegen/targets.h"

/* ---- functions that end when memory does, or on demand -------------------------------------- */

typedef struct call {
  const roc_ir_module *module;
  const roc_cg_options *options;
  roc_cg_stage stage;
  const roc_cg_part *parts;
  uint32_t nparts;
  void (*sink)(void *ud, const char *bytes, size_t len);
  void *ud;
  roc_codeobj **out_object;
  roc_cg_times *times;
  char *out_text;
  roc_status status;
  roc_error *err;
} call;

/* glibc ends the process when a thread's first use of this object's thread-locals finds no memory for
 * them.  It takes the system's memory in such pieces. */
enum { THREAD_LOCAL_BYTES = 2 << 20 };

/* Runs work(c) with a share in LLVM.  `what` is the message's end when memory ends it. */
static roc_status run(void (*work)(void *ud), call *c, bool is_compile, const char *what) {
  roc_status status = roc_memory_has(THREAD_LOCAL_BYTES) ? ROC_OK : ROC_OOM;
  if (status == ROC_OK) {
    roc_llvm_lock_shared(is_compile);
    status = roc_memory_run(work, c, c->options);
    if (status == ROC_OK) {
      roc_machine_give_all();
    } else {
      roc_machine_forget_all();
    }
    roc_llvm_unlock_shared();
  }
  if (status == ROC_OK) return c->status;
  if (status == ROC_INTERRUPTED) return roc_fail(c->err, status, "interrupted!");
  return roc_fail(c->err, ROC_OOM, "out of memory while compiling '%s'", what);
}

static void do_compile(void *ud) {
  call *c = ud;
  c->status = roc_cg_compile(c->module, c->options, c->out_object, c->times, c->err);
}

static roc_status compile(const roc_ir_module *module, const roc_cg_options *options,
                          roc_codeobj **out_object, roc_cg_times *times, roc_error *err) {
  call c = {
      .module = module, .options = options, .out_object = out_object, .times = times, .err = err};
  return run(do_compile, &c, true, module->name);
}

static void do_dump(void *ud) {
  call *c = ud;
  c->status = roc_cg_dump(c->module, c->options, c->stage, c->sink, c->ud, c->err);
}

static roc_status dump(const roc_ir_module *module, const roc_cg_options *options,
                       roc_cg_stage stage, void (*sink)(void *ud, const char *text, size_t len),
                       void *ud, roc_error *err) {
  call c = {
      .module = module, .options = options, .stage = stage, .sink = sink, .ud = ud, .err = err};
  return run(do_dump, &c, false, module->name);
}

static void do_join(void *ud) {
  call *c = ud;
  c->status = roc_cg_join(c->parts, c->nparts, c->options, c->sink, c->ud, c->err);
}

static roc_status join(const roc_cg_part *parts, uint32_t nparts, const roc_cg_options *options,
                       void (*sink)(void *ud, const char *bytes, size_t len), void *ud,
                       roc_error *err) {
  call c = {
      .parts = parts, .nparts = nparts, .options = options, .sink = sink, .ud = ud, .err = err};
  return run(do_join, &c, false, nparts ? parts[0].symbol : "");
}

static void do_fingerprint(void *ud) {
  call *c = ud;
  c->status = roc_cg_fingerprint(c->options, c->out_text, c->err);
}

static roc_status fingerprint(const roc_cg_options *options, char *out, roc_error *err) {
  call c = {.options = options, .out_text = out, .err = err};
  return run(do_fingerprint, &c, false, options->target);
}

/* ---- functions that are carried out whole ---------------------------------------------------- */

static roc_status jit_load(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                           roc_error *err) {
  if (!roc_memory_has(THREAD_LOCAL_BYTES)) {
    return roc_fail(err, ROC_OOM, "out of memory while loading '%s'", object->entry);
  }
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
    .plant_failures = roc_memory_plant,
    .memory = roc_memory_stats,
    .quirks = roc_quirk_rows,
};

__attribute__((visibility("default"))) const roc_codegen_api *roc_codegen_entry(void) {
  roc_targets_register();
  return &api;
}
