-- Products of matrices of gfx11 and gfx12: each instruction on random matrices laid out as AMD's
-- matrix calculator says, in wavefronts of both widths, held against a plain triple loop.
local emulator = require "support.emulator"
local lanes = require "support.lanes"

if not emulator.program then
  pending("emulator_test is not built")
  return
end

local function narrow_bf16(x)
  local bits = emulator.f32(x)
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16
end

-- An 8-bit float of the Open Compute Project with `m` bits of mantissa; the numbers drawn are
-- finite.
local function small_value(bits, m)
  local bias, exponent, mantissa = m == 3 and 7 or 15, (bits & 0x7f) >> m, bits & (1 << m) - 1
  local size = exponent == 0 and mantissa * 2.0 ^ (1 - bias - m) or
    (mantissa + (1 << m)) * 2.0 ^ (exponent - bias - m)
  return bits & 0x80 ~= 0 and -size or size
end

-- Kinds of elements: bits, how one is drawn, its value.
local function draw_real(encode)
  return function() return encode(math.random(-64, 64) / 16) end
end
local KINDS = {
  f32 = { bits = 32, draw = draw_real(emulator.f32), value = emulator.to_f32,
    encode = emulator.f32 },
  f16 = { bits = 16, draw = draw_real(emulator.f16), value = emulator.to_f16,
    encode = emulator.f16 },
  bf16 = { bits = 16, draw = draw_real(narrow_bf16), encode = narrow_bf16,
    value = function(x) return emulator.to_f32(x << 16) end },
  fp8 = { bits = 8, draw = function() return math.random(0, 0x50) | math.random(0, 1) << 7 end,
    value = function(x) return small_value(x, 3) end },
  bf8 = { bits = 8, draw = function() return math.random(0, 0x48) | math.random(0, 1) << 7 end,
    value = function(x) return small_value(x, 2) end },
  iu8 = { bits = 8, draw = function() return math.random(0, 255) end },
  iu4 = { bits = 4, draw = function() return math.random(0, 15) end },
  i32 = { bits = 32, draw = function() return math.random(-1000, 1000) & 0xffffffff end },
}

-- Item and first lane of k.
local function factor_place(chip, width, bits, depth, k)
  if chip == "gfx1100" then return k, 0 end
  if bits == 16 and width == 32 then return 4 * (k // 8) + k % 4, 16 * (k // 4 % 2) end
  if bits == 16 then return k % 4, 32 * (k // 8) + 16 * (k // 4 % 2) end
  local run = depth // (width // 16)
  if run * bits < 32 then return k % 8, 16 * (k // 8) end
  if width == 32 then return k % run, 16 * (k // run) end
  return k % run, 32 * (k // run % 2) + 16 * (k // (2 * run))
end

-- Item and first lane of row i; a half's item counts halves of registers.
local function sum_place(chip, width, bits, i)
  if chip == "gfx1100" then
    local sets = width // 16
    return i // sets * (bits == 16 and 2 or 1), 16 * (i % sets)
  end
  if width == 32 then return i % 8, 16 * (i // 8) end
  return i % 4, 32 * (i // 4 % 2) + 16 * (i // 8)
end

local function put(v, first, bits, item, lane, value)
  local reg = first + item * bits // 32
  v[reg] = v[reg] or {}
  for n = 1, 64 do v[reg][n] = v[reg][n] or 0 end
  v[reg][lane + 1] = v[reg][lane + 1] | value << item * bits % 32
end

local function get(v, first, bits, item, lane)
  return v[first + item * bits // 32][lane + 1] >> item * bits % 32 & (1 << bits) - 1
end

local A, B, C = 16, 32, 0

local function new_case(chip, width, depth, a, b, sum)
  local case = { a = {}, b = {}, c = {}, v = {} }
  for i = 0, 15 do
    case.a[i], case.b[i], case.c[i] = {}, {}, {}
    for k = 0, depth - 1 do
      local item, lane = factor_place(chip, width, a.bits, depth, k)
      case.a[i][k], case.b[i][k] = a.draw(), b.draw()
      -- gfx11 wants the same in each set of 16 lanes
      local copies = chip == "gfx1100" and width // 16 or 1
      for copy = 0, copies - 1 do
        put(case.v, A, a.bits, item, lane + i + 16 * copy, case.a[i][k])
        put(case.v, B, b.bits, item, lane + i + 16 * copy, case.b[i][k])
      end
    end
    local item, lane = sum_place(chip, width, sum.bits, i)
    for j = 0, 15 do
      case.c[i][j] = sum.draw()
      put(case.v, C, sum.bits, item, lane + j, case.c[i][j])
    end
  end
  return case
end

local function range(first, count)
  return count == 1 and "v" .. first or ("v[%d:%d]"):format(first, first + count - 1)
end

-- What the product with `neg_lo` (integers: which factors are signed) gives at row i, column j.
local function expected(case, depth, a, b, sum, signs, i, j)
  if sum == KINDS.i32 then
    local total = case.c[i][j]
    for k = 0, depth - 1 do
      local x, y = case.a[i][k], case.b[j][k]
      x = signs & 1 ~= 0 and lanes.signed(x, a.bits) or x
      y = signs & 2 ~= 0 and lanes.signed(y, b.bits) or y
      total = total + x * y
    end
    return total & 0xffffffff
  end
  local total = sum.value(case.c[i][j])
  for k = 0, depth - 1 do
    total = emulator.to_f32(emulator.f32(total + a.value(case.a[i][k]) * b.value(case.b[j][k])))
  end
  return sum.encode(total)
end

local function check(chip, width, name, modifiers, signs)
  local sum_name, k, a_name, b_name = name:match("^(%w+)_16x16x(%d+)_(%w+)_?(%w*)$")
  local depth = tonumber(k)
  local a, b = KINDS[a_name], KINDS[b_name ~= "" and b_name or a_name]
  local sum = KINDS[sum_name]
  math.randomseed(depth, a.bits)
  local case = new_case(chip, width, depth, a, b, sum)
  local copies = chip == "gfx1100" and 1 or width // 16
  local factor = math.max(1, depth * a.bits // 32 // copies)
  local words = 16 * 16 // width
  if chip ~= "gfx1100" and sum.bits == 16 then words = words // 2 end
  local code = ("v_wmma_%s %s, %s, %s, %s%s"):format(name, range(C, words), range(A, factor),
    range(B, factor), range(C, words), modifiers)
  local r = emulator.run(("%s:wave%d"):format(chip, width),
    { { code = code, v = case.v, exec = 1 } })[1]
  assert.is_nil(r.fault, code)
  for i = 0, 15 do
    local item, lane = sum_place(chip, width, sum.bits, i)
    for j = 0, 15 do
      local want = expected(case, depth, a, b, sum, signs, i, j)
      local got = get(r.v, C, sum.bits, item, lane + j)
      assert(want == got, ("%s of %d lanes: row %d, column %d is 0x%x, wants 0x%x"):format(code,
        width, i, j, got, want))
    end
  end
end

-- ---- sparse ones of gfx12 -----------------------------------------------------------------------

-- Where the calculator has groups of four k: halves of A, a lane's first ones then the second ones,
-- 8 k in turn; smaller elements in one run. Of A the item of the group's first element.
local function sparse_places(width, bits, depth, k)
  local sets = width // 16
  local group = k // 4
  if bits == 16 then
    local lane = 16 * (k // 8 % sets)
    return 4 * (k // (8 * sets)) + 2 * (group % 2), lane, 8 * (k // (8 * sets)) + k % 8, lane
  end
  local run = depth // sets
  local function part(n)
    return width == 64 and 32 * (n % 2) + 16 * (n // 2) or 16 * n
  end
  local item_b, lane_b = k % run, part(k // run)
  if run // 2 * bits < 32 then -- one lane of two has elements of A
    return 2 * (group % 4), 16 * (k // 16), item_b, lane_b
  end
  return 2 * (group % (run // 4)), lane_b, item_b, lane_b
end

local INDEX = 40

local function check_sparse(width, name, index_key, signs)
  local sum_name, k, a_name, b_name = name:match("^(%w+)_16x16x(%d+)_(%w+)_?(%w*)$")
  local depth = tonumber(k)
  local a, b = KINDS[a_name], KINDS[b_name ~= "" and b_name or a_name]
  local sum = KINDS[sum_name]
  math.randomseed(depth, a.bits)
  local each = math.max(32 // a.bits, depth // 2 // (width // 16)) -- elements of A a lane
  local v, case = {}, { a = {}, b = {}, c = {} }
  v[INDEX] = {}
  for lane = 1, 64 do v[INDEX][lane] = 0 end
  for i = 0, 15 do
    case.a[i], case.b[i], case.c[i] = {}, {}, {}
    for at = 0, depth - 1 do
      local item_a, lane_a, item_b, lane_b = sparse_places(width, a.bits, depth, at)
      case.b[i][at] = b.draw()
      put(v, B, b.bits, item_b, lane_b + i, case.b[i][at])
      if at % 4 == 0 then
        local first = math.random(0, 2)
        for n, offset in ipairs { first, math.random(first + 1, 3) } do
          local word, item = a.draw(), item_a + n - 1
          case.a[i][at + offset] = word
          put(v, A, a.bits, item, lane_a + i, word)
          v[INDEX][lane_a + i + 1] = v[INDEX][lane_a + i + 1]
            | offset << 2 * (each * index_key + item)
        end
      end
    end
    local item, lane = sum_place("gfx1201", width, sum.bits, i)
    for j = 0, 15 do
      case.c[i][j] = sum.draw()
      put(v, C, sum.bits, item, lane + j, case.c[i][j])
    end
  end
  -- what is not given is 0, and adds nothing
  for i = 0, 15 do
    for at = 0, depth - 1 do case.a[i][at] = case.a[i][at] or 0 end
  end
  local words = 16 * 16 // width // (32 // sum.bits)
  local code = ("v_swmmac_%s %s, %s, %s, v%d%s%s"):format(name, range(C, words),
    range(A, each * a.bits // 32), range(B, depth * b.bits // 32 // (width // 16)), INDEX,
    index_key > 0 and " index_key:" .. index_key or "",
    sum == KINDS.i32 and (" neg_lo:[%d,%d,0]"):format(signs & 1, signs >> 1) or "")
  local r = emulator.run(("gfx1201:wave%d"):format(width), { { code = code, v = v, exec = 1 } })[1]
  assert.is_nil(r.fault, code)
  for i = 0, 15 do
    local item, lane = sum_place("gfx1201", width, sum.bits, i)
    for j = 0, 15 do
      local want = expected(case, depth, a, b, sum, signs, i, j)
      local got = get(r.v, C, sum.bits, item, lane + j)
      assert(want == got, ("%s of %d lanes: row %d, column %d is 0x%x, wants 0x%x"):format(code,
        width, i, j, got, want))
    end
  end
end

describe("a product with a sparse matrix of gfx1201", function()
  -- keys by wavefront: sets of indices that a word holds
  local keys = {
    ["f32_16x16x32_f16"] = { [32] = 2, [64] = 4 }, ["f32_16x16x32_bf16"] = { [32] = 2, [64] = 4 },
    ["f16_16x16x32_f16"] = { [32] = 2, [64] = 4 }, ["bf16_16x16x32_bf16"] = { [32] = 2, [64] = 4 },
    ["f32_16x16x32_fp8_bf8"] = { [32] = 2, [64] = 4 },
    ["f32_16x16x32_bf8_fp8"] = { [32] = 2, [64] = 4 },
    ["f32_16x16x32_fp8_fp8"] = { [32] = 2, [64] = 4 },
    ["f32_16x16x32_bf8_bf8"] = { [32] = 2, [64] = 4 },
    ["i32_16x16x32_iu8"] = { [32] = 2, [64] = 4 }, ["i32_16x16x32_iu4"] = { [32] = 2, [64] = 2 },
    ["i32_16x16x64_iu4"] = { [32] = 1, [64] = 2 },
  }
  for name, counts in pairs(keys) do
    for width, count in pairs(counts) do
      it(("%s, %d lanes"):format(name, width), function()
        for index_key = 0, count - 1 do check_sparse(width, name, index_key, index_key % 4) end
      end)
    end
  end

  it("negates halves of the factors, but nothing of the indices", function()
    local v = {}
    for n = 16, 19 do v[n] = emulator.f16(1) * 0x10001 end
    for n = 32, 39 do v[n] = emulator.f16(2) * 0x10001 end
    local code = "v_swmmac_f32_16x16x32_f16 v[0:7], v[16:19], v[32:39], v40"
    for modifiers, want in pairs { [""] = 32, [" neg_lo:[1,0,0]"] = 0, [" neg_hi:[0,1,0]"] = 32 } do
      local r = emulator.run("gfx1201", { { code = code .. modifiers, v = v } })[1]
      assert.is_nil(r.fault)
      assert.are.equal(want, r:f32(0)[1], modifiers)
    end
    -- neg_lo:[0,0,1], which assemblers refuse
    local r = emulator.run("gfx1201", { { code = ".long 0xcc504000, 0x9ca24110", v = v } })[1]
    assert.are.equal("illegal", r.fault_kind)
  end)
end)

local FLOATS = { "f32_16x16x16_f16", "f32_16x16x16_bf16", "f16_16x16x16_f16",
  "bf16_16x16x16_bf16" }
local INTEGERS = { "i32_16x16x16_iu8", "i32_16x16x16_iu4" }

for chip, more in pairs { gfx1100 = false, gfx1201 = true } do
  describe("a product of matrices of " .. chip, function()
    for _, width in ipairs { 32, 64 } do
      for _, name in ipairs(FLOATS) do
        it(("%s, %d lanes"):format(name, width), function() check(chip, width, name, "", 0) end)
      end
      local integers = { table.unpack(INTEGERS) }
      if more then integers[#integers + 1] = "i32_16x16x32_iu4" end
      for _, name in ipairs(integers) do
        it(("%s, %d lanes, with and without signs"):format(name, width), function()
          for signs = 0, 3 do
            check(chip, width, name, (" neg_lo:[%d,%d,0]"):format(signs & 1, signs >> 1), signs)
          end
        end)
      end
      for _, a in ipairs(more and { "fp8", "bf8" } or {}) do
        for _, b in ipairs { "fp8", "bf8" } do
          local name = ("f32_16x16x16_%s_%s"):format(a, b)
          it(("%s, %d lanes"):format(name, width), function() check(chip, width, name, "", 0) end)
        end
      end
    end
  end)
end

describe("a product of matrices", function()
  local one, two = emulator.f16(1) * 0x10001, emulator.f16(2) * 0x10001
  local function run(code, v)
    local rows = {}
    for n = 8, 15 do rows[n], rows[n + 8] = one, two end
    for n, row in pairs(v or {}) do rows[n] = row end
    local r = emulator.run("gfx1100", { { code = code, v = rows } })[1]
    assert.is_nil(r.fault)
    return r
  end

  it("negates halves of the factors, and the summand", function()
    local code = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[24:31]"
    local c = {}
    for n = 24, 31 do c[n] = emulator.f32(-3) end
    assert.are.equal(29.0, run(code, c):f32(0)[1])
    assert.are.equal(-3.0, run(code .. " neg_lo:[1,0,0]", c):f32(0)[1])
    assert.are.equal(-35.0, run(code .. " neg_lo:[1,0,0] neg_hi:[0,1,0]", c):f32(0)[1])
    assert.are.equal(35.0, run(code .. " neg_lo:[0,0,1]", c):f32(0)[1])
    assert.are.equal(29.0, run(code .. " neg_lo:[0,0,1] neg_hi:[0,0,1]", c):f32(0)[1])
    assert.are.equal(35.0, run(code .. " neg_hi:[0,0,1]", c):f32(0)[1])
  end)

  it("adds a constant", function()
    local r = run("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], 0.5")
    assert.are.equal(32.5, r:f32(0)[1])
    r = run("v_wmma_f16_16x16x16_f16 v[0:7], v[8:15], v[16:23], 0.5")
    assert.are.equal(emulator.f16(32.5), r.v[0][1])
  end)

  it("of halves fills the halves that op_sel chooses, and keeps the others", function()
    local old = {}
    for n = 0, 7 do old[n] = emulator.f16(1) | emulator.f16(4) << 16 end
    local code = "v_wmma_f16_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"
    assert.are.equal(emulator.f16(33) | emulator.f16(4) << 16, run(code, old).v[3][20])
    assert.are.equal(emulator.f16(1) | emulator.f16(36) << 16,
      run(code .. " op_sel:[0,0,1]", old).v[3][20])
  end)

  it("of integers stays within the range when it is clamped", function()
    local v = {}
    for n = 8, 23 do v[n] = 0x7f7f7f7f end
    for n = 0, 7 do v[n] = 0x7ffffff0 end
    local code = "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[16:19], v[0:7] neg_lo:[1,1,0]"
    assert.are.equal(0x7fffffff, run(code .. " clamp", v).v[0][1])
    assert.are.equal(0x7ffffff0 + 16 * 127 * 127 & 0xffffffff, run(code, v).v[0][1])
  end)
end)
