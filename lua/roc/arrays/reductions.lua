-- Reductions of arrays: sum, mean, argmax and the others, of all elements or along an axis.
local core = require "roc.core"
local dtypes = require "roc.arrays.dtypes"
local elementwise = require "roc.arrays.elementwise"
local joint = require "roc.arrays.joint"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local support = require "roc.builders.support"
local tree = require "roc.arrays.tree"

support.library()

local int64, uint64, float64, bool = core.dtypes.int64, core.dtypes.uint64, core.dtypes.float64,
  core.dtypes.bool

local M = {}

-- dtypes ------------------------------------------------------------------------------------------

local function float_accumulator(dtype)
  return dtype.kind == "f" and dtypes.accumulator(dtype) or float64
end

-- texts -------------------------------------------------------------------------------------------

-- Declares v as an element, converted to the accumulator's class.
local function load_as(dtype, accumulated, map)
  local element = dtypes.convert("e", dtype, dtypes.class(accumulated))
  return function(v, _, elements)
    return string.format("local e_%s = %s\n      local %s = %s", v, elements[1], v,
      (string.gsub(map or "e", "e", (string.gsub(element, "%f[%w]e%f[%W]", "e_" .. v)))))
  end
end

local function load_with_place(v, at, elements)
  return string.format("local %s, %s = %s, k", v, at, elements[1])
end

-- Whether w replaces v: the first of equal ones stays, and a NaN stays and replaces.
local function replaces(dtype, sign)
  if dtype == uint64 then return sign == "<" and "math.ult(w, v)" or "math.ult(v, w)" end
  if dtype.kind == "f" then return string.format("v == v and (w %s v or w ~= w)", sign) end
  return string.format("w %s v", sign)
end

-- The place of a least or greatest element, or (`result` 1) the element itself.  Of equal ones that
-- of the lesser place stays: the lanes' places are not in order.
local function extreme_with_place(sign, result)
  return function(dtype)
    local replaced = replaces(dtype, sign)
    local is_tie = dtype.kind == "f" and "(v == w or v ~= v and w ~= w)" or "v == w"
    return { fields = { dtype, int64 }, result = result, is_exact = true, load = load_with_place,
      combine = string.format("if %s or %s and at_w < at_v then v, at_v = w, at_w end", replaced,
        is_tie),
      in_order = string.format("if %s then v, at_v = w, at_w end", replaced) }
  end
end

local function extreme(sign)
  local of_floats = extreme_with_place(sign, 1) -- 0.0 and -0.0 are equal: the first of them stays
  return function(dtype)
    if dtype.kind == "f" then return of_floats(dtype) end
    return { fields = { dtype }, is_exact = true, load = load_as(dtype, dtype),
      combine = string.format("if %s then v = w end", replaces(dtype, sign)) }
  end
end

local function accumulate(result, text, map)
  return function(dtype)
    local accumulated = result(dtype)
    return { fields = { accumulated }, is_exact = accumulated.kind ~= "f",
      load = load_as(dtype, accumulated, map), combine = text }
  end
end

local function of_bool(text)
  return function()
    return { fields = { bool }, is_exact = true, load = load_as(bool, bool), combine = text }
  end
end

-- the table ---------------------------------------------------------------------------------------

-- `make` gives what the tree combines for a dtype; `empty` the value of no elements (none: an
-- error); `takes` is "numbers" or "bool"; `of` names dtypes that `make` depends on beside that one;
-- `op` is the name that core.reduce_lines has for it; `is_never_later`: lanes do not exchange its
-- values.
local REDUCTIONS = {
  sum = { make = accumulate(dtypes.accumulator, "v = v + w"), empty = 0 },
  prod = { make = accumulate(dtypes.accumulator, "v = v * w"), empty = 1 },
  squares = { make = accumulate(float_accumulator, "v = v + w", "e * e"), empty = 0 },
  min = { make = extreme "<" },
  max = { make = extreme ">" },
  argmin = { make = extreme_with_place("<", 2) },
  argmax = { make = extreme_with_place(">", 2) },
  any = { make = of_bool "v = v or w", empty = false, takes = "bool", is_never_later = true },
  all = { make = of_bool "v = v and w", empty = true, takes = "bool", is_never_later = true },
  count = { takes = "bool", empty = 0, make = function()
    return { fields = { int64 }, is_exact = true, load = tree.load_condition,
      combine = "v = v + w" }
  end },
}

for name, reduction in pairs(REDUCTIONS) do
  reduction.name, reduction.op = name, name
end

-- What the tree combines for a dtype, made once; `name` is for messages.
local made = {}

local function made_of(reduction, name, dtype)
  local of_name = made[reduction.name]
  of_name = of_name and of_name[name]
  local of = reduction.of or dtype
  if of_name and of_name[of] then return of_name[of] end
  local combined = reduction.make(dtype)
  combined.name, combined.op = "roc.Array " .. name, reduction.op
  combined.key = string.format("%s %s %s", name, reduction.name, reduction.of or dtype.name)
  made[reduction.name] = made[reduction.name] or {}
  made[reduction.name][name] = made[reduction.name][name] or {}
  made[reduction.name][name][of] = combined
  return combined
end

-- lines -------------------------------------------------------------------------------------------

-- The options of a call; those of `also` are known, too.
local function check_options(name, given, also, ndim)
  local read = options.read(name, given, { axis = true, keep = true, [also or "axis"] = true })
  if read.keep ~= nil and type(read.keep) ~= "boolean" then
    support.fail("bad option 'keep' of '%s' (boolean expected, got %s)", name,
      support.type_name(read.keep))
  elseif read.axis ~= nil then
    options.check_axis(name, read.axis, ndim)
  end
  return read
end

-- The shape without the axis, or with an extent of 1 there.
local function rest_of(array, axis, keeps)
  if not axis and not keeps then return nil end
  local shape = array.shape
  if keeps then
    for k = 1, #shape do
      if not axis or k == axis then shape[k] = 1 end
    end
  elseif axis then
    table.remove(shape, axis)
  end
  return axis and #shape > 0 and shape or keeps and shape or nil
end

local function check_takes(reduction, name, dtype)
  if (reduction.takes == "bool") ~= (dtype == bool) then
    if dtype == bool then
      support.fail("'%s' takes numbers, and the array is bool; count the true elements with "
        .. "a:count()", name)
    end
    support.fail("'%s' takes bool, and the array is %s; compare first, as in a:ne(0):%s()", name,
      dtype.name, name)
  end
end

local function filled(shape, dtype, value, is_device)
  return support.new_array(is_device, shape, dtype):fill(value)
end

-- How many lines an array has along an axis (none: all its elements are one), and their length.
local function count_lines(array, axis)
  if not axis then return 1, array.size end
  local lines = 1
  for k, extent in ipairs(array.shape) do
    lines = k == axis and lines or lines * extent
  end
  return lines, array.shape[axis]
end

-- The values of all lines of arrays of one shape, as an array of shape {lines}.
local function reduce_lines(reduction, name, dtype, arrays, axis, is_device)
  local combined = made_of(reduction, name, dtype)
  local lines, n = count_lines(arrays[1], axis)
  local at = combined.result or 1
  local result = combined.fields[at]
  if lines == 0 then return support.new_array(is_device, 0, result) end
  if n == 0 then
    if reduction.empty == nil then
      support.fail("'%s' of no elements has no value", name)
    end
    return filled(lines, result, reduction.empty, is_device)
  end
  return tree.reduce(combined, arrays, axis, lines, n, is_device)[at]
end

local function gives_array(array, read)
  return read.keep or read.axis and array.ndim > 1
end

-- The values in the shape of the result, an array, to be computed when they are needed; nil: they
-- are to be computed now.
local function reduce_later(reduction, name, array, read, is_device)
  if not is_device or not gives_array(array, read) then return nil end
  if array.size == 0 or reduction.is_never_later then return nil end
  local combined = made_of(reduction, name, array.dtype)
  combined.later = combined.later
    or joint.later(combined, reduction.name .. " " .. array.dtype.name)
  return combined.later(array, combined.fields[combined.result or 1], read.keep, read.axis)
end

-- Values of lines in the shape of the result; as they are where it is a number.
local function in_shape(values, array, read)
  local rest = rest_of(array, read.axis, read.keep)
  return rest and values:reshape(rest) or values
end

local function reduce_now(reduction, name, array, read, is_device)
  local values = reduce_lines(reduction, name, array.dtype, { array }, read.axis, is_device)
  return in_shape(values, array, read)
end

local function reduce(...)
  return reduce_later(...) or reduce_now(...)
end

-- Calls `run` with the array where it is computed.
local function at_place(name, array, run)
  local device, is_device = places.choose(name, { array }, 1)
  local scope <close> = support.scope(device)
  return run(is_device)
end

-- methods -----------------------------------------------------------------------------------------

-- `values(array, is_device, options)` gives the values in the shape of the result.
local function method(name, also, values)
  M[name] = function(array, opts)
    array = options.check_array(array, name)
    local read = check_options(name, opts, also, array.ndim)
    return at_place(name, array, function(is_device)
      local result = values(array, is_device, read)
      return rest_of(array, read.axis, read.keep) and result or result[1]
    end)
  end
end

for _, name in ipairs { "sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "count" } do
  local reduction = REDUCTIONS[name]
  method(name, nil, function(array, is_device, read)
    check_takes(reduction, name, array.dtype)
    return reduce(reduction, name, array, read, is_device)
  end)
end

method("mean", nil, function(array, is_device, read)
  check_takes(REDUCTIONS.sum, "mean", array.dtype)
  local _, n = count_lines(array, read.axis)
  return elementwise.apply("div", reduce(REDUCTIONS.sum, "mean", array, read, is_device), n)
end)

local function check_ddof(name, ddof)
  if math.type(ddof) == "integer" and ddof >= 0 then return ddof end
  support.fail("bad option 'ddof' of '%s' (an integer of at least 0 expected, got %s)", name,
    options.shown(ddof))
end

-- The mean of the squared distances from the mean, over n - ddof, by kernels.
local function variance(name, array, is_device, read, ddof)
  if dtypes.is_integer(array.dtype) then array = elementwise.astype(array, float64) end
  local kept = { axis = read.axis, keep = true }
  local sums = gives_array(array, read)
    and reduce_later(REDUCTIONS.sum, name, array, kept, is_device)
  if not sums then
    array:eval() -- it is needed twice
    sums = reduce_now(REDUCTIONS.sum, name, array, kept, is_device)
  end
  local _, n = count_lines(array, read.axis)
  local distances = elementwise.apply("sub", array, elementwise.apply("div", sums, n))
  local squares = reduce(REDUCTIONS.squares, name, distances, read, is_device)
  return elementwise.apply("div", squares, math.max(n - ddof, 0))
end

for name, finished in pairs {
  var = function(values) return values end,
  std = function(values) return elementwise.apply("sqrt", values) end,
} do
  method(name, "ddof", function(array, is_device, read)
    local ddof = check_ddof(name, read.ddof or 0)
    check_takes(REDUCTIONS.sum, name, array.dtype)
    if not is_device and core.current_device().kind == "cpu" and array.size > 0 then
      local lines, dtype = count_lines(array, read.axis), float_accumulator(array.dtype)
      return in_shape(tree.reduce_on_host(name, array, read.axis, lines, dtype, ddof), array, read)
    end
    return finished(variance(name, array, is_device, read, ddof))
  end)
end

method("norm", nil, function(array, is_device, read)
  check_takes(REDUCTIONS.sum, "norm", array.dtype)
  return elementwise.apply("sqrt", reduce(REDUCTIONS.squares, "norm", array, read, is_device))
end)

-- dot ---------------------------------------------------------------------------------------------

local function load_product(a, b, accumulated)
  local class = dtypes.class(accumulated)
  return function(v, _, elements)
    return string.format("local e1_%s, e2_%s = %s, %s\n      local %s = %s * %s", v, v,
      elements[1], elements[2], v,
      dtypes.convert("e1_" .. v, a, class), dtypes.convert("e2_" .. v, b, class))
  end
end

---The sum of the products of two 1-D arrays of one length.
---@param a roc.AnyArray
---@param b roc.AnyArray
---@return number
function M.dot(a, b)
  a, b = options.check_array(a, "dot"), options.check_array(b, "dot")
  local joined = dtypes.join(a.dtype, b.dtype)
  if a.ndim ~= 1 or b.ndim ~= 1 or #a ~= #b then
    support.fail("'dot' takes two arrays of one dimension and one length, got shapes %s and %s",
      support.shape_text(a.shape), support.shape_text(b.shape))
  elseif not joined or joined == bool then
    support.fail("'dot' takes numbers, got %s and %s", a.dtype.name, b.dtype.name)
  end
  local device, is_device = places.choose("dot", { a, b }, 2)
  local scope <close> = support.scope(device)
  a, b = places.move(a, is_device), places.move(b, is_device)
  local accumulated = dtypes.accumulator(joined)
  local of = a.dtype.name .. " " .. b.dtype.name
  local reduction = { name = "dot", of = of, empty = 0, make = function()
    return { fields = { accumulated }, load = load_product(a.dtype, b.dtype, accumulated),
      combine = "v = v + w" }
  end }
  return reduce_lines(reduction, "dot", joined, { a, b }, nil, is_device)[1]
end

return M
