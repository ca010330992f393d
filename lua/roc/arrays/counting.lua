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
    local is_same = dtype == array.dtype
    if not is_same and (array.ndim > 1 or array.size == 0 or dtype.kind == "f") then
      array = elementwise.astype(array, dtype)
    end
    if array.size == 0 then return support.copy_of(array) end
    if array.ndim > 1 then return scan_lines(scan, name, array, axis) end
    local device = places.choose(name, { array }, 1)
    local scope <close> = support.scope(device)
    scan.run = scan.run or require "roc.builders.scan"(load(scan.source)(), { contract = false })
    local result = scan.run(array) -- which takes integers of every dtype, and gives int64
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
  local found = selection.places_of(mask:ravel(), is_device)
  if #shape == 1 then return found end
  local rest = elementwise.apply("sub", found, 1)
  for k = #shape, 1, -1 do
    local extent = math.max(shape[k], 1)
    results[k] = elementwise.apply("add", elementwise.apply("mod", rest, extent), 1)
    rest = elementwise.apply("idiv", rest, extent)
  end
  return table.unpack(results)
end

-- Items take every n-th element.  Where the bins are few, each workgroup counts in its own memory
-- first, so that items meet in global memory once a bin and group.
local COUNT = [=[
function(x, counts$params)
  $begin
  for i = roc.get_global_id(1), #x, roc.get_global_size(1) do
    $bin
    $add
  end
  $finish
end]=]

local IN_GROUPS = {
  begin = [[
local mine = roc.shared.array($most, roc.int32)
  local bins, item, step = math.min(#counts, $most), roc.get_local_id(1), roc.get_local_size(1)
  for b = item, bins, step do mine[b] = 0 end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)]],
  add = "if bin >= 1 and bin <= bins then roc.atomic.add(mine, bin, 1) end",
  finish = [[
roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  for b = item, bins, step do
    if mine[b] > 0 then roc.atomic.add(counts, b, mine[b]) end
  end]],
}
local IN_COUNTS = { begin = "", finish = "",
  add = "if bin >= 1 and bin <= #counts then roc.atomic.add(counts, bin, 1) end" }

local MOST_BINS = 1024 -- in a workgroup's memory
local WORKGROUP, EACH = 256, 64 -- items, elements of an item

-- The least size of the workgroup's array that serves: few sizes, so that kernels are few.
local function shared_size(bins)
  local size = 64
  while size < bins do size = size * 4 end
  return size
end

-- Adds to `counts` what the text `bin` gives for x[i]; outside of 1 … #counts it is not counted.
local function count_bins(name, x, counts, params, bin, ...)
  local in_groups = #counts <= MOST_BINS
  local most = in_groups and shared_size(#counts) or 0
  local kernel = generated.kept(string.format("count %d %s", most, bin), function()
    local form = in_groups and IN_GROUPS or IN_COUNTS
    local values = { params = params, bin = bin, begin = form.begin, add = form.add,
      finish = form.finish }
    local text = string.gsub(COUNT, "%$(%a+)", values)
    text = string.gsub(text, "%$most", most)
    return generated.kernel(text, "", "roc.Array " .. name, WORKGROUP)
  end)
  local groups = (#x + WORKGROUP * EACH - 1) // (WORKGROUP * EACH)
  kernel:launch({ groups = groups, workgroup = WORKGROUP }, support.input(x),
    support.output(counts), ...)
end

local BIN_OF_INTEGER = [[
local bin = x[i] - first + 1
    if bin < 1 or bin > #counts then
      error("value without a bin: ", x[i], "; the bins count ", first, " to ", first + #counts - 1)
    end]]

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
    count_bins("bincount", array:ravel(), counts, ", first", BIN_OF_INTEGER, first)
  end
  return counts
end

-- v is an element; bin k has the values from edges[k] to below edges[k + 1], the last one its upper
-- edge, too.  What the division gives may miss by one.
local BIN_OF_FLOAT = [[
local v, bins = roc.float64($element), #counts
    local bin = 0
    if v >= low and v <= high and bins < #edges then
      bin = math.min(roc.int64((v - low) / (high - low) * bins) + 1, bins)
      if bin > 1 and v < edges[bin] then
        bin = bin - 1
      elseif bin < bins and v >= edges[bin + 1] then
        bin = bin + 1
      end
    end]]

-- The least and the greatest edge: as given, else of the elements; half a unit around where they
-- are one number.
local function edges_of(array, range)
  local low, high = 0.0, 1.0
  if range ~= nil then
    local is_pair = type(range) == "table" and type(range[1]) == "number"
      and type(range[2]) == "number" and #range == 2
    local is_ordered = is_pair and range[1] <= range[2] -- false of NaN
    if not is_ordered then
      support.fail("bad option 'range' of 'histogram' (two numbers in order expected, as {0, 1})")
    end
    low, high = range[1] + 0.0, range[2] + 0.0
  elseif array.size > 0 then
    local wide = elementwise.astype(array, core.dtypes.float64)
    local reductions = require "roc.arrays.reductions"
    low, high = reductions.min(wide), reductions.max(wide)
  end
  local is_finite = high - low < math.huge
  if not is_finite then
    support.fail("'histogram' needs a finite range, and %s; name one, as in {range = {0, 1}}",
      low ~= low and "an element is NaN" or string.format("this goes from %g to %g", low, high))
  end
  if low == high then return low - 0.5, high + 0.5 end
  return low, high
end

---How many elements are in each of `bins` bins of one width, and the edges of the bins.  The bins
---go from the least to the greatest element, or over `range`; elements outside, and NaN in a range,
---are not counted.
---@param array roc.AnyArray of numbers
---@param bins integer
---@param opts? {range?: number[]}
---@return roc.AnyArray counts int64
---@return roc.AnyArray edges float64, one more
function M.histogram(array, bins, opts)
  array = options.check_array(array, "histogram")
  local range = options.read("histogram", opts, { range = "{0, 1}" }).range
  if array.dtype.kind == "b" then
    support.fail("'histogram' takes numbers, and the array is bool; count the true elements with "
      .. "a:count()")
  elseif math.type(bins) ~= "integer" or bins < 1 then
    support.fail("bad argument #1 to 'histogram' (a number of bins expected, got %s; with edges "
      .. "of your own: (edges:searchsorted(a, {side = \"right\"}) - 1):bincount())",
      options.shown(bins))
  end
  local low, high = edges_of(array, range)
  local device, is_device = places.choose("histogram", { array }, 1)
  local scope <close> = support.scope(device)
  local counts = support.new_array(is_device, bins, int64):fill(0)
  local edges = core.linspace(low, high, bins + 1)
  if is_device then edges = core.to_device(edges) end
  if array.size > 0 then
    local element = dtypes.convert("x[i]", array.dtype, "float64")
    local bin = string.gsub(BIN_OF_FLOAT, "%$element", function() return element end)
    count_bins("histogram", array:ravel(), counts, ", edges, low, high", bin,
      support.input(edges), low, high)
  end
  return counts, edges
end

return M
