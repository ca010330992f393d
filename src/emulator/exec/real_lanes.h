/* Bits and NaNs of one lane, for 32 and for 64 bits: included by float.h once for each EMU_SIZE.
 *
 * Everything is written as choices between values, without branches, so that loops over it become
 * vector code; choices go by the bits, because a host may quieten a signaling NaN that it loads. */
#if EMU_SIZE == 32
#define EMU_MANTISSA_BITS 23
#define EMU_EXPONENT_MAX 255
#else
#define EMU_MANTISSA_BITS 52
#define EMU_EXPONENT_MAX 2047
#endif
#define REAL EMU_SIZED(emu_real)
#define BITS EMU_SIZED(emu_bits)
#define SIGNED EMU_SIZED(emu_signed)
#define IS_NAN(bits) EMU_SIZED(emu_is_nan)(bits)

enum {
  EMU_SIZED(EMU_MANTISSA) = EMU_MANTISSA_BITS,
  EMU_SIZED(EMU_EXPONENTS) = EMU_EXPONENT_MAX, /* of infinities and NaNs */
  EMU_SIZED(EMU_BIAS) = EMU_EXPONENT_MAX / 2
};
#define EMU_SIGN_ ((BITS)1 << (EMU_SIZE - 1))
#define EMU_QUIET_ ((BITS)1 << (EMU_MANTISSA_BITS - 1))
#define EMU_INFINITY_ ((BITS)EMU_EXPONENT_MAX << EMU_MANTISSA_BITS)

EMU_INLINE BITS EMU_SIZED(emu_bits_of)(REAL x) {
  BITS bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

EMU_INLINE REAL EMU_SIZED(emu_real_of)(BITS bits) {
  REAL x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

EMU_INLINE bool EMU_SIZED(emu_is_nan)(BITS bits) {
  return (SIGNED)(bits & ~EMU_SIGN_) > (SIGNED)EMU_INFINITY_;
}

EMU_INLINE bool EMU_SIZED(emu_is_signaling)(BITS bits) {
  return IS_NAN(bits) & !(bits & EMU_QUIET_);
}

/* A NaN made quiet, anything else as it is. */
EMU_INLINE BITS EMU_SIZED(emu_quiet)(BITS bits) {
  return IS_NAN(bits) ? bits | EMU_QUIET_ : bits;
}

EMU_INLINE int EMU_SIZED(emu_exponent)(BITS bits) { /* biased */
  return (int)(bits >> EMU_MANTISSA_BITS) & EMU_EXPONENT_MAX;
}

EMU_INLINE bool EMU_SIZED(emu_is_denormal)(BITS bits) {
  return (bits & EMU_INFINITY_) == 0 && (bits & ~EMU_SIGN_) != 0;
}

/* Denormals become zeros of their sign. */
EMU_INLINE BITS EMU_SIZED(emu_flush)(BITS bits) {
  return (bits & EMU_INFINITY_) == 0 ? bits & EMU_SIGN_ : bits;
}

EMU_INLINE REAL EMU_SIZED(emu_flushed)(REAL x) {
  return EMU_SIZED(emu_real_of)(EMU_SIZED(emu_flush)(EMU_SIZED(emu_bits_of)(x)));
}

/* What the result `x` of an operation on a (b, c) is when NaNs are considered. */
EMU_INLINE REAL EMU_SIZED(emu_settle_3_)(REAL x, REAL a, REAL b, REAL c) {
  BITS bits = EMU_SIZED(emu_bits_of)(x), invalid = EMU_INFINITY_ | EMU_QUIET_;
  BITS first = EMU_SIZED(emu_bits_of)(a), second = EMU_SIZED(emu_bits_of)(b);
  BITS third = EMU_SIZED(emu_bits_of)(c);
  BITS nan = IS_NAN(third) ? third | EMU_QUIET_ : invalid;
  nan = IS_NAN(second) ? second | EMU_QUIET_ : nan;
  nan = IS_NAN(first) ? first | EMU_QUIET_ : nan;
  return EMU_SIZED(emu_real_of)(IS_NAN(bits) ? nan : bits);
}

EMU_INLINE REAL EMU_SIZED(emu_settle_2_)(REAL x, REAL a, REAL b) {
  return EMU_SIZED(emu_settle_3_)(x, a, b, 0);
}

EMU_INLINE REAL EMU_SIZED(emu_settle_1_)(REAL x, REAL a) {
  return EMU_SIZED(emu_settle_3_)(x, a, 0, 0);
}

/* The lesser, and the greater, as the ISA guides define V_MIN and V_MAX: -0 is less than +0; a NaN
 * loses against a number, but in IEEE mode a signaling one is the (quieted) result. `nans` is
 * emu_mode's. */
EMU_INLINE REAL EMU_SIZED(emu_choose_)(REAL a, REAL b, bool takes_a, unsigned nans) {
  BITS first = EMU_SIZED(emu_bits_of)(a), second = EMU_SIZED(emu_bits_of)(b);
  BITS chosen = takes_a ? first : second;
  bool keeps_first = IS_NAN(second) & ((nans & EMU_NANS_FIRST) != 0);
  bool ieee = (nans & EMU_NANS_SIGNAL) != 0;
  chosen = IS_NAN(second) ? first : chosen;
  chosen = (IS_NAN(first) & !keeps_first) ? second : chosen;
  chosen = (ieee & EMU_SIZED(emu_is_signaling)(second)) ? second : chosen;
  chosen = (ieee & EMU_SIZED(emu_is_signaling)(first)) ? first : chosen;
  return EMU_SIZED(emu_real_of)(EMU_SIZED(emu_quiet)(chosen));
}

EMU_INLINE REAL EMU_SIZED(emu_min)(REAL a, REAL b, unsigned nans) {
  bool is_negative = (EMU_SIZED(emu_bits_of)(a) & EMU_SIGN_) != 0;
  return EMU_SIZED(emu_choose_)(a, b, (a < b) | ((a == b) & is_negative), nans);
}

EMU_INLINE REAL EMU_SIZED(emu_max)(REAL a, REAL b, unsigned nans) {
  bool is_positive = (EMU_SIZED(emu_bits_of)(a) & EMU_SIGN_) == 0;
  return EMU_SIZED(emu_choose_)(a, b, (a > b) | ((a == b) & is_positive), nans);
}

/* The same of V_MINIMUM and V_MAXIMUM: a NaN when there is one, a signaling one before others. */
EMU_INLINE REAL EMU_SIZED(emu_choose_nan_)(REAL a, REAL b, REAL number) {
  BITS first = EMU_SIZED(emu_bits_of)(a), second = EMU_SIZED(emu_bits_of)(b);
  BITS chosen = EMU_SIZED(emu_bits_of)(number);
  chosen = IS_NAN(second) ? second : chosen;
  chosen = IS_NAN(first) ? first : chosen;
  chosen = EMU_SIZED(emu_is_signaling)(second) ? second : chosen;
  chosen = EMU_SIZED(emu_is_signaling)(first) ? first : chosen;
  return EMU_SIZED(emu_real_of)(EMU_SIZED(emu_quiet)(chosen));
}

EMU_INLINE REAL EMU_SIZED(emu_least)(REAL a, REAL b) {
  return EMU_SIZED(emu_choose_nan_)(a, b, EMU_SIZED(emu_min)(a, b, 0));
}

EMU_INLINE REAL EMU_SIZED(emu_greatest)(REAL a, REAL b) {
  return EMU_SIZED(emu_choose_nan_)(a, b, EMU_SIZED(emu_max)(a, b, 0));
}

/* Clamped to 0 … 1; a NaN becomes 0 with DX10_CLAMP and else stays. */
EMU_INLINE REAL EMU_SIZED(emu_clamp)(REAL x, bool dx10_clamp) {
  REAL low = x > 0 ? x : 0, both = low < 1 ? low : 1;
  bool keeps = IS_NAN(EMU_SIZED(emu_bits_of)(x)) & !dx10_clamp;
  return keeps ? x : both;
}

/* The bit of V_CMP_CLASS's mask that a number belongs to. */
EMU_INLINE uint32_t EMU_SIZED(emu_class_bit)(BITS bits) {
  bool negative = (bits & EMU_SIGN_) != 0;
  uint32_t finite = (bits & EMU_INFINITY_) ? (negative ? 8u : 256u) : (negative ? 16u : 128u);
  uint32_t number = (bits & ~EMU_SIGN_) == 0 ? (negative ? 32u : 64u) : finite;
  number = (bits & ~EMU_SIGN_) == EMU_INFINITY_ ? (negative ? 4u : 512u) : number;
  return IS_NAN(bits) ? ((bits & EMU_QUIET_) ? 2u : 1u) : number;
}

#undef EMU_MANTISSA_BITS
#undef EMU_EXPONENT_MAX
#undef EMU_SIGN_
#undef EMU_QUIET_
#undef EMU_INFINITY_
#undef REAL
#undef BITS
#undef SIGNED
#undef IS_NAN
