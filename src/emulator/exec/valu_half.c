/* Vector instructions on halves, but for conversions (valu_convert.c), the special function unit's
 * (valu_trans.c) and packed ones (valu_packed.c).
 *
 * They compute as floats what real_ops.h says and round to a half behind it.  That is exact for all
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

EMU_KERNEL_3(fma_kernel, SETTLE_3(emu_fuse(a, b, c)))
RUN(3, fma)

static void run_fmac(emu_wave *wave, const emu_inst *inst) {
  emu_accumulate_f16(wave, inst, fma_kernel());
}

/* The unfused one rounds the product to a half. */
static inline float round_to_half(const emu_wave *wave, float x) {
  return emu_real_of32(emu_widen(emu_narrow(emu_bits_of32(x), wave->mode.round64)));
}
EMU_KERNEL_3(mad_kernel, SETTLE_3(round_to_half(wave, (a * b)) + c))
RUN(3, mad)

static void run_mac(emu_wave *wave, const emu_inst *inst) {
  emu_accumulate_f16(wave, inst, mad_kernel());
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
EMU_KERNEL_3(div_fixup_kernel, fix_quotient(a, b, c))
RUN(3, div_fixup)

/* Bits pass as they are, but for the sources' signs. */
EMU_LANES_2(run_pack, U32, U32, U32, (a & 0xffff) | b << 16)

#define THREE EMU_F16, EMU_F16, EMU_F16

const emu_op emu_valu_half_ops[] = {
    EMU_REAL_ROWS ROW_2(sub),
    ROW_2(subrev),
    ROW_3(min3, EMU_KEEPS_HIGH),
    ROW_3(max3, EMU_KEEPS_HIGH),
    ROW_3(med3, EMU_KEEPS_HIGH),
    ROW_3(fma, EMU_KEEPS_HIGH),
    ROW_("fma_legacy_", run_fma, EMU_GFX9, 0, THREE),
    ROW_("fmac_", run_fmac, EMU_GFX10, 0, EMU_F16, EMU_F16),
    ROW_("fmaak_", run_fma, EMU_GFX10, 0, THREE),
    ROW_("fmamk_", run_fma, EMU_GFX10, 0, THREE),
    ROW_("mad_", run_mad, EMU_GFX9, EMU_KEEPS_HIGH, THREE),
    ROW_("mad_legacy_", run_mad, EMU_GFX9, 0, THREE),
    ROW_("mac_", run_mac, EMU_GFX9, EMU_KEEPS_HIGH, EMU_F16, EMU_F16),
    ROW_("madak_", run_mad, EMU_GFX9, EMU_KEEPS_HIGH, THREE),
    ROW_("madmk_", run_mad, EMU_GFX9, EMU_KEEPS_HIGH, THREE),
    ROW_3(div_fixup, EMU_KEEPS_HIGH),
    ROW_("div_fixup_legacy_", run_div_fixup, EMU_GFX9, 0, THREE),
    ROW_("ldexp_", run_ldexp, EMU_ALL, 0, EMU_F16, EMU_B16),
    {"v_pack_b32_f16", run_pack, EMU_ALL, EMU_CLASS_VALU, 0, {EMU_B32}, {EMU_F16, EMU_F16}},
    {"v_frexp_exp_i16_f16", run_frexp_exp, EMU_ALL, EMU_CLASS_VALU, 0, {EMU_B16}, {EMU_F16}},
    {.name = NULL},
};
