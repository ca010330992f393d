/* Where the work-items of a wavefront or group meet, in the text that sim runs (print_lua.c).
 *
 * Around what holds a barrier or a wave operation a checked kernel has the items agree: on the
 * condition of a statement or a short circuit, on each turn of a loop and on its end, and on the
 * end of the kernel.  Items that do not agree find another meeting than the others. */
#include "frontend/types/builtin.h"
#include "frontend/lower/print_lua.h"

enum { OF_WAVE = 1, OF_GROUP = 2 };

static uint8_t meets_in_node(roc_printer *p, const roc_fe_instance *inst, const roc_ast_node *node);

static uint8_t meets_in_list(roc_printer *p, const roc_fe_instance *inst,
                             const roc_ast_list *list) {
  uint8_t found = 0;
  for (uint32_t i = 0; i < list->count; i++) found |= meets_in_node(p, inst, list->items[i]);
  return found;
}

/* The union over a function; computed once. */
static uint8_t meets_in_function(roc_printer *p, const roc_fe_instance *inst) {
  for (uint32_t i = 0; i < p->meets.count; i++) {
    if (p->meets.items[i].inst == inst) return p->meets.items[i].meets;
  }
  uint8_t meets = meets_in_list(p, inst, &inst->fn->ast->body);
  if (!roc_vec_push(&p->meets, ((roc_pl_meets){inst, meets}))) p->text.failed = true;
  return meets;
}

static uint8_t meets_of_builtin(const roc_builtin_info *info) {
  switch ((roc_builtin_class)info->cls) {
    case ROC_BC_FENCE: return info->payload == ROC_IR_BARRIER ? OF_GROUP : 0;
    case ROC_BC_WAVE_BARRIER:
    case ROC_BC_WAVE_VOTE:
    case ROC_BC_WAVE_MOVE:
    case ROC_BC_WAVE_REDUCE:
    case ROC_BC_WAVE_DS:
    case ROC_BC_WAVE_ACTIVE: return OF_WAVE;
    default: return 0;
  }
}

static uint8_t meets_in_call(roc_printer *p, const roc_fe_instance *inst,
                             const roc_ast_node *node) {
  const roc_fe_call *call = roc_fe_node(inst, node)->call;
  if (!call) return 0;
  if (call->kind == ROC_CALLEE_FUNCTION) return meets_in_function(p, call->instance);
  if (call->kind != ROC_CALLEE_BUILTIN) return 0;
  return meets_of_builtin(&roc_builtin_table[call->builtin]);
}

static uint8_t meets_in_node(roc_printer *p, const roc_fe_instance *inst,
                             const roc_ast_node *node) {
  uint8_t found = 0;
  /* along the first operands, of which a chain has many */
  for (; node; node = node->a) {
    if (node->kind == ROC_AST_CALL) found |= meets_in_call(p, inst, node);
    found |= meets_in_list(p, inst, &node->list) | meets_in_list(p, inst, &node->values);
    found |= meets_in_list(p, inst, &node->body) | meets_in_list(p, inst, &node->orelse);
    if (node->b) found |= meets_in_node(p, inst, node->b);
    if (node->c) found |= meets_in_node(p, inst, node->c);
    if (node->kind == ROC_AST_GOTO) break; /* `a` is the label */
  }
  return found;
}

static const char *name_of(const roc_printer *p, uint8_t meets) {
  if (!p->typed->options->check || !meets) return NULL;
  return meets & OF_GROUP ? "barrier" : "wave";
}

const char *roc_pl_meeting(roc_printer *p, const roc_ast_node *node) {
  return name_of(p, meets_in_node(p, p->inst, node));
}

const char *roc_pl_meeting_in(roc_printer *p, const roc_ast_list *list) {
  return name_of(p, meets_in_list(p, p->inst, list));
}

/* ---- jumps ------------------------------------------------------------------------------- */

/* The meetings that a jump out of the current statement skips on its way to statement `end` of
 * frame `target`, or to after it; with `leaves_loop` also those of the loop's further iterations.
 * None where it leaves a loop without meetings, whose iterations are not counted: then the meetings
 * after it detect the divergence. */
static uint8_t meets_missed(roc_printer *p, uint32_t target, uint32_t end, bool leaves_loop) {
  uint8_t missed = 0;
  for (uint32_t f = p->frames.count; f-- > target;) {
    const roc_pl_frame *frame = &p->frames.items[f];
    uint32_t last = f == target ? end : frame->list->count;
    for (uint32_t i = frame->at + 1; i < last && i < frame->list->count; i++) {
      missed |= meets_in_node(p, p->inst, frame->list->items[i]);
    }
    if (!frame->loop || (f == target && !leaves_loop)) continue;
    uint8_t turns = meets_in_node(p, p->inst, frame->loop);
    if (!turns) return 0;
    missed |= turns;
  }
  return missed;
}

static uint8_t missed_by_break(roc_printer *p) {
  for (uint32_t f = p->frames.count; f-- > 0;) {
    if (p->frames.items[f].loop) return meets_missed(p, f, UINT32_MAX, true);
  }
  return 0;
}

static uint8_t missed_by_goto(roc_printer *p, const roc_ast_node *label) {
  for (uint32_t f = p->frames.count; f-- > 0;) {
    const roc_ast_list *list = p->frames.items[f].list;
    for (uint32_t i = 0; i < list->count; i++) {
      if (list->items[i] == label) return meets_missed(p, f, i, false);
    }
  }
  return 0;
}

static uint8_t missed_by_jumps(roc_printer *p, const roc_ast_list *list, bool in_loop) {
  uint8_t missed = 0;
  for (uint32_t i = 0; i < list->count; i++) {
    const roc_ast_node *stat = list->items[i];
    bool is_loop = stat->kind == ROC_AST_WHILE || stat->kind == ROC_AST_REPEAT ||
                   stat->kind == ROC_AST_FOR_NUM;
    bool returns = stat->kind == ROC_AST_RETURN && p->inst != p->typed->kernel;
    if (stat->kind == ROC_AST_BREAK && !in_loop) missed |= missed_by_break(p);
    if (stat->kind == ROC_AST_GOTO) missed |= missed_by_goto(p, stat->a);
    if (returns) missed |= meets_missed(p, 0, UINT32_MAX, true);
    missed |= missed_by_jumps(p, &stat->body, in_loop || is_loop);
    missed |= missed_by_jumps(p, &stat->orelse, in_loop || is_loop);
  }
  return missed;
}

const char *roc_pl_meeting_of_if(roc_printer *p, const roc_ast_node *stat) {
  if (!p->typed->options->check) return NULL;
  uint8_t meets = meets_in_list(p, p->inst, &stat->body) | meets_in_list(p, p->inst, &stat->orelse);
  meets |= missed_by_jumps(p, &stat->body, false) | missed_by_jumps(p, &stat->orelse, false);
  return name_of(p, meets);
}

/* ---- text -------------------------------------------------------------------------------- */

void roc_pl_meet(roc_printer *p, const char *meeting, const char *value) {
  if (meeting) roc_str_printf(&p->text, "S.agree(\"%s\", %s); ", meeting, value);
}

void roc_pl_agreed(roc_printer *p, const char *meeting, const roc_ast_node *condition) {
  if (meeting) roc_str_printf(&p->text, "S.agree(\"%s\", ", meeting);
  roc_pl_expr(p, condition);
  if (meeting) roc_pl_put(p, ")");
}
