-- Runs the C program that has arrays of its own, one process a test, on each kind of device.
local devices = require "support.devices"
local files = require "support.files"
local programs = require "support.programs"

local TITLES = {
  wrap = "a kernel works on the program's own memory, which is released once",
  release = "the last use is dropped by C, by Lua, by the end of a map, of queued work, of a state",
  strides = "strides may be negative, and extents 0; what lies between elements stays",
  refused = "a description that makes no array is refused, and what is wrong is named",
  device_memory = "memory of a device becomes an array of it",
  no_memory = "failing allocations neither lose a release nor add one",
  lost = "memory that a lost device may use is released by its reset",
  map = "what C writes is what kernels and Lua read, and the other way round",
  smart = "a launch during a map does not hide what C writes after it",
  fault = "a fault of the work that should have written comes from the map, once",
  threads = "threads without a state map arrays that outlive theirs",
  nulls = "every function takes a missing argument",
  closed = "closed objects, wrong kinds and wrong sizes are refused",
  after_the_end = "calls in a forked child and after the shutdown are refused",
}

describe("arrays of a C program:", function()
  local path = programs.find("array_test")
  if not path then return pending("array_test is not built") end

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
  assert(seen == 14, "array_test lists its tests")

  it("every function of roclua.h that takes an argument is called with NULL", function()
    local _, output = programs.run(path .. " nulls")
    local complaints = {}
    -- Lua alone calls the first; the others take none.
    local OTHERS = { luaopen_roc_core = true, roclua_ignore_environment = true,
      roclua_shutdown = true }
    for name in files.read("src/include/roclua.h"):gmatch("\nROCLUA_API[^;(]-([%w_]+)%(") do
      if not OTHERS[name] and not output:find("called " .. name .. "\n", 1, true) then
        complaints[#complaints + 1] = name
      end
    end
    assert.are.same({}, complaints)
  end)
end)
