/* The peers of bench/cpu.lua in OpenCL, on the first device there is (PoCL on the machines this is
 * for).
 *
 *   opencl NAME N REPEATS    prints the median time of a run in seconds
 *
 * Reads bench/peers/kernels.cl; all its kernels take (a, b, c, bytes, n). */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TILE = 16, SIZE = 256, GROUPS = 64, MAX_TEXT = 1 << 16 };

typedef struct launch {
  const char *name;
  int is_square;
  cl_uint rank;
  size_t local[2];
  size_t groups; /* 0: as many items as elements */
} launch;

static const launch launches[] = {
    {"saxpy", 0, 1, {SIZE, 1}, 0},          {"triad", 0, 1, {SIZE, 1}, 0},
    {"reduction", 0, 1, {SIZE, 1}, GROUPS}, {"transpose", 1, 2, {TILE, TILE}, 0},
    {"matmul_naive", 1, 2, {16, 16}, 0},    {"matmul_tiled", 1, 2, {TILE, TILE}, 0},
    {"mandelbrot", 1, 2, {64, 1}, 0},       {"histogram", 0, 1, {SIZE, 1}, GROUPS},
};

static void check(cl_int code, const char *what) {
  if (code != CL_SUCCESS) {
    fprintf(stderr, "opencl: %s failed (%d)\n", what, code);
    exit(EXIT_FAILURE);
  }
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static cl_kernel build_kernel(cl_context context, cl_device_id device, const char *name) {
  static char text[MAX_TEXT];
  FILE *file = fopen("bench/peers/kernels.cl", "r");
  if (file == NULL) {
    fprintf(stderr, "opencl: cannot open bench/peers/kernels.cl\n");
    exit(EXIT_FAILURE);
  }
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  const char *source = text;
  cl_int code;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
  check(code, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "-cl-mad-enable", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, name, &code);
  check(code, "clCreateKernel");
  return kernel;
}

/* Memory that the host has written: pages never touched would all be one, and fast. */
static cl_mem new_buffer(cl_context context, size_t count, int holds_bytes) {
  float *contents = malloc(count * sizeof(float));
  if (contents == NULL) {
    exit(EXIT_FAILURE);
  }
  for (size_t i = 0; i < count; i++) {
    contents[i] = (float)(i % 1000) * 0.001f;
  }
  cl_ulong state = 1; /* random, as the bytes that bench/cpu.lua counts */
  for (size_t i = 0; holds_bytes && i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ((unsigned char *)contents)[i] = (unsigned char)(state >> 56);
  }
  cl_int code;
  cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
  cl_mem memory = clCreateBuffer(context, flags, count * sizeof(float), contents, &code);
  check(code, "clCreateBuffer");
  free(contents);
  return memory;
}

static void set_arguments(cl_kernel kernel, cl_context context, size_t count, cl_long n) {
  for (cl_uint i = 0; i < 4; i++) {
    cl_mem memory = new_buffer(context, count < SIZE ? SIZE : count, i == 3);
    check(clSetKernelArg(kernel, i, sizeof memory, &memory), "clSetKernelArg");
  }
  check(clSetKernelArg(kernel, 4, sizeof n, &n), "clSetKernelArg");
}

static double time_once(cl_command_queue queue, cl_kernel kernel, const launch *l, size_t n) {
  size_t global[2];
  for (int d = 0; d < 2; d++) {
    size_t items = l->groups != 0 ? l->groups * l->local[d] : n;
    global[d] = (items + l->local[d] - 1) / l->local[d] * l->local[d];
  }
  double start = seconds_now();
  check(clEnqueueNDRangeKernel(queue, kernel, l->rank, NULL, global, l->local, 0, NULL, NULL),
        "clEnqueueNDRangeKernel");
  check(clFinish(queue), "clFinish");
  return seconds_now() - start;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s NAME N REPEATS\n", argv[0]);
    return EXIT_FAILURE;
  }
  const launch *l = launches, *end = launches + sizeof launches / sizeof launches[0];
  while (l < end && strcmp(l->name, argv[1]) != 0) {
    l++;
  }
  if (l == end) {
    fprintf(stderr, "no peer '%s'\n", argv[1]);
    return EXIT_FAILURE;
  }
  size_t n = (size_t)atol(argv[2]);
  cl_platform_id platform;
  cl_device_id device;
  cl_int code;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  cl_kernel kernel = build_kernel(context, device, l->name);
  set_arguments(kernel, context, l->is_square ? n * n : n, (cl_long)n);

  size_t repeats = (size_t)atol(argv[3]);
  double *times = calloc(repeats, sizeof(double));
  if (times == NULL) {
    return EXIT_FAILURE;
  }
  time_once(queue, kernel, l, n); /* compiles */
  for (size_t i = 0; i < repeats; i++) {
    times[i] = time_once(queue, kernel, l, n);
  }
  qsort(times, repeats, sizeof(double), compare);
  printf("%.9f\n", times[repeats / 2]);
  return EXIT_SUCCESS;
}
