/* Modules: code objects that another compiler made, and what their metadata tells of each kernel's
 * arguments.
 *
 * Read by the facts of a family (base/target.h).  Counted and constant: any thread. */
#ifndef ROC_BASE_MODULE_H
#define ROC_BASE_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/codeobj.h"
#include "base/dtype.h"

typedef enum roc_module_kind {
  ROC_MODULE_VALUE,   /* bytes as they are */
  ROC_MODULE_POINTER, /* to memory that kernels reach */
  ROC_MODULE_SHARED,  /* the offset of dynamic shared memory, of which the caller says how much */
  /* Of the launch, filled in by roclua: */
  ROC_MODULE_GROUPS, /* whole workgroups in dimension `dim` */
  ROC_MODULE_GROUP_SIZE,
  ROC_MODULE_REMAINDER, /* items of the last workgroup, when that is not whole */
  ROC_MODULE_RANK,
  ROC_MODULE_DYNAMIC_BYTES, /* of shared memory */
  ROC_MODULE_ZERO
} roc_module_kind;

typedef struct roc_module_arg {
  roc_module_kind kind;
  uint32_t offset, size; /* in the kernarg block, and within it */
  uint32_t dim;
  uint32_t align;      /* SHARED: of the memory; a power of two */
  bool is_const;       /* POINTER: declared as only read */
  bool has_dtype;      /* VALUE: `dtype` is its type, of that size */
  bool is_integer;     /* VALUE: no float; whether it has a sign is not told */
  bool may_be_pointer; /* VALUE of 8 bytes: or POINTER, which is not told either */
  roc_dtype dtype;
  const char *name; /* NULL: not told */
} roc_module_arg;

typedef struct roc_module_kernel {
  const char *name, *entry;
  const roc_module_arg *args; /* those of the source, in its order, then hidden ones */
  uint32_t nargs, nhidden;
  uint32_t kernarg_bytes, shared_bytes;
  uint32_t max_workgroup;      /* work-items */
  uint32_t exact_workgroup[3]; /* all 0: any */
  bool takes_whole_groups;     /* the grid must be a multiple of the workgroup */
  const char *refused;         /* what it needs and a launch has not; NULL: nothing */
} roc_module_kernel;

typedef struct roc_module {
  _Atomic uint32_t refs;
  roc_arena arena; /* holds all below */
  const char *target;
  const unsigned char *bytes; /* the image */
  size_t nbytes;
  const roc_module_kernel *kernels;
  uint32_t nkernels;
} roc_module;

/* Copies the bytes.  INVALID: they are no code object (or PTX), a damaged one or one for another
 * target; UNSUPPORTED: the target has none, or not of this form; OOM. */
roc_status roc_module_read(const char *target, const void *bytes, size_t nbytes,
                           roc_module **out_module, roc_error *err);
void roc_module_release(roc_module *module); /* NULL is fine */
/* The kernel for roc_rt_kernel_load, with a reference to the module.  NULL: memory is out. */
roc_codeobj *roc_module_object(roc_module *module, const roc_module_kernel *kernel);

#endif
