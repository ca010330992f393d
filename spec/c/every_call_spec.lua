-- Runs the C program that calls every function of roclua.h too late, one process a test, and
-- compares its list with the header's.
local c_program = require "support.c_program"
local files = require "support.files"
local programs = require "support.programs"

local TITLES = {
  closed = "with the state closed: what needs none goes on",
  forked = "in a forked child: a code and a message",
  shut_down = "after the shutdown: a code and a message",
}

describe("every function of roclua.h", function()
  local path = c_program.specs("every_call_test", TITLES, "ROCLUA_DEVICE=cpu")
  if not path then return end

  it("is called", function()
    local missing = {}
    for test in pairs(TITLES) do
      local _, output = programs.run(("env ROCLUA_DEVICE=cpu %s %s"):format(path, test))
      for name in files.read("src/include/roclua.h"):gmatch("\nROCLUA_API[^;(]-([%w_]+)%(") do
        if not output:find("called " .. name .. "\n", 1, true) then
          missing[#missing + 1] = test .. ": " .. name
        end
      end
    end
    assert.are.same({}, missing)
  end)
end)
