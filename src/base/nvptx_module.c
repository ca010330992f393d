/* The kernels of a text of PTX, from the parameter lists of its entries; see nvptx_module.h.
 *
 * Bodies are passed over: their mistakes are found by the driver, which compiles them. */
#include "base/nvptx_module.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum type_kind { BITS, INTEGER, FLOAT, WORD } type_kind;

static const struct {
  const char *name;
  uint32_t size;
  type_kind kind;
} types[] = {
#define PTX_TYPE(name, size, kind) {name, size, kind},
#define PTX_LACKS(name, what)
#include "base/nvptx_module.def"
#undef PTX_TYPE
#undef PTX_LACKS
};

static const struct {
  const char *name, *what;
} lacks[] = {
#define PTX_TYPE(name, size, kind)
#define PTX_LACKS(name, what) {name, what},
#include "base/nvptx_module.def"
#undef PTX_TYPE
#undef PTX_LACKS
};

enum {
  COUNT_OF_TYPES = sizeof types / sizeof *types,
  COUNT_OF_LACKS = sizeof lacks / sizeof *lacks,
  MAX_PARAM_BYTES = 32764 /* of a kernel */
};

/* ---- words --------------------------------------------------------------- */

/* A word (an identifier, a directive with its dots, a number), or one other character; len 0: the
 * end of the text. */
typedef struct token {
  const char *at;
  size_t len;
} token;

typedef struct reader {
  roc_module *module;
  const char *at, *end;
  token now;
  bool failed;
} reader;

static bool is_word_char(char c) {
  return isalnum((unsigned char)c) || (c && strchr("_$%.", c));
}

/* After the text `mark`, or at the end. */
static const char *skip_past(const reader *r, const char *at, const char *mark) {
  size_t len = strlen(mark);
  while ((size_t)(r->end - at) >= len && memcmp(at, mark, len) != 0) at++;
  return (size_t)(r->end - at) >= len ? at + len : r->end;
}

static const char *skip_blanks(const reader *r, const char *at) {
  for (;;) {
    while (at < r->end && (isspace((unsigned char)*at) || *at == '\0')) at++;
    if (r->end - at < 2 || at[0] != '/' || (at[1] != '/' && at[1] != '*')) return at;
    at = skip_past(r, at + 2, at[1] == '/' ? "\n" : "*/");
  }
}

static void next(reader *r) {
  const char *at = r->at = skip_blanks(r, r->at);
  if (at < r->end && *at == '"') {
    r->at = skip_past(r, at + 1, "\"");
  } else if (at < r->end && is_word_char(*at)) {
    while (r->at < r->end && is_word_char(*r->at)) r->at++;
  } else if (at < r->end) {
    r->at++;
  }
  r->now = (token){at, (size_t)(r->at - at)};
}

static bool is(const reader *r, const char *text) {
  return r->now.len == strlen(text) && memcmp(r->now.at, text, r->now.len) == 0;
}

static bool accept(reader *r, const char *text) {
  bool is_there = is(r, text);
  if (is_there) next(r);
  return is_there;
}

/* 0, and the reader has failed: no number. */
static uint32_t take_number(reader *r) {
  char digits[16] = "";
  char *rest = digits;
  if (r->now.len < sizeof digits) memcpy(digits, r->now.at, r->now.len);
  unsigned long value = strtoul(digits, &rest, 0);
  if (rest == digits || *rest || value > INT32_MAX) r->failed = true;
  next(r);
  return r->failed ? 0 : (uint32_t)value;
}

/* ---- parameters ---------------------------------------------------------- */

static void note_lack(const reader *r, roc_module_kernel *k) {
  for (int i = 0; i < COUNT_OF_LACKS && !k->refused; i++) {
    if (is(r, lacks[i].name)) k->refused = lacks[i].what;
  }
}

static void set_type(roc_module_arg *arg, size_t type) {
  static const roc_dtype floats[] = {
      [2] = ROC_DT_FLOAT16, [4] = ROC_DT_FLOAT32, [8] = ROC_DT_FLOAT64};
  arg->size = types[type].size;
  arg->is_integer = types[type].kind == INTEGER || types[type].kind == WORD;
  arg->may_be_pointer = types[type].kind == WORD;
  arg->has_dtype = types[type].kind == FLOAT;
  if (arg->has_dtype) arg->dtype = floats[arg->size];
}

/* The words before the name: type, alignment, and what a pointer leads to. */
static void read_attributes(reader *r, roc_module_kernel *k, roc_module_arg *arg) {
  bool is_pointer = false;
  while (!r->failed && r->now.len > 0 && *r->now.at == '.') {
    for (size_t i = 0; i < COUNT_OF_TYPES; i++) {
      if (is(r, types[i].name)) set_type(arg, i);
    }
    note_lack(r, k);
    is_pointer |= is(r, ".ptr");
    bool is_align = is(r, ".align");
    next(r);
    if (!is_align) continue;
    uint32_t align = take_number(r);
    if (!is_pointer) arg->align = align; /* else of the memory there */
  }
  if (is_pointer && arg->size == 8) {
    arg->kind = ROC_MODULE_POINTER;
    arg->may_be_pointer = false;
  }
}

/* `.param .u64 .ptr .global .align 4 name` or `.param .align 8 .b8 name[24]`, from after
 * `.param`. */
static void read_param(reader *r, roc_module_kernel *k, roc_module_arg *arg) {
  *arg = (roc_module_arg){.kind = ROC_MODULE_VALUE};
  read_attributes(r, k, arg);
  next(r); /* the name, which tells nothing: compilers count */
  uint32_t count = 1;
  if (accept(r, "[")) {
    count = take_number(r);
    if (!accept(r, "]")) r->failed = true;
    arg->is_integer = arg->may_be_pointer = arg->has_dtype = false;
  }
  if (!arg->align) arg->align = arg->size;
  bool is_sound = k->refused || (arg->size > 0 && count > 0 && count <= MAX_PARAM_BYTES &&
                                 arg->align <= 128 && !(arg->align & (arg->align - 1)));
  if (!is_sound) r->failed = true;
  if (r->failed || k->refused) return;
  arg->size *= count;
  arg->offset = (k->kernarg_bytes + arg->align - 1) & ~(arg->align - 1);
  k->kernarg_bytes = arg->offset + arg->size;
  if (k->kernarg_bytes > MAX_PARAM_BYTES) r->failed = true;
}

/* The list of parameters, of which there is at most one for each comma, from after its `(`. */
static void read_params(reader *r, roc_module_kernel *k) {
  uint32_t most = 1;
  for (const char *at = r->now.at; at < r->end && *at != '{'; at++) most += *at == ',';
  roc_module_arg *args = ROC_ARENA_ARRAY(&r->module->arena, roc_module_arg, most);
  k->args = args;
  while (args && !r->failed && accept(r, ".param")) {
    read_param(r, k, &args[k->nargs++]);
    if (!accept(r, ",")) break;
  }
  if (!accept(r, ")")) r->failed = true;
}

/* ---- kernels ------------------------------------------------------------- */

/* The numbers after `.maxntid` or `.reqntid`; dimensions that are not named are 1. */
static void read_threads(reader *r, uint32_t out[3]) {
  for (int d = 0; d < 3; d++) out[d] = d == 0 || accept(r, ",") ? take_number(r) : 1;
}

/* From after `.entry`. */
static void read_kernel(reader *r, roc_module_kernel *k) {
  k->takes_whole_groups = true;
  k->name = k->entry = roc_arena_strndup(&r->module->arena, r->now.at, r->now.len);
  next(r);
  if (accept(r, "(")) read_params(r, k);
  while (!r->failed && !is(r, "{") && !is(r, ";") && r->now.len > 0) {
    uint32_t threads[3];
    note_lack(r, k);
    if (accept(r, ".maxntid")) {
      read_threads(r, threads);
      uint64_t items = (uint64_t)threads[0] * threads[1] * threads[2];
      k->max_workgroup = items < UINT32_MAX ? (uint32_t)items : 0;
    } else if (accept(r, ".reqntid")) {
      read_threads(r, k->exact_workgroup);
    } else {
      next(r);
    }
  }
  if (!is(r, "{")) r->failed = true;
}

/* ---- files --------------------------------------------------------------- */

/* "sm_90" is 90, with what the suffix says; false: no such name. */
static bool read_chip(const char *name, unsigned *out_number, char *out_suffix) {
  *out_suffix = '\0';
  return sscanf(name, "sm_%u%c", out_number, out_suffix) >= 1;
}

/* PTX runs on newer GPUs, but "sm_90a" on that one alone, and "sm_100f" on its family. */
static bool is_for(const char *target, const char *device) {
  unsigned number, own;
  char suffix, own_suffix;
  if (!read_chip(target, &number, &suffix) || !read_chip(device, &own, &own_suffix)) return true;
  if (suffix == 'a') return number == own;
  return number <= own && (suffix != 'f' || number / 10 == own / 10);
}

static roc_status read_head(reader *r, roc_error *err) {
  if (accept(r, ".target")) {
    const char *target = roc_arena_strndup(&r->module->arena, r->now.at, r->now.len);
    if (target && !is_for(target, r->module->target)) {
      return roc_fail(err, ROC_INVALID, "the PTX is for '%s', the device is '%s'", target,
                      r->module->target);
    }
  } else if (accept(r, ".address_size") && !is(r, "64")) {
    return roc_fail(err, ROC_INVALID, "the PTX has addresses of %.*s bits: 64 expected",
                    (int)(r->now.len < 8 ? r->now.len : 8), r->now.at);
  }
  return ROC_OK;
}

static uint32_t count_entries(reader r) {
  uint32_t count = 0;
  for (next(&r); r.now.len > 0; next(&r)) count += is(&r, ".entry");
  return count;
}

static roc_status read_text(reader *r, roc_error *err) {
  uint32_t most = count_entries(*r);
  roc_module_kernel *kernels =
      ROC_ARENA_ARRAY(&r->module->arena, roc_module_kernel, (size_t)most + 1);
  r->module->kernels = kernels;
  next(r);
  while (kernels && r->now.len > 0) {
    if (is(r, ".target") || is(r, ".address_size")) {
      ROC_TRY(read_head(r, err));
    } else if (accept(r, ".entry")) {
      roc_module_kernel *k = &kernels[r->module->nkernels++];
      read_kernel(r, k);
      if (r->failed && k->name) {
        return roc_fail(err, ROC_INVALID, "the head of kernel '%s' is no PTX", k->name);
      }
    } else {
      next(r);
    }
  }
  if (kernels && most == 0) return roc_fail(err, ROC_INVALID, "the PTX has no kernels (.entry)");
  return ROC_OK;
}

roc_status roc_nvptx_read_module(roc_module *module, roc_error *err) {
  static const unsigned char elf[] = {0x7f, 'E', 'L', 'F'}, fat[] = {0x50, 0xed, 0x55, 0xba};
  const char *text = (const char *)module->bytes;
  bool is_binary = module->nbytes >= 4 && (!memcmp(text, elf, 4) || !memcmp(text, fat, 4));
  if (is_binary) {
    return roc_fail(err, ROC_UNSUPPORTED,
                    "a cubin, a fatbin or code for another GPU: for '%s' PTX is taken, the text "
                    "that nvcc -ptx or clang -S writes",
                    module->target);
  }
  reader r = {.module = module, .at = text, .end = text + module->nbytes};
  if (!strstr(text, ".version")) return roc_fail(err, ROC_INVALID, "no PTX: it has no .version");
  return read_text(&r, err);
}
