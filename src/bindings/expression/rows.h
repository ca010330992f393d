/* Rows: reductions along the last dimension of device arrays, and what is computed of their results
 * and of the same rows, as one kernel in which a workgroup has a row.
 *
 * A node of such a graph has either the shape of the rows, or one element a row; and what is
 * computed of the rows before one reduction is kept in registers for the next. */
#ifndef ROC_BINDINGS_EXPRESSION_ROWS_H
#define ROC_BINDINGS_EXPRESSION_ROWS_H

#include "bindings/expression/graph.h"

typedef struct roc_rows {
  roc_graph graph;
  roc_array result; /* as the kernel writes it: rows, or one element a row */
  roc_array shape;  /* of the rows, without memory */
  roc_array arrays[ROC_EXPRESSION_MAX_LEAVES + 1]; /* the leaves, and a result that is rows */
  roc_loops loops;                                 /* over the shape and these */
  int64_t lines, n;                                /* rows, and elements of each */
  bool gives_rows;
} roc_rows;

/* Whether elements of a row, so many, and so far from each other, may be a workgroup's. */
bool roc_rows_fit(int64_t n, int64_t stride);
/* False: the expression has no reduction, or one kernel cannot compute it; then `rows` is nothing. */
bool roc_rows_plan(const roc_expression *e, roc_rows *rows);
/* Pushes the kernel; false, and nothing, where none is worth it, or there can be none. */
bool roc_rows_push_kernel(lua_State *L, const roc_rows *rows);
/* Launches the kernel on top of the stack; false: its code is not there yet. */
bool roc_rows_launch(lua_State *L, const roc_rows *rows, const roc_expression *e,
                     roc_rt_stream *stream);

#endif
