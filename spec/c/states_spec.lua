-- Runs the C program in which several states share a process, one process a test.
local programs = require "support.programs"

local TITLES = {
  prints = "prints of a kernel come to the state that launched it",
  faults = "a fault is reported to the state whose kernel left it, by a wait or by its end",
  dropped_stream = "a fault of a stream that was dropped stays with the state",
  interrupt = "an interrupt ends one state's wait and kernels, and no other's",
  ["end"] = "the end of a state waits for its own work, and refuses more of it alone",
  closed_running = "a state is closed while its kernels run and print",
  eight = "eight states in eight threads get what is theirs",
  strangers = "threads that have no state call what takes none",
  child = "every function fails with a message in a forked child",
  misuse = "wrong arguments and calls after the end are refused",
}

describe("states of a process:", function()
  local path = programs.find("states_test")
  if not path then return pending("states_test is not built") end

  local seen = 0
  for name in assert(io.popen(path)):lines() do
    seen = seen + 1
    it(assert(TITLES[name], name), function()
      local command = "ROCLUA_DEVICE=cpu ROCLUA_CPU_THREADS=4 timeout 100 %s %s"
      local ok, output = programs.run(command:format(path, name))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
  assert(seen == 10, "states_test lists its tests")
end)
