/* See mask.h.  No branch depends on the mask: it would be mispredicted. */
#include "runtime/mask.h"

#include <string.h>

static const uint64_t ONES = UINT64_C(0x0101010101010101);

/* Of 8 bytes, those that are not 0 as 1. */
static uint64_t not_zero(uint64_t bytes) {
  const uint64_t lower = ONES * 0x7f;
  return (((bytes & lower) + lower) | bytes) >> 7 & ONES;
}

size_t roc_mask_count(const unsigned char *mask, size_t n) {
  enum { WORDS = 255 }; /* whose counts fit a byte */
  size_t count = 0, i = 0;
  while (n - i >= 8) {
    uint64_t sums = 0;
    for (size_t end = (n - i) / 8 < WORDS ? n / 8 * 8 : i + 8 * WORDS; i < end; i += 8) {
      uint64_t bytes;
      memcpy(&bytes, mask + i, 8);
      sums += not_zero(bytes);
    }
    const uint64_t pairs = UINT64_C(0x00ff00ff00ff00ff);
    count += ((sums & pairs) + (sums >> 8 & pairs)) * UINT64_C(0x0001000100010001) >> 48;
  }
  for (; i < n; i++) count += mask[i] != 0;
  return count;
}

#define TAKE(type)                                                                         \
  static void take_##type(const unsigned char *mask, size_t n, const type *from, type *to, \
                          size_t count) {                                                  \
    for (size_t i = 0, k = 0; k < count && i < n; k += mask[i++] != 0) to[k] = from[i];    \
  }
TAKE(uint8_t)
TAKE(uint16_t)
TAKE(uint32_t)
TAKE(uint64_t)

void roc_mask_take(const unsigned char *mask, size_t n, const void *elements, size_t itemsize,
                   void *out, size_t count) {
  switch (itemsize) {
    case 1: take_uint8_t(mask, n, elements, out, count); break;
    case 2: take_uint16_t(mask, n, elements, out, count); break;
    case 4: take_uint32_t(mask, n, elements, out, count); break;
    default: take_uint64_t(mask, n, elements, out, count); break;
  }
}

void roc_mask_places(const unsigned char *mask, size_t n, int64_t *out, size_t count) {
  for (size_t i = 0, k = 0; k < count && i < n; k += mask[i++] != 0) out[k] = (int64_t)i + 1;
}
