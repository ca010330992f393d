-- A disc of bodies under its own gravity: scripts/run.sh examples/nbody.lua [bodies] [steps]
-- Prints the time a step takes and how well momentum and energy are kept; both are checked.
local roc = require "roc"
local nbody = require "roc.kernels.nbody"

local n = math.tointeger(tonumber(arg[1] or 2048))
local steps = math.tointeger(tonumber(arg[2] or 20))
assert(n and n >= 1 and steps and steps >= 1,
  "usage: nbody.lua [bodies] [steps], whole numbers from 1 on")
local DT, EPS2 = 0.001, 0.01

-- A rotating disc: mass 1 in all, each body on about the circular orbit that the mass inside
-- allows.
roc.seed(1)
local bodies, velocity = roc.zeros({ n, 4 }, "float32"), roc.zeros({ n, 3 }, "float32")
local at, turn, height = roc.random(n), roc.random(n), roc.random_normal(n)
for i = 1, n do
  local radius, angle = 0.1 + math.sqrt(at[i]), 2 * math.pi * turn[i]
  local speed = math.sqrt(at[i] / radius)
  local body, v = bodies[i], velocity[i]
  body[1], body[2], body[3] = radius * math.cos(angle), radius * math.sin(angle), 0.05 * height[i]
  body[4] = 1 / n
  v[1], v[2] = -speed * math.sin(angle), speed * math.cos(angle)
end

-- Kinetic and potential energy, on the device: each item adds up one body's share.
local energy_of = roc.kernel(function(bodies, velocity, energy)
  local i = roc.get_global_id(1)
  if i <= #bodies then
    local potential = 0.0
    for j = 1, #bodies do
      if j ~= i then
        local dx = bodies[j][1] - bodies[i][1]
        local dy = bodies[j][2] - bodies[i][2]
        local dz = bodies[j][3] - bodies[i][3]
        potential = potential - bodies[j][4] * roc.math.rsqrt(dx * dx + dy * dy + dz * dz + EPS2)
      end
    end
    local v2 = velocity[i][1] ^ 2 + velocity[i][2] ^ 2 + velocity[i][3] ^ 2
    energy[i] = bodies[i][4] * 0.5 * (v2 + potential)
  end
end, { name = "energy" })

local here, there = roc.to_device(bodies), roc.device_array({ n, 4 }, "float32")
local speeds = roc.to_device(velocity)
local energy = roc.device_array(n, "float64")

local function total_energy()
  energy_of:forall(n)(here, speeds, energy)
  local sum = 0.0
  for _, share in ipairs(energy:copy_to_host():totable()) do sum = sum + share end
  return sum
end

local function momentum()
  local v, p = speeds:copy_to_host(), { 0.0, 0.0, 0.0 }
  for i = 1, n do
    for k = 1, 3 do p[k] = p[k] + v[i][k] / n end
  end
  return p
end

local energy_before, momentum_before = total_energy(), momentum()
local step = nbody.step[{ (n + nbody.BLOCK - 1) // nbody.BLOCK, nbody.BLOCK }]
local device = roc.current_device()
step(here, speeds, there, 0.0, EPS2) -- moves nothing: compiles
device:synchronize()
local start = roc.time()
for _ = 1, steps do
  step(here, speeds, there, DT, EPS2)
  here, there = there, here
end
device:synchronize()
local seconds = (roc.time() - start) / steps

local energy_drift = math.abs(total_energy() / energy_before - 1)
local momentum_drift, momentum_after = 0.0, momentum()
for k = 1, 3 do
  momentum_drift = math.max(momentum_drift, math.abs(momentum_after[k] - momentum_before[k]))
end
print(("%d bodies, %d steps on %s: %.2f ms a step, %.1f million pairs a second"):format(
  n, steps, device.name, seconds * 1e3, n * n / seconds * 1e-6))
print(("energy changed by %.3f %%, momentum by %.1e"):format(energy_drift * 100, momentum_drift))
assert(energy_drift < 0.01, "energy is not kept")
assert(momentum_drift < 1e-4, "momentum is not kept")
