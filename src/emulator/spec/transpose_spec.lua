-- Loads that transpose: which element each lane gets, in whatever order the lanes' addresses are.
local emulator = require "support.emulator"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

math.randomseed(19)
local bytes = {}
for i = 1, 64 * 16 + 8 do bytes[i] = string.char(math.random(0, 255)) end
local BYTES = table.concat(bytes)

-- Element n of `width` bits of the bytes from `at` on.
local function element(at, width, n)
  local bit = n * width
  local word = string.unpack("<I4", BYTES .. "\0\0\0\0", at + bit // 8 + 1)
  return word >> bit % 8 & (1 << width) - 1
end

-- Lane n's element i of `width` bits in registers from 4 on.
local function loaded(r, width, lane, i)
  local bit = i * width
  local pair = r.v[4 + bit // 32][lane + 1]
  if bit % 32 + width > 32 then pair = pair | r.v[5 + bit // 32][lane + 1] << 32 end
  return pair >> bit % 32 & (1 << width) - 1
end

-- `source(lane, i)`: the lane, and its element, that element i of a lane is.
local function check(chip, code, lanes, size, width, source, options)
  local offsets = {}
  for lane = 1, 64 do offsets[lane] = (lane - 1) * 37 % lanes * 16 end
  local case = { code = code .. "\ns_waitcnt vmcnt(0) lgkmcnt(0)", v = { [0] = offsets } }
  for name, value in pairs(options) do case[name] = value end
  local r = emulator.run(chip, { case })[1]
  assert.is_nil(r.fault)
  for lane = 0, lanes - 1 do
    for i = 0, size * 8 // width - 1 do
      local from, n = source(lane, i)
      assert.are.equal(element(offsets[from + 1] + 8, width, n), loaded(r, width, lane, i),
        ("lane %d, element %d"):format(lane, i))
    end
  end
end

describe("a load from LDS that transposes, of gfx950", function()
  for name, shape in pairs { b64_tr_b16 = { 8, 16 }, b64_tr_b8 = { 8, 8 }, b64_tr_b4 = { 8, 4 },
    b96_tr_b6 = { 12, 6 } } do
    local size, width = table.unpack(shape)
    local each = size * 8 // width
    it(("is ds_read_%s"):format(name), function()
      check("gfx950", ("ds_read_%s v[4:%d], v0 offset:8"):format(name, 3 + size // 4), 64, size,
        width, function(lane, i)
          local at = 16 * i + lane % 16
          return lane & ~15 | at // each, at % each
        end, { lds = BYTES })
    end)
  end

  it("needs all lanes", function()
    local r = emulator.run("gfx950", { { code = "ds_read_b64_tr_b8 v[4:5], v0", lds = BYTES,
      exec = 0xffffffff } })[1]
    assert.matches("ds_read_b64_tr_b8 needs all lanes", r.fault, 1, true)
  end)

  it("may write the registers of its addresses", function()
    local code = "ds_read_b64_tr_b8 v[0:1], v0\ns_waitcnt lgkmcnt(0)"
    local r = emulator.run("gfx950", { { code = code, lds = BYTES } })[1]
    assert.is_nil(r.fault)
    -- all lanes have the first eight bytes, of which each pair of neighbours gets the same ones
    assert.are.equal(BYTES:byte(1) * 0x01010101, r.v[0][1])
  end)
end)

describe("a load from memory that transposes, of gfx12", function()
  -- As measured on a gfx1201.
  local function half(lane, i) return lane & ~7 | i, lane & 7 end
  local function byte(lane, i)
    return lane & ~15 | i & 3 | (i >> 2) << 3 | (lane >> 3 & 1) << 2, lane & 7
  end
  local memory = { memory = BYTES }

  it("is global_load_tr_b128", function()
    check("gfx1201", "global_load_tr_b128 v[4:7], v0, s[2:3] offset:8", 32, 16, 16, half, memory)
  end)
  it("is global_load_tr_b64", function()
    check("gfx1201", "global_load_tr_b64 v[4:5], v0, s[2:3] offset:8", 32, 8, 8, byte, memory)
  end)
  it("is known for 32 lanes alone", function()
    local r = emulator.run("gfx1201:wave64", { { code = "global_load_tr_b64 v4, v0, s[2:3]",
      memory = BYTES } })[1]
    assert.matches("global_load_tr_b64 is known for wavefronts of 32 lanes alone", r.fault, 1, true)
  end)
end)
