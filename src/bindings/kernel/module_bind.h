/* Kernels of modules as Lua values: what lib_module.c and module_launch.c share. */
#ifndef ROC_BINDINGS_KERNEL_MODULE_BIND_H
#define ROC_BINDINGS_KERNEL_MODULE_BIND_H

#include "base/module.h"
#include "bindings/support/bind.h"
#include "runtime/launch.h"

#define ROC_META_MODULE "roc.Module"
#define ROC_META_MODULE_KERNEL "roc.ModuleKernel"
#define ROC_META_MODULE_LAUNCHER "roc.ModuleLauncher"

/* What a script declares of an argument, or the metadata does. */
typedef struct roc_module_param {
  bool is_pointer;
  bool is_written; /* pointers */
  bool has_dtype;  /* values */
  roc_dtype dtype;
} roc_module_param;

/* Whether each launch decides if the argument is a pointer or a value. */
static inline bool roc_module_is_open(const roc_module_arg *arg, const roc_module_param *param) {
  return arg->may_be_pointer && !param->is_pointer && !param->has_dtype;
}

/* A kernel of a module, which may be closed before it. */
typedef struct roc_module_box {
  roc_rt_kernel *loaded; /* NULL: closed */
  roc_rt_device *device;
  const roc_module_kernel *kernel; /* of `loaded`'s code object, as all it points to is */
  roc_module_param *params;        /* kernel->nargs */
  roc_rt_use *uses;                /* likewise */
  unsigned char *block;            /* kernel->kernarg_bytes */
} roc_module_box;

/* module_launch.c */
/* The open kernel at index 1. */
roc_module_box *roc_check_module_kernel(lua_State *L);
/* k[{…}], k:forall(…), k:launch({…}, …), with the kernel at index 1. */
int roc_module_index_config(lua_State *L);
int roc_module_m_forall(lua_State *L);
int roc_module_m_launch(lua_State *L);
/* Makes the class of launchers. */
void roc_open_module_launch(lua_State *L);

#endif
