/* AMD GPUs: facts and hooks for LLVM's amdgcn-amd-amdhsa.
 *
 * A function is one work-item, so the shared emitters do nearly everything; what is left is here,
 * in amdgpu/entry.c (arguments, ids, memory) and in amdgpu/wave.c (barriers, wave operations).
 * A code object is what a GPU runtime loads: a shared object with a descriptor of the kernel. */
#include <llvm-c/Target.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "codegen/amdgpu/amdgpu.h"
#include "codegen/amdgpu/conversion.h"
#include "codegen/amdgpu/devlib.h"
#include "codegen/amdgpu/frame.h"
#include "codegen/core/limits.h"
#include "codegen/llvm/division.h"
#include "codegen/llvm/link.h"

static const char TRIPLE[] = "amdgcn-amd-amdhsa";

/* A name base/amdgpu_target.def does not have would end in a fatal error inside of LLVM. */
static bool accepts(const char *name) {
  return roc_gpu_chip_find(name, NULL) != NULL;
}

/* ---- target machine ---------------------------------------------------------------------- */

static void initialise(void) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
  LLVMInitializeAMDGPUAsmParser(); /* roc_amdgpu_end_wave has a line of assembly */
}

static LLVMCodeGenOptLevel codegen_level(int opt_level) {
  return opt_level == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
}

static roc_status check_options(const roc_cg_options *options, roc_error *err) {
  const roc_gpu_chip *chip = roc_gpu_chip_find(options->target, NULL);
  if (!options->wave_size || options->wave_size == chip->wave_size) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED, "%s is compiled for a wavefront of %u, not %u", chip->name,
                  chip->wave_size, options->wave_size);
}

/* Features whose instructions LLVM chooses where they are wrong. */
static const struct {
  roc_quirk quirk;
  const char *feature;
} unwanted[] = {{ROC_QUIRK_BITOP3, "-bitop3-insts"}, {ROC_QUIRK_DOT4, "-dot7-insts"}};

enum { UNWANTED_BYTES = 64 };

static void add_unwanted(uint64_t quirks_off, char *features, size_t size) {
  size_t len = strlen(features);
  for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++) {
    if (!roc_quirk_is_on(quirks_off, unwanted[i].quirk)) continue;
    len +=
        (size_t)snprintf(features + len, size - len, "%s%s", len ? "," : "", unwanted[i].feature);
  }
}

static LLVMTargetMachineRef machine(const roc_cg_options *options, roc_error *err) {
  char chosen[ROC_GPU_FEATURES_BYTES], features[ROC_GPU_FEATURES_BYTES + UNWANTED_BYTES];
  const roc_gpu_chip *chip = roc_gpu_chip_find(options->target, chosen);
  LLVMTargetRef target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(TRIPLE, &target, &message)) {
    roc_fail(err, ROC_UNAVAILABLE, "this LLVM has no AMDGPU back end: %s", message);
    LLVMDisposeMessage(message);
    return NULL;
  }
  snprintf(features, sizeof features, "%s", chosen);
  add_unwanted(options->quirks_off, features, sizeof features);
  LLVMTargetMachineRef tm = LLVMCreateTargetMachine(target, TRIPLE, chip->name, features,
                                                    codegen_level(options->opt_level), LLVMRelocPIC,
                                                    LLVMCodeModelDefault);
  if (!tm) roc_fail(err, ROC_UNAVAILABLE, "LLVM makes no target machine for %s", chip->name);
  return tm;
}

/* ---- the other hooks --------------------------------------------------------------------- */

/* LLVM checks the sum itself, but counts it in 32 bits. */
static roc_status finish(roc_cg *cg, roc_error *err) {
  const roc_amdgpu_state *state = roc_amdgpu_state_of(cg);
  ROC_TRY(roc_cg_check_workgroup(cg, ROC_GPU_MAX_WORKGROUP, state->chip->name, err));
  ROC_TRY(roc_cg_check_shared(cg, state->shared_bytes, state->chip->max_shared_bytes,
                              state->chip->name, err));
  return roc_devlib_link(cg, state->chip->isa_version, err);
}

/* Whether the device library has given functions to the module. */
static bool has_functions(const roc_cg *cg) {
  for (LLVMValueRef fn = LLVMGetFirstFunction(cg->mod); fn; fn = LLVMGetNextFunction(fn)) {
    if (fn != cg->fn && !LLVMIsDeclaration(fn)) return true;
  }
  return false;
}

/* Small, without loops, without arrays of its own and functions of the device library. */
static bool is_short(const roc_cg *cg) {
  enum { MOST_INSTS = 256 };
  const roc_ir_module *ir = cg->ir;
  if (ir->insts.count > MOST_INSTS || has_functions(cg)) return false;
  for (uint32_t i = 0; i < ir->insts.count; i++) {
    roc_ir_op op = (roc_ir_op)ir->insts.items[i].op;
    if (op == ROC_IR_FOR || op == ROC_IR_LOOP) return false;
  }
  for (uint32_t i = 0; i < ir->arrays.count; i++) {
    if (ir->arrays.items[i].kind == ROC_IR_ARRAY_PRIVATE) return false;
  }
  return true;
}

/* Of O2, what does something for such a kernel, in less than half of the time. */
static const char short_pipeline[] =
    "function(sroa,early-cse<memssa>,speculative-execution<only-if-divergent-target>,simplifycfg,"
    "instcombine<no-verify-fixpoint>,reassociate,instcombine<no-verify-fixpoint>,gvn,"
    "simplifycfg<hoist-common-insts;sink-common-insts>,slp-vectorizer,"
    "instcombine<no-verify-fixpoint>,sink),amdgpu-attributor";

/* Each ends in the attributor, which finds what of the launch a kernel does not use; O3 gives the
 * code of O2. */
static const char *passes(const roc_cg *cg) {
  static const char *const by_level[] = {"default<O0>,amdgpu-attributor", "default<O1>",
                                         "default<O2>,function(sink)",
                                         "default<O2>,function(sink)"};
  int level = cg->options->opt_level;
  if (level < 0 && is_short(cg)) return short_pipeline;
  return by_level[level < 0 || level > 3 ? 2 : level];
}

static roc_status link_object(const roc_cg_options *options, unsigned char **bytes, size_t *nbytes,
                              roc_error *err) {
  (void)options;
  unsigned char *linked;
  ROC_TRY(roc_link_elf(*bytes, *nbytes, &linked, nbytes, err));
  roc_free(*bytes);
  *bytes = linked;
  return ROC_OK;
}

static void describe(roc_cg *cg, roc_codeobj *object) {
  object->entry = roc_amdgpu_state_of(cg)->entry;
  object->shared_bytes = (uint32_t)roc_amdgpu_state_of(cg)->shared_bytes;
}

/* For ROC_QUIRK_OCML_ZERO_SIGN: both functions have the sign of their argument. */
static LLVMValueRef keep_sign(roc_cg *cg, roc_ir_math which, LLVMValueRef result, LLVMValueRef x) {
  bool loses = which == ROC_IR_MATH_EXPM1 || which == ROC_IR_MATH_LOG1P;
  if (!loses || cg->ir->fastmath) return result;
  if (!roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_OCML_ZERO_SIGN)) return result;
  LLVMTypeRef type = LLVMTypeOf(result);
  LLVMValueRef args[2] = {result, x};
  return roc_cg_intrinsic(cg, "llvm.copysign", &type, 1, args, 2);
}

static LLVMValueRef call_ocml(roc_cg *cg, const char *libm, roc_value_type type, unsigned arity,
                              LLVMValueRef *args) {
  char name[64];
  snprintf(name, sizeof name, "__ocml_%s_%s", libm, type == ROC_VT_F32 ? "f32" : "f64");
  LLVMTypeRef value = roc_cg_value_type(cg, type);
  LLVMTypeRef fn_type = LLVMFunctionType(value, (LLVMTypeRef[3]){value, value, value}, arity, 0);
  LLVMValueRef fn = LLVMGetNamedFunction(cg->mod, name);
  if (!fn) fn = LLVMAddFunction(cg->mod, name, fn_type);
  return LLVMBuildCall2(cg->b, fn_type, fn, args, arity, "");
}

/* For ROC_QUIRK_OCML_TGAMMA. */
static LLVMValueRef narrow_gamma(roc_cg *cg, LLVMValueRef x) {
  LLVMTypeRef wide = roc_cg_value_type(cg, ROC_VT_F64);
  LLVMValueRef arg = LLVMBuildFPExt(cg->b, x, wide, "");
  LLVMValueRef result = call_ocml(cg, "tgamma", ROC_VT_F64, 1, &arg);
  return LLVMBuildFPTrunc(cg->b, result, LLVMTypeOf(x), "");
}

/* For ROC_QUIRK_OCML_FOLDED: what LLVM knows of an argument it would compute with its own
 * exponentials and reciprocals, or with the ones of the host, which are not the GPU's. */
static void hide_arguments(roc_cg *cg, unsigned arity, LLVMValueRef *args) {
  bool is_on = roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_OCML_FOLDED);
  if (cg->ir->fastmath || !is_on) return;
  for (unsigned i = 0; i < arity; i++) args[i] = roc_amdgpu_opaque(cg, cg->b, args[i]);
}

/* ocml's function of the same name as libm's. */
static LLVMValueRef math(roc_cg *cg, roc_ir_math which, roc_value_type type, LLVMValueRef *args) {
  const char *libm = roc_ir_math_table[which].libm;
  unsigned arity = roc_ir_math_table[which].arity;
  hide_arguments(cg, arity, args);
  bool is_exp = which == ROC_IR_MATH_EXP && type == ROC_VT_F32 && !cg->ir->fastmath;
  if (is_exp) return roc_amdgpu_exp(cg, args[0]);
  bool is_wrong = which == ROC_IR_MATH_GAMMA && type == ROC_VT_F32 &&
                  roc_quirk_is_on(cg->options->quirks_off, ROC_QUIRK_OCML_TGAMMA);
  if (is_wrong) return narrow_gamma(cg, args[0]);
  LLVMValueRef result = call_ocml(cg, libm, type, arity, args);
  return keep_sign(cg, which, result, args[0]);
}

static LLVMValueRef opaque(roc_cg *cg, LLVMValueRef value) {
  return roc_amdgpu_opaque(cg, cg->b, value);
}

/* The instruction alone, which saturates: for llvm.fptosi.sat LLVM also compares with both ends.  Of
 * LLVM's fptosi too large a float has no value; so it must know nothing of this one, and take what
 * comes out as it is. */
static LLVMValueRef saturate(roc_cg *cg, LLVMValueRef f) {
  return LLVMBuildFreeze(cg->b, LLVMBuildFPToSI(cg->b, opaque(cg, f), cg->t.i32, ""), "");
}

/* The promises that let atomics on coarse-grained device memory be single instructions; elsewhere
 * they would be wrong. */
static void mark_atomic(roc_cg *cg, LLVMValueRef inst, uint32_t array) {
  static const char *const promises[] = {"amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory",
                                         "amdgpu.ignore.denormal.mode"};
  const roc_ir_array *a = &cg->ir->arrays.items[array];
  bool is_host =
      a->kind == ROC_IR_ARRAY_PARAM && cg->ir->params.items[a->param].type.is_host_memory;
  if (is_host) return;
  LLVMValueRef empty = LLVMMetadataAsValue(cg->ctx, LLVMMDNodeInContext2(cg->ctx, NULL, 0));
  for (int i = 0; i < 3; i++) {
    unsigned len = (unsigned)strlen(promises[i]);
    LLVMSetMetadata(inst, LLVMGetMDKindIDInContext(cg->ctx, promises[i], len), empty);
  }
}

static void bypass(roc_cg *cg) {
  roc_bypass_divisions(cg->mod);
  roc_bypass_conversions(cg->mod, roc_amdgpu_state_of(cg)->chip->wave_size);
}

const roc_target roc_target_amdgpu = {
    .facts = &roc_target_facts_amdgpu,
    .global_space = 1,
    .adds_narrow_offsets = true,
    .shared_space = 3,
    .const_space = 4,
    .private_space = 5,
    .device_scope = "agent",
    .group_scope = "workgroup",
    .system_scope = "",
    .object_kind = LLVMObjectFile,
    .accepts = accepts,
    .initialise = initialise,
    .check_options = check_options,
    .machine = machine,
    .kernel = roc_amdgpu_kernel,
    .finish = finish,
    .bypass = bypass,
    .repair = roc_amdgpu_repair,
    .passes = passes,
    .no_slp_passes = "default<O1>",
    .scalar_passes = "default<O1>",
    .no_counter_passes =
        "always-inline,function(sroa,early-cse<memssa>,simplifycfg,"
        "instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop-mssa(licm),gvn,"
        "instcombine<no-verify-fixpoint>,simplifycfg),amdgpu-attributor",
    .quick_passes = "default<O0>,amdgpu-attributor",
    .link = link_object,
    .explain_errors = roc_frame_explain,
    .describe = describe,
    .end_wave = roc_amdgpu_end_wave,
    .opaque_launch = roc_amdgpu_opaque_launch,
    .launch_value = roc_amdgpu_launch_value,
    .array_base = roc_amdgpu_array_base,
    .dynamic_bytes = roc_amdgpu_dynamic_bytes,
    .barrier = roc_amdgpu_barrier,
    .fence = roc_amdgpu_fence,
    .wave = roc_amdgpu_wave,
    .holds_for_all = roc_amdgpu_holds_for_all,
    .wave_diverges = roc_amdgpu_wave_diverges,
    .group_parts = roc_amdgpu_group_parts,
    .elect_lane = roc_amdgpu_elect_lane,
    .math = math,
    .opaque = opaque,
    .saturate = saturate,
    .mark_atomic = mark_atomic,
};
