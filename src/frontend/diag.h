/* Diagnostics: each has a name and a position; collected, then rendered.
 *
 * A pass continues after an error and reports as many as it can; at most ROC_DIAG_MAX are kept.
 * Every diagnostic has a name in diag.def, a span, and may have one note with a second position.
 * Rendered like   saxpy.lua:12:11: kernel 'saxpy': a function cannot be made in a kernel; define it
 * outside …     local f = function() return 1 end               ^~~~~~~~ / */
#ifndef ROC_FRONTEND_DIAG_H
#define ROC_FRONTEND_DIAG_H

#include "base/arena.h"
#include "base/str.h"
#include "frontend/syntax/ast.h"

typedef enum roc_diag_id {
#define ROC_DIAG(NAME, name, format) ROC_DIAG_##NAME,
#include "frontend/diag.def"
#undef ROC_DIAG
  ROC_DIAG_COUNT_
} roc_diag_id;

enum { ROC_DIAG_MAX = 20 };

typedef struct roc_diag {
  roc_diag_id id;
  const roc_ast_chunk *chunk; /* whose text the span is in */
  roc_span span;
  const char *message;             /* formatted, in the collection's arena */
  const roc_ast_chunk *note_chunk; /* NULL: no note */
  roc_span note_span;
  const char *note;
} roc_diag;

typedef struct roc_diags {
  roc_arena arena;
  const char *kernel; /* name for "kernel 'NAME': "; NULL while parsing a chunk */
  roc_diag items[ROC_DIAG_MAX];
  uint32_t count; /* kept */
  uint32_t total; /* reported */
} roc_diags;

void roc_diags_init(roc_diags *diags, const char *kernel);
void roc_diags_deinit(roc_diags *diags);

/* Reports; the format is that of diag.def, the variable arguments are its operands.  A second
 * report of the same diagnostic at the same span is dropped. Returns the kept item (to add a note),
 * or NULL. / */
roc_diag *roc_diag_report(roc_diags *diags, const roc_ast_chunk *chunk, roc_span span,
                          roc_diag_id id, ...);
void roc_diag_note(roc_diags *diags, roc_diag *diag, const roc_ast_chunk *chunk, roc_span span,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* All of them as text, with source lines and carets. */
void roc_diags_render(const roc_diags *diags, roc_str *out);

#endif
