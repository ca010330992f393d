/* See vectors.h. */
#include "runtime/sort/vectors.h"

#include <string.h>

#include "base/cpu_level.h"
#include "base/unroll.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE __attribute__((always_inline)) TARGET static inline

enum { SAMPLE = 32 };

#define TARGET __attribute__((target("avx512f,popcnt")))
#define ROWS_MOST 16
#define NUMBER uint32_t
#define LANE int32_t
#define LANES 16
#define MASK __mmask16
#define NAME(name) name##_avx512_32
#define SIGNED(name) _mm512_##name##_epi32
#define UNSIGNED(name) _mm512_##name##_epu32
#define LESS(name) _mm512_##name##_epu32_mask
#include "runtime/sort/avx512.def"
#include "runtime/sort/quicksort.def"
#undef NUMBER
#undef LANE
#undef LANES
#undef MASK
#undef NAME
#undef SIGNED
#undef UNSIGNED
#undef LESS

#define NUMBER uint64_t
#define LANE int64_t
#define LANES 8
#define MASK __mmask8
#define NAME(name) name##_avx512_64
#define SIGNED(name) _mm512_##name##_epi64
#define UNSIGNED(name) _mm512_##name##_epu64
#define LESS(name) _mm512_##name##_epu64_mask
#include "runtime/sort/avx512.def"
#include "runtime/sort/quicksort.def"
#undef TARGET
#undef ROWS_MOST
#undef NUMBER
#undef LANE
#undef LANES
#undef NAME

/* The numbers of eight lanes, a byte each, those of a mask after the others. */
#define BEFORE(mask, lane) __builtin_popcount((mask) & ((1 << (lane)) - 1))
#define PLACE(mask, lane)                                                 \
  ((mask) >> (lane)&1 ? 8 - __builtin_popcount(mask) + BEFORE(mask, lane) \
                      : (lane)-BEFORE(mask, lane))
#define LANE(mask, lane) (UINT64_C(lane) << 8 * PLACE(mask, lane))
#define PARTED(mask)                                                                               \
  (LANE(mask, 1) | LANE(mask, 2) | LANE(mask, 3) | LANE(mask, 4) | LANE(mask, 5) | LANE(mask, 6) | \
   LANE(mask, 7))
#define PARTED_4(mask) PARTED(mask), PARTED(mask + 1), PARTED(mask + 2), PARTED(mask + 3)
#define PARTED_16(mask) PARTED_4(mask), PARTED_4(mask + 4), PARTED_4(mask + 8), PARTED_4(mask + 12)
#define PARTED_64(mask) \
  PARTED_16(mask), PARTED_16(mask + 16), PARTED_16(mask + 32), PARTED_16(mask + 48)
static const uint64_t lanes_parted[] = {PARTED_64(0), PARTED_64(64), PARTED_64(128),
                                        PARTED_64(192)};

#define TARGET __attribute__((target("avx2,popcnt")))
#define ROWS_MOST 8
#define NUMBER uint32_t
#define LANES 8
#define NAME(name) name##_avx2_32
#include "runtime/sort/avx2.def"
#include "runtime/sort/quicksort.def"
#undef LANES

#define HAS(LEVEL) (roc_cpu_level() >= ROC_CPU_##LEVEL)
#define SORT(isa, bits) sort_##isa##_##bits(numbers, spare, n, other)
#define MERGE(isa, bits) merge_##isa##_##bits(a, na, b, nb, to)

#else

#define HAS(LEVEL) false
#define SORT(isa, bits) ((void)numbers, (void)spare, (void)n, (void)other)
#define MERGE(isa, bits) ((void)a, (void)na, (void)b, (void)nb, (void)to)

#endif

bool roc_sort_vectors_32(uint32_t *numbers, uint32_t *spare, size_t n,
                         void (*other)(uint32_t *, uint32_t *, size_t)) {
  if (HAS(AVX512)) {
    SORT(avx512, 32);
  } else if (HAS(AVX2)) {
    SORT(avx2, 32);
  }
  return HAS(AVX2);
}

bool roc_sort_vectors_64(uint64_t *numbers, uint64_t *spare, size_t n,
                         void (*other)(uint64_t *, uint64_t *, size_t)) {
  if (HAS(AVX512)) SORT(avx512, 64);
  return HAS(AVX512);
}

bool roc_merge_vectors_32(const uint32_t *a, size_t na, const uint32_t *b, size_t nb,
                          uint32_t *to) {
  if (HAS(AVX512)) {
    MERGE(avx512, 32);
  } else if (HAS(AVX2)) {
    MERGE(avx2, 32);
  }
  return HAS(AVX2);
}

bool roc_merge_vectors_64(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
                          uint64_t *to) {
  if (HAS(AVX512)) MERGE(avx512, 64);
  return HAS(AVX512);
}
