/* Numerals: text to integer or float, as Lua does it.
 *
 * A decimal integer that does not fit 64 bits is a float; a hexadecimal one wraps.  Decimal floats
 * go through strtod in the C locale (the host program may have set another).  Hexadecimal floats are
 * rounded here, once, to nearest even: strtod of glibc 2.36 drops the digits beyond the last bit of
 * some denormals (0x556896.87900006p-1045). */
#include <limits.h>
#include <math.h>
#include <locale.h>
#include <stdlib.h>

#include "frontend/syntax/lexer.h"

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* The digit's value; 16 for anything else. */
static unsigned hex_value(char c) {
  if (is_digit(c)) return (unsigned)(c - '0');
  unsigned lower = (unsigned)(unsigned char)c | 0x20;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

/* [sign] digits, saturated; false when there is no digit or something follows. */
static bool read_exponent(const char *at, const char *end, long *out) {
  bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) at++;
  if (at == end) return false;
  long value = 0;
  for (; at < end && is_digit(*at); at++)
    if (value < INT_MAX / 16) value = value * 10 + (*at - '0');
  *out = negative ? -value : value;
  return at == end;
}

/* mantissa * 2^exponent rounded once; `sticky`: some lower bit, cut off, was nonzero. */
static double round_binary(uint64_t mantissa, bool sticky, long exponent) {
  if (mantissa == 0) return 0.0;
  int top = 63 - __builtin_clzll(mantissa);
  mantissa <<= 63 - top;
  exponent -= 63 - top;
  if (exponent > 1024 - 64) return HUGE_VAL;
  /* The value is 1.xxx * 2^(exponent + 63); below 2^-1022 fewer bits remain. */
  long keep = exponent + 63 < -1022 ? 53 - (-1022 - (exponent + 63)) : 53;
  if (keep < 0) return 0.0;
  unsigned drop = (unsigned)(64 - keep);
  uint64_t kept = drop == 64 ? 0 : mantissa >> drop;
  uint64_t rest = drop == 64 ? mantissa : mantissa & ((UINT64_C(1) << drop) - 1);
  uint64_t half = UINT64_C(1) << (drop - 1);
  if (rest > half || (rest == half && (sticky || (kept & 1)))) kept++;
  return ldexp((double)kept, (int)(exponent + drop));
}

/* Digits after "0x". */
static bool read_hex_float(const char *at, const char *end, double *out) {
  uint64_t mantissa = 0;
  long exponent = 0;
  bool sticky = false, any = false, point = false;
  for (; at < end && (hex_value(*at) < 16 || (*at == '.' && !point)); at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    any = true;
    if (mantissa >> 60) {
      sticky |= *at != '0';
      if (!point) exponent += 4;
    } else {
      mantissa = mantissa * 16 + hex_value(*at);
      if (point) exponent -= 4;
    }
  }
  long given = 0;
  if (!any) return false;
  if (at < end && (*at == 'p' || *at == 'P')) {
    if (!read_exponent(at + 1, end, &given)) return false;
  } else if (at != end) {
    return false;
  }
  *out = round_binary(mantissa, sticky, exponent + given);
  return true;
}

static bool read_hex(const char *at, const char *end, bool *is_float, int64_t *i, double *f) {
  uint64_t value = 0;
  const char *p = at;
  for (; p < end && hex_value(*p) < 16; p++) value = value * 16 + hex_value(*p);
  *is_float = p != end || p == at;
  if (*is_float) return read_hex_float(at, end, f);
  *i = (int64_t)value;
  return true;
}

/* digits [. digits] [e exponent], at least one digit. */
static bool is_decimal_float(const char *at, const char *end) {
  bool any = false;
  long exponent;
  for (; at < end && is_digit(*at); at++) any = true;
  if (at < end && *at == '.') at++;
  for (; at < end && is_digit(*at); at++) any = true;
  if (at < end && (*at == 'e' || *at == 'E')) return any && read_exponent(at + 1, end, &exponent);
  return any && at == end;
}

static bool read_decimal_integer(const char *at, const char *end, int64_t *out) {
  uint64_t value = 0;
  for (; at < end; at++) {
    if (!is_digit(*at)) return false;
    unsigned digit = (unsigned)(*at - '0');
    if (value > ((uint64_t)INT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  *out = (int64_t)value;
  return true;
}

/* The text is followed by a byte that ends the numeral, so strtod stops where it should. */
static double read_decimal_float(const char *text) {
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c_locale) return strtod(text, NULL);
  double value = strtod_l(text, NULL, c_locale);
  freelocale(c_locale);
  return value;
}

bool roc_numeral_read(const char *text, const char *end, bool *is_float, int64_t *i, double *f) {
  if (end - text >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
    return read_hex(text + 2, end, is_float, i, f);
  *is_float = !read_decimal_integer(text, end, i);
  if (!*is_float) return true;
  if (!is_decimal_float(text, end)) return false;
  *f = read_decimal_float(text);
  return true;
}
