-- Random walks through arrays of one dimension that hold rows of rows: images, volumes, stencils,
-- in the form of other languages.  The index is a sum of products whose factors are arguments,
-- extents or sizes of the launch.  One condition of a launch may prove all accesses (ir/, and
-- codegen/cpu/preflight.c), so guards are as often a little wrong as right.
local choice = require "support.fuzz.choice"
local places = require "support.fuzz.places"

local random, pick, chance = choice.random, choice.pick, choice.chance
local statement, store, own_place = places.statement, places.store, places.own_place

local M = {}

local WIDTHS = { { 4, "n" }, { 4, "n % 9 + 1" }, { 2, "5" }, { 2, "16" },
  { 2, "roc.get_global_size(1)" }, { 1, "lsz" }, { 1, "roc.int32(n % 33 + 1)" }, { 1, "#A // 4" },
  { 1, "n + 1" } }
local HEIGHTS = { { 8, "#A // w" }, { 2, "(#A + w - 1) // w" }, { 1, "#A // w + 1" }, { 2, "6" },
  { 1, "#A" }, { 1, "n" }, { 1, "roc.get_global_size(2)" }, { 1, "(#A - 1) // w" } }

-- How an item gets its column and row.
local PLACES = {
  { 5, { "(gid - 1) % w + 1", "(gid - 1) // w + 1" } },
  { 5, { "roc.get_global_id(1)", "roc.get_global_id(2)" } },
  { 2, { "gid", "1" } }, { 2, { "lid", "roc.get_group_id(1)" } },
  { 1, { "w - gid % w", "gid // w + 1" } }, { 1, { "gid & 7", "gid >> 3" } },
  { 1, { "math.max(1, math.min(gid, w))", "math.min(gid, h)" } },
  { 1, { "gid - 2147483648", "1" } }, { 1, { "n - gid", "gid" } },
}

local INDICES = {
  { 6, "(y - 1) * w + x" }, { 3, "y * w + x - w" }, { 2, "x + (y - 1) * w" },
  { 2, "(x - 1) * h + y" }, { 2, "(h - y) * w + x" }, { 2, "(y - 1) * w + w - x + 1" },
  { 1, "y * w + x" }, { 1, "(y - 1) * (w + 1) + x" }, { 1, "((y - 1) * w + x) * 2 - 1" },
  { 1, "(y - 1) * w + x + 4294967296 - 4294967296" }, { 1, "((y - 1) * w + x - 1) // 2 + 1" },
}

-- R: how far an item reaches to each side.
local WALKS = {
  { 5, "USE" },
  { 4, "for dy = -R, R do for dx = -R, R do local x <const>, y <const> = x + dx, y + dy USE end "
    .. "end" },
  { 2, "for dx = -R, R do local x <const> = x + dx if x >= 1 and x <= w then USE end end" },
  { 2, "for x = 1, w do USE end" }, { 2, "for y = 1, h do USE end" },
  { 2, "for y = 1, h do for x = 1, w do USE end end" },
  { 1, "for x = x, w, 3 do USE end" }, { 1, "for y = y, 1, -1 do USE end" },
  { 1, "for k = 1, 5 do local x <const> = (x + k) % w + 1 USE end" },
  { 1, "local x = x + R if x > w then x = 1 end USE" },
  { 1, "local y = y - R if y < 1 then y = h end USE" },
  { 1, "USE if flag then local y <const> = y + 1 USE end" },
}

local function at_least_one(parts)
  return #parts > 0 and table.concat(parts, " and ") or "flag"
end

-- Conditions that keep the item `reach` elements from each side; one may be missing or short.
local function guard(reach)
  local parts = {}
  local function add(text, distance)
    if chance(88) then
      parts[#parts + 1] = text:format(chance(94) and distance or distance - 1)
    end
  end
  add("x > %d", reach)
  add("x <= w - %d", reach)
  add("y > %d", reach)
  add("y <= h - %d", reach)
  return at_least_one(parts)
end

-- Statements after which x, y, w and h hold an item's place, and whose accesses may fail.
function M.statement(scope, depth)
  local a = chance(60) and scope.case.strided[1] or pick(scope.case.inputs)
  local out = pick(scope.case.outputs)
  local is_int = a.element == "I"
  if not scope.case.may_fail or scope.in_function or a.rank ~= 1 or a.element == "B"
    or out.element == "B" or out.element == "I" and not is_int then
    return store(scope, depth)
  end
  local reach, place = random(0, 2), choice.weighted(PLACES)
  local index = choice.weighted(INDICES)
  local use = is_int and ("sum = sum * 3 + %s[%s]"):format(a.name, index)
    or ("sum = roc.float64(sum + roc.float64(%s[%s]))"):format(a.name, index)
  local walk = choice.weighted(WALKS):gsub("%f[%w]R%f[%W]", tostring(reach)):gsub("USE",
    function() return use end)
  local function text(t) return (t:gsub("%f[%w]A%f[%W]", a.name)) end
  local s = statement("do\nlocal w <const> = ", text(choice.weighted(WIDTHS)),
    "\nlocal h <const> = ", text(choice.weighted(HEIGHTS)), "\nlocal x <const>, y <const> = ",
    place[1], ", ", place[2], "\nlocal sum = ", is_int and "0" or "0.0", "\nif ", guard(reach),
    " then\n", walk, "\nend\n", own_place(scope, out), " = sum\nend")
  s.is_risky = true
  return s
end

return M
