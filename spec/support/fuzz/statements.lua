-- Random statements: those that each item executes on its own. Those of a whole group are in
-- group.lua, those that may fail in checks.lua.
--
-- A statement is { parts = list of strings, nodes and blocks [, is_risky = true] }, a block {
-- statements = list }. A risky one may fail a check; everything else has defined results on every
-- device.
local checks = require "support.fuzz.checks"
local choice = require "support.fuzz.choice"
local expressions = require "support.fuzz.expressions"
local flat = require "support.fuzz.flat"
local group = require "support.fuzz.group"
local guards = require "support.fuzz.guards"
local places = require "support.fuzz.places"
local searches = require "support.fuzz.searches"
local strides = require "support.fuzz.strides"
local tiles = require "support.fuzz.tiles"

local random, pick, chance = choice.random, choice.pick, choice.chance
local node, expression = expressions.node, expressions.expression
local settled, statement, store = places.settled, places.statement, places.store
local own_place, value_for = places.own_place, places.value_for

local M = {}

local PREFIX = { I = "i", F = "f", S = "s", P = "p", B = "b" }

-- locals and assignments --------------------------------------------------------------------------

local function declare(scope, depth)
  local type = expressions.value_type(scope)
  if chance(20) then -- one value for the whole group: usable in conditions around barriers
    local value = settled(scope:uniform_view(), type, depth)
    return statement("local ", scope:declare(PREFIX[type], type, { is_uniform = true }),
      " <const> = ", value)
  end
  local value = settled(scope, type, depth)
  return statement("local ", scope:declare(PREFIX[type], type, { is_mutable = true }), " = ", value)
end

-- Assigned on every path before it is read.
local function declare_later(scope, depth)
  local type = expressions.value_type(scope)
  local condition, a, b = expression(scope, "B", depth), settled(scope, type, depth - 1),
    settled(scope, type, depth - 1)
  local name = scope:declare(PREFIX[type], type, { is_mutable = true })
  return statement("local ", name, "\nif ", condition, " then\n", name, " = ", a, "\nelse\n", name,
    " = ", b, "\nend")
end

local function assign(scope, depth)
  local type = expressions.value_type(scope)
  local entry = scope:find(type, true)
  if not entry then
    return declare(scope, depth)
  end
  return statement(entry.name, " = ", settled(scope, type, depth))
end

-- A plain local that becomes float32 by assignment.
local function narrow(scope, depth)
  if not scope.case.has_float32 then
    return assign(scope, depth)
  end
  local first, condition = expression(scope, "P", 1), expression(scope, "B", 1)
  local value = expression(scope, "S", depth)
  local name = scope:declare("p", "P")
  return statement("local ", name, " = ", first, "\nif ", condition, " then\n", name, " = ", value,
    "\nend")
end

local function assign_many(scope, depth)
  local type = expressions.value_type(scope)
  local first, second = scope:find(type, true), scope:find(type, true)
  if first and second and first ~= second and chance(60) then
    return statement(first.name, ", ", second.name, " = ", settled(scope, type, depth - 1), ", ",
      settled(scope, type, depth - 1))
  end
  local a, entry = pick(scope.case.outputs), scope:find("I", true)
  if not entry then
    return store(scope, depth)
  end
  return statement(own_place(scope, a), ", ", entry.name, " = ", value_for(scope, a, depth - 1),
    ", ", expression(scope, "I", depth - 1))
end

-- Several results of one call.
local function results(scope, depth)
  if scope.in_function then
    return assign(scope, depth)
  end
  local calls = {}
  for _, f in ipairs(scope.case.functions) do
    if #f.results == 2 and not f.is_group then
      calls[#calls + 1] = f
    end
  end
  if #calls == 0 and scope.case.is_exact then -- Lua's math.modf gives an integer where it can
    return declare(scope, depth)
  elseif #calls == 0 then
    local value = settled(scope, "F", depth)
    local a, b = scope:declare("f", "F"), scope:declare("f", "F")
    return statement("local ", a, ", ", b, " = math.modf(", value, ")")
  end
  local f = pick(calls)
  local call = expressions.call(scope, f, depth - 1)
  local first, names = nil, {}
  if chance(30) then -- after another value
    first = settled(scope, "I", 1)
    names[1] = scope:declare("i", "I", { is_mutable = true })
  end
  for _, type in ipairs(f.results) do
    names[#names + 1] = scope:declare(PREFIX[type], type)
  end
  return statement("local ", table.concat(names, ", "), " = ", first or "", first and ", " or "",
    call)
end

-- branches and loops ------------------------------------------------------------------------------

local function branch(scope, depth)
  local is_uniform = scope.is_uniform and chance(40)
  local function condition(d)
    return expression(is_uniform and scope:uniform_view() or scope, "B", d)
  end
  local fields = { is_uniform = is_uniform }
  local s = statement("if ", condition(depth), " then\n", M.block(scope:inner(fields), depth - 1))
  if chance(20) then
    s.parts[#s.parts + 1] = "elseif "
    s.parts[#s.parts + 1] = condition(1)
    s.parts[#s.parts + 1] = " then\n"
    s.parts[#s.parts + 1] = M.block(scope:inner(fields), depth - 1)
  end
  if chance(50) then
    s.parts[#s.parts + 1] = "else\n"
    s.parts[#s.parts + 1] = M.block(scope:inner(fields), depth - 1)
  end
  s.parts[#s.parts + 1] = "end"
  return s
end

local RANGES = {
  "1, 3", "3, 1, -1", "-1, 2", "0, 10, 4", "1, 0", "math.maxinteger - 1, math.maxinteger",
  "math.mininteger + 1, math.mininteger, -1",
  "math.mininteger, math.maxinteger, math.maxinteger",
  "math.maxinteger, math.mininteger, math.mininteger", "1, 3, math.maxinteger",
  "1, 3.7", "3, 0.5, -1", "2147483646, 2147483649", "1, -math.huge", "4294967295, 4294967297",
  "1, (0/0)",
}
local FLOAT_RANGES = { "0.5, 2.0, 0.5", "1.0, 3", "2, 0.0, -0.75", "1, 2, 0.25", "0.0, (0/0)",
  "1e30, 1.1e30, 5e28", "3.0, 1.0" }

-- Range text, the counter's type, and whether it is the same for the group.
local function range(scope, depth)
  local form = random(10)
  if form <= 4 then
    return pick(RANGES), "I", true
  elseif form == 5 then
    return pick(FLOAT_RANGES), "P", true
  end
  local is_uniform = chance(50)
  local view = is_uniform and scope:uniform_view() or scope
  if form == 6 then -- from the edge of the integers
    local first, step = expression(view, "I", depth - 1),
      pick { "", ", math.maxinteger", ", 0x4000000000000000" }
    return node("range", "math.maxinteger - (", first, ") % 3, math.maxinteger", step), "I",
      is_uniform
  elseif form == 7 then
    local first, step = expression(view, "I", depth - 1), expression(view, "I", depth - 1)
    return node("range", "(", first, ") % 7 - 3, 3, (", step, ") % 4 + 1"), "I", is_uniform
  elseif form == 8 then
    local first, step = expression(view, "I", depth - 1), expression(view, "I", depth - 1)
    return node("range", "3, (", first, ") % 7 - 3, -1 - (", step, ") % 4"), "I", is_uniform
  elseif form == 9 then
    local last = expression(view, "F", depth - 1)
    return node("range", "0.25, math.max(-1.0, math.min(2.5, ", last, ")), 0.75"), "F", is_uniform
  end
  return node("range", "1, (", expression(view, "I", depth - 1), ") % 5"), "I", is_uniform
end

-- Ways on from the middle of a loop: those that not all items take make the rest of the loop
-- divergent.
local EXITS = { "break", "goto continue" }

local function counted_loop(scope, depth)
  local bounds, type, is_uniform = range(scope, depth)
  is_uniform = is_uniform and scope.is_uniform
  local inner = scope:inner()
  local name = inner:declare("k", type, { is_uniform = is_uniform })
  local exit
  if chance(40) then
    local exit_is_uniform = is_uniform and chance(50)
    is_uniform = is_uniform and exit_is_uniform
    exit = { expression(exit_is_uniform and inner:uniform_view() or inner, "B", 1), pick(EXITS) }
  end
  inner.is_uniform = is_uniform
  if not exit then
    return statement("for ", name, " = ", bounds, " do\n", M.block(inner, depth - 1), "end")
  end
  return statement("for ", name, " = ", bounds, " do\n", M.block(inner, depth - 1, 2), "if ",
    exit[1], " then ", exit[2],
    " end\ndo\n", M.block(inner, depth - 1), "end\n::continue::\nend")
end

-- while and repeat, with a counter of their own so that they end.
local function open_loop(scope, depth)
  local is_uniform = scope.is_uniform and chance(50)
  local inner = scope:inner { is_uniform = is_uniform }
  local name = scope:fresh("w")
  inner:add(name, "I", { is_uniform = is_uniform })
  local view = is_uniform and inner:uniform_view() or inner
  if chance(50) then
    local condition = expression(view, "B", 1)
    return statement("do\nlocal ", name, " = 0\nwhile ", name, " < 4 and ", condition, " do\n",
      name, " = ", name, " + 1\n",
      M.block(inner, depth - 1), "end\nend")
  end
  local body = M.block(inner, depth - 1)
  local condition = expression(view, "B", 2) -- sees the body's locals
  return statement("do\nlocal ", name, " = 0\nrepeat\n", name, " = ", name, " + 1\n", body,
    "until ", name, " > 3 or ", condition, "\nend")
end

-- Out of two loops at once.
local function leave_nest(scope, depth)
  local inner = scope:inner { is_uniform = false }
  local a, b = inner:declare("k", "I"), inner:declare("k", "I")
  local condition = expression(inner, "B", 2)
  local label = scope:fresh("done")
  return statement("do\nfor ", a, " = 1, 3 do\nfor ", b, " = ", a, ", 3 do\n",
    M.block(inner, depth - 1), "if ", condition, " then goto ",
    label, " end\nend\nend\n", store(scope, 1), "\n::", label, "::\nend")
end

-- memory ------------------------------------------------------------------------------------------

local MEMORY_DTYPES = { I = { "int64", "int32", "uint8", "int16" }, F = { "float64" },
  S = { "float32", "float16" }, B = { "bool" } }

local function private_array(scope, depth)
  local element = pick(scope.case.has_float32 and { "I", "F", "S", "B" } or { "I", "F", "B" })
  local extent = pick { "1", "3", "4", "8" }
  local inner = scope:inner { is_uniform = false }
  local k = inner:declare("k", "I")
  local value = expression(inner, element, depth - 1)
  local name = scope:declare("own", "array", { element = element, extent = extent })
  local s = statement("local ", name, " = roc.private.array(", extent, ", \"",
    pick(MEMORY_DTYPES[element]), "\")\nfor ", k, " = 1, ", extent,
    " do ", name, "[", k, "] = ", value, " end")
  if chance(60) then
    local change = { "\n", name, "[", expressions.index(scope, extent, 2), "] = ",
      expression(scope, element, depth - 1) }
    table.move(change, 1, #change, #s.parts + 1, s.parts)
  end
  return s
end

-- A row of a matrix, held by a local.
local function row(scope, depth)
  local matrices = {}
  for _, a in ipairs(scope.case.inputs) do
    if a.rank == 2 then
      matrices[#matrices + 1] = a
    end
  end
  if #matrices == 0 then
    return store(scope, depth)
  end
  local a = pick(matrices)
  local at = expressions.index(scope, "#" .. a.name, depth - 1)
  local name = scope:fresh("row")
  scope:add(name, "array", { element = a.element, extent = "#" .. name })
  return statement("local ", name, " = ", a.name, "[", at, "]")
end

local ATOMICS = {
  I = { "add", "sub", "min", "max", "exch", "and_", "or_", "xor", "cas", "inc", "dec", "load" },
  F = { "add", "sub", "exch", "load" }, -- what min and max do with NaN is the hardware's business
}

-- Atomics on the item's own element have one order.
local function own_atomic(scope, depth)
  local fits = {}
  for _, a in ipairs(scope.case.outputs) do
    if a.element ~= "B" and a.itemsize >= 4 then
      fits[#fits + 1] = a
    end
  end
  if #fits == 0 then
    return store(scope, depth)
  end
  local a = pick(fits)
  local op = pick(ATOMICS[a.element] or ATOMICS.F)
  local s = statement("local ", "", " = roc.atomic.", op, "(", a.name, ", ",
    a.rank == 1 and "gid" or "{gid, 2}")
  local operands = op == "load" and 0 or op == "cas" and 2 or 1
  for _ = 1, operands do
    s.parts[#s.parts + 1] = ", "
    s.parts[#s.parts + 1] = expression(scope, a.element, depth - 1)
  end
  s.parts[#s.parts + 1] = ")"
  s.parts[2] = scope:declare(PREFIX[a.element], a.element)
  return s
end

-- the rest ----------------------------------------------------------------------------------------

local function leave(scope, depth)
  if not scope.case.may_return or scope.in_function then
    return assign(scope, depth)
  end
  return statement("if ", expression(scope, "B", 2), " then return end")
end

local function say(scope, depth)
  if scope.case.has_print or scope.in_function then
    return store(scope, depth)
  end
  scope.case.has_print = true
  return statement("print(gid, ", expression(scope, expressions.value_type(scope), depth),
    ", \"and\", ", expression(scope, "I", 1), ")")
end

local function together(scope, depth)
  if not scope.is_uniform or scope.in_function then
    return store(scope, depth)
  end
  return group.statement(scope, depth)
end

-- Through an array by the size of the grid.
function M.strided(scope, depth)
  return strides.statement(scope, M.block) or store(scope, depth)
end

local function guard(scope, depth)
  if scope.in_function then
    return store(scope, depth)
  end
  return guards.statement(scope, depth, M.block)
end

local STATEMENTS = {
  { 5, declare }, { 1, declare_later }, { 4, assign }, { 1, narrow }, { 2, assign_many },
  { 5, store }, { 2, results },
  { 4, branch }, { 6, guard }, { 4, counted_loop },
  { 3, open_loop }, { 1, leave_nest }, { 1, private_array },
  { 1, row }, { 1, places.total }, { 1, own_atomic },
  { 6, checks.risk }, { 1, leave }, { 1, say }, { 7, together }, { 1, M.strided },
  { 2, tiles.statement }, { 4, searches.statement }, { 3, flat.statement },
}

-- Of kernels whose items go different ways: loops that they leave at different times, and jumps.
local LOOPS = { { 3, counted_loop }, { 4, open_loop }, { 2, leave_nest } }

local DIVERGENT = {
  { 3, declare }, { 1, declare_later }, { 6, assign }, { 1, narrow }, { 2, assign_many },
  { 3, store }, { 1, results }, { 5, branch }, { 5, counted_loop }, { 6, open_loop },
  { 3, leave_nest }, { 1, private_array }, { 1, row }, { 1, places.total }, { 1, own_atomic },
  { 4, checks.risk }, { 2, leave }, { 2, flat.statement },
}

local SIMPLE = { { 2, assign }, { 3, store }, { 1, assign_many } }

function M.statement(scope, depth)
  local nested = scope.case.is_divergent and DIVERGENT or STATEMENTS
  return choice.weighted(depth > 0 and nested or SIMPLE)(scope, math.max(depth, 1))
end

-- Locals, and loops in which they change.
function M.divergent(scope)
  local list = {}
  for _ = 1, random(2, 4) do
    list[#list + 1] = declare(scope, 2)
  end
  for _ = 1, random(1, 2) do
    list[#list + 1] = choice.weighted(LOOPS)(scope, random(2, 3))
  end
  return list
end

-- A block with names of its own; at most `most` statements.
function M.block(scope, depth, most)
  local b = { statements = {} }
  for _ = 1, depth <= 0 and 1 or random(1, most or 3) do
    b.statements[#b.statements + 1] = M.statement(scope, depth)
  end
  return b
end

return M
