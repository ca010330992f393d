/* Vector instructions on 32-bit floats, but for conversions (valu_convert.c), the special function
 * unit's (valu_trans.c) and packed ones (valu_packed.c).  The instructions are the rows of
 * valu_float.def; what doubles and halves have, too, stands in real_ops.h. */
#include "emulator/exec/float.h"
#include "emulator/exec/ops.h"

#define EMU_SIZE 32
#define EMU_KIND f32
#define EMU_KIND_TYPE EMU_F32
#define EMU_KIND_NAME "f32"
#define EMU_ROUND round32
#define EMU_BELOW_ONE 0x1.fffffep-1f
#define EMU_CLASS_MASK_TYPE EMU_B32
#define EMU_IS_HALF 0
#define EMU_NEWER 0
#define FUSE(a, b, c) __builtin_fmaf(a, b, c)
#include "emulator/exec/real_ops.h"

#include "emulator/exec/real_division.h"

/* The parts of products that are zero when a factor is. */
EMU_INLINE bool has_zero(float a, float b) {
  return (a == 0) | (b == 0);
}
EMU_INLINE float add_to_zero(float c) {
  return emu_settle_1_32(0 + c, c);
}

EMU_INLINE float mad_legacy(float a, float b, float c) {
  return has_zero(a, b) ? add_to_zero(c) : SETTLE_3(a * b + c);
}

EMU_INLINE float fma_legacy(float a, float b, float c) {
  return has_zero(a, b) ? add_to_zero(c) : SETTLE_3(__builtin_fmaf(a, b, c));
}

#define EMU_OPS_FILE "emulator/exec/valu_float.def"
#define EMU_OPS_TABLE emu_valu_float_ops
#include "emulator/exec/real_table.h"
