// The kernels of kernels.lua in OpenCL C, for clang.  INDEX is the type of ids, extents and
// indices: the bench compiles the file for int, uint and ulong, and the best counts.
typedef INDEX I;

#define WG(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#define G(T) global T *restrict
#define GC(T) global const T *restrict
#define DIM(f, d)                                                       \
  ((d) == 0 ? __builtin_amdgcn_##f##_x() : (d) == 1 ? __builtin_amdgcn_##f##_y() \
                                                    : __builtin_amdgcn_##f##_z())
#define LID(d) ((I)DIM(workitem_id, d))
#define GROUP(d) ((I)DIM(workgroup_id, d))
#define GID(d) (GROUP(d) * (I)DIM(workgroup_size, d) + LID(d))
#define GSIZE(d) ((I)DIM(grid_size, d))
#define barrier()                                                   \
  do {                                                              \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local"); \
    __builtin_amdgcn_s_barrier();                                   \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local"); \
  } while (0)
#define ADD(p, v, scope) __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, scope)

// Vectors

kernel WG(256, 1, 1) void axpy(GC(float) x, G(float) y, float a, I n) {
  I i = GID(0);
  if (i < n) y[i] = a * x[i] + y[i];
}

kernel WG(256, 1, 1) void grid_stride(GC(float) x, G(float) y, I n) {
  for (I i = GID(0); i < n; i += GSIZE(0)) y[i] = x[i] * x[i] + 1.0f;
}

kernel WG(128, 1, 1) void black_scholes(GC(float) price, GC(float) strike, GC(float) years,
                                        G(float) call, I n) {
  I i = GID(0);
  if (i >= n) return;
  float s = price[i] * 50.0f + 50.0f, k = strike[i] * 50.0f + 50.0f, t = years[i] + 0.25f;
  float root = __builtin_sqrtf(t);
  float d1 = (__builtin_logf(s / k) + (0.02f + 0.5f * 0.3f * 0.3f) * t) / (0.3f * root);
  float d2 = d1 - 0.3f * root;
  float k1 = 1.0f / (1.0f + 0.2316419f * __builtin_fabsf(d1));
  float k2 = 1.0f / (1.0f + 0.2316419f * __builtin_fabsf(d2));
  float n1 = 0.39894228f * __builtin_expf(-0.5f * d1 * d1) * k1 *
             (0.31938153f +
              k1 * (-0.356563782f +
                    k1 * (1.781477937f + k1 * (-1.821255978f + k1 * 1.330274429f))));
  float n2 = 0.39894228f * __builtin_expf(-0.5f * d2 * d2) * k2 *
             (0.31938153f +
              k2 * (-0.356563782f +
                    k2 * (1.781477937f + k2 * (-1.821255978f + k2 * 1.330274429f))));
  if (d1 > 0.0f) n1 = 1.0f - n1;
  if (d2 > 0.0f) n2 = 1.0f - n2;
  call[i] = s * n1 - k * __builtin_expf(-0.02f * t) * n2;
}

kernel WG(128, 1, 1) void binary_search(GC(int) sorted, GC(int) keys, G(int) places, I m, I n) {
  I i = GID(0);
  if (i >= n) return;
  int key = keys[i];
  I low = 0, high = m;
  while (low < high) {
    I mid = (low + high) / 2;
    if (sorted[mid] < key) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  places[i] = low + 1;
}

kernel WG(64, 1, 1) void collatz(G(int) steps, I count) {
  I i = GID(0);
  if (i >= count) return;
  long n = i + 1;
  int k = 0;
  while (n != 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    k++;
  }
  steps[i] = k;
}

kernel WG(128, 1, 1) void pi(GC(uint) seeds, G(int) hits, I n, I rounds) {
  I i = GID(0);
  if (i >= n) return;
  uint s = seeds[i];
  int count = 0;
  for (I r = 0; r < rounds; r++) {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    float x = (s & 0xffff) / 65536.0f, y = (s >> 16) / 65536.0f;
    if (x * x + y * y <= 1.0f) count++;
  }
  hits[i] = count;
}

// Stencils and images

kernel WG(32, 8, 1) void stencil5(GC(float) u, G(float) v, I h, I w) {
  I x = GID(0), y = GID(1);
  if (y > 0 && y < h - 1 && x > 0 && x < w - 1) {
    v[y * w + x] = 0.2f * (u[y * w + x] + u[(y - 1) * w + x] + u[(y + 1) * w + x] +
                           u[y * w + x - 1] + u[y * w + x + 1]);
  }
}

kernel WG(16, 4, 4) void stencil7(GC(float) u, G(float) v, I nz, I ny, I nx) {
  I x = GID(0), y = GID(1), z = GID(2);
  if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
    v[(z * ny + y) * nx + x] =
        0.4f * u[(z * ny + y) * nx + x] +
        0.1f * (u[(z * ny + y) * nx + x - 1] + u[(z * ny + y) * nx + x + 1] +
                u[(z * ny + y - 1) * nx + x] + u[(z * ny + y + 1) * nx + x] +
                u[((z - 1) * ny + y) * nx + x] + u[((z + 1) * ny + y) * nx + x]);
  }
}

kernel WG(32, 8, 1) void periodic(GC(float) u, G(float) v, I ny, I nx) {
  I x = GID(0), y = GID(1);
  if (x >= nx || y >= ny) return;
  I xm = x == 0 ? nx - 1 : x - 1, xp = x == nx - 1 ? 0 : x + 1;
  I ym = y == 0 ? ny - 1 : y - 1, yp = y == ny - 1 ? 0 : y + 1;
  v[y * nx + x] = u[y * nx + x] + 0.1f * (u[ym * nx + x] + u[yp * nx + x] + u[y * nx + xm] +
                                          u[y * nx + xp] - 4.0f * u[y * nx + x]);
}

kernel WG(16, 16, 1) void heat_tiled(GC(float) u, G(float) v, I ny, I nx) {
  local float tile[18][18];
  I lx = LID(0), ly = LID(1), x = GID(0), y = GID(1);
  if (x < nx && y < ny) {
    tile[ly + 1][lx + 1] = u[y * nx + x];
    if (lx == 0 && x > 0) tile[ly + 1][0] = u[y * nx + x - 1];
    if (lx == 15 && x < nx - 1) tile[ly + 1][17] = u[y * nx + x + 1];
    if (ly == 0 && y > 0) tile[0][lx + 1] = u[(y - 1) * nx + x];
    if (ly == 15 && y < ny - 1) tile[17][lx + 1] = u[(y + 1) * nx + x];
  }
  barrier();
  if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
    v[y * nx + x] = tile[ly + 1][lx + 1] +
                    0.1f * (tile[ly][lx + 1] + tile[ly + 2][lx + 1] + tile[ly + 1][lx] +
                            tile[ly + 1][lx + 2] - 4.0f * tile[ly + 1][lx + 1]);
  }
}

kernel WG(32, 8, 1) void life(GC(uchar) old, G(uchar) next, I h, I w) {
  I x = GID(0), y = GID(1);
  if (x >= w || y >= h) return;
  int n = 0;
  for (int dy = -1; dy <= 1; dy++) {
    for (int dx = -1; dx <= 1; dx++) n += old[(y + dy + h) % h * w + (x + dx + w) % w];
  }
  uchar own = old[y * w + x];
  n -= own;
  next[y * w + x] = n == 3 || (n == 2 && own == 1);
}

kernel WG(32, 8, 1) void conv_u8(GC(uchar) src, GC(int) weights, G(uchar) dst, I h, I w) {
  I x = GID(0), y = GID(1);
  if (y < 2 || y >= h - 2 || x < 2 || x >= w - 2) return;
  int sum = 0;
  for (int dy = 0; dy < 5; dy++) {
    for (int dx = 0; dx < 5; dx++) sum += src[(y + dy - 2) * w + x + dx - 2] * weights[dy * 5 + dx];
  }
  dst[y * w + x] = (uchar)(sum >> 8);
}

kernel WG(256, 1, 1) void gray(GC(uchar) rgb, G(uchar) out, I n) {
  I i = GID(0);
  if (i < n) out[i] = (77 * rgb[i * 3] + 150 * rgb[i * 3 + 1] + 29 * rgb[i * 3 + 2]) >> 8;
}

kernel WG(32, 8, 1) void sobel(GC(float) src, G(float) dst, I h, I w) {
  I x = GID(0), y = GID(1);
  if (y == 0 || y >= h - 1 || x == 0 || x >= w - 1) return;
  I a = (y - 1) * w + x, b = y * w + x, c = (y + 1) * w + x;
  float gx = src[a + 1] + 2.0f * src[b + 1] + src[c + 1] - src[a - 1] - 2.0f * src[b - 1] -
             src[c - 1];
  float gy = src[c - 1] + 2.0f * src[c] + src[c + 1] - src[a - 1] - 2.0f * src[a] - src[a + 1];
  dst[b] = __builtin_sqrtf(gx * gx + gy * gy);
}

kernel WG(32, 8, 1) void bilinear(GC(float) src, G(float) dst, I h, I w, I sh, I sw) {
  I x = GID(0), y = GID(1);
  if (x >= w || y >= h) return;
  float fx = (float)x * 0.499f, fy = (float)y * 0.499f;
  float flx = __builtin_floorf(fx), fly = __builtin_floorf(fy);
  I x0 = (I)flx, y0 = (I)fly;
  float ax = fx - flx, ay = fy - fly;
  I x1 = x0 + 1 < sw - 1 ? x0 + 1 : sw - 1, y1 = y0 + 1 < sh - 1 ? y0 + 1 : sh - 1;
  x0 = x0 < sw - 1 ? x0 : sw - 1;
  y0 = y0 < sh - 1 ? y0 : sh - 1;
  float top = src[y0 * sw + x0] * (1.0f - ax) + src[y0 * sw + x1] * ax;
  float bottom = src[y1 * sw + x0] * (1.0f - ax) + src[y1 * sw + x1] * ax;
  dst[y * w + x] = top * (1.0f - ay) + bottom * ay;
}

kernel WG(64, 1, 1) void lbm(GC(float) src, G(float) dst, I nx, I ny) {
  I i = GID(0), n = nx * ny;
  if (i >= n) return;
  I x = i % nx, y = i / nx;
  I xm = x == 0 ? nx - 1 : x - 1, xp = x == nx - 1 ? 0 : x + 1;
  I ym = y == 0 ? ny - 1 : y - 1, yp = y == ny - 1 ? 0 : y + 1;
  float f0 = src[i], f1 = src[n + y * nx + xm], f2 = src[2 * n + ym * nx + x];
  float f3 = src[3 * n + y * nx + xp], f4 = src[4 * n + yp * nx + x];
  float f5 = src[5 * n + ym * nx + xm], f6 = src[6 * n + ym * nx + xp];
  float f7 = src[7 * n + yp * nx + xp], f8 = src[8 * n + yp * nx + xm];
  float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
  float ux = (f1 + f5 + f8 - f3 - f6 - f7) / rho, uy = (f2 + f5 + f6 - f4 - f7 - f8) / rho;
  float usq = 1.0f - 1.5f * (ux * ux + uy * uy);
  float omega = 1.2f, r1 = rho / 9.0f, r2 = rho / 36.0f, p = ux + uy, m = ux - uy;
  dst[i] = f0 + omega * (rho * (4.0f / 9.0f) * usq - f0);
  dst[n + i] = f1 + omega * (r1 * (usq + 3.0f * ux + 4.5f * ux * ux) - f1);
  dst[2 * n + i] = f2 + omega * (r1 * (usq + 3.0f * uy + 4.5f * uy * uy) - f2);
  dst[3 * n + i] = f3 + omega * (r1 * (usq - 3.0f * ux + 4.5f * ux * ux) - f3);
  dst[4 * n + i] = f4 + omega * (r1 * (usq - 3.0f * uy + 4.5f * uy * uy) - f4);
  dst[5 * n + i] = f5 + omega * (r2 * (usq + 3.0f * p + 4.5f * p * p) - f5);
  dst[6 * n + i] = f6 + omega * (r2 * (usq - 3.0f * m + 4.5f * m * m) - f6);
  dst[7 * n + i] = f7 + omega * (r2 * (usq - 3.0f * p + 4.5f * p * p) - f7);
  dst[8 * n + i] = f8 + omega * (r2 * (usq + 3.0f * m + 4.5f * m * m) - f8);
}

// Linear algebra

kernel WG(64, 1, 1) void gemv(GC(float) a, GC(float) x, G(float) y, I n, I m) {
  I i = GID(0);
  if (i >= n) return;
  float sum = 0;
  for (I k = 0; k < m; k++) sum += a[i * m + k] * x[k];
  y[i] = sum;
}

kernel WG(16, 16, 1) void gemm(GC(float) a, GC(float) b, G(float) c, I m, I n, I depth) {
  I j = GID(0), i = GID(1);
  if (i >= m || j >= n) return;
  float sum = 0;
  for (I k = 0; k < depth; k++) sum += a[i * depth + k] * b[k * n + j];
  c[i * n + j] = sum;
}

kernel WG(16, 16, 1) void gemm_tiled(GC(float) a, GC(float) b, G(float) c, I m, I n, I depth) {
  local float ta[16][16], tb[16][16];
  I x = LID(0), y = LID(1), j = GID(0), i = GID(1);
  float sum = 0;
  for (I k0 = 0; k0 < depth; k0 += 16) {
    ta[y][x] = a[i * depth + k0 + x];
    tb[y][x] = b[(k0 + y) * n + j];
    barrier();
    for (int k = 0; k < 16; k++) sum += ta[y][k] * tb[k][x];
    barrier();
  }
  c[i * n + j] = sum;
}

kernel WG(16, 16, 1) void gemm4x4(GC(float) a, GC(float) b, G(float) c, I m, I n, I depth) {
  local float ta[64][16], tb[16][64];
  float acc[4][4];
  I x = LID(0), y = LID(1), r0 = GROUP(1) * 64, c0 = GROUP(0) * 64;
  for (int u = 0; u < 4; u++) {
    for (int v = 0; v < 4; v++) acc[u][v] = 0;
  }
  for (I k0 = 0; k0 < depth; k0 += 16) {
    for (int u = 0; u < 4; u++) {
      ta[y + 16 * u][x] = a[(r0 + y + 16 * u) * depth + k0 + x];
      tb[y][x + 16 * u] = b[(k0 + y) * n + c0 + x + 16 * u];
    }
    barrier();
    for (int k = 0; k < 16; k++) {
      for (int u = 0; u < 4; u++) {
        for (int v = 0; v < 4; v++) acc[u][v] += ta[y + 16 * u][k] * tb[k][x + 16 * v];
      }
    }
    barrier();
  }
  for (int u = 0; u < 4; u++) {
    for (int v = 0; v < 4; v++) c[(r0 + y + 16 * u) * n + c0 + x + 16 * v] = acc[u][v];
  }
}

kernel WG(32, 8, 1) void transpose(GC(float) a, G(float) b, I h, I w) {
  local float tile[32][33];
  I x = LID(0), y = LID(1), x0 = GROUP(0) * 32, y0 = GROUP(1) * 32;
  for (I k = y; k < 32; k += 8) {
    if (y0 + k < h && x0 + x < w) tile[k][x] = a[(y0 + k) * w + x0 + x];
  }
  barrier();
  for (I k = y; k < 32; k += 8) {
    if (x0 + k < w && y0 + x < h) b[(x0 + k) * h + y0 + x] = tile[x][k];
  }
}

kernel WG(64, 1, 1) void spmv(GC(int) starts, GC(int) columns, GC(float) values, GC(float) x,
                              G(float) y, I n) {
  I i = GID(0);
  if (i >= n) return;
  float sum = 0;
  for (I k = starts[i]; k < (I)starts[i + 1]; k++) sum += values[k] * x[columns[k]];
  y[i] = sum;
}

kernel WG(64, 1, 1) void ell(GC(int) columns, GC(float) values, GC(float) x, G(float) y, I n,
                             I width) {
  I i = GID(0);
  if (i >= n) return;
  float sum = 0;
  for (I k = 0; k < width; k++) {
    int c = columns[k * n + i];
    if (c > 0) sum += values[k * n + i] * x[c - 1];
  }
  y[i] = sum;
}

kernel WG(16, 16, 1) void floyd(G(int) d, I n, I k) {
  I j = GID(0), i = GID(1);
  if (i >= n || j >= n) return;
  int through = d[i * n + k] + d[k * n + j];
  if (through < d[i * n + j]) d[i * n + j] = through;
}

// Together

kernel WG(256, 1, 1) void reduce(GC(float) x, G(float) sums, I n) {
  local float part[256];
  I item = LID(0);
  float sum = 0;
  for (I i = GID(0); i < n; i += GSIZE(0)) sum += x[i];
  part[item] = sum;
  for (I width = 128; width > 0; width /= 2) {
    barrier();
    if (item < width) part[item] += part[item + width];
  }
  if (item == 0) sums[GROUP(0)] = part[0];
}

kernel WG(256, 1, 1) void scan(GC(float) x, G(float) y, I n) {
  local float part[2][256];
  I item = LID(0), i = GID(0);
  int src = 0;
  part[0][item] = i < n ? x[i] : 0.0f;
  barrier();
  for (I d = 1; d < 256; d *= 2) {
    float v = part[src][item];
    if (item >= d) v += part[src][item - d];
    src = 1 - src;
    part[src][item] = v;
    barrier();
  }
  if (i < n) y[i] = part[src][item];
}

kernel WG(128, 1, 1) void softmax(GC(float) x, G(float) y, I n) {
  local float part[128];
  I item = LID(0), row = GROUP(0);
  float most = -1e30f;
  for (I k = item; k < n; k += 128) {
    float v = x[row * n + k];
    most = most < v ? v : most;
  }
  part[item] = most;
  for (I width = 64; width > 0; width /= 2) {
    barrier();
    if (item < width) {
      float v = part[item + width];
      part[item] = part[item] < v ? v : part[item];
    }
  }
  barrier();
  most = part[0];
  barrier();
  float sum = 0;
  for (I k = item; k < n; k += 128) sum += __builtin_expf(x[row * n + k] - most);
  part[item] = sum;
  for (I width = 64; width > 0; width /= 2) {
    barrier();
    if (item < width) part[item] += part[item + width];
  }
  barrier();
  sum = part[0];
  for (I k = item; k < n; k += 128) y[row * n + k] = __builtin_expf(x[row * n + k] - most) / sum;
}

kernel WG(256, 1, 1) void histogram(GC(uchar) data, G(int) counts, I n) {
  local int mine[256];
  I item = LID(0);
  mine[item] = 0;
  barrier();
  for (I i = GID(0); i < n; i += GSIZE(0)) ADD(&mine[data[i]], 1, __MEMORY_SCOPE_WRKGRP);
  barrier();
  ADD(&counts[item], mine[item], __MEMORY_SCOPE_DEVICE);
}

kernel WG(128, 1, 1) void nbody(GC(float) p, G(float) a, I n) {
  local float tile[128][3];
  I item = LID(0), i = GID(0);
  float x = p[i * 3], y = p[i * 3 + 1], z = p[i * 3 + 2], ax = 0, ay = 0, az = 0;
  for (I first = 0; first < n; first += 128) {
    for (int c = 0; c < 3; c++) tile[item][c] = p[(first + item) * 3 + c];
    barrier();
    for (int j = 0; j < 128; j++) {
      float dx = tile[j][0] - x, dy = tile[j][1] - y, dz = tile[j][2] - z;
      float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
      float w = 1.0f / (r2 * __builtin_sqrtf(r2));
      ax += w * dx;
      ay += w * dy;
      az += w * dz;
    }
    barrier();
  }
  a[i * 3] = ax;
  a[i * 3 + 1] = ay;
  a[i * 3 + 2] = az;
}

// Transforms, sorting, hashing

kernel WG(64, 1, 1) void fft(GC(float) re, GC(float) im, GC(float) cosines, GC(float) sines,
                             G(float) out_re, G(float) out_im, I n, I p) {
  I i = GID(0), half_n = n / 2;
  if (i >= half_n) return;
  I k = i & (p - 1);
  float c = cosines[k], s = sines[k];
  float ar = re[i], ai = im[i], br = re[i + half_n], bi = im[i + half_n];
  float tr = br * c - bi * s, ti = br * s + bi * c;
  I j = (i << 1) - k;
  out_re[j] = ar + tr;
  out_im[j] = ai + ti;
  out_re[j + p] = ar - tr;
  out_im[j + p] = ai - ti;
}

kernel WG(128, 1, 1) void bitonic(G(int) data, I n, I j, I k) {
  I i = GID(0), other = i ^ j;
  if (i < n && other > i) {
    int a = data[i], b = data[other];
    if (((i & k) == 0) == (a > b)) {
      data[i] = b;
      data[other] = a;
    }
  }
}

kernel WG(128, 1, 1) void fnv(GC(uchar) text, G(uint) hashes, I n, I m) {
  I i = GID(0);
  if (i >= n) return;
  uint h = 2166136261u;
  for (I k = 0; k < m; k++) h = (h ^ text[i * m + k]) * 16777619u;
  hashes[i] = h;
}

#define ROTATE(x, n) ((x) >> (n) | (x) << (32 - (n)))

kernel WG(64, 1, 1) void sha256(GC(uint) blocks, GC(uint) rounds, G(uint) digests, I n) {
  I i = GID(0);
  if (i >= n) return;
  uint w[64];
  for (int t = 0; t < 16; t++) w[t] = blocks[i * 16 + t];
  for (int t = 16; t < 64; t++) {
    uint x = w[t - 15], y = w[t - 2];
    w[t] = w[t - 16] + (ROTATE(x, 7) ^ ROTATE(x, 18) ^ (x >> 3)) + w[t - 7] +
           (ROTATE(y, 17) ^ ROTATE(y, 19) ^ (y >> 10));
  }
  uint a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
  uint e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
  for (int t = 0; t < 64; t++) {
    uint t1 = h + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + ((e & f) ^ (~e & g)) +
              rounds[t] + w[t];
    uint t2 = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  global uint *out = digests + i * 8;
  out[0] = 0x6a09e667 + a, out[1] = 0xbb67ae85 + b, out[2] = 0x3c6ef372 + c;
  out[3] = 0xa54ff53a + d, out[4] = 0x510e527f + e, out[5] = 0x9b05688c + f;
  out[6] = 0x1f83d9ab + g, out[7] = 0x5be0cd19 + h;
}

kernel WG(16, 16, 1) void mandelbrot(G(uchar) image, I h, I w, I limit) {
  I column = GID(0), row = GID(1);
  if (row >= h || column >= w) return;
  float cx = (float)column * 3.0f / (float)w - 2.25f, cy = (float)row * 2.0f / (float)h - 1.0f;
  float x = 0, y = 0;
  I steps = 0;
  while (steps < limit && x * x + y * y <= 4.0f) {
    float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
    steps++;
  }
  image[row * w + column] = (uchar)steps;
}

// Indices out of memory, out of searches and out of floats

kernel WG(64, 1, 1) void gather_twice(GC(int) starts, GC(int) columns, GC(int) order,
                                      GC(float) values, GC(float) x, G(float) y, I n) {
  I i = GID(0);
  if (i >= n) return;
  float sum = 0.0f;
  for (I k = starts[i]; k < (I)starts[i + 1]; k++) {
    sum += values[k] * x[(I)order[(I)columns[k]]];
  }
  y[i] = sum;
}

kernel WG(32, 8, 1) void blur(GC(float) src, GC(float) weights, G(float) dst, I h, I w) {
  int x = GID(0), y = GID(1);
  if (x >= (int)w || y >= (int)h) return;
  float sum = 0.0f;
  for (int d = -3; d <= 3; d++) {
    int at = x + d < 0 ? 0 : x + d;
    at = at > (int)w - 1 ? (int)w - 1 : at;
    sum += weights[d + 3] * src[(I)y * w + (I)at];
  }
  dst[(I)y * w + (I)x] = sum;
}

kernel WG(128, 1, 1) void nearest(GC(float) points, GC(float) queries, G(int) found, I n, I m) {
  I i = GID(0);
  if (i >= n) return;
  float x = queries[2 * i], y = queries[2 * i + 1], best = 1e30f;
  I at = 0;
  for (I j = 0; j < m; j++) {
    float dx = points[2 * j] - x, dy = points[2 * j + 1] - y, d = dx * dx + dy * dy;
    if (d < best) {
      best = d;
      at = j + 1;
    }
  }
  found[i] = at;
}

kernel WG(64, 1, 1) void triangular(GC(int) starts, GC(int) columns, GC(float) values, G(float) b,
                                    GC(int) rows_of_level, GC(float) x, I first, I last) {
  I at = first - 1 + GID(0);
  if (at >= last) return;
  I i = rows_of_level[at];
  float sum = b[i], diagonal = 1.0f;
  for (I k = starts[i]; k < (I)starts[i + 1]; k++) {
    I c = columns[k];
    if (c == i) {
      diagonal = values[k];
    } else {
      sum -= values[k] * x[c];
    }
  }
  b[i] = sum / diagonal;
}

kernel WG(64, 1, 1) void hash_words(GC(uchar) text, GC(int) offsets, G(uint) hashes, I n) {
  I i = GID(0);
  if (i >= n) return;
  uint h = 5381;
  for (I k = offsets[i]; k < (I)offsets[i + 1]; k++) h = h * 33 ^ text[k];
  hashes[i] = h;
}

kernel WG(64, 1, 1) void segment_sums(GC(int) offsets, GC(float) x, G(float) y, I n) {
  I i = GID(0);
  if (i + 1 >= n) return;
  float sum = 0.0f;
  for (I k = offsets[i]; k < (I)offsets[i + 1]; k++) {
    sum += x[k];
    y[k] = sum;
  }
}

kernel WG(32, 8, 1) void advect(GC(float) u, GC(float) v, GC(float) q, G(float) out, I h, I w) {
  I x = GID(0), y = GID(1);
  if (x >= w || y >= h) return;
  float px = __builtin_fmaxf(1.0f, __builtin_fminf(x + 1 - 1.5f * u[y * w + x], w - 1.0f));
  float py = __builtin_fmaxf(1.0f, __builtin_fminf(y + 1 - 1.5f * v[y * w + x], h - 1.0f));
  int fx = (int)__builtin_floorf(px), fy = (int)__builtin_floorf(py);
  float ax = px - fx, ay = py - fy;
  I x0 = fx - 1, y0 = fy - 1;
  GC(float) a = q + y0 * w + x0;
  float top = a[0] + ax * (a[1] - a[0]), bottom = a[w] + ax * (a[w + 1] - a[w]);
  out[y * w + x] = top + ay * (bottom - top);
}

kernel WG(128, 1, 1) void interpolate(GC(float) knots, GC(float) values, GC(float) at,
                                      G(float) out, I m, I n) {
  I i = GID(0);
  if (i >= n) return;
  float t = at[i];
  I low = 0, high = m - 1;
  while (high - low > 1) {
    I mid = (low + high) / 2;
    if (knots[mid] <= t) {
      low = mid;
    } else {
      high = mid;
    }
  }
  float f = (t - knots[low]) / (knots[low + 1] - knots[low]);
  out[i] = values[low] + f * (values[low + 1] - values[low]);
}

kernel WG(64, 1, 1) void unpack_bits(GC(uint) words, G(uint) out, I n, I width) {
  I i = GID(0);
  if (i >= n) return;
  I at = i * width, word = at / 32;
  uint shift = at % 32;
  uint v = words[word] >> shift;
  if (shift + width > 32) v |= words[word + 1] << (32 - shift);
  out[i] = v & ((1u << width) - 1);
}

kernel WG(64, 1, 1) void varint(GC(uchar) bytes, GC(int) offsets, G(int) out, I n) {
  I i = GID(0);
  if (i >= n) return;
  I at = offsets[i];
  int shift = 0, value = 0, byte = bytes[at];
  while (byte >= 128) {
    value |= (byte & 127) << shift;
    shift += 7;
    byte = bytes[++at];
  }
  out[i] = value | byte << shift;
}

kernel WG(64, 1, 1) void huffman(GC(uint) bits, GC(int) starts, GC(int) counts, GC(int) left,
                                 GC(int) right, GC(uchar) symbol, G(uchar) out, I n, I per) {
  I i = GID(0);
  if (i >= n) return;
  I at = starts[i], first = i * per, count = counts[i];
  for (I k = 0; k < count; k++) {
    I node = 1;
    while (left[node - 1] != 0) {
      uint bit = bits[at / 32] >> (at % 32) & 1;
      node = bit == 0 ? left[node - 1] : right[node - 1];
      at++;
    }
    out[first + k] = symbol[node - 1];
  }
}

kernel WG(64, 1, 1) void kmp(GC(uchar) text, GC(uchar) pattern, GC(int) failure, G(int) counts,
                             I n, I m, I count, I per) {
  I i = GID(0), first = i * per;
  if (i >= count) return;
  I j = 0, end = first + per + m - 1 < n ? first + per + m - 1 : n;
  int found = 0;
  for (I k = first; k < end; k++) {
    uchar c = text[k];
    while (j > 0 && pattern[j] != c) j = failure[j - 1];
    if (pattern[j] == c) j++;
    if (j == m) {
      found++;
      j = failure[j - 1];
    }
  }
  counts[i] = found;
}
