-- Random generators: the published vectors, a generator written in plain Lua, moments and
-- chi-square at fixed seeds; and the same numbers on every device.
local roc = require "roc"
local devices = require "support.devices"

local function host(array)
  return array.device and array:copy_to_host() or array
end

-- Philox4x32-10, written again: the words of one block.
local function philox(seed, sequence, block)
  local x = { block & 0xffffffff, block >> 32, sequence & 0xffffffff, sequence >> 32 }
  local key = { seed & 0xffffffff, seed >> 32 }
  for _ = 1, 10 do
    local a, b = 0xD2511F53 * x[1], 0xCD9E8D57 * x[3]
    x = { (b >> 32) ~ x[2] ~ key[1], b & 0xffffffff, (a >> 32) ~ x[4] ~ key[2], a & 0xffffffff }
    key = { key[1] + 0x9E3779B9 & 0xffffffff, key[2] + 0xBB67AE85 & 0xffffffff }
  end
  return x
end

-- Words 1 to n of a generator that begins at a block; `wide`: of 64 bits.
local function words(seed, sequence, block, n, wide)
  local list = {}
  while #list < n do
    local w = philox(seed, sequence, block)
    if wide then w = { w[1] | w[2] << 32, w[3] | w[4] << 32 } end
    for _, word in ipairs(w) do
      if #list < n then list[#list + 1] = word end
    end
    block = block + 1
  end
  return list
end

local function mapped(list, f)
  local result = {}
  for i, v in ipairs(list) do result[i] = f(v) end
  return result
end

-- The sum of (found - expected)^2 / expected over the bins, all equally probable.
local function chi_square(counts, n)
  local expected, sum = n / #counts, 0
  for i = 1, #counts do sum = sum + (counts[i] - expected) ^ 2 / expected end
  return sum
end

local function specs(options)
  local function rng(seed, sequence, position)
    return roc.rng(seed,
      { sequence = sequence, position = position, device = options and options.device })
  end

  it("gives the published vectors of Philox4x32-10", function()
    -- { key, counter's upper half, counter's lower half, words }, of the Random123 distribution
    for _, row in ipairs {
      { 0, 0, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
      { -1, -1, -1, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
      { 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88,
        { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    } do
      local found = rng(row[1], row[2], row[3]):integers(0, 0xffffffff, 4, "uint32")
      assert.same(row[4], host(found):totable())
      assert.same(row[4], philox(row[1], row[2], row[3]))
    end
  end)

  it("makes uniform numbers of the upper bits of words", function()
    for dtype, bits in pairs { float16 = 11, bfloat16 = 8, float32 = 24 } do
      for n = 1, 9 do
        local expected = mapped(words(5, 6, 7, n),
          function(w) return (w >> 32 - bits) / 2.0 ^ bits end)
        assert.same(expected, host(rng(5, 6, 7):uniform(n, dtype)):totable())
      end
    end
    local expected = mapped(words(5, 6, 7, 5, true), function(w) return (w >> 11) / 2.0 ^ 53 end)
    assert.same(expected, host(rng(5, 6, 7):uniform(5)):totable())
  end)

  it("makes normal numbers of pairs of words", function()
    local function check(dtype, list, of_first, of_second, tolerance)
      local found = host(rng(5, 6, 7):normal(#list, dtype)):totable()
      for k = 1, #list, 2 do
        local radius = math.sqrt(-2 * math.log(of_first(list[k])))
        local angle = of_second(list[k + 1])
        assert.near(radius * math.cos(angle), found[k], tolerance)
        assert.near(radius * math.sin(angle), found[k + 1], tolerance)
      end
    end
    local function angle(quadrant, part) return (quadrant + part / 2) * math.pi / 2 end
    check("float32", words(5, 6, 7, 600), function(w) return (2 * w + 1) / 2.0 ^ 33 end,
      function(w) return angle(w >> 30, ((w & 0x3fffffff) - 2 ^ 29) / 2 ^ 29) end, 2e-6)
    check("float64", words(5, 6, 7, 600, true), function(w) return (w >> 2 | 1) / 2.0 ^ 62 end,
      function(w) return angle(w >> 62, ((w & (1 << 62) - 1) - (1 << 61)) / 2.0 ^ 61) end, 4e-15)
  end)

  it("makes integers without bias", function()
    local function expected(low, high, n)
      local list, range = {}, high - low + 1
      for i = 1, n do
        local block, lane, again = 7 + (i - 1) // 4, (i - 1) % 4 + 1, 0
        local product
        repeat
          product = philox(5, 6, block ~ again << 48)[lane] * range
          again = again + 1
        until product & 0xffffffff >= (1 << 32) % range
        list[i] = low + (product >> 32)
      end
      return list
    end
    local half = 1 << 31
    for _, bounds in ipairs { { 1, 6 }, { -3, -3 }, { 0, 3 << 30 }, { -half, half - 1 } } do
      local low, high = bounds[1], bounds[2]
      assert.same(expected(low, high, 30),
        host(rng(5, 6, 7):integers(low, high, 30)):totable())
    end
    local lowest, highest = math.mininteger, math.maxinteger
    assert.same(mapped(words(5, 6, 7, 9, true), function(w) return lowest + w end),
      host(rng(5, 6, 7):integers(lowest, highest, 9)):totable())
    local some = host(rng(1):integers(-2, 1 << 32, { 10, 20 }))
    assert.is_true(some:min() >= -2 and some:max() <= 1 << 32 and some:max() > 1 << 31)
    local dice = host(rng(1):integers(250, 255, 60, "uint8"))
    assert.same({ 250, 255, "uint8" }, { dice:min(), dice:max(), dice.dtype.name })
  end)

  it("goes on where the last call ended", function()
    local g = rng(9)
    local first, second = host(g:uniform(5, "float32")), host(g:uniform({ 2, 2 }, "float32"))
    assert.equal(3, g.position)
    assert.same(mapped(words(9, 0, 2, 4), function(w) return (w >> 8) / 2.0 ^ 24 end),
      host(second:ravel()):totable())
    local again = rng(9)
    assert.is_true(roc.array_equal(first, host(again:uniform(5, "float32"))))
    local later = rng(g.seed, g.sequence, g.position)
    assert.is_true(roc.array_equal(host(g:normal(4)), host(later:normal(4))))
    assert.same({ 0, 3 }, (rng(9):uniform { 0, 3 }).shape)
    assert.equal(0, rng(9).position)
  end)

  it("permutes and chooses", function()
    local order = host(rng(3):permutation(100)):totable()
    assert.not_same(host(roc.range(1, 100)):totable(), order)
    table.sort(order)
    assert.same(roc.range(1, 100):totable(), order)
    assert.same({ 0 }, (rng(3):permutation(0)).shape)
    local rows = roc.array({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, "int16")
    if options then rows = roc.to_device(rows) end
    local sums = host(rng(3):permutation(rows):sum { axis = 1 }):totable()
    assert.same({ 9, 12 }, sums)
    local chosen = host(rng(3):choice(rows, { 4, 5 }))
    assert.same({ 4, 5, 2 }, chosen.shape)
    for i = 1, 4 do
      for j = 1, 5 do assert.equal(chosen[i][j][1] + 1, chosen[i][j][2]) end
    end
    local distinct = host(rng(3):choice(50, { 2, 5 }, { replace = false }))
    assert.equal(10, distinct:unique().size)
    assert.is_true(distinct:min() >= 1 and distinct:max() <= 50)
    local weighted = host(rng(3):choice(4, 400, { weights = { 0, 1, 3, 0 } }))
    assert.same({ 0, 400 }, { weighted:eq(1):count() + weighted:eq(4):count(),
      weighted:eq(2):count() + weighted:eq(3):count() })
    assert.near(300, weighted:eq(3):count(), 4 * math.sqrt(400 * 0.75 * 0.25))
  end)

  if options then
    it("gives the bits that it gives on the host", function()
      local g, h = rng(11), roc.rng(11)
      for _, dtype in ipairs { "float16", "bfloat16", "float32", "float64" } do
        for _, name in ipairs { "uniform", "normal" } do
          local a, b = g[name](g, 203, dtype), h[name](h, 203, dtype)
          assert.equal(b:tobytes(), host(a):tobytes(), name .. " " .. dtype)
        end
      end
      for _, span in ipairs { 5, 1 << 31, 1 << 40 } do
        assert.equal(h:integers(0, span, 99):tobytes(), host(g:integers(0, span, 99)):tobytes())
      end
      assert.equal(h:permutation(70):tobytes(), host(g:permutation(70)):tobytes())
      local options_of_weights = { weights = { 1, 2, 0.5 } }
      assert.equal(h:choice(3, 50, options_of_weights):tobytes(),
        host(g:choice(3, 50, options_of_weights)):tobytes())
      assert.equal(h.position, g.position)
    end)
  end
end

describe("roc.rng on the host", function()
  specs()

  it("has the moments and the distribution that it should", function()
    local g, n = roc.rng(20), 200000
    for _, dtype in ipairs { "float32", "float64" } do
      local u = g:uniform(n, dtype):astype "float64"
      assert.near(0.5, u:mean(), 5 * math.sqrt(1 / 12 / n))
      assert.near(1 / 12, u:var(), 5 * math.sqrt(1 / 180 / n))
      local bins = roc.math.floor(u * 100):astype("int64"):bincount { first = 0, bins = 100 }
      assert.near(99, chi_square(bins, n), 5 * math.sqrt(2 * 99))
      local z = g:normal(n, dtype):astype "float64"
      assert.near(0, z:mean(), 5 / math.sqrt(n))
      assert.near(1, z:var(), 5 * math.sqrt(2 / n))
      assert.near(0, (z * z * z):mean(), 5 * math.sqrt(15 / n))
      assert.near(3, (z ^ 2 * z ^ 2):mean(), 5 * math.sqrt(96 / n))
      -- erf brings the normal distribution to a uniform one
      local p = (roc.math.erf(z * math.sqrt(0.5)) + 1) * 50
      local of_normal = roc.math.floor(p):astype("int64"):bincount { first = 0, bins = 100 }
      assert.near(99, chi_square(of_normal, n), 5 * math.sqrt(2 * 99))
    end
    local dice = g:integers(1, 60, n):bincount { bins = 60 }
    assert.near(59, chi_square(dice, n), 5 * math.sqrt(2 * 59))
    local wide = (g:integers(0, (5 << 32) - 1, n) // (1 << 32)):bincount { first = 0, bins = 5 }
    assert.near(4, chi_square(wide, n), 5 * math.sqrt(2 * 4))
  end)

  it("has sequences that differ, and a seed of its own", function()
    assert.is_false(roc.array_equal(roc.rng(1):uniform(4), roc.rng(2):uniform(4)))
    assert.is_false(roc.array_equal(roc.rng(1):uniform(4),
      roc.rng(1, { sequence = 1 }):uniform(4)))
    assert.are_not.equal(roc.rng().seed, roc.rng().seed)
    assert.equal("roc.Rng (seed 4, sequence 2, position 0)",
      tostring(roc.rng(4, { sequence = 2 })))
  end)

  it("places every permutation of three as often", function()
    local g, counts = roc.rng(8), {}
    for _ = 1, 600 do
      local p = g:permutation(3)
      local key = p[1] * 100 + p[2] * 10 + p[3]
      counts[key] = (counts[key] or 0) + 1
    end
    local list = {}
    for _, count in pairs(counts) do list[#list + 1] = count end
    assert.equal(6, #list)
    assert.near(5, chi_square(list, 600), 5 * math.sqrt(2 * 5))
  end)

  it("refuses what it cannot do, at the script's line", function()
    local g = roc.rng(1)
    for pattern, f in pairs {
      ["bad argument #1 to 'rng' %(an integer expected, got 1.5%)"] = function() roc.rng(1.5) end,
      ["unknown option 'stream'; known are device, position, sequence"] =
        function() roc.rng(1, { stream = 1 }) end,
      ["a shape expected: an integer of at least 0, or a table of 1 to 8 of them, got %-1"] =
        function() g:uniform(-1) end,
      ["a float dtype expected, got int32; rng:integers makes integers"] =
        function() g:normal(3, "int32") end,
      ["bad argument #2 to 'integers' %(300 does not fit uint8%)"] =
        function() g:integers(1, 300, 3, "uint8") end,
      ["an integer dtype expected, got float32"] =
        function() g:integers(1, 3, 3, "float32") end,
      ["1 is below the first bound, 2"] = function() g:integers(2, 1, 3) end,
      ["'choice' cannot take 4 distinct entries of 3"] =
        function() g:choice(3, 4, { replace = false }) end,
      ["'choice' cannot take 4 entries of none"] = function() g:choice(0, 4) end,
      ["3 numbers expected, got 2"] = function() g:choice(3, 1, { weights = { 1, 2 } }) end,
      ["their sum is 0"] = function() g:choice(2, 1, { weights = { 0, 0 } }) end,
      ["an array or an integer of at least 0 expected, got table; make an array of it"] =
        function() g:permutation {} end,
      ["roc.Rng expected, got number; call it as rng:uniform"] = function() g.uniform(3) end,
      ["roc.Rng has no field 'unifrom'"] = function() return g.unifrom end,
      ["a roc.Rng takes no field 'seed'"] = function() g.seed = 3 end,
    } do
      local ok, why = pcall(f)
      assert.is_false(ok, pattern)
      assert.matches("rng_spec.lua:%d+: ", why)
      assert.matches(pattern, why)
    end
    assert.equal(0, g.position)
  end)
end)

describe("roc.rng", function()
  devices.each(function(device) specs { device = device.name } end)
end)
