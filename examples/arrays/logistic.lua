-- Logistic regression by array expressions: scripts/run.sh examples/arrays/logistic.lua [points]
-- Finds the line between two classes of points by gradient descent, and must find its direction.
local roc = require "roc"

local n = math.tointeger(tonumber(arg[1] or 20000))
assert(n and n >= 100, "usage: arrays/logistic.lua [points], a whole number from 100 on")
local ROUNDS, RATE = 30, 8.0

local rng = roc.rng(7)
local x, truth, offset = rng:normal { n, 2 }, roc.array { 2, -1 }, 0.5
local label = (x:matmul(truth) + offset + rng:normal(n) * 0.1):gt(0)
local wanted = roc.where(label, 1.0, 0.0)

local w, b = roc.zeros(2), 0.0
for _ = 1, ROUNDS do
  local miss = 1 / (1 + roc.math.exp(-(x:matmul(w) + b))) - wanted
  w = w - x:transpose():matmul(miss) * (RATE / n)
  b = b - miss:mean() * RATE
end

local right = (x:matmul(w) + b):gt(0):eq(label):count()
local cosine = w:dot(truth) / (w:norm() * truth:norm())
print(("weights %.2f %.2f, offset %.2f"):format(w[1], w[2], b))
assert(right > 0.95 * n, "too many points are on the wrong side")
assert(cosine > 0.99, "the line has another direction")
print(("%.1f %% of the points are on the right side of the line"):format(100 * right / n))
