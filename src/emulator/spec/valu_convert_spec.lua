-- Conversions of the emulator between floats, doubles, halves and integers.

local exact = require("support.exact")
local lanes = require("support.lanes")
local real = require("support.real")

local f16, f32, f64 = exact.f16, exact.f32, exact.f64

-- Numbers around the ends of integers, beside the edges.
local function operands(fmt)
  local rows = exact.rows(fmt, 1, 200)
  for _, base in ipairs({ 0, 1, 2, 100, 127, 255, 256, 32767, 32768, 65535, 65536, 2.0 ^ 31 - 1,
    2.0 ^ 31, 2.0 ^ 32 - 1, 2.0 ^ 32, 2.0 ^ 33, 8388607 }) do
    for _, off in ipairs({ -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1 }) do
      rows[#rows + 1] = { exact.bits(fmt, base + off), 0, 0 }
      rows[#rows + 1] = { exact.bits(fmt, -base - off), 0, 0 }
    end
  end
  return rows
end

-- A number to an integer of `low` … `high` by way of `how` (real.whole).
local function saturate(fmt, how, low, high)
  return function(x)
    if exact.is_nan(fmt, x) then return 0 end
    local number = exact.number(fmt, real.whole(fmt, x, how))
    return math.tointeger(math.max(low, math.min(high, number)))
  end
end

local I32, U32 = { -2 ^ 31, 2 ^ 31 - 1 }, { 0, 2 ^ 32 - 1 }
local I16, U16 = { -32768, 32767 }, { 0, 65535 }

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201" }) do
  describe("conversions of " .. target, function()
    local batch = lanes.batch(target)
    local checkers = {
      [16] = real.checker(it, target, f16, "b16"), [32] = real.checker(it, target, f32, "b32"),
      [64] = real.checker(it, target, f64, "b64"),
    }

    local function to_integer(name, fmt, how, range)
      checkers[fmt.bits]("v_cvt_" .. name, 1, saturate(fmt, how, range[1], range[2]),
        { rows = operands(fmt), modes = false, result = name:find("16_") and "b16" or "b32" })
    end
    to_integer("i32_f32", f32, "trunc", I32)
    to_integer("u32_f32", f32, "trunc", U32)
    to_integer("flr_i32_f32", f32, "floor", I32)
    to_integer("i32_f64", f64, "trunc", I32)
    to_integer("u32_f64", f64, "trunc", U32)
    to_integer("i16_f16", f16, "trunc", I16)
    to_integer("u16_f16", f16, "trunc", U16)
    checkers[32]("v_cvt_rpi_i32_f32", 1, function(x)
      if exact.is_nan(f32, x) then return 0 end
      local number = math.floor(exact.number(f32, exact.add(f32, x, 0x3f000000, 0)))
      return math.tointeger(math.max(I32[1], math.min(I32[2], number)))
    end, { rows = operands(f32), modes = false })

    local integers = lanes.combinations("b32")
    for i = 0, 200 do integers[#integers + 1] = { i * 2654435761 & 0xffffffff, 0, 0 } end
    local function from_integer(name, fmt, type, take)
      checkers[fmt.bits]("v_cvt_" .. name, 1, function(x, mode)
        local n, down = take(x)
        return exact.integer(fmt, n, mode, down)
      end, { rows = integers, types = type, flushes = false })
    end
    local function signed(bits)
      return function(x) return lanes.signed(x, bits) end
    end
    from_integer("f32_i32", f32, "b32", signed(32))
    from_integer("f32_u32", f32, "b32", function(x) return x end)
    from_integer("f64_i32", f64, "b32", signed(32))
    from_integer("f64_u32", f64, "b32", function(x) return x end)
    from_integer("f16_i16", f16, "b32", signed(16))
    from_integer("f16_u16", f16, "b32", function(x) return x & 0xffff end)
    from_integer("off_f32_i4", f32, "b32", function(x) return lanes.signed(x, 4), 4 end)
    for byte = 0, 3 do
      from_integer("f32_ubyte" .. byte, f32, "b32", function(x) return x >> 8 * byte & 255 end)
    end

    local function between(name, from, to)
      local check = checkers[from.bits]
      check("v_cvt_" .. name, 1, function(x, mode) return exact.convert(from, to, x, mode) end,
        { result = "b" .. to.bits, rows = operands(from), flushes = false })
      check.at(("flushes denormals of v_cvt_%s"):format(name),
        lanes.text("v_cvt_" .. name, "b" .. to.bits, check.type, {}), check.type, "b" .. to.bits,
        operands(from), 0x300, function(values)
          return exact.flush(to, exact.convert(from, to, exact.flush(from, values[1])))
        end)
    end
    between("f32_f16", f16, f32)
    between("f16_f32", f32, f16)
    between("f64_f32", f32, f64)
    between("f32_f64", f64, f32)

    checkers[32]("v_cvt_pkrtz_f16_f32", 2, function(a, b)
      return exact.convert(f32, f16, a, 3) | exact.convert(f32, f16, b, 3) << 16
    end, { modes = false })

    -- -1 … 1 or 0 … 1 in steps of 1/scale, to the nearest
    local function normalised(fmt, low, scale)
      return function(x)
        if exact.is_nan(fmt, x) then return 0 end
        local number = math.max(low, math.min(1, exact.number(fmt, x))) * scale
        return math.tointeger(exact.number(f64, real.whole(f64, exact.bits(f64, number), "rndne")))
          & 0xffff
      end
    end
    for _, case in ipairs({ { "i16", -1, 32767 }, { "u16", 0, 65535 } }) do
      for _, fmt in ipairs({ f16, f32 }) do
        local define = normalised(fmt, case[2], case[3])
        local name = ("v_cvt_pknorm_%s_%s"):format(case[1], fmt.name)
        checkers[fmt.bits](name, 2, function(a, b) return define(a) | define(b) << 16 end,
          { modes = false, result = "b32" })
      end
      checkers[16](("v_cvt_norm_%s_f16"):format(case[1]), 1, normalised(f16, case[2], case[3]),
        { modes = false })
    end

    if target == "gfx1100" or target == "gfx1201" then
      for name, range in pairs { i16 = I16, u16 = U16 } do
        local one = saturate(f32, "trunc", range[1], range[2])
        checkers[32](("v_cvt_pk_%s_f32"):format(name), 2,
          function(a, b) return one(a) & 0xffff | (one(b) & 0xffff) << 16 end, { modes = false })
      end
    end

    local rows = {}
    for i, row in ipairs(operands(f32)) do
      rows[i] = { row[1], i & 7, 0x11223344 * i & 0xffffffff }
    end
    it("puts a byte into a word by v_cvt_pk_u8_f32", batch:each("v_cvt_pk_u8_f32 v0, v4, v8, v12",
      "b32", "b32 b32 b32", rows, {}, function(got, values)
        local byte, shift = saturate(f32, "rndne", 0, 255)(values[1]), (values[2] & 3) * 8
        lanes.same(values[3] & ~(255 << shift) & 0xffffffff | byte << shift, got)
      end))

    it("keeps NaNs' payloads between kinds", batch:each("v_cvt_f64_f32 v[0:1], v4", "b64", "b32",
      { { 0x7fc12345, 0, 0 }, { 0xff812345, 0, 0 } }, {}, function(got, values)
        lanes.same(exact.convert(f32, f64, values[1]), got)
      end))
  end)
end
