/* Vector instructions on integers and plain bits, one lane at a time as AMD's Vega, MI200 and RDNA2
 * ISA guides define them.
 *
 * Each is an expression over its sources (rows.h).  Unsigned arithmetic wraps as the hardware's;
 * shifts are masked as the hardware masks them, so that every input is defined.  The `clamp`
 * modifier makes additions, subtractions and multiply-adds saturate: SATURATING pairs the plain
 * with the saturating expression. */
#include "emulator/exec/valu_int.h"

/* ---- helpers on one lane -------------------------------------------------------------------- */

static inline uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}
static inline uint32_t max_u32(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}
static inline int32_t min_i32(int32_t a, int32_t b) {
  return a < b ? a : b;
}
static inline int32_t max_i32(int32_t a, int32_t b) {
  return a > b ? a : b;
}

static inline uint32_t med_u32(uint32_t a, uint32_t b, uint32_t c) {
  return max_u32(min_u32(a, b), min_u32(max_u32(a, b), c));
}

static inline int32_t med_i32(int32_t a, int32_t b, int32_t c) {
  return max_i32(min_i32(a, b), min_i32(max_i32(a, b), c));
}

static inline uint64_t multiply_u(uint32_t a, uint32_t b) {
  return (uint64_t)a * b;
}
static inline int64_t multiply_i(int32_t a, int32_t b) {
  return (int64_t)a * b;
}

static inline uint32_t low24(uint32_t x) {
  return x & 0xffffff;
}
static inline int32_t signed24(uint32_t x) {
  return (int32_t)(x << 8) >> 8;
}

/* Without tables and branches, so that it becomes vector code. */
static inline uint32_t count_bits(uint32_t x) {
  x = x - (x >> 1 & 0x55555555);
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f;
  x += x >> 8;
  return (x + (x >> 16)) & 0x3f;
}

static inline uint32_t reverse_bits(uint32_t x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  x = (x >> 8 & 0x00ff00ff) | (x & 0x00ff00ff) << 8;
  return x >> 16 | x << 16;
}

/* Position of the first 1 counted from the top or from the bottom; ~0: there is none. */
static inline uint32_t first_from_top(uint32_t x) {
  return x == 0 ? ~0u : (uint32_t)__builtin_clz(x);
}

static inline uint32_t first_from_bottom(uint32_t x) {
  return x == 0 ? ~0u : (uint32_t)__builtin_ctz(x);
}

static inline uint32_t ones(uint32_t count) {
  return (1u << (count & 31)) - 1;
}

static inline int32_t extract_signed(int32_t x, uint32_t from, uint32_t count) {
  uint32_t sign = 1u << ((count - 1) & 31);
  uint32_t bits = (uint32_t)(x >> (from & 31)) & ones(count);
  return (count & 31) == 0 ? 0 : (int32_t)((bits ^ sign) - sign);
}

static inline uint64_t join(uint32_t high, uint32_t low) {
  return (uint64_t)high << 32 | low;
}

static inline uint32_t pack(uint32_t high, uint32_t low) {
  return high << 16 | (low & 0xffff);
}

/* ---- moves and bits ------------------------------------------------------------------------- */

/* A constant or scalar is spread straight into the destination. */
static void run_mov_b32(emu_wave *wave, const emu_inst *inst) {
  emu_row room;
  emu_row *out = emu_target32(wave, inst, 0, &room);
  emu_put32(wave, inst, 0, emu_src32(wave, inst, 0, out));
}

static void run_nop(emu_wave *wave, const emu_inst *inst) {
  (void)wave;
  (void)inst;
}

static void run_swap_b32(emu_wave *wave, const emu_inst *inst) {
  emu_row *x = &wave->v[inst->dst[0].reg], *y = &wave->v[inst->src[0].reg];
  const emu_row *lanes = emu_lanes(wave);
  EMU_FOR_LANES(wave) {
    uint32_t changed = (x->u[lane] ^ y->u[lane]) & lanes->u[lane];
    x->u[lane] ^= changed;
    y->u[lane] ^= changed;
  }
}

EMU_LANES_1(run_not_b32, U32, U32, ~a)
EMU_LANES_1(run_bfrev_b32, U32, U32, reverse_bits(a))
EMU_LANES_1(run_ffbh_u32, U32, U32, first_from_top(a))
EMU_LANES_1(run_ffbh_i32, U32, I32, first_from_top((uint32_t)(a ^ a >> 31)))
EMU_LANES_1(run_ffbl_b32, U32, U32, first_from_bottom(a))
EMU_LANES_2(run_and_b32, U32, U32, U32, (a) & (b))
EMU_LANES_2(run_or_b32, U32, U32, U32, a | b)
EMU_LANES_2(run_xor_b32, U32, U32, U32, a ^ b)
EMU_LANES_2(run_xnor_b32, U32, U32, U32, ~(a ^ b))
EMU_LANES_2(run_bfm_b32, U32, U32, U32, ones(a) << (b & 31))
EMU_LANES_2(run_bcnt_u32_b32, U32, U32, U32, count_bits(a) + b)
EMU_LANES_3(run_cndmask_b32, U32, U32, U32, MASK, (b & c) | (a & ~c))
EMU_LANES_3(run_bfe_u32, U32, U32, U32, U32, a >> (b & 31) & ones(c))
EMU_LANES_3(run_bfe_i32, I32, I32, U32, U32, extract_signed(a, b, c))
EMU_LANES_3(run_bfi_b32, U32, U32, U32, U32, (a & b) | (~a & c))
EMU_LANES_3(run_and_or_b32, U32, U32, U32, U32, (a & b) | c)
EMU_LANES_3(run_or3_b32, U32, U32, U32, U32, a | b | c)
EMU_LANES_3(run_xor3_b32, U32, U32, U32, U32, a ^ b ^ c)
EMU_LANES_3(run_alignbit_b32, U32, U32, U32, U32, join(a, b) >> (c & 31))
EMU_LANES_3(run_alignbyte_b32, U32, U32, U32, U32, join(a, b) >> 8 * (c & 3))
/* The lanes below one's own, of the low and of the high half of the wavefront. */
static inline uint32_t lanes_below(int lane) {
  return lane >= 32 ? ~0u : (1u << lane) - 1;
}

EMU_LANES_2(run_mbcnt_lo_u32_b32, U32, U32, U32, count_bits(a &lanes_below(lane)) + b)
EMU_LANES_2(run_mbcnt_hi_u32_b32, U32, U32, U32,
            count_bits(a &(lane < 32 ? 0 : lanes_below(lane - 32))) + b)

/* ---- shifts --------------------------------------------------------------------------------- */

EMU_LANES_2(run_lshlrev_b32, U32, U32, U32, b << (a & 31))
EMU_LANES_2(run_lshrrev_b32, U32, U32, U32, b >> (a & 31))
EMU_LANES_2(run_ashrrev_i32, I32, U32, I32, b >> (a & 31))
EMU_LANES_2(run_lshlrev_b64, U64, U32, U64, b << (a & 63))
EMU_LANES_2(run_lshrrev_b64, U64, U32, U64, b >> (a & 63))
EMU_LANES_2(run_ashrrev_i64, I64, U32, I64, b >> (a & 63))
EMU_LANES_2(run_lshlrev_b16, U16, U16, U16, (uint32_t)b << (a & 15))
EMU_LANES_2(run_lshrrev_b16, U16, U16, U16, b >> (a & 15))
EMU_LANES_2(run_ashrrev_i16, I16, U16, I16, b >> (a & 15))
EMU_LANES_3(run_lshl_or_b32, U32, U32, U32, U32, a << (b & 31) | c)
EMU_LANES_3(run_lshl_add_u32, U32, U32, U32, U32, (a << (b & 31)) + c)
EMU_LANES_3(run_add_lshl_u32, U32, U32, U32, U32, (a + b) << (c & 31))
EMU_LANES_3(run_xad_u32, U32, U32, U32, U32, (a ^ b) + c)
EMU_LANES_3(run_add3_u32, U32, U32, U32, U32, a + b + c)

/* ---- minima, maxima ------------------------------------------------------------------------- */

EMU_LANES_2(run_min_u32, U32, U32, U32, min_u32(a, b))
EMU_LANES_2(run_max_u32, U32, U32, U32, max_u32(a, b))
EMU_LANES_2(run_min_i32, I32, I32, I32, min_i32(a, b))
EMU_LANES_2(run_max_i32, I32, I32, I32, max_i32(a, b))
EMU_LANES_2(run_min_u16, U16, U16, U16, a < b ? a : b)
EMU_LANES_2(run_max_u16, U16, U16, U16, a > b ? a : b)
EMU_LANES_2(run_min_i16, I16, I16, I16, a < b ? a : b)
EMU_LANES_2(run_max_i16, I16, I16, I16, a > b ? a : b)
EMU_LANES_3(run_min3_u32, U32, U32, U32, U32, min_u32(min_u32(a, b), c))
EMU_LANES_3(run_max3_u32, U32, U32, U32, U32, max_u32(max_u32(a, b), c))
EMU_LANES_3(run_med3_u32, U32, U32, U32, U32, med_u32(a, b, c))
EMU_LANES_3(run_min3_i32, I32, I32, I32, I32, min_i32(min_i32(a, b), c))
EMU_LANES_3(run_max3_i32, I32, I32, I32, I32, max_i32(max_i32(a, b), c))
EMU_LANES_3(run_med3_i32, I32, I32, I32, I32, med_i32(a, b, c))
EMU_LANES_3(run_min3_u16, U16, U16, U16, U16, min_u32(min_u32(a, b), c))
EMU_LANES_3(run_max3_u16, U16, U16, U16, U16, max_u32(max_u32(a, b), c))
EMU_LANES_3(run_med3_u16, U16, U16, U16, U16, med_u32(a, b, c))
EMU_LANES_3(run_min3_i16, I16, I16, I16, I16, min_i32(min_i32(a, b), c))
EMU_LANES_3(run_max3_i16, I16, I16, I16, I16, max_i32(max_i32(a, b), c))
EMU_LANES_3(run_med3_i16, I16, I16, I16, I16, med_i32(a, b, c))

/* ---- arithmetic ----------------------------------------------------------------------------- */

EMU_SATURATING_2(run_add_u32, U32, U32, U32, a + b, a + b < a ? ~0u : a + b)
EMU_SATURATING_2(run_sub_u32, U32, U32, U32, a - b, a < b ? 0 : a - b)
EMU_SATURATING_2(run_subrev_u32, U32, U32, U32, b - a, b < a ? 0 : b - a)
EMU_SATURATING_2(run_add_i32, I32, I32, I32, (uint32_t)a + (uint32_t)b,
                 emu_saturate_i((int64_t)a + b, INT32_MAX))
EMU_SATURATING_2(run_sub_i32, I32, I32, I32, (uint32_t)a - (uint32_t)b,
                 emu_saturate_i((int64_t)a - b, INT32_MAX))
EMU_SATURATING_2(run_add_u16, U16, U16, U16, a + b, emu_saturate_u((uint32_t)a + b, UINT16_MAX))
EMU_SATURATING_2(run_sub_u16, U16, U16, U16, a - b, a < b ? 0 : a - b)
EMU_SATURATING_2(run_subrev_u16, U16, U16, U16, b - a, b < a ? 0 : b - a)
EMU_SATURATING_2(run_add_i16, I16, I16, I16, a + b, emu_saturate_i(a + b, INT16_MAX))
EMU_SATURATING_2(run_sub_i16, I16, I16, I16, a - b, emu_saturate_i(a - b, INT16_MAX))

EMU_LANES_2(run_mul_lo_u32, U32, U32, U32, multiply_u(a, b))
EMU_LANES_2(run_mul_hi_u32, U32, U32, U32, multiply_u(a, b) >> 32)
EMU_LANES_2(run_mul_hi_i32, I32, I32, I32, multiply_i(a, b) >> 32)
EMU_LANES_2(run_mul_lo_u16, U16, U16, U16, multiply_u(a, b))
EMU_SATURATING_2(run_mul_u32_u24, U32, U32, U32, low24(a) * low24(b),
                 emu_saturate_u((uint64_t)low24(a) * low24(b), UINT32_MAX))
EMU_SATURATING_2(run_mul_i32_i24, I32, U32, U32, (uint32_t)signed24(a) * (uint32_t)signed24(b),
                 emu_saturate_i((int64_t)signed24(a) * signed24(b), INT32_MAX))
EMU_LANES_2(run_mul_hi_u32_u24, U32, U32, U32, (uint64_t)low24(a) * low24(b) >> 32)
EMU_LANES_2(run_mul_hi_i32_i24, I32, U32, U32, (int64_t)signed24(a) * signed24(b) >> 32)

EMU_SATURATING_3(run_mad_u32_u24, U32, U32, U32, U32, low24(a) * low24(b) + c,
                 emu_saturate_u((uint64_t)low24(a) * low24(b) + c, UINT32_MAX))
EMU_SATURATING_3(run_mad_i32_i24, I32, U32, U32, I32,
                 (uint32_t)signed24(a) * (uint32_t)signed24(b) + (uint32_t)c,
                 emu_saturate_i((int64_t)signed24(a) * signed24(b) + c, INT32_MAX))
EMU_SATURATING_3(run_mad_u16, U16, U16, U16, U16, multiply_u(a, b) + c,
                 emu_saturate_u(multiply_u(a, b) + c, UINT16_MAX))
EMU_SATURATING_3(run_mad_i16, I16, I16, I16, I16, multiply_i(a, b) + c,
                 emu_saturate_i(multiply_i(a, b) + c, INT16_MAX))
EMU_SATURATING_3(run_mad_u32_u16, U32, U16, U16, U32, multiply_u(a, b) + c,
                 emu_saturate_u(multiply_u(a, b) + c, UINT32_MAX))
EMU_SATURATING_3(run_mad_i32_i16, I32, I16, I16, I32, multiply_i(a, b) + c,
                 emu_saturate_i(multiply_i(a, b) + c, INT32_MAX))

EMU_LANES_2(run_cvt_pk_u16_u32, U32, U32, U32,
            pack(emu_saturate_u(b, UINT16_MAX), emu_saturate_u(a, UINT16_MAX)))
EMU_LANES_2(run_cvt_pk_i16_i32, U32, I32, I32,
            pack((uint32_t)emu_saturate_i(b, INT16_MAX), (uint32_t)emu_saturate_i(a, INT16_MAX)))

/* ---- carries -------------------------------------------------------------------------------- */

/* A sum and the lanes that carry: `sum` and `carry` are expressions over a, b and, with a carry in,
 * c (0 or 1); `limit` is what a carrying lane gets with clamp. */
#define CARRYING_2(function, sum, carry, limit)                \
  static void function(emu_wave *wave, const emu_inst *inst) { \
    EMU_SOURCE(U32, a, 0);                                     \
    EMU_SOURCE(U32, b, 1);                                     \
    EMU_TARGET(U32);                                           \
    emu_row carries;                                           \
    uint32_t clamped = inst->mod.clamp ? ~0u : 0;              \
    EMU_FOR_LANES(wave) {                                      \
      EMU_ELEMENT(U32, a);                                     \
      EMU_ELEMENT(U32, b);                                     \
      uint32_t carried = (carry) ? ~0u : 0, result = (sum);    \
      uint32_t held = carried & clamped;                       \
      carries.u[lane] = carried;                               \
      out->u[lane] = (result & ~held) | ((limit)&held);        \
    }                                                          \
    EMU_PUT(U32);                                              \
    emu_put_mask(wave, inst, 1, &carries);                     \
  }

#define CARRYING_3(function, sum, carry, limit)                \
  static void function(emu_wave *wave, const emu_inst *inst) { \
    EMU_SOURCE(U32, a, 0);                                     \
    EMU_SOURCE(U32, b, 1);                                     \
    EMU_SOURCE(MASK, c, 2);                                    \
    EMU_TARGET(U32);                                           \
    emu_row carries;                                           \
    uint32_t clamped = inst->mod.clamp ? ~0u : 0;              \
    EMU_FOR_LANES(wave) {                                      \
      EMU_ELEMENT(U32, a);                                     \
      EMU_ELEMENT(U32, b);                                     \
      uint32_t c = c_row->u[lane] & 1;                         \
      uint32_t result = (sum);                                 \
      uint32_t carried = (carry) ? ~0u : 0;                    \
      uint32_t held = carried & clamped;                       \
      carries.u[lane] = carried;                               \
      out->u[lane] = (result & ~held) | ((limit)&held);        \
    }                                                          \
    EMU_PUT(U32);                                              \
    emu_put_mask(wave, inst, 1, &carries);                     \
  }

CARRYING_2(run_add_co_u32, a + b, a + b < a, ~0u)
CARRYING_2(run_sub_co_u32, a - b, a < b, 0u)
CARRYING_2(run_subrev_co_u32, b - a, b < a, 0u)
/* With a carry in, the sum wraps exactly to the first addend when the other is ~0. */
CARRYING_3(run_addc_co_u32, a + b + c, (a + b < a) | (result < c), ~0u)
CARRYING_3(run_subb_co_u32, a - b - c, (a < b) | (a - b < c), 0u)
CARRYING_3(run_subbrev_co_u32, b - a - c, (b < a) | (b - a < c), 0u)

/* The carry out is bit 64 of the sum, of sign-extended summands where they are signed. */
#define MAD_64(function, E, product_type, carry, limit)        \
  static void function(emu_wave *wave, const emu_inst *inst) { \
    EMU_SOURCE(E, a, 0);                                       \
    EMU_SOURCE(E, b, 1);                                       \
    EMU_SOURCE(U64, c, 2);                                     \
    emu_row64 sums;                                            \
    emu_row carries;                                           \
    EMU_FOR_LANES(wave) {                                      \
      EMU_ELEMENT(E, a);                                       \
      EMU_ELEMENT(E, b);                                       \
      EMU_ELEMENT(U64, c);                                     \
      uint64_t product = (uint64_t)((product_type)a * b);      \
      uint64_t sum = product + c;                              \
      carries.u[lane] = (carry) ? ~0u : 0;                     \
      sums.u[lane] = sum;                                      \
    }                                                          \
    if (inst->mod.clamp) {                                     \
      for (int lane = 0; lane < wave->width; lane++) {         \
        EMU_ELEMENT(E, a);                                     \
        EMU_ELEMENT(E, b);                                     \
        EMU_ELEMENT(U64, c);                                   \
        uint64_t product = (uint64_t)((product_type)a * b);    \
        uint64_t sum = product + c;                            \
        sums.u[lane] = (limit);                                \
      }                                                        \
    }                                                          \
    emu_put64(wave, inst, 0, &sums);                           \
    emu_put_mask(wave, inst, 1, &carries);                     \
  }

/* The sum, or the end of the range that it leaves: only summands of one sign can. */
static inline uint64_t saturate_sum_i64(uint64_t a, uint64_t b, uint64_t sum) {
  bool overflows = (~(a ^ b) & (a ^ sum)) >> 63;
  return overflows ? (a >> 63 ? (uint64_t)INT64_MIN : INT64_MAX) : sum;
}

MAD_64(run_mad_u64_u32, U32, uint64_t, sum < c, sum < c ? UINT64_MAX : sum)
MAD_64(run_mad_i64_i32, I32, int64_t, (product >> 63) ^ (c >> 63) ^ (sum < c),
       saturate_sum_i64(product, c, sum))

/* ---- the table ------------------------------------------------------------------------------ */

#define B16_2(name, run, on, flags) EMU_INT_OP(name, run, on, flags, {EMU_B16}, {EMU_B16, EMU_B16})
#define B16_3(name, run, on, flags) \
  EMU_INT_OP(name, run, on, flags, {EMU_B16}, {EMU_B16, EMU_B16, EMU_B16})
#define CARRY_OUT(name, run, on) \
  EMU_INT_OP(name, run, on, EMU_CLAMPS, {EMU_B32, EMU_MASK}, {EMU_B32, EMU_B32})
#define CARRY_THROUGH(name, run, on) \
  EMU_INT_OP(name, run, on, EMU_CLAMPS, {EMU_B32, EMU_MASK}, {EMU_B32, EMU_B32, EMU_MASK})
#define SHIFT_64(name, run, type) EMU_INT_OP(name, run, EMU_ALL, 0, {type}, {EMU_B32, type})

const emu_op emu_valu_int_ops[] = {
    {"v_nop", run_nop, EMU_ALL, EMU_CLASS_NOTHING, 0, {EMU_NONE}, {EMU_NONE}},
    {"v_clrexcp", run_nop, EMU_ALL, EMU_CLASS_NOTHING, 0, {EMU_NONE}, {EMU_NONE}},
    {"v_pipeflush", run_nop, EMU_GFX10, EMU_CLASS_NOTHING, 0, {EMU_NONE}, {EMU_NONE}},
    EMU_B32_1("v_mov_b32", run_mov_b32, EMU_ALL),
    EMU_B32_1("v_accvgpr_read_b32", run_mov_b32, EMU_GFX9),
    EMU_B32_1("v_accvgpr_write_b32", run_mov_b32, EMU_GFX9),
    EMU_B32_1("v_accvgpr_mov_b32", run_mov_b32, EMU_GFX9),
    EMU_INT_OP("v_swap_b32", run_swap_b32, EMU_ALL, 0, {EMU_B32}, {EMU_B32}),
    EMU_B32_1("v_not_b32", run_not_b32, EMU_ALL),
    EMU_B32_1("v_bfrev_b32", run_bfrev_b32, EMU_ALL),
    EMU_B32_1("v_ffbh_u32", run_ffbh_u32, EMU_ALL),
    EMU_B32_1("v_ffbh_i32", run_ffbh_i32, EMU_ALL),
    EMU_B32_1("v_ffbl_b32", run_ffbl_b32, EMU_ALL),

    EMU_B32_2("v_and_b32", run_and_b32, EMU_ALL),
    EMU_B32_2("v_or_b32", run_or_b32, EMU_ALL),
    EMU_B32_2("v_xor_b32", run_xor_b32, EMU_ALL),
    EMU_B32_2("v_xnor_b32", run_xnor_b32, EMU_ALL),
    EMU_B32_2("v_bfm_b32", run_bfm_b32, EMU_ALL),
    EMU_B32_2("v_bcnt_u32_b32", run_bcnt_u32_b32, EMU_ALL),
    EMU_B32_2("v_mbcnt_lo_u32_b32", run_mbcnt_lo_u32_b32, EMU_ALL),
    EMU_B32_2("v_mbcnt_hi_u32_b32", run_mbcnt_hi_u32_b32, EMU_ALL),
    EMU_INT_OP("v_cndmask_b32", run_cndmask_b32, EMU_ALL, 0, {EMU_B32},
               {EMU_B32, EMU_B32, EMU_MASK}),
    EMU_B32_3("v_bfe_u32", run_bfe_u32, EMU_ALL),
    EMU_B32_3("v_bfe_i32", run_bfe_i32, EMU_ALL),
    EMU_B32_3("v_bfi_b32", run_bfi_b32, EMU_ALL),
    EMU_B32_3("v_and_or_b32", run_and_or_b32, EMU_ALL),
    EMU_B32_3("v_or3_b32", run_or3_b32, EMU_ALL),
    EMU_B32_3("v_xor3_b32", run_xor3_b32, EMU_GFX10),
    EMU_B32_3("v_alignbit_b32", run_alignbit_b32, EMU_ALL),
    EMU_B32_3("v_alignbyte_b32", run_alignbyte_b32, EMU_ALL),

    EMU_B32_2("v_lshlrev_b32", run_lshlrev_b32, EMU_ALL),
    EMU_B32_2("v_lshrrev_b32", run_lshrrev_b32, EMU_ALL),
    EMU_B32_2("v_ashrrev_i32", run_ashrrev_i32, EMU_ALL),
    SHIFT_64("v_lshlrev_b64", run_lshlrev_b64, EMU_B64),
    SHIFT_64("v_lshrrev_b64", run_lshrrev_b64, EMU_B64),
    SHIFT_64("v_ashrrev_i64", run_ashrrev_i64, EMU_I64),
    B16_2("v_lshlrev_b16", run_lshlrev_b16, EMU_ALL, 0),
    B16_2("v_lshrrev_b16", run_lshrrev_b16, EMU_ALL, 0),
    B16_2("v_ashrrev_i16", run_ashrrev_i16, EMU_ALL, 0),
    EMU_B32_3("v_lshl_or_b32", run_lshl_or_b32, EMU_ALL),
    EMU_B32_3("v_lshl_add_u32", run_lshl_add_u32, EMU_ALL),
    EMU_B32_3("v_add_lshl_u32", run_add_lshl_u32, EMU_ALL),
    EMU_B32_3("v_xad_u32", run_xad_u32, EMU_ALL),
    EMU_B32_3("v_add3_u32", run_add3_u32, EMU_ALL),

    EMU_B32_2("v_min_u32", run_min_u32, EMU_ALL),
    EMU_B32_2("v_max_u32", run_max_u32, EMU_ALL),
    EMU_B32_2("v_min_i32", run_min_i32, EMU_ALL),
    EMU_B32_2("v_max_i32", run_max_i32, EMU_ALL),
    B16_2("v_min_u16", run_min_u16, EMU_ALL, 0),
    B16_2("v_max_u16", run_max_u16, EMU_ALL, 0),
    B16_2("v_min_i16", run_min_i16, EMU_ALL, 0),
    B16_2("v_max_i16", run_max_i16, EMU_ALL, 0),
    EMU_B32_3("v_min3_u32", run_min3_u32, EMU_ALL),
    EMU_B32_3("v_max3_u32", run_max3_u32, EMU_ALL),
    EMU_B32_3("v_med3_u32", run_med3_u32, EMU_ALL),
    EMU_B32_3("v_min3_i32", run_min3_i32, EMU_ALL),
    EMU_B32_3("v_max3_i32", run_max3_i32, EMU_ALL),
    EMU_B32_3("v_med3_i32", run_med3_i32, EMU_ALL),
    B16_3("v_min3_u16", run_min3_u16, EMU_ALL, EMU_KEEPS_HIGH),
    B16_3("v_max3_u16", run_max3_u16, EMU_ALL, EMU_KEEPS_HIGH),
    B16_3("v_med3_u16", run_med3_u16, EMU_ALL, EMU_KEEPS_HIGH),
    B16_3("v_min3_i16", run_min3_i16, EMU_ALL, EMU_KEEPS_HIGH),
    B16_3("v_max3_i16", run_max3_i16, EMU_ALL, EMU_KEEPS_HIGH),
    B16_3("v_med3_i16", run_med3_i16, EMU_ALL, EMU_KEEPS_HIGH),

    EMU_SUM_2("v_add_u32", run_add_u32, EMU_GFX9),
    EMU_SUM_2("v_sub_u32", run_sub_u32, EMU_GFX9),
    EMU_SUM_2("v_subrev_u32", run_subrev_u32, EMU_GFX9),
    EMU_SUM_2("v_add_nc_u32", run_add_u32, EMU_GFX10),
    EMU_SUM_2("v_sub_nc_u32", run_sub_u32, EMU_GFX10),
    EMU_SUM_2("v_subrev_nc_u32", run_subrev_u32, EMU_GFX10),
    EMU_SUM_2("v_add_i32", run_add_i32, EMU_GFX9),
    EMU_SUM_2("v_sub_i32", run_sub_i32, EMU_GFX9),
    EMU_SUM_2("v_add_nc_i32", run_add_i32, EMU_GFX10),
    EMU_SUM_2("v_sub_nc_i32", run_sub_i32, EMU_GFX10),
    B16_2("v_add_u16", run_add_u16, EMU_GFX9, EMU_CLAMPS),
    B16_2("v_sub_u16", run_sub_u16, EMU_GFX9, EMU_CLAMPS),
    B16_2("v_subrev_u16", run_subrev_u16, EMU_GFX9, EMU_CLAMPS),
    B16_2("v_add_i16", run_add_i16, EMU_GFX9, EMU_CLAMPS | EMU_KEEPS_HIGH),
    B16_2("v_sub_i16", run_sub_i16, EMU_GFX9, EMU_CLAMPS | EMU_KEEPS_HIGH),
    B16_2("v_add_nc_u16", run_add_u16, EMU_GFX10, EMU_CLAMPS),
    B16_2("v_sub_nc_u16", run_sub_u16, EMU_GFX10, EMU_CLAMPS),
    B16_2("v_add_nc_i16", run_add_i16, EMU_GFX10, EMU_CLAMPS),
    B16_2("v_sub_nc_i16", run_sub_i16, EMU_GFX10, EMU_CLAMPS),
    CARRY_OUT("v_add_co_u32", run_add_co_u32, EMU_ALL),
    CARRY_OUT("v_sub_co_u32", run_sub_co_u32, EMU_ALL),
    CARRY_OUT("v_subrev_co_u32", run_subrev_co_u32, EMU_ALL),
    CARRY_THROUGH("v_addc_co_u32", run_addc_co_u32, EMU_GFX9),
    CARRY_THROUGH("v_subb_co_u32", run_subb_co_u32, EMU_GFX9),
    CARRY_THROUGH("v_subbrev_co_u32", run_subbrev_co_u32, EMU_GFX9),
    CARRY_THROUGH("v_add_co_ci_u32", run_addc_co_u32, EMU_GFX10),
    CARRY_THROUGH("v_sub_co_ci_u32", run_subb_co_u32, EMU_GFX10),
    CARRY_THROUGH("v_subrev_co_ci_u32", run_subbrev_co_u32, EMU_GFX10),

    EMU_B32_2("v_mul_lo_u32", run_mul_lo_u32, EMU_ALL),
    EMU_B32_2("v_mul_hi_u32", run_mul_hi_u32, EMU_ALL),
    EMU_B32_2("v_mul_hi_i32", run_mul_hi_i32, EMU_ALL),
    B16_2("v_mul_lo_u16", run_mul_lo_u16, EMU_ALL, 0),
    EMU_SUM_2("v_mul_u32_u24", run_mul_u32_u24, EMU_ALL),
    EMU_SUM_2("v_mul_i32_i24", run_mul_i32_i24, EMU_ALL),
    EMU_B32_2("v_mul_hi_u32_u24", run_mul_hi_u32_u24, EMU_ALL),
    EMU_B32_2("v_mul_hi_i32_i24", run_mul_hi_i32_i24, EMU_ALL),
    EMU_SUM_3("v_mad_u32_u24", run_mad_u32_u24, EMU_ALL),
    EMU_SUM_3("v_mad_i32_i24", run_mad_i32_i24, EMU_ALL),
    B16_3("v_mad_u16", run_mad_u16, EMU_ALL, EMU_CLAMPS | EMU_KEEPS_HIGH),
    B16_3("v_mad_i16", run_mad_i16, EMU_ALL, EMU_CLAMPS | EMU_KEEPS_HIGH),
    B16_3("v_mad_legacy_u16", run_mad_u16, EMU_GFX9, EMU_CLAMPS),
    B16_3("v_mad_legacy_i16", run_mad_i16, EMU_GFX9, EMU_CLAMPS),
    EMU_INT_OP("v_mad_u32_u16", run_mad_u32_u16, EMU_ALL, EMU_CLAMPS, {EMU_B32},
               {EMU_B16, EMU_B16, EMU_B32}),
    EMU_INT_OP("v_mad_i32_i16", run_mad_i32_i16, EMU_ALL, EMU_CLAMPS, {EMU_B32},
               {EMU_B16, EMU_B16, EMU_B32}),
    EMU_INT_OP("v_mad_u64_u32", run_mad_u64_u32, EMU_ALL, EMU_CLAMPS, {EMU_B64, EMU_MASK},
               {EMU_B32, EMU_B32, EMU_B64}),
    EMU_INT_OP("v_mad_i64_i32", run_mad_i64_i32, EMU_ALL, EMU_CLAMPS, {EMU_I64, EMU_MASK},
               {EMU_B32, EMU_B32, EMU_I64}),
    EMU_B32_2("v_cvt_pk_u16_u32", run_cvt_pk_u16_u32, EMU_ALL),
    EMU_B32_2("v_cvt_pk_i16_i32", run_cvt_pk_i16_i32, EMU_ALL),
    {0}};
