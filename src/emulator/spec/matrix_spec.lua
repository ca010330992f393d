-- Products of matrices of the emulator: what each lane and register holds is joined to whole
-- matrices, multiplied in Lua, and compared.  Elements are small integers, so that sums are exact
-- in any order.
local asserted = require("support.asserted")
local emulator = require("support.emulator")

-- An integer from -7 to 7 as bits of a float with that many bits of mantissa.
local function encode(value, mantissa_bits, bias, bits)
  if value == 0 then return 0 end
  local size, exponent = math.abs(value), 0
  while 2 ^ (exponent + 1) <= size do exponent = exponent + 1 end
  local mantissa = math.tointeger((size / 2 ^ exponent - 1) * 2 ^ mantissa_bits)
  local sign = value < 0 and 1 << (bits - 1) or 0
  return sign | (exponent + bias) << mantissa_bits | mantissa
end

-- Kinds of elements: bits, an integer's bits, and of results the integer again.
local KINDS = {
  f64 = { 64, emulator.f64, emulator.to_f64 },
  f32 = { 32, emulator.f32, emulator.to_f32 },
  xf32 = { 32, emulator.f32 },
  f16 = { 16, emulator.f16 },
  bf16 = { 16, function(x) return encode(x, 7, 127, 16) end },
  i8 = { 8, function(x) return x & 0xff end },
  i32 = { 32, function(x) return x & 0xffffffff end,
    function(x) return x >= 1 << 31 and x - (1 << 32) or x end },
  fp8 = { 8, function(x, chip) return encode(x, 3, chip == "gfx942" and 8 or 7, 8) end },
  bf8 = { 8, function(x, chip) return encode(x, 2, chip == "gfx942" and 16 or 15, 8) end },
}

-- Instructions by the kinds of their elements; ":n" says how many blocks there are, where the name
-- does not.
local SHAPES = {
  gfx90a = {
    ["f32 f32"] = "f32_32x32x1f32:2 f32_16x16x1f32:4 f32_4x4x1f32:16 f32_32x32x2f32 f32_16x16x4f32",
    ["f16 f32"] = "f32_32x32x4f16:2 f32_16x16x4f16:4 f32_4x4x4f16:16 f32_32x32x8f16 "
      .. "f32_16x16x16f16",
    ["bf16 f32"] = "f32_32x32x2bf16:2 f32_16x16x2bf16:4 f32_4x4x2bf16:16 f32_32x32x4bf16 "
      .. "f32_16x16x8bf16 "
      .. "f32_32x32x4bf16_1k:2 f32_16x16x4bf16_1k:4 f32_4x4x4bf16_1k:16 f32_32x32x8bf16_1k "
      .. "f32_16x16x16bf16_1k",
    ["i8 i32"] = "i32_32x32x4i8:2 i32_16x16x4i8:4 i32_4x4x4i8:16 i32_32x32x8i8 i32_16x16x16i8",
    ["f64 f64"] = "f64_16x16x4f64 f64_4x4x4f64:4",
  },
  gfx942 = {
    ["f32 f32"] = "f32_32x32x1_2b_f32 f32_16x16x1_4b_f32 f32_4x4x1_16b_f32 f32_32x32x2_f32 "
      .. "f32_16x16x4_f32",
    ["f16 f32"] = "f32_32x32x4_2b_f16 f32_16x16x4_4b_f16 f32_4x4x4_16b_f16 f32_32x32x8_f16 "
      .. "f32_16x16x16_f16",
    ["bf16 f32"] = "f32_32x32x4_2b_bf16 f32_16x16x4_4b_bf16 f32_4x4x4_16b_bf16 f32_32x32x8_bf16 "
      .. "f32_16x16x16_bf16",
    ["i8 i32"] = "i32_32x32x4_2b_i8 i32_16x16x4_4b_i8 i32_4x4x4_16b_i8 i32_32x32x16_i8 "
      .. "i32_16x16x32_i8",
    ["xf32 f32"] = "f32_16x16x8_xf32 f32_32x32x4_xf32",
    ["f64 f64"] = "f64_16x16x4_f64 f64_4x4x4_4b_f64",
    ["fp8 f32"] = "f32_16x16x32_fp8_fp8 f32_32x32x16_fp8_fp8",
    ["bf8 f32"] = "f32_16x16x32_bf8_bf8 f32_32x32x16_bf8_bf8",
    ["fp8 bf8 f32"] = "f32_16x16x32_fp8_bf8 f32_32x32x16_fp8_bf8",
    ["bf8 fp8 f32"] = "f32_16x16x32_bf8_fp8 f32_32x32x16_bf8_fp8",
  },
  gfx950 = {
    ["f16 f32"] = "f32_16x16x32_f16 f32_32x32x16_f16 f32_16x16x16_f16",
    ["bf16 f32"] = "f32_16x16x32_bf16 f32_32x32x16_bf16",
    ["i8 i32"] = "i32_16x16x64_i8 i32_32x32x32_i8",
    ["fp8 bf8 f32"] = "f32_16x16x32_fp8_bf8",
    ["bf8 fp8 f32"] = "f32_16x16x32_bf8_fp8",
  },
}

local function parse(name, kinds)
  local words = {}
  for word in kinds:gmatch("%S+") do words[#words + 1] = word end
  local m, n, k = name:match("_(%d+)x(%d+)x(%d+)")
  local blocks = name:match(":(%d+)$") or name:match("_(%d+)b_") or 1
  return { name = name:match("^[^:]+"), m = tonumber(m), n = tonumber(n), k = tonumber(k),
    blocks = tonumber(blocks), a = words[1], b = words[#words - 1], sum = words[#words] }
end

-- What a lane's element e of an input is: row or column, block, k. Elements come in runs of at most
-- 16 bytes.
local function input_at(rows, shape, lane, e, bits)
  local each = rows * shape.k * shape.blocks // 64
  local run, rest = math.min(each, 128 // bits), lane // rows
  local lanes = shape.k // each
  return lane % rows, rest % shape.blocks, e // run * run * lanes + rest // shape.blocks * run
    + e % run
end

-- What a lane's element r of the result is: row, column, block.
local function result_at(shape, lane, r)
  local height = shape.sum == "f64" and 1 or 4
  local across = math.max(1, 64 * height // (shape.m * shape.n))
  local strips = 64 // across // shape.n
  local rounds = shape.m // (height * strips)
  local rest, strip = lane // shape.n, r // height
  return r % height + height * (rest // across + strips * (strip % rounds)), lane % shape.n,
    rest % across + across * (strip // rounds)
end

local function new_matrix()
  return setmetatable({}, { __index = function(t, at)
    t[at] = math.random(-7, 7)
    return t[at]
  end })
end

-- Sets the words of a lane's elements, from register `first` on.
local function put(v, first, lane, e, bits, word)
  local at = first + (bits == 64 and 2 * e or e * bits // 32)
  local function set(reg, value)
    v[reg] = v[reg] or {}
    v[reg][lane + 1] = (v[reg][lane + 1] or 0) | value
  end
  if bits == 64 then
    set(at, word & 0xffffffff)
    set(at + 1, word >> 32)
  else
    set(at, word << (e * bits % 32))
  end
end

local A, B, C = 0, 16, 32 -- registers

local function key(i, k, b) return (b * 64 + i) * 128 + k end

-- A case with random matrices, and what it is to find.
local function make_case(chip, shape, options)
  local a, b, c, v = new_matrix(), new_matrix(), new_matrix(), {}
  local function fill(values, rows, kind, first)
    local bits, bits_of = KINDS[kind][1], KINDS[kind][2]
    for lane = 0, 63 do
      for e = 0, rows * shape.k * shape.blocks // 64 - 1 do
        local i, block, k = input_at(rows, shape, lane, e, bits)
        put(v, first, lane, e, bits, bits_of(values[key(i, k, block)], chip))
      end
    end
  end
  fill(a, shape.m, shape.a, A)
  fill(b, shape.n, shape.b, B)
  local bits, bits_of = KINDS[shape.sum][1], KINDS[shape.sum][2]
  local count = shape.m * shape.n * shape.blocks // 64
  for lane = 0, 63 do
    for r = 0, count - 1 do
      local i, j, block = result_at(shape, lane, r)
      put(v, C, lane, r, bits, bits_of(options.sum or c[key(i, j, block)]))
    end
  end
  local function range(letter, first, elements, width)
    if first >= 256 then letter, first = "a", first - 256 end
    local words = math.max(1, elements * width // 32)
    if words == 1 then return letter .. first end
    return ("%s[%d:%d]"):format(letter, first, first + words - 1)
  end
  local to = options.to or C
  local code = ("v_mfma_%s %s, %s, %s, %s%s"):format(shape.name, range("v", to, count, bits),
    range("v", A, shape.m * shape.k * shape.blocks // 64, KINDS[shape.a][1]),
    range("v", B, shape.n * shape.k * shape.blocks // 64, KINDS[shape.b][1]),
    options.constant or range("v", C, count, bits), options.modifiers or "")
  local function expected(i, j, block)
    local sum = options.sum or c[key(i, j, block)]
    for k = 0, shape.k - 1 do
      local from_a = options.block_of_a and options.block_of_a(block) or block
      local from_b, column = block, j
      if options.source_of_b then from_b, column = options.source_of_b(block, j) end
      sum = sum + a[key(i, k, from_a)] * b[key(column, k, from_b)]
    end
    return sum
  end
  return { code = code, v = v, exec = options.exec or 0 }, { to = to, count = count,
    expected = expected }
end

local function check(shape, result, found)
  assert.is_nil(result.fault)
  local is_wide = shape.sum == "f64"
  local number_of = KINDS[shape.sum][3]
  for r = 0, found.count - 1 do
    local words = is_wide and result:v64(found.to + 2 * r) or result.v[found.to + r]
    for lane = 0, 63 do
      local i, j, block = result_at(shape, lane, r)
      asserted.check(number_of(words[lane + 1]) == found.expected(i, j, block), 1,
        "v_mfma_%s: D[%d][%d] of block %d is %s", shape.name, i, j, block, words[lane + 1])
    end
  end
end

local function run_all(chip, list)
  local cases, finds = {}, {}
  for n, item in ipairs(list) do cases[n], finds[n] = make_case(chip, item[1], item[2] or {}) end
  for n, result in ipairs(emulator.run(chip, cases)) do check(list[n][1], result, finds[n]) end
end

describe("the emulated products of matrices", function()
  if not emulator.program then return pending("emulator_test is not built") end
  math.randomseed(7)

  for _, chip in ipairs { "gfx90a", "gfx942", "gfx950" } do
    it("are those of the matrices that the lanes hold, on " .. chip, function()
      local list = {}
      for kinds, names in pairs(SHAPES[chip]) do
        for name in names:gmatch("%S+") do list[#list + 1] = { parse(name, kinds) } end
      end
      run_all(chip, list)
    end)
  end

  it("take a constant for the sum, and results over their inputs", function()
    local tall, small = parse("f32_32x32x8_f16", "f16 f32"), parse("i32_16x16x32_i8", "i8 i32")
    run_all("gfx942", {
      { tall, { constant = "1.0", sum = 1 } },
      { small, { constant = "-16", sum = -16 } },
      { small, { to = A } },
      { small, { to = 256 + 8, constant = "0", sum = 0 } },
      { parse("f64_16x16x4_f64", "f64 f64"), { constant = "0", sum = 0 } },
    })
  end)

  it("of doubles negate what neg names", function()
    local v = {}
    for reg, value in pairs { [0] = 2.0, [2] = 3.0, [4] = 1.0 } do
      local bits = emulator.f64(value)
      v[reg], v[reg + 1] = bits & 0xffffffff, bits >> 32
    end
    for neg, want in pairs { ["0,0,0"] = 25.0, ["1,0,0"] = -23.0, ["0,1,0"] = -23.0,
      ["1,1,0"] = 25.0, ["0,0,1"] = 23.0, ["1,0,1"] = -25.0 } do
      local r = emulator.run("gfx942", { { v = v,
        code = ("v_mfma_f64_4x4x4_4b_f64 v[4:5], v[0:1], v[2:3], v[4:5] neg:[%s]"):format(neg) } })
      assert.are.equal(want, emulator.to_f64(r[1]:v64(4)[1]), neg)
    end
  end)

  it("are of all lanes, whatever EXEC says", function()
    run_all("gfx942", { { parse("f32_16x16x16_f16", "f16 f32"), { exec = 0x5a } } })
  end)

  it("take one block of A for several, and lanes of B for others", function()
    local shape = parse("f32_4x4x1_16b_f32", "f32 f32")
    local function of_lane(from) -- lanes are 4 columns of each block
      return function(block, j)
        local lane = from(4 * block + j)
        return lane // 4, lane % 4
      end
    end
    local list = {
      { shape, { modifiers = " cbsz:4 abid:9", block_of_a = function() return 9 end } },
      { shape, { modifiers = " cbsz:2 abid:3",
        block_of_a = function(block) return block // 4 * 4 + 3 end } },
    }
    for blgp, from in ipairs {
      function(lane) return lane % 32 end,
      function(lane) return 32 + lane % 32 end,
      function(lane) return (lane + 16) % 64 end,
      function(lane) return lane % 16 end,
      function(lane) return 16 + lane % 16 end,
      function(lane) return 32 + lane % 16 end,
      function(lane) return 48 + lane % 16 end,
    } do
      list[#list + 1] = { shape, { modifiers = " blgp:" .. blgp, source_of_b = of_lane(from) } }
    end
    run_all("gfx942", list)
  end)

  -- A has two numbers of each four, whose places two bits each tell.
  local function make_sparse(chip, name, kinds, set)
    local shape = parse(name, kinds)
    local half = setmetatable({ k = shape.k // 2 }, { __index = shape })
    local a, b, c, v = new_matrix(), new_matrix(), new_matrix(), { [48] = {} }
    local width, each = KINDS[shape.a][1], shape.m * half.k // 64
    local dense = {}
    for lane = 0, 63 do
      local word = 0
      for e = 0, each - 1, 2 do
        local i, _, k = input_at(shape.m, half, lane, e, width)
        local first = math.random(0, 2)
        for n, at in ipairs { first, math.random(first + 1, 3) } do
          local value = a[key(i, k + n - 1, 0)]
          put(v, A, lane, e + n - 1, width, KINDS[shape.a][2](value, chip))
          dense[key(i, k * 2 + at, 0)] = value
          word = word | at << 2 * (e + n - 1)
        end
      end
      v[48][lane + 1] = word << (set * 2 * each) | 0x5a5a5a5a & (1 << (set * 2 * each)) - 1
      for e = 0, shape.n * shape.k // 64 - 1 do
        local j, _, k = input_at(shape.n, shape, lane, e, width)
        put(v, B, lane, e, width, KINDS[shape.b][2](b[key(j, k, 0)], chip))
      end
      for r = 0, shape.m * shape.n // 64 - 1 do
        local i, j = result_at(shape, lane, r)
        put(v, C, lane, r, 32, KINDS[shape.sum][2](c[key(i, j, 0)]))
      end
    end
    local count = shape.m * shape.n // 64
    local code = ("v_smfmac_%s v[%d:%d], v[%d:%d], v[%d:%d], v48%s"):format(name, C, C + count - 1,
      A, A + each * width // 32 - 1, B, B + 2 * each * width // 32 - 1,
      set > 0 and " abid:" .. set or "")
    local function expected(i, j)
      local sum = c[key(i, j, 0)]
      for k = 0, shape.k - 1 do sum = sum + (dense[key(i, k, 0)] or 0) * b[key(j, k, 0)] end
      return sum
    end
    return shape, { code = code, v = v }, { to = C, count = count, expected = expected }
  end

  local SPARSE = {
    gfx942 = {
      ["f16 f32"] = "f32_16x16x32_f16 f32_32x32x16_f16",
      ["bf16 f32"] = "f32_16x16x32_bf16 f32_32x32x16_bf16",
      ["i8 i32"] = "i32_16x16x64_i8 i32_32x32x32_i8",
      ["fp8 bf8 f32"] = "f32_16x16x64_fp8_bf8 f32_32x32x32_fp8_bf8",
    },
    gfx950 = {
      ["f16 f32"] = "f32_16x16x64_f16 f32_32x32x32_f16",
      ["bf16 f32"] = "f32_16x16x64_bf16 f32_32x32x32_bf16",
      ["i8 i32"] = "i32_16x16x128_i8 i32_32x32x64_i8",
      ["bf8 fp8 f32"] = "f32_16x16x128_bf8_fp8 f32_32x32x64_bf8_fp8",
    },
  }

  for chip, names_of in pairs(SPARSE) do
    it("are those of sparse matrices, too, on " .. chip, function()
      local shapes, cases, finds = {}, {}, {}
      for kinds, names in pairs(names_of) do
        for name in names:gmatch("%S+") do
          local sets = (kinds:find("16") and 4 or 2) // (chip == "gfx950" and 2 or 1)
          for set = 0, sets - 1 do
            local n = #cases + 1
            shapes[n], cases[n], finds[n] = make_sparse(chip, name, kinds, set)
          end
        end
      end
      for n, result in ipairs(emulator.run(chip, cases)) do
        check(shapes[n], result, finds[n])
      end
    end)
  end

  -- Row 0, column 0 of a product of which all rows and columns are those lists of elements' bits,
  -- zeros after them; `sum` is added.
  local function dot(chip, name, kinds, a, b, sum)
    local to = chip == "gfx908" and 256 or C -- its results are in accumulation registers
    local shape, v = parse(name, kinds), {}
    for first, list in pairs { [A] = a, [B] = b } do
      local bits = KINDS[shape.a][1]
      for lane = 0, 63 do
        for e = 0, shape.m * shape.k * shape.blocks // 64 - 1 do
          local _, _, k = input_at(shape.m, shape, lane, e, bits)
          put(v, first, lane, e, bits, list[k + 1] or 0)
        end
      end
    end
    local count = shape.m * shape.n * shape.blocks // 64
    for reg = to, to + count - 1 do v[reg] = emulator.f32(sum) end
    local words = shape.m * shape.k * shape.blocks // 64 * KINDS[shape.a][1] // 32 - 1
    local function range(first) return words == 0 and "v" .. first
      or ("v[%d:%d]"):format(first, first + words) end
    local sums = ("%s[%d:%d]"):format(to == C and "v" or "a", to % 256, to % 256 + count - 1)
    local code = ("v_mfma_%s %s, %s, %s, %s"):format(name, sums, range(A), range(B), sums)
    local r = emulator.run(chip, { { code = code, v = v } })[1]
    assert.is_nil(r.fault)
    return r:f32(to)[1]
  end

  local function map(f, ...)
    local list = { ... }
    for n, x in ipairs(list) do list[n] = f(x) end
    return list
  end
  local big, f16, bf16 = 2.0 ^ 24, emulator.f16, KINDS.bf16[2]

  it("add halves of gfx90a two and two, and brain floats in groups of two or four", function()
    local function halves(name, sum)
      return dot("gfx90a", name, "f16 f32", map(f16, 2.0 ^ 12, 1, 1, 2.0 ^ 12),
        map(f16, 2.0 ^ 12, 1, 1, -2.0 ^ 12), sum)
    end
    assert.are.equal(1, halves("f32_16x16x16f16", 0)) -- one after the other: 0
    assert.are.equal(2, halves("f32_16x16x16f16", 1))
    local function brains(name)
      return dot("gfx90a", name, "bf16 f32", map(bf16, big, 1, big, 1), map(bf16, 1, 1, -1, 1), 1)
    end
    assert.are.equal(1, brains("f32_16x16x8bf16")) -- 1 is lost to the first group's sum
    assert.are.equal(2, brains("f32_16x16x16bf16_1k"))
  end)

  it("lose denormal numbers on gfx90a and not on gfx908", function()
    local a, b = map(f16, 2.0 ^ -14, 2.0 ^ -14), map(f16, 1, -1)
    for chip, want in pairs { gfx90a = 0, gfx908 = 2.0 ^ -130 } do
      assert.are.equal(want, dot(chip, "f32_16x16x16f16", "f16 f32", a, b, 2.0 ^ -130), chip)
    end
  end)

  it("add halves of gfx942 by eights, without what is below 24 places", function()
    local function run(a, b, sum) return dot("gfx942", "f32_16x16x16_f16", "f16 f32", a, b, sum) end
    local small, tiny = 2.0 ^ -13, 2.0 ^ -12
    -- products of 2^-25 beside 1; rounded once, they would add up to 2^-22
    local a = map(f16, 1, small, small, small, small, small, small, small)
    local b = map(f16, 1, tiny, tiny, tiny, tiny, tiny, tiny, tiny)
    assert.are.equal(1, run(a, b, 0))
    -- the next eight do so to the sum
    table.move(a, 2, 8, 9)
    table.move(b, 2, 8, 9)
    assert.are.equal(1 + 2.0 ^ -22, run(a, b, 0))
    -- no order loses the two ones
    assert.are.equal(2, run(map(f16, 2.0 ^ 12, 1, 1, 2.0 ^ 12), map(f16, 2.0 ^ 12, 1, 1, -2.0 ^ 12),
      0))
    -- a sum below 24 places is rounded down
    assert.are.equal(1, run(map(f16, 1), map(f16, 1), 2.0 ^ -26))
    assert.are.equal(1 - 2.0 ^ -24, run(map(f16, 1), map(f16, 1), -2.0 ^ -26))
  end)

  it("add every second of 16 products of 8-bit floats of gfx942 apart", function()
    local function fp8(x) return x == 0 and 0 or encode(x < 0 and -1 or 1, 3, 0, 8)
      | (math.tointeger(math.log(math.abs(x), 2)) + 8) << 3 end
    local function run(at, sum)
      local a, b = map(fp8, 2.0 ^ 7), map(fp8, 2.0 ^ 7)
      for k = 2, 16 do a[k], b[k] = 0, 0 end
      if at then a[at], b[at] = fp8(2.0 ^ -7), fp8(-2.0 ^ -7) end
      return dot("gfx942", "f32_16x16x32_fp8_fp8", "fp8 f32", a, b, sum)
    end
    assert.are.equal(2.0 ^ 14, run(3, 0)) -- cut off beside 2^14
    assert.are.equal(2.0 ^ 14 - 2.0 ^ -10, run(2, 0)) -- rounded down, the other half's sum
    assert.are.equal(2.0 ^ 14, run(nil, -2.0 ^ -12)) -- too small to be rounded
    assert.are.equal(2.0 ^ 14 - 2.0 ^ -10, run(nil, -2.0 ^ -11))
  end)

  it("take 19 bits of floats as xf32, and infinity for products beyond floats", function()
    local function run(a, b, sum)
      return dot("gfx942", "f32_16x16x8_xf32", "xf32 f32", map(emulator.f32, table.unpack(a)),
        map(emulator.f32, table.unpack(b)), sum)
    end
    assert.are.equal(1 + 2.0 ^ -10, run({ 1 + 2.0 ^ -10 + 2.0 ^ -11 }, { 1 }, 0))
    assert.are.equal(-1, run({ 1 }, { -1 - 2.0 ^ -11 }, 0))
    assert.are.equal(math.huge, run({ 2.0 ^ 100 }, { 2.0 ^ 100 }, 1))
    local undefined = run({ 2.0 ^ 100, 2.0 ^ 100 }, { 2.0 ^ 100, -2.0 ^ 100 }, 1)
    assert(undefined ~= undefined)
    assert.are.equal(-math.huge, run({ -math.huge, 1 }, { 1, 1 }, 1))
  end)

  it("take denormal halves as zero on gfx90a alone", function()
    local half, one = 0x00010001, emulator.f16(1) * 0x10001
    local function run(chip, name)
      local result = emulator.run(chip, { { code = ("v_mfma_%s v[4:7], v0, v[2:3], 0"):format(name)
        :gsub("v0,", "v[0:1],"), v = { [0] = half, [1] = half, [2] = one, [3] = one } } })[1]
      assert.is_nil(result.fault)
      return result:f32(4)[1]
    end
    assert.are.equal(0, run("gfx90a", "f32_16x16x16f16"))
    assert.are.equal(2.0 ^ -20, run("gfx942", "f32_16x16x16_f16"))
  end)

  it("stop at what is not known of them", function()
    for _, code in ipairs { "v_mfma_f64_16x16x4_f64 v[8:15], v[0:1], v[2:3], 1.0",
      "v_mfma_f32_16x16x8_xf32 v[8:11], v[0:1], v[2:3], 0 blgp:1",
      "v_mfma_f32_16x16x16_f16 v[8:11], v[0:1], v[2:3], 0 cbsz:1" } do
      local result = emulator.run("gfx942", { { code = code } })[1]
      assert.are.equal("illegal", result.fault_kind)
    end
  end)
end)

-- ---- small floats of gfx950, with scales --------------------------------------------------------

-- Bits, bits of exponent and mantissa, and the number that cbsz and blgp have for it.
local MINI = { fp8 = { 8, 4, 3, 0 }, bf8 = { 8, 5, 2, 1 }, fp6 = { 6, 2, 3, 2 },
  bf6 = { 6, 3, 2, 3 }, fp4 = { 4, 2, 1, 4 } }

local function mini_value(kind, word)
  local exponent, mantissa = word >> kind[3] & (1 << kind[2]) - 1, word & (1 << kind[3]) - 1
  local digits = exponent == 0 and mantissa or mantissa | 1 << kind[3]
  local size = digits * 2.0 ^ (math.max(exponent, 1) - ((1 << kind[2] - 1) - 1) - kind[3])
  return word >> kind[1] - 1 == 1 and -size or size
end

-- One of few numbers around 1, so that all sums are exact.
local function draw_mini(kind)
  local word
  repeat
    word = math.random(0, (1 << kind[1]) - 1)
    local size = math.abs(mini_value(kind, word))
  until size <= 4 and size * 8 % 1 == 0
  return word
end

-- Which k a lane's element e is of, the lane being of group g of `ngroups`.
local function mini_k(kind, g, ngroups, e)
  if kind[1] == 8 then return e // 16 * 16 * ngroups + 16 * g + e % 16 end
  return 32 * g + e
end

-- A case of m x m results, and the matrix D that it is to give; `scales`: a function of row and
-- group of 32 k that gives an exponent, or nil.
local function mini_case(m, k, name_a, name_b, scales)
  local v, values = {}, {}
  local function fill(first, kind, factor)
    local matrix, ngroups = {}, 64 // m
    for lane = 0, 63 do
      local row, g, bits = lane % m, lane // m, 0
      for e = 0, 31 do
        local word, at = draw_mini(kind), e * kind[1]
        local reg, left = first + at // 32, 32 - at % 32
        for part = 0, kind[1] > left and 1 or 0 do
          v[reg + part] = v[reg + part] or {}
          local moved = part == 0 and word << at % 32 & 0xffffffff or word >> left
          v[reg + part][lane + 1] = (v[reg + part][lane + 1] or 0) | moved
        end
        local kk = mini_k(kind, g, ngroups, e)
        local scale = scales and scales(factor, row, kk // 32) or 127
        matrix[row * k + kk] = mini_value(kind, word) * 2.0 ^ (scale - 127)
      end
      if scales then
        local reg = 60 + factor
        v[reg] = v[reg] or {}
        bits = scales(factor, row, g)
        v[reg][lane + 1] = bits << 8 * (1 + factor) | 0x55 -- byte 1 of A, 2 of B
      end
    end
    values[factor] = matrix
    return ("v[%d:%d]"):format(first, first + kind[1] - 1)
  end
  local a, b = MINI[name_a], MINI[name_b]
  local text_a, text_b = fill(8, a, 0), fill(16, b, 1)
  local last = m * m // 64 - 1
  local code = ("v_mfma_%sf32_%dx%dx%d_f8f6f4 v[32:%d], %s, %s, v[32:%d]%s cbsz:%d blgp:%d"):format(
    scales and "scale_" or "", m, m, k, 32 + last, text_a, text_b, 32 + last,
    scales and ", v60, v61 op_sel:[1,0,0] op_sel_hi:[0,1,0]" or "", a[4], b[4])
  for n = 0, last do v[32 + n] = emulator.f32(1) end
  return { code = code, v = v }, function(i, j)
    local sum = 1
    for n = 0, k - 1 do sum = sum + values[0][i * k + n] * values[1][j * k + n] end
    return sum
  end
end

describe("a product of small floats of gfx950", function()
  if not emulator.program then return pending("emulator_test is not built") end

  local function check(list)
    local cases, wants = {}, {}
    for n, item in ipairs(list) do cases[n], wants[n] = mini_case(table.unpack(item)) end
    for n, r in ipairs(emulator.run("gfx950", cases)) do
      local m = list[n][1]
      local shape = { m = m, n = m, blocks = 1, sum = "f32" }
      assert.is_nil(r.fault)
      for register = 0, m * m // 64 - 1 do
        local got = r:f32(32 + register)
        for lane = 0, 63 do
          local i, j = result_at(shape, lane, register)
          asserted.check(got[lane + 1] == wants[n](i, j), 1, "%s: D[%d][%d] is %s", cases[n].code,
            i, j, got[lane + 1])
        end
      end
    end
  end

  it("is that of the matrices that the lanes hold", function()
    local list = {}
    for _, kinds in ipairs { { "fp8", "fp8" }, { "fp8", "bf8" }, { "fp6", "fp6" }, { "bf6", "fp4" },
      { "fp4", "fp4" }, { "fp4", "bf8" }, { "fp8", "bf6" } } do
      list[#list + 1] = { 16, 128, kinds[1], kinds[2] }
      list[#list + 1] = { 32, 64, kinds[1], kinds[2] }
    end
    check(list)
  end)

  it("is scaled by powers of two, for each row and 32 of k", function()
    local function scales(factor, row, group) return 126 + (row * 3 + group + factor) % 3 end
    check { { 16, 128, "fp4", "fp4", scales }, { 32, 64, "fp4", "fp6", scales },
      { 16, 128, "fp8", "fp8", scales }, { 32, 64, "bf8", "fp8", scales },
      { 16, 128, "fp8", "fp4", scales }, { 32, 64, "bf6", "bf8", scales } }
  end)
end)
