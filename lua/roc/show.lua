-- What k:show() gives: each line of a kernel's source with the types, the intermediate
-- representation and the assembly that it became, then resources, the checks that remain, hints.
--
-- All of it is read from the texts of the other methods (inspect_types, inspect_ir, inspect_asm),
-- which name the places that their lines are of.
local core = require "roc.core"

local M = {}

-- Of a listing: {[file] = {[line] = rows}}, rows in the order in which they are found. A row is
-- {kind =, text =}.
local Listing = {}
Listing.__index = Listing

local function new_listing()
  return setmetatable({ files = {}, order = {} }, Listing)
end

function Listing:rows(file, line)
  local lines = self.files[file]
  if not lines then
    lines = {}
    self.files[file] = lines
    self.order[#self.order + 1] = file
  end
  lines[line] = lines[line] or {}
  return lines[line]
end

function Listing:add(file, line, kind, text)
  local rows = self:rows(file, line)
  rows[#rows + 1] = { kind = kind, text = text }
end

local function lines_of(text)
  return string.gmatch(text, "([^\n]*)\n?")
end

-- {[file] = lines} of the chunks that the kernel reaches.
local function sources_of(kernel)
  local sources = {}
  for file, text in pairs(core.kernel_sources(kernel)) do
    local lines = {}
    for line in lines_of(text) do
      lines[#lines + 1] = line
    end
    sources[file] = lines
  end
  return sources
end

-- types -------------------------------------------------------------------------------------------

-- "  local x: float32  ; 4:9, plain float made float32 at 6:11", under the name of a function, and
-- the file of that where it is not the kernel's.
local function add_types(listing, text, file)
  local own = file
  for line in lines_of(text) do
    local is_head = string.find(line, "^%l")
    local what, at, more = string.match(line, "^  (.-)  ; (%d+):%d+(.*)$")
    if is_head then
      file = string.match(line, "  ; (.*)$") or own
    elseif what then
      listing:add(file, math.tointeger(at), "type", what .. string.gsub(more, "^, ", "   ; "))
    end
  end
end

-- IR ----------------------------------------------------------------------------------------------

local function unquoted(text)
  return (string.gsub(string.gsub(text, "\\x(%x%x)", function(digits)
    return string.char(tonumber(digits, 16))
  end), "\\([\"\\])", "%1"))
end

-- An instruction has its place at the end, `!"saxpy.lua" 3:5` or `!3:5`, where the one before it
-- had another. Declarations, `else` and `end` have none.
local function add_ir(listing, text)
  local file, at
  for line in lines_of(text) do
    local indent, rest = string.match(line, "^( +)(.*)$")
    local is_inst = indent and not string.find(rest, "^array ") and not string.find(rest, "^var ")
      and not string.find(rest, "^site ")
    if is_inst and rest ~= "end" and rest ~= "else" then
      local what, quoted, number = string.match(rest, '^(.*) !"(.*)" (%d+):%d+$')
      if not what then
        what, number = string.match(rest, "^(.*) !(%d+):%d+$")
      end
      file = quoted and unquoted(quoted) or file
      at = number and math.tointeger(number) or at
      if file and at then
        local kind = string.find(rest, "^check") and "check" or "ir"
        listing:add(file, at, kind, string.rep(" ", #indent - 2) .. (what or rest))
      end
    end
  end
end

-- checks ------------------------------------------------------------------------------------------

-- The text between the nth pair of brackets after a name that begins at the column.
local function index_text(line, column, nth)
  local at = string.match(line, "^[%a_][%w_.]*()", column)
  local inner
  for _ = 1, at and nth or 0 do
    inner, at = string.match(line, "^%s*(%b[])()", at)
    if not inner then
      return nil
    end
  end
  return inner and string.match(inner, "^%[%s*(.-)%s*%]$")
end

local KINDS = {
  divide = "divisor of '//'", modulo = "divisor of '%'",
  no_integer = "float that becomes an integer",
}

local function describe_site(site, source)
  if site.kind ~= "index" then
    return KINDS[site.kind]
  end
  local nth = math.max(site.dim, 1)
  local text = index_text(source[site.line] or "", site.column, nth)
  return string.format("index%s of '%s'%s", text and " " .. text or "", site.name,
    site.dim > 0 and string.format(" (dimension %d)", site.dim) or "")
end

-- The checks that are left in the IR, with the reasons that are there as comments: the others are
-- proved. What `assert` checks is the script's.
local function remaining_checks(text, sources)
  local sites, found = {}, {}
  for line in lines_of(text) do
    local number, kind, file, at, column, dim, name =
      string.match(line, '^  site (%d+) (%l+_?%l*) "(.*)" (%d+) (%d+) dim (%d+) values %d+(.*)$')
    local checked, note = string.match(line, "^ +check[%l.]* .*#(%d+)[^;]*;?%s*(.*)$")
    if number then
      sites[number] = { kind = kind, file = unquoted(file), line = math.tointeger(at),
        column = math.tointeger(column), dim = math.tointeger(dim),
        name = unquoted(string.match(name, '^ name "(.*)"') or "") }
    elseif checked and (KINDS[sites[checked].kind] or sites[checked].kind == "index") then
      local site = sites[checked]
      local source = sources[site.file] or {}
      found[#found + 1] = string.format("%s:%d:%d: %s%s", site.file, site.line, site.column,
        describe_site(site, source), note ~= "" and "\n  " .. note or "")
    end
  end
  return found
end

-- assembly ----------------------------------------------------------------------------------------

local COMMENTS = { "^; (.-):(%d+):", "^# (.-):(%d+):", "^// (.-):(%d+):" }

local function place_of(line)
  for _, pattern in ipairs(COMMENTS) do
    local file, number = string.match(line, pattern)
    if file then
      return file, math.tointeger(number)
    end
  end
end

local function is_instruction(line)
  return string.find(line, "^\t[%a@{}]") or string.find(line, "^[%w_$.]+:")
end

-- inspect_asm puts a comment with the place before what it became. Directives, and what stands in
-- other sections than the code's, are left out.
local function add_assembly(listing, text)
  local file, at, is_code, last = nil, nil, true, nil
  for line in lines_of(text) do
    local next_file, next_at = place_of(line)
    local section = string.match(line, "^%s*%.section%s+(%S+)")
      or string.match(line, "^%s*(%.%l+)$")
    if next_file then
      file, at = next_file, next_at
    elseif section then
      is_code = string.find(section, "^%.text") ~= nil
    elseif string.find(line, "^%.Lfunc_end") then
      file = nil
    elseif is_code and file and is_instruction(line) then
      local rows = listing:rows(file, at)
      if last and last ~= rows and rows[1] and rows[#rows].kind == "asm" then
        rows[#rows + 1] = { kind = "asm", text = "…" }
      end
      last = rows
      local shown = string.gsub(string.gsub(line, "^\t", "  "), "\t", " ")
      rows[#rows + 1] = { kind = "asm", text = shown }
    end
  end
end

-- resources ---------------------------------------------------------------------------------------

-- By the names that the target gives its numbers; a target without any has code alone.
local function describe_resources(kernel, target)
  local facts = core.target_facts(target)
  if not facts.numbers[1] then
    local object <close> = kernel:compile(target)
    return string.format("%d bytes of code object, %d of shared memory", #object.bytes,
      object.shared_bytes)
  end
  local found, parts = kernel:resources(target), {}
  for _, number in ipairs(facts.numbers) do
    if (found[number.name] or 0) > 0 then
      parts[#parts + 1] = string.format("%s %d", number.name, found[number.name])
    end
  end
  local o = found.occupancy
  return string.format("%s\noccupancy: %d of %d %s in workgroups of %d, limited by %s",
    table.concat(parts, ", "), o.waves, o.max, facts.occupancy_title, o.workgroup, o.limit)
end

-- the whole ---------------------------------------------------------------------------------------

local LABELS = { type = "type", ir = "ir", check = "ir", asm = "asm" }

-- Of "heading", "source", "label", "type", "ir", "check" and "asm"; the prompt puts one with
-- colours.
local function plain(_, text)
  return text
end

local style = plain

-- The lines to be shown of a file: those with rows, and those between them.
local function extent_of(lines)
  local first, last
  for at in pairs(lines) do
    first, last = math.min(first or at, at), math.max(last or at, at)
  end
  return first, last
end

local function put_file(out, file, lines, source)
  out[#out + 1] = style("heading", file)
  local first, last = extent_of(lines)
  for at = first, last do
    out[#out + 1] = string.format("%5d  %s", at, style("source", source[at] or ""))
    for _, row in ipairs(lines[at] or {}) do
      out[#out + 1] = string.format("%7s%s %s", "",
        style("label", string.format("%-4s", LABELS[row.kind])), style(row.kind, row.text))
    end
  end
end

local function put_section(out, title, text)
  out[#out + 1] = style("heading", title)
  for line in string.gmatch(text, "[^\n]+") do
    out[#out + 1] = "  " .. line
  end
end

local function describe(kernel, target)
  local listing, out, ir = new_listing(), {}, kernel:inspect_ir()
  local sources = sources_of(kernel)
  add_types(listing, kernel:inspect_types(), debug.getinfo(kernel:fn(), "S").short_src)
  add_ir(listing, ir)
  add_assembly(listing, kernel:inspect_asm(target))
  out[#out + 1] = style("heading", string.format("kernel %s for %s", kernel.name, target))
  for _, file in ipairs(listing.order) do
    put_file(out, file, listing.files[file], sources[file] or {})
  end
  put_section(out, "resources", describe_resources(kernel, target))
  local checks = remaining_checks(core.kernel_checks(kernel, target), sources)
  if checks[1] then
    put_section(out, "checks that remain", table.concat(checks, "\n"))
  end
  local hints = kernel:hints()
  if hints[1] then
    put_section(out, "hints", table.concat(hints, "\n"))
  end
  return table.concat(out, "\n")
end

---The text of k:show.
---@param kernel roc.Kernel with types
---@param target string
---@return string
function M.describe(kernel, target)
  return describe(kernel, target)
end

---Calls f with texts in a style.
---@param text_style fun(kind: string, text: string): string
---@param f function
---@param ... any
---@return any what f gives
function M.styled(text_style, f, ...)
  style = text_style
  local results = table.pack(pcall(f, ...))
  style = plain
  if not results[1] then
    error(results[2], 0)
  end
  return table.unpack(results, 2, results.n)
end

return M
