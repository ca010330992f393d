-- Elements for which something holds, or their places, by kernels: for GPUs and `sim`.
--
-- A workgroup has a tile.  It counts its elements for which it holds; the counts are scanned, which
-- gives how many results there are; then each workgroup writes those of its tile.  A wavefront has
-- neighbouring elements, of which its lanes take every nth, and finds places by votes.
--
-- A mask that is pending is computed by both, and never stored.
local core = require "roc.core"
local elementwise = require "roc.arrays.elementwise"
local generated = require "roc.arrays.generated"
local support = require "roc.builders.support"
local tree = require "roc.arrays.tree"

support.library()

local M = {}

local SIZE, EACH = 256, 16 -- items, elements of an item
local TILE = SIZE * EACH -- a chunk of the tree

local COUNT = [[
function(x, counts)
  local total = roc.shared.array(1, "int32")
  local item, group, mine = roc.get_local_id(1), roc.get_group_id(1), 0
  if item == 1 then total[1] = 0 end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  for j = 0, $each - 1 do
    local k = (group - 1) * $tile + j * $size + item
    if k <= #x and $condition then mine = mine + 1 end
  end
  if mine > 0 then roc.atomic.add(total, 1, mine) end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if item == 1 and group <= #counts then counts[group] = total[1] end
end]]

local TAKE = [[
function($params)
  local counts = roc.shared.array($size // 32, "int32")
  local line, item, group = 1, roc.get_local_id(1), roc.get_group_id(1)
  local lane, lanes = roc.lane_id(), roc.wavefront_size()
  local wave, below = (item - 1) // lanes, (1 << lane - 1) - 1
  local mine, count, n = (group - 1) * $tile + wave * lanes * $each + lane, 0, $n
  $indices
  if not ($guard) then return end
$each_load
$each_vote
  if lane == 1 then counts[wave + 1] = count end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  local place = 0
  if group > 1 and group - 1 <= #ends then place = ends[group - 1] end
  for w = 1, wave do place = place + counts[w] end
  if place >= 0 and place + count <= #found then
$each_take
  end
end]]

-- All loads come first, so that they are under way together.
local EACH_LOAD = [[
  local i# = mine + (# - 1) * lanes
  local v#, is_true# = $nothing, false
  do
    local k = math.min(i#, n)
    $before
    v#, is_true# = $element, $condition
  end]]

local EACH_VOTE = [[
  is_true# = is_true# and i# <= n
  local votes# = roc.wave.ballot(is_true#)
  count = count + roc.math.popcount(votes#)]]

local EACH_TAKE = [[
    if is_true# then found[place + roc.math.popcount(votes# & below) + 1] = v# end
    place = place + roc.math.popcount(votes#)]]

-- A name, what holds for element `k` of x, what a result is, and what the kernel takes.
local MASK = { name = "mask", condition = "x[k]", element = "array[k]", params = { "x", "array" },
  n = "math.min(#x, #array)" }
local PLACES = { name = "places", condition = "x[k]", element = "k", params = { "x" }, n = "#x" }
-- The first of equal elements, which follow each other; NaN are equal.  All is loaded in any case.
local PREVIOUS = "x[math.max(k - 1, 1)]"
local FIRST = { name = "first", condition = "(x[k] ~= $p or k == 1)", element = "x[k]",
  params = { "x" }, n = "#x" }
local FIRST_FLOAT = { name = "first float",
  condition = "(x[k] ~= $p and (x[k] == x[k] or $p == $p) or k == 1)", element = "x[k]",
  params = { "x" }, n = "#x" }
for _, form in ipairs { FIRST, FIRST_FLOAT } do
  form.condition = string.gsub(form.condition, "%$p", PREVIOUS)
end
for _, form in ipairs { MASK, PLACES, FIRST, FIRST_FLOAT } do
  form.before, form.indices, form.guard = "", "", "n > 0"
end

-- The same of a graph, of which the mask is the first root, and the array the second, if there is
-- one.
local function form_of(graph)
  local form = tree.in_graph(graph)
  form.condition, form.element = form.elements[1], form.elements[2] or "k"
  form.guard = "n > 0 and " .. form.guard
  return form
end

local function take_text(form, dtype)
  local params = table.move(form.params, 1, #form.params, 1, {})
  table.move({ "ends", "found", form.last }, 1, 3, #params + 1, params)
  local values = { size = SIZE, each = EACH, tile = TILE, params = table.concat(params, ", "),
    nothing = elementwise.zero_of(dtype) }
  setmetatable(values, { __index = form })
  values.each_load = support.repeated(support.fill_in(EACH_LOAD, values), EACH)
  values.each_vote = support.repeated(EACH_VOTE, EACH)
  values.each_take = support.repeated(EACH_TAKE, EACH)
  return support.fill_in(TAKE, values)
end

local function count_text(form)
  return support.fill_in(COUNT, { size = SIZE, each = EACH, tile = TILE,
    condition = form.condition })
end

-- The kernel of a step, for messages about the operation `name`.
local function kernel_of(step, form, name, dtype)
  local key = string.format("compaction %s %s %s", step, form.name, dtype.name)
  return generated.kept(key, function()
    local text = step == "take" and take_text(form, dtype) or count_text(form)
    return generated.kernel(text, "", "roc.Array " .. name, SIZE, true)
  end)
end

local add = load "return function(a, b) return a + b end" -- a text: kernels need the source
local count_up -- a scan, made at the first use

-- Where the results of each tile end, of the numbers of its results.
local function ends_of(counts)
  count_up = count_up or require "roc.builders.scan"(add())
  return count_up(counts)
end

local function count_groups(n) return (n + TILE - 1) // TILE end

local function launch(step, form, name, dtype, n, ...)
  kernel_of(step, form, name, dtype):launch({ groups = count_groups(n), workgroup = SIZE }, ...)
end

-- The results of a form for x, of a dtype; waits for their number.
local function take(form, name, x, dtype, is_device)
  local n = #x
  if n == 0 then return support.new_array(is_device, 0, dtype) end
  x:eval()
  local counts <close> = core.device_array(count_groups(n), "int64")
  launch("count", form, name, dtype, n, support.input(x), counts)
  local ends <close> = ends_of(counts)
  local found = support.new_array(is_device, ends[#ends], dtype)
  if #found > 0 then
    launch("take", form, name, dtype, n, support.input(x), ends, support.output(found, true))
  end
  return found
end

-- How many elements of a tile are true.
local COUNTED = { name = "roc.Array [mask]", key = "[mask]", fields = { core.dtypes.int64 },
  is_exact = true, combine = "v = v + w", load = tree.load_condition }

-- The same by a mask and maybe an array, of which either may be pending.
local function take_masked(mask, array, is_device)
  local n, dtype = #mask, array and array.dtype or core.dtypes.int64
  if n == 0 then return support.new_array(is_device, 0, dtype) end
  local counts <close> = tree.reduce_chunks(COUNTED, { mask }, n, true)[1]
  local ends <close> = ends_of(counts)
  local found = support.new_array(is_device, ends[#ends], dtype)
  if #found == 0 then return found end
  local function fused(graph)
    return generated.fresh(take_text(form_of(graph), dtype), COUNTED.name, SIZE, true)
  end
  local inputs = { mask, array }
  if support.is_gpu() and core.run_pending("take " .. dtype.name, inputs, nil, { ends, found },
    fused, count_groups(n), SIZE, 1) then return found end
  local output = support.output(found, true)
  if array then
    launch("take", MASK, "[mask]", dtype, n, support.input(mask), support.input(array), ends,
      output)
  else
    launch("take", PLACES, "[mask]", dtype, n, support.input(mask), ends, output)
  end
  return found
end

---The elements of a 1-D array where the mask is true; without an array, the places, from 1.  Waits
---for their number.
---@param mask roc.AnyArray of bool, of one dimension
---@param array? roc.AnyArray of the same extent
---@param is_device boolean
---@return roc.AnyArray
function M.take(mask, array, is_device)
  return take_masked(mask, array, is_device)
end

---The first of each run of equal elements.  Waits for their number.
---@param sorted roc.AnyArray of one dimension
---@param is_device boolean
---@return roc.AnyArray
function M.distinct(sorted, is_device)
  local form = sorted.dtype.kind == "f" and FIRST_FLOAT or FIRST
  return take(form, "unique", sorted, sorted.dtype, is_device)
end

return M
