-- Dispatches on the emulator: how workgroups are cut and started, what registers begin with, how
-- wavefronts wait for each other, and how wrong packets and faults end.
local dispatch = require "support.dispatch"
local files = require "support.files"
local programs = require "support.programs"

if not dispatch.program then
  pending("emulator_dispatch_test is not built")
  return
end

-- Leaves the work-item's ids in v1, v2, v3 and the memory's address in s[20:21].
local START = {
  gfx90a = [[
    s_load_dwordx2 s[20:21], s[0:1], 0x0
    v_and_b32 v1, 0x3ff, v0
    v_bfe_u32 v2, v0, 10, 10
    v_bfe_u32 v3, v0, 20, 10
    s_waitcnt lgkmcnt(0)
  ]],
  gfx1030 = [[
    s_load_dwordx2 s[20:21], s[0:1], 0x0
    v_mov_b32 v3, v2
    v_mov_b32 v2, v1
    v_mov_b32 v1, v0
    s_waitcnt lgkmcnt(0)
  ]],
}
START["gfx1030:wave64"], START.gfx1100 = START.gfx1030, START.gfx90a
START["gfx1100:wave64"] = START.gfx1100
-- gfx12 has the workgroup's ids in trap registers.
START.gfx1201 = [[
    s_load_b64 s[20:21], s[0:1], 0x0
    s_mov_b32 s2, ttmp9
    s_and_b32 s3, ttmp7, 0xffff
    s_lshr_b32 s4, ttmp7, 16
    v_and_b32 v1, 0x3ff, v0
    v_bfe_u32 v2, v0, 10, 10
    v_bfe_u32 v3, v0, 20, 10
    s_wait_kmcnt 0x0
]]
START["gfx1201:wave64"] = START.gfx1201

-- Adds 1 to the memory's word of number v4.
local COUNT = [[
  v_lshlrev_b32 v4, 2, v4
  v_mov_b32 v5, 1
  global_atomic_add v4, v5, s[20:21]
]]

local function zeros(nwords) return ("\0\0\0\0"):rep(nwords) end

-- Barriers and words for caches as gfx12 has them.
local function in_words_of(target, code)
  if not target:find("^gfx12") then return code end
  return (code:gsub("s_barrier\n", "s_barrier_signal -1\ns_barrier_wait 0xffff\n")
    :gsub(" glc", " scope:SCOPE_SYS"))
end

local function run_one(target, case, options)
  case.code = in_words_of(target, case.code)
  return dispatch.run(target, { case }, options)[1]
end

local function all_equal(words, wanted)
  for i, word in ipairs(words) do
    if word ~= wanted then return ("word %d is %x"):format(i, word) end
  end
  return "all equal"
end

-- A kernel that counts each work-item of a grid at its own place.
local function counting(target, grid, size, more)
  local gx, gy, gz = grid[1], grid[2] or 1, grid[3] or 1
  local case = { grid = grid, ["local"] = size, groups = "xyz", memory = zeros(gx * gy * gz),
    code = START[target] .. ([[
      s_mul_i32 s2, s2, %d
      s_mul_i32 s3, s3, %d
      s_mul_i32 s4, s4, %d
      v_mov_b32 v6, s4
      v_add3_u32 v3, v3, v6, 0
      v_mov_b32 v6, s3
      v_add3_u32 v2, v2, v6, 0
      v_mov_b32 v6, s2
      v_add3_u32 v1, v1, v6, 0
      v_mov_b32 v6, %d
      v_mad_u32_u24 v4, v3, v6, v2
      v_mov_b32 v6, %d
      v_mad_u32_u24 v4, v4, v6, v1
    ]]):format(size[1], size[2] or 1, size[3] or 1, gy, gx) .. COUNT }
  for key, value in pairs(more or {}) do case[key] = value end
  return case
end

for _, target in ipairs { "gfx90a", "gfx1030", "gfx1030:wave64", "gfx1100", "gfx1100:wave64",
  "gfx1201", "gfx1201:wave64" } do
  local width = target:find("^gfx1%d+$") and 32 or 64

  describe("a dispatch on " .. target, function()
    it("runs each work-item once, in whole and in partial workgroups", function()
      local shapes = {
        { { 1 }, { 64 } }, { { 64 }, { 64 } }, { { 65 }, { 64 } }, { { 1000 }, { 256 } },
        { { 70, 3, 2 }, { 16, 2, 2 } }, { { 7, 5, 3 }, { 4, 4, 4 } }, { { 1024 }, { 1024 } },
        { { 33, 33 }, { 32, 32 } }, { { 1, 1, 65 }, { 1, 1, 64 } }, { { 3, 1, 2 }, { 1, 1, 1 } },
      }
      local cases = {}
      for i, shape in ipairs(shapes) do cases[i] = counting(target, shape[1], shape[2]) end
      for _, workers in ipairs { 0, 3 } do
        for i, r in ipairs(dispatch.run(target, cases, { workers = workers })) do
          assert.is_nil(r.fault)
          assert.is_true(r.ended)
          assert.are.equal("all equal", all_equal(r:words(), 1),
            table.concat(shapes[i][1], "x") .. " in " .. table.concat(shapes[i][2], "x"))
        end
      end
    end)

    it("counts wavefront instructions", function()
      local r = run_one(target, { code = "s_nop 0\ns_nop 0", grid = { 256 }, ["local"] = { 128 } })
      assert.are.equal(3 * 256 // width, r.executed)
    end)

    local has_ids_in_registers = not target:find("^gfx12")
    it("begins with the registers that the descriptor asks for, in their order", function()
      local lines = { "s_load_dwordx2 s[40:41], s[8:9], 0x0", "v_mov_b32 v1, 0",
        "s_waitcnt lgkmcnt(0)" }
      for reg = 0, 20 do
        lines[#lines + 1] = ("v_mov_b32 v2, s%d"):format(reg)
        lines[#lines + 1] = ("global_store_dword v1, v2, s[40:41] offset:%d"):format(4 * reg)
      end
      local r = run_one(target, { code = table.concat(lines, "\n"), grid = { 2, 3, 4 },
        ["local"] = { 2, 3, 4 }, memory = zeros(21), private = 24, groups = "xyz", info = true,
        wave_offset = true, user = { "private_buffer", "dispatch", "queue", "kernarg",
          "dispatch_id", "flat_scratch", "private_size" } })
      assert.is_nil(r.fault)
      local w = r:words()
      local function wide(n) return w[n + 1] | w[n + 2] << 32 end
      assert.are.equal(r.packet_address, wide(4))
      assert.are.equal(0x123400001234, wide(6))
      assert.are.equal(r.args_address, wide(8))
      assert.are.equal(0x700000007, wide(10))
      assert.are.equal(24, w[15])
      local after = has_ids_in_registers and 19 or 16
      if has_ids_in_registers then assert.are.same({ 0, 0, 0 }, { w[16], w[17], w[18] }) end
      assert.are.equal(0x80000001, w[after]) -- the first of one wavefront
      assert.are.equal(0, w[after + 1]) -- the wavefront's place in private memory
      -- The resource of private memory and what FLAT_SCRATCH is made of lead to the same place.
      assert.are.equal(wide(12) & 0xffffffffffff, wide(0) & 0xffffffffffff)
      assert.are.equal(32 * width, w[3])
    end)

    local only_before_gfx12 = has_ids_in_registers and it or function() end
    only_before_gfx12("gives workgroup ids for the dimensions asked for alone", function()
      local cases = {}
      for i, groups in ipairs { "x", "y", "xz" } do
        cases[i] = { grid = { 2, 3, 4 }, ["local"] = { 1, 1, 1 }, groups = groups,
          memory = zeros(16), code = START[target] .. "v_mov_b32 v4, s2\n" .. COUNT }
      end
      local r = dispatch.run(target, cases)
      assert.are.same({ 12, 12, 0 }, { table.unpack(r[1]:words(), 1, 3) })
      assert.are.same({ 8, 8, 8, 0 }, { table.unpack(r[2]:words(), 1, 4) })
      assert.are.same({ 12, 12, 0 }, { table.unpack(r[3]:words(), 1, 3) })
    end)

    it("lets wavefronts meet at barriers and share LDS", function()
      local r = run_one(target, { grid = { 256 }, ["local"] = { 256 }, lds = 1024,
        memory = zeros(256), code = START[target] .. [[
          v_lshlrev_b32 v4, 2, v1
          ds_write_b32 v4, v1
          s_waitcnt lgkmcnt(0)
          s_barrier
          v_xor_b32 v5, 0x3fc, v4
          ds_read_b32 v6, v5
          s_waitcnt lgkmcnt(0)
          global_store_dword v4, v6, s[20:21]
        ]] })
      assert.is_nil(r.fault)
      for i, word in ipairs(r:words()) do assert.are.equal(256 - i, word) end
    end)

    it("counts wavefronts that have ended as arrived at a barrier", function()
      local r = run_one(target, { grid = { 256 }, ["local"] = { 256 }, memory = zeros(256),
        code = START[target] .. [[
          v_readfirstlane_b32 s10, v1
          s_cmp_lt_u32 s10, 64
          s_cbranch_scc1 out
          s_barrier
          s_barrier
          v_mov_b32 v4, v1
        ]] .. COUNT .. "out:" })
      assert.is_nil(r.fault)
      for i, word in ipairs(r:words()) do assert.are.equal(i > 64 and 1 or 0, word) end
    end)

    it("lets a wavefront wait for a later one by looking at memory", function()
      local r = run_one(target, { grid = { 128 }, ["local"] = { 128 }, memory = zeros(2),
        code = START[target] .. [[
          v_readfirstlane_b32 s10, v1
          v_mov_b32 v4, 0
          v_mov_b32 v5, 1
          s_cmp_eq_u32 s10, 0
          s_cbranch_scc1 wait
          global_store_dword v4, v5, s[20:21]
          s_endpgm
          wait:
          global_load_dword v6, v4, s[20:21] glc
          s_waitcnt vmcnt(0)
          v_readfirstlane_b32 s11, v6
          s_cmp_eq_u32 s11, 0
          s_cbranch_scc1 wait
          global_store_dword v4, v5, s[20:21] offset:4
        ]] })
      assert.is_nil(r.fault)
      assert.are.same({ 1, 1 }, r:words())
    end)

    it("starts workgroups in order, so that one may wait for those before it", function()
      local r = run_one(target, { grid = { 64 * 40 }, memory = zeros(41),
        code = START[target] .. [[
          s_cmp_eq_u32 s2, 0
          s_cbranch_scc1 go
          s_lshl_b32 s3, s2, 2
          v_mov_b32 v4, s3
          wait:
          global_load_dword v6, v4, s[20:21] glc
          s_waitcnt vmcnt(0)
          v_readfirstlane_b32 s11, v6
          s_cmp_eq_u32 s11, 0
          s_cbranch_scc1 wait
          go:
          s_lshl_b32 s3, s2, 2
          v_mov_b32 v4, s3
          v_mov_b32 v5, 1
          global_store_dword v4, v5, s[20:21] offset:4
        ]] }, { workers = 3 })
      assert.is_nil(r.fault)
      assert.are.same({ 0, 1, 1 }, { table.unpack(r:words(), 1, 3) })
      assert.are.equal(1, r:words()[41])
    end)

    it("gives each work-item private memory of its own", function()
      local r = run_one(target, { grid = { 256 }, ["local"] = { 128 }, private = 8,
        memory = zeros(256), user = { "kernarg" }, code = START[target] .. [[
          s_mov_b64 s[10:11], src_private_base
          v_mov_b32 v10, 4
          v_mov_b32 v11, s11
          s_lshl_b32 s12, s2, 7
          v_or_b32 v4, s12, v1
          flat_store_dword v[10:11], v4
          s_waitcnt vmcnt(0) lgkmcnt(0)
          flat_load_dword v6, v[10:11]
          s_waitcnt vmcnt(0) lgkmcnt(0)
          v_lshlrev_b32 v4, 2, v4
          global_store_dword v4, v6, s[20:21]
        ]] })
      assert.is_nil(r.fault)
      for i, word in ipairs(r:words()) do assert.are.equal(i - 1, word) end
    end)

    it("raises the event whose number stands in M0", function()
      local r = run_one(target, { grid = { 1 },
        code = "s_mov_b32 m0, 0x2a\ns_sendmsg sendmsg(MSG_INTERRUPT)" })
      assert.are.same({ 42 }, r.events)
    end)

    it("ends when its queue is stopped", function()
      for _, workers in ipairs { 0, 2 } do
        local r = run_one(target, { grid = { 640 }, memory = "\0\0\0\0", stop_after = 1, code = [[
          s_load_dwordx2 s[2:3], s[0:1], 0
          v_mov_b32 v1, 0
          v_mov_b32 v2, 1
          s_waitcnt lgkmcnt(0)
          global_store_dword v1, v2, s[2:3]
          again: s_branch again]] }, { workers = workers })
        assert.is_true(r.ended, r.fault)
        assert.is_true(r.executed > 5)
      end
    end)

    if target == "gfx90a" then
      it("ends when its queue is stopped while registers are indexed", function()
        for _, back in ipairs { "again", "within" } do
          local r = run_one(target, { grid = { 128 }, ["local"] = { 128 }, stop_after = 30, code = [[
            again: s_set_gpr_idx_on 1, gpr_idx(SRC0)
            within: v_mov_b32 v1, v2
            s_barrier
            s_branch ]] .. back })
          assert.is_true(r.ended, r.fault)
        end
      end)

      it("indexes no further than the registers that the kernel was granted", function()
        local r = run_one(target, { vgprs = 8, memory = zeros(8), code = START[target] .. [[
          v_mov_b32 v7, 7
          v_mov_b32 v6, 6
          s_set_gpr_idx_on 4, gpr_idx(SRC0)
          v_mov_b32 v4, v3
          v_mov_b32 v5, v4
          s_set_gpr_idx_off
          v_mov_b32 v0, 0
          global_store_dwordx2 v0, v[4:5], s[20:21]
        ]] })
        assert.is_true(r.ended, r.fault)
        assert.are.equal(7, r:words()[1])
        assert.are.equal(63, r:words()[2], "v8 is not there: v0 is read")
      end)
    end

    it("refuses packets that make no sense, and says why", function()
      local wrong = {
        { { dims = 0 }, "dimensions", "of 0 dimensions" },
        { { grid = { 0 } }, "dimensions", "grid size 0 and workgroup size 64 in dimension 1" },
        { { ["local"] = { 0 } }, "dimensions", "workgroup size 0 in dimension 1" },
        { { dims = 1, grid = { 4, 4 }, ["local"] = { 4, 4 } }, "dimensions", "in dimension 2" },
        { { ["local"] = { 33, 32 }, grid = { 1, 1 } }, "workgroup", "at most 1024" },
        { { lds = 65540 }, "lds", "65540 bytes of LDS a workgroup; gfx%w+ has 65536" },
        { { descriptor = function(words) words[3] = words[3] & ~0x3e end }, "code",
          "fills 2 scalar registers, but counts 0" },
        { { descriptor = function(words) words[4] = words[4] | 1 << 20 end }, "code",
          "preloaded arguments" },
        { { descriptor = function(words) words[2] = words[2] | 1 << 26 end }, "code",
          "saturating halves" },
        { { descriptor = function(words) words[3] = words[3] | 1 << 27 end }, "code",
          "exceptions" },
        { { private = 0xfffffff8 }, "bad", "4294967288 bytes of private memory a work%-item" },
      }
      local cases = {}
      for i, each in ipairs(wrong) do
        cases[i] = each[1]
        cases[i].code = "s_nop 0"
      end
      for i, r in ipairs(dispatch.run(target, cases)) do
        assert.is_false(r.ended)
        assert.are.equal(wrong[i][2], r.packet_fault, r.fault)
        assert.matches(wrong[i][3], r.fault)
        assert.are.equal(0, r.executed)
      end
    end)

    it("tells the first fault with work-item and address, and ends", function()
      local r = run_one(target, { grid = { 70, 3 }, ["local"] = { 16, 2 }, groups = "xy",
        memory = zeros(1), code = START[target] .. [[
          v_cmp_eq_u32 ]] .. (width == 32 and "vcc_lo" or "vcc") .. [[, 5, v1
          s_cmp_eq_u32 s2, 1
          s_cbranch_scc0 out
          s_cmp_eq_u32 s3, 1
          s_cbranch_scc0 out
          v_mov_b32 v8, 0x40
          v_mov_b32 v9, 0
          ]] .. (width == 32 and "s_mov_b32 exec_lo, vcc_lo" or "s_mov_b64 exec, vcc") .. [[

          global_load_dword v6, v[8:9], off
          out:
        ]] }, { workers = 2 })
      assert.is_false(r.ended)
      assert.are.equal("memory", r.fault_kind)
      assert.matches("read of 4 bytes at 0x40, where this GPU has no memory: kernel '?', " ..
        "work-item (22, 3, 1)", r.fault, 1, true)
    end)

    it("stops at registers that the kernel was not granted", function()
      local r = dispatch.run(target, {
        { vgprs = 32, code = "v_mov_b32 v31, 0" }, { vgprs = 32, code = "v_mov_b32 v32, 0" },
        { vgprs = 32, code = "global_load_dwordx4 v[30:33], v[0:1], off" } })
      assert.is_true(r[1].ended, r[1].fault)
      for i = 2, 3 do
        assert.are.equal("illegal", r[i].fault_kind)
        assert.matches("names register v" .. 30 + i .. ", but the kernel's descriptor asks for 32",
          r[i].fault)
      end
    end)

    it("stops at code it does not understand, and at traps", function()
      local r = dispatch.run(target, {
        { code = "s_trap 2" }, { code = ".long 0xbf9b1234 | 0x7f0000" }, { code = "s_trap 3" } })
      assert.are.equal("trap", r[1].fault_kind)
      assert.matches("ended itself by trap 2: kernel '?', workgroup (1, 1, 1), wavefront 1",
        r[1].fault, 1, true)
      assert.are.equal("illegal", r[2].fault_kind)
      assert.is_true(r[3].ended)
    end)
  end)
end

describe("names for addresses of code", function()
  local rocluac = programs.find("rocluac")

  it("come from the code object that ROCR lists, also when its bytes are gone, but not for other "
    .. "code", function()
    local script, object = os.tmpname() .. ".lua", os.tmpname()
    local file <close> = assert(io.open(script, "w"))
    file:write([[
local roc = require "roc"
roc.kernel(function(x)
  local i = roc.get_global_id(1)
  if i <= #x then
    x[i] = 2 * x[i]
  end
end, { name = "double", signature = "(float32[:])" })
]])
    file:close()
    local output, succeeded = files.run(("%s -t gfx90a -o %s %s"):format(rocluac, object, script))
    assert(succeeded, output)
    local shown = files.run(("%s names %s"):format(dispatch.program, object))
    os.remove(script)
    os.remove(object)
    local none, listed, gone, changed =
      shown:match("^nothing listed\n(.-)listed\n(.-)bytes gone\n(.-)code changed\n(.*)$")
    assert.are.equal("? ?:0\n", none)
    assert.matches("^roc_double[%w_]* [^\n]*%.lua:%d+\n", listed)
    assert.matches("\n  %+0x%x+ 5\n", listed)
    assert.are.equal(listed, gone)
    assert.are.equal("? ?:0\n", changed)
  end)
end)

describe("a barrier in two parts", function()
  it("lets wavefronts work between their coming and their waiting", function()
    -- Wavefront 0 signals and looks at memory that the other writes after the barrier.
    local r = run_one("gfx1201", { grid = { 64 }, ["local"] = { 64 }, memory = zeros(64),
      code = START.gfx1201 .. [[
        v_mov_b32 v4, 0
        v_mov_b32 v5, 1
        v_readfirstlane_b32 s10, v1
        s_barrier_signal -1
        s_cmp_eq_u32 s10, 0
        s_cbranch_scc0 second
      again:
        global_load_b32 v6, v4, s[20:21] scope:SCOPE_SYS
        s_wait_loadcnt 0
        v_readfirstlane_b32 s11, v6
        s_cmp_eq_u32 s11, 0
        s_cbranch_scc1 again
        s_barrier_wait 0xffff
        v_mov_b32 v4, 4
        global_store_b32 v4, v5, s[20:21]
        s_branch out
      second:
        s_barrier_wait 0xffff
        global_store_b32 v4, v5, s[20:21]
      out:
    ]] })
    assert.is_nil(r.fault)
    assert.are.same({ 1, 1, 0 }, { table.unpack(r:words(), 1, 3) })
  end)

  it("tells one wavefront that it came first, each time", function()
    local r = run_one("gfx1201", { grid = { 128 }, ["local"] = { 128 }, memory = zeros(128),
      code = START.gfx1201 .. [[
        s_mov_b32 s11, 0
        s_barrier_signal_isfirst -1
        s_cselect_b32 s10, 1, 0
        s_add_co_u32 s11, s11, s10
        s_barrier_wait 0xffff
        s_barrier_signal_isfirst -1
        s_cselect_b32 s10, 1, 0
        s_add_co_u32 s11, s11, s10
        s_barrier_wait 0xffff
        v_mov_b32 v4, 0
        v_mov_b32 v5, s11
        v_mbcnt_lo_u32_b32 v6, -1, 0
        v_cmpx_eq_u32 0, v6
        global_atomic_add_u32 v4, v5, s[20:21]
    ]] })
    assert.is_nil(r.fault)
    assert.are.equal(2, r:words()[1])
  end)

  it("is refused where its parts are not in turn", function()
    local function fault_of(code)
      return run_one("gfx1201", { grid = { 64 }, ["local"] = { 64 }, memory = zeros(1),
        code = START.gfx1201 .. code }).fault
    end
    assert.matches("waits at a barrier that the wavefront has not signalled",
      fault_of("s_barrier_wait 0xffff"), 1, true)
    assert.matches("comes before the wavefront has waited",
      fault_of("s_barrier_signal -1\ns_barrier_signal -1"), 1, true)
  end)
end)
