-- NVIDIA's assembler, where CUDA's toolkit is installed: on the PATH or in its usual place.
local M = {}

local function output_of(command)
  local pipe <close> = assert(io.popen(command .. " 2>&1"))
  return pipe:read("a")
end

local function find()
  for _, name in ipairs { "ptxas", "/usr/local/cuda/bin/ptxas" } do
    if os.execute(name .. " --version >/dev/null 2>&1") then return name end
  end
end

---Its command; nil: there is none.
M.program = find()

local known = M.program and output_of(M.program .. " --help") or ""

---Whether it is there and assembles for the GPU ("sm_90").
function M.has(target) return known:find("'" .. target .. "'", 1, true) ~= nil end

---Assembles the text, and raises what ptxas says against it. Returns what it says with -v.
function M.assemble(text, target)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local command = ("%s -v -arch=%s -o /dev/null %s 2>&1"):format(M.program, target, path)
  local pipe = assert(io.popen(command))
  local said = pipe:read("a")
  local ok = pipe:close()
  os.remove(path)
  if not ok then error("ptxas: " .. said, 2) end
  return said
end

return M
