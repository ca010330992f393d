/* The special function unit: reciprocals, roots, powers, logarithms and sines.
 *
 * The ISA guides promise 1 ULP for floats, with denormals flushed whatever the mode; 2^29 ULP for
 * doubles and 1 ULP for halves, with denormals supported.  Programs must not rely on more or on
 * less, so what the host computes best is right.  Invalid operations give the negative NaN that the
 * guides' examples show.  The instructions are the rows of valu_trans.def. */
#include "emulator/exec/float.h"
#include "emulator/exec/ops.h"

/* ---- floats ---------------------------------------------------------------------------------- */

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

enum { DOMAIN_OF_GFX9 = 256 }; /* of sine and cosine, in turns; results beyond it are those of 0 */

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

/* ---- doubles --------------------------------------------------------------------------------- */

EMU_INLINE double settle_double(double x, double a) {
  uint64_t source = emu_bits_of64(a), bits = emu_bits_of64(x);
  bits = emu_is_nan64(bits) ? 0xfff8000000000000 : bits;
  return emu_real_of64(emu_is_nan64(source) ? emu_quiet64(source) : bits);
}

/* ---- functions ------------------------------------------------------------------------------- */

#define RUN(function, kind)                                          \
  static void run_##function(emu_wave *wave, const emu_inst *inst) { \
    emu_run_##kind(wave, inst, 1, function##_kernel());              \
  }
#define ALSO(name, function, on)
#define FLOAT(name, function, on, expression) \
  EMU_KERNEL_1(function##_kernel, expression) RUN(function, f32)
#define HALF(name, function, on, expression) \
  EMU_KERNEL_1(function##_kernel, expression) RUN(function, f16)
#define DOUBLE(name, function, on, expression)
#define EMU_SIZE 32
#include "emulator/exec/valu_trans.def"
#undef EMU_SIZE
#undef FLOAT
#undef HALF
#undef DOUBLE

#define FLOAT(name, function, on, expression)
#define HALF(name, function, on, expression)
#define DOUBLE(name, function, on, expression) \
  EMU_KERNEL_1(function##_kernel, expression) RUN(function, f64)
#define EMU_SIZE 64
#include "emulator/exec/valu_trans.def"
#undef FLOAT
#undef HALF
#undef DOUBLE
#undef ALSO

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(name, function, on, type) \
  EMU_ROW("v_" #name, run_##function, on, EMU_CLASS_TRANS, 0, type, type),
#define FLOAT(name, function, on, expression) ROW(name, function, on, EMU_F32)
#define HALF(name, function, on, expression) ROW(name, function, on, EMU_F16)
#define DOUBLE(name, function, on, expression) ROW(name, function, on, EMU_F64)
#define ALSO(name, function, on) ROW(name, function, on, EMU_F32)

/* clang-format off */
const emu_op emu_valu_trans_ops[] = {
#include "emulator/exec/valu_trans.def"
  {.name = NULL},
};
