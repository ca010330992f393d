-- Random programs of array expressions, run twice: each operation computed at once, and when it is
-- needed. What they see must be the same, to the bit; but a NaN is a NaN.
local roc = require "roc"
local core = require "roc.core"
local steps = require "support.fuzz.array_steps"

local M = {}

local EAGER = math.maxinteger

-- Neighbouring seeds share dtypes and operations, whose kernels are made once.
local SEEDS_OF_A_PALETTE = 512

local function plain(value)
  if math.type(value) ~= "float" then return tostring(value) end
  return value ~= value and "nan" or string.format("%a", value)
end

local function bytes(a)
  local flat, texts = (a.device and a:copy_to_host() or a:copy()):ravel(), {}
  for i = 1, #flat do texts[i] = plain(flat[i]) end
  return a.dtype.name .. table.concat(a.shape, "x") .. ":" .. table.concat(texts, " ")
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

local program = {} -- what the steps are given; see array_steps.lua
program.__index = program

function program.pick(_, list) return list[math.random(#list)] end

function program:any() return self:pick(self.pool) end

-- An array of the pool with such a property, if a few tries find one.
function program:any_that(is_fine)
  for _ = 1, 6 do
    local a = self:any()
    if is_fine(a) then return a end
  end
end

-- Notes what the program sees: numbers, and the elements of arrays.
function program:see(...)
  local texts = table.pack(...)
  for i = 1, texts.n do
    texts[i] = type(texts[i]) == "userdata" and bytes(texts[i]) or plain(texts[i])
  end
  self.seen[#self.seen + 1] = table.concat(texts, " ")
end

-- Calls f: an array goes to the pool, where it may replace another; a number or an error is seen,
-- but not which of a GPU's work-items came first with it.
function program:keep(f, ...)
  local is_fine, value = pcall(f, ...)
  if not is_fine then
    local text = string.gsub(tostring(value), "^.-:%d+: ", "")
    self:see((string.gsub(text, " %(work%-item .*$", "")))
  elseif type(value) == "userdata" then
    self.pool[math.random(#self.pool < 12 and #self.pool + 1 or #self.pool)] = value
  elseif value ~= nil then
    self:see(value)
  end
end

-- The array where the program's arrays are.
function program:moved(a)
  if self.on_device == (a.device ~= nil) then return a end
  return self.on_device and roc.to_device(a) or a:copy_to_host()
end

local function new_program(seed, on_device, streams)
  math.randomseed(seed // SEEDS_OF_A_PALETTE)
  local p = setmetatable({ seen = {}, pool = {}, trace = {}, on_device = on_device or false,
    streams = streams }, program)
  p.palette = steps.palette(p)
  math.randomseed(seed)
  p.rng = roc.rng(seed, { device = on_device and roc.current_device() or nil })
  for i = 1, 5 do p.pool[i] = steps.make(p) end
  return p
end

-- Runs the program of a seed; returns what it saw, and the names of its steps.  `on_device`: with
-- device arrays, whose kernels and copies run on several streams, which events order; expressions
-- order themselves.  `before_step`: called with the number of each step, if given.
function M.run(seed, count, on_device, before_step)
  local streams <close> = streams_of(on_device)
  local stream <close> = roc.stream()
  local p = new_program(seed, on_device, streams)
  p.stream = stream
  for i = 1, count do
    local name = p:pick(steps.names)
    p.trace[i] = string.format("%s (line %d)", name, #p.seen + 1)
    if before_step then before_step(i) end
    steps.all[name](p)
    for k, a in ipairs(p.pool) do p.pool[k] = p:moved(a) end
  end
  for i = 1, #p.pool do p:see(p.pool[i]) end
  return p.seen, p.trace
end

-- Most structures are met once, and their kernels take most of the time: so they are made in a
-- quarter of the steps, and used in all.
local function makes_kernels(seed, i) return (seed + i * 5) % 16 < 4 end

-- The program computed later, while the collector works in a way that depends on the seed: now and
-- then, all the time, or also in the midst of roclua's own Lua code.
local function run_later(seed, count, work, on_device)
  collectgarbage(seed % 3 == 0 and "generational" or "incremental")
  collectgarbage("setpause", seed % 4 == 0 and 10 or 200)
  if seed % 5 == 0 then
    debug.sethook(function() collectgarbage "step" end, "", 100 + seed % 997)
  end
  local ok, seen = pcall(M.run, seed, count, on_device, function(i)
    core.testing.lazy(1, makes_kernels(seed, i) and work or EAGER)
  end)
  debug.sethook()
  collectgarbage "generational"
  collectgarbage("setpause", 200)
  return ok, seen
end

-- Whether the program of a seed sees the same in each way; or what differs, and in which way.
-- `works`: each that makes a structure a kernel (core.testing.lazy).
function M.compare(seed, count, works, on_device)
  local least, usual = core.testing.lazy(EAGER, EAGER)
  local restored <close> = setmetatable({}, { __close = function() -- luacheck: ignore
    core.testing.lazy(least, usual)
  end })
  local ran, expected, trace = pcall(M.run, seed, count, on_device)
  if not ran then return false, string.format("seed %d, at once: %s", seed, expected), works[1] end
  for _, work in ipairs(works) do
    core.testing.lazy(1, EAGER)
    local ok, got = run_later(seed, count, work, on_device)
    if not ok then return false, string.format("seed %d, work %d: %s", seed, work, got), work end
    for i = 1, math.max(#expected, #got) do
      if expected[i] ~= got[i] then
        return false, string.format("seed %d, work %d, line %d: %q computed at once, %q later\n%s",
          seed, work, i, tostring(expected[i]), tostring(got[i]), table.concat(trace, "\n")), work
      end
    end
  end
  return true
end

-- Why the program of a seed, cut where it still differs, does.
function M.shrink(seed, count, work, on_device)
  for n = 0, count do
    local ok, why = M.compare(seed, n, { work }, on_device)
    if not ok then return string.format("with %d steps: %s", n, why) end
  end
  return "not seen again"
end

return M
