-- Kernels whose work-items go different ways, against the same loop over items in C, on one thread,
-- with AVX-512 and with AVX2: build/release/bin/roclua bench/divergent.lua [rounds [row …]]
-- Ours (checked; unchecked; unchecked and item by item) and the C programs (gcc's, gcc's without
-- its vectoriser, clang's) run in turn, `rounds` times; of each the least time counts. Ratios over
-- 1: ours, unchecked, is faster. A level that this processor lacks has no times.
--   bench/divergent.lua --row NAME REPEATS CHECK: one row of ours, in seconds
package.path = "bench/?.lua;" .. package.path
local roc = require "roc"
local timing = require "timing"

local CENTRES, FEATURES, SPHERES, TABLE, BODIES, DRAWS = 64, 4, 32, 65536, 1024, 256

local function floats(n) return roc.to_device(roc.random({ n }, "float32")) end

local function integers(n) return roc.to_device(roc.zeros(n, "int32")) end

local function square(k, n, ...)
  local side, args = math.floor(math.sqrt(n)), { ... }
  for i, a in ipairs(args) do
    if a.size == n then args[i] = a:slice(1, 1, side * side):reshape(side, side) end
  end
  return function()
    k:launch({ grid = { side, side }, workgroup = { 64, 4 } }, table.unpack(args))
  end
end

local rows = {
  { name = "mandelbrot", n = 250000, make = function(n, options)
    local k = roc.kernel(function(counts)
      local i, j = roc.grid(2)
      local height, width = counts.shape[1], counts.shape[2]
      if i > width or j > height then return end
      local cr, ci = -2 + 3 * i / width, -1.5 + 3 * j / height
      local zr, zi, k = 0.0, 0.0, 0
      while k < 256 and zr * zr + zi * zi <= 4 do
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        k = k + 1
      end
      counts[j][i] = k
    end, options)
    return square(k, n, integers(n))
  end },
  { name = "collatz", n = 100000, make = function(n, options)
    local k = roc.kernel(function(counts)
      local i = roc.get_global_id(1)
      if i > #counts then return end
      local v, k = i, 0
      while v ~= 1 do
        if v % 2 == 0 then v = v >> 1 else v = 3 * v + 1 end
        k = k + 1
      end
      counts[i] = k
    end, options):forall(n)
    local counts = integers(n)
    return function() k(counts) end
  end },
  { name = "spheres", n = 90000, make = function(n, options)
    local k = roc.kernel(function(o, spheres)
      local i, j = roc.grid(2)
      local height, width = o.shape[1], o.shape[2]
      if i > width or j > height then return end
      local dx, dy = i / width - 0.5, j / height - 0.5
      local dz, best, hit = 1 / math.sqrt(dx * dx + dy * dy + 1), 1e30, 0
      dx, dy = dx * dz, dy * dz
      for s = 1, spheres.shape[1] do
        local px, py, pz, radius = spheres[s][1], spheres[s][2], spheres[s][3], spheres[s][4]
        local b = px * dx + py * dy + pz * dz
        local d = b * b - (px * px + py * py + pz * pz) + radius * radius
        if d > 0 then
          local t = b - math.sqrt(d)
          if t > 0 and t < best then best, hit = t, s end
        end
      end
      local light = 0.0
      if hit > 0 then
        local nx = (dx * best - spheres[hit][1]) / spheres[hit][4]
        local ny = (dy * best - spheres[hit][2]) / spheres[hit][4]
        light = math.max(0.0, -nx * 0.6 - ny * 0.8)
      end
      o[j][i] = light
    end, options)
    local spheres = roc.random({ SPHERES, 4 }, "float32")
    for s = 1, SPHERES do
      spheres[s][1], spheres[s][2] = spheres[s][1] - 0.5, spheres[s][2] - 0.5
      spheres[s][3], spheres[s][4] = 2 + spheres[s][3], 0.05 + 0.1 * spheres[s][4]
    end
    return square(k, n, floats(n), roc.to_device(spheres))
  end },
  { name = "k_means", n = 100000, make = function(n, options)
    local k = roc.kernel(function(counts, points, centres)
      local i = roc.get_global_id(1)
      if i > #counts then return end
      local best, which = 1e30, 0
      for c = 1, centres.shape[1] do
        local sum = 0.0
        for f = 1, centres.shape[2] do
          local d = points[f][i] - centres[c][f]
          sum = sum + d * d
        end
        if sum < best then best, which = sum, c end
      end
      counts[i] = which
    end, options):forall(n)
    local counts, points = integers(n), floats(FEATURES * n):reshape(FEATURES, n)
    local centres = floats(CENTRES * FEATURES):reshape(CENTRES, FEATURES)
    return function() k(counts, points, centres) end
  end },
  { name = "black_scholes", n = 200000, make = function(n, options)
    local erfc = roc.math.erfc
    local k = roc.kernel(function(o, x, y, z)
      local i = roc.get_global_id(1)
      if i > #o then return end
      local s, k, t, r, v = x[i] * 100 + 1, y[i] * 100 + 1, z[i] + 0.1, 0.02, 0.3
      local root = v * math.sqrt(t)
      local d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / root
      local d2 = d1 - root
      local n1, n2 = 0.5 * erfc(-d1 * 0.70710678), 0.5 * erfc(-d2 * 0.70710678)
      o[i] = s * n1 - k * math.exp(-r * t) * n2
    end, options):forall(n)
    local o, x, y, z = floats(n), floats(n), floats(n), floats(n)
    return function() k(o, x, y, z) end
  end },
  { name = "monte_carlo", n = 20000, make = function(n, options)
    local k = roc.kernel(function(counts, seeds)
      local i = roc.get_global_id(1)
      if i > #counts then return end
      local v, hits = seeds[i], 0
      for _ = 1, DRAWS do
        v = v ~ (v << 13)
        v = v ~ (v >> 7)
        v = v ~ (v << 17)
        local a, b = v & 0xffff, (v >> 16) & 0xffff
        if a * a + b * b < 4294967296 then hits = hits + 1 end
      end
      counts[i] = hits
    end, options):forall(n)
    local seeds = roc.zeros(n, "int64")
    for i = 1, n do seeds[i] = 88172645463325252 + (i - 1) * 7919 end
    local counts, given = integers(n), roc.to_device(seeds)
    return function() k(counts, given) end
  end },
  { name = "search", n = 200000, make = function(n, options)
    local k = roc.kernel(function(counts, sorted, x)
      local i = roc.get_global_id(1)
      if i > #counts then return end
      local wanted, low, high = x[i], 1, #sorted
      while low < high do
        local middle = (low + high) // 2
        if sorted[middle] < wanted then low = middle + 1 else high = middle end
      end
      counts[i] = low
    end, options):forall(n)
    local sorted = roc.zeros(TABLE, "float32")
    for i = 1, TABLE do sorted[i] = (i - 1) / TABLE end
    local counts, held, x = integers(n), roc.to_device(sorted), floats(n)
    return function() k(counts, held, x) end
  end },
  { name = "newton", n = 100000, make = function(n, options)
    local k = roc.kernel(function(o, counts, x)
      local i = roc.get_global_id(1)
      if i > #counts then return end
      local c, v, k = x[i] * 10 + 0.01, 1.0, 0
      while k < 100 do
        local next = v - (v * v * v - c) / (3 * v * v)
        k = k + 1
        if math.abs(next - v) < 1e-6 * math.abs(next) then break end
        v = next
      end
      o[i] = v
      counts[i] = k
    end, options):forall(n)
    local o, counts, x = floats(n), integers(n), floats(n)
    return function() k(o, counts, x) end
  end },
  { name = "bodies", n = 8192, make = function(n, options)
    local k = roc.kernel(function(o, x, y, z, m)
      local i = roc.get_global_id(1)
      if i > #o then return end
      local px, py, pz, ax, ay, az = x[i], y[i], z[i], 0.0, 0.0, 0.0
      for j = 1, m do
        local dx, dy, dz = x[j] - px, y[j] - py, z[j] - pz
        local r2 = dx * dx + dy * dy + dz * dz + 1e-4
        if r2 < 0.25 then
          local inv = 1 / math.sqrt(r2)
          local f = inv * inv * inv
          ax, ay, az = ax + f * dx, ay + f * dy, az + f * dz
        end
      end
      o[i] = ax + ay + az
    end, options):forall(n)
    local o, x, y, z = floats(n), floats(n), floats(n), floats(n)
    return function() k(o, x, y, z, BODIES) end
  end },
}

local function measure(name, repeats, check)
  for _, row in ipairs(rows) do
    if row.name == name then
      return timing.least(row.make(row.n, { check = check, number = "float32" }), repeats)
    end
  end
end

if arg[1] == "--row" then
  print(("%.9f"):format(measure(arg[2], tonumber(arg[3]), arg[4] == "checked")))
  return
end

local ROUNDS, REPEATS = tonumber(arg[1]) or 5, 40
local wanted = {}
for _, name in ipairs { table.unpack(arg, 2) } do wanted[name] = true end
local OURS = ("ROCLUA_CPU=%%s ROCLUA_CPU_THREADS=1 %%s '%s' bench/divergent.lua --row")
  :format(arg[-1])

-- Commands of a level: ours and the peers that could be built.
local function commands_of(level)
  local ours, one_by_one = OURS:format(level, ""), OURS:format(level, "ROCLUA_CPU_LANES=1")
  local list = {
    { name = "checked", text = ours .. " %s %d checked" },
    { name = "unchecked", text = ours .. " %s %d unchecked" },
    { name = "by item", text = one_by_one .. " %s %d unchecked" },
  }
  for _, peer in ipairs { { "gcc", "gcc -O3" }, { "gcc scalar", "gcc -O3 -fno-tree-vectorize" },
    { "clang-22", "clang-22 -O3" } } do
    local path = ("build/bench/divergent-%s-%s"):format((peer[1]:gsub(" ", "-")), level)
    local build = ("%s -march=%s bench/peers/divergent.c -o %s -lm 2>/dev/null")
      :format(peer[2], level, path)
    if os.execute(build) then list[#list + 1] = { name = peer[1], path = path } end
  end
  return list
end

assert(os.execute("mkdir -p build/bench"))
local FIRST_PEER = 4
for _, level in ipairs { "x86-64-v4", "x86-64-v3" } do
  local commands, heads = commands_of(level), {}
  for i, command in ipairs(commands) do heads[i] = ("%10s"):format(command.name) end
  print(("\n%s, microseconds; ratios of each peer to unchecked"):format(level))
  print(("%-14s %s  %s"):format("kernel", table.concat(heads, " "), "of the peers"))
  for _, row in ipairs(rows) do
    if not next(wanted) or wanted[row.name] then
      local lines, texts, ratios = {}, {}, {}
      for i, command in ipairs(commands) do
        lines[i] = command.text and command.text:format(row.name, REPEATS)
          or ("%s %s %d %d"):format(command.path, row.name, row.n, REPEATS)
      end
      local times = timing.least_in_turn(lines, ROUNDS)
      for i in ipairs(commands) do
        texts[i] = times[i] and ("%10.1f"):format(times[i] * 1e6) or ("%10s"):format("-")
        if i >= FIRST_PEER and times[i] and times[2] then
          ratios[#ratios + 1] = ("%.2f"):format(times[i] / times[2])
        end
      end
      print(("%-14s %s  %s"):format(row.name, table.concat(texts, " "),
        table.concat(ratios, " ")))
    end
  end
end
