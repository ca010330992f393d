-- The entry of a name of roc as Markdown, out of lua/roc/meta: help at the prompt shows it, and
-- scripts/reference.lua writes the pages of docs/reference from it.
local declared = require "roc.repl.declared"

local M = {}

local function code(text)
  return "`" .. text .. "`"
end

-- A type as code; as a link where it is a declared name alone and `link` makes links.
local function type_text(kind, link)
  local item = declared.item(kind)
  return item and link and string.format("[%s](%s)", code(kind), link(item)) or code(kind)
end

local function bullet(each, kind)
  local optional = each.is_optional and ", optional" or ""
  local text = each.name and string.format("* %s (%s%s)", code(each.name), kind, optional)
    or "* gives " .. kind
  return text .. (each.doc ~= "" and ": " .. each.doc or "")
end

-- The paragraphs of a comment, each in one line.
local function paragraphs(lines)
  local text = string.gsub(table.concat(lines, "\n"), "([^\n])\n([^\n])", "%1 %2")
  return (string.gsub(text, "\n+$", ""))
end

-- The class of options that a type names, if it does: one without a text of its own.
local function options_in(kind)
  for name in string.gmatch(kind, "roc%.%w+Opts") do
    local class = declared.class(name)
    if class and not class.doc[1] then
      return { name = name, list = class.list }
    end
  end
end

-- Appends an item for each variable; the fields of options follow it.
local function add_variables(parts, list, link)
  for _, each in ipairs(list) do
    local options = options_in(each.type)
    local is_options = options and each.type == options.name
    parts[#parts + 1] = bullet(each, is_options and "options" or type_text(each.type, link))
    for _, field in ipairs(options and options.list or {}) do
      parts[#parts + 1] = bullet({ name = "." .. field.name, doc = field.doc }, code(field.type))
    end
  end
end

-- The part of an entry after its text: parameters, results, fields.
local function variables(item, link)
  local parts = {}
  add_variables(parts, item.params or {}, link)
  add_variables(parts, item.gives or {}, link)
  add_variables(parts, item.list or {}, link)
  if item.type then
    parts[#parts + 1] = "It is " .. code(item.type) .. "."
  end
  return table.concat(parts, "\n")
end

---The line that begins an entry: how a function is called, a class with its parent.
---@param item table of declared.item
---@return string?
function M.signature(item)
  return item.names and declared.signature(item.path, item) or nil
end

---The text of an entry: what it says, parameters, results or fields, an example.
---@param item table of declared.item
---@param link? fun(item: table): string makes the address of another entry
---@return string markdown
function M.body(item, link)
  local text = paragraphs(item.doc)
  local before, example = string.match(text, "^(.-)\n*(Example: .*)$")
  local parts = { before or text, variables(item, link), example or "" }
  for i = #parts, 1, -1 do
    if parts[i] == "" then
      table.remove(parts, i)
    end
  end
  return table.concat(parts, "\n\n")
end

---The example of an entry, and what it gives.
---@param item table
---@return string? code
---@return string? result nil: nothing to show
function M.example(item)
  local text = string.match(paragraphs(item.doc), "Example: (.*)$") or ""
  local example, result = string.match(text, "^`([^`]*)` gives `([^`]*)`%.$")
  if not example then
    example = string.match(text, "^`([^`]*)`%.$")
  end
  return example, result
end

---The first sentence of an entry.
---@param item table
---@return string
function M.summary(item)
  local text = string.match(paragraphs(item.doc), "^[^\n]*")
  return string.match(text, "^.-%.%f[%s\0]") or text
end

return M
