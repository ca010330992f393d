-- Which file of src/ uses functions and tables of which other, read from the symbols of the object
-- files that the running program was built of.
local lfs = require "lfs"

local calls = {}

-- The build folder, of which bin/ holds this program; nil in a stock lua5.4.
local function build_folder()
  local n = 0
  while arg[n - 1] do n = n - 1 end
  return arg[n]:match("^(.*)/bin/[^/]+$")
end

local function objects(dir, found)
  for name in lfs.dir(dir) do
    local path = dir .. "/" .. name
    local mode = name ~= "." and name ~= ".." and lfs.attributes(path, "mode")
    if mode == "directory" then objects(path, found) end
    if mode == "file" and name:find("%.o$") then found[#found + 1] = path end
  end
  return found
end

-- The source of an object file, without "src/"; nil when it is not one of src/, or is left from a
-- build of an earlier tree: the emulator's are in its own part of the build folder.
local function source_of(object)
  local own = object:match("/src/emulator/CMakeFiles/[^/]+%.dir/(.*)%.o$")
  local path = own and "emulator/" .. own or object:match("/src/CMakeFiles/[^/]+%.dir/(.*)%.o$")
  if not path or not own and path:find("^emulator/") then return nil end
  return lfs.attributes("src/" .. path) and path
end

---@alias Uses table<string, table<string, string>> file -> file that it uses -> one symbol of it

---@return Uses? uses nil when there are no object files to read
function calls.read()
  local build = build_folder()
  if not build or not lfs.attributes(build .. "/src/CMakeFiles") then return nil end
  local owner, wants = {}, {}
  for _, object in ipairs(objects(build .. "/src", {})) do
    local source = source_of(object)
    if source then
      local pipe <close> = assert(io.popen(("nm -P '%s'"):format(object)))
      for line in pipe:lines() do
        local symbol, kind = line:match("^(%S+) (%a)")
        if kind and kind:find("[TDBRVW]") then owner[symbol] = source end
        if kind == "U" then wants[#wants + 1] = { source, symbol } end
      end
    end
  end
  local uses = {}
  for _, want in ipairs(wants) do
    local from, to = want[1], owner[want[2]]
    uses[from] = uses[from] or {}
    if to and to ~= from then uses[from][to] = want[2] end
  end
  return uses
end

---The same, between folders.
---@param uses Uses
---@return Uses
function calls.by_folder(uses)
  local folders = {}
  for from, targets in pairs(uses) do
    local folder = from:match("^(.*)/")
    folders[folder] = folders[folder] or {}
    for to in pairs(targets) do
      local other = to:match("^(.*)/")
      if other ~= folder then folders[folder][other] = ("%s -> %s"):format(from, to) end
    end
  end
  return folders
end

---Those between files of the same folder alone.
---@param uses Uses
---@return Uses
function calls.inside_folders(uses)
  local inside = {}
  for from, targets in pairs(uses) do
    inside[from] = {}
    for to, symbol in pairs(targets) do
      if from:match("^(.*)/") == to:match("^(.*)/") then inside[from][to] = symbol end
    end
  end
  return inside
end

---Sets of nodes that all reach one another, each sorted, as text (Tarjan's algorithm).
---@param uses Uses
---@return string[]
function calls.circles(uses)
  local index, low, stack, on_stack, count, found = {}, {}, {}, {}, 0, {}
  local function visit(node)
    count = count + 1
    index[node], low[node] = count, count
    stack[#stack + 1], on_stack[node] = node, true
    for to in pairs(uses[node] or {}) do
      if not index[to] then
        visit(to)
        low[node] = math.min(low[node], low[to])
      elseif on_stack[to] then
        low[node] = math.min(low[node], index[to])
      end
    end
    if low[node] ~= index[node] then return end
    local members = {}
    repeat
      local member = table.remove(stack)
      on_stack[member] = nil
      members[#members + 1] = member
    until member == node
    table.sort(members)
    if #members > 1 then found[#found + 1] = table.concat(members, " ") end
  end
  local nodes = {}
  for node in pairs(uses) do nodes[#nodes + 1] = node end
  table.sort(nodes)
  for _, node in ipairs(nodes) do
    if not index[node] then visit(node) end
  end
  table.sort(found)
  return found
end

return calls
