-- The kernels of simulation.c, which runs this file again when it has changed.  It gives the
-- globals `now` and `after`, arrays of the program's memory, and calls step(rate) for each step.
local roc = require "roc"

local diffuse = roc.kernel(function(u, v, rate)
  local i, j = roc.get_global_id(1), roc.get_global_id(2)
  local n, m = #u, #u[1]
  local flow = 0.0
  if i > 1 then flow = flow + u[i - 1][j] - u[i][j] end
  if i < n then flow = flow + u[i + 1][j] - u[i][j] end
  if j > 1 then flow = flow + u[i][j - 1] - u[i][j] end
  if j < m then flow = flow + u[i][j + 1] - u[i][j] end
  v[i][j] = u[i][j] + rate * flow
end)

function step(rate) -- luacheck: ignore 111
  diffuse:forall(now.shape)(now, after, rate) -- luacheck: ignore 113
  now, after = after, now -- luacheck: ignore 111 113
end
