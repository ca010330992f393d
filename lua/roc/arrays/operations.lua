-- The element-wise operations of arrays: for each its result's dtype and its text in a kernel.
--
-- In a text `a`, `b`, `c` are the operands' elements (locals, converted to the operation's class)
-- and `result` is what is stored.  `kinds` are the operands' dtypes, or "integer", "float",
-- "boolean" for plain numbers and booleans.
local core = require "roc.core"
local dtypes = require "roc.arrays.dtypes"

local uint64, int64 = core.dtypes.uint64, core.dtypes.int64
local float64, bool = core.dtypes.float64, core.dtypes.bool

local operations = {}

local function is_bool(kind)
  return kind == "boolean" or kind == bool
end

local function is_float(kind)
  return kind == "float" or type(kind) ~= "string" and kind.kind == "f"
end

local function any(kinds, test)
  for i, kind in ipairs(kinds) do
    if test(kind) then return i end
  end
end

-- Result rules ------------------------------------------------------------------------------------

-- Each gives a dtype; or nil, the number of an operand, and what was expected of it.

local NO_BOOL = "numbers expected, got bool; choose with roc.where(condition, a, b), count with "
  .. "condition:count()"

local function joined(kinds)
  local at = any(kinds, is_bool)
  if at then return nil, at, NO_BOOL end
  return dtypes.join_all(kinds)
end

-- As `joined`, but integers give float64.
local function joined_float(kinds)
  local dtype, at, expected = joined(kinds)
  if not dtype then return nil, at, expected end
  return dtypes.is_integer(dtype) and float64 or dtype
end

-- Integers, or bool with bool.
local function joined_bits(kinds)
  local at = any(kinds, is_float)
  if at then return nil, at, "integers or bool expected, got floats" end
  local dtype = dtypes.join_all(kinds)
  if not dtype then return nil, any(kinds, is_bool), "bool goes with bool alone" end
  return dtype
end

local function joined_integers(kinds)
  local dtype, at, expected = joined_bits(kinds)
  if dtype == bool then return nil, 1, "integers expected, got bool" end
  return dtype, at, expected
end

-- What may be compared for equality and chosen from: numbers, or bool with bool.
local function joined_values(kinds)
  local dtype = dtypes.join_all(kinds)
  if not dtype then return nil, any(kinds, is_bool), "bool goes with bool alone" end
  return dtype
end

local function test_of(rule)
  return function(kinds)
    local dtype, at, expected = rule(kinds)
    if not dtype then return nil, at, expected end
    return bool
  end
end

-- Texts -------------------------------------------------------------------------------------------

local UNSIGNED_QUOTIENT = [[
    local q = 0
    if b < 0 then
      if not math.ult(a, b) then q = 1 end
    elseif a >= 0 then
      q = a // b
    else
      q = (a >> 1) // b << 1
      if not math.ult(a - q * b, b) then q = q + 1 end
    end
]]

local function is_unsigned(kinds, dtype)
  return dtype == uint64 and not any(kinds, is_float)
end

-- Comparisons are made on the operands as they are: integers with floats exactly.
local MIXED = { class = "own" }

-- The order of uint64, of uint64 with another integer, and of uint64 with a float: each as an
-- integer that is less than 0, 0 or greater.
local UNSIGNED_ORDER = [[
    local order = 0
    if math.ult(a, b) then order = -1 elseif a ~= b then order = 1 end
]]
local UNSIGNED_WITH_SIGNED = [[
    local order = 0
    if $s < 0 or $u < 0 then
      order = 1
    elseif $u < $s then
      order = -1
    elseif $u > $s then
      order = 1
    end
]]
local UNSIGNED_WITH_FLOAT = [[
    local order, is_nan = 0, $f ~= $f
    if $u >= 0 then
      if $u < $f then order = -1 elseif $u > $f then order = 1 end
    elseif $f >= 18446744073709551616.0 then
      order = -1
    elseif $f < 9223372036854775808.0 then
      order = 1
    else
      local low, shifted = $u & 0x7fffffffffffffff, $f - 9223372036854775808.0
      if low < shifted then order = -1 elseif low > shifted then order = 1 end
    end
]]

local MIRRORED = { ["<"] = ">", ["<="] = ">=", [">"] = "<", [">="] = "<=", ["=="] = "==",
  ["~="] = "~=" }

-- The text of a comparison where an operand is uint64; nil where Lua's own serves.
local function unsigned_comparison(kinds, sign)
  local a_is, b_is = kinds[1] == uint64, kinds[2] == uint64
  if not (a_is or b_is) then return nil end
  local u, other, kind = "a", "b", kinds[2]
  if not a_is then u, other, kind, sign = "b", "a", kinds[1], MIRRORED[sign] end
  if (a_is and b_is) or kind == "integer" then
    return UNSIGNED_ORDER .. "    result = order " .. (a_is and sign or MIRRORED[sign]) .. " 0"
  elseif is_float(kind) then
    local text = string.gsub(UNSIGNED_WITH_FLOAT, "%$([uf])", { u = u, f = other })
    local rest = sign == "~=" and " or is_nan" or " and not is_nan"
    return text .. "    result = order " .. sign .. " 0" .. rest
  end
  local text = string.gsub(UNSIGNED_WITH_SIGNED, "%$([us])", { u = u, s = other })
  return text .. "    result = order " .. sign .. " 0"
end

local function comparison(name, sign, rule)
  operations[name] = {
    operands = 2, result = test_of(rule), class = MIXED.class,
    text = function(kinds)
      return unsigned_comparison(kinds, sign) or string.format("result = a %s b", sign)
    end,
  }
end

-- Arithmetic --------------------------------------------------------------------------------------

for name, sign in pairs { add = "+", sub = "-", mul = "*" } do
  operations[name] = { operands = 2, symbol = sign, result = joined,
    text = string.format("result = a %s b", sign) }
end
operations.div = { operands = 2, symbol = "/", result = joined_float, text = "result = a / b" }
operations.pow = { operands = 2, symbol = "^", result = joined_float, text = "result = a ^ b",
  square = "result = a * a" }
operations.idiv = { operands = 2, symbol = "//", result = joined,
  text = function(kinds, dtype)
    return is_unsigned(kinds, dtype) and UNSIGNED_QUOTIENT .. "    result = q" or "result = a // b"
  end }
operations.mod = { operands = 2, symbol = "%", result = joined,
  text = function(kinds, dtype)
    return is_unsigned(kinds, dtype) and UNSIGNED_QUOTIENT .. "    result = a - q * b"
      or "result = a % b"
  end }
operations.unm = { operands = 1, symbol = "-", result = joined, text = "result = -a" }

-- Bits and logic ----------------------------------------------------------------------------------

for name, texts in pairs {
  band = { "&", "a and b" }, bor = { "|", "a or b" }, bxor = { "~", "a ~= b" },
} do
  operations[name] = { operands = 2, symbol = texts[1], result = joined_bits,
    text = function(_, dtype)
      return "result = " .. (dtype == bool and texts[2] or string.format("a %s b", texts[1]))
    end }
end
for name, sign in pairs { shl = "<<", shr = ">>" } do
  operations[name] = { operands = 2, symbol = sign, result = joined_integers,
    text = string.format("result = a %s b", sign) }
end
operations.bnot = { operands = 1, symbol = "~", result = joined_bits,
  text = function(_, dtype) return dtype == bool and "result = not a" or "result = ~a" end }

-- Comparison and choice ---------------------------------------------------------------------------

comparison("lt", "<", joined)
comparison("le", "<=", joined)
comparison("gt", ">", joined)
comparison("ge", ">=", joined)
comparison("eq", "==", joined_values)
comparison("ne", "~=", joined_values)

-- The greater or the lesser of two in `result`; the first of equal ones, NaN before all numbers.
local function extreme(name, sign)
  operations[name] = {
    operands = 2, result = joined, chooses = true,
    text = function(_, dtype)
      local test = string.format("b %s a", sign)
      if dtype == uint64 then
        test = sign == "<" and "math.ult(b, a)" or "math.ult(a, b)"
      elseif dtype.kind == "f" then
        test = string.format("a == a and (b %s a or b ~= b)", sign)
      end
      return string.format("result = a\n    if %s then result = b end", test)
    end,
  }
end

extreme("maximum", ">")
extreme("minimum", "<")

operations.where = {
  operands = 3, condition = true, chooses = true,
  result = function(kinds)
    if not is_bool(kinds[1]) then return nil, 1, "bool expected" end
    local dtype, at, expected = joined_values { kinds[2], kinds[3] }
    return dtype, at and at + 1, expected
  end,
  text = "result = c\n    if a then result = b end",
}

-- Functions ---------------------------------------------------------------------------------------

-- Of one operand, which integers are converted for; float64 of integers.
for _, name in ipairs {
  "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "deg", "rad",
} do
  operations[name] = { operands = 1, result = joined_float,
    text = string.format("result = math.%s(a)", name) }
end
for _, name in ipairs {
  "exp2", "log2", "log10", "log1p", "expm1", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
  "cbrt", "rsqrt", "erf", "erfc", "gamma", "lgamma",
} do
  operations[name] = { operands = 1, result = joined_float,
    text = string.format("result = roc.math.%s(a)", name) }
end
for _, name in ipairs { "hypot", "copysign" } do
  operations[name] = { operands = 2, result = joined_float,
    text = string.format("result = roc.math.%s(a, b)", name) }
end
operations.fma = { operands = 3, result = joined_float, text = "result = roc.math.fma(a, b, c)" }
operations.atan2 = { operands = 2, result = joined_float, text = "result = math.atan(a, b)" }
operations.log_base = { operands = 2, result = joined_float, text = "result = math.log(a, b)" }
operations.fmod = { operands = 2, result = joined_float, text = "result = math.fmod(a, b)" }

-- The dtype is kept; integers stay as they are.
local function kept(name, text)
  operations[name] = { operands = 1, result = joined,
    text = function(_, dtype) return dtype.kind == "f" and text or "result = a" end }
end

kept("trunc", "result = roc.math.trunc(a)")
kept("round", "result = roc.math.round(a)")
kept("floor", "result = roc.math.trunc(a)\n    if result > a then result = result - 1 end")
kept("ceil", "result = roc.math.trunc(a)\n    if result < a then result = result + 1 end")

-- What trunc leaves, as math.modf has it: that of an infinity is 0.
operations.fraction = { operands = 1, result = joined_float,
  text = "local whole = roc.math.trunc(a)\n    result = a - whole\n"
    .. "    if a == whole then result = 0 end" }

operations.ult = { operands = 2, result = test_of(joined_integers),
  text = "result = math.ult(a, b)" }

operations.abs = { operands = 1, result = joined,
  text = function(_, dtype)
    return dtype.kind == "u" and "result = a" or "result = math.abs(a)"
  end }
for _, name in ipairs { "popcount", "clz", "ctz", "bitreverse" } do
  operations[name] = { operands = 1, result = joined_integers,
    text = string.format("result = roc.math.%s(a)", name) }
end
for name, test in pairs { isnan = "a ~= a", isfinite = "a - a == 0",
  isinf = "a == 1 / 0 or a == -1 / 0" } do
  operations[name] = { operands = 1, result = test_of(joined), class = MIXED.class,
    text = function(kinds)
      if is_float(kinds[1]) then return "result = " .. test end
      return "result = " .. tostring(name == "isfinite")
    end }
end

-- Conversion to a dtype that the caller names: as the called dtype converts; but uint64 is
-- unsigned.
operations.astype = { operands = 1, class = "own",
  text = function(kinds, dtype)
    local from = kinds[1]
    if dtype == bool then
      return is_bool(from) and "result = a" or "result = a ~= 0"
    elseif is_bool(from) then
      local class = dtypes.class(dtype)
      local zero, one = dtypes.convert("0", int64, class), dtypes.convert("1", int64, class)
      return string.format("result = %s\n    if a then result = %s end", zero, one)
    elseif dtype.kind ~= "f" then
      return string.format("result = roc.%s(a)", dtype.name)
    end
    return "result = " .. dtypes.convert("a", from, dtypes.class(dtype))
  end }

for name, operation in pairs(operations) do
  operation.name = name
end

return operations
