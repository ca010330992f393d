/* What the files of the NVPTX target share. */
#ifndef ROC_CODEGEN_NVPTX_NVPTX_H
#define ROC_CODEGEN_NVPTX_NVPTX_H

#include "base/nvptx_abi.h"
#include "base/nvptx_target.h"
#include "codegen/core/cg.h"
#include "codegen/core/fields.h"

/* Of one compile; in cg->state. */
/* Of a kernel in which a thread may run several work-items (coarse.c). */
typedef struct roc_nvptx_coarse {
  uint32_t items;         /* of a thread, at least 2 */
  uint8_t *branches;      /* per instruction: of an IF, the one that the items may take together */
  uint8_t *element_bytes; /* per instruction: of an access to the items' own elements */
  LLVMValueRef per_thread, item; /* i32: items of a thread of this launch; which of them, from 0 */
  bool is_together;              /* the code that is made is for all items of a thread … */
  bool is_first;                 /* … and this is the first of them */
} roc_nvptx_coarse;

/* Of a kernel that is there twice (even.c). */
typedef struct roc_nvptx_even {
  bool *arrays;        /* per array: whether neighbours are accessed that may be one access */
  uint8_t *alignments; /* per instruction: of an access to such an array, in bytes; else 0 */
  bool is_current;     /* the code that is made is for arrays that are even */
} roc_nvptx_even;

typedef struct roc_nvptx_state {
  const roc_nvptx_chip *chip;
  const char *entry;               /* symbol */
  bool counts_groups;              /* takes its group's number from the launch's counter */
  uint64_t shared_bytes;           /* static */
  uint64_t *shared_offsets;        /* per array, where all shared memory is dynamic */
  LLVMValueRef dynamic_shared;     /* global; NULL until used */
  const roc_cg_field_list *fields; /* the function's arguments, while code is made */
  uint32_t hidden;                 /* offset of the roc_nvptx_hidden */
  LLVMValueRef block[3];           /* coordinates of the group's block, i32 */
  roc_nvptx_coarse *coarse;        /* NULL: a thread is a work-item */
  roc_nvptx_even *even;            /* NULL: the kernel has one version */
  uint8_t *gathers;                /* roc_nvptx_find_gathers */
  LLVMValueRef group[3]; /* the group's ids from 0, i32; NULL: computed where it is used */
  LLVMValueRef live;     /* the wave's lanes that have an item, i32; NULL: some may end early */
} roc_nvptx_state;

static inline roc_nvptx_state *roc_nvptx_state_of(const roc_cg *cg) {
  return cg->state;
}

/* nvptx/memory.c */
/* "llvm.nvvm.read.ptx.sreg.NAME", i32. */
LLVMValueRef roc_nvptx_read_register(roc_cg *cg, const char *name);
/* A field of the launch's roc_nvptx_hidden, at its offset there. */
LLVMValueRef roc_nvptx_hidden_field(roc_cg *cg, size_t offset);
LLVMValueRef roc_nvptx_array_base(roc_cg *cg, uint32_t array);
LLVMValueRef roc_nvptx_dynamic_bytes(roc_cg *cg);
/* The address of the i32 in shared memory that a kernel has which counts groups. */
LLVMValueRef roc_nvptx_shared_cell(roc_cg *cg);

/* nvptx/wave.c */
void roc_nvptx_barrier(roc_cg *cg, const roc_ir_inst *inst);
void roc_nvptx_fence(roc_cg *cg, int64_t scope);
void roc_nvptx_meet(roc_cg *cg); /* the workgroup */
LLVMValueRef roc_nvptx_wave(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *args);
LLVMValueRef roc_nvptx_wave_diverges(roc_cg *cg, LLVMValueRef condition);
LLVMValueRef roc_nvptx_group_parts(roc_cg *cg, LLVMValueRef condition);
LLVMValueRef roc_nvptx_elect_lane(roc_cg *cg, LLVMValueRef *record, LLVMValueRef *out_count);
LLVMValueRef roc_nvptx_lane(roc_cg *cg); /* i32 from 0 */
/* At the begin of the body of a kernel that items do not leave early: which lanes have an item, where
 * that is asked. */
void roc_nvptx_find_live(roc_cg *cg);

/* nvptx/launch.c */
/* Whether groups of the kernel wait for lower ones. */
bool roc_nvptx_counts_groups(const roc_cg *cg);
/* The begin of a kernel. From cg->b's block on: finds the ids of the group, lets work-items go to
 * cg->exit that the grid does not have, and goes on in `body`. */
void roc_nvptx_begin(roc_cg *cg, LLVMBasicBlockRef body);
/* Ids from 0 and the size, i32. */
LLVMValueRef roc_nvptx_group_id(roc_cg *cg, unsigned dim);
LLVMValueRef roc_nvptx_local_id(roc_cg *cg, unsigned dim);
LLVMValueRef roc_nvptx_global_id(roc_cg *cg, unsigned dim);
LLVMValueRef roc_nvptx_local_size(roc_cg *cg, unsigned dim);

/* Whether the launch has the flag, i1. */
LLVMValueRef roc_nvptx_has_flag(roc_cg *cg, uint32_t flag);

/* nvptx/coarse.c */
/* In the arena; NULL: each thread is to run one work-item. */
roc_nvptx_coarse *roc_nvptx_find_coarse(roc_cg *cg);
/* Reads from the launch how many work-items a thread has; goes by the first of them. */
void roc_nvptx_coarse_begin(roc_cg *cg);
/* Makes the code of one work-item, from cg->b's block on to cg->exit. */
typedef void roc_nvptx_body(roc_cg *cg);
/* The code of all work-items of the thread, from cg->b's block on to cg->exit. */
void roc_nvptx_coarse_body(roc_cg *cg, roc_nvptx_body *body);
bool roc_nvptx_coarse_intercept(roc_cg *cg, uint32_t inst);
/* Before a path's end: LLVM would move what it has in common with another to where both meet. */
void roc_nvptx_keep_apart(roc_cg *cg);

/* nvptx/even.c */
/* In the arena; NULL: no accesses may be one where arrays begin and have rows at multiples of 16
 * bytes. */
roc_nvptx_even *roc_nvptx_find_even(roc_cg *cg);
/* The code of a work-item for arrays that do, and for others. */
void roc_nvptx_even_body(roc_cg *cg, roc_nvptx_body *body);
bool roc_nvptx_even_intercept(roc_cg *cg, uint32_t inst);

/* nvptx/gather.c */
/* Per instruction, whether lanes wait for each other before it; in the arena.  NULL: nowhere. */
uint8_t *roc_nvptx_find_gathers(roc_cg *cg);
/* Whether work-items may end before the end of the kernel: by a return, or a check. */
bool roc_nvptx_has_exits(const roc_cg *cg);
bool roc_nvptx_intercept(roc_cg *cg, uint32_t inst);
/* After LLVM's passes: makes these waits the first instructions of their blocks. */
void roc_nvptx_gather_first(roc_cg *cg);

/* nvptx/entry.c */
void roc_nvptx_kernel(roc_cg *cg);
LLVMValueRef roc_nvptx_launch_value(roc_cg *cg, roc_ir_op op, unsigned dim);

/* nvptx/remainder.c: C's fmod, exact. */
LLVMValueRef roc_nvptx_remainder(roc_cg *cg, LLVMValueRef x, LLVMValueRef y);

/* What is rewritten after LLVM's passes for speed: instructions, and what builds the value that takes
 * the place of one, at cg->b. */
typedef struct roc_nvptx_form {
  bool (*matches)(roc_cg *cg, LLVMValueRef inst);
  LLVMValueRef (*build)(roc_cg *cg, LLVMValueRef inst);
} roc_nvptx_form;

/* nvptx/bounds.c */
typedef struct roc_nvptx_bounds {
  double low, high; /* if it is a number */
  bool is_number;   /* a finite one, for sure */
} roc_nvptx_bounds;

/* Of a float32. */
roc_nvptx_bounds roc_nvptx_find_bounds(roc_cg *cg, LLVMValueRef value);

/* nvptx/roots.c */
/* Rewrites all instructions of the module that have the form. */
void roc_nvptx_rewrite(roc_cg *cg, const roc_nvptx_form *f);
/* After LLVM's passes: makes square roots of float32 and their reciprocals arithmetic. */
void roc_nvptx_rewrite_roots(roc_cg *cg);

/* nvptx/halves.c */
/* After LLVM's passes: integers that are known to have 32 bits become floats, or factors, as such. */
void roc_nvptx_rewrite_halves(roc_cg *cg);

/* nvptx/repair.c */
roc_status roc_nvptx_repair(roc_cg *cg, roc_error *err);

/* nvptx/math.c */
LLVMValueRef roc_nvptx_math(roc_cg *cg, roc_ir_math which, roc_value_type type, LLVMValueRef *args);
/* Replaces remainders, which LLVM would compute inexactly, and links libclc. */
roc_status roc_nvptx_link_math(roc_cg *cg, roc_error *err);

#endif
