---@meta
-- # Arrays
--
-- Arrays in host memory: their types, how they are made, looked at, copied and stored. An error is
-- raised before anything is changed. A lack of memory is an error with the code `"oom"`.
-- The rules are in [roc.md](../roc.md#host-arrays); arrays on a device are in
-- [memory.md](memory.md), operators and reductions in [expressions.md](expressions.md).

-- ## Types

---The extents of an array: an integer for one dimension, or a table of up to eight. Extents of 0
---are allowed.
---@alias roc.Shape integer | integer[]

---An array, on the host or on a device.
---@alias roc.AnyArray roc.Array | roc.DeviceArray

---A dtype, or its name: `roc.float32` or `"float32"`.
---@alias roc.DTypeLike roc.DType | string

---How the elements lie: `"C"`, the default, has the last index run fastest (rows lie together),
---`"F"` the first.
---@alias roc.Order "C" | "F"

---An element type: `roc.bool`, `roc.int8` to `roc.int64`, `roc.uint8` to `roc.uint64`,
---`roc.float16`, `roc.bfloat16`, `roc.float32`, `roc.float64`. Called, it converts a number: an
---integer wraps, a float is truncated and saturates into an integer (NaN gives 0), and is rounded
---once, to nearest even, into a narrower float.
---@class roc.DType
---@field name string also what `tostring` gives
---@field itemsize integer bytes of an element
---@field kind string "b" boolean, "i" signed, "u" unsigned, "f" float
---@overload fun(value: number | boolean): number | boolean

---@class roc
---@field bool roc.DType
---@field int8 roc.DType
---@field int16 roc.DType
---@field int32 roc.DType
---@field int64 roc.DType
---@field uint8 roc.DType
---@field uint16 roc.DType
---@field uint32 roc.DType
---@field uint64 roc.DType
---@field float16 roc.DType
---@field bfloat16 roc.DType
---@field float32 roc.DType
---@field float64 roc.DType
local roc = {}

---What is raised by failures that are not a bad argument. It prints, and concatenates, as its
---message. A bad argument raises a string, as Lua's own libraries do.
---@class roc.Error
---@field code string "oom", "compile", "fault", "lost", …: see roc.md, Devices and errors
---@field message string
---@field native? integer errno, or the driver's own code

---An array of up to 8 dimensions in host memory, or a view, which shares memory with another array
---and keeps it alive. `a[i]` is an element of a 1-D array, else a view of row i; `a[{…}]` selects;
---`#a` is the first extent; `ipairs(a)` and `pairs(a)` give the elements of a 1-D array, else its
---rows. Indices count from 1. An index out of range is an error, and so is a field that is not
---listed. Reading an element waits for queued work that writes the array, writing one for all
---queued work that uses it.
---@class roc.Array
---@field shape integer[] the extents; a new table at each read
---@field dtype roc.DType
---@field ndim integer the number of dimensions
---@field size integer the number of elements
---@field nbytes integer the bytes of its elements
---@field strides integer[] distances of neighbours, in elements; a new table at each read
---@field pointer integer the address of the first element; waits for nothing
---@field [integer] number | boolean | roc.Array
---@operator len: integer
local Array = {}

-- ## Making arrays
--
-- The dtype of a new array is float64 unless the entry says otherwise.
--
-- ```lua
-- local roc = require "roc"
-- local a = roc.array { 3, 1, 2 }
-- ```

---An array of nested tables of numbers or booleans, or a copy of an array. Tables of unequal
---length, and keys other than 1 to n, are errors. Booleans give bool; an array keeps its dtype; a
---device array, which is waited for, gives a host array.
---
---Example: `roc.array({ 1, 2.5 }, "float32")` gives `[1.  2.5]`.
---@param t table | roc.AnyArray
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.array(t, dtype) end

---An array with undefined contents.
---
---Example: `roc.empty({ 2, 3 }, "int8").shape[2]` gives `3`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.empty(shape, dtype, order) end

---An array of zeros, or of false.
---
---Example: `roc.zeros(3)` gives `[0. 0. 0.]`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.zeros(shape, dtype, order) end

---An array of ones, or of true.
---
---Example: `roc.ones({ 2, 2 }, "int32")` gives `[[1 1] [1 1]]`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.ones(shape, dtype, order) end

---An array whose elements are all `value`. A boolean needs the dtype `"bool"`.
---
---Example: `roc.full(3, 7)` gives `[7. 7. 7.]`.
---@param shape roc.Shape
---@param value number | boolean
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.full(shape, value, dtype, order) end

---The values of `for i = first, last, step` in one dimension: both ends count, and a range that
---contains nothing gives an empty array. Integers give int64. A step of 0 is an error.
---
---Example: `roc.range(1, 9, 2)` gives `[1 3 5 7 9]`.
---@param first number
---@param last number inclusive
---@param step? number default 1
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.range(first, last, step, dtype) end

---n values at equal distances from a to b. The last is exactly b; of one value, it is a.
---
---Example: `roc.linspace(0, 1, 5)` gives `[0.   0.25 0.5  0.75 1.  ]`.
---@param a number
---@param b number
---@param n integer
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.linspace(a, b, n, dtype) end

---An array of the bytes of a string, in C order, as `a:tobytes()` gives them. Without a shape it
---has one dimension. A length that does not fit is an error.
---
---Example: `roc.frombytes("\1\0\2\0", "int16")` gives `[1 2]`.
---@param s string
---@param dtype roc.DTypeLike
---@param shape? roc.Shape
---@return roc.Array
function roc.frombytes(s, dtype, shape) end

-- ## Elements, views and copies
--
-- Methods of host arrays; device arrays have them as well, but for `copy`, `totable`, `tostring`
-- and `tobytes`: `d:copy_to_host()` comes before these.
--
-- ```lua
-- local roc = require "roc"
-- local a = roc.array { 3, 1, 2 }
-- local m = roc.array { { 1, 2, 3 }, { 4, 5, 6 } }
-- ```

---An element. Waits for the queued work that writes the array.
---
---Example: `m:get(2, 3)` gives `6.0`.
---@param ... integer one index a dimension
---@return number | boolean
function Array:get(...) end

---Sets an element, as `a[i] = value` does: an integer out of the dtype's range wraps, a float
---without integer value in an integer array is an error, and booleans are kept apart from numbers.
---Waits for the queued work that uses the array.
---
---Example: `local b = m:copy() b:set(0, 2, 3) return b[2][3]` gives `0.0`.
---@param value number | boolean
---@param ... integer one index a dimension
function Array:set(value, ...) end

---A view of another shape with as many elements, read in C order, or in the order of the option.
---One extent may be -1 and is worked out. Where a copy would be needed, it is an error.
---
---Example: `m:reshape(3, 2)` gives `[[1. 2.] [3. 4.] [5. 6.]]`.
---@param ... integer | integer[] | { order: roc.Order } extents, or a table of them; options
---@return roc.Array
function Array:reshape(...) end

---The elements in one dimension: a view where that is possible, else a copy.
---
---Example: `m:ravel("F")` gives `[1. 4. 2. 5. 3. 6.]`.
---@param order? roc.Order the order in which they are taken
---@return roc.Array
function Array:ravel(order) end

---A view with its dimensions reversed, or in the order given.
---
---Example: `m:transpose()` gives `[[1. 4.] [2. 5.] [3. 6.]]`.
---@param ... integer | integer[] each dimension once
---@return roc.Array
function Array:transpose(...) end

---A view of the elements first, first + step, …, last of a dimension. Both ends count; the step may
---be negative; a range that contains nothing gives an empty view.
---
---Example: `m:slice(2, 1, 3, 2)` gives `[[1. 3.] [4. 6.]]`.
---@param dimension integer
---@param first integer
---@param last integer inclusive
---@param step? integer default 1
---@return roc.Array
function Array:slice(dimension, first, last, step) end

---Whether the elements lie without gaps in C order.
---
---Example: `m:is_c_contiguous(), m:transpose():is_c_contiguous()` gives `true, false`.
---@return boolean
function Array:is_c_contiguous() end

---Whether the elements lie without gaps in Fortran order.
---
---Example: `m:transpose():is_f_contiguous()` gives `true`.
---@return boolean
function Array:is_f_contiguous() end

---Computes the elements now. It matters for the results of operations on large arrays, which are
---computed when they are needed. Of a device array the work is queued, on the stream or else the
---default one.
---
---Example: `(a * 2):eval()` gives `[6. 2. 4.]`.
---@param stream? roc.Stream of a device array
---@return roc.Array # the array itself
function Array:eval(stream) end

---Computes the elements of several arrays now. What those of one shape share is computed once, in
---one pass; on GPUs so are reductions of arrays of one shape along the same axis.
---
---Example: `roc.eval(a * 2, a * 3)` gives `[6. 2. 4.], [9. 3. 6.]`.
---@param ... roc.AnyArray
---@return roc.AnyArray ... the arrays themselves
function roc.eval(...) end

---A copy in another dtype, each element converted as calling the dtype converts a number, with
---uint64 taken for unsigned. Of a device array it is a device array.
---
---Example: `roc.array({ 1.9, -1.9 }):astype("int32")` gives `[ 1 -1]`.
---@param dtype roc.DTypeLike
---@return roc.Array
function Array:astype(dtype) end

---A copy in C order, which shares no memory.
---
---Example: `local b = a:copy() b[1] = 0 return a[1], b[1]` gives `3.0, 0.0`.
---@return roc.Array
function Array:copy() end

---Sets all elements. Waits for the queued work that uses the array.
---
---Example: `roc.zeros(3):fill(4)` gives `[4. 4. 4.]`.
---@param value number | boolean
---@return roc.Array # the array itself
function Array:fill(value) end

---The elements in tables, nested as the dimensions are.
---
---Example: `table.concat(a:totable(), " ")` gives `3.0 1.0 2.0`.
---@return table
function Array:totable() end

---The elements as text, as NumPy prints them, with the middle of large arrays left out. The same as
---`tostring(a)`.
---
---Example: `m:tostring()` gives `[[1. 2. 3.] [4. 5. 6.]]`.
---@return string
function Array:tostring() end

---The elements as bytes, in C order.
---
---Example: `#a:tobytes(), a:tobytes():byte()` gives `24, 0`.
---@return string
function Array:tobytes() end

-- ## Comparing arrays
--
-- ```lua
-- local roc = require "roc"
-- local a = roc.array { 3, 1, 2 }
-- ```

---Whether |a − b| ≤ atol + rtol · |b| for all elements. The shapes must agree. A device array is
---waited for and copied.
---
---Example: `roc.allclose(a, { 3, 1, 2.000001 })` gives `true`.
---@param a roc.AnyArray | table
---@param b roc.AnyArray | table
---@param rtol? number default 1e-5
---@param atol? number default 1e-8
---@return boolean
function roc.allclose(a, b, rtol, atol) end

---Whether two arrays have one shape and the same numbers, whatever their dtypes. NaN equals
---nothing. A device array is waited for and copied.
---
---Example: `roc.array_equal(a, { 3, 1, 2.000001 })` gives `false`.
---@param a roc.AnyArray | table
---@param b roc.AnyArray | table
---@return boolean
function roc.array_equal(a, b) end

-- ## Files
--
-- What each format holds is in [roc.md](../roc.md#files).
--
-- ```lua
-- local roc = require "roc"
-- local a = roc.array { 3, 1, 2 }
-- local m = roc.array { { 1, 2, 3 }, { 4, 5, 6 } }
-- ```

---The columns of a CSV file: the names in their order as t[1], t[2], …, and each column under its
---name: an array of numbers, or a list of strings.
---@alias roc.Columns table<string | integer, string | roc.AnyArray | string[]>

---How a `.npy` file stays mapped: `"read"` only; written in memory as a `"copy"`; or written into
---the file, `"write"`.
---@alias roc.FileMapping "read" | "copy" | "write"

---@class roc.LoadOpts
---@field format? "csv" for files whose name does not end in .csv or .tsv
---@field header? boolean of CSV: false where the first line holds no names; default true
---@field separator? string of CSV: one character; default a comma, of .tsv files a tab
---@field map? roc.FileMapping of .npy: the elements stay in the file
---@field progress? roc.FileProgress is called while the file is read

---@class roc.SaveOpts
---@field progress? roc.FileProgress is called while the file is written

---Is called after each MiB or so with the bytes that have been read or written and, of a file that
---is read, its size. An error that it raises ends the call that reads or writes.
---@alias roc.FileProgress fun(done: integer, total?: integer)

---Writes a file in the format that the ending of its name says: `.npz` (a table of arrays by name),
---`.png` (uint8 of shape {height, width [, channels]}), `.csv` and `.tsv` (a table of columns, or a
---matrix), else NumPy's `.npy` (an array). The file appears whole or not at all; one that is there
---keeps its mode, owner and links. Device arrays are waited for and copied. Failures are errors
---with the code `"io"`.
---
---Example: `roc.save("a.npy", a)`.
---@param path string
---@param a roc.AnyArray | table<string, roc.AnyArray> | roc.Columns
---@param opts? roc.SaveOpts
function roc.save(path, a, opts) end

---Reads NumPy's `.npy` (an array, in the file's element order), `.npz` (a table of arrays by name),
---PNG (a uint8 array) or CSV (a table of columns). CSV is known by the name's ending or by the
---options, the others by their first byte. A file that cannot be read or is not of its format is an
---error.
---
---Example: `roc.save("b.npy", m) return roc.load("b.npy")[2]` gives `[4. 5. 6.]`.
---@param path string
---@param opts? roc.LoadOpts
---@return roc.Array | table
function roc.load(path, opts) end
