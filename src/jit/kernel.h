/* Kernels: a program, its options, and the specialisations compiled so far.
 *
 * A launch fills the values of the explicit arguments and of the captures, selects the
 * specialisation for them (compiled on first use), and queues it.  Selecting compares a short key
 * of classes and constants: the last one used first, then all of at most ROC_JIT_MAX_SPECS; the
 * least recently used makes room.  A launch of the arrays of the last one, with scalars of the same
 * classes, takes its specialisation and the bytes of its arrays. Belongs to one Lua state; one
 * thread at a time. */
#ifndef ROC_JIT_KERNEL_H
#define ROC_JIT_KERNEL_H

#include "base/ndrange.h"
#include "base/target.h"
#include "backend/backend.h"
#include "jit/later.h"
#include "jit/program.h"
#include "runtime/launch.h"

enum { ROC_JIT_MAX_SPECS = 64 };
/* Workgroups of a kernel that code is made for; the other ones share code for any. */
enum { ROC_JIT_MAX_SIZES = 4 };

/* What the key of a specialisation begins with; classes and the scalars' part follow. */
typedef struct roc_jit_key_head {
  uint32_t device;       /* its index, and whether the code knows its workgroup */
  uint32_t workgroup[3]; /* that it knows, where it is not the promised one; otherwise 0 */
} roc_jit_key_head;

/* The times of the last compile; all 0 before the first. */
typedef struct roc_jit_times {
  double front_end_ms; /* types and lowering, in as many rounds as it took */
  double passes_ms;    /* of the IR */
  double back_end_ms;  /* with what `codegen` lists, and opening LLVM */
  double load_ms;
  roc_cg_times codegen;
} roc_jit_times;

typedef struct roc_jit_spec {
  roc_rt_kernel *loaded;
  const roc_codeobj *object; /* owned by `loaded` */
  roc_rt_device *device;
  const roc_target_facts *facts; /* of a target that picks workgroups, else NULL; then: */
  roc_target_footprint footprint;
  uint32_t max_workgroup; /* work-items in one dimension, by device and promise */
  uint32_t workgroup;     /* the best in one dimension, without dynamic shared bytes */
  uint64_t hash, last_use;
  uint32_t key_bytes;
  unsigned char key[];
} roc_jit_spec;

/* Kinds of hints. */
enum { ROC_JIT_HINT_FLOAT64, ROC_JIT_HINT_FRONT_END, ROC_JIT_HINT_RACE, ROC_JIT_HINTS };

typedef struct roc_jit_kernel {
  char *name;
  roc_rt_session *session; /* whose interrupt ends a compile; borrowed; NULL: nothing ends it */
  roc_fe_options options;
  roc_jit_program *program;
  uint32_t nparams;
  roc_jit_value *values; /* nparams explicit, the captured arrays, then the hidden scalars */
  roc_arg_type *classes; /* nparams + narrays */
  uint8_t *written;      /* likewise: may some specialisation write it */
  bool *old_aliases;     /* scratch of the compiler, likewise */
  bool knows_written;    /* false: all are taken for written */
  bool has_classes;      /* `classes` are those of a launch or a signature */
  roc_jit_seen *seen;    /* likewise: the values of the launch that `last` was selected for, */
  bool has_seen;         /* whose classes are `classes` */
  bool has_scalars;      /* among them, or captured */
  bool has_packed;       /* `block` has the arrays of `seen`, for `last`, and `uses` lists them */
  bool is_exact;     /* the code for the last launch knows its workgroup: the promised one, or */
  uint32_t exact[3]; /* this one; otherwise 0 */
  uint32_t sizes[ROC_JIT_MAX_SIZES][3]; /* those that there is, or will be, such code for */
  uint32_t nsizes;
  bool never_meets;                    /* the last code that was made has no barriers */
  const roc_rt_device *asked;          /* the last device of which was found out: */
  const roc_target_facts *asked_facts; /* what code it takes; may be NULL */
  unsigned char *key;
  uint32_t key_bytes;
  roc_jit_spec *specs[ROC_JIT_MAX_SPECS];
  uint32_t nspecs;
  uint64_t ndropped; /* specialisations that it has no more */
  roc_jit_spec *last;
  roc_jit_later *later;     /* the code of a specialisation that is being made; NULL: of none */
  unsigned char *later_key; /* of it: room for a key */
  uint32_t later_key_bytes;
  uint64_t clock, ncompiles;
  roc_jit_times times;
  unsigned char *block; /* kernarg of the current launch */
  uint32_t block_capacity;
  roc_rt_use *uses;                /* nparams + narrays */
  uint32_t nuses;                  /* of them, in the last launch */
  roc_str hints[ROC_JIT_HINTS];    /* of each kind the first one found by a compile; "": none */
  bool is_hint_new[ROC_JIT_HINTS]; /* not yet given as a warning */
  roc_str diagnostics;             /* of the last compile that failed, whole */
} roc_jit_kernel;

typedef struct roc_jit_launch {
  roc_ndrange range;
  bool is_local_free; /* the launch names no workgroup: `local` may be replaced by a better one */
  bool is_ordered;    /* as of a roc_rt_launch */
  bool uses_all;      /* a fault is told of by all its arrays, also those that it does not touch */
  bool has_moved;     /* an array lies elsewhere than when the specialisation was selected */
  const char *file;   /* the launch's place, for faults; lives as long as the process */
  uint32_t line;
} roc_jit_launch;

/* The values of a launch, and the memory in which its arguments are packed. */
typedef struct roc_jit_values {
  const char *name; /* of the kernel, for messages */
  const roc_jit_value *items;
  uint32_t narrays;     /* the first ones: parameters and captured arrays */
  uint32_t count;       /* with the hidden scalars */
  unsigned char *block; /* the object's kernarg_bytes */
  roc_rt_use *uses;     /* narrays */
} roc_jit_values;

/* Queues the specialisation for values of its classes.  Any thread; allocates nothing. */
roc_status roc_jit_spec_queue(const roc_jit_spec *spec, const roc_jit_values *values,
                              roc_rt_stream *stream, const roc_jit_launch *launch,
                              roc_ticket *out_ticket, roc_error *err);
/* Runs it before it returns, for values of its classes, none of them of a capture, if that can be
 * (roc_rt_launch_at_once).  Any thread; allocates nothing. */
enum { ROC_JIT_AT_ONCE_BYTES = 256 }; /* of arguments at most */
bool roc_jit_spec_run_at_once(const roc_jit_spec *spec, const roc_jit_value *values, uint32_t count,
                              const roc_ndrange *range);
/* Code for the device, as a specialisation with that key.  On success it owns the object.
 * `promise`: the most work-items of a workgroup in the first dimension, 0: any number. */
roc_status roc_jit_spec_load(roc_rt_device *device, roc_codeobj *object, const char *name,
                             uint32_t promise, const unsigned char *key, uint32_t key_bytes,
                             roc_jit_spec **out_spec, roc_error *err);
void roc_jit_spec_free(roc_jit_spec *spec); /* pending launches keep their code; NULL is fine */

/* Copies the name; takes over `program`, also on failure.  NULL when memory is out. */
roc_jit_kernel *roc_jit_kernel_new(const roc_fe_options *options, roc_jit_program *program);
void roc_jit_kernel_free(
    roc_jit_kernel *kernel); /* pending launches keep their code; NULL is fine */

/* Drops all specialisations and starts over with another program of equally many parameters (taken
 * over). OOM keeps the old one. */
roc_status roc_jit_kernel_replace(roc_jit_kernel *kernel, roc_jit_program *program, roc_error *err);

/* Finds or makes the specialisation for kernel->values and the program's captures, for the launch
 * or, where that is NULL, any.  The spec is valid until the next select.  COMPILE:
 * kernel->diagnostics has the whole text. */
roc_status roc_jit_kernel_select(roc_jit_kernel *kernel, roc_rt_device *device,
                                 const roc_jit_launch *launch, roc_jit_spec **out_spec,
                                 roc_error *err);

/* Whether the specialisation that roc_jit_kernel_select would find is there.  If not, its code is
 * generated while the caller goes on.  True, too, where that fails: selecting it says why. */
bool roc_jit_kernel_is_ready(roc_jit_kernel *kernel, roc_rt_device *device,
                             const roc_jit_launch *launch);

/* Queues a selected specialisation with kernel->values, whose classes must be unchanged since. */
roc_status roc_jit_kernel_launch(roc_jit_kernel *kernel, const roc_jit_spec *spec,
                                 roc_rt_stream *stream, const roc_jit_launch *launch,
                                 roc_ticket *out_ticket, roc_error *err);

/* The specialisation is the caller's from now on (roc_jit_spec_free), and unknown to the kernel. */
void roc_jit_kernel_give_up(roc_jit_kernel *kernel, const roc_jit_spec *spec);
/* The captured scalars as they are now: their part of a key, of at most 9 bytes each; and those
 * that are hidden arguments.  Each gives how many bytes or values. */
uint32_t roc_jit_kernel_scalar_key(const roc_jit_kernel *kernel, unsigned char *out);
uint32_t roc_jit_kernel_hidden(const roc_jit_kernel *kernel, roc_jit_value *values);

/* True when the kernel stores to array `i` of the selected specialisation. */
static inline bool roc_jit_spec_writes(const roc_jit_spec *spec, uint32_t i) {
  return spec->object->args[i].is_written;
}

/* ---- looking inside, for the classes of the last launch (or the signature)
 * ------------------------ */

/* Classes of kernel->values without compiling anything: for sim, and for a signature. */
void roc_jit_kernel_classify(roc_jit_kernel *kernel);
/* Finds the hints of a kernel that has types and was not compiled: one that ran in Lua. */
void roc_jit_kernel_look_for_hints(roc_jit_kernel *kernel);
roc_status roc_jit_kernel_dump_types(roc_jit_kernel *kernel, roc_str *out, roc_error *err);
roc_status roc_jit_kernel_dump_ir(roc_jit_kernel *kernel, roc_str *out, roc_error *err);
roc_status roc_jit_kernel_dump(roc_jit_kernel *kernel, const roc_cg_options *options,
                               roc_cg_stage stage, roc_str *out, roc_error *err);
/* INVALID when neither a launch nor a signature has given the types of the arguments yet. */
roc_status roc_jit_kernel_check_classes(const roc_jit_kernel *kernel, roc_error *err);
/* Puts the kernel's name into the message of a failed compile that lacks it; returns the code. */
roc_status roc_jit_kernel_name_error(const roc_jit_kernel *kernel, roc_error *err);
/* Which parameters the kernel stores to. */
roc_status roc_jit_kernel_writes(roc_jit_kernel *kernel, bool *out_writes, roc_error *err);
roc_status roc_jit_kernel_print_lua(roc_jit_kernel *kernel, roc_str *out, roc_error *err);

#endif
