-- Sorting, and what rests on it: places, the largest, distinct values, search.
--
-- Along the last dimension; equal elements keep their order, NaN comes last in either direction.
--
-- By digits: on `cpu` and `sim` in the runtime, on GPUs by kernels (roc.arrays.radix).
local compaction = require "roc.arrays.compaction"
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local radix = require "roc.arrays.radix"
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

-- sorting lines -----------------------------------------------------------------------------------

local function as_lines(array)
  local shape = array.shape
  local n = shape[#shape]
  local lines = n == 0 and 0 or array.size // n
  local packed = array:is_c_contiguous() and array or array:ravel()
  return packed:reshape(lines, n)
end

-- By kernels.
local function sort_by_kernels(lines, wanted, new)
  local n = lines.shape[2]
  local values = wanted.values and new(n, lines.dtype) or nil
  local places_of = wanted.places and new(n, int64) or nil
  radix.sort(lines, wanted.descending, values, places_of)
  return values, places_of
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
  local is_host = device.kind == "cpu" or device.kind == "sim"
  local values, at = (is_host and sort_on_host or sort_by_kernels)(lines, wanted, new)
  local function shaped(results)
    return results and results:slice(2, 1, keep):ravel():reshape(shape) or nil
  end
  return shaped(values), shaped(at)
end

local KNOWN = { descending = "true" }

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
---@param opts? nil
---@return roc.AnyArray
---@return roc.AnyArray
function M.topk(array, k, opts)
  array = options.check_array(array, "topk")
  options.refuse("topk", opts, "it gives the largest elements along the last dimension")
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
---@param opts? nil
---@return roc.AnyArray
function M.unique(array, opts)
  array = options.check_array(array, "unique")
  options.refuse("unique", opts, "it gives the distinct elements of the whole array")
  local flat = M.sort(array:ravel())
  local n = #flat
  if n < 2 then return flat end
  local device, is_device = places.choose("unique", { flat }, 1)
  local scope <close> = support.scope(device)
  if core.current_device().kind ~= "cpu" then return compaction.distinct(flat, is_device) end
  local later, earlier = flat:slice(1, 2, n), flat:slice(1, 1, n - 1)
  local differs = elementwise.apply("ne", later, earlier)
  if array.dtype.kind == "f" then
    local is_again = elementwise.apply("band", elementwise.apply("isnan", later),
      elementwise.apply("isnan", earlier))
    differs = elementwise.apply("band", differs, elementwise.apply("bnot", is_again))
  end
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

-- A number or boolean as an array of one element; its error is one of the argument.
local function one_value(value, dtype)
  local is_fine, result = pcall(core.full, 1, value, dtype)
  if is_fine and dtype.kind ~= "f" and result[1] ~= value then
    support.fail("bad argument #2 to 'searchsorted' (a value of %s expected, got %s)", dtype.name,
      options.shown(value))
  elseif is_fine then
    return result
  end
  support.fail("%s", (string.gsub(tostring(result), "^.-bad argument #%d+ to '[^']*'",
    "bad argument #2 to 'searchsorted'", 1)))
end

---Where in a sorted array each value belongs: 1 to n + 1, before equal elements, or after them with
---`side = "right"`.
---@param array roc.AnyArray sorted, of one dimension
---@param values roc.AnyArray | number | boolean of the same dtype, or one value
---@param opts? {side?: "left" | "right"}
---@return roc.AnyArray | integer
function M.searchsorted(array, values, opts)
  array = options.check_array(array, "searchsorted")
  local side = options.read("searchsorted", opts, { side = '"right"' }).side or "left"
  if side ~= "left" and side ~= "right" then
    support.fail("bad option 'side' of 'searchsorted' (\"left\" or \"right\" expected, got %s)",
      options.shown(side))
  elseif support.kind_of_scalar(values) then
    return M.searchsorted(array, one_value(values, array.dtype), opts)[1]
  elseif not support.side_of(values) then
    support.fail("bad argument #2 to 'searchsorted' (array or number expected, got "
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
