/* See verify.h.  One walk over the regions in execution order; `scope` of an instruction tells
 * whether its result may be used at the point the walk has reached. */
#include "ir/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/fields.h"
#include "ir/loop_versioning.h"

enum { NOT_SEEN, IN_SCOPE, OUT_OF_SCOPE };

typedef struct verifier {
  const roc_ir_module *m;
  uint8_t *scope;          /* per instruction */
  uint8_t *is_region_used; /* per region */
  uint8_t *is_loop_var;    /* per variable: set by an enclosing FOR */
  roc_ir_ids around;       /* control instructions around the point of the walk */
  uint32_t depth;
  roc_error *err;
} verifier;

static roc_status broken(verifier *v, uint32_t id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static roc_status broken(verifier *v, uint32_t id, const char *format, ...) {
  char rule[512];
  va_list args;
  va_start(args, format);
  vsnprintf(rule, sizeof rule, format, args);
  va_end(args);
  const roc_ir_inst *inst = &v->m->insts.items[id];
  const char *op = inst->op < ROC_IR_OP_COUNT_ ? roc_ir_op_table[inst->op].text : "?";
  const roc_ir_loc *loc =
      inst->loc < v->m->locs.count ? &v->m->locs.items[inst->loc] : &v->m->locs.items[0];
  return roc_fail(v->err, ROC_INTERNAL, "invalid IR in kernel '%s': %%%u %s (%s:%u): %s",
                  v->m->name, id, op, loc->file, loc->line, rule);
}

static const roc_ir_inst *operand(const verifier *v, const roc_ir_inst *inst, uint32_t n) {
  return &v->m->insts.items[roc_ir_arg(v->m, inst, n)];
}

/* Every operand is a value in scope; knows nothing of its type. */
static roc_status check_scope(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  if ((uint64_t)inst->args + inst->nargs > v->m->operands.count) {
    return broken(v, id, "its operands end beyond the operand table");
  }
  for (uint32_t n = 0; n < inst->nargs; n++) {
    uint32_t arg = roc_ir_arg(v->m, inst, n);
    if (arg >= v->m->insts.count) return broken(v, id, "operand %u is no instruction", n + 1);
    if (v->scope[arg] != IN_SCOPE) {
      return broken(v, id, "operand %u, %%%u, is not defined before it in a region around it",
                    n + 1, arg);
    }
    if (v->m->insts.items[arg].type == ROC_VT_NONE) {
      return broken(v, id, "operand %u, %%%u, has no value", n + 1, arg);
    }
  }
  return ROC_OK;
}

static const char *kind_text(char kind) {
  switch (kind) {
    case 'i': return "int";
    case 'f': return "f32 or f64";
    case 'b': return "bool";
    case 'n': return "int, f32 or f64";
    default: return "a value";
  }
}

static bool is_kind(char kind, roc_value_type type) {
  switch (kind) {
    case 'i': return type == ROC_VT_INT;
    case 'f': return type == ROC_VT_F32 || type == ROC_VT_F64;
    case 'b': return type == ROC_VT_BOOL;
    case 'n': return type == ROC_VT_INT || type == ROC_VT_F32 || type == ROC_VT_F64;
    default: return type != ROC_VT_NONE;
  }
}

/* Checks operands first … against `kinds` (up to '*' or ':').  Operands of one letter f, n or v are
 * of one type. */
static roc_status check_kinds(verifier *v, uint32_t id, const roc_ir_inst *inst,
                              const char *kinds) {
  uint32_t fixed = (uint32_t)strcspn(kinds, "*:");
  bool is_open = kinds[fixed] == '*';
  if (inst->nargs < fixed || (inst->nargs > fixed && !is_open)) {
    return broken(v, id, "%u operands, the rule is %s%u", inst->nargs, is_open ? "at least " : "",
                  fixed);
  }
  for (uint32_t n = 0; n < fixed; n++) {
    roc_value_type type = operand(v, inst, n)->type;
    if (!is_kind(kinds[n], type)) {
      return broken(v, id, "operand %u is %s, the rule is %s", n + 1, roc_ir_type_word(type),
                    kind_text(kinds[n]));
    }
    const char *twin = memchr(kinds, kinds[n], n);
    if (twin && operand(v, inst, (uint32_t)(twin - kinds))->type != type) {
      return broken(v, id, "operands %u and %u are of different types",
                    (uint32_t)(twin - kinds) + 1, n + 1);
    }
  }
  return ROC_OK;
}

static roc_status check_field(verifier *v, uint32_t id, const roc_ir_inst *inst, char field) {
  const roc_ir_module *m = v->m;
  if (field == 'c' || field == 'l') return ROC_OK; /* checked with the op */
  int64_t value = roc_ir_field_get(inst, field);
  uint32_t index = inst->aux;
  switch (field) {
    case 'v':
      return index < m->vars.count ? ROC_OK : broken(v, id, "there is no variable %u", index);
    case 'p':
      if (index < m->params.count && !roc_arg_is_array(&m->params.items[index].type)) return ROC_OK;
      return broken(v, id, "there is no scalar parameter %u", index);
    case 'a':
      return index < m->arrays.count ? ROC_OK : broken(v, id, "there is no array %u", index);
    case 's':
      if (inst->aux2 < m->sites.count) return ROC_OK;
      return broken(v, id, "there is no site %u", inst->aux2);
    case 'D': return index < 3 ? ROC_OK : broken(v, id, "dimension %u is not 0, 1 or 2", index);
    case 'd': /* after 'a' in every op */
      if (value >= 0 && value < m->arrays.items[index].rank) return ROC_OK;
      return broken(v, id, "the array has no dimension %" PRId64, value);
    case 'm':
      return value >= 1 && value <= 3 ? ROC_OK
                                      : broken(v, id, "memory %" PRId64 " is not 1, 2 or 3", value);
    default:
      if (roc_ir_field_word(field, value)) return ROC_OK;
      return broken(v, id, "%" PRId64 " names no such operation", value);
  }
}

static roc_status check_result(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  roc_value_type want;
  switch (roc_ir_op_table[inst->op].result) {
    case 'N': want = ROC_VT_NONE; break;
    case 'B': want = ROC_VT_BOOL; break;
    case 'I': want = ROC_VT_INT; break;
    case 'S': want = operand(v, inst, 0)->type; break;
    default: return inst->type < ROC_VT_COUNT_ ? ROC_OK : broken(v, id, "the result has no type");
  }
  if (inst->type == want) return ROC_OK;
  return broken(v, id, "the result is %s, the rule is %s", roc_ir_type_word(inst->type),
                roc_ir_type_word(want));
}

/* ROC_OK when the stated result is `want`. */
static roc_status expect_type(verifier *v, uint32_t id, const roc_ir_inst *inst,
                              roc_value_type want) {
  if (inst->type == want) return ROC_OK;
  return broken(v, id, "the result is %s, the rule here is %s", roc_ir_type_word(inst->type),
                roc_ir_type_word(want));
}

static roc_status check_const(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  if (inst->type == ROC_VT_NONE) return broken(v, id, "a constant has a type");
  if (inst->type == ROC_VT_BOOL && inst->k.i != 0 && inst->k.i != 1) {
    return broken(v, id, "a boolean constant is 0 or 1");
  }
  bool is_nan = inst->k.f != inst->k.f;
  if (inst->type == ROC_VT_F32 && !is_nan && (double)(float)inst->k.f != inst->k.f) {
    return broken(v, id, "%.17g is no float32", inst->k.f);
  }
  return ROC_OK;
}

static roc_status check_conversion(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  roc_value_type from = operand(v, inst, 0)->type;
  roc_value_type to = inst->op == ROC_IR_TO_F32 ? ROC_VT_F32 : ROC_VT_F64;
  if (from == to) return broken(v, id, "the operand is %s already", roc_ir_type_word(to));
  return expect_type(v, id, inst, to);
}

static roc_status check_math(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  uint32_t arity = roc_ir_math_table[inst->aux].arity;
  if (inst->nargs != arity) {
    return broken(v, id, "%u operands, %s takes %u", inst->nargs, roc_ir_math_table[inst->aux].text,
                  arity);
  }
  for (uint32_t n = 1; n < arity; n++) {
    if (operand(v, inst, n)->type != inst->type) {
      return broken(v, id, "operands 1 and %u are of different types", n + 1);
    }
  }
  return ROC_OK;
}

static roc_status check_indices(verifier *v, uint32_t id, const roc_ir_inst *inst, uint32_t first,
                                uint32_t nafter) {
  uint32_t rank = v->m->arrays.items[inst->aux].rank;
  if (inst->nargs != first + rank + nafter) {
    return broken(v, id, "%u operands, the rule is %u: the array has %u dimensions", inst->nargs,
                  first + rank + nafter, rank);
  }
  for (uint32_t n = first; n < first + rank; n++) {
    roc_value_type type = operand(v, inst, n)->type;
    if (type != ROC_VT_INT) {
      return broken(v, id, "operand %u is %s, an index is int", n + 1, roc_ir_type_word(type));
    }
  }
  return ROC_OK;
}

static roc_value_type element_type(const verifier *v, const roc_ir_inst *inst) {
  return roc_dtype_table[v->m->arrays.items[inst->aux].dtype].value_type;
}

static roc_status check_load(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  ROC_TRY(check_indices(v, id, inst, 0, 0));
  return expect_type(v, id, inst, element_type(v, inst));
}

/* Integers and floats round once on their way into a float element; nothing else mixes. */
static bool is_storable(roc_value_type value, roc_value_type element) {
  bool is_float = element == ROC_VT_F32 || element == ROC_VT_F64;
  return value == element || (is_float && value != ROC_VT_BOOL);
}

static roc_status check_store(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  ROC_TRY(check_indices(v, id, inst, 1, 0));
  const roc_ir_array *array = &v->m->arrays.items[inst->aux];
  if (array->kind == ROC_IR_ARRAY_CONST) return broken(v, id, "a const array is not written");
  roc_value_type type = operand(v, inst, 0)->type;
  if (is_storable(type, element_type(v, inst))) return ROC_OK;
  return broken(v, id, "%s is not stored in an array of %s", roc_ir_type_word(type),
                roc_dtype_name(array->dtype));
}

static roc_status check_atomic(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  roc_ir_atomic op = (roc_ir_atomic)inst->k.i;
  uint32_t nvalues = roc_ir_atomic_values(op);
  ROC_TRY(check_indices(v, id, inst, 0, nvalues));
  const roc_ir_array *array = &v->m->arrays.items[inst->aux];
  if (array->kind == ROC_IR_ARRAY_CONST || array->kind == ROC_IR_ARRAY_PRIVATE) {
    return broken(v, id, "atomics work on global and shared arrays");
  }
  roc_value_type element = element_type(v, inst);
  bool is_bitwise = (op >= ROC_IR_ATOMIC_AND && op <= ROC_IR_ATOMIC_XOR) ||
                    op == ROC_IR_ATOMIC_INC || op == ROC_IR_ATOMIC_DEC;
  if (roc_dtype_itemsize(array->dtype) < 4 || (is_bitwise && element != ROC_VT_INT)) {
    return broken(v, id, "no atomic %s on %s", roc_ir_field_word('o', op),
                  roc_dtype_name(array->dtype));
  }
  for (uint32_t n = array->rank; n < inst->nargs; n++) {
    if (operand(v, inst, n)->type != element) {
      return broken(v, id, "operand %u is not of the array's type %s", n + 1,
                    roc_ir_type_word(element));
    }
  }
  return expect_type(v, id, inst, op == ROC_IR_ATOMIC_STORE ? ROC_VT_NONE : element);
}

static roc_status check_wave(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  const char *kinds = roc_ir_wave_types[inst->k.i];
  ROC_TRY(check_kinds(v, id, inst, kinds));
  char result = strchr(kinds, ':')[1];
  if (result == 'i') return expect_type(v, id, inst, ROC_VT_INT);
  if (result == 'b') return expect_type(v, id, inst, ROC_VT_BOOL);
  uint32_t source = (uint32_t)(strchr(kinds, result) - kinds);
  return expect_type(v, id, inst, operand(v, inst, source)->type);
}

static roc_status check_report(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  uint32_t nvalues = inst->nargs - (inst->op == ROC_IR_CHECK ? 1u : 0u);
  uint32_t recorded = v->m->sites.items[inst->aux2].nvalues;
  if (nvalues == recorded) return ROC_OK;
  return broken(v, id, "%u values, its site records %u", nvalues, recorded);
}

static roc_status check_set(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  if (v->is_loop_var[inst->aux]) {
    return broken(v, id, "the variable of a for is not set in its body");
  }
  if (operand(v, inst, 0)->type == v->m->vars.items[inst->aux].type) return ROC_OK;
  return broken(v, id, "the variable is %s, the value %s",
                roc_ir_type_word(v->m->vars.items[inst->aux].type),
                roc_ir_type_word(operand(v, inst, 0)->type));
}

static roc_status check_for(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  if (v->m->vars.items[inst->aux].type != ROC_VT_INT) {
    return broken(v, id, "the variable of a for is int");
  }
  if (!v->is_loop_var[inst->aux]) return ROC_OK;
  return broken(v, id, "the variable of a for is not used by another inside it");
}

static roc_status check_jump(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  for (uint32_t i = v->around.count; i-- > 0;) {
    if (v->around.items[i] != inst->aux) continue;
    uint8_t op = v->m->insts.items[inst->aux].op;
    bool is_loop = op == ROC_IR_LOOP || op == ROC_IR_FOR;
    if (is_loop || (inst->op == ROC_IR_LEAVE && op == ROC_IR_BLOCK)) return ROC_OK;
    return broken(v, id, "%%%u is no statement it can name", inst->aux);
  }
  return broken(v, id, "%%%u is not around it", inst->aux);
}

/* Rules that the tables do not say. */
static roc_status check_if(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  if (inst->aux == ROC_IR_IF_PLAIN || inst->aux == ROC_IR_IF_ALL) return ROC_OK;
  if (inst->aux != ROC_IR_IF_VERSIONS) return broken(v, id, "there is no kind of if %u", inst->aux);
  if (!v->m->check) return broken(v, id, "an unchecked kernel has no versions");
  if (roc_vec_last(&v->m->regions.items[0]) != id) {
    return broken(v, id, "versions of the kernel do not end its body");
  }
  if (roc_ir_is_shared_by_launch(v->m, roc_ir_arg(v->m, inst, 0))) return ROC_OK;
  return broken(v, id, "work-items may differ in the version of the kernel");
}

static roc_status check_op(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_CONST: return check_const(v, id, inst);
    case ROC_IR_GET: return expect_type(v, id, inst, v->m->vars.items[inst->aux].type);
    case ROC_IR_SET: return check_set(v, id, inst);
    case ROC_IR_PARAM: return expect_type(v, id, inst, v->m->params.items[inst->aux].type.value);
    case ROC_IR_SELECT: return expect_type(v, id, inst, operand(v, inst, 1)->type);
    case ROC_IR_TO_F32:
    case ROC_IR_TO_F64: return check_conversion(v, id, inst);
    case ROC_IR_CONVERT: return expect_type(v, id, inst, roc_dtype_table[inst->aux].value_type);
    case ROC_IR_MATH: return check_math(v, id, inst);
    case ROC_IR_LOAD: return check_load(v, id, inst);
    case ROC_IR_STORE: return check_store(v, id, inst);
    case ROC_IR_ATOMIC: return check_atomic(v, id, inst);
    case ROC_IR_WAVE: return check_wave(v, id, inst);
    case ROC_IR_CHECK:
    case ROC_IR_FAIL:
    case ROC_IR_FAULT:
    case ROC_IR_PRINT: return check_report(v, id, inst);
    case ROC_IR_IF: return check_if(v, id, inst);
    case ROC_IR_FOR: return check_for(v, id, inst);
    case ROC_IR_LEAVE:
    case ROC_IR_NEXT: return check_jump(v, id, inst);
    default: return ROC_OK;
  }
}

static roc_status check_region(verifier *v, uint32_t region, uint32_t owner);

static roc_status check_nested(verifier *v, uint32_t id, const roc_ir_inst *inst) {
  if (!roc_vec_push(&v->around, id)) return roc_fail(v->err, ROC_OOM, "out of memory");
  if (inst->op == ROC_IR_FOR) v->is_loop_var[inst->aux] = 1;
  roc_status status = check_region(v, inst->k.region[0], id);
  if (!status && inst->op == ROC_IR_IF) status = check_region(v, inst->k.region[1], id);
  if (inst->op == ROC_IR_FOR) v->is_loop_var[inst->aux] = 0;
  (void)roc_vec_pop(&v->around);
  return status;
}

static roc_status check_inst(verifier *v, uint32_t id) {
  const roc_ir_inst *inst = &v->m->insts.items[id];
  if (v->scope[id] != NOT_SEEN) return broken(v, id, "it stands in two places");
  if (inst->op >= ROC_IR_OP_COUNT_) return broken(v, id, "there is no op %u", inst->op);
  if (inst->loc >= v->m->locs.count) return broken(v, id, "there is no place %u", inst->loc);
  const char *kinds = roc_ir_op_table[inst->op].operands;
  ROC_TRY(check_scope(v, id, inst));
  ROC_TRY(check_kinds(v, id, inst, kinds));
  for (const char *f = roc_ir_op_table[inst->op].fields; *f; f++) {
    ROC_TRY(check_field(v, id, inst, *f));
  }
  ROC_TRY(check_result(v, id, inst));
  ROC_TRY(check_op(v, id, inst));
  if (roc_ir_has_regions(inst)) ROC_TRY(check_nested(v, id, inst));
  v->scope[id] = IN_SCOPE;
  return ROC_OK;
}

/* `owner` is the control instruction, ROC_IR_NONE for the body. */
static roc_status check_region(verifier *v, uint32_t region, uint32_t owner) {
  uint32_t named = owner == ROC_IR_NONE ? 0 : owner;
  if (region >= v->m->regions.count) return broken(v, named, "there is no region %u", region);
  if (v->is_region_used[region]) return broken(v, named, "region %u stands in two places", region);
  if (v->depth >= ROC_IR_MAX_NESTING) return broken(v, named, "regions nest too deeply");
  v->is_region_used[region] = 1;
  v->depth++;
  const roc_ir_ids *ids = &v->m->regions.items[region];
  for (uint32_t i = 0; i < ids->count; i++) {
    if (ids->items[i] >= v->m->insts.count) {
      return roc_fail(v->err, ROC_INTERNAL, "invalid IR in kernel '%s': there is no instruction %u",
                      v->m->name, ids->items[i]);
    }
    ROC_TRY(check_inst(v, ids->items[i]));
    if (i + 1 < ids->count && roc_ir_ends_region(&v->m->insts.items[ids->items[i]])) {
      return broken(v, ids->items[i], "instructions follow it in its region");
    }
  }
  for (uint32_t i = 0; i < ids->count; i++) v->scope[ids->items[i]] = OUT_OF_SCOPE;
  v->depth--;
  return ROC_OK;
}

/* True when extents are not negative and the bytes fit the address space. */
static bool has_sound_extents(const roc_ir_array *array) {
  int64_t nbytes = (int64_t)roc_dtype_itemsize(array->dtype);
  for (uint32_t d = 0; d < array->rank; d++) {
    int64_t extent = array->extents[d];
    if (extent < 0 || __builtin_mul_overflow(nbytes, extent ? extent : 1, &nbytes)) return false;
  }
  return nbytes < (int64_t)1 << 47;
}

static roc_status check_array(const roc_ir_module *m, uint32_t index, roc_error *err) {
  const roc_ir_array *array = &m->arrays.items[index];
  const char *rule = NULL;
  if (array->kind > ROC_IR_ARRAY_CONST || array->dtype >= ROC_DT_COUNT_) {
    rule = "has no such kind or dtype";
  } else if (array->rank < 1 || array->rank > ROC_MAX_RANK) {
    rule = "has a rank out of 1 to 8";
  } else if (array->kind == ROC_IR_ARRAY_PARAM) {
    const roc_ir_param *p = array->param < m->params.count ? &m->params.items[array->param] : NULL;
    if (!p || p->type.dtype != array->dtype || p->type.rank != array->rank) {
      rule = "does not agree with its parameter";
    }
  } else if (array->kind == ROC_IR_ARRAY_SHARED_DYNAMIC) {
    if (array->rank != 1 || array->first_byte < 0)
      rule = "is of rank 1 and begins at byte 0 or later";
  } else if (!has_sound_extents(array)) {
    rule = "has a negative extent, or is too large";
  }
  if (!rule) return ROC_OK;
  return roc_fail(err, ROC_INTERNAL, "invalid IR in kernel '%s': array %u '%s' %s", m->name, index,
                  array->name, rule);
}

static roc_status check_tables(const roc_ir_module *m, roc_error *err) {
  for (uint32_t i = 0; i < m->arrays.count; i++) ROC_TRY(check_array(m, i, err));
  for (uint32_t i = 0; i < m->params.count; i++) {
    const roc_ir_param *p = &m->params.items[i];
    bool is_sound = roc_arg_is_array(&p->type)
                        ? p->type.dtype < ROC_DT_COUNT_ && p->type.rank <= ROC_MAX_RANK
                        : p->type.value > ROC_VT_NONE && p->type.value < ROC_VT_COUNT_;
    if (!is_sound) {
      return roc_fail(err, ROC_INTERNAL, "invalid IR in kernel '%s': parameter '%s' has no type",
                      m->name, p->name);
    }
  }
  for (uint32_t i = 0; i < m->vars.count; i++) {
    if (m->vars.items[i].type == ROC_VT_NONE || m->vars.items[i].type >= ROC_VT_COUNT_) {
      return roc_fail(err, ROC_INTERNAL, "invalid IR in kernel '%s': variable '%s' has no type",
                      m->name, m->vars.items[i].name);
    }
  }
  return ROC_OK;
}

roc_status roc_ir_verify(const roc_ir_module *module, roc_error *err) {
  ROC_TRY(check_tables(module, err));
  verifier v = {.m = module, .err = err};
  v.scope = roc_zalloc(module->insts.count);
  v.is_region_used = roc_zalloc(module->regions.count);
  v.is_loop_var = roc_zalloc(module->vars.count);
  roc_status status = v.scope && v.is_region_used && v.is_loop_var
                          ? check_region(&v, 0, ROC_IR_NONE)
                          : roc_fail(err, ROC_OOM, "out of memory");
  roc_free(v.scope);
  roc_free(v.is_region_used);
  roc_free(v.is_loop_var);
  roc_vec_deinit(&v.around);
  return status;
}
