-- Sorting lines by digits of 8 bits, the lowest first: the sort of GPUs.
--
-- An element is moved as its bits; its key is an unsigned integer of the same order.  Each pass
-- puts the elements in the order of one digit, and keeps that of equal ones.  So the passes of all
-- digits sort, stably.
--
-- A workgroup has a tile of a line.  Each wavefront has neighbouring elements of it, of which its
-- lanes take every nth.  It counts them by digits; a scan over digits and wavefronts gives where in
-- the sorted tile, which is made in shared memory, each wavefront's elements of a digit begin.
-- Then lanes of the same digit find each other by votes, and put their elements there in order.
--
--   a line of at most 32 elements      is an item's, which inserts one after the other
--   a line of at most a tile           is a workgroup's, which makes all passes in shared memory
--   longer lines                       digits of all passes are counted; then each pass writes
--                                      sorted tiles to where their digits belong
--
-- Where a tile's digits belong depends on the tiles before it.  Each publishes, of each digit, its
-- own count as soon as it is known, and later the count of all tiles up to it: it looks back at
-- those before it until it finds the latter.  Workgroups start in their order, so those are on
-- their way.  The low bits of a state say which of the two it is; they are others in the next pass,
-- so what the last one left there counts as nothing.
local core = require "roc.core"
local generated = require "roc.arrays.generated"
local marks = require "roc.builders.marks"
local support = require "roc.builders.support"

support.library()

local M = {}

local SIZE = 256 -- items of a workgroup, values of a digit
local SWEEP_SIZE = 512 -- items of a workgroup of a sweep
local RUN = 32   -- elements that an item sorts
local MOST_EACH = 16 -- elements of a tile that an item has
local LEAST_SHARED = 64 << 10 -- bytes, which a workgroup of every GPU may have
local MOST_COUNTING = 2048 -- workgroups that count
local MOST_NARROW = 1 << 29 -- elements that a state of 32 bits counts

-- texts -------------------------------------------------------------------------------------------

-- Declares `key` of the bits `v` of an element, and gives the bits of the greatest key, which comes
-- last.  -0 counts as 0, and all NaN are equal, and last.
local function key_text(dtype, is_descending)
  local bits = dtype.itemsize * 8
  local all, sign = -1 >> 64 - bits, 1 << bits - 1
  local kind = dtype.kind
  if kind ~= "f" then
    local flipped = (kind == "i" and sign or 0) ~ (is_descending and all or 0)
    return string.format("local key = (v ~ 0x%x) & 0x%x", flipped, all), flipped ~ all
  end
  local infinity = ({ float16 = 0x7c00, bfloat16 = 0x7f80, float32 = 0x7f800000,
    float64 = 0x7ff0000000000000 })[dtype.name]
  return string.format([[
local ordered = v < 0 and -v or v | 0x%x
    local key = (v & 0x%x > 0x%x and -1 or ordered ~ 0x%x) & 0x%x]], sign, all ~ sign, infinity,
    is_descending and all or 0, all), all ~ sign
end

local INSERT = [=[
function(x$results)
  local line = roc.get_global_id(1)
  local n = math.min(x.shape[2], $run)
  local keys, places = roc.private.array($run, "int64"), roc.private.array($run, "int32")
  if line <= x.shape[1] $guard then
    for k = 1, n do
      local v = x[line][k]
      $key
      local place = k
      keys[k] = key
      while place > 1 and math.ult(key, keys[place - 1]) do
        keys[place], places[place] = keys[place - 1], places[place - 1]
        place = place - 1
      end
      keys[place], places[place] = key, k
    end
    for k = 1, n do
      local place = places[k]
      $put
    end
  end
end]=]

-- What an item is in its tile; `mine`: the first of its elements; `values`: these.
local HEAD = [[
  local counts = roc.shared.array($size // 32 * 256, "int32")
  local values = roc.private.array($each, $bits)
  local ends = roc.shared.array($size // 32, "int32")
  local item, lane, lanes = roc.get_local_id(1), roc.lane_id(), roc.wavefront_size()
  local wave, waves = (item - 1) // lanes, $size // lanes
  local mine, below = wave * lanes * $each + lane, (1 << lane - 1) - 1
  local everyone = roc.wave.ballot(true)]]

-- Counts the digits of each wavefront's elements.  Where the line has no element for a place of the
-- tile, the tile has one of the greatest key, which comes after all of the line.
local TALLY = [[
    for k = item, $size // 32 * 256, $size do counts[k] = 0 end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
$each_tally
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)]]

local EACH_TALLY = [[
    do
      local v = values[#]
      $key
      roc.atomic.add(counts, wave * 256 + (key >> shift & 255) + 1, 1)
    end]]

-- `total`: how many elements of the tile have the item's digit; the counts become those of the
-- wavefronts before.
local TOTAL = [[
    local total = 0
    if item <= 256 then
      for w = 0, waves - 1 do
        local slot = w * 256 + item
        local count = counts[slot]
        counts[slot] = total
        total = total + count
      end
    end]]

-- `start`: the sum of the totals of the items before.
local SCAN = [[
    local start = total
    for level = 0, 5 do
      local distance = 1 << level
      if distance < lanes then
        local other = roc.wave.shuffle_up(start, distance)
        if lane > distance then start = start + other end
      end
    end
    if lane == lanes then ends[wave + 1] = start end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    start = start - total
    if item <= 256 then
      for w = 1, wave do start = start + ends[w] end
    end]]

-- Makes the sorted tile.  Of the lanes of a digit the first moves the place where the next go.
local PLACE = [[
    if item <= 256 then
      for w = 0, waves - 1 do
        local slot = w * 256 + item
        counts[slot] = counts[slot] + start
      end
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
$each_place]]

local EACH_PLACE = [[
    do
      local v = values[#]
      $key
      local digit = key >> shift & 255
      local same = everyone
      for bit = 0, 7 do
        local is_zero = digit & 1 << bit == 0
        local votes = roc.wave.ballot(is_zero)
        if not is_zero then votes = votes ~ everyone end
        same = same & votes
      end
      local slot, before = wave * 256 + digit + 1, same & below
      local place = counts[slot] + roc.math.popcount(before)
      roc.wavebarrier()
      if before == 0 then counts[slot] = place + roc.math.popcount(same) end
      roc.wavebarrier()
      tile[place + 1] = v
      $place_spot
    end]]

local BLOCK = [=[
function(x$results)
$head
  local tile = roc.shared.array($tile, $bits)
  $spots
  local line, live = roc.get_group_id(1), math.min(x.shape[2], $tile)
  if line <= x.shape[1] $guard then
$first
    for shift = 0, $most_shift, 8 do
$tally
$total
$scan
$place
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
$each_again
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
    for k = item, live, $size do
      $put
    end
  end
end]=]

-- The tile of a line: a whole one, of which all items have all their elements, or some.
local FIRST = [[
    $first_spots
    if live == $tile then
$each_first
    else
      local left = live - mine
$each_first_of_some
    end]]

local EACH_FIRST = "      values[#] = x[line][$before mine + (# - 1) * lanes]"

local EACH_FIRST_OF_SOME = [[
      values[#] = $greatest
      if (# - 1) * lanes <= left then
        values[#] = x[line][$before mine + (# - 1) * lanes]
      end]]

local EACH_AGAIN = [[
    values[#] = tile[mine + (# - 1) * lanes]
    $again]]

local CLEAR = [[
function(counts)
  local i = roc.get_global_id(1)
  if i <= #counts then counts[i] = 0 end
end]]

-- Counts the digits of all passes, and makes no tile's states count.  The last workgroup of a line
-- makes of the counts how many elements come before those of a digit.
local COUNT = [=[
function(x, offsets, states, marks, launch)
  local counts, counted = roc.shared.array($passes * 256, "int32"), roc.shared.array(1, "int64")
  local ends = roc.shared.array($size // 32, $wide)
  local item, lane, lanes = roc.get_local_id(1), roc.lane_id(), roc.wavefront_size()
  local wave, n = (item - 1) // lanes, x.shape[2]
  local groups = roc.get_num_groups(1) // x.shape[1]
  local line, group = (roc.get_group_id(1) - 1) // groups + 1, (roc.get_group_id(1) - 1) % groups
  local digits = (line - 1) * $passes * 256
  for k = item, $passes * 256, $size do counts[k] = 0 end
  for k = roc.get_global_id(1), #states, roc.get_global_size(1) do states[k] = 0 end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if line <= x.shape[1] then
    for before = group * $tile, n - 1, groups * $tile do
      if before + $tile <= n then
$each_read
$each_count
      else
        for k = before + item, n, $size do
          local v1 = x[line][k]
$count_first
        end
      end
    end
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  for k = item, $passes * 256, $size do
    if counts[k] > 0 and digits + k <= #offsets then
      roc.atomic.add(offsets, digits + k, counts[k])
    end
  end
  roc.mem_fence(roc.CLK_GLOBAL_MEM_FENCE)
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if item == 1 and line <= #marks then
    roc.atomic.max(marks, line, launch << 32)
    counted[1] = roc.atomic.add(marks, line, 1) - (launch << 32) + 1
  end
  roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
  if counted[1] == groups then
    roc.mem_fence(roc.CLK_GLOBAL_MEM_FENCE)
    for pass = 0, $passes - 1 do
      local at, total = digits + pass * 256 + item, 0
      if at <= #offsets then total = offsets[at] end
$scan
      if at <= #offsets then offsets[at] = start end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
  end
end]=]

local EACH_READ = "        local v# = x[line][before + item + (# - 1) * $size]"

local EACH_COUNT = [[
        do
          local v = v#
          $key
          for pass = 0, $passes - 1 do
            roc.atomic.add(counts, pass * 256 + (key >> 8 * pass & 255) + 1, 1)
          end
        end]]

local SWEEP = [=[
function(x, offsets, states, pass$results)
$head
  local tile, starts = roc.shared.array($tile, $bits), roc.shared.array(256, $wide)
  $spots
  local n, shift = x.shape[2], pass << 3 & $most_shift
  local is_own, is_all = pass * 2 + 1 & 3, pass * 2 + 2 & 3
  local tiles = (n + $tile - 1) // $tile
  local group = roc.get_group_id(1) - 1
  local line, before = group // tiles + 1, group % tiles * $tile
  local live = math.min(n - before, $tile)
  if line <= x.shape[1] $guard then
$first
    local digits, here = ((line - 1) * $passes + pass) * 256, group * 256 + item
    local has_digit = item <= 256 and here <= #states and digits >= 0 and digits + 256 <= #offsets
$whether_one
    if is_one then
      if has_digit then roc.atomic.store(states, here, is_all) end
$each_copied
    else
$tally
$total
    local own = total
    if item == 256 then own = own - ($tile - live) end
    if has_digit then
      roc.atomic.store(states, here, own << 2 | (before == 0 and is_all or is_own))
    end
$scan
$place
    if has_digit then
$look_back
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
$put_values
$put_spots
    end
  end
end]=]

local EACH_COPIED = [[
      do
        local k = mine + (# - 1) * lanes
        if k <= live then
          local v, to# = values[#], before + k
          $put_value
          $put_spot
        end
      end]]

-- Whether all elements of the line have the digit of the first one: then they stay in their order.
local WHETHER_ONE = [[
    local is_one = false
    if digits >= 0 and digits + 256 <= #offsets then
      local v = x[line][1]
      $key
      local digit, stop = key >> shift & 255, n
      if digit < 255 then stop = offsets[digits + digit + 2] end
      is_one = offsets[digits + digit + 1] == 0 and stop == n
    end]]

-- The states of several tiles are asked for at a time, and taken up to one that is not there yet.
local WINDOW = 4
local LOOK_BACK = [[
      local earlier, nearest = 0, before == 0 and 0 or here - 256
      while nearest >= 1 do
$each_state
        local is_there = true
$each_seen
      end
      if before > 0 then roc.atomic.store(states, here, earlier + own << 2 | is_all) end
      starts[item] = offsets[digits + item] + earlier - start - 1]]

local EACH_STATE =
  "        local state# = roc.atomic.load(states, math.max(nearest - (# - 1) * 256, 1))"

local EACH_SEEN = [[
        if is_there and nearest >= 1 then
          local kind = state# & 3
          is_there = kind == is_own or kind == is_all
          if is_there then
            earlier = earlier + (state# >> 2)
            nearest = kind == is_all and 0 or nearest - 256
          end
        end]]

-- Puts the sorted tile where its digits belong.  A place is within the line unless that has been
-- written meanwhile.
local PUT_VALUES = [[
$each_to
    if live == $tile then
$each_put
    else
$each_put_of_some
    end]]

local EACH_PUT = [[
      do
        local v = tile[(# - 1) * $size + item]
        $key
        local place = starts[(key >> shift & 255) + 1] + (# - 1) * $size + item & $most_place
        to# = math.min(place + 1, n)
        $put_value
      end]]

local EACH_PUT_OF_SOME = string.gsub(EACH_PUT, "do", "if (# - 1) * $size + item <= live then", 1)

-- The places of the elements, loaded before the tile is made.
local EACH_SPOT = [[
    local p# = 0
    if mine + (# - 1) * lanes <= live then p# = $spot end]]

local EACH_MOVED = [[
    if (# - 1) * $size + item <= live then
      moved[line][to#] = spots[(# - 1) * $size + item]
    end]]

local TEXTS = { clear = CLEAR,
  insert = INSERT, block = BLOCK, count = COUNT, sweep = SWEEP,
  head = HEAD, first = FIRST, tally = TALLY, total = TOTAL, scan = SCAN, place = PLACE,
  whether_one = WHETHER_ONE, look_back = support.fill_in(LOOK_BACK, {
    each_state = support.repeated(EACH_STATE, WINDOW),
    each_seen = support.repeated(EACH_SEEN, WINDOW) }),
  put_values = PUT_VALUES,
}

-- Texts that are repeated for each of an item's elements, whose number is # in them.
local REPEATED = {
  each_first = EACH_FIRST, each_first_of_some = EACH_FIRST_OF_SOME,
  each_spot = EACH_SPOT, each_to = "    local to# = 1", each_put_of_some = EACH_PUT_OF_SOME,
  each_tally = EACH_TALLY, each_place = EACH_PLACE, each_again = EACH_AGAIN,
  each_read = EACH_READ, each_count = EACH_COUNT, each_put = EACH_PUT,
  each_moved = EACH_MOVED, each_copied = EACH_COPIED,
}

-- Items of a workgroup, of the steps for which that matters.
local WORKGROUPS = { block = SIZE, count = SIZE, sweep = SWEEP_SIZE }

-- The text of a step.  `form`: the dtype, is_descending, `each` elements of an item, `wide` (the
-- dtype of counts of the whole array), `has_places`, `reads_places` (else an element's is where it
-- is), and `has_values`, whether they are written.
local function text_of(step, form)
  local has_places, is_sweep = form.has_places, step == "sweep"
  local function of_places(text) return has_places and text or "" end
  local function of_values(text) return form.has_values and text or "" end
  local results, guard = {}, { "", "x.shape[2] > 0" }
  local function parameter(name, is_there)
    if not is_there then return end
    results[#results + 1] = ", " .. name
    guard[#guard + 1] = string.format("line <= %s.shape[1] and x.shape[2] <= %s.shape[2]", name,
      name)
  end
  parameter("y", form.has_values)
  parameter("at", has_places and form.reads_places)
  parameter("moved", has_places)
  local own, before = "mine + (# - 1) * lanes", is_sweep and "before +" or ""
  local bits = form.dtype.itemsize * 8
  local size = WORKGROUPS[step] or SIZE
  local key, greatest = key_text(form.dtype, form.is_descending)
  local values = {
    size = size, run = RUN, each = form.each, tile = size * form.each, passes = bits // 8,
    most_shift = bits - 8,
    bits = string.format("%q", "int" .. bits), wide = string.format("%q", form.wide),
    key = key, greatest = string.format("0x%x", greatest),
    most_place = form.wide == "int32" and 0x7fffffff or math.maxinteger,
    results = table.concat(results), guard = table.concat(guard, " and "),
    before = before,
    spots = of_places "local spots = roc.shared.array($tile, $wide)",
    first_spots = of_places "$each_spot",
    place_spot = of_places "spots[place + 1] = p#",
    again = of_places("p# = spots[" .. own .. "]"),
    spot = string.format(form.reads_places and "at[line][%s %s]" or "%s %s", before, own),
    put_spots = of_places "$each_moved",
    put_value = of_values "y[line][to#] = v", put_spot = of_places "moved[line][to#] = p#",
    put = step == "insert" and of_values "y[line][k] = x[line][place]\n"
      .. of_places "      moved[line][k] = place"
      or of_values "y[line][k] = tile[k]\n" .. of_places "      moved[line][k] = spots[k]",
  }
  for name, text in pairs(TEXTS) do values[name] = text end
  values.count_first = support.repeated(support.fill_in(EACH_COUNT, values), 1)
  for name, text in pairs(REPEATED) do
    values[name] = support.repeated(support.fill_in(text, values), form.each)
  end
  return support.fill_in(TEXTS[step], values)
end

local function kernel_of(step, form)
  local key = string.format("radix %s %s %s %s %s %s %s %s", step, form.dtype.name,
    form.is_descending, form.each, form.wide, form.has_places, form.reads_places, form.has_values)
  return generated.kept(key, function()
    return generated.kernel(text_of(step, form), "", "roc.Array sort, " .. step,
      WORKGROUPS[step], true)
  end)
end

-- steps -------------------------------------------------------------------------------------------

-- Launches a step in so many workgroups, or for so many items.
local function launch(step, form, count, ...)
  local kernel, workgroup = kernel_of(step, form), WORKGROUPS[step]
  if workgroup then
    kernel:launch({ groups = count, workgroup = workgroup }, ...)
  else
    kernel:forall(count)(...)
  end
end

-- The elements of a tile that an item has: as many as shared memory has room for beside the counts
-- of digits, and where they start.
local function most_each(form, size)
  local of_places = form.has_places and core.dtypes[form.wide].itemsize or 0
  local left = LEAST_SHARED - size // 32 * (256 + 1) * 4 - 256 * 8
  return math.min(MOST_EACH, left // (size * (form.dtype.itemsize + of_places)))
end

-- The given arrays without those that are not there.
local function given(...)
  local list = {}
  for i = 1, select("#", ...) do list[#list + 1] = (select(i, ...)) end
  return table.unpack(list)
end

-- A line is an item's or a workgroup's.
local function sort_short(bits, form, n, values, places)
  local lines = bits.shape[1]
  if n > RUN then
    while form.each * SIZE < n do form.each = form.each * 4 end
    form.each = math.min(form.each, most_each(form, SIZE))
  end
  launch(n > RUN and "block" or "insert", form, lines, given(bits, values, places))
end

local kept_marks = marks.new()

-- How many elements of each line come before those of a digit, for each pass; and states of tiles
-- that count as nothing.
local function count_digits(bits, form, lines, tiles, offsets, states)
  launch("clear", form, #offsets, offsets)
  local groups = math.min(tiles, math.max(1, MOST_COUNTING // lines))
  local of_lines, number = marks.next(kept_marks, lines)
  launch("count", form, lines * groups, bits, offsets, states, of_lines, number)
end

-- A pass a digit, each from one array into the other.
local function sort_long(bits, form, n, values, places)
  form.each = most_each(form, SWEEP_SIZE)
  local lines, passes = bits.shape[1], bits.dtype.itemsize
  local tile = SWEEP_SIZE * form.each
  local tiles = (n + tile - 1) // tile
  local offsets <close> = core.device_array(lines * passes * SIZE, form.wide)
  local states <close> = core.device_array(lines * tiles * SIZE, form.wide)
  count_digits(bits, form, lines, tiles, offsets, states)
  local function spare(dtype, is_wanted)
    return is_wanted and core.device_array({ lines, n }, dtype) or nil
  end
  local from, at, spares, spots = bits, nil, {}, {}
  for pass = 0, passes - 1 do
    local is_last = pass == passes - 1
    local to, moved = values, places
    if not is_last then
      local which = pass % 2
      spares[which] = spares[which] or spare(bits.dtype, true)
      spots[which] = spots[which] or spare(form.wide, places ~= nil)
      to, moved = spares[which], spots[which]
    end
    form.has_values, form.reads_places = to ~= nil, at ~= nil
    launch("sweep", form, lines * tiles, given(from, offsets, states, pass, to, at, moved))
    from, at = to, moved
  end
  for which = 0, 1 do
    if spares[which] then spares[which]:close() end
    if spots[which] then spots[which]:close() end
  end
end

---Sorts lines, which are not empty, on the current device.
---@param lines roc.AnyArray of shape {lines, n}
---@param is_descending boolean
---@param values? roc.AnyArray new, of the same shape and dtype
---@param places? roc.AnyArray new, of the same shape and int64, for the places of the elements
function M.sort(lines, is_descending, values, places)
  local n = lines.shape[2]
  local form = { dtype = lines.dtype, is_descending = is_descending, each = 1,
    has_values = values ~= nil, has_places = places ~= nil,
    wide = n < MOST_NARROW and "int32" or "int64" }
  local bits = core.array_bits(lines)
  local sort = n <= SIZE * most_each(form, SIZE) and sort_short or sort_long
  sort(bits, form, n, values and core.array_bits(values), places)
end

return M
