---@meta
-- # Linear algebra
--
-- `roc.linalg` solves and factors matrices by a library, which is opened at the first call; which
-- one, and what goes where, says [arrays.md](../arrays.md#linear-algebra). The last two dimensions
-- of an array are its matrices, the ones before count them, and those of two operands broadcast.
-- float32 is computed in float32, and so are halves; float64 and integers in float64. Results are
-- in C order, on the side of the operands. A matrix with NaN or an infinity, or without a result,
-- is an error that names it.
--
-- ```lua
-- local roc = require "roc"
-- local a = roc.array { { 2, 1 }, { 1, 3 } }
-- local b = roc.array { 3, 5 }
-- ```

---@class roc
local roc = {}

roc.linalg = {}

-- ## Equations

---X with a · X = b. b of one dimension is one right side; of more, its last two dimensions are
---matrices with a right side in each column. A singular a is an error, one that is nearly so is
---none.
---
---Example: `roc.linalg.solve(a, b)` gives `[0.8 1.4]`.
---@param a roc.AnyArray {…, n, n}
---@param b roc.AnyArray {n} or {…, n, k}
---@return roc.AnyArray
function roc.linalg.solve(a, b) end

---@class roc.LstsqOpts
---@field rcond? number singular values below it times the greatest count as 0; see there

---X with the least sum of squares of a · X - b, and of those the one with the least sum of squares;
---the rank of a; its singular values. For matrices of any shape and rank. By default `rcond` is the
---greater of m and n times the distance from 1 to the next number of the dtype.
---
---Example: `roc.linalg.lstsq(roc.array { { 1 }, { 1 } }, b)` gives `[4.], 1, [1.41421356]`.
---@param a roc.AnyArray {…, m, n}
---@param b roc.AnyArray {m} or {…, m, k}
---@param opts? roc.LstsqOpts
---@return roc.AnyArray x
---@return integer | roc.AnyArray rank an array of int64 of several matrices
---@return roc.AnyArray s
function roc.linalg.lstsq(a, b, opts) end

---The inverse. `solve` is quicker and more accurate where it serves.
---
---Example: `roc.linalg.inverse(a)` gives `[[ 0.6 -0.2] [-0.2  0.4]]`.
---@param a roc.AnyArray {…, n, n}
---@return roc.AnyArray
function roc.linalg.inverse(a) end

---The determinant: a number, or an array of several matrices. That of a singular matrix is 0.
---
---Example: `roc.linalg.det(a)` gives `5.0`.
---@param a roc.AnyArray {…, n, n}
---@return number | roc.AnyArray
function roc.linalg.det(a) end

-- ## Factors

---The lower triangular L with L · Lᵀ = a, of symmetric positive definite matrices. The lower
---triangle of a is read; one that is not positive definite is an error.
---
---Example: `roc.linalg.cholesky(roc.array { { 4, 2 }, { 2, 5 } })` gives `[[2. 0.] [1. 2.]]`.
---@param a roc.AnyArray {…, n, n}
---@return roc.AnyArray
function roc.linalg.cholesky(a) end

---@class roc.QrOpts
---@field full? boolean q is m × m; default false: it has as many columns as r has rows, min(m, n)

---q · r = a, the columns of q orthonormal, r upper triangular.
---
---Example: `local q, r = roc.linalg.qr(a) return roc.allclose(q:matmul(r), a)` gives `true`.
---@param a roc.AnyArray {…, m, n}
---@param opts? roc.QrOpts
---@return roc.AnyArray q
---@return roc.AnyArray r
function roc.linalg.qr(a, opts) end

---@class roc.SvdOpts
---@field full? boolean u is m × m and v n × n; default false: they have min(m, n) columns and rows
---@field vectors? boolean default true; false: s alone is computed and returned

---Singular values: u · diag(s) · v = a, the columns of u and the rows of v orthonormal, s in
---descending order.
---
---Example: `roc.linalg.svd(a, { vectors = false })` gives `[3.61803399 1.38196601]`.
---@param a roc.AnyArray {…, m, n}
---@param opts? roc.SvdOpts
---@return roc.AnyArray u
---@return roc.AnyArray s
---@return roc.AnyArray v
function roc.linalg.svd(a, opts) end

---@class roc.EighOpts
---@field vectors? boolean default true; false: w alone is computed and returned

---Eigenvalues, in ascending order, and eigenvectors, the columns of v, of symmetric matrices. The
---lower triangle of a is read.
---
---Example: `roc.linalg.eigh(a, { vectors = false })` gives `[1.38196601 3.61803399]`.
---@param a roc.AnyArray {…, n, n}
---@param opts? roc.EighOpts
---@return roc.AnyArray w
---@return roc.AnyArray v
function roc.linalg.eigh(a, opts) end

-- ## Products

---The product of matrices and vectors as `a:matmul(b)`, for floats by the library: quicker for
---large matrices, and in an order of sums of its own, so that last bits differ between libraries.
---On NVIDIA GPUs that is cuBLAS, where it is found; halves are multiplied there as they are, and
---added in float32. Integers, and devices without a library, have the kernels of `a:matmul`.
---
---Example: `roc.linalg.matmul(a, b)` gives `[11. 18.]`.
---@param a roc.AnyArray
---@param b roc.AnyArray
---@return roc.AnyArray | number
function roc.linalg.matmul(a, b) end

-- ## The library

---The name and version of the library that serves arrays of the device, of the host without one,
---and of OpenBLAS the processor that it computes for; or nil, and what is missing. On a GPU
---products and the other functions have a library each.
---
---Example: `roc.linalg.library() ~= nil` gives `true`.
---@param device? roc.Device | string | integer
---@param name? string of the function that it serves; default "matmul"
---@return string? name
---@return string? missing
function roc.linalg.library(device, name) end
