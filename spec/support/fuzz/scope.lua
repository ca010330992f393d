-- What a random piece of program may name: the variables in sight, and whether all items of a group
-- come here together.
--
-- Types: "I" integer, "F" float64, "S" float32, "P" a plain float (float64 until it meets a
-- float32), "B" boolean, and "array" for private arrays and rows, whose entries also have `element`
-- and `extent` (Lua text).
local choice = require "support.fuzz.choice"

local Scope = {}
Scope.__index = Scope

-- fields: is_uniform (all items of a group execute this together), only_uniform (expressions may
-- read only what is the same for all of them), in_function.
local function new(case)
  return setmetatable({ case = case, names = {}, is_uniform = true }, Scope)
end

-- A nested block; `fields` override what it inherits.
function Scope:inner(fields)
  local inner = {
    case = self.case,
    parent = self,
    names = {},
    is_uniform = self.is_uniform,
    only_uniform = self.only_uniform,
    in_function = self.in_function,
  }
  for k, v in pairs(fields or {}) do
    inner[k] = v
  end
  return setmetatable(inner, Scope)
end

-- The same names, of which expressions read only those with one value in the group.
function Scope:uniform_view()
  return self:inner { only_uniform = true }
end

-- A new name of a type, in sight from here on.
function Scope:declare(prefix, type, fields)
  local name = self:fresh(prefix)
  self:add(name, type, fields)
  return name
end

function Scope:add(name, type, fields)
  local entry = { name = name, type = type }
  for k, v in pairs(fields or {}) do
    entry[k] = v
  end
  self.names[#self.names + 1] = entry
  return entry
end

function Scope:fresh(prefix)
  self.case.nnames = self.case.nnames + 1
  return prefix .. self.case.nnames
end

-- All entries in sight for which want(entry) holds.
function Scope:all(want)
  local found, scope = {}, self
  while scope do
    for _, entry in ipairs(scope.names) do
      if want(entry) and (entry.is_uniform or not self.only_uniform) then
        found[#found + 1] = entry
      end
    end
    scope = scope.parent
  end
  return found
end

-- One variable of a type, or nil.
function Scope:find(type, is_mutable)
  local found = self:all(function(entry)
    return entry.type == type and (entry.is_mutable or not is_mutable)
  end)
  return #found > 0 and choice.pick(found) or nil
end

return { new = new }
