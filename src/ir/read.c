/* See read.h.  A recursive-descent parser; the first error sticks (`failed`) and everything after
 * it does nothing, so that callers check once. */
#include "ir/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/build.h"
#include "ir/fields.h"
#include "ir/lex.h"
#include "ir/verify.h"

enum { MAX_LABEL = 1 << 24, MAX_ARGS = UINT16_MAX };

typedef struct reader {
  roc_ir_lexer lx;
  roc_ir_builder b;
  roc_ir_ids labels; /* instruction of %N; ROC_IR_NONE when not defined */
  roc_ir_ids args;   /* operands of the line being read */
  const char *file;  /* of the place stated last */
  uint32_t depth;
  bool failed;
  roc_error *err;
} reader;

static void fail_at(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail_at(reader *r, const char *format, ...) {
  if (r->failed) return;
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  r->failed = true;
  roc_fail(r->err, ROC_INVALID, "line %u: %s", r->lx.line,
           r->lx.token == ROC_IR_TOKEN_BAD ? r->lx.word : what);
}

static void next(reader *r) {
  roc_ir_lex_next(&r->lx);
}

static bool at_sign(const reader *r, char sign) {
  return !r->failed && r->lx.token == ROC_IR_TOKEN_SIGN && r->lx.sign == sign;
}

static bool at_word(const reader *r, const char *word) {
  return !r->failed && r->lx.token == ROC_IR_TOKEN_WORD && !strcmp(r->lx.word, word);
}

static bool accept_sign(reader *r, char sign) {
  if (!at_sign(r, sign)) return false;
  next(r);
  return true;
}

static bool accept_word(reader *r, const char *word) {
  if (!at_word(r, word)) return false;
  next(r);
  return true;
}

static void expect_sign(reader *r, char sign) {
  if (!accept_sign(r, sign)) fail_at(r, "'%c' expected", sign);
}

static void expect_line(reader *r) {
  if (r->lx.token != ROC_IR_TOKEN_LINE) {
    fail_at(r, "end of line expected");
  } else {
    next(r);
  }
}

/* Any word; "" after an error. */
static const char *read_word(reader *r, const char *what) {
  if (r->failed || r->lx.token != ROC_IR_TOKEN_WORD) {
    fail_at(r, "%s expected", what);
    return "";
  }
  const char *word = r->lx.word;
  next(r);
  return word;
}

static bool parse_int(const char *word, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(word, &end, 10);
  return *word && !*end && !errno;
}

static int64_t read_int(reader *r, int64_t low, int64_t high) {
  int64_t value = 0;
  const char *word = read_word(r, "an integer");
  if (!parse_int(word, &value) || value < low || value > high) {
    fail_at(r, "'%.40s' is no integer that can stand here", word);
    return low;
  }
  return value;
}

static uint32_t read_u32(reader *r) {
  return (uint32_t)read_int(r, 0, UINT32_MAX);
}

static const char *read_text(reader *r, const char *what) {
  if (r->failed || r->lx.token != ROC_IR_TOKEN_TEXT) {
    fail_at(r, "%s in quotes expected", what);
    return "";
  }
  const char *text = r->lx.word;
  next(r);
  return text;
}

/* name.N, "name".N or .N: the number, and the name unless NULL. */
static uint32_t read_ref(reader *r, const char **out_name) {
  const char *name = "";
  const char *number = r->lx.word;
  bool is_quoted = !r->failed && r->lx.token == ROC_IR_TOKEN_TEXT;
  if (is_quoted) {
    name = r->lx.word;
    next(r);
    if (r->lx.token != ROC_IR_TOKEN_WORD || !r->lx.is_glued || r->lx.word[0] != '.') {
      fail_at(r, "a dot and a number expected after the name");
    }
    number = r->lx.word;
  }
  read_word(r, "a reference, name.number,");
  const char *dot = r->failed ? NULL : strrchr(number, '.');
  int64_t index = 0;
  if (!dot || !parse_int(dot + 1, &index) || index < 0 || index > MAX_LABEL ||
      (is_quoted && dot != number)) {
    fail_at(r, "a reference, name.number, expected");
    return 0;
  }
  if (!is_quoted) name = roc_arena_strndup(r->lx.arena, number, (size_t)(dot - number));
  if (out_name) *out_name = name ? name : "";
  return (uint32_t)index;
}

static uint32_t read_use(reader *r, uint32_t count, const char *what) {
  uint32_t index = read_ref(r, NULL);
  if (!r->failed && index >= count) fail_at(r, "there is no %s %u", what, index);
  return index;
}

/* A declaration's reference: its number is the next one. */
static const char *read_declared(reader *r, uint32_t count) {
  const char *name = "";
  uint32_t index = read_ref(r, &name);
  if (!r->failed && index != count) fail_at(r, "number %u expected here, not %u", count, index);
  return name;
}

static bool find_type(const char *word, roc_value_type *out) {
  for (int type = ROC_VT_BOOL; type < ROC_VT_COUNT_; type++) {
    if (strcmp(word, roc_ir_type_word((roc_value_type)type))) continue;
    *out = (roc_value_type)type;
    return true;
  }
  return false;
}

static roc_value_type read_type(reader *r) {
  roc_value_type type = ROC_VT_INT;
  const char *word = read_word(r, "a type");
  if (!find_type(word, &type)) fail_at(r, "'%.40s' is no type: bool, int, f32 or f64", word);
  return type;
}

static void read_param_flags(reader *r, roc_ir_param *p) {
  bool is_array = roc_arg_is_array(&p->type);
  for (;;) {
    if (accept_word(r, "narrow")) {
      p->type.is_narrow = true;
    } else if (is_array && accept_word(r, "host")) {
      p->type.is_host_memory = true;
    } else if (is_array && accept_word(r, "alias")) {
      p->type.is_alias = true;
    } else if (is_array && accept_word(r, "read")) {
      p->is_read = true;
    } else if (is_array && accept_word(r, "written")) {
      p->is_written = true;
    } else {
      return;
    }
  }
}

static roc_layout read_layout(reader *r) {
  if (accept_word(r, "c")) return ROC_LAYOUT_C;
  if (accept_word(r, "f")) return ROC_LAYOUT_F;
  if (!accept_word(r, "strided")) fail_at(r, "a layout expected: c, f or strided");
  return ROC_LAYOUT_STRIDED;
}

/* The rest of "float32[2] strided", after the bracket. */
static roc_arg_type read_array_type(reader *r, const char *word) {
  roc_dtype dtype = ROC_DT_BOOL;
  if (!roc_dtype_from_name(word, strlen(word), &dtype)) fail_at(r, "'%.40s' is no dtype", word);
  roc_arg_type type = {.dtype = (uint8_t)dtype};
  type.rank = (uint8_t)read_int(r, 1, ROC_MAX_RANK);
  expect_sign(r, ']');
  type.layout = (uint8_t)read_layout(r);
  return type;
}

static void read_param(reader *r) {
  roc_ir_param p = {.name = read_declared(r, r->b.module->params.count)};
  expect_sign(r, ':');
  const char *word = read_word(r, "a type or dtype");
  roc_value_type value = ROC_VT_NONE;
  if (accept_sign(r, '[')) {
    p.type = read_array_type(r, word);
  } else if (find_type(word, &value)) {
    p.type.value = (uint8_t)value;
  } else {
    fail_at(r, "'%.40s' is no type: bool, int, f32 or f64", word);
  }
  read_param_flags(r, &p);
  if (!r->failed) roc_ir_add_param(&r->b, &p);
}

static void read_head(reader *r) {
  if (!accept_word(r, "kernel")) fail_at(r, "'kernel' expected");
  bool is_quoted = r->lx.token == ROC_IR_TOKEN_TEXT;
  r->b.module->name = is_quoted ? read_text(r, "a name") : read_word(r, "the kernel's name");
  expect_sign(r, '(');
  while (!r->failed && !at_sign(r, ')')) {
    read_param(r);
    if (!accept_sign(r, ',')) break;
  }
  expect_sign(r, ')');
  roc_ir_module *m = r->b.module;
  m->check = accept_word(r, "check");
  m->contract = accept_word(r, "contract");
  m->fastmath = accept_word(r, "fastmath");
  if (accept_word(r, "workgroup")) {
    for (int d = 0; d < 3; d++) m->workgroup[d] = read_u32(r);
    m->is_workgroup_exact = accept_word(r, "exact");
    m->is_grid_whole = m->is_workgroup_exact && accept_word(r, "whole");
  }
  expect_line(r);
}

static int nibble(char c) {
  const char *digits = "0123456789abcdef";
  const char *found = c ? strchr(digits, c) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* The data of a CONST array: hex digits in quotes, as many as its extents say. */
static const void *read_data(reader *r, const roc_ir_array *array) {
  size_t len = r->lx.len;
  const char *hex = read_text(r, "the array's bytes");
  int64_t want = (int64_t)roc_dtype_itemsize(array->dtype) * 2;
  for (uint32_t d = 0; d < array->rank; d++) {
    if (__builtin_mul_overflow(want, array->extents[d], &want)) want = -1;
  }
  if (r->failed || want < 0 || (uint64_t)want != len) {
    fail_at(r, "the extents of the array do not agree with its bytes");
    return NULL;
  }
  unsigned char *data = roc_arena_alloc(r->lx.arena, len / 2);
  for (size_t i = 0; data && i < len / 2; i++) {
    int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      fail_at(r, "the array's bytes are not in hexadecimal");
      return NULL;
    }
    data[i] = (unsigned char)(high * 16 + low);
  }
  return data;
}

static void read_extents(reader *r, roc_ir_array *array) {
  do {
    if (array->rank == ROC_MAX_RANK) {
      fail_at(r, "an array has at most %d dimensions", ROC_MAX_RANK);
      return;
    }
    array->extents[array->rank++] = read_int(r, 0, INT64_MAX);
  } while (accept_sign(r, ','));
  expect_sign(r, ']');
}

static void read_array(reader *r) {
  roc_ir_array array = {.name = read_declared(r, r->b.module->arrays.count)};
  if (accept_sign(r, '=')) {
    if (!accept_word(r, "param")) fail_at(r, "'param' expected");
    array.param = read_use(r, r->b.module->params.count, "parameter");
  } else {
    expect_sign(r, ':');
    const char *word = read_word(r, "a dtype");
    if (!roc_dtype_from_name(word, strlen(word), &array.dtype))
      fail_at(r, "'%.40s' is no dtype", word);
    if (accept_word(r, "dynamic")) {
      array.kind = ROC_IR_ARRAY_SHARED_DYNAMIC;
      array.rank = 1;
      array.first_byte = read_int(r, 0, INT64_MAX);
    } else {
      expect_sign(r, '[');
      read_extents(r, &array);
      if (accept_word(r, "shared")) {
        array.kind = ROC_IR_ARRAY_SHARED;
      } else if (accept_word(r, "private")) {
        array.kind = ROC_IR_ARRAY_PRIVATE;
      } else if (accept_word(r, "const")) {
        array.kind = ROC_IR_ARRAY_CONST;
        array.data = read_data(r, &array);
      } else {
        fail_at(r, "shared, private or const expected");
      }
    }
  }
  if (!r->failed) roc_ir_add_array(&r->b, &array);
}

static uint8_t read_site_kind(reader *r) {
  static const char *const kinds[] = {"index", "divide",    "modulo", "no_integer",    "assert",
                                      "error", "divergent", "print",  "divergent_wave"};
  for (uint8_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (accept_word(r, kinds[i])) return i;
  }
  fail_at(r, "a kind of site expected");
  return 0;
}

static void read_pieces(reader *r, roc_site *site) {
  roc_vec(roc_site_piece) pieces = {0};
  uint32_t nvalues = 0;
  while (!r->failed && r->lx.token != ROC_IR_TOKEN_LINE) {
    roc_site_piece piece = {NULL, ROC_VT_NONE};
    if (r->lx.token == ROC_IR_TOKEN_TEXT) {
      piece.text = read_text(r, "text");
    } else if (!accept_word(r, "zero")) {
      piece.type = read_type(r);
      nvalues++;
    }
    if (!roc_vec_push(&pieces, piece)) r->b.failed = true;
  }
  if (nvalues > site->nvalues) fail_at(r, "more values in the text than the site records");
  site->pieces = pieces.items;
  site->npieces = pieces.count;
  if (!r->failed) roc_ir_add_site(&r->b, site);
  roc_vec_deinit(&pieces);
}

static void read_site(reader *r) {
  roc_site site = {0};
  if (read_u32(r) != r->b.module->sites.count) fail_at(r, "sites are numbered from 0");
  site.kind = read_site_kind(r);
  site.file = read_text(r, "the file");
  site.line = read_u32(r);
  site.column = read_u32(r);
  if (accept_word(r, "dim")) site.dim = (uint8_t)read_int(r, 0, ROC_MAX_RANK);
  if (accept_word(r, "values")) site.nvalues = (uint8_t)read_int(r, 0, ROC_SITE_MAX_VALUES);
  if (accept_word(r, "name")) site.name = read_text(r, "the array's name");
  if (site.kind == ROC_SITE_INDEX && (!site.name || site.nvalues != 2)) {
    fail_at(r, "an index site has a name and 2 values");
  }
  accept_sign(r, ':');
  read_pieces(r, &site);
}

static bool read_declaration(reader *r) {
  if (accept_word(r, "array")) {
    read_array(r);
  } else if (accept_word(r, "site")) {
    read_site(r);
  } else if (accept_word(r, "var")) {
    const char *name = read_declared(r, r->b.module->vars.count);
    expect_sign(r, ':');
    roc_value_type type = read_type(r);
    if (!r->failed) roc_ir_add_var(&r->b, name, type);
  } else {
    return false;
  }
  expect_line(r);
  return true;
}

static void define_label(reader *r, int64_t label, uint32_t inst) {
  while (r->labels.count <= label) {
    if (!roc_vec_push(&r->labels, ROC_IR_NONE)) {
      r->b.failed = true;
      return;
    }
  }
  r->labels.items[label] = inst;
}

static bool is_defined(const reader *r, int64_t label) {
  return label < r->labels.count && r->labels.items[label] != ROC_IR_NONE;
}

/* Behind '%'. */
static uint32_t read_label_use(reader *r) {
  int64_t label = read_int(r, 0, MAX_LABEL);
  if (r->failed) return ROC_IR_NONE;
  if (!is_defined(r, label)) {
    fail_at(r, "%%%lld is not defined above", (long long)label);
    return ROC_IR_NONE;
  }
  return r->labels.items[label];
}

static double float_of_bits(uint64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static void read_const(reader *r, roc_ir_inst *inst) {
  if (inst->type == ROC_VT_INT) {
    inst->k.i = read_int(r, INT64_MIN, INT64_MAX);
  } else if (inst->type == ROC_VT_BOOL) {
    inst->k.i = accept_word(r, "true");
    if (!inst->k.i && !accept_word(r, "false")) fail_at(r, "true or false expected");
  } else {
    const char *word = read_word(r, "a number");
    char *end = NULL;
    errno = 0;
    bool is_bits = !strncmp(word, "0x", 2);
    inst->k.f = is_bits ? float_of_bits(strtoull(word, &end, 16)) : strtod(word, &end);
    if (!*word || *end) fail_at(r, "'%.40s' is no float", word);
  }
}

static int64_t read_named(reader *r, char field) {
  const char *word = read_word(r, "the name of the operation");
  const char *name;
  for (int64_t value = 0; (name = roc_ir_field_word(field, value)); value++) {
    if (!strcmp(name, word)) return value;
  }
  fail_at(r, "'%.40s' names no such operation", word);
  return 0;
}

static int64_t read_field(reader *r, char field) {
  const roc_ir_module *m = r->b.module;
  switch (field) {
    case 'v': return read_use(r, m->vars.count, "variable");
    case 'p': return read_use(r, m->params.count, "parameter");
    case 'a': return read_use(r, m->arrays.count, "array");
    case 's': expect_sign(r, '#'); return read_u32(r);
    case 'l': expect_sign(r, '%'); return read_label_use(r);
    case 'D':
    case 'd':
    case 'm': return read_u32(r);
    default: return read_named(r, field);
  }
}

static void read_place(reader *r) {
  if (!accept_sign(r, '!')) return;
  if (r->lx.token == ROC_IR_TOKEN_TEXT) r->file = read_text(r, "the file");
  uint32_t line = read_u32(r);
  expect_sign(r, ':');
  uint32_t column = read_u32(r);
  if (!r->failed) roc_ir_set_place(&r->b, r->file, line, column);
}

static bool find_op(const char *word, roc_ir_op *out) {
  for (int op = 0; op < ROC_IR_OP_COUNT_; op++) {
    if (strcmp(roc_ir_op_table[op].text, word)) continue;
    *out = (roc_ir_op)op;
    return true;
  }
  return false;
}

static void read_operands(reader *r) {
  roc_vec_clear(&r->args);
  while (accept_sign(r, '%')) {
    if (r->args.count == MAX_ARGS) {
      fail_at(r, "too many operands");
    } else if (!roc_vec_push(&r->args, read_label_use(r))) {
      r->b.failed = true;
    }
  }
}

static void read_region(reader *r);

/* The regions of the control instruction just opened, down to its `end`. */
static void read_regions(reader *r, uint32_t inst, roc_ir_op op) {
  if (r->b.failed || r->failed) return;
  if (++r->depth > ROC_IR_MAX_NESTING) {
    fail_at(r, "regions nest too deeply");
    return;
  }
  read_region(r);
  if (op == ROC_IR_IF && accept_word(r, "else")) {
    expect_line(r);
    roc_ir_else(&r->b, inst);
    read_region(r);
  }
  if (!accept_word(r, "end")) fail_at(r, "'end' expected");
  expect_line(r);
  if (!r->failed) roc_ir_end(&r->b, inst);
  r->depth--;
}

/* `%N: type =` or `%N =`; -1 when there is none. */
static int64_t read_result(reader *r, roc_ir_inst *inst) {
  if (!accept_sign(r, '%')) return -1;
  int64_t label = read_int(r, 0, MAX_LABEL);
  if (!r->failed && is_defined(r, label)) fail_at(r, "%%%lld is defined twice", (long long)label);
  if (accept_sign(r, ':')) inst->type = (uint8_t)read_type(r);
  expect_sign(r, '=');
  return label;
}

static void read_statement(reader *r) {
  roc_ir_inst inst = {0};
  roc_ir_op op = ROC_IR_CONST;
  int64_t label = read_result(r, &inst);
  const char *word = read_word(r, "an instruction");
  if (!r->failed && !find_op(word, &op)) fail_at(r, "there is no instruction '%.40s'", word);
  inst.op = (uint8_t)op;
  if (op == ROC_IR_IF && accept_word(r, "versions")) inst.aux = ROC_IR_IF_VERSIONS;
  if (op == ROC_IR_IF && accept_word(r, "all")) inst.aux = ROC_IR_IF_ALL;
  for (const char *f = roc_ir_op_table[op].fields; *f && !r->failed; f++) {
    if (*f == 'c') {
      read_const(r, &inst);
    } else {
      roc_ir_field_set(&inst, *f, read_field(r, *f));
    }
  }
  read_operands(r);
  read_place(r);
  expect_line(r);
  if (r->failed) return;
  inst.nargs = (uint16_t)r->args.count;
  bool has_regions = roc_ir_has_regions(&inst);
  uint32_t id = has_regions ? roc_ir_begin(&r->b, op, inst.aux, r->args.items, r->args.count)
                            : roc_ir_append(&r->b, inst, r->args.items);
  if (label >= 0 && !r->b.failed) define_label(r, label, id);
  if (has_regions) read_regions(r, id, op);
}

static void read_region(reader *r) {
  while (!r->failed && !r->b.failed && !at_word(r, "end") && !at_word(r, "else")) read_statement(r);
}

static void read_kernel(reader *r) {
  read_head(r);
  while (!r->failed && !r->b.failed && read_declaration(r)) continue;
  read_region(r);
  if (!accept_word(r, "end")) fail_at(r, "'end' expected");
  expect_line(r);
  if (r->lx.token != ROC_IR_TOKEN_END) fail_at(r, "nothing more expected");
}

roc_status roc_ir_read(const char *text, size_t len, roc_ir_module **out_module, roc_error *err) {
  roc_ir_module *module = roc_ir_module_new("");
  if (!module) return roc_fail(err, ROC_OOM, "out of memory");
  reader r = {.file = "", .err = err};
  roc_ir_builder_init(&r.b, module);
  r.b.keeps_dead = true;
  roc_ir_lex_init(&r.lx, &module->arena, text, len);
  read_kernel(&r);
  roc_vec_deinit(&r.labels);
  roc_vec_deinit(&r.args);
  if (r.failed) r.b.open.count = 0; /* what was being read stays open */
  roc_status status = roc_ir_builder_finish(&r.b, err);
  if (!status && r.failed) status = ROC_INVALID;
  if (status) {
    roc_ir_module_free(module);
    return status;
  }
  *out_module = module;
  return ROC_OK;
}
