-- Program flow on the emulator: branches on each condition, jumps to computed addresses, calls, and
-- the instructions that end or stop a wavefront, or do nothing.
local emulator = require "support.emulator"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

-- Sets s0 to 1 when `branch` is taken, else to 2.
local function branching(branch)
  return branch .. " taken\ns_mov_b32 s0, 2\ns_endpgm\ntaken:\ns_mov_b32 s0, 1"
end

-- Runs the cases { code, options…, s0 = wanted }.
local function check(target, list)
  local cases = {}
  for i, each in ipairs(list) do cases[i] = setmetatable({ code = each[1] }, { __index = each }) end
  for i, state in ipairs(emulator.run(target, cases)) do
    assert.is_nil(state.fault)
    assert.are.equal(list[i].s0, state.s[0], list[i][1])
  end
end

local function fault_of(target, code)
  local state = emulator.run(target, { { code = code } })[1]
  return state.fault_kind, state.fault
end

for _, target in ipairs { "gfx90a", "gfx1030", "gfx1030:wave64", "gfx1100", "gfx1201" } do
  local generation, wave = emulator.generation(target)
  local is_narrow = wave == 32

  describe("program flow of " .. target, function()
    it("branches on SCC, VCC and EXEC", function()
      check(target, {
        { branching "s_branch", s0 = 1 },
        { branching "s_cbranch_scc0", scc = 0, s0 = 1 },
        { branching "s_cbranch_scc0", scc = 1, s0 = 2 },
        { branching "s_cbranch_scc1", scc = 0, s0 = 2 },
        { branching "s_cbranch_scc1", scc = 1, s0 = 1 },
        { branching "s_cbranch_vccz", vcc = 0, s0 = 1 },
        { branching "s_cbranch_vccz", vcc = 1 << 31, s0 = 2 },
        { branching "s_cbranch_vccnz", vcc = 0, s0 = 2 },
        { branching "s_cbranch_vccnz", vcc = 1, s0 = 1 },
        { branching "s_cbranch_execz", exec = 0, s0 = 1 },
        { branching "s_cbranch_execz", exec = 4, s0 = 2 },
        { branching "s_cbranch_execnz", exec = 0, s0 = 2 },
        { branching "s_cbranch_execnz", exec = 1 << 31, s0 = 1 },
      })
      if generation < 12 then check(target, { { branching "s_cbranch_cdbgsys", s0 = 2 } }) end
    end)

    it("looks at as many bits of VCC as the wavefront has lanes", function()
      check(target, {
        { branching "s_cbranch_vccz", vcc = 1 << 32, s0 = is_narrow and 1 or 2 },
        { branching "s_cbranch_vccnz", vcc = 1 << 63, s0 = is_narrow and 2 or 1 },
      })
    end)

    it("branches backward", function()
      check(target, { { [[
        s_mov_b32 s0, 0
        s_mov_b32 s1, 10
        again:
        s_add_u32 s0, s0, s1
        s_sub_u32 s1, s1, 1
        s_cmp_lg_u32 s1, 0
        s_cbranch_scc1 again
      ]], s0 = 55 } })
    end)

    it("jumps to computed addresses, calls functions and returns from them", function()
      check(target, {
        { [[
          s_getpc_b64 s[4:5]
          here:
          s_add_u32 s4, s4, there-here
          s_addc_u32 s5, s5, 0
          s_setpc_b64 s[4:5]
          s_mov_b32 s0, 2
          s_endpgm
          there:
          s_mov_b32 s0, 1
        ]], s0 = 1 },
        { [[
          s_mov_b32 s0, 0
          s_getpc_b64 s[4:5]
          here:
          s_add_u32 s4, s4, function-here
          s_addc_u32 s5, s5, 0
          s_swappc_b64 s[6:7], s[4:5]
          s_swappc_b64 s[6:7], s[4:5]
          s_add_u32 s0, s0, 0x100
          s_endpgm
          function:
          s_add_u32 s0, s0, 1
          s_setpc_b64 s[6:7]
        ]], s0 = 0x102 },
        { [[
          s_mov_b32 s0, 0
          s_call_b64 s[6:7], function
          s_call_b64 s[6:7], function
          s_endpgm
          function:
          s_add_u32 s0, s0, 1
          s_setpc_b64 s[6:7]
        ]], s0 = 2 },
      })
    end)

    it("passes waits, hints and a barrier of one wavefront", function()
      local barrier = generation == 12 and "s_barrier_signal -1\ns_barrier_wait -1" or "s_barrier"
      check(target, { { ([[
        s_mov_b32 s0, 5
        s_nop 7
        s_waitcnt vmcnt(0) lgkmcnt(0)
        s_sleep 1
        s_setprio 3
        s_icache_inv
        s_dcache_inv
        s_ttracedata
        BARRIER
        s_sethalt 0
        s_trap 3
        s_add_u32 s0, s0, 1
      ]]):gsub("BARRIER", barrier), s0 = 6 } })
    end)

    it("ends by s_endpgm and runs nothing after it", function()
      check(target, { { "s_mov_b32 s0, 3\ns_endpgm\ns_mov_b32 s0, 4", s0 = 3 } })
    end)

    it("stops where it cannot go on, and says why", function()
      local kind, text = fault_of(target, "s_trap 2")
      assert.are.equal("trap", kind)
      assert.matches("ended itself by trap 2", text, 1, true)
      kind, text = fault_of(target, "s_sethalt 1")
      assert.are.equal("illegal", kind)
      assert.matches("for ever", text, 1, true)
      kind, text = fault_of(target, "s_sendmsg 4")
      assert.are.equal("illegal", kind)
      assert.matches("sends message 4", text, 1, true)
      kind = fault_of(target, "s_mov_b64 s[4:5], 0x1000\ns_setpc_b64 s[4:5]")
      assert.are.equal("illegal", kind)
      kind, text = fault_of(target, "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, 6\ns_setpc_b64 s[4:5]")
      assert.are.equal("illegal", kind)
      assert.matches("there is no code at 0x%x+, which is not a multiple of 4", text)
    end)

    it("loads scalars, rounding addresses down to dwords, and stops where nothing is mapped",
      function()
        local words = {}
        for i = 1, 32 do words[i] = i * 0x01010101 end
        local memory = string.pack("<" .. ("I4"):rep(32), table.unpack(words))
        local list = {
          { "s_load_dword s8, s[2:3], 0x0", 1, 1 },
          { "s_load_dword s8, s[2:3], 0x6", 2, 1 },
          { "s_add_u32 s2, s2, 7\ns_load_dword s8, s[2:3], 0x0", 2, 1 },
          { "s_load_dwordx2 s[8:9], s[2:3], 0x8", 3, 2 },
          { "s_mov_b32 s6, 0x20\ns_load_dwordx4 s[8:11], s[2:3], s6", 9, 4 },
          { "s_load_dwordx8 s[8:15], s[2:3], 0x10", 5, 8 },
          { "s_load_dwordx16 s[8:23], s[2:3], 0x0", 1, 16 },
          { "s_add_u32 s2, s2, 16\ns_load_dword s8, s[2:3], -0x8", 3, 1 },
          { "s_mov_b32 s6, 8\ns_load_dword s8, s[2:3], s6 offset:0x8", 5, 1 },
        }
        local cases = {}
        for i, each in ipairs(list) do cases[i] = { code = each[1], memory = memory } end
        for i, state in ipairs(emulator.run(target, cases)) do
          assert.is_nil(state.fault)
          for k = 0, list[i][3] - 1 do
            assert.are.equal(words[list[i][2] + k], state.s[8 + k], list[i][1])
          end
        end
        local state = emulator.run(target, { { memory = memory,
          code = "s_load_dword s8, s[2:3], -0x4" } })[1]
        assert.are.equal("memory", state.fault_kind)
        assert.are.equal(state.address - 4, state.fault_address)
        assert.is_false(state.fault_is_write)
      end)

    it("loads scalars through a buffer resource, and zeroes beyond its end", function()
      local memory = string.pack("<I4I4I4I4", 11, 22, 33, 44)
      local code = "s_and_b32 s5, s5, 0xffff\ns_mov_b32 s6, 12\ns_mov_b32 s7, 0\n"
      local r = emulator.run(target, {
        { memory = memory, address_in = 4,
          code = code .. "s_buffer_load_dwordx4 s[8:11], s[4:7], 0x4" },
        { memory = memory, address_in = 4,
          code = code .. "s_buffer_load_dword s8, s[4:7], 0x1000" },
      })
      assert.is_nil(r[1].fault)
      assert.are.same({ 22, 33, 0, 0 }, { r[1].s[8], r[1].s[9], r[1].s[10], r[1].s[11] })
      assert.is_nil(r[2].fault)
      assert.are.equal(0, r[2].s[8])
    end)

    -- from gfx11 on: s_sendmsg_rtn (gfx11_spec) and HW_REG_SHADER_CYCLES (gfx12_spec)
    if generation < 11 then it("has clocks that advance", function()
      local state = emulator.run(target, { { code = [[
        s_memtime s[4:5]
        s_memrealtime s[6:7]
        s_waitcnt lgkmcnt(0)
        s_sleep 1
        s_memtime s[8:9]
        s_waitcnt lgkmcnt(0)
      ]] } })[1]
      assert.is_nil(state.fault)
      assert.is_true(state:s64(8) > state:s64(4))
      assert.is_true(state:s64(6) > 0)
    end) end
  end)
end

describe("program flow of gfx1030", function()
  it("reads zeroes in front of a buffer resource", function()
    local r = emulator.run("gfx1030", { { memory = string.pack("<I4I4I4I4", 11, 22, 33, 44),
      address_in = 4, s = { [8] = 1, [12] = 1, [16] = 1 }, code = [[
        s_add_u32 s4, s4, 8
        s_and_b32 s5, s5, 0xffff
        s_mov_b32 s6, 8
        s_mov_b32 s7, 0
        .long 0xf4200202, 0xfa1ffffc  ; s_buffer_load_dword s8, s[4:7], -4
        .long 0xf4280302, 0xfa1ffffc  ; s_buffer_load_dwordx4 s[12:15], s[4:7], -4
        s_buffer_load_dwordx2 s[16:17], s[4:7], 0x0
      ]] } })[1]
    assert.is_nil(r.fault)
    assert.are.same({ 0, 0, 0, 33, 44 }, { r.s[8], r.s[12], r.s[13], r.s[16], r.s[17] })
  end)

  it("stops at the padding after its code", function()
    local kind, text = fault_of("gfx1030", "s_code_end")
    assert.are.equal("illegal", kind)
    assert.matches("ran past its end", text, 1, true)
  end)

  it("passes its own hints", function()
    check("gfx1030", { { [[
      s_mov_b32 s0, 5
      s_inst_prefetch 0x3
      s_clause 0x1
      s_waitcnt_vscnt null, 0x0
      s_waitcnt_depctr 0xffff
      s_gl1_inv
      s_add_u32 s0, s0, 1
    ]], s0 = 6 } })
  end)
end)
