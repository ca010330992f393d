/* The peer of bench/cuda.lua that calls NVIDIA's driver itself: launches, copies, and the start of
 * a process with PTX that is ready.
 *
 *   cuda_driver TURN     waits for the lock of the file TURN, then prints a line a measurement:
 *                        name, n, milliseconds
 *   cuda_driver start    prints an element of saxpy
 *
 * Built by the bench; the driver is opened at run time, as no toolkit need have its stub.  A time
 * is the median of SAMPLES samples; a sample is so many calls between two events that it takes a
 * millisecond, divided by their number. */
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

enum { SAMPLES = 15, LAUNCHES = 200, LINE = 256 /* threads of a block */ };

/* ---- the driver -------------------------------------------------------------- */

/* Through a second macro: cuda.h has macros that give functions their versions. */
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

static void *find(const char *name) {
  static void *library;
  if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
  void *found = library ? dlsym(library, name) : NULL;
  if (found) return found;
  fprintf(stderr, "%s: not found\n", name);
  exit(EXIT_FAILURE);
}

static void check(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
  exit(EXIT_FAILURE);
}

/* A call of the driver.  Each place keeps the function that it has found. */
#define CALL(name, ...)                                            \
  do {                                                             \
    static __typeof__(&name) driver_call;                          \
    if (!driver_call) *(void **)(&driver_call) = find(TEXT(name)); \
    check(driver_call(__VA_ARGS__), #name);                        \
  } while (0)

static const char *const PTX =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry empty(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }\n"
    ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) {\n"
    "  .reg .pred %p; .reg .b32 %i, %n, %t, %b; .reg .b64 %x, %y, %at; .reg .f32 %a, %u, %v;\n"
    "  mov.u32 %t, %tid.x; mov.u32 %i, %ctaid.x; mov.u32 %b, %ntid.x;\n"
    "  mad.lo.u32 %i, %i, %b, %t; ld.param.u32 %n, [n];\n"
    "  setp.ge.u32 %p, %i, %n; @%p ret;\n"
    "  ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.f32 %a, [a];\n"
    "  mul.wide.u32 %at, %i, 4; add.u64 %x, %x, %at; add.u64 %y, %y, %at;\n"
    "  ld.global.f32 %u, [%x]; ld.global.f32 %v, [%y];\n"
    "  fma.rn.f32 %v, %a, %u, %v; st.global.f32 [%y], %v; ret;\n}\n";

static CUmodule module;

static void open_driver(void) {
  CUdevice device;
  CUcontext context;
  CALL(cuInit, 0);
  CALL(cuDeviceGet, &device, 0);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuCtxSetCurrent, context);
  CALL(cuModuleLoadData, &module, PTX);
}

static CUfunction kernel(const char *name) {
  CUfunction function;
  CALL(cuModuleGetFunction, &function, module, name);
  return function;
}

static CUdeviceptr device_array(size_t nbytes) {
  CUdeviceptr ptr;
  CALL(cuMemAlloc, &ptr, nbytes);
  CALL(cuMemsetD8, ptr, 1, nbytes);
  return ptr;
}

/* ---- measuring --------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(const char *name, size_t n, double *times, size_t count) {
  qsort(times, count, sizeof *times, compare);
  printf("%s %zu %.6f\n", name, n, times[count / 2]);
  fflush(stdout);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

typedef struct copy {
  CUdeviceptr dst, src;
  size_t nbytes;
} copy;

static double sample(const copy *c, int count) {
  CUevent first, last;
  float ms;
  CALL(cuEventCreate, &first, CU_EVENT_DEFAULT);
  CALL(cuEventCreate, &last, CU_EVENT_DEFAULT);
  CALL(cuEventRecord, first, NULL);
  for (int i = 0; i < count; i++) CALL(cuMemcpyAsync, c->dst, c->src, c->nbytes, NULL);
  CALL(cuEventRecord, last, NULL);
  CALL(cuEventSynchronize, last);
  CALL(cuEventElapsedTime, &ms, first, last);
  CALL(cuEventDestroy, first);
  CALL(cuEventDestroy, last);
  return ms / count;
}

static void measure_copy(const char *name, size_t n, copy c) {
  double times[SAMPLES], once;
  sample(&c, 1);
  once = sample(&c, 3);
  int count = once > 1 ? 1 : once < 1e-3 ? 1000 : (int)(1 / once);
  for (int i = 0; i < SAMPLES; i++) times[i] = sample(&c, count);
  report(name, n, times, SAMPLES);
}

static void measure_launch(void) {
  CUfunction empty = kernel("empty");
  CUdeviceptr a = device_array(4);
  void *arguments[] = {&a, &a, &a};
  double times[5 * SAMPLES];
  for (int i = 0; i < 5 * SAMPLES; i++) {
    double start = now_ms();
    for (int k = 0; k < LAUNCHES; k++) {
      CALL(cuLaunchKernel, empty, 1, 1, 1, LINE, 1, 1, 0, NULL, arguments, NULL);
    }
    times[i] = (now_ms() - start) / LAUNCHES;
    CALL(cuCtxSynchronize);
  }
  report("launch", 1, times, 5 * SAMPLES);
  CALL(cuMemFree, a);
}

static void measure_copies(void) {
  for (int bits = 20; bits <= 28; bits += 4) {
    size_t n = (size_t)1 << bits, nbytes = n * sizeof(float);
    copy c = {device_array(nbytes), device_array(nbytes), nbytes};
    measure_copy("copy", n, c);
    CALL(cuMemFree, c.dst);
    CALL(cuMemFree, c.src);
  }
  size_t nbytes = (size_t)1 << 28;
  void *host;
  CUdeviceptr device = device_array(nbytes);
  CALL(cuMemHostAlloc, &host, nbytes, 0);
  memset(host, 1, nbytes);
  measure_copy("to_device", nbytes, (copy){device, (CUdeviceptr)(size_t)host, nbytes});
  measure_copy("to_host", nbytes, (copy){(CUdeviceptr)(size_t)host, device, nbytes});
}

static void start(void) {
  enum { N = 1 << 20 };
  static float ones[N];
  int n = N;
  float a = 2.5f, result;
  CUdeviceptr x = device_array(sizeof ones), y = device_array(sizeof ones);
  for (int i = 0; i < N; i++) ones[i] = 1;
  CALL(cuMemcpyHtoD, x, ones, sizeof ones);
  CALL(cuMemcpyHtoD, y, ones, sizeof ones);
  void *arguments[] = {&a, &x, &y, &n};
  CALL(cuLaunchKernel, kernel("saxpy"), N / LINE, 1, 1, LINE, 1, 1, 0, NULL, arguments, NULL);
  CALL(cuMemcpyDtoH, &result, y + 6 * sizeof result, sizeof result);
  printf("%g\n", result);
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc != 2) return EXIT_FAILURE;
  if (strcmp(argv[1], "start") == 0) {
    open_driver();
    start();
    return 0;
  }
  if (flock(open(argv[1], O_RDONLY), LOCK_EX) != 0) return EXIT_FAILURE;
  open_driver();
  measure_launch();
  measure_copies();
  return 0;
}
