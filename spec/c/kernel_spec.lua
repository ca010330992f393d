-- Runs the C program that launches kernels itself, one process a test, on each kind of device.
local c_program = require "support.c_program"
local devices = require "support.devices"
local programs = require "support.programs"

local TITLES = {
  arguments = "integers, numbers, booleans and arrays are arguments; the state is closed",
  captures = "captured values are those of the moment it was taken, or what C sets",
  names = "two variables of one name are not set",
  no_memory = "each failing allocation is a code, and the next try works",
  many = "more arguments and specialisations than there is room for in place",
  signature = "a signature converts numbers and refuses other arrays",
  host_arrays = "host arrays are used in place, or refused; smart arrays on the device's side",
  threads = "four threads launch one kernel on streams of their own while a fifth sets a scalar",
  prints = "lines that kernels print come to the program's function by its waits",
  faults = "faults come from the wait as codes, diagnostics from the launch",
  interrupted = "an interrupt ends the wait of a thread without a state, and the kernel",
  prepare = "what is prepared is not run",
  lost = "threads that launch are told when the device is lost",
  refused = "missing arguments, wrong kinds, sizes and shapes are refused with a message",
  ["end"] = "calls in a forked child and after the shutdown are refused",
}
local ON_HSA_ALONE = { lost = true }

describe("kernels of a C program:", function()
  local settings = { cpu = "ROCLUA_DEVICE=cpu ROCLUA_CPU_THREADS=4" }
  settings.hsa = c_program.ON_DEVICES.hsa
  local path = c_program.specs("kernel_test", TITLES, settings, function(name, kind)
    return kind == "hsa" or not ON_HSA_ALONE[name]
  end)
  if not path then return end

  -- A device that was lost stays so for its process, so each round has one of its own.
  it("waits are told of a lost device two hundred times #slow", function()
    if devices.missing then return pending(devices.missing) end
    for _ = 1, 200 do
      local ok, output = programs.run(("env %s timeout 120 %s lost"):format(settings.hsa, path))
      assert.is_true(ok, output)
    end
  end)
end)
