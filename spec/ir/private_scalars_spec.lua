-- Private arrays that become variables, and those that stay arrays.
local compiler = require("roc.core").testing.compiler

local function scalarize(text) return compiler.ir_scalarize_private(text) end

local HEAD = [[
kernel k(n.0: int, x.1: float32[1] c read written)
  array x.0 = param x.1
  array a.1: float32[2,2] private
  array b.2: int16[3] private
  var p.0: int
  var q.1: int
  var i.2: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "b"
  %0: int = const 1
  %1: int = const 2
  %2: int = param n.0
  %3: f32 = const 5
]]

local function kernel(...)
  return HEAD .. "  " .. table.concat({ ... }, "\n  ") .. "\nend\n"
end

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

describe("private arrays", function()
  it("with constant indices become variables", function()
    local text = scalarize(kernel("store a.1 %3 %0 %1", "%4: f32 = load a.1 %0 %1",
      "store x.0 %4 %0"))
    assert.not_matches("a%.1 %%", text)
    assert.matches("set a%.4 ", text)
    assert.matches("get a%.4", text)
  end)

  it("whose indices are counters of short loops do when the loops are written out", function()
    local text = scalarize(kernel("%4 = for p.0 %0 %1 %0", "%5: int = get p.0",
      "%6 = for q.1 %0 %1 %0", "%7: int = get q.1", "store a.1 %3 %5 %7", "end", "end",
      "%8: f32 = load a.1 %1 %0", "store x.0 %8 %0"))
    assert.not_matches("for ", text)
    for v = 3, 6 do assert.matches(("set a%%.%d "):format(v), text) end
    assert.matches("get a%.5", text)
  end)

  it("may be indexed by sums and products of counters", function()
    local text = scalarize(kernel("%4: int = const 0", "%5 = for p.0 %4 %0 %0", "%6: int = get p.0",
      "%7: int = mul %6 %1", "%8: int = add %7 %0", "store b.2 %2 %8", "end",
      "%9: int = load b.2 %0", "%10: f32 = to.f32 %9", "store x.0 %10 %0"))
    assert.not_matches("for ", text)
    assert.matches("set b%.7 ", text) -- the arrays' variables follow the three of the text
    assert.matches("set b%.9 ", text)
  end)

  it("hold what an element of their type holds", function()
    local text = scalarize(kernel("store b.2 %2 %0", "%4: int = load b.2 %0", "%5: f32 = to.f32 %4",
      "store x.0 %5 %0"))
    assert.matches("convert int16 %%2", text)
  end)

  it("that keep a value from one iteration to the next are set before the loop", function()
    local text = scalarize(kernel("%4 = for i.2 %0 %2 %0", "%5: f32 = load a.1 %0 %0",
      "%6: f32 = add %5 %3", "store a.1 %6 %0 %0", "end"))
    local before, after = text:match("^(.-)for (.*)$")
    assert.matches("set a%.3 ", before)
    assert.matches("set a%.3 ", after)
  end)

  it("that are set where they are used begin there", function()
    local text = scalarize(kernel("%4 = for i.2 %0 %2 %0", "store a.1 %3 %0 %0",
      "%5: f32 = load a.1 %0 %0", "store x.0 %5 %0", "end"))
    assert.equal(1, count(text, "set a%."))
  end)

  it("leave out accesses that a check keeps from happening", function()
    local text = scalarize((kernel("%4: int = const 4", "check.index b.2 0 #0 %4",
      "store b.2 %2 %4", "%5: int = load b.2 %0", "%6: f32 = to.f32 %5", "store x.0 %6 %0")
      :gsub("written%)", "written) check")))
    assert.matches("check%.index b%.2", text)
    assert.not_matches("store b", text)
  end)

  it("stay where an index is not known, an item may leave a loop, or loops are long", function()
    for _, lines in ipairs {
      { "store a.1 %3 %0 %2" },
      { "%4 = for p.0 %0 %2 %0", "%5: int = get p.0", "store a.1 %3 %5 %0", "end" },
      { "%4: int = const 17", "%5 = for p.0 %0 %4 %0", "%6: int = get p.0", "store a.1 %3 %6 %0",
        "end" },
      { "%4 = for p.0 %0 %1 %0", "%5: int = get p.0", "store a.1 %3 %5 %0", "leave %4", "end" },
      { "%4 = for p.0 %0 %1 %0", "%5: int = get p.0", "store a.1 %3 %5 %0", "barrier 1", "end" },
    } do
      assert.matches("store a%.1", scalarize(kernel(table.unpack(lines))))
    end
  end)
end)
