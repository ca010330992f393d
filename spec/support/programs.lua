-- Programs of this build, which is the one whose roc.core the specs run on.
local M = {}

local function read_line(script)
  local pipe <close> = assert(io.popen(script))
  return pipe:read("l")
end

local function quote(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

-- ROCLUA_SPEC_INTERPRETER, a path or a command, says what runs the specs where /proc does not:
-- under valgrind that names valgrind.
local command = os.getenv("ROCLUA_SPEC_INTERPRETER")
local path = command and command:match("%S+$") or read_line("readlink /proc/$PPID/exe")
command = command or quote(path)

-- Folder of the build's programs: beside the module, or where the running program is.
local function folders()
  local core = package.searchpath("roc.core", package.cpath)
  return { core and core:match("^(.*)/lib/lua/5%.4/roc/core%.so$"),
    path and path:match("^(.*)/bin/[^/]+$") }
end

-- Path of a program, or nil when this build has none of that name.
function M.find(name)
  for _, folder in pairs(folders()) do
    local program = folder .. "/bin/" .. name
    local file = io.open(program)
    if file then
      file:close()
      return program
    end
  end
end

-- Runs a command; true, or false and what it printed.
function M.run(script)
  local pipe = assert(io.popen(script .. " 2>&1"))
  local output = pipe:read("a")
  return pipe:close() == true, output
end

-- Path of the sanitizer's runtime that a library was built with, "" for none: a program that was
-- built without it must load that before the library.
function M.sanitizer(library)
  local _, linked = M.run(("ldd %s"):format(quote(library)))
  return linked:match("/%S*/lib[at]san%S*") or ""
end

-- Folder of the build for an installation; nil and the reason where none can be made or tried.
function M.installable_build(tools)
  local spec = M.find("roclua-spec")
  local build = spec and spec:match("^(.*)/bin/[^/]+$")
  for _, tool in ipairs(tools) do
    if not M.run("command -v " .. tool) then return nil, "no " .. tool end
  end
  local settings = build and io.open(build .. "/CMakeCache.txt")
  if not settings then return nil, "no build" end
  settings:close()
  if M.sanitizer(build .. "/lib/libroclua.so.0") ~= "" then return nil, "built with a sanitizer" end
  return build
end

-- The command that runs Lua code in a fresh process of the kind this one is.
function M.lua(code, environment)
  return ("%s LUA_PATH=%s LUA_CPATH=%s %s -e %s"):format(
    environment or "", quote(package.path), quote(package.cpath), command, quote(code))
end

return M
