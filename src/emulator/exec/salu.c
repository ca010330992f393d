/* Scalar arithmetic: SOP1, SOP2, SOPC and SOPK, which compute on scalar registers and SCC.
 *
 * What each does is the text of AMD's Vega and RDNA2 ISA manuals, chapter "Instructions"; where
 * those say nothing (widths above 32, minima of equal numbers) the later manuals' text for the same
 * name. Hardware registers are hwreg.c's. An immediate of SOPK is the 16 bits of the encoding, in
 * inst->imm; inst->src has registers and literals alone. */
#include "emulator/exec/ops.h"
#include "emulator/exec/stop.h"
#include "emulator/isa/wave.h"

/* ---- how functions are written -------------------------------------------------------------- */

#define GET_U32(n) emu_s32(wave, &inst->src[n])
#define GET_I32(n) ((int32_t)emu_s32(wave, &inst->src[n]))
#define GET_U64(n) emu_s64(wave, &inst->src[n])
#define GET_I64(n) ((int64_t)emu_s64(wave, &inst->src[n]))
#define PUT_U32(value) emu_set_s32(wave, &inst->dst[0], (uint32_t)(value))
#define PUT_U64(value) emu_set_s64(wave, &inst->dst[0], (uint64_t)(value))
#define TYPE_U32 uint32_t
#define TYPE_I32 int32_t
#define TYPE_U64 uint64_t
#define TYPE_I64 int64_t

/* Result `d` of sources a, b; `condition` (of a, b, d and the old SCC) becomes SCC. */
#define UNARY(name, to, from, value, condition)            \
  static void name(emu_wave *wave, const emu_inst *inst) { \
    const TYPE_##from a = GET_##from(0);                   \
    const TYPE_##to d = (TYPE_##to)(value);                \
    const bool scc = (condition);                          \
    PUT_##to(d);                                           \
    wave->scc = scc;                                       \
  }
#define BINARY(name, to, left, right, value, condition)    \
  static void name(emu_wave *wave, const emu_inst *inst) { \
    const TYPE_##left a = GET_##left(0);                   \
    const TYPE_##right b = GET_##right(1);                 \
    const TYPE_##to d = (TYPE_##to)(value);                \
    const bool scc = (condition);                          \
    PUT_##to(d);                                           \
    wave->scc = scc;                                       \
  }
#define KEEP wave->scc

/* ---- arithmetic ----------------------------------------------------------------------------- */

static bool adds_over(uint32_t a, uint32_t b) {
  int32_t sum;
  return __builtin_add_overflow((int32_t)a, (int32_t)b, &sum);
}

static bool subtracts_over(uint32_t a, uint32_t b) {
  int32_t difference;
  return __builtin_sub_overflow((int32_t)a, (int32_t)b, &difference);
}

BINARY(run_add_u32, U32, U32, U32, a + b, d < a)
BINARY(run_sub_u32, U32, U32, U32, a - b, a < b)
BINARY(run_add_i32, U32, U32, U32, a + b, adds_over(a, b))
BINARY(run_sub_i32, U32, U32, U32, a - b, subtracts_over(a, b))
BINARY(run_addc_u32, U32, U32, U32, a + b + wave->scc, ((uint64_t)a + b + wave->scc) >> 32)
BINARY(run_subb_u32, U32, U32, U32, a - b - wave->scc, (uint64_t)b + wave->scc > a)
BINARY(run_min_i32, U32, I32, I32, a < b ? a : b, a < b)
BINARY(run_min_u32, U32, U32, U32, a < b ? a : b, a < b)
BINARY(run_max_i32, U32, I32, I32, a >= b ? a : b, a >= b)
BINARY(run_max_u32, U32, U32, U32, a >= b ? a : b, a >= b)
/* clang-format takes these products for pointers. */
/* clang-format off */
BINARY(run_mul_i32, U32, U32, U32, a * b, KEEP)
BINARY(run_mul_hi_u32, U32, U32, U32, (uint64_t)a * b >> 32, KEEP)
BINARY(run_mul_hi_i32, U32, I32, I32, (uint64_t)((int64_t)a * b) >> 32, KEEP)
/* clang-format on */
BINARY(run_absdiff_i32, U32, U32, U32, (int32_t)(a - b) < 0 ? b - a : a - b, d != 0)
UNARY(run_abs_i32, U32, U32, (int32_t)a < 0 ? 0 - a : a, d != 0)
UNARY(run_sext_i32_i8, U32, U32, (int8_t)a, KEEP)
UNARY(run_sext_i32_i16, U32, U32, (int16_t)a, KEEP)

#define SHIFT_ADD(name, bits) \
  BINARY(name, U32, U32, U32, (a << (bits)) + b, (((uint64_t)a << (bits)) + b) >> 32)
SHIFT_ADD(run_lshl1_add_u32, 1)
SHIFT_ADD(run_lshl2_add_u32, 2)
SHIFT_ADD(run_lshl3_add_u32, 3)
SHIFT_ADD(run_lshl4_add_u32, 4)

/* ---- bits ----------------------------------------------------------------------------------- */

#define LOGIC(name, value)                         \
  BINARY(name##_b32, U32, U32, U32, value, d != 0) \
  BINARY(name##_b64, U64, U64, U64, value, d != 0)
LOGIC(run_and, a &b)
LOGIC(run_or, a | b)
LOGIC(run_xor, a ^ b)
LOGIC(run_andn2, a & ~b)
LOGIC(run_orn2, a | ~b)
LOGIC(run_nand, ~(a &b))
LOGIC(run_nor, ~(a | b))
LOGIC(run_xnor, ~(a ^ b))
UNARY(run_not_b32, U32, U32, ~a, d != 0)
UNARY(run_not_b64, U64, U64, ~a, d != 0)

BINARY(run_lshl_b32, U32, U32, U32, a << (b & 31), d != 0)
BINARY(run_lshl_b64, U64, U64, U32, a << (b & 63), d != 0)
BINARY(run_lshr_b32, U32, U32, U32, a >> (b & 31), d != 0)
BINARY(run_lshr_b64, U64, U64, U32, a >> (b & 63), d != 0)
BINARY(run_ashr_i32, U32, I32, U32, a >> (b & 31), d != 0)
BINARY(run_ashr_i64, U64, I64, U32, a >> (b & 63), d != 0)
BINARY(run_bfm_b32, U32, U32, U32, ((1u << (a & 31)) - 1) << (b & 31), KEEP)
BINARY(run_bfm_b64, U64, U32, U32, ((1ull << (a & 63)) - 1) << (b & 63), KEEP)

/* Field of `width` bits at the bottom; a width beyond the number's takes all of it. */
static uint64_t low_bits(uint64_t value, uint32_t width) {
  return width >= 64 ? value : value & ((1ull << width) - 1);
}

static int64_t sign_extend(int64_t value, uint32_t width) {
  if (width == 0) return 0;
  return width >= 64 ? value : (int64_t)((uint64_t)value << (64 - width)) >> (64 - width);
}

#define FIELD_WIDTH(b) ((b) >> 16 & 0x7f)
BINARY(run_bfe_u32, U32, U32, U32, low_bits(a >> (b & 31), FIELD_WIDTH(b)), d != 0)
BINARY(run_bfe_i32, U32, I32, U32, sign_extend(a >> (b & 31), FIELD_WIDTH(b)), d != 0)
BINARY(run_bfe_u64, U64, U64, U32, low_bits(a >> (b & 63), FIELD_WIDTH(b)), d != 0)
BINARY(run_bfe_i64, U64, I64, U32, sign_extend(a >> (b & 63), FIELD_WIDTH(b)), d != 0)

static uint64_t reverse_bits(uint64_t value) {
  value = (value >> 1 & 0x5555555555555555) | (value & 0x5555555555555555) << 1;
  value = (value >> 2 & 0x3333333333333333) | (value & 0x3333333333333333) << 2;
  value = (value >> 4 & 0x0f0f0f0f0f0f0f0f) | (value & 0x0f0f0f0f0f0f0f0f) << 4;
  return __builtin_bswap64(value);
}

static uint32_t count_trailing(uint64_t value) {
  return value ? (uint32_t)__builtin_ctzll(value) : UINT32_MAX;
}

/* `width` is that of the number, whose upper bits are 0. */
static uint32_t count_leading(uint64_t value, uint32_t width) {
  return value ? (uint32_t)__builtin_clzll(value) - (64 - width) : UINT32_MAX;
}

/* A bit for each group of four that has one. */
static uint64_t gather_quads(uint64_t value) {
  uint64_t quads = 0;
  for (unsigned i = 0; i < 16; i++) quads |= (uint64_t)((value >> 4 * i & 15) != 0) << i;
  return quads;
}

static uint64_t fill_quads(uint64_t value) {
  value |= (value >> 1 & 0x5555555555555555) | (value & 0x5555555555555555) << 1;
  return value | (value >> 2 & 0x3333333333333333) | (value & 0x3333333333333333) << 2;
}

static uint64_t double_bits(uint32_t value) {
  uint64_t out = 0;
  for (unsigned i = 0; i < 32; i++) out |= (uint64_t)(value >> i & 1) * 3 << 2 * i;
  return out;
}

UNARY(run_brev_b32, U32, U32, reverse_bits(a) >> 32, KEEP)
UNARY(run_brev_b64, U64, U64, reverse_bits(a), KEEP)
UNARY(run_bcnt0_i32_b32, U32, U32, __builtin_popcount(~a), d != 0)
UNARY(run_bcnt0_i32_b64, U32, U64, __builtin_popcountll(~a), d != 0)
UNARY(run_bcnt1_i32_b32, U32, U32, __builtin_popcount(a), d != 0)
UNARY(run_bcnt1_i32_b64, U32, U64, __builtin_popcountll(a), d != 0)
UNARY(run_ff0_i32_b32, U32, U32, count_trailing((uint32_t)~a), KEEP)
UNARY(run_ff0_i32_b64, U32, U64, count_trailing(~a), KEEP)
UNARY(run_ff1_i32_b32, U32, U32, count_trailing(a), KEEP)
UNARY(run_ff1_i32_b64, U32, U64, count_trailing(a), KEEP)
UNARY(run_flbit_i32_b32, U32, U32, count_leading(a, 32), KEEP)
UNARY(run_flbit_i32_b64, U32, U64, count_leading(a, 64), KEEP)
UNARY(run_flbit_i32, U32, I32, count_leading((uint32_t)(a ^ a >> 31), 32), KEEP)
UNARY(run_flbit_i32_i64, U32, I64, count_leading((uint64_t)(a ^ a >> 63), 64), KEEP)
UNARY(run_quadmask_b32, U32, U32, gather_quads(a), d != 0)
UNARY(run_quadmask_b64, U64, U64, gather_quads(a), d != 0)
UNARY(run_wqm_b32, U32, U32, fill_quads(a), d != 0)
UNARY(run_wqm_b64, U64, U64, fill_quads(a), d != 0)
UNARY(run_bitreplicate_b64_b32, U64, U32, double_bits(a), KEEP)

/* These change one bit of the destination. */
static void run_bitset0_b32(emu_wave *wave, const emu_inst *inst) {
  PUT_U32(emu_s32(wave, &inst->dst[0]) & ~(1u << (GET_U32(0) & 31)));
}

static void run_bitset1_b32(emu_wave *wave, const emu_inst *inst) {
  PUT_U32(emu_s32(wave, &inst->dst[0]) | 1u << (GET_U32(0) & 31));
}

static void run_bitset0_b64(emu_wave *wave, const emu_inst *inst) {
  PUT_U64(emu_s64(wave, &inst->dst[0]) & ~(1ull << (GET_U32(0) & 63)));
}

static void run_bitset1_b64(emu_wave *wave, const emu_inst *inst) {
  PUT_U64(emu_s64(wave, &inst->dst[0]) | 1ull << (GET_U32(0) & 63));
}

BINARY(run_pack_ll_b32_b16, U32, U32, U32, (a & 0xffff) | b << 16, KEEP)
BINARY(run_pack_lh_b32_b16, U32, U32, U32, (a & 0xffff) | (b & 0xffff0000), KEEP)
BINARY(run_pack_hh_b32_b16, U32, U32, U32, a >> 16 | (b & 0xffff0000), KEEP)

/* ---- moves ---------------------------------------------------------------------------------- */

UNARY(run_mov_b32, U32, U32, a, KEEP)
UNARY(run_mov_b64, U64, U64, a, KEEP)
BINARY(run_cselect_b32, U32, U32, U32, wave->scc ? a : b, KEEP)
BINARY(run_cselect_b64, U64, U64, U64, wave->scc ? a : b, KEEP)

static void run_cmov_b32(emu_wave *wave, const emu_inst *inst) {
  if (wave->scc) PUT_U32(GET_U32(0));
}

static void run_cmov_b64(emu_wave *wave, const emu_inst *inst) {
  if (wave->scc) PUT_U64(GET_U64(0));
}

/* A register number moved by `by`; the first of `nregs`.  Leaving the general registers stops the
 * wavefront: what hardware does then is nothing a program can mean. */
static bool move_register(emu_wave *wave, const emu_inst *inst, emu_operand *operand, uint32_t by,
                          uint32_t nregs) {
  uint64_t moved = (uint64_t)operand->reg + by;
  if (operand->kind == EMU_OPERAND_SGPR && moved + nregs <= EMU_SGPR_TTMP) {
    operand->reg = (uint16_t)moved;
    return true;
  }
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
           "%s reaches scalar register %llu; the general ones end at %d", inst->op->name,
           (unsigned long long)moved, EMU_SGPR_TTMP - 1);
  return false;
}

static void move_indexed(emu_wave *wave, const emu_inst *inst, uint32_t from, uint32_t to,
                         uint32_t nregs) {
  emu_operand source = inst->src[0], target = inst->dst[0];
  if (from && !move_register(wave, inst, &source, from, nregs)) return;
  if (to && !move_register(wave, inst, &target, to, nregs)) return;
  if (nregs == 1) {
    emu_set_s32(wave, &target, emu_s32(wave, &source));
  } else {
    emu_set_s64(wave, &target, emu_s64(wave, &source));
  }
}

static void run_movrels_b32(emu_wave *wave, const emu_inst *inst) {
  move_indexed(wave, inst, wave->s[EMU_SGPR_M0], 0, 1);
}

static void run_movrels_b64(emu_wave *wave, const emu_inst *inst) {
  move_indexed(wave, inst, wave->s[EMU_SGPR_M0], 0, 2);
}

static void run_movreld_b32(emu_wave *wave, const emu_inst *inst) {
  move_indexed(wave, inst, 0, wave->s[EMU_SGPR_M0], 1);
}

static void run_movreld_b64(emu_wave *wave, const emu_inst *inst) {
  move_indexed(wave, inst, 0, wave->s[EMU_SGPR_M0], 2);
}

/* M0 has both distances: the source's in bits 0-9, the destination's in 16-25. */
static void run_movrelsd_2_b32(emu_wave *wave, const emu_inst *inst) {
  uint32_t m0 = wave->s[EMU_SGPR_M0];
  move_indexed(wave, inst, m0 & 0x3ff, m0 >> 16 & 0x3ff, 1);
}

/* ---- EXEC ----------------------------------------------------------------------------------- */

/* Both halves, whatever the wavefront's width. */
static const emu_operand exec_pair = {.kind = EMU_OPERAND_SGPR, .nregs = 2, .reg = EMU_SGPR_EXEC};

/* `value` of a, the source, and e, EXEC; `saved` goes to the destination. The 32-bit forms know the
 * low half of EXEC alone. */
#define SAVE_EXEC(name, value, saved)                             \
  static void name##_b32(emu_wave *wave, const emu_inst *inst) {  \
    const uint32_t a = GET_U32(0), e = wave->s[EMU_SGPR_EXEC];    \
    const uint32_t made = (value);                                \
    PUT_U32(saved);                                               \
    emu_set_sgpr(wave, EMU_SGPR_EXEC, made);                      \
    wave->scc = made != 0;                                        \
  }                                                               \
  static void name##_b64(emu_wave *wave, const emu_inst *inst) {  \
    const uint64_t a = GET_U64(0), e = emu_s64(wave, &exec_pair); \
    const uint64_t made = (value);                                \
    PUT_U64(saved);                                               \
    emu_set_s64(wave, &exec_pair, made);                          \
    wave->scc = made != 0;                                        \
  }
SAVE_EXEC(run_and_saveexec, a &e, e)
SAVE_EXEC(run_or_saveexec, a | e, e)
SAVE_EXEC(run_xor_saveexec, a ^ e, e)
SAVE_EXEC(run_andn1_saveexec, ~a &e, e)
SAVE_EXEC(run_andn2_saveexec, a & ~e, e)
SAVE_EXEC(run_orn1_saveexec, ~a | e, e)
SAVE_EXEC(run_orn2_saveexec, a | ~e, e)
SAVE_EXEC(run_nand_saveexec, ~(a &e), e)
SAVE_EXEC(run_nor_saveexec, ~(a | e), e)
SAVE_EXEC(run_xnor_saveexec, ~(a ^ e), e)
SAVE_EXEC(run_andn1_wrexec, ~a &e, made)
SAVE_EXEC(run_andn2_wrexec, a & ~e, made)

/* ---- comparisons ---------------------------------------------------------------------------- */

#define COMPARE(name, type, condition)                      \
  static void name(emu_wave *wave, const emu_inst *inst) {  \
    const TYPE_##type a = GET_##type(0), b = GET_##type(1); \
    wave->scc = (condition);                                \
  }
/* SOPK: against the immediate, extended as the type has it. */
#define COMPARE_IMMEDIATE(name, type, extended, condition)        \
  static void name(emu_wave *wave, const emu_inst *inst) {        \
    const TYPE_##type a = GET_##type(0), b = (extended)inst->imm; \
    wave->scc = (condition);                                      \
  }
#define COMPARE_ALL(what, condition)                                \
  COMPARE(run_cmp_##what##_i32, I32, condition)                     \
  COMPARE(run_cmp_##what##_u32, U32, condition)                     \
  COMPARE_IMMEDIATE(run_cmpk_##what##_i32, I32, int16_t, condition) \
  COMPARE_IMMEDIATE(run_cmpk_##what##_u32, U32, uint16_t, condition)
COMPARE_ALL(eq, a == b)
COMPARE_ALL(lg, a != b)
COMPARE_ALL(gt, a > b)
COMPARE_ALL(ge, a >= b)
COMPARE_ALL(lt, a < b)
COMPARE_ALL(le, a <= b)
COMPARE(run_cmp_eq_u64, U64, a == b)
COMPARE(run_cmp_lg_u64, U64, a != b)
COMPARE(run_bitcmp0_b32, U32, (a >> (b & 31) & 1) == 0)
COMPARE(run_bitcmp1_b32, U32, (a >> (b & 31) & 1) == 1)

static void run_bitcmp0_b64(emu_wave *wave, const emu_inst *inst) {
  wave->scc = (GET_U64(0) >> (GET_U32(1) & 63) & 1) == 0;
}

static void run_bitcmp1_b64(emu_wave *wave, const emu_inst *inst) {
  wave->scc = (GET_U64(0) >> (GET_U32(1) & 63) & 1) == 1;
}

/* ---- immediates (SOPK) ---------------------------------------------------------------------- */

static void run_movk_i32(emu_wave *wave, const emu_inst *inst) {
  PUT_U32((int16_t)inst->imm);
}

static void run_cmovk_i32(emu_wave *wave, const emu_inst *inst) {
  if (wave->scc) PUT_U32((int16_t)inst->imm);
}

static void run_addk_i32(emu_wave *wave, const emu_inst *inst) {
  uint32_t a = emu_s32(wave, &inst->dst[0]), b = (uint32_t)(int16_t)inst->imm;
  PUT_U32(a + b);
  wave->scc = adds_over(a, b);
}

static void run_mulk_i32(emu_wave *wave, const emu_inst *inst) {
  PUT_U32(emu_s32(wave, &inst->dst[0]) * (uint32_t)(int16_t)inst->imm);
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Columns: name, function, generations, destination type, source types. */
#define OP(name, run, generations, ...) \
  EMU_ROW(name, run, generations, EMU_CLASS_SALU, 0, __VA_ARGS__),
/* With M0, from which a register's number is counted. */
#define RELATIVE(name, generations, type) \
  EMU_ROW("s_" #name, run_##name, generations, EMU_CLASS_SALU, EMU_READS_M0, type, type),
#define SAVE(name)                                                     \
  OP("s_" #name "_b32", run_##name##_b32, EMU_GFX10, EMU_B32, EMU_B32) \
  OP("s_" #name "_b64", run_##name##_b64, EMU_ALL, EMU_B64, EMU_B64)
#define TWO_B32_B64(name)                                                     \
  OP("s_" #name "_b32", run_##name##_b32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32) \
  OP("s_" #name "_b64", run_##name##_b64, EMU_ALL, EMU_B64, EMU_B64, EMU_B64)
#define CMP(what)                                                                      \
  OP("s_cmp_" #what "_i32", run_cmp_##what##_i32, EMU_ALL, EMU_NONE, EMU_B32, EMU_B32) \
  OP("s_cmp_" #what "_u32", run_cmp_##what##_u32, EMU_ALL, EMU_NONE, EMU_B32, EMU_B32) \
  OP("s_cmpk_" #what "_i32", run_cmpk_##what##_i32, EMU_ALL, EMU_NONE, EMU_B32)        \
  OP("s_cmpk_" #what "_u32", run_cmpk_##what##_u32, EMU_ALL, EMU_NONE, EMU_B32)

/* clang-format off */
const emu_op emu_salu_ops[] = {
  OP("s_add_u32", run_add_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_sub_u32", run_sub_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_add_i32", run_add_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_sub_i32", run_sub_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_addc_u32", run_addc_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_subb_u32", run_subb_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_min_i32", run_min_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_min_u32", run_min_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_max_i32", run_max_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_max_u32", run_max_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_mul_i32", run_mul_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_mul_hi_u32", run_mul_hi_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_mul_hi_i32", run_mul_hi_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_absdiff_i32", run_absdiff_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_abs_i32", run_abs_i32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_sext_i32_i8", run_sext_i32_i8, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_sext_i32_i16", run_sext_i32_i16, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_lshl1_add_u32", run_lshl1_add_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_lshl2_add_u32", run_lshl2_add_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_lshl3_add_u32", run_lshl3_add_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_lshl4_add_u32", run_lshl4_add_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)

  TWO_B32_B64(and)
  TWO_B32_B64(or)
  TWO_B32_B64(xor)
  TWO_B32_B64(andn2)
  TWO_B32_B64(orn2)
  TWO_B32_B64(nand)
  TWO_B32_B64(nor)
  TWO_B32_B64(xnor)
  OP("s_not_b32", run_not_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_not_b64", run_not_b64, EMU_ALL, EMU_B64, EMU_B64)
  OP("s_lshl_b32", run_lshl_b32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_lshl_b64", run_lshl_b64, EMU_ALL, EMU_B64, EMU_B64, EMU_B32)
  OP("s_lshr_b32", run_lshr_b32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_lshr_b64", run_lshr_b64, EMU_ALL, EMU_B64, EMU_B64, EMU_B32)
  OP("s_ashr_i32", run_ashr_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_ashr_i64", run_ashr_i64, EMU_ALL, EMU_B64, EMU_I64, EMU_B32)
  OP("s_bfm_b32", run_bfm_b32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_bfm_b64", run_bfm_b64, EMU_ALL, EMU_B64, EMU_B32, EMU_B32)
  OP("s_bfe_u32", run_bfe_u32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_bfe_i32", run_bfe_i32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_bfe_u64", run_bfe_u64, EMU_ALL, EMU_B64, EMU_B64, EMU_B32)
  OP("s_bfe_i64", run_bfe_i64, EMU_ALL, EMU_B64, EMU_I64, EMU_B32)
  OP("s_brev_b32", run_brev_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_brev_b64", run_brev_b64, EMU_ALL, EMU_B64, EMU_B64)
  OP("s_bcnt0_i32_b32", run_bcnt0_i32_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_bcnt0_i32_b64", run_bcnt0_i32_b64, EMU_ALL, EMU_B32, EMU_B64)
  OP("s_bcnt1_i32_b32", run_bcnt1_i32_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_bcnt1_i32_b64", run_bcnt1_i32_b64, EMU_ALL, EMU_B32, EMU_B64)
  OP("s_ff0_i32_b32", run_ff0_i32_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_ff0_i32_b64", run_ff0_i32_b64, EMU_ALL, EMU_B32, EMU_B64)
  OP("s_ff1_i32_b32", run_ff1_i32_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_ff1_i32_b64", run_ff1_i32_b64, EMU_ALL, EMU_B32, EMU_B64)
  OP("s_flbit_i32_b32", run_flbit_i32_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_flbit_i32_b64", run_flbit_i32_b64, EMU_ALL, EMU_B32, EMU_B64)
  OP("s_flbit_i32", run_flbit_i32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_flbit_i32_i64", run_flbit_i32_i64, EMU_ALL, EMU_B32, EMU_I64)
  OP("s_quadmask_b32", run_quadmask_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_quadmask_b64", run_quadmask_b64, EMU_ALL, EMU_B64, EMU_B64)
  OP("s_wqm_b32", run_wqm_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_wqm_b64", run_wqm_b64, EMU_ALL, EMU_B64, EMU_B64)
  OP("s_bitreplicate_b64_b32", run_bitreplicate_b64_b32, EMU_ALL, EMU_B64, EMU_B32)
  OP("s_bitset0_b32", run_bitset0_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_bitset1_b32", run_bitset1_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_bitset0_b64", run_bitset0_b64, EMU_ALL, EMU_B64, EMU_B32)
  OP("s_bitset1_b64", run_bitset1_b64, EMU_ALL, EMU_B64, EMU_B32)
  OP("s_pack_ll_b32_b16", run_pack_ll_b32_b16, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_pack_lh_b32_b16", run_pack_lh_b32_b16, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_pack_hh_b32_b16", run_pack_hh_b32_b16, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)

  OP("s_mov_b32", run_mov_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_mov_b64", run_mov_b64, EMU_ALL, EMU_B64, EMU_B64)
  OP("s_cselect_b32", run_cselect_b32, EMU_ALL, EMU_B32, EMU_B32, EMU_B32)
  OP("s_cselect_b64", run_cselect_b64, EMU_ALL, EMU_B64, EMU_B64, EMU_B64)
  OP("s_cmov_b32", run_cmov_b32, EMU_ALL, EMU_B32, EMU_B32)
  OP("s_cmov_b64", run_cmov_b64, EMU_ALL, EMU_B64, EMU_B64)
  RELATIVE(movrels_b32, EMU_ALL, EMU_B32)
  RELATIVE(movrels_b64, EMU_ALL, EMU_B64)
  RELATIVE(movreld_b32, EMU_ALL, EMU_B32)
  RELATIVE(movreld_b64, EMU_ALL, EMU_B64)
  RELATIVE(movrelsd_2_b32, EMU_GFX10, EMU_B32)

  SAVE(and_saveexec)
  SAVE(or_saveexec)
  SAVE(xor_saveexec)
  SAVE(andn1_saveexec)
  SAVE(andn2_saveexec)
  SAVE(orn1_saveexec)
  SAVE(orn2_saveexec)
  SAVE(nand_saveexec)
  SAVE(nor_saveexec)
  SAVE(xnor_saveexec)
  SAVE(andn1_wrexec)
  SAVE(andn2_wrexec)

  CMP(eq)
  CMP(lg)
  CMP(gt)
  CMP(ge)
  CMP(lt)
  CMP(le)
  OP("s_cmp_eq_u64", run_cmp_eq_u64, EMU_ALL, EMU_NONE, EMU_B64, EMU_B64)
  OP("s_cmp_lg_u64", run_cmp_lg_u64, EMU_ALL, EMU_NONE, EMU_B64, EMU_B64)
  OP("s_bitcmp0_b32", run_bitcmp0_b32, EMU_ALL, EMU_NONE, EMU_B32, EMU_B32)
  OP("s_bitcmp1_b32", run_bitcmp1_b32, EMU_ALL, EMU_NONE, EMU_B32, EMU_B32)
  OP("s_bitcmp0_b64", run_bitcmp0_b64, EMU_ALL, EMU_NONE, EMU_B64, EMU_B32)
  OP("s_bitcmp1_b64", run_bitcmp1_b64, EMU_ALL, EMU_NONE, EMU_B64, EMU_B32)

  OP("s_movk_i32", run_movk_i32, EMU_ALL, EMU_B32, EMU_NONE)
  OP("s_cmovk_i32", run_cmovk_i32, EMU_ALL, EMU_B32, EMU_NONE)
  OP("s_addk_i32", run_addk_i32, EMU_ALL, EMU_B32, EMU_NONE)
  OP("s_mulk_i32", run_mulk_i32, EMU_ALL, EMU_B32, EMU_NONE)
  {.name = NULL},
};
