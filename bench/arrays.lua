-- Operations on whole host arrays against NumPy, numexpr and numba on this machine, in one run:
-- build/release/bin/roclua bench/arrays.lua [scale [repeats [python]]]
-- Prints a line a row: our least time, the peers', and ours over the best peer's (below 1: ours is
-- faster). `scale` divides the sizes, for a quick look; `python` is an interpreter with the three
-- modules. Peers that are not there have a "-".
local roc = require "roc"

local scale, repeats = tonumber(arg[1]) or 1, tonumber(arg[2]) or 5
local python = arg[3] or "python3"
local PEERS = { "numpy", "numexpr", "numba" }

local function floats(...) return roc.random({ ... }, "float32") end
local function eval(a) return a:eval() end

-- Each row: its name, how many elements, and what makes the function that is measured.
local ROWS = {
  { "expression", 1 << 24, function(n)
    local x, y = floats(n), floats(n)
    return function() eval(roc.math.sqrt(x * x + y * y) * 0.5 + roc.math.exp(-x)) end
  end },
  { "product_sum", 1 << 24, function(n)
    local x, y = floats(n), floats(n)
    return function() return (x * y):sum() end
  end },
  { "sum_rows", 1 << 24, function(_, side)
    local x = floats(side, side)
    return function() eval(x:sum { axis = 2 }) end
  end },
  { "sum_columns", 1 << 24, function(_, side)
    local x = floats(side, side)
    return function() eval(x:sum { axis = 1 }) end
  end },
  { "softmax", 1 << 22, function(_, side)
    local x = floats(side, side)
    return function()
      local e = eval(roc.math.exp(x - x:max { axis = 2, keep = true }))
      eval(e / e:sum { axis = 2, keep = true })
    end
  end },
  { "argmax", 1 << 24, function(n)
    local x = floats(n)
    return function() return x:argmax() end
  end },
  { "cumsum", 1 << 24, function(n)
    local x = floats(n)
    return function() x:cumsum() end
  end },
  { "mask", 1 << 24, function(n)
    local x = floats(n)
    return function() return x[x:gt(0.5)] end
  end },
  { "bincount", 1 << 24, function(n)
    local x = roc.random_integers(0, 1023, n, "int32")
    return function() x:bincount { first = 0, bins = 1024 } end
  end },
  { "sort_int32", 1 << 22, function(n)
    local x = roc.random_integers(0, 1000000000, n, "int32")
    return function() x:sort() end
  end },
  { "sort_float32", 1 << 22, function(n)
    local x = floats(n)
    return function() x:sort() end
  end },
  { "argsort", 1 << 22, function(n)
    local x = floats(n)
    return function() x:argsort() end
  end },
  { "uniform", 1 << 24, function(n)
    local rng = roc.rng(1)
    return function() rng:uniform(n, "float32") end
  end },
  { "normal", 1 << 24, function(n)
    local rng = roc.rng(1)
    return function() rng:normal(n, "float32") end
  end },
  { "matmul", 1 << 20, function(_, side)
    local a = floats(side, side)
    return function() a:matmul(a) end
  end },
  { "matmul", 1 << 20, function(_, side)
    local a = floats(side, side)
    return function() roc.linalg.matmul(a, a) end
  end, "linalg.matmul" },
  { "solve", 1 << 20, function(_, side)
    local a, b = roc.random { side, side }, roc.random(side)
    return roc.linalg.library() and function() roc.linalg.solve(a, b) end
  end },
}

local WARM_SECONDS = 1 -- kernels are compiled in the background, once they are worth it

local function least_time(run)
  if not run then return nil end
  local begin = roc.time()
  repeat
    run()
    collectgarbage()
  until roc.time() - begin > WARM_SECONDS
  local best = math.huge
  for _ = 1, repeats do
    collectgarbage()
    local start = roc.time()
    run()
    best = math.min(best, roc.time() - start)
  end
  return best
end

-- Seconds of each peer that has the row.
local function peer_times(name, n)
  local pipe <close> = assert(io.popen(("%s bench/peers/arrays.py %s %d %d 2>/dev/null"):format(
    python, name, n, repeats)))
  local times = {}
  for word in (pipe:read("l") or ""):gmatch "%S+" do times[#times + 1] = tonumber(word) or false end
  return times
end

local function shown(seconds)
  return seconds and ("%10.3f"):format(seconds * 1e3) or ("%10s"):format "-"
end

print(("%-14s %9s %10s %10s %10s %10s %8s"):format("row, ms", "elements", "roclua", PEERS[1],
  PEERS[2], PEERS[3], "ratio"))
for _, row in ipairs(ROWS) do
  local n = math.max(row[2] // scale, 1024)
  local side = math.floor(n ^ 0.5)
  local own, peers = least_time(row[3](n, side)), peer_times(row[1], n)
  local best = math.huge
  for i = 1, #PEERS do best = peers[i] and math.min(best, peers[i]) or best end
  print(("%-14s %9d %s %s %s %s %8s"):format(row[4] or row[1], n, shown(own), shown(peers[1]),
    shown(peers[2]), shown(peers[3]),
    own and best < math.huge and ("%.2f"):format(own / best) or "-"))
end
