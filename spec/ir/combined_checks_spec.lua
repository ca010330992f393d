-- Checks of straight code under one condition (ir/combined_checks.h).
local compiler = require("roc.core").testing.compiler
local check = require("support.asserted").in_order

local HEAD = [[
kernel k(n.0: int, f.1: f32, x.2: int32[1] c read written narrow, y.3: int32[1] c read written narrow) check
  array x.0 = param x.2
  array y.1 = param y.3
  var v.0: int
  var k.1: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  site 1 index "k.lua" 2 1 dim 0 values 2 name "y"
  site 2 no_integer "k.lua" 3 1 dim 0 values 1
  site 3 divide "k.lua" 4 1 dim 0 values 0
  %0: int = global_id 0
  %1: int = param n.0
  %2: int = const 2
  %3: f32 = param f.1
  %4: int = local_id 0
]]

local function combine(...)
  local lines = { HEAD }
  for _, line in ipairs { ... } do lines[#lines + 1] = "  " .. line .. "\n" end
  lines[#lines + 1] = "end\n"
  return compiler.ir_combine_checks(table.concat(lines))
end

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

-- What follows the first `if all`: its first region, and the second.
local function regions(text)
  return text:match("\n  if all %%%d+\n(.-)\n  else\n(.-)\n  end\nend\n")
end

describe("combined checks", function()
  it("decides all whose index is known at the first one", function()
    local text = combine("check.index x.0 0 #0 %0", "%5: int = load x.0 %0",
      "%6: int = add %0 %1", "check.index y.1 0 #1 %6", "store y.1 %5 %6")
    check(text, "add %%0 %%1\n", "index%.fits x%.0 0 %%0\n", "index%.fits y%.1 0 %%5\n", "select ",
      "if all ")
    local fast, exact = regions(text)
    assert.equal(0, count(fast, "check%."))
    check(fast, "load x%.0", "store y%.1")
    check(exact, "check%.index x%.0 0 #0 %%0\n", "load x%.0", "check%.index y%.1 0 #1 %%5\n",
      "store y%.1")
  end)

  it("does what stands in front of a check first where one fails", function()
    local text = combine("check.index x.0 0 #0 %0", "store x.0 %1 %0", "check.index y.1 0 #1 %1",
      "store y.1 %0 %1")
    local fast, exact = regions(text)
    assert.equal(0, count(fast, "check%."))
    check(exact, "check%.index x", "store x", "check%.index y", "store y")
  end)

  it("decides an index out of memory where it was loaded", function()
    local text = combine("check.index x.0 0 #0 %0", "%5: int = load x.0 %0",
      "check.index y.1 0 #1 %5", "store y.1 %1 %5")
    local fast, exact = regions(text)
    assert.equal(1, count(text:match("^(.-)\n  if all"), "index%.fits"))
    check(fast, "load x%.0", "index%.fits y%.1", "if all", "store y%.1", "else",
      "check%.index y%.1", "store y%.1", "end")
    assert.equal(1, count(fast, "check%."))
    assert.equal(2, count(exact, "check%."))
    assert.equal(0, count(exact, "if all"))
  end)

  it("takes a variable's value as it is there", function()
    local text = combine("set v.0 %0", "check.index x.0 0 #0 %0", "%5: int = get v.0",
      "check.index y.1 0 #1 %5", "set v.0 %1", "%6: int = get v.0", "check.index x.0 0 #0 %6",
      "store x.0 %1 %6")
    local fast = regions(text)
    assert.equal(2, count(text:match("^(.-)\n  if all"), "index%.fits"))
    check(text, "set v%.0 %%0\n", "get v%.0\n", "if all")
    check(fast, "set v%.0 %%1\n", "%%(%d+): int = get v%.0\n", "index%.fits x%.0")
  end)

  it("does not take what a loop may have changed", function()
    local text = combine("set v.0 %0", "check.index x.0 0 #0 %0", "%5 = for k.1 %2 %1 %2",
      "  set v.0 %1", "end", "%6: int = get v.0", "%7: int = get k.1", "check.index y.1 0 #1 %6",
      "check.index y.1 0 #1 %7")
    assert.equal(1, count(text:match("^(.-)\n  if all"), "index%.fits"))
  end)

  it("gives checks after an IF in which work-items may leave a condition of their own",
    function()
      local text = combine("check.index x.0 0 #0 %0", "%5: bool = lt %0 %1", "if %5", "  return",
        "end", "check.index y.1 0 #1 %4", "store y.1 %0 %4")
      local fast = regions(text)
      assert.equal(1, count(text:match("^(.-)\n  if all"), "index%.fits"))
      check(fast, "return", "end", "index%.fits y%.1", "if all", "store y")
    end)

  it("decides conversions and divisors, too", function()
    local text = combine("check.int #2 %3", "%5: int = floor %3", "check.index x.0 0 #0 %5",
      "check.nonzero #3 %1", "%6: int = floordiv %0 %1", "store x.0 %6 %5")
    check(text, "floor %%3\n", "abs %%3", "lt ", "index%.fits x", "ne %%1 ", "if all")
    local fast, exact = regions(text)
    assert.equal(0, count(fast, "check%."))
    check(exact, "check%.int", "check%.index", "check%.nonzero", "floordiv", "store")
  end)

  it("decides checks in an IF whose condition is known at the first one, too", function()
    local text = combine("check.index x.0 0 #0 %0", "%5: int = load x.0 %0",
      "%6: bool = lt %0 %1", "if %6", "%7: int = add %0 %2", "check.index y.1 0 #1 %7",
      "store y.1 %5 %7", "else", "check.index x.0 0 #0 %1", "store x.0 %5 %1", "end")
    check(text, "lt %%0 %%1\n", "add %%0 %%2\n", "index%.fits x%.0 0 %%0\n",
      "index%.fits y%.1 0 %%6\n", "index%.fits x%.0 0 %%1\n", "select %%5 %%8 %%9\n", "if all ")
    local fast, exact = regions(text)
    assert.equal(0, count(fast, "check%."))
    assert.equal(0, count(fast, "add "))
    check(fast, "load x%.0", "if %%5\n", "store y%.1", "else", "store x%.0", "end")
    check(exact, "check%.index x%.0 0 #0 %%0\n", "load x%.0", "if ", "check%.index y%.1",
      "store y%.1", "else", "check%.index x%.0 0 #0 %%1\n", "store x%.0", "end")
  end)

  it("takes no value of a variable that the IF sets before", function()
    local fast = regions(combine("check.index x.0 0 #0 %0", "%5: bool = lt %0 %1", "if %5",
      "set v.0 %1", "%6: int = get v.0", "check.index y.1 0 #1 %6", "store y.1 %1 %6", "end"))
    check(fast, "set v%.0", "index%.fits y%.1")
  end)

  it("leaves what meets barriers, and bodies of innermost counting loops", function()
    for _, lines in ipairs {
      { "check.index x.0 0 #0 %0", "store x.0 %1 %0", "barrier 1" },
      { "%5 = for k.1 %2 %1 %2", "  check.index x.0 0 #0 %0", "  store x.0 %1 %0", "end" },
    } do
      local text = combine(table.unpack(lines))
      assert.equal(0, count(text, "if all"))
      assert.equal(1, count(text, "check%.index"))
    end
  end)

  it("leaves what jumps past a barrier", function()
    local text = combine("%5 = loop", "  check.index x.0 0 #0 %0", "  %6: int = load x.0 %0",
      "  %7: bool = lt %6 %1", "  if %7", "    check.index y.1 0 #1 %6", "    store y.1 %1 %6",
      "    leave %5", "  end", "  barrier 1", "end")
    assert.equal(0, count(text, "if all"))
  end)

  it("combines in bodies of while-loops, whose jumps stay theirs", function()
    local text = combine("%5 = loop", "  check.index x.0 0 #0 %0", "  %6: int = load x.0 %0",
      "  %7: bool = lt %6 %1", "  if %7", "    leave %5", "  end", "end")
    check(text, "%%5 = loop", "index%.fits", "if all", "load", "leave %%5", "else", "check%.index",
      "load", "leave %%5")
  end)

  it("believes the condition in the first region alone", function()
    local text = compiler.ir_eliminate_checks(combine("check.index x.0 0 #0 %0",
      "store x.0 %1 %0", "check.index y.1 0 #1 %1"):gsub("\n    store x",
      "\n    check.index x.0 0 #0 %%0\n    store x"))
    local fast, exact = regions(text)
    assert.equal(0, count(fast, "check%."))
    assert.equal(2, count(exact, "check%."))
  end)

  it("copies no more of a kernel than a few hundred instructions", function()
    local text = combine("check.index x.0 0 #0 %0", "%5: int = load x.0 %0",
      ("store x.0 %1 %0\n  "):rep(400))
    assert.equal(0, count(text, "if all"))
  end)
end)
