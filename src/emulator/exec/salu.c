/* Scalar arithmetic: SOP1, SOP2, SOPC and SOPK, which compute on scalar registers and SCC.
 *
 * What each does is the text of AMD's Vega and RDNA2 ISA manuals, chapter "Instructions"; where
 * those say nothing (widths above 32, minima of equal numbers) the later manuals' text for the same
 * name. The instructions are the rows of salu.def; here stand the helpers that their expressions
 * call, and the functions of those that are no expression.  Hardware registers are hwreg.c's. An
 * immediate of SOPK is the 16 bits of the encoding, in inst->imm; inst->src has registers and
 * literals alone. */
#include "emulator/exec/ops.h"
#include "emulator/exec/stop.h"
#include "emulator/isa/wave.h"

/* ---- operands ------------------------------------------------------------------------------- */

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

/* ---- arithmetic ----------------------------------------------------------------------------- */

static bool adds_over(uint32_t a, uint32_t b) {
  int32_t sum;
  return __builtin_add_overflow((int32_t)a, (int32_t)b, &sum);
}

static bool subtracts_over(uint32_t a, uint32_t b) {
  int32_t difference;
  return __builtin_sub_overflow((int32_t)a, (int32_t)b, &difference);
}

/* ---- bits ----------------------------------------------------------------------------------- */

/* Field of `width` bits at the bottom; a width beyond the number's takes all of it. */
static uint64_t low_bits(uint64_t value, uint32_t width) {
  return width >= 64 ? value : value & ((1ull << width) - 1);
}

static int64_t sign_extend(int64_t value, uint32_t width) {
  if (width == 0) return 0;
  return width >= 64 ? value : (int64_t)((uint64_t)value << (64 - width)) >> (64 - width);
}

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

/* ---- moves ---------------------------------------------------------------------------------- */

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

/* ---- the functions of the rows -------------------------------------------------------------- */

/* Result `d` of sources a, b; `condition` (of a, b, d and the old SCC) becomes SCC. */
#define UNARY(name, to, from, value, condition)                  \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    const TYPE_##from a = GET_##from(0);                         \
    const TYPE_##to d = (TYPE_##to)(value);                      \
    const bool scc = (condition);                                \
    PUT_##to(d);                                                 \
    wave->scc = scc;                                             \
  }
#define BINARY(name, to, left, right, value, condition)          \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    const TYPE_##left a = GET_##left(0);                         \
    const TYPE_##right b = GET_##right(1);                       \
    const TYPE_##to d = (TYPE_##to)(value);                      \
    const bool scc = (condition);                                \
    PUT_##to(d);                                                 \
    wave->scc = scc;                                             \
  }
#define KEEP wave->scc
#define FIELD_WIDTH(b) ((b) >> 16 & 0x7f)
#define SHIFT_ADD(name, bits) \
  BINARY(name, U32, U32, U32, (a << (bits)) + b, (((uint64_t)a << (bits)) + b) >> 32)
#define LOGIC(name, value)                         \
  BINARY(name##_b32, U32, U32, U32, value, d != 0) \
  BINARY(name##_b64, U64, U64, U64, value, d != 0)

/* Both halves of EXEC, whatever the wavefront's width. */
static const emu_operand exec_pair = {.kind = EMU_OPERAND_SGPR, .nregs = 2, .reg = EMU_SGPR_EXEC};

#define SAVE_EXEC(name, value, saved)                                  \
  static void run_##name##_b32(emu_wave *wave, const emu_inst *inst) { \
    const uint32_t a = GET_U32(0), e = wave->s[EMU_SGPR_EXEC];         \
    const uint32_t made = (value);                                     \
    PUT_U32(saved);                                                    \
    emu_set_sgpr(wave, EMU_SGPR_EXEC, made);                           \
    wave->scc = made != 0;                                             \
  }                                                                    \
  static void run_##name##_b64(emu_wave *wave, const emu_inst *inst) { \
    const uint64_t a = GET_U64(0), e = emu_s64(wave, &exec_pair);      \
    const uint64_t made = (value);                                     \
    PUT_U64(saved);                                                    \
    emu_set_s64(wave, &exec_pair, made);                               \
    wave->scc = made != 0;                                             \
  }

#define COMPARE(name, left, right, condition)                    \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    const TYPE_##left a = GET_##left(0);                         \
    const TYPE_##right b = GET_##right(1);                       \
    wave->scc = (condition);                                     \
  }
/* SOPK: against the immediate, extended as the type has it. */
#define COMPARE_IMMEDIATE(name, type, extended, condition)        \
  static void run_##name(emu_wave *wave, const emu_inst *inst) {  \
    const TYPE_##type a = GET_##type(0), b = (extended)inst->imm; \
    wave->scc = (condition);                                      \
  }
#define COMPARE_ALL(what, condition)                            \
  COMPARE(cmp_##what##_i32, I32, I32, condition)                \
  COMPARE(cmp_##what##_u32, U32, U32, condition)                \
  COMPARE_IMMEDIATE(cmpk_##what##_i32, I32, int16_t, condition) \
  COMPARE_IMMEDIATE(cmpk_##what##_u32, U32, uint16_t, condition)
#define OP(name, on, ...)
#define RELATIVE(name, on, type)
#include "emulator/exec/salu.def"
#undef UNARY
#undef BINARY
#undef SAVE_EXEC
#undef COMPARE
#undef COMPARE_IMMEDIATE
#undef OP
#undef RELATIVE

/* ---- the table ------------------------------------------------------------------------------ */

/* clang-format off */
#define ROW(name, on, flags, ...) \
  EMU_ROW("s_" #name, run_##name, on, EMU_CLASS_SALU, flags, __VA_ARGS__),
#define OP(name, on, ...) ROW(name, on, 0, __VA_ARGS__)
#define RELATIVE(name, on, type) ROW(name, on, EMU_READS_M0, type, type)
#define UNARY(name, to, from, value, condition) \
  OP(name, EMU_ALL, OPERAND_##to, OPERAND_##from)
#define BINARY(name, to, left, right, value, condition) \
  OP(name, EMU_ALL, OPERAND_##to, OPERAND_##left, OPERAND_##right)
#define SAVE_EXEC(name, value, saved)            \
  OP(name##_b32, EMU_GFX10_ON, EMU_B32, EMU_B32)    \
  OP(name##_b64, EMU_ALL, EMU_B64, EMU_B64)
#define COMPARE(name, left, right, condition) \
  OP(name, EMU_ALL, EMU_NONE, OPERAND_##left, OPERAND_##right)
#define COMPARE_IMMEDIATE(name, type, extended, condition) \
  OP(name, EMU_ALL, EMU_NONE, OPERAND_##type)
#define OPERAND_U32 EMU_B32
#define OPERAND_I32 EMU_B32
#define OPERAND_U64 EMU_B64
#define OPERAND_I64 EMU_I64

const emu_op emu_salu_ops[] = {
#include "emulator/exec/salu.def"
  {.name = NULL},
};
