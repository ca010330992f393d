-- Spheres over a floor, by ray tracing: scripts/run.sh examples/spheres.lua [OUT.png] [width]
-- A ray for each pixel, up to four reflections, one light with shadows. Prints the file's name,
-- after comparing pixels with the same Lua functions run on the host.
local roc = require "roc"

local path = arg[1] or "spheres.png"
local width = math.tointeger(tonumber(arg[2] or 640))
assert(path:find("%.png$") and width and width >= 2,
  "usage: spheres.lua [OUT.png] [width], a whole number from 2 on")
local height = width * 3 // 4

-- x, y, z, radius, grey, mirror
local SCENE = roc.array {
  { 0.0, 1.0, 6.0, 1.0, 0.9, 0.4 },
  { -2.2, 0.7, 5.0, 0.7, 0.7, 0.2 },
  { 2.0, 0.6, 4.6, 0.6, 0.5, 0.5 },
  { 0.6, 0.3, 3.6, 0.3, 1.0, 0.1 },
  { -0.9, 0.35, 3.9, 0.35, 0.3, 0.6 },
}
local COUNT, FAR, NEAR = #SCENE, 1e9, 1e-4
local LX, LY, LZ = 0.48, 0.8, -0.36 -- towards the light, of length 1

-- The distance along a ray to the nearest sphere, and its number (0: the floor, -1: the sky).
local function hit(scene, ox, oy, oz, dx, dy, dz)
  local nearest, which = FAR, -1
  if dy < -NEAR then
    nearest, which = -oy / dy, 0
  end
  for k = 1, COUNT do
    local x, y, z, r = ox - scene[k][1], oy - scene[k][2], oz - scene[k][3], scene[k][4]
    local b = x * dx + y * dy + z * dz
    local d = b * b - (x * x + y * y + z * z - r * r)
    if d > 0 then
      local t = -b - math.sqrt(d)
      if t > NEAR and t < nearest then nearest, which = t, k end
    end
  end
  return nearest, which
end

-- The brightness that a ray sees, from 0 to 1.
local function trace(scene, ox, oy, oz, dx, dy, dz)
  local seen, weight = 0.0, 1.0
  for _ = 1, 4 do
    local t, which = hit(scene, ox, oy, oz, dx, dy, dz)
    if which < 0 then
      seen = seen + weight * (0.4 + 0.5 * math.max(dy, 0.0))
      break
    end
    ox, oy, oz = ox + t * dx, oy + t * dy, oz + t * dz
    local nx, ny, nz, grey, mirror = 0.0, 1.0, 0.0, 0.8, 0.15
    if which == 0 then
      if (math.floor(ox) + math.floor(oz)) % 2 == 0 then grey = 0.3 end
    else
      local r = scene[which][4]
      nx, ny = (ox - scene[which][1]) / r, (oy - scene[which][2]) / r
      nz = (oz - scene[which][3]) / r
      grey, mirror = scene[which][5], scene[which][6]
    end
    local light = math.max(nx * LX + ny * LY + nz * LZ, 0.0)
    if light > 0 then
      local _, blocker = hit(scene, ox + nx * NEAR, oy + ny * NEAR, oz + nz * NEAR, LX, LY, LZ)
      if blocker > 0 then light = 0.0 end
    end
    seen = seen + weight * (1 - mirror) * grey * (0.15 + 0.85 * light)
    weight = weight * mirror
    local along = 2 * (dx * nx + dy * ny + dz * nz)
    dx, dy, dz = dx - along * nx, dy - along * ny, dz - along * nz
    ox, oy, oz = ox + nx * NEAR, oy + ny * NEAR, oz + nz * NEAR
  end
  return seen
end

-- The grey of a pixel, both counted from 1.
local function pixel(scene, column, row)
  local x, y = (column - 0.5) / width * 2 - 1, (0.5 - (row - 0.5) / height) * 1.5
  local length = math.sqrt(x * x + y * y + 2.25)
  local seen = trace(scene, 0.0, 1.2, 0.0, x / length, y / length, 1.5 / length)
  return math.floor(255.0 * math.min(seen, 1.0))
end

local render = roc.kernel(function(image, scene)
  local column, row = roc.grid(2)
  if row <= image.shape[1] and column <= image.shape[2] then
    image[row][column] = pixel(scene, column, row)
  end
end, { contract = false })

local image = roc.device_array({ height, width }, "uint8")
render:forall(width, height)(image, roc.to_device(SCENE))
roc.save(path, image)

local read = roc.load(path)
for row = 1, height, 23 do
  for column = 1, width, 19 do
    assert(read[row][column] == pixel(SCENE, column, row),
      ("pixel (%d, %d) differs from the host's"):format(column, row))
  end
end
print(("%s: %d x %d pixels, traced on %s; pixels agree with the host's"):format(path, width, height,
  roc.current_device().name))
