/* Why a check stays, in the source's own words: what its operand comes from, what is not known of
 * it, and the condition that would prove it.  All of it is read from the walk's values and facts at
 * the check; what has no name in the source is called by what it is. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/check_walk.h"
#include "ir/facts_terms.h"
#include "ir/range.h"

enum { MOST_DEPTH = 6 };

void roc_ir_note_origin(roc_ir_check_walk *w, uint32_t value, uint32_t inst, uint32_t var) {
  if (!w->reasons || !w->is_last) return;
  while (w->origins.count <= value && !w->failed) {
    w->failed = !roc_vec_push(&w->origins, ((roc_ir_origin){ROC_IR_NONE, ROC_IR_NONE}));
  }
  if (w->failed) return;
  roc_ir_origin *of = &w->origins.items[value];
  if (of->inst == ROC_IR_NONE && of->var == ROC_IR_NONE) *of = (roc_ir_origin){inst, var};
}

static roc_ir_origin origin_of(const roc_ir_check_walk *w, uint32_t value) {
  if (value < w->origins.count) return w->origins.items[value];
  return (roc_ir_origin){ROC_IR_NONE, ROC_IR_NONE};
}

/* The instruction that made it, where that is none that only moves values; else NULL. */
static const roc_ir_inst *maker_of(const roc_ir_check_walk *w, uint32_t value) {
  roc_ir_origin of = origin_of(w, value);
  if (of.inst == ROC_IR_NONE || of.var != ROC_IR_NONE) return NULL;
  return &w->m->insts.items[of.inst];
}

/* ---- values as the source would have them ---- */

/* A local that was declared as it, the first; else a variable that holds it now, the latest
 * declared; or NULL.  Constants, arguments and extents are better as themselves. */
static const char *name_of(const roc_ir_check_walk *w, uint32_t value) {
  uint8_t op = w->f.values.items[value].op;
  if (op == ROC_IR_CONST || op == ROC_IR_PARAM || op == ROC_IR_EXTENT) return NULL;
  for (uint32_t i = 0; i < w->m->value_names.count; i++) {
    const roc_ir_value_name *named = &w->m->value_names.items[i];
    if (w->values[named->inst] == value) return named->name;
  }
  for (uint32_t i = w->m->vars.count; i-- > 0;) {
    const char *name = w->m->vars.items[i].name;
    if (w->vars[i] == value && name && name[0]) return name;
  }
  return NULL;
}

typedef struct infix {
  const char *text;
  int priority; /* as Lua's, 0: none */
} infix;

static infix infix_of(uint8_t op) {
  static const infix rows[ROC_IR_OP_COUNT_] = {
      [ROC_IR_ADD] = {"+", 5},       [ROC_IR_SUB] = {"-", 5},  [ROC_IR_MUL] = {"*", 6},
      [ROC_IR_FLOORDIV] = {"//", 6}, [ROC_IR_MOD] = {"%", 6},  [ROC_IR_FDIV] = {"/", 6},
      [ROC_IR_BAND] = {"&", 3},      [ROC_IR_BXOR] = {"~", 2}, [ROC_IR_BOR] = {"|", 1},
      [ROC_IR_SHL] = {"<<", 4},      [ROC_IR_SHR] = {">>", 4},
  };
  return op < ROC_IR_OP_COUNT_ ? rows[op] : (infix){NULL, 0};
}

static const char *call_of(uint8_t op) {
  static const char *const texts[ROC_IR_OP_COUNT_] = {
      [ROC_IR_MIN] = "math.min",     [ROC_IR_MAX] = "math.max",   [ROC_IR_ABS] = "math.abs",
      [ROC_IR_FLOOR] = "math.floor", [ROC_IR_CEIL] = "math.ceil",
  };
  return op < ROC_IR_OP_COUNT_ ? texts[op] : NULL;
}

static const char *query_of(uint8_t op) {
  static const char *const texts[ROC_IR_OP_COUNT_] = {
      [ROC_IR_GLOBAL_ID] = "get_global_id",   [ROC_IR_LOCAL_ID] = "get_local_id",
      [ROC_IR_GROUP_ID] = "get_group_id",     [ROC_IR_GLOBAL_SIZE] = "get_global_size",
      [ROC_IR_LOCAL_SIZE] = "get_local_size", [ROC_IR_NUM_GROUPS] = "get_num_groups",
  };
  return op < ROC_IR_OP_COUNT_ ? texts[op] : NULL;
}

static bool put_value(const roc_ir_check_walk *w, roc_str *out, uint32_t value, int depth);

/* How it was made, whatever it is called; false: the source's words are not known, and what was added
 * is to be dropped. */
static bool put_making(const roc_ir_check_walk *w, roc_str *out, uint32_t value, int depth);

/* x[i][j], where the indices have words. */
static bool put_load(const roc_ir_check_walk *w, roc_str *out, const roc_ir_inst *inst, int depth) {
  roc_str_puts(out, w->m->arrays.items[inst->aux].name);
  for (uint32_t n = 0; n < inst->nargs; n++) {
    roc_str_putc(out, '[');
    if (!put_value(w, out, w->values[roc_ir_arg(w->m, inst, n)], depth - 1)) return false;
    roc_str_putc(out, ']');
  }
  return true;
}

static bool put_extent(const roc_ir_check_walk *w, roc_str *out, uint32_t owner, int64_t dim) {
  uint32_t nparams = w->m->params.count;
  const char *name =
      owner < nparams ? w->m->params.items[owner].name : w->m->arrays.items[owner - nparams].name;
  if (dim == 0) {
    roc_str_printf(out, "#%s", name);
  } else {
    roc_str_printf(out, "%s.shape[%" PRId64 "]", name, dim + 1);
  }
  return name[0] != '\0';
}

static bool put_constant(roc_str *out, const roc_ir_value *v) {
  double x;
  memcpy(&x, &v->k, sizeof x);
  if (v->type == ROC_VT_INT) {
    roc_str_printf(out, "%" PRId64, v->k);
  } else if (isfinite(x)) {
    bool is_integer = x == floor(x) && fabs(x) < 1e15;
    roc_str_printf(out, is_integer ? "%.1f" : "%.17g", x);
  }
  return v->type == ROC_VT_INT || isfinite(x);
}

/* An operand beside an infix, in brackets where its own has a priority below `least`. */
static bool put_operand(const roc_ir_check_walk *w, roc_str *out, uint32_t value, int least,
                        int depth) {
  int priority = infix_of(w->f.values.items[value].op).priority;
  bool is_inner = priority > 0 && priority < least && !name_of(w, value);
  if (is_inner) roc_str_putc(out, '(');
  if (!put_value(w, out, value, depth - 1)) return false;
  if (is_inner) roc_str_putc(out, ')');
  return true;
}

static bool put_operation(const roc_ir_check_walk *w, roc_str *out, const roc_ir_value *v,
                          int depth) {
  infix between = infix_of(v->op);
  const char *call = call_of(v->op);
  if (between.text) {
    if (!put_operand(w, out, v->args[0], between.priority, depth)) return false;
    roc_str_printf(out, " %s ", between.text);
    return put_operand(w, out, v->args[1], between.priority + 1, depth);
  }
  if (!call) return false;
  roc_str_printf(out, "%s(", call);
  for (uint32_t n = 0; n < v->nargs; n++) {
    if (n > 0) roc_str_puts(out, ", ");
    if (!put_value(w, out, v->args[n], depth - 1)) return false;
  }
  roc_str_putc(out, ')');
  return true;
}

static bool put_making(const roc_ir_check_walk *w, roc_str *out, uint32_t value, int depth) {
  const roc_ir_value *v = &w->f.values.items[value];
  const roc_ir_inst *maker = maker_of(w, value);
  bool converts = v->op == ROC_IR_TO_F32 || v->op == ROC_IR_TO_F64;
  if (depth <= 0) return false;
  if (v->op == ROC_IR_CONST) return put_constant(out, v);
  if (v->op == ROC_IR_EXTENT) return put_extent(w, out, v->aux, v->k);
  if (v->op == ROC_IR_OP_COUNT_) {
    return maker && maker->op == ROC_IR_LOAD && put_load(w, out, maker, depth);
  }
  if (v->op == ROC_IR_PARAM) {
    roc_str_puts(out, w->m->params.items[v->aux].name);
  } else if (query_of(v->op)) {
    roc_str_printf(out, "roc.%s(%u)", query_of(v->op), v->aux + 1);
  } else if (converts) {
    return put_value(w, out, v->args[0], depth - 1);
  } else {
    return put_operation(w, out, v, depth);
  }
  return true;
}

static bool put_value(const roc_ir_check_walk *w, roc_str *out, uint32_t value, int depth) {
  const char *name = name_of(w, value);
  if (!name) return put_making(w, out, value, depth);
  roc_str_puts(out, name);
  return true;
}

/* The text of a value, or a word for it; whether it is the text. */
static bool value_text(const roc_ir_check_walk *w, roc_str *out, uint32_t value, const char *word) {
  roc_str_clear(out);
  if (put_value(w, out, value, MOST_DEPTH)) return true;
  roc_str_clear(out);
  roc_str_puts(out, word);
  return false;
}

/* ---- what a value comes from ---- */

/* The less is known of a kind by its nature, the earlier it is here. */
typedef enum source_kind {
  FROM_MEMORY,
  FROM_ATOMIC,
  FROM_LANES,
  FROM_FLOAT,
  FROM_LOOP,
  FROM_PATHS,
  FROM_ARGUMENT,
  FROM_ITEM,
  FROM_NOTHING
} source_kind;

typedef struct source {
  source_kind kind;
  uint32_t value;
} source;

static source_kind kind_of_unknown(const roc_ir_check_walk *w, uint32_t value) {
  roc_ir_origin of = origin_of(w, value);
  if (of.var != ROC_IR_NONE) {
    const roc_ir_inst *by = of.inst == ROC_IR_NONE ? NULL : &w->m->insts.items[of.inst];
    if (!by || by->op == ROC_IR_BLOCK) return FROM_PATHS;
    return by->op == ROC_IR_FOR && by->aux == of.var ? FROM_NOTHING : FROM_LOOP;
  }
  const roc_ir_inst *maker = maker_of(w, value);
  if (!maker) return FROM_NOTHING;
  switch ((roc_ir_op)maker->op) {
    case ROC_IR_LOAD: return FROM_MEMORY;
    case ROC_IR_ATOMIC: return FROM_ATOMIC;
    case ROC_IR_WAVE: return FROM_LANES;
    default: return FROM_NOTHING;
  }
}

static source_kind kind_of(const roc_ir_check_walk *w, uint32_t value) {
  const roc_ir_value *v = &w->f.values.items[value];
  switch ((roc_ir_op)v->op) {
    case ROC_IR_OP_COUNT_: return kind_of_unknown(w, value);
    case ROC_IR_PARAM: return FROM_ARGUMENT;
    case ROC_IR_FLOOR:
    case ROC_IR_CEIL: return FROM_FLOAT;
    case ROC_IR_GLOBAL_ID:
    case ROC_IR_LOCAL_ID:
    case ROC_IR_GROUP_ID: return FROM_ITEM;
    default: return FROM_NOTHING;
  }
}

/* The operand of which the least is known, of what the value is made of. */
static source find_source(const roc_ir_check_walk *w, uint32_t value, int depth) {
  const roc_ir_value *v = &w->f.values.items[value];
  source found = {kind_of(w, value), value};
  bool is_made = v->op < ROC_IR_OP_COUNT_ && found.kind == FROM_NOTHING;
  for (uint32_t n = 0; is_made && depth > 0 && n < v->nargs; n++) {
    source of = find_source(w, v->args[n], depth - 1);
    if (of.kind < found.kind) found = of;
  }
  return found;
}

static void put_loop(const roc_ir_check_walk *w, roc_str *out, uint32_t value) {
  const roc_ir_inst *loop = &w->m->insts.items[origin_of(w, value).inst];
  roc_str_printf(out, " changes in the loop of line %u", w->m->locs.items[loop->loc].line);
}

/* " (x[i])", of a value that has a name. */
static void put_in_brackets(const roc_ir_check_walk *w, roc_str *out, uint32_t value) {
  roc_str making = ROC_STR_INIT;
  if (name_of(w, value) && put_making(w, &making, value, MOST_DEPTH)) {
    roc_str_printf(out, " (%s)", roc_str_text(&making));
  }
  out->failed |= making.failed;
  roc_str_deinit(&making);
}

static const char *variable_of(const roc_ir_check_walk *w, uint32_t value) {
  uint32_t var = origin_of(w, value).var;
  const char *name = var == ROC_IR_NONE ? "" : w->m->vars.items[var].name;
  return name && name[0] ? name : "it";
}

/* "j comes from memory (idx[i])"; false where nothing is to be said. */
static bool put_source(const roc_ir_check_walk *w, roc_str *out, source s) {
  static const char *const texts[] = {
      [FROM_MEMORY] = " comes from memory",
      [FROM_ATOMIC] = " comes from an atomic operation",
      [FROM_LANES] = " comes from other lanes",
      [FROM_FLOAT] = " is made of a float",
      [FROM_PATHS] = " depends on the path taken",
      [FROM_ARGUMENT] = " is an argument",
      [FROM_ITEM] = " is the item's number",
  };
  if (s.kind == FROM_NOTHING) return false;
  roc_str text = ROC_STR_INIT;
  bool is_variable = s.kind == FROM_LOOP || s.kind == FROM_PATHS;
  value_text(w, &text, s.value, is_variable ? variable_of(w, s.value) : "it");
  roc_str_puts(out, roc_str_text(&text));
  out->failed |= text.failed;
  roc_str_deinit(&text);
  if (s.kind == FROM_LOOP) {
    put_loop(w, out, s.value);
  } else {
    roc_str_puts(out, texts[s.kind]);
    if (s.kind != FROM_ARGUMENT) put_in_brackets(w, out, s.value);
  }
  return true;
}

/* A sum or a difference of which no more is known than that it may wrap. */
static bool may_wrap(roc_ir_check_walk *w, uint32_t value) {
  const roc_ir_value *v = &w->f.values.items[value];
  if (v->type != ROC_VT_INT || (v->op != ROC_IR_ADD && v->op != ROC_IR_SUB)) return false;
  roc_ir_range x = roc_ir_facts_range(&w->f, v->args[0]);
  roc_ir_range y = roc_ir_facts_range(&w->f, v->args[1]);
  return x.low <= x.high && y.low <= y.high && !roc_ir_facts_is_exact(v, x, y);
}

static void put_reason(roc_ir_check_walk *w, roc_str *out, uint32_t value) {
  int64_t k;
  uint32_t base = roc_ir_facts_base(&w->f, value, &k);
  bool has_source = put_source(w, out, find_source(w, base, MOST_DEPTH));
  if (may_wrap(w, base)) {
    roc_str text = ROC_STR_INIT;
    value_text(w, &text, base, "the sum");
    roc_str_printf(out, "%s%s may wrap", has_source ? ", " : "", roc_str_text(&text));
    out->failed |= text.failed;
    roc_str_deinit(&text);
    has_source = true;
  }
  if (has_source) roc_str_puts(out, ", and ");
}

/* ---- what would prove the check ---- */

/* Where a value may be another the next time it is looked at, a condition has to be on a local. */
static bool must_be_kept(const roc_ir_check_walk *w, uint32_t value) {
  source s = find_source(w, value, MOST_DEPTH);
  return s.kind <= FROM_LANES && !name_of(w, value);
}

/* The text of a value in a condition; v where it has to be kept in a local for that: true. */
static bool testable_text(const roc_ir_check_walk *w, roc_str *out, uint32_t value) {
  bool has_text = value_text(w, out, value, "v"), is_kept = must_be_kept(w, value);
  if (is_kept) {
    roc_str_clear(out);
    roc_str_putc(out, 'v');
  }
  return is_kept || !has_text;
}

/* What proves the check: the condition `launch`, unless it is "", or `here`. */
static void put_advice(roc_str *out, bool is_kept, const char *launch, const char *here) {
  roc_str_puts(out, is_kept ? ": keep it in a local v, and " : ": ");
  if (launch[0]) roc_str_printf(out, "`if %s then`, or ", launch);
  roc_str_printf(out, "`if %s then` around it proves it", here);
}

static bool put_array_extent(const roc_ir_check_walk *w, roc_str *out, uint32_t index,
                             int64_t dim) {
  const roc_ir_array *array = &w->m->arrays.items[index];
  if (array->kind == ROC_IR_ARRAY_PARAM) return put_extent(w, out, array->param, dim);
  if (array->kind == ROC_IR_ARRAY_SHARED_DYNAMIC) {
    return put_extent(w, out, w->m->params.count + index, dim);
  }
  roc_str_printf(out, "%" PRId64, array->extents[dim]);
  return true;
}

static bool has_text(const roc_ir_launch_value *value) {
  return value->op == ROC_IR_CONST || value->op == ROC_IR_EXTENT || value->op == ROC_IR_PARAM ||
         query_of(value->op);
}

static void put_launch_value(const roc_ir_check_walk *w, roc_str *out,
                             const roc_ir_launch_value *value) {
  if (value->op == ROC_IR_EXTENT) {
    put_array_extent(w, out, value->aux, value->dim);
  } else if (value->op == ROC_IR_PARAM) {
    roc_str_puts(out, w->m->params.items[value->aux].name);
  } else {
    roc_str_printf(out, "roc.%s(%u)", query_of(value->op), value->aux + 1);
  }
}

/* bound * by * factor + plus + k, of what is the same for the whole launch. */
static void put_launch_bound(const roc_ir_check_walk *w, roc_str *out,
                             const roc_ir_precondition *p) {
  if (p->bound.op == ROC_IR_CONST) {
    roc_str_printf(out, "%" PRId64, p->k);
    return;
  }
  put_launch_value(w, out, &p->bound);
  if (p->by[0].op != ROC_IR_CONST) {
    roc_str_puts(out, " * ");
    put_launch_value(w, out, &p->by[0]);
  }
  if (p->plus.op != ROC_IR_CONST) {
    roc_str_puts(out, " + ");
    put_launch_value(w, out, &p->plus);
  }
  if (p->factor > 1) roc_str_printf(out, " * %" PRId64, p->factor);
  if (p->k != 0) {
    uint64_t size = p->k < 0 ? -(uint64_t)p->k : (uint64_t)p->k;
    roc_str_printf(out, " %c %" PRIu64, p->k < 0 ? '-' : '+', size);
  }
}

/* Of the launch; false for what has no short form, as a product of three has none: it may wrap. */
static bool put_precondition(const roc_ir_check_walk *w, roc_str *out,
                             const roc_ir_precondition *p) {
  bool has_texts = has_text(&p->bound) && has_text(&p->plus) && has_text(&p->by[0]);
  if (!has_texts || p->step > 1 || p->by[1].op != ROC_IR_CONST) return false;
  if (p->is_lower) roc_str_puts(out, "1 <= ");
  put_launch_bound(w, out, p);
  if (p->is_lower) return true;
  roc_str_puts(out, " <= ");
  return put_array_extent(w, out, p->array, p->axis);
}

/* What of the launch would prove the whole check, joined by "and"; false: nothing is known to. */
static bool put_preconditions(roc_ir_check_walk *w, roc_str *out, const roc_ir_inst *inst,
                              uint32_t index, bool is_low, bool is_high) {
  roc_ir_preconditions list = {0}, *kept = w->preconditions;
  w->preconditions = &list;
  bool found = is_low || roc_ir_precondition_lower(w, index);
  uint32_t nlower = list.count;
  if (found && !is_high) roc_ir_precondition_upper(w, inst, index);
  w->preconditions = kept;
  found = found && list.count > 0 && (is_high || list.count > nlower);
  for (uint32_t i = 0; found && i < list.count; i++) {
    if (i > 0) roc_str_puts(out, " and ");
    found = put_precondition(w, out, &list.items[i]);
  }
  roc_vec_deinit(&list);
  return found;
}

/* ---- the three kinds of checks ---- */

static roc_str *begin_reason(roc_ir_check_walk *w, uint32_t id) {
  w->reasons->begins[id] = (uint32_t)w->reasons->text.len;
  return &w->reasons->text;
}

/* Keeps its end in the text, for the next one. */
static void end_reason(roc_ir_check_walk *w) {
  roc_str_add(&w->reasons->text, "", 1);
  if (w->reasons->text.failed) w->failed = true;
}

/* "1 <= j and j <= #x", of what is not proved. */
static void put_range(roc_str *out, const char *index, const char *extent, bool is_low,
                      bool is_high) {
  if (!is_low) roc_str_printf(out, "1 <= %s", index);
  if (!is_low && !is_high) roc_str_puts(out, " and ");
  if (!is_high) roc_str_printf(out, "%s <= %s", index, extent);
}

void roc_ir_explain_index(roc_ir_check_walk *w, uint32_t id, bool is_low) {
  const roc_ir_inst *inst = &w->m->insts.items[id];
  uint32_t index = roc_ir_check_walk_operand(w, inst, 0);
  uint32_t extent = roc_ir_facts_extent(&w->f, inst->aux, (uint32_t)inst->k.i);
  bool is_high = roc_ir_facts_le(&w->f, index, extent);
  roc_str *out = begin_reason(w, id);
  roc_str of_index = ROC_STR_INIT, of_extent = ROC_STR_INIT, here = ROC_STR_INIT,
          launch = ROC_STR_INIT;
  bool is_kept = testable_text(w, &of_index, index);
  value_text(w, &of_extent, extent, "its extent");
  put_range(&here, roc_str_text(&of_index), roc_str_text(&of_extent), is_low, is_high);
  put_reason(w, out, index);
  bool has_launch = !is_kept && put_preconditions(w, &launch, inst, index, is_low, is_high) &&
                    strcmp(roc_str_text(&launch), roc_str_text(&here)) != 0;
  if (!has_launch) roc_str_clear(&launch);
  roc_str_printf(out, "nothing says that %s", roc_str_text(has_launch ? &launch : &here));
  put_advice(out, is_kept, roc_str_text(&launch), roc_str_text(&here));
  out->failed |= of_index.failed || of_extent.failed || here.failed || launch.failed;
  roc_str_deinit(&of_index);
  roc_str_deinit(&of_extent);
  roc_str_deinit(&here);
  roc_str_deinit(&launch);
  end_reason(w);
}

/* Of a value of which one fact is wanted: its text between two texts, and where `after` is not NULL
 * once more before that. */
static void explain_value(roc_ir_check_walk *w, uint32_t id, const char *before,
                          const char *between, const char *after) {
  uint32_t value = roc_ir_check_walk_operand(w, &w->m->insts.items[id], 0);
  roc_str *out = begin_reason(w, id);
  roc_str text = ROC_STR_INIT, fact = ROC_STR_INIT;
  bool is_kept = testable_text(w, &text, value);
  roc_str_printf(&fact, "%s%s%s", before, roc_str_text(&text), between);
  if (after) roc_str_printf(&fact, "%s%s", roc_str_text(&text), after);
  put_reason(w, out, value);
  roc_str_printf(out, "nothing says that %s", roc_str_text(&fact));
  put_advice(out, is_kept, "", roc_str_text(&fact));
  out->failed |= text.failed || fact.failed;
  roc_str_deinit(&text);
  roc_str_deinit(&fact);
  end_reason(w);
}

void roc_ir_explain_nonzero(roc_ir_check_walk *w, uint32_t id) {
  explain_value(w, id, "", " ~= 0", NULL);
}

void roc_ir_explain_int(roc_ir_check_walk *w, uint32_t id) {
  explain_value(w, id, "-1e18 <= ", " and ", " <= 1e18");
}
