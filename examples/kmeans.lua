-- Groups of points by k-means: scripts/run.sh examples/kmeans.lua [points]
-- Points are drawn around five known centres. Each round assigns every point to its nearest centre
-- by one kernel, and moves each centre to the mean of its points. Prints the centres found, which
-- must be near the known ones.
local roc = require "roc"

local n = math.tointeger(tonumber(arg[1] or 100000))
assert(n and n >= 500, "usage: kmeans.lua [points], a whole number from 500 on")
local KNOWN = { { -4, -4 }, { -4, 4 }, { 0, 0 }, { 4, -4 }, { 4, 4 } }
local K, ROUNDS = #KNOWN, 12

roc.seed(3)
local points = roc.random_normal({ n, 2 }, "float32") * 0.7
local known = roc.array(KNOWN, "float32")
points = points + known[roc.random_integers(1, K, n)]

-- Adds each point to the sums of its centre: x, y and how many.
local assign = roc.kernel(function(owner, points, centres, sums)
  local i = roc.get_global_id(1)
  if i <= #points then
    local x, y = points[i][1], points[i][2]
    local best, nearest = 1, math.huge
    for k = 1, K do
      local dx, dy = x - centres[k][1], y - centres[k][2]
      local distance = dx * dx + dy * dy
      if distance < nearest then best, nearest = k, distance end
    end
    owner[i] = best
    -- Integers, so that the order of the additions changes nothing.
    roc.atomic.add(sums, { best, 1 }, math.floor(x * 65536))
    roc.atomic.add(sums, { best, 2 }, math.floor(y * 65536))
    roc.atomic.add(sums, { best, 3 }, 1)
  end
end)

local on_device = roc.to_device(points)
local owner = roc.device_array(n, "int32")
local centres = roc.to_device(known + 1.5) -- a poor guess
for _ = 1, ROUNDS do
  local sums = roc.to_device(roc.zeros({ K, 3 }, "int64"))
  assign:forall(n)(owner, on_device, centres, sums)
  local s = sums:copy_to_host()
  local counts = s[{ {}, { 3, 3 } }]:astype("float64")
  centres:copy_from_host((s[{ {}, { 1, 2 } }] / 65536 / counts):astype("float32"))
end

local found, counts = centres:copy_to_host(), owner:copy_to_host():bincount()
for k = 1, K do
  print(("centre %d: %6.3f %6.3f, %d points"):format(k, found[k][1], found[k][2], counts[k]))
end
assert(counts:sum() == n, "a point has no centre")
assert(roc.allclose(found, known, 0, 0.2), "a centre is not where it should be")
print(("%d points on %s: all centres are near the known ones"):format(n,
  roc.current_device().name))
