-- luacheck: globals global_of_capture_spec
-- What kernels capture: constants, hidden arguments, functions, arrays.
local roc = require "roc"

-- Runs a kernel f(y) over the elements of a new array and gives them as a table.
local function run(k, n, dtype)
  local y = roc.zeros(n or 1, dtype or "int64")
  k:forall(n or 1)(y)
  return y:totable()
end

local scale = 2
local cfg = { a = 3, nested = { b = 4 }, [1] = 5 }

rawset(_G, "global_of_capture_spec", 6)

describe("a captured number", function()
  it("has the value of the launch, not of the compile", function()
    local v = 10
    local k = roc.kernel(function(y) y[roc.get_global_id(1)] = v end)
    assert.same({ 10 }, run(k))
    v = 20
    assert.same({ 20 }, run(k))
    for i = 30, 40 do
      v = i
      assert.same({ i }, run(k))
    end
  end)

  it("may be an upvalue, a global, or a field of a table", function()
    local k = roc.kernel(function(y)
      y[1] = scale
      y[2] = cfg.a
      y[3] = cfg.nested.b
      y[4] = cfg[1]
      y[5] = global_of_capture_spec
    end)
    local y = roc.zeros(5, "int64")
    k:forall(1)(y)
    assert.same({ 2, 3, 4, 5, 6 }, y:totable())
    cfg.nested.b = 44
    rawset(_G, "global_of_capture_spec", 66)
    k:forall(1)(y)
    assert.same({ 2, 3, 44, 5, 66 }, y:totable())
    cfg.nested.b = 4
    rawset(_G, "global_of_capture_spec", 6)
  end)

  it("is read without metamethods", function()
    local t = setmetatable({}, { __index = function() return 1 end })
    local k = roc.kernel(function(y) y[1] = t.field end)
    assert.error_matches(function() run(k) end, "t.field")
  end)

  it("may change between integer and float", function()
    local v = 1
    local k = roc.kernel(function(y) y[1] = v + 0.0 end)
    assert.same({ 1.0 }, run(k, 1, "float64"))
    v = 1.5
    assert.same({ 1.5 }, run(k, 1, "float64"))
    v = 7
    assert.same({ 7.0 }, run(k, 1, "float64"))
    v = 0.25
    assert.same({ 0.25 }, run(k, 1, "float64"))
  end)

  it("may be a boolean", function()
    local flag = true
    local k = roc.kernel(function(y) if flag then y[1] = 1 else y[1] = 2 end end)
    assert.same({ 1 }, run(k))
    flag = false
    assert.same({ 2 }, run(k))
    flag = true
    assert.same({ 1 }, run(k))
  end)

  it("that no kernel can use is noticed to be another one at the next launch", function()
    local n
    local k = roc.kernel(function(y) y[1] = n end)
    for _, bad in ipairs { "text", {}, io.stdout } do
      n = bad
      assert.is_false(pcall(run, k))
      n = 5
      assert.same({ 5 }, run(k))
      n = bad
      assert.is_false(pcall(run, k))
      n = true
      assert.error_matches(function() run(k) end, "boolean")
      n = 6
      assert.same({ 6 }, run(k))
    end
  end)

  it("may be given after the kernel was made", function()
    local v
    local k = roc.kernel(function(y) y[1] = v end)
    assert.error_matches(function() run(k) end, "'v'")
    v = 9
    assert.same({ 9 }, run(k))
  end)

  it("stays a constant where the compiler needs one", function()
    local n = 4
    local k = roc.kernel(function(y)
      local t = roc.shared.array(n, roc.int64)
      local i = roc.get_local_id(1)
      t[i] = i * n
      roc.barrier()
      y[i] = t[n + 1 - i]
    end)
    for _, count in ipairs { 4, 2, 8, 5, 3 } do
      n = count
      local y = roc.zeros(count, "int64")
      k[{ 1, count }](y)
      local expected = {}
      for i = 1, count do expected[i] = (count + 1 - i) * count end
      assert.same(expected, y:totable())
    end
  end)
end)

describe("a captured function", function()
  local function double(x) return x * 2 end
  local function pair(x) return double(x), x end
  local lib = { triple = function(x) return x * 3 end }

  it("is compiled with the kernel, with the functions it calls", function()
    local k = roc.kernel(function(y)
      local a, b = pair(5)
      y[1] = a + b + lib.triple(1)
    end)
    assert.same({ 18 }, run(k))
  end)

  it("has its own captures read again at each launch", function()
    local offset = 1
    local function shifted(x) return x + offset end
    local k = roc.kernel(function(y) y[1] = shifted(10) end)
    assert.same({ 11 }, run(k))
    offset = 2
    assert.same({ 12 }, run(k))
    offset = 3
    assert.same({ 13 }, run(k))
  end)

  it("is a builtin under whatever name it was put", function()
    local gid, floor = roc.get_global_id, math.floor
    local m = { f = roc.math.exp2 }
    local k = roc.kernel(function(y) y[gid(1)] = floor(m.f(3.0)) end)
    assert.same({ 8, 8 }, run(k, 2))
  end)

  it("is the one that its variable holds at the launch", function()
    local op = double
    local k = roc.kernel(function(y) y[1] = op(5) end)
    assert.same({ 10 }, run(k))
    op = lib.triple
    assert.same({ 15 }, run(k))
    op = math.abs
    assert.same({ 5 }, run(k))
    op = function(x) return x - 1 end
    assert.same({ 4 }, run(k))
    op = 7
    assert.error_matches(function() run(k) end, "an integer cannot be called")
    op = double
    assert.same({ 10 }, run(k))
    local _, compiled = k:specialisations()
    assert.same({ 10 }, run(k)) -- the same one: nothing is described or compiled again
    assert.equal(compiled, select(2, k:specialisations()))
  end)

  it("may be replaced below another function, in a table, and with its table", function()
    local t = { f = double }
    local function inner(x) return t.f(x) + 1 end
    local function outer(x) return inner(x) end
    local k = roc.kernel(function(y) y[1] = outer(5) end)
    assert.same({ 11 }, run(k))
    t.f = lib.triple
    assert.same({ 16 }, run(k))
    t = { f = function(x) return x end }
    assert.same({ 6 }, run(k))
    inner = double
    assert.same({ 10 }, run(k))
  end)

  it("may be a global", function()
    rawset(_G, "function_of_capture_spec", double)
    local k = roc.kernel("function(y) y[1] = function_of_capture_spec(5) end")
    local other = roc.kernel("function(y) y[1] = f(5) end",
      { env = setmetatable({}, { __index = function() return _G.function_of_capture_spec end }) })
    assert.same({ 10, 10 }, { run(k)[1], run(other)[1] })
    rawset(_G, "function_of_capture_spec", lib.triple)
    assert.same({ 15, 15 }, { run(k)[1], run(other)[1] })
    rawset(_G, "function_of_capture_spec", nil)
    assert.error_matches(function() run(k) end, "'function_of_capture_spec' is not defined")
  end)

  it("may be a builtin or a dtype by a name of the script's own", function()
    local m, convert = math, roc.float32
    local k = roc.kernel(function(y) y[1] = m.sqrt(convert(0.1)) end)
    assert.same({ math.sqrt(0.10000000149011612) // 1e-6 }, { run(k, 1, "float64")[1] // 1e-6 })
    convert = roc.float64
    assert.same({ math.sqrt(0.1) }, run(k, 1, "float64"))
    m = { sqrt = function(x) return -x end }
    assert.same({ -0.1 }, run(k, 1, "float64"))
  end)

  it("must be written in Lua", function()
    local rep = string.rep
    local k = roc.kernel(function(y) y[1] = rep(1) end)
    assert.error_matches(function() run(k) end, "'rep'")
  end)
end)

describe("a captured array", function()
  it("is copied when the kernel is made, if it is on the host", function()
    local t = roc.array({ 1, 2, 3 }, "int64")
    local k = roc.kernel(function(y) y[1] = t[1] + t[2] + t[3] end)
    t[1] = 100
    assert.same({ 6 }, run(k))
  end)

  it("is another one when its variable holds another", function()
    local a, t = roc.array({ 1 }, "int64"), { 10 }
    local k = roc.kernel(function(y)
      local c = roc.const.array(t, "int64")
      y[1] = a[1] + c[1]
    end)
    assert.same({ 11 }, run(k))
    a[1], t[1] = 2, 20
    assert.same({ 11 }, run(k))
    a = roc.array({ 3 }, "int64")
    assert.same({ 13 }, run(k))
    t = { 30 }
    assert.same({ 33 }, run(k))
  end)

  it("stays that copy when another captured value becomes another kind of thing", function()
    local t, n = roc.array({ 1, 2, 3 }, "int64"), 1
    local k = roc.kernel(function(y) y[1] = t[1] + n end)
    assert.same({ 2 }, run(k))
    t[1], n = 100, "text"
    assert.is_false(pcall(run, k))
    n = 2
    assert.same({ 3 }, run(k))
  end)

  it("may be large", function()
    local t = roc.full(100000, 7, "int64")
    local k = roc.kernel(function(y)
      local sum = 0
      for i = 1, #t do sum = sum + t[i] end
      y[1] = sum
    end)
    assert.same({ 700000 }, run(k))
  end)

  it("may be a table given to roc.const.array", function()
    local t = { 1.5, 2.5 }
    local k = roc.kernel(function(y)
      local c = roc.const.array(t, roc.float64)
      y[1] = c[1] + c[2]
    end)
    assert.same({ 4.0 }, run(k, 1, "float64"))
  end)

  it("is refused where roc.const.array refuses it outside", function()
    local halves, flags, host = { { 1, 2 }, { 1, 2.5 } }, { true }, roc.array { 1.5 }
    local function try(text, env)
      return function() run(roc.kernel(text, { env = setmetatable(env, { __index = _G }) })) end
    end
    assert.error_matches(
      try("function(y) y[1] = roc.const.array(t, roc.int32)[1][1] end", { roc = roc, t = halves }),
      "an array of int32 of this one (element {2, 2}: number has no integer representation)", 1,
      true)
    assert.error_matches(
      try("function(y) y[1] = roc.const.array(t, 'int8')[1] end", { roc = roc, t = flags }),
      "(element {1}: number expected, got boolean)", 1, true)
    assert.error_matches(
      try("function(y) y[1] = roc.const.array(t, roc.int8)[1] end", { roc = roc, t = host }),
      "(element {1}: number has no integer representation)", 1, true)
    local cycle = { 1 }
    cycle[1] = cycle
    for _, t in ipairs { cycle, { { 1 }, { 2, 3 } }, { 1, "a" } } do
      assert.error_matches(
        try("function(y) y[1] = roc.const.array(t, roc.int8)[1] end", { roc = roc, t = t }),
        "'roc.const.array' cannot build an array in a kernel", 1, true)
    end
    assert.error_matches(
      try("function(y) y[1] = roc.const.array(t, 8)[1] end", { roc = roc, t = host }),
      "needs a dtype such as roc.float32", 1, true)
    assert.error_matches(
      try("function(y) local r = t[1] y[1] = roc.const.array(r, roc.int8)[1] end",
        { roc = roc, t = roc.array(halves) }),
      "cannot make an array of int8 of this one in a kernel, because it is a row or a parameter",
      1, true)
  end)

  it("may be large where roc.const.array is called in the kernel", function()
    local host, t = roc.full(10000, 7, "int64"), {}
    for i = 1, 10000 do t[i] = i + 0.5 end
    local k = roc.kernel(function(y, z)
      y[1] = roc.const.array(host)[10000] + roc.const.array(host, roc.int64)[1]
      z[1] = roc.const.array(t)[10000] + roc.const.array(t, roc.float64)[1]
    end)
    local y, z = roc.zeros(1, "int64"), roc.zeros(1)
    k:forall(1)(y, z)
    assert.same({ 14 }, y:totable())
    assert.same({ 10002.0 }, z:totable())
    assert.error_matches(function()
      run(roc.kernel(function(x) x[1] = roc.int32(roc.const.array(t, roc.float32)[1]) end))
    end, "an array of float32 of this one in a kernel, because it is larger than 64 KiB; make it",
      1, true)
  end)

  it("is passed along, if it is on the device", function()
    local d = roc.to_device(roc.array({ 1, 2, 3 }, "int64"))
    local k = roc.kernel(function(y)
      d[2] = d[2] + 10
      y[1] = d[2]
    end)
    assert.same({ 12 }, run(k))
    assert.same({ 22 }, run(k))
    assert.equal(22, d[2])
    d = roc.to_device(roc.array({ 0.5, 0.5 }, "float64"))
    assert.same({ 10.5 }, run(k, 1, "float64"))
  end)

  it("is named when it was closed", function()
    local lists = { first = roc.device_array(3) }
    local k = roc.kernel(function(y) y[1] = lists.first[1] end)
    lists.first:close()
    assert.error_matches(function() run(k) end, "captured array 'lists.first' was closed")
    lists.first = roc.to_device(roc.array({ 8 }, "int64"))
    assert.same({ 8 }, run(k))
  end)
end)

describe("a kernel given as a string", function()
  it("finds its names in the globals, or in env", function()
    local text = "function(y) y[1] = global_of_capture_spec end"
    assert.same({ 6 }, run(roc.kernel(text)))
    assert.same({ 7 }, run(roc.kernel(text, { env = { global_of_capture_spec = 7 } })))
    for _, before in ipairs { "", "-- hi\n", "--[==[ two\nlines ]==] ", " --[[a]]\n--b\n  " } do
      assert.same({ 6 }, run(roc.kernel(before .. text)))
      assert.same({ 6 }, run(roc.kernel(before .. "return " .. text)))
    end
  end)

  it("has its own columns, `return` before it or not", function()
    local text = "function(y) y[1] = nothing_at_all end"
    for before, column in pairs { [""] = 20, ["return "] = 27, ["\n  "] = 22 } do
      local k = roc.kernel(before .. text)
      local _, why = pcall(run, k)
      local where, line, caret =
        tostring(why):match(":(%d+): kernel [^\n]*\n    ([^\n]*)\n    ( *)^")
      assert.equal(column, math.tointeger(where))
      assert.equal((before .. text):match("[^\n]*$"):match("^ *(.*)"), line)
      assert.equal(line:find("nothing", 1, true), #caret + 1)
    end
  end)

  it("must hold one function", function()
    for _, text in ipairs { "1 + 1", "saxpy.lua", "{}", "error 'mine'",
      "function(o) end, function(o) end" } do
      assert.error_matches(function() roc.kernel(text) end,
        "^bad argument #1 to 'kernel' %(a string that holds one function expected")
    end
    assert.error_matches(function() roc.kernel("function(") end, "bad argument #1 to 'kernel'")
  end)

  it("does not chase what a metamethod makes anew at each reading", function()
    local env = setmetatable({}, { __index = function() return function(x) return x end end })
    local k = roc.kernel("function(y) y[1] = f(1) end", { env = env, name = "chaser" })
    assert.error_matches(function() run(k) end,
      "kernel 'chaser': a metamethod returns another captured value at each reading")
  end)
end)
