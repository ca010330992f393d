-- Loads from memory into LDS: M0 and the offset say where the first lane's word goes, and the
-- others follow it.
local emulator = require "support.emulator"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

local MEMORY, LDS = {}, {}
for i = 1, 64 * 16 + 64 do
  MEMORY[i] = string.char((i * 37 + i // 256) & 0xff)
  LDS[i] = string.char(i * 11 & 0xff)
end
MEMORY, LDS = table.concat(MEMORY), table.concat(LDS)

-- Lane n reads `step` bytes times 63 - n, so that the order in LDS is another one.
local function lds_after(chip, code, step, options)
  local offsets = {}
  for lane = 1, 64 do offsets[lane] = (64 - lane) * step end
  return emulator.run(chip, { { code = "s_mov_b32 m0, 16\n" .. code .. "\ns_waitcnt vmcnt(0)",
    v = { [0] = offsets }, s = options.s, memory = MEMORY, lds = LDS, exec = options.exec,
    private = options.private } })[1]
end

-- What LDS then is: `take` makes the bytes of an element of `size` bytes at `offset`.
local function expected(first, size, step, exec, take)
  local bytes = LDS
  for lane = 0, 63 do
    if exec >> lane & 1 == 1 then
      local at = first + lane * #take(MEMORY:sub(1, size))
      local element = take(MEMORY:sub((63 - lane) * step + 9, (63 - lane) * step + 8 + size))
      bytes = bytes:sub(1, at) .. element .. bytes:sub(at + #element + 1)
    end
  end
  return bytes
end

local function whole(bytes) return bytes end
local function widened(format)
  return function(bytes) return string.pack("<i4", (string.unpack(format, bytes))) end
end

local NARROW = { { "ubyte", 1, widened "<I1" }, { "sbyte", 1, widened "<i1" },
  { "ushort", 2, widened "<I2" }, { "sshort", 2, widened "<i2" }, { "dword", 4, whole } }
local WIDE = { { "dwordx3", 12, whole }, { "dwordx4", 16, whole } }
local EXECS = { -1, 0x0ff0f00f31248001 }

describe("a load into LDS", function()
  for _, chip in ipairs { "gfx942", "gfx950" } do
    for _, kinds in ipairs { NARROW, chip == "gfx950" and WIDE or {} } do
      for _, kind in ipairs(kinds) do
        local name, size, take = table.unpack(kind)
        it(("is global_load_lds_%s of %s"):format(name, chip), function()
          for _, exec in ipairs(EXECS) do
            local code = ("global_load_lds_%s v0, s[2:3] offset:8"):format(name)
            local r = lds_after(chip, code, size, { exec = exec })
            assert.is_nil(r.fault)
            assert.are.equal(expected(16 + 8, size, size, exec, take), r.lds)
          end
        end)
      end
    end
  end

  for _, chip in ipairs { "gfx90a", "gfx942", "gfx950", "gfx1030" } do
    it("is a buffer's of " .. chip, function()
      local width = select(2, emulator.generation(chip))
      local lanes = width == 64 and -1 or 0xffffffff
      for _, exec in ipairs { lanes, EXECS[2] & lanes } do
        local r = lds_after(chip, "s_mov_b32 s5, s3\ns_mov_b32 s4, s2\n" ..
          "buffer_load_dword v0, s[4:7], 0 offen offset:8 lds", 4,
          { exec = exec, s = { [6] = #MEMORY, [7] = 3 << 28 } })
        assert.is_nil(r.fault)
        local want = expected(16 + 8, 4, 4, exec, whole)
        assert.are.equal(want, r.lds)
      end
    end)
  end

  it("gives zeroes for what lies out of a buffer's bounds", function()
    local r = lds_after("gfx942", "s_mov_b32 s5, s3\ns_mov_b32 s4, s2\n" ..
      "buffer_load_dword v0, s[4:7], 0 offen lds", 4, { exec = 3, s = { [6] = 4 * 63 } })
    assert.is_nil(r.fault)
    assert.are.equal(("\0"):rep(4) .. MEMORY:sub(4 * 62 + 1, 4 * 63), r.lds:sub(17, 24))
  end)

  it("stops where LDS ends", function()
    local r = lds_after("gfx942", "s_mov_b32 m0, 1024\nglobal_load_lds_dword v0, s[2:3]", 4, {})
    assert.are.equal("aperture", r.fault_kind)
    assert.matches("shared memory", r.fault, 1, true)
  end)
end)
