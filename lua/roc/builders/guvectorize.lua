-- roc.guvectorize: a function of vectors and matrices, applied along all outer dimensions.
--
-- The signature names the core dimensions; a call matches them against the arguments' last
-- dimensions, broadcasts the outer ones, and launches one item an outer index, which gets views of
-- its part: f(a, b, out) writes `out`.
local core = require "roc.core"
local loops = require "roc.builders.loops"
local subjects = require "roc.builders.subject"
local support = require "roc.builders.support"

support.library()

local BUILD_OPTIONS = "check, contract, dtype, fastmath, name, number"
local CALL_OPTIONS = "dtype, out, stream"
local MAX_RANK = 8 -- of an array

-- the signature -----------------------------------------------------------------------------------

local function bad_signature(text, why, ...)
  support.fail("bad argument #2 to 'guvectorize' (signature '%s': %s)", text,
    string.format(why, ...))
end

-- "m, n" as { "m", "n" }; an integer is a dimension of that extent.
local function parse_core(inside, text)
  local dims = {}
  if string.match(inside, "^%s*$") then
    return dims
  end
  for piece in string.gmatch(inside .. ",", "([^,]*),") do
    local name = string.match(piece, "^%s*([%a_][%w_]*)%s*$")
    local extent = math.tointeger(tonumber(string.match(piece, "^%s*(%d+)%s*$")))
    if not name and not extent then
      bad_signature(text, "'%s' is no name of a dimension", piece)
    end
    dims[#dims + 1] = name or extent
  end
  return dims
end

-- "(m,n),(n)" as a list of cores.
local function parse_side(side, text)
  local cores, at = {}, 1
  repeat
    local inside, next_at = string.match(side, "^%s*%(([^()]*)%)%s*()", at)
    if not inside then
      bad_signature(text, "core dimensions in parentheses expected, as in (m,n),(n,p)->(m,p)")
    end
    cores[#cores + 1] = parse_core(inside, text)
    at = next_at
    local comma = string.match(side, "^,()", at)
    if not comma and at <= #side then
      bad_signature(text, "a comma expected at '%s'", string.sub(side, at))
    end
    at = comma or at
  until not comma
  return cores
end

local function parse(text)
  if type(text) ~= "string" then
    support.fail(
      "bad argument #2 to 'guvectorize' (a signature like \"(m,n),(n,p)->(m,p)\" expected, got %s)",
      type(text))
  end
  local inputs, outputs = string.match(text, "^(.-)%->(.*)$")
  if not inputs then
    bad_signature(text, "'->' expected between arguments and results")
  end
  return { inputs = parse_side(inputs, text), outputs = parse_side(outputs, text), text = text }
end

local function core_text(dims)
  return "(" .. table.concat(dims, ",") .. ")"
end

-- matching ----------------------------------------------------------------------------------------

-- Core dimensions bound so far: name -> extent, and the argument that bound it.
local function bind(bound, dim, extent, what)
  local wanted = bound[dim] and bound[dim].extent or math.tointeger(dim)
  if not wanted then
    bound[dim] = { extent = extent, from = what }
  elseif wanted ~= extent then
    support.fail("bad %s (dimension %s is %d here, %d %s)", what, dim, extent, wanted,
      bound[dim] and "of " .. bound[dim].from or "in the signature")
  end
end

-- The shape without its core, whose extents are bound.
local function split_shape(shape, dims, bound, what)
  local outer_rank = #shape - #dims
  if outer_rank < 0 then
    support.fail("bad %s (%d dimensions expected for %s, got shape %s)", what, #dims,
      core_text(dims), support.shape_text(shape))
  end
  for k, dim in ipairs(dims) do
    bind(bound, dim, shape[outer_rank + k], what)
  end
  return table.move(shape, 1, outer_rank, 1, {})
end

local function extents_of(dims, bound, what)
  local extents = {}
  for k, dim in ipairs(dims) do
    extents[k] = math.tointeger(dim) or (bound[dim] and bound[dim].extent)
    if not extents[k] then
      support.fail("the extent of dimension %s of %s is in no argument; give option 'out'", dim,
        what)
    end
  end
  return extents
end

local function append(a, b)
  return table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {}))
end

-- dtypes ------------------------------------------------------------------------------------------

-- The dtype that two dtypes' elements have in common, as a kernel's arithmetic would: integers
-- widen to int64, floats to the wider.
local function common(a, b)
  if not a or a == b then
    return b
  elseif a.kind == "b" or b.kind == "b" then
    return a.kind == "b" and b or a
  elseif a.kind ~= "f" and b.kind ~= "f" then
    return core.dtypes.int64
  end
  local has_double = a.name == "float64" or b.name == "float64"
  return core.dtypes[has_double and "float64" or "float32"]
end

local function common_dtype(arrays, n)
  local dtype
  for i = 1, n do
    if arrays[i] then
      dtype = common(dtype, arrays[i].dtype)
    end
  end
  return dtype or core.dtypes.float64
end

-- calls -------------------------------------------------------------------------------------------

local function argument(subject, i)
  return string.format("argument #%d to '%s'", i, subject.name)
end

local function read_inputs(subject, args, n)
  local inputs, arrays, outers, bound = subject.signature.inputs, {}, {}, {}
  if n ~= #inputs then
    support.fail("'%s' takes %d argument%s, got %d", subject.name, #inputs,
      #inputs == 1 and "" or "s", n)
  end
  for i, dims in ipairs(inputs) do
    local what = argument(subject, i)
    arrays[i] = support.check_argument(args[i], what)
    if arrays[i] then
      outers[i] = split_shape(arrays[i].shape, dims, bound, what)
    elseif #dims > 0 then
      support.fail("bad %s (array with core dimensions %s expected, got %s)", what, core_text(dims),
        type(args[i]))
    end
  end
  return arrays, outers, bound
end

local function broadcast(subject, outers, n)
  local outer, first, second = loops.broadcast(outers, n)
  if not outer then
    support.fail("bad %s (outer shape %s does not broadcast with outer shape %s of argument #%d)",
      argument(subject, second),
      support.shape_text(outers[second]), support.shape_text(outers[first]), first)
  end
  return outer
end

-- The shape of a result for the caller: its outer shape and its core; one element when there is
-- neither.
local function result_shape(outer, extents)
  local shape = append(outer, extents)
  return #shape > 0 and shape or { 1 }
end

-- The results given, and the outer shape: that of the arguments, or the first result's, if it
-- broadcasts to that.
local function given_outs(subject, outs, outer, bound)
  local outputs = subject.signature.outputs
  outs = type(outs) == "table" and outs or { outs }
  if #outs ~= #outputs then
    support.fail("bad option 'out' (%d expected, one a result, got %d)", #outputs, #outs)
  end
  for j, dims in ipairs(outputs) do
    if not support.side_of(outs[j]) then
      support.fail("bad option 'out' (array expected, got %s)", support.type_name(outs[j]))
    end
    local own = split_shape(outs[j].shape, dims, bound, "option 'out'")
    local larger = j == 1 and loops.broadcast({ outer, own }, 2)
    if larger and support.shape_text(larger) == support.shape_text(own) then
      outer = larger
    end
    support.check_out(outs[j], result_shape(outer, extents_of(dims, bound, "the result")),
      "option 'out'")
    for l = 1, j - 1 do
      if core.array_overlap(outs[l], outs[j]) then
        support.fail("bad option 'out' (arrays %d and %d share memory)", l, j)
      end
    end
  end
  return outs, outer
end

local function make_outs(subject, outer, bound, dtypes, is_device)
  local outs = {}
  for j, dims in ipairs(subject.signature.outputs) do
    local extents = extents_of(dims, bound, string.format("result %d of '%s'", j, subject.name))
    outs[j] = support.new_array(is_device, result_shape(outer, extents), dtypes[j])
  end
  return outs
end

local function result_dtypes(subject, options, arrays, n)
  local wanted, dtypes = options.dtype or subject.dtype, {}
  for j = 1, #subject.signature.outputs do
    local dtype = type(wanted) == "table" and wanted[j] or wanted
    dtypes[j] = dtype and support.check_dtype(dtype, "option 'dtype'") or common_dtype(arrays, n)
  end
  return dtypes
end

-- An operand whose last dimensions are its core.
local function operand_of(array, outer_rank, name, position)
  local shape, strides = array.shape, array.strides
  return {
    array = array, name = name, position = position,
    extents = table.move(shape, 1, outer_rank, 1, {}),
    strides = table.move(strides, 1, outer_rank, 1, {}),
    core = table.move(shape, outer_rank + 1, #shape, 1, {}),
  }
end

-- A result's operand; without a core it is an array of one element for the function.
local function result_operand(array, dims, name)
  local operand = operand_of(array, array.ndim - #dims, name)
  if #dims == 0 then
    operand.core[1] = 1
  end
  return operand
end

-- A result without a core has a dimension more in the kernel, where its own are not joined.
local function check_rank(subject, operand)
  if #operand.inner + #operand.core > MAX_RANK then
    support.fail("'%s' cannot walk %d outer dimensions of a result without core dimensions, which "
      .. "no stride joins; %d can be", subject.name, #operand.inner, MAX_RANK - 1)
  end
end

local function operands_of(subject, arrays, outs)
  local operands, signature = {}, subject.signature
  for i, dims in ipairs(signature.inputs) do
    if arrays[i] then
      local array = arrays[i]
      for _, out in ipairs(outs) do
        array = core.array_overlap(out, array) and support.copy_of(array) or array
      end
      operands[#operands + 1] = operand_of(array, array.ndim - #dims, "a" .. i, i)
    end
  end
  for j, dims in ipairs(signature.outputs) do
    operands[#operands + 1] = result_operand(outs[j], dims, "o" .. j)
  end
  return operands
end

local function run_loops(subject, args, n, arrays, outs, is_new, outer, stream)
  local operands = operands_of(subject, arrays, outs)
  local extents = loops.plan(outer, operands)
  local params, passed = support.names("a", n), support.names("a", n)
  local values = table.move(args, 1, n, 1, { n = n })
  for _, operand in ipairs(operands) do
    check_rank(subject, operand)
    local view = loops.view(operand)
    if operand.position then
      values[operand.position], passed[operand.position] = support.input(view),
        loops.element(operand)
    else
      values.n = values.n + 1
      values[values.n] = support.output(view, is_new)
      params[values.n], passed[values.n] = operand.name, loops.element(operand)
    end
  end
  local text = loops.text(table.concat(params, ", "), extents, operands,
    string.format("f(%s)", table.concat(passed, ", ")))
  loops.launch(subject:kernel(text), extents, stream, values)
end

local function run(subject, args, n, options)
  local arrays, outers, bound = read_inputs(subject, args, n)
  local outer, is_new = broadcast(subject, outers, n), options.out == nil
  local outs = {}
  if not is_new then
    outs, outer = given_outs(subject, options.out, outer, bound)
  end
  local all = table.move(outs, 1, #outs, n + 1, table.move(arrays, 1, n, 1, {}))
  local device, is_device = support.device_of(all, n + #outs, options.stream)
  local scope <close> = support.scope(device)
  if is_new then
    outs = make_outs(subject, outer, bound, result_dtypes(subject, options, arrays, n), is_device)
  end
  if not support.is_empty(outer) then
    run_loops(subject, args, n, arrays, outs, is_new, outer, options.stream)
  end
  return table.unpack(outs)
end

-- Options with a dtype for each result, where they name a list.
local function check_dtypes(subject, options)
  local dtypes, count = options.dtype, #subject.signature.outputs
  if type(dtypes) == "table" and #dtypes ~= count then
    support.fail("bad option 'dtype' (%d expected, one a result, got %d)", count, #dtypes)
  end
end

local function call(subject, ...)
  local args, options = table.pack(...), {}
  local n = args.n
  if type(args[n]) == "table" then
    options = support.check_call_options(args[n], CALL_OPTIONS, argument(subject, n))
    check_dtypes(subject, options)
    n = n - 1
  end
  return run(subject, args, n, options)
end

---Makes a generalised element-wise function: `roc.guvectorize(f, "(m,n),(n,p)->(m,p)")(a, b [,
---{out=, dtype=, stream=}])`.
---@param f function of views: arguments, then results to write
---@param signature string
---@param opts? roc.VectorizeOpts
---@return function
local function guvectorize(f, signature, opts)
  local options = support.check_options(opts, BUILD_OPTIONS, "argument #3 to 'guvectorize'")
  local subject = subjects.new("guvectorize", f, options)
  subject.signature, subject.dtype = parse(signature), options.dtype
  check_dtypes(subject, options)
  local count = #subject.signature.inputs + #subject.signature.outputs
  if subject.nparams and subject.nparams ~= count then
    support.fail(
      "bad argument #2 to 'guvectorize' (signature '%s' has %d arguments and results, "
        .. "function '%s' %d parameters)",
      signature, count, subject.name, subject.nparams)
  end
  local public = support.public(call)
  return support.built(function(...)
    return public(subject, ...)
  end)
end

return support.public(guvectorize)
