-- Random arrays: reproducible, of the right distribution, never out of range.
local roc = require "roc"

local function moments(a)
  local n, sum, squares = #a, 0, 0
  for i = 1, n do sum, squares = sum + a[i], squares + a[i] * a[i] end
  local mean = sum / n
  return mean, squares / n - mean * mean
end

describe("roc.seed", function()
  it("makes the same arrays again", function()
    local function draw(seed)
      roc.seed(seed)
      return roc.random(5), roc.random_normal(3), roc.random_integers(1, 100, 7)
    end
    local a, b, c = draw(42)
    local d, e, f = draw(42)
    assert.is_true(roc.array_equal(a, d) and roc.array_equal(b, e) and roc.array_equal(c, f))
    assert.is_false(roc.array_equal(a, (draw(43))))
    assert.is_false(roc.array_equal((draw(1.5)), (draw(2.5))))
  end)

  it("starts xoshiro256** through splitmix64", function()
    -- The first output for seed 0, from the authors' reference code.
    roc.seed(0)
    assert.equal(0x99ec5f36cb75f2b4, roc.random_integers(math.mininteger, math.maxinteger,
      1)[1] + math.mininteger)
  end)

  it("wants a number", function()
    assert.error_matches(function() roc.seed("x") end, "number expected")
  end)
end)

describe("roc.random", function()
  it("is uniform in [0, 1)", function()
    roc.seed(1)
    for _, dtype in ipairs { "float64", "float32", "float16", "bfloat16" } do
      local a = roc.random(20000, dtype)
      assert.equal(roc[dtype], a.dtype)
      local lowest, highest = 1, 0
      for i = 1, #a do lowest, highest = math.min(lowest, a[i]), math.max(highest, a[i]) end
      assert.is_true(lowest >= 0 and lowest < 0.01)
      assert.is_true(highest < 1 and highest > 0.99)
      local mean, variance = moments(a)
      assert.near(0.5, mean, 0.01)
      assert.near(1 / 12, variance, 0.005)
    end
  end)

  it("fills all bits of the mantissa", function()
    roc.seed(2)
    local a = roc.random(200)
    local bits = 0
    for i = 1, #a do bits = bits | math.tointeger(a[i] * 2.0 ^ 53) end
    assert.equal((1 << 53) - 1, bits)
  end)

  it("takes shapes, and only float dtypes", function()
    assert.same({ 2, 3 }, roc.random({ 2, 3 }).shape)
    assert.same({ 0 }, roc.random(0).shape)
    assert.error_matches(function() roc.random(3, "int8") end,
      "float dtype expected, got int8; see random_integers")
    assert.error_matches(function() roc.random_normal(3, "bool") end, "float dtype expected")
  end)
end)

describe("roc.random_normal", function()
  it("has mean 0, variance 1 and normal tails", function()
    roc.seed(3)
    local a = roc.random_normal(40001)
    local mean, variance = moments(a)
    assert.near(0, mean, 0.02)
    assert.near(1, variance, 0.03)
    local within = 0
    for i = 1, #a do
      if math.abs(a[i]) < 1.959964 then within = within + 1 end
    end
    assert.near(0.95, within / #a, 0.005)
  end)
end)

describe("roc.random_integers", function()
  it("reaches both ends and is even between them", function()
    roc.seed(4)
    local counts = { 0, 0, 0, 0, 0, 0 }
    local a = roc.random_integers(1, 6, 60000)
    assert.equal(roc.int64, a.dtype)
    for i = 1, #a do counts[a[i]] = counts[a[i]] + 1 end
    for face = 1, 6 do assert.near(10000, counts[face], 400) end
  end)

  it("covers the whole range of integers", function()
    local a = roc.random_integers(math.mininteger, math.maxinteger, 100)
    local any, all = 0, -1
    for i = 1, #a do any, all = any | a[i], all & a[i] end
    assert.equal(-1, any)
    assert.equal(0, all)
    assert.same({ 7, 7 }, roc.random_integers(7, 7, 2):totable())
    local b = roc.random_integers(-3, -1, 100, "int8")
    for i = 1, #b do assert.is_true(b[i] >= -3 and b[i] <= -1) end
  end)

  it("refuses an empty interval and bounds that the dtype does not hold", function()
    assert.error_matches(function() roc.random_integers(2, 1, 3) end, "interval is empty")
    assert.error_matches(function() roc.random_integers(0, 300, 3, "uint8") end,
      "300 does not fit uint8")
    assert.error_matches(function() roc.random_integers(-1, 1, 3, "uint64") end,
      "%-1 does not fit uint64")
    assert.error_matches(function() roc.random_integers(0, (1 << 24) + 1, 3, "float32") end,
      "does not fit float32")
    assert.error_matches(function() roc.random_integers(0, 1, 3, "bool") end,
      "numbers expected, got bool")
    assert.error_matches(function() roc.random_integers(0.5, 1, 3) end, "no integer representation")
  end)
end)
