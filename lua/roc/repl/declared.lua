-- What lua/roc/meta declares for language servers, as tables: the prompt completes and explains by
-- it, and the pages of docs/reference are made of it (roc.repl.entries). The files are in the
-- program as texts (roc.docs.meta.*).
--
-- A file is a page. Comments of two dashes that begin with "# Title" or "## Title", and go on to
-- the next line without a dash, are its text; comments of three dashes are an entry: paragraphs,
-- of which one may be "Example: `code` gives `result`.", and tags.
local M = {}

---The files, in the order of the pages.
M.PAGES = { "arrays", "expressions", "linalg", "random", "builders", "memory", "kernels",
  "streams", "modules", "in_kernels", "math" }

local loaded

-- A comment block: what it says, and its tags.
local function new_block()
  return { doc = {}, params = {}, fields = {}, returns = {}, gives = {} }
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
  elseif tag == "alias" then
    block.alias, block.type = string.match(rest, "^([%w_.]+) +(.*)$")
  elseif tag == "param" then
    add_variable(block.params, rest)
  elseif tag == "field" then
    add_variable(block.fields, rest)
  elseif tag == "return" then
    local kind, doc = split_type(rest)
    block.returns[#block.returns + 1] = kind
    doc = string.gsub(string.gsub(doc, "^# +", ""), " +# +", ": ")
    block.gives[#block.gives + 1] = { type = kind, doc = string.gsub(doc, "^%.%.%.:? *", "") }
  elseif not tag then
    block.doc[#block.doc + 1] = string.sub(line, 4)
  end
end

local function last(list)
  return list[#list]
end

-- Appends what has an entry to the section that is being read.
local function add_item(path, described)
  local section = last(last(loaded.pages).sections)
  described.path, described.section = path, section
  section.items[#section.items + 1] = described
  loaded.items[path] = described
end

local function add_class(block, code, tables)
  local class = loaded.classes[block.class]
  local name = string.match(code, "^local (%w+) = {}") or string.match(code, "^([%w.]+) = {}")
  tables[name or ""] = block.class
  if not class then
    class = { fields = {}, methods = {}, doc = block.doc, list = {} }
    loaded.classes[block.class] = class
  end
  class.parent = block.parent ~= "" and block.parent or class.parent
  for _, field in ipairs(block.fields) do
    class.fields[field.name] = field
    class.list[#class.list + 1] = field
  end
  if block.doc[1] then
    add_item(block.class, class)
  end
end

local function add_function(block, code, tables)
  local owner, separator, name, names = string.match(code,
    "^function ([%w_.]-)([.:])([%w_]+)(%b())")
  if not owner then
    return
  end
  block.names = string.match(names, "^%((.*)%)$")
  local class = separator == ":" and loaded.classes[tables[owner]]
  if class then
    class.methods[name] = block
    add_item(tables[owner] .. ":" .. name, block)
  else
    loaded.functions[owner .. "." .. name] = block
    add_item(owner .. "." .. name, block)
  end
end

-- Ends a block before a line of code, or an empty one.
local function finish(block, code, tables)
  local constant = string.match(code, "^(roc[%w_.]*%.[%u_]+) = ")
  if block.class then
    add_class(block, code, tables)
  elseif block.alias then
    add_item(block.alias, block)
  elseif constant then
    add_item(constant, block)
  else
    add_function(block, code, tables)
  end
end

-- A line of text: a title begins a page or a section.
local function add_text(line)
  local marks, title = string.match(line, "^(#+) (.*)$")
  if marks == "#" then
    last(loaded.pages).title = title
  elseif marks then
    local page = last(loaded.pages)
    table.insert(page.sections, { title = title, text = {}, items = {}, page = page })
  else
    table.insert(last(last(loaded.pages).sections).text, line)
  end
end

local function read(name, text)
  local block, tables, is_text = new_block(), {}, false
  local page = { name = name }
  page.sections = { { text = {}, items = {}, page = page } }
  loaded.pages[#loaded.pages + 1] = page
  for line in string.gmatch(text .. "\n", "([^\n]*)\n") do
    if string.find(line, "^%-%-%-") then
      add_line(block, line)
    else
      is_text = string.find(line, "^%-%- #") or is_text and string.find(line, "^%-%-")
      if is_text then
        add_text(string.sub(line, 4))
      end
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
  if not class.doc[1] then -- options, whose fields stand in the entries of functions
    table.move(parent.list, 1, #parent.list, #class.list + 1, class.list)
  end
end

local function all()
  if not loaded then
    loaded = { functions = {}, classes = {}, pages = {}, items = {} }
    for _, name in ipairs(M.PAGES) do
      read(name, require("roc.docs.meta." .. name))
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

---The entry of a name: a function, a method ("roc.Array:fill"), a class, an alias or a constant.
---@param path string
---@return table? item with path, doc (lines), section; params and gives, or list (fields), or type
function M.item(path)
  return all().items[path]
end

---The pages: { name =, title =, sections = { { title =, text = lines, items = {…}, page = } } }.
---The first section has no title.
---@return table[]
function M.pages()
  return all().pages
end

local function code_of(section)
  return string.match("\n" .. table.concat(section.text, "\n"), "\n```lua\n(.-\n)```")
end

---The program that the examples of a section begin with: its own, else the page's.
---@param section table
---@return string
function M.beginning(section)
  return code_of(section) or code_of(section.page.sections[1])
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
