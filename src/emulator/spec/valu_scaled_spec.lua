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

-- nil: NaN.
local function small_value(name, bits)
  local e, m = SMALL[name][1], SMALL[name][2]
  local exponent, mantissa = bits >> m & (1 << e) - 1, bits & (1 << m) - 1
  local sign = bits >> e + m & 1 == 1 and -1.0 or 1.0
  if name == "fp8" and exponent == 15 and mantissa == 7 then return nil end
  if name == "bf8" and exponent == 31 then return mantissa == 0 and sign * math.huge or nil end
  local digits = exponent == 0 and mantissa or mantissa | 1 << m
  return sign * digits * 2.0 ^ (math.max(exponent, 1) - ((1 << e - 1) - 1) - m)
end

-- All finite ones by size, for rounding: of two as near the one whose last bit is 0.
local function nearest(name, x)
  if x ~= x then return nil end
  local top = name == "fp8" and 0x7e or 0x7b
  local sign, best = (x < 0 or x == 0 and 1 / x < 0) and 0x80 or 0, 0
  local limit = small_value(name, top) + (small_value(name, top) - small_value(name, top - 1)) / 2
  if math.abs(x) >= limit and (math.abs(x) > limit or top & 1 == 1) then
    return name == "bf8" and sign | 0x7c or nil
  end
  for bits = 1, top do
    local d, old = math.abs(small_value(name, bits) - math.abs(x)),
      math.abs(small_value(name, best) - math.abs(x))
    if d < old or d == old and bits & 1 == 0 then best = bits end
  end
  return sign | best
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
    -math.huge, 0.0 / 0.0 }
  local function draw(n)
    return EDGES[n] or (math.random() - 0.5) * 2.0 ^ math.random(-18, 17)
  end

  local function check(from, to)
    local name = ("v_cvt_scalef32_pk_%s_%s"):format(to, from)
    local encode, decode = WIDE[from][2], WIDE[from][3]
    local cases = {}
    for high = 0, 1 do
      local v = { [0] = {}, {}, {}, [4] = OLD }
      for lane = 1, 64 do
        local exponent = lane <= #EDGES and 127 or 127 + lane % 5 - 2
        local a, b = encode(draw(lane)), encode(draw(65 - lane))
        v[2][lane] = exponent << 23 | 0x7ffff
        v[0][lane], v[1][lane] = from == "f32" and a or a | b << 16, b
      end
      local code = from == "f32" and ("%s v4, v0, v1, v2 op_sel:[0,0,0,%d]"):format(name, high)
        or ("%s v4, v0, v2 op_sel:[0,0,%d]"):format(name, high)
      local function looks(r)
        for lane = 1, 64 do
          local scale = 2.0 ^ ((v[2][lane] >> 23) - 127)
          local word = r.v[4][lane]
          asserted.check(word >> 16 * (1 - high) & 0xffff == OLD >> 16 * (1 - high) & 0xffff, 1,
            "%s changes the other half", code)
          for item = 0, 1 do
            local bits = from == "f32" and v[item][lane] or v[0][lane] >> 16 * item & 0xffff
            local got = word >> 16 * high + 8 * item & 0xff
            local want = nearest(to, decode(bits) / scale)
            local is_right = got == want or want == nil and small_value(to, got) == nil
            asserted.check(is_right, 1, "%s of 0x%x is 0x%x", code, bits, got)
          end
        end
      end
      cases[#cases + 1] = { code = code, v = v, looks = looks }
    end
    run_all(cases)
  end

  for from in pairs(WIDE) do
    for _, to in ipairs { "fp8", "bf8" } do
      it(("two %s to %s"):format(from, to), function() check(from, to) end)
    end
  end

  it("takes a constant for the scale, and negates what it divides", function()
    local r = run("v_cvt_scalef32_pk_fp8_f32 v4, -v0, |v1|, 2.0", { [0] = emulator.f32(2),
      emulator.f32(-4), [4] = 0 })
    assert.are.equal(0xb8 | 0x40 << 8, r.v[4][1])
  end)
end)
