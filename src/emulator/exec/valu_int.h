/* What the files of integer vector instructions share: saturation, and rows of the tables. */
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

/* Rows by shape: destinations, then sources. */
#define EMU_INT_OP(name, run, on, flags, ...) \
  { name, run, on, EMU_CLASS_VALU, flags, __VA_ARGS__ }
#define EMU_B32_1(name, run, on) EMU_INT_OP(name, run, on, 0, {EMU_B32}, {EMU_B32})
#define EMU_B32_2(name, run, on) EMU_INT_OP(name, run, on, 0, {EMU_B32}, {EMU_B32, EMU_B32})
#define EMU_B32_3(name, run, on) \
  EMU_INT_OP(name, run, on, 0, {EMU_B32}, {EMU_B32, EMU_B32, EMU_B32})
/* Those that `clamp` makes saturate. */
#define EMU_SUM_2(name, run, on) \
  EMU_INT_OP(name, run, on, EMU_CLAMPS, {EMU_B32}, {EMU_B32, EMU_B32})
#define EMU_SUM_3(name, run, on) \
  EMU_INT_OP(name, run, on, EMU_CLAMPS, {EMU_B32}, {EMU_B32, EMU_B32, EMU_B32})

#endif
