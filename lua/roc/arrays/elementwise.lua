-- Element-wise operations on arrays: broadcasting, the device, the result, and the kernel.
--
-- One kernel is made for each operation, dtypes and arrangement of loops, and kept.  Plain operands
-- go by core.elementwise, which finds the kernel without a text; this file serves what is not
-- plain (smart arrays, host arrays beside device arrays, sim) and says what is wrong.
local core = require "roc.core"
local dtypes = require "roc.arrays.dtypes"
local loops = require "roc.builders.loops"
local generated = require "roc.arrays.generated"
local operations = require "roc.arrays.operations"
local places = require "roc.arrays.places"
local support = require "roc.builders.support"

support.library()

local M = {}

local NAMES = { "a", "b", "c" }

-- operands ----------------------------------------------------------------------------------------

local function title(operation)
  return operation.symbol or operation.name
end

local function check_operand(operation, value, i)
  if support.side_of(value) then
    return value.dtype
  end
  local kind = support.kind_of_scalar(value)
  if not kind then
    support.fail("bad operand #%d of '%s' (array, number or boolean expected, got %s%s)", i,
      title(operation), support.type_name(value), support.table_advice(value))
  end
  return kind
end

local function kind_name(kind)
  return type(kind) == "string" and kind or kind.name
end

local function result_dtype(operation, kinds)
  local dtype, at, expected = operation.result(kinds)
  if dtype then return dtype end
  local names = {}
  for i, kind in ipairs(kinds) do names[i] = kind_name(kind) end
  support.fail("bad operand #%d of '%s' (%s; the operands are %s)", at, title(operation), expected,
    table.concat(names, " and "))
end

local function broadcast(operation, operands, n)
  local shapes = {}
  for i = 1, n do
    shapes[i] = support.side_of(operands[i]) and operands[i].shape or nil
  end
  local shape, first, second = loops.broadcast(shapes, n)
  if not shape then
    support.fail("bad operand #%d of '%s' (shape %s does not broadcast with shape %s of operand "
      .. "#%d)", second, title(operation), support.shape_text(shapes[second]),
      support.shape_text(shapes[first]), first)
  end
  return shape
end

-- Whether every array has its first index fastest, and one of them not also its last.
local function prefers_f(arrays, rank)
  local found = false
  for _, array in ipairs(arrays) do
    if not array:is_f_contiguous() then return false end
    found = found or array.ndim == rank and not array:is_c_contiguous()
  end
  return found
end

-- kernels -----------------------------------------------------------------------------------------

-- `local a = x1[i1]` of each operand, in the operation's class, then what it computes.
local function body_of(operation, kinds, dtype, elements, target)
  local class, lines = operation.class or dtypes.class(dtype), {}
  for i, element in ipairs(elements) do
    local name, kind = NAMES[i], kinds[i]
    lines[#lines + 1] = string.format("local %s = %s", name, element)
    local is_value = not (operation.condition and i == 1)
    local converted = is_value and class ~= "own" and dtypes.convert(name, kind, class) or name
    if kind == "integer" and operation.chooses and dtype.kind == "f" then
      lines[#lines] = lines[#lines] .. " + 0.0" -- the result is one of the operands
    elseif converted ~= name then
      lines[#lines] = string.format("local loaded%d = %s", i, element)
      lines[#lines + 1] = string.format("local %s = %s", name,
        dtypes.convert("loaded" .. i, kind, class))
    end
  end
  local text = operation.text
  if type(text) == "function" then text = text(kinds, dtype) end
  local first, last = string.match(text, "^(.*)result = (.-)$")
  if first and not string.find(first, "result") then -- one expression: no local
    lines[#lines + 1] = first .. target .. " = " .. last
  else
    lines[#lines + 1] = (string.gsub(text, "result =", "local result =", 1))
    lines[#lines + 1] = target .. " = result"
  end
  return table.concat(lines, "\n    ")
end

local function kernel_of(operation, kinds, dtype, planned, extents)
  local params, elements, names = {}, {}, { operation.name, dtype.name }
  for i, operand in ipairs(planned) do
    params[i] = operand.name
    elements[i] = operand.array and loops.element(operand) or operand.name
    names[#names + 1] = kinds[i] and kind_name(kinds[i])
  end
  local target = table.remove(elements)
  local arrays = {}
  for _, operand in ipairs(planned) do
    arrays[#arrays + 1] = operand.array and operand
  end
  local text = loops.text(table.concat(params, ", "), extents, arrays,
    body_of(operation, kinds, dtype, elements, target))
  return generated.kernel(text, table.concat(names, " "), "roc.Array " .. title(operation))
end

-- running -----------------------------------------------------------------------------------------

local function plan(operands, kinds, out, shape, is_reversed)
  local planned, arrays = {}, {}
  for i = 1, #kinds + 1 do
    local value = i > #kinds and out or operands[i]
    local is_array = support.side_of(value) ~= nil
    planned[i] = { name = "x" .. i, array = is_array and value or nil, value = value }
    if is_array then
      local operand = planned[i]
      operand.extents, operand.strides, operand.core = value.shape, value.strides, {}
      arrays[#arrays + 1] = operand
    end
  end
  return planned, loops.plan(shape, arrays, is_reversed)
end

-- Fills `out`, of the given shape, with the operation's results.
local function run(operation, operands, kinds, dtype, out, shape, is_new)
  local is_reversed = #shape > 1 and out:is_f_contiguous() and not out:is_c_contiguous()
  local planned, extents = plan(operands, kinds, out, shape, is_reversed)
  local args = { n = #planned }
  for i, operand in ipairs(planned) do
    local view = operand.array and loops.view(operand, is_reversed)
    args[i] = not view and operand.value or i == #planned and support.output(view, is_new)
      or support.input(view)
  end
  loops.launch(kernel_of(operation, kinds, dtype, planned, extents), extents, nil, args)
end

-- `x ^ 2` with a plain 2 is x * x, as in a kernel's text.
local function square_of(operation)
  return { name = operation.name, symbol = operation.symbol, result = operation.result,
    text = operation.square }
end

local function specialised(operation, operands)
  if operation.square and operands[2] == 2 and support.kind_of_scalar(operands[2]) then
    return square_of(operation)
  end
  return operation
end

---The result of an operation on arrays and numbers of any kind, at least one of them an array; or
---what is wrong with them.
---@param name string of roc.arrays.operations
---@param ... roc.AnyArray | number | boolean
---@return roc.AnyArray
function M.general(name, ...)
  local operation = operations[name]
  local operands, kinds, n = { ... }, {}, operation.operands
  for i = 1, n do
    kinds[i] = check_operand(operation, operands[i], i)
  end
  local has_array = false
  for i = 1, n do has_array = has_array or type(kinds[i]) ~= "string" end
  if not has_array then
    support.fail("bad operand #1 of '%s' (array expected, got %s)", title(operation), kinds[1])
  end
  local dtype = result_dtype(operation, kinds)
  return M.compute(specialised(operation, operands), operands, kinds, dtype)
end

-- plain operands ----------------------------------------------------------------------------------

local conversions = {} -- "astype int8" …: an operation whose result has that dtype

local function operation_of(name)
  return operations[name] or conversions[name]
end

---@param name string
---@return boolean
function M.is_operation(name) return operation_of(name) ~= nil end

-- The result's dtype; nil where the kinds are refused.
local function plain_result(name, kinds)
  return (operation_of(name).result(kinds))
end

-- The kernel for kinds of operands and loops; `walks`: of each array, and the result, along which
-- loops it moves.
local function plain_kernel(name, is_square, kinds, dtype, extents, walks)
  local operation, planned, array = operation_of(name), {}, 0
  if is_square then operation = square_of(operation) end
  for i = 1, #kinds + 1 do
    planned[i] = { name = "x" .. i }
    if type(kinds[i]) ~= "string" then
      array = array + 1
      planned[i].array, planned[i].walks, planned[i].core = true, walks[array], {}
    end
  end
  return kernel_of(operation, kinds, dtype, planned, extents)
end

-- The same for several operations in one pass: `nodes` in an order that has operands first, each
-- {name =, square =, kinds =, dtype =, operands = {"x1", "s1", "t1", …}}; x are arrays, s numbers,
-- t results of earlier nodes, which are rounded to their dtypes.
local ZEROS = { bool = "false", integer = "0", float32 = "roc.float32(0)", float64 = "0.0" }

---The zero of the class that elements of a dtype are computed in.
---@param dtype roc.DType
---@return string
function M.zero_of(dtype) return ZEROS[dtypes.class(dtype)] end

---Adds lines that compute node i, t<i>, of its operands.
---@param lines string[]
---@param node table
---@param i integer
function M.append_node(lines, node, i)
  local operation, dtype, name = operation_of(node.name), node.dtype, "t" .. i
  if node.square then operation = square_of(operation) end
  lines[#lines + 1] = string.format("local %s = %s", name, M.zero_of(dtype))
  lines[#lines + 1] = "do"
  local elements = {}
  for k, operand in ipairs(node.operands) do
    elements[k] = string.gsub(operand, "^x", "e")
  end
  lines[#lines + 1] = body_of(operation, node.kinds, dtype, elements, name)
  lines[#lines + 1] = "end"
  if dtype.kind ~= "b" and dtype.itemsize < 8 then
    lines[#lines + 1] = string.format("%s = roc.%s(%s)", name, dtype.name, name)
  end
end

---The leaves of a graph, as loops.lua has operands.
---@param count integer
---@param walks boolean[][]
---@return table[]
function M.leaves(count, walks)
  local planned = {}
  for i = 1, count do
    planned[i] = { name = "x" .. i, array = true, walks = walks[i], core = {} }
  end
  return planned
end

---Lines that load e1 … of the leaves, and compute t1 … of the nodes.
---@param nodes table[]
---@param leaves table[]
---@return string[]
function M.graph_lines(nodes, leaves)
  local lines = {}
  for i, leaf in ipairs(leaves) do
    lines[i] = string.format("local e%d = %s", i, loops.element(leaf))
  end
  for i, node in ipairs(nodes) do M.append_node(lines, node, i) end
  return lines
end

-- `outputs`: the nodes that are stored, in arrays that all lie as the last of `walks`; the first of
-- them is the last parameter.
local function fused_kernel(nodes, leaves, scalars, extents, walks, outputs)
  local params, planned = support.names("x", leaves), M.leaves(leaves, walks)
  local lines = M.graph_lines(nodes, planned)
  table.move(support.names("s", scalars), 1, scalars, #params + 1, params)
  for i = 1, #outputs do
    local at = i % #outputs + 1
    local output = { name = "y" .. at, array = true, walks = walks[#walks], core = {} }
    params[#params + 1] = output.name
    planned[#planned + 1] = output
    lines[#lines + 1] = string.format("%s = t%d", loops.element(output), outputs[at])
  end
  local text = loops.text(table.concat(params, ", "), extents, planned,
    table.concat(lines, "\n    "))
  return generated.fresh(text, "roc.Array expression") -- the caller keeps a bounded number
end

-- What the core calls; roc.arrays.rows adds a rule.
M.rules = { result = plain_result, kernel = plain_kernel, fused = fused_kernel }
core.set_elementwise_rules(M.rules)

---A function that makes an operation.
---@param name string
---@param general function that serves what is not plain
---@return function
function M.plain(name, general)
  local operation = operation_of(name)
  return core.elementwise(name,
    { operands = operation.operands, square = operation.square ~= nil }, general)
end

local plain = setmetatable({}, { __index = function(made, name)
  made[name] = M.plain(name, function(...) return M.general(name, ...) end)
  return made[name]
end })

---The result of an operation on arrays and numbers, at least one of them an array.
---@param name string of roc.arrays.operations
---@param ... roc.AnyArray | number | boolean
---@return roc.AnyArray
function M.apply(name, ...)
  return plain[name](...)
end

---A new array of the elements, converted; on the array's device.
---@param array roc.AnyArray
---@param dtype roc.DTypeLike
---@return roc.AnyArray
function M.astype(array, dtype)
  local wanted = support.check_dtype(dtype, "argument #1 to 'astype'")
  local name = "astype " .. wanted.name
  if not conversions[name] then
    conversions[name] = { name = "astype", operands = 1, class = operations.astype.class,
      result = function() return wanted end, text = operations.astype.text }
    plain[name] = M.plain(name, function(value)
      return M.compute(operations.astype, { value }, { value.dtype }, wanted)
    end)
  end
  return plain[name](array)
end

local STORE = { name = "store", symbol = "=", operands = 1, text = "result = a" }

-- Elements that the host copies sooner than a kernel is launched; it also copies to views with
-- gaps, where a kernel would write to a copy.
local FEW = 1 << 14

---Stores the elements of an array, broadcast and converted, in another; both on one device, which
---is current, and without common elements.
---@param out roc.AnyArray
---@param value roc.AnyArray | number | boolean
function M.store(out, value)
  local kind = check_operand(STORE, value, 1)
  if kind == out.dtype and support.side_of(out) == "host" and core.current_device().kind == "cpu"
      and (out.size <= FEW or not (out:is_c_contiguous() or out:is_f_contiguous())) then
    return core.fill_from(out, value)
  end
  run(STORE, { value }, { kind }, out.dtype, out, out.shape)
end

---The same as `apply` with the kinds and the result's dtype given.
function M.compute(operation, operands, kinds, dtype)
  local shape = broadcast(operation, operands, #kinds)
  local device, is_device = places.choose(title(operation), operands, #kinds)
  local scope <close> = support.scope(device)
  local arrays = {}
  for i = 1, #kinds do
    operands[i] = places.move(operands[i], is_device)
    arrays[#arrays + 1] = support.side_of(operands[i]) and operands[i]
  end
  local out = support.new_array(is_device, shape, dtype, prefers_f(arrays, #shape) and "F" or "C")
  if not support.is_empty(shape) then
    run(operation, operands, kinds, dtype, out, shape, true)
  end
  return out
end

return M
