/* What the files of the AMDGPU target share. */
#ifndef ROC_CODEGEN_AMDGPU_AMDGPU_H
#define ROC_CODEGEN_AMDGPU_AMDGPU_H

#include "base/amdgpu_target.h"
#include "codegen/amdgpu/opaque.h"
#include "codegen/core/cg.h"
#include "codegen/core/fields.h"

enum { ROC_AMDGPU_PACKET_BYTES = 32 }; /* of the dispatch packet, as far as it is read */

/* What a kernel in two versions reads of the launch: in the entry block, and as opaque values at
 * the start of the fallback; each NULL until used. */
typedef struct roc_amdgpu_read {
  LLVMValueRef value, hidden;
} roc_amdgpu_read;

/* Of one compile; in cg->state. */
typedef struct roc_amdgpu_state {
  const roc_gpu_chip *chip;
  const char *entry;           /* symbol */
  uint64_t shared_bytes;       /* static */
  LLVMValueRef dynamic_shared; /* LDS global; NULL until used */
  LLVMValueRef agreed;    /* LDS, two i32: what a wavefront of the group has last said, in turns;
                                  NULL: not asked, or no room */
  LLVMValueRef agreed_at; /* alloca i32: the byte offset of the one whose turn it is */
  LLVMValueRef packet;    /* dispatch packet, in the entry block; NULL until used */
  const roc_cg_field_list *fields; /* the function's arguments, while code is made */
  LLVMBasicBlockRef slow;          /* the start of the fallback, once it is emitted */
  roc_amdgpu_read ids[2][3];       /* of the group, of the item */
  roc_amdgpu_read packet_fields[ROC_AMDGPU_PACKET_BYTES]; /* by offset */
} roc_amdgpu_state;

static inline roc_amdgpu_state *roc_amdgpu_state_of(const roc_cg *cg) {
  return cg->state;
}

/* amdgpu/entry.c */
void roc_amdgpu_kernel(roc_cg *cg);
void roc_amdgpu_opaque_launch(roc_cg *cg);
LLVMValueRef roc_amdgpu_launch_value(roc_cg *cg, roc_ir_op op, unsigned dim);
LLVMValueRef roc_amdgpu_array_base(roc_cg *cg, uint32_t array);
LLVMValueRef roc_amdgpu_dynamic_bytes(roc_cg *cg);

/* limit.c: says that a call gives an i32 below `end`. */
void roc_amdgpu_limit(roc_cg *cg, LLVMValueRef call, uint32_t end);

/* opaque.c: the same value, of which LLVM knows nothing.  Of more than 1024 bits it is left as
 * it is. */
LLVMValueRef roc_amdgpu_opaque(roc_cg *cg, LLVMBuilderRef b, LLVMValueRef value);
/* Likewise of one register or two, the same in all work-items, which LLVM is to know. */
LLVMValueRef roc_amdgpu_opaque_uniform(roc_cg *cg, LLVMValueRef value);
/* An i32 that all work-items share, likewise; in a scalar register that nothing else has. */
LLVMValueRef roc_amdgpu_opaque_scalar(LLVMBuilderRef b, LLVMValueRef value);

/* amdgpu/repair.c */
roc_status roc_amdgpu_repair(roc_cg *cg, roc_error *err);

/* offsets.c: a step of it, that makes code better. */
void roc_amdgpu_place_offsets(roc_cg *cg);

/* phi_miscompiles.c: the last step of it. OOM. */
roc_status roc_amdgpu_repair_phis(roc_cg *cg, roc_error *err);

/* amdgpu/wave.c */
void roc_amdgpu_barrier(roc_cg *cg, const roc_ir_inst *inst);
void roc_amdgpu_fence(roc_cg *cg, int64_t scope);
void roc_amdgpu_end_wave(roc_cg *cg);
LLVMValueRef roc_amdgpu_wave(roc_cg *cg, const roc_ir_inst *inst, LLVMValueRef *args);
LLVMValueRef roc_amdgpu_holds_for_all(roc_cg *cg, LLVMValueRef condition);
LLVMValueRef roc_amdgpu_wave_diverges(roc_cg *cg, LLVMValueRef condition);
LLVMValueRef roc_amdgpu_group_parts(roc_cg *cg, LLVMValueRef condition);
LLVMValueRef roc_amdgpu_elect_lane(roc_cg *cg, LLVMValueRef *record, LLVMValueRef *out_count);
LLVMValueRef roc_amdgpu_lane(roc_cg *cg); /* i32 from 0 */

/* exponential.c: e^x of a float32, correct to the last place as the device library's. */
LLVMValueRef roc_amdgpu_exp(roc_cg *cg, LLVMValueRef x);

#endif
