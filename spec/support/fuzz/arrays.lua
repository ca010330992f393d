-- Random programs of array expressions, run twice: each operation computed at once, and when it is
-- needed. What they see must be the same, to the bit; but a NaN is a NaN.
local roc = require "roc"
local core = require "roc.core"

local M = {}

local EAGER = math.maxinteger

local DTYPES = { "float32", "float64", "int32", "int8", "uint64", "float16", "bool", "int64",
  "bfloat16", "uint16" }
-- Divisors without 0: where an error comes depends on when an operation is computed.
local function divisor(b) return roc.where(b:eq(0), 3, b) end

local BINARY = {
  function(a, b) return a + b end, function(a, b) return a - b end,
  function(a, b) return a * b end, function(a, b) return a / b end,
  function(a, b) return a:lt(b) end, function(a, b) return a:ge(b) end,
  function(a, b) return a:eq(b) end, function(a, b) return roc.maximum(a, b) end,
  function(a, b) return roc.minimum(a, b) end, function(a, b) return a & b end,
  function(a, b) return a ~ b end, function(a, b) return a << b end,
  function(a, b) return roc.where(a:gt(b), a, b) end, function(a, b) return a ^ b end,
  function(a, b) return a // divisor(b) end, function(a, b) return a % divisor(b) end,
}
local UNARY = {
  function(a) return -a end, function(a) return roc.math.abs(a) end,
  function(a) return roc.math.floor(a) end, function(a) return ~a end,
  function(a) return roc.math.sqrt(a) end, function(a) return a ^ 2 end,
  function(a) return roc.math.isnan(a) end, function(a) return roc.math.exp(a) end,
  function(a) return a // 3 end, function(a) return a % -7 end,
}
local NUMBERS = { 0, 1, 2, -3, 2.5, 0.1, 100, 1 / 0, true, 65537, -0.0 }
local SHAPES = { { 4, 6 }, { 6 }, { 4, 1 }, { 1 }, { 6, 4 }, { 4 }, { 2, 4, 6 }, { 70 }, { 4, 70 },
  { 70, 6 }, { 4200 } }
local REDUCTIONS = { "sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "norm",
  "any", "all", "count" }

local double = roc.kernel(function(a)
  local i = roc.get_global_id(1)
  if i <= #a then a[i] = a[i] + a[i] end
end)

local set_to_five = roc.kernel(function(a)
  local i = roc.get_global_id(1)
  if i <= #a then a[i] = 5 end
end)

local function plain(value)
  if math.type(value) ~= "float" then return tostring(value) end
  return value ~= value and "nan" or string.format("%a", value)
end

-- Streams of which each is ordered after the one that was used before.
local function streams_of(on_device)
  local device = roc.current_device()
  local own, last = {}, nil
  if on_device then own = { roc.stream(), roc.stream() } end
  local function close()
    device:synchronize()
    for _, stream in ipairs(own) do stream:close() end
  end
  -- The stream to be used now: one of several, or that of a number; 0: the default one, as nil.
  local function use(number)
    if not on_device then return nil end
    local stream = own[number or math.random(0, 2)]
    if stream ~= last then
      local event = roc.event():record(last)
      if stream then stream:wait(event) else event:synchronize() end
    end
    last = stream
    return stream
  end
  return setmetatable({ use = use }, { __close = close })
end

local function moved(a, on_device)
  if on_device then return roc.to_device(a) end
  return a
end

local function bytes(a)
  local flat, texts = (a.device and a:copy_to_host() or a:copy()):ravel(), {}
  for i = 1, #flat do texts[i] = plain(flat[i]) end
  return a.dtype.name .. table.concat(a.shape, "x") .. ":" .. table.concat(texts, " ")
end

-- Runs the program of a seed; returns what it saw.  `on_device`: with device arrays, whose kernels
-- and copies run on several streams, which events order; expressions order themselves.
function M.run(seed, steps, on_device)
  math.randomseed(seed)
  local random, seen, pool = math.random, {}, {}
  local function pick(list) return list[random(#list)] end
  local streams <close> = streams_of(on_device)
  local function make()
    local shape, size, values = pick(SHAPES), 1, {}
    for _, extent in ipairs(shape) do size = size * extent end
    local dtype = pick(DTYPES)
    for i = 1, size do
      if dtype == "bool" then values[i] = random(2) == 1
      elseif dtype:find "float" then values[i] = random(-40, 40) / 8
      else values[i] = random(-40, 40) end
    end
    return moved(roc.array(values, dtype):reshape(shape), on_device)
  end
  for i = 1, 5 do pool[i] = make() end
  local function see(...) seen[#seen + 1] = table.concat({ ... }, " ") end
  local function keep(ok, value)
    if not ok then
      see((tostring(value):gsub("^.-:%d+: ", "")))
    elseif type(value) == "userdata" then
      pool[random(#pool < 12 and #pool + 1 or #pool)] = value
    end
  end
  local function reduce()
    streams.use(0)
    local a, name = pick(pool), pick(REDUCTIONS)
    local axis = random(a.ndim + 1)
    local options = { axis = axis <= a.ndim and axis or nil, keep = random(2) == 1 }
    keep(pcall(function()
      local result = a[name](a, options)
      if type(result) == "userdata" then return result end
      see(plain(result))
    end))
  end
  local actions = {
    function() keep(pcall(pick(BINARY), pick(pool), pick(pool))) end,
    function() keep(pcall(pick(BINARY), pick(pool), pick(pool))) end,
    function() keep(pcall(pick(BINARY), pick(pool), pick(pool))) end,
    function() keep(pcall(pick(BINARY), pick(pool), pick(NUMBERS))) end,
    function() keep(pcall(pick(BINARY), pick(pool), pick(NUMBERS))) end,
    function() keep(pcall(pick(UNARY), pick(pool))) end,
    function() keep(pcall(pick(UNARY), pick(pool))) end,
    function() keep(true, make()) end,
    function() keep(pcall(function() return pick(pool):transpose() end)) end,
    function() local a = pick(pool) keep(pcall(a.slice, a, 1, 1, a.shape[1], random(2))) end,
    function() local a = pick(pool) keep(pcall(function() return a:reshape(a.size) end)) end,
    function() local a = pick(pool) keep(pcall(function() return a[{ 1 }] end)) end,
    function()
      local a, value, stream = pick(pool), random(5), streams.use()
      keep(pcall(function()
        if on_device then a:fill(value, stream) else a:fill(value) end
      end))
    end,
    function()
      local a, n = pick(pool), random(9)
      streams.use(0)
      keep(pcall(function() a[{ {} }] = n end))
    end,
    function()
      local a, b = pick(pool), pick(pool)
      streams.use(0)
      keep(pcall(function() a[{ {} }] = b end))
    end,
    function()
      local a = pick(pool)
      if a.ndim == 1 and a.dtype.kind ~= "b" then
        keep(pcall(function() double:forall(#a, { stream = streams.use() })(a) end))
      end
    end,
    function() local a = pick(pool) if a.ndim == 1 then see(plain(a[random(#a)])) end end,
    function() see(bytes(pick(pool))) end,
    reduce, reduce, reduce,
    function()
      local a, b, c = pick(pool), pick(pool), pick(pool)
      streams.use(0)
      keep(pcall(function() see(plain((a * b + c):sum())) end))
      keep(pcall(function() see(plain(a:eq(b):count())) end))
    end,
    function()
      local a, b = pick(pool), pick(pool)
      streams.use(0)
      keep(pcall(function() see(plain((a + 1):dot(pick(BINARY)(a, b)))) end))
    end,
    function() local a = pick(pool) keep(pcall(function() return roc.smart_array(a) end)) end,
    function()
      local a = pick(pool)
      keep(pcall(function() return roc.smart_array(a):get "device" end))
    end,
    function()
      local a = pick(pool)
      keep(pcall(function()
        local registration <close> = roc.register(a)
        assert(registration)
        if a.ndim == 1 then double:forall(#a, { stream = streams.use() })(a) end
      end))
    end,
    function()
      local a = pick(pool)
      keep(pcall(function() return roc.to_device(a):copy_to_host() end))
    end,
  }
  local stream <close> = roc.stream()
  local add = roc.kernel(function(o, x)
    local i = roc.get_global_id(1)
    if i <= #o then o[i] = o[i] + x[i] end
  end)
  local more = {
    function() -- a kernel that reads one array and changes another, on some stream
      local a, b = pick(pool), pick(pool)
      local is_fine = a.ndim == 1 and b.ndim == 1 and #a == #b and a.dtype == b.dtype
        and a.dtype.kind ~= "b"
      if on_device and is_fine then
        keep(pcall(function() add:forall(#a, { stream = streams.use() })(a, b) end))
      end
    end,
    function() -- copies on some stream
      local a = pick(pool)
      if not on_device then return end
      keep(pcall(function()
        local copy = roc.device_array_like(a)
        a:copy_to_device(copy, streams.use())
        return copy
      end))
    end,
    function() -- computed on some stream
      local a, s = pick(pool), streams.use()
      if on_device then keep(pcall(function() return a:eval(s) end)) end
    end,
    function() -- work that is queued: what follows waits for it, or reads what it writes
      local a = pick(pool)
      keep(pcall(function()
        local flat = a:reshape(a.size)
        local on = stream
        if on_device then on = streams.use() end -- nil, the default one, is ordered, too
        set_to_five:forall(#flat, { stream = on })(flat)
      end))
    end,
    function() -- a finalizer that looks
      local a = pick(pool)
      setmetatable({}, { __gc = function() return a.device and a:copy_to_host() or a:copy() end })
    end,
    function() collectgarbage() end,
    function() collectgarbage "step" end,
    function()
      local a, b = pick(pool), pick(pool)
      keep(pcall(function() return roc.math.exp(a * b + a) - b * 0.5 + roc.math.sqrt(a * b) end))
    end,
    function() keep(pcall(function() return pick(pool):astype(pick(DTYPES)) end)) end,
    function()
      local a, b = pick(pool), pick(pool)
      streams.use(0)
      keep(pcall(function() a[{ 1 }] = b[{ 1 }] end))
    end,
    function()
      local a = pick(pool)
      streams.use(0)
      keep(pcall(function() return roc.vectorize(function(x) return x end)(a, { out = a }) end))
    end,
    function()
      local a = pick(pool)
      streams.use(0)
      keep(pcall(function() return roc.concat { a, a } end))
    end,
    function() keep(pcall(function() return pick(pool):eval() end)) end,
    function() local a = pick(pool) keep(pcall(function() a:reshape(a.size)[1] = 3 end)) end,
  }
  table.move(more, 1, #more, #actions + 1, actions)
  for _ = 1, steps do
    pick(actions)()
    for i, a in ipairs(pool) do
      if a.device and not on_device then
        pool[i] = a:copy_to_host()
      elseif on_device and not a.device then
        pool[i] = roc.to_device(a)
      end
    end
  end
  for i = 1, #pool do see(bytes(pool[i])) end
  return seen
end

-- Whether the program of a seed sees the same in both ways; or what differs. `work`: that makes a
-- structure a kernel (core.testing.lazy).
function M.compare(seed, steps, work, on_device)
  local least, usual = core.testing.lazy(EAGER, EAGER)
  collectgarbage()
  local expected = M.run(seed, steps, on_device)
  core.testing.lazy(1, work)
  collectgarbage(seed % 3 == 0 and "generational" or "incremental")
  collectgarbage("setpause", seed % 2 == 0 and 10 or 200)
  local ok, got = pcall(M.run, seed, steps, on_device)
  core.testing.lazy(least, usual)
  collectgarbage "generational"
  collectgarbage("setpause", 200)
  if not ok then return false, string.format("seed %d: %s", seed, got) end
  for i = 1, math.max(#expected, #got) do
    if expected[i] ~= got[i] then
      return false, string.format("seed %d, line %d: %q computed at once, %q later", seed, i,
        tostring(expected[i]), tostring(got[i]))
    end
  end
  return true
end

return M
