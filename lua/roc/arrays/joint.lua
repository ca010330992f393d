-- Reductions of device arrays that are computed when their results are needed, together with others
-- of arrays of one shape, along the same axis: each array is read once for all of them.
--
-- What the tree (roc.arrays.tree) combines of several reductions has the fields of each, one after
-- the other; so each field has the bits that it has alone.
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local lanes = require "roc.arrays.lanes"
local rows = require "roc.arrays.rows"
local support = require "roc.builders.support"
local tree = require "roc.arrays.tree"

support.library()

local M = {}

local MOST_FIELDS = 6 -- of a kernel

-- A text of a reduction, whose first field is the given one.
local function renamed(text, first)
  local names = { v = lanes.field(first, 1), w = lanes.field(first, 2),
    at_v = lanes.field(first + 1, 1), at_w = lanes.field(first + 1, 2) }
  return (string.gsub(text, "[%a_][%w_]*", names))
end

-- Loads each input once, then what each reduction takes of it.
local function load_of(parts, inputs)
  return function(v, _, elements)
    local operand, lines = v == "v" and 1 or 2, {}
    for i = 1, inputs do
      lines[i] = string.format("local in%d_%s = %s", i, v, elements[i])
    end
    for _, part in ipairs(parts) do
      lines[#lines + 1] = part.reduction.load(lanes.field(part.first, operand),
        lanes.field(part.first + 1, operand), { "in" .. part.input .. "_" .. v })
    end
    return table.concat(lines, "\n      ")
  end
end

-- The text that combines all parts.
local function combine_of(parts, name)
  local lines = {}
  for i, part in ipairs(parts) do
    lines[i] = renamed(part.reduction[name] or part.reduction.combine, part.first)
  end
  return table.concat(lines, "\n      ")
end

local made = {}

-- Several reductions as one; `parts` has for each its `reduction`, its `first` field, and of which
-- input it is.
local function join(parts, inputs)
  local keys = {}
  for i, part in ipairs(parts) do keys[i] = part.name .. "@" .. part.input end
  local key = "joint " .. table.concat(keys, " ")
  if made[key] then return made[key] end
  local joined = { key = key, name = "roc.Array reductions", fields = {}, is_exact = true,
    load = load_of(parts, inputs), combine = combine_of(parts, "combine"),
    in_order = combine_of(parts, "in_order") }
  for _, part in ipairs(parts) do
    table.move(part.reduction.fields, 1, #part.reduction.fields, #joined.fields + 1, joined.fields)
    joined.is_exact = joined.is_exact and part.reduction.is_exact
  end
  made[key] = joined
  return joined
end

-- The parts for as many of the reductions as a kernel has room for.
local function plan(names, inputs)
  local parts, count = {}, 0
  for i, name in ipairs(names) do
    local reduction = rows.reductions[name]
    if i > 1 and count + #reduction.fields > MOST_FIELDS then break end
    parts[i] = { name = name, reduction = reduction, input = inputs[i], first = count + 1 }
    count = count + #reduction.fields
  end
  return parts
end

-- The inputs of the parts alone.
local function inputs_of(parts, arrays)
  local most, used = 0, {}
  for _, part in ipairs(parts) do most = math.max(most, part.input) end
  table.move(arrays, 1, most, 1, used)
  return used
end

-- What the core calls: stores the values of reductions in `results`, arrays of shape {lines}, which
-- are pending.  Reduction i is of arrays[inputs[i]]; the arrays have one shape, of lines of n
-- elements along the axis (nil: all are one line).  Gives how many it has stored, the first ones.
elementwise.rules.reduce = function(names, inputs, arrays, results, axis, lines, n)
  local scope <close> = support.scope(arrays[1].device)
  local parts, given = plan(names, inputs), {}
  for i, part in ipairs(parts) do
    given[part.first + (part.reduction.result or 1) - 1] = results[i]
  end
  local used = inputs_of(parts, arrays)
  local reduction = #parts == 1 and parts[1].reduction or join(parts, #used)
  tree.reduce(reduction, used, axis, lines, n, true, given)
  return #parts
end

---A function that makes a reduction, which is computed when it is needed; it gives nil where that
---cannot be.
---@param reduction table as tree.reduce has it
---@param name string for each reduction and dtype
---@return fun(array: roc.AnyArray, dtype: roc.DType, keeps: boolean, axis?: integer):roc.AnyArray?
function M.later(reduction, name)
  rows.reductions[name] = reduction
  return core.later_reduction(name)
end

return M
