-- Sorting, search, counts, running sums, and arrays made of arrays, against loops over tables.
local roc = require "roc"
local devices = require "support.devices"

local function host(array)
  return array.device and array:copy_to_host() or array
end

local function specs(make)
  local function holds(expected, array)
    assert.same(expected, host(array):totable())
  end

  it("sort lines of every length, stably, and leave the array as it was", function()
    roc.seed(11)
    for _, n in ipairs { 1, 2, 31, 32, 33, 64, 65, 200 } do
      local given = roc.random_integers(-9, 9, { 2, n }, "int16")
      local a = make(given)
      local values, at = host(a:sort()), host(a:argsort())
      local down = host(a:sort { descending = true })
      for line = 1, 2 do
        local expected = given[line]:totable()
        table.sort(expected)
        assert.same(expected, values[line]:totable())
        for k = 1, n do
          assert.are.equal(expected[n + 1 - k], down[line][k])
          local place, before = at[line][k], k > 1 and at[line][k - 1]
          assert.are.equal(expected[k], given[line][place])
          assert.is_true(k == 1 or expected[k] ~= expected[k - 1] or before < place)
        end
      end
      assert.is_true(roc.array_equal(given, host(a)))
    end
  end)

  it("sort lines of one tile and of several", function()
    for n, dtype in pairs { [300] = "float32", [5000] = "int16" } do
      local given = roc.rng(n):integers(-300, 300, { 2, n }):astype(dtype)
      local is_descending = dtype == "float32"
      if is_descending then given[{ {}, { 1, n, 7 } }] = 0 / 0 end
      local a, opts = make(given), { descending = is_descending }
      local values, places = host(a:sort(opts)), host(a:argsort(opts))
      for line = 1, 2 do
        local v, at = values[line], places[line]
        assert.are.equal(given[line][at]:tobytes(), v:copy():tobytes())
        local v1, v2 = v[{ { 1, n - 1 } }], v[{ { 2, n } }]
        local is_equal = v1:eq(v2) | roc.math.isnan(v1) & roc.math.isnan(v2)
        local is_later = (is_descending and v1:gt(v2) or v1:lt(v2)) | roc.math.isnan(v2)
        assert.is_true((is_equal | is_later):all())
        assert.is_true((~is_equal | at[{ { 1, n - 1 } }]:lt(at[{ { 2, n } }])):all())
        local is_placed = roc.zeros(n, "bool")
        is_placed[at] = true
        assert.is_true(is_placed:all())
      end
    end
  end)

  it("sort lines whose elements have some digits in common", function()
    local n = 5700
    local given = roc.rng(3):integers(0, 255, { 2, n })
    given[1] = given[1] + (given[1] % 7 << 40) - (5 << 20)
    given[2] = -6
    local a, opts = make(given), { descending = true }
    local values, places = host(a:sort(opts)), host(a:argsort(opts))
    for line = 1, 2 do
      local v, at = values[line], places[line]
      assert.are.equal(given[line][at]:tobytes(), v:copy():tobytes())
      local v1, v2 = v[{ { 1, n - 1 } }], v[{ { 2, n } }]
      local is_in_order = v1:gt(v2) | v1:eq(v2) & at[{ { 1, n - 1 } }]:lt(at[{ { 2, n } }])
      assert.is_true(is_in_order:all())
    end
  end)

  it("sort every kind of dtype, NaN last", function()
    local floats = make(roc.array { 3, 0 / 0, -1, 1 / 0, 0 / 0, 2 })
    holds({ 3, 6, 1, 4, 2, 5 }, floats:argsort())
    holds({ 4, 1, 6, 3, 2, 5 }, floats:argsort { descending = true })
    holds({ 1, 5, -1 }, make(roc.array({ -1, 1, 5 }, "uint64")):sort())
    holds({ false, false, true }, make(roc.array { true, false, false }):sort())
    local values, places = floats:topk(2)
    holds({ 1 / 0, 3 }, values)
    holds({ 4, 1 }, places)
    assert.same({ 0 }, (floats:topk(0)).shape)
  end)

  it("sort -0 and NaN as equal to 0 and to each other, each zero with its sign", function()
    for dtype, bits in pairs {
      float16 = { 0x8000, 0x7e00, 0xbc00, 0, 0x7e00, 0x7c00, 0x8000, 0xfc00, 0, 0x3c00, 0x7e00 },
      bfloat16 = { 0x8000, 0x7fc0, 0xbf80, 0, 0x7fc0, 0x7f80, 0x8000, 0xff80, 0, 0x3f80, 0x7fc0 },
    } do
      local bytes = ""
      for _, word in ipairs(bits) do bytes = bytes .. string.pack("<I2", word) end
      local a = make(roc.frombytes(bytes, dtype, #bits))
      local function words(order)
        local found = ""
        for _, i in ipairs(order) do found = found .. string.pack("<I2", bits[i]) end
        return found
      end
      assert.are.equal(words { 8, 3, 1, 4, 7, 9, 10, 6, 2, 5, 11 }, host(a:sort()):tobytes())
      assert.are.equal(words { 6, 10, 1, 4, 7, 9, 3, 8, 2, 5, 11 },
        host(a:sort { descending = true }):tobytes())
    end
  end)

  it("find distinct values and places", function()
    holds({ 1, 2, 3 }, make(roc.array({ { 3, 1 }, { 2, 3 } }, "int32")):unique())
    assert.are.equal(2, make(roc.array { 0 / 0, 1, 0 / 0 }):unique().size)
    local sorted, values = make(roc.array { 1, 2, 2, 3 }), make(roc.array { 2, 0, 4 })
    holds({ 2, 1, 5 }, sorted:searchsorted(values))
    holds({ 4, 1, 5 }, sorted:searchsorted(values, { side = "right" }))
    assert.are.equal(2, sorted:searchsorted(2))
    assert.are.equal(4, sorted:searchsorted(2, { side = "right" }))
    assert.error_matches(function() return make(roc.array({ 1 }, "int8")):searchsorted(300) end,
      "a value of int8 expected, got 300")
    local rows, columns = make(roc.array { { true, false }, { true, true } }):nonzero()
    holds({ 1, 2, 2 }, rows)
    holds({ 1, 1, 2 }, columns)
  end)

  it("count values", function()
    holds({ 1, 0, 2 }, make(roc.array({ 1, 3, 3 }, "int32")):bincount())
    holds({ 1, 1, 0, 0 }, make(roc.array({ 0, 1 }, "int8")):bincount { first = 0, bins = 4 })
    holds({}, make(roc.zeros(0, "int32")):bincount())
    assert.error_matches(function()
      host(make(roc.array({ 5 }, "int32")):bincount { bins = 2 })
    end, "value without a bin: ")
  end)

  it("count values in more bins than a workgroup keeps, and over several workgroups", function()
    for _, bins in ipairs { 1, 64, 65, 1024, 1025, 3000 } do
      local values, expected = {}, {}
      for k = 1, bins do expected[k] = 0 end
      for i = 1, 20000 do
        values[i] = i * i % bins + 1
        expected[values[i]] = expected[values[i]] + 1
      end
      holds(expected, make(roc.array(values, "int32")):bincount { bins = bins })
    end
  end)

  it("count in bins between edges", function()
    local counts, edges = make(roc.array { 1, 2, 1, 4, 4.5, 5 }):histogram(4)
    holds({ 2, 1, 0, 3 }, counts)
    holds({ 1, 2, 3, 4, 5 }, edges)
    assert.same({ "int64", "float64" }, { counts.dtype.name, edges.dtype.name })
    local outside = roc.array({ { 0 / 0, -1, 0 }, { 3, 3.5, 1 / 0 } }, "float32")
    holds({ 1, 0, 1 }, (make(outside):histogram(3, { range = { 0, 3 } })))
    holds({ 2, 1 }, (make(roc.array({ 0, -1, 5 }, "uint64")):histogram(2)))
    local same, around = make(roc.array({ 7, 7 }, "int8")):histogram(2)
    holds({ 0, 2 }, same)
    holds({ 6.5, 7, 7.5 }, around)
    holds({ 0, 0 }, (make(roc.zeros(0)):histogram(2)))
    local given = roc.rng(5):uniform(3000)
    local found, edges_of_seven = make(given):histogram(7)
    local limits, expected = host(edges_of_seven):totable(), { 0, 0, 0, 0, 0, 0, 0 }
    for _, v in ipairs(given:totable()) do
      local k = 1
      while k < 7 and v >= limits[k + 1] do k = k + 1 end
      expected[k] = expected[k] + 1
    end
    holds(expected, found)
  end)

  it("sum as they go, in the dtype of sums", function()
    local a = make(roc.array({ { 100, 100, 1 }, { 2, 3, 4 } }, "int8"))
    holds({ { 100, 100, 1 }, { 102, 103, 5 } }, a:cumsum { axis = 1 })
    holds({ { 100, 200, 201 }, { 2, 5, 9 } }, a:cumsum { axis = 2 })
    assert.are.equal("int64", a:cumsum({ axis = 2 }).dtype.name)
    assert.are.equal("uint64", make(roc.array({ 2, 3 }, "uint64")):cumsum().dtype.name)
    holds({ 2, 6, 24 }, make(roc.array({ 2, 3, 4 }, "float16")):cumprod())
    holds({ { 0, -99 }, { 1, 1 } }, a:astype("int16"):diff { axis = 2 })
    assert.same({ 0 }, make(roc.zeros(1)):diff().shape)
  end)

  it("are joined, repeated, turned and padded", function()
    local a = make(roc.array({ { 1, 2 }, { 3, 4 } }, "int32"))
    holds({ { 1, 2 }, { 3, 4 }, { 1, 2 }, { 3, 4 } }, roc.concat { a, a })
    local wide = roc.concat({ a, a:astype "float64" * 0.5 }, { axis = 2 })
    holds({ { 1, 2, 0.5, 1 }, { 3, 4, 1.5, 2 } }, wide)
    assert.are.equal("float64", wide.dtype.name)
    holds({ { { 1, 2 }, { 3, 4 } }, { { 3, 4 }, { 1, 2 } } }, roc.stack { a, a:flip { axis = 1 } })
    holds({ { 1, 3 }, { 2, 4 } }, roc.stack({ a[1], a[2] }, { axis = 2 }))
    holds({ { 1, 2, 1, 2 }, { 3, 4, 3, 4 } }, a:tile(2))
    holds({ { 1, 2 }, { 3, 4 }, { 1, 2 }, { 3, 4 } }, a:tile { 2, 1 })
    holds({ { 2, 1 }, { 4, 3 } }, a:roll(1, { axis = 2 }))
    holds({ 2, 1 }, a[1]:roll(-3))
    holds({ { 4, 3 }, { 2, 1 } }, a:flip({ axis = 1 }):flip { axis = 2 })
    holds({ { 0, 0, 0, 0 }, { 0, 1, 2, 0 }, { 0, 3, 4, 0 }, { 0, 0, 0, 0 } }, a:pad(1))
    holds({ { 9, 1, 2, 9 }, { 9, 3, 4, 9 } }, a:pad({ 0, 1 }, { value = 9 }))
    a:tile(1)[1] = 0
    holds({ { 1, 2 }, { 3, 4 } }, a) -- tile copies
  end)
end

-- A line longer than a thread's part, and lengths around those at which the way of sorting changes.
local LENGTHS = { 3, 4, 5, 16, 17, 127, 191, 192, 255, 257, 1023, 1024, 8191, 8192, 150001 }

-- The numbers from 1 to n in an order in which the pivots of src/runtime/sort/vectors.def are among
-- the least numbers, round after round.
local function bad_order(n, lanes, rounds)
  local at, values, least = {}, {}, 0 -- at: the places of what is not chosen yet, as parted so far
  for i = 1, n do at[i] = i end
  for _ = 1, rounds do
    local step, is_low = #at // 32, {}
    for k = 0, 16 do -- the pivot, and half of what it is the median of
      local i = k * step + step // 2 + 1
      least, is_low[i] = least + 1, true
      values[at[i]] = least
    end
    local parted, last = {}, #at
    for first = 1, #at, lanes do
      local high = {}
      for i = first, math.min(first + lanes - 1, #at) do
        if not is_low[i] then high[#high + 1] = at[i] end
      end
      table.move(high, 1, #high, last - #high + 1, parted)
      last = last - #high
    end
    at = table.move(parted, last + 1, #at, 1, {})
  end
  for k, i in ipairs(at) do values[i] = least + (k * 7919 % #at) + 1 end
  return values
end

describe("host arrays", function()
  specs(function(array) return array end)

  it("are sorted stably whatever their length, dtype and values are", function()
    local rng = roc.rng(5)
    local function some(n, dtype)
      if dtype == "bool" then return rng:integers(0, 1, n):eq(1) end
      local wide = rng:integers(math.mininteger, math.maxinteger, n)
      if dtype:find "float" then return (rng:normal(n) * 2 ^ 6):astype(dtype) end
      return wide:astype(dtype)
    end
    for name in pairs { bool = 1, int8 = 1, uint16 = 1, int32 = 1, int64 = 1, uint64 = 1,
      float16 = 1, float32 = 1, float64 = 1 } do
      for _, n in ipairs(LENGTHS) do
        local x = some(n, name)
        local sorted, at = x:sort(), x:argsort()
        assert.are.equal(sorted:tobytes(), x[at]:tobytes())
        local later, earlier = sorted[{ { 2, n } }], sorted[{ { 1, n - 1 } }]
        local is_same = later:eq(earlier)
        local is_fine = name == "bool" and (later | ~earlier) or later:ge(earlier)
        assert.is_true(is_fine:all(), name .. n)
        assert.is_true((at:diff():gt(0) | ~is_same):all(), name .. n)
        local down = x:argsort { descending = true }
        assert.are.equal(x[down]:tobytes(), x:sort({ descending = true }):tobytes())
        assert.are.equal(sorted:tobytes(), x[down]:sort():tobytes())
        for _, k in ipairs { 1, 3, n // 5 } do -- sorted, or selected where k is small
          local largest, first = x:topk(k)
          assert.are.equal(down[{ { 1, k } }]:tobytes(), first:tobytes())
          assert.are.equal(x[first]:tobytes(), largest:tobytes())
        end
      end
    end
    local nans = roc.frombytes(string.pack("<I4I4I4", 0xffc00001, 0x7fc00002, 0), "float32", 3)
    assert.are.equal(string.pack("<I4I4I4", 0, 0xffc00001, 0x7fc00002), nans:sort():tobytes())
    local skew = roc.concat { roc.full(70000, 7, "int64"), rng:integers(1, 9, 80000) << 40 }
    assert.are.equal(skew:sort():tobytes(), skew[skew:argsort()]:tobytes())
    local lines = rng:uniform { 3, 60000 }
    for i = 1, 3 do
      assert.are.equal(lines[i]:sort():tobytes(), lines:sort()[i]:tobytes())
      assert.are.equal(lines[i]:sort():tobytes(), lines:flip({ axis = 2 }):sort()[i]:tobytes())
    end
  end)

  it("are sorted where an order is bad for pivots", function()
    for dtype, lanes in pairs { int32 = 16, uint64 = 8 } do
      local n = 20011 -- which has no factor that spreads the numbers evenly
      local x = roc.array(bad_order(n, lanes, 60), dtype)
      assert.are.equal(roc.range(1, n):astype(dtype):tobytes(), x:sort():tobytes())
    end
  end)

  it("give the largest elements of lines, whatever their order is", function()
    local n = 140001
    for _, x in ipairs { roc.range(1, n), roc.range(n, 1, -1), roc.range(1, n) // 1000,
      roc.where(roc.range(1, n):lt(n - 3), 0 / 0, -0.0), roc.range(1, n) % 2 } do
      for _, array in ipairs { x, roc.stack { x, x:flip() }, roc.stack { x, x:flip(), x }:ravel(),
        x[{ { 1, n - 1 } }]:reshape(200, 700) } do
        local last = array.ndim
        local at = array:argsort { descending = true }
        local sorted = array:sort { descending = true }
        for _, k in ipairs { 1, 60, 175 } do
          local values, places = array:topk(k)
          assert.are.equal(at:slice(last, 1, k):tobytes(), places:tobytes())
          assert.are.equal(sorted:slice(last, 1, k):tobytes(), values:tobytes())
        end
      end
    end
  end)

  it("are sorted again after a failed allocation", function()
    local testing = require "roc.core".testing
    local x = roc.rng(1):uniform(5000)
    local expected, failures = x:sort():tobytes(), 0
    collectgarbage "stop" -- else a failure is answered by a collection and a second try
    for n = 1, 8 do
      testing.fail_alloc(n)
      local is_fine, result = pcall(x.sort, x)
      testing.fail_alloc(0)
      if not is_fine then
        failures = failures + 1
        assert.matches("memory", tostring(result))
      end
      assert.are.equal(expected, x:sort():tobytes())
    end
    collectgarbage "restart"
    assert.is_true(failures > 0)
  end)

  it("refuse what they cannot do, at the script's line", function()
    local a = roc.ones { 2, 3 }
    for pattern, f in pairs {
      ["list of arrays expected, as {a, b}, got roc.Array"] = function() return (roc.concat(a)) end,
      ["got an empty table"] = function() return (roc.stack {}) end,
      ["entry 2 has shape {3}, and entry 1 {2, 3}; they may differ in dimension 1 alone"] =
        function() return (roc.concat { a, a[1] }) end,
      ["'stack' %(entry 2 has shape {3}, and entry 1 {2, 3}%)"] =
        function() return (roc.stack { a, a[1] }) end,
      ["integer expected, got 1.5"] = function() return (a[1]:roll(1.5)) end,
      ["'roll' of an array of 2 dimensions needs the option axis"] =
        function() return (a:roll(1)) end,
      ["an integer from 0 to 3 expected, got 9"] = function() return (a:topk(9)) end,
      ["'topk' takes no options: it gives the largest elements along the last dimension"] =
        function() return (a:topk(2, { axis = 1 })) end,
      ["'unique' takes no options"] = function() return (a:unique { counts = true }) end,
      ["unknown option 'axis'; known is descending"] = function() return (a:sort { axis = 1 }) end,
      ["'cumsum' takes numbers, and the array is bool; write roc.where%(a, 1, 0%)"] =
        function() return (a[1]:eq(1):cumsum()) end,
      ["a number of bins expected, got roc.Array; with edges of your own"] =
        function() return (a:histogram(a)) end,
      ["two numbers in order expected, as {0, 1}"] =
        function() return (a:histogram(2, { range = { 1, 0 } })) end,
      ["needs a finite range, and an element is NaN"] =
        function() return ((a * (0 / 0)):histogram(2)) end,
      ["'histogram' takes numbers, and the array is bool"] =
        function() return (a:eq(1):histogram(2)) end,
      ["'nonzero' takes bool, and the array is float64"] = function() return (a:nonzero()) end,
      ["'bincount' takes integers, and the array is float64"] =
        function() return (a:bincount()) end,
      ["a sorted array of one dimension and values of its dtype"] =
        function() return (a:searchsorted(a)) end,
      ["counts: integers from 0 to 2147483648 expected, got %-1"] =
        function() return (a:tile(-1)) end,
      ["widths of 2 dimensions expected, got 3"] = function() return (a:pad { 1, 2, 3 }) end,
    } do
      local ok, why = pcall(f)
      assert.is_false(ok, pattern)
      assert.matches("sorting_spec.lua:%d+: ", why)
      assert.matches(pattern, why)
    end
  end)
end)

describe("device arrays", function()
  devices.each(function() specs(roc.to_device) end)
end)
