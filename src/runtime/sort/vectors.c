/* See vectors.h. */
#include "runtime/sort/vectors.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,popcnt")))
#define INLINE __attribute__((always_inline)) WIDE static inline
#define HAS_WIDE (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt"))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { ROWS_MOST = 16, SAMPLE = 32 };

#define NUMBER uint32_t
#define LANE int32_t
#define LANES 16
#define MASK __mmask16
#define NAME(name) name##_32
#define SIGNED(name) _mm512_##name##_epi32
#define UNSIGNED(name) _mm512_##name##_epu32
#define LESS(name) _mm512_##name##_epu32_mask
#include "runtime/sort/vectors.def"
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
#define NAME(name) name##_64
#define SIGNED(name) _mm512_##name##_epi64
#define UNSIGNED(name) _mm512_##name##_epu64
#define LESS(name) _mm512_##name##_epu64_mask
#include "runtime/sort/vectors.def"

#else

#define NUMBER uint32_t
#define NAME(name) name##_32
#include "runtime/sort/no_vectors.def"
#undef NUMBER
#undef NAME
#define NUMBER uint64_t
#define NAME(name) name##_64
#include "runtime/sort/no_vectors.def"

#endif
