/* Conversions between floats, doubles, halves and integers.
 *
 * To integers: truncated (or as the name says), saturated, NaN gives 0. To floats: rounded as the
 * mode says, by its 64-bit field where doubles or halves take part; denormals of the result go by
 * the result's own field. ISA guides, V_CVT_*.  The instructions are the rows of
 * valu_convert.def. */
#include "emulator/exec/float.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/small_float.h"

#define EMU_SIZE 32

/* ---- to integers ----------------------------------------------------------------------------- */

/* Casts are made of numbers in the integer's range only: beyond it they are undefined in C. */
EMU_INLINE int32_t to_i32(float x) {
  int32_t whole = (int32_t)(fabsf(x) < 0x1p31f ? x : 0);
  int32_t limited = x >= 0x1p31f ? INT32_MAX : whole;
  return x <= -0x1p31f ? INT32_MIN : limited;
}

EMU_INLINE uint32_t to_u32(float x) {
  bool is_high = x >= 0x1p31f;
  float low = x > 0 ? x : 0, part = is_high ? x - 0x1p31f : low;
  uint32_t whole = (uint32_t)(int32_t)(part < 0x1p31f ? part : 0) + (is_high ? 0x80000000u : 0);
  return x >= 0x1p32f ? UINT32_MAX : whole;
}

EMU_INLINE int32_t double_to_i32(double x) {
  double low = x > -0x1p31 ? x : -0x1p31, both = low < 0x7fffffff ? low : 0x7fffffff;
  return (int32_t)(x == x ? both : 0);
}

EMU_INLINE uint32_t double_to_u32(double x) {
  double low = x > 0 ? x : 0, both = low < 0xffffffff ? low : 0xffffffff;
  bool is_high = both >= 0x1p31;
  return (uint32_t)(int32_t)(is_high ? both - 0x1p31 : both) + (is_high ? 0x80000000u : 0);
}

EMU_INLINE int32_t limit(int32_t x, int32_t low, int32_t high) {
  int32_t above = x > low ? x : low;
  return above < high ? above : high;
}

EMU_INLINE uint32_t to_i16(float x) {
  return (uint16_t)limit(to_i32(x), INT16_MIN, INT16_MAX);
}

EMU_INLINE uint32_t to_u16(float x) {
  return (uint32_t)limit(to_i32(x), 0, UINT16_MAX);
}

EMU_INLINE float float_of_half(uint32_t half) {
  return emu_real_of32(emu_widen(half));
}

/* ---- from integers --------------------------------------------------------------------------- */

/* A float made of the register's bits: no flushing of what is no float. */
static void run_from_bits(emu_wave *wave, const emu_inst *inst, emu_kernel32 *kernel) {
  emu_row room, out;
  const emu_row *a = emu_src32(wave, inst, 0, &room);
  emu_round_as_f32(wave, kernel, &out, a, NULL, NULL);
  if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f32(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

/* Halves are exact as floats, and rounded afterwards. */
static void run_half_from(emu_wave *wave, const emu_inst *inst, bool is_signed) {
  emu_row room, out;
  const emu_row *a = emu_src32(wave, inst, 0, &room);
  EMU_FOR_LANES(wave) {
    uint32_t word = a->u[lane];
    out.f[lane] = (float)(is_signed ? (int16_t)word : (int32_t)(uint16_t)word);
  }
  emu_finish_f16(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

static void run_f16_i16(emu_wave *wave, const emu_inst *inst) {
  run_half_from(wave, inst, true);
}
static void run_f16_u16(emu_wave *wave, const emu_inst *inst) {
  run_half_from(wave, inst, false);
}

static void put_double(emu_wave *wave, const emu_inst *inst, emu_row64 *out) {
  if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f64(wave, inst, out);
  emu_put64(wave, inst, 0, out);
}

static void run_f64_i32(emu_wave *wave, const emu_inst *inst) {
  emu_row room;
  emu_row64 out;
  const emu_row *a = emu_src32(wave, inst, 0, &room);
  EMU_FOR_LANES(wave) out.f[lane] = a->i[lane];
  put_double(wave, inst, &out);
}

static void run_f64_u32(emu_wave *wave, const emu_inst *inst) {
  emu_row room;
  emu_row64 out;
  const emu_row *a = emu_src32(wave, inst, 0, &room);
  EMU_FOR_LANES(wave) out.f[lane] = a->u[lane];
  put_double(wave, inst, &out);
}

/* ---- between kinds --------------------------------------------------------------------------- */

EMU_INLINE double widen_float(float x) {
  uint32_t bits = emu_bits_of32(x);
  uint64_t nan =
      (uint64_t)(bits & 0x80000000) << 32 | 0x7ff8000000000000 | (uint64_t)(bits & 0x3fffff) << 29;
  return emu_is_nan32(bits) ? emu_real_of64(nan) : (double)x;
}

static void run_f64_f32(emu_wave *wave, const emu_inst *inst) {
  emu_row room;
  emu_row64 out;
  const emu_row *a = emu_src_f32(wave, inst, 0, &room);
  EMU_FOR_LANES(wave) out.f[lane] = widen_float(a->f[lane]);
  put_double(wave, inst, &out);
}

EMU_INLINE float narrow_double(double x) {
  uint64_t bits = emu_bits_of64(x);
  uint32_t nan =
      (uint32_t)(bits >> 32 & 0x80000000) | 0x7fc00000 | (uint32_t)(bits >> 29 & 0x3fffff);
  return emu_is_nan64(bits) ? emu_real_of32(nan) : (float)x;
}

/* Not inlined: the rounding is entered and left around it. */
static __attribute__((noinline)) void narrow_doubles(const emu_wave *wave, emu_row *out,
                                                     const emu_row64 *a) {
  EMU_FOR_LANES(wave) out->f[lane] = narrow_double(a->f[lane]);
}

static void run_f32_f64(emu_wave *wave, const emu_inst *inst) {
  emu_row64 room;
  emu_row out;
  const emu_row64 *a = emu_src_f64(wave, inst, 0, &room);
  if (wave->mode.is_plain) {
    narrow_doubles(wave, &out, a);
  } else {
    int before = emu_enter_rounding(wave->mode.round64);
    narrow_doubles(wave, &out, a);
    emu_leave_rounding(before);
  }
  if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f32(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

static void run_f16_f32(emu_wave *wave, const emu_inst *inst) {
  emu_row room, out;
  const emu_row *a = emu_src_f32(wave, inst, 0, &room);
  memcpy(&out, a, wave->width * sizeof out.u[0]);
  emu_finish_f16(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

static void run_f32_f16(emu_wave *wave, const emu_inst *inst) {
  emu_row room, out;
  const emu_row *a = emu_src_f16(wave, inst, 0, &room);
  EMU_FOR_LANES(wave) out.u[lane] = emu_quiet32(a->u[lane]);
  if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f32(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

/* ---- floats of 8 bits ------------------------------------------------------------------------ */

enum { FP8 = 3, BF8 = 2 }; /* bits of their mantissas */

static float byte_value(const emu_wave *wave, unsigned mantissa_bits, uint32_t byte) {
  emu_small_float kind = emu_small_float_of(wave, mantissa_bits);
  return emu_small_value(&kind, byte & 0xff);
}

static uint64_t byte_values(const emu_wave *wave, unsigned mantissa_bits, uint32_t bytes) {
  uint32_t low = emu_bits_of32(byte_value(wave, mantissa_bits, bytes));
  uint32_t high = emu_bits_of32(byte_value(wave, mantissa_bits, bytes >> 8));
  return low | (uint64_t)high << 32;
}

static uint32_t pair_of(const emu_wave *wave, unsigned mantissa_bits, float a, float b) {
  emu_small_float kind = emu_small_float_of(wave, mantissa_bits);
  return emu_small_round(&kind, a, 0, 0) | emu_small_round(&kind, b, 0, 0) << 8;
}

/* ---- by chance ------------------------------------------------------------------------------- */

static uint32_t by_chance(const emu_small_float *kind, float x, uint32_t random) {
  return emu_small_round(kind, x, 23u - kind->mantissa_bits, random);
}

static uint32_t half_by_chance(float x, uint32_t random) {
  emu_small_float kind = emu_small_format(5, 10, EMU_SPECIALS_IEEE);
  return by_chance(&kind, x, random);
}

static uint32_t bf16_by_chance(float x, uint32_t random) {
  emu_small_float kind = emu_small_format(8, 7, EMU_SPECIALS_IEEE);
  return by_chance(&kind, x, random);
}

static void run_byte_by_chance(emu_wave *wave, const emu_inst *inst, unsigned mantissa_bits) {
  emu_row rooms[2], out;
  const emu_row *a = emu_src32(wave, inst, 0, &rooms[0]);
  const emu_row *random = emu_src32(wave, inst, 1, &rooms[1]);
  emu_small_float kind = emu_small_float_of(wave, mantissa_bits);
  EMU_FOR_LANES(wave) out.u[lane] = by_chance(&kind, a->f[lane], random->u[lane]);
  emu_insert_byte(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

static void run_sr_fp8_f32(emu_wave *wave, const emu_inst *inst) {
  run_byte_by_chance(wave, inst, FP8);
}

static void run_sr_bf8_f32(emu_wave *wave, const emu_inst *inst) {
  run_byte_by_chance(wave, inst, BF8);
}

/* ---- packed ---------------------------------------------------------------------------------- */

enum { TO_NEAREST = 0, TO_ZERO = 3 };

/* -1 … 1 as -32767 … 32767, and 0 … 1 as 0 … 65535, to nearest. */
static inline uint32_t to_snorm(float x) {
  double low = x > -1 ? x : -1, both = low < 1 ? low : 1;
  return (uint16_t)(int32_t)nearbyint((x == x ? both : 0) * INT16_MAX);
}

static inline uint32_t to_unorm(float x) {
  double low = x > 0 ? x : 0, both = low < 1 ? low : 1;
  return (uint16_t)(int32_t)nearbyint(both * UINT16_MAX);
}

/* Byte b of c replaced by a, rounded as the mode says. */
EMU_KERNEL_1(whole_kernel, __builtin_rintf(a))

static void run_pk_u8_f32(emu_wave *wave, const emu_inst *inst) {
  emu_row rooms[3], whole;
  const emu_row *a = emu_src_f32(wave, inst, 0, &rooms[0]);
  const emu_row *b = emu_src32(wave, inst, 1, &rooms[1]);
  const emu_row *c = emu_src32(wave, inst, 2, &rooms[2]);
  emu_round_as_f32(wave, whole_kernel(), &whole, a, NULL, NULL);
  EMU_FOR_LANES(wave) {
    uint32_t byte = (uint32_t)limit(to_i32(whole.f[lane]), 0, 255), shift = (b->u[lane] & 3) * 8;
    whole.u[lane] = (c->u[lane] & ~(0xffu << shift)) | byte << shift;
  }
  emu_put32(wave, inst, 0, &whole);
}

#define EMU_FROM_BITS(function, expression)                          \
  EMU_KERNEL(function##_kernel, out->f[lane] = (float)(expression);) \
  static void function(emu_wave *wave, const emu_inst *inst) {       \
    run_from_bits(wave, inst, function##_kernel());                  \
  }

#define EMU_OPS_FILE "emulator/exec/valu_convert.def"
#define EMU_OPS_TABLE emu_valu_convert_ops
#include "emulator/exec/vector_ops.h"
