-- The user's function as the subject of generated kernels, and what it gives for given types.
--
-- A generated kernel is text around the global `f`, which its environment binds to the user's
-- function.  Types come from the compiler, which is asked about a probe that calls `f`; the answer
-- holds for the kinds of the arguments and of the values that `f` captures.
local core = require "roc.core"
local capture = require "roc.capture"
local intrinsics = require "roc.intrinsics"
local kernel = require "roc.kernel"
local source = require "roc.source"
local support = require "roc.builders.support"

support.library()

local M = {}

-- Where the numbers and booleans that the function captures are found again.
local function cells_of(f, name)
  local cells = {}
  for _, entry in ipairs(capture.collect(f, name).functions) do
    for _, binding in ipairs(entry.bindings) do
      if binding.kind == "cell" then
        cells[#cells + 1] = binding
      end
    end
  end
  return cells
end

local function kind_of_cell(cell)
  local _, value = debug.getupvalue(cell.fn, cell.upvalue)
  for i, key in ipairs(cell.keys) do
    if type(value) ~= "table" then
      return "nil"
    elseif i == 1 and cell.is_global then
      value = value[key] -- an environment may inherit the globals
    else
      value = rawget(value, key)
    end
  end
  return math.type(value) or type(value)
end

-- A user's function and what was built of it so far.
local Subject = {}
Subject.__index = Subject

---@param builder string "vectorize"
---@param f any the script's argument
---@param options table kernel options: check, contract, fastmath, number, name
---@return table subject
function M.new(builder, f, options)
  if type(f) ~= "function" then
    support.fail("bad argument #1 to '%s' (function expected, got %s)", builder, type(f))
  end
  local subject = setmetatable({ f = f, kernels = {}, types = {} }, Subject)
  local path = capture.builtin_path(f)
  if path then
    subject.name, subject.cells = path, {}
  else
    local text, chunkname, index = source.find(f, "the function")
    local info = debug.getinfo(f, "S")
    subject.name = capture.name_of(text, chunkname, index)
      or ("%s:%d"):format(info.short_src, info.linedefined)
    subject.nparams = #capture.params_of(text, chunkname, index)
    subject.cells = cells_of(f, subject.name)
  end
  subject.name = options.name or subject.name
  subject.options = {
    name = ("%s(%s)"):format(builder, subject.name),
    check = options.check,
    contract = options.contract,
    fastmath = options.fastmath,
    number = options.number,
  }
  return subject
end

---Refuses a function with another number of parameters.
function Subject:check_parameters(builder, count)
  if self.nparams and self.nparams ~= count then
    support.fail("bad argument #1 to '%s' (function of %d parameters expected, '%s' has %d)",
      builder, count, self.name,
      self.nparams)
  end
end

---The kernel of a text; made once.
---@param text string
---@param dtype? roc.DType what the name `dtype` is in the text
---@return roc.Kernel
function Subject:kernel(text, dtype)
  local key = dtype and text .. dtype.name or text
  local made = self.kernels[key]
  if not made then
    local options = { env = { roc = intrinsics, math = math, f = self.f, dtype = dtype } }
    for name, value in pairs(self.options) do
      options[name] = value
    end
    made = kernel.kernel(text, options)
    self.kernels[key] = made
  end
  return made
end

local MAX_RESULTS = 8

local SAMPLES = { integer = 0, float = 0.5, boolean = false }

-- The types of the first results, as the compiler names them.
local function infer(subject, kinds)
  local params, passed, samples = support.names("a", #kinds), {}, {}
  for i, kind in ipairs(kinds) do
    local is_scalar = SAMPLES[kind] ~= nil
    samples[i] = is_scalar and SAMPLES[kind]
    if not is_scalar then
      samples[i] = core.empty(1, kind)
    end
    passed[i] = is_scalar and params[i] or params[i] .. "[1]"
  end
  local text = ("function(%s) local %s = f(%s) end"):format(table.concat(params, ", "),
    table.concat(support.names("r", MAX_RESULTS + 1), ", "), table.concat(passed, ", "))
  local options = { env = { f = subject.f }, name = subject.options.name,
    number = subject.options.number }
  local dump = kernel.kernel(text, options):inspect_types(table.unpack(samples, 1, #kinds))
  local types = {}
  for found in dump:gmatch("\n  local r%d: ([^;\n]-)%s*[=;]") do
    if found == "no value" then
      break
    end
    types[#types + 1] = found
  end
  return types
end

local function dtypes_of(subject, types)
  local plain = subject.options.number == "float32" and "float32" or "float64"
  local known = { boolean = "bool", integer = "int64", float32 = "float32", float64 = "float64",
    float = plain }
  if #types == 0 then
    support.fail("'%s' gives no value; it must return one", subject.name)
  elseif #types > MAX_RESULTS then
    support.fail("'%s' gives more than %d values", subject.name, MAX_RESULTS)
  end
  local dtypes = {}
  for i, name in ipairs(types) do
    if not known[name] then
      support.fail("result %d of '%s' is %s; numbers and booleans can be results", i, subject.name,
        name)
    end
    dtypes[i] = core.dtypes[known[name]]
  end
  return dtypes
end

---The dtypes that hold what the function gives, one a result.
---@param kinds string[] an argument each: the name of an array's dtype, or "integer", "float" or
---"boolean" for a scalar
---@return roc.DType[]
function Subject:results(kinds)
  local parts = { table.unpack(kinds) }
  for _, cell in ipairs(self.cells) do
    parts[#parts + 1] = kind_of_cell(cell)
  end
  local key = table.concat(parts, " ")
  local known = self.types[key]
  if not known then
    known = dtypes_of(self, infer(self, kinds))
    self.types[key] = known
  end
  return known
end

---The dtype in which the function combines elements of a dtype: it takes two and gives one of the
---same.
---@param dtype roc.DType of the elements
---@return roc.DType
function Subject:combined(dtype)
  local results = self:results { dtype.name, dtype.name }
  local combined = results[1]
  local is_kept = (combined.kind == "b") == (dtype.kind == "b")
  local again = is_kept and self:results { combined.name, combined.name }
  if #results > 1 then
    support.fail("'%s' gives %d values; it must give one", self.name, #results)
  elseif not is_kept or again[1] ~= combined then
    support.fail("'%s' gives %s for two elements of %s; it must give what it takes", self.name,
      combined.name, dtype.name)
  end
  return combined
end

return M
