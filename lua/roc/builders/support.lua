-- What roc.vectorize, roc.guvectorize, roc.reduce and roc.scan share: errors that name the caller's
-- line, and the arguments, options and arrays of a call.
--
-- The files of this folder are the library's: each calls library(), so that faults and errors point
-- at the script's line that called the built function.
local core = require "roc.core"
local capture = require "roc.capture"

local M = {}

-- errors ------------------------------------------------------------------------------------------

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
  error(string.format(message, ...), 0)
end

-- The first function on the stack that is the script's, as `error` counts levels for a function
-- that calls this one; 0 where there is none: a coroutine may run nothing but the library.
local function script_level()
  local level = 3
  local info = debug.getinfo(level, "S")
  while info and (own[info.short_src] or info.what == "C") do
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  return info and level - 1 or 0
end

-- The error again: one that has no place, or a place in the library, gets that of the script.
local function raise(why)
  local meta = type(why) == "table" and debug.getmetatable(why)
  local is_error = meta and meta.__name == "roc.Error"
  local text = is_error and why.message or why
  local file, rest
  if type(text) == "string" then
    file, rest = string.match(text, "^([^\n]-):%d+: (.*)$")
  end
  if type(text) ~= "string" or (file and not own[file]) or (is_error and not file) then
    error(why, 0)
  end
  local level = script_level()
  if is_error then
    local info = level > 0 and debug.getinfo(level, "Sl")
    local place = info and string.format("%s:%d: ", info.short_src, info.currentline)
    why.message = (place or "") .. rest
    error(why, 0)
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

---A function that was built, for the script: none that a kernel calls.
---@param f function
---@return function
function M.built(f)
  capture.add_host_function(f)
  return f
end

---"a1", "a2", …
function M.names(letter, count)
  local list = {}
  for i = 1, count do
    list[i] = letter .. i
  end
  return list
end

-- arguments ---------------------------------------------------------------------------------------

---What a message calls the value.
function M.type_name(value)
  local meta = type(value) == "userdata" and debug.getmetatable(value)
  return meta and type(meta.__name) == "string" and meta.__name or type(value)
end

---Whether the value is a stream, or a scope of one.
function M.is_stream(value)
  local name = M.type_name(value)
  return name == "roc.Stream" or name == "roc.StreamScope"
end

-- By metatable, which is found more quickly than a name in it.
local PLAIN, SIDES = debug.getregistry()["roc.Array"], {}
for name, side in pairs { ["roc.Array"] = "host", ["roc.SmartArray"] = "host",
  ["roc.DeviceArray"] = "device" } do
  SIDES[debug.getregistry()[name]] = side
end

---"host", "device", or nil when the value is no array.
function M.side_of(value)
  return type(value) == "userdata" and SIDES[debug.getmetatable(value)] or nil
end

-- Whether the value is an array of the host that no device mirrors.
local function is_plain(value)
  return type(value) == "userdata" and debug.getmetatable(value) == PLAIN
end

---The value in front of a reduction or scan, as elements of the dtype are in Lua; nil when there is
---none.
---@param dtype roc.DType
---@return number | boolean | nil
function M.check_init(init, dtype)
  if init == nil then
    return nil
  elseif type(init) ~= (dtype.kind == "b" and "boolean" or "number") then
    M.fail("bad option 'init' (%s expected for results of %s, got %s)",
      dtype.kind == "b" and "boolean" or "number", dtype.name,
      M.type_name(init))
  elseif dtype.kind == "i" and not math.tointeger(init) then
    M.fail("bad option 'init' (%s has no integer representation, and the results are %s)", init,
      dtype.name)
  end
  return dtype.kind == "i" and math.tointeger(init) or dtype.kind == "f" and init + 0.0 or init
end

---What a message adds where a table stands in place of an array.
function M.table_advice(value)
  return type(value) == "table" and "; make an array of it: roc.array(t)" or ""
end

---"integer", "float", "boolean", or nil when the value is none.
function M.kind_of_scalar(value)
  return math.type(value) or (type(value) == "boolean" and "boolean") or nil
end

---The array a value is, or nil, and its kind: the name of an array's dtype, or "integer", "float",
---"boolean".
---@param what string for messages: "argument #1 to 'f'"
function M.check_argument(value, what)
  if M.side_of(value) then
    return value, value.dtype.name
  end
  local kind = M.kind_of_scalar(value)
  if not kind then
    M.fail("bad %s (array, number or boolean expected, got %s%s)", what, M.type_name(value),
      M.table_advice(value))
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
    M.fail("bad %s (a dtype expected, got %s%s)", what,
      type(value) == "string" and string.format("%q", value) or M.type_name(value),
      type(value) == "string" and core.suggest("dtype", value, core.dtypes) or "")
  end
  return dtype
end

local function bad_option(name, expected, value)
  M.fail("bad option '%s' (%s expected, got %s)", name, expected,
    type(value) == "string" and string.format("%q", value) or M.type_name(value))
end

local function boolean(value, name)
  if type(value) ~= "boolean" then
    bad_option(name, "boolean", value)
  end
end

-- Values that mean the same in every builder; the others are looked at where they are used.
local OPTIONS = {
  check = boolean, commutative = boolean, contract = boolean, exclusive = boolean,
  fastmath = boolean,
  dtype = function(value)
    for _, dtype in pairs(type(value) == "table" and value or { value }) do
      M.check_dtype(dtype, "option 'dtype'")
    end
  end,
  name = function(value)
    if type(value) ~= "string" or value == "" then
      bad_option("name", "a name", value)
    end
  end,
  number = function(value)
    if value ~= "float32" and value ~= "float64" then
      bad_option("number", "\"float32\" or \"float64\"", value)
    end
  end,
  stream = function(value)
    if not M.is_stream(value) then
      bad_option("stream", "roc.Stream", value)
    end
  end,
}

---Refuses option names that are not known, and values that are none of theirs.
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
  for name, value in pairs(options) do
    if type(name) ~= "string"
      or not string.find(", " .. known .. ", ", ", " .. name .. ", ", 1, true) then
      M.fail("bad %s (unknown option '%s'; known are %s)", where, tostring(name), known)
    elseif OPTIONS[name] then
      OPTIONS[name](value, name)
    end
  end
  return options
end

---The same for the table after the arguments of a call, which may be meant as an argument.
function M.check_call_options(options, known, where)
  if options[1] ~= nil then
    M.fail("bad %s (array, number or boolean expected, got table%s)", where,
      M.table_advice(options))
  end
  return M.check_options(options, known, where)
end

---Whether options name a result and nothing else, and that result.
---@param options any
---@return boolean
---@return any? out
function M.only_out(options)
  if options == nil then
    return true
  elseif type(options) == "table" and next(options) == "out" and next(options, "out") == nil then
    return true, options.out
  end
  return false
end

---Refuses a destination whose elements cannot hold the results: what the compiler would say of the
---generated kernel, in the user's words.
---@param from roc.DType
---@param to roc.DType
---@param what string for messages
function M.check_store(from, to, what)
  if (from.kind == "b") ~= (to.kind == "b") then
    M.fail("bad %s (the result is %s, which an array of %s cannot hold)", what, from.name, to.name)
  elseif from.kind == "f" and to.kind ~= "f" then
    M.fail(
      "bad %s (the result is %s, which an array of %s cannot hold; "
        .. "convert it in the function with math.floor(x) or roc.%s(x))",
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
    M.fail("bad %s (array of shape %s expected, got %s)", what, M.shape_text(shape),
      M.shape_text(own_shape))
  end
end

---A text with its $names replaced by their values, which may name others.
---@param text string
---@param values table<string, string | number>
---@return string
function M.fill_in(text, values)
  local filled = text
  repeat
    text, filled = filled, string.gsub(filled, "%$([%a_]+)", values)
  until filled == text
  return text
end

---A text `count` times, a line each, in which # is the number of the time.
---@param text string
---@param count integer
---@return string
function M.repeated(text, count)
  local parts = {}
  for k = 1, count do parts[k] = string.gsub(text, "#", tostring(k)) end
  return table.concat(parts, "\n")
end

---What a message calls a device: its name, with kind and number where there are several of the
---kind, which may have one name.
---@param device roc.Device
---@return string
function M.label(device)
  return string.match(tostring(device), ": (.*)$")
end

---The device a call runs on, and whether its results stay there: the stream's, else that of the
---device arrays; nil, false for host arrays alone.
---@param arrays table arrays by position, gaps allowed up to n
---@param n integer
---@param stream? roc.Stream
function M.device_of(arrays, n, stream)
  local device = stream and M.is_stream(stream) and stream.device or nil
  local other = device and "the stream" or "another"
  local is_device = false
  for i = 1, n do
    if M.side_of(arrays[i]) == "device" then
      is_device = true
      local own_device = arrays[i].device
      device = device or own_device
      if own_device ~= device then
        M.fail("an array is on device '%s', %s on '%s'; copy it there with roc.to_device",
          M.label(own_device), other, M.label(device))
      end
    end
  end
  return device, is_device
end

---Makes the device current until the value is closed; nil where it is.
function M.scope(device)
  return device and device ~= core.current_device() and core.on_device(device) or nil
end

---Whether the current device is a GPU.
---@return boolean
function M.is_gpu()
  local kind = core.current_device().kind
  return kind ~= "cpu" and kind ~= "sim"
end

---A new array for results, on the current device or the host.
function M.new_array(is_device, shape, dtype, order)
  return (is_device and core.device_array or core.empty)(shape, dtype, order)
end

---A copy of an array on its own side.
function M.copy_of(array)
  return M.side_of(array) == "host" and array:copy() or core.to_device(array)
end

---An argument of a launch that is only read.
function M.input(value)
  return is_plain(value) and core.In(value) or value
end

---One that is written; as a whole, when it is new.
function M.output(array, is_new)
  return is_plain(array) and (is_new and core.New or core.InOut)(array) or array
end

return M
