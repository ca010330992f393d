-- Runs the C tests of the hsa driver whose GPUs are lost and whose queues stop, one process each.
local devices = require "support.devices"
local programs = require "support.programs"

describe("the hsa driver", function()
  local program = programs.find("hsa_lost_test")
  if not program then return pending("hsa_lost_test is not built") end
  if devices.missing then return pending(devices.missing) end

  local titles = {
    orphan = "ends a copy from a GPU that is lost meanwhile",
    bystander = "goes on with its copies when a GPU is lost that has no part in them",
    deaf = "finds a memory fault that ROCR tells another part of the process",
    stuck = "ends waits and devices while ROCR does not return from a lost GPU",
    addresses = "copies between host blocks by the host's addresses, whatever the GPU's are",
    late = "hears of a stopped queue of a lost device that is closed, and does nothing",
    stopped = "gives up what was on a stopped queue, not what comes after it is started over",
  }
  -- What is freed is overwritten, so that its use is seen.
  local command = "MALLOC_PERTURB_=90 ROCLUA_EMULATE=gfx90a,gfx90a,gfx1030 timeout 100 %s %s"
  for name in assert(io.popen(program)):lines() do
    it(assert(titles[name], name), function()
      local ok, output = programs.run(command:format(program, name))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
end)
