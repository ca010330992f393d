-- Text for the front end's fuzz spec: kernels as scripts write them.
local roc = require "roc"
local N <const>, SCALE = 16, 2.5
local TILE <const> = 1 << 4

local function saxpy(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then
    y[i] = a * x[i] + y[i]
  end
end

local function reduce(x, out)
  local sums = roc.shared.array(TILE, roc.float32)
  local lane, group = roc.get_local_id(1), roc.get_group_id(1)
  sums[lane] = x[roc.get_global_id(1)]
  roc.barrier()
  local step = TILE // 2
  while step >= 1 do
    if lane <= step then sums[lane] = sums[lane] + sums[lane + step] end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    step = step // 2
  end
  if lane == 1 then out[group] = sums[1] * SCALE end
end

local function mandel(cx, cy, limit)
  local x, y, n = 0.0, 0.0, 0
  repeat
    local xx, yy = x * x, y * y
    x, y = xx - yy + cx, 2 * x * y + cy
    n = n + 1
    if xx + yy > 4.0 then goto done end
  until n >= limit
  ::done::
  return n, x ^ 2, ~n & 0xFF
end

function roc.paint(a, w, h)
  for j = h, 1, -1 do
    for i = 1, w do
      if i % 2 == j % 2 then goto continue end
      a[j][i] = mandel(i / w - 0.5, j / h, 255) > N and 1 or 0
      ::continue::
    end
  end
end

return { saxpy = saxpy, reduce = reduce, N }
