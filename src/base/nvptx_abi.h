/* What code for NVIDIA GPUs and its launch agree on.
 *
 * The code object's bytes are PTX: text, which the byte 0 after object->nbytes ends, with one
 * .entry of the name object->entry. The driver compiles it for the GPU that it is loaded on.
 *
 * Arguments are one buffer (CU_LAUNCH_PARAM_BUFFER_POINTER): the kernarg block as object->args lay
 * it out, object->kernarg_bytes long, a multiple of 8, then a roc_nvptx_hidden. The fields of both
 * are parameters of the entry one by one, each at its natural alignment.  Code of another compiler
 * (object->is_foreign) gets the block alone.
 *
 * Shared memory: static arrays are static shared memory, and a launch asks for its dynamic bytes
 * alone; unless the static ones take more than ROC_NVPTX_STATIC_SHARED bytes: then all lie in
 * dynamic shared memory, the static ones first (roc_nvptx_shared_bytes). Above 48 KiB a function
 * has to be allowed as much: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
 *
 * A kernel never traps: a failed check writes the fault record and ends the work-item. Fault record
 * and print buffer may be memory of the host or of the GPU: they are accessed by atomics of the
 * system's scope, and read once the launch is done. Workgroups are whole: items beyond the grid end
 * at once, and so do groups beyond the last one. */
#ifndef ROC_BASE_NVPTX_ABI_H
#define ROC_BASE_NVPTX_ABI_H

#include <stdint.h>

#include "base/codeobj.h"
#include "base/ndrange.h"
#include "base/status.h"

enum {
  ROC_NVPTX_COARSE_THREADS = 64,       /* the fewest of a block that are worth it */
  ROC_NVPTX_ACCESS_BYTES = 16,         /* of the widest access */
  ROC_NVPTX_STATIC_SHARED = 48 << 10,  /* that ptxas takes */
  ROC_NVPTX_MAX_ARGUMENT_BYTES = 4352, /* of an entry, as PTX below 8.1 has them */
  ROC_NVPTX_MAX_BLOCKS_X = INT32_MAX,
  ROC_NVPTX_MAX_BLOCKS_YZ = 65535,
};

/* Flags of a launch.  Most launches have none, and then a kernel asks nothing further. */
enum {
  ROC_NVPTX_PARTIAL = 1, /* the last groups of some dimension have less items than a group */
  ROC_NVPTX_FOLDED = 2,  /* blocks of y and z count groups of y and z together, see below */
  ROC_NVPTX_COARSE = 4   /* a thread runs object->items_per_thread work-items, see below */
};

/* What follows the kernarg block.  Offsets are ABI.
 *
 * Folded: where there are more groups in y or z than the GPU has blocks there, block (x, y, z) is
 * group x in the first dimension, and number g = z * (blocks in y) + y of the others: g % groups[1]
 * in the second, g / groups[1] in the third; where there is no such group it ends.
 *
 * Coarse: thread t of a block's row runs the items t * m + 1 … t * m + m of its group's row, m
 * being object->items_per_thread. The kernel then takes for granted that packed arrays begin at
 * multiples of ROC_NVPTX_ACCESS_BYTES and, of more than one dimension, have rows of a multiple of m
 * elements: neighbouring elements are one access. */
typedef struct roc_nvptx_hidden {
  uint64_t fault;     /*  0: address of a roc_fault_record, 0 where the object has no faults */
  uint64_t print;     /*  8: of a roc_print_buffer, 0 where it has no prints */
  uint64_t counter;   /* 16: of a u32 in the GPU's memory that is 0 when the launch begins, and is
                           again when it ends: a kernel whose groups wait for lower ones takes their
                           numbers from it. Launches that may run at the same time must not share
                           one; those of one stream do not. */
  uint32_t grid[3];   /* 24: work-items, 1 beyond the rank */
  uint32_t rank;      /* 36 */
  uint32_t groups[3]; /* 40: ceil(grid / local) */
  uint32_t flags;     /* 52 */
} roc_nvptx_hidden;   /* 56 bytes */

/* What the driver is asked for. */
typedef struct roc_nvptx_shape {
  uint32_t blocks[3], threads[3]; /* threads: of a block */
} roc_nvptx_shape;

/* Fills grid, rank, groups and flags of `hidden` for a launch of `object` with the arguments
 * `kernarg` on a range that is not empty, and the shape, which is not folded for code of another
 * compiler. INVALID, with a message: the GPU takes no such grid. */
roc_status roc_nvptx_plan_launch(const roc_codeobj *object, const void *kernarg,
                                 const roc_ndrange *range, roc_nvptx_hidden *hidden,
                                 roc_nvptx_shape *out_shape, roc_error *err);

/* Threads of a block for a workgroup of `items` in one dimension, where arguments allow the
 * fewest. */
uint32_t roc_nvptx_threads(const roc_codeobj *object, uint32_t items);

/* The bytes of dynamic shared memory to launch with, `dynamic` of them the launch's own. */
uint32_t roc_nvptx_shared_bytes(const roc_codeobj *object, uint32_t dynamic);

#endif
