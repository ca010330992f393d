/* Conversions of gfx950 with a scale, which is the exponent of a float: 2^(exponent - 127), its sign
 * and mantissa have no effect, and NaN where the exponent has all bits set.
 *
 * op_sel says which bytes or halves of a register the small floats are; those that a result does
 * not fill are kept.  Results are rounded to nearest, ties to even. */
#include <math.h>

#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"
#include "emulator/exec/small_float.h"

typedef enum kind { F32, F16, BF16, FP8, BF8, FP6, BF6, FP4 } kind;

enum { DESTINATION = 8 /* its bit of op_sel */ };

static double scale_of(uint32_t bits, int sign) {
  int exponent = (int)(bits >> 23 & 0xff);
  return exponent == 0xff ? NAN : ldexp(1, sign * (exponent - 127));
}

static emu_small_float byte_kind(const emu_wave *wave, kind small) {
  return emu_small_float_of(wave, small == FP8 ? 3 : 2);
}

static float value_of(const emu_wave *wave, kind small, uint32_t bits) {
  if (small == FP4) return emu_narrow_value(2, 1, bits & 0xf);
  if (small == FP6 || small == BF6) {
    return emu_narrow_value(small == FP6 ? 2 : 3, small == FP6 ? 3 : 2, bits & 0x3f);
  }
  emu_small_float byte = byte_kind(wave, small);
  return emu_small_value(&byte, bits & 0xff);
}

static uint32_t bits_of(kind to, float value) {
  if (to == F32) return emu_bits_of32(value);
  return to == F16 ? emu_narrow_nearest(emu_bits_of32(value)) : emu_bf16_round(value);
}

/* `bits` of `value` from bit `at` on, in the lanes' old word. */
static uint32_t put_part(const emu_wave *wave, const emu_inst *inst, int lane, uint32_t value,
                         unsigned at, unsigned bits) {
  uint32_t mask = ((1u << bits) - 1) << at;
  return (wave->v[inst->dst[0].reg].u[lane] & ~mask) | (value << at & mask);
}

/* ---- from small ones ------------------------------------------------------------------------- */

/* The first bit of the small floats: those of a pair of bytes fill a half, all others a byte. */
static unsigned first_bit(const emu_inst *inst, kind small, unsigned count) {
  bool is_half = count == 2 && small != FP4;
  return is_half ? 16 * (inst->mod.op_sel & 1u) : 8 * (inst->mod.op_sel & 3u);
}

static void convert_from(emu_wave *wave, const emu_inst *inst, kind small, kind to,
                         unsigned count) {
  emu_row rooms[2], out;
  emu_row64 wide;
  const emu_row *bytes = emu_src32(wave, inst, 0, &rooms[0]);
  const emu_row *scales = emu_src32(wave, inst, 1, &rooms[1]);
  unsigned at = first_bit(inst, small, count), width = small == FP4 ? 4 : 8;
  unsigned half = inst->mod.op_sel & DESTINATION ? 16 : 0;
  for (int lane = 0; lane < wave->width; lane++) {
    double scale = scale_of(scales->u[lane], 1);
    uint32_t low = bits_of(to, (float)(value_of(wave, small, bytes->u[lane] >> at) * scale));
    uint32_t next = bytes->u[lane] >> at >> width;
    uint32_t high = count == 2 ? bits_of(to, (float)(value_of(wave, small, next) * scale)) : 0;
    wide.u[lane] = low | (uint64_t)high << 32;
    out.u[lane] = to == F32    ? low
                  : count == 2 ? low | high << 16
                               : put_part(wave, inst, lane, low, half, 16);
  }
  if (to == F32 && count == 2) {
    emu_put64(wave, inst, 0, &wide);
  } else {
    emu_put32(wave, inst, 0, &out);
  }
}

/* The results may overlap the sources: a lane's are made before the first is written. */
static void convert_32_from(emu_wave *wave, const emu_inst *inst, kind small, kind to) {
  enum { COUNT = 32, WIDTH = 6 };
  emu_row room;
  const emu_row *scales = emu_src32(wave, inst, 1, &room);
  const emu_row *from = &wave->v[inst->src[0].reg];
  emu_row *out = &wave->v[inst->dst[0].reg];
  uint64_t exec = emu_exec(wave);
  unsigned nwords = to == F32 ? COUNT : COUNT / 2;
  for (int lane = 0; lane < wave->width; lane++) {
    if (!(exec >> lane & 1)) continue;
    double scale = scale_of(scales->u[lane], 1);
    uint32_t words[COUNT] = {0};
    for (unsigned n = 0; n < COUNT; n++) {
      unsigned at = n * WIDTH, left = 32 - at % 32;
      uint64_t bits = from[at / 32].u[lane];
      if (WIDTH > left) bits |= (uint64_t)from[at / 32 + 1].u[lane] << 32;
      float value = value_of(wave, small, (uint32_t)(bits >> at % 32));
      uint32_t result = bits_of(to, (float)(value * scale));
      words[to == F32 ? n : n / 2] |= to == F32 ? result : result << 16 * (n % 2);
    }
    for (unsigned n = 0; n < nwords; n++) out[n].u[lane] = words[n];
  }
}

/* ---- to small ones --------------------------------------------------------------------------- */

static float half_of(kind from, uint32_t word, unsigned n) {
  uint32_t half = word >> 16 * n & 0xffff;
  return from == F16 ? emu_real_of32(emu_widen(half)) : emu_bf16_value(half);
}

static void convert_to(emu_wave *wave, const emu_inst *inst, kind from, kind small) {
  emu_row rooms[3], out;
  bool is_wide = from == F32;
  const emu_row *first = emu_src32(wave, inst, 0, &rooms[0]);
  const emu_row *second = is_wide ? emu_src32(wave, inst, 1, &rooms[1]) : first;
  const emu_row *scales = emu_src32(wave, inst, is_wide ? 2 : 1, &rooms[2]);
  emu_small_float byte = byte_kind(wave, small);
  unsigned at = inst->mod.op_sel & DESTINATION ? 16 : 0;
  for (int lane = 0; lane < wave->width; lane++) {
    double scale = scale_of(scales->u[lane], -1);
    float a = is_wide ? first->f[lane] : half_of(from, first->u[lane], 0);
    float b = is_wide ? second->f[lane] : half_of(from, first->u[lane], 1);
    uint32_t low = emu_small_round(&byte, (float)(a * scale));
    uint32_t high = emu_small_round(&byte, (float)(b * scale));
    out.u[lane] = put_part(wave, inst, lane, low | high << 8, at, 16);
  }
  emu_put32(wave, inst, 0, &out);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define FROM(name, small, to, count)                             \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    convert_from(wave, inst, small, to, count);                  \
  }
#define FROM_32(name, small, to)                                 \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    convert_32_from(wave, inst, small, to);                      \
  }
#define TO(name, from, small)                                    \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    convert_to(wave, inst, from, small);                         \
  }
#include "emulator/exec/valu_scaled.def"
#undef FROM
#undef FROM_32
#undef TO

/* clang-format off */
#define RESULT(to, count) (to) == F32 && (count) == 2 ? EMU_B64 : EMU_B32
#define FROM(name, small, to, count)                                                            \
  EMU_ROW("v_cvt_scalef32_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU, EMU_SELECTS,           \
          RESULT(to, count), EMU_B32, EMU_B32),
#define FROM_32(name, small, to)                                                                \
  EMU_ROW("v_cvt_scalef32_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU, 0, EMU_DATA, EMU_DATA, \
          EMU_B32),
#define SOURCES_F32 EMU_F32, EMU_F32
#define SOURCES_F16 EMU_B32
#define SOURCES_BF16 EMU_B32
#define TO(name, from, small)                                                                   \
  EMU_ROW("v_cvt_scalef32_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU, EMU_SELECTS, EMU_B32,  \
          SOURCES_##from, EMU_B32),

const emu_op emu_valu_scaled_ops[] = {
#include "emulator/exec/valu_scaled.def"
  {.name = NULL},
};
