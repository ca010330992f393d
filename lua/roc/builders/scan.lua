-- roc.scan: the running combination of an array's elements.
--
-- Three phases: each workgroup scans its block and notes the block's value; these are scanned the
-- same way; each block but the first is raised by what stands before it.  The tree depends on the
-- number of elements alone, and keeps their order: the function need be associative, not
-- commutative.
local core = require "roc.core"
local subjects = require "roc.builders.subject"
local support = require "roc.builders.support"

support.library()

local BUILD_OPTIONS = "check, contract, fastmath, name, number"
local CALL_OPTIONS = "exclusive, init, out, stream"

local LEVELS = 8         -- of a workgroup's tree; even
local SIZE = 1 << LEVELS -- items of a workgroup
local GAP = SIZE // 2
local SPAN = 8           -- neighbours that an item scans
local BLOCK = SIZE * SPAN

-- text --------------------------------------------------------------------------------------------

-- What an item writes, once the values of the items before it are known: the part before its own,
-- but for the block's first. Where all elements are there, the loop has a constant length.
local INCLUSIVE = [[
      local acc = $first
      if item > 1 then
        acc = f(part[$gap + item - 1], acc)
      end
      y[first] = acc
      for $range do
        acc = f(acc, $next)
        y[$at] = acc
      end]]

-- The block's first element is left to the third phase.
local EXCLUSIVE = [[
      local acc = $first
      if item > 1 then
        y[first] = part[$gap + item - 1]
        acc = f(part[$gap + item - 1], acc)
      end
      for $range do
        local value = $next
        y[$at] = acc
        acc = f(acc, value)
      end]]

-- Level by level, an item gets what ends 1, 2, 4, … items before it. The gap before the parts keeps
-- all indices positive, whatever the level: so the CPU checks them for the whole workgroup.
local BLOCKS = [[
function(x, y, sums)
  local part = roc.shared.array($gap + $size * 2, dtype)
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  local first = (roc.get_global_id(1) - 1) * $span + 1
  local is_whole = first + $span - 1 <= #x and first + $span - 1 <= #y
  local is_live = first <= #x and first <= #y
  if is_whole then
    local acc = $first
    for $range_whole do
      acc = f(acc, $next_whole)
    end
    part[$gap + item] = acc
  elseif is_live then
    local acc = $first
    for $range_rest do
      acc = f(acc, $next_rest)
    end
    part[$gap + item] = acc
  else -- the levels move it, and no result has it
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
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if is_whole then
$write_whole
  elseif is_live then
$write_rest
  end
  if is_live and (item == $size or first + $span > #x) and group <= #sums then
    sums[group] = part[$gap + item]
  end
end]]

-- Each element of a block, the first ones left out, with the value of what stands before the block;
-- an item has every SIZEth element.
local RAISE = [[
function(y, carries)
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  local block = (group - 1 + $shift) * $block
  local carry = carries[group]
  if block + $block <= #y then
    for k = 0, $span - 1 do
      $raise
    end
  else
    for k = 0, $span - 1 do
      if block + k * $size + item <= #y then
        $raise
      end
    end
  end
end]]

local RAISE_ONE =
  "y[block + k * $size + item] = f(carry, y[block + k * $size + item])"

local RAISE_ONE_EXCLUSIVE = [[
if item == 1 and k == 0 then
        y[block + 1] = carry
      else
        y[block + k * $size + item] = f(carry, y[block + k * $size + item])
      end]]

local CONVERT = [[
function(y, out)
  local i = roc.get_global_id(1)
  if i <= #y and i <= #out then
    out[i] = y[i]
  end
end]]

local function fill_in(text, values)
  return (string.gsub(text, "%$([%a_]+)", values))
end

local function blocks_text(dtype, is_exclusive)
  local values = { size = SIZE, span = SPAN, levels = LEVELS, gap = GAP }
  values.first = dtype.kind == "b" and "x[first]" or "dtype(x[first])"
  values.zero = dtype.kind == "b" and "false" or "dtype(0)"
  values.range_whole, values.range_rest = "k = 1, " .. SPAN - 1, "i = first + 1, math.min(#x, #y)"
  for part, at in pairs { whole = "first + k", rest = "i" } do
    values.at, values.range = at, values["range_" .. part]
    values.next = string.format(dtype.kind == "b" and "x[%s]" or "dtype(x[%s])", at)
    values["next_" .. part] = values.next
    values["write_" .. part] = fill_in(is_exclusive and EXCLUSIVE or INCLUSIVE, values)
  end
  return fill_in(BLOCKS, values)
end

local function raise_text(is_exclusive, shift)
  local values = { block = BLOCK, size = SIZE, span = SPAN, shift = shift }
  values.raise = fill_in(is_exclusive and RAISE_ONE_EXCLUSIVE or RAISE_ONE, values)
  return fill_in(RAISE, values)
end

-- phases ------------------------------------------------------------------------------------------

-- Scans x into y, an array of the combined dtype; with init in front, where there is one.
local function scan_into(subject, x, y, is_exclusive, init, stream)
  local dtype, n = y.dtype, #x
  local groups = (n + BLOCK - 1) // BLOCK
  local sums <close> = core.device_array(groups, dtype)
  local blocks = subject:kernel(blocks_text(dtype, is_exclusive), dtype)
  blocks:launch({ groups = groups, workgroup = SIZE, stream = stream }, support.input(x), y, sums)
  if init == nil and groups == 1 then
    return
  end
  -- The exclusive scan has each block's own carry; without init a block's is the inclusive scan's
  -- value for the block before it.
  local carries <close> = core.device_array(groups, dtype)
  if groups > 1 then
    scan_into(subject, sums, carries, init ~= nil, init, stream)
  else
    carries:fill(init)
  end
  local shift = init == nil and 1 or 0
  local raise = subject:kernel(raise_text(is_exclusive, shift))
  raise:launch({ groups = groups - shift, workgroup = SIZE, stream = stream }, y, carries)
end

-- The array that the phases write: the result itself if it can hold what they combine.
local function working_array(x, out, dtype)
  local is_direct = out and support.side_of(out) == "device" and out.dtype == dtype
  if is_direct and core.array_overlap(out, x) ~= "some" then
    return out
  end
  return core.device_array(#x, dtype)
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
  scan_into(subject, array, y, options.exclusive, init, options.stream)
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
  local public = support.public(call)
  return support.built(function(array, call_opts)
    return public(subject, array, call_opts)
  end)
end

return support.public(scan)
