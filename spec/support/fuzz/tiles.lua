-- Random loops in which the items of a group go the same way, and keep sums in variables and in
-- private arrays, whose indices are constants or the counters of short loops: register tiles.
-- On the CPU such loops stand around items, which keep their sums in vectors (codegen/cpu/chunk.c),
-- and such arrays become variables (ir/private_scalars.h).
local choice = require "support.fuzz.choice"
local expressions = require "support.fuzz.expressions"
local group = require "support.fuzz.group"
local places = require "support.fuzz.places"

local random, pick, chance = choice.random, choice.pick, choice.chance
local expression = expressions.expression
local settled, statement = places.settled, places.statement

local M = {}

local PREFIX = { I = "i", F = "f", S = "s" }
local DTYPES = { I = { "int64", "int32", "uint8", "int16" }, F = { "float64" },
  S = { "float32", "float16" } }
-- What holds a sum: extents, its elements in a loop over `p` and `q`, one element.
local HOLDERS = {
  { weight = 3 },
  { weight = 3, extents = "2", at = "[p]", one = "[2]", p = 2 },
  { weight = 2, extents = "3", at = "[4 - p]", one = "[1]", p = 3 },
  { weight = 3, extents = "{ 2, 3 }", at = "[p][q]", one = "[2][1]", p = 2, q = 3 },
  { weight = 1, extents = "4", at = "[(p - 1) * 2 + q]", one = "[3]", p = 2, q = 2 },
  { weight = 1, extents = "3", at = "[k % 3 + 1]", one = "[2]" },
}
local RANGES = {
  { 6, "1, 20" }, { 3, "1, 40" }, { 3, "1, lsz" }, { 2, "24, 3, -1" }, { 2, "1, 17 + gid % 3" },
  { 1, "lid, 30" }, { 1, "1, 5" }, { 1, "1, gid % 30" },
}
local FORMS = {
  I = { "@ * 3 + (%s)", "@ + (%s)", "@ ~ (%s)", "math.max(@, %s)" },
  F = { "roc.float64(@ * 0.5 + (%s))", "roc.float64(@ + (%s))" },
  S = { "roc.float32(@ * 0.5 + (%s))", "roc.float32(@ + (%s))" },
}

local function new_sum(scope)
  local type = pick(scope.case.has_float32 and { "I", "F", "S" } or { "I", "F" })
  local list = {}
  for i, h in ipairs(HOLDERS) do list[i] = { h.weight, h } end
  return { type = type, holder = choice.weighted(list), name = scope:fresh("sum") }
end

-- `text` for each element of the sum; in it "@" is the element.
local function for_each(sum, parts)
  local h, list = sum.holder, {}
  local at = h.at and sum.name .. h.at or sum.name
  if h.p then list[#list + 1] = ("for p = 1, %d do "):format(h.p) end
  if h.q then list[#list + 1] = ("for q = 1, %d do "):format(h.q) end
  list[#list + 1] = at .. " = "
  for _, part in ipairs(parts) do
    list[#list + 1] = type(part) == "string" and part:gsub("@", function() return at end) or part
  end
  list[#list + 1] = (h.p and " end" or "") .. (h.q and " end" or "")
  return list
end

local function append(parts, more)
  table.move(more, 1, #more, #parts + 1, parts)
end

local function declare(scope, parts, sum)
  local h = sum.holder
  if not h.extents then
    append(parts, { "local ", sum.name, " = ", settled(scope, sum.type, 1), "\n" })
    return
  end
  append(parts, { "local ", sum.name, " = roc.private.array(", h.extents, ", \"",
    pick(DTYPES[sum.type]), "\")\n" })
  if h.p then
    append(parts, for_each(sum, { settled(scope, sum.type, 1) }))
  else
    append(parts, { "for p = 1, 3 do ", sum.name, "[p] = ", settled(scope, sum.type, 1), " end" })
  end
  parts[#parts + 1] = "\n"
end

-- An element that the items of a row read: shared memory, or an input.
local function element(loop, type)
  if loop.is_met and chance(60) then
    return ("%s[%s]"):format(group.TILE_OF[type],
      pick { "(k - 1) % lsz + 1", "lid", "(k + lid) % lsz + 1", "1" })
  end
  local a = loop.array
  local text = a and ("%s[%s]"):format(a.name,
    pick { "(k - 1) % #A + 1", "(k + gid) % #A + 1" }:gsub("A", a.name)) or "k"
  return type == "I" and (not a or a.element == "I") and text
    or type ~= "I" and ("roc.float%d(%s)"):format(type == "F" and 64 or 32, text) or "k"
end

local function pick_input(scope)
  local fits = {}
  for _, a in ipairs(scope.case.inputs) do
    if a.rank == 1 and a.element ~= "B" then fits[#fits + 1] = a end
  end
  return #fits > 0 and pick(fits) or nil
end

local function body_of(loop)
  local parts = {}
  for _, sum in ipairs(loop.sums) do
    local form = pick(FORMS[sum.type]):format(element(loop, sum.type))
    local is_guarded = chance(15)
    if is_guarded then
      append(parts, { "if ", expression(loop.inner, "B", 1), " then\n" })
    end
    append(parts, for_each(sum, { form }))
    parts[#parts + 1] = is_guarded and "\nend\n" or "\n"
  end
  return parts
end

-- Fills the shared arrays that the loop reads, between barriers.
local function fill(loop, parts)
  for _, sum in ipairs(loop.sums) do
    append(parts, { group.TILE_OF[sum.type], "[lid] = ", settled(loop.scope, sum.type, 1), "\n" })
  end
  parts[#parts + 1] = "roc.barrier()\n"
end

-- A name for an element, which is used later and shown at the end.
local function read_out(loop, parts)
  for _, sum in ipairs(loop.sums) do
    local one = sum.name .. (sum.holder.one or "")
    local value = sum.type == "F" and "roc.float64(" .. one .. ")"
      or sum.type == "S" and "roc.float32(" .. one .. ")" or one
    append(parts, { "local ", loop.scope:declare(PREFIX[sum.type], sum.type), " = ", value, "\n" })
  end
end

function M.statement(scope)
  local loop = { scope = scope, array = pick_input(scope), sums = {},
    is_met = scope.is_uniform and not scope.in_function and chance(70) }
  for i = 1, random(3) do loop.sums[i] = new_sum(scope) end
  local parts = {}
  for _, sum in ipairs(loop.sums) do declare(scope, parts, sum) end
  local turns = loop.is_met and chance(50)
  if turns then append(parts, { "for t = 1, 2 do\n" }) end
  if loop.is_met then fill(loop, parts) end
  loop.inner = scope:inner { is_uniform = false }
  append(parts, { "for k = ", choice.weighted(RANGES), " do\n" })
  append(parts, body_of(loop))
  parts[#parts + 1] = "end\n"
  if loop.is_met then parts[#parts + 1] = "roc.barrier()\n" end
  if turns then parts[#parts + 1] = "end\n" end
  read_out(loop, parts)
  return statement(table.unpack(parts))
end

return M
