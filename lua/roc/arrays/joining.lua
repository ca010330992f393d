-- Arrays made of arrays: joined, stacked, repeated, rolled, padded.
local dtypes = require "roc.arrays.dtypes"
local elementwise = require "roc.arrays.elementwise"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local support = require "roc.builders.support"
local views = require "roc.arrays.views"

support.library()

local M = {}

-- joining -----------------------------------------------------------------------------------------

local function check_list(list, name)
  if type(list) ~= "table" or #list == 0 then
    support.fail("bad argument #1 to '%s' (a list of arrays expected, as {a, b}, got %s)", name,
      type(list) == "table" and "an empty table" or support.type_name(list))
  end
  local arrays = {}
  for i, array in ipairs(list) do
    if not support.side_of(array) then
      support.fail("bad argument #1 to '%s' (entry %d: roc.Array or roc.DeviceArray expected, got "
        .. "%s)", name, i, support.type_name(array))
    end
    arrays[i] = options.host_side(array)
  end
  return arrays
end

local function joined_dtype(arrays, name)
  local kinds = {}
  for i, array in ipairs(arrays) do kinds[i] = array.dtype end
  local dtype = dtypes.join_all(kinds)
  if not dtype then support.fail("'%s' joins bool with bool alone", name) end
  return dtype
end

-- The arrays must have one shape but for the axis; its extents are summed.
local function joined_shape(arrays, axis, name)
  local shape = arrays[1].shape
  shape[axis] = 0
  for i, array in ipairs(arrays) do
    local own = array.shape
    for k = 1, math.max(#own, #shape) do
      if k ~= axis and own[k] ~= shape[k] then
        support.fail("bad argument #1 to '%s' (entry %d has shape %s, and entry 1 %s; they may "
          .. "differ in dimension %d alone)", name, i, support.shape_text(own),
          support.shape_text(arrays[1].shape), axis)
      end
    end
    shape[axis] = shape[axis] + (own[axis] or 0)
  end
  return shape
end

local function join(arrays, axis, name)
  local shape, dtype = joined_shape(arrays, axis, name), joined_dtype(arrays, name)
  local device, is_device = places.choose(name, arrays, #arrays)
  local scope <close> = support.scope(device)
  local result = support.new_array(is_device, shape, dtype)
  local first = 1
  for _, array in ipairs(arrays) do
    local extent = array.shape[axis]
    if array.size > 0 then
      elementwise.store(result:slice(axis, first, first + extent - 1),
        places.move(array, is_device))
    end
    first = first + extent
  end
  return result
end

---Arrays one after the other along a dimension, which they all have.
---@param list roc.AnyArray[]
---@param opts? {axis?: integer} default the first dimension
---@return roc.AnyArray
function M.concat(list, opts)
  local arrays = check_list(list, "concat")
  local axis = options.axis("concat", opts, arrays[1].ndim, 1)
  return join(arrays, axis, "concat")
end

---Arrays of one shape side by side along a new dimension.
---@param list roc.AnyArray[]
---@param opts? {axis?: integer} where the new dimension is in the result; default the first
---@return roc.AnyArray
function M.stack(list, opts)
  local arrays = check_list(list, "stack")
  local axis = options.axis("stack", opts, arrays[1].ndim + 1, 1)
  local expected = support.shape_text(arrays[1].shape)
  for i, array in ipairs(arrays) do
    local shape = array.shape
    if support.shape_text(shape) ~= expected then
      support.fail("bad argument #1 to 'stack' (entry %d has shape %s, and entry 1 %s)", i,
        support.shape_text(shape), expected)
    end
    table.insert(shape, math.min(axis, #shape + 1), 1)
    arrays[i] = views.reshaped(array, shape)
  end
  return join(arrays, axis, "stack")
end

-- repeating, rolling, padding ---------------------------------------------------------------------

local MOST = 1 << 31 -- so that no product or sum with an extent overflows

-- A list of one integer a dimension; missing ones in front are `default`.
local function each_dimension(value, ndim, name, what)
  local list = type(value) == "table" and value or { value }
  if #list > ndim then
    support.fail("bad argument #1 to '%s' (%s of at most %d dimensions expected, got %d)", name,
      what, ndim, #list)
  end
  local result = {}
  for k = 1, ndim do
    local entry = list[k - ndim + #list]
    if entry == nil then entry = 1 end
    if math.type(entry) ~= "integer" or entry < 0 or entry > MOST then
      support.fail("bad argument #1 to '%s' (%s: integers from 0 to %d expected, got %s)", name,
        what, MOST, options.shown(entry))
    end
    result[k] = entry
  end
  return result
end

-- Fills the result along an axis with the array, n times: each store doubles the filled part.
local function repeat_into(result, array, axis)
  local total, filled = result.shape[axis], array.shape[axis]
  elementwise.store(result:slice(axis, 1, filled), array)
  while filled < total do
    local more = math.min(filled, total - filled)
    elementwise.store(result:slice(axis, filled + 1, filled + more), result:slice(axis, 1, more))
    filled = filled + more
  end
end

---The array repeated: `a:tile(2)` along the last dimension, `a:tile({3, 2})` along the last two.
---@param array roc.AnyArray
---@param count integer | integer[]
---@return roc.AnyArray
function M.tile(array, count)
  array = options.check_array(array, "tile")
  local repeats, shape = each_dimension(count, array.ndim, "tile", "counts"), array.shape
  local device, is_device = places.choose("tile", { array }, 1)
  local scope <close> = support.scope(device)
  local result = support.copy_of(array)
  for axis, n in ipairs(repeats) do
    shape[axis] = shape[axis] * n
    local wider = n ~= 1 and support.new_array(is_device, shape, array.dtype)
    if wider and wider.size > 0 then repeat_into(wider, result, axis) end
    result = wider or result
  end
  return result
end

-- Views on both parts of the array: those that come first in the result, and the others.
local function parts_of(array, axis, shift)
  local n = array.shape[axis]
  local cut = n - shift % n
  return array:slice(axis, cut + 1, n), array:slice(axis, 1, cut)
end

---The elements moved by n places along a dimension; those that leave it come in at its other end.
---@param array roc.AnyArray
---@param n integer
---@param opts? {axis?: integer} needed where the array has several dimensions
---@return roc.AnyArray
function M.roll(array, n, opts)
  array = options.check_array(array, "roll")
  if math.type(n) ~= "integer" then
    support.fail("bad argument #1 to 'roll' (integer expected, got %s)", options.shown(n))
  end
  local axis = options.axis("roll", opts, array.ndim, array.ndim == 1 and 1 or nil)
  if array.shape[axis] == 0 or n % array.shape[axis] == 0 then return support.copy_of(array) end
  return join({ parts_of(array, axis, n) }, axis, "roll")
end

---A view with the elements in reverse order along a dimension.
---@param array roc.AnyArray
---@param opts? {axis?: integer} needed where the array has several dimensions
---@return roc.AnyArray
function M.flip(array, opts)
  array = options.check_array(array, "flip")
  local axis = options.axis("flip", opts, array.ndim, array.ndim == 1 and 1 or nil)
  local n = array.shape[axis]
  return n == 0 and array or array:slice(axis, n, 1, -1)
end

---A new array with elements added around: `width` of them at both ends of each dimension.
---@param array roc.AnyArray
---@param width integer | integer[] one a dimension
---@param opts? {value?: number | boolean} default 0 or false
---@return roc.AnyArray
function M.pad(array, width, opts)
  array = options.check_array(array, "pad")
  local given = options.read("pad", opts, { value = true })
  if type(width) ~= "table" then
    local all = {}
    for k = 1, array.ndim do all[k] = width end
    width = all
  elseif #width ~= array.ndim then
    support.fail("bad argument #1 to 'pad' (widths of %d dimensions expected, got %d)", array.ndim,
      #width)
  end
  local widths, shape = each_dimension(width, array.ndim, "pad", "widths"), array.shape
  for k, n in ipairs(widths) do shape[k] = shape[k] + 2 * n end
  local value = given.value
  if value == nil then value = array.dtype.kind ~= "b" and 0 end
  local device, is_device = places.choose("pad", { array }, 1)
  local scope <close> = support.scope(device)
  local result = support.new_array(is_device, shape, array.dtype):fill(value)
  local inside = result
  for k, n in ipairs(widths) do
    inside = inside:slice(k, n + 1, n + array.shape[k])
  end
  if array.size > 0 then elementwise.store(inside, array) end
  return result
end

---The differences of neighbours along a dimension.
---@param array roc.AnyArray
---@param opts? {axis?: integer} needed where the array has several dimensions
---@return roc.AnyArray
function M.diff(array, opts)
  array = options.check_array(array, "diff")
  local axis = options.axis("diff", opts, array.ndim, array.ndim == 1 and 1 or nil)
  local n = array.shape[axis]
  if n < 2 then return elementwise.apply("sub", array:slice(axis, 2, 1), 0) end
  return elementwise.apply("sub", array:slice(axis, 2, n), array:slice(axis, 1, n - 1))
end

return M
