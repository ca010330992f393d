/* Conversions of gfx950 with a scale, which is the exponent of a float: 2^(exponent - 127), its sign
 * and mantissa have no effect, and NaN where the exponent has all bits set.
 *
 * op_sel says which bytes or halves of a register the small floats are; those that a result does
 * not fill are kept.  Results are rounded to nearest, ties to even, or by a random number, of which
 * as many bits take part as the small float's mantissa is shorter; each of several results has its
 * own, which follows that of the one before. */
#include <math.h>

#include "emulator/exec/access.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"
#include "emulator/exec/small_float.h"
#include "emulator/exec/stop.h"
#include "emulator/exec/valu_int.h"

typedef enum kind { F32, F16, BF16, FP8, BF8, FP6, BF6, FP4 } kind;

static const uint8_t mantissa_bits[] = {[F32] = 23, [F16] = 10, [BF16] = 7};

enum { DESTINATION = 8 /* its bit of op_sel */ };

static double scale_of(uint32_t bits, int sign) {
  int exponent = (int)(bits >> 23 & 0xff);
  return exponent == 0xff ? NAN : ldexp(1, sign * (exponent - 127));
}

static emu_small_float format_of(const emu_wave *wave, kind small) {
  switch (small) {
    case FP4: return emu_small_format(2, 1, EMU_SPECIALS_NONE);
    case FP6: return emu_small_format(2, 3, EMU_SPECIALS_NONE);
    case BF6: return emu_small_format(3, 2, EMU_SPECIALS_NONE);
    default: return emu_small_float_of(wave, small == FP8 ? 3 : 2);
  }
}

static unsigned width_of(kind small) {
  return small == FP4 ? 4 : small == FP6 || small == BF6 ? 6 : 8;
}

static uint32_t bits_of(kind to, float value) {
  if (to == F32) return emu_bits_of32(value);
  return to == F16 ? emu_narrow_nearest(emu_bits_of32(value)) : emu_bf16_round(value);
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
  emu_small_float format = format_of(wave, small);
  unsigned at = first_bit(inst, small, count), width = width_of(small);
  uint32_t mask = (1u << width) - 1;
  for (int lane = 0; lane < wave->width; lane++) {
    double scale = scale_of(scales->u[lane], 1);
    uint32_t word = bytes->u[lane] >> at, next = count == 2 ? word >> width : 0;
    uint32_t low = bits_of(to, (float)(emu_small_value(&format, word & mask) * scale));
    uint32_t high = bits_of(to, (float)(emu_small_value(&format, next & mask) * scale));
    wide.u[lane] = low | (uint64_t)high << 32;
    out.u[lane] = to == F32 || count == 1 ? low : low | high << 16;
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
  emu_small_float format = format_of(wave, small);
  unsigned nwords = to == F32 ? COUNT : COUNT / 2, width = to == F32 ? 32 : 16;
  uint64_t exec = emu_exec(wave);
  EMU_FOR_ACTIVE(lane, exec) {
    double scale = scale_of(scales->u[lane], 1);
    uint32_t words[COUNT] = {0};
    for (unsigned n = 0; n < COUNT; n++) {
      float value = emu_small_value(&format, emu_bits_at(from, WIDTH, n, (unsigned)lane));
      emu_add_bits(words, width, n, bits_of(to, (float)(value * scale)));
    }
    for (unsigned n = 0; n < nwords; n++) out[n].u[lane] = words[n];
  }
}

/* ---- to small ones --------------------------------------------------------------------------- */

/* Where the numbers come from. */
typedef enum origin { PAIR, CHANCE_ONE, CHANCE_PAIR, ALL, HALVES, CHANCE_ALL } origin;

typedef struct numbers {
  const emu_row *rows[2]; /* their registers: of the first source, and of the second one where */
  bool do_alternate;      /* numbers are of the two in turns */
  bool have_chance;       /* a source with a random number follows them */
  uint8_t count;
  uint8_t from; /* kind */
} numbers;

/* Sources that may be constants are made in the rooms. */
static numbers read_numbers(emu_wave *wave, const emu_inst *inst, kind from, origin where,
                            emu_row rooms[2]) {
  static const uint8_t counts[] = {[PAIR] = 2, [CHANCE_ONE] = 1, [CHANCE_PAIR] = 2,
                                   [ALL] = 32, [HALVES] = 32,    [CHANCE_ALL] = 32};
  numbers all = {.do_alternate = from == F32 && (where == PAIR || where == HALVES),
                 .have_chance = where == CHANCE_ONE || where == CHANCE_PAIR || where == CHANCE_ALL,
                 .count = counts[where],
                 .from = (uint8_t)from};
  for (unsigned n = 0; n <= all.do_alternate; n++) {
    const emu_operand *operand = &inst->src[n];
    bool is_range = operand->kind == EMU_OPERAND_VGPR && operand->nregs > 1;
    all.rows[n] = is_range ? &wave->v[operand->reg] : emu_src32(wave, inst, n, &rooms[n]);
  }
  return all;
}

static double number_at(const numbers *all, unsigned n, unsigned lane) {
  if (all->from == F32) {
    return all->do_alternate ? all->rows[n % 2][n / 2].f[lane] : all->rows[0][n].f[lane];
  }
  uint32_t half = emu_bits_at(all->rows[0], 16, n, lane);
  return all->from == F16 ? emu_real_of32(emu_widen(half)) : emu_bf16_value(half);
}

/* A lane's results, one after the other from the first word's first bit on. */
static void convert_lane(const numbers *all, const emu_small_float *format, unsigned lane,
                         double scale, uint32_t random, uint32_t *words) {
  unsigned width = format->exponent_bits + format->mantissa_bits + 1u;
  unsigned nrandom = all->have_chance ? mantissa_bits[all->from] - format->mantissa_bits : 0;
  for (unsigned n = 0; n < all->count; n++) {
    double number = number_at(all, n, lane) * scale;
    emu_add_bits(words, width, n, emu_small_round(format, number, nrandom, random));
    random = emu_next_random(random);
  }
}

static void convert_to(emu_wave *wave, const emu_inst *inst, kind from, kind small, origin where) {
  enum { NWORDS = 6 };
  emu_row rooms[4], out;
  if (from == F32 && where == CHANCE_PAIR && inst->src[0].kind != EMU_OPERAND_VGPR) {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "%s has a constant for a pair", inst->op->name);
    return;
  }
  numbers all = read_numbers(wave, inst, from, where, rooms);
  emu_small_float format = format_of(wave, small);
  unsigned next = 1u + all.do_alternate;
  const emu_row *random = emu_src32(wave, inst, next, &rooms[2]);
  const emu_row *scales = emu_src32(wave, inst, next + all.have_chance, &rooms[3]);
  uint64_t exec = emu_exec(wave);
  EMU_FOR_ACTIVE(lane, exec) {
    uint32_t words[NWORDS] = {0};
    double scale = scale_of(scales->u[lane], -1);
    convert_lane(&all, &format, (unsigned)lane, scale, random->u[lane], words);
    out.u[lane] = words[0];
    emu_row *range = &wave->v[inst->dst[0].reg];
    for (unsigned n = 0; n < NWORDS && all.count == 32; n++) range[n].u[lane] = words[n];
  }
  if (all.count == 32) return;
  if (all.count * width_of(small) == 8) emu_insert_byte(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define DEFINE(name, call)                                       \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    call;                                                        \
  }
#define FROM(name, small, to, count) DEFINE(name, convert_from(wave, inst, small, to, count))
#define FROM_32(name, small, to) DEFINE(name, convert_32_from(wave, inst, small, to))
#define TO(name, from, small, sources) DEFINE(name, convert_to(wave, inst, from, small, sources))
#define TO_32(name, from, small, sources) TO(name, from, small, sources)
#include "emulator/exec/valu_scaled.def"
#undef FROM
#undef FROM_32
#undef TO
#undef TO_32

/* clang-format off */
#define ROW(name, flags, to, ...)                                                      \
  EMU_ROW("v_cvt_scalef32_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU, flags, to, __VA_ARGS__),
#define RESULT(to, count) \
  (to) == F32 ? (count) == 2 ? EMU_B64 : EMU_B32 : (count) == 2 ? EMU_B32 : EMU_B16
#define FROM(name, small, to, count) \
  ROW(name, EMU_SELECTS | EMU_KEEPS_HIGH, RESULT(to, count), EMU_B32, EMU_B32)
#define FROM_32(name, small, to) ROW(name, 0, EMU_DATA, EMU_DATA, EMU_B32)
/* two 8-bit floats fill a half, all others a byte */
#define FILLED(small, sources) \
  (sources) == PAIR && ((small) == FP8 || (small) == BF8) ? EMU_B16 : EMU_B32
#define TO(name, from, small, sources)                                                           \
  ROW(name, EMU_SELECTS_DST | EMU_KEEPS_HIGH, FILLED(small, sources), sources##_##from, EMU_B32)
#define TO_32(name, from, small, sources) ROW(name, 0, EMU_DATA, sources, EMU_B32)
#define PAIR_F32 EMU_F32, EMU_F32
#define PAIR_F16 EMU_V2B16
#define PAIR_BF16 EMU_V2B16
#define CHANCE_ONE_F32 EMU_F32, EMU_B32
#define CHANCE_ONE_F16 EMU_F16, EMU_B32
#define CHANCE_ONE_BF16 EMU_B16, EMU_B32
#define CHANCE_PAIR_F32 EMU_V2F32, EMU_B32
#define CHANCE_PAIR_F16 EMU_V2B16, EMU_B32
#define CHANCE_PAIR_BF16 EMU_V2B16, EMU_B32
#define ALL EMU_DATA
#define HALVES EMU_DATA, EMU_DATA
#define CHANCE_ALL EMU_DATA, EMU_B32

const emu_op emu_valu_scaled_ops[] = {
#include "emulator/exec/valu_scaled.def"
  {.name = NULL},
};
