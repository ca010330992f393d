/* The processor that code of the CPU target is made for: option names, LLVM's target machine, and
 * what a function says of it. */
#include <llvm-c/Target.h>

#include "base/env.h"
#include "codegen/cpu/cpu.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/processor.h"

void cpu_initialise(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
}

/* "cpu" is the processor this process runs on, or the one that ROCLUA_CPU names; "cpu:NAME" another
 * one.  NULL: this one, with all that LLVM finds of it. */
static const char *processor_of(const char *target) {
  return target[3] == ':' ? target + 4 : roc_env_text("ROCLUA_CPU");
}

static LLVMTargetMachineRef make_machine(LLVMTargetRef target, const char *triple, const char *cpu,
                                         LLVMCodeGenOptLevel level) {
  if (cpu) {
    return LLVMCreateTargetMachine(target, triple, cpu, "", level, LLVMRelocPIC,
                                   LLVMCodeModelSmall);
  }
  char *host = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
  LLVMTargetMachineRef tm = LLVMCreateTargetMachine(target, triple, host, features, level,
                                                    LLVMRelocPIC, LLVMCodeModelSmall);
  LLVMDisposeMessage(host);
  LLVMDisposeMessage(features);
  return tm;
}

/* The JIT lays out an object's sections side by side and reaches what is elsewhere through a
 * table. */
LLVMTargetMachineRef cpu_machine(const roc_cg_options *options, roc_error *err) {
  LLVMCodeGenOptLevel level =
      options->opt_level == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
  char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;
  LLVMTargetRef target;
  LLVMTargetMachineRef tm = NULL;
  if (LLVMGetTargetFromTriple(triple, &target, &message)) {
    roc_fail(err, ROC_UNAVAILABLE, "LLVM has no target for this machine: %s", message);
    LLVMDisposeMessage(message);
  } else {
    tm = make_machine(target, triple, processor_of(options->target), level);
    if (!tm) roc_fail(err, ROC_UNAVAILABLE, "LLVM makes no target machine for this processor");
  }
  LLVMDisposeMessage(triple);
  return tm;
}

bool cpu_accepts(const char *name) {
  if (!roc_target_facts_cpu.accepts(name)) return false;
  if (!name[3]) return true;
  if (roc_machine_prepare(0, NULL) != ROC_OK) return true; /* the compile will say what failed */
  return roc_processor_is_known(name + 4);
}

/* That ROCLUA_CPU names a processor whose code runs on this one. */
roc_status cpu_check_options(const roc_cg_options *options, roc_error *err) {
  uint64_t lanes;
  ROC_TRY(roc_env_number("ROCLUA_CPU_LANES", 1, ROC_CG_MOST_LANES, &lanes, err));
  const char *name = roc_env_text("ROCLUA_CPU");
  if (options->target[3] == ':' || !name) return ROC_OK;
  if (!roc_processor_is_known(name)) {
    return roc_fail(err, ROC_INVALID,
                    "ROCLUA_CPU is '%s', expected a processor that LLVM knows, such as x86-64-v3",
                    name);
  }
  char missing[256];
  roc_processor_missing(name, missing, sizeof missing);
  if (!*missing) return ROC_OK;
  return roc_fail(err, ROC_INVALID, "ROCLUA_CPU is '%s', which has what this processor lacks: %s",
                  name, missing);
}

/* A kernel that does not divide has divisions all the same, for the place of a group.  To try a
 * shorter one first, as processors with a slow divider do, is not worth its branches there. */
static void set_features(roc_cg *cg, LLVMValueRef fn, const char *features) {
  const cpu_state *s = cg->state;
  const char *all = s->plan.divides ? features
                                    : roc_arena_printf(&cg->arena, "%s%s-idivq-to-divl", features,
                                                       *features ? "," : "");
  if (all) roc_cg_attr_text(cg, fn, "target-features", all);
}

void cpu_set_attributes(roc_cg *cg, LLVMValueRef fn) {
  char *cpu = LLVMGetTargetMachineCPU(cg->tm);
  char *features = LLVMGetTargetMachineFeatureString(cg->tm);
  roc_cg_attr_text(cg, fn, "target-cpu", cpu);
  set_features(cg, fn, features);
  if (roc_processor_has(cg->tm, "avx512f")) {
    roc_cg_attr_text(cg, fn, "prefer-vector-width", "512");
    roc_cg_attr_text(cg, fn, "min-legal-vector-width", "512");
  }
  roc_cg_attr(cg, fn, LLVMAttributeFunctionIndex, "nounwind");
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
}
