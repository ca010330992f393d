/* Modules of NVIDIA GPUs: PTX that another compiler made (nvcc, clang, Triton, rocluac). */
#ifndef ROC_BASE_NVPTX_MODULE_H
#define ROC_BASE_NVPTX_MODULE_H

#include "base/module.h"

/* The hook of base/target.h: `module` has its target and the bytes of the file. */
roc_status roc_nvptx_read_module(roc_module *module, roc_error *err);

#endif
