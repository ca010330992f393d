-- Runs the C program that launches kernels itself, one process a test, on each kind of device.
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
  prepare = "what is prepared is not run",
  lost = "threads that launch are told when the device is lost",
  refused = "missing arguments, wrong kinds, sizes and shapes are refused with a message",
  ["end"] = "calls in a forked child and after the shutdown are refused",
}
local ON_HSA_ALONE = { lost = true }

describe("kernels of a C program:", function()
  local path = programs.find("kernel_test")
  if not path then return pending("kernel_test is not built") end

  local SETTINGS = { cpu = "ROCLUA_DEVICE=cpu ROCLUA_CPU_THREADS=4",
    hsa = "ROCLUA_DEVICE=hsa ROCLUA_EMULATE=gfx90a" }
  local seen = 0
  for name in assert(io.popen(path)):lines() do
    seen = seen + 1
    for kind, settings in pairs(SETTINGS) do
      if kind == "hsa" or not ON_HSA_ALONE[name] then
        it(("%s (%s)"):format(assert(TITLES[name], name), kind), function()
          if kind == "hsa" and devices.missing then return pending(devices.missing) end
          local ok, output = programs.run(("%s timeout 100 %s %s"):format(settings, path, name))
          assert(ok and output:find("ok " .. name, 1, true), output)
        end)
      end
    end
  end
  assert(seen == 14, "kernel_test lists its tests")
end)
