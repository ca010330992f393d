/* Optimised modules, one a kernel, become one module and then one code object: descriptors,
 * metadata and resources of all kernels come from LLVM, which sees them together.
 *
 * The modules were made by this compiler for the same options, so they agree on triple, data layout
 * and module flags; all of their names but the kernels' are local. Nothing is optimised again. */
#include "codegen/join.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Linker.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/machine.h"
#include "codegen/targets.h"

typedef struct join {
  LLVMContextRef ctx;
  LLVMModuleRef mod; /* all that was taken */
  roc_str diagnostics;
  uint32_t nerrors;
} join;

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ud) {
  join *j = ud;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *text = LLVMGetDiagInfoDescription(info);
  if (j->nerrors++ < 4) roc_str_printf(&j->diagnostics, "%s\n", text);
  LLVMDisposeMessage(text);
}

static roc_status fail(const join *j, const char *what, roc_error *err) {
  return roc_fail(err, ROC_COMPILE, "%s: %s", what,
                  j->nerrors ? roc_str_text(&j->diagnostics) : "LLVM does not say why");
}

static roc_status take_part(join *j, const roc_cg_part *part, roc_error *err) {
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRange(part->bitcode, part->nbytes, part->symbol, 0);
  LLVMModuleRef mod = NULL;
  bool is_bad = LLVMParseBitcodeInContext2(j->ctx, buffer, &mod);
  LLVMDisposeMemoryBuffer(buffer);
  if (is_bad) return fail(j, "a kernel's module cannot be read", err);
  LLVMValueRef kernel = LLVMGetNamedFunction(mod, part->symbol);
  if (!kernel || LLVMIsDeclaration(kernel)) {
    LLVMDisposeModule(mod);
    return roc_fail(err, ROC_INVALID, "a module without the kernel '%s' cannot be joined",
                    part->symbol);
  }
  if (!j->mod) {
    j->mod = mod;
    return ROC_OK;
  }
  if (LLVMLinkModules2(j->mod, mod) || j->nerrors) { /* `mod` is gone either way */
    return fail(j, "kernels cannot be joined", err);
  }
  return ROC_OK;
}

static roc_status emit(join *j, roc_machine *machine, LLVMMemoryBufferRef *out, roc_error *err) {
  *out = roc_machine_emit(machine, j->mod, machine->target->object_kind, ROC_COUNTERS_REDUCED);
  if (!*out) return roc_fail(err, ROC_COMPILE, "joined kernels: LLVM makes no such file");
  if (!j->nerrors) return ROC_OK;
  LLVMDisposeMemoryBuffer(*out);
  return roc_emit_fail(machine->target, j->mod, roc_str_text(&j->diagnostics), NULL, machine->name,
                       err);
}

static roc_status link_and_hand_out(LLVMMemoryBufferRef buffer, const roc_target *target,
                                    const roc_cg_options *options,
                                    void (*sink)(void *ud, const char *bytes, size_t len), void *ud,
                                    roc_error *err) {
  size_t nbytes = LLVMGetBufferSize(buffer);
  unsigned char *bytes = roc_alloc(nbytes);
  if (!bytes) return roc_fail(err, ROC_OOM, "out of memory for joined kernels");
  memcpy(bytes, LLVMGetBufferStart(buffer), nbytes);
  roc_status status = target->link ? target->link(options, &bytes, &nbytes, err) : ROC_OK;
  if (status == ROC_OK) sink(ud, (const char *)bytes, nbytes);
  roc_free(bytes);
  return status;
}

roc_status roc_cg_join(const roc_cg_part *parts, uint32_t nparts, const roc_cg_options *options,
                       void (*sink)(void *ud, const char *bytes, size_t len), void *ud,
                       roc_error *err) {
  const roc_target *target = roc_target_find(options->target);
  if (!target || nparts == 0) {
    return roc_fail(err, ROC_INVALID, "nothing can be joined for '%s'", options->target);
  }
  roc_machine *machine = roc_machine_take(target, options, err);
  if (!machine) return err ? err->code : ROC_UNAVAILABLE;
  join j = {.ctx = LLVMContextCreate(), .diagnostics = ROC_STR_INIT};
  LLVMContextSetDiagnosticHandler(j.ctx, on_diagnostic, &j);
  roc_status status = ROC_OK;
  for (uint32_t i = 0; i < nparts && status == ROC_OK; i++) status = take_part(&j, &parts[i], err);
  LLVMMemoryBufferRef buffer = NULL;
  if (status == ROC_OK) status = emit(&j, machine, &buffer, err);
  if (status == ROC_OK) {
    status = link_and_hand_out(buffer, target, options, sink, ud, err);
    LLVMDisposeMemoryBuffer(buffer);
  }
  if (j.mod) LLVMDisposeModule(j.mod);
  LLVMContextDispose(j.ctx);
  roc_str_deinit(&j.diagnostics);
  return status;
}
