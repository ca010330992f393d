-- flat_, global_ and scratch_ instructions of the emulator: every width, address form and atomic on
-- both chips, and what happens to addresses nothing answers.
local accesses = require("support.accesses")
local emulator = require("support.emulator")

local OLD, PAGE = accesses.OLD, 4096
local registers, row = accesses.registers, accesses.row

-- v[6:7] = s[2:3] + v0, and v[6:7] of an aperture.
local FLAT_ADDRESS = {
  gfx9 = [[v_mov_b32 v7, s3
             v_add_co_u32 v6, vcc, s2, v0
             v_addc_co_u32 v7, vcc, 0, v7, vcc]],
  later = [[v_add_co_u32 v6, vcc_lo, s2, v0
              v_add_co_ci_u32 v7, vcc_lo, s3, 0, vcc_lo]],
}
local FORMS = {
  { prefix = "global", vector = "v0", scalar = ", s[2:3]", offset = " offset:8", bytes = 8 },
  { prefix = "global", vector = "v0", scalar = ", s[2:3]", offset = " offset:-8", bytes = -8 },
  { prefix = "global", vector = "v[6:7]", scalar = ", off", offset = "", bytes = 0 },
  { prefix = "flat", vector = "v[6:7]", scalar = "", offset = " offset:16", bytes = 16 },
}

local function olds()
  return { [10] = OLD, [11] = OLD + 1, [12] = OLD + 2, [13] = OLD + 3 }
end

-- Runs cases made by make(form, pattern, exec) and hands each result to check.
local function each_form(target, entry, make, check)
  local cases, contexts = {}, {}
  for _, form in ipairs(FORMS) do
    for name, offset_of in pairs(accesses.patterns) do
      for _, exec in ipairs({ -1, 0x0ff0f00f31248001 }) do
        local context = { form = form, name = name, exec = exec, entry = entry,
          at = function(lane) return offset_of(lane, entry.nbytes) + 16 end }
        cases[#cases + 1] = make(context)
        contexts[#contexts + 1] = context
      end
    end
  end
  for i, result in ipairs(emulator.run(target, cases)) do
    local c = contexts[i]
    c.title = ("%s %s, %s, exec %x"):format(c.form.prefix, c.form.vector, c.name, c.exec)
    assert.is_nil(result.fault, c.title)
    check(c, result, cases[i])
  end
end

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201" }) do
  local generation, width = emulator.generation(target)
  local flat_address = generation == 9 and FLAT_ADDRESS.gfx9 or FLAT_ADDRESS.later
  local memory = accesses.noise(64 * 17 + 64)

  describe(("emulated memory of %s"):format(target), function()
    if not emulator.program then return pending("no emulator in this build") end

    for _, load in ipairs(accesses.loads) do
      it("loads " .. load.name, function()
        each_form(target, load, function(c)
          local v = olds()
          v[0] = row(function(lane) return c.at(lane) - c.form.bytes end)
          return { v = v, exec = c.exec, memory = memory,
            code = ("%s\n%s_load_%s %s, %s%s%s\ns_waitcnt vmcnt(0)"):format(flat_address,
              c.form.prefix, load.name, registers(10, load.nbytes), c.form.vector,
              c.form.scalar, c.form.offset) }
        end, function(c, result)
          for lane = 0, 63 do
            local active = lane < width and c.exec >> lane & 1 == 1
            local words = active and load.value(memory, c.at(lane) + 1, OLD) or {}
            for n = 0, 3 do
              local expected, got = words[n + 1] or OLD + n, result.v[10 + n][lane + 1]
              if expected ~= got then
                assert.are.equal(expected, got, ("%s, lane %d, word %d"):format(c.title, lane, n))
              end
            end
          end
        end)
      end)
    end

    for _, store in ipairs(accesses.stores) do
      it("stores " .. store.name, function()
        each_form(target, store, function(c)
          local v = { [0] = row(function(lane) return c.at(lane) - c.form.bytes end) }
          for n = 0, 3 do
            v[10 + n] = row(function(lane)
              return (lane * 0x01030507 + n * 0x70605040) & 0xffffffff
            end)
          end
          return { v = v, exec = c.exec, memory = memory,
            code = ("%s\n%s_store_%s %s, %s%s%s"):format(flat_address, c.form.prefix,
              store.name, c.form.vector, registers(10, store.nbytes), c.form.scalar,
              c.form.offset) }
        end, function(c, result, case)
          local image = memory
          for lane = 0, width - 1 do
            if c.exec >> lane & 1 == 1 then
              local words = {}
              for n = 0, 3 do words[n + 1] = case.v[10 + n][lane + 1] end
              image = accesses.patched(image, c.at(lane), store.bytes(words))
            end
          end
          assert.are.equal(image, result.memory, c.title)
        end)
      end)
    end

    local gfx10 = generation > 9 and { fmin = true, fmax = true } or {}
    local ops = { "swap", "add", "sub", "and", "or", "xor", "umin", "umax", "smin", "smax", "inc",
      "dec" }
    for op in pairs(gfx10) do ops[#ops + 1] = op end

    for bits, suffix in pairs({ [32] = "", [64] = "_x2" }) do
      for _, op in ipairs(ops) do
        if gfx10[op] and bits == 64 and generation > 10 then goto continue end -- it has none
        it(("does atomic_%s%s on edge values"):format(op, suffix), function()
          local expected, cases, batches = accesses.atomics_of(generation)[bits][op], {}, {}
          for _, batch in ipairs(accesses.pairs_of(bits, width)) do
            for _, form in ipairs({ "returning", "global", "flat" }) do
              local key = bits == 64 and "v64" or "v"
              local data = registers(10, bits // 8)
              local code = {
                returning = "global_atomic_%s v[20:21], v0, %s, s[2:3] glc",
                global = "global_atomic_%s v0, %s, s[2:3]",
                flat = flat_address .. "\nflat_atomic_%s v[6:7], %s",
              }
              local text = code[form]
              if bits == 32 then text = text:gsub("v%[20:21%]", "v20") end
              local case = { memory = accesses.image(batch.old, bits), v = {},
                code = text:format(op .. suffix, data) }
              case[key] = { [10] = batch.data }
              case.v[0] = row(function(lane) return lane * bits // 8 end)
              cases[#cases + 1] = case
              batches[#batches + 1] = { batch = batch, returning = form == "returning" }
            end
          end
          for i, result in ipairs(emulator.run(target, cases)) do
            assert.is_nil(result.fault)
            local batch, after = batches[i].batch, {}
            for n, old in ipairs(batch.old) do after[n] = expected(old, batch.data[n]) end
            assert.are.equal(accesses.image(after, bits), result.memory)
            local got = bits == 64 and result:v64(20) or result.v[20]
            for lane = 1, width do
              local old = batches[i].returning and batch.old[lane] or 0
              if old ~= got[lane] then assert.are.equal(old, got[lane], op) end
            end
          end
        end)
        ::continue::
      end

      it(("swaps after a comparison of %d bits, the new value first"):format(bits), function()
        local n = bits // 8
        local key = bits == 64 and "v64" or "v"
        local case = { v = { [0] = row(function(lane) return lane * n end) },
          memory = accesses.image(row(function(lane) return lane end), bits),
          code = ("global_atomic_cmpswap%s %s, v0, %s, s[2:3] glc"):format(suffix,
            registers(20, n), registers(10, 2 * n)) }
        case[key] = case[key] or {}
        case[key][10] = row(function(lane) return lane + 1000 end)
        case[key][10 + n // 4] = row(function(lane) return lane - lane % 3 end)
        local result = emulator.run(target, { case })[1]
        for lane = 0, width - 1 do
          local got = bits == 64 and result:v64(20) or result.v[20]
          assert.are.equal(lane, got[lane + 1])
          assert.are.equal(lane % 3 == 0 and lane + 1000 or lane,
            (string.unpack(bits == 64 and "<i8" or "<I4", result.memory, lane * n + 1)))
        end
      end)
    end

    it("applies atomics of all lanes on one word one after the other", function()
      local result = emulator.run(target, { { memory = ("\0"):rep(8), v = { [0] = 4, [10] = 1 },
        code = "global_atomic_add v20, v0, v10, s[2:3] glc" } })[1]
      local seen = {}
      for lane = 1, width do seen[result.v[20][lane]] = true end
      for n = 0, width - 1 do assert.is_true(seen[n]) end
      assert.are.equal(width, (string.unpack("<I4", result.memory, 5)))
    end)

    it("reaches LDS and private memory by flat addresses, and several spaces at once", function()
      local result = emulator.run(target, { { memory = ("abcdefgh"):rep(64), private = 64,
        lds = ("LDS!"):rep(64),
        -- lanes 0 mod 3 global, 1 mod 3 LDS, 2 mod 3 private
        v = { [0] = row(function(lane) return lane * 4 end),
          [20] = row(function(lane) return lane % 3 end), [21] = 0x10000, [22] = 0x20000,
          [23] = 40, [24] = 0x11111111, [26] = 40, [27] = 0x20000 },
        code = flat_address .. ([[
          flat_store_dword v[26:27], v24
          v_cmp_eq_u32 VCC, 1, v20
          v_cndmask_b32 v6, v6, v0, VCC
          v_cndmask_b32 v7, v7, v21, VCC
          v_cmp_eq_u32 VCC, 2, v20
          v_cndmask_b32 v6, v6, v23, VCC
          v_cndmask_b32 v7, v7, v22, VCC
          flat_load_dword v10, v[6:7]
          flat_atomic_add v11, v[6:7], v24 glc
          s_waitcnt vmcnt(0) lgkmcnt(0)
        ]]):gsub("VCC", width == 32 and "vcc_lo" or "vcc"):gsub("^", "\n") } })[1]
      assert.is_nil(result.fault)
      local before = { [0] = "abcd", "LDS!", "\x11\x11\x11\x11" }
      for lane = 0, width - 1 do
        local kind = lane % 3
        local old = string.unpack("<I4", kind == 0 and lane % 2 == 1 and "efgh" or before[kind])
        assert.are.equal(old, result.v[10][lane + 1])
        assert.are.equal(old, result.v[11][lane + 1])
        local image = kind == 0 and result.memory or kind == 1 and result.lds
        local at = kind == 2 and lane * 64 + 40 or lane * 4
        image = image or result.private
        assert.are.equal(old + 0x11111111, (string.unpack("<I4", image, at + 1)))
      end
    end)

    it("keeps the lanes' private memory apart, however it is addressed", function()
      local result = emulator.run(target, { { private = 80, s = { [4] = 16 },
        v = { [0] = row(function(lane) return lane % 4 * 4 end),
          [10] = row(function(lane) return lane end), [11] = 7, [12] = 8, [13] = 9 },
        code = [[
          scratch_store_dword v0, v10, off offset:4
          scratch_store_dwordx4 off, v[10:13], s4 offset:16
          scratch_store_byte off, v11, s4 offset:-1
          scratch_load_dwordx2 v[20:21], off, s4 offset:20
          scratch_load_sbyte v22, off, s4 offset:-1
          scratch_load_dword v23, v0, off offset:4
          s_waitcnt vmcnt(0)
        ]] } })[1]
      assert.is_nil(result.fault)
      for lane = 0, width - 1 do
        local image = ("\0"):rep(80)
        image = accesses.patched(image, lane % 4 * 4 + 4, string.pack("<I4", lane))
        image = accesses.patched(image, 32, string.pack("<I4I4I4I4", lane, 7, 8, 9))
        image = accesses.patched(image, 15, "\7")
        assert.are.equal(image, result.private:sub(lane * 80 + 1, lane * 80 + 80))
        assert.are.equal(7, result.v[20][lane + 1])
        assert.are.equal(8, result.v[21][lane + 1])
        assert.are.equal(7, result.v[22][lane + 1])
        local read = string.unpack("<I4", image, lane % 4 * 4 + 5)
        assert.are.equal(read, result.v[23][lane + 1])
      end
    end)

    it("stops at an address nothing is mapped at, and says which", function()
      local far = row(function(lane) return lane == 5 and 2 * PAGE or lane * 4 end)
      local memory_ = ("x"):rep(PAGE)
      local results = emulator.run(target, {
        { memory = memory_, v = { [0] = far }, code = "global_load_dword v1, v0, s[2:3]" },
        { memory = memory_, v = { [0] = far }, code = "global_store_dword v0, v1, s[2:3]" },
        { memory = memory_, v = { [0] = far }, code = "global_atomic_add v0, v1, s[2:3]" },
        { memory = memory_, v = { [0] = 4096 - 3 }, code = "global_load_dword v1, v0, s[2:3]" },
        { memory = memory_, v = { [0] = row(function(lane) return PAGE - 64 + lane * 4 end) },
          code = "global_load_dword v1, v0, s[2:3]" },
        { memory = memory_, v = { [0] = far }, exec = ~(1 << 5),
          code = "global_load_dword v1, v0, s[2:3]" },
        { v = { [6] = 0, [7] = 0 }, code = "flat_load_dword v1, v[6:7]" },
        { v = { [6] = 0, [7] = 0xffff8000 }, code = "flat_load_dword v1, v[6:7]" },
        { memory = memory_, constant = true, code = "global_load_dword v1, v0, s[2:3]" },
        { memory = memory_, constant = true, code = "global_store_dword v0, v1, s[2:3]" },
        { memory = memory_, constant = true, code = "global_atomic_or v0, v1, s[2:3]" },
      })
      local function at(n, offset, is_write)
        assert.are.equal("memory", results[n].fault_kind)
        assert.are.equal(offset, results[n].fault_address - results[n].address)
        assert.are.equal(is_write, results[n].fault_is_write)
        assert.are.equal(memory_, results[n].memory)
      end
      at(1, 2 * PAGE, false)
      at(2, 2 * PAGE, true)
      at(3, 2 * PAGE, true)
      at(4, PAGE - 3, false)
      at(5, PAGE, false)
      assert.is_nil(results[6].fault)
      assert.are.equal("memory", results[7].fault_kind)
      assert.are.equal(0, results[7].fault_address)
      assert.are.equal("memory", results[8].fault_kind)
      assert.are.equal(0xffff8000 << 32, results[8].fault_address)
      assert.is_nil(results[9].fault)
      at(10, 0, true)
      at(11, 0, true)
      local function says(n, text) assert.matches(text, results[n].fault, 1, true) end
      says(1, ", where this GPU has no memory: ")
      says(4, ", at the border of memory this GPU may access so: ")
      says(10, ", which this GPU may not write: ")
      says(11, ", which this GPU may not write: ")
    end)

    it("stops outside of LDS and private memory, and at crooked atomics", function()
      local results = emulator.run(target, {
        { lds = ("\0"):rep(64), v = { [6] = 61, [7] = 0x10000 },
          code = "flat_load_dword v1, v[6:7]" },
        { private = 64, v = { [6] = 61, [7] = 0x20000 }, code = "flat_store_dword v[6:7], v1" },
        { private = 64, v = { [0] = 64 }, code = "scratch_load_ubyte v1, v0, off" },
        { private = 64, v = { [0] = 0 }, code = "scratch_load_ubyte v1, v0, off offset:-1" },
        { code = "scratch_load_ubyte v1, v0, off" },
        { memory = ("\0"):rep(64), v = { [0] = 2 }, code = "global_atomic_add v0, v1, s[2:3]" },
        { memory = ("\0"):rep(64), v = { [0] = 4 },
          code = "global_atomic_add_x2 v0, v[10:11], s[2:3]" },
      })
      for i = 1, 5 do assert.are.equal("aperture", results[i].fault_kind) end
      assert.matches("read of 4 bytes of the workgroup's shared memory at byte 61, beyond its end: "
        .. "it has 64 bytes", results[1].fault, 1, true)
      assert.matches("write of 4 bytes of the work-item's private memory at byte 61",
        results[2].fault, 1, true)
      for i = 6, 7 do
        assert.are.equal("memory", results[i].fault_kind)
        assert.matches("not a multiple of " .. (i == 6 and 4 or 8), results[i].fault, 1, true)
      end
    end)

    it("reads and writes across the end of a page", function()
      local image = accesses.noise(2 * PAGE)
      local at = row(function(lane) return PAGE - 128 + lane * 4 + 1 end)
      local result = emulator.run(target, { { memory = image, v = { [0] = at },
        code = [[global_load_dwordx4 v[10:13], v0, s[2:3]
                 s_waitcnt vmcnt(0)
                 global_store_short v0, v0, s[2:3] offset:1024]] } })[1]
      assert.is_nil(result.fault)
      for lane = 1, width do
        assert.are.equal((string.unpack("<I4", image, at[lane] + 13)), result.v[13][lane])
        assert.are.equal(at[lane] & 0xffff, (string.unpack("<I2", result.memory, at[lane] + 1025)))
      end
    end)
  end)
end

describe("emulated memory", function()
  if not emulator.program then return pending("no emulator in this build") end
  local f32 = emulator.f32

  it("adds floats atomically on gfx90a, denormals of float32 flushed", function()
    local old = { f32(1.5), 1, f32(3.4e38), 0x7f800000, 0xff800001, 0x80000001 }
    local add = { f32(2.25), f32(1), f32(3.4e38), 0xff800000, f32(1), 0x80000000 }
    local sum = { f32(3.75), f32(1), 0x7f800000, 0x7fc00000, 0xffc00001, 0x80000000 }
    local results = emulator.run("gfx90a", {
      { memory = accesses.image(old, 32), exec = 63, v = { [10] = add,
        [0] = row(function(lane) return lane * 4 end) },
        code = "global_atomic_add_f32 v20, v0, v10, s[2:3] glc" },
      { memory = accesses.image({ emulator.f64(0.1), emulator.f64(-3), 1 }, 64), exec = 7,
        v = { [0] = row(function(lane) return lane * 8 end) },
        v64 = { [10] = { emulator.f64(0.2), emulator.f64(5), 1 } },
        code = [[global_atomic_add_f64 v0, v[10:11], s[2:3]
                 global_atomic_max_f64 v0, v[10:11], s[2:3]
                 global_atomic_min_f64 v[20:21], v0, v[10:11], s[2:3] glc]] },
      { memory = string.pack("<I2I2", emulator.f16(1), emulator.f16(65504)), exec = 1,
        v = { [10] = emulator.f16(2^-11) | emulator.f16(65504) << 16 },
        code = "global_atomic_pk_add_f16 v0, v10, s[2:3]" },
    })
    assert.are.equal(accesses.image(sum, 32), results[1].memory)
    for lane = 1, 6 do assert.are.equal(old[lane], results[1].v[20][lane]) end
    assert.are.equal(accesses.image({ emulator.f64(0.2), emulator.f64(5), 1 }, 64),
      results[2].memory)
    assert.are.equal(emulator.f64(0.1 + 0.2), results[2]:v64(20)[1])
    assert.are.equal(emulator.f64(5), results[2]:v64(20)[2])
    assert.are.equal(2, results[2]:v64(20)[3])
    assert.are.equal(string.pack("<I2I2", emulator.f16(1), 0x7c00), results[3].memory)
  end)

  it("subtracts down to zero and compares floats on gfx1030", function()
    local at = row(function(lane) return lane * 4 end)
    local results = emulator.run("gfx1030", {
      { memory = accesses.image({ 5, 5, 0 }, 32), exec = 7, v = { [0] = at, [10] = { 3, 6, 0 } },
        code = "global_atomic_csub v20, v0, v10, s[2:3] glc" },
      { memory = accesses.image({ 0, 0x80000000, 0x7fc00000 }, 32), exec = 7,
        v = { [0] = at, [10] = 77, [11] = { 0x80000000, 0, 0x7fc00000 } },
        code = "global_atomic_fcmpswap v0, v[10:11], s[2:3]" },
      { memory = ("\0"):rep(256), v = { [1] = row(function(lane) return lane + 100 end) },
        code = [[global_store_dword_addtid v1, s[2:3] offset:4
                 global_load_dword_addtid v2, s[2:3] offset:8]] },
    })
    assert.are.equal(accesses.image({ 2, 0, 0 }, 32), results[1].memory)
    assert.are.equal(accesses.image({ 77, 77, 0x7fc00000 }, 32), results[2].memory)
    for lane = 1, 32 do
      assert.are.equal(lane + 99, (string.unpack("<I4", results[3].memory, 4 * lane + 1)))
      assert.are.equal(lane < 32 and lane + 100 or 0, results[3].v[2][lane])
    end
  end)
end)
