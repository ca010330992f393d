-- The public face of roclua: what `require "roc"` returns.
--
-- Every public name is listed here, once; roc.core is the private C module below.  Names are documented in
-- roc/meta/core.lua.
local core = require "roc.core"
local array = require "roc.array"

array.install(core.Array, core.array_methods)

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
roc.save = core.save
roc.load = core.load

return roc
