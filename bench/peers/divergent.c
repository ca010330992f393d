/* The peers of bench/divergent.lua in C, on one thread.
 *
 *   divergent NAME N REPEATS    prints the least time of one run in seconds
 *
 * Built by the bench with -O3 and -march of the level of instructions that is measured. N is a
 * number of work-items; those in two dimensions take the square below it. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CENTRES = 64, FEATURES = 4, SPHERES = 32, TABLE = 1 << 16, BODIES = 1024, DRAWS = 256 };

static float *restrict x, *restrict y, *restrict z, *restrict o;
static int32_t *restrict counts;
static int64_t *restrict seeds;
static float *restrict points, *restrict centres, *restrict spheres, *restrict table;

static void run_mandelbrot(long n) {
  long side = (long)sqrt((double)n);
  for (long j = 0; j < side; j++) {
    for (long i = 0; i < side; i++) {
      float cr = -2 + 3 * (float)(i + 1) / (float)side,
            ci = -1.5f + 3 * (float)(j + 1) / (float)side;
      float zr = 0, zi = 0;
      int32_t k = 0;
      while (k < 256 && zr * zr + zi * zi <= 4) {
        float t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = t;
        k++;
      }
      counts[j * side + i] = k;
    }
  }
}

static void run_collatz(long n) {
  for (long i = 0; i < n; i++) {
    int64_t v = i + 1;
    int32_t k = 0;
    while (v != 1) {
      if (v % 2 == 0) {
        v = v >> 1;
      } else {
        v = 3 * v + 1;
      }
      k++;
    }
    counts[i] = k;
  }
}

static void run_spheres(long n) {
  long side = (long)sqrt((double)n);
  for (long j = 0; j < side; j++) {
    for (long i = 0; i < side; i++) {
      float dx = (float)(i + 1) / (float)side - 0.5f, dy = (float)(j + 1) / (float)side - 0.5f;
      float dz = 1 / sqrtf(dx * dx + dy * dy + 1), best = 1e30f;
      dx *= dz;
      dy *= dz;
      int32_t hit = 0;
      for (int32_t s = 0; s < SPHERES; s++) {
        float px = spheres[4 * s], py = spheres[4 * s + 1], pz = spheres[4 * s + 2];
        float radius = spheres[4 * s + 3];
        float b = px * dx + py * dy + pz * dz;
        float d = b * b - (px * px + py * py + pz * pz) + radius * radius;
        if (d > 0) {
          float t = b - sqrtf(d);
          if (t > 0 && t < best) {
            best = t;
            hit = s + 1;
          }
        }
      }
      float light = 0;
      if (hit > 0) {
        const float *sphere = spheres + 4 * (hit - 1);
        float nx = (dx * best - sphere[0]) / sphere[3], ny = (dy * best - sphere[1]) / sphere[3];
        light = fmaxf(0, -nx * 0.6f - ny * 0.8f);
      }
      o[j * side + i] = light;
    }
  }
}

static void run_k_means(long n) {
  for (long i = 0; i < n; i++) {
    float best = 1e30f;
    int32_t which = 0;
    for (int32_t c = 0; c < CENTRES; c++) {
      float sum = 0;
      for (int f = 0; f < FEATURES; f++) {
        float d = points[f * n + i] - centres[c * FEATURES + f];
        sum += d * d;
      }
      if (sum < best) {
        best = sum;
        which = c + 1;
      }
    }
    counts[i] = which;
  }
}

static void run_black_scholes(long n) {
  for (long i = 0; i < n; i++) {
    float s = x[i] * 100 + 1, k = y[i] * 100 + 1, t = z[i] + 0.1f, r = 0.02f, v = 0.3f;
    float root = v * sqrtf(t);
    float d1 = (logf(s / k) + (r + 0.5f * v * v) * t) / root, d2 = d1 - root;
    float n1 = 0.5f * erfcf(-d1 * 0.70710678f), n2 = 0.5f * erfcf(-d2 * 0.70710678f);
    o[i] = s * n1 - k * expf(-r * t) * n2;
  }
}

static void run_monte_carlo(long n) {
  for (long i = 0; i < n; i++) {
    int64_t state = seeds[i];
    int32_t hits = 0;
    for (int k = 0; k < DRAWS; k++) {
      uint64_t v = (uint64_t)state;
      v ^= v << 13;
      v ^= v >> 7;
      v ^= v << 17;
      state = (int64_t)v;
      int64_t a = state & 0xffff, b = (int64_t)((uint64_t)state >> 16) & 0xffff;
      if (a * a + b * b < 4294967296) hits++;
    }
    counts[i] = hits;
  }
}

static void run_search(long n) {
  for (long i = 0; i < n; i++) {
    float wanted = x[i];
    int64_t low = 1, high = TABLE;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (table[middle - 1] < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    counts[i] = (int32_t)low;
  }
}

static void run_newton(long n) {
  for (long i = 0; i < n; i++) {
    float c = x[i] * 10 + 0.01f, v = 1;
    int32_t k = 0;
    while (k < 100) {
      float next = v - (v * v * v - c) / (3 * v * v);
      k++;
      if (fabsf(next - v) < 1e-6f * fabsf(next)) break;
      v = next;
    }
    o[i] = v;
    counts[i] = k;
  }
}

static void run_bodies(long n) {
  for (long i = 0; i < n; i++) {
    float px = x[i], py = y[i], pz = z[i], ax = 0, ay = 0, az = 0;
    for (long j = 0; j < BODIES; j++) {
      float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
      float r2 = dx * dx + dy * dy + dz * dz + 1e-4f;
      if (r2 < 0.25f) {
        float inv = 1 / sqrtf(r2), f = inv * inv * inv;
        ax += f * dx;
        ay += f * dy;
        az += f * dz;
      }
    }
    o[i] = ax + ay + az;
  }
}

static const struct {
  const char *name;
  void (*run)(long n);
} rows[] = {
    {"mandelbrot", run_mandelbrot},
    {"collatz", run_collatz},
    {"spheres", run_spheres},
    {"k_means", run_k_means},
    {"black_scholes", run_black_scholes},
    {"monte_carlo", run_monte_carlo},
    {"search", run_search},
    {"newton", run_newton},
    {"bodies", run_bodies},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float *make_floats(long n) {
  float *all = malloc((size_t)n * sizeof *all);
  for (long i = 0; i < n; i++) all[i] = (float)rand() / (float)RAND_MAX;
  return all;
}

static double measure(void (*run)(long n), long n, int repeats) {
  double best = 1e9;
  for (int r = 0; r < repeats; r++) {
    double start = now();
    run(n);
    double took = now() - start;
    if (took < best) best = took;
  }
  return best;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  long n = atol(argv[2]), most = n > BODIES ? n : BODIES;
  x = make_floats(most), y = make_floats(most), z = make_floats(most), o = make_floats(most);
  points = make_floats(n * FEATURES), centres = make_floats(CENTRES * FEATURES);
  spheres = make_floats(4 * SPHERES), table = make_floats(TABLE);
  for (int s = 0; s < SPHERES; s++) {
    spheres[4 * s] -= 0.5f, spheres[4 * s + 1] -= 0.5f, spheres[4 * s + 2] = 2 + spheres[4 * s + 2];
    spheres[4 * s + 3] = 0.05f + 0.1f * spheres[4 * s + 3];
  }
  for (long i = 0; i < TABLE; i++) table[i] = (float)i / TABLE;
  counts = malloc((size_t)n * sizeof *counts), seeds = malloc((size_t)n * sizeof *seeds);
  for (long i = 0; i < n; i++) seeds[i] = 88172645463325252 + i * 7919;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    if (strcmp(rows[r].name, argv[1]) != 0) continue;
    printf("%.9f\n", measure(rows[r].run, n, atoi(argv[3])));
    return 0;
  }
  return 1;
}
