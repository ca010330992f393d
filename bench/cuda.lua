-- The cuda device against the driver's functions called in C, CUDA C and CUB, CuPy, torch, Triton
-- and numba-cuda on one GPU, in one run:
--   build/release/bin/roclua --device cuda bench/cuda.lua [shift [row …]]
--
-- Prints a line a measurement: milliseconds of ours checked and unchecked, of each peer, and ours
-- (checked) over the best peer: below 1, ours is faster.  `shift` divides the one-dimensional sizes
-- by two so many times, for a quick look; rows are chosen by name.  A time is the median of SAMPLES
-- samples; a sample is so many launches between two events that it takes a millisecond, divided by
-- their number.  The rows start_up and start_up_cold are milliseconds from the start of a process
-- until it has written an element of saxpy to a pipe, with caches and without; the end of the
-- process, which gives the GPU back, comes after that.
--
-- The peers are started together, so that one is compiled or imported while another is measured;
-- the one that has locked the file TURN has the GPU, and ours comes last.  The last lines name the
-- peers that do not run here.
package.path = "bench/?.lua;" .. package.path
local mandelbrot = require "mandelbrot"
local roc = require "roc"
local gemm = require "roc.kernels.gemm"
local histogram = require "roc.kernels.histogram"
local transpose = require "roc.kernels.transpose"

local SAMPLES = 15
local START_SIZE = 1 << 20 -- of the start-up rows
local STARTS, STARTS_MS = 5, 4000 -- processes; fewer, once they have taken so long
local TURN = "build/bench/turn"
local shift = tonumber(arg[1]) or 0
local wanted = { table.unpack(arg, 2) }

local device = roc.current_device()

-- Builds a peer and runs it; the path of TURN comes after that.
local function compiled(source, program, options)
  return ("nvcc -O3 -arch=native bench/peers/%s %s -o build/bench/%s >&2 && build/bench/%s"):format(
    source, options, program, program)
end

local peers = {
  { name = "driver", run = compiled("cuda_driver.c", "cuda_driver", "-ldl"),
    start = "build/bench/cuda_driver start" },
  { name = "C", run = compiled("cuda.cu", "cuda", ""), start = "build/bench/cuda start" },
  { name = "cupy", run = "python3 bench/peers/cuda_python.py cupy",
    start = [[python3 -c 'import cupy
x = cupy.ones(1 << 20, cupy.float32)
print((2.5 * x + x)[6], flush=True)']] },
  { name = "torch", run = "python3 bench/peers/cuda_python.py torch",
    start = [[python3 -c 'import torch
x = torch.ones(1 << 20, device="cuda")
print((2.5 * x + x)[6].item(), flush=True)']] },
  { name = "triton", run = "python3 bench/peers/cuda_python.py triton" },
  { name = "numba", run = "python3 bench/peers/cuda_python.py numba" },
}

local function median(times)
  table.sort(times)
  return times[#times // 2 + 1]
end

-- Until the command has printed a line; nil when it prints none.
local function start_time(command)
  local times, total = {}, 0
  while #times < STARTS and total < STARTS_MS do
    local start = roc.time()
    local pipe <close> = assert(io.popen(command .. " 2>/dev/null"))
    if not pipe:read "l" then return nil end
    times[#times + 1] = (roc.time() - start) * 1e3
    total = total + times[#times]
  end
  return median(times)
end

local function is_wanted(name)
  for _, other in ipairs(wanted) do
    if other == name then return true end
  end
  return #wanted == 0
end

-- {["name n"] = milliseconds}, of a peer that has been started.
local function read_times(peer)
  local times = {}
  for line in peer.pipe:lines() do
    local name, n, ms = line:match("^(%S+) (%d+) ([%d.]+)$")
    if name then times[name .. " " .. n] = tonumber(ms) end
  end
  peer.pipe:close()
  return times
end

-- ---- measuring ------------------------------------------------------------------------------

-- `stream`: where the work is queued, nil for the default one.
local function sample(launch, stream, count)
  local first, last = roc.event(), roc.event()
  first:record(stream)
  for _ = 1, count do launch() end
  last:record(stream)
  return roc.elapsed(first, last) / count
end

local function time_of(launch, stream)
  launch()
  device:synchronize()
  local once = math.max(1e-3, sample(launch, stream, 3))
  local count = math.max(1, math.min(1000, 1.0 / once // 1 | 0))
  local times = {}
  for i = 1, SAMPLES do times[i] = sample(launch, stream, count) end
  return median(times)
end

-- The host's time of a launch, without the wait.
local function launch_time(launch)
  launch()
  local times = {}
  for i = 1, 5 * SAMPLES do
    local start = roc.time()
    for _ = 1, 200 do launch() end
    times[i] = (roc.time() - start) * 1e3 / 200
    device:synchronize()
  end
  return median(times)
end

-- ---- what is measured -----------------------------------------------------------------------

local rows = {}

-- `make(n, check)` gives a function that launches, and the stream that it uses, if not the default
-- one.
local function row(name, n, make, measure)
  rows[#rows + 1] = { name = name, n = n, make = make, measure = measure or time_of }
end

local function filled(shape, dtype)
  local x = roc.device_array(shape, dtype)
  x:fill(1)
  return x
end
local function floats(shape) return filled(shape, "float32") end
local function groups_of(n, size) return (n + size - 1) // size end

row("launch", 1, function(_, check)
  local a = floats(1)
  local kernel = roc.kernel(function(_, _, _) end, { check = check })[{ 1, 256 }]
  return function() kernel(a, a, a) end
end, launch_time)

for bits = 20, 28, 4 do
  local n = 1 << bits - shift
  row("copy", n, function(_, check)
    local x, o = floats(n), floats(n)
    local kernel = roc.kernel(function(o, x)
      local i = roc.get_global_id(1)
      if i <= #o then o[i] = x[i] end
    end, { check = check }):forall(n)
    return function() kernel(o, x) end
  end)
  row("saxpy", n, function(_, check)
    local x, y = floats(n), floats(n)
    local kernel = roc.kernel(function(a, x, y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = a * x[i] + y[i] end
    end, { check = check }):forall(n)
    return function() kernel(2.5, x, y) end
  end)
  row("triad", n, function(_, check)
    local a, b, c = floats(n), floats(n), floats(n)
    local kernel = roc.kernel(function(s, a, b, c)
      local i = roc.get_global_id(1)
      if i <= #c then c[i] = a[i] + s * b[i] end
    end, { check = check }):forall(n)
    return function() kernel(2.5, a, b, c) end
  end)
end

row("black_scholes", 1 << 24 - shift, function(n, check)
  local s, k, t = floats(n), floats(n), floats(n)
  local call, put = floats(n), floats(n)
  local kernel = roc.kernel(function(s, k, t, call, put)
    local i = roc.get_global_id(1)
    if i <= #s then
      local r, v = 0.02, 0.3
      local root = math.sqrt(t[i])
      local d1 = (math.log(s[i] / k[i]) + (r + 0.5 * v * v) * t[i]) / (v * root)
      local d2 = d1 - v * root
      local n1 = 0.5 * (1 + roc.math.erf(d1 * 0.70710678))
      local n2 = 0.5 * (1 + roc.math.erf(d2 * 0.70710678))
      local discounted = k[i] * math.exp(-r * t[i])
      call[i] = s[i] * n1 - discounted * n2
      put[i] = discounted * (1 - n2) - s[i] * (1 - n1)
    end
  end, { check = check, number = "float32" }):forall(n)
  return function() kernel(s, k, t, call, put) end
end)

row("sum", 1 << 26 - shift, function(n, check)
  local x, out = floats(n), floats(1)
  local sum = roc.reduce(function(a, b) return a + b end, nil,
    { commutative = true, check = check })
  return function() sum(x, { out = out }) end
end)

row("scan", 1 << 26 - shift, function(n, check)
  local x = filled(n, "int32")
  local out = roc.device_array(n, "int32")
  local scan = roc.scan(function(a, b) return a + b end, { check = check })
  return function() scan(x, { out = out }) end
end)

row("histogram", 1 << 26 - shift, function(n, check)
  local data = filled(n, "uint8")
  local counts = roc.to_device(roc.zeros(histogram.BINS, "int32"))
  local kernel = histogram.make(check)[{ 8 * device.compute_units, 256 }]
  return function() kernel(data, counts) end
end)

row("transpose", 8192 >> shift // 2, function(n, check)
  local a, b = floats { n, n }, floats { n, n }
  local groups = groups_of(n, transpose.WIDE)
  local kernel = transpose.wide_for(roc.float32, check)[{ { groups, groups },
    { transpose.WIDE, transpose.EACH } }]
  return function() kernel(a, b) end
end)

local SIDE = 4096 >> shift // 2

row("matmul_naive", SIDE, function(n, check)
  local a, b, c = floats { n, n }, floats { n, n }, floats { n, n }
  local kernel = roc.kernel(function(a, b, c)
    local j, i = roc.grid(2)
    if i <= c.shape[1] and j <= c.shape[2] then
      local sum = 0
      for k = 1, a.shape[2] do sum = sum + a[i][k] * b[k][j] end
      c[i][j] = sum
    end
  end, { check = check })[{ { groups_of(n, 16), groups_of(n, 16) }, { 16, 16 } }]
  return function() kernel(a, b, c) end
end)

for _, tile in ipairs { 16, 32 } do
  row("matmul_" .. tile, SIDE, function(n, check)
    local a, b, c = floats { n, n }, floats { n, n }, floats { n, n }
    local groups = groups_of(n, tile)
    local kernel = gemm.tiled_for(roc.float32, check, tile)[{ { groups, groups }, { tile, tile } }]
    return function() kernel(a, b, c) end
  end)
end

row("matmul", SIDE, function(n, check)
  local a, b, c = floats { n, n }, floats { n, n }, floats { n, n }
  local groups = groups_of(n, gemm.BLOCK)
  local kernel = gemm.paired_for(roc.float32, check)[{ { groups, groups },
    { gemm.SIDE, gemm.SIDE } }]
  return function() kernel(a, b, c) end
end)

row("mandelbrot", SIDE, function(n, check)
  local image = roc.device_array({ n, n }, "uint8")
  local kernel = mandelbrot(check)
  return function() kernel:launch({ grid = { n, n }, workgroup = { 64, 4 } }, image) end
end)

row("nbody", 65536 >> shift, function(n, check)
  local TILE = 256
  local bodies, forces = floats { n, 4 }, floats { n, 4 }
  local kernel = roc.kernel(function(bodies, forces)
    local tile = roc.shared.array({ TILE, 4 }, "float32")
    local item, i = roc.get_local_id(1), roc.get_global_id(1)
    local x, y, z = bodies[i][1], bodies[i][2], bodies[i][3]
    local fx, fy, fz = 0.0, 0.0, 0.0
    for first = 0, bodies.shape[1] - 1, TILE do
      for k = 1, 4 do tile[item][k] = bodies[first + item][k] end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      for k = 1, TILE do
        local dx, dy, dz = tile[k][1] - x, tile[k][2] - y, tile[k][3] - z
        local inverse = 1 / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
        local f = tile[k][4] * inverse * inverse * inverse
        fx, fy, fz = fx + f * dx, fy + f * dy, fz + f * dz
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
    forces[i][1], forces[i][2], forces[i][3] = fx, fy, fz
  end, { check = check, number = "float32" })[{ n // TILE, TILE }]
  return function() kernel(bodies, forces) end
end)

local BYTES = 1 << 28 - shift
local stream = roc.stream() -- with one, copies do not wait
row("to_device", BYTES, function(n)
  local host, d = roc.pinned_array(n, "uint8"), roc.device_array(n, "uint8")
  return function() d:copy_from_host(host, stream) end, stream
end)
row("to_host", BYTES, function(n)
  local host, d = roc.pinned_array(n, "uint8"), roc.device_array(n, "uint8")
  return function() d:copy_to_host(host, stream) end, stream
end)

local START = [[
local roc = require "roc"
local x, y = roc.to_device(roc.ones(%d, "float32")), roc.to_device(roc.ones(%d, "float32"))
roc.kernel(function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = a * x[i] + y[i] end
end, { check = %s }):forall(#y)(2.5, x, y)
print(y[7])]]

local program = -1
while arg[program - 1] do program = program - 1 end

local function start_command(n, check)
  local script = "build/bench/start_up.lua"
  local file <close> = assert(io.open(script, "w"))
  file:write(START:format(n, n, check))
  return ("ROCLUA_DEVICE=%s %s %s"):format(device.kind, arg[program], script)
end

row("start_up", START_SIZE, start_command, start_time)
row("start_up_cold", START_SIZE, function(n, check)
  return "ROCLUA_CACHE=off CUDA_CACHE_DISABLE=1 " .. start_command(n, check)
end, start_time)

-- ---- the table ------------------------------------------------------------------------------

-- The same work done otherwise: what 16-byte accesses and libraries reach.
local better = { "/16", "_library" }

local function best_of(times, key)
  local name, n = key:match("^(%S+) (%d+)$")
  local best = times[key]
  for _, suffix in ipairs(better) do
    local other = times[name .. suffix .. " " .. n]
    if other then best = math.min(best or other, other) end
  end
  return best
end

assert(os.execute("mkdir -p build/bench"))
assert(io.open(TURN, "w")):close()
for _, peer in ipairs(peers) do
  local command = ("{ %s %s; } 2>build/bench/%s.log"):format(peer.run, TURN, peer.name)
  peer.pipe = assert(io.popen(command))
end
for _, peer in ipairs(peers) do peer.times = read_times(peer) end
if is_wanted "start_up" then
  for _, peer in ipairs(peers) do
    if next(peer.times) and peer.start then
      peer.times["start_up " .. START_SIZE] = start_time(peer.start)
    end
  end
end
print(("%s (%s), %d compute units"):format(device.name, device.arch, device.compute_units))
local header = { ("%-14s %10s %10s %10s"):format("", "n", "checked", "unchecked") }
for _, peer in ipairs(peers) do header[#header + 1] = ("%10s"):format(peer.name) end
print(table.concat(header, " ") .. "   to best")
for _, r in ipairs(rows) do
  if is_wanted(r.name) then
    local ok, checked = pcall(function() return r.measure(r.make(r.n, true)) end)
    collectgarbage()
    local ok2, unchecked = pcall(function() return r.measure(r.make(r.n, false)) end)
    collectgarbage()
    local key, best, cells = r.name .. " " .. r.n, math.huge, {}
    for i, peer in ipairs(peers) do
      local time = best_of(peer.times, key)
      cells[i] = ("%10s"):format(time and ("%.4f"):format(time) or "-")
      best = math.min(best, time or best)
    end
    local function show(is_right, value) return is_right and ("%.4f"):format(value) or "failed" end
    print(("%-14s %10d %10s %10s %s %8s"):format(r.name, r.n, show(ok, checked),
      show(ok2, unchecked), table.concat(cells, " "),
      ok and best < math.huge and ("%.2f"):format(checked / best) or "-"))
    if not ok then io.stderr:write(tostring(checked), "\n") end
    if ok and not ok2 then io.stderr:write(tostring(unchecked), "\n") end
  end
end
for _, peer in ipairs(peers) do
  if not next(peer.times) then
    print(("%s does not run here: see build/bench/%s.log"):format(peer.name, peer.name))
  end
end
