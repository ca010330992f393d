/* The AMD GPUs we compile for: facts of each chip, and how many wavefronts of a kernel it keeps.
 *
 * The facts are LLVM's (its GCNSubtarget and AMDGPUBaseInfo) and those of AMD's ISA manuals; the
 * compiler reads from them what it may emit, the runtime and the tools what a kernel costs.  Pure
 * functions over a constant table. */
#ifndef ROC_BASE_AMDGPU_TARGET_H
#define ROC_BASE_AMDGPU_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct roc_gpu_chip {
  const char *name;
  uint32_t isa_version;        /* major * 1000 + minor * 100 + stepping, as ocml has it */
  uint8_t wave_size;           /* the one we compile for */
  bool has_xnack, has_sramecc; /* whether a target id may state them */
  uint32_t max_shared_bytes;   /* of a workgroup */
  uint32_t block_shared_bytes; /* of the block a workgroup runs in: a CU, or from gfx10 on a WGP */
  uint8_t block_simds;         /* SIMDs of that block */
  uint8_t block_workgroups;    /* workgroups of more than one wavefront it keeps (barriers) */
  uint8_t simd_waves;          /* wavefronts a SIMD keeps */
  uint16_t simd_vgprs;         /* vector registers of a SIMD, per lane of such a wavefront */
  uint8_t vgpr_granule;        /* they are given out in multiples of this */
  uint16_t simd_sgprs;         /* scalar registers of a SIMD; 0: each wavefront has its own */
} roc_gpu_chip;

enum { ROC_GPU_MAX_WORKGROUP = 1024, ROC_GPU_FEATURES_BYTES = 32 };

/* Chips in the order of the table; NULL after the last. */
const roc_gpu_chip *roc_gpu_chip_at(unsigned index);

/* The chip of a target id such as "gfx90a", "gfx90a:xnack+" or, from gfx10 on,
 * "gfx1030:wavefrontsize64"; NULL when there is none or it does not have such a feature. `features`
 * (ROC_GPU_FEATURES_BYTES, or NULL) gets them as LLVM takes them: "+xnack,-sramecc". */
const roc_gpu_chip *roc_gpu_chip_find(const char *target_id, char *features);

/* What a kernel asks for. */
typedef struct roc_gpu_use {
  uint32_t vgprs; /* with accumulation registers where the two share one file */
  uint32_t sgprs; /* with VCC and the like */
  uint32_t shared_bytes;
  uint32_t workgroup; /* work-items */
} roc_gpu_use;

typedef enum roc_gpu_limit {
  ROC_GPU_LIMIT_WAVES, /* nothing: as many as the SIMD keeps */
  ROC_GPU_LIMIT_VGPRS,
  ROC_GPU_LIMIT_SGPRS,
  ROC_GPU_LIMIT_SHARED,
  ROC_GPU_LIMIT_WORKGROUP /* workgroups do not fill the block, or it keeps no more of them */
} roc_gpu_limit;

typedef struct roc_gpu_occupancy {
  uint32_t waves; /* per SIMD; 0: such a workgroup does not fit at all */
  uint32_t max;
  roc_gpu_limit limit; /* the first, in the order above, that allows no more */
} roc_gpu_occupancy;

roc_gpu_occupancy roc_gpu_occupancy_of(const roc_gpu_chip *chip, const roc_gpu_use *use);

/* The work-items of a workgroup in one dimension, at most `most`, that keep the most wavefronts on
 * a SIMD: the first of 256, 512, 128, 1024 and 64 with as many as any; `most` itself when that is
 * less than all of them. `use` without its workgroup. */
uint32_t roc_gpu_choose_workgroup(const roc_gpu_chip *chip, const roc_gpu_use *use, uint32_t most);

/* "waves", "vgprs", … */
const char *roc_gpu_limit_name(roc_gpu_limit limit);

#endif
