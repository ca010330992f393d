-- Loops without checks beside loops with them.
local compiler = require("roc.core").testing.compiler
local check = require("support.asserted").in_order

local HEAD = [[
kernel k(n.0: int, x.1: float32[2] c read written narrow) check
  array x.0 = param x.1
  var k.0: int
  var v.1: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  %0: int = global_id 0
  %1: int = param n.0
  %2: int = const 2
  %3: f32 = const 0
  set v.1 %0
]]

local function version(step, ...)
  local lines = { HEAD, ("  %%4: int = const %d\n  %%5 = for k.0 %%2 %%1 %%4\n"):format(step) }
  for _, line in ipairs { ... } do lines[#lines + 1] = "    " .. line .. "\n" end
  lines[#lines + 1] = "  end\nend\n"
  return compiler.ir_version_loops(table.concat(lines))
end

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

describe("versioning", function()
  it("decides checks of the counter and of constant indices in front of the loop", function()
    local text = version(1, "%6: int = get k.0", "check.index x.0 0 #0 %6",
      "check.index x.0 1 #0 %0",
      "store x.0 %3 %6 %0")
    check(text, "extent x%.0 0", "le [^\n]*", "select", "extent x%.0 1", "\n  if %%",
      "\n    %%%d+ = for",
      "\n      store", "\n  else", "\n    %%%d+ = for", "check%.index x%.0 0",
        "check%.index x%.0 1",
      "store", "\n  end\nend")
    assert.are.equal(2, count(text, " = for "))
    assert.are.equal(2, count(text, "check%.index"))
  end)

  it("compares both ends of a sum with the counter", function()
    local text = version(1, "%6: int = get k.0", "%7: int = add %0 %6", "%8: int = sub %7 %1",
      "check.index x.0 0 #0 %8", "store x.0 %3 %8 %0")
    check(text, "add %%0 %%2", "sub %%%d+ %%1", "add %%0 %%1", "sub %%%d+ %%1", "extent", "\n  if ")
    assert.are.equal(1, count(text, "check%.index"))
  end)

  it("takes the ends the other way round when the loop counts down", function()
    local text = version(-1, "%6: int = get k.0", "check.index x.0 0 #0 %6", "store x.0 %3 %6 %0")
    check(text, "le %%%d+ %%1\n", "le %%1 %%2\n", "le %%2 %%%d+\n", "\n  if ")
  end)

  it("keeps a check it cannot decide, and drops the others", function()
    local text = version(1, "%6: int = get k.0", "%7: int = mul %6 %6", "%8: int = get v.1",
      "set v.1 %7", "check.index x.0 0 #0 %8", "check.index x.0 1 #0 %6", "check.index x.0 1 #0 %7",
      "store x.0 %3 %8 %6")
    assert.are.equal(5, count(text, "check%.index"))
    check(text, "\n  if ", " = for ", "check%.index x%.0 0", "check%.index x%.0 1", "store",
      "\n  else")
  end)

  it("lets jumps of the copy go to the copy", function()
    local text = version(1, "%6: int = get k.0", "check.index x.0 0 #0 %6", "%7: bool = lt %6 %0",
      "if %7",
      "  next %5", "else", "  leave %5", "end")
    local first, jump, exit = text:match("(%%%d+) = for.-next (%%%d+).-leave (%%%d+)")
    assert.are.equal(first, jump)
    assert.are.equal(first, exit)
  end)

  it("leaves loops alone where it cannot help, or work-items meet", function()
    for _, body in ipairs {
      { 1, "%6: int = get k.0", "store x.0 %3 %6 %0" },
      { 1, "%6: int = get k.0", "%7: int = mul %6 %6", "check.index x.0 0 #0 %7" },
      { 1, "%6: int = get k.0", "check.index x.0 0 #0 %6", "barrier 3" },
      { 0, "%6: int = get k.0", "check.index x.0 0 #0 %6" },
    } do
      assert.are.equal(1, count(version(table.unpack(body)), " = for "))
    end
  end)

  it("does inner loops only", function()
    local text = version(1, "%6: int = get k.0", "check.index x.0 0 #0 %6", "%7 = for v.1 %2 %1 %2",
      "  %8: int = get v.1", "  check.index x.0 1 #0 %8", "  store x.0 %3 %6 %8", "end")
    assert.are.equal(3, count(text, " = for "))
    assert.are.equal(2, count(text, "check%.index"))
  end)
end)

local GATHER = [[
kernel k(c.0: int32[1] c read narrow, x.1: float32[1] c read narrow, y.2: float32[1] c written narrow) check
  array c.0 = param c.0
  array x.1 = param x.1
  array y.2 = param y.2
  var k.0: int
  var sum.1: f32
  var at.2: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  %0: int = const 1
  %1: int = extent c.0 0
  %2: f32 = const 0
  set sum.1 %2
  %3 = for k.0 %0 %1 %0
    %4: int = get k.0
    %5: int = load c.0 %4
    check.index x.1 0 #0 %5
    %6: f32 = load x.1 %5
    set at.2 %5
]]

local function defer(...)
  local text = GATHER .. "    " .. table.concat({ ... }, "\n    ")
    .. "\n    %40: f32 = get sum.1\n    %41: f32 = add %40 %6\n    set sum.1 %41\n  end\nend\n"
  return compiler.ir_version_loops(text, true)
end

describe("deferring checks", function()
  it("clamps what is loaded, keeps the worst index, and runs the loop again after a wrong one",
    function()
      check(defer(), "(%%%d+): f32 = get sum%.1", "extent x%.1 0", "\n  if ", " = for ",
        "worst%.index x%.1 0", "clamp%.index x%.1 0", "load x%.1", "\n    end",
        "worst%.fits x%.1 0", "not", "\n  if ", "set sum%.1", " = for ", "check%.index x%.1",
        "load x%.1")
    end)

  it("gives back only what the loop was given", function()
    local _, again = defer():match("^(.-\n  end\n)(.*)$")
    assert.are.equal(1, count(again:match("^.-for"), "set sum%.1"))
    assert.are.equal(0, count(again:match("^.-for"), "set at%.2"))
  end)

  it("clamps each load that only such a check proves, and no other", function()
    local text = defer("%7: int = get at.2", "%8: f32 = load x.1 %7", "%9: int = load c.0 %4")
    assert.are.equal(2, count(text, "clamp%.index x%.1"))
    assert.are.equal(0, count(text, "clamp%.index c%.0"))
  end)

  it("leaves a loop with effects or with other checks", function()
    for _, line in ipairs { "store y.2 %2 %4", "check.nonzero #0 %5", "return", "fence 1",
      "%20: int = atomic add c.0 %4 %0" } do
      local text = defer("%7: bool = lt %4 %0", "if %7", line, "end")
      assert.are.equal(1, count(text, " = for "), line)
      assert.are.equal(0, count(text, "worst%.index"), line)
    end
  end)

  it("defers those of a loop that may end early", function()
    local text = defer("%7: bool = lt %4 %0", "if %7", "leave %3", "end")
    assert.are.equal(2, count(text, " = for "))
    assert.are.equal(2, count(text, "leave "))
    assert.are.equal(1, count(text, "worst%.fits"))
  end)

  local WHILE <const> = GATHER:gsub("  %%3 = for.*", "") .. [[
  set at.2 %0
  %3 = loop
    %4: int = get at.2
    %5: bool = lt %4 %0
    if %5
      leave %3
    end
    check.index x.1 0 #0 %4
    %6: f32 = load x.1 %4
    check.index c.0 0 #0 %4
    %7: int = load c.0 %4
    %8: int = get at.2
    %9: f32 = load x.1 %8
    set at.2 %7
]]

  it("leaves a loop without a count early after a wrong index, and clamps once for one index",
    function()
      local text = compiler.ir_version_loops(WHILE .. "  end\nend\n", true)
      check(text, "get at%.2", "extent x%.1 0", "extent c%.0 0", "\n  if ", " = loop", "lt",
        "get %.", "extent x%.1 0", "ult", "get %.", "extent c%.0 0", "ult", "not",
        "select", "\n      if ",
        "leave", "worst%.index x%.1 0", "clamp%.index x%.1 0", "load x%.1", "worst%.index c%.0 0",
        "load c%.0", "clamp%.index", "load x%.1", "\n    end", "worst%.fits x%.1 0",
        "worst%.fits c%.0 0", "not", "\n  if ", "set at%.2", " = loop", "check%.index x%.1",
        "check%.index c%.0")
      assert.are.equal(2, count(text, "check%.index"))
      assert.are.equal(3, count(text, "clamp%.index"))
    end)

  it("clamps to the smaller of two extents, of which a condition tells", function()
    local text = compiler.ir_version_loops(WHILE:gsub("  %%3 = loop", [[
  %%20: int = extent x.1 0
  %%21: bool = le %%1 %%20
  if %%21
  else
    return
  end
  %%3 = loop]]):gsub("    check.index x.1 0 #0 %%4\n", "")
      :gsub("    %%6: .-\n", "") .. "  end\nend\n", true)
    assert.are.equal(2, count(text, "clamp%.index c%.0"))
    assert.are.equal(0, count(text, "clamp%.index x%.1"))
  end)

  it("leaves a loop without a count that has effects, or no exit which all rounds come to",
    function()
      for _, line in ipairs { "store y.2 %6 %0", "check.nonzero #0 %4", "fence 1" } do
        local text = compiler.ir_version_loops(WHILE .. "    " .. line .. "\n  end\nend\n", true)
        assert.are.equal(1, count(text, " = loop"), line)
      end
      local skipped = WHILE:gsub("%%5\n", "%%5\n      next %%3\n    end\n    if %%5\n", 1)
      local inside = WHILE:gsub("      leave %%3\n", "      if %%5\n        leave %%3\n      end\n")
      for _, body in ipairs { skipped, inside } do
        local text = compiler.ir_version_loops(body .. "  end\nend\n", true)
        assert.are.equal(1, count(text, " = loop"), body)
      end
    end)

  it("is not done where it is not asked for", function()
    local text = compiler.ir_version_loops(GATHER .. "  end\nend\n")
    assert.are.equal(1, count(text, " = for "))
  end)
end)

local LAUNCH = [[
kernel k(x.0: float32[1] c read narrow, y.1: float32[1] c written narrow, ]]
  .. [[z.2: float32[1] c read narrow) check
  array x.0 = param x.0
  array y.1 = param y.1
  array z.2 = param z.2
  array s.3: float32[16] shared
  var k.0: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  %0: int = global_id 0
  %1: int = extent y.1 0
  %2: bool = le %0 %1
]]

local function version_launch(...)
  return compiler.ir_version_launch(LAUNCH .. "  " .. table.concat({ ... }, "\n  ") .. "\nend\n")
end

describe("versioning a kernel", function()
  it("compares the guard's bound with the extents it does not prove", function()
    local text = version_launch("if %2", "check.index x.0 0 #0 %0", "%3: f32 = load x.0 %0",
      "check.index z.2 0 #0 %0", "%4: f32 = load z.2 %0", "%5: f32 = add %3 %4",
      "store y.1 %5 %0", "end")
    check(text, "(%%%d+): int = extent y%.1 0", "extent x%.0 0", "extent z%.2 0", "min", "le",
      "\n  if versions %%", "load x%.0", "\n  else", "check%.index x%.0", "check%.index z%.2")
    assert.are.equal(2, count(text, "check%.index"))
    assert.are.equal(1, count(text, "min"))
  end)

  it("takes an offset along", function()
    local text = version_launch("if %2", "%3: int = const 2", "%4: int = add %0 %3",
      "check.index x.0 0 #0 %4", "%5: f32 = load x.0 %4", "store y.1 %5 %0", "end")
    check(text, "const 2", "add", "extent x%.0 0", "le", "\n  if ", "\n  else", "check%.index")
    assert.are.equal(1, count(text, "check%.index"))
  end)

  it("takes no more than what a check in front has left", function()
    local text = version_launch("if %2", "%3: int = const 1", "%4: int = add %0 %3",
      "check.index y.1 0 #0 %4", "%5: f32 = load y.1 %4", "check.index z.2 0 #0 %4",
      "store z.2 %5 %4", "end")
    local head = text:match("^.-\n  if versions")
    local z = head:match("%%(%d+): int = extent z%.2 0")
    local bound = head:match("le %%(%d+) %%" .. z .. "\n")
    check(head, "%%" .. bound .. ": int = extent y%.1 0\n") -- not 1 more
  end)

  it("knows that ids are not over sizes, and copies barriers and loops", function()
    local text = version_launch("%3: int = local_id 0", "%4: f32 = const 0",
      "check.index s.3 0 #0 %3", "store s.3 %4 %3", "%5: int = const 1",
      "%6: int = extent x.0 0", "%7 = for k.0 %5 %6 %5", "barrier 1", "%8: int = get k.0",
      "check.index z.2 0 #0 %8", "%9: f32 = load z.2 %8", "end")
    check(text, "local_size 0", "extent x%.0 0", "extent z%.2 0", "\n  if ", "barrier", "\n  else",
      "check%.index s%.3", "barrier", "check%.index z%.2")
    assert.are.equal(2, count(text, "check%.index"))
    assert.are.equal(2, count(text, "barrier"))
  end)

  it("takes a product with the constant in front", function()
    local text = version_launch("if %2", "%3: int = const 2", "%4: int = mul %3 %0",
      "check.index x.0 0 #0 %4", "%5: f32 = load x.0 %4", "store y.1 %5 %0", "end")
    check(text, "extent y%.1 0", "const 2", "mul", "extent x%.0 0", "le", "\n  if versions")
    assert.are.equal(1, count(text, "check%.index"))
  end)

  it("knows a quotient of an extent, and what it says of products", function()
    local text = version_launch("%3: int = const 2", "%4: int = add %1 %3", "%5: int = const 3",
      "%6: int = floordiv %4 %5", "%7: bool = le %0 %6", "if %7", "%8: int = const 1",
      "%9: int = sub %0 %8", "%10: int = mul %9 %5", "%11: int = add %10 %8",
      "check.index y.1 0 #0 %11", "%12: f32 = load y.1 %11", "%13: int = mul %0 %3",
      "check.index x.0 0 #0 %13", "store y.1 %12 %11", "%14: f32 = load x.0 %13", "end")
    check(text, "extent y%.1 0", "floordiv", "mul", "extent x%.0 0", "le", "\n  if versions",
      "load y%.1", "\n  else", "check%.index x%.0")
    assert.are.equal(1, count(text, "check%.index"))
  end)

  it("takes what a condition says of an item's number, not the size of the workgroup", function()
    local text = version_launch("%3: int = local_id 0", "%4: int = const 16",
      "%5: bool = le %3 %4", "if %5", "check.index x.0 0 #0 %3", "%6: f32 = load x.0 %3",
      "store s.3 %6 %3", "end")
    local head = text:match("^.-\n  if versions")
    check(head, "const 16", "extent x%.0 0", "le")
    assert.are.equal(0, count(head, "local_size"))
  end)

  it("asks for the value of the path that was taken alone", function()
    local text = version_launch("%3: int = const 900", "set k.0 %3", "if %2",
      "%4: int = const 9", "set k.0 %4", "end", "%5: int = get k.0", "%6: f32 = const 1", "if %2",
      "check.index x.0 0 #0 %5", "%7: f32 = load x.0 %5", "store y.1 %7 %0", "end")
    check(text, "const 9\n", "extent x%.0 0", "le", "\n  if versions")
    assert.are.equal(0, count(text:match("^.-\n  if versions"), "900"))
  end)

  it("asks for both values of a maximum", function()
    local text = version_launch("%3: int = extent x.0 0", "%4: int = min %0 %3",
      "%5: int = const 1", "%6: int = max %5 %4", "check.index x.0 0 #0 %6",
      "%7: f32 = load x.0 %6", "if %2", "store y.1 %7 %0", "end")
    check(text, "const 1", "extent x%.0 0", "le", "\n  if versions")
    assert.are.equal(1, count(text, "check%.index"))
  end)

  it("leaves a kernel whose index may be below 1, or comes from memory", function()
    local below = version_launch("%3: int = const 1", "%4: int = sub %0 %3",
      "check.index x.0 0 #0 %4", "%5: f32 = load x.0 %4", "if %2", "store y.1 %5 %0", "end")
    assert.are.equal(0, count(below, "\n  else"))
    local loaded = version_launch("if %2", "%3: f32 = load x.0 %0", "%4: int = floor %3",
      "check.index x.0 0 #0 %4", "%5: f32 = load x.0 %4", "store y.1 %5 %0", "end")
    assert.are.equal(0, count(loaded, "\n  else"))
  end)

  it("knows what a minimum of several says of each", function()
    local text = version_launch("%3: int = const 1", "%4: int = const 4",
      "%5: int = extent x.0 0", "%6: int = extent y.1 0", "%7: int = extent z.2 0",
      "%8: int = min %5 %6", "%9: int = min %8 %7", "%10: bool = le %4 %9", "if %10",
      "%11 = for k.0 %3 %4 %3", "%12: int = get k.0", "check.index x.0 0 #0 %12",
      "check.index y.1 0 #0 %12", "check.index z.2 0 #0 %12", "%13: f32 = load z.2 %12",
      "store y.1 %13 %12", "end", "end")
    assert.are.equal(0, count(text, "check%.index"))
  end)
end)
