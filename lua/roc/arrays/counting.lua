-- Running sums and products, places of true elements, counts of values.
local core = require "roc.core"
local dtypes = require "roc.arrays.dtypes"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local selection = require "roc.arrays.selection"
local support = require "roc.builders.support"

support.library()

local int64 = core.dtypes.int64

local M = {}

-- running sums ------------------------------------------------------------------------------------

-- An item runs through a line.
local LINES = [=[
function(x, y)
  local line = roc.get_global_id(1)
  if line <= x.shape[1] and line <= y.shape[1] then
    local n = math.min(x.shape[2], y.shape[2])
    local total = $start
    for k = 1, n do
      total = total $sign x[line][k]
      y[line][k] = total
    end
  end
end]=]

local SCANS = {
  cumsum = { sign = "+", start = "0", source = "return function(a, b) return a + b end" },
  cumprod = { sign = "*", start = "1", source = "return function(a, b) return a * b end" },
}

local function scan_lines(scan, name, array, axis)
  local shape, axes = array.shape, {}
  for k = 1, #shape do
    if k ~= axis then axes[#axes + 1] = k end
  end
  axes[#shape] = axis
  local moved = array:transpose(axes)
  local n = shape[axis]
  local lines = moved:ravel():reshape(array.size // n, n)
  local device, is_device = places.choose(name, { array }, 1)
  local scope <close> = support.scope(device)
  local result = support.new_array(is_device, { array.size // n, n }, array.dtype)
  local class = dtypes.class(array.dtype)
  local values = { sign = scan.sign,
    start = class == "integer" and scan.start or string.format("roc.%s(%s)", class, scan.start) }
  local text = string.gsub(LINES, "%$([%a_]+)", values)
  generated.kernel(text, array.dtype.name, "roc.Array " .. name):forall(lines.shape[1])(
    support.input(lines), support.output(result, true))
  local back = {}
  for place, k in ipairs(axes) do back[k] = place end
  local moved_shape = {}
  for place, k in ipairs(axes) do moved_shape[place] = shape[k] end
  return result:reshape(moved_shape):transpose(back)
end

local function running(name)
  local scan = SCANS[name]
  return function(array, opts)
    array = options.check_array(array, name)
    local axis = options.axis(name, opts, array.ndim, array.ndim == 1 and 1 or nil)
    if array.dtype.kind == "b" then
      support.fail("'%s' takes numbers, and the array is bool; write roc.where(a, 1, 0)", name)
    end
    local dtype = dtypes.accumulator(array.dtype)
    if dtype ~= array.dtype then array = elementwise.astype(array, dtype) end
    if array.size == 0 then return support.copy_of(array) end
    if array.ndim > 1 then return scan_lines(scan, name, array, axis) end
    local device = places.choose(name, { array }, 1)
    local scope <close> = support.scope(device)
    scan.run = scan.run or require "roc.builders.scan"(load(scan.source)(), { contract = false })
    local result = scan.run(array) -- which gives int64 for every integer dtype
    return result.dtype == dtype and result or elementwise.astype(result, dtype)
  end
end

---Running sums along a dimension, in the dtype of `sum`.
M.cumsum = running "cumsum"

---Running products along a dimension, in the dtype of `prod`.
M.cumprod = running "cumprod"

-- places and counts -------------------------------------------------------------------------------

---Where an array of bool is true: an array of indices for each dimension.  Waits for the count.
---@param mask roc.AnyArray
---@return roc.AnyArray ...
function M.nonzero(mask)
  mask = options.check_array(mask, "nonzero")
  if mask.dtype.kind ~= "b" then
    support.fail("'nonzero' takes bool, and the array is %s; compare first, as in "
      .. "a:ne(0):nonzero()", mask.dtype.name)
  end
  local shape, results = mask.shape, {}
  local device, is_device = places.choose("nonzero", { mask }, 1)
  local scope <close> = support.scope(device)
  local rest = elementwise.apply("sub", selection.places_of(mask:ravel(), is_device), 1)
  for k = #shape, 1, -1 do
    local extent = math.max(shape[k], 1)
    results[k] = elementwise.apply("add", elementwise.apply("mod", rest, extent), 1)
    rest = elementwise.apply("idiv", rest, extent)
  end
  return table.unpack(results)
end

local COUNT = [=[
function(x, counts, first)
  local i = roc.get_global_id(1)
  if i <= #x then
    local bin = x[i] - first + 1
    if bin < 1 or bin > #counts then
      error("value without a bin: ", x[i], "; the bins count ", first, " to ", first + #counts - 1)
    end
    roc.atomic.add(counts, bin, 1)
  end
end]=]

---How often each integer occurs: bin 1 counts the value `first` (default 1), and so on, to `bins`
---(default: to the greatest value).  A value outside is an error.
---@param array roc.AnyArray of integers
---@param opts? {first?: integer, bins?: integer}
---@return roc.AnyArray
function M.bincount(array, opts)
  array = options.check_array(array, "bincount")
  local given = options.read("bincount", opts, { first = true, bins = true })
  if not dtypes.is_integer(array.dtype) then
    support.fail("'bincount' takes integers, and the array is %s", array.dtype.name)
  end
  local first = given.first or 1
  local bins = given.bins
  local is_count = bins == nil or math.type(bins) == "integer" and bins >= 0
  if math.type(first) ~= "integer" or not is_count then
    support.fail("bad options of 'bincount' (integers expected, bins at least 0)")
  end
  if not bins then
    local greatest = array.size > 0 and require("roc.arrays.reductions").max(array) or first - 1
    bins = math.max(greatest - first + 1, 0)
  end
  local device, is_device = places.choose("bincount", { array }, 1)
  local scope <close> = support.scope(device)
  local counts = support.new_array(is_device, bins, int64):fill(0)
  if array.size > 0 then
    generated.kernel(COUNT, "", "roc.Array bincount"):forall(array.size)(
      support.input(array:ravel()), support.output(counts), first)
  end
  return counts
end

return M
