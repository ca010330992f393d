-- Lines of the prompt that are no Lua: `?name` and `:command argument`. Each becomes a function,
-- which is run as any other chunk is.
local core = require "roc.core"
local declared = require "roc.repl.declared"
local devices = require "roc.repl.devices"
local help = require "roc.repl.help"
local names = require "roc.repl.names"
local show = require "roc.show"
local terminal = require "roc.repl.terminal"

local M = {}

local function seconds_text(seconds)
  if seconds >= 1 then
    return string.format("%.3f s", seconds)
  elseif seconds >= 1e-3 then
    return string.format("%.3f ms", seconds * 1e3)
  end
  return string.format("%.3f µs", seconds * 1e6)
end

-- Runs the chunk and waits for what it has launched.
local function run_timed(f)
  local start = core.time()
  local results = table.pack(f())
  core.synchronize()
  print(seconds_text(core.time() - start))
  return table.unpack(results, 1, results.n)
end

local function check_kernel(command, value)
  if names.class_of(value) ~= "roc.Kernel" then
    error(string.format(":%s takes a kernel (got %s)", command, type(value)), 0)
  end
  return value
end

-- Each gets the load function and the argument; gives a function, or nil and a message; or nothing,
-- where the argument goes on.
local COMMANDS = {}

function COMMANDS.time(load_text, argument)
  local f, why = load_text(argument)
  return f and function() return run_timed(f) end, why
end

function COMMANDS.devices()
  return function() devices.list(true) end
end

function COMMANDS.help(_, argument)
  return function() print(help.text(argument ~= "" and argument or nil)) end
end

-- A command that prints a text of a kernel.
local function of_kernel(command, show)
  COMMANDS[command] = function(load_text, argument)
    local name, rest = string.match(argument, "^(%S+)%s*(%S*)$")
    if not name then
      return nil, string.format(":%s takes a kernel", command)
    end
    local f, why = load_text(name)
    return f and function()
      print(show(check_kernel(command, f()), rest ~= "" and rest or nil))
    end, why
  end
end

of_kernel("types", function(k) return k:inspect_types() end)
of_kernel("ir", function(k) return k:inspect_ir() end)

-- Types and IR in the background, checks so that they are found, assembly as it is.
local function show_style(kind, text)
  if kind == "source" then
    return terminal.paint(text)
  end
  local styles = { heading = "heading", label = "comment", type = "number", ir = "comment",
    check = "error" }
  return styles[kind] and terminal.styled(text, styles[kind]) or text
end

of_kernel("show", function(k, target) return show.styled(show_style, k.show, k, target) end)
of_kernel("asm", function(k, target) return k:inspect_asm(target) end)

-- The word itself where it has an entry, which the value of a constant has not; else the value that
-- it names, or the word: help takes both.
local function value_of(word, load_text)
  if declared.item(word) then
    return word
  end
  local field = string.gsub(word, "^([%w_.]+):([%w_]+)$", "%1.%2") -- ?a:sum
  local f = string.find(field, "^[%w_.]+$") and load_text(field)
  local ok, value = pcall(f or error)
  return ok and value ~= nil and value or word
end

---The function for a line that is a command.
---@param text string the chunk so far
---@param load_text fun(text: string): function?, string?
---@return boolean is_command
---@return function? f
---@return string? why not
function M.find(text, load_text)
  local word = string.match(text, "^%?%s*(.-)%s*$")
  if word then
    return true, function()
      print(help.text(word ~= "" and value_of(word, load_text) or nil))
    end
  end
  local name, argument = string.match(text, "^:(%a+)%s*(.-)%s*$")
  if not name then
    return false
  elseif not COMMANDS[name] then
    local known = {}
    for command in pairs(names.COMMANDS) do
      known[#known + 1] = ":" .. command
    end
    table.sort(known)
    return true, nil, string.format("no command ':%s'; known are %s", name,
      table.concat(known, ", "))
  end
  return true, COMMANDS[name](load_text, argument)
end

return M
