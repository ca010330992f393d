-- Elements where a mask is true, and their places, by kernels: for GPUs and `sim`.
--
-- A workgroup has a tile of the mask.  It counts its true elements; the counts are scanned, which
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
function(mask, counts)
  local total = roc.shared.array(1, "int32")
  local item, group, mine = roc.get_local_id(1), roc.get_group_id(1), 0
  if item == 1 then total[1] = 0 end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  for k = 0, $each - 1 do
    local i = (group - 1) * $tile + k * $size + item
    if i <= #mask and mask[i] then mine = mine + 1 end
  end
  if mine > 0 then roc.atomic.add(total, 1, mine) end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if item == 1 and group <= #counts then counts[group] = total[1] end
end]]

local TAKE = [[
function(mask, ends, found$array)
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
  local is_true# = mask[math.min(i#, n)]
  local v# = $element]]

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

local function take_text(has_array)
  local values = { size = SIZE, each = EACH, tile = TILE, array = has_array and ", array" or "",
    n = has_array and "math.min(#mask, #array)" or "#mask",
    element = has_array and "array[math.min(i#, n)]" or "i#" }
  values.each_load = support.repeated(support.fill_in(EACH_LOAD, values), EACH)
  values.each_vote = support.repeated(EACH_VOTE, EACH)
  values.each_take, values.most = support.repeated(EACH_TAKE, EACH), "#found"
  return support.fill_in(TAKE, values)
end

local function kernel_of(step, make)
  return generated.kept("compaction " .. step, function()
    return generated.kernel(make(), "", "roc.Array [mask]", SIZE, true)
  end)
end

local function count_text()
  return support.fill_in(COUNT, { size = SIZE, each = EACH, tile = TILE })
end

local add = load "return function(a, b) return a + b end" -- a text: kernels need the source
local count_up -- a scan, made at the first use

---The elements of a 1-D array where the mask is true; without an array, the places, from 1.  Waits
---for their number.
---@param mask roc.AnyArray of bool, of one dimension
---@param array? roc.AnyArray of the same extent
---@param is_device boolean
---@return roc.AnyArray
function M.take(mask, array, is_device)
  local groups = (#mask + TILE - 1) // TILE
  local dtype = array and array.dtype or "int64"
  if groups == 0 then return support.new_array(is_device, 0, dtype) end
  local function launch(step, make, ...)
    kernel_of(step, make):launch({ groups = groups, workgroup = SIZE }, support.input(mask), ...)
  end
  mask:eval()
  local counts <close> = core.device_array(groups, "int64")
  launch("count", count_text, counts)
  count_up = count_up or require "roc.builders.scan"(add())
  local ends <close> = count_up(counts)
  local found = support.new_array(is_device, ends[groups], dtype)
  if #found == 0 then return found end
  if array then
    launch("take", function() return take_text(true) end, ends, support.output(found, true),
      support.input(array))
  else
    launch("places", function() return take_text(false) end, ends, support.output(found, true))
  end
  return found
end

return M
