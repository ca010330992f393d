-- The one tree in which reductions combine, on every device, of whole arrays and of lines along an
-- axis; its form depends on the number of elements alone:
--
--   a chunk of 4096 elements: 64 lanes, of which lane l combines elements l, l + 64, …
--   -> neighbouring lanes in pairs, then neighbouring results, until one is left
--   -> neighbouring chunks in pairs, and so on
--
-- What has no neighbour passes to the next level unchanged.
--
-- An array is seen as lines: `x[line][k]`.  One that is pending is computed while it is combined:
-- its element is then a text, of the elements of the arrays that it depends on.
--
-- A workgroup has a chunk of a line; a second launch combines 64 chunks of a line in a workgroup,
-- and so on until each line has one value.  A line of at most 64 elements is a work-item's, which
-- combines in the same order.
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local loops = require "roc.builders.loops"
local support = require "roc.builders.support"
local views = require "roc.arrays.views"

support.library()

local M = {}

local LANES = 64
local CHUNK = 4096
local COLUMNS_SIZE = 256 -- items of a workgroup that has lines side by side

-- A reduction combines one field or several (a value and its place).  In its texts `v`, `w` are the
-- first field of two operands, `v` that of the lower lane; `at_v`, `at_w` the second.  `in_order`
-- is the text for elements that follow each other, where it differs from `combine`.
local FIELDS = { { "v", "w" }, { "at_v", "at_w" } }

---The variables of all fields for an operand (1: the earlier), each formatted, joined by ", ".
---@param count integer
---@param operand integer
---@param format string
---@return string
function M.each(count, operand, format)
  local parts = {}
  for f = 1, count do
    parts[f] = string.format((string.gsub(format, "#", f)), FIELDS[f][operand])
  end
  return table.concat(parts, ", ")
end

local each = M.each

-- How the lines of a level are reduced; the names are short, as kernels are found by them.
local WORKGROUP, COLUMNS, ITEM = "workgroup", "columns", "item"
local SIDE_BY_SIDE, SIDE_BY_SIDE_EXACT = "side by side", "side by side, exact"

local TEXTS = {}

-- Lanes are combined from one half of 128 elements into the other.  The masks of their indices,
-- which change none, let the compiler eliminate the checks, and so run items side by side.
TEXTS[WORKGROUP] = [[
function($params)
  $shared
  local lane, group = roc.get_local_id(1), roc.get_group_id(1)
  local n = $n
  local chunks = (n + $chunk - 1) // $chunk
  local line, before = (group - 1) // chunks + 1, (group - 1) % chunks * $chunk
  local live = math.min(n - before, $chunk)
  $indices
  if $guard and lane <= live then
    local k = before + lane
    $load_first
    $first_rounds
    for k = k + 64$after_rounds, before + live, 64 do
      $load_next
      $in_order
    end
    $part_lane = $first_fields
  end
  for level = 0, 5 do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    local from = (level & 1) * 64
    local left = (math.min(live, 64) - 1 >> level) + 1
    local half = left >> 1
    if lane <= half then
      local $first_fields = $part_left
      local $second_fields = $part_right
      $combine
      $part_next = $first_fields
    end
    if lane == half + 1 and left & 1 == 1 then
      $part_next = $part_left
    end
  end
  if lane == 1 and line <= $lines and group <= #result1 then
    $results = $part_one
  end
end]]

-- On GPUs 9 elements of a lane are loaded at a time: of the 64 of a whole chunk none is left after
-- the first one and these rounds.  A processor's vectors do not need them.
local ROUND = 9
local FIRST_ROUNDS = [[
    for first = k + 64, before + live - 512, 576 do
      $each_of_lane
    end]]

local EACH_OF_LANE = [[
      do
        local k = first + (# - 1) * 64
        $load_next
        $in_order
      end]]

-- A chunk of 32 lines is a workgroup's, for GPUs, where lines lie side by side: neighbouring items
-- have neighbouring lines.  An item has 8 lanes of its line, an eighth of them (`strip`), and
-- combines these; then the strips are combined in shared memory.
TEXTS[COLUMNS] = [[
function($params)
  $strips
  $accumulators
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  local strip = item - 1 >> 5
  local n = $n
  local chunks, blocks = (n + $chunk - 1) // $chunk, ($lines + 31) // 32
  local chunk, line = (group - 1) // blocks, (group - 1) % blocks * 32 + (item - 1 & 31) + 1
  local before, lane = chunk * $chunk, strip * 8
  local live = math.min(n - before, $chunk)
  local is_live = false
  if $guard and lane < live then
    is_live = true
    $each_first
    for first = before + lane + 64, before + live - 8, 64 do
      $each_next
    end
    local first = before + lane + 64 * math.max(1, (live - lane + 56) // 64)
    $each_rest
    $each_pair
    $part_item = $accumulated_one
  end
  for level = 0, 2 do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    local distance = 1 << level
    if is_live and strip & 2 * distance - 1 == 0 and (strip + distance) * 8 < live then
      local $first_fields = $part_item
      local $second_fields = $part_other
      $combine
      $part_item = $first_fields
    end
  end
  local at = (line - 1) * chunks + chunk + 1
  if is_live and strip == 0 and at <= #result1 then
    $results = $part_item
  end
end]]

-- Of the item's lane #.
local EACH_FIRST = [[
    do
      local k = before + math.min(lane + #, live)
      $load_first
      $accumulated = $first_fields
    end]]

local EACH_NEXT = [[
      do
        local k = first + #
        local $first_fields = $accumulated
        $load_next
        $in_order
        $accumulated = $first_fields
      end]]

local EACH_REST = "    if first + # <= before + live then\n" .. EACH_NEXT .. "\n    end"

-- Of lanes # and # + $distance.
local EACH_PAIR = [[
    if lane + # + $distance <= live then
      local $first_fields = $accumulated
      local $second_fields = $accumulated_next
      $combine
      $accumulated = $first_fields
    end]]

-- A line of at most 64 elements: results of 1, 2, 4 … neighbours wait for their neighbours.
TEXTS[ITEM] = [[
function($params)
  $private
  local line = roc.get_global_id(1)
  local n = $n
  $indices
  if $guard and n <= 64 then
    for k = 1, n do
      $load_first
      local level, place = 1, k
      while place & 1 == 0 do
        local $second_fields = $first_fields
        $first_fields = $part_level
        $in_order
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
        $in_order
      end
      rest = rest >> 1
    end
    $results = $first_fields
  end
end]]

-- A chunk of a line is a work-item's, whose neighbours have the neighbouring lines: for processors,
-- where lines lie side by side in memory, as the columns of a matrix do.  So its rows are read as
-- they lie, into 64 lanes of each line.
TEXTS[SIDE_BY_SIDE] = [[
function($params)
  $lanes
  local line, chunk = roc.get_global_id(1), roc.get_global_id(2) - 1
  local n = $n
  local before = chunk * $chunk
  local live = math.min(n - before, $chunk)
  if $guard and live > 0 then
    local width = math.min(live, 64)
    for lane = 1, width do
      local k = before + lane
      $load_first
      $part_lane = $first_fields
    end
    for rest = 65, live do
      local k, lane = before + rest, (rest - 1 & 63) + 1
      local $first_fields = $part_lane
      $load_next
      $combine
      $part_lane = $first_fields
    end
    while width > 1 do
      local half = width >> 1
      for lane = 1, half do
        local $first_fields = $part_odd
        local $second_fields = $part_even
        $combine
        $part_lane = $first_fields
      end
      if width & 1 == 1 then
        local lane = half + 1
        $part_lane = $part_width
      end
      width = width - half
    end
    local chunks = (n + $chunk - 1) // $chunk
    local at = (line - 1) * chunks + chunk + 1
    if at <= #result1 then $results = $part_one end
  end
end]]

-- The same where any tree gives the same bits: the elements are combined one after the other.
TEXTS[SIDE_BY_SIDE_EXACT] = [[
function($params)
  local line, chunk = roc.get_global_id(1), roc.get_global_id(2) - 1
  local n = $n
  local before = chunk * $chunk
  local live = math.min(n - before, $chunk)
  if $guard and live > 0 then
    local k = before + 1
    $load_first
    for k = before + 2, before + live do
      $load_next
      $in_order
    end
    local chunks = (n + $chunk - 1) // $chunk
    local at = (line - 1) * chunks + chunk + 1
    if at <= #result1 then $results = $first_fields end
  end
end]]

local function memory_text(reduction, kind, size, name)
  local lines = {}
  for f, dtype in ipairs(reduction.fields) do
    lines[f] = string.format("local %s%d = roc.%s.array(%d, %q)", name or "part", f, kind, size,
      dtype.name)
  end
  return table.concat(lines, "\n  ")
end

-- Where the elements of a level are: `params`, and texts: of `n`, of `lines`, of the `indices` of a
-- line, of the `guard` with which they are in range, and of the `elements` and what is `before`.
local function in_memory(inputs)
  local elements = {}
  for i = 1, inputs do elements[i] = string.format("x%d[line][k]", i) end
  return { params = support.names("x", inputs), n = "x1.shape[2]", lines = "x1.shape[1]",
    indices = "", guard = "line <= x1.shape[1]", before = "", elements = elements }
end

---The condition of a graph's kernel on the indices of a line, the length of a line, and the extents
---of the loops.
---@param leaves table[]
---@param rank integer
---@return string
---@return string
---@return string[]
function M.bounds_of(leaves, rank)
  local conditions, lengths, extents = { "line <= lines" }, {}, {}
  for _, leaf in ipairs(leaves) do
    local dimension = 0
    for l = 1, rank do
      if leaf.walks[l] then
        dimension = dimension + 1
        local extent = string.format("%s.shape[%d]", leaf.name, dimension)
        extents[l] = extent
        if l == rank then
          lengths[#lengths + 1] = extent
        else
          conditions[#conditions + 1] = string.format("i%d <= %s", l, extent)
        end
      end
    end
    if dimension == 0 then
      conditions[#conditions + 1] = string.format("1 <= #%s", leaf.name)
    end
  end
  local n = table.concat(lengths, ", ")
  return table.concat(conditions, " and "), #lengths > 1 and "math.min(" .. n .. ")" or n, extents
end

local function in_graph(graph)
  local rank, leaves = #graph.extents, elementwise.leaves(graph.leaves, graph.walks)
  local guard, n, extents = M.bounds_of(leaves, rank)
  local params = support.names("x", graph.leaves)
  table.move(support.names("s", graph.scalars), 1, graph.scalars, #params + 1, params)
  local indices = rank == 1 and ""
    or "local row = line\n" .. loops.outer_indices(rank, function(l) return extents[l] end)
  local lines = elementwise.graph_lines(graph.nodes, leaves)
  table.insert(lines, 1, string.format("local i%d = k", rank))
  local elements = {}
  for i, root in ipairs(graph.roots) do elements[i] = string.gsub(root, "^x", "e") end
  return { params = params, last = "lines", n = n, lines = "lines", indices = indices,
    guard = guard, before = table.concat(lines, "\n      ") .. "\n      ", elements = elements }
end

-- Adds the texts that are repeated for the elements and lanes of an item.
local function add_repeated(values, count)
  local function of_lane(text, lane, distance)
    local lanes = { accumulated = each(count, 1, "acc#[" .. lane .. "]"), distance = distance,
      accumulated_next = distance and each(count, 1, "acc#[" .. lane + distance .. "]") }
    return (string.gsub(string.gsub(text, "#", lane), "%$([%a_]+)", lanes))
  end
  local function of_lanes(text, lanes)
    local parts = {}
    for lane = 1, lanes or 8 do parts[lane] = of_lane(text, lane) end
    return table.concat(parts, "\n")
  end
  values.each_of_lane = of_lanes(EACH_OF_LANE, ROUND)
  values.each_first, values.each_next = of_lanes(EACH_FIRST), of_lanes(EACH_NEXT)
  values.each_rest = of_lanes(EACH_REST)
  local pairs_of = {}
  for level = 0, 2 do
    for lane = 1, 8, 2 << level do
      pairs_of[#pairs_of + 1] = of_lane(EACH_PAIR, lane, 1 << level)
    end
  end
  values.each_pair = table.concat(pairs_of, "\n")
end

local function has_rounds()
  local kind = core.current_device().kind
  return kind ~= "cpu" and kind ~= "sim"
end

local function text_of(reduction, template, chunk, load, source)
  local count = #reduction.fields
  local params = table.move(source.params, 1, #source.params, 1, {})
  table.move(support.names("result", count), 1, count, #params + 1, params)
  params[#params + 1] = source.last
  local are_in_rounds = has_rounds() and chunk == CHUNK
  local one = template == ITEM and "line" or template == WORKGROUP and "group" or "at"
  local values = {
    params = table.concat(params, ", "),
    n = source.n,
    lines = source.lines,
    indices = source.indices,
    guard = source.guard,
    shared = memory_text(reduction, "shared", 2 * LANES),
    private = memory_text(reduction, "private", 7),
    strips = memory_text(reduction, "shared", COLUMNS_SIZE),
    accumulators = memory_text(reduction, "private", 8, "acc"),
    first_rounds = are_in_rounds and FIRST_ROUNDS or "",
    after_rounds = are_in_rounds and " + (live - lane) // 576 * 576" or "",
    lanes = memory_text(reduction, "private", LANES),
    chunk = chunk,
    load_first = source.before .. load("v", "at_v", source.elements),
    load_next = source.before .. load("w", "at_w", source.elements),
    combine = reduction.combine,
    in_order = reduction.in_order or reduction.combine,
    first_fields = each(count, 1, "%s"),
    second_fields = each(count, 2, "%s"),
    part_lane = each(count, 1, "part#[lane]"),
    part_left = each(count, 1, "part#[(from + 2 * lane - 2 & 127) + 1]"),
    part_right = each(count, 1, "part#[(from + 2 * lane - 1 & 127) + 1]"),
    part_odd = each(count, 1, "part#[2 * lane - 1]"),
    part_even = each(count, 1, "part#[2 * lane]"),
    part_width = each(count, 1, "part#[width]"),
    part_next = each(count, 1, "part#[(63 - from + lane & 127) + 1]"),
    part_one = each(count, 1, "part#[1]"),
    part_level = each(count, 1, "part#[level]"),
    part_item = each(count, 1, "part#[item]"),
    part_other = each(count, 1, "part#[(item + 32 * distance - 1 & 255) + 1]"),
    accumulated_one = each(count, 1, "acc#[1]"),
    results = each(count, 1, "result#[" .. one .. "]"),
  }
  add_repeated(values, count)
  return support.fill_in(TEXTS[template], values)
end

local WORKGROUP_SIZES = { [WORKGROUP] = LANES, [COLUMNS] = COLUMNS_SIZE } -- else any

-- The kernel of one level.
local function kernel_of(reduction, template, chunk, load, inputs)
  local key = string.format("%s %s %d %d %s", reduction.key, template, chunk, inputs, has_rounds())
  return generated.kept(key, function()
    local text = text_of(reduction, template, chunk, load, in_memory(inputs))
    return generated.kernel(text, "", reduction.name, WORKGROUP_SIZES[template], true)
  end)
end

-- Whether neighbouring lines of all inputs are neighbours in memory, and enough for a device that
-- reduces them side by side.
local function lie_side_by_side(inputs, lines, n)
  local kind = core.current_device().kind
  if n <= LANES or kind == "sim" or kind ~= "cpu" and lines < 8 then return false end
  for _, input in ipairs(inputs) do
    local strides = input.strides
    if strides[1] ~= 1 or strides[2] == 1 then return false end
  end
  return true
end

local function new_results(reduction, count, is_device)
  local results = {}
  for f, dtype in ipairs(reduction.fields) do
    results[f] = support.new_array(is_device, count, dtype)
  end
  return results
end

local function template_of(reduction, inputs, lines, n)
  if n <= LANES then return ITEM end
  if not lie_side_by_side(inputs, lines, n) then return WORKGROUP end
  if core.current_device().kind ~= "cpu" then return COLUMNS end
  return reduction.is_exact and SIDE_BY_SIDE_EXACT or SIDE_BY_SIDE
end

-- Launches one level: inputs of lines by n, results of lines by chunks.
local function level(reduction, inputs, results, lines, n, chunk, load)
  local args = {}
  for i, input in ipairs(inputs) do args[i] = support.input(input) end
  for _, result in ipairs(results) do args[#args + 1] = support.output(result, true) end
  local template = template_of(reduction, inputs, lines, n)
  local kernel = kernel_of(reduction, template, chunk, load, #inputs)
  local chunks = (n + chunk - 1) // chunk
  if template == ITEM then
    kernel:forall(lines)(table.unpack(args))
  elseif template == WORKGROUP then
    kernel:launch({ groups = lines * chunks, workgroup = LANES }, table.unpack(args))
  elseif template == COLUMNS then
    kernel:launch({ groups = (lines + 31) // 32 * chunks, workgroup = COLUMNS_SIZE },
      table.unpack(args))
  else
    kernel:forall(lines, chunks)(table.unpack(args))
  end
end

local function load_partial(count)
  return function(v, at)
    return string.format("local %s = %s", count == 1 and v or v .. ", " .. at,
      each(count, 1, "x#[line][k]"))
  end
end

-- The array as lines along the axis, of shape {lines, n}: a view where it can be one.
local function lines_of(array, axis)
  if not axis then return array:ravel():reshape(1, array.size) end
  local shape, axes, lines = array.shape, {}, 1
  for k, extent in ipairs(shape) do
    if k ~= axis then axes[#axes + 1], lines = k, lines * extent end
  end
  axes[#shape] = axis
  local moved = #shape > 1 and array:transpose(axes) or array
  return (views.reshaped(moved, { lines, shape[axis] }))
end

-- Of what is pending, the first level; false: the arrays are to be reduced as memory.
local function reduce_pending(reduction, arrays, axis, results, lines, n)
  local function fused(graph)
    local is_short = n <= LANES
    local text = text_of(reduction, is_short and ITEM or WORKGROUP, CHUNK, reduction.load,
      in_graph(graph))
    return generated.fresh(text, reduction.name, not is_short and LANES or nil)
  end
  -- Columns are quicker to compute as memory, and then to reduce side by side.
  local are_columns = axis == 1 and arrays[1].ndim == 2
    and lie_side_by_side({ arrays[1]:transpose() }, lines, n)
  local key = has_rounds() and reduction.key .. " in rounds" or reduction.key
  return not are_columns and core.reduce_pending(key, arrays, axis, results, fused)
end

-- The first level of arrays in memory.
local function reduce_memory(reduction, arrays, axis, results, lines, n)
  local inputs = {}
  for i, array in ipairs(arrays) do inputs[i] = lines_of(array, axis) end
  level(reduction, inputs, results, lines, n, CHUNK, reduction.load)
end

---All levels of a host array on `cpu`, by the runtime, which waits for the array.
---@param op string of core.reduce_lines
---@param array roc.Array
---@param axis? integer
---@param lines integer
---@param dtype roc.DType of the results
---@param ddof? integer
---@return roc.Array of shape {lines}
function M.reduce_on_host(op, array, axis, lines, dtype, ddof)
  local result = support.new_array(false, lines, dtype)
  core.reduce_lines(op, axis and array or array:ravel(), axis, result, ddof)
  return result
end

local function reduce_op(reduction, array, axis, lines)
  local at = reduction.result or 1
  return { [at] = M.reduce_on_host(reduction.op, array, axis, lines, reduction.fields[at]) }
end

---Reduces each line of arrays of one shape.
---@param reduction table `fields` (dtypes), `load` (a function of two names and the texts of the
---arrays' elements: text that declares the names), `combine` (text that combines w into v),
---`is_exact` (every tree gives the same bits), `name`, `key` (tells it apart), `op` (of
---core.reduce_lines, which has it for one array)
---@param arrays roc.AnyArray[]
---@param axis? integer along which a line is; else all elements are one, in C order
---@param lines integer > 0
---@param n integer > 0, the elements of a line
---@param is_device boolean
---@return roc.AnyArray[] one a field, or that of the result alone, of shape {lines}
function M.reduce(reduction, arrays, axis, lines, n, is_device)
  local is_host = reduction.op and not is_device and core.current_device().kind == "cpu"
  if is_host and not core.is_pending(arrays[1]) then
    return reduce_op(reduction, arrays[1], axis, lines)
  end
  local chunks = (n + CHUNK - 1) // CHUNK
  local results = new_results(reduction, lines * chunks, is_device)
  if not reduce_pending(reduction, arrays, axis, results, lines, n) then
    if is_host then return reduce_op(reduction, arrays[1], axis, lines) end
    reduce_memory(reduction, arrays, axis, results, lines, n)
  end
  while chunks > 1 do
    local inputs = {}
    for f, result in ipairs(results) do inputs[f] = result:reshape(lines, chunks) end
    n, chunks = chunks, (chunks + LANES - 1) // LANES
    results = new_results(reduction, lines * chunks, is_device)
    level(reduction, inputs, results, lines, n, LANES, load_partial(#reduction.fields))
  end
  return results
end

return M
