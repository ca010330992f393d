-- roc.reduce: one value out of all elements of an array, or of each line along an axis.
--
-- Elements are combined in their order (C order for more than one dimension), in a tree whose form
-- depends on their number alone: the function need be associative, not commutative, and a result is
-- the same on every device and in every run.
--
--   each item combines `span` neighbours  ->  a workgroup its items, in a tree
--   ->  one workgroup the workgroups' values, the same way: in a second launch, or on a GPU the
--       last of them in the first launch
--
-- A function that is known to be commutative allows another order, as fixed, in which neighbouring
-- items read neighbouring elements.
local commutative = require "roc.builders.commutative"
local core = require "roc.core"
local loops = require "roc.builders.loops"
local subjects = require "roc.builders.subject"
local support = require "roc.builders.support"

support.library()

local fill_in = support.fill_in

local BUILD_OPTIONS = "check, commutative, contract, fastmath, name, number"
local CALL_OPTIONS = "axis, init, out, stream"
local NO_OPTIONS = {}

local LEVELS = 8         -- of a workgroup's tree; even
local SIZE = 1 << LEVELS -- items of a workgroup
local LEAST_SPAN = 16    -- neighbours that an item combines, when there are several workgroups
local MOST_GROUPS = 1024 -- so that one workgroup can combine their values
local FOURS = 4          -- neighbouring items that a work-item of a GPU runs, of many groups
local MOST_FOURS = 2048  -- groups of a function that is known to be commutative

-- text --------------------------------------------------------------------------------------------

-- An element in the dtype of the results.
local function load(text, dtype)
  return dtype.kind == "b" and text or string.format("dtype(%s)", text)
end

-- The elements that an item combines, how many items of the workgroup have any, and a level of the
-- tree: neighbours with neighbours, or the first half with the second.  The masks of their indices,
-- which change none, let the compiler eliminate the checks.
local IN_ORDER = {
  first = "($item_of_all - 1) * $span + 1",
  last = "math.min(first + $span - 1, #$x)",
  step = "1",
  live = "(#$x - ($group - 1) * $size * $span + $span - 1) // math.max($span, 1)",
  level = [[
    local from = (level & 1) * $size
    local to = ($size - from + item - 1 & 2 * $size - 1) + 1
    local left, right = from + 2 * item - 2 & 2 * $size - 1, from + 2 * item - 1 & 2 * $size - 1
    if item <= half then part[to] = f(part[left + 1], part[right + 1]) end
    if item == half + 1 and rest > half then part[to] = part[left + 1] end]],
}

local IN_ANY_ORDER = {
  first = "$item_of_all",
  last = "#$x",
  step = "$items_of_all",
  live = "#$x - ($group - 1) * $size",
  level = [[
    if item <= half then
      part[item] = f(part[item], part[(item + rest - 1 & $size - 1) + 1])
    end]],
}

-- What an item combines.
local ONE_BY_ONE = [[
  local first = $first
  if first >= 1 and first <= #$x then
    local acc = $load_first
    for i = first + $step, $last, $step do
      acc = f(acc, $load_next)
    end
    part[item] = acc
  end]]

-- The same on a GPU, with several elements on their way at a time: one by one, an item would wait
-- for each.
local TOGETHER = [[
  local first = $first
  local last, step = $last, $step & $sizes
  if first >= 1 and first <= last then
    local i, acc = first + step, $load_first
    if i + 6 * step <= last then
$seven
    end
    while i + 7 * step <= last do
$eight
    end
    if i + 3 * step <= last then
$four
    end
    while i <= last do
      acc, i = f(acc, $load_next), i + step
    end
    part[item] = acc
  end]]

-- The next `count` elements of TOGETHER.
local function batch(count, dtype)
  local names, loads, lines = support.names("v", count), {}, {}
  for k, name in ipairs(names) do
    loads[k] = load(k == 1 and "$x[i]" or string.format("$x[i + %d * step]", k - 1), dtype)
    lines[k] = string.format("      acc = f(acc, %s)\n", name)
  end
  return string.format("      local %s = %s\n%s      i = i + %d * step", table.concat(names, ", "),
    table.concat(loads, ", "), table.concat(lines), count)
end

-- What a work-item combines that runs $fours items of the tree: their elements are neighbours,
-- which are one access where they can be.  Each of them has elements.
local NEIGHBOURS = [[
  local before = ((group - 1) * $size + item - 1 & $sizes) * $fours
  local last, step = #x, (#parts & $sizes) * $size
  if before < step and before + $fours <= last then
    local i = before + step
    local acc1, acc2, acc3, acc4 = $firsts
    if i + 2 * step + $fours <= last then
$three_rounds
    end
    while i + 3 * step + $fours <= last do
$four_rounds
    end
    if i + 1 * step + $fours <= last then
$two_rounds
    end
    if i + $fours <= last then
$one_round
    end
$rest
$keep
  end]]

-- The next `count` rounds of NEIGHBOURS.
local function rounds(count, dtype)
  local names, loads, lines = support.names("v", count * FOURS), {}, {}
  for k, name in ipairs(names) do
    local round, lane = (k - 1) // FOURS, (k - 1) % FOURS + 1
    loads[k] = load(round == 0 and string.format("x[i + %d]", lane)
      or string.format("x[i + %d * step + %d]", round, lane), dtype)
    lines[k] = string.format("      acc%d = f(acc%d, %s)\n", lane, lane, name)
  end
  return string.format("      local %s = %s\n%s      i = i + %d * step", table.concat(names, ", "),
    table.concat(loads, ", "), table.concat(lines), count)
end

-- The first elements of the items.
local function firsts(dtype)
  local loads = {}
  for lane = 1, FOURS do loads[lane] = load(string.format("x[before + %d]", lane), dtype) end
  return table.concat(loads, ", ")
end

-- The elements after whole rounds, and the items' values in shared memory.
local function ends(dtype)
  local rest, keep = {}, {}
  for lane = 1, FOURS do
    local element = load(string.format("x[i + %d]", lane), dtype)
    rest[lane] = string.format("    if i + %d <= last then acc%d = f(acc%d, %s) end", lane, lane,
      lane, element)
    keep[lane] = string.format("    part[$fours * (item - 1) + %d] = acc%d", lane, lane)
  end
  return table.concat(rest, "\n"), table.concat(keep, "\n")
end

-- The trees of $fours groups side by side, whose items all have values: in each, the first half
-- with the second.  The last workgroup may have fewer groups.
local TREES = [[
  local groups = #parts - (group - 1 & $sizes) * $fours
  for level = 1, $levels do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    local half = $size >> level
    for pair = item - 1, $fours * half - 1, $size do
      local tree = pair >> $levels - level
      if tree < groups then
        local at = tree * $size + (pair & half - 1) & $fours * $size - 1
        part[at + 1] = f(part[at + 1], part[(at + half & $fours * $size - 1) + 1])
      end
    end
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)]]

-- Leaves in part[1] what the workgroup's share of $x comes to.
local COMBINE = [[
$combine
  local items = math.min($size, $live)
  for level = 0, $levels - 1 do
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    local live = ((items - 1) >> level) + 1
    local half, rest = live >> 1, (live + 1) >> 1
$level
  end]]

local TEMPLATES = {}

local WHOLE = [[
function(x, results, span$more)
  local part = roc.shared.array(2 * $size, dtype)
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
$combine_all
  if item == 1 and group <= #results then
    results[group] = $result
  end
end]]

TEMPLATES.whole = fill_in(WHOLE, { more = "$init" })

-- The first of two passes has the result of the second, which it does not touch, so that a look at
-- it tells what failed here, too.
TEMPLATES.first = fill_in(WHOLE, { more = ", told" })

-- Both passes in one launch: the workgroup that is the last to count combines the values of all.
-- The launch's number stands above its count, so that it counts from 0 whatever was there before.
local ONCE = [[
function(x, parts, result, marks, launch, span, parts_span$init)
  local part = roc.shared.array($parts, dtype)
  local counted = roc.shared.array(1, "int64")
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  if item == 1 and #marks > 0 then roc.atomic.max(marks, 1, launch << 32) end
$combine_all
  if item == 1 and #marks > 0 then
$give
    roc.mem_fence(roc.CLK_GLOBAL_MEM_FENCE)
    counted[1] = roc.atomic.add(marks, 1, 1) - (launch << 32) + 1
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if counted[1] == roc.get_num_groups(1) then
    roc.mem_fence(roc.CLK_GLOBAL_MEM_FENCE)
$combine_parts
    if item == 1 and #result > 0 then result[1] = $result end
  end
end]]

TEMPLATES.once = fill_in(ONCE, { init = "$init", result = "$result", combine_all = "$combine_all",
  combine_parts = "$combine_parts", parts = "2 * $size",
  give = "    if group <= #parts then parts[group] = part[1] end" })

-- The same with several groups of the tree in a workgroup.
TEMPLATES.fours = fill_in(ONCE, { init = "$init", result = "$result",
  combine_all = "$combine_fours", combine_parts = "$combine_parts", parts = "$fours * $size",
  give = [[
    for k = 1, $fours do
      local at = (group - 1 & $sizes) * $fours + k
      if at <= #parts then parts[at] = part[(k - 1) * $size + 1] end
    end]] })

-- What the words of COMBINE are: for the elements, and for the workgroups' values.
local ALL = { x = "x", span = "span", group = "group", item_of_all = "roc.get_global_id(1)",
  items_of_all = "roc.get_global_size(1)" }
local PARTS = { x = "parts", span = "parts_span", group = "1", item_of_all = "item",
  items_of_all = "$size" }

local function kernel_text(names, template, has_init, is_commutative)
  local dtype, order = names.dtype, is_commutative and IN_ANY_ORDER or IN_ORDER
  local rest, keep = ends(dtype)
  local combine = fill_in(COMBINE, {
    combine = (template == TEMPLATES.once or template == TEMPLATES.fours) and TOGETHER
      or ONE_BY_ONE,
    seven = batch(7, dtype), eight = batch(8, dtype), four = batch(4, dtype),
    first = order.first, last = order.last, step = order.step, live = order.live,
    level = order.level,
    load_first = load("$x[first]", dtype),
    load_next = load("$x[i]", dtype),
  })
  return fill_in(template, {
    combine_all = fill_in(combine, ALL),
    combine_fours = NEIGHBOURS .. "\n" .. TREES,
    firsts = firsts(dtype),
    three_rounds = rounds(3, dtype),
    four_rounds = rounds(4, dtype),
    two_rounds = rounds(2, dtype),
    one_round = rounds(1, dtype),
    rest = rest,
    keep = keep,
    fours = FOURS,
    combine_parts = fill_in(combine, PARTS),
    size = SIZE,
    sizes = 2 * MOST_GROUPS * SIZE - 1, -- a mask that changes no number of items
    levels = LEVELS,
    init = has_init and ", init" or "",
    result = has_init and string.format("f(%s, part[1])", load("init", dtype)) or "part[1]",
  })
end

local function axis_text(x, result, extents, dtype, has_init)
  local line = loops.element(x)
  local first = load(line .. "[1]", dtype)
  local body = string.format([[
local acc = %s
    for k = 2, #%s do
      acc = f(acc, %s)
    end
    %s = acc]], has_init and string.format("f(%s, %s)", load("init", dtype), first) or first, line,
    load(line .. "[k]", dtype), loops.element(result))
  return loops.text(has_init and "x, init, result" or "x, result", extents, { x, result }, body)
end

-- all elements ------------------------------------------------------------------------------------

-- Groups of the tree for n elements, none of which is left without any.
local function count_groups(n, is_commutative)
  local most = is_commutative and MOST_FOURS or MOST_GROUPS
  local groups = math.min(most, (n + SIZE * LEAST_SPAN - 1) // (SIZE * LEAST_SPAN))
  local span = (n + groups * SIZE - 1) // (groups * SIZE)
  return (n + span * SIZE - 1) // (span * SIZE)
end

-- Neighbours that each item of so many workgroups combines, of n elements.
local function span_of(n, groups)
  return (n + groups * SIZE - 1) // (groups * SIZE)
end

-- A launch over n elements of the kernel `what`, a name of TEMPLATES.
local function pass(subject, names, n, groups, what, has_init, stream)
  local workgroups = what == "fours" and (groups + FOURS - 1) // FOURS or groups
  return {
    launch = subject:launch_of(workgroups, stream, has_init and what .. " with init" or what, names,
      kernel_text, TEMPLATES[what], has_init, subject.is_commutative),
    groups = groups,
    span = span_of(n, groups),
  }
end

-- `more`: the value in front, or for "first" the array that tells of it.
local function run_pass(one, x, results, more)
  if more == nil then
    one.launch(support.input(x), support.output(results), one.span)
  else
    one.launch(support.input(x), support.output(results), one.span, more)
  end
end

local function run_once(subject, once, x, result, init, dtype, stream)
  local marks, launch = subject:marks(1, stream)
  local parts = subject:values(once.groups, dtype, stream)
  local parts_span = span_of(once.groups, 1)
  if init == nil then
    once.launch(support.input(x), parts, support.output(result), marks, launch, once.span,
      parts_span)
  else
    once.launch(support.input(x), parts, support.output(result), marks, launch, once.span,
      parts_span, init)
  end
end

-- How n elements become one: where they need several workgroups `once`, or `first` and `last`.
local function make_plan(subject, names, n, has_init, stream)
  local groups = count_groups(n, subject.is_commutative)
  local plan = { dtype = names.dtype, subject = subject, stream = stream }
  if groups == 1 then
    plan.last = pass(subject, names, n, 1, "whole", has_init, stream)
  elseif support.is_gpu() then
    local is_many = subject.is_commutative and groups > MOST_GROUPS
    plan.once = pass(subject, names, n, groups, is_many and "fours" or "once", has_init, stream)
  else
    plan.first = pass(subject, names, n, groups, "first", false, stream)
    plan.last = pass(subject, names, groups, 1, "whole", has_init, stream)
  end
  return plan
end

-- Puts f(init, x[1], …, x[n]) into result[1].
local function run_plan(plan, x, result, init)
  if plan.once then
    return run_once(plan.subject, plan.once, x, result, init, plan.dtype, plan.stream)
  elseif not plan.first then
    return run_pass(plan.last, x, result, init)
  end
  local parts <close> = core.device_array(plan.first.groups, plan.dtype)
  run_pass(plan.first, x, parts, support.output(result))
  run_pass(plan.last, parts, result, init)
end

-- The first element of an array of one, as a 1-D view.
local function check_single(out, dtype)
  if not support.side_of(out) then
    support.fail("bad option 'out' (array expected, got %s)", support.type_name(out))
  elseif out.size ~= 1 then
    support.fail("bad option 'out' (array of one element expected, got shape %s)",
      support.shape_text(out.shape))
  end
  support.check_store(dtype, out.dtype, "option 'out'")
  return out:reshape(1)
end

-- Puts what the elements of an array come to into result[1]; without a plan there is none.
local function run_all(plan, array, result, init)
  if plan then
    run_plan(plan, array.ndim == 1 and array or array:ravel(), result, init)
  else
    result:fill(init)
  end
end

-- The same as a value.
local function value_of(plan, dtype, array, init)
  local result <close> = core.device_array(1, dtype)
  run_all(plan, array, result, init)
  return result[1]
end

local function reduce_all(subject, names, array, init, options)
  local out, n = options.out, array.size
  local result = out ~= nil and check_single(out, names.dtype)
  local plan = n > 0 and make_plan(subject, names, n, init ~= nil, options.stream) or nil
  if not result then
    return value_of(plan, names.dtype, array, init), plan
  end
  run_all(plan, array, result, init)
  return out, plan
end

-- along an axis -----------------------------------------------------------------------------------

-- The array with the axis last, and the shape of the rest.
local function put_last(array, axis)
  local shape, axes, rest = array.shape, {}, {}
  for k = 1, #shape do
    if k ~= axis then
      axes[#axes + 1], rest[#rest + 1] = k, shape[k]
    end
  end
  axes[#shape] = axis
  return array:transpose(axes), rest
end

local function check_axis(subject, axis, array)
  if math.type(axis) ~= "integer" or axis < 1 or axis > array.ndim then
    support.fail("bad option 'axis' of '%s' (an integer from 1 to %d expected, got %s)",
      subject.name, array.ndim, tostring(axis))
  end
end

local function launch_axis(subject, x, result, rest, dtype, init, options)
  local operands = {
    { array = x, name = "x", extents = rest, strides = table.move(x.strides, 1, #rest, 1, {}),
      core = { x.shape[#rest + 1] } },
    { array = result, name = "result", extents = rest, strides = result.strides, core = {} },
  }
  local extents = loops.plan(rest, operands)
  local is_new = options.out == nil
  local input, output = support.input(loops.view(operands[1])),
    support.output(loops.view(operands[2]), is_new)
  local kernel = subject:kernel(axis_text(operands[1], operands[2], extents, dtype, init ~= nil),
    dtype)
  loops.launch(kernel, extents, options.stream,
    init ~= nil and { input, init, output, n = 3 } or { input, output, n = 2 })
end

local function reduce_axis(subject, array, dtype, init, options, is_device)
  local x, rest = put_last(array, options.axis)
  local result = options.out
  if result ~= nil then
    support.check_out(result, rest, "option 'out'")
    support.check_store(dtype, result.dtype, "option 'out'")
    x = core.array_overlap(result, x) and support.copy_of(x) or x
  else
    result = support.new_array(is_device, rest, dtype)
  end
  if support.is_empty(rest) then
    return result
  elseif array.size == 0 then
    return result:fill(init)
  end
  launch_axis(subject, x, result, rest, dtype, init, options)
  return result
end

-- calls -------------------------------------------------------------------------------------------

local function read_options(subject, opts)
  return opts == nil and NO_OPTIONS
    or support.check_options(opts, CALL_OPTIONS, string.format("argument #2 to '%s'", subject.name))
end

local function call(subject, array, opts, key)
  local options = read_options(subject, opts)
  if not support.side_of(array) then
    support.fail("bad argument #1 to '%s' (array expected, got %s%s)", subject.name,
      support.type_name(array), support.table_advice(array))
  end
  if options.axis ~= nil then
    check_axis(subject, options.axis, array)
  end
  local names = subject:combining(array.dtype, SIZE)
  local init = options.init
  if init == nil then
    init = subject.init
  end
  init = support.check_init(init, names.dtype)
  if init == nil and array.size == 0 and not (options.axis and array.shape[options.axis] > 0) then
    support.fail("bad argument #1 to '%s' (the array is empty, and there is no 'init')",
      subject.name)
  end
  local device, is_device = support.device_of({ array, options.out }, 2, options.stream)
  local scope <close> = support.scope(device)
  if options.axis and array.ndim > 1 then
    return reduce_axis(subject, array, names.dtype, init, options, is_device)
  end
  local value, plan = reduce_all(subject, names, array, init, options)
  if key and plan then
    plan.init, plan.device = init, scope and device
    subject:keep(key, plan)
  end
  return value
end

-- A call for which there is a plan.
local function call_again(plan, array, out)
  local scope <close> = plan.device and support.scope(plan.device)
  if out == nil then
    return value_of(plan, plan.dtype, array, plan.init)
  end
  run_all(plan, array, out.ndim == 1 and out or out:reshape(1), plan.init)
  return out
end

---Makes a reduction: `roc.reduce(f [, init])(array [, {init=, axis=, out=, stream=}])`.
---@param f function associative: combines two values into one of the same type
---@param init? number | boolean combined in front of the elements
---@param opts? roc.ReduceOpts
---@return function
local function reduce(f, init, opts)
  local options = support.check_options(opts, BUILD_OPTIONS, "argument #3 to 'reduce'")
  local subject = subjects.new("reduce", f, options)
  subject:check_parameters("reduce", 2)
  if init ~= nil and not support.kind_of_scalar(init) then
    support.fail("bad argument #2 to 'reduce' (number or boolean expected, got %s)",
      support.type_name(init))
  end
  subject.init, subject.is_commutative = init, options.commutative
  if options.commutative == nil then
    subject.is_commutative = commutative.is_known(f)
  end
  local run, again = support.public(call), support.public(call_again)
  return support.built(function(array, call_opts)
    local is_plain, out = support.only_out(call_opts)
    local key = is_plain and core.array_layouts({ array }, 1, out)
    local plan = key and subject:plan(key)
    if plan then
      return again(plan, array, out)
    end
    return run(subject, array, call_opts, key)
  end)
end

return support.public(reduce)
