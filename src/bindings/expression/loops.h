/* Broadcasting: the loops that operands of different shapes share.
 *
 * As lua/roc/builders/loops.lua has it, whose kernel text walks them: neighbouring dimensions that
 * every operand crosses with one stride are joined, so that most operations need one loop; an
 * operand that does not move along a loop (its extent is 1, or missing) is not indexed by it.  Pure
 * functions. */
#ifndef ROC_BINDINGS_EXPRESSION_LOOPS_H
#define ROC_BINDINGS_EXPRESSION_LOOPS_H

#include "base/ndrange.h"
#include "bindings/kernel/kernel_bind.h"
#include "runtime/array.h"

/* Operands and results. */
enum { ROC_LOOPS_MAX_ARRAYS = 12 };

typedef struct roc_loops {
  uint32_t count; /* at least 1; the innermost is the last */
  int64_t extents[ROC_ARRAY_MAX_RANK];
  uint32_t narrays;
  /* A result, the operands, and further results that lie as the first. */
  const roc_array *arrays[ROC_LOOPS_MAX_ARRAYS];
  uint8_t walks[ROC_LOOPS_MAX_ARRAYS]; /* bit l: the array moves along loop l */
  /* With one dimension for each loop that the array moves along; they have no buffer. */
  roc_array views[ROC_LOOPS_MAX_ARRAYS];
} roc_loops;

/* The shape that the arrays' shapes broadcast to; false when there is none. */
bool roc_loops_broadcast(const roc_array *const *arrays, uint32_t narrays, uint32_t *out_rank,
                         int64_t *out_extents);
/* Fills the rest from `narrays` and `arrays`, whose shapes broadcast to that of the result, of which
 * no extent is 0.  `is_reversed`: its first dimension is the innermost. */
void roc_loops_plan(roc_loops *loops, bool is_reversed);
/* The array with the given rank, and the dimension `axis` last; where it lacks dimensions, or `axis`
 * is the rank, they stay as they are. */
roc_array roc_loops_arrange(const roc_array *a, uint32_t rank, uint32_t axis);
/* Gives a shape, which has no memory, strides of its own: by which, if it has lines, no loop is joined
 * of its last dimension and those before. */
void roc_loops_separate_lines(roc_array *shape, bool has_lines);
/* The launch that walks them, and the rows of its second dimension; false where a work-item has
 * several rows. */
bool roc_loops_range(const roc_loops *loops, roc_ndrange *out_range, int64_t *out_rows);

bool roc_loops_is_reversed(const roc_array *result);
/* Pushes the extents, and a list for each array, that of the first, a result, last: whether it moves
 * along each loop. */
void roc_loops_push(lua_State *L, const roc_loops *loops);
/* Array i as a launch gets it. */
roc_kernel_operand roc_loops_operand(const roc_loops *loops, uint32_t i);

#endif
