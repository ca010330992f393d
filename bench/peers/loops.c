/* The peers of bench/guards.lua in C, on one thread.
 *
 *   loops NAME N REPEATS    prints the least time of one run in seconds
 *
 * Built by the bench with -O3 and -march of the level of instructions that is measured. N is a
 * number of elements; the two-dimensional ones take the square below it. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BINS = 256 };

static float *restrict x, *restrict y, *restrict o;
static uint8_t *restrict bytes;
static int64_t counts[BINS];
static volatile float result;

static void run_sum(long n) {
  for (long i = 0; i < n; i++) o[i] = x[i] + y[i];
}

static void run_copy(long n) {
  memcpy(o, x, (size_t)n * sizeof *o);
}

static void run_stencil(long n) {
  for (long i = 1; i < n - 1; i++) o[i] = x[i - 1] + x[i] + x[i + 1];
}

static void run_stencil_2d(long n) {
  long side = (long)sqrt((double)n);
  for (long i = 1; i < side - 1; i++) {
    for (long j = 1; j < side - 1; j++) {
      const float *at = x + i * side + j;
      o[i * side + j] = 0.2f * (at[0] + at[-side] + at[side] + at[-1] + at[1]);
    }
  }
}

static void run_two_ways(long n) {
  long half = n / 2;
  for (long i = 0; i < n; i++) o[i] = i < half ? x[i] + y[i] : x[i] - y[i];
}

static void run_fill(long n) {
  for (long i = 0; i < n; i++) o[i] = 1.5f;
}

static void run_reduce(long n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (long i = 0; i < n; i++) sum += x[i];
  result = sum;
}

static void run_scan(long n) {
  float sum = 0;
  for (long i = 0; i < n; i++) o[i] = sum += x[i];
}

static void run_histogram(long n) {
  for (long i = 0; i < n; i++) counts[bytes[i]]++;
}

static const struct peer {
  const char *name;
  void (*run)(long n);
} peers[] = {
    {"sum", run_sum},           {"return", run_sum},          {"grid_stride", run_sum},
    {"copy", run_copy},         {"stencil", run_stencil},     {"stencil_2d", run_stencil_2d},
    {"two_ways", run_two_ways}, {"fill", run_fill},           {"reduce", run_reduce},
    {"scan", run_scan},         {"histogram", run_histogram},
};

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static float *new_floats(long n) {
  float *block = aligned_alloc(64, ((size_t)n * sizeof *block + 63) / 64 * 64);
  if (!block) exit(EXIT_FAILURE);
  for (long i = 0; i < n; i++) block[i] = (float)(i % 1000) * 0.001f;
  return block;
}

int main(int argc, char **argv) {
  if (argc != 4) return EXIT_FAILURE;
  long n = atol(argv[2]);
  x = new_floats(n);
  y = new_floats(n);
  o = new_floats(n);
  bytes = malloc((size_t)n);
  if (!bytes) return EXIT_FAILURE;
  uint64_t state = 1;
  for (long i = 0; i < n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = (uint8_t)(state >> 56);
  }
  for (size_t p = 0; p < sizeof peers / sizeof *peers; p++) {
    if (strcmp(peers[p].name, argv[1]) != 0) continue;
    double least = 1e9;
    for (int r = 0; r < atoi(argv[3]) + 2; r++) {
      double start = seconds_now();
      peers[p].run(n);
      double took = seconds_now() - start;
      if (took < least) least = took;
    }
    printf("%.9f\n", least);
    return EXIT_SUCCESS;
  }
  return EXIT_FAILURE;
}
