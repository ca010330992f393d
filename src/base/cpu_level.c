/* See cpu_level.h. */
#include "base/cpu_level.h"

#include <stdatomic.h>
#include <string.h>

#include "base/env.h"

static roc_cpu_vectors level_of_processor(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt")) return ROC_CPU_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) return ROC_CPU_AVX2;
#endif
  return ROC_CPU_PLAIN;
}

static roc_cpu_vectors most_named(void) {
  const char *name = roc_env_text("ROCLUA_CPU");
  if (!name) return ROC_CPU_AVX512;
  if (strcmp(name, "x86-64") == 0 || strcmp(name, "x86-64-v2") == 0) return ROC_CPU_PLAIN;
  return strcmp(name, "x86-64-v3") == 0 ? ROC_CPU_AVX2 : ROC_CPU_AVX512;
}

roc_cpu_vectors roc_cpu_level(void) {
  static _Atomic int known = -1;
  int level = atomic_load_explicit(&known, memory_order_relaxed);
  if (level < 0) {
    roc_cpu_vectors has = level_of_processor(), most = most_named();
    level = (int)(has < most ? has : most);
    atomic_store_explicit(&known, level, memory_order_relaxed);
  }
  return (roc_cpu_vectors)level;
}
