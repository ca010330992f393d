/* Vector instructions on halves, but for conversions (valu_convert.c), the special function unit's
 * (valu_trans.c) and packed ones (valu_packed.c).  The instructions are the rows of valu_half.def.
 *
 * They compute as floats what real_ops.h says and round the result to a half.  That is exact for all
 * but the fused multiply-add, whose float is therefore made with a sticky last bit.
 * On gfx9 some instructions clear the register's high half and the newer ones keep it: LLVM's
 * AMDGPU back end names them (zeroesHigh16BitsOfDest). */
#include "emulator/exec/float.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"

#define EMU_SIZE 32
#define EMU_KIND f16
#define EMU_KIND_TYPE EMU_F16
#define EMU_KIND_NAME "f16"
#define EMU_ROUND round64
#define EMU_BELOW_ONE 0x1.ffcp-1f
#define EMU_CLASS_MASK_TYPE EMU_B16
#define EMU_IS_HALF 1
#define EMU_NEWER EMU_KEEPS_HIGH
#define FUSE(a, b, c) emu_fuse(a, b, c)
static void run_class(emu_wave *wave, const emu_inst *inst);
#include "emulator/exec/real_ops.h"

static void run_class(emu_wave *wave, const emu_inst *inst) {
  emu_row room, mask_room, out;
  const emu_row *a = emu_src32(wave, inst, 0, &room), *mask = emu_src32(wave, inst, 1, &mask_room);
  EMU_FOR_LANES(wave) {
    uint32_t half = a->u[lane] & 0xffff, bit = emu_class_bit32(emu_widen(half));
    bool is_denormal = (half & 0x7c00) == 0 && (half & 0x3ff) != 0; /* normal as a float */
    if (is_denormal) bit = half & 0x8000 ? 16 : 128;
    out.u[lane] = bit & mask->u[lane] ? ~0u : 0;
  }
  emu_put_mask(wave, inst, 0, &out);
}

/* What the unfused multiply-add does to the product. */
static inline float round_to_half(const emu_wave *wave, float x) {
  return emu_real_of32(emu_widen(emu_narrow(emu_bits_of32(x), wave->mode.round64)));
}

/* The quotient a of c / b, put right: ISA guides, V_DIV_FIXUP_F16. */
static inline float fix_quotient(float q, float d, float n) {
  uint32_t dbits = BITS_OF(d), nbits = BITS_OF(n), sign = (dbits ^ nbits) & 0x80000000;
  bool d_infinite = fabsf(d) == INFINITY, n_infinite = fabsf(n) == INFINITY;
  if (n != n) return REAL_OF(emu_quiet32(nbits));
  if (d != d) return REAL_OF(emu_quiet32(dbits));
  if ((d == 0 && n == 0) || (d_infinite && n_infinite)) return REAL_OF(0xffc00000);
  if (d == 0 || n_infinite) return REAL_OF(sign | 0x7f800000);
  if (d_infinite || n == 0) return REAL_OF(sign);
  return REAL_OF(sign | (BITS_OF(q) & 0x7fffffff));
}

/* Bits pass as they are, but for the sources' signs. */
EMU_LANES_2(run_pack, U32, U32, U32, (a & 0xffff) | b << 16)

#define EMU_OPS_FILE "emulator/exec/valu_half.def"
#define EMU_OPS_TABLE emu_valu_half_ops
#include "emulator/exec/real_table.h"
