/* Floats of 8 and 16 bits as gfx942 and gfx950 have them: their values, exact as floats, and
 * rounding to them.
 *
 * An FP8 has 4 bits of exponent and 3 of mantissa, a BF8 5 and 2.  gfx942 has the variant without
 * infinity and negative zero, whose one NaN is 0x80 and whose bias is one more ("FNUZ"); gfx950 that
 * of the Open Compute Project.  What is too large becomes infinity where there is one, else NaN. */
#ifndef ROC_EMULATOR_EXEC_SMALL_FLOAT_H
#define ROC_EMULATOR_EXEC_SMALL_FLOAT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "emulator/exec/float.h"

typedef struct emu_small_float {
  uint8_t mantissa_bits;
  uint8_t bias;
  bool is_fnuz;      /* else: the largest exponent has, */
  bool has_infinity; /* when true, infinity and NaNs; else the largest mantissa is NaN */
} emu_small_float;

/* `mantissa_bits`: 3 of an FP8, 2 of a BF8. */
static inline emu_small_float emu_small_float_of(const emu_wave *wave, unsigned mantissa_bits) {
  bool is_fnuz = wave->group->dispatch->chip->minor == 4;
  unsigned bias = mantissa_bits == 3 ? 7 : 15;
  return (emu_small_float){.mantissa_bits = (uint8_t)mantissa_bits,
                           .bias = (uint8_t)(bias + is_fnuz),
                           .is_fnuz = is_fnuz,
                           .has_infinity = !is_fnuz && mantissa_bits == 2};
}

static inline float emu_small_value(const emu_small_float *kind, uint32_t byte) {
  unsigned m = kind->mantissa_bits;
  int exponent = (int)((byte & 0x7f) >> m), top = 0x7f >> m;
  uint32_t mantissa = byte & ((1u << m) - 1), ones = (1u << m) - 1;
  float sign = byte & 0x80 ? -1.0f : 1.0f;
  if (kind->is_fnuz && (byte & 0xff) == 0x80) return NAN;
  if (kind->has_infinity && exponent == top) return mantissa ? NAN : sign * INFINITY;
  if (!kind->is_fnuz && exponent == top && mantissa == ones) return NAN;
  uint32_t digits = exponent ? mantissa | 1u << m : mantissa;
  return sign * ldexpf((float)digits, (exponent ? exponent : 1) - (int)kind->bias - (int)m);
}

/* To nearest, ties to even. */
static inline uint32_t emu_small_round(const emu_small_float *kind, float x) {
  unsigned m = kind->mantissa_bits;
  uint32_t sign = signbit(x) ? 0x80 : 0, nan = kind->is_fnuz ? 0x80 : sign | 0x7f;
  uint32_t largest = kind->is_fnuz        ? 0x7f
                     : kind->has_infinity ? (0x7fu & ~((1u << m) - 1)) - 1
                                          : 0x7e;
  if (x != x) return nan;
  int exponent = 0;
  frexpf(x, &exponent); /* |x| is in [0.5, 1) * 2^exponent */
  int least = 1 - (int)kind->bias, place = x != 0 && exponent - 1 > least ? exponent - 1 : least;
  double digits = isinf(x) ? INFINITY : nearbyint(ldexp(fabs((double)x), (int)m - place));
  /* a carry into the next binade is one into the exponent's bits */
  double bits = digits + (double)(place - least) * (1u << m);
  if (!(bits <= largest)) return kind->has_infinity ? sign | (largest + 1) : nan;
  uint32_t byte = (uint32_t)bits;
  return kind->is_fnuz && byte == 0 ? 0 : sign | byte;
}

/* A narrower one, which is always finite: of a sign, and those bits of exponent and mantissa. */
static inline float emu_narrow_value(unsigned exponent_bits, unsigned m, uint32_t bits) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = (int)(bits >> m & ((1u << exponent_bits) - 1));
  uint32_t digits = (bits & ((1u << m) - 1)) | (exponent ? 1u << m : 0);
  float size = ldexpf((float)digits, (exponent ? exponent : 1) - bias - (int)m);
  return bits >> (exponent_bits + m) & 1 ? -size : size;
}

static inline float emu_bf16_value(uint32_t half) {
  return emu_real_of32(half << 16);
}

/* To nearest, ties to even; a NaN stays one. */
static inline uint32_t emu_bf16_round(float x) {
  uint32_t bits = emu_bits_of32(x);
  if (x != x) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

#endif
