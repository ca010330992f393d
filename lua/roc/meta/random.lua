---@meta
-- # Random numbers
--
-- Two generators: one of the Lua state, for host arrays, and `roc.rng`, of which there may be many
-- and which gives the same numbers on every device. The algorithm of the second is in
-- [arrays.md](../arrays.md#random-numbers).
--
-- ```lua
-- local roc = require "roc"
-- local rng = roc.rng(2026)
-- ```

---@class roc
local roc = {}

-- ## The generator of the state

---Makes the numbers of `roc.random`, `roc.random_normal` and `roc.random_integers` that follow
---repeatable: the same seed gives the same sequence.
---
---Example: `roc.seed(1)`.
---@param n integer
function roc.seed(n) end

---Uniform numbers in [0, 1), with as many random bits as the dtype has significant ones. The
---generator, xoshiro256**, is one for each Lua state.
---
---Example: `local x = roc.random(1000) return x:min() >= 0, x:max() < 1` gives `true, true`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike a float dtype; default float64
---@return roc.Array
function roc.random(shape, dtype) end

---Numbers of the normal distribution with mean 0 and variance 1.
---
---Example: `math.abs(roc.random_normal(10000):mean()) < 0.1` gives `true`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike a float dtype; default float64
---@return roc.Array
function roc.random_normal(shape, dtype) end

---Integers from low to high, each as likely as the others. The dtype must hold both bounds.
---
---Example: `roc.random_integers(1, 6, 1000):unique()` gives `[1 2 3 4 5 6]`.
---@param low integer
---@param high integer inclusive
---@param shape roc.Shape
---@param dtype? roc.DTypeLike an integer dtype; default int64
---@return roc.Array
function roc.random_integers(low, high, shape, dtype) end

-- ## Generators for every device

---@class roc.RngOpts
---@field device? roc.Device | string | integer where the numbers are made; default: host arrays
---@field sequence? integer sequences of one seed are independent; default 0
---@field position? integer the block of four words to begin with; default 0

---A generator of random numbers (Philox4x32-10) that gives the same numbers on every device, floats
---to the last bit.
---
---Example: `roc.rng(5):integers(1, 100, 4), roc.rng(5):integers(1, 100, 4)` gives
---`[77  7 99 97], [77  7 99 97]`.
---@param seed? integer default: one from `roc.random_integers`
---@param opts? roc.RngOpts
---@return roc.Rng
function roc.rng(seed, opts) end

---A generator made by `roc.rng`. A call takes its place in the sequence when it is made, whenever
---the device computes it; a call that raises an error takes none. With a device the results are
---device arrays, for which nothing waits.
---@class roc.Rng
---@field seed integer
---@field sequence integer
---@field position integer the block of four words that the next call begins with
---@field device roc.Device? nil: host arrays
local Rng = {}

---Uniform numbers in [0, 1), with as many random bits as the dtype has significant ones.
---
---Example: `math.abs(rng:uniform(10000):mean() - 0.5) < 0.01` gives `true`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike a float dtype; default float64
---@return roc.AnyArray
function Rng:uniform(shape, dtype) end

---Numbers of the normal distribution with mean 0 and variance 1.
---
---Example: `math.abs(rng:normal(10000):std() - 1) < 0.05` gives `true`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike a float dtype; default float64
---@return roc.AnyArray
function Rng:normal(shape, dtype) end

---Integers from low to high, each as likely as the others. The dtype must hold both bounds.
---
---Example: `rng:integers(0, 1, 1000):unique()` gives `[0 1]`.
---@param low integer
---@param high integer inclusive
---@param shape roc.Shape
---@param dtype? roc.DTypeLike an integer dtype; default int64
---@return roc.AnyArray
function Rng:integers(low, high, shape, dtype) end

---The integers 1 to n, or the entries of an array's first dimension, in random order; a copy. Of an
---array it is made where that array is.
---
---Example: `rng:permutation(5):sort()` gives `[1 2 3 4 5]`.
---@param from integer | roc.AnyArray
---@return roc.AnyArray
function Rng:permutation(from) end

---@class roc.ChoiceOpts
---@field replace? boolean false: no entry is taken twice; default true
---@field weights? number[] | roc.AnyArray to which the probability of each entry is proportional

---Integers from 1 to n, or entries of an array's first dimension, chosen at random. The result has
---the shape, followed by that of an entry. Of an array it is made where that array is.
---
---Example: `rng:choice(3, 3, { replace = false }):sort()` gives `[1 2 3]`.
---@param from integer | roc.AnyArray
---@param shape roc.Shape
---@param opts? roc.ChoiceOpts
---@return roc.AnyArray
function Rng:choice(from, shape, opts) end
