-- Cuts: the instructions at which, or in which, the items of a wavefront or workgroup meet.
local compiler = require("roc.core").testing.compiler

local function cuts(...)
  local text = compiler.ir_parallel_regions("kernel k()\n  %0: bool = const true\n"
    .. table.concat({ ... }, "\n") .. "\nend\n")
  local found = {}
  for what, bits in text:gmatch("\n%s*([^\n;]-) ; cut (%a+)") do
    found[#found + 1] = what .. ": " .. bits
  end
  return table.concat(found, ", ")
end

describe("cuts", function()
  it("are none in straight code",
    function() assert.are.equal("", cuts("if %0", "fence 3", "end")) end)

  it("are barriers, and wave operations", function()
    assert.are.equal("barrier 3: group", cuts("barrier 3"))
    assert.are.equal("wave_barrier: wave, %1: bool = wave any %0: wave",
      cuts("wave_barrier", "%1: bool = wave any %0"))
  end)

  it("show on every statement around them, and only there", function()
    assert.are.equal("%1 = loop: group, if %0: group, barrier 1: group",
      cuts("%1 = loop", "if %0", "barrier 1", "end", "if %0", "leave %1", "end", "end"))
    assert.are.equal("if %0: wave, wave_barrier: wave",
      cuts("if %0", "else", "wave_barrier", "end", "if %0", "end"))
  end)

  it("of a group hide those of a wavefront in one statement", function()
    assert.are.equal("%1 = block: group, barrier 1: group, wave_barrier: wave",
      cuts("%1 = block", "barrier 1", "wave_barrier", "end"))
  end)
end)
