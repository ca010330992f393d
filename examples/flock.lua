-- A game loop: a flock of birds, moved in fixed steps of time and drawn in the terminal.
-- scripts/run.sh examples/flock.lua [seconds [birds]]
--
-- Each frame queues its steps and the drawing on a stream, then waits once, for the picture. How
-- many steps a frame takes is decided by the clock, so the flock is as quick on every device, while
-- its course depends on the number of steps alone: that is checked against a Lua loop.
local roc = require "roc"

local seconds, birds = tonumber(arg[1] or 3), math.tointeger(tonumber(arg[2] or 1000))
assert(seconds and birds and birds >= 1,
  "usage: flock.lua [seconds [birds]], a number and a whole number from 1 on")
local WIDTH, HEIGHT = 76, 22
local STEP = 1 / 60             -- seconds a step
local SIGHT, SPEED = 0.05, 0.25 -- of a world that is 1 by 1 and has no edge

-- The way from a to b on a ring of circumference 1.
local function way(a, b)
  local d = b - a
  return d - math.floor(d + 0.5)
end

-- Where the i-th of n birds is and flies after a step: it turns to where those in sight are and
-- fly, and keeps a distance. The kernel calls this function for arrays, the check below for tables.
local function fly(flock, i, n)
  local x, y, vx, vy = flock[i][1], flock[i][2], flock[i][3], flock[i][4]
  local ax, ay, seen = 0.0, 0.0, 0
  for j = 1, n do
    local dx, dy = way(x, flock[j][1]), way(y, flock[j][2])
    local r2 = dx * dx + dy * dy
    if r2 < SIGHT * SIGHT and j ~= i then
      local closeness = r2 < SIGHT * SIGHT * 0.1 and -2.0 or 0.5
      ax, ay = ax + closeness * dx + flock[j][3] - vx, ay + closeness * dy + flock[j][4] - vy
      seen = seen + 1
    end
  end
  local share = seen > 0 and 0.1 / seen or 0.0
  vx, vy = vx + ax * share, vy + ay * share
  local scale = SPEED / math.sqrt(vx * vx + vy * vy + 1e-12)
  vx, vy = vx * scale, vy * scale
  x, y = x + vx * STEP, y + vy * STEP
  return x - math.floor(x), y - math.floor(y), vx, vy
end

local step = roc.kernel(function(to, from)
  local i, n = roc.get_global_id(1), from.shape[1]
  if i <= n and n == to.shape[1] then
    local x, y, vx, vy = fly(from, i, n)
    to[i][1], to[i][2], to[i][3], to[i][4] = x, y, vx, vy
  end
end, { contract = false })

local draw = roc.kernel(function(picture, flock)
  local i = roc.get_global_id(1)
  if i <= flock.shape[1] then
    local column = math.min(math.floor(flock[i][1] * WIDTH) + 1, WIDTH)
    local row = math.min(math.floor(flock[i][2] * HEIGHT) + 1, HEIGHT)
    roc.atomic.add(picture, { row, column }, 1)
  end
end)

-- Birds at random places that fly to random sides: x, y and the speed along each.
local function make(n)
  local flock = roc.random({ n, 4 }, "float64")
  for i = 1, n do
    local angle = flock[i][3] * 2 * math.pi
    flock[i][3], flock[i][4] = SPEED * math.cos(angle), SPEED * math.sin(angle)
  end
  return flock
end

-- Two arrays, of now and of the step before, that change places.
local world = {}
world.__index = world

function world.new(flock)
  return setmetatable({ now = roc.to_device(flock), before = roc.device_array_like(flock) }, world)
end

function world:advance(steps, stream)
  for _ = 1, steps do
    self.now, self.before = self.before, self.now
    step:forall(self.now.shape[1], { stream = stream })(self.now, self.before)
  end
end

local SHADES <const> = " .:+*#@"

local function show(picture)
  local lines = {}
  for row = 1, HEIGHT do
    local line = {}
    for column = 1, WIDTH do
      local shade = math.min(picture[row][column], #SHADES - 1) + 1
      line[column] = SHADES:sub(shade, shade)
    end
    lines[row] = table.concat(line)
  end
  io.write("\27[H", table.concat(lines, "\n"), "\n") -- from the top left corner on
end

-- ---- the loop ---------------------------------------------------------------------------------

roc.seed(7)
local flock, stream = world.new(make(birds)), roc.stream()
local cells = roc.device_array({ HEIGHT, WIDTH }, "int32")
local picture = roc.pinned_array({ HEIGHT, WIDTH }, "int32")
local start, frames, steps = roc.time(), 0, 0
io.write("\27[2J")
repeat
  local now = roc.time() - start
  local due = math.min(now // STEP - steps, 10) // 1 | 0 -- a slow device slows the flock down
  flock:advance(due, stream)
  cells:fill(0, stream)
  draw:forall(birds, { stream = stream })(cells, flock.now)
  cells:copy_to_host(picture, stream)
  stream:synchronize()
  assert(picture:sum() == birds, "a bird is lost")
  show(picture)
  frames, steps = frames + 1, steps + due
until now >= seconds
print(("%d birds, %d frames, %d steps on %s"):format(birds, frames, steps,
  roc.current_device().name))

-- ---- the same by a Lua loop -------------------------------------------------------------------

local few = make(20)
local device, list = world.new(few), few:totable()
device:advance(50, stream)
for _ = 1, 50 do
  local moved = {}
  for i = 1, #list do moved[i] = { fly(list, i, #list) } end
  list = moved
end
assert(roc.allclose(device.now, list, 1e-9, 1e-9), "the flock flies elsewhere than the Lua loop's")
print("50 steps of 20 birds agree with a Lua loop")
