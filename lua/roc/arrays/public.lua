-- The operations of arrays as scripts call them, with errors at the script's line.
local counting = require "roc.arrays.counting"
local elementwise = require "roc.arrays.elementwise"
local joining = require "roc.arrays.joining"
local reductions = require "roc.arrays.reductions"
local selection = require "roc.arrays.selection"
local sorting = require "roc.arrays.sorting"
local support = require "roc.builders.support"

support.library()

local M = {}

M.apply = support.public(elementwise.apply)

for _, name in ipairs { "where", "maximum", "minimum" } do
  M[name] = support.public(function(...) return elementwise.apply(name, ...) end)
end

-- Methods: the first argument is the array.
for _, name in ipairs { "lt", "le", "gt", "ge", "eq", "ne" } do
  M[name] = support.public(function(a, b)
    if not support.side_of(a) then
      support.fail("bad argument #1 to '%s' (roc.Array or roc.DeviceArray expected, got %s)", name,
        support.type_name(a))
    end
    return elementwise.apply(name, a, b)
  end)
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

-- Names of roc.math that are not those of operations.
local OF_MATH = { max = "maximum", min = "minimum" }

---A function of roc.math for arrays: `name`, then its arguments.
M.math = support.public(function(name, x, y, z)
  if name == "atan" and y ~= nil then
    return elementwise.apply("atan2", x, y)
  elseif name == "log" and y ~= nil then
    return elementwise.apply("div", elementwise.apply("log", x), elementwise.apply("log", y))
  end
  return elementwise.apply(OF_MATH[name] or name, x, y, z)
end)

for _, functions in ipairs { counting, joining, reductions, selection, sorting } do
  for name, f in pairs(functions) do
    M[name] = support.public(f)
  end
end

return M
