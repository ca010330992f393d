-- Instructions on halves of the emulator, against exact arithmetic rounded once.

local exact = require("support.exact")
local lanes = require("support.lanes")
local real = require("support.real")

local f16 = exact.f16
local OLD16 = real.OLD32 & 0xffff
local PI = 0x4248

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201" }) do
  describe("arithmetic on halves of " .. target, function()
    local check = real.checker(it, target, f16, "b16")
    local is_gfx9 = check.is_gfx9
    real.arithmetic(check)
    real.differences(check)
    real.three(check)
    real.rounding(check)
    real.exponents(check)
    real.comparisons(check)

    local function mad(a, b, c, mode)
      return exact.nan_of(f16, a, b, c) or exact.add(f16, exact.mul(f16, a, b, mode), c, mode)
    end
    if is_gfx9 then
      check("v_mad_f16", 3, mad, { flushes = false })
      check("v_mac_f16", 2, function(a, b, mode) return mad(a, b, OLD16, mode) end,
        { flushes = false })
      check("v_madak_f16", 2, function(a, b, mode) return mad(a, b, PI, mode) end,
        { text = "v_madak_f16 v0, v4, v8, 0x4248", flushes = false })
      check("v_madmk_f16", 2, function(a, b, mode) return mad(a, PI, b, mode) end,
        { text = "v_madmk_f16 v0, v4, 0x4248, v8", flushes = false })
    else
      check("v_fmac_f16", 2, function(a, b, mode) return exact.fma(f16, a, b, OLD16, mode) end)
      check("v_fmaak_f16", 2, function(a, b, mode) return exact.fma(f16, a, b, PI, mode) end,
        { text = "v_fmaak_f16 v0, v4, v8, 0x4248" })
      check("v_fmamk_f16", 2, function(a, b, mode) return exact.fma(f16, a, PI, b, mode) end,
        { text = "v_fmamk_f16 v0, v4, 0x4248, v8" })
    end

    check("v_pack_b32_f16", 2, function(a, b) return a | b << 16 end,
      { modes = false, result = "b32" })

    check("v_div_fixup_f16", 3, function(q, d, n)
      local sign, magnitude = (d ~ n) & 0x8000, function(x) return x & 0x7fff end
      local nan = exact.nan_of(f16, n, d)
      if nan then return nan end
      local d_infinite, n_infinite = magnitude(d) == 0x7c00, magnitude(n) == 0x7c00
      if magnitude(d) == 0 and magnitude(n) == 0 or d_infinite and n_infinite then return 0xfe00 end
      if magnitude(d) == 0 or n_infinite then return sign | 0x7c00 end
      if d_infinite or magnitude(n) == 0 then return sign end
      return sign | magnitude(exact.nan_of(f16, q) or q)
    end, { modes = false })

    local rows = exact.rows(f16, 2)
    if is_gfx9 then
      -- as LLVM expands the division of v4 by v8
      check.at("divides as IEEE 754 says", [[
        v_cvt_f32_f16_e32 v12, v8
        v_cvt_f32_f16_e32 v13, v4
        v_rcp_f32_e32 v14, v12
        v_mul_f32_e32 v15, v13, v14
        v_mad_f32 v16, -v12, v15, v13
        v_mac_f32_e32 v15, v16, v14
        v_mad_f32 v12, -v12, v15, v13
        v_mul_f32_e32 v12, v12, v14
        v_and_b32_e32 v12, 0xff800000, v12
        v_add_f32_e32 v12, v12, v15
        v_cvt_f16_f32_e32 v12, v12
        v_div_fixup_f16 v0, v12, v8, v4]], "b16 b16", "b16", exact.rows(f16, 2, 4000), 0x3f0,
        function(values)
          local n, d = exact.number(f16, values[1]), exact.number(f16, values[2])
          local nan = exact.nan_of(f16, values[1], values[2])
          if nan then return nan end
          if d == 0 and n == 0 or d - d ~= 0 and n - n ~= 0 then return 0xfe00 end
          return exact.bits(f16, n / d)
        end)
    end
    local function high(text, keeps)
      it(("%s the register's high half in %s"):format(keeps and "keeps" or "clears", text),
        check.batch:each(text, "b32", "b16 b16", rows, {}, function(got)
          lanes.same(keeps and real.OLD32 >> 16 or 0, got >> 16)
        end))
    end
    high("v_add_f16 v0, v4, v8", not is_gfx9)
    high("v_fma_f16 v0, v4, v8, v8", true)
    it("takes and writes the halves that op_sel names", check.batch:each(
      "v_fma_f16 v0, v4, v8, -1.0 op_sel:[1,0,0,1]", "b32", "b32 b32",
      { { 0x40003c00, 0x4248, 0 }, { 0x3c004000, 0x3c00, 0 } }, {}, function(got, values)
        local sum = exact.fma(f16, values[1] >> 16, values[2], 0xbc00)
        lanes.same(sum << 16 | OLD16, got)
      end))
    if target == "gfx1100" or target == "gfx1201" then
      it("adds to the half that it writes in v_fmac_f16", check.batch:each(
        ".long 0x6d001104 ; v_fmac_f16 v0.h, v4.l, v8.l", "b32", "b16 b16", rows, {},
        function(got, values)
          local sum = exact.fma(f16, values[1], values[2], real.OLD32 >> 16)
          lanes.same(sum << 16 | OLD16, got)
        end))
    end
  end)
end
