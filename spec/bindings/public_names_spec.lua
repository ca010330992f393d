-- What is called wrongly says so by its public name: no message shows a private module, `?`, or a
-- line of the library's own Lua files, however a function is reached.
local roc = require "roc"

-- Makes values fresh for each call, as calls may close them.
local function samples()
  local a = roc.range(1, 6)
  local s = roc.stream()
  return {
    array = a,
    device_array = roc.to_device(a),
    smart_array = roc.smart_array(a),
    stream = s,
    scope = s:auto_synchronize(),
    event = roc.event(),
    device = roc.current_device(),
    kernel = roc.kernel("function(x) x[1] = 1 end", { name = "sample" }),
    launcher = roc.kernel("function(x) x[1] = 1 end", { name = "sample" }):forall(1),
    registration = roc.register(a),
    dtype = roc.float32,
    argument = roc.In(a),
  }
end

local function noop() end

-- Values that are wrong in most places.
local function wrong_values()
  return { false, {}, { x = 1 }, noop, "no/such/thing", "", -1, 1.5, 0 / 0, 1 << 62, io.stdout,
    roc.float32, coroutine.create(noop) }
end

local FORBIDDEN = { "roc%.core", "'%?'", "to '%?", "a function of roc", "roc/[%w_/]+%.lua:%d",
  "lua/roc/", "roc%.intrinsics", "roc%.builders", "%(null%)" }

local function complaint_about(message)
  for _, pattern in ipairs(FORBIDDEN) do
    if message:find(pattern) then
      return pattern
    end
  end
end

-- Calls f in the ways in which Lua knows different names for it.
local WAYS = {
  ["by pcall"] = function(f, ...) return pcall(f, ...) end,
  ["in tail position"] = function(f, ...)
    return pcall(function(...) return f(...) end, ...)
  end,
  ["by a local"] = function(f, ...)
    return pcall(function(...)
      local renamed = f
      local result = renamed(...)
      return result
    end, ...)
  end,
  ["in a coroutine"] = function(f, ...) return coroutine.resume(coroutine.create(f), ...) end,
}

-- Argument lists: a wrong value alone and several times, and one after good ones.
local function argument_lists(good)
  local lists = { table.pack() }
  for _, wrong in ipairs(wrong_values()) do
    lists[#lists + 1] = table.pack(wrong)
    lists[#lists + 1] = table.pack(wrong, wrong, wrong, wrong, wrong)
    for n = 1, #good do
      local list = table.move(good, 1, n, 1, { n = n + 1 })
      list[n + 1] = wrong
      lists[#lists + 1] = list
    end
  end
  lists[#lists + 1] = table.pack(nil, nil, nil)
  return lists
end

local function check(name, f, good, complaints)
  local device = roc.current_device()
  for way, call in pairs(WAYS) do
    for _, list in ipairs(argument_lists(good)) do
      local results = table.pack(call(f, table.unpack(list, 1, list.n)))
      roc.select_device(device)
      local message = not results[1] and tostring(results[2]) or ""
      local pattern = complaint_about(message)
      local complaint = pattern and ("%s %s (%s): %s"):format(name, way, pattern, message)
      if complaint and complaint ~= complaints[#complaints] then
        complaints[#complaints + 1] = complaint
      end
    end
  end
end

local function methods_of(metatable)
  local index = metatable.__index
  if type(index) == "function" then
    index = select(2, debug.getupvalue(index, 1))
  end
  return type(index) == "table" and index or {}
end

describe("a wrong call", function()
  it("of a function of roc shows no private name", function()
    local complaints = {}
    local function walk(path, t)
      for name, value in pairs(t) do
        local full = path .. "." .. tostring(name)
        if type(value) == "function" then
          check(full, value, { roc.zeros(3) }, complaints)
          check(full, value, { 3, "float32" }, complaints)
        elseif type(value) == "table" then
          walk(full, value)
        end
      end
    end
    walk("roc", roc)
    assert.equal("", table.concat(complaints, "\n"))
  end)

  for _, kind in ipairs { "array", "device_array", "smart_array", "stream", "scope", "event",
    "device", "kernel", "launcher", "registration", "dtype", "argument" } do
    it(("of a method or operator of a value of kind %s shows none"):format(kind), function()
      local complaints, names = {}, {}
      local metatable = debug.getmetatable(samples()[kind])
      for name in pairs(methods_of(metatable)) do names[name] = methods_of(metatable) end
      for name, value in pairs(metatable) do
        if type(value) == "function" and name ~= "__gc" then names[name] = metatable end
      end
      for name, from in pairs(names) do
        if name ~= "reset" then
          check(kind .. ":" .. name, from[name], { samples()[kind] }, complaints)
        end
      end
      assert.equal("", table.concat(complaints, "\n"))
    end)
  end

  it("names the function as the script reaches it", function()
    local zeros = roc.zeros
    local renamed = { roc.load }
    assert.error_matches(function() local _ = roc.load() end, "bad argument #1 to 'load' %(string")
    assert.error_matches(function() local _ = zeros("x") end, "to 'zeros'")
    assert.error_matches(function() local _ = renamed[1]() end, "to 'roc.load'")
    for name, call in pairs { load = roc.load, zeros = roc.zeros, seed = roc.seed,
      ["math.exp2"] = roc.math.exp2, to_device = roc.to_device } do
      local ok, why = pcall(call)
      assert.is_false(ok)
      assert.matches(("bad argument #1 to 'roc.%s'"):format(name), why)
    end
    local a = roc.zeros(3)
    local _, why = pcall(a.reshape, a, "x")
    assert.matches("bad argument #2 to 'reshape' ", why)
  end)
end)

describe("an error about a shape that is too large", function()
  local function refuses(name, position, f)
    assert.error_matches(f, ("bad argument #%d to '%s' %%(.*too large%%)"):format(position, name))
  end

  it("names function and argument", function()
    local huge = 1 << 62
    refuses("zeros", 1, function() local _ = roc.zeros(huge) end)
    refuses("ones", 1, function() local _ = roc.ones { huge, 2 } end)
    refuses("empty", 1, function() local _ = roc.empty { 2, huge } end)
    refuses("full", 1, function() local _ = roc.full(huge, 1) end)
    refuses("random", 1, function() local _ = roc.random(huge) end)
    refuses("random_normal", 1, function() local _ = roc.random_normal(huge) end)
    refuses("random_integers", 3, function() local _ = roc.random_integers(1, 6, huge) end)
    refuses("device_array", 1, function() local _ = roc.device_array(huge) end)
    refuses("pinned_array", 1, function() local _ = roc.pinned_array(huge) end)
    refuses("mapped_array", 1, function() local _ = roc.mapped_array(huge) end)
    refuses("smart_array", 1, function() local _ = roc.smart_array(huge) end)
    refuses("range", 2, function() local _ = roc.range(1, 1 << 61) end)
    refuses("linspace", 3, function() local _ = roc.linspace(0, 1, 1 << 61) end)
  end)

  it("for the memory there is names the function", function()
    for name, make in pairs { zeros = roc.zeros, empty = roc.empty, random = roc.random } do
      local ok, why = pcall(make, 1 << 45)
      assert.is_false(ok)
      assert.equal("oom", why.code)
      assert.matches(("out of memory.* %%(in 'roc.%s'%%)$"):format(name), why.message)
    end
  end)

  it("of floats too", function()
    assert.error_matches(function() local _ = roc.range(1.0, 2.0 ^ 62) end,
      "bad argument #2 to 'range' %(.*too")
  end)
end)

describe("an error about a stream or a device", function()
  it("names the function", function()
    local a = roc.zeros(2)
    assert.error_matches(function() local _ = roc.to_device(a, { stream = 3 }) end,
      "bad option 'stream' of 'to_device' %(roc.Stream expected, got number%)")
    assert.error_matches(function() local _ = roc.to_device(a, { device = "abacus" }) end,
      "bad option 'device' of 'to_device' %(there is no device 'abacus'")
    local closed = roc.stream()
    closed:close()
    assert.error_matches(function() local _ = roc.to_device(a, { stream = closed }) end,
      "bad option 'stream' of 'to_device' %(the stream is closed%)")
    assert.error_matches(function() roc.select_device("abacus") end,
      "bad argument #1 to 'select_device' %(there is no device 'abacus'")
    assert.error_matches(function() roc.select_device(99) end,
      "bad argument #1 to 'select_device' %(there is no device 99")
    assert.error_matches(function() local _ = roc.stream("abacus") end,
      "bad argument #1 to 'stream' %(there is no device 'abacus'")
  end)
end)
