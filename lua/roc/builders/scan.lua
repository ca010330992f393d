-- roc.scan: the running combination of an array's elements.
--
-- Elements lie in tiles; a workgroup has some neighbouring ones, and goes from tile to tile.  Three
-- phases: each workgroup combines its elements; one workgroup scans these values; each workgroup
-- scans its tiles, with what stands before it in front.  So elements are read twice and results
-- written once.  The tree depends on the number of elements alone, and keeps their order: the
-- function need be associative, not commutative.
--
-- An item has `span` neighbours of a tile.  A GPU brings tiles into shared memory and results out
-- of it, so that neighbouring items access neighbouring elements; the CPU needs no such stage.
local core = require "roc.core"
local commutative = require "roc.builders.commutative"
local subjects = require "roc.builders.subject"
local support = require "roc.builders.support"

support.library()

local BUILD_OPTIONS = "check, contract, fastmath, name, number"
local CALL_OPTIONS = "exclusive, init, out, stream"

local LEVELS = 8         -- of a workgroup's tree; even
local SIZE = 1 << LEVELS -- items of a workgroup
local GAP = SIZE // 2
local SIDE = 16          -- items of a segment, and segments of a workgroup
local MOST_GROUPS = 2048 -- at most a tile: one workgroup scans their values

-- text --------------------------------------------------------------------------------------------

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

local CONVERT = [[
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

-- How elements get to the items.  `at`: element k of the item's own.  `tile[k * $row + place]` is
-- every SIZEth element of a tile, and lies where the items of a wave, each at its own elements, use
-- different banks of shared memory.
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

local DIRECT = {
  declare = "", meet = "", source = "x", target = "y", at = "first + mine + %s",
  bring_whole = "", take_whole = "", bring_rest = "", take_rest = "",
}

-- The CPU's vectors take 8 elements. `staged` has the same tree as `direct`; where any tree gives
-- the same value, a GPU has its own, in which less of the time goes into what items combine.
local FORMS = {
  direct = { way = DIRECT, span = 8, tree = BY_LEVELS },
  staged = { way = STAGED, span = 8, tree = BY_LEVELS },
  free = { way = STAGED, span = 15, tree = BY_SEGMENTS, is_free = true },
}

local function fill_in(text, values)
  local function fill(name) return values[name] end
  return (string.gsub(string.gsub(string.gsub(text, "%$([%a_]+)", fill), "%$([%a_]+)", fill),
    "%$([%a_]+)", fill))
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

local function sums_text(scan)
  local way, values = scan.form.way, values_for(scan.form, scan.dtype)
  values.bring = way.bring_whole .. "\n" .. way.meet
  values.first = element(values, way.source, string.format(way.at, "1"))
  values.next = element(values, way.source, string.format(way.at, "k"))
  return fill_in(SUMS, values)
end

local function free_sums_text(scan)
  local values = values_for(scan.form, scan.dtype)
  values.first, values.next = element(values, "x", "first + item"), element(values, "x", "i")
  return fill_in(SUMS_IN_ANY_ORDER, values)
end

-- What the launch has: values of the workgroups before each but the first, and `init`.
local function scan_text(scan, is_exclusive, has_carries, has_init)
  local way, dtype = scan.form.way, scan.dtype
  local values = values_for(scan.form, dtype)
  values.parameters = (has_carries and ", carries" or "") .. (has_init and ", init" or "")
  values.is_raised = has_init and "true" or has_carries and "group > 1" or "false"
  values.carry = not has_init and "$zero" or dtype.kind == "b" and "init" or "dtype(init)"
  values.take_carry = has_carries and "  if group > 1 then carry = carries[group - 1] end" or ""
  values.range_whole, values.range_rest = "k = 2, $span", "k = 2, math.min($span, left - mine)"
  local first, next = string.format(way.at, "1"), string.format(way.at, "k")
  values.first, values.next = element(values, way.source, first), element(values, way.source, next)
  values.put_first = string.format("%s[%s]", way.target, first)
  values.put_next = string.format("%s[%s]", way.target, next)
  for _, part in ipairs { "whole", "rest" } do
    values.range = values["range_" .. part]
    values["write_" .. part] = fill_in(is_exclusive and EXCLUSIVE or INCLUSIVE, values)
  end
  return fill_in(SCAN, values)
end

-- phases ------------------------------------------------------------------------------------------

local function has_stages()
  local kind = core.current_device().kind
  return kind ~= "cpu" and kind ~= "sim"
end

-- Of what a scan is.  A tile holds elements and results.
local function plan(subject, x, y, dtype)
  local name = not has_stages() and "direct"
    or subject.is_commutative and dtype.kind ~= "f" and "free" or "staged"
  local tile_dtype = x.dtype == y.dtype and x.dtype or dtype
  return { subject = subject, form = FORMS[name], dtype = dtype, tile_dtype = tile_dtype,
    workgroup = SIZE, key = name .. tile_dtype.name }
end

local function kernel(scan, what, make, ...)
  return scan.subject:kernel_of(what .. scan.key, scan, make, ...)
end

local function launch_sums(scan, x, sums, tiles, stream)
  local sum = kernel(scan, "sums ", scan.form.is_free and free_sums_text or sums_text)
  sum:launch({ groups = #sums, workgroup = SIZE, stream = stream }, support.input(x), sums, tiles)
end

local function launch_scan(scan, x, y, groups, tiles, is_exclusive, carries, init, stream)
  local what = (is_exclusive and "exclusive " or "inclusive ") .. (carries and "carries " or "")
    .. (init ~= nil and "init " or "")
  local all = kernel(scan, what, scan_text, is_exclusive, carries ~= nil, init ~= nil)
  local shape = { groups = groups, workgroup = SIZE, stream = stream }
  x = support.input(x)
  if carries and init ~= nil then
    all:launch(shape, x, y, tiles, carries, init)
  elseif carries then
    all:launch(shape, x, y, tiles, carries)
  elseif init ~= nil then
    all:launch(shape, x, y, tiles, init)
  else
    all:launch(shape, x, y, tiles)
  end
end

-- Scans x into y, in front of all `init`, where there is one.
local function scan_into(subject, x, y, dtype, is_exclusive, init, stream)
  local scan = plan(subject, x, y, dtype)
  local count = (#x - 1) // (SIZE * scan.form.span) + 1
  local tiles = (count - 1) // MOST_GROUPS + 1 -- of a workgroup
  local groups = (count - 1) // tiles + 1
  if groups == 1 then
    return launch_scan(scan, x, y, 1, tiles, is_exclusive, nil, init, stream)
  end
  local sums <close> = core.device_array(groups - 1, dtype)
  local carries <close> = core.device_array(groups - 1, dtype)
  launch_sums(scan, x, sums, tiles, stream)
  scan_into(subject, sums, carries, dtype, false, init, stream)
  launch_scan(scan, x, y, groups, tiles, is_exclusive, carries, init, stream)
end

-- The array that the scan writes: the result itself where it is on the device, and items may write
-- it while others still read the elements.
local function working_array(x, out, dtype)
  local overlap = out and core.array_overlap(out, x)
  local is_apart = not overlap or overlap == "same" and out.dtype == x.dtype
  if out and is_apart and support.side_of(out) == "device" then return out end
  return core.device_array(#x, dtype)
end

-- Elements that a GPU reads twice get there once.
local function elements_of(array)
  local is_far = has_stages() and support.type_name(array) == "roc.Array"
  return is_far and core.to_device(array) or array
end

local function deliver(subject, y, out, is_device, stream)
  if out == nil then
    return is_device and y or y:copy_to_host()
  elseif y ~= out then
    subject:kernel(CONVERT):forall(#y, { stream = stream })(y, support.output(out))
    y:close()
  end
  return out
end

-- calls -------------------------------------------------------------------------------------------

local function check_array(subject, array)
  if not support.side_of(array) then
    support.fail("bad argument #1 to '%s' (array expected, got %s%s)", subject.name,
      support.type_name(array), support.table_advice(array))
  elseif array.ndim ~= 1 then
    support.fail(
      "bad argument #1 to '%s' (array of 1 dimension expected, got shape %s; "
        .. "a:ravel() has all elements in a row)",
      subject.name, support.shape_text(array.shape))
  end
end

local function call(subject, array, opts)
  local options = support.check_options(opts, CALL_OPTIONS,
    string.format("argument #2 to '%s'", subject.name))
  check_array(subject, array)
  local dtype, out = subject:combined(array.dtype), options.out
  local init = support.check_init(options.init, dtype)
  if options.exclusive and init == nil then
    support.fail(
      "bad option 'exclusive' of '%s' (it needs 'init', the first element of the result)",
      subject.name)
  end
  if out ~= nil then
    support.check_out(out, array.shape, "option 'out'")
    support.check_store(dtype, out.dtype, "option 'out'")
  end
  local device, is_device = support.device_of({ array, out }, 2, options.stream)
  local scope <close> = support.scope(device)
  if #array == 0 then
    return out or support.new_array(is_device, 0, dtype)
  end
  local y = working_array(array, out, dtype)
  scan_into(subject, elements_of(array), y, dtype, options.exclusive, init, options.stream)
  return deliver(subject, y, out, is_device, options.stream)
end

---Makes a scan: `roc.scan(f)(array [, {exclusive=, init=, out=, stream=}])`.
---@param f function associative: combines two values into one of the same type
---@param opts? roc.BuildOpts
---@return function
local function scan(f, opts)
  local options = support.check_options(opts, BUILD_OPTIONS, "argument #2 to 'scan'")
  local subject = subjects.new("scan", f, options)
  subject:check_parameters("scan", 2)
  subject.is_commutative = commutative.is_known(f)
  local public = support.public(call)
  return support.built(function(array, call_opts)
    return public(subject, array, call_opts)
  end)
end

return support.public(scan)
