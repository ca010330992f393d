-- The operators of arrays, and functions of elements: every operation and pair of dtypes against
-- the same arithmetic on Lua's numbers.
local roc = require "roc"
local devices = require "support.devices"

local DTYPES = { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
  "float16", "bfloat16", "float32", "float64" }

local VALUES = {
  b = { true, false, true, false, true, false, false, true },
  i = { 0, 1, -1, 7, -7, 100, -128, 3 },
  u = { 0, 1, 255, 7, 200, 100, 128, 3 },
  f = { 0.0, -0.0, 1.5, -2.25, 1 / 0, 0 / 0, 100.0, -7.0 },
}
local OTHERS = {
  b = { true, true, false, false, true, true, false, false },
  i = { 5, -3, 2, 7, 3, -100, -1, 3 },
  u = { 5, 3, 2, 7, 255, 100, 1, 3 },
  f = { 2.5, 0.0, 1.5, 3.0, -1 / 0, 1.0, -0.5, 7.0 },
}

local function values_of(dtype, list)
  local result = {}
  for i, value in ipairs(list[dtype.kind]) do result[i] = value end
  if dtype.name == "uint64" then result[5] = -2 end
  return result
end

-- The join of two dtypes, written as a table of DESIGN's sentences.
local function join(a, b)
  if a == b then return a end
  if a.kind == "b" or b.kind == "b" then return nil end
  local wide = { float64 = 3, float32 = 2, float16 = 1, bfloat16 = 1 }
  local x, y = wide[a.name] or 0, wide[b.name] or 0
  if x == 0 and y == 0 then return roc.int64 end
  if x == 3 or y == 3 then return roc.float64 end
  return roc.float32
end

local function unsigned(x) return x >= 0 and x + 0.0 or (x >> 1 | x & 1) * 2.0 end

-- An element in what the operation computes in, as a number of Lua.
local function operand(x, from, to)
  if to.kind ~= "f" or from.kind == "f" then return x end
  local value = from.name == "uint64" and unsigned(x) or x + 0.0
  return to.name == "float64" and value or roc.float32(value)
end

local function same(x, y)
  return x == y and (x ~= 0 or math.type(x) ~= "float" or 1 / x == 1 / y) or x ~= x and y ~= y
end

local function check(title, result, dtype, expected)
  assert.are.equal(dtype, result.dtype, title)
  local got = result.device and result:copy_to_host() or result
  for i, value in ipairs(expected) do
    local stored = dtype.kind == "b" and value or dtype(value)
    if not same(stored, got[i]) then
      error(("%s: element %d is %s, not %s"):format(title, i, got[i], stored), 2)
    end
  end
end

local ARITHMETIC = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return a / b end,
  ["//"] = function(a, b) return a // b end,
  ["%"] = function(a, b) return a % b end,
}
local BITS = {
  ["&"] = function(a, b) return a & b end,
  ["|"] = function(a, b) return a | b end,
  ["~"] = function(a, b) return a ~ b end,
  ["<<"] = function(a, b) return a << b end,
  [">>"] = function(a, b) return a >> b end,
}
local LOGIC = {
  ["&"] = function(a, b) return a and b end,
  ["|"] = function(a, b) return a or b end,
  ["~"] = function(a, b) return a ~= b end,
}

-- Unsigned 64-bit division, which Lua has only through math.ult.
local function udiv(a, b)
  if b < 0 then return math.ult(a, b) and 0 or 1 end
  local q = ((a >> 1) // b) << 1
  return math.ult(a - q * b, b) and q or q + 1
end

local function expected_arithmetic(sign, f, a, b, dtype, x, y)
  if dtype.name == "uint64" and (sign == "//" or sign == "%") then
    return sign == "//" and udiv(x, y) or x - udiv(x, y) * y
  end
  local to = dtype.kind ~= "f" and dtype
    or (dtype.itemsize < 4 or dtype.name == "float32") and roc.float32 or dtype
  local result = f(operand(x, a, to), operand(y, b, to))
  return to.name == "float32" and roc.float32(result) or result
end

local function each_pair_of(names, visit)
  for _, first in ipairs(names) do
    for _, second in ipairs(names) do
      local a, b = roc[first], roc[second]
      visit(a, b, values_of(a, VALUES), values_of(b, OTHERS))
    end
  end
end

-- One dtype of each class; on devices even fewer, as each pair is a kernel.
local SOME = { "bool", "int8", "uint64", "float16", "float32", "float64" }
local FEW = { "bool", "uint64", "float16", "float64" }

-- The array on the current device, when it shall be there.
local function on(array, is_device)
  return is_device and roc.to_device(array) or array
end

local function specs(device)
  local function each_pair(visit) each_pair_of(device and FEW or SOME, visit) end

  it("compute as Lua does, in the dtype that the operands join to", function()
    for sign, f in pairs(ARITHMETIC) do
      each_pair_of(device and FEW or sign == "+" and DTYPES or SOME, function(a, b, x, y)
        local dtype = join(a, b)
        local left, right = on(roc.array(x, a), device), on(roc.array(y, b), device)
        local title = a.name .. " " .. sign .. " " .. b.name
        if not dtype or dtype.kind == "b" then
          assert.error_matches(function() return f(left, right) end, "numbers expected, got bool")
          return
        end
        if sign == "/" and dtype.kind ~= "f" then dtype = roc.float64 end
        if dtype.kind ~= "f" and (sign == "//" or sign == "%") then
          for i = 1, #y do
            if y[i] == 0 then y[i], right[i] = 1, 1 end
          end
        end
        local expected = {}
        for i = 1, #x do
          expected[i] = expected_arithmetic(sign, f, a, b, dtype, x[i], y[i])
        end
        check(title, f(left, right), dtype, expected)
      end)
    end
  end)

  it("of bits take integers, or bool with bool as logic", function()
    for sign, f in pairs(BITS) do
      each_pair(function(a, b, x, y)
        local left, right = on(roc.array(x, a), device), on(roc.array(y, b), device)
        local is_logic = a.kind == "b" and b.kind == "b" and LOGIC[sign]
        local is_bits = a.kind ~= "b" and b.kind ~= "b" and a.kind ~= "f" and b.kind ~= "f"
        if not is_logic and not is_bits then
          assert.error_matches(function() return f(left, right) end, "bad operand #%d of '")
          return
        end
        local expected, dtype = {}, join(a, b)
        for i = 1, #x do expected[i] = (is_logic and LOGIC[sign] or f)(x[i], y[i]) end
        check(a.name .. " " .. sign .. " " .. b.name, f(left, right), dtype, expected)
      end)
    end
  end)

  it("compare integers of every dtype, and floats, exactly", function()
    local function value(x, dtype) return dtype.name == "uint64" and x < 0 and unsigned(x) or x end
    for name, f in pairs {
      lt = function(a, b) return a < b end, le = function(a, b) return a <= b end,
      gt = function(a, b) return a > b end, ge = function(a, b) return a >= b end,
      eq = function(a, b) return a == b end, ne = function(a, b) return a ~= b end,
    } do
      each_pair(function(a, b, x, y)
        local left, right = on(roc.array(x, a), device), on(roc.array(y, b), device)
        local bools = (a.kind == "b" and 1 or 0) + (b.kind == "b" and 1 or 0)
        if bools == 1 or bools == 2 and name ~= "eq" and name ~= "ne" then
          assert.error_matches(function() return left[name](left, right) end,
            "bad operand #%d of '")
          return
        end
        local expected = {}
        for i = 1, #x do
          expected[i] = bools == 2 and f(x[i], y[i])
            or bools == 0 and f(value(x[i], a), value(y[i], b))
        end
        check(a.name .. ":" .. name .. " " .. b.name, left[name](left, right), roc.bool, expected)
      end)
    end
    local big = on(roc.array({ 1 << 53, (1 << 53) + 1, -1, math.mininteger }, "int64"), device)
    local float = on(roc.array({ 2.0 ^ 53, 2.0 ^ 53, 0.5, -2.0 ^ 63 }), device)
    check("int64 == float64", big:eq(float), roc.bool, { true, false, false, true })
    local u = on(roc.array({ -1, math.mininteger, 5, -1 }, "uint64"), device)
    local f = on(roc.array { 2.0 ^ 64, 2.0 ^ 63, 5.5, 2.0 ^ 64 - 4096 }, device)
    check("uint64 < float64", u:lt(f), roc.bool, { true, false, true, false })
    check("uint64 >= float64", u:ge(f), roc.bool, { false, true, false, true })
    check("float64 > uint64", f:gt(u), roc.bool, { true, false, true, false })
  end)

  it("take plain numbers, which do not widen", function()
    for _, name in ipairs(DTYPES) do
      local dtype = roc[name]
      if dtype.kind ~= "b" then
        local a = on(roc.array({ 1, 2, 3 }, dtype), device)
        check(name .. " + 1", a + 1, dtype, { 2, 3, 4 })
        check("1 - " .. name, 10 - a, dtype, { 9, 8, 7 })
        local float = dtype.kind == "f" and dtype or roc.float64
        check(name .. " * 0.5", a * 0.5, float, { 0.5, 1, 1.5 })
        check(name .. " ^ 2", a ^ 2, float, { 1, 4, 9 })
        check("-" .. name, -a, dtype, { -1, -2, -3 })
        check("max", roc.maximum(a, 2), dtype, { 2, 2, 3 })
        check("clip", roc.clip(a, 2, 2), dtype, { 2, 2, 2 })
      end
    end
  end)

  it("broadcast, and keep a common order of the dimensions", function()
    local a = on(roc.range(1, 6):reshape(2, 3), device)
    local column = on(roc.array { { 10 }, { 20 } }, device)
    local sum = a + column
    assert.same({ { 11, 12, 13 }, { 24, 25, 26 } },
      (device and sum:copy_to_host() or sum):totable())
    assert.is_true((a:transpose() * 2):is_f_contiguous())
    assert.is_true((a:transpose() + a:reshape(3, 2)):is_c_contiguous())
    assert.same({ 0, 3 }, (on(roc.zeros({ 0, 3 }), device) + on(roc.zeros(3), device)).shape)
    local strided = a:slice(2, 1, 3, 2) - a:slice(2, 2, 2)
    assert.same({ { -1, 1 }, { -1, 1 } },
      (device and strided:copy_to_host() or strided):totable())
  end)

  it("choose: NaN wins, the first of equal ones stays", function()
    local a = on(roc.array { 0.0, -0.0, 0 / 0, 1, 5 }, device)
    local b = on(roc.array { -0.0, 0.0, 1, 0 / 0, 7 }, device)
    check("maximum", roc.maximum(a, b), roc.float64, { 0.0, -0.0, 0 / 0, 0 / 0, 7 })
    check("minimum", roc.minimum(a, b), roc.float64, { 0.0, -0.0, 0 / 0, 0 / 0, 5 })
    check("clip", roc.clip(a, 1, 2), roc.float64, { 1, 1, 0 / 0, 1, 2 })
    check("where", roc.where(a:gt(0), a, -1), roc.float64, { -1, -1, -1, 1, 5 })
    local u = on(roc.array({ -1, 1 }, "uint64"), device)
    check("maximum", roc.maximum(u, 5), roc.uint64, { -1, 5 })
    check("where", roc.where(u:eq(1), u, 0), roc.uint64, { 0, 1 })
  end)

  it("convert, uint64 as unsigned", function()
    local u = on(roc.array({ -1, 5 }, "uint64"), device)
    check("float64", u:astype "float64", roc.float64, { 2.0 ^ 64, 5 })
    check("float32", u:astype "float32", roc.float32, { 2.0 ^ 64, 5 })
    local floats = on(roc.array { 2.7, 0 / 0, 300, 0 }, device)
    check("uint8", floats:astype "uint8", roc.uint8, { 2, 0, 255, 0 })
    check("bool", floats:astype "bool", roc.bool, { true, true, true, false })
    check("int8", on(roc.array { true, false }, device):astype "int8", roc.int8, { 1, 0 })
    check("float16", on(roc.array({ 1, 70000 }, "int32"), device):astype "float16", roc.float16,
      { 1, 1 / 0 })
  end)

  it("of roc.math take arrays", function()
    local a = on(roc.array({ 4, 2.5, -2.5, -0.0 }, "float32"), device)
    check("floor", roc.math.floor(a), roc.float32, { 4, 2, -3, -0.0 })
    check("ceil", roc.math.ceil(a), roc.float32, { 4, 3, -2, -0.0 })
    check("abs", roc.math.abs(a), roc.float32, { 4, 2.5, 2.5, 0.0 })
    check("sqrt", roc.math.sqrt(on(roc.array({ 4, 9 }, "int32"), device)), roc.float64, { 2, 3 })
    check("max", roc.math.max(a, 0), roc.float32, { 4, 2.5, 0, -0.0 })
    check("max of three", roc.math.max(-1, 0, a), roc.float32, { 4, 2.5, 0, 0 })
    check("min of three", roc.math.min(a, 3, -2), roc.float32, { -2, -2, -2.5, -2 })
    check("max of one", roc.math.max(a), roc.float32, { 4, 2.5, -2.5, -0.0 })
    check("max of numbers and integers", roc.math.max(1.5, 3, on(roc.array({ 2, 9 }, "int8"),
      device)), roc.float64, { 3, 9 })
    check("log to a base", roc.math.log(on(roc.array({ 8, 2 }, "float32"), device), 2),
      roc.float32, { 3, 1 })
    check("log of a number", roc.math.log(8, on(roc.array { 2 }, device)), roc.float64, { 3 })
    check("fma", roc.math.fma(2, 3, on(roc.array { 4 }, device)), roc.float64, { 10 })
    check("ult", roc.math.ult(on(roc.array({ 1, -1 }, "int8"), device), 2), roc.bool,
      { true, false })
    local whole, fraction = roc.math.modf(on(roc.array { -2.5, 3, 1 / 0 }, device))
    check("modf", whole, roc.float64, { -2, 3, 1 / 0 })
    check("modf", fraction, roc.float64, { -0.5, 0.0, 0.0 })
    whole, fraction = roc.math.modf(on(roc.array({ 7 }, "int8"), device))
    check("modf", whole, roc.int8, { 7 })
    check("modf", fraction, roc.float64, { 0 })
    check("isnan", roc.math.isnan(a / a), roc.bool, { false, false, false, true })
    check("atan", roc.math.atan(a, 0), roc.float32,
      { math.pi / 2, math.pi / 2, -math.pi / 2, -0.0 })
    check("hypot", roc.math.hypot(on(roc.array { 3 }, device), 4), roc.float64, { 5 })
  end)
end

describe("operators of host arrays", function()
  specs(nil)

  it("refuse what is no operand, at the script's line", function()
    local a = roc.zeros(3)
    for pattern, f in pairs {
      ["operand #2 of '%+' %(array, number or boolean expected, got table; make an array of it"] =
        function() return a + {} end,
      ["operand #1 of '%*' %(array, number or boolean expected, got string"] =
        function() return "2" * a end,
      ["shape {2} does not broadcast with shape {3} of operand #1"] =
        function() return a - roc.zeros(2) end,
      ["compare arrays element by element with a:lt%(b%)"] = function() return a < a end,
      ["operand #1 of 'where' %(bool expected; the operands are float64 and integer and integer"] =
        function() return roc.where(a, 1, 2) end,
      ["operand #1 of 'where' %(array expected, got boolean"] =
        function() return roc.where(true, 1, 2) end,
      ["bool goes with bool alone"] = function() return roc.where(a:eq(0), true, 1) end,
    } do
      local ok, why = pcall(function() local result = f() return result end)
      assert.is_false(ok)
      assert.matches("operators_spec.lua:%d+: ", why)
      assert.matches(pattern, why)
    end
  end)

  it("do not mix with device arrays, but for one element", function()
    local d = roc.to_device(roc.ones(3))
    assert.error_matches(function() return d + roc.zeros(3) end, "copy it there with roc.to_device")
    assert.same({ 6, 6, 6 }, (d + roc.array { 5 }):copy_to_host():totable())
  end)

  it("raise an integer division by zero, and leave the operands", function()
    local a = roc.array({ 1, 2 }, "int32")
    assert.error_matches(function() return a // 0 end, "attempt to divide by zero")
    assert.same({ 1, 2 }, a:totable())
  end)
end)

describe("operators of device arrays", function()
  devices.each(function() specs(true) end)
end)
