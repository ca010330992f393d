-- A small neural network that tells two spirals apart: scripts/run.sh examples/network.lua [rounds]
-- Trains 2 inputs, 24 hidden units and 1 output by array expressions on the host, then lets a
-- kernel judge a grid of points and draws what it says. The kernel must agree with the array
-- expression, and most of the points must be on the right side.
local roc = require "roc"

local rounds = math.tointeger(tonumber(arg[1] or 500))
assert(rounds and rounds >= 0, "usage: network.lua [rounds], a whole number")
local POINTS, HIDDEN, RATE = 160, 24, 0.02

-- Points of two spirals, labelled -1 and 1.
local x, label = roc.zeros({ 2 * POINTS, 2 }), roc.zeros(2 * POINTS)
for i = 1, 2 * POINTS do
  local side, t = i % 2, 0.25 + (i + 1) // 2 / POINTS * 3.2
  local angle = t * 1.6 + side * math.pi
  x[i][1], x[i][2], label[i] = 0.3 * t * math.cos(angle), 0.3 * t * math.sin(angle), 2 * side - 1
end

roc.seed(5)
local w1, b1 = roc.random_normal({ HIDDEN, 2 }) * 3, roc.random_normal(HIDDEN)
local w2, b2 = roc.random_normal(HIDDEN) * 0.3, 0.0

-- Rows of points times rows of weights, by broadcasting.
local function hidden_of(points)
  local columns = points:reshape(#points, 1, 2)
  return roc.math.tanh((columns * w1:reshape(1, HIDDEN, 2)):sum { axis = 3 } + b1)
end

local function judge(points) return (hidden_of(points) * w2):sum { axis = 2 } + b2 end

for round = 1, rounds do
  local hidden = hidden_of(x)
  local miss = (hidden * w2):sum { axis = 2 } + b2 - label
  local back = miss:reshape(#x, 1) * w2 * (1 - hidden * hidden) / #x
  w2 = w2 - (miss:reshape(#x, 1) * hidden):mean { axis = 1 } * RATE * 10
  b2 = b2 - miss:mean() * RATE
  w1 = w1 - (back:reshape(#x, HIDDEN, 1) * x:reshape(#x, 1, 2)):sum { axis = 1 } * RATE * 100
  b1 = b1 - back:sum { axis = 1 } * RATE * 100
  if round % math.max(1, rounds // 3) == 0 then
    print(("round %d: mean square error %.3f"):format(round, (miss * miss):mean()))
  end
end

local infer = roc.kernel(function(out, points, w1, b1, w2, b2)
  local i = roc.get_global_id(1)
  if i <= #out then
    local sum = b2
    for k = 1, #w2 do
      sum = sum + w2[k] * roc.math.tanh(w1[k][1] * points[i][1] + w1[k][2] * points[i][2] + b1[k])
    end
    out[i] = sum
  end
end)

local function infer_on_device(points)
  local out = roc.device_array(#points)
  infer:forall(#points)(out, roc.to_device(points), roc.to_device(w1), roc.to_device(b1),
    roc.to_device(w2), b2)
  return out:copy_to_host()
end

local ROWS, COLUMNS = 22, 56
local grid = roc.zeros({ ROWS * COLUMNS, 2 })
for i = 0, ROWS * COLUMNS - 1 do
  grid[i + 1][1], grid[i + 1][2] = (i % COLUMNS) / (COLUMNS - 1) * 2.4 - 1.2,
    1.2 - (i // COLUMNS) / (ROWS - 1) * 2.4
end
local field = infer_on_device(grid)
for row = 0, ROWS - 1 do
  local line = {}
  for column = 1, COLUMNS do line[column] = field[row * COLUMNS + column] > 0 and "#" or "." end
  print(table.concat(line))
end

local judged = infer_on_device(x)
assert(roc.allclose(judged, judge(x), 1e-9, 1e-9), "kernel and array expression differ")
local right = (judged * label):gt(0):count()
print(("%d of %d points are on the right side, judged on %s"):format(right, #x,
  roc.current_device().name))
assert(rounds < 400 or right > 0.8 * #x, "the network has not learned")
