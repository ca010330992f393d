---@meta
-- Arrays in expressions: operators, reductions, functions of elements.  Declared for language
-- servers.

---@class roc
local roc = {}

---@alias roc.Operand roc.AnyArray | number | boolean

---@class roc.ReductionOpts
---@field axis? integer the dimension to reduce; none: all elements, which gives a number
---@field keep? boolean the dimension stays, with extent 1
---@field ddof? integer of `var` and `std`: they divide by n - ddof; default 0

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

---Whether each element is less than the operand's: an array of bool.  So are `le gt ge eq ne`.
---@param other roc.Operand
---@return roc.AnyArray
function Array:lt(other) end

---Whether each element is at most the operand's.
---@param other roc.Operand
---@return roc.AnyArray
function Array:le(other) end

---Whether each element is greater than the operand's.
---@param other roc.Operand
---@return roc.AnyArray
function Array:gt(other) end

---Whether each element is at least the operand's.
---@param other roc.Operand
---@return roc.AnyArray
function Array:ge(other) end

---Whether each element equals the operand's.
---@param other roc.Operand
---@return roc.AnyArray
function Array:eq(other) end

---Whether each element differs from the operand's.
---@param other roc.Operand
---@return roc.AnyArray
function Array:ne(other) end

---The sum of all elements, for which the call waits, or of each line along `axis`, an array.  The
---tree in which elements are added is the same on every device.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:sum(opts) end

---The product of all elements, or of each line along `axis`.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:prod(opts) end

---The least element; NaN, when there is one.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:min(opts) end

---The greatest element; NaN, when there is one.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:max(opts) end

---The mean of all elements, or of each line along `axis`.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:mean(opts) end

---The variance: the mean of the squared distances from the mean, over n - ddof.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:var(opts) end

---The square root of the variance.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:std(opts) end

---The square root of the sum of squares.
---@param opts? roc.ReductionOpts
---@return number | roc.AnyArray
function Array:norm(opts) end

---Whether an element of an array of bool is true.
---@param opts? roc.ReductionOpts
---@return boolean | roc.AnyArray
function Array:any(opts) end

---Whether all elements of an array of bool are true.
---@param opts? roc.ReductionOpts
---@return boolean | roc.AnyArray
function Array:all(opts) end

---How many elements of an array of bool are true.
---@param opts? roc.ReductionOpts
---@return integer | roc.AnyArray
function Array:count(opts) end

---The place of the first least element, from 1.
---@param opts? roc.ReductionOpts
---@return integer | roc.AnyArray
function Array:argmin(opts) end

---The place of the first greatest element, from 1.
---@param opts? roc.ReductionOpts
---@return integer | roc.AnyArray
function Array:argmax(opts) end

---The sum of the products of two 1-D arrays of one length; waits for it.
---@param other roc.AnyArray
---@return number
function Array:dot(other) end

---The product of the matrices in the last two dimensions; those before broadcast.  A vector is a
---row on the left, a column on the right; of two vectors the dot product.
---@param other roc.AnyArray
---@param opts? {dtype?: roc.DTypeLike} of the result
---@return roc.AnyArray | number
function Array:matmul(other, opts) end

---Sums of products over labelled dimensions: `roc.einsum("ij,jk->ik", a, b)`.
---@param text string a letter for each dimension
---@param ... roc.AnyArray last perhaps a table of options, `dtype` of the result
---@return roc.AnyArray | number
function roc.einsum(text, ...) end

---a's element where the condition, an array of bool, is true, else b's.
---@param condition roc.AnyArray | boolean
---@param a roc.Operand
---@param b roc.Operand
---@return roc.AnyArray
function roc.where(condition, a, b) end

---The greater of two, element by element; NaN wins.
---@param a roc.Operand
---@param b roc.Operand
---@return roc.AnyArray
function roc.maximum(a, b) end

---The lesser of two, element by element; NaN wins.
---@param a roc.Operand
---@param b roc.Operand
---@return roc.AnyArray
function roc.minimum(a, b) end

---Each element, but at least `low` and at most `high`; either may be nil.
---@param a roc.AnyArray
---@param low? roc.Operand
---@param high? roc.Operand
---@return roc.AnyArray
function roc.clip(a, low, high) end

---Arrays one after the other along a dimension, which they all have.
---@param list roc.AnyArray[]
---@param opts? {axis?: integer} default 1
---@return roc.AnyArray
function roc.concat(list, opts) end

---Arrays of one shape side by side along a new dimension.
---@param list roc.AnyArray[]
---@param opts? {axis?: integer} of the new dimension in the result; default 1
---@return roc.AnyArray
function roc.stack(list, opts) end

---A sorted copy along the last dimension; stable, NaN last.
---@param opts? {descending?: boolean}
---@return roc.AnyArray
function Array:sort(opts) end

---The places, from 1, of the elements in their sorted order.
---@param opts? {descending?: boolean}
---@return roc.AnyArray
function Array:argsort(opts) end

---The k greatest elements along the last dimension, and their places.
---@param k integer
---@return roc.AnyArray values
---@return roc.AnyArray places
function Array:topk(k) end

---The distinct elements, sorted.
---@return roc.AnyArray
function Array:unique() end

---Where each value belongs in the sorted 1-D array.
---@param values roc.AnyArray of the same dtype
---@param opts? {side?: "left" | "right"}
---@return roc.AnyArray
function Array:searchsorted(values, opts) end

---Where an array of bool is true: indices, an array a dimension.
---@return roc.AnyArray ...
function Array:nonzero() end

---How often each integer occurs.
---@param opts? {first?: integer, bins?: integer}
---@return roc.AnyArray
function Array:bincount(opts) end

---How many elements are in each bin of one width, and the bins' edges.
---@param bins integer
---@param opts? {range?: number[]} default from the least to the greatest element
---@return roc.AnyArray counts
---@return roc.AnyArray edges
function Array:histogram(bins, opts) end

---The running sums along a dimension.
---@param opts? {axis?: integer}
---@return roc.AnyArray
function Array:cumsum(opts) end

---The running products along a dimension.
---@param opts? {axis?: integer}
---@return roc.AnyArray
function Array:cumprod(opts) end

---The differences of neighbours.
---@param opts? {axis?: integer}
---@return roc.AnyArray
function Array:diff(opts) end

---The array repeated along its last dimensions.
---@param count integer | integer[]
---@return roc.AnyArray
function Array:tile(count) end

---A copy with the elements moved along a dimension; what leaves at one end comes in at the other.
---@param n integer places
---@param opts? {axis?: integer}
---@return roc.AnyArray
function Array:roll(n, opts) end

---A view in reverse order.
---@param opts? {axis?: integer}
---@return roc.AnyArray
function Array:flip(opts) end

---A copy with elements added around it: zeros, or `value`.
---@param width integer | integer[] elements added at both ends
---@param opts? {value?: number | boolean}
---@return roc.AnyArray
function Array:pad(width, opts) end

---@class roc.RngOpts
---@field device? roc.Device | string | integer where the numbers are made; none: host arrays
---@field sequence? integer each is a sequence of its own; default 0
---@field position? integer where in it the generator begins; default 0

---A generator of random numbers, the same on every device: Philox4x32-10.
---@param seed? integer default one of roc.random_integers
---@param opts? roc.RngOpts
---@return roc.Rng
function roc.rng(seed, opts) end

---@class roc.Rng
---@field seed integer
---@field sequence integer
---@field position integer the block of four words that the next call begins with
---@field device roc.Device?
local Rng = {}

---Numbers of [0, 1), with as many random bits as the dtype has significant ones.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike a float dtype; default float64
---@return roc.AnyArray
function Rng:uniform(shape, dtype) end

---Numbers of the normal distribution, mean 0 and variance 1.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike a float dtype; default float64
---@return roc.AnyArray
function Rng:normal(shape, dtype) end

---Integers without bias; the dtype must hold both bounds.
---@param low integer
---@param high integer inclusive
---@param shape roc.Shape
---@param dtype? roc.DTypeLike an integer dtype; default int64
---@return roc.AnyArray
function Rng:integers(low, high, shape, dtype) end

---The integers 1 to n, or the entries of the array's first dimension, in random order.
---@param from integer | roc.AnyArray
---@return roc.AnyArray
function Rng:permutation(from) end

---Integers from 1 to n, or entries of the array's first dimension.
---@param from integer | roc.AnyArray
---@param shape roc.Shape
---@param opts? {replace?: boolean, weights?: number[] | roc.AnyArray}
---@return roc.AnyArray
function Rng:choice(from, shape, opts) end
