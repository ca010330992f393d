/* Statements of the typed kernel printed back as Lua (print_lua.c), each on its line. */
#include "frontend/lower/print_lua.h"

/* The k-th of a list of values, as `want`. */
static void print_value(roc_printer *p, const roc_ast_node *node, roc_ty want) {
  if (roc_pl_is_nothing(roc_pl_type(p, node))) {
    roc_pl_put(p, "nil");
  } else {
    roc_pl_as(p, node, want);
  }
}

/* Of targets that take more than one result of the call at the end of the list, the first; the
 * number of targets when there are none. */
static uint32_t first_of_several(const roc_printer *p, const roc_ast_list *targets,
                                 const roc_ast_list *values) {
  bool has_several = targets->count > values->count && roc_pl_open_call(p, values);
  return has_several ? values->count - 1 : targets->count;
}

/* Several results of a call are converted after the statement. */
static void fix_up(roc_printer *p, const roc_ast_list *targets, const roc_ast_list *values) {
  for (uint32_t i = first_of_several(p, targets, values); i < targets->count; i++) {
    const roc_ast_node *target = targets->items[i];
    if (target->kind != ROC_AST_LOCAL_NAME) continue;
    const char *open = roc_pl_conversion(p, roc_fe_list_type(p->inst, values, i),
                                         roc_fe_sym(p->inst, target->sym)->type);
    if (!open) continue;
    roc_pl_put(p, " ");
    roc_pl_symbol(p, target->sym);
    roc_str_printf(&p->text, " = %s", open);
    roc_pl_symbol(p, target->sym);
    roc_pl_put(p, ");");
  }
}

static roc_ty target_type(const roc_printer *p, const roc_ast_node *target) {
  if (target->kind == ROC_AST_LOCAL_NAME) return roc_fe_sym(p->inst, target->sym)->type;
  return roc_ty_of(ROC_TY_NONE); /* an element: the store converts */
}

static void print_values(roc_printer *p, const roc_ast_list *targets, const roc_ast_list *values) {
  uint32_t nconverted = first_of_several(p, targets, values);
  for (uint32_t i = 0; i < values->count; i++) {
    if (i) roc_pl_put(p, ", ");
    const roc_ast_node *target = i < targets->count ? targets->items[i] : NULL;
    p->declaring = target && target->kind == ROC_AST_LOCAL_NAME ? target->sym : NULL;
    roc_ty want = target && i < nconverted ? target_type(p, target) : roc_ty_of(ROC_TY_NONE);
    print_value(p, values->items[i], want);
    p->declaring = NULL;
  }
}

static void print_local(roc_printer *p, const roc_ast_node *stat) {
  roc_pl_put(p, "local ");
  for (uint32_t i = 0; i < stat->list.count; i++) {
    if (i) roc_pl_put(p, ", ");
    roc_pl_symbol(p, stat->list.items[i]->sym);
  }
  if (stat->values.count) {
    roc_pl_put(p, " = ");
    print_values(p, &stat->list, &stat->values);
  }
  roc_pl_put(p, ";");
  fix_up(p, &stat->list, &stat->values);
}

static void print_assign(roc_printer *p, const roc_ast_node *stat) {
  for (uint32_t i = 0; i < stat->list.count; i++) {
    if (i) roc_pl_put(p, ", ");
    roc_pl_expr(p, stat->list.items[i]);
  }
  roc_pl_put(p, " = ");
  print_values(p, &stat->list, &stat->values);
  roc_pl_put(p, ";");
  fix_up(p, &stat->list, &stat->values);
}

/* In the tree an `elseif` is an IF that is alone in the `else` of the IF before. */
static void print_if(roc_printer *p, const roc_ast_node *stat) {
  roc_pl_put(p, "if ");
  for (;; stat = stat->orelse.items[0]) {
    roc_pl_line(p, stat->span.line);
    roc_pl_agreed(p, roc_pl_meeting_of_if(p, stat), stat->a);
    roc_pl_put(p, " then ");
    roc_pl_block(p, &stat->body, NULL);
    if (stat->orelse.count != 1 || stat->orelse.items[0]->kind != ROC_AST_IF) break;
    roc_pl_put(p, "elseif ");
  }
  if (stat->orelse.count) {
    roc_pl_put(p, "else ");
    roc_pl_block(p, &stat->orelse, NULL);
  }
  roc_pl_put(p, "end;");
}

static void print_while(roc_printer *p, const roc_ast_node *stat) {
  const char *meeting = roc_pl_meeting(p, stat);
  roc_pl_put(p, "while ");
  roc_pl_expr(p, stat->a);
  roc_pl_put(p, " do ");
  roc_pl_meet(p, meeting, "true");
  roc_pl_block(p, &stat->body, stat);
  roc_pl_put(p, "end; ");
  roc_pl_meet(p, meeting, "false");
}

static void print_repeat(roc_printer *p, const roc_ast_node *stat) {
  const char *meeting = roc_pl_meeting(p, stat);
  roc_pl_put(p, "repeat ");
  roc_pl_meet(p, meeting, "true");
  roc_pl_block(p, &stat->body, stat);
  roc_pl_line(p, stat->a->span.line);
  roc_pl_put(p, "until ");
  roc_pl_expr(p, stat->a);
  roc_pl_put(p, "; ");
  roc_pl_meet(p, meeting, "false");
}

/* A float32 loop counts in float32; Lua's own would count in doubles. */
static void print_for(roc_printer *p, const roc_ast_node *stat) {
  roc_ty t = roc_fe_sym(p->inst, stat->sym)->type;
  bool f32 = roc_pl_is_f32(p, t);
  const char *meeting = roc_pl_meeting_in(p, &stat->body);
  roc_ty limit = t.kind == ROC_TY_INT ? roc_ty_of(ROC_TY_NONE) : t;
  roc_pl_put(p, "for ");
  roc_pl_symbol(p, stat->sym);
  roc_pl_put(p, f32 ? " in S.range32(" : " = ");
  roc_pl_as(p, stat->a, t);
  roc_pl_put(p, ", ");
  roc_pl_as(p, stat->b, limit);
  if (stat->c) {
    roc_pl_put(p, ", ");
    roc_pl_as(p, stat->c, t);
  } else if (f32) {
    roc_pl_put(p, ", 1.0");
  }
  roc_pl_put(p, f32 ? ") do " : " do ");
  roc_pl_meet(p, meeting, "true");
  roc_pl_block(p, &stat->body, stat);
  roc_pl_put(p, "end; ");
  roc_pl_meet(p, meeting, "false");
}

/* The k-th result of the function as its callers expect it. */
static roc_ty result_type(const roc_printer *p, uint32_t k) {
  return k < p->inst->nresults ? p->inst->results[k] : roc_ty_of(ROC_TY_NONE);
}

/* Through locals, as the results of a call in the list each need a conversion of their own. */
static void print_return_of_several(roc_printer *p, const roc_ast_node *stat) {
  roc_pl_put(p, "do local ");
  for (uint32_t i = 0; i < p->inst->nresults; i++) roc_str_printf(&p->text, i ? ", R%u" : "R%u", i);
  roc_pl_put(p, " = ");
  roc_pl_args(p, &stat->values, 0, roc_ty_of(ROC_TY_NONE));
  roc_pl_put(p, "; return ");
  for (uint32_t i = 0; i < p->inst->nresults; i++) {
    const char *open =
        roc_pl_conversion(p, roc_fe_list_type(p->inst, &stat->values, i), result_type(p, i));
    roc_str_printf(&p->text, open ? "%s%sR%u)" : "%s%sR%u", i ? ", " : "", open ? open : "", i);
  }
  roc_pl_put(p, " end;");
}

/* One value stands in parentheses: a tail call would take the function's line from its errors. */
static void print_return(roc_printer *p, const roc_ast_node *stat) {
  bool single = stat->values.count == 1 && p->inst->nresults == 1;
  if (p->inst->nresults > 0 && roc_pl_open_call(p, &stat->values)) {
    print_return_of_several(p, stat);
    return;
  }
  roc_pl_put(p, single ? "do return (" : "do return ");
  for (uint32_t i = 0; i < stat->values.count; i++) {
    if (i) roc_pl_put(p, ", ");
    print_value(p, stat->values.items[i], result_type(p, i));
  }
  roc_pl_put(p, single ? ") end;" : " end;");
}

static void print_statement(roc_printer *p, const roc_ast_node *stat) {
  roc_pl_line(p, stat->span.line);
  switch ((roc_ast_kind)stat->kind) {
    case ROC_AST_LOCAL: print_local(p, stat); break;
    case ROC_AST_ASSIGN: print_assign(p, stat); break;
    case ROC_AST_CALL_STAT:
      roc_pl_put(p, "do local _ = ");
      roc_pl_expr(p, stat->a);
      roc_pl_put(p, " end;");
      break;
    case ROC_AST_DO:
      roc_pl_put(p, "do ");
      roc_pl_block(p, &stat->body, NULL);
      roc_pl_put(p, "end;");
      break;
    case ROC_AST_WHILE: print_while(p, stat); break;
    case ROC_AST_REPEAT: print_repeat(p, stat); break;
    case ROC_AST_IF: print_if(p, stat); break;
    case ROC_AST_FOR_NUM: print_for(p, stat); break;
    case ROC_AST_RETURN: print_return(p, stat); break;
    case ROC_AST_BREAK: roc_pl_put(p, "break;"); break;
    case ROC_AST_GOTO: roc_str_printf(&p->text, "goto %s;", stat->as.s.data); break;
    case ROC_AST_LABEL: roc_str_printf(&p->text, "::%s::", stat->as.s.data); break;
    default: p->failed = true; break; /* refused by inference */
  }
  roc_pl_put(p, " ");
}

void roc_pl_block(roc_printer *p, const roc_ast_list *block, const roc_ast_node *loop) {
  p->block_depth++;
  if (!roc_vec_push(&p->frames, ((roc_pl_frame){block, 0, loop}))) p->text.failed = true;
  for (uint32_t i = 0; i < block->count && !p->text.failed; i++) {
    roc_vec_last(&p->frames).at = i;
    print_statement(p, block->items[i]);
  }
  if (p->frames.count) p->frames.count--;
  p->block_depth--;
}
