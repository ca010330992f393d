-- The operators and methods of arrays: what each metatable gets.
--
-- What runs them is loaded at the first use, so that a script without array expressions does not
-- pay for them.
local core = require "roc.core"

local M = {}

local OPERATORS = { __add = "add", __sub = "sub", __mul = "mul", __div = "div", __idiv = "idiv",
  __mod = "mod", __pow = "pow", __unm = "unm", __band = "band", __bor = "bor", __bxor = "bxor",
  __shl = "shl", __shr = "shr", __bnot = "bnot" }
local OF_ONE = { unm = true, bnot = true }

local COMPARISONS = { "lt", "le", "gt", "ge", "eq", "ne" }

-- Those that core serves itself for a host array in memory.
local REDUCTIONS = { "sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "count",
  "mean", "var", "std", "norm", "dot" }
local SORTINGS = { "sort", "argsort", "topk" }

local METHODS = { "cumsum", "cumprod", "diff", "unique", "searchsorted", "bincount",
  "histogram", "nonzero", "tile", "roll", "flip", "pad" }

local ORDER = { __lt = { "<", "a:lt(b)", "a:gt(b)" }, __le = { "<=", "a:le(b)", "a:ge(b)" } }

local public -- the module roc.arrays.public, once it is loaded

-- This file is the library's then: errors and faults point at the script's line.
local function load_public()
  require("roc.builders.support").library()
  return require "roc.arrays.public"
end

-- An operation of arrays; what core does not serve itself, the errors among it, is Lua's.
local function operation(name, is_method)
  local plain
  plain = core.elementwise(name,
    { operands = OF_ONE[name] and 1 or 2, square = name == "pow", method = is_method },
    function(a, b)
      if not public then
        public = load_public()
        return plain(a, b) -- by the rules, which are there now
      end
      return public[is_method and "compare" or "general"](name, a, b)
    end)
  return plain
end

local function method(name)
  return function(...)
    public = public or load_public()
    return public[name](...)
  end
end

---The public function of a name.
---@param name string
---@return function
M.function_of = method

---The public function of roc.linalg of a name.
---@param name string
---@return function
function M.linalg_function_of(name)
  return function(...)
    public = public or load_public()
    return public.linalg[name](...)
  end
end

local function refuse_order(signs)
  return function()
    error(string.format("'%s' gives one boolean; compare arrays element by element with %s or %s",
      signs[1], signs[2], signs[3]), 2)
  end
end

-- Lua asks it of two objects that are not one: `==` is identity.
local function compare_identity()
  warn("'==' of two arrays is false unless they are one object; "
    .. "compare element by element with a:eq(b)")
  return false
end

---Adds operators and methods to the classes of arrays.
function M.install()
  local shared = {}
  for event, name in pairs(OPERATORS) do shared[event] = operation(name) end
  for event, signs in pairs(ORDER) do shared[event] = refuse_order(signs) end
  shared.__eq = compare_identity
  shared.math = method "math" -- called with the name of a function of roc.math
  shared.select, shared.assign = method "select", method "assign" -- called for a[…]
  for _, class in ipairs { "Array", "DeviceArray", "SmartArray" } do
    for event, f in pairs(shared) do core[class][event] = f end
  end
  local methods = {}
  for _, name in ipairs(METHODS) do methods[name] = method(name) end
  for _, name in ipairs(REDUCTIONS) do methods[name] = core.reduction(name, method(name)) end
  for _, name in ipairs(SORTINGS) do methods[name] = core.sorting(name, method(name)) end
  methods.matmul = core.matrix_product(method "matmul")
  for _, name in ipairs(COMPARISONS) do methods[name] = operation(name, true) end
  for name, f in pairs(methods) do
    core.array_methods[name], core.device_array_methods[name] = f, f
  end
  core.device_array_methods.astype = method "astype" -- that of host arrays is in C
end

return M
