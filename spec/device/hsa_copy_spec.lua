-- Copies on the software GPU whose part on the host fails.
local roc = require "roc"
local devices = require "support.devices"
local programs = require "support.programs"

describe("a copy of the hsa driver", function()
  if devices.missing then return pending(devices.missing) end
  local has_failed = false

  -- Each in a fresh process, whose pools hold as little as may be: the fourth allocation is that of
  -- a signal for the second block of a pipeline, on the thread of the queue.
  for n = 1, 6 do
    it(("that returns has copied, whatever allocation fails (%d)"):format(n), function()
      local ok, output = programs.run("env " .. programs.lua(([[
        local roc = require "roc"
        local testing = require("roc.core").testing
        local d = roc.device_array(400000)
        d:fill(7.5)
        testing.fail_alloc(%d)
        local ok, h = pcall(d.copy_to_host, d)
        testing.fail_alloc(0)
        print(ok)
        local again = ok and h or d:copy_to_host()
        assert(again[1] == 7.5 and again[400000] == 7.5)
      ]]):format(n), "ROCLUA_EMULATE=gfx90a"))
      assert.is_true(ok, output)
      has_failed = has_failed or output:find("^false") ~= nil
    end)
  end

  it("has failed once in the tests above", function() assert.is_true(has_failed) end)
end)
