-- roc.guvectorize against plain Lua loops, on every device.
local roc = require "roc"
local devices = require "support.devices"

local function assert_raises(pattern, f)
  local ok, why = pcall(f)
  assert.is_false(ok)
  assert.matches(pattern, tostring(why))
end

local function product(a, b, out)
  for i = 1, a.shape[1] do
    for j = 1, b.shape[2] do
      local sum = 0
      for k = 1, #b do sum = sum + a[i][k] * b[k][j] end
      out[i][j] = sum
    end
  end
end

local function dot(x, y, out)
  local sum = 0
  for i = 1, #x do sum = sum + x[i] * y[i] end
  out[1] = sum
end

local function scale(x, factor, out)
  for i = 1, #x do out[i] = x[i] * factor end
end

devices.each(function()
  describe("roc.guvectorize", function()
    it("applies a function of matrices", function()
      local matmul = roc.guvectorize(product, "(m,n),(n,p)->(m,p)")
      local a, b = roc.range(1, 6):reshape(2, 3), roc.range(1, 12):reshape(3, 4)
      assert.same({ { 38, 44, 50, 56 }, { 83, 98, 113, 128 } }, matmul(a, b):totable())
    end)

    it("applies it along broadcast outer dimensions", function()
      local matmul = roc.guvectorize(product, "(m,n),(n,p)->(m,p)")
      local a, b = roc.range(1, 24):reshape(3, 1, 2, 4), roc.range(1, 40):reshape(2, 4, 5)
      local y = matmul(a, b)
      assert.same({ 3, 2, 2, 5 }, y.shape)
      for i = 1, 3 do
        for j = 1, 2 do
          local expected = matmul(a[i][1], b[j])
          assert.is_true(roc.array_equal(expected, y[i][j]))
        end
      end
      assert.are.equal(5 * 21 + 6 * 26 + 7 * 31 + 8 * 36, y:get(1, 2, 2, 1))
    end)

    it("gives the outer shape where a result has no core", function()
      local v = roc.guvectorize(dot, "(n),(n)->()")
      local y = v(roc.range(1, 6, 1, "float32"):reshape(2, 3), roc.ones(3, "float32"))
      assert.same({ 6.0, 15.0 }, y:totable())
      assert.are.equal(roc.float32, y.dtype)
      assert.same({ 14 }, v(roc.range(1, 3), roc.range(1, 3)):totable())
    end)

    it("walks as many outer dimensions as an array has, also without a core", function()
      local v = roc.guvectorize(function(x, y) y[1] = x + 1 end, "()->()")
      local shape = { 1, 2, 1, 2, 1, 2, 1, 2 }
      local y = v(roc.range(1, 16):reshape(shape))
      assert.same(shape, y.shape)
      assert.same(roc.range(2, 17):totable(), y:reshape(16):totable())
      local x = roc.range(1, 2 ^ 8 // 1):reshape(2, 2, 2, 2, 2, 2, 2, 2)
      assert.are.equal(3, v(x):get(1, 1, 1, 1, 1, 1, 1, 2))
      local ok, why = pcall(v, x, { out = x:transpose(2, 1, 4, 3, 6, 5, 8, 7) })
      assert.is_false(ok)
      assert.matches("cannot walk 8 outer dimensions of a result without core dimensions", why)
    end)

    it("takes numbers and elements where an argument has no core", function()
      local v = roc.guvectorize(scale, "(n),()->(n)")
      local m = roc.range(1, 6):reshape(2, 3)
      assert.same({ { 10, 20, 30 }, { 40, 50, 60 } }, v(m, 10):totable())
      assert.same({ { 2, 4, 6 }, { 12, 15, 18 } }, v(m, roc.array({ 2, 3 }, "int64")):totable())
    end)

    it("takes strided views of host and device arrays", function()
      local v = roc.guvectorize(scale, "(n),()->(n)")
      local m = roc.range(1, 12):reshape(3, 4)
      for _, a in ipairs { m, roc.to_device(m) } do
        local y = v(a:transpose():slice(1, 1, 4, 3), 1)
        assert.same({ { 1, 5, 9 }, { 4, 8, 12 } }, y.device and devices.table(y) or y:totable())
      end
    end)

    it("writes into arrays given as out, and over its arguments", function()
      local v = roc.guvectorize(scale, "(n),()->(n)")
      local out = roc.zeros({ 2, 3 }, "float32")
      assert.are.equal(out, v(roc.array { 1, 2, 3 }, 2, { out = out }))
      assert.same({ { 2.0, 4.0, 6.0 }, { 2.0, 4.0, 6.0 } }, out:totable())
      local reverse = roc.guvectorize(function(x, y)
        for i = 1, #x do y[i] = x[#x + 1 - i] end
      end, "(n)->(n)")
      local x = devices.values({ 1, 2, 3, 4 }, "int64")
      reverse(x, { out = x })
      assert.same({ 4, 3, 2, 1 }, devices.table(x))
    end)

    it("has several results, fixed extents, and extents that only out has", function()
      local v = roc.guvectorize(function(x, low_high, copy)
        low_high[1], low_high[2] = math.min(x[1], x[2], x[3]), math.max(x[1], x[2], x[3])
        for i = 1, #copy do copy[i] = x[1] end
      end, " ( 3 ) -> (2), (p)")
      local a, b = roc.zeros({ 2, 2 }, "int64"), roc.zeros({ 2, 5 }, "int64")
      v(roc.array({ { 3, 1, 2 }, { 5, 6, 4 } }, "int64"), { out = { a, b } })
      assert.same({ { 1, 3 }, { 4, 6 } }, a:totable())
      assert.same({ { 3, 3, 3, 3, 3 }, { 5, 5, 5, 5, 5 } }, b:totable())
    end)

    it("gives empty arrays for empty outer dimensions, and runs for empty cores", function()
      local v = roc.guvectorize(dot, "(n),(n)->()")
      assert.same({ 0 }, v(roc.zeros { 0, 3 }, roc.zeros(3)).shape)
      assert.same({ 0.0, 0.0 }, v(roc.zeros { 2, 0 }, roc.zeros(0)):totable())
    end)

    it("takes the dtype that is asked for, else what the arguments have in common", function()
      local v = roc.guvectorize(scale, "(n),()->(n)")
      assert.are.equal(roc.float16, v(roc.ones(2, "float32"), 1, { dtype = "float16" }).dtype)
      assert.are.equal(roc.int32, v(roc.ones(2, "int32"), 1).dtype)
      assert.are.equal(roc.int64, v(roc.ones(2, "int32"), roc.ones(1, "int8")).dtype)
      assert.are.equal(roc.float32, v(roc.ones(2, "int32"), roc.ones(1, "float32")).dtype)
      assert.are.equal(roc.float64, v(roc.ones(2, "float64"), roc.ones(1, "float32")).dtype)
    end)

    it("works on a stream", function()
      local s = roc.stream()
      local y = roc.guvectorize(scale, "(n),()->(n)")(devices.values({ 1, 2 }, "int64"), 3,
        { stream = s })
      s:synchronize()
      assert.same({ 3, 6 }, devices.table(y))
    end)
  end)
end)

describe("roc.guvectorize", function()
  local v = roc.guvectorize(product, "(m,n),(n,p)->(m,p)")

  local function it_refuses(title, message, f)
    it("refuses " .. title .. ", at the caller's line", function()
      assert_raises("guvectorize_spec.lua:%d+: .*" .. message, f)
    end)
  end

  it_refuses("what is no signature",
    "bad argument #2 to 'guvectorize' %(a signature like .* expected, got nil%)",
    function() roc.guvectorize(dot) end)
  it_refuses("a signature without an arrow", "'%->' expected",
    function() roc.guvectorize(dot, "(n),(n)") end)
  it_refuses("a signature without parentheses", "core dimensions in parentheses expected",
    function() roc.guvectorize(dot, "n,n->()") end)
  it_refuses("a signature without results", "core dimensions in parentheses expected",
    function() roc.guvectorize(dot, "(n),(n)->") end)
  it_refuses("a bad name of a dimension", "'n%+1' is no name of a dimension",
    function() roc.guvectorize(dot, "(n),(n+1)->()") end)
  it_refuses("a missing comma", "a comma expected at '%(n%)'",
    function() roc.guvectorize(dot, "(n)(n)->()") end)
  it_refuses("a signature of another count",
    "has 2 arguments and results, function 'dot' 3 parameters",
    function() roc.guvectorize(dot, "(n)->(n)") end)
  it_refuses("too few arguments", "'product' takes 2 arguments, got 1",
    function() v(roc.ones { 2, 2 }) end)
  it_refuses("too few dimensions",
    "bad argument #2 to 'product' %(2 dimensions expected for %(n,p%), got shape {3}%)",
    function() v(roc.ones { 2, 3 }, roc.ones(3)) end)
  it_refuses("core dimensions that clash",
    "bad argument #2 to 'product' %(dimension n is 4 here, 3 of argument #1 to 'product'%)",
    function() v(roc.ones { 2, 3 }, roc.ones { 4, 2 }) end)
  it_refuses("a clash with a fixed extent", "dimension 3 is 2 here, 3 in the signature",
    function() roc.guvectorize(function(x, y) y[1] = x[1] end, "(3)->()")(roc.ones(2)) end)
  it_refuses("outer shapes that do not broadcast",
    "outer shape {3} does not broadcast with outer shape {2} of argument #1",
    function() v(roc.ones { 2, 2, 2 }, roc.ones { 3, 2, 2 }) end)
  it_refuses("a number where there is a core",
    "array with core dimensions %(n,p%) expected, got number",
    function() v(roc.ones { 2, 2 }, 1) end)
  it_refuses("other values", "array, number or boolean expected, got string",
    function() v(roc.ones { 2, 2 }, "1") end)
  it_refuses("an extent that nothing tells",
    "dimension p of result 1 of .* is in no argument; give option 'out'",
    function() roc.guvectorize(function(x, y) y[1] = x[1] end, "(n)->(p)")(roc.ones(2)) end)
  it_refuses("an out of another shape",
    "bad option 'out' %(array of shape {3, 2, 2} expected, got {2, 2, 2}%)",
    function() v(roc.ones { 3, 2, 2 }, roc.ones { 2, 2 }, { out = roc.ones { 2, 2, 2 } }) end)
  it_refuses("dtypes of another count", "bad option 'dtype' %(1 expected, one a result, got 2%)",
    function() roc.guvectorize(dot, "(n),(n)->()", { dtype = { "int8", "int8" } }) end)
  it_refuses("a call's dtypes of another count",
    "bad option 'dtype' %(1 expected, one a result, got 0%)",
    function() v(roc.ones { 1, 1 }, roc.ones { 1, 1 }, { dtype = {} }) end)
  it_refuses("an unknown option", "unknown option 'axis'",
    function() v(roc.ones { 2, 2 }, roc.ones { 2, 2 }, { axis = 1 }) end)
end)
