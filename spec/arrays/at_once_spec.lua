-- Operations on few elements of host arrays: the code of an earlier call is called as it is, found
-- by what the types of its arguments follow from.  A wrong guess would show in what it computes.
local roc = require "roc"

local NAMES = { "int8", "int64", "float32" }

local OPERATIONS = {
  function(a, b) return a + b end,
  function(a, b) return a / b end,
}

local function values(n, dtype, order)
  local a = roc.zeros(n, dtype, order)
  local flat = a:ravel(order or "C")
  for i = 1, #flat do flat[i] = (i * 7 + 3) % 11 + 1 end
  return a
end

-- What sim has; the first call on cpu makes the kernel, and later ones find its code.
local function check(f, ...)
  local expected
  do
    local scope <close> = roc.on_device "sim"
    expected = f(...)
  end
  for round = 1, 4 do
    local result = f(...)
    assert.equal(expected.dtype, result.dtype)
    assert.same(expected.shape, result.shape)
    assert.same(expected.strides, result.strides)
    assert(roc.array_equal(expected, result), "round " .. round)
  end
end

describe("Operations on few elements", function()
  for _, name in ipairs(NAMES) do
    it("of " .. name .. " are the same on sim, again and again", function()
      local a, one = values(10, name), values(1, name)
      for _, f in ipairs(OPERATIONS) do
        check(f, a, values(10, "float32"))
        check(f, values(10, "float32"), a)
        for _, number in ipairs { 3, -3, 1 << 20, (1 << 30) - 1, 1 << 30, 1 << 40, 1.5 } do
          check(f, a, number)
          check(f, number, a)
          check(f, one, number)
        end
        check(f, a, one)
        check(f, one, a)
        check(f, one, values(1, name))
        check(f, a, a)
      end
      check(function(x, y) return x:lt(y) end, a, values(10, "int64"))
      check(function(x, y) return x:lt(y) end, a, 5)
    end)
  end

  it("are those of each layout and shape", function()
    local c, f = values({ 3, 4 }, "float32"), values({ 3, 4 }, "float32", "F")
    local row, column, line = values({ 1, 4 }, "float32"), values({ 3, 1 }, "float32"), values(12)
    for _, pair in ipairs { { c, c }, { f, f }, { c, f }, { f, c }, { c, row }, { f, column },
      { c, 2 }, { f, 2 }, { column, row }, { line, values({ 1, 12 }) }, { values({ 1, 1, 1 }), c },
      { line:slice(1, 12, 1, -1), line }, { line:slice(1, 1, 12, 2), values(6) },
      { c:transpose(), f:transpose() }, { values({ 4, 1 }), values({ 4, 1 }, nil, "F") } } do
      for _, g in ipairs(OPERATIONS) do check(g, pair[1], pair[2]) end
    end
  end)

  it("see what their operands have become", function()
    local a, b = values(8, "float32"), values(8, "float32")
    local function sum() return a + b end
    for i = 1, 4 do
      a[1] = i
      assert.equal(i + b[1], sum()[1])
    end
    local device = roc.to_device(a * 3)
    device:copy_to_host(b)
    assert.equal(a[1] * 4, sum()[1])
  end)

  it("take a plain 2 as an exponent apart", function()
    local a = values(8, "float32")
    for _, exponent in ipairs { 2, 3, 2.0, 0.5, 2 } do
      check(function(x, e) return x ^ e end, a, exponent)
    end
    check(function(x, e) return x ^ e end, a, values(8, "float32"))
  end)

  it("raise what fails, each time", function()
    local a = roc.array({ 4, 2 }, "int64")
    for _ = 1, 4 do
      assert.same({ 2, 1 }, (a // roc.array({ 2, 2 }, "int64")):totable())
      assert.error_matches(function() return a // roc.array({ 2, 0 }, "int64") end, "zero")
      assert.error_matches(function() return a + roc.zeros(3) end, "broadcast")
    end
  end)

  it("of many kinds find the kernels of their own", function()
    local arrays = {}
    for i, name in ipairs(NAMES) do arrays[i] = values(6, name) end
    for _ = 1, 3 do
      for _, a in ipairs(arrays) do
        for _, b in ipairs(arrays) do
          local sum = a + b
          assert.equal(a[2] + b[2], sum[2])
          assert.equal(a[6] * b[6], (a * b)[6])
        end
      end
    end
  end)

  it("take smart, registered and pending operands, too", function()
    local a = values(8, "float32")
    local smart = roc.smart_array(values(8, "float32"))
    local double = roc.kernel(function(x)
      local i = roc.get_global_id(1)
      if i <= #x then x[i] = x[i] * 2 end
    end)
    for i = 1, 3 do
      check(OPERATIONS[1], a, a)
      assert.equal(a[3] + smart[3], (a + smart)[3])
      double:forall(8)(smart)
      assert.equal(a[3] + a[3] * 2 ^ i, (a + smart)[3])
    end
    local long = roc.ones(8192, "float32") * 2 -- is pending
    assert.equal(6, (long:slice(1, 1, 8) + a * 0 + 4)[1])
  end)
end)
