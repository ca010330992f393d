-- The arguments of array methods: the array itself, and the table of options.
local support = require "roc.builders.support"

support.library()

local M = {}

---A value as a message shows it: a number, or the name of its type.
function M.shown(value)
  return type(value) == "number" and tostring(value) or support.type_name(value)
end

---A key of a table, likewise.
function M.key(key)
  return type(key) == "string" and key or M.shown(key)
end

---Smart arrays are computed with on the host's side.
function M.host_side(array)
  return support.type_name(array) == "roc.SmartArray" and array:get "host" or array
end

---The array that a method was called on.
function M.check_array(value, name)
  if not support.side_of(value) then
    support.fail("bad argument #1 to '%s' (roc.Array or roc.DeviceArray expected, got %s%s)", name,
      support.type_name(value), support.table_advice(value))
  end
  return M.host_side(value)
end

---The options of a call, none of them unknown.
---@param name string of the function
---@param options any
---@param known table<string, boolean | string> true, or a value of the option as a script writes it
---@return table
function M.read(name, options, known)
  if options == nil then return {} end
  local names = {}
  for key in pairs(known) do names[#names + 1] = key end
  table.sort(names)
  if type(options) ~= "table" then
    local value = known[names[1]]
    support.fail("bad argument to '%s' (table of options expected, as {%s = %s}, got %s)", name,
      names[1], value == true and "1" or value, support.type_name(options))
  end
  for key in pairs(options) do
    if not known[key] then
      support.fail("bad argument to '%s' (unknown option '%s'; known %s %s)", name, M.key(key),
        #names == 1 and "is" or "are", table.concat(names, ", "))
    end
  end
  return options
end

---Refuses options of a function that has none; `why` says what it does.
function M.refuse(name, options, why)
  if options ~= nil then support.fail("'%s' takes no options: %s", name, why) end
end

---Refuses a dimension that the array does not have.
function M.check_axis(name, axis, ndim)
  if math.type(axis) ~= "integer" or axis < 1 or axis > ndim then
    support.fail("bad option 'axis' of '%s' (an integer from 1 to %d expected, got %s)", name, ndim,
      M.shown(axis))
  end
  return axis
end

---The dimension of a call whose only option it is; `default`: none must be named.
function M.axis(name, options, ndim, default)
  local axis = M.read(name, options, { axis = true }).axis
  if axis == nil then axis = default end
  if axis == nil then
    support.fail("'%s' of an array of %d dimensions needs the option axis, as {axis = 1}", name,
      ndim)
  end
  return M.check_axis(name, axis, ndim)
end

return M
