/* Typing of expressions.  ERROR and NONE (not known yet) are passed on silently: the error has been
 * reported, or a later walk will know or report. */
#include "frontend/types/infer.h"

typedef roc_ty expr_fn(roc_infer *inf, const roc_ast_node *node);

static void set_value(roc_infer *inf, const roc_ast_node *node, roc_scalar value) {
  roc_infer_info(inf, node)->is_const = true;
  roc_infer_info(inf, node)->value = value;
}

static roc_ty infer_boolean(roc_infer *inf, const roc_ast_node *node) {
  set_value(inf, node, (roc_scalar){.type = ROC_VT_BOOL, .as.b = node->kind == ROC_AST_TRUE});
  return roc_infer_set(inf, node, ROC_TY_BOOL);
}

static roc_ty infer_integer(roc_infer *inf, const roc_ast_node *node) {
  set_value(inf, node, (roc_scalar){.type = ROC_VT_INT, .as.i = node->as.i});
  return roc_infer_set(inf, node, ROC_TY_INT);
}

static roc_ty infer_float(roc_infer *inf, const roc_ast_node *node) {
  set_value(inf, node, (roc_scalar){.type = ROC_VT_F64, .as.f = node->as.f});
  return roc_infer_set(inf, node, ROC_TY_PLAIN);
}

static roc_ty infer_string(roc_infer *inf, const roc_ast_node *node) {
  return roc_infer_info(inf, node)->type = roc_ty_of_text(node->as.s.data, node->as.s.len);
}

/* A forbidden form: restrict.c reports it. */
static roc_ty infer_refused(roc_infer *inf, const roc_ast_node *node) {
  return roc_infer_set(inf, node, ROC_TY_ERROR);
}

static roc_ty infer_table(roc_infer *inf, const roc_ast_node *node) {
  ROC_INFER_REPORT(inf, node->span, ROC_DIAG_TABLE);
  return roc_infer_set(inf, node, ROC_TY_ERROR);
}

static roc_ty infer_local_name(roc_infer *inf, const roc_ast_node *node) {
  const roc_fe_sym_info *sym = roc_fe_sym(inf->inst, node->sym);
  roc_fe_node_info *info = roc_infer_info(inf, node);
  bool is_untyped = sym->type.kind == ROC_TY_NONE && inf->diags->total == 0;
  if (is_untyped) { /* never assigned; flow.c does not look at code that is not reached */
    ROC_INFER_REPORT(inf, node->span, ROC_DIAG_UNASSIGNED, node->sym->name.data);
  }
  info->type = sym->type;
  info->is_const = sym->is_const;
  info->value = sym->value;
  return info->type;
}

static roc_ty infer_paren(roc_infer *inf, const roc_ast_node *node) {
  roc_fe_node_info *info = roc_infer_info(inf, node);
  info->type = roc_infer_expr(inf, node->a);
  if (info->type.kind == ROC_TY_NONE && node->a->kind == ROC_AST_CALL) {
    info->type = roc_infer_value(inf, node->a);
  }
  info->is_const = roc_fe_node(inf->inst, node->a)->is_const;
  info->value = roc_fe_node(inf->inst, node->a)->value;
  return info->type;
}

/* ---- demands ----------------------------------------------------------------------------- */

/* The `%s` of the messages: a description of the value found. */
static roc_ty refuse(roc_infer *inf, const roc_ast_node *node, roc_ty t, roc_diag_id id) {
  char name[64];
  ROC_INFER_REPORT(inf, node->span, id, roc_ty_phrase(t, name, sizeof name));
  return roc_ty_of(ROC_TY_ERROR);
}

roc_ty roc_infer_need_result(roc_infer *inf, const roc_ast_node *node, roc_ty t) {
  bool is_call = node->kind == ROC_AST_CALL;
  const roc_fe_call *call = is_call ? roc_fe_node(inf->inst, node)->call : NULL;
  bool gives_none = call && call->nresults == 0 && call->kind != ROC_CALLEE_NONE;
  return gives_none ? refuse(inf, node, t, ROC_DIAG_NO_RESULT) : t;
}

roc_ty roc_infer_need_value(roc_infer *inf, const roc_ast_node *node, roc_ty t) {
  if (t.kind == ROC_TY_STRING) return refuse(inf, node, t, ROC_DIAG_STRING);
  if (roc_ty_is_static(t)) return refuse(inf, node, t, ROC_DIAG_NOT_A_VALUE);
  if (t.maybe_false) return refuse(inf, node, t, ROC_DIAG_MAYBE_FALSE);
  return roc_infer_need_result(inf, node, t);
}

roc_ty roc_infer_value(roc_infer *inf, const roc_ast_node *node) {
  return roc_infer_need_value(inf, node, roc_infer_info(inf, node)->type);
}

roc_ty roc_infer_need_number(roc_infer *inf, const roc_ast_node *node, roc_ty t) {
  t = roc_infer_need_value(inf, node, t);
  return t.kind == ROC_TY_BOOL ? refuse(inf, node, t, ROC_DIAG_NEED_NUMBER) : t;
}

roc_ty roc_infer_need_integer(roc_infer *inf, const roc_ast_node *node, roc_ty t) {
  t = roc_infer_need_value(inf, node, t);
  return t.kind > ROC_TY_ERROR && t.kind != ROC_TY_INT ? refuse(inf, node, t, ROC_DIAG_NEED_INTEGER)
                                                       : t;
}

roc_ty roc_infer_need_index(roc_infer *inf, const roc_ast_node *node, roc_ty t) {
  t = roc_infer_need_value(inf, node, t);
  return t.kind > ROC_TY_ERROR && t.kind != ROC_TY_INT ? refuse(inf, node, t, ROC_DIAG_INDEX_TYPE)
                                                       : t;
}

roc_ty roc_infer_need_bool(roc_infer *inf, const roc_ast_node *node, roc_ty t) {
  t = roc_infer_need_value(inf, node, t);
  return t.kind > ROC_TY_ERROR && t.kind != ROC_TY_BOOL
             ? refuse(inf, node, t, ROC_DIAG_NEED_BOOLEAN)
             : t;
}

/* Anything with a truth value: a boolean, a number (true), false-or-number. */
static roc_ty need_truth(roc_infer *inf, const roc_ast_node *node, roc_ty t) {
  roc_ty plain = t;
  plain.maybe_false = false;
  return roc_infer_need_value(inf, node, plain).kind == ROC_TY_ERROR ? roc_ty_of(ROC_TY_ERROR) : t;
}

/* The part of a condition that is a number and no constant: every number is true in Lua, 0 too. */
static const roc_ast_node *find_number(const roc_infer *inf, const roc_ast_node *node) {
  while (node->kind == ROC_AST_PAREN || (node->kind == ROC_AST_UNARY && node->op == ROC_OP_NOT)) {
    node = node->a;
  }
  const roc_fe_node_info *info = roc_fe_node(inf->inst, node);
  if (node->kind == ROC_AST_BINARY && (node->op == ROC_OP_AND || node->op == ROC_OP_OR)) {
    const roc_ast_node *left = find_number(inf, node->a);
    return left ? left : find_number(inf, node->b);
  }
  return roc_ty_is_number(info->type) && !info->is_const ? node : NULL;
}

/* Notes the first such condition, for k:hints(). */
static void note_number(roc_infer *inf, const roc_ast_node *condition) {
  enum { SHOWN = 40 };
  const roc_ast_node *number = inf->report ? find_number(inf, condition) : NULL;
  if (!number || inf->typed->hint) return;
  const roc_ast_chunk *chunk = inf->inst->fn->chunk;
  int len = (int)(number->span.end - number->span.begin);
  const char *text = len <= SHOWN ? chunk->text + number->span.begin : "x";
  if (len > SHOWN) len = 1;
  roc_str hint = ROC_STR_INIT;
  roc_str_printf(&hint,
                 "%s:%u: kernel '%s' takes the number %.*s for a condition here, and every number "
                 "is true in Lua, 0 too; write %.*s ~= 0",
                 chunk->name, number->span.line, inf->typed->options->kernel_name, len, text, len,
                 text);
  inf->typed->hint = roc_arena_strndup(&inf->typed->arena, roc_str_text(&hint), hint.len);
  roc_str_deinit(&hint);
}

void roc_infer_condition(roc_infer *inf, const roc_ast_node *node) {
  need_truth(inf, node, roc_infer_expr(inf, node));
  note_number(inf, node);
}

void roc_infer_store(roc_infer *inf, const roc_ast_node *value, roc_ty t, roc_dtype dtype) {
  char name[64];
  roc_ty element = roc_ty_of_dtype(dtype);
  t = roc_infer_need_value(inf, value, t);
  if (t.kind <= ROC_TY_ERROR) return;
  roc_ty_phrase(t, name, sizeof name);
  if ((element.kind == ROC_TY_BOOL) != (t.kind == ROC_TY_BOOL)) {
    ROC_INFER_REPORT(inf, value->span, ROC_DIAG_STORE_BOOLEAN, name, roc_dtype_name(dtype));
  } else if (element.kind == ROC_TY_INT && t.kind != ROC_TY_INT) {
    ROC_INFER_REPORT(inf, value->span, ROC_DIAG_STORE_FLOAT, name, roc_dtype_name(dtype));
  }
}

/* ---- operators --------------------------------------------------------------------------- */

static roc_ty infer_unary(roc_infer *inf, const roc_ast_node *node) {
  roc_ty t = roc_infer_expr(inf, node->a);
  switch (node->op) {
    case ROC_OP_NOT:
      t = need_truth(inf, node->a, t);
      if (t.kind > ROC_TY_ERROR) t = roc_ty_of(ROC_TY_BOOL);
      break;
    case ROC_OP_LEN:
      t = roc_infer_need_result(inf, node->a, t);
      if (t.kind > ROC_TY_ERROR && t.kind != ROC_TY_ARRAY && t.kind != ROC_TY_SHAPE) {
        t = refuse(inf, node->a, t, ROC_DIAG_LENGTH);
      }
      if (t.kind == ROC_TY_SHAPE) {
        set_value(inf, node, (roc_scalar){.type = ROC_VT_INT, .as.i = t.rank});
      }
      if (t.kind > ROC_TY_ERROR) t = roc_ty_of(ROC_TY_INT);
      break;
    case ROC_OP_BNOT: t = roc_infer_need_integer(inf, node->a, t); break;
    default: t = roc_infer_need_number(inf, node->a, t);
  }
  roc_infer_info(inf, node)->type = t;
  roc_infer_fold_unary(inf, node);
  return t;
}

static roc_ty infer_arithmetic(roc_infer *inf, const roc_ast_node *node, roc_ty a, roc_ty b) {
  a = roc_infer_need_number(inf, node->a, a);
  b = roc_infer_need_number(inf, node->b, b);
  if (a.kind <= ROC_TY_ERROR || b.kind <= ROC_TY_ERROR)
    return roc_infer_set(inf, node, ROC_TY_ERROR);
  roc_infer_info(inf, node)->type = roc_fe_operand_type(inf->inst, node);
  roc_infer_fold_binary(inf, node);
  return roc_infer_info(inf, node)->type;
}

static roc_ty infer_bitwise(roc_infer *inf, const roc_ast_node *node, roc_ty a, roc_ty b) {
  a = roc_infer_need_integer(inf, node->a, a);
  b = roc_infer_need_integer(inf, node->b, b);
  if (a.kind <= ROC_TY_ERROR || b.kind <= ROC_TY_ERROR)
    return roc_infer_set(inf, node, ROC_TY_ERROR);
  roc_infer_set(inf, node, ROC_TY_INT);
  roc_infer_fold_binary(inf, node);
  return roc_ty_of(ROC_TY_INT);
}

static roc_ty infer_comparison(roc_infer *inf, const roc_ast_node *node, roc_ty a, roc_ty b) {
  bool is_equality = node->op == ROC_OP_EQ || node->op == ROC_OP_NE;
  char left[64], right[64];
  if (is_equality) {
    a = roc_infer_need_value(inf, node->a, a);
    b = roc_infer_need_value(inf, node->b, b);
    if (a.kind > ROC_TY_ERROR && b.kind > ROC_TY_ERROR &&
        (a.kind == ROC_TY_BOOL) != (b.kind == ROC_TY_BOOL)) {
      ROC_INFER_REPORT(inf, node->span, ROC_DIAG_COMPARE, roc_ty_phrase(a, left, sizeof left),
                       roc_ty_phrase(b, right, sizeof right));
    }
  } else {
    a = roc_infer_need_number(inf, node->a, a);
    b = roc_infer_need_number(inf, node->b, b);
  }
  return roc_infer_set(inf, node, ROC_TY_BOOL);
}

/* `a and b`: a number on the left is true, so it is b; a boolean gives false or b. */
static roc_ty and_type(roc_ty a, roc_ty b) {
  if (roc_ty_is_number(a)) return b;
  if (b.kind == ROC_TY_BOOL) return a.kind == ROC_TY_BOOL ? b : roc_ty_of(ROC_TY_BOOL);
  b.maybe_false = true;
  return b;
}

/* Two numbers of which either may be the value. */
static roc_ty either_number(roc_infer *inf, const roc_ast_node *node, roc_ty a, roc_ty b) {
  roc_ty joined = roc_ty_join(a, b);
  bool is_mixed_left = a.kind == ROC_TY_INT && joined.kind != ROC_TY_INT;
  bool is_mixed_right = b.kind == ROC_TY_INT && joined.kind != ROC_TY_INT;
  const roc_ast_node *left = node->a;
  while (left->kind == ROC_AST_PAREN) left = left->a;
  if (left->kind == ROC_AST_BINARY && left->op == ROC_OP_AND) left = left->b;
  const roc_ast_node *integer = is_mixed_left ? left : node->b;
  if ((is_mixed_left || is_mixed_right) && !roc_fe_node(inf->inst, integer)->is_const) {
    ROC_INFER_REPORT(inf, integer->span, ROC_DIAG_MIXED_OR);
  }
  joined.maybe_false = b.maybe_false;
  return joined;
}

static roc_ty infer_or(roc_infer *inf, const roc_ast_node *node, roc_ty a, roc_ty b) {
  char name[64];
  if (roc_ty_is_number(a)) return a;
  if (a.kind == ROC_TY_BOOL && b.kind == ROC_TY_BOOL && !b.maybe_false) return b;
  if (a.maybe_false && b.kind != ROC_TY_BOOL) {
    a.maybe_false = false;
    return either_number(inf, node, a, b);
  }
  ROC_INFER_REPORT(inf, node->span, ROC_DIAG_OR_TYPE,
                   roc_ty_phrase(a.kind == ROC_TY_BOOL ? b : a, name, sizeof name));
  return roc_ty_of(ROC_TY_ERROR);
}

static roc_ty infer_logic(roc_infer *inf, const roc_ast_node *node, roc_ty a, roc_ty b) {
  a = need_truth(inf, node->a, a);
  b = need_truth(inf, node->b, b);
  if (a.kind <= ROC_TY_ERROR || b.kind <= ROC_TY_ERROR)
    return roc_infer_set(inf, node, ROC_TY_ERROR);
  return roc_infer_info(inf, node)->type =
             node->op == ROC_OP_AND ? and_type(a, b) : infer_or(inf, node, a, b);
}

static roc_ty infer_binary(roc_infer *inf, const roc_ast_node *node) {
  roc_ty a = roc_infer_expr(inf, node->a);
  roc_ty b = roc_infer_expr(inf, node->b);
  if (node->op == ROC_OP_CONCAT) return roc_infer_set(inf, node, ROC_TY_ERROR);
  if (node->op <= ROC_OP_POW) return infer_arithmetic(inf, node, a, b);
  if (node->op <= ROC_OP_SHR) return infer_bitwise(inf, node, a, b);
  if (node->op <= ROC_OP_GE) return infer_comparison(inf, node, a, b);
  return infer_logic(inf, node, a, b);
}

static expr_fn *const expr_table[ROC_AST_COUNT_] = {
    [ROC_AST_NIL] = infer_refused,
    [ROC_AST_TRUE] = infer_boolean,
    [ROC_AST_FALSE] = infer_boolean,
    [ROC_AST_INTEGER] = infer_integer,
    [ROC_AST_FLOAT] = infer_float,
    [ROC_AST_STRING] = infer_string,
    [ROC_AST_VARARG] = infer_refused,
    [ROC_AST_FUNCTION] = infer_refused,
    [ROC_AST_TABLE] = infer_table,
    [ROC_AST_LOCAL_NAME] = infer_local_name,
    [ROC_AST_FREE_NAME] = roc_infer_free_name,
    [ROC_AST_INDEX] = roc_infer_index,
    [ROC_AST_CALL] = roc_infer_call,
    [ROC_AST_METHOD] = infer_refused,
    [ROC_AST_UNARY] = infer_unary,
    [ROC_AST_BINARY] = infer_binary,
    [ROC_AST_PAREN] = infer_paren,
};

roc_ty roc_infer_expr(roc_infer *inf, const roc_ast_node *node) {
  expr_fn *fn = expr_table[node->kind];
  roc_infer_info(inf, node)->is_const = false;
  if (!fn || !roc_infer_enter(inf, node->span)) return roc_infer_set(inf, node, ROC_TY_ERROR);
  roc_ty t = fn(inf, node);
  inf->depth--;
  return t;
}

void roc_infer_list(roc_infer *inf, const roc_ast_list *list) {
  for (uint32_t i = 0; i < list->count; i++) {
    roc_infer_expr(inf, list->items[i]);
    /* in the middle of a list a call counts for one value, so it must give one */
    if (i + 1 < list->count && list->items[i]->kind == ROC_AST_CALL) {
      const roc_fe_call *call = roc_fe_node(inf->inst, list->items[i])->call;
      if (call && call->nresults == 0) roc_infer_value(inf, list->items[i]);
    }
  }
}
