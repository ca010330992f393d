/* See narrow_group_ids.h. One walk in execution order: after each product of a group's number, and
 * each sum with one, goes its clamped copy; users for which the two are the same get the copy. What
 * is unused in the end is dead code, which a later pass removes. */
#include "ir/narrow_group_ids.h"

#include "base/alloc.h"
#include "ir/build.h"
#include "ir/layout.h"
#include "ir/range.h"

enum { MAX_DEPTH = 8, MAX_FACTOR = 1 << 20 };

/* What is added to a product, all in all, lies in -REACH … REACH.  A clamped product lies in 0 …
 * LEAST + 3 * MAX_FACTOR; clamped, it is at least LEAST: sums of it lie between 2^31 and 2^32. */
static const int64_t REACH = (int64_t)1 << 29, LEAST = ((int64_t)1 << 31) + ((int64_t)1 << 29);

typedef struct narrow_value {
  uint32_t id; /* ROC_IR_NONE: there is none */
  roc_ir_range reach;
} narrow_value;

typedef struct narrowing {
  roc_ir_module *m;
  roc_ir_builder b;
  narrow_value *narrows; /* per instruction there was at the start */
  uint32_t count;        /* of those */
  roc_ir_range *vars;    /* per variable: what it holds, as constants say */
} narrowing;

static const roc_ir_inst *inst_of(const narrowing *c, uint32_t id) {
  return &c->m->insts.items[id];
}

static uint32_t arg_of(const narrowing *c, uint32_t id, uint32_t n) {
  return roc_ir_arg(c->m, inst_of(c, id), n);
}

/* ---- ranges by how a value is made ---- */

static roc_ir_range range_of(const narrowing *c, uint32_t id, unsigned depth) {
  const roc_ir_inst *inst = inst_of(c, id);
  roc_ir_op op = (roc_ir_op)inst->op;
  if (inst->type != ROC_VT_INT) return roc_ir_range_all;
  if (op == ROC_IR_CONST) return (roc_ir_range){inst->k.i, inst->k.i};
  if (op == ROC_IR_GET) return c->vars[inst->aux];
  if (op == ROC_IR_PARAM && c->m->params.items[inst->aux].type.is_narrow) {
    return (roc_ir_range){0, INT32_MAX};
  }
  if (op == ROC_IR_EXTENT) {
    const roc_ir_array *array = &c->m->arrays.items[inst->aux];
    if (array->kind == ROC_IR_ARRAY_PARAM) {
      return (roc_ir_range){0, roc_arg_most_extent(&c->m->params.items[array->param].type)};
    }
    bool is_dynamic = array->kind == ROC_IR_ARRAY_SHARED_DYNAMIC;
    return (roc_ir_range){0, is_dynamic ? INT32_MAX : array->extents[inst->k.i]};
  }
  if (op >= ROC_IR_GLOBAL_ID && op <= ROC_IR_LANE_ID) {
    return roc_ir_range_of_query(c->m, &roc_ir_limits_gpu, op, inst->aux);
  }
  roc_ir_range args[ROC_IR_VALUE_ARGS];
  bool is_pure = roc_ir_op_table[op].flags == ROC_IRF_PURE;
  if (!is_pure || !inst->nargs || inst->nargs > ROC_IR_VALUE_ARGS || depth == MAX_DEPTH) {
    return roc_ir_range_all;
  }
  for (uint32_t n = 0; n < inst->nargs; n++) args[n] = range_of(c, arg_of(c, id, n), depth + 1);
  return roc_ir_range_apply(op, inst->aux, args);
}

static bool is_const(const narrowing *c, uint32_t id, int64_t low, int64_t high) {
  const roc_ir_inst *inst = inst_of(c, id);
  return inst->op == ROC_IR_CONST && inst->type == ROC_VT_INT && inst->k.i >= low &&
         inst->k.i <= high;
}

/* ---- narrow copies ---- */

/* (group - 1) * factor or group * factor, either way round; the factor is operand *at. */
static bool is_product(const narrowing *c, uint32_t id, uint32_t *at, uint32_t *group) {
  if (inst_of(c, id)->op != ROC_IR_MUL || inst_of(c, id)->type != ROC_VT_INT) return false;
  *at = is_const(c, arg_of(c, id, 1), 2, MAX_FACTOR) ? 1 : 0;
  if (!is_const(c, arg_of(c, id, *at), 2, MAX_FACTOR)) return false;
  *group = arg_of(c, id, 1 - *at);
  const roc_ir_inst *from = inst_of(c, *group);
  if (from->op == ROC_IR_GROUP_ID) return true;
  return from->op == ROC_IR_SUB && inst_of(c, arg_of(c, *group, 0))->op == ROC_IR_GROUP_ID &&
         is_const(c, arg_of(c, *group, 1), 1, 1);
}

static void add_product(narrowing *c, uint32_t id) {
  uint32_t at, group;
  if (!is_product(c, id, &at, &group)) return;
  int64_t factor = inst_of(c, arg_of(c, id, at))->k.i;
  /* LEAST or more, times the factor: whether the number counts from 0 or from 1. */
  uint32_t most = roc_ir_const_int(&c->b, LEAST / factor + 1);
  uint32_t clamped = roc_ir_binary(&c->b, ROC_IR_MIN, group, most);
  uint32_t by = roc_ir_const_int(&c->b, factor);
  c->narrows[id] = (narrow_value){roc_ir_binary(&c->b, ROC_IR_MUL, clamped, by), {0, 0}};
}

static bool has_narrow(const narrowing *c, uint32_t id) {
  return id < c->count && c->narrows[id].id != ROC_IR_NONE;
}

/* A sum of something with a narrow copy and something small. */
static void add_sum(narrowing *c, uint32_t id) {
  roc_ir_op op = (roc_ir_op)inst_of(c, id)->op;
  if (inst_of(c, id)->type != ROC_VT_INT || (op != ROC_IR_ADD && op != ROC_IR_SUB)) return;
  uint32_t a = arg_of(c, id, 0), b = arg_of(c, id, 1);
  bool is_first = has_narrow(c, a);
  if (is_first == has_narrow(c, b) || (op == ROC_IR_SUB && !is_first)) return;
  const narrow_value *of = &c->narrows[is_first ? a : b];
  roc_ir_range args[2] = {of->reach, range_of(c, is_first ? b : a, 0)};
  roc_ir_range reach = roc_ir_range_apply(op, 0, args);
  if (reach.low < -REACH || reach.high > REACH) return;
  uint32_t sum =
      is_first ? roc_ir_binary(&c->b, op, of->id, b) : roc_ir_binary(&c->b, op, a, of->id);
  c->narrows[id] = (narrow_value){sum, reach};
}

/* ---- users ---- */

static void use_narrow(narrowing *c, uint32_t id, uint32_t n) {
  uint32_t *operand = &c->m->operands.items[inst_of(c, id)->args + n];
  if (has_narrow(c, *operand)) *operand = c->narrows[*operand].id;
}

/* A sum beyond 2^31 compares with something below like any other. */
static void rewrite_comparison(narrowing *c, uint32_t id) {
  for (uint32_t n = 0; n < 2; n++) {
    uint32_t other = arg_of(c, id, 1 - n);
    bool is_int = inst_of(c, other)->type == ROC_VT_INT;
    if (is_int && !has_narrow(c, other) && range_of(c, other, 0).high <= INT32_MAX) {
      use_narrow(c, id, n);
    }
  }
}

static void rewrite_indices(narrowing *c, uint32_t id, uint32_t first) {
  const roc_ir_array *array = &c->m->arrays.items[inst_of(c, id)->aux];
  bool is_narrow =
      array->kind == ROC_IR_ARRAY_PARAM
          ? c->m->params.items[array->param].type.is_narrow
          : array->kind != ROC_IR_ARRAY_SHARED_DYNAMIC && roc_ir_array_size(array) <= INT32_MAX;
  for (uint32_t d = 0; is_narrow && d < array->rank; d++) use_narrow(c, id, first + d);
}

static void rewrite(narrowing *c, uint32_t id) {
  switch ((roc_ir_op)inst_of(c, id)->op) {
    case ROC_IR_EQ:
    case ROC_IR_NE:
    case ROC_IR_LT:
    case ROC_IR_LE: rewrite_comparison(c, id); break;
    case ROC_IR_LOAD:
    case ROC_IR_ATOMIC: rewrite_indices(c, id, 0); break;
    case ROC_IR_STORE: rewrite_indices(c, id, 1); break;
    default: break;
  }
}

static void walk_region(narrowing *c, uint32_t region) {
  roc_ir_ids old = c->m->regions.items[region];
  c->m->regions.items[region] = (roc_ir_ids){0};
  for (uint32_t i = 0; i < old.count && !c->b.failed; i++) {
    uint32_t id = old.items[i];
    rewrite(c, id);
    roc_ir_inst inst = *inst_of(c, id);
    c->b.region = region;
    c->b.loc = inst.loc;
    if (!roc_vec_push(&c->m->regions.items[region], id)) c->b.failed = true;
    add_product(c, id);
    add_sum(c, id);
    for (uint32_t r = 0; r < roc_ir_region_count(&inst); r++) walk_region(c, inst.k.region[r]);
  }
  roc_vec_deinit(&old);
}

/* ---- variables ---- */

/* Of a constant or a counter between constants; everything of others. */
static roc_ir_range range_of_set(const narrowing *c, const roc_ir_inst *inst) {
  roc_ir_range range = {INT64_MAX, INT64_MIN};
  uint32_t bounds = inst->op == ROC_IR_FOR ? 2 : 1;
  for (uint32_t n = 0; n < bounds; n++) {
    const roc_ir_inst *bound = inst_of(c, roc_ir_arg(c->m, inst, n));
    if (bound->op != ROC_IR_CONST || bound->type != ROC_VT_INT) return roc_ir_range_all;
    range = roc_ir_range_join(range, (roc_ir_range){bound->k.i, bound->k.i});
  }
  return range;
}

/* A variable that is read before it is set holds 0. */
static void find_vars(narrowing *c) {
  for (uint32_t i = 0; i < c->m->vars.count; i++) c->vars[i] = (roc_ir_range){0, 0};
  for (uint32_t i = 0; i < c->count; i++) {
    const roc_ir_inst *inst = inst_of(c, i);
    if (inst->op != ROC_IR_SET && inst->op != ROC_IR_FOR) continue;
    c->vars[inst->aux] = roc_ir_range_join(c->vars[inst->aux], range_of_set(c, inst));
  }
}

static bool has_group_ids(const roc_ir_module *m) {
  for (uint32_t i = 0; i < m->insts.count; i++) {
    if (m->insts.items[i].op == ROC_IR_GROUP_ID) return true;
  }
  return false;
}

roc_status roc_ir_narrow_group_ids(roc_ir_module *module, roc_error *err) {
  if (!has_group_ids(module)) return ROC_OK;
  narrowing c = {.m = module, .count = module->insts.count};
  c.narrows = roc_alloc(c.count * sizeof *c.narrows);
  c.vars = roc_alloc((module->vars.count + 1) * sizeof *c.vars);
  bool is_made = c.narrows && c.vars;
  if (is_made) {
    for (uint32_t i = 0; i < c.count; i++) c.narrows[i] = (narrow_value){ROC_IR_NONE, {0, 0}};
    find_vars(&c);
    roc_ir_builder_init(&c.b, module);
    walk_region(&c, 0);
  }
  roc_free(c.narrows);
  roc_free(c.vars);
  return is_made ? roc_ir_builder_finish(&c.b, err) : roc_fail(err, ROC_OOM, "out of memory");
}
