-- Where an item may store and what, and the parts that all statements are made of.
local choice = require "support.fuzz.choice"
local expressions = require "support.fuzz.expressions"

local pick = choice.pick
local node, expression = expressions.node, expressions.expression

local M = {}

-- An expression whose type holds for a variable: float64 stays float64 whatever it is computed
-- from.
function M.settled(scope, type, depth)
  local value = expression(scope, type, depth)
  if type == "F" then
    return node("F", "roc.float64(", value, ")")
  elseif type == "S" then
    return node("S", "roc.float32(", value, ")")
  end
  return value
end

function M.statement(...)
  return { parts = { ... } }
end

-- A place that belongs to the item, as text and nodes.
function M.own_place(scope, a)
  if a.rank == 1 then
    return node("place", a.name, "[gid]")
  end
  return node("place", a.name, "[gid][", expressions.index(scope, "3", 1), "]")
end

-- What an output takes: integers go everywhere, floats only into floats.
local TAKES = { I = { "I" }, S = { "S", "F", "I", "P" }, F = { "F", "S", "I", "P" }, B = { "B" } }

function M.value_for(scope, a, depth)
  local type = pick(TAKES[a.element])
  if type == "S" and not scope.case.has_float32 then
    type = "F"
  end
  return expression(scope, type, depth)
end

function M.store(scope, depth)
  local a = pick(scope.case.outputs)
  return M.statement(M.own_place(scope, a), " = ", M.value_for(scope, a, depth))
end

M.REDUCTIONS = { "add", "xor", "max", "min", "and_", "or_" }

-- One operation for each total, so that their order does not matter.
function M.total(scope, depth)
  local t = pick(scope.case.totals)
  return M.statement("roc.atomic.", t.op, "(", t.name, ", ", t.at, ", ",
    expression(scope, "I", depth), ")")
end

return M
