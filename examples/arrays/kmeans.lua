-- k-means by array expressions: scripts/run.sh examples/arrays/kmeans.lua [points]
-- The same groups as in examples/kmeans.lua, which has a kernel; the centres found must be near
-- the known ones.
local roc = require "roc"

local n = math.tointeger(tonumber(arg[1] or 20000))
assert(n and n >= 200, "usage: arrays/kmeans.lua [points], a whole number from 200 on")
local ROUNDS = 4

local rng = roc.rng(3)
local known = roc.array { { -4, -4 }, { -4, 4 }, { 0, 0 }, { 4, -4 }, { 4, 4 } }
local count = #known
local points = known[rng:integers(1, count, n)] + rng:normal { n, 2 } * 0.7

-- From each point to each centre, squared.
local function distances(centres)
  local between = points:reshape(n, 1, 2) - centres:reshape(1, #centres, 2)
  return (between * between):sum { axis = 3 }
end

local centres = points[{ { 1, 1 } }] -- then, each time, the point that is farthest from all
while #centres < count do
  local farthest = distances(centres):min { axis = 2 }:argmax()
  centres = roc.concat { centres, points[{ { farthest, farthest } }] }
end
for _ = 1, ROUNDS do
  local owner = distances(centres):argmin { axis = 2 }
  for k = 1, count do centres[k] = points[owner:eq(k)]:mean { axis = 1 } end
end

print(centres)
local apart = centres:reshape(count, 1, 2) - known:reshape(1, count, 2)
local nearest = roc.math.sqrt((apart * apart):sum { axis = 3 }):min { axis = 1 }
assert(nearest:lt(0.5):all(), "a centre was not found")
print "all centres are near the known ones"
