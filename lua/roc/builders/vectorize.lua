-- roc.vectorize: an element-wise function over arrays and numbers, out of a function of elements.
--
-- A call broadcasts its arguments, learns from the compiler what the function gives for their
-- types, allocates the results and launches one item an element.  What it finds out is kept, as a
-- plan, for calls with arrays of the same layout.  Numbers alone are an ordinary call.
local core = require "roc.core"
local loops = require "roc.builders.loops"
local subjects = require "roc.builders.subject"
local support = require "roc.builders.support"

support.library()

local BUILD_OPTIONS = "check, contract, dtype, fastmath, name, number"
local CALL_OPTIONS = "dtype, out, stream"

local function argument(i, name)
  return string.format("argument #%d to '%s'", i, name)
end

-- A value for each result: those of a list, or the one value.
local function for_each(value, count, what)
  if value == nil then
    return {}
  elseif type(value) ~= "table" then
    value = { value }
  end
  if #value ~= count then
    support.fail("bad %s (%d expected, one a result, got %d)", what, count, #value)
  end
  return value
end

-- reading a call ----------------------------------------------------------------------------------

-- The arguments of a call, how many, and its options.
local function read_call(subject, ...)
  local args, options = table.pack(...), {}
  local n = args.n
  if type(args[n]) == "table" then
    options = support.check_call_options(args[n], CALL_OPTIONS, argument(n, subject.name))
    args[n], n = nil, n - 1
  end
  if subject.nparams and n ~= subject.nparams then
    support.fail("'%s' takes %d argument%s, got %d", subject.name, subject.nparams,
      subject.nparams == 1 and "" or "s", n)
  end
  return args, n, options
end

-- The kinds of the arguments, and the arrays among them with their shapes.
local function sort_arguments(subject, args, n)
  local kinds, arrays, shapes = {}, {}, {}
  for i = 1, n do
    local array, kind = support.check_argument(args[i], argument(i, subject.name))
    kinds[i], arrays[i], shapes[i] = kind, array, array and array.shape
  end
  return kinds, arrays, shapes
end

local function broadcast(subject, shapes, n)
  local shape, first, second = loops.broadcast(shapes, n)
  if not shape then
    support.fail("bad %s (shape %s does not broadcast with shape %s of argument #%d)",
      argument(second, subject.name),
      support.shape_text(shapes[second]), support.shape_text(shapes[first]), first)
  end
  return shape
end

local function result_dtypes(subject, kinds, options)
  local results = subject:results(kinds)
  local wanted = for_each(options.dtype or subject.dtype, #results, "option 'dtype'")
  local dtypes = {}
  for j, result in ipairs(results) do
    dtypes[j] = wanted[j] and support.check_dtype(wanted[j], "option 'dtype'") or result
    support.check_store(result, dtypes[j], "option 'dtype'")
  end
  return dtypes, results
end

-- results -----------------------------------------------------------------------------------------

-- Whether all arrays of the highest rank have their first index fastest.
local function prefers_f(arrays, n, rank)
  local found = false
  for i = 1, n do
    local array = arrays[i]
    if array and rank > 1 and array.ndim == rank then
      if array:is_c_contiguous() or not array:is_f_contiguous() then
        return false
      end
      found = true
    end
  end
  return found
end

-- Checks given results, and gives their shape: the one that the arguments broadcast to, or one it
-- broadcasts to.
local function check_outs(outs, shape, results)
  local larger = support.side_of(outs[1]) and loops.broadcast({ shape, outs[1].shape }, 2)
  if larger and support.shape_text(larger) == support.shape_text(outs[1].shape) then
    shape = larger
  end
  for j = 1, #results do -- any of a list may be missing
    local out = outs[j]
    support.check_out(out, shape, "option 'out'")
    support.check_store(results[j], out.dtype, "option 'out'")
    for l = 1, j - 1 do
      if core.array_overlap(outs[l], out) then
        support.fail("bad option 'out' (arrays %d and %d share memory)", l, j)
      end
    end
  end
  return shape
end

local function make_outs(shape, dtypes, is_device, order)
  local made = {}
  for j, dtype in ipairs(dtypes) do
    made[j] = support.new_array(is_device, shape, dtype, order)
  end
  return made
end

-- The array, or a copy where a result lies over other elements than its own; and whether a result
-- is the array itself.
local function apart_from(outs, array)
  local is_result = false
  for _, out in ipairs(outs) do
    local overlap = core.array_overlap(out, array)
    if overlap == "some" then
      return support.copy_of(array), false
    end
    is_result = is_result or overlap == "same"
  end
  return array, is_result
end

-- running -----------------------------------------------------------------------------------------

-- The arrays of a call as operands: arguments first, each with its position, then results.
local function operands_of(arrays, n, outs)
  local operands = {}
  local function add(array, name, position, is_result)
    operands[#operands + 1] = {
      array = array, extents = array.shape, strides = array.strides, core = {}, name = name,
      position = position, is_result = is_result,
    }
  end
  for i = 1, n do
    if arrays[i] then
      local array, is_result = apart_from(outs, arrays[i])
      add(array, "a" .. i, i, is_result)
    end
  end
  for j, out in ipairs(outs) do
    add(out, "o" .. j)
  end
  return operands
end

-- "function(a1, a2, o1) …": o1[i1] = f(a1[i1], a2).
local function text_of(operands, n, nouts, extents)
  local params, passed, targets = support.names("a", n), support.names("a", n), {}
  for _, operand in ipairs(operands) do
    if operand.position then
      passed[operand.position] = loops.element(operand)
    else
      targets[#targets + 1] = loops.element(operand)
    end
  end
  table.move(support.names("o", nouts), 1, nouts, n + 1, params)
  local body = string.format("%s = f(%s)", table.concat(targets, ", "), table.concat(passed, ", "))
  return loops.text(table.concat(params, ", "), extents, operands, body)
end

-- plans -------------------------------------------------------------------------------------------

-- How the kernel gets an argument or result: the shape of its view, and what says of a host array
-- which way its elements go.
local function passage_of(operand, at, is_reversed, is_new)
  local view, wrap = loops.view(operand, is_reversed), nil
  if support.type_name(operand.array) == "roc.Array" then
    local is_read_only = operand.position and not operand.is_result
    wrap = is_read_only and core.In or not operand.position and is_new and core.New or core.InOut
  end
  local is_view = not rawequal(view, operand.array)
  return (is_view or wrap) and { at = at, shape = is_view and view.shape, wrap = wrap }
end

-- How calls with operands like these run: the kernel, its loops, and what becomes of arrays on the
-- way to it.  Holds no array.
local function make_plan(subject, operands, n, outs, is_new, shape)
  local is_reversed = #shape > 1 and outs[1]:is_f_contiguous() and not outs[1]:is_c_contiguous()
  local plan = { extents = loops.plan(shape, operands, is_reversed), is_reversed = is_reversed,
    passages = {} }
  local at = n
  for _, operand in ipairs(operands) do
    at = operand.position and at or at + 1
    plan.passages[#plan.passages + 1] =
      passage_of(operand, operand.position or at, is_reversed, is_new) or nil
  end
  plan.kernel = subject:kernel(text_of(operands, n, #outs, plan.extents))
  return plan
end

-- Launches; `args` are the arguments, and the results after them.
local function run_plan(plan, launcher, args)
  local passages = plan.passages
  for i = 1, #passages do
    local passage = passages[i]
    local array = args[passage.at]
    if passage.shape then
      array = (plan.is_reversed and array:transpose() or array):reshape(passage.shape)
    end
    args[passage.at] = passage.wrap and passage.wrap(array) or array
  end
  return loops.run(launcher, args)
end

-- The plan kept for a call; how many arguments it has, and the result that its options name.
local function find_plan(subject, args)
  local n, options, out = args.n, args[args.n], nil
  if type(options) == "table" then
    local is_plain
    n, is_plain, out = n - 1, support.only_out(options)
    if not is_plain then
      return nil
    end
  end
  local key = core.array_layouts(args, n, out)
  return key and subject:plan(key), n, out
end

-- A call for which there is a plan.
local function call_again(plan, args, n, out)
  local scope <close> = plan.device and support.scope(plan.device) or nil
  local results, count = plan.results, out and 1 or #plan.results.dtypes
  args[n + 1] = out
  for j = out and 2 or 1, count do
    args[n + j] = support.new_array(results.is_device, results.shape, results.dtypes[j],
      results.order)
  end
  args.n = n + count
  if count == 1 then
    out = args[n + 1]
    run_plan(plan, plan.launcher, args)
    return out
  end
  local outs = table.move(args, n + 1, n + count, 1, {}) -- before they are views
  run_plan(plan, plan.launcher, args)
  return table.unpack(outs)
end

-- calls -------------------------------------------------------------------------------------------

local function run_loops(subject, args, n, arrays, outs, is_new, shape, stream)
  local operands = operands_of(arrays, n, outs)
  local passed = table.move(args, 1, n, 1, { n = n + #outs })
  for _, operand in ipairs(operands) do
    passed[operand.position or n + 1] = operand.array -- which may be a copy
  end
  table.move(outs, 1, #outs, n + 1, passed)
  local plan = make_plan(subject, operands, n, outs, is_new, shape)
  run_plan(plan, loops.launcher(plan.kernel, plan.extents, stream), passed)
  return plan
end

local function call(subject, args, n, options)
  local kinds, arrays, shapes = sort_arguments(subject, args, n)
  local dtypes, results = result_dtypes(subject, kinds, options)
  local outs = for_each(options.out, #results, "option 'out'")
  local shape, is_new = broadcast(subject, shapes, n), #outs == 0
  if not is_new then
    shape = check_outs(outs, shape, results)
    table.move(outs, 1, #results, n + 1, arrays)
  end
  local device, is_device = support.device_of(arrays, n + #outs, options.stream)
  local home = core.current_device()
  local key = core.array_layouts(args, n, options.out)
  local scope <close> = support.scope(device)
  local order = prefers_f(arrays, n, #shape) and "F" or "C"
  if is_new then
    outs = make_outs(shape, dtypes, is_device, order)
  end
  if support.is_empty(shape) then
    return table.unpack(outs)
  end
  local plan = run_loops(subject, args, n, arrays, outs, is_new, shape, options.stream)
  if key and not options.dtype and not options.stream then
    plan.device = device ~= home and device or nil
    plan.results = { dtypes = dtypes, shape = shape, is_device = is_device, order = order }
    plan.launcher = loops.launcher(plan.kernel, plan.extents)
    subject:keep(key, plan)
  end
  return table.unpack(outs)
end

local function has_array(args, n)
  for i = 1, n do
    if not support.kind_of_scalar(args[i]) then
      return true
    end
  end
  return false
end

-- A function that kernels know, with errors that call it by its name: it has no line of its own.
local function named(f, name)
  local function finish(is_fine, ...)
    if not is_fine then
      support.fail("%s", (string.gsub(tostring((...)), "to '[^']*'",
        string.format("to '%s'", name), 1)))
    end
    return ...
  end
  return function(...)
    return finish(pcall(f, ...))
  end
end

---Makes an element-wise function: `roc.vectorize(f)(x, y [, {out=, dtype=, stream=}])`.
---@param f function of elements
---@param opts? roc.VectorizeOpts
---@return function
local function vectorize(f, opts)
  local options = support.check_options(opts, BUILD_OPTIONS, "argument #2 to 'vectorize'")
  local subject = subjects.new("vectorize", f, options)
  if subject.nparams == 0 then
    support.fail("bad argument #1 to 'vectorize' (function '%s' has no parameters)", subject.name)
  end
  subject.dtype = options.dtype
  local read, run, again = support.public(read_call), support.public(call),
    support.public(call_again)
  local plain = subject.is_builtin and support.public(named(f, subject.name)) or f
  return support.built(function(...)
    local given = table.pack(...)
    local plan, count, out = find_plan(subject, given)
    if plan then
      return again(plan, given, count, out)
    end
    local args, n, call_options = read(subject, ...)
    if has_array(args, n) or call_options.out then
      return run(subject, args, n, call_options)
    end
    return plain(table.unpack(args, 1, n))
  end)
end

return support.public(vectorize)
