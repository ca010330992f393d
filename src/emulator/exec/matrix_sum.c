#include "emulator/exec/matrix_sum.h"

#include <math.h>

float emu_sum_in_order(const double *a, const double *b, unsigned count, float sum) {
  for (unsigned k = 0; k < count; k++) sum = fmaf((float)a[k], (float)b[k], sum);
  return sum;
}

/* ---- by groups ------------------------------------------------------------------------------- */

static float flush(float x, bool flushes) {
  return flushes && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

float emu_sum_by_groups(const double *a, const double *b, unsigned count, unsigned group,
                        bool flushes, float sum) {
  for (unsigned first = 0; first < count; first += group) {
    float terms[EMU_GROUP_MOST];
    for (unsigned n = 0; n < group; n++) {
      terms[n] = flush(fmaf((float)a[first + n], (float)b[first + n], 0), flushes);
    }
    for (unsigned left = group / 2; left > 0; left /= 2) {
      for (unsigned n = 0; n < left; n++) {
        terms[n] = flush(terms[2 * n] + terms[2 * n + 1], flushes);
      }
    }
    sum = flush(sum + terms[0], flushes);
  }
  return sum;
}

/* ---- fused ----------------------------------------------------------------------------------- */

/* Places after the point, of the largest product, that products and the sum so far keep, and that
 * the sum of the products keeps beside it. */
enum { PLACES = 24, PLACES_OF_SUM = 31, LEAST = -126 };

static int exponent_of(double x, int least) {
  if (x == 0) return LEAST;
  int exponent = ilogb(x);
  return exponent > least ? exponent : least;
}

/* The sum of every `step`th product in units of 2^(*top - PLACES), *top being the largest exponent
 * of one; what is left of each below a unit is cut off. */
static double cut_sum(const double *a, const double *b, unsigned count, unsigned step,
                      const emu_fused *how, int *top) {
  for (unsigned k = 0; k < count; k += step) {
    int exponent = exponent_of(a[k], how->least_a) + exponent_of(b[k], how->least_b);
    if (k == 0 || exponent > *top) *top = exponent;
  }
  double sum = 0;
  for (unsigned k = 0; k < count; k += step) sum += trunc(scalbn(a[k] * b[k], PLACES - *top));
  return sum;
}

/* What decides the sum where it is no matter of digits: NaN, infinities, products beyond a float.
 * Else false. */
static bool is_special(const double *a, const double *b, unsigned count, float sum, float *out) {
  double total = sum, beyond = 0;
  for (unsigned k = 0; k < count; k++) {
    double product = a[k] * b[k];
    total += product;
    if (fabs(product) >= 0x1p128) beyond += copysign(INFINITY, product);
  }
  if (isfinite(total) && beyond == 0) return false;
  *out = (float)(isfinite(total) ? beyond : total);
  return true;
}

static float add_group(const double *a, const double *b, unsigned count, const emu_fused *how,
                       float sum) {
  float special;
  if (is_special(a, b, count, sum, &special)) return special;
  int top = 0, of_sum = exponent_of(sum, LEAST);
  double products = cut_sum(a, b, count, how->parts, how, &top);
  if (how->parts == 2) {
    int other = 0;
    double odd = cut_sum(a + 1, b + 1, count - 1, 2, how, &other);
    int larger = top > other ? top : other;
    products = floor(scalbn(products, top - larger)) + floor(scalbn(odd, other - larger));
    top = larger;
  }
  int place = top > of_sum ? top : of_sum;
  products = floor(scalbn(products, PLACES_OF_SUM - PLACES + top - place));
  bool is_lost = how->parts == 2 && of_sum < place - PLACES - 1;
  double rest = is_lost ? 0 : scalbn(floor(scalbn(sum, PLACES - place)), PLACES_OF_SUM - PLACES);
  return (float)scalbn(products + rest, place - PLACES_OF_SUM);
}

float emu_sum_fused(const double *a, const double *b, unsigned count, const emu_fused *how,
                    float sum) {
  for (unsigned first = 0; first < count; first += how->group) {
    unsigned left = count - first, n = how->group < left ? how->group : left;
    sum = add_group(a + first, b + first, n, how, sum);
  }
  return sum;
}
