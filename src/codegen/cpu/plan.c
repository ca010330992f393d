/* The plan of a CPU kernel: what runs as one item loop, and what must be kept per item between two
 * of them.
 *
 * Values that are cheap functions of ids, arguments and constants are recomputed in each run that
 * uses them (remat) rather than kept in memory: LLVM then sees unit strides in every run. */
#include <string.h>

#include "base/alloc.h"
#include "codegen/cpu/cpu.h"
#include "ir/parallel_regions.h"
#include "ir/layout.h"
#include "ir/walk.h"

enum {
  MAX_REMAT_DEPTH = 48,
  MAX_STACK_BYTES = 2048,       /* of one private array, */
  MAX_STACK_TOTAL_BYTES = 16384 /* and of all: short launches run on the caller's stack */
};

typedef struct planner {
  const roc_ir_module *ir;
  cpu_plan *plan;
  roc_arena *arena;
  uint8_t *depth;                  /* per instruction: of its remat expression */
  uint32_t *nsets;                 /* per variable */
  uint32_t *var_home, *array_home; /* first run that touches it */
} planner;

cpu_segment_kind cpu_plan_segment(const cpu_plan *plan, cpu_level_kind level, const uint32_t *ids,
                                  uint32_t count, uint32_t *out_count) {
  static const uint8_t stops[] = {
      [CPU_LEVEL_GROUP] = ROC_IRF_CUT_GROUP | CPU_CUT_ROW | CPU_CUT_ONCE,
      [CPU_LEVEL_WAVE] = ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE,
      [CPU_LEVEL_ROW] = CPU_CUT_ROW,
  };
  uint8_t stop = stops[level];
  *out_count = 1;
  if (plan->cuts[ids[0]] & stop) {
    bool is_row = level == CPU_LEVEL_GROUP && (plan->cuts[ids[0]] & CPU_CUT_ROW);
    return is_row ? CPU_SEGMENT_ROWS : CPU_SEGMENT_CUT;
  }
  uint32_t n = 0;
  uint8_t seen = 0;
  while (n < count && !(plan->cuts[ids[n]] & stop)) seen |= plan->cuts[ids[n++]];
  *out_count = n;
  return seen ? CPU_SEGMENT_WAVES : CPU_SEGMENT_RUN;
}

static void walk_list(planner *p, cpu_level_kind level, const uint32_t *ids, uint32_t count);

bool cpu_plan_stops(const cpu_plan *plan, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (plan->stops[ids[i]]) return true;
  }
  return false;
}

static void walk_regions(planner *p, cpu_level_kind level, const roc_ir_inst *inst) {
  for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
    const roc_ir_ids *ids = &p->ir->regions.items[inst->k.region[r]];
    walk_list(p, level, ids->items, ids->count);
  }
}

/* Gives an instruction and all in it one home; tells whether a work-item may end there. */
static ROC_IR_WALKS bool settle(planner *p, uint32_t id, uint32_t home) {
  roc_ir_walk w;
  bool *stops = p->plan->stops;
  roc_ir_walk_begin_list(&w, p->ir, &id, 1);
  while (roc_ir_walk_next_inner_first(&w)) {
    uint16_t flags = roc_ir_op_table[w.inst->op].flags;
    uint32_t around = roc_ir_walk_around(&w);
    p->plan->home[w.id] = home;
    stops[w.id] |=
        w.inst->op == ROC_IR_RETURN || ((flags & ROC_IRF_STOP) && !(flags & ROC_IRF_CONTROL));
    if (around != ROC_IR_NONE) stops[around] |= stops[w.id];
  }
  return stops[id];
}

/* What an item keeps in a private array lasts from one iteration to the next, while other items run
 * in between. */
static ROC_IR_WALKS void slot_arrays(planner *p, uint32_t id) {
  roc_ir_walk w;
  roc_ir_walk_begin_list(&w, p->ir, &id, 1);
  while (roc_ir_walk_next(&w)) {
    if (w.inst->op == ROC_IR_LOAD || w.inst->op == ROC_IR_STORE || w.inst->op == ROC_IR_ATOMIC) {
      p->plan->array_slotted[w.inst->aux] = true;
    }
  }
}

static void walk_cut(planner *p, cpu_level_kind level, uint32_t id) {
  const roc_ir_inst *inst = &p->ir->insts.items[id];
  p->plan->home[id] = ++p->plan->nruns;
  if (!roc_ir_has_regions(inst)) return;
  if (inst->op == ROC_IR_FOR) p->plan->is_counter[inst->aux] = !p->plan->is_itemwise[id];
  if (inst->op == ROC_IR_FOR || inst->op == ROC_IR_LOOP) slot_arrays(p, id);
  walk_regions(p, level, inst);
  for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
    const roc_ir_ids *ids = &p->ir->regions.items[inst->k.region[r]];
    for (uint32_t i = 0; i < ids->count; i++) p->plan->stops[id] |= p->plan->stops[ids->items[i]];
  }
}

static void walk_list(planner *p, cpu_level_kind level, const uint32_t *ids, uint32_t count) {
  for (uint32_t i = 0, n; i < count; i += n) {
    switch (cpu_plan_segment(p->plan, level, ids + i, count - i, &n)) {
      case CPU_SEGMENT_CUT: walk_cut(p, level, ids[i]); break;
      case CPU_SEGMENT_WAVES: walk_list(p, CPU_LEVEL_WAVE, ids + i, n); break;
      case CPU_SEGMENT_ROWS: walk_cut(p, CPU_LEVEL_ROW, ids[i]); break;
      case CPU_SEGMENT_RUN: {
        uint32_t home = ++p->plan->nruns;
        for (uint32_t k = 0; k < n; k++) settle(p, ids[i + k], home);
        break;
      }
    }
  }
}

/* ---- values that are recomputed ---------------------------------------------------------- */

static bool is_cheap(const roc_ir_inst *inst) {
  return (roc_ir_op_table[inst->op].flags & ROC_IRF_PURE) && inst->op != ROC_IR_MATH &&
         inst->op != ROC_IR_POW;
}

static bool is_item_leaf(roc_ir_op op) {
  return op == ROC_IR_GLOBAL_ID || op == ROC_IR_LOCAL_ID || op == ROC_IR_LANE_ID;
}

static void find_remat_get(planner *p, uint32_t id, uint32_t var) {
  cpu_plan *plan = p->plan;
  uint32_t set = plan->set_once[var];
  if (plan->is_group_var[var]) {
    plan->is_remat[id] = plan->is_uniform[id] = true;
  } else if (plan->is_counter[var]) {
    uint32_t wide = plan->wide_for[var];
    plan->is_remat[id] = plan->is_uniform[id] = true;
    plan->counts_rows[id] = wide != ROC_IR_NONE;
    if (wide == ROC_IR_NONE) return;
    uint32_t first = roc_ir_arg(p->ir, &p->ir->insts.items[wide], 0);
    plan->is_uniform[id] = plan->is_uniform[first];
    p->depth[id] = (uint8_t)(p->depth[first] + 1);
  } else if (set != ROC_IR_NONE) {
    uint32_t value = roc_ir_arg(p->ir, &p->ir->insts.items[set], 0);
    plan->is_remat[id] = p->plan->is_stable[id] = true;
    plan->is_uniform[id] = plan->is_uniform[value];
    plan->counts_rows[id] = plan->counts_rows[value];
    p->depth[id] = (uint8_t)(p->depth[value] + 1);
  }
}

static void find_remat(planner *p, uint32_t id) {
  const roc_ir_inst *inst = &p->ir->insts.items[id];
  cpu_plan *plan = p->plan;
  if (inst->op == ROC_IR_GET) {
    find_remat_get(p, id, inst->aux);
    return;
  }
  if (inst->op == ROC_IR_SET) {
    uint32_t value = roc_ir_arg(p->ir, inst, 0);
    bool once = p->nsets[inst->aux] == 1 && !plan->is_group_var[inst->aux] &&
                plan->is_stable[value] && p->depth[value] < MAX_REMAT_DEPTH;
    if (once) plan->set_once[inst->aux] = id;
    return;
  }
  if (!is_cheap(inst)) return;
  bool remat = true, stable = true, uniform = !is_item_leaf((roc_ir_op)inst->op);
  uint8_t depth = 0;
  for (uint32_t i = 0; i < inst->nargs; i++) {
    uint32_t arg = roc_ir_arg(p->ir, inst, i);
    remat &= plan->is_remat[arg] && p->depth[arg] < MAX_REMAT_DEPTH;
    stable &= p->plan->is_stable[arg];
    uniform &= plan->is_uniform[arg];
    plan->counts_rows[id] |= plan->counts_rows[arg];
    if (p->depth[arg] >= depth) depth = (uint8_t)(p->depth[arg] + 1);
  }
  plan->is_remat[id] = remat;
  p->plan->is_stable[id] = remat && stable;
  plan->is_uniform[id] = remat && uniform;
  p->depth[id] = depth;
}

/* ---- what lives across runs -------------------------------------------------------------- */

static void touch(uint32_t *first_home, bool *is_slotted, uint32_t home) {
  if (*first_home == ROC_CPU_NO_RUN) *first_home = home;
  if (*first_home != home) *is_slotted = true;
}

static void find_slots(planner *p, uint32_t id) {
  const roc_ir_inst *inst = &p->ir->insts.items[id];
  cpu_plan *plan = p->plan;
  uint32_t home = plan->home[id];
  for (uint32_t i = 0; i < inst->nargs; i++) {
    uint32_t arg = roc_ir_arg(p->ir, inst, i);
    if (plan->home[arg] != home && !plan->is_remat[arg]) plan->is_slotted[arg] = true;
  }
  bool sets = inst->op == ROC_IR_SET || inst->op == ROC_IR_FOR;
  bool gets = inst->op == ROC_IR_GET && !plan->is_remat[id];
  if ((sets || gets) && !plan->is_counter[inst->aux] && !plan->is_group_var[inst->aux]) {
    touch(&p->var_home[inst->aux], &plan->var_slotted[inst->aux], home);
  }
  if (inst->op == ROC_IR_LOAD || inst->op == ROC_IR_STORE || inst->op == ROC_IR_ATOMIC) {
    touch(&p->array_home[inst->aux], &plan->array_slotted[inst->aux], home);
  }
}

/* What decides how much the optimiser has to do. */
static void note_shape(cpu_plan *plan, const roc_ir_module *ir, uint32_t id) {
  const roc_ir_inst *inst = &ir->insts.items[id];
  bool is_id =
      inst->op == ROC_IR_GLOBAL_ID || inst->op == ROC_IR_LOCAL_ID || inst->op == ROC_IR_GROUP_ID;
  bool is_division = inst->op == ROC_IR_FLOORDIV || inst->op == ROC_IR_MOD;
  plan->has_rows |= is_id && inst->aux > 0;
  plan->has_loops |= inst->op == ROC_IR_FOR || inst->op == ROC_IR_LOOP;
  plan->divides |= inst->op == ROC_IR_FOR || (is_division && inst->type == ROC_VT_INT);
  plan->knows_rows |= plan->has_rows || inst->op == ROC_IR_LANE_ID;
}

/* Private arrays live in the item's frame, or, small ones, on the stack. */
static void finish_arrays(planner *p) {
  int64_t left = MAX_STACK_TOTAL_BYTES;
  for (uint32_t a = 0; a < p->ir->arrays.count; a++) {
    const roc_ir_array *array = &p->ir->arrays.items[a];
    bool *is_slotted = &p->plan->array_slotted[a];
    if (array->kind != ROC_IR_ARRAY_PRIVATE) {
      *is_slotted = false;
      continue;
    }
    int64_t nbytes = roc_ir_array_size(array) * (int64_t)roc_dtype_itemsize(array->dtype);
    *is_slotted = *is_slotted || nbytes > MAX_STACK_BYTES || nbytes > left;
    if (!*is_slotted) left -= nbytes;
  }
}

static bool allocate(planner *p) {
  roc_arena *arena = p->arena;
  const roc_ir_module *ir = p->ir;
  cpu_plan *plan = p->plan;
  uint32_t ninsts = ir->insts.count + 1, nvars = ir->vars.count + 1, narrays = ir->arrays.count + 1;
  plan->stops = ROC_ARENA_ARRAY(arena, bool, ninsts);
  plan->home = ROC_ARENA_ARRAY(arena, uint32_t, ninsts);
  plan->is_remat = ROC_ARENA_ARRAY(arena, bool, ninsts);
  plan->is_uniform = ROC_ARENA_ARRAY(arena, bool, ninsts);
  plan->counts_rows = ROC_ARENA_ARRAY(arena, bool, ninsts);
  plan->is_itemwise = ROC_ARENA_ARRAY(arena, bool, ninsts);
  plan->is_slotted = ROC_ARENA_ARRAY(arena, bool, ninsts);
  plan->set_once = ROC_ARENA_ARRAY(arena, uint32_t, nvars);
  plan->is_counter = ROC_ARENA_ARRAY(arena, bool, nvars);
  plan->for_of = ROC_ARENA_ARRAY(arena, uint32_t, nvars);
  plan->wide_for = ROC_ARENA_ARRAY(arena, uint32_t, nvars);
  plan->is_along = ROC_ARENA_ARRAY(arena, bool, ninsts);
  plan->var_slotted = ROC_ARENA_ARRAY(arena, bool, nvars);
  plan->is_group_var = ROC_ARENA_ARRAY(arena, bool, nvars);
  plan->array_slotted = ROC_ARENA_ARRAY(arena, bool, narrays);
  p->depth = ROC_ARENA_ARRAY(arena, uint8_t, ninsts);
  plan->is_stable = ROC_ARENA_ARRAY(arena, bool, ninsts);
  p->nsets = ROC_ARENA_ARRAY(arena, uint32_t, nvars);
  p->var_home = ROC_ARENA_ARRAY(arena, uint32_t, nvars);
  p->array_home = ROC_ARENA_ARRAY(arena, uint32_t, narrays);
  if (arena->failed) return false;
  memset(plan->set_once, 0xff, nvars * sizeof *plan->set_once);
  memset(plan->for_of, 0xff, nvars * sizeof *plan->for_of);
  memset(plan->wide_for, 0xff, nvars * sizeof *plan->wide_for);
  return true;
}

/* roc_ir_find_cuts gives a heap block; the plan lives in the arena. */
static bool copy_cuts(planner *p) {
  uint8_t *cuts;
  if (roc_ir_find_cuts(p->ir, &cuts, NULL)) return false;
  p->plan->cuts = ROC_ARENA_ARRAY(p->arena, uint8_t, p->ir->insts.count + 1);
  if (p->plan->cuts) memcpy(p->plan->cuts, cuts, p->ir->insts.count);
  roc_free(cuts);
  return p->plan->cuts != NULL;
}

/* Has the group execute what is marked. */
static void mark_once(cpu_plan *plan, const cpu_once *once) {
  const roc_ir_module *ir = once->ir;
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    const roc_ir_inst *inst = &ir->insts.items[id];
    if (!once->insts[id]) continue;
    plan->cuts[id] |= roc_ir_has_regions(inst) ? ROC_IRF_CUT_GROUP : CPU_CUT_ONCE;
    if (inst->op != ROC_IR_SET) continue;
    plan->is_group_var[inst->aux] = plan->has_group_vars = true;
  }
}

static bool make_plan(const roc_ir_module *ir, roc_arena *arena, bool has_lanes,
                      const cpu_once *once, cpu_plan *plan) {
  planner p = {.ir = ir, .plan = plan, .arena = arena};
  memset(plan, 0, sizeof *plan);
  if (!allocate(&p) || !copy_cuts(&p)) return false;
  if (once) mark_once(plan, once);
  if (!cpu_wide_mark(ir, arena, has_lanes, plan)) return false;
  walk_list(&p, CPU_LEVEL_GROUP, ir->regions.items[0].items, ir->regions.items[0].count);
  for (uint32_t i = 0; i < ir->insts.count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[i];
    if (plan->home[i] && (inst->op == ROC_IR_SET || inst->op == ROC_IR_FOR)) p.nsets[inst->aux]++;
  }
  for (uint32_t i = 0; i < ir->insts.count; i++) {
    const roc_ir_inst *inst = &ir->insts.items[i];
    bool is_for = plan->home[i] && inst->op == ROC_IR_FOR;
    if (is_for && p.nsets[inst->aux] == 1) plan->for_of[inst->aux] = i;
    if (plan->home[i]) find_remat(&p, i);
  }
  for (uint32_t i = 0; i < ir->insts.count; i++) {
    plan->knows_rows |= plan->cuts[i] != 0;
    if (!plan->home[i]) continue;
    find_slots(&p, i);
    note_shape(plan, ir, i);
  }
  finish_arrays(&p);
  return true;
}

static bool has_barriers(const roc_ir_module *ir, const cpu_plan *plan) {
  for (uint32_t id = 0; id < ir->insts.count; id++) {
    if (plan->cuts[id] & ROC_IRF_CUT_GROUP) return true;
  }
  return false;
}

bool cpu_plan_make(const roc_ir_module *ir, roc_arena *arena, bool has_lanes, cpu_plan *plan) {
  if (!make_plan(ir, arena, has_lanes, NULL, plan)) return false;
  if (!has_barriers(ir, plan)) return true;
  cpu_once once;
  if (!cpu_once_init(&once, ir, arena, plan)) return false;
  bool is_made = true, any = cpu_once_mark(&once);
  while (is_made && any) {
    is_made = make_plan(ir, arena, has_lanes, &once, plan);
    if (!is_made || cpu_once_holds(&once, plan)) break;
    any = cpu_once_mark(&once);
    if (!any) is_made = make_plan(ir, arena, has_lanes, NULL, plan);
  }
  cpu_once_deinit(&once);
  return is_made;
}
