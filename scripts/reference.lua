-- Writes docs/reference/ out of lua/roc/meta, for which a page stands each: lua5.4
-- scripts/reference.lua [FOLDER]. Run it after a change of lua/roc/meta; spec/lint/reference_spec
-- fails where the pages are not what it writes.
local folder = arg[1] or "docs/reference"

package.path = "lua/?.lua;" .. package.path
table.insert(package.searchers, 2, function(name)
  local page = string.match(name, "^roc%.docs%.meta%.([%w_]+)$")
  local file = page and io.open("lua/roc/meta/" .. page .. ".lua")
  if file then
    local text <close> = file
    local content = text:read("a")
    return function() return content end
  end
end)

local declared = require "roc.repl.declared"
local entries = require "roc.repl.entries"

local WIDTH = 100
local NOTE = "<!-- Written by scripts/reference.lua out of lua/roc/meta/%s.lua: change that. -->"

local page_of = {}
for _, page in ipairs(declared.pages()) do
  for _, section in ipairs(page.sections) do page_of[section] = page end
end

-- The heading of an entry: anchors are in lower case, and roc.Array is not roc.array.
local function heading(item)
  local is_type = item.list or item.alias
  return is_type and "Type " .. item.path or item.path
end

local function anchor(item) return (heading(item):lower():gsub("[.:]", ""):gsub(" ", "-")) end

local function link(item) return ("%s.md#%s"):format(page_of[item.section].name, anchor(item)) end

-- Breaks the lines of a text at spaces; not within code, and items go on indented.
local function wrapped(text)
  local out = {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    local indent, current = line:find("^%* ") and "  " or "", nil
    line = line:gsub("`[^`]*`", function(code) return (code:gsub(" ", "\1")) end)
    for word in line:gmatch("%S+") do
      if current and utf8.len(current) + utf8.len(word) + 1 > WIDTH then
        out[#out + 1], current = current, indent .. word
      else
        current = current and current .. " " .. word or word
      end
    end
    out[#out + 1] = current or ""
  end
  return (table.concat(out, "\n"):gsub("\1", " "))
end

local function entry(item)
  local signature = entries.signature(item)
  return ("### %s\n\n%s%s\n"):format(heading(item),
    signature and ("```\n%s\n```\n\n"):format(signature) or "", wrapped(entries.body(item, link)))
end

local function text_of(section) return (table.concat(section.text, "\n"):gsub("\n+$", "")) end

local function page_text(page)
  local parts = { NOTE:format(page.name), "", "# " .. page.title, "" }
  for _, section in ipairs(page.sections) do
    if section.title then table.move({ "## " .. section.title, "" }, 1, 2, #parts + 1, parts) end
    local text = text_of(section):gsub("^\n+", "")
    if text ~= "" then table.move({ text, "" }, 1, 2, #parts + 1, parts) end
    for _, item in ipairs(section.items) do parts[#parts + 1] = entry(item) end
  end
  return (table.concat(parts, "\n"):gsub("\n+$", "\n"))
end

-- All names, each with its first sentence.
local function index_text()
  local parts = { NOTE:gsub("%%s", "*"), "", "# Every name", "",
    "What `roc` offers, a line each. `help(name)` at the prompt shows what the name's entry says.",
    "" }
  for _, page in ipairs(declared.pages()) do
    table.move({ "## " .. page.title, "", "| name | what it is |", "|---|---|" }, 1, 4, #parts + 1,
      parts)
    for _, section in ipairs(page.sections) do
      for _, item in ipairs(section.items) do
        parts[#parts + 1] = ("| [`%s`](%s) | %s |"):format(item.path, link(item),
          (entries.summary(item):gsub("|", "\\|")))
      end
    end
    parts[#parts + 1] = ""
  end
  return table.concat(parts, "\n")
end

local function write(name, text)
  local file <close> = assert(io.open(folder .. "/" .. name .. ".md", "w"))
  file:write(text)
end

for _, page in ipairs(declared.pages()) do write(page.name, page_text(page)) end
write("README", index_text())
