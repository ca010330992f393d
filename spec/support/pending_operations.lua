-- What the specs of pending operations share, for arrays of the host and of devices.
local assert = require "luassert"
local testing = require "roc.core".testing

local M = {}

---A program of pending operations gives its result, or an error of memory, whichever of its
---allocations fails, and its result afterwards.
---@param ones fun(): roc.AnyArray a new array
function M.check_failing_allocations(ones)
  local function run()
    local x = ones()
    local y = x * 3 + 1
    x[1] = 10
    local z = (y - x) * y
    local w = (x * 5):slice(1, #x, 1, -1) - 1
    x:fill(2)
    return z[1] + z[2] + w[#x]
  end
  assert.equal(-24 + 12 + 49, run())
  local failures = 0
  collectgarbage "stop"
  for n = 1, 60 do
    testing.fail_alloc(n)
    local ok, result = pcall(run)
    testing.fail_alloc(0)
    if ok then
      assert.equal(-24 + 12 + 49, result)
    else
      failures = failures + 1
      assert.matches("memory", tostring(result))
    end
  end
  collectgarbage "restart"
  assert.is_true(failures > 0)
  assert.equal(-24 + 12 + 49, run())
end

return M
