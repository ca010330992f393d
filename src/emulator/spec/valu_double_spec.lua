-- Instructions on doubles of the emulator, against exact arithmetic rounded once.

local exact = require("support.exact")
local lanes = require("support.lanes")
local real = require("support.real")

local f64 = exact.f64

-- The hexadecimal digits of 2/pi after the point, as far as the hardware has them.
local TWO_OVER_PI = table.concat({
  "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424d",
  "d2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639",
  "835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f46",
  "3f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b",
})

-- The 53 binary digits of it from number `first` on.
local function digits(first)
  local value = 0
  for n = first, first + 52 do
    local digit = TWO_OVER_PI:sub(n // 4 + 1, n // 4 + 1)
    value = value << 1 | (digit == "" and 0 or tonumber(digit, 16) >> (3 - n % 4) & 1)
  end
  return value
end

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201" }) do
  describe("arithmetic on doubles of " .. target, function()
    local check = real.checker(it, target, f64, "b64")
    real.arithmetic(check)
    real.rounding(check)
    real.exponents(check)
    real.comparisons(check)
    real.division(check)
    real.roots(check)
    if target == "gfx90a" then
      check("v_fmac_f64", 2, function(a, b, mode) return exact.fma(f64, a, b, real.OLD64, mode) end)
    end

    local rows = {}
    for exponent = 0, 2046, 31 do
      for segment = 0, 3 do
        rows[#rows + 1] = { exponent << 52 | 0x921fb54442d18, segment, 0 }
      end
      rows[#rows + 1] = { (exponent + 1) << 52 | 1 << 63, 13 + exponent % 3, 0 }
    end
    check("v_trig_preop_f64", 2, function(a, segment)
      local exponent = a >> 52 & 2047
      local shift = (segment & 31) * 53 + math.max(0, exponent - 1077)
      local power = -53 - shift + (exponent >= 1968 and 128 or 0)
      return exact.integer(f64, digits(shift), 0, -power)
    end, { rows = rows, types = "b64 b32", modes = false })

    it("reads scalars, constants and signs of sources", check.batch:each(
      "v_fma_f64 v[0:1], -|v[4:5]|, s[12:13], 0.5", "b64", "b64", exact.rows(f64, 1),
      { s = { [12] = 0, [13] = 0x40080000 } }, function(got, values)
        local a = values[1] & (f64.sign - 1) | f64.sign
        lanes.same(exact.fma(f64, a, exact.bits(f64, 3), exact.bits(f64, 0.5)), got)
      end))
  end)
end
