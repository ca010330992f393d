/* What the reports know of a kernel's instructions: the places they were compiled from.
 *
 * Made when a kernel is first run with a watch, and kept for the life of the process: reports are
 * written when the code is gone.  Immutable once made. */
#ifndef ROC_EMULATOR_REPORT_SOURCE_H
#define ROC_EMULATOR_REPORT_SOURCE_H

#include "emulator/isa/wave.h"

typedef struct emu_place {
  const char *file; /* NULL: unknown, as is the line */
  uint32_t line;
  uint8_t class;   /* emu_class */
  bool is_atomic;  /* the compiler says so of a plain load or store */
  uint16_t factor; /* emu_model_factor */
} emu_place;

typedef struct emu_source {
  struct emu_source *next;
  const char *chip;
  uint64_t entry;       /* address of the code */
  uint64_t fingerprint; /* of the instructions: other code may come to lie at the address */
  uint32_t ninsts;
  uint32_t ordinal;  /* from 1, among those of one name and chip: specialisations of a kernel */
  bool is_runtime;   /* ROCR's own kernel */
  emu_place *places; /* ninsts, and one for code that was decoded later */
  char kernel[128];  /* as the script names it, as far as a symbol can */
} emu_source;

/* That of the dispatch's kernel; NULL when memory is out.  Any thread. */
const emu_source *emu_source_of(const emu_dispatch *dispatch);

/* The place of the instruction with that index. */
static inline const emu_place *emu_source_place(const emu_source *source, uint32_t index) {
  return &source->places[index < source->ninsts ? index : source->ninsts];
}

/* "file:line", cut on the left to size - 1 characters; "?" when it is unknown. */
void emu_place_format(const emu_place *place, char *out, size_t size);

#endif
