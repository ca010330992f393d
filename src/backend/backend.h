/* The compiler's back end as the rest of the program sees it: one struct of functions.
 *
 * libroclua-codegen.so (the object with LLVM in it) exports roc_codegen_entry and nothing else; jit
 * opens it on the first compile.  It carries its own copy of base and ir, so memory is freed on the
 * side that made it.  Functions may be called from several threads at once.  Each can fail with OOM,
 * those with options also with INTERRUPTED, and then leaves nothing allocated.  LLVM's fatal errors park the calling thread for good after
 * calling `on_fatal`, so callers run them on a thread of their own. */
#ifndef ROC_BACKEND_BACKEND_H
#define ROC_BACKEND_BACKEND_H

#include "base/codeobj.h"
#include "base/status.h"
#include "ir/ir.h"

enum { ROC_CODEGEN_ABI = 10, ROC_CG_FINGERPRINT_BYTES = 4096, ROC_CG_FILES_BYTES = 8192 };
enum { ROC_CG_MOST_LANES = 32 };

typedef enum roc_cg_stage {
  ROC_CG_LLVM,
  ROC_CG_LLVM_OPT,
  ROC_CG_ASM,
  ROC_CG_OBJ,
  ROC_CG_BITCODE /* optimised, for `join` */
} roc_cg_stage;

typedef struct roc_cg_options {
  const char *target;      /* a name that facts of base/target.h accept; validated */
  uint32_t wave_size;      /* 32 or 64 where facts->default_wavefront is not 0; else 0 */
  int opt_level;           /* 0 … 3; -1: the default */
  uint32_t object_version; /* of a GPU's code object, 4 … 6; 0: the default, 5 */
  bool is_watched;         /* a tool watches memory: no access that the kernel lacks */
  const char *symbol; /* of the kernel, in a dump; NULL: roc_NAME, on cpu what jit_load numbers */
  uint32_t
      lanes; /* on cpu: how many work-items that go different ways run side by side in vectors, 1:
                     none, 0: as many as pay */
  uint64_t quirks_off; /* bits of the rows of `quirks` that are off; 0 but in the specs */
  bool (*wants_end)(void *session); /* asked often, on the compiling thread: true ends the call with
                                       INTERRUPTED; NULL: nothing does */
  void *session;
} roc_cg_options;

/* A known defect of LLVM or of the device library, which the code generator works around. */
typedef struct roc_cg_quirk {
  const char *name;
  const char *family; /* of targets; NULL: all */
  const char *kind;   /* "rewrite", "option", "feature", "other" */
  uint32_t number;    /* of llvm-project's pull request or issue; 0: not known */
  const char *targets, *versions, *what;
  const char *spec, *title; /* of the case that shows it */
} roc_cg_quirk;

typedef struct roc_cg_times {
  double build_ms, verify_ms, opt_ms, emit_ms;
} roc_cg_times;

/* One kernel of several in a code object. */
typedef struct roc_cg_part {
  const char *bitcode; /* of stage ROC_CG_BITCODE */
  size_t nbytes;
  const char *symbol; /* it was made with; another one than the other parts' */
} roc_cg_part;

/* The allocations of this object; for the specs. */
typedef struct roc_cg_memory {
  uint64_t nallocations; /* since the last call of plant_failures with a `last` */
  uint64_t nleft, nkept; /* calls that lack of memory ended; blocks that outlived the other calls */
  size_t reserve_bytes, reserve_most_bytes; /* in use now, and at most, of the reserve */
} roc_cg_memory;

typedef struct roc_codegen_api {
  uint32_t abi; /* ROC_CODEGEN_ABI */
  /* Tells where to report a fatal LLVM error (COMPILE), or that even the reserve of memory is used
   * up (OOM); called on the failing thread, which is then parked. */
  void (*set_fatal_handler)(void (*on_fatal)(void *ud, roc_status status, const char *message),
                            void *ud);
  /* Verified IR to a code object, owned by the caller (object->free). ROC_COMPILE: LLVM refused,
   * the message has its text. */
  roc_status (*compile)(const roc_ir_module *module, const roc_cg_options *options,
                        roc_codeobj **out_object, roc_cg_times *times /* may be NULL */,
                        roc_error *err);
  /* Hands the text of a stage to `sink`, in one or more pieces, before it returns. */
  roc_status (*dump)(const roc_ir_module *module, const roc_cg_options *options, roc_cg_stage stage,
                     void (*sink)(void *ud, const char *text, size_t len), void *ud,
                     roc_error *err);
  /* One code object of several kernels, each compiled to ROC_CG_BITCODE for the same options and a
   * symbol of its own; handed to `sink` once.  For an AMD GPU it can be loaded, for cpu it is a
   * relocatable object.  INVALID: a part is no kernel. */
  roc_status (*join)(const roc_cg_part *parts, uint32_t nparts, const roc_cg_options *options,
                     void (*sink)(void *ud, const char *bytes, size_t len), void *ud,
                     roc_error *err);
  /* "" when `target` is known, else a sentence that lists what is. */
  const char *(*check_target)(const char *target);
  /* Everything but the module and the options that the code depends on: versions of this object, of
   * LLVM and of device libraries, and for "cpu" the processor.  Fills `out`, a text of less than
   * ROC_CG_FINGERPRINT_BYTES. */
  roc_status (*fingerprint)(const roc_cg_options *options, char *out, roc_error *err);
  /* The files that the fingerprint speaks of, and those that would come before them if they were
   * there: lines "IDENTITY PATH" (roc_file_identity), as they were when they were opened.  Fills
   * `out` of ROC_CG_FILES_BYTES. */
  void (*files)(char *out);
  /* ORC: makes a "cpu" code object callable.  *out_handle is given back with jit_unload once
   * nothing runs it. */
  roc_status (*jit_load)(const roc_codeobj *object, roc_cpu_entry *out_entry, void **out_handle,
                         roc_error *err);
  void (*jit_unload)(void *handle);
  /* The most threads that were ever in one of the functions that work with LLVM at the same moment.
   */
  uint32_t (*most_at_once)(void);
  /* For the specs: the allocations `first` to `last` from now fail, of all that this object makes;
   * 0, 0: none. */
  void (*plant_failures)(uint64_t first, uint64_t last);
  roc_cg_memory (*memory)(void);
  /* The rows of known defects; their bits in roc_cg_options.quirks_off are those of their places.
   */
  const roc_cg_quirk *(*quirks)(uint32_t *out_count);
} roc_codegen_api;

/* The one exported symbol. */
const roc_codegen_api *roc_codegen_entry(void);

#endif
