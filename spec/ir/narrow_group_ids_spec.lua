-- Group numbers that fit 32 bits where nobody can tell.
local compiler = require("roc.core").testing.compiler

local HEAD = [[
kernel k(n.0: int, m.1: int narrow, x.2: float32[1] c read written narrow, y.3: float32[1] c read written) check
  array x.0 = param x.2
  array y.1 = param y.3
  var s.0: int
  site 0 index "k.lua" 1 1 dim 0 values 2 name "x"
  %0: int = group_id 0
  %1: int = const 1
  %2: int = sub %0 %1
  %3: int = const 16
  %4: int = mul %2 %3
  %5: int = local_id 0
  %6: int = add %4 %5
  %7: int = param n.0
  %8: int = param m.1
  %9: f32 = const 0
]]

local function clamp(...)
  return compiler.ir_narrow_group_ids(HEAD .. "  " .. table.concat({ ... }, "\n  ") .. "\nend\n")
end

-- The instruction of `id` in the text, its operands' instructions in place of their ids.
local function expression(text, id, depth)
  local op = text:match("%f[%%]" .. id:gsub("%%", "%%%%") .. ": %w+ = ([^\n]*)")
  if not op or depth == 0 then return op or id end
  return (op:gsub("%%%d+", function(arg)
    return "(" .. expression(text, arg, depth - 1) .. ")"
  end))
end

local CLAMPED = "(add (mul (min (sub (group_id 0) (const 1)) (const 167772161)) (const 16)) "
  .. "(local_id 0))"

describe("clamping group numbers", function()
  it("does it for what is compared with a narrow value", function()
    local text = clamp("%10: bool = le %6 %8", "if %10", "end")
    local test = text:match("(%%%d+): bool = le")
    assert.are.equal("le " .. CLAMPED .. " (param m.1)", expression(text, test, 6))
  end)

  it("leaves what is compared with a wide one", function()
    local text = clamp("%10: bool = le %6 %7", "if %10", "end")
    local test = text:match("(%%%d+): bool = le")
    assert.not_matches("min", expression(text, test, 6))
  end)

  it("does it for sums with what a loop between constants counts", function()
    local text = clamp("%10: int = const 3", "%11 = for s.0 %1 %10 %1", "%12: int = get s.0",
      "%13: int = add %6 %12", "%14: bool = le %13 %8", "if %14", "end", "end")
    local test = text:match("(%%%d+): bool = le")
    assert.are.equal("le (add " .. CLAMPED .. " (get s.0)) (param m.1)", expression(text, test, 7))
  end)

  it("does it for indices of narrow arrays, and leaves those of wide ones", function()
    local text = clamp("store x.0 %9 %6", "store y.1 %9 %6")
    local index = text:match("store x%.0 %%%d+ (%%%d+)")
    assert.are.equal(CLAMPED, "(" .. expression(text, index, 6) .. ")")
    assert.are.equal(expression(text, text:match("store y%.1 %%%d+ (%%%d+)"), 6),
      "add (mul (sub (group_id 0) (const 1)) (const 16)) (local_id 0)")
  end)

  it("leaves the sum that a check reports", function()
    local text = clamp("check.index x.0 0 #0 %6")
    local index = text:match("check%.index x%.0 0 #0 (%%%d+)")
    assert.not_matches("min", expression(text, index, 6))
  end)

  it("leaves a sum with something large", function()
    local text = clamp("%10: int = add %6 %7", "%11: bool = le %10 %8", "if %11", "end")
    local test = text:match("(%%%d+): bool = le")
    assert.not_matches("min", expression(text, test, 6))
  end)

  it("reaches 2^31 and stays below 2^32, whatever the factor", function()
    for _, factor in ipairs { 2, 3, 7, 16, 1000, 65536, 1048576 } do
      local text = compiler.ir_narrow_group_ids((HEAD:gsub("const 16", "const " .. factor))
        .. "  %10: bool = le %6 %8\n  if %10\n  end\nend\n")
      local most = math.tointeger(tonumber(expression(text, text:match("(%%%d+): bool = le"), 6)
        :match("min %b() %(const (%d+)%)")))
      assert.is_true(most * factor - (1 << 29) >= 1 << 31, factor)
      assert.is_true(most * factor + (1 << 29) < 1 << 32, factor)
    end
  end)
end)
