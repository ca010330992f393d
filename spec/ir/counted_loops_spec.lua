-- LOOPs that count and become FORs, and those that stay LOOPs.
local compiler = require("roc.core").testing.compiler

local function count(text) return compiler.ir_count_loops(text) end

-- A kernel with one loop; `parts` replaces lines of it.
local function kernel(parts)
  local text = [[
kernel k(n.0: int, m.1: int narrow, x.2: float32[1] c read written)
  array x.0 = param x.2
  var i.0: int
  var j.1: int
  %0: int = global_id 0
  %1: int = global_size 0
  %2: int = param n.0
  %3: int = param m.1
  set i.0 %0
  BEFORE
  %4 = loop
    %5: int = get i.0
    %6: int = extent x.0 0
    %7: bool = COMPARE
    %8: bool = not %7
    if TEST
      leave %4
    end
    BODY
    %9: int = get i.0
    %10: f32 = load x.0 %9
    store x.0 %10 %9
    %11: int = get i.0
    %12: int = add %11 STEP
    SET
  end
  AFTER
end
]]
  local lines = { BEFORE = "", COMPARE = "le %5 %6", TEST = "%8", BODY = "", STEP = "%1",
    SET = "set i.0 %12", AFTER = "" }
  for name, line in pairs(parts) do lines[name] = line end
  return (text:gsub("%u%u+", lines):gsub("\n +\n", "\n"))
end

describe("loops that count", function()
  it("become FORs whose bound and step stand in front", function()
    local text = count(kernel {})
    local before, body = text:match("^(.-)(%%%d+ = for .*)$")
    assert.not_matches("loop", text)
    assert.matches("get i%.0", before)
    assert.matches("extent x%.0", before)
    assert.matches("for i%.2 %%%d+ %%%d+ %%1", body)
    assert.not_matches("set i", body)
    assert.not_matches("i%.0", body)
  end)

  it("may compare strictly, and end where a comparison holds", function()
    assert.matches("for ", count(kernel { COMPARE = "lt %5 %3" }))
    assert.matches("for ", count(kernel { COMPARE = "lt %6 %5", TEST = "%7" }))
    assert.matches("sub", count(kernel { COMPARE = "lt %5 %6" }))
  end)

  it("may be left elsewhere, by a jump that then leaves the FOR", function()
    local text = count(kernel { BODY = "if %8\n leave %4\n end" })
    local loop = text:match("(%%%d+) = for")
    assert.truthy(text:find("leave " .. loop .. "\n", 1, true), text)
  end)

  it("stay where the counter could wrap", function()
    for _, parts in ipairs {
      { COMPARE = "le %5 %2" }, -- any bound
      { STEP = "%2" }, { STEP = "%3" }, -- a step that may be 0
    } do
      assert.matches("loop", count(kernel(parts)))
    end
  end)

  it("stay where bound, step or counter change, or are read elsewhere", function()
    for _, parts in ipairs {
      { BODY = "set i.0 %3" },
      { BODY = "%13: int = get j.1\n set j.1 %3", STEP = "%13" },
      { BODY = "if %8\n next %4\n end" },
      { SET = "" },
      { AFTER = "%13: int = get i.0\n set j.1 %13" },
    } do
      assert.matches("loop", count(kernel(parts)))
    end
  end)

  it("stay where the counter lives on from one run of the loop to the next", function()
    local text = kernel {}
    text = text:gsub("  set i%.0 %%0\n", "  set i.0 %%0\n  %%14 = loop\n"):gsub("\nend\n$",
      "\n  leave %%14\n end\nend\n")
    assert.matches("%%4 = loop", count(text))
  end)
end)
