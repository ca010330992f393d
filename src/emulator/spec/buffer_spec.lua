-- buffer_ instructions of the emulator: addresses from resources on both chips, bounds, and the
-- private memory of compilers.
local accesses = require("support.accesses")
local emulator = require("support.emulator")

local OLD, row, registers = accesses.OLD, accesses.row, accesses.registers
local RAW_GFX10 = 3 << 28 -- bounds of bytes

-- Lines that make the resource s[4:7] of the memory at s[2:3].
local function resource(target, r)
  local word3 = r.bounds or RAW_GFX10
  word3 = word3 | (r.adds_lane and 1 << 23 or 0) | (r.index_stride or 0) << 21
  local generation = emulator.generation(target)
  if generation == 9 then word3 = word3 & ~(3 << 28) end
  local element = r.swizzled and (generation > 10 and (r.element or 4) // 8 + 1 << 30 or 1 << 31)
  return ([[s_mov_b32 s4, s2
            s_or_b32 s5, s3, 0x%x
            s_mov_b32 s6, 0x%x
            s_mov_b32 s7, 0x%x
]]):format((r.stride or 0) << 16 | (element or 0), r.records, word3)
end

local function run(target, case)
  local result = emulator.run(target, { case })[1]
  assert.is_nil(result.fault)
  return result
end

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1100", "gfx1201" }) do
  local generation, width = emulator.generation(target)
  local memory = accesses.noise(2048)
  local plain = { records = 2048 }

  describe(("emulated buffers of %s"):format(target), function()
    if not emulator.program then return pending("no emulator in this build") end

    it("loads every width at vector, scalar and immediate offsets", function()
      local cases, checks = {}, {}
      for _, load in ipairs(accesses.loads) do
        for _, form in ipairs({ { vector = "v0", scalar = "s8", rest = "offen offset:12",
          base = 53, each = 16 }, { vector = "off", scalar = "s8", rest = "offset:1001",
          base = 1041, each = 0 },
          { vector = "off", scalar = "0", rest = "", base = 0, each = 0 } }) do
          cases[#cases + 1] = { memory = memory, exec = 0xfffffff0ffffff07, s = { [8] = 40 },
            v = { [0] = row(function(lane) return lane * 16 + 1 end), [10] = OLD, [11] = OLD,
              [12] = OLD, [13] = OLD },
            code = resource(target, plain) .. ("buffer_load_%s %s, %s, s[4:7], %s %s"):format(
              load.name, registers(10, load.nbytes), form.vector, form.scalar, form.rest) }
          checks[#checks + 1] = { load = load, form = form }
        end
      end
      for i, result in ipairs(emulator.run(target, cases)) do
        local check = checks[i]
        assert.is_nil(result.fault)
        for lane = 0, 63 do
          local active = lane < width and cases[i].exec >> lane & 1 == 1
          local at = check.form.base + check.form.each * lane
          local words = active and check.load.value(memory, at + 1, OLD) or {}
          for n = 0, check.load.nbytes // 4 - 1 do
            local expected, got = words[n + 1] or OLD, result.v[10 + n][lane + 1]
            if expected ~= got then assert.are.equal(expected, got, check.load.name) end
          end
        end
      end
    end)

    it("stores every width", function()
      local cases = {}
      for _, store in ipairs(accesses.stores) do
        cases[#cases + 1] = { memory = memory, s = { [8] = 100 },
          v = { [0] = row(function(lane) return lane * 17 end), [10] = 0x11223344,
            [11] = 0x55667788, [12] = 0x99aabbcc, [13] = 0xddeeff00 },
          code = resource(target, plain) .. ("buffer_store_%s %s, v0, s[4:7], s8 offen offset:3")
            :format(store.name, registers(10, store.nbytes)) }
      end
      for i, result in ipairs(emulator.run(target, cases)) do
        local image = memory
        local bytes = accesses.stores[i].bytes({ 0x11223344, 0x55667788, 0x99aabbcc, 0xddeeff00 })
        for lane = 0, width - 1 do image = accesses.patched(image, lane * 17 + 103, bytes) end
        assert.is_nil(result.fault)
        assert.are.equal(image, result.memory)
      end
    end)

    it("reads zero and writes nothing beyond the records, word by word", function()
      local records = 4 * width + 8 -- the last lane's last two words are out
      local result = run(target, { memory = memory,
        v = { [0] = row(function(lane) return lane * 4 + 4 end), [10] = OLD, [11] = OLD,
          [12] = OLD },
        code = resource(target, { records = records }) .. [[
          buffer_load_dwordx3 v[10:12], v0, s[4:7], 0 offen
          s_waitcnt vmcnt(0)
          buffer_store_dword v0, v0, s[4:7], 0 offen offset:8
          buffer_atomic_add v20, v0, s[4:7], 0 offen offset:16 glc
          buffer_load_short_d16 v21, v0, s[4:7], 0 offen offset:4095
        ]] })
      for lane = 0, width - 1 do
        for n = 0, 2 do
          local at = lane * 4 + 4 + 4 * n
          local expected = at + 4 <= records and string.unpack("<I4", memory, at + 1) or 0
          assert.are.equal(expected, result.v[10 + n][lane + 1])
        end
      end
      assert.are.equal(memory:sub(records + 1), result.memory:sub(records + 1))
      local last = width - 2 -- writes at lane * 4 + 12
      assert.are.equal(0, result.v[20][last + 2])
      assert.are.equal((last - 1) * 4 + 4,
        (string.unpack("<I4", result.memory, (last - 1) * 4 + 12 + 1)))
    end)

    it("takes nothing that the scalar offset moves out", function()
      local result = run(target, { memory = memory, s = { [8] = 96 },
        v = { [0] = row(function(lane) return lane * 4 end) },
        code = resource(target, { records = 128 })
          .. "buffer_load_dword v10, v0, s[4:7], s8 offen" })
      for lane = 0, width - 1 do
        local expected = lane < 8 and string.unpack("<I4", memory, lane * 4 + 97) or 0
        assert.are.equal(expected, result.v[10][lane + 1])
      end
    end)

    it("counts records of a stride with idxen", function()
      local result = run(target, { memory = memory,
        v = { [0] = row(function(lane) return lane end),
          [1] = row(function(lane) return lane % 5 end) },
        code = resource(target, { records = 20, stride = 12, bounds = 1 << 28 })
          .. "buffer_load_ubyte v10, v[0:1], s[4:7], 0 idxen offen offset:2" })
      for lane = 0, width - 1 do
        local expected = lane < 20 and memory:byte(lane * 12 + lane % 5 + 2 + 1) or 0
        assert.are.equal(expected, result.v[10][lane + 1])
      end
    end)

    it("lays neighbouring indices side by side in a swizzled buffer", function()
      local result = run(target, { memory = memory,
        v = { [0] = row(function(lane) return lane % 6 end) },
        code = resource(target, { records = 2048, stride = 16, swizzled = true, adds_lane = true,
          index_stride = 1, bounds = 2 << 28 })
          .. "buffer_load_ubyte v10, v0, s[4:7], 0 offen offset:5" })
      for lane = 0, width - 1 do
        local offset = lane % 6 + 5
        local at = (lane // 16 * 16 + offset // 4 * 4) * 16 + lane % 16 * 4 + offset % 4
        local expected = at < 2048 and memory:byte(at + 1)
        assert.are.equal(expected, result.v[10][lane + 1])
      end
    end)

    for _, element in ipairs(generation > 10 and { 8, 16 } or {}) do
      it(("keeps %d bytes together in a swizzled buffer"):format(element), function()
        local result = run(target, { memory = memory,
          v = { [0] = row(function(lane) return lane * 5 % 27 end) },
          code = resource(target, { records = 2048, stride = 32, swizzled = true, element = element,
            adds_lane = true, index_stride = 1, bounds = 2 << 28 })
            .. "buffer_load_ubyte v10, v0, s[4:7], 0 offen offset:5" })
        for lane = 0, width - 1 do
          local offset = lane * 5 % 27 + 5
          local at = (lane // 16 * 32 + offset // element * element) * 16
            + lane % 16 * element + offset % element
          assert.are.equal(memory:byte(at + 1), result.v[10][lane + 1])
        end
      end)
    end

    for bits, suffix in pairs({ [32] = "", [64] = "_x2" }) do
      it(("does atomics on %d bits and gives back what was there"):format(bits), function()
        local ops = { "swap", "add", "sub", "and", "or", "xor", "umin", "umax", "smin", "smax",
          "inc", "dec" }
        local batch = accesses.pairs_of(bits, width)[2]
        local cases, key = {}, bits == 64 and "v64" or "v"
        for _, op in ipairs(ops) do
          for _, glc in ipairs({ "", " glc" }) do
            local case = { memory = accesses.image(batch.old, bits), v = {},
              code = resource(target, plain) .. ("buffer_atomic_%s %s, v0, s[4:7], 0 offen%s")
                :format(op .. suffix, registers(10, bits // 8), glc) }
            case[key] = { [10] = batch.data }
            case.v[0] = row(function(lane) return lane * bits // 8 end)
            cases[#cases + 1] = case
          end
        end
        for i, result in ipairs(emulator.run(target, cases)) do
          local expected, after = accesses.atomics_of(generation)[bits][ops[(i + 1) // 2]], {}
          for n, old in ipairs(batch.old) do after[n] = expected(old, batch.data[n]) end
          assert.is_nil(result.fault)
          assert.are.equal(accesses.image(after, bits), result.memory)
          local got = bits == 64 and result:v64(10) or result.v[10]
          for lane = 1, width do
            local left = i % 2 == 0 and batch.old[lane] or batch.data[lane]
            if left ~= got[lane] then assert.are.equal(left, got[lane], cases[i].code) end
          end
        end
      end)
    end

    it("swaps after a comparison", function()
      local result = run(target, { memory = accesses.image(row(function(lane) return lane end), 32),
        v = { [0] = row(function(lane) return lane * 4 end), [10] = 1000, [11] = 7 },
        code = resource(target, plain)
          .. "buffer_atomic_cmpswap v[10:11], v0, s[4:7], 0 offen glc" })
      for lane = 0, width - 1 do
        assert.are.equal(lane == 7 and 1000 or lane,
          (string.unpack("<I4", result.memory, 4 * lane + 1)))
        assert.are.equal(lane, result.v[10][lane + 1])
      end
    end)

    it("keeps the lanes' private memory apart, the stack pointer counting all lanes", function()
      local result = run(target, { private = 64, private_in = 4, s = { [33] = 16 * width },
        v = { [0] = row(function(lane) return lane % 4 * 4 end),
          [10] = row(function(lane) return lane + 1 end), [11] = 0xabcd },
        code = [[
          buffer_store_dword v10, off, s[4:7], 0 offset:4
          buffer_store_dword v10, v0, s[4:7], s33 offen offset:8
          buffer_store_short v11, off, s[4:7], s33 offset:2
          buffer_load_dword v20, off, s[4:7], s33 offset:8
          buffer_load_ushort v21, off, s[4:7], 0 offset:18
          buffer_load_dwordx2 v[22:23], off, s[4:7], 0 offset:4
          scratch_load_dword v24, v25, off offset:4
          s_waitcnt vmcnt(0)
        ]] })
      for lane = 0, width - 1 do
        local image = accesses.patched(("\0"):rep(64), 4, string.pack("<I4", lane + 1))
        image = accesses.patched(image, 24 + lane % 4 * 4, string.pack("<I4", lane + 1))
        image = accesses.patched(image, 18, string.pack("<I2", 0xabcd))
        assert.are.equal(image, result.private:sub(lane * 64 + 1, lane * 64 + 64))
        assert.are.equal(lane % 4 == 0 and lane + 1 or 0, result.v[20][lane + 1])
        assert.are.equal(0xabcd, result.v[21][lane + 1])
        assert.are.equal(lane + 1, result.v[22][lane + 1])
        assert.are.equal(lane + 1, result.v[24][lane + 1])
      end
    end)

    it("stops outside of private memory and at unmapped buffers", function()
      local results = emulator.run(target, {
        { private = 64, private_in = 4, code = "buffer_load_dword v1, off, s[4:7], 0 offset:61" },
        { private = 64, private_in = 4, v = { [0] = row(function(lane) return lane * 2 end) },
          code = "buffer_store_dword v1, v0, s[4:7], 0 offen" },
        { private = 64, private_in = 4, s = { [33] = 12 },
          code = "buffer_store_dword v1, off, s[4:7], s33" },
        { memory = "x", v = { [0] = 4096 },
          code = resource(target, { records = 0xffffffff })
            .. "buffer_load_dword v1, v0, s[4:7], 0 offen" },
        { memory = "x", constant = true, code = resource(target, { records = 0xffffffff })
          .. "buffer_store_byte v1, off, s[4:7], 0" },
        { private = 64, private_in = 4, code = "buffer_load_dword v1, v0, s[4:7], 0 idxen" },
      })
      assert.are.equal("aperture", results[1].fault_kind)
      assert.matches("byte 61", results[1].fault, 1, true)
      assert.are.equal("aperture", results[2].fault_kind)
      assert.matches("byte 62", results[2].fault, 1, true)
      assert.are.equal(("\0"):rep(64 * 64), results[2].private)
      assert.are.equal("aperture", results[3].fault_kind)
      assert.matches("scalar offset 12", results[3].fault, 1, true)
      assert.are.equal("memory", results[4].fault_kind)
      assert.are.equal(4096, results[4].fault_address - results[4].address)
      assert.are.equal("memory", results[5].fault_kind)
      assert.is_true(results[5].fault_is_write)
      assert.are.equal("illegal", results[6].fault_kind)
      assert.matches("addressed by an index in buffer_load_", results[6].fault, 1, true)
    end)

    it("knows the cache instructions", function()
      run(target, { code = generation == 9
        and "buffer_wbinvl1\nbuffer_wbinvl1_vol\nbuffer_wbl2\nbuffer_invl2"
        or generation == 12 and "global_inv\nglobal_wb\nglobal_wbinv"
        or "buffer_gl0_inv\nbuffer_gl1_inv" })
    end)
  end)
end
