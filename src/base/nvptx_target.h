/* The NVIDIA GPUs we compile for: facts of each, and how many warps of a kernel it keeps.
 *
 * The facts are those of the CUDA programming guide's table of compute capabilities. Pure functions
 * over a constant table. */
#ifndef ROC_BASE_NVPTX_TARGET_H
#define ROC_BASE_NVPTX_TARGET_H

#include <stdint.h>

enum {
  ROC_NVPTX_WARP = 32,
  ROC_NVPTX_MAX_WORKGROUP = 1024,
  ROC_NVPTX_MAX_WORKGROUP_Z = 64,
  ROC_NVPTX_MAX_PRIVATE_BYTES = 512 << 10, /* of a work-item */
  ROC_NVPTX_SM_REGISTERS = 65536,          /* of a multiprocessor */
};

typedef struct roc_nvptx_chip {
  const char *name;
  uint32_t max_shared_bytes; /* of a workgroup, where the launch asks for them */
  uint32_t sm_shared_bytes;  /* of the multiprocessor that it runs in */
  uint8_t sm_warps;          /* that a multiprocessor keeps */
  uint8_t sm_workgroups;
  uint16_t reserved_bytes; /* of shared memory, by the system for each workgroup */
  const char *features;    /* of LLVM's: PTX above the lowest version that has the GPU */
} roc_nvptx_chip;

/* Chips in the order of the table; NULL after the last. */
const roc_nvptx_chip *roc_nvptx_chip_at(unsigned index);

/* NULL when there is none of the name. */
const roc_nvptx_chip *roc_nvptx_chip_find(const char *name);

/* What a kernel asks for. */
typedef struct roc_nvptx_use {
  uint32_t registers; /* of a work-item; 0: not known */
  uint32_t shared_bytes;
  uint32_t workgroup; /* work-items */
} roc_nvptx_use;

typedef enum roc_nvptx_limit {
  ROC_NVPTX_LIMIT_WAVES, /* nothing: as many as the multiprocessor keeps */
  ROC_NVPTX_LIMIT_REGISTERS,
  ROC_NVPTX_LIMIT_SHARED,
  ROC_NVPTX_LIMIT_WORKGROUP
} roc_nvptx_limit;

typedef struct roc_nvptx_occupancy {
  uint32_t warps;        /* per multiprocessor; 0: such a workgroup does not fit at all */
  roc_nvptx_limit limit; /* the first, in the order above, that allows no more */
} roc_nvptx_occupancy;

roc_nvptx_occupancy roc_nvptx_occupancy_of(const roc_nvptx_chip *chip, const roc_nvptx_use *use);

/* The work-items of a workgroup in one dimension, at most `most`, that keep the most warps: the
 * first of 256, 512, 128, 1024 and 64 with as many as any; `most` itself when that is less than all
 * of them. `use` without its workgroup. */
uint32_t roc_nvptx_choose_workgroup(const roc_nvptx_chip *chip, const roc_nvptx_use *use,
                                    uint32_t most);

#endif
