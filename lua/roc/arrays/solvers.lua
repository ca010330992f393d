-- Linear algebra on a GPU by the library of its vendor: what core.linalg computes on the host, with
-- the same arguments and results (roc/arrays/linalg.lua).
--
-- The library knows matrices in Fortran order, LAPACK's.  A stack in C order is there the stack of
-- the transposes, so the functions below solve and factor those where that comes to the same, and
-- copy where it does not.
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local products = require "roc.arrays.products"
local support = require "roc.builders.support"

support.library()

local M = {}

local linalg, int32 = core.linalg, core.dtypes.int32

local apply, store = elementwise.apply, elementwise.store

local function new(shape, dtype) return support.new_array(true, shape, dtype) end

local function transposed(array)
  return array:transpose(1, 3, 2)
end

-- A new stack of the transposes.
local function transpose(array)
  local shape = array.shape
  local copy = new({ shape[1], shape[3], shape[2] }, array.dtype)
  store(copy, transposed(array))
  return copy
end

-- 1 … n along the rows, or along the columns.
local function row_numbers(n) return core.to_device(core.range(1, n):reshape(n, 1)) end
local function column_numbers(n) return core.to_device(core.range(1, n)) end

local function text_of(number)
  if number ~= number then return "nan" end
  return number < 0 and "-inf" or "inf"
end

-- What is wrong with the first matrix that has elements which are not finite; true: none has.
-- `is_right_side`: the matrices are transposed.
local function check_finite(matrices, is_right_side)
  local count, width = matrices.shape[1], matrices.shape[3]
  local is_bad = apply("bnot", apply("isfinite", matrices)):reshape(count, matrices.size // count)
  local places = apply("where", is_bad, 1, 0):argmax { axis = 2 }:copy_to_host()
  local found = is_bad:any { axis = 2 }:copy_to_host()
  for i = 1, count do
    if found[i] then
      local row, column = (places[i] - 1) // width + 1, (places[i] - 1) % width + 1
      local text = text_of(matrices[{ i, row, column }])
      if is_right_side then row, column = column, row end
      return false, i, is_right_side or false,
        string.format("has %s at {%d, %d}", text, row, column)
    end
  end
  return true
end

-- Queues a step; gives the first matrix of which it failed, and LAPACK's number.
local function run(step, m, n, k, option, matrices, ...)
  local operands = { ... }
  for i = 1, 3 do operands[i] = operands[i] or false end
  local size = linalg.factoring_size(step, m, n, k, option, matrices)
  local work = new({ math.max(size, 1) }, matrices.dtype)
  local info = new({ matrices.shape[1] }, int32)
  linalg.factor(step, m, n, k, option, matrices, operands[1], operands[2], operands[3], work, info)
  for i, number in ipairs(info:copy_to_host():totable()) do
    if number ~= 0 then return i, number end
  end
end

-- Factors the transposes.
local function factor_lu(a)
  local count, n = a.shape[1], a.shape[2]
  local pivots = new({ count, n }, int32)
  local at, pivot = run("getrf", n, n, 0, 0, a, pivots)
  return pivots, at, pivot
end

local SINGULAR = "is singular: pivot %d is 0, row %d depends on the rows before it"

local function solve(a, b, is_of_transposes)
  local n = a.shape[2]
  if a.size == 0 or b.size == 0 then return true end
  local is_fine, at, _, why = check_finite(a)
  if not is_fine then return false, at, false, why end
  local pivots, singular, pivot = factor_lu(a)
  if singular then return false, singular, false, string.format(SINGULAR, pivot, pivot) end
  run("getrs", n, n, b.shape[2], is_of_transposes and 1 or 0, a, pivots, b)
  return true
end

---a · x = b; b's matrices are transposed, and become x's.
function M.solve(a, b)
  local is_fine, at, _, why = check_finite(b, true)
  if not is_fine then return false, at, true, why end
  return solve(a, b, true)
end

function M.inverse(a)
  local n = a.shape[2]
  local identity = new(a.shape, a.dtype)
  store(identity, apply("where", apply("eq", row_numbers(n), column_numbers(n)), 1, 0))
  local is_fine, at, is_right_side, why = solve(a, identity, false)
  if is_fine then store(a, identity) end
  return is_fine, at, is_right_side, why
end

function M.det(a, out)
  local count, n = a.shape[1], a.shape[2]
  if a.size == 0 then return out:fill(1) or true end
  local is_fine, at, _, why = check_finite(a)
  if not is_fine then return false, at, false, why end
  local pivots = factor_lu(a) -- where a pivot is 0, so is the product
  local diagonal = a:reshape(count, n * n):slice(2, 1, n * n, n + 1)
  local swaps = apply("ne", pivots, column_numbers(n)):count { axis = 2 }
  local sign = apply("where", apply("eq", swaps % 2, 0), 1, -1)
  store(out, diagonal:prod { axis = 2 } * sign)
  return true
end

-- The lower triangle of each matrix, 0 above it; or the upper one.
local function triangle(array, is_lower)
  local m, n = array.shape[2], array.shape[3]
  local compare = is_lower and "ge" or "le"
  return apply("where", apply(compare, row_numbers(m), column_numbers(n)), array, 0)
end

local NOT_POSITIVE = "is not positive definite: the leading %d x %d has no positive pivot %d"

function M.cholesky(a)
  local n = a.shape[2]
  if a.size == 0 then return true end
  local lower = triangle(a, true):eval()
  local is_fine, bad, _, why = check_finite(lower)
  if not is_fine then return false, bad, false, why end
  local at, pivot = run("potrf", n, n, 0, 0, a)
  if at then return false, at, false, string.format(NOT_POSITIVE, pivot, pivot, pivot) end
  store(a, triangle(a, true):eval())
  return true
end

function M.qr(a, is_full, q, r)
  local count, m, n = a.shape[1], a.shape[2], a.shape[3]
  local least = math.min(m, n)
  local k = is_full and m or least
  if a.size == 0 then
    if q.size > 0 then
      store(q, apply("where", apply("eq", row_numbers(m), column_numbers(k)), 1, 0))
    end
    return true
  end
  local is_fine, at, _, why = check_finite(a)
  if not is_fine then return false, at, false, why end
  local factors, tau = transpose(a), new({ count, least }, a.dtype)
  run("geqrf", m, n, 0, 0, factors, tau)
  r:fill(0)
  local top = factors:slice(3, 1, least)
  store(r:slice(2, 1, least), triangle(transposed(top), false):eval())
  local columns = new({ count, k, m }, a.dtype)
  columns:fill(0)
  store(columns:slice(2, 1, least), factors:slice(2, 1, least))
  run("orgqr", m, k, least, 0, columns, tau)
  store(q, transposed(columns))
  return true
end

local NOT_CONVERGED = "has %s that the library's iteration does not find"

-- Singular values, and u and v in the order of `a`, of which the rows are at most the columns.
local function svd_wide(a, job, s, u, v)
  local m, n = a.shape[2], a.shape[3]
  local at = run("gesvd", n, m, 0, string.byte(job), a, s, v, u)
  if at then return false, at, false, string.format(NOT_CONVERGED, "singular values") end
  return true
end

function M.svd(a, is_full, s, u, v)
  local count, m, n = a.shape[1], a.shape[2], a.shape[3]
  if a.size == 0 then
    for _, identity in ipairs { u, v } do
      local extent = identity.shape[2]
      if identity.size > 0 then
        store(identity, apply("where", apply("eq", row_numbers(extent),
          column_numbers(identity.shape[3])), 1, 0))
      end
    end
    return true
  end
  local is_fine, bad, _, why = check_finite(a)
  if not is_fine then return false, bad, false, why end
  local job = not u and "N" or is_full and "A" or "S"
  if m <= n then return svd_wide(a, job, s, u, v) end
  if not u then return svd_wide(transpose(a), job, s) end
  local ut, vt = new({ count, u.shape[3], m }, a.dtype), new({ count, n, n }, a.dtype)
  local done, at, is_right_side, what = svd_wide(transpose(a), job, s, vt, ut)
  if done then
    store(u, transposed(ut))
    store(v, transposed(vt))
  end
  return done, at, is_right_side, what
end

function M.eigh(a, has_vectors, w)
  local n = a.shape[2]
  if a.size == 0 then return true end
  local is_fine, bad, _, why = check_finite(triangle(a, true):eval())
  if not is_fine then return false, bad, false, why end
  local at = run("syevd", n, n, 0, has_vectors and 1 or 0, a, w)
  if at then return false, at, false, string.format(NOT_CONVERGED, "eigenvalues") end
  if has_vectors then store(a, transpose(a)) end
  return true
end

---By singular values: a and b are transposed, a = u · s · v.
function M.lstsq(a, b, rcond, s, ranks)
  local count, n, m = a.shape[1], a.shape[2], a.shape[3]
  local least = math.min(m, n)
  if a.size == 0 or b.size == 0 then
    b:fill(0)
    return ranks:fill(0) or true
  end
  local right = b:slice(3, 1, m)
  local whole = new(right.shape, right.dtype)
  store(whole, right)
  local is_fine, at, _, why = check_finite(whole, true)
  if not is_fine then return false, at, true, why end
  local u, v = new({ count, n, least }, a.dtype), new({ count, least, m }, a.dtype)
  local done, bad, _, what = M.svd(a, false, s, u, v)
  if not done then return false, bad, false, what end
  local counts = apply("gt", s, s:max { axis = 2, keep = true } * rcond)
  store(ranks, counts:count { axis = 2 })
  local inverse = apply("where", counts, 1 / s, 0):reshape(count, 1, least)
  local along = products.matmul(right, transposed(v)) * inverse
  store(b:slice(3, 1, n), products.matmul(along, transposed(u)))
  return true
end

return M
