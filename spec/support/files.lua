-- The files of the repository, for specs that read its text.
local lfs = require "lfs"

local files = {}

local SKIPPED = { [".git"] = true, build = true, [".cache"] = true }

local function walk(dir, found)
  for name in lfs.dir(dir) do
    local path = dir == "." and name or dir .. "/" .. name
    local kind = name ~= "." and name ~= ".." and lfs.symlinkattributes(path, "mode")
    if kind == "directory" and not SKIPPED[name] then
      walk(path, found)
    elseif kind == "file" then
      found[#found + 1] = path
    end
  end
end

---Paths below `dir`, sorted; only those that match the Lua pattern, when there is one.
---@param dir string "." for all
---@param pattern? string
---@return string[]
function files.list(dir, pattern)
  local found, matching = {}, {}
  walk(dir, found)
  for _, path in ipairs(found) do
    if not pattern or path:find(pattern) then matching[#matching + 1] = path end
  end
  table.sort(matching)
  return matching
end

---@param path string
---@return string
function files.read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

---Runs a shell command; what it wrote, and whether it succeeded.
---@param command string
---@return string output
---@return boolean succeeded
function files.run(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local output = pipe:read("a")
  return output, pipe:close() == true
end

---@param program string
---@return boolean
function files.has_program(program)
  return (select(2, files.run("command -v " .. program)))
end

return files
