-- Scalar instructions of the emulator: each on all pairs of edge values and both values of SCC,
-- against a definition in Lua; then what has an effect beside its result.
local emulator = require "support.emulator"
local lanes = require "support.lanes"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

local M = 0xffffffff
local MODE = 0x3f0
local function s32(x) return lanes.signed(x, 32) end

-- ---- definitions: (a, b, scc) to result and SCC; no second value: SCC stays -------------------
-- a and b are 64 bits wide, instructions on 32 bits are given the low halves.

local function nonzero(f, mask)
  return function(a, b, scc)
    local d = f(a, b, scc) & mask
    return d, d ~= 0
  end
end
local function low(f) return nonzero(f, M) end
local function wide(f) return nonzero(f, -1) end

local function ones(x)
  local n = 0
  for i = 0, 63 do n = n + (x >> i & 1) end
  return n
end

local function first_one(x)
  for i = 0, 63 do
    if x >> i & 1 == 1 then return i end
  end
  return M
end

-- Zeros above the highest one of a number of `bits`.
local function leading(x, bits)
  for i = 0, bits - 1 do
    if x >> (bits - 1 - i) & 1 == 1 then return i end
  end
  return M
end

local function leading_signs(x, bits)
  local sign = x >> (bits - 1) & 1
  for i = 1, bits - 1 do
    if x >> (bits - 1 - i) & 1 ~= sign then return i end
  end
  return M
end

local function reversed(x, bits)
  local y = 0
  for i = 0, bits - 1 do y = y | (x >> i & 1) << (bits - 1 - i) end
  return y
end

local function arithmetic_shift(x, n)
  return x < 0 and ~(~x >> n) or x >> n
end

local function field(x, width)
  return width >= 64 and x or x & ((1 << width) - 1)
end

local function signed_field(x, width)
  if width == 0 then return 0 end
  return width >= 64 and x or lanes.signed(x, width)
end

local function quads(x)
  local y = 0
  for i = 0, 15 do y = y | (x >> 4 * i & 15 ~= 0 and 1 or 0) << i end
  return y
end

local function whole_quads(x)
  local y = 0
  for i = 0, 15 do y = y | (x >> 4 * i & 15 ~= 0 and 15 or 0) << 4 * i end
  return y
end

local function doubled(x)
  local y = 0
  for i = 0, 31 do y = y | (x >> i & 1) * 3 << 2 * i end
  return y
end

local function high_of_product(a, b, is_signed)
  local al, ah, bl, bh = a & 0xffff, a >> 16, b & 0xffff, b >> 16
  local middle = ((al * bl) >> 16) + al * bh
  local high = ah * bh + (middle >> 16) + (((middle & 0xffff) + ah * bl) >> 16)
  if is_signed and s32(a) < 0 then high = high - b end
  if is_signed and s32(b) < 0 then high = high - a end
  return high & M
end

local function in_range(x) return x >= -0x80000000 and x <= 0x7fffffff end

local two32 = { -- d32 <- a32, b32
  s_add_u32 = function(a, b) return a + b & M, a + b > M end,
  s_sub_u32 = function(a, b) return a - b & M, a < b end,
  s_add_i32 = function(a, b) return a + b & M, not in_range(s32(a) + s32(b)) end,
  s_sub_i32 = function(a, b) return a - b & M, not in_range(s32(a) - s32(b)) end,
  s_addc_u32 = function(a, b, c) return a + b + c & M, a + b + c > M end,
  s_subb_u32 = function(a, b, c) return a - b - c & M, a - b - c < 0 end,
  s_min_i32 = function(a, b) return math.min(s32(a), s32(b)) & M, s32(a) < s32(b) end,
  s_min_u32 = function(a, b) return math.min(a, b), a < b end,
  s_max_i32 = function(a, b) return math.max(s32(a), s32(b)) & M, s32(a) >= s32(b) end,
  s_max_u32 = function(a, b) return math.max(a, b), a >= b end,
  s_mul_i32 = function(a, b) return a * b & M end,
  s_mul_hi_u32 = function(a, b) return high_of_product(a, b, false) end,
  s_mul_hi_i32 = function(a, b) return high_of_product(a, b, true) end,
  s_absdiff_i32 = low(function(a, b)
    local d = s32(a - b)
    return d < 0 and -d or d
  end),
  s_lshl1_add_u32 = function(a, b) return (a << 1) + b & M, (a << 1) + b > M end,
  s_lshl2_add_u32 = function(a, b) return (a << 2) + b & M, (a << 2) + b > M end,
  s_lshl3_add_u32 = function(a, b) return (a << 3) + b & M, (a << 3) + b > M end,
  s_lshl4_add_u32 = function(a, b) return (a << 4) + b & M, (a << 4) + b > M end,
  s_and_b32 = low(function(a, b) return a & b end),
  s_or_b32 = low(function(a, b) return a | b end),
  s_xor_b32 = low(function(a, b) return a ~ b end),
  s_andn2_b32 = low(function(a, b) return a & ~b end),
  s_orn2_b32 = low(function(a, b) return a | ~b end),
  s_nand_b32 = low(function(a, b) return ~(a & b) end),
  s_nor_b32 = low(function(a, b) return ~(a | b) end),
  s_xnor_b32 = low(function(a, b) return ~(a ~ b) end),
  s_lshl_b32 = low(function(a, b) return a << (b & 31) end),
  s_lshr_b32 = low(function(a, b) return a >> (b & 31) end),
  s_ashr_i32 = low(function(a, b) return arithmetic_shift(s32(a), b & 31) end),
  s_bfm_b32 = function(a, b) return ((1 << (a & 31)) - 1) << (b & 31) & M end,
  s_bfe_u32 = low(function(a, b) return field(a >> (b & 31), b >> 16 & 127) end),
  s_bfe_i32 = low(function(a, b)
    return signed_field(arithmetic_shift(s32(a), b & 31), b >> 16 & 127)
  end),
  s_pack_ll_b32_b16 = function(a, b) return a & 0xffff | b << 16 & M end,
  s_pack_lh_b32_b16 = function(a, b) return a & 0xffff | b & 0xffff0000 end,
  s_pack_hh_b32_b16 = function(a, b) return a >> 16 | b & 0xffff0000 end,
  s_cselect_b32 = function(a, b, c) return c == 1 and a or b end,
}
local two64 = { -- d64 <- a64, b64
  s_and_b64 = wide(function(a, b) return a & b end),
  s_or_b64 = wide(function(a, b) return a | b end),
  s_xor_b64 = wide(function(a, b) return a ~ b end),
  s_andn2_b64 = wide(function(a, b) return a & ~b end),
  s_orn2_b64 = wide(function(a, b) return a | ~b end),
  s_nand_b64 = wide(function(a, b) return ~(a & b) end),
  s_nor_b64 = wide(function(a, b) return ~(a | b) end),
  s_xnor_b64 = wide(function(a, b) return ~(a ~ b) end),
  s_cselect_b64 = function(a, b, c) return c == 1 and a or b end,
}
local shift64 = { -- d64 <- a64, b32
  s_lshl_b64 = wide(function(a, b) return a << (b & 63) end),
  s_lshr_b64 = wide(function(a, b) return a >> (b & 63) end),
  s_ashr_i64 = wide(function(a, b) return arithmetic_shift(a, b & 63) end),
  s_bfe_u64 = wide(function(a, b) return field(a >> (b & 63), b >> 16 & 127) end),
  s_bfe_i64 = wide(function(a, b)
    return signed_field(arithmetic_shift(a, b & 63), b >> 16 & 127)
  end),
}
local one32 = { -- d32 <- a32
  s_mov_b32 = function(a) return a end,
  s_not_b32 = low(function(a) return ~a end),
  s_abs_i32 = low(function(a) return math.abs(s32(a)) end),
  s_sext_i32_i8 = function(a) return lanes.signed(a, 8) & M end,
  s_sext_i32_i16 = function(a) return lanes.signed(a, 16) & M end,
  s_brev_b32 = function(a) return reversed(a, 32) end,
  s_bcnt0_i32_b32 = low(function(a) return 32 - ones(a) end),
  s_bcnt1_i32_b32 = low(ones),
  s_ff0_i32_b32 = function(a) return first_one(~a & M) end,
  s_ff1_i32_b32 = first_one,
  s_flbit_i32_b32 = function(a) return leading(a, 32) end,
  s_flbit_i32 = function(a) return leading_signs(a, 32) end,
  s_quadmask_b32 = low(quads),
  s_wqm_b32 = low(whole_quads),
}
local one64 = { -- d64 <- a64
  s_mov_b64 = function(a) return a end,
  s_not_b64 = wide(function(a) return ~a end),
  s_brev_b64 = function(a) return reversed(a, 64) end,
  s_quadmask_b64 = wide(quads),
  s_wqm_b64 = wide(whole_quads),
}
local count64 = { -- d32 <- a64
  s_bcnt0_i32_b64 = low(function(a) return 64 - ones(a) end),
  s_bcnt1_i32_b64 = low(ones),
  s_ff0_i32_b64 = function(a) return first_one(~a) end,
  s_ff1_i32_b64 = first_one,
  s_flbit_i32_b64 = function(a) return leading(a, 64) end,
  s_flbit_i32_i64 = function(a) return leading_signs(a, 64) end,
}
local spread = { -- d64 <- a32
  s_bitreplicate_b64_b32 = doubled,
}
local mask64 = { -- d64 <- a32, b32
  s_bfm_b64 = function(a, b) return ((1 << (a & 63)) - 1) << (b & 63) end,
}
local OLD = lanes.OLD | lanes.OLD << 32 -- what destinations hold before
local into32 = { -- d32 <- d32, a32
  s_bitset0_b32 = function(a) return lanes.OLD & ~(1 << (a & 31)) end,
  s_bitset1_b32 = function(a) return lanes.OLD | 1 << (a & 31) end,
  s_cmov_b32 = function(a, _, c) return c == 1 and a or lanes.OLD end,
}
local into64 = { -- d64 <- d64, a32
  s_bitset0_b64 = function(a) return OLD & ~(1 << (a & 63)) end,
  s_bitset1_b64 = function(a) return OLD | 1 << (a & 63) end,
}
local move64 = { -- d64 <- a64
  s_cmov_b64 = function(a, _, c) return c == 1 and a or OLD end,
}

local orders = {
  eq = function(a, b) return a == b end,
  lg = function(a, b) return a ~= b end,
  gt = function(a, b) return a > b end,
  ge = function(a, b) return a >= b end,
  lt = function(a, b) return a < b end,
  le = function(a, b) return a <= b end,
}
local compare32, compare64 = {}, { -- SCC <- a, b; the result stands for nothing
  s_cmp_eq_u64 = function(a, b) return OLD, a == b end,
  s_cmp_lg_u64 = function(a, b) return OLD, a ~= b end,
}
for name, order in pairs(orders) do
  compare32["s_cmp_" .. name .. "_u32"] = function(a, b) return OLD, order(a, b) end
  compare32["s_cmp_" .. name .. "_i32"] = function(a, b) return OLD, order(s32(a), s32(b)) end
end
compare32.s_bitcmp0_b32 = function(a, b) return OLD, a >> (b & 31) & 1 == 0 end
compare32.s_bitcmp1_b32 = function(a, b) return OLD, a >> (b & 31) & 1 == 1 end
local bit64 = {
  s_bitcmp0_b64 = function(a, b) return OLD, a >> (b & 63) & 1 == 0 end,
  s_bitcmp1_b64 = function(a, b) return OLD, a >> (b & 63) & 1 == 1 end,
}

-- Operand forms: widths of destination (0: none) and sources.
local forms = {
  { two32, 32, 32, 32 }, { two64, 64, 64, 64 }, { shift64, 64, 64, 32 }, { one32, 32, 32 },
  { one64, 64, 64 }, { count64, 32, 64 }, { spread, 64, 32 }, { mask64, 64, 32, 32 },
  { into32, 32, 32 }, { into64, 64, 32 }, { move64, 64, 64 }, { compare32, 0, 32, 32 },
  { compare64, 0, 64, 64 }, { bit64, 0, 64, 32 },
}

-- ---- running them -----------------------------------------------------------------------------

local EDGES = {
  0, 1, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff, 0x00200004, 0x00080018, 0x007f0001,
  0x0123456789abcdef, math.mininteger, math.maxinteger, -1, -2, 0x100000000, 63, 64,
}

local function register(n, bits)
  return bits == 64 and ("s[%d:%d]"):format(n, n + 1) or "s" .. n
end

local GONE = { s_ff0_i32_b32 = 11, s_ff0_i32_b64 = 11 } -- since which generation

-- All instructions of a generation in a list: { name, define, dst, src… }.
local function all_instructions(generation)
  local list = {}
  for _, form in ipairs(forms) do
    for name, define in pairs(form[1]) do
      if generation < (GONE[name] or 13) then
        list[#list + 1] = { name = name, define = define, dst = form[2], a = form[3], b = form[4] }
      end
    end
  end
  table.sort(list, function(x, y) return x.name < y.name end)
  return list
end

local FIRST, STEP, PER_CASE = 8, 4, 23

-- Code for some instructions on s[4:5] and s[6:7] with SCC from s3; instruction n leaves its result
-- in the pair at FIRST + STEP*n and SCC after it.
local function code_of(list, first)
  local lines = {}
  for i = first, math.min(first + PER_CASE - 1, #list) do
    local each, at = list[i], FIRST + STEP * (i - first)
    local operands = {}
    if each.dst > 0 then operands[1] = register(at, each.dst) end
    operands[#operands + 1] = register(4, each.a)
    if each.b then operands[#operands + 1] = register(6, each.b) end
    lines[#lines + 1] = "s_cmp_lg_u32 s3, 0"
    lines[#lines + 1] = each.name .. " " .. table.concat(operands, ", ")
    lines[#lines + 1] = ("s_cselect_b32 s%d, 1, 0"):format(at + 2)
  end
  return table.concat(lines, "\n")
end

local function cases_of(list, first)
  local code, cases = code_of(list, first), {}
  for _, a in ipairs(EDGES) do
    for _, b in ipairs(EDGES) do
      for scc = 0, 1 do
        local s = { [3] = scc }
        for reg = FIRST, FIRST + STEP * PER_CASE - 1 do s[reg] = lanes.OLD end
        cases[#cases + 1] = { code = code, s = s, s64 = { [4] = a, [6] = b }, a = a, b = b }
      end
    end
  end
  return cases
end

local function operand(value, bits) return bits == 32 and value & M or value end

-- One line for each difference between a result and the definition.
local function compare(each, case, state, at, wrong)
  local scc = case.s[3]
  local d, set = each.define(operand(case.a, each.a), operand(case.b, each.b), scc)
  if set == nil then set = scc == 1 end
  local wanted = each.dst == 32 and (d | lanes.OLD << 32) or d
  local got, got_scc = state:s64(at), state.s[at + 2] == 1
  if got ~= wanted or got_scc ~= set then
    wrong[#wrong + 1] = ("%s of %x, %x with SCC %d: %x, %s; wanted %x, %s"):format(each.name,
      case.a, case.b, scc, got, got_scc, wanted, set)
  end
end

local function check_all(target)
  local list, wrong = all_instructions(emulator.generation(target)), {}
  for first = 1, #list, PER_CASE do
    local cases = cases_of(list, first)
    for i, state in ipairs(emulator.run(target, cases)) do
      assert(not state.fault, state.fault)
      for k = first, math.min(first + PER_CASE - 1, #list) do
        compare(list[k], cases[i], state, FIRST + STEP * (k - first), wrong)
      end
    end
  end
  assert.are.equal("", table.concat(wrong, "\n", 1, math.min(#wrong, 20)))
end

-- ---- EXEC -------------------------------------------------------------------------------------

local saves = {
  and_saveexec = function(a, e) return a & e end,
  or_saveexec = function(a, e) return a | e end,
  xor_saveexec = function(a, e) return a ~ e end,
  andn1_saveexec = function(a, e) return ~a & e end,
  andn2_saveexec = function(a, e) return a & ~e end,
  orn1_saveexec = function(a, e) return ~a | e end,
  orn2_saveexec = function(a, e) return a | ~e end,
  nand_saveexec = function(a, e) return ~(a & e) end,
  nor_saveexec = function(a, e) return ~(a | e) end,
  xnor_saveexec = function(a, e) return ~(a ~ e) end,
  andn1_wrexec = function(a, e) return ~a & e end,
  andn2_wrexec = function(a, e) return a & ~e end,
}

local function check_saves(target, width)
  local all, cases, wants = width == 64 and -1 or M, {}, {}
  for name, define in pairs(saves) do
    for _, a in ipairs { 0, -1, 0x5555555555555555, 1 << 31, 1 << 63 } do
      for _, exec in ipairs { 0, -1, 0x3333333333333333, 1 << 31 } do
        local dst, src = register(8, width), register(4, width)
        cases[#cases + 1] = { code = ("s_%s_b%d %s, %s"):format(name, width, dst, src),
          s64 = { [4] = a, [8] = 0 }, exec = exec }
        local made = define(a, exec) & all
        local is_write = name:find("wrexec") ~= nil
        wants[#wants + 1] = { made, is_write and made or exec & all, made ~= 0 }
      end
    end
  end
  for i, state in ipairs(emulator.run(target, cases)) do
    local saved = width == 64 and state:s64(8) or state.s[8]
    assert.are.same(wants[i], { state.exec & all, saved, state.scc }, cases[i].code)
  end
end

-- ---- the rest ---------------------------------------------------------------------------------

-- Runs the cases { code, options…, want = { [register] = word }, scc = }.
local function check(target, list)
  local cases = {}
  for i, each in ipairs(list) do cases[i] = setmetatable({ code = each[1] }, { __index = each }) end
  for i, state in ipairs(emulator.run(target, cases)) do
    assert(not state.fault, state.fault)
    local got = {}
    for reg in pairs(list[i].want or {}) do got[reg] = state.s[reg] end
    assert.are.same(list[i].want or {}, got, list[i][1])
    if list[i].want_scc ~= nil then assert.are.equal(list[i].want_scc, state.scc, list[i][1]) end
    if list[i].want_mode then assert.are.equal(list[i].want_mode, state.mode, list[i][1]) end
  end
end

for _, target in ipairs { "gfx90a", "gfx1030", "gfx1030:wave64", "gfx1100", "gfx1201" } do
  local generation, wave = emulator.generation(target)
  local mode = generation == 12 and 0xf0 or MODE
  describe("a scalar instruction of " .. target, function()
    it("computes what its definition says, on edge values, with either SCC", function()
      check_all(target)
    end)

    it("saves EXEC and makes a new one", function()
      check_saves(target, wave)
    end)

    it("extends the immediate of SOPK by its sign, or not where it compares unsigned numbers",
      function()
        check(target, {
          { "s_movk_i32 s0, 0x8000", want = { [0] = 0xffff8000 } },
          { "s_movk_i32 s0, 0x7fff", want = { [0] = 0x7fff } },
          { "s_addk_i32 s0, 0xffff", s = { [0] = 5 }, want = { [0] = 4 }, want_scc = false },
          { "s_addk_i32 s0, 1", s = { [0] = 0x7fffffff }, want = { [0] = 0x80000000 },
            want_scc = true },
          { "s_mulk_i32 s0, 0xfffe", s = { [0] = 3 }, want = { [0] = 0xfffffffa } },
          { "s_cmovk_i32 s0, 0xffff", scc = 1, s = { [0] = 3 }, want = { [0] = M } },
          { "s_cmovk_i32 s0, 0xffff", scc = 0, s = { [0] = 3 }, want = { [0] = 3 } },
        })
        if generation == 12 then return end -- it has no s_cmpk
        check(target, {
          { "s_cmpk_eq_i32 s0, 0xffff", s = { [0] = M }, want_scc = true },
          { "s_cmpk_eq_u32 s0, 0xffff", s = { [0] = M }, want_scc = false },
          { "s_cmpk_eq_u32 s0, 0xffff", s = { [0] = 0xffff }, want_scc = true },
          { "s_cmpk_lt_i32 s0, 0x8000", s = { [0] = 0 }, want_scc = false },
          { "s_cmpk_lt_u32 s0, 0x8000", s = { [0] = 0 }, want_scc = true },
          { "s_cmpk_gt_i32 s0, 0xfffe", s = { [0] = M }, want_scc = true },
          { "s_cmpk_ge_u32 s0, 7", s = { [0] = 7 }, want_scc = true },
          { "s_cmpk_le_u32 s0, 6", s = { [0] = 7 }, want_scc = false },
          { "s_cmpk_lg_i32 s0, 7", s = { [0] = 7 }, want_scc = false },
        })
      end)

    it("finds its register through M0", function()
      check(target, {
        { "s_movrels_b32 s0, s4", m0 = 3, s = { [7] = 77 }, want = { [0] = 77 } },
        { "s_movreld_b32 s4, s0", m0 = 3, s = { [0] = 77 }, want = { [7] = 77 } },
        { "s_movrels_b64 s[0:1], s[4:5]", m0 = 2, s = { [6] = 1, [7] = 2 },
          want = { [0] = 1, [1] = 2 } },
        { "s_movreld_b64 s[4:5], s[0:1]", m0 = 2, s = { [0] = 1, [1] = 2 },
          want = { [6] = 1, [7] = 2 } },
      })
    end)

    it("reads and writes parts of MODE", function()
      check(target, {
        { "s_getreg_b32 s0, hwreg(HW_REG_MODE)", want = { [0] = mode } },
        { "s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)", want = { [0] = 15 } },
        { "s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s0", s = { [0] = 0xfe }, want_mode = mode | 2 },
        { "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0", want_mode = mode & ~0xf0 },
      })
    end)

    it("takes EXECZ, VCCZ and SCC as operands", function()
      check(target, { { "s_mov_b32 s0, src_scc", scc = 1, want = { [0] = 1 } } })
      if generation > 10 then return end -- which has SCC alone
      check(target, {
        { "s_mov_b32 s0, src_execz", exec = 0, want = { [0] = 1 } },
        { "s_mov_b32 s0, src_vccz", vcc = 1, want = { [0] = 0 } },
      })
    end)

    it("stops where it would reach a register that is not there", function()
      local state = emulator.run(target, { { code = "s_movrels_b32 s0, s4", m0 = 104 } })[1]
      assert.are.equal("illegal", state.fault_kind)
      assert.matches("s_movrels_b32 reaches scalar register 108", state.fault, 1, true)
    end)

    it("stops where it would write a hardware register that kernels may not", function()
      local code = "s_setreg_b32 hwreg(HW_REG_GPR_ALLOC), s0"
      local state = emulator.run(target, { { code = code } })[1]
      assert.matches("writes hardware register 5", state.fault, 1, true)
    end)

    it("stops where it would read a hardware register that is not emulated", function()
      for _, id in ipairs { 5, 6, 7, generation == 9 and 29 or 4 } do
        local code = ("s_getreg_b32 s0, hwreg(%d)"):format(id)
        local state = emulator.run(target, { { code = code } })[1]
        assert.matches(("reads hardware register %d, which"):format(id), state.fault, 1, true)
      end
    end)

    it("stops at bits of MODE that are not emulated: exceptions, FP16_OVFL, VSKIP", function()
      for _, bit in ipairs { 12, 20, 23, 28 } do
        local code = ("s_mov_b32 s0, 1\ns_setreg_b32 hwreg(HW_REG_MODE, %d, 1), s0"):format(bit)
        local state = emulator.run(target, { { code = code } })[1]
        assert.matches(("sets bits 0x%x of MODE"):format(1 << bit), state.fault, 1, true)
        assert.are.equal(mode, state.mode)
      end
    end)
  end)
end

describe("a scalar instruction of gfx1030", function()
  it("sets rounding and denormals", function()
    check("gfx1030", {
      { "s_round_mode 0x6", want_mode = MODE | 6 },
      { "s_denorm_mode 5", want_mode = 0x350 },
    })
  end)

  it("reads NULL as 0 and loses what is written there", function()
    check("gfx1030", {
      { "s_mov_b32 s0, null", s = { [0] = 5 }, want = { [0] = 0 } },
      { "s_mov_b32 null, 7\ns_mov_b32 s0, null", want = { [0] = 0 } },
      { "s_mov_b64 null, -1\ns_mov_b64 s[0:1], null", want = { [0] = 0, [1] = 0 } },
    })
  end)

  it("leaves the high half of EXEC alone where wavefronts are of 32 lanes", function()
    local high = "s_mov_b32 exec_hi, 0x1234\n"
    local states = emulator.run("gfx1030", {
      { code = high .. "v_cmpx_gt_u32 5, v0", v = { [0] = { 7, 4, 5 } } },
      { code = high .. "s_or_saveexec_b32 s1, vcc_lo", exec = 0xf, vcc = 0xf0 },
      { code = high .. "s_xor_saveexec_b64 s[0:1], vcc", exec = 0xf, vcc = 0xff000000f0 },
    })
    assert.are.same({ 0x1234fffffffa, 0x1234000000ff, 0x12cb000000ff },
      { states[1].exec, states[2].exec, states[3].exec })
    assert.are.equal(0x12340000000f, states[3]:s64(0))
  end)

  it("moves between two registers found through M0", function()
    check("gfx1030", { { "s_movrelsd_2_b32 s8, s4", m0 = 2 | 3 << 16, s = { [6] = 66 },
      want = { [11] = 66 } } })
  end)
end)
