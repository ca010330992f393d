-- The kernels of bench/amdgpu.lua in Lua, and how each is launched.  kernels.cl has the same ones.
--
-- A row: `make(options)` gives the kernel; `arrays` are its array arguments, in order, each
-- {dtype, shape, values}, values "none", "float", "integer" with a bound, or another word that
-- inputs.lua knows; `scalars` follow them; `peer` are the integers that the function of OpenCL C
-- takes after the arrays, where Lua's kernel asks the arrays; `first` are scalars in front; both
-- must agree on array `result`.
local roc = require "roc"

local W, H = 160, 96 -- of images
local N = 20000      -- of vectors

local function random(bound) return { "integer", bound } end

local function kernel(name, fn, promise)
  return function(check)
    return roc.kernel(fn, { name = name, check = check, number = "float32", workgroup = promise })
  end
end

local rows = {}

local function add(name, promise, fn, row)
  row.name, row.make, row.workgroup = name, kernel(name, fn, promise), promise
  rows[#rows + 1] = row
end

-- Vectors ----------------------------------------------------------------------------------------

add("axpy", { 256 }, function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = a * x[i] + y[i] end
end, { grid = { N }, first = { 2.5 }, arrays = { { "float32", N, "float" },
  { "float32", N, "float" } },
  result = 2, peer = { N } })

add("grid_stride", { 256 }, function(x, y)
  for i = roc.get_global_id(1), #y, roc.get_global_size(1) do y[i] = x[i] * x[i] + 1.0 end
end, { grid = { 2048 }, arrays = { { "float32", N, "float" }, { "float32", N, "none" } },
  result = 2,
  peer = { N } })

add("black_scholes", { 128 }, function(price, strike, years, call)
  local i = roc.get_global_id(1)
  if i > #call then return end
  local s, k, t = price[i] * 50.0 + 50.0, strike[i] * 50.0 + 50.0, years[i] + 0.25
  local root = math.sqrt(t)
  local d1 = (math.log(s / k) + (0.02 + 0.5 * 0.3 * 0.3) * t) / (0.3 * root)
  local d2 = d1 - 0.3 * root
  local k1, k2 = 1.0 / (1.0 + 0.2316419 * math.abs(d1)), 1.0 / (1.0 + 0.2316419 * math.abs(d2))
  local n1 = 0.39894228 * math.exp(-0.5 * d1 * d1) * k1 * (0.31938153 + k1 * (-0.356563782
    + k1 * (1.781477937 + k1 * (-1.821255978 + k1 * 1.330274429))))
  local n2 = 0.39894228 * math.exp(-0.5 * d2 * d2) * k2 * (0.31938153 + k2 * (-0.356563782
    + k2 * (1.781477937 + k2 * (-1.821255978 + k2 * 1.330274429))))
  if d1 > 0.0 then n1 = 1.0 - n1 end
  if d2 > 0.0 then n2 = 1.0 - n2 end
  call[i] = s * n1 - k * math.exp(-0.02 * t) * n2
end, { grid = { N }, arrays = { { "float32", N, "float" }, { "float32", N, "float" },
  { "float32", N, "float" }, { "float32", N, "none" } }, result = 4, peer = { N } })

add("binary_search", { 128 }, function(sorted, keys, places)
  local i = roc.get_global_id(1)
  if i <= #places then
    local key, low, high = keys[i], 1, #sorted + 1
    while low < high do
      local mid = (low + high) // 2
      if sorted[mid] < key then low = mid + 1 else high = mid end
    end
    places[i] = low
  end
end, { grid = { 4096 }, arrays = { { "int32", 1000, "sorted" }, { "int32", 4096, random(3000) },
  { "int32", 4096, "none" } }, result = 3, peer = { 1000, 4096 } })

add("collatz", { 64 }, function(steps)
  local i = roc.get_global_id(1)
  if i > #steps then return end
  local n, count = i, 0
  while n ~= 1 do
    if n % 2 == 0 then n = n // 2 else n = 3 * n + 1 end
    count = count + 1
  end
  steps[i] = count
end, { grid = { 2000 }, arrays = { { "int32", 2000, "none" } }, result = 1, peer = { 2000 } })

add("pi", { 128 }, function(seeds, hits, rounds)
  local i = roc.get_global_id(1)
  if i <= #hits then
    local s, n = seeds[i], 0
    for _ = 1, rounds do
      s = (s ~ (s << 13)) & 0xffffffff
      s = s ~ (s >> 17)
      s = (s ~ (s << 5)) & 0xffffffff
      local x = (s & 0xffff) / 65536.0
      local y = (s >> 16) / 65536.0
      if x * x + y * y <= 1.0 then n = n + 1 end
    end
    hits[i] = n
  end
end, { grid = { 2048 }, arrays = { { "uint32", 2048, random(2147483647) },
  { "int32", 2048, "none" } },
  scalars = { 40 }, result = 2, peer = { 2048, 40 } })

-- Stencils and images ----------------------------------------------------------------------------

add("stencil5", { 32, 8 }, function(u, v)
  local x, y = roc.grid(2)
  if y > 1 and y < u.shape[1] and x > 1 and x < u.shape[2] then
    v[y][x] = 0.2 * (u[y][x] + u[y - 1][x] + u[y + 1][x] + u[y][x - 1] + u[y][x + 1])
  end
end, { grid = { W, H }, arrays = { { "float32", { H, W }, "float" },
  { "float32", { H, W }, "zero" } },
  result = 2, peer = { H, W } })

add("stencil7", { 16, 4, 4 }, function(u, v)
  local x, y, z = roc.grid(3)
  local nz, ny, nx = u.shape[1], u.shape[2], u.shape[3]
  if x > 1 and x < nx and y > 1 and y < ny and z > 1 and z < nz then
    v[z][y][x] = 0.4 * u[z][y][x] + 0.1 * (u[z][y][x - 1] + u[z][y][x + 1] + u[z][y - 1][x]
      + u[z][y + 1][x] + u[z - 1][y][x] + u[z + 1][y][x])
  end
end, { grid = { 48, 24, 16 }, arrays = { { "float32", { 16, 24, 48 }, "float" },
  { "float32", { 16, 24, 48 }, "zero" } }, result = 2, peer = { 16, 24, 48 } })

add("periodic", { 32, 8 }, function(u, v)
  local x, y = roc.grid(2)
  local ny, nx = u.shape[1], u.shape[2]
  if x <= nx and y <= ny then
    local xm, xp, ym, yp = x - 1, x + 1, y - 1, y + 1
    if xm < 1 then xm = nx end
    if xp > nx then xp = 1 end
    if ym < 1 then ym = ny end
    if yp > ny then yp = 1 end
    v[y][x] = u[y][x] + 0.1 * (u[ym][x] + u[yp][x] + u[y][xm] + u[y][xp] - 4.0 * u[y][x])
  end
end, { grid = { W, H }, arrays = { { "float32", { H, W }, "float" },
  { "float32", { H, W }, "none" } },
  result = 2, peer = { H, W } })

add("heat_tiled", { 16, 16 }, function(u, v)
  local tile = roc.shared.array({ 18, 18 }, "float32")
  local lx, ly = roc.get_local_id(1), roc.get_local_id(2)
  local x, y = roc.grid(2)
  local ny, nx = u.shape[1], u.shape[2]
  if x <= nx and y <= ny then
    tile[ly + 1][lx + 1] = u[y][x]
    if lx == 1 and x > 1 then tile[ly + 1][1] = u[y][x - 1] end
    if lx == 16 and x < nx then tile[ly + 1][18] = u[y][x + 1] end
    if ly == 1 and y > 1 then tile[1][lx + 1] = u[y - 1][x] end
    if ly == 16 and y < ny then tile[18][lx + 1] = u[y + 1][x] end
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if x > 1 and x < nx and y > 1 and y < ny then
    v[y][x] = tile[ly + 1][lx + 1] + 0.1 * (tile[ly][lx + 1] + tile[ly + 2][lx + 1]
      + tile[ly + 1][lx] + tile[ly + 1][lx + 2] - 4.0 * tile[ly + 1][lx + 1])
  end
end, { grid = { W, H }, arrays = { { "float32", { H, W }, "float" },
  { "float32", { H, W }, "zero" } },
  result = 2, peer = { H, W } })

add("life", { 32, 8 }, function(old, new)
  local x, y = roc.grid(2)
  local h, w = old.shape[1], old.shape[2]
  if x > w or y > h then return end
  local n = 0
  for dy = -1, 1 do
    for dx = -1, 1 do
      local yy, xx = (y - 1 + dy + h) % h + 1, (x - 1 + dx + w) % w + 1
      n = n + old[yy][xx]
    end
  end
  n = n - old[y][x]
  if n == 3 or (n == 2 and old[y][x] == 1) then new[y][x] = 1 else new[y][x] = 0 end
end, { grid = { W, H }, arrays = { { "uint8", { H, W }, random(2) },
  { "uint8", { H, W }, "none" } },
  result = 2, peer = { H, W } })

add("conv_u8", { 32, 8 }, function(src, weights, dst)
  local x, y = roc.grid(2)
  if y > 2 and y <= src.shape[1] - 2 and x > 2 and x <= src.shape[2] - 2 then
    local sum = 0
    for dy = 1, 5 do
      for dx = 1, 5 do sum = sum + src[y + dy - 3][x + dx - 3] * weights[dy][dx] end
    end
    dst[y][x] = sum >> 8
  end
end, { grid = { W, H }, arrays = { { "uint8", { H, W }, random(256) },
  { "int32", { 5, 5 }, random(10) },
  { "uint8", { H, W }, "zero" } }, result = 3, peer = { H, W } })

add("gray", { 256 }, function(rgb, gray)
  local i = roc.get_global_id(1)
  if i <= #gray then
    gray[i] = (77 * rgb[i][1] + 150 * rgb[i][2] + 29 * rgb[i][3]) >> 8
  end
end, { grid = { N }, arrays = { { "uint8", { N, 3 }, random(256) }, { "uint8", N, "none" } },
  result = 2, peer = { N } })

add("sobel", { 32, 8 }, function(src, dst)
  local x, y = roc.grid(2)
  if y > 1 and y < src.shape[1] and x > 1 and x < src.shape[2] then
    local gx = src[y - 1][x + 1] + 2.0 * src[y][x + 1] + src[y + 1][x + 1]
      - src[y - 1][x - 1] - 2.0 * src[y][x - 1] - src[y + 1][x - 1]
    local gy = src[y + 1][x - 1] + 2.0 * src[y + 1][x] + src[y + 1][x + 1]
      - src[y - 1][x - 1] - 2.0 * src[y - 1][x] - src[y - 1][x + 1]
    dst[y][x] = math.sqrt(gx * gx + gy * gy)
  end
end, { grid = { W, H }, arrays = { { "float32", { H, W }, "float" },
  { "float32", { H, W }, "zero" } },
  result = 2, peer = { H, W } })

add("bilinear", { 32, 8 }, function(src, dst)
  local x, y = roc.grid(2)
  local h, w = dst.shape[1], dst.shape[2]
  if x <= w and y <= h then
    local fx, fy = (x - 1) * 0.499, (y - 1) * 0.499
    local x0, y0 = math.floor(fx), math.floor(fy)
    local ax, ay = fx - x0, fy - y0
    local x1, y1 = math.min(x0 + 2, src.shape[2]), math.min(y0 + 2, src.shape[1])
    x0, y0 = math.min(x0 + 1, src.shape[2]), math.min(y0 + 1, src.shape[1])
    local top = src[y0][x0] * (1.0 - ax) + src[y0][x1] * ax
    local bottom = src[y1][x0] * (1.0 - ax) + src[y1][x1] * ax
    dst[y][x] = top * (1.0 - ay) + bottom * ay
  end
end, { grid = { W, H }, arrays = { { "float32", { H // 2, W // 2 }, "float" },
  { "float32", { H, W }, "none" } }, result = 2, peer = { H, W, H // 2, W // 2 } })

add("lbm", { 64 }, function(src, dst, nx, ny)
  local i = roc.get_global_id(1)
  if i > nx * ny then return end
  local x, y = (i - 1) % nx + 1, (i - 1) // nx + 1
  local xm, xp, ym, yp = x - 1, x + 1, y - 1, y + 1
  if xm < 1 then xm = nx end
  if xp > nx then xp = 1 end
  if ym < 1 then ym = ny end
  if yp > ny then yp = 1 end
  local f0, f1, f2 = src[1][y][x], src[2][y][xm], src[3][ym][x]
  local f3, f4, f5 = src[4][y][xp], src[5][yp][x], src[6][ym][xm]
  local f6, f7, f8 = src[7][ym][xp], src[8][yp][xp], src[9][yp][xm]
  local rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8
  local ux = (f1 + f5 + f8 - f3 - f6 - f7) / rho
  local uy = (f2 + f5 + f6 - f4 - f7 - f8) / rho
  local usq = 1.0 - 1.5 * (ux * ux + uy * uy)
  local omega, r1, r2 = 1.2, rho / 9.0, rho / 36.0
  local p, m = ux + uy, ux - uy
  dst[1][y][x] = f0 + omega * (rho * (4.0 / 9.0) * usq - f0)
  dst[2][y][x] = f1 + omega * (r1 * (usq + 3.0 * ux + 4.5 * ux * ux) - f1)
  dst[3][y][x] = f2 + omega * (r1 * (usq + 3.0 * uy + 4.5 * uy * uy) - f2)
  dst[4][y][x] = f3 + omega * (r1 * (usq - 3.0 * ux + 4.5 * ux * ux) - f3)
  dst[5][y][x] = f4 + omega * (r1 * (usq - 3.0 * uy + 4.5 * uy * uy) - f4)
  dst[6][y][x] = f5 + omega * (r2 * (usq + 3.0 * p + 4.5 * p * p) - f5)
  dst[7][y][x] = f6 + omega * (r2 * (usq - 3.0 * m + 4.5 * m * m) - f6)
  dst[8][y][x] = f7 + omega * (r2 * (usq - 3.0 * p + 4.5 * p * p) - f7)
  dst[9][y][x] = f8 + omega * (r2 * (usq + 3.0 * m + 4.5 * m * m) - f8)
end, { grid = { 64 * 48 }, arrays = { { "float32", { 9, 48, 64 }, "float" },
  { "float32", { 9, 48, 64 }, "none" } }, scalars = { 64, 48 }, result = 2, peer = { 64, 48 } })

-- Linear algebra ---------------------------------------------------------------------------------

add("gemv", { 64 }, function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then
    local sum = 0.0
    for k = 1, #x do sum = sum + a[i][k] * x[k] end
    y[i] = sum
  end
end, { grid = { 256 }, arrays = { { "float32", { 256, 100 }, "float" }, { "float32", 100, "float" },
  { "float32", 256, "none" } }, result = 3, peer = { 256, 100 } })

add("gemm", { 16, 16 }, function(a, b, c)
  local j, i = roc.grid(2)
  if i <= c.shape[1] and j <= c.shape[2] then
    local sum = 0.0
    for k = 1, a.shape[2] do sum = sum + a[i][k] * b[k][j] end
    c[i][j] = sum
  end
end, { grid = { 64, 64 }, arrays = { { "float32", { 64, 100 }, "float" },
  { "float32", { 100, 64 }, "float" }, { "float32", { 64, 64 }, "none" } }, result = 3,
  peer = { 64, 64, 100 } })

add("gemm_tiled", { 16, 16 }, function(a, b, c)
  local ta = roc.shared.array({ 16, 16 }, "float32")
  local tb = roc.shared.array({ 16, 16 }, "float32")
  local x, y = roc.get_local_id(1), roc.get_local_id(2)
  local j, i = roc.grid(2)
  local sum = 0.0
  for k0 = 1, a.shape[2], 16 do
    ta[y][x] = a[i][k0 + x - 1]
    tb[y][x] = b[k0 + y - 1][j]
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    for k = 1, 16 do sum = sum + ta[y][k] * tb[k][x] end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  end
  c[i][j] = sum
end, { grid = { 64, 64 }, arrays = { { "float32", { 64, 96 }, "float" },
  { "float32", { 96, 64 }, "float" }, { "float32", { 64, 64 }, "none" } }, result = 3,
  peer = { 64, 64, 96 } })

add("gemm4x4", { 16, 16 }, function(a, b, c)
  local ta = roc.shared.array({ 64, 16 }, "float32")
  local tb = roc.shared.array({ 16, 64 }, "float32")
  local acc = roc.private.array({ 4, 4 }, "float32")
  local x, y = roc.get_local_id(1), roc.get_local_id(2)
  local r0, c0 = (roc.get_group_id(2) - 1) * 64, (roc.get_group_id(1) - 1) * 64
  for u = 1, 4 do
    for v = 1, 4 do acc[u][v] = 0.0 end
  end
  for k0 = 0, a.shape[2] - 1, 16 do
    for u = 0, 3 do
      ta[y + 16 * u][x] = a[r0 + y + 16 * u][k0 + x]
      tb[y][x + 16 * u] = b[k0 + y][c0 + x + 16 * u]
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    for k = 1, 16 do
      for u = 1, 4 do
        for v = 1, 4 do
          acc[u][v] = acc[u][v] + ta[y + 16 * (u - 1)][k] * tb[k][x + 16 * (v - 1)]
        end
      end
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  end
  for u = 1, 4 do
    for v = 1, 4 do c[r0 + y + 16 * (u - 1)][c0 + x + 16 * (v - 1)] = acc[u][v] end
  end
end, { grid = { 32, 32 }, arrays = { { "float32", { 128, 64 }, "float" },
  { "float32", { 64, 128 }, "float" }, { "float32", { 128, 128 }, "none" } }, result = 3,
  peer = { 128, 128, 64 } })

add("transpose", { 32, 8 }, function(a, b)
  local tile = roc.shared.array({ 32, 33 }, "float32")
  local x, y = roc.get_local_id(1), roc.get_local_id(2)
  local x0, y0 = (roc.get_group_id(1) - 1) * 32, (roc.get_group_id(2) - 1) * 32
  for k = y, 32, 8 do
    if y0 + k <= a.shape[1] and x0 + x <= a.shape[2] then tile[k][x] = a[y0 + k][x0 + x] end
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  for k = y, 32, 8 do
    if x0 + k <= b.shape[1] and y0 + x <= b.shape[2] then b[x0 + k][y0 + x] = tile[x][k] end
  end
end, { grid = { W, H // 4 }, arrays = { { "float32", { H, W }, "float" },
  { "float32", { W, H }, "none" } }, result = 2, peer = { H, W } })

add("spmv", { 64 }, function(starts, columns, values, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then
    local sum = 0.0
    for k = starts[i] + 1, starts[i + 1] do sum = sum + values[k] * x[columns[k] + 1] end
    y[i] = sum
  end
end, { grid = { 2000 }, arrays = { { "int32", 2001, "steps" }, { "int32", 16000, random(2000) },
  { "float32", 16000, "float" }, { "float32", 2000, "float" }, { "float32", 2000, "none" } },
  result = 5, peer = { 2000 } })

add("ell", { 64 }, function(columns, values, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then
    local sum = 0.0
    for k = 1, columns.shape[1] do
      local c = columns[k][i]
      if c > 0 then sum = sum + values[k][i] * x[c] end
    end
    y[i] = sum
  end
end, { grid = { 2000 }, arrays = { { "int32", { 9, 2000 }, random(2001) },
  { "float32", { 9, 2000 }, "float" }, { "float32", 2000, "float" }, { "float32", 2000, "none" } },
  result = 4, peer = { 2000, 9 } })

add("floyd", { 16, 16 }, function(d, k)
  local j, i = roc.grid(2)
  local n = d.shape[1]
  if i <= n and j <= n then
    local through = d[i][k] + d[k][j]
    if through < d[i][j] then d[i][j] = through end
  end
end, { grid = { 96, 96 }, arrays = { { "int32", { 96, 96 }, random(1000) } }, scalars = { 7 },
  result = 1, peer = { 96, 6 } })

-- Together ---------------------------------------------------------------------------------------

add("reduce", { 256 }, function(x, sums)
  local part = roc.shared.array(256, "float32")
  local item, sum = roc.get_local_id(1), 0.0
  for i = roc.get_global_id(1), #x, roc.get_global_size(1) do sum = sum + x[i] end
  part[item] = sum
  local width = 128
  while width > 0 do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if item <= width then part[item] = part[item] + part[item + width] end
    width = width // 2
  end
  if item == 1 then sums[roc.get_group_id(1)] = part[1] end
end, { grid = { 2048 }, arrays = { { "float32", N, "float" }, { "float32", 8, "none" } },
  result = 2,
  peer = { N } })

add("scan", { 256 }, function(x, y)
  local part = roc.shared.array({ 2, 256 }, "float32")
  local item, i = roc.get_local_id(1), roc.get_global_id(1)
  local src, d = 1, 1
  part[1][item] = 0.0
  if i <= #x then part[1][item] = x[i] end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  while d < 256 do
    local v = part[src][item]
    if item > d then v = v + part[src][item - d] end
    src = 3 - src
    part[src][item] = v
    d = d * 2
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  end
  if i <= #y then y[i] = part[src][item] end
end, { grid = { 4096 }, arrays = { { "float32", 4096, "float" }, { "float32", 4096, "none" } },
  result = 2, peer = { 4096 } })

add("softmax", { 128 }, function(x, y)
  local part = roc.shared.array(128, "float32")
  local item, row = roc.get_local_id(1), roc.get_group_id(1)
  local n, most = x.shape[2], -1e30
  for k = item, n, 128 do most = math.max(most, x[row][k]) end
  part[item] = most
  local width = 64
  while width > 0 do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if item <= width then part[item] = math.max(part[item], part[item + width]) end
    width = width // 2
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  most = part[1]
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  local sum = 0.0
  for k = item, n, 128 do sum = sum + math.exp(x[row][k] - most) end
  part[item] = sum
  width = 64
  while width > 0 do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if item <= width then part[item] = part[item] + part[item + width] end
    width = width // 2
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  sum = part[1]
  for k = item, n, 128 do y[row][k] = math.exp(x[row][k] - most) / sum end
end, { grid = { 128 * 16 }, arrays = { { "float32", { 16, 1000 }, "float" },
  { "float32", { 16, 1000 }, "none" } }, result = 2, peer = { 1000 } })

add("histogram", { 256 }, function(data, counts)
  local mine = roc.shared.array(256, "int32")
  local item = roc.get_local_id(1)
  mine[item] = 0
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  for i = roc.get_global_id(1), #data, roc.get_global_size(1) do
    roc.atomic.add(mine, data[i] + 1, 1)
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  roc.atomic.add(counts, item, mine[item])
end, { grid = { 2048 }, arrays = { { "uint8", N, random(256) },
  { "int32", 256, "zero" } }, result = 2,
  peer = { N } })

add("nbody", { 128 }, function(p, a)
  local tile = roc.shared.array({ 128, 3 }, "float32")
  local item, i = roc.get_local_id(1), roc.get_global_id(1)
  local n = p.shape[1]
  local x, y, z = p[i][1], p[i][2], p[i][3]
  local ax, ay, az = 0.0, 0.0, 0.0
  for first = 0, n - 1, 128 do
    for c = 1, 3 do tile[item][c] = p[first + item][c] end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    for j = 1, 128 do
      local dx, dy, dz = tile[j][1] - x, tile[j][2] - y, tile[j][3] - z
      local r2 = dx * dx + dy * dy + dz * dz + 0.01
      local w = 1.0 / (r2 * math.sqrt(r2))
      ax, ay, az = ax + w * dx, ay + w * dy, az + w * dz
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  end
  a[i][1], a[i][2], a[i][3] = ax, ay, az
end, { grid = { 256 }, arrays = { { "float32", { 256, 3 }, "float" },
  { "float32", { 256, 3 }, "none" } },
  result = 2, peer = { 256 } })

-- Transforms, sorting, hashing -------------------------------------------------------------------

add("fft", { 64 }, function(re, im, cosines, sines, out_re, out_im, p)
  local i = roc.get_global_id(1)
  local half = #re // 2
  if i <= half then
    local k = (i - 1) & (p - 1)
    local c, s = cosines[k + 1], sines[k + 1]
    local ar, ai, br, bi = re[i], im[i], re[i + half], im[i + half]
    local tr, ti = br * c - bi * s, br * s + bi * c
    local j = ((i - 1) << 1) - k
    out_re[j + 1], out_im[j + 1] = ar + tr, ai + ti
    out_re[j + p + 1], out_im[j + p + 1] = ar - tr, ai - ti
  end
end, { grid = { 2048 }, arrays = { { "float32", 4096, "float" }, { "float32", 4096, "float" },
  { "float32", 8, "float" }, { "float32", 8, "float" }, { "float32", 4096, "none" },
  { "float32", 4096, "none" } }, scalars = { 8 }, result = 5, peer = { 4096, 8 } })

add("bitonic", { 128 }, function(data, j, k)
  local i = roc.get_global_id(1) - 1
  local other = i ~ j
  if i < #data and other > i then
    local a, b = data[i + 1], data[other + 1]
    if ((i & k) == 0) == (a > b) then data[i + 1], data[other + 1] = b, a end
  end
end, { grid = { 4096 }, arrays = { { "int32", 4096, random(100000) } }, scalars = { 8, 32 },
  result = 1, peer = { 4096, 8, 32 } })

add("fnv", { 128 }, function(text, hashes)
  local i = roc.get_global_id(1)
  if i <= #hashes then
    local h = 2166136261
    for k = 1, text.shape[2] do h = roc.uint32((h ~ text[i][k]) * 16777619) end
    hashes[i] = h
  end
end, { grid = { 2048 }, arrays = { { "uint8", { 2048, 32 }, random(256) },
  { "uint32", 2048, "none" } },
  result = 2, peer = { 2048, 32 } })

local function rotate(x, n) return ((x >> n) | (x << (32 - n))) & 0xffffffff end

add("sha256", { 64 }, function(blocks, rounds, digests)
  local i = roc.get_global_id(1)
  if i > digests.shape[1] then return end
  local w = roc.private.array(64, "uint32")
  for t = 1, 16 do w[t] = blocks[i][t] end
  for t = 17, 64 do
    local x, y = w[t - 15], w[t - 2]
    local s0 = rotate(x, 7) ~ rotate(x, 18) ~ (x >> 3)
    local s1 = rotate(y, 17) ~ rotate(y, 19) ~ (y >> 10)
    w[t] = (w[t - 16] + s0 + w[t - 7] + s1) & 0xffffffff
  end
  local a, b, c, d = 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a
  local e, f, g, h = 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
  for t = 1, 64 do
    local s1 = rotate(e, 6) ~ rotate(e, 11) ~ rotate(e, 25)
    local ch = (e & f) ~ (~e & g)
    local t1 = (h + s1 + ch + rounds[t] + w[t]) & 0xffffffff
    local s0 = rotate(a, 2) ~ rotate(a, 13) ~ rotate(a, 22)
    local t2 = s0 + ((a & b) ~ (a & c) ~ (b & c))
    h, g, f, e = g, f, e, (d + t1) & 0xffffffff
    d, c, b, a = c, b, a, (t1 + t2) & 0xffffffff
  end
  digests[i][1], digests[i][2] = (0x6a09e667 + a) & 0xffffffff, (0xbb67ae85 + b) & 0xffffffff
  digests[i][3], digests[i][4] = (0x3c6ef372 + c) & 0xffffffff, (0xa54ff53a + d) & 0xffffffff
  digests[i][5], digests[i][6] = (0x510e527f + e) & 0xffffffff, (0x9b05688c + f) & 0xffffffff
  digests[i][7], digests[i][8] = (0x1f83d9ab + g) & 0xffffffff, (0x5be0cd19 + h) & 0xffffffff
end, { grid = { 512 }, arrays = { { "uint32", { 512, 16 }, random(2147483647) },
  { "uint32", 64, random(2147483647) }, { "uint32", { 512, 8 }, "none" } }, result = 3,
  peer = { 512 } })

add("mandelbrot", { 16, 16 }, function(image, limit)
  local column, row = roc.grid(2)
  local h, w = image.shape[1], image.shape[2]
  if row <= h and column <= w then
    local cx, cy = (column - 1) * 3.0 / w - 2.25, (row - 1) * 2.0 / h - 1.0
    local x, y, steps = 0.0, 0.0, 0
    while steps < limit and x * x + y * y <= 4.0 do
      x, y = x * x - y * y + cx, 2.0 * x * y + cy
      steps = steps + 1
    end
    image[row][column] = steps
  end
end, { grid = { 96, 64 }, arrays = { { "uint8", { 64, 96 }, "none" } }, scalars = { 60 },
  result = 1,
  peer = { 64, 96, 60 } })

-- Indices out of memory, out of searches and out of floats ---------------------------------------

add("gather_twice", { 64 }, function(starts, columns, order, values, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then
    local sum = 0.0
    for k = starts[i] + 1, starts[i + 1] do
      sum = sum + values[k] * x[order[columns[k] + 1] + 1]
    end
    y[i] = sum
  end
end, { grid = { 2000 }, arrays = { { "int32", 2001, "steps" }, { "int32", 16000, random(500) },
  { "int32", 500, random(2000) }, { "float32", 16000, "float" }, { "float32", 2000, "float" },
  { "float32", 2000, "none" } }, result = 6, peer = { 2000 } })

add("blur", { 32, 8 }, function(src, weights, dst)
  local x, y = roc.grid(2)
  local h, w = dst.shape[1], dst.shape[2]
  if x <= w and y <= h then
    local sum = 0.0
    for d = -3, 3 do
      local at = math.min(math.max(x + d, 1), w)
      sum = sum + weights[d + 4] * src[y][at]
    end
    dst[y][x] = sum
  end
end, { grid = { W, H }, arrays = { { "float32", { H, W }, "float" }, { "float32", 7, "float" },
  { "float32", { H, W }, "none" } }, result = 3, peer = { H, W } })

add("nearest", { 128 }, function(points, queries, found)
  local i = roc.get_global_id(1)
  if i > #found then return end
  local x, y = queries[i][1], queries[i][2]
  local best, at = 1e30, 0
  for j = 1, points.shape[1] do
    local dx, dy = points[j][1] - x, points[j][2] - y
    local d = dx * dx + dy * dy
    if d < best then best, at = d, j end
  end
  found[i] = at
end, { grid = { 1024 }, arrays = { { "float32", { 60, 2 }, "float" },
  { "float32", { 1024, 2 }, "float" }, { "int32", 1024, "none" } }, result = 3,
  peer = { 1024, 60 } })

add("triangular", { 64 }, function(starts, columns, values, b, rows_of_level, x, first, last)
  local at = first + roc.get_global_id(1) - 1
  if at <= last then
    local i = rows_of_level[at] + 1
    local sum, diagonal = b[i], 1.0
    for k = starts[i] + 1, starts[i + 1] do
      local c = columns[k] + 1
      if c == i then diagonal = values[k] else sum = sum - values[k] * x[c] end
    end
    b[i] = sum / diagonal
  end
end, { grid = { 900 }, arrays = { { "int32", 2001, "steps" }, { "int32", 16000, random(2000) },
  { "float32", 16000, "float" }, { "float32", 2000, "float" }, { "int32", 2000, "order" },
  { "float32", 2000, "float" } }, scalars = { 101, 1000 }, result = 4, peer = { 101, 1000 } })

add("hash_words", { 64 }, function(text, offsets, hashes)
  local i = roc.get_global_id(1)
  if i <= #hashes then
    local h = 5381
    for k = offsets[i] + 1, offsets[i + 1] do h = (h * 33 ~ text[k]) & 0xffffffff end
    hashes[i] = h
  end
end, { grid = { 2000 }, arrays = { { "uint8", 16000, random(256) }, { "int32", 2001, "steps" },
  { "uint32", 2000, "none" } }, result = 3, peer = { 2000 } })

add("segment_sums", { 64 }, function(offsets, x, y)
  local i = roc.get_global_id(1)
  if i < #offsets then
    local sum = 0.0
    for k = offsets[i] + 1, offsets[i + 1] do
      sum = sum + x[k]
      y[k] = sum
    end
  end
end, { grid = { 2000 }, arrays = { { "int32", 2001, "steps" }, { "float32", 16000, "float" },
  { "float32", 16000, "zero" } }, result = 3, peer = { 2001 } })

add("advect", { 32, 8 }, function(u, v, q, out)
  local x, y = roc.grid(2)
  local h, w = q.shape[1], q.shape[2]
  if x > w or y > h then return end
  local px = math.max(1.0, math.min(x - 1.5 * u[y][x], w - 1.0))
  local py = math.max(1.0, math.min(y - 1.5 * v[y][x], h - 1.0))
  local x0, y0 = math.floor(px), math.floor(py)
  local ax, ay = px - x0, py - y0
  local top = q[y0][x0] + ax * (q[y0][x0 + 1] - q[y0][x0])
  local bottom = q[y0 + 1][x0] + ax * (q[y0 + 1][x0 + 1] - q[y0 + 1][x0])
  out[y][x] = top + ay * (bottom - top)
end, { grid = { W, H }, arrays = { { "float32", { H, W }, "float" },
  { "float32", { H, W }, "float" }, { "float32", { H, W }, "float" },
  { "float32", { H, W }, "none" } }, result = 4, peer = { H, W } })

add("interpolate", { 128 }, function(knots, values, at, out)
  local i = roc.get_global_id(1)
  if i > #out then return end
  local t = at[i]
  local low, high = 1, #knots
  while high - low > 1 do
    local mid = (low + high) // 2
    if knots[mid] <= t then low = mid else high = mid end
  end
  local f = (t - knots[low]) / (knots[low + 1] - knots[low])
  out[i] = values[low] + f * (values[low + 1] - values[low])
end, { grid = { 4096 }, arrays = { { "float32", 300, "rising" }, { "float32", 300, "float" },
  { "float32", 4096, "float" }, { "float32", 4096, "none" } }, result = 4,
  peer = { 300, 4096 } })

add("unpack_bits", { 64 }, function(words, out, width)
  local i = roc.get_global_id(1)
  if i > #out then return end
  local at = (i - 1) * width
  local word, shift = at >> 5, at & 31
  local v = words[word + 1] >> shift
  if shift + width > 32 then v = v | words[word + 2] << (32 - shift) end
  out[i] = v & ((1 << width) - 1)
end, { grid = { 8000 }, arrays = { { "uint32", 2752, random(1 << 32) },
  { "uint32", 8000, "none" } }, scalars = { 11 }, result = 2, peer = { 8000, 11 } })

add("varint", { 64 }, function(bytes, offsets, out)
  local i = roc.get_global_id(1)
  if i > #out then return end
  local at, shift, value = offsets[i] + 1, 0, 0
  local byte = bytes[at]
  while byte >= 128 do
    value = value | (byte & 127) << shift
    shift = shift + 7
    at = at + 1
    byte = bytes[at]
  end
  out[i] = value | byte << shift
end, { grid = { 3000 }, arrays = {
  { "uint8", 9000, function(i, number) return number() % (i % 3 == 0 and 128 or 256) end },
  { "int32", 3000, function(i) return (i - 1) * 3 end }, { "int32", 3000, "none" } },
  result = 3, peer = { 3000 } })

-- A tree of 31 nodes, in which those up to 15 have two below them.
add("huffman", { 64 }, function(bits, starts, counts, left, right, symbol, out, per)
  local i = roc.get_global_id(1)
  if i > #starts then return end
  local at = starts[i]
  local first = (i - 1) * per
  for k = 1, counts[i] do
    local node = 1
    while left[node] ~= 0 do
      local bit = bits[(at >> 5) + 1] >> (at & 31) & 1
      if bit == 0 then node = left[node] else node = right[node] end
      at = at + 1
    end
    out[first + k] = symbol[node]
  end
end, { grid = { 1000 }, arrays = { { "uint32", 4000, random(1 << 32) },
  { "int32", 1000, function(i) return (i - 1) * 100 end },
  { "int32", 1000, function(_, number) return 6 + number() % 3 end },
  { "int32", 31, function(i) return i <= 15 and 2 * i or 0 end },
  { "int32", 31, function(i) return i <= 15 and 2 * i + 1 or 0 end },
  { "uint8", 31, function(i) return i end }, { "uint8", 8000, "none" } }, scalars = { 8 },
  result = 7, peer = { 1000, 8 } })

add("kmp", { 64 }, function(text, pattern, failure, counts, per)
  local i = roc.get_global_id(1)
  local first = (i - 1) * per
  if i > #counts then return end
  local m, j, count = #pattern, 0, 0
  for k = first + 1, math.min(first + per + m - 1, #text) do
    local c = text[k]
    while j > 0 and pattern[j + 1] ~= c do j = failure[j] end
    if pattern[j + 1] == c then j = j + 1 end
    if j == m then
      count = count + 1
      j = failure[j]
    end
  end
  counts[i] = count
end, { grid = { 500 }, arrays = { { "uint8", 8000, random(2) },
  { "uint8", 4, function(i) return i % 2 end },
  { "int32", 4, function(i) return i > 2 and i - 2 or 0 end }, { "int32", 500, "none" } },
  scalars = { 16 }, result = 4, peer = { 8000, 4, 500, 16 } })

return rows
