-- Running the interpreter that users have, and the one that runs the specs.
local files = require "support.files"
local lfs = require "lfs"

local lowest = 0
while arg[lowest - 1] do lowest = lowest - 1 end

-- The path of roclua-spec (or a command, "valgrind … roclua-spec"), or nil when it is another
-- program that runs the specs; and of roclua beside it.
local with_hooks = os.getenv("ROCLUA_SPEC_INTERPRETER")
  or arg[lowest] and arg[lowest]:find("roclua") and arg[lowest] or nil
-- Commands may change the folder, so a relative path is made absolute.
with_hooks = with_hooks
  and with_hooks:gsub("%f[^%s\0]([^%s/]%S*/roclua%-spec)$", lfs.currentdir() .. "/%1")
local interpreter = with_hooks and with_hooks:gsub("roclua%-spec$", "roclua")

local shell = { interpreter = interpreter }

---Runs a shell command in which ROCLUA stands for the interpreter, ROCLUA_SPEC for the one that has
---the hooks of the specs.
---@param command string
---@return string output of stdout and stderr
---@return integer status
function shell.run(command)
  local script = command:gsub("ROCLUA_SPEC%f[^%w_]", function() return with_hooks end)
    :gsub("ROCLUA%f[^%w_]", function() return interpreter end)
  local output = files.run("{ (" .. script .. "); echo \"[$?]\"; }")
  local text, status = output:match("^(.*)%[(%d+)%]\n$")
  return text, math.tointeger(tonumber(status))
end

return shell
