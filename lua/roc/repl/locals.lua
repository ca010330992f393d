-- Locals of the prompt: those of one chunk are upvalues of the chunks after it.
--
-- A chunk is loaded as a function inside one that declares the locals of earlier chunks, so that
-- they are its upvalues; these are joined to the variables themselves. After each `local` statement
-- at the top level of a chunk stands a call that hands over a closure which has the new variables
-- as its upvalues: it keeps them alive, and is what later chunks are joined to. All that is added
-- leaves lines as they are, so that functions have the bytecode that roc.source expects.
local lexer = require "roc.repl.lexer"

local M = {}

local KEEP = "__roclua_keep" -- the function that takes the closure, as chunks call it

local OPENS = { ["function"] = true, ["do"] = true, ["if"] = true, ["repeat"] = true,
  ["("] = true, ["["] = true, ["{"] = true }
local CLOSES = { ["end"] = true, ["until"] = true, [")"] = true, ["]"] = true, ["}"] = true }

-- The index of the last token of what the token at `i` opens.
local function matching(tokens, i)
  local depth = 0
  for j = i, #tokens do
    local text = tokens[j].kind ~= "string" and tokens[j].text
    if OPENS[text] then
      depth = depth + 1
    elseif CLOSES[text] then
      depth = depth - 1
      if depth == 0 then
        return j
      end
    end
  end
  return #tokens
end

local UNARY = { ["not"] = true, ["-"] = true, ["#"] = true, ["~"] = true }
local BINARY = { ["and"] = true, ["or"] = true }
for symbol in string.gmatch("+ - * / // % ^ & | ~ << >> .. == ~= < <= > >= , . :", "%S+") do
  BINARY[symbol] = true
end

-- The index of the last token of the list of expressions that begins at `i`.
local function expressions_end(tokens, i)
  local wants_operand, last = true, i
  while i <= #tokens do
    local token = tokens[i]
    local text = token.kind ~= "string" and token.text
    if wants_operand then
      if OPENS[text] then
        i = matching(tokens, i)
      end
      wants_operand = UNARY[text] == true
    elseif BINARY[text] then
      wants_operand = true
    elseif text == "(" or text == "[" or text == "{" then
      i = matching(tokens, i)
    elseif token.kind ~= "string" then
      return last
    end
    last, i = i, i + 1
  end
  return last
end

-- The names that the `local` statement at token `i` declares, with their attributes, and the index
-- of its last token.
local function declaration(tokens, i)
  if tokens[i + 1].text == "function" then
    return { { name = tokens[i + 2].text } }, matching(tokens, i + 1)
  end
  local names = {}
  repeat
    i = i + 1
    local variable = { name = tokens[i].text }
    names[#names + 1] = variable
    if tokens[i + 1] and tokens[i + 1].text == "<" then
      variable.is_const = true -- a <close> variable is one as well
      i = i + 3
    end
    i = i + 1
  until not tokens[i] or tokens[i].text ~= ","
  if tokens[i] and tokens[i].text == "=" then
    return names, expressions_end(tokens, i + 1)
  end
  return names, i - 1
end

-- The `local` statements of a chunk's top level: { names =, last = byte at which it ends }.
local function declarations(tokens)
  local found, i = {}, 1
  while i <= #tokens do
    local token = tokens[i]
    if token.text == "local" and token.kind == "keyword" then
      local names, last = declaration(tokens, i)
      found[#found + 1] = { names = names, last = tokens[last].last }
      i = last
    elseif token.kind ~= "string" and OPENS[token.text] then
      i = matching(tokens, i)
    end
    i = i + 1
  end
  return found
end

local function without_comments(tokens)
  local kept = {}
  for _, token in ipairs(tokens) do
    if token.kind ~= "comment" then
      kept[#kept + 1] = token
    end
  end
  return kept
end

local function name_list(names)
  local texts = {}
  for i, variable in ipairs(names) do
    texts[i] = variable.name
  end
  return table.concat(texts, ", ")
end

local function keep_call(names)
  local list, consts = name_list(names), {}
  for _, variable in ipairs(names) do
    consts[#consts + 1] = variable.is_const and variable.name or nil
  end
  return string.format(" %s(%q, %q, function() return %s end);", KEEP, list,
    table.concat(consts, ", "), list)
end

local function count_functions(text)
  local count = 0
  for _, token in ipairs(lexer.tokens(text)) do
    if token.text == "function" then
      count = count + 1
    end
  end
  return count
end

local Scope = {}
Scope.__index = Scope

---Variables that live on from chunk to chunk; none at first.
---@return table scope
function M.new()
  local scope = setmetatable({ variables = {} }, Scope)
  function scope.keep(list, consts, closure)
    scope:add(list, consts, closure)
  end
  return scope
end

-- Takes the variables of a closure's upvalues; a constant that was none of them, as the compiler
-- knew its value, becomes a variable here.
function Scope:add(list, consts, closure)
  local is_const, at, values = {}, {}, table.pack(closure())
  for name in string.gmatch(consts, "[%w_]+") do
    is_const[name] = true
  end
  for i = 1, 255 do
    local name = debug.getupvalue(closure, i)
    if not name then
      break
    end
    at[name] = i
  end
  local position = 0
  for name in string.gmatch(list, "[%w_]+") do
    position = position + 1
    local value = values[position]
    local variable = { closure = closure, upvalue = at[name], is_const = is_const[name] }
    if not at[name] then
      variable.closure, variable.upvalue = function() return value end, 1
    end
    self.variables[name] = variable
  end
end

---The value of a variable, and whether there is one of that name.
---@param name string
---@return any value
---@return boolean is_known
function Scope:value(name)
  local variable = self.variables[name]
  if not variable then
    return nil, false
  end
  return select(2, debug.getupvalue(variable.closure, variable.upvalue)), true
end

---@return string[] names sorted
function Scope:names()
  local names = {}
  for name in pairs(self.variables) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

-- The earlier variables that the text names, each with its attribute, in alphabetic order.
function Scope:used(tokens)
  local seen, used = { _ENV = self.variables._ENV and true }, {}
  for _, token in ipairs(tokens) do
    seen[token.kind == "name" and token.text] = true
  end
  for _, name in ipairs(self:names()) do
    if seen[name] then
      used[#used + 1] = name .. (self.variables[name].is_const and " <const>" or "")
    end
  end
  return used
end

-- The text as it is loaded: with what is added for its locals, and the numbers of the functions,
-- counted by their keywords, that the text itself does not have.
local function transform(text, used, found)
  local parts, added, at = {}, { true }, 1 -- the first is the chunk's own
  local before = 1
  for _, declared in ipairs(found) do
    local own = string.sub(text, at, declared.last)
    before = before + count_functions(own) + 1
    added[before] = true
    parts[#parts + 1] = own
    parts[#parts + 1] = keep_call(declared.names)
    at = declared.last + 1
  end
  parts[#parts + 1] = string.sub(text, at)
  local prefix = string.format("local %s; return function(...) ",
    table.concat({ KEEP, table.unpack(used) }, ", "))
  return prefix .. table.concat(parts) .. "\nend", added
end

function Scope:join(f)
  for i = 1, 255 do
    local name = debug.getupvalue(f, i)
    local variable = self.variables[name]
    if not name then
      break
    elseif name == KEEP then
      debug.setupvalue(f, i, self.keep)
    elseif variable then
      debug.upvaluejoin(f, i, variable.closure, variable.upvalue)
    end
  end
end

---Loads a chunk that Lua has taken as it stands, so that it sees the variables of earlier ones.
---@param text string
---@param chunkname string
---@return function? f nil: with them the text is wrong, as where it assigns to a constant
---@return string? why
---@return string? code what was loaded, when that is not the text
---@return table<integer, true>? added the functions of `code` that are not the text's, by number
function Scope:load(text, chunkname)
  local tokens = without_comments(lexer.tokens(text))
  local used, found = self:used(tokens), declarations(tokens)
  if #used == 0 and #found == 0 then
    return load(text, chunkname, "t")
  end
  local code, added = transform(text, used, found)
  local outer, why = load(code, chunkname, "t")
  if not outer and #found > 0 then -- a `goto` past them: then they end with the chunk
    code, added = transform(text, used, {})
    outer, why = load(code, chunkname, "t")
  end
  if not outer then
    return nil, why
  end
  local f = outer()
  self:join(f)
  return f, nil, code, added
end

return M
