-- Races and undefined values of kernels on `sim` (docs/sim.md): each access to an element is
-- compared with the last ones to it, and told on stderr when nothing orders the two.
--
-- What orders two work-items: a barrier of their workgroup between the accesses; within a wavefront
-- a wave operation; a fence of the second one after the first access; on shared memory an atomic
-- operation that sees another item's. The words are those of the software GPU's check.
local core = require "roc.core"

local M = {}

local MAX_FINDINGS = 1000
local findings, nfindings = {}, 0

local Watch = {}
Watch.__index = Watch

---What the items of one launch have accessed so far.
---@param kernel string its name
---@param rank integer of the launch
---@return table
function M.new(kernel, rank)
  return setmetatable({ kernel = kernel, rank = rank, now = 0, memory = {} }, Watch)
end

-- The line of the kernel's text that runs.
local function place(own_sources)
  local level = 3
  local info = debug.getinfo(level, "Sl")
  while info and (info.what == "C" or own_sources[info.source]) do
    level = level + 1
    info = debug.getinfo(level, "Sl")
  end
  return info and string.format("%s:%d", info.short_src, info.currentline) or "?"
end

local function tell(watch, kind, first, second, text)
  if second < first then
    first, second = second, first
  end
  local key = string.format("%s\0%s\0%s\0%s", watch.kernel, kind, first, second)
  if findings[key] or nfindings == MAX_FINDINGS then
    return
  end
  findings[key], nfindings = true, nfindings + 1
  core.note_finding(string.format("%s in kernel '%s': %s", kind, watch.kernel, text))
end

function Watch:name(item)
  return "{" .. table.concat(item.global_id, ", ", 1, self.rank) .. "}"
end

-- Whether the item, which accesses memory of that space now, comes after an earlier access.
local function is_ordered(item, space, other)
  if other.group == item.group then
    local is_same_phase = other.epoch == item.group.epochs[space]
    if not is_same_phase or other.wave == item.wave and other.wave_epoch ~= item.wave_epoch then
      return true
    end
  end
  return item.acquired > other.time
end

local function races(access, space, other)
  return other and other.item ~= access.item and not (other.is_atomic and access.is_atomic)
    and not is_ordered(access.item, space, other)
end

function Watch:report(access, verb, other, did, element)
  tell(self, "race", access.place, other.place, string.format(
    "work-item %s %s %s at %s, and work-item %s %s it at %s; nothing orders the two%s",
    self:name(access.item), verb, element, access.place, self:name(other.item), did, other.place,
    access.group == other.group and ", as no barrier lies between them" or ""))
end

local function undefined(watch, access, element)
  tell(watch, "undefined value", access.place, access.place, string.format(
    "work-item %s reads %s at %s, which was never written", watch:name(access.item), element,
    access.place))
end

function Watch:access(item, space, own_sources)
  self.now = self.now + 1
  return { item = item, group = item.group, wave = item.wave, time = self.now,
    epoch = item.group.epochs[space], wave_epoch = item.wave_epoch, is_atomic = item.is_atomic,
    place = place(own_sources) }
end

-- The element at an address: {write =, other_write =, read =, other_read =}. Shared memory is the
-- workgroup's.
function Watch:cell(item, space, address)
  local memory = space == "global" and self.memory or item.group.memory
  local cell = memory[address]
  if not cell then
    cell = {}
    memory[address] = cell
  end
  return cell
end

-- Of a kind two are kept: the last one, and one of another item, if possible of another workgroup.
local function keep(cell, kind, other_kind, access)
  local last, other = cell[kind], cell[other_kind]
  if last and last.item ~= access.item
    and (not other or other.item == access.item or last.group ~= access.group
      or other.group == access.group) then
    cell[other_kind] = last
  end
  cell[kind] = access
end

local DID = { write = "wrote", other_write = "wrote", read = "read", other_read = "read" }

function Watch:report_races(access, space, cell, kinds, verb, element)
  for _, kind in ipairs(kinds) do
    if races(access, space, cell[kind]) then
      self:report(access, access.is_atomic and "atomically updates" or verb, cell[kind], DID[kind],
        element)
    end
  end
end

local WRITES, ALL = { "write", "other_write" }, { "write", "other_write", "read", "other_read" }

---An item reads an element.
---@param item table the work-item
---@param space string "global", "shared" or "private"
---@param address integer
---@param element string as messages show it
---@param own_sources table files that are not the kernel's
function Watch:read(item, space, address, element, own_sources)
  local cell, access = self:cell(item, space, address), self:access(item, space, own_sources)
  local write = cell.write
  if space ~= "global" and not write then
    undefined(self, access, element)
  elseif space ~= "private" then
    self:report_races(access, space, cell, WRITES, "reads", element)
    if space == "shared" and write.is_atomic and item.is_atomic and write.item ~= item then
      item.acquired = self.now
    end
    keep(cell, "read", "other_read", access)
  end
end

---An item writes an element.
---@param is_same boolean whether it had that value before: then it is no race
function Watch:write(item, space, address, element, own_sources, is_same)
  local cell, access = self:cell(item, space, address), self:access(item, space, own_sources)
  if space ~= "private" and not is_same then
    self:report_races(access, space, cell, ALL, "writes", element)
  end
  if not is_same or not cell.write then
    keep(cell, "write", "other_write", access)
  end
end

---The group has met at a barrier that orders these spaces: what one item had acquired, all have.
---@param items table[]
---@param scope? integer a sum of fences; nil: both
function M.barrier(items, scope)
  local group, acquired = items[1].group, 0
  local epochs = group.epochs
  scope = scope or 3
  if scope & 1 ~= 0 then
    epochs.shared = epochs.shared + 1
  end
  if scope & 2 ~= 0 then
    epochs.global = epochs.global + 1
  end
  for _, item in ipairs(items) do
    acquired = math.max(acquired, item.acquired)
  end
  for _, item in ipairs(items) do
    item.acquired = acquired
  end
end

---The item comes after all that was accessed so far.
---@param item table
function Watch:fence(item)
  self.now = self.now + 1
  item.acquired = self.now
end

return M
