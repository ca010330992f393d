-- Element-wise kernels with guards, and what the library makes of loops, against C on one thread,
-- with AVX-512 and with AVX2: build/release/bin/roclua bench/guards.lua [rounds [n …]]
-- Ours, checked and unchecked, gcc's and clang's programs run in turn, `rounds` times; of each the
-- least time counts. Ratios below 1: ours is faster.
--   bench/guards.lua --row NAME N REPEATS CHECK: one row of ours, in seconds
package.path = "bench/?.lua;" .. package.path
local roc = require "roc"
local timing = require "timing"

local rows = {
  { name = "sum", make = function(n, check, x, y, o)
    local k = roc.kernel(function(x, y, o)
      local i = roc.get_global_id(1)
      if i <= #o then o[i] = x[i] + y[i] end
    end, { check = check }):forall(n)
    return function() k(x, y, o) end
  end },
  { name = "return", make = function(n, check, x, y, o)
    local k = roc.kernel(function(x, y, o, n)
      local i = roc.get_global_id(1)
      if i > n then return end
      o[i] = x[i] + y[i]
    end, { check = check }):forall(n)
    return function() k(x, y, o, n) end
  end },
  { name = "grid_stride", make = function(_, check, x, y, o)
    local k = roc.kernel(function(x, y, o)
      for i = roc.get_global_id(1), #o, roc.get_global_size(1) do o[i] = x[i] + y[i] end
    end, { check = check })[{ 128, 256 }]
    return function() k(x, y, o) end
  end },
  { name = "stencil", make = function(n, check, x, _, o)
    local k = roc.kernel(function(x, o)
      local i = roc.get_global_id(1)
      if i > 1 and i < #o then o[i] = x[i - 1] + x[i] + x[i + 1] end
    end, { check = check }):forall(n)
    return function() k(x, o) end
  end },
  { name = "stencil_2d", make = function(n, check, x, _, o)
    local side = math.floor(math.sqrt(n))
    local a, b = x:slice(1, 1, side * side):reshape(side, side),
      o:slice(1, 1, side * side):reshape(side, side)
    local k = roc.kernel(function(a, b)
      local j, i = roc.grid(2)
      local n, m = a.shape[1], a.shape[2]
      if i > 1 and i < n and j > 1 and j < m then
        b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1])
      end
    end, { check = check, number = "float32" })
    return function() k:launch({ grid = { side, side }, workgroup = { 16, 16 } }, a, b) end
  end },
  { name = "two_ways", make = function(n, check, x, y, o)
    local k = roc.kernel(function(x, y, o, half)
      local i = roc.get_global_id(1)
      if i > #o then return end
      if i <= half then o[i] = x[i] + y[i] else o[i] = x[i] - y[i] end
    end, { check = check }):forall(n)
    return function() k(x, y, o, n // 2) end
  end },
  { name = "fill", make = function(_, _, _, _, o)
    return function() o:fill(1.5) end
  end },
  { name = "copy", make = function(_, _, x, _, o)
    return function() x:copy_to_device(o) end
  end },
  { name = "reduce", make = function(_, check, x)
    local sum = roc.reduce(function(a, b) return a + b end, nil, { check = check })
    return function() sum(x) end
  end },
  { name = "scan", make = function(_, check, x, _, o)
    local scan = roc.scan(function(a, b) return a + b end, { check = check })
    return function() scan(x, { out = o }) end
  end },
  { name = "histogram", make = function(n, check)
    local groups = math.max(1, math.min(64, n // 4096)) -- each adds its 256 counts in the end
    local kernel = require "roc.kernels.histogram".make(check)[{ groups, 256 }]
    local data = roc.to_device(roc.random_integers(0, 255, n):astype("uint8"))
    local counts = roc.to_device(roc.zeros(256, "int64"))
    return function() kernel(data, counts) end
  end },
}

local function measure(name, n, repeats, check)
  local function floats() return roc.to_device(roc.random({ n }, "float32")) end
  for _, row in ipairs(rows) do
    if row.name == name then
      return timing.least(row.make(n, check, floats(), floats(), floats()), repeats)
    end
  end
end

if arg[1] == "--row" then
  print(("%.9f"):format(measure(arg[2], tonumber(arg[3]), tonumber(arg[4]), arg[5] == "checked")))
  return
end

local ROUNDS = tonumber(arg[1]) or 5
local SIZES = { table.unpack(arg, 2) }
if #SIZES == 0 then SIZES = { 60000, 1000000, 10000000 } end -- in L2, in L3, in memory
local OURS = ("ROCLUA_CPU=%%s ROCLUA_CPU_THREADS=1 '%s' bench/guards.lua --row"):format(arg[-1])

-- Commands of a level: ours and the peers that could be built.
local function commands_of(level)
  local list = {
    { name = "checked", text = OURS:format(level) .. " %s %d %d checked" },
    { name = "unchecked", text = OURS:format(level) .. " %s %d %d unchecked" },
  }
  for _, compiler in ipairs { "gcc", "clang-22" } do
    local path = ("build/bench/loops-%s-%s"):format(compiler, level)
    local build = ("%s -O3 -march=%s -fopenmp-simd bench/peers/loops.c -o %s -lm 2>/dev/null")
      :format(compiler, level, path)
    if os.execute(build) then list[#list + 1] = { name = compiler, text = path .. " %s %d %d" } end
  end
  return list
end

assert(os.execute("mkdir -p build/bench"))
local function is_runnable(level)
  return timing.number_of(OURS:format(level) .. " sum 100 1 checked") ~= nil
end

local levels = {}
for _, level in ipairs { "x86-64-v4", "x86-64-v3" } do
  if is_runnable(level) then levels[#levels + 1] = level end
end

for _, level in ipairs(levels) do
  local commands, heads = commands_of(level), {}
  for i, command in ipairs(commands) do heads[i] = ("%10s"):format(command.name) end
  print(("\n%s, microseconds; ratios of checked to each peer"):format(level))
  print(("%-12s %9s %s  %s"):format("kernel", "n", table.concat(heads, " "), "to the peers"))
  for _, row in ipairs(rows) do
    for _, n in ipairs(SIZES) do
      local repeats = math.max(5, math.min(200, 20000000 // n))
      local lines, texts, ratios = {}, {}, {}
      for i, command in ipairs(commands) do lines[i] = command.text:format(row.name, n, repeats) end
      local times = timing.least_in_turn(lines, ROUNDS)
      assert(times[1], "no time of " .. row.name)
      for i in ipairs(commands) do
        texts[i] = times[i] and ("%10.1f"):format(times[i] * 1e6) or ("%10s"):format("-")
        if i > 2 and times[i] then
          ratios[#ratios + 1] = ("%.2f"):format(times[1] / times[i])
        end
      end
      print(("%-12s %9d %s  %s"):format(row.name, n, table.concat(texts, " "),
        table.concat(ratios, " ")))
    end
  end
end
