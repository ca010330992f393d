-- The texts of roc.scan's kernels; roc.builders.scan says what their phases are.
local support = require "roc.builders.support"

support.library()

local fill_in = support.fill_in

local M = {}

local LEVELS = 8         -- of a workgroup's tree; even
local SIZE = 1 << LEVELS -- items of a workgroup
local GAP = SIZE // 2

M.SIZE = SIZE

-- Of the elements of a workgroup whose tiles are whole, in their order: neighbours with neighbours.
local SUMS = [[
function(x, sums, tiles, told)
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

-- All phases in one, where any tree gives the same value: a workgroup has a tile, and its first
-- wavefront looks back at those before it, a lane a tile, for what ends there.  A tile's value is
-- published twice: of the tile alone (state 1), and of all up to it (2).  It comes in two halves,
-- each with the launch's number and its state above it, so that a reader sees by itself whether
-- they are there and belong together.
-- Workgroups start in their order, so the tiles that one waits for are on their way.
local ONCE = [[
function(x, y, marks, launch$parameters)
  local ends = roc.shared.array($size // 32 + 1, dtype)
  local item, group, lane = roc.get_local_id(1), roc.get_group_id(1), roc.lane_id()
$declare
  local wave, waves = (item - 1) // roc.wavefront_size() + 1, $size // roc.wavefront_size()
  local first, n = (group - 1) * $tile, math.min(#x, #y)
  local mine, left = (item - 1) * $span, n - first
  local is_whole = first >= 0 and first <= #x - $tile and first <= #y - $tile
  if is_whole then
$bring_whole
  else
$bring_rest
  end
$meet
  local own = $zero -- after the last element nothing comes that it could matter to
  if is_whole then
    own = $first
    for $range_whole do
      own = f(own, $next)
    end
  elseif left > mine then
    own = $first
    for $range_rest do
      own = f(own, $next)
    end
  end
$scan_own
  local inner = roc.wave.shuffle_up(own, 1)
  if lane == roc.wavefront_size() then ends[wave] = own end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if wave == 1 then
    local total, carry, is_raised = ends[1], $carry, $has_init
    for k = 2, waves do
      total = f(total, ends[k])
    end
    local state, value = 1, total
    if group == 1 then
      state = 2
      if is_raised then value = f(carry, total) end
    end
$publish
    local at = group - 1
    while at >= 1 do
      local place, low, high = at - lane + 1, 2 << 32, 2 << 32
      if place >= 1 and 2 * place <= #marks then
        repeat
          low, high = roc.atomic.load(marks, 2 * place - 1), roc.atomic.load(marks, 2 * place)
        until low >> 32 == high >> 32 and low >> 34 == launch
      end
      local found = roc.wave.ballot(low >> 32 & 3 == 2)
      local nearest = found ~= 0 and roc.math.ctz(found) + 1 or roc.wavefront_size()
      local values = low & 0xffffffff | high << 32
$scan_values
      values = roc.wave.shuffle(values, nearest)
      if at < group - 1 then carry = f(values, carry) else carry = values end
      at = found ~= 0 and 0 or at - roc.wavefront_size()
    end
    if group > 1 then
      state, value = 2, f(carry, total)
$publish
    end
    if lane == 1 then ends[$size // 32 + 1] = carry end
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  local is_raised, carry = $has_init or group > 1, ends[$size // 32 + 1]
  local outer = ends[1]
  for k = 2, wave - 1 do
    outer = f(outer, ends[k])
  end
  if is_whole then
$write_whole
  elseif left > mine then
$write_rest
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if is_whole then
$take_whole
  else
$take_rest
  end
end]]

local PUBLISH = [[
    if lane == 1 and 2 * group <= #marks then
      local above = (launch << 2 | state) << 32
      roc.atomic.store(marks, 2 * group - 1, above | value & 0xffffffff)
      roc.atomic.store(marks, 2 * group, above | value >> 32)
    end]]

-- What %s are in the lanes up to this one.
local SCAN_WAVE = [[
    for level = 0, 5 do
      local distance = 1 << level
      if distance < roc.wavefront_size() then
        local other = roc.wave.shuffle_up(%s, distance)
        if lane > distance then %s = f(other, %s) end
      end
    end]]

local BEFORE_IN_WAVES = [[
        local before = inner
        if wave > 1 then
          before = outer
          if lane > 1 then before = f(outer, inner) end
        end]]

-- The CPU's first phase: what SUMS gives, and a mark for each item. The last level's last value is
-- that of TREE.
local MARKS = [[
function(x, marks, sums, tiles, base, told)
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
-- the same value, a GPU reads elements once, in tiles that fill much of the shared memory that all
-- GPUs have: the larger they are, the fewer wait for one another.
M.FORMS = {
  direct = { way = DIRECT, span = 8, tree = BY_LEVELS, is_direct = true },
  staged = { way = STAGED, span = 8, tree = BY_LEVELS },
  free = { way = STAGED, span = { [1] = 45, [2] = 45, [4] = 45, [8] = 21 }, tree = {},
    is_once = true },
}

-- The elements of an item, of those that a tile holds.
function M.span(form, tile_dtype)
  return type(form.span) == "table" and form.span[tile_dtype.itemsize] or form.span
end

-- What all texts have in common.
local function values_for(form, dtype, tile_dtype)
  local span = M.span(form, tile_dtype)
  local gap = span % 2 == 0 and 1 or 0 -- after an item's own elements
  local values = {
    size = SIZE, span = span, levels = LEVELS, gap = GAP, tile = SIZE * span,
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
  local way, values = scan.form.way, values_for(scan.form, scan.dtype, scan.tile_dtype)
  values.bring = way.bring_whole .. "\n" .. way.meet
  values.first = element(values, way.source, string.format(way.at, "1"))
  values.next = element(values, way.source, string.format(way.at, "k"))
  return fill_in(SUMS, values)
end

-- For the texts of the last phase. What the launch has: values of the workgroups before each but
-- the first, and `init`.
local function last_values(scan, has_carries, has_init)
  local way, dtype = scan.form.way, scan.dtype
  local values = values_for(scan.form, dtype, scan.tile_dtype)
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

local function parameters_text(scan, has_carries, has_init)
  return (has_carries and ", carries" or "") .. (has_init and ", init" or "")
    .. (scan.told and ", told" or "")
end

function M.scan(scan, is_exclusive, has_carries, has_init)
  local values = last_values(scan, has_carries, has_init)
  values.parameters = parameters_text(scan, has_carries, has_init)
  for _, part in ipairs { "whole", "rest" } do
    values.range = values["range_" .. part]
    values["write_" .. part] = fill_in(is_exclusive and EXCLUSIVE or INCLUSIVE, values)
  end
  return fill_in(SCAN, values)
end

function M.once(scan, is_exclusive, has_init)
  local values = last_values(scan, false, has_init)
  values.parameters = parameters_text(scan, false, has_init)
  values.has_init, values.before, values.publish = tostring(has_init), BEFORE_IN_WAVES, PUBLISH
  for _, name in ipairs { "own", "values" } do
    values["scan_" .. name] = string.gsub(SCAN_WAVE, "%%s", name)
  end
  for _, part in ipairs { "whole", "rest" } do
    values.range = values["range_" .. part]
    values["write_" .. part] = fill_in(is_exclusive and EXCLUSIVE or INCLUSIVE, values)
  end
  return fill_in(ONCE, values)
end

-- `rest`: of the item that has fewer elements.
function M.last(scan, is_exclusive, has_carries, has_init)
  local values = last_values(scan, has_carries, has_init)
  local write = is_exclusive and EXCLUSIVE or INCLUSIVE
  values.parameters = parameters_text(scan, has_carries, has_init)
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
  values.parameters = parameters_text(scan, false, has_init)
  values.before = "        local before = marks[at + item - 1]"
  values.range = values.range_whole
  values.write_whole = is_exclusive and EXCLUSIVE or INCLUSIVE
  return fill_in(FROM_MARKS, values)
end

return M
