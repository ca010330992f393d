-- The cpu device against C with OpenMP by gcc and clang, OpenCL (PoCL) and numba on this machine,
-- in one run: build/release/bin/roclua bench/cpu.lua [scales [repeats [python]]]
-- Prints a line for each processor that code is made for, size, kernel and number of threads (one,
-- two, and as many as the device has): our median time, the peers', our time over that of the best
-- of them (below 1: ours is faster), and checked over unchecked.  A peer that is not installed is
-- "absent".
-- `scales` divide the sizes: 256,16,1 unless given, for arrays in the second cache, the third, and
-- in memory.  The median is of `repeats` runs, 15 unless given.  `python` is one that has numba.
-- ROCLUA_CPU names the one processor that our code and the C programs are for; else they are for
-- this one, and for x86-64-v3.
package.path = "bench/?.lua;" .. package.path
local mandelbrot = require "mandelbrot"
local roc = require "roc"
local gemm = require "roc.kernels.gemm"
local histogram = require "roc.kernels.histogram"
local reduce = require "roc.kernels.reduce"
local transpose = require "roc.kernels.transpose"

-- A process has one number of threads, so each line's times are those of programs that it starts;
-- ours is this script with the name of a kernel in front.
local only = (arg[1] or ""):find "^%a" and table.remove(arg, 1)
local SCALES = arg[1] or "256,16,1"
local REPEATS = tonumber(arg[2]) or 15
local PYTHON = arg[3] or "python3"
local LEVELS = { os.getenv "ROCLUA_CPU" }
if #LEVELS == 0 then LEVELS = { "native", "x86-64-v3" } end

local device = roc.current_device()

local THREADS = { 1 }
if device.compute_units > 1 then THREADS[2] = 2 end
if device.compute_units > 2 then THREADS[3] = device.compute_units end

-- Programs that run the same kernels: the heads of their columns, what makes or finds them, and how
-- they are called.
local function c_peer(head, compiler, level)
  local path = ("build/bench/openmp-%s-%s"):format(compiler, level)
  return { head = head, run = path,
    build = ("%s -O3 -march=%s -fopenmp bench/peers/openmp.c -o %s"):format(compiler, level, path) }
end

local opencl = { head = "OpenCL ms", run = "build/bench/opencl",
  build = "gcc -O2 bench/peers/opencl.c -o build/bench/opencl -lOpenCL" }
local numba = { head = "numba ms", run = PYTHON .. " bench/peers/cpu.py",
  build = PYTHON .. " -c 'import numba'" }

local function peers_of(level)
  return { c_peer("gcc ms", "gcc", level), c_peer("clang ms", "clang-22", level), opencl, numba }
end

local function build_peers(peers)
  assert(os.execute("mkdir -p build/bench"))
  for _, peer in ipairs(peers) do peer.is_built = os.execute(peer.build .. " 2>/dev/null") end
end

-- The numbers that a program prints when it and its kinds of threads are told how many to use.
local function numbers_of(threads, command)
  local names = { "ROCLUA_CPU_THREADS", "OMP_NUM_THREADS", "POCL_MAX_PTHREAD_COUNT",
    "NUMBA_NUM_THREADS" }
  for i, name in ipairs(names) do names[i] = ("%s=%d"):format(name, threads) end
  local pipe <close> = assert(io.popen(("env %s %s"):format(table.concat(names, " "), command)))
  return pipe:read("n", "n")
end

-- Milliseconds, or nothing where the peer is not there.
local function peer_time(peer, bench, threads)
  if not peer.is_built then return nil end
  local took = numbers_of(threads, ("%s %s %d %d"):format(peer.run, bench.name, bench.n, REPEATS))
  return took and took * 1e3
end

-- Median seconds of a run of `launch`, after one that compiles.
local function median_time(launch)
  launch()
  device:synchronize()
  local times = {}
  for k = 1, REPEATS do
    local start = roc.time()
    launch()
    device:synchronize()
    times[k] = roc.time() - start
  end
  table.sort(times)
  return times[REPEATS // 2 + 1]
end

local function floats(shape) return roc.to_device(roc.random(shape, "float32")) end

local function groups_of(n, size) return (n + size - 1) // size end

-- Each entry: a name, n, and a function (check) -> launch.
local function benches_of(scale)
  local LINE = (1 << 24) // scale -- elements of the one-dimensional kernels
  -- of the matrices: whole tiles
  local SIDE = math.max(16, 512 // math.ceil(math.sqrt(scale)) // 16 * 16)
  return {
    { name = "saxpy", n = LINE, make = function(check)
      local x, y = floats(LINE), floats(LINE)
      local kernel = roc.kernel(function(a, x, y)
        local i = roc.get_global_id(1)
        if i <= #y then y[i] = a * x[i] + y[i] end
      end, { check = check }):forall(LINE)
      return function() kernel(2.5, x, y) end
    end },
    { name = "triad", n = LINE, make = function(check)
      local a, b, c = floats(LINE), floats(LINE), floats(LINE)
      local kernel = roc.kernel(function(s, a, b, c)
        local i = roc.get_global_id(1)
        if i <= #c then c[i] = a[i] + s * b[i] end
      end, { check = check }):forall(LINE)
      return function() kernel(2.5, a, b, c) end
    end },
    { name = "reduction", n = LINE, make = function(check)
      local x, sums = floats(LINE), roc.device_array(64, "float32")
      local kernel = reduce.sum_for(roc.float32, check)[{ 64, reduce.SIZE }]
      return function() kernel(x, sums) end
    end },
    { name = "transpose", n = 2 * SIDE, make = function(check)
      local side, tile = 2 * SIDE, transpose.TILE
      local a, b = floats { side, side }, floats { side, side }
      local groups = groups_of(side, tile)
      local kernel = transpose.tiled_for(roc.float32, check)[{ { groups, groups }, { tile, tile } }]
      return function() kernel(a, b) end
    end },
    { name = "matmul_naive", n = SIDE, make = function(check)
      local a, b, c = floats { SIDE, SIDE }, floats { SIDE, SIDE }, floats { SIDE, SIDE }
      local groups = groups_of(SIDE, 16)
      local kernel = roc.kernel(function(a, b, c)
        local j, i = roc.grid(2)
        if i <= c.shape[1] and j <= c.shape[2] then
          local sum = 0.0
          for k = 1, a.shape[2] do sum = sum + a[i][k] * b[k][j] end
          c[i][j] = sum
        end
      end, { check = check })[{ { groups, groups }, { 16, 16 } }]
      return function() kernel(a, b, c) end
    end },
    { name = "matmul_tiled", n = SIDE, make = function(check)
      local a, b, c = floats { SIDE, SIDE }, floats { SIDE, SIDE }, floats { SIDE, SIDE }
      local tile = gemm.TILE
      local groups = groups_of(SIDE, tile)
      local kernel = gemm.tiled_for(roc.float32, check)[{ { groups, groups }, { tile, tile } }]
      return function() kernel(a, b, c) end
    end },
    { name = "mandelbrot", n = SIDE, make = function(check)
      local image = roc.device_array({ SIDE, SIDE }, "uint8")
      local kernel = mandelbrot(check)
      return function() kernel:launch({ grid = { SIDE, SIDE }, workgroup = { 64, 1 } }, image) end
    end },
    { name = "histogram", n = LINE, make = function(check)
      local data = roc.to_device(roc.random_integers(0, 255, LINE):astype("uint8"))
      local counts = roc.to_device(roc.zeros(histogram.BINS, "int64"))
      local kernel = histogram.make(check)[{ 64, 256 }]
      return function() kernel(data, counts) end
    end },
  }
end

-- Seconds, checked and unchecked.
local function own_times(bench)
  local checked = median_time(bench.make(true))
  collectgarbage()
  return checked, median_time(bench.make(false))
end

local function report(level, scale, bench, peers, threads)
  local processor = level == "native" and "" or "ROCLUA_CPU=" .. level
  local checked, unchecked = numbers_of(threads, ("%s %s bench/cpu.lua %s %s %d"):format(processor,
    arg[-1], bench.name, scale, REPEATS))
  checked, unchecked = checked * 1e3, unchecked * 1e3
  local best, columns = math.huge, {}
  for i, peer in ipairs(peers) do
    local took = peer_time(peer, bench, threads)
    best = math.min(best, took or best)
    columns[i] = took and ("%9.3f"):format(took) or ("%9s"):format("absent")
  end
  print(("%-13s %9d %7d %9.3f %s %8s %18.2f"):format(bench.name, bench.n, threads, checked,
    table.concat(columns, " "), best < math.huge and ("%.2f"):format(checked / best) or "-",
    checked / unchecked))
end

if only then
  for _, bench in ipairs(benches_of(tonumber(arg[1]) or 1)) do
    if bench.name == only then print(own_times(bench)) end
  end
  return
end

local function report_level(level)
  local peers, heads = peers_of(level), {}
  build_peers(peers)
  print(("%s, %d compute units; code for: %s"):format(device.name, device.compute_units, level))
  for i, peer in ipairs(peers) do heads[i] = ("%9s"):format(peer.head) end
  print(("%-13s %9s %7s %9s %s %8s %18s"):format("kernel", "n", "threads", "roclua ms",
    table.concat(heads, " "), "to best", "checked/unchecked"))
  for scale in SCALES:gmatch "%d+" do
    for _, bench in ipairs(benches_of(tonumber(scale))) do
      for _, threads in ipairs(THREADS) do report(level, scale, bench, peers, threads) end
    end
  end
end

for _, level in ipairs(LEVELS) do report_level(level) end
