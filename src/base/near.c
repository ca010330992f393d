/* Near names by edit distance, and foreign ones by a table; see near.h. */
#include "base/near.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_LETTERS = 40 }; /* longer names are near to none */

/* What a difference costs: another letter more than a missing one. */
enum { COST_BEGINNING = 1, COST_LETTER = 2, COST_REPLACED = 3 };

static const struct {
  roc_foreign_where where;
  const char *name, *advice;
} foreign[] = {
#define ROC_FOREIGN(WHERE, name, advice) {ROC_FOREIGN_##WHERE, name, advice},
#include "base/foreign.def"
#undef ROC_FOREIGN
};

const char *roc_foreign_advice(roc_foreign_where where, const char *name, size_t len) {
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    bool is_it = foreign[i].where == where && strlen(foreign[i].name) == len &&
                 memcmp(foreign[i].name, name, len) == 0;
    if (is_it) return foreign[i].advice;
  }
  return NULL;
}

/* The advice for the longest beginning of `path` that ends at a dot or its end. */
static const char *advice_for_beginning(roc_foreign_where where, const char *path) {
  const char *advice = NULL;
  for (size_t len = strlen(path); len > 0 && !advice; len--) {
    if (path[len] == '\0' || path[len] == '.') advice = roc_foreign_advice(where, path, len);
  }
  return advice;
}

const char *roc_foreign_path_advice(roc_foreign_where where, const char *path) {
  const char *advice = advice_for_beginning(where, path);
  for (const char *dot = strchr(path, '.'); dot && !advice; dot = strchr(dot + 1, '.')) {
    advice = advice_for_beginning(where, dot + 1);
  }
  return advice;
}

/* The letters that count; MAX_LETTERS + 1 when there are more than MAX_LETTERS. */
static size_t fold(const char *name, size_t len, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < len; i++) {
    if (name[i] == '_') continue;
    if (n == MAX_LETTERS) return MAX_LETTERS + 1;
    out[n++] = (char)tolower((unsigned char)name[i]);
  }
  return n;
}

static uint32_t least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Letters put in, left out, replaced, or two neighbours swapped. */
static uint32_t distance(const char *a, size_t na, const char *b, size_t nb) {
  uint32_t rows[3][MAX_LETTERS + 1];
  uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= nb; j++) above[j] = before[j] = (uint32_t)j * COST_LETTER;
  for (size_t i = 1; i <= na; i++) {
    row[0] = (uint32_t)i * COST_LETTER;
    for (size_t j = 1; j <= nb; j++) {
      uint32_t replaced = above[j - 1] + (a[i - 1] != b[j - 1] ? COST_REPLACED : 0);
      row[j] = least(least(above[j], row[j - 1]) + COST_LETTER, replaced);
      bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = least(row[j], before[j - 2] + COST_LETTER);
    }
    uint32_t *oldest = before;
    before = above;
    above = row;
    row = oldest;
  }
  return above[nb];
}

roc_near roc_near_to(const char *name, size_t len) {
  char letters[MAX_LETTERS];
  size_t n = fold(name, len, letters);
  uint32_t enough = n < 2 ? 0 : (uint32_t)(n + 1) / 3 * COST_LETTER + 1;
  return (roc_near){.name = name, .len = len, .distance = enough + 1};
}

void roc_near_offer(roc_near *near, const char *key, const char *shown) {
  char a[MAX_LETTERS], b[MAX_LETTERS];
  size_t na = fold(near->name, near->len, a), nb = fold(key, strlen(key), b);
  if (na == 0 || nb == 0 || na > MAX_LETTERS || nb > MAX_LETTERS) return;
  uint32_t d = distance(a, na, b, nb);
  bool is_beginning = na >= 3 && na < nb && memcmp(a, b, na) == 0; /* "sync" of "synchronize" */
  if (is_beginning) d = least(d, COST_BEGINNING);
  bool is_tie = near->best && d == near->distance; /* then by name, whatever the order */
  if (is_tie ? strcmp(shown, near->best) >= 0 : d >= near->distance) return;
  near->distance = d;
  near->best = shown;
}
