/* Products of matrices whose elements the lanes of a wavefront hold (MFMA).
 *
 * All lanes take part, whatever EXEC says, and MODE has no effect. Where an element lies is the same
 * rule for all instructions (AMD's CDNA 3 ISA manual, "Matrix arithmetic"):
 *
 *   A[i][k] of block b: a lane has runs of r elements, of 16 bytes at most; element k % r of a run,
 *   in lane i + m (b + blocks (k / r)), the lanes being gone round as often as they have runs;
 *   B[k][j]: the same with j and n.
 *   D[i][j]: rows come in strips of 4, of 1 for doubles. A register holds `across` blocks side by
 *   side and of each `strips` strips, in lane j + n (b % across + across ((i / 4) % strips)).
 *
 * Products are exact; how they are added is matrix_sum.h's.  That is known of gfx908, gfx90a and
 * gfx942; gfx950 and sparse products are taken to be like the latter, and scaled products are
 * added one after the other. */
#include <math.h>

#include "base/dtype.h"
#include "emulator/exec/matrix_sum.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"
#include "emulator/exec/small_float.h"
#include "emulator/exec/stop.h"

typedef enum element { F64, F32, XF32, F16, BF16, FP8, BF8, I8, I32 } element;

static const uint8_t bits_of[] = {[F64] = 64, [F32] = 32, [XF32] = 32, [F16] = 16, [BF16] = 16,
                                  [FP8] = 8,  [BF8] = 8,  [I8] = 8,    [I32] = 32};

/* How many products are fused, in how many parts; 0: each by itself. */
static const uint8_t fused_group[I32 + 1] = {
    [XF32] = 4, [F16] = 8, [BF16] = 8, [FP8] = 16, [BF8] = 16};
static const uint8_t fused_parts[I32 + 1] = {
    [XF32] = 1, [F16] = 1, [BF16] = 1, [FP8] = 2, [BF8] = 2};

/* Flags of an instruction here: products that are added by groups; those of its row that let
 * modifiers be decoded. */
enum {
  BY_TWO = 1 << 14,
  BY_FOUR = 1 << 15,
  BROADCAST_A = EMU_BROADCASTS_A,
  BROADCAST_B = EMU_BROADCASTS_B,
  NEGATES = EMU_NEGATES
};

typedef struct shape {
  uint8_t m, n, k, blocks; /* k and the others are powers of two */
  uint8_t a, b, sum;       /* element */
  uint8_t group;           /* products that are added by groups of so many, or 0 */
} shape;

enum { MAX_INPUTS = 2048, MAX_RESULTS = 2048 };

/* ---- inputs ---------------------------------------------------------------------------------- */

/* gfx90a takes denormal floats as zero where products are added by groups. */
static bool does_flush(const emu_wave *wave, const shape *s) {
  const emu_chip *chip = wave->group->dispatch->chip;
  return s->group > 0 && chip->minor == 0 && chip->stepping == 10;
}

static emu_small_float small_float(const emu_wave *wave, element kind) {
  return emu_small_float_of(wave, kind == FP8 ? 3 : 2);
}

/* The exponent of the least normal number. */
static int16_t least_exponent(const emu_wave *wave, element kind) {
  if (kind == F16) return -14;
  if (kind != FP8 && kind != BF8) return -126;
  return (int16_t)(1 - small_float(wave, kind).bias);
}

/* All kinds are exact as doubles; those of 32 bits that are multiplied as 19 lose the others. */
static double real_of(const emu_wave *wave, element kind, uint64_t bits) {
  switch (kind) {
    case F64: return emu_real_of64(bits);
    case F32: return emu_real_of32((uint32_t)bits);
    case XF32: return emu_real_of32((uint32_t)bits & ~0x1fffu);
    case F16: return roc_f32_from_f16((uint16_t)bits);
    case BF16: return emu_bf16_value((uint32_t)bits);
    case I8: return (int8_t)bits;
    default: {
      emu_small_float small = small_float(wave, kind);
      return emu_small_value(&small, (uint32_t)bits);
    }
  }
}

/* An element of source n. */
static double value_of(const emu_wave *wave, const emu_inst *inst, const shape *s, unsigned n,
                       uint64_t bits) {
  element kind = (element)(n == 0 ? s->a : s->b);
  double value = real_of(wave, kind, bits);
  if (inst->mod.neg_lo >> n & 1) return -value;
  if (!does_flush(wave, s)) return value;
  return fabs(value) < ldexp(1, least_exponent(wave, kind)) ? 0 : value;
}

static uint64_t bits_at(const emu_wave *wave, const emu_operand *operand, unsigned bits, unsigned n,
                        unsigned lane) {
  const emu_row *rows = &wave->v[operand->reg];
  if (bits == 64) return rows[2 * n].u[lane] | (uint64_t)rows[2 * n + 1].u[lane] << 32;
  uint32_t word = rows[n * bits / 32].u[lane] >> (n * bits % 32);
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

/* The lane that blgp lets a lane of B read instead. */
static unsigned swizzle_b(unsigned blgp, unsigned lane) {
  switch (blgp) {
    case 0: return lane;
    case 1: return lane % 32;
    case 2: return 32 + lane % 32;
    case 3: return (lane + 16) % EMU_LANES;
    default: return 16 * (blgp - 4) + lane % 16;
  }
}

/* The block of A that block b uses: cbsz makes groups of 2^cbsz, abid chooses one of each. */
static unsigned block_of_a(const emu_modifiers *mod, const shape *s, unsigned b) {
  unsigned group = 1u << mod->cbsz;
  return ((b & ~(group - 1)) | (mod->abid & (group - 1))) % s->blocks;
}

/* Which of a lane's elements, and how many lanes of the same row or column before it, k is: a lane
 * has `each` of `depth`. */
typedef struct place {
  unsigned item, lane;
} place;

static place input_place(unsigned k, unsigned depth, unsigned each, unsigned bits) {
  bool has_runs = bits >= 8 && each * bits > 128; /* narrower ones lie in one */
  unsigned run = has_runs ? 128 / bits : each, lanes = depth / each;
  return (place){.item = k / (run * lanes) * run + k % run, .lane = k / run % lanes};
}

/* `out`[block][row or column][k]. */
static void read_a(const emu_wave *wave, const emu_inst *inst, const shape *s, double *out) {
  unsigned each = (unsigned)s->m * s->k * s->blocks / EMU_LANES, bits = bits_of[s->a];
  for (unsigned at = 0; at < (unsigned)s->m * s->k * s->blocks; at++) {
    unsigned k = at % s->k, i = at / s->k % s->m, b = block_of_a(&inst->mod, s, at / s->k / s->m);
    place from = input_place(k, s->k, each, bits);
    unsigned lane = i + s->m * (b + s->blocks * from.lane);
    uint64_t word = bits_at(wave, &inst->src[0], bits, from.item, lane);
    out[at] = value_of(wave, inst, s, 0, word);
  }
}

static void read_b(const emu_wave *wave, const emu_inst *inst, const shape *s, double *out) {
  unsigned each = (unsigned)s->n * s->k * s->blocks / EMU_LANES, bits = bits_of[s->b];
  for (unsigned at = 0; at < (unsigned)s->n * s->k * s->blocks; at++) {
    unsigned k = at % s->k, j = at / s->k % s->n, b = at / s->k / s->n;
    place from = input_place(k, s->k, each, bits);
    unsigned lane = swizzle_b(inst->mod.blgp, j + s->n * (b + s->blocks * from.lane));
    uint64_t word = bits_at(wave, &inst->src[1], bits, from.item, lane);
    out[at] = value_of(wave, inst, s, 1, word);
  }
}

/* ---- results --------------------------------------------------------------------------------- */

/* Register (of one element each) and lane of a result. */
static place place_of(const shape *s, unsigned b, unsigned i, unsigned j) {
  unsigned strip = s->sum == F64 ? 1 : 4;
  unsigned lanes = (unsigned)s->m * s->n / strip; /* of a block, if its strips lay side by side */
  unsigned across = lanes < EMU_LANES ? EMU_LANES / lanes : 1;
  unsigned strips = EMU_LANES / across / s->n, rounds = s->m / (strip * strips);
  return (place){
      .item = i % strip + strip * (i / (strip * strips) % rounds + rounds * (b / across)),
      .lane = j + s->n * (b % across + across * (i / strip % strips)),
  };
}

static uint64_t read_sum(const emu_wave *wave, const emu_operand *c, const shape *s, place at) {
  if (c->kind != EMU_OPERAND_VGPR) return c->value;
  return bits_at(wave, c, bits_of[s->sum], at.item, at.lane);
}

/* C of a dense product, which doubles may negate. */
static uint64_t read_c(const emu_wave *wave, const emu_inst *inst, const shape *s, place at) {
  uint64_t bits = read_sum(wave, &inst->src[2], s, at);
  return inst->mod.neg_lo >> 2 & 1 ? bits ^ (uint64_t)1 << 63 : bits;
}

static uint64_t add_floats(const emu_wave *wave, const shape *s, const double *a, const double *b,
                           uint64_t sum_bits) {
  float sum = emu_real_of32((uint32_t)sum_bits);
  bool flushes = does_flush(wave, s);
  if (flushes && fabsf(sum) < 0x1p-126f) sum = 0;
  if (s->group > 0) {
    sum = emu_sum_by_groups(a, b, s->k, s->group, flushes, sum);
  } else if (fused_group[s->a] > 0) {
    emu_fused how = {.group = fused_group[s->a],
                     .parts = fused_parts[s->a],
                     .least_a = least_exponent(wave, (element)s->a),
                     .least_b = least_exponent(wave, (element)s->b)};
    sum = emu_sum_fused(a, b, s->k, &how, sum);
  } else {
    sum = emu_sum_in_order(a, b, s->k, sum);
  }
  return emu_bits_of32(sum);
}

static uint64_t add_doubles(const shape *s, const double *a, const double *b, uint64_t sum_bits) {
  double sum = emu_real_of64(sum_bits);
  for (unsigned k = 0; k < s->k; k++) sum = fma(a[k], b[k], sum);
  return emu_bits_of64(sum);
}

static uint64_t add_integers(const shape *s, const double *a, const double *b, uint64_t sum) {
  for (unsigned k = 0; k < s->k; k++) sum += (uint64_t)((int64_t)a[k] * (int64_t)b[k]);
  return (uint32_t)sum;
}

static uint64_t add_products(const emu_wave *wave, const shape *s, const double *a, const double *b,
                             uint64_t sum) {
  switch (s->sum) {
    case F64: return add_doubles(s, a, b, sum);
    case F32: return add_floats(wave, s, a, b, sum);
    default: return add_integers(s, a, b, sum);
  }
}

static void write_results(emu_wave *wave, const emu_inst *inst, const shape *s,
                          const uint64_t *results) {
  emu_row *rows = &wave->v[inst->dst[0].reg];
  for (unsigned at = 0; at < (unsigned)s->m * s->n * s->blocks; at++) {
    place to = place_of(s, at / s->n / s->m, at / s->n % s->m, at % s->n);
    if (s->sum == F64) {
      rows[2 * to.item].u[to.lane] = (uint32_t)results[at];
      rows[2 * to.item + 1].u[to.lane] = (uint32_t)(results[at] >> 32);
    } else {
      rows[to.item].u[to.lane] = (uint32_t)results[at];
    }
  }
}

/* The result may overlap a source: it is written when all are read. */
static void multiply(emu_wave *wave, const emu_inst *inst, const shape *s) {
  double a[MAX_INPUTS], b[MAX_INPUTS];
  uint64_t results[MAX_RESULTS];
  if (s->sum == F64 && inst->src[2].kind == EMU_OPERAND_CONST && inst->src[2].value != 0) {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "a constant but 0 is added to products of doubles");
    return;
  }
  read_a(wave, inst, s, a);
  read_b(wave, inst, s, b);
  for (unsigned at = 0; at < (unsigned)s->m * s->n * s->blocks; at++) {
    unsigned j = at % s->n, i = at / s->n % s->m, block = at / s->n / s->m;
    const double *row = a + (block * s->m + i) * s->k, *column = b + (block * s->n + j) * s->k;
    uint64_t sum = read_c(wave, inst, s, place_of(s, block, i, j));
    results[at] = add_products(wave, s, row, column, sum);
  }
  write_results(wave, inst, s, results);
}

/* ---- sparse ones ----------------------------------------------------------------------------- */

/* The column of A that its element n of row i stands for, an element being one of two of a group of
 * four.  The indices of a lane's elements, two bits each, lie in the word of the third source, from
 * the set on that abid chooses while cbsz is 0. */
static unsigned column_of(const emu_wave *wave, const emu_inst *inst, const shape *half, unsigned i,
                          unsigned n) {
  unsigned each = (unsigned)half->m * half->k / EMU_LANES, set_bits = 2 * each;
  unsigned set = inst->mod.cbsz == 0 ? inst->mod.abid % (32 / set_bits) : 0;
  uint32_t word = wave->v[inst->src[2].reg].u[i + half->m * (n / each)];
  return n / 2 * 4 + (word >> (set * set_bits + n % each * 2) & 3);
}

/* `half` is A as it is given, with half the columns. */
static void multiply_sparse(emu_wave *wave, const emu_inst *inst, const shape *s,
                            const shape *half) {
  double a[MAX_INPUTS], b[MAX_INPUTS], column[UINT8_MAX];
  uint64_t results[MAX_RESULTS];
  emu_inst plain = *inst; /* whose cbsz and abid are not about blocks */
  plain.mod.cbsz = plain.mod.abid = 0;
  read_a(wave, &plain, half, a);
  read_b(wave, &plain, s, b);
  for (unsigned at = 0; at < (unsigned)s->m * s->n; at++) {
    unsigned j = at % s->n, i = at / s->n;
    for (unsigned n = 0; n < half->k; n++) {
      column[n] = b[j * s->k + column_of(wave, inst, half, i, n)];
    }
    uint64_t sum = read_sum(wave, &inst->dst[0], s, place_of(s, 0, i, j));
    results[at] = add_products(wave, half, a + i * half->k, column, sum);
  }
  write_results(wave, inst, s, results);
}

/* ---- scaled ones of gfx950 ------------------------------------------------------------------- */

/* Their elements are of a kind that cbsz (of A) and blgp (of B) name. Elements of 6 and 4 bits of a
 * row lie one after the other, 32 a lane; of 8 bits each lane has two runs of 16, the first ones of
 * all lanes before the second ones (AMD's article on matrix cores of CDNA 3 and 4).  The scale of a
 * row's k to k + 31 is that of the row's lane k / 32, wherever the elements lie. */
typedef struct mini_float {
  uint8_t bits, exponent_bits, mantissa_bits;
} mini_float;

static const mini_float mini_floats[] = {{8, 4, 3}, {8, 5, 2}, {6, 2, 3}, {6, 3, 2}, {4, 2, 1}};

enum { MINI_FLOATS = sizeof mini_floats / sizeof mini_floats[0], EACH = 32 /* of a lane */ };

static double mini_value(const emu_wave *wave, const mini_float *kind, uint32_t bits) {
  if (kind->bits == 8) {
    emu_small_float small = emu_small_float_of(wave, kind->mantissa_bits);
    return emu_small_value(&small, bits);
  }
  emu_small_float small =
      emu_small_format(kind->exponent_bits, kind->mantissa_bits, EMU_SPECIALS_NONE);
  return emu_small_value(&small, bits);
}

/* 2^(byte - 127) in each lane, of the byte of the scale's word that op_sel and op_sel_hi name; NaN
 * for 255. Without a scale they are 1. */
static void read_scales(emu_wave *wave, const emu_inst *inst, unsigned n, double out[EMU_LANES]) {
  for (unsigned lane = 0; lane < EMU_LANES; lane++) out[lane] = 1;
  if (inst->op->src[3] == EMU_NONE) return;
  emu_row room;
  const emu_row *words = emu_src32(wave, inst, 3 + n, &room);
  unsigned byte = (inst->mod.op_sel >> n & 1) + 2 * (inst->mod.op_sel_hi >> n & 1);
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    int exponent = (int)(words->u[lane] >> 8 * byte & 0xff);
    out[lane] = exponent == 255 ? NAN : ldexp(1, exponent - 127);
  }
}

/* `out`[row or column][k] of source n, scaled. */
static void read_scaled(emu_wave *wave, const emu_inst *inst, unsigned n, unsigned rows, unsigned k,
                        const mini_float *kind, double *out) {
  double scales[EMU_LANES];
  read_scales(wave, inst, n, scales);
  const emu_row *registers = &wave->v[inst->src[n].reg];
  for (unsigned at = 0; at < rows * k; at++) {
    unsigned row = at / k, depth = at % k;
    place from = input_place(depth, k, EACH, kind->bits);
    uint32_t bits = emu_bits_at(registers, kind->bits, from.item, row + rows * from.lane);
    out[at] = mini_value(wave, kind, bits) * scales[row + rows * (depth / EACH)];
  }
}

static void multiply_scaled(emu_wave *wave, const emu_inst *inst, const shape *s) {
  double a[MAX_INPUTS], b[MAX_INPUTS];
  uint64_t results[MAX_RESULTS];
  if (inst->mod.cbsz >= MINI_FLOATS || inst->mod.blgp >= MINI_FLOATS) {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "%s has a kind of elements that there is not",
             inst->op->name);
    return;
  }
  read_scaled(wave, inst, 0, s->m, s->k, &mini_floats[inst->mod.cbsz], a);
  read_scaled(wave, inst, 1, s->n, s->k, &mini_floats[inst->mod.blgp], b);
  for (unsigned at = 0; at < (unsigned)s->m * s->n; at++) {
    unsigned i = at / s->n, j = at % s->n;
    uint64_t bits = read_sum(wave, &inst->src[2], s, place_of(s, 0, i, j));
    float sum = emu_real_of32((uint32_t)bits);
    for (unsigned k = 0; k < s->k; k++) sum = (float)fma(a[i * s->k + k], b[j * s->k + k], sum);
    results[at] = emu_bits_of32(sum);
  }
  write_results(wave, inst, s, results);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define GROUP(flags) ((flags)&BY_FOUR ? 4 : (flags)&BY_TWO ? 2 : 0)
#define MATRIX(name, m, n, k, blocks, a, b, sum, flags)                                 \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {                        \
    static const shape s = {m, n, k, blocks, a, b, sum, GROUP(flags)};                  \
    _Static_assert((m) * (k) * (blocks) <= MAX_INPUTS, "the arrays hold all inputs");   \
    _Static_assert((m) * (n) * (blocks) <= MAX_RESULTS, "the array holds all results"); \
    multiply(wave, inst, &s);                                                           \
  }
#define SPARSE(name, m, n, k, a, b, sum)                                   \
  static void run_sparse_##name(emu_wave *wave, const emu_inst *inst) {    \
    static const shape s = {m, n, k, 1, a, b, sum, 0};                     \
    static const shape half = {m, n, (k) / 2, 1, a, b, sum, 0};            \
    _Static_assert((n) * (k) <= MAX_INPUTS, "the array holds all inputs"); \
    multiply_sparse(wave, inst, &s, &half);                                \
  }
#define SCALED(name, m, n, k)                                    \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    static const shape s = {m, n, k, 1, FP8, FP8, F32, 0};       \
    multiply_scaled(wave, inst, &s);                             \
  }
#include "emulator/exec/matrix.def"
#undef MATRIX
#undef SPARSE
#undef SCALED
#undef GROUP

/* clang-format off */
#define SCALED(name, m, n, k)                                                                    \
  EMU_ROW("v_mfma_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU, BROADCAST_A | BROADCAST_B,      \
          EMU_DATA, EMU_DATA, EMU_DATA, EMU_DATA),                                               \
  EMU_ROW("v_mfma_scale_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU,                           \
          BROADCAST_A | BROADCAST_B | EMU_SELECTS, EMU_DATA, EMU_DATA, EMU_DATA, EMU_DATA,       \
          EMU_B32, EMU_B32),
#define MATRIX(name, m, n, k, blocks, a, b, sum, flags)                                      \
  EMU_ROW("v_mfma_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU, (flags) & ~(BY_TWO | BY_FOUR), EMU_DATA, \
          EMU_DATA, EMU_DATA, EMU_DATA),

#define SPARSE(name, m, n, k, a, b, sum)                                                        \
  EMU_ROW("v_smfmac_" #name, run_sparse_##name, EMU_GFX9, EMU_CLASS_VALU, BROADCAST_A, EMU_DATA, \
          EMU_DATA, EMU_DATA, EMU_B32),

const emu_op emu_matrix_ops[] = {
#include "emulator/exec/matrix.def"
  {.name = NULL},
};
