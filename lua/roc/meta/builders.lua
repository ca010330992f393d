---@meta
-- What roc builds out of a Lua function: element-wise functions, reductions, scans.  Declared for
-- language servers.

---@class roc
local roc = {}

---@class roc.BuildOpts
---@field check? boolean default true
---@field contract? boolean default true: a product and a sum may be fused
---@field fastmath? boolean default false
---@field name? string for messages; default the function's own
---@field number? "float64" | "float32" the precision of plain numbers

---@class roc.TuneOpts
---@field name? string part of what the choice is kept under
---@field again? boolean runs the choices whatever an earlier run has kept

---The quickest of several ways to run something: `make(choice)` gives a function or a launcher, or
---nil where it cannot; each is called with the arguments a few times, so that what they write is
---written again and again. A choice that fails is left out. The result is kept on disk by `make`'s
---code, the choices, the device, and the arguments' dtypes, shapes and integers. On a software GPU
---the one of the fewest instructions is taken.
---@generic T
---@param make fun(choice: T): function?
---@param choices T[] numbers, strings, booleans, dtypes, and tables of them
---@param args table the arguments; `n` counts them where some are nil
---@param opts? roc.TuneOpts
---@return function run what `make` gave for the quickest
---@return T choice
---@return number? seconds of its quickest run; nil: it was kept
function roc.tune(make, choices, args, opts) end

---@class roc.VectorizeOpts: roc.BuildOpts
---@field dtype? roc.DTypeLike | roc.DTypeLike[] of the results; a call's own goes first

---@class roc.VectorizeCallOpts
---@field dtype? roc.DTypeLike | roc.DTypeLike[] of the results
---@field out? roc.AnyArray | roc.AnyArray[] where to write the results
---@field stream? roc.Stream

---An element-wise function of arrays and numbers, with broadcasting.  Host arrays give host arrays,
---a device array among the arguments gives device arrays, numbers alone are an ordinary call.
---@param f fun(...: number | boolean): ...
---@param opts? roc.VectorizeOpts
---@return fun(...: roc.AnyArray | number | boolean | roc.VectorizeCallOpts): roc.AnyArray ...
function roc.vectorize(f, opts) end

---A function of vectors and matrices along all outer dimensions.  `f` gets views of its part of the
---arguments, then of the results, which it writes; what has no core dimensions is a value as an
---argument, and an array of one element as a result.
---@param f fun(...)
---@param signature string "(m,n),(n,p)->(m,p)"; an integer is a fixed extent
---@param opts? roc.VectorizeOpts dtype: default what the arguments' dtypes have in common
---@return fun(...: roc.AnyArray | number | boolean | roc.VectorizeCallOpts): roc.AnyArray ...
function roc.guvectorize(f, signature, opts) end

---@class roc.ReduceCallOpts
---@field axis? integer a result for each line along it; default: one number of all elements
---@field init? number | boolean combined in front of the elements; the result of none
---@field out? roc.AnyArray where to write; nothing is waited for when it is a device array
---@field stream? roc.Stream

---@class roc.ReduceOpts: roc.BuildOpts
---@field commutative? boolean the elements may be combined in another order, which is quicker

---One value of all elements, combined in C order in a tree that depends on their number alone.
---@param f fun(x: any, y: any): any associative: takes and gives values of one type
---@param init? number | boolean
---@param opts? roc.ReduceOpts
---@return fun(array: roc.AnyArray, opts?: roc.ReduceCallOpts): number | boolean | roc.AnyArray
function roc.reduce(f, init, opts) end

---@class roc.ScanCallOpts
---@field exclusive? boolean element i is that of the elements before it; needs init
---@field init? number | boolean combined in front of the elements
---@field out? roc.AnyArray where to write
---@field stream? roc.Stream

---The running combination of the elements of a 1-D array.
---@param f fun(x: any, y: any): any associative: takes and gives values of one type
---@param opts? roc.BuildOpts
---@return fun(array: roc.AnyArray, opts?: roc.ScanCallOpts): roc.AnyArray
function roc.scan(f, opts) end
