/* What messages add about names that a kernel does not know, and arrays used with too many or too
 * few indices.  Every text is "" or begins with "; ". */
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "frontend/types/builtin.h"
#include "frontend/types/infer.h"

static const char *write_advice(const char *advice, char *buf, size_t nbytes) {
  snprintf(buf, nbytes, "; write %s", advice);
  return buf;
}

static const char *ask(const roc_near *near, char *buf, size_t nbytes) {
  if (!near->best) return "";
  snprintf(buf, nbytes, "; did you mean '%s'?", near->best);
  return buf;
}

/* ---- free names -------------------------------------------------------------------------- */

static const char *after_dot(const char *name) {
  const char *dot = strchr(name, '.');
  return dot ? dot + 1 : name;
}

static const char *after_last_dot(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

/* The functions that kernels call, the dtypes and the fences: by their whole paths, and for another
 * module's name by what follows the module. */
static void offer_paths(roc_near *near, bool is_root_known) {
  const char *rest = after_dot(near->name);
  roc_near inner = roc_near_to(rest, strlen(rest));
  for (int id = 0; id < ROC_BUILTIN_COUNT_; id++) {
    const char *known = roc_builtin_table[id].path;
    if (roc_builtin_table[id].cls == ROC_BC_REFUSED) continue;
    roc_near_offer(near, known, known);
    if (is_root_known) continue;
    roc_near_offer(&inner, after_dot(known), known);
    roc_near_offer(&inner, after_last_dot(known), known);
  }
  static const char *const others[] = {
#define ROC_DTYPE(ID, name, ctype, bytes, kind, value_type) "roc." name,
#include "base/dtype.def"
#undef ROC_DTYPE
      "roc.CLK_LOCAL_MEM_FENCE", "roc.CLK_GLOBAL_MEM_FENCE"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    roc_near_offer(near, others[i], others[i]);
    if (!is_root_known) roc_near_offer(&inner, after_dot(others[i]), others[i]);
  }
  if (inner.best && (!near->best || inner.distance < near->distance)) {
    near->best = inner.best;
    near->distance = inner.distance;
  }
}

/* The locals and parameters of the function, and what else it finds outside. */
static void offer_names(const roc_infer *inf, roc_near *near) {
  const roc_fe_function *fn = inf->inst->fn;
  for (uint32_t i = 0; i < fn->ast->nsymbols; i++) {
    const char *name = fn->ast->symbols[i]->name.data;
    roc_near_offer(near, name, name);
  }
  for (uint32_t i = 0; i < fn->paths.count; i++) {
    bool is_bound = fn->bindings[i].kind != ROC_BIND_NIL || fn->bindings[i].consumed > 0;
    if (is_bound) roc_near_offer(near, fn->paths.items[i].root, fn->paths.items[i].root);
  }
}

const char *roc_infer_suggest_name(const roc_infer *inf, const char *text, bool is_root_known,
                                   char *buf, size_t nbytes) {
  size_t root = strcspn(text, ".[");
  if (!is_root_known && root == 3 && memcmp(text, "roc", 3) == 0) {
    return write_advice(
        "local roc = require \"roc\" before the kernel (for one given as a string: "
        "option env)",
        buf, nbytes);
  }
  const char *advice = roc_foreign_path_advice(ROC_FOREIGN_KERNEL, text);
  if (advice) return write_advice(advice, buf, nbytes);
  roc_near near = roc_near_to(text, strlen(text));
  if (!is_root_known && !strchr(text, '.')) offer_names(inf, &near);
  if (!near.best || near.distance > 0) offer_paths(&near, is_root_known);
  return ask(&near, buf, nbytes);
}

const char *roc_infer_suggest_property(const char *name, char *buf, size_t nbytes) {
  static const char *const known[] = {"shape", "size", "ndim", "dtype"};
  const char *advice = roc_foreign_advice(ROC_FOREIGN_ARRAY, name, strlen(name));
  bool is_of_host = advice && strpbrk(advice, "(\""); /* a method, or a module */
  if (advice && !is_of_host) return write_advice(advice, buf, nbytes);
  roc_near near = roc_near_to(name, strlen(name));
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    roc_near_offer(&near, known[i], known[i]);
  }
  return ask(&near, buf, nbytes);
}

const char *roc_infer_suggest_dtype(const char *name, char *buf, size_t nbytes) {
  const char *advice = roc_foreign_advice(ROC_FOREIGN_DTYPE, name, strlen(name));
  char text[160];
  if (!advice) {
    roc_near near = roc_near_to(name, strlen(name));
    for (int dt = 0; dt < ROC_DT_COUNT_; dt++) {
      const char *known = roc_dtype_name((roc_dtype)dt);
      roc_near_offer(&near, known, known);
    }
    ask(&near, text, sizeof text);
    if (!near.best) text[0] = 0;
  } else {
    write_advice(advice, text, sizeof text);
  }
  snprintf(buf, nbytes, "; '%.40s' is none%s", name, text);
  return buf;
}

/* ---- arrays ------------------------------------------------------------------------------ */

/* "x" of x[i][j]; "a" when the array has no name. */
static const char *array_name(const roc_ast_node *node, uint32_t *depth) {
  *depth = 0;
  while (node->kind == ROC_AST_INDEX || node->kind == ROC_AST_PAREN) {
    *depth += node->kind == ROC_AST_INDEX && node->b->kind != ROC_AST_STRING;
    node = node->a;
  }
  if (node->kind == ROC_AST_LOCAL_NAME) return node->sym->name.data;
  return node->kind == ROC_AST_FREE_NAME ? node->as.s.data : "a";
}

/* "x[i][j]" with so many indices. */
static void add_indices(char *buf, size_t nbytes, const char *name, uint32_t rank) {
  static const char *const letters[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
  size_t used = (size_t)snprintf(buf, nbytes, "%.40s", name);
  for (uint32_t d = 0; d < rank && d < 8 && used < nbytes; d++) {
    used += (size_t)snprintf(buf + used, nbytes - used, "[%s]", letters[d]);
  }
}

const char *roc_infer_suggest_index(const roc_infer *inf, const roc_ast_node *node, char *buf,
                                    size_t nbytes) {
  const roc_ast_node *base = node->a;
  uint32_t depth;
  char element[100];
  while (base->kind == ROC_AST_PAREN) base = base->a;
  if (base->kind != ROC_AST_INDEX) return "";
  if (roc_fe_node(inf->inst, base->a)->type.kind != ROC_TY_ARRAY) return "";
  const char *name = array_name(base, &depth);
  add_indices(element, sizeof element, name, depth);
  snprintf(buf, nbytes, "; '%s' has %u dimension%s: write %s", name, depth, depth == 1 ? "" : "s",
           element);
  return buf;
}

const char *roc_infer_suggest_element(const roc_ast_node *target, uint32_t rest, char *buf,
                                      size_t nbytes) {
  uint32_t depth;
  char element[100];
  const char *name = array_name(target, &depth);
  add_indices(element, sizeof element, name, depth + rest);
  snprintf(buf, nbytes, "; '%s' has %u dimensions: write %s = v, or", name, depth + rest, element);
  return buf;
}

/* ---- calls ------------------------------------------------------------------------------- */

const char *roc_infer_suggest_call(uint32_t id, char *buf, size_t nbytes) {
  const roc_builtin_info *info = &roc_builtin_table[id];
  const char *arguments = NULL;
  switch ((roc_builtin_class)info->cls) {
    case ROC_BC_LAUNCH_DIM: arguments = "(d), with d = 1, 2 or 3"; break;
    case ROC_BC_GRID: arguments = "(n), with n = 1, 2 or 3"; break;
    case ROC_BC_SHARED_ARRAY:
    case ROC_BC_PRIVATE_ARRAY: arguments = "(shape, dtype)"; break;
    case ROC_BC_CONST_ARRAY: arguments = "(t), or (t, dtype)"; break;
    case ROC_BC_ATOMIC: arguments = "(array, index, ...)"; break;
    case ROC_BC_WAVE_MOVE: arguments = "(value, lane)"; break;
    case ROC_BC_WAVE_DS: arguments = "(lane, value)"; break;
    default: return "";
  }
  snprintf(buf, nbytes, "; write %s%s", info->path, arguments);
  return buf;
}
