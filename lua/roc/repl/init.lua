-- The prompt, but for the terminal: chunks out of lines, what they are loaded as, their values.
--
-- roclua's loop (src/cli/repl.c) calls `read` with each line until it has a function, runs that,
-- and then calls `finish`; so errors and Ctrl-C find the user's code on the stack and little else.
local commands = require "roc.repl.commands"
local complete = require "roc.repl.complete"
local core = require "roc.core"
local help = require "roc.repl.help"
local locals = require "roc.repl.locals"
local show = require "roc.repl.show"
local source = require "roc.source"
local terminal = require "roc.repl.terminal"

local repl = {}

local scope = locals.new()
local count = 0 -- of chunks
local lines = {} -- of the chunk that is being read
local shows_values -- of the chunk that was read last
local unfinished -- what Lua says of its lines so far

local function is_incomplete(why)
  return why ~= nil and string.find(why, "<eof>$") ~= nil
end

-- Loads `lead .. text`; tells roc.source what kernels in it are compiled of.
local function load_chunk(lead, text)
  local chunkname = string.format("=stdin#%d", count)
  local plain = lead .. text
  local f, why = load(plain, chunkname, "t")
  if not f then
    return nil, why
  end
  local code, added
  f, why, code, added = scope:load(plain, chunkname)
  if f then
    source.register_chunk(chunkname,
      { text = plain, lead = #lead, code = code or plain, added = added })
  end
  return f, why
end

-- Statements with an expression in the last lines, as a paste may be: with `return` before it.
local function load_mixed(text)
  local at = #text
  while true do
    at = string.match(string.sub(text, 1, at), "()\n[^\n]*$")
    if not at then
      return nil
    end
    local tail = string.sub(text, at + 1)
    if string.find(tail, "%S") and load("return " .. tail, "=", "t") then
      local f = load_chunk("", string.sub(text, 1, at) .. "return " .. tail)
      if f then
        return f
      end
    end
    at = at - 1
  end
end

-- A function; or nil and the message; or nothing, where the text goes on.
local function load_text(text)
  local is_forced = string.sub(text, 1, 1) == "="
  local expression = is_forced and string.sub(text, 2) or text
  local f, why = load_chunk("return ", expression)
  if f or is_forced and not is_incomplete(why) then
    return f, why
  elseif is_incomplete(why) then
    unfinished = why
    return
  end
  shows_values = false
  f, why = load_chunk("", text)
  if not f and is_incomplete(why) then
    unfinished = why
    return
  elseif not f then
    local mixed = load_mixed(text)
    shows_values = mixed ~= nil
    return mixed, not mixed and why or nil
  end
  return f
end

---Takes a line, or several that were pasted.
---@param line? string nil: there is no more
---@return function? f to be run; or nil, when the chunk goes on
---@return string? message when it is wrong
---@return string? text of the chunk, when it is whole or wrong
function repl.read(line)
  lines[#lines + 1] = line
  local text = table.concat(lines, "\n")
  count = #lines == 1 and count + 1 or count
  shows_values = true
  local is_command, f, why = commands.find(text, load_text)
  if not is_command then
    f, why = load_text(text)
  end
  if not f and not why then
    if line then
      return nil
    end
    why = unfinished
  end
  lines = {}
  return f, why, text
end

---Forgets the lines of a chunk that is not whole.
function repl.drop()
  lines = {}
end

-- Waits for what was launched, so that its prints come before the next prompt, and its faults, each
-- of which says where it was launched. An interrupt that ended the chunk ends its kernels, too, and
-- has been told.
local function await_devices(is_interrupted)
  local faults = {}
  if is_interrupted then
    pcall(core.synchronize)
  end
  repeat
    local ok, why = pcall(core.synchronize)
    if not ok and not (is_interrupted and tostring(why) == "interrupted!") then
      faults[#faults + 1] = tostring(why)
    end
  until ok or type(why) ~= "userdata" or why.code ~= "fault"
  return faults
end

---After a chunk has run: waits for the devices, then prints its values.
---@param ok boolean whether it ended without an error
---@param is_interrupted boolean whether Ctrl-C has ended it
---@param ... any its values
---@return string? values as text
---@return string? faults of kernels, a line each
function repl.finish(ok, is_interrupted, ...)
  local faults, text = await_devices(is_interrupted), nil
  if ok and shows_values and select("#", ...) > 0 then
    if (...) ~= nil then
      rawset(_G, "_", (...))
    end
    text = show.values(...)
  end
  return text, faults[1] and table.concat(faults, "\n")
end

-- The lines of a traceback that are of what was typed or required: roclua's own files, and C where
-- nothing follows, are left out.
local function own_lines(trace)
  local kept = {}
  for line in string.gmatch(trace, "[^\n]+") do
    if not string.find(line, "^\troc/[%w_/]+%.lua:") then
      kept[#kept + 1] = line
    end
  end
  while kept[1] and string.find(kept[1], "^\t%[C%]:") do
    table.remove(kept, 1)
  end
  while kept[1] and (string.find(kept[#kept], "^\t%[C%]: in %?$")
    or string.find(kept[#kept], "^\t%(%.%.%.tail calls%.%.%.%)$")) do
    kept[#kept] = nil
  end
  if kept[1] then -- the chunk is a function inside one that has its locals
    kept[#kept] = string.gsub(kept[#kept], string.format("in function <stdin#%d:1>$", count),
      "in main chunk")
  end
  return kept
end

---An error's message, with a traceback only where that says more.
---@param message string
---@param is_coloured boolean whether it goes to a terminal
---@return string
function repl.describe_error(message, is_coloured)
  local text, trace = string.match(message, "^(.*)\nstack traceback:\n(.*)$")
  text = text or message
  local kept = own_lines(trace or "")
  if is_coloured then
    text = string.gsub(text, "[^\n]+", function(line) return terminal.styled(line, "error") end)
  end
  if #kept == 0 or #kept == 1 and string.find(kept[1], " in main chunk$") then
    return text
  end
  return text .. "\nstack traceback:\n" .. table.concat(kept, "\n")
end

---A line in colours.
---@param text string
---@return string
function repl.paint(text)
  return terminal.paint(text)
end

---What Tab does after a text.
---@param before string the chunk's last line up to the cursor
---@return string insert
---@return string list
function repl.complete(before)
  return complete.at(table.concat(lines, "\n") .. (lines[1] and "\n" or "") .. before, scope)
end

---Adds what is global at the prompt alone.
---@param exit function os.exit of the program
---@param is_coloured boolean whether the terminal takes colours
---@param width fun(): integer? its columns
---@param paths fun(prefix: string): string[] files whose paths begin so
function repl.open(exit, is_coloured, width, paths)
  terminal.open(is_coloured, width, paths)
  rawset(_G, "help", rawget(_G, "help") or function(value)
    print(help.text(value))
  end)
  rawset(_G, "roc", require "roc")
  for _, name in ipairs { "exit", "quit" } do
    if rawget(_G, name) == nil then
      rawset(_G, name, function(status)
        exit(status == nil or status, true)
      end)
    end
  end
end

return repl
