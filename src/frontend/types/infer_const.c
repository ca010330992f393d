/* Typing of roc.const.array in a kernel: its array, with the elements converted to the dtype that
 * the call names.
 *
 * The elements are converted here, by the rules of the host's roc.const.array; what the host
 * refuses is an error here too. */
#include <stdio.h>

#include "frontend/types/infer.h"

/* The binding of the argument, directly or through a local; NULL: none. */
static const roc_fe_binding *source_binding(roc_infer *inf, const roc_ast_node *node) {
  while (node && (node->kind == ROC_AST_PAREN || node->kind == ROC_AST_LOCAL_NAME)) {
    node = node->kind == ROC_AST_PAREN ? node->a : roc_ast_initializer(node->sym);
  }
  return node ? roc_infer_info(inf, node)->binding : NULL;
}

/* The hidden argument of a captured host array that is too large to embed; NULL: it is embedded. */
static const roc_fe_arg *large_source(const roc_infer *inf, const roc_fe_binding *source) {
  if (!source || source->kind != ROC_BIND_ARRAY || source->as.arg >= inf->typed->nargs) return NULL;
  const roc_fe_arg *arg = &inf->typed->args[source->as.arg];
  return arg->is_constant ? arg : NULL;
}

static int64_t count_elements(const roc_fe_const_array *a) {
  int64_t count = 1;
  for (uint32_t d = 0; d < a->rank; d++) count *= a->extents[d];
  return count;
}

/* "{2, 1}": where the element is, counted from 1. */
static void element_text(const roc_fe_const_array *a, int64_t element, char *buf, size_t nbytes) {
  int64_t index[ROC_MAX_RANK] = {0};
  size_t used = 0;
  for (uint32_t d = a->rank; d > 0; d--) {
    index[d - 1] = element % a->extents[d - 1] + 1;
    element /= a->extents[d - 1];
  }
  for (uint32_t d = 0; d < a->rank && used < nbytes; d++) {
    int n = snprintf(buf + used, nbytes - used, "%s%lld", d == 0 ? "{" : ", ", (long long)index[d]);
    used += n > 0 ? (size_t)n : 0;
  }
  if (used < nbytes) snprintf(buf + used, nbytes - used, "}");
}

static const char *refusal(roc_dtype from, roc_dtype to) {
  if (to == ROC_DT_BOOL) return "boolean expected, got number";
  if (from == ROC_DT_BOOL) return "number expected, got boolean";
  return "number has no integer representation";
}

/* The elements in a dtype; NULL when one cannot be stored (reported), or memory is out. */
static const void *convert(roc_infer *inf, const roc_ast_node *call, const roc_fe_const_array *from,
                           roc_dtype dtype) {
  size_t nbytes = roc_dtype_itemsize(dtype), from_nbytes = roc_dtype_itemsize(from->dtype);
  int64_t count = count_elements(from);
  if (from->dtype == dtype) return from->data;
  char *data = roc_arena_alloc(&inf->typed->arena, nbytes * (size_t)count + 1);
  char where[200];
  inf->oom |= !data;
  if (!data) return NULL;
  for (int64_t i = 0; i < count; i++) {
    roc_scalar value =
        roc_dtype_load(from->dtype, (const char *)from->data + (size_t)i * from_nbytes);
    if (roc_dtype_store(dtype, data + (size_t)i * nbytes, value)) continue;
    element_text(from, i, where, sizeof where);
    ROC_INFER_REPORT(inf, call->span, ROC_DIAG_CONST_ARRAY_VALUE, roc_dtype_name(dtype), where,
                     refusal(from->dtype, dtype));
    return NULL;
  }
  return data;
}

/* Makes the call the array, converted once for all walks; false as convert says. */
static bool bind_converted(roc_infer *inf, const roc_ast_node *call, const roc_fe_const_array *from,
                           roc_dtype dtype) {
  roc_fe_node_info *info = roc_infer_info(inf, call);
  if (info->binding && info->binding->as.const_array->dtype == dtype) return true;
  roc_fe_binding *binding = ROC_ARENA_NEW(&inf->typed->arena, roc_fe_binding);
  roc_fe_const_array *made = ROC_ARENA_NEW(&inf->typed->arena, roc_fe_const_array);
  inf->oom |= !binding || !made;
  if (inf->oom) return false;
  *made = *from;
  made->dtype = dtype;
  made->is_table = false;
  made->data = convert(inf, call, from, dtype);
  if (!made->data) return false;
  *binding = (roc_fe_binding){.kind = ROC_BIND_CONST_ARRAY, .as.const_array = made};
  info->binding = binding;
  return true;
}

roc_ty roc_infer_const_array(roc_infer *inf, const roc_ast_node *call, const roc_ast_node *source,
                             roc_ty t, const roc_dtype *dtype) {
  const roc_fe_binding *binding = source_binding(inf, source);
  const roc_fe_arg *large = large_source(inf, binding);
  if (t.kind != ROC_TY_ARRAY || t.space != ROC_IR_ARRAY_CONST) {
    ROC_INFER_REPORT(inf, call->span, ROC_DIAG_CONST_ARRAY);
    return roc_ty_of(ROC_TY_ERROR);
  }
  bool is_embedded = binding && binding->kind == ROC_BIND_CONST_ARRAY;
  bool is_table = large ? large->is_table : is_embedded && binding->as.const_array->is_table;
  roc_dtype own = (roc_dtype)t.dtype;
  roc_dtype wanted = dtype ? *dtype : is_table && own != ROC_DT_BOOL ? ROC_DT_FLOAT64 : own;
  if (!is_embedded && wanted == own) return t;
  if (!is_embedded) {
    ROC_INFER_REPORT(inf, call->span, ROC_DIAG_CONST_ARRAY_DTYPE, roc_dtype_name(wanted),
                     large ? "larger than 64 KiB" : "a row or a parameter");
    return roc_ty_of(ROC_TY_ERROR);
  }
  if (!bind_converted(inf, call, binding->as.const_array, wanted)) return roc_ty_of(ROC_TY_ERROR);
  t.dtype = (uint8_t)wanted;
  return t;
}
