/* What floats, doubles and halves have in common: kernels, run functions and rows of the tables.
 *
 * Included once by each of valu_float.c, valu_double.c and valu_half.c, which say before
 *   EMU_SIZE        bits that the kernels compute on (32 for halves, too)
 *   EMU_KIND        f32, f64 or f16: picks the frame
 *   EMU_KIND_TYPE   EMU_F32 …: the type of operands
 *   EMU_KIND_NAME   "f32" …: how mnemonics end
 *   EMU_ROUND       field of emu_mode with the kind's rounding
 *   EMU_BELOW_ONE   the greatest number less than 1
 *   EMU_CLASS_MASK_TYPE, EMU_IS_HALF, and for doubles EMU_ONLY_DOUBLE
 * Pseudo code: AMD's Vega and RDNA 2 ISA guides, chapter "Instructions", VOP1, VOP2, VOP3, VOPC. */

#define REAL EMU_SIZED(emu_real)
#define BITS EMU_SIZED(emu_bits)
#define BITS_OF(x) EMU_SIZED(emu_bits_of)(x)
#define REAL_OF(bits) EMU_SIZED(emu_real_of)(bits)
#define SETTLE_1(x) EMU_SIZED(emu_settle_1_)(x, a)
#define SETTLE_2(x) EMU_SIZED(emu_settle_2_)(x, a, b)
#define SETTLE_3(x) EMU_SIZED(emu_settle_3_)(x, a, b, c)
#define MIN(a, b) EMU_SIZED(emu_min)(a, b, wave->mode.ieee)
#define MAX(a, b) EMU_SIZED(emu_max)(a, b, wave->mode.ieee)
#define FRAME(name) EMU_PASTE(name, EMU_KIND)
#if EMU_SIZE == 32
#define MATH(name) __builtin_##name##f
#else
#define MATH(name) __builtin_##name
#endif

/* Defines a run function of n sources around a kernel. */
#define RUN(n, name)                                             \
  static void run_##name(emu_wave *wave, const emu_inst *inst) { \
    FRAME(emu_run_)(wave, inst, n, name##_kernel());             \
  }

/* ---- arithmetic ----------------------------------------------------------------------------- */

EMU_KERNEL_2(add_kernel, SETTLE_2(a + b))
EMU_KERNEL_2(mul_kernel, SETTLE_2((a * b)))
RUN(2, add)
RUN(2, mul)

EMU_KERNEL_2(min_kernel, MIN(a, b))
EMU_KERNEL_2(max_kernel, MAX(a, b))
RUN(2, min)
RUN(2, max)

#if !defined(EMU_ONLY_DOUBLE)
EMU_KERNEL_2(sub_kernel, SETTLE_2(a - b))
EMU_KERNEL_2(subrev_kernel, SETTLE_2(b - a))
RUN(2, sub)
RUN(2, subrev)

EMU_KERNEL_3(min3_kernel, MIN(MIN(a, b), c))
EMU_KERNEL_3(max3_kernel, MAX(MAX(a, b), c))
RUN(3, min3)
RUN(3, max3)

/* The one in the middle; with a NaN among them the guides say V_MIN3. */
static inline REAL find_middle(const emu_wave *wave, REAL a, REAL b, REAL c) {
  bool has_nan = (a != a) | (b != b) | (c != c);
  if (has_nan) return MIN(MIN(a, b), c);
  REAL most = MAX(MAX(a, b), c);
  return most == a ? MAX(b, c) : most == b ? MAX(a, c) : MAX(a, b);
}
EMU_KERNEL_3(med3_kernel, find_middle(wave, a, b, c))
RUN(3, med3)
#endif

/* ---- whole and fractional parts -------------------------------------------------------------- */

/* A zero gets the number's sign here: under directed roundings compilers' code may make it wrong.
 */
#define WHOLE(how, x) MATH(copysign)(MATH(how)(x), x)
EMU_KERNEL_1(floor_kernel, SETTLE_1(WHOLE(floor, a)))
EMU_KERNEL_1(ceil_kernel, SETTLE_1(WHOLE(ceil, a)))
EMU_KERNEL_1(trunc_kernel, SETTLE_1(WHOLE(trunc, a)))
EMU_KERNEL_1(rndne_kernel, SETTLE_1(WHOLE(roundeven, a)))
RUN(1, floor)
RUN(1, ceil)
RUN(1, trunc)
RUN(1, rndne)

/* Less than 1 even where the difference would be rounded to it. */
EMU_INLINE REAL find_fraction(REAL x) {
  REAL fraction = x - WHOLE(floor, x), last = (REAL)EMU_BELOW_ONE;
  return fraction > last ? last : fraction;
}
EMU_KERNEL_1(fract_kernel, SETTLE_1(find_fraction(a)))
RUN(1, fract)

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

EMU_KERNEL_1(frexp_mant_kernel, find_mantissa(a))
RUN(1, frexp_mant)
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

/* The sixteen: name, condition; the n… ones hold for NaNs. */
#define EMU_PREDICATES(X)      \
  X(f, false)                  \
  X(lt, a < b)                 \
  X(eq, a == b)                \
  X(le, a <= b)                \
  X(gt, a > b)                 \
  X(lg, (a < b) | (a > b))     \
  X(ge, a >= b)                \
  X(o, (a == a) & (b == b))    \
  X(u, (a != a) | (b != b))    \
  X(nge, !(a >= b))            \
  X(nlg, !((a < b) | (a > b))) \
  X(ngt, !(a > b))             \
  X(nle, !(a <= b))            \
  X(neq, !(a == b))            \
  X(nlt, !(a < b))             \
  X(tru, true)

#define EMU_COMPARISON(name, condition)                                                        \
  EMU_TEST(name##_test, EMU_A_ EMU_B_(void) a; (void)b; out->u[lane] = (condition) ? ~0u : 0;) \
  static void run_cmp_##name(emu_wave *wave, const emu_inst *inst) {                           \
    FRAME(emu_compare_)(wave, inst, name##_test());                                            \
  }
EMU_PREDICATES(EMU_COMPARISON)

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

#define EMU_COMPARISON_ROWS(name, condition) \
  EMU_COMPARE_ROWS(#name "_" EMU_KIND_NAME, run_cmp_##name, EMU_KIND_TYPE, EMU_KIND_TYPE),

#define ROW_(stem, function, chips, flags, ...)                                         \
  {                                                                                     \
    "v_" stem EMU_KIND_NAME, function, chips, EMU_CLASS_VALU, flags, {EMU_KIND_TYPE}, { \
      __VA_ARGS__                                                                       \
    }                                                                                   \
  }
/* Rows of one to three sources of the kind; the function is named like the instruction. */
#define ROW_1(name) ROW_(#name "_", run_##name, EMU_ALL, 0, EMU_KIND_TYPE)
#define ROW_2(name) ROW_(#name "_", run_##name, EMU_ALL, 0, EMU_KIND_TYPE, EMU_KIND_TYPE)
#define ROW_3(name, flags) \
  ROW_(#name "_", run_##name, EMU_ALL, flags, EMU_KIND_TYPE, EMU_KIND_TYPE, EMU_KIND_TYPE)

/* The rows that all three have. */
#define EMU_REAL_ROWS                                                                      \
  ROW_2(add), ROW_2(mul), ROW_2(min), ROW_2(max), ROW_1(floor), ROW_1(ceil), ROW_1(trunc), \
      ROW_1(rndne), ROW_1(fract), ROW_1(frexp_mant),                                       \
      EMU_PREDICATES(EMU_COMPARISON_ROWS)                                                  \
          EMU_COMPARE_ROWS("class_" EMU_KIND_NAME, run_class, EMU_KIND_TYPE, EMU_CLASS_MASK_TYPE),
