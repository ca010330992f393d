-- Random typed expressions.
--
-- A node is { type =, parts = }, parts a list of strings and nodes, so that shrinking can replace
-- any node by a simpler one of its type. Every expression has a value on every device: indices are
-- taken modulo extents, divisors made odd; what a check may refuse is written by statements alone,
-- which know that they take a risk.
local choice = require "support.fuzz.choice"

local random, pick, chance = choice.random, choice.pick, choice.chance

local M = {}

local INTEGERS = {
  "0", "1", "2", "3", "7", "-1", "-5", "63", "64", "255", "65536", "2147483647", "-2147483648",
  "2147483648", "4294967295", "4294967296",
  "math.maxinteger", "math.mininteger", "9007199254740993", "0x55555555", "0xffffffffffffffff",
  "UP_I", "TABLE.i",
}
local FLOATS = {
  "0.0", "-0.0", "1.0", "0.5", "-2.25", "3.1415926535897931", "1e300", "-1e300", "1e-310",
  "16777217.0", "9007199254740993.0",
  "9.3e18", "-9.3e18", "1e10", "0.1", "(1/0)", "(-1/0)", "(0/0)", "math.pi", "math.huge", "UP_F",
  "0x1p-1074", "2.0^53",
}
local BOOLEANS = { "true", "false", "UP_B" }

local gen = {}

local function node(type, ...)
  return { type = type, parts = { ... } }
end

local function expression(scope, type, depth)
  return gen[type](scope, depth)
end

M.node, M.expression = node, expression

-- A number type that the case uses.
function M.number_type(scope)
  return pick(scope.case.number_types)
end

function M.value_type(scope)
  return chance(15) and "B" or M.number_type(scope)
end

-- Any integer made into an index of an array of `extent` (Lua text).
local function index(scope, extent, depth)
  return node("I", "(", expression(scope, "I", depth), ") % ", extent, " + 1")
end

M.index = index

-- Reading memory: inputs, rows and private arrays in sight, and the item's own element of an
-- output. nil when none has the type.
local function element(scope, type, depth)
  local sources = {}
  for _, a in ipairs(scope.case.inputs) do
    if a.element == type then
      sources[#sources + 1] = a
    end
  end
  for _, entry in ipairs(
    scope:all(function(e) return e.type == "array" and e.element == type end)) do
    sources[#sources + 1] = entry
  end
  if not scope.only_uniform then
    for _, a in ipairs(scope.case.outputs) do
      if a.element == type then
        sources[#sources + 1] = a
      end
    end
  end
  if #sources == 0 then
    return nil
  end
  local a = pick(sources)
  if a.is_output then
    return a.rank == 1 and node(type, a.name, "[gid]")
      or node(type, a.name, "[gid][", index(scope, "3", depth), "]")
  elseif a.rank == 2 then
    return node(type, a.name, "[", index(scope, "#" .. a.name, depth), "][",
      index(scope, a.name .. ".shape[2]", depth), "]")
  end
  return node(type, a.name, "[", index(scope, a.extent or "#" .. a.name, depth), "]")
end

M.element = element

local CONSTANTS = { I = INTEGERS, F = FLOATS, P = FLOATS, B = BOOLEANS }

local function leaf(scope, type)
  local entry = chance(70) and scope:find(type)
  if entry then
    return node(type, entry.name)
  elseif type == "S" then
    return chance(60) and element(scope, "S", 0) or node("S", "roc.float32(", pick(FLOATS), ")")
  end
  return node(type, pick(CONSTANTS[type]))
end

-- A call of a device function whose first result has the type.
local function call_function(scope, type, depth)
  if scope.in_function or scope.only_uniform then
    return leaf(scope, type)
  end
  for _, f in ipairs(scope.case.functions) do
    if f.results[1] == type and not f.is_group and chance(60) then
      return node(type, "(", M.call(scope, f, depth), ")") -- one result
    end
  end
  return leaf(scope, type)
end

function M.call(scope, f, depth)
  return node("call", f.name, "(", expression(scope, f.params[1], depth), ", ",
    expression(scope, f.params[2], depth),
    { arguments_of = f }, ")")
end

local function condition(scope, type, depth)
  local b = expression(scope, "B", depth)
  local form = random(4)
  if form == 1 then -- the value may be false on the way
    return node(type, "((", b, " and ", expression(scope, type, depth), ") or ",
      expression(scope, type, depth), ")")
  elseif form == 2 then
    return node(type, "((not ", b, ") and ", expression(scope, type, depth), " or ",
      expression(scope, type, depth), ")")
  end
  return node(type, "(", b, " and ", expression(scope, type, depth), " or ",
    expression(scope, type, depth), ")")
end

local INTEGER_CONVERSIONS = { "int8", "int16", "int32", "uint8", "uint16", "uint32", "int64",
  "uint64" }

-- An array's extents, as integers.
local function extent(scope)
  local a = pick(scope.case.inputs)
  return node("I", pick { "#" .. a.name, a.name .. ".size", a.name .. ".ndim",
    a.name .. ".shape[1]" })
end

-- What compilers do in fewer bits, or by other instructions than the operators say.
local MASKS = { "1", "7", "15", "0xff", "0xffff", "0x3fffff", "0xffffff", "0x7fffffff",
  "0xffffffff", "~0xff" }
local SHIFTS = { " << 8", " << 16", " << 32", " << 40", " >> 8", " >> 16", " >> 24", " >> 32",
  " >> 40", " // 256", " // 65536", " % 256" }

local function masked(a)
  return node("I", "(", a(), " & ", pick(MASKS), ")")
end

-- Whether a sum wraps, in two ways of asking.
local function wraps(a)
  local product = node("I", "(", a(), pick { " * ", " + ", " ~ " }, a(), ")")
  if chance(50) then
    return node("B", "(", product, " + 1 == 0)")
  end
  return node("B", "math.ult(", product, " + ", masked(a), ", ", product, ")")
end

-- A product of elements, of few bits perhaps, and what is made of it.
local function product_and_more(a, scope, depth)
  local x = element(scope, "I", depth) or a()
  local y = chance(50) and x or element(scope, "I", depth) or a()
  local product = node("I", "(", x, " * ", y, ")")
  return node("I", "(", product, pick { " + ", " - " }, "(", product,
    pick { " // 3", " % 100", " & 12345", " ~ 5", " >> 3", " | 6" }, "))")
end

-- Bytes of a number in some order.
local function bytes(a)
  local number = node("I", "(", a(), pick { " + 0", " >> 8", " // 256", " // 65536", " >> 40" },
    ")")
  local parts = { "(" }
  for i = 1, random(2, 4) do
    parts[#parts + 1] = i == 1 and "((" or " | (("
    parts[#parts + 1] = number
    parts[#parts + 1] = (" >> %d & %s) << %d)"):format(8 * random(0, 4),
      pick { "0xff", "0xff", "0xffff" }, 8 * random(0, 4))
  end
  parts[#parts + 1] = ")"
  return node("I", table.unpack(parts))
end

local INTEGER_FORMS = {
  { 2, masked },
  { 1, product_and_more },
  { 1, bytes },
  { 2, function(a) return node("I", "(", a(), pick(SHIFTS), ")") end },
  { 1,
    function(a) return node("I", "(", masked(a), " * ", masked(a), pick { " + ", " - " }, a(),
    ")") end },
  { 1,
    function(a) return node("I", "(", masked(a), pick { " // ", " % " }, "(", masked(a),
    " | 1))") end },
  { 8, function(a) return node("I", "(", a(), pick { " + ", " - ", " * " }, a(), ")") end },
  { 3, function(a) return node("I", "(", a(), pick { " & ", " | ", " ~ " }, a(), ")") end },
  { 2, function(a) return node("I", "(", a(), pick { " << ", " >> " }, a(), ")") end },
  { 2, function(a)
    local count = pick { " & 7)", " & 31)", " & 63)", " & 127)", " & 31) + 1" }
    return node("I", "(", a(), pick { " << ", " >> " }, "((", a(), ")", count, ")")
  end },
  { 1, function(a)
    return node("I", "(", a(), pick { " << ", " >> " }, "32 - (", a(), " & 31))")
  end },
  { 2, function(a) return node("I", "(", a(), pick { " // ", " % " }, "(", a(), " | 1))") end },
  { 2,
    function(a) return node("I", "(", a(), pick { " // ", " % " },
    pick { "3", "-7", "16", "-1", "1000003", "math.mininteger" }, ")") end },
  { 2, function(a) return node("I", pick { "(- ", "(~ " }, a(), ")") end },
  { 4, function(_, scope, d) return element(scope, "I", d) or leaf(scope, "I") end },
  { 2, function(_, scope, d)
    return node("I", "roc.", pick(INTEGER_CONVERSIONS), "(",
      expression(scope, M.number_type(scope), d), ")")
  end },
  { 2, function(a) return node("I", pick { "math.min(", "math.max(" }, a(), ", ", a(), ")") end },
  { 1,
    function(a) return node("I", pick { "math.min(", "math.max(" }, a(), ", ", a(), ", ", a(),
    ")") end },
  { 2,
    function(a) return node("I", "roc.math.", pick { "popcount(", "clz(", "ctz(", "bitreverse(" },
    a(), ")") end },
  { 2, function(_, scope, d) return condition(scope, "I", d) end },
  { 1, function(a) return node("I", "math.abs(", a(), ")") end },
  { 1, function(a) return node("I", "math.fmod(", a(), ", ", a(), " | 1)") end },
  { 1, function(a) return node("I", pick { "math.floor(", "math.ceil(" }, a(), ")") end },
  { 1, function(a) return node("I", "(", a(), " and ", a(), ")") end }, -- a number is true
  { 1, function(_, scope) return extent(scope) end },
  { 2, function(_, scope, d) return call_function(scope, "I", d) end },
  { 1,
    function(a) return node("I", "roc.uint32(", a(), pick { " + ", " * ", " - ", " << " }, a(),
    ")") end },
  { 1,
    function(_, scope, d) return node("I", "math.floor(roc.float64(", expression(scope, "I", d),
    ") % 1000.0)") end },
}

function gen.I(scope, depth)
  if depth <= 0 then
    return leaf(scope, "I")
  end
  return choice.weighted(INTEGER_FORMS)(function() return expression(scope, "I", depth - 1) end,
    scope, depth - 1)
end

-- What keeps a float of each kind of its kind.
local CONVERSION = { S = "roc.float32(", F = "roc.float64(" }

local FLOAT_FORMS = {
  { 8, function(a, t) return node(t, "(", a(), pick { " + ", " - ", " * ", " / " }, a(), ")") end },
  { 2, function(a, t) return node(t, "(", a(), pick { " // ", " % " }, a(), ")") end },
  { 2,
    function(a, t, scope, d) return node(t, "(", expression(scope, "I", d),
    pick { " + ", " * ", " - ", " / " }, a(), ")") end },
  { 1,
    function(a, t, scope, d) return node(t, "(", a(), pick { " + ", " * ", " / ", " % " },
    expression(scope, "I", d), ")") end },
  { 4, function(_, t, scope, d) return element(scope, t, d) or leaf(scope, t) end },
  { 2, function(a, t) return node(t, "(- ", a(), ")") end },
  { 2, function(a, t) return node(t, pick { "math.min(", "math.max(" }, a(), ", ", a(), ")") end },
  { 2, function(_, t, scope, d) return condition(scope, t, d) end },
  { 2,
    function(a, t) return node(t, pick { "math.abs(", "math.sqrt(", "roc.math.trunc(",
    "roc.math.round(" }, a(), ")") end },
  { 2, function(_, t, scope, d)
    return CONVERSION[t] and node(t, CONVERSION[t], expression(scope, M.number_type(scope), d), ")")
      or leaf(scope, t)
  end },
  { 2, function(_, t, scope, d) return call_function(scope, t, d) end },
  { 1, function(a, t) return node(t, "(", a(), "^2)") end },
  { 1, function(a, t) return node(t, "math.fmod(", a(), ", ", a(), ")") end },
  { 1, function(a, t) return node(t, "roc.math.fma(", a(), ", ", a(), ", ", a(), ")") end },
  { 2, function(a, t, scope, d) -- a plain float takes the width of what it meets
    return node(t, "(", a(), pick { " + ", " * ", " - ", " / " }, expression(scope, "P", d), ")")
  end },
  { 1,
    function(a, t, scope, d) return node(t, "(", expression(scope, "P", d),
    pick { " - ", " / ", " % " }, a(), ")") end },
  { 1, function(a, t) -- a number against all that is not it
    local x, bound = a(), (CONVERSION[t] or "(") .. pick(FLOATS) .. ")"
    return node(t, "(((", x, " < ", bound, ") or (", x, " > ", bound, ")) and ", a(), " or ",
      bound, ")")
  end },
}

local function float(type)
  return function(scope, depth)
    if depth <= 0 then
      return leaf(scope, type)
    end
    return choice.weighted(FLOAT_FORMS)(function() return expression(scope, type, depth - 1) end,
      type, scope, depth - 1)
  end
end

gen.F, gen.S, gen.P = float("F"), float("S"), float("P")

local COMPARISONS = { " < ", " <= ", " > ", " >= ", " == ", " ~= " }

local BOOLEAN_FORMS = {
  { 8, function(_, scope, d)
    return node("B", "(", expression(scope, M.number_type(scope), d), pick(COMPARISONS),
      expression(scope, M.number_type(scope), d), ")")
  end },
  { 3, function(b) return node("B", "(", b(), pick { " and ", " or " }, b(), ")") end },
  { 2, function(b) return node("B", "(not ", b(), ")") end },
  { 1, function(b) return node("B", "(", b(), pick { " == ", " ~= " }, b(), ")") end },
  { 1,
    function(_, scope, d) return node("B", "math.ult(", expression(scope, "I", d), ", ",
    expression(scope, "I", d), ")") end },
  { 1, function(_, scope, d)
    return node("B", "roc.math.", pick { "isnan(", "isinf(", "isfinite(" },
      expression(scope, pick { "F", "P" }, d), ")")
  end },
  { 1, function(_, scope, d) return element(scope, "B", d) or leaf(scope, "B") end },
  { 1, function(_, scope, d) return wraps(function() return expression(scope, "I", d) end) end },
}

function gen.B(scope, depth)
  if depth <= 0 then
    return leaf(scope, "B")
  end
  return choice.weighted(BOOLEAN_FORMS)(function() return expression(scope, "B", depth - 1) end,
    scope, depth - 1)
end

return M
