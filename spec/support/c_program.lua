-- The tests of a C program: it lists their names, and runs the one that is named, which ends with
-- "ok NAME".
local busted = require "busted"
local devices = require "support.devices"
local check = require("support.asserted").check
local programs = require "support.programs"

local M = {}

---Settings of the environment for the cpu device and a software AMD GPU, and for sim.
M.ON_DEVICES = { cpu = "ROCLUA_DEVICE=cpu", sim = "ROCLUA_DEVICE=sim",
  hsa = "ROCLUA_DEVICE=hsa ROCLUA_EMULATE=gfx90a" }

local function define(path, name, title, settings, on_gpu)
  busted.it(title, function()
    if on_gpu and devices.missing then return busted.pending(devices.missing) end
    local ok, output = programs.run(("env %s timeout 120 %s %s"):format(settings, path, name))
    check(ok and output:find("ok " .. name, 1, true), 1, "%s", output)
  end)
end

---Defines a test for each of the program, in a describe block: one process each, on each kind of
---device. The program's path; nil, with a pending test, where it is not built.
---@param program string
---@param titles table<string, string> of all its tests, by name
---@param settings string | table<string, string> the environment, or one for each kind of device
---@param applies? fun(name: string, kind: string): boolean whether a test runs on a kind
---@return string?
function M.specs(program, titles, settings, applies)
  local path = programs.find(program)
  if not path then
    busted.pending(program .. " is not built")
    return nil
  end
  local listed = {}
  for name in assert(io.popen(path)):lines() do
    local title = assert(titles[name], program .. " has a test without a title: " .. name)
    listed[name] = true
    if type(settings) == "string" then
      define(path, name, title, settings, settings:find("ROCLUA_EMULATE", 1, true))
    else
      for kind, environment in pairs(settings) do
        if not applies or applies(name, kind) then
          define(path, name, ("%s (%s)"):format(title, kind), environment, kind == "hsa")
        end
      end
    end
  end
  for name in pairs(titles) do
    assert(listed[name], program .. " lists no test " .. name)
  end
  return path
end

return M
