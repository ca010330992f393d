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

/* Room for one more expression than the bounds allow: what it has in common with the others is known
 * when it has been added. */
enum {
  ROC_GRAPH_NODES = 2 * ROC_EXPRESSION_MAX_NODES,
  ROC_GRAPH_LEAVES = 2 * ROC_EXPRESSION_MAX_LEAVES,
  ROC_GRAPH_SCALARS = 2 * ROC_EXPRESSION_MAX_SCALARS
};

/* Everything in it is borrowed from the expressions and arrays that were added. */
typedef struct roc_graph {
  roc_expression *nodes[ROC_GRAPH_NODES]; /* operands before what uses them */
  const roc_array *leaves[ROC_GRAPH_LEAVES];
  roc_scalar scalars[ROC_GRAPH_SCALARS];
  uint32_t nnodes, nleaves, nscalars;
  uint32_t outputs[ROC_EXPRESSION_MAX_OUTPUTS]; /* the nodes that are stored */
  uint32_t noutputs;
  roc_graph_operand operands[ROC_GRAPH_NODES][ROC_EXPRESSION_MAX_OPERANDS];
} roc_graph;

/* An empty one.  Its tables, some kilobytes, are filled as it grows. */
static inline void roc_graph_begin(roc_graph *g) {
  g->nnodes = g->nleaves = g->nscalars = g->noutputs = 0;
}

/* Adds an array: as a node, with all that it depends on, when it stands for an expression, else as
 * a leaf.  What is there already is not added again.  The bounds are the caller's to keep. */
roc_graph_operand roc_graph_add(roc_graph *g, const roc_array *a);
/* Adds an expression that is stored: the first whose loops the kernel walks, or one that lies as that
 * does.  False, and nothing has changed: the bounds, or its kind, forbid it. */
bool roc_graph_add_output(roc_graph *g, roc_expression *e);
/* Stores those nodes, too, that are worth storing and lie as the first output does. */
void roc_graph_store_parts(roc_graph *g);
/* Whether e was computed as a part of other kernels as often as that is cheaper than to store it. */
bool roc_graph_is_worth_storing(const roc_expression *e);
/* What is below e, and is worth storing before e is computed; NULL: nothing.  `with`: what the same
 * kernel could store is none. */
roc_expression *roc_graph_find_part(const roc_expression *e, const roc_expression *with);
/* A reduction that is e or below it, with no other below; NULL: there is none. */
roc_expression *roc_graph_find_reduction(roc_expression *e);
/* Notes that one kernel computes the nodes; they end if they are stored. */
void roc_graph_note_pass(const roc_graph *g);
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
