-- Sorting, and what rests on it: places, the largest, distinct values, search.
--
-- Along the last dimension; equal elements keep their order, NaN comes last in either direction.
--
-- On `cpu` the runtime sorts, by digits. On GPUs and `sim` kernels do, by merging: first each
-- work-item sorts a run of 32 neighbours; then in each pass neighbouring runs are merged: an item
-- writes 32 elements of the merged run, after a binary search for the place where they begin in
-- both.
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local selection = require "roc.arrays.selection"
local support = require "roc.builders.support"

support.library()

local int64, uint64 = core.dtypes.int64, core.dtypes.uint64

local M = {}

-- texts -------------------------------------------------------------------------------------------

-- Whether p comes before q: ascending, or descending.
local function precedes(dtype, p, q, is_descending)
  local first, second = p, q
  if is_descending then first, second = q, p end
  if dtype.kind == "b" then
    return string.format("(not %s and %s)", first, second)
  elseif dtype == uint64 then
    return string.format("math.ult(%s, %s)", first, second)
  elseif dtype.kind == "f" then
    return string.format("(%s < %s or %s == %s and %s ~= %s)", first, second, p, p, q, q)
  end
  return string.format("(%s < %s)", first, second)
end

local RUN = 32

local SORT_RUN = [=[
function(x, y$moved)
  local item = roc.get_global_id(1) - 1
  local n = x.shape[2]
  local runs = (n + $run - 1) // $run
  local line, first = item // runs + 1, item % runs * $run + 1
  if line <= x.shape[1] and line <= y.shape[1] and n <= y.shape[2] then
    for k = first, math.min(first + $run - 1, n) do
      local v = x[line][k]
      local place = k - 1
      while place >= first and $v_first do
        y[line][place + 1] = y[line][place]
        $shift
        place = place - 1
      end
      y[line][place + 1] = v
      $put
    end
  end
end]=]

-- Of equal elements those of the left run, from `i` on, precede those of the right, from `j` on.
local MERGE = [=[
function(x, y, width$at$moved)
  local item = roc.get_global_id(1) - 1
  local n = x.shape[2]
  local pieces = (n + $run - 1) // $run
  local line, first = item // pieces + 1, item % pieces * $run
  if line <= x.shape[1] and line <= y.shape[1] and n <= y.shape[2] then
    local left = first // (2 * width) * (2 * width)
    local right = math.min(left + width, n)
    local stop = math.min(right + width, n)
    local before = first - left
    local low, high = math.max(0, before - (stop - right)), math.min(before, right - left)
    while low < high do
      local middle = (low + high) // 2
      local v, w = x[line][left + middle + 1], x[line][right + before - middle]
      if $w_first then high = middle else low = middle + 1 end
    end
    local i, j = left + low, right + before - low
    for k = first + 1, math.min(first + $run, stop) do
      local takes_left = i < right
      if takes_left and j < stop then
        local v, w = x[line][i + 1], x[line][j + 1]
        takes_left = not $w_first
      end
      local from = takes_left and i + 1 or j + 1
      y[line][k] = x[line][from]
      $take
      if takes_left then i = i + 1 else j = j + 1 end
    end
  end
end]=]

local function fill_in(text, dtype, is_descending, has_places)
  local function of_places(part) return has_places and part or "" end
  local values = {
    run = RUN, at = of_places ", at", moved = of_places ", moved",
    v_first = precedes(dtype, "v", "y[line][place]", is_descending),
    w_first = precedes(dtype, "w", "v", is_descending),
    shift = of_places "moved[line][place + 1] = moved[line][place]",
    put = of_places "moved[line][place + 1] = k",
    take = of_places "moved[line][k] = at[line][from]",
  }
  return (string.gsub(text, "%$([%a_]+)", values))
end

-- sorting lines -----------------------------------------------------------------------------------

local function as_lines(array)
  local shape = array.shape
  local n = shape[#shape]
  local lines = n == 0 and 0 or array.size // n
  local packed = array:is_c_contiguous() and array or array:ravel()
  return packed:reshape(lines, n)
end

local STEPS = { sort = SORT_RUN, merge = MERGE }

-- By kernels: sorted copies of the lines, and of the places that elements came from.
local function merge_sort(lines, wanted, new)
  local n, dtype = lines.shape[2], lines.dtype
  local from, at = new(n, dtype), wanted.places and new(n, int64)
  local items = lines.shape[1] * ((n + RUN - 1) // RUN)
  local function kernel(step)
    local key = string.format("%s %s %s %s", step, dtype.name, wanted.descending, wanted.places)
    return generated.kept(key, function()
      return generated.kernel(fill_in(STEPS[step], dtype, wanted.descending, wanted.places),
        dtype.name, "roc.Array sort")
    end):forall(items)
  end
  if at then
    kernel "sort"(support.input(lines), support.output(from), support.output(at))
  else
    kernel "sort"(support.input(lines), support.output(from))
  end
  local to, moved = n > RUN and new(n, dtype), n > RUN and at and new(n, int64)
  local width = RUN
  while width < n do
    if at then
      kernel "merge"(support.input(from), support.output(to, true), width, support.input(at),
        support.output(moved, true))
    else
      kernel "merge"(support.input(from), support.output(to, true), width)
    end
    from, to = to, from
    if at then at, moved = moved, at end
    width = width * 2
  end
  return from, at
end

-- By the host's own code, which waits for the array.
local function sort_on_host(lines, wanted, new)
  local keep = wanted.keep or lines.shape[2]
  if not lines:is_c_contiguous() then lines = support.copy_of(lines) end
  local values = wanted.values and new(keep, lines.dtype) or nil
  local places_of = wanted.places and new(keep, int64) or nil
  core.sort_lines(lines, wanted.descending, keep, values, places_of)
  return values, places_of
end

-- The first `keep` (or all) elements of the sorted lines, and their places, in the array's shape.
local function sorted(name, array, wanted)
  array = options.check_array(array, name)
  local device, is_device = places.choose(name, { array }, 1)
  local scope <close> = support.scope(device)
  local shape = array.shape
  local last, n = #shape, shape[#shape]
  local lines = as_lines(array)
  local function new(extent, dtype)
    return support.new_array(is_device, { lines.shape[1], extent }, dtype)
  end
  local keep = wanted.keep or n
  shape[last] = keep
  if array.size == 0 or keep == 0 then
    return wanted.values and support.new_array(is_device, shape, array.dtype) or nil,
      wanted.places and support.new_array(is_device, shape, int64) or nil
  end
  local is_host = device.kind == "cpu"
  local values, at = (is_host and sort_on_host or merge_sort)(lines, wanted, new)
  local function shaped(results)
    return results and results:slice(2, 1, keep):ravel():reshape(shape) or nil
  end
  return shaped(values), shaped(at)
end

local KNOWN = { descending = true }

local function is_descending(name, opts)
  local value = options.read(name, opts, KNOWN).descending
  if value ~= nil and type(value) ~= "boolean" then
    support.fail("bad option 'descending' of '%s' (boolean expected, got %s)", name,
      support.type_name(value))
  end
  return value or false
end

---A sorted copy, along the last dimension; stable, NaN last.
---@param array roc.AnyArray
---@param opts? {descending?: boolean}
---@return roc.AnyArray
function M.sort(array, opts)
  return (sorted("sort", array, { values = true, descending = is_descending("sort", opts) }))
end

---The places, from 1, of the elements in their sorted order along the last dimension.
---@param array roc.AnyArray
---@param opts? {descending?: boolean}
---@return roc.AnyArray
function M.argsort(array, opts)
  local wanted = { places = true, descending = is_descending("argsort", opts) }
  return (select(2, sorted("argsort", array, wanted)))
end

---The k largest elements along the last dimension, and their places: largest first, NaN last.
---@param array roc.AnyArray
---@param k integer
---@return roc.AnyArray
---@return roc.AnyArray
function M.topk(array, k)
  array = options.check_array(array, "topk")
  local last = array.ndim
  if math.type(k) ~= "integer" or k < 0 or k > array.shape[last] then
    support.fail("bad argument #1 to 'topk' (an integer from 0 to %d expected, got %s)",
      array.shape[last], options.shown(k))
  end
  return sorted("topk", array, { values = true, places = true, descending = true, keep = k })
end

-- distinct values and search ----------------------------------------------------------------------

---The distinct elements of the whole array, sorted; NaN once.
---@param array roc.AnyArray
---@return roc.AnyArray
function M.unique(array)
  array = options.check_array(array, "unique")
  local flat = M.sort(array:ravel())
  local n = #flat
  if n < 2 then return flat end
  local later, earlier = flat:slice(1, 2, n), flat:slice(1, 1, n - 1)
  local differs = elementwise.apply("ne", later, earlier)
  if array.dtype.kind == "f" then
    local is_again = elementwise.apply("band", elementwise.apply("isnan", later),
      elementwise.apply("isnan", earlier))
    differs = elementwise.apply("band", differs, elementwise.apply("bnot", is_again))
  end
  local device, is_device = places.choose("unique", { flat }, 1)
  local scope <close> = support.scope(device)
  local mask = support.new_array(is_device, n, "bool"):fill(true)
  elementwise.store(mask:slice(1, 2, n), differs)
  return selection.select(flat, mask)
end

local SEARCH = [=[
function(x, v, at)
  local i = roc.get_global_id(1)
  if i <= #v and i <= #at then
    local value = v[i]
    local low, high = 1, #x + 1
    while low < high do
      local middle = (low + high) // 2
      local element = x[middle]
      if $goes_on then low = middle + 1 else high = middle end
    end
    at[i] = low
  end
end]=]

---Where in a sorted array each value belongs: 1 to n + 1, before equal elements, or after them with
---`side = "right"`.
---@param array roc.AnyArray sorted, of one dimension
---@param values roc.AnyArray of the same dtype
---@param opts? {side?: "left" | "right"}
---@return roc.AnyArray
function M.searchsorted(array, values, opts)
  array = options.check_array(array, "searchsorted")
  local side = options.read("searchsorted", opts, { side = true }).side or "left"
  if side ~= "left" and side ~= "right" then
    support.fail("bad option 'side' of 'searchsorted' (\"left\" or \"right\" expected, got %s)",
      options.shown(side))
  elseif not support.side_of(values) then
    support.fail("bad argument #2 to 'searchsorted' (roc.Array or roc.DeviceArray expected, got "
      .. "%s%s)", support.type_name(values), support.table_advice(values))
  elseif array.ndim ~= 1 or array.dtype ~= values.dtype then
    support.fail("'searchsorted' takes a sorted array of one dimension and values of its dtype, "
      .. "got %s of shape %s and %s", array.dtype.name, support.shape_text(array.shape),
      values.dtype.name)
  end
  local device, is_device = places.choose("searchsorted", { array, values }, 2)
  local scope <close> = support.scope(device)
  array, values = places.move(array, is_device), places.move(values, is_device)
  local at = support.new_array(is_device, values.shape, int64)
  if at.size == 0 then return at end
  local test = side == "left" and precedes(array.dtype, "element", "value")
    or "not (" .. precedes(array.dtype, "value", "element") .. ")"
  local text = string.gsub(SEARCH, "%$goes_on", function() return test end)
  generated.kernel(text, array.dtype.name, "roc.Array searchsorted"):forall(at.size)(
    support.input(array), support.input(values:ravel()), support.output(at:ravel(), true))
  return at
end

return M
