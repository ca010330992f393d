-- Runs the C program that shares an HSA queue with roclua, one process a test, on the software GPU.
local devices = require "support.devices"
local programs = require "support.programs"

local TITLES = {
  order = "work of both runs in the order of the queue",
  producers = "two threads write packets into one queue",
  again = "the queue is its owner's before, during and after",
  refused = "what is no queue, and devices without such queues, are refused",
}

describe("a stream on the queue of another library", function()
  local path = programs.find("foreign_queue_test")
  if not path then return pending("foreign_queue_test is not built") end
  if devices.missing then return pending(devices.missing) end
  local seen = 0
  for name in assert(io.popen(path)):lines() do
    seen = seen + 1
    it(assert(TITLES[name], name), function()
      local settings = "ROCLUA_DEVICE=hsa ROCLUA_EMULATE=gfx90a timeout 100"
      local ok, output = programs.run(("%s %s %s"):format(settings, path, name))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
  assert(seen == 4, "foreign_queue_test lists its tests")
end)
