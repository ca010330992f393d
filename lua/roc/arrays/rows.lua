-- Kernels of rows (src/bindings/expression/rows.h): reductions along the last dimension, and what
-- is computed of their results and of the rows, in one launch.
--
-- A workgroup has a row.  It has 64 items, lanes of the tree of sums (roc.arrays.tree), for each
-- chunk of 4096 elements, and each item keeps its elements: some in registers, and the others in
-- shared memory, so that more rows are under way at a time.  So the row is read once,
-- however many reductions follow each other: what is computed before the first of them is phase 0,
-- what needs its result phase 1, and so on.  A value of one phase that a later one needs is kept.
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local lanes = require "roc.arrays.lanes"
local loops = require "roc.builders.loops"
local support = require "roc.builders.support"
local tree = require "roc.arrays.tree"

support.library()

local M = {}

local LANES = 64
local MOST_WORDS = 128 -- registers for what an item keeps
local MOST_ITEMS = 512 -- that have so many

---By name, what the tree combines.
M.reductions = {}
local reductions = M.reductions

-- texts -------------------------------------------------------------------------------------------

-- `first` is the place of the item's first element in the row.
local ROWS = [[
function($params)
  $memory
  local item, line = roc.get_local_id(1), roc.get_group_id(1)
  local lane, chunk = item - 1 & 63, item - 1 >> 6
  local n = $n
  local first = chunk * 4096 + lane + 1
  $indices
  if $guard then
$phases
  end
end]]

-- Element # of an item.  Where the row ends before it, it is the row's last once more.
local ELEMENT = [[
    do
      local k = $place
      local i$rank = k
$lines
    end]]

local IF_THERE = "if first + (# - 1) * 64 <= n then"

-- Of a reduction: the item's first element, and the others.
local FIRST = [[
      $load_first
      $accumulated = $first_fields]]

local NEXT = [[
      $if_there
        local $first_fields = $accumulated
        $load_next
        $in_order
        $accumulated = $first_fields
      end]]

-- the plan ----------------------------------------------------------------------------------------

-- A value that a kernel computes, or reads (`leaf`): its name, `phase`, `is_row` (one a row),
-- `last` (the last phase that needs it), and `dtype`.
local function values_of(graph, rank)
  local values = {}
  for i = 1, graph.leaves do
    local walks = graph.walks[i]
    values["x" .. i] = { name = "e" .. i, leaf = i, phase = 0, is_row = not walks[rank], last = -1 }
  end
  for i, node in ipairs(graph.nodes) do
    local value = { name = "t" .. i, node = node, index = i, phase = 0, is_row = true, last = -1,
      dtype = node.dtype }
    for k, name in ipairs(node.operands) do
      local operand = values[name]
      if operand then
        value.phase = math.max(value.phase, operand.phase)
        value.is_row = value.is_row and operand.is_row
        if operand.leaf then operand.dtype = node.kinds[k] end
      end
    end
    for _, name in ipairs(node.operands) do
      local operand = values[name]
      if operand then
        operand.last = math.max(operand.last, value.phase)
        operand.first = math.min(operand.first or value.phase, value.phase)
      end
    end
    if node.reduces then value.phase, value.is_row = value.phase + 1, true end
    values["t" .. i] = value
  end
  local root = values["t" .. #graph.nodes]
  root.last = math.max(root.last, root.phase)
  return values, root
end

-- The phase from which on a value is there.
local function since(value) return value.leaf and value.first or value.phase end

-- Whether a value of a phase, or of one before, is kept for a later one.
local function is_kept(value, phase)
  return not value.is_row and not value.is_read_again and value.last > phase
end

-- Registers for what is kept between two phases, for an element of each item.
local function count_words(values, last)
  local most = 0
  for phase = 0, last - 1 do
    local words = 0
    for _, value in pairs(values) do
      if since(value) <= phase and is_kept(value, phase) then
        words = words + (value.dtype.itemsize == 8 and 2 or 1)
      end
    end
    most = math.max(most, words)
  end
  return most
end

-- False: too much would be kept.  What is in memory may be read again instead.
local function choose_kept(values, last, form)
  local function fits() return count_words(values, last) * form.each <= form.most_words end
  if fits() then return true end
  for _, value in pairs(values) do value.is_read_again = value.leaf ~= nil end
  return fits()
end

-- the text ----------------------------------------------------------------------------------------

-- A reduction in the variables of lanes.combine.
local function form_of(value, form)
  return { name = value.index, chunks = form.chunks, n = "n", is_whole = form.is_whole }
end

local function texts_of(value, form)
  local reduction, each = reductions[value.node.name], lanes.each
  local operand = string.gsub(value.node.operands[1], "^x", "e")
  return {
    load_first = reduction.load("v", "at_v", { operand }),
    load_next = reduction.load("w", "at_w", { operand }),
    in_order = reduction.in_order or reduction.combine,
    first_fields = each(#reduction.fields, 1, "%s"),
    accumulated = lanes.accumulated(reduction, form_of(value, form)),
  }
end

-- The lines that combine what the items have of a reduction, and name its value.
local function append_reduction(lines, value, form)
  local reduction = reductions[value.node.name]
  local text, names = lanes.combine(reduction, form_of(value, form))
  lines[#lines + 1] = text
  lines[#lines + 1] = string.format("local %s = %s", value.name, names[reduction.result or 1])
end

-- The lines for element # in a phase: what is kept, then what is read and computed.
local function element_lines(plan, phase)
  local lines, news = {}, {}
  for _, value in ipairs(plan.values) do
    if not value.is_row and value.last >= phase then
      if since(value) == phase or since(value) < phase and value.is_read_again then
        news[#news + 1] = value
      elseif since(value) < phase then
        lines[#lines + 1] = string.format("      local %s = %s[#]", value.name, value.kept)
      end
    end
  end
  for _, value in ipairs(news) do
    if value.leaf then
      lines[#lines + 1] = string.format("      local %s = %s", value.name,
        loops.element(plan.planned[value.leaf]))
    else
      elementwise.append_node(lines, value.node, value.index)
    end
    if is_kept(value, phase) then
      lines[#lines + 1] = string.format("      %s[#] = %s", value.kept, value.name)
    end
  end
  return lines
end

local function phase_text(plan, phase, form)
  local lines = {}
  for _, value in ipairs(plan.values) do
    local is_now = value.node and value.phase == phase
    if is_now and value.is_row and not value.node.reduces then
      elementwise.append_node(lines, value.node, value.index)
    elseif is_now and value.node.reduces then
      append_reduction(lines, value, form)
    end
  end
  return lines
end

-- Where what is kept of element j is: the last ones are in shared memory, beside those of other
-- items.
local function cell(name, j, form)
  local own = form.each - form.shared
  if j <= own then return string.format("%s[%d]", name, j) end
  return string.format("more_%s[%d + item]", name, (j - own - 1) * form.items)
end

-- All elements of the items in a phase: what they compute, and what they give reductions or store.
local function elements_text(plan, phase, form)
  local first, others = element_lines(plan, phase), element_lines(plan, phase)
  for _, value in ipairs(plan.values) do
    if value.node and value.node.reduces and value.phase == phase + 1 then
      local texts = texts_of(value, form)
      texts.if_there = form.is_whole and "do" or IF_THERE
      first[#first + 1] = support.fill_in(FIRST, texts)
      others[#others + 1] = support.fill_in(NEXT, texts)
    end
  end
  if plan.root.phase == phase and form.gives_rows then
    local store = string.format("      %s = %s", loops.element(plan.planned[#plan.planned]),
      plan.root.name)
    if not form.is_whole then store = "      " .. IF_THERE .. store .. " end" end
    first[#first + 1], others[#others + 1] = store, store
  end
  if #first == 0 then return "" end
  local place = form.is_whole and "first + (# - 1) * 64" or "math.min(first + (# - 1) * 64, n)"
  local function element(lines, j)
    local text = support.fill_in(ELEMENT, { place = place, rank = form.rank,
      lines = table.concat(lines, "\n") })
    text = string.gsub(text, "(kept%d+)%[#%]", function(name) return cell(name, j, form) end)
    return (string.gsub(text, "#", tostring(j)))
  end
  local parts = { element(first, 1) }
  for j = 2, form.each do parts[j] = element(others, j) end
  return table.concat(parts, "\n")
end

-- Gives each value that is kept a private array, that of one of its dtype which no later phase
-- needs, if there is one: in a phase an item takes what is kept of an element before it keeps more.
local function place_kept(plan)
  local last_of = {}
  local function find_free(value)
    for k, array in ipairs(plan.kept) do
      if array.dtype == value.dtype and last_of[k] <= since(value) then return k end
    end
    plan.kept[#plan.kept + 1] = { name = "kept" .. #plan.kept + 1, dtype = value.dtype }
    return #plan.kept
  end
  for phase = 0, plan.root.phase do
    for _, value in ipairs(plan.values) do
      if since(value) == phase and is_kept(value, phase) then
        local k = find_free(value)
        value.kept, last_of[k] = plan.kept[k].name, value.last
      end
    end
  end
end

local function plan_of(graph, form)
  local plan = { values = {}, kept = {}, planned = elementwise.leaves(graph.leaves, graph.walks) }
  local values, root = values_of(graph, form.rank)
  if not choose_kept(values, root.phase, form) then return nil end
  for i = 1, graph.leaves do plan.values[i] = values["x" .. i] end
  for i = 1, #graph.nodes do plan.values[graph.leaves + i] = values["t" .. i] end
  plan.root = root
  place_kept(plan)
  if graph.gives_rows then
    plan.planned[graph.leaves + 1] = { name = "y", array = true, core = {},
      walks = graph.walks[graph.leaves + 1] }
  end
  return plan
end

local function memory_text(plan, form)
  local lines = {}
  for _, array in ipairs(plan.kept) do
    lines[#lines + 1] = string.format("local %s = roc.private.array(%d, %q)", array.name,
      form.each - form.shared, array.dtype.name)
    if form.shared > 0 then
      lines[#lines + 1] = string.format("local more_%s = roc.shared.array(%d, %q)", array.name,
        form.shared * form.items, array.dtype.name)
    end
  end
  for _, value in ipairs(plan.values) do
    if value.node and value.node.reduces then
      lanes.memory(reductions[value.node.name], form_of(value, form), lines)
    end
  end
  return table.concat(lines, "\n  ")
end

local function text_of(graph, plan, form)
  local guard, n, extents = tree.bounds_of(plan.planned, form.rank)
  local params = support.names("x", graph.leaves)
  table.move(support.names("s", graph.scalars), 1, graph.scalars, #params + 1, params)
  params[#params + 1], params[#params + 2] = "y", "lines"
  local phases = {}
  for _, value in ipairs(plan.values) do
    if value.leaf and value.is_row then
      phases[#phases + 1] = string.format("local %s = %s", value.name,
        loops.element(plan.planned[value.leaf]))
    end
  end
  for phase = 0, plan.root.phase do
    table.move(phase_text(plan, phase, form), 1, 1000, #phases + 1, phases)
    phases[#phases + 1] = elements_text(plan, phase, form)
  end
  if not graph.gives_rows then
    guard = guard .. " and line <= #y"
    phases[#phases + 1] = string.format("    if item == 1 then y[line] = %s end", plan.root.name)
  end
  return support.fill_in(ROWS, { params = table.concat(params, ", "), guard = guard, n = n,
    memory = memory_text(plan, form), phases = table.concat(phases, "\n"),
    indices = form.rank == 1 and "" or "local row = line\n"
      .. loops.outer_indices(form.rank, function(l) return extents[l] end) })
end

-- How many of an item's elements are in shared memory: a quarter; or so many that registers have
-- room for four rows, where these are written, too, and shared memory has that room.
local function count_shared(graph, items)
  local many = graph.each * 9 // 16
  local has_room = 4 * items * many * 4 <= core.current_device().shared_bytes
  return graph.gives_rows and has_room and many or graph.each // 4
end

-- false: a workgroup cannot keep what it would have to.
elementwise.rules.rows = function(graph)
  local items = graph.chunks * LANES
  local form = { chunks = graph.chunks, each = graph.each, is_whole = graph.is_whole,
    gives_rows = graph.gives_rows, rank = #graph.extents, items = items,
    shared = count_shared(graph, items),
    most_words = items < MOST_ITEMS and MOST_WORDS or MOST_WORDS // 2 }
  local plan = plan_of(graph, form)
  if not plan then return false end
  return generated.fresh(text_of(graph, plan, form), "roc.Array expression", items, true)
end

return M
