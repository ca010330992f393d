/* Collecting and rendering diagnostics.
 *
 * Collecting keeps at most ROC_DIAG_MAX and counts the rest.  Rendering shows for each its
 * position, the message, and the part of the source line around its span with a caret below; the
 * caret line repeats the source's tabs and has one column per UTF-8 character, so that it aligns in
 * any terminal. Invariant: whatever bytes the source holds, the text rendered is printable
 * UTF-8. */
#include "frontend/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* At most this many bytes of a source line are shown. */
enum { LINE_BYTES = 100, LEAD_BYTES = 40 };

/* The names of diag.def are for docs/diagnostics.md, which the lint spec compares with it. */
static const char *const formats[ROC_DIAG_COUNT_ + 1] = {
#define ROC_DIAG(NAME, name, format) format,
#include "frontend/diag.def"
#undef ROC_DIAG
    "",
};

void roc_diags_init(roc_diags *diags, const char *kernel) {
  *diags = (roc_diags){.kernel = kernel};
  roc_arena_init(&diags->arena, 0);
}

void roc_diags_deinit(roc_diags *diags) {
  roc_arena_deinit(&diags->arena);
}

/* ---- collecting -------------------------------------------------------------------------- */

static const char *format_message(roc_arena *arena, const char *format, va_list args) {
  const char *text = roc_arena_vprintf(arena, format, args);
  return text ? text : "out of memory";
}

static bool was_reported(const roc_diags *diags, const roc_ast_chunk *chunk, roc_span span,
                         roc_diag_id id) {
  for (uint32_t i = 0; i < diags->count; i++) {
    const roc_diag *d = &diags->items[i];
    if (d->id == id && d->chunk == chunk && d->span.begin == span.begin && d->span.end == span.end)
      return true;
  }
  return false;
}

roc_diag *roc_diag_report(roc_diags *diags, const roc_ast_chunk *chunk, roc_span span,
                          roc_diag_id id, ...) {
  if (was_reported(diags, chunk, span, id)) return NULL;
  diags->total++;
  if (diags->count == ROC_DIAG_MAX) return NULL;
  roc_diag *diag = &diags->items[diags->count++];
  va_list args;
  va_start(args, id);
  const char *message = format_message(&diags->arena, formats[id], args);
  va_end(args);
  *diag = (roc_diag){.id = id, .chunk = chunk, .span = span, .message = message};
  return diag;
}

void roc_diag_note(roc_diags *diags, roc_diag *diag, const roc_ast_chunk *chunk, roc_span span,
                   const char *format, ...) {
  if (!diag) return;
  va_list args;
  va_start(args, format);
  diag->note = format_message(&diags->arena, format, args);
  va_end(args);
  diag->note_chunk = chunk;
  diag->note_span = span;
}

/* ---- rendering --------------------------------------------------------------------------- */

/* The bytes [begin, end) of the chunk that are shown for a span: its first line, without
 * indentation and cut around the span when long. */
typedef struct source_window {
  uint32_t begin, end;
  bool cut_left, cut_right;
} source_window;

static bool is_newline(char c) {
  return c == '\n' || c == '\r';
}
static bool is_continuation(char c) {
  return ((unsigned char)c & 0xC0) == 0x80;
}

static source_window find_window(const roc_ast_chunk *chunk, roc_span span) {
  const char *text = chunk->text;
  uint32_t at = span.begin < chunk->len ? span.begin : chunk->len;
  source_window w = {at, at, false, false};
  while (w.begin > chunk->lead && !is_newline(text[w.begin - 1]) && at - w.begin < LINE_BYTES)
    w.begin--;
  while (w.end < chunk->len && !is_newline(text[w.end]) && w.end - at < LINE_BYTES) w.end++;
  while (w.begin < at && (text[w.begin] == ' ' || text[w.begin] == '\t')) w.begin++;
  if (at - w.begin > LINE_BYTES - LEAD_BYTES) {
    w.begin = at - LEAD_BYTES;
    w.cut_left = true;
  }
  if (w.end - w.begin > LINE_BYTES) {
    w.end = w.begin + LINE_BYTES;
    w.cut_right = true;
  }
  while (w.begin < at && is_continuation(text[w.begin])) w.begin++;
  while (w.end > at && w.end < chunk->len && is_continuation(text[w.end])) w.end--;
  return w;
}

/* Bytes of the UTF-8 character at `at`; 0 when it cannot be printed. */
static uint32_t printable_bytes(const char *text, uint32_t at, uint32_t end) {
  unsigned char c = (unsigned char)text[at];
  if (c < 0x80) return (c >= 0x20 && c != 0x7F) || c == '\t';
  uint32_t n = c >= 0xF0 && c < 0xF5   ? 4
               : c >= 0xE0 && c < 0xF0 ? 3
               : c >= 0xC2 && c < 0xE0 ? 2
                                       : 0;
  if (n > end - at) return 0;
  for (uint32_t i = 1; i < n; i++)
    if (!is_continuation(text[at + i])) return 0;
  return n;
}

/* One source line, and below it the caret under the span's first character with a tail to its
 * end. */
static void render_source(const roc_ast_chunk *chunk, roc_span span, roc_str *out) {
  source_window w = find_window(chunk, span);
  roc_str marks = ROC_STR_INIT;
  roc_str_puts(out, w.cut_left ? "    ..." : "    ");
  roc_str_puts(&marks, w.cut_left ? "       " : "    ");
  for (uint32_t i = w.begin; i < w.end;) {
    uint32_t n = printable_bytes(chunk->text, i, w.end);
    if (n) {
      roc_str_add(out, chunk->text + i, n);
    } else {
      roc_str_putc(out, '?');
    }
    if (i < span.begin) {
      roc_str_putc(&marks, chunk->text[i] == '\t' ? '\t' : ' ');
    } else if (i > span.begin && i < span.end) {
      roc_str_putc(&marks, '~');
    } else if (i == span.begin) {
      roc_str_putc(&marks, '^');
    }
    i += n ? n : 1;
  }
  if (span.begin >= w.end) roc_str_putc(&marks, '^');
  roc_str_puts(out, w.cut_right ? "...\n" : "\n");
  roc_str_puts(out, roc_str_text(&marks));
  roc_str_putc(out, '\n');
  roc_str_deinit(&marks);
}

static void render_place(const roc_ast_chunk *chunk, roc_span span, roc_str *out) {
  roc_str_printf(out, "%s:%u:%u: ", chunk->name, (unsigned)span.line, (unsigned)span.column);
}

static void render_diag(const roc_diags *diags, const roc_diag *diag, roc_str *out) {
  render_place(diag->chunk, diag->span, out);
  if (diags->kernel) roc_str_printf(out, "kernel '%s': ", diags->kernel);
  roc_str_printf(out, "%s\n", diag->message);
  render_source(diag->chunk, diag->span, out);
  if (!diag->note) return;
  if (diag->note_chunk) render_place(diag->note_chunk, diag->note_span, out);
  roc_str_printf(out, "note: %s\n", diag->note);
  if (diag->note_chunk) render_source(diag->note_chunk, diag->note_span, out);
}

void roc_diags_render(const roc_diags *diags, roc_str *out) {
  for (uint32_t i = 0; i < diags->count; i++) render_diag(diags, &diags->items[i], out);
  if (diags->total > diags->count)
    roc_str_printf(out, "(and %u more)\n", (unsigned)(diags->total - diags->count));
}
