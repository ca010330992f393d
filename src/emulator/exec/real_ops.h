/* What floats, doubles and halves have in common: what the rows of real.def call, and the functions
 * that they share.
 *
 * Included once by each of valu_float.c, valu_double.c and valu_half.c, which say before
 *   EMU_SIZE        bits that the kernels compute on (32 for halves, too)
 *   EMU_KIND        f32, f64 or f16: picks the frame
 *   EMU_KIND_TYPE   EMU_F32 …: the type of operands
 *   EMU_KIND_NAME   "f32" …: how mnemonics end
 *   EMU_ROUND       field of emu_mode with the kind's rounding
 *   EMU_BELOW_ONE   the greatest number less than 1
 *   EMU_NEWER       flags of instructions with three sources: of halves EMU_KEEPS_HIGH
 *   FUSE(a, b, c)   the fused multiply-add
 *   EMU_CLASS_MASK_TYPE, EMU_IS_HALF, and for doubles EMU_ONLY_DOUBLE
 * Pseudo code: AMD's Vega and RDNA 2 ISA guides, chapter "Instructions", VOP1, VOP2, VOP3, VOPC. */

#define REAL EMU_SIZED(emu_real)
#define BITS EMU_SIZED(emu_bits)
#define BITS_OF(x) EMU_SIZED(emu_bits_of)(x)
#define REAL_OF(bits) EMU_SIZED(emu_real_of)(bits)
#define SETTLE_1(x) EMU_SIZED(emu_settle_1_)(x, a)
#define SETTLE_2(x) EMU_SIZED(emu_settle_2_)(x, a, b)
#define SETTLE_3(x) EMU_SIZED(emu_settle_3_)(x, a, b, c)
#define MIN(a, b) EMU_SIZED(emu_min)(a, b, wave->mode.nans)
#define MAX(a, b) EMU_SIZED(emu_max)(a, b, wave->mode.nans)
#define LEAST(a, b) EMU_SIZED(emu_least)(a, b)
#define GREATEST(a, b) EMU_SIZED(emu_greatest)(a, b)
#define FRAME(name) EMU_PASTE(name, EMU_KIND)
#if EMU_SIZE == 32
#define MATH(name) __builtin_##name##f
#else
#define MATH(name) __builtin_##name
#endif

/* ---- arithmetic ----------------------------------------------------------------------------- */

#ifndef EMU_ONLY_DOUBLE
/* The one in the middle; with a NaN among them the guides say V_MIN3. */
static inline REAL find_middle(const emu_wave *wave, REAL a, REAL b, REAL c) {
  bool has_nan = (a != a) | (b != b) | (c != c);
  if (has_nan) return MIN(MIN(a, b), c);
  REAL most = MAX(MAX(a, b), c);
  return most == a ? MAX(b, c) : most == b ? MAX(a, c) : MAX(a, b);
}
#endif

/* ---- whole and fractional parts -------------------------------------------------------------- */

/* A zero gets the number's sign here: under directed roundings compilers' code may make it wrong.
 */
#define WHOLE(how, x) MATH(copysign)(MATH(how)(x), x)
/* Less than 1 even where the difference would be rounded to it. */
EMU_INLINE REAL find_fraction(REAL x) {
  REAL fraction = x - WHOLE(floor, x), last = (REAL)EMU_BELOW_ONE;
  return fraction > last ? last : fraction;
}

/* ---- exponents ------------------------------------------------------------------------------- */

enum { MANTISSA = EMU_SIZED(EMU_MANTISSA), EXPONENTS = EMU_SIZED(EMU_EXPONENTS) };

/* x times 2^n, rounded once.  libm does the rare cases. */
static inline REAL scale(REAL x, int n) {
  int exponent = EMU_SIZED(emu_exponent)(BITS_OF(x));
  if (exponent > 0 && n > -EXPONENTS && n < EXPONENTS && exponent + n > 0 &&
      exponent + n < EXPONENTS && exponent < EXPONENTS) {
    return REAL_OF(BITS_OF(x) + ((BITS)n << MANTISSA));
  }
  return MATH(scalbn)(x, n);
}

/* A denormal made normal, and by which power of two; other numbers as they are. */
EMU_INLINE BITS normalise(BITS bits, int *shift) {
  bool is_denormal = EMU_SIZED(emu_is_denormal)(bits);
  REAL up = REAL_OF(bits) * (REAL)((BITS)1 << MANTISSA);
  *shift = is_denormal ? MANTISSA : 0;
  return is_denormal ? BITS_OF(up) : bits;
}

EMU_INLINE bool has_fraction(BITS bits) { /* neither zero nor infinite nor NaN */
  return (bits << 1) != 0 && EMU_SIZED(emu_exponent)(bits) != EXPONENTS;
}

EMU_INLINE REAL find_mantissa(REAL x) {
  int shift;
  BITS bits = normalise(BITS_OF(x), &shift), field = (BITS)EXPONENTS << MANTISSA;
  BITS half = (BITS)(EMU_SIZED(EMU_BIAS) - 1) << MANTISSA;
  BITS mantissa = (bits & ~field) | half;
  return REAL_OF(has_fraction(bits) ? mantissa : EMU_SIZED(emu_quiet)(bits));
}

EMU_INLINE int find_exponent(REAL x) {
  int shift;
  BITS bits = normalise(BITS_OF(x), &shift);
  int exponent = EMU_SIZED(emu_exponent)(bits) - (EMU_SIZED(EMU_BIAS) - 1) - shift;
  return has_fraction(bits) ? exponent : 0;
}

EMU_TEST_1(frexp_exp_kernel, find_exponent(a))

static void run_frexp_exp(emu_wave *wave, const emu_inst *inst) {
  EMU_SIZED(emu_row) room;
  emu_row out;
  frexp_exp_kernel()(wave, &out, FRAME(emu_src_)(wave, inst, 0, &room), NULL, NULL);
  emu_put32(wave, inst, 0, &out);
}

/* Not inlined: the rounding is entered and left around it. */
static __attribute__((noinline)) void scale_row(const emu_wave *wave, EMU_SIZED(emu_row) * out,
                                                const EMU_SIZED(emu_row) * a,
                                                const emu_row *powers) {
  EMU_FOR_LANES(wave) {
    int n = EMU_IS_HALF ? (int16_t)powers->u[lane] : powers->i[lane];
    out->f[lane] = EMU_SIZED(emu_settle_1_)(scale(a->f[lane], n), a->f[lane]);
  }
}

static void run_ldexp(emu_wave *wave, const emu_inst *inst) {
  EMU_SIZED(emu_row) room, out;
  emu_row power_room;
  const EMU_SIZED(emu_row) *a = FRAME(emu_src_)(wave, inst, 0, &room);
  const emu_row *powers = emu_src32(wave, inst, 1, &power_room);
  int before = wave->mode.is_plain ? 0 : emu_enter_rounding(wave->mode.EMU_ROUND);
  scale_row(wave, &out, a, powers);
  if (!wave->mode.is_plain) emu_leave_rounding(before);
  if (!wave->mode.is_plain || inst->mod.clamp || EMU_IS_HALF) FRAME(emu_finish_)(wave, inst, &out);
  EMU_PASTE(emu_put, EMU_SIZE)(wave, inst, 0, &out);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

#if !EMU_IS_HALF
static void run_class(emu_wave *wave, const emu_inst *inst) {
  EMU_SIZED(emu_row) room;
  emu_row mask_room, out;
  const EMU_SIZED(emu_row) *a = EMU_SIZED(emu_src)(wave, inst, 0, &room);
  const emu_row *mask = emu_src32(wave, inst, 1, &mask_room);
  EMU_FOR_LANES(wave) {
    out.u[lane] = EMU_SIZED(emu_class_bit)(a->u[lane]) & mask->u[lane] ? ~0u : 0;
  }
  emu_put_mask(wave, inst, 0, &out);
}
#endif
