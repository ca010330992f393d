-- The tokens of Lua text, complete or not: what the prompt colours, completes and looks through for
-- locals. Whether the text is right is Lua's to say.
local M = {}

local KEYWORDS = {}
for word in string.gmatch("and break do else elseif end false for function goto if in local nil "
  .. "not or repeat return then true until while", "%a+") do
  KEYWORDS[word] = true
end
M.KEYWORDS = KEYWORDS

-- The end of a long bracket whose content begins at `at`; the text's end where it is not closed.
local function long_end(text, at, level)
  local _, last = string.find(text, "]" .. level .. "]", at, true)
  return last or #text, last ~= nil
end

local function string_end(text, at, quote)
  while true do
    local found = string.match(text, "^[^\\\n\"']*()", at)
    local c = string.sub(text, found, found)
    if c == "\\" then
      at = math.min(found + 2, #text + 1)
    elseif c == quote then
      return found, true
    elseif c == "" or c == "\n" then
      return math.min(found - 1, #text), false
    else
      at = found + 1 -- the other quote
    end
  end
end

local function comment_end(text, at)
  local level, content = string.match(text, "^%-%-%[(=*)%[()", at)
  if level then
    return long_end(text, content, level)
  end
  return string.match(text, "[^\n]*()", at) - 1, true
end

-- Each finds a token at `at`: its last byte, or nil; whether it is closed.
local function number(text, at)
  return string.match(text, "^0[xX][%x.]*[pP][-+]?%d*()", at)
    or string.match(text, "^0[xX][%x.]*()", at)
    or string.match(text, "^%d[%d.]*[eE][-+]?%d*()", at)
    or string.match(text, "^%d[%d.]*()", at)
    or string.match(text, "^%.%d+[eE][-+]?%d*()", at)
    or string.match(text, "^%.%d+()", at)
end

local SYMBOLS = { "...", "..", "==", "~=", "<=", ">=", "//", "<<", ">>", "::" }

local function symbol_end(text, at)
  for _, symbol in ipairs(SYMBOLS) do
    if string.sub(text, at, at + #symbol - 1) == symbol then
      return at + #symbol - 1
    end
  end
  return (string.match(text, "^[\128-\255]+()", at) or at + 1) - 1
end

local function token_at(text, at)
  local c = string.sub(text, at, at)
  local past = string.match(text, "^[%a_][%w_]*()", at)
  if past then
    return KEYWORDS[string.sub(text, at, past - 1)] and "keyword" or "name", past - 1, true
  elseif string.find(text, "^%-%-", at) then
    return "comment", comment_end(text, at)
  elseif c == '"' or c == "'" then
    return "string", string_end(text, at + 1, c)
  end
  local level, content = string.match(text, "^%[(=*)%[()", at)
  if level then
    return "string", long_end(text, content, level)
  end
  past = number(text, at)
  if past then
    return "number", past - 1, true
  end
  return "symbol", symbol_end(text, at), true
end

---The tokens of a text, comments included; what lies between them is white space.
---@param text string
---@return { kind: string, first: integer, last: integer, text: string, is_closed: boolean }[]
---tokens of kind "name", "keyword", "number", "string", "comment" or "symbol"
function M.tokens(text)
  local tokens, at = {}, string.match(text, "^%s*()")
  while at <= #text do
    local kind, last, is_closed = token_at(text, at)
    tokens[#tokens + 1] = { kind = kind, first = at, last = last, text = string.sub(text, at, last),
      is_closed = is_closed }
    at = string.match(text, "^%s*()", last + 1)
  end
  return tokens
end

return M
