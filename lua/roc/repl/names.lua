-- What a name at the prompt stands for: a value, or of what class of roc it is.
local declared = require "roc.repl.declared"

local M = {}

---The prompt's own commands, `:name`, and what each takes.
M.COMMANDS = { time = "chunk", devices = "", types = "kernel", ir = "kernel", asm = "kernel",
  show = "kernel", help = "name" }

---The class of a userdata, such as "roc.Array".
---@param value any
---@return string?
function M.class_of(value)
  local meta = type(value) == "userdata" and debug.getmetatable(value)
  local name = type(meta) == "table" and rawget(meta, "__name")
  return type(name) == "string" and name or nil
end

local function describe(value, path)
  return { value = value, class = M.class_of(value), path = path,
    described = type(value) == "function" and declared.functions(path) or nil }
end

---What a name without anything before it is.
---@param name string
---@param scope table
---@return { value: any, class: string?, path: string, described: table? }?
function M.root(name, scope)
  local value, is_known = scope:value(name)
  if not is_known then
    value = rawget(_G, name)
  end
  return value ~= nil and describe(value, name) or nil
end

-- A field of a class of roc that is not a method.
local function declared_field(class, name)
  local field = class.fields[name]
  local kind = field and string.match(field.type, "^roc%.%w+$")
  return field and { class = kind, path = name }
end

---A field of what a name is, without calling anything of a script.
---@param owner table of M.root
---@param name string
---@return table?
function M.field(owner, name)
  local class = owner.class and declared.class(owner.class)
  local path = owner.path and owner.path .. "." .. name
  if class and class.methods[name] then
    return { path = owner.class .. ":" .. name, described = class.methods[name] }
  elseif class and owner.value ~= nil then
    local ok, value = pcall(function() return owner.value[name] end)
    return ok and describe(value, path) or nil
  elseif class then
    return declared_field(class, name)
  elseif type(owner.value) == "table" then
    local value = rawget(owner.value, name)
    return value ~= nil and describe(value, path) or nil
  elseif type(owner.value) == "string" then
    return describe(rawget(string, name), "string." .. name)
  end
end

---What a function gives, as far as it is declared.
---@param f table of M.root or M.field
---@return table?
function M.result(f)
  local kind = f.described and f.described.returns[1]
  local class = kind and string.match(kind, "^roc%.%w+")
  return class and declared.class(class) and { class = class } or nil
end

-- Names of functions that scripts see, found by their values.
local function add_functions(known, path, t, depth)
  for key, value in next, t do
    if type(key) == "string" and type(value) == "function" then
      known[value] = known[value] or path .. key
    elseif type(key) == "string" and type(value) == "table" and depth > 0 then
      add_functions(known, path .. key .. ".", value, depth - 1)
    end
  end
end

-- The table of methods that a metatable has: its __index, or the first upvalue of that.
local function methods_of(meta)
  local index = type(meta) == "table" and rawget(meta, "__index")
  local methods = type(index) == "function" and select(2, debug.getupvalue(index, 1)) or index
  return type(methods) == "table" and methods or {}
end

local function add_methods(known)
  for class, meta in next, debug.getregistry() do
    for name, f in next, declared.item(class) and methods_of(meta) or {} do
      if declared.item(class .. ":" .. name) then
        known[f] = class .. ":" .. name
      end
    end
  end
end

local LIBRARIES = { "string", "table", "math", "io", "os", "coroutine", "utf8", "debug" }
local known

---The public name of a function of roc or of Lua; of a method it is "roc.Array:fill".
---@param f any
---@return string?
function M.of_function(f)
  if not known then
    known = setmetatable({}, { __mode = "k" })
    add_functions(known, "roc.", require "roc", 1)
    add_methods(known)
    for _, library in ipairs(LIBRARIES) do
      add_functions(known, library .. ".", rawget(_G, library) or {}, 0)
    end
  end
  return known[f]
end

return M
