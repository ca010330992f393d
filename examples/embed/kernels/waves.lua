-- A wave on a square membrane, for kernels.c.  It is compiled ahead of time, so each kernel has a
-- signature.
local roc = require "roc"

local SPEED = 0.25 -- (dt / dx)^2, a constant of the code

roc.kernel(function(heights, x, y, height)
  heights[x][y] = height
end, { name = "poke", signature = "(float32[:,:], int64, int64, float32)" })

roc.kernel(function(next, now, before)
  local i, j = roc.get_global_id(1), roc.get_global_id(2)
  local n, m = #now, #now[1]
  if i < 2 or i >= n or j < 2 or j >= m then return end
  local around = now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]
  next[i][j] = 2 * now[i][j] - before[i][j] + SPEED * (around - 4 * now[i][j])
end, { name = "step", signature = "(float32[:,:], float32[:,:], float32[:,:])" })
