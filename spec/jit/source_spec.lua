-- Finding the source text of functions.
local roc = require "roc"
local source = require "roc.source"

local function find(f)
  return source.find(f, "the kernel")
end

local function write_file(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

describe("the source finder", function()
  it("finds a function of a file", function()
    local f = function(x) return x + 1 end
    local text, name, index = find(f)
    assert.truthy(text:find("finds a function of a file", 1, true))
    assert.truthy(name:find("source_spec.lua", 1, true))
    assert.is_true(index > 0)
  end)

  it("tells functions on one line apart by what they do", function()
    local f, g = load("return function(x) return x + 1 end, function(x) return x + 2 end")()
    assert.equal(1, (select(3, find(f))))
    assert.equal(2, (select(3, find(g))))
  end)

  it("tells functions on one line apart by the names of their variables", function()
    local f, g = load("return function(x) return x end, function(y) return y end")()
    assert.equal(1, (select(3, find(f))))
    assert.equal(2, (select(3, find(g))))
  end)

  it("tells functions on one line apart by what they capture", function()
    local f, g = load("local a, b = 1, 2 return function() return a end, function() return b end")()
    assert.equal(1, (select(3, find(f))))
    assert.equal(2, (select(3, find(g))))
  end)

  it("counts nested functions in the order of their keywords", function()
    local outer = load("return function() return function() end end, function() return 7 end")
    assert.equal(0, (select(3, find(outer))))
    local f, g = outer()
    assert.equal(1, (select(3, find(f))))
    assert.equal(2, (select(3, find(f()))))
    assert.equal(3, (select(3, find(g))))
  end)

  it("reads every kind of constant, jump and attribute in a dump", function()
    local long = ("x"):rep(100)
    local f = load(([[
      local k <const> = 3
      local up = 1.5
      return function(...)
        local t <close> = nil
        local a, b, c, d, e = 1, 2.5, "short", %q, nil
        for i = 1, 300 do if i > 5 then goto continue end a = a + up ::continue:: end
        while a do a = not true break end
        return a, b, c, d, e, 9007199254740993, 1e300, k, ...
      end]]):format(long))()
    assert.equal(1, (select(3, find(f))))
  end)

  it("finds functions in files that begin with a #! line or a byte order mark", function()
    for _, first in ipairs { "#!/usr/bin/env lua\n", "\239\187\191",
      "\239\187\191#!/usr/bin/env lua\n" } do
      local path = os.tmpname()
      write_file(path, first .. "return function(x) return x * 3 end\n")
      local f = dofile(path)
      assert.equal(1, (select(3, find(f))))
      os.remove(path)
    end
  end)

  it("says so when the file changed since it was loaded", function()
    local path = os.tmpname()
    write_file(path, "return function(x) return x + 1 end\n")
    local f = dofile(path)
    write_file(path, "return function(x) return x + 2 end\n")
    assert.error_matches(function() find(f) end, "changed since the function was loaded")
    write_file(path, "\nreturn function(x) return x + 1 end\n")
    assert.error_matches(function() find(f) end, "changed since the function was loaded")
    write_file(path, "this is not Lua")
    assert.error_matches(function() find(f) end, "changed since the function was loaded")
    os.remove(path)
    assert.error_matches(function() find(f) end, "file cannot be read")
  end)

  it("knows the texts given to load, and those registered under a name", function()
    local text = "return function(x) return x - 1 end"
    assert.equal(text, (find(load(text)())))
    local named = load(text, "=console")
    assert.error_matches(function() find(named()) end, "roc.source%(\"console\", text%)")
    source.register("=console", text)
    assert.equal(text, (find(named())))
  end)

  it("keeps all texts registered under one name", function()
    local first, second = "return function() return 1 end", "return function() return 2 end"
    source.register("=lines", first)
    source.register("=lines", second)
    assert.equal(first, (find(load(first, "=lines")())))
    assert.equal(second, (find(load(second, "=lines")())))
  end)

  it("refuses C functions and stripped ones", function()
    assert.error_matches(function() find(print) end, "it is a C function")
    local stripped = load(string.dump(function() return 1 end, true))
    assert.error_matches(function() find(stripped) end, "debug information was stripped")
  end)
end)

describe("a kernel's name", function()
  local function name_of(text)
    local head = "local roc, t, id = ..., {}, function(...) return ... end "
    return assert(load(head .. text))(roc).name
  end

  it("is that of the variable or field which the kernel is first stored in", function()
    for name, text in pairs {
      a = "local a = roc.kernel(function(x) x[1] = 1 end) return a",
      b = "b = nil local b <const>, c = roc.kernel(function() end, { check = false }), 1 return b",
      c = "local b, c = 1, roc.kernel(function() end) return c",
      d = "t.d = roc.kernel(function() end) return t.d",
      e = "t.deep = {} t.deep['e'] = roc.kernel(function() end) return t.deep.e",
      f = "return ({ 1, f = roc.kernel(function() end) }).f",
      g = "local g = t.g or (roc.kernel(function() end)) return g",
      h = "local make = roc.kernel local h = id(make(function() end)) return h",
      i = "local i = roc:kernel_of(function() end) return i",
      j = "local function j() end local k = roc.kernel(j) return k",
      k = "local k = roc.kernel(function() end) local l = k return l",
    } do
      roc.kernel_of = function(_, f) return roc.kernel(f) end
      assert.equal(name, name_of(text))
      roc.kernel_of = nil
    end
  end)

  it("is its place where nothing holds it, or what holds it is not the kernel", function()
    for _, text in ipairs { "return roc.kernel(function() end)",
      "local a = { roc.kernel(function() end) } return a[1]",
      "local a = roc.kernel(function() end).name return { name = a }",
      "local f = id((function() return function() end end)()) return roc.kernel(f)" } do
      assert.matches(":1$", name_of(text))
    end
  end)
end)
