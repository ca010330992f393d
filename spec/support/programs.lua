-- Programs of this build, which is the one whose roc.core the specs run on.
local M = {}

local function read_line(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read("l")
end

-- Folder of the build's programs: beside the module, or where the running program is.
local function folders()
  local core = package.searchpath("roc.core", package.cpath)
  local exe = read_line("readlink /proc/$PPID/exe")
  return { core and core:match("^(.*)/lib/lua/5%.4/roc/core%.so$"),
    exe and exe:match("^(.*)/bin/[^/]+$") }
end

-- Path of a program, or nil when this build has none of that name.
function M.find(name)
  for _, folder in pairs(folders()) do
    local path = folder .. "/bin/" .. name
    local file = io.open(path)
    if file then
      file:close()
      return path
    end
  end
end

-- Runs a command; true, or false and what it printed.
function M.run(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local output = pipe:read("a")
  return pipe:close() == true, output
end

-- The command that runs Lua code in a fresh process of the kind this one is.
function M.lua(code, environment)
  local exe = read_line("readlink /proc/$PPID/exe")
  local function quote(s)
    return "'" .. s:gsub("'", "'\\''") .. "'"
  end
  return ("%s LUA_PATH=%s LUA_CPATH=%s %s -e %s"):format(
    environment or "", quote(package.path), quote(package.cpath), quote(exe), quote(code))
end

return M
