/* Statements to structured control flow.
 *
 * break, goto and return become LEAVEs of the LOOP, FOR or BLOCK around them. A BLOCK for a label
 * begins at the first statement that jumps to it, so that values made before it stay visible after
 * it. */
#include "frontend/lower/lower.h"

void roc_lower_declare(roc_lower *lx, const roc_ast_symbol *sym, roc_operand value) {
  roc_slot *slot = &lx->frame->slots[sym->id];
  roc_ty t = roc_fe_sym(lx->frame->inst, sym)->type;
  bool is_fixed = sym->assignments == 0 && value.type.kind != ROC_TY_NONE;
  if (is_fixed || roc_ty_is_static(t)) {
    slot->is_var = false;
    slot->operand = value;
    if (is_fixed && !value.is_const && !roc_ty_is_static(t)) {
      slot->operand = roc_operand_of(t, roc_lower_as(lx, value, roc_lower_vt(lx, t)));
    }
    return;
  }
  if (t.kind <= ROC_TY_ERROR) return; /* never assigned, hence never read */
  slot->is_var = true;
  slot->var = roc_ir_add_var(&lx->b, sym->name.data, roc_lower_vt(lx, t));
  if (value.type.kind != ROC_TY_NONE) {
    roc_ir_set(&lx->b, slot->var, roc_lower_as(lx, value, roc_lower_vt(lx, t)));
  }
}

/* For messages that speak of the value. */
static void name_local(roc_lower *lx, const roc_ast_symbol *sym) {
  const roc_slot *slot = &lx->frame->slots[sym->id];
  roc_ty t = roc_fe_sym(lx->frame->inst, sym)->type;
  if (slot->is_var || slot->operand.is_const || roc_ty_is_static(t)) return;
  roc_ir_name_value(&lx->b, slot->operand.id, sym->name.data);
}

static void lower_local(roc_lower *lx, const roc_ast_node *stat) {
  uint32_t count;
  lx->locals = &stat->list;
  roc_operand *values = roc_lower_list(lx, &stat->values, &count);
  if (!values) return;
  roc_lower_place(lx, stat);
  for (uint32_t k = 0; k < stat->list.count; k++) {
    roc_operand none = roc_operand_of(roc_ty_of(ROC_TY_NONE), ROC_IR_NONE);
    roc_lower_declare(lx, stat->list.items[k]->sym, k < count ? values[k] : none);
    name_local(lx, stat->list.items[k]->sym);
  }
}

/* ---- assignment -------------------------------------------------------------------------- */

static void assign_local(roc_lower *lx, const roc_ast_node *target, roc_operand value) {
  const roc_slot *slot = &lx->frame->slots[target->sym->id];
  roc_ty t = roc_fe_sym(lx->frame->inst, target->sym)->type;
  if (!slot->is_var) return;
  roc_ir_set(&lx->b, slot->var, roc_lower_as(lx, value, roc_lower_vt(lx, t)));
}

/* Lua's order: what the targets need, the values, then the assignments from the last to the
 * first. */
static void lower_assign(roc_lower *lx, const roc_ast_node *stat) {
  uint32_t n = stat->list.count, count;
  roc_operand *bases = roc_lower_operands(lx, n), *keys = roc_lower_operands(lx, n);
  for (uint32_t k = 0; k < n && bases && keys; k++) {
    const roc_ast_node *target = stat->list.items[k];
    if (target->kind != ROC_AST_INDEX) continue;
    bases[k] = roc_lower_expr(lx, target->a);
    keys[k] = roc_lower_expr(lx, target->b);
  }
  roc_operand *values = roc_lower_list(lx, &stat->values, &count);
  if (!bases || !keys || !values) return;
  for (uint32_t k = n; k-- > 0;) {
    const roc_ast_node *target = stat->list.items[k];
    roc_lower_place(lx, target);
    if (target->kind == ROC_AST_INDEX) {
      roc_lower_store(lx, target, &bases[k].array, keys[k], values[k]);
    } else {
      assign_local(lx, target, values[k]);
    }
  }
}

/* ---- loops and branches ------------------------------------------------------------------ */

static void lower_if(roc_lower *lx, const roc_ast_node *stat) {
  uint32_t test = roc_lower_truth(lx, roc_lower_expr(lx, stat->a));
  roc_lower_place(lx, stat);
  uint32_t branch = roc_ir_begin_if(&lx->b, test);
  roc_lower_block(lx, &stat->body);
  if (stat->orelse.count > 0) {
    roc_ir_else(&lx->b, branch);
    roc_lower_block(lx, &stat->orelse);
  }
  roc_ir_end(&lx->b, branch);
}

/* Leaves the loop when the condition is what `leave_on` says. */
static void leave_loop_if(roc_lower *lx, const roc_ast_node *condition, uint32_t loop,
                          bool leave_on) {
  roc_operand op = roc_lower_expr(lx, condition);
  bool is_known = !op.type.maybe_false && (op.is_const || roc_ty_is_number(op.type));
  bool known = !(op.is_const && op.type.kind == ROC_TY_BOOL && !op.value.as.b);
  if (is_known) {
    if (known == leave_on) roc_ir_leave(&lx->b, loop);
    return;
  }
  uint32_t test = roc_lower_truth(lx, op);
  roc_lower_place(lx, condition);
  if (!leave_on) test = roc_ir_unary(&lx->b, ROC_IR_NOT, test);
  uint32_t branch = roc_ir_begin_if(&lx->b, test);
  roc_ir_leave(&lx->b, loop);
  roc_ir_end(&lx->b, branch);
}

static void lower_while(roc_lower *lx, const roc_ast_node *stat) {
  uint32_t outer = lx->frame->loop;
  uint32_t loop = roc_ir_begin_loop(&lx->b);
  lx->frame->loop = loop;
  leave_loop_if(lx, stat->a, loop, false);
  roc_lower_block(lx, &stat->body);
  roc_ir_end(&lx->b, loop);
  lx->frame->loop = outer;
}

static void lower_repeat(roc_lower *lx, const roc_ast_node *stat) {
  uint32_t outer = lx->frame->loop;
  uint32_t loop = roc_ir_begin_loop(&lx->b);
  lx->frame->loop = loop;
  roc_lower_block(lx, &stat->body);
  if (!roc_ir_is_dead(&lx->b)) leave_loop_if(lx, stat->a, loop, true);
  roc_ir_end(&lx->b, loop);
  lx->frame->loop = outer;
}

/* A step that is no constant may be zero: Lua raises. */
static void check_step(roc_lower *lx, const roc_ast_node *stat, roc_operand step) {
  if (!lx->options->check || step.is_const || !stat->c) return;
  roc_lower_place(lx, stat->c);
  uint32_t id = roc_lower_id(lx, step);
  uint32_t test =
      roc_ir_binary(&lx->b, ROC_IR_NE, id, roc_lower_zero(lx, roc_ir_type_of(&lx->b, id)));
  roc_lower_check(lx, stat->c, test, "'for' step is zero");
}

static roc_operand step_operand(roc_lower *lx, const roc_ast_node *stat) {
  return stat->c ? roc_lower_expr(lx, stat->c) : roc_operand_int(1);
}

/* The loop's variable: what FOR counts, or a copy when the body assigns to it. */
static void declare_counter(roc_lower *lx, const roc_ast_node *stat, roc_ty t, uint32_t var) {
  roc_lower_declare(lx, stat->sym, roc_operand_of(t, roc_ir_get(&lx->b, var)));
}

/* `up` for an integer step that goes up, `down` for one that goes down. */
static uint32_t by_direction(roc_lower *lx, roc_operand step, uint32_t up, uint32_t down) {
  if (step.is_const) return step.value.as.i > 0 ? up : down;
  uint32_t is_down =
      roc_ir_binary(&lx->b, ROC_IR_LT, roc_lower_id(lx, step), roc_lower_zero(lx, ROC_VT_INT));
  return roc_ir_select(&lx->b, is_down, down, up);
}

/* The integer limit for the float limit of an integer loop, as forlimit of lvm.c computes it;
 * *can_reach is false where the loop never runs. The limit is rounded down for an ascending loop,
 * up for a descending one, and clamped to the integers. A NaN counts as less than all integers: an
 * ascending loop does not run, and a descending one runs to the least integer. */
static uint32_t clip_limit(roc_lower *lx, uint32_t limit, roc_operand step, uint32_t *can_reach) {
  roc_value_type vt = roc_ir_type_of(&lx->b, limit);
  uint32_t lowest = roc_lower_float(lx, vt, -0x1p63), beyond = roc_lower_float(lx, vt, 0x1p63);
  uint32_t is_above = roc_ir_binary(&lx->b, ROC_IR_LE, lowest, limit);
  uint32_t is_beyond = roc_ir_binary(&lx->b, ROC_IR_LE, beyond, limit);
  uint32_t least = roc_lower_id(lx, roc_operand_int(INT64_MIN));
  uint32_t down = roc_ir_unary(&lx->b, ROC_IR_CEIL, limit);
  uint32_t up = roc_ir_unary(&lx->b, ROC_IR_FLOOR, limit);
  down = roc_ir_select(&lx->b, is_above, down, least);
  *can_reach = by_direction(lx, step, is_above, roc_ir_unary(&lx->b, ROC_IR_NOT, is_beyond));
  return by_direction(lx, step, up, down);
}

static void lower_integer_for(roc_lower *lx, const roc_ast_node *stat, roc_operand first,
                              roc_operand last, roc_operand step) {
  uint32_t outer = lx->frame->loop, guard = ROC_IR_NONE, limit;
  uint32_t start = roc_lower_id(lx, first), by = roc_lower_id(lx, step);
  roc_lower_place(lx, stat);
  if (last.type.kind == ROC_TY_INT) {
    limit = roc_lower_id(lx, last);
  } else {
    uint32_t can_reach;
    limit = clip_limit(lx, roc_lower_id(lx, last), step, &can_reach);
    guard = roc_ir_begin_if(&lx->b, can_reach);
  }
  uint32_t var = roc_ir_add_var(&lx->b, stat->sym->name.data, ROC_VT_INT);
  uint32_t loop = roc_ir_begin_for(&lx->b, var, start, limit, by);
  lx->frame->loop = loop;
  declare_counter(lx, stat, roc_ty_of(ROC_TY_INT), var);
  roc_lower_block(lx, &stat->body);
  roc_ir_end(&lx->b, loop);
  if (guard != ROC_IR_NONE) roc_ir_end(&lx->b, guard);
  lx->frame->loop = outer;
}

/* a `op` b in a loop that goes up, b `op` a in one that goes down. */
static uint32_t float_loop_test(roc_lower *lx, roc_operand step, uint32_t by, roc_ir_op op,
                                uint32_t a, uint32_t b) {
  uint32_t up = roc_ir_binary(&lx->b, op, a, b), down = roc_ir_binary(&lx->b, op, b, a);
  if (step.is_const) {
    double value = step.value.type == ROC_VT_INT ? (double)step.value.as.i : step.value.as.f;
    return value > 0 ? up : down;
  }
  uint32_t zero = roc_lower_zero(lx, roc_ir_type_of(&lx->b, by));
  return roc_ir_select(&lx->b, roc_ir_binary(&lx->b, ROC_IR_LT, zero, by), up, down);
}

static void leave_unless(roc_lower *lx, uint32_t loop, uint32_t condition) {
  uint32_t branch = roc_ir_begin_if(&lx->b, roc_ir_unary(&lx->b, ROC_IR_NOT, condition));
  roc_ir_leave(&lx->b, loop);
  roc_ir_end(&lx->b, branch);
}

/* As forprep and floatforloop of lvm.c: starts unless the limit is already passed, and continues
 * while it is not passed; so a loop with a NaN runs once. */
static void lower_float_for(roc_lower *lx, const roc_ast_node *stat, roc_operand first,
                            roc_operand last, roc_operand step) {
  roc_ty t = roc_ty_join(roc_ty_join(first.type, step.type), last.type);
  roc_value_type vt = roc_lower_vt(lx, t);
  uint32_t outer = lx->frame->loop;
  uint32_t start = roc_lower_as(lx, first, vt), limit = roc_lower_as(lx, last, vt);
  uint32_t by = roc_lower_as(lx, step, vt);
  roc_lower_place(lx, stat);
  uint32_t var = roc_ir_add_var(&lx->b, stat->sym->name.data, vt);
  roc_ir_set(&lx->b, var, start);
  uint32_t is_past = float_loop_test(lx, step, by, ROC_IR_LT, limit, start);
  uint32_t guard = roc_ir_begin_if(&lx->b, roc_ir_unary(&lx->b, ROC_IR_NOT, is_past));
  uint32_t loop = roc_ir_begin_loop(&lx->b);
  lx->frame->loop = loop;
  declare_counter(lx, stat, t, var);
  roc_lower_block(lx, &stat->body);
  uint32_t next = roc_ir_binary(&lx->b, ROC_IR_ADD, roc_ir_get(&lx->b, var), by);
  roc_ir_set(&lx->b, var, next);
  leave_unless(lx, loop, float_loop_test(lx, step, by, ROC_IR_LE, next, limit));
  roc_ir_end(&lx->b, loop);
  roc_ir_end(&lx->b, guard);
  lx->frame->loop = outer;
}

static void lower_for(roc_lower *lx, const roc_ast_node *stat) {
  roc_operand first = roc_lower_expr(lx, stat->a);
  roc_operand last = roc_lower_expr(lx, stat->b);
  roc_operand step = step_operand(lx, stat);
  check_step(lx, stat, step);
  bool is_integer = first.type.kind == ROC_TY_INT && step.type.kind == ROC_TY_INT;
  (is_integer ? lower_integer_for : lower_float_for)(lx, stat, first, last, step);
}

/* ---- leaving ----------------------------------------------------------------------------- */

static void lower_return(roc_lower *lx, const roc_ast_node *stat) {
  const roc_frame *frame = lx->frame;
  uint32_t count;
  if (!frame->caller) {
    roc_ir_return(&lx->b);
    return;
  }
  roc_operand *values = roc_lower_list(lx, &stat->values, &count);
  roc_lower_place(lx, stat);
  for (uint32_t k = 0; values && k < frame->inst->nresults && k < count; k++) {
    roc_ty t = frame->inst->results[k];
    uint32_t id = roc_lower_as(lx, values[k], roc_lower_vt(lx, t));
    if (frame->block == ROC_IR_NONE) {
      frame->results[k] = roc_operand_of(t, id);
    } else {
      roc_ir_set(&lx->b, frame->result_vars[k], id);
    }
  }
  if (frame->block != ROC_IR_NONE) roc_ir_leave(&lx->b, frame->block);
}

static void lower_break(roc_lower *lx, const roc_ast_node *stat) {
  roc_lower_place(lx, stat);
  roc_ir_leave(&lx->b, lx->frame->loop);
}

static void lower_goto(roc_lower *lx, const roc_ast_node *stat) {
  roc_lower_place(lx, stat);
  for (uint32_t i = lx->labels.count; i-- > 0;) {
    if (lx->labels.items[i].label == stat->a) {
      roc_ir_leave(&lx->b, lx->labels.items[i].block);
      return;
    }
  }
  /* more labels in one block than find_ranges keeps */
  const roc_fe_function *fn = lx->frame->inst->fn;
  roc_diag_report(lx->diags, fn->chunk, stat->span, ROC_DIAG_LABEL_LIMIT,
                  (unsigned)ROC_LOWER_MAX_BLOCKS);
  lx->stop = true;
}

static void lower_do(roc_lower *lx, const roc_ast_node *stat) {
  roc_lower_block(lx, &stat->body);
}

static void lower_call_stat(roc_lower *lx, const roc_ast_node *stat) {
  uint32_t count;
  roc_lower_call(lx, stat->a, &count);
}

typedef void stat_fn(roc_lower *lx, const roc_ast_node *stat);

static stat_fn *const stat_table[ROC_AST_COUNT_] = {
    [ROC_AST_LOCAL] = lower_local,   [ROC_AST_ASSIGN] = lower_assign,
    [ROC_AST_DO] = lower_do,         [ROC_AST_CALL_STAT] = lower_call_stat,
    [ROC_AST_WHILE] = lower_while,   [ROC_AST_REPEAT] = lower_repeat,
    [ROC_AST_IF] = lower_if,         [ROC_AST_FOR_NUM] = lower_for,
    [ROC_AST_RETURN] = lower_return, [ROC_AST_BREAK] = lower_break,
    [ROC_AST_GOTO] = lower_goto,
};

/* ---- blocks and their labels ------------------------------------------------------------- */

static bool list_jumps_to(const roc_ast_list *list, const roc_ast_node *label);

static bool jumps_to(const roc_ast_node *stat, const roc_ast_node *label) {
  if (stat->kind == ROC_AST_GOTO) return stat->a == label;
  return list_jumps_to(&stat->body, label) || list_jumps_to(&stat->orelse, label);
}

static bool list_jumps_to(const roc_ast_list *list, const roc_ast_node *label) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (jumps_to(list->items[i], label)) return true;
  }
  return false;
}

typedef struct label_range {
  uint32_t first, end; /* statements: the first that jumps there; the label */
} label_range;

/* The labels of a block that are jumped to, last label first; ranges nest. */
static uint32_t find_ranges(const roc_ast_list *block, label_range *ranges) {
  uint32_t count = 0;
  for (uint32_t k = block->count; k-- > 0 && count < ROC_LOWER_MAX_BLOCKS;) {
    if (block->items[k]->kind != ROC_AST_LABEL || !block->items[k]->is_reached) continue;
    uint32_t first = 0;
    while (first < k && !jumps_to(block->items[first], block->items[k])) first++;
    if (first < k) ranges[count++] = (label_range){first, k};
  }
  /* a range that begins inside a shorter one begins with it instead */
  for (uint32_t j = count; j-- > 0;) {
    for (uint32_t i = 0; i < j; i++) {
      bool is_crossing = ranges[i].first > ranges[j].first && ranges[i].first < ranges[j].end;
      if (is_crossing) ranges[i].first = ranges[j].first;
    }
  }
  return count;
}

static void open_blocks(roc_lower *lx, const roc_ast_list *block, const label_range *ranges,
                        uint32_t count, uint32_t at) {
  for (uint32_t i = 0; i < count; i++) {
    if (ranges[i].first != at) continue;
    roc_lower_place(lx, block->items[at]);
    roc_label_block open = {block->items[ranges[i].end], roc_ir_begin_block(&lx->b)};
    if (!roc_vec_push(&lx->labels, open)) lx->stop = true;
  }
}

static void close_blocks(roc_lower *lx, const roc_ast_node *label) {
  if (lx->labels.count > 0 && roc_vec_last(&lx->labels).label == label) {
    roc_ir_end(&lx->b, roc_vec_pop(&lx->labels).block);
  }
}

void roc_lower_block(roc_lower *lx, const roc_ast_list *block) {
  label_range ranges[ROC_LOWER_MAX_BLOCKS];
  uint32_t count = find_ranges(block, ranges);
  lx->depth++;
  for (uint32_t i = 0; i < block->count; i++) {
    const roc_ast_node *stat = block->items[i];
    if (stat->kind == ROC_AST_LABEL) close_blocks(lx, stat);
    if (roc_lower_is_done(lx, stat)) break;
    open_blocks(lx, block, ranges, count, i);
    if (roc_ir_is_dead(&lx->b) || !stat_table[stat->kind]) continue;
    roc_lower_place(lx, stat);
    stat_table[stat->kind](lx, stat);
  }
  lx->depth--;
}
