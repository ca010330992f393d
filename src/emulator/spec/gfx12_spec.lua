-- What gfx12 has beside gfx11: scalar floats, barriers in two parts, counters of their own for
-- waits, words for caches, scalar loads of bytes, and new names of old instructions.
local emulator = require "support.emulator"
local lanes = require "support.lanes"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

local CHIP = "gfx1201"

local REALS32 = { 0, -0.0, 1, -1, 0.5, -2.5, 3.5, 1e-40, -1e38, 3e38, 65504, 1 / 0, -1 / 0, 0 / 0,
  16777217, -7.75, 2147483648, 4294967296, 1.9999999 }
local WORDS = {}
for i, x in ipairs(REALS32) do WORDS[i] = emulator.f32(x) end
WORDS[#WORDS + 1] = 0x7f800001 -- a signaling NaN
WORDS[#WORDS + 1] = 0x3c00bc00 -- halves
WORDS[#WORDS + 1] = 0xfc007e01
WORDS[#WORDS + 1] = 0x00018001

-- Runs each scalar instruction on pairs of words, and the vector one on the same, in four modes;
-- the results have to be the same bits.
local function compare(scalar, vector, nsources, options)
  options = options or {}
  local cases, pairs_of = {}, {}
  local tail = nsources == 2 and ", s4" or ""
  for i, a in ipairs(WORDS) do
    for _, k in ipairs { 1, 5, 12 } do
      local b = WORDS[(i * k + 3) % #WORDS + 1]
      local mode = 0x100 | ({ 0xf0, 0xf5, 0xfa, 0x0f })[(i + k) % 4 + 1]
      pairs_of[#pairs_of + 1] = { a, b, mode }
      local is_compare = options.is_compare
      local code = is_compare and ("%s s3, s4\nv_cmp_%s_e64 s6, s3, s4"):format(scalar, vector) or
        ("v_mov_b32 v0, s5\n%s s5, s3%s\nv_mov_b32 v1, s3\nv_mov_b32 v2, s4\n%s v0, v1%s"):format(
          scalar, tail, vector, nsources == 2 and ", v2" or "")
      cases[#cases + 1] = { code = code, s = { [3] = a, [4] = b, [5] = options.old or 0 },
        mode = mode }
    end
  end
  for i, r in ipairs(emulator.run(CHIP, cases)) do
    local a, b, mode = table.unpack(pairs_of[i])
    assert.is_nil(r.fault, scalar)
    local got, want = r.s[5], r.v[0][1]
    if options.is_compare then got, want = r.scc and 1 or 0, r.s[6] & 1 end
    if options.bits then got, want = got & options.bits, want & options.bits end
    assert(got == want, ("%s of 0x%x and 0x%x in mode 0x%x is 0x%x, wants 0x%x"):format(scalar, a,
      b, mode, got, want))
  end
end

describe("a scalar float", function()
  for _, kind in ipairs { "f32", "f16" } do
    local bits = kind == "f16" and 0xffff or nil
    for _, name in ipairs { "add", "sub", "mul", "min_num", "max_num", "minimum", "maximum",
      "fmac" } do
      it("is what the vector instruction gives: " .. name .. "_" .. kind, function()
        compare(("s_%s_%s"):format(name, kind), ("v_%s_%s"):format(name, kind), 2,
          { bits = bits, old = kind == "f16" and 0x3c00 or 0x3f800000 })
      end)
    end
    for _, name in ipairs { "ceil", "floor", "trunc", "rndne" } do
      it("is what the vector instruction gives: " .. name .. "_" .. kind, function()
        compare(("s_%s_%s"):format(name, kind), ("v_%s_%s"):format(name, kind), 1,
          { bits = bits })
      end)
    end
    for _, name in ipairs { "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt",
      "nle", "neq", "nlt" } do
      it("is compared as by the vector instruction: " .. name .. "_" .. kind, function()
        compare(("s_cmp_%s_%s"):format(name, kind), name .. "_" .. kind, 2,
          { is_compare = true })
      end)
    end
    for _, name in ipairs { "rcp", "rsq", "sqrt", "exp", "log" } do
      it("is what the vector instruction gives: v_s_" .. name .. "_" .. kind, function()
        compare(("v_s_%s_%s"):format(name, kind), ("v_%s_%s"):format(name, kind), 1,
          { bits = bits })
      end)
    end
  end
  for _, name in ipairs { "cvt_f32_i32", "cvt_f32_u32", "cvt_i32_f32", "cvt_u32_f32",
    "cvt_f32_f16" } do
    it("is converted as by the vector instruction: " .. name, function()
      compare("s_" .. name, "v_" .. name, 1)
    end)
  end
  it("is made a half, the upper bits 0", function()
    compare("s_cvt_f16_f32", "v_cvt_f16_f32", 1, { bits = 0xffff })
    local r = emulator.run(CHIP, { { code = "s_cvt_f16_f32 s0, s1",
      s = { [0] = 0xffffffff, emulator.f32(1) } } })[1]
    assert.are.equal(0x3c00, r.s[0])
  end)
  it("has constants, and leaves VCC and EXEC", function()
    local r = emulator.run(CHIP, { {
      code = [[
        s_fmaak_f32 s0, s1, s2, 0x41200000
        s_fmamk_f32 s3, s1, 0x41200000, s2
        s_cvt_pk_rtz_f16_f32 s4, s1, 1.0
        s_cvt_hi_f32_f16 s5, s4
        s_cmp_gt_f32 s1, 1.5
        s_cselect_b32 s6, 7, 9
        v_s_rcp_f32 s7, -s1]],
      s = { [1] = emulator.f32(2), [2] = emulator.f32(3) }, vcc = 0x1234, exec = 0xf0 } })[1]
    assert.is_nil(r.fault)
    assert.are.same({ emulator.f32(16), emulator.f32(23), 0x3c004000, emulator.f32(1), 7,
      emulator.f32(-0.5) }, { r.s[0], r.s[3], r.s[4], r.s[5], r.s[6], r.s[7] })
    assert.are.same({ 0x1234, 0xf0 }, { r.vcc & 0xffffffff, r.exec & 0xffffffff })
  end)
end)

describe("a minimum or maximum", function()
  local batch = lanes.batch(CHIP)
  local function number(x) return emulator.to_f32(x) end
  local function least(a, b)
    local x, y = number(a), number(b)
    if x ~= x or y ~= y then return 0 / 0 end
    if x == y then return a >> 31 == 1 and x or y end
    return math.min(x, y)
  end
  it("is a NaN when there is one", batch:each("v_minimum_f32 v0, v4, v8", "b32", "b32 b32",
    (function()
      local rows = {}
      for _, a in ipairs(WORDS) do
        for _, b in ipairs(WORDS) do rows[#rows + 1] = { a, b } end
      end
      return rows
    end)(), {}, function(got, values)
      local want = least(values[1], values[2])
      if want ~= want then -- the first one, a signaling one before others
        local function rank(x)
          if x & 0x7fffffff <= 0x7f800000 then return 0 end
          return x & 0x400000 == 0 and 2 or 1
        end
        local nan = rank(values[2]) > rank(values[1]) and values[2] or values[1]
        lanes.same(nan | 0x400000, got)
      else
        lanes.same(emulator.f32(want), got)
      end
    end))

  it("joins two", function()
    local v = { [1] = emulator.f32(3), [2] = emulator.f32(-5), [3] = emulator.f32(4) }
    local nan = { [1] = emulator.f32(3), [2] = 0x7fc00000, [3] = emulator.f32(4) }
    local names = { v_minimum3_f32 = -5.0, v_maximum3_f32 = 4.0, v_minimummaximum_f32 = 4.0,
      v_maximumminimum_f32 = 3.0, v_min3_num_f32 = -5.0, v_max3_num_f32 = 4.0,
      v_med3_num_f32 = 3.0, v_minmax_num_f32 = 4.0, v_maxmin_num_f32 = 3.0 }
    for name, want in pairs(names) do
      local code = name .. " v0, v1, v2, v3"
      local r = emulator.run(CHIP, { { code = code, v = v, mode = 0x1f0 },
        { code = code, v = nan, mode = 0x1f0 } })
      assert.are.equal(want, r[1]:f32(0)[1], name)
      local is_nan = r[2]:f32(0)[1] ~= r[2]:f32(0)[1]
      assert.are.equal(name:find("imum") ~= nil, is_nan, name)
    end
  end)
end)

describe("an instruction of gfx12", function()
  it("computes on scalar pairs", function()
    local r = emulator.run(CHIP, { { code = [[
        s_cmp_eq_u32 0, 0
        s_add_nc_u64 s[0:1], s[8:9], s[10:11]
        s_sub_nc_u64 s[2:3], s[8:9], s[10:11]
        s_mul_u64 s[4:5], s[8:9], s[10:11]
        s_pack_hl_b32_b16 s6, s8, s9]],
      s64 = { [8] = 0x8000000180000001, [10] = 0x8000000000000003 } } })[1]
    assert.is_nil(r.fault)
    assert.is_true(r.scc)
    assert.are.same({ 0x8000000180000001 + 0x8000000000000003,
      0x8000000180000001 - 0x8000000000000003, 0x8000000180000001 * 0x8000000000000003 },
      { r:s64(0), r:s64(2), r:s64(4) })
    assert.are.equal(0x00018000, r.s[6])
  end)

  it("loads bytes and halves into scalar registers", function()
    local r = emulator.run(CHIP, { { memory = "\x01\x82\x03\x84\x85\x06\x07\x08\x09\x0a\x0b\x0c",
      code = [[
        s_load_u8 s4, s[2:3], 0x1
        s_load_i8 s5, s[2:3], 0x1
        s_load_u16 s6, s[2:3], 0x2
        s_load_i16 s7, s[2:3], 0x2
        s_load_b96 s[8:10], s[2:3], 0x0
        s_wait_kmcnt 0x0]] } })[1]
    assert.is_nil(r.fault)
    assert.are.same({ 0x82, 0xffffff82, 0x8403, 0xffff8403, 0x84038201, 0x08070685, 0x0c0b0a09 },
      { r.s[4], r.s[5], r.s[6], r.s[7], r.s[8], r.s[9], r.s[10] })
  end)

  it("loads bytes and halves of buffers into scalar registers, and 0 outside of them", function()
    local r = emulator.run(CHIP, { { memory = "\x01\x82\x03\x84\x85\x06\x07\x08\x09\x0a\x0b\x0c",
      code = [[
        s_mov_b64 s[4:5], s[2:3]
        s_mov_b32 s6, 7
        s_mov_b32 s7, 0
        s_movk_i32 s8, 0x2
        s_buffer_load_u8 s10, s[4:7], 0x1
        s_buffer_load_i8 s11, s[4:7], s8 offset:0x1
        s_buffer_load_u16 s12, s[4:7], s8 offset:0x0
        s_buffer_load_i16 s13, s[4:7], 0x2
        s_buffer_load_u8 s14, s[4:7], 0x6
        s_buffer_load_u8 s15, s[4:7], 0x7
        s_buffer_load_u16 s16, s[4:7], 0x6
        s_buffer_load_i16 s17, s[4:7], 0x800
        s_wait_kmcnt 0x0]] } })[1]
    assert.is_nil(r.fault)
    assert.are.same({ 0x82, 0xffffff84, 0x8403, 0xffff8403, 0x07, 0, 0, 0 },
      { table.unpack(r.s, 10, 17) })
  end)

  it("says what caches do, and which atomics return", function()
    local r = emulator.run(CHIP, { { memory = string.pack("<I4I4", 5, 6), exec = 1,
      v = { [1] = 0, [2] = 3 },
      code = [[
        global_load_b32 v4, v1, s[2:3] offset:4 th:TH_LOAD_NT scope:SCOPE_SYS
        global_atomic_add_u32 v3, v1, v2, s[2:3] th:TH_ATOMIC_RETURN scope:SCOPE_DEV
        s_wait_loadcnt 0x0
        global_atomic_add_u32 v1, v2, s[2:3] scope:SCOPE_SE
        global_store_b32 v1, v3, s[2:3] offset:4 th:TH_STORE_HT
        global_wb scope:SCOPE_SYS
        s_wait_storecnt 0x0
        global_inv scope:SCOPE_SYS]] } })[1]
    assert.is_nil(r.fault)
    assert.are.same({ 5, 6 }, { r.v[3][1], r.v[4][1] })
    assert.are.equal(string.pack("<I4I4", 11, 5), r.memory)
  end)

  it("counts cycles in 64 bits, and has no bits of MODE that it lacks", function()
    local r = emulator.run(CHIP, { { code = [[
        s_getreg_b32 s0, hwreg(HW_REG_SHADER_CYCLES_LO)
        s_getreg_b32 s1, hwreg(HW_REG_SHADER_CYCLES_HI)
        s_sleep_var s0
        s_getreg_b32 s2, hwreg(HW_REG_SHADER_CYCLES_LO)
        s_getreg_b32 s3, hwreg(HW_REG_SHADER_CYCLES_HI)
        s_getreg_b32 s4, hwreg(HW_REG_WAVE_MODE)]], mode = 0x1f0 },
      { code = "s_getreg_b32 s0, hwreg(HW_REG_WAVE_STATUS)" } })
    assert.is_nil(r[1].fault)
    assert(r[1]:s64(2) >= r[1]:s64(0))
    assert.are.equal(0xf0, r[1].s[4])
    assert.matches("reads hardware register 2", r[2].fault)
  end)

  it("subtracts where it can, or down to 0", function()
    local before = string.pack("<I4I4", 5, 5)
    local v = { [0] = { 0, 4 }, [1] = { 3, 6 } }
    local function atomic(code)
      return { code = code, memory = before, lds = before, exec = 3, v = v }
    end
    local r = emulator.run(CHIP, {
      atomic "global_atomic_cond_sub_u32 v2, v0, v1, s[2:3] th:TH_ATOMIC_RETURN",
      atomic "ds_cond_sub_rtn_u32 v2, v0, v1", atomic "ds_sub_clamp_rtn_u32 v2, v0, v1",
      atomic "global_atomic_sub_clamp_u32 v2, v0, v1, s[2:3] th:TH_ATOMIC_RETURN" })
    local kept, clamped = string.pack("<I4I4", 2, 5), string.pack("<I4I4", 2, 0)
    assert.are.same({ kept, kept, clamped, clamped },
      { r[1].memory, r[2].lds, r[3].lds, r[4].memory })
    for n = 1, 4 do assert.are.same({ 5, 5 }, { r[n].v[2][1], r[n].v[2][2] }) end
  end)

  it("reads and writes upper halves in the short encodings", function()
    local r = emulator.run(CHIP, { { v = { [0] = 0x11112222, 0x40003c00, 0x42004400 },
      code = ".long 0x64000581 ; v_add_f16 v0.l, v1.h, v2.l" },
      { v = { [0] = 0x11112222, 0x40003c00, 0x42004400 },
        code = ".long 0x65010501 ; v_add_f16 v0.h, v1.l, v2.h" } })
    assert.is_nil(r[1].fault)
    assert.is_nil(r[2].fault)
    assert.are.same({ 0x11114600, 0x44002222 }, { r[1].v[0][1], r[2].v[0][1] })
  end)

  it("is refused by name where it is not known", function()
    local r = emulator.run(CHIP, {
      { code = "s_barrier_join 1" },
      { code = "s_barrier_signal -2" },
      { code = "global_atomic_ordered_add_b64 v1, v[2:3], s[2:3]" } })
    assert.matches("does not know the instruction 's_barrier_join", r[1].fault, 1, true)
    assert.matches("names barrier -2", r[2].fault, 1, true)
    assert.matches("does not know the instruction 'global_atomic_ordered_add", r[3].fault, 1, true)
  end)
end)

describe("a block of registers on gfx12", function()
  local REGISTERS = { 0, 3, 4, 30, 31 }
  local mask, words = 0, {}
  for _, n in ipairs(REGISTERS) do mask = mask | 1 << n end
  for n = 0, 63 do words[n] = n * 0x01030507 & 0xffffffff end
  local memory = string.pack(("<I4"):rep(64), table.unpack(words, 0))
  -- lane 1 reads and writes 100 bytes after lane 0; the others are switched off
  local case = { m0 = mask, exec = 3, memory = memory, private = 256, v = { [40] = { 8, 108 } } }
  local function run(code, v)
    local all = { code = code, v = v }
    for name, value in pairs(case) do all[name] = all[name] or value end
    local r = emulator.run(CHIP, { all })[1]
    assert.is_nil(r.fault)
    return r
  end

  it("is loaded where M0 has bits", function()
    local r = run("global_load_block v[0:31], v40, s[2:3] offset:4\ns_wait_loadcnt 0")
    for lane = 0, 1 do
      for n = 0, 31 do
        local want = mask >> n & 1 == 1 and words[3 + 25 * lane + n] or 0
        assert.are.equal(want, r.v[n][lane + 1], ("register %d of lane %d"):format(n, lane))
      end
    end
    assert.are.equal(0, r.v[0][3])
  end)

  it("may hold its own addresses", function()
    local r = run("global_load_block v[0:31], v0, s[2:3]\ns_wait_loadcnt 0", { [0] = { 8, 108 } })
    assert.are.equal(words[2], r.v[0][1])
    assert.are.equal(words[2 + 31], r.v[31][1])
  end)

  it("is stored where M0 has bits", function()
    local v = { [40] = { 8, 140 } }
    for n = 0, 31 do v[n] = 0xabcd0000 + n end
    case.exec = 1
    local r = run("global_store_block v40, v[0:31], s[2:3]", v)
    case.exec = 3
    for n = 0, 31 do
      local want = mask >> n & 1 == 1 and 0xabcd0000 + n or words[2 + n]
      assert.are.equal(want, (string.unpack("<I4", r.memory, 4 * (2 + n) + 1)))
    end
  end)

  it("goes through private memory and back", function()
    local v = { [40] = 16 }
    for n = 0, 31 do v[n] = 0x12340000 + n end
    local r = run("scratch_store_block v40, v[0:31], off\ns_wait_storecnt 0\n" ..
      "scratch_load_block v[50:81], v40, off\ns_wait_loadcnt 0", v)
    for n = 0, 31 do
      local want = mask >> n & 1 == 1 and 0x12340000 + n or 0
      assert.are.equal(want, r.v[50 + n][2])
    end
  end)
end)

describe("waiting on gfx12", function()
  local function fault_of(code)
    return emulator.run(CHIP, { { code = code, memory = ("\0"):rep(64), lds = ("\0"):rep(64),
      exec = 1 } })[1].fault
  end

  it("has a counter for each kind of memory", function()
    assert.is_nil(fault_of("global_load_b32 v1, v0, s[2:3]\nds_load_b32 v2, v0\n" ..
      "s_load_b32 s4, s[2:3], 0\ns_wait_loadcnt 0\nv_mov_b32 v3, v1\ns_wait_dscnt 0\n" ..
      "v_mov_b32 v4, v2\ns_wait_kmcnt 0\nv_mov_b32 v5, s4"))
    assert.is_nil(fault_of("global_load_b32 v1, v0, s[2:3]\nds_load_b32 v2, v0\n" ..
      "s_wait_loadcnt_dscnt 0\nv_add_nc_u32 v3, v1, v2"))
    assert.is_nil(fault_of("global_load_b32 v1, v0, s[2:3]\nglobal_load_b32 v2, v0, s[2:3]\n" ..
      "s_wait_loadcnt 1\nv_mov_b32 v3, v1"))
  end)

  it("is missed, and named", function()
    for _, case in ipairs {
      { "global_load_b32 v1, v0, s[2:3]\ns_wait_dscnt 0\nv_mov_b32 v3, v1", "s_wait_loadcnt 0" },
      { "ds_load_b32 v1, v0\ns_wait_loadcnt 0\ns_wait_kmcnt 0\nv_mov_b32 v3, v1",
        "s_wait_dscnt 0" },
      { "s_load_b32 s4, s[2:3], 0\ns_wait_dscnt 0\ns_mov_b32 s5, s4", "s_wait_kmcnt 0" },
      { "global_load_b32 v1, v0, s[2:3]\nglobal_load_b32 v2, v0, s[2:3]\ns_wait_loadcnt 1\n" ..
        "v_mov_b32 v3, v2", "s_wait_loadcnt 0" },
    } do
      assert.matches(case[2] .. " is missing between them", fault_of(case[1]), 1, true)
    end
  end)
end)

describe("a float of 8 bits on gfx12", function()
  -- The numbers that all 256 bytes stand for.
  local function value_of(byte, mantissa_bits)
    local exponent, mantissa = (byte & 0x7f) >> mantissa_bits, byte & (1 << mantissa_bits) - 1
    local top, bias = 0x7f >> mantissa_bits, mantissa_bits == 3 and 7 or 15
    local sign = byte & 0x80 ~= 0 and -1.0 or 1.0
    if mantissa_bits == 2 and exponent == top then
      return mantissa == 0 and sign * math.huge or nil
    end
    if byte & 0x7f == 0x7f then return nil end
    local digits = exponent == 0 and mantissa or mantissa | 1 << mantissa_bits
    return sign * digits * 2.0 ^ (math.max(exponent, 1) - bias - mantissa_bits)
  end

  for name, mantissa_bits in pairs { fp8 = 3, bf8 = 2 } do
    it("has its value wherever it stands in a register: " .. name, function()
      local code = {}
      for n = 0, 3 do
        code[#code + 1] = ("v_cvt_f32_%s v%d, v0 byte_sel:%d"):format(name, 1 + n, n)
      end
      code[#code + 1] = ("v_cvt_pk_f32_%s v[6:7], v0"):format(name)
      code[#code + 1] = ("v_cvt_pk_f32_%s v[8:9], v0 op_sel:[1,0]"):format(name)
      local cases, rows = {}, {}
      for first = 0, 255, 32 do
        local row = {}
        for lane = 1, 32 do
          local byte = first + lane - 1
          row[lane] = byte << 24 | (byte ~ 1) << 16 | (byte ~ 2) << 8 | byte ~ 3
        end
        rows[#rows + 1] = row
        cases[#cases + 1] = { code = table.concat(code, "\n"), v = { [0] = row } }
      end
      for i, r in ipairs(emulator.run(CHIP, cases)) do
        assert.is_nil(r.fault)
        for lane = 1, 32 do
          for n = 0, 3 do
            local want = value_of(rows[i][lane] >> 8 * n & 0xff, mantissa_bits)
            for _, reg in ipairs { 1 + n, 6 + n } do
              local got = r:f32(reg)[lane]
              assert(got == want or want == nil and got ~= got,
                ("byte %d of 0x%x is %s, not %s"):format(n, rows[i][lane], got, want))
            end
          end
        end
      end
    end)

    it("is rounded to: " .. name, function()
      local bytes, row = {}, {}
      for lane = 1, 32 do
        bytes[lane] = (lane * 3 + 8) | (lane % 2) << 7
        local x, next = value_of(bytes[lane], mantissa_bits), value_of(bytes[lane] + 1,
          mantissa_bits)
        row[lane] = emulator.f32(x + (next - x) * 0.375)
      end
      local r = emulator.run(CHIP, { { v = { [0] = row, [1] = lanes.OLD, [2] = lanes.OLD },
        code = ("v_cvt_pk_%s_f32 v1, v0, v0\nv_cvt_pk_%s_f32 v2, v0, v0 op_sel:[0,0,1]"):format(
          name, name) } })[1]
      assert.is_nil(r.fault)
      for lane = 1, 32 do
        lanes.same(lanes.OLD & 0xffff0000 | bytes[lane] * 0x101, r.v[1][lane])
        lanes.same(lanes.OLD & 0xffff | bytes[lane] * 0x1010000, r.v[2][lane])
      end
    end)
  end

  it("is multiplied by four, and summed", function()
    -- 1.0 is 0x38 and 0x3c, 1.5 is 0x3c and 0x3e, -2.0 is 0xc0 in both
    for _, case in ipairs { { "fp8_fp8", 0x38c03c38, 0x3c3c38c0 }, { "fp8_bf8", 0x38c03c38,
      0x3e3e3cc0 }, { "bf8_fp8", 0x3cc03e3c, 0x3c3c38c0 }, { "bf8_bf8", 0x3cc03e3c,
      0x3e3e3cc0 } } do
      local r = emulator.run(CHIP, { { v = { [0] = emulator.f32(8), case[2], case[3] },
        code = ("v_dot4_f32_%s v3, v1, v2, v0"):format(case[1]) } })[1]
      assert.is_nil(r.fault)
      assert.are.equal(8 - 2 + 1.5 - 3 + 1.5, r:f32(3)[1])
    end
  end)
end)

describe("a lane of gfx12", function()
  local row, selectors = {}, {}
  for lane = 1, 32 do row[lane], selectors[lane] = 1000 + lane - 1, (lane * 7 + 0xabc0) end
  local EXEC = 0x0ff03c5a
  local function run(code)
    local r = emulator.run(CHIP, { { code = code, exec = EXEC, lds = "",
      v = { [0] = row, selectors, lanes.OLD } } })[1]
    assert.is_nil(r.fault)
    return r.v[2]
  end
  local function check(got, from)
    for lane = 1, 32 do
      local want = EXEC >> (lane - 1) & 1 == 1 and 1000 + from(lane - 1) or lanes.OLD
      lanes.same(want, got[lane])
    end
  end

  it("is found in its row by a vector register, active or not", function()
    check(run "v_permlane16_var_b32 v2, v0, v1",
      function(lane) return lane & 16 | selectors[lane + 1] & 15 end)
    check(run "v_permlanex16_var_b32 v2, v0, v1",
      function(lane) return lane & 16 ~ 16 | selectors[lane + 1] & 15 end)
  end)

  it("is found anywhere by ds_bpermute_fi_b32, active or not", function()
    check(run "v_lshlrev_b32 v1, 2, v1\nds_bpermute_fi_b32 v2, v1, v0\ns_wait_dscnt 0",
      function(lane) return selectors[lane + 1] & 31 end)
  end)
end)
