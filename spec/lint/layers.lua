-- The layers of src/: which of them each may use (docs/architecture.md), and which folders may use
-- the headers of others.
local layers = {}

-- layer -> layers it may use; a layer may always use itself.
layers.ARROWS = {
  base = {},
  ir = { "base" },
  backend = { "ir", "base" },
  frontend = { "ir", "base" },
  codegen = { "backend", "ir", "base" },
  device = { "base" },
  runtime = { "device", "base" },
  jit = { "frontend", "backend", "runtime", "ir", "device", "base" },
  emulator = { "base" },
  bindings = { "jit", "frontend", "backend", "runtime", "ir", "device", "base" },
  embed = { "bindings", "jit", "runtime", "device", "base", "include" },
  cli = { "include" },
  testing = { "embed", "bindings", "jit", "frontend", "backend", "runtime", "ir", "device", "base",
    "include" },
  include = {},
}

-- headers of others -> folders and files that may include them
layers.FENCES = {
  { headers = { "^lua%.h$", "^lauxlib%.h$", "^lualib%.h$" },
    folders = { "bindings", "embed", "cli", "testing" } },
  { headers = { "^llvm", "^lld/", "^clang" }, folders = { "codegen", "emulator/isa/disasm.c" } },
  { headers = { "^hsa" }, folders = { "device/hsa", "emulator" } },
  { headers = { "^elfutils/", "^dwarf%.h$", "^gelf%.h$", "^libelf%.h$" },
    folders = { "emulator" } },
  { headers = { "^cuda", "^nv" }, folders = { "device/cuda" } },
  { headers = { "^minizip/", "^png%.h$" }, folders = { "runtime/file" } },
  { headers = { "^histedit%.h$", "^editline/" }, folders = { "cli" } },
}

---@param layer string
---@param other string
---@return boolean
function layers.may_use(layer, other)
  for _, each in ipairs(layers.ARROWS[layer] or {}) do
    if each == other then return true end
  end
  return layer == other
end

return layers
