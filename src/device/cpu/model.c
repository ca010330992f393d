/* Asking the processor what it is; see model.h. */
#include "device/cpu/model.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* The 48 bytes of the brand string, which may be padded on both sides. */
static void read_brand(char out[49]) {
  enum { FIRST_LEAF = 0x80000002, NLEAVES = 3 };
  unsigned words[4 * NLEAVES] = {0};
  for (unsigned i = 0; i < NLEAVES; i++) {
    unsigned *w = &words[4 * i];
    if (!__get_cpuid(FIRST_LEAF + i, &w[0], &w[1], &w[2], &w[3])) break;
  }
  memcpy(out, words, sizeof words);
  out[48] = '\0';
  size_t first = strspn(out, " "), len = strlen(out);
  while (len > first && out[len - 1] == ' ') out[--len] = '\0';
  memmove(out, out + first, len - first + 1);
}

/* The widest instructions, and what comes with some of them only. */
static void list_instructions(char *out, size_t size) {
  __builtin_cpu_init();
  bool has_avx = __builtin_cpu_supports("avx"), has_avx2 = __builtin_cpu_supports("avx2");
  bool has_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  snprintf(out, size, "%s%s%s",
           has_avx2                           ? "AVX2"
           : has_avx                          ? "AVX"
           : __builtin_cpu_supports("sse4.2") ? "SSE4.2"
                                              : "SSE2",
           __builtin_cpu_supports("fma") ? ", FMA" : "", has_512 ? ", AVX-512" : "");
}

void roc_cpu_describe_model(char *out, size_t size) {
  char brand[49], instructions[48];
  read_brand(brand);
  list_instructions(instructions, sizeof instructions);
  snprintf(out, size, "%s (%s)", brand[0] ? brand : "x86-64", instructions);
}

#else

void roc_cpu_describe_model(char *out, size_t size) {
  snprintf(out, size, "this processor");
}

#endif
