/* Modules of AMD GPUs: code objects, and clang's bundles of them. */
#ifndef ROC_BASE_AMDGPU_MODULE_H
#define ROC_BASE_AMDGPU_MODULE_H

#include "base/module.h"

/* The hook of base/target.h: `module` has its target and the bytes of the file. */
roc_status roc_amdgpu_read_module(roc_module *module, roc_error *err);

#endif
