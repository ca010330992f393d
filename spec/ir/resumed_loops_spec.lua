-- Loops that a wavefront leaves together before a check fails, and the loop that goes on there.
local compiler = require("roc.core").testing.compiler

local HEAD = [[
kernel k(x.0: float32[1] c read narrow, c.1: int32[1] c read narrow, y.2: int32[1] c read written narrow, n.3: int narrow) check
  array x.0 = param x.0
  array c.1 = param c.1
  array y.2 = param y.2
  var k.0: int
  var v.1: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "y"
  site 1 no_integer "k.lua" 1 1 dim 0 values 1
  %0: int = const 1
  %1: int = extent c.1 0
  %2 = for k.0 %0 %1 %0
    %3: int = get k.0
]]

local function resume(...)
  return compiler.ir_resume_loops(HEAD .. "    " .. table.concat({ ... }, "\n    ")
    .. "\n  end\nend\n")
end

local function while_loop(...)
  local head = HEAD:gsub("  %%2 = for.*", ""):gsub("  var v.1: int\n", "%0  var w.2: int\n")
  return compiler.ir_resume_loops(head .. "  %2 = loop\n    %3: int = get v.1\n"
    .. "    %4: bool = lt %1 %3\n    if %4\n      leave %2\n    end\n    "
    .. table.concat({ ... }, "\n    ") .. "\n  end\nend\n")
end

local function check(text, ...)
  local at = 1
  for _, pattern in ipairs { ... } do
    local first, last = text:find(pattern, at)
    assert.is_truthy(first, pattern .. " in\n" .. text)
    at = last + 1
  end
end

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

local SCATTER = { "%4: int = load c.1 %3", "check.index y.2 0 #0 %4", "store y.2 %3 %4" }

describe("a loop that is left and goes on", function()
  it("makes its checks together, leaves before what acts, and starts at that round", function()
    local text = resume(table.unpack(SCATTER))
    check(text, "opaque", "set %.(%d+) %%", "= for k%.0 %%0 %%1 %%0", "load c%.1",
      "index%.fits y%.2 0", "if all", "store y%.2", "else", "opaque", "set %.", "get k%.0",
      "set %.", "leave", "end", "\n  end", "opaque", "eq", "\n  if %%",
      "(%%%d+): int = get %.%d", "= for k%.0 %%%d+ %%1 %%0", "check%.index y%.2", "store y%.2")
    local round = text:match("(%%%d+): int = get %.%d+[^\n]*\n    %%%d+ = for")
    check(text, "= for k%.0 %" .. round .. " %%1 %%0")
    assert.are.equal(1, count(text, "check%.index"))
  end)

  it("ends with the round where items make different rounds", function()
    local varying = HEAD:gsub("%%2 = for.*", "%%2: int = global_id 0\n  %%3 = for k.0 %%0 %%2 %%0\n"
      .. "    %%4: int = get k.0\n")
    local text = compiler.ir_resume_loops(varying .. [[
    %5: int = load c.1 %4
    check.index y.2 0 #0 %5
    store y.2 %4 %5
  end
end
]])
    check(text, "= for k%.0", "get k%.0", "set %.", "if all", "store", "else", "opaque", "set %.",
      "\n    end", "ne", "\n    if %%", "leave", "\n  end", "eq", "\n  if %%", "= for k%.0",
      "check%.index")
  end)

  it("makes a check of what a load in front of it gives, and asks less of floats", function()
    local text = resume("%4: f32 = load x.0 %3", "check.int #1 %4", "%5: int = floor %4",
      "check.index c.1 0 #0 %5", "%6: int = load c.1 %5", "check.index y.2 0 #0 %6",
      "store y.2 %3 %6")
    check(text, "for", "load x%.0", "abs", "lt", "floor", "index%.fits c%.1", "select", "if all",
      "load c%.1", "index%.fits y%.2", "if all", "store", "else", "else", "\n  if %%", "for",
      "check%.int", "check%.index c%.1", "check%.index y%.2")
    assert.are.equal(2, count(text, "if all"))
  end)

  it("leaves checks after what acts as they are", function()
    local text = resume("%4: int = load c.1 %3", "check.index y.2 0 #0 %4", "store y.2 %3 %4",
      "%5: int = load c.1 %4", "check.index y.2 0 #0 %5", "store y.2 %3 %5")
    assert.are.equal(3, count(text, "check%.index"))
  end)

  it("makes checks in front of the condition that guards them, without what that loads", function()
    local text = resume("%4: int = load c.1 %3", "%5: bool = le %0 %4", "if %5",
      "%7: int = add %4 %3", "check.index y.2 0 #0 %7", "%9: int = load y.2 %7",
      "check.index y.2 0 #0 %9", "store y.2 %3 %9", "end")
    check(text, "for", "load c%.1", "le", "add", "index%.fits y%.2", "select", "if all", "if",
      "load y%.2", "check%.index", "store", "leave", "\n  if %%", "for", "if", "check%.index",
      "check%.index")
    assert.are.equal(1, count(text, "index%.fits"))
    local both = resume("%4: int = load c.1 %3", "%5: bool = le %0 %4", "if %5",
      "check.index y.2 0 #0 %4", "store y.2 %3 %4", "else", "%7: int = sub %3 %4",
      "check.index y.2 0 #0 %7", "store y.2 %4 %7", "end")
    check(both, "for", "load c%.1", "index%.fits y%.2", "sub", "index%.fits y%.2", "select",
      "if all", "if", "store", "else", "store", "leave", "\n  if %%", "for", "check%.index",
      "else", "check%.index")
    assert.are.equal(2, count(both, "check%.index"))
    local same = resume("%4: int = load c.1 %3", "%5: bool = le %0 %4", "if %5",
      "%7: int = get v.1", "check.index y.2 0 #0 %7", "store y.2 %3 %7", "else",
      "%8: int = get v.1", "check.index y.2 0 #0 %8", "store y.2 %4 %8", "end")
    assert.are.equal(1, count(same, "index%.fits"))
    assert.are.equal(0, count(same, "= select"))
    assert.are.equal(2, count(same, "check%.index"))
    local acts = resume("%4: int = load c.1 %3", "%5: bool = le %0 %4", "if %5",
      "store y.2 %3 %3", "check.index y.2 0 #0 %4", "store y.2 %3 %4", "end")
    assert.are.equal(1, count(acts, " = for "))
  end)

  it("starts a loop without a count again with what its variables hold", function()
    local text = while_loop("%6: int = get v.1", "set w.2 %6", "%7: int = load c.1 %6",
      "check.index y.2 0 #0 %7", "store y.2 %6 %7", "%9: int = add %6 %0", "set v.1 %9")
    check(text, "loop", "ne", "select", "leave", "load c%.1", "index%.fits", "if all", "store",
      "else", "set %.", "\n  if %%", "loop", "check%.index", "store")
    assert.are.equal(1, count(text, "check%.index"))
    -- a variable that the round has read, and then assigned, is not what it was
    local counts = while_loop("%6: int = get v.1", "%7: int = add %6 %0", "set v.1 %7",
      "check.index y.2 0 #0 %7", "store y.2 %6 %7")
    assert.are.equal(1, count(counts, " = loop"))
  end)

  it("lets items leave at the end of the round that leave between checks", function()
    local text = while_loop("%6: int = get v.1", "check.index c.1 0 #0 %6",
      "%7: int = load c.1 %6", "%8: bool = lt %7 %0", "if %8", "leave %2", "end",
      "check.index y.2 0 #0 %7", "store y.2 %6 %7", "set v.1 %7")
    check(text, "loop", "ne", "select", "leave", "opaque", "set %.", "index%.fits c%.1", "if all",
      "load c%.1", "not", "if %%", "index%.fits y%.2", "if all", "store", "set v%.1", "opaque",
      "set %.", "else", "else", "\n  if %%", "loop", "check%.index", "leave", "check%.index")
    assert.are.equal(1, count(text:match("^(.-)\n  if "), "leave"))
  end)

  it("goes on within another loop, which stays as it is", function()
    local text = resume("%4 = for v.1 %0 %3 %0", "%5: int = get v.1", "%6: int = load c.1 %5",
      "check.index y.2 0 #0 %6", "store y.2 %3 %6", "end", "%9: int = load c.1 %3",
      "check.index y.2 0 #0 %9", "store y.2 %3 %9")
    assert.are.equal(3, count(text, " = for "))
    assert.are.equal(2, count(text, "check%.index"))
    assert.are.equal(1, count(text, "index%.fits"))
  end)

  it("stays one loop where items return or meet in it, or loops are in it", function()
    for _, lines in ipairs {
      { "%5: bool = lt %4 %0", "if %5", "return", "end" },
      { "barrier 1" },
      { "%5 = for v.1 %0 %4 %0", "end" } } do
      local all = table.move(lines, 1, #lines, #SCATTER + 1, { table.unpack(SCATTER) })
      assert.are.equal(1, count(resume(table.unpack(all)), "check%.index"), lines[1])
      assert.are.equal(0, count(resume(table.unpack(all)), "index%.fits"), lines[1])
    end
  end)
end)
