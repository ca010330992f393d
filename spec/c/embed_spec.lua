-- Runs the C program that embeds roclua, one process a test.
local c_program = require "support.c_program"

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
  local settings = { cpu = "ROCLUA_DEVICE=", hsa = c_program.ON_DEVICES.hsa }
  c_program.specs("embed_test", TITLES, settings, function(name, kind)
    return (kind == "hsa") == (name == "full")
  end)
end)
