-- Loops in loops that go without checks, and are run again after a wrong index.
local compiler = require("roc.core").testing.compiler
local check = require("support.asserted").in_order

-- For each k: from the place that first[k] names, as many elements as count[k] says.
local HEAD = [[
kernel k(first.0: int32[1] c read narrow, count.1: int32[1] c read narrow, x.2: float32[1] c read narrow, y.3: float32[1] c written narrow, n.4: int narrow) check
  array first.0 = param first.0
  array count.1 = param count.1
  array x.2 = param x.2
  array y.3 = param y.3
  var k.0: int
  var j.1: int
  var sum.2: f32
  var at.3: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  site 1 divide "k.lua" 1 1 dim 0 values 0
  %0: int = const 1
  %1: int = param n.4
  %2: f32 = const 0
  %50: int = extent y.3 0
  %51: int = band %50 %1
  set sum.2 %2
  %3 = for k.0 %0 %1 %0
    %4: int = get k.0
    check.index first.0 0 #0 %4
    %5: int = load first.0 %4
    check.index x.2 0 #0 %5
    check.index count.1 0 #0 %5
    %6: int = load count.1 %5
    set at.3 %6
]]

local function defer(...)
  local text = HEAD .. "    " .. table.concat({ ... }, "\n    ") .. "\n  end\nend\n"
  return compiler.ir_version_launch(text, true)
end

local INNER <const> = { "%7 = for j.1 %5 %6 %0", "%8: int = get j.1", "check.index x.2 0 #0 %8",
  "%9: f32 = load x.2 %8", "%10: f32 = get sum.2", "%11: f32 = add %10 %9", "set sum.2 %11", "end" }

local function inner_with(line)
  local lines = { table.unpack(INNER) }
  table.insert(lines, 3, line)
  return table.unpack(lines)
end

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

-- What is chosen where the launch's conditions hold: the nest's copy, and the nest after it.
local function parts(text)
  return text:match("if versions(.-worst%.fits[^\n]*\n)(.-)\n  else\n")
end

describe("deferring the checks of a nest", function()
  it("takes down wrong indices, and runs the nest again after one", function()
    local copy, again = parts(defer(table.unpack(INNER)))
    check(copy, "if ", " = for k", "worst%.index", "clamp%.index x%.2", "load count%.1", " = for j",
      "load x%.2", "worst%.fits")
    assert.are.equal(0, count(copy, "check%.index"))
    check(again, "not", "if ", "set sum%.2", " = for k", "check%.index", " = for j",
      "check%.index x%.2")
    assert.are.equal(0, count(again:match("^.-for"), "set at%.3")) -- which it sets itself
  end)

  it("ends a long loop, and does not enter one with loaded bounds, after a wrong index", function()
    local copy = parts(defer(table.unpack(INNER)))
    check(copy, " = for k", "ult", "not", "if ", "leave", "clamp%.index", "ult", "if ", " = for j")
    local fixed = parts(defer("%7 = for j.1 %0 %4 %0", table.unpack(INNER, 2)))
    assert.are.equal(1, count(fixed:match("for k(.-)for j"), "ult"))
  end)

  it("leaves a loop that may end early, or does not enter it, after a wrong index", function()
    local exit <const> = "%20: bool = lt %1 %8\n if %20\n leave %7\n end"
    local lines = { "%7 = for j.1 %0 %4 %0", table.unpack(INNER, 2) }
    table.insert(lines, 3, exit)
    local copy = parts(defer(table.unpack(lines)))
    check(copy, "ult", "if ", " = for j", "leave")
    table.insert(lines, 6, "%21: bool = lt %6 %8\n if %21\n set at.3 %8\n leave %7\n end")
    table.remove(lines, 3)
    assert.are.equal(0, count(defer(table.unpack(lines)), "clamp%.index"))
  end)

  it("takes an inner loop for wrong only where it runs", function()
    check(parts(defer(table.unpack(INNER))), "else", "le %%", "select", "worst%.index")
  end)

  it("asks in front for divisors that are made there", function()
    local copy, again = parts(defer(inner_with("check.nonzero #1 %51")))
    check(copy, "ne %%%d+ %%%d+", "if ", " = for k")
    assert.are.equal(0, count(copy, "check%.nonzero"))
    assert.are.equal(1, count(again, "check%.nonzero"))
  end)

  it("leaves a nest that writes, checks otherwise, or may be left from inside", function()
    for _, line in ipairs { "store y.3 %2 %8", "%20: int = sub %8 %1\n check.nonzero #1 %20",
      "barrier 3",
      "%20: bool = lt %8 %1\n if %20\n return\n end" } do
      assert.are.equal(0, count(defer(inner_with(line)), "clamp%.index"), line)
    end
  end)
end)
