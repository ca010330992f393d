/* See build.h.  Invariant: an id handed out is below insts.count, or ROC_IR_NONE once the builder
 * has failed. */
#include "ir/build.h"

#include <assert.h>
#include <string.h>

void roc_ir_builder_init(roc_ir_builder *b, roc_ir_module *module) {
  *b = (roc_ir_builder){.module = module};
}

roc_status roc_ir_builder_finish(roc_ir_builder *b, roc_error *err) {
  assert(b->failed || b->open.count == 0);
  roc_vec_deinit(&b->open);
  roc_vec_deinit(&b->files);
  if (b->failed || b->module->arena.failed) {
    return roc_fail(err, ROC_OOM, "out of memory while compiling kernel '%s'", b->module->name);
  }
  return ROC_OK;
}

static uint32_t fail(roc_ir_builder *b) {
  b->failed = true;
  return ROC_IR_NONE;
}

static const char *copy_text(roc_ir_builder *b, const char *text) {
  if (!text) return NULL;
  const char *copy = roc_arena_strndup(&b->module->arena, text, strlen(text));
  if (!copy) b->failed = true;
  return copy;
}

static const char *intern_file(roc_ir_builder *b, const char *file) {
  for (uint32_t i = b->files.count; i-- > 0;) {
    if (!strcmp(b->files.items[i], file)) return b->files.items[i];
  }
  const char *copy = copy_text(b, file);
  if (copy && !roc_vec_push(&b->files, copy)) b->failed = true;
  return copy;
}

void roc_ir_set_place(roc_ir_builder *b, const char *file, uint32_t line, uint32_t column) {
  enum { LOOK_BACK = 8 }; /* places recur when the front end walks up and down one expression */
  if (b->failed) return;
  const char *name = intern_file(b, file);
  if (!name) return;
  uint32_t count = b->module->locs.count;
  for (uint32_t i = count; i > 1 && i > count - (count < LOOK_BACK ? count : LOOK_BACK); i--) {
    const roc_ir_loc *loc = &b->module->locs.items[i - 1];
    if (loc->line == line && loc->column == column && !strcmp(loc->file, name)) {
      b->loc = i - 1;
      return;
    }
  }
  if (!roc_vec_push(&b->module->locs, ((roc_ir_loc){name, line, column}))) {
    b->failed = true;
    return;
  }
  b->loc = count;
}

uint32_t roc_ir_add_param(roc_ir_builder *b, const roc_ir_param *param) {
  if (b->failed) return ROC_IR_NONE;
  roc_ir_param copy = *param;
  copy.name = copy_text(b, param->name);
  if (b->failed || !roc_vec_push(&b->module->params, copy)) return fail(b);
  return b->module->params.count - 1;
}

static size_t count_bytes(const roc_ir_array *array) {
  size_t nbytes = roc_dtype_itemsize(array->dtype);
  for (uint32_t d = 0; d < array->rank; d++) nbytes *= (size_t)array->extents[d];
  return nbytes;
}

uint32_t roc_ir_add_array(roc_ir_builder *b, const roc_ir_array *array) {
  if (b->failed) return ROC_IR_NONE;
  roc_ir_array copy = *array;
  copy.name = copy_text(b, array->name);
  if (array->kind == ROC_IR_ARRAY_PARAM && array->param < b->module->params.count) {
    copy.dtype = b->module->params.items[array->param].type.dtype;
    copy.rank = b->module->params.items[array->param].type.rank;
  }
  if (array->kind == ROC_IR_ARRAY_CONST) {
    size_t nbytes = count_bytes(array);
    void *data = roc_arena_alloc(&b->module->arena, nbytes);
    if (!data) return fail(b);
    if (nbytes) memcpy(data, array->data, nbytes);
    copy.data = data;
  }
  if (b->failed || !roc_vec_push(&b->module->arrays, copy)) return fail(b);
  return b->module->arrays.count - 1;
}

uint32_t roc_ir_add_var(roc_ir_builder *b, const char *name, roc_value_type type) {
  if (b->failed) return ROC_IR_NONE;
  const char *copy = copy_text(b, name);
  if (!copy || !roc_vec_push(&b->module->vars, ((roc_ir_var){copy, type}))) return fail(b);
  return b->module->vars.count - 1;
}

void roc_ir_name_value(roc_ir_builder *b, uint32_t inst, const char *name) {
  if (b->failed || inst == ROC_IR_NONE) return;
  const char *copy = copy_text(b, name);
  if (!copy || !roc_vec_push(&b->module->value_names, ((roc_ir_value_name){inst, copy}))) fail(b);
}

uint32_t roc_ir_add_site(roc_ir_builder *b, const roc_site *site) {
  if (b->failed) return ROC_IR_NONE;
  roc_site copy = *site;
  copy.file = site->file ? intern_file(b, site->file) : NULL;
  copy.name = copy_text(b, site->name);
  roc_site_piece *pieces = ROC_ARENA_ARRAY(&b->module->arena, roc_site_piece, site->npieces);
  if (!pieces) return fail(b);
  for (uint32_t i = 0; i < site->npieces; i++) {
    pieces[i] = (roc_site_piece){copy_text(b, site->pieces[i].text), site->pieces[i].type};
  }
  copy.pieces = pieces;
  if (b->failed || !roc_vec_push(&b->module->sites, copy)) return fail(b);
  return b->module->sites.count - 1;
}

roc_value_type roc_ir_type_of(const roc_ir_builder *b, uint32_t inst) {
  return inst < b->module->insts.count ? b->module->insts.items[inst].type : ROC_VT_NONE;
}

static roc_value_type result_type(const roc_ir_builder *b, roc_ir_op op, roc_value_type type,
                                  const uint32_t *args, uint32_t nargs) {
  switch (roc_ir_op_table[op].result) {
    case 'N': return ROC_VT_NONE;
    case 'B': return ROC_VT_BOOL;
    case 'I': return ROC_VT_INT;
    case 'S': return nargs ? roc_ir_type_of(b, args[0]) : ROC_VT_NONE;
    default: return type;
  }
}

bool roc_ir_is_dead(const roc_ir_builder *b) {
  if (b->failed) return false;
  const roc_ir_ids *region = &b->module->regions.items[b->region];
  if (!region->count) return false;
  return roc_ir_ends_region(&b->module->insts.items[roc_vec_last(region)]);
}

uint32_t roc_ir_append(roc_ir_builder *b, roc_ir_inst inst, const uint32_t *args) {
  roc_ir_module *m = b->module;
  if (b->failed) return ROC_IR_NONE;
  bool dead = !b->keeps_dead && roc_ir_is_dead(b);
  inst.args = m->operands.count;
  inst.loc = b->loc;
  if (!roc_vec_reserve(&m->operands, inst.nargs) || !roc_vec_reserve(&m->insts, 1) ||
      !roc_vec_reserve(&m->regions.items[b->region], 1)) {
    return fail(b);
  }
  for (uint32_t i = 0; i < inst.nargs; i++) m->operands.items[m->operands.count++] = args[i];
  uint32_t id = m->insts.count;
  m->insts.items[m->insts.count++] = inst;
  if (!dead) {
    roc_ir_ids *region = &m->regions.items[b->region];
    region->items[region->count++] = id;
  }
  return id;
}

uint32_t roc_ir_emit(roc_ir_builder *b, roc_ir_op op, roc_value_type type, uint32_t aux,
                     uint32_t aux2, int64_t k, const uint32_t *args, uint32_t nargs) {
  if (b->failed || nargs > UINT16_MAX) return fail(b);
  roc_ir_inst inst = {.op = (uint8_t)op,
                      .type = (uint8_t)result_type(b, op, type, args, nargs),
                      .nargs = (uint16_t)nargs,
                      .aux = aux,
                      .aux2 = aux2,
                      .k.i = k};
  return roc_ir_append(b, inst, args);
}

uint32_t roc_ir_const_int(roc_ir_builder *b, int64_t value) {
  return roc_ir_emit(b, ROC_IR_CONST, ROC_VT_INT, 0, 0, value, NULL, 0);
}

uint32_t roc_ir_const_bool(roc_ir_builder *b, bool value) {
  return roc_ir_emit(b, ROC_IR_CONST, ROC_VT_BOOL, 0, 0, value, NULL, 0);
}

static uint32_t const_float(roc_ir_builder *b, roc_value_type type, double value) {
  return roc_ir_append(b, (roc_ir_inst){.op = ROC_IR_CONST, .type = (uint8_t)type, .k.f = value},
                       NULL);
}

uint32_t roc_ir_const_f64(roc_ir_builder *b, double value) {
  return const_float(b, ROC_VT_F64, value);
}

uint32_t roc_ir_const_f32(roc_ir_builder *b, double value) {
  return const_float(b, ROC_VT_F32, (double)(float)value);
}

uint32_t roc_ir_unary(roc_ir_builder *b, roc_ir_op op, uint32_t x) {
  return roc_ir_emit(b, op, ROC_VT_NONE, 0, 0, 0, &x, 1);
}

uint32_t roc_ir_binary(roc_ir_builder *b, roc_ir_op op, uint32_t x, uint32_t y) {
  return roc_ir_emit(b, op, ROC_VT_NONE, 0, 0, 0, (uint32_t[]){x, y}, 2);
}

uint32_t roc_ir_select(roc_ir_builder *b, uint32_t test, uint32_t yes, uint32_t no) {
  return roc_ir_emit(b, ROC_IR_SELECT, roc_ir_type_of(b, yes), 0, 0, 0, (uint32_t[]){test, yes, no},
                     3);
}

uint32_t roc_ir_to_float(roc_ir_builder *b, roc_value_type type, uint32_t x) {
  if (roc_ir_type_of(b, x) == type) return x;
  roc_ir_op op = type == ROC_VT_F32 ? ROC_IR_TO_F32 : ROC_IR_TO_F64;
  return roc_ir_emit(b, op, type, 0, 0, 0, &x, 1);
}

uint32_t roc_ir_convert(roc_ir_builder *b, roc_dtype dtype, uint32_t x) {
  return roc_ir_emit(b, ROC_IR_CONVERT, roc_dtype_table[dtype].value_type, dtype, 0, 0, &x, 1);
}

uint32_t roc_ir_call_math(roc_ir_builder *b, roc_ir_math fn, const uint32_t *args, uint32_t nargs) {
  return roc_ir_emit(b, ROC_IR_MATH, ROC_VT_NONE, fn, 0, 0, args, nargs);
}

uint32_t roc_ir_query(roc_ir_builder *b, roc_ir_op op, uint32_t dim) {
  return roc_ir_emit(b, op, ROC_VT_INT, dim, 0, 0, NULL, 0);
}

uint32_t roc_ir_get(roc_ir_builder *b, uint32_t var) {
  if (b->failed) return ROC_IR_NONE;
  return roc_ir_emit(b, ROC_IR_GET, b->module->vars.items[var].type, var, 0, 0, NULL, 0);
}

uint32_t roc_ir_set(roc_ir_builder *b, uint32_t var, uint32_t value) {
  return roc_ir_emit(b, ROC_IR_SET, ROC_VT_NONE, var, 0, 0, &value, 1);
}

uint32_t roc_ir_param_value(roc_ir_builder *b, uint32_t param) {
  if (b->failed) return ROC_IR_NONE;
  return roc_ir_emit(b, ROC_IR_PARAM, b->module->params.items[param].type.value, param, 0, 0, NULL,
                     0);
}

uint32_t roc_ir_extent(roc_ir_builder *b, uint32_t array, uint32_t dim) {
  return roc_ir_emit(b, ROC_IR_EXTENT, ROC_VT_INT, array, 0, dim, NULL, 0);
}

static roc_value_type element_type(const roc_ir_builder *b, uint32_t array) {
  return b->failed ? ROC_VT_NONE : roc_dtype_table[b->module->arrays.items[array].dtype].value_type;
}

uint32_t roc_ir_load(roc_ir_builder *b, uint32_t array, const uint32_t *index, uint32_t rank) {
  return roc_ir_emit(b, ROC_IR_LOAD, element_type(b, array), array, 0, 0, index, rank);
}

uint32_t roc_ir_store(roc_ir_builder *b, uint32_t array, uint32_t value, const uint32_t *index,
                      uint32_t rank) {
  uint32_t args[1 + ROC_MAX_RANK] = {value};
  assert(rank <= ROC_MAX_RANK);
  for (uint32_t d = 0; d < rank; d++) args[1 + d] = index[d];
  return roc_ir_emit(b, ROC_IR_STORE, ROC_VT_NONE, array, 0, 0, args, 1 + rank);
}

uint32_t roc_ir_check_index(roc_ir_builder *b, uint32_t array, uint32_t dim, uint32_t site,
                            uint32_t index) {
  return roc_ir_emit(b, ROC_IR_CHECK_INDEX, ROC_VT_NONE, array, site, dim, &index, 1);
}

uint32_t roc_ir_report(roc_ir_builder *b, roc_ir_op op, uint32_t site, const uint32_t *args,
                       uint32_t nargs) {
  return roc_ir_emit(b, op, ROC_VT_NONE, 0, site, 0, args, nargs);
}

static uint32_t add_region(roc_ir_builder *b) {
  if (!roc_vec_push(&b->module->regions, (roc_ir_ids){0})) return fail(b);
  return b->module->regions.count - 1;
}

uint32_t roc_ir_begin(roc_ir_builder *b, roc_ir_op op, uint32_t aux, const uint32_t *args,
                      uint32_t nargs) {
  if (b->failed) return ROC_IR_NONE;
  roc_ir_inst inst = {.op = (uint8_t)op, .nargs = (uint16_t)nargs, .aux = aux};
  inst.k.region[0] = add_region(b);
  inst.k.region[1] = op == ROC_IR_IF ? add_region(b) : ROC_IR_NONE;
  uint32_t id = roc_ir_append(b, inst, args);
  if (b->failed || !roc_vec_push(&b->open, ((roc_ir_open_region){id, b->region}))) return fail(b);
  b->region = inst.k.region[0];
  return id;
}

uint32_t roc_ir_begin_if(roc_ir_builder *b, uint32_t test) {
  return roc_ir_begin(b, ROC_IR_IF, 0, &test, 1);
}

uint32_t roc_ir_begin_block(roc_ir_builder *b) {
  return roc_ir_begin(b, ROC_IR_BLOCK, 0, NULL, 0);
}

uint32_t roc_ir_begin_loop(roc_ir_builder *b) {
  return roc_ir_begin(b, ROC_IR_LOOP, 0, NULL, 0);
}

uint32_t roc_ir_begin_for(roc_ir_builder *b, uint32_t var, uint32_t first, uint32_t last,
                          uint32_t step) {
  return roc_ir_begin(b, ROC_IR_FOR, var, (uint32_t[]){first, last, step}, 3);
}

void roc_ir_else(roc_ir_builder *b, uint32_t inst) {
  if (b->failed) return;
  assert(b->open.count && roc_vec_last(&b->open).inst == inst);
  b->region = b->module->insts.items[inst].k.region[1];
}

void roc_ir_end(roc_ir_builder *b, uint32_t inst) {
  if (b->failed) return;
  assert(b->open.count && roc_vec_last(&b->open).inst == inst);
  (void)inst;
  b->region = roc_vec_pop(&b->open).parent;
}

static bool is_quick(const roc_ir_inst *inst) {
  switch ((roc_ir_op)inst->op) {
    case ROC_IR_FLOORDIV:
    case ROC_IR_MOD:
    case ROC_IR_FDIV:
    case ROC_IR_POW:
    case ROC_IR_MATH: return false;
    case ROC_IR_GET: return true;
    default: return roc_ir_op_table[inst->op].flags & ROC_IRF_PURE;
  }
}

bool roc_ir_dissolve_if(roc_ir_builder *b, uint32_t inst, uint32_t most) {
  if (b->failed) return true;
  roc_ir_module *m = b->module;
  assert(b->open.count && roc_vec_last(&b->open).inst == inst);
  const roc_ir_ids *body = &m->regions.items[m->insts.items[inst].k.region[0]];
  if (body->count > most) return false;
  for (uint32_t i = 0; i < body->count; i++) {
    if (!is_quick(&m->insts.items[body->items[i]])) return false;
  }
  roc_ir_end(b, inst);
  roc_ir_drop(b, inst);
  for (uint32_t i = 0; i < body->count; i++) {
    if (!roc_vec_push(&m->regions.items[b->region], body->items[i])) b->failed = true;
  }
  return true;
}

void roc_ir_drop(roc_ir_builder *b, uint32_t inst) {
  if (b->failed) return;
  roc_ir_ids *ids = &b->module->regions.items[b->region];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < ids->count; i++) {
    if (ids->items[i] != inst) ids->items[kept++] = ids->items[i];
  }
  ids->count = kept;
}

uint32_t roc_ir_leave(roc_ir_builder *b, uint32_t target) {
  return roc_ir_emit(b, ROC_IR_LEAVE, ROC_VT_NONE, target, 0, 0, NULL, 0);
}

uint32_t roc_ir_next(roc_ir_builder *b, uint32_t target) {
  return roc_ir_emit(b, ROC_IR_NEXT, ROC_VT_NONE, target, 0, 0, NULL, 0);
}

uint32_t roc_ir_return(roc_ir_builder *b) {
  return roc_ir_emit(b, ROC_IR_RETURN, ROC_VT_NONE, 0, 0, 0, NULL, 0);
}
