-- roc.vectorize against plain Lua loops, on every device.
local roc = require "roc"
local devices = require "support.devices"

local function add(x, y) return x + y end

-- Asserts that f raises an error that matches, its place included.
local function assert_raises(pattern, f)
  local ok, why = pcall(f)
  assert.is_false(ok)
  assert.matches(pattern, tostring(why))
end

-- Asserts that v(x, y) is f of the elements, where index(i, j) gives the places of x and y.
local function assert_elements(f, got, x, y)
  for i = 1, #got do
    for j = 1, got.shape[2] do
      local expected = f(x(i, j), y(i, j))
      assert.are.equal(expected, got[i][j], ("element %d, %d"):format(i, j))
    end
  end
end

devices.each(function(device)
  describe("roc.vectorize", function()
    it("applies a function to each element of a host array", function()
      local twice = roc.vectorize(function(x) return 2 * x end)
      local y = twice(roc.range(1, 5))
      assert.same({ 2, 4, 6, 8, 10 }, y:totable())
      assert.are.equal(roc.int64, y.dtype)
    end)

    it("gives a device array when an argument is one", function()
      local y = roc.vectorize(add)(devices.values({ 1, 2, 3 }, "float32"),
        roc.array({ 10, 20, 30 }, "float32"))
      assert.are.equal(roc.current_device(), y.device)
      assert.same({ 11.0, 22.0, 33.0 }, devices.table(y))
    end)

    it("calls the function itself for numbers alone", function()
      assert.are.equal(7, roc.vectorize(add)(3, 4))
      assert_raises("vectorize_spec.lua:%d+: own text", function()
        roc.vectorize(function(x) error("own text") return x end)(1)
      end)
    end)

    it("names the script's line when a function that kernels know refuses numbers", function()
      local here = "^[^\n]*vectorize_spec.lua:%d+: bad argument #"
      assert_raises(here .. "2 to 'math.fmod'", function() roc.vectorize(math.fmod)(1, 0) end)
      assert_raises(here .. "1 to 'math.sqrt'", function() roc.vectorize(math.sqrt)() end)
      assert_raises(here .. "1 to 'roc.math.cbrt'", function() roc.vectorize(roc.math.cbrt)() end)
    end)

    it("takes the dtype of the result from what the function gives", function()
      local cases = {
        { add, "float32", "float32", roc.float32 }, { add, "float32", "float64", roc.float64 },
        { add, "int8", "uint16", roc.int64 }, { add, "float16", "int32", roc.float32 },
        { function(x, y) return x < y end, "int32", "float32", roc.bool },
        { function(x, y) return x / y end, "int32", "int32", roc.float64 },
        { function(x, y) return math.floor(x * y) end, "float32", "float32", roc.int64 },
      }
      for _, case in ipairs(cases) do
        local y = roc.vectorize(case[1])(roc.ones(2, case[2]), roc.ones(2, case[3]))
        assert.are.equal(case[4], y.dtype)
      end
    end)

    it("keeps float32 with a number, which is a plain float", function()
      local y = roc.vectorize(add)(roc.ones(3, "float32"), 2.5)
      assert.are.equal(roc.float32, y.dtype)
      assert.same({ 3.5, 3.5, 3.5 }, y:totable())
    end)

    it("broadcasts rows, columns and single elements", function()
      local v = roc.vectorize(add)
      local m, row = roc.range(1, 12):reshape(3, 4), roc.array({ 100, 200, 300, 400 }, "int64")
      local column, one = roc.array({ { 10 }, { 20 }, { 30 } }, "int64"),
        roc.array({ { 7 } }, "int64")
      local function of(a, rank, by_row)
        return function(i, j)
          if rank == 1 then return a[#a == 1 and 1 or j] end
          return a[#a == 1 and 1 or i][a.shape[2] == 1 and 1 or by_row and i or j]
        end
      end
      assert_elements(add, v(m, row), of(m, 2), of(row, 1))
      assert_elements(add, v(column, m), of(column, 2), of(m, 2))
      assert_elements(add, v(column, row), of(column, 2), of(row, 1))
      assert_elements(add, v(one, m), of(one, 2), of(m, 2))
      assert.same({ 3, 1, 4 }, v(roc.zeros({ 3, 1, 1 }), roc.zeros({ 1, 4 })).shape)
    end)

    it("takes strided and transposed views of both sides", function()
      local v = roc.vectorize(add)
      local m = roc.range(1, 24):reshape(4, 6)
      for _, a in ipairs { m, roc.to_device(m) } do
        local left = a:slice(2, 6, 1, -2)                       -- 4 x 3
        local right = a:transpose():slice(1, 1, 3):transpose()  -- 4 x 3
        assert_elements(add, v(left, right), function(i, j) return m[i][8 - 2 * j] end,
          function(i, j) return m[i][j] end)
      end
    end)

    it("keeps the order of arrays whose first index runs fastest", function()
      local f = roc.zeros({ 3, 4 }, "float32", "F")
      for i = 1, 3 do for j = 1, 4 do f[i][j] = 10 * i + j end end
      local y = roc.vectorize(add)(f, 1)
      assert.is_true(y:is_f_contiguous())
      assert_elements(add, y, function(i, j) return f[i][j] end, function() return 1 end)
    end)

    it("works on up to eight dimensions that do not join", function()
      local shape = { 2, 1, 2, 1, 2, 1, 2, 3 }
      local other = { 1, 2, 1, 2, 1, 2, 1, 3 }
      local a, b = roc.range(1, 48):reshape(shape), roc.range(1, 24):reshape(other)
      local y = roc.vectorize(function(x, z) return 100 * x + z end)(a, b)
      assert.same({ 2, 2, 2, 2, 2, 2, 2, 3 }, y.shape)
      assert.are.equal(100 * a:get(2, 1, 1, 1, 2, 1, 1, 3) + b:get(1, 1, 1, 2, 1, 2, 1, 3),
        y:get(2, 1, 1, 2, 2, 2, 1, 3))
      assert.are.equal(100 * a:get(1, 1, 2, 1, 1, 1, 2, 2) + b:get(1, 2, 1, 1, 1, 2, 1, 2),
        y:get(1, 2, 2, 1, 1, 2, 2, 2))
      assert.are.equal(100 * 48 + 24, y:get(2, 2, 2, 2, 2, 2, 2, 3))
    end)

    it("gives an empty array for empty ones", function()
      local y = roc.vectorize(add)(roc.zeros({ 0, 3 }, "float32"), roc.zeros(3, "float32"))
      assert.same({ 0, 3 }, y.shape)
      assert.are.equal(roc.float32, y.dtype)
    end)

    it("gives several arrays for several results", function()
      local q, r = roc.vectorize(function(x, y) return x // y, x % y end)(roc.range(-3, 3), 2)
      assert.same({ -2, -1, -1, 0, 0, 1, 1 }, q:totable())
      assert.same({ 1, 0, 1, 0, 1, 0, 1 }, r:totable())
    end)

    it("writes into arrays given as out", function()
      local v = roc.vectorize(add)
      local out = roc.zeros({ 2, 3 }, "float32")
      assert.are.equal(out, v(roc.array({ 1, 2, 3 }, "float32"), 1, { out = out }))
      assert.same({ { 2.0, 3.0, 4.0 }, { 2.0, 3.0, 4.0 } }, out:totable())
      local d = devices.zeros(3, "int32")
      v(4, 5, { out = d })
      assert.same({ 9, 9, 9 }, devices.table(d))
      local a, b = roc.zeros(2), roc.zeros(2, "bool")
      roc.vectorize(function(x) return x * 2, x > 1 end)(roc.array { 1, 2 }, { out = { a, b } })
      assert.same({ { 2.0, 4.0 }, { false, true } }, { a:totable(), b:totable() })
    end)

    it("may write over its arguments, wherever they lie", function()
      local v = roc.vectorize(add)
      for _, make in ipairs { roc.array, devices.values } do
        local x = make({ 1, 2, 3, 4, 5 }, "int64")
        v(x, 10, { out = x })
        v(x:slice(1, 1, 4), 100, { out = x:slice(1, 2, 5) })
        assert.same({ 11, 111, 112, 113, 114 },
          make == roc.array and x:totable() or devices.table(x))
      end
    end)

    it("stores in the dtype that is asked for", function()
      local y = roc.vectorize(add, { dtype = "float16" })(roc.ones(2, "float32"), 1)
      assert.are.equal(roc.float16, y.dtype)
      local a,
        b = roc.vectorize(function(x) return x, x < 0 end)(roc.ones(2),
        { dtype = { roc.float32, "bool" } })
      assert.same({ roc.float32, roc.bool }, { a.dtype, b.dtype })
    end)

    it("reads captured numbers anew at each call, and their type", function()
      local scale = 2
      local v = roc.vectorize(function(x) return x * scale end)
      assert.same({ 2, 4 }, v(roc.range(1, 2)):totable())
      scale = 3
      assert.same({ 3, 6 }, v(roc.range(1, 2)):totable())
      scale = 0.5
      local y = v(roc.range(1, 2))
      assert.are.equal(roc.float64, y.dtype)
      assert.same({ 0.5, 1.0 }, y:totable())
    end)

    it("reads other captured values anew at each call, and their type", function()
      local convert, offset = roc.int8, roc.to_device(roc.ones(1, "float32"))
      local grow, host = function(x) return x * 2 end, roc.array({ 1 }, "int32")
      local v = roc.vectorize(function(x)
        return convert(x), grow(x), offset[1] + x, host[1] + x
      end)
      local x = roc.array({ 300 }, "int64")
      local function try(...)
        local results = { v(x) }
        for i, dtype in ipairs { ... } do
          assert.are.equal(roc[dtype], results[i].dtype)
          results[i] = results[i][1]
        end
        return results
      end
      assert.same({ 44, 600, 301.0, 301 }, try("int64", "int64", "float32", "int64"))
      convert, offset = roc.float32, roc.to_device(roc.full(1, 0.1))
      grow, host = function(y) return y / 8 end, roc.array { 0.5 }
      assert.same({ 300.0, 37.5, 300.1, 300.5 }, try("float32", "float64", "float64", "float64"))
      convert = function(y) return y > 0 end
      assert.same(true, try("bool")[1])
      convert = 5
      assert.is_false(pcall(v, x))
      convert = roc.float64
      assert.same(300.0, try("float64")[1])
      offset:close()
      assert_raises("captured array 'offset' was closed", function() v(x) end)
    end)

    it("is called again and again with arguments of one layout, and of others", function()
      local scale = 2
      local v = roc.vectorize(function(x, y) return x * scale + y end)
      local x, y = roc.range(1, 4), roc.array({ 10, 20, 30, 40 }, "int64")
      local out = roc.zeros(4, "int64")
      local d, e = devices.values({ 1, 2, 3, 4 }, "int64"), devices.values({ 5, 6, 7, 8 }, "int64")
      for round = 1, 3 do
        scale = round -- a number, which is read anew
        assert.same({ 10 + round, 20 + 2 * round, 30 + 3 * round, 40 + 4 * round },
          v(x, y):totable())
        assert.same({ 5 + round, 6 + 2 * round, 7 + 3 * round, 8 + 4 * round },
          devices.table(v(d, e)))
        assert.are.equal(out, v(x, 0, { out = out })) -- no new array
        assert.same({ round, 2 * round, 3 * round, 4 * round }, out:totable())
        assert.same({ 0.5 + round, 0.5 + 2 * round }, v(x:slice(1, 1, 2), 0.5):totable())
        assert.same({ 7 * round + 10, 7 * round + 20, 7 * round + 30, 7 * round + 40 },
          v(7, y):totable())
        assert.same({ { 11, 22, 33, 44 } },
          roc.vectorize(add)(x:reshape(1, 4), y:reshape(1, 4)):totable())
      end
      scale = 0.5 -- which makes floats of integers
      assert.same({ 10.5, 21.0, 31.5, 42.0 }, v(x, y):totable())
      scale = 2
      local z = roc.range(1, 5)
      for _ = 1, 3 do -- in place, and over elements that are still to be read
        v(x, x, { out = x })
        v(z:slice(1, 1, 4), 0, { out = z:slice(1, 2, 5) })
      end
      assert.same({ 27, 54, 81, 108 }, x:totable())
      assert.same({ 1, 2, 4, 8, 16 }, z:totable())
      d:close()
      assert_raises("vectorize_spec.lua:%d+: .*closed", function() v(d, e) end)
    end)

    it("keeps none of the arrays that it was called with", function()
      local v = roc.vectorize(add)
      local kept = setmetatable({}, { __mode = "k" })
      for shape = 1, 3 do
        local x = roc.ones(shape)
        kept[x], kept[v(x, x)] = true, true
        kept[v(x:reshape(1, shape), x)] = true
      end
      collectgarbage()
      collectgarbage()
      assert.is_nil(next(kept))
    end)

    it("computes plain numbers in the precision that is asked for", function()
      local halve = roc.vectorize(function(x) return x / 2 end, { number = "float32" })
      local y = halve(roc.range(1, 2))
      assert.are.equal(roc.float32, y.dtype)
      assert.same({ 0.5, 1.0 }, y:totable())
    end)

    it("takes functions that kernels know", function()
      assert.same({ 3.0, 4.0 }, roc.vectorize(math.sqrt)(roc.array { 9, 16 }):totable())
      assert.same({ 2, 5 }, roc.vectorize(math.max)(roc.array({ 1, 5 }, "int64"), 2):totable())
    end)

    it("works on a stream, and on arrays that are registered or smart", function()
      local v, s = roc.vectorize(add), roc.stream()
      local y = v(devices.values({ 1, 2 }, "int64"), 1, { stream = s })
      s:synchronize()
      assert.same({ 2, 3 }, devices.table(y))
      local r = roc.array({ 1, 2 }, "int64")
      local handle <close> = roc.register(r)
      assert.same({ 3, 4 }, v(r, 2):totable())
      local smart = roc.smart_array(roc.array({ 5, 6 }, "int64"))
      assert.same({ 8, 9 }, v(smart, 3):totable())
      v(smart, 1, { out = smart })
      assert.same({ 6, 7 }, smart:totable())
    end)

    it("reports a failed check with the function's line, and leaves out as it was", function()
      local divide = roc.vectorize(function(x, y) return x // y end)
      local out = roc.full(2, 9, "int64")
      assert_raises("vectorize_spec.lua:%d+: attempt to divide by zero", function()
        divide(roc.range(1, 2), roc.array({ 1, 0 }, "int64"), { out = out })
      end)
      assert.same({ 9, 9 }, out:totable())
    end)

    if device.kind == "cpu" then
      it("reports a fault of device arrays at the next wait, with the call's line", function()
        local y = roc.vectorize(function(x) return 1 // x end)(devices.values({ 0 }, "int64"))
        assert_raises("divide by zero.*launched at [^\n]*spec/lua/vectorize_spec.lua:%d+",
          function() return y[1] end)
      end)

      it("loops over rows where a launch cannot have an item for each", function()
        local a, row = roc.ones({ 66000, 129 }, "int8"), roc.range(1, 129, 1, "int8")
        local y = roc.vectorize(function(x, z) return roc.int8(x + z) end, { dtype = "int8" })(a,
          row)
        assert.are.equal(2, y[66000][1])
        assert.are.equal(100, y[65999][99])
        assert.are.equal(2, y[65536][1])
      end)
    end
  end)
end)

describe("roc.vectorize", function()
  local v = roc.vectorize(add)

  local function it_refuses(title, message, f)
    it("refuses " .. title .. ", at the caller's line", function()
      assert_raises("vectorize_spec.lua:%d+: .*" .. message, f)
    end)
  end

  it_refuses("what is no function",
    "bad argument #1 to 'vectorize' %(function expected, got number%)",
    function() roc.vectorize(1) end)
  it_refuses("a function without parameters", "has no parameters",
    function() roc.vectorize(function() return 1 end) end)
  it_refuses("a C function", "it is a C function", function() roc.vectorize(string.rep) end)
  it_refuses("an unknown option", "unknown option 'size'; known are check,",
    function() roc.vectorize(add, { size = 1 }) end)
  it_refuses("an unknown option of a call",
    "bad argument #3 to 'add' %(unknown option 'streams'; known are dtype, out, stream%)",
    function() v(roc.ones(1), 1, { streams = 1 }) end)
  it_refuses("too few arguments", "'add' takes 2 arguments, got 1", function() v(roc.ones(1)) end)
  it_refuses("other values",
    "bad argument #2 to 'add' %(array, number or boolean expected, got string%)",
    function() v(roc.ones(1), "1") end)
  it_refuses("shapes that do not broadcast",
    "bad argument #2 to 'add' %(shape {2, 4} does not broadcast with shape {3} of argument #1%)",
    function() v(roc.ones(3), roc.ones { 2, 4 }) end)
  it_refuses("an out of another shape", "bad option 'out' %(array of shape {3} expected, got {4}%)",
    function() v(roc.ones(3), 1, { out = roc.ones(4) }) end)
  it_refuses("an out that the arguments are too large for",
    "bad option 'out' %(array of shape {2, 3} expected, got {3}%)",
    function() v(roc.ones { 2, 3 }, 1, { out = roc.ones(3) }) end)
  it_refuses("an out that cannot hold the result",
    "the result is float64, which an array of int32 cannot hold",
    function() v(roc.ones(3), 1, { out = roc.ones(3, "int32") }) end)
  it_refuses("too many outs", "bad option 'out' %(1 expected, one a result, got 2%)",
    function() v(roc.ones(3), 1, { out = { roc.ones(3), roc.ones(3) } }) end)
  it_refuses("a list of outs with a gap", "bad option 'out' %(array expected, got nil%)",
    function()
      roc.vectorize(function(x) return x, x end)(roc.ones(2), { out = { nil, roc.ones(2) } })
    end)
  it_refuses("outs that share memory", "arrays 1 and 2 share memory", function()
    local out = roc.ones(3)
    roc.vectorize(function(x) return x, x end)(out, { out = { out, out } })
  end)
  it_refuses("a dtype that cannot hold the result",
    "the result is bool, which an array of float32 cannot hold",
    function() roc.vectorize(function(x) return x > 0 end)(roc.ones(1), { dtype = "float32" }) end)
  it_refuses("an unknown dtype", "bad option 'dtype' %(a dtype expected, got \"float\"; write .*%)",
    function() v(roc.ones(1), 1, { dtype = "float" }) end)
  it_refuses("a function that gives nothing", "gives no value",
    function() roc.vectorize(function(x) local _ = x end)(roc.ones(1)) end)
  it_refuses("a closed array", "closed", function()
    local d = roc.to_device(roc.ones(1))
    d:close()
    v(d, 1)
  end)
  local where = "an array is on device 'sim', another on 'cpu'"
  it_refuses("arrays of different devices", where, function()
    local function on(name)
      local scope <close> = roc.on_device(name)
      return roc.to_device(roc.ones(1))
    end
    v(on "cpu", on "sim")
  end)
  for _, n in ipairs { 0, 1 } do
    it_refuses(("what is no stream for %d elements"):format(n),
      "bad option 'stream' %(roc.Stream expected, got number%)",
      function() v(roc.ones(n), 1, { stream = 1 }) end)
  end

  local wrong = {
    { "check", 1, "boolean expected, got number" },
    { "contract", "yes", 'boolean expected, got "yes"' },
    { "dtype", 7, "a dtype expected, got number" },
    { "dtype", { roc.float32, "float" }, 'a dtype expected, got "float"; write .*' },
    { "fastmath", 0, "boolean expected, got number" },
    { "name", 5, "a name expected, got number" },
    { "number", "int8", '"float32" or "float64" expected, got "int8"' },
  }
  for i, case in ipairs(wrong) do
    local name, value, why = table.unpack(case)
    it_refuses(("a wrong option of the builder (%d)"):format(i),
      ("bad option '%s' %%(%s%%)"):format(name, why),
      function() roc.vectorize(add, { [name] = value }) end)
  end

  it("makes one kernel for arguments of the same kinds", function()
    collectgarbage()
    local before, x = collectgarbage("count"), roc.ones(4)
    for _ = 1, 50 do v(x, 1) end
    collectgarbage()
    assert.is_true(collectgarbage("count") - before < 200)
  end)
end)
