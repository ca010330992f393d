/* Vector instructions on 32-bit floats, but for conversions (valu_convert.c), the special function
 * unit's (valu_trans.c) and packed ones (valu_packed.c).  The instructions are the rows of
 * valu_float.def; what doubles and halves have, too, stands in real_ops.h. */
#include <float.h>

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

/* Where a vector meets the cube around the origin: V_CUBEID_F32 and its kin in the ISA guides. */
typedef struct cube {
  float face, s, t, twice;
} cube;

EMU_INLINE cube find_cube(float x, float y, float z) {
  float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
  if (az >= ax && az >= ay) return (cube){z < 0 ? 5 : 4, z < 0 ? -x : x, -y, 2 * z};
  if (ay >= ax) return (cube){y < 0 ? 3 : 2, x, y < 0 ? -z : z, 2 * y};
  return (cube){x < 0 ? 1 : 0, x < 0 ? z : -z, -y, 2 * x};
}

#define EMU_OPS_FILE "emulator/exec/valu_float.def"
#define EMU_OPS_TABLE emu_valu_float_ops
#include "emulator/exec/real_table.h"
