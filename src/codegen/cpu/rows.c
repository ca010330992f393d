/* Statements that the items of a row execute together, loops around items: see cpu/wide.c.
 *
 * A level of kind ROW stands for the items [x, x + count) of one row.  They need not agree: where
 * they part company, those of one contiguous range go on together, and anything more tangled is
 * executed item by item, as a row of one, so that no item waits for another's iterations.  Hence a
 * statement is emitted at most twice: for a row, and for a single item.
 *
 * Invariant: where a level's statements are executed at least one of its items is alive.  A level
 * counts its own, as a loop would otherwise go on for as long as an item of another row lives. */
#include "codegen/cpu/cpu.h"

/* ---- cells: i64 variables around item loops ---------------------------------------------- */

static LLVMValueRef new_cell(cpu_state *s, int64_t initial) {
  LLVMValueRef cell = roc_cg_alloca(s->cg, s->cg->t.i64, "");
  LLVMBuildStore(s->cg->b, roc_cg_i64(s->cg, initial), cell);
  return cell;
}

static LLVMValueRef read_cell(cpu_state *s, LLVMValueRef cell) {
  return LLVMBuildLoad2(s->cg->b, s->cg->t.i64, cell, "");
}

static void fold(cpu_state *s, const char *name, LLVMValueRef cell, LLVMValueRef value) {
  roc_cg *cg = s->cg;
  LLVMValueRef args[2] = {read_cell(s, cell), value};
  LLVMBuildStore(cg->b, roc_cg_intrinsic(cg, name, &cg->t.i64, 1, args, 2), cell);
}

static LLVMValueRef is_equal(cpu_state *s, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(s->cg->b, LLVMIntEQ, a, b, "");
}

/* ---- some of the items ------------------------------------------------------------------- */

static void emit_region(cpu_state *s, uint32_t region) {
  const roc_ir_ids *ids = &s->cg->ir->regions.items[region];
  cpu_emit_list(s, ids->items, ids->count);
}

void cpu_part_begin(cpu_state *s, cpu_level *part, LLVMValueRef present, LLVMValueRef alive) {
  roc_cg *cg = s->cg;
  part->outer = s->level;
  part->end = roc_cg_block(cg, "row.end");
  part->present = present;
  s->level = part;
  if (!s->needs_live) return;
  part->live_count = roc_cg_alloca(cg, cg->t.i64, "alive");
  LLVMBuildStore(cg->b, alive ? alive : present, part->live_count);
  if (alive) cpu_end_if_all_dead(s);
}

void cpu_part_end(cpu_state *s, cpu_level *part) {
  roc_cg_goto(s->cg, part->end);
  roc_cg_at(s->cg, part->end);
  s->level = part->outer;
}

/* After statement `id`, parts of which may have ended all items of the level. */
static void end_if_stopped(cpu_state *s, uint32_t id) {
  if (s->needs_live && s->plan.stops[id]) cpu_end_if_all_dead(s);
}

/* What is emitted for a single item: a statement, from iteration `done` on where it is a FOR. */
typedef void emit_single(cpu_state *s, uint32_t id, LLVMValueRef done);

/* Emits `emit` for each of the level's items by itself. */
static void one_by_one(cpu_state *s, uint32_t id, LLVMValueRef done, emit_single *emit) {
  roc_cg *cg = s->cg;
  cpu_level one = *s->level;
  cpu_loop loop;
  cpu_loop_begin(s, &loop, one.count, "one");
  LLVMValueRef offset = loop.index;
  if (one.stride) offset = LLVMBuildNUWMul(cg->b, offset, one.stride, "");
  one.x = LLVMBuildNUWAdd(cg->b, one.x, offset, "");
  one.stride = NULL;
  one.count = roc_cg_i64(cg, 1);
  one.is_single = true;
  LLVMValueRef alive = NULL;
  if (s->needs_live && s->may_be_dead) {
    LLVMValueRef lin = LLVMBuildNUWAdd(cg->b, one.row, one.x, "");
    alive = LLVMBuildLoad2(cg->b, cg->t.i8, cpu_slot_at(s, &s->live, lin), "");
    alive = LLVMBuildZExt(cg->b, alive, cg->t.i64, "");
  }
  cpu_part_begin(s, &one, one.count, alive);
  emit(s, id, done);
  cpu_part_end(s, &one);
  cpu_loop_end(s, &loop);
  end_if_stopped(s, id);
}

/* ---- IF ---------------------------------------------------------------------------------- */

/* The items that say yes: how many, the first, and whether they are neighbours; NULL: they are, or
 * lie `stride` apart. */
typedef struct split {
  LLVMValueRef count, first, is_range;
  LLVMValueRef stride; /* NULL: 1 */
} split;

static split survey_condition(cpu_state *s, uint32_t cond) {
  roc_cg *cg = s->cg;
  LLVMValueRef total = new_cell(s, 0), first = new_cell(s, INT64_MAX), last = new_cell(s, -1);
  cpu_run run;
  cpu_items_begin(s, &run, true);
  LLVMValueRef yes = cpu_operand(cg, cond);
  LLVMValueRef one = LLVMBuildZExt(cg->b, yes, cg->t.i64, "");
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, read_cell(s, total), one, ""), total);
  LLVMValueRef none = roc_cg_i64(cg, INT64_MAX), before = roc_cg_i64(cg, -1);
  fold(s, "llvm.smin", first, LLVMBuildSelect(cg->b, yes, run.x, none, ""));
  fold(s, "llvm.smax", last, LLVMBuildSelect(cg->b, yes, run.x, before, ""));
  cpu_items_end(s);
  split found = {.count = read_cell(s, total), .first = read_cell(s, first)};
  LLVMValueRef span = LLVMBuildSub(cg->b, read_cell(s, last), found.first, "");
  span = LLVMBuildAdd(cg->b, span, roc_cg_i64(cg, 1), "");
  found.is_range = is_equal(s, found.count, span);
  return found;
}

/* The bounds of a range can be computed: no item needs to be asked. */
static split solve_condition(cpu_state *s, uint32_t cond) {
  cpu_place at = {s->level->x, s->level->y, s->level->z};
  cpu_range range = cpu_range_of(s, cond, true, &at, s->level->count);
  LLVMValueRef count = LLVMBuildNUWSub(s->cg->b, range.end, range.low, "");
  if (range.step) count = cpu_count_steps(s->cg, count, range.step);
  return (split){.count = count,
                 .first = LLVMBuildNUWAdd(s->cg->b, s->level->x, range.low, ""),
                 .stride = range.step};
}

/* `may_stride`: it matters only which items say yes. */
static split find_items(cpu_state *s, uint32_t cond, bool may_stride) {
  bool is_whole = s->level->rows <= 1 && !s->level->stride && !(s->needs_live && s->may_be_dead);
  bool is_solved = is_whole && (may_stride ? cpu_is_regular(s, cond) : cpu_is_range(s, cond, true));
  return (is_solved ? solve_condition : survey_condition)(s, cond);
}

/* All of the level's items go one way. */
static void branch_together(cpu_state *s, uint32_t id, LLVMValueRef yes) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMBasicBlockRef then = roc_cg_block(cg, "row.then"), other = roc_cg_block(cg, "row.else");
  LLVMBasicBlockRef end = roc_cg_block(cg, "row.end");
  LLVMBuildCondBr(cg->b, yes, then, other);
  roc_cg_at(cg, then);
  bool may_be_dead = s->may_be_dead;
  emit_region(s, inst->k.region[0]);
  roc_cg_goto(cg, end);
  bool after_then = s->may_be_dead;
  s->may_be_dead = may_be_dead;
  roc_cg_at(cg, other);
  emit_region(s, inst->k.region[1]);
  roc_cg_goto(cg, end);
  s->may_be_dead |= after_then;
  roc_cg_at(cg, end);
}

static void emit_single_if(cpu_state *s, uint32_t id, LLVMValueRef done) {
  (void)done;
  split found = survey_condition(s, roc_ir_arg(s->cg->ir, &s->cg->ir->insts.items[id], 0));
  LLVMValueRef none = roc_cg_i64(s->cg, 0);
  branch_together(s, id, LLVMBuildICmp(s->cg->b, LLVMIntNE, found.count, none, ""));
}

/* The way of a range of items while the others do nothing: `else` is empty, or no item takes it. */
static void emit_range(cpu_state *s, uint32_t region, const split *found) {
  cpu_level part = *s->level;
  part.x = found->first;
  part.count = found->count;
  if (found->stride) part.stride = found->stride;
  cpu_part_begin(s, &part, part.count, NULL);
  emit_region(s, region);
  cpu_part_end(s, &part);
}

static void emit_if(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  uint32_t cond = roc_ir_arg(cg->ir, inst, 0);
  if (s->plan.is_uniform[cond]) {
    branch_together(s, id, cpu_group_value(s, cond));
    return;
  }
  bool has_else = cg->ir->regions.items[inst->k.region[1]].count > 0;
  split found = find_items(s, cond, !has_else && !s->chunk.count);
  if (has_else) found.is_range = is_equal(s, found.count, s->level->count);
  LLVMBasicBlockRef some = roc_cg_block(cg, "row.some"), none = roc_cg_block(cg, "row.none");
  LLVMBasicBlockRef end = roc_cg_block(cg, "row.end");
  bool before = s->may_be_dead, after = before;
  LLVMBuildCondBr(cg->b, is_equal(s, found.count, roc_cg_i64(cg, 0)), none, some);
  roc_cg_at(cg, none);
  emit_region(s, inst->k.region[1]);
  roc_cg_goto(cg, end);
  after |= s->may_be_dead;
  s->may_be_dead = before;
  roc_cg_at(cg, some);
  if (found.is_range) {
    LLVMBasicBlockRef range = roc_cg_block(cg, "row.range"), mixed = roc_cg_block(cg, "row.mixed");
    roc_cg_branch_likely(cg, found.is_range, range, mixed);
    roc_cg_at(cg, mixed);
    one_by_one(s, id, NULL, emit_single_if);
    roc_cg_goto(cg, end);
    after |= s->may_be_dead;
    s->may_be_dead = before;
    roc_cg_at(cg, range);
  }
  emit_range(s, inst->k.region[0], &found);
  end_if_stopped(s, id);
  roc_cg_goto(cg, end);
  s->may_be_dead |= after;
  roc_cg_at(cg, end);
}

/* ---- FOR --------------------------------------------------------------------------------- */

typedef struct trip {
  LLVMValueRef step, least, most; /* i64: iterations of the item with the fewest, the most */
} trip;

/* The bounds are the same for all: no item needs to be asked. */
static trip shared_trip(cpu_state *s, const roc_ir_inst *inst) {
  LLVMValueRef bounds[3];
  for (uint32_t i = 0; i < 3; i++) {
    bounds[i] = cpu_group_value(s, roc_ir_arg(s->cg->ir, inst, i));
  }
  LLVMValueRef count = roc_cg_for_count(s->cg, bounds[0], bounds[1], bounds[2]);
  return (trip){.step = bounds[2], .least = count, .most = count};
}

/* Where only the first value differs, the iterations do not increase with it (or, counting down, do
 * not decrease), so its extremes are enough: no division per item. */
static trip survey_first(cpu_state *s, const roc_ir_inst *inst) {
  roc_cg *cg = s->cg;
  LLVMValueRef least = new_cell(s, INT64_MAX), most = new_cell(s, INT64_MIN);
  cpu_run run;
  cpu_items_begin(s, &run, true);
  LLVMValueRef first = cpu_operand(cg, roc_ir_arg(cg->ir, inst, 0));
  fold(s, "llvm.smin", least, first);
  fold(s, "llvm.smax", most, first);
  cpu_items_end(s);
  LLVMValueRef last = cpu_group_value(s, roc_ir_arg(cg->ir, inst, 1));
  LLVMValueRef step = cpu_group_value(s, roc_ir_arg(cg->ir, inst, 2));
  LLVMValueRef ends[2] = {read_cell(s, least), read_cell(s, most)}, counts[2];
  for (int i = 0; i < 2; i++) counts[i] = roc_cg_for_count(cg, ends[i], last, step);
  LLVMValueRef some = LLVMBuildICmp(cg->b, LLVMIntSLE, ends[0], ends[1], "");
  LLVMValueRef low = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, counts, 2);
  LLVMValueRef high = roc_cg_intrinsic(cg, "llvm.umax", &cg->t.i64, 1, counts, 2);
  LLVMValueRef zero = roc_cg_i64(cg, 0); /* no item is left */
  return (trip){.step = step,
                .least = LLVMBuildSelect(cg->b, some, low, zero, ""),
                .most = LLVMBuildSelect(cg->b, some, high, zero, "")};
}

static trip survey_bounds(cpu_state *s, const roc_ir_inst *inst) {
  roc_cg *cg = s->cg;
  LLVMValueRef least = new_cell(s, -1), most = new_cell(s, 0), step = new_cell(s, 1);
  cpu_run run;
  cpu_items_begin(s, &run, true);
  LLVMValueRef bounds[3];
  for (uint32_t i = 0; i < 3; i++) bounds[i] = cpu_operand(cg, roc_ir_arg(cg->ir, inst, i));
  LLVMValueRef count = roc_cg_for_count(cg, bounds[0], bounds[1], bounds[2]);
  fold(s, "llvm.umin", least, count);
  fold(s, "llvm.umax", most, count);
  LLVMBuildStore(cg->b, bounds[2], step);
  cpu_items_end(s);
  trip found = {.step = read_cell(s, step), .most = read_cell(s, most)};
  LLVMValueRef bounded[2] = {read_cell(s, least), found.most}; /* no item is left: no iteration */
  found.least = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, bounded, 2);
  return found;
}

static trip find_trip(cpu_state *s, const roc_ir_inst *inst) {
  bool is_uniform[3];
  for (uint32_t i = 0; i < 3; i++) {
    is_uniform[i] = s->plan.is_uniform[roc_ir_arg(s->cg->ir, inst, i)];
  }
  if (!is_uniform[1] || !is_uniform[2]) return survey_bounds(s, inst);
  return is_uniform[0] ? shared_trip(s, inst) : survey_first(s, inst);
}

/* Iterations [done, count) of the level's items. */
static void emit_iterations(cpu_state *s, uint32_t id, LLVMValueRef step, LLVMValueRef done,
                            LLVMValueRef count) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef *advance = &s->advances[inst->aux];
  if (!*advance) *advance = roc_cg_alloca(cg, cg->t.i64, "advance");
  s->may_be_dead |= s->plan.stops[id];
  LLVMBuildStore(cg->b, LLVMBuildMul(cg->b, done, step, ""), *advance);
  cpu_loop loop;
  cpu_loop_begin(s, &loop, LLVMBuildSub(cg->b, count, done, ""), "row.for");
  if (!s->level->is_single && !s->level->stride) cpu_prefetch(s, id, step, NULL);
  emit_region(s, inst->k.region[0]);
  LLVMValueRef next = LLVMBuildAdd(cg->b, read_cell(s, *advance), step, "");
  LLVMBuildStore(cg->b, next, *advance);
  LLVMValueRef items = s->level->is_single ? NULL : s->level->count;
  if (s->level->rows > 1) items = LLVMBuildNUWMul(cg->b, items, roc_cg_i64(cg, s->level->rows), "");
  cpu_look(s, id, items);
  cpu_loop_end(s, &loop);
}

/* The first value grows by one from item to item, and last value and step, upwards, are the same
 * for all: in each iteration, the items that are still in it are the first ones of the row. */
static bool is_grid_stride(const cpu_state *s, uint32_t id) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_inst *inst = &ir->insts.items[id];
  uint32_t last = roc_ir_arg(ir, inst, 1), step = roc_ir_arg(ir, inst, 2);
  return !s->needs_live && !s->level->stride && s->plan.is_uniform[last] &&
         s->plan.is_uniform[step] && cpu_is_positive(s, step) &&
         cpu_grows_by_one(s, roc_ir_arg(ir, inst, 0));
}

/* Iterations from `done` on of the level's items, such ones. */
static void emit_grid_stride(cpu_state *s, uint32_t id, LLVMValueRef done) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  cpu_place at = {s->level->x, s->level->y, s->level->z};
  LLVMValueRef first = cpu_value_at(s, roc_ir_arg(cg->ir, inst, 0), &at);
  LLVMValueRef last = cpu_group_value(s, roc_ir_arg(cg->ir, inst, 1));
  LLVMValueRef step = cpu_group_value(s, roc_ir_arg(cg->ir, inst, 2));
  LLVMValueRef count = roc_cg_for_count(cg, first, last, step);
  LLVMValueRef *advance = &s->advances[inst->aux];
  if (!*advance) *advance = roc_cg_alloca(cg, cg->t.i64, "advance");
  LLVMBuildStore(cg->b, LLVMBuildMul(cg->b, done, step, ""), *advance);
  LLVMValueRef bounds[2] = {count, done}; /* the first item of them has the most */
  count = roc_cg_intrinsic(cg, "llvm.umax", &cg->t.i64, 1, bounds, 2);
  cpu_loop loop;
  cpu_loop_begin(s, &loop, LLVMBuildSub(cg->b, count, done, ""), "row.for");
  if (!s->is_merging) cpu_prefetch(s, id, step, NULL); /* a long row needs none */
  LLVMValueRef value = LLVMBuildAdd(cg->b, first, read_cell(s, *advance), "");
  LLVMValueRef present = LLVMBuildSub(cg->b, s->level->count, roc_cg_i64(cg, 1), "");
  LLVMValueRef args[2] = {LLVMBuildSub(cg->b, last, value, ""), present}; /* value <= last */
  present = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
  present = LLVMBuildNUWAdd(cg->b, present, roc_cg_i64(cg, 1), "");
  const split first_ones = {.first = s->level->x, .count = present};
  emit_range(s, inst->k.region[0], &first_ones);
  LLVMBuildStore(cg->b, LLVMBuildAdd(cg->b, read_cell(s, *advance), step, ""), *advance);
  cpu_look(s, id, s->level->count);
  cpu_loop_end(s, &loop);
}

static void emit_single_for(cpu_state *s, uint32_t id, LLVMValueRef done) {
  const roc_ir_inst *inst = &s->cg->ir->insts.items[id];
  trip t = find_trip(s, inst);
  /* An item that has ended counts no iterations, fewer than are done. */
  LLVMValueRef args[2] = {t.most, done};
  LLVMValueRef most = roc_cg_intrinsic(s->cg, "llvm.umax", &s->cg->t.i64, 1, args, 2);
  emit_iterations(s, id, t.step, done, most);
}

static void emit_for(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  if (is_grid_stride(s, id)) {
    emit_grid_stride(s, id, zero);
    return;
  }
  if (cpu_chunk_may(s, id)) {
    cpu_emit_chunks(s, id);
    end_if_stopped(s, id);
    return;
  }
  trip t = find_trip(s, inst);
  emit_iterations(s, id, t.step, zero, t.least);
  if (t.least == t.most) return;
  LLVMBasicBlockRef more = roc_cg_block(cg, "row.more"), end = roc_cg_block(cg, "row.end");
  LLVMBuildCondBr(cg->b, is_equal(s, t.least, t.most), end, more);
  roc_cg_at(cg, more);
  one_by_one(s, id, t.least, emit_single_for);
  roc_cg_goto(cg, end);
  roc_cg_at(cg, end);
}

/* ---- rows -------------------------------------------------------------------------------- */

void cpu_emit_row_statement(cpu_state *s, uint32_t id) {
  bool is_for = s->cg->ir->insts.items[id].op == ROC_IR_FOR;
  if (s->level->is_single) {
    (is_for ? emit_single_for : emit_single_if)(s, id, roc_cg_i64(s->cg, 0));
  } else {
    (is_for ? emit_for : emit_if)(s, id);
  }
}

/* Loops over the rows of the group, the innermost one's body at a level of its own. */
typedef struct rows {
  cpu_loop z, y;
  cpu_level level;
} rows;

/* How many of the items of a row that begins live; NULL: all. */
static LLVMValueRef count_row(cpu_state *s, cpu_level *row) {
  roc_cg *cg = s->cg;
  if (!s->needs_live || !s->may_be_dead) return NULL;
  cpu_level *group = s->level;
  LLVMValueRef cell = new_cell(s, 0), live = read_cell(s, group->live_count);
  LLVMBasicBlockRef whole = roc_cg_block(cg, "row.whole"), thin = roc_cg_block(cg, "row.thinned");
  LLVMBasicBlockRef counted = roc_cg_block(cg, "row.counted");
  roc_cg_branch_likely(cg, is_equal(s, live, group->present), whole, thin);
  roc_cg_at(cg, whole);
  LLVMBuildStore(cg->b, row->count, cell);
  LLVMBuildBr(cg->b, counted);
  roc_cg_at(cg, thin);
  s->level = row;
  cpu_run run;
  cpu_items_begin(s, &run, false);
  LLVMValueRef sum = LLVMBuildNUWAdd(cg->b, read_cell(s, cell), roc_cg_i64(cg, 1), "");
  LLVMBuildStore(cg->b, sum, cell);
  cpu_items_end(s);
  s->level = group;
  LLVMBuildBr(cg->b, counted);
  roc_cg_at(cg, counted);
  return read_cell(s, cell);
}

static void begin_rows(cpu_state *s, rows *r) {
  roc_cg *cg = s->cg;
  r->level = *s->level;
  cpu_loop_begin(s, &r->z, s->count[2], "row.z");
  cpu_loop_begin(s, &r->y, s->count[1], "row.y");
  r->level.kind = CPU_LEVEL_ROW;
  r->level.z = r->z.index;
  r->level.y = r->y.index;
  LLVMValueRef row = LLVMBuildNUWMul(cg->b, r->z.index, s->local[1], "");
  row = LLVMBuildNUWAdd(cg->b, row, r->y.index, "");
  r->level.row = LLVMBuildNUWMul(cg->b, row, s->local[0], "");
  r->level.x = roc_cg_i64(cg, 0);
  r->level.count = s->count[0];
  cpu_part_begin(s, &r->level, r->level.count, count_row(s, &r->level));
}

static void end_rows(cpu_state *s, rows *r) {
  cpu_part_end(s, &r->level);
  cpu_loop_end(s, &r->y);
  cpu_loop_end(s, &r->z);
}

/* Leaves what is done of the level's row out of it; goes to its end when that is all. */
static void skip_tiles(cpu_state *s, LLVMValueRef nrows, LLVMValueRef nitems) {
  roc_cg *cg = s->cg;
  LLVMValueRef zero = roc_cg_i64(cg, 0);
  LLVMValueRef is_tiled = LLVMBuildICmp(cg->b, LLVMIntULT, s->level->y, nrows, "");
  LLVMBasicBlockRef some = roc_cg_block(cg, "row.some");
  s->level->x = LLVMBuildSelect(cg->b, is_tiled, nitems, zero, "");
  s->level->count = LLVMBuildNUWSub(cg->b, s->level->count, s->level->x, "");
  LLVMBuildCondBr(cg->b, is_equal(s, s->level->count, zero), s->level->end, some);
  roc_cg_at(cg, some);
}

static void emit_rows(cpu_state *s, uint32_t id) {
  rows r;
  LLVMValueRef nrows = NULL, nitems;
  if (cpu_chunk_may_tile(s, id)) cpu_emit_tiles(s, id, &nrows, &nitems);
  begin_rows(s, &r);
  if (nrows) skip_tiles(s, nrows, nitems);
  if (s->is_cold) {
    bool is_for = s->cg->ir->insts.items[id].op == ROC_IR_FOR;
    one_by_one(s, id, roc_cg_i64(s->cg, 0), is_for ? emit_single_for : emit_single_if);
  } else {
    cpu_emit_row_statement(s, id);
  }
  end_rows(s, &r);
  end_if_stopped(s, id);
}

/* Whether the statements that an IF guards are emitted once more, for groups all of whose items come
 * to them: their loops then run in tiles, which have whole rows (cpu/chunk.c). */
static bool is_better_whole(cpu_state *s, uint32_t id) {
  const roc_ir_module *ir = s->cg->ir;
  const roc_ir_inst *inst = &ir->insts.items[id];
  if (inst->op != ROC_IR_IF) return false;
  uint32_t cond = roc_ir_arg(ir, inst, 0);
  if (!s->plan.is_uniform[cond] && !cpu_is_range(s, cond, true)) return false;
  const roc_ir_ids *guarded = &ir->regions.items[inst->k.region[0]];
  for (uint32_t i = 0; i < guarded->count; i++) {
    uint32_t at = guarded->items[i];
    if (!(s->plan.cuts[at] & CPU_CUT_ROW)) continue;
    bool is_loop = ir->insts.items[at].op == ROC_IR_FOR;
    if (is_loop ? cpu_chunk_may_tile(s, at) : is_better_whole(s, at)) return true;
  }
  return false;
}

void cpu_emit_rows(cpu_state *s, uint32_t id) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  if (!is_better_whole(s, id)) {
    emit_rows(s, id);
    return;
  }
  LLVMBasicBlockRef whole = roc_cg_block(cg, "group.whole"), part = roc_cg_block(cg, "group.part");
  LLVMBasicBlockRef end = roc_cg_block(cg, "group.end");
  LLVMValueRef holds = cpu_holds_for_group(s, roc_ir_arg(cg->ir, inst, 0), true);
  roc_cg_branch_likely(cg, holds, whole, part);
  roc_cg_at(cg, whole);
  emit_region(s, inst->k.region[0]);
  roc_cg_goto(cg, end);
  roc_cg_at(cg, part);
  emit_rows(s, id);
  roc_cg_goto(cg, end);
  roc_cg_at(cg, end);
}

/* ---- batches ----------------------------------------------------------------------------- */

/* Iterations of each member's row: of the item with the fewest, the most; allocas. */
typedef struct trips {
  LLVMValueRef least, most;
} trips;

static LLVMValueRef trip_cell(cpu_state *s, LLVMValueRef cells, const cpu_members *m) {
  LLVMValueRef index = m->loop.index;
  return LLVMBuildInBoundsGEP2(s->cg->b, s->cg->t.i64, cells, &index, 1, "");
}

/* Fills in the trips; the greatest `least`. */
static LLVMValueRef survey_members(cpu_state *s, uint32_t id, LLVMValueRef count, const trips *t) {
  roc_cg *cg = s->cg;
  LLVMValueRef widest = new_cell(s, 0);
  cpu_members m;
  cpu_members_begin(s, &m, count);
  s->level->count = s->count[0];
  trip found = find_trip(s, &cg->ir->insts.items[id]);
  LLVMBuildStore(cg->b, found.least, trip_cell(s, t->least, &m));
  LLVMBuildStore(cg->b, found.most, trip_cell(s, t->most, &m));
  fold(s, "llvm.umax", widest, found.least);
  cpu_members_end(s, &m);
  return read_cell(s, widest);
}

/* One iteration after the other, for all members that all of their items are still in. */
static void iterate_members(cpu_state *s, uint32_t id, LLVMValueRef count, const trips *t,
                            LLVMValueRef niterations) {
  roc_cg *cg = s->cg;
  const roc_ir_inst *inst = &cg->ir->insts.items[id];
  LLVMValueRef *advance = &s->advances[inst->aux];
  if (!*advance) *advance = roc_cg_alloca(cg, cg->t.i64, "advance");
  cpu_loop loop;
  cpu_members m;
  cpu_loop_begin(s, &loop, niterations, "row.for");
  cpu_members_begin(s, &m, count);
  s->level->count = s->count[0];
  LLVMBasicBlockRef work = roc_cg_block(cg, "row.work"), next = roc_cg_block(cg, "row.next");
  LLVMValueRef least = read_cell(s, trip_cell(s, t->least, &m));
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntULT, loop.index, least, ""), work, next);
  roc_cg_at(cg, work);
  LLVMValueRef step = cpu_group_value(s, roc_ir_arg(cg->ir, inst, 2));
  LLVMBuildStore(cg->b, LLVMBuildMul(cg->b, loop.index, step, ""), *advance);
  cpu_prefetch(s, id, step, count);
  emit_region(s, inst->k.region[0]);
  roc_cg_goto(cg, next);
  roc_cg_at(cg, next);
  cpu_members_end(s, &m);
  cpu_look(s, id, LLVMBuildNUWMul(cg->b, count, s->local[0], ""));
  cpu_loop_end(s, &loop);
}

/* The iterations that only some of a member's items have. */
static void finish_members(cpu_state *s, uint32_t id, LLVMValueRef count, const trips *t) {
  roc_cg *cg = s->cg;
  cpu_members m;
  cpu_members_begin(s, &m, count);
  s->level->count = s->count[0];
  LLVMBasicBlockRef more = roc_cg_block(cg, "row.more"), end = roc_cg_block(cg, "row.end");
  LLVMValueRef least = read_cell(s, trip_cell(s, t->least, &m));
  LLVMValueRef most = read_cell(s, trip_cell(s, t->most, &m));
  LLVMBuildCondBr(cg->b, is_equal(s, least, most), end, more);
  roc_cg_at(cg, more);
  if (is_grid_stride(s, id)) {
    emit_grid_stride(s, id, least);
  } else {
    one_by_one(s, id, least, emit_single_for);
  }
  roc_cg_goto(cg, end);
  roc_cg_at(cg, end);
  cpu_members_end(s, &m);
}

void cpu_emit_batch_rows(cpu_state *s, uint32_t id, LLVMValueRef count) {
  roc_cg *cg = s->cg;
  LLVMTypeRef cells = LLVMArrayType2(cg->t.i64, ROC_CPU_MAX_BATCH);
  trips t = {roc_cg_alloca(cg, cells, "least"), roc_cg_alloca(cg, cells, "most")};
  rows r;
  begin_rows(s, &r);
  LLVMValueRef niterations = survey_members(s, id, count, &t);
  iterate_members(s, id, count, &t, niterations);
  finish_members(s, id, count, &t);
  end_rows(s, &r);
}
