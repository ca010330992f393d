/* What a launch by roclua_kernel_launch costs, for bench/launch.lua: nanoseconds a launch, the least
 * of a hundred rounds, of two kernels on the device that argument 1 names.  With argument 2, that
 * many threads launch at once, each on a stream of its own, and the least of the first is shown. */
#include <lauxlib.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "roclua.h"

enum { ROUNDS = 100, LAUNCHES = 2000 };

#define CHECK(call)                            \
  do {                                         \
    if ((call) != ROCLUA_OK) {                 \
      fprintf(stderr, "%s\n", roclua_error()); \
      exit(1);                                 \
    }                                          \
  } while (0)

static const char *device;
static roclua_kernel *kernels[2];
static double best[2];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static roclua_kernel *take(lua_State *L, const char *text) {
  roclua_kernel *kernel;
  if (luaL_dostring(L, text)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(1);
  }
  CHECK(roclua_kernel_get(L, -1, &kernel));
  return kernel;
}

static void *measure(void *is_first) {
  roclua_stream *stream;
  roclua_value args[3];
  roclua_launch launch = {.size = sizeof launch, .rank = 1, .grid = {64}, .workgroup = {64, 1, 1}};
  CHECK(roclua_stream_create(device, &stream));
  for (int i = 0; i < 3; i++) {
    args[i].kind = ROCLUA_ARRAY;
    CHECK(roclua_array_create(device, "float32", 1, (int64_t[]){64}, &args[i].as.array));
  }
  for (int k = 0; k < 2; k++) {
    double least = 1e30;
    int nargs = k == 0 ? 3 : 0;
    for (int round = 0; round < ROUNDS; round++) {
      double start = now();
      for (int i = 0; i < LAUNCHES; i++) {
        CHECK(roclua_kernel_launch(kernels[k], stream, &launch, args, nargs));
      }
      double taken = now() - start;
      if (taken < least) least = taken;
      CHECK(roclua_stream_synchronize(stream));
    }
    if (is_first) best[k] = least / LAUNCHES;
  }
  return NULL;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  device = argc > 1 ? argv[1] : "cpu";
  int nthreads = argc > 2 ? atoi(argv[2]) : 1;
  CHECK(roclua_openlibs(L));
  kernels[0] = take(L,
                    "roc = require 'roc' return roc.kernel(function(a, b, c)\n"
                    "local i = roc.get_global_id(1) if i <= #c then c[i] = a[i] + b[i] end end)");
  kernels[1] = take(L, "return roc.kernel(function() end)");
  pthread_t threads[64];
  for (int i = 1; i < nthreads && i < 64; i++) pthread_create(&threads[i], NULL, measure, NULL);
  measure("first");
  for (int i = 1; i < nthreads && i < 64; i++) pthread_join(threads[i], NULL);
  printf("%.1f %.1f\n", best[0], best[1]);
  CHECK(roclua_close(L));
  lua_close(L);
  return 0;
}
