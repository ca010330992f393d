/* Floats of 4 to 16 bits: their values, exact as floats, and rounding to them.
 *
 * An FP8 has 4 bits of exponent and 3 of mantissa, a BF8 5 and 2.  gfx942 has the variant without
 * infinity and negative zero, whose one NaN is 0x80 and whose bias is one more ("FNUZ"); others
 * have that of the Open Compute Project.  What is too large becomes infinity where there is one,
 * else NaN, and where there is none either, the largest number, which a NaN becomes as well. */
#ifndef ROC_EMULATOR_EXEC_SMALL_FLOAT_H
#define ROC_EMULATOR_EXEC_SMALL_FLOAT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "emulator/exec/float.h"

typedef enum emu_specials {
  EMU_SPECIALS_IEEE, /* the largest exponent has infinity and NaNs */
  EMU_SPECIALS_NAN,  /* the largest exponent's largest mantissa is NaN */
  EMU_SPECIALS_FNUZ, /* the sign without a number is NaN */
  EMU_SPECIALS_NONE
} emu_specials;

typedef struct emu_small_float {
  uint8_t exponent_bits, mantissa_bits, bias;
  uint8_t specials; /* emu_specials */
} emu_small_float;

static inline emu_small_float emu_small_format(unsigned exponent_bits, unsigned mantissa_bits,
                                               emu_specials specials) {
  return (emu_small_float){.exponent_bits = (uint8_t)exponent_bits,
                           .mantissa_bits = (uint8_t)mantissa_bits,
                           .bias = (uint8_t)((1u << (exponent_bits - 1)) - 1),
                           .specials = (uint8_t)specials};
}

/* A float of 8 bits; `mantissa_bits`: 3 of an FP8, 2 of a BF8. */
static inline emu_small_float emu_small_float_of(const emu_wave *wave, unsigned mantissa_bits) {
  bool is_fnuz = wave->group->dispatch->chip->minor == 4;
  emu_specials ocp = mantissa_bits == 3 ? EMU_SPECIALS_NAN : EMU_SPECIALS_IEEE;
  emu_small_float kind =
      emu_small_format(7 - mantissa_bits, mantissa_bits, is_fnuz ? EMU_SPECIALS_FNUZ : ocp);
  kind.bias = (uint8_t)(kind.bias + is_fnuz);
  return kind;
}

static inline float emu_small_value(const emu_small_float *kind, uint32_t bits) {
  unsigned m = kind->mantissa_bits;
  uint32_t sign = 1u << (kind->exponent_bits + m), ones = (1u << m) - 1, size = bits & (sign - 1);
  bool is_negative = bits & sign, is_top = size >= sign - 1 - ones;
  if (kind->specials == EMU_SPECIALS_FNUZ && is_negative && size == 0) return NAN;
  if (kind->specials == EMU_SPECIALS_NAN && size == sign - 1) return NAN;
  if (kind->specials == EMU_SPECIALS_IEEE && is_top) {
    return size & ones ? NAN : is_negative ? -INFINITY : INFINITY;
  }
  int exponent = (int)(size >> m);
  uint32_t digits = (size & ones) | (exponent ? 1u << m : 0);
  float value = ldexpf((float)digits, (exponent ? exponent : 1) - (int)kind->bias - (int)m);
  return is_negative ? -value : value;
}

/* To nearest, ties to even; or, where `nrandom` is not 0, by chance: what lies more than that many
 * binary places after the last one is dropped, the highest `nrandom` bits of `random` are added
 * there, and the sum is truncated. */
static inline uint32_t emu_small_round(const emu_small_float *kind, double x, unsigned nrandom,
                                       uint32_t random) {
  unsigned m = kind->mantissa_bits;
  uint32_t top = 1u << (kind->exponent_bits + m), sign = signbit(x) ? top : 0;
  uint32_t infinity = top - (1u << m), nan = sign | (top - 1), largest = top - 1;
  if (kind->specials == EMU_SPECIALS_FNUZ) nan = top;
  if (kind->specials == EMU_SPECIALS_NAN) largest = top - 2;
  if (kind->specials == EMU_SPECIALS_IEEE) largest = infinity - 1;
  if (x != x) return nan;
  int exponent = 0;
  frexp(x, &exponent); /* |x| is in [0.5, 1) * 2^exponent */
  int least = 1 - (int)kind->bias, place = x != 0 && exponent - 1 > least ? exponent - 1 : least;
  double digits = isinf(x) ? INFINITY : ldexp(fabs(x), (int)m - place);
  if (nrandom == 0) {
    digits = nearbyint(digits);
  } else {
    double places = floor(ldexp(digits, (int)nrandom)) + (random >> (32 - nrandom));
    digits = floor(ldexp(places, -(int)nrandom));
  }
  /* a carry into the next binade is one into the exponent's bits */
  double bits = digits + (double)(place - least) * (1u << m);
  if (!(bits <= largest)) return kind->specials == EMU_SPECIALS_IEEE ? sign | infinity : nan;
  uint32_t size = (uint32_t)bits;
  return kind->specials == EMU_SPECIALS_FNUZ && size == 0 ? 0 : sign | size;
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
