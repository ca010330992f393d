-- Vector instructions of the emulator that gfx942 and gfx950 have beside gfx90a's.
local asserted = require("support.asserted")
local emulator = require("support.emulator")
local lanes = require("support.lanes")

local function s32(x) return lanes.signed(x, 32) end
local function held(x, low, high) return math.max(low, math.min(high, x)) & 0xff end

-- ---- integers -----------------------------------------------------------------------------------

local batch = lanes.batch("gfx942")

describe("an integer instruction of gfx942", function()
  it("moves 64 bits", batch:check("v_mov_b64", "b64", "b64", function(a) return a end))
  it("shifts and adds 64 bits", batch:check("v_lshl_add_u64", "b64", "b64 b32 b64",
    function(a, b, c) return (a << (b & 7)) + c end))
  it("leaves inactive lanes alone", batch:each("v_mov_b64 v[0:1], v[4:5]", "b64", "b64",
    lanes.combinations("b64"), { exec = 0x5 }, function(got, values, _, lane)
      local old = lanes.OLD | lanes.OLD << 32
      lanes.same(lane == 1 and values[1] or lane == 3 and values[1] or old, got)
    end))
  for bits, name in pairs { [16] = "v_dot2c_i32_i16", [8] = "v_dot4c_i32_i8",
    [4] = "v_dot8c_i32_i4" } do
    it("adds products of fields: " .. name, batch:check(name, "b32", "b32 b32", function(a, b)
      local sum = lanes.OLD
      for n = 0, 31, bits do sum = sum + lanes.signed(a >> n, bits) * lanes.signed(b >> n, bits) end
      return sum
    end))
  end
end)

local newer = lanes.batch("gfx950")

describe("a minimum or maximum of gfx950", function()
  it("joins three, and is a NaN when there is one", function()
    local v = { emulator.f32(3), emulator.f32(-5), { emulator.f32(4), 0x7fc00000 } }
    local r = emulator.run("gfx950", { { v = v,
      code = "v_minimum3_f32 v0, v1, v2, v3\nv_maximum3_f32 v4, v1, v2, v3" } })[1]
    assert.is_nil(r.fault)
    assert.are.same({ -5.0, 4.0 }, { r:f32(0)[1], r:f32(4)[1] })
    assert.are.same({ 0x7fc00000, 0x7fc00000 }, { r.v[0][2], r.v[4][2] })
  end)
end)

describe("an integer instruction of gfx950", function()
  for _, truth in ipairs { 0x00, 0xff, 0x01, 0x80, 0x96, 0xe8, 0xca, 0x1b } do
    local function expect(a, b, c)
      local result = 0
      for bit = 0, 31 do
        local at = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
        result = result | (truth >> at & 1) << bit
      end
      return result
    end
    it(("looks 0x%x up"):format(truth), newer:check("v_bitop3_b32", "b32", "b32 b32 b32", expect,
      (" bitop3:0x%x"):format(truth)))
  end
  it("makes the next random number", newer:check("v_prng_b32", "b32", "b32", function(a)
    return a << 1 ~ (a >> 31 == 1 and 197 or 0)
  end))
  it("packs shifted numbers into signed bytes", newer:check("v_ashr_pk_i8_i32", "b16",
    "b32 b32 b32", function(a, b, c)
      local by = 1 << (c & 31)
      return held(s32(a) // by, -128, 127) | held(s32(b) // by, -128, 127) << 8
    end))
  it("packs shifted numbers into bytes", newer:check("v_ashr_pk_u8_i32", "b16", "b32 b32 b32",
    function(a, b, c)
      local by = 1 << (c & 31)
      return held(s32(a) // by, 0, 255) | held(s32(b) // by, 0, 255) << 8
    end))

  it("swaps rows of two registers", function()
    local x, y = {}, {}
    for lane = 1, 64 do x[lane], y[lane] = 100 + lane, 200 + lane end
    local results = emulator.run("gfx950", {
      { code = "v_permlane16_swap_b32 v0, v1", v = { [0] = x, [1] = y } },
      { code = "v_permlane32_swap_b32 v0, v1", v = { [0] = x, [1] = y } },
      { code = "v_permlane32_swap_b32 v0, v1", v = { [0] = x, [1] = y }, exec = 0xff },
    })
    for n, size in ipairs { 16, 32, 32 } do
      local r = results[n]
      assert.is_nil(r.fault)
      for lane = 1, 64 do
        local is_active, is_upper = n < 3 or lane <= 8, (lane - 1) & size ~= 0
        asserted.check(r.v[0][lane] == (is_active and is_upper and y[lane - size] or x[lane]))
        asserted.check(r.v[1][lane] == (is_active and not is_upper and x[lane + size] or y[lane]))
      end
    end
  end)
end)

-- ---- floats of 8 bits ---------------------------------------------------------------------------

-- Their values by the number of bits of the mantissa; nil: NaN.
local function value_of(byte, mantissa_bits, is_fnuz)
  local sign, top = byte & 0x80 ~= 0 and -1 or 1, 0x7f >> mantissa_bits
  local exponent, mantissa = (byte & 0x7f) >> mantissa_bits, byte & (1 << mantissa_bits) - 1
  local bias = (mantissa_bits == 3 and 7 or 15) + (is_fnuz and 1 or 0)
  if is_fnuz then
    if byte == 0x80 then return nil end
  elseif exponent == top then
    if mantissa_bits == 2 then return mantissa == 0 and sign * math.huge or nil end
    if mantissa == 7 then return nil end
  end
  local whole = exponent > 0 and mantissa + (1 << mantissa_bits) or mantissa
  return sign * whole * 2.0 ^ (math.max(exponent, 1) - bias - mantissa_bits)
end

-- The byte that a number is rounded to: the nearest one, of two the even one.
local function rounded(x, mantissa_bits, is_fnuz)
  local best, distance
  local is_negative = x < 0 or 1 / x < 0
  local size = math.min(math.abs(x), 2.0 ^ 20) -- beyond, distances are not exact
  for byte = 0, 0x7f do
    local value = value_of(byte, mantissa_bits, is_fnuz)
    if value and value < math.huge then
      local d = math.abs(value - size)
      if not best or d < distance or d == distance and byte % 2 == 0 then
        best, distance = byte, d
      end
    end
  end
  if best == 0x7f or (value_of(best + 1, mantissa_bits, is_fnuz) or math.huge) == math.huge then
    local last = value_of(best, mantissa_bits, is_fnuz)
    local half = (last - value_of(best - 1, mantissa_bits, is_fnuz)) / 2
    if size > last + half or size == last + half and best % 2 == 1 then
      return nil, is_negative -- too large
    end
  end
  if is_fnuz and best == 0 then return 0 end
  return best | (is_negative and 0x80 or 0)
end

for chip, is_fnuz in pairs { gfx942 = true, gfx950 = false } do
  for name, mantissa_bits in pairs { fp8 = 3, bf8 = 2 } do
    describe(("an %s of %s"):format(name, chip), function()
      if not emulator.program then return pending("emulator_test is not built") end

      it("has its value, alone and in pairs", function()
        local cases, words = {}, {}
        for first = 0, 255, 64 do
          local row = {}
          for lane = 1, 64 do row[lane] = first + lane - 1 end
          words[#words + 1] = row
          cases[#cases + 1] = { v = { [0] = row }, code = ("v_cvt_f32_%s v1, v0\n"):format(name)
            .. ("v_lshlrev_b32 v5, 8, v0\nv_cvt_pk_f32_%s v[2:3], v5\n"):format(name)
            .. ("v_cvt_f32_%s_sdwa v6, v5 src0_sel:BYTE_1"):format(name) }
        end
        for n, r in ipairs(emulator.run(chip, cases)) do
          assert.is_nil(r.fault)
          for lane = 1, 64 do
            local want = value_of(words[n][lane], mantissa_bits, is_fnuz)
            for _, reg in ipairs { 1, 3, 6 } do
              local got = r:f32(reg)[lane]
              asserted.check(want == got or want == nil and got ~= got, 1,
                "byte 0x%x is %s, not %s", words[n][lane], got, want)
            end
            asserted.check(r:f32(2)[lane] == 0)
          end
        end
      end)

      it("is rounded to, in either half of a register", function()
        local numbers = { 0.0, -0.0, 1e-30, -1e-30, 1e30, -1e30, 1.0, 300.0, -500.0 }
        for byte = 0, 0x7e do
          local x = value_of(byte, mantissa_bits, is_fnuz)
          local y = value_of(byte + 1, mantissa_bits, is_fnuz)
          if x and x < math.huge then
            y = y and y < math.huge and y or x * 1.25
            local middle = (x + y) / 2
            for _, number in ipairs { x, -x, middle, -middle, middle * (1 + 2.0 ^ -20),
              middle * (1 - 2.0 ^ -20) } do
              numbers[#numbers + 1] = number
            end
          end
        end
        local cases = {}
        for first = 0, #numbers - 1, 64 do
          local row = {}
          for lane = 1, 64 do row[lane] = emulator.f32(numbers[first + lane] or 0) end
          cases[#cases + 1] = { v = { [0] = row, [1] = lanes.OLD, [2] = lanes.OLD },
            code = ("v_cvt_pk_%s_f32 v1, v0, 1.0\nv_cvt_pk_%s_f32 v2, 1.0, v0 op_sel:[0,0,1]")
              :format(name, name) }
        end
        local nan = is_fnuz and 0x80 or 0x7f
        local one = rounded(1.0, mantissa_bits, is_fnuz)
        for n, r in ipairs(emulator.run(chip, cases)) do
          assert.is_nil(r.fault)
          for lane = 1, math.min(64, #numbers - 64 * n + 64) do
            local number = numbers[64 * n - 64 + lane]
            local want, is_negative = rounded(emulator.to_f32(emulator.f32(number)), mantissa_bits,
              is_fnuz)
            local sign = is_negative and not is_fnuz and 0x80 or 0
            if not want then want = sign | (not is_fnuz and mantissa_bits == 2 and 0x7c or nan) end
            lanes.same(lanes.OLD & 0xffff0000 | one << 8 | want, r.v[1][lane])
            lanes.same(lanes.OLD & 0xffff | want << 24 | one << 16, r.v[2][lane])
          end
        end
      end)
    end)
  end
end

-- ---- floats of 16 bits --------------------------------------------------------------------------

describe("a bf16 of gfx950", function()
  -- The upper half, to nearest even.
  local function to_bf16(bits)
    if bits & 0x7fffffff > 0x7f800000 then return bits >> 16 | 0x40 end
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16
  end
  it("is rounded to", newer:check("v_cvt_pk_bf16_f32", "b32", "b32 b32", function(a, b)
    return to_bf16(a) | to_bf16(b) << 16
  end))
  it("has its value", newer:check("v_cvt_f32_bf16", "b32", "b16", function(a) return a << 16 end))

  it("is added to memory and to LDS", function()
    if not emulator.program then return pending("emulator_test is not built") end
    local function bf16(x) return emulator.f32(x) >> 16 end
    local old, data = bf16(1.0) | bf16(-3.5) << 16, bf16(2.0 ^ -8) | bf16(0.5) << 16
    local want = bf16(1.0) | bf16(-3.0) << 16 -- 1 + 2^-8 is a tie
    local r = emulator.run("gfx950", { {
      code = "v_mov_b32 v1, 0\nv_mov_b32 v3, 4\nglobal_atomic_pk_add_bf16 v2, v1, v0, s[2:3] sc0\n"
        .. "s_waitcnt vmcnt(0)\nds_pk_add_bf16 v3, v0\nds_pk_add_f16 v1, v5\ns_waitcnt lgkmcnt(0)",
      memory = string.pack("<I4", old), lds = string.pack("<I4I4", emulator.f16(1.5), old),
      v = { [0] = data, [5] = emulator.f16(0.25) | emulator.f16(-7) << 16 }, exec = 1 } })[1]
    assert.is_nil(r.fault)
    assert.are.equal(want, (string.unpack("<I4", r.memory)))
    assert.are.equal(old, r.v[2][1])
    assert.are.equal(want, (string.unpack("<I4", r.lds, 5)))
    assert.are.equal(emulator.f16(1.75) | emulator.f16(-7) << 16, (string.unpack("<I4", r.lds)))
  end)
end)

describe("a dot product of bf16 of gfx950", function()
  -- Products and sums of small numbers, which are exact.
  local function check(name, operands, want)
    it("is " .. name, function()
      if not emulator.program then return pending("emulator_test is not built") end
      local function pair(x, y) return emulator.f32(x) >> 16 | emulator.f32(y) & 0xffff0000 end
      local r = emulator.run("gfx950", { { code = name .. operands,
        v = { [0] = emulator.f32(0.5), [1] = pair(1.5, -2), [2] = pair(3, 0.25) } } })[1]
      assert.is_nil(r.fault)
      assert.are.equal(want, r:f32(0)[1])
    end)
  end
  check("v_dot2_f32_bf16", " v0, v1, v2, v0", 4.5)
  check("v_dot2_f32_bf16", " v0, v1, v2, v0 neg_lo:[1,0,0]", -4.5)
  check("v_dot2c_f32_bf16", " v0, v1, v2", 4.5)

  it("rounds its products to floats", function()
    if not emulator.program then return pending("emulator_test is not built") end
    -- 2^67 * 2^67 and -2^67 * 2^67 are both out of range
    local big = emulator.f32(2.0 ^ 67) >> 16
    local r = emulator.run("gfx950", { { code = "v_dot2c_f32_bf16 v0, v1, v2",
      v = { [1] = big | big << 16, [2] = big | big << 16 | 1 << 31 } } })[1]
    assert.is_true(r:f32(0)[1] ~= r:f32(0)[1])
  end)

  it("adds the third source last", function()
    if not emulator.program then return pending("emulator_test is not built") end
    -- 2^24 takes no 1, but 2 of them
    local ones = emulator.f32(1) >> 16 | emulator.f32(1)
    local case = { code = "v_dot2_f32_bf16 v3, v1, v1, v0\nv_dot2c_f32_bf16 v0, v1, v1",
      v = { [0] = emulator.f32(2.0 ^ 24), [1] = ones } }
    local r = emulator.run("gfx950", { case })[1]
    assert.are.equal(2.0 ^ 24 + 2, r:f32(3)[1])
    assert.are.equal(2.0 ^ 24, r:f32(0)[1])
  end)
end)

describe("packed minima of three halves of gfx950", function()
  local function each(least)
    return function(a, b, c)
      local word = 0
      for shift = 0, 16, 16 do
        local best
        for _, x in ipairs { a >> shift & 0xffff, b >> shift & 0xffff, c >> shift & 0xffff } do
          if best == nil then best = x else best = least(best, x) end
        end
        word = word | best << shift
      end
      return word
    end
  end
  local function key(x) return x & 0x8000 ~= 0 and -(x & 0x7fff) - 1 or x end
  -- Of NaNs the first one, a signaling one before others.
  local function rank(x) return x & 0x7fff <= 0x7c00 and 0 or x & 0x200 == 0 and 2 or 1 end
  local function choose(is_first)
    return function(a, b)
      if rank(a) + rank(b) > 0 then return (rank(b) > rank(a) and b or a) | 0x200 end
      return is_first(key(a), key(b)) and a or b
    end
  end
  it("are NaNs when there is one: v_pk_minimum3_f16", newer:check("v_pk_minimum3_f16", "b32",
    "b32 b32 b32", each(choose(function(a, b) return a < b end))))
  it("are NaNs when there is one: v_pk_maximum3_f16", newer:check("v_pk_maximum3_f16", "b32",
    "b32 b32 b32", each(choose(function(a, b) return a > b end))))
end)

describe("the number of the die", function()
  it("is 0 on gfx942, and no register of gfx90a", function()
    if not emulator.program then return pending("emulator_test is not built") end
    local case = { code = "s_mov_b32 s0, 7\ns_getreg_b32 s0, hwreg(20)" }
    local there = emulator.run("gfx942", { case })[1]
    assert.is_nil(there.fault)
    assert.are.equal(0, there.s[0])
    assert.are.equal("illegal", emulator.run("gfx90a", { case })[1].fault_kind)
  end)
end)

describe("an addition of floats in memory", function()
  it("keeps denormals on gfx942, not on gfx90a", function()
    if not emulator.program then return pending("emulator_test is not built") end
    for chip, want in pairs { gfx90a = 0, gfx942 = 3 } do
      local r = emulator.run(chip, { { memory = string.pack("<I4", 1), v = { [0] = 2 }, exec = 1,
        code = "v_mov_b32 v1, 0\nglobal_atomic_add_f32 v1, v0, s[2:3]\ns_waitcnt vmcnt(0)" } })[1]
      assert.is_nil(r.fault)
      assert.are.equal(want, (string.unpack("<I4", r.memory)))
    end
  end)
end)
