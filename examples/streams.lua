-- Chunks through a pipeline: scripts/run.sh examples/streams.lua [numbers] [chunks]
-- Each chunk is copied in, worked on and copied out on one of two streams, so that the copies of
-- one chunk overlap the kernel of another. A third stream adds up what the chunks give, each when
-- its event says it is ready. Prints the device time of all; checks every number.
local roc = require "roc"

local n = math.tointeger(tonumber(arg[1] or 1 << 20))
local count = math.tointeger(tonumber(arg[2] or 8))
assert(n and count and n >= count and count >= 1,
  "usage: streams.lua [numbers] [chunks], whole numbers, at least one number for each chunk")
local length = (n + count - 1) // count

local smooth = roc.kernel(function(y, x)
  local i = roc.get_global_id(1)
  if i <= #x then
    local v = x[i]
    for _ = 1, 24 do v = v - (v * v - x[i]) / (2.0 * v) end -- Newton's way to the square root
    y[i] = v
  end
end, { name = "smooth" })

local add = roc.kernel(function(total, y)
  local i = roc.get_global_id(1)
  if i <= #y then total[i] = total[i] + y[i] end
end, { name = "add" })

roc.seed(1)
local input, output = roc.random(n):astype("float64"), roc.zeros(n)
for i = 1, n, 997 do input[i] = input[i] + 1 end
local sum = roc.to_device(roc.zeros(length))
local lanes, adder = { roc.stream(), roc.stream() }, roc.stream()
local first, last = roc.event():record(adder), roc.event()

do
  local scope <close> = adder:auto_synchronize()
  for c = 1, count do
    local s = lanes[c % 2 + 1]
    local from, to = (c - 1) * length + 1, math.min(c * length, n)
    if from <= to then
      local x = roc.to_device(input:slice(1, from, to), { stream = s })
      local y = roc.device_array_like(x)
      smooth:forall(#x, { stream = s })(y, x)
      y:copy_to_host(output:slice(1, from, to), s)
      adder:wait(roc.event():record(s))
      add:forall(#y, { stream = adder })(sum, y)
    end -- x and y may be collected: work in flight keeps them
  end
  last:record(adder)
end
print(("%d numbers in %d chunks, %.1f ms on %s"):format(n, count, roc.elapsed(first, last),
  roc.current_device().name))

local on_device, on_host = 0.0, 0.0
local parts = sum:copy_to_host()
for i = 1, #parts do on_device = on_device + parts[i] end
for i = 1, n do
  local expected = math.sqrt(input[i])
  assert(math.abs(output[i] - expected) <= 1e-6 * (1 + expected), "wrong result")
  on_host = on_host + output[i]
end
assert(math.abs(on_device - on_host) <= 1e-9 * on_host, "wrong sum")
print("every root and their sum agree with the host's")
