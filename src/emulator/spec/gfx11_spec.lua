-- What gfx11 has beside gfx10: dual instructions, halves of registers by name, new instructions,
-- and new names of old ones.
local emulator = require("support.emulator")
local lanes = require("support.lanes")

if not emulator.program then
  pending("emulator_test is not built")
  return
end

local function s32(x) return lanes.signed(x, 32) end

-- Asserts that each line of assembler is decoded to the lines beside it.
local function check(cases)
  local codes = {}
  for i, case in ipairs(cases) do codes[i] = case[1] end
  local lists = emulator.describe("gfx1100", codes)
  for i, case in ipairs(cases) do
    local want = { table.unpack(case, 2) }
    local got = { table.unpack(lists[i], 1, #want) }
    for n, line in ipairs(got) do got[n] = line:gsub("^#%d+ %+%x+ ", "") end
    assert.are.same(want, got, case[1])
  end
end

describe("a dual instruction", function()
  it("is its two halves", function()
    check({
      { "v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, v4, v5",
        "v_mul_f32 plain dst0=v0 src0=v1 src1=v2", "v_add_f32 plain dst0=v3 src0=v4 src1=v5" },
      { "v_dual_mov_b32 v4, 0x12345 :: v_dual_cndmask_b32 v7, v3, v5",
        "v_mov_b32 plain dst0=v4 src0=0x12345",
        "v_cndmask_b32 plain dst0=v7 src0=v3 src1=v5 src2=s106" },
    })
  end)

  it("is in an order in which the second reads what the first has not written", function()
    check({
      { "v_dual_mov_b32 v0, v2 :: v_dual_add_nc_u32 v1, v3, v0",
        "v_add_nc_u32 plain dst0=v1 src0=v3 src1=v0", "v_mov_b32 plain dst0=v0 src0=v2" },
      { "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0",
        "v_mov_b32 plain dst0=v256 src0=v0", "v_mov_b32 plain dst0=v0 src0=v1",
        "v_mov_b32 plain dst0=v1 src0=v256" },
    })
  end)

  it("has constants that stand for themselves", function()
    local cases = {}
    for i, constant in ipairs { 0x7f, 0xa8, 0xf2, 0xff, 0x1000, 0x40490fdb } do
      local number = ("0x%x"):format(constant)
      cases[i] = { "v_dual_fmaak_f32 v0, v1, v2, " .. number .. " :: v_dual_mov_b32 v3, v4",
        "v_fmaak_f32 plain dst0=v0 src0=v1 src1=v2 src2=" .. number,
        "v_mov_b32 plain dst0=v3 src0=v4" }
    end
    cases[#cases + 1] = { "v_dual_add_f32 v0, v1, v2 :: v_dual_fmamk_f32 v3, v4, 0xff, v5",
      "v_add_f32 plain dst0=v0 src0=v1 src1=v2",
      "v_fmamk_f32 plain dst0=v3 src0=v4 src1=0xff src2=v5" }
    check(cases)
  end)

  it("computes both from what was there before", function()
    local before = { [0] = 5, 7, 11, 13 }
    local function run(code) return { code = code, v = before, exec = 0xf, vcc = 0x5 } end
    local r = emulator.run("gfx1100", {
      run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0"),
      run("v_dual_mov_b32 v0, v2 :: v_dual_add_nc_u32 v1, v3, v0"),
      run("v_dual_cndmask_b32 v0, v1, v2 :: v_dual_mov_b32 v3, v0"),
      run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0\n" ..
        "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0\n" ..
        "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0"),
    })
    local function regs(result, lane)
      assert.is_nil(result.fault)
      return { result.v[0][lane], result.v[1][lane], result.v[2][lane], result.v[3][lane] }
    end
    assert.are.same({ 7, 5, 11, 13 }, regs(r[1], 1))
    assert.are.same({ 5, 7, 11, 13 }, regs(r[1], 5), "an inactive lane")
    assert.are.same({ 11, 18, 11, 13 }, regs(r[2], 2))
    assert.are.same({ 11, 7, 11, 5 }, regs(r[3], 1))
    assert.are.same({ 7, 7, 11, 5 }, regs(r[3], 2))
    assert.are.same({ 7, 5, 11, 13 }, regs(r[4], 4))
  end)
end)

describe("a half of a register", function()
  it("is a bit of op_sel", function()
    check({
      { "v_add_f16 v0.h, v1.l, v2.h",
        "v_add_f16 plain dst0=v0 src0=v1 src1=v2 op_sel=10" },
      { "v_add_nc_u16 v0.l, v1.h, v2.l op_sel:[1,0,0]",
        "v_add_nc_u16 plain dst0=v0 src0=v1 src1=v2 op_sel=1" },
      { "v_mov_b16 v130.h, v131.l", "v_mov_b16 e64 dst0=v130 src0=v131 op_sel=8" },
      { "v_cvt_f32_f16 v0, v1.h", "v_cvt_f32_f16 plain dst0=v0 src0=v1 op_sel=1" },
    })
  end)

  local batch = lanes.batch("gfx1100")
  local HIGH, LOW = lanes.OLD & 0xffff0000, lanes.OLD & 0xffff
  local function half(title, text, types, expect)
    it(title, batch:each(text, "b32", types, lanes.combinations(types), {},
      function(got, values) lanes.same(expect(table.unpack(values)), got) end))
  end
  half("is moved and keeps the other", "v_mov_b16 v0.h, v4.h", "b32",
    function(a) return a & 0xffff0000 | LOW end)
  half("is moved down", "v_mov_b16 v0.l, v4.h", "b32", function(a) return a >> 16 | HIGH end)
  half("is inverted", "v_not_b16 v0.l, v4.l", "b32", function(a) return ~a & 0xffff | HIGH end)
  half("is and-ed", "v_and_b16 v0.l, v4.h, v8.l", "b32 b32",
    function(a, b) return a >> 16 & b & 0xffff | HIGH end)
  half("is or-ed", "v_or_b16 v0.h, v4.h, v8.l", "b32 b32",
    function(a, b) return ((a >> 16 | b) & 0xffff) << 16 | LOW end)
  half("is xor-ed", "v_xor_b16 v0.l, v4.l, v8.h", "b32 b32",
    function(a, b) return (a ~ b >> 16) & 0xffff | HIGH end)
  half("is added", "v_add_nc_u16 v0.h, v4.h, v8.l", "b32 b32",
    function(a, b) return ((a >> 16) + b & 0xffff) << 16 | LOW end)
  half("is extended with its sign", "v_cvt_i32_i16 v0, v4.h", "b32",
    function(a) return lanes.signed(a >> 16, 16) & 0xffffffff end)
  half("is extended", "v_cvt_u32_u16 v0, v4.h", "b32", function(a) return a >> 16 end)
  half("says by how many bits", "v_alignbit_b32 v0, v4, v8, v12.h", "b32 b32 b32",
    function(a, b, c) return (a << 32 | b) >> (c >> 16 & 31) & 0xffffffff end)
  half("says by how many bytes", "v_alignbyte_b32 v0, v4, v8, v12.l", "b32 b32 b32",
    function(a, b, c) return (a << 32 | b) >> 8 * (c & 3) & 0xffffffff end)
  half("takes two bytes", "v_sat_pk_u8_i16 v0.l, v4", "b32", function(a)
    local function held(x) return math.max(0, math.min(255, lanes.signed(x, 16))) end
    return held(a) | held(a >> 16) << 8 | HIGH
  end)

  it("is selected by a mask", batch:each("v_cndmask_b16 v0.h, v4.l, v8.h, vcc_lo", "b32",
    "b32 b32", lanes.combinations("b32 b32"), { vcc = 0x5a5aa5a5 },
    function(got, values, _, lane)
      local chosen = lanes.is_set(0x5a5aa5a5, lane) and values[2] >> 16 or values[1] & 0xffff
      lanes.same(chosen << 16 | LOW, got)
    end))
end)

describe("an instruction of gfx11", function()
  local batch = lanes.batch("gfx1100")
  local function middle(name, of, first, second)
    it("joins two: " .. name, batch:check(name, "b32", "b32 b32 b32", function(a, b, c)
      return second(first(of(a), of(b)), of(c))
    end))
  end
  local function same(x) return x end
  middle("v_maxmin_u32", same, math.max, math.min)
  middle("v_minmax_u32", same, math.min, math.max)
  middle("v_maxmin_i32", s32, math.max, math.min)
  middle("v_minmax_i32", s32, math.min, math.max)
  it("joins two of floats", function()
    local r = emulator.run("gfx1100", {
      { code = "v_maxmin_f32 v0, v1, v2, v3\nv_minmax_f32 v4, v1, v2, v3",
        v = { [1] = { emulator.f32(1), emulator.f32(7) }, [2] = emulator.f32(2.5),
          [3] = emulator.f32(4) } } })[1]
    assert.are.same({ 2.5, 4.0 }, { r:f32(0)[1], r:f32(0)[2] })
    assert.are.same({ 4.0, 4.0 }, { r:f32(4)[1], r:f32(4)[2] })
  end)

  for bits, name in pairs { [8] = "v_dot4_i32_iu8", [4] = "v_dot8_i32_iu4" } do
    for signs = 0, 3 do
      local function field(word, n, is_signed)
        local x = word >> n & (1 << bits) - 1
        return is_signed and lanes.signed(x, bits) or x
      end
      local modifiers = (" neg_lo:[%d,%d,0]"):format(signs & 1, signs >> 1)
      it("adds products of fields: " .. name .. modifiers, batch:check(name, "b32", "b32 b32 b32",
        function(a, b, c)
          for n = 0, 31, bits do
            c = c + field(a, n, signs & 1 == 1) * field(b, n, signs & 2 == 2)
          end
          return c
        end, modifiers))
    end
  end

  it("permutes lanes in the long encoding, too", function()
    local row = {}
    for lane = 1, 64 do row[lane] = lane end
    local r = emulator.run("gfx1100", {
      { code = "v_add3_u32_e64_dpp v0, v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf " ..
        "bound_ctrl:1", v = { [1] = row, [2] = 100, [3] = 1000 } },
      { code = "v_add_f32_e64_dpp v0, v1, |v2| dpp8:[7,6,5,4,3,2,1,0]",
        v = { [1] = { [8] = emulator.f32(5) }, [2] = emulator.f32(-2) } } })
    assert.are.same({ 1100, 1101, 1115 }, { r[1].v[0][1], r[1].v[0][2], r[1].v[0][16] })
    assert.are.same({ 7.0, 2.0 }, { r[2]:f32(0)[1], r[2]:f32(0)[2] })
  end)

  it("permutes lanes where a comparison sets EXEC, which has no suffix in LLVM's text", function()
    local row = {}
    for lane = 1, 64 do row[lane] = lane % 5 end
    local r = emulator.run("gfx1100", { { v = { row, 2 }, code =
      "v_cmpx_gt_u32 v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1" } })[1]
    assert.is_nil(r.fault)
    local want = 0
    for lane = 1, 32 do
      if lane % 16 ~= 1 and row[lane - 1] > 2 then want = want | 1 << (lane - 1) end
    end
    assert.are.equal(want, r.exec & 0xffffffff)
  end)

  -- Dot products: exact products, each sum rounded to the sum's kind.
  local function bf16(x)
    local bits = emulator.f32(x)
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16
  end
  local function of_bf16(bits) return emulator.to_f32(bits << 16) end
  local function rows_of(encode, encode_sum)
    local numbers = { 0, 1, -1, 0.5, 3, -7.25, 100, 0.0078125, -2048, 1.0009765625 }
    local rows = {}
    for n = 1, 64 do
      local function draw(k) return numbers[(n * k + n // 7) % #numbers + 1] end
      rows[n] = { encode(draw(1)) | encode(draw(3)) << 16, encode(draw(7)) | encode(draw(9)) << 16,
        encode_sum(draw(11)) }
    end
    return rows
  end
  local function dot(name, tail, encode, decode, encode_sum, decode_sum, keeps)
    it("adds products of halves: " .. name .. tail, batch:each(("%s v0, v4, v8, v12%s"):format(name,
      tail), "b32", "b32 b32 b32", rows_of(encode, encode_sum), {}, function(got, values)
        local a, b, sum = values[1], values[2], decode_sum(values[3])
        local signs = tail:find("neg") and -1 or 1
        sum = decode_sum(encode_sum(sum + signs * decode(a & 0xffff) * decode(b & 0xffff)))
        sum = decode_sum(encode_sum(sum + decode(a >> 16) * decode(b >> 16)))
        lanes.same(keeps and encode_sum(sum) | lanes.OLD & 0xffff0000 or encode_sum(sum), got)
      end))
  end
  dot("v_dot2_f32_f16", "", emulator.f16, emulator.to_f16, emulator.f32, emulator.to_f32)
  dot("v_dot2_f32_f16", " neg_lo:[1,0,0]", emulator.f16, emulator.to_f16, emulator.f32,
    emulator.to_f32)
  dot("v_dot2_f32_bf16", "", bf16, of_bf16, emulator.f32, emulator.to_f32)
  dot("v_dot2_f16_f16", "", emulator.f16, emulator.to_f16, emulator.f16, emulator.to_f16, true)
  dot("v_dot2_bf16_bf16", "", bf16, of_bf16, bf16, of_bf16, true)

  it("adds products of halves to what was there, dual ones too", function()
    local two, three = emulator.f16(2) * 0x10001, emulator.f16(3) | emulator.f16(-5) << 16
    local r = emulator.run("gfx1100", {
      { code = "v_dot2acc_f32_f16 v0, v1, v2",
        v = { [0] = emulator.f32(0.5), two, three } },
      { code = "v_dual_mov_b32 v4, v1 :: v_dual_dot2acc_f32_bf16 v3, v6, v7",
        v = { [3] = emulator.f32(0.5), [6] = bf16(2) * 0x10001, [7] = bf16(3) | bf16(-5) << 16 } },
      { code = "v_dot2_f32_bf16 v0, v1, 1.0, v2" } })
    assert.are.equal(-3.5, r[1]:f32(0)[1])
    assert.are.equal(-3.5, r[2]:f32(3)[1])
    assert.matches("v_dot2_f32_bf16 has modifiers whose meaning is not known", r[3].fault)
  end)

  it("exchanges halves of registers", function()
    local r = emulator.run("gfx1100", {
      { code = "v_swap_b16 v0.l, v1.h", exec = 1, v = { [0] = 0x11112222, 0x33334444 } },
      { code = "v_swap_b16 v0.h, v0.l", exec = 1, v = { [0] = 0x11112222 } } })
    assert.are.same({ 0x11113333, 0x22224444 }, { r[1].v[0][1], r[1].v[1][1] })
    assert.are.equal(0x11112222, r[1].v[0][2])
    assert.are.equal(0x22221111, r[2].v[0][1])
  end)

  it("asks for the time, and is refused when it asks for what trap handlers need", function()
    local r = emulator.run("gfx1100", {
      { code = "s_sendmsg_rtn_b64 s[0:1], sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)\n" ..
        "s_sleep 1\ns_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_REALTIME)" },
      { code = "s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_TBA)" } })
    assert.is_nil(r[1].fault)
    assert(r[1]:s64(0) > 0 and r[1]:s64(4) >= r[1]:s64(0))
    assert.matches("s_sendmsg_rtn_b32 sends message 133", r[2].fault)
  end)

  it("exchanges the halves of a wavefront", function()
    local row = {}
    for lane = 1, 64 do row[lane] = lane end
    local case = { code = "v_permlane64_b32 v0, v1", v = { [0] = 9, row } }
    local wide = emulator.run("gfx1100:wave64", { case })[1]
    local narrow = emulator.run("gfx1100", { case })[1]
    assert.are.same({ 33, 64, 1, 32 },
      { wide.v[0][1], wide.v[0][32], wide.v[0][33], wide.v[0][64] })
    assert.are.equal(9, narrow.v[0][1])
  end)

  it("gives its registers back at the end", function()
    local r = emulator.run("gfx1100",
      { { code = "s_nop 0\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)" } })[1]
    assert.is_nil(r.fault)
  end)


  it("compares before it stores, the new value first", function()
    local r = emulator.run("gfx1100", {
      { code = "ds_cmpstore_rtn_b32 v3, v0, v1, v2\ns_waitcnt lgkmcnt(0)", exec = 1,
        lds = string.pack("<I4", 5), v = { [1] = 77, [2] = 5 } },
      { code = "ds_cmpstore_b32 v0, v1, v2", exec = 1,
        lds = string.pack("<I4", 5), v = { [1] = 77, [2] = 6 } } })
    assert.are.equal(77, (string.unpack("<I4", r[1].lds)))
    assert.are.equal(5, r[1].v[3][1])
    assert.are.equal(5, (string.unpack("<I4", r[2].lds)))
  end)
end)

-- Lines for gfx1030 and gfx1100 that mean the same.
describe("a new name", function()
  local function pairs_of(prefix, address, tail)
    local old = { "swap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc",
      "dec" }
    local new = { "swap_b", "add_u", "sub_u", "min_i", "min_u", "max_i", "max_u", "and_b", "or_b",
      "xor_b", "inc_u", "dec_u" }
    local list = {}
    for i in ipairs(old) do
      local operands = (" v6, %s, v4, %s glc"):format(address, tail)
      list[#list + 1] = { prefix .. old[i] .. operands, prefix .. new[i] .. "32" .. operands }
      operands = (" v[6:7], %s, v[4:5], %s glc"):format(address, tail)
      list[#list + 1] = { prefix .. old[i] .. "_x2" .. operands,
        prefix .. new[i] .. "64" .. operands }
    end
    return list
  end

  local lines = pairs_of("global_atomic_", "v1", "s[2:3]")
  for _, row in ipairs {
    { "global_load_%s v[6:9], v1, s[2:3]", dwordx4 = "b128" },
    { "global_load_%s v[6:8], v1, s[2:3]", dwordx3 = "b96" },
    { "global_load_%s v[6:7], v1, s[2:3]", dwordx2 = "b64" },
    { "global_load_%s v6, v1, s[2:3]", dword = "b32", ubyte = "u8", sbyte = "i8", ushort = "u16",
      sshort = "i16", ubyte_d16 = "d16_u8", ubyte_d16_hi = "d16_hi_u8", sbyte_d16 = "d16_i8",
      sbyte_d16_hi = "d16_hi_i8", short_d16 = "d16_b16", short_d16_hi = "d16_hi_b16" },
    { "global_store_%s v1, v4, s[2:3]", dword = "b32", byte = "b8", short = "b16",
      byte_d16_hi = "d16_hi_b8", short_d16_hi = "d16_hi_b16" },
    { "global_store_%s v1, v[4:5], s[2:3]", dwordx2 = "b64" },
    { "global_store_%s v1, v[4:6], s[2:3]", dwordx3 = "b96" },
    { "global_store_%s v1, v[4:7], s[2:3]", dwordx4 = "b128" },
    { "ds_%s v6, v1 offset:4", read_b32 = "load_b32", read_u8 = "load_u8", read_i8 = "load_i8",
      read_u16 = "load_u16", read_i16 = "load_i16", read_u8_d16_hi = "load_u8_d16_hi",
      read_u16_d16 = "load_u16_d16" },
    { "ds_%s v[6:9], v1 offset1:2", read2_b64 = "load_2addr_b64",
      read2st64_b64 = "load_2addr_stride64_b64" },
    { "ds_%s v[6:7], v1 offset1:2", read2_b32 = "load_2addr_b32" },
    { "ds_%s v1, v4 offset:8", write_b32 = "store_b32", write_b8 = "store_b8",
      write_b16 = "store_b16", write_b8_d16_hi = "store_b8_d16_hi" },
    { "ds_%s v1, v4, v5 offset1:3", write2_b32 = "store_2addr_b32",
      write2st64_b32 = "store_2addr_stride64_b32" },
    { "ds_%s v6, v1, v4", wrxchg_rtn_b32 = "storexchg_rtn_b32" },
    { "s_%s s6, s10", ff1_i32_b32 = "ctz_i32_b32", flbit_i32_b32 = "clz_i32_u32",
      flbit_i32 = "cls_i32" },
    { "s_%s s6, s[10:11]", ff1_i32_b64 = "ctz_i32_b64", flbit_i32_b64 = "clz_i32_u64",
      flbit_i32_i64 = "cls_i32_i64" },
    { "s_%s s[6:7], s[10:11], s[12:13]", andn2_b64 = "and_not1_b64", orn2_b64 = "or_not1_b64" },
    { "s_%s s6, s10", andn1_saveexec_b32 = "and_not0_saveexec_b32",
      andn2_saveexec_b32 = "and_not1_saveexec_b32", orn1_saveexec_b32 = "or_not0_saveexec_b32",
      orn2_saveexec_b32 = "or_not1_saveexec_b32", andn1_wrexec_b32 = "and_not0_wrexec_b32",
      andn2_wrexec_b32 = "and_not1_wrexec_b32" },
    { "v_%s v6, v4", ffbl_b32 = "ctz_i32_b32", ffbh_u32 = "clz_i32_u32", ffbh_i32 = "cls_i32",
      cvt_rpi_i32_f32 = "cvt_nearest_i32_f32", cvt_flr_i32_f32 = "cvt_floor_i32_f32" },
    { "v_%s v6, v4, v5", cvt_pkrtz_f16_f32 = "cvt_pk_rtz_f16_f32",
      cvt_pknorm_i16_f32 = "cvt_pk_norm_i16_f32", cvt_pknorm_u16_f32 = "cvt_pk_norm_u16_f32",
      mul_legacy_f32 = "mul_dx9_zero_f32" },
  } do
    for old, new in pairs(row) do
      if old ~= 1 then lines[#lines + 1] = { row[1]:format(old), row[1]:format(new) } end
    end
  end

  it("means what the old one does", function()
    local function cases(column)
      local list = {}
      for i, line in ipairs(lines) do
        local row, other, bytes = {}, {}, {}
        for lane = 1, 32 do
          row[lane] = (lane * 0x9e3779b9 + i) & 0xffffffff
          other[lane] = lane % 3 == 0 and 0x3f800000 + lane << 4 or (lane * 0x85ebca6b) & 0xffffffff
        end
        for n = 1, 2048 do bytes[n] = string.char((n * 167 + n // 256) & 0xff) end
        local address = {}
        for lane = 1, 32 do address[lane] = 16 * (lane - 1) end
        list[i] = { code = line[column] .. "\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v20, v6",
          memory = table.concat(bytes), lds = table.concat(bytes),
          s = { [10] = 0x00f0c0a0, 0xfff00000, 0x0ff0, 0x1234 }, exec = 0xffff0ff7,
          v = { [1] = address, [4] = row, [5] = other, [6] = 1, [7] = 2, [8] = 3, [9] = 4 } }
      end
      return list
    end
    local old, new = emulator.run("gfx1030", cases(1)), emulator.run("gfx1100", cases(2))
    for i, line in ipairs(lines) do
      local a, b = old[i], new[i]
      assert.is_nil(a.fault, line[1])
      assert.is_nil(b.fault, line[2])
      assert(a.memory == b.memory and a.lds == b.lds, line[2])
      for n = 6, 9 do assert.are.same(a.v[n], b.v[n], line[2]) end
      assert.are.same({ a.s[6], a.s[7], a.exec, a.scc }, { b.s[6], b.s[7], b.exec, b.scc }, line[2])
    end
  end)
end)

describe("the s_waitcnt check on gfx1100", function()
  it("reads its fields", function()
    local codes = {
      "global_load_b32 v1, v0, s[2:3]\nv_mov_b32 v2, v1",
      "global_load_b32 v1, v0, s[2:3]\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, v1",
      "global_load_b32 v1, v0, s[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1",
      "ds_load_b32 v1, v0\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1",
      "ds_load_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, v1",
      "global_load_b32 v1, v0, s[2:3]\nv_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v5, v1",
      "global_load_b32 v1, v0, s[2:3]\ns_waitcnt_vmcnt null, 0x0\nv_mov_b32 v2, v1",
    }
    local stops = { true, true, false, true, false, true, false }
    local cases = {}
    for i, code in ipairs(codes) do
      cases[i] = { code = code, memory = ("\0"):rep(64), lds = ("\0"):rep(64) }
    end
    for i, result in ipairs(emulator.run("gfx1100", cases)) do
      assert.are.equal(stops[i], result.fault ~= nil, codes[i] .. "\n" .. tostring(result.fault))
    end
  end)
end)
