/* The metadata note of an AMD GPU code object: finding it in the ELF file, and its MessagePack values
 * one after the other.
 *
 * Bytes are not trusted.  A cursor that has failed stays failed and yields zeros, so that readers
 * check once at the end. */
#ifndef ROC_BASE_AMDGPU_NOTE_H
#define ROC_BASE_AMDGPU_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct roc_note_span {
  const unsigned char *at;
  size_t len;
} roc_note_span;

typedef struct roc_note_cursor {
  roc_note_span rest;
  bool failed;
} roc_note_cursor;

typedef enum roc_note_kind {
  ROC_NOTE_OTHER,
  ROC_NOTE_UINT,
  ROC_NOTE_BOOL,
  ROC_NOTE_TEXT,
  ROC_NOTE_ARRAY,
  ROC_NOTE_MAP
} roc_note_kind;

typedef struct roc_note_item {
  roc_note_kind kind;
  uint64_t value; /* UINT, BOOL; TEXT: bytes; ARRAY, MAP: entries */
  roc_note_span text;
} roc_note_item;

/* The note's bytes; false: no AMD GPU code object, or one without metadata. */
bool roc_note_find(roc_note_span object, roc_note_span *out);
/* The scalar, or the head of the container, at the cursor. */
roc_note_item roc_note_take(roc_note_cursor *c);
/* Goes over what `head`, just taken, contains. */
void roc_note_skip(roc_note_cursor *c, roc_note_item head);
bool roc_note_is_text(roc_note_item i, const char *text);

#endif
