-- The product of two n × n matrices, tiled through shared memory:
-- scripts/run.sh examples/matmul.lua [n]
-- Prints how fast the tiled and the naive kernel are, and that both agree with a Lua loop.
local roc = require "roc"
local gemm = require "roc.kernels.gemm"

local n = math.tointeger(tonumber(arg[1] or 512))
assert(n and n >= 1, "usage: matmul.lua [n], a whole number from 1 on")
local TILE = gemm.TILE

local a = roc.to_device(roc.random({ n, n }, "float32"))
local b = roc.to_device(roc.random({ n, n }, "float32"))
local tiled_c = roc.device_array({ n, n }, "float32")
local naive_c = roc.device_array({ n, n }, "float32")

local groups = (n + TILE - 1) // TILE
local launches = {
  { name = "tiled", c = tiled_c, run = gemm.tiled[{ { groups, groups }, { TILE, TILE } }] },
  { name = "naive", c = naive_c, run = gemm.naive[{ { groups, groups }, { TILE, TILE } }] },
}

local device = roc.current_device()
print(("%d x %d float32 on %s"):format(n, n, device.name))
for _, launch in ipairs(launches) do
  launch.run(a, b, launch.c) -- compiles
  device:synchronize()
  local start = roc.time()
  launch.run(a, b, launch.c)
  device:synchronize()
  local seconds = roc.time() - start
  print(("%s: %.3f ms, %.2f GFLOP/s"):format(launch.name, seconds * 1e3,
    2 * n ^ 3 / seconds * 1e-9))
end

-- Both add the same products in the same order; they may differ in which sums are fused.
assert(roc.allclose(tiled_c:copy_to_host(), naive_c:copy_to_host(), 1e-4), "tiled and naive differ")

-- One element by hand, in Lua's own arithmetic.
local row, column, sum = a:copy_to_host()[1], b:copy_to_host(), 0.0
for k = 1, n do sum = sum + row[k] * column[k][n] end
assert(math.abs(tiled_c:copy_to_host()[1][n] - sum) < 1e-4 * sum, "the product is wrong")
-- The quickest for these shapes, which is found once and kept on disk.
local tuned, choice = gemm.tuned(a, b, naive_c)
tuned(a, b, naive_c)
assert(roc.allclose(tiled_c:copy_to_host(), naive_c:copy_to_host(), 1e-4), "tuned differs")
print("the quickest of all: " .. (math.type(choice) and "tiles of " .. choice or choice))
print("tiled and naive agree, and with a Lua loop")
