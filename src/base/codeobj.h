/* Code objects: what the compiler hands to the runtime, and the calling convention of CPU kernels.
 *
 * A plain, self-contained struct; compiler and runtime have no other interface. Owned by its
 * holder; freed by its own `free` (it may come from the compiler's shared object). Immutable after
 * creation. */
#ifndef ROC_BASE_CODEOBJ_H
#define ROC_BASE_CODEOBJ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/arg_type.h"
#include "base/ndrange.h"
#include "base/site.h"
#include "base/status.h"
#include "base/str.h"

/* Where an argument lies in the kernarg block: a scalar, or an array's pointer, its extents and,
 * when it has them, its strides.  A boolean takes 1 byte, a float32 4, an integer, extent or stride
 * 8 (4 when the type is narrow), a float64 or pointer 8. */
typedef struct roc_arg_slot {
  roc_arg_type type;
  bool is_read, is_written;                /* arrays: what the kernel does to the elements */
  uint32_t offset;                         /* bytes from the block's start, of the first field */
  uint32_t extents_offset, strides_offset; /* arrays */
} roc_arg_slot;

typedef struct roc_codeobj roc_codeobj;
struct roc_codeobj {
  const char *target; /* its name: base/target.h */
  const char *entry;  /* symbol of the kernel */
  const unsigned char
      *bytes; /* object (cpu: relocatable ELF) or loadable image; a byte 0 follows */
  size_t nbytes;
  const roc_arg_slot *args; /* explicit, then hidden */
  uint32_t nargs;
  uint32_t kernarg_bytes; /* of `args`, a multiple of 8; on GPUs the addresses of fault record
                             and print buffer follow, 8 bytes each, used or not */
  const roc_site *sites;
  uint32_t nsites;
  bool has_print;      /* needs a print buffer */
  bool has_fault;      /* may write the fault record */
  bool has_barrier;    /* a workgroup's items meet */
  bool has_batches;    /* cpu: gains from a launch with `batch` > 1 */
  bool is_unordered;   /* cpu: no workgroup can wait for another */
  bool goes_by_rows;   /* cpu: the entry runs one row of work-items of the launch, or a part */
  bool is_foreign;     /* of another compiler (base/module.h): the block is all its arguments */
  uint32_t item_steps; /* cpu: a work-item's, beside long loops; a handful of instructions */
  uint32_t items_per_thread; /* at most; 0 counts as 1 */
  uint32_t shared_bytes;     /* static; dynamic bytes follow, from a multiple of 64 on */
  /* cpu: bytes of the frame a worker hands in = frame_fixed + frame_item * items of a workgroup *
   * batch (shared memory not counted). 64-byte aligned. */
  uint32_t frame_fixed_bytes, frame_item_bytes;
  void (*free)(roc_codeobj *object);
};

/* An empty object with an arena of its own, which goes with it (object->free).  NULL when memory is
 * out. */
roc_codeobj *roc_codeobj_new(roc_arena **out_arena);
/* Adds the object's serialised form, protected by a checksum: for disk and for other processes.
 *  out->failed tells of memory that ran out. */
void roc_codeobj_write(const roc_codeobj *object, roc_str *out);
/* The object again, owned by the caller (object->free).  INVALID: bytes are missing, were changed,
 * or are of another version of roclua. */
roc_status roc_codeobj_read(const void *bytes, size_t nbytes, roc_codeobj **out, roc_error *err);

/* What a CPU kernel is told about its launch; read-only while it runs, but for what the pointers
 * lead to. */
typedef struct roc_cpu_launch {
  roc_ndrange range;       /*  0 */
  uint64_t groups[3];      /* 48: workgroups per dimension */
  uint32_t wave_size;      /* 72: 32 or 64 */
  uint32_t batch;          /* 76: workgroups for which there are frames and shared memory,
                                  1 … ROC_CPU_MAX_BATCH; 1 unless the object has_batches */
  roc_fault_record *fault; /* 80 */
  roc_print_buffer *print; /* 88 */
  uint32_t merge;          /* 96: how many neighbouring workgroups may run as one, at least 1, in a
                                  kernel in which no work-item can tell */
} roc_cpu_launch;          /* 104 bytes; offsets asserted in site.c */

enum { ROC_CPU_MAX_BATCH = 16 };

/* What a thread that runs a kernel is asked by it, now and then. The kernel counts its steps; when
 * there have been `budget` of them it asks for more: 0 ends it on the spot, its workgroup
 * unfinished. `next`: the first workgroup that has not begun, where the question comes between two,
 * else UINT64_MAX. */
typedef struct roc_cpu_turn roc_cpu_turn;
struct roc_cpu_turn {
  uint64_t budget;                                    /* 0: for the first question */
  uint64_t (*ask)(roc_cpu_turn *turn, uint64_t next); /* 8 */
  uint64_t row[2]; /* 16: ids in dimensions 2 and 3, from 1, where the object goes_by_rows */
};

/* Runs workgroups first … end-1 in increasing order (linear: dimension 1 fastest) on the calling
 * thread; where the object goes_by_rows, of dimension 1, as if the others had one work-item.
 * `kernarg`: the block laid out by `args`. `shared`: static then dynamic bytes, rounded up to 64,
 * `batch` times; 64-byte aligned, and `frame` likewise. Both are the caller's, undefined contents,
 * not shared between threads. */
typedef void (*roc_cpu_entry)(const void *kernarg, const roc_cpu_launch *launch, uint64_t first,
                              uint64_t end, void *shared, void *frame, roc_cpu_turn *turn);

#endif
