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
-- A workgroup has a chunk of a line, or on GPUs four; a second launch combines 64 results of a line
-- in a workgroup, and so on until each line has one value.  A line of at most 64 elements is a
-- work-item's, which combines in the same order.
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local lanes = require "roc.arrays.lanes"
local loops = require "roc.builders.loops"
local marks = require "roc.builders.marks"
local support = require "roc.builders.support"
local views = require "roc.arrays.views"

support.library()

local M = {}

local LANES = 64
local CHUNK = 4096
local TILE_CHUNKS = 4 -- of a workgroup, on a GPU where there are many
local COLUMNS_SIZE = 256 -- items of a workgroup that has lines side by side

---What specs change: how many chunks are many, and the most workgroups of a launch that has all
---levels, as they wait for each other at their ends.
M.limits = { many_chunks = 256, at_once = 2048 }

local each = lanes.each

-- How the lines of a level are reduced; the names are short, as kernels are found by them.
local WORKGROUP, TILE, COLUMNS, ITEM = "workgroup", "tile", "columns", "item"
local SIDE_BY_SIDE, SIDE_BY_SIDE_EXACT = "side by side", "side by side, exact"

local TEXTS = {}

-- Items are combined from one half of 128 elements into the other.  The masks of their indices,
-- which change none, let the compiler eliminate the checks, and so run items side by side.
TEXTS[WORKGROUP] = [[
function($params)
  $shared
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  local n = $n
  local chunks = (n + $chunk - 1) // $chunk
  local line, before = (group - 1) // chunks + 1, (group - 1) % chunks * $chunk
  local live = math.min(n - before, $chunk)
  $indices
  if $guard and item <= live then
    local k = before + item
    $load_first
    for k = k + 64, before + live, 64 do
      $load_next
      $in_order
    end
    $part_item = $first_fields
  end
$levels
$finish
end]]

local LEVELS = [[
  for level = 0, 5 do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    local from = (level & 1) * 64
    local left = (math.min(live, 64) - 1 >> level) + 1
    local half = left >> 1
    if item <= half then
      local $first_fields = $part_left
      local $second_fields = $part_right
      $combine
      $part_next = $first_fields
    end
    if item == half + 1 and left & 1 == 1 then
      $part_next = $part_left
    end
  end]]

-- On GPUs a workgroup has 64 items for each of $chunks chunks.  Of a whole one all elements are
-- loaded in a row, so that many are under way together.
TEXTS[TILE] = [[
function($params)
  $shared_if_all
  $memory
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  local lane, chunk = item - 1 & 63, item - 1 >> 6
  local n = $n
  local chunks = (n + $tile - 1) // $tile
  local line, before = (group - 1) // chunks + 1, (group - 1) % chunks * $tile
  local live = math.min(n - before, $tile)
  local first = before + chunk * 4096 + lane + 1
  $indices
  if $guard and live == $tile then
$each_of_item
  elseif $guard and first <= n then
    do
      local k = first
      $load_first
      $accumulated = $first_fields
    end
    for k = first + 64, math.min(first + 4032, n), 64 do
      local $first_fields = $accumulated
      $load_next
      $in_order
      $accumulated = $first_fields
    end
  end
$combine_lanes
$finish
end]]

local FIRST_OF_ITEM = [[
    do
      local k = first
      $load_first
      $accumulated = $first_fields
    end]]

local NEXT_OF_ITEM = [[
    do
      local k = first + $distance
      local $first_fields = $accumulated
      $load_next
      $in_order
      $accumulated = $first_fields
    end]]

local FINISH = [[
  if item == 1 and line <= $lines and group <= #result1 then
    $results = $own_fields
  end]]

-- All levels of one line in a launch, for GPUs: the last of 64 workgroups to count combines their
-- values, and then is one of the workgroups of the next level.  The values of all levels follow
-- each other in `parts`.  The launch's number stands above a count, so that it counts from 0
-- whatever was there before.
local FINISH_ALL = [[
  local counted = roc.shared.array(1, "int64")
  local at, count, first_part, first_mark, goes_on = group, chunks, 0, 0, true
  if item == 1 then $part_one = $own_fields end
  while goes_on do
    local node = at - 1 >> 6
    local width = math.min(count - node * 64, 64)
    if item == 1 then
      local own, mark = first_part + at, first_mark + node + 1
      if count == 1 and #result1 > 0 then $results_one = $part_one end
      if count > 1 and own <= #parts1 and mark <= #marks then
        $parts_own = $part_one
        roc.mem_fence(roc.CLK_GLOBAL_MEM_FENCE)
        roc.atomic.max(marks, mark, launch << 32)
        counted[1] = roc.atomic.add(marks, mark, 1) - (launch << 32) + 1
      end
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    goes_on = count > 1 and counted[1] == width
    if goes_on then
      roc.mem_fence(roc.CLK_GLOBAL_MEM_FENCE)
      local from = first_part + node * 64 + item
      if item <= width and from <= #parts1 then $part_item = $parts_from end
      first_part, first_mark, live = first_part + count, first_mark + (count + 63 >> 6), width
      at, count = node + 1, count + 63 >> 6
$levels
    end
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

---The `load` of a reduction that counts what is true.
function M.load_condition(v, _, elements)
  return string.format("local %s = 0\n      if %s then %s = 1 end", v, elements[1], v)
end

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

---The same of a graph of one line or several: `before` computes element `k` of a line.
---@param graph table as core.run_pending has it
---@return table
function M.in_graph(graph)
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
  local function of_lanes(text)
    local parts = {}
    for lane = 1, 8 do parts[lane] = of_lane(text, lane) end
    return table.concat(parts, "\n")
  end
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

local function is_gpu()
  local kind = core.current_device().kind
  return kind ~= "cpu" and kind ~= "sim"
end

-- Adds what TILE has beside the other templates, of so many chunks.
local function add_tile(values, reduction, chunks)
  local form, memory = { name = "", chunks = chunks, n = "live" }, {}
  lanes.memory(reduction, form, memory)
  values.tile, values.memory = chunks * CHUNK, table.concat(memory, "\n  ")
  values.accumulated = lanes.accumulated(reduction, form)
  local names
  values.combine_lanes, names = lanes.combine(reduction, form)
  values.own_fields = table.concat(names, ", ")
  local parts = { FIRST_OF_ITEM }
  for k = 2, CHUNK // LANES do
    parts[k] = support.fill_in(NEXT_OF_ITEM, { distance = (k - 1) * LANES })
  end
  values.each_of_item = table.concat(parts, "\n")
end

-- The text of a template.  `chunk`: the elements of a workgroup or item, of TILE its chunks.
local function text_of(reduction, template, chunk, load, source, has_all)
  local count = #reduction.fields
  local params = table.move(source.params, 1, #source.params, 1, {})
  table.move(support.names("result", count), 1, count, #params + 1, params)
  if has_all then
    table.move(support.names("parts", count), 1, count, #params + 1, params)
    params[#params + 1] = "marks"
  end
  params[#params + 1] = source.last
  if has_all then params[#params + 1] = "launch" end
  local is_of_groups = template == WORKGROUP or template == TILE
  local one = template == ITEM and "line" or is_of_groups and "group" or "at"
  local shared = memory_text(reduction, "shared", 2 * LANES)
  local values = {
    params = table.concat(params, ", "),
    n = source.n,
    lines = source.lines,
    indices = source.indices,
    guard = source.guard,
    shared = shared,
    shared_if_all = has_all and shared or "",
    private = memory_text(reduction, "private", 7),
    strips = memory_text(reduction, "shared", COLUMNS_SIZE),
    accumulators = memory_text(reduction, "private", 8, "acc"),
    lanes = memory_text(reduction, "private", LANES),
    chunk = chunk,
    load_first = source.before .. load("v", "at_v", source.elements),
    load_next = source.before .. load("w", "at_w", source.elements),
    combine = reduction.combine,
    in_order = reduction.in_order or reduction.combine,
    first_fields = each(count, 1, "%s"),
    second_fields = each(count, 2, "%s"),
    part_lane = each(count, 1, "part#[lane]"),
    part_left = each(count, 1, "part#[(from + 2 * item - 2 & 127) + 1]"),
    part_right = each(count, 1, "part#[(from + 2 * item - 1 & 127) + 1]"),
    part_odd = each(count, 1, "part#[2 * lane - 1]"),
    part_even = each(count, 1, "part#[2 * lane]"),
    part_width = each(count, 1, "part#[width]"),
    part_next = each(count, 1, "part#[(63 - from + item & 127) + 1]"),
    part_one = each(count, 1, "part#[1]"),
    part_level = each(count, 1, "part#[level]"),
    part_item = each(count, 1, "part#[item]"),
    part_other = each(count, 1, "part#[(item + 32 * distance - 1 & 255) + 1]"),
    accumulated_one = each(count, 1, "acc#[1]"),
    results = each(count, 1, "result#[" .. one .. "]"),
    results_one = each(count, 1, "result#[1]"),
    parts_own = each(count, 1, "parts#[own]"),
    parts_from = each(count, 1, "parts#[from]"),
    own_fields = each(count, 1, "part#[1]"),
    levels = LEVELS,
    finish = has_all and FINISH_ALL or FINISH,
  }
  add_repeated(values, count)
  if template == TILE then add_tile(values, reduction, chunk) end
  return support.fill_in(TEXTS[template], values)
end

-- Items of a workgroup; nil: any.
local function workgroup_of(template, chunk)
  if template == TILE then return chunk * LANES end
  return template == WORKGROUP and LANES or template == COLUMNS and COLUMNS_SIZE or nil
end

-- The kernel of one level, or of all.
local function kernel_of(reduction, template, chunk, load, inputs, has_all)
  local key = string.format("%s %s %d %d %s", reduction.key, template, chunk, inputs, has_all)
  return generated.kept(key, function()
    local text = text_of(reduction, template, chunk, load, in_memory(inputs), has_all)
    return generated.kernel(text, "", reduction.name, workgroup_of(template, chunk), true)
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

-- `given`: arrays that take the values of some fields, if these are the last.
local function new_results(reduction, count, is_device, given)
  local results = {}
  for f, dtype in ipairs(reduction.fields) do
    results[f] = given and given[f] or support.new_array(is_device, count, dtype)
  end
  return results
end

local function template_of(reduction, inputs, lines, n)
  if n <= LANES then return ITEM end
  if not lie_side_by_side(inputs, lines, n) then return WORKGROUP end
  if core.current_device().kind ~= "cpu" then return COLUMNS end
  return reduction.is_exact and SIDE_BY_SIDE_EXACT or SIDE_BY_SIDE
end

-- Lanes exchange no bool.
local function has_lanes(reduction)
  for _, dtype in ipairs(reduction.fields) do
    if dtype.kind == "b" then return false end
  end
  return is_gpu()
end

-- The template of a level of n elements a line whose items are lanes of a chunk; and the chunk, as
-- text_of has it.
local function of_groups(reduction, n, chunk, tile)
  if chunk == CHUNK and n >= CHUNK and has_lanes(reduction) then return TILE, tile end
  return WORKGROUP, chunk
end

-- The arguments of a level: inputs that are read, arrays that are written.  One of these that is
-- pending is not to be computed first.
local function arguments(inputs, outputs)
  local args = {}
  for i, input in ipairs(inputs) do args[i] = support.input(input) end
  for _, output in ipairs(outputs) do
    args[#args + 1] = core.is_pending(output) and core.New(output) or support.output(output, true)
  end
  return args
end

-- Launches one level: inputs of lines by n, results of lines by chunks, or (CHUNK) tiles of chunks.
local function level(reduction, inputs, results, lines, n, chunk, load, tile)
  local args = arguments(inputs, results)
  local template = template_of(reduction, inputs, lines, n)
  local chunks, size = (n + chunk - 1) // chunk, chunk
  if template == WORKGROUP then
    template, size = of_groups(reduction, n, chunk, tile)
    chunks = (chunks + tile - 1) // tile
  end
  local kernel, workgroup = kernel_of(reduction, template, size, load, #inputs),
    workgroup_of(template, size)
  if template == COLUMNS then
    kernel:launch({ groups = (lines + 31) // 32 * chunks, workgroup = workgroup },
      table.unpack(args))
  elseif workgroup then
    kernel:launch({ groups = lines * chunks, workgroup = workgroup }, table.unpack(args))
  elseif template == ITEM then
    kernel:forall(lines)(table.unpack(args))
  else
    kernel:forall(lines, chunks)(table.unpack(args))
  end
end

local function load_partial(count)
  return function(v)
    return string.format("local %s = %s", each(count, v == "v" and 1 or 2, "%s"),
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

-- What tells kernels of a reduction apart, for core.run_pending; each text is made once.
local function key_of(reduction, template, workgroup, has_all)
  local keys = reduction.keys
  if not keys then
    keys = {}
    reduction.keys = keys
  end
  local at = workgroup * 2 + (has_all and 1 or 0)
  local of_template = keys[template]
  if not of_template then
    of_template = {}
    keys[template] = of_template
  end
  local key = of_template[at]
  if not key then
    key = string.format("%s %s %d %s", reduction.key, template, workgroup, has_all)
    of_template[at] = key
  end
  return key
end

-- A launch over what is pending: the first level, or (`own`: the marks) over any elements, all
-- levels.  False: the arrays are to be reduced as memory.
local function reduce_pending(reduction, arrays, axis, outputs, lines, n, tile, own)
  local template, chunk = ITEM, CHUNK
  if n > LANES then template, chunk = of_groups(reduction, n, CHUNK, tile) end
  local workgroup = workgroup_of(template, chunk)
  local function fused(graph)
    local text = text_of(reduction, template, chunk, reduction.load, M.in_graph(graph),
      own ~= nil)
    return generated.fresh(text, reduction.name, workgroup, true)
  end
  -- Columns are quicker to compute as memory, and then to reduce side by side.
  local are_columns = axis == 1 and arrays[1].ndim == 2
    and lie_side_by_side({ arrays[1]:transpose() }, lines, n)
  if are_columns then return false end
  local groups = workgroup and lines * ((n + tile * CHUNK - 1) // (tile * CHUNK)) or lines
  local key = key_of(reduction, template, workgroup or 0, own ~= nil)
  local run = own and core.run_elements or core.run_pending
  return run(key, arrays, axis, outputs, fused, groups, workgroup, lines, own)
end

local function inputs_of(arrays, axis)
  local inputs = {}
  for i, array in ipairs(arrays) do inputs[i] = lines_of(array, axis) end
  return inputs
end

-- The first level: results of lines by tiles.
local function reduce_first(reduction, arrays, axis, results, lines, n, tile)
  if reduce_pending(reduction, arrays, axis, results, lines, n, tile) then return end
  level(reduction, inputs_of(arrays, axis), results, lines, n, CHUNK, reduction.load, tile)
end

---The values of the chunks of one line.
---@param reduction table as below
---@param arrays roc.AnyArray[]
---@param n integer > 0
---@param is_device boolean
---@return roc.AnyArray[] one a field
function M.reduce_chunks(reduction, arrays, n, is_device)
  local results = new_results(reduction, (n + CHUNK - 1) // CHUNK, is_device)
  reduce_first(reduction, arrays, nil, results, 1, n, 1)
  return results
end

local kept_marks = marks.new()
local MOST_PARTS = 1 << 13 -- elements that are kept

-- Memory for the values of workgroups, for a field of a launch that has marks and names no stream:
-- such launches share it, which keeps their order.
local function parts_of(f, dtype, count)
  if count > MOST_PARTS then return core.device_array(count, dtype) end
  return marks.values(kept_marks, f, dtype, count)
end

-- One line in one launch of so many workgroups, on a GPU.  `run` makes it, of the arrays that the
-- kernel writes, and of the marks, from which it takes the launch's number.
local function reduce_at_once(reduction, groups, given, run)
  local results, outputs = new_results(reduction, 1, true, given), {}
  local values, nodes, count = 0, 0, groups
  while count > 1 do
    values, count = values + count, (count + LANES - 1) // LANES
    nodes = nodes + count
  end
  local own = marks.prepare(kept_marks, nodes)
  local fields = #reduction.fields
  for f, dtype in ipairs(reduction.fields) do
    outputs[f], outputs[fields + f] = results[f], parts_of(f, dtype, values)
  end
  outputs[2 * fields + 1] = own.marks
  run(outputs, own)
  return results
end

-- The launch of a kernel that has all levels, of inputs in memory.
local function launch_all(kernel, groups, workgroup, inputs, outputs, own)
  for _, input in ipairs(inputs) do input:eval() end -- what computes them may take a number
  local args = arguments(inputs, outputs)
  own.launch = own.launch + 1
  args[#inputs + #outputs], args[#args + 1] = own.marks, own.launch -- marks are not new
  kernel:launch({ groups = groups, workgroup = workgroup }, table.unpack(args))
end

-- All levels of arrays.
local function reduce_all(reduction, arrays, axis, n, tile, tiles, given)
  return reduce_at_once(reduction, tiles, given, function(outputs, own)
    if reduce_pending(reduction, arrays, axis, outputs, 1, n, tile, own) then return end
    local template, chunk = of_groups(reduction, n, CHUNK, tile)
    launch_all(kernel_of(reduction, template, chunk, reduction.load, #arrays, true), tiles,
      workgroup_of(template, chunk), inputs_of(arrays, axis), outputs, own)
  end)
end

-- All levels of the values of tiles.
local function reduce_rest(reduction, values, count, given)
  local inputs = {}
  for f, value in ipairs(values) do inputs[f] = value:reshape(1, count) end
  local groups = (count + LANES - 1) // LANES
  return reduce_at_once(reduction, groups, given, function(outputs, own)
    launch_all(kernel_of(reduction, WORKGROUP, LANES, load_partial(#inputs), #inputs, true), groups,
      LANES, inputs, outputs, own)
  end)
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
---@param given? table<integer, roc.DeviceArray> of shape {lines}, which take the values of fields,
---and may be pending
---@return roc.AnyArray[] one a field, or that of the result alone, of shape {lines}
function M.reduce(reduction, arrays, axis, lines, n, is_device, given)
  local is_host = reduction.op and not is_device and core.current_device().kind == "cpu"
  if is_host and not core.is_pending(arrays[1]) then
    return reduce_op(reduction, arrays[1], axis, lines)
  end
  local chunks = (n + CHUNK - 1) // CHUNK
  local is_at_once = is_device and is_gpu() and lines == 1
  local are_many = chunks >= M.limits.many_chunks
  local tile = is_at_once and has_lanes(reduction) and are_many and TILE_CHUNKS or 1
  local count = (chunks + tile - 1) // tile
  if is_at_once and count > 1 and count <= M.limits.at_once then
    return reduce_all(reduction, arrays, axis, n, tile, count, given)
  end
  local results = new_results(reduction, lines * count, is_device, count == 1 and given)
  if is_host and not reduce_pending(reduction, arrays, axis, results, lines, n, tile) then
    return reduce_op(reduction, arrays[1], axis, lines)
  elseif not is_host then
    reduce_first(reduction, arrays, axis, results, lines, n, tile)
  end
  if is_at_once and count > LANES then return reduce_rest(reduction, results, count, given) end
  while count > 1 do
    local inputs = {}
    for f, result in ipairs(results) do inputs[f] = result:reshape(lines, count) end
    n, count = count, (count + LANES - 1) // LANES
    results = new_results(reduction, lines * count, is_device, count == 1 and given)
    level(reduction, inputs, results, lines, n, LANES, load_partial(#reduction.fields), 1)
  end
  return results
end

return M
