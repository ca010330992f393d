---@meta
-- # Expressions of arrays
--
-- Operators, functions of elements, reductions, products, sorting. They take host arrays, device
-- arrays and, beside an array, numbers, and broadcast: shapes are aligned at their last dimensions,
-- and an extent of 1 goes with any. Host arrays alone give host arrays; with a device array among
-- the operands the result is a device array, for which nothing waits. An error of shape, dtype or
-- device is raised by the call and changes nothing. [arrays.md](../arrays.md) has the rules: dtypes
-- of results, the order of sums, when operations on host arrays are computed, selections.
--
-- ```lua
-- local roc = require "roc"
-- local a = roc.array { 3, 1, 2 }
-- local b = roc.array { 1.0, 1.0, 4.0 }
-- local m = roc.array { { 1, 2, 3 }, { 4, 5, 6 } }
-- ```

---@class roc
local roc = {}

---What an operator or a function of elements takes.
---@alias roc.Operand roc.AnyArray | number | boolean

---@class roc.Array
---@operator add(roc.Operand): roc.AnyArray
---@operator sub(roc.Operand): roc.AnyArray
---@operator mul(roc.Operand): roc.AnyArray
---@operator div(roc.Operand): roc.AnyArray
---@operator idiv(roc.Operand): roc.AnyArray
---@operator mod(roc.Operand): roc.AnyArray
---@operator pow(roc.Operand): roc.AnyArray
---@operator unm: roc.AnyArray
---@operator band(roc.Operand): roc.AnyArray
---@operator bor(roc.Operand): roc.AnyArray
---@operator bxor(roc.Operand): roc.AnyArray
---@operator shl(roc.Operand): roc.AnyArray
---@operator shr(roc.Operand): roc.AnyArray
---@operator bnot: roc.AnyArray
local Array = {}

-- ## Comparisons
--
-- Comparisons are exact between integers and floats. `a == b` compares identity, and `a < b` is an
-- error: Lua makes one boolean of both.

---Whether each element is less than the operand's, an array of bool.
---
---Example: `a:lt(2)` gives `[false  true false]`.
---@param other roc.Operand
---@return roc.AnyArray
function Array:lt(other) end

---Whether each element is at most the operand's, an array of bool.
---
---Example: `a:le(2)` gives `[false  true  true]`.
---@param other roc.Operand
---@return roc.AnyArray
function Array:le(other) end

---Whether each element is greater than the operand's, an array of bool.
---
---Example: `a:gt(b)` gives `[ true false false]`.
---@param other roc.Operand
---@return roc.AnyArray
function Array:gt(other) end

---Whether each element is at least the operand's, an array of bool.
---
---Example: `a:ge(b)` gives `[ true  true false]`.
---@param other roc.Operand
---@return roc.AnyArray
function Array:ge(other) end

---Whether each element equals the operand's, an array of bool. Arrays of bool compare with bool
---alone.
---
---Example: `a:eq(b)` gives `[false  true false]`.
---@param other roc.Operand
---@return roc.AnyArray
function Array:eq(other) end

---Whether each element differs from the operand's, an array of bool. Arrays of bool compare with
---bool alone.
---
---Example: `a:ne(b)` gives `[ true false  true]`.
---@param other roc.Operand
---@return roc.AnyArray
function Array:ne(other) end

-- ## Choosing elements

---a's element where the condition is true, else b's. The dtypes of a and b join as for `+`.
---
---Example: `roc.where(a:gt(1), a, 0)` gives `[3. 0. 2.]`.
---@param condition roc.AnyArray | boolean of bool
---@param a roc.Operand
---@param b roc.Operand
---@return roc.AnyArray
function roc.where(condition, a, b) end

---The greater of two, element by element. NaN wins, and of equal ones the first.
---
---Example: `roc.maximum(a, b)` gives `[3. 1. 4.]`.
---@param a roc.Operand
---@param b roc.Operand
---@return roc.AnyArray
function roc.maximum(a, b) end

---The lesser of two, element by element. NaN wins, and of equal ones the first.
---
---Example: `roc.minimum(a, 2)` gives `[2. 1. 2.]`.
---@param a roc.Operand
---@param b roc.Operand
---@return roc.AnyArray
function roc.minimum(a, b) end

---Each element, but at least `low` and at most `high`: `minimum(maximum(a, low), high)`.
---
---Example: `roc.clip(m, 2, 5)` gives `[[2. 2. 3.] [4. 5. 5.]]`.
---@param a roc.AnyArray
---@param low? roc.Operand nil: no bound
---@param high? roc.Operand nil: no bound
---@return roc.AnyArray
function roc.clip(a, low, high) end

-- ## Reductions
--
-- Without `axis` a reduction gives a number, for which the call waits; with it, an array without
-- that dimension. Elements are combined in one tree that depends on the shape alone, so that a
-- result is the same on every device. On GPUs several that are [wanted
-- together](../arrays.md#when-an-operation-is-computed) are one pass.

---@class roc.ReductionOpts
---@field axis? integer the dimension to reduce; default: all elements, which gives a number
---@field keep? boolean the dimension stays, with extent 1; default false

---@class roc.VarianceOpts: roc.ReductionOpts
---@field ddof? integer the sum of squares is divided by n - ddof; default 0

---The sum of all elements, or of each line along `axis`. Integers give int64 (uint64 stays), halves
---float32, other floats their own dtype. Of no elements it is 0.
---
---Example: `a:sum(), m:sum { axis = 1 }` gives `6.0, [5. 7. 9.]`.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:sum(opts) end

---The product of all elements, or of each line along `axis`, in the dtype of `sum`. Of no elements
---it is 1.
---
---Example: `a:prod()` gives `6.0`.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:prod(opts) end

---The least element, in the array's dtype; NaN where there is one. Of no elements it is an error.
---
---Example: `m:min { axis = 2 }` gives `[1. 4.]`.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:min(opts) end

---The greatest element, in the array's dtype; NaN where there is one. Of no elements it is an
---error.
---
---Example: `m:max { axis = 2, keep = true }` gives `[[3.] [6.]]`.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:max(opts) end

---The mean. Integers give float64, halves float32. Of no elements it is NaN.
---
---Example: `m:mean { axis = 1 }` gives `[2.5 3.5 4.5]`.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:mean(opts) end

---The variance: the sum of the squared distances from the mean, divided by n - ddof. Integers give
---float64, halves float32.
---
---Example: `a:var(), a:var { ddof = 1 }` gives `0.66666666666667, 1.0`.
---@param opts? roc.VarianceOpts
---@return number | roc.AnyArray
function Array:var(opts) end

---The standard deviation: the square root of the variance.
---
---Example: `m:std { axis = 2 }` gives `[0.81649658 0.81649658]`.
---@param opts? roc.VarianceOpts
---@return number | roc.AnyArray
function Array:std(opts) end

---The Euclidean norm: the square root of the sum of squares. Integers give float64, halves float32.
---
---Example: `roc.array({ 3, 4 }):norm()` gives `5.0`.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:norm(opts) end

---Whether an element of an array of bool is true. Of no elements it is false.
---
---Example: `a:gt(2):any()` gives `true`.
---@param opts? roc.ReductionOpts
---@return boolean | roc.AnyArray
function Array:any(opts) end

---Whether all elements of an array of bool are true. Of no elements it is true.
---
---Example: `a:gt(2):all()` gives `false`.
---@param opts? roc.ReductionOpts
---@return boolean | roc.AnyArray
function Array:all(opts) end

---How many elements of an array of bool are true.
---
---Example: `a:gt(1):count()` gives `2`.
---@param opts? roc.ReductionOpts
---@return integer | roc.AnyArray
function Array:count(opts) end

---The place of the least element, from 1, along the axis or in C order; of equal ones the first,
---and that of a NaN where there is one. Of no elements it is an error.
---
---Example: `a:argmin()` gives `2`.
---@param opts? roc.ReductionOpts
---@return integer | roc.AnyArray
function Array:argmin(opts) end

---The place of the greatest element, from 1, along the axis or in C order; of equal ones the first,
---and that of a NaN where there is one. Of no elements it is an error.
---
---Example: `m:argmax { axis = 2 }` gives `[3 3]`.
---@param opts? roc.ReductionOpts
---@return integer | roc.AnyArray
function Array:argmax(opts) end

-- ## Products
--
-- The products of an element are added in the order of their index, each with one rounding, on
-- every device.

---@class roc.ProductOpts
---@field dtype? roc.DTypeLike of the result

---The sum of the products of two 1-D arrays of one length, a number; waits for it.
---
---Example: `a:dot(b)` gives `12.0`.
---@param other roc.AnyArray
---@return number
function Array:dot(other) end

---The product of the matrices in the last two dimensions; the dimensions before broadcast. A vector
---is a row on the left and a column on the right, and its dimension is not in the result; two
---vectors give their dot product, a number. Integers give int64 (uint64 gives uint64), halves
---float32.
---
---Example: `m:matmul(a)` gives `[11. 29.]`.
---@param other roc.AnyArray
---@param opts? roc.ProductOpts
---@return roc.AnyArray | number
function Array:matmul(other, opts) end

---Sums of products over labelled dimensions. The text has a letter for each dimension of each
---array, as in `"ij,jk->ik"`: elements whose labels agree are multiplied, and added over the labels
---that the result does not have. Without `->` the result has the labels that occur once, in
---alphabetical order. A result without labels is a number.
---
---Example: `roc.einsum("ij->ji", m)` gives `[[1. 4.] [2. 5.] [3. 6.]]`.
---@param text string
---@param ... roc.AnyArray | roc.ProductOpts the arrays, then options
---@return roc.AnyArray | number
function roc.einsum(text, ...) end

-- ## Sorting and counting
--
-- Sorting is stable, with NaN last.

---@class roc.SortOpts
---@field descending? boolean from the greatest; default false

---A sorted copy along the last dimension.
---
---Example: `a:sort(), a:sort { descending = true }` gives `[1. 2. 3.], [3. 2. 1.]`.
---@param opts? roc.SortOpts
---@return roc.AnyArray
function Array:sort(opts) end

---The places of the elements, from 1, in their sorted order along the last dimension; int64.
---
---Example: `a:argsort()` gives `[2 3 1]`.
---@param opts? roc.SortOpts
---@return roc.AnyArray
function Array:argsort(opts) end

---The k greatest elements along the last dimension, greatest first, and their places, from 1.
---
---Example: `a:topk(2)` gives `[3. 2.], [1 3]`.
---@param k integer
---@return roc.AnyArray values
---@return roc.AnyArray places
function Array:topk(k) end

---The distinct elements of all dimensions, sorted, NaN once. Waits for their number.
---
---Example: `roc.array({ 2, 1, 2 }):unique()` gives `[1. 2.]`.
---@return roc.AnyArray
function Array:unique() end

---@class roc.SearchOpts
---@field side? "left" | "right" before equal elements (the default), or after them

---Where each value belongs in the sorted 1-D array: 1 to n + 1; int64. Of one value, which the
---dtype holds, that is a number.
---
---Example: `roc.array({ 10, 20, 30 }):searchsorted(roc.array { 5, 25 })` gives `[1 3]`.
---@param values roc.AnyArray | number | boolean an array of the same dtype, or one value
---@param opts? roc.SearchOpts
---@return roc.AnyArray | integer
function Array:searchsorted(values, opts) end

---Where an array of bool is true: an array of indices for each dimension. Waits for their number.
---
---Example: `a:gt(1):nonzero()` gives `[1 3]`.
---@return roc.AnyArray ... # one for each dimension
function Array:nonzero() end

---@class roc.BincountOpts
---@field first? integer the integer that bin 1 counts; default 1
---@field bins? integer how many; default: up to the greatest element

---How often each integer occurs; int64. An element outside of the bins is an error.
---
---Example: `roc.array({ 1, 3, 3 }, "int32"):bincount()` gives `[1 0 2]`.
---@param opts? roc.BincountOpts
---@return roc.AnyArray
function Array:bincount(opts) end

---@class roc.HistogramOpts
---@field range? number[] {low, high}; default: from the least to the greatest element

---How many elements are in each of the bins, which have one width (int64), and the edges of the
---bins (float64, one more). The last bin has its upper edge, too. With a range, elements outside of
---it and NaN are not counted; without one, a NaN or an infinity is an error.
---
---Example: `roc.array({ 1, 2, 2.5, 4 }):histogram(3)` gives `[1 2 1], [1. 2. 3. 4.]`.
---@param bins integer
---@param opts? roc.HistogramOpts
---@return roc.AnyArray counts
---@return roc.AnyArray edges
function Array:histogram(bins, opts) end

-- ## Along a dimension

---@class roc.AxisOpts
---@field axis? integer the dimension; needed where an array has several and no default is named

---The running sums along a dimension, in the dtype of `sum`.
---
---Example: `a:cumsum()` gives `[3. 4. 6.]`.
---@param opts? roc.AxisOpts
---@return roc.AnyArray
function Array:cumsum(opts) end

---The running products along a dimension, in the dtype of `sum`.
---
---Example: `a:cumprod()` gives `[3. 3. 6.]`.
---@param opts? roc.AxisOpts
---@return roc.AnyArray
function Array:cumprod(opts) end

---The differences of neighbours along a dimension: one element less.
---
---Example: `a:diff()` gives `[-2.  1.]`.
---@param opts? roc.AxisOpts
---@return roc.AnyArray
function Array:diff(opts) end

---A copy with the elements moved by n places along a dimension; what leaves at one end comes in at
---the other.
---
---Example: `a:roll(1)` gives `[2. 3. 1.]`.
---@param n integer may be negative
---@param opts? roc.AxisOpts
---@return roc.AnyArray
function Array:roll(n, opts) end

---A view in reverse order along a dimension.
---
---Example: `a:flip()` gives `[2. 1. 3.]`.
---@param opts? roc.AxisOpts
---@return roc.AnyArray
function Array:flip(opts) end

-- ## Joining and repeating

---Arrays one after the other along a dimension, 1 by default; the other extents must agree. The
---dtypes join as for `+`.
---
---Example: `roc.concat { a, a }` gives `[3. 1. 2. 3. 1. 2.]`.
---@param list roc.AnyArray[]
---@param opts? roc.AxisOpts
---@return roc.AnyArray
function roc.concat(list, opts) end

---Arrays of one shape side by side along a new dimension, 1 by default. The dtypes join as for `+`.
---
---Example: `roc.stack { a, a }` gives `[[3. 1. 2.] [3. 1. 2.]]`.
---@param list roc.AnyArray[]
---@param opts? roc.AxisOpts
---@return roc.AnyArray
function roc.stack(list, opts) end

---The array repeated along its last dimensions, as often as said for each.
---
---Example: `a:tile(2)` gives `[3. 1. 2. 3. 1. 2.]`.
---@param count integer | integer[]
---@return roc.AnyArray
function Array:tile(count) end

---@class roc.PadOpts
---@field value? number | boolean of the new elements; default 0 or false

---A copy with elements added at both ends of each dimension.
---
---Example: `a:pad(1)` gives `[0. 3. 1. 2. 0.]`.
---@param width integer | integer[] how many at each end; a table has one for each dimension
---@param opts? roc.PadOpts
---@return roc.AnyArray
function Array:pad(width, opts) end
