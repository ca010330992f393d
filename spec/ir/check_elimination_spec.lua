-- Checks that are proved away, and those that must stay.
local compiler = require("roc.core").testing.compiler

local HEAD = [[
kernel k(n.0: int, w.1: int narrow, x.2: float32[1] c read, y.3: float32[1] c read written, m.4: float32[2] c read, h.5: uint8[1] c read narrow) check workgroup 256 0 0
  array x.0 = param x.2
  array y.1 = param y.3
  array m.2 = param m.4
  array s.3: float32[256] shared
  array h.4 = param h.5
  array v.5 = param y.3
  var i.0: int
  var j.1: int
  var b.2: bool
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  site 1 divide "k.lua" 1 1 dim 0 values 0
  site 2 no_integer "k.lua" 1 1 dim 0 values 1
  site 3 assert "k.lua" 1 1 dim 0 values 0
  %0: int = const 0
  %1: int = const 1
  %2: int = global_id 0
  %3: int = extent y.1 0
  %4: int = param n.0
  %5: int = param w.1
  %6: int = extent x.0 0
  %7: bool = le %2 %3
  %8: int = local_id 0
  set i.0 %4
]]

-- The checks left of a kernel of these lines behind HEAD.
local function left(...)
  local text = compiler.ir_eliminate_checks(HEAD .. table.concat({ ... }, "\n") .. "\nend\n")
  local found = {}
  for check in text:gmatch("\n%s*(check[.%a]* [%w.]*)") do
    found[#found + 1] = check:gsub(" $", "")
  end
  return table.concat(found, ", ")
end

describe("guard", function()
  it("drops the check of an index compared with the extent", function()
    assert.are.equal("", left("if %7", "check.index y.1 0 #0 %2", "end"))
  end)

  it("keeps it outside of the comparison, in its else and for another array", function()
    assert.are.equal("check.index y.1", left("if %7", "end", "check.index y.1 0 #0 %2"))
    assert.are.equal("check.index y.1", left("if %7", "else", "check.index y.1 0 #0 %2", "end"))
    assert.are.equal("check.index x.0", left("if %7", "check.index x.0 0 #0 %2", "end"))
  end)

  -- w + c * local id, below what is stated of a larger multiple, and w alone.
  it("drops the checks of sums with smaller multiples of what a guard adds", function()
    local function left_of(stated, wanted)
      return left("%9: int = const " .. stated, "%10: int = mul %8 %9", "%11: int = add %5 %10",
        "%12: bool = le %11 %3", "%13: int = const " .. wanted, "%14: int = mul %8 %13",
        "%15: int = add %5 %14", "%16: bool = le %1 %5", "if %12", "if %16",
        "check.index y.1 0 #0 %15", "check.index y.1 0 #0 %5", "end", "end")
    end
    assert.are.equal("", left_of(7, 3))
    assert.are.equal("", left_of(2, 1))
    assert.are.equal("check.index y.1", left_of(3, 7))
    assert.are.equal("check.index y.1", left_of(-3, 2))
    assert.are.equal("check.index y.1", left_of(7, -1))
  end)

  -- n >= 0 and n + 256 <= #y; n + local id: at most #y.
  it("drops the check of a sum, by the range of a part and a comparison of the rest", function()
    local guard = { "%9: int = const 256", "%10: int = sub %3 %9", "%11: bool = le %4 %10",
      "%12: bool = le %0 %4", "if %11", "if %12", "%13: int = add %4 %8" }
    local function check_of(index)
      local lines = table.move(guard, 1, #guard, 1, {})
      table.move({ index, "end", "end" }, 1, 3, #lines + 1, lines)
      return left(table.unpack(lines))
    end
    assert.are.equal("", check_of("check.index y.1 0 #0 %13"))
    assert.are.equal("check.index x.0", check_of("check.index x.0 0 #0 %13"))
    assert.are.equal("check.index y.1",
      check_of("%14: int = add %13 %1\ncheck.index y.1 0 #0 %14"))
  end)

  it("goes by parameter, not by name", function()
    assert.are.equal("", left("if %7", "check.index v.5 0 #0 %2", "end"))
  end)

  it("keeps the check of an index that may be below 1", function()
    assert.are.equal("check.index y.1", left("%9: bool = le %4 %3", "if %9",
      "check.index y.1 0 #0 %4", "end"))
  end)

  it("joins bounds from nested conditions", function()
    assert.are.equal("", left("%9: bool = le %4 %3", "%10: bool = le %1 %4", "if %9", "if %10",
      "check.index y.1 0 #0 %4", "end", "end"))
  end)

  it("understands early returns", function()
    assert.are.equal("", left("%9: bool = lt %3 %2", "if %9", "return", "end",
      "check.index y.1 0 #0 %2"))
    assert.are.equal("", left("%9: bool = not %7", "if %9", "return", "end",
      "check.index y.1 0 #0 %2"))
    assert.are.equal("check.index y.1", left("%9 = block", "if %7", "leave %9", "end", "end",
      "check.index y.1 0 #0 %2"))
  end)

  it("drops a check behind the same one", function()
    assert.are.equal("check.index x.0", left("check.index x.0 0 #0 %4", "check.index x.0 0 #0 %4"))
    assert.are.equal("check.index x.0, check.index x.0",
      left("if %7", "check.index x.0 0 #0 %4", "end", "check.index x.0 0 #0 %4"))
  end)

  it("keeps what both branches have checked", function()
    assert.are.equal("check.index x.0, check.index x.0",
      left("if %7", "check.index x.0 0 #0 %4", "else", "check.index x.0 0 #0 %4",
      "end", "check.index x.0 0 #0 %4"))
    assert.are.equal("check.index x.0, check.index y.1, check.index x.0",
      left("if %7", "check.index x.0 0 #0 %4", "else",
      "check.index y.1 0 #0 %4", "end", "check.index x.0 0 #0 %4"))
  end)

  it("tells dimensions apart", function()
    assert.are.equal("check.index m.2, check.index m.2",
      left("check.index m.2 0 #0 %4", "check.index m.2 1 #0 %4"))
  end)

  it("follows variables through assignments", function()
    assert.are.equal("", left("set j.1 %2", "%9: int = get j.1", "%10: bool = le %9 %3", "if %10",
      "%11: int = get j.1",
      "check.index y.1 0 #0 %11", "end"))
    assert.are.equal("check.index y.1", left("set j.1 %2", "%9: int = get j.1",
      "%10: bool = le %9 %3", "if %10", "set j.1 %4",
      "%11: int = get j.1", "check.index y.1 0 #0 %11", "end"))
  end)

  it("forgets variables that a loop assigns", function()
    assert.are.equal("check.index y.1", left("set j.1 %1", "%9 = loop", "%10: int = get j.1",
      "check.index y.1 0 #0 %10",
      "%11: int = add %10 %1", "set j.1 %11", "end"))
    assert.are.equal("check.index s.3", left("set j.1 %1", "%9 = loop", "%10: int = get j.1",
      "check.index s.3 0 #0 %10",
      "%11: int = add %10 %1", "set j.1 %11", "end"))
  end)

  it("forgets variables that one branch assigns", function()
    assert.are.equal("check.index s.3", left("set j.1 %1", "if %7", "set j.1 %4", "end",
      "%9: int = get j.1", "check.index s.3 0 #0 %9"))
    assert.are.equal("", left("set j.1 %1", "if %7", "set j.1 %8", "end", "%9: int = get j.1",
      "check.index s.3 0 #0 %9"))
  end)

  it("knows the bounds of a for", function()
    assert.are.equal("", left("%9 = for i.0 %1 %3 %1", "%10: int = get i.0",
      "check.index y.1 0 #0 %10", "end"))
    assert.are.equal("", left("%9: int = const -1", "%10 = for i.0 %3 %1 %9", "%11: int = get i.0",
      "check.index y.1 0 #0 %11", "end"))
    assert.are.equal("", left("%9: int = global_size 0", "%10 = for i.0 %2 %3 %9",
      "%11: int = get i.0", "check.index y.1 0 #0 %11", "end"))
  end)

  it("knows that the size of a grid, as a step, is not zero, and that a number may be", function()
    assert.are.equal("", left("%9: int = global_size 0", "%10: bool = ne %9 %0", "check #3 %10"))
    assert.are.equal("check", left("%9: bool = ne %4 %0", "check #3 %9"))
    assert.are.equal("check", left("%9: bool = ne %4 %0", "check #3 %9", "check #3 %9"))
  end)

  it("takes no bound from a for whose step may go either way", function()
    assert.are.equal("check.index y.1", left("%9 = for i.0 %1 %3 %4", "%10: int = get i.0",
      "check.index y.1 0 #0 %10", "end"))
  end)

  it("makes less of no more where values differ, at either end", function()
    assert.are.equal("", left("%9: bool = eq %2 %1", "%10: int = sub %2 %1", "if %9", "else",
      "if %7", "check.index y.1 0 #0 %10", "end", "end"))
    assert.are.equal("", left("%9: bool = ne %2 %3", "%10: int = add %2 %1", "if %7", "if %9",
      "check.index y.1 0 #0 %10", "end", "end"))
    assert.are.equal("check.index y.1", left("%9: bool = ne %2 %3", "%10: int = add %2 %1", "if %9",
      "check.index y.1 0 #0 %10", "end"))
  end)

  it("goes around an edge by the condition that says where it is", function()
    local around = { "set i.0 %10", "if %9", "set i.0 %11", "end", "%12: int = get i.0",
      "check.index y.1 0 #0 %12" }
    local function wrap(test, neighbour, other)
      local lines = { "if %7", test, neighbour, other }
      table.move(around, 1, #around, 5, lines)
      lines[#lines + 1] = "end"
      return left(table.unpack(lines))
    end
    assert.are.equal("", wrap("%9: bool = eq %2 %1", "%10: int = sub %2 %1",
      "%11: int = extent y.1 0"))
    assert.are.equal("", wrap("%9: bool = eq %2 %3", "%10: int = add %2 %1", "%11: int = const 1"))
    assert.are.equal("check.index y.1", wrap("%9: bool = eq %2 %4", "%10: int = add %2 %1",
      "%11: int = const 1"))
  end)

  it("leaves out the value of a path that cannot have been taken", function()
    assert.are.equal("", left("set i.0 %4", "if %7", "set i.0 %2", "end", "%9: int = get i.0",
      "if %7", "check.index y.1 0 #0 %9", "end"))
    assert.are.equal("check.index y.1", left("set i.0 %4", "if %7", "set i.0 %2", "end",
      "%9: int = get i.0", "check.index y.1 0 #0 %9"))
  end)

  it("takes no bound from a for that starts below 1 or ends elsewhere", function()
    assert.are.equal("check.index y.1", left("%9 = for i.0 %0 %3 %1", "%10: int = get i.0",
      "check.index y.1 0 #0 %10", "end"))
    assert.are.equal("check.index x.0", left("%9 = for i.0 %1 %3 %1", "%10: int = get i.0",
      "check.index x.0 0 #0 %10", "end"))
  end)

  it("adds and subtracts constants where nothing wraps", function()
    assert.are.equal("", left("%9: bool = lt %2 %3", "%10: int = add %2 %1", "if %9",
      "check.index y.1 0 #0 %10", "end"))
    assert.are.equal("check.index y.1", left("%9: bool = le %2 %3", "%10: int = add %2 %1", "if %9",
      "check.index y.1 0 #0 %10", "end"))
    assert.are.equal("", left("%9: bool = lt %1 %2", "%10: int = sub %2 %1", "if %9", "if %7",
      "check.index y.1 0 #0 %10", "end", "end"))
    assert.are.equal("check.index y.1", left("%10: int = sub %2 %1", "if %7",
      "check.index y.1 0 #0 %10", "end"))
  end)

  it("is not taken in by sums that wrap", function()
    -- n + 1 <= #y says nothing of n when n is the largest integer
    assert.are.equal("check.index y.1", left("%9: int = add %4 %1", "%10: bool = le %9 %3",
      "%11: bool = le %1 %4",
      "if %11", "if %10", "check.index y.1 0 #0 %4", "end", "end"))
    -- but w, a narrow one, has room above
    assert.are.equal("", left("%9: int = add %5 %1", "%10: bool = le %9 %3", "%11: bool = le %1 %5",
      "if %11", "if %10", "check.index y.1 0 #0 %5", "end", "end"))
  end)

  it("chains comparisons", function()
    assert.are.equal("", left("%9: bool = le %2 %4", "%10: bool = lt %4 %3", "if %9", "if %10",
      "check.index y.1 0 #0 %2", "end", "end"))
  end)

  it("bounds by the smaller of two", function()
    assert.are.equal("", left("%9: int = min %6 %3", "%10 = for i.0 %1 %9 %1", "%11: int = get i.0",
      "check.index x.0 0 #0 %11", "check.index y.1 0 #0 %11", "end"))
  end)

  it("knows what a modulus, a mask, a shift and a promised workgroup allow", function()
    assert.are.equal("", left("%9: int = const 256", "%10: int = mod %4 %9",
      "%11: int = add %10 %1", "check.index s.3 0 #0 %11"))
    assert.are.equal("", left("%9: int = const 255", "%10: int = band %4 %9",
      "%11: int = add %10 %1", "check.index s.3 0 #0 %11"))
    assert.are.equal("", left("%9: int = const 56", "%10: int = shr %4 %9", "%11: int = add %10 %1",
      "check.index s.3 0 #0 %11"))
    assert.are.equal("", left("check.index s.3 0 #0 %8"))
    assert.are.equal("check.index s.3", left("%9: int = const 257", "%10: int = mod %4 %9",
      "%11: int = add %10 %1", "check.index s.3 0 #0 %11"))
  end)

  it("knows the range of what an array holds", function()
    assert.are.equal("check.index h.4", left("check.index h.4 0 #0 %2", "%9: int = load h.4 %2",
      "%10: int = add %9 %1",
      "check.index s.3 0 #0 %10"))
  end)

  it("takes `and` and `or` of comparisons apart", function()
    local both = { "set b.2 %7", "if %7", "%9: bool = le %2 %6", "set b.2 %9", "end",
      "%10: bool = get b.2" }
    local either = { "%20: bool = lt %3 %2", "set b.2 %20", "%21: bool = not %20", "if %21",
      "%9: bool = lt %6 %2", "set b.2 %9", "end",
      "%10: bool = get b.2" }
    local use = { "check.index y.1 0 #0 %2", "check.index x.0 0 #0 %2" }
    local function join(...)
      local lines = {}
      for _, list in ipairs { ... } do table.move(list, 1, #list, #lines + 1, lines) end
      return table.unpack(lines)
    end
    assert.are.equal("", left(join(both, { "if %10" }, use, { "end" })))
    assert.are.equal("", left(join(either, { "if %10", "return", "end" }, use)))
    assert.are.equal("check.index y.1, check.index x.0",
      left(join(both, { "if %10", "return", "end" }, use)))
    assert.are.equal("check.index y.1, check.index x.0",
      left(join(either, { "if %10" }, use, { "end" })))
  end)

  it("does not go in circles where paths meet with what was known before", function()
    local lines = { "%9: bool = le %4 %4", "%10: bool = lt %8 %4", "%11: bool = lt %0 %4", "if %11",
      "if %9" }
    for _ = 1, 64 do table.move({ "if %9", "end" }, 1, 2, #lines + 1, lines) end
    for _ = 1, 3000 do
      table.move({ "if %10", "check.index x.0 0 #0 %4", "end" }, 1, 3, #lines + 1, lines)
    end
    table.move({ "end", "end" }, 1, 2, #lines + 1, lines)
    local _, count = left(table.unpack(lines)):gsub("check.index x.0", "")
    assert.are.equal(3000, count)
  end)

  it("takes memory for the variables of a loop, not for each assignment", function()
    local function peak_kib()
      for line in io.lines("/proc/self/status") do
        local kib = line:match("^VmHWM:%s*(%d+)")
        if kib then return tonumber(kib) end
      end
    end
    local lines = {}
    for i = 1, 150 do lines[i] = ("%%%d = loop"):format(i + 8) end
    for _ = 1, 30000 do lines[#lines + 1] = "set j.1 %4" end
    for i = 150, 1, -1 do
      lines[#lines + 1] = ("leave %%%d"):format(i + 8)
      lines[#lines + 1] = "end"
    end
    local file = assert(io.open("/proc/self/clear_refs", "w"))
    file:write("5") -- forgets the peak
    file:close()
    local before = peak_kib()
    left(table.unpack(lines))
    assert.is_true(peak_kib() - before < 256 * 1024, "it took more than 256 MiB")
  end)

  it("drops divisor checks that cannot fail", function()
    assert.are.equal("", left("check.nonzero #1 %1", "check.nonzero #1 %2"))
    assert.are.equal("check.nonzero", left("check.nonzero #1 %4", "check.nonzero #1 %4"))
    assert.are.equal("", left("%9: bool = ne %4 %0", "if %9", "check.nonzero #1 %4", "end"))
    assert.are.equal("check.nonzero", left("%9: bool = eq %4 %0", "if %9", "check.nonzero #1 %4",
      "end"))
  end)

  it("drops checks for an integer that an integer, or a constant, passes", function()
    assert.are.equal("", left("%9: f64 = to.f64 %5", "check.int #2 %9", "%10: f64 = const 2.5",
      "check.int #2 %10"))
    assert.are.equal("check.int, check.int, check.int",
      left("%9: f64 = to.f64 %4", "check.int #2 %9", "%10: f64 = const 1e300",
      "check.int #2 %10", "%11: f64 = const nan", "check.int #2 %11"))
  end)

  it("learns from assertions", function()
    assert.are.equal("check", left("check #3 %7", "check.index y.1 0 #0 %2"))
  end)

  it("leaves reads that nobody uses to the sweep behind it", function()
    local text = compiler.ir_optimize(HEAD
      .. "check.index y.1 0 #0 %2\n%9: f32 = load y.1 %2\nend\n")
    assert.is_nil(text:find("load", 1, true))
    assert.is_truthy(text:find("check.index", 1, true))
  end)
end)

describe("loops that carry integers on", function()
  -- while low < high do mid = MID; check y[mid]; LOW or HIGH end
  local function search(first, last, mid, low, high)
    local lines = { "var l.3: int", "var h.4: int" }
    local head, body = HEAD:match("^(.-)(  site 0.*)$")
    local text = head .. "  " .. table.concat(lines, "\n  ") .. "\n" .. body .. table.concat({
      "%20: int = const 2", "%21: int = add %3 %1", "%9: int = extent h.4 0",
      "%22: int = add %9 %1", "set l.3 " .. first, "set h.4 " .. last, "%30 = loop",
      "%31: int = get l.3", "%32: int = get h.4", "%33: bool = lt %31 %32", "if %33", "else",
      "leave %30", "end", "%34: int = add %31 %32", "%35: int = sub %32 %31",
      "%36: int = floordiv %35 %20", "%37: int = floordiv %34 %20", "%38: int = shr %34 %1",
      "%39: int = add %31 %36", "%40: int = add %34 %1", "%41: int = floordiv %40 %20",
      "check.index h.4 0 #0 " .. mid, "%42: int = load h.4 " .. mid, "%43: bool = lt %42 %4",
      "if %43", "%44: int = add " .. mid .. " %1", "%45: int = sub " .. mid .. " %1",
      "set l.3 " .. low, "else", "%46: int = sub " .. mid .. " %1", "%47: int = add " .. mid
      .. " %1", "set h.4 " .. high, "end", "end", "end", "" }, "\n")
    return select(2, compiler.ir_eliminate_checks(text):gsub("check%.index", ""))
  end

  it("keep what bounds a search, however its middle is made", function()
    for _, mid in ipairs { "%37", "%38", "%39" } do
      assert.are.equal(0, search("%1", "%22", mid, "%44", mid), mid)
    end
    assert.are.equal(0, search("%1", "%9", "%41", "%41", "%46"))
  end)

  it("keep the check of a search that leaves its bounds", function()
    for _, mid in ipairs { "%37", "%38", "%39" } do
      assert.are.equal(1, search("%0", "%22", mid, "%44", mid), mid)     -- begins at 0
      assert.are.equal(1, search("%1", "%21", mid, "%44", mid), mid)     -- of another array
      assert.are.equal(1, search("%4", "%22", mid, "%44", mid), mid)     -- from an argument
    end
    assert.are.equal(1, search("%1", "%22", "%41", "%41", "%46")) -- its upper middle is #h + 1
    assert.are.equal(1, search("%1", "%22", "%37", "%45", "%37")) -- low = mid - 1
  end)
end)

describe("floats", function()
  local function rounded(...)
    local lines = { "%10: f32 = to.f32 %8", "%11: f32 = const 0.5" }
    table.move({ ... }, 1, select("#", ...), #lines + 1, lines)
    return left(table.unpack(lines))
  end

  it("of integers that are small round to integers that are", function()
    assert.are.equal("", rounded("%12: f32 = mul %10 %11", "check.int #2 %12",
      "%13: int = floor %12", "%14: int = add %13 %1", "check.index s.3 0 #0 %14"))
    assert.are.equal("", rounded("%12: f32 = mul %10 %11", "%13: int = ceil %12",
      "%14: int = max %13 %1", "check.index s.3 0 #0 %14"))
    assert.are.equal("check.index s.3", rounded("%12: f32 = sub %10 %11", "%13: int = floor %12",
      "check.index s.3 0 #0 %13"))
    assert.are.equal("check.index s.3", rounded("%12: f32 = add %10 %11", "%13: int = ceil %12",
      "check.index s.3 0 #0 %13"))
  end)

  it("out of memory may be no numbers, unless a comparison says that they are", function()
    local load = { "check.index x.0 0 #0 %1", "%20: f32 = load x.0 %1", "%21: f32 = const 1",
      "%22: f32 = const 200" }
    local function of(...)
      local lines = table.move(load, 1, #load, 1, {})
      table.move({ ... }, 1, select("#", ...), #lines + 1, lines)
      return left(table.unpack(lines))
    end
    local use = { "check.int #2 %20", "%23: int = floor %20", "check.index s.3 0 #0 %23" }
    assert.are.equal("check.index x.0, check.int, check.index s.3", of(table.unpack(use)))
    assert.are.equal("check.index x.0", of("%24: bool = le %21 %20", "%25: bool = lt %20 %22",
      "if %24", "if %25", use[1], use[2], use[3], "end", "end"))
    assert.are.equal("check.index x.0, check.int, check.index s.3", of("%24: bool = lt %20 %21",
      "%25: bool = lt %22 %20", "if %24", "else", "if %25", "else", use[1], use[2], use[3], "end",
      "end"))
    assert.are.equal("check.index x.0", of("%26: f32 = max %21 %20", "%27: f32 = min %26 %22",
      "check.int #2 %27", "%28: int = floor %27", "check.index s.3 0 #0 %28"))
    assert.are.equal("check.index x.0, check.int, check.index s.3", of("%26: f32 = max %20 %21",
      "%27: f32 = min %26 %22", "check.int #2 %27", "%28: int = floor %27",
      "check.index s.3 0 #0 %28"))
  end)

  -- An operation has one number in and after the IF, whose condition holds in it alone.
  it("are not bounded by a comparison that does not hold here", function()
    local lines = { "check.index x.0 0 #0 %1", "%20: f32 = load x.0 %1", "%21: f32 = const 5",
      "%22: f32 = const 0", "%23: bool = lt %20 %21", "if %23" }
    for id = 30, 40, 10 do
      local use = ("%A: f32 = max %20 %22|%B: f32 = max %22 %A|check.int #2 %B|%C: int = floor %B|"
        .. "%D: int = add %C %1|check.index s.3 0 #0 %D|end"):gsub("%%(%u)", function(letter)
        return "%" .. id + letter:byte() - 65
      end)
      for line in use:gmatch("[^|]+") do lines[#lines + 1] = line end
    end
    assert.are.equal("check.index x.0, check.int, check.index s.3",
      left(table.unpack(lines, 1, #lines - 1)))
  end)
end)

describe("windows of a radius", function()
  -- if LOW and i <= #h - w then for d = FIRST, LAST do check h[i + d]
  local function window(row)
    local lines = { "%20: int = extent h.4 0", "%21: int = sub %20 %5", "%22: int = neg %5",
      "%23: int = sub %0 %5", "%24: int = add %5 %1", "%25: int = sub %22 %1",
      "%26: bool = lt %5 %2", "%27: bool = le %5 %2", "%28: bool = le %2 %21",
      "%29: bool = le %2 %20", "if " .. (row.low or "%26"), "if " .. (row.high or "%28"),
      ("%%30 = for i.0 %s %s %%1"):format(row.first or "%22", row.last or "%5"),
      "%31: int = get i.0", "%32: int = add %2 %31", "%33: int = add %31 %2",
      "check.index h.4 0 #0 " .. (row.index or "%32"), "end", "end", "end" }
    return left(table.unpack(lines))
  end

  it("need no check of an index that a guard keeps so far from both ends", function()
    assert.are.equal("", window {})
    assert.are.equal("", window { index = "%33", first = "%23" })
  end)

  it("keep it where the guard is nearer, or the window larger", function()
    assert.are.equal("check.index h.4", window { low = "%27" })
    assert.are.equal("check.index h.4", window { high = "%29" })
    assert.are.equal("check.index h.4", window { first = "%25" })
    assert.are.equal("check.index h.4", window { last = "%24" })
  end)
end)

describe("loops whose rounds constants count", function()
  -- i = first; while CONDITION do BODY; i = i OP by end.  %21 is i, %24 the local id less 1; after
  -- the loop %29 is i.
  local function counted(row)
    local lines = { "%20: int = const " .. row.first, "set j.1 %20", "%30 = loop",
      "%21: int = get j.1", "%22: int = const " .. row.last,
      "%23: bool = " .. row.condition:gsub("i", "%%21"):gsub("last", "%%22"), "if %23", "else",
      "leave %30", "end", "%24: int = sub %8 %1", "%26: int = const 2" }
    table.move(row.body, 1, #row.body, #lines + 1, lines)
    local rest = { "%27: int = const " .. row.by, "%50: int = get j.1",
      ("%%28: int = %s %%50 %%27"):format(row.op), "set j.1 %28", "end", "%29: int = get j.1" }
    table.move(rest, 1, #rest, #lines + 1, lines)
    table.move(row.after or {}, 1, #(row.after or {}), #lines + 1, lines)
    return left(table.unpack(lines))
  end
  local function halves(body, after, first)
    return counted { first = first or 64, last = 0, condition = "lt last i", op = "floordiv",
      by = 2, body = body, after = after }
  end
  -- The pair (2 * item - (item & (i - 1)), + i) of a bitonic sort of 256 by 128 items, and more by
  -- `extra`.
  local function pair(extra)
    return { "%31: int = const 128", "%32: bool = le %8 %31", "if %32", "%33: int = mul %26 %24",
      "%34: int = sub %21 %1", "%35: int = band %24 %34", "%36: int = sub %33 %35",
      "%37: int = add %36 %21", "%38: int = const " .. extra, "%39: int = add %37 %38",
      "check.index s.3 0 #0 %39", "end" }
  end

  it("need no check that each round proves", function()
    assert.are.equal("", halves(pair(1), {}, 128))
    assert.are.equal("check.index s.3", halves(pair(2), {}, 128))
    assert.are.equal("check.index s.3", halves(pair(-1), {}, 128)) -- 0 in the last round
  end)

  it("leave constants in the variables after them", function()
    assert.are.equal("", counted { first = 1, last = 64, condition = "lt i last", op = "mul",
      by = 2, body = { "check.index s.3 0 #0 %21" }, after = { "check.index s.3 0 #0 %29" } })
    -- i is 65 or less after a jump out of the middle
    assert.are.equal("", halves({ "check.index s.3 0 #0 %21" }))
    assert.are.equal("check.index s.3", halves({ "check.index s.3 0 #0 %21", "if %7", "leave %30",
      "end" }, { "%51: int = add %29 %1", "%52: int = const 256", "%53: int = sub %52 %29",
      "check.index s.3 0 #0 %53", "check.index s.3 0 #0 %29" }))
  end)

  it("keep what a round leaves out on one path alone", function()
    -- where the item is in the first half the rest of the round is not done: i stays
    local function body(jump)
      return { "if %7", jump, "end", "%31: int = mul %21 %26", "%32: int = const 128",
        "%33: int = sub %31 %32", "%34: int = mul %33 %4", "%35: int = add %34 %1",
        "check.index s.3 0 #0 %35" }
    end
    assert.are.equal("", counted { first = 64, last = 63, condition = "lt last i", op = "sub",
      by = 2, body = body("leave %30") })
    assert.are.equal("", counted { first = 64, last = 63, condition = "lt last i", op = "sub",
      by = 2, body = body("next %30") })
    assert.are.equal("check.index s.3", counted { first = 64, last = 62, condition = "lt last i",
      op = "sub", by = 1, body = body("next %30") })
  end)

  it("are walked as others are when there are too many of them", function()
    local body = { "%31: int = const 3", "%32: int = mul %21 %31", "%33: int = mul %21 %26",
      "%34: int = sub %32 %33", "check.index s.3 0 #0 %34" } -- i * 3 - i * 2
    assert.are.equal("check.index s.3", counted { first = 1, last = 90, condition = "lt i last",
      op = "add", by = 1, body = body })
    assert.are.equal("", counted { first = 1, last = 60, condition = "lt i last", op = "add",
      by = 1, body = body })
  end)
end)
