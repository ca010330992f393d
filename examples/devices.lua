-- One job on two devices: scripts/run.sh examples/devices.lua [elements]
-- Takes the first two devices of the machine that compute (ROCLUA_CPU_DEVICES=2 makes two of one
-- processor), gives each a half, lets both work at the same time, and checks every element.
local roc = require "roc"

local n = math.tointeger(tonumber(arg[1] or 1000000))
assert(n and n >= 2, "usage: devices.lua [elements], a whole number from 2 on")

local polynomial = roc.kernel(function(y, x)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = ((x[i] + 2) * x[i] - 3) * x[i] + 1 end
end, { contract = false })

local devices = {}
for i, device in ipairs(roc.devices()) do
  local computes = device.kind ~= "null" and device.kind ~= "sim" and device.state ~= "absent"
  if computes and #devices < 2 then
    devices[#devices + 1] = { number = i, name = device.name }
  end
end
devices[2] = devices[2] or devices[1]

local x, y = roc.random(n), roc.zeros(n)
local halves = {}
for k, device in ipairs(devices) do -- nothing here waits
  local first, last = (k - 1) * n // 2 + 1, k * n // 2
  local _ <close> = roc.on_device(device.number)
  local dx = roc.to_device(x:slice(1, first, last))
  local dy = roc.device_array_like(dx)
  polynomial:forall(#dx)(dy, dx)
  halves[k] = { first = first, last = last, result = dy }
end
for k, half in ipairs(halves) do
  half.result:copy_to_host(y:slice(1, half.first, half.last))
  print(("%s: elements %d to %d"):format(devices[k].name, half.first, half.last))
end

for i = 1, n do
  assert(y[i] == ((x[i] + 2) * x[i] - 3) * x[i] + 1, ("element %d is wrong"):format(i))
end
print("every element agrees with a Lua loop")
