-- The one tree in which reductions combine, on every device, of whole arrays and of lines along an
-- axis; its form depends on the number of elements alone:
--
--   a chunk of 4096 elements: 64 lanes, of which lane l combines elements l, l + 64, …
--   -> neighbouring lanes in pairs, then neighbouring results, until one is left
--   -> neighbouring chunks in pairs, and so on
--
-- What has no neighbour passes to the next level unchanged.
--
-- An array is seen as lines: `x[line][k]`.  A workgroup has a chunk of a line; a second launch
-- combines 64 chunks of a line in a workgroup, and so on until each line has one value.  A line of
-- at most 64 elements is a work-item's, which combines in the same order.
local generated = require "roc.arrays.generated"
local support = require "roc.builders.support"

support.library()

local M = {}

local LANES = 64
local CHUNK = 4096

-- A reduction combines one field or several (a value and its place).  In its texts `v`, `w` are the
-- first field of two operands, the earlier one `v`; `at_v`, `at_w` the second.
local FIELDS = { { "v", "w" }, { "at_v", "at_w" } }

-- The variables of all fields for an operand (1: the earlier), each formatted, joined by ", ".
local function each(count, operand, format)
  local parts = {}
  for f = 1, count do
    parts[f] = string.format((string.gsub(format, "#", f)), FIELDS[f][operand])
  end
  return table.concat(parts, ", ")
end

local WORKGROUP = [[
function($params)
  $shared
  local lane, group = roc.get_local_id(1), roc.get_group_id(1)
  local n = x1.shape[2]
  local chunks = (n + $chunk - 1) // $chunk
  local line, before = (group - 1) // chunks + 1, (group - 1) % chunks * $chunk
  local live = math.min(n - before, $chunk)
  if line <= x1.shape[1] and lane <= live then
    local k = before + lane
    $load_first
    while k + 64 <= before + live do
      k = k + 64
      $load_next
      $combine
    end
    $part_lane = $first_fields
  end
  live = math.min(live, 64)
  for level = 0, 5 do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    local from = (level & 1) * 64
    local half = live >> 1
    if lane <= half then
      local $first_fields = $part_left
      local $second_fields = $part_right
      $combine
      $part_next = $first_fields
    elseif lane == half + 1 and live & 1 == 1 then
      $part_next = $part_left
    end
    live = half + (live & 1)
  end
  if lane == 1 and line <= x1.shape[1] then
    $results = $part_one
  end
end]]

-- A line of at most 64 elements: results of 1, 2, 4 … neighbours wait for their neighbours.
local ITEM = [[
function($params)
  $private
  local line = roc.get_global_id(1)
  local n = x1.shape[2]
  if line <= x1.shape[1] and n <= 64 then
    for k = 1, n do
      $load_first
      local level, place = 1, k
      while place & 1 == 0 do
        local $second_fields = $first_fields
        $first_fields = $part_level
        $combine
        level, place = level + 1, place >> 1
      end
      $part_level = $first_fields
    end
    local level, rest = 1, n
    while rest & 1 == 0 do level, rest = level + 1, rest >> 1 end
    local $first_fields = $part_level
    rest = rest >> 1
    while rest > 0 do
      level = level + 1
      if rest & 1 == 1 then
        local $second_fields = $first_fields
        $first_fields = $part_level
        $combine
      end
      rest = rest >> 1
    end
    $results = $first_fields
  end
end]]

local function memory_text(reduction, kind, size)
  local lines = {}
  for f, dtype in ipairs(reduction.fields) do
    lines[f] = string.format("local part%d = roc.%s.array(%d, %q)", f, kind, size, dtype.name)
  end
  return table.concat(lines, "\n  ")
end

local function text_of(reduction, template, chunk, load, inputs)
  local count = #reduction.fields
  local params = support.names("x", inputs)
  table.move(support.names("result", count), 1, count, inputs + 1, params)
  local one = template == ITEM and "line" or "group"
  local values = {
    params = table.concat(params, ", "),
    shared = memory_text(reduction, "shared", 2 * LANES),
    private = memory_text(reduction, "private", 7),
    chunk = chunk,
    load_first = load("v", "at_v"),
    load_next = load("w", "at_w"),
    combine = reduction.combine,
    first_fields = each(count, 1, "%s"),
    second_fields = each(count, 2, "%s"),
    part_lane = each(count, 1, "part#[lane]"),
    part_left = each(count, 1, "part#[from + 2 * lane - 1]"),
    part_right = each(count, 1, "part#[from + 2 * lane]"),
    part_next = each(count, 1, "part#[64 - from + lane]"),
    part_one = each(count, 1, "part#[1]"),
    part_level = each(count, 1, "part#[level]"),
    results = each(count, 1, "result#[" .. one .. "]"),
  }
  return (string.gsub(template, "%$([%a_]+)", function(name) return values[name] end))
end

-- The kernel of one level.
local function kernel_of(reduction, is_short, chunk, load, inputs)
  local key = string.format("%s %s %d %d", reduction.key, is_short, chunk, inputs)
  return generated.kept(key, function()
    local text = text_of(reduction, is_short and ITEM or WORKGROUP, chunk, load, inputs)
    return generated.kernel(text, "", reduction.name, not is_short and LANES or nil)
  end)
end

-- Launches one level: inputs of lines by n, results of lines by chunks.
local function level(reduction, inputs, lines, n, chunk, load, is_device)
  local chunks = (n + chunk - 1) // chunk
  local args, results = {}, {}
  for i, input in ipairs(inputs) do args[i] = support.input(input) end
  for f, dtype in ipairs(reduction.fields) do
    results[f] = support.new_array(is_device, lines * chunks, dtype)
    args[#args + 1] = support.output(results[f], true)
  end
  local is_short = n <= LANES
  local kernel = kernel_of(reduction, is_short, chunk, load, #inputs)
  if is_short then
    kernel:forall(lines)(table.unpack(args))
  else
    kernel:launch({ groups = lines * chunks, workgroup = LANES }, table.unpack(args))
  end
  return results, chunks
end

local function load_partial(count)
  return function(v, at)
    return string.format("local %s = %s", count == 1 and v or v .. ", " .. at,
      each(count, 1, "x#[line][k]"))
  end
end

---Reduces each line of the inputs.
---@param reduction table `fields` (dtypes), `load` (a function of two names: text that declares
---them from x1[line][k] …), `combine` (text that combines w into v), `name`, `key` (tells it apart)
---@param inputs roc.AnyArray[] of lines by n, n > 0
---@param is_device boolean
---@return roc.AnyArray[] one a field, of shape {lines}
function M.reduce(reduction, inputs, is_device)
  local lines, n = inputs[1].shape[1], inputs[1].shape[2]
  local results, chunks = level(reduction, inputs, lines, n, CHUNK, reduction.load, is_device)
  while chunks > 1 do
    for f, result in ipairs(results) do results[f] = result:reshape(lines, chunks) end
    results, chunks = level(reduction, results, lines, chunks, LANES,
      load_partial(#reduction.fields), is_device)
  end
  return results
end

return M
