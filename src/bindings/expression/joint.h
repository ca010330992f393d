/* Reductions of arrays of one shape along the same axis, with no other reduction below them: one
 * pass over these arrays computes all of them, by the tree of reductions (lua/roc/arrays/joint.lua
 * and tree.lua). */
#ifndef ROC_BINDINGS_EXPRESSION_JOINT_H
#define ROC_BINDINGS_EXPRESSION_JOINT_H

#include "bindings/expression/expression.h"

/* Everything in it is borrowed. */
typedef struct roc_joint {
  roc_expression *members[ROC_EXPRESSION_MAX_OUTPUTS];
  uint32_t count;
} roc_joint;

/* Adds those that are `e` or below it, if they join the first one, and there is room. */
void roc_joint_add(roc_joint *joint, roc_expression *e);
/* Raises when an operand of the first one could not be kept. */
void roc_joint_check(lua_State *L, const roc_joint *joint);
/* Launches what stores the values of the first members in their results, which have memory and are
 * on the stack; gives how many, 1 at least.  Lua code runs. */
uint32_t roc_joint_run(lua_State *L, const roc_joint *joint);

#endif
