/* Products of matrices whose elements the lanes of a wavefront hold (MFMA).
 *
 * All lanes take part, whatever EXEC says, and MODE has no effect. Where an element lies is the same
 * rule for all instructions (AMD's CDNA 3 ISA manual, "Matrix arithmetic"):
 *
 *   A[i][k] of block b: with s elements a lane, in lane i + m (b + blocks (k / s)), element k % s;
 *   B[k][j]: the same with j and n.
 *   D[i][j]: rows come in strips of 4, of 1 for doubles. A register holds `across` blocks side by
 *   side and of each `strips` strips, in lane j + n (b % across + across ((i / 4) % strips)).
 *
 * Products are exact, and added one after the other, each sum rounded to the nearest of the result's
 * kind: the order is not the silicon's, of which only bounds are published. gfx90a takes halves that
 * are denormal, and results, as zero. */
#include <math.h>

#include "base/dtype.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/rows.h"
#include "emulator/exec/small_float.h"
#include "emulator/exec/stop.h"

typedef enum element { F64, F32, F16, BF16, FP8, BF8, I8, I32 } element;

static const uint8_t bits_of[] = {
    [F64] = 64, [F32] = 32, [F16] = 16, [BF16] = 16, [FP8] = 8, [BF8] = 8, [I8] = 8, [I32] = 32};

/* Flags of an instruction here; those of its row that let modifiers be decoded. */
enum { FLUSHES = 1 << 15, BROADCAST_A = EMU_BROADCASTS_A, BROADCAST_B = EMU_BROADCASTS_B };

typedef struct shape {
  uint8_t m, n, k, blocks; /* k and the others are powers of two */
  uint8_t a, b, sum;       /* element */
  bool flushes;
} shape;

enum { MAX_INPUTS = 2048, MAX_RESULTS = 2048 };

/* ---- inputs ---------------------------------------------------------------------------------- */

static double flush(double x) {
  return fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

/* All kinds are exact as doubles. */
static double value_of(const emu_wave *wave, const shape *s, element kind, uint64_t bits) {
  switch (kind) {
    case F64: return emu_real_of64(bits);
    case F32: return emu_real_of32((uint32_t)bits);
    case F16: {
      bool is_denormal = s->flushes && (bits & 0x7c00) == 0;
      return is_denormal ? 0 : roc_f32_from_f16((uint16_t)bits);
    }
    case BF16:
      return s->flushes ? flush(emu_bf16_value((uint32_t)bits)) : emu_bf16_value((uint32_t)bits);
    case I8: return (int8_t)bits;
    default: {
      emu_small_float small = emu_small_float_of(wave, kind == FP8 ? 3 : 2);
      return emu_small_value(&small, (uint32_t)bits);
    }
  }
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

/* `out`[block][row or column][k]. */
static void read_a(const emu_wave *wave, const emu_inst *inst, const shape *s, double *out) {
  unsigned each = (unsigned)s->m * s->k * s->blocks / EMU_LANES;
  for (unsigned at = 0; at < (unsigned)s->m * s->k * s->blocks; at++) {
    unsigned k = at % s->k, i = at / s->k % s->m, b = block_of_a(&inst->mod, s, at / s->k / s->m);
    unsigned lane = i + s->m * (b + s->blocks * (k / each));
    uint64_t bits = bits_at(wave, &inst->src[0], bits_of[s->a], k % each, lane);
    out[at] = value_of(wave, s, (element)s->a, bits);
  }
}

static void read_b(const emu_wave *wave, const emu_inst *inst, const shape *s, double *out) {
  unsigned each = (unsigned)s->n * s->k * s->blocks / EMU_LANES;
  for (unsigned at = 0; at < (unsigned)s->n * s->k * s->blocks; at++) {
    unsigned k = at % s->k, j = at / s->k % s->n, b = at / s->k / s->n;
    unsigned lane = swizzle_b(inst->mod.blgp, j + s->n * (b + s->blocks * (k / each)));
    uint64_t bits = bits_at(wave, &inst->src[1], bits_of[s->b], k % each, lane);
    out[at] = value_of(wave, s, (element)s->b, bits);
  }
}

/* ---- results --------------------------------------------------------------------------------- */

/* Register (of one element each) and lane of a result. */
typedef struct place {
  unsigned item, lane;
} place;

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

static uint64_t add_floats(const shape *s, const double *a, const double *b, uint64_t sum_bits) {
  float sum = emu_real_of32((uint32_t)sum_bits);
  if (s->flushes) sum = (float)flush(sum);
  for (unsigned k = 0; k < s->k; k++) sum = fmaf((float)a[k], (float)b[k], sum);
  if (s->flushes) sum = (float)flush(sum);
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

static uint64_t add_products(const shape *s, const double *a, const double *b, uint64_t sum) {
  switch (s->sum) {
    case F64: return add_doubles(s, a, b, sum);
    case F32: return add_floats(s, a, b, sum);
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
    uint64_t sum = read_sum(wave, &inst->src[2], s, place_of(s, block, i, j));
    results[at] = add_products(s, row, column, sum);
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
    results[at] = add_products(half, a + i * half->k, column, sum);
  }
  write_results(wave, inst, s, results);
}

/* ---- scaled ones of gfx950 ------------------------------------------------------------------- */

/* Their elements are of a kind that cbsz (of A) and blgp (of B) name. Elements of 6 and 4 bits of a
 * row lie one after the other, 32 a lane; of 8 bits each lane has two runs of 16, the first ones of
 * all lanes before the second ones (AMD's article on matrix cores of CDNA 3 and 4). How 8 bits lie
 * beside fewer is not published, nor which lane scales them where the scales of a row differ: both
 * stop the wavefront. */
typedef struct mini_float {
  uint8_t bits, exponent_bits, mantissa_bits;
} mini_float;

static const mini_float mini_floats[] = {{8, 4, 3}, {8, 5, 2}, {6, 2, 3}, {6, 3, 2}, {4, 2, 1}};

enum { MINI_FLOATS = sizeof mini_floats / sizeof mini_floats[0], EACH = 32, RUN = 16 };

static double mini_value(const emu_wave *wave, const mini_float *kind, uint32_t bits) {
  if (kind->bits == 8) {
    emu_small_float small = emu_small_float_of(wave, kind->mantissa_bits);
    return emu_small_value(&small, bits);
  }
  unsigned m = kind->mantissa_bits, bias = (1u << (kind->exponent_bits - 1)) - 1;
  unsigned exponent = bits >> m & ((1u << kind->exponent_bits) - 1);
  uint32_t digits = (bits & ((1u << m) - 1)) | (exponent ? 1u << m : 0);
  double size = ldexp(digits, (int)(exponent ? exponent : 1) - (int)bias - (int)m);
  return bits >> (kind->bits - 1) & 1 ? -size : size;
}

/* Elements may lie across two registers. */
static uint32_t mini_bits_at(const emu_row *rows, unsigned bits, unsigned n, unsigned lane) {
  unsigned at = n * bits, left = 32 - at % 32;
  uint64_t pair = rows[at / 32].u[lane];
  if (bits > left) pair |= (uint64_t)rows[at / 32 + 1].u[lane] << 32;
  return (uint32_t)(pair >> at % 32) & ((1u << bits) - 1);
}

/* 2^(byte - 127) for each row or column and each 32 of k, of the byte of the scale's word that
 * op_sel and op_sel_hi name; NaN for 255. Without a scale they are 1. */
static bool read_scales(emu_wave *wave, const emu_inst *inst, unsigned n, unsigned rows,
                        bool is_narrow, double out[EMU_LANES]) {
  for (unsigned lane = 0; lane < EMU_LANES; lane++) out[lane] = 1;
  if (inst->op->src[3] == EMU_NONE) return true;
  emu_row room;
  const emu_row *words = emu_src32(wave, inst, 3 + n, &room);
  unsigned byte = (inst->mod.op_sel >> n & 1) + 2 * (inst->mod.op_sel_hi >> n & 1);
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    int exponent = (int)(words->u[lane] >> 8 * byte & 0xff);
    out[lane] = exponent == 255 ? NAN : ldexp(1, exponent - 127);
    bool differs = exponent != (int)(words->u[lane % rows] >> 8 * byte & 0xff);
    if (differs && !is_narrow) {
      emu_stop(
          wave, inst, EMU_FAULT_ILLEGAL, (int)lane,
          "the scales of a row of 8-bit floats differ: which of them a lane's elements take is "
          "not published");
      return false;
    }
  }
  return true;
}

/* `out`[row or column][k] of source n, scaled. */
static bool read_scaled(emu_wave *wave, const emu_inst *inst, unsigned n, unsigned rows, unsigned k,
                        const mini_float *kind, double *out) {
  double scales[EMU_LANES];
  unsigned groups = EMU_LANES / rows;
  bool is_narrow = kind->bits < 8;
  if (!read_scales(wave, inst, n, rows, is_narrow, scales)) return false;
  const emu_row *registers = &wave->v[inst->src[n].reg];
  for (unsigned lane = 0; lane < EMU_LANES; lane++) {
    unsigned row = lane % rows, group = lane / rows;
    for (unsigned e = 0; e < EACH; e++) {
      unsigned at = is_narrow ? group * EACH + e : (e / RUN * groups + group) * RUN + e % RUN;
      uint32_t bits = mini_bits_at(registers, kind->bits, e, lane);
      out[row * k + at] = mini_value(wave, kind, bits) * scales[lane];
    }
  }
  return true;
}

static void multiply_scaled(emu_wave *wave, const emu_inst *inst, const shape *s) {
  double a[MAX_INPUTS], b[MAX_INPUTS];
  uint64_t results[MAX_RESULTS];
  bool is_known = inst->mod.cbsz < MINI_FLOATS && inst->mod.blgp < MINI_FLOATS;
  const mini_float *of_a = &mini_floats[is_known ? inst->mod.cbsz : 0];
  const mini_float *of_b = &mini_floats[is_known ? inst->mod.blgp : 0];
  if (!is_known || (of_a->bits == 8) != (of_b->bits == 8)) {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
             is_known ? "how 8-bit floats lie beside narrower ones in %s is not published"
                      : "%s has a kind of elements that there is not",
             inst->op->name);
    return;
  }
  if (!read_scaled(wave, inst, 0, s->m, s->k, of_a, a)) return;
  if (!read_scaled(wave, inst, 1, s->n, s->k, of_b, b)) return;
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

#define MATRIX(name, m, n, k, blocks, a, b, sum, flags)                                 \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {                        \
    static const shape s = {m, n, k, blocks, a, b, sum, ((flags)&FLUSHES) != 0};        \
    _Static_assert((m) * (k) * (blocks) <= MAX_INPUTS, "the arrays hold all inputs");   \
    _Static_assert((m) * (n) * (blocks) <= MAX_RESULTS, "the array holds all results"); \
    multiply(wave, inst, &s);                                                           \
  }
#define SPARSE(name, m, n, k, a, b, sum)                                   \
  static void run_sparse_##name(emu_wave *wave, const emu_inst *inst) {    \
    static const shape s = {m, n, k, 1, a, b, sum, false};                 \
    static const shape half = {m, n, (k) / 2, 1, a, b, sum, false};        \
    _Static_assert((n) * (k) <= MAX_INPUTS, "the array holds all inputs"); \
    multiply_sparse(wave, inst, &s, &half);                                \
  }
#define SCALED(name, m, n, k)                                    \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    static const shape s = {m, n, k, 1, FP8, FP8, F32, false};   \
    multiply_scaled(wave, inst, &s);                             \
  }
#include "emulator/exec/matrix.def"
#undef MATRIX
#undef SPARSE
#undef SCALED

/* clang-format off */
#define SCALED(name, m, n, k)                                                                    \
  EMU_ROW("v_mfma_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU, BROADCAST_A | BROADCAST_B,      \
          EMU_DATA, EMU_DATA, EMU_DATA, EMU_DATA),                                               \
  EMU_ROW("v_mfma_scale_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU,                           \
          BROADCAST_A | BROADCAST_B | EMU_SELECTS, EMU_DATA, EMU_DATA, EMU_DATA, EMU_DATA,       \
          EMU_B32, EMU_B32),
#define MATRIX(name, m, n, k, blocks, a, b, sum, flags)                                      \
  EMU_ROW("v_mfma_" #name, run_##name, EMU_GFX9, EMU_CLASS_VALU, (flags) & ~FLUSHES, EMU_DATA, \
          EMU_DATA, EMU_DATA, EMU_DATA),

#define SPARSE(name, m, n, k, a, b, sum)                                                        \
  EMU_ROW("v_smfmac_" #name, run_sparse_##name, EMU_GFX9, EMU_CLASS_VALU, BROADCAST_A, EMU_DATA, \
          EMU_DATA, EMU_DATA, EMU_B32),

const emu_op emu_matrix_ops[] = {
#include "emulator/exec/matrix.def"
  {.name = NULL},
};
