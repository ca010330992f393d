/* Modules; see module.h. */
#include "base/module.h"

#include <string.h>

#include "base/alloc.h"
#include "base/target.h"

static roc_status read_module(const roc_target_facts *facts, const char *target, const void *bytes,
                              size_t nbytes, roc_module *module, roc_error *err) {
  unsigned char *copy = ROC_ARENA_ARRAY(&module->arena, unsigned char, nbytes + 1);
  module->target = roc_arena_strndup(&module->arena, target, strlen(target));
  roc_status status = ROC_OK;
  if (copy && module->target) {
    memcpy(copy, bytes, nbytes);
    module->bytes = copy;
    module->nbytes = nbytes;
    status = facts->read_module(module, err);
  }
  if (module->arena.failed) return roc_fail(err, ROC_OOM, "out of memory for a code object");
  return status;
}

roc_status roc_module_read(const char *target, const void *bytes, size_t nbytes,
                           roc_module **out_module, roc_error *err) {
  const roc_target_facts *facts = roc_target_facts_of(target);
  if (!facts || !facts->read_module) {
    return roc_fail(err, ROC_UNSUPPORTED,
                    "a module is code for an AMD or NVIDIA GPU, and the device's target is '%s'",
                    target);
  }
  roc_module *module = roc_zalloc(sizeof *module);
  if (!module) return roc_fail(err, ROC_OOM, "out of memory for a code object");
  atomic_init(&module->refs, 1);
  roc_arena_init(&module->arena, 0);
  roc_status status = read_module(facts, target, bytes, nbytes, module, err);
  if (status == ROC_OK) {
    *out_module = module;
  } else {
    roc_module_release(module);
  }
  return status;
}

void roc_module_release(roc_module *module) {
  if (!module || atomic_fetch_sub(&module->refs, 1) > 1) return;
  roc_arena_deinit(&module->arena);
  roc_free(module);
}

typedef struct kernel_object {
  roc_codeobj object; /* first: freed by its address */
  roc_module *module;
} kernel_object;

static void free_object(roc_codeobj *object) {
  roc_module_release(((kernel_object *)(void *)object)->module);
  roc_free(object);
}

roc_codeobj *roc_module_object(roc_module *module, const roc_module_kernel *kernel) {
  kernel_object *made = roc_zalloc(sizeof *made);
  if (!made) return NULL;
  made->object = (roc_codeobj){.target = module->target,
                               .entry = kernel->entry,
                               .bytes = module->bytes,
                               .nbytes = module->nbytes,
                               .kernarg_bytes = kernel->kernarg_bytes,
                               .shared_bytes = kernel->shared_bytes,
                               .is_foreign = true,
                               .free = free_object};
  made->module = module;
  atomic_fetch_add(&module->refs, 1);
  return &made->object;
}
