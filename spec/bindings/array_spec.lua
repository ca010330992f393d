-- Host arrays: making them, reading and writing elements, converting, comparing, printing.
local roc = require "roc"
local testing = require("roc.core").testing

describe("roc.array", function()
  it("makes an array of nested tables", function()
    local a = roc.array { { 1, 2, 3 }, { 4, 5, 6 } }
    assert.same({ 2, 3 }, a.shape)
    assert.same({ 3, 1 }, a.strides)
    assert.equal(roc.float64, a.dtype)
    assert.equal(2, a.ndim)
    assert.equal(6, a.size)
    assert.equal(48, a.nbytes)
    assert.equal(2, #a)
    assert.same({ { 1.0, 2.0, 3.0 }, { 4.0, 5.0, 6.0 } }, a:totable())
    assert.equal("float", math.type(a[1][1]))
  end)

  it("tells where its first element lies", function()
    local a = roc.zeros({ 3, 4 }, "float32")
    assert.equal("integer", math.type(a.pointer))
    assert.equal(0, a.pointer % 64)
    assert.equal(a.pointer + 4 * (4 + 1), a:slice(1, 2, 3):slice(2, 2, 4).pointer)
    assert.equal(a.pointer + 4 * 3, a:slice(2, 4, 1, -1).pointer)
    assert.has_error(function() return a.data_ptr end,
      "roc.Array has no field 'data_ptr'; write a.pointer")
  end)

  it("makes booleans of booleans", function()
    local a = roc.array { true, false }
    assert.equal(roc.bool, a.dtype)
    assert.same({ true, false }, a:totable())
  end)

  it("takes empty tables", function()
    assert.same({ 0 }, roc.array({}).shape)
    assert.same({ 2, 0 }, roc.array({ {}, {} }).shape)
    assert.same({}, roc.array({}):totable())
  end)

  it("copies an array, keeping its dtype unless told otherwise", function()
    local a = roc.array({ 1, 2, 3 }, "int16")
    local b = roc.array(a)
    b[1] = 9
    assert.equal(roc.int16, b.dtype)
    assert.equal(1, a[1])
    assert.equal(roc.float32, roc.array(a, "float32").dtype)
    assert.error_matches(function() roc.array(roc.array { 1.5 }, "int8") end,
      "no integer representation")
    assert.error_matches(function() roc.array(roc.array { true }, "int8") end, "cannot store bool")
  end)

  it("reads tables through their metamethods", function()
    local squares =
      setmetatable({}, { __index = function(_, i) return i * i end,
      __len = function() return 4 end })
    assert.same({ 1.0, 4.0, 9.0, 16.0 }, roc.array(squares):totable())
  end)
end)

describe("constructors", function()
  it("zeros, ones, full and empty give the shape and dtype asked for", function()
    assert.same({ { 0, 0 }, { 0, 0 } }, roc.zeros({ 2, 2 }, "int32"):totable())
    assert.same({ 1.0, 1.0 }, roc.ones(2):totable())
    assert.same({ true, true }, roc.ones(2, "bool"):totable())
    assert.same({ 7, 7 }, roc.full(2, 7, "uint8"):totable())
    assert.same({ 4, 5 }, roc.empty({ 4, 5 }, "float16").shape)
    assert.same({ 1, 4 }, roc.zeros({ 4, 5 }, "float16", "F").strides)
    assert.same({ 1, 4 }, roc.full({ 4, 5 }, 2, "float16", "F").strides)
    assert.error_matches(function() roc.full(4, 2, "float16", "Z") end, "\"C\" or \"F\"")
    assert.same({ 0, 3 }, roc.zeros({ 0, 3 }).shape)
  end)

  it("range counts as a numeric for does", function()
    local cases = {
      { 1, 10, 1 }, { 1, 10, 3 }, { 10, 1, -4 }, { 1, 0, 1 }, { 0, 1, 0.1 }, { 1, 2, 0.1 },
      { 1.0, 5, 1 },
      { 5, 1, -0.5 }, { 3, 3, 1 }, { -2, 2, 1 }, { 0.0, -1, 1 }, { 1, 1000, 0.7 },
    }
    for _, case in ipairs(cases) do
      local want = {}
      for i = case[1], case[2], case[3] do want[#want + 1] = i end
      local a = roc.range(case[1], case[2], case[3])
      assert.same(want, a:totable())
      local integers = math.type(case[1]) == "integer" and math.type(case[3]) == "integer"
      assert.equal(integers and roc.int64 or roc.float64, a.dtype)
    end
    assert.equal(roc.float32, roc.range(1, 3, 1, "float32").dtype)
    assert.same({ math.maxinteger - 1, math.maxinteger },
      roc.range(math.maxinteger - 1, math.maxinteger):totable())
    assert.same({ math.mininteger, -1, math.maxinteger - 1 },
      roc.range(math.mininteger, math.maxinteger, math.maxinteger):totable())
  end)

  it("linspace ends exactly at its last value", function()
    assert.same({ 0.0, 0.25, 0.5, 0.75, 1.0 }, roc.linspace(0, 1, 5):totable())
    local a = roc.linspace(0.1, 0.7, 1001)
    assert.equal(0.1, a[1])
    assert.equal(0.7, a[1001])
    assert.same({ 3.0 }, roc.linspace(3, 4, 1):totable())
    assert.same({}, roc.linspace(3, 4, 0):totable())
    assert.same({ -1.5e308, 0.0, 1.5e308 }, roc.linspace(-1.5e308, 1.5e308, 3):totable())
    assert.same({ 1, 4, 7, 10 }, roc.linspace(1, 10, 4, "int8"):totable())
  end)

  it("frombytes and tobytes are inverse", function()
    local a = roc.array({ { 1, 2, 3 }, { 4, 5, 6 } }, "int16")
    assert.equal(("<i2i2i2i2i2i2"):pack(1, 2, 3, 4, 5, 6), a:tobytes())
    assert.is_true(roc.array_equal(a, roc.frombytes(a:tobytes(), "int16", { 2, 3 })))
    assert.equal(("<i2i2i2i2i2i2"):pack(1, 4, 2, 5, 3, 6), a:transpose():tobytes())
    assert.equal("", roc.zeros(0):tobytes())
    assert.same({ false, true, true }, roc.frombytes("\0\1\7", "bool"):totable())
    assert.equal("\0\1\1", roc.frombytes("\0\1\7", "bool"):tobytes())
  end)
end)

describe("elements", function()
  it("are read and written by index", function()
    local a = roc.zeros(3)
    a[2] = 1.5
    a[3] = 7
    assert.same({ 0.0, 1.5, 7.0 }, a:totable())
    assert.equal(7.0, a[3.0])
    local m = roc.zeros({ 2, 3 }, "int32")
    m[2][3] = 5
    assert.equal(5, m[2][3])
    assert.equal(5, m:get(2, 3))
    m:set(8, 1, 2)
    assert.same({ { 0, 8, 0 }, { 0, 0, 5 } }, m:totable())
  end)

  it("have an index that is checked", function()
    local a = roc.zeros(10)
    assert.error_matches(function() return a[11] end, "index 11 out of range 1%.%.10")
    assert.error_matches(function() return a[0] end, "index 0 out of range 1%.%.10")
    assert.error_matches(function() a[-1] = 1 end, "index %-1 out of range 1%.%.10")
    assert.error_matches(function() return a[1.5] end, "index 1.5 is not an integer")
    assert.error_matches(function() return a[true] end, "is not an integer")
    assert.error_matches(function() return roc.zeros({ 2, 3 })[3] end,
      "index 3 out of range 1%.%.2")
    assert.error_matches(function() roc.zeros({ 2, 3 }):get(1, 4) end,
      "index 4 out of range 1%.%.3 %(dimension 2%)")
    assert.error_matches(function() roc.zeros({ 2, 3 }):get(1) end, "2 indices expected.*got 1")
    assert.error_matches(function() roc.zeros(2):get(1, 1) end,
      "1 index expected for an array of 1 dimension, got 2")
  end)
end)

describe("whole-array operations", function()
  it("fill stores one value everywhere, through views too", function()
    local a = roc.zeros({ 4, 6 }, "int32")
    a:slice(1, 2, 4, 2):slice(2, 1, 6, 3):fill(9)
    local want = {}
    for i = 1, 4 do
      want[i] = {}
      for j = 1, 6 do want[i][j] = (i % 2 == 0 and j % 3 == 1) and 9 or 0 end
    end
    assert.same(want, a:totable())
  end)

  it("astype converts as calling the dtype does", function()
    local values = { 0.0, -1.5, 3.99, 300.0, -1e300, 1e300, 65519.0, 0 / 0, 1 / 0, -1 / 0,
      2.0 ^ 63 }
    for _, name in ipairs { "bool", "int8", "int64", "uint8", "uint64", "float16", "bfloat16",
      "float32", "float64" } do
      local converted = roc.array(values):astype(name)
      assert.equal(roc[name], converted.dtype)
      for i, value in ipairs(values) do
        local want, got = roc[name](value), converted[i]
        assert.is_true(want == got or (want ~= want and got ~= got), name .. " of " .. value)
      end
    end
    assert.same({ { 1, 3 }, { 2, 4 } },
      roc.array({ { 1, 2 }, { 3, 4 } }):transpose():astype("int8"):totable())
  end)

  it("copy gives memory of its own, in C order", function()
    local a = roc.array { { 1, 2 }, { 3, 4 } }
    local b = a:transpose():copy()
    b[1][1] = 99
    assert.equal(1.0, a[1][1])
    assert.same({ { 99.0, 3.0 }, { 2.0, 4.0 } }, b:totable())
    assert.is_true(b:is_c_contiguous())
  end)

  it("allclose and array_equal compare values", function()
    local a = roc.array { 1, 2, 3 }
    assert.is_true(roc.array_equal(a, roc.array({ 1, 2, 3 }, "int8")))
    assert.is_true(roc.array_equal(a, { 1, 2, 3 }))
    assert.is_false(roc.array_equal(a, { 1, 2 }))
    assert.is_false(roc.array_equal(roc.array { 0 / 0 }, { 0 / 0 }))
    assert.is_false(roc.array_equal(roc.array({ 2 ^ 53 }), roc.array({ (1 << 53) + 1 }, "int64")))
    assert.is_true(roc.allclose(a, { 1 + 1e-9, 2, 3 }))
    assert.is_false(roc.allclose(a, { 1.1, 2, 3 }))
    assert.is_true(roc.allclose(a, { 1.1, 2, 3 }, 0.1))
    assert.is_true(roc.allclose(a, { 1.1, 2, 3 }, 0, 0.11))
    assert.is_true(roc.allclose({ 1 / 0 }, { 1 / 0 }))
    assert.is_false(roc.allclose({ 1 / 0 }, { -1 / 0 }))
    assert.is_false(roc.allclose({ 1 }, { 0 / 0 }))
    assert.is_true(roc.array_equal(roc.zeros({ 0, 2 }), roc.ones({ 0, 2 })))
    assert.error_matches(function() roc.allclose(a, { 1, 2 }) end, "shape {3} expected, got {2}")
  end)
end)

describe("tostring", function()
  local function check(want, a) assert.equal(want, tostring(a)) end

  it("lines columns up", function()
    check("[1. 2. 3.]", roc.array { 1, 2, 3 })
    check("[1.   2.5  3.25]", roc.array { 1, 2.5, 3.25 })
    check("[[ 1 -2]\n [30  4]]", roc.array({ { 1, -2 }, { 30, 4 } }, "int32"))
    check("[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]",
      roc.array({ { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } } }, "int8"))
    check("[ true false]", roc.array { true, false })
    check("[18446744073709551615                    0]", roc.array({ -1, 0 }, "uint64"))
    check("[]", roc.zeros({ 0, 3 }))
    assert.equal("[1.]", roc.ones(1):tostring())
    local ok, why = pcall(tostring, setmetatable({}, getmetatable(roc.ones(1))))
    assert.is_false(ok)
    assert.equal("bad argument #1 to 'tostring' (roc.Array expected, got table)", why)
  end)

  it("shows the shortest digits that read back", function()
    check("[0.1 0.2]", roc.array({ 0.1, 0.2 }, "float32"))
    check("[0.1 0.3]", roc.array { 0.1, 0.1 + 0.2 })
    check("[0.3333]", roc.array({ 1 / 3 }, "float16"))
    check("[0.33333333]", roc.array { 1 / 3 })
  end)

  it("changes to scientific notation for far apart magnitudes", function()
    check("[1.e+00 1.e+10]", roc.array { 1, 1e10 })
    check("[1.5e-300 1.0e+000]", roc.array { 1.5e-300, 1 })
    check("[    nan     inf -1.e+09]", roc.array { 0 / 0, 1 / 0, -1e9 })
    check("[nan inf  1.]", roc.array { 0 / 0, 1 / 0, 1 })
  end)

  it("elides the middle of long arrays", function()
    check("[   1    2    3 ... 1998 1999 2000]", roc.range(1, 2000))
    check("[[0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n ...\n"
      .. " [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]]",
        roc.zeros { 40, 40 })
  end)

  it("wraps long lines", function()
    local lines = {}
    for line in tostring(roc.range(100, 150)):gmatch("[^\n]+") do lines[#lines + 1] = line end
    assert.equal(3, #lines)
    for i, line in ipairs(lines) do
      assert.is_true(#line <= 75)
      assert.equal(i == 1 and "[" or " ", line:sub(1, 1))
    end
  end)
end)

describe("memory of arrays", function()
  it("lives as long as a view on it", function()
    local view
    do
      local a = roc.range(1, 1000)
      view = a:slice(1, 500, 600)
    end
    collectgarbage()
    collectgarbage()
    assert.equal(500, view[1])
    assert.equal(600, view[101])
  end)

  it("is given back while a loop makes temporaries", function()
    collectgarbage()
    local before = testing.live_blocks()
    -- a MiB each, of which the collector sees a few hundred bytes
    for _ = 1, 400 do roc.ones(1 << 17) end
    assert.is_true(testing.live_blocks() - before < 200)
  end)

  it("is not collected behind the back of a script that stopped the collector", function()
    collectgarbage()
    collectgarbage("stop")
    local before = testing.live_blocks()
    for _ = 1, 100 do roc.empty(1 << 17) end
    local held = testing.live_blocks() - before
    collectgarbage("restart")
    assert.is_true(held >= 100)
  end)
end)
