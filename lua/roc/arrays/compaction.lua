-- Elements for which something holds, or their places, by kernels: for GPUs and `sim`.
--
-- A workgroup has a tile.  It counts its elements for which it holds; the counts are scanned, which
-- gives how many results there are; then each workgroup writes those of its tile.  A wavefront has
-- neighbouring elements, of which its lanes take every nth, and finds places by votes.
local core = require "roc.core"
local generated = require "roc.arrays.generated"
local support = require "roc.builders.support"

support.library()

local M = {}

local SIZE, EACH = 256, 16 -- items, elements of an item
local TILE = SIZE * EACH

local COUNT = [[
function(x, counts)
  local total = roc.shared.array(1, "int32")
  local item, group, mine = roc.get_local_id(1), roc.get_group_id(1), 0
  if item == 1 then total[1] = 0 end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  for k = 0, $each - 1 do
    local i = (group - 1) * $tile + k * $size + item
    if i <= #x and $holds then mine = mine + 1 end
  end
  if mine > 0 then roc.atomic.add(total, 1, mine) end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if item == 1 and group <= #counts then counts[group] = total[1] end
end]]

local TAKE = [[
function(x, ends, found$params)
  local counts = roc.shared.array($size // 32, "int32")
  local item, group = roc.get_local_id(1), roc.get_group_id(1)
  local lane, lanes = roc.lane_id(), roc.wavefront_size()
  local wave, below = (item - 1) // lanes, (1 << lane - 1) - 1
  local mine, count, n = (group - 1) * $tile + wave * lanes * $each + lane, 0, $n
$each_load
$each_vote
  if lane == 1 then counts[wave + 1] = count end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  local place = 0
  if group > 1 and group - 1 <= #ends then place = ends[group - 1] end
  for w = 1, wave do place = place + counts[w] end
$each_take
end]]

-- All loads come first, so that they are under way together.
local EACH_LOAD = [[
  local i# = mine + (# - 1) * lanes
  local at# = math.min(i#, n)
  local v#, is_true# = $element, $holds_there]]

local EACH_VOTE = [[
  is_true# = is_true# and i# <= n
  local votes# = roc.wave.ballot(is_true#)
  count = count + roc.math.popcount(votes#)]]

local EACH_TAKE = [[
  if is_true# then
    local at = place + roc.math.popcount(votes# & below) + 1
    if at >= 1 and at <= $most then found[at] = v# end
  end
  place = place + roc.math.popcount(votes#)]]

-- A name, what holds for element `i` of x, what a result is, and what it takes beside x.
local MASK = { name = "mask", holds = "x[i]", element = "array[i]", params = ", array",
  n = "math.min(#x, #array)" }
local PLACES = { name = "places", holds = "x[i]", element = "i", params = "", n = "#x" }
-- The first of equal elements, which follow each other; NaN are equal.  All is loaded in any case.
local PREVIOUS = "x[math.max(i - 1, 1)]"
local FIRST = { name = "first", holds = "(x[i] ~= $p or i == 1)", element = "x[i]", params = "",
  n = "#x" }
local FIRST_FLOAT = { name = "first float",
  holds = "(x[i] ~= $p and (x[i] == x[i] or $p == $p) or i == 1)", element = "x[i]", params = "",
  n = "#x" }
for _, form in ipairs { FIRST, FIRST_FLOAT } do
  form.holds = string.gsub(form.holds, "%$p", PREVIOUS)
end

local function take_text(form)
  local function of_element(text) return (string.gsub(text, "%f[%w]i%f[%W]", "at#")) end
  local values = { size = SIZE, each = EACH, tile = TILE, params = form.params, n = form.n,
    element = of_element(form.element), holds_there = of_element(form.holds) }
  values.each_load = support.repeated(support.fill_in(EACH_LOAD, values), EACH)
  values.each_vote = support.repeated(EACH_VOTE, EACH)
  values.each_take, values.most = support.repeated(EACH_TAKE, EACH), "#found"
  return support.fill_in(TAKE, values)
end

local function count_text(form)
  return support.fill_in(COUNT, { size = SIZE, each = EACH, tile = TILE, holds = form.holds })
end

local TEXTS = { count = count_text, take = take_text }

-- The kernel of a step, for messages about the operation `name`.
local function kernel_of(step, form, name)
  return generated.kept(string.format("compaction %s %s", step, form.name), function()
    return generated.kernel(TEXTS[step](form), "", "roc.Array " .. name, SIZE, true)
  end)
end

local add = load "return function(a, b) return a + b end" -- a text: kernels need the source
local count_up -- a scan, made at the first use

-- The results of a form for x, of a dtype; waits for their number.
local function take(form, name, x, dtype, is_device, ...)
  local groups = (#x + TILE - 1) // TILE
  if groups == 0 then return support.new_array(is_device, 0, dtype) end
  local function launch(step, ...)
    kernel_of(step, form, name):launch({ groups = groups, workgroup = SIZE }, support.input(x), ...)
  end
  x:eval()
  local counts <close> = core.device_array(groups, "int64")
  launch("count", counts)
  count_up = count_up or require "roc.builders.scan"(add())
  local ends <close> = count_up(counts)
  local found = support.new_array(is_device, ends[groups], dtype)
  if #found > 0 then launch("take", ends, support.output(found, true), ...) end
  return found
end

---The elements of a 1-D array where the mask is true; without an array, the places, from 1.  Waits
---for their number.
---@param mask roc.AnyArray of bool, of one dimension
---@param array? roc.AnyArray of the same extent
---@param is_device boolean
---@return roc.AnyArray
function M.take(mask, array, is_device)
  if not array then return take(PLACES, "[mask]", mask, "int64", is_device) end
  return take(MASK, "[mask]", mask, array.dtype, is_device, support.input(array))
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
