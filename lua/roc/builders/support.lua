-- What roc.vectorize, roc.guvectorize, roc.reduce and roc.scan share: the user's function as a subject of generated kernels,
-- what it gives for given types, the arguments and options of a call, and errors that name the caller's line.
--
-- A generated kernel is text around the global `f`, which its environment binds to the user's function.  The files of this folder are
-- the library's: each calls library(), so that faults and errors point at the script's line that called the built function.
local core = require "roc.core"
local capture = require "roc.capture"
local intrinsics = require "roc.intrinsics"
local kernel = require "roc.kernel"
local source = require "roc.source"

local M = {}

-- errors -------------------------------------------------------------------------------------------------

local own = {} -- chunk names of the library's files, as messages show them

---Makes the calling file one of the library's.
function M.library()
  local file = debug.getinfo(2, "S").short_src
  own[file] = true
  core.hide_launches(file)
end

M.library()

---Raises an error that gets its place from the function of `public` that runs.
function M.fail(message, ...)
  error(message:format(...), 0)
end

-- The error again: one that has no place, or a place in the library, gets that of the script.
local function raise(why)
  local file, rest
  if type(why) == "string" then
    file, rest = why:match("^([^\n]-):%d+: (.*)$")
  end
  if type(why) ~= "string" or (file and not own[file]) then
    error(why, 0)
  end
  local level = 2
  while own[debug.getinfo(level, "S").short_src] do
    level = level + 1
  end
  error(rest or why, level)
end

local function finish(is_fine, ...)
  if not is_fine then
    raise((...))
  end
  return ...
end

---A function for the script: what `run` does, with errors at the script's line.
---@param run function
---@return function
function M.public(run)
  return function(...)
    return finish(pcall(run, ...))
  end
end

-- the user's function --------------------------------------------------------------------------------------

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
function M.subject(builder, f, options)
  if type(f) ~= "function" then
    M.fail("bad argument #1 to '%s' (function expected, got %s)", builder, type(f))
  end
  local subject = setmetatable({ f = f, kernels = {}, types = {} }, Subject)
  local path = capture.builtin_path(f)
  if path then
    subject.name, subject.cells = path, {}
  else
    local text, chunkname, index = source.find(f, "the function")
    local info = debug.getinfo(f, "S")
    subject.name = capture.name_of(text, chunkname, index) or ("%s:%d"):format(info.short_src, info.linedefined)
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

local function names(letter, count)
  local list = {}
  for i = 1, count do
    list[i] = letter .. i
  end
  return list
end
M.names = names

local SAMPLES = { integer = 0, float = 0.5, boolean = false }

-- The types of the first results, as the compiler names them.
local function infer(subject, kinds)
  local params, passed, samples = names("a", #kinds), {}, {}
  for i, kind in ipairs(kinds) do
    local is_scalar = SAMPLES[kind] ~= nil
    samples[i] = is_scalar and SAMPLES[kind]
    if not is_scalar then
      samples[i] = core.empty(1, kind)
    end
    passed[i] = is_scalar and params[i] or params[i] .. "[1]"
  end
  local text = ("function(%s) local %s = f(%s) end"):format(table.concat(params, ", "),
    table.concat(names("r", MAX_RESULTS + 1), ", "), table.concat(passed, ", "))
  local options = { env = { f = subject.f }, name = subject.options.name, number = subject.options.number }
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
  local known = { boolean = "bool", integer = "int64", float32 = "float32", float64 = "float64", float = plain }
  if #types == 0 then
    M.fail("'%s' gives no value; it must return one", subject.name)
  elseif #types > MAX_RESULTS then
    M.fail("'%s' gives more than %d values", subject.name, MAX_RESULTS)
  end
  local dtypes = {}
  for i, name in ipairs(types) do
    if not known[name] then
      M.fail("result %d of '%s' is %s; numbers and booleans can be results", i, subject.name, name)
    end
    dtypes[i] = core.dtypes[known[name]]
  end
  return dtypes
end

---The dtypes that hold what the function gives, one a result.
---@param kinds string[] an argument each: the name of an array's dtype, or "integer", "float", "boolean" for a scalar
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

---The dtype in which the function combines elements of a dtype: it takes two and gives one of the same.
---@param dtype roc.DType of the elements
---@return roc.DType
function Subject:combined(dtype)
  local results = self:results { dtype.name, dtype.name }
  local combined = results[1]
  local again = self:results { combined.name, combined.name }
  if #results > 1 then
    M.fail("'%s' gives %d values; it must give one", self.name, #results)
  elseif again[1] ~= combined then
    M.fail("'%s' gives %s for two elements, but %s for two of its results; it must give what it takes", self.name,
      combined.name, again[1].name)
  end
  return combined
end

-- arguments ------------------------------------------------------------------------------------------------

---"host", "device", or nil when the value is no array.
function M.side_of(value)
  local meta = type(value) == "userdata" and debug.getmetatable(value)
  return meta and (meta == core.DeviceArray and "device" or meta == core.Array and "host") or nil
end

---"integer", "float", "boolean", or nil when the value is none.
function M.kind_of_scalar(value)
  return math.type(value) or (type(value) == "boolean" and "boolean") or nil
end

---What a message calls the value.
function M.type_name(value)
  local meta = type(value) == "userdata" and debug.getmetatable(value)
  return meta and type(meta.__name) == "string" and meta.__name or type(value)
end

---The array a value is, or nil, and its kind: the name of an array's dtype, or "integer", "float", "boolean".
---@param what string for messages: "argument #1 to 'f'"
function M.check_argument(value, what)
  if M.side_of(value) then
    return value, value.dtype.name
  end
  local kind = M.kind_of_scalar(value)
  if not kind then
    M.fail("bad %s (array, number or boolean expected, got %s)", what, M.type_name(value))
  end
  return nil, kind
end

function M.is_empty(shape)
  for _, extent in ipairs(shape) do
    if extent == 0 then
      return true
    end
  end
  return false
end

function M.shape_text(shape)
  return "{" .. table.concat(shape, ", ") .. "}"
end

---The dtype that a script named.
---@param what string for messages: "option 'dtype'"
---@return roc.DType
function M.check_dtype(value, what)
  local dtype = type(value) == "string" and core.dtypes[value]
    or (M.type_name(value) == "roc.DType" and value)
  if not dtype then
    M.fail("bad %s (a dtype expected, got %s)", what, type(value) == "string" and ("%q"):format(value) or M.type_name(value))
  end
  return dtype
end

---Refuses option names that are not known.
---@param options? table
---@param known string sorted names, separated by ", "
---@param where string "argument #2 to 'vectorize'"
---@return table options
function M.check_options(options, known, where)
  if options == nil then
    return {}
  elseif type(options) ~= "table" then
    M.fail("bad %s (table of options expected, got %s)", where, M.type_name(options))
  end
  for name in pairs(options) do
    if type(name) ~= "string" or not (", " .. known .. ", "):find(", " .. name .. ", ", 1, true) then
      M.fail("bad %s (unknown option '%s'; known are %s)", where, tostring(name), known)
    end
  end
  return options
end

---Refuses a destination whose elements cannot hold the results: what the compiler would say of the generated kernel, in the user's words.
---@param from roc.DType
---@param to roc.DType
---@param what string for messages
function M.check_store(from, to, what)
  if (from.kind == "b") ~= (to.kind == "b") then
    M.fail("bad %s (the result is %s, which an array of %s cannot hold)", what, from.name, to.name)
  elseif from.kind == "f" and to.kind ~= "f" then
    M.fail("bad %s (the result is %s, which an array of %s cannot hold; convert it in the function with math.floor(x) or roc.%s(x))",
      what, from.name, to.name, to.name)
  end
end

---Refuses an array that is no destination of this shape.
function M.check_out(out, shape, what)
  if not M.side_of(out) then
    M.fail("bad %s (array expected, got %s)", what, M.type_name(out))
  end
  local own_shape = out.shape
  local is_same = #own_shape == #shape
  for k = 1, #shape do
    is_same = is_same and own_shape[k] == shape[k]
  end
  if not is_same then
    M.fail("bad %s (array of shape %s expected, got %s)", what, M.shape_text(shape), M.shape_text(own_shape))
  end
end

---The device a call runs on, and whether its results stay there: the stream's, else that of the device arrays; nil, false for host
---arrays alone.
---@param arrays table[] arrays by position, gaps allowed up to n
---@param n integer
---@param stream? roc.Stream
function M.device_of(arrays, n, stream)
  local device = stream and M.type_name(stream) == "roc.Stream" and stream.device or nil
  local is_device = false
  for i = 1, n do
    if M.side_of(arrays[i]) == "device" then
      is_device = true
      device = device or arrays[i].device
      if arrays[i].device ~= device then
        M.fail("the arrays are on different devices ('%s' and '%s'); copy them to one", device.name, arrays[i].device.name)
      end
    end
  end
  return device, is_device
end

---Makes the device current until the value is closed.
function M.scope(device)
  return core.on_device(device or core.current_device())
end

---A new array for results, on the current device or the host.
function M.new_array(is_device, shape, dtype, order)
  return (is_device and core.device_array or core.empty)(shape, dtype, order)
end

---A copy of an array on its own side.
function M.copy_of(array)
  return M.side_of(array) == "host" and array:copy() or core.to_device(array)
end

---An argument of a launch that is read only, and one that is written.
function M.input(value)
  return M.side_of(value) == "host" and core.In(value) or value
end
function M.output(array, is_new)
  return M.side_of(array) == "host" and (is_new and core.Out or core.InOut)(array) or array
end

return M
