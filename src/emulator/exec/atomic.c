/* The functions of atomic.def.
 *
 * Floats: additions round to nearest even whatever the mode says; a NaN that comes in goes out
 * quieted, memory's first, and an invalid addition gives the positive quiet NaN; minimum and
 * maximum prefer a number to a NaN, and (before gfx12) memory's value to an equal one. */
#include "emulator/exec/atomic.h"

#include <stdbool.h>

#include "base/dtype.h"
#include "emulator/exec/float.h"
#include "emulator/exec/small_float.h"

#define QUIET_F32 0x00400000u
#define NAN_F32 0x7fc00000u
#define QUIET_F64 0x0008000000000000u
#define NAN_F64 0x7ff8000000000000u
#define QUIET_F16 0x0200u
#define NAN_F16 0x7e00u

static inline float to_f32(uint64_t bits) {
  return emu_real_of32((uint32_t)bits);
}

static inline double to_f64(uint64_t bits) {
  return emu_real_of64(bits);
}

static inline bool is_nan(double f) {
  return f != f;
}

static uint64_t add_f32(uint64_t a, uint64_t b) {
  float x = to_f32(a), y = to_f32(b), sum = x + y;
  if (!is_nan(sum)) return emu_bits_of32(sum);
  if (is_nan(x)) return (uint32_t)a | QUIET_F32;
  return is_nan(y) ? (uint32_t)b | QUIET_F32 : NAN_F32;
}

static uint64_t flush_f32(uint64_t bits) {
  return emu_flush32((uint32_t)bits);
}

static uint64_t add_f64(uint64_t a, uint64_t b) {
  double x = to_f64(a), y = to_f64(b), sum = x + y;
  if (is_nan(x)) return a | QUIET_F64;
  if (is_nan(y)) return b | QUIET_F64;
  if (is_nan(sum)) return NAN_F64;
  return emu_bits_of64(sum);
}

/* The sum of two halves is exact in double. */
static uint64_t add_f16(uint64_t a, uint64_t b) {
  uint16_t x = (uint16_t)a, y = (uint16_t)b;
  double sum = (double)roc_f32_from_f16(x) + (double)roc_f32_from_f16(y);
  if (!is_nan(sum)) return roc_f16_from_f64(sum);
  if ((x & 0x7fff) > 0x7c00) return x | QUIET_F16;
  return (y & 0x7fff) > 0x7c00 ? y | QUIET_F16 : NAN_F16;
}

/* The sum in double is exact unless one summand is far too small to matter but for a tie, which it
 * breaks: the last bit of what is rounded again then says that something is left. */
static uint64_t add_bf16(uint64_t a, uint64_t b) {
  uint32_t x = (uint32_t)(a & 0xffff) << 16, y = (uint32_t)(b & 0xffff) << 16;
  double sum = (double)to_f32(x) + (double)to_f32(y);
  if (is_nan(to_f32(x))) return (x | QUIET_F32) >> 16;
  if (is_nan(to_f32(y))) return (y | QUIET_F32) >> 16;
  if (is_nan(sum)) return NAN_F32 >> 16;
  uint32_t bits = emu_bits_of32((float)sum);
  double rest = fabs(sum) - fabs((double)to_f32(bits));
  if (rest < 0) bits--;
  if (rest != 0) bits |= 1;
  return emu_bf16_round(to_f32(bits));
}

#define U32 uint32_t
#define U64 uint64_t
#define I32 int32_t
#define I64 int64_t

#define DEFINE_INT(function, word, unsigned_word, expression)                     \
  uint64_t function(uint64_t old_bits, uint64_t data_bits, uint64_t other_bits) { \
    word old = (word)old_bits, data = (word)data_bits, other = (word)other_bits;  \
    (void)old, (void)data, (void)other;                                           \
    return (unsigned_word)(expression);                                           \
  }
#define EMU_COMBINE_INT(name, type, expression)          \
  DEFINE_INT(emu_##name##_32, type##32, U32, expression) \
  DEFINE_INT(emu_##name##_64, type##64, U64, expression)
#define EMU_COMBINE_ONE(name, expression)                            \
  uint64_t emu_##name(uint64_t old, uint64_t data, uint64_t other) { \
    (void)other;                                                     \
    return expression;                                               \
  }
#include "emulator/exec/atomic.def"
