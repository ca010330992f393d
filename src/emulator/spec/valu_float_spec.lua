-- 32-bit float instructions of the emulator, against exact arithmetic rounded once.

local exact = require("support.exact")
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
    check("v_fmac_f32", 2, function(a, b, mode) return exact.fma(f32, a, b, real.OLD32, mode) end)
  end)
end
