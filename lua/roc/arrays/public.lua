-- The operations of arrays as scripts call them, with errors at the script's line.
local counting = require "roc.arrays.counting"
local elementwise = require "roc.arrays.elementwise"
local linalg = require "roc.arrays.linalg"
local joining = require "roc.arrays.joining"
local products = require "roc.arrays.products"
local reductions = require "roc.arrays.reductions"
local rng = require "roc.arrays.rng"
local selection = require "roc.arrays.selection"
local sorting = require "roc.arrays.sorting"
local support = require "roc.builders.support"

support.library()

local M = {}

---An operation by its name, of operands that are not plain.
M.general = support.public(elementwise.general)

-- The operation as a function of the script.
local function operation(name)
  return elementwise.plain(name, function(...) return M.general(name, ...) end)
end

for _, name in ipairs { "where", "maximum", "minimum" } do
  M[name] = operation(name)
end

M.astype = support.public(elementwise.astype)

---Each element brought between two bounds, either of which may be nil.
M.clip = support.public(function(x, low, high)
  if low == nil and high == nil then
    support.fail("bad argument #2 to 'clip' (a lower or an upper bound expected, got nil)")
  end
  if low ~= nil then x = elementwise.apply("maximum", x, low) end
  if high ~= nil then x = elementwise.apply("minimum", x, high) end
  return x
end)

---A comparison by its name, a method: the first argument is the array.
M.compare = support.public(function(name, a, b)
  if not support.side_of(a) then
    support.fail("bad argument #1 to '%s' (roc.Array or roc.DeviceArray expected, got %s)", name,
      support.type_name(a))
  end
  return elementwise.general(name, a, b)
end)

-- Names of roc.math that are not those of operations.
local OF_MATH = { max = "maximum", min = "minimum" }

local of_math = setmetatable({}, { __index = function(made, name)
  made[name] = operation(OF_MATH[name] or name)
  return made[name]
end })

-- The greatest or the least of any number of operands: from the first array on, then those before
-- it, so that numbers join with an array's dtype and not with each other.
local extreme = support.public(function(name, ...)
  local operands, first = table.pack(...), 1
  if operands.n == 1 then return elementwise.apply(name, ..., ...) end -- a copy
  while first < operands.n and not support.side_of(operands[first]) do first = first + 1 end
  local result = operands[first]
  for i = first + 1, operands.n do result = elementwise.apply(name, result, operands[i]) end
  for i = first - 1, 1, -1 do result = elementwise.apply(name, operands[i], result) end
  return result
end)

-- Names of roc.math with two operands that are other operations with one.
local OF_TWO = { atan = "atan2", log = "log_base" }

-- The part before the point, in the array's dtype, and the part after it.
local function modf(x)
  return of_math.trunc(x), of_math.fraction(x)
end

---A function of roc.math for arrays: `name`, then its arguments, one of which is an array.
function M.math(name, ...)
  if name == "modf" then return modf(...) end
  if not elementwise.is_operation(OF_MATH[name] or name) then
    support.fail("bad argument #1 to 'math' (the name of a function of elements expected)")
  end
  if OF_MATH[name] and select("#", ...) ~= 2 then
    return extreme(OF_MATH[name], ...)
  end
  local _, second = ...
  return of_math[second ~= nil and OF_TWO[name] or name](...)
end

for _, functions in ipairs { counting, joining, products, reductions, rng, selection,
  sorting } do
  for name, f in pairs(functions) do
    assert(not M[name], name) -- the modules share these names
    M[name] = support.public(f)
  end
end

M.linalg = {}
for name, f in pairs(linalg) do M.linalg[name] = support.public(f) end

return M
