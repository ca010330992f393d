/* Kernels compiled ahead of time, as a file: what rocluac writes and C programs take in without a
 * Lua state.
 *
 * A kernel is there for each target twice: for arguments as they mostly are (small, in C order, not
 * overlapping), and for all that the signature allows. */
#ifndef ROC_JIT_AHEAD_H
#define ROC_JIT_AHEAD_H

#include "jit/kernel.h"

/* ---- writing ---- */

/* One code object of a kernel. */
typedef struct roc_jit_ahead_object {
  const roc_codeobj *object;
  const char *host; /* of target "cpu": the compiler's fingerprint; else NULL */
} roc_jit_ahead_object;

/* Adds a file's head; returns where it begins. */
size_t roc_jit_ahead_begin(roc_str *out, uint32_t nkernels);
/* A kernel, with `nobjects` in the order in which they are tried. */
void roc_jit_ahead_add(roc_str *out, const char *name, const roc_jit_kernel *kernel,
                       const roc_arg_type *signature, const roc_jit_ahead_object *objects,
                       uint32_t nobjects);
void roc_jit_ahead_end(roc_str *out, size_t begin);

/* ---- reading ---- */

typedef struct roc_jit_ahead_entry {
  const char *target;
  const char *host;
  const unsigned char *bytes; /* of the code object, for roc_codeobj_read */
  size_t nbytes;
  const roc_arg_slot *args; /* nparams */
} roc_jit_ahead_entry;

typedef struct roc_jit_ahead {
  roc_arena arena;
  unsigned char *file; /* owned */
  const char *name;
  uint32_t nparams;
  const roc_arg_type *signature;
  uint32_t workgroup[3]; /* the kernel's promise, as in roc_fe_options */
  const roc_jit_ahead_entry *entries;
  uint32_t nentries;
} roc_jit_ahead;

/* The kernel of that name, or, NULL, the only one; the bytes are copied.  INVALID: no such file, or
 * no such kernel, and which there are; OOM. */
roc_status roc_jit_ahead_read(const void *bytes, size_t nbytes, const char *name,
                              roc_jit_ahead **out, roc_error *err);
void roc_jit_ahead_free(roc_jit_ahead *ahead); /* NULL is fine */

/* Whether code with these parameters takes arguments of these classes. */
bool roc_jit_ahead_fits(const roc_arg_slot *args, const roc_arg_type *classes, uint32_t count);

/* The entry on a device that runs it; one of the host's is compared with this machine.
 * UNSUPPORTED: it is of another machine; otherwise as roc_jit_spec_load. */
roc_status roc_jit_ahead_load(const roc_jit_ahead *ahead, const roc_jit_ahead_entry *entry,
                              roc_rt_device *device, roc_jit_spec **out_spec, roc_error *err);
/* Whether the entry's target is the device's. */
bool roc_jit_ahead_serves(const roc_jit_ahead_entry *entry, roc_rt_device *device);

#endif
