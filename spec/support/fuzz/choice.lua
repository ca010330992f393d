-- Random choices.  All of them come from math.random, so that a seed decides a whole case.
local M = {}

M.random = math.random

function M.pick(list)
  return list[math.random(#list)]
end

function M.chance(percent)
  return math.random(100) <= percent
end

-- One of { {weight, value}, … }.
function M.weighted(list)
  local total = 0
  for _, entry in ipairs(list) do
    total = total + entry[1]
  end
  local at = math.random(total)
  for _, entry in ipairs(list) do
    at = at - entry[1]
    if at <= 0 then
      return entry[2]
    end
  end
end

return M
