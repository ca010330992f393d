-- Counts the kernels that a function makes, for specs of what keeps kernels.
local core = require "roc.core"

---The number of kernels that `f` makes.
---@param f fun()
---@return integer
return function(f)
  local new, count = core.kernel_new, 0
  core.kernel_new = function(...)
    count = count + 1
    return new(...)
  end
  local ok, why = pcall(f)
  core.kernel_new = new
  assert(ok, why)
  return count
end
