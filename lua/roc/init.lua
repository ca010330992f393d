-- The module roc: what `require "roc"` returns.
--
-- Every public name is listed here, once; roc.core is the private C module below. Names are
-- documented in roc/meta.
local core = require "roc.core"
-- Lua's libraries as Lua makes them, whatever a script has changed in its own. The other
-- files are loaded with these globals; this one is loaded by Lua itself in a stock lua5.4.
local _ENV = core.library -- luacheck: ignore 211
local array = require "roc.array"
local arrays = require "roc.arrays.install"
local capture = require "roc.capture"
local intrinsics = require "roc.intrinsics"
local kernel = require "roc.kernel"
local source = require "roc.source"

array.install(core.Array, core.array_methods)
arrays.install()

local roc = {}

-- dtypes
for name, dtype in pairs(core.dtypes) do
  roc[name] = dtype
end

-- host arrays
roc.array = core.array
roc.empty = core.empty
roc.zeros = core.zeros
roc.ones = core.ones
roc.full = core.full
roc.range = core.range
roc.linspace = core.linspace
roc.frombytes = core.frombytes
roc.random = core.random
roc.random_normal = core.random_normal
roc.random_integers = core.random_integers
roc.seed = core.seed
roc.allclose = core.allclose
roc.array_equal = core.array_equal
roc.eval = core.eval
roc.save = core.save
roc.load = core.load

-- device arrays
roc.device_array = core.device_array
roc.device_array_like = core.device_array_like
roc.to_device = core.to_device
roc.memory_info = core.memory_info
roc.trim_memory = core.trim_memory

-- registered, pinned and mirrored host memory
roc.register = core.register
roc.deregister = core.deregister
roc.pinned = core.pinned
roc.pinned_array = core.pinned_array
roc.mapped_array = core.mapped_array
roc.smart_array = core.smart_array

-- devices
roc.devices = core.devices
roc.current_device = core.current_device
roc.select_device = core.select_device
roc.on_device = core.on_device

-- streams and events
roc.stream = core.stream
roc.stream_from = core.stream_from
roc.event = core.event
roc.elapsed = core.elapsed
roc.time = core.time
roc.trace = core.trace

-- kernels
roc.kernel = kernel.kernel
roc.source = source.register
roc.module = core.module
roc.In = core.In
roc.Out = core.Out
roc.InOut = core.InOut

-- builders, which make kernels of Lua functions; loaded at the first call
for _, name in ipairs { "vectorize", "guvectorize", "reduce", "scan" } do
  roc[name] = function(...)
    return require("roc.builders." .. name)(...)
  end
end

roc.tune = function(...)
  return require("roc.tune").tune(...)
end

-- functions of arrays; loaded at the first call
for _, name in ipairs {
  "where", "maximum", "minimum", "clip", "concat", "stack", "einsum", "rng",
} do
  roc[name] = arrays.function_of(name)
end

roc.linalg = { library = core.linalg.library }
for _, name in ipairs {
  "solve", "inverse", "det", "cholesky", "qr", "svd", "eigh", "lstsq", "matmul",
} do
  roc.linalg[name] = arrays.linalg_function_of(name)
end

-- functions of kernels: the compiler's table has the names
for _, path in ipairs(core.kernel_builtins()) do
  local name = string.match(path, "^roc%.([%w_]+)")
  if name then
    roc[name] = intrinsics[name]
  end
end
roc.CLK_LOCAL_MEM_FENCE = intrinsics.CLK_LOCAL_MEM_FENCE
roc.CLK_GLOBAL_MEM_FENCE = intrinsics.CLK_GLOBAL_MEM_FENCE
capture.register_builtins(roc, intrinsics.math_aliases)

-- Reading a name that the module does not have is an error, which suggests a similar name.
-- `rawget(roc, name)`, pcall and pairs test for a name without an error.
local function refuse_unknown(of, path)
  setmetatable(of, { __index = function(_, name)
    if type(name) == "string" then
      error(string.format("%s has no field '%s'%s", path, name,
        core.suggest("roc", name, of, path .. ".")), 2)
    end
  end })
end

for name, value in pairs(roc) do
  if type(value) == "table" then
    refuse_unknown(value, "roc." .. name)
  end
end
refuse_unknown(roc, "roc")
core.name_functions("roc.", roc)

return roc
