-- Broadcasting: the loops that operands of different shapes share, and the kernel text that walks
-- them.
--
-- Neighbouring dimensions that every operand crosses with one stride are joined, so that most calls
-- need one loop; an operand that does not move along a dimension (its extent is 1, or missing) is
-- not indexed by it.  Nothing is copied.  The innermost loop runs along dimension 1 of the launch,
-- all others along dimension 2.
local support = require "roc.builders.support"

support.library()

local M = {}

local MAX_GROUPS = 65535 -- along dimension 2; some devices allow no more
local ITEMS = 256        -- of a workgroup

---The shape that all the shapes broadcast to, or nil and the numbers of two that are
---incompatible.
---@param shapes integer[][] gaps allowed up to n
---@param n integer
---@return integer[]? shape
---@return integer? first
---@return integer? second
function M.broadcast(shapes, n)
  local rank = 0
  for i = 1, n do
    rank = math.max(rank, shapes[i] and #shapes[i] or 0)
  end
  local shape, origin = {}, {}
  for k = 1, rank do
    shape[k] = 1
    for i = 1, n do
      local extent = shapes[i] and shapes[i][k - rank + #shapes[i]] or 1
      if extent ~= 1 and shape[k] ~= 1 and extent ~= shape[k] then
        return nil, origin[k], i
      elseif extent ~= 1 then
        shape[k], origin[k] = extent, i
      end
    end
  end
  return shape
end

-- The stride of each operand along dimension k of the shape; false where it does not move.
local function strides_along(shape, operands, k)
  local strides = {}
  for i, operand in ipairs(operands) do
    local at = k - #shape + #operand.extents
    strides[i] = at >= 1 and operand.extents[at] == shape[k] and operand.strides[at]
  end
  return strides
end

local function can_join(outer, inner, extent)
  for i = 1, #inner do
    if not outer[i] or not inner[i] then
      if outer[i] or inner[i] then
        return false
      end
    elseif outer[i] ~= inner[i] * extent then
      return false
    end
  end
  return true
end

---Plans the loops over a shape without empty dimensions.  Sets for each operand `walks` (whether it
---moves along each loop) and `inner` (the extents of the loops it moves along).
---@param shape integer[]
---@param operands {extents: integer[], strides: integer[]}[] their outer dimensions alone
---@param is_reversed? boolean the first dimension innermost
---@return integer[] extents of the loops, the innermost last
function M.plan(shape, operands, is_reversed)
  local loops, previous = {}, nil
  for _, operand in ipairs(operands) do
    operand.walks, operand.inner = {}, {}
  end
  for step = 1, #shape do
    local k = is_reversed and #shape + 1 - step or step
    local extent = shape[k]
    if extent ~= 1 then
      local strides = strides_along(shape, operands, k)
      local joins = previous and can_join(previous, strides, extent)
      if not joins then
        loops[#loops + 1] = 1
      end
      loops[#loops] = loops[#loops] * extent
      for i, operand in ipairs(operands) do
        operand.walks[#loops] = strides[i] ~= false
        if strides[i] then
          operand.inner[#operand.inner + (joins and 0 or 1)] = loops[#loops]
        end
      end
      previous = strides
    end
  end
  if #loops == 0 then -- one element: the last operand, a result, moves along a loop of one
    loops[1] = 1
    for i, operand in ipairs(operands) do
      operand.walks[1] = i == #operands
      operand.inner[1] = i == #operands and 1 or nil
    end
  end
  return loops
end

---The operand's array with one dimension for each loop it moves along, and its core dimensions
---after them.
---@param operand table planned, with `array` and `core` (extents)
---@param is_reversed? boolean
function M.view(operand, is_reversed)
  local array, shape = operand.array, table.move(operand.inner, 1, #operand.inner, 1, {})
  table.move(operand.core, 1, #operand.core, #shape + 1, shape)
  if #shape == 0 then
    shape[1] = 1
  end
  if is_reversed then
    array = array:transpose()
  end
  local given = array.shape
  local is_same = #given == #shape
  for k = 1, #shape do
    is_same = is_same and given[k] == shape[k]
  end
  return is_same and array or array:reshape(shape)
end

-- text --------------------------------------------------------------------------------------------

---The element, or the view of the core, that an item has of the operand.
function M.element(operand)
  local text = operand.name
  for k, walks in ipairs(operand.walks) do
    text = text .. (walks and string.format("[i%d]", k) or "")
  end
  return text == operand.name and #operand.core == 0 and text .. "[1]" or text
end

local function rows_of(loops)
  local rows = 1
  for k = 1, #loops - 1 do
    rows = rows * loops[k]
  end
  return rows
end

-- Width along the innermost loop, and height.
local function workgroup_of(loops)
  local width = 1
  while width < loops[#loops] and width < ITEMS do
    width = width * 2
  end
  return width, ITEMS // width
end

local ONE_LOOP = [[
function(%s)
  local i1 = roc.get_global_id(1)
  if %s then
    %s
  end
end]]

local SOME_LOOPS = [[
function(%s, rows)
  local i%d = roc.get_global_id(1)
  %s
%s    if %s then
      %s
    end
  end
end]]

-- An item's rows: one where the launch has an item each, which cpu vectorises better.
local ONE_ROW = "local row = roc.get_global_id(2)\n  if row <= rows then"
local SOME_ROWS = "for row = roc.get_global_id(2), rows, roc.get_global_size(2) do"

-- Conditions that hold for every item of a well-formed launch: with them the compiler can eliminate
-- the checks of the indices.
local function guards(operands)
  local conditions = {}
  for _, operand in ipairs(operands) do
    local dimension = 0
    for k, walks in ipairs(operand.walks) do
      if walks then
        dimension = dimension + 1
        conditions[#conditions + 1] = string.format("i%d <= %s.shape[%d]", k, operand.name,
          dimension)
      end
    end
    if dimension == 0 and #operand.core == 0 then
      conditions[#conditions + 1] = string.format("1 <= #%s", operand.name)
    end
  end
  return table.concat(conditions, " and ")
end

---Statements that find i1 … of all loops but the innermost in `row`.
---@param rank integer the number of loops
---@param extent_of fun(k: integer): string the extent of loop k
---@return string
function M.outer_indices(rank, extent_of)
  if rank == 2 then
    return "    local i1 = row\n"
  end
  local lines = { "    local rest = row - 1\n" }
  for k = rank - 1, 2, -1 do
    local extent = extent_of(k)
    lines[#lines + 1] = string.format("    local i%d = rest %% %s + 1\n", k, extent)
    lines[#lines + 1] = string.format("    rest = rest // %s\n", extent)
  end
  lines[#lines + 1] = "    local i1 = rest + 1\n"
  return table.concat(lines)
end

---A kernel that runs `body` once an element of the loops.
---@param params string names of the parameters, `rows` added where there are several loops
---@param loops integer[] of the plan
---@param operands table[] planned and named; the last is a result, which moves along every loop
---@param body string
---@return string
function M.text(params, loops, operands, body)
  local guard, rank = guards(operands), #loops
  if rank == 1 then
    return string.format(ONE_LOOP, params, guard, body)
  end
  local _, height = workgroup_of(loops)
  local result = operands[#operands].name
  local indices = M.outer_indices(rank, function(k)
    return string.format("%s.shape[%d]", result, k)
  end)
  local is_whole = rows_of(loops) <= MAX_GROUPS * height
  return string.format(SOME_LOOPS, params, rank, is_whole and ONE_ROW or SOME_ROWS,
    indices, guard, body)
end

---How a kernel of `text` is launched over the loops.
---@param kernel roc.Kernel
---@param loops integer[]
---@param stream? roc.Stream
---@return table launcher for `run`, any number of times
function M.launcher(kernel, loops, stream)
  if #loops == 1 then
    return { forall = kernel:forall(loops[1], { stream = stream }) }
  end
  local width, height = workgroup_of(loops)
  local rows = rows_of(loops)
  return { kernel = kernel, rows = rows, shape = {
    grid = { loops[#loops], math.min(rows, MAX_GROUPS * height) },
    workgroup = { width, height },
    stream = stream,
  } }
end

---@param launcher table
---@param args table with n
function M.run(launcher, args)
  local n = args.n
  if launcher.forall then
    return launcher.forall(table.unpack(args, 1, n))
  end
  args[n + 1] = launcher.rows
  launcher.kernel:launch(launcher.shape, table.unpack(args, 1, n + 1))
end

---Launches a kernel of `text` over the loops.
---@param kernel roc.Kernel
---@param loops integer[]
---@param stream? roc.Stream
---@param args table with n
function M.launch(kernel, loops, stream, args)
  M.run(M.launcher(kernel, loops, stream), args)
end

return M
