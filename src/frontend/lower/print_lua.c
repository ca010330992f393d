/* The typed kernel printed back as Lua: what `sim` runs.
 *
 * Works on the typed tree, not on the IR, so that it shares nothing with lowering and can verify
 * it. Output is a Lua chunk that returns {{name =, chunk =, text =}, …}, one per instance, the
 * kernel first.  A text is a chunk of its own, called with the support table S, the list of
 * instances F and the arguments A (hidden ones are read from it); it returns the function.
 * Invariants: every statement is on the line it has in the user's file, so that errors of the Lua
 * VM point there; every float32 operation is rounded by S.f32; every conversion is explicit.  An
 * expression that is nested too deeply for Lua's parser becomes a function of the locals it
 * reads. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "frontend/types/builtin.h"
#include "frontend/lower/print_lua.h"

/* Of nested blocks, from which on expressions stand alone; and of an expression. */
enum { MAX_BLOCK_DEPTH = 100, MAX_EXPR_DEPTH = 24 };

void roc_pl_put(roc_printer *p, const char *s) {
  roc_str_puts(&p->text, s);
}

roc_ty roc_pl_type(const roc_printer *p, const roc_ast_node *node) {
  return roc_fe_node(p->inst, node)->type;
}

/* Whether values of the type are rounded to float32. */
bool roc_pl_is_f32(const roc_printer *p, roc_ty t) {
  return roc_ty_is_value(t) && roc_ty_value_type(t, p->typed->options) == ROC_VT_F32;
}

/* Advances to a source line; stays on the current line if that is a later one. */
void roc_pl_line(roc_printer *p, uint32_t line) {
  for (; p->line < line; p->line++) roc_str_putc(&p->text, '\n');
}

static uint32_t number_of(roc_printer *p, roc_fe_instance *inst) {
  for (uint32_t i = 0; i < p->functions.count; i++) {
    if (p->functions.items[i].inst == inst && !p->functions.items[i].part) return i + 1;
  }
  if (!roc_vec_push(&p->functions, ((roc_pl_function){.inst = inst}))) p->text.failed = true;
  return p->functions.count;
}

/* ---- literals and names ------------------------------------------------------------------- */

static void quote(roc_str *out, const char *s, size_t len) {
  roc_str_putc(out, '"');
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '"' || c == '\\') {
      roc_str_printf(out, "\\%c", c);
    } else if (c < ' ' || c > '~') {
      roc_str_printf(out, "\\%03u", c);
    } else {
      roc_str_putc(out, (char)c);
    }
  }
  roc_str_putc(out, '"');
}

/* A literal or constant of type `t`. */
static void print_float(roc_printer *p, double f, roc_ty t) {
  if (roc_pl_is_f32(p, t)) f = (double)(float)f;
  if (isnan(f)) {
    roc_pl_put(p, "(0/0)");
  } else if (isinf(f)) {
    roc_pl_put(p, f < 0 ? "(-1/0)" : "(1/0)");
  } else {
    roc_str_printf(&p->text, signbit(f) ? "(%a)" : "%a", f);
  }
}

static void print_scalar(roc_printer *p, roc_scalar v, roc_ty t) {
  switch (v.type) {
    case ROC_VT_BOOL: roc_pl_put(p, v.as.b ? "true" : "false"); break;
    case ROC_VT_INT:
      if (v.as.i == INT64_MIN) {
        roc_pl_put(p, "math.mininteger");
      } else {
        roc_str_printf(&p->text, v.as.i < 0 ? "(%" PRId64 ")" : "%" PRId64, v.as.i);
      }
      break;
    default: print_float(p, v.as.f, t); break;
  }
}

void roc_pl_symbol(roc_printer *p, const roc_ast_symbol *sym) {
  roc_str_printf(&p->text, "%s_%u", sym->name.data, sym->id);
}

/* Locals of these kinds exist in the compiler only; in Lua they hold nil. */
bool roc_pl_is_nothing(roc_ty t) {
  return roc_ty_is_static(t) && t.kind != ROC_TY_ARRAY && t.kind != ROC_TY_SHAPE;
}

static void print_extents(roc_printer *p, const int64_t *extents, uint32_t rank) {
  roc_pl_put(p, "{");
  for (uint32_t d = 0; d < rank; d++) roc_str_printf(&p->text, "%" PRId64 ",", extents[d]);
  roc_pl_put(p, "}");
}

static void print_const_array(roc_printer *p, const roc_ast_node *node,
                              const roc_fe_const_array *a) {
  const char *name = roc_fe_const_name(node);
  size_t nbytes = roc_dtype_itemsize(a->dtype);
  for (uint32_t d = 0; d < a->rank; d++) nbytes *= (size_t)a->extents[d];
  roc_pl_put(p, "S.const_array(");
  print_extents(p, a->extents, a->rank);
  roc_str_printf(&p->text, ",\"%s\",", roc_dtype_name(a->dtype));
  quote(&p->text, a->data, nbytes);
  roc_pl_put(p, ",");
  quote(&p->text, name, strlen(name));
  roc_pl_put(p, ")");
}

static void print_binding(roc_printer *p, const roc_ast_node *node, roc_ty t) {
  const roc_fe_binding *binding = roc_fe_node(p->inst, node)->binding;
  switch (binding->kind) {
    case ROC_BIND_CONSTANT: print_scalar(p, binding->as.scalar, t); break;
    case ROC_BIND_HIDDEN:
      roc_str_printf(&p->text, roc_pl_is_f32(p, t) ? "S.f32(A[%u])" : "A[%u]", binding->as.arg + 1);
      break;
    case ROC_BIND_ARRAY: roc_str_printf(&p->text, "A[%u]", binding->as.arg + 1); break;
    case ROC_BIND_CONST_ARRAY: print_const_array(p, node, binding->as.const_array); break;
    default: roc_pl_put(p, "nil"); break;
  }
}

/* ---- conversions ---------------------------------------------------------------------------- */

/* The call that converts a value of type `from` to type `to`: its beginning and its end. */
const char *roc_pl_conversion(const roc_printer *p, roc_ty from, roc_ty to) {
  if (!roc_ty_is_value(from) || !roc_ty_is_value(to) || from.kind == ROC_TY_BOOL) return NULL;
  if (to.kind == ROC_TY_INT || to.kind == ROC_TY_BOOL) return NULL;
  if (roc_pl_is_f32(p, to)) return roc_pl_is_f32(p, from) ? NULL : "S.f32(";
  return from.kind == ROC_TY_INT ? "S.f64(" : NULL;
}

/* The call whose several results end the list, or NULL. */
const roc_fe_call *roc_pl_open_call(const roc_printer *p, const roc_ast_list *list) {
  const roc_ast_node *last = list->count ? list->items[list->count - 1] : NULL;
  const roc_fe_call *call =
      last && last->kind == ROC_AST_CALL ? roc_fe_node(p->inst, last)->call : NULL;
  return call && call->nresults > 1 ? call : NULL;
}

/* Opens what turns all results of a call into values of type `to`; NULL: they are. */
static const char *conversion_of_all(const roc_printer *p, const roc_fe_call *call, roc_ty to) {
  const char *open = NULL;
  for (uint32_t k = 0; k < call->nresults; k++) {
    if (roc_pl_conversion(p, call->results[k], to))
      open = roc_pl_is_f32(p, to) ? "S.all32(" : "S.all64(";
  }
  return open;
}

static bool is_logic(const roc_ast_node *node) {
  return node->kind == ROC_AST_BINARY && (node->op == ROC_OP_AND || node->op == ROC_OP_OR);
}

/* `a and b`, `a or b`: converts the operands, not the result, which may be `false`. A choice
 * between two float32 values is a float32, also where a float64 is needed. */
static void print_logic(roc_printer *p, const roc_ast_node *node, roc_ty want) {
  bool is_choice = node->op == ROC_OP_OR && roc_pl_type(p, node->a).maybe_false;
  if (is_choice && roc_pl_is_f32(p, roc_pl_type(p, node))) want = roc_pl_type(p, node);
  const char *meeting = roc_pl_meeting(p, node->b);
  if (meeting) roc_str_printf(&p->text, "(S.agree(\"%s\", ", meeting);
  if (!meeting) roc_pl_put(p, "(");
  roc_pl_as(p, node->a, want);
  if (meeting) roc_pl_put(p, ")");
  roc_pl_put(p, node->op == ROC_OP_AND ? " and " : " or ");
  roc_pl_as(p, node->b, want);
  roc_pl_put(p, ")");
}

/* ---- deeply nested expressions --------------------------------------------------------------- */

/* Marks, by id, the symbols with a value at run time that the expression reads. */
static void mark_read(const roc_printer *p, const roc_ast_node *node, bool *is_read) {
  if (!node) return;
  if (node->kind == ROC_AST_LOCAL_NAME &&
      !roc_pl_is_nothing(roc_fe_sym(p->inst, node->sym)->type)) {
    is_read[node->sym->id] = true;
  }
  mark_read(p, node->a, is_read);
  mark_read(p, node->b, is_read);
  mark_read(p, node->c, is_read);
  for (uint32_t i = 0; i < node->list.count; i++) mark_read(p, node->list.items[i], is_read);
}

/* Names of the locals that the expression reads, between commas. */
void roc_pl_read_names(roc_printer *p, const roc_ast_node *node) {
  const roc_ast_func *ast = p->inst->fn->ast;
  bool *is_read = roc_zalloc(ast->nsymbols + 1), is_first = true;
  if (!is_read) {
    p->text.failed = true;
    return;
  }
  mark_read(p, node, is_read);
  for (uint32_t i = 0; i < ast->nsymbols; i++) {
    if (!is_read[i]) continue;
    if (!is_first) roc_pl_put(p, ", ");
    roc_pl_symbol(p, ast->symbols[i]);
    is_first = false;
  }
  roc_free(is_read);
}

/* Expressions assign nothing, so a function of the values of its locals has the same result. */
static bool stands_alone(const roc_printer *p, const roc_ast_node *node) {
  if (node->kind != ROC_AST_BINARY && node->kind != ROC_AST_UNARY && node->kind != ROC_AST_PAREN &&
      node->kind != ROC_AST_CALL) {
    return false;
  }
  const roc_fe_node_info *info = roc_fe_node(p->inst, node);
  bool has_one = !info->call || info->call->nresults == 1;
  bool is_deep = p->block_depth >= MAX_BLOCK_DEPTH || p->expr_depth >= MAX_EXPR_DEPTH;
  return is_deep && has_one && !info->binding && roc_ty_is_value(info->type);
}

static void print_alone(roc_printer *p, const roc_ast_node *node, roc_ty want) {
  roc_pl_function part = {p->inst, node, want};
  if (!roc_vec_push(&p->functions, part)) p->text.failed = true;
  roc_str_printf(&p->text, "F[%u](", p->functions.count);
  roc_pl_read_names(p, node);
  roc_pl_put(p, ")");
}

/* A constant keeps all its digits until it is used as a float32. */
static bool is_wide_constant(const roc_printer *p, const roc_ast_node *node, roc_ty want) {
  const roc_fe_node_info *info = roc_fe_node(p->inst, node);
  return info->is_const && info->value.type == ROC_VT_F64 && roc_ty_is_float(want) &&
         !roc_pl_is_f32(p, want);
}

static void print_here(roc_printer *p, const roc_ast_node *node, roc_ty want) {
  const roc_ast_node *inner = node;
  if (is_wide_constant(p, node, want)) {
    print_float(p, roc_fe_node(p->inst, node)->value.as.f, want);
    return;
  }
  while (inner->kind == ROC_AST_PAREN) inner = inner->a;
  if (is_logic(inner)) {
    print_logic(p, inner, roc_ty_is_value(want) ? want : roc_pl_type(p, inner));
    return;
  }
  const char *open = roc_pl_conversion(p, roc_pl_type(p, node), want);
  if (open) roc_pl_put(p, open);
  roc_pl_expr(p, node);
  if (open) roc_pl_put(p, ")");
}

void roc_pl_as(roc_printer *p, const roc_ast_node *node, roc_ty want) {
  if (stands_alone(p, node)) {
    print_alone(p, node, want);
    return;
  }
  p->expr_depth++;
  print_here(p, node, want);
  p->expr_depth--;
}

/* ---- operators ------------------------------------------------------------------------------ */

static bool is_comparison(roc_ast_op op) {
  return op >= ROC_OP_EQ && op <= ROC_OP_GE;
}

static void print_infix(roc_printer *p, const roc_ast_node *node, const char *op, roc_ty operands) {
  roc_pl_put(p, "(");
  roc_pl_as(p, node->a, operands);
  roc_str_printf(&p->text, " %s ", op);
  roc_pl_as(p, node->b, operands);
  roc_pl_put(p, ")");
}

static void print_function(roc_printer *p, const roc_ast_node *node, const char *name,
                           roc_ty operands) {
  roc_pl_put(p, name);
  roc_pl_put(p, "(");
  roc_pl_as(p, node->a, operands);
  roc_pl_put(p, ", ");
  roc_pl_as(p, node->b, operands);
  roc_pl_put(p, ")");
}

/* Two floats compare in their common type; an integer with a float compares exactly, as in Lua. */
static void print_comparison(roc_printer *p, const roc_ast_node *node) {
  roc_ty a = roc_pl_type(p, node->a), b = roc_pl_type(p, node->b);
  roc_ty operands =
      roc_ty_is_float(a) && roc_ty_is_float(b) ? roc_ty_join(a, b) : roc_ty_of(ROC_TY_NONE);
  print_infix(p, node, roc_ast_op_text((roc_ast_op)node->op), operands);
}

static void print_arithmetic(roc_printer *p, const roc_ast_node *node) {
  roc_ty operands = roc_fe_operand_type(p->inst, node);
  bool f32 = roc_pl_is_f32(p, operands), unchecked = !p->typed->options->check;
  if (operands.kind == ROC_TY_INT && node->op == ROC_OP_IDIV) {
    print_function(p, node, unchecked ? "S.idiv_unchecked" : "S.idiv", operands);
  } else if (operands.kind == ROC_TY_INT && node->op == ROC_OP_MOD) {
    print_function(p, node, unchecked ? "S.imod_unchecked" : "S.imod", operands);
  } else if (f32 && node->op == ROC_OP_IDIV) {
    print_function(p, node, "S.floordiv32", operands);
  } else if (f32 && node->op == ROC_OP_POW) {
    print_function(p, node, "S.pow32", operands);
  } else {
    if (f32) roc_pl_put(p, "S.f32");
    print_infix(p, node, roc_ast_op_text((roc_ast_op)node->op), operands);
  }
}

static void print_binary(roc_printer *p, const roc_ast_node *node) {
  if (is_logic(node)) {
    print_logic(p, node, roc_pl_type(p, node));
  } else if (is_comparison((roc_ast_op)node->op)) {
    print_comparison(p, node);
  } else {
    print_arithmetic(p, node);
  }
}

static void print_unary(roc_printer *p, const roc_ast_node *node) {
  static const char *const text[] = {
      [ROC_OP_NEG] = "(- ", [ROC_OP_NOT] = "(not ", [ROC_OP_LEN] = "(# ", [ROC_OP_BNOT] = "(~ "};
  roc_pl_put(p, text[node->op]);
  roc_pl_expr(p, node->a);
  roc_pl_put(p, ")");
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* A call with all of its results. */
static void print_all(roc_printer *p, const roc_ast_node *node, const roc_fe_call *call,
                      roc_ty want) {
  const char *open = conversion_of_all(p, call, want);
  if (open) roc_pl_put(p, open);
  roc_pl_expr(p, node);
  if (open) roc_pl_put(p, ")");
}

/* Arguments from the n-th (from 0) on, each as type `want`, or as it is when that is NONE. */
void roc_pl_args(roc_printer *p, const roc_ast_list *list, uint32_t n, roc_ty want) {
  const roc_fe_call *open = roc_pl_open_call(p, list);
  for (uint32_t i = n; i < list->count; i++) {
    if (i > n) roc_pl_put(p, ", ");
    roc_ty t = roc_pl_type(p, list->items[i]);
    if (roc_pl_is_nothing(t) && t.kind != ROC_TY_STRING) {
      roc_pl_put(p, "nil");
    } else if (open && i + 1 == list->count) {
      print_all(p, list->items[i], open, want);
    } else {
      roc_pl_as(p, list->items[i], want);
    }
  }
}

static void print_call_as(roc_printer *p, const char *name, const roc_ast_node *node, roc_ty want) {
  roc_pl_put(p, name);
  roc_pl_put(p, "(");
  roc_pl_args(p, &node->list, 0, want);
  roc_pl_put(p, ")");
}

static void print_error(roc_printer *p, const roc_ast_node *node) {
  const roc_ast_list *list = &node->list;
  roc_pl_put(p, "S.error(");
  if (roc_ast_has_error_level(list)) {
    roc_pl_expr(p, list->items[0]);
  } else {
    roc_pl_args(p, list, 0, roc_ty_of(ROC_TY_NONE));
  }
  roc_pl_put(p, ")");
}

/* roc.atomic.add -> S.intrinsics.atomic.add */
static void print_intrinsic_name(roc_printer *p, const roc_builtin_info *info) {
  roc_str_printf(&p->text, "S.intrinsics.%s(", info->path + strlen("roc."));
}

static void print_block_array(roc_printer *p, const roc_ast_node *node,
                              const roc_builtin_info *info) {
  const roc_ast_node *shape = node->list.items[0];
  const roc_fe_node_info *known = roc_fe_node(p->inst, shape);
  bool is_dynamic = info->cls == ROC_BC_SHARED_ARRAY && known->is_const && known->value.as.i == 0;
  roc_dtype dtype = (roc_dtype)roc_pl_type(p, node).dtype;
  if (info->cls == ROC_BC_PRIVATE_ARRAY) {
    roc_pl_put(p, "S.private(");
  } else if (is_dynamic) {
    roc_pl_put(p, "S.dynamic(");
  } else {
    roc_str_printf(&p->text, "S.shared(\"%u.%u.%s\", ", p->inst->function, node->id,
                   roc_dtype_name(dtype));
  }
  if (!is_dynamic) {
    int64_t extents[ROC_MAX_RANK] = {0};
    uint32_t rank = 0;
    roc_fe_const_shape(p->inst, shape, extents, &rank);
    print_extents(p, extents, rank);
    roc_pl_put(p, ", ");
  }
  roc_str_printf(&p->text, "\"%s\"", roc_dtype_name(dtype));
  if (is_dynamic) {
    roc_pl_put(p, ", ");
    if (node->list.count > 2) {
      roc_pl_expr(p, node->list.items[2]);
    } else {
      roc_pl_put(p, "0");
    }
  }
  if (p->declaring) {
    roc_pl_put(p, ", ");
    quote(&p->text, p->declaring->name.data, p->declaring->name.len);
  }
  roc_pl_put(p, ")");
}

static void print_atomic(roc_printer *p, const roc_ast_node *node, const roc_builtin_info *info) {
  roc_ty element = roc_ty_of_dtype((roc_dtype)roc_pl_type(p, node->list.items[0]).dtype);
  print_intrinsic_name(p, info);
  roc_pl_expr(p, node->list.items[0]);
  roc_pl_put(p, ", ");
  roc_pl_expr(p, node->list.items[1]);
  if (node->list.count > 2) roc_pl_put(p, ", ");
  roc_pl_args(p, &node->list, 2, element);
  roc_pl_put(p, ")");
}

/* The text before the arguments of a float function, for each float type. */
static void print_math(roc_printer *p, const roc_ast_node *node, const char *function) {
  roc_ty t = roc_pl_type(p, node);
  roc_str_printf(&p->text, "S.math%s.%s", roc_pl_is_f32(p, t) ? "32" : "", function);
  print_call_as(p, "", node, t);
}

static void print_angle(roc_printer *p, const roc_ast_node *node, bool to_radians) {
  bool f32 = roc_pl_is_f32(p, roc_pl_type(p, node));
  const char *factor = to_radians ? "math.pi / 180.0" : "180.0 / math.pi";
  roc_pl_put(p, f32 ? "S.f32(" : "(");
  roc_pl_as(p, node->list.items[0], roc_pl_type(p, node));
  roc_str_printf(&p->text, f32 ? " * S.f32(%s))" : " * (%s))", factor);
}

static void print_fmod(roc_printer *p, const roc_ast_node *node) {
  roc_ty t = roc_pl_type(p, node);
  if (t.kind != ROC_TY_INT) {
    print_math(p, node, "fmod");
    return;
  }
  print_call_as(p, p->typed->options->check ? "S.fmod" : "S.fmod_unchecked", node, t);
}

static void print_to_integer(roc_printer *p, const roc_ast_node *node, bool up) {
  const roc_ast_node *x = node->list.items[0];
  if (roc_pl_type(p, x).kind == ROC_TY_INT) {
    roc_pl_expr(p, x);
    return;
  }
  roc_pl_put(p, up ? "S.ceil(" : "S.floor(");
  roc_pl_expr(p, x);
  roc_pl_put(p, p->typed->options->check ? ", true)" : ", false)");
}

static void print_log(roc_printer *p, const roc_ast_node *node) {
  roc_ty t = roc_pl_type(p, node);
  if (roc_fe_list_count(p->inst, &node->list) == 1) {
    print_math(p, node, "log");
  } else {
    print_call_as(p, roc_pl_is_f32(p, t) ? "S.log32" : "math.log", node, t);
  }
}

static void print_atan(roc_printer *p, const roc_ast_node *node) {
  print_math(p, node, roc_fe_list_count(p->inst, &node->list) == 2 ? "atan2" : "atan");
}

static void print_wave(roc_printer *p, const roc_ast_node *node, const roc_builtin_info *info) {
  print_intrinsic_name(p, info);
  roc_pl_args(p, &node->list, 0, roc_ty_of(ROC_TY_NONE));
  if (info->cls == ROC_BC_WAVE_REDUCE && roc_pl_is_f32(p, roc_pl_type(p, node)))
    roc_pl_put(p, ", S.f32");
  roc_pl_put(p, ")");
}

static void print_launch_dim(roc_printer *p, const roc_ast_node *node,
                             const roc_builtin_info *info) {
  print_intrinsic_name(p, info);
  if (!p->typed->options->check) roc_pl_put(p, "S.dimension_unchecked(");
  roc_pl_args(p, &node->list, 0, roc_ty_of(ROC_TY_NONE));
  roc_pl_put(p, p->typed->options->check ? ")" : "))");
}

static void print_assert(roc_printer *p, const roc_ast_node *node) {
  if (p->typed->options->check) {
    print_call_as(p, "S.assert", node, roc_ty_of(ROC_TY_NONE));
  } else {
    roc_pl_expr(p, node->list.items[0]);
  }
}

static void print_const_call(roc_printer *p, const roc_ast_node *node) {
  const roc_fe_binding *made = roc_fe_node(p->inst, node)->binding;
  if (made) {
    print_const_array(p, node, made->as.const_array);
  } else {
    roc_pl_expr(p, node->list.items[0]);
  }
}

/* Prints first how many values of the list are not literal text. */
static void print_print(roc_printer *p, const roc_ast_node *node) {
  uint32_t count = roc_fe_list_count(p->inst, &node->list);
  for (uint32_t i = 0; i < node->list.count; i++) {
    const roc_ast_node *arg = node->list.items[i];
    while (arg->kind == ROC_AST_PAREN) arg = arg->a;
    if (arg->kind == ROC_AST_STRING) count--;
  }
  roc_str_printf(&p->text, node->list.count ? "S.print(%u, " : "S.print(%u", count);
  roc_pl_args(p, &node->list, 0, roc_ty_of(ROC_TY_NONE));
  roc_pl_put(p, ")");
}

static void print_builtin(roc_printer *p, const roc_ast_node *node, const roc_builtin_info *info) {
  roc_ty any = roc_ty_of(ROC_TY_NONE), t = roc_pl_type(p, node);
  switch ((roc_builtin_class)info->cls) {
    case ROC_BC_SHARED_ARRAY:
    case ROC_BC_PRIVATE_ARRAY: print_block_array(p, node, info); break;
    case ROC_BC_CONST_ARRAY: print_const_call(p, node); break;
    case ROC_BC_LAUNCH_DIM: print_launch_dim(p, node, info); break;
    case ROC_BC_ATOMIC: print_atomic(p, node, info); break;
    case ROC_BC_NUMBER: print_call_as(p, "math.abs", node, any); break;
    case ROC_BC_MINMAX: print_call_as(p, info->path, node, t); break;
    case ROC_BC_TO_INTEGER: print_to_integer(p, node, info->payload == ROC_IR_CEIL); break;
    case ROC_BC_FMOD: print_fmod(p, node); break;
    case ROC_BC_MODF:
      print_call_as(p, t.kind == ROC_TY_INT ? "math.modf" : "S.modf", node, t);
      break;
    case ROC_BC_ULT: print_call_as(p, "math.ult", node, any); break;
    case ROC_BC_LOG: print_log(p, node); break;
    case ROC_BC_ATAN: print_atan(p, node); break;
    case ROC_BC_ANGLE: print_angle(p, node, info->payload == 1); break;
    case ROC_BC_MATH: print_math(p, node, roc_ir_math_table[info->payload].text); break;
    case ROC_BC_POW: print_call_as(p, roc_pl_is_f32(p, t) ? "S.pow32" : "S.pow", node, t); break;
    case ROC_BC_FCLASS:
    case ROC_BC_BITS:
      print_intrinsic_name(p, info);
      roc_pl_args(p, &node->list, 0, any);
      roc_pl_put(p, ")");
      break;
    case ROC_BC_PRINT: print_print(p, node); break;
    case ROC_BC_ERROR: print_error(p, node); break;
    case ROC_BC_ASSERT: print_assert(p, node); break;
    default: print_wave(p, node, info); break; /* ids, fences, barriers, wave operations */
  }
}

static void print_instance_call(roc_printer *p, const roc_ast_node *node, roc_fe_instance *callee) {
  roc_str_printf(&p->text, "F[%u](", number_of(p, callee));
  for (uint32_t i = 0; i < node->list.count; i++) {
    const roc_ast_node *arg = node->list.items[i];
    if (i) roc_pl_put(p, ", ");
    if (roc_pl_is_nothing(roc_pl_type(p, arg))) {
      roc_pl_put(p, "nil");
    } else {
      roc_pl_as(p, arg, i < callee->fn->ast->nparams ? callee->params[i] : roc_ty_of(ROC_TY_NONE));
    }
  }
  roc_pl_put(p, ")");
}

static void print_call(roc_printer *p, const roc_ast_node *node) {
  const roc_fe_call *call = roc_fe_node(p->inst, node)->call;
  switch (call->kind) {
    case ROC_CALLEE_BUILTIN: print_builtin(p, node, &roc_builtin_table[call->builtin]); break;
    case ROC_CALLEE_FUNCTION: print_instance_call(p, node, call->instance); break;
    case ROC_CALLEE_DTYPE:
      roc_str_printf(&p->text, "S.convert(\"%s\", ", roc_dtype_name(call->dtype));
      roc_pl_as(p, node->list.items[0],
                call->dtype == ROC_DT_FLOAT64 ? roc_pl_type(p, node) : roc_ty_of(ROC_TY_NONE));
      roc_pl_put(p, ")");
      break;
    case ROC_CALLEE_NONE: p->failed = true; break;
  }
}

/* ---- expressions ------------------------------------------------------------------------- */

static void print_kind(roc_printer *p, const roc_ast_node *node) {
  const roc_fe_node_info *info = roc_fe_node(p->inst, node);
  if (info->binding) {
    print_binding(p, node, info->type);
    return;
  }
  switch ((roc_ast_kind)node->kind) {
    case ROC_AST_TRUE: roc_pl_put(p, "true"); break;
    case ROC_AST_FALSE: roc_pl_put(p, "false"); break;
    case ROC_AST_INTEGER:
      print_scalar(p, (roc_scalar){.type = ROC_VT_INT, .as.i = node->as.i}, info->type);
      break;
    case ROC_AST_FLOAT: print_float(p, node->as.f, info->type); break;
    case ROC_AST_STRING: quote(&p->text, node->as.s.data, node->as.s.len); break;
    case ROC_AST_LOCAL_NAME: roc_pl_symbol(p, node->sym); break;
    case ROC_AST_INDEX:
      roc_pl_expr(p, node->a);
      roc_pl_put(p, "[");
      roc_pl_expr(p, node->b);
      roc_pl_put(p, "]");
      break;
    case ROC_AST_TABLE: /* a shape, or the indices of an atomic */
      roc_pl_put(p, "{");
      roc_pl_args(p, &node->list, 0, roc_ty_of(ROC_TY_NONE));
      roc_pl_put(p, "}");
      break;
    case ROC_AST_CALL: print_call(p, node); break;
    case ROC_AST_UNARY: print_unary(p, node); break;
    case ROC_AST_BINARY: print_binary(p, node); break;
    case ROC_AST_PAREN:
      roc_pl_put(p, "(");
      roc_pl_expr(p, node->a);
      roc_pl_put(p, ")");
      break;
    default:
      roc_pl_put(p, "nil");
      break; /* names of functions, dtypes, namespaces: never values in Lua */
  }
}

void roc_pl_expr(roc_printer *p, const roc_ast_node *node) {
  if (stands_alone(p, node)) {
    print_alone(p, node, roc_ty_of(ROC_TY_NONE));
    return;
  }
  p->expr_depth++;
  print_kind(p, node);
  p->expr_depth--;
}

/* ---- functions ----------------------------------------------------------------------------- */

/* Converts the caller's numbers to the types for which the kernel was compiled. */
static void print_entry_conversions(roc_printer *p) {
  const roc_ast_func *ast = p->inst->fn->ast;
  for (uint32_t i = 0; i < ast->nparams; i++) {
    roc_ty t = roc_fe_sym(p->inst, ast->params[i])->type;
    if (!roc_ty_is_number(t)) continue;
    roc_pl_symbol(p, ast->params[i]);
    roc_pl_put(p, t.kind == ROC_TY_INT ? " = " : roc_pl_is_f32(p, t) ? " = S.f32(" : " = S.f64(");
    roc_pl_symbol(p, ast->params[i]);
    roc_pl_put(p, t.kind == ROC_TY_INT ? " | 0; " : "); ");
  }
}

static void print_whole(roc_printer *p, bool is_kernel) {
  const roc_ast_func *ast = p->inst->fn->ast;
  roc_pl_line(p, ast->span.line);
  roc_pl_put(p, "return function(");
  for (uint32_t i = 0; i < ast->nparams; i++) {
    if (i) roc_pl_put(p, ", ");
    roc_pl_symbol(p, ast->params[i]);
  }
  roc_pl_put(p, ") ");
  if (is_kernel) print_entry_conversions(p);
  roc_ast_list body = ast->body;
  bool returns = body.count && body.items[body.count - 1]->kind == ROC_AST_RETURN;
  if (is_kernel && returns) body.count--;
  roc_pl_block(p, &body, NULL);
  if (is_kernel) roc_pl_meet(p, roc_pl_meeting_in(p, &ast->body), "nil");
  roc_pl_line(p, ast->last_line);
  roc_pl_put(p, "end");
}

/* Whether a `return` ends the function before its end; and whether one is on the last line. */
static bool has_return(const roc_ast_func *ast, const roc_ast_list *list, bool is_body,
                       bool *on_last_line) {
  bool found = false;
  for (uint32_t i = 0; i < list->count; i++) {
    const roc_ast_node *stat = list->items[i];
    bool is_early = stat->kind == ROC_AST_RETURN && !(is_body && i + 1 == list->count);
    if (is_early && stat->span.line == ast->last_line) *on_last_line = true;
    found |= is_early;
    found |= has_return(ast, &stat->body, false, on_last_line);
    found |= has_return(ast, &stat->orelse, false, on_last_line);
  }
  return found;
}

/* `last`: on which line an item is that comes to the end of the kernel rather than to a `return`:
 * true, wherever it is; false, when that cannot be told. */
static void print_end(const roc_ast_func *ast, roc_str *out) {
  bool on_last_line = false;
  if (!has_return(ast, &ast->body, true, &on_last_line)) {
    roc_str_puts(out, "last = true, ");
  } else if (on_last_line) {
    roc_str_puts(out, "last = false, ");
  } else {
    roc_str_printf(out, "last = %u, ", ast->last_line);
  }
}

static void print_part(roc_printer *p, const roc_pl_function *part) {
  roc_pl_line(p, part->part->span.line);
  roc_pl_put(p, "return function(");
  roc_pl_read_names(p, part->part);
  roc_pl_put(p, ") return (");
  roc_pl_as(p, part->part, part->want);
  roc_pl_put(p, ") end");
}

static void print_function_entry(roc_printer *p, const roc_pl_function *function, bool is_kernel,
                                 roc_str *out) {
  const roc_fe_instance *inst = function->inst;
  p->inst = function->inst;
  p->line = 1;
  p->block_depth = p->expr_depth = 0;
  roc_str_clear(&p->text);
  roc_pl_put(p, "local S, F, A = ...; ");
  if (function->part) {
    print_part(p, function);
  } else {
    print_whole(p, is_kernel);
  }
  roc_str_puts(out, "  {");
  if (is_kernel) print_end(inst->fn->ast, out);
  roc_str_puts(out, "name = ");
  quote(out, inst->fn->name, strlen(inst->fn->name));
  roc_str_puts(out, ", chunk = ");
  roc_str chunk = ROC_STR_INIT;
  roc_str_printf(&chunk, "=%s", inst->fn->chunk->name);
  quote(out, roc_str_text(&chunk), chunk.len);
  roc_str_deinit(&chunk);
  roc_str_puts(out, ", text = ");
  quote(out, roc_str_text(&p->text), p->text.len);
  roc_str_puts(out, "},\n");
}

roc_status roc_fe_print_lua(const roc_fe_program *program, const roc_fe_arg *args, uint32_t nargs,
                            const roc_fe_options *options, roc_diags *diags, roc_str *out,
                            roc_error *err) {
  roc_fe_typed *typed = NULL;
  ROC_TRY(roc_fe_infer(program, args, nargs, options, diags, &typed, err));
  roc_printer p = {.typed = typed};
  number_of(&p, typed->kernel);
  roc_str_puts(out, "return {\n");
  for (uint32_t i = 0; i < p.functions.count; i++) { /* the loop may append to it */
    roc_pl_function function = p.functions.items[i];
    print_function_entry(&p, &function, i == 0, out);
  }
  roc_str_puts(out, "}\n");
  bool out_of_memory = out->failed || p.text.failed;
  roc_str_deinit(&p.text);
  roc_vec_deinit(&p.functions);
  roc_vec_deinit(&p.meets);
  roc_vec_deinit(&p.frames);
  roc_fe_typed_free(typed);
  if (out_of_memory) return roc_fail(err, ROC_OOM, "out of memory");
  if (p.failed) return roc_fail(err, ROC_INTERNAL, "the typed kernel could not be printed");
  return ROC_OK;
}
