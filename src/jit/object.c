/* See object.h. */
#include "jit/object.h"

#include <string.h>

#include "base/alloc.h"
#include "jit/cache.h"
#include "jit/compile.h"
#include "jit/driver.h"
#include "jit/fit.h"

static roc_status build(roc_jit_kernel *k, roc_ir_module *module, const roc_cg_options *options,
                        roc_codeobj **out_object, roc_error *err) {
  roc_cg_times unused;
  roc_cg_options own = *options;
  roc_jit_let_interrupt(&own, k->session);
  roc_status status = roc_jit_fit_target(module, own.target, err);
  if (status == ROC_OK) status = roc_jit_build(module, &own, out_object, &unused, err);
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

static void widen(roc_arg_type *classes, uint32_t count, roc_jit_generality generality) {
  for (uint32_t i = 0; i < count && generality != ROC_JIT_COMMON; i++) {
    classes[i].is_narrow = false;
    if (!roc_arg_is_array(&classes[i])) continue;
    classes[i].is_alias = true;
    if (generality == ROC_JIT_PLAIN) continue;
    classes[i].layout = ROC_LAYOUT_STRIDED;
    classes[i].is_host_memory = true;
  }
}

/* Classes that the compile does not settle by where arrays lie. */
static roc_status lower_for(roc_jit_kernel *kernel, roc_jit_generality generality,
                            roc_ir_module **out_module, roc_error *err) {
  roc_jit_kernel_classify(kernel);
  if (generality == ROC_JIT_COMMON) return roc_jit_compile_ir(kernel, out_module, err);
  widen(kernel->classes, kernel->nparams + kernel->program->narrays, generality);
  return roc_jit_lower(kernel, out_module, err);
}

static roc_status compile_for(roc_jit_kernel *kernel, const roc_cg_options *options,
                              roc_jit_generality generality, roc_codeobj **out_object,
                              roc_str *out_bitcode, roc_error *err) {
  roc_ir_module *module = NULL;
  if (out_bitcode) {
    ROC_TRY(lower_for(kernel, generality, &module, err));
    roc_cg_options own = *options;
    roc_jit_let_interrupt(&own, kernel->session);
    roc_status status = roc_jit_fit_target(module, options->target, err);
    if (status == ROC_OK) {
      status = roc_jit_dump(module, &own, ROC_CG_BITCODE, out_bitcode, err);
    }
    roc_ir_module_free(module);
    ROC_TRY(status);
    module = NULL;
  }
  ROC_TRY(lower_for(kernel, generality, &module, err));
  roc_cg_options own = *options;
  own.symbol = NULL; /* the cache's objects have symbols of their own */
  return build(kernel, module, &own, out_object, err);
}

roc_status roc_jit_kernel_object_for(roc_jit_kernel *kernel, const roc_cg_options *options,
                                     roc_jit_generality generality, roc_codeobj **out_object,
                                     roc_str *out_bitcode, roc_error *err) {
  uint32_t n = kernel->nparams + kernel->program->narrays;
  bool had_classes = kernel->has_classes;
  roc_arg_type *kept = roc_alloc((n + 1) * sizeof *kept);
  if (!kept)
    return roc_fail(err, ROC_OOM, "out of memory while compiling kernel '%s'", kernel->name);
  memcpy(kept, kernel->classes, n * sizeof *kept);
  roc_str_clear(&kernel->diagnostics);
  roc_status status = compile_for(kernel, options, generality, out_object, out_bitcode, err);
  memcpy(kernel->classes, kept, n * sizeof *kept);
  kernel->has_classes = had_classes;
  roc_free(kept);
  return status;
}

roc_status roc_jit_resources_of(const roc_codeobj *object, uint32_t workgroup,
                                const roc_target_facts **out_facts, roc_target_resources *out,
                                roc_error *err) {
  const roc_target_facts *facts = roc_target_facts_of(object->target);
  if (!facts || !facts->resources) {
    return roc_fail(err, ROC_UNSUPPORTED,
                    "target '%s' has no fixed registers or occupancy to report; ask for a GPU's",
                    object->target);
  }
  *out_facts = facts;
  return facts->resources(object, workgroup, out, err);
}
