-- Runs the C program that embeds roclua, one process a test.
local devices = require "support.devices"
local programs = require "support.programs"

local TITLES = {
  states = "lets several states be used together and closed in any order with kernels in flight",
  reopen = "keeps nothing of a state that was closed",
  twice = "can be required again in one state",
  threads = "serves states of several threads",
  compilers = "compiles for GPUs in several threads at once what one alone compiles",
  exit_thread = "ends while another thread compiles and launches",
  exit_copy = "ends while another thread copies",
  full = "goes on in one state while another waits for room in a queue of the GPU",
  leave_open = "ends with states open and kernels in flight",
  shutdown = "shuts down with a print that fails",
  fork = "refuses every call in a forked child",
}

describe("an embedding program", function()
  local path = programs.find("embed_test")
  if not path then return pending("embed_test is not built") end

  local seen = 0
  for name in assert(io.popen(path)):lines() do
    seen = seen + 1
    it(TITLES[name] or name, function()
      if name == "full" and devices.missing then return pending(devices.missing) end
      local device = name == "full" and "hsa ROCLUA_EMULATE=gfx90a" or ""
      local command = "ROCLUA_DEVICE=%s timeout 100 %s %s"
      local ok, output = programs.run(command:format(device, path, name))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
  assert(seen == 11, "embed_test lists its tests")
end)
