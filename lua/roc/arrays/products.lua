-- Products of matrices: a:matmul(b), and roc.einsum, which is made of them.
--
-- An element of the result is the sum of its products in the order of their index, each added with
-- one rounding (fma), so that all kernels below, and all devices, give the same bits; so does
-- core.multiply, the runtime's own code for floats of host arrays.
local core = require "roc.core"
local dtypes = require "roc.arrays.dtypes"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local reductions = require "roc.arrays.reductions"
local stacks = require "roc.arrays.stacks"
local support = require "roc.builders.support"
local views = require "roc.arrays.views"

support.library()

local M = {}

local reshaped = views.reshaped

-- kernels -----------------------------------------------------------------------------------------

-- Both make the matrices c[z] = a · b; a stack of one matrix serves every z.
local HEAD = [[
local a, b = stack_a[math.min(z, #stack_a)], stack_b[math.min(z, #stack_b)]
  local m, n, depth = c.shape[2], c.shape[3], math.min(a.shape[2], b.shape[1])]]

-- An item has $rows neighbouring elements of a column, for which it reads b once.
local STRIPS = [=[
function(stack_a, stack_b, c)
  local j, strip, z = roc.grid(3)
  local above = (strip - 1) * $rows
  $head
  if z <= #c and j <= n and j <= b.shape[2] then
    if above + $rows <= m and above + $rows <= a.shape[1] then
      local $sums = $zeros
      for k = 1, depth do
        local right = b[k][j]
        $each
      end
      $store
    else
      for i = above + 1, math.min(m, a.shape[1]) do
        local sum = $zero
        for k = 1, depth do
          local left, right = a[i][k], b[k][j]
          sum = $add
        end
        c[z][i][j] = sum
      end
    end
  end
end]=]

local ROWS = 8

-- A workgroup of 16 × 16 has 64 × 64 elements, an item 4 × 4 of them, 16 apart; 16 columns of a and
-- rows of b at a time are in its memory.
local BLOCKS = [=[
function(stack_a, stack_b, c)
  local block_a, block_b = roc.shared.array({ 16, 64 }, $type), roc.shared.array({ 16, 64 }, $type)
  local sums = roc.private.array({ 4, 4 }, $type)
  local mine_a, mine_b = roc.private.array(4, $type), roc.private.array(4, $type)
  local x, y, z = roc.get_local_id(1), roc.get_local_id(2), roc.get_group_id(3)
  $head
  local above, before = (roc.get_group_id(2) - 1) * 64, (roc.get_group_id(1) - 1) * 64
  local item = (y - 1) * 16 + x - 1
  for i = 1, 4 do
    for j = 1, 4 do sums[i][j] = $zero end
  end
  for k0 = 0, depth - 1, 16 do
    for s = 0, 3 do
      local row, k = item // 16 + s * 16 + 1, item % 16 + 1
      if above + row <= m and k0 + k <= depth then
        local left = a[above + row][k0 + k]
        block_a[k][row] = $left
      end
      local column
      k, column = item // 64 + s * 4 + 1, item % 64 + 1
      if before + column <= n and k0 + k <= depth then
        local right = b[k0 + k][before + column]
        block_b[k][column] = $right
      end
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    for k = 1, math.min(16, depth - k0) do
      for i = 1, 4 do
        mine_a[i], mine_b[i] = block_a[k][(i - 1) * 16 + y], block_b[k][(i - 1) * 16 + x]
      end
      for i = 1, 4 do
        for j = 1, 4 do
          local left, right, sum = mine_a[i], mine_b[j], sums[i][j]
          sums[i][j] = $accumulate
        end
      end
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  end
  for i = 1, 4 do
    for j = 1, 4 do
      local row, column = above + (i - 1) * 16 + y, before + (j - 1) * 16 + x
      if row <= m and column <= n and z <= #c then c[z][row][column] = sums[i][j] end
    end
  end
end]=]

-- The sum with one more product of converted factors.
local function add_text(class, left, right, sum)
  if class == "integer" then return string.format("%s + %s * %s", sum, left, right) end
  return string.format("roc.math.fma(%s, %s, %s)", left, right, sum)
end

local function text_of(template, a, b, accumulated)
  local class = dtypes.class(accumulated)
  local left, right = dtypes.convert("left", a, class), dtypes.convert("right", b, class)
  local zero = class == "integer" and "0" or string.format("roc.%s(0)", class)
  local each, store, zeros = {}, {}, {}
  for r = 1, ROWS do
    local left_r = string.gsub(left, "left", "left" .. r)
    each[r] = string.format("local left%d = a[above + %d][k]\n        s%d = %s", r, r, r,
      add_text(class, left_r, right, "s" .. r))
    store[r] = string.format("c[z][above + %d][j] = s%d", r, r)
    zeros[r] = zero
  end
  local values = { head = HEAD, rows = ROWS, zero = zero, left = left, right = right,
    type = string.format("%q", accumulated.name), zeros = table.concat(zeros, ", "),
    sums = table.concat(support.names("s", ROWS), ", "), each = table.concat(each, "\n        "),
    store = table.concat(store, "\n      "), add = add_text(class, left, right, "sum"),
    accumulate = add_text(class, "left", "right", "sum") }
  return (string.gsub(template, "%$([%a_]+)", values))
end

local function kernel_of(template, name, a, b, accumulated, workgroup)
  local key = table.concat({ template, a.name, b.name, accumulated.name }, " ")
  return generated.kept(key, function()
    return generated.kernel(text_of(template, a, b, accumulated), key, "roc.Array " .. name,
      workgroup)
  end)
end

local IS_GPU = { hsa = true, cuda = true }
local FEW = 32 -- rows or columns for which blocks are too large

-- c = a · b, all of three dimensions, none of them empty, on the current device.
local function multiply(name, a, b, c, accumulated)
  local batch, m, n = table.unpack(c.shape)
  if core.multiply(a, b, c) then return end
  if IS_GPU[core.current_device().kind] and m >= FEW and n >= FEW then
    local kernel = kernel_of(BLOCKS, name, a.dtype, b.dtype, accumulated, { 16, 16, 1 })
    kernel:launch({ groups = { (n + 63) // 64, (m + 63) // 64, batch },
      workgroup = { 16, 16, 1 } }, support.input(a), support.input(b), support.output(c, true))
  else
    local kernel = kernel_of(STRIPS, name, a.dtype, b.dtype, accumulated)
    kernel:forall(n, (m + ROWS - 1) // ROWS, batch)(support.input(a), support.input(b),
      support.output(c, true))
  end
end

-- dtypes ------------------------------------------------------------------------------------------

-- What the products of these dtypes are added in, and the dtype of the result.
local function result_dtype(name, kinds, wanted)
  local joined = dtypes.join_all(kinds)
  if not joined or joined.kind == "b" then
    local names = {}
    for i, kind in ipairs(kinds) do names[i] = kind.name end
    support.fail("'%s' takes numbers, got %s; write roc.where(a, 1, 0) for bool", name,
      table.concat(names, " and "))
  end
  if wanted == nil then
    local accumulated = dtypes.accumulator(joined)
    return accumulated, accumulated
  end
  wanted = support.check_dtype(wanted, string.format("option 'dtype' of '%s'", name))
  if wanted.kind == "b" or joined.kind == "f" and wanted.kind ~= "f" then
    support.fail("bad option 'dtype' of '%s' (%s expected for products of %s, got %s)", name,
      joined.kind == "f" and "a float dtype" or "a dtype of numbers", joined.name, wanted.name)
  end
  local wider = joined.kind == "f" and wanted.kind == "f" and dtypes.join(joined, wanted) or wanted
  return dtypes.accumulator(wider), wanted
end

-- The products of the arrays' matrices, where the arrays are; `lead` as above.
local function matrices(name, a, b, lead, accumulated, dtype, is_device)
  local m, n = a.shape[a.ndim - 1], b.shape[b.ndim]
  local depth, batch = a.shape[a.ndim], stacks.count(lead)
  local result = support.new_array(is_device, { batch, m, n }, accumulated)
  if depth == 0 then
    result:fill(0)
  elseif result.size > 0 then
    multiply(name, stacks.of(a, lead, is_device), stacks.of(b, lead, is_device), result,
      accumulated)
  end
  return dtype == accumulated and result or elementwise.astype(result, dtype)
end

---The products of stacks of floats, where they are, by kernels; see stacks.product.
function M.product_of_stacks(a, b, lead, is_device)
  local dtype = dtypes.accumulator(dtypes.join(a.dtype, b.dtype))
  return matrices("roc.linalg.matmul", a, b, lead, dtype, dtype, is_device)
end

-- matmul ------------------------------------------------------------------------------------------

---The matrix product over the last two dimensions; the ones before broadcast.  A vector stands for
---a row on the left and for a column on the right, and its dimension is not in the result; of two
---vectors it is their dot product, a number.
---@param a roc.AnyArray
---@param b roc.AnyArray
---@param opts? {dtype?: roc.DTypeLike} of the result
---@return roc.AnyArray | number
function M.matmul(a, b, opts)
  if not support.side_of(a) then options.check_array(a, "matmul") end
  local given = options.read("matmul", opts, { dtype = '"float64"' })
  if not support.side_of(b) then
    support.fail("bad argument #1 to 'matmul' (roc.Array or roc.DeviceArray expected, got %s%s)",
      support.type_name(b), support.table_advice(b))
  end
  local accumulated, dtype = result_dtype("matmul", { a.dtype, b.dtype }, given.dtype)
  stacks.check_factors("matmul", a, b)
  if a.ndim == 1 and b.ndim == 1 and given.dtype == nil then return reductions.dot(a, b) end
  return stacks.product("matmul", a, b, function(left, right, lead, is_device)
    return matrices("matmul", left, right, lead, accumulated, dtype, is_device)
  end)
end

-- einsum ------------------------------------------------------------------------------------------

-- The labels of each operand and of the result: lists of letters.
local function parse(text, count)
  if type(text) ~= "string" then
    support.fail("bad argument #1 to 'einsum' (labels expected, as \"ij,jk->ik\", got %s)",
      options.shown(text))
  end
  local left, right = string.match(text, "^([%a, ]*)%->([%a ]*)$")
  if not left then left = string.match(text, "^[%a, ]+$") end
  if not left then
    support.fail("bad argument #1 to 'einsum' (a letter for each dimension, commas and one -> "
      .. "expected, as \"ij,jk->ik\", got \"%s\")", text)
  end
  local function labels_of(part)
    local list = {}
    for letter in string.gmatch(part, "%a") do list[#list + 1] = letter end
    return list
  end
  local terms, seen, order = {}, {}, {}
  for part in string.gmatch(left .. ",", "([^,]*),") do
    terms[#terms + 1] = labels_of(part)
    for _, label in ipairs(terms[#terms]) do
      if not seen[label] then order[#order + 1] = label end
      seen[label] = (seen[label] or 0) + 1
    end
  end
  if #terms ~= count then
    support.fail("bad argument #1 to 'einsum' (\"%s\" has labels for %d arrays, and %d are given)",
      text, #terms, count)
  end
  local result = right and labels_of(right)
  if not result then -- the labels that occur once, in alphabetical order
    result = {}
    table.sort(order)
    for _, label in ipairs(order) do
      if seen[label] == 1 then result[#result + 1] = label end
    end
  end
  local used = {}
  for _, label in ipairs(result) do
    if not seen[label] or used[label] then
      support.fail("bad argument #1 to 'einsum' (the result's label '%s' %s)", label,
        used[label] and "occurs twice" or "is that of no array")
    end
    used[label] = true
  end
  return terms, result
end

-- One extent for each label.
local function check_extents(arrays, terms)
  local extents = {}
  for i, labels in ipairs(terms) do
    local shape = arrays[i].shape
    if #shape ~= #labels then
      support.fail("bad argument #%d to 'einsum' (an array of %d dimensions expected for '%s', got "
        .. "shape %s)", i + 1, #labels, table.concat(labels), support.shape_text(shape))
    end
    for k, label in ipairs(labels) do
      if extents[label] and extents[label] ~= shape[k] then
        support.fail("bad argument #%d to 'einsum' (extent %d of '%s' expected, got shape %s)",
          i + 1, extents[label], label, support.shape_text(shape))
      end
      extents[label] = shape[k]
    end
  end
  return extents
end

local function place_in(list, label)
  for k, other in ipairs(list) do
    if other == label then return k end
  end
end

-- The term with its dimensions in the order of the labels.
local function ordered(term, labels)
  local axes, is_same = {}, true
  for k, label in ipairs(labels) do
    axes[k] = place_in(term.labels, label)
    is_same = is_same and axes[k] == k
  end
  return is_same and term.array or term.array:transpose(axes)
end

-- A term in which no label occurs twice: the diagonals of the dimensions of one that does, a view.
local function without_repeats(term)
  local labels = term.labels
  for k, label in ipairs(labels) do
    local first = place_in(labels, label)
    if first < k then
      local rest, axes, n = {}, {}, term.array.shape[k]
      local shape = {}
      for d, other in ipairs(labels) do
        if d ~= k and d ~= first then
          rest[#rest + 1], axes[#axes + 1] = other, d
          shape[#shape + 1] = term.array.shape[d]
        end
      end
      axes[#labels - 1], axes[#labels] = first, k
      shape[#shape + 1], rest[#rest + 1] = n * n, label
      local flat = reshaped(term.array:transpose(axes), shape)
      local diagonal = n == 0 and flat or flat:slice(#shape, 1, n * n, n + 1)
      return without_repeats { array = diagonal, labels = rest }
    end
  end
  return term
end

-- Sums over the labels that are not needed further.
local function summed(term, is_needed, accumulated)
  for k = #term.labels, 1, -1 do
    if not is_needed[term.labels[k]] then
      local labels, array = table.move(term.labels, 1, #term.labels, 1, {}), term.array
      table.remove(labels, k)
      if dtypes.accumulator(array.dtype) ~= accumulated then
        array = elementwise.astype(array, accumulated)
      end
      local sums = reductions.sum(array, { axis = k, keep = #labels == 0 })
      term = { array = sums, labels = labels, is_new = true }
    end
  end
  return term
end

-- The labels in three parts, for a product of matrices: in both and needed, in both, in this only.
local function split(term, other, is_needed)
  local batch, contracted, free = {}, {}, {}
  for _, label in ipairs(term.labels) do
    local list = not place_in(other.labels, label) and free or is_needed[label] and batch
      or contracted
    list[#list + 1] = label
  end
  return batch, contracted, free
end

local function joined(...)
  local result = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #result + 1, result) end
  return result
end

local function extent_of(labels, extents)
  local product = 1
  for _, label in ipairs(labels) do product = product * extents[label] end
  return product
end

-- The product of two terms, summed over what is not needed further.
local function contract(a, b, is_needed, extents, accumulated, is_device)
  local batch, contracted, rows = split(a, b, is_needed)
  local _, _, columns = split(b, a, is_needed)
  local z, depth = extent_of(batch, extents), extent_of(contracted, extents)
  local left = reshaped(ordered(a, joined(batch, rows, contracted)),
    { z, extent_of(rows, extents), depth })
  local right = reshaped(ordered(b, joined(batch, contracted, columns)),
    { z, depth, extent_of(columns, extents) })
  local result = matrices("einsum", left, right, { z }, accumulated, accumulated, is_device)
  local labels, shape = joined(batch, rows, columns), {}
  for k, label in ipairs(labels) do shape[k] = extents[label] end
  return { array = result:reshape(#shape > 0 and shape or 1), labels = labels, is_new = true }
end

-- The labels that the result, or a term from `first` on, has.
local function needed_from(terms, first, result)
  local is_needed = {}
  for _, label in ipairs(result) do is_needed[label] = true end
  for i = first, #terms do
    for _, label in ipairs(terms[i].labels) do is_needed[label] = true end
  end
  return is_needed
end

local function check_operands(...)
  local arrays, count = { ... }, select("#", ...)
  local last, opts = arrays[count], nil
  if count > 1 and type(last) == "table" and not support.side_of(last) then
    arrays[count], count, opts = nil, count - 1, last
  end
  for i = 1, count do
    if not support.side_of(arrays[i]) then
      support.fail("bad argument #%d to 'einsum' (roc.Array or roc.DeviceArray expected, got %s%s)",
        i + 1, support.type_name(arrays[i]), support.table_advice(arrays[i]))
    end
  end
  return arrays, count, options.read("einsum", opts, { dtype = '"float64"' })
end

---Sums of products over labelled dimensions: "ij,jk->ik" is the product of matrices.  Labels that
---the result does not have are summed over; without -> it has those that occur once, sorted.
---@param text string
---@param ... roc.AnyArray and at last maybe options, {dtype =}
---@return roc.AnyArray | number
function M.einsum(text, ...)
  local arrays, count, given = check_operands(...)
  local label_lists, result = parse(text, count)
  local extents, kinds = check_extents(arrays, label_lists), {}
  for i, array in ipairs(arrays) do kinds[i] = array.dtype end
  local accumulated, dtype = result_dtype("einsum", kinds, given.dtype)
  local device, is_device = places.choose("einsum", arrays, count)
  local scope <close> = support.scope(device)
  local terms = {}
  for i, array in ipairs(arrays) do
    terms[i] = without_repeats { array = places.bring(array, is_device), labels = label_lists[i] }
  end
  local total
  for i = 1, count do
    local others = needed_from(terms, i + 1, result)
    if total then
      for _, label in ipairs(total.labels) do others[label] = true end
    end
    local term = summed(terms[i], others, accumulated)
    total = total and contract(total, term, needed_from(terms, i + 1, result), extents, accumulated,
      is_device) or term
  end
  local array = ordered(total, result)
  if array.dtype ~= dtype or not total.is_new or not array:is_c_contiguous() then
    local copy = support.new_array(is_device, array.shape, dtype)
    if copy.size > 0 then elementwise.store(copy, array) end
    array = copy
  end
  return #result == 0 and array[1] or array
end

return M
