-- The functions that a kernel may call, as real Lua functions.
--
-- The compiler knows each of these by its value and never runs it; `sim` (and nothing else) does
-- run them: each uses the executing work-item, kept in `current`. Outside a kernel those that make
-- sense there (roc.math) work, the others raise an error. Written for clarity: this file and
-- sim.lua are the reference that every device is compared with.
local core = require "roc.core"

local M = {}

-- The executing work-item, or nil on the host.  Set by sim.lua around each resume.  Fields:
--   global_id, local_id: three numbers from 1; lane: number from 1
--   group: the workgroup (see sim.lua)
local current

function M.set_current(item)
  current = item
end

function M.current_item()
  return current
end

local function item_of(name)
  if not current then
    error(string.format("'%s' can only be called in a kernel", name), 3)
  end
  return current
end

local function bad_argument(n, name, expected, level)
  error(string.format("bad argument #%d to '%s' (%s)", n, name, expected), level or 3)
end

local function check_integer(v, n, name)
  if math.type(v) ~= "integer" then
    bad_argument(n, name, "integer expected, got " .. (math.type(v) or type(v)), 4)
  end
  return v
end

-- ids and sizes -----------------------------------------------------------------------------------

-- Per dimension; beyond the launch's rank an id and a size are 1, which is what the three-element
-- tables hold.
local function define_id(name, of)
  local full = "roc." .. name
  M[name] = function(d)
    local item = item_of(full)
    check_integer(d, 1, full)
    if d < 1 then
      error(string.format("'%s' counts dimensions from 1", full), 2)
    end
    return of(item)[d] or 1
  end
end

define_id("get_global_id", function(item) return item.global_id end)
define_id("get_local_id", function(item) return item.local_id end)
define_id("get_group_id", function(item) return item.group.id end)
define_id("get_global_size", function(item) return item.group.launch.grid end)
define_id("get_local_size", function(item) return item.group.launch.workgroup end)
define_id("get_num_groups", function(item) return item.group.launch.groups end)

function M.get_work_dim()
  return item_of("roc.get_work_dim").group.launch.rank
end

local function check_rank(n, name)
  check_integer(n, 1, name)
  if n < 1 or n > 3 then
    bad_argument(1, name, "1, 2 or 3 expected, got " .. n)
  end
end

-- Global ids of the first n dimensions: n results.
function M.grid(n)
  local item = item_of("roc.grid")
  check_rank(n, "roc.grid")
  return table.unpack(item.global_id, 1, n)
end

-- Extents of the launch's grid in the first n dimensions: n results.
function M.gridsize(n)
  local item = item_of("roc.gridsize")
  check_rank(n, "roc.gridsize")
  return table.unpack(item.group.launch.grid, 1, n)
end

-- meeting other work-items ------------------------------------------------------------------------

M.CLK_LOCAL_MEM_FENCE = 1
M.CLK_GLOBAL_MEM_FENCE = 2

-- Whether core.call_path distinguishes calls on one line, and recognises a repeated call.
local function tells_calls_apart()
  local first, second = core.call_path(), core.call_path()
  local again = {}
  for i = 1, 2 do again[i] = core.call_path() end
  return first < second and second < again[1] and again[1] == again[2]
end

-- The position of the call in the kernel's text, with all calls that lead to it; it identifies
-- barriers and wave operations: 16 digits for each function, the outermost first. Of two different
-- positions the smaller one is the earlier.
M.call_path = tells_calls_apart() and core.call_path or function()
  local lines, level = {}, 2
  local info = debug.getinfo(level, "l")
  while info do
    if info.currentline > 0 then
      table.insert(lines, 1, string.format("%016x", info.currentline))
    end
    level = level + 1
    info = debug.getinfo(level, "l")
  end
  return table.concat(lines)
end

local function check_fence(flags, name)
  if flags ~= nil and flags ~= 1 and flags ~= 2 and flags ~= 3 then
    bad_argument(1, name, "roc.CLK_LOCAL_MEM_FENCE, roc.CLK_GLOBAL_MEM_FENCE or both expected", 4)
  end
end

function M.barrier(flags)
  item_of("roc.barrier")
  check_fence(flags, "roc.barrier")
  coroutine.yield("barrier", "barrier", M.call_path(), flags)
end

function M.wavebarrier()
  item_of("roc.wavebarrier")
  coroutine.yield("wave", "barrier", M.call_path())
end

-- Work-items of sim run one at a time, so that every access is already in order; races are looked
-- for as if they were not.
function M.mem_fence(flags)
  local item = item_of("roc.mem_fence")
  check_fence(flags, "roc.mem_fence")
  item.group.launch.watch:fence(item)
end

function M.wavefront_size()
  return item_of("roc.wavefront_size").group.launch.wave_size
end

function M.lane_id()
  return item_of("roc.lane_id").lane
end

-- Wave operations: each lane passes its operands and waits until all lanes of the wavefront have;
-- then `result` is called once with lanes: an array of {lane =, [1] =, [2] = …} in lane order, and
-- the wavefront's width, and returns a function from such an entry to that lane's result.
M.wave_results = {}
M.wave = {}

local function define_wave(name, result, full)
  full = full or "roc.wave." .. name
  M.wave_results[name] = result
  M.wave[name] = function(...)
    item_of(full)
    return coroutine.yield("wave", name, M.call_path(), ...)
  end
end

local function by_lane(lanes)
  local map = {}
  for _, entry in ipairs(lanes) do
    map[entry.lane] = entry
  end
  return map
end

-- The value that lane `from(entry)` passed; for a lane that is absent or out of range, the lane's
-- own value.
local function define_shuffle(name, from)
  define_wave(name, function(lanes)
    local map = by_lane(lanes)
    return function(entry)
      local source = map[from(entry)]
      return (source or entry)[1]
    end
  end)
end

define_shuffle("shuffle", function(entry) return entry[2] end)
define_shuffle("broadcast", function(entry) return entry[2] end)
define_shuffle("shuffle_up", function(entry) return entry.lane - entry[2] end)
define_shuffle("shuffle_down", function(entry) return entry.lane + entry[2] end)
define_shuffle("shuffle_xor", function(entry) return ((entry.lane - 1) ~ entry[2]) + 1 end)

-- One result for all lanes, folded in lane order.
local function define_fold(name, fold)
  define_wave(name, function(lanes, width)
    local value = fold(lanes, width)
    return function() return value end
  end)
end

define_fold("ballot", function(lanes)
  local bits = 0
  for _, entry in ipairs(lanes) do
    if entry[1] then
      bits = bits | 1 << (entry.lane - 1)
    end
  end
  return bits
end)

define_fold("any", function(lanes)
  for _, entry in ipairs(lanes) do
    if entry[1] then
      return true
    end
  end
  return false
end)

define_fold("all", function(lanes)
  for _, entry in ipairs(lanes) do
    if not entry[1] then
      return false
    end
  end
  return true
end)

-- A tree over neighbours, then neighbouring pairs, …; an absent lane counts as `nothing` of
-- its type, the neutral element. `round` is the identity, or rounding to float32 when the
-- typed kernel says that the operand is one.
local function define_reduction(name, nothing, combine)
  define_fold(name, function(lanes, width)
    local absent = nothing[math.type(lanes[1][1])]
    local round = lanes[1][2] or function(x) return x end
    local values = {}
    for lane = 1, width do values[lane] = absent end
    for _, entry in ipairs(lanes) do values[entry.lane] = entry[1] end
    while #values > 1 do
      local pairs_of_lanes = {}
      for i = 1, #values, 2 do
        pairs_of_lanes[#pairs_of_lanes + 1] = round(combine(values[i], values[i + 1]))
      end
      values = pairs_of_lanes
    end
    return values[1]
  end)
end

define_reduction("sum", { integer = 0, float = -0.0 }, function(a, b) return a + b end)
define_reduction("min", { integer = math.maxinteger, float = math.huge },
  function(a, b) return b < a and b or a end)
define_reduction("max", { integer = math.mininteger, float = -math.huge },
  function(a, b) return a < b and b or a end)

local function wrap_lane(lane, width)
  return (lane - 1) % width + 1
end

define_wave("ds_permute", function(lanes, width)
  local received = {}
  for _, entry in ipairs(lanes) do -- in lane order: the highest pushing lane wins
    received[wrap_lane(entry[1], width)] = entry[2]
  end
  return function(entry)
    local value = received[entry.lane]
    if value ~= nil then
      return value
    end
    local nothing = { integer = 0, float = 0.0 }
    return nothing[math.type(entry[2])] or false
  end
end, "roc.ds_permute")

define_wave("ds_bpermute", function(lanes, width)
  local map = by_lane(lanes)
  return function(entry)
    local source = map[wrap_lane(entry[1], width)]
    return (source or entry)[2]
  end
end, "roc.ds_bpermute")

define_wave("activelanepermute_wavewidth", function(lanes)
  local map = by_lane(lanes)
  return function(entry)
    local src, lane, identity, use_identity = entry[1], entry[2], entry[3], entry[4]
    if use_identity then
      return identity
    end
    local source = map[lane]
    return source and source[1] or src
  end
end, "roc.activelanepermute_wavewidth")

define_wave("barrier", function()
  return function() end
end)

-- Printed kernels call this around barriers and wave operations: the items of the group, or of the
-- wavefront, meet and check that `value` is true for all or for none; each gets its own value.
M.wave_results.agree = function()
  return function(entry) return entry[2] end
end

function M.agree(kind, value)
  item_of("agree")
  local truth = value == nil and "end" or value and true or false
  return coroutine.yield(kind, "agree", M.call_path(), truth, value)
end

-- numba.roc's names for three of them live in roc itself.
for _, name in ipairs { "ds_permute", "ds_bpermute", "activelanepermute_wavewidth" } do
  local permute = M.wave[name]
  M.wave[name] = nil
  M[name] = permute
end
M.wave.barrier = nil

-- memory of a kernel ------------------------------------------------------------------------------

-- Shared arrays are one per workgroup and textual place: sim's typed kernels pass the place, a raw
-- one is known by the call. Contents start undefined; sim fills them with a value that is
-- recognisable when it is used.
M.shared = {}
M.private = {}
M.const = {}

function M.shared.array(shape, dtype, first_byte)
  local group = item_of("roc.shared.array").group
  if shape == 0 then
    return group:dynamic_array(dtype, first_byte or 0)
  end
  return group:shared_array(string.sub(M.call_path(), -32, -17), shape, dtype) -- in the caller
end

function M.private.array(shape, dtype)
  return item_of("roc.private.array").group:new_array(shape, dtype, "private array", "private")
end

-- A read-only array of a table's values, copied when a kernel that uses it is made.
function M.const.array(t, dtype)
  local ok, result = pcall(core.array, t, dtype)
  if not ok then
    error(type(result) == "string" and string.gsub(result, "to '[^']*'", "to 'roc.const.array'", 1)
      or result, 2)
  end
  return result
end

-- atomics -----------------------------------------------------------------------------------------

-- sim runs one work-item at a time and switches only at barriers and wave operations: read,
-- compute, write is atomic.
M.atomic = {}

-- The row or array and last index that `index` (an integer or a table of one per dimension) names.
local function locate(array, index)
  if type(index) ~= "table" then
    return array, index
  end
  for d = 1, #index - 1 do
    array = array[index[d]]
  end
  return array, index[#index]
end

local function update(combine, array, index, a, b)
  local row, last = locate(array, index)
  local dtype, old = row.dtype, row[last]
  row[last] = combine(old, a and dtype(a), b and dtype(b), dtype)
  return old
end

-- Returns the results of pcall. An error loses its position: sim adds that of the kernel.
local function placed(ok, result)
  if ok then return result end
  error(type(result) == "string" and string.gsub(result, "^.-:%d+: ", "", 1) or result, 0)
end

local function atomically(item, f, ...)
  item.is_atomic = true
  local ok, result = pcall(f, ...)
  item.is_atomic = false
  return placed(ok, result)
end

-- combine(old, a, b, dtype) returns the new value; the operands are of the element type.
local function define_atomic(name, combine)
  local full = "roc.atomic." .. name
  M.atomic[name] = function(array, index, a, b)
    return atomically(item_of(full), update, combine, array, index, a, b)
  end
end

-- Integers compare as the element type does: uint64 as unsigned; narrower unsigned ones load as
-- positive integers.
local function less(a, b, dtype)
  if dtype.name == "uint64" then
    return math.ult(a, b)
  end
  return a < b
end

-- The bits of an integer element as an unsigned number that math.ult orders.
local function unsigned(v, dtype)
  return dtype.itemsize == 4 and v & 0xffffffff or v
end

local FLOAT_FORMAT = { float32 = "<f", float64 = "<d" }

local function same_bits(a, b, dtype)
  local format = FLOAT_FORMAT[dtype.name]
  if format then
    return string.pack(format, a) == string.pack(format, b)
  end
  return unsigned(a, dtype) == unsigned(b, dtype)
end

define_atomic("add", function(old, v) return old + v end)
define_atomic("sub", function(old, v) return old - v end)
define_atomic("min", function(old, v, _, dtype) return less(v, old, dtype) and v or old end)
define_atomic("max", function(old, v, _, dtype) return less(old, v, dtype) and v or old end)
define_atomic("exch", function(_, v) return v end)
define_atomic("and_", function(old, v) return old & v end)
define_atomic("or_", function(old, v) return old | v end)
define_atomic("xor", function(old, v) return old ~ v end)
define_atomic("cas", function(old, expected, desired, dtype)
  return same_bits(old, expected, dtype) and desired or old
end)
define_atomic("inc", function(old, bound, _, dtype)
  return math.ult(unsigned(old, dtype), unsigned(bound, dtype)) and old + 1 or 0
end)
define_atomic("dec", function(old, bound, _, dtype)
  old, bound = unsigned(old, dtype), unsigned(bound, dtype)
  return (old == 0 or math.ult(bound, old)) and bound or old - 1
end)
define_atomic("load", function(old) return old end)
M.atomic.store = function(array, index, value)
  return atomically(item_of("roc.atomic.store"), function()
    local row, last = locate(array, index)
    row[last] = value
  end)
end

-- math --------------------------------------------------------------------------------------------

-- Real functions on the host too; those on floats take integers as well, as Lua's own do.
M.math = {}

for _, name in ipairs {
  "exp2", "log2", "log10", "log1p", "expm1", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
  "cbrt", "hypot", "rsqrt", "pow",
  "fma", "erf", "erfc", "gamma", "lgamma", "trunc", "round", "copysign",
} do
  M.math[name] = core.math[name]
end

for _, name in ipairs { "popcount", "clz", "ctz", "bitreverse" } do
  M.math[name] = core.bits[name]
end

for name, f in pairs(core.tests) do
  M.math[name] = f
end

-- Lua's own that apply to elements: in kernels they are those of `math`.
M.math_aliases = {} -- function -> path

for name, f in pairs(core.library_math) do
  M.math[name], M.math_aliases[f] = f, "math." .. name
end

return M
