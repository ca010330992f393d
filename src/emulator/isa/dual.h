/* Instructions of one code: gfx11's dual instructions ("v_dual_mul_f32 … :: v_dual_mov_b32 …") are
 * two operations that both read before either writes.  They become instructions one after the
 * other with the same effect. */
#ifndef ROC_EMULATOR_ISA_DUAL_H
#define ROC_EMULATOR_ISA_DUAL_H

#include "emulator/isa/decode.h"

enum { EMU_MAX_PARTS = 3 };

/* As emu_decode, for each instruction of the code; how many there are, 0 instead of false.  All but
 * the last have the size 0.  A third one, in front of them, copies a register that the first of the
 * two overwrites and the second reads to the accumulation register 0, which the GPU does not
 * have. */
unsigned emu_decode_parts(const emu_decode_target *target, const char *text, const uint8_t *code,
                          unsigned size, emu_decoded out[EMU_MAX_PARTS], char *why,
                          size_t why_size);

#endif
