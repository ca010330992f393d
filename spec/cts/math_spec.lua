-- Functions of math and roc.math: exact ones bit for bit, the others within a few units in the last
-- place of libm.
local roc = require "roc"
local core = require "roc.core"
local devices = require "support.devices"

-- How far a result may be from the host's, in units in the last place: both have an error.
local ULP = { float32 = 4 * 2.0 ^ -23, float64 = 4 * 2.0 ^ -52 }

local UNARY = {
  { "math.sin", "sin" }, { "math.cos", "cos" }, { "math.tan", "tan" },
  { "math.asin", "asin", -1, 1 }, { "math.acos", "acos", -1, 1 },
  { "math.atan", "atan" }, { "math.exp", "exp" }, { "math.log", "log", 1e-3, 50 },
  { "roc.math.exp2", "exp2" }, { "roc.math.log2", "log2", 1e-3, 50 },
  { "roc.math.log10", "log10", 1e-3, 50 },
  { "roc.math.log1p", "log1p", -0.9, 50 }, { "roc.math.expm1", "expm1" },
  { "roc.math.sinh", "sinh" }, { "roc.math.cosh", "cosh" },
  { "roc.math.tanh", "tanh" }, { "roc.math.asinh", "asinh" }, { "roc.math.acosh", "acosh", 1, 50 },
  { "roc.math.atanh", "atanh", -0.99, 0.99 },
  { "roc.math.cbrt", "cbrt" }, { "roc.math.rsqrt", "rsqrt", 1e-3, 50 }, { "roc.math.erf", "erf" },
  { "roc.math.erfc", "erfc", -3, 3 },
  { "roc.math.gamma", "gamma", 0.1, 20 }, { "roc.math.lgamma", "lgamma", 3, 50 },
}
local EXACT = { { "roc.math.trunc", "trunc" }, { "roc.math.round", "round" },
  { "math.sqrt", "sqrt" } }

local function samples(first, last)
  local list = {}
  for i = 0, 40 do
    list[i + 1] = first + (last - first) * i / 40
  end
  return list
end

local function run_unary(name, dtype, xs)
  local k =
    devices.kernel(("function(x, out) local i = roc.get_global_id(1) out[i] = %s(x[i]) end"):format(
    name))
  local out = devices.zeros(#xs, dtype)
  local x = devices.values(xs, dtype)
  devices.run(k, #xs, { x, out })
  return devices.table(x), devices.table(out)
end

devices.each(function(device)
  for _, dtype in ipairs { "float64", "float32" } do
    if not (device.raw and dtype == "float32") then
      local libm = dtype == "float32" and core.math32 or core.math
      for _, f in ipairs(UNARY) do
        it(("computes %s of %s"):format(f[1], dtype), function()
          local xs, got = run_unary(f[1], dtype, samples(f[3] or -10, f[4] or 10))
          for i, x in ipairs(xs) do
            local expected = libm[f[2]](x)
            local tolerance = ULP[dtype] * math.max(math.abs(expected), f[2] == "lgamma" and 1 or 0)
            if f[1] == "math.sin" or f[1] == "math.cos" or f[1] == "math.tan" then
              tolerance = math.max(tolerance, ULP[dtype] * 1e-3)
            end
            assert(math.abs(expected - got[i]) <= tolerance,
              ("%s(%s): expected %s, got %s"):format(f[1], x, expected, got[i]))
          end
        end)
      end
      for _, f in ipairs(EXACT) do
        it(("computes %s of %s exactly"):format(f[1], dtype), function()
          local xs, got = run_unary(f[1], dtype,
            { 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e10, 1e30, 1 / 0, 0 / 0, 0.49999998 })
          for i, x in ipairs(xs) do
            assert(devices.same(libm[f[2]](x), got[i]),
              ("%s(%s): expected %s, got %s"):format(f[1], x, libm[f[2]](x), got[i]))
          end
        end)
      end
    end
  end

  it("computes functions of two and three floats", function()
    local k = roc.kernel(function(x, y, out)
      local i = roc.get_global_id(1)
      local a, b = x[i], y[i]
      out[i][1], out[i][2], out[i][3] = math.atan(a, b), a ^ b, roc.math.hypot(a, b)
      out[i][4], out[i][5] = roc.math.copysign(a, -b), roc.math.fma(a, b, 1.0)
      out[i][6], out[i][7] = math.log(a, 2), math.log(a, 10)
      local whole, part = math.modf(a)
      out[i][8], out[i][9] = whole, part
      out[i][10] = math.deg(a) + math.rad(b)
    end)
    local xs, ys = { 0.5, 1.25, 3.0, 10.5 }, { 2.0, 0.5, 1.5, 3.0 }
    local out = devices.zeros({ 4, 10 }, "float64")
    devices.run(k, 4, { devices.values(xs, "float64"), devices.values(ys, "float64"), out })
    for i, a in ipairs(xs) do
      local b, got = ys[i], out[i]
      local whole, part = math.modf(a)
      local expected = { math.atan(a, b), a ^ b, core.math.hypot(a, b), -a,
        core.math.fma(a, b, 1.0), math.log(a, 2), math.log(a, 10), whole, part,
        math.deg(a) + math.rad(b) }
      for j, e in ipairs(expected) do
        assert(math.abs(e - got[j]) <= 4 * ULP.float64 * math.abs(e),
          ("column %d: expected %s, got %s"):format(j, e, got[j]))
      end
    end
  end)

  -- Their bits are the numbers that AMD's codes give to sources: 0x80 is 0 there, 0xf2 is 1.0.
  it("adds and multiplies by constants that are the least of float32", function()
    local k = roc.kernel(function(x, y, out)
      local i = roc.get_global_id(1)
      out[i][1] = roc.math.fma(x[i], y[i], 0x80p-149)
      out[i][2] = roc.math.fma(x[i], y[i], 0xa8p-149)
      out[i][3] = roc.math.fma(x[i], y[i], 0xf2p-149)
      out[i][4] = roc.math.fma(x[i], y[i], 0xffp-149)
      out[i][5] = roc.math.fma(x[i], 0xd0p-149, y[i])
      out[i][6] = roc.math.fma(x[i], 0xf0p-149, y[i])
    end)
    local out = devices.zeros({ 16, 6 }, "float32")
    local xs, ys = {}, {}
    for i = 1, 16 do xs[i], ys[i] = 1.0 * i, 0x1p-149 end
    devices.run(k, 16, { devices.values(xs, "float32"), devices.values(ys, "float32"), out })
    for i, got in ipairs(devices.table(out)) do
      for j, constant in ipairs { 0x80, 0xa8, 0xf2, 0xff, 0xd0, 0xf0 } do
        got[j] = got[j] / 0x1p-149 - (j < 5 and constant + i or i * constant + 1)
      end
      assert.same({ 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 }, got)
    end
  end)

  it("gives no negative zero as math.modf's integral part, as Lua's is an integer", function()
    local k = roc.kernel(function(x, out)
      local whole, part = math.modf(x)
      out[1], out[2] = 1.0 / whole, part
    end)
    local out = devices.zeros(2, "float64")
    for _, x in ipairs { -0.25, -0.0 } do
      devices.run(k, 1, { x, out })
      assert.same({ 1 / 0, x }, devices.table(out))
    end
  end)

  it("keeps the sign of a zero in expm1 and log1p", function()
    for _, dtype in ipairs { "float32", "float64" } do
      local k = roc.kernel(function(x, out)
        local i = roc.get_global_id(1)
        out[i][1] = 1.0 / roc.float64(roc.math.expm1(x[i]))
        out[i][2] = 1.0 / roc.float64(roc.math.log1p(x[i]))
      end)
      local out = devices.zeros({ 2, 2 }, "float64")
      devices.run(k, 2, { devices.values({ 0.0, -0.0 }, dtype), out })
      assert.same({ { 1 / 0, 1 / 0 }, { -1 / 0, -1 / 0 } }, devices.table(out))
    end
  end)

  it("takes an integer for its own integral part", function()
    local k = roc.kernel(function(out)
      local i = roc.get_global_id(1) + 9007199254740992
      local whole, rest = math.modf(i)
      out[math.modf(1)] = whole
      if rest == 0 then out[2] = math.modf(-i) end
    end)
    local out = devices.zeros(2, "int64")
    devices.run(k, 1, { out })
    assert.same({ 9007199254740993, -9007199254740993 }, devices.table(out))
  end)

  it("counts a call's results as arguments", function()
    local function pair(n) return 8.0, n * 2.0 end
    local k = roc.kernel(function(out)
      out[1], out[2], out[3] = math.log(pair(1)), math.atan(pair(-1)), math.fmod(pair(1.5))
    end)
    local out = devices.zeros(3, "float64")
    devices.run(k, 1, { out })
    local got = devices.table(out)
    for i, value in ipairs { 3, math.atan(8.0, -2.0), 2 } do
      assert.is_true(math.abs(got[i] - value) < 1e-14, ("%d: %.17g"):format(i, got[i]))
    end
  end)

  it("classifies floats and counts bits", function()
    local k = roc.kernel(function(x, n, out)
      local i = roc.get_global_id(1)
      local f = (roc.math.isnan(x[i]) and 1 or 0) + (roc.math.isinf(x[i]) and 10
        or 0) + (roc.math.isfinite(x[i]) and 100 or 0)
      out[i][1] = f
      out[i][2], out[i][3] = roc.math.popcount(n[i]), roc.math.clz(n[i])
      out[i][4], out[i][5] = roc.math.ctz(n[i]), roc.math.bitreverse(n[i])
    end)
    local xs, ns = { 1.0, 1 / 0, 0 / 0, -1 / 0 }, { 0, 1, -1, 1 << 40 }
    local out = devices.zeros({ 4, 5 }, "int64")
    devices.run(k, 4, { devices.values(xs, "float64"), devices.values(ns, "int64"), out })
    assert.same({
      { 100, 0, 64, 64, 0 }, { 10, 1, 63, 0, math.mininteger }, { 1, 64, 0, 0, -1 },
      { 10, 1, 23, 40, 1 << 23 },
    }, devices.table(out))
  end)
end)
