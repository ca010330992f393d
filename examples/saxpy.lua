-- y = a·x + y over a million elements: scripts/run.sh examples/saxpy.lua [elements]
-- Prints the device, how many elements were computed, and that a plain Lua loop finds the same.
local roc = require "roc"

local n = math.tointeger(tonumber(arg[1] or 1000000))
assert(n and n >= 1, "usage: saxpy.lua [elements], a whole number from 1 on")
local a = 2.5
local x = roc.random(n, "float32")
local y = roc.random(n, "float32")
local before = y:copy()

local saxpy = roc.kernel(function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = a * x[i] + y[i] end
end, { contract = false }) -- product and sum rounded one by one, as the loop below does it

local dx, dy = roc.to_device(x), roc.to_device(y)
saxpy:forall(n)(a, dx, dy)
dy:copy_to_host(y) -- waits

local function float32(v) return string.unpack("f", string.pack("f", v)) end
for i = 1, n do
  local expected = float32(float32(a * x[i]) + before[i])
  assert(y[i] == expected, ("element %d is %.9g, expected %.9g"):format(i, y[i], expected))
end
print(("saxpy of %d float32 elements on %s: all equal to a Lua loop"):format(n,
  roc.current_device().name))
