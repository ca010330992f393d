/* Typing of free names and of indexing: what a path is bound to, elements, rows, properties.
 *
 * A chain of constant keys that starts at a free name (or at a local that holds a namespace) is
 * looked up among the caller's bindings; the keys after the bound part are ordinary indexing. */
#include "frontend/types/infer.h"

#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "frontend/types/builtin.h"

enum { MAX_CHAIN = 32 };

/* The nodes of a chain: nodes[0] is the root, nodes[k] the INDEX by keys[k - 1]. */
typedef struct chain {
  const roc_ast_node *root;
  const roc_ast_node *nodes[MAX_CHAIN + 1];
  roc_fe_field keys[MAX_CHAIN];
  uint32_t count; /* keys */
  uint32_t own;   /* keys from a local's initialiser: they have no node here */
} chain;

static bool is_constant_key(const roc_ast_node *key) {
  return key->kind == ROC_AST_STRING || key->kind == ROC_AST_INTEGER;
}

static roc_fe_field make_field(const roc_ast_node *key) {
  if (key->kind == ROC_AST_INTEGER) return (roc_fe_field){.integer = key->as.i};
  return (roc_fe_field){.name = key->as.s.data, .len = key->as.s.len};
}

/* Follows the chain down to a free name; false when it starts anywhere else. */
static bool gather(const roc_infer *inf, const roc_ast_node *node, chain *out, bool is_own) {
  while (node->kind == ROC_AST_PAREN) node = node->a;
  if (node->kind == ROC_AST_FREE_NAME) {
    out->root = node;
    out->nodes[0] = node;
  } else if (node->kind == ROC_AST_LOCAL_NAME) {
    const roc_ast_node *value = roc_ast_initializer(node->sym);
    if (!value || roc_fe_sym(inf->inst, node->sym)->type.kind != ROC_TY_NAMESPACE) return false;
    if (!gather(inf, value, out, true)) return false;
    out->own = out->count;
  } else if (node->kind == ROC_AST_INDEX && is_constant_key(node->b)) {
    if (!gather(inf, node->a, out, is_own) || out->count == MAX_CHAIN) return false;
    out->keys[out->count++] = make_field(node->b);
  } else {
    return false;
  }
  if (!is_own) out->nodes[out->count] = node;
  return true;
}

static bool same_field(const roc_fe_field *a, const roc_fe_field *b) {
  if (!a->name || !b->name) return !a->name && !b->name && a->integer == b->integer;
  return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static bool has_root(const roc_fe_path *path, const chain *c) {
  return path->root_len == c->root->as.s.len && path->is_global == c->root->is_global &&
         memcmp(path->root, c->root->as.s.data, path->root_len) == 0;
}

/* The length of the common prefix of path and chain. */
static uint32_t count_same(const roc_fe_path *path, const chain *c) {
  uint32_t same = 0;
  while (same < path->nfields && same < c->count &&
         same_field(&path->fields[same], &c->keys[same])) {
    same++;
  }
  return same;
}

/* The path equal to the chain.  Paths are in the order of their first use, so the search begins
 * after the one found last.  False when there is none. */
static bool find_path(roc_infer *inf, const chain *c, uint32_t *out) {
  const roc_fe_paths *paths = &inf->inst->fn->paths;
  for (uint32_t n = 0; n < paths->count; n++) {
    uint32_t at = (inf->next_path + n) % paths->count;
    const roc_fe_path *path = &paths->items[at];
    if (path->nfields != c->count || !has_root(path, c) || count_same(path, c) != c->count) {
      continue;
    }
    *out = at;
    inf->next_path = at + 1;
    return true;
  }
  return false;
}

/* The binding of the chain, or of its longest bound prefix; NULL when only a longer path is
 * bound. */
static const roc_fe_binding *find_binding(roc_infer *inf, const chain *c) {
  const roc_fe_function *fn = inf->inst->fn;
  const roc_fe_binding *best = NULL;
  uint32_t found;
  if (find_path(inf, c, &found)) return &fn->bindings[found];
  for (uint32_t i = 0; i < fn->paths.count; i++) {
    const roc_fe_binding *binding = &fn->bindings[i];
    bool is_bound = binding->kind != ROC_BIND_NAMESPACE && has_root(&fn->paths.items[i], c) &&
                    binding->consumed <= count_same(&fn->paths.items[i], c);
    if (is_bound && (!best || binding->consumed > best->consumed)) best = binding;
  }
  return best;
}

/* ---- types of bindings ------------------------------------------------------------------- */

static void chain_text(const chain *c, uint32_t count, char *buf, size_t nbytes) {
  size_t used = 0;
  const char *dot = "";
  buf[0] = 0;
  for (uint32_t k = 0; k <= count && used + 1 < nbytes; k++) {
    size_t room = nbytes - used;
    int n;
    if (k == 0) {
      n = snprintf(buf, room, "%s", c->root->as.s.data);
    } else if (c->keys[k - 1].name) {
      n = snprintf(buf + used, room, "%s%s", dot, c->keys[k - 1].name);
    } else {
      n = snprintf(buf + used, room, "[%lld]", (long long)c->keys[k - 1].integer);
    }
    if (n < 0) return;
    used += (size_t)n;
    dot = ".";
  }
}

static roc_ty hidden_type(const roc_infer *inf, uint32_t arg) {
  if (arg >= inf->typed->nargs) return roc_ty_of(ROC_TY_ERROR);
  return roc_ty_of_arg(&inf->typed->args[arg]);
}

static roc_ty constant_type(roc_fe_node_info *info, roc_scalar value) {
  info->is_const = true;
  info->value = value;
  return value.type == ROC_VT_F64 ? roc_ty_of(ROC_TY_PLAIN) : roc_ty_of_value_type(value.type);
}

static roc_ty refuse_builtin(roc_infer *inf, const roc_ast_node *node, roc_builtin id) {
  ROC_INFER_REPORT(inf, node->span, ROC_DIAG_REFUSED_FUNCTION, roc_builtin_table[id].path,
                   roc_builtin_table[id].advice);
  return roc_ty_of(ROC_TY_ERROR);
}

/* Reports a path whose value a kernel cannot use. */
static roc_ty refuse_binding(roc_infer *inf, const roc_ast_node *node,
                             const roc_fe_binding *binding, const chain *c) {
  char text[160], more[240];
  roc_builtin id;
  chain_text(c, c->count, text, sizeof text);
  bool is_known = roc_fe_builtin_from_name(text, strlen(text), &id);
  if (is_known && roc_builtin_table[id].cls == ROC_BC_REFUSED) return refuse_builtin(inf, node, id);
  if (binding && binding->kind == ROC_BIND_OTHER) {
    const char *what = binding->as.type_name ? binding->as.type_name : "unknown value";
    const char *advice = roc_foreign_advice(ROC_FOREIGN_HOST, text, strlen(text));
    if (strcmp(what, "string") == 0) return roc_ty_of(ROC_TY_STRING);
    if (strcmp(what, "function of the host") == 0) {
      ROC_INFER_REPORT(
          inf, node->span, ROC_DIAG_HOST_FUNCTION, text,
          advice ? advice : "call it before the launch and pass what it gives as an argument");
    } else {
      ROC_INFER_REPORT(inf, node->span, ROC_DIAG_CAPTURE, text, what);
    }
  } else {
    bool is_root_known = binding && binding->consumed > 0;
    ROC_INFER_REPORT(inf, node->span, ROC_DIAG_UNDEFINED, text,
                     roc_infer_suggest_name(inf, text, is_root_known, more, sizeof more));
  }
  return roc_ty_of(ROC_TY_ERROR);
}

static roc_ty binding_type(roc_infer *inf, const roc_ast_node *node, const roc_fe_binding *b,
                           const chain *c) {
  roc_fe_node_info *info = roc_infer_info(inf, node);
  info->binding = b;
  switch (b->kind) {
    case ROC_BIND_CONSTANT: return constant_type(info, b->as.scalar);
    case ROC_BIND_HIDDEN:
    case ROC_BIND_ARRAY: return hidden_type(inf, b->as.arg);
    case ROC_BIND_BUILTIN:
      if (roc_builtin_table[b->as.builtin].cls == ROC_BC_REFUSED) {
        return refuse_builtin(inf, node, (roc_builtin)b->as.builtin);
      }
      return (roc_ty){.kind = ROC_TY_BUILTIN, .id = b->as.builtin};
    case ROC_BIND_DTYPE: return (roc_ty){.kind = ROC_TY_DTYPE, .dtype = (uint8_t)b->as.dtype};
    case ROC_BIND_CONST_ARRAY:
      return (roc_ty){.kind = ROC_TY_ARRAY,
                      .dtype = (uint8_t)b->as.const_array->dtype,
                      .rank = (uint8_t)b->as.const_array->rank,
                      .space = ROC_IR_ARRAY_CONST};
    case ROC_BIND_FUNCTION: return (roc_ty){.kind = ROC_TY_FUNCTION, .id = b->as.function};
    case ROC_BIND_NAMESPACE: return roc_ty_of(ROC_TY_NAMESPACE);
    case ROC_BIND_STRING: return roc_ty_of_text(b->as.text, strlen(b->as.text));
    default: return refuse_binding(inf, node, b, c);
  }
}

/* ---- elements, rows, properties ---------------------------------------------------------- */

static roc_ty int_constant(roc_infer *inf, const roc_ast_node *node, int64_t value) {
  roc_fe_node_info *info = roc_infer_info(inf, node);
  info->is_const = true;
  info->value = (roc_scalar){.type = ROC_VT_INT, .as.i = value};
  return roc_ty_of(ROC_TY_INT);
}

static roc_ty property(roc_infer *inf, const roc_ast_node *node, roc_ty base) {
  const char *name = node->b->as.s.data;
  if (strcmp(name, "shape") == 0) return (roc_ty){.kind = ROC_TY_SHAPE, .rank = base.rank};
  if (strcmp(name, "size") == 0) return roc_ty_of(ROC_TY_INT);
  if (strcmp(name, "ndim") == 0) return int_constant(inf, node, base.rank);
  if (strcmp(name, "dtype") == 0) return (roc_ty){.kind = ROC_TY_DTYPE, .dtype = base.dtype};
  char more[80];
  ROC_INFER_REPORT(inf, node->b->span, ROC_DIAG_PROPERTY, name,
                   roc_infer_suggest_property(name, more, sizeof more));
  return roc_ty_of(ROC_TY_ERROR);
}

static roc_ty index_shape(roc_infer *inf, const roc_ast_node *node, roc_ty base) {
  const roc_fe_node_info *key = roc_fe_node(inf->inst, node->b);
  bool is_known = key->is_const && key->value.type == ROC_VT_INT;
  if (!is_known || key->value.as.i < 1 || key->value.as.i > base.rank) {
    ROC_INFER_REPORT(inf, node->b->span, ROC_DIAG_SHAPE_INDEX, (unsigned)base.rank);
    return roc_ty_of(ROC_TY_ERROR);
  }
  return roc_ty_of(ROC_TY_INT);
}

/* The INDEX node, once its object's type is known. */
static roc_ty index_type(roc_infer *inf, const roc_ast_node *node, roc_ty base) {
  char name[64];
  roc_ty key = roc_infer_expr(inf, node->b);
  if (base.kind <= ROC_TY_ERROR) return base;
  if (base.kind == ROC_TY_SHAPE) return index_shape(inf, node, base);
  if (base.kind != ROC_TY_ARRAY) {
    char more[200];
    bool is_table = base.kind == ROC_TY_NAMESPACE;
    ROC_INFER_REPORT(inf, node->span, is_table ? ROC_DIAG_INDEX_TABLE : ROC_DIAG_INDEX_BASE,
                     roc_ty_phrase(base, name, sizeof name),
                     roc_infer_suggest_index(inf, node, more, sizeof more));
    return roc_ty_of(ROC_TY_ERROR);
  }
  if (node->b->kind == ROC_AST_STRING) return property(inf, node, base);
  if (roc_infer_need_index(inf, node->b, key).kind == ROC_TY_ERROR) return roc_ty_of(ROC_TY_ERROR);
  if (base.rank == 1) return roc_ty_of_dtype((roc_dtype)base.dtype);
  base.rank--;
  return base;
}

/* Types every node of the chain from where the binding was reached. */
static roc_ty infer_chain(roc_infer *inf, const roc_ast_node *node, const chain *c) {
  const roc_fe_binding *binding = find_binding(inf, c);
  if (!binding) {
    return roc_infer_info(inf, node)->type = refuse_binding(inf, node, NULL, c);
  }
  uint32_t reached = binding->consumed < c->own ? c->own : binding->consumed;
  if (reached > c->count) reached = c->count;
  for (uint32_t k = c->own; k < reached; k++) {
    const roc_ast_node *passed = c->nodes[k];
    roc_infer_info(inf, passed)->type = roc_ty_of(ROC_TY_NAMESPACE);
  }
  const roc_ast_node *bound = c->nodes[reached];
  roc_ty t = binding_type(inf, bound, binding, c);
  roc_infer_info(inf, bound)->type = t;
  for (uint32_t k = reached + 1; k <= c->count; k++) {
    t = index_type(inf, c->nodes[k], t);
    roc_infer_info(inf, c->nodes[k])->type = t;
  }
  return t;
}

roc_ty roc_infer_free_name(roc_infer *inf, const roc_ast_node *node) {
  chain c = {0};
  roc_infer_info(inf, node)->binding = NULL;
  if (!gather(inf, node, &c, false)) return roc_infer_set(inf, node, ROC_TY_ERROR);
  return infer_chain(inf, node, &c);
}

roc_ty roc_infer_index(roc_infer *inf, const roc_ast_node *node) {
  chain c = {0};
  roc_infer_info(inf, node)->binding = NULL;
  roc_infer_info(inf, node)->is_const = false;
  if (gather(inf, node, &c, false)) return infer_chain(inf, node, &c);
  roc_ty base = roc_infer_need_result(inf, node->a, roc_infer_expr(inf, node->a));
  return roc_infer_info(inf, node)->type = index_type(inf, node, base);
}
