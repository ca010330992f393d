/* The loop over workgroups: values of the launch, the place of a group, and the versions of its
 * body (all checks, or without those that the preflight answers; one group, or a batch). */
#include "codegen/cpu/cpu.h"
#include "ir/layout.h"

static LLVMValueRef launch_field(cpu_state *s, LLVMTypeRef type, uint64_t offset) {
  roc_cg *cg = s->cg;
  LLVMValueRef ptr = roc_cg_byte_offset(cg, s->launch, roc_cg_i64(cg, (int64_t)offset));
  LLVMValueRef value = LLVMBuildLoad2(cg->b, type, ptr, "");
  return type == cg->t.i32 ? LLVMBuildZExt(cg->b, value, cg->t.i64, "") : value;
}

static void load_sizes(cpu_state *s, LLVMValueRef grid[3], LLVMValueRef groups[3],
                       LLVMValueRef local[3]) {
  LLVMTypeRef i64 = s->cg->t.i64, i32 = s->cg->t.i32;
  for (unsigned d = 0; d < 3; d++) {
    grid[d] = launch_field(s, i64, offsetof(roc_cpu_launch, range.grid) + 8 * d);
    groups[d] = launch_field(s, i64, offsetof(roc_cpu_launch, groups) + 8 * d);
    uint32_t size = s->cg->ir->workgroup[d];
    local[d] = s->cg->ir->is_workgroup_exact
                   ? roc_cg_i64(s->cg, size ? size : 1)
                   : launch_field(s, i32, offsetof(roc_cpu_launch, range.local) + 4 * d);
  }
}

/* A batch has no inspector.  It is none where an item may end up to the end of its loop; otherwise
 * that loop is worth more than the checks after it. */
static void drop_batch_or_inspector(cpu_state *s) {
  const roc_ir_ids *body = &s->cg->ir->regions.items[0];
  uint32_t next = s->batch_at + 1 < body->count ? body->items[s->batch_at + 1] : ROC_IR_NONE;
  uint32_t end = next == ROC_IR_NONE ? UINT32_MAX : s->plan.home[next];
  for (uint32_t id = 0; id < s->cg->ir->insts.count; id++) {
    if (!s->is_inspected[id] || s->plan.home[id] >= end) continue;
    s->batch_at = ROC_IR_NONE;
    return;
  }
  cpu_inspect_never(s);
}

void cpu_load_launch(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMTypeRef i32 = cg->t.i32;
  LLVMValueRef place =
      roc_cg_byte_offset(cg, s->turn, roc_cg_i64(cg, offsetof(roc_cpu_turn, budget)));
  s->budget = roc_cg_alloca(cg, cg->t.i64, "budget");
  LLVMBuildStore(cg->b, LLVMBuildLoad2(cg->b, cg->t.i64, place, ""), s->budget);
  load_sizes(s, s->grid, s->groups, s->local);
  s->rank = launch_field(s, i32, offsetof(roc_cpu_launch, range.rank));
  s->dynamic = launch_field(s, i32, offsetof(roc_cpu_launch, range.dynamic_shared_bytes));
  cg->fault = launch_field(s, cg->t.ptr, offsetof(roc_cpu_launch, fault));
  cg->print = launch_field(s, cg->t.ptr, offsetof(roc_cpu_launch, print));
  s->items = s->local[0];
  for (unsigned d = 1; d < 3 && !s->goes_by_rows; d++) {
    s->items = LLVMBuildNUWMul(cg->b, s->items, s->local[d], "");
  }
  s->batch_at = cpu_batch_find(s);
  if (s->inspection && s->batch_at != ROC_IR_NONE) drop_batch_or_inspector(s);
  s->is_merging = cpu_merge_may(s) && (!cg->ir->check || cpu_preflight_settles_all(s));
  if (s->is_merging) s->batch_at = ROC_IR_NONE;
  s->slots = s->items;
  if (s->batch_at == ROC_IR_NONE) return;
  s->batch = launch_field(s, i32, offsetof(roc_cpu_launch, batch));
  s->slots = LLVMBuildNUWMul(cg->b, s->items, s->batch, "");
  uint64_t rounding = ROC_IR_SHARED_ALIGN - 1; /* the static bytes are a multiple */
  LLVMValueRef nbytes =
      LLVMBuildNUWAdd(cg->b, s->dynamic, roc_cg_i64(cg, (int64_t)(s->shared_bytes + rounding)), "");
  s->shared_stride = LLVMBuildAnd(cg->b, nbytes, roc_cg_i64(cg, -(int64_t)(rounding + 1)), "");
}

static void place_in(cpu_state *s, unsigned d, LLVMValueRef grid, LLVMValueRef local) {
  LLVMBuilderRef b = s->cg->b;
  s->group_first[d] = LLVMBuildNUWMul(b, s->group[d], local, "");
  LLVMValueRef args[2] = {LLVMBuildNUWSub(b, grid, s->group_first[d], ""), local};
  s->count[d] = s->cg->ir->is_grid_whole
                    ? local
                    : roc_cg_intrinsic(s->cg, "llvm.umin", &s->cg->t.i64, 1, args, 2);
}

/* Where group `g` lies, and how many of its items there are. The sizes are read for each group:
 * what is kept from one to the next takes registers from all that lies between. LLVM would keep
 * them, too, but for the faults of the cold version, of which it cannot tell where they are stored.
 */
static void place_group(cpu_state *s, LLVMValueRef g) {
  LLVMBuilderRef b = s->cg->b;
  LLVMValueRef grid[3], groups[3], local[3];
  if (s->goes_by_rows) {
    s->group[0] = g;
    place_in(s, 0, launch_field(s, s->cg->t.i64, offsetof(roc_cpu_launch, range.grid)),
             launch_field(s, s->cg->t.i32, offsetof(roc_cpu_launch, range.local)));
    s->count[1] = s->count[2] = roc_cg_i64(s->cg, 1);
    return;
  }
  load_sizes(s, grid, groups, local);
  LLVMValueRef rest = LLVMBuildUDiv(b, g, groups[0], "");
  s->group[0] = LLVMBuildURem(b, g, groups[0], "");
  s->group[1] = LLVMBuildURem(b, rest, groups[1], "");
  s->group[2] = LLVMBuildUDiv(b, rest, groups[1], "");
  for (unsigned d = 0; d < 3; d++) place_in(s, d, grid[d], local[d]);
}

/* ---- groups that are one ------------------------------------------------------------------ */

/* Goes on with how many groups from `g` on may be one; their number is in s->taken. */
static LLVMBasicBlockRef begin_merge(cpu_state *s, LLVMValueRef g) {
  roc_cg *cg = s->cg;
  LLVMValueRef args[2] = {LLVMBuildNUWSub(cg->b, s->end, g, "")};
  if (!s->goes_by_rows) {
    LLVMValueRef groups = launch_field(s, cg->t.i64, offsetof(roc_cpu_launch, groups));
    args[1] = LLVMBuildNUWSub(cg->b, groups, s->group[0], "");
    args[0] = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
  }
  args[1] = launch_field(s, cg->t.i32, offsetof(roc_cpu_launch, merge));
  LLVMValueRef most = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
  LLVMBuildStore(cg->b, most, s->taken);
  LLVMBasicBlockRef merge = roc_cg_block(cg, "merge");
  LLVMBuildBr(cg->b, merge);
  roc_cg_at(cg, merge);
  LLVMValueRef taken = LLVMBuildLoad2(cg->b, cg->t.i64, s->taken, "");
  LLVMValueRef left = launch_field(s, cg->t.i64, offsetof(roc_cpu_launch, range.grid));
  LLVMValueRef local = launch_field(s, cg->t.i32, offsetof(roc_cpu_launch, range.local));
  args[0] = LLVMBuildNUWSub(cg->b, left, s->group_first[0], "");
  args[1] = LLVMBuildNUWMul(cg->b, taken, local, "");
  s->count[0] = roc_cg_intrinsic(cg, "llvm.umin", &cg->t.i64, 1, args, 2);
  return merge;
}

/* A check may fail in one of them: with half of them; goes on when it is one. */
static void retry_fewer(cpu_state *s, LLVMBasicBlockRef merge) {
  roc_cg *cg = s->cg;
  LLVMValueRef taken = LLVMBuildLoad2(cg->b, cg->t.i64, s->taken, "");
  LLVMValueRef half = LLVMBuildLShr(cg->b, taken, roc_cg_i64(cg, 1), "");
  LLVMBasicBlockRef some = roc_cg_block(cg, "fewer"), one = roc_cg_block(cg, "one");
  LLVMValueRef is_one = LLVMBuildICmp(cg->b, LLVMIntEQ, half, roc_cg_i64(cg, 0), "");
  LLVMBuildCondBr(cg->b, is_one, one, some);
  roc_cg_at(cg, some);
  LLVMBuildStore(cg->b, half, s->taken);
  LLVMBuildBr(cg->b, merge);
  roc_cg_at(cg, one);
}

/* ---- versions ----------------------------------------------------------------------------- */

/* The version without early returns, for groups none of whose items takes one. */
static void emit_whole(cpu_state *s, LLVMBasicBlockRef end) {
  roc_cg *cg = s->cg;
  LLVMValueRef is_whole = cpu_is_group_whole(s);
  if (!is_whole) return;
  LLVMBasicBlockRef whole = roc_cg_block(cg, "whole"), part = roc_cg_block(cg, "part");
  roc_cg_branch_likely(cg, is_whole, whole, part);
  roc_cg_at(cg, whole);
  bool *stops = s->plan.stops;
  s->is_whole = true;
  s->plan.stops = cpu_preflight_stops(s);
  if (s->plan.stops) cpu_emit_body(s, 0, end);
  s->is_whole = false;
  s->plan.stops = stops;
  roc_cg_at(cg, part);
}

static void emit_group(cpu_state *s, LLVMBasicBlockRef end) {
  if (!s->is_cold) emit_whole(s, end);
  cpu_emit_body(s, 0, end);
}

/* The version for short rows. */
static void emit_tuples(cpu_state *s, LLVMBasicBlockRef end) {
  roc_cg *cg = s->cg;
  LLVMValueRef fit = cpu_tuples_fit(s);
  if (!fit) return;
  LLVMBasicBlockRef tuples = roc_cg_block(cg, "tuples"), other = roc_cg_block(cg, "other");
  roc_cg_branch_likely(cg, fit, tuples, other);
  roc_cg_at(cg, tuples);
  cpu_tuples_swap(s);
  emit_group(s, end);
  cpu_tuples_swap(s);
  roc_cg_at(cg, other);
}

/* The version in which settled checks hold: group by group, or `clear_count` groups side by side.
 */
static void emit_clear(cpu_state *s, LLVMValueRef clear_count, LLVMBasicBlockRef end) {
  if (clear_count && cpu_batch_may_run(s, s->batch_at)) {
    s->has_batches = true;
    LLVMBuildStore(s->cg->b, clear_count, s->taken);
    cpu_emit_batch(s, s->batch_at, clear_count, end);
  } else {
    if (!s->is_cold) emit_tuples(s, end);
    emit_group(s, end);
  }
}

/* Likewise, with divisions that vectors can do where all numbers that are divided are small; where
 * some are large, which is rare, items are scalar. */
static void emit_by_numbers(cpu_state *s, LLVMValueRef clear_count, LLVMBasicBlockRef end) {
  roc_cg *cg = s->cg;
  LLVMValueRef are_small = clear_count ? NULL : cpu_preflight_divisions(s);
  if (are_small) {
    LLVMBasicBlockRef small = roc_cg_block(cg, "small"), large = roc_cg_block(cg, "large");
    roc_cg_branch_likely(cg, are_small, small, large);
    roc_cg_at(cg, small);
    s->has_small_numbers = true;
    emit_clear(s, NULL, end);
    s->has_small_numbers = false;
    roc_cg_at(cg, large);
    s->is_cold = true;
  }
  emit_clear(s, clear_count, end);
  s->is_cold = false;
}

/* Whether the checks that can be settled beforehand hold for group `g`; NULL: there are none.
 * Where groups may run side by side, for how many from `g` on. */
static LLVMValueRef settle_checks(cpu_state *s, LLVMValueRef g, LLVMValueRef *out_clear_count) {
  roc_cg *cg = s->cg;
  *out_clear_count = NULL;
  if (s->batch_at == ROC_IR_NONE) return cg->ir->check ? cpu_preflight(s) : NULL;
  LLVMValueRef limit = cpu_batch_limit(s, g);
  bool has_checks = false;
  *out_clear_count = cg->ir->check ? cpu_batch_preflight(s, limit, &has_checks) : limit;
  if (!has_checks) return NULL;
  return LLVMBuildICmp(cg->b, LLVMIntNE, *out_clear_count, roc_cg_i64(cg, 0), "");
}

/* The body in two versions, when there are checks that can be settled beforehand. */
static void emit_versions(cpu_state *s, LLVMValueRef g, LLVMBasicBlockRef narrower,
                          LLVMBasicBlockRef end) {
  roc_cg *cg = s->cg;
  LLVMValueRef clear_count, is_clear = settle_checks(s, g, &clear_count);
  if (!is_clear && !s->inspection) {
    emit_by_numbers(s, clear_count, end);
    return;
  }
  LLVMBasicBlockRef clear = roc_cg_block(cg, "clear"), cold = roc_cg_block(cg, "cold");
  LLVMBasicBlockRef settled = s->inspection ? roc_cg_block(cg, "inspect") : clear;
  if (!is_clear) is_clear = LLVMConstInt(cg->t.i1, 1, 0);
  roc_cg_branch_likely(cg, is_clear, settled, cold);
  if (s->inspection) {
    roc_cg_at(cg, settled);
    LLVMValueRef is_needless = cpu_inspect_is_needless(s);
    if (is_needless) {
      LLVMBasicBlockRef look = roc_cg_block(cg, "elements");
      LLVMBuildCondBr(cg->b, is_needless, clear, look);
      roc_cg_at(cg, look);
    }
    cpu_emit_body(s, 0, cpu_inspect_begin(s));
    cpu_inspect_end(s, clear, cold);
  }
  roc_cg_at(cg, clear);
  bool *stops = s->plan.stops;
  s->is_clear = true;
  s->plan.stops = cpu_preflight_stops(s);
  if (s->plan.stops) emit_by_numbers(s, clear_count, end);
  s->is_clear = false;
  s->plan.stops = stops;
  roc_cg_at(cg, cold);
  if (s->is_merging) retry_fewer(s, narrower);
  s->is_cold = true;
  cpu_emit_body(s, 0, end);
  s->is_cold = false;
}

void cpu_emit_groups(cpu_state *s) {
  roc_cg *cg = s->cg;
  LLVMBasicBlockRef head = roc_cg_block(cg, "group"), end = roc_cg_block(cg, "group.end");
  LLVMBasicBlockRef done = roc_cg_block(cg, "done"), none = roc_cg_block(cg, "none");
  LLVMBasicBlockRef begin = roc_cg_block(cg, "begin");
  LLVMValueRef some = LLVMBuildICmp(cg->b, LLVMIntULT, s->first, s->end, "");
  roc_cg_at(cg, begin);
  cpu_tallies_begin(s);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(cg->b);
  LLVMBuildBr(cg->b, head);
  roc_cg_at(cg, head);
  LLVMValueRef g = LLVMBuildPhi(cg->b, cg->t.i64, "g");
  LLVMAddIncoming(g, &s->first, &before, 1);
  s->stopped = done;
  place_group(s, g);
  s->taken = roc_cg_alloca(cg, cg->t.i64, "taken");
  LLVMBuildStore(cg->b, roc_cg_i64(cg, 1), s->taken);
  emit_versions(s, g, s->is_merging ? begin_merge(s, g) : NULL, end);
  roc_cg_at(cg, end);
  LLVMValueRef taken = LLVMBuildLoad2(cg->b, cg->t.i64, s->taken, "");
  LLVMValueRef next = LLVMBuildNUWAdd(cg->b, g, taken, "");
  cpu_look_between(s, next, taken);
  LLVMBasicBlockRef last = LLVMGetInsertBlock(cg->b);
  LLVMAddIncoming(g, &next, &last, 1);
  LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntULT, next, s->end, ""), head, done);
  roc_cg_at(cg, done);
  cpu_tallies_end(s);
  LLVMBuildBr(cg->b, none);
  roc_cg_at(cg, none);
  LLVMBuildRetVoid(cg->b);
  LLVMBuildCondBr(cg->entry_b, some, begin, none);
}
