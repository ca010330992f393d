/* Expressions: element-wise operations on arrays, and reductions of GPUs' arrays, that are computed
 * when their result is needed.
 *
 * The result is an array whose buffer is pending (runtime/buffer.h), so that views share it, and gets
 * memory when it is computed.  An expression holds its operands' memory.  A write to that memory
 * gives the expressions that read it one copy of the bytes that they read, as they were.
 *
 * What fails by the values of elements fails whenever it is looked at, with the place of its
 * operation.  So that this does not depend on which elements are looked at, it is computed as a
 * whole: not as a part of a view or a reduction.
 *
 * Expressions belong to no stream.  What computes one on a device is ordered work
 * (runtime/launch.h): it comes after the queued work that writes its operands, on any stream, and
 * what uses the result or writes an operand comes after it. */
#ifndef ROC_BINDINGS_EXPRESSION_EXPRESSION_H
#define ROC_BINDINGS_EXPRESSION_EXPRESSION_H

#include "base/dtype.h"
#include "bindings/expression/loops.h"
#include "bindings/support/bind.h"
#include "runtime/array.h"

enum { ROC_EXPRESSION_MAX_OPERANDS = 3 };

/* What an operand is: a dtype, or a plain value. */
enum { ROC_KIND_INTEGER = ROC_DT_COUNT_, ROC_KIND_FLOAT, ROC_KIND_BOOLEAN, ROC_KIND_COUNT };

/* What a Lua state has of them: a userdata that lives as long as the state. */
typedef struct roc_expression_state {
  bool is_off;             /* each operation is computed at once */
  uint32_t nreducing;      /* calls of roc_joint_run, whose launches write no operand */
  roc_rt_session *session; /* does the copies of operands that are written */
  lua_CFunction at_close;  /* __gc of guards */
} roc_expression_state;

/* The code of an operation on few elements of host arrays that lie one after the other
 * (at_once.c). */
typedef struct roc_ready_code {
  uint64_t key;                 /* what its arguments' types follow from; 0: none */
  const roc_jit_kernel *kernel; /* of the operation's, all of which stay */
  const roc_jit_spec *spec;     /* of that kernel, unless it has dropped some since: */
  uint64_t ndropped;
} roc_ready_code;

enum { ROC_READY_CODES = 8 };

/* An operation: a userdata, which lives as long as the state; its uservalue has kernels by key. */
typedef struct roc_operation {
  const roc_expression_state *state;
  char name[24];
  uint32_t noperands;
  bool is_method;    /* the first operand must be an array */
  bool has_square;   /* a second operand that is a plain 2 makes it another operation */
  bool is_division;  /* of integers by 0 fails at run time */
  bool is_reduction; /* of the one operand's lines */
  roc_ready_code ready[ROC_READY_CODES];
  int8_t results[]; /* by kinds: a dtype, or as in lib_expression.c */
} roc_operation;

enum { ROC_OPERATION_UV_KERNELS = 1, ROC_OPERATION_UV_COUNT = ROC_OPERATION_UV_KERNELS };

/* One application of an operation. */
typedef struct roc_expression_call {
  roc_operation *op;
  const roc_array *arrays[ROC_EXPRESSION_MAX_OPERANDS]; /* NULL: a number */
  roc_scalar scalars[ROC_EXPRESSION_MAX_OPERANDS];
  uint8_t kinds[ROC_EXPRESSION_MAX_OPERANDS];
  bool is_square;
  bool is_expression; /* the arrays are those of an expression that is pending */
  uint8_t axis;       /* of a reduction: see roc_expression */
  uint64_t key;       /* of at_once.c: its code is to be noted; 0: it is not */
  roc_place place;    /* of the operation, where its elements can make it fail */
} roc_expression_call;

typedef struct roc_expression roc_expression;

typedef struct roc_expression_operand {
  roc_array array; /* with a reference of its own; no buffer: a number */
  roc_scalar scalar;
  uint8_t kind;
} roc_expression_operand;

struct roc_expression {
  roc_expression *next, **link; /* of all that are pending, the newest first */
  const roc_expression_state *state;
  roc_rt_session *session; /* the state's */
  roc_operation *op;
  bool is_square;
  uint8_t axis;  /* of a reduction, along which the lines are, from 0; the operand's rank: all
                           its elements are one line */
  uint64_t pass; /* of the last kernel that computed it without storing it; 0: none */
  uint32_t passes_left; /* how many more kernels may, before it is worth storing */
  uint32_t device;      /* the index of the one that computes it */
  bool has_failed;      /* a copy of an operand found no memory */
  bool is_viewed;       /* elements of it are computed by the expression of a view (view.c) */
  bool is_skipped;      /* it could not be computed, and nothing but a look tries again */
  bool has_reduction;   /* it is one, or one has been below it */
  bool may_fail;        /* by the values of elements: its own operation, which has a place, or one
                           below it */
  roc_place place;
  uint32_t noperands, size, nleaves, nscalars; /* of the tree; bounds of what a kernel gets */
  roc_array result;                            /* borrows the buffer, which owns the expression */
  roc_expression_operand operands[ROC_EXPRESSION_MAX_OPERANDS];
};

/* Bounds of what one kernel computes, and of the expressions of a state. */
enum {
  ROC_EXPRESSION_MAX_NODES = 24,
  ROC_EXPRESSION_MAX_LEAVES = 8,
  ROC_EXPRESSION_MAX_SCALARS = 8,
  ROC_EXPRESSION_MAX_OUTPUTS = 4,
  ROC_EXPRESSION_MAX_PENDING = 256
};

/* expression.c.  No Lua. */
/* Whether an operand's memory may be read later: nothing but this state writes it, and no queued
 * work does now, which the host would have to wait for. */
bool roc_expression_takes(const roc_array *a);
/* Whether an operation on such operands is within the bounds of one kernel. */
bool roc_expression_fits(const roc_operation *op, const roc_expression_operand *operands);
/* Makes `result`, whose memory is new, pending: operands are borrowed.  False: memory is out, and
 * nothing has happened. */
bool roc_expression_begin(const roc_expression_call *call, uint32_t device, const roc_array *result,
                          const roc_expression_operand *operands);
/* The expression that an operand stands for as a whole; NULL: memory, or a view. */
roc_expression *roc_expression_of(const roc_array *a);
void roc_expression_end(roc_expression *e); /* its memory has been computed */
/* Changes whenever an expression of this thread ends or its operands become others. */
uint64_t roc_expression_changes(void);
/* The buffer, retained, of an expression of the state that should be computed: the oldest when there
 * are more than `most`, the one of the smallest result when they alone keep more than `most_bytes`
 * alive.  NULL: none. */
roc_buffer *roc_expression_find_surplus(const roc_expression_state *state, uint32_t most,
                                        size_t most_bytes);
uint32_t roc_expression_count(void);            /* of all states */
uint32_t roc_expression_count_reductions(void); /* those that are reductions */
/* The buffer, retained, of a reduction of the state that reads the memory, maybe by way of other
 * expressions, and has not failed; NULL: there is none. */
roc_buffer *roc_expression_find_reduction_of(const roc_expression_state *state,
                                             const roc_buffer *buffer);
void roc_expression_open(void); /* sets the hook of writes; once a process */

/* evaluate.c */
/* Computes the buffer's contents, if they are pending; raises why it cannot, and they stay so.  Of
 * device memory: queues what computes them, on the stream if it is one of that device, else where
 * it waits for no unrelated work. */
void roc_expression_evaluate(lua_State *L, roc_buffer *buffer, roc_rt_stream *stream);
/* The same of all arrays among `count` values on the stack, from `first` on: those of one shape in
 * few kernels.  Gives whether there was something to compute. */
bool roc_expression_evaluate_all(lua_State *L, int first, int count, roc_rt_stream *stream);
/* The same where no look asks for it: an error belongs to the expression, which says so when it is
 * looked at, and is not tried again before.  Leaves the error, and gives its status, as lua_pcall. */
int roc_expression_evaluate_early(lua_State *L, roc_buffer *buffer, roc_rt_stream *stream);
/* lua_pcall with the collector stopped: no finalizer runs, so that expressions stay what they are
 * while C code reads them. */
int roc_expression_call_uncollected(lua_State *L, int nargs, int nresults);
/* After a new expression whose operands have that many bytes: computes what is too much. */
void roc_expression_limit(lua_State *L, const roc_expression_state *state, size_t nbytes);

/* Before the memory is used by something else than expressions, which may write it: computes the
 * reductions that read it, whose results are smaller than a copy of the memory.  Gives whether there
 * were any. */
bool roc_expression_compute_reductions_of(lua_State *L, roc_buffer *buffer);

/* view.c */
/* Pushes an array that is pending, with the elements of a view of what is pending, for the first view
 * of it; NULL, and pushes nothing: the view is to be computed as memory.  No Lua code runs. */
const roc_array *roc_expression_push_view(lua_State *L, const roc_array *view);

/* reduction.c */
/* core.run_pending, a kernel that uses the elements of what it computes; see
 * roc/arrays/tree.lua. */
int roc_expression_run_pending(lua_State *L);
int roc_expression_run_elements(lua_State *L); /* core.run_elements */

/* later_reduction.c */
/* core.later_reduction(name): makes a reduction; see roc/arrays/joint.lua. */
int roc_expression_new_reduction(lua_State *L);

/* graph.c.  A structure becomes one kernel when it has been computed that often: element by
 * operation.  For the specs; gives what it was. */
int64_t roc_expression_set_work(int64_t work);

/* closing.c */
/* Computes what is pending, before the state's session takes no more work; nothing is pending from
 * then on.  What cannot be computed says so when it is looked at. */
void roc_expression_finish(lua_State *L);
int roc_expression_mm_gc_guard(lua_State *L); /* __gc of guards: the same, for the newest */

/* operation.c */
roc_expression_state *roc_expression_state_of(lua_State *L); /* NULL: not opened */
void roc_expression_open_state(lua_State *L, bool is_off, lua_CFunction at_close);
/* Makes the newest guard, as each new kernel needs one. */
void roc_expression_guard(lua_State *L);
bool roc_expression_is_newest_guard(lua_State *L, int idx);
void roc_expression_push_kind(lua_State *L, uint8_t kind);
void roc_expression_push_kinds(lua_State *L, const roc_expression_call *call);
/* Pushes a function of lua/roc/arrays/elementwise.lua; false, and nothing, before it is loaded. */
bool roc_expression_push_rule(lua_State *L, const char *name);
int roc_expression_set_rules(lua_State *L); /* core.set_elementwise_rules */
/* Launches an operation on the loops' arrays, the result being the first, on the stream or (NULL)
 * the device's default one.  False: Lua code has changed what is pending, and nothing was
 * launched. */
bool roc_expression_run(lua_State *L, const roc_expression_call *call, roc_rt_device *device,
                        roc_rt_stream *stream, roc_loops *loops);
/* The same of an expression whose operands are memory. */
bool roc_expression_run_one(lua_State *L, const roc_expression *e, roc_rt_stream *stream);

/* at_once.c */
/* Of an operation on few elements of host arrays: replaces operands that broadcast or lie apart by
 * copies with the result's shape and layout, which stay on the stack. */
void roc_expression_flatten(lua_State *L, roc_expression_call *call, const roc_array *result,
                            roc_loops *loops);
/* Computes an operation whose operands are host arrays in memory, or numbers, and whose result is a
 * new host array of few elements, by code that is known, on the calling thread, if that can be.
 * False: nothing has happened, and *out_key, unless it is 0, is to be noted when it has been
 * computed. */
bool roc_expression_run_at_once(const roc_expression_call *call, const roc_array *result,
                                uint64_t *out_key);
/* The kernel on top of the stack has just computed such an operation. */
void roc_expression_note_code(lua_State *L, roc_operation *op, uint64_t key);

/* expression.c.  For the specs: results of fewer elements are computed at once; gives what it
 * was. */
int64_t roc_expression_set_least(int64_t size);
int64_t roc_expression_least(void);

#endif
