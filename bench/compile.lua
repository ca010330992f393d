-- How long a kernel takes to become machine code: build/release/bin/roclua bench/compile.lua Prints
-- the first compile of the process, which opens the compiler, then the least of ten, of saxpy and
-- of the tiled product.
local roc = require "roc"
local system = require "system"

local saxpy = [[function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = a * x[i] + y[i] end
end]]

local tiled = [[function(a, b, c)
  local block_a, block_b = roc.shared.array({ 16, 16 }, roc.float32), roc.shared.array({ 16, 16 }, roc.float32)
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

local function compile(text, signature)
  local start = system.monotime()
  roc.kernel(text, { name = "bench", signature = signature, env = env })
  return (system.monotime() - start) * 1e3
end

local function report(name, text, signature)
  local first, best = compile(text, signature), math.huge
  for _ = 1, 10 do best = math.min(best, compile(text, signature)) end
  print(("%-8s first %8.2f ms, then %8.2f ms"):format(name, first, best))
end

report("saxpy", saxpy, "(float32, float32[:], float32[:])")
report("tiled", tiled, "(float32[:,:], float32[:,:], float32[:,:])")
