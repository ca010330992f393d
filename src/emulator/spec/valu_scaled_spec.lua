-- Conversions of gfx950 with a scale: each instruction on all small floats, and on edges and random
-- floats, held against arithmetic of Lua.
local asserted = require "support.asserted"
local emulator = require "support.emulator"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

local OLD = 0x5a5aa5a5

-- Of the Open Compute Project: bits of exponent and mantissa.
local SMALL = { fp8 = { 4, 3 }, bf8 = { 5, 2 }, fp6 = { 2, 3 }, bf6 = { 3, 2 }, fp4 = { 2, 1 } }

local function value_of(name, bits)
  local e, m = SMALL[name][1], SMALL[name][2]
  local exponent, mantissa = bits >> m & (1 << e) - 1, bits & (1 << m) - 1
  local sign = bits >> e + m & 1 == 1 and -1.0 or 1.0
  if name == "fp8" and exponent == 15 and mantissa == 7 then return nil end
  if name == "bf8" and exponent == 31 then return mantissa == 0 and sign * math.huge or nil end
  local digits = exponent == 0 and mantissa or mantissa | 1 << m
  return sign * digits * 2.0 ^ (math.max(exponent, 1) - ((1 << e - 1) - 1) - m)
end

-- The values of each, by their bits from 0 on; NaN is missing.
local VALUES = {}
for name, format in pairs(SMALL) do
  VALUES[name] = {}
  for bits = 0, (2 << format[1] + format[2]) - 1 do VALUES[name][bits] = value_of(name, bits) end
end

-- nil: NaN.
local function small_value(name, bits) return VALUES[name][bits] end

local function is_negative(x) return x < 0 or x == 0 and 1 / x < 0 end

-- The largest finite one, without a sign, and what is larger: nil is NaN.
local TOP = { fp8 = 0x7e, bf8 = 0x7b, fp6 = 0x1f, bf6 = 0x1f, fp4 = 7 }
local BEYOND = { bf8 = 0x7c, fp6 = 0x1f, bf6 = 0x1f, fp4 = 7 }

local function sign_bit(name, x)
  return is_negative(x) and 1 << SMALL[name][1] + SMALL[name][2] or 0
end

-- Of all finite ones the nearest; of two as near the one whose last bit is 0.
local function nearest(name, x)
  local top = TOP[name]
  local sign, best = sign_bit(name, x), 0
  local limit = small_value(name, top) + (small_value(name, top) - small_value(name, top - 1)) / 2
  if math.abs(x) >= limit and (math.abs(x) > limit or top & 1 == 1) then
    return BEYOND[name] and sign | BEYOND[name]
  end
  local values, size, least = VALUES[name], math.abs(x), math.abs(x)
  for bits = 1, top do
    local distance = math.abs(values[bits] - size)
    if distance < least or distance == least and bits & 1 == 0 then best, least = bits, distance end
  end
  return sign | best
end

-- Of the two neighbours of x the larger one when the part of the way to it that x has gone, in
-- units of 2^-places, and the highest bits of a random number are a whole way.
local function by_chance(name, x, places, random)
  local size, top = math.abs(x), TOP[name]
  local sign, low = sign_bit(name, x), 0
  local values = VALUES[name]
  while low < top and values[low + 1] <= size do low = low + 1 end
  local from = small_value(name, low)
  local step = low < top and small_value(name, low + 1) - from or from - small_value(name, low - 1)
  local gone = (size - from) / step
  if low == top and gone >= 1 then gone = 1e9 end
  if math.floor(math.min(gone, 1) * 2.0 ^ places) + (random >> 32 - places) >= 1 << places then
    low = low + 1
  end
  if low <= top then return sign | low end
  return BEYOND[name] and sign | BEYOND[name]
end

-- How a number becomes a small one: `places` and `random` where chance rounds it.
local function rounded(name, x, places, random)
  if x ~= x then -- those without NaN have the largest
    return not (name == "fp8" or name == "bf8") and TOP[name] or nil
  end
  return places and by_chance(name, x, places, random) or not places and nearest(name, x) or nil
end

local WIDE = {
  f32 = { 32, emulator.f32, emulator.to_f32 },
  f16 = { 16, emulator.f16, emulator.to_f16 },
  bf16 = { 16, function(x)
    local bits = emulator.f32(x)
    if x ~= x then return bits >> 16 end
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16 & 0xffff
  end, function(bits) return emulator.to_f32(bits << 16) end },
}

-- Exponents of scales; the others of the word have no effect.
local SCALES = { 127, 120, 130, 1, 254, 90, 170 }

local function is_same(kind, got, want)
  local value = WIDE[kind][3](got)
  if want == nil or want ~= want then return value ~= value end
  return got == WIDE[kind][2](want)
end

local function run(code, v)
  local r = emulator.run("gfx950", { { code = code, v = v } })[1]
  assert.is_nil(r.fault, code)
  return r
end

-- Cases { code, v, looks = function(r) }, all in one run.
local function run_all(cases)
  for n, r in ipairs(emulator.run("gfx950", cases)) do
    assert.is_nil(r.fault, cases[n].code)
    cases[n].looks(r)
  end
end

describe("a conversion with a scale of gfx950 from small floats", function()
  local function check(to, from, count)
    local width = from == "fp4" and 4 or 8
    local places = count == 2 and from ~= "fp4" and 2 or 4
    local name = ("v_cvt_scalef32_%s%s_%s"):format(count == 2 and "pk_" or "", to, from)
    local cases = {}
    for n = 0, 255 // 64 do
      for place = 0, places - 1 do
        local bytes, scales = {}, {}
        local unit = 32 // places
        for lane = 1, 64 do
          local bits = count == 2 and (n * 64 + lane - 1) * 257 & (1 << 2 * width) - 1
            or n * 64 + lane - 1
          bytes[lane] = bits << unit * place | ~((1 << unit) - 1 << unit * place) & 0x12345678
          scales[lane] = SCALES[lane % #SCALES + 1] << 23 | 0x80012345
        end
        local sel = places == 2 and ("%d,0"):format(place)
          or ("%d,%d"):format(place & 1, place >> 1)
        local is_half = count == 1 and to == "f16"
        for half = 0, is_half and 1 or 0 do
          local to_range = to == "f32" and count == 2 and "v[4:5]" or "v4"
          local code = ("%s %s, v0, v1 op_sel:[%s,%d]"):format(name, to_range, sel, half)
          local function looks(r)
            for lane = 1, 64 do
              local scale = 2.0 ^ ((scales[lane] >> 23 & 0xff) - 127)
              for item = 0, count - 1 do
                local got = to == "f32" and r.v[4 + item][lane]
                  or r.v[4][lane] >> 16 * (item + half) & 0xffff
                local value = small_value(from, bytes[lane] >> unit * place + width * item
                  & (1 << width) - 1)
                asserted.check(is_same(to, got, value and value * scale), 1,
                  "%s: lane %d is 0x%x", code, lane, got)
              end
              if is_half then
                asserted.check(r.v[4][lane] >> 16 * (1 - half) & 0xffff
                  == OLD >> 16 * (1 - half) & 0xffff, 1, "%s changes the other half", code)
              end
            end
          end
          cases[#cases + 1] = { code = code, v = { [0] = bytes, scales, [4] = OLD, OLD },
            looks = looks }
        end
      end
    end
    run_all(cases)
  end

  -- 32 of six bits, one after the other in six registers.
  local function check_32(to, from)
    local v, is_wide = { [6] = {} }, to == "f32"
    for reg = 0, 5 do v[reg] = {} end
    local function code_at(lane, n) return (lane * 7 + n * 11) & 0x3f end
    for lane = 1, 64 do
      v[6][lane] = SCALES[lane % #SCALES + 1] << 23
      for reg = 0, 5 do v[reg][lane] = 0 end
      for n = 0, 31 do
        local at = n * 6
        local word = code_at(lane, n) << at % 32
        v[at // 32][lane] = v[at // 32][lane] | word & 0xffffffff
        if word >> 32 > 0 then v[at // 32 + 1][lane] = v[at // 32 + 1][lane] | word >> 32 end
      end
    end
    -- the results begin in the register of the first source
    local code = ("v_cvt_scalef32_pk32_%s_%s v[0:%d], v[0:5], v6"):format(to, from,
      is_wide and 31 or 15)
    run_all { { code = code, v = v, exec = ~2, looks = function(r)
      for lane = 1, 64 do
        for n = 0, 31 do
          local got = is_wide and r.v[n][lane] or r.v[n // 2][lane] >> 16 * (n % 2) & 0xffff
          local scale = 2.0 ^ ((v[6][lane] >> 23) - 127)
          local is_right = is_same(to, got, small_value(from, code_at(lane, n)) * scale)
          asserted.check(is_right or lane == 2, 1, "%s: lane %d, %d is 0x%x", code, lane, n, got)
        end
      end
      asserted.check(r.v[0][2] == v[0][2], 1, "%s writes an inactive lane", code)
    end } }
  end

  for to in pairs(WIDE) do
    for _, from in ipairs { "fp6", "bf6" } do
      it(("%s to 32 %s"):format(from, to), function() check_32(to, from) end)
    end
    for _, from in ipairs { "fp8", "bf8", "fp4" } do
      for count = from == "fp4" and 2 or to == "bf16" and 2 or 1, 2 do
        it(("%s to %d %s"):format(from, count, to), function() check(to, from, count) end)
      end
    end
  end

  it("gives NaN where the scale is no number", function()
    local r = run("v_cvt_scalef32_f32_fp8 v4, v0, v1", { [0] = 0x38, 0x7f800000 })
    local value = r:f32(4)[1]
    assert(value ~= value)
  end)
end)

describe("a conversion with a scale of gfx950 to small floats", function()
  math.randomseed(11)
  local EDGES = { 0.0, -0.0, 1.0, -1.0, 448.0, 464.0, 465.0, -480.0, 57344.0, 61439.0, 61440.0,
    65536.0, 1.0625, 1.1875, 2.0 ^ -9, 2.0 ^ -10, 1.5 * 2.0 ^ -10, 2.0 ^ -16, 2.0 ^ -17, math.huge,
    -math.huge, 0.0 / 0.0, 6.0, -7.0, 7.5, 7.75, 28.0, 30.0, 0.25, 0.3, 0.0625, 2.0 ^ -140 }
  local PLACES = { f32 = 23, f16 = 10, bf16 = 7 }
  local function draw(n)
    return EDGES[n] or (math.random() - 0.5) * 2.0 ^ math.random(-18, 17)
  end

  -- Rows of random bits, and of numbers, alone or in pairs.
  local function chances()
    local row = {}
    for lane = 1, 64 do
      row[lane] = lane % 8 == 0 and 0xffffffff or lane % 8 == 1 and 0
        or math.random(0, 0xffffffff)
    end
    return row
  end
  local function scales()
    local row = {}
    for lane = 1, 64 do
      local exponent = lane <= #EDGES and 127 or 127 + lane % 5 - 2
      row[lane] = exponent << 23 | 0x7ffff
    end
    return row
  end
  local function next_random(x)
    return (x << 1 ~ (x >> 31 == 1 and 197 or 0)) & 0xffffffff
  end

  -- `numbers[lane][n]`, as bits, in registers: 32 bits each, or two in one.
  local function put(v, first, from, numbers)
    for lane = 1, 64 do
      for n, bits in ipairs(numbers[lane]) do
        local reg = first + (from == "f32" and n - 1 or (n - 1) // 2)
        v[reg] = v[reg] or {}
        v[reg][lane] = from == "f32" and bits or (v[reg][lane] or 0) | bits << 16 * ((n - 1) % 2)
      end
    end
  end
  local function draw_numbers(from, count)
    local numbers = {}
    for lane = 1, 64 do
      numbers[lane] = {}
      for n = 1, count do numbers[lane][n] = WIDE[from][2](draw((lane + 17 * (n - 1)) % 67)) end
    end
    return numbers
  end

  -- What lane's number n has to become; `got` is compared.
  local function compare(code, from, to, bits, scale, random, got)
    local x = WIDE[from][3](bits) / 2.0 ^ ((scale >> 23) - 127)
    local places = random and PLACES[from] - SMALL[to][2]
    local want = rounded(to, x, places, random)
    local is_nan = x ~= x and want and got & ~(1 << SMALL[to][1] + SMALL[to][2]) == want
    local is_right = got == want or is_nan or want == nil and small_value(to, got) == nil
    asserted.check(is_right, 2, "%s of 0x%x with 0x%x is 0x%x, not 0x%x", code, bits, random or 0,
      got, want or -1)
  end

  -- Conversions of `count` numbers that fill a byte or a half of a register, whose rest is kept.
  local function check(from, to, count, is_random)
    local e, m = table.unpack(SMALL[to])
    local width = 1 + e + m
    local filled = width * count
    local name = ("v_cvt_scalef32_%s%s%s_%s"):format(is_random and "sr_" or "",
      count == 2 and "pk_" or "", to, from)
    local cases = {}
    for place = 0, 32 // filled - 1 do
      local v, numbers = { [4] = OLD, [6] = chances(), [7] = scales() }, draw_numbers(from, count)
      put(v, 0, from, numbers)
      local is_pair = from == "f32" and count == 2
      local first = is_pair and (is_random and "v[0:1]" or "v0, v1") or "v0"
      local code = ("%s v4, %s, %sv7"):format(name, first, is_random and "v6, " or "")
      if filled == 16 then
        code = code .. (is_pair and " op_sel:[0,0,0,%d]" or " op_sel:[0,0,%d]"):format(place)
      else
        code = code .. (" op_sel:[0,0,%d,%d]"):format(place & 1, place >> 1)
      end
      local function looks(r)
        local mask = (1 << filled) - 1 << filled * place
        for lane = 1, 64 do
          local word, random = r.v[4][lane], is_random and v[6][lane]
          asserted.check(word & ~mask == OLD & ~mask, 1, "%s changes other bits", code)
          for n = 1, count do
            compare(code, from, to, numbers[lane][n], v[7][lane], random,
              word >> filled * place + width * (n - 1) & (1 << width) - 1)
            random = random and next_random(random)
          end
        end
      end
      cases[#cases + 1] = { code = code, v = v, looks = looks }
    end
    run_all(cases)
  end

  -- 32 numbers become six bits each; the results begin in the register of the first source.
  local function check_32(from, to, is_random)
    local v, numbers = { [40] = chances(), [41] = scales() }, draw_numbers(from, 32)
    local name, sources = "pk32", from == "f32" and "v[0:31]" or "v[0:15]"
    put(v, 0, from, numbers)
    if from == "f32" and not is_random then
      name, sources = "2xpk16", "v[0:15], v[16:31]"
      for lane = 1, 64 do
        for n = 1, 16 do
          v[n - 1][lane], v[n + 15][lane] = numbers[lane][2 * n - 1], numbers[lane][2 * n]
        end
      end
    end
    local code = ("v_cvt_scalef32_%s%s_%s_%s v[0:5], %s, %sv41"):format(is_random and "sr_" or "",
      name, to, from, sources, is_random and "v40, " or "")
    run_all { { code = code, v = v, exec = ~2, looks = function(r)
      for lane = 1, 64 do
        local random = is_random and v[40][lane]
        for n = 0, 31 do
          local at = n * 6
          local pair = r.v[at // 32][lane] | r.v[at // 32 + 1][lane] << 32
          if lane ~= 2 then
            compare(code, from, to, numbers[lane][n + 1], v[41][lane], random, pair >> at % 32 & 63)
          end
          random = random and next_random(random)
        end
      end
      asserted.check(r.v[0][2] == v[0][2], 1, "%s writes an inactive lane", code)
    end } }
  end

  for from in pairs(WIDE) do
    for _, to in ipairs { "fp8", "bf8", "fp4" } do
      it(("two %s to %s"):format(from, to), function() check(from, to, 2) end)
      local count = to == "fp4" and 2 or 1
      it(("%d %s to %s by chance"):format(count, from, to), function()
        check(from, to, count, true)
      end)
    end
    for _, to in ipairs { "fp6", "bf6" } do
      it(("32 %s to %s"):format(from, to), function() check_32(from, to) end)
      it(("32 %s to %s by chance"):format(from, to), function() check_32(from, to, true) end)
    end
  end

  it("takes a constant for the scale, and negates what it divides", function()
    local r = run("v_cvt_scalef32_pk_fp8_f32 v4, -v0, |v1|, 2.0", { [0] = emulator.f32(2),
      emulator.f32(-4), [4] = 0 })
    assert.are.equal(0xb8 | 0x40 << 8, r.v[4][1])
  end)

  it("refuses signs and parts whose effect is not known", function()
    for _, code in ipairs { "v_cvt_scalef32_pk_fp4_f16 v4, -v0, v1",
      "v_cvt_scalef32_sr_pk_fp4_f32 v4, -v[0:1], v2, v3",
      "v_cvt_scalef32_pk_fp4_f32 v4, v0, v1, v2 op_sel:[1,0,0,0]",
      "v_cvt_scalef32_sr_pk_fp4_f32 v4, 1.0, v2, v3" } do
      assert.is_truthy(emulator.run("gfx950", { { code = code } })[1].fault, code)
    end
  end)
end)

describe("a conversion by chance", function()
  math.randomseed(12)
  local HALF = { f16 = { 10, 65504.0, emulator.to_f16 },
    bf16 = { 7, (2 - 2.0 ^ -7) * 2.0 ^ 127, WIDE.bf16[3] } }

  -- The two neighbours of a float among halves, by their bits.
  local function check_half(to)
    local digits, largest, value_of = table.unpack(HALF[to])
    local name = ("v_cvt_sr_%s_f32"):format(to)
    local cases = {}
    for high = 0, 1 do
      local v = { [0] = {}, {}, [4] = OLD }
      for lane = 1, 64 do
        local x = lane == 1 and -0.0 or lane == 2 and largest * (1 + 2.0 ^ -digits / 4)
          or lane == 3 and math.huge or lane == 4 and 2.0 ^ -16 * 1.2345
          or (math.random() - 0.5) * 2.0 ^ math.random(-20, 15)
        v[0][lane], v[1][lane] = emulator.f32(x), math.random(0, 0xffffffff)
      end
      local code = ("%s v4, v0, v1 op_sel:[0,0,%d]"):format(name, high)
      cases[#cases + 1] = { code = code, v = v, looks = function(r)
        for lane = 1, 64 do
          local got = r.v[4][lane] >> 16 * high & 0xffff
          asserted.check(r.v[4][lane] >> 16 * (1 - high) & 0xffff
            == OLD >> 16 * (1 - high) & 0xffff, 1, "%s changes the other half", code)
          local x = emulator.to_f32(v[0][lane])
          local low = got & 0x7fff
          while value_of(low) > math.abs(x) do low = low - 1 end
          local step = value_of(low + 1) - value_of(low)
          local gone = math.abs(x) == math.huge and 0 or (math.abs(x) - value_of(low))
            / (step == math.huge and value_of(low) - value_of(low - 1) or step)
          local places = 23 - digits
          local is_up = math.floor(gone * 2.0 ^ places) + (v[1][lane] >> 32 - places)
            >= 1 << places
          local want = low + (is_up and 1 or 0) | (is_negative(x) and 0x8000 or 0)
          asserted.check(got == want and got & 0x7fff <= low + 1, 1, "%s of %g with 0x%x is 0x%x",
            code, x, v[1][lane], got)
        end
      end }
    end
    run_all(cases)
  end
  it("is v_cvt_sr_f16_f32", function() check_half "f16" end)
  it("is v_cvt_sr_bf16_f32", function() check_half "bf16" end)

  -- Floats of 8 bits, on chips with those of the Open Compute Project.
  for chip, format in pairs { gfx950 = " op_sel:[0,0,%d,%d]", gfx1201 = " byte_sel:%d" } do
    for _, to in ipairs { "fp8", "bf8" } do
      it(("is v_cvt_sr_%s_f32 of %s"):format(to, chip), function()
        for byte = 0, 3 do
          local v = { [0] = {}, {}, [4] = OLD }
          for lane = 1, 64 do
            local x = lane == 1 and 0.0 or lane == 2 and 2.0 ^ 20 or lane == 3 and 0.0 / 0.0
              or lane == 4 and small_value(to, TOP[to]) or (math.random() - 0.5) * 2.0 ^
              math.random(-18, 17)
            v[0][lane], v[1][lane] = emulator.f32(x), math.random(0, 0xffffffff)
          end
          local code = ("v_cvt_sr_%s_f32 v4, v0, v1"):format(to) .. (chip == "gfx950"
            and format:format(byte & 1, byte >> 1) or format:format(byte))
          local r = emulator.run(chip, { { code = code, v = v } })[1]
          assert.is_nil(r.fault)
          for lane = 1, chip == "gfx950" and 64 or 32 do
            local word, mask = r.v[4][lane], 0xff << 8 * byte
            asserted.check(word & ~mask == OLD & ~mask, 1, "%s changes other bytes", code)
            local want = rounded(to, emulator.to_f32(v[0][lane]), 23 - SMALL[to][2], v[1][lane])
            local got = word >> 8 * byte & 0xff
            asserted.check(got == want or want == nil and small_value(to, got) == nil, 1,
              "%s of 0x%x with 0x%x is 0x%x", code, v[0][lane], v[1][lane], got)
          end
        end
      end)
    end
  end

  -- gfx942's have a bias that is one more: half the number with the other format.
  it("is v_cvt_sr_fp8_f32 of gfx942", function()
    local v = { [0] = {}, {}, [4] = 0 }
    for lane = 1, 64 do
      v[0][lane] = emulator.f32((math.random() - 0.5) * 2.0 ^ math.random(-12, 7))
      v[1][lane] = math.random(0, 0xffffffff)
    end
    local r = emulator.run("gfx942", { { code = "v_cvt_sr_fp8_f32 v4, -v0, v1", v = v } })[1]
    assert.is_nil(r.fault)
    for lane = 1, 64 do
      local want = by_chance("fp8", -2 * emulator.to_f32(v[0][lane]), 20, v[1][lane])
      asserted.check(r.v[4][lane] == (want == 0x80 and 0 or want), 1, "of 0x%x is 0x%x",
        v[0][lane], r.v[4][lane])
    end
  end)
end)
