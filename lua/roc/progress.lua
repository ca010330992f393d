-- A line on the terminal that says how far long work is: only in roclua and rocluac, only where
-- stderr is a terminal, and only from two seconds on.  A script in another program, and output into
-- a pipe or a file, never see one.
local core = require "roc.core"

local M = {}

local AFTER_S = 2
local WIDTH = 79

-- The program that allows lines has a function that writes in the registry; see cli_main.
local write = debug and debug.getregistry()["roclua.progress"]

local Progress = {}
Progress.__index = Progress

---Says which step begins now.
---@param done integer steps before it
---@param total integer
---@param what string the step
function Progress:step(done, total, what)
  if not self.is_on or core.time() - self.begin < AFTER_S then
    return
  end
  local text = string.format("%s: %d of %d: %s", self.title, done + 1, total,
    string.gsub(what, "%c", " "))
  if #text > WIDTH then
    text = string.sub(text, 1, (utf8.offset(text, 0, WIDTH - 2) or WIDTH - 2) - 1) .. "…"
  end
  write("\r\27[K" .. text)
  self.is_shown = true
end

---Takes the line away.
function Progress:__close()
  if self.is_shown then
    write "\r\27[K"
  end
end

---Begins: `local line <close> = progress.start "tune"`.
---@param title string
---@return table
function M.start(title)
  return setmetatable({ title = title, begin = core.time(), is_on = write ~= nil }, Progress)
end

return M
