/* The frames around floating-point kernels: sources in, mode applied, result out.
 *
 * Between instructions the host always rounds to nearest and keeps denormals: other roundings are
 * set before a kernel and reset after it, and flushing is done on the bits. Halves are computed as
 * floats, which have more than twice the digits: rounding an operation's result twice gives what
 * rounding it once does (for fma see valu_half.c). */
#include "emulator/exec/float.h"

#include <fenv.h>

enum { EMU_KEEPS_SOURCES = 1, EMU_KEEPS_RESULTS = 2 }; /* bits of emu_mode's denorm fields */

bool emu_is_wide;

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((constructor)) static void look_at_host(void) {
  __builtin_cpu_init();
  emu_is_wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

int emu_enter_rounding(unsigned round) {
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  int before = fegetround();
  fesetround(modes[round & 3]);
  return before;
}

void emu_leave_rounding(int before) {
  fesetround(before);
}

/* What the output modifier multiplies by.  The ISA guides ignore it in IEEE mode and where results
 * keep denormals (the caller knows); there -0 becomes +0. */
static double find_factor(const emu_wave *wave, const emu_inst *inst) {
  static const double factors[] = {1, 2, 4, 0.5};
  return wave->mode.ieee ? 1 : factors[inst->mod.omod & 3];
}

static emu_row *find_target32(emu_wave *wave, const emu_inst *inst, emu_row *room) {
  return emu_target32(wave, inst, 0, room);
}

static emu_row64 *find_target64(emu_wave *wave, const emu_inst *inst, emu_row64 *room) {
  (void)wave;
  (void)inst;
  return room;
}

static const emu_row *find_old32(const emu_wave *wave, const emu_inst *inst, emu_row *room) {
  (void)room;
  return &wave->v[inst->dst[0].reg];
}

static const emu_row64 *find_old64(const emu_wave *wave, const emu_inst *inst, emu_row64 *room) {
  const emu_row *low = &wave->v[inst->dst[0].reg], *high = low + 1;
  EMU_FOR_LANES(wave) room->u[lane] = low->u[lane] | (uint64_t)high->u[lane] << 32;
  return room;
}

#define EMU_SIZE 32
#include "emulator/exec/real_rows.h"
#undef EMU_SIZE
#define EMU_SIZE 64
#include "emulator/exec/real_rows.h"
#undef EMU_SIZE

/* ---- halves --------------------------------------------------------------------------------- */

/* Whether what was cut off (below `one`, the last kept bit) takes a magnitude one step up. */
static bool rounds_up(uint32_t kept, uint32_t cut, uint32_t one, unsigned round, bool negative) {
  if (cut == 0) return false;
  switch (round) {
    case 1: return !negative;
    case 2: return negative;
    case 3: return false;
    default: return cut > one / 2 || (cut == one / 2 && (kept & 1));
  }
}

uint32_t emu_narrow(uint32_t bits, unsigned round) {
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude == 0x7f800000) return sign | 0x7c00;
  int exponent = (int)(magnitude >> 23);
  uint32_t mantissa = (magnitude & 0x7fffff) | (exponent ? 0x800000 : 0);
  /* one step of a half is 2^shift steps of this float */
  int shift = exponent >= 113 ? 13 : 126 - (exponent ? exponent : 1);
  if (shift > 26) shift = 26; /* all of it is cut off, and is less than a half of one step */
  uint32_t one = 1u << shift, kept = mantissa >> shift, cut = mantissa & (one - 1);
  kept += rounds_up(kept, cut, one, round, sign != 0);
  if (exponent >= 113) kept += (uint32_t)(exponent - 113) << 10; /* the leading bit counts as one */
  if (kept < 0x7c00) return sign | kept;
  bool stays = round == 3 || (round == 1 && sign) || (round == 2 && !sign);
  return sign | (stays ? 0x7bff : 0x7c00);
}

void emu_widen_row(const emu_wave *wave, emu_row *out, const emu_row *in) {
  if (wave->mode.denorm64 & EMU_KEEPS_SOURCES) {
    EMU_FOR_LANES(wave) out->u[lane] = emu_widen(in->u[lane] & 0xffff);
    return;
  }
  EMU_FOR_LANES(wave) {
    uint32_t half = in->u[lane] & 0xffff;
    out->u[lane] = emu_widen((half & 0x7c00) == 0 ? half & 0x8000 : half);
  }
}

const emu_row *emu_src_f16(emu_wave *wave, const emu_inst *inst, unsigned n, emu_row *room) {
  emu_widen_row(wave, room, emu_src32(wave, inst, n, room));
  return room;
}

void emu_round_as_f16(const emu_wave *wave, emu_kernel32 *kernel, emu_row *out, const emu_row *a,
                      const emu_row *b, const emu_row *c) {
  if (wave->mode.round64 == 0) {
    kernel(wave, out, a, b, c);
    return;
  }
  int before = emu_enter_rounding(wave->mode.round64);
  kernel(wave, out, a, b, c);
  emu_leave_rounding(before);
}

void emu_finish_f16(const emu_wave *wave, const emu_inst *inst, emu_row *out) {
  bool keeps = (wave->mode.denorm64 & EMU_KEEPS_RESULTS) != 0, dx10_clamp = wave->mode.dx10_clamp;
  unsigned round = wave->mode.round64;
  float factor = keeps ? 1 : (float)find_factor(wave, inst);
  if (factor != 1) { /* it multiplies what has been rounded */
    EMU_FOR_LANES(wave) {
      out->f[lane] = emu_real_of32(emu_widen(emu_narrow(out->u[lane], round))) * factor;
    }
  }
  if (inst->mod.clamp) {
    EMU_FOR_LANES(wave) out->f[lane] = emu_clamp32(out->f[lane], dx10_clamp);
  }
  if (round == 0) {
    EMU_FOR_LANES(wave) out->u[lane] = emu_narrow_nearest(out->u[lane]);
  } else {
    EMU_FOR_LANES(wave) out->u[lane] = emu_narrow(out->u[lane], round);
  }
  if (keeps) return;
  uint32_t zero = factor != 1 ? 0 : 0x8000; /* whether zeros have signs */
  EMU_FOR_LANES(wave) {
    uint32_t half = out->u[lane];
    out->u[lane] = (half & 0x7c00) == 0 ? half & zero : half;
  }
}

static void run_halves(emu_wave *wave, const emu_inst *inst, emu_kernel32 *kernel,
                       const emu_row *const src[3]) {
  emu_row out;
  emu_round_as_f16(wave, kernel, &out, src[0], src[1], src[2]);
  emu_finish_f16(wave, inst, &out);
  emu_put32(wave, inst, 0, &out);
}

void emu_run_f16(emu_wave *wave, const emu_inst *inst, unsigned nsrc, emu_kernel32 *kernel) {
  emu_row rooms[3];
  const emu_row *src[3] = {NULL, NULL, NULL};
  for (unsigned n = 0; n < nsrc; n++) src[n] = emu_src_f16(wave, inst, n, &rooms[n]);
  run_halves(wave, inst, kernel, src);
}

void emu_accumulate_f16(emu_wave *wave, const emu_inst *inst, emu_kernel32 *kernel) {
  emu_row rooms[3];
  const emu_row *old = &wave->v[inst->dst[0].reg];
  unsigned shift = inst->mod.op_sel & 8 ? 16 : 0; /* the half that is written */
  EMU_FOR_LANES(wave) rooms[2].u[lane] = old->u[lane] >> shift;
  emu_widen_row(wave, &rooms[2], &rooms[2]);
  const emu_row *src[3] = {emu_src_f16(wave, inst, 0, &rooms[0]),
                           emu_src_f16(wave, inst, 1, &rooms[1]), &rooms[2]};
  run_halves(wave, inst, kernel, src);
}

void emu_compare_f16(emu_wave *wave, const emu_inst *inst, emu_test32 *test) {
  emu_row rooms[2], out;
  const emu_row *a = emu_src_f16(wave, inst, 0, &rooms[0]);
  const emu_row *b = emu_src_f16(wave, inst, 1, &rooms[1]);
  test(wave, &out, a, b, NULL);
  emu_put_mask(wave, inst, 0, &out);
}
