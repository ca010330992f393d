-- The steps of random programs of array expressions, by name.  A step gets the program: its `pool`
-- of arrays, what it sees, its streams, its random numbers (support/fuzz/arrays.lua).
local roc = require "roc"

local M = { all = {}, names = {} }

local DTYPES = { "float32", "float64", "int32", "int8", "uint64", "float16", "bool", "int64",
  "bfloat16", "uint16", "uint8", "int16", "uint32" }

-- Divisors without 0: where an error comes depends on when an operation is computed.
local function divisor(b) return roc.where(b:eq(0), 3, b) end

local BINARY = {
  function(a, b) return a + b end, function(a, b) return a - b end,
  function(a, b) return a * b end, function(a, b) return a / b end,
  function(a, b) return a:lt(b) end, function(a, b) return a:ge(b) end,
  function(a, b) return a:eq(b) end, function(a, b) return a:ne(b) end,
  function(a, b) return roc.maximum(a, b) end, function(a, b) return roc.minimum(a, b) end,
  function(a, b) return a & b end, function(a, b) return a | b end,
  function(a, b) return a ~ b end, function(a, b) return a << b end,
  function(a, b) return a >> b end, function(a, b) return a ^ b end,
  function(a, b) return roc.where(a:gt(b), a, b) end,
  function(a, b) return a // divisor(b) end, function(a, b) return a % divisor(b) end,
  function(a, b) return roc.math.hypot(a, b) end, function(a, b) return roc.math.fma(a, b, a) end,
}
local UNARY = {
  function(a) return -a end, function(a) return roc.math.abs(a) end,
  function(a) return roc.math.floor(a) end, function(a) return ~a end,
  function(a) return roc.math.sqrt(a) end, function(a) return a ^ 2 end,
  function(a) return roc.math.isnan(a) end, function(a) return roc.math.exp(a) end,
  function(a) return a // 3 end, function(a) return a % -7 end,
  function(a) return roc.clip(a, -2, 9) end, function(a) return roc.math.round(a) end,
  function(a) return roc.math.sin(a) end, function(a) return 1 / a end,
}
local NUMBERS = { 0, 1, 2, -3, 2.5, 0.1, 100, 1 / 0, true, 65537, -0.0 }
local SHAPES = { { 4, 6 }, { 6 }, { 4, 1 }, { 1, 6 }, { 1 }, { 6, 4 }, { 4 }, { 2, 4, 6 },
  { 2, 1, 6 }, { 70 }, { 4, 70 }, { 70, 6 }, { 4200 }, { 0 }, { 0, 6 }, { 4, 0 }, { 1, 1 } }
local REDUCTIONS = { "sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "norm",
  "any", "all", "count" }

local function some(p, list, count)
  local picked = {}
  for i = 1, count do picked[i] = p:pick(list) end
  return picked
end

-- What the programs of some seeds are made of.
function M.palette(p)
  local dtypes = some(p, DTYPES, 3)
  dtypes[4] = "bool"
  return { dtypes = dtypes, binary = some(p, BINARY, 6), unary = some(p, UNARY, 4) }
end

local function size_of(shape)
  local size = 1
  for _, extent in ipairs(shape) do size = size * extent end
  return size
end

local function values_of(dtype, size)
  local values = {}
  for i = 1, size do
    if dtype == "bool" then values[i] = math.random(2) == 1
    elseif dtype:find "float" then values[i] = math.random(-40, 40) / 8
    else values[i] = math.random(-40, 40) end
  end
  return values
end

local MEMORY = { roc.pinned_array, roc.mapped_array, roc.zeros }

-- A new array: seldom in Fortran order, or in memory that a device knows of.
function M.make(p)
  local shape, dtype = p:pick(SHAPES), p:pick(p.palette.dtypes)
  local size = size_of(shape)
  local a = roc.array(values_of(dtype, size), dtype):reshape(shape)
  if not p.on_device and math.random(6) == 1 then
    local filled = p:pick(MEMORY)(shape, dtype, p:pick { "C", "F" })
    if size > 0 then filled[{}] = a end
    a = filled
  end
  return p:moved(a)
end

local function step(name, share, run)
  M.all[name] = run
  for _ = 1, share do M.names[#M.names + 1] = name end
end

-- Whether most operations take both: the shapes broadcast, and bool goes with bool.
local function go_together(a, b)
  if (a.dtype.kind == "b") ~= (b.dtype.kind == "b") then return false end
  local shape, other = a.shape, b.shape
  for d = 0, math.min(#shape, #other) - 1 do
    local m, n = shape[#shape - d], other[#other - d]
    if m ~= n and m ~= 1 and n ~= 1 then return false end
  end
  return true
end

-- Arrays of the pool, which mostly go together.
local function arrays_of(p, count)
  local a = p:any()
  local arrays = { a }
  for i = 2, count do
    arrays[i] = p:any_that(function(b) return go_together(a, b) end) or p:any()
  end
  return table.unpack(arrays)
end

-- Steps that are given arrays of the pool, and whose result is kept.
local function step_of(name, share, narrays, f)
  step(name, share, function(p) p:keep(f, p, arrays_of(p, narrays)) end)
end

-- Kernels of the program, and copies, come after what was queued before on the default stream.
local function in_order(f)
  return function(p, ...)
    p.streams.use(0)
    return f(p, ...)
  end
end

-- What f queues may fail: the step that queued it is told, not one that comes to wait for it.
local function to_the_end(f)
  return function(p, ...)
    local result = f(p, ...)
    if p.on_device then roc.current_device():synchronize() end
    return result
  end
end

-- Operations --------------------------------------------------------------------------------------

step("binary", 12, function(p) p:keep(p:pick(p.palette.binary), arrays_of(p, 2)) end)
step("with a number", 6, function(p)
  p:keep(p:pick(p.palette.binary), p:any(), p:pick(NUMBERS))
end)
step("unary", 6, function(p) p:keep(p:pick(p.palette.unary), p:any()) end)
step_of("several", 3, 2, function(_, a, b)
  return roc.math.exp(a * b + a) - b * 0.5 + roc.math.sqrt(a * b)
end)
step_of("choice", 2, 3, function(_, a, b, c) return roc.where(a:gt(0), b, c) end)
step_of("astype", 2, 1, function(p, a) return a:astype(p:pick(p.palette.dtypes)) end)
step("make", 3, function(p) p:keep(M.make, p) end)

-- Views -------------------------------------------------------------------------------------------

-- A key for the array's dimensions; `gathers`: one of them by an array.
local function key_of(p, a, gathers)
  local key, at = {}, gathers and math.random(a.ndim)
  for d, extent in ipairs(a.shape) do
    local kind = math.random(4)
    if d == at then
      local is_mask = math.random(2) == 1
      local values = {}
      for i = 1, is_mask and extent or extent > 0 and math.random(0, 5) or 0 do
        values[i] = is_mask and math.random(2) == 1
        if not is_mask then values[i] = math.random(extent) end
      end
      key[d] = p:moved(roc.array(values, is_mask and "bool" or "int64"))
    elseif kind == 1 or extent == 0 then
      key[d] = {}
    elseif kind == 2 then
      key[d] = math.random(extent)
    else
      local first = math.random(extent)
      key[d] = { first, math.random(first, extent), kind == 3 and 2 or 1 }
      if kind == 4 and math.random(3) == 1 then key[d] = { extent, 1, -1 } end
    end
  end
  return key
end

step_of("transpose", 2, 1, function(_, a) return a:transpose() end)
step_of("slice", 2, 1, function(_, a) return a:slice(1, 1, a.shape[1], math.random(2)) end)
step_of("reshape", 2, 1, function(_, a) return a:reshape(a.size) end)
step_of("flip", 2, 1, function(_, a) return a:flip { axis = math.random(a.ndim) } end)
step_of("select", 4, 1, in_order(function(p, a) return a[key_of(p, a)] end))
step_of("gather", 3, 1, function(p, a) return a[key_of(p, a, true)] end)
step_of("mask", 2, 2, function(_, a, b) return a[a:gt(b)] end)
step_of("mask of the whole", 2, 1, function(_, a) return a[a:ne(a.dtype.kind == "b" or 1)] end)

-- Writes ------------------------------------------------------------------------------------------

step("fill", 3, function(p)
  local a, value, stream = p:any(), math.random(5), p.streams.use()
  if a.dtype.kind == "b" then value = value > 2 end
  p:keep(function()
    if p.on_device then a:fill(value, stream) else a:fill(value) end
  end)
end)
step_of("assign a number", 3, 1, in_order(function(p, a) a[key_of(p, a)] = math.random(9) end))
step_of("assign", 4, 2, in_order(function(p, a, b)
  a[math.random(2) == 1 and {} or key_of(p, a)] = b:astype(a.dtype)
end))
step_of("assign of itself", 2, 1, in_order(function(_, a) a[{}] = a:flip { axis = 1 } + 1 end))
step_of("assign a row", 3, 2, in_order(function(_, a, b) a[{ 1 }] = b:astype(a.dtype)[{ 1 }] end))
step_of("scatter", 3, 2, in_order(function(p, a, b)
  local key = key_of(p, a, true)
  a[key] = math.random(2) == 1 and math.random(9) or b:astype(a.dtype)
end))
step_of("assign by a mask", 3, 2, in_order(function(_, a, b) a[a:gt(b)] = 2 end))
step_of("change in place", 3, 1, in_order(function(_, a)
  a[{}] = (a * 3 - 1):astype(a.dtype)
end))
step_of("set", 2, 1, in_order(function(_, a) a:reshape(a.size)[1] = 3 end))
step_of("fill a view", 2, 1, in_order(function(p, a)
  local view = a[key_of(p, a)]
  if type(view) == "userdata" then view:fill(7) end
end))

-- Kernels -----------------------------------------------------------------------------------------

local double = roc.kernel(function(a)
  local i = roc.get_global_id(1)
  if i <= #a then a[i] = a[i] + a[i] end
end)
local set_to_five = roc.kernel(function(a)
  local i = roc.get_global_id(1)
  if i <= #a then a[i] = 5 end
end)
local add = roc.kernel(function(o, x)
  local i = roc.get_global_id(1)
  if i <= #o then o[i] = o[i] + x[i] end
end)
local add_rows = roc.kernel(function(o, x)
  local i, j = roc.get_global_id(1), roc.get_global_id(2)
  if i <= o.shape[1] and j <= o.shape[2] then o[i][j] = o[i][j] + x[i][j] end
end)

local function is_numbers(a) return a.dtype.kind ~= "b" end

-- The addresses between which an array's elements lie.
local function span(a)
  local strides, first, last = a.strides, 0, 0
  for d, extent in ipairs(a.shape) do
    local reach = (extent - 1) * strides[d]
    if reach < 0 then first = first + reach else last = last + reach end
  end
  return a.pointer + first * a.dtype.itemsize, a.pointer + (last + 1) * a.dtype.itemsize
end

local function overlap(a, b)
  local a_first, a_end = span(a)
  local b_first, b_end = span(b)
  return a_first < b_end and b_first < a_end
end

-- Two arrays of the same shape and dtype, or nil: sometimes computed by the launch that gets them.
-- Work-items of `o[i] = o[i] + x[i]` would race where x is another view of o's memory.
local function alike(p, rank)
  local a = p:any_that(function(x) return x.ndim == rank and is_numbers(x) end)
  local b = a and p:any_that(function(x)
    return x.dtype == a.dtype and table.concat(x.shape, "x") == table.concat(a.shape, "x")
  end)
  if b and math.random(2) == 1 then return a + b, a * b end
  if b and overlap(a, b) then b = a end
  return a, b
end

step("kernel", 4, function(p)
  local a = p:any_that(function(x) return x.ndim == 1 and is_numbers(x) end)
  if a then p:keep(function() double:forall(#a, { stream = p.streams.use() })(a) end) end
end)
step("kernel of two", 4, function(p)
  local a, b = alike(p, 1)
  if b then p:keep(function() add:forall(#a, { stream = p.streams.use() })(a, b) end) end
end)
step("kernel of rows", 3, function(p)
  local a, b = alike(p, 2)
  if b then p:keep(function() add_rows:forall(a.shape, { stream = p.streams.use() })(a, b) end) end
end)
step_of("queued", 3, 1, function(p, a) -- what follows waits for it, or reads what it writes
  local flat = a:reshape(a.size)
  local on = p.stream
  if p.on_device then on = p.streams.use() end -- nil, the default one, is ordered, too
  set_to_five:forall(#flat, { stream = on })(flat)
end)
step_of("vectorize in place", 1, 1, in_order(function(_, a)
  return roc.vectorize(function(x) return x end)(a, { out = a })
end))
step_of("roc.reduce", 1, 1, in_order(function(_, a)
  return a.ndim == 1 and roc.reduce(function(x, y) return x + y end)(a, 0) or nil
end))
step("copy on a stream", 2, function(p)
  if not p.on_device then return end
  local a = p:any()
  p:keep(function()
    local copy = roc.device_array_like(a)
    a:copy_to_device(copy, p.streams.use())
    return copy
  end)
end)
step("close", 1, function(p)
  if not p.on_device then return end
  local closed, other = p:any(), p:any()
  p:keep(function() return closed:reshape(closed.size) + other end)
  for i, a in ipairs(p.pool) do
    if a == closed then p.pool[i] = M.make(p) end
  end
  closed:close()
end)

-- Looks -------------------------------------------------------------------------------------------

step("element", 3, function(p)
  local a = p:any_that(function(x) return x.ndim == 1 and x.size > 0 end)
  if a then p:see(a[math.random(#a)]) end
end)
step("all elements", 2, function(p) p:see(p:any()) end)
step_of("text", 1, 1, function(_, a) return tostring(a) end)
step_of("eval", 2, 1, function(_, a) return a:eval() end)
step_of("eval several", 3, 3, function(p, a, b, c)
  local sum = p:pick(p.palette.binary)(a, b)
  return (roc.eval(sum, p:pick(p.palette.binary)(sum, c), p:pick(p.palette.unary)(sum), b))
end)
step("eval on a stream", 1, function(p)
  local a, stream = p:any(), p.streams.use()
  if p.on_device then p:keep(a.eval, a, stream) end
end)
step_of("equal", 1, 2, function(_, a, b) return roc.array_equal(a, b) end)
step_of("copy", 1, 1, in_order(function(_, a) return roc.to_device(a):copy_to_host() end))

-- Reductions and sums -----------------------------------------------------------------------------

local function options_of(a)
  local axis = math.random(a.ndim + 1)
  return { axis = axis <= a.ndim and axis or nil, keep = math.random(2) == 1 }
end

step_of("reduce", 8, 1, in_order(function(p, a) return a[p:pick(REDUCTIONS)](a, options_of(a)) end))
step_of("reduce several", 3, 3, in_order(function(_, a, b, c) return (a * b + c):sum() end))
step_of("reduce together", 3, 2, in_order(function(p, a, b)
  local options, results = { axis = options_of(a).axis, keep = true }, {}
  for i = 1, 3 do
    local of = p:pick { a, b, a + 1 }
    results[i] = of[p:pick(REDUCTIONS)](of, options)
  end
  return (select(math.random(3), roc.eval(table.unpack(results))))
end))
step_of("softmax", 2, 1, in_order(function(_, a)
  local e = roc.math.exp(a - a:max { axis = a.ndim, keep = true })
  return e / e:sum { axis = a.ndim, keep = true }
end))
step_of("centred", 2, 1, in_order(function(_, a)
  local axis = math.random(a.ndim)
  return a - a:mean { axis = axis, keep = true }
end))
step_of("count equal", 2, 2, in_order(function(_, a, b) return a:eq(b):count() end))
step_of("dot", 2, 2, in_order(function(p, a, b)
  return (a + 1):dot(p:pick(p.palette.binary)(a, b))
end))
step_of("matmul", 2, 2, in_order(function(_, a, b) return a:matmul(b:transpose()) end))
step_of("cumulative", 2, 1, function(p, a)
  return a[p:pick { "cumsum", "diff", "cumprod" }](a, { axis = math.random(a.ndim) })
end)

-- Sorting, joining --------------------------------------------------------------------------------

step_of("sort", 3, 1, function(p, a)
  local descending = math.random(2) == 1
  return a[p:pick { "sort", "argsort" }](a, { descending = descending })
end)
step_of("topk", 1, 1, function(_, a) return (a:topk(math.random(3))) end)
step_of("unique", 1, 1, function(_, a) return a:unique() end)
step_of("searchsorted", 1, 2, function(_, a, b) return a:reshape(a.size):sort():searchsorted(b) end)
step_of("nonzero", 1, 1, function(_, a)
  return (a:ne(a.dtype.kind == "b" and false or 0):nonzero())
end)
-- A bin for each value up to the greatest, of few bytes.  The absolute value of the least integer
-- is negative, which is an error.
step_of("bincount", 1, 1, to_the_end(function(_, a)
  return roc.minimum(roc.math.abs(a), 100):bincount { first = 0 }
end))
step_of("histogram", 1, 1, function(_, a) return (a:histogram(4, { range = { -3, 3 } })) end)
step_of("concat", 2, 2, in_order(function(_, a, b) return roc.concat { a, b } end))
step_of("stack", 1, 2, in_order(function(_, a, b) return roc.stack { a, b } end))
step_of("roll", 1, 1, function(_, a) return a:roll(math.random(-3, 3), { axis = a.ndim }) end)
step_of("tile", 1, 1, function(_, a) return a.size < 500 and a:tile(2) or nil end)
step_of("pad", 1, 1, function(_, a) return a.size < 500 and a:pad(1) or nil end)

-- Random numbers ----------------------------------------------------------------------------------

step("uniform", 2, function(p) p:keep(function() return p.rng:uniform(p:pick(SHAPES)) end) end)
step("normal", 1, function(p)
  p:keep(function() return p.rng:normal(p:pick(SHAPES), p:pick { "float32", "float64" }) end)
end)
step("integers", 2, function(p)
  p:keep(function() return p.rng:integers(-9, 9, p:pick(SHAPES), p:pick { "int32", "int64" }) end)
end)
step_of("permutation", 1, 1, function(p, a) return p.rng:permutation(a) end)
step_of("random choice", 1, 1, function(p, a) return p.rng:choice(a, { 6 }) end)

-- Arrays of two sides, registered memory ----------------------------------------------------------

local function on_host(p, a) return p.on_device and a:copy_to_host() or a end

step_of("smart", 2, 1, in_order(function(p, a) return roc.smart_array(on_host(p, a)) + 1 end))
step_of("smart side", 2, 1, in_order(function(p, a)
  return roc.smart_array(on_host(p, a)):get "device"
end))
step_of("smart, written", 2, 2, in_order(function(p, a, b)
  local smart = roc.smart_array(on_host(p, a))
  local later = smart * 2
  if smart.ndim == 1 and is_numbers(smart) then
    double:forall(#smart, { stream = p.streams.use() })(smart)
  end
  if smart.size > 0 then smart[key_of(p, smart)] = 4 end
  p:see(smart:get "host")
  return p.on_device and later or later * b
end))
step_of("registered", 2, 1, in_order(function(p, a)
  if p.on_device then return end
  local later = a + 1
  local registration <close> = roc.register(a)
  assert(registration)
  local during = a * 2
  if a.ndim == 1 then double:forall(#a)(a) end
  p:see(during)
  return later
end))

-- The collector -----------------------------------------------------------------------------------

step("finalizer", 1, function(p)
  local a = p:any()
  setmetatable({}, { __gc = function() return a.device and a:copy_to_host() or a:copy() end })
end)
step("collect", 2, function() collectgarbage() end)
step("collect a step", 2, function() collectgarbage "step" end)

return M
