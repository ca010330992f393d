-- Values as the prompt prints them: tables as Lua writes them, arrays with what describes them.
local core = require "roc.core"
local lexer = require "roc.repl.lexer"
local names = require "roc.repl.names"
local terminal = require "roc.repl.terminal"

local M = {}

local MAX_DEPTH = 6 -- of tables in tables
local MAX_ITEMS = 100 -- of one table
local MAX_NODES = 600 -- of one value
local MAX_TEXT = 240 -- bytes of a string inside a table
local CUT = "…"
local INDENT = "  "

-- ---- parts of a table ------------------------------------------------------------------------

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\\"] = "\\\\", ['"'] = '\\"',
  ["\27"] = "\\27" }

-- A string as Lua writes it, on one line, cut where it is long.
local function quote(s)
  local cut = ""
  if #s > MAX_TEXT then
    local last = utf8.len(s) and utf8.offset(s, 0, MAX_TEXT) - 1 or MAX_TEXT
    s, cut = string.sub(s, 1, last), CUT
  end
  s = string.gsub(s, '[%c\\"]', function(c)
    return ESCAPES[c] or string.format("\\%03d", string.byte(c))
  end)
  if not utf8.len(s) then
    s = string.gsub(s, "[\128-\255]", function(c)
      return string.format("\\x%02x", string.byte(c))
    end)
  end
  return '"' .. s .. '"' .. cut
end

local ORDER = { number = 1, string = 2, boolean = 3 }

local function compare_keys(a, b)
  local kind_a, kind_b = ORDER[type(a)] or 4, ORDER[type(b)] or 4
  if kind_a ~= kind_b or kind_a > 2 then
    return kind_a < kind_b
  end
  return a < b
end

-- The keys after 1 … n, numbers first, then names; of no other kind is the order defined.
local function other_keys(t, n)
  local keys = {}
  for key in next, t do
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, compare_keys)
  return keys
end

local function list_length(t)
  local n = 0
  while rawget(t, n + 1) ~= nil do
    n = n + 1
  end
  return n
end

-- ---- values on one line ----------------------------------------------------------------------

local function function_text(f)
  local info = debug.getinfo(f, "Su")
  local name = names.of_function(f)
  if name then
    return "function " .. name
  elseif info.what == "C" then
    return tostring(f)
  end
  local params = {}
  for i = 1, info.nparams do
    params[i] = debug.getlocal(f, i)
  end
  params[#params + 1] = info.isvararg and "..." or nil
  return string.format("function(%s)  -- %s:%d", table.concat(params, ", "), info.short_src,
    info.linedefined)
end

local ARRAYS = { ["roc.Array"] = true, ["roc.DeviceArray"] = true, ["roc.SmartArray"] = true }

local function shape_text(shape)
  return "{" .. table.concat(shape, ", ") .. "}"
end

-- "roc.DeviceArray float32 {3, 4} on cpu"; a closed array has none of these fields.
local function describe_array(a, class)
  local text = string.format("%s %s %s", class, a.dtype.name, shape_text(a.shape))
  if class ~= "roc.Array" then
    text = text .. " on " .. a.device.name
  end
  return text
end

-- The text of a value that has one of its own; one line of it.
local function own_text(value)
  local ok, text = pcall(tostring, value)
  return ok and text or string.format("(__tostring failed: %s)", tostring(text))
end

local function has_own_text(t)
  local meta = debug.getmetatable(t)
  return type(meta) == "table"
    and (rawget(meta, "__tostring") ~= nil or rawget(meta, "__name") ~= nil)
end

local function scalar_text(value)
  local kind, class = type(value), names.class_of(value)
  if kind == "string" then
    return quote(value)
  elseif kind == "function" then
    return function_text(value)
  elseif ARRAYS[class] then
    local ok, text = pcall(describe_array, value, class)
    return ok and text or class .. " (closed)"
  end
  return (string.gsub(own_text(value), "\n.*", " " .. CUT))
end

-- ---- tables ----------------------------------------------------------------------------------

local function key_text(key)
  if type(key) == "string" and string.find(key, "^[%a_][%w_]*$") and not lexer.KEYWORDS[key] then
    return key
  end
  return "[" .. scalar_text(key) .. "]"
end

local describe -- (value, context, depth) -> a node

-- A node is { text } or { list =, named =, cut = }: nodes, and { key, node }.
local function describe_table(t, context, depth)
  if context.inside[t] then
    return { text = "<cycle>" }
  elseif depth > MAX_DEPTH then
    return { text = next(t) == nil and "{}" or "{" .. CUT .. "}" }
  end
  context.inside[t] = true
  local node = { list = {}, named = {} }
  local n, shown = list_length(t), 0
  local keys = other_keys(t, n)
  local function has_room()
    shown, context.nodes = shown + 1, context.nodes + 1
    return shown <= MAX_ITEMS and context.nodes <= MAX_NODES
  end
  for i = 1, n do
    if not has_room() then
      node.cut = string.format("%s %d more", CUT, n + #keys - i + 1)
      break
    end
    node.list[i] = describe(rawget(t, i), context, depth + 1)
  end
  for i, key in ipairs(node.cut and {} or keys) do
    if not has_room() then
      node.cut = string.format("%s %d more", CUT, #keys - i + 1)
      break
    end
    node.named[i] = { key_text(key), describe(rawget(t, key), context, depth + 1) }
  end
  context.inside[t] = nil
  return node
end

function describe(value, context, depth)
  if type(value) == "table" and not has_own_text(value) then
    return describe_table(value, context, depth)
  end
  return { text = scalar_text(value) }
end

-- A node on one line, as far as it is shorter than `room`; else nil.
local function one_line(node, room)
  if node.text then
    return terminal.columns_of(node.text) <= room and node.text or nil
  end
  local items, used = {}, 2
  local function add(text)
    items[#items + 1] = text
    used = text and used + terminal.columns_of(text) + 2
    return text and used - 2 <= room
  end
  for _, item in ipairs(node.list) do
    if not add(one_line(item, room - used)) then return nil end
  end
  for _, pair in ipairs(node.named) do
    local text = one_line(pair[2], room - used - #pair[1] - 3)
    if not text or not add(pair[1] .. " = " .. text) then return nil end
  end
  if node.cut and not add(node.cut) then return nil end
  return "{" .. table.concat(items, ", ") .. "}"
end

local layout -- (node, indent, room in the last line) -> text

-- Items that have room beside each other are on one line; each named one has its own.
local function layout_lines(node, indent)
  local inner = indent .. INDENT
  local width = terminal.width()
  local lines, line = {}, ""
  local function flush()
    lines[#lines + 1] = line ~= "" and inner .. line or nil
    line = ""
  end
  for _, item in ipairs(node.list) do
    local text = one_line(item, width - #inner - 1)
    if not text then
      flush()
      lines[#lines + 1] = inner .. layout(item, inner) .. ","
    else
      if terminal.columns_of(line .. text) + 2 > width - #inner then flush() end
      line = line .. (line ~= "" and " " or "") .. text .. ","
    end
  end
  flush()
  for _, pair in ipairs(node.named) do
    local room = width - #inner - #pair[1] - 4
    lines[#lines + 1] = string.format("%s%s = %s,", inner, pair[1],
      one_line(pair[2], room) or layout(pair[2], inner))
  end
  lines[#lines + 1] = node.cut and inner .. node.cut
  return lines
end

function layout(node, indent)
  if node.text then
    return node.text
  end
  return "{\n" .. table.concat(layout_lines(node, indent), "\n") .. "\n" .. indent .. "}"
end

local function table_text(t)
  local node = describe_table(t, { inside = {}, nodes = 0 }, 1)
  return one_line(node, terminal.width() - 1) or layout(node, "")
end

-- ---- arrays ----------------------------------------------------------------------------------

local MAX_COPIED = 64 << 20 -- bytes that are worth a copy from a device, for statistics

local function number_text(x, dtype)
  if math.type(x) == "float" then
    return string.format("%.6g", x)
  end
  return dtype.name == "uint64" and x < 0 and string.format("%.6g", x + 2.0 ^ 64) or tostring(x)
end

local function statistics_text(host)
  local found = core.statistics(host)
  if found.nan == host.size then
    return host.size > 0 and "  all nan" or ""
  elseif host.dtype.kind == "b" then
    return string.format("  %d of %d true", found.sum, host.size)
  end
  local text = string.format("  min %s  max %s  mean %.6g", number_text(found.min, host.dtype),
    number_text(found.max, host.dtype), found.sum / (host.size - found.nan))
  return text .. (found.nan > 0 and string.format("  %d nan", found.nan) or "")
end

local function host_of(a, class)
  if class == "roc.Array" then
    return a
  elseif a.nbytes > MAX_COPIED then
    return nil
  end
  return class == "roc.DeviceArray" and a:copy_to_host() or a:get "host"
end

local function array_text(a, class)
  local text = describe_array(a, class)
  local host = host_of(a, class)
  if host and host.size > 1 then
    text = text .. statistics_text(host)
  end
  return text .. "\n" .. tostring(host or a)
end

-- ---- values ----------------------------------------------------------------------------------

---A value as text, perhaps of several lines. A string is its own text.
---@param value any
---@return string
function M.value(value)
  local kind, class = type(value), names.class_of(value)
  if kind == "string" then
    return value
  elseif kind == "table" and not has_own_text(value) then
    return table_text(value)
  elseif kind == "function" then
    return function_text(value)
  elseif ARRAYS[class] then
    local ok, text = pcall(array_text, value, class)
    return ok and text or error(text, 0)
  end
  return tostring(value)
end

---The values of a chunk: on one line with tabs between them where all are short.
---@return string
function M.values(...)
  local texts, separator = {}, "\t"
  for i = 1, select("#", ...) do
    local value = (select(i, ...))
    texts[i] = M.value(value)
    separator = string.find(texts[i], "\n") and "\n" or separator
    texts[i] = type(value) == "string" and texts[i] or terminal.paint(texts[i])
  end
  return table.concat(texts, separator)
end

return M
