/* Work-items side by side in vectors, with masks: what the files cpu/lanes*.c offer each other. */
#ifndef ROC_CODEGEN_CPU_LANES_H
#define ROC_CODEGEN_CPU_LANES_H

#include "codegen/cpu/cpu.h"

/* Where jumps to a statement go, and the masks of the lanes that took them (NULL: none is kept). */
typedef struct cpu_lanes_exits {
  LLVMValueRef leave, next;
  LLVMBasicBlockRef leave_block, next_block;
} cpu_lanes_exits;

struct cpu_lanes {
  unsigned count;
  bool is_narrow; /* most of what is computed is 32 bits wide */
  bool has_bits;  /* masks are vectors of i1; else of integers as wide, 0 or -1 */
  LLVMTypeRef mask_type;
  LLVMValueRef mask;          /* the lanes that are here */
  LLVMValueRef branch;        /* of the innermost IF that varies: those that go this way, and others
                                 that are not here; NULL: there is none */
  LLVMBasicBlockRef out;      /* where to go when there is none left: the end of the region */
  bool is_side_by_side;       /* what an IF's branches set is put together after both */
  bool is_light;              /* a region is emitted in line, without branches */
  bool jumped;                /* its last instruction was a jump */
  LLVMValueRef *vars;         /* per variable that varies: alloca */
  uint32_t *begun;            /* per variable: the run in which that was set to 0 */
  bool *loses;                /* per statement: lanes that enter it may not come to its end */
  bool *has_next;             /* per loop: there are jumps to its next iteration */
  cpu_lanes_exits *exits;     /* per statement */
  const cpu_lanes_run *outer; /* the run that is emitted */
  LLVMValueRef arrived; /* cell of the lanes whose items have not ended; NULL: need not be known */
  LLVMValueRef lane;    /* while cpu_lanes_of_lane is the state's operand: i64 */
  LLVMValueRef
      *hoisted; /* per load: what it gives in the loop that is emitted; NULL: not yet known */
  LLVMValueRef *arrays; /* per private array that is not in the frame: alloca */
  LLVMValueRef nothing; /* a constant of 8 bytes, 0; NULL: not needed yet */
  LLVMValueRef waste;   /* alloca of 8 bytes, likewise */
};

/* cpu/lanes_values.c */
/* A mask of bits, and its bits. */
LLVMValueRef cpu_lanes_mask_of(cpu_state *s, LLVMValueRef bits);
LLVMValueRef cpu_lanes_bits_of(cpu_state *s, LLVMValueRef mask);
/* The numbers of the lanes from 0, times `stride`. */
LLVMValueRef cpu_lanes_steps(cpu_state *s, int64_t stride);
/* Emits an instruction without effect, as its shape is. */
LLVMValueRef cpu_lanes_compute(cpu_state *s, uint32_t id);
LLVMValueRef cpu_lanes_operand(cpu_state *s, uint32_t id);
/* What 32 bits hold of an instruction (ir/check_elimination.h), where that is of use. */
uint8_t cpu_lanes_narrow(const cpu_state *s, uint32_t id);
/* The value of l->lane. */
LLVMValueRef cpu_lanes_of_lane(cpu_state *s, uint32_t id);
void cpu_lanes_define(cpu_state *s, uint32_t id, LLVMValueRef value);
/* A variable; its alloca, where it varies.  To set: in all lanes but those that keep theirs. */
bool cpu_lanes_is_varying(const cpu_state *s, uint32_t var);
LLVMValueRef cpu_lanes_var(cpu_state *s, uint32_t var);
LLVMValueRef cpu_lanes_get(cpu_state *s, uint32_t var);
void cpu_lanes_set(cpu_state *s, uint32_t var, LLVMValueRef value, cpu_blend blend);
/* What the alloca of a varying variable holds, and then holds instead; NULL: that stays. */
LLVMValueRef cpu_lanes_swap(cpu_state *s, uint32_t var, LLVMValueRef raw);
/* The value of all lanes, or of the first where its shape tells the others. */
LLVMValueRef cpu_lanes_value(cpu_state *s, uint32_t id);
/* The value of all lanes. */
LLVMValueRef cpu_lanes_all(cpu_state *s, uint32_t id);
LLVMValueRef cpu_lanes_spread(cpu_state *s, LLVMValueRef first, int32_t stride);

/* cpu/lanes_hoist.c */
/* Whether a FOR has loads that can be made where it begins; makes them there, with the mask of the
 * lanes that begin it; after its code. */
bool cpu_lanes_hoists(const cpu_state *s, uint32_t loop);
void cpu_lanes_hoist(cpu_state *s, uint32_t loop);
void cpu_lanes_end_hoist(cpu_state *s, uint32_t loop);

/* cpu/lanes_each.c */
/* What has an order, or no form for vectors: as one item after the other, for the lanes of the mask. */
void cpu_lanes_each(cpu_state *s, uint32_t id);
/* Emits a division of integers that vectors have no operation for. */
void cpu_lanes_divide(cpu_state *s, uint32_t id);

/* cpu/lanes_memory.c */
/* Whether a load or store is of elements that are neither neighbours nor the same for all. */
bool cpu_lanes_scatters(const cpu_state *s, uint32_t id);
LLVMValueRef cpu_lanes_load(cpu_state *s, uint32_t id);
void cpu_lanes_store(cpu_state *s, uint32_t id);
/* The elements that are consecutive from `ptr` on, also of lanes without an item. */
LLVMValueRef cpu_lanes_take(cpu_state *s, LLVMValueRef ptr, LLVMTypeRef element);
/* What a slot of the frame holds for the lanes' items; to put, for those of `bits`. */
LLVMValueRef cpu_lanes_take_slot(cpu_state *s, const cpu_slot *slot, roc_value_type type,
                                 uint8_t width);
void cpu_lanes_put_slot(cpu_state *s, const cpu_slot *slot, LLVMValueRef value, LLVMValueRef bits);
/* Stores the lanes of `bits`: at consecutive elements from `ptr` on, or where each of `ptr` points. */
LLVMValueRef cpu_lanes_put(cpu_state *s, LLVMValueRef value, LLVMValueRef ptr, LLVMValueRef bits);

#endif
