-- 32-bit float instructions of the emulator, against exact arithmetic rounded once.

local emulator = require("support.emulator")
local exact = require("support.exact")
local lanes = require("support.lanes")
local real = require("support.real")

local f32 = exact.f32
local PI = 0x40490fdb

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201" }) do
  describe("float arithmetic of " .. target, function()
    local check = real.checker(it, target, f32, "b32")
    real.arithmetic(check)
    real.rounding(check)
    real.exponents(check)
    real.comparisons(check)
    real.division(check)
    real.roots(check)

    real.differences(check)
    real.three(check)
    check("v_mul_legacy_f32", 2, function(a, b, mode)
      local zero = a & 0x7fffffff == 0 or b & 0x7fffffff == 0
      return zero and 0 or exact.mul(f32, a, b, mode)
    end)

    if target == "gfx90a" then
      local function mad(a, b, c, mode)
        a, b, c = exact.flush(f32, a), exact.flush(f32, b), exact.flush(f32, c)
        local nan = exact.nan_of(f32, a, b, c)
        local product = exact.mul(f32, a, b, mode)
        return nan or exact.flush(f32, exact.add(f32, product, c, mode))
      end
      check("v_mad_f32", 3, mad)
      check("v_mac_f32", 2, function(a, b, mode) return mad(a, b, real.OLD32, mode) end)
      check("v_madak_f32", 2, function(a, b, mode) return mad(a, b, PI, mode) end,
        { text = "v_madak_f32 v0, v4, v8, 0x40490fdb" })
      check("v_madmk_f32", 2, function(a, b, mode) return mad(a, PI, b, mode) end,
        { text = "v_madmk_f32 v0, v4, 0x40490fdb, v8" })
    else
      check("v_fmaak_f32", 2, function(a, b, mode) return exact.fma(f32, a, b, PI, mode) end, {
        text = "v_fmaak_f32 v0, v4, v8, 0x40490fdb",
      })
      check("v_fmamk_f32", 2, function(a, b, mode) return exact.fma(f32, a, PI, b, mode) end, {
        text = "v_fmamk_f32 v0, v4, 0x40490fdb, v8",
      })
      check("v_fma_legacy_f32", 3, function(a, b, c, mode)
        local zero = a & 0x7fffffff == 0 or b & 0x7fffffff == 0
        if zero then return exact.nan_of(f32, c) or exact.add(f32, 0, c, mode) end
        return exact.fma(f32, a, b, c, mode)
      end)
    end
    -- What is found on the side of a cube that (x, y, z) points at: face, s, t, twice the axis.
    local function cube(x, y, z)
      local function size(r) return math.abs(exact.number(f32, r)) end
      local function minus(r) return r ~ 0x80000000 end
      local function twice(r) return exact.mul(f32, r, 0x40000000, 0) end
      local function either(r, below, other)
        return exact.number(f32, r) < 0 and below or other
      end
      if size(z) >= size(x) and size(z) >= size(y) then
        return { either(z, 5, 4), either(z, minus(x), x), minus(y), twice(z) }
      elseif size(y) >= size(x) then
        return { either(y, 3, 2), x, either(y, minus(z), z), twice(y) }
      end
      return { either(x, 1, 0), either(x, z, minus(z)), minus(y), twice(x) }
    end
    for n, name in ipairs { "id", "sc", "tc", "ma" } do
      it("finds the side of a cube: v_cube" .. name, check.batch:each(
        ("v_cube%s_f32 v0, v4, v8, v12"):format(name), "b32", "b32 b32 b32",
        exact.rows(f32, 3, 300), {}, function(got, values)
          local want = cube(table.unpack(values))[n]
          if n == 1 then want = exact.bits(f32, want) end
          if exact.is_nan(f32, want) then want, got = true, exact.is_nan(f32, got) end
          lanes.same(want, got)
        end))
    end
    if not check.is_gfx9 then
      it("multiplies for lighting: v_mullit", check.batch:each("v_mullit_f32 v0, v4, v8, v12",
        "b32", "b32 b32 b32", exact.rows(f32, 3, 300), {}, function(got, values)
          local a, b, c = table.unpack(values)
          local is_least = b >= 0xff7fffff or exact.is_nan(f32, b) or exact.is_nan(f32, c) or
            c == 0 or c >= 0x80000000
          local want = is_least and 0xff7fffff or exact.nan_of(f32, a, b) or exact.mul(f32, a, b, 0)
          lanes.same(want, got)
        end))
    end
    check("v_fmac_f32", 2, function(a, b, mode) return exact.fma(f32, a, b, real.OLD32, mode) end)
  end)
end

-- Where sources differ: VCC says that the quotient has to be scaled back, and nothing else.
describe("v_div_scale_f32", function()
  if not emulator.program then return end
  local function scaled(x, d, n)
    local r = emulator.run("gfx1100", { { code = "v_div_scale_f32 v0, vcc_lo, v1, v2, v3",
      v = { x, d, n } } })[1]
    assert.is_nil(r.fault)
    return r.v[0][1], r.vcc & 1
  end
  local TINY, ONE, SCALED = 0x00800000, 0x3f800000, 0x20800000 -- 2^-126, 1, 2^-62

  it("gives NaN for a zero, which is not scaled back", function()
    for _, zeros in ipairs { { 0, ONE }, { ONE, 0 } } do
      local value, vcc = scaled(zeros[1], zeros[1], zeros[2])
      assert.is_true(exact.is_nan(f32, value))
      assert.are.equal(0, vcc)
    end
  end)
  it("scales a tiny numerator and its denominator alike", function()
    assert.are.same({ SCALED, 0 }, { scaled(TINY, ONE, TINY) })
    assert.are.same({ 0x5f800000, 0 }, { scaled(ONE, ONE, TINY) })
  end)
end)
