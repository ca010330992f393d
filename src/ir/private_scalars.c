/* See private_scalars.h.  First what qualifies is found, without changing anything: arrays all of
 * whose indices become constants, and the loops which must be written out for that.  Then the body
 * is copied, with those loops written out and those arrays replaced. */
#include "ir/private_scalars.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/build.h"
#include "ir/walk.h"

enum {
  MAX_ELEMENTS = 64,
  MAX_ROUNDS = 16,   /* of a loop that is written out */
  MAX_GROWTH = 3000, /* instructions that writing out adds, at most */
  MAX_DEPTH = 8,     /* of an index expression */
  MAX_ARGS = 16      /* of an instruction */
};

typedef struct scalarizer {
  roc_ir_module *m;
  roc_ir_builder b;
  uint32_t *for_of;    /* per variable: the FOR that counts with it and alone sets it, or NONE */
  bool *may_unroll;    /* per instruction: FORs that can be written out */
  bool *is_unrolled;   /* and those that are */
  bool *is_scalar;     /* per array: becomes variables */
  uint32_t *first_var; /* per array: the variable of its first element */
  int64_t *counters;   /* per variable: of a FOR being written out, its value */
  bool *is_counting;   /* per variable: there is one */
  uint32_t *copies;    /* per instruction */
  uint32_t nold_vars;
  uint32_t *set_in;   /* per new variable: the region where it is set first; NONE: not yet met */
  bool *may_be_unset; /* per new variable: read where an earlier iteration may have set it */
} scalarizer;

static const roc_ir_inst *inst_of(const scalarizer *s, uint32_t id) {
  return &s->m->insts.items[id];
}

static uint32_t arg_of(const scalarizer *s, uint32_t id, uint32_t n) {
  return roc_ir_arg(s->m, inst_of(s, id), n);
}

/* ---- loops --------------------------------------------------------------------------------- */

typedef struct bounds {
  int64_t first, step;
  uint32_t rounds;
} bounds;

/* The iterations of a FOR, when they are constant and few. */
static bool bounds_of(const scalarizer *s, uint32_t id, bounds *out) {
  const roc_ir_inst *k[3];
  for (uint32_t n = 0; n < 3; n++) {
    k[n] = inst_of(s, arg_of(s, id, n));
    if (k[n]->op != ROC_IR_CONST) return false;
  }
  __int128 first = k[0]->k.i, last = k[1]->k.i, step = k[2]->k.i;
  if (step == 0) return false;
  __int128 rounds = (step > 0 ? last < first : last > first) ? 0 : (last - first) / step + 1;
  *out = (bounds){.first = k[0]->k.i, .step = k[2]->k.i, .rounds = (uint32_t)rounds};
  return rounds <= MAX_ROUNDS;
}

/* A FOR is not written out when something jumps to it, or items meet in it. */
static void find_loops(scalarizer *s) {
  roc_ir_walk w;
  bounds b;
  ROC_IR_FOR_EACH(w, s->m, 0) {
    if (w.inst->op == ROC_IR_FOR) s->may_unroll[w.id] = bounds_of(s, w.id, &b);
  }
  ROC_IR_FOR_EACH(w, s->m, 0) {
    if (w.inst->op == ROC_IR_LEAVE || w.inst->op == ROC_IR_NEXT) s->may_unroll[w.inst->aux] = false;
    if (!(roc_ir_op_table[w.inst->op].flags & (ROC_IRF_CUT_GROUP | ROC_IRF_CUT_WAVE))) continue;
    for (uint32_t i = 0; i < w.depth; i++) {
      if (w.frames[i].owner != ROC_IR_NONE) s->may_unroll[w.frames[i].owner] = false;
    }
  }
}

static void find_counters(scalarizer *s) {
  roc_ir_walk w;
  for (uint32_t v = 0; v < s->m->vars.count; v++) s->for_of[v] = ROC_IR_NONE;
  ROC_IR_FOR_EACH(w, s->m, 0) {
    if (w.inst->op == ROC_IR_FOR && s->for_of[w.inst->aux] == ROC_IR_NONE) {
      s->for_of[w.inst->aux] = w.id;
    } else if (w.inst->op == ROC_IR_FOR || w.inst->op == ROC_IR_SET) {
      s->may_unroll[s->for_of[w.inst->aux] == ROC_IR_NONE ? w.id : s->for_of[w.inst->aux]] = false;
      s->may_unroll[w.id] = false;
    }
  }
}

/* ---- arrays -------------------------------------------------------------------------------- */

/* Whether the value is constant once the loops around are written out, which is marked to be done
 * where `marks`. */
static bool is_foldable(scalarizer *s, const roc_ir_walk *w, uint32_t id, bool marks,
                        unsigned depth) {
  const roc_ir_inst *inst = inst_of(s, id);
  if (inst->type != ROC_VT_INT || depth == MAX_DEPTH) return false;
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST: return true;
    case ROC_IR_GET: {
      uint32_t loop = s->for_of[inst->aux];
      if (loop == ROC_IR_NONE || !s->may_unroll[loop]) return false;
      if (marks) s->is_unrolled[loop] = true;
      return roc_ir_walk_is_inside(w, loop);
    }
    case ROC_IR_ADD:
    case ROC_IR_SUB:
    case ROC_IR_MUL:
      return is_foldable(s, w, arg_of(s, id, 0), marks, depth + 1) &&
             is_foldable(s, w, arg_of(s, id, 1), marks, depth + 1);
    default: return false;
  }
}

static int64_t size_of(const roc_ir_array *array) {
  __int128 size = 1;
  for (uint32_t d = 0; d < array->rank; d++) {
    size *= array->extents[d];
    if (size > MAX_ELEMENTS) return MAX_ELEMENTS + 1;
  }
  return (int64_t)size;
}

/* A store rounds or wraps to the element; these conversions do the same to a value. */
static bool has_conversion(roc_dtype dtype) {
  roc_value_type type = roc_dtype_table[dtype].value_type;
  bool is_half = type == ROC_VT_F32 && dtype != ROC_DT_FLOAT32;
  return type != ROC_VT_BOOL && !is_half;
}

static bool may_be_scalar(const roc_ir_array *array) {
  return array->kind == ROC_IR_ARRAY_PRIVATE && has_conversion(array->dtype) &&
         size_of(array) <= MAX_ELEMENTS;
}

static bool is_memory_op(const roc_ir_inst *inst) {
  return inst->op == ROC_IR_LOAD || inst->op == ROC_IR_STORE || inst->op == ROC_IR_ATOMIC;
}

static bool has_foldable_index(scalarizer *s, const roc_ir_walk *w, bool marks) {
  if (w->inst->op == ROC_IR_ATOMIC) return false;
  for (uint32_t n = w->inst->op == ROC_IR_STORE; n < w->inst->nargs; n++) {
    if (!is_foldable(s, w, arg_of(s, w->id, n), marks, 0)) return false;
  }
  return true;
}

/* True when there are arrays that become variables. */
static bool find_arrays(scalarizer *s) {
  roc_ir_walk w;
  bool any = false;
  for (uint32_t a = 0; a < s->m->arrays.count; a++) {
    s->is_scalar[a] = may_be_scalar(&s->m->arrays.items[a]);
  }
  ROC_IR_FOR_EACH(w, s->m, 0) {
    if (w.inst->nargs > MAX_ARGS) return false;
    if (is_memory_op(w.inst)) s->is_scalar[w.inst->aux] &= has_foldable_index(s, &w, false);
  }
  ROC_IR_FOR_EACH(w, s->m, 0) {
    if (is_memory_op(w.inst) && s->is_scalar[w.inst->aux]) any |= has_foldable_index(s, &w, true);
  }
  return any;
}

/* Instructions of a region with its loops written out. */
static uint64_t count_insts(const scalarizer *s, uint32_t region) {
  const roc_ir_ids *ids = &s->m->regions.items[region];
  uint64_t sum = 0;
  bounds b;
  for (uint32_t i = 0; i < ids->count; i++) {
    const roc_ir_inst *inst = inst_of(s, ids->items[i]);
    uint64_t inner = 0;
    for (uint32_t r = 0; r < roc_ir_region_count(inst); r++) {
      inner += count_insts(s, inst->k.region[r]);
    }
    if (s->is_unrolled[ids->items[i]] && bounds_of(s, ids->items[i], &b)) inner *= b.rounds;
    sum += inner + 1;
    if (sum > UINT32_MAX) return UINT32_MAX;
  }
  return sum;
}

/* ---- the copy ------------------------------------------------------------------------------ */

/* Sums and products of constants, for indices. */
static bool fold(const scalarizer *s, const roc_ir_inst *inst, const uint32_t *args, int64_t *out) {
  bool is_sum = inst->op == ROC_IR_ADD || inst->op == ROC_IR_SUB || inst->op == ROC_IR_MUL;
  if (!is_sum || inst->type != ROC_VT_INT) return false;
  const roc_ir_inst *x = inst_of(s, args[0]), *y = inst_of(s, args[1]);
  if (x->op != ROC_IR_CONST || y->op != ROC_IR_CONST) return false;
  uint64_t a = (uint64_t)x->k.i, b = (uint64_t)y->k.i;
  *out = (int64_t)(inst->op == ROC_IR_ADD ? a + b : inst->op == ROC_IR_SUB ? a - b : a * b);
  return true;
}

/* The variable of an element; NONE: out of range, where a check has ended the work-item. */
static uint32_t element_var(const scalarizer *s, const roc_ir_inst *inst, const uint32_t *index) {
  const roc_ir_array *array = &s->m->arrays.items[inst->aux];
  int64_t offset = 0;
  for (uint32_t d = 0; d < array->rank; d++) {
    int64_t i = inst_of(s, index[d])->k.i;
    if (i < 1 || i > array->extents[d]) return ROC_IR_NONE;
    offset = offset * array->extents[d] + i - 1;
  }
  return s->first_var[inst->aux] + (uint32_t)offset;
}

/* Whether code that is emitted now runs in `region` or in one that is nested there. */
static bool is_within(const scalarizer *s, uint32_t region) {
  if (s->b.region == region) return true;
  for (uint32_t i = 0; i < s->b.open.count; i++) {
    if (s->b.open.items[i].parent == region) return true;
  }
  return false;
}

/* A variable that is set at the start of whatever region it is used in needs no other value. */
static void touch(scalarizer *s, uint32_t var, bool sets) {
  uint32_t n = var - s->nold_vars;
  if (sets && s->set_in[n] == ROC_IR_NONE) s->set_in[n] = s->b.region;
  s->may_be_unset[n] |= s->set_in[n] == ROC_IR_NONE || !is_within(s, s->set_in[n]);
}

static uint32_t zero(scalarizer *s, roc_value_type type) {
  return type == ROC_VT_INT   ? roc_ir_const_int(&s->b, 0)
         : type == ROC_VT_F32 ? roc_ir_const_f32(&s->b, 0)
                              : roc_ir_const_f64(&s->b, 0);
}

static uint32_t copy_load(scalarizer *s, const roc_ir_inst *inst, const uint32_t *args) {
  uint32_t var = element_var(s, inst, args);
  if (var == ROC_IR_NONE) return zero(s, (roc_value_type)inst->type);
  touch(s, var, false);
  return roc_ir_get(&s->b, var);
}

/* What is loaded from an element that `value` was stored to. */
static uint32_t as_element(scalarizer *s, roc_dtype dtype, uint32_t value) {
  roc_value_type type = roc_dtype_table[dtype].value_type;
  if (type != ROC_VT_INT) return roc_ir_to_float(&s->b, type, value);
  return roc_dtype_itemsize(dtype) == 8 ? value : roc_ir_convert(&s->b, dtype, value);
}

static void copy_store(scalarizer *s, const roc_ir_inst *inst, const uint32_t *args) {
  uint32_t var = element_var(s, inst, args + 1);
  if (var == ROC_IR_NONE) return;
  touch(s, var, true);
  roc_ir_set(&s->b, var, as_element(s, s->m->arrays.items[inst->aux].dtype, args[0]));
}

static void copy_region(scalarizer *s, uint32_t region);

static void write_out(scalarizer *s, uint32_t id) {
  uint32_t var = inst_of(s, id)->aux, region = inst_of(s, id)->k.region[0];
  bounds b;
  bounds_of(s, id, &b);
  s->is_counting[var] = true;
  for (uint32_t i = 0; i < b.rounds; i++) {
    s->counters[var] = b.first + (int64_t)i * b.step;
    copy_region(s, region);
  }
  s->is_counting[var] = false;
}

static void copy_control(scalarizer *s, uint32_t id, const roc_ir_inst *inst,
                         const uint32_t *args) {
  uint32_t copy = roc_ir_begin(&s->b, (roc_ir_op)inst->op, inst->aux, args, inst->nargs);
  s->copies[id] = copy;
  copy_region(s, inst->k.region[0]);
  if (inst->op == ROC_IR_IF) {
    roc_ir_else(&s->b, copy);
    copy_region(s, inst->k.region[1]);
  }
  roc_ir_end(&s->b, copy);
}

static void copy_inst(scalarizer *s, uint32_t id) {
  roc_ir_inst inst = *inst_of(s, id);
  uint32_t args[MAX_ARGS];
  int64_t value;
  if (s->b.failed) return;
  s->b.loc = inst.loc;
  for (uint32_t n = 0; n < inst.nargs; n++) args[n] = s->copies[roc_ir_arg(s->m, &inst, n)];
  if (inst.op == ROC_IR_LEAVE || inst.op == ROC_IR_NEXT) inst.aux = s->copies[inst.aux];
  bool is_scalar = is_memory_op(&inst) && s->is_scalar[inst.aux];
  if (s->is_unrolled[id]) {
    write_out(s, id);
  } else if (roc_ir_has_regions(&inst)) {
    copy_control(s, id, &inst, args);
  } else if (inst.op == ROC_IR_GET && s->is_counting[inst.aux]) {
    s->copies[id] = roc_ir_const_int(&s->b, s->counters[inst.aux]);
  } else if (is_scalar && inst.op == ROC_IR_LOAD) {
    s->copies[id] = copy_load(s, &inst, args);
  } else if (is_scalar) {
    copy_store(s, &inst, args);
  } else if (fold(s, &inst, args, &value)) {
    s->copies[id] = roc_ir_const_int(&s->b, value);
  } else {
    s->copies[id] = roc_ir_append(&s->b, inst, args);
  }
}

static void copy_region(scalarizer *s, uint32_t region) {
  for (uint32_t i = 0; i < s->m->regions.items[region].count; i++) {
    copy_inst(s, s->m->regions.items[region].items[i]);
  }
}

static bool add_vars(scalarizer *s) {
  s->nold_vars = s->m->vars.count;
  for (uint32_t a = 0; a < s->m->arrays.count; a++) {
    const roc_ir_array *array = &s->m->arrays.items[a];
    if (!s->is_scalar[a]) continue;
    int64_t size = size_of(array);
    for (int64_t i = 0; i < size; i++) {
      uint32_t var = roc_ir_add_var(&s->b, array->name, roc_dtype_table[array->dtype].value_type);
      if (i == 0) s->first_var[a] = var;
    }
  }
  uint32_t count = s->m->vars.count - s->nold_vars + 1;
  s->set_in = roc_zalloc(count * sizeof *s->set_in);
  s->may_be_unset = roc_zalloc(count);
  if (!s->set_in || !s->may_be_unset) return false;
  memset(s->set_in, 0xff, count * sizeof *s->set_in);
  return true;
}

/* The old list of the body stays readable while the new one is filled. */
static void copy_body(scalarizer *s) {
  roc_ir_ids old = s->m->regions.items[0];
  s->m->regions.items[0] = (roc_ir_ids){0};
  s->b.region = 0;
  for (uint32_t i = 0; i < old.count; i++) copy_inst(s, old.items[i]);
  roc_vec_deinit(&old);
}

/* Variables that keep something from one iteration to the next are set in front of all loops, too:
 * they live outside of them. */
static void set_unset(scalarizer *s) {
  roc_ir_ids body = s->m->regions.items[0];
  s->m->regions.items[0] = (roc_ir_ids){0};
  for (uint32_t v = s->nold_vars; v < s->m->vars.count; v++) {
    if (!s->may_be_unset[v - s->nold_vars]) continue;
    roc_ir_set(&s->b, v, zero(s, s->m->vars.items[v].type));
  }
  for (uint32_t i = 0; i < body.count && !s->b.failed; i++) {
    s->b.failed = !roc_vec_push(&s->m->regions.items[0], body.items[i]);
  }
  roc_vec_deinit(&body);
}

/* ---- the pass ------------------------------------------------------------------------------ */

static bool has_candidates(const roc_ir_module *m) {
  for (uint32_t a = 0; a < m->arrays.count; a++) {
    if (may_be_scalar(&m->arrays.items[a])) return true;
  }
  return false;
}

static bool allocate(scalarizer *s) {
  uint32_t ninsts = s->m->insts.count + 1, nvars = s->m->vars.count + 1;
  uint32_t narrays = s->m->arrays.count + 1;
  s->for_of = roc_zalloc(nvars * sizeof *s->for_of);
  s->may_unroll = roc_zalloc(ninsts);
  s->is_unrolled = roc_zalloc(ninsts);
  s->is_scalar = roc_zalloc(narrays);
  s->first_var = roc_zalloc(narrays * sizeof *s->first_var);
  s->counters = roc_zalloc(nvars * sizeof *s->counters);
  s->is_counting = roc_zalloc(nvars);
  s->copies = roc_zalloc(ninsts * sizeof *s->copies);
  return s->for_of && s->may_unroll && s->is_unrolled && s->is_scalar && s->first_var &&
         s->counters && s->is_counting && s->copies;
}

static void deallocate(scalarizer *s) {
  void *tables[] = {s->for_of,   s->may_unroll,  s->is_unrolled, s->is_scalar, s->first_var,
                    s->counters, s->is_counting, s->copies,      s->set_in,    s->may_be_unset};
  for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) roc_free(tables[i]);
}

roc_status roc_ir_scalarize_private(roc_ir_module *module, bool *out_changed, roc_error *err) {
  scalarizer s = {.m = module};
  *out_changed = false;
  if (!has_candidates(module)) return ROC_OK;
  roc_ir_builder_init(&s.b, module);
  bool is_allocated = allocate(&s);
  if (is_allocated) {
    find_loops(&s);
    find_counters(&s);
    bool any = find_arrays(&s);
    *out_changed = any && count_insts(&s, 0) <= module->insts.count + (uint64_t)MAX_GROWTH;
    if (*out_changed && (is_allocated = add_vars(&s))) {
      copy_body(&s);
      set_unset(&s);
    }
  }
  roc_status status = roc_ir_builder_finish(&s.b, err);
  deallocate(&s);
  return is_allocated ? status : roc_fail(err, ROC_OOM, "out of memory");
}
