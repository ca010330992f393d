-- Operations made before: their kernels are kept, and give what the general way gives.
local roc = require "roc"
local elementwise = require "roc.arrays.elementwise"
local devices = require "support.devices"
local kernels_made = require "support.kernels_made"

-- Rows of test shapes that broadcast to {4, 3, 5} or less.
local SHAPES = { { 4, 3, 5 }, { 3, 5 }, { 5 }, { 1 }, { 4, 1, 5 }, { 4, 3, 1 }, { 1, 1, 1 },
  { 3, 1 } }

-- An array of that shape with small integers, laid out in one of several ways.
local function make(shape, layout, dtype, device)
  local size = 1
  for _, extent in ipairs(shape) do size = size * extent end
  local values = {}
  for i = 1, 2 * size do values[i] = (i * 7 + layout) % 11 + 1 end
  local flat = roc.array(values, dtype)
  if device then flat = roc.to_device(flat) end
  if layout == 1 then return flat:slice(1, 1, size):reshape(shape) end
  if layout == 2 then return flat:slice(1, 1, 2 * size, 2):reshape(shape) end
  if layout == 3 then return flat:slice(1, size, 1, -1):reshape(shape) end
  return flat:slice(1, 1, size):reshape(shape, { order = "F" })
end

local function assert_same(expected, got, what)
  assert.equal(expected.dtype, got.dtype, what)
  assert.same(expected.shape, got.shape, what)
  assert.same(expected.strides, got.strides, what)
  if expected.device then expected, got = expected:copy_to_host(), got:copy_to_host() end
  assert.same(expected:totable(), got:totable(), what)
end

local function specs(device)
  it("do not make their kernel again, whatever the extents", function()
    local function run(n)
      local a, b = make({ n }, 1, "float32", device), make({ n }, 2, "float32", device)
      local c = a * b - 2.5
      return roc.math.sqrt(c):gt(b), c ^ 2, -a, roc.where(a:lt(b), a, 1)
    end
    run(1) -- the loops of one element are others
    run(10)
    assert.equal(0, kernels_made(function()
      for n = 1, 20 do run(n) end
    end))
  end)

  it("of other dtypes, loops or numbers are other operations", function()
    local a = make({ 4 }, 1, "int16", device)
    local results = {}
    for i, b in ipairs { 2, 2.5, make({ 4 }, 1, "float32", device), make({ 4 }, 1, "int16", device),
      make({ 1 }, 1, "int16", device) } do
      results[i] = (a ^ b).dtype.name
    end
    assert.same({ "float64", "float64", "float32", "float64", "float64" }, results)
    local squares = a ^ 2
    assert.same({ 81, 25, 1, 64 }, (device and squares:copy_to_host() or squares):totable())
  end)

  it("give in every layout what the general way gives", function()
    for i, shape in ipairs(SHAPES) do
      for j, other in ipairs(SHAPES) do
        local layout = (i + j) % 4 + 1
        local a = make(shape, layout, "float32", device)
        local b = make(other, (i * j) % 4 + 1, "int32", device)
        for _, name in ipairs { "sub", "lt", "maximum" } do
          assert_same(elementwise.general(name, a, b), elementwise.apply(name, a, b),
            string.format("%s of shapes %d and %d", name, i, j))
        end
      end
    end
  end)

  it("serve empty arrays, reductions and sorting", function()
    local a = make({ 3, 50 }, 1, "float32", device)
    local none = a:slice(1, 1, 0)
    assert.same({ 0, 50 }, (none + 1).shape)
    local function run()
      return a:sum(), a:sum { axis = 1 }, a:argmax(), a:var(), a:sort(), a:argsort()
    end
    run()
    assert.equal(0, kernels_made(run))
  end)
end

describe("operations made before, of host arrays", function()
  specs(false)

  it("name the script's line", function()
    local a = roc.array({ 1, 2 }, "int32")
    for _ = 1, 2 do
      local _, fault = pcall(function() return a // 0 end)
      assert.matches("kept_spec.lua:%d+", tostring(fault))
      local _, why = pcall(function() return a + roc.zeros(3) end)
      assert.matches("^%S*kept_spec.lua:%d+: bad operand", why)
    end
  end)

  it("refuse kinds every time", function()
    local a = roc.ones(3)
    for _ = 1, 2 do
      assert.error_matches(function() return a + a:eq(1) end, "numbers expected, got bool")
      assert.error_matches(function() return a & a end, "integers or bool expected")
    end
  end)
end)

describe("operations made before, of device arrays", function()
  devices.each(function()
    specs(true)

    it("refuse closed arrays", function()
      local a, closed = roc.to_device(roc.ones(3)), roc.to_device(roc.ones(3))
      assert.same({ 2, 2, 2 }, (a + closed):copy_to_host():totable())
      closed:close()
      assert.error_matches(function() return a + closed end, "closed")
    end)

    it("may be the last use of their operands", function()
      local results = {}
      for i = 1, 300 do
        local a <close> = roc.to_device(roc.full(64, i, "int64"))
        results[i % 7] = a * 2 + 1
      end
      collectgarbage()
      for i = 294, 300 do assert.equal(2 * i + 1, results[i % 7][64]) end
    end)
  end)
end)
