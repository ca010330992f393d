/* What one kernel computes of expressions: their operations, the arrays that these read, and the
 * numbers among their operands; and the kernels that are kept, one for each structure of graphs. */
#ifndef ROC_BINDINGS_EXPRESSION_GRAPH_H
#define ROC_BINDINGS_EXPRESSION_GRAPH_H

#include "bindings/expression/expression.h"

/* What an operand of a graph is. */
typedef enum roc_graph_source { ROC_GRAPH_LEAF, ROC_GRAPH_SCALAR, ROC_GRAPH_NODE } roc_graph_source;

typedef struct roc_graph_operand {
  roc_graph_source source;
  uint32_t index;
} roc_graph_operand;

/* Everything in it is borrowed from the expressions and arrays that were added. */
typedef struct roc_graph {
  roc_expression *nodes[ROC_EXPRESSION_MAX_NODES]; /* operands before what uses them */
  const roc_array *leaves[ROC_EXPRESSION_MAX_LEAVES];
  roc_scalar scalars[ROC_EXPRESSION_MAX_SCALARS];
  uint32_t nnodes, nleaves, nscalars;
  roc_graph_operand operands[ROC_EXPRESSION_MAX_NODES][ROC_EXPRESSION_MAX_OPERANDS];
} roc_graph;

/* Adds an array: as a node, with all that it depends on, when it stands for an expression, else as
 * a leaf.  What is there already is not added again.  The bounds are the caller's to keep. */
roc_graph_operand roc_graph_add(roc_graph *g, const roc_array *a);
/* Whether e was computed as a part of other kernels as often as that is cheaper than to store it. */
bool roc_graph_is_worth_storing(const roc_expression *e);
/* What is below e, and is worth storing before e is computed; NULL: nothing. */
roc_expression *roc_graph_find_part(const roc_expression *e);
/* A reduction that is e or below it, with no other below; NULL: there is none. */
roc_expression *roc_graph_find_reduction(roc_expression *e);
/* Notes that one kernel computes the first `count` nodes without storing them. */
void roc_graph_note_pass(const roc_graph *g, uint32_t count);
/* Raises when an operand could not be kept. */
void roc_graph_check(lua_State *L, const roc_graph *g);

/* Adds to a structure's key what tells the graph, and the loops that its leaves walk, apart. */
void roc_graph_add_key(luaL_Buffer *b, const roc_graph *g, const roc_loops *loops);
/* Pushes a list of {name =, square =, reduces =, kinds =, dtype =, operands =}. */
void roc_graph_push_nodes(lua_State *L, const roc_graph *g);
/* Sets what a kernel's text is made from in the table on top of the stack: nodes, the numbers of
 * leaves and scalars, extents and walks. */
void roc_graph_set_fields(lua_State *L, const roc_graph *g, const roc_loops *loops);
/* Pushes "x1", "s1" or "t1": the name of an operand in a kernel's text. */
void roc_graph_push_name(lua_State *L, roc_graph_operand operand);
/* Fills a launch's operands with the leaves and numbers; gives how many. */
uint32_t roc_graph_fill(const roc_graph *g, const roc_loops *loops, roc_kernel_operand *operands);

/* Whether the code of such a kernel may be generated while operations go on one by one. */
bool roc_graph_may_be_later(void);
/* Replaces the key on top of the stack by its structure's kernel; false, and pops the key, while the
 * structure's work, this one's included, is not worth one, or there can be none.  `make` pushes a new
 * kernel, or false: there can be none. */
bool roc_graph_find_kernel(lua_State *L, int64_t work, void (*make)(lua_State *L, const void *ud),
                           const void *ud);

#endif
