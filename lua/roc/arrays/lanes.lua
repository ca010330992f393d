-- How the lanes of a workgroup combine: the part of the tree (roc.arrays.tree) that a workgroup has
-- on a GPU, 64 items a chunk of 4096 elements, whose lanes exchange values by shuffles.
local elementwise = require "roc.arrays.elementwise"
local support = require "roc.builders.support"

support.library()

local M = {}

local LANES, CHUNK = 64, 4096

-- A reduction combines one field or several (a value and its place).  In its texts `v`, `w` are the
-- first field of two operands, `v` that of the lower lane; `at_v`, `at_w` the second.  `in_order`
-- is the text for elements that follow each other, where it differs from `combine`.  Those of
-- several reductions in one (roc.arrays.joint) have numbers from the third field on.
local FIELDS = setmetatable({ { "v", "w" }, { "at_v", "at_w" } }, { __index = function(fields, f)
  fields[f] = { "v" .. f, "w" .. f }
  return fields[f]
end })

---The variable of a field for an operand (1: the earlier).
---@param f integer
---@param operand integer
---@return string
function M.field(f, operand) return FIELDS[f][operand] end

---The variables of all fields for an operand (1: the earlier), each formatted, joined by ", ".
---@param count integer
---@param operand integer
---@param format string
---@return string
function M.each(count, operand, format)
  local parts = {}
  for f = 1, count do
    parts[f] = string.format((string.gsub(format, "#", f)), FIELDS[f][operand])
  end
  return table.concat(parts, ", ")
end

local each = M.each

-- Lanes of a wavefront by neighbours, then wavefronts of a chunk, then chunks, which all items
-- combine, each for itself.
local COMBINE = [[
    do
      local $first_fields = $accumulated
$each_level
      local each, wave = 64 // roc.wavefront_size(), (item - 1) // roc.wavefront_size() + 1
      if roc.lane_id() == 1 then $part_wave = $first_fields end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
$each_chunk
$each_pair
    end]]

-- What lanes that are no multiple of 2 * $distance get is not used.
local EACH_LEVEL = [[
      if $distance < roc.wavefront_size() then
        local $second_fields = $others
        $if_other_lane
          $combine
        end
      end]]

local EACH_CHUNK = [[
      do
        local $first_fields = $part_first
        if each == 2 $and_second then
          local $second_fields = $part_second
          $combine
        end
        $chunk_fields = $first_fields
      end]]

-- Of chunks # and # + $distance.
local EACH_PAIR = [[
      do
        local $first_fields = $chunk_fields
        $if_other
          local $second_fields = $other_fields
          $combine
          $chunk_fields = $first_fields
        end
      end]]

-- A reduction's fields: what a format makes of a name and their numbers.
local function fields_of(reduction, form, format, ...)
  local parts = {}
  for f = 1, #reduction.fields do
    parts[f] = string.format(format, form.name, f, ...)
  end
  return table.concat(parts, ", ")
end

---What an item has accumulated of a reduction, in the variables of `memory`.
function M.accumulated(reduction, form) return fields_of(reduction, form, "acc%s_%d") end

---Lines that declare what the items of a workgroup have of a reduction: an accumulator, the chunks'
---values, shared parts of the wavefronts.
---@param reduction table
---@param form table as below
---@param lines string[]
function M.memory(reduction, form, lines)
  for f, dtype in ipairs(reduction.fields) do
    local name = string.format("%s_%d", form.name, f)
    local names = { "acc" .. name }
    for c = 1, form.chunks do names[c + 1] = string.format("chunks%s_%d", name, c) end
    for _, variable in ipairs(names) do
      lines[#lines + 1] = string.format("local %s = %s", variable, elementwise.zero_of(dtype))
    end
    lines[#lines + 1] = string.format("local part%s = roc.shared.array(%d, %q)", name,
      2 * form.chunks, dtype.name)
  end
end

---Text that combines what the items have accumulated, and the names of what that gives.
---@param reduction table
---@param form table `name` (in the variables), `chunks`, `n` (text: elements of all items),
---`is_whole` (that is 4096 a chunk, or a power of two times 64)
---@return string
---@return string[]
function M.combine(reduction, form)
  local count = #reduction.fields
  local function fields(...) return fields_of(reduction, form, ...) end
  local texts = { combine = reduction.combine, first_fields = each(count, 1, "%s"),
    second_fields = each(count, 2, "%s"),
    accumulated = fields "acc%s_%d", part_wave = fields "part%s_%d[wave]" }
  local levels, chunks, pairs_of = {}, {}, {}
  for level = 0, 5 do
    levels[level + 1] = support.fill_in(EACH_LEVEL, setmetatable({
      distance = 1 << level,
      others = each(count, 1, "roc.wave.shuffle_down(%s, " .. (1 << level) .. ")"),
      if_other_lane = form.is_whole and "do"
        or string.format("if lane + %d < %s - chunk * 4096 then", 1 << level, form.n),
    }, { __index = texts }))
  end
  for c = 1, form.chunks do
    chunks[c] = support.fill_in(EACH_CHUNK, setmetatable({
      part_first = fields("part%s_%d[%d * each + 1]", c - 1),
      part_second = fields("part%s_%d[%d * each + 2]", c - 1),
      chunk_fields = fields("chunks%s_%d_%d", c),
      and_second = form.is_whole and ""
        or string.format("and %s > %d", form.n, (c - 1) * CHUNK + LANES // 2),
    }, { __index = texts }))
  end
  local distance = 1
  while distance < form.chunks do
    for c = 1, form.chunks - distance, 2 * distance do
      pairs_of[#pairs_of + 1] = support.fill_in(EACH_PAIR, setmetatable({
        chunk_fields = fields("chunks%s_%d_%d", c),
        other_fields = fields("chunks%s_%d_%d", c + distance),
        if_other = form.is_whole and "do"
          or string.format("if %s > %d then", form.n, (c + distance - 1) * CHUNK),
      }, { __index = texts }))
    end
    distance = distance * 2
  end
  texts.each_level = table.concat(levels, "\n")
  texts.each_chunk, texts.each_pair = table.concat(chunks, "\n"), table.concat(pairs_of, "\n")
  local names = {}
  for f = 1, count do names[f] = string.format("chunks%s_%d_1", form.name, f) end
  return support.fill_in(COMBINE, texts), names
end

return M
