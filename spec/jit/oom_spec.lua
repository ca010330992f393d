-- Memory that runs out at any point of a script: a clear error, nothing lost, and the next try
-- works.
local roc = require "roc"
local testing = require("roc.core").testing

local FAILURES = math.tointeger(os.getenv "ROCLUA_OOM_RUNS") or 60

-- Array, kernel, launch with copies both ways, and back; a new kernel each time, so that it is
-- compiled.
local function scenario(number)
  local a = roc.array({ 1, 2, 3, 4, 5, 6, 7, 8 }, "float32")
  local d <close> = roc.to_device(a)
  local k = roc.kernel(([[function(x, y, n)
    local i = roc.get_global_id(1)
    if i <= #x then x[i] = x[i] * n + y[i] + %d end
  end]]):format(number), { env = { roc = roc } })
  k:forall(8)(d, roc.In(a), 3.0)
  k[{ 2, 4 }](a, d, 2)
  return d:copy_to_host()[2] - number
end

local function settle()
  collectgarbage()
  collectgarbage()
  roc.current_device():synchronize()
  testing.trim()
  return testing.live_blocks()
end

describe("an allocation that fails", function()
  it("is an error that says so, and leaves nothing behind", function()
    scenario(0)
    local before, failed = settle(), 0
    for n = 1, FAILURES do
      testing.fail_alloc(n)
      local ok, result = pcall(scenario, n)
      testing.fail_alloc(0)
      if ok then
        assert.equal(8.0, result) -- collecting garbage and trying again helped
      else
        failed = failed + 1
        assert.matches("memory", tostring(result))
      end
    end
    assert.is_true(failed > 5)
    assert.equal(8.0, scenario(0))
    local after = settle()
    assert.is_true(after <= before + 40, ("%d blocks live before, %d after"):format(before, after))
  end)
end)
