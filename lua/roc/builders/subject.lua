-- The user's function as the subject of generated kernels, and what it gives for given types.
--
-- A generated kernel is text around the global `f`, which its environment binds to the user's
-- function.  Types come from the compiler, which is asked about a probe that calls `f`; the answer
-- holds for the kinds of the arguments and of the values that `f` captures.
local core = require "roc.core"
local capture = require "roc.capture"
local intrinsics = require "roc.intrinsics"
local kernel = require "roc.kernel"
local marks = require "roc.builders.marks"
local source = require "roc.source"
local support = require "roc.builders.support"

support.library()

local M = {}

-- Learns what the function captures: cells, where numbers, booleans and device arrays are found
-- again, and watches, which hold functions, dtypes, tables and host arrays.
local function describe(subject)
  subject.cells, subject.watches, subject.types = {}, {}, {}
  subject.plans, subject.plan_count = {}, 0 -- of a builder, which depend on the types
  if subject.is_builtin then
    return
  end
  local program = capture.collect(subject.f, subject.name)
  subject.watches = program.watches
  for _, entry in ipairs(program.functions) do
    for _, binding in ipairs(entry.bindings) do
      if binding.kind == "cell" then
        subject.cells[#subject.cells + 1] = binding
      end
    end
  end
end

-- What a cell or watch holds now.
local function captured(place)
  local _, value = debug.getupvalue(place.fn, place.upvalue)
  for i, key in ipairs(place.keys) do
    if type(value) ~= "table" then
      return nil
    elseif i == 1 and place.is_global then
      value = value[key] -- an environment may inherit the globals
    else
      value = rawget(value, key)
    end
  end
  return value
end

local function kind_of_array(array)
  return string.format("%s[%d]", array.dtype.name, array.ndim)
end

-- What decides the type of a cell's value; nil for what no cell holds.
local function kind_of_cell(cell)
  local value = captured(cell)
  if support.type_name(value) == "roc.DeviceArray" then
    local is_open, kind = pcall(kind_of_array, value)
    return is_open and kind or "closed" -- of which the compiler tells
  end
  return value == nil and "nil" or support.kind_of_scalar(value)
end

-- The kinds of all cells; nil when a captured value became another kind of thing, or a watched one
-- another.
local function kinds_of_cells(subject)
  local watches = subject.watches
  for i = 1, #watches do
    if not rawequal(captured(watches[i]), watches[i].value) then
      return nil
    end
  end
  if #subject.cells == 0 then
    return ""
  end
  local kinds = {}
  for i, cell in ipairs(subject.cells) do
    kinds[i] = kind_of_cell(cell)
    if not kinds[i] then
      return nil
    end
  end
  return table.concat(kinds, " ")
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
  local subject = setmetatable({ f = f, kernels = {}, kernels_of = {}, launches = {},
    marks_of = marks.new() }, Subject)
  local path = capture.builtin_path(f)
  if path then
    subject.name, subject.is_builtin = path, true
  else
    local text, chunkname, index, lead = source.find(f, "the function")
    local info = debug.getinfo(f, "S")
    subject.name = capture.name_of(text, chunkname, index, lead)
      or string.format("%s:%d", info.short_src, info.linedefined)
    subject.nparams = #capture.params_of(text, chunkname, index, lead)
  end
  describe(subject)
  subject.name = options.name or subject.name
  subject.options = {
    name = string.format("%s(%s)", builder, subject.name),
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

local function make_kernel(subject, text, names)
  local env = { roc = intrinsics, math = math, f = subject.f, dtype = names.dtype,
    tile_dtype = names.tile_dtype }
  local options = { env = env, workgroup = names.workgroup }
  for name, value in pairs(subject.options) do
    options[name] = value
  end
  local made = kernel.kernel(text, options, true)
  core.order_launches(made) -- calls that name no stream come after the work that they conflict with
  return made
end

---The kernel of a text; made once.
---@param text string
---@param dtype? roc.DType what the name `dtype` is in the text
---@return roc.Kernel
function Subject:kernel(text, dtype)
  local key = dtype and text .. dtype.name or text
  local made = self.kernels[key]
  if not made then
    made = make_kernel(self, text, { dtype = dtype })
    self.kernels[key] = made
  end
  return made
end

---The kernel of the text that `make` gives, made once for each key and dtype: for texts that take
---longer to make than a launch.
---@param key string
---@param names {dtype: roc.DType, workgroup: integer} the workgroup, and what names are in the text
---@param make fun(names: table, ...): string
function Subject:kernel_of(key, names, make, ...)
  local by_key = self.kernels_of[names.dtype]
  if not by_key then
    by_key = {}
    self.kernels_of[names.dtype] = by_key
  end
  local made = by_key[key]
  if not made then
    made = make_kernel(self, make(names, ...), names)
    by_key[key] = made
  end
  return made
end

local MOST_PLANS = 256 -- of a function

---Keeps what was found out for calls of one kind, until the function captures something else.
---@param key any
---@param plan table which gets the field `captures`
---@return table plan
function Subject:keep(key, plan)
  plan.captures = self:captures()
  if self.plan_count >= MOST_PLANS then
    self.plans, self.plan_count = {}, 0
  end
  self.plans[key], self.plan_count = plan, self.plan_count + 1
  return plan
end

---What is kept for calls of that kind.
---@return table? plan
function Subject:plan(key)
  local plan = self.plans[key]
  return plan and plan.captures and plan.captures == self:captures() and plan or nil
end

---A launch of that kernel in so many workgroups, kept where it names no stream: to make one takes
---longer than to run it.
---@param groups integer
---@param stream? roc.Stream
---@return function launch takes the arguments of the kernel
function Subject:launch_of(groups, stream, key, names, make, ...)
  local made = self:kernel_of(key, names, make, ...)
  if stream then
    return made[{ groups, names.workgroup, stream }]
  end
  local kept = self.launches[made]
  if not kept then
    kept = {}
    self.launches[made] = kept
  end
  local launch = kept[groups]
  if not launch then
    launch = made[{ groups, names.workgroup }]
    kept[groups] = launch
  end
  return launch
end

---Marks for a launch of one of the function's kernels, and the launch's number.
function Subject:marks(count, stream) return marks.next(self.marks_of, count, stream) end

---Values for its workgroups, once there are marks for it.
function Subject:values(count, dtype, stream)
  return marks.values(self.marks_of, 1, dtype, count, true, stream)
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
  local text = string.format("function(%s) local %s = f(%s) end", table.concat(params, ", "),
    table.concat(support.names("r", MAX_RESULTS + 1), ", "), table.concat(passed, ", "))
  local options = { env = { f = subject.f }, name = subject.options.name,
    number = subject.options.number }
  local dump = kernel.kernel(text, options, true):inspect_types(table.unpack(samples, 1, #kinds))
  local types = {}
  for found in string.gmatch(dump, "\n  local r%d: ([^;\n]-)%s*[=;]") do
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

---What kinds of values the function captures; nil when the next call has to describe it again.
---@return string?
function Subject:captures()
  return not self.is_refused and kinds_of_cells(self) or nil
end

---The dtypes that hold what the function gives, one a result.
---@param kinds string[] an argument each: the name of an array's dtype, or "integer", "float" or
---"boolean" for a scalar
---@return roc.DType[]
function Subject:results(kinds)
  local cells = kinds_of_cells(self)
  if not cells or self.is_refused then
    describe(self)
    cells = kinds_of_cells(self) or ""
  end
  local key = table.concat(kinds, " ") .. " | " .. cells
  if not self.types[key] then
    self.is_refused = true -- until then: a name may hold another kind of thing at the next call
    self.types[key] = dtypes_of(self, infer(self, kinds))
    self.is_refused = false
  end
  return self.types[key]
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

---What a call that combines elements of a dtype goes by, the dtype of its results first of all.
---@param dtype roc.DType of the elements
---@param workgroup integer
---@return {dtype: roc.DType, workgroup: integer} names for `kernel_of`
function Subject:combining(dtype, workgroup)
  return self:plan(dtype)
    or self:keep(dtype, { dtype = self:combined(dtype), workgroup = workgroup })
end

return M
