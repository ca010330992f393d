/* Kernels without Lua: those of waves.lua, which rocluac has compiled into waves.c and waves.h.  The
 * program has no Lua state, no script and no path of a file.
 *
 * kernels [DEVICE]: a wave runs over a membrane; prints its height in the middle, and that all heights
 * agree with those of a loop in C. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waves.h"

enum { N = 101, STEPS = 60, EVERY = 20 };

static void check(int code) {
  if (code == ROCLUA_OK) return;
  fprintf(stderr, "kernels: %s\n", roclua_error());
  exit(1);
}

/* A membrane at rest, in the memory of the device. */
static roclua_array *make_membrane(const char *device) {
  int64_t shape[] = {N, N};
  roclua_array *array;
  roclua_view view = {.size = sizeof view};
  check(roclua_array_create(device, "float32", 2, shape, &array));
  check(roclua_array_map(array, ROCLUA_WRITE, NULL, &view));
  memset(view.data, 0, sizeof(float) * N * N);
  check(roclua_array_unmap(&view));
  return array;
}

/* Waits for the kernels that write the array. */
static double middle_of(roclua_array *array) {
  roclua_view view = {.size = sizeof view};
  check(roclua_array_map(array, ROCLUA_READ, NULL, &view));
  double height = ((const float *)view.data)[N / 2 * N + N / 2];
  check(roclua_array_unmap(&view));
  return height;
}

/* The same wave by a loop in C: whether the heights after STEPS steps are about those of an array. */
static int agrees_with_c(roclua_array *heights) {
  static float planes[3][N][N];
  float(*next)[N] = planes[0], (*now)[N] = planes[1], (*before)[N] = planes[2];
  now[N / 2][N / 2] = 1;
  for (int step = 1; step <= STEPS; step++) {
    for (int i = 1; i < N - 1; i++) {
      for (int j = 1; j < N - 1; j++) {
        float around = now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1];
        next[i][j] = 2 * now[i][j] - before[i][j] + 0.25f * (around - 4 * now[i][j]);
      }
    }
    float(*oldest)[N] = before;
    before = now;
    now = next;
    next = oldest;
  }
  roclua_view view = {.size = sizeof view};
  check(roclua_array_map(heights, ROCLUA_READ, NULL, &view));
  const float *found = view.data;
  int agrees = 1;
  for (int i = 0; i < N * N; i++) agrees = agrees && fabsf(found[i] - now[i / N][i % N]) < 1e-5f;
  check(roclua_array_unmap(&view));
  return agrees;
}

int main(int argc, char **argv) {
  const char *device = argc > 1 ? argv[1] : "cpu";
  roclua_kernel *poke, *step;
  roclua_stream *stream;
  check(waves_poke_load(&poke));
  check(waves_step_load(&step));
  check(roclua_stream_create(device, &stream));
  roclua_array *next = make_membrane(device), *now = make_membrane(device);
  roclua_array *before = make_membrane(device);

  roclua_launch once = {.size = sizeof once, .rank = 1, .grid = {1}};
  waves_poke_args place = {.heights = now, .x = N / 2 + 1, .y = N / 2 + 1, .height = 1};
  check(waves_poke_launch(poke, stream, &once, &place));

  roclua_launch everywhere = {.size = sizeof everywhere, .rank = 2, .grid = {N, N}};
  for (int i = 1; i <= STEPS; i++) {
    waves_step_args args = {.next = next, .now = now, .before = before};
    check(waves_step_launch(step, stream, &everywhere, &args));
    before = args.now;
    now = args.next;
    next = args.before;
    if (i % EVERY == 0) printf("step %3d: %+.4f\n", i, middle_of(now));
  }
  check(roclua_stream_synchronize(stream));
  int agrees = agrees_with_c(now);
  puts(agrees ? "every height agrees with a C loop" : "the heights differ from those of a C loop");

  roclua_array_release(next);
  roclua_array_release(now);
  roclua_array_release(before);
  roclua_kernel_release(poke);
  roclua_kernel_release(step);
  roclua_stream_release(stream);
  check(roclua_shutdown());
  return agrees ? 0 : 1;
}
