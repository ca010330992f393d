/* The three instructions of division, for floats and doubles: included by valu_float.c and
 * valu_double.c after real_ops.h.
 *
 * A compiler divides n / d so: v_div_scale moves d and n out of the reach of underflow and
 * overflow, v_rcp and fused multiply-adds find the quotient, v_div_fmas does the last of them and
 * undoes the scaling, v_div_fixup puts in what IEEE 754 says of zeros, infinities and NaNs.
 * Pseudo code: the ISA guides.  Two places of it are made exact here: where both 1/d and n/d are
 * denormal the denominator is scaled down (the guides' +64 would overflow), and v_div_fmas rounds a
 * denormal quotient once. */

enum {
  SCALING = EMU_SIZE == 32 ? 64 : 128,
  LARGE_RATIO = EMU_SIZE == 32 ? 96 : 768,   /* quotient near the greatest number */
  TINY_NUMERATOR = EMU_SIZE == 32 ? 23 : 53, /* exponent field */
  UNDERFLOW = EMU_SIZE == 32 ? -150 : -1075
};

static bool is_denormal_result(REAL quotient, REAL dividend, REAL divisor) {
  if (quotient == 0) return dividend != 0 && MATH(fabs)(divisor) != (REAL)INFINITY;
  return EMU_SIZED(emu_is_denormal)(BITS_OF(quotient));
}

/* What v_div_scale makes of `x`, which is the denominator d or the numerator n; *scaled: the
 * quotient is to be scaled back. */
static REAL prescale(REAL x, REAL d, REAL n, bool *scaled) {
  int dexp = EMU_SIZED(emu_exponent)(BITS_OF(d)), nexp = EMU_SIZED(emu_exponent)(BITS_OF(n));
  *scaled = false;
  if (n == 0 || d == 0) return (REAL)NAN;
  if (nexp - dexp >= LARGE_RATIO) {
    *scaled = true;
    return x == d ? scale(x, SCALING) : x;
  }
  if (EMU_SIZED(emu_is_denormal)(BITS_OF(d))) return scale(x, SCALING);
  bool tiny_inverse = is_denormal_result(1 / d, 1, d), tiny = is_denormal_result(n / d, n, d);
  *scaled = tiny;
  if (tiny_inverse && tiny) return x == d ? scale(x, -SCALING) : x;
  if (tiny_inverse) return scale(x, -SCALING);
  if (tiny) return x == n ? scale(x, SCALING) : x;
  return nexp <= TINY_NUMERATOR ? scale(x, SCALING) : x;
}

static void run_div_scale(emu_wave *wave, const emu_inst *inst) {
  EMU_SIZED(emu_row) rooms[3], out;
  emu_row scaled;
  const EMU_SIZED(emu_row) *x = FRAME(emu_src_)(wave, inst, 0, &rooms[0]);
  const EMU_SIZED(emu_row) *d = FRAME(emu_src_)(wave, inst, 1, &rooms[1]);
  const EMU_SIZED(emu_row) *n = FRAME(emu_src_)(wave, inst, 2, &rooms[2]);
  for (int lane = 0; lane < wave->width; lane++) {
    bool flag;
    out.f[lane] = prescale(x->f[lane], d->f[lane], n->f[lane], &flag);
    scaled.u[lane] = flag ? ~0u : 0;
  }
  EMU_PASTE(emu_put, EMU_SIZE)(wave, inst, 0, &out);
  emu_put_mask(wave, inst, 1, &scaled);
}

/* The sign of what rounding left off a * b + c when it gave r; everything is far from underflow. */
static REAL find_residual(REAL a, REAL b, REAL c, REAL r) {
  REAL product = a * b, low = MATH(fma)(a, b, -product);
  REAL sum = product + c, part = sum - product;
  REAL lost = (product - (sum - part)) + (c - part);
  return (sum - r) + (lost + low);
}

/* a * b + c, scaled back, rounded once (to nearest).  The quotient's estimate c tells the way. */
static REAL unscale(REAL a, REAL b, REAL c) {
  REAL r = MATH(fma)(a, b, c);
  if (EMU_SIZED(emu_exponent)(BITS_OF(c)) > EMU_SIZED(EMU_BIAS)) return scale(r, SCALING);
  REAL result = scale(r, -SCALING);
  REAL least_normal = REAL_OF((BITS)1 << MANTISSA);
  if (MATH(fabs)(result) > least_normal || r == 0) return result;
  /* r had been rounded before: that matters where it lies half way between two denormals */
  REAL off = r - scale(result, SCALING), step = scale(REAL_OF(1), SCALING);
  REAL residual = find_residual(scale(a, SCALING), b, scale(c, SCALING), scale(r, SCALING));
  bool is_beyond = (off > 0 && residual > 0) || (off < 0 && residual < 0);
  if (MATH(fabs)(off) * 2 != step || !is_beyond) return result;
  return result + MATH(copysign)(REAL_OF(1), off);
}

static EMU_SIZED(emu_kernel) * fma_kernel(void);

static void run_div_fmas(emu_wave *wave, const emu_inst *inst) {
  EMU_SIZED(emu_row) rooms[3], out;
  const EMU_SIZED(emu_row) *a = FRAME(emu_src_)(wave, inst, 0, &rooms[0]);
  const EMU_SIZED(emu_row) *b = FRAME(emu_src_)(wave, inst, 1, &rooms[1]);
  const EMU_SIZED(emu_row) *c = FRAME(emu_src_)(wave, inst, 2, &rooms[2]);
  uint64_t vcc = emu_vcc(wave);
  FRAME(emu_round_as_)(wave, fma_kernel(), &out, a, b, c);
  for (int lane = 0; lane < wave->width; lane++) {
    if (!(vcc >> lane & 1) || out.f[lane] != out.f[lane]) continue;
    out.f[lane] = unscale(a->f[lane], b->f[lane], c->f[lane]);
  }
  if (!wave->mode.is_plain || inst->mod.clamp) FRAME(emu_finish_)(wave, inst, &out);
  EMU_PASTE(emu_put, EMU_SIZE)(wave, inst, 0, &out);
}

/* The quotient q of n / d, put right. */
static REAL fix_quotient(REAL q, REAL d, REAL n) {
  BITS dbits = BITS_OF(d), nbits = BITS_OF(n), sign = (BITS)1 << (EMU_SIZE - 1);
  BITS out = (dbits ^ nbits) & sign;
  if (n != n) return REAL_OF(EMU_SIZED(emu_quiet)(nbits));
  if (d != d) return REAL_OF(EMU_SIZED(emu_quiet)(dbits));
  bool d_infinite = MATH(fabs)(d) == (REAL)INFINITY, n_infinite = MATH(fabs)(n) == (REAL)INFINITY;
  BITS infinity = (BITS)EXPONENTS << MANTISSA, nan = sign | infinity | infinity >> 1;
  if ((d == 0 && n == 0) || (d_infinite && n_infinite)) return REAL_OF(nan);
  if (d == 0 || n_infinite) return REAL_OF(out | infinity);
  if (d_infinite || n == 0) return REAL_OF(out);
  int difference = EMU_SIZED(emu_exponent)(nbits) - EMU_SIZED(emu_exponent)(dbits);
  if (difference < UNDERFLOW) return REAL_OF(out);
  if (q != q) return REAL_OF(out | infinity); /* overflowed on the way */
  return REAL_OF(out | (BITS_OF(q) & ~sign));
}
