-- Integer vector instructions of the emulator: each on edge values against a definition in Lua.

local emulator = require("support.emulator")
local lanes = require("support.lanes")

local M = 0xffffffff
local s32 = function(x) return lanes.signed(x, 32) end
local s16 = function(x) return lanes.signed(x, 16) end
local s24 = function(x) return lanes.signed(x, 24) end
local u16 = function(x) return x & 0xffff end

local function clamp(x, low, high)
  return math.max(low, math.min(high, x))
end
local function clamp_u32(x) return clamp(x, 0, M) end
local function clamp_i32(x) return clamp(x, -0x80000000, 0x7fffffff) end
local function clamp_u16(x) return clamp(x, 0, 0xffff) end
local function clamp_i16(x) return clamp(x, -0x8000, 0x7fff) end

local function med3(a, b, c)
  local list = { a, b, c }
  table.sort(list)
  return list[2]
end

local function bytes(x)
  return { ("<I8"):pack(x):byte(1, 8) }
end

local function bits_of(x)
  local n = 0
  for i = 0, 31 do
    n = n + (x >> i & 1)
  end
  return n
end

local function reversed(x)
  local y = 0
  for i = 0, 31 do
    y = y | (x >> i & 1) << (31 - i)
  end
  return y
end

local function leading(x)
  for i = 31, 0, -1 do
    if x >> i & 1 == 1 then
      return 31 - i
    end
  end
  return M
end

local function leading_signs(x)
  for i = 30, 0, -1 do
    if x >> i & 1 ~= x >> 31 then
      return 31 - i
    end
  end
  return M
end

local function trailing(x)
  for i = 0, 31 do
    if x >> i & 1 == 1 then
      return i
    end
  end
  return M
end

local function field(x, from, count)
  from, count = from & 31, count & 31
  local y = 0
  for i = 0, count - 1 do
    y = y | (from + i > 31 and 0 or x >> (from + i) & 1) << i
  end
  return y
end

local function signed_field(x, from, count)
  from, count = from & 31, count & 31
  local y = 0
  for i = 0, 31 do
    if count > 0 then
      local bit = math.min(31, from + math.min(i, count - 1))
      y = y | (x >> bit & 1) << i
    end
  end
  return y
end

-- High word of a product of numbers below 2^32 in magnitude, without overflow.
local function high_product(a, b)
  local low = a & 0xffff
  return ((a >> 16) * b + (low * b >> 16)) >> 16
end

local function high_product_signed(a, b)
  local x = s32(a) * s32(b) -- fits 64 bits
  return x >> 32
end

local function permuted(a, b, c)
  local source = bytes(a << 32 | b)
  local result = 0
  for i, selector in ipairs({ table.unpack(bytes(c), 1, 4) }) do
    local byte
    if selector < 8 then
      byte = source[selector + 1]
    elseif selector < 12 then
      byte = source[({ 2, 4, 6, 8 })[selector - 7]] > 127 and 255 or 0
    else
      byte = selector == 12 and 0 or 255
    end
    result = result | byte << 8 * (i - 1)
  end
  return result
end

local function averaged(a, b, c)
  local x, y, z, result = bytes(a), bytes(b), bytes(c), 0
  for i = 1, 4 do
    result = result | (x[i] + y[i] + z[i] % 2) // 2 << 8 * (i - 1)
  end
  return result
end

local function sad(a, b, masked)
  local x, y, sum = bytes(a), bytes(b), 0
  for i = 1, 4 do
    if not (masked and y[i] == 0) then
      sum = sum + math.abs(x[i] - y[i])
    end
  end
  return sum
end

local function windows(masked)
  return function(a, b, c)
    local result = 0
    for i = 0, 3 do
      local sum = sad(a >> 8 * i & M, b, masked) + (c >> 16 * i & 0xffff)
      result = result | (sum & 0xffff) << 16 * i
    end
    return result
  end
end

-- name, types, definition; `modified` with the clamp modifier.
local ONE, TWO, THREE = "b32", "b32 b32", "b32 b32 b32"
local H2, H3 = "b16 b16", "b16 b16 b16"
local BOTH = {
  { "v_mov_b32", ONE, function(a) return a end },
  { "v_not_b32", ONE, function(a) return M - a end },
  { "v_bfrev_b32", ONE, reversed },
  { "v_ffbh_u32", ONE, leading },
  { "v_ffbh_i32", ONE, leading_signs },
  { "v_ffbl_b32", ONE, trailing },
  { "v_and_b32", TWO, function(a, b) return a & b end },
  { "v_or_b32", TWO, function(a, b) return a | b end },
  { "v_xor_b32", TWO, function(a, b) return a ~ b end },
  { "v_xnor_b32", TWO, function(a, b) return ~(a ~ b) end },
  { "v_bfm_b32", TWO, function(a, b) return (2 ^ (a % 32) - 1) * 2 ^ (b % 32) // 1 | 0 end },
  { "v_bcnt_u32_b32", TWO, function(a, b) return bits_of(a) + b end },
  { "v_bfe_u32", THREE, field },
  { "v_bfe_i32", THREE, signed_field },
  { "v_bfi_b32", THREE, function(a, b, c) return (a & b) | (~a & c) end },
  { "v_and_or_b32", THREE, function(a, b, c) return a & b | c end },
  { "v_or3_b32", THREE, function(a, b, c) return a | b | c end },
  { "v_alignbit_b32", THREE, function(a, b, c) return (a << 32 | b) >> c % 32 end },
  { "v_alignbyte_b32", THREE, function(a, b, c) return (a << 32 | b) >> c % 4 * 8 end },
  { "v_perm_b32", THREE, permuted },
  { "v_lshlrev_b32", TWO, function(a, b) return b << a % 32 end },
  { "v_lshrrev_b32", TWO, function(a, b) return b >> a % 32 end },
  { "v_ashrrev_i32", TWO, function(a, b) return s32(b) // (1 << a % 32) end },
  { "v_lshl_or_b32", THREE, function(a, b, c) return a << b % 32 | c end },
  { "v_lshl_add_u32", THREE, function(a, b, c) return (a << b % 32) + c end },
  { "v_add_lshl_u32", THREE, function(a, b, c) return a + b << c % 32 end },
  { "v_xad_u32", THREE, function(a, b, c) return (a ~ b) + c end },
  { "v_add3_u32", THREE, function(a, b, c) return a + b + c end },
  { "v_min_u32", TWO, math.min },
  { "v_max_u32", TWO, math.max },
  { "v_min_i32", TWO, function(a, b) return math.min(s32(a), s32(b)) end },
  { "v_max_i32", TWO, function(a, b) return math.max(s32(a), s32(b)) end },
  { "v_min3_u32", THREE, math.min },
  { "v_max3_u32", THREE, math.max },
  { "v_med3_u32", THREE, med3 },
  { "v_min3_i32", THREE, function(a, b, c) return math.min(s32(a), s32(b), s32(c)) end },
  { "v_max3_i32", THREE, function(a, b, c) return math.max(s32(a), s32(b), s32(c)) end },
  { "v_med3_i32", THREE, function(a, b, c) return med3(s32(a), s32(b), s32(c)) end },
  { "v_mul_lo_u32", TWO, function(a, b) return a * b end },
  { "v_mul_hi_u32", TWO, high_product },
  { "v_mul_hi_i32", TWO, high_product_signed },
  { "v_mul_u32_u24", TWO, function(a, b) return (a & 0xffffff) * (b & 0xffffff) end, clamp_u32 },
  { "v_mul_i32_i24", TWO, function(a, b) return s24(a) * s24(b) end, clamp_i32 },
  { "v_mul_hi_u32_u24", TWO, function(a, b) return (a & 0xffffff) * (b & 0xffffff) >> 32 end },
  { "v_mul_hi_i32_i24", TWO, function(a, b) return s24(a) * s24(b) >> 32 end },
  { "v_mad_u32_u24", THREE, function(a, b, c)
    return (a & 0xffffff) * (b & 0xffffff) + c
  end, clamp_u32 },
  { "v_mad_i32_i24", THREE, function(a, b, c) return s24(a) * s24(b) + s32(c) end, clamp_i32 },
  { "v_mad_u32_u16", "b16 b16 b32", function(a, b, c) return a * b + c end, clamp_u32 },
  { "v_mad_i32_i16", "b16 b16 b32", function(a, b, c)
    return s16(a) * s16(b) + s32(c)
  end, clamp_i32 },
  { "v_sad_u8", THREE, function(a, b, c) return sad(a, b) + c end, clamp_u32 },
  { "v_sad_hi_u8", THREE, function(a, b, c) return (sad(a, b) << 16) + c end, clamp_u32 },
  { "v_sad_u16", THREE, function(a, b, c)
    return math.abs(u16(a) - u16(b)) + math.abs((a >> 16) - (b >> 16)) + c
  end, clamp_u32 },
  { "v_sad_u32", THREE, function(a, b, c) return math.abs(a - b) + c end, clamp_u32 },
  { "v_msad_u8", THREE, function(a, b, c) return sad(a, b, true) + c end, clamp_u32 },
  { "v_lerp_u8", THREE, averaged },
  { "v_cvt_pk_u16_u32", TWO, function(a, b) return clamp_u16(a) | clamp_u16(b) << 16 end },
  { "v_cvt_pk_i16_i32", TWO, function(a, b)
    return u16(clamp_i16(s32(a))) | clamp_i16(s32(b)) << 16
  end },
}

-- Names that a generation has for itself.
local ONLY = {
  gfx9 = {
    { "v_add_u32", TWO, function(a, b) return a + b end, clamp_u32 },
    { "v_sub_u32", TWO, function(a, b) return a - b end, clamp_u32 },
    { "v_subrev_u32", TWO, function(a, b) return b - a end, clamp_u32 },
    { "v_add_i32", TWO, function(a, b) return s32(a) + s32(b) end, clamp_i32 },
    { "v_sub_i32", TWO, function(a, b) return s32(a) - s32(b) end, clamp_i32 },
  },
  later = {
    { "v_add_nc_u32", TWO, function(a, b) return a + b end, clamp_u32 },
    { "v_sub_nc_u32", TWO, function(a, b) return a - b end, clamp_u32 },
    { "v_subrev_nc_u32", TWO, function(a, b) return b - a end, clamp_u32 },
    { "v_add_nc_i32", TWO, function(a, b) return s32(a) + s32(b) end, clamp_i32 },
    { "v_sub_nc_i32", TWO, function(a, b) return s32(a) - s32(b) end, clamp_i32 },
    { "v_xor3_b32", THREE, function(a, b, c) return a ~ b ~ c end },
  },
}

-- 16-bit results.
local HALVES = {
  { "v_sat_pk_u8_i16", ONE, function(a)
    return clamp(s16(a), 0, 255) | clamp(s16(a >> 16), 0, 255) << 8
  end, clears = 10 },
  { "v_lshlrev_b16", H2, function(a, b) return b << a % 16 end },
  { "v_lshrrev_b16", H2, function(a, b) return b >> a % 16 end },
  { "v_ashrrev_i16", H2, function(a, b) return s16(b) // (1 << a % 16) end },
  { "v_min_u16", H2, math.min },
  { "v_max_u16", H2, math.max },
  { "v_min_i16", H2, function(a, b) return math.min(s16(a), s16(b)) end },
  { "v_max_i16", H2, function(a, b) return math.max(s16(a), s16(b)) end },
  { "v_mul_lo_u16", H2, function(a, b) return a * b end },
  { "v_min3_u16", H3, math.min, keeps = true },
  { "v_max3_u16", H3, math.max, keeps = true },
  { "v_med3_u16", H3, med3, keeps = true },
  { "v_min3_i16", H3, function(a, b, c) return math.min(s16(a), s16(b), s16(c)) end, keeps = true },
  { "v_max3_i16", H3, function(a, b, c) return math.max(s16(a), s16(b), s16(c)) end, keeps = true },
  { "v_med3_i16", H3, function(a, b, c) return med3(s16(a), s16(b), s16(c)) end, keeps = true },
  { "v_mad_u16", H3, function(a, b, c) return a * b + c end, clamp_u16, keeps = true },
  { "v_mad_i16", H3, function(a, b, c)
    return s16(a) * s16(b) + s16(c)
  end, clamp_i16, keeps = true },
}
local HALVES_ONLY = {
  gfx9 = {
    { "v_add_u16", H2, function(a, b) return a + b end, clamp_u16 },
    { "v_sub_u16", H2, function(a, b) return a - b end, clamp_u16 },
    { "v_subrev_u16", H2, function(a, b) return b - a end, clamp_u16 },
    { "v_add_i16", H2, function(a, b) return s16(a) + s16(b) end, clamp_i16, keeps = true },
    { "v_sub_i16", H2, function(a, b) return s16(a) - s16(b) end, clamp_i16, keeps = true },
    { "v_mad_legacy_u16", H3, function(a, b, c) return a * b + c end, clamp_u16 },
    { "v_mad_legacy_i16", H3, function(a, b, c) return s16(a) * s16(b) + s16(c) end, clamp_i16 },
  },
  later = {
    { "v_add_nc_u16", H2, function(a, b) return a + b end, clamp_u16 },
    { "v_sub_nc_u16", H2, function(a, b) return a - b end, clamp_u16 },
    { "v_add_nc_i16", H2, function(a, b) return s16(a) + s16(b) end, clamp_i16 },
    { "v_sub_nc_i16", H2, function(a, b) return s16(a) - s16(b) end, clamp_i16 },
  },
}

local WIDE = {
  { "v_lshlrev_b64", "b32 b64", function(a, b) return b << a % 64 end },
  { "v_lshrrev_b64", "b32 b64", function(a, b) return b >> a % 64 end },
  { "v_ashrrev_i64", "b32 b64", function(a, b)
    a = a % 64
    return b >> a | (b < 0 and a > 0 and -1 << (64 - a) or 0)
  end },
  { "v_qsad_pk_u16_u8", "b64 b32 b64", windows(false) },
  { "v_mqsad_pk_u16_u8", "b64 b32 b64", windows(true) },
}

-- Two tests in one.
local function both(first, second)
  return function()
    first()
    second()
  end
end

-- The plain instruction and, where there is one, the clamping one; `wrap` changes the definition.
local function tests(batch, row, result, wrap)
  local test = batch:check(row[1], result, row[2], wrap(row[3]))
  if not row[4] then
    return test
  end
  local function clamped(...)
    return row[4](row[3](...))
  end
  return both(test, batch:check(row[1], result, row[2], wrap(clamped), " clamp"))
end

local function as_is(define)
  return define
end

-- name by generation, definition of the exact result with carry c, what clamp makes of a carry.
local CARRIES = {
  { "v_add_co_u32", "v_add_co_u32", function(a, b) return a + b end, M },
  { "v_sub_co_u32", "v_sub_co_u32", function(a, b) return a - b end, 0 },
  { "v_subrev_co_u32", "v_subrev_co_u32", function(a, b) return b - a end, 0 },
  { "v_addc_co_u32", "v_add_co_ci_u32", function(a, b, c) return a + b + c end, M, reads = true },
  { "v_subb_co_u32", "v_sub_co_ci_u32", function(a, b, c) return a - b - c end, 0, reads = true },
  { "v_subbrev_co_u32", "v_subrev_co_ci_u32", function(a, b, c)
    return b - a - c
  end, 0, reads = true },
}

local PATTERN = { [12] = 0xa5a5f00f, [13] = 0x12345678, [10] = M, [11] = M }
local PARTIAL = 0x7fff00f1deadbeef

for index, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201", "gfx1030:wave64" }) do
  local batch, generation = lanes.batch(target), emulator.generation(target)
  local wave, is_gfx9 = batch.wave, generation == 9
  local out, into = lanes.mask_register(10, wave), lanes.mask_register(12, wave)
  local PAIRS = lanes.combinations(TWO)

  describe("an integer vector instruction of " .. target, function()
    for _, list in ipairs({ BOTH, is_gfx9 and ONLY.gfx9 or ONLY.later }) do
      for _, row in ipairs(index < 5 and list or {}) do
        it("computes " .. row[1], tests(batch, row, "b32", as_is))
      end
    end

    for _, row in ipairs(index < 5 and WIDE or {}) do
      it("computes " .. row[1], tests(batch, row, "b64", as_is))
    end

    for _, list in ipairs({ HALVES, is_gfx9 and HALVES_ONLY.gfx9 or HALVES_ONLY.later }) do
      for _, row in ipairs(index < 5 and list or {}) do
        local keeps = row.keeps or generation > (row.clears or 9)
        local old = keeps and lanes.OLD & 0xffff0000 or 0
        it("computes " .. row[1] .. " and leaves the other half as its generation does",
          tests(batch, row, "b32", function(define)
            return function(...)
              return u16(define(...)) | old
            end
          end))
      end
    end

    it("takes a 16-bit operand from, and puts a result into, the half that op_sel says",
      batch:check("v_mad_u16", "b32", THREE, function(a, b, c)
        return u16((a >> 16) * u16(b) + (c >> 16)) << 16 | lanes.OLD & 0xffff
      end, " op_sel:[1,0,1,1]"))

    for _, row in ipairs(CARRIES) do
      local name = row[is_gfx9 and 1 or 2]
      for _, modifiers in ipairs({ "", " clamp" }) do
        for _, exec in ipairs({ -1, PARTIAL }) do
          local extra = { carry = out, mask = row.reads and into or nil, modifiers = modifiers }
          local text = lanes.text(name .. "_e64", "b32", TWO, extra)
          it(("computes %s%s where EXEC is %x"):format(name, modifiers, exec),
            batch:each(text, "b32", TWO, PAIRS, { s = PATTERN, exec = exec },
              function(got, values, state, lane)
                local exact = row[3](values[1], values[2], lanes.bit(PATTERN, 12, lane))
                local carry = (exact < 0 or exact > M) and 1 or 0
                local want = carry == 1 and modifiers ~= "" and row[4] or exact & M
                if not lanes.is_set(exec, lane) then
                  want, carry = lanes.OLD, 0
                end
                lanes.same(want, got)
                lanes.same(carry, lanes.bit(state.s, 10, lane))
              end))
        end
      end
    end

    it("chooses by a mask",
      batch:each(lanes.text("v_cndmask_b32_e64", "b32", TWO, { mask = into }), "b32", TWO, PAIRS,
        { s = PATTERN }, function(got, values, _, lane)
          lanes.same(values[1 + lanes.bit(PATTERN, 12, lane)], got)
        end))

    it("counts the bits of the lanes below", both(
      batch:each("v_mbcnt_lo_u32_b32 v0, v4, v8", "b32", TWO, PAIRS, {},
        function(got, values, _, lane)
          local below = lane > 32 and M or (1 << (lane - 1)) - 1
          lanes.same(bits_of(values[1] & below) + values[2] & M, got)
        end),
      batch:each("v_mbcnt_hi_u32_b32 v0, v4, v8", "b32", TWO, PAIRS, {},
        function(got, values, _, lane)
          local below = lane > 32 and (1 << (lane - 33)) - 1 or 0
          lanes.same(bits_of(values[1] & below) + values[2] & M, got)
        end)))

    local MAD = "b32 b32 b64"
    it("multiplies and adds unsigned in 64 bits and carries out of bit 63",
      batch:each(lanes.text("v_mad_u64_u32", "b64", MAD, { carry = out }), "b64", MAD,
        lanes.combinations(MAD), { s = PATTERN }, function(got, values, state, lane)
          local product = values[1] * values[2]
          lanes.same(product + values[3], got)
          lanes.same(math.ult(got, product) and 1 or 0, lanes.bit(state.s, 10, lane))
        end))

    it("multiplies and adds signed in 64 bits and gives out the sign of the exact sum",
      batch:each(lanes.text("v_mad_i64_i32", "b64", MAD, { carry = out }), "b64", MAD,
        lanes.combinations(MAD), { s = PATTERN }, function(got, values, state, lane)
          local product = s32(values[1]) * s32(values[2])
          local rough = product + 0.0 + values[3]
          local sign = rough < -1e18 and 1 or rough > 1e18 and 0 or (got < 0 and 1 or 0)
          lanes.same(product + values[3], got)
          lanes.same(sign, lanes.bit(state.s, 10, lane))
        end))

    local SUMS = "b64 b32 b128"
    it("sums masked differences into four words",
      batch:each("v_mqsad_u32_u8 v[0:3], v[4:5], v8, v[12:15]", "b32", SUMS,
        lanes.combinations(SUMS), {}, function(_, values, state, lane)
          for n = 0, 3 do
            local added = n < 2 and values[3] >> 32 * n & M or 0
            local want = sad(values[1] >> 8 * n & M, values[2], true) + added
            lanes.same(want & M, state.v[n][lane])
          end
        end))

    it("swaps two registers in the active lanes",
      batch:each("v_swap_b32 v4, v8", "b32", TWO, PAIRS, { exec = PARTIAL },
        function(_, values, state, lane)
          local first = lanes.is_set(PARTIAL, lane) and 2 or 1
          lanes.same(values[first], state.v[4][lane])
          lanes.same(values[3 - first], state.v[8][lane])
        end))

    it("writes no lane when EXEC is 0",
      batch:each("v_mov_b32_e32 v0, -1", "b32", ONE, lanes.combinations(ONE), { exec = 0 },
        function(got)
          lanes.same(lanes.OLD, got)
        end))

    for text, define in pairs({
      ["v_add3_u32 v0, s12, v4, -4"] = function(a) return PATTERN[12] + a - 4 end,
      ["v_mov_b32_e32 v0, 0x12345678"] = function() return 0x12345678 end,
      ["v_mov_b32_e32 v0, 1.0"] = function() return 0x3f800000 end,
      ["v_xor_b32_e32 v0, 0.5, v4"] = function(a) return 0x3f000000 ~ a end,
    }) do
      for _, exec in ipairs({ -1, PARTIAL }) do
        it(("takes the scalars of '%s' for every lane where EXEC is %x"):format(text, exec),
          batch:each(text, "b32", ONE, lanes.combinations(ONE), { s = PATTERN, exec = exec },
            function(got, values, _, lane)
              local is_active = lanes.is_set(exec, lane)
              lanes.same(is_active and define(values[1]) & M or lanes.OLD, got)
            end))
      end
    end

    if is_gfx9 then
      it("moves to and between accumulation registers and back",
        batch:each("v_accvgpr_write_b32 a2, v4\nv_accvgpr_mov_b32 a3, a2\n" ..
          "v_accvgpr_read_b32 v0, a3", "b32", ONE, lanes.combinations(ONE), {},
          function(got, values)
            lanes.same(values[1], got)
          end))
    end
  end)
end
