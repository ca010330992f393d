-- Random guards: conditions that hold for a range of the items of a row, and some that nearly do.
-- The CPU splits its loops over items by them (codegen/cpu/split.c), which depends on their form,
-- on what stands on their other way and after them, and on nothing wrapping around.
local choice = require "support.fuzz.choice"
local places = require "support.fuzz.places"

local random, pick, chance = choice.random, choice.pick, choice.chance
local statement = places.statement

local M = {}

-- Sides of a comparison: what changes along a row; what does not, or hardly. "A" is an array.
local ALONG = {
  { 8, "roc.get_global_id(1)" }, { 3, "roc.get_local_id(1)" }, { 3, "gid" }, { 2, "lid" },
  { 2, "roc.get_global_id(1) + K" }, { 2, "roc.get_global_id(1) - K" },
  { 1, "K - roc.get_global_id(1)" }, { 1, "-roc.get_local_id(1)" },
  { 1, "roc.get_global_id(1) * 3 - K" }, { 1, "7 - 2 * roc.get_local_id(1)" },
  { 1, "roc.get_global_id(1) + n" }, { 1, "n - roc.get_local_id(1)" },
  { 1, "roc.get_global_id(1) * 2 + n" }, { 1, "roc.get_local_id(1) + math.maxinteger - K" },
  { 1, "math.mininteger + K - roc.get_global_id(1)" },
  { 1, "(roc.get_global_id(1) - 1) // 2" }, { 1, "roc.get_local_id(1) * math.maxinteger" },
  { 1, "roc.get_global_id(1) * n" }, { 1, "roc.get_global_id(1) % 5" },
}
local ACROSS = {
  { 6, "K" }, { 4, "#A" }, { 4, "n" }, { 2, "n % 40" }, { 2, "roc.get_global_id(2)" },
  { 1, "roc.get_local_id(2) + K" }, { 2, "roc.get_global_size(1)" },
  { 2, "roc.get_local_size(1) - 1" }, { 1, "math.maxinteger" }, { 1, "math.mininteger" },
  { 1, "math.min(n, #A)" }, { 1, "roc.get_group_id(1) * 3" }, { 1, "math.mininteger + K" },
  { 1, "roc.get_global_id(1) // 2" },
}
local NUMBERS = { "0", "1", "1", "2", "3", "5", "16", "33", "64", "100", "-1", "255" }

local function side(scope, forms)
  local text = choice.weighted(forms)
  text = text:gsub("#A", "#" .. pick(scope.case.inputs).name)
  return (text:gsub("K", function() return pick(NUMBERS) end))
end

local function comparison(scope)
  local a, b = side(scope, chance(85) and ALONG or ACROSS), side(scope, ACROSS)
  if chance(30) then a, b = b, a end
  local relation = choice.weighted { { 4, "<=" }, { 4, "<" }, { 3, ">" }, { 3, ">=" }, { 1, "==" },
    { 1, "~=" } }
  return ("%s %s %s"):format(a, relation, b)
end

local function condition(scope, depth)
  local form = depth > 0 and random(10) or 1
  if form <= 4 then return comparison(scope) end
  if form == 5 then return ("not (%s)"):format(condition(scope, depth - 1)) end
  if form == 6 then return "flag" end
  return ("(%s %s %s)"):format(condition(scope, depth - 1), chance(70) and "and" or "or",
    condition(scope, depth - 1))
end

local function guarded(scope, depth, block, test)
  local inner = { is_uniform = false }
  if chance(20) and scope.case.may_return and not scope.in_function then
    return statement("if ", test, " then return end")
  end
  local s = statement("if ", test, " then\n", block(scope:inner(inner), depth - 1))
  local function add(...)
    table.move({ ... }, 1, select("#", ...), #s.parts + 1, s.parts)
  end
  if chance(25) then
    add("if ", condition(scope, 1), " then\n", block(scope:inner(inner), depth - 1, 1), "end\n")
  end
  if chance(15) then
    add("elseif ", condition(scope, 1), " then\n", block(scope:inner(inner), depth - 1, 1))
  end
  if chance(30) then add("else\n", block(scope:inner(inner), depth - 1)) end
  add("end")
  return s
end

-- `block` makes what stands under a guard.
function M.statement(scope, depth, block)
  local test = condition(scope, 2)
  if chance(75) then return guarded(scope, depth, block, test) end
  local name = scope:fresh("g")
  local s = statement("local ", name, " <const> = ", test, "\n")
  local rest = guarded(scope, depth, block, name)
  table.move(rest.parts, 1, #rest.parts, #s.parts + 1, s.parts)
  return s
end

return M
