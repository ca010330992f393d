-- A reader of Lua 5.4's binary chunks, as far as it is needed to distinguish functions.
--
-- Visits the prototypes of a string.dump in pre-order, which is the order of their `function`
-- keywords in the source, and returns the bytes of each. Two functions with the same bytes behave
-- alike.
local M = {}

-- Header: signature, version, format, LUAC_DATA, sizes of instruction, integer and number, then one
-- of each.
local HEADER = "<c4BBc6BBBi8d"

local function header_end(dump)
  local signature, version, format, _, instruction, integer, number, _, _, at =
    string.unpack(HEADER, dump)
  if signature ~= "\27Lua" or version ~= 0x54 or format ~= 0 or instruction ~= 4 or integer ~= 8
    or number ~= 8 then
    error(
      "this Lua writes binary chunks of another format than Lua 5.4; pass the kernel as a string",
      0)
  end
  return at + 1 -- the main function's count of upvalues follows
end

-- An unsigned number in groups of seven bits, most significant first; the last byte has its top bit
-- set.
local function read_size(dump, at)
  local n = 0
  while true do
    local byte = string.byte(dump, at)
    n, at = n << 7 | byte & 0x7f, at + 1
    if byte >= 0x80 then
      return n, at
    end
  end
end

local function skip_string(dump, at)
  local size
  size, at = read_size(dump, at)
  return size == 0 and at or at + size - 1
end

local NUMBER_INTEGER, NUMBER_FLOAT, SHORT_STRING, LONG_STRING = 0x03, 0x13, 0x04, 0x14

local function skip_constants(dump, at)
  local count
  count, at = read_size(dump, at)
  for _ = 1, count do
    local tag = string.byte(dump, at)
    at = at + 1
    if tag == NUMBER_INTEGER or tag == NUMBER_FLOAT then
      at = at + 8
    elseif tag == SHORT_STRING or tag == LONG_STRING then
      at = skip_string(dump, at)
    end
  end
  return at
end

local function skip_debug(dump, at)
  local count
  count, at = read_size(dump, at) -- line of each instruction: a byte
  at = at + count
  count, at = read_size(dump, at) -- absolute lines: pc, line
  for _ = 1, 2 * count do
    _, at = read_size(dump, at)
  end
  count, at = read_size(dump, at) -- locals: name, first pc, last pc
  for _ = 1, count do
    at = skip_string(dump, at)
    _, at = read_size(dump, at)
    _, at = read_size(dump, at)
  end
  count, at = read_size(dump, at) -- upvalues: name
  for _ = 1, count do
    at = skip_string(dump, at)
  end
  return at
end

-- Appends the prototype at `at` (its source's name first) and those inside it; returns its end.
local function walk(dump, at, protos)
  local proto = {}
  protos[#protos + 1] = proto
  at = skip_string(dump, at)
  local first = at
  proto.line, at = read_size(dump, at)
  proto.last_line, at = read_size(dump, at)
  at = at + 3 -- parameters, vararg, stack size
  local count
  count, at = read_size(dump, at)
  at = skip_constants(dump, at + 4 * count)
  count, at = read_size(dump, at)
  at = at + 3 * count
  count, at = read_size(dump, at)
  for _ = 1, count do
    at = walk(dump, at, protos)
  end
  at = skip_debug(dump, at)
  proto.bytes = string.sub(dump, first, at - 1)
  return at
end

---The prototypes of a function and of all functions inside it, in pre-order.
---What a function without upvalues does, wherever it stands: two with the same code are alike.
---@param f function
---@return string
function M.code(f)
  local dump = string.dump(f, true)
  local at = skip_string(dump, header_end(dump)) -- after the source's name
  at = select(2, read_size(dump, at)) -- and the lines where it begins
  at = select(2, read_size(dump, at)) -- and ends
  return string.sub(dump, at)
end

---Fields: line, last_line, bytes (all of it but the source's name).
---@param f function
---@return table[] protos
function M.prototypes(f)
  local dump, protos = string.dump(f), {}
  walk(dump, header_end(dump), protos)
  return protos
end

return M
