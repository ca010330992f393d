-- The pages of the documentation, and the blocks of code in them.
local files = require "support.files"

local pages = {}

---@class Block
---@field line integer of the fence
---@field language string what the fence says
---@field name string? of a complete file: the comment in its first line, such as "-- first.lua"
---@field text string
---@field before string the last line of text before the block

---The paths of all pages.
---@return string[]
function pages.list() return { "README.md", table.unpack(files.list("docs", "%.md$")) } end

---@param path string
---@return Block[]
function pages.blocks(path)
  local found, current, before, line = {}, nil, "", 0
  for text in (files.read(path) .. "\n"):gmatch("(.-)\n") do
    line = line + 1
    local fence = text:match("^```(.*)")
    if fence and current then
      current.name = current.text:match("^%-%- ([%w_-]+%.lua)\n")
      found[#found + 1], current = current, nil
    elseif fence then
      current = { line = line, language = fence, text = "", before = before }
    elseif current then
      current.text = current.text .. text .. "\n"
    elseif text ~= "" then
      before = text
    end
  end
  return found
end

return pages
