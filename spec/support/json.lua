-- A reader of JSON that takes nothing else: what roclua writes is checked by it.
local json = {}

local ESCAPES = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r",
  t = "\t" }

local read_value

local function skip_space(text, at) return (text:match("^[ \t\r\n]*()", at)) end

local function read_string(text, at)
  local parts = {}
  while true do
    local plain, next_at = text:match('^([^"\\%c]*)()', at)
    parts[#parts + 1] = plain
    local c = text:sub(next_at, next_at)
    if c == '"' then return table.concat(parts), next_at + 1 end
    assert(c == "\\", "a string is not closed, or has a control character")
    local escape = text:sub(next_at + 1, next_at + 1)
    if escape == "u" then
      parts[#parts + 1] = utf8.char(tonumber(text:match("^%x%x%x%x", next_at + 2), 16))
      at = next_at + 6
    else
      parts[#parts + 1] = assert(ESCAPES[escape], "no such escape")
      at = next_at + 2
    end
  end
end

-- The members of an object or an array, which begins before `at`, up to `close`.
local function read_members(text, at, close, read_member)
  at = skip_space(text, at)
  if text:sub(at, at) == close then return at + 1 end
  while true do
    at = skip_space(text, read_member(skip_space(text, at)))
    local c = text:sub(at, at)
    if c == close then return at + 1 end
    assert(c == ",", "',' or '" .. close .. "' expected at " .. at)
    at = at + 1
  end
end

function read_value(text, at)
  local c = text:sub(at, at)
  if c == "{" then
    local object = {}
    return object, read_members(text, at + 1, "}", function(from)
      assert(text:sub(from, from) == '"', "a name expected at " .. from)
      local name, past = read_string(text, from + 1)
      past = skip_space(text, past)
      assert(text:sub(past, past) == ":", "':' expected at " .. past)
      object[name], past = read_value(text, skip_space(text, past + 1))
      return past
    end)
  elseif c == "[" then
    local array = {}
    return array, read_members(text, at + 1, "]", function(from)
      local past
      array[#array + 1], past = read_value(text, from)
      return past
    end)
  elseif c == '"' then
    return read_string(text, at + 1)
  end
  local number, past = text:match("^(%-?%d+%.?%d*[eE]?[-+]?%d*)()", at)
  if number then
    assert(not number:find "^%-?0%d" and not number:find "%.$" and tonumber(number), "no number")
    return tonumber(number), past
  end
  for word, value in pairs { ["true"] = true, ["false"] = false } do
    if text:sub(at, at + #word - 1) == word then return value, at + #word end
  end
  error("a value expected at " .. at)
end

---The value of a text; an error where it is not JSON (`null` is refused, too).
---@param text string
---@return any
function json.read(text)
  local value, past = read_value(text, skip_space(text, 1))
  assert(skip_space(text, past) == #text + 1, "more than one value")
  return value
end

return json
