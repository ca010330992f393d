-- How long a kernel takes from source text to loaded code:
-- ROCLUA_CACHE=off build/release/bin/roclua bench/compile.lua
--
-- Milliseconds by stage, for saxpy and the tiled product: the first compile of the process, which
-- opens the compiler, and the least of ten warm ones (each row's total is that run's).  `parse` is
-- the rest of the total: finding the source, parsing, captures, and handing work to a compiler
-- thread.  With ROCLUA_BENCH_TARGET=gfx90a: the whole way to a code object for that GPU.
local roc = require "roc"

assert(os.getenv "ROCLUA_CACHE" == "off", "run it with ROCLUA_CACHE=off, else nothing is compiled")

local WARM = 10
local STAGES = { "parse", "front_end", "passes", "open", "build", "verify", "optimise", "emit",
  "load" }

local saxpy = [[function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = a * x[i] + y[i] end
end]]

local tiled = [[function(a, b, c)
  local block_a = roc.shared.array({ 16, 16 }, roc.float32)
  local block_b = roc.shared.array({ 16, 16 }, roc.float32)
  local x, y = roc.get_local_id(1), roc.get_local_id(2)
  local j, i = roc.grid(2)
  local sum = 0.0
  for k0 = 0, a.shape[2] - 1, 16 do
    block_a[y][x] = a[i][k0 + x]
    block_b[y][x] = b[k0 + y][j]
    roc.barrier()
    for k = 1, 16 do sum = sum + block_a[y][k] * block_b[k][x] end
    roc.barrier()
  end
  c[i][j] = sum
end]]

local env = { roc = roc }

-- One compile: times by stage, and their total.
local function compile(text, signature)
  local start = roc.time()
  local kernel = roc.kernel(text, { name = "bench", signature = signature, env = env })
  local total = (roc.time() - start) * 1e3
  local times = kernel:times()
  local known = 0
  for _, ms in pairs(times) do known = known + ms end
  times.parse, times.total = total - known, total
  return times
end

local function report(name, times)
  local row = { ("%-16s"):format(name) }
  for i, stage in ipairs(STAGES) do row[i + 1] = ("%10.2f"):format(times[stage]) end
  print(table.concat(row) .. ("%10.2f"):format(times.total))
end

local function best_of(text, signature)
  local best = compile(text, signature)
  for _ = 2, WARM do
    local times = compile(text, signature)
    if times.total < best.total then best = times end
  end
  return best
end

-- Source text to code object for an AMD GPU: the first of the process and the least of the warm
-- ones.
local function report_target(name, text, signature, target, check)
  local first, best
  for _ = 0, WARM do
    local start = roc.time()
    local kernel = roc.kernel(text, { name = "bench", signature = signature, env = env,
      check = check })
    kernel:compile(target):close()
    local total = (roc.time() - start) * 1e3
    first, best = first or total, math.min(best or total, total)
  end
  print(("%-10s %-8s %-9s first %7.2f, warm %7.2f"):format(name, target,
    check and "checked" or "unchecked", first, best))
end

local TARGET = os.getenv "ROCLUA_BENCH_TARGET"
if TARGET then
  local scope <close> = roc.on_device("sim") -- which compiles nothing for itself
  local SAXPY, TILED = "(float32, float32[:], float32[:])",
    "(float32[:,:], float32[:,:], float32[:,:])"
  for _, check in ipairs { false, true } do
    report_target("saxpy", saxpy, SAXPY, TARGET, check)
    report_target("tiled", tiled, TILED, TARGET, check)
  end
  return
end

local header = { ("%-16s"):format("milliseconds") }
for _, stage in ipairs(STAGES) do header[#header + 1] = ("%10s"):format(stage) end
print(table.concat(header) .. "     total")
for _, case in ipairs {
  { "saxpy", saxpy, "(float32, float32[:], float32[:])" },
  { "tiled", tiled, "(float32[:,:], float32[:,:], float32[:,:])" },
} do
  report(case[1] .. ", first", compile(case[2], case[3]))
  report(case[1] .. ", warm", best_of(case[2], case[3]))
end
