// The peers of bench/cpu.lua in OpenCL C: the same kernels with the same workgroups.
#define TILE 16
#define SIZE 256
#define BINS 256
#define MAX_STEPS 500

kernel void saxpy(global const float *a, global float *b, global float *c, global uchar *bytes,
                  long n) {
  size_t i = get_global_id(0);
  if (i < n) b[i] = 2.5f * a[i] + b[i];
}

kernel void triad(global const float *a, global const float *b, global float *c,
                  global uchar *bytes, long n) {
  size_t i = get_global_id(0);
  if (i < n) c[i] = a[i] + 2.5f * b[i];
}

kernel void reduction(global const float *a, global float *b, global float *c, global uchar *bytes,
                      long n) {
  local float part[SIZE];
  size_t item = get_local_id(0);
  float acc = 0;
  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) acc += a[i];
  part[item] = acc;
  for (size_t width = SIZE / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < width) part[item] += part[item + width];
  }
  if (item == 0) b[get_group_id(0)] = part[0];
}

kernel void transpose(global const float *a, global float *b, global float *c, global uchar *bytes,
                      long n) {
  local float tile[TILE][TILE + 1];
  size_t x = get_local_id(0), y = get_local_id(1);
  size_t column0 = get_group_id(0) * TILE, row0 = get_group_id(1) * TILE;
  if (row0 + y < n && column0 + x < n) tile[y][x] = a[(row0 + y) * n + column0 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (column0 + y < n && row0 + x < n) b[(column0 + y) * n + row0 + x] = tile[x][y];
}

kernel void matmul_naive(global const float *a, global const float *b, global float *c,
                         global uchar *bytes, long n) {
  size_t j = get_global_id(0), i = get_global_id(1);
  if (i >= n || j >= n) return;
  float sum = 0;
  for (size_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
  c[i * n + j] = sum;
}

kernel void matmul_tiled(global const float *a, global const float *b, global float *c,
                         global uchar *bytes, long n) {
  local float block_a[TILE][TILE], block_b[TILE][TILE];
  size_t x = get_local_id(0), y = get_local_id(1), j = get_global_id(0), i = get_global_id(1);
  float sum = 0;
  for (size_t k0 = 0; k0 < n; k0 += TILE) {
    block_a[y][x] = i < n && k0 + x < n ? a[i * n + k0 + x] : 0.0f;
    block_b[y][x] = k0 + y < n && j < n ? b[(k0 + y) * n + j] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++) sum += block_a[y][k] * block_b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n && j < n) c[i * n + j] = sum;
}

kernel void mandelbrot(global const float *a, global float *b, global float *c,
                       global uchar *bytes, long n) {
  size_t column = get_global_id(0), row = get_global_id(1);
  float cx = column * 3.0f / n - 2.25f, cy = row * 2.0f / n - 1.0f, x = 0, y = 0;
  int steps = 0;
  if (row >= n || column >= n) return;
  while (steps < MAX_STEPS && x * x + y * y <= 4.0f) {
    float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
    steps++;
  }
  bytes[row * n + column] = (uchar)steps;
}

kernel void histogram(global const float *a, global int *counts, global float *c,
                      global const uchar *bytes, long n) {
  local int mine[BINS];
  size_t item = get_local_id(0);
  mine[item] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&mine[bytes[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (mine[item] > 0) atomic_add(&counts[item], mine[item]);
}
