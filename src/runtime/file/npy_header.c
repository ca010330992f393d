/* Parsing and formatting .npy headers; see npy_header.h.
 *
 * The literal is parsed by one function per piece, each of which moves the cursor or fails with
 * what it expected and where.  A shape of () is read as {1}: arrays here have at least one
 * dimension. */
#include "runtime/file/npy_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct header {
  const char *path, *begin, *at, *end;
  roc_error *err;
  roc_dtype dtype;
  bool is_big_endian, is_fortran;
  uint32_t rank;
  int64_t extents[ROC_ARRAY_MAX_RANK];
  unsigned seen; /* bits by position in `keys` */
} header;

static roc_status fail_expected(header *h, const char *expected) {
  return roc_fail(h->err, ROC_INVALID, "'%s': malformed .npy header at byte %td: %s expected",
                  h->path, h->at - h->begin, expected);
}

static void skip_spaces(header *h) {
  while (h->at < h->end && strchr(" \t\r\n", *h->at)) h->at++;
}

static bool accept(header *h, char c) {
  skip_spaces(h);
  if (h->at == h->end || *h->at != c) return false;
  h->at++;
  return true;
}

static bool accept_word(header *h, const char *word) {
  size_t len = strlen(word);
  skip_spaces(h);
  if ((size_t)(h->end - h->at) < len || memcmp(h->at, word, len) != 0) return false;
  h->at += len;
  return true;
}

/* A quoted string without escapes. */
static roc_status parse_string(header *h, const char **out_text, size_t *out_len) {
  skip_spaces(h);
  char quote = h->at < h->end ? *h->at : '\0';
  if (quote != '\'' && quote != '"') return fail_expected(h, "a string");
  const char *begin = h->at + 1;
  const char *close = memchr(begin, quote, (size_t)(h->end - begin));
  if (!close) return fail_expected(h, "the end of the string");
  *out_text = begin;
  *out_len = (size_t)(close - begin);
  h->at = close + 1;
  return ROC_OK;
}

/* ---- the values -------------------------------------------------------------------------- */

/* NumPy's letter and size of each dtype; bfloat16 has none. */
static bool find_descr(const char *code, size_t len, roc_dtype *out) {
  for (int dt = 0; dt < ROC_DT_COUNT_; dt++) {
    if (dt == ROC_DT_BFLOAT16) continue;
    char own[8];
    int n =
        snprintf(own, sizeof own, "%c%d", roc_dtype_table[dt].kind, roc_dtype_table[dt].itemsize);
    if ((size_t)n == len && memcmp(own, code, len) == 0) {
      *out = (roc_dtype)dt;
      return true;
    }
  }
  return false;
}

static roc_status parse_descr(header *h) {
  const char *text;
  size_t len;
  if (accept(h, '[')) {
    return roc_fail(h->err, ROC_INVALID, "'%s' holds records: only plain numbers can be read",
                    h->path);
  }
  ROC_TRY(parse_string(h, &text, &len));
  if (len < 3 || !strchr("<>|=", *text) || !find_descr(text + 1, len - 1, &h->dtype)) {
    return roc_fail(h->err, ROC_INVALID, "'%s' has elements of type '%.*s', which no dtype holds",
                    h->path, (int)(len < 64 ? len : 64), text);
  }
  h->is_big_endian = *text == '>';
  return ROC_OK;
}

static roc_status parse_fortran_order(header *h) {
  h->is_fortran = accept_word(h, "True");
  if (h->is_fortran || accept_word(h, "False")) return ROC_OK;
  return fail_expected(h, "True or False");
}

static roc_status parse_extent(header *h) {
  int64_t extent = 0;
  skip_spaces(h);
  if (h->at == h->end || *h->at < '0' || *h->at > '9') return fail_expected(h, "an extent");
  for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
    if (__builtin_mul_overflow(extent, 10, &extent) ||
        __builtin_add_overflow(extent, *h->at - '0', &extent)) {
      return fail_expected(h, "an extent that fits 64 bits");
    }
  }
  if (h->at < h->end && *h->at == 'L') h->at++; /* written by Python 2 */
  if (h->rank == ROC_ARRAY_MAX_RANK) {
    return roc_fail(h->err, ROC_INVALID, "'%s' has more than %d dimensions", h->path,
                    ROC_ARRAY_MAX_RANK);
  }
  h->extents[h->rank++] = extent;
  return ROC_OK;
}

static roc_status parse_shape(header *h) {
  h->rank = 0;
  if (!accept(h, '(')) return fail_expected(h, "a tuple");
  while (!accept(h, ')')) {
    ROC_TRY(parse_extent(h));
    if (accept(h, ',')) continue;
    if (!accept(h, ')')) return fail_expected(h, "',' or ')'");
    break;
  }
  if (h->rank == 0) h->extents[h->rank++] = 1;
  return ROC_OK;
}

/* ---- the dict ---------------------------------------------------------------------------- */

static const struct key {
  const char *name;
  roc_status (*parse)(header *h);
} keys[] = {{"descr", parse_descr}, {"fortran_order", parse_fortran_order}, {"shape", parse_shape}};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

static roc_status parse_entry(header *h) {
  const char *name;
  size_t len;
  ROC_TRY(parse_string(h, &name, &len));
  if (!accept(h, ':')) return fail_expected(h, "':'");
  for (unsigned k = 0; k < KEY_COUNT; k++) {
    if (strlen(keys[k].name) != len || memcmp(keys[k].name, name, len) != 0) continue;
    if (h->seen & 1u << k) {
      return roc_fail(h->err, ROC_INVALID, "'%s': the .npy header has '%s' twice", h->path,
                      keys[k].name);
    }
    h->seen |= 1u << k;
    return keys[k].parse(h);
  }
  return roc_fail(h->err, ROC_INVALID, "'%s': the .npy header has an unknown key '%.*s'", h->path,
                  (int)(len < 64 ? len : 64), name);
}

static roc_status parse_dict(header *h) {
  if (!accept(h, '{')) return fail_expected(h, "'{'");
  while (!accept(h, '}')) {
    ROC_TRY(parse_entry(h));
    if (accept(h, ',')) continue;
    if (!accept(h, '}')) return fail_expected(h, "',' or '}'");
    break;
  }
  skip_spaces(h);
  if (h->at != h->end) return fail_expected(h, "the end of the header");
  for (unsigned k = 0; k < KEY_COUNT; k++) {
    if (h->seen & 1u << k) continue;
    return roc_fail(h->err, ROC_INVALID, "'%s': the .npy header has no '%s'", h->path,
                    keys[k].name);
  }
  return ROC_OK;
}

roc_status roc_npy_parse_header(const char *path, const char *text, size_t len, roc_array *out,
                                bool *out_is_big_endian, roc_error *err) {
  header h = {.path = path, .begin = text, .at = text, .end = text + len, .err = err};
  if (memchr(text, '\0', len)) {
    return roc_fail(err, ROC_INVALID, "'%s': the .npy header holds a zero byte", path);
  }
  ROC_TRY(parse_dict(&h));
  *out_is_big_endian = h.is_big_endian;
  roc_error why = ROC_ERROR_INIT;
  roc_status status = roc_array_describe(out, h.dtype, h.rank, h.extents,
                                         h.is_fortran ? ROC_ORDER_F : ROC_ORDER_C, &why);
  return status == ROC_OK ? ROC_OK : roc_fail(err, status, "'%s': %s", path, why.message);
}

roc_status roc_npy_format_header(const roc_array *a, roc_order order, char *text, size_t nbytes,
                                 roc_error *err) {
  const roc_dtype_info *info = &roc_dtype_table[a->dtype];
  if (a->dtype == ROC_DT_BFLOAT16) {
    return roc_fail(err, ROC_UNSUPPORTED,
                    "the .npy format has no bfloat16: save a:astype(\"float32\")");
  }
  int len = snprintf(text, nbytes, "{'descr': '%c%c%d', 'fortran_order': %s, 'shape': (",
                     info->itemsize == 1 ? '|' : '<', info->kind, info->itemsize,
                     order == ROC_ORDER_F ? "True" : "False");
  for (uint32_t k = 0; k < a->rank; k++) {
    len += snprintf(text + len, nbytes - (size_t)len, "%s%" PRId64, k ? ", " : "", a->extents[k]);
  }
  snprintf(text + len, nbytes - (size_t)len, "%s), }", a->rank == 1 ? "," : "");
  return ROC_OK;
}
