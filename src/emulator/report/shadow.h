/* A shadow of memory: a record per word of 4 bytes of what is known of it.
 *
 * Of a word whose bytes are touched by several work-items only the last is remembered, with the
 * bytes it touched: what is found is true, what is narrower than a word may be missed. Pages of
 * records are made when they are first asked for and live until their range is forgotten.
 * Not locked: check.c holds its own lock around every use. */
#ifndef ROC_EMULATOR_REPORT_SHADOW_H
#define ROC_EMULATOR_REPORT_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An access to a word. */
typedef struct emu_touch {
  uint64_t time;  /* of the access, in the order in which accesses were reported; 0: none */
  uint32_t item;  /* number in the grid, dimension 1 fastest */
  uint32_t wave;  /* number of the wavefront in the grid */
  uint32_t group; /* number in the grid */
  uint32_t epoch; /* barriers its workgroup had passed */
  uint32_t inst;  /* index in the program */
  uint8_t bytes;  /* of the word, a bit each */
  bool is_atomic;
  bool is_scalar; /* a load that may be wider than what the program asks for */
} emu_touch;

typedef struct emu_shadow_word {
  uint64_t dispatch; /* of these accesses; accesses of other dispatches do not count */
  emu_touch write, read, other_read; /* other_read: the last by an item that is not read's */
  uint8_t undefined;                 /* bytes given out and not written since, a bit each */
  uint8_t known;                     /* bytes of `write` whose value is known, a bit each */
  uint8_t value[4];                  /* of those */
} emu_shadow_word;

typedef struct emu_shadow emu_shadow;

/* is_undefined: what is not marked is undefined. nbuckets: for about as many pages of 4 KiB; a
 * power of 2. NULL when memory is out. */
emu_shadow *emu_shadow_new(bool is_undefined, uint32_t nbuckets);
void emu_shadow_free(emu_shadow *shadow);

/* The record of the word that holds the address, all zero when it is new.  NULL when memory is
 * out. */
emu_shadow_word *emu_shadow_at(emu_shadow *shadow, uint64_t address);
/* Marks a range, of whole words, as undefined (given out) or as defined; false when memory is out.
 */
bool emu_shadow_mark(emu_shadow *shadow, uint64_t address, uint64_t nbytes, bool is_undefined);
/* Drops what is known of a range. */
void emu_shadow_forget(emu_shadow *shadow, uint64_t address, uint64_t nbytes);

#endif
