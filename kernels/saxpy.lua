--- The two streams of BLAS level 1: y = a·x + y, and STREAM's triad c = a + s·b.
--- Launch with one work-item an element: `saxpy:forall(#y)(a, x, y)`.
local roc = require "roc"

local saxpy = {}

---@param a number
---@param x roc.DeviceArray as long as `y`
---@param y roc.DeviceArray read and written
saxpy.saxpy = roc.kernel(function(a, x, y)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = a * x[i] + y[i] end
end, { name = "saxpy" })

---@param s number
---@param a roc.DeviceArray
---@param b roc.DeviceArray as long as `a`
---@param c roc.DeviceArray as long as `a`; written
saxpy.triad = roc.kernel(function(s, a, b, c)
  local i = roc.get_global_id(1)
  if i <= #c then c[i] = a[i] + s * b[i] end
end, { name = "triad" })

return saxpy
