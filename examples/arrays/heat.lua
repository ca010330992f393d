-- The heat equation by array expressions: scripts/run.sh examples/arrays/heat.lua [steps]
-- A wave of warmth on a plate whose edges meet; each step adds a part of what the four neighbours
-- differ. Such a wave keeps its form and fades by a known factor a step, which it must do.
local roc = require "roc"

local steps = math.tointeger(tonumber(arg[1] or 500))
assert(steps and steps >= 0, "usage: arrays/heat.lua [steps], a whole number")
local SIZE, PART = 32, 0.2

local angle = (roc.range(0, SIZE - 1) * (2 * math.pi / SIZE))
local first = roc.math.cos(angle):reshape(SIZE, 1) * roc.math.cos(angle)

local plate = first
for _ = 1, steps do
  local around = plate:roll(1, { axis = 1 }) + plate:roll(-1, { axis = 1 })
    + plate:roll(1, { axis = 2 }) + plate:roll(-1, { axis = 2 })
  plate = plate + (around - 4 * plate) * PART
end

local factor = (1 - 4 * PART * (1 - math.cos(2 * math.pi / SIZE))) ^ steps
print(("the wave is %.6f high after %d steps, expected %.6f"):format(plate:max(), steps, factor))
assert(roc.allclose(plate, first * factor, 1e-9, 1e-12))
print "the plate cooled as it should"
