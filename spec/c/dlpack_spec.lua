-- Runs the C program that exchanges arrays by DLPack, one process a test, on each kind of device.
local devices = require "support.devices"
local programs = require "support.programs"

local TITLES = {
  import = "a kernel works on a producer's memory, whose deleter is called once",
  shapes = "strides, offsets, no strides, no dimensions, no elements",
  dtypes = "every dtype goes out and comes in as it was",
  export = "a tensor shares the array's memory, and outlives array and state",
  waits = "the export waits for the work on host memory; a smart array is refused",
  device = "memory of a device is exchanged in the order of a stream",
  read_only = "memory that may not be written is not, and says so when it is passed on",
  refused = "a tensor that makes no array is refused and stays its owner's",
  no_memory = "failing allocations neither lose a deleter's call nor add one",
  threads = "threads without a state exchange one array",
}

describe("DLPack:", function()
  local path = programs.find("dlpack_test")
  if not path then return pending("dlpack_test is not built") end

  local SETTINGS = { cpu = "ROCLUA_DEVICE=cpu", sim = "ROCLUA_DEVICE=sim",
    hsa = "ROCLUA_DEVICE=hsa ROCLUA_EMULATE=gfx90a" }
  local seen = 0
  for name in assert(io.popen(path)):lines() do
    seen = seen + 1
    for kind, settings in pairs(SETTINGS) do
      it(("%s (%s)"):format(assert(TITLES[name], name), kind), function()
        if kind == "hsa" and devices.missing then return pending(devices.missing) end
        local ok, output = programs.run(("%s timeout 100 %s %s"):format(settings, path, name))
        assert(ok and output:find("ok " .. name, 1, true), output)
      end)
    end
  end
  assert(seen == 10, "dlpack_test lists its tests")
end)
