-- What lua/roc/meta declares for language servers, as tables: the prompt completes and explains by
-- it. The files are in the program as texts (roc.docs.meta.*).
local M = {}

local PAGES = { "roc.docs.meta.core", "roc.docs.meta.kernel", "roc.docs.meta.builders",
  "roc.docs.meta.arrays" }

local loaded

-- A comment block: what it says, and its tags.
local function new_block()
  return { doc = {}, params = {}, fields = {}, returns = {} }
end

-- The type at the start of a text, with what is in its brackets, and the rest.
local function split_type(text)
  local depth, at = 0, 1
  while at <= #text do
    local c = string.sub(text, at, at)
    if string.find(c, "[%(%[{<]") then
      depth = depth + 1
    elseif string.find(c, "[%)%]}>]") then
      depth = depth - 1
    elseif c == " " and depth == 0 then
      local before, after = string.sub(text, 1, at - 1), string.sub(text, at)
      local goes_on = string.match(after, "^ +| +()") or string.find(before, "[|,:]$") and 2
      if not goes_on then
        break
      end
      at = at + goes_on - 2
    end
    at = at + 1
  end
  return string.sub(text, 1, at - 1), string.match(text, "^ *(.*)$", at)
end

local function add_variable(list, text)
  local name, optional, rest = string.match(text, "^([%w_.]+)(%??) +(.*)$")
  if name then
    local kind, doc = split_type(rest)
    list[#list + 1] = { name = name, is_optional = optional == "?", type = kind, doc = doc }
  end
end

local function add_line(block, line)
  local tag, rest = string.match(line, "^%-%-%-@(%l+) *(.*)$")
  if tag == "class" then
    block.class, block.parent = string.match(rest, "^([%w_.]+):? *([%w_.]*)")
  elseif tag == "param" then
    add_variable(block.params, rest)
  elseif tag == "field" then
    add_variable(block.fields, rest)
  elseif tag == "return" then
    block.returns[#block.returns + 1] = (split_type(rest))
  elseif not tag then
    block.doc[#block.doc + 1] = string.sub(line, 4)
  end
end

-- Ends a block before a line of code, or an empty one.
local function finish(block, code, tables)
  local declared, classes = loaded.functions, loaded.classes
  if block.class then
    local class = classes[block.class] or { fields = {}, methods = {}, doc = block.doc }
    classes[block.class] = class
    class.parent = block.parent ~= "" and block.parent or class.parent
    for _, field in ipairs(block.fields) do
      class.fields[field.name] = field
    end
    local name = string.match(code, "^local (%w+) = {}") or string.match(code, "^([%w.]+) = {}")
    tables[name or ""] = block.class
  end
  local owner, separator, name, names = string.match(code,
    "^function ([%w_.]-)([.:])([%w_]+)(%b())")
  if not owner then
    return
  end
  local described = { params = block.params, returns = block.returns, doc = block.doc,
    names = string.match(names, "^%((.*)%)$") }
  if separator == ":" and classes[tables[owner]] then
    classes[tables[owner]].methods[name] = described
  else
    declared[owner .. "." .. name] = described
  end
end

local function read(text)
  local block, tables = new_block(), {}
  for line in string.gmatch(text .. "\n", "([^\n]*)\n") do
    if string.find(line, "^%-%-%-") then
      add_line(block, line)
    else
      finish(block, line, tables)
      block = new_block()
    end
  end
end

-- What a class has of the one that it is a kind of.
local function inherit(class)
  local parent = class.parent and loaded.classes[class.parent]
  if not parent then
    return
  end
  class.parent = nil
  inherit(parent)
  for _, kind in ipairs { "fields", "methods" } do
    for name, described in pairs(parent[kind]) do
      class[kind][name] = class[kind][name] or described
    end
  end
end

local function all()
  if not loaded then
    loaded = { functions = {}, classes = {} }
    for _, page in ipairs(PAGES) do
      read(require(page))
    end
    for _, class in pairs(loaded.classes) do
      inherit(class)
    end
  end
  return loaded
end

---A function by its path, such as "roc.zeros".
---@param path string
---@return { params: table[], returns: string[], names: string, doc: string[] }?
function M.functions(path)
  return all().functions[path]
end

---A class by its name, such as "roc.Array".
---@param name string
---@return { fields: table<string, table>, methods: table<string, table>, doc: string[] }?
function M.class(name)
  return all().classes[name]
end

---How a function is called: "roc.zeros(shape, dtype?, order?)".
---@param path string as it is to be shown
---@param described table
---@return string
function M.signature(path, described)
  local is_optional = {}
  for _, param in ipairs(described.params) do
    is_optional[param.name] = param.is_optional
  end
  local names = string.gsub(described.names, "[%w_]+", function(name)
    return name .. (is_optional[name] and "?" or "")
  end)
  local result = #described.returns > 0 and " -> " .. table.concat(described.returns, ", ") or ""
  return string.format("%s(%s)%s", path, names, result)
end

-- The fields of a type that is a table: a class of options, or fields written out.
local function fields_of(kind)
  local found = {}
  for name in string.gmatch(kind, "roc%.[%w_]+") do
    local class = all().classes[name]
    for field in pairs(class and next(class.methods) == nil and class.fields or {}) do
      found[#found + 1] = field
    end
  end
  for written in string.gmatch(kind, "%b{}") do
    for field in string.gmatch(written, "([%a_][%w_]*)%??:") do
      found[#found + 1] = field
    end
  end
  return found
end

---The keys of the table that a function takes as its argument number `position`; those of its last
---parameter where it has fewer.
---@param described table
---@param position integer
---@return string[]
function M.option_keys(described, position)
  local param = described.params[math.min(position, #described.params)]
  return param and fields_of(param.type) or {}
end

---The texts that an argument may be, where the type lists them.
---@param kind string
---@return string[]
function M.literals(kind)
  local found = {}
  for literal in string.gmatch(kind, '"([^"]*)"') do
    found[#found + 1] = literal
  end
  return found
end

return M
