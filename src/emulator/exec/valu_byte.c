/* Vector instructions on the bytes and halves of a word: selections, averages, and sums of absolute
 * differences, as AMD's Vega and RDNA2 ISA guides define them.  The instructions are the rows of
 * valu_byte.def. */
#include "emulator/exec/valu_int.h"

/* ---- helpers on one lane -------------------------------------------------------------------- */

static inline uint32_t byte_of(uint64_t x, unsigned n) {
  return (uint32_t)(x >> 8 * n) & 0xff;
}

static inline uint32_t saturate_byte(int32_t x) {
  return x < 0 ? 0 : emu_saturate_u((uint32_t)x, UINT8_MAX);
}

/* V_PERM_B32: one selector's byte of the eight in `bytes`, a sign fill, or a constant. */
static inline uint32_t permute_byte(uint64_t bytes, uint32_t selector) {
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0;
  if (selector >= 8) return byte_of(bytes, 2 * (selector - 8) + 1) & 0x80 ? 0xff : 0;
  return byte_of(bytes, selector);
}

static inline uint32_t permute_bytes(uint64_t bytes, uint32_t selectors) {
  uint32_t result = 0;
  for (unsigned n = 0; n < 4; n++) {
    result |= permute_byte(bytes, byte_of(selectors, n)) << 8 * n;
  }
  return result;
}

static inline uint32_t absolute_difference(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}

static inline uint32_t average_bytes(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (unsigned n = 0; n < 4; n++) {
    uint32_t sum = byte_of(a, n) + byte_of(b, n) + (byte_of(c, n) & 1);
    result |= sum >> 1 << 8 * n;
  }
  return result;
}

/* Sum of the absolute differences of four bytes; the masked kind leaves out where `b` has 0. */
static inline uint32_t sum_differences(uint32_t a, uint32_t b, bool is_masked) {
  uint32_t sum = 0;
  for (unsigned n = 0; n < 4; n++) {
    uint32_t difference = absolute_difference(byte_of(a, n), byte_of(b, n));
    sum += is_masked && byte_of(b, n) == 0 ? 0 : difference;
  }
  return sum;
}

static inline uint32_t sum_half_differences(uint32_t a, uint32_t b) {
  return absolute_difference(a & 0xffff, b & 0xffff) + absolute_difference(a >> 16, b >> 16);
}

/* Four sums over windows that begin at bytes 0 … 3 of `a`, added to the halves of `c`. */
static inline uint64_t sum_windows(uint64_t a, uint32_t b, uint64_t c, bool is_masked,
                                   bool is_clamped) {
  uint64_t result = 0;
  for (unsigned n = 0; n < 4; n++) {
    uint32_t sum = sum_differences((uint32_t)(a >> 8 * n), b, is_masked);
    sum += (uint32_t)(c >> 16 * n) & 0xffff;
    if (is_clamped) sum = emu_saturate_u(sum, UINT16_MAX);
    result |= (uint64_t)(sum & 0xffff) << 16 * n;
  }
  return result;
}

/* Four sums as sum_windows has them, each added to a word of a four-register source. */
static void run_mqsad_u32_u8(emu_wave *wave, const emu_inst *inst) {
  EMU_SOURCE(U64, a, 0);
  EMU_SOURCE(U32, b, 1);
  emu_row sums[4];
  const emu_row *added = &wave->v[inst->src[2].reg];
  for (int n = 0; n < 4; n++) {
    for (int lane = 0; lane < wave->width; lane++) {
      uint64_t sum = sum_differences((uint32_t)(a_row->u[lane] >> 8 * n), b_row->u[lane], true);
      sum += added[n].u[lane];
      sums[n].u[lane] = inst->mod.clamp ? emu_saturate_u(sum, UINT32_MAX) : (uint32_t)sum;
    }
  }
  const emu_row *lanes = emu_lanes(wave);
  for (int n = 0; n < 4; n++) {
    emu_row *row = &wave->v[inst->dst[0].reg + n];
    EMU_FOR_LANES(wave) row->u[lane] = lanes->u[lane] ? sums[n].u[lane] : row->u[lane];
  }
}

static inline uint32_t saturate_bytes(uint32_t a) {
  return saturate_byte((int16_t)a) | saturate_byte((int16_t)(a >> 16)) << 8;
}

/* The result is a half since gfx11. */
EMU_LANES_1(run_saturate_to_half, U16, U32, saturate_bytes(a))

#define EMU_OPS_FILE "emulator/exec/valu_byte.def"
#define EMU_OPS_TABLE emu_valu_byte_ops
#include "emulator/exec/vector_ops.h"
