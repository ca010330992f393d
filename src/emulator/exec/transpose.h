/* Loads that transpose: lanes read pieces of a matrix together, and each gets elements of all of
 * them. */
#ifndef ROC_EMULATOR_EXEC_TRANSPOSE_H
#define ROC_EMULATOR_EXEC_TRANSPOSE_H

#include "emulator/isa/wave.h"

/* Where element `n` of lane `lane` of a group comes from: an element of the group's, counted from
 * lane 0's first one on. */
typedef unsigned emu_origin(unsigned lane, unsigned n);

typedef struct emu_transposition {
  uint8_t bits;     /* of an element */
  uint8_t elements; /* of a lane */
  emu_origin *origin;
} emu_transposition;

/* Whether the wavefront can do it: AMD wants all lanes at work.  False: it is stopped. */
bool emu_can_transpose(emu_wave *wave, const emu_inst *inst);
/* `to`, the registers, get what the lanes have read into `from`, other rows. */
void emu_transpose(const emu_wave *wave, const emu_transposition *how, const emu_row *from,
                   emu_row *to);

#endif
