-- What Tab adds at the prompt: names, fields and methods of what a name holds, keys of option
-- tables, and in strings dtypes, devices and file names. Nothing of the script is called.
local core = require "roc.core"
local declared = require "roc.repl.declared"
local lexer = require "roc.repl.lexer"
local names = require "roc.repl.names"
local terminal = require "roc.repl.terminal"

local M = {}

local MAX_LISTED = 200

-- ---- candidates: sets of names ---------------------------------------------------------------

local function add_keys(set, t)
  for key in next, t do
    if type(key) == "string" and string.find(key, "^[%a_][%w_]*$") then
      set[key] = true
    end
  end
end

local function add_index(set, value)
  local meta = debug.getmetatable(value)
  local index = type(meta) == "table" and rawget(meta, "__index")
  if type(index) == "table" and index ~= value then
    add_keys(set, index)
  end
end

-- Whether a value of a class of roc has what the class declares: some have less than their parents.
local function has(value, name)
  return value == nil or (pcall(function() return value[name] end))
end

-- The fields of a value or of a class; of classes of roc, methods only after a colon.
local function add_fields(set, found, is_method)
  local class = found.class and declared.class(found.class)
  if class then
    for name in pairs(is_method and class.methods or class.fields) do
      set[name] = has(found.value, name) or nil
    end
    for name in pairs(not is_method and class.methods or {}) do
      set[name] = has(found.value, name) or nil
    end
  elseif type(found.value) == "table" then
    add_keys(set, found.value)
    add_index(set, found.value)
  elseif found.value ~= nil then
    add_index(set, found.value)
  end
end

local DEVICES = { "cpu", "sim", "hsa", "cuda", "null" }
local TAKES_FILE = { dofile = true, loadfile = true, ["io.open"] = true, ["io.lines"] = true,
  ["io.input"] = true, ["io.output"] = true, ["roc.load"] = true, ["roc.save"] = true,
  ["os.remove"] = true, ["os.rename"] = true }

local function add_files(set, prefix)
  for _, path in ipairs(terminal.paths(prefix)) do
    set[path] = true
  end
end

-- ---- what stands before the cursor -----------------------------------------------------------

local OPEN = { ["("] = true, ["{"] = true, ["["] = true }
local CLOSE = { [")"] = true, ["}"] = true, ["]"] = true }

local function is_symbol(token, text)
  return token and token.kind == "symbol" and token.text == text
end

-- The index of the token that opens what ends with the token at `i`.
local function opening(tokens, i)
  local depth = 0
  for j = i, 1, -1 do
    local text = tokens[j].kind == "symbol" and tokens[j].text
    depth = depth + (CLOSE[text] and 1 or OPEN[text] and -1 or 0)
    if depth == 0 then
      return j
    end
  end
  return 1
end

-- The bracket that is open at the end of the tokens up to `last`: its index, and how many commas
-- come after it.
local function enclosing(tokens, last)
  local i, commas = last, 0
  while i >= 1 do
    local text = tokens[i].kind == "symbol" and tokens[i].text
    if OPEN[text] then
      return i, commas
    elseif CLOSE[text] then
      i = opening(tokens, i)
    elseif text == "," then
      commas = commas + 1
    end
    i = i - 1
  end
end

local Finder = {}
Finder.__index = Finder

-- What the expression that ends with token `last` is: { value =, class =, path =, described = };
-- nil: not known without calling something.
function Finder:expression(last)
  local token = self.tokens[last]
  local before = self.tokens[last - 1]
  if not token then
    return nil
  elseif token.kind == "name" and (is_symbol(before, ".") or is_symbol(before, ":")) then
    local owner = self:expression(last - 2)
    return owner and names.field(owner, token.text)
  elseif token.kind == "name" then
    return names.root(token.text, self.scope)
  elseif token.kind == "string" and token.is_closed then
    return { value = "" }
  elseif is_symbol(token, ")") then
    local open = opening(self.tokens, last)
    local called = self.tokens[open - 1]
    if called and (called.kind == "name" or is_symbol(called, ")")) then
      local f = self:expression(open - 1)
      return f and names.result(f)
    end
    return open < last and self:expression(last - 1) -- (expression)
  end
end

-- The call whose argument stands at the end of tokens up to `last`: the function, the number of the
-- argument.
function Finder:call(last)
  local open, commas = enclosing(self.tokens, last)
  if open and is_symbol(self.tokens[open], "(") then
    return self:expression(open - 1), commas + 1
  end
end

function Finder:add_names(set)
  for _, name in ipairs(self.scope:names()) do
    set[name] = true
  end
  for i, token in ipairs(self.tokens) do
    local before = self.tokens[i - 1]
    if token.kind == "name" and i < #self.tokens and before
      and (before.text == "local" or before.text == "for" or before.text == ","
      or before.text == "(" or before.text == "function") then
      set[token.text] = true
    end
  end
  add_keys(set, _G)
  for word in pairs(lexer.KEYWORDS) do
    set[word] = true
  end
end

-- Keys of the option table that is open at the end of tokens up to `last`, where a key may stand.
function Finder:add_option_keys(set, last)
  local token = self.tokens[last]
  local open = enclosing(self.tokens, last)
  if not open or not is_symbol(self.tokens[open], "{")
    or not (is_symbol(token, "{") or is_symbol(token, ",") or is_symbol(token, ";")) then
    return false
  end
  local f, position = self:call(open - 1)
  if not f and self.tokens[open - 1] and self.tokens[open - 1].kind == "name" then
    f, position = self:expression(open - 1), 1 -- f{…}
  end
  local keys = f and f.described and declared.option_keys(f.described, position) or {}
  for _, key in ipairs(keys) do
    set[key] = true
  end
  return #keys > 0
end

-- The type of the argument, or of the field of options, that a string at token `i` is.
function Finder:type_of_string(i)
  local before = self.tokens[i - 1]
  if is_symbol(before, "=") and self.tokens[i - 2] and self.tokens[i - 2].kind == "name" then
    local open = enclosing(self.tokens, i - 3)
    local f, position = nil, nil
    if open then
      f, position = self:call(open - 1)
    end
    local param = f and f.described and f.described.params[math.min(position, #f.described.params)]
    local class = param and declared.class(string.match(param.type, "roc%.%w+") or "")
    local field = class and class.fields[self.tokens[i - 2].text]
    return field and field.type, f
  end
  local f, position = self:call(i - 1)
  if not f and before and before.kind == "name" then
    f, position = self:expression(i - 1), 1 -- f"…"
  end
  local param = f and f.described and f.described.params[math.min(position, #f.described.params)]
  return param and param.type, f
end

function Finder:add_texts(set, i, prefix)
  local kind, f = self:type_of_string(i)
  if f and TAKES_FILE[f.path] then
    return add_files(set, prefix)
  end
  for _, literal in ipairs(declared.literals(kind or "")) do
    set[literal] = true
  end
  local takes_device = f and string.find(f.path or "", "device")
    and string.find(kind or "", "string")
  local takes_any = next(set) == nil and not takes_device
  if takes_any or string.find(kind or "", "DType") then
    for name in pairs(core.dtypes) do
      set[name] = true
    end
  end
  if takes_any or takes_device then
    for _, name in ipairs(DEVICES) do
      set[name] = true
    end
  end
  if takes_any then
    add_files(set, prefix)
  end
end

-- ---- the answer ------------------------------------------------------------------------------

local function matching(set, prefix)
  local found = {}
  for name in pairs(set) do
    if string.sub(name, 1, #prefix) == prefix and (prefix ~= "" or not string.find(name, "^_")) then
      found[#found + 1] = name
    end
  end
  table.sort(found)
  return found
end

local function common_prefix(found)
  local common = found[1] or ""
  for _, name in ipairs(found) do
    while string.sub(name, 1, #common) ~= common do
      common = string.sub(common, 1, -2)
    end
  end
  while not utf8.len(common) do
    common = string.sub(common, 1, -2)
  end
  return common
end

-- Names in columns, down first.
local function list_text(found)
  local width, shown = 0, math.min(#found, MAX_LISTED)
  for i = 1, shown do
    width = math.max(width, terminal.columns_of(found[i]) + 2)
  end
  local ncolumns = math.max(1, terminal.width() // width)
  local nrows = (shown + ncolumns - 1) // ncolumns
  local lines = {}
  for row = 1, nrows do
    local line = {}
    for i = row, shown, nrows do
      line[#line + 1] = found[i] .. string.rep(" ", width - terminal.columns_of(found[i]))
    end
    lines[row] = string.gsub(table.concat(line), " +$", "")
  end
  if #found > shown then
    lines[#lines + 1] = string.format("… %d more", #found - shown)
  end
  return table.concat(lines, "\n") .. "\n"
end

-- What to insert after `prefix`, and the list, if nothing can be.
local function answer(found, prefix, ending)
  local common = common_prefix(found)
  local insert = string.sub(common, #prefix + 1)
  if #found == 1 then
    return insert .. (string.find(common, "/$") and "" or ending), ""
  end
  return insert, #found > 1 and insert == "" and list_text(found) or ""
end

local function complete_string(finder, token)
  local set, prefix = {}, string.sub(token.text, 2)
  finder:add_texts(set, #finder.tokens, prefix)
  return answer(matching(set, prefix), prefix, string.sub(token.text, 1, 1))
end

local function complete_name(finder, prefix, last)
  local set, ending, before = {}, "", finder.tokens[last]
  if is_symbol(before, ".") or is_symbol(before, ":") then
    local owner = finder:expression(last - 1)
    if owner then
      add_fields(set, owner, before.text == ":")
    end
  elseif finder:add_option_keys(set, last) and (prefix == "" or #matching(set, prefix) > 0) then
    ending = " = "
  else
    local f = prefix == "" and finder:call(last)
    if f and f.described then
      return "", declared.signature(f.path, f.described) .. "\n"
    elseif prefix == "" then
      return "  ", ""
    end
    finder:add_names(set)
  end
  return answer(matching(set, prefix), prefix, ending)
end

---What Tab does at the end of a text.
---@param text string the chunk up to the cursor
---@param scope table the locals of earlier chunks
---@return string insert
---@return string list of the names that fit, or a function's signature
function M.at(text, scope)
  local command = string.match(text, "^:(%a*)$")
  if command then
    local set = {}
    for name in pairs(names.COMMANDS) do
      set[name] = true
    end
    return answer(matching(set, command), command, " ")
  end
  text = string.gsub(string.gsub(text, "^:%a+ ", ""), "^[?=]", "")
  local tokens = lexer.tokens(text)
  local finder = setmetatable({ tokens = tokens, scope = scope }, Finder)
  local token = tokens[#tokens]
  if token and token.kind == "comment" then
    return "", ""
  elseif token and token.kind == "string" and not token.is_closed then
    return complete_string(finder, token)
  elseif token and token.last == #text and (token.kind == "name" or token.kind == "keyword") then
    return complete_name(finder, token.text, #tokens - 1)
  end
  return complete_name(finder, "", #tokens)
end

return M
