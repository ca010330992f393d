-- Random loops whose indices come from memory or from a search, and indices made by rounding
-- floats.  GPU code makes checks of such loops after them (ir/loop_versioning.h), proves relations
-- that loops keep (ir/loop_invariants.c), and converts floats that it knows to be small in 32 bits
-- (ir/float_range.h).  So as many are right as wrong, in any round.
local choice = require "support.fuzz.choice"
local expressions = require "support.fuzz.expressions"
local places = require "support.fuzz.places"

local pick, chance = choice.pick, choice.chance
local expression = expressions.expression
local statement, store, own_place = places.statement, places.store, places.own_place

local M = {}

-- An input; nil when the one drawn does not fit.
local function pick_input(scope, wants_integers)
  local a = pick(scope.case.inputs)
  if a.element == "B" or wants_integers and (a.element ~= "I" or a.rank ~= 1) then return nil end
  return a
end

local function pick_output(scope, element)
  local a = pick(scope.case.outputs)
  if a.element == "B" or a.element == "I" and element ~= "I" then return nil end
  return a
end

-- "A" is the array of indices, "B" the one they lead into.
local ROUNDS = { "1, #A", "1, #A", "gid % #A + 1, #A", "#A, 1, -1", "1, #A, 2",
  "1, math.min(#A, 9)", "gid, #A", "2, #A - 1" }
local RISKY_ROUNDS = { "1, #A + 1", "0, #A", "1, n % 9", "gid, gid + 3", "1, A[gid % #A + 1] % 6" }
local SAFE = { "A[k] % #B + 1", "(A[k] & 7) % #B + 1", "math.max(1, math.min(A[k], #B))",
  "A[A[k] % #A + 1] % #B + 1", "(A[k] ~ k) % #B + 1", "#B - A[k] % #B", "k % #B + 1",
  "math.floor((k - 1) * 0.49) % #B + 1" }
local RISKY = { "A[k]", "A[k] + 1", "A[k] % (#B + 1) + 1", "A[k] % (#B + 1)", "A[k] % 12",
  "A[A[k] % #A + 1]", "A[A[k] & 3]", "A[k] - 2147483646", "A[k] + 4294967295", "k + A[k] % 3",
  "math.floor(k * 0.7 + 0.5)" }
local USES = { "c = INDEX USE", "c = INDEX USE", "c = INDEX if c > 0 then USE end",
  "c = INDEX if c < #B then c = c + 1 USE end", "c = INDEX if c ~= 3 then USE USE end",
  "c = INDEX if flag then USE end", "c = INDEX USE if c > 2 then c = c - 1 USE end",
  "c = INDEX USE if sum ~= sum then break end", "c = INDEX if c == 2 then goto continue end USE",
  "c = INDEX for q = 1, 2 do USE end", "c = INDEX % 4 USE last = c" }

local function gather(scope)
  local a, b = pick_input(scope, true), pick_input(scope)
  local out = b and pick_output(scope, b.element)
  if not (a and out) then return nil end
  local is_risky = scope.case.may_fail and chance(70)
  local function text(t)
    return (t:gsub("%f[%w]A%f[%W]", a.name):gsub("%f[%w]B%f[%W]", b.name))
  end
  local rounds = is_risky and chance(25) and pick(RISKY_ROUNDS) or pick(ROUNDS)
  if not is_risky and rounds == "gid, #A" and chance(50) then rounds = "1, #A" end
  local index = is_risky and chance(75) and pick(RISKY) or pick(SAFE)
  local column = b.rank == 2 and (is_risky and pick { "[1]", "[2]", "[c]" } or "[1]") or ""
  local is_int = b.element == "I"
  local element = text("B[c]") .. column
  local use = is_int and "sum = sum * 3 + " .. element
    or ("sum = roc.float64(sum + roc.float64(%s))"):format(element)
  local body = is_risky and pick(USES) or pick { USES[1], "c = INDEX if c > 1 then USE end",
    "c = INDEX USE last = c" }
  body = body:gsub("INDEX", function() return index end):gsub("USE", function() return use end)
  local s = statement("do\nlocal sum, last, c = ", is_int and "0" or "0.0", ", 1, 1\nfor k = ",
    text(rounds), " do\n", (text(body):gsub("c = ", "c = ", 1)),
    "\n::continue::\nend\n", own_place(scope, out), " = ",
    is_int and "sum + last" or "sum", "\nend")
  s.is_risky = is_risky
  return s
end

-- while loops that halve a range; LOW and HIGH as they begin, MID, and how they go on.
local MIDDLES = { "(low + high) // 2", "(low + high) // 2", "(low + high) >> 1",
  "low + (high - low) // 2", "low + ((high - low) >> 1)" }
local SEARCHES = {
  { "1, #A + 1", "low < high", "low = mid + 1", "high = mid" },
  { "1, #A", "low < high", "low = mid + 1", "high = mid" },
  { "1, #A", "low <= high", "low = mid + 1", "high = mid - 1" },
}
local RISKY_SEARCHES = {
  { "1, #A + 1", "low <= high", "low = mid + 1", "high = mid" },
  { "0, #A", "low < high", "low = mid + 1", "high = mid" },
  { "1, n % 70", "low < high", "low = mid + 1", "high = mid" },
  { "gid, #A + 1", "low < high", "low = mid + 1", "high = mid" },
  { "1, #A", "low <= high", "low = mid + 1", "high = mid + 1" },
  { "1, #A + 1", "low ~= high", "low = mid + 1", "high = mid - 1" },
}

local function search(scope)
  local a, out = pick_input(scope, true), pick_output(scope, "I")
  if not (a and out) then return nil end
  local is_risky = scope.case.may_fail and chance(50)
  local form, middle = pick(is_risky and RISKY_SEARCHES or SEARCHES), pick(MIDDLES)
  if is_risky and chance(20) then middle = "(low + high + 1) // 2" end
  local function text(t) return (t:gsub("%f[%w]A%f[%W]", a.name)) end
  local after = is_risky and chance(40)
    and text(pick { "\nlow = low + A[low]", "\nlow = A[high]", "\nlow = A[low - 1]" }) or ""
  local s = statement("do\nlocal key <const>, steps = ", expression(scope, "I", 1),
    ", 0\nlocal low, high = ", text(form[1]), "\nwhile steps < 12 and ", form[2],
    " do\nlocal mid = ", middle, "\nif ", text("A[mid]"), " < key then ", form[3], " else ",
    form[4], " end\nsteps = steps + 1\nend", after, "\n", own_place(scope, out),
    " = low * 100 + steps\nend")
  s.is_risky = is_risky
  return s
end

-- Floats that are rounded to indices.
local FLOATS = { "(gid - 1) * 0.5", "gid * 0.75", "(gid + lid) / 3.0", "gid / 4", "lid * 1.5 - 2.0",
  "gid * 1e-3", "gid * 1e9", "x", "gid * x", "math.abs(x) * 0.25", "#B * 0.999", "-gid * 0.25",
  "gid * 3e18", "CONST[2] * 0.3 + gid" }
local ROUNDINGS = { "math.floor(f) + 1", "math.floor(f)", "math.ceil(f)", "math.floor(f + 0.5)",
  "math.max(1, math.floor(f))", "math.min(math.floor(f) + 1, #B)",
  "math.max(1, math.min(math.floor(f), #B))", "math.floor(math.max(1.0, math.min(f, 3.0)))",
  "math.ceil(math.min(f, 2.5))", "math.floor(f) % #B + 1", "math.floor(f) - 1 & 3" }
local AROUND = { "USE", "USE", "if f >= 0.0 and f < #B then USE end",
  "if f > -1.0 and f < 8.0 then USE end", "if c >= 1 and c <= #B then USE end",
  "if not (f < 1.0) then USE end" }

local function rounded(scope)
  if not scope.case.may_fail or scope.case.is_exact then return nil end
  local b = pick_input(scope)
  local out = b and pick_output(scope, b.element)
  if not out then return nil end
  local function text(t) return (t:gsub("%f[%w]B%f[%W]", b.name)) end
  local place = own_place(scope, out)
  local before, after = pick(AROUND):match("^(.-)USE(.*)$")
  local type = scope.case.has_float32 and pick { "float32", "float64" } or "float64"
  local s = statement("do\nlocal f <const> = roc.", type, "(", text(pick(FLOATS)),
    ")\nlocal c <const> = ", text(pick(ROUNDINGS)), "\n", text(before), place, " = ",
    out.element == "I" and "c + " or "c * 0.5 + ", text("B[c]"), b.rank == 2 and "[1]" or "",
    text(after), "\nend")
  s.is_risky = true
  return s
end

function M.statement(scope, depth)
  if scope.in_function then return store(scope, depth) end
  return pick { gather, gather, search, rounded }(scope) or store(scope, depth)
end

return M
