-- What the prompt knows of the terminal: its width, how wide a text is there, and colours.
local lexer = require "roc.repl.lexer"

local M = {}

local DEFAULT_WIDTH = 80

local is_coloured = false
local get_width = function() return nil end
local get_paths = function() return {} end

---@param has_colours boolean whether colours are wanted
---@param width fun(): integer? columns of the terminal; nil: there is none
---@param paths fun(prefix: string): string[] files whose paths begin so, folders with a slash
function M.open(has_colours, width, paths)
  is_coloured, get_width, get_paths = has_colours, width, paths
end

---Files whose paths begin so; folders end with a slash.
---@param prefix string
---@return string[]
function M.paths(prefix)
  return get_paths(prefix)
end

---Columns of the terminal, or those of a text that goes elsewhere.
---@return integer
function M.width()
  return get_width() or DEFAULT_WIDTH
end

---Columns of one line of text. Characters of East Asian scripts take two, combining marks none.
---@param text string
---@return integer
function M.columns_of(text)
  if not string.find(text, "[\128-\255]") then
    return #text
  elseif not utf8.len(text) then
    return #text
  end
  local columns = 0
  for _, c in utf8.codes(text) do
    local is_wide = c >= 0x1100 and (c <= 0x115f or c >= 0x2e80 and c <= 0xa4cf
      or c >= 0xac00 and c <= 0xd7a3 or c >= 0xf900 and c <= 0xfaff or c >= 0xfe30 and c <= 0xfe6f
      or c >= 0xff00 and c <= 0xff60 or c >= 0x1f300 and c <= 0x1faff or c >= 0x20000)
    local is_mark = c >= 0x300 and c <= 0x36f
    columns = columns + (is_wide and 2 or is_mark and 0 or 1)
  end
  return columns
end

-- SGR codes of the kinds of tokens; names of constants are numbers.
local STYLES = { keyword = "34", string = "32", number = "36", comment = "90", error = "31",
  heading = "1" }
local CONSTANTS = { ["true"] = true, ["false"] = true, ["nil"] = true, ["nan"] = true,
  ["inf"] = true }

---A text in a style, where colours are wanted.
---@param text string
---@param style string "keyword", "string", "number", "comment", "error", "heading"
---@return string
function M.styled(text, style)
  if not is_coloured or text == "" then
    return text
  end
  return string.format("\27[%sm%s\27[0m", STYLES[style], text)
end

---Lua text, or a value as Lua writes it, in colours, where they are wanted.
---@param text string
---@return string
function M.paint(text)
  if not is_coloured then
    return text
  end
  local parts, at = {}, 1
  for _, token in ipairs(lexer.tokens(text)) do
    local kind = CONSTANTS[token.text] and "number" or token.kind
    if STYLES[kind] then
      parts[#parts + 1] = string.sub(text, at, token.first - 1)
      parts[#parts + 1] = string.gsub(token.text, "[^\n]+", function(line)
        return M.styled(line, kind)
      end)
      at = token.last + 1
    end
  end
  parts[#parts + 1] = string.sub(text, at)
  return table.concat(parts)
end

return M
