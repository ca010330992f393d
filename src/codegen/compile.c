/* The stages of a compile in order: build, verify, optimise, emit.  Each can be stopped at and
 * printed.
 *
 * A compile shares nothing that it changes with another one.  A fatal error of LLVM ends its thread
 * here, in park, and nothing of the compile is freed. */
#include "codegen/compile.h"

#include <dlfcn.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/ErrorHandling.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "codegen/core/cg.h"
#include "codegen/core/quirk_table.h"
#include "codegen/amdgpu/devlib.h"
#include "codegen/llvm/link.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/memory.h"
#include "codegen/llvm/llvm_lock.h"
#include "codegen/targets.h"

/* ---- fatal errors ------------------------------------------------------------------------ */

static void (*fatal_callback)(void *ud, roc_status status, const char *message);
static void *fatal_ud;

/* LLVM aborts when this returns and must not be unwound, so the thread stops here for good. */
static void park(roc_status status, const char *message) {
  if (roc_llvm_lock_abandon()) roc_link_give_up();
  if (fatal_callback) fatal_callback(fatal_ud, status, message);
  for (;;) pause();
}

static void on_fatal_error(const char *message) {
  park(ROC_COMPILE, message);
}

static void on_exhaustion(void) {
  park(ROC_OOM, "out of memory");
}

void roc_cg_set_fatal_handler(void (*on_fatal)(void *ud, roc_status status, const char *message),
                              void *ud) {
  bool is_first = !fatal_callback;
  fatal_callback = on_fatal;
  fatal_ud = ud;
  if (!is_first) return;
  LLVMInstallFatalErrorHandler(on_fatal_error);
  roc_memory_on_exhaustion(on_exhaustion);
}

/* ---- what code depends on ---------------------------------------------------------------- */

/* The object that holds this code and LLVM's; "" when it cannot be told. */
static const char *own_file(void) {
  Dl_info info;
  return dladdr((const void *)&roc_cg_fingerprint, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Of that object, as it was when it was opened: a rebuilt compiler is another compiler. */
static char self[ROC_FILE_IDENTITY_BYTES];

__attribute__((constructor)) static void identify_self(void) {
  roc_file_identity(own_file(), self);
}

void roc_cg_files(char *out) {
  snprintf(out, ROC_CG_FILES_BYTES, "%s %s\n", self, own_file());
  roc_devlib_files(out, ROC_CG_FILES_BYTES);
}

roc_status roc_cg_fingerprint(const roc_cg_options *options, char *out, roc_error *err) {
  const roc_target *target = roc_target_find(options->target);
  if (!target) return roc_fail(err, ROC_INVALID, "no compile target '%s'", options->target);
  roc_machine *machine = roc_machine_take(target, options, err);
  if (!machine) return err ? err->code : ROC_UNAVAILABLE;
  char library[ROC_FILE_IDENTITY_BYTES];
  roc_devlib_identify(library);
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  char *cpu = LLVMGetTargetMachineCPU(machine->tm);
  char *features = LLVMGetTargetMachineFeatureString(machine->tm);
  roc_str quirks = ROC_STR_INIT;
  roc_quirk_list(target->facts->family, options->quirks_off, &quirks);
  bool is_whole = !quirks.failed;
  int len =
      snprintf(out, ROC_CG_FINGERPRINT_BYTES, "roclua %s; LLVM %u.%u.%u; ocml %s; quirks%s; %s; %s",
               self, major, minor, patch, library, roc_str_text(&quirks), cpu, features);
  roc_str_deinit(&quirks);
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  if (!is_whole) return roc_fail(err, ROC_OOM, "out of memory for a fingerprint");
  if (len >= 0 && len < ROC_CG_FINGERPRINT_BYTES) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED, "this processor's features do not fit a fingerprint");
}

/* ---- stages ------------------------------------------------------------------------------ */

static roc_status build(roc_cg *cg, roc_error *err) {
  cg->target->kernel(cg);
  if (cg->arena.failed) {
    return roc_fail(err, ROC_OOM, "out of memory while compiling '%s'", cg->ir->name);
  }
  if (cg->target->finish) ROC_TRY(cg->target->finish(cg, err));
  return roc_cg_choose_opt_tier(cg, err);
}

static roc_status run_stages(roc_cg *cg, roc_codeobj **out, roc_cg_times *times, roc_error *err) {
  uint64_t mark = roc_clock_ns();
  ROC_TRY(build(cg, err));
  roc_clock_lap(&times->build_ms, &mark);
  ROC_TRY(roc_cg_verify(cg, err));
  roc_clock_lap(&times->verify_ms, &mark);
  ROC_TRY(roc_cg_optimise(cg, err));
  roc_clock_lap(&times->opt_ms, &mark);
  ROC_TRY(roc_cg_object(cg, out, err));
  roc_clock_lap(&times->emit_ms, &mark);
  return ROC_OK;
}

static roc_status open_compile(const roc_ir_module *module, const roc_cg_options *options,
                               roc_cg **out, roc_error *err) {
  const roc_target *target = roc_target_find(options->target);
  if (!target) return roc_fail(err, ROC_INVALID, "no compile target '%s'", options->target);
  roc_machine *machine = roc_machine_take(target, options, err);
  if (!machine) return err ? err->code : ROC_UNAVAILABLE;
  return roc_cg_open(module, options, target, machine, out, err);
}

roc_status roc_cg_compile(const roc_ir_module *module, const roc_cg_options *options,
                          roc_codeobj **out_object, roc_cg_times *times, roc_error *err) {
  roc_cg *cg;
  roc_cg_times spent = {0};
  ROC_TRY(open_compile(module, options, &cg, err));
  roc_status status = run_stages(cg, out_object, &spent, err);
  roc_cg_close(cg);
  if (times) *times = spent;
  return status;
}

static roc_status dump_stage(roc_cg *cg, roc_cg_stage stage,
                             void (*sink)(void *ud, const char *text, size_t len), void *ud,
                             roc_error *err) {
  ROC_TRY(build(cg, err));
  ROC_TRY(roc_cg_verify(cg, err));
  if (stage != ROC_CG_LLVM) ROC_TRY(roc_cg_optimise(cg, err));
  if (stage == ROC_CG_ASM || stage == ROC_CG_OBJ) {
    LLVMMemoryBufferRef buffer;
    LLVMCodeGenFileType kind = stage == ROC_CG_ASM ? LLVMAssemblyFile : cg->target->object_kind;
    ROC_TRY(roc_cg_emit(cg, kind, &buffer, err));
    sink(ud, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return ROC_OK;
  }
  if (stage == ROC_CG_BITCODE) {
    LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(cg->mod);
    sink(ud, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return ROC_OK;
  }
  char *text = LLVMPrintModuleToString(cg->mod);
  sink(ud, text, strlen(text));
  LLVMDisposeMessage(text);
  return ROC_OK;
}

roc_status roc_cg_dump(const roc_ir_module *module, const roc_cg_options *options,
                       roc_cg_stage stage, void (*sink)(void *ud, const char *text, size_t len),
                       void *ud, roc_error *err) {
  roc_cg *cg;
  ROC_TRY(open_compile(module, options, &cg, err));
  cg->is_listing = stage == ROC_CG_ASM;
  roc_status status = dump_stage(cg, stage, sink, ud, err);
  roc_cg_close(cg);
  return status;
}
