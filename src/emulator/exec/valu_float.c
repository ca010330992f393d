/* Vector instructions on 32-bit floats, but for conversions (valu_convert.c), the special function
 * unit's (valu_trans.c) and packed ones (valu_packed.c).  What doubles and halves have, too, stands
 * in real_ops.h. */
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
#include "emulator/exec/real_ops.h"

EMU_KERNEL_3(fma_kernel, SETTLE_3(__builtin_fmaf(a, b, c)))
RUN(3, fma)

static void run_fmac(emu_wave *wave, const emu_inst *inst) {
  emu_accumulate_f32(wave, inst, fma_kernel());
}

#include "emulator/exec/real_division.h"

/* The older multiply-add rounds the product, too, and never knows denormals, whatever the mode. */
EMU_KERNEL_3(mad_kernel,
             emu_flushed32(SETTLE_3(emu_flushed32(a) * emu_flushed32(b) + emu_flushed32(c))))
RUN(3, mad)

static void run_mac(emu_wave *wave, const emu_inst *inst) {
  emu_accumulate_f32(wave, inst, mad_kernel());
}

/* The legacy product with zero is zero, be the other what it may: a NaN, too. */
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

EMU_KERNEL_2(mul_legacy_kernel, has_zero(a, b) ? 0 : SETTLE_2((a * b)))
EMU_KERNEL_3(mad_legacy_kernel,
             emu_flushed32(mad_legacy(emu_flushed32(a), emu_flushed32(b), emu_flushed32(c))))
EMU_KERNEL_3(fma_legacy_kernel, fma_legacy(a, b, c))
RUN(2, mul_legacy)
RUN(3, mad_legacy)
RUN(3, fma_legacy)

static void run_fmac_legacy(emu_wave *wave, const emu_inst *inst) {
  emu_accumulate_f32(wave, inst, fma_legacy_kernel());
}

#define THREE EMU_F32, EMU_F32, EMU_F32

const emu_op emu_valu_float_ops[] = {
    EMU_REAL_ROWS EMU_DIVISION_ROWS,
    ROW_2(sub),
    ROW_2(subrev),
    ROW_2(mul_legacy),
    ROW_3(min3, 0),
    ROW_3(max3, 0),
    ROW_3(med3, 0),
    ROW_3(fma, 0),
    ROW_("fmac_", run_fmac, EMU_ALL, 0, EMU_F32, EMU_F32),
    ROW_("fmaak_", run_fma, EMU_ALL, 0, THREE),
    ROW_("fmamk_", run_fma, EMU_ALL, 0, THREE),
    ROW_("mad_", run_mad, EMU_GFX9, 0, THREE),
    ROW_("mac_", run_mac, EMU_GFX9, 0, EMU_F32, EMU_F32),
    ROW_("madak_", run_mad, EMU_GFX9, 0, THREE),
    ROW_("madmk_", run_mad, EMU_GFX9, 0, THREE),
    ROW_("mad_legacy_", run_mad_legacy, EMU_GFX9, 0, THREE),
    ROW_("fma_legacy_", run_fma_legacy, EMU_GFX10, 0, THREE),
    ROW_("fmac_legacy_", run_fmac_legacy, EMU_GFX10, 0, EMU_F32, EMU_F32),
    ROW_("ldexp_", run_ldexp, EMU_ALL, 0, EMU_F32, EMU_B32),
    {"v_frexp_exp_i32_f32", run_frexp_exp, EMU_ALL, EMU_CLASS_VALU, 0, {EMU_B32}, {EMU_F32}},
    {.name = NULL},
};
