/* Packed instructions: two halves of a register, or two floats of a pair, at once; and those that
 * mix halves with floats, and dot products.
 *
 * op_sel says for each source which part the low result is made of, op_sel_hi the same for the high
 * result; neg_lo and neg_hi negate those. ISA guides, VOP3P.  Dot products of halves are rounded as
 * the manuals' pseudocode says, after each product, which silicon may do otherwise.  The
 * instructions are the rows of valu_packed.def. */
#include "emulator/exec/float.h"
#include "emulator/exec/ops.h"
#include "emulator/exec/small_float.h"
#include "emulator/exec/stop.h"

enum { PARTS = 2, SOURCES = 3, SUM = 2 /* the source that dot products add to */ };

/* Whether part `high` of source n comes from the upper place, and is to be negated. */
static bool takes_upper(const emu_inst *inst, unsigned n, unsigned high) {
  return (high ? inst->mod.op_sel_hi : inst->mod.op_sel) >> n & 1;
}

static bool is_negated(const emu_inst *inst, unsigned n, unsigned high) {
  return (high ? inst->mod.neg_hi : inst->mod.neg_lo) >> n & 1;
}

/* ---- halves ---------------------------------------------------------------------------------- */

#define EMU_SIZE 32
#define SETTLE_2(x) emu_settle_2_32(x, a, b)

EMU_KERNEL_2(add_kernel, SETTLE_2(a + b))
EMU_KERNEL_2(mul_kernel, SETTLE_2((a * b)))
EMU_KERNEL_2(min_kernel, emu_min32(a, b, wave->mode.nans))
EMU_KERNEL_2(max_kernel, emu_max32(a, b, wave->mode.nans))
/* gfx12's and gfx950's: a NaN when there is one. */
EMU_KERNEL_2(minimum_kernel, emu_least32(a, b))
EMU_KERNEL_2(maximum_kernel, emu_greatest32(a, b))
EMU_KERNEL_3(minimum3_kernel, emu_least32(emu_least32(a, b), c))
EMU_KERNEL_3(maximum3_kernel, emu_greatest32(emu_greatest32(a, b), c))
EMU_KERNEL_3(fma_kernel, emu_settle_3_32(__builtin_fmaf(a, b, c), a, b, c))
EMU_KERNEL_3(half_fma_kernel, emu_settle_3_32(emu_fuse(a, b, c), a, b, c))

/* The halves of source n that make the low or the high result, as floats. */
static void pick_halves(const emu_wave *wave, const emu_inst *inst, unsigned n, unsigned high,
                        const emu_row *words, emu_row *out) {
  unsigned shift = takes_upper(inst, n, high) ? 16 : 0;
  uint32_t flip = is_negated(inst, n, high) ? 0x8000 : 0;
  EMU_FOR_LANES(wave) out->u[lane] = (words->u[lane] >> shift & 0xffff) ^ flip;
  emu_widen_row(wave, out, out);
}

static void run_halves(emu_wave *wave, const emu_inst *inst, unsigned nsrc, bool adds_old,
                       emu_kernel32 *kernel) {
  emu_row rooms[SOURCES], picked[SOURCES], out[PARTS];
  const emu_row *words[SOURCES] = {NULL, NULL, NULL};
  for (unsigned n = 0; n < nsrc; n++) words[n] = emu_src32(wave, inst, n, &rooms[n]);
  if (adds_old) words[2] = &wave->v[inst->dst[0].reg];
  for (unsigned high = 0; high < PARTS; high++) {
    for (unsigned n = 0; n < SOURCES; n++) {
      if (words[n]) pick_halves(wave, inst, n, high, words[n], &picked[n]);
    }
    emu_round_as_f16(wave, kernel, &out[high], &picked[0], &picked[1], &picked[2]);
    emu_finish_f16(wave, inst, &out[high]);
  }
  EMU_FOR_LANES(wave) out[0].u[lane] |= out[1].u[lane] << 16;
  emu_put32(wave, inst, 0, &out[0]);
}

/* ---- floats ---------------------------------------------------------------------------------- */

static void put_pair(emu_wave *wave, const emu_inst *inst, const emu_row out[PARTS]) {
  emu_row *low = &wave->v[inst->dst[0].reg];
  const emu_row *lanes = emu_lanes(wave);
  for (unsigned high = 0; high < PARTS; high++) emu_blend(wave, low + high, &out[high], lanes);
}

/* The words of source n's pair that make the low or the high result: a register's row itself where
 * nothing is to be done to them. */
static const emu_row *pick_words(emu_wave *wave, const emu_inst *inst, unsigned n, unsigned high,
                                 emu_row *room) {
  const emu_operand *operand = &inst->src[n];
  bool upper = takes_upper(inst, n, high), negated = is_negated(inst, n, high);
  if (operand->kind == EMU_OPERAND_VGPR) {
    const emu_row *row = &wave->v[operand->reg + upper];
    if (!negated) return row;
    EMU_FOR_LANES(wave) room->u[lane] = row->u[lane] ^ 0x80000000;
    return room;
  }
  uint32_t word = (uint32_t)(emu_s64(wave, operand) >> (upper ? 32 : 0));
  if (negated) word ^= 0x80000000;
  EMU_FOR_LANES(wave) room->u[lane] = word;
  return room;
}

static const emu_row *flush_source(const emu_wave *wave, const emu_row *row, emu_row *room) {
  if (wave->mode.denorm32 & 1) return row;
  EMU_FOR_LANES(wave) room->u[lane] = emu_flush32(row->u[lane]);
  return room;
}

static void run_floats(emu_wave *wave, const emu_inst *inst, unsigned nsrc, emu_kernel32 *kernel) {
  emu_row rooms[SOURCES], out[PARTS];
  const emu_row *src[SOURCES] = {NULL, NULL, NULL};
  for (unsigned high = 0; high < PARTS; high++) {
    for (unsigned n = 0; n < nsrc; n++) {
      src[n] = flush_source(wave, pick_words(wave, inst, n, high, &rooms[n]), &rooms[n]);
    }
    emu_round_as_f32(wave, kernel, &out[high], src[0], src[1], src[2]);
    if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f32(wave, inst, &out[high]);
  }
  put_pair(wave, inst, out);
}

/* The low word from source 0, the high one from source 1; op_sel chooses in each. */
static void run_pk_mov_b32(emu_wave *wave, const emu_inst *inst) {
  emu_row rooms[PARTS], out[PARTS];
  for (unsigned n = 0; n < PARTS; n++) out[n] = *pick_words(wave, inst, n, 0, &rooms[n]);
  put_pair(wave, inst, out);
}

/* ---- halves and floats mixed ----------------------------------------------------------------- */

/* Source n as floats: of op_sel_hi a half (op_sel: the upper one), else the float; then |x|, -x. */
static void mix_source(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *out) {
  emu_inst bare = *inst;
  bare.src[n].mods = 0;
  const emu_row *words = emu_src32(wave, &bare, n, out);
  if (inst->mod.op_sel_hi >> n & 1) {
    unsigned shift = inst->mod.op_sel >> n & 1 ? 16 : 0;
    EMU_FOR_LANES(wave) out->u[lane] = words->u[lane] >> shift & 0xffff;
    emu_widen_row(wave, out, out);
  } else if (wave->mode.denorm32 & 1) {
    if (words != out) memcpy(out, words, wave->width * sizeof out->u[0]);
  } else {
    EMU_FOR_LANES(wave) out->u[lane] = emu_flush32(words->u[lane]);
  }
  uint32_t kept = inst->src[n].mods & EMU_ABS ? 0x7fffffff : 0xffffffff;
  uint32_t flip = inst->src[n].mods & EMU_NEG ? 0x80000000 : 0;
  EMU_FOR_LANES(wave) out->u[lane] = (out->u[lane] & kept) ^ flip;
}

static void mix(emu_wave *wave, const emu_inst *inst, emu_row *out) {
  emu_row src[SOURCES];
  for (unsigned n = 0; n < SOURCES; n++) mix_source(wave, inst, n, &src[n]);
  emu_round_as_f32(wave, fma_kernel(), out, &src[0], &src[1], &src[2]);
}

static void run_fma_mix_f32(emu_wave *wave, const emu_inst *inst) {
  emu_row out;
  mix(wave, inst, &out);
  if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f32(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

/* The result becomes one half of the register; the other is kept. */
static void mix_half(emu_wave *wave, const emu_inst *inst, unsigned shift) {
  emu_row out;
  const emu_row *old = &wave->v[inst->dst[0].reg];
  mix(wave, inst, &out);
  emu_finish_f16(wave, inst, &out);
  EMU_FOR_LANES(wave) {
    out.u[lane] = out.u[lane] << shift | (old->u[lane] & ~(0xffffu << shift));
  }
  emu_put32(wave, inst, 0, &out);
}

static void run_fma_mixlo_f16(emu_wave *wave, const emu_inst *inst) {
  mix_half(wave, inst, 0);
}
static void run_fma_mixhi_f16(emu_wave *wave, const emu_inst *inst) {
  mix_half(wave, inst, 16);
}
#undef EMU_SIZE

/* ---- 16-bit integers ------------------------------------------------------------------------- */

/* A result that clamp holds within the type; else its low bits count. */
EMU_INLINE uint32_t fit(int64_t x, bool clamp, int64_t low, int64_t high) {
  int64_t above = x > low ? x : low, both = above < high ? above : high;
  return (uint32_t)(clamp ? both : x) & 0xffff;
}

/* ---- dot products of integers ---------------------------------------------------------------- */

static int64_t take_field(uint32_t word, unsigned bits, unsigned n, bool is_signed) {
  uint32_t field = word << (32 - bits * (n + 1)) >> (32 - bits);
  return is_signed ? (int32_t)(field << (32 - bits)) >> (32 - bits) : (int64_t)field;
}

/* Which operands have a sign. */
typedef struct dot_signs {
  bool a, b, sum;
} dot_signs;

static void run_dot(emu_wave *wave, const emu_inst *inst, unsigned bits, dot_signs is_signed,
                    const emu_row *c) {
  emu_row rooms[PARTS], out;
  const emu_row *a = emu_src32(wave, inst, 0, &rooms[0]), *b = emu_src32(wave, inst, 1, &rooms[1]);
  int64_t low = is_signed.sum ? INT32_MIN : 0, high = is_signed.sum ? INT32_MAX : UINT32_MAX;
  for (int lane = 0; lane < wave->width; lane++) {
    int64_t sum = is_signed.sum ? c->i[lane] : (int64_t)c->u[lane];
    for (unsigned n = 0; n < 32 / bits; n++) {
      sum += take_field(a->u[lane], bits, n, is_signed.a) *
             take_field(b->u[lane], bits, n, is_signed.b);
    }
    if (inst->mod.clamp) sum = sum < low ? low : sum > high ? high : sum;
    out.u[lane] = (uint32_t)sum;
  }
  emu_put32(wave, inst, 0, &out);
}

/* ---- dot products of halves ------------------------------------------------------------------ */

static float half_value(uint32_t half) {
  return emu_real_of32(emu_widen(half));
}

/* What a summand's sign bits, the halves of a factor in VOP3, and constants beside bf16 mean is not
 * known. */
static bool has_known_modifiers(emu_wave *wave, const emu_inst *inst) {
  bool is_signed = (inst->mod.neg_lo | inst->mod.neg_hi) & 4;
  bool is_half = emu_is_half(inst->op->dst[0]);
  bool has_constant = false;
  for (unsigned n = 0; n < SOURCES; n++) has_constant |= inst->src[n].kind == EMU_OPERAND_CONST;
  bool is_bf16_with_constant = has_constant && strstr(inst->op->name, "bf16");
  bool selects = is_half && (inst->mod.op_sel & 3);
  if (!is_signed && !selects && !is_bf16_with_constant) return true;
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
           "%s has modifiers whose meaning is not known to the emulator", inst->op->name);
  return false;
}

/* One part of source n, as bits. */
static uint32_t pick_half(const emu_inst *inst, unsigned n, unsigned part, uint32_t word) {
  uint32_t half = word >> (takes_upper(inst, n, part) ? 16 : 0) & 0xffff;
  return is_negated(inst, n, part) ? half ^ 0x8000 : half;
}

/* gfx950's dot product of bf16 adds the third source last. */
static bool adds_sum_last(const emu_inst *inst) {
  return inst->chip == EMU_GFX9 && strcmp(inst->op->name, "v_dot2_f32_bf16") == 0;
}

/* Adds two products to the float in `c`.  Those of bf16 may leave a float's range. */
static void dot_halves(emu_wave *wave, const emu_inst *inst, float (*value)(uint32_t half),
                       const emu_row *c) {
  emu_row rooms[PARTS], out;
  if (!has_known_modifiers(wave, inst)) return;
  const emu_row *a = emu_src32(wave, inst, 0, &rooms[0]), *b = emu_src32(wave, inst, 1, &rooms[1]);
  bool is_last = adds_sum_last(inst);
  for (int lane = 0; lane < wave->width; lane++) {
    float sum = is_last ? -0.0f : c->f[lane];
    for (unsigned part = 0; part < PARTS; part++) {
      sum +=
          value(pick_half(inst, 0, part, a->u[lane])) * value(pick_half(inst, 1, part, b->u[lane]));
    }
    out.f[lane] = is_last ? sum + c->f[lane] : sum;
  }
  if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f32(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

enum { FP8 = 3, BF8 = 2 }; /* bits of their mantissas */

static void dot_bytes(emu_wave *wave, const emu_inst *inst, unsigned a_kind, unsigned b_kind) {
  emu_row rooms[SOURCES], out;
  const emu_row *src[SOURCES];
  emu_small_float of_a = emu_small_float_of(wave, a_kind), of_b = emu_small_float_of(wave, b_kind);
  for (unsigned n = 0; n < SOURCES; n++) src[n] = emu_src32(wave, inst, n, &rooms[n]);
  for (int lane = 0; lane < wave->width; lane++) {
    float sum = src[SUM]->f[lane];
    for (unsigned shift = 0; shift < 32; shift += 8) {
      float a = emu_small_value(&of_a, src[0]->u[lane] >> shift & 0xff);
      float b = emu_small_value(&of_b, src[1]->u[lane] >> shift & 0xff);
      sum = fmaf(a, b, sum);
    }
    out.f[lane] = sum;
  }
  if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f32(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

/* The same with a sum of 16 bits, to which `add` rounds. */
static void dot_to_half(emu_wave *wave, const emu_inst *inst,
                        uint32_t (*add)(uint32_t a, uint32_t b, uint32_t sum)) {
  emu_row rooms[SOURCES], out;
  const emu_row *src[SOURCES];
  if (!has_known_modifiers(wave, inst)) return;
  for (unsigned n = 0; n < SOURCES; n++) src[n] = emu_src32(wave, inst, n, &rooms[n]);
  for (int lane = 0; lane < wave->width; lane++) {
    uint32_t a = src[0]->u[lane], b = src[1]->u[lane];
    uint32_t sum = add(a & 0xffff, b & 0xffff, src[2]->u[lane] & 0xffff);
    out.u[lane] = add(a >> 16, b >> 16, sum);
  }
  emu_put32(wave, inst, 0, &out);
}

static uint32_t add_half_product(uint32_t a, uint32_t b, uint32_t sum) {
  float exact = emu_fuse(half_value(a), half_value(b), half_value(sum));
  return emu_narrow_nearest(emu_bits_of32(exact));
}

/* Doubles hold the products, and the sums as far as rounding to 8 bits needs. */
static uint32_t add_bf16_product(uint32_t a, uint32_t b, uint32_t sum) {
  return emu_bf16_round(emu_fuse(emu_bf16_value(a), emu_bf16_value(b), emu_bf16_value(sum)));
}

static void run_dot2_f16_f16(emu_wave *wave, const emu_inst *inst) {
  dot_to_half(wave, inst, add_half_product);
}
static void run_dot2_bf16_bf16(emu_wave *wave, const emu_inst *inst) {
  dot_to_half(wave, inst, add_bf16_product);
}

/* ---- functions ------------------------------------------------------------------------------- */

#define HALVES(name, kernel, nsrc, adds_old)                     \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    run_halves(wave, inst, nsrc, adds_old, kernel());            \
  }
#define FLOATS(name, kernel, nsrc)                               \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    run_floats(wave, inst, nsrc, kernel());                      \
  }
#define PACK(name, TYPE, low, high, nsrc, expression)                                        \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {                             \
    emu_row rooms[SOURCES], out;                                                             \
    const emu_row *src[SOURCES] = {&rooms[0], &rooms[0], &rooms[0]};                         \
    for (unsigned n = 0; n < (nsrc); n++) src[n] = emu_src32(wave, inst, n, &rooms[n]);      \
    bool clamp = inst->mod.clamp;                                                            \
    unsigned from[PARTS][SOURCES];                                                           \
    for (unsigned n = 0; n < PARTS * SOURCES; n++) {                                         \
      from[n / SOURCES][n % SOURCES] = takes_upper(inst, n % SOURCES, n / SOURCES) ? 16 : 0; \
    }                                                                                        \
    EMU_FOR_LANES(wave) {                                                                    \
      uint32_t word = 0;                                                                     \
      for (unsigned part = 0; part < PARTS; part++) {                                        \
        int64_t a = (TYPE)(src[0]->u[lane] >> from[part][0]);                                \
        int64_t b = (TYPE)(src[1]->u[lane] >> from[part][1]);                                \
        int64_t c = (nsrc) > 2 ? (TYPE)(src[2]->u[lane] >> from[part][2]) : 0;               \
        (void)c;                                                                             \
        word |= fit(expression, clamp, low, high) << 16 * part;                              \
      }                                                                                      \
      out.u[lane] = word;                                                                    \
    }                                                                                        \
    emu_put32(wave, inst, 0, &out);                                                          \
  }
#define PACK_I16(name, nsrc, expression) PACK(name, int16_t, INT16_MIN, INT16_MAX, nsrc, expression)
#define PACK_U16(name, nsrc, expression) PACK(name, uint16_t, 0, UINT16_MAX, nsrc, expression)
#define SUM_I16 PACK_I16
#define SUM_U16 PACK_U16
#define DOT(name, bits, is_signed)                                     \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {       \
    emu_row room;                                                      \
    const dot_signs signs = {is_signed, is_signed, is_signed};         \
    run_dot(wave, inst, bits, signs, emu_src32(wave, inst, 2, &room)); \
  }
#define DOT_IU(name, bits)                                                      \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {                \
    emu_row room;                                                               \
    const dot_signs signs = {inst->mod.neg_lo & 1, inst->mod.neg_lo & 2, true}; \
    run_dot(wave, inst, bits, signs, emu_src32(wave, inst, 2, &room));          \
  }
#define DOTC(name, bits)                                          \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {  \
    const dot_signs signs = {true, true, true};                   \
    run_dot(wave, inst, bits, signs, &wave->v[inst->dst[0].reg]); \
  }
#define DOT_HALVES(name, on, value)                                   \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {      \
    emu_row room;                                                     \
    dot_halves(wave, inst, value, emu_src32(wave, inst, SUM, &room)); \
  }
#define DOTC_HALVES(name, on, value)                             \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    dot_halves(wave, inst, value, &wave->v[inst->dst[0].reg]);   \
  }
#define DOT_BYTES(name, a, b)                                    \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    dot_bytes(wave, inst, a, b);                                 \
  }
#define OP(name, on, flags, result, sources)
#include "emulator/exec/valu_packed.def"
#undef HALVES
#undef FLOATS
#undef PACK_I16
#undef PACK_U16
#undef SUM_I16
#undef SUM_U16
#undef DOT
#undef DOT_IU
#undef DOTC
#undef DOT_HALVES
#undef DOTC_HALVES
#undef DOT_BYTES
#undef OP

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
#define OP(name, on, flags, result, sources) \
  {"v_" #name, run_##name, on, EMU_CLASS_VALU, flags, {EMU_LIST result}, {EMU_LIST sources}},
/* A row of two or three sources of the result's type. */
#define SAME(name, nsrc, on, flags, type) OP(name, on, flags, (type), SAME_##nsrc(type))
#define SAME_2(type) (type, type)
#define SAME_3(type) (type, type, type)
#define HALVES(name, kernel, nsrc, adds_old) SAME(name, nsrc, EMU_ALL, 0, EMU_V2F16)
#define FLOATS(name, kernel, nsrc) SAME(name, nsrc, EMU_GFX9, 0, EMU_V2F32)
#define PACK_I16(name, nsrc, expression) SAME(name, nsrc, EMU_ALL, 0, EMU_V2B16)
#define PACK_U16(name, nsrc, expression) SAME(name, nsrc, EMU_ALL, 0, EMU_V2B16)
#define SUM_I16(name, nsrc, expression) SAME(name, nsrc, EMU_ALL, EMU_CLAMPS, EMU_V2B16)
#define SUM_U16(name, nsrc, expression) SAME(name, nsrc, EMU_ALL, EMU_CLAMPS, EMU_V2B16)
#define DOT(name, bits, is_signed) SAME(name, 3, EMU_ALL, EMU_CLAMPS, EMU_B32)
#define DOT_IU(name, bits) SAME(name, 3, EMU_GFX11_ON, EMU_CLAMPS | EMU_SIGNS, EMU_B32)
#define DOTC(name, bits) SAME(name, 2, EMU_BEFORE_GFX11, 0, EMU_B32)
#define DOT_HALVES(name, on, value) \
  OP(name, on, 0, (EMU_F32), (EMU_V2F16, EMU_V2F16, EMU_F32))
#define DOT_BYTES(name, a, b) OP(name, EMU_GFX12, 0, (EMU_F32), (EMU_B32, EMU_B32, EMU_F32))
#define DOTC_HALVES(name, on, value) OP(name, on, 0, (EMU_F32), (EMU_V2F16, EMU_V2F16))

const emu_op emu_valu_packed_ops[] = {
#include "emulator/exec/valu_packed.def"
  {.name = NULL},
};
