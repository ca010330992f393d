-- Random statements of a whole workgroup: exchanges through shared memory, wave operations.
--
-- They stand only where all items of the group come together (scope.is_uniform). A shared array is
-- filled before the first statement, so that elements of items that are missing or have returned
-- are defined; each exchange lies between two barriers.
local choice = require "support.fuzz.choice"
local expressions = require "support.fuzz.expressions"
local places = require "support.fuzz.places"

local pick, chance = choice.pick, choice.chance
local expression = expressions.expression

local M = {}

local TILES = { { "tile_i", "I", "i" }, { "tile_f", "F", "f" }, { "tile_s", "S", "s" },
  { "tile_n", "I", "i" }, { "tile_d", "I", "i" } }

local function pick_tile(scope)
  local tile
  repeat
    tile = pick(TILES)
  until tile[2] ~= "S" or scope.case.has_float32
  return tile
end

local SHIFTS = { "lid % lsz + 1", "lsz - lid + 1", "1", "(lid + 6) % lsz + 1" }

-- Hands a value to another item.
local function exchange(scope, depth)
  local tile = pick_tile(scope)
  local value = places.settled(scope, tile[2], depth)
  local shift = pick(SHIFTS)
  -- not is_mutable: all items see the first one's value
  local fields = shift == "1" and { is_uniform = true } or nil
  local name = scope:declare(tile[3], tile[2], fields)
  return {
    parts = { tile[1], "[lid] = ", value, "\nroc.barrier()\nlocal ", name, " = ", tile[1], "[",
      shift, "]\nroc.barrier()" },
  }
end

-- The same in a device function that holds the barriers.
local function call_exchange(scope, depth)
  for _, f in ipairs(scope.case.functions) do
    if f.is_group then
      local value = expressions.call(scope, f, depth - 1)
      local first, second = scope:declare("i", "I"), scope:declare("i", "I")
      return { parts = { "local ", first, ", ", second, " = ", value } }
    end
  end
  return exchange(scope, depth)
end

-- A total of the group through a shared atomic.
local function group_total(scope, depth)
  local op, value = pick { "add", "xor", "max", "min" }, expression(scope, "I", depth)
  local name = scope:declare("i", "I", { is_uniform = true })
  return {
    parts = {
      "if lid == 1 then tile_n[1] = 7 end\nroc.barrier()\nroc.atomic.", op, "(tile_n, 1, ", value,
      ")\nroc.barrier()\nlocal ", name,
      " = tile_n[1]\nroc.barrier()",
    },
  }
end

-- A barrier between writing and reading global memory.
local function global_barrier()
  return {
    parts = { pick { "roc.barrier()", "roc.barrier(roc.CLK_GLOBAL_MEM_FENCE)", "roc.wavebarrier()",
    "roc.mem_fence()" } } }
end

-- Over a wavefront. What a lane that has returned gives is unspecified, so moves between lanes need
-- all of them; and so is which items share a wavefront in a partial group of several dimensions.
local function wave(scope, depth)
  if not scope.case.has_full_groups then
    return global_barrier()
  end
  local value = expression(scope, "I", depth)
  local calls = {
    { "I", "roc.wave.sum(", value, ")" }, { "I", "roc.wave.min(", value, ")" },
    { "I", "roc.wave.max(", value, ")" },
    { "I", "roc.wave.ballot(", expression(scope, "B", depth), ")" },
    { "B", "roc.wave.any(", expression(scope, "B", depth), ")" },
    { "B", "roc.wave.all(", expression(scope, "B", depth), ")" },
  }
  if scope.case.has_all_lanes then
    local lane = pick { "1", "20", "roc.lane_id() + 3", "lid * 7 % 70", expression(scope, "I", 1) }
    local float = expression(scope, "F", depth)
    for _, name in ipairs { "shuffle", "broadcast", "shuffle_up", "shuffle_down", "shuffle_xor" } do
      calls[#calls + 1] = { "I", ("roc.wave.%s("):format(name), value, ", ", lane, ")" }
    end
    calls[#calls + 1] = { "F", "roc.wave.shuffle_up(", float, ", 1)" }
    calls[#calls + 1] = { "F", "roc.ds_bpermute(", lane, ", ", float, ")" }
    calls[#calls + 1] = { "I", "roc.ds_permute(", lane, ", ", value, ")" }
  end
  local call = pick(calls)
  local s = { parts = { "local ", "", " = " } }
  table.move(call, 2, #call, 4, s.parts)
  s.parts[2] = scope:declare(call[1]:lower(), call[1])
  return s
end

M.TILE_OF = { I = "tile_n", F = "tile_f", S = "tile_s" }

local FOLDS = { I = { "(@ + E)", "(@ ~ E)", "math.max(@, E)" }, F = { "(@ + E)" } }
FOLDS.S = FOLDS.F

-- Loops of a tree: a distance from item to item is `other`'s; which items fold; how it begins and
-- goes on. "@" is the name of what changes, which is the same for all items.
local TREES = {
  { "for @ = 0, 7 do", "1 << @", "(lid - 1) % (2 << @) == 0", "" },
  { "for @ = 7, 0, -1 do", "1 << @", "lid <= 1 << @", "" },
  { "local @ = 128\nwhile @ > 0 do", "@", "lid <= @", "@ = @ // 2\n" },
  { "local @ = 1\nwhile @ < 256 do", "@", "(lid - 1) % (2 * @) == 0", "@ = @ * 2\n" },
  { "local @ = 256\nwhile true do\n@ = @ >> 1\nif @ == 0 then break end", "@", "lid <= @", "" },
  { "local @, @_next = 1, 2\nwhile @ < 256 do", "@", "(lid - 1) % @_next == 0",
    "@, @_next = @_next, @_next + @_next\n" },
  { "local @ = lsz > 100 and 128 or 64\nrepeat", "@", "lid <= @",
    "if @ % 8 == 0 then @ = @ // 2 elseif lsz > 0 then @ = @ - @ // 2 - (@ == 1 and 1 or 0) end\n",
    "until @ == 0" },
}

-- The parts of a tree that combines what `value` is for each item, whose result gets a name.
function M.tree(scope, type, value)
  local tile = M.TILE_OF[type]
  local d, other = scope:fresh("d"), scope:fresh("other")
  local fold = pick(FOLDS[type]):gsub("@", tile .. "[lid]"):gsub("E", tile .. "[" .. other .. "]")
  local name = scope:declare(type:lower(), type, { is_uniform = true })
  local loop = {}
  for i, part in ipairs(pick(TREES)) do loop[i] = part:gsub("@", d) end
  return {
    tile, "[lid] = ", value, "\nroc.barrier()\n", loop[1], "\nlocal ",
    other, " = lid + (", loop[2], ")\nif ", loop[3], " and ", other, " <= lsz then\n", tile,
    "[lid] = ", fold, "\nend\nroc.barrier()\n", loop[4], loop[5] or "end", "\nlocal ", name, " = ",
    tile, "[1]\nroc.barrier()",
  }
end

local function tree(scope, depth)
  local type = pick_tile(scope)[2]
  return { parts = M.tree(scope, type, expression(scope, type, depth)) }
end

local STATEMENTS = { { 6, exchange }, { 2, call_exchange }, { 1, group_total }, { 3, wave },
  { 1, tree }, { 1, global_barrier } }

function M.statement(scope, depth)
  return choice.weighted(STATEMENTS)(scope, chance(50) and depth or 1)
end

return M
