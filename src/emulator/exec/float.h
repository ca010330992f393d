/* Floating point for the vector instructions: what a lane computes, and how a row of lanes gets
 * through the wavefront's mode.
 *
 * An operation is a kernel: one expression per lane, compiled for any host and once more for hosts
 * with wide registers and fused multiply-add, both with the same results. A frame (emu_run_f32 and
 * its relatives) fetches the sources, runs the kernel under the mode's rounding, and applies what
 * the mode and the instruction ask for around it: denormals flushed on the way in and out, output
 * modifiers, clamping. In the plain mode, which compilers set, nothing remains but the kernel.
 * Kernels decide about NaNs themselves (emu_settle): a NaN operand is propagated, quieted, the
 * first one first; an invalid operation gives 0x7fc00000, whatever the host would make of it. */
#ifndef ROC_EMULATOR_EXEC_FLOAT_H
#define ROC_EMULATOR_EXEC_FLOAT_H

#include <math.h>
#include <string.h>

#include "emulator/exec/rows.h"

#define EMU_INLINE static inline __attribute__((always_inline))
#define EMU_PASTE_(a, b) a##b
#define EMU_PASTE(a, b) EMU_PASTE_(a, b)
#define EMU_SIZED(name) EMU_PASTE(name, EMU_SIZE)

#if defined(__x86_64__) && defined(__GNUC__)
#define EMU_WIDE __attribute__((target("avx2,fma")))
#else
#define EMU_WIDE
#endif
/* Whether the host can run what is compiled with EMU_WIDE; known before main. */
extern bool emu_is_wide;

typedef float emu_real32;
typedef double emu_real64;
typedef uint32_t emu_bits32;
typedef uint64_t emu_bits64;
typedef int32_t emu_signed32;
typedef int64_t emu_signed64;
typedef emu_row emu_row32;

/* A kernel fills the lanes of `out`, which may be one of the sources.  Sources the operation does
 * not have are NULL. */
typedef void emu_kernel32(const emu_wave *wave, emu_row *out, const emu_row *a, const emu_row *b,
                          const emu_row *c);
typedef void emu_kernel64(const emu_wave *wave, emu_row64 *out, const emu_row64 *a,
                          const emu_row64 *b, const emu_row64 *c);
/* The same with a row of ~0 and 0, or of integers, for a result. */
typedef void emu_test32(const emu_wave *wave, emu_row *out, const emu_row *a, const emu_row *b,
                        const emu_row *c);
typedef void emu_test64(const emu_wave *wave, emu_row *out, const emu_row64 *a, const emu_row64 *b,
                        const emu_row64 *c);

/* Defines `name`(), which gives the kernel for this host.  The expression reads a, b, c (as many as
 * the number in the macro's name says), `lane` and `wave`. */
#define EMU_KERNEL_BODY_(name, OUT, IN, ...)                                                       \
  EMU_INLINE void name##_lanes(const emu_wave *wave, OUT *out, const IN *a_row, const IN *b_row,   \
                               const IN *c_row) {                                                  \
    (void)b_row;                                                                                   \
    (void)c_row;                                                                                   \
    EMU_FOR_LANES(wave) {                                                                          \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }                                                                                                \
  static void name##_base(const emu_wave *wave, OUT *out, const IN *a, const IN *b, const IN *c) { \
    name##_lanes(wave, out, a, b, c);                                                              \
  }                                                                                                \
  EMU_WIDE static void name##_wide(const emu_wave *wave, OUT *out, const IN *a, const IN *b,       \
                                   const IN *c) {                                                  \
    name##_lanes(wave, out, a, b, c);                                                              \
  }
#define EMU_KERNEL_(name, size, ...)                                \
  EMU_KERNEL_BODY_(name, emu_row##size, emu_row##size, __VA_ARGS__) \
  static emu_kernel##size *name(void) {                             \
    return emu_is_wide ? name##_wide : name##_base;                 \
  }
#define EMU_TEST_(name, size, ...)                            \
  EMU_KERNEL_BODY_(name, emu_row, emu_row##size, __VA_ARGS__) \
  static emu_test##size *name(void) {                         \
    return emu_is_wide ? name##_wide : name##_base;           \
  }

#define EMU_A_ const EMU_SIZED(emu_real) a = a_row->f[lane];
#define EMU_B_ const EMU_SIZED(emu_real) b = b_row->f[lane];
#define EMU_C_ const EMU_SIZED(emu_real) c = c_row->f[lane];
#define EMU_KERNEL(name, ...) EMU_PASTE(EMU_KERNEL_AT_, EMU_SIZE)(name, __VA_ARGS__)
#define EMU_KERNEL_AT_32(name, ...) EMU_KERNEL_(name, 32, __VA_ARGS__)
#define EMU_KERNEL_AT_64(name, ...) EMU_KERNEL_(name, 64, __VA_ARGS__)
#define EMU_TEST(name, ...) EMU_PASTE(EMU_TEST_AT_, EMU_SIZE)(name, __VA_ARGS__)
#define EMU_TEST_AT_32(name, ...) EMU_TEST_(name, 32, __VA_ARGS__)
#define EMU_TEST_AT_64(name, ...) EMU_TEST_(name, 64, __VA_ARGS__)

/* Kernels of EMU_SIZE bits. */
#define EMU_KERNEL_1(name, expression) EMU_KERNEL(name, EMU_A_ out->f[lane] = expression;)
#define EMU_KERNEL_2(name, expression) EMU_KERNEL(name, EMU_A_ EMU_B_ out->f[lane] = expression;)
#define EMU_KERNEL_3(name, expression) \
  EMU_KERNEL(name, EMU_A_ EMU_B_ EMU_C_ out->f[lane] = expression;)
/* Integers made of a. */
#define EMU_TEST_1(name, expression) EMU_TEST(name, EMU_A_ out->i[lane] = expression;)

#define EMU_SIZE 32
#include "emulator/exec/real_lanes.h"
#undef EMU_SIZE
#define EMU_SIZE 64
#include "emulator/exec/real_lanes.h"
#undef EMU_SIZE

/* ---- frames (float.c) ----------------------------------------------------------------------- */

/* Runs `kernel` on the first nsrc sources and writes destination 0. */
void emu_run_f32(emu_wave *wave, const emu_inst *inst, unsigned nsrc, emu_kernel32 *kernel);
void emu_run_f64(emu_wave *wave, const emu_inst *inst, unsigned nsrc, emu_kernel64 *kernel);
void emu_run_f16(emu_wave *wave, const emu_inst *inst, unsigned nsrc, emu_kernel32 *kernel);
/* The same with two sources; the third is the destination as it was (v_fmac and its like). */
void emu_accumulate_f32(emu_wave *wave, const emu_inst *inst, emu_kernel32 *kernel);
void emu_accumulate_f64(emu_wave *wave, const emu_inst *inst, emu_kernel64 *kernel);
void emu_accumulate_f16(emu_wave *wave, const emu_inst *inst, emu_kernel32 *kernel);
/* Runs a condition on two sources and writes destination 0, a lane mask. */
void emu_compare_f32(emu_wave *wave, const emu_inst *inst, emu_test32 *test);
void emu_compare_f64(emu_wave *wave, const emu_inst *inst, emu_test64 *test);
void emu_compare_f16(emu_wave *wave, const emu_inst *inst, emu_test32 *test);

/* Source `n`, denormals flushed where the mode asks for it; a half becomes the float of the same
 * value (a signaling NaN stays one). */
const emu_row *emu_src_f32(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room);
const emu_row64 *emu_src_f64(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row64 *room);
const emu_row *emu_src_f16(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room);
/* Runs a kernel under the mode's rounding of 32-bit, or of 16- and 64-bit operations. */
void emu_round_as_f32(const emu_wave *wave, emu_kernel32 *kernel, emu_row *out, const emu_row *a,
                      const emu_row *b, const emu_row *c);
void emu_round_as_f64(const emu_wave *wave, emu_kernel64 *kernel, emu_row64 *out,
                      const emu_row64 *a, const emu_row64 *b, const emu_row64 *c);
void emu_round_as_f16(const emu_wave *wave, emu_kernel32 *kernel, emu_row *out, const emu_row *a,
                      const emu_row *b, const emu_row *c);
/* Output modifier, flushing and clamping, in place; …16 takes floats and leaves halves. */
void emu_finish_f32(const emu_wave *wave, const emu_inst *inst, emu_row *out);
void emu_finish_f64(const emu_wave *wave, const emu_inst *inst, emu_row64 *out);
void emu_finish_f16(const emu_wave *wave, const emu_inst *inst, emu_row *out);

/* Halves (the low 16 bits) to floats, flushed where the mode asks for it; out may be in. */
void emu_widen_row(const emu_wave *wave, emu_row *out, const emu_row *in);

/* The host's rounding set to the mode's number (emu_mode); gives what to hand to
 * emu_leave_rounding. */
int emu_enter_rounding(unsigned round);
void emu_leave_rounding(int before);

/* ---- halves --------------------------------------------------------------------------------- */

/* The float of a half's value; NaNs keep their bits. */
EMU_INLINE uint32_t emu_widen(uint32_t half) {
  uint32_t sign = (half & 0x8000) << 16, magnitude = half & 0x7fff;
  uint32_t denormal = emu_bits_of32((float)(int32_t)magnitude * 0x1p-24f);
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t special = (magnitude << 13) | 0x7f800000;
  return sign | (magnitude >= 0x7c00 ? special : magnitude >= 0x400 ? normal : denormal);
}

/* The half nearest to a float, ties to even.  The host rounds to nearest. */
EMU_INLINE uint32_t emu_narrow_nearest(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  /* halves below 2^-14 are multiples of 2^-24, as are floats around 0.5 */
  uint32_t denormal = emu_bits_of32(emu_real_of32(magnitude) + 0.5f) - 0x3f000000;
  uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
  uint32_t finite = magnitude >= 0x38800000 ? normal : denormal;
  uint32_t number = magnitude >= 0x47800000 ? 0x7c00 : finite;
  return sign | (magnitude > 0x7f800000 ? nan : number);
}

/* The same under any rounding (emu_mode's numbers), whatever the host's is. */
uint32_t emu_narrow(uint32_t bits, unsigned round);

/* a * b + c as a float whose last bit is 1 when it is not exact ("rounded to odd"): rounding that
 * to a half gives what rounding the exact sum would give. The product is exact in a double, and
 * where the sum is not, its last bit is made sticky first. */
EMU_INLINE float emu_fuse(float a, float b, float c) {
  double product = (double)a * b, sum = product + c, part = sum - product;
  double lost = (product - (sum - part)) + (c - part);
  uint64_t bits = emu_bits_of64(sum);
  bool is_finite = emu_exponent64(bits) != EMU_EXPONENTS64, grows = (lost > 0) == (sum > 0);
  uint64_t odd = (bits & 1) == 0 ? (grows ? bits + 1 : bits - 1) : bits;
  bits = (is_finite & (lost != 0)) ? odd : bits;
  enum { CUT = EMU_MANTISSA64 - EMU_MANTISSA32 };
  bool is_sticky = (bits & (((uint64_t)1 << CUT) - 1)) != 0;
  uint64_t kept = bits >> CUT << CUT;
  float exact = (float)emu_real_of64(kept);
  return (is_finite & is_sticky) ? emu_real_of32(emu_bits_of32(exact) | 1) : (float)sum;
}

#endif
