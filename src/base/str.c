#include "base/str.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static bool reserve(roc_str *s, size_t extra) {
  if (s->failed) return false;
  if (extra < s->capacity - s->len) return true;
  size_t grown = s->capacity ? s->capacity * 2 : 64;
  if (grown < s->len + extra + 1) grown = s->len + extra + 1;
  char *data = extra > PTRDIFF_MAX / 2 ? NULL : roc_realloc(s->data, grown);
  if (!data) {
    s->failed = true;
    s->len = 0;
    if (s->data) s->data[0] = '\0';
    return false;
  }
  s->data = data;
  s->capacity = grown;
  return true;
}

void roc_str_add(roc_str *s, const char *bytes, size_t len) {
  if (!reserve(s, len)) return;
  memcpy(s->data + s->len, bytes, len);
  s->len += len;
  s->data[s->len] = '\0';
}

void roc_str_puts(roc_str *s, const char *text) {
  roc_str_add(s, text, strlen(text));
}

void roc_str_putc(roc_str *s, char c) {
  roc_str_add(s, &c, 1);
}

void roc_str_printf(roc_str *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  if (n >= 0 && reserve(s, (size_t)n)) {
    vsnprintf(s->data + s->len, (size_t)n + 1, format, again);
    s->len += (size_t)n;
  }
  va_end(again);
  va_end(args);
}

const char *roc_str_text(const roc_str *s) {
  return s->data ? s->data : "";
}

void roc_str_clear(roc_str *s) {
  s->len = 0;
  s->failed = false;
  if (s->data) s->data[0] = '\0';
}

void roc_str_deinit(roc_str *s) {
  roc_free(s->data);
  *s = (roc_str)ROC_STR_INIT;
}
