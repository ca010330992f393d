-- Random loops that an item enters at its own number and goes through by the size of the grid, and
-- loops that nearly are such. Neighbouring workgroups run the right ones side by side on the CPU
-- (codegen/cpu/batch.c), which depends on where they begin, how they go on and what they hold.
--
-- They go over arrays of their own, longer than the grid or shorter: `line`, an input, and `span`,
-- an output. An element of `span` belongs to the item whose counter has its index.
local choice = require "support.fuzz.choice"
local expressions = require "support.fuzz.expressions"
local group = require "support.fuzz.group"
local places = require "support.fuzz.places"

local random, pick, chance = choice.random, choice.pick, choice.chance
local node, expression = expressions.node, expressions.expression
local statement, settled = places.statement, places.settled

local M = {}

-- First value, last one and step over the array A; no other item of the launch has the values of
-- one that is_own.
local RANGES = {
  { 24, { "gid", "#A", "gsz", is_own = true } },
  { 2, { "gid", "#A - n % 3", "gsz", is_own = true } },
  { 2, { "gid", "#A - gid % 3", "gsz", is_own = true } },
  { 1, { "gid", "#A // 2", "gsz", is_own = true } },
  { 1, { "#A - gid + 1", "1", "-gsz", is_own = true } },
  { 1, { "gid * 2 - 1", "#A", "gsz * 2", is_own = true } },
  { 1, { "gid + 1", "#A", "math.max(gsz, 7)", is_own = true } },
  { 2, { "roc.get_global_id(1)", "#A", "roc.get_global_size(1)" } },
  { 1, { "lid", "#A", "lsz" } },
  { 1, { "math.min(gid, 3)", "#A", "gsz" } },
  { 1, { "gid", "#A", "n % 5 + 1" } },
  { 1, { "gid", "#A", "gsz + gid % 2" } },
  { 1, { "gid", "#A", "16" } },
  { 1, { "roc.get_group_id(1)", "#A", "roc.get_num_groups(1)" } },
}
local RISKY_RANGES = {
  { "gid", "#A + 2", "gsz" }, { "gid - 1", "#A", "gsz" }, { "gid", "#A", "n % 3" },
  { "gid * 2 - 1", "#A * 2", "gsz" },
}

-- How a sum takes an element.
local SUMS = {
  I = { "(@ + E)", "(@ * 3 + E)", "(@ ~ E)", "(@ - E)", "math.max(@, E)", "(E // 3 - @)" },
  F = { "(@ + E)", "(@ * 0.5 + E)", "(E - @)", "math.min(@, E)" },
}
SUMS.S = SUMS.F

local SHIFTS = { "lsz - lid + 1", "lid % lsz + 1", "1", "lid" }
local PREFIX = { I = "i", F = "f", S = "s" }

-- "@" and "E" of `form` as texts or nodes.
local function fill_in(type, form, old, element)
  local n = node(type)
  for text, mark in form:gmatch("([^@E]*)([@E]?)") do
    n.parts[#n.parts + 1] = text
    n.parts[#n.parts + 1] = mark == "@" and old or mark == "E" and element or nil
  end
  return n
end

local function sum_up(name, type, old, element)
  local value = fill_in(type, pick(SUMS[type]), old, element)
  if type == "F" then
    value = node("F", "roc.float64(", value, ")")
  elseif type == "S" then
    value = node("S", "roc.float32(", value, ")")
  end
  return statement(name, " = ", value)
end

-- The array that is read; in nested statements a short one, as the reference takes its time.
local function pick_array(scope)
  if not scope.parent then
    return scope.case.strided[1]
  end
  local fits = {}
  for _, a in ipairs(scope.case.inputs) do
    if a.rank == 1 and a.element ~= "B" then
      fits[#fits + 1] = a
    end
  end
  return #fits > 0 and pick(fits) or nil
end

local INNER_RANGES = { "1, 3", "1, 20", "@, math.min(@ + 3, #A)", "1, @ % 5", "@, #A, 16" }

local function inner_loop(loop)
  local k = loop.inner:fresh("k")
  local range = pick(INNER_RANGES):gsub("@", loop.counter):gsub("A", loop.array.name)
  local index = range:find(loop.counter .. ",", 1, true) and k or loop.counter
  local element = node(loop.array.element, loop.array.name, "[", index, "]")
  return statement("for ", k, " = ", range, " do\n",
    { statements = { sum_up(loop.sum, loop.type, loop.sum, element) } }, "end")
end

local function inner_branch(loop)
  local condition = pick {
    function() return expression(loop.inner, "B", 1) end,
    function() return node("B", loop.counter, " <= #", loop.array.name) end,
    function() return node("B", loop.counter, " % 3 == 0") end,
  }()
  local value = settled(loop.inner, loop.type, 1)
  local body = { statements = { statement(loop.sum, " = ", value) } }
  return statement("if ", condition, " then\n", body, "end")
end

local function store_span(loop)
  local case = loop.scope.case
  local span = case.strided[2]
  if not loop.range.is_own or loop.scope.parent or (case.owners or loop.range) ~= loop.range then
    return inner_branch(loop)
  end
  case.owners = loop.range -- those of another range would be others
  local at = ("span[%s]"):format(loop.counter)
  local guarded = loop.inner:inner()
  guarded:add(at, span.element, { is_given = true })
  return statement("if ", loop.counter, " <= #span then ", at, " = ",
    places.value_for(guarded, span, 1), " end")
end

-- The item's elements of a private array, by the counter.
local function keep_private(loop)
  local name = loop.scope:fresh("own")
  loop.scope:add(name, "array", { element = "I", extent = "3" })
  table.insert(loop.before, ("local %s = roc.private.array(3, \"int64\")\n%s[1] = 5 %s[2] = gid "
    .. "%s[3] = -1\n"):format(name, name, name, name))
  local at = ("%s[%s %% 3 + 1]"):format(name, loop.counter)
  return sum_up(at, "I", at, expression(loop.inner, "I", 1))
end

-- Shared memory: what another item left there before the loop, or a total of the group.
local function use_tile(loop)
  if not loop.is_met or loop.has_tile then
    return inner_branch(loop)
  end
  loop.has_tile = true
  local tile = group.TILE_OF[loop.type]
  if loop.type == "I" and chance(40) then
    local element = expression(loop.inner, "I", 1)
    local op = pick { "add", "xor", "max" }
    return statement("roc.atomic.", op, "(", tile, ", lsz, ", element, ")")
  end
  if chance(70) then
    local fill = { tile, "[lid] = ", settled(loop.scope, loop.type, 1), "\nroc.barrier()\n" }
    table.move(fill, 1, #fill, #loop.before + 1, loop.before)
  end
  local element = node(loop.type, tile, "[", pick(SHIFTS), "]")
  return sum_up(loop.sum, loop.type, loop.sum, element)
end

local function add_total(loop)
  return places.total(loop.inner, 1)
end

local function any_block(loop)
  return loop.block(loop.inner, random(0, 2), 2)
end

local EXTRAS = { { 3, inner_branch }, { 2, inner_loop }, { 3, store_span }, { 2, keep_private },
  { 3, use_tile }, { 2, add_total }, { 2, any_block } }

-- The statement after the loop.
local function finish(loop, parts)
  local scope = loop.scope
  local function add(...)
    table.move({ "\n", ... }, 1, select("#", ...) + 1, #parts + 1, parts)
  end
  if loop.has_tile or (loop.is_met and chance(20)) then
    add("roc.barrier()")
    if loop.has_tile and chance(50) then
      local name = scope:declare(PREFIX[loop.type], loop.type, { is_uniform = true })
      add("local ", name, " = ", group.TILE_OF[loop.type], "[lsz]\nroc.barrier()")
    end
  end
  if loop.is_met and chance(30) then
    add({ parts = group.tree(scope, loop.type, loop.sum) })
  end
  if scope.case.may_return and chance(20) then
    add("if ", expression(scope, "B", 1), " then return end")
  end
  if scope.case.may_fail and chance(30) then
    local a = scope.case.shifted[1]
    add("shifted[", a.index, "] = ", places.value_for(scope, a, 1))
    return true
  end
  return false
end

-- The bounds' text; sometimes held by locals, some of which the kernel could as well do without.
local function bounds(loop, range)
  local texts = {}
  for i = 1, 3 do
    texts[i] = range[i]:gsub("A", loop.array.name)
  end
  for i, name in ipairs { "first", "last", "step" } do
    if chance(15) then
      name = loop.scope:fresh(name)
      table.insert(loop.before, ("local %s = %s\n"):format(name, texts[i]))
      texts[i] = name
    end
  end
  return texts
end

-- The same elements in a loop whose counter is the same for all, so that the group can meet in it.
local function uniform_loop(loop)
  local inner, a = loop.inner, loop.array.name
  local base = inner:declare("k", "I", { is_uniform = true })
  inner.is_uniform = loop.scope.is_uniform
  local element = node(loop.array.element, a, "[", loop.counter, "]")
  local body = loop.block(inner, 1, 2)
  table.insert(body.statements, 1, statement("if ", loop.counter, " <= #", a, " then\n",
    { statements = { sum_up(loop.sum, loop.type, loop.sum, element) } }, "end"))
  return { "for ", base, " = 0, #", a, " - 1, gsz do\nlocal ", loop.counter, " = gid + ", base,
    "\n", body, "end" }
end

local function striding_loop(loop, is_risky)
  local range = is_risky and pick(RISKY_RANGES) or choice.weighted(RANGES)
  loop.range = range
  loop.inner.is_uniform = false
  local name = ("%s[%s]"):format(loop.array.name, loop.counter)
  local element = node(loop.array.element, name)
  local body = { statements = { sum_up(loop.sum, loop.type, loop.sum, element) } }
  loop.inner:add(name, loop.array.element, { is_given = true })
  for _ = 1, choice.weighted { { 4, 0 }, { 4, 1 }, { 2, 2 } } do
    table.insert(body.statements, choice.weighted(EXTRAS)(loop))
  end
  local texts, k = bounds(loop, range), loop.counter
  if not is_risky and not range[3]:find("-", 1, true) and chance(30) then
    local comparison = chance(80) and " <= " .. texts[2] or " < " .. texts[2] .. " + 1"
    return { "do\nlocal ", k, " = ", texts[1], "\nwhile ", k, comparison, " do\n", body, k, " = ",
      k, " + ", texts[3], "\nend\nend" }
  end
  return { "for ", k, " = ", table.concat(texts, ", "), " do\n", body, "end" }
end

-- A loop of the kind, with the statements before and after it; `block(scope, depth, most)`
-- makes a block of any statements. nil where there is no array to go through.
function M.statement(scope, block)
  local a = pick_array(scope)
  if scope.in_function or not a then
    return nil
  end
  local loop = { scope = scope, array = a, type = a.element, block = block, before = {} }
  local initial = settled(scope, loop.type, 1)
  loop.sum = scope:declare(PREFIX[loop.type], loop.type, { is_mutable = true })
  loop.is_met = scope.is_uniform
  loop.inner = scope:inner()
  loop.counter = loop.inner:declare("k", "I")
  local is_risky = scope.case.may_fail and chance(15)
  local text = chance(10) and uniform_loop(loop) or striding_loop(loop, is_risky)
  local s = statement("local ", loop.sum, " = ", initial, "\n")
  table.move(loop.before, 1, #loop.before, #s.parts + 1, s.parts)
  table.move(text, 1, #text, #s.parts + 1, s.parts)
  s.is_risky = finish(loop, s.parts) or is_risky
  return s
end

return M
