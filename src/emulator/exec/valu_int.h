/* What files of vector instructions share: saturation, and random numbers. */
#ifndef ROC_EMULATOR_EXEC_VALU_INT_H
#define ROC_EMULATOR_EXEC_VALU_INT_H

#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"

static inline uint32_t emu_saturate_u(uint64_t x, uint32_t max) {
  return x > max ? max : (uint32_t)x;
}

/* `x` held within a signed number of which `max` is the greatest. */
static inline int32_t emu_saturate_i(int64_t x, int32_t max) {
  if (x > max) return max;
  return x < -(int64_t)max - 1 ? -max - 1 : (int32_t)x;
}

/* The random number that follows one. */
static inline uint32_t emu_next_random(uint32_t random) {
  return random << 1 ^ (random >> 31 ? 197 : 0);
}

/* Functions whose `clamp` takes the second expression instead of the first. */
#define EMU_SATURATING_2(function, R, A, B, plain, saturated)            \
  EMU_LANES_2(function##_plain, R, A, B, plain)                          \
  EMU_LANES_2(function##_clamp, R, A, B, saturated)                      \
  static void function(emu_wave *wave, const emu_inst *inst) {           \
    (inst->mod.clamp ? function##_clamp : function##_plain)(wave, inst); \
  }

#define EMU_SATURATING_3(function, R, A, B, C, plain, saturated)         \
  EMU_LANES_3(function##_plain, R, A, B, C, plain)                       \
  EMU_LANES_3(function##_clamp, R, A, B, C, saturated)                   \
  static void function(emu_wave *wave, const emu_inst *inst) {           \
    (inst->mod.clamp ? function##_clamp : function##_plain)(wave, inst); \
  }

#endif
