/* See tile.h. */
#include "runtime/multiply/tile.h"

#include "base/cpu_level.h"
#include "base/unroll.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f")))
#define ROWS 12
#define T float
#define LANES 16
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define ZERO _mm512_setzero_ps()
#define SPREAD _mm512_set1_ps
#define ADD _mm512_fmadd_ps
#define NAME(name) name##_avx512_f32
#include "runtime/multiply/tile.def"
#undef T
#undef LANES
#undef VECTOR
#undef LOAD
#undef STORE
#undef ZERO
#undef SPREAD
#undef ADD
#undef NAME

#define T double
#define LANES 8
#define VECTOR __m512d
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define ZERO _mm512_setzero_pd()
#define SPREAD _mm512_set1_pd
#define ADD _mm512_fmadd_pd
#define NAME(name) name##_avx512_f64
#include "runtime/multiply/tile.def"
#undef TARGET
#undef ROWS
#undef T
#undef LANES
#undef VECTOR
#undef LOAD
#undef STORE
#undef ZERO
#undef SPREAD
#undef ADD
#undef NAME

#define TARGET __attribute__((target("avx2,fma")))
#define ROWS 6
#define T float
#define LANES 8
#define VECTOR __m256
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define ZERO _mm256_setzero_ps()
#define SPREAD _mm256_set1_ps
#define ADD _mm256_fmadd_ps
#define NAME(name) name##_avx2_f32
#include "runtime/multiply/tile.def"
#undef T
#undef LANES
#undef VECTOR
#undef LOAD
#undef STORE
#undef ZERO
#undef SPREAD
#undef ADD
#undef NAME

#define T double
#define LANES 4
#define VECTOR __m256d
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define ZERO _mm256_setzero_pd()
#define SPREAD _mm256_set1_pd
#define ADD _mm256_fmadd_pd
#define NAME(name) name##_avx2_f64
#include "runtime/multiply/tile.def"

const tile_form *roc_tile_form_of(roc_dtype dtype) {
  bool is_f32 = dtype == ROC_DT_FLOAT32;
  if (!is_f32 && dtype != ROC_DT_FLOAT64) return NULL;
  if (roc_cpu_level() >= ROC_CPU_AVX512) return is_f32 ? &form_avx512_f32 : &form_avx512_f64;
  if (roc_cpu_level() < ROC_CPU_AVX2 || !__builtin_cpu_supports("fma")) return NULL;
  return is_f32 ? &form_avx2_f32 : &form_avx2_f64;
}

#else

const tile_form *roc_tile_form_of(roc_dtype dtype) {
  (void)dtype;
  return NULL;
}

#endif
