/* The peers of bench/cuda.lua in CUDA C and from CUB: the same algorithms on the same sizes.
 *
 *   cuda TURN    waits for the lock of the file TURN, then prints a line a measurement: name, n,
 *                milliseconds
 *   cuda start   prints an element of saxpy
 *
 * Built by the bench with nvcc -O3 for the GPU that is there.  A time is the median of SAMPLES
 * samples; a sample is so many launches between two events that it takes a millisecond, divided by
 * their number. */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/cub.cuh>
#include <vector>

namespace {

constexpr int kSamples = 15;
constexpr int kLine = 256;  // threads of a one-dimensional block

void check(cudaError_t code, const char *what) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  exit(EXIT_FAILURE);
}
#define CHECK(call) check((call), #call)

template <typename T>
T *device_array(size_t n) {
  T *p;
  CHECK(cudaMalloc(&p, n * sizeof(T)));
  CHECK(cudaMemset(p, 1, n * sizeof(T)));
  return p;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <typename F>
double sample(const F &launch, int count) {
  cudaEvent_t first, last;
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreate(&last));
  CHECK(cudaEventRecord(first));
  for (int i = 0; i < count; i++) launch();
  CHECK(cudaEventRecord(last));
  CHECK(cudaEventSynchronize(last));
  float ms;
  CHECK(cudaEventElapsedTime(&ms, first, last));
  CHECK(cudaEventDestroy(first));
  CHECK(cudaEventDestroy(last));
  return ms / count;
}

template <typename F>
void measure(const char *name, size_t n, const F &launch) {
  launch();
  CHECK(cudaDeviceSynchronize());
  int count = std::max(1, std::min(1000, (int)(1.0 / std::max(1e-3, sample(launch, 3)))));
  std::vector<double> times;
  for (int i = 0; i < kSamples; i++) times.push_back(sample(launch, count));
  CHECK(cudaGetLastError());
  printf("%s %zu %.6f\n", name, n, median(times));
  fflush(stdout);
}

// ---- one-dimensional kernels ---------------------------------------------------------------

__global__ void empty(float *, float *, float *) {}

template <typename T>
__global__ void copy(T *__restrict__ o, const T *__restrict__ x, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) o[i] = x[i];
}

__device__ float axpy(float a, float x, float y) {
  return a * x + y;
}
__device__ float4 axpy(float a, float4 x, float4 y) {
  return {axpy(a, x.x, y.x), axpy(a, x.y, y.y), axpy(a, x.z, y.z), axpy(a, x.w, y.w)};
}

template <typename T>
__global__ void saxpy(float a, const T *__restrict__ x, T *__restrict__ y, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = axpy(a, x[i], y[i]);
}

template <typename T>
__global__ void triad(float s, const T *__restrict__ a, const T *__restrict__ b,
                      T *__restrict__ c, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) c[i] = axpy(s, b[i], a[i]);
}

__global__ void black_scholes(const float *__restrict__ s, const float *__restrict__ k,
                              const float *__restrict__ t, float *__restrict__ call,
                              float *__restrict__ put, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float r = 0.02f, v = 0.3f;
  float root = sqrtf(t[i]);
  float d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / (v * root), d2 = d1 - v * root;
  float n1 = 0.5f * (1 + erff(d1 * 0.70710678f)), n2 = 0.5f * (1 + erff(d2 * 0.70710678f));
  float discounted = k[i] * expf(-r * t[i]);
  call[i] = s[i] * n1 - discounted * n2;
  put[i] = discounted * (1 - n2) - s[i] * (1 - n1);
}

__global__ void histogram(const uint8_t *__restrict__ data, unsigned *__restrict__ counts,
                          size_t n) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  size_t step = gridDim.x * (size_t)blockDim.x;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step) {
    atomicAdd(&mine[data[i]], 1u);
  }
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

// ---- two-dimensional kernels ---------------------------------------------------------------

__global__ void transpose(float *__restrict__ o, const float *__restrict__ x, int side) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) {
    tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(row + k) * side + column];
  }
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x;
  row = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) {
    o[(size_t)(row + k) * side + column] = tile[threadIdx.x][threadIdx.y + k];
  }
}

__global__ void matmul_naive(const float *__restrict__ a, const float *__restrict__ b,
                             float *__restrict__ c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[(size_t)i * n + k] * b[(size_t)k * n + j];
  c[(size_t)i * n + j] = sum;
}

template <int Tile>
__global__ void matmul_tiled(const float *__restrict__ a, const float *__restrict__ b,
                             float *__restrict__ c, int n) {
  __shared__ float ta[Tile][Tile], tb[Tile][Tile];
  int x = threadIdx.x, y = threadIdx.y, j = blockIdx.x * Tile + x, i = blockIdx.y * Tile + y;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += Tile) {
    ta[y][x] = a[(size_t)i * n + k0 + x];
    tb[y][x] = b[(size_t)(k0 + y) * n + j];
    __syncthreads();
    for (int k = 0; k < Tile; k++) sum += ta[y][k] * tb[k][x];
    __syncthreads();
  }
  c[(size_t)i * n + j] = sum;
}

__global__ void mandelbrot(uint8_t *image, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= n || row >= n) return;
  float cx = column * 3.0f / n - 2.25f, cy = row * 2.0f / n - 1.0f, x = 0, y = 0;
  int steps = 0;
  while (steps < 500 && x * x + y * y <= 4.0f) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    steps++;
  }
  image[(size_t)row * n + column] = (uint8_t)steps;
}

__global__ void nbody(const float4 *__restrict__ bodies, float4 *__restrict__ forces, int n) {
  __shared__ float4 tile[kLine];
  int i = blockIdx.x * kLine + threadIdx.x;
  float4 me = bodies[i];
  float fx = 0, fy = 0, fz = 0;
  for (int first = 0; first < n; first += kLine) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < kLine; k++) {
      float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      float r = dx * dx + dy * dy + dz * dz + 0.01f, inverse = 1 / sqrtf(r);
      float f = tile[k].w * inverse * inverse * inverse;
      fx += f * dx;
      fy += f * dy;
      fz += f * dz;
    }
    __syncthreads();
  }
  forces[i] = {fx, fy, fz, 0};
}

// ---- measurements --------------------------------------------------------------------------

unsigned blocks_for(size_t n) {
  return (unsigned)((n + kLine - 1) / kLine);
}

void measure_launch() {
  float *a = device_array<float>(1);
  std::vector<double> times;
  for (int i = 0; i < 5 * kSamples; i++) {
    constexpr int kLaunches = 200;
    auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < kLaunches; k++) empty<<<1, kLine>>>(a, a, a);
    auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::milli>(end - start).count() / kLaunches);
    CHECK(cudaDeviceSynchronize());
  }
  printf("launch 1 %.6f\n", median(times));
  CHECK(cudaFree(a));
}

void measure_lines() {
  for (int bits = 20; bits <= 28; bits += 4) {
    size_t n = (size_t)1 << bits;
    float *a = device_array<float>(n), *b = device_array<float>(n), *c = device_array<float>(n);
    auto *a4 = (float4 *)a, *b4 = (float4 *)b, *c4 = (float4 *)c;
    measure("copy", n, [=] { copy<<<blocks_for(n), kLine>>>(b, a, n); });
    measure("copy/16", n, [=] { copy<<<blocks_for(n / 4), kLine>>>(b4, a4, n / 4); });
    measure("saxpy", n, [=] { saxpy<<<blocks_for(n), kLine>>>(2.5f, a, b, n); });
    measure("saxpy/16", n, [=] { saxpy<<<blocks_for(n / 4), kLine>>>(2.5f, a4, b4, n / 4); });
    measure("triad", n, [=] { triad<<<blocks_for(n), kLine>>>(2.5f, a, b, c, n); });
    measure("triad/16", n, [=] { triad<<<blocks_for(n / 4), kLine>>>(2.5f, a4, b4, c4, n / 4); });
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
  }
  size_t n = (size_t)1 << 24;
  float *arrays[5];
  for (auto &array : arrays) array = device_array<float>(n);
  measure("black_scholes", n, [=] {
    black_scholes<<<blocks_for(n), kLine>>>(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4],
                                            n);
  });
  for (auto &array : arrays) CHECK(cudaFree(array));
}

void measure_cub() {
  size_t n = (size_t)1 << 26, nbytes = 0, more = 0;
  auto *x = device_array<float>(n), *sum = device_array<float>(1);
  auto *in = device_array<int>(n), *out = device_array<int>(n);
  cub::DeviceReduce::Sum(nullptr, nbytes, x, sum, n);
  cub::DeviceScan::InclusiveSum(nullptr, more, in, out, n);
  void *work = device_array<char>(std::max(nbytes, more));
  measure("sum", n, [&] { cub::DeviceReduce::Sum(work, nbytes, x, sum, n); });
  measure("scan", n, [&] { cub::DeviceScan::InclusiveSum(work, more, in, out, n); });
  auto *counts = device_array<unsigned>(256);
  measure("histogram", n, [=] { histogram<<<132 * 8, 256>>>((uint8_t *)x, counts, n); });
  for (void *p : {(void *)x, (void *)sum, (void *)in, (void *)out, work, (void *)counts}) {
    CHECK(cudaFree(p));
  }
}

void measure_squares() {
  int side = 8192;
  float *a = device_array<float>((size_t)side * side), *b = device_array<float>((size_t)side * side);
  dim3 tiles(side / 32, side / 32), tile(32, 8);
  measure("transpose", side, [=] { transpose<<<tiles, tile>>>(b, a, side); });
  int n = 4096;
  float *c = device_array<float>((size_t)n * n);
  dim3 by16(n / 16, n / 16), by32(n / 32, n / 32), t16(16, 16), t32(32, 32);
  measure("matmul_naive", n, [=] { matmul_naive<<<by16, t16>>>(a, b, c, n); });
  measure("matmul_16", n, [=] { matmul_tiled<16><<<by16, t16>>>(a, b, c, n); });
  measure("matmul_32", n, [=] { matmul_tiled<32><<<by32, t32>>>(a, b, c, n); });
  measure("mandelbrot", n, [=] { mandelbrot<<<dim3(n / 64, n / 4), dim3(64, 4)>>>((uint8_t *)c, n); });
  int bodies = 65536;
  measure("nbody", bodies, [=] { nbody<<<bodies / kLine, kLine>>>((float4 *)a, (float4 *)b, bodies); });
  for (float *p : {a, b, c}) CHECK(cudaFree(p));
}

void measure_copies() {
  size_t n = (size_t)1 << 28;
  auto *device = device_array<char>(n);
  char *host;
  CHECK(cudaMallocHost(&host, n));
  measure("to_device", n, [=] { cudaMemcpyAsync(device, host, n, cudaMemcpyHostToDevice); });
  measure("to_host", n, [=] { cudaMemcpyAsync(host, device, n, cudaMemcpyDeviceToHost); });
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(device));
}

// Of a process: the bench measures when it has printed.
void start() {
  int n = 1 << 20;
  size_t nbytes = n * sizeof(float);
  float *x = device_array<float>(n), *y = device_array<float>(n);
  std::vector<float> ones(n, 1);
  for (float *to : {x, y}) CHECK(cudaMemcpy(to, ones.data(), nbytes, cudaMemcpyHostToDevice));
  saxpy<<<blocks_for(n), kLine>>>(2.5f, x, y, n);
  float result;
  CHECK(cudaMemcpy(&result, y + 6, sizeof result, cudaMemcpyDeviceToHost));
  printf("%g\n", result);
  fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return EXIT_FAILURE;
  if (strcmp(argv[1], "start") == 0) {
    start();
    return 0;
  }
  if (flock(open(argv[1], O_RDONLY), LOCK_EX) != 0) return EXIT_FAILURE;
  measure_launch();
  measure_lines();
  measure_cub();
  measure_squares();
  measure_copies();
}
