-- Distances along great circles, out of one Lua function of four numbers:
-- scripts/run.sh examples/vectorize.lua [points]
-- Prints a table of distances between cities, the farthest of many random points and how far a walk
-- over them leads; each is compared with a plain Lua loop.
local roc = require "roc"

local count = math.tointeger(tonumber(arg[1] or 200000))
assert(count and count >= 2, "usage: vectorize.lua [points], a whole number from 2 on")
local RADIUS = 6371.0 -- km

local function great_circle(lat1, lon1, lat2, lon2)
  local a, b = math.sin(math.rad(lat2 - lat1) / 2), math.sin(math.rad(lon2 - lon1) / 2)
  local cosines = math.cos(math.rad(lat1)) * math.cos(math.rad(lat2))
  return 2 * RADIUS * math.asin(math.sqrt(a * a + cosines * b * b))
end

local distance = roc.vectorize(great_circle)
local farthest = roc.reduce(math.max)
local walk = roc.scan(function(x, y) return x + y end)

local function assert_near(expected, got, what)
  assert(math.abs(expected - got) <= 1e-9 * math.abs(expected) + 1e-9,
    ("%s is %.17g, expected %.17g"):format(what, got, expected))
end

-- every city against every other: a column broadcast against a row
local cities = { "Reykjavik", "Nairobi", "Lima", "Sydney" }
local lat = roc.array { 64.15, -1.29, -12.05, -33.87 }
local lon = roc.array { -21.94, 36.82, -77.04, 151.21 }
local n = #cities
local matrix = distance(lat:reshape(n, 1), lon:reshape(n, 1), lat, lon)
for i, city in ipairs(cities) do
  local row = {}
  for j = 1, n do
    row[j] = ("%6.0f"):format(matrix[i][j])
    assert_near(great_circle(lat[i], lon[i], lat[j], lon[j]), matrix[i][j], city)
  end
  print(("%-10s %s km"):format(city, table.concat(row, " ")))
end

-- many points on the device: from the first city, and from one point to the next
local lats, lons = roc.random(count), roc.random(count)
local to_degrees = roc.vectorize(function(u, width) return (u - 0.5) * width end)
local dlats = to_degrees(roc.to_device(lats), 180.0)
local dlons = to_degrees(roc.to_device(lons), 360.0)
local far = farthest(distance(lat[1], lon[1], dlats, dlons))

local function but_last(a) return a:slice(1, 1, count - 1) end
local function but_first(a) return a:slice(1, 2, count) end
local steps = distance(but_last(dlats), but_last(dlons), but_first(dlats), but_first(dlons))
local length = walk(steps)

dlats:copy_to_host(lats)
dlons:copy_to_host(lons)
local expected, total = 0.0, 0.0
for i = 1, count do
  expected = math.max(expected, great_circle(lat[1], lon[1], lats[i], lons[i]))
  if i > 1 then total = total + great_circle(lats[i - 1], lons[i - 1], lats[i], lons[i]) end
end
assert_near(expected, far, "the farthest distance")
assert_near(total, length[count - 1], "the length of the walk")
print(("%d points on %s: the farthest is %.0f km away, and a walk over them has %.0f km")
  :format(count, roc.current_device().name, far, total))
print("all agree with a Lua loop")
