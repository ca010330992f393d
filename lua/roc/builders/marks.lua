-- Marks by which the workgroups of a launch find out about each other, and the number of the
-- launch, from 1 on.  Marks hold 0 at first, and later what other launches have left, also such as
-- failed half-way: the number tells them apart.
local core = require "roc.core"
local support = require "roc.builders.support"

support.library()

local M = {}

local MOST_LAUNCHES = 1 << 29 -- a number of which has room above 2 bits in the upper half of a mark

---A place where marks are kept.
---@return table
function M.new() return setmetatable({}, { __mode = "k" }) end

-- Marks, at least `count` of them, for a launch.
local function find(kept, count, stream)
  local life = core.device_life()
  local own = kept[stream or life]
  if not own or own.life ~= life or #own.marks < count or own.launch >= MOST_LAUNCHES then
    own = { marks = core.device_array(count, "int64"):fill(0, stream), life = life, launch = 0,
      values = {} }
    kept[stream or life] = own
  end
  return own
end

---The marks of the next launch.  Launches that name no stream share marks, which keeps their order.
---@param kept table of M.new
---@param count integer
---@param stream? roc.Stream that the launch names
---@return roc.DeviceArray marks int64, `count` of them or more
---@return integer launch
function M.next(kept, count, stream)
  local own = find(kept, count, stream)
  own.launch = own.launch + 1
  return own.marks, own.launch
end

---The same for a launch before which others may come that share the marks, as what its arguments
---are computed by: the caller takes the number, `launch`, when nothing else does.
---@param kept table of M.new
---@param count integer
---@return { marks: roc.DeviceArray, launch: integer } own `launch` is that of the launch before
function M.prepare(kept, count) return find(kept, count) end

local LEAST_VALUES = 128

---Values that the workgroups of the launch leave for each other.  They are kept like its marks: an
---array that is made for each launch would have to be another one while the last is in use.
---@param kept table of M.new, which has marks for the launch
---@param field any of which the values are: tells several arrays of one launch apart
---@param dtype roc.DType
---@param count integer
---@param is_exact? boolean there are as many; else there may be more
---@param stream? roc.Stream that the launch names
---@return roc.DeviceArray values
function M.values(kept, field, dtype, count, is_exact, stream)
  local own = kept[stream or core.device_life()]
  local of_field = own.values[field]
  if not of_field then
    of_field = {}
    own.values[field] = of_field
  end
  local values = of_field[dtype]
  local fits = values and (#values == count or not is_exact and #values > count)
  if not fits then
    if values and is_exact then values:close() end -- else a launch to come may have them
    values = core.device_array(is_exact and count or math.max(count, LEAST_VALUES), dtype)
    of_field[dtype] = values
  end
  return values
end

return M
