---@meta
-- # Functions of whole arrays
--
-- Constructors that build kernels around an ordinary Lua function, and `roc.tune`. The function
-- obeys the [kernel language](../kernel-language.md). What a constructor gives is a Lua function; a
-- table after its last argument holds the options of a call. It compiles once for each combination
-- of dtypes and layouts; a captured number counts as it is at each call. Errors name the line of
-- the call.
--
-- ```lua
-- local roc = require "roc"
-- local a = roc.array { 1.0, 2.0, 3.0 }
-- ```

---@class roc
local roc = {}

---@class roc.BuildOpts
---@field check? boolean checks indices, divisions and the like; default true
---@field contract? boolean a product and a sum may be fused; default true
---@field fastmath? boolean floating point may be rearranged and approximated; default false
---@field name? string for messages; default: the function's own
---@field number? "float64" | "float32" the precision of plain numbers; default "float64"

---@class roc.VectorizeOpts: roc.BuildOpts
---@field dtype? roc.DTypeLike | roc.DTypeLike[] of the results; that of a call goes first

---@class roc.VectorizeCallOpts
---@field dtype? roc.DTypeLike | roc.DTypeLike[] of the results
---@field out? roc.AnyArray | roc.AnyArray[] where to write the results
---@field stream? roc.Stream of the launch; without one it orders itself, as array operations do

---An element-wise function of arrays and numbers, with broadcasting. With a device array among the
---arguments the results are device arrays, and the call does not wait; host arrays give host
---arrays; numbers alone are a call of `f` itself. A function of several results gives several
---arrays. Their dtype is that of the value: bool, int64, float32 or float64, unless `dtype` names
---another. `out` may be an argument, or overlap one.
---
---Example: `roc.vectorize(function(x, y) return x * x + y end)(a, 1)` gives `[ 2.  5. 10.]`.
---@param f fun(...: number | boolean): ...
---@param opts? roc.VectorizeOpts
---@return fun(...: roc.AnyArray | number | boolean | roc.VectorizeCallOpts): roc.AnyArray ...
function roc.vectorize(f, opts) end

---A function of vectors and matrices along all outer dimensions. The arguments' last dimensions are
---matched with the signature, those before broadcast, and `f(a, b, …, out, …)` is called once for
---each outer index with views: it writes `out`. What has no core dimensions, `()`, is a value as an
---argument, and an array of one element as a result. The results have the dtype of `dtype`, else
---what the arrays have in common. A dimension that no argument has needs `out`.
---
---Example: `roc.guvectorize(function(row, out) out[1] = row[1] + row[#row] end, "(n)->()")(a)`
---gives `[4.]`.
---@param f fun(...)
---@param signature string such as "(m,n),(n,p)->(m,p)"; an integer is a fixed extent
---@param opts? roc.VectorizeOpts
---@return fun(...: roc.AnyArray | number | boolean | roc.VectorizeCallOpts): roc.AnyArray ...
function roc.guvectorize(f, signature, opts) end

---@class roc.ReduceOpts: roc.BuildOpts
---@field commutative? boolean the order of two may be exchanged, which is quicker

---@class roc.ReduceCallOpts
---@field axis? integer a result for each line along it; default: one of all elements
---@field init? number | boolean combined in front of the elements; the result of none
---@field out? roc.AnyArray where to write, of one element without `axis`
---@field stream? roc.Stream of the launches; without one they order themselves

---One value of all elements, combined in a tree that depends on their number alone, so that it is
---the same in every run and on every device. The elements are taken in C order; with `commutative`
---the tree is another one, as fixed (the default for `math.max`, `math.min` and functions that only
---return a + b, a * b, a & b, a | b or a ~ b). They are combined in the type of an element in a
---kernel: of int8 it is int64. The result is a number, for which the call waits; an array with
---`axis`; or goes to `out`, for which nothing waits when it is a device array. Of no elements it is
---`init`, and an error without one.
---
---Example: `roc.reduce(function(x, y) return x + y end)(a)` gives `6.0`.
---@param f fun(x: any, y: any): any associative: takes and gives values of one type
---@param init? number | boolean that of a call goes first
---@param opts? roc.ReduceOpts
---@return fun(array: roc.AnyArray, opts?: roc.ReduceCallOpts): number | boolean | roc.AnyArray
function roc.reduce(f, init, opts) end

---@class roc.ScanCallOpts
---@field exclusive? boolean element i combines the elements before it; needs `init`; default false
---@field init? number | boolean combined in front of the elements
---@field out? roc.AnyArray where to write; may be the array itself
---@field stream? roc.Stream of the launches; without one they order themselves

---The running combination of a 1-D array: element i of the result combines the elements 1 to i, in
---a tree that depends on their number alone. They are combined in the type of an element in a
---kernel: of int8 the result is int64. Of a device array it is a device array, and the call does
---not wait.
---
---Example: `roc.scan(math.max)(roc.array { 1, 3, 2 })` gives `[1. 3. 3.]`.
---@param f fun(x: any, y: any): any associative: takes and gives values of one type
---@param opts? roc.BuildOpts
---@return fun(array: roc.AnyArray, opts?: roc.ScanCallOpts): roc.AnyArray
function roc.scan(f, opts) end

---@class roc.TuneOpts
---@field name? string part of what the choice is kept under
---@field again? boolean runs the choices whatever an earlier run has kept; default false

---The quickest of several ways to run something. `make(choice)` gives a function or a launcher, or
---nil where it cannot; each is called with the arguments once and then three times or more, and the
---device is waited for each time, so that what they write is written again and again. The least
---time counts; on a software GPU the number of instructions does. A choice that raises an error is
---left out; when all do, the first error is raised. The choice is kept on disk by `make`'s code,
---the choices, the device, and the arguments' dtypes, shapes, strides and integers.
---
---Example: `local run = roc.tune(function(n) return function(x) return x:tile(n):max() end end,
---{ 1, 2 }, { a }) return run(a)` gives `3.0`.
---@generic T
---@param make fun(choice: T): function?
---@param choices T[] numbers, strings, booleans, dtypes, and tables of them
---@param args table the arguments; `n` counts them where some are nil
---@param opts? roc.TuneOpts
---@return function run # what `make` gave for the quickest
---@return T choice
---@return number? seconds # of its quickest run; nil where an earlier run had kept the choice
function roc.tune(make, choices, args, opts) end
