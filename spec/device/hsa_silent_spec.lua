-- Runs the C tests of the hsa driver on hardware that fails silently, one process each.
local devices = require "support.devices"
local programs = require "support.programs"

describe("the hsa driver", function()
  local program = programs.find("hsa_silent_test")
  if not program then return pending("hsa_silent_test is not built") end
  if devices.missing then return pending(devices.missing) end

  local titles = {
    copy = "gives the device up when a copy never ends",
    staged_copy = "gives it up when one through page-locked blocks never ends",
    asking = "finds a copy that never ends when a thread asks again and again",
    queue = "gives the device up when a queue does not begin its next work",
    patience = "lets the host take its time, and copies that end",
    times = "takes its own time where the device's is impossible",
    owner = "names the NUMA node that owns the host memory of a copy",
    reserved = "refuses an address that is reserved and has no memory",
    kinds = "copies memory of kinds that newer ROCR has",
    wide_pool = "takes no memory from a pool whose kind it does not know",
    core_file = "has ROCR write no core file of the GPU unless told to",
  }
  for name in assert(io.popen(program)):lines() do
    it(assert(titles[name], name), function()
      -- The limit ends what hangs: a ROCR that polls takes a processor from each test beside it.
      local command = "ROCLUA_EMULATE=gfx90a timeout 600 %s %s"
      local ok, output = programs.run(command:format(program, name))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
end)
