-- ds_ instructions of the emulator: the workgroup's LDS in every width, its atomics, and data that
-- goes from lane to lane.
local accesses = require("support.accesses")
local emulator = require("support.emulator")

local OLD, row, registers = accesses.OLD, accesses.row, accesses.registers
local f32, f64 = emulator.f32, emulator.f64

local function run(target, case)
  local result = emulator.run(target, { case })[1]
  assert.is_nil(result.fault)
  return result
end

local function is_active(exec, lane)
  return exec >> lane & 1 == 1
end

-- Names of LDS atomics and of what they do (support/accesses.lua).
local ATOMICS = {
  { "add", "u", "add" }, { "sub", "u", "sub" }, { "rsub", "u", "rsub" }, { "inc", "u", "inc" },
  { "dec", "u", "dec" }, { "min", "i", "smin" }, { "max", "i", "smax" }, { "min", "u", "umin" },
  { "max", "u", "umax" }, { "and", "b", "and" }, { "or", "b", "or" }, { "xor", "b", "xor" },
  { "min", "f", "fmin" }, { "max", "f", "fmax" },
}

-- ds_swizzle's patterns: text, and the lane of 32 that each reads.
local function reversed5(lane)
  local bits = 0
  for i = 0, 4 do bits = bits | (lane >> i & 1) << (4 - i) end
  return bits
end
local SWIZZLES = {
  { "swizzle(QUAD_PERM, 1, 0, 3, 3)", function(lane)
    return (lane & ~3) + ({ 1, 0, 3, 3 })[lane % 4 + 1]
  end },
  { "swizzle(BROADCAST, 8, 3)", function(lane) return (lane & ~7) + 3 end },
  { "swizzle(SWAP, 16)", function(lane) return lane ~ 16 end },
  { "swizzle(REVERSE, 8)", function(lane) return lane ~ 7 end },
  { 'swizzle(BITMASK_PERM, "01pip")', function(lane) return (lane & 7 | 8) ~ 2 end },
  { "swizzle(ROTATE, 0, 5)", function(lane) return (lane + 5) % 32 end },
  { "swizzle(ROTATE, 1, 5)", function(lane) return (lane - 5) % 32 end },
  { "swizzle(FFT, 0)", reversed5 },
  { "swizzle(FFT, 31)", function(lane) return lane end },
  { "swizzle(FFT, 1)", function(lane) return reversed5(lane) >> 1 | lane & 1 end },
  { "0xc007", function(lane) return lane end }, -- rotates by none
  { "0x401f", function(lane) return lane ~ 16 end },
}

for _, target in ipairs({ "gfx90a", "gfx1030", "gfx1030:wave64", "gfx1100", "gfx1201" }) do
  local generation, width = emulator.generation(target)
  local lds = accesses.noise(64 * 17 + 64)
  local partial = 0x0ff0f00f31248001

  describe(("emulated LDS of %s"):format(target), function()
    if not emulator.program then return pending("no emulator in this build") end

    it("is read in every width", function()
      local cases, checks = {}, {}
      for _, load in ipairs(accesses.loads) do
        for name, offset_of in pairs(accesses.patterns) do
          for _, exec in ipairs({ -1, partial }) do
            local at = function(lane) return offset_of(lane, load.nbytes) + 16 end
            cases[#cases + 1] = { lds = lds, exec = exec,
              v = { [0] = row(function(lane) return at(lane) - 16 end), [10] = OLD, [11] = OLD,
                [12] = OLD, [13] = OLD },
              code = ("ds_read_%s %s, v0 offset:16"):format(load.lds,
                registers(10, load.nbytes)) }
            checks[#checks + 1] = { load = load, at = at, exec = exec, title = load.lds .. name }
          end
        end
      end
      for i, result in ipairs(emulator.run(target, cases)) do
        local check = checks[i]
        assert.is_nil(result.fault)
        for lane = 0, 63 do
          local active = lane < width and is_active(check.exec, lane)
          local words = active and check.load.value(lds, check.at(lane) + 1, OLD) or {}
          for n = 0, 3 do
            local expected, got = words[n + 1] or OLD, result.v[10 + n][lane + 1]
            if expected ~= got then assert.are.equal(expected, got, check.title) end
          end
        end
      end
    end)

    it("is written in every width", function()
      local cases, checks = {}, {}
      for _, store in ipairs(accesses.stores) do
        for name, offset_of in pairs(accesses.patterns) do
          for _, exec in ipairs({ -1, partial }) do
            local at = function(lane) return offset_of(lane, store.nbytes) + 16 end
            local v = { [0] = row(function(lane) return at(lane) - 16 end) }
            for n = 0, 3 do
              v[10 + n] = row(function(lane) return lane * 0x01030507 + n * 0x10605040 end)
            end
            cases[#cases + 1] = { lds = lds, exec = exec, v = v,
              code = ("ds_write_%s v0, %s offset:16"):format(store.lds,
                registers(10, store.nbytes)) }
            checks[#checks + 1] = { store = store, at = at, title = store.lds .. name }
          end
        end
      end
      for i, result in ipairs(emulator.run(target, cases)) do
        local check, case, image = checks[i], cases[i], lds
        for lane = 0, width - 1 do
          if is_active(case.exec, lane) then
            local words = {}
            for n = 0, 3 do words[n + 1] = case.v[10 + n][lane + 1] & 0xffffffff end
            image = accesses.patched(image, check.at(lane), check.store.bytes(words))
          end
        end
        assert.is_nil(result.fault)
        assert.are.equal(image, result.lds, check.title)
      end
    end)

    it("is accessed at two places at once, offsets counted in elements or 64 of them", function()
      local big = accesses.noise(64 * 8 * 8)
      local at = row(function(lane) return lane * 4 end)
      for _, form in ipairs({ { "b32", 4, 1, "" }, { "b64", 8, 1, "" }, { "b32", 4, 64, "st64" },
        { "b64", 8, 64, "st64" } }) do
        local name, nbytes, unit, st64 = table.unpack(form)
        local n = nbytes // 4
        local result = run(target, { lds = big, v = { [0] = at },
          code = ("ds_read2%s_%s %s, v0 offset0:3 offset1:5"):format(st64, name,
            registers(10, 2 * nbytes)) })
        local written = run(target, { lds = big, v = { [0] = at, [20] = 1, [21] = 2, [22] = 3,
          [23] = 4 },
          code = ("ds_write2%s_%s v0, %s, %s offset0:0 offset1:6"):format(st64, name,
            registers(20, nbytes), registers(22, nbytes)) })
        local image, format = big, "<" .. ("I4"):rep(n)
        for lane = 0, width - 1 do
          for half = 0, 1 do
            for word = 0, n - 1 do
              local from = lane * 4 + (half == 0 and 3 or 5) * nbytes * unit + 4 * word
              assert.are.equal((string.unpack("<I4", big, from + 1)),
                result.v[10 + half * n + word][lane + 1])
            end
          end
        end
        for half = 0, 1 do
          for lane = 0, width - 1 do
            image = accesses.patched(image, lane * 4 + 6 * half * nbytes * unit,
              string.pack(format, 1 + 2 * half, 2 + 2 * half))
          end
        end
        assert.are.equal(image, written.lds)
      end
    end)

    it("reads two places into the register that had the address", function()
      local result = run(target, { lds = lds, v = { [0] = 8 },
        code = "ds_read2_b32 v[0:1], v0 offset1:1" })
      assert.are.equal((string.unpack("<I4", lds, 9)), result.v[0][1])
      assert.are.equal((string.unpack("<I4", lds, 13)), result.v[1][1])
    end)

    it("finds a lane's word by its number", function()
      local result = run(target, { lds = lds, m0 = 0xabcd0008, v = { [1] = 77 },
        code = [[ds_read_addtid_b32 v2 offset:4
                 s_waitcnt lgkmcnt(0)
                 ds_write_addtid_b32 v1 offset:64]] })
      for lane = 0, width - 1 do
        assert.are.equal((string.unpack("<I4", lds, 13 + 4 * lane)), result.v[2][lane + 1])
        assert.are.equal(77, (string.unpack("<I4", result.lds, 73 + 4 * lane)))
      end
    end)

    for _, bits in ipairs({ 32, 64 }) do
      it(("does atomics of %d bits on edge values"):format(bits), function()
        local cases, checks = {}, {}
        local key, data = bits == 64 and "v64" or "v", registers(10, bits // 8)
        local after_of = accesses.atomics_of(generation)[bits]
        for _, atomic in ipairs(ATOMICS) do
          for _, batch in ipairs(accesses.pairs_of(bits, width)) do
            for _, rtn in ipairs({ "", "_rtn" }) do
              local dst = rtn == "" and "" or registers(20, bits // 8) .. ", "
              local case = { lds = ("\0"):rep(8) .. accesses.image(batch.old, bits), v = {},
                code = ("ds_%s%s_%s%d %sv0, %s offset:8"):format(atomic[1], rtn, atomic[2], bits,
                  dst, data) }
              case[key] = { [10] = batch.data }
              case.v[0] = row(function(lane) return lane * bits // 8 end)
              cases[#cases + 1] = case
              checks[#checks + 1] = { batch = batch, after = after_of[atomic[3]],
                returns = rtn ~= "" }
            end
          end
        end
        for i, result in ipairs(emulator.run(target, cases)) do
          local batch, after = checks[i].batch, {}
          for n, old in ipairs(batch.old) do after[n] = checks[i].after(old, batch.data[n]) end
          assert.is_nil(result.fault)
          assert.are.equal(accesses.image(after, bits), result.lds:sub(9), cases[i].code)
          local got = bits == 64 and result:v64(20) or result.v[20]
          for lane = 1, width do
            local old = checks[i].returns and batch.old[lane] or 0
            if old ~= got[lane] then assert.are.equal(old, got[lane], cases[i].code) end
          end
        end
      end)

      it(("exchanges, compares and masks %d bits with the arguments in LDS order"):format(bits),
        function()
          local n, key = bits // 8, bits == 64 and "v64" or "v"
          local function case(op, first, second)
            local result = { lds = accesses.image(row(function(lane) return lane + 256 end), bits),
              v = { [0] = row(function(lane) return lane * n end) },
              code = ("ds_%s_rtn_b%d %s, v0, %s"):format(op, bits, registers(20, n),
                registers(10, n)) .. (second and ", " .. registers(12, n) or "") }
            result[key] = result[key] or {}
            result[key][10], result[key][12] = first, second
            return result
          end
          local results = emulator.run(target, {
            generation > 10 and
              case("cmpstore", 1000, row(function(lane) return lane + 256 - lane % 3 end)) or
              case("cmpst", row(function(lane) return lane + 256 - lane % 3 end), 1000),
            case("mskor", 0x101, 0x8002),
            case("wrxchg", 5),
          })
          local expected = {
            function(lane) return lane % 3 == 0 and 1000 or lane + 256 end,
            function(lane) return (lane + 256) & ~0x101 | 0x8002 end,
            function() return 5 end,
          }
          for i, result in ipairs(results) do
            assert.is_nil(result.fault)
            local got = bits == 64 and result:v64(20) or result.v[20]
            for lane = 0, width - 1 do
              assert.are.equal(lane + 256, got[lane + 1])
              assert.are.equal(expected[i](lane),
                (string.unpack(bits == 64 and "<i8" or "<I4", result.lds, lane * n + 1)))
            end
          end
        end)
    end

    it("wraps around, exchanges twice, and compares floats", function()
      local at = row(function(lane) return lane * 4 end)
      -- gfx11 has the new value first; gfx12 neither wraps nor compares floats
      local is_gfx11 = generation == 11
      local compare = is_gfx11 and "ds_cmpstore_f32 v0, v11, v10" or "ds_cmpst_f32 v0, v10, v11"
      local compare64 = is_gfx11 and "ds_cmpstore_rtn_f64 v[20:21], v0, v[12:13], v[10:11]" or
        "ds_cmpst_rtn_f64 v[20:21], v0, v[10:11], v[12:13]"
      if generation == 12 then compare, compare64 = "", "" end
      local results = emulator.run(target, {
        { lds = accesses.image({ 7, 3, 5 }, 32), exec = 7, v = { [0] = at, [10] = 5, [11] = 100 },
          code = generation < 12 and "ds_wrap_rtn_b32 v20, v0, v10, v11" or "" },
        { lds = accesses.image({ 1, 2, 3, 4 }, 32), exec = 1, v = { [10] = 8, [11] = 9 },
          code = "ds_wrxchg2_rtn_b32 v[10:11], v0, v11, v10 offset0:1 offset1:2" },
        { lds = accesses.image({ 0, 0x80000000, 0x7fc00000, f32(2) }, 32), exec = 15,
          v = { [0] = at, [10] = { 0x80000000, 0, 0x7fc00000, f32(3) }, [11] = 77 },
          code = compare },
        { lds = accesses.image({ f64(2) }, 64), exec = 1, v64 = { [10] = f64(2), [12] = 77 },
          code = compare64 },
      })
      if generation < 12 then
        assert.are.equal(accesses.image({ 2, 103, 0 }, 32), results[1].lds)
      end
      assert.are.equal(accesses.image({ 1, 9, 8, 4 }, 32), results[2].lds)
      assert.are.equal(2, results[2].v[10][1])
      assert.are.equal(3, results[2].v[11][1])
      if generation == 12 then return end
      assert.are.equal(accesses.image({ 77, 77, 0x7fc00000, f32(2) }, 32), results[3].lds)
      assert.are.equal(accesses.image({ 77 }, 64), results[4].lds)
      assert.are.equal(f64(2), results[4]:v64(20)[1])
    end)

    it("adds floats as the mode treats denormals", function()
      local case = { lds = accesses.image({ f32(1.5), 1, 0x7f800000, 0xff800001 }, 32), exec = 15,
        v = { [0] = row(function(lane) return lane * 4 end),
          [10] = { f32(2.25), 2, 0xff800000, f32(1) } },
        code = "ds_add_rtn_f32 v20, v0, v10" }
      local flushing = {}
      for k, v in pairs(case) do flushing[k] = v end
      flushing.mode = 0x3c0
      local results = emulator.run(target, { case, flushing })
      assert.are.equal(accesses.image({ f32(3.75), 3, 0x7fc00000, 0xffc00001 }, 32),
        results[1].lds)
      assert.are.equal(accesses.image({ f32(3.75), 0, 0x7fc00000, 0xffc00001 }, 32),
        results[2].lds)
      assert.are.equal(f32(1.5), results[1].v[20][1])
    end)

    it("counts lanes", function()
      local result = run(target, { lds = accesses.image({ 0, 10, 0, 50 }, 32), exec = 0x8000000f,
        m0 = 4, v = { [1] = OLD },
        code = "ds_append v1\ns_waitcnt lgkmcnt(0)\nds_consume v2 offset:8" })
      assert.are.equal(accesses.image({ 0, 15, 0, 45 }, 32), result.lds)
      for lane = 1, 64 do
        local active = is_active(0x8000000f, lane - 1)
        assert.are.equal(active and 10 or OLD, result.v[1][lane])
        assert.are.equal(active and 50 or 0, result.v[2][lane])
      end
    end)

    it("stops beyond its end and at misaligned atomics, and tells where", function()
      local lane_at = row(function(lane) return lane == 9 and 62 or 0 end)
      local bytes = ("q"):rep(64)
      local results = emulator.run(target, {
        { lds = bytes, v = { [0] = lane_at }, code = "ds_read_b32 v1, v0" },
        { lds = bytes, v = { [0] = lane_at }, code = "ds_write_b64 v0, v[2:3]" },
        { lds = bytes, v = { [0] = lane_at }, exec = ~(1 << 9), code = "ds_write_b64 v0, v[2:3]" },
        { lds = bytes, v = { [0] = 60 }, code = "ds_read2_b32 v[2:3], v0 offset1:1" },
        { lds = bytes, v = { [0] = 2 }, code = "ds_add_u32 v0, v1" },
        { lds = bytes, v = { [0] = 0xfffffff0 }, code = "ds_read_b32 v1, v0" },
        { lds = bytes, v = { [0] = 0xfffffff0 }, code = "ds_read_b32 v1, v0 offset:20" },
        { v = { [0] = 0 }, code = "ds_read_u8 v1, v0" },
        { lds = bytes, v = { [0] = row(function(lane) return lane * 4 end) },
          code = "ds_read_b32 v1, v0" },
        { lds = bytes, code = generation == 10 and "ds_add_u32 v0, v1 gds" or "" },
      })
      for _, i in ipairs({ 1, 2, 4, 5, 6, 8, 9 }) do
        assert.are.equal("aperture", results[i].fault_kind, i)
      end
      assert.matches("read of 4 bytes of the workgroup's shared memory at byte 62, beyond its end: "
        .. "it has 64 bytes", results[1].fault, 1, true)
      assert.matches("work-item (10, 1, 1)", results[1].fault, 1, true)
      assert.matches("write of 8 bytes", results[2].fault, 1, true)
      assert.are.equal(bytes, results[2].lds)
      assert.is_nil(results[3].fault)
      assert.matches("not a multiple of 4", results[5].fault, 1, true)
      assert.is_nil(results[7].fault) -- wraps to byte 4
      assert.matches("it has 0 bytes", results[8].fault, 1, true)
      assert.matches("at byte 64", results[9].fault, 1, true)
      if generation == 10 then
        assert.are.equal("illegal", results[10].fault_kind)
        assert.matches("modifier 'gds' is not known", results[10].fault, 1, true)
      end
    end)

    it("sends words from lane to lane, inactive ones giving none", function()
      local data = row(function(lane) return lane + 1000 end)
      local from = row(function(lane) return (lane * 7 + 90) * 4 + lane % 4 end)
      local result = run(target, { exec = partial, v = { [0] = from, [1] = data, [10] = OLD,
        [11] = OLD },
        code = [[ds_bpermute_b32 v10, v0, v1 offset:8
                 ds_permute_b32 v11, v0, v1 offset:8]] })
      local block = generation == 9 and 64 or 32
      local pushed = {}
      local function meant(lane)
        return (lane * 7 + 92) % block + (block == 32 and lane & 32 or 0)
      end
      for lane = 0, width - 1 do
        if is_active(partial, lane) then pushed[meant(lane)] = data[lane + 1] end
      end
      for lane = 0, 63 do
        local active = lane < width and is_active(partial, lane)
        local source = meant(lane)
        local pulled = is_active(partial, source) and data[source + 1] or 0
        assert.are.equal(active and pulled or OLD, result.v[10][lane + 1])
        assert.are.equal(active and (pushed[lane] or 0) or OLD, result.v[11][lane + 1])
      end
    end)

    it("swizzles by every kind of pattern", function()
      local cases, data = {}, row(function(lane) return lane + 1000 end)
      for _, swizzle in ipairs(SWIZZLES) do
        for _, exec in ipairs({ -1, partial }) do
          cases[#cases + 1] = { exec = exec, v = { [1] = data, [10] = OLD },
            code = ("ds_swizzle_b32 v10, v1 offset:%s"):format(swizzle[1]) }
        end
      end
      for i, result in ipairs(emulator.run(target, cases)) do
        local exec = cases[i].exec
        for lane = 0, 63 do
          local source = SWIZZLES[(i + 1) // 2][2](lane & 31) | lane & 32
          local expected = is_active(exec, source) and data[source + 1] or 0
          if lane >= width or not is_active(exec, lane) then expected = OLD end
          assert.are.equal(expected, result.v[10][lane + 1], cases[i].code)
        end
      end
    end)
  end)
end

describe("emulated LDS", function()
  if not emulator.program then return pending("no emulator in this build") end

  it("adds float64 on gfx90a", function()
    local result = run("gfx90a", { lds = accesses.image({ f64(0.1), f64(-3) }, 64), exec = 3,
      v = { [0] = row(function(lane) return lane * 8 end) }, v64 = { [10] = { f64(0.2), f64(5) } },
      code = "ds_add_f64 v0, v[10:11]\nds_nop" })
    assert.are.equal(accesses.image({ f64(0.1 + 0.2), f64(2) }, 64), result.lds)
  end)
end)
