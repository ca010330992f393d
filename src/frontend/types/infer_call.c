/* Typing of calls: conversions, functions of the script, and one handler for each class of builtin.
 *
 * A handler sees the arguments inferred and counted; it checks their types and states the results.
 */
#include "frontend/types/infer.h"

#include <stdio.h>

#include "frontend/types/builtin.h"

/* A call being typed. */
typedef struct call_ctx {
  const roc_ast_node *node;
  const roc_builtin_info *info; /* of a builtin */
  roc_fe_call *call;
  roc_ty results[ROC_INFER_MAX_RESULTS];
  uint32_t nresults, nargs;
} call_ctx;

static roc_ty arg_type(const roc_infer *inf, const call_ctx *c, uint32_t k) {
  return roc_fe_list_type(inf->inst, &c->node->list, k);
}

/* The node to blame for the k-th argument: the last one when it comes out of an open call. */
static const roc_ast_node *arg_node(const call_ctx *c, uint32_t k) {
  const roc_ast_list *list = &c->node->list;
  if (list->count == 0) return c->node;
  return list->items[k < list->count ? k : list->count - 1];
}

/* The k-th argument's own node, NULL when it is one of several results of a call. */
static const roc_ast_node *own_arg(const roc_infer *inf, const call_ctx *c, uint32_t k) {
  if (k >= c->node->list.count) return NULL;
  const roc_ast_node *node = c->node->list.items[k];
  const roc_fe_call *call = node->kind == ROC_AST_CALL ? roc_fe_node(inf->inst, node)->call : NULL;
  return call && call->nresults > 1 && k + 1 == c->node->list.count ? NULL : node;
}

static bool const_int(const roc_infer *inf, const call_ctx *c, uint32_t k, int64_t *out) {
  const roc_ast_node *node = own_arg(inf, c, k);
  const roc_fe_node_info *info = node ? roc_fe_node(inf->inst, node) : NULL;
  if (!info || !info->is_const || info->value.type != ROC_VT_INT) return false;
  *out = info->value.as.i;
  return true;
}

static roc_ty need_number(roc_infer *inf, const call_ctx *c, uint32_t k) {
  return roc_infer_need_number(inf, arg_node(c, k), arg_type(inf, c, k));
}
static roc_ty need_integer(roc_infer *inf, const call_ctx *c, uint32_t k) {
  return roc_infer_need_integer(inf, arg_node(c, k), arg_type(inf, c, k));
}
static roc_ty need_value(roc_infer *inf, const call_ctx *c, uint32_t k) {
  return roc_infer_need_value(inf, arg_node(c, k), arg_type(inf, c, k));
}

static void give(call_ctx *c, roc_ty t) {
  c->results[c->nresults++] = t;
}
static void give_kind(call_ctx *c, roc_ty_kind kind) {
  give(c, roc_ty_of(kind));
}

/* The join of all arguments, as a float when `is_float`; ERROR or NONE when one is. */
static roc_ty join_args(roc_infer *inf, const call_ctx *c, bool is_float) {
  roc_ty joined = roc_ty_of(is_float ? ROC_TY_PLAIN : ROC_TY_INT);
  roc_ty bad = roc_ty_of(ROC_TY_F64);
  for (uint32_t k = 0; k < c->nargs; k++) {
    roc_ty t = need_number(inf, c, k);
    if (t.kind < bad.kind && t.kind <= ROC_TY_ERROR) bad = t;
    joined = roc_ty_join(joined, t);
  }
  return bad.kind <= ROC_TY_ERROR ? bad : joined;
}

/* ---- the launch, memory, meeting points -------------------------------------------------- */

static void infer_launch_dim(roc_infer *inf, call_ctx *c) {
  int64_t dim;
  need_integer(inf, c, 0);
  if (const_int(inf, c, 0, &dim) && (dim < 1 || dim > 3)) {
    ROC_INFER_REPORT(inf, arg_node(c, 0)->span, ROC_DIAG_DIMENSION, c->info->path);
  }
  give_kind(c, ROC_TY_INT);
}

static void infer_launch(roc_infer *inf, call_ctx *c) {
  (void)inf;
  give_kind(c, ROC_TY_INT);
}

static void infer_grid(roc_infer *inf, call_ctx *c) {
  int64_t n;
  if (!const_int(inf, c, 0, &n) || n < 1 || n > 3) {
    ROC_INFER_REPORT(inf, arg_node(c, 0)->span, ROC_DIAG_GRID, c->info->path);
    n = 1;
  }
  for (int64_t k = 0; k < n; k++) give_kind(c, ROC_TY_INT);
}

static void report_shape(roc_infer *inf, call_ctx *c, roc_fe_shape_fault fault, uint32_t rank,
                         int64_t extent) {
  roc_span span = arg_node(c, 0)->span;
  const char *path = c->info->path;
  char text[32];
  switch (fault) {
    case ROC_SHAPE_EXTENT:
      snprintf(text, sizeof text, "%lld", (long long)extent);
      ROC_INFER_REPORT(inf, span, ROC_DIAG_SHAPE_EXTENT, path, (unsigned)INT32_MAX, text);
      break;
    case ROC_SHAPE_RANK:
      ROC_INFER_REPORT(inf, span, ROC_DIAG_SHAPE_RANK, path, (unsigned)ROC_MAX_RANK, rank);
      break;
    case ROC_SHAPE_SIZE:
      ROC_INFER_REPORT(inf, span, ROC_DIAG_SHAPE_SIZE, path, (unsigned)INT32_MAX);
      break;
    default:
      ROC_INFER_REPORT(inf, span, ROC_DIAG_CONSTANT_SHAPE, path,
                       c->info->cls == ROC_BC_SHARED_ARRAY
                           ? "; for a size that the launch says write roc.shared.array(0, dtype) "
                             "and launch with shared = bytes"
                           : "");
  }
}

static void report_dtype(roc_infer *inf, const call_ctx *c) {
  char buf[240];
  const roc_ast_node *type = own_arg(inf, c, 1);
  const char *name = type ? roc_fe_const_text(inf->inst, type) : NULL;
  ROC_INFER_REPORT(inf, arg_node(c, 1)->span, ROC_DIAG_CONSTANT_DTYPE, c->info->path,
                   name ? roc_infer_suggest_dtype(name, buf, sizeof buf) : "");
}

/* shape and dtype of roc.shared.array and roc.private.array */
static void infer_block_array(roc_infer *inf, call_ctx *c) {
  int64_t extents[ROC_MAX_RANK] = {0};
  uint32_t rank = 0;
  roc_dtype dtype;
  const roc_ast_node *shape = own_arg(inf, c, 0), *type = own_arg(inf, c, 1);
  roc_fe_shape_fault fault =
      shape ? roc_fe_const_shape(inf->inst, shape, extents, &rank) : ROC_SHAPE_NOT_CONSTANT;
  if (fault != ROC_SHAPE_FINE) {
    report_shape(inf, c, fault, rank, extents[0]);
    give_kind(c, ROC_TY_ERROR);
  } else if (!type || !roc_fe_const_dtype(inf->inst, type, &dtype)) {
    report_dtype(inf, c);
    give_kind(c, ROC_TY_ERROR);
  } else {
    give(c, (roc_ty){.kind = ROC_TY_ARRAY,
                     .dtype = (uint8_t)dtype,
                     .rank = (uint8_t)rank,
                     .space = (uint8_t)c->info->payload});
  }
}

static void infer_shared_array(roc_infer *inf, call_ctx *c) {
  int64_t extent = 1, first = 0;
  infer_block_array(inf, c);
  bool is_dynamic = const_int(inf, c, 0, &extent) && extent == 0;
  if (c->nargs == 3 && (!is_dynamic || !const_int(inf, c, 2, &first) || first < 0)) {
    ROC_INFER_REPORT(inf, arg_node(c, 2)->span, ROC_DIAG_FIRST_BYTE);
  } else if (is_dynamic && c->results[0].kind == ROC_TY_ARRAY) {
    c->results[0].space = ROC_IR_ARRAY_SHARED_DYNAMIC;
    if (first % (int64_t)roc_dtype_itemsize((roc_dtype)c->results[0].dtype) != 0) {
      ROC_INFER_REPORT(inf, arg_node(c, 2)->span, ROC_DIAG_FIRST_BYTE);
    }
  }
}

static void infer_const_array(roc_infer *inf, call_ctx *c) {
  roc_ty t = roc_infer_need_result(inf, arg_node(c, 0), arg_type(inf, c, 0));
  roc_dtype named;
  bool has_dtype = c->nargs > 1;
  const roc_ast_node *type = own_arg(inf, c, 1);
  if (has_dtype && (!type || !roc_fe_const_dtype(inf->inst, type, &named))) {
    report_dtype(inf, c);
    t = roc_ty_of(ROC_TY_ERROR);
  }
  if (t.kind > ROC_TY_ERROR) {
    t = roc_infer_const_array(inf, c->node, own_arg(inf, c, 0), t, has_dtype ? &named : NULL);
  }
  give(c, t);
}

static void infer_fence(roc_infer *inf, call_ctx *c) {
  int64_t scope = 3;
  if (c->nargs > 0 && (!const_int(inf, c, 0, &scope) || scope < 1 || scope > 3)) {
    ROC_INFER_REPORT(inf, arg_node(c, 0)->span, ROC_DIAG_FENCE_SCOPE, c->info->path);
  }
}

static void infer_wave_barrier(roc_infer *inf, call_ctx *c) {
  (void)inf;
  (void)c;
}

/* ---- atomics ----------------------------------------------------------------------------- */

/* Of a table the items without a key. */
static uint32_t count_indices(const roc_ast_list *index) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < index->count; k++) count += index->items[k]->kind != ROC_AST_FIELD;
  return count;
}

static void check_atomic_index(roc_infer *inf, call_ctx *c, roc_ty array) {
  roc_ast_list index = roc_fe_atomic_index(&c->node->list.items[1]);
  uint32_t count = count_indices(&index);
  if (count != array.rank || index.count != count) {
    ROC_INFER_REPORT(inf, arg_node(c, 1)->span, ROC_DIAG_ATOMIC_RANK, (unsigned)array.rank, count);
    return;
  }
  for (uint32_t k = 0; k < index.count; k++) {
    roc_infer_need_index(inf, index.items[k], roc_infer_info(inf, index.items[k])->type);
  }
}

/* Why the operation cannot be done on these elements, or NULL. */
static bool allows_atomic(const call_ctx *c, roc_ty array) {
  const roc_dtype_info *dtype = &roc_dtype_table[array.dtype];
  bool is_integer_only =
      c->info->payload == ROC_IR_ATOMIC_AND || c->info->payload == ROC_IR_ATOMIC_OR ||
      c->info->payload == ROC_IR_ATOMIC_XOR || c->info->payload == ROC_IR_ATOMIC_INC ||
      c->info->payload == ROC_IR_ATOMIC_DEC;
  return dtype->itemsize >= 4 && !(is_integer_only && dtype->kind == 'f');
}

static void infer_atomic(roc_infer *inf, call_ctx *c) {
  roc_ty array = roc_infer_need_result(inf, arg_node(c, 0), arg_type(inf, c, 0));
  char name[64];
  bool is_shareable = array.space == ROC_IR_ARRAY_PARAM || array.space == ROC_IR_ARRAY_SHARED ||
                      array.space == ROC_IR_ARRAY_SHARED_DYNAMIC;
  if (array.kind <= ROC_TY_ERROR) {
    give(c, array);
    return;
  }
  if (array.kind != ROC_TY_ARRAY || !is_shareable || c->node->list.count < 2) {
    ROC_INFER_REPORT(inf, arg_node(c, 0)->span, ROC_DIAG_ATOMIC_ARRAY, c->info->path);
    give_kind(c, ROC_TY_ERROR);
    return;
  }
  if (!allows_atomic(c, array)) {
    ROC_INFER_REPORT(inf, c->node->span, ROC_DIAG_ATOMIC_DTYPE, c->info->path,
                     roc_ty_phrase(array, name, sizeof name));
  }
  check_atomic_index(inf, c, array);
  for (uint32_t k = 2; k < c->nargs; k++) {
    roc_infer_store(inf, arg_node(c, k), arg_type(inf, c, k), (roc_dtype)array.dtype);
  }
  if (c->info->payload != ROC_IR_ATOMIC_STORE) give(c, roc_ty_of_dtype((roc_dtype)array.dtype));
}

/* ---- waves ------------------------------------------------------------------------------- */

static void infer_wave_vote(roc_infer *inf, call_ctx *c) {
  roc_infer_need_bool(inf, arg_node(c, 0), arg_type(inf, c, 0));
  give_kind(c, c->info->payload == ROC_IR_WAVE_BALLOT ? ROC_TY_INT : ROC_TY_BOOL);
}
static void infer_wave_move(roc_infer *inf, call_ctx *c) {
  need_integer(inf, c, 1);
  give(c, need_value(inf, c, 0));
}
static void infer_wave_reduce(roc_infer *inf, call_ctx *c) {
  give(c, need_number(inf, c, 0));
}
static void infer_wave_ds(roc_infer *inf, call_ctx *c) {
  need_integer(inf, c, 0);
  give(c, need_value(inf, c, 1));
}
static void infer_wave_active(roc_infer *inf, call_ctx *c) {
  roc_ty t = need_number(inf, c, 0);
  roc_ty identity = need_number(inf, c, 2);
  need_integer(inf, c, 1);
  roc_infer_need_bool(inf, arg_node(c, 3), arg_type(inf, c, 3));
  give(c, roc_ty_join(t, identity));
}

/* ---- math -------------------------------------------------------------------------------- */

static void infer_number(roc_infer *inf, call_ctx *c) {
  give(c, need_number(inf, c, 0));
}
static void infer_joined(roc_infer *inf, call_ctx *c) {
  give(c, join_args(inf, c, false));
}
static void infer_floats(roc_infer *inf, call_ctx *c) {
  give(c, join_args(inf, c, true));
}
/* As Lua's: an integer is its own integral part. */
static void infer_modf(roc_infer *inf, call_ctx *c) {
  give(c, join_args(inf, c, false));
  give(c, join_args(inf, c, true));
}
static void infer_to_integer(roc_infer *inf, call_ctx *c) {
  need_number(inf, c, 0);
  give_kind(c, ROC_TY_INT);
}
static void infer_ult(roc_infer *inf, call_ctx *c) {
  need_integer(inf, c, 0);
  need_integer(inf, c, 1);
  give_kind(c, ROC_TY_BOOL);
}
static void infer_fclass(roc_infer *inf, call_ctx *c) {
  need_number(inf, c, 0);
  give_kind(c, ROC_TY_BOOL);
}
static void infer_bits(roc_infer *inf, call_ctx *c) {
  give(c, need_integer(inf, c, 0));
}

/* ---- messages ---------------------------------------------------------------------------- */

/* String literals and values, of which a site can record only so many. */
static void check_message(roc_infer *inf, call_ctx *c, uint32_t first) {
  uint32_t values = 0;
  for (uint32_t k = first; k < c->nargs; k++) {
    const roc_ast_node *node = own_arg(inf, c, k);
    while (node && node->kind == ROC_AST_PAREN) node = node->a;
    if (node && node->kind == ROC_AST_STRING) continue;
    if (arg_type(inf, c, k).kind == ROC_TY_STRING) {
      ROC_INFER_REPORT(inf, arg_node(c, k)->span, ROC_DIAG_MESSAGE_TEXT, c->info->path);
      continue;
    }
    need_value(inf, c, k);
    values++;
  }
  if (values > ROC_SITE_MAX_VALUES) {
    ROC_INFER_REPORT(inf, c->node->span, ROC_DIAG_MESSAGE_VALUES, c->info->path,
                     (unsigned)ROC_SITE_MAX_VALUES);
  }
}

static void infer_print(roc_infer *inf, call_ctx *c) {
  check_message(inf, c, 0);
}

/* assert returns its condition; a number is always true. */
static void infer_assert(roc_infer *inf, call_ctx *c) {
  check_message(inf, c, 1);
  give(c, need_value(inf, c, 0));
}

typedef void builtin_fn(roc_infer *inf, call_ctx *c);

static builtin_fn *const builtin_handlers[ROC_BC_COUNT_] = {
    [ROC_BC_LAUNCH_DIM] = infer_launch_dim,
    [ROC_BC_LAUNCH] = infer_launch,
    [ROC_BC_GRID] = infer_grid,
    [ROC_BC_SHARED_ARRAY] = infer_shared_array,
    [ROC_BC_PRIVATE_ARRAY] = infer_block_array,
    [ROC_BC_CONST_ARRAY] = infer_const_array,
    [ROC_BC_FENCE] = infer_fence,
    [ROC_BC_WAVE_BARRIER] = infer_wave_barrier,
    [ROC_BC_ATOMIC] = infer_atomic,
    [ROC_BC_WAVE_VOTE] = infer_wave_vote,
    [ROC_BC_WAVE_MOVE] = infer_wave_move,
    [ROC_BC_WAVE_REDUCE] = infer_wave_reduce,
    [ROC_BC_WAVE_DS] = infer_wave_ds,
    [ROC_BC_WAVE_ACTIVE] = infer_wave_active,
    [ROC_BC_NUMBER] = infer_number,
    [ROC_BC_MINMAX] = infer_joined,
    [ROC_BC_TO_INTEGER] = infer_to_integer,
    [ROC_BC_FMOD] = infer_joined,
    [ROC_BC_MODF] = infer_modf,
    [ROC_BC_ULT] = infer_ult,
    [ROC_BC_LOG] = infer_floats,
    [ROC_BC_ATAN] = infer_floats,
    [ROC_BC_ANGLE] = infer_floats,
    [ROC_BC_MATH] = infer_floats,
    [ROC_BC_POW] = infer_floats,
    [ROC_BC_FCLASS] = infer_fclass,
    [ROC_BC_BITS] = infer_bits,
    [ROC_BC_PRINT] = infer_print,
    [ROC_BC_ERROR] = infer_print,
    [ROC_BC_ASSERT] = infer_assert,
};

/* ---- the three kinds of call ------------------------------------------------------------- */

/* `usage`: what the message adds. */
static bool check_count(roc_infer *inf, const call_ctx *c, const char *name, uint32_t least,
                        uint32_t most, const char *usage) {
  if (c->nargs >= least && c->nargs <= most) return true;
  if (roc_fe_list_is_unknown(inf->inst, &c->node->list)) return false;
  if (least == most) {
    ROC_INFER_REPORT(inf, c->node->span, ROC_DIAG_ARGUMENT_COUNT, name, least, c->nargs, usage);
  } else {
    ROC_INFER_REPORT(inf, c->node->span, ROC_DIAG_ARGUMENT_RANGE, name, least, most, c->nargs,
                     usage);
  }
  return false;
}

static void call_builtin(roc_infer *inf, call_ctx *c, uint32_t id) {
  c->info = &roc_builtin_table[id];
  c->call->kind = ROC_CALLEE_BUILTIN;
  c->call->builtin = id;
  char usage[120];
  if (!check_count(inf, c, c->info->path, c->info->least, c->info->most,
                   roc_infer_suggest_call(id, usage, sizeof usage))) {
    give_kind(c, ROC_TY_ERROR);
    return;
  }
  builtin_handlers[c->info->cls](inf, c);
}

static void call_dtype(roc_infer *inf, call_ctx *c, roc_dtype dtype) {
  c->call->kind = ROC_CALLEE_DTYPE;
  c->call->dtype = dtype;
  if (check_count(inf, c, roc_dtype_name(dtype), 1, 1, "")) need_value(inf, c, 0);
  give(c, roc_ty_of_dtype(dtype));
}

/* False: an argument's type is not known yet, or wrong and reported. */
static bool collect_params(roc_infer *inf, const call_ctx *c, uint32_t nparams, roc_ty *params) {
  for (uint32_t k = 0; k < nparams; k++) {
    roc_ty t = roc_infer_need_result(inf, arg_node(c, k), arg_type(inf, c, k));
    bool is_text = t.kind == ROC_TY_STRING && t.dtype == 0; /* the name of a dtype may pass */
    if (t.maybe_false || is_text || t.kind == ROC_TY_NIL) t = need_value(inf, c, k);
    if (t.kind <= ROC_TY_ERROR) return false;
    params[k] = t;
  }
  return true;
}

static void call_function(roc_infer *inf, call_ctx *c, uint32_t function) {
  const roc_fe_function *fn = &inf->typed->program->funcs[function];
  roc_ty params[ROC_INFER_MAX_PARAMS];
  uint32_t nparams = fn->ast->nparams;
  if (roc_fe_list_is_unknown(inf->inst, &c->node->list)) return;
  if (c->nargs < nparams) {
    ROC_INFER_REPORT(inf, c->node->span, ROC_DIAG_ARGUMENT_COUNT, fn->name, nparams, c->nargs, "");
    return;
  }
  if (nparams > ROC_INFER_MAX_PARAMS) {
    ROC_INFER_REPORT(inf, c->node->span, ROC_DIAG_TOO_LARGE, fn->name);
    return;
  }
  if (!collect_params(inf, c, nparams, params)) return;
  roc_fe_instance *callee = roc_infer_instance(inf, function, params, c->node);
  if (!callee) return;
  c->call->kind = ROC_CALLEE_FUNCTION;
  c->call->instance = callee;
  for (uint32_t k = 0; k < callee->nresults; k++) give(c, callee->results[k]);
}

/* Keeps the call's record between walks; there are many nodes, but few calls. */
static roc_fe_call *call_record(roc_infer *inf, const roc_ast_node *node) {
  roc_fe_node_info *info = roc_infer_info(inf, node);
  if (!info->call) info->call = ROC_ARENA_NEW(&inf->typed->arena, roc_fe_call);
  if (!info->call) inf->oom = true;
  return (roc_fe_call *)info->call;
}

static void store_results(roc_infer *inf, call_ctx *c) {
  roc_fe_call *call = c->call;
  if (call->nresults < c->nresults || !call->results) {
    call->results = ROC_ARENA_ARRAY(&inf->typed->arena, roc_ty, c->nresults + 1);
    if (!call->results) {
      inf->oom = true;
      return;
    }
  }
  call->nresults = c->nresults;
  for (uint32_t k = 0; k < c->nresults; k++) call->results[k] = c->results[k];
}

/* Arguments may hold tables (shapes, atomics' indices) only where the callee reads them itself. */
static void infer_arguments(roc_infer *inf, const roc_ast_node *node, roc_ty callee) {
  roc_builtin_class cls =
      callee.kind == ROC_TY_BUILTIN ? roc_builtin_table[callee.id].cls : ROC_BC_COUNT_;
  uint32_t table_arg = UINT32_MAX;
  if (cls == ROC_BC_SHARED_ARRAY || cls == ROC_BC_PRIVATE_ARRAY) table_arg = 0;
  if (cls == ROC_BC_ATOMIC) table_arg = 1;
  for (uint32_t k = 0; k < node->list.count; k++) {
    const roc_ast_node *arg = node->list.items[k];
    if (k == table_arg && arg->kind == ROC_AST_TABLE) {
      for (uint32_t j = 0; j < arg->list.count; j++) roc_infer_expr(inf, arg->list.items[j]);
      roc_infer_set(inf, arg, ROC_TY_NONE);
    } else {
      roc_infer_expr(inf, arg);
    }
  }
}

roc_ty roc_infer_call(roc_infer *inf, const roc_ast_node *node) {
  char name[64];
  roc_ty callee = roc_infer_need_result(inf, node->a, roc_infer_expr(inf, node->a));
  call_ctx c = {.node = node, .call = call_record(inf, node)};
  infer_arguments(inf, node, callee);
  if (!c.call) return roc_infer_set(inf, node, ROC_TY_ERROR);
  c.nargs = roc_fe_list_count(inf->inst, &node->list);
  c.call->kind = ROC_CALLEE_NONE;
  switch (callee.kind) {
    case ROC_TY_NONE:
    case ROC_TY_ERROR: break;
    case ROC_TY_BUILTIN: call_builtin(inf, &c, callee.id); break;
    case ROC_TY_DTYPE: call_dtype(inf, &c, (roc_dtype)callee.dtype); break;
    case ROC_TY_FUNCTION: call_function(inf, &c, callee.id); break;
    default:
      ROC_INFER_REPORT(inf, node->a->span, ROC_DIAG_NOT_CALLABLE,
                       roc_ty_phrase(callee, name, sizeof name));
  }
  if (c.call->kind == ROC_CALLEE_NONE) give_kind(&c, ROC_TY_ERROR);
  store_results(inf, &c);
  return roc_infer_info(inf, node)->type = c.nresults > 0 ? c.results[0] : roc_ty_of(ROC_TY_NONE);
}
