/* See uniform.h.  Everything starts uniform; walks over the regions weaken what they find to vary
 * until nothing changes.  Levels only ever sink, so that ends; a kernel that needs too many walks
 * has its variables and loops declared varying, which is always sound. */
#include "ir/uniform.h"

#include <string.h>

#include "base/alloc.h"

enum { MAX_WALKS = 16 };

/* A BLOCK, LOOP or FOR around the point of the walk. */
typedef struct enclosing {
  uint32_t inst;
  uint8_t rest; /* control of what follows a LEAVE or NEXT to it, up to its end */
} enclosing;

typedef struct analysis {
  const roc_ir_module *m;
  roc_ir_uniform u;
  uint8_t *loops; /* per instruction: control of a LOOP's or FOR's body, as its LEAVEs make it */
  roc_vec(enclosing) around;
  bool changed, failed;
} analysis;

static uint8_t weaker(uint8_t a, uint8_t b) {
  return a < b ? a : b;
}

static void sink(analysis *a, uint8_t *level, uint8_t to) {
  if (to >= *level) return;
  *level = to;
  a->changed = true;
}

static uint8_t weakest_operand(const analysis *a, const roc_ir_inst *inst) {
  uint8_t level = ROC_IR_UNIFORM_GROUP;
  for (uint32_t n = 0; n < inst->nargs; n++) {
    level = weaker(level, a->u.insts[roc_ir_arg(a->m, inst, n)]);
  }
  return level;
}

/* Nothing in this launch's kernel changes the array. */
static bool is_constant_memory(const analysis *a, uint32_t index) {
  const roc_ir_array *array = &a->m->arrays.items[index];
  if (array->kind == ROC_IR_ARRAY_CONST) return true;
  if (array->kind != ROC_IR_ARRAY_PARAM) return false;
  const roc_ir_param *param = &a->m->params.items[array->param];
  return !param->is_written && !param->type.is_alias;
}

/* One lane's value for all; but where there is no such lane each keeps its own. The first is always
 * there. */
static uint8_t broadcast_level(const analysis *a, const roc_ir_inst *inst) {
  const roc_ir_inst *lane = &a->m->insts.items[roc_ir_arg(a->m, inst, 1)];
  bool is_first = lane->op == ROC_IR_CONST && lane->k.i == 1;
  return is_first ? ROC_IR_UNIFORM_WAVE : weaker(ROC_IR_UNIFORM_WAVE, weakest_operand(a, inst));
}

static uint8_t wave_level(const analysis *a, const roc_ir_inst *inst) {
  switch ((roc_ir_wave)inst->k.i) {
    case ROC_IR_WAVE_BALLOT:
    case ROC_IR_WAVE_ANY:
    case ROC_IR_WAVE_ALL:
    case ROC_IR_WAVE_SUM:
    case ROC_IR_WAVE_MIN:
    case ROC_IR_WAVE_MAX: return ROC_IR_UNIFORM_WAVE;
    case ROC_IR_WAVE_BROADCAST: return broadcast_level(a, inst);
    default: return ROC_IR_VARYING;
  }
}

static uint8_t result_level(const analysis *a, const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID:
    case ROC_IR_LANE_ID:
    case ROC_IR_ATOMIC: return ROC_IR_VARYING;
    case ROC_IR_GET: return a->u.vars[inst->aux];
    case ROC_IR_LOAD:
      return is_constant_memory(a, inst->aux) ? weakest_operand(a, inst) : ROC_IR_VARYING;
    case ROC_IR_WAVE: return wave_level(a, inst);
    default: return weakest_operand(a, inst);
  }
}

/* Control after the jumps met so far that lead to statements which are still open. */
static uint8_t control_of_rest(const analysis *a, uint8_t control) {
  for (uint32_t i = 0; i < a->around.count; i++) control = weaker(control, a->around.items[i].rest);
  return control;
}

/* All statements that the jump leaves go on, or start over, with the work-items that did not take
 * it. */
static void note_jump(analysis *a, const roc_ir_inst *inst, uint8_t control) {
  for (uint32_t i = a->around.count; i-- > 0;) {
    enclosing *around = &a->around.items[i];
    bool is_target = around->inst == inst->aux;
    if (!is_target || inst->op == ROC_IR_LEAVE) sink(a, &a->loops[around->inst], control);
    if (!is_target) continue;
    around->rest = weaker(around->rest, control);
    break;
  }
}

static void walk_region(analysis *a, uint32_t region, uint8_t control);

static void walk_nested(analysis *a, uint32_t id, const roc_ir_inst *inst, uint8_t control) {
  /* Which of two copies of the same statements it takes changes no value. */
  bool decides = inst->op != ROC_IR_IF || inst->aux != ROC_IR_IF_ALL;
  uint8_t inner = decides ? weaker(control, a->u.insts[id]) : control;
  if (inst->op == ROC_IR_IF) {
    walk_region(a, inst->k.region[0], inner);
    walk_region(a, inst->k.region[1], inner);
    return;
  }
  if (inst->op != ROC_IR_BLOCK) inner = weaker(inner, a->loops[id]);
  if (inst->op == ROC_IR_FOR) sink(a, &a->u.vars[inst->aux], inner);
  if (!roc_vec_push(&a->around, ((enclosing){id, ROC_IR_UNIFORM_GROUP}))) {
    a->failed = true;
    return;
  }
  walk_region(a, inst->k.region[0], inner);
  (void)roc_vec_pop(&a->around);
}

static void walk_region(analysis *a, uint32_t region, uint8_t control) {
  const roc_ir_ids *ids = &a->m->regions.items[region];
  for (uint32_t i = 0; i < ids->count && !a->failed; i++) {
    uint32_t id = ids->items[i];
    const roc_ir_inst *inst = &a->m->insts.items[id];
    uint8_t here = control_of_rest(a, control);
    sink(a, &a->u.control[id], here);
    sink(a, &a->u.insts[id], result_level(a, inst));
    if (inst->op == ROC_IR_SET) {
      sink(a, &a->u.vars[inst->aux], weaker(here, a->u.insts[id]));
    } else if (inst->op == ROC_IR_LEAVE || inst->op == ROC_IR_NEXT) {
      note_jump(a, inst, here);
    } else if (roc_ir_has_regions(inst)) {
      walk_nested(a, id, inst, here);
    }
  }
}

static void give_up(analysis *a) {
  memset(a->u.vars, ROC_IR_VARYING, a->m->vars.count);
  memset(a->loops, ROC_IR_VARYING, a->m->insts.count);
}

roc_status roc_ir_uniform_init(roc_ir_uniform *out, const roc_ir_module *module, roc_error *err) {
  analysis a = {.m = module};
  size_t ninsts = module->insts.count, nvars = module->vars.count;
  a.u.insts = roc_alloc(ninsts);
  a.u.vars = roc_alloc(nvars);
  a.u.control = roc_alloc(ninsts);
  a.loops = roc_alloc(ninsts);
  a.failed = !a.u.insts || !a.u.vars || !a.u.control || !a.loops;
  if (!a.failed) {
    memset(a.u.insts, ROC_IR_UNIFORM_GROUP, ninsts);
    memset(a.u.vars, ROC_IR_UNIFORM_GROUP, nvars);
    memset(a.u.control, ROC_IR_UNIFORM_GROUP, ninsts);
    memset(a.loops, ROC_IR_UNIFORM_GROUP, ninsts);
  }
  a.changed = true;
  for (int walk = 0; a.changed && !a.failed; walk++) {
    a.changed = false;
    if (walk == MAX_WALKS) give_up(&a);
    walk_region(&a, 0, ROC_IR_UNIFORM_GROUP);
  }
  roc_free(a.loops);
  roc_vec_deinit(&a.around);
  if (a.failed) {
    roc_ir_uniform_deinit(&a.u);
    return roc_fail(err, ROC_OOM, "out of memory");
  }
  *out = a.u;
  return ROC_OK;
}

void roc_ir_uniform_deinit(roc_ir_uniform *uniform) {
  roc_free(uniform->insts);
  roc_free(uniform->vars);
  roc_free(uniform->control);
  *uniform = (roc_ir_uniform){0};
}
