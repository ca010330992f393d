/* Vector instructions on doubles, but for conversions (valu_convert.c) and reciprocals and roots
 * (valu_trans.c).  The instructions are the rows of valu_double.def; what floats and halves have,
 * too, stands in real_ops.h. */
#include "emulator/exec/float.h"
#include "emulator/exec/ops.h"

#define EMU_SIZE 64
#define EMU_KIND f64
#define EMU_KIND_TYPE EMU_F64
#define EMU_KIND_NAME "f64"
#define EMU_ROUND round64
#define EMU_BELOW_ONE 0x1.fffffffffffffp-1
#define EMU_CLASS_MASK_TYPE EMU_B32
#define EMU_IS_HALF 0
#define EMU_NEWER 0
#define FUSE(a, b, c) __builtin_fma(a, b, c)
#define EMU_ONLY_DOUBLE
#include "emulator/exec/real_ops.h"

#include "emulator/exec/real_division.h"

/* 2/pi: the bits after the binary point, 64 a word. The hardware has 1201 of them; zeros follow. */
static const uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0,
};
enum { TABLE_BITS = 1201, DIGITS = 53 };

/* DIGITS bits of 2/pi from `first` on. */
static uint64_t read_digits(int first) {
  if (first >= TABLE_BITS) return 0;
  int word = first / 64, shift = first % 64;
  uint64_t bits = two_over_pi[word] << shift;
  if (shift > 0) bits |= two_over_pi[word + 1] >> (64 - shift);
  return bits >> (64 - DIGITS);
}

/* A segment of 2/pi, chosen so that the product with x has the digits next to the point: ISA
 * guides, V_TRIG_PREOP_F64. */
static double find_segment(double x, uint32_t segment) {
  enum { LAST_WHOLE = 1077, HUGE_EXPONENT = 1968, HUGE_SCALING = 128 };
  int exponent = emu_exponent64(emu_bits_of64(x)), shift = (int)(segment & 31) * DIGITS;
  if (exponent > LAST_WHOLE) shift += exponent - LAST_WHOLE;
  int power = -DIGITS - shift + (exponent >= HUGE_EXPONENT ? HUGE_SCALING : 0);
  return __builtin_scalbn((double)read_digits(shift), power);
}

static void run_trig_preop(emu_wave *wave, const emu_inst *inst) {
  emu_row64 room, out;
  emu_row segment_room;
  const emu_row64 *a = emu_src_f64(wave, inst, 0, &room);
  const emu_row *segment = emu_src32(wave, inst, 1, &segment_room);
  for (int lane = 0; lane < wave->width; lane++) {
    out.f[lane] = find_segment(a->f[lane], segment->u[lane]);
  }
  if (!wave->mode.is_plain || inst->mod.clamp) emu_finish_f64(wave, inst, &out);
  emu_put64(wave, inst, 0, &out);
}

#define EMU_OPS_FILE "emulator/exec/valu_double.def"
#define EMU_OPS_TABLE emu_valu_double_ops
#include "emulator/exec/real_table.h"
