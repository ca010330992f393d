/* Copies of instructions, with those of their regions, at the place where a builder stands: what
 * passes use that have a part of a kernel there twice. */
#ifndef ROC_IR_COPY_H
#define ROC_IR_COPY_H

#include "ir/build.h"

enum { ROC_IR_COPY_MAX_ARGS = 16 }; /* of an instruction that is copied */

typedef struct roc_ir_copier {
  roc_ir_builder *b;
  uint32_t *copies; /* per instruction: what a copy of its users takes; at first itself */
  uint32_t count;   /* of instructions that the table has; later ones stay as they are */
  /* NULL, or asked before each copy, with the operands that it will have: changes both, or sees to
   * the instruction itself and returns true. */
  bool (*replace)(void *ud, uint32_t id, roc_ir_inst *inst, uint32_t *args);
  void *ud;
} roc_ir_copier;

/* A table in which each instruction stays, of `count`; NULL: out of memory.  roc_free frees it. */
uint32_t *roc_ir_new_copies(uint32_t count);

/* Nothing is copied once the builder has failed. */
void roc_ir_copy(roc_ir_copier *copier, uint32_t id);
void roc_ir_copy_region(roc_ir_copier *copier, uint32_t region);

/* The instructions of the list, and those of their regions, stand for themselves again: for passes
 * that go on in what they have copied. */
void roc_ir_forget_copies(roc_ir_copier *copier, const uint32_t *ids, uint32_t count);

#endif
