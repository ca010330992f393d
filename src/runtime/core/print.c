/* Lines that kernels printed, on their way to the thread that runs Lua. */
#include <string.h>

#include "base/alloc.h"
#include "base/site.h"
#include "runtime/core/internal.h"

/* Lines for the Lua thread, oldest first. */
typedef struct print_line {
  struct print_line *next;
  roc_str text;
} print_line;

static print_line *first_line, **last_line = &first_line;
static _Atomic uint32_t line_count;

static void append_line(roc_str text) {
  print_line *line = text.failed ? NULL : roc_alloc(sizeof *line);
  if (!line) {
    roc_str_deinit(&text);
    return;
  }
  *line = (print_line){NULL, text};
  *last_line = line;
  last_line = &line->next;
  atomic_fetch_add_explicit(&line_count, 1, memory_order_relaxed);
}

static void append_lost(uint32_t count) {
  if (!count) return;
  roc_str text = ROC_STR_INIT;
  roc_str_printf(&text, "roclua: %u more lines of a kernel's output are lost (1 MiB a launch)",
                 count);
  append_line(text);
}

void roc_rt_read_prints(const roc_codeobj *object, const roc_print_buffer *print) {
  uint32_t end = print->used < print->capacity ? print->used : print->capacity;
  uint32_t at = 0;
  while (end - at >= 8) {
    uint32_t head[2];
    uint64_t values[ROC_SITE_MAX_VALUES];
    memcpy(head, print->data + at, sizeof head);
    if (head[0] >= object->nsites || head[1] > ROC_SITE_MAX_VALUES) break;
    uint32_t nbytes = 8 + 8 * head[1];
    if (nbytes > end - at) break;
    memcpy(values, print->data + at + 8, nbytes - 8);
    roc_str text = ROC_STR_INIT;
    roc_site_format_values(&object->sites[head[0]], values, &text);
    append_line(text);
    at += nbytes;
  }
  append_lost(print->lost);
}

bool roc_rt_has_print(void) {
  return atomic_load_explicit(&line_count, memory_order_relaxed) > 0;
}

bool roc_rt_take_print(roc_str *out_line) {
  if (roc_rt_in_child()) return false;
  roc_rt_lock();
  print_line *line = first_line;
  if (line) {
    first_line = line->next;
    if (!first_line) last_line = &first_line;
    atomic_fetch_sub_explicit(&line_count, 1, memory_order_relaxed);
  }
  roc_rt_unlock();
  if (!line) return false;
  *out_line = line->text;
  roc_free(line);
  return true;
}

void roc_rt_post_print(const char *text, size_t len) {
  if (roc_rt_in_child()) return;
  roc_str line = ROC_STR_INIT;
  roc_str_add(&line, text, len);
  roc_rt_lock();
  append_line(line);
  roc_rt_unlock();
}

void roc_rt_post_lost_prints(uint32_t count) {
  if (roc_rt_in_child()) return;
  roc_rt_lock();
  append_lost(count);
  roc_rt_unlock();
}
