/* Text building.  A builder that ran out of memory stays failed; its text is then "" and
 * `failed` is set, so that callers may check once at the end.  One thread at a time. */
#ifndef ROC_BASE_STR_H
#define ROC_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct roc_str {
  char *data; /* NUL-terminated once anything was added; owned */
  size_t len, capacity;
  bool failed;
} roc_str;

#define ROC_STR_INIT \
  { 0 }

void roc_str_add(roc_str *s, const char *bytes, size_t len);
void roc_str_puts(roc_str *s, const char *text);
void roc_str_putc(roc_str *s, char c);
void roc_str_printf(roc_str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Never NULL. */
const char *roc_str_text(const roc_str *s);
void roc_str_clear(roc_str *s);
void roc_str_deinit(roc_str *s);

#endif
