--- Random numbers inside a kernel, from a counter: the same (seed, counter) gives the same number
--- on every device. There is no state to keep: an item counts with its id, and with the step where
--- it draws several.
local roc = require "roc"

local random = {}

---A well-mixed 64-bit integer of two integers: the finaliser of SplitMix64 over their combination.
---@param seed integer
---@param counter integer
---@return integer
function random.bits(seed, counter)
  local z = (seed + counter) * 0x9E3779B97F4A7C15 + seed
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end

local bits = random.bits

---A number of [0, 1) with 24 random bits, so that it is the same as float32 and as float64.
---@param seed integer
---@param counter integer
---@return number
function random.uniform(seed, counter)
  return (bits(seed, counter) >> 40) * 5.9604644775390625e-08
end

local uniform = random.uniform

--- Fills a one-dimensional float array: `fill:forall(#x)(x, seed)`.
random.fill = roc.kernel(function(x, seed)
  local i = roc.get_global_id(1)
  if i <= #x then x[i] = uniform(seed, i) end
end, { name = "random_fill" })

return random
