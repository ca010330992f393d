-- Random statements that may fail a check: accesses after conditions that do, or do not, prove
-- them right; accesses at indices that depend on the item's number alone, which the CPU back-end
-- tests for a whole group at once; and the other checks.
local choice = require "support.fuzz.choice"
local expressions = require "support.fuzz.expressions"
local places = require "support.fuzz.places"

local random, pick = choice.random, choice.pick
local expression = expressions.expression
local statement, store = places.statement, places.store
local own_place, value_for = places.own_place, places.value_for

local M = {}

-- Accesses after conditions that do, or do not, prove them right.
local GUARDS = {
  "if @ >= 1 and @ <= #A then USE end",
  "if @ >= 0 and @ <= #A then USE end",
  "if @ > 0 and @ < #A then @ = @ + 1 USE end",
  "if @ > 0 and @ <= #A then @ = @ + 1 USE end",
  "if @ < 1 or @ > #A then @ = 1 end USE",
  "if @ < 1 or @ > #A + 1 then @ = 1 end USE",
  "if not (@ < 1) and @ <= #A then USE end",
  "if math.ult(@ - 1, #A) then USE end",
  "if @ < 1 then @ = 1 elseif @ > #A then @ = #A end USE",
  "@ = math.max(1, math.min(@, #A)) USE",
  "for @ = @, #A do USE end",
  "for @ = 1, @ do USE end",
  "for @ = 1, #A, 2 do USE end",
  "for @ = #A, 1, -1 do USE end",
  "for @ = 0, #A - 1 do @ = @ + 1 USE end",
  "for @ = #A, @, -2 do USE end",
  "while @ >= 1 and @ <= #A do USE @ = @ + 3 end",
  "repeat if @ > #A or @ < 1 then break end USE @ = @ - 2 until @ < 0",
  "if @ <= #A then if @ >= 1 then USE @ = @ - 1 end if @ >= 1 then USE end end",
}

-- An input, and an output that can take a sum with its elements; nil when those drawn do not fit.
local function pick_pair(scope)
  local a, sum = pick(scope.case.inputs), pick(scope.case.outputs)
  if a.element == "B" or sum.element == "B" or (sum.element == "I" and a.element ~= "I") then
    return nil
  end
  return a, sum
end

local function guarded(scope, depth)
  local a, sum = pick_pair(scope)
  if not a then
    return store(scope, depth)
  end
  local name = scope:fresh("j")
  -- as often out of range as not
  local column = a.rank == 2 and "[#" .. a.name .. " - " .. name .. " + 1]" or ""
  local place = own_place(scope, sum)
  local text = pick(GUARDS):gsub("@", name):gsub("A", a.name)
  local before, after = text:match("^(.-)USE(.*)$")
  local s = statement("do\nlocal ", name, " = (", expression(scope, "I", depth), ") % (#", a.name,
    " + 3) - 1\n", before)
  local use = { place, " = ", place, " + ", a.name, "[", name, "]", column }
  s.is_risky = true
  table.move(use, 1, #use, #s.parts + 1, s.parts)
  s.parts[#s.parts + 1] = (after:gsub("USE", function()
    return ("%s%s = %s[%s]%s"):format(sum.name, sum.rank == 2 and "[gid][1]" or "[gid]", a.name,
      name, column)
  end)) .. "\nend"
  return s
end

-- Indices that grow with the item's number, in range for all, some or no items; A is the array, k a
-- loop's counter.
local AFFINE = {
  "gid", "gid", "gid + 1", "gid - 1", "gid + n", "n - gid", "gid * 2 - 1", "65 - gid", "lid",
  "lid + n", "gid + lid", "lid * 3", "gid + math.maxinteger", "gid * 4611686018427387904 + 1",
  "gid * n", "gid // 2 + 1", "gid % 4 + 1", "gid ~ 1", "gid & 7", "gid >> 1", "math.min(gid, #A)",
  "math.max(gid - 3, 1)", "#A - gid + 1", "gid + #A", "gid - 2147483648", "roc.uint32(gid - 2)",
  "roc.int8(gid * 9)", "CONST[2] - gid", "-gid", "lsz - lid",
}
local WALKS = {
  "USE", "USE", "if gid <= #A then USE end", "if @ <= #A then USE end", "if flag then USE end",
  "if @ >= 1 and @ <= #A then USE end", "if gid > 3 then USE end", "for k = 1, 3 do USE end",
  "for k = 0, 2 do USE end", "for k = 1, #A do USE end", "for k = 1, gid do USE end",
  "for k = gid, #A, lsz do USE end", "for k = #A, gid, -1 do USE end",
  "for k = n, n + 2 do USE end",
}

local function affine(scope, depth)
  local a, sum = pick_pair(scope)
  if not a then
    return store(scope, depth)
  end
  local walk, at = pick(WALKS), pick(AFFINE)
  if walk:find("for k", 1, true) then
    at = pick { "k", "k", at .. " + k", at .. " - k", at }
  end
  local column = a.rank == 2 and pick { "[1]", "[2]", "[gid]", "[#A - 1]" } or ""
  local place = own_place(scope, sum)
  local before, after = walk:match("^(.-)USE(.*)$")
  local function text(part)
    return (part:gsub("@", (at:gsub("%%", "%%%%"))):gsub("%f[%w]A%f[%W]", a.name))
  end
  local element = text(a.name .. "[@]" .. column)
  local s = statement(text(before), place, " = ", place, " + ", element, text(after))
  s.is_risky = true
  return s
end

-- A store at an index that no other item has.
M.INJECTIVE = {
  "gid", "gid + 1", "gid - 2", "gid + n", "n - gid", "gid * 2 - 1", "38 - gid", "gid * 3 + n",
  "-gid", "gid ~ 1", "gid + math.maxinteger", "gid * 4294967297",
  "roc.int64(gid) + 4294967296 - 4294967296",
}

local function store_shifted(scope, depth)
  local a = scope.case.shifted[1]
  local s = statement("shifted[", a.index, "] = ", value_for(scope, a, depth))
  s.is_risky = true
  return s
end

local function fallible(scope, depth)
  local outputs = {}
  for _, a in ipairs(scope.case.outputs) do
    if a.element == "I" then
      outputs[#outputs + 1] = a
    end
  end
  if #outputs == 0 then
    return store(scope, depth)
  end
  local place, form, s = own_place(scope, pick(outputs)), random(6), nil
  local i = function(d) return expression(scope, "I", d) end
  if form == 1 then
    local a = pick(scope.case.inputs)
    s = a.element == "I" and a.rank == 1 and statement(place, " = ", a.name, "[", i(1), "]")
      or statement(place, " = ", i(1), " // ", i(1))
  elseif form == 2 then
    s = statement(place, " = ", i(1), pick { " // ", " % " }, i(1))
  elseif form == 3 then
    s = statement(place, " = ", pick { "math.floor(", "math.ceil(" }, expression(scope, "F", depth),
      ")")
    s.needs_types = true -- plain Lua gives a float
  elseif form == 4 then
    s = statement("assert(", expression(scope, "B", depth), ", \"no\")")
  elseif form == 5 then
    s = statement("if ", expression(scope, "B", depth), " then error(\"value \", ", i(1), ") end")
    s.needs_types = true -- plain Lua takes no list
  else
    local k = scope:fresh("k")
    s = statement("for ", k, " = 1, 2, (", i(1), ") % 3 do ", place, " = ", k, " end")
  end
  s.is_risky = true
  return s
end

-- Something that may fail, where the case allows it.
function M.risk(scope, depth)
  if not scope.case.may_fail or scope.in_function then
    return store(scope, depth)
  end
  local s = pick { guarded, fallible, affine, affine, store_shifted }(scope, depth)
  return s.needs_types and scope.case.is_exact and store(scope, depth) or s
end

return M
