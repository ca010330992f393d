/* NVIDIA GPUs: facts and hooks for LLVM's nvptx64-nvidia-cuda.
 *
 * A function is one work-item, so the shared emitters do nearly everything; what is left is here,
 * in nvptx/launch.c and nvptx/entry.c (ids, arguments, memory), nvptx/wave.c (barriers, wave
 * operations) and nvptx/math.c. A code object is PTX, the text that the driver compiles. */
#include <inttypes.h>
#include <llvm-c/Target.h>

#include "codegen/core/limits.h"
#include "codegen/nvptx/nvptx.h"
#include "ir/layout.h"

static const char TRIPLE[] = "nvptx64-nvidia-cuda";

/* Another name would end in a fatal error inside of LLVM. */
static bool accepts(const char *name) {
  return roc_nvptx_chip_find(name) != NULL;
}

/* ---- target machine ---------------------------------------------------------------------- */

static void initialise(void) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

static roc_status check_options(const roc_cg_options *options, roc_error *err) {
  if (!options->wave_size || options->wave_size == ROC_NVPTX_WARP) return ROC_OK;
  return roc_fail(err, ROC_UNSUPPORTED, "%s is compiled for a wavefront of %d, not %u",
                  options->target, ROC_NVPTX_WARP, options->wave_size);
}

/* Without a feature LLVM writes the lowest version of PTX that has the GPU; activemask is newer than
 * the first of them. */
static LLVMTargetMachineRef machine(const roc_cg_options *options, roc_error *err) {
  LLVMTargetRef target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(TRIPLE, &target, &message)) {
    roc_fail(err, ROC_UNAVAILABLE, "this LLVM has no NVPTX back end: %s", message);
    LLVMDisposeMessage(message);
    return NULL;
  }
  LLVMCodeGenOptLevel level =
      options->opt_level == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
  const roc_nvptx_chip *chip = roc_nvptx_chip_find(options->target);
  LLVMTargetMachineRef tm = LLVMCreateTargetMachine(target, TRIPLE, chip->name, chip->features,
                                                    level, LLVMRelocPIC, LLVMCodeModelDefault);
  if (!tm) roc_fail(err, ROC_UNAVAILABLE, "LLVM makes no target machine for %s", options->target);
  return tm;
}

/* ---- the other hooks --------------------------------------------------------------------- */

static roc_status check_private(const roc_cg *cg, roc_error *err) {
  uint64_t private_bytes = 0;
  for (uint32_t i = 0; i < cg->ir->arrays.count; i++) {
    const roc_ir_array *a = &cg->ir->arrays.items[i];
    if (a->kind != ROC_IR_ARRAY_PRIVATE) continue;
    private_bytes += (uint64_t)roc_ir_array_size(a) * roc_dtype_itemsize(a->dtype);
    if (private_bytes <= ROC_NVPTX_MAX_PRIVATE_BYTES) continue;
    return roc_fail(err, ROC_COMPILE,
                    "kernel '%s': a work-item needs %" PRIu64
                    " bytes of private memory (array '%s' among them) and has %d on %s; use a "
                    "smaller array, or a part of an array argument",
                    cg->ir->name, private_bytes, a->name, ROC_NVPTX_MAX_PRIVATE_BYTES,
                    cg->options->target);
  }
  return ROC_OK;
}

static roc_status check_arguments(const roc_cg *cg, roc_error *err) {
  uint32_t nbytes = roc_nvptx_state_of(cg)->hidden + (uint32_t)sizeof(roc_nvptx_hidden);
  if (nbytes <= ROC_NVPTX_MAX_ARGUMENT_BYTES) return ROC_OK;
  return roc_fail(err, ROC_COMPILE,
                  "kernel '%s': its arguments take %u bytes; a kernel on %s has %d", cg->ir->name,
                  nbytes, cg->options->target, ROC_NVPTX_MAX_ARGUMENT_BYTES);
}

static roc_status finish(roc_cg *cg, roc_error *err) {
  const roc_nvptx_state *state = roc_nvptx_state_of(cg);
  const roc_nvptx_chip *chip = state->chip;
  ROC_TRY(roc_cg_check_workgroup(cg, ROC_NVPTX_MAX_WORKGROUP, chip->name, err));
  ROC_TRY(roc_cg_check_shared(cg, state->shared_bytes, chip->max_shared_bytes, chip->name, err));
  ROC_TRY(check_private(cg, err));
  ROC_TRY(check_arguments(cg, err));
  return roc_nvptx_link_math(cg, err);
}

/* O3 gives the code of O2. */
static const char *passes(const roc_cg *cg) {
  static const char *const by_level[] = {"default<O0>", "default<O1>", "default<O2>",
                                         "default<O2>"};
  int level = cg->options->opt_level;
  return by_level[level < 0 || level > 3 ? 2 : level];
}

static void describe(roc_cg *cg, roc_codeobj *object) {
  object->entry = roc_nvptx_state_of(cg)->entry;
  object->shared_bytes = (uint32_t)roc_nvptx_state_of(cg)->shared_bytes;
  const roc_nvptx_coarse *coarse = roc_nvptx_state_of(cg)->coarse;
  object->items_per_thread = coarse ? coarse->items : 1;
}

const roc_target roc_target_nvptx = {
    .facts = &roc_target_facts_nvptx,
    .global_space = 1,
    .shared_space = 3,
    .const_space = 1,
    .private_space = 0,
    .device_scope = "device",
    .group_scope = "block",
    .system_scope = "",
    .unrolls = true,
    .has_line_directives_only = true, /* with more, the driver would compile for a debugger */
    .object_kind = LLVMAssemblyFile,
    .accepts = accepts,
    .initialise = initialise,
    .check_options = check_options,
    .machine = machine,
    .kernel = roc_nvptx_kernel,
    .finish = finish,
    .passes = passes,
    .repair = roc_nvptx_repair,
    .no_slp_passes = "default<O1>",
    .scalar_passes = "default<O1>",
    .no_counter_passes =
        "always-inline,function(sroa,early-cse<memssa>,simplifycfg,"
        "instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop-mssa(licm),gvn,"
        "instcombine<no-verify-fixpoint>,simplifycfg)",
    .quick_passes = "default<O0>",
    .describe = describe,
    .launch_value = roc_nvptx_launch_value,
    .array_base = roc_nvptx_array_base,
    .dynamic_bytes = roc_nvptx_dynamic_bytes,
    .barrier = roc_nvptx_barrier,
    .fence = roc_nvptx_fence,
    .wave = roc_nvptx_wave,
    .wave_diverges = roc_nvptx_wave_diverges,
    .group_parts = roc_nvptx_group_parts,
    .elect_lane = roc_nvptx_elect_lane,
    .math = roc_nvptx_math,
    .intercept = roc_nvptx_intercept,
};
