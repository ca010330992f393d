-- Operators: every device computes what Lua computes, bit for bit.
local roc = require "roc"
local devices = require "support.devices"

local INTEGERS = {
  0, 1, -1, 2, -2, 3, 7, -7, 10, 63, 64, 65, -64, 255, 256, 65535, 1 << 31, -(1 << 31),
  (1 << 31) - 1, 1 << 32, 1 << 53, (1 << 53) + 1,
  math.maxinteger, math.maxinteger - 1, math.mininteger, math.mininteger + 1, 0x5555555555555555,
  1000003,
}
local FLOATS = {
  0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 1.5, 0.1, 1e10, -1e10, 1e300, -1e300, 1e-300,
  5e-324, -5e-324, 2.0 ^ 53, 2.0 ^ 63, -2.0 ^ 63,
  9007199254740993.0, 9.3e18, 1 / 0, -1 / 0, 0 / 0, 16777217.0, 3.1415926535897931,
}

-- All pairs, as two lists.
local function pairs_of(xs, ys)
  local a, b = {}, {}
  for _, x in ipairs(xs) do
    for _, y in ipairs(ys) do
      a[#a + 1], b[#b + 1] = x, y
    end
  end
  return a, b
end

local function explain(expr, x, y, expected, got)
  return ("%s with a = %s, b = %s: expected %s, got %s"):format(expr, tostring(x), tostring(y),
    tostring(expected), tostring(got))
end

-- Computes `expr` (of a and b) for all pairs on the device and in Lua.
local function check(expr, as, bs, atype, btype, otype, round)
  local k =
    devices.kernel(("function(x, y, out) local i = roc.get_global_id(1) local a, b = "
    .. "x[i], y[i] out[i] = %s end"):format(expr),
    { contract = false })
  local reference = load(("local a, b = ... return %s"):format(expr))
  local out = devices.zeros(#as, otype)
  devices.run(k, #as, { devices.values(as, atype), devices.values(bs, btype), out })
  local got = devices.table(out)
  for i = 1, #as do
    local expected = reference(as[i], bs[i])
    if otype == "float64" and math.type(expected) == "integer" then
      expected = expected + 0.0
    end
    if round then
      expected = round(expected)
    end
    assert(devices.same(expected, got[i]), explain(expr, as[i], bs[i], expected, got[i]))
  end
end

-- Drops the pairs whose second is 0, which a checked kernel refuses.
local function without_zero(as, bs)
  local a, b = {}, {}
  for i = 1, #as do
    if bs[i] ~= 0 then
      a[#a + 1], b[#b + 1] = as[i], bs[i]
    end
  end
  return a, b
end

devices.each(function(device)
  it("takes the least and the largest of three, of which some are negated", function()
    local k = devices.kernel [[function(x, o, n)
      local i = roc.get_global_id(1)
      o[i][1] = math.min(-x[i], n, x[i])
      o[i][2] = math.max(-x[i], n, x[i])
      o[i][3] = math.min(math.min(n, -x[i]), -n)
      o[i][4] = math.max(math.max(i - 1, -n), n)
    end]]
    local values = { 5, -3, 0, 300, -300 }
    local o = devices.zeros({ #values, 4 }, "int64")
    devices.run(k, #values, { devices.values(values, "int16"), o, 3 }, #values)
    for i, x in ipairs(values) do
      assert.same({ math.min(-x, 3, x), math.max(-x, 3, x), math.min(3, -x, -3),
        math.max(i - 1, 3) }, devices.table(o)[i])
    end
  end)

  local ia, ib = pairs_of(INTEGERS, INTEGERS)
  local fa, fb = pairs_of(FLOATS, FLOATS)

  for _, op in ipairs { "+", "-", "*", "&", "|", "~", "<<", ">>" } do
    it("computes integer " .. op, function()
      check("a " .. op .. " b", ia, ib, "int64", "int64", "int64")
    end)
  end

  for _, op in ipairs { "//", "%" } do
    it("computes integer " .. op .. " as floors", function()
      local a, b = without_zero(ia, ib)
      check("a " .. op .. " b", a, b, "int64", "int64", "int64")
    end)
  end

  -- Numbers that a float64 holds, numbers at 2^48, where their quotients are too large for one, and
  -- beyond.
  it("divides numbers of a work-item by one that all have", function()
    local k = roc.kernel(function(out, w, d)
      local i = roc.get_global_id(1)
      local q, rest = (i + d) // w, (i + d) % w
      out[i][1], out[i][2], out[i][3] = q, rest, i * d % w
      if q > 2 and rest < w - 2 then out[i][4] = (i - 5) // w else out[i][4] = -i end
    end)
    local out, limit = devices.zeros({ 40, 4 }, "int64"), 1 << 48
    for _, w in ipairs { 1, 3, 7, 1000, limit - 1, limit, math.maxinteger, -1, -3 } do
      for _, d in ipairs { 0, -20, 999983, limit - 60, limit - 20, -limit, math.maxinteger } do
        devices.run(k, 40, { out, w, d }, 16)
        local expected = {}
        for i = 1, 40 do
          local q, rest = (i + d) // w, (i + d) % w
          local last = q > 2 and rest < w - 2 and (i - 5) // w or -i
          expected[i] = { q, rest, i * d % w, last }
        end
        assert.same(expected, devices.table(out), ("w = %d, d = %d"):format(w, d))
      end
    end
  end)

  it("divides int32 elements by a number that is not negative", function()
    local values = { 0, 1, -1, 2, -2, 7, -7, 1000003, -1000003, (1 << 31) - 1, -(1 << 31),
      -(1 << 31) + 1 }
    local k = roc.kernel(function(x, out, n)
      local i = roc.get_global_id(1)
      local q, rest = x[i] // n, x[i] % n
      out[i][1], out[i][2], out[i][3], out[i][4] = q, rest, x[i] // 8 + x[i] % 8, x[i] // 10
    end, { check = false })
    local x, out = devices.values(values, "int32"), devices.zeros({ #values, 4 }, "int64")
    for _, n in ipairs { 1, 2, 3, 8, 1000, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, 1 << 31 } do
      devices.run(k, #values, { x, out, n })
      local got = devices.table(out)
      for i, v in ipairs(values) do
        assert.same({ v // n, v % n, v // 8 + v % 8, v // 10 }, got[i],
          ("%d by %d"):format(v, n))
      end
    end
  end)

  -- Of a wavefront most items hold what 32 bits do, and one does not.
  it("converts between floats and integers whose sizes differ from item to item", function()
    local k = roc.kernel(function(x, n, whole, low, float, back)
      local i = roc.get_global_id(1)
      whole[i] = math.floor(x[i])
      low[i] = math.ceil(x[i])
      float[i] = n[i]
      back[i] = math.ceil(x[i])
    end, { number = "float32" })
    for _, odd in ipairs { 0x1p31, -0x1p31, -0x1.000002p31, 0x1p40, -0x1.8p50, 0x1.fffffep61 } do
      local floats, integers = {}, {}
      for i = 1, 96 do
        floats[i], integers[i] = (i - 48) * 1000.75, (i - 48) * 1000003
      end
      floats[70], integers[70] = odd, math.floor(odd) + 12345
      local whole, low = devices.zeros(96, "int64"), devices.zeros(96, "uint8")
      floats[95], floats[96] = -0.0, -0.25
      local float, back = devices.zeros(96, "float32"), devices.zeros(96, "float32")
      devices.run(k, 96, { devices.values(floats, "float32"), devices.values(integers, "int64"),
        whole, low, float, back }, 96)
      whole, low, float = devices.table(whole), devices.table(low), devices.table(float)
      back = devices.table(back)
      for i = 1, 96 do
        assert.are.equal(math.floor(floats[i]), whole[i])
        assert.are.equal(math.ceil(floats[i]) & 255, low[i])
        assert.are.equal(string.unpack("f", string.pack("f", integers[i])), float[i])
        assert.is_true(devices.same(math.ceil(floats[i]) + 0.0, back[i]))
      end
    end
  end)

  it("computes unary operators of integers", function()
    check("-a", ia, ib, "int64", "int64", "int64")
    check("~a", ia, ib, "int64", "int64", "int64")
  end)

  for _, op in ipairs { "+", "-", "*", "/", "//", "%" } do
    it("computes float " .. op, function()
      check("a " .. op .. " b", fa, fb, "float64", "float64", "float64")
    end)
  end

  it("computes / of integers in floats", function()
    check("a / b", ia, ib, "int64", "int64", "float64")
  end)

  it("takes constants of the script as Lua's compiler folds them", function()
    local one <const> = -5.5 % -2.0
    local two <const> = -5.5 % 2.0
    local three <const> = 5.5 % -2.0
    local four <const> = -5.5 // 2.0
    local k = roc.kernel(function(out)
      out[1], out[2], out[3], out[4] = one, two, three, four
    end)
    local out = devices.zeros(4, "float64")
    devices.run(k, 1, { out })
    assert.same({ -1.5, 0.5, -0.5, -3.0 }, devices.table(out))
  end)

  it("squares by a product", function()
    check("a ^ 2", fa, fb, "float64", "float64", "float64")
  end)

  it("keeps the sign of a zero that is an argument or converted", function()
    local k = devices.kernel("function(x, out) out[1] = 1.0 / x out[2] = 1.0 / roc.float64(x) end")
    local out = devices.zeros(2, "float64")
    devices.run(k, 1, { -0.0, out })
    assert.same({ -1 / 0, -1 / 0 }, devices.table(out))
  end)

  it("chooses between a negative zero and a one", function()
    local x, out = devices.values({ 3, 0 / 0 }, "float32"), devices.zeros({ 2, 4 }, "float32")
    devices.run(roc.kernel(function(x, out)
      local i = roc.get_global_id(1)
      out[i][1] = x[i] > 0 and roc.float32(1) or roc.float32(-0.0)
      out[i][2] = x[i] > 0 and roc.float32(-0.0) or roc.float32(-1)
      local met = roc.float32(-0.0)
      if x[i] > 0 then met = roc.float32(1) end
      out[i][3] = met
      out[i][4] = x[i] ~= 3 and roc.float32(-0.0) or roc.float32(1)
    end, { number = "float32" }), 2, { x, out })
    local got = devices.table(out)
    assert.same({ 1 / 1, -1 / 0, 1 / 1, 1 / 1 },
      { 1 / got[1][1], 1 / got[1][2], 1 / got[1][3], 1 / got[1][4] })
    assert.same({ -1 / 0, -1 / 1, -1 / 0, -1 / 0 },
      { 1 / got[2][1], 1 / got[2][2], 1 / got[2][3], 1 / got[2][4] })
  end)

  it("finds no order between NaN and a number", function()
    local x = devices.values({ 0 / 0, -3, 0 }, "float32")
    local n, out = devices.values({ 0 }, "uint32"), devices.zeros({ 3, 8 }, "int32")
    devices.run(roc.kernel(function(x, n, out)
      local i = roc.get_global_id(1)
      local v = x[i]
      if math.abs(v) >= -1 then out[i][1] = 1 end
      if v * v >= 0 then out[i][2] = 1 end
      if math.abs(v) + v * v > -2 then out[i][3] = 1 end
      local is_less = math.abs(v) < -1
      if not is_less then out[i][4] = 1 end
      if n[1] <= math.abs(v) then out[i][5] = 1 end
      if -math.abs(v) <= 0 then out[i][6] = 1 end
      out[i][7] = (math.abs(v) >= 0 and 2 or 3)
      while math.abs(v) >= -1 and out[i][8] < 2 do out[i][8] = out[i][8] + 1 end
    end, { number = "float32" }), 3, { x, n, out })
    assert.same({ { 0, 0, 0, 1, 0, 0, 3, 0 }, { 1, 1, 1, 1, 1, 1, 2, 2 },
      { 1, 1, 1, 1, 1, 1, 2, 2 } }, devices.table(out))
  end)

  it("negates floats, zeros too", function()
    check("-a", fa, fb, "float64", "float64", "float64")
  end)

  for _, op in ipairs { "<", "<=", ">", ">=", "==", "~=" } do
    it("compares by " .. op .. " within and across the number types", function()
      local expr = ("(a %s b) and 1 or 0"):format(op)
      check(expr, ia, ib, "int64", "int64", "int64")
      check(expr, fa, fb, "float64", "float64", "int64")
      local mixed_i, mixed_f = pairs_of(INTEGERS, FLOATS)
      check(expr, mixed_i, mixed_f, "int64", "float64", "int64")
      check(expr, mixed_f, mixed_i, "float64", "int64", "int64")
    end)
  end

  it("computes math.min and math.max as Lua does", function()
    for _, f in ipairs { "min", "max" } do
      check(("math.%s(a, b)"):format(f), ia, ib, "int64", "int64", "int64")
      check(("math.%s(a, b)"):format(f), fa, fb, "float64", "float64", "float64")
    end
  end)

  it("computes math.ult, math.abs, math.fmod, math.sqrt, floor and ceil", function()
    check("math.ult(a, b) and 1 or 0", ia, ib, "int64", "int64", "int64")
    check("math.abs(a)", ia, ib, "int64", "int64", "int64")
    check("1 // (math.abs(a) | 1)", ia, ib, "int64", "int64", "int64")
    check("math.abs(a)", fa, fb, "float64", "float64", "float64")
    check("math.sqrt(a)", fa, fb, "float64", "float64", "float64")
    check("math.fmod(a, b)", fa, fb, "float64", "float64", "float64")
    local a, b = without_zero(ia, ib)
    check("math.fmod(a, b)", a, b, "int64", "int64", "int64")
    local small = { 0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 1e15, -1e15, 0.49999999999999994,
      4503599627370495.5 }
    check("math.floor(a)", small, small, "float64", "float64", "int64")
    check("math.ceil(a)", small, small, "float64", "float64", "int64")
    check("math.floor(a)", ia, ib, "int64", "int64", "int64")
  end)

  it("mixes an integer with a float", function()
    local mixed_i, mixed_f = pairs_of(INTEGERS, FLOATS)
    check("a + b", mixed_i, mixed_f, "int64", "float64", "float64")
    check("b * a", mixed_i, mixed_f, "int64", "float64", "float64")
    check("a - b", mixed_i, mixed_f, "int64", "float64", "float64")
  end)

  if not device.raw then
    it("rounds a constant that is passed to a function, though the function makes it a float",
      function()
        local function widen(p, flag)
          if flag then p = roc.float64(1) end
          return p
        end
        local out = devices.zeros(2, "float64")
        devices.run(roc.kernel(function(flag, out)
          out[1], out[2] = widen(0.1, flag), widen(-9.3e18, flag)
        end, { number = "float32" }), 1, { false, out })
        assert.same({ devices.f32(0.1), (devices.f32(-9.3e18)) }, devices.table(out))
      end)

    it("rounds each float32 operation once", function()
      local xs = {}
      for i, x in ipairs(FLOATS) do
        xs[i] = devices.f32(x)
      end
      local a, b = pairs_of(xs, xs)
      for _, op in ipairs { "+", "-", "*", "/", "%" } do
        check("a " .. op .. " b", a, b, "float32", "float32", "float32", devices.f32)
      end
      check("math.sqrt(a)", a, b, "float32", "float32", "float32", devices.f32)
      local out = devices.zeros(1, "float32")
      local k = devices.kernel("function(x, out) out[1] = (x[1] + x[2]) + x[3] end",
        { contract = false })
      devices.run(k, 1, { devices.values({ 16777216.0, 1.0, 1.0 }, "float32"), out })
      assert.equal(16777216.0, out[1])
    end)

    it("rounds square roots of float32 and their reciprocals correctly, whatever the exponent",
      function()
        local xs = {}
        for exponent = 0, 255 do
          for _, fraction in ipairs { 0, 1, 0x3504f3, 0x7fffff } do
            local x = ("f"):unpack(("I4"):pack(exponent << 23 | fraction))
            xs[#xs + 1], xs[#xs + 2] = x, -x
          end
        end
        local k = devices.kernel("function(x, root, inverse) local i = roc.get_global_id(1) "
          .. "root[i] = math.sqrt(x[i]) inverse[i] = 1 / math.sqrt(x[i]) end")
        local root, inverse = devices.zeros(#xs, "float32"), devices.zeros(#xs, "float32")
        devices.run(k, #xs, { devices.values(xs, "float32"), root, inverse })
        for i, x in ipairs(xs) do
          local expected = devices.f32(math.sqrt(x))
          assert(devices.same(expected, root[i]), explain("sqrt(a)", x, 0, expected, root[i]))
          expected = devices.f32(1 / expected)
          assert(devices.same(expected, inverse[i]),
            explain("1 / sqrt(a)", x, 0, expected, inverse[i]))
        end
      end)

    it("rounds square roots of sums that are not small correctly", function()
      local xs = { 0.0, -0.0, 1e-30, -1e-20, 3.0, -7.5, 1e18, -1e19, 3e38, 1 / 0, -1 / 0, 0 / 0 }
      for k = 1, 200 do xs[#xs + 1] = devices.f32(k * k * 0.37 - 900.0) end
      local k = devices.kernel("function(x, root, inverse) local i = roc.get_global_id(1) "
        .. "root[i] = math.sqrt(x[i] * x[i] + 1e-9) "
        .. "inverse[i] = 1 / math.sqrt(math.abs(x[i]) + 0.25) end", { contract = false })
      local root, inverse = devices.zeros(#xs, "float32"), devices.zeros(#xs, "float32")
      devices.run(k, #xs, { devices.values(xs, "float32"), root, inverse })
      local f32 = devices.f32
      for i, x in ipairs(xs) do
        x = f32(x)
        local expected = f32(math.sqrt(f32(f32(x * x) + f32(1e-9))))
        assert(devices.same(expected, root[i]), explain("sqrt", x, 0, expected, root[i]))
        expected = f32(1 / f32(math.sqrt(f32(math.abs(x) + 0.25))))
        assert(devices.same(expected, inverse[i]), explain("1 / sqrt", x, 0, expected, inverse[i]))
      end
    end)

    it("keeps a plain float literal in float32 beside a float32", function()
      local k = devices.kernel("function(x, out) out[1] = x[1] * 0.1 end", { contract = false })
      local out = devices.zeros(1, "float64")
      devices.run(k, 1, { devices.values({ 3.0 }, "float32"), out })
      assert.equal(devices.f32(3.0 * devices.f32(0.1)), out[1])
    end)

    it("widens to float64 only beside a float64", function()
      local k =
        devices.kernel(
        "function(x, y, out) out[1] = x[1] * y[1] out[2] = roc.float64(x[1]) * 0.1 end",
        { contract = false })
      local out = devices.zeros(2, "float64")
      devices.run(k, 1, { devices.values({ 3.0 }, "float32"), devices.values({ 0.1 }, "float64"),
        out })
      assert.same({ 3.0 * 0.1, 3.0 * 0.1 }, devices.table(out))
    end)

    -- 1/zero shows the sign of a zero.
    it("keeps the sign of a zero through differences, minima and halves", function()
      local text = "function(x, h, out) local zero, minus = x[1], x[2] "
        .. "out[1] = 1.0 / roc.float64(0.0 - zero) out[2] = 1.0 / math.min(0.0, minus) "
        .. "out[3] = 1.0 / math.max(minus, 0.0) h[1] = minus * x[3] out[4] = 1.0 / h[1] "
        .. "h[1] = zero / -1e300 out[5] = 1.0 / h[1] end"
      for _, dtype in ipairs { "float32", "float64" } do
        local k = devices.kernel(text, { contract = false })
        local out = devices.zeros(5, "float64")
        devices.run(k, 1, { devices.values({ 0.0, -0.0, 3.0 }, dtype),
          devices.zeros(1, "float16"), out })
        assert.same({ math.huge, math.huge, -math.huge, -math.huge, -math.huge },
          devices.table(out))
      end
    end)

    it("gives the zero of a choice that -0.0 is not below", function()
      for _, dtype in ipairs { "float16", "float32", "float64" } do
        local k = devices.kernel("function(x, out) local i = roc.get_global_id(1) local a = x[i] "
          .. "out[i] = 1.0 / roc.float64(a < 0.0 and a or 0.0) end", { contract = false })
        local out = devices.zeros(3, "float64")
        devices.run(k, 3, { devices.values({ 0.0, -0.0, -2.0 }, dtype), out })
        assert.same({ math.huge, math.huge, -0.5 }, devices.table(out))
      end
    end)

    it("keeps the sign of a zero that is stored as a half and read again", function()
      local k = devices.kernel("function(h, out) local i, n = roc.get_global_id(1), 0 "
        .. "h[i] = -(h[i] ^ 2) repeat n = n + 1 until n > 3 or -9.3e18 > h[i] "
        .. "out[i] = 1.0 / h[i] end", { contract = false })
      local half, out = devices.values({ 0.0, -0.0, 2.0 }, "float16"), devices.zeros(3, "float64")
      devices.run(k, 3, { half, out })
      assert.same({ -math.huge, -math.huge, -0.25 }, devices.table(out))
    end)

    -- One half of the second operand is known to be all ones, and it is needed elsewhere as well.
    it("keeps an integer that overflows float16 infinite", function()
      local k = roc.kernel(function(n, half, out)
        local i = roc.get_global_id(1)
        half[i] = (n[i] & 1) << 16
        local first = half[i]
        half[i] = roc.float32(-((n[i] & 3) << 15))
        out[i][1], out[i][2] = first, half[i]
        out[i][3] = first < 1e10 and 1 or 0
      end, { contract = false })
      local out = devices.zeros({ 4, 3 }, "float64")
      devices.run(k, 4, { devices.values({ 0, 1, 2, 3 }, "int32"), devices.zeros(4, "float16"),
        out })
      assert.same({ { 0.0, 0.0, 1.0 }, { math.huge, -32768.0, 0.0 }, { 0.0, -math.huge, 1.0 },
        { math.huge, -math.huge, 0.0 } }, devices.table(out))
    end)

    it("joins bits with those of a number of which half is known", function()
      local k = devices.kernel("function(x, out, again) local i = roc.get_global_id(1) "
        .. "local high, low = ~i, i << 32 | 0xffffffff again[i] = high ~ low "
        .. "if x[i] ~= 0 then out[i][1] = x[i] | high out[i][2] = low | x[i] end "
        .. "again[i] = again[i] + (high ~ low) end")
      local numbers = { 5, -7, 1 << 40, 0, math.mininteger, math.maxinteger, 1 }
      local out, again = devices.zeros({ #numbers, 2 }, "int64"), devices.zeros(#numbers, "int64")
      devices.run(k, #numbers, { devices.values(numbers, "int64"), out, again })
      local joined, twice = {}, {}
      for i, x in ipairs(numbers) do
        local high, low = ~i, i << 32 | 0xffffffff
        joined[i] = x ~= 0 and { x | high, low | x } or { 0, 0 }
        twice[i] = 2 * (high ~ low)
      end
      assert.same(joined, devices.table(out))
      assert.same(twice, devices.table(again))
    end)

    it("shifts by a count of which only the upper bits are set", function()
      local k = devices.kernel("function(x, out) local i, k = roc.get_global_id(1), 0 "
        .. "local n = math.abs(x[i]) local right, left = 0x55555555 >> n, 0x55555555 << n "
        .. "while k < 4 and -1 < x[i] do k = k + 1 end out[i][1], out[i][2] = right, left end")
      local counts = { math.mininteger, 1 << 32, -1 << 40, 1 << 32 | 3, 64, 63, 3 }
      local out, expected = devices.zeros({ #counts, 2 }, "int64"), {}
      for i, n in ipairs(counts) do
        n = math.abs(n)
        expected[i] = { 0x55555555 >> n, 0x55555555 << n }
      end
      devices.run(k, #counts, { devices.values(counts, "int64"), out })
      assert.same(expected, devices.table(out))
    end)

    for _, dtype in ipairs { "uint32", "int32", "int64" } do
      it("shifts " .. dtype .. " by as many bits as a mask leaves", function()
        local k = devices.kernel("function(x, s, out, low) local i = roc.get_global_id(1) "
          .. "local a, n = x[i], s[i] "
          .. "out[i][1], out[i][2] = a << (n & 31), a >> (n & 31) "
          .. "out[i][3], out[i][4] = a << (n & 63), a >> (n & 63) "
          .. "out[i][5], out[i][6] = a << (n & 127), a >> (n & 127) "
          .. "low[i][1], low[i][2] = a << (n & 31), a << 32 - (n & 31) "
          .. "low[i][3], low[i][4] = a << (n & 127), a >> 32 - (n & 31) end")
        local values, counts, expected, low = {}, {}, {}, {}
        for _, x in ipairs { 0, 1, -1, 0x55555555, 0x7fffffff, -0x80000000, 12345 } do
          for _, n in ipairs { 0, 1, 7, 30, 31, 32, 33, 62, 63, 64, 65, 96, 127, 128, -1 } do
            local a = dtype == "uint32" and x & 0xffffffff or x
            values[#values + 1], counts[#counts + 1] = a, n
            expected[#values] = { a << (n & 31), a >> (n & 31), a << (n & 63), a >> (n & 63),
              a << (n & 127), a >> (n & 127) }
            low[#values] = { a << (n & 31) & 0xffffffff, a << 32 - (n & 31) & 0xffffffff,
              a << (n & 127) & 0xffffffff, a >> 32 - (n & 31) & 0xffffffff }
          end
        end
        local out, halves = devices.zeros({ #values, 6 }, "int64"),
          devices.zeros({ #values, 4 }, "uint32")
        devices.run(k, #values, { devices.values(values, dtype), devices.values(counts, "int32"),
          out, halves })
        assert.same(expected, devices.table(out))
        assert.same(low, devices.table(halves))
      end)
    end

    it("divides what has 32 bits by what may have more", function()
      local k = devices.kernel("function(x, y, out) local i = roc.get_global_id(1) "
        .. "local a, b = x[i], y[i] >> 1 out[i][1], out[i][2] = a // b, a % b end")
      local values = { 0, 1, 2, 7, 1000003, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff }
      local divisors = { 1, 2, 3, 7, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 1 << 32,
        1 << 32 | 1, 1 << 32 | 7, 1 << 33, 1 << 62, math.maxinteger }
      local xs, ys = pairs_of(values, divisors)
      local twice, expected = {}, {}
      for i, y in ipairs(ys) do
        twice[i] = y << 1
        expected[i] = { xs[i] // y, xs[i] % y }
      end
      local out = devices.zeros({ #xs, 2 }, "int64")
      devices.run(k, #xs, { devices.values(xs, "uint32"), devices.values(twice, "int64"), out })
      assert.same(expected, devices.table(out))
    end)

    it("takes the high byte of an int16 without its sign", function()
      local k = devices.kernel("function(x, y, out) local i = roc.get_global_id(1) "
        .. "out[i] = (roc.int16(x[i] + y[i]) // 256 & 0xffff) + i end")
      local numbers = { -30000, 255, 256, -1, -256, 32767, -32768, 12345 }
      local ones, expected = {}, {}
      for i, x in ipairs(numbers) do
        ones[i] = 1
        expected[i] = (((x + 1 + 32768) % 65536 - 32768) // 256 & 0xffff) + i
      end
      local out = devices.zeros(#numbers, "int64")
      devices.run(k, #numbers,
        { devices.values(numbers, "int16"), devices.values(ones, "int16"), out })
      assert.same(expected, devices.table(out))
    end)

    it("adds to a product of bytes what is made of it", function()
      for _, text in ipairs { "s + s // 3", "s + (s & 12345)" } do
        local k = devices.kernel("function(x, out) local i = roc.get_global_id(1) "
          .. "local s = x[i] * x[i] out[i] = " .. text .. " end")
        local of = load("local s = ... return " .. text)
        for _, dtype in ipairs { "uint8", "int8" } do
          local x, out, expected = roc.zeros(40, dtype), devices.zeros(40, "int32"), {}
          for i = 1, 40 do
            x[i] = i * 37 % 256 - (dtype == "int8" and 128 or 0)
            expected[i] = of(x[i] * x[i])
          end
          devices.run(k, 40, { roc.to_device(x), out })
          assert.same(expected, devices.table(out))
        end
      end
    end)

    it("puts the bytes of a quotient in another order", function()
      local x = { 0x12345678, -0x12345678, -1, 0, -2147483648, 2147483647, 0x7f00ff01, -255 }
      for _, divisor in ipairs { 256, 65536, 16777216 } do
        local text = ("function(x, out) local i = roc.get_global_id(1) local s = x[i] // %d "
          .. "out[i] = ((s & 255) << 24) | ((s >> 8 & 255) << 16) | ((s >> 16 & 255) << 8) "
          .. "| (s >> 24 & 255) end"):format(divisor)
        local out, expected = devices.zeros(#x, "uint32"), {}
        for i, v in ipairs(x) do
          local bytes = ("<I4"):pack(v // divisor & 0xffffffff)
          expected[i] = (">I4"):unpack(bytes)
        end
        devices.run(devices.kernel(text), #x, { devices.values(x, "int32"), out })
        assert.same(expected, devices.table(out))
      end
    end)

    it("tells whether a product and a small number wrap", function()
      local x = { -1, -2147483648, -123456789012345, 5, 0xffffffff, 0x7fffffff, -1, 1 }
      local y = { -1, -1, -1, 7, 0x100000001, 0x200000001, 1, -16 }
      local z = { -2147483648, 3, -4294967295, 0, 1, 2, 1, 16 }
      for expr, expected in pairs {
        ["next == 0 and c or next"] = function(product, c)
          return product == -1 and c or product + 1
        end,
        ["sum + (math.ult(sum, product) and 100 or 0)"] = function(product, c)
          local sum = product + (c & 0xffff)
          return sum + (math.ult(sum, product) and 100 or 0)
        end,
      } do
        local k = devices.kernel("function(x, y, z, out) local i = roc.get_global_id(1) "
          .. "local product, c = x[i] * y[i], z[i] "
          .. "local sum, next = product + (c & 0xffff), product + 1 out[i] = " .. expr .. " end")
        local out, all = devices.zeros(#x, "int64"), {}
        for i = 1, #x do all[i] = expected(x[i] * y[i], z[i]) end
        devices.run(k, #x, { devices.values(x, "int64"), devices.values(y, "int64"),
          devices.values(z, "int64"), out })
        assert.same(all, devices.table(out))
      end
    end)

    it("stops a sum at the largest number and a difference at 0", function()
      local adds = devices.kernel("function(x, y, z, out) local i = roc.get_global_id(1) "
        .. "local a = x[i] * y[i] local b = a + (z[i] & 0xff) "
        .. "out[i] = math.ult(b, a) and -1 or b end")
      local takes = devices.kernel("function(x, y, z, out) local i = roc.get_global_id(1) "
        .. "local a, b = (y[i] - x[i]) << 32 | (z[i] & 0xffffffff), y[i] & 0xffffffff "
        .. "out[i] = math.ult(a, b) and 0 or a - b end")
      local x, y, z, sums, rests = {}, {}, {}, {}, {}
      for i = 1, 64 do
        x[i], y[i], z[i] = -i, -i * i, i * 7
        local a = (y[i] - x[i]) << 32 | (z[i] & 0xffffffff)
        local b = y[i] & 0xffffffff
        sums[i], rests[i] = x[i] * y[i] + (z[i] & 0xff), math.ult(a, b) and 0 or a - b
        if math.ult(sums[i], x[i] * y[i]) then sums[i] = -1 end
      end
      for kernel, expected in pairs { [adds] = sums, [takes] = rests } do
        local out = devices.zeros(64, "int64")
        devices.run(kernel, 64, { devices.values(x, "int64"), devices.values(y, "int64"),
          devices.values(z, "int64"), out })
        assert.same(expected, devices.table(out))
      end
    end)

    for _, text in ipairs { "a * b + c", "a // b", "a % b" } do
      it("computes " .. text .. " of what is cut to 24 bits", function()
        local k = devices.kernel("function(x, y, z, out) local i = roc.get_global_id(1) "
          .. "local a, b, c = x[i] & 0xffffff, y[i] & 0xffffff, z[i] out[i] = " .. text .. " end")
        local of = load("local a, b, c = ... return " .. text)
        local x = { 16777214, 14882573, 0x7ffffe, 0x123456789abcdef, -1, 0xbf2758 }
        local y = { 3, 3122, 0x7fffff, 0x7edcba987654321, -2, 0xbf2759 }
        local out, expected, z = devices.zeros(#x, "int64"), {}, {}
        for i = 1, #x do
          z[i] = i * 1234567891234567
          expected[i] = of(x[i] & 0xffffff, y[i] & 0xffffff, z[i])
        end
        devices.run(k, #x, { devices.values(x, "int64"), devices.values(y, "int64"),
          devices.values(z, "int64"), out })
        assert.same(expected, devices.table(out))
      end)
    end

    it("chooses a constant for what is neither below nor above it", function()
      for _, dtype in ipairs { "float16", "float32", "float64" } do
        local k = devices.kernel("function(x, y, out) local i = roc.get_global_id(1) "
          .. "local a, b, r = x[i], y[i], 0.0 "
          .. "if a < 5.0 or a > 5.0 then r = b else r = 5.0 end out[i] = r end")
        local out = devices.zeros(4, dtype)
        devices.run(k, 4, { devices.values({ 4, 5, 6, 0 / 0 }, dtype),
          devices.values({ 1, 2, 3, 4 }, dtype), out })
        assert.same({ 1.0, 5.0, 3.0, 5.0 }, devices.table(out))
      end
    end)

    -- The first two fit 32 bits without a sign, where they look like small negative numbers.
    it("takes the remainder of what a comparison of floats chooses", function()
      local k = devices.kernel([[function(a, b, out)
        local i = roc.get_global_id(1)
        if b[i] then return end
        local v = 255
        if 0x1p53 > a[2] then v = 655660 end
        out[i] = roc.float64(v) % 1000.0
      end]])
      for x, expected in pairs { [1.0] = 660, [1 / 0] = 255 } do
        local out = devices.zeros(3, "float32")
        devices.run(k, 3, { devices.values({ 0, x }, "float16"), devices.zeros(3, "bool"), out })
        assert.same({ expected, expected, expected }, devices.table(out))
      end
    end)

    it("keeps the sign of a zero that a loop and what follows it use", function()
      local k = devices.kernel [[function(n, a, b)
        local gid = roc.get_global_id(1) + (roc.get_global_id(2) - 1) * roc.get_global_size(1)
        local zero = (math.mininteger ~ n) * 0.0
        for x = 1, 2, 0.25 do
          a[gid] = zero + zero
          if true then break end
        end
        b[gid][1] = zero
      end]]
      local a, b = devices.zeros(4, "float64"), devices.zeros({ 4, 2 }, "float64")
      devices.run(k, 4, { 0, a, b })
      assert.equal("-0.0 -0.0", devices.table(a)[1] .. " " .. devices.table(b)[1][1])
    end)

    it("divides a constant just below 2^32, or below 0", function()
      for _, numerator in ipairs { 4294967295, 4286578688, -65536, -1 } do
        local k = devices.kernel(("function(x, out) if x[1] >= -1 then out[1] = 1 else "
          .. "out[1] = %d // (roc.int8(x[1]) | 1) out[2] = %d %% (roc.int8(x[1]) | 1) end "
          .. "end"):format(numerator, numerator))
        for _, case in ipairs { { -3.0, -3 }, { -1000.0, -127 }, { 0 / 0, 1 } } do
          local value, divisor = table.unpack(case)
          local out = devices.zeros(2, "int64")
          devices.run(k, 1, { devices.values({ value }, "float32"), out })
          assert.same({ numerator // divisor, numerator % divisor }, devices.table(out))
        end
      end
    end)

    it("divides what has ones in its high half", function()
      local k = devices.kernel("function(x, out, ids) "
        .. "local i = roc.get_local_id(1) + roc.get_local_size(2) - 1 "
        .. "out[i] = (-10 ~ i) // (math.floor(roc.float64(i) % 1000.0) | 1) % (#x + 3) "
        .. "ids[i] = i end", { contract = false })
      local out = devices.zeros(4, "int64")
      devices.run(k, 4, { devices.zeros(64, "int64"), out, devices.zeros(4, "int64") })
      assert.same({ 58, 63, 63, 64 }, devices.table(out))
    end)

    it("divides what has ones in its high half and is used in a loop before", function()
      local k = devices.kernel("function(n, x, out, seen) local i = roc.get_global_id(1) "
        .. "for k = 1, n >> 40 do seen[i + k - 1] = i end "
        .. "if not (i < x) then out[i] = ~i // (roc.int16(n) | 1) end end")
      local out = devices.zeros(2, "int64")
      devices.run(k, 1, { 1 << 40, -1e200, out, devices.zeros(2, "int64") })
      assert.same({ -2, 0 }, devices.table(out))
    end)

    it("rounds plain numbers that meet no float64 with number = \"float32\"", function()
      local text = "function(y, x, out) out[1] = 0.1 out[2] = x out[3] = y[1] + 0.1 out[4] = "
        .. "roc.float64(-0.1) out[5] = x + 0.1 "
        .. "out[6] = roc.float64(x > 0 and 16777217.0 or 1.0) "
        .. "out[7] = x > 5 and y[1] or 16777217.0 end"
      local k = devices.kernel(text, { number = "float32", contract = false })
      local out = devices.zeros(7, "float64")
      devices.run(k, 1, { devices.values({ 1.0 }, "float64"), 0.2, out })
      local f32 = devices.f32
      local sum = f32(f32(0.2) + f32(0.1))
      assert.same({ f32(0.1), f32(0.2), 1.1, -0.1, sum, 16777216.0, 16777217.0 },
        devices.table(out))
    end)

    it("rounds a constant that goes into a function with number = \"float32\"", function()
      local function widen(p) return roc.float64(p) end
      local function same() return 0.1 end
      local k = roc.kernel(function(out)
        out[1], out[2] = widen(0.1), widen(-1e300)
        local kept = 0.1
        out[3], out[4] = roc.float64(kept), roc.float64(same())
      end, { number = "float32", contract = false })
      local out = devices.zeros(4, "float64")
      devices.run(k, 1, { out })
      assert.same({ devices.f32(0.1), -math.huge, 0.1, (devices.f32(0.1)) }, devices.table(out))
    end)
  end
end)
