/* Definite assignment and the end of functions.
 *
 * A state is the set of locals that every path so far has assigned.  Loops need no second walk: a
 * body can only add to the set it starts with. Code that cannot be reached counts as having
 * assigned everything. */
#include "base/alloc.h"
#include "base/vec.h"
#include "frontend/types/builtin.h"
#include "frontend/types/infer.h"

typedef struct state {
  uint64_t *bits; /* by symbol id */
  bool is_dead;
} state;

/* A label further on, or the end of a loop, and what the jumps to it bring along. */
typedef struct jump_target {
  const roc_ast_node *node; /* LABEL, or the loop */
  state at;
} jump_target;

typedef struct flow {
  roc_infer *inf;
  uint32_t nwords;
  state now;
  roc_arena scratch;
  roc_vec(jump_target) targets;
  roc_vec(const roc_ast_node *) loops;
  bool oom;
} flow;

static state copy_state(flow *f, const state *from) {
  state s = {ROC_ARENA_ARRAY(&f->scratch, uint64_t, f->nwords), from->is_dead};
  if (!s.bits) {
    f->oom = true;
    return *from;
  }
  for (uint32_t i = 0; i < f->nwords; i++) s.bits[i] = from->bits[i];
  return s;
}

/* What holds where two paths meet. */
static void meet(flow *f, state *into, const state *other) {
  if (other->is_dead) return;
  for (uint32_t i = 0; i < f->nwords; i++) {
    into->bits[i] = into->is_dead ? other->bits[i] : into->bits[i] & other->bits[i];
  }
  into->is_dead = false;
}

static bool has(const flow *f, uint32_t id) {
  return f->now.is_dead || (f->now.bits[id / 64] >> (id % 64) & 1) != 0;
}
static void set_assigned(flow *f, uint32_t id, bool is_assigned) {
  uint64_t bit = (uint64_t)1 << (id % 64);
  if (is_assigned) {
    f->now.bits[id / 64] |= bit;
  } else {
    f->now.bits[id / 64] &= ~bit;
  }
}

static void jump_to(flow *f, const roc_ast_node *target) {
  for (uint32_t i = 0; i < f->targets.count; i++) {
    if (f->targets.items[i].node == target) {
      meet(f, &f->targets.items[i].at, &f->now);
      f->now.is_dead = true;
      return;
    }
  }
  jump_target made = {target, copy_state(f, &f->now)};
  if (!roc_vec_push(&f->targets, made)) f->oom = true;
  f->now.is_dead = true;
}

static void arrive(flow *f, const roc_ast_node *target) {
  for (uint32_t i = 0; i < f->targets.count; i++) {
    if (f->targets.items[i].node == target) meet(f, &f->now, &f->targets.items[i].at);
  }
}

/* ---- expressions: reads ------------------------------------------------------------------ */

static void read_list(flow *f, const roc_ast_list *list);

static void read_expr(flow *f, const roc_ast_node *node) {
  if (!node || node->kind == ROC_AST_FUNCTION) return;
  if (node->kind == ROC_AST_LOCAL_NAME) {
    if (has(f, node->sym->id)) return;
    ROC_INFER_REPORT(f->inf, node->span, ROC_DIAG_UNASSIGNED, node->sym->name.data);
    return;
  }
  read_expr(f, node->a);
  read_expr(f, node->b);
  read_list(f, &node->list);
}

static void read_list(flow *f, const roc_ast_list *list) {
  for (uint32_t i = 0; i < list->count; i++) read_expr(f, list->items[i]);
}

/* ---- statements -------------------------------------------------------------------------- */

static void flow_block(flow *f, const roc_ast_list *block);

static void flow_local(flow *f, const roc_ast_node *stat) {
  read_list(f, &stat->values);
  uint32_t count = roc_fe_list_count(f->inf->inst, &stat->values);
  if (roc_fe_list_is_unknown(f->inf->inst, &stat->values)) count = stat->list.count;
  for (uint32_t k = 0; k < stat->list.count; k++) {
    set_assigned(f, stat->list.items[k]->sym->id, k < count);
  }
}

static void flow_assign(flow *f, const roc_ast_node *stat) {
  read_list(f, &stat->values);
  for (uint32_t k = 0; k < stat->list.count; k++) {
    if (stat->list.items[k]->kind != ROC_AST_LOCAL_NAME) read_expr(f, stat->list.items[k]);
  }
  for (uint32_t k = 0; k < stat->list.count; k++) {
    const roc_ast_node *target = stat->list.items[k];
    if (target->kind == ROC_AST_LOCAL_NAME) set_assigned(f, target->sym->id, true);
  }
}

static void flow_if(flow *f, const roc_ast_node *stat) {
  read_expr(f, stat->a);
  state before = copy_state(f, &f->now);
  flow_block(f, &stat->body);
  state after_then = f->now;
  f->now = before;
  flow_block(f, &stat->orelse);
  meet(f, &f->now, &after_then);
}

static bool is_true(const flow *f, const roc_ast_node *condition) {
  const roc_fe_node_info *info = roc_fe_node(f->inf->inst, condition);
  return info->is_const && !(info->value.type == ROC_VT_BOOL && !info->value.as.b);
}

static void enter_loop(flow *f, const roc_ast_node *stat) {
  if (!roc_vec_push(&f->loops, stat)) f->oom = true;
}

/* Out of a loop: by its condition with `leaving`, and by each break. */
static void leave_loop(flow *f, const roc_ast_node *stat, state leaving) {
  if (f->loops.count > 0) f->loops.count--;
  f->now = leaving;
  arrive(f, stat);
}

static void flow_while(flow *f, const roc_ast_node *stat) {
  read_expr(f, stat->a);
  state leaving = copy_state(f, &f->now);
  if (is_true(f, stat->a)) leaving.is_dead = true;
  enter_loop(f, stat);
  flow_block(f, &stat->body);
  leave_loop(f, stat, leaving);
}

static void flow_repeat(flow *f, const roc_ast_node *stat) {
  enter_loop(f, stat);
  flow_block(f, &stat->body);
  read_expr(f, stat->a);
  leave_loop(f, stat, f->now);
}

static void flow_for(flow *f, const roc_ast_node *stat) {
  read_expr(f, stat->a);
  read_expr(f, stat->b);
  read_expr(f, stat->c);
  state leaving = copy_state(f, &f->now);
  set_assigned(f, stat->sym->id, true);
  enter_loop(f, stat);
  flow_block(f, &stat->body);
  leave_loop(f, stat, leaving);
}

/* error(…) does not come back. */
static bool never_returns(const flow *f, const roc_ast_node *call) {
  const roc_fe_call *info = roc_fe_node(f->inf->inst, call)->call;
  return info && info->kind == ROC_CALLEE_BUILTIN && info->builtin == ROC_BUILTIN_ERROR;
}

static void flow_stat(flow *f, const roc_ast_node *stat) {
  switch (stat->kind) {
    case ROC_AST_LOCAL: flow_local(f, stat); break;
    /* Refused already: its calls need no message of their own. */
    case ROC_AST_LOCAL_FUNCTION: set_assigned(f, stat->sym->id, true); break;
    case ROC_AST_ASSIGN: flow_assign(f, stat); break;
    case ROC_AST_DO: flow_block(f, &stat->body); break;
    case ROC_AST_IF: flow_if(f, stat); break;
    case ROC_AST_WHILE: flow_while(f, stat); break;
    case ROC_AST_REPEAT: flow_repeat(f, stat); break;
    case ROC_AST_FOR_NUM: flow_for(f, stat); break;
    case ROC_AST_LABEL: arrive(f, stat); break;
    case ROC_AST_GOTO: jump_to(f, stat->a); break;
    case ROC_AST_BREAK:
      if (f->loops.count > 0) jump_to(f, roc_vec_last(&f->loops));
      break;
    case ROC_AST_CALL_STAT:
      read_expr(f, stat->a);
      if (never_returns(f, stat->a)) f->now.is_dead = true;
      break;
    case ROC_AST_RETURN:
      read_list(f, &stat->values);
      f->now.is_dead = true;
      break;
    default: break; /* refused by restrict.c */
  }
}

static void flow_block(flow *f, const roc_ast_list *block) {
  for (uint32_t i = 0; i < block->count && !f->oom; i++) flow_stat(f, block->items[i]);
}

void roc_infer_flow(roc_infer *inf) {
  const roc_ast_func *func = inf->inst->fn->ast;
  flow f = {.inf = inf, .nwords = func->nsymbols / 64 + 1};
  roc_arena_init(&f.scratch, (size_t)1 << 29);
  f.now.bits = ROC_ARENA_ARRAY(&f.scratch, uint64_t, f.nwords);
  if (f.now.bits) {
    for (uint32_t i = 0; i < func->nparams; i++) set_assigned(&f, func->params[i]->id, true);
    flow_block(&f, &func->body);
    if (inf->inst->nresults > 0 && !f.now.is_dead) {
      ROC_INFER_REPORT(inf, func->span, ROC_DIAG_MISSING_RETURN, inf->inst->fn->name,
                       inf->inst->nresults);
    }
  }
  if (!f.now.bits || f.oom) inf->oom = true;
  roc_vec_deinit(&f.targets);
  roc_vec_deinit(&f.loops);
  roc_arena_deinit(&f.scratch);
}
