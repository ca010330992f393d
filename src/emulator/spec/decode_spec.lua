-- How the disassembler's text becomes operands: each form of operand, constant and modifier, for
-- both generations; what is refused; and that code is found and followed.
local emulator = require "support.emulator"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

-- Asserts that each line of assembler is decoded to the text beside it.
local function check(target, cases)
  local codes, lists = {}, nil
  for i, case in ipairs(cases) do codes[i] = case[1] end
  lists = emulator.describe(target, codes)
  local wrong = {}
  for i, case in ipairs(cases) do
    local got = lists[i][1]:gsub("^#0 %+0 ", "")
    if got ~= case[2] then
      wrong[#wrong + 1] = ("%s\n  is    %s\n  wants %s"):format(case[1], got, case[2])
    end
  end
  assert.are.equal("", table.concat(wrong, "\n"))
end

describe("decoding", function()
  it("knows the registers of both generations", function()
    check("gfx90a", {
      { "v_mov_b32 v255, v7", "v_mov_b32 plain dst0=v255 src0=v7" },
      { "v_mov_b32 v0, s101", "v_mov_b32 plain dst0=v0 src0=s101" },
      { "v_mov_b32 v0, flat_scratch_lo", "v_mov_b32 plain dst0=v0 src0=s102" },
      { "v_mov_b32 v0, xnack_mask_hi", "v_mov_b32 plain dst0=v0 src0=s105" },
      { "s_mov_b64 s[6:7], vcc", "s_mov_b64 plain dst0=s6*2 src0=s106*2" },
      { "s_mov_b32 vcc_hi, vcc_lo", "s_mov_b32 plain dst0=s107 src0=s106" },
      { "s_mov_b64 exec, flat_scratch", "s_mov_b64 plain dst0=s126*2 src0=s102*2" },
      { "s_mov_b32 exec_lo, exec_hi", "s_mov_b32 plain dst0=s126 src0=s127" },
      { "s_mov_b32 m0, ttmp3", "s_mov_b32 plain dst0=s124 src0=s111" },
      { "s_mov_b64 ttmp[4:5], s[8:9]", "s_mov_b64 plain dst0=s112*2 src0=s8*2" },
      { "s_load_dwordx4 s[8:11], s[4:5], s7",
        "s_load_dwordx4 plain dst0=s8*4 src0=s4*2 src1=s7" },
    })
    check("gfx1030", {
      { "v_mov_b32 v0, s105", "v_mov_b32 plain dst0=v0 src0=s105" },
      { "s_mov_b32 vcc_lo, exec_lo", "s_mov_b32 plain dst0=s106 src0=s126" },
      { "s_mov_b64 vcc, exec", "s_mov_b64 plain dst0=s106*2 src0=s126*2" },
      { "s_mov_b32 s0, null", "s_mov_b32 plain dst0=s0 src0=s125" },
      { "s_mov_b64 s[0:1], null", "s_mov_b64 plain dst0=s0*2 src0=s125*2" },
      { "s_load_dword s4, s[6:7], null", "s_load_dword plain dst0=s4 src0=s6*2 src1=s125" },
    })
  end)

  it("knows the sources that are no registers", function()
    check("gfx90a", {
      { "s_mov_b32 s0, src_scc", "s_mov_b32 plain dst0=s0 src0=scc" },
      { "v_mov_b32 v0, src_vccz", "v_mov_b32 plain dst0=v0 src0=vccz" },
      { "s_mov_b32 s0, src_execz", "s_mov_b32 plain dst0=s0 src0=execz" },
      { "s_mov_b64 s[0:1], src_shared_base",
        "s_mov_b64 plain dst0=s0*2 src0=0x1000000000000*2" },
      { "s_mov_b64 s[0:1], src_private_base",
        "s_mov_b64 plain dst0=s0*2 src0=0x2000000000000*2" },
      { "s_mov_b64 s[0:1], src_private_limit",
        "s_mov_b64 plain dst0=s0*2 src0=0x20000ffffffff*2" },
      { "v_mov_b32 v0, src_shared_limit", "v_mov_b32 plain dst0=v0 src0=0xffffffff" },
    })
  end)

  it("makes the bits of inline integers as wide as the operand", function()
    check("gfx90a", {
      { "v_add_u32 v0, 64, v1", "v_add_u32 plain dst0=v0 src0=0x40 src1=v1" },
      { "v_add_u32 v0, -16, v1", "v_add_u32 plain dst0=v0 src0=0xfffffff0 src1=v1" },
      { "v_add_f32 v0, 1, v1", "v_add_f32 plain dst0=v0 src0=0x1 src1=v1" },
      { "v_add_f32 v0, -1, v1", "v_add_f32 plain dst0=v0 src0=0xffffffff src1=v1" },
      { "v_add_f64 v[0:1], 3, v[2:3]", "v_add_f64 plain dst0=v0*2 src0=0x3*2 src1=v2*2" },
      { "v_add_f64 v[0:1], -1, v[2:3]",
        "v_add_f64 plain dst0=v0*2 src0=0xffffffffffffffff*2 src1=v2*2" },
      { "s_mov_b64 exec, -1", "s_mov_b64 plain dst0=s126*2 src0=0xffffffffffffffff*2" },
      { "s_mov_b32 s0, -1", "s_mov_b32 plain dst0=s0 src0=0xffffffff" },
      { "v_lshlrev_b64 v[0:1], 2, v[2:3]",
        "v_lshlrev_b64 plain dst0=v0*2 src0=0x2 src1=v2*2" },
      { "v_add_f16 v0, -1, v1", "v_add_f16 plain dst0=v0 src0=0xffff src1=v1" },
      { "v_add_u16 v0, -2, v1", "v_add_u16 plain dst0=v0 src0=0xfffe src1=v1" },
    })
  end)

  it("makes the bits of inline floats in the operand's format, 1/(2 pi) included", function()
    check("gfx90a", {
      { "v_add_f32 v0, 0.5, v1", "v_add_f32 plain dst0=v0 src0=0x3f000000 src1=v1" },
      { "v_add_f32 v0, -4.0, v1", "v_add_f32 plain dst0=v0 src0=0xc0800000 src1=v1" },
      { "v_add_f32 v0, 0.15915494, v1", "v_add_f32 plain dst0=v0 src0=0x3e22f983 src1=v1" },
      { "v_add_f64 v[0:1], 1.0, v[2:3]",
        "v_add_f64 plain dst0=v0*2 src0=0x3ff0000000000000*2 src1=v2*2" },
      { "v_add_f64 v[0:1], -2.0, v[2:3]",
        "v_add_f64 plain dst0=v0*2 src0=0xc000000000000000*2 src1=v2*2" },
      { "v_add_f64 v[0:1], 0.15915494309189532, v[2:3]",
        "v_add_f64 plain dst0=v0*2 src0=0x3fc45f306dc9c882*2 src1=v2*2" },
      { "v_add_f16 v0, 2.0, v1", "v_add_f16 plain dst0=v0 src0=0x4000 src1=v1" },
      { "v_add_f16 v0, -0.5, v1", "v_add_f16 plain dst0=v0 src0=0xb800 src1=v1" },
      { "v_add_f16 v0, 0.15915494, v1", "v_add_f16 plain dst0=v0 src0=0x3118 src1=v1" },
      { "v_mad_u16 v0, v1, 0.15915494, v2",
        "v_mad_u16 plain dst0=v0 src0=v1 src1=0x3118 src2=v2" },
      { "v_pk_add_u16 v0, v1, 1.0",
        "v_pk_add_u16 plain dst0=v0 src0=v1 src1=0x3f800000 op_sel_hi=7" },
      { "s_mov_b32 s0, 1.0", "s_mov_b32 plain dst0=s0 src0=0x3f800000" },
      { "s_mov_b64 s[0:1], 4.0", "s_mov_b64 plain dst0=s0*2 src0=0x4010000000000000*2" },
      { "v_cvt_f32_f16 v0, 1.0", "v_cvt_f32_f16 plain dst0=v0 src0=0x3c00" },
      { "v_ldexp_f64 v[0:1], v[2:3], 1.0",
        "v_ldexp_f64 plain dst0=v0*2 src0=v2*2 src1=0x3f800000" },
    })
  end)

  it("makes a constant the low half of a packed pair", function()
    check("gfx90a", {
      { "v_pk_mov_b32 v[0:1], -1, -1",
        "v_pk_mov_b32 plain dst0=v0*2 src0=0xffffffff*2 src1=0xffffffff*2 op_sel_hi=7" },
      { "v_pk_add_f32 v[0:1], v[2:3], 1.0 op_sel_hi:[1,0]",
        "v_pk_add_f32 plain dst0=v0*2 src0=v2*2 src1=0x3f800000*2 op_sel_hi=1" },
    })
    local r = emulator.run("gfx90a", { { code = "v_pk_mov_b32 v[0:1], -1, 3\n" ..
      "v_pk_add_f32 v[2:3], v[4:5], 1.0 op_sel_hi:[1,0]",
      v = { [4] = emulator.f32(2), [5] = emulator.f32(5) } } })[1]
    assert.are.same({ 0xffffffff, 3, 3.0, 6.0 },
      { r.v[0][1], r.v[1][1], r:f32(2)[1], r:f32(3)[1] })
  end)

  it("makes the bits of literals", function()
    check("gfx90a", {
      { "v_add_u32 v0, 0x12345678, v1", "v_add_u32 plain dst0=v0 src0=0x12345678 src1=v1" },
      { "v_add_f32 v0, 0x40490fdb, v1", "v_add_f32 plain dst0=v0 src0=0x40490fdb src1=v1" },
      { "v_add_f16 v0, 0x1234, v1", "v_add_f16 plain dst0=v0 src0=0x1234 src1=v1" },
      { "s_mov_b64 s[0:1], 0x87654321", "s_mov_b64 plain dst0=s0*2 src0=0x87654321*2" },
      { "v_madmk_f32 v0, v1, 0x40490fdb, v2",
        "v_madmk_f32 plain dst0=v0 src0=v1 src1=0x40490fdb src2=v2" },
      { "v_rndne_f64 v[0:1], 0x40590000",
        "v_rndne_f64 plain dst0=v0*2 src0=0x4059000000000000*2" },
      { "s_ashr_i64 s[0:1], 0xfffffff0, 3",
        "s_ashr_i64 plain dst0=s0*2 src0=0xfffffffffffffff0*2 src1=0x3" },
    })
    check("gfx1030", {
      { "v_add_f64 v[0:1], 0x40590000, v[2:3]",
        "v_add_f64 plain dst0=v0*2 src0=0x4059000000000000*2 src1=v2*2" },
      { "v_fmaak_f32 v0, v1, v2, 0x40490fdb",
        "v_fmaak_f32 plain dst0=v0 src0=v1 src1=v2 src2=0x40490fdb" },
      { "v_add3_u32 v0, v1, 0x12345, s3",
        "v_add3_u32 plain dst0=v0 src0=v1 src1=0x12345 src2=s3" },
    })
  end)

  -- LLVM's disassembler reads such constants as the numbers of sources (0x80 is 0, 0xf2 is 1.0) and
  -- ends the process at 0xff.
  it("takes the constant of a multiply-add from the bits, whatever number it is", function()
    local chips = {
      { "gfx90a", "v_madak_f32", "v_madmk_f32" }, { "gfx90a", "v_madak_f16", "v_madmk_f16" },
      { "gfx1030", "v_fmaak_f32", "v_fmamk_f32" }, { "gfx1030", "v_fmaak_f16", "v_fmamk_f16" },
    }
    for _, row in ipairs(chips) do
      local target, ak, mk = table.unpack(row)
      local cases = {}
      for _, constant in ipairs { 1, 0x7f, 0x80, 0xa8, 0xd0, 0xf0, 0xf2, 0xf8, 0xff, 0x105,
        0x1ff, 0x1000, 0xfff2 } do
        local number = ("0x%x"):format(constant)
        cases[#cases + 1] = { ak .. " v0, v1, v2, " .. number,
          ("%s plain dst0=v0 src0=v1 src1=v2 src2=%s"):format(ak, number) }
        cases[#cases + 1] = { mk .. " v0, v1, " .. number .. ", v2",
          ("%s plain dst0=v0 src0=v1 src1=%s src2=v2"):format(mk, number) }
      end
      for _, number in ipairs { "0xa8", "0xff" } do
        cases[#cases + 1] = { ("%s v0, %s, v2, %s"):format(ak, number, number),
          ("%s plain dst0=v0 src0=%s src1=v2 src2=%s"):format(ak, number, number) }
        cases[#cases + 1] = { ("%s v0, %s, %s, v2"):format(mk, number, number),
          ("%s plain dst0=v0 src0=%s src1=%s src2=v2"):format(mk, number, number) }
      end
      check(target, cases)
    end
    local one = emulator.f32(1)
    local r = emulator.run("gfx1030", {
      { code = "v_fmaak_f32 v0, v1, v2, 0xa8" },
      { code = "v_fmamk_f32 v0, v1, 0xf2, v2", v = { [1] = one } },
      { code = "v_fmaak_f16 v0, v1, v2, 0xff" },
    })
    assert.are.same({ 0xa8, 0xf2, 0xff }, { r[1].v[0][1], r[2].v[0][1], r[3].v[0][1] })
  end)

  it("knows the modifiers of sources and results", function()
    check("gfx90a", {
      { "v_add_f32 v0, -v1, |v2|", "v_add_f32 e64 dst0=v0 src0=v1.neg src1=v2.abs" },
      { "v_add_f32 v0, -|v1|, v2", "v_add_f32 e64 dst0=v0 src0=v1.abs.neg src1=v2" },
      { "v_mul_f32 v0, v1, v2 clamp mul:4",
        "v_mul_f32 e64 dst0=v0 src0=v1 src1=v2 clamp=1 omod=2" },
      { "v_mul_f32 v0, v1, v2 div:2", "v_mul_f32 e64 dst0=v0 src0=v1 src1=v2 omod=3" },
      { "v_mul_f32 v0, v1, neg(1.0)", "v_mul_f32 e64 dst0=v0 src0=v1 src1=0x3f800000.neg" },
      { "v_mul_f32 v0, v1, |1|", "v_mul_f32 e64 dst0=v0 src0=v1 src1=0x1.abs" },
      { "v_fma_f64 v[0:1], -v[2:3], s[4:5], |v[6:7]|",
        "v_fma_f64 plain dst0=v0*2 src0=v2*2.neg src1=s4*2 src2=v6*2.abs" },
      { "v_add_u32_e64 v0, v1, v2 clamp", "v_add_u32 e64 dst0=v0 src0=v1 src1=v2 clamp=1" },
      { "v_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0,1]",
        "v_fma_f16 plain dst0=v0 src0=v1 src1=v2 src2=v3 op_sel=10" },
      { "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[0,0,1]",
        "v_pk_fma_f16 plain dst0=v0 src0=v1 src1=v2 src2=v3 op_sel=1 op_sel_hi=6 neg_lo=4" },
      { "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] neg_lo:[1,0,0] neg_hi:[1,0,0]",
        "v_pk_fma_f32 plain dst0=v0*2 src0=v2*2 src1=v4*2 src2=v6*2 op_sel_hi=7 neg_lo=1 " ..
          "neg_hi=1" },
    })
  end)

  it("knows sub-dword addressing", function()
    check("gfx90a", {
      { "v_add_u32_sdwa v0, v1, sext(v2) dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE " ..
        "src0_sel:BYTE_1 src1_sel:DWORD",
        "v_add_u32 sdwa dst0=v0 src0=v1.byte_1 src1=v2.sext dst_sel=6 dst_unused=2" },
      { "v_add_f32_sdwa v0, -|v1|, s2 dst_sel:DWORD dst_unused:UNUSED_SEXT src0_sel:DWORD " ..
        "src1_sel:WORD_0", "v_add_f32 sdwa dst0=v0 src0=v1.abs.neg src1=s2.word_0 dst_unused=1" },
      { "v_cmp_eq_u32_sdwa s[2:3], v1, v2 src0_sel:BYTE_3 src1_sel:WORD_1",
        "v_cmp_eq_u32 sdwa dst0=s2*2 src0=v1.byte_3 src1=v2.word_1" },
    })
  end)

  it("knows the permutations of lanes", function()
    local masks = " row_mask:0xf bank_mask:0xf"
    check("gfx90a", {
      { "v_mov_b32_dpp v0, v1 quad_perm:[1,2,3,0] row_mask:0xf bank_mask:0xa bound_ctrl:0",
        "v_mov_b32 dpp dst0=v0 src0=v1 quad_perm:57 rows=f banks=a bound=1 fi=0" },
      { "v_mov_b32_dpp v0, v1 row_shl:3" .. masks,
        "v_mov_b32 dpp dst0=v0 src0=v1 row_shl:3 rows=f banks=f bound=0 fi=0" },
      { "v_mov_b32_dpp v0, v1 row_ror:15" .. masks,
        "v_mov_b32 dpp dst0=v0 src0=v1 row_ror:15 rows=f banks=f bound=0 fi=0" },
      { "v_mov_b32_dpp v0, v1 wave_shr:1" .. masks,
        "v_mov_b32 dpp dst0=v0 src0=v1 wave_shr:1 rows=f banks=f bound=0 fi=0" },
      { "v_add_f32_dpp v0, -v1, |v2| row_bcast:15 row_mask:0xa bank_mask:0xf",
        "v_add_f32 dpp dst0=v0 src0=v1.neg src1=v2.abs row_bcast15:0 rows=a banks=f bound=0 fi=0" },
      { "v_mov_b32_dpp v0, v1 row_bcast:31" .. masks,
        "v_mov_b32 dpp dst0=v0 src0=v1 row_bcast31:0 rows=f banks=f bound=0 fi=0" },
      { "v_mov_b32_dpp v0, v1 row_mirror" .. masks,
        "v_mov_b32 dpp dst0=v0 src0=v1 row_mirror:0 rows=f banks=f bound=0 fi=0" },
      { "v_mov_b32_dpp v0, v1 row_half_mirror" .. masks,
        "v_mov_b32 dpp dst0=v0 src0=v1 row_half_mirror:0 rows=f banks=f bound=0 fi=0" },
      { "v_mov_b32_dpp v0, v1 row_newbcast:3" .. masks,
        "v_mov_b32 dpp dst0=v0 src0=v1 row_share:3 rows=f banks=f bound=0 fi=0" },
    })
    check("gfx1030", {
      { "v_mov_b32_dpp v0, v1 row_share:5 row_mask:0xf bank_mask:0xf fi:1",
        "v_mov_b32 dpp dst0=v0 src0=v1 row_share:5 rows=f banks=f bound=0 fi=1" },
      { "v_mov_b32_dpp v0, v1 row_xmask:9" .. masks,
        "v_mov_b32 dpp dst0=v0 src0=v1 row_xmask:9 rows=f banks=f bound=0 fi=0" },
      { "v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]",
        ("v_mov_b32 dpp8 dst0=v0 src0=v1 dpp8:%d rows=f banks=f bound=0 fi=0"):format(
          tonumber("01234567", 8)) },
      { "v_mov_b32_dpp v0, v1 dpp8:[0,1,2,3,4,5,6,7] fi:1",
        ("v_mov_b32 dpp8 dst0=v0 src0=v1 dpp8:%d rows=f banks=f bound=0 fi=1"):format(
          tonumber("76543210", 8)) },
    })
  end)

  it("puts masks and carries where the assembler has them", function()
    check("gfx90a", {
      { "v_cmp_lt_u32 vcc, v1, v2", "v_cmp_lt_u32 plain dst0=s106*2 src0=v1 src1=v2" },
      { "v_cmp_lt_u32_e64 s[4:5], v1, 3", "v_cmp_lt_u32 e64 dst0=s4*2 src0=v1 src1=0x3" },
      { "v_add_co_u32 v0, vcc, v1, v2", "v_add_co_u32 plain dst0=v0 dst1=s106*2 src0=v1 src1=v2" },
      { "v_addc_co_u32_e64 v0, s[2:3], v1, v2, s[4:5]",
        "v_addc_co_u32 e64 dst0=v0 dst1=s2*2 src0=v1 src1=v2 src2=s4*2" },
      { "v_cndmask_b32 v0, v1, v2, vcc",
        "v_cndmask_b32 plain dst0=v0 src0=v1 src1=v2 src2=s106*2" },
      { "v_mad_u64_u32 v[0:1], s[2:3], v2, v3, v[4:5]",
        "v_mad_u64_u32 plain dst0=v0*2 dst1=s2*2 src0=v2 src1=v3 src2=v4*2" },
      { "v_readlane_b32 s0, v1, 5", "v_readlane_b32 plain dst0=s0 src0=v1 src1=0x5" },
    })
    check("gfx1030", {
      { "v_cmp_lt_u32 vcc_lo, v1, v2", "v_cmp_lt_u32 plain dst0=s106 src0=v1 src1=v2" },
      { "v_cmpx_lt_u32 v1, v2", "v_cmpx_lt_u32 plain src0=v1 src1=v2" },
      { "v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo",
        "v_add_co_ci_u32 plain dst0=v0 dst1=s106 src0=v1 src1=v2 src2=s106" },
      { "v_mad_u64_u32 v[0:1], null, v2, v3, v[4:5]",
        "v_mad_u64_u32 plain dst0=v0*2 dst1=s125 src0=v2 src1=v3 src2=v4*2" },
    })
    check("gfx1030:wave64", {
      { "v_cmp_lt_u32 vcc, v1, v2", "v_cmp_lt_u32 plain dst0=s106*2 src0=v1 src1=v2" },
      { "v_cndmask_b32_e64 v0, v1, v2, s[4:5]",
        "v_cndmask_b32 e64 dst0=v0 src0=v1 src1=v2 src2=s4*2" },
      { "v_mad_u64_u32 v[0:1], null, v2, v3, v[4:5]",
        "v_mad_u64_u32 plain dst0=v0*2 dst1=s125*2 src0=v2 src1=v3 src2=v4*2" },
    })
  end)

  it("knows the operands and modifiers of memory instructions", function()
    check("gfx90a", {
      { "global_load_dword v0, v1, s[2:3] offset:-16 glc slc",
        "global_load_dword plain dst0=v0 src0=v1 src1=s2*2 glc=1 slc=1 offset=-16" },
      { "global_load_dwordx2 v[4:5], v[2:3], off",
        "global_load_dwordx2 plain dst0=v4*2 src0=v2*2 src1=none" },
      { "global_load_dword a3, v[2:3], off",
        "global_load_dword plain dst0=v259 src0=v2*2 src1=none" },
      { "global_store_dword v[0:1], v2, off offset:8",
        "global_store_dword plain src0=v0*2 src1=v2 src2=none offset=8" },
      { "global_atomic_add v1, v3, s[12:13] offset:4",
        "global_atomic_add plain dst0=none src0=v1 src1=v3 src2=s12*2 offset=4" },
      { "global_atomic_add v0, v1, v3, s[12:13] glc",
        "global_atomic_add plain dst0=v0 src0=v1 src1=v3 src2=s12*2 glc=1" },
      { "s_load_dwordx2 s[0:1], s[4:5], 0x10",
        "s_load_dwordx2 plain dst0=s0*2 src0=s4*2 src1=0x10" },
      { "s_load_dword s0, s[4:5], -4", "s_load_dword plain dst0=s0 src0=s4*2 src1=0xfffffffc" },
      { "ds_read2_b32 v[0:1], v4 offset0:1 offset1:255",
        "ds_read2_b32 plain dst0=v0*2 src0=v4 offset=1 offset1=255" },
      { "ds_write_b64 v0, v[2:3] offset:65528",
        "ds_write_b64 plain src0=v0 src1=v2*2 offset=65528" },
      { "buffer_load_dword v0, v1, s[0:3], s4 offen offset:8",
        "buffer_load_dword plain dst0=v0 src0=v1 src1=s0*4 src2=s4 offen=1 offset=8" },
      { "buffer_load_dword v0, off, s[0:3], 0",
        "buffer_load_dword plain dst0=v0 src0=none src1=s0*4 src2=0x0" },
    })
    check("gfx1030", {
      { "global_load_dword v6, v0, s[2:3] offset:4 glc dlc",
        "global_load_dword plain dst0=v6 src0=v0 src1=s2*2 glc=1 dlc=1 offset=4" },
    })
  end)

  it("takes every spelling of a swizzle from the bits", function()
    check("gfx90a", {
      { "ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM, 1,0,3,2)",
        ("ds_swizzle_b32 plain dst0=v0 src0=v1 offset=%d"):format(0x80b1) },
      { "ds_swizzle_b32 v0, v1 offset:0x1234",
        ("ds_swizzle_b32 plain dst0=v0 src0=v1 offset=%d"):format(0x1234) },
    })
  end)

  it("takes the 16-bit field of scalar instructions from the bits", function()
    check("gfx90a", {
      { "s_waitcnt vmcnt(3) lgkmcnt(1)", "s_waitcnt plain imm=" .. 0x0173 },
      { "s_waitcnt 0", "s_waitcnt plain" },
      { "s_movk_i32 s0, 0xffe0", "s_movk_i32 plain dst0=s0 imm=-32" },
      { "s_getreg_b32 s0, hwreg(HW_REG_MODE, 2, 4)",
        "s_getreg_b32 plain dst0=s0 imm=" .. (1 | 2 << 6 | 3 << 11) },
      { "s_setreg_b32 hwreg(HW_REG_MODE, 2, 4), s5",
        "s_setreg_b32 plain src0=s5 imm=" .. (1 | 2 << 6 | 3 << 11) },
      { "s_sendmsg sendmsg(MSG_INTERRUPT)", "s_sendmsg plain imm=1" },
      { "s_trap 2", "s_trap plain imm=2" },
    })
    check("gfx1030", { { "s_waitcnt_vscnt null, 0x3f", "s_waitcnt_vscnt plain imm=63" } })
  end)
end)

describe("a modifier", function()
  local MASKS = " row_mask:0xf bank_mask:0xf"
  -- Lines, and what of them is not known.
  local refused = {
    gfx90a = {
      { "v_and_b32_sdwa v0, v1, v2 clamp dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD " ..
        "src1_sel:DWORD", "clamp" },
      { "v_cndmask_b32_sdwa v0, v1, v2, vcc clamp dst_sel:DWORD dst_unused:UNUSED_PAD " ..
        "src0_sel:DWORD src1_sel:DWORD", "clamp" },
      { "v_cvt_i32_f32_e64 v0, v1 clamp", "clamp" },
      { "v_frexp_exp_i32_f64_e64 v0, v[2:3] clamp", "clamp" },
      { "v_cvt_pkrtz_f16_f32 v0, v1, v2 clamp", "clamp" },
      { "v_cvt_pkrtz_f16_f32 v0, v1, v2 mul:2", "mul:2" },
      { "v_cvt_pknorm_i16_f32 v0, v1, v2 clamp", "clamp" },
      { "v_cvt_pk_u8_f32 v0, v1, v2, v3 clamp", "clamp" },
      { "v_pack_b32_f16 v0, v1, v2 clamp", "clamp" },
      { "v_pack_b32_f16 v0, v1, v2 op_sel:[0,0,1]", "op_sel:%[0,0,1%]" },
      { "v_mad_u32_u16 v0, v1, v2, v3 op_sel:[0,0,1,0]", "op_sel:%[0,0,1,0%]" },
      { "v_mad_u32_u16 v0, v1, v2, v3 op_sel:[0,0,0,1]", "op_sel:%[0,0,0,1%]" },
      { "v_max3_i16 v0, v1, v2, v3 clamp", "clamp" },
      { "v_pk_mul_lo_u16 v0, v1, v2 clamp", "clamp" },
      { "v_pk_add_u16 v0, v1, v2 neg_lo:[1,0]", "neg_lo:%[1,0%]" },
      { "v_pk_max_i16 v0, v1, v2 neg_hi:[0,1]", "neg_hi:%[0,1%]" },
      { "v_pk_mov_b32 v[0:1], v[2:3], v[4:5] neg_lo:[1,0]", "neg_lo:%[1,0%]" },
      { "v_dot2_i32_i16 v0, v1, v2, v3 op_sel:[1,0,0]", "op_sel:%[1,0,0%]" },
      { "v_dot2_i32_i16 v0, v1, v2, v3 op_sel_hi:[0,0,0]", "op_sel_hi:%[0,0,0%]" },
      { "v_dot4_i32_i8 v0, v1, v2, v3 neg_lo:[1,0,0]", "neg_lo:%[1,0,0%]" },
    },
    gfx1030 = {
      { "v_mul_lo_u16 v0, v1, v2 clamp", "clamp" },
      { "v_lshlrev_b16 v0, v1, v2 clamp", "clamp" },
      { "v_alignbit_b32 v0, v1, v2, v3 clamp", "clamp" },
      { "v_cvt_u16_f16_e64 v0, v1 div:2", "div:2" },
      { "ds_swizzle_b32 v0, v1 offset:1 gds", "gds" },
      { "v_pk_fmac_f16_dpp v0, -v1, v2 quad_perm:[0,0,0,0]" .. MASKS, "%-v1" },
      { "v_movreld_b32_dpp v0, v1 quad_perm:[0,0,0,0]" .. MASKS, "v_movreld_b32" },
      { "v_movrels_b32_sdwa v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
        "v_movrels_b32" },
      { "s_waitcnt_vscnt s0, 3", "s_waitcnt_vscnt" },
    },
  }
  for target, lines in pairs(refused) do
    it("without a known effect is refused on " .. target, function()
      local codes = {}
      for i, line in ipairs(lines) do codes[i] = line[1] end
      for i, list in ipairs(emulator.describe(target, codes)) do
        assert.has_match("the emulator cannot execute the instruction '.*': .* '" .. lines[i][2] ..
          "' %a", list[1], lines[i][1])
      end
    end)
  end

  it("of a comparison's exceptions changes nothing", function()
    check("gfx90a", {
      { "v_cmp_lt_f32 vcc, v1, v2 clamp", "v_cmp_lt_f32 e64 dst0=s106*2 src0=v1 src1=v2 clamp=1" },
    })
  end)
end)

describe("a program", function()
  it("has the instructions that can be reached, each followed by the next one", function()
    local code = [[
        s_cmp_eq_u32 s0, 0
        s_cbranch_scc1 there
      back: s_branch out
        s_nop 7
      there: s_mov_b32 s1, 0x12345678
        s_branch back
      out: s_nop 0]]
    assert.are.same({ "#0 +0 s_cmp_eq_u32 plain src0=s0 src1=0x0",
      "#1 +4 s_cbranch_scc1 plain imm=2 -> #3", "#2 +8 s_branch plain imm=4 -> #5",
      "#3 +16 s_mov_b32 plain dst0=s1 src0=0x12345678", "#4 +24 s_branch plain imm=65531 -> #2",
      "#5 +28 s_nop plain", "#6 +32 s_endpgm plain" }, emulator.describe("gfx90a", { code })[1])
  end)

  for _, target in ipairs { "gfx90a", "gfx1030", "gfx1030:wave64" } do
    it("follows branches, calls and jumps through registers on " .. target, function()
      local r = emulator.run(target, {
        { code = "loop: s_add_u32 s1, s1, s0\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\n" ..
          "s_cbranch_scc1 loop", s = { [0] = 10, [1] = 0 } },
        { code = [[
            s_getpc_b64 s[4:5]
          here: s_add_u32 s4, s4, callee-here
            s_addc_u32 s5, s5, 0
            s_swappc_b64 s[6:7], s[4:5]
            s_add_u32 s0, s0, 1
            s_endpgm
          callee: s_mul_i32 s0, s0, 3
            s_setpc_b64 s[6:7] ]], s = { [0] = 14 } },
        { code = "s_call_b64 s[6:7], callee\ns_add_u32 s0, s0, 1\ns_endpgm\n" ..
          "callee: s_mul_i32 s0, s0, 3\ns_setpc_b64 s[6:7]", s = { [0] = 14 } },
      })
      assert.are.same({ 55, 43, 43 }, { r[1].s[1], r[2].s[0], r[3].s[0] })
      for i = 1, 3 do assert.is_nil(r[i].fault) end
    end)
  end

  it("stops where there is no code, with the reason, and only when it gets there", function()
    local r = emulator.run("gfx90a", {
      { code = "s_mov_b32 s0, 1\n.long 0xffffffff" },
      { code = "s_cbranch_scc1 bad\ns_endpgm\nbad: .long 0xffffffff" },
      { code = "s_mov_b64 s[0:1], 0\ns_setpc_b64 s[0:1]" },
      { code = "s_mov_b32 s0, 8\nv_pk_add_f32 v[0:1], v[2:3], 1.0" },
      { code = "image_load v[0:3], v[0:1], s[0:7] dmask:0xf unorm" },
      { code = "s_add_u32 s2, s2, 0x1000\ns_addc_u32 s3, s3, 0\ns_setpc_b64 s[2:3]",
        memory = ("\0"):rep(4096) },
    })
    assert.are.equal("illegal", r[1].fault_kind)
    assert.are.equal(1, r[1].s[0])
    assert.has_match("there is no instruction of gfx90a with the code 0xffffffff", r[1].fault)
    assert.is_nil(r[2].fault)
    assert.has_match("a jump leads more than 2 GiB away", r[3].fault)
    assert.are.same({ "memory", r[6].address + 4096, false },
      { r[6].fault_kind, r[6].fault_address, r[6].fault_is_write })
    assert.has_match("'v_pk_add_f32 v%[0:1%], v%[2:3%], 1.0': the high half of a constant",
      r[4].fault)
    assert.are.equal(8, r[4].s[0])
    assert.has_match("does not know the instruction 'image_load v%[0:3%]", r[5].fault)
  end)
end)

describe("code that no compiler makes", function()
  it("is refused, where LLVM would end the process too", function()
    local codes = { "0x11034cf9, 0x86479fdd", "0x84c7ff34", "0xe20628b6, 0xffc6f886" }
    local cases = {}
    for i, code in ipairs(codes) do cases[i] = { code = ".long " .. code } end
    cases[#cases + 1] = { code = ".long 0xd3ed3d32, 0x7841fff2" }
    for i, r in ipairs(emulator.run("gfx90a", cases)) do
      if i ~= 2 then assert.has_match("there is no instruction of gfx90a", r.fault) end
      assert.are.equal("illegal", r.fault_kind)
    end
  end)

  it("is refused where it names gfx10's null on gfx9", function()
    local codes = { ".long 0xbefd0000 ; s_mov_b32 null, s0",
      ".long 0xbe82007d ; s_mov_b32 s2, null", ".long 0xbefd0100 ; s_mov_b64 null, s[0:1]",
      ".long 0x7e02027d ; v_mov_b32 v1, null" }
    for i, list in ipairs(emulator.describe("gfx90a", codes)) do
      assert.has_match("operand 'null' is no register of this GPU", list[1], 1, true)
      assert(list[1]:find("'" .. codes[i]:match("; (%g+)"), 1, true), list[1])
    end
  end)

  it("is refused where it writes the scalar register 255", function()
    local compare, readlane = ".long 0xd0ca00ff, 0x00020501", ".long 0xd28900ff, 0x00010b01"
    for _, r in ipairs(emulator.run("gfx90a", { { code = compare }, { code = readlane } })) do
      assert.has_match("there is no instruction of gfx90a with the code 0x", r.fault)
    end
    check("gfx90a", { { "v_fma_f32 v255, v1, v2, v3",
      "v_fma_f32 plain dst0=v255 src0=v1 src1=v2 src2=v3" } })
  end)
end)

describe("the cache of programs", function()
  local programs = require "support.programs"

  it("decodes changed or newly mapped code again, and code that is reached later", function()
    local ok, output = programs.run(emulator.program .. " programs")
    assert(ok and output == "ok\n", output)
  end)
end)

describe("the tables of instructions", function()
  local programs = require "support.programs"

  it("name no instruction twice", function()
    local ok, output = programs.run(emulator.program .. " tables")
    assert.is_true(ok)
    assert.are.equal("", output)
  end)
end)
