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

local SIZE = 256 -- items of a workgroup
local SPAN = 8   -- neighbours that an item scans
local BLOCK = SIZE * SPAN

-- text --------------------------------------------------------------------------------------------

-- What an item writes, once the values of the items before it are known: `before`, but for the
-- block's first.
local INCLUSIVE = [[
    local acc = $first
    if item > 1 then
      acc = f(part[from + item - 1], acc)
    end
    y[first] = acc
    for i = first + 1, math.min(last, #x, #y) do
      acc = f(acc, $next)
      y[i] = acc
    end]]

-- The block's first element is left to the third phase.
local EXCLUSIVE = [[
    local acc = $first
    if item > 1 then
      y[first] = part[from + item - 1]
      acc = f(part[from + item - 1], acc)
    end
    for i = first + 1, math.min(last, #x, #y) do
      local value = $next
      y[i] = acc
      acc = f(acc, value)
    end]]

local BLOCKS = [[
function(x, y, sums)
  local part = roc.shared.array($size * 2, dtype)
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  local last = roc.get_global_id(1) * $span
  local first = last - $span + 1
  local is_live = first <= #x and first <= #y
  if is_live then
    local acc = $first
    for i = first + 1, math.min(last, #x) do
      acc = f(acc, $next)
    end
    part[item] = acc
  end
  local from, to, distance = 0, $size, 1
  while distance < $size do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if is_live and item > distance then
      part[to + item] = f(part[from + item - distance], part[from + item])
    elseif is_live then
      part[to + item] = part[from + item]
    end
    from, to, distance = to, from, distance * 2
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if is_live then
$write
    if (item == $size or last >= #x) and group <= #sums then
      sums[group] = part[from + item]
    end
  end
end]]

local RAISE = [[
function(y, carries)
  local i = roc.get_global_id(1)
  local group = (i - 1) // $block + 1 - $shift
  if i <= #y and group >= 1 and group <= #carries then
    y[i] = f(carries[group], y[i])
  end
end]]

local RAISE_EXCLUSIVE = [[
function(y, carries)
  local i = roc.get_global_id(1)
  local group = (i - 1) // $block + 1
  if i <= #y and group <= #carries then
    local carry = carries[group]
    if (i - 1) % $block > 0 then
      carry = f(carry, y[i])
    end
    y[i] = carry
  end
end]]

local CONVERT = [[
function(y, out)
  local i = roc.get_global_id(1)
  if i <= #y and i <= #out then
    out[i] = y[i]
  end
end]]

local function blocks_text(dtype, is_exclusive)
  local values = { size = SIZE, span = SPAN }
  values.first = dtype.kind == "b" and "x[first]" or "dtype(x[first])"
  values.next = dtype.kind == "b" and "x[i]" or "dtype(x[i])"
  values.write = string.gsub(is_exclusive and EXCLUSIVE or INCLUSIVE, "%$(%w+)", values)
  return (string.gsub(BLOCKS, "%$(%w+)", values))
end

local function raise_text(is_exclusive, shift)
  local text = is_exclusive and RAISE_EXCLUSIVE or RAISE
  return (string.gsub(text, "%$(%w+)", { block = BLOCK, shift = shift }))
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
  local raise = subject:kernel(raise_text(is_exclusive, init == nil and 1 or 0))
  raise:forall(n, { stream = stream })(y, carries)
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
