-- help at the prompt: the entry of a name, as docs/reference has it, and where the other pages of
-- docs/ speak of it. The pages are in the program as texts (roc.docs.*); their paragraphs, list
-- items and rows of tables are found by the code in them.
local declared = require "roc.repl.declared"
local entries = require "roc.repl.entries"
local names = require "roc.repl.names"
local terminal = require "roc.repl.terminal"

local M = {}

local FIRST = { roc = 1, ["kernel-language"] = 2 } -- of the pages; the others as they come
local MAX_WIDTH = 100
local MAX_MENTIONS = 12

-- ---- the pages -------------------------------------------------------------------------------

local all -- the blocks of all pages: { page =, heading =, kind =, text = or cells = }

local function split_row(line)
  local cells = {}
  line = string.gsub(string.match(line, "^|(.-)|?$"), "\\|", "\1")
  for cell in string.gmatch(line, "([^|]*)|?") do
    cells[#cells + 1] = string.gsub(string.match(cell, "^%s*(.-)%s*$"), "\1", "|")
  end
  cells[#cells] = cells[#cells] ~= "" and cells[#cells] or nil
  return cells
end

-- Appends the blocks of a text.
local function read(page, text, blocks)
  local heading, block, is_code = page, nil, false
  local function add(kind, text)
    block = { page = page, heading = heading, kind = kind, text = text }
    blocks[#blocks + 1] = block
  end
  for line in string.gmatch(text .. "\n", "([^\n]*)\n") do
    local title = not is_code and string.match(line, "^#+ (.*)$")
    if string.find(line, "^```") then
      is_code = not is_code
      if is_code then
        add("code", "")
      else
        block = nil
      end
    elseif is_code then
      block.text = block.text .. (block.text ~= "" and "\n" or "") .. line
    elseif title then
      heading, block = title, nil
    elseif string.find(line, "^|") then
      local cells = split_row(line)
      if not string.find(line, "^|[%-| ]+$") and #cells > 1 then
        blocks[#blocks + 1] = { page = page, heading = heading, kind = "row", cells = cells,
          text = cells[1] }
      end
      block = nil
    elseif line == "" then
      block = nil
    elseif string.find(line, "^%* ") then
      add("item", string.sub(line, 3))
    elseif block then
      block.text = block.text .. " " .. string.match(line, "^%s*(.*)$")
    else
      add("text", line)
    end
  end
end

local function blocks()
  if not all then
    all = {}
    local pages = table.move(require "roc.docs", 1, #require "roc.docs", 1, {})
    table.sort(pages, function(a, b)
      local first, second = FIRST[a] or 3, FIRST[b] or 3
      return first < second or first == second and a < b
    end)
    for _, page in ipairs(pages) do
      read(page, require("roc.docs." .. page), all)
    end
  end
  return all
end

-- ---- finding ---------------------------------------------------------------------------------

local function escaped(name)
  return (string.gsub(name, "%p", "%%%0"))
end

-- How a block speaks of a name: "defines" where its first code is a call of it, or any code of a
-- row's first cell begins with it; "mentions" elsewhere.
local function relation(block, patterns)
  local is_mentioned, is_first = false, true
  for code in string.gmatch(block.kind ~= "code" and block.text or "", "`([^`]*)`") do
    for _, pattern in ipairs(patterns) do
      local first, last = string.find(code, pattern)
      if first == 1 and (block.kind == "row" or is_first and string.find(code, "^ ?[({]", last + 1))
      then
        return "defines"
      end
      is_mentioned = is_mentioned or first ~= nil
    end
    is_first = false
  end
  return is_mentioned and "mentions" or nil
end

-- How the pages may write a name: as it is; that of a method with any object before it.
local function patterns_of(name)
  local method = string.match(name, ":([%w_]+)$")
  if method then
    return { "^%l[%w]*:" .. method .. "%f[^%w_]", "%f[%w]%l:" .. method .. "%f[^%w_]" }
  end
  return { "%f[%w]" .. escaped(name) .. "%f[^%w_]" }
end

-- Lists that name their table once: "`roc.math` has …: `exp2 log2 …`", "`roc.atomic.add`, `sub`".
local function lists(block, name)
  local owner, last = string.match(name, "^(.*)%.([%w_]+)$")
  if not owner or not string.find(block.text, "`" .. owner, 1, true) then
    return false
  end
  for code in string.gmatch(block.text, "`([^`]*)`") do
    if string.find(" " .. code .. " ", " " .. last .. " ", 1, true) then
      return true
    end
  end
  return false
end

-- The blocks about a name: those that define it, and those that mention it.
local function find(name)
  local patterns, defining, mentioning = patterns_of(name), {}, {}
  for _, block in ipairs(blocks()) do
    local how = relation(block, patterns) or lists(block, name) and "defines"
    if how then
      table.insert(how == "defines" and defining or mentioning, block)
    end
  end
  return defining, mentioning
end

-- ---- as text ---------------------------------------------------------------------------------

-- Markdown's marks away: links are their texts, code is coloured or keeps its marks.
local function plain(text)
  text = string.gsub(text, "%[([^%]]*)%]%([^)]*%)", "%1")
  text = string.gsub(text, "%*%*(.-)%*%*", "%1")
  return (string.gsub(text, "\\([*_|])", "%1"))
end

local function coloured(line)
  return (string.gsub(line, "`([^`]*)`", function(code)
    local styled = terminal.styled(code, "keyword")
    return styled ~= code and styled or "`" .. code .. "`"
  end))
end

local function wrap(text, first, indent)
  local width = math.min(terminal.width(), MAX_WIDTH) - 1
  local lines, line = {}, first
  for word in string.gmatch(plain(text), "%S+") do
    if #line > #indent and terminal.columns_of(line) + terminal.columns_of(word) + 1 > width then
      lines[#lines + 1] = line
      line = indent .. word
    else
      line = line .. (#line > #indent and " " or "") .. word
    end
  end
  lines[#lines + 1] = line
  return coloured(table.concat(lines, "\n"))
end

local function block_text(block)
  if block.kind == "code" then
    return terminal.paint("  " .. string.gsub(block.text, "\n", "\n  "))
  elseif block.kind == "row" then
    local rest = table.concat(block.cells, "; ", 2)
    return wrap(block.cells[1], "  ", "  ") .. "\n" .. wrap(rest, "      ", "      ")
  elseif block.kind == "item" then
    return wrap(block.text, "* ", "  ")
  end
  return wrap(block.text, "", "")
end

local function place_of(block)
  local heading = plain(string.gsub(block.heading, "`", ""))
  return string.format("%s (docs/%s.md)", heading, block.page)
end

local function heading_text(block)
  return terminal.styled(place_of(block), "heading")
end

-- Blocks with their headings, each once.
local function add_blocks(parts, found)
  local before
  for _, block in ipairs(found) do
    if not before or before.heading ~= block.heading or before.page ~= block.page then
      parts[#parts + 1] = (before and "\n" or "") .. heading_text(block)
    end
    parts[#parts + 1] = block_text(block)
    before = block
  end
end

local function places(found)
  local list, seen = {}, {}
  for _, block in ipairs(found) do
    local place = place_of(block)
    if not seen[place] and #list < MAX_MENTIONS then
      seen[place], list[#list + 1] = true, place
    end
  end
  return table.concat(list, ", ")
end

-- ---- topics ----------------------------------------------------------------------------------

local function section(heading_wanted)
  local found = {}
  for _, block in ipairs(blocks()) do
    if string.lower(string.gsub(block.heading, "`", "")) == string.lower(heading_wanted) then
      found[#found + 1] = block
    end
  end
  return found
end

-- The methods of a class, each with its first sentence.
local function methods(item)
  local parts, names_of_methods = {}, {}
  for name in pairs(item.methods or {}) do
    names_of_methods[#names_of_methods + 1] = name
  end
  table.sort(names_of_methods)
  for _, name in ipairs(names_of_methods) do
    local method = item.methods[name]
    parts[#parts + 1] = string.format("* `:%s(%s)`: %s", name, method.names,
      entries.summary(method))
  end
  return table.concat(parts, "\n")
end

-- Whether an example names a local of the program that it begins with, other than `roc`.
local function uses_locals(example, beginning)
  for name in string.gmatch("\n" .. beginning, "\nlocal ([%w_ ]+)") do
    name = string.match(name, "([%w_]+) *$")
    if name ~= "roc" and string.find(example, "%f[%w_]" .. name .. "%f[^%w_]") then
      return true
    end
  end
  return false
end

-- An entry as docs/reference has it; what its example begins with comes after it.
local function entry_text(item)
  local found, parts = {}, {}
  read("", entries.body(item) .. "\n\n" .. methods(item), found)
  local example, beginning = entries.example(item), declared.beginning(item.section)
  if example and uses_locals(example, beginning) then
    read("", "The example begins with\n\n```lua\n" .. beginning .. "```", found)
  end
  parts[1] = terminal.paint(entries.signature(item) or item.path)
  local before
  for _, block in ipairs(found) do
    local is_list = block.kind == "item" and before == "item"
    parts[#parts + 1] = (is_list and "" or "\n") .. block_text(block)
    before = block.kind
  end
  return table.concat(parts, "\n")
end

---What is said of a public name of roc, such as "roc.scan" or "roc.Array:fill": its entry and where
---the pages speak of it; of a name without an entry, what the pages say.
---@param name string
---@return string? text nil: nothing
function M.of_name(name)
  local item = declared.item(name)
  local defining, mentioning = find(name)
  local parts = {}
  if item then
    parts[1] = entry_text(item)
    local page = item.section.page
    table.insert(defining, 1, { heading = page.title, page = "reference/" .. page.name })
    mentioning = table.move(mentioning, 1, #mentioning, #defining + 1, defining)
  elseif #defining + #mentioning > 0 then
    add_blocks(parts, #defining > 0 and defining or mentioning)
    mentioning = #defining > 0 and mentioning or {}
  else
    return nil
  end
  if #mentioning > 0 then
    parts[#parts + 1] = "\n" .. wrap("See also: " .. places(mentioning), "", "  ")
  end
  return table.concat(parts, "\n")
end

local OVERVIEW = [[
help(x), ?x       what the docs say of a function, a method, a value: ?roc.scan
help "word"       of a name, or the section of that title: help "barrier"
Tab               completes names, fields, keys, texts; after ( shows arguments
_                 the last value
:time chunk       runs it, waits for the devices, and says how long that took
:devices          the devices there are
:types k, :ir k   types of a kernel's locals, its intermediate representation
:asm k [target]   its assembly, with the lines of its source
exit(), Ctrl-D    the end]]

-- All entries, in the order of the pages.
local function items()
  local list = {}
  for _, page in ipairs(declared.pages()) do
    for _, section in ipairs(page.sections) do
      table.move(section.items, 1, #section.items, #list + 1, list)
    end
  end
  return list
end

-- Names that a word may stand for; methods and classes in the order of the pages.
local function candidates(word)
  local list = { word, "roc." .. word }
  for _, group in ipairs { "atomic", "math", "wave", "shared", "private", "const" } do
    list[#list + 1] = "roc." .. group .. "." .. word
  end
  for _, item in ipairs(items()) do
    list[#list + 1] = string.match(item.path, "^roc%.%w+:" .. escaped(word) .. "$")
  end
  return list
end

local function is_public(name)
  if declared.item(name) then
    return true
  end
  local value = { roc = require "roc" }
  for part in string.gmatch(name, "[^.]+") do
    value = type(value) == "table" and rawget(value, part) or nil
  end
  return value ~= nil
end

-- Help for a word: a public name, with or without what comes before it; a section; any code.
local function of_word(word)
  for _, name in ipairs(candidates(word)) do
    local text = is_public(name) and M.of_name(name)
    if text then
      return text
    end
  end
  local found = section(word)
  if #found == 0 then
    return M.of_name(word)
  end
  local parts = {}
  add_blocks(parts, found)
  return table.concat(parts, "\n")
end

-- The name of a table of functions, such as "roc.atomic", or of roc itself; nil for other tables.
local function name_of_table(value)
  local roc = require "roc"
  for _, item in ipairs(items()) do
    local field = string.match(item.path, "^roc%.([%w_]+)%.")
    if field and rawget(roc, field) == value then
      return "roc." .. field
    end
  end
  return value == roc and "roc" or nil
end

-- The functions and constants of a table, each with its first sentence.
local function of_table(name)
  local found, parts = {}, { terminal.paint(name), "" }
  for _, item in ipairs(items()) do
    local is_field = string.find(item.path, "^" .. escaped(name) .. "%.[%w_]+$")
    if is_field and not (item.list or item.alias) then
      local arguments = item.names and "(" .. item.names .. ")" or ""
      read("", string.format("* `%s%s`: %s", item.path, arguments, entries.summary(item)), found)
    end
  end
  for _, block in ipairs(found) do
    parts[#parts + 1] = block_text(block)
  end
  return table.concat(parts, "\n")
end

---What is known of a value or a word.
---@param value any
---@return string
function M.text(value)
  if value == nil then
    return OVERVIEW
  elseif type(value) == "string" then
    return of_word(value) or string.format("The docs have nothing named '%s'.", value)
  end
  local group = type(value) == "table" and name_of_table(value)
  if group then
    return of_table(group)
  end
  local name = names.of_function(value)
  local text = name and M.of_name(name)
  if text then
    return text
  end
  local class = names.class_of(value)
  if class and declared.item(class) then
    return M.of_name(class)
  elseif name then
    return string.format("'%s' is Lua's own: see the reference manual of Lua 5.4", name)
  end
  return string.format("The docs have nothing of this %s.", type(value))
end

return M
