-- Operations on whole device arrays against torch and CuPy on one GPU, in one run:
--   build/release/bin/roclua bench/gpu_arrays.lua [shift [row …]]
--
-- Prints a line a row: our milliseconds, those of each peer, and ours over the best peer's (below
-- 1: ours is faster).  `shift` divides the sizes by two so many times; rows are chosen by name.  A
-- time is the median of SAMPLES samples: of the wall clock, around as many calls as take some
-- milliseconds and the wait for them.
local roc = require "roc"

local SAMPLES = 9
local shift = tonumber(arg[1]) or 0
local wanted = { table.unpack(arg, 2) }
local device = roc.current_device()
local rng = roc.rng(1, { device = device })

local function floats(...) return rng:uniform({ ... }, "float32") end
local function integers(n, last)
  return (floats(n) * last):astype("int32"):eval()
end
local function eval(a) return a:eval() end

-- Each row: its name, how many elements, and what makes the function that is measured.
local ROWS = {
  { "expression", 1 << 28, function(n)
    local x, y = floats(n), floats(n)
    return function() eval(roc.math.sqrt(x * x + y * y) * 0.5 + roc.math.exp(-x)) end
  end },
  { "product_sum", 1 << 28, function(n)
    local x, y = floats(n), floats(n)
    return function() return (x * y):sum() end
  end },
  { "sum_columns", 1 << 28, function(_, side)
    local x = floats(side, side)
    return function() eval(x:sum { axis = 1 }) end
  end },
  { "sum_rows", 1 << 28, function(_, side)
    local x = floats(side, side)
    return function() eval(x:sum { axis = 2 }) end
  end },
  { "argmax", 1 << 28, function(_, side)
    local x = floats(side, side)
    return function() eval(x:argmax { axis = 2 }) end
  end },
  { "softmax", 1 << 28, function(_, side)
    local x = floats(side, side)
    return function()
      local e = roc.math.exp(x - x:max { axis = 2, keep = true })
      eval(e / e:sum { axis = 2, keep = true })
    end
  end },
  { "sort_int32", 1 << 26, function(n)
    local x = integers(n, 1e9)
    return function() x:sort() end
  end },
  { "sort_float32", 1 << 26, function(n)
    local x = floats(n)
    return function() x:sort() end
  end },
  { "argsort", 1 << 26, function(n)
    local x = floats(n)
    return function() x:argsort() end
  end },
  { "sort_lines", 1 << 24, function(_, side)
    local x = floats(side, side)
    return function() x:sort() end
  end },
  { "sort_small", 1 << 12, function(n)
    local x = floats(n)
    return function() x:sort() end
  end },
  { "mask", 1 << 26, function(n)
    local x = floats(n)
    return function() return x[x:gt(0.5)] end
  end },
  { "bincount", 1 << 26, function(n)
    local x = integers(n, 1024)
    return function() x:bincount { first = 0, bins = 1024 } end
  end },
  { "unique", 1 << 26, function(n)
    local x = integers(n, 1e6)
    return function() x:unique() end
  end },
  { "cumsum", 1 << 26, function(n)
    local x = integers(n, 100)
    return function() x:cumsum() end
  end },
}

for _, name in ipairs { "uniform", "normal" } do
  table.insert(ROWS, { name, 1 << 28, function(n)
    return function() rng[name](rng, n, "float32") end
  end })
end

local function measure(run, count)
  device:synchronize()
  local start = roc.time()
  for _ = 1, count do run() end
  device:synchronize()
  return (roc.time() - start) / count
end

local function median_time(run)
  local start = roc.time()
  repeat measure(run, 1) until roc.time() - start > 1 -- compiles, in the background, too
  local count = math.max(1, math.min(100, math.floor(5e-3 / measure(run, 1))))
  local times = {}
  for k = 1, SAMPLES do times[k] = measure(run, count) end
  table.sort(times)
  return times[SAMPLES // 2 + 1] * 1e3
end

-- {["name n"] = milliseconds}
local function peer_times(peer)
  local command = ("python3 bench/peers/gpu_arrays.py %s %d %s 2>/dev/null"):format(peer, shift,
    table.concat(wanted, " "))
  local pipe <close> = assert(io.popen(command))
  local times = {}
  for line in pipe:lines() do
    local name, ms = line:match("^(%S+) ([%d.]+)$")
    if name then times[name] = tonumber(ms) end
  end
  return times
end

local function is_wanted(name)
  for _, other in ipairs(wanted) do
    if other == name then return true end
  end
  return #wanted == 0
end

local function shown(ms) return ms and ("%10.4f"):format(ms) or ("%10s"):format "-" end

local torch, cupy = peer_times "torch", peer_times "cupy"
print(device.name)
print(("%-14s %10s %10s %10s %8s"):format("row, ms", "roclua", "torch", "cupy", "ratio"))
for _, row in ipairs(ROWS) do
  local name, n = row[1], row[2] >> shift
  if is_wanted(name) then
    local own = median_time(row[3](n, math.floor(n ^ 0.5)))
    local best = math.min(torch[name] or math.huge, cupy[name] or math.huge)
    print(("%-14s %s %s %s %8s"):format(name, shown(own), shown(torch[name]), shown(cupy[name]),
      best < math.huge and ("%.2f"):format(own / best) or "-"))
    io.stdout:flush()
    collectgarbage()
  end
end
