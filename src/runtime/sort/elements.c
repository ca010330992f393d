/* See elements.h. */
#include "runtime/sort/elements.h"

#include <string.h>

/* The keys of elements of so many bits, and the elements of keys.
 *
 * Integers: the sign's bit exchanged, so that negative ones come first.  Floats: sign and magnitude
 * become one number; -0 is 0, and every NaN the greatest key. */
#define INTEGER_KEYS(BITS)                                                                \
  static inline uint##BITS##_t integer_key_##BITS(roc_sort_keys k, uint##BITS##_t bits) { \
    return (uint##BITS##_t)(bits ^ k.exchange);                                           \
  }                                                                                       \
  static inline uint##BITS##_t integer_of_##BITS(roc_sort_keys k, uint##BITS##_t key) {   \
    return (uint##BITS##_t)(key ^ k.exchange);                                            \
  }

#define FLOAT_KEYS(BITS)                                                                 \
  static inline uint##BITS##_t float_key_##BITS(roc_sort_keys k, uint##BITS##_t bits) {  \
    uint##BITS##_t sign = (uint##BITS##_t)k.sign, infinity = (uint##BITS##_t)k.infinity; \
    uint##BITS##_t magnitude = (uint##BITS##_t)(bits & ~sign), up = magnitude | sign;    \
    uint##BITS##_t key = bits > sign ? (uint##BITS##_t) ~bits : up;                      \
    key ^= (uint##BITS##_t)k.exchange;                                                   \
    return magnitude > infinity ? (uint##BITS##_t)k.mask : key;                          \
  }                                                                                      \
  static inline uint##BITS##_t float_of_##BITS(roc_sort_keys k, uint##BITS##_t key) {    \
    uint##BITS##_t sign = (uint##BITS##_t)k.sign;                                        \
    key ^= (uint##BITS##_t)k.exchange;                                                   \
    return key & sign ? key ^ sign : (uint##BITS##_t) ~key;                              \
  }

INTEGER_KEYS(8)
INTEGER_KEYS(16)
INTEGER_KEYS(32)
INTEGER_KEYS(64)
FLOAT_KEYS(16)
FLOAT_KEYS(32)
FLOAT_KEYS(64)

/* BITS: of an element; RECORD: the type of records with nothing but a key. */
#define VALUES(BITS, KIND, RECORD)                                                            \
  static bool read_##KIND##_##BITS(const roc_sort_keys *keys, const void *line, size_t first, \
                                   size_t n, void *records) {                                 \
    const uint##BITS##_t *from = (const uint##BITS##_t *)line + first;                        \
    RECORD *to = records;                                                                     \
    const roc_sort_keys k = *keys;                                                            \
    uint##BITS##_t lost = 0;                                                                  \
    for (size_t i = 0; i < n; i++) {                                                          \
      uint##BITS##_t key = KIND##_key_##BITS(k, from[i]);                                     \
      lost |= KIND##_of_##BITS(k, key) ^ from[i];                                             \
      to[i] = key;                                                                            \
    }                                                                                         \
    return lost != 0;                                                                         \
  }                                                                                           \
  static void write_##KIND##_##BITS(const roc_sort_keys *keys, const void *records, size_t n, \
                                    void *values) {                                           \
    const RECORD *from = records;                                                             \
    const roc_sort_keys k = *keys;                                                            \
    uint##BITS##_t *to = values;                                                              \
    for (size_t i = 0; i < n; i++) {                                                          \
      to[i] = KIND##_of_##BITS(k, (uint##BITS##_t)from[i]);                                   \
    }                                                                                         \
  }

/* Keys of up to 32 bits above places of as many. */
#define SHORT_PLACED(BITS, KIND)                                                        \
  static bool read_##KIND##_##BITS##_short(const roc_sort_keys *keys, const void *line, \
                                           size_t first, size_t n, void *records) {     \
    const uint##BITS##_t *from = (const uint##BITS##_t *)line + first;                  \
    uint64_t *to = records;                                                             \
    const roc_sort_keys k = *keys;                                                      \
    for (size_t i = 0; i < n; i++) {                                                    \
      to[i] = (uint64_t)KIND##_key_##BITS(k, from[i]) << 32 | (first + i);              \
    }                                                                                   \
    return false;                                                                       \
  }

#define PLACED(BITS, KIND)                                                               \
  static bool read_##KIND##_##BITS##_placed(const roc_sort_keys *keys, const void *line, \
                                            size_t first, size_t n, void *records) {     \
    const uint##BITS##_t *from = (const uint##BITS##_t *)line + first;                   \
    roc_sort_placed *to = records;                                                       \
    const roc_sort_keys k = *keys;                                                       \
    for (size_t i = 0; i < n; i++) {                                                     \
      to[i] = (roc_sort_placed){KIND##_key_##BITS(k, from[i]), first + i};               \
    }                                                                                    \
    return false;                                                                        \
  }

#define WRITE_PLACES(BITS, NAME, RECORD, PLACE)                                             \
  static void write_places_##BITS##_##NAME(const void *records, size_t n, const void *line, \
                                           void *values, int64_t *places) {                 \
    const RECORD *from = records;                                                           \
    const uint##BITS##_t *elements = line;                                                  \
    uint##BITS##_t *to = values;                                                            \
    for (size_t i = 0; places && i < n; i++) places[i] = (int64_t)(PLACE(from[i])) + 1;     \
    for (size_t i = 0; to && i < n; i++) to[i] = elements[PLACE(from[i])];                  \
  }

#define SHORT_PLACE(record) ((record)&UINT32_MAX)
#define PLACE(record) ((record).place)

#define OF_BITS(BITS, RECORD)   \
  VALUES(BITS, integer, RECORD) \
  PLACED(BITS, integer)         \
  WRITE_PLACES(BITS, placed, roc_sort_placed, PLACE)
#define OF_FEW_BITS(BITS)     \
  SHORT_PLACED(BITS, integer) \
  WRITE_PLACES(BITS, short, uint64_t, SHORT_PLACE)

OF_BITS(8, uint32_t)
OF_FEW_BITS(8)
OF_BITS(16, uint32_t)
OF_FEW_BITS(16)
VALUES(16, float, uint32_t)
SHORT_PLACED(16, float)
PLACED(16, float)
OF_BITS(32, uint32_t)
OF_FEW_BITS(32)
VALUES(32, float, uint32_t)
SHORT_PLACED(32, float)
PLACED(32, float)
OF_BITS(64, uint64_t)
VALUES(64, float, uint64_t)
PLACED(64, float)

/* Of a kind of elements: without places, with few, with many. */
typedef struct forms {
  roc_sort_form values, few_placed, placed;
} forms;

#define FORMS(BITS, KIND)                                                         \
  {                                                                               \
    {&roc_sort_records_32, 0, read_##KIND##_##BITS, write_##KIND##_##BITS, NULL}, \
        {&roc_sort_records_64, 32, read_##KIND##_##BITS##_short, NULL,            \
         write_places_##BITS##_short},                                            \
    {                                                                             \
      &roc_sort_records_placed, 0, read_##KIND##_##BITS##_placed, NULL,           \
          write_places_##BITS##_placed                                            \
    }                                                                             \
  }
#define FORMS_64(KIND)                                                                          \
  {                                                                                             \
    {&roc_sort_records_64, 0, read_##KIND##_64, write_##KIND##_64, NULL},                       \
        {&roc_sort_records_placed, 0, read_##KIND##_64_placed, NULL, write_places_64_placed}, { \
      &roc_sort_records_placed, 0, read_##KIND##_64_placed, NULL, write_places_64_placed        \
    }                                                                                           \
  }

/* By the base 2 logarithm of an element's bytes. */
static const forms integers[] = {FORMS(8, integer), FORMS(16, integer), FORMS(32, integer),
                                 FORMS_64(integer)};
static const forms floats[] = {[1] = FORMS(16, float), FORMS(32, float), FORMS_64(float)};

const roc_sort_form *roc_sort_form_of(roc_dtype dtype, size_t n, bool has_places) {
  const forms *kinds = roc_dtype_table[dtype].kind == 'f' ? floats : integers;
  const forms *f = &kinds[__builtin_ctz(roc_dtype_table[dtype].itemsize)];
  return !has_places ? &f->values : n <= UINT32_MAX ? &f->few_placed : &f->placed;
}

/* Of each float dtype. */
static uint64_t infinity_of(roc_dtype dtype) {
  return dtype == ROC_DT_FLOAT16    ? UINT64_C(0x7c00)
         : dtype == ROC_DT_BFLOAT16 ? UINT64_C(0x7f80)
         : dtype == ROC_DT_FLOAT32  ? UINT64_C(0x7f800000)
                                    : UINT64_C(0x7ff0000000000000);
}

roc_sort_keys roc_sort_keys_of(roc_dtype dtype, bool is_descending) {
  const roc_dtype_info *info = &roc_dtype_table[dtype];
  uint64_t mask = UINT64_MAX >> (64 - 8 * info->itemsize), sign = mask ^ mask >> 1;
  return (roc_sort_keys){.mask = mask,
                         .sign = sign,
                         .infinity = infinity_of(dtype),
                         .exchange = (info->kind == 'i' ? sign : 0) ^ (is_descending ? mask : 0)};
}

static uint64_t bits_at(const void *elements, size_t itemsize, size_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)elements + i * itemsize, itemsize);
  return bits;
}

/* The next of the line's elements from *at on that is a 0 (or NaN). */
static uint64_t next(const roc_sort_keys *keys, const void *line, size_t itemsize, bool is_zero,
                     size_t *at) {
  for (;; (*at)++) {
    uint64_t bits = bits_at(line, itemsize, *at), magnitude = bits & ~keys->sign;
    if (is_zero ? magnitude == 0 : magnitude > keys->infinity) {
      (*at)++;
      return bits;
    }
  }
}

void roc_sort_mend(roc_dtype dtype, const void *line, void *values, size_t keep) {
  roc_sort_keys keys = roc_sort_keys_of(dtype, false);
  size_t itemsize = roc_dtype_itemsize(dtype), zero = 0, nan = 0;
  for (size_t i = 0; i < keep; i++) {
    uint64_t magnitude = bits_at(values, itemsize, i) & ~keys.sign;
    if (magnitude != 0 && magnitude <= keys.infinity) continue;
    bool is_zero = magnitude == 0;
    uint64_t bits = next(&keys, line, itemsize, is_zero, is_zero ? &zero : &nan);
    memcpy((char *)values + i * itemsize, &bits, itemsize);
  }
}
