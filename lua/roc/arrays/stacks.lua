-- Stacks of matrices: arrays whose last two dimensions are matrices, and whose leading ones count
-- them and broadcast.
local elementwise = require "roc.arrays.elementwise"
local loops = require "roc.builders.loops"
local places = require "roc.arrays.places"
local support = require "roc.builders.support"
local views = require "roc.arrays.views"

support.library()

local M = {}

local reshaped = views.reshaped

---The extents of the array's leading dimensions, all but the last two.
function M.lead(array)
  return table.move(array.shape, 1, array.ndim - 2, 1, {})
end

---The extents with others after them.
function M.shape(lead, ...)
  local shape = table.move(lead, 1, #lead, 1, {})
  for _, extent in ipairs { ... } do shape[#shape + 1] = extent end
  return shape
end

---How many matrices leading extents count.
function M.count(lead)
  local product = 1
  for _, extent in ipairs(lead) do product = product * extent end
  return product
end

---An array with matrices in its last dimensions as one of three dimensions; `lead` are the extents
---that its leading ones broadcast to.
function M.of(array, lead, is_device)
  local shape = array.shape
  local own, batch = M.count(M.lead(array)), M.count(lead)
  local rows, columns = shape[#shape - 1], shape[#shape]
  if own ~= 1 and own ~= batch then
    local whole = support.new_array(is_device, M.shape(lead, rows, columns), array.dtype)
    if whole.size > 0 then elementwise.store(whole, array) end
    array, own = whole, batch
  end
  return reshaped(array, { own, rows, columns })
end

local function refuse_shapes(name, a, b)
  support.fail("'%s' takes a of shape {…, m, k} or {k}, and b of shape {…, k, n} or {k}, got "
    .. "shapes %s and %s", name, support.shape_text(a.shape), support.shape_text(b.shape))
end

---Refuses factors with different extents where they meet.
function M.check_factors(name, a, b)
  if a.shape[a.ndim] ~= b.shape[math.max(b.ndim - 1, 1)] then refuse_shapes(name, a, b) end
end

---The product of two arrays' matrices; a vector stands for a row on the left and for a column on
---the right.
---@param name string for messages
---@param a roc.AnyArray of checked extents
---@param b roc.AnyArray
---@param multiply fun(left, right, lead, is_device): roc.AnyArray the stack of products, where the
---operands are; their device is current
---@return roc.AnyArray | number
function M.product(name, a, b, multiply)
  local is_row, is_column = a.ndim == 1, b.ndim == 1
  local device, is_device = places.choose(name, { a, b }, 2)
  local scope <close> = support.scope(device)
  a, b = places.bring(a, is_device), places.bring(b, is_device)
  local left = is_row and reshaped(a, { 1, #a }) or a
  local right = is_column and reshaped(b, { #b, 1 }) or b
  local lead = loops.broadcast({ M.lead(left), M.lead(right) }, 2)
  if not lead then refuse_shapes(name, a, b) end
  local result = multiply(left, right, lead, is_device)
  local shape = lead
  if not is_row then shape[#shape + 1] = left.shape[left.ndim - 1] end
  if not is_column then shape[#shape + 1] = right.shape[right.ndim] end
  if #shape == 0 then return result:ravel()[1] end
  return result:reshape(shape)
end

return M
