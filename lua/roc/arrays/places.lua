-- Where an operation on arrays runs: on the device of its device arrays, else on the host's device.
local core = require "roc.core"
local options = require "roc.arrays.options"
local support = require "roc.builders.support"

support.library()

local M = {}

local host_device

-- `cpu`, or `sim` where that is the current device.
local function device_for_host()
  local current = core.current_device()
  if current.kind == "sim" or current.kind == "cpu" then return current end
  if not host_device then
    for _, device in ipairs(core.devices()) do
      if device.kind == "cpu" then host_device = device end
    end
  end
  return host_device or current
end

---The device on which the arrays among the operands are computed, and whether the result is a
---device array.  A host array of one element travels to a device array's; larger ones are refused.
---@param title string of the operation, for messages
---@param operands table
---@param n integer
---@return roc.Device
---@return boolean
function M.choose(title, operands, n)
  local device, first
  for i = 1, n do
    if support.side_of(operands[i]) == "device" then
      local own = operands[i].device
      if device and own ~= device then
        support.fail("bad operand #%d of '%s' (it is on device '%s', operand #%d on '%s'; copy it "
          .. "there with roc.to_device)", i, title, support.label(own), first,
          support.label(device))
      end
      device, first = device or own, first or i
    end
  end
  if not device then return device_for_host(), false end
  for i = 1, n do
    local value = operands[i]
    if support.side_of(value) == "host" and value.size ~= 1
      and support.type_name(value) ~= "roc.SmartArray" then
      support.fail("bad operand #%d of '%s' (a host array of shape %s, and operand #%d is on "
        .. "device '%s'; copy it there with roc.to_device)", i, title,
        support.shape_text(value.shape), first, device.name)
    end
  end
  return device, true
end

---The operand where the operation runs; the device is current.
function M.move(value, is_device)
  if not is_device or support.side_of(value) ~= "host" then return value end
  if support.type_name(value) == "roc.SmartArray" then return value:get "device" end
  return core.to_device(value)
end

---The same, and of a smart array the side that counts there.
function M.bring(array, is_device)
  return is_device and M.move(array, true) or options.host_side(array)
end

return M
