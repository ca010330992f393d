/* How far results of math functions are from the true ones, in units in the last place.
 *
 * The reference is libm's long double, whose 11 bits or more beyond a double make its own error
 * negligible here.  Usage: math_reference <FILE, where FILE is a line "NAME BITS ARGUMENTS COUNT"
 * (BITS is 32 or 64: the type whose last place is meant), then ARGUMENTS blocks of COUNT doubles
 * and a block of COUNT results as doubles.  Prints "WORST ARGUMENT… GOT EXPECTED" of the worst
 * one; WORST is "inf" where one of the two is a NaN, or the signs of zero or infinity differ. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long double rsqrtl(long double x) {
  return 1 / sqrtl(x);
}

static long double log_to_base(long double x, long double base) {
  return logl(x) / logl(base);
}

static long double divide(long double x, long double y) {
  return x / y;
}

static long double to_degrees(long double x) {
  return x * (180 / 3.14159265358979323846264338327950288L);
}

static long double to_radians(long double x) {
  return x * (3.14159265358979323846264338327950288L / 180);
}

static const struct {
  const char *name;
  long double (*unary)(long double);
  long double (*binary)(long double, long double);
  long double (*ternary)(long double, long double, long double);
} functions[] = {
    {"sin", sinl, NULL, NULL},
    {"cos", cosl, NULL, NULL},
    {"tan", tanl, NULL, NULL},
    {"asin", asinl, NULL, NULL},
    {"acos", acosl, NULL, NULL},
    {"atan", atanl, NULL, NULL},
    {"sinh", sinhl, NULL, NULL},
    {"cosh", coshl, NULL, NULL},
    {"tanh", tanhl, NULL, NULL},
    {"asinh", asinhl, NULL, NULL},
    {"acosh", acoshl, NULL, NULL},
    {"atanh", atanhl, NULL, NULL},
    {"exp", expl, NULL, NULL},
    {"exp2", exp2l, NULL, NULL},
    {"expm1", expm1l, NULL, NULL},
    {"log", logl, NULL, NULL},
    {"log2", log2l, NULL, NULL},
    {"log10", log10l, NULL, NULL},
    {"log1p", log1pl, NULL, NULL},
    {"cbrt", cbrtl, NULL, NULL},
    {"rsqrt", rsqrtl, NULL, NULL},
    {"erf", erfl, NULL, NULL},
    {"erfc", erfcl, NULL, NULL},
    {"gamma", tgammal, NULL, NULL},
    {"lgamma", lgammal, NULL, NULL},
    {"sqrt", sqrtl, NULL, NULL},
    {"trunc", truncl, NULL, NULL},
    {"round", roundl, NULL, NULL},
    {"atan2", NULL, atan2l, NULL},
    {"pow", NULL, powl, NULL},
    {"hypot", NULL, hypotl, NULL},
    {"fmod", NULL, fmodl, NULL},
    {"copysign", NULL, copysignl, NULL},
    {"fma", NULL, NULL, fmal},
    {"deg", to_degrees, NULL, NULL},
    {"rad", to_radians, NULL, NULL},
    {"log_to_base", NULL, log_to_base, NULL},
    {"divide", NULL, divide, NULL},
};
enum { NFUNCTIONS = sizeof functions / sizeof *functions, MAX_ARGS = 3, MAX_COUNT = 1 << 20 };

typedef struct format {
  int digits, min_exponent; /* as frexp counts exponents */
  long double limit;        /* what an infinity stands for when the true value is finite */
} format;

/* The distance of two neighbours of the format around x. */
static long double ulp_at(const format *f, long double x) {
  int exponent = f->min_exponent;
  if (x != 0) frexpl(x, &exponent);
  if (exponent < f->min_exponent) exponent = f->min_exponent;
  return ldexpl(1, exponent - f->digits);
}

/* What cannot be asked of every function. */
typedef struct leniency {
  bool is_absolute; /* lgamma comes near zero between its poles: below 1, the last place of 1 */
  bool is_unsigned; /* gamma: a zero is an underflow, whose sign is left open */
} leniency;

static long double error_of(const format *f, leniency l, long double expected, double got) {
  if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got) ? 0 : HUGE_VALL;
  if (expected == 0 && got == 0 && l.is_unsigned) return 0;
  if (expected == 0 && got == 0) return !signbit(expected) == !signbit(got) ? 0 : HUGE_VALL;
  if (isinf(expected)) return (long double)got == expected ? 0 : HUGE_VALL;
  long double value = isinf(got) ? copysignl(f->limit, got) : (long double)got;
  long double size = fabsl(expected) > f->limit ? f->limit : fabsl(expected);
  /* Beyond the format every finite value rounds to the infinity. */
  if (size == f->limit) expected = copysignl(size, expected);
  if (size == f->limit) size = nextafterl(size, 0);
  return fabsl(value - expected) / ulp_at(f, l.is_absolute && size < 1 ? 1 : size);
}

static int find_function(const char *name) {
  for (int i = 0; i < NFUNCTIONS; i++) {
    if (!strcmp(functions[i].name, name)) return i;
  }
  return -1;
}

static long double call(int which, const double *args) {
  if (functions[which].unary) return functions[which].unary(args[0]);
  if (functions[which].binary) return functions[which].binary(args[0], args[1]);
  return functions[which].ternary(args[0], args[1], args[2]);
}

static void compare(int which, const format *f, int nargs, int count, const double *data) {
  const char *name = functions[which].name;
  leniency l = {!strcmp(name, "lgamma"), !strcmp(name, "gamma")};
  long double worst = -1;
  int worst_at = 0;
  for (int i = 0; i < count; i++) {
    double args[MAX_ARGS] = {0};
    for (int a = 0; a < nargs; a++) args[a] = data[a * count + i];
    long double error = error_of(f, l, call(which, args), data[nargs * count + i]);
    if (error > worst) {
      worst = error;
      worst_at = i;
    }
  }
  double args[MAX_ARGS] = {0};
  printf("%.4Lf", worst);
  for (int a = 0; a < nargs; a++) printf(" %.17g", args[a] = data[a * count + worst_at]);
  printf(" %.17g %.21Lg\n", data[nargs * count + worst_at], call(which, args));
}

int main(void) {
  char name[32];
  int bits, nargs, count;
  if (scanf("%31s %d %d %d", name, &bits, &nargs, &count) != 4 || getchar() != '\n') return 1;
  int which = find_function(name);
  if (which < 0 || nargs < 1 || nargs > MAX_ARGS || count < 1 || count > MAX_COUNT) return 1;
  size_t length = (size_t)(nargs + 1) * (size_t)count;
  double *data = malloc(length * sizeof *data);
  bool is_read = data && fread(data, sizeof *data, length, stdin) == length;
  static const format f32 = {FLT_MANT_DIG, FLT_MIN_EXP, 0x1p128L},
                      f64 = {DBL_MANT_DIG, DBL_MIN_EXP, 0x1p1024L};
  if (is_read) compare(which, bits == 32 ? &f32 : &f64, nargs, count, data);
  free(data);
  return is_read ? 0 : 1;
}
