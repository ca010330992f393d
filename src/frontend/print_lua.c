/* The typed kernel printed back as Lua: what `sim` runs.
 *
 * Works on the typed tree, not on the IR, so that it shares nothing with lowering and can judge it.
 * Output is a Lua chunk that returns {{name =, chunk =, text =}, …}, one per instance, the kernel
 * first.  A text is a chunk of its own, called with the support table S, the list of instances F
 * and the arguments A (hidden ones are read from it); it returns the function.  Invariants: every
 * statement is on the line it has in the user's file, so that errors of the Lua VM point there;
 * every float32 operation is rounded by S.f32; every conversion is explicit. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "frontend/builtin.h"
#include "frontend/types.h"

typedef struct printer {
  const roc_fe_typed *typed;
  roc_vec(roc_fe_instance *) instances; /* found so far; the index is the number in F, less one */
  const roc_fe_instance *inst;          /* being printed */
  roc_str text;                         /* of the function being printed */
  uint32_t line;                        /* the output's current line */
  const roc_ast_symbol *declaring;      /* local that the expression initialises: names its array */
  bool failed;
} printer;

static void print_expr(printer *p, const roc_ast_node *node);
static void print_as(printer *p, const roc_ast_node *node, roc_ty want);
static void print_block(printer *p, const roc_ast_list *block);

static void put(printer *p, const char *s) {
  roc_str_puts(&p->text, s);
}

static roc_ty type_of(const printer *p, const roc_ast_node *node) {
  return roc_fe_node(p->inst, node)->type;
}

/* Whether values of the type are rounded to float32. */
static bool is_f32(const printer *p, roc_ty t) {
  return roc_ty_is_value(t) && roc_ty_value_type(t, p->typed->options) == ROC_VT_F32;
}

/* Moves to a source line; text that comes late stays on the line it is on. */
static void go_to_line(printer *p, uint32_t line) {
  for (; p->line < line; p->line++) roc_str_putc(&p->text, '\n');
}

static uint32_t number_of(printer *p, roc_fe_instance *inst) {
  for (uint32_t i = 0; i < p->instances.count; i++) {
    if (p->instances.items[i] == inst) return i + 1;
  }
  if (!roc_vec_push(&p->instances, inst)) p->text.failed = true;
  return p->instances.count;
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
static void print_float(printer *p, double f, roc_ty t) {
  if (is_f32(p, t)) f = (double)(float)f;
  if (isnan(f)) {
    put(p, "(0/0)");
  } else if (isinf(f)) {
    put(p, f < 0 ? "(-1/0)" : "(1/0)");
  } else {
    roc_str_printf(&p->text, signbit(f) ? "(%a)" : "%a", f);
  }
}

static void print_scalar(printer *p, roc_scalar v, roc_ty t) {
  switch (v.type) {
    case ROC_VT_BOOL: put(p, v.as.b ? "true" : "false"); break;
    case ROC_VT_INT:
      if (v.as.i == INT64_MIN) {
        put(p, "math.mininteger");
      } else {
        roc_str_printf(&p->text, v.as.i < 0 ? "(%" PRId64 ")" : "%" PRId64, v.as.i);
      }
      break;
    default: print_float(p, v.as.f, t); break;
  }
}

static void print_symbol(printer *p, const roc_ast_symbol *sym) {
  roc_str_printf(&p->text, "%s_%u", sym->name.data, sym->id);
}

/* Locals of these kinds are known to the compiler alone; in Lua they hold nothing. */
static bool is_nothing(roc_ty t) {
  return roc_ty_is_static(t) && t.kind != ROC_TY_ARRAY && t.kind != ROC_TY_SHAPE;
}

static void print_const_array(printer *p, const roc_ast_node *node, const roc_fe_const_array *a) {
  const char *name = roc_fe_const_name(node);
  size_t nbytes = roc_dtype_itemsize(a->dtype);
  put(p, "S.const_array({");
  for (uint32_t d = 0; d < a->rank; d++) {
    roc_str_printf(&p->text, "%" PRId64 ",", a->extents[d]);
    nbytes *= (size_t)a->extents[d];
  }
  roc_str_printf(&p->text, "},\"%s\",", roc_dtype_name(a->dtype));
  quote(&p->text, a->data, nbytes);
  put(p, ",");
  quote(&p->text, name, strlen(name));
  put(p, ")");
}

static void print_binding(printer *p, const roc_ast_node *node, roc_ty t) {
  const roc_fe_binding *binding = roc_fe_node(p->inst, node)->binding;
  switch (binding->kind) {
    case ROC_BIND_CONSTANT: print_scalar(p, binding->as.scalar, t); break;
    case ROC_BIND_HIDDEN:
      roc_str_printf(&p->text, is_f32(p, t) ? "S.f32(A[%u])" : "A[%u]", binding->as.arg + 1);
      break;
    case ROC_BIND_ARRAY: roc_str_printf(&p->text, "A[%u]", binding->as.arg + 1); break;
    case ROC_BIND_CONST_ARRAY: print_const_array(p, node, binding->as.const_array); break;
    default: put(p, "nil"); break;
  }
}

/* ---- conversions ---------------------------------------------------------------------------- */

/* Opens and closes what turns a value of type `from` into one of type `to`. */
static const char *conversion(const printer *p, roc_ty from, roc_ty to) {
  if (!roc_ty_is_value(from) || !roc_ty_is_value(to) || from.kind == ROC_TY_BOOL) return NULL;
  if (to.kind == ROC_TY_INT || to.kind == ROC_TY_BOOL) return NULL;
  if (is_f32(p, to)) return is_f32(p, from) ? NULL : "S.f32(";
  return from.kind == ROC_TY_INT ? "S.f64(" : NULL;
}

/* The call whose several results end the list, or NULL. */
static const roc_fe_call *open_call(const printer *p, const roc_ast_list *list) {
  const roc_ast_node *last = list->count ? list->items[list->count - 1] : NULL;
  const roc_fe_call *call =
      last && last->kind == ROC_AST_CALL ? roc_fe_node(p->inst, last)->call : NULL;
  return call && call->nresults > 1 ? call : NULL;
}

/* Opens what turns all results of a call into values of type `to`; NULL: they are. */
static const char *conversion_of_all(const printer *p, const roc_fe_call *call, roc_ty to) {
  const char *open = NULL;
  for (uint32_t k = 0; k < call->nresults; k++) {
    if (conversion(p, call->results[k], to)) open = is_f32(p, to) ? "S.all32(" : "S.all64(";
  }
  return open;
}

static bool is_logic(const roc_ast_node *node) {
  return node->kind == ROC_AST_BINARY && (node->op == ROC_OP_AND || node->op == ROC_OP_OR);
}

/* `a and b`, `a or b`: converts the operands, not the result, which may be `false`.  A choice between
 * two float32 values is one, also where a float64 is wanted. */
static void print_logic(printer *p, const roc_ast_node *node, roc_ty want) {
  bool is_choice = node->op == ROC_OP_OR && type_of(p, node->a).maybe_false;
  if (is_choice && is_f32(p, type_of(p, node))) want = type_of(p, node);
  put(p, "(");
  print_as(p, node->a, want);
  put(p, node->op == ROC_OP_AND ? " and " : " or ");
  print_as(p, node->b, want);
  put(p, ")");
}

/* A constant keeps all its digits until it is used as a float32. */
static bool is_wide_constant(const printer *p, const roc_ast_node *node, roc_ty want) {
  const roc_fe_node_info *info = roc_fe_node(p->inst, node);
  return info->is_const && info->value.type == ROC_VT_F64 && roc_ty_is_float(want) &&
         !is_f32(p, want);
}

static void print_as(printer *p, const roc_ast_node *node, roc_ty want) {
  const roc_ast_node *inner = node;
  if (is_wide_constant(p, node, want)) {
    print_float(p, roc_fe_node(p->inst, node)->value.as.f, want);
    return;
  }
  while (inner->kind == ROC_AST_PAREN) inner = inner->a;
  if (is_logic(inner)) {
    print_logic(p, inner, roc_ty_is_value(want) ? want : type_of(p, inner));
    return;
  }
  const char *open = conversion(p, type_of(p, node), want);
  if (open) put(p, open);
  print_expr(p, node);
  if (open) put(p, ")");
}

/* ---- operators ------------------------------------------------------------------------------ */

static bool is_comparison(roc_ast_op op) {
  return op >= ROC_OP_EQ && op <= ROC_OP_GE;
}

static void print_infix(printer *p, const roc_ast_node *node, const char *op, roc_ty operands) {
  put(p, "(");
  print_as(p, node->a, operands);
  roc_str_printf(&p->text, " %s ", op);
  print_as(p, node->b, operands);
  put(p, ")");
}

static void print_function(printer *p, const roc_ast_node *node, const char *name,
                           roc_ty operands) {
  put(p, name);
  put(p, "(");
  print_as(p, node->a, operands);
  put(p, ", ");
  print_as(p, node->b, operands);
  put(p, ")");
}

/* Two floats compare in their common type; an integer with a float compares exactly, as in Lua. */
static void print_comparison(printer *p, const roc_ast_node *node) {
  roc_ty a = type_of(p, node->a), b = type_of(p, node->b);
  roc_ty operands =
      roc_ty_is_float(a) && roc_ty_is_float(b) ? roc_ty_join(a, b) : roc_ty_of(ROC_TY_NONE);
  print_infix(p, node, roc_ast_op_text((roc_ast_op)node->op), operands);
}

static void print_arithmetic(printer *p, const roc_ast_node *node) {
  roc_ty operands = roc_fe_operand_type(p->inst, node);
  bool f32 = is_f32(p, operands), unchecked = !p->typed->options->check;
  if (operands.kind == ROC_TY_INT && node->op == ROC_OP_IDIV) {
    print_function(p, node, unchecked ? "S.idiv_unchecked" : "S.idiv", operands);
  } else if (operands.kind == ROC_TY_INT && node->op == ROC_OP_MOD) {
    print_function(p, node, unchecked ? "S.imod_unchecked" : "S.imod", operands);
  } else if (f32 && node->op == ROC_OP_IDIV) {
    print_function(p, node, "S.floordiv32", operands);
  } else if (f32 && node->op == ROC_OP_POW) {
    print_function(p, node, "S.pow32", operands);
  } else {
    if (f32) put(p, "S.f32");
    print_infix(p, node, roc_ast_op_text((roc_ast_op)node->op), operands);
  }
}

static void print_binary(printer *p, const roc_ast_node *node) {
  if (is_logic(node)) {
    print_logic(p, node, type_of(p, node));
  } else if (is_comparison((roc_ast_op)node->op)) {
    print_comparison(p, node);
  } else {
    print_arithmetic(p, node);
  }
}

static void print_unary(printer *p, const roc_ast_node *node) {
  static const char *const text[] = {
      [ROC_OP_NEG] = "(- ", [ROC_OP_NOT] = "(not ", [ROC_OP_LEN] = "(# ", [ROC_OP_BNOT] = "(~ "};
  put(p, text[node->op]);
  print_expr(p, node->a);
  put(p, ")");
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* A call with all of its results. */
static void print_all(printer *p, const roc_ast_node *node, const roc_fe_call *call, roc_ty want) {
  const char *open = conversion_of_all(p, call, want);
  if (open) put(p, open);
  print_expr(p, node);
  if (open) put(p, ")");
}

/* Arguments from the n-th (from 0) on, each as type `want`, or as it is when that is NONE. */
static void print_args(printer *p, const roc_ast_list *list, uint32_t n, roc_ty want) {
  const roc_fe_call *open = open_call(p, list);
  for (uint32_t i = n; i < list->count; i++) {
    if (i > n) put(p, ", ");
    roc_ty t = type_of(p, list->items[i]);
    if (is_nothing(t) && t.kind != ROC_TY_STRING) {
      put(p, "nil");
    } else if (open && i + 1 == list->count) {
      print_all(p, list->items[i], open, want);
    } else {
      print_as(p, list->items[i], want);
    }
  }
}

static void print_call_as(printer *p, const char *name, const roc_ast_node *node, roc_ty want) {
  put(p, name);
  put(p, "(");
  print_args(p, &node->list, 0, want);
  put(p, ")");
}

/* Lua's level of error("text", level) says where to blame; it is no part of the message. */
static void print_error(printer *p, const roc_ast_node *node) {
  const roc_ast_list *list = &node->list;
  bool has_level = list->count == 2 && type_of(p, list->items[0]).kind == ROC_TY_STRING &&
                   type_of(p, list->items[1]).kind == ROC_TY_INT &&
                   roc_fe_node(p->inst, list->items[1])->is_const;
  put(p, "S.error(");
  if (has_level) {
    print_expr(p, list->items[0]);
  } else {
    print_args(p, list, 0, roc_ty_of(ROC_TY_NONE));
  }
  put(p, ")");
}

/* roc.atomic.add -> S.intrinsics.atomic.add */
static void print_intrinsic_name(printer *p, const roc_builtin_info *info) {
  roc_str_printf(&p->text, "S.intrinsics.%s(", info->path + strlen("roc."));
}

static void print_block_array(printer *p, const roc_ast_node *node, const roc_builtin_info *info) {
  const roc_ast_node *shape = node->list.items[0];
  const roc_fe_node_info *known = roc_fe_node(p->inst, shape);
  bool is_dynamic = info->cls == ROC_BC_SHARED_ARRAY && known->is_const && known->value.as.i == 0;
  roc_dtype dtype = (roc_dtype)type_of(p, node).dtype;
  if (info->cls == ROC_BC_PRIVATE_ARRAY) {
    put(p, "S.private(");
  } else if (is_dynamic) {
    put(p, "S.dynamic(");
  } else {
    roc_str_printf(&p->text, "S.shared(\"%u.%u.%s\", ", p->inst->function, node->id,
                   roc_dtype_name(dtype));
  }
  if (!is_dynamic) {
    print_expr(p, shape);
    put(p, ", ");
  }
  roc_str_printf(&p->text, "\"%s\"", roc_dtype_name(dtype));
  if (is_dynamic) {
    put(p, ", ");
    if (node->list.count > 2) {
      print_expr(p, node->list.items[2]);
    } else {
      put(p, "0");
    }
  }
  if (p->declaring) {
    put(p, ", ");
    quote(&p->text, p->declaring->name.data, p->declaring->name.len);
  }
  put(p, ")");
}

static void print_atomic(printer *p, const roc_ast_node *node, const roc_builtin_info *info) {
  roc_ty element = roc_ty_of_dtype((roc_dtype)type_of(p, node->list.items[0]).dtype);
  print_intrinsic_name(p, info);
  print_expr(p, node->list.items[0]);
  put(p, ", ");
  print_expr(p, node->list.items[1]);
  if (node->list.count > 2) put(p, ", ");
  print_args(p, &node->list, 2, element);
  put(p, ")");
}

/* What to write before the arguments of a float function, per float type. */
static void print_math(printer *p, const roc_ast_node *node, const char *function) {
  roc_ty t = type_of(p, node);
  roc_str_printf(&p->text, "S.math%s.%s", is_f32(p, t) ? "32" : "", function);
  print_call_as(p, "", node, t);
}

static void print_angle(printer *p, const roc_ast_node *node, bool to_radians) {
  bool f32 = is_f32(p, type_of(p, node));
  const char *factor = to_radians ? "math.pi / 180.0" : "180.0 / math.pi";
  put(p, f32 ? "S.f32(" : "(");
  print_as(p, node->list.items[0], type_of(p, node));
  roc_str_printf(&p->text, f32 ? " * S.f32(%s))" : " * (%s))", factor);
}

static void print_fmod(printer *p, const roc_ast_node *node) {
  roc_ty t = type_of(p, node);
  if (t.kind != ROC_TY_INT) {
    print_math(p, node, "fmod");
    return;
  }
  print_call_as(p, p->typed->options->check ? "S.fmod" : "S.fmod_unchecked", node, t);
}

static void print_to_integer(printer *p, const roc_ast_node *node, bool up) {
  const roc_ast_node *x = node->list.items[0];
  if (type_of(p, x).kind == ROC_TY_INT) {
    print_expr(p, x);
    return;
  }
  put(p, up ? "S.ceil(" : "S.floor(");
  print_expr(p, x);
  put(p, p->typed->options->check ? ", true)" : ", false)");
}

static void print_log(printer *p, const roc_ast_node *node) {
  roc_ty t = type_of(p, node);
  if (roc_fe_list_count(p->inst, &node->list) == 1) {
    print_math(p, node, "log");
  } else {
    print_call_as(p, is_f32(p, t) ? "S.log32" : "math.log", node, t);
  }
}

static void print_atan(printer *p, const roc_ast_node *node) {
  print_math(p, node, roc_fe_list_count(p->inst, &node->list) == 2 ? "atan2" : "atan");
}

static void print_wave(printer *p, const roc_ast_node *node, const roc_builtin_info *info) {
  print_intrinsic_name(p, info);
  print_args(p, &node->list, 0, roc_ty_of(ROC_TY_NONE));
  if (info->cls == ROC_BC_WAVE_REDUCE && is_f32(p, type_of(p, node))) put(p, ", S.f32");
  put(p, ")");
}

static void print_launch_dim(printer *p, const roc_ast_node *node, const roc_builtin_info *info) {
  print_intrinsic_name(p, info);
  if (!p->typed->options->check) put(p, "S.dimension_unchecked(");
  print_args(p, &node->list, 0, roc_ty_of(ROC_TY_NONE));
  put(p, p->typed->options->check ? ")" : "))");
}

static void print_assert(printer *p, const roc_ast_node *node) {
  if (p->typed->options->check) {
    print_call_as(p, "S.assert", node, roc_ty_of(ROC_TY_NONE));
  } else {
    print_expr(p, node->list.items[0]);
  }
}

static void print_const_call(printer *p, const roc_ast_node *node) {
  const roc_fe_binding *made = roc_fe_node(p->inst, node)->binding;
  if (made) {
    print_const_array(p, node, made->as.const_array);
  } else {
    print_expr(p, node->list.items[0]);
  }
}

static void print_builtin(printer *p, const roc_ast_node *node, const roc_builtin_info *info) {
  roc_ty any = roc_ty_of(ROC_TY_NONE), t = type_of(p, node);
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
    case ROC_BC_POW: print_call_as(p, is_f32(p, t) ? "S.pow32" : "S.pow", node, t); break;
    case ROC_BC_FCLASS:
    case ROC_BC_BITS:
      print_intrinsic_name(p, info);
      print_args(p, &node->list, 0, any);
      put(p, ")");
      break;
    case ROC_BC_PRINT: print_call_as(p, "S.print", node, any); break;
    case ROC_BC_ERROR: print_error(p, node); break;
    case ROC_BC_ASSERT: print_assert(p, node); break;
    default: print_wave(p, node, info); break; /* ids, fences, barriers, wave operations */
  }
}

static void print_instance_call(printer *p, const roc_ast_node *node, roc_fe_instance *callee) {
  roc_str_printf(&p->text, "F[%u](", number_of(p, callee));
  for (uint32_t i = 0; i < node->list.count; i++) {
    const roc_ast_node *arg = node->list.items[i];
    if (i) put(p, ", ");
    if (is_nothing(type_of(p, arg))) {
      put(p, "nil");
    } else {
      print_as(p, arg, i < callee->fn->ast->nparams ? callee->params[i] : roc_ty_of(ROC_TY_NONE));
    }
  }
  put(p, ")");
}

static void print_call(printer *p, const roc_ast_node *node) {
  const roc_fe_call *call = roc_fe_node(p->inst, node)->call;
  switch (call->kind) {
    case ROC_CALLEE_BUILTIN: print_builtin(p, node, &roc_builtin_table[call->builtin]); break;
    case ROC_CALLEE_FUNCTION: print_instance_call(p, node, call->instance); break;
    case ROC_CALLEE_DTYPE:
      roc_str_printf(&p->text, "S.convert(\"%s\", ", roc_dtype_name(call->dtype));
      print_as(p, node->list.items[0],
               call->dtype == ROC_DT_FLOAT64 ? type_of(p, node) : roc_ty_of(ROC_TY_NONE));
      put(p, ")");
      break;
    case ROC_CALLEE_NONE: p->failed = true; break;
  }
}

/* ---- expressions ------------------------------------------------------------------------- */

static void print_expr(printer *p, const roc_ast_node *node) {
  const roc_fe_node_info *info = roc_fe_node(p->inst, node);
  if (info->binding) {
    print_binding(p, node, info->type);
    return;
  }
  switch ((roc_ast_kind)node->kind) {
    case ROC_AST_TRUE: put(p, "true"); break;
    case ROC_AST_FALSE: put(p, "false"); break;
    case ROC_AST_INTEGER:
      print_scalar(p, (roc_scalar){.type = ROC_VT_INT, .as.i = node->as.i}, info->type);
      break;
    case ROC_AST_FLOAT: print_float(p, node->as.f, info->type); break;
    case ROC_AST_STRING: quote(&p->text, node->as.s.data, node->as.s.len); break;
    case ROC_AST_LOCAL_NAME: print_symbol(p, node->sym); break;
    case ROC_AST_INDEX:
      print_expr(p, node->a);
      put(p, "[");
      print_expr(p, node->b);
      put(p, "]");
      break;
    case ROC_AST_TABLE: /* a shape, or the indices of an atomic */
      put(p, "{");
      print_args(p, &node->list, 0, roc_ty_of(ROC_TY_NONE));
      put(p, "}");
      break;
    case ROC_AST_CALL: print_call(p, node); break;
    case ROC_AST_UNARY: print_unary(p, node); break;
    case ROC_AST_BINARY: print_binary(p, node); break;
    case ROC_AST_PAREN:
      put(p, "(");
      print_expr(p, node->a);
      put(p, ")");
      break;
    default: put(p, "nil"); break; /* names of functions, dtypes, namespaces: never values in Lua */
  }
}

/* The k-th of a list of values, as `want`. */
static void print_value(printer *p, const roc_ast_node *node, roc_ty want) {
  if (is_nothing(type_of(p, node))) {
    put(p, "nil");
  } else {
    print_as(p, node, want);
  }
}

/* ---- statements -------------------------------------------------------------------------- */

/* Of targets that take more than one result of the call at the end of the list, the first; the
 * number of targets when there are none. */
static uint32_t first_of_several(const printer *p, const roc_ast_list *targets,
                                 const roc_ast_list *values) {
  bool has_several = targets->count > values->count && open_call(p, values);
  return has_several ? values->count - 1 : targets->count;
}

/* Several results of a call are converted behind the statement. */
static void fix_up(printer *p, const roc_ast_list *targets, const roc_ast_list *values) {
  for (uint32_t i = first_of_several(p, targets, values); i < targets->count; i++) {
    const roc_ast_node *target = targets->items[i];
    if (target->kind != ROC_AST_LOCAL_NAME) continue;
    const char *open =
        conversion(p, roc_fe_list_type(p->inst, values, i), roc_fe_sym(p->inst, target->sym)->type);
    if (!open) continue;
    put(p, " ");
    print_symbol(p, target->sym);
    roc_str_printf(&p->text, " = %s", open);
    print_symbol(p, target->sym);
    put(p, ");");
  }
}

static roc_ty target_type(const printer *p, const roc_ast_node *target) {
  if (target->kind == ROC_AST_LOCAL_NAME) return roc_fe_sym(p->inst, target->sym)->type;
  return roc_ty_of(ROC_TY_NONE); /* an element: the store converts */
}

static void print_values(printer *p, const roc_ast_list *targets, const roc_ast_list *values) {
  uint32_t nconverted = first_of_several(p, targets, values);
  for (uint32_t i = 0; i < values->count; i++) {
    if (i) put(p, ", ");
    const roc_ast_node *target = i < targets->count ? targets->items[i] : NULL;
    p->declaring = target && target->kind == ROC_AST_LOCAL_NAME ? target->sym : NULL;
    roc_ty want = target && i < nconverted ? target_type(p, target) : roc_ty_of(ROC_TY_NONE);
    print_value(p, values->items[i], want);
    p->declaring = NULL;
  }
}

static void print_local(printer *p, const roc_ast_node *stat) {
  put(p, "local ");
  for (uint32_t i = 0; i < stat->list.count; i++) {
    if (i) put(p, ", ");
    print_symbol(p, stat->list.items[i]->sym);
  }
  if (stat->values.count) {
    put(p, " = ");
    print_values(p, &stat->list, &stat->values);
  }
  put(p, ";");
  fix_up(p, &stat->list, &stat->values);
}

static void print_assign(printer *p, const roc_ast_node *stat) {
  for (uint32_t i = 0; i < stat->list.count; i++) {
    if (i) put(p, ", ");
    print_expr(p, stat->list.items[i]);
  }
  put(p, " = ");
  print_values(p, &stat->list, &stat->values);
  put(p, ";");
  fix_up(p, &stat->list, &stat->values);
}

static void print_if(printer *p, const roc_ast_node *stat) {
  put(p, "if ");
  print_expr(p, stat->a);
  put(p, " then ");
  print_block(p, &stat->body);
  if (stat->orelse.count) {
    put(p, "else ");
    print_block(p, &stat->orelse);
  }
  put(p, "end;");
}

/* A float32 loop counts in float32; Lua's own would count in doubles. */
static void print_for(printer *p, const roc_ast_node *stat) {
  roc_ty t = roc_fe_sym(p->inst, stat->sym)->type;
  bool f32 = is_f32(p, t);
  roc_ty limit = t.kind == ROC_TY_INT ? roc_ty_of(ROC_TY_NONE) : t;
  put(p, "for ");
  print_symbol(p, stat->sym);
  put(p, f32 ? " in S.range32(" : " = ");
  print_as(p, stat->a, t);
  put(p, ", ");
  print_as(p, stat->b, limit);
  if (stat->c) {
    put(p, ", ");
    print_as(p, stat->c, t);
  } else if (f32) {
    put(p, ", 1.0");
  }
  put(p, f32 ? ") do " : " do ");
  print_block(p, &stat->body);
  put(p, "end;");
}

/* The k-th result of the function as its callers expect it. */
static roc_ty result_type(const printer *p, uint32_t k) {
  return k < p->inst->nresults ? p->inst->results[k] : roc_ty_of(ROC_TY_NONE);
}

/* Through locals, as the results of a call in the list each need a conversion of their own. */
static void print_return_of_several(printer *p, const roc_ast_node *stat) {
  put(p, "do local ");
  for (uint32_t i = 0; i < p->inst->nresults; i++) roc_str_printf(&p->text, i ? ", R%u" : "R%u", i);
  put(p, " = ");
  print_args(p, &stat->values, 0, roc_ty_of(ROC_TY_NONE));
  put(p, "; return ");
  for (uint32_t i = 0; i < p->inst->nresults; i++) {
    const char *open =
        conversion(p, roc_fe_list_type(p->inst, &stat->values, i), result_type(p, i));
    roc_str_printf(&p->text, open ? "%s%sR%u)" : "%s%sR%u", i ? ", " : "", open ? open : "", i);
  }
  put(p, " end;");
}

/* One value stands in parentheses: a tail call would take the function's line from its errors. */
static void print_return(printer *p, const roc_ast_node *stat) {
  bool single = stat->values.count == 1 && p->inst->nresults == 1;
  if (p->inst->nresults > 0 && open_call(p, &stat->values)) {
    print_return_of_several(p, stat);
    return;
  }
  put(p, single ? "do return (" : "do return ");
  for (uint32_t i = 0; i < stat->values.count; i++) {
    if (i) put(p, ", ");
    print_value(p, stat->values.items[i], result_type(p, i));
  }
  put(p, single ? ") end;" : " end;");
}

static void print_statement(printer *p, const roc_ast_node *stat) {
  go_to_line(p, stat->span.line);
  switch ((roc_ast_kind)stat->kind) {
    case ROC_AST_LOCAL: print_local(p, stat); break;
    case ROC_AST_ASSIGN: print_assign(p, stat); break;
    case ROC_AST_CALL_STAT:
      put(p, "do local _ = ");
      print_expr(p, stat->a);
      put(p, " end;");
      break;
    case ROC_AST_DO:
      put(p, "do ");
      print_block(p, &stat->body);
      put(p, "end;");
      break;
    case ROC_AST_WHILE:
      put(p, "while ");
      print_expr(p, stat->a);
      put(p, " do ");
      print_block(p, &stat->body);
      put(p, "end;");
      break;
    case ROC_AST_REPEAT:
      put(p, "repeat ");
      print_block(p, &stat->body);
      go_to_line(p, stat->a->span.line);
      put(p, "until ");
      print_expr(p, stat->a);
      put(p, ";");
      break;
    case ROC_AST_IF: print_if(p, stat); break;
    case ROC_AST_FOR_NUM: print_for(p, stat); break;
    case ROC_AST_RETURN: print_return(p, stat); break;
    case ROC_AST_BREAK: put(p, "break;"); break;
    case ROC_AST_GOTO: roc_str_printf(&p->text, "goto %s;", stat->as.s.data); break;
    case ROC_AST_LABEL: roc_str_printf(&p->text, "::%s::", stat->as.s.data); break;
    default: p->failed = true; break; /* refused by inference */
  }
  put(p, " ");
}

static void print_block(printer *p, const roc_ast_list *block) {
  for (uint32_t i = 0; i < block->count; i++) print_statement(p, block->items[i]);
}

/* ---- functions
 * ----------------------------------------------------------------------------------- */

/* Numbers arrive as the caller wrote them: make them what the kernel was compiled for. */
static void print_entry_conversions(printer *p) {
  const roc_ast_func *ast = p->inst->fn->ast;
  for (uint32_t i = 0; i < ast->nparams; i++) {
    roc_ty t = roc_fe_sym(p->inst, ast->params[i])->type;
    if (!roc_ty_is_number(t)) continue;
    print_symbol(p, ast->params[i]);
    put(p, t.kind == ROC_TY_INT ? " = " : is_f32(p, t) ? " = S.f32(" : " = S.f64(");
    print_symbol(p, ast->params[i]);
    put(p, t.kind == ROC_TY_INT ? " | 0; " : "); ");
  }
}

static void print_instance(printer *p, roc_fe_instance *inst, bool is_kernel, roc_str *out) {
  const roc_ast_func *ast = inst->fn->ast;
  p->inst = inst;
  p->line = 1;
  roc_str_clear(&p->text);
  put(p, "local S, F, A = ...; ");
  go_to_line(p, ast->span.line);
  put(p, "return function(");
  for (uint32_t i = 0; i < ast->nparams; i++) {
    if (i) put(p, ", ");
    print_symbol(p, ast->params[i]);
  }
  put(p, ") ");
  if (is_kernel) print_entry_conversions(p);
  print_block(p, &ast->body);
  go_to_line(p, ast->last_line);
  put(p, "end");

  roc_str_puts(out, "  {name = ");
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
  printer p = {.typed = typed};
  number_of(&p, typed->kernel);
  roc_str_puts(out, "return {\n");
  for (uint32_t i = 0; i < p.instances.count; i++) { /* grows while it runs */
    print_instance(&p, p.instances.items[i], i == 0, out);
  }
  roc_str_puts(out, "}\n");
  bool out_of_memory = out->failed || p.text.failed;
  roc_str_deinit(&p.text);
  roc_vec_deinit(&p.instances);
  roc_fe_typed_free(typed);
  if (out_of_memory) return roc_fail(err, ROC_OOM, "out of memory");
  if (p.failed) return roc_fail(err, ROC_INTERNAL, "the typed kernel could not be printed");
  return ROC_OK;
}
