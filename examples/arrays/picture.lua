-- A picture through a few filters: scripts/run.sh examples/arrays/picture.lua [out.png [width]]
-- Draws a disc before a gradient; makes it grey, blurs it, finds its edges and brightens them, all
-- by array expressions, and saves the result. The edges must lie on the circle.
local roc = require "roc"

local out, size = arg[1], math.tointeger(tonumber(arg[2] or 200))
assert(size and size >= 32, "usage: arrays/picture.lua [out.png [width]], at least 32")
local RADIUS = size / 4

local x, y = roc.range(1, size):reshape(1, size), roc.range(1, size):reshape(size, 1)
local distance = roc.math.hypot(x - size / 2, y - size / 2)
local disc = distance:lt(RADIUS)
local red, green, blue = roc.where(disc, 250, x * 100 // size), roc.where(disc, 200, 40),
  roc.where(disc, 30, y * 100 // size)
local picture = roc.stack({ red, green + 0 * x, blue }, { axis = 3 }):astype("uint8")

-- Weighted by how bright each colour looks; 0 to 1.
local grey = (picture * roc.array({ 0.299, 0.587, 0.114 }, "float32")):sum { axis = 3 } / 255

-- The mean of each pixel and its neighbours along a dimension.
local function blurred(image, axis)
  return (image + image:roll(1, { axis = axis }) + image:roll(-1, { axis = axis })) / 3
end

local soft = blurred(blurred(grey, 1), 2)
local across = soft:roll(-1, { axis = 2 }) - soft:roll(1, { axis = 2 })
local down = soft:roll(-1, { axis = 1 }) - soft:roll(1, { axis = 1 })
local edges = roc.math.hypot(across, down)[{ { 4, size - 3 }, { 4, size - 3 } }] -- without the rim
local bright = roc.clip((edges / edges:max()) ^ 0.5 * 255, 0, 255):astype("uint8")
if out then roc.save(out, bright) end

local near = distance[{ { 4, size - 3 }, { 4, size - 3 } }]
local strong = bright:gt(180)
local far = roc.math.abs(near[strong] - RADIUS):max()
print(("%d strong pixels, at most %.2f from the circle"):format(strong:count(), far))
assert(strong:count() > 4 * RADIUS and far < 3)
print "the edges are on the circle"
