-- The texts of roc.scan's kernels; roc.builders.scan says what their phases are.
local M = {}

local LEVELS = 8         -- of a workgroup's tree; even
local SIZE = 1 << LEVELS -- items of a workgroup
local GAP = SIZE // 2
local SIDE = 16          -- items of a segment, and segments of a workgroup

M.SIZE = SIZE

-- Of the elements of a workgroup whose tiles are whole, in their order: neighbours with neighbours.
local SUMS = [[
function(x, sums, tiles)
  local part = roc.shared.array($size * 2, dtype)
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
$declare
  local mine, total = (item - 1) * $span, $zero
  for t = 0, tiles - 1 do
    local first = ((group - 1) * tiles + t) * $tile
    if first >= 0 and first <= #x - $tile then
$bring
      local acc = $first
      for k = 2, $span do
        acc = f(acc, $next)
      end
      part[item] = acc
$tree
      if item == 1 then
        if t > 0 then
          total = f(total, part[1])
        else
          total = part[1]
        end
      end
    end
  end
  if item == 1 and group <= #sums then
    sums[group] = total
  end
end]]

-- The same value, where any tree gives it: neighbouring items read neighbouring elements.
local SUMS_IN_ANY_ORDER = [[
function(x, sums, tiles)
  local part = roc.shared.array($size * 2, dtype)
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  local first = (group - 1) * tiles * $tile
  local acc = $first
  for i = first + item + $size, first + tiles * $tile, $size do
    acc = f(acc, $next)
  end
  part[item] = acc
$tree
  if item == 1 and group <= #sums then
    sums[group] = part[1]
  end
end]]

local TREE = [[
    for level = 0, $levels - 1 do
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      local half, from = $size // 2 >> level, (level & 1) * $size
      if item <= half then
        part[$size - from + item] = f(part[from + 2 * item - 1], part[from + 2 * item])
      end
    end]]

-- What an item writes, once the values of the items before it are known. Where all elements are
-- there, the loop has a constant length.
local INCLUSIVE = [[
      local acc = $first
      if item > 1 then
$before
        if is_raised then before = f(carry, before) end
        acc = f(before, acc)
      elseif is_raised then
        acc = f(carry, acc)
      end
      $put_first = acc
      for $range do
        acc = f(acc, $next)
        $put_next = acc
      end]]

-- With `init`, which is in front of everything: there always is something before.
local EXCLUSIVE = [[
      local acc = carry
      if item > 1 then
$before
        acc = f(carry, before)
      end
      local value = $first
      $put_first = acc
      for $range do
        acc = f(acc, value)
        value = $next
        $put_next = acc
      end]]

-- The last workgroup first: its elements are those that the first phase read last.
local SCAN = [[
function(x, y, tiles$parameters)
$declare_parts
  local item, group = roc.get_local_id(1), roc.get_num_groups(1) + 1 - roc.get_group_id(1)
$declare
  local mine, n = (item - 1) * $span, math.min(#x, #y)
  local is_raised, carry = $is_raised, $carry
$take_carry
  for first = (group - 1) * tiles * $tile, math.min(group * tiles * $tile, n) - 1, $tile do
    local left = n - first
    local is_whole = first >= 0 and first <= #x - $tile and first <= #y - $tile
    local is_live = left > mine
    if is_whole then
$bring_whole
    else
$bring_rest
    end
$meet
    if is_whole then
      local acc = $first
      for $range_whole do
        acc = f(acc, $next)
      end
      part[$slot] = acc
    elseif is_live then
      local acc = $first
      for $range_rest do
        acc = f(acc, $next)
      end
      part[$slot] = acc
    end
$scan_parts
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if is_whole then
$write_whole
    elseif is_live then
$write_rest
    end
    if left > $tile then
      local last = $last
      if is_raised then
        carry = f(carry, last)
      else
        carry = last
      end
      is_raised = true
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if is_whole then
$take_whole
    else
$take_rest
    end
  end
end]]

-- The CPU's first phase: what SUMS gives, and a mark for each item. The last level's last value is
-- that of TREE.
local MARKS = [[
function(x, marks, sums, tiles, base)
$declare_parts
  local item, group = roc.get_local_id(1), base + roc.get_group_id(1)
  local total = $zero
  for t = 0, tiles - 1 do
    local first = ((group - 1) * tiles + t) * $tile
    local from, at = first + (item - 1) * $span, first // $span
    if first >= 0 and first <= #x - $tile and at <= #marks - $size then
      local acc = $first
      for k = 2, $span do
        acc = f(acc, $next)
      end
      part[$slot] = acc
$scan_live_parts
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      marks[at + item] = part[$slot]
      if item == 1 then
        if t > 0 then
          total = f(total, $last)
        else
          total = $last
        end
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
  end
  if item == 1 and group >= 1 and group <= #sums then
    sums[group] = total
  end
end]]

-- Its last phase, for workgroups whose tiles are whole.
local FROM_MARKS = [[
function(x, y, tiles, base, carries, marks$parameters)
  local item, group = roc.get_local_id(1), base + roc.get_group_id(1)
  local is_raised, carry = $is_raised, $carry
$take_carry
  for t = 0, tiles - 1 do
    local first = ((group - 1) * tiles + t) * $tile
    local from, at = first + (item - 1) * $span, first // $span
    if first >= 0 and first <= #x - $tile and first <= #y - $tile and at <= #marks - $size then
$write_whole
      local last = marks[at + $size]
      if is_raised then
        carry = f(carry, last)
      else
        carry = last
      end
      is_raised = true
    end
  end
end]]

-- All phases for the last workgroup, which alone has a tile that need not be whole, and an item
-- that has fewer elements than the others.
local LAST = [[
function(x, y, tiles, base$parameters)
$declare_parts
  local item, group = roc.get_local_id(1), base + roc.get_group_id(1)
  local is_raised, carry = $is_raised, $carry
$take_carry
  for first = (group - 1) * tiles * $tile, math.min(#x, #y) - 1, $tile do
    local from = first + (item - 1) * $span
    if from >= 0 and from <= #x - $span and from <= #y - $span then
      local acc = $first
      for k = 2, $span do
        acc = f(acc, $next)
      end
      part[$slot] = acc
    elseif from >= 0 and from < #x and from < #y then
      local acc = $first
      for i = from + 2, #x do
        acc = f(acc, $next_of_rest)
      end
      part[$slot] = acc
    end
$scan_live_parts
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if from >= 0 and from <= #x - $span and from <= #y - $span then
$write_whole
    elseif from >= 0 and from < #x and from < #y then
$write_rest
    end
    if first < #x - $tile then
      local last = $last
      if is_raised then
        carry = f(carry, last)
      else
        carry = last
      end
      is_raised = true
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  end
end]]

M.CONVERT = [[
function(y, out)
  local i = roc.get_global_id(1)
  if i <= #y and i <= #out then
    out[i] = y[i]
  end
end]]

-- How the values of the items are combined.  Level by level, an item gets what ends 1, 2, 4, …
-- items before it.  The gap before the parts keeps all indices positive, whatever the level: so the
-- CPU checks them for the whole workgroup.
local BY_LEVELS = {
  declare_parts = "  local part = roc.shared.array($gap + $size * 2, dtype)",
  slot = "$gap + item",
  scan_parts = [[
    if not is_live then -- the levels move it, and no result has it
      part[$gap + item], part[$gap + $size + item] = $zero, $zero
    end
    for level = $levels - 1, 0, -1 do
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      local distance = $size // 2 >> level
      local from = $gap + (level + 1 & 1) * $size
      local to = 2 * $gap + $size - from
      if item <= distance then
        part[to + item] = part[from + item]
      elseif is_live then
        part[to + item] = f(part[from + item - distance], part[from + item])
      end
    end]],
  scan_live_parts = [[
    for level = $levels - 1, 0, -1 do
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      local distance = $size // 2 >> level
      local source = $gap + (level + 1 & 1) * $size
      local target = 2 * $gap + $size - source
      if $is_live then
        if item <= distance then
          part[target + item] = part[source + item]
        else
          part[target + item] = f(part[source + item - distance], part[source + item])
        end
      end
    end]],
  before = "        local before = part[$gap + item - 1]",
  last = "part[$gap + $size]",
}

-- An item a segment scans its items, and then one the segments: fewer barriers.  A gap after each
-- segment spreads them over the banks of shared memory.
local BY_SEGMENTS = {
  declare_parts = [[
  local part = roc.shared.array($size + $side, dtype)
  local ends = roc.shared.array($side, dtype)]],
  slot = "item + (item - 1) // $side",
  scan_parts = [[
    local live = math.min($size, (left + $span - 1) // $span)
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if item <= $side and (item - 1) * $side < live then
      local begin, count = (item - 1) * ($side + 1), live - (item - 1) * $side
      local sum = part[begin + 1]
      if count >= $side then
        for k = 2, $side do
          sum = f(sum, part[begin + k])
          part[begin + k] = sum
        end
      else
        for k = 2, math.min($side, count) do
          sum = f(sum, part[begin + k])
          part[begin + k] = sum
        end
      end
      ends[item] = sum
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if item == 1 then
      local sum = ends[1]
      if live == $size then
        for k = 2, $side do
          sum = f(sum, ends[k])
          ends[k] = sum
        end
      else
        for k = 2, math.min($side, (live - 1) // $side + 1) do
          sum = f(sum, ends[k])
          ends[k] = sum
        end
      end
    end]],
  before = [[
        local segment = (item - 2) // $side
        local before = part[item - 1 + segment]
        if segment > 0 then before = f(ends[segment], before) end]],
  last = "ends[$side]",
}

-- The CPU's items take their elements from where they lie.
local DIRECT = { source = "x", target = "y", at = "from + %s" }

-- How elements get to the items of a GPU.  `at`: element k of the item's own.
-- `tile[k * $row + place]` is every SIZEth element of a tile, and lies where the items of a wave,
-- each at its own elements, use different banks of shared memory.
local STAGED = {
  declare = "  local tile = roc.shared.array($room, tile_dtype)\n  local place = $place",
  meet = "    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)",
  source = "tile", target = "tile", at = "(item - 1) * $own + %s",
  bring_whole = "      for k = 0, $span - 1 do\n"
    .. "        tile[k * $row + place] = x[first + k * $size + item]\n      end",
  take_whole = "      for k = 0, $span - 1 do\n"
    .. "        y[first + k * $size + item] = tile[k * $row + place]\n      end",
  bring_rest = "      for k = 0, (left - item) // $size do\n"
    .. "        tile[k * $row + place] = x[first + k * $size + item]\n      end",
  take_rest = "      for k = 0, (left - item) // $size do\n"
    .. "        y[first + k * $size + item] = tile[k * $row + place]\n      end",
}

-- The CPU's vectors take 8 elements. `staged` has the same tree as `direct`; where any tree gives
-- the same value, a GPU has its own, in which less of the time goes into what items combine.
M.FORMS = {
  direct = { way = DIRECT, span = 8, tree = BY_LEVELS, is_direct = true },
  staged = { way = STAGED, span = 8, tree = BY_LEVELS },
  free = { way = STAGED, span = 15, tree = BY_SEGMENTS, is_free = true },
}

-- Values may name others.
local function fill_in(text, values)
  local filled = text
  repeat
    text, filled = filled, string.gsub(filled, "%$([%a_]+)", values)
  until filled == text
  return text
end

-- What all texts have in common.
local function values_for(form, dtype)
  local span, gap = form.span, form.span % 2 == 0 and 1 or 0 -- after an item's own elements
  local values = {
    size = SIZE, side = SIDE, span = span, levels = LEVELS, gap = GAP, tile = SIZE * span,
    tree = TREE,
    own = span + gap, room = SIZE * (span + gap), row = SIZE + gap * SIZE // span,
    place = gap == 0 and "item" or "item + (item - 1) // " .. span,
    element = dtype.kind == "b" and "%s[%s]" or "dtype(%s[%s])",
    zero = dtype.kind == "b" and "false" or "dtype(0)",
  }
  for _, more in ipairs { form.way, form.tree } do
    for name, text in pairs(more) do values[name] = text end
  end
  return values
end

local function element(values, source, at)
  return string.format(values.element, source, at)
end

function M.sums(scan)
  local way, values = scan.form.way, values_for(scan.form, scan.dtype)
  values.bring = way.bring_whole .. "\n" .. way.meet
  values.first = element(values, way.source, string.format(way.at, "1"))
  values.next = element(values, way.source, string.format(way.at, "k"))
  return fill_in(SUMS, values)
end

function M.free_sums(scan)
  local values = values_for(scan.form, scan.dtype)
  values.first, values.next = element(values, "x", "first + item"), element(values, "x", "i")
  return fill_in(SUMS_IN_ANY_ORDER, values)
end

-- For the texts of the last phase. What the launch has: values of the workgroups before each but
-- the first, and `init`.
local function last_values(scan, has_carries, has_init)
  local way, dtype = scan.form.way, scan.dtype
  local values = values_for(scan.form, dtype)
  values.is_raised = has_init and "true" or has_carries and "group > 1" or "false"
  values.carry = not has_init and "$zero" or dtype.kind == "b" and "init" or "dtype(init)"
  values.take_carry = has_carries and "  if group > 1 then carry = carries[group - 1] end" or ""
  values.range_whole, values.range_rest = "k = 2, $span", "k = 2, math.min($span, left - mine)"
  local first, next = string.format(way.at, "1"), string.format(way.at, "k")
  values.first, values.next = element(values, way.source, first), element(values, way.source, next)
  values.put_first = string.format("%s[%s]", way.target, first)
  values.put_next = string.format("%s[%s]", way.target, next)
  return values
end

local function parameters_text(has_carries, has_init)
  return (has_carries and ", carries" or "") .. (has_init and ", init" or "")
end

function M.scan(scan, is_exclusive, has_carries, has_init)
  local values = last_values(scan, has_carries, has_init)
  values.parameters = parameters_text(has_carries, has_init)
  for _, part in ipairs { "whole", "rest" } do
    values.range = values["range_" .. part]
    values["write_" .. part] = fill_in(is_exclusive and EXCLUSIVE or INCLUSIVE, values)
  end
  return fill_in(SCAN, values)
end

-- `rest`: of the item that has fewer elements.
function M.last(scan, is_exclusive, has_carries, has_init)
  local values = last_values(scan, has_carries, has_init)
  local write = is_exclusive and EXCLUSIVE or INCLUSIVE
  values.parameters = parameters_text(has_carries, has_init)
  values.is_live, values.range = "from < #x", values.range_whole
  values.next_of_rest = element(values, "x", "i")
  local rest = { next = values.next_of_rest, put_next = "y[i]",
    range = "i = from + 2, math.min(#x, #y)" }
  values.write_rest = fill_in(write, setmetatable(rest, { __index = values }))
  values.write_whole = write
  return fill_in(LAST, values)
end

function M.marks(scan)
  local values = last_values(scan, false, false)
  values.is_live = "true"
  return fill_in(MARKS, values)
end

function M.from_marks(scan, is_exclusive, has_init)
  local values = last_values(scan, true, has_init)
  values.parameters = parameters_text(false, has_init)
  values.before = "        local before = marks[at + item - 1]"
  values.range = values.range_whole
  values.write_whole = is_exclusive and EXCLUSIVE or INCLUSIVE
  return fill_in(FROM_MARKS, values)
end

return M
