-- Random generators that count: roc.rng.
--
-- Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011) makes a block of four 32-bit words of a key,
-- the seed, and a counter of four words: the number of the block (the lower two) and the sequence
-- (the upper two).  There is nothing else that a number depends on, so each work-item makes its own
-- blocks, and all devices make the same.  A call begins with a new block and moves the generator
-- past those it uses, before it runs.
--
-- What is made of the words uses integers and correctly rounded operations alone, fused products
-- among them (no logarithm or sine of a library), so that floats are the same to the last bit, too.
local core = require "roc.core"
local dtypes = require "roc.arrays.dtypes"
local generated = require "roc.arrays.generated"
local options = require "roc.arrays.options"
local places = require "roc.arrays.places"
local selection = require "roc.arrays.selection"
local sorting = require "roc.arrays.sorting"
local support = require "roc.builders.support"

support.library()

local int64 = core.dtypes.int64

local M = {}

-- texts -------------------------------------------------------------------------------------------

local ROUND = [[

    do
      local p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
      c0, c1 = (p1 >> 32) ~ c1 ~ k0, p1 & 0xffffffff
      c2, c3 = (p0 >> 32) ~ c3 ~ k1, p0 & 0xffffffff
      k0, k1 = (k0 + 0x9E3779B9) & 0xffffffff, (k1 + 0xBB67AE85) & 0xffffffff
    end]]

-- The four words of `block`.  The rounds are written out, so that words are seen to have 32 bits.
local PHILOX = [[
    local c0, c1, c2, c3 = block & 0xffffffff, block >> 32, sequence & 0xffffffff, sequence >> 32
    local k0, k1 = seed & 0xffffffff, seed >> 32]] .. string.rep(ROUND, 10)

-- An item makes `$turns` blocks, and `$count` elements of each.  Neighbours make blocks in a row;
-- an item's next one is `items` further on.
local BLOCK = [=[
function(x, items, seed, sequence, first$params)
$all_turns
  for turn = 0, $turns - 1 do
    local item = turn * items + roc.get_global_id(1) - 1
    local at, block = item * $count, first + item
    if at < #x then
$philox
$values
      if at + $count <= #x then
$store_all
      else
$store_some
      end
    end
  end
end]=]

-- Where several blocks of an item are whole, they are made side by side.
local ALL_TURNS = [=[
  if (($turns - 1) * items + roc.get_global_id(1)) * $count <= #x then
$each_turn
    return
  end]=]

local EACH_TURN = [=[
    do
      local item = (# - 1) * items + roc.get_global_id(1) - 1
      local at, block = item * $count, first + item
$philox
$values
$store_all
    end]=]

-- Words of 64 bits.
local WIDE = [[
    local w1, w2 = c0 | c1 << 32, c2 | c3 << 32]]

-- Each of the dtype's significant bits is random: v is below 1, and exact.
local function uniform_values(bits, is_wide)
  local format = "    local v%d = roc.%s(%s >> %d) * 0x1p-%d"
  local lines = { is_wide and WIDE or nil }
  for k = 1, is_wide and 2 or 4 do
    local word = is_wide and "w" .. k or "c" .. k - 1
    lines[#lines + 1] = string.format(format, k, is_wide and "float64" or "float32", word,
      (is_wide and 64 or 32) - bits, bits)
  end
  return table.concat(lines, "\n")
end

-- Two normal numbers by Box and Muller: of u in (0, 1), and of a part of a turn, whose upper two
-- bits are its quadrant, the others an angle from -pi/4 to pi/4; so short series serve.  `square$i`
-- is -2 log u.
local NORMAL_PAIR = [[
$square_of_radius
    local radius$i = math.sqrt(square$i)
    local t$i = $float($angle) * $scale
    local tt$i = t$i * t$i
    local sin$i, cos$i = ($sin) * t$i, $cos
    local quadrant$i = $quadrant
    if quadrant$i & 1 == 1 then sin$i, cos$i = cos$i, -sin$i end
    if quadrant$i & 2 == 2 then radius$i = -radius$i end
    local v$first, v$second = radius$i * cos$i, radius$i * sin$i]]

-- u = (2 w + 1) / 2^33 = m / 2^left with m in [3/4, 3/2) and t = m - 1, of which `part` is the bits
-- after the point, of m or of 2 m: so no difference is rounded.  `top` is the place of the first
-- bit of w, -1 without any.  The square is at least 2^-32: the last sum does not change it, and
-- lets the compiler see that it is not small.
local NARROW_SQUARE = [[
    local top$i = 63 - roc.math.clz($a)
    local part$i = ($a << 1 | 1) << (~top$i & 31) & 0xffffffff
    part$i = (part$i ~ 0x80000000) - 0x80000000
    local left$i, m$i = 32.0 - roc.float32(top$i), roc.float32(part$i) * 0x1p-32
    if m$i < 0.0 then left$i, m$i = left$i - 1.0, m$i * 0.5 end
    local log$i = roc.math.fma(left$i, 1.3862943611198906, ($log) * m$i)
    local square$i = math.abs(log$i) + 0x1p-60]]

-- u = x / 2^62 with an odd x, and x = m * 2^e with m near 1, so that
-- log u = 2 atanh(s) + (e - 62) log 2 with s = (m - 1) / (m + 1); x - 2^e is exact.
local WIDE_SQUARE = [[
    local x$i = $a >> 2 | 1
    local e$i = 63 - roc.math.clz(x$i)
    local low$i = 1 << e$i
    if x$i - low$i > (low$i >> 2) + (low$i >> 3) + (low$i >> 5) then
      e$i, low$i = e$i + 1, low$i << 1
    end
    local s$i = roc.float64(x$i - low$i) / (roc.float64(x$i) + roc.float64(low$i))
    local ss$i = s$i * s$i
    local log$i = ($log) * s$i * 2.0 + roc.float64(e$i - 62) * 0.69314718055994531
    local square$i = log$i * -2.0]]

-- The sum of coefficients[k] * x^(k - 1) in Horner's form.
local function polynomial(x, coefficients, is_fused)
  local format = is_fused and "roc.math.fma(%s, %s, %.17g)" or "(%s) * %s + %.17g"
  local text = string.format("%.17g", coefficients[#coefficients])
  for k = #coefficients - 1, 1, -1 do
    text = string.format(format, text, x, coefficients[k])
  end
  return text
end

-- The coefficients of a series.
local function series(count, coefficient)
  local list = {}
  for k = 1, count do list[k] = coefficient(k - 1) end
  return list
end

local function inverse_odd(k) return 1 / (2 * k + 1) end

-- Of the series of sin(t * pi/4) / t (first = 1) and cos(t * pi/4) (first = 0), by powers of t * t.
local function circular(first)
  return function(k)
    local value = (math.pi / 4) ^ first
    for n = first + 1, first + 2 * k, 2 do
      value = -value * (math.pi / 4) ^ 2 / (n * (n + 1))
    end
    return value
  end
end

-- How a pair is made: of words $a, $b, with polynomials whose error is below the last place of the
-- type.  Those of float32, of -2 log(1 + t) / t among them, have the least greatest error in their
-- range; those of float64 are series.
local NORMAL = {
  float32 = { float = "roc.float32", pairs = 2, words = { "c0", "c1", "c2", "c3" },
    square_of_radius = NARROW_SQUARE, angle = "($b & 0x3fffffff) - 0x20000000", scale = "0x1p-29",
    quadrant = "$b >> 30", is_fused = true, of_log = "m$i", polynomials = {
      log = { -2.0, 1.0, -0.66667002, 0.5000015, -0.39978516, 0.33291614, -0.28987554, 0.26378179,
        -0.20886834, 0.089199662 },
      sin = { 0.78539819, -0.080745436, 0.002490001, -3.5950452e-05 },
      cos = { 1.0, -0.30842513, 0.015854323, -0.0003259365, 3.5287617e-06 } } },
  float64 = { float = "roc.float64", pairs = 1, words = { "w1", "w2" }, head = WIDE,
    square_of_radius = WIDE_SQUARE, angle = "($b & 0x3fffffffffffffff) - 0x2000000000000000",
    scale = "0x1p-61", quadrant = "$b >> 62", of_log = "ss$i", polynomials = {
      log = series(12, inverse_odd), sin = series(9, circular(1)), cos = series(9, circular(0)) } },
}

local function normal_values(class)
  local form = NORMAL[class]
  local lines = { form.head }
  for i = 1, form.pairs do
    local values = { i = i, first = 2 * i - 1, second = 2 * i, a = form.words[2 * i - 1],
      b = form.words[2 * i] }
    for name, argument in pairs { log = form.of_log, sin = "tt$i", cos = "tt$i" } do
      values[name] = polynomial(argument, form.polynomials[name], form.is_fused)
    end
    setmetatable(values, { __index = form })
    lines[#lines + 1] = support.fill_in(NORMAL_PAIR, values)
  end
  return table.concat(lines, "\n")
end

-- Integers without bias: a word that would make some values more probable is drawn again, from the
-- block 2^48 further on for each time.
local AGAIN = [[
    local missing, again = $all, 0
    local $locals = $zeros
    repeat
      local block = first + item ~ again << 48
$philox
$draws
      again = again + 1
    until missing == 0]]

-- Up to 2^32 values: the upper half of a word times their number, unless the lower one is among the
-- first 2^32 mod range.
local NARROW = [[
      local p$k = $word * range
      if missing & $bit ~= 0 and p$k & 0xffffffff >= limit then
        v$k, missing = low + (p$k >> 32), missing ~ $bit
      end]]

-- More: a word below the next power of 2, unless it is above the last value.
local WIDER = [[
      local p$k = $word & limit
      if missing & $bit ~= 0 and not math.ult(range, p$k) then
        v$k, missing = low + p$k, missing ~ $bit
      end]]

local function integer_values(is_wide)
  local count = is_wide and 2 or 4
  local draws, zeros = { is_wide and WIDE or nil }, {}
  for k = 1, count do
    zeros[k] = "0"
    draws[#draws + 1] = (string.gsub(is_wide and WIDER or NARROW, "%$(%a+)",
      { k = k, bit = 1 << k - 1, word = is_wide and "w" .. k or "c" .. k - 1 }))
  end
  return (string.gsub(AGAIN, "%$(%a+)", { all = (1 << count) - 1, philox = PHILOX,
    locals = table.concat(support.names("v", count), ", "), zeros = table.concat(zeros, ", "),
    draws = table.concat(draws, "\n") }))
end

local function text_of(turns, count, params, philox, values, is_side_by_side)
  local all, some, targets = {}, {}, {}
  for k = 1, count do
    targets[k] = string.format("x[at + %d]", k)
    all[k] = "v" .. k
    some[k] = string.format("      %sx[at + %d] = v%d%s", k > 1 and string.format(
      "if at + %d <= #x then ", k) or "", k, k, k > 1 and " end" or "")
  end
  local texts = { turns = turns, count = count, params = params, philox = philox, values = values,
    store_some = table.concat(some, "\n"),
    store_all = "      " .. table.concat(targets, ", ") .. " = " .. table.concat(all, ", "),
    all_turns = is_side_by_side and ALL_TURNS or "" }
  texts.each_turn = is_side_by_side and support.repeated(EACH_TURN, turns) or ""
  return support.fill_in(BLOCK, texts)
end

-- generators --------------------------------------------------------------------------------------

local Rng = {} -- methods
local states = setmetatable({}, { __mode = "k" }) -- generator -> its fields
local FIELDS = { seed = true, sequence = true, position = true, device = true }

local class = { __name = "roc.Rng" }

local function state_of(rng, name)
  local state = states[rng]
  if not state then
    support.fail("bad argument #1 to '%s' (roc.Rng expected, got %s; call it as rng:%s(…))", name,
      support.type_name(rng), name)
  end
  return state
end

class.__index = function(rng, key)
  if FIELDS[key] then return states[rng][key] end
  if Rng[key] then return Rng[key] end
  error(string.format("roc.Rng has no field '%s'%s", options.key(key),
    type(key) == "string" and core.suggest("rng", key, Rng) or ""), 2)
end

class.__newindex = function(_, key)
  error(string.format("a roc.Rng takes no field '%s'; make another generator with roc.rng(seed, "
    .. "{position = …})", options.key(key)), 2)
end

class.__tostring = function(rng)
  local state = states[rng]
  return string.format("roc.Rng (seed %d, sequence %d, position %d)", state.seed, state.sequence,
    state.position)
end

local function check_integer(value, what, least)
  if math.type(value) ~= "integer" or least and value < least then
    support.fail("bad %s (an integer%s expected, got %s)", what,
      least and string.format(" of at least %d", least) or "", options.shown(value))
  end
  return value
end

---A generator of random numbers that are the same on every device.
---@param seed? integer none: one of roc.random_integers
---@param opts? {device?: roc.Device | string | integer, sequence?: integer, position?: integer}
---@return roc.Rng
function M.rng(seed, opts)
  local given = options.read("rng", opts, { device = "d", sequence = true, position = true })
  if seed == nil then
    seed = core.random_integers(math.mininteger, math.maxinteger, 1)[1]
  end
  local state = { seed = check_integer(seed, "argument #1 to 'rng'") }
  for _, key in ipairs { "sequence", "position" } do
    state[key] = check_integer(given[key] or 0, string.format("option '%s' of 'rng'", key))
  end
  if given.device ~= nil then
    local scope <close> = core.on_device(given.device)
    state.device = core.current_device()
  end
  local rng = setmetatable({}, class)
  states[rng] = state
  return rng
end

-- calls -------------------------------------------------------------------------------------------

local MOST_DIMENSIONS = 8

-- The shape as a list of extents.
local function check_shape(shape, name, argument)
  local list = type(shape) == "table" and shape or { shape }
  local is_fine = #list >= 1 and #list <= MOST_DIMENSIONS
  for _, extent in ipairs(list) do
    is_fine = is_fine and math.type(extent) == "integer" and extent >= 0
  end
  if not is_fine then
    support.fail("bad argument #%d to '%s' (a shape expected: an integer of at least 0, or a table "
      .. "of 1 to %d of them, got %s)", argument, name, MOST_DIMENSIONS, options.shown(shape))
  end
  return list
end

-- How many blocks an item makes.  GPUs compute what blocks have in common for all of them.  A
-- processor's vectors take an item's blocks one by one.
local TURNS = { uniform = 2, normal = 4, integers = 1 }

-- Those of which a block waits long for its results: a GPU computes others meanwhile.
local WAITS = { normal = true }

local function turns_of(name) return support.is_gpu() and TURNS[name] or 1 end

-- The kernel of a method, made once.
local function kernel_of(method, turns)
  local key = string.format("rng %s %s %d", method.name, method.key, turns)
  return generated.kept(key, function()
    local text = text_of(turns, method.count, method.params or "", method.philox or PHILOX,
      method.values(), turns > 1 and WAITS[method.name])
    return generated.kernel(text, "", "roc.Rng " .. method.name)
  end)
end

-- A new array on the device (nil: of the host).  `method`: its `name`, a `key` for its kernel,
-- `count` (the elements of a block), and the texts `values` (a function), `params` and `philox`.
local function fill_new(state, device, shape, dtype, method, ...)
  local scope <close> = support.scope(device or places.choose("rng", {}, 0))
  local result = support.new_array(device ~= nil, shape, dtype)
  local blocks, first = (result.size + method.count - 1) // method.count, state.position
  state.position = first + blocks
  if blocks > 0 then
    local turns = turns_of(method.name)
    local items = (blocks + turns - 1) // turns
    kernel_of(method, turns):forall(items)(support.output(result:ravel(), true), items, state.seed,
      state.sequence, first, ...)
  end
  return result
end

local SIGNIFICANT = { float16 = 11, bfloat16 = 8, float32 = 24, float64 = 53 }

local function check_float(dtype, name)
  dtype = support.check_dtype(dtype == nil and "float64" or dtype,
    string.format("argument #2 to '%s'", name))
  if not SIGNIFICANT[dtype.name] then
    support.fail("bad argument #2 to '%s' (a float dtype expected, got %s; rng:integers makes "
      .. "integers)", name, dtype.name)
  end
  return dtype
end

local function draw_floats(state, device, name, values, shape, dtype)
  local is_wide = dtype == core.dtypes.float64
  local method = { name = name, key = dtype.name, count = is_wide and 2 or 4 }
  function method.values() return values(dtype, is_wide) end
  return fill_new(state, device, shape, dtype, method)
end

local function uniform(dtype, is_wide)
  return uniform_values(SIGNIFICANT[dtype.name], is_wide)
end

local function normal(_, is_wide)
  return normal_values(is_wide and "float64" or "float32")
end

for name, values in pairs { uniform = uniform, normal = normal } do
  Rng[name] = function(rng, shape, dtype)
    local state = state_of(rng, name)
    shape, dtype = check_shape(shape, name, 1), check_float(dtype, name)
    return draw_floats(state, state.device, name, values, shape, dtype)
  end
end

-- A bound of integers, which the dtype must hold.
local function check_bound(value, argument, dtype)
  check_integer(value, string.format("argument #%d to 'integers'", argument))
  if dtype(value) ~= value or dtype == core.dtypes.uint64 and value < 0 then
    support.fail("bad argument #%d to 'integers' (%d does not fit %s)", argument, value, dtype.name)
  end
end

local function check_integer_dtype(dtype)
  dtype = support.check_dtype(dtype == nil and "int64" or dtype, "argument #4 to 'integers'")
  if not dtypes.is_integer(dtype) then
    support.fail("bad argument #4 to 'integers' (an integer dtype expected, got %s)", dtype.name)
  end
  return dtype
end

-- Integers from `low` to `low + span`, the span unsigned.
local function draw_integers(state, device, low, span, shape, dtype)
  local is_wide = span < 0 or span >= 1 << 32
  local method = { name = "integers", key = is_wide and "wide" or "narrow",
    count = is_wide and 2 or 4, params = ", low, range, limit", philox = "" }
  function method.values() return integer_values(is_wide) end
  if not is_wide then
    local range = span + 1
    return fill_new(state, device, shape, dtype, method, low, range, (1 << 32) % range)
  end
  local mask = span
  for shift = 0, 5 do mask = mask | mask >> (1 << shift) end
  return fill_new(state, device, shape, dtype, method, low, span, mask)
end

function Rng.integers(rng, low, high, shape, dtype)
  local state = state_of(rng, "integers")
  dtype = check_integer_dtype(dtype)
  check_bound(low, 1, dtype)
  check_bound(high, 2, dtype)
  if high < low then
    support.fail("bad argument #2 to 'integers' (%d is below the first bound, %d)", high, low)
  end
  return draw_integers(state, state.device, low, high - low, check_shape(shape, "integers", 3),
    dtype)
end

-- entries of something ----------------------------------------------------------------------------

-- What entries are taken from: their number, the array (nil: the integers up to that), and the
-- device of the result, which is the array's.
local function check_source(state, from, name)
  if support.side_of(from) then
    local array = options.host_side(from)
    return array.shape[1], array, array.device
  elseif math.type(from) ~= "integer" or from < 0 then
    support.fail("bad argument #1 to '%s' (an array or an integer of at least 0 expected, got "
      .. "%s%s)", name, options.shown(from), support.table_advice(from))
  end
  return from, nil, state.device
end

-- The integers 1 to n in random order: the places of sorted random keys.
local function permuted(state, device, n)
  return sorting.argsort(draw_integers(state, device, math.mininteger, -1, n, int64))
end

function Rng.permutation(rng, from)
  local state = state_of(rng, "permutation")
  local n, array, device = check_source(state, from, "permutation")
  local at = permuted(state, device, n)
  return array and selection.select(array, at) or at
end

-- Running sums of weights over their total, added in order on the host: the same everywhere.
local function check_weights(weights, n)
  local list = weights
  if support.side_of(weights) then
    list = options.host_side(weights)
    list = (list.device and list:copy_to_host() or list):totable()
  end
  if type(list) ~= "table" or #list ~= n then
    support.fail("bad option 'weights' of 'choice' (%d numbers expected, got %s)", n,
      type(list) == "table" and #list or options.shown(weights))
  end
  local sums, total = {}, 0.0
  for k, weight in ipairs(list) do
    if type(weight) ~= "number" or not (weight >= 0 and weight < math.huge) then
      support.fail("bad option 'weights' of 'choice' (numbers of at least 0 expected, got %s)",
        options.shown(weight))
    end
    total = total + weight
    sums[k] = total
  end
  if not (total > 0 and total < math.huge) then
    support.fail("bad option 'weights' of 'choice' (their sum is %s)", total)
  end
  for k, sum in ipairs(sums) do sums[k] = sum / total end
  return core.array(sums, "float64")
end

local function weighted(state, device, sums, shape)
  local numbers = draw_floats(state, device, "uniform", uniform, shape, core.dtypes.float64)
  if device then
    local scope <close> = support.scope(device)
    sums = core.to_device(sums)
  end
  return sorting.searchsorted(sums, numbers, { side = "right" })
end

-- The first `size` places of a random order.
local function distinct(state, device, n, shape, size)
  if size > n then
    support.fail("'choice' cannot take %d distinct entries of %d", size, n)
  end
  local order = permuted(state, device, n)
  local at = size == n and order or support.copy_of(order:slice(1, 1, size))
  return at:reshape(shape)
end

function Rng.choice(rng, from, shape, opts)
  local state = state_of(rng, "choice")
  local n, array, device = check_source(state, from, "choice")
  shape = check_shape(shape, "choice", 2)
  local given = options.read("choice", opts, { replace = "false", weights = "w" })
  local size = 1
  for _, extent in ipairs(shape) do size = size * extent end
  local at
  if given.replace ~= nil and type(given.replace) ~= "boolean" then
    support.fail("bad option 'replace' of 'choice' (boolean expected, got %s)",
      support.type_name(given.replace))
  elseif given.replace == false and given.weights then
    support.fail("'choice' takes weights only where an entry may come again; leave replace out")
  elseif given.replace == false then
    at = distinct(state, device, n, shape, size)
  elseif n == 0 and size > 0 then
    support.fail("'choice' cannot take %d entries of none", size)
  elseif given.weights then
    at = weighted(state, device, check_weights(given.weights, n), shape)
  else
    at = draw_integers(state, device, 1, math.max(n - 1, 0), shape, int64)
  end
  return array and selection.select(array, at) or at
end

for name, f in pairs(Rng) do Rng[name] = support.public(f) end

return M
