-- roc.linalg: linear algebra by libraries, which core.linalg opens and calls.
--
-- Operands are copied, converted and broadcast into stacks of matrices in C order, which the
-- library overwrites: that of the host, and of devices whose memory the host can touch, or the
-- libraries of a GPU's vendor (roc/arrays/solvers.lua, but for products).
local core = require "roc.core"
local dtypes = require "roc.arrays.dtypes"
local elementwise = require "roc.arrays.elementwise"
local loops = require "roc.builders.loops"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local products = require "roc.arrays.products"
local stacks = require "roc.arrays.stacks"
local support = require "roc.builders.support"
local views = require "roc.arrays.views"

support.library()

local M = {}

local linalg, float32, float64 = core.linalg, core.dtypes.float32, core.dtypes.float64

-- operands ----------------------------------------------------------------------------------------

local function check_array(value, i, name)
  if not support.side_of(value) then
    support.fail("bad argument #%d to '%s' (roc.Array or roc.DeviceArray expected, got %s%s)", i,
      name, support.type_name(value), support.table_advice(value))
  end
  return value
end

local function check_matrices(value, name, is_square)
  check_array(value, 1, name)
  local shape = value.shape
  if #shape < 2 or is_square and shape[#shape] ~= shape[#shape - 1] then
    support.fail("bad argument #1 to '%s' (shape {…, %s} expected, got %s)", name,
      is_square and "n, n" or "m, n", support.shape_text(shape))
  end
  return shape[#shape - 1], shape[#shape]
end

-- What the library computes in: float64 for integers, float32 for halves.
local function dtype_of(name, a, b)
  local joined = dtypes.join_all { a.dtype, b and b.dtype }
  if not joined or joined.kind == "b" then
    support.fail("'%s' takes numbers, got bool; write roc.where(a, 1, 0)", name)
  end
  return (dtypes.is_integer(joined) or joined == float64) and float64 or float32
end

local function check_flag(name, given, key, default)
  local value = given[key]
  if value == nil then return default end
  if type(value) ~= "boolean" then
    support.fail("bad option '%s' of '%s' (boolean expected, got %s)", key, name,
      options.shown(value))
  end
  return value
end

-- a call ------------------------------------------------------------------------------------------

-- Where and in what a function computes; its device is current until it is closed.
local function begin(name, a, b)
  local dtype = dtype_of(name, a, b)
  local device, is_device = places.choose(name, { a, b }, b and 2 or 1)
  local is_gpu = is_device and not linalg.reaches(device)
  local library, why = linalg.find(is_gpu and device or nil, string.match(name, "%l+$"))
  if not library then support.fail("'%s': %s", name, why) end
  local scope = support.scope(device)
  return setmetatable({
    name = name, dtype = dtype, is_device = is_device, lead = stacks.lead(a),
    functions = is_gpu and require "roc.arrays.solvers" or linalg,
    fill = is_gpu and elementwise.store or core.fill_from,
  }, { __close = function() if scope then scope:close() end end })
end

local function new(call, shape, dtype)
  return support.new_array(call.is_device, shape, dtype or call.dtype)
end

local function swapped(array)
  local axes = {}
  for k = 1, array.ndim do axes[k] = k end
  axes[#axes - 1], axes[#axes] = axes[#axes], axes[#axes - 1]
  return array:transpose(axes)
end

local function flat(call, array, ...)
  return array:reshape(stacks.count(call.lead), ...)
end

-- The array's matrices, rows × columns, as a stack of the call; `transposed`: in Fortran's order.
local function stack(call, array, rows, columns, transposed)
  local shape = transposed and stacks.shape(call.lead, columns, rows)
    or stacks.shape(call.lead, rows, columns)
  local copy = new(call, shape)
  call.fill(transposed and swapped(copy) or copy, places.bring(array, call.is_device))
  return flat(call, copy, shape[#shape - 1], shape[#shape])
end

-- Calls the library, or says which matrix has no result.
local function compute(call, name, ...)
  local is_fine, number, is_right_side, why = call.functions[name](...)
  if is_fine then return end
  local index, rest = {}, number - 1
  for k = #call.lead, 1, -1 do
    index[k] = rest % call.lead[k] + 1
    rest = rest // call.lead[k]
  end
  support.fail("bad argument #%d to '%s' (the %s%s %s)", is_right_side and 2 or 1, call.name,
    is_right_side and "right side" or "matrix",
    #index > 0 and " at {" .. table.concat(index, ", ") .. "}" or "", why)
end

-- The stack with the call's leading dimensions again; one number where nothing is left.
local function result(call, array, ...)
  local shape = stacks.shape(call.lead, ...)
  if #shape == 0 then return array[1] end
  return array:reshape(shape)
end

-- The operands of an equation: the call, and the right side as matrices, with their columns.
local function equation(name, a, b, rows)
  check_array(b, 2, name)
  local is_vector = b.ndim == 1
  local right = is_vector and views.reshaped(b, { #b, 1 }) or b
  local lead = loops.broadcast({ stacks.lead(a), stacks.lead(right) }, 2)
  if right.shape[right.ndim - 1] ~= rows or not lead then
    support.fail("bad argument #2 to '%s' (shape {%d} or {…, %d, k} expected, whose leading "
      .. "dimensions broadcast with those of %s, got %s)", name, rows, rows,
      support.shape_text(a.shape), support.shape_text(b.shape))
  end
  local call = begin(name, a, right)
  call.lead = lead
  return call, right, right.shape[right.ndim], is_vector
end

-- The result of an equation, which is transposed: its first n rows.
local function solution(call, x, n, k, is_vector)
  local matrices = swapped(x:slice(3, 1, n))
  local copy = new(call, { stacks.count(call.lead), n, k })
  call.fill(copy, matrices)
  if is_vector then return result(call, copy, n) end
  return result(call, copy, n, k)
end

-- functions ---------------------------------------------------------------------------------------

---X with a · X = b.
---@param a roc.AnyArray
---@param b roc.AnyArray
---@return roc.AnyArray
function M.solve(a, b)
  local name = "roc.linalg.solve"
  local n = check_matrices(a, name, true)
  local call <close>, right, k, is_vector = equation(name, a, b, n)
  local x = stack(call, right, n, k, true)
  compute(call, "solve", stack(call, a, n, n), x)
  return solution(call, x, n, k, is_vector)
end

---@param a roc.AnyArray
---@return roc.AnyArray
function M.inverse(a)
  local name = "roc.linalg.inverse"
  local n = check_matrices(a, name, true)
  local call <close> = begin(name, a)
  local matrices = stack(call, a, n, n)
  compute(call, "inverse", matrices)
  return result(call, matrices, n, n)
end

---@param a roc.AnyArray
---@return roc.AnyArray | number
function M.det(a)
  local name = "roc.linalg.det"
  local n = check_matrices(a, name, true)
  local call <close> = begin(name, a)
  local numbers = new(call, stacks.count(call.lead))
  compute(call, "det", stack(call, a, n, n), numbers)
  return result(call, numbers)
end

---L with a = L · Lᵀ; of a the lower triangle is read.
---@param a roc.AnyArray
---@return roc.AnyArray
function M.cholesky(a)
  local name = "roc.linalg.cholesky"
  local n = check_matrices(a, name, true)
  local call <close> = begin(name, a)
  local matrices = stack(call, a, n, n)
  compute(call, "cholesky", matrices)
  return result(call, matrices, n, n)
end

---@param a roc.AnyArray
---@param opts? {full?: boolean}
---@return roc.AnyArray q
---@return roc.AnyArray r
function M.qr(a, opts)
  local name = "roc.linalg.qr"
  local m, n = check_matrices(a, name)
  local is_full = check_flag(name, options.read(name, opts, { full = "true" }), "full", false)
  local call <close> = begin(name, a)
  local count, k = stacks.count(call.lead), is_full and m or math.min(m, n)
  local q, r = new(call, { count, m, k }), new(call, { count, k, n })
  compute(call, "qr", stack(call, a, m, n), is_full, q, r)
  return result(call, q, m, k), result(call, r, k, n)
end

---a = U · diag(s) · V.
---@param a roc.AnyArray
---@param opts? {full?: boolean, vectors?: boolean}
---@return roc.AnyArray u, or s alone without vectors
---@return roc.AnyArray s
---@return roc.AnyArray v
function M.svd(a, opts)
  local name = "roc.linalg.svd"
  local m, n = check_matrices(a, name)
  local given = options.read(name, opts, { full = "true", vectors = "true" })
  local is_full, has_vectors = check_flag(name, given, "full", false),
    check_flag(name, given, "vectors", true)
  local call <close> = begin(name, a)
  local count, k = stacks.count(call.lead), math.min(m, n)
  local s, matrices = new(call, { count, k }), stack(call, a, m, n)
  if not has_vectors then
    compute(call, "svd", matrices, false, s)
    return result(call, s, k)
  end
  local columns, rows = is_full and m or k, is_full and n or k
  local u, v = new(call, { count, m, columns }), new(call, { count, rows, n })
  compute(call, "svd", matrices, is_full, s, u, v)
  return result(call, u, m, columns), result(call, s, k), result(call, v, rows, n)
end

---Eigenvalues, ascending, and eigenvectors of symmetric matrices; the lower triangle is read.
---@param a roc.AnyArray
---@param opts? {vectors?: boolean}
---@return roc.AnyArray w
---@return roc.AnyArray? v
function M.eigh(a, opts)
  local name = "roc.linalg.eigh"
  local n = check_matrices(a, name, true)
  local given = options.read(name, opts, { vectors = "true" })
  local has_vectors = check_flag(name, given, "vectors", true)
  local call <close> = begin(name, a)
  local w, v = new(call, { stacks.count(call.lead), n }), stack(call, a, n, n)
  compute(call, "eigh", v, has_vectors, w)
  w = result(call, w, n)
  if has_vectors then return w, result(call, v, n, n) end
  return w
end

local EPSILON = { [float32] = 0x1p-23, [float64] = 0x1p-52 }

local function check_rcond(name, given, default)
  local rcond = given.rcond
  if rcond == nil then return default end
  if type(rcond) ~= "number" or not (rcond >= 0 and rcond < 1) then
    support.fail("bad option 'rcond' of '%s' (a number from 0 to below 1 expected, got %s)", name,
      options.shown(rcond))
  end
  return rcond
end

---X with the least |a · X - b|, and of those the least |X|.
---@param a roc.AnyArray
---@param b roc.AnyArray
---@param opts? {rcond?: number}
---@return roc.AnyArray x
---@return roc.AnyArray | integer rank
---@return roc.AnyArray s
function M.lstsq(a, b, opts)
  local name = "roc.linalg.lstsq"
  local m, n = check_matrices(a, name)
  local given = options.read(name, opts, { rcond = "1e-6" })
  local call <close>, right, k, is_vector = equation(name, a, b, m)
  local longer, count = math.max(m, n), stacks.count(call.lead)
  local rcond = check_rcond(name, given, EPSILON[call.dtype] * longer)
  local x = new(call, stacks.shape(call.lead, k, longer))
  call.fill(swapped(x:slice(x.ndim, 1, m)), places.bring(right, call.is_device))
  x = flat(call, x, k, longer)
  local s, ranks = new(call, { count, math.min(m, n) }), new(call, count, core.dtypes.int64)
  compute(call, "lstsq", stack(call, a, m, n, true), x, rcond, s, ranks)
  return solution(call, x, n, k, is_vector), result(call, ranks), result(call, s, math.min(m, n))
end

-- Whether the library takes the matrices as they lie: rows or columns are contiguous.
local function is_packed(matrices)
  local shape, strides = matrices.shape, matrices.strides
  return strides[3] == 1 and (shape[2] == 1 or strides[2] >= shape[3])
    or strides[2] == 1 and (shape[3] == 1 or strides[3] >= shape[2])
end

-- What a GPU's library multiplies as it is, into float32.
local IS_HALF = { [core.dtypes.float16] = true, [core.dtypes.bfloat16] = true }

local function factor(call, array, lead)
  local matrices = stacks.of(array, lead, call.is_device)
  if matrices.dtype == call.factors and is_packed(matrices) then return matrices end
  local copy, fill = new(call, matrices.shape, call.factors),
    call.is_gpu and elementwise.store or core.fill_from
  fill(copy, matrices)
  return copy
end

-- The product of two stacks by a library; nil where it has none.
local function multiply(call, left, right, lead)
  local m, n, k = left.shape[left.ndim - 1], right.shape[right.ndim], left.shape[left.ndim]
  local product = new(call, { stacks.count(lead), m, n })
  if product.size == 0 or k == 0 then return product:fill(0) or product end
  return linalg.multiply(product, factor(call, left, lead), factor(call, right, lead)) and product
end

---The matrix product by a library; as a:matmul(b) for integers and where there is none, or none
---for such extents.
---@param a roc.AnyArray
---@param b roc.AnyArray
---@return roc.AnyArray | number
function M.matmul(a, b)
  local name = "roc.linalg.matmul"
  check_array(a, 1, name)
  check_array(b, 2, name)
  local joined = dtypes.join(a.dtype, b.dtype)
  local device, is_on_device = places.choose(name, { a, b }, 2)
  local library, why, is_mistake = linalg.find(is_on_device and device or nil)
  if is_mistake then support.fail("'%s': %s", name, why) end
  if not library or not joined or joined.kind ~= "f" then return products.matmul(a, b) end
  stacks.check_factors(name, a, b)
  local dtype, is_gpu = dtype_of(name, a, b), is_on_device and not linalg.reaches(device)
  local factors = is_gpu and IS_HALF[joined] and joined or dtype
  return stacks.product(name, a, b, function(left, right, lead, is_device)
    local call = { dtype = dtype, factors = factors, is_gpu = is_gpu, is_device = is_device }
    return multiply(call, left, right, lead)
      or products.product_of_stacks(left, right, lead, is_device)
  end)
end

return M
