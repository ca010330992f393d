-- Runs the C program that has arrays of its own, one process a test, on each kind of device.
local c_program = require "support.c_program"
local files = require "support.files"
local programs = require "support.programs"

local TITLES = {
  wrap = "a kernel works on the program's own memory, which is released once",
  release = "the last use is dropped by C, by Lua, by the end of a map, of queued work, of a state",
  strides = "strides may be negative, and extents 0; what lies between elements stays",
  refused = "a description that makes no array is refused, and what is wrong is named",
  device_memory = "memory of a device becomes an array of it",
  read_only = "memory that may not be written is not mapped to be",
  no_memory = "failing allocations neither lose a release nor add one",
  deaths = "however an array dies, and whichever allocation fails then, its owner is told once",
  lost = "memory that a lost device may use is released by its reset",
  map = "what C writes is what kernels and Lua read, and the other way round",
  pending = "what is computed later is there when C looks, and C's writes come after it",
  pending_child = "what is computed later cannot be computed in a forked child",
  writes = "what is mapped to be written, or exported, is noted as a write",
  smart = "a launch during a map does not hide what C writes after it",
  fault = "a fault of the work that should have written comes from the map, once",
  threads = "threads without a state map arrays that outlive theirs",
  nulls = "every function takes a missing argument",
  closed = "closed objects, wrong kinds and wrong sizes are refused",
  after_the_end = "calls in a forked child and after the shutdown are refused",
}

describe("arrays of a C program:", function()
  local path = c_program.specs("array_test", TITLES, c_program.ON_DEVICES)
  if not path then return end

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
