/* A walk over the instructions of a region and of all regions nested in it, as a loop:
 *
 *   roc_ir_walk w;
 *   ROC_IR_FOR_EACH(w, module, region) count += w.inst->op == ROC_IR_RETURN;
 *
 * ROC_IR_FOR_EACH meets an instruction before those of its regions, ROC_IR_FOR_EACH_INNER_FIRST
 * after them; roc_ir_walk_step meets it both times.  Otherwise the order is that of the text.  A
 * walk needs no memory but the struct itself, so it cannot fail, and `break` and `return` leave it.
 * Instructions may be changed on the way, the lists of the regions must not be.
 *
 * What is decided region by region (the versions of a loop, ranges, the verifier's scopes, code)
 * is not a walk of this kind, and recurses over regions itself. */
#ifndef ROC_IR_WALK_H
#define ROC_IR_WALK_H

#include "ir/ir.h"

typedef struct roc_ir_walk {
  uint32_t id; /* the instruction met */
  const roc_ir_inst *inst;
  bool is_end; /* it has regions, and they are done */

  /* the rest is the walk's own */
  bool is_skipped;
  const roc_ir_module *module;
  const uint32_t *ids; /* the outermost list */
  uint32_t count;
  uint32_t depth;
  struct {
    uint32_t owner;  /* the control instruction, NONE of the outermost list */
    uint32_t region; /* the current one */
    uint32_t next;   /* place in its list */
  } frames[ROC_IR_MAX_NESTING + 8 /* what passes may add */];
} roc_ir_walk;

void roc_ir_walk_begin(roc_ir_walk *walk, const roc_ir_module *module, uint32_t region);
/* Over a part of a region's list. */
void roc_ir_walk_begin_list(roc_ir_walk *walk, const roc_ir_module *module, const uint32_t *ids,
                            uint32_t count);

/* These go to the next instruction; false: there is none. */
bool roc_ir_walk_step(roc_ir_walk *walk);
bool roc_ir_walk_next(roc_ir_walk *walk);
bool roc_ir_walk_next_inner_first(roc_ir_walk *walk);

/* Leaves out the regions of the current instruction, which roc_ir_walk_step does not meet again. */
static inline void roc_ir_walk_skip(roc_ir_walk *walk) {
  walk->is_skipped = true;
}

/* The control instruction whose region holds the current one; NONE: it is in the outermost list. */
static inline uint32_t roc_ir_walk_around(const roc_ir_walk *walk) {
  return walk->frames[walk->depth - 1].owner;
}

/* Whether the control instruction is around the current one, and met by this walk. */
bool roc_ir_walk_is_inside(const roc_ir_walk *walk, uint32_t control);

/* For a function with a walk that is called by one that recurses: the frames are 24 KB of stack,
 * which must not become part of the caller's. */
#define ROC_IR_WALKS __attribute__((noinline))

#define ROC_IR_FOR_EACH(walk, module, region) \
  for (roc_ir_walk_begin(&(walk), module, region); roc_ir_walk_next(&(walk));)
#define ROC_IR_FOR_EACH_INNER_FIRST(walk, module, region) \
  for (roc_ir_walk_begin(&(walk), module, region); roc_ir_walk_next_inner_first(&(walk));)

#endif
