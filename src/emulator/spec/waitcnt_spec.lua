-- Registers that are used before the load into them was waited for: which uses stop, which do not.
local emulator = require "support.emulator"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

-- The faults of one case per code ("" for none), run with memory at s[2:3] and zeros everywhere.
local function faults(target, codes)
  local cases, found = {}, {}
  for i, code in ipairs(codes) do
    cases[i] = { code = code, memory = ("\0"):rep(4096), lds = ("\0"):rep(1024),
      s64 = { [20] = 0 } }
  end
  for i, result in ipairs(emulator.run(target, cases)) do
    assert.is_true(not result.fault or result.fault_kind == "illegal", result.fault)
    found[i] = result.fault or ""
  end
  return found
end

-- Asserts which of the codes are fine and which stop; those name the register and the counter.
local function check(target, cases)
  local codes = {}
  for i, case in ipairs(cases) do codes[i] = case[1] end
  for i, fault in ipairs(faults(target, codes)) do
    local register, counter = cases[i][2], cases[i][3]
    if not register then
      assert.are.equal("", fault, codes[i])
    else
      local wanted = (" %s, which '"):format(register)
      assert(fault:find(wanted, 1, true) and fault:find(counter, 1, true),
        ("%s\nshould be stopped for %s, %s, and gives: %s"):format(codes[i], register, counter,
          fault))
    end
  end
end

describe("the s_waitcnt check", function()
  it("stops at a load's register that is read or overwritten too early", function()
    check("gfx90a", {
      { "global_load_dword v1, v0, s[2:3]\nv_add_u32 v2, v1, v1", "reads v1", "vmcnt(0)" },
      { "global_load_dword v1, v0, s[2:3]\nv_mov_b32 v1, 0", "overwrites v1", "vmcnt(0)" },
      { "global_load_dword v1, v0, s[2:3]\ns_waitcnt vmcnt(0)\nv_add_u32 v2, v1, v1" },
      { "global_load_dword v1, v0, s[2:3]\nv_add_u32 v2, v3, v4" },
      { "global_load_dwordx4 v[4:7], v0, s[2:3]\nv_mov_b32 v0, v7", "reads v7", "vmcnt(0)" },
      { "global_load_dwordx4 v[4:7], v0, s[2:3]\nv_mov_b32 v0, v8" },
      { "global_load_dword v1, v0, s[2:3]\nglobal_store_dword v0, v1, s[2:3]", "reads v1",
        "vmcnt(0)" },
      { "ds_read_b32 v1, v0\nv_mov_b32 v2, v1", "reads v1", "lgkmcnt(0)" },
      { "ds_read_b32 v1, v0\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1", "reads v1", "lgkmcnt(0)" },
      { "ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, v1" },
      { "s_load_dwordx2 s[4:5], s[2:3], 0\ns_add_u32 s6, s5, 1", "reads s5", "lgkmcnt(0)" },
      { "s_load_dword s4, s[2:3], 0\nv_mov_b32 v0, s4", "reads s4", "lgkmcnt(0)" },
      { "s_load_dword s4, s[2:3], 0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v0, s4" },
      { "global_load_dword a1, v0, s[2:3]\nv_accvgpr_read_b32 v2, a1", "reads a1", "vmcnt(0)" },
      { "global_atomic_add v1, v0, v2, s[2:3] glc\nv_mov_b32 v3, v1", "reads v1", "vmcnt(0)" },
      { "global_atomic_add v0, v2, s[2:3]\nv_mov_b32 v3, v2" },
      { "s_load_dwordx2 vcc, s[2:3], 0\nv_cndmask_b32 v0, v1, v2, vcc", "reads vcc_lo",
        "lgkmcnt(0)" },
      { "s_load_dwordx2 vcc, s[2:3], 0\ns_cbranch_vccz out\nout: s_nop 0", "reads vcc_lo",
        "lgkmcnt(0)" },
    })
  end)

  it("says which load it was and where", function()
    local fault = faults("gfx90a", {
      "s_nop 0\nglobal_load_dword v1, v0, s[2:3]\nv_mov_b32 v9, v1" })[1]
    assert.has_match("'v_mov_b32' at offset 0xc reads v1, which 'global_load_dword' at offset 0x4 "
      .. "may not have filled yet: s_waitcnt vmcnt%(0%) is missing between them", fault)
  end)

  it("counts the younger operations of the same counter", function()
    local two = "global_load_dword v1, v0, s[2:3]\nglobal_load_dword v2, v0, s[2:3] offset:4\n"
    local store = "global_store_dword v0, v3, s[2:3]\n"
    check("gfx90a", {
      { two .. "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v1" },
      { two .. "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v2", "reads v2", "vmcnt(0)" },
      { two .. "s_waitcnt vmcnt(2)\nv_mov_b32 v4, v1", "reads v1", "vmcnt(1)" },
      { two .. store .. "s_waitcnt vmcnt(2)\nv_mov_b32 v4, v1" },
      { "ds_read_b32 v1, v0\nds_write_b32 v0, v3\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v1" },
      { "ds_read_b32 v1, v0\nglobal_load_dword v2, v0, s[2:3]\ns_waitcnt lgkmcnt(1)\n" ..
        "v_mov_b32 v4, v1", "reads v1", "lgkmcnt(0)" },
    })
    check("gfx1030", { -- a counter of their own for stores
      { two .. "s_waitcnt vmcnt(1)\nv_mov_b32 v4, v1" },
      { two .. store .. "s_waitcnt vmcnt(2)\nv_mov_b32 v4, v1", "reads v1", "vmcnt(1)" },
      { two .. "s_waitcnt_vscnt null, 0x0\nv_mov_b32 v4, v1", "reads v1", "vmcnt(1)" },
      { two .. "s_waitcnt_vmcnt null, 0x1\nv_mov_b32 v4, v1" },
      { "ds_read_b32 v1, v0\ns_waitcnt_lgkmcnt null, 0x0\nv_mov_b32 v4, v1" },
      { "s_load_dword vcc_hi, s[2:3], 0\nv_cndmask_b32 v0, v1, v2, vcc_lo" },
    })
  end)

  it("trusts nothing but lgkmcnt(0) for scalar loads", function()
    check("gfx90a", {
      { "s_load_dword s4, s[2:3], 0\ns_load_dword s5, s[2:3], 4\ns_waitcnt lgkmcnt(1)\n" ..
        "s_mov_b32 s6, s4", "reads s4", "lgkmcnt(0)" },
      { "s_load_dword s4, s[2:3], 0\ns_load_dword s4, s[2:3], 4", "overwrites s4", "lgkmcnt(0)" },
      { "ds_read_b32 v1, v0\ns_load_dword s5, s[2:3], 4\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v1",
        "reads v1", "lgkmcnt(0)" },
      { "ds_read_b32 v1, v0\nds_read_b32 v1, v0" }, -- in order
      { "global_load_dword v1, v0, s[2:3]\nglobal_load_dword v1, v0, s[2:3]" },
      { "global_load_dword v1, v0, s[2:3]\nds_read_b32 v1, v0", "overwrites v1", "vmcnt(0)" },
    })
  end)

  it("takes either counter for flat loads", function()
    local flat = "v_mov_b32 v0, s2\nv_mov_b32 v1, s3\nflat_load_dword v2, v[0:1]\n"
    check("gfx90a", {
      { flat .. "v_mov_b32 v3, v2", "reads v2", "vmcnt(0)" },
      { flat .. "s_waitcnt vmcnt(0)\nv_mov_b32 v3, v2" },
      { flat .. "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v3, v2" },
      { flat .. "s_waitcnt lgkmcnt(1)\nv_mov_b32 v3, v2", "reads v2", "vmcnt(0)" },
    })
  end)

  it("follows all paths, and stops only where execution comes", function()
    local load = "global_load_dword v1, v0, s[2:3]\n"
    check("gfx90a", {
      { load .. "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 on\ns_waitcnt vmcnt(0)\non: v_mov_b32 v2, v1",
        "reads v1", "vmcnt(0)" },
      { load .. "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 on\ns_waitcnt vmcnt(0)\ns_branch end\n" ..
        "on: s_waitcnt vmcnt(0)\nend: v_mov_b32 v2, v1" },
      { load .. "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 on\nv_mov_b32 v2, v1\n" ..
        "on: s_waitcnt vmcnt(0)\nv_mov_b32 v2, v1" }, -- the branch round it is always taken
      { "s_movk_i32 s5, 3\nloop: v_mov_b32 v2, v1\n" .. load ..
        "s_sub_u32 s5, s5, 1\ns_cmp_lg_u32 s5, 0\ns_cbranch_scc1 loop", "reads v1", "vmcnt(0)" },
      { "s_movk_i32 s5, 3\nloop: s_waitcnt vmcnt(0)\nv_mov_b32 v2, v1\n" .. load ..
        "s_sub_u32 s5, s5, 1\ns_cmp_lg_u32 s5, 0\ns_cbranch_scc1 loop" },
      { "s_movk_i32 s5, 3\n" .. load .. "loop: global_load_dword v2, v0, s[2:3]\n" ..
        "s_sub_u32 s5, s5, 1\ns_cmp_lg_u32 s5, 0\ns_cbranch_scc1 loop\ns_waitcnt vmcnt(1)\n" ..
        "v_mov_b32 v3, v1" },
      { "s_movk_i32 s5, 3\n" .. load .. "loop: global_load_dword v2, v0, s[2:3]\n" ..
        "s_sub_u32 s5, s5, 1\ns_cmp_lg_u32 s5, 0\ns_cbranch_scc1 loop\ns_waitcnt vmcnt(3)\n" ..
        "v_mov_b32 v3, v1", "reads v1", "vmcnt(1)" },
    })
  end)

  it("can be switched off", function()
    local programs = require "support.programs"
    local script = [[
      local emulator = require "support.emulator"
      print(emulator.run("gfx90a", { { code = "ds_read_b32 v1, v0\nv_mov_b32 v2, v1",
        lds = "\1\0\0\0" } })[1].v[2][1])]]
    local _, output = programs.run(programs.lua(script, "ROCLUA_EMULATE_WAITCNT=0"))
    assert.are.equal("1\n", output)
  end)
end)
