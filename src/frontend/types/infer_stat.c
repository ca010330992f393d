/* Typing of statements.  Control flow does not matter to types: every statement is walked once in
 * each pass, in source order. */
#include "frontend/types/infer.h"

static void infer_local(roc_infer *inf, const roc_ast_node *stat) {
  roc_infer_list(inf, &stat->values);
  uint32_t count = roc_fe_list_count(inf->inst, &stat->values);
  for (uint32_t k = 0; k < stat->list.count; k++) {
    const roc_ast_symbol *sym = stat->list.items[k]->sym;
    if (k >= count) continue; /* flow.c checks that it is assigned before it is read */
    const roc_ast_node *value = k < stat->values.count ? stat->values.items[k] : NULL;
    roc_ty t = roc_fe_list_type(inf->inst, &stat->values, k);
    roc_infer_assign(inf, sym, t, value, value ? value->span : stat->list.items[k]->span);
    roc_fe_sym_info *info = &inf->inst->syms[sym->id];
    const roc_fe_node_info *known = value ? roc_fe_node(inf->inst, value) : NULL;
    info->is_const = known && known->is_const && sym->assignments == 0;
    if (info->is_const) info->value = known->value;
  }
}

/* `a[i] = v`: the target is an element of an array that may be written. */
static void infer_store_target(roc_infer *inf, const roc_ast_node *target,
                               const roc_ast_node *value, roc_ty t) {
  roc_ty element = roc_infer_index(inf, target);
  roc_ty base = roc_infer_info(inf, target->a)->type;
  char name[64], more[200];
  if (base.kind <= ROC_TY_ERROR || element.kind <= ROC_TY_ERROR) return;
  if (base.kind != ROC_TY_ARRAY || target->b->kind == ROC_AST_STRING) {
    ROC_INFER_REPORT(inf, target->span, ROC_DIAG_STORE_TARGET,
                     roc_ty_phrase(base, name, sizeof name));
  } else if (element.kind == ROC_TY_ARRAY) {
    ROC_INFER_REPORT(inf, target->span, ROC_DIAG_STORE_ROW,
                     roc_ty_phrase(element, name, sizeof name),
                     roc_infer_suggest_element(target, element.rank, more, sizeof more));
  } else if (base.space == ROC_IR_ARRAY_CONST) {
    ROC_INFER_REPORT(inf, target->span, ROC_DIAG_STORE_CONST);
  } else if (t.kind > ROC_TY_ERROR) {
    roc_infer_store(inf, value, t, (roc_dtype)base.dtype);
  }
}

static void infer_target(roc_infer *inf, const roc_ast_node *target, const roc_ast_node *value,
                         roc_ty t) {
  switch (target->kind) {
    case ROC_AST_LOCAL_NAME:
      roc_infer_info(inf, target)->type = inf->inst->syms[target->sym->id].type;
      roc_infer_assign(inf, target->sym, t, value, value->span);
      break;
    case ROC_AST_INDEX: infer_store_target(inf, target, value, t); break;
    default:
      ROC_INFER_REPORT(inf, target->span,
                       target->is_global ? ROC_DIAG_ASSIGN_GLOBAL : ROC_DIAG_ASSIGN_UPVALUE,
                       target->as.s.data);
  }
}

static void infer_assign(roc_infer *inf, const roc_ast_node *stat) {
  roc_infer_list(inf, &stat->values);
  uint32_t count = roc_fe_list_count(inf->inst, &stat->values);
  const roc_ast_node *last = stat->values.items[stat->values.count - 1];
  for (uint32_t k = 0; k < stat->list.count; k++) {
    const roc_ast_node *target = stat->list.items[k];
    if (k >= count) {
      bool is_told = roc_fe_list_is_unknown(inf->inst, &stat->values);
      if (!is_told) ROC_INFER_REPORT(inf, target->span, ROC_DIAG_TOO_FEW_VALUES);
      continue;
    }
    infer_target(inf, target, k < stat->values.count ? stat->values.items[k] : last,
                 roc_fe_list_type(inf->inst, &stat->values, k));
  }
}

static void infer_call_stat(roc_infer *inf, const roc_ast_node *stat) {
  roc_infer_expr(inf, stat->a);
}

static void infer_do(roc_infer *inf, const roc_ast_node *stat) {
  roc_infer_block(inf, &stat->body);
}

static void infer_while(roc_infer *inf, const roc_ast_node *stat) {
  roc_infer_condition(inf, stat->a);
  roc_infer_block(inf, &stat->body);
}

static void infer_repeat(roc_infer *inf, const roc_ast_node *stat) {
  roc_infer_block(inf, &stat->body);
  roc_infer_condition(inf, stat->a);
}

static void infer_if(roc_infer *inf, const roc_ast_node *stat) {
  roc_infer_condition(inf, stat->a);
  roc_infer_block(inf, &stat->body);
  roc_infer_block(inf, &stat->orelse);
}

static bool is_zero(const roc_fe_node_info *info) {
  return info->is_const &&
         (info->value.type == ROC_VT_INT ? info->value.as.i == 0 : info->value.as.f == 0);
}

/* Lua's rule: an integer loop when first and step are integers, else a loop over floats. */
static void infer_for(roc_infer *inf, const roc_ast_node *stat) {
  roc_ty first = roc_infer_need_number(inf, stat->a, roc_infer_expr(inf, stat->a));
  roc_ty last = roc_infer_need_number(inf, stat->b, roc_infer_expr(inf, stat->b));
  roc_ty step = roc_ty_of(ROC_TY_INT);
  if (stat->c) {
    step = roc_infer_need_number(inf, stat->c, roc_infer_expr(inf, stat->c));
    if (is_zero(roc_infer_info(inf, stat->c))) {
      ROC_INFER_REPORT(inf, stat->c->span, ROC_DIAG_ZERO_STEP);
    }
  }
  roc_ty t = roc_ty_join(first, step);
  if (t.kind > ROC_TY_INT) t = roc_ty_join(t, last);
  if (first.kind > ROC_TY_ERROR && last.kind > ROC_TY_ERROR && step.kind > ROC_TY_ERROR) {
    /* the values of an integer loop are not constants: a body that converts its variable to float
     * gets the hint */
    roc_infer_assign(inf, stat->sym, t, t.kind == ROC_TY_INT ? NULL : stat->a, stat->a->span);
  }
  roc_infer_block(inf, &stat->body);
}

static bool all_known(const roc_infer *inf, const roc_ast_list *list, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    if (roc_fe_list_type(inf->inst, list, k).kind <= ROC_TY_ERROR) return false;
  }
  return true;
}

/* One result of a device function: a value, and the same kind of value at each return. */
static void infer_result(roc_infer *inf, const roc_ast_node *stat, uint32_t k) {
  roc_ty t = roc_fe_list_type(inf->inst, &stat->values, k);
  const roc_ast_node *value = k < stat->values.count ? stat->values.items[k] : NULL;
  roc_ty *into = &inf->inst->results[k];
  char had[64], got[64];
  if (value) t = roc_infer_need_value(inf, value, t);
  if (!roc_infer_merge(inf, into, t)) {
    ROC_INFER_REPORT(inf, stat->span, ROC_DIAG_RESULT_TYPE, k + 1,
                     roc_ty_phrase(t, got, sizeof got), roc_ty_phrase(*into, had, sizeof had));
  } else if (t.kind == ROC_TY_INT && roc_ty_is_float(*into) &&
             !(value && roc_fe_node(inf->inst, value)->is_const)) {
    ROC_INFER_REPORT(inf, value ? value->span : stat->span, ROC_DIAG_MIXED_RESULT);
  }
}

static void infer_return(roc_infer *inf, const roc_ast_node *stat) {
  roc_infer_list(inf, &stat->values);
  uint32_t count = roc_fe_list_count(inf->inst, &stat->values);
  if (inf->inst->function == 0) {
    if (stat->values.count > 0) ROC_INFER_REPORT(inf, stat->span, ROC_DIAG_KERNEL_RETURNS);
    return;
  }
  if (count > ROC_INFER_MAX_RESULTS) {
    ROC_INFER_REPORT(inf, stat->span, ROC_DIAG_RESULT_LIMIT, inf->inst->fn->name,
                     (unsigned)ROC_INFER_MAX_RESULTS);
    return;
  }
  /* Until the callees' types are known the count of an open call is not either. */
  if (roc_fe_list_is_unknown(inf->inst, &stat->values)) return;
  if (!inf->report && !all_known(inf, &stat->values, count)) return;
  if (!inf->inst->has_return) {
    inf->inst->has_return = true;
    inf->inst->nresults = count;
    inf->changed = true;
  } else if (inf->inst->nresults != count) {
    ROC_INFER_REPORT(inf, stat->span, ROC_DIAG_RESULT_COUNT, inf->inst->fn->name,
                     inf->inst->nresults, count);
    return;
  }
  for (uint32_t k = 0; k < count; k++) infer_result(inf, stat, k);
}

typedef void stat_fn(roc_infer *inf, const roc_ast_node *stat);

static stat_fn *const stat_table[ROC_AST_COUNT_] = {
    [ROC_AST_LOCAL] = infer_local,   [ROC_AST_ASSIGN] = infer_assign,
    [ROC_AST_DO] = infer_do,         [ROC_AST_CALL_STAT] = infer_call_stat,
    [ROC_AST_WHILE] = infer_while,   [ROC_AST_REPEAT] = infer_repeat,
    [ROC_AST_IF] = infer_if,         [ROC_AST_FOR_NUM] = infer_for,
    [ROC_AST_RETURN] = infer_return,
    /* the rest has no types, or is refused by restrict.c */
};

void roc_infer_block(roc_infer *inf, const roc_ast_list *block) {
  if (block->count == 0 || !roc_infer_enter(inf, block->items[0]->span)) return;
  for (uint32_t i = 0; i < block->count && !inf->oom; i++) {
    const roc_ast_node *stat = block->items[i];
    if (stat_table[stat->kind]) stat_table[stat->kind](inf, stat);
  }
  inf->depth--;
}
