/* The parser of signatures: one function for each rule of signature.h. */
#include "frontend/types/signature.h"

#include <ctype.h>
#include <string.h>

#include "base/near.h"

typedef struct reader {
  const char *text, *at;
  roc_error *err;
} reader;

static void skip_space(reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
}

static bool accept(reader *r, char c) {
  skip_space(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

static roc_status expected(const reader *r, const char *what) {
  return roc_fail(r->err, ROC_INVALID, "bad signature '%.200s' (%s expected at character %d)",
                  r->text, what, (int)(r->at - r->text) + 1);
}

static size_t word_length(const char *at) {
  size_t n = 0;
  while (isalnum((unsigned char)at[n]) || at[n] == '_') n++;
  return n;
}

static bool accept_word(reader *r, const char *word) {
  skip_space(r);
  size_t n = word_length(r->at);
  if (n != strlen(word) || memcmp(r->at, word, n) != 0) return false;
  r->at += n;
  return true;
}

/* The suggestion for a word that is not a dtype. */
static roc_status refuse_word(const reader *r, size_t n) {
  const char *advice = roc_foreign_advice(ROC_FOREIGN_DTYPE, r->at, n);
  roc_near near = roc_near_to(r->at, n);
  for (int dt = 0; dt < ROC_DT_COUNT_; dt++) {
    roc_near_offer(&near, roc_dtype_name((roc_dtype)dt), roc_dtype_name((roc_dtype)dt));
  }
  if (!advice) advice = near.best;
  if (!advice) return expected(r, "a dtype such as float32");
  return roc_fail(
      r->err, ROC_INVALID,
      "bad signature '%.200s' (a dtype such as float32 expected at character %d; '%.*s' "
      "is none; write %s)",
      r->text, (int)(r->at - r->text) + 1, (int)n, r->at, advice);
}

static roc_status read_dtype(reader *r, roc_dtype *out) {
  skip_space(r);
  size_t n = word_length(r->at);
  if (!roc_dtype_from_name(r->at, n, out)) return refuse_word(r, n);
  r->at += n;
  return ROC_OK;
}

/* One ":" or "::1"; *is_dense tells which. */
static roc_status read_dim(reader *r, bool *is_dense) {
  if (!accept(r, ':')) return expected(r, "':' or '::1'");
  *is_dense = accept(r, ':');
  if (*is_dense && !accept(r, '1')) return expected(r, "'1'");
  return ROC_OK;
}

static roc_status read_dims(reader *r, roc_arg_type *type) {
  uint32_t dense = UINT32_MAX;
  do {
    bool is_dense = false;
    if (type->rank == ROC_MAX_RANK) return expected(r, "']' after at most 8 dimensions");
    ROC_TRY(read_dim(r, &is_dense));
    if (is_dense && dense != UINT32_MAX) return expected(r, "only one '::1'");
    if (is_dense) dense = type->rank;
    type->rank++;
  } while (accept(r, ','));
  if (!accept(r, ']')) return expected(r, "',' or ']'");
  bool is_fortran = dense == 0 && type->rank > 1;
  if (dense != UINT32_MAX && !is_fortran && dense + 1 != type->rank) {
    return expected(r, "'::1' in the first or the last dimension");
  }
  type->layout = is_fortran ? ROC_LAYOUT_F : ROC_LAYOUT_C;
  return ROC_OK;
}

static void read_words(reader *r, roc_arg_type *type) {
  bool is_array = roc_arg_is_array(type);
  for (;;) {
    if (is_array && accept_word(r, "strided")) {
      type->layout = ROC_LAYOUT_STRIDED;
    } else if (is_array && accept_word(r, "alias")) {
      type->is_alias = true;
    } else if ((is_array || type->value == ROC_VT_INT) && accept_word(r, "narrow")) {
      type->is_narrow = true;
    } else {
      return;
    }
  }
}

static roc_status read_type(reader *r, roc_arg_type *type) {
  roc_dtype dtype;
  ROC_TRY(read_dtype(r, &dtype));
  type->dtype = (uint8_t)dtype;
  if (accept(r, '[')) {
    ROC_TRY(read_dims(r, type));
  } else {
    type->value = (uint8_t)roc_dtype_table[dtype].value_type;
    type->is_plain = type->value == ROC_VT_F64;
  }
  read_words(r, type);
  return ROC_OK;
}

/* "void(float32[:])", as Numba has it, or types without parentheses. */
static roc_status refuse_start(const reader *r) {
  const char *open = strchr(r->text, '(');
  size_t n = word_length(r->at);
  if (open && n > 0 && r->at + n == open) {
    return roc_fail(r->err, ROC_INVALID,
                    "bad signature '%.200s' (a kernel returns nothing, and its signature has the "
                    "parameters alone: write '%.200s')",
                    r->text, open);
  }
  if (open || n == 0) return expected(r, "'('");
  return roc_fail(r->err, ROC_INVALID,
                  "bad signature '%.200s' ('(' expected at character 1: write '(%.200s)')", r->text,
                  r->text);
}

roc_status roc_fe_parse_signature(const char *text, roc_arg_type *types, uint32_t room,
                                  uint32_t *out_count, roc_error *err) {
  reader r = {text, text, err};
  *out_count = 0;
  if (!accept(&r, '(')) return refuse_start(&r);
  if (!accept(&r, ')')) {
    do {
      if (*out_count == room) return expected(&r, "')' (too many types)");
      types[*out_count] = (roc_arg_type){0};
      ROC_TRY(read_type(&r, &types[*out_count]));
      *out_count += 1;
    } while (accept(&r, ','));
    if (*r.at == '*') return expected(&r, "',' or ')', and an array as float32[:],");
    if (!accept(&r, ')')) return expected(&r, "',' or ')'");
  }
  skip_space(&r);
  return *r.at ? expected(&r, "the end") : ROC_OK;
}
