/* Numbers in text; see csv_number.h.
 *
 * A number of at most 53 bits and a power of ten of at most 22 are both exact in float64, so that
 * one product or quotient rounds once (Clinger, "How to read floating point numbers accurately",
 * 1990).  With the 64 bits of an x87 number, and powers up to 27, the quotient may round a second
 * time, to float64; that is right unless the first result lies half way between two.  All others go
 * to strtod. */
#include "runtime/file/csv_number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_EXACT_POWER = 22, MAX_DIGITS = 19, MAX_NUMBER_BYTES = 512 };

static const double powers[MAX_EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* *out = digits * 10^exponent, correctly rounded; false: it is not known to be. */
static bool round_twice(uint64_t digits, int exponent, double *out) {
#if LDBL_MANT_DIG == 64
  static const long double wide[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                     1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                     1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                     1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
  const int most = sizeof wide / sizeof *wide - 1;
  if (exponent < -most || exponent > most) return false;
  long double x = (long double)digits;
  x = exponent < 0 ? x / wide[-exponent] : x * wide[exponent];
  uint64_t significand; /* the first 8 bytes; float64 keeps all but the lowest 11 bits */
  memcpy(&significand, &x, sizeof significand);
  if ((significand & 0x7ff) == 0x400) return false;
  *out = (double)x;
  return true;
#else
  (void)digits, (void)exponent, (void)out;
  return false;
#endif
}

static locale_t c_locale;

static void make_locale(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static double slow_float(const char *at, const char *end) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_locale);
  char text[MAX_NUMBER_BYTES];
  size_t len = (size_t)(end - at) < sizeof text - 1 ? (size_t)(end - at) : sizeof text - 1;
  memcpy(text, at, len);
  text[len] = '\0';
  return c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
}

/* The number that eight digits are, each a byte, the first one the lowest byte. */
static uint64_t number_of(uint64_t digits) {
  digits = (digits * (1 + (10 << 8))) >> 8 & 0x00ff00ff00ff00ff;
  digits = (digits * (1 + (UINT64_C(100) << 16))) >> 16 & 0x0000ffff0000ffff;
  return (digits * (1 + (UINT64_C(10000) << 32))) >> 32;
}

static bool is_digit(const char *p, const char *end) {
  return p < end && (unsigned)(*p - '0') < 10;
}

static const char *scan_word(const char *at, const char *end, bool is_negative,
                             roc_csv_number *out) {
  static const struct {
    const char *word;
    double value;
  } words[] = {{"infinity", HUGE_VAL}, {"inf", HUGE_VAL}, {"nan", NAN}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t len = strlen(words[i].word);
    if ((size_t)(end - at) >= len && strncasecmp(at, words[i].word, len) == 0) {
      *out = (roc_csv_number){.f = is_negative ? -words[i].value : words[i].value};
      return at + len;
    }
  }
  return NULL;
}

/* The exponent after 'e', or `at` where there is none. */
static const char *scan_exponent(const char *at, const char *end, int *out) {
  const char *p = at + 1;
  bool is_negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  if (!is_digit(p, end)) return at;
  int value = 0;
  for (; is_digit(p, end); p++) value = value < 10000 ? value * 10 + (*p - '0') : value;
  *out += is_negative ? -value : value;
  return p;
}

/* Adds the digits from p on to *digits; gives what follows.  Where bytes come in the order of the
 * text, those of eight at once, without a branch for each. */
static const char *scan_digits(const char *p, const char *end, uint64_t *digits) {
  static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  while (end - p >= 8) {
    uint64_t eight;
    memcpy(&eight, p, sizeof eight);
    eight ^= UINT64_C(0x0101010101010101) * '0';
    uint64_t others =
        ((eight & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676)) | eight;
    others &= UINT64_C(0x8080808080808080);
    unsigned n = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    if (n == 0) return p;
    *digits = *digits * tens[n] + number_of(eight << (64 - 8 * n));
    p += n;
    if (n < 8) return p;
  }
#endif
  for (; is_digit(p, end); p++) *digits = *digits * tens[1] + (uint64_t)(*p - '0');
  return p;
}

const char *roc_csv_scan_number(const char *at, const char *end, roc_csv_number *out) {
  const char *p = at;
  bool is_negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) p++;
  uint64_t digits = 0;
  const char *first = p;
  p = scan_digits(p, end, &digits);
  int64_t ndigits = p - first;
  int exponent = 0;
  bool is_int = true;
  if (p < end && *p == '.') {
    const char *point = p++;
    p = scan_digits(p, end, &digits);
    ndigits += p - point - 1;
    exponent = -(int)(p - point - 1 < 10000 ? p - point - 1 : 10000);
    is_int = false;
  }
  if (ndigits == 0) return scan_word(first, end, is_negative, out);
  if (p < end && (*p | 0x20) == 'e') {
    const char *after = scan_exponent(p, end, &exponent);
    is_int = is_int && after == p;
    p = after;
  }
  if (is_int && ndigits <= MAX_DIGITS && digits <= (uint64_t)INT64_MAX + is_negative) {
    int64_t value = (int64_t)(is_negative ? 0 - digits : digits);
    *out = (roc_csv_number){.is_int = true, .i = value, .f = (double)value};
    return p;
  }
  bool is_exact = ndigits <= MAX_DIGITS && digits <= (uint64_t)1 << 53 &&
                  exponent >= -MAX_EXACT_POWER && exponent <= MAX_EXACT_POWER;
  if (is_exact) {
    double f = (double)digits;
    f = exponent < 0 ? f / powers[-exponent] : f * powers[exponent];
    *out = (roc_csv_number){.f = is_negative ? -f : f};
    return p;
  }
  double f;
  if (ndigits <= MAX_DIGITS && round_twice(digits, exponent, &f)) {
    *out = (roc_csv_number){.f = is_negative ? -f : f};
  } else {
    *out = (roc_csv_number){.f = slow_float(at, p)};
  }
  return p;
}

/* ---- writing ------------------------------------------------------------------------------- */

enum { MOST_DIGITS = 17 }; /* which tell any two numbers of float64 apart */

/* 0.d₁d₂… × 10^(exponent + 1) */
typedef struct decimal {
  bool is_negative;
  char digits[MOST_DIGITS + 1]; /* '0' … '9', with room for a carry */
  int count, exponent;
} decimal;

static decimal digits_of(double value, int count) {
  char text[ROC_CSV_NUMBER_BYTES];
  snprintf(text, sizeof text, "%.*e", count - 1, value);
  decimal d = {.is_negative = text[0] == '-'};
  const char *at = text;
  for (; *at != 'e'; at++) { /* a locale says what the point is */
    if (*at >= '0' && *at <= '9') d.digits[d.count++] = *at;
  }
  d.exponent = atoi(at + 1);
  return d;
}

/* Rounds to fewer digits; false: what is left out is one half, so that these digits do not tell which
 * way to round. */
static bool round_to(decimal *d, int count) {
  int i = count, half = memcmp(d->digits + count, "50", (size_t)(d->count - count));
  if (half == 0) return false;
  d->count = count;
  if (half < 0) return true;
  while (i > 0 && d->digits[i - 1] == '9') d->digits[--i] = '0';
  if (i > 0) {
    d->digits[i - 1]++;
  } else {
    d->digits[0] = '1';
    d->exponent++;
  }
  return true;
}

/* As printf has it by %g, with as many digits. */
static int write_decimal(const decimal *d, char *to) {
  char *at = to;
  int n = d->count, point = d->exponent + 1; /* digits before it */
  while (n > 1 && d->digits[n - 1] == '0') n--;
  bool is_fixed = d->exponent >= -4 && d->exponent < d->count;
  if (d->is_negative) *at++ = '-';
  if (!is_fixed) point = 1;
  if (point <= 0) {
    *at++ = '0';
    *at++ = '.';
    for (int i = point; i < 0; i++) *at++ = '0';
  }
  for (int i = 0; i < n || i < point; i++) {
    if (i == point && i > 0) *at++ = '.';
    *at++ = i < n ? d->digits[i] : '0';
  }
  if (!is_fixed) at += sprintf(at, "e%+03d", d->exponent);
  *at = '\0';
  return (int)(at - to);
}

/* The same by printf itself. */
static int print_digits(double value, int count, char *to) {
  int len = snprintf(to, ROC_CSV_NUMBER_BYTES, "%.*g", count, value);
  for (char *p = to; *p; p++) *p = *p == ',' ? '.' : *p; /* a locale's decimal comma */
  return len;
}

static bool reads_as(const char *text, int len, double value, bool is_narrow) {
  roc_csv_number number = {.f = NAN};
  roc_csv_scan_number(text, text + len, &number);
  return is_narrow ? (float)number.f == (float)value : number.f == value;
}

int roc_csv_print_float(double value, bool is_narrow, char to[ROC_CSV_NUMBER_BYTES]) {
  int most = is_narrow ? 9 : MOST_DIGITS, len = 0;
  to[0] = '\0';
  if (isnan(value)) return 0;
  if (isinf(value)) return print_digits(value, most, to);
  const decimal all = digits_of(value, most);
  for (int count = is_narrow ? 6 : 15; count <= most; count++) {
    decimal d = all;
    bool is_known = count == most || round_to(&d, count);
    len = is_known ? write_decimal(&d, to) : print_digits(value, count, to);
    if (reads_as(to, len, value, is_narrow)) break;
  }
  return len;
}
