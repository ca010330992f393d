-- Runs the C program in which several states share a process, one process a test.
local c_program = require "support.c_program"

local TITLES = {
  prints = "prints of a kernel come to the state that launched it",
  faults = "a fault is reported to the state whose kernel left it, by a wait or by its end",
  dropped_stream = "a fault of a stream that was dropped stays with the state",
  interrupt = "an interrupt ends one state's wait and kernels, and no other's",
  ["end"] = "the end of a state waits for its own work, and refuses more of it alone",
  closed_running = "a state is closed while its kernels run and print",
  closed_spinning = "a kernel goes on when its state has been closed, until another lets it end",
  eight = "eight states in eight threads get what is theirs",
  strangers = "threads that have no state call what takes none",
  child = "every function fails with a message in a forked child",
  misuse = "wrong arguments and calls after the end are refused",
}

describe("states of a process:", function()
  c_program.specs("states_test", TITLES, "ROCLUA_DEVICE=cpu ROCLUA_CPU_THREADS=4")
end)
