/* The peers of bench/cpu.lua in C with OpenMP: the same algorithms on the same sizes.
 *
 *   openmp NAME N REPEATS    prints the median time of a run in seconds
 *
 * Built by the bench with -O3 -march=native -fopenmp.  N is a number of elements, or the side of a
 * square matrix, a multiple of TILE. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 16, BINS = 256, MAX_STEPS = 500 };

static float *a, *b, *c;
static uint8_t *bytes;
static int64_t counts[BINS];
static float result;

static float *new_floats(size_t count) {
  float *x = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  if (x == NULL) {
    exit(EXIT_FAILURE);
  }
#pragma omp parallel for
  for (size_t i = 0; i < count; i++) {
    x[i] = (float)(i % 1000) * 0.001f;
  }
  return x;
}

static uint8_t *new_bytes(size_t count) {
  uint8_t *x = malloc(count);
  if (x == NULL) {
    exit(EXIT_FAILURE);
  }
  uint64_t state = 1; /* random, as the bytes that bench/cpu.lua counts */
  for (size_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x[i] = (uint8_t)(state >> 56);
  }
  return x;
}

static void run_saxpy(long n) {
#pragma omp parallel for
  for (long i = 0; i < n; i++) {
    b[i] = 2.5f * a[i] + b[i];
  }
}

static void run_triad(long n) {
#pragma omp parallel for
  for (long i = 0; i < n; i++) {
    c[i] = a[i] + 2.5f * b[i];
  }
}

static void run_reduction(long n) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (long i = 0; i < n; i++) {
    sum += a[i];
  }
  result = sum;
}

static void run_transpose(long n) {
#pragma omp parallel for collapse(2)
  for (long i0 = 0; i0 < n; i0 += TILE) {
    for (long j0 = 0; j0 < n; j0 += TILE) {
      for (long i = i0; i < i0 + TILE && i < n; i++) {
        for (long j = j0; j < j0 + TILE && j < n; j++) {
          b[j * n + i] = a[i * n + j];
        }
      }
    }
  }
}

static void run_matmul_naive(long n) {
#pragma omp parallel for
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long k = 0; k < n; k++) {
        sum += a[i * n + k] * b[k * n + j];
      }
      c[i * n + j] = sum;
    }
  }
}

/* One block of c, as a workgroup computes it: blocks of a and b are copied to a small buffer first.
 */
static void multiply_block(long n, long i0, long j0) {
  float block_a[TILE][TILE], block_b[TILE][TILE], sum[TILE][TILE] = {{0}};
  for (long k0 = 0; k0 < n; k0 += TILE) {
    for (int y = 0; y < TILE; y++) {
      for (int x = 0; x < TILE; x++) {
        block_a[y][x] = a[(i0 + y) * n + k0 + x];
        block_b[y][x] = b[(k0 + y) * n + j0 + x];
      }
    }
    for (int y = 0; y < TILE; y++) {
      for (int k = 0; k < TILE; k++) {
        for (int x = 0; x < TILE; x++) {
          sum[y][x] += block_a[y][k] * block_b[k][x];
        }
      }
    }
  }
  for (int y = 0; y < TILE; y++) {
    memcpy(&c[(i0 + y) * n + j0], sum[y], sizeof sum[y]);
  }
}

static void run_matmul_tiled(long n) {
#pragma omp parallel for collapse(2)
  for (long i0 = 0; i0 < n; i0 += TILE) {
    for (long j0 = 0; j0 < n; j0 += TILE) {
      multiply_block(n, i0, j0);
    }
  }
}

static void run_mandelbrot(long n) {
#pragma omp parallel for schedule(dynamic)
  for (long row = 0; row < n; row++) {
    for (long column = 0; column < n; column++) {
      float cx = (float)column * 3.0f / (float)n - 2.25f, cy = (float)row * 2.0f / (float)n - 1.0f;
      float x = 0, y = 0;
      int steps = 0;
      while (steps < MAX_STEPS && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        steps++;
      }
      bytes[row * n + column] = (uint8_t)steps;
    }
  }
}

static void run_histogram(long n) {
#pragma omp parallel
  {
    int64_t mine[BINS] = {0};
#pragma omp for
    for (long i = 0; i < n; i++) {
      mine[bytes[i]]++;
    }
#pragma omp critical
    for (int bin = 0; bin < BINS; bin++) {
      counts[bin] += mine[bin];
    }
  }
}

static const struct peer {
  const char *name;
  void (*run)(long n);
  int is_square;
} peers[] = {
    {"saxpy", run_saxpy, 0},
    {"triad", run_triad, 0},
    {"reduction", run_reduction, 0},
    {"transpose", run_transpose, 1},
    {"matmul_naive", run_matmul_naive, 1},
    {"matmul_tiled", run_matmul_tiled, 1},
    {"mandelbrot", run_mandelbrot, 1},
    {"histogram", run_histogram, 0},
};

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_time(const struct peer *peer, long n, int repeats) {
  double *times = malloc((size_t)repeats * sizeof(double));
  if (times == NULL) {
    exit(EXIT_FAILURE);
  }
  peer->run(n);
  for (int i = 0; i < repeats; i++) {
    double start = omp_get_wtime();
    peer->run(n);
    times[i] = omp_get_wtime() - start;
  }
  qsort(times, (size_t)repeats, sizeof(double), compare);
  return times[repeats / 2];
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s NAME N REPEATS\n", argv[0]);
    return EXIT_FAILURE;
  }
  long n = atol(argv[2]);
  for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
    if (strcmp(peers[i].name, argv[1]) == 0 && (!peers[i].is_square || n % TILE == 0)) {
      size_t count = peers[i].is_square ? (size_t)n * (size_t)n : (size_t)n;
      a = new_floats(count), b = new_floats(count), c = new_floats(count);
      bytes = new_bytes(count);
      printf("%.9f\n", median_time(&peers[i], n, atoi(argv[3])));
      return EXIT_SUCCESS;
    }
  }
  fprintf(stderr, "no peer '%s' of size %s\n", argv[1], argv[2]);
  return EXIT_FAILURE;
}
