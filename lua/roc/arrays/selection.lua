-- Selections: a[{i, {first, last, step}, …}] and a[array], read and assigned.
--
-- An entry stands for a dimension, a missing one for all of it: an integer drops the dimension, a
-- range keeps it, an array gathers.  Without an array the selection is a view, and assigning writes
-- through it.
local compaction = require "roc.arrays.compaction"
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local support = require "roc.builders.support"
local views = require "roc.arrays.views"

support.library()

local bool, int64 = core.dtypes.bool, core.dtypes.int64

local M = {}

-- keys --------------------------------------------------------------------------------------------

local function entry_of(array, key, d)
  local entry = key[d]
  if entry == nil then entry = {} end
  if math.type(entry) == "integer" then
    if entry < 1 or entry > array.shape[d] then
      support.fail("index %d out of range 1..%d of dimension %d", entry, array.shape[d], d)
    end
  elseif type(entry) == "table" then
    local count = #entry
    for k, value in pairs(entry) do
      if math.type(k) ~= "integer" or k < 1 or k > count or math.type(value) ~= "integer" then
        count = 1 -- none of the forms below
      end
    end
    if count == 1 or count > 3 then
      support.fail("bad selection of dimension %d ({}, {first, last} or {first, last, step} "
        .. "expected)", d)
    end
  elseif not support.side_of(entry) then
    support.fail("bad selection of dimension %d (an integer, a range such as {2, 5}, or an array "
      .. "expected, got %s)", d, support.type_name(entry))
  elseif entry.dtype == bool and (entry.ndim ~= 1 or #entry ~= array.shape[d]) then
    support.fail("bad selection of dimension %d (a mask of %d elements expected, got shape %s)", d,
      array.shape[d], support.shape_text(entry.shape))
  end
  return entry
end

-- The entries of a key, one a dimension, and the dimension that an array gathers along.
local function read_key(array, key)
  local entries, ndim, gathers = {}, array.ndim, nil
  if type(key) ~= "table" then key = { key } end
  for d in pairs(key) do
    if math.type(d) ~= "integer" or d < 1 or d > ndim then
      support.fail("bad selection (an array of %d dimension%s takes as many entries, got one for "
        .. "[%s]; a range is a table in the table, as in a[{{2, 5}}])", ndim,
        ndim == 1 and "" or "s", options.key(d))
    end
  end
  for d = 1, ndim do
    entries[d] = entry_of(array, key, d)
    if support.side_of(entries[d]) then
      if gathers then
        support.fail("bad selection of dimension %d (dimension %d is gathered by an array already; "
          .. "one array at most)", d, gathers)
      end
      gathers = d
    end
  end
  return entries, gathers
end

-- The range as slice takes it: {n + 1, n} is empty.
local function slice(view, d, entry)
  if #entry == 0 then return view end
  local is_fine, result = pcall(view.slice, view, d, entry[1], entry[2], entry[3] or 1)
  if not is_fine then
    support.fail("%s", (string.gsub(tostring(result), "^.-bad argument #%d+ to '[^']*'",
      string.format("bad selection of dimension %d", d), 1)))
  end
  return result
end

-- The view of all entries that are integers and ranges, and where dimension `gathers` is in it.
local function view_of(array, entries, gathers)
  local view, dropped, kept, at = array, {}, {}, nil
  for d, entry in ipairs(entries) do
    if type(entry) == "table" then view = slice(view, d, entry) end
    local list = math.type(entry) == "integer" and dropped or kept
    list[#list + 1] = d
    if d == gathers then at = #kept end
  end
  if #dropped == 0 then return view, at end
  local axes = table.move(dropped, 1, #dropped, 1, {})
  view = #entries > 1 and view:transpose(table.move(kept, 1, #kept, #axes + 1, axes)) or view
  for _, d in ipairs(dropped) do view = view[entries[d]] end
  return view, at
end

-- gathering ---------------------------------------------------------------------------------------

local function in_c_order(array)
  array = options.host_side(array)
  return array:is_c_contiguous() and array or support.copy_of(array)
end

-- What compaction.take gives, by the host's own code, which waits for the arrays.
local function take_on_host(mask, array, is_device)
  mask, array = in_c_order(mask), array and in_c_order(array)
  local count = core.count_true(mask)
  local found = support.new_array(is_device, count, array and array.dtype or "int64")
  if count > 0 then core.take_true(mask, array, found) end
  return found
end

-- The elements of a 1-D array where the mask is true; without an array, the places.
local function take_true(mask, array, is_device)
  local is_on_cpu = core.current_device().kind == "cpu"
  return (is_on_cpu and take_on_host or compaction.take)(mask, array, is_device)
end

---Where a 1-D array of bool is true: an array of integers, counted from 1.  Waits for the count.
---@param mask roc.AnyArray
---@param is_device boolean
function M.places_of(mask, is_device)
  return take_true(mask, nil, is_device)
end

-- Splits a shape at dimension d: {elements before, extent, elements after}.
local function split(shape, d)
  local before, after = 1, 1
  for k, extent in ipairs(shape) do
    if k < d then before = before * extent elseif k > d then after = after * extent end
  end
  return before, shape[d], after
end

-- The array as one of three dimensions, and whether that is a view.
local function in_three(array, d)
  local before, n, after = split(array.shape, d)
  return views.reshaped(array, { before, n, after })
end

-- The item's element: row `o`, selected place `k`, column `e`.
local HEAD = [[
  local rest = roc.get_global_id(1) - 1
  local e = rest %% %s.shape[3] + 1
  rest = rest // %s.shape[3]
  local k, o = rest %% %s.shape[2] + 1, rest // %s.shape[2] + 1
]]

local function with_head(text, name)
  return (string.gsub(text, "%$head\n", function()
    return string.format(HEAD, name, name, name, name)
  end))
end

local GATHER_ELEMENTS = [=[
function(array, places, result)
  local k = roc.get_global_id(1)
  if k <= #places and k <= #result then
    result[k] = array[places[k]]
  end
end]=]

local GATHER = with_head([=[
function(array, places, result)
$head
  if o <= result.shape[1] and o <= array.shape[1] and e <= array.shape[3] and k <= #places then
    result[o][k][e] = array[o][places[k]][e]
  end
end]=], "result")

-- The index array as places along the dimension, of one dimension, and their shape.
local function read_places(at, d, is_device)
  if at.dtype == bool then
    local found = M.places_of(at, is_device)
    return found, { #found }
  elseif at.dtype.kind == "f" then
    support.fail("bad selection of dimension %d (an array of bool or of integers expected, got %s)",
      d, at.dtype.name)
  end
  return at.ndim == 1 and at or at:ravel(), at.shape
end

-- The shape with the places' shape instead of dimension d.
local function selected_shape(shape, d, selected)
  local result = table.move(shape, 1, d - 1, 1, {})
  table.move(selected, 1, #selected, d, result)
  return table.move(shape, d + 1, #shape, d + #selected, result)
end

local function gather(array, d, at, is_device)
  if at.dtype == bool and array.ndim == 1 then
    return take_true(at, array, is_device)
  end
  local found, selected = read_places(at, d, is_device)
  local shape = selected_shape(array.shape, d, selected)
  local result = support.new_array(is_device, shape, array.dtype)
  if result.size == 0 then return result end
  if array.ndim == 1 then
    generated.kernel(GATHER_ELEMENTS, "", "roc.Array [array]"):forall(#found)(support.input(array),
      support.input(found), support.output(result:reshape(#found), true))
    return result
  end
  local wide = in_three(array, d)
  local flat = result:reshape(wide.shape[1], #found, wide.shape[3])
  generated.kernel(GATHER, "", "roc.Array [array]"):forall(flat.size)(support.input(wide),
    support.input(found), support.output(flat, true))
  return result
end

-- An array as the key alone: a mask of the whole shape selects elements, other arrays rows.
local function whole(array, key)
  if support.side_of(key) and key.dtype == bool and key.ndim > 1 then
    if support.shape_text(key.shape) ~= support.shape_text(array.shape) then
      support.fail("bad selection (a mask of shape %s expected, got %s)",
        support.shape_text(array.shape), support.shape_text(key.shape))
    end
    return true
  end
  return false
end

-- Calls `run` with the arrays where they are computed, which is where the first of them is.
local function at_place(array, others, run)
  local operands = { array, table.unpack(others) }
  local device, is_device = places.choose("[]", operands, #operands)
  if is_device and support.side_of(array) ~= "device" then
    support.fail("bad selection (a device array goes with a host array; copy one of them)")
  end
  local scope <close> = support.scope(device)
  for i, other in ipairs(others) do others[i] = places.move(other, is_device) end
  return run(is_device)
end

---What a key selects of an array: a view, a new array where an array gathers, or an element.
---@param array roc.AnyArray
---@param key table | roc.AnyArray
---@return roc.AnyArray | number | boolean
function M.select(array, key)
  array = options.host_side(array)
  if whole(array, key) then
    local found = { key:ravel() }
    return at_place(array, found, function(is_device)
      return gather(array:ravel(), 1, found[1], is_device)
    end)
  end
  local entries, gathers = read_key(array, key)
  local view, at = view_of(array, entries, gathers)
  if not gathers then return view end
  local found = { entries[gathers] }
  return at_place(array, found, function(is_device)
    return gather(view, at, found[1], is_device)
  end)
end

-- assigning ---------------------------------------------------------------------------------------

local function check_value(value, array)
  if not support.side_of(value) and not support.kind_of_scalar(value) then
    support.fail("bad value (array, number or boolean expected, got %s%s)",
      support.type_name(value), support.table_advice(value))
  elseif support.side_of(value) then
    local from, to = value.dtype, array.dtype
    if (from.kind == "b") ~= (to.kind == "b") or (from.kind == "f" and to.kind ~= "f") then
      support.fail("bad value (an array of %s, which one of %s does not hold; write "
        .. "value:astype(\"%s\"))", from.name, to.name, to.name)
    end
  end
end

-- Calls a function that stores a number; its error is one of the assignment.
local function store_number(f, ...)
  local is_fine, result = pcall(f, ...)
  if is_fine then return result end
  support.fail("%s", (string.gsub(tostring(result), "^.-bad argument #%d+ to '[^']*'", "bad value",
    1)))
end

local function check_broadcast(value, shape)
  local own = value.shape
  local is_fine = #own <= #shape
  for k = 1, #own do
    local extent = shape[#shape - #own + k]
    is_fine = is_fine and (own[k] == 1 or own[k] == extent)
  end
  if not is_fine then
    support.fail("bad value (shape %s does not broadcast to the selection's %s)",
      support.shape_text(own), support.shape_text(shape))
  end
end

-- Writes a number or an array to all elements of a view.
local function assign_view(view, value, is_device)
  if not support.side_of(value) then
    store_number(view.fill, view, value)
    return
  end
  check_broadcast(value, view.shape)
  if view.size == 0 then return end
  local overlap = core.array_overlap(view, value)
  if overlap == "same" then return end
  elementwise.store(view, overlap and support.copy_of(value) or value, is_device)
end

-- The value as an array of the selection's shape and the array's dtype.
local function spread(value, shape, array, is_device)
  local result = support.new_array(is_device, shape, array.dtype)
  assign_view(result, value, is_device)
  return result
end

-- The last of the items that go to a place wins: its number is the greatest.
local WINNERS = [=[
function(places, winners)
  local k = roc.get_global_id(1)
  if k <= #places then
    roc.atomic.max(winners, places[k], k)
  end
end]=]

local SCATTER = with_head([=[
function(winners, values, array)
$head
  if o <= array.shape[1] and o <= values.shape[1] and e <= values.shape[3] and k <= #winners
    and k <= array.shape[2] then
    local item = winners[k]
    if item >= 1 and item <= values.shape[2] then
      array[o][k][e] = values[o][item][e]
    end
  end
end]=], "array")

local function scatter_by_kernels(wide, _, found, values, is_device)
  local winners = support.new_array(is_device, wide.shape[2], int64):fill(0)
  generated.kernel(WINNERS, "", "roc.Array [array] ="):forall(#found)(support.input(found),
    support.output(winners))
  generated.kernel(SCATTER, "", "roc.Array [array] ="):forall(wide.size)(support.input(winners),
    support.input(values), support.output(wide))
end

-- One after the other, by the host's own code.
local function scatter_on_host(wide, d, found, values)
  if found.dtype ~= int64 then found = found:astype(int64) end
  local place = core.put_places(wide, in_c_order(found), values)
  if place then
    support.fail("index %d out of range 1..%d of dimension %d", place, wide.shape[2], d)
  end
end

local function scatter(array, d, at, value, is_device)
  local found, selected = read_places(at, d, is_device)
  local values = spread(value, selected_shape(array.shape, d, selected), array, is_device)
  if values.size == 0 then return end
  local wide, is_view = in_three(array, d)
  values = values:reshape(wide.shape[1], #found, wide.shape[3])
  local is_on_host = not is_device and core.current_device().kind == "cpu"
  local run = is_on_host and scatter_on_host or scatter_by_kernels
  run(wide, d, found, values, is_device)
  if not is_view then assign_view(array, wide:reshape(array.shape), is_device) end
end

-- Where the mask is true the elements become the number; mask and array broadcast.
local function assign_masked(array, mask, value)
  local one = store_number(core.full, 1, value, array.dtype)
  local chosen = elementwise.apply("where", mask, one, array)
  elementwise.store(array, chosen)
end

local function is_element(entries)
  for _, entry in ipairs(entries) do
    if math.type(entry) ~= "integer" then return false end
  end
  return true
end

---Assigns a number or an array to what a key selects.
---@param array roc.AnyArray
---@param key table | roc.AnyArray | integer
---@param value roc.AnyArray | number | boolean
function M.assign(array, key, value)
  check_value(value, array)
  local is_whole = whole(array, key)
  local view, at, found = array, nil, is_whole and key or nil
  if not is_whole then
    local entries, gathers = read_key(array, key)
    found = gathers and entries[gathers]
    if is_element(entries) then -- which stays a view of one
      entries[#entries] = { entries[#entries], entries[#entries] }
    end
    view, at = view_of(array, entries, gathers)
  end
  local others = { found, support.side_of(value) and value or nil }
  if not found then others = { support.side_of(value) and value or nil } end
  at_place(array, others, function(is_device)
    if support.side_of(value) then value = others[#others] end
    found = found and others[1]
    if not found then
      assign_view(view, value, is_device)
    elseif is_whole and support.side_of(value) then
      local flat = array:ravel()
      scatter(flat, 1, found:ravel(), value, is_device)
      if not core.array_overlap(flat, array) then
        assign_view(array, flat:reshape(array.shape), is_device)
      end
    elseif found.dtype == bool and not support.side_of(value) then
      local shape = {}
      for k = 1, view.ndim do shape[k] = k == at and #found or 1 end
      assign_masked(view, is_whole and found or found:reshape(shape), value)
    else
      scatter(view, at, found, value, is_device)
    end
  end)
end

return M
