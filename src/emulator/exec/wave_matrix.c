/* Products of matrices of 16 rows and 16 columns, which gfx11 and gfx12 have (WMMA), and gfx12 with
 * a sparse A (SWMMAC).
 *
 * All lanes take part, whatever EXEC says, and MODE has no effect. Lanes come in sets of 16, two
 * or four of them; a lane's number in its set is its row of A, its column of B and of the result.
 * Where the other index lies differs (AMD's RDNA 3 and RDNA 4 ISA manuals, and its calculator of
 * matrix instructions):
 *
 *   gfx11: each set holds all of A and of B (the first one's is read here), and the rows of the
 *   result go round the sets; a half of the result lies in the half of its register that op_sel
 *   says.
 *   gfx12: A, B and the result are spread over the sets: element_of and place_of. Halves of the
 *   result are packed.
 *
 * neg_lo and neg_hi negate the even and the odd halves of A and B; of C, neg_lo negates and neg_hi
 * takes the magnitude. Of integers neg_lo says which factor has a sign.  Products are exact, and
 * added one after the other in order of k, each sum rounded to the nearest float, a result of 16
 * bits once more at the end: the order is not the silicon's, which is not published. */
#include <math.h>

#include "emulator/exec/float.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/small_float.h"

typedef enum element { F32, F16, BF16, FP8, BF8, I8, I4, I32 } element;

static const uint8_t bits_of[] = {
    [F32] = 32, [F16] = 16, [BF16] = 16, [FP8] = 8, [BF8] = 8, [I8] = 8, [I4] = 4, [I32] = 32};

enum { ROWS = 16, COLUMNS = 16, MAX_K = 64, SET = 16 /* lanes */, C = 2 /* its source */ };

/* Halves that a lane has one after the other, of dense matrices and of a sparse A, and of a sparse
 * A's B. */
enum { HALVES = 4, HALVES_OF_SPARSE = 8 };

typedef struct shape {
  uint8_t k;
  uint8_t a, b, sum; /* element */
} shape;

/* An element's place: which of its lane's, and its lane less the row or column. */
typedef struct place {
  unsigned item, lane;
} place;

static bool is_spread(const emu_inst *inst) {
  return inst->chip == EMU_GFX12;
}

/* Of the sets of a wavefront of 64 the upper two come between the lower ones in order. */
static unsigned lane_of_part(const emu_wave *wave, unsigned part) {
  return wave->width == 64 ? 32 * (part % 2) + SET * (part / 2) : SET * part;
}

/* ---- factors --------------------------------------------------------------------------------- */

/* Where A[i][k] or B[k][j] lies, less i or j, with `depth` of k.  Of halves each lane gets `halves`
 * in turn, of smaller elements one run, which fills a register at least. */
static place element_of(const emu_wave *wave, const emu_inst *inst, unsigned depth, unsigned halves,
                        unsigned bits, unsigned k) {
  unsigned sets = wave->width / SET, run = depth / sets;
  if (!is_spread(inst)) return (place){k, 0};
  if (bits == 16)
    return (place){k / (halves * sets) * halves + k % halves, k / halves % sets * SET};
  if (run * bits < 32) return (place){k % (32 / bits), k / (32 / bits) * SET};
  return (place){k % run, lane_of_part(wave, k / run)};
}

static uint32_t bits_at(const emu_wave *wave, unsigned reg, unsigned bits, place at,
                        unsigned column) {
  uint32_t word = wave->v[reg + at.item * bits / 32].u[at.lane + column];
  return bits == 32 ? word : word >> at.item * bits % 32 & ((1u << bits) - 1);
}

static int32_t integer_of(uint32_t field, unsigned bits, bool is_signed) {
  return is_signed ? (int32_t)(field << (32 - bits)) >> (32 - bits) : (int32_t)field;
}

/* An element of source n; all kinds are exact as floats. */
static float value_of(const emu_wave *wave, const emu_inst *inst, unsigned n, element kind,
                      unsigned item, uint32_t bits) {
  bool is_negated = (item % 2 ? inst->mod.neg_hi : inst->mod.neg_lo) >> n & 1;
  switch (kind) {
    case F16: return emu_real_of32(emu_widen(is_negated ? bits ^ 0x8000 : bits));
    case BF16: return emu_bf16_value(is_negated ? bits ^ 0x8000 : bits);
    case I8:
    case I4: return (float)integer_of(bits, bits_of[kind], inst->mod.neg_lo >> n & 1);
    default: {
      emu_small_float small = emu_small_float_of(wave, kind == FP8 ? 3 : 2);
      return emu_small_value(&small, bits);
    }
  }
}

/* `out`[row or column][k] of source n. */
static void read_factor(const emu_wave *wave, const emu_inst *inst, unsigned depth, unsigned halves,
                        unsigned n, element kind, float out[][MAX_K]) {
  for (unsigned k = 0; k < depth; k++) {
    place at = element_of(wave, inst, depth, halves, bits_of[kind], k);
    for (unsigned i = 0; i < ROWS; i++) {
      uint32_t bits = bits_at(wave, inst->src[n].reg, bits_of[kind], at, i);
      out[i][k] = value_of(wave, inst, n, kind, at.item, bits);
    }
  }
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Where row i of C and D lies; of halves the item counts halves of registers. */
static place place_of(const emu_wave *wave, const emu_inst *inst, const shape *s, unsigned i) {
  unsigned sets = wave->width / SET, each = ROWS / sets;
  if (is_spread(inst)) return (place){i % each, lane_of_part(wave, i / each)};
  unsigned half = inst->mod.op_sel >> C & 1;
  bool is_half = bits_of[s->sum] == 16;
  return (place){is_half ? 2 * (i / sets) + half : i / sets, i % sets * SET};
}

/* An inline constant as an element: the decoder gives floats as those of 32 bits. */
static uint32_t constant_of(const emu_operand *operand, element kind) {
  uint32_t bits = (uint32_t)operand->value;
  bool is_integer = (int32_t)bits >= -16 && (int32_t)bits <= 64;
  if (is_integer || kind == F32 || kind == I32) return bits;
  return kind == F16 ? emu_narrow_nearest(bits) : bits >> 16;
}

static uint32_t read_sum(const emu_wave *wave, const emu_inst *inst, const emu_operand *c,
                         const shape *s, place at, unsigned column) {
  uint32_t bits = c->kind == EMU_OPERAND_VGPR ? bits_at(wave, c->reg, bits_of[s->sum], at, column)
                                              : constant_of(c, (element)s->sum);
  if (s->sum == I32) return bits;
  uint32_t sign = bits_of[s->sum] == 16 ? 0x8000 : 0x80000000;
  if (inst->mod.neg_hi >> C & 1) bits &= ~sign;
  return inst->mod.neg_lo >> C & 1 ? bits ^ sign : bits;
}

static uint32_t add_floats(const shape *s, const float *a, const float *b, uint32_t bits) {
  float sum = s->sum == F16    ? emu_real_of32(emu_widen(bits & 0xffff))
              : s->sum == BF16 ? emu_bf16_value(bits & 0xffff)
                               : emu_real_of32(bits);
  for (unsigned k = 0; k < s->k; k++) sum = fmaf(a[k], b[k], sum);
  if (s->sum == F16) return emu_narrow_nearest(emu_bits_of32(sum));
  return s->sum == BF16 ? emu_bf16_round(sum) : emu_bits_of32(sum);
}

static uint32_t add_integers(const shape *s, const float *a, const float *b, uint32_t bits,
                             bool clamp) {
  int64_t sum = (int32_t)bits;
  for (unsigned k = 0; k < s->k; k++) sum += (int64_t)a[k] * (int64_t)b[k];
  if (clamp) sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
  return (uint32_t)sum;
}

static uint32_t add_products(const emu_inst *inst, const shape *s, const float *a, const float *b,
                             uint32_t sum) {
  return s->sum == I32 ? add_integers(s, a, b, sum, inst->mod.clamp) : add_floats(s, a, b, sum);
}

static void write_result(emu_wave *wave, const emu_inst *inst, const shape *s, place to,
                         unsigned column, uint32_t value) {
  unsigned bits = bits_of[s->sum], shift = to.item * bits % 32;
  uint32_t *word = &wave->v[inst->dst[0].reg + to.item * bits / 32].u[to.lane + column];
  uint32_t mask = (bits == 32 ? UINT32_MAX : 0xffffu) << shift;
  *word = (*word & ~mask) | (value << shift & mask);
}

static void write_results(emu_wave *wave, const emu_inst *inst, const shape *s,
                          uint32_t results[ROWS][COLUMNS]) {
  for (unsigned i = 0; i < ROWS; i++) {
    place to = place_of(wave, inst, s, i);
    for (unsigned j = 0; j < COLUMNS; j++) write_result(wave, inst, s, to, j, results[i][j]);
  }
}

/* The result may overlap a source: it is written when all are read. */
static void multiply(emu_wave *wave, const emu_inst *inst, const shape *s) {
  float a[ROWS][MAX_K], b[COLUMNS][MAX_K];
  uint32_t results[ROWS][COLUMNS];
  read_factor(wave, inst, s->k, HALVES, 0, (element)s->a, a);
  read_factor(wave, inst, s->k, HALVES, 1, (element)s->b, b);
  for (unsigned i = 0; i < ROWS; i++) {
    place at = place_of(wave, inst, s, i);
    for (unsigned j = 0; j < COLUMNS; j++) {
      uint32_t sum = read_sum(wave, inst, &inst->src[C], s, at, j);
      results[i][j] = add_products(inst, s, a[i], b[j], sum);
    }
  }
  write_results(wave, inst, s, results);
}

/* ---- sparse ones ----------------------------------------------------------------------------- */

/* `half`: of A as it is given, two of each four elements of a row.  Which column element k of row i
 * stands for: two bits for each element of a lane, in order, in the lane's word of the third source,
 * from the set on that index_key chooses. */
static unsigned column_of(const emu_wave *wave, const emu_inst *inst, const shape *half, unsigned i,
                          unsigned k) {
  unsigned bits = bits_of[half->a], run = half->k / (wave->width / SET);
  unsigned each = run * bits < 32 ? 32 / bits : run; /* of a lane */
  place at = element_of(wave, inst, half->k, HALVES, bits, k);
  uint32_t word = wave->v[inst->src[C].reg].u[at.lane + i];
  return k / 2 * 4 + (word >> (2 * each * inst->mod.index_key + 2 * at.item) % 32 & 3);
}

static void multiply_sparse(emu_wave *wave, const emu_inst *inst, const shape *s,
                            const shape *half) {
  float a[ROWS][MAX_K], b[COLUMNS][MAX_K], column[MAX_K / 2];
  uint32_t results[ROWS][COLUMNS];
  read_factor(wave, inst, half->k, HALVES, 0, (element)s->a, a);
  read_factor(wave, inst, s->k, HALVES_OF_SPARSE, 1, (element)s->b, b);
  for (unsigned i = 0; i < ROWS; i++) {
    place at = place_of(wave, inst, s, i);
    for (unsigned j = 0; j < COLUMNS; j++) {
      for (unsigned k = 0; k < half->k; k++) column[k] = b[j][column_of(wave, inst, half, i, k)];
      uint32_t sum = read_sum(wave, inst, &inst->dst[0], s, at, j);
      results[i][j] = add_products(inst, half, a[i], column, sum);
    }
  }
  write_results(wave, inst, s, results);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define WMMA(name, on, k, a, b, sum)                              \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {  \
    static const shape s = {k, a, b, sum};                        \
    _Static_assert((k) <= MAX_K, "the arrays hold all elements"); \
    multiply(wave, inst, &s);                                     \
  }
#define SWMMAC(name, k, a, b, sum)                                      \
  static void run_sparse_##name(emu_wave *wave, const emu_inst *inst) { \
    static const shape s = {k, a, b, sum}, half = {(k) / 2, a, b, sum}; \
    _Static_assert((k) <= MAX_K, "the arrays hold all elements");       \
    multiply_sparse(wave, inst, &s, &half);                             \
  }
#include "emulator/exec/wave_matrix.def"
#undef WMMA
#undef SWMMAC

/* clang-format off */
#define FLAGS_F32 EMU_NEGATES
#define FLAGS_F16 EMU_NEGATES | EMU_SELECTS_C
#define FLAGS_BF16 EMU_NEGATES | EMU_SELECTS_C
#define FLAGS_I32 EMU_SIGNS | EMU_CLAMPS
#define WMMA(name, on, k, a, b, sum)                                                             \
  EMU_ROW("v_wmma_" #name, run_##name, on, EMU_CLASS_VALU, FLAGS_##sum, EMU_DATA, EMU_DATA,      \
          EMU_DATA, EMU_DATA),
#define SPARSE_FLAGS_F32 EMU_NEGATES
#define SPARSE_FLAGS_F16 EMU_NEGATES
#define SPARSE_FLAGS_BF16 EMU_NEGATES
#define SPARSE_FLAGS_I32 EMU_SIGNS | EMU_CLAMPS
#define SWMMAC(name, k, a, b, sum)                                                               \
  EMU_ROW("v_swmmac_" #name, run_sparse_##name, EMU_GFX12, EMU_CLASS_VALU, SPARSE_FLAGS_##sum,   \
          EMU_DATA, EMU_DATA, EMU_DATA, EMU_B32),

const emu_op emu_wave_matrix_ops[] = {
#include "emulator/exec/wave_matrix.def"
  {.name = NULL},
};
