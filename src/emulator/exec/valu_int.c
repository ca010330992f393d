/* Vector instructions on integers and plain bits, one lane at a time as AMD's Vega, MI200 and RDNA2
 * ISA guides define them.
 *
 * The instructions are the rows of valu_int.def; here stand the helpers that their expressions call,
 * and the functions of those that are no expression of one lane. */
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

/* The lanes below one's own, of the low and of the high half of the wavefront. */
static inline uint32_t lanes_below(int lane) {
  return lane >= 32 ? ~0u : (1u << lane) - 1;
}

/* The sum, or the end of the range that it leaves: only summands of one sign can. */
static inline uint64_t saturate_sum_i64(uint64_t a, uint64_t b, uint64_t sum) {
  bool overflows = (~(a ^ b) & (a ^ sum)) >> 63;
  return overflows ? (a >> 63 ? (uint64_t)INT64_MIN : INT64_MAX) : sum;
}

/* ---- moves ---------------------------------------------------------------------------------- */

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

/* Bit by bit, what the table has for the three bits. */
static inline uint32_t look_up(uint32_t table, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 8; i++) {
    uint32_t match = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    result |= table >> i & 1 ? match : 0;
  }
  return result;
}

/* A byte of what is held within the two. */
static inline uint32_t hold(int32_t x, int32_t low, int32_t high) {
  int32_t above = x > low ? x : low;
  return (uint32_t)(above < high ? above : high) & 0xff;
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

/* ---- carries -------------------------------------------------------------------------------- */

/* A sum and the lanes that carry: `sum` and `carry` are expressions over a, b and, with a carry in,
 * c (0 or 1); `limit` is what a carrying lane gets with clamp. */
#define EMU_CARRYING_2(function, sum, carry, limit)            \
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

#define EMU_CARRYING_3(function, sum, carry, limit)            \
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

/* The carry out is bit 64 of the sum, of sign-extended summands where they are signed. */
#define EMU_MAD_64(function, E, product_type, carry, limit)    \
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

/* The distance is a half since gfx11. */
EMU_LANES_3(run_alignbit_by_half, U32, U32, U32, U16, join(a, b) >> (c & 31))
EMU_LANES_3(run_alignbyte_by_half, U32, U32, U32, U16, join(a, b) >> 8 * (c & 3))

#define EMU_OPS_FILE "emulator/exec/valu_int.def"
#define EMU_OPS_TABLE emu_valu_int_ops
#include "emulator/exec/vector_ops.h"
