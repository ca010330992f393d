/* See object.h. */
#include "jit/object.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/narrow_group_ids.h"
#include "ir/check_elimination.h"
#include "ir/optimize.h"
#include "ir/loop_versioning.h"
#include "jit/cache.h"
#include "jit/compile.h"

enum { DEFAULT_WORKGROUP = 256, CPU_WAVE_SIZE = 64 };

roc_cg_options roc_jit_options_for(const char *target, int opt_level) {
  roc_cg_options options = {.target = target, .opt_level = opt_level};
  if (roc_target_is_cpu(target)) options.wave_size = CPU_WAVE_SIZE;
  return options;
}

/* On a GPU launches are smaller, which proves more: (id - 1) * 4 + 4 does not wrap.  Leaving a loop
 * with a part of the wavefront is dear there; on a CPU checks are masked. */
roc_status roc_jit_fit_target(roc_ir_module *module, const char *target, roc_error *err) {
  if (!roc_gpu_chip_find(target, NULL)) return ROC_OK;
  if (module->check) {
    ROC_TRY(roc_ir_eliminate_checks_gpu(module, err));
    ROC_TRY(roc_ir_version_launch(module, err));
  }
  ROC_TRY(roc_ir_narrow_group_ids(module, err));
  return roc_ir_dce(module, err);
}

static roc_status build(roc_jit_kernel *k, roc_ir_module *module, const roc_cg_options *options,
                        roc_codeobj **out_object, roc_error *err) {
  roc_cg_times unused;
  roc_status status = roc_jit_fit_target(module, options->target, err);
  if (status == ROC_OK) status = roc_jit_build(module, options, out_object, &unused, err);
  roc_ir_module_free(module);
  return status == ROC_COMPILE ? roc_jit_kernel_name_error(k, err) : status;
}

roc_status roc_jit_kernel_object(roc_jit_kernel *kernel, const roc_cg_options *options,
                                 roc_codeobj **out_object, roc_error *err) {
  roc_ir_module *module = NULL;
  roc_str_clear(&kernel->diagnostics);
  ROC_TRY(roc_jit_kernel_check_classes(kernel, err));
  ROC_TRY(roc_jit_lower(kernel, &module, err));
  return build(kernel, module, options, out_object, err);
}

roc_status roc_jit_kernel_object_for(roc_jit_kernel *kernel, const roc_cg_options *options,
                                     roc_codeobj **out_object, roc_error *err) {
  uint32_t n = kernel->nparams + kernel->program->narrays;
  bool had_classes = kernel->has_classes;
  roc_jit_class *kept = roc_alloc((n + 1) * sizeof *kept);
  if (!kept)
    return roc_fail(err, ROC_OOM, "out of memory while compiling kernel '%s'", kernel->name);
  memcpy(kept, kernel->classes, n * sizeof *kept);
  roc_str_clear(&kernel->diagnostics);
  roc_jit_kernel_classify(kernel);
  roc_ir_module *module = NULL;
  roc_status status = roc_jit_compile_ir(kernel, &module, err);
  memcpy(kernel->classes, kept, n * sizeof *kept);
  kernel->has_classes = had_classes;
  roc_free(kept);
  return status == ROC_OK ? build(kernel, module, options, out_object, err) : status;
}

roc_status roc_jit_resources_of(const roc_codeobj *object, uint32_t workgroup,
                                roc_jit_resources *out, roc_error *err) {
  const roc_gpu_chip *chip = roc_gpu_chip_find(object->target, NULL);
  if (!chip) {
    return roc_fail(err, ROC_UNSUPPORTED,
                    "target '%s' has no fixed registers or occupancy to report; ask for an AMD "
                    "GPU's",
                    object->target);
  }
  *out = (roc_jit_resources){.chip = chip};
  roc_hsaco_kernel *k = &out->kernel;
  ROC_TRY(roc_hsaco_read_kernel(object->bytes, object->nbytes, object->entry, k, err));
  out->workgroup = workgroup ? workgroup : DEFAULT_WORKGROUP;
  if (!workgroup && out->workgroup > k->max_workgroup) out->workgroup = k->max_workgroup;
  if (out->workgroup > k->max_workgroup) {
    return roc_fail(err, ROC_INVALID,
                    "a workgroup of %u work-items is larger than the %u of this kernel on %s",
                    workgroup, k->max_workgroup, object->target);
  }
  const roc_gpu_use use = {k->vgprs, k->sgprs, k->shared_bytes, out->workgroup};
  out->occupancy = roc_gpu_occupancy_of(chip, &use);
  return ROC_OK;
}
