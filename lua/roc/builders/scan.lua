-- roc.scan: the running combination of an array's elements.
--
-- Elements lie in tiles; a workgroup has some neighbouring ones, and goes from tile to tile.  Three
-- phases: each workgroup combines its elements; one workgroup scans these values; each workgroup
-- scans its tiles, with what stands before it in front.  So elements are read twice and results
-- written once.  The tree depends on the number of elements alone, and keeps their order: the
-- function need be associative, not commutative.
--
-- Where any tree gives the same value, a GPU does all of that in one launch, in which a workgroup
-- has a tile and waits for what stands before it: then elements are read once.
--
-- An item has `span` neighbours of a tile.  A GPU brings tiles into shared memory and results out
-- of it, so that neighbouring items access neighbouring elements.  The CPU needs no such stage: the
-- first phase notes what ends with each item of a tile, and the last one goes on from these marks,
-- without a barrier, both over as many tiles at a time as stay in the caches between them.
local core = require "roc.core"
local commutative = require "roc.builders.commutative"
local subjects = require "roc.builders.subject"
local support = require "roc.builders.support"
local texts = require "roc.builders.scan_texts"

support.library()

local BUILD_OPTIONS = "check, contract, fastmath, name, number"
local CALL_OPTIONS = "exclusive, init, out, stream"

local SIZE = texts.SIZE -- items of a workgroup
local MOST_GROUPS = 2048 -- at most a tile: one workgroup scans their values

-- Bytes of elements for each core that are still in the caches when they are read again.
local CACHED_BYTES = 1 << 20

-- phases ------------------------------------------------------------------------------------------

-- Of what a scan is.  A tile holds elements and results.
local function plan(subject, x, y, dtype)
  local name = not support.is_gpu() and "direct"
    or subject.is_commutative and dtype.kind ~= "f" and "free" or "staged"
  local form, tile_dtype = texts.FORMS[name], x.dtype == y.dtype and x.dtype or dtype
  return { subject = subject, form = form, tile = SIZE * texts.span(form, tile_dtype),
    dtype = dtype, tile_dtype = tile_dtype, workgroup = SIZE, key = name .. tile_dtype.name }
end

-- The same of values that a phase makes on the way to y: its kernels have y as a last argument,
-- which they do not touch, so that a look at y tells what failed in them, too.
local function plan_inner(scan, x, carries, y)
  local inner = plan(scan.subject, x, carries, scan.dtype)
  inner.told, inner.key = y, inner.key .. " told"
  return inner
end

-- A launch of the kernel that `make` gives the text of.
local function launch(scan, groups, stream, what, make, ...)
  return scan.subject:launch_of(groups, stream, what .. scan.key, scan, make, ...)
end

local function launch_sums(scan, x, sums, tiles, y, stream)
  launch(scan, #sums, stream, "sums ", texts.sums)(support.input(x), sums, tiles, y)
end

-- The last phase in all workgroups; on the CPU all phases, in the one after `base`.
local function launch_scan(scan, groups, x, y, tiles, is_exclusive, base, carries, init, stream)
  local what = (is_exclusive and "exclusive " or "inclusive ") .. (carries and "carries " or "")
    .. (init ~= nil and "init " or "")
  local all = launch(scan, groups, stream, what, scan.form.is_direct and texts.last or texts.scan,
    is_exclusive, carries ~= nil, init ~= nil)
  local arguments = { support.input(x), y, tiles }
  if scan.form.is_direct then table.insert(arguments, base) end
  if carries then table.insert(arguments, carries) end
  if init ~= nil then table.insert(arguments, init) end
  if scan.told then table.insert(arguments, scan.told) end
  all(table.unpack(arguments))
end

-- Scans all workgroups but the last, block by block; gives what stands before each but the first.
-- Values of the workgroups so far are scanned again for each block: that takes one workgroup.
local function scan_blocks(scan, x, y, groups, tiles, is_exclusive, init, stream)
  local sums <close> = core.device_array(groups - 1, scan.dtype)
  local carries = core.device_array(groups - 1, scan.dtype)
  local marks <close> = core.device_array((groups - 1) * tiles * SIZE, scan.dtype)
  local what = (is_exclusive and "exclusive from marks " or "inclusive from marks ")
    .. (init ~= nil and "init " or "")
  local cores = math.max(2, core.current_device().compute_units)
  local block = math.max(1, cores * CACHED_BYTES // (tiles * scan.tile * x.dtype.itemsize))
  local elements, inner = support.input(x), plan_inner(scan, sums, carries, y)
  for base = 0, groups - 2, block do
    local last = math.min(base + block, groups - 1)
    launch(scan, last - base, stream, "marks ", texts.marks)(elements, marks, sums, tiles, base,
      y)
    launch_scan(inner, 1, sums:slice(1, 1, last), carries:slice(1, 1, last), 1, false, 0, nil, init,
      stream)
    local go_on = launch(scan, last - base, stream, what, texts.from_marks, is_exclusive,
      init ~= nil)
    if init == nil then
      go_on(elements, y, tiles, base, carries, marks)
    else
      go_on(elements, y, tiles, base, carries, marks, init)
    end
  end
  return carries
end

-- In one launch, in which each group publishes what it has in two marks.
local function scan_once(scan, x, y, count, is_exclusive, init, stream)
  local what = (is_exclusive and "exclusive " or "inclusive ") .. (init ~= nil and "init " or "")
  local all = launch(scan, count, stream, "once " .. what, texts.once, is_exclusive, init ~= nil)
  local marks, number = scan.subject:marks(2 * count, stream)
  local arguments = { support.input(x), y, marks, number }
  if init ~= nil then table.insert(arguments, init) end
  all(table.unpack(arguments))
end

-- Scans x into y, in front of all `init`, where there is one.
local function scan_into(scan, x, y, is_exclusive, init, stream)
  local count = (#x - 1) // scan.tile + 1
  if scan.form.is_once then
    return scan_once(scan, x, y, count, is_exclusive, init, stream)
  end
  local tiles = (count - 1) // MOST_GROUPS + 1 -- of a workgroup
  local groups = (count - 1) // tiles + 1
  if groups == 1 then
    launch_scan(scan, 1, x, y, tiles, is_exclusive, 0, nil, init, stream)
  elseif scan.form.is_direct then
    local carries <close> = scan_blocks(scan, x, y, groups, tiles, is_exclusive, init, stream)
    launch_scan(scan, 1, x, y, tiles, is_exclusive, groups - 1, carries, init, stream)
  else
    local sums <close> = core.device_array(groups - 1, scan.dtype)
    local carries <close> = core.device_array(groups - 1, scan.dtype)
    launch_sums(scan, x, sums, tiles, scan.told or y, stream)
    scan_into(plan_inner(scan, sums, carries, scan.told or y), sums, carries, false, init, stream)
    launch_scan(scan, groups, x, y, tiles, is_exclusive, 0, carries, init, stream)
  end
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
  local is_far = support.is_gpu() and support.type_name(array) == "roc.Array"
  return is_far and core.to_device(array) or array
end

local function deliver(subject, y, out, is_device, stream)
  if out == nil then
    return is_device and y or y:copy_to_host()
  elseif not rawequal(y, out) then
    local _ = y[1] -- tells what failed, of which `out` does not know
    subject:kernel(texts.CONVERT):forall(#y, { stream = stream })(y, support.output(out))
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

local function call(subject, array, opts, key)
  local options = opts == nil and {} or support.check_options(opts, CALL_OPTIONS,
    string.format("argument #2 to '%s'", subject.name))
  check_array(subject, array)
  local dtype, out = subject:combining(array.dtype, SIZE).dtype, options.out
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
  local x, y = elements_of(array), working_array(array, out, dtype)
  local scan = plan(subject, x, y, dtype)
  scan_into(scan, x, y, options.exclusive, init, options.stream)
  if key and rawequal(x, array) and (rawequal(y, out) or out == nil and is_device) then
    subject:keep(key, { scan = scan, device = scope and device })
  end
  return deliver(subject, y, out, is_device, options.stream)
end

-- A call for which there is a plan.
local function call_again(kept, array, out)
  local scope <close> = kept.device and support.scope(kept.device)
  local y = out or core.device_array(#array, kept.scan.dtype)
  scan_into(kept.scan, array, y)
  return y
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
  local run, again = support.public(call), support.public(call_again)
  return support.built(function(array, call_opts)
    local is_plain, out = support.only_out(call_opts)
    local key = is_plain and core.array_layouts({ array }, 1, out)
    local kept = key and subject:plan(key)
    if kept then
      return again(kept, array, out)
    end
    return run(subject, array, call_opts, key)
  end)
end

return support.public(scan)
