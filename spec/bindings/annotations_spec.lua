-- What lua/roc/meta declares for editors: every public name, with a text, its parameters and types
-- that are declared themselves; and no name that is not there.
local declared = require "roc.repl.declared"
local files = require "support.files"
local names = require "roc.repl.names"
local roc = require "roc"
local json = require "support.json"

-- Methods for the specs and the library itself.
local PRIVATE = {
  ["roc.Kernel"] = { dump = true, fn = true, params = true, sim_names = true, sim_scalars = true,
    sim_source = true, sim_writes = true },
}
-- Of host arrays alone; the error for a device array says how it is done there.
local HOST_ONLY = { copy = true, tobytes = true, tostring = true, totable = true }
-- Fields that a value of the class has at times.
local OPTIONAL = { ["roc.Error"] = { native = true } }

local function assert_none(complaints)
  table.sort(complaints)
  assert.are.equal("", table.concat(complaints, "\n"))
end

-- A value of each class that scripts get, by the class.
local function samples()
  local a = roc.range(1, 6)
  local stream = roc.stream()
  local kernel = roc.kernel("function(x) x[1] = 1 end", { name = "sample" })
  local list = { a, roc.to_device(a), roc.smart_array(a), stream, stream:auto_synchronize(),
    roc.event(), roc.current_device(), kernel, kernel:forall(1), roc.register(a), roc.float32,
    roc.In(a), roc.trace(), kernel:compile("cpu", "int32[:]"), roc.on_device(1) }
  local _, failure = pcall(roc.zeros, 1 << 45)
  local by_class = { ["roc.Rng"] = roc.rng(1), ["roc.Error"] = failure }
  for _, value in ipairs(list) do by_class[assert(names.class_of(value))] = value end
  return by_class
end

local function methods_of(value)
  local index = debug.getmetatable(value).__index
  if type(index) == "function" then index = select(2, debug.getupvalue(index, 1)) end
  return type(index) == "table" and index or {}
end

-- Calls visit(path, value) for what is in roc and in its tables.
local function walk(path, t, visit)
  for name, value in pairs(t) do
    local full = path .. "." .. tostring(name)
    visit(path, tostring(name), value)
    if type(value) == "table" then walk(full, value, visit) end
  end
end

local function value_at(path)
  local value = { roc = roc }
  for part in path:gmatch "[^.]+" do
    value = type(value) == "table" and rawget(value, part)
  end
  return value
end

-- The blocks of comments of the files, each with the line of code after it.
local function blocks()
  local list = {}
  for _, path in ipairs(files.list("lua/roc/meta", "%.lua$")) do
    local block = { path = path, doc = {}, tags = {} }
    for line in (files.read(path) .. "\n"):gmatch "([^\n]*)\n" do
      local tag, rest = line:match "^%-%-%-@(%l+) *(.*)$"
      if tag then
        table.insert(block.tags, { tag, rest })
      elseif line:find "^%-%-%-" then
        table.insert(block.doc, line:sub(4))
      else
        block.code = line
        list[#list + 1] = block
        block = { path = path, doc = {}, tags = {} }
      end
    end
  end
  return list
end

describe("the annotations for editors", function()
  it("declare every function, table and constant of roc, each function with a text", function()
    local complaints = {}
    walk("roc", roc, function(owner, name, value)
      local path, class = owner .. "." .. name, declared.class(owner)
      local described = declared.functions(path)
      local has_field = class and class.fields[name]
      if type(value) == "function" and not described and not has_field then
        complaints[#complaints + 1] = path .. " is not declared"
      elseif described and not described.doc[1] then
        complaints[#complaints + 1] = path .. " has no text"
      elseif type(value) ~= "function" and type(value) ~= "table" and not has_field
        and not declared.item(path) then
        complaints[#complaints + 1] = path .. " is not declared"
      end
    end)
    assert_none(complaints)
  end)

  it("declare every method, each with a text, and fields that are there", function()
    local complaints = {}
    for name, value in pairs(samples()) do
      local class = assert(declared.class(name), name)
      for method in pairs(methods_of(value)) do
        local described = class.methods[method]
        local is_private = PRIVATE[name] and PRIVATE[name][method]
        if not described and not class.fields[method] and not is_private then
          complaints[#complaints + 1] = name .. ":" .. method .. " is not declared"
        elseif described and not described.doc[1] then
          complaints[#complaints + 1] = name .. ":" .. method .. " has no text"
        end
      end
      for field in pairs(class.fields) do
        local ok = pcall(function() assert(value[field] ~= nil) end)
        local is_optional = OPTIONAL[name] and OPTIONAL[name][field]
          or name == "roc.Rng" and field == "device" or name == "roc.SmartArray"
        if not ok and not is_optional then
          complaints[#complaints + 1] = name .. "." .. field .. " is not there"
        end
      end
      for method in pairs(class.methods) do
        local ok, got = pcall(function() return value[method] end)
        local is_missing = not ok or got == nil
        if is_missing and not (name == "roc.DeviceArray" and HOST_ONLY[method]) then
          complaints[#complaints + 1] = name .. ":" .. method .. " is not there"
        end
      end
    end
    assert_none(complaints)
  end)

  it("declare no function that is not there", function()
    local complaints = {}
    for _, block in ipairs(blocks()) do
      local path = block.code:match "^function (roc[%w_.]*)%("
      if path and not value_at(path) then complaints[#complaints + 1] = path end
    end
    assert_none(complaints)
  end)

  it("name each parameter, with types that are declared", function()
    local complaints, known, used = {}, {}, {}
    for _, block in ipairs(blocks()) do
      local params = {}
      for _, tag in ipairs(block.tags) do
        local kind, rest = tag[1], tag[2]
        if kind == "class" or kind == "alias" then known[rest:match "^[%w_.]+"] = true end
        if kind == "param" then params[rest:match "^[%w_.]+"] = true end
        if kind ~= "meta" then
          for class in rest:gmatch "roc%.%u%w+" do used[class] = block.path end
        end
      end
      local list = block.code:match "^function [%w_.:]+%((.-)%)"
      for param in (list or ""):gmatch "[%w_.]+" do
        if not params[param] then
          complaints[#complaints + 1] = ("%s: parameter %s"):format(block.code, param)
        end
        params[param] = nil
      end
      if list and next(params) then
        complaints[#complaints + 1] = ("%s: no parameter %s"):format(block.code, next(params))
      end
    end
    for class, path in pairs(used) do
      if not known[class] then complaints[#complaints + 1] = path .. ": " .. class end
    end
    assert_none(complaints)
  end)

  it("speak of what the pages speak of", function()
    local pages = {}
    for _, path in ipairs(files.list("docs", "%.md$")) do pages[#pages + 1] = files.read(path) end
    local text, complaints = table.concat(pages, "\n"), {}
    for _, block in ipairs(blocks()) do
      local owner, name = block.code:match "^function ([%w_.]*)[.:]([%w_]+)%("
      if name and not text:find("%f[%w_]" .. name .. "%f[^%w_]") then
        complaints[#complaints + 1] = owner .. ": " .. name
      end
    end
    assert_none(complaints)
  end)

  it("are what .luarc.json names, in Lua that loads", function()
    local settings = json.read(files.read ".luarc.json")
    assert.are.equal("Lua 5.4", settings["runtime.version"])
    for _, folder in ipairs(settings["workspace.library"]) do
      assert.is_true(#files.list(folder, "%.lua$") > 0, folder)
    end
    for _, path in ipairs(files.list("lua/roc/meta", "%.lua$")) do
      assert.is_function(loadfile(path), path)
      assert.matches("^%-%-%-@meta", files.read(path))
    end
  end)
end)
