/* How a value differs between work-items that run side by side in the lanes of a vector.
 *
 * An integer that grows by a constant from lane to lane (the id of the first dimension, what is
 * added to it) is known by its first lane and that constant, its stride; what is the same in all
 * lanes has stride 0 and any type.  Such values are computed once, and tell which accesses to memory
 * are of neighbours.  Everything else is varying.
 *
 * "All lanes" are those that compute the value together.  Lanes part at conditions that vary, and
 * wait where they will go on: in the other branch, after the statement, in the next iteration.  What
 * is assigned meanwhile is lost for them only where they will read it (ir/live.c).  Statements are
 * counted from the outside, and control at a point of the body has the number of the innermost
 * statement around it in which some lanes wait.
 *
 * Everything starts as the same in all lanes; walks over the body weaken that until nothing
 * changes. */
#include <string.h>

#include "base/alloc.h"
#include "codegen/cpu/cpu.h"
#include "ir/check_elimination.h"
#include "ir/live.h"
#include "ir/range.h"

enum { MAX_WALKS = 24, MAX_STRIDE = 1 << 20 };

/* A statement around the point of the walk. */
typedef struct around {
  uint32_t inst;
  uint32_t waits;          /* its number, when a jump met so far lets lanes wait in it; else 0 */
  bool has_left, has_next; /* what jumps those were */
  uint32_t region;         /* of an IF: which one the walk is in */
} around;

typedef struct shaper {
  const roc_ir_module *ir;
  const cpu_plan *plan;
  cpu_shapes *shapes;
  uint32_t
      *scopes; /* per variable: the region that it is set in first, and only read in; or NONE */
  uint32_t *waiting; /* per instruction, of loops: the control that later iterations begin with */
  bool *leaves, *nexts; /* per statement: lanes part at such jumps to it, or at the end of a FOR */
  bool *is_open;        /* per region: the walk is inside */
  bool *is_met;         /* per variable */
  roc_vec(around) arounds;
  roc_ir_live live;
  bool changed, failed;
} shaper;

static const roc_ir_inst *inst_of(const shaper *a, uint32_t id) {
  return &a->ir->insts.items[id];
}

/* ---- scopes of variables ----------------------------------------------------------------- */

static void note_access(shaper *a, uint32_t var, uint32_t region, bool is_set) {
  if (!a->is_met[var]) {
    a->is_met[var] = true;
    a->scopes[var] = is_set && !a->plan->var_slotted[var] ? region : ROC_IR_NONE;
  } else if (a->scopes[var] != ROC_IR_NONE && !a->is_open[a->scopes[var]]) {
    a->scopes[var] = ROC_IR_NONE;
  }
}

static void find_scopes(shaper *a, uint32_t region) {
  const roc_ir_ids *ids = &a->ir->regions.items[region];
  a->is_open[region] = true;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = inst_of(a, ids->items[i]);
    if (inst->op == ROC_IR_FOR) note_access(a, inst->aux, inst->k.region[0], true);
    if (inst->op == ROC_IR_GET || inst->op == ROC_IR_SET) {
      note_access(a, inst->aux, region, inst->op == ROC_IR_SET);
    }
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      find_scopes(a, inst->k.region[r]);
    }
  }
  a->is_open[region] = false;
}

/* ---- strides ----------------------------------------------------------------------------- */

/* What a value is that is `stride` on one path, too. */
static void join(shaper *a, int32_t *known, int32_t stride) {
  if (stride == CPU_UNKNOWN || *known == stride || *known == CPU_VARYING) return;
  *known = *known == CPU_UNKNOWN ? stride : CPU_VARYING;
  a->changed = true;
}

static void sink(shaper *a, bool *truth) {
  if (*truth) return;
  *truth = a->changed = true;
}

static int32_t limited(int64_t stride) {
  return stride > -MAX_STRIDE && stride < MAX_STRIDE ? (int32_t)stride : CPU_VARYING;
}

static int32_t stride_of_product(const shaper *a, const roc_ir_inst *inst, const int32_t *of) {
  for (uint32_t n = 0; n < 2; n++) {
    const roc_ir_inst *k = inst_of(a, roc_ir_arg(a->ir, inst, n));
    if (k->op != ROC_IR_CONST || k->k.i <= -MAX_STRIDE || k->k.i >= MAX_STRIDE) continue;
    return limited(of[1 - n] * k->k.i);
  }
  return CPU_VARYING;
}

/* Of an operation without effect. */
static int32_t stride_of_pure(const shaper *a, const roc_ir_inst *inst) {
  int32_t of[2] = {0, 0};
  bool is_same = true;
  for (uint32_t i = 0; i < inst->nargs; i++) {
    int32_t stride = a->shapes->insts[roc_ir_arg(a->ir, inst, i)];
    if (stride == CPU_VARYING || stride == CPU_UNKNOWN) return stride;
    is_same &= stride == 0;
    if (i < 2) of[i] = stride;
  }
  if (is_same) return 0;
  if (inst->type != ROC_VT_INT) return CPU_VARYING;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_ADD: return limited((int64_t)of[0] + of[1]);
    case ROC_IR_SUB: return limited((int64_t)of[0] - of[1]);
    case ROC_IR_NEG: return limited(-(int64_t)of[0]);
    case ROC_IR_MUL: return stride_of_product(a, inst, of);
    default: return CPU_VARYING;
  }
}

/* A variable or counter of the group's statements, or a variable that is set once to what is computed again in
 * each run (cpu/values.c). */
static int32_t stride_of_get(const shaper *a, uint32_t id) {
  const cpu_plan *plan = a->plan;
  uint32_t var = inst_of(a, id)->aux;
  if (!plan->is_remat[id]) return a->shapes->vars[var];
  if (plan->is_group_var[var]) return 0;
  if (plan->is_counter[var]) {
    uint32_t wide = plan->wide_for[var];
    return wide == ROC_IR_NONE ? 0 : a->shapes->insts[roc_ir_arg(a->ir, inst_of(a, wide), 0)];
  }
  return a->shapes->insts[roc_ir_arg(a->ir, inst_of(a, plan->set_once[var]), 0)];
}

static int32_t stride_of_load(const shaper *a, const roc_ir_inst *inst) {
  if (a->ir->arrays.items[inst->aux].kind == ROC_IR_ARRAY_PRIVATE) return CPU_VARYING;
  int32_t worst = 0;
  for (uint32_t i = 0; i < inst->nargs; i++) {
    int32_t stride = a->shapes->insts[roc_ir_arg(a->ir, inst, i)];
    if (stride == CPU_UNKNOWN) {
      worst = stride;
    } else if (stride != 0) {
      return CPU_VARYING;
    }
  }
  return worst;
}

static int32_t stride_of(const shaper *a, uint32_t id) {
  const roc_ir_inst *inst = inst_of(a, id);
  if (a->plan->is_slotted[id]) return CPU_VARYING;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID: return inst->aux == 0;
    case ROC_IR_LANE_ID:
    case ROC_IR_WAVE:
    case ROC_IR_ATOMIC: return CPU_VARYING;
    case ROC_IR_GET: return stride_of_get(a, id);
    case ROC_IR_LOAD: return stride_of_load(a, inst);
    default: return stride_of_pure(a, inst);
  }
}

/* ---- control ----------------------------------------------------------------------------- */

static uint32_t most(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

/* Where lanes wait now, in a region that began with `control`. */
static uint32_t control_now(const shaper *a, uint32_t control) {
  for (uint32_t i = 0; i < a->arounds.count; i++) {
    control = most(control, a->arounds.items[i].waits);
  }
  return control;
}

/* A jump to a statement in which some lanes do not take it lets them part. */
static void note_jump(shaper *a, const roc_ir_inst *jump, uint32_t control) {
  uint32_t target = a->arounds.count;
  while (target-- > 0 && a->arounds.items[target].inst != jump->aux) {
  }
  uint32_t number = target + 1;
  if (target == UINT32_MAX || control < number) return;
  around *at = &a->arounds.items[target];
  bool is_next = jump->op == ROC_IR_NEXT;
  at->waits = number;
  *(is_next ? &at->has_next : &at->has_left) = true;
  sink(a, is_next ? &a->nexts[jump->aux] : &a->leaves[jump->aux]);
  sink(a, &a->shapes->parts[jump->aux]);
  for (uint32_t i = target; i < a->arounds.count; i++) {
    uint32_t owner = a->arounds.items[i].inst, *waiting = &a->waiting[owner];
    uint8_t op = inst_of(a, owner)->op;
    if (op != ROC_IR_LOOP && op != ROC_IR_FOR) continue;
    bool begins_whole = i == target && is_next; /* those that wait join there */
    if (begins_whole || *waiting >= number) continue;
    *waiting = number;
    a->changed = true;
  }
}

static void walk_region(shaper *a, uint32_t region, uint32_t control);

static bool is_flat(int32_t stride) {
  return stride == 0 || stride == CPU_UNKNOWN;
}

static void walk_for(shaper *a, uint32_t id, uint32_t number) {
  const roc_ir_inst *inst = inst_of(a, id);
  const int32_t *shapes = a->shapes->insts;
  int32_t first = shapes[roc_ir_arg(a->ir, inst, 0)], last = shapes[roc_ir_arg(a->ir, inst, 1)];
  int32_t step = shapes[roc_ir_arg(a->ir, inst, 2)];
  bool is_same = is_flat(first) && is_flat(last) && is_flat(step);
  if (!is_same) {
    sink(a, &a->shapes->parts[id]);
    sink(a, &a->leaves[id]);
    if (a->waiting[id] < number) {
      a->waiting[id] = number;
      a->changed = true;
    }
  }
  bool is_own = a->scopes[inst->aux] == inst->k.region[0] && is_flat(step);
  join(a, &a->shapes->vars[inst->aux], is_own ? first : CPU_VARYING);
}

static void walk_nested(shaper *a, uint32_t id, uint32_t control) {
  const roc_ir_inst *inst = inst_of(a, id);
  uint32_t number = a->arounds.count + 1, inner = control;
  if (inst->op == ROC_IR_IF) {
    if (!is_flat(a->shapes->insts[roc_ir_arg(a->ir, inst, 0)])) sink(a, &a->shapes->parts[id]);
    if (a->shapes->parts[id]) inner = number;
  }
  if (inst->op == ROC_IR_FOR) walk_for(a, id, number);
  if (!roc_vec_push(&a->arounds, ((around){.inst = id}))) {
    a->failed = true;
    return;
  }
  for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
    a->arounds.items[number - 1].region = r;
    walk_region(a, inst->k.region[r], most(inner, a->waiting[id]));
  }
  (void)roc_vec_pop(&a->arounds);
}

/* Whether lanes that wait in the `n`th statement around read the variable before they set it.
 * `earlier`: the control that iterations of loops in it begin with. */
static bool is_awaited(const shaper *a, uint32_t n, uint32_t earlier, uint32_t var) {
  const around *at = &a->arounds.items[n];
  uint32_t id = at->inst;
  if (inst_of(a, id)->op == ROC_IR_IF) {
    if (!a->shapes->parts[id]) return false;
    return at->region == 0 ? roc_ir_is_live_inside(&a->live, id, var)
                           : roc_ir_is_live_after(&a->live, id, var);
  }
  bool has_left = at->has_left || (a->leaves[id] && most(earlier, a->waiting[id]) > n);
  bool has_next = at->has_next || (a->nexts[id] && earlier > n);
  return (has_left && roc_ir_is_live_after(&a->live, id, var)) ||
         (has_next && roc_ir_is_live_inside(&a->live, id, var));
}

/* Which lanes that wait keep what they have of the variable. */
static cpu_blend blend_of(const shaper *a, uint32_t var) {
  if (a->plan->var_slotted[var]) return CPU_BLEND_MASK;
  cpu_blend found = CPU_BLEND_NONE;
  uint32_t earlier = 0, nparted = 0;
  for (uint32_t n = a->arounds.count; n-- > 0;) {
    uint32_t id = a->arounds.items[n].inst;
    bool is_if = inst_of(a, id)->op == ROC_IR_IF;
    nparted += is_if && a->shapes->parts[id];
    if (is_awaited(a, n, earlier, var)) {
      if (!is_if || nparted != 1) return CPU_BLEND_MASK;
      found = CPU_BLEND_BRANCH;
    }
    earlier = most(earlier, a->waiting[id]);
  }
  return found;
}

static void note_set(shaper *a, uint32_t id) {
  const roc_ir_inst *inst = inst_of(a, id);
  cpu_blend blend = blend_of(a, inst->aux);
  if (blend > a->shapes->blends[id]) {
    a->shapes->blends[id] = (uint8_t)blend;
    a->changed = true;
  }
  int32_t stride = a->shapes->blends[id] == CPU_BLEND_NONE
                       ? a->shapes->insts[roc_ir_arg(a->ir, inst, 0)]
                       : CPU_VARYING;
  join(a, &a->shapes->vars[inst->aux], stride);
}

static void walk_region(shaper *a, uint32_t region, uint32_t control) {
  const roc_ir_ids *ids = &a->ir->regions.items[region];
  for (uint32_t i = 0; i < ids->count && !a->failed; i++) {
    uint32_t id = ids->items[i], now = control_now(a, control);
    const roc_ir_inst *inst = inst_of(a, id);
    if (inst->op == ROC_IR_SET) {
      note_set(a, id);
    } else if (inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT) {
      note_jump(a, inst, now);
    } else if (roc_ir_has_regions(inst)) {
      walk_nested(a, id, now);
    } else {
      join(a, &a->shapes->insts[id], stride_of(a, id));
    }
  }
}

static bool allocate(shaper *a, roc_arena *arena) {
  size_t ninsts = a->ir->insts.count + 1, nvars = a->ir->vars.count + 1;
  size_t nregions = a->ir->regions.count + 1;
  a->shapes->insts = ROC_ARENA_ARRAY(arena, int32_t, ninsts);
  a->shapes->vars = ROC_ARENA_ARRAY(arena, int32_t, nvars);
  a->shapes->parts = ROC_ARENA_ARRAY(arena, bool, ninsts);
  a->shapes->blends = ROC_ARENA_ARRAY(arena, uint8_t, ninsts);
  a->shapes->is_carried = ROC_ARENA_ARRAY(arena, bool, nvars);
  a->shapes->narrow = ROC_ARENA_ARRAY(arena, uint8_t, ninsts);
  a->shapes->narrow_vars = ROC_ARENA_ARRAY(arena, uint8_t, nvars);
  a->leaves = ROC_ARENA_ARRAY(arena, bool, ninsts);
  a->nexts = ROC_ARENA_ARRAY(arena, bool, ninsts);
  a->waiting = ROC_ARENA_ARRAY(arena, uint32_t, ninsts);
  a->scopes = ROC_ARENA_ARRAY(arena, uint32_t, nvars);
  a->is_met = ROC_ARENA_ARRAY(arena, bool, nvars);
  a->is_open = ROC_ARENA_ARRAY(arena, bool, nregions);
  return !arena->failed;
}

/* Always right. */
static void give_up(shaper *a) {
  for (uint32_t id = 0; id < a->ir->insts.count; id++) {
    a->shapes->insts[id] = CPU_VARYING;
    a->shapes->parts[id] = true;
    a->shapes->blends[id] = CPU_BLEND_MASK;
  }
  for (uint32_t var = 0; var < a->ir->vars.count; var++) a->shapes->vars[var] = CPU_VARYING;
}

static void forget_unknown(int32_t *strides, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (strides[i] == CPU_UNKNOWN) strides[i] = 0; /* nothing sets it */
  }
}

static void find_carried(shaper *a) {
  for (uint32_t id = 0; id < a->ir->insts.count; id++) {
    uint8_t op = inst_of(a, id)->op;
    if (op != ROC_IR_LOOP && op != ROC_IR_FOR) continue;
    for (uint32_t var = 0; var < a->ir->vars.count; var++) {
      a->shapes->is_carried[var] |= roc_ir_is_live_inside(&a->live, id, var);
    }
  }
}

static bool find_narrow(shaper *a) {
  const roc_ir_module *ir = a->ir;
  uint8_t *insts = NULL, *vars = NULL;
  if (roc_ir_find_narrow(ir, &roc_ir_limits_any, false, &insts, &vars, NULL) != ROC_OK)
    return false;
  memcpy(a->shapes->narrow, insts, ir->insts.count);
  memcpy(a->shapes->narrow_vars, vars, ir->vars.count);
  roc_free(insts);
  roc_free(vars);
  return true;
}

bool cpu_shapes_make(const roc_ir_module *ir, const cpu_plan *plan, roc_arena *arena,
                     cpu_shapes *shapes) {
  shaper a = {.ir = ir, .plan = plan, .shapes = shapes, .changed = true};
  if (!allocate(&a, arena) || !roc_ir_live_make(ir, arena, &a.live) || !find_narrow(&a)) {
    return false;
  }
  for (uint32_t id = 0; id < ir->insts.count; id++) shapes->insts[id] = CPU_UNKNOWN;
  for (uint32_t var = 0; var < ir->vars.count; var++) shapes->vars[var] = CPU_UNKNOWN;
  find_scopes(&a, 0);
  find_carried(&a);
  for (int walk = 0; a.changed && !a.failed; walk++) {
    a.changed = false;
    walk_region(&a, 0, 0);
    if (walk == MAX_WALKS) break;
  }
  if (a.changed) give_up(&a);
  forget_unknown(shapes->insts, ir->insts.count);
  forget_unknown(shapes->vars, ir->vars.count);
  roc_vec_deinit(&a.arounds);
  return !a.failed;
}
