/* The special function unit: reciprocals, roots, powers, logarithms and sines.
 *
 * The ISA guides promise 1 ULP for floats, with denormals flushed whatever the mode; 2^29 ULP for
 * doubles and 1 ULP for halves, with denormals supported.  Programs must not rely on more or on
 * less, so what the host computes best is right.  Invalid operations give the negative NaN that the
 * guides' examples show. */
#include "emulator/exec/float.h"
#include "emulator/exec/ops.h"

/* ---- floats ---------------------------------------------------------------------------------- */

#define EMU_SIZE 32

/* The result `x` of an operation on a, with its NaN. */
EMU_INLINE float settle(float x, float a) {
  uint32_t source = emu_bits_of32(a), bits = emu_bits_of32(x);
  bits = emu_is_nan32(bits) ? 0xffc00000 : bits;
  return emu_real_of32(emu_is_nan32(source) ? emu_quiet32(source) : bits);
}

EMU_INLINE float rcp(float x) {
  return 1 / x;
}
EMU_INLINE float rsq(float x) {
  return (float)(1 / __builtin_sqrt((double)x));
}

enum { DOMAIN_OF_GFX9 = 256 }; /* of sine and cosine, in turns; results behind it are those of 0 */

/* Sine or cosine of x turns.  The eighth next to x is taken off exactly, so that whole and quarter
 * turns give 0 and 1. */
static float turn(float x, bool is_cosine) {
  static const double tau = 6.283185307179586;
  double whole = x - nearbyint(x), quarter = nearbyint(whole * 4), rest = whole - quarter / 4;
  int quadrant = ((int)quarter + (is_cosine ? 1 : 0)) & 3;
  double value = quadrant & 1 ? cos(rest * tau) : sin(rest * tau);
  return (float)((quadrant & 2 ? -value : value) + 0.0);
}

static float sine(float x) {
  if (x == 0 || isnan(x)) return x;
  return isinf(x) ? NAN : turn(x, false);
}

static float cosine(float x) {
  return isfinite(x) ? turn(x, true) : NAN;
}

EMU_INLINE float limit(float x) {
  return fabsf(x) > DOMAIN_OF_GFX9 && !isinf(x) ? 0 : x;
}

EMU_KERNEL_1(rcp_kernel, emu_flushed32(settle(rcp(emu_flushed32(a)), a)))
EMU_KERNEL_1(rsq_kernel, emu_flushed32(settle(rsq(emu_flushed32(a)), a)))
EMU_KERNEL_1(sqrt_kernel, emu_flushed32(settle(__builtin_sqrtf(emu_flushed32(a)), a)))
EMU_KERNEL_1(exp_kernel, emu_flushed32(settle(exp2f(emu_flushed32(a)), a)))
EMU_KERNEL_1(log_kernel, emu_flushed32(settle(log2f(emu_flushed32(a)), a)))
EMU_KERNEL_1(sin_kernel, settle(sine(a), a))
EMU_KERNEL_1(cos_kernel, settle(cosine(a), a))
EMU_KERNEL_1(sin_gfx9_kernel, settle(sine(limit(a)), a))
EMU_KERNEL_1(cos_gfx9_kernel, settle(cosine(limit(a)), a))

/* For halves, whose denormals count. */
EMU_KERNEL_1(half_rcp_kernel, settle(rcp(a), a))
EMU_KERNEL_1(half_rsq_kernel, settle(rsq(a), a))
EMU_KERNEL_1(half_sqrt_kernel, settle(__builtin_sqrtf(a), a))
EMU_KERNEL_1(half_exp_kernel, settle(exp2f(a), a))
EMU_KERNEL_1(half_log_kernel, settle(log2f(a), a))
#undef EMU_SIZE

/* ---- doubles --------------------------------------------------------------------------------- */

#define EMU_SIZE 64

EMU_INLINE double settle_double(double x, double a) {
  uint64_t source = emu_bits_of64(a), bits = emu_bits_of64(x);
  bits = emu_is_nan64(bits) ? 0xfff8000000000000 : bits;
  return emu_real_of64(emu_is_nan64(source) ? emu_quiet64(source) : bits);
}

EMU_KERNEL_1(double_rcp_kernel, settle_double(1 / a, a))
EMU_KERNEL_1(double_rsq_kernel, settle_double(1 / __builtin_sqrt(a), a))
EMU_KERNEL_1(double_sqrt_kernel, settle_double(__builtin_sqrt(a), a))
#undef EMU_SIZE

/* ---- table ----------------------------------------------------------------------------------- */

#define RUN(name, kind, kernel)                                           \
  static void run_##name##_##kind(emu_wave *wave, const emu_inst *inst) { \
    emu_run_##kind(wave, inst, 1, kernel());                              \
  }

RUN(rcp, f32, rcp_kernel)
RUN(rsq, f32, rsq_kernel)
RUN(sqrt, f32, sqrt_kernel)
RUN(exp, f32, exp_kernel)
RUN(log, f32, log_kernel)
RUN(sin, f32, sin_kernel)
RUN(cos, f32, cos_kernel)
RUN(sin_gfx9, f32, sin_gfx9_kernel)
RUN(cos_gfx9, f32, cos_gfx9_kernel)
RUN(rcp, f16, half_rcp_kernel)
RUN(rsq, f16, half_rsq_kernel)
RUN(sqrt, f16, half_sqrt_kernel)
RUN(exp, f16, half_exp_kernel)
RUN(log, f16, half_log_kernel)
RUN(sin, f16, sin_kernel)
RUN(cos, f16, cos_kernel)
RUN(sin_gfx9, f16, sin_gfx9_kernel)
RUN(cos_gfx9, f16, cos_gfx9_kernel)
RUN(rcp, f64, double_rcp_kernel)
RUN(rsq, f64, double_rsq_kernel)
RUN(sqrt, f64, double_sqrt_kernel)

#define ROW(name, function, chips, type)                 \
  {                                                      \
    name, function, chips, EMU_CLASS_TRANS, 0, {type}, { \
      type                                               \
    }                                                    \
  }

const emu_op emu_valu_trans_ops[] = {
    ROW("v_rcp_f32", run_rcp_f32, EMU_ALL, EMU_F32),
    ROW("v_rcp_iflag_f32", run_rcp_f32, EMU_ALL, EMU_F32),
    ROW("v_rsq_f32", run_rsq_f32, EMU_ALL, EMU_F32),
    ROW("v_sqrt_f32", run_sqrt_f32, EMU_ALL, EMU_F32),
    ROW("v_exp_f32", run_exp_f32, EMU_ALL, EMU_F32),
    ROW("v_log_f32", run_log_f32, EMU_ALL, EMU_F32),
    ROW("v_exp_legacy_f32", run_exp_f32, EMU_GFX9, EMU_F32),
    ROW("v_log_legacy_f32", run_log_f32, EMU_GFX9, EMU_F32),
    ROW("v_sin_f32", run_sin_gfx9_f32, EMU_GFX9, EMU_F32),
    ROW("v_cos_f32", run_cos_gfx9_f32, EMU_GFX9, EMU_F32),
    ROW("v_sin_f32", run_sin_f32, EMU_GFX10, EMU_F32),
    ROW("v_cos_f32", run_cos_f32, EMU_GFX10, EMU_F32),
    ROW("v_rcp_f16", run_rcp_f16, EMU_ALL, EMU_F16),
    ROW("v_rsq_f16", run_rsq_f16, EMU_ALL, EMU_F16),
    ROW("v_sqrt_f16", run_sqrt_f16, EMU_ALL, EMU_F16),
    ROW("v_exp_f16", run_exp_f16, EMU_ALL, EMU_F16),
    ROW("v_log_f16", run_log_f16, EMU_ALL, EMU_F16),
    ROW("v_sin_f16", run_sin_gfx9_f16, EMU_GFX9, EMU_F16),
    ROW("v_cos_f16", run_cos_gfx9_f16, EMU_GFX9, EMU_F16),
    ROW("v_sin_f16", run_sin_f16, EMU_GFX10, EMU_F16),
    ROW("v_cos_f16", run_cos_f16, EMU_GFX10, EMU_F16),
    ROW("v_rcp_f64", run_rcp_f64, EMU_ALL, EMU_F64),
    ROW("v_rsq_f64", run_rsq_f64, EMU_ALL, EMU_F64),
    ROW("v_sqrt_f64", run_sqrt_f64, EMU_ALL, EMU_F64),
    {.name = NULL},
};
