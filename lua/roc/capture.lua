-- The values of a kernel's free names: visits the functions that a kernel reaches and describes
-- each name's value.
--
-- The result is a plain table that roc.core turns into a program for the compiler. Numbers,
-- booleans, nils and device arrays become cells: they are read again, raw, at each launch. All
-- other values are watched: when a name holds another function, table, dtype or host array at a
-- launch, the kernel is described again.
local core = require "roc.core"
local source = require "roc.source"

local M = {}

-- function value -> index of the builtin, and the names that are builtins whatever their value: a
-- script that replaces the global `print` to catch output gets the kernel's lines too.
local known = {}
local by_name = {}
-- The tables that hold builtins and dtypes -> their own names, such as "roc", "roc.atomic", "math":
-- their fields are assumed to be constant, so that at most the path to the table is watched.
local homes = {}
local const_array_id
local takes_shape = {} -- numbers of the builtins that take a constant shape
-- Functions of the module, and those it builds, that kernels cannot call.
local of_host = setmetatable({}, { __mode = "k" })

local ALWAYS = { print = true, assert = true, error = true }

-- The value at a path from Lua's own globals, where `roc` is the module; without metamethods.
local function value_at(path, roc)
  local value
  for name, at in string.gmatch(path, "([^.]+)()") do
    if value == nil then
      value = name == "roc" and roc or rawget(_ENV, name)
    elseif type(value) == "table" then
      homes[value] = string.sub(path, 1, at - #name - 2)
      value = rawget(value, name)
    else
      return nil
    end
  end
  return value
end

-- The value at a path such as "math.random" from the libraries that scripts see, if it is Lua's:
-- the few functions with upvalues are not in the libraries of this file. Their tables are added to
-- the homes.
local function value_seen(path, loaded)
  local library, name = string.match(path, "^(%a+)%.(%w+)$")
  local home = library and library ~= "roc" and loaded[library]
  if type(home) ~= "table" then
    return nil
  end
  homes[home] = library
  local value = rawget(home, name)
  return type(value) == "function" and debug.getinfo(value, "S").what == "C" and value or nil
end

---Learns which functions are builtins, from the compiler's table.
---@param roc table the module
---@param aliases table other functions that stand for builtins, with the paths of those
function M.register_builtins(roc, aliases)
  local loaded = debug.getregistry()._LOADED
  for i, path in ipairs(core.kernel_builtins()) do
    if ALWAYS[path] then
      by_name[path] = i
    elseif path == "roc.const.array" then
      const_array_id = i
    elseif path == "roc.shared.array" or path == "roc.private.array" then
      takes_shape[i] = true
    end
    local own, seen = value_at(path, roc), value_seen(path, loaded)
    local value = own or seen
    if type(value) == "function" then
      known[value] = known[value] or i
    end
    for f, aliased in pairs(aliases) do
      if aliased == path then known[f] = i end
    end
  end
  for _, value in pairs(roc) do
    if type(value) == "function" and not known[value] then
      M.add_host_function(value)
    end
  end
end

---Marks a function as one that kernels cannot call, though it is written in Lua.
---@param f function
function M.add_host_function(f)
  of_host[f] = true
end

---The path of a function that kernels know, such as "math.sqrt"; nil for any other.
---@param f function
---@return string?
function M.builtin_path(f)
  return known[f] and core.kernel_builtins()[known[f]]
end

-- text -> chunk, and the name each chunk was parsed under. The text itself is the key:
-- making a key of it would hash a large file again for each of its functions.
local parsed = setmetatable({}, { __mode = "v" })
local names = setmetatable({}, { __mode = "k" })

-- `lead`: how many bytes were added before the user's text; none by default.
local function parse(text, chunkname, lead)
  local chunk = parsed[text]
  if not chunk or names[chunk] ~= chunkname then
    chunk = core.kernel_chunk(text, chunkname, lead)
    parsed[text], names[chunk] = chunk, chunkname
  end
  return chunk
end

---The name of a function in its source, or nil.
function M.name_of(text, chunkname, index, lead)
  return parse(text, chunkname, lead):name(index)
end

---The names of a function's parameters.
function M.params_of(text, chunkname, index, lead)
  return parse(text, chunkname, lead):params(index)
end

local function class_of(value)
  local kind = type(value)
  if kind == "userdata" then
    local meta = debug.getmetatable(value)
    local name = type(meta) == "table" and rawget(meta, "__name")
    return type(name) == "string" and name or "userdata"
  end
  return kind
end

-- Functions to be described, and those found so far.
local Walk = {}
Walk.__index = Walk

function Walk:function_index(f, name, text, chunkname, index, lead)
  local at = self.index_of[f]
  if at then
    return at
  end
  if not text then
    local found = self.memory[f] or table.pack(source.find(f, string.format("function '%s'", name)))
    self.memory[f] = found
    text, chunkname, index, lead = table.unpack(found, 1, 4)
  end
  at = #self.functions + 1
  self.functions[at] = { fn = f, name = name, chunk = parse(text, chunkname, lead), index = index,
    bindings = {} }
  self.index_of[f] = at
  return at
end

-- The value of a free name of `f`, and how to read it again: the upvalue's number and the keys
-- after it.
local function root_of(f, path)
  local wanted = path.is_global and "_ENV" or path.root
  for i = 1, 255 do
    local name, value = debug.getupvalue(f, i)
    if not name then
      break
    elseif name == wanted then
      if not path.is_global then
        return value, i, {}
      end
      -- The environment may inherit the globals; its own fields are read raw.
      return type(value) == "table" and value[path.root] or nil, i, { path.root }
    end
  end
  return nil
end

local MAX_RANK = 8 -- of arrays; a table that contains itself has infinitely many

local function is_rectangular(t, rank)
  local first = t[1]
  if rank > MAX_RANK then
    return false
  elseif first == nil then
    return next(t) == nil -- an extent of 0
  elseif type(first) == "table" then
    for _, row in ipairs(t) do
      if type(row) ~= "table" or #row ~= #first or not is_rectangular(row, rank + 1) then
        return false
      end
    end
    return true
  end
  for _, v in ipairs(t) do
    if type(v) ~= "number" and type(v) ~= "boolean" then
      return false
    end
  end
  return true
end

-- Whether a table has a float, and an integer that float64 cannot represent.
local function survey(t)
  local has_float, has_long = false, false
  for _, v in ipairs(t) do
    local is_float, is_long = math.type(v) == "float", false
    if type(v) == "table" then
      is_float, is_long = survey(v)
    elseif math.type(v) == "integer" then
      is_long = math.tointeger(v + 0.0) ~= v
    end
    has_float, has_long = has_float or is_float, has_long or is_long
  end
  return has_float, has_long
end

-- A table given to roc.const.array inside the kernel: its values as they are, of which the compiler
-- makes the array of the call's dtype.
local function constant_table(t)
  if not is_rectangular(t, 1) then
    return nil
  end
  local ok, array = pcall(core.array, t)
  if ok and array.dtype.name ~= "bool" then
    local has_float, has_long = survey(t)
    local is_integral, integers = pcall(core.array, t, "int64")
    array = (not has_float or has_long) and is_integral and integers or array
  end
  return ok and array or nil
end

local DESCRIBE = {
  number = "cell", boolean = "cell", ["nil"] = "cell",
  ["roc.DeviceArray"] = "cell", ["roc.DType"] = "dtype", ["roc.Array"] = "array",
  table = "namespace",
}

-- A string may name a dtype; longer strings do not.
local MAX_NAME = 64

-- Kinds of bindings that a launch compares; cells are read, and a value that kernels cannot use
-- makes the kernel be described again in any case.
local WATCHED = { builtin = true, ["function"] = true, dtype = true, array = true,
  namespace = true, string = true }

-- The name as in the source, with its first `nfields` fields.
local function path_text(path, nfields)
  local text = path.root
  for i = 1, nfields do
    local key = path[i]
    text = text .. (type(key) == "string" and "." .. key or string.format("[%d]", key))
  end
  return text
end

function Walk:copy_of(value, copy)
  local kept = self.memory[value] or copy(value)
  self.memory[value] = kept
  return kept
end

-- Makes each launch compare the upvalue's value, or the one that the keys lead to, with `value`.
function Walk:watch(f, upvalue, keys, value, is_global)
  local names = { tostring(debug.upvalueid(f, upvalue)) }
  for i, key in ipairs(keys) do
    names[i + 1] = string.format("%q", key)
  end
  local name = table.concat(names, " ")
  if not self.is_watched[name] then
    self.is_watched[name] = true
    self.watches[#self.watches + 1] = { fn = f, upvalue = upvalue, keys = keys, value = value,
      is_global = is_global }
  end
end

function Walk:describe(f, path)
  local value, upvalue, keys = root_of(f, path)
  if path.is_global and #path == 0 and by_name[path.root] then
    return { kind = "builtin", consumed = 0, value = by_name[path.root] }
  end
  local consumed, nheld, held = 0, 0, value
  while type(value) == "table" and consumed < #path do
    local is_home = homes[value]
    consumed = consumed + 1
    value = rawget(value, path[consumed])
    keys[#keys + 1] = path[consumed]
    if not is_home then
      nheld, held = consumed, value
    end
  end
  local binding = { consumed = consumed, value = value }
  if known[value] then
    binding.kind, binding.value = "builtin", known[value]
  elseif of_host[value] then
    binding.kind, binding.value = "other", "function of the host"
  elseif type(value) == "function" and debug.getinfo(value, "S").what ~= "C" then
    local name = path_text(path, #path)
    binding.kind, binding.value = "function", self:function_index(value, name)
  else
    local class = class_of(value)
    binding.kind = DESCRIBE[class] or "other"
    if class == "string" and #value <= MAX_NAME and not string.find(value, "\0", 1, true) then
      binding.kind = "string"
    end
    if binding.kind == "cell" and upvalue then
      binding.fn, binding.upvalue, binding.keys = f, upvalue, keys
      binding.is_global = path.is_global
    elseif binding.kind == "cell" then
      binding.kind = "nil"
    elseif binding.kind == "array" then
      binding.value = self:copy_of(value, value.copy)
    elseif binding.kind == "other" then
      binding.value = type(value) == "userdata" and string.format("userdata '%s'", class) or class
    end
  end
  if upvalue and WATCHED[binding.kind] and homes[held] ~= path_text(path, nheld) then
    local nkeys = #keys - consumed + nheld
    self:watch(f, upvalue, table.move(keys, 1, nkeys, 1, {}), held, path.is_global)
  end
  return binding
end

-- The extents of a list of integers, if the table is one: captured numbers, read again at each
-- launch, with those after the last, which are nil now.
local function add_extents(binding, f, upvalue, keys, is_global)
  local t = binding.value
  if math.type(rawget(t, 1)) ~= "integer" then
    return
  end
  binding.extents = {}
  for i = 1, MAX_RANK + 1 do
    local value = rawget(t, i)
    if value ~= nil and math.type(value) ~= "integer" then
      binding.extents = nil
      return
    end
    local path = table.move(keys, 1, #keys, 1, {})
    path[#path + 1] = i
    binding.extents[i] = { kind = "cell", value = value, fn = f, upvalue = upvalue, keys = path,
      is_global = is_global }
  end
end

local function has_upvalue(f, wanted)
  local i, name = 1, debug.getupvalue(f, 1)
  while name and name ~= wanted do
    i = i + 1
    name = debug.getupvalue(f, i)
  end
  return name ~= nil
end

-- The free names of a function. What its text says is global is an upvalue where it is a local of
-- an earlier chunk of the prompt.
local function paths_of(entry)
  local paths = entry.chunk:paths(entry.index)
  for _, path in ipairs(paths) do
    path.is_global = path.is_global and not has_upvalue(entry.fn, path.root)
  end
  return paths
end

local function describe_function(walk, entry)
  local takes_tables, takes_shapes, paths = false, false, paths_of(entry)
  for i, path in ipairs(paths) do
    local binding = walk:describe(entry.fn, path)
    entry.bindings[i] = binding
    local id = binding.kind == "builtin" and binding.value
    takes_tables = takes_tables or id == const_array_id
    takes_shapes = takes_shapes or takes_shape[id]
  end
  for i, binding in ipairs(takes_shapes and entry.bindings or {}) do
    if binding.kind == "namespace" and #paths[i] == binding.consumed then
      local _, upvalue, keys = root_of(entry.fn, paths[i])
      table.move(paths[i], 1, #paths[i], #keys + 1, keys)
      add_extents(binding, entry.fn, upvalue, keys, paths[i].is_global)
    end
  end
  for _, binding in ipairs(takes_tables and entry.bindings or {}) do
    local array = binding.kind == "namespace" and walk:copy_of(binding.value, constant_table)
    if array then
      binding.extents = nil
      binding.kind, binding.value, binding.is_table = "array", array, true
    end
  end
end

---What is kept from the first description of a kernel for all later ones: the sources of functions,
---and the copies of arrays and tables.
function M.memory()
  return setmetatable({}, { __mode = "k" })
end

---Describes a kernel's function and all it reaches.
---@param f function
---@param name string of the kernel
---@param memory? table M.memory() of a kernel that may be described again
---@param text? string the source, if known
---@param chunkname? string
---@param index? integer
---@param lead? integer bytes added before the user's text
---@return table program {functions = {{fn, name, chunk, index, bindings}, …}, watches = {{fn,
---  upvalue, keys, value, is_global}, …}}, the kernel's own function first
function M.collect(f, name, memory, text, chunkname, index, lead)
  local walk = setmetatable({ functions = {}, index_of = {}, watches = {}, is_watched = {},
    memory = memory or M.memory() }, Walk)
  walk:function_index(f, name, text, chunkname, index, lead)
  local done = 0
  while done < #walk.functions do
    done = done + 1
    describe_function(walk, walk.functions[done])
  end
  return { functions = walk.functions, watches = walk.watches }
end

return M
