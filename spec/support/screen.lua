-- A program in a real terminal, which tmux is: keys go in, and the screen is compared with what a
-- file says.
--
-- A file of spec/cli/prompt is a scenario. Its first line says what it shows; lines `@name value`
-- set it up; each `$` line is typed, with keys by name (<Enter>, <Tab>, <C-c>, …), and the lines
-- after it are the whole screen then, without colours unless `@colours` asks for them (as \e[…m).
--
-- Nothing depends on a time. A line is typed when the prompt is there, and a screen is looked at
-- until it is as it should be, or until a generous limit has passed.
local files = require "support.files"
local shell = require "support.shell"

local LIMIT = 60 -- seconds for the screen to become as it should be

local screen = {}

local NAMED = { Enter = "Enter", Tab = "Tab", Up = "Up", Down = "Down", Left = "Left",
  Right = "Right", Home = "Home", End = "End", Backspace = "BSpace" }

-- ---- scenarios -------------------------------------------------------------------------------

-- The pieces of a line to be typed: { text = } or { key = } or { paste = }.
local function parse_keys(line)
  local pieces, at = {}, 1
  while at <= #line do
    local first, last, name = line:find("<([%w-]+)>", at)
    local is_key = name and (NAMED[name] or name:match "^C%-%l$" or name == "Paste")
    while first and not is_key do
      first, last, name = line:find("<([%w-]+)>", first + 1)
      is_key = name and (NAMED[name] or name:match "^C%-%l$" or name == "Paste")
    end
    if (first or #line + 1) > at then
      pieces[#pieces + 1] = { text = line:sub(at, (first or #line + 1) - 1) }
    end
    if name == "Paste" then
      local text, past = line:match("^(.-)</Paste>()", last + 1)
      pieces[#pieces + 1] = { paste = text:gsub("\\n", "\n"):gsub("\\t", "\t") }
      last = past - 1
    elseif first then
      pieces[#pieces + 1] = { key = NAMED[name] or name }
    end
    at = (last or #line) + 1
  end
  return pieces
end

---@param path string
---@return table scenario {title, settings, steps = {{keys, screen}, …}}
function screen.read(path)
  local scenario = { path = path, settings = { env = {} }, steps = {} }
  for line in files.read(path):gmatch "([^\n]*)\n" do
    local name, value = line:match "^@(%l+) ?(.*)$"
    local step = scenario.steps[#scenario.steps]
    if not scenario.title then
      scenario.title = line
    elseif name == "env" then
      table.insert(scenario.settings.env, value)
    elseif name and not step then
      scenario.settings[name] = value
    elseif line:sub(1, 2) == "$ " then
      scenario.steps[#scenario.steps + 1] = { keys = line:sub(3) }
    else
      step.screen = step.screen and step.screen .. "\n" .. line or line
    end
  end
  return scenario
end

-- ---- the terminal ----------------------------------------------------------------------------

local count = 0

local Terminal = {}
Terminal.__index = Terminal

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

function Terminal:tmux(command)
  local output, succeeded =
    files.run(("tmux -u -L %s -f /dev/null %s"):format(self.socket, command))
  assert(succeeded, output)
  return output
end

local function start(settings)
  count = count + 1
  local self = setmetatable({ folder = os.tmpname() }, Terminal)
  self.socket = "roclua-" .. self.folder:match "[^_/]*$" .. count
  self.has_colours = settings.colours ~= nil
  os.remove(self.folder)
  assert(select(2, files.run("mkdir -p " .. self.folder .. "/roclua")))
  if settings.history then
    local file <close> = assert(io.open(self.folder .. "/roclua/history", "w"))
    file:write("_HiStOrY_V2_\n", (settings.history:gsub(" ", "\\040"):gsub("|", "\n")), "\n")
  end
  local command = (settings.command or "ROCLUA -i"):gsub("ROCLUA", function()
    return shell.interpreter
  end)
  local width, height = (settings.size or "80x24"):match "(%d+)x(%d+)"
  self:tmux(("new-session -d -x %s -y %s env LC_ALL=C.UTF-8 XDG_STATE_HOME=%s %s sh -c %s"):format(
    width, height, self.folder, table.concat(settings.env, " "),
    quote(command .. '; echo "[status $?]"; exec sleep 100')))
  return self
end

function Terminal:__close()
  files.run(("tmux -L %s kill-server"):format(self.socket))
  files.run("rm -r " .. self.folder)
end

-- The screen, without the program's version and the empty lines below; the line with the cursor.
function Terminal:look()
  local output = self:tmux(("display-message -p '#{cursor_y}' \\; capture-pane -p %s"):format(
    self.has_colours and "-e" or ""))
  local row, text = output:match "^(%d+)\n(.*)$"
  local lines = {}
  for line in text:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  local cursor_line = lines[tonumber(row) + 1] or ""
  if lines[1] and lines[1]:find "^roclua %d" then table.remove(lines, 1) end
  local shown = table.concat(lines, "\n"):gsub("%s+$", ""):gsub("\27", "\\e")
  return shown, cursor_line:gsub("\27%[[%d;]*m", ""):gsub("%s+$", "")
end

-- Looks until `is_right(screen, line of the cursor)`; the last screen, and whether it was.
function Terminal:wait(is_right)
  local deadline, shown, line = os.time() + LIMIT, nil, nil
  repeat
    shown, line = self:look()
    if is_right(shown, line) then return shown, true end
    os.execute "sleep 0.02"
  until os.time() > deadline
  return shown, false
end

local function is_prompt(line)
  return line == ">" or line == ">>"
end

-- Types a line: its text only where the prompt waits for one, the key after it when it is shown.
function Terminal:type(keys)
  for _, piece in ipairs(parse_keys(keys)) do
    if piece.key and piece.key ~= "C-c" and self.is_sent ~= false then
      self:wait(function(_, line) return is_prompt(line) end)
    end
    if piece.key then
      self:tmux("send-keys " .. piece.key)
      self.is_sent = piece.key == "Enter" or piece.key == "C-c"
    else
      if self.is_sent ~= false then
        self:wait(function(_, line) return is_prompt(line) end)
      end
      if piece.paste then
        self:tmux("set-buffer -- " .. quote(piece.paste) .. " \\; paste-buffer -p")
      else
        self:tmux("send-keys -l -- " .. quote(piece.text))
      end
      if self.is_sent ~= false then
        self:wait(function(_, line) return not is_prompt(line) end)
      end
      self.is_sent = false
    end
  end
end

-- ---- running ---------------------------------------------------------------------------------

---Whether tmux is there.
---@return boolean
function screen.available()
  return files.has_program "tmux"
end

local function write_back(scenario, shown)
  local lines = {}
  for line in files.read(scenario.path):gmatch "([^\n]*)\n" do
    if line:sub(1, 2) == "$ " then break end
    lines[#lines + 1] = line
  end
  for i, step in ipairs(scenario.steps) do
    lines[#lines + 1] = "$ " .. step.keys
    lines[#lines + 1] = shown[i]
  end
  local file <close> = assert(io.open(scenario.path, "w"))
  file:write(table.concat(lines, "\n"), "\n")
end

---Types what the scenario says. Under ROCLUA_RECORD_SCREENS the file is written again with what the
---screen showed a second later, to be read and kept; a step whose screen is "" gets none.
---@param scenario table
---@return string? expected of the first screen that differs
---@return string? shown instead
function screen.run(scenario)
  local terminal <close> = start(scenario.settings)
  local records, shown = os.getenv "ROCLUA_RECORD_SCREENS", {}
  for i, step in ipairs(scenario.steps) do
    terminal:type(step.keys)
    if records and step.screen then
      os.execute "sleep 1"
      shown[i] = terminal:look()
    elseif step.screen then
      local last, is_right = terminal:wait(function(now) return now == step.screen end)
      if not is_right then return step.screen, last end
    end
  end
  if records then write_back(scenario, shown) end
end

return screen
