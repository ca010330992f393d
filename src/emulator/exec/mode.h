/* The MODE register: how a wavefront rounds, and what it does with denormal numbers.
 *
 * Its bits are those of AMD's ISA manuals ("Hardware registers"): rounding of singles in bits 0-1,
 * of doubles and halves in 2-3; denormals of singles in 4-5, of doubles and halves in 6-7;
 * DX10_CLAMP 8; IEEE 9; on gfx9 the switch of the register index (valu_lane.c) 27. Exceptions that
 * trap (12-20), FP16_OVFL (23), and gfx9's VSKIP (28) are not known; the others mean nothing here.
 */
#ifndef ROC_EMULATOR_EXEC_MODE_H
#define ROC_EMULATOR_EXEC_MODE_H

#include "emulator/isa/wave.h"

enum {
  EMU_MODE_ALL_DENORMALS = 0xf0,
  EMU_MODE_FLOAT = 0xff,
  EMU_MODE_DX10_CLAMP = 1 << 8,
  EMU_MODE_IEEE = 1 << 9,
  EMU_MODE_INDEX = 1 << 27,
  EMU_MODE_UNKNOWN = 0x1ff << 12 | 1 << 23 | 1 << 28
};

/* gfx12 has neither DX10_CLAMP nor IEEE: it always clamps as with the first, and its minima take no
 * notice of signaling NaNs. Of two NaNs, minima and maxima give the second before gfx11. */
static inline void emu_mode_set(emu_mode *mode, const emu_chip *chip, uint32_t raw) {
  const bool is_gfx12 = chip->generation == EMU_GFX12;
  if (is_gfx12) raw &= ~(uint32_t)(EMU_MODE_DX10_CLAMP | EMU_MODE_IEEE);
  const bool is_ieee = raw & EMU_MODE_IEEE;
  *mode = (emu_mode){
      .raw = raw,
      .round32 = raw & 3,
      .round64 = raw >> 2 & 3,
      .denorm32 = raw >> 4 & 3,
      .denorm64 = raw >> 6 & 3,
      .dx10_clamp = is_gfx12 || (raw & EMU_MODE_DX10_CLAMP),
      .ieee = is_ieee,
      .nans = (uint8_t)((is_ieee ? EMU_NANS_SIGNAL : 0) |
                        (chip->generation & EMU_GFX11_ON ? EMU_NANS_FIRST : 0)),
      .is_plain = (raw & EMU_MODE_FLOAT) == EMU_MODE_ALL_DENORMALS,
  };
}

#endif
