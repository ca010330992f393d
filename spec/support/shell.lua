-- Running the interpreter that runs the specs.
local files = require "support.files"

local lowest = 0
while arg[lowest - 1] do lowest = lowest - 1 end

-- The interpreter's path (or a command, "valgrind … roclua"), or nil when it is not roclua.
local interpreter = os.getenv("ROCLUA_SPEC_INTERPRETER")
  or arg[lowest] and arg[lowest]:find("roclua") and arg[lowest] or nil

local shell = { interpreter = interpreter }

---Runs a shell command in which ROCLUA stands for the interpreter.
---@param command string
---@return string output of stdout and stderr
---@return integer status
function shell.run(command)
  local script = command:gsub("ROCLUA%f[^%w_]", function() return interpreter end)
  local output = files.run("{ (" .. script .. "); echo \"[$?]\"; }")
  local text, status = output:match("^(.*)%[(%d+)%]\n$")
  return text, math.tointeger(tonumber(status))
end

return shell
