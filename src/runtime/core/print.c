/* Lines that kernels printed, on their way to the session's user; under the runtime's lock. */
#include <string.h>

#include "base/alloc.h"
#include "base/site.h"
#include "runtime/core/internal.h"

struct roc_rt_print {
  roc_rt_print *next;
  roc_str text;
};

static _Atomic uint32_t line_count; /* of all sessions */

static void append_line(roc_rt_session *session, roc_str text) {
  roc_rt_print *line = text.failed || !session->has_user ? NULL : roc_alloc(sizeof *line);
  if (!line) {
    roc_str_deinit(&text);
    return;
  }
  *line = (roc_rt_print){NULL, text};
  *session->last_print = line;
  session->last_print = &line->next;
  atomic_fetch_add_explicit(&line_count, 1, memory_order_relaxed);
}

/* The oldest line, which the caller frees; NULL: there is none. */
static roc_rt_print *take_line(roc_rt_session *session) {
  roc_rt_print *line = session->first_print;
  if (!line) return NULL;
  session->first_print = line->next;
  if (!line->next) session->last_print = &session->first_print;
  atomic_fetch_sub_explicit(&line_count, 1, memory_order_relaxed);
  return line;
}

void roc_rt_drop_prints(roc_rt_session *session) {
  for (roc_rt_print *line; (line = take_line(session)); roc_free(line)) {
    roc_str_deinit(&line->text);
  }
}

static void append_lost(roc_rt_session *session, uint32_t count) {
  if (!count) return;
  roc_str text = ROC_STR_INIT;
  roc_str_printf(&text, "roclua: %u more lines of a kernel's output are lost (1 MiB a launch)",
                 count);
  append_line(session, text);
}

void roc_rt_read_prints(roc_rt_session *session, const roc_codeobj *object,
                        const roc_print_buffer *print) {
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
    append_line(session, text);
    at += nbytes;
  }
  append_lost(session, print->lost);
}

bool roc_rt_has_print(void) {
  return atomic_load_explicit(&line_count, memory_order_relaxed) > 0 && !roc_rt_in_child();
}

bool roc_rt_take_print(roc_rt_session *session, roc_str *out_line) {
  if (roc_rt_in_child()) return false;
  roc_rt_lock();
  roc_rt_print *line = take_line(session);
  roc_rt_unlock();
  if (!line) return false;
  *out_line = line->text;
  roc_free(line);
  return true;
}

void roc_rt_post_print(roc_rt_session *session, const char *text, size_t len) {
  if (roc_rt_in_child()) return;
  roc_str line = ROC_STR_INIT;
  roc_str_add(&line, text, len);
  roc_rt_lock();
  append_line(session, line);
  roc_rt_unlock();
}

void roc_rt_post_lost_prints(roc_rt_session *session, uint32_t count) {
  if (roc_rt_in_child()) return;
  roc_rt_lock();
  append_lost(session, count);
  roc_rt_unlock();
}
