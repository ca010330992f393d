-- Integers of elements in as few bits as hold them: the vectors that the CPU target makes of them,
-- and results at the ends of each width.
local roc = require "roc"
local devices = require "support.devices"

local function asm(signature, target, f)
  return roc.kernel(f, { signature = signature, check = false }):inspect_asm(target)
end

local function median(x, o)
  local i = roc.get_global_id(1)
  if i > 1 and i < #o then
    local a, b, c = x[i - 1], x[i], x[i + 1]
    o[i] = math.max(math.min(a, b), math.min(math.max(a, b), c))
  end
end

local function edges(x, o)
  local j, i = roc.grid(2)
  if i > 1 and i < o.shape[1] and j > 1 and j < o.shape[2] then
    local across, down = x[i][j + 1] - x[i][j - 1], x[i + 1][j] - x[i - 1][j]
    o[i][j] = math.min(255, math.abs(across) + math.abs(down))
  end
end

local function product(x, y, o)
  local i = roc.get_global_id(1)
  if i > #o then return end
  local sum = 0
  for j = 1, x.shape[2] do sum = sum + x[i][j] * y[j] end
  o[i] = sum
end

local function sums(x, o)
  local i = roc.get_global_id(1)
  if i > x.shape[1] then return end
  local sum = 0.0
  for j = 1, x.shape[2] do
    sum = sum + math.exp(x[i][j])
    o[i][j] = sum
  end
end

local function largest(x, o)
  local i = roc.get_global_id(1)
  if i > #o then return end
  local most, has_zero = 0, false
  for j = 1, x.shape[2] do
    most = math.max(most, x[i][j])
    if x[i][j] == 0 then has_zero = true end
  end
  o[i] = has_zero and most or -1
end

local function packed(x, o, width)
  local i = roc.get_global_id(1)
  if i > #o then return end
  local bits = 0
  for j = 0, 31 do
    if x[(i - 1) * width + j + 1] > 500 then bits = bits | (1 << j) end
  end
  o[i] = bits
end

local function packed_by_32(x, o)
  local i = roc.get_global_id(1)
  if i > #o then return end
  local bits = 0
  for j = 0, 31 do
    if x[(i - 1) * 32 + j + 1] > 500 then bits = bits | (1 << j) end
  end
  o[i] = bits
end

local function doubles(x, o)
  local i = roc.get_global_id(1)
  if i > x.shape[1] then return end
  for j = 1, x.shape[2] do o[i][j] = 2.0 * x[i][j] end
end

local function marks(x, o)
  local i = roc.get_global_id(1)
  if i > #o then return end
  if x[i] > 32 then o[i] = 1 else o[i] = 0 end
end

local function parts(x, o, p)
  local i = roc.get_global_id(1)
  if i > #x then return end
  if x[i] > 32 then o[i] = x[i] else p[i] = x[i] end
end

local function digit(x, o)
  local i = roc.get_global_id(1)
  if i <= #o then o[i] = x[i] // 7 % 10 end
end

for _, target in ipairs { "cpu:x86-64-v3", "cpu:x86-64-v4" } do
  describe(target, function()
    it("compares bytes as bytes", function()
      local text = asm("(uint8[:], uint8[:])", target, median)
      assert.truthy(text:find("vpminub"), text)
      assert.falsy(text:find("vpmovzxbq"), text)
    end)

    it("computes differences of bytes in no more than 16 bits", function()
      local text = asm("(uint8[:, :], uint8[:, :])", target, edges)
      assert.truthy(text:find("vpminu[bw]"), text)
      assert.falsy(text:find("vpmovzxb[dq]"), text)
    end)

    it("sums up rows of integers as they lie in memory, in the bits that are stored", function()
      local text = asm("(int16[:, :], int16[:], int32[:])", target, product)
      assert.truthy(text:find("vpmaddwd") or text:find("vpaddd"), text)
      assert.falsy(text:find("vpinsrw") or text:find("vpmovsxwq"), text)
    end)

    it("looks for the largest in a row of bytes as they lie in memory", function()
      local text = asm("(uint8[:, :], int16[:])", target, largest)
      assert.truthy(text:find("vpmaxub"), text)
      assert.falsy(text:find("vpinsrb"), text)
    end)

    it("reads such rows in an array that has none as they lie in memory", function()
      for _, case in ipairs { { packed, ", int64" }, { packed_by_32, "" } } do
        local text = asm(("(int32[:], int32[:]%s)"):format(case[2]), target, case[1])
        assert.matches("vpcmp%w+%s[^\n]*%%[yz]mm", text)
        assert.falsy(text:find("vpgather") or text:find("vpinsrd"), text)
      end
    end)

    it("writes rows of an item's own as they lie in memory", function()
      local text = asm("(float32[:, :], float32[:, :])", target, doubles)
      assert.truthy(text:find("vaddps"), text)
      assert.falsy(text:find("vextractps") or text:find("vscatter"), text)
    end)

    it("asks of no column whether rows have one element", function()
      local text = asm("(float32[:, :], float32[:, :])", target, sums)
      assert.truthy(text:find("vfmadd213ps"), text)
    end)

    it("stores once what both branches store at one place, apart what at two", function()
      local text = asm("(int8[:], int8[:])", target, marks)
      assert.truthy(text:find("vpcmp%w+", 1) and not text:find("%%zmm%d+, [^\n]*%) {%%k"), text)
      assert.falsy(asm("(float32[:], float32[:], float32[:])", target, parts):find("scatter"))
    end)

    it("divides by constants in vectors", function()
      local text = asm("(int32[:], int32[:])", target, digit)
      assert.truthy(text:find("vpmuldq"), text)
      assert.falsy(text:find("idiv"), text)
    end)
  end)
end

-- Both ends of each width, and what lies beyond the next smaller one.
local VALUES = { 0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 65535,
  65536, 2147483647, -2147483648, 4294967295 }

-- What is stored of a, b, small in 0 … 255, and the bounds of its type.
local EXPRESSIONS = {
  "a + b", "a - b", "a * b", "-a", "math.abs(a)", "math.abs(a - b)", "math.min(a, b)",
  "math.max(a, -b)", "a // 16", "(a - b) // 8", "(a & 255) // ((b & 7) + 1)", "a % 32",
  "(a & 255) % ((b & 15) + 1)", "(a - b) >> 3 & 255", "(a & 255) << 9", "a ~ b", "a | b", "~a & b",
  "a // 7", "(a - b) // 10", "a % 7", "(a - b) % 1000", "a // 300 * 2 - b % 3",
  "a < b and a or b", "a <= -b and 1 or 2", "(a & 255) * (b & 255) >> 8",
  "math.min(255, math.max(0, a + b - 128))",
}

for _, dtype in ipairs { "int8", "uint8", "int16", "uint16", "int32", "uint32" } do
  it("computes what Lua computes of " .. dtype, function()
    local a, b, lines = {}, {}, {}
    for _, x in ipairs(VALUES) do
      for _, y in ipairs(VALUES) do a[#a + 1], b[#b + 1] = x, y end
    end
    for n, text in ipairs(EXPRESSIONS) do lines[n] = ("o[i][%d] = %s"):format(n, text) end
    local kernel = devices.kernel(([[function(x, y, o)
      local i = roc.get_global_id(1)
      local a, b = x[i], y[i]
      %s
    end]]):format(table.concat(lines, "\n")))
    local x, y = roc.array(a, dtype), roc.array(b, dtype)
    for _, stored in ipairs { "int64", "uint8", "int16" } do
      local results = {}
      for _, device in ipairs { "cpu", "sim" } do
        local scope <close> = roc.on_device(device)
        results[device] = roc.zeros({ #a, #EXPRESSIONS }, stored)
        kernel:forall(#a)(x, y, results[device])
      end
      assert.same(results.sim:totable(), results.cpu:totable())
    end
  end)
end

describe("a float that is rounded and then bounded", function()
  local function quantized(x, o)
    local i = roc.get_global_id(1)
    if i <= #o then o[i] = math.max(-128, math.min(127, math.floor(x[i] * 3 + 0.5))) end
  end

  local function placed(x, o)
    local i = roc.get_global_id(1)
    if i > #o then return end
    local k, c = math.floor(x[i]), math.ceil(x[i] * 2)
    o[i] = (k >= 1 and k <= #x and 1 or 0) + (c < -5 and 2 or 0) + (k == 7 and 4 or 0)
      + (c ~= 8 and 8 or 0)
  end

  for _, target in ipairs { "cpu:x86-64-v3", "cpu:x86-64-v4" } do
    it("becomes an integer of 32 bits, in vectors: " .. target, function()
      local text = asm("(float32[:], int8[:])", target, quantized)
      assert.matches("vcvttps2dq", text)
    end)
  end

  for dtype, check in pairs { float32 = false, float64 = true } do
    it("is what Lua makes of it: " .. dtype, function()
      local values = { 0 / 0, 1 / 0, -1 / 0, 0.0, -0.0, 0.5, -0.5, 7.25, -7.25, 3.75, 42.0, 43.0,
        0x1p31, 0x1p31 - 128, -0x1p31, -0x1p31 - 256, 0x1p32, 1e10, -1e10, 0x1p53, 0x1p62, -0x1p62,
        1e30, -1e30 }
      for _, f in ipairs { quantized, placed } do
        for i, value in ipairs(values) do
          if value == value and math.abs(value) < 1e18 or not check then
            local kernel, results = roc.kernel(f, { check = check, number = dtype }), {}
            local x = roc.full(37, value, dtype)
            for _, device in ipairs { "cpu", "sim" } do
              local scope <close> = roc.on_device(device)
              local o = roc.zeros(37, "int32")
              results[device] = pcall(function()
                kernel:forall(37)(x, o)
                roc.current_device():synchronize()
              end) and o[i]
            end
            if results.sim then assert.equal(results.sim, results.cpu) end
          end
        end
      end
    end)
  end
end)

describe("a table that bytes choose from", function()
  local function choose(x, t, o)
    local i = roc.get_global_id(1)
    if i <= #o then o[i] = t[x[i] + 1] end
  end

  it("is read without a look at the bytes where it has an element for each", function()
    local text = roc.kernel(choose, { signature = "(uint8[:], int32[:], int32[:])" })
      :inspect_llvm("cpu")
    assert.truthy(text:find("\nelements:"), text)
  end)

  it("is checked where it has fewer", function()
    local kernel, x, o = roc.kernel(choose):forall(500), roc.zeros(500, "uint8"),
      roc.zeros(500, "int32")
    for i = 1, 500 do x[i] = i % 7 end
    for _, length in ipairs { 7, 256, 300 } do
      local t = roc.zeros(length, "int32")
      for i = 1, 7 do t[i] = 10 * i end
      local scope <close> = roc.on_device("cpu")
      kernel(x, t, o)
      for i = 1, 500 do assert.equal(10 * (i % 7 + 1), o[i]) end
    end
    assert.error_matches(function()
      local scope <close> = roc.on_device("cpu")
      kernel(x, roc.zeros(6, "int32"), o)
      o:totable()
    end, "index 7 out of range 1..6 of 't'")
  end)
end)

describe("rows that items go through", function()
  local function compare(f, make_arguments, output)
    local kernel = roc.kernel(f)
    for _, length in ipairs { 0, 1, 31, 70, 200 } do
      local results = {}
      for _, device in ipairs { "cpu", "sim" } do
        roc.seed(length)
        local scope <close> = roc.on_device(device)
        local arguments = make_arguments(length)
        kernel:forall(37)(table.unpack(arguments))
        results[device] = arguments[output]:totable()
      end
      assert.same(results.sim, results.cpu)
    end
  end

  it("give their largest byte", function()
    compare(largest, function(length)
      local x = roc.random_integers(0, 255, 37 * length):astype("uint8"):reshape(37, length)
      return { x, roc.zeros(37, "int16") }
    end, 2)
  end)

  it("give their products", function()
    compare(product, function(length)
      local x = roc.random_integers(-32768, 32767, 38 * length):astype("int16")
      return { x:slice(1, 1, 37 * length):reshape(37, length),
        x:slice(1, 37 * length + 1, 38 * length), roc.zeros(37, "int32") }
    end, 3)
  end)

  it("give their bits, in an array that has none", function()
    for _, f in ipairs { packed, packed_by_32 } do
      compare(f, function(length)
        local width = f == packed and length or 32
        local x = roc.random_integers(0, 1000, 37 * width + 32):astype("int32")
        return { x, roc.zeros(37, "int32"), f == packed and width or nil }
      end, 2)
    end
  end)

  it("are written", function()
    compare(doubles, function(length)
      local x = roc.random_integers(-99, 99, 37 * length):astype("float32"):reshape(37, length)
      return { x, roc.zeros({ 37, length }, "float32") }
    end, 2)
  end)
end)

describe("indices that are checked beforehand", function()
  local function wrap(x, o)
    local i = roc.get_global_id(1)
    local n = #o
    if i > n then return end
    local before = i - 1
    if before < 1 then before = n end
    o[i] = x[before]
  end

  it("are compared each where a variable has them of several places", function()
    local text = roc.kernel(wrap, { signature = "(float32[:], float32[:])" }):inspect_llvm("cpu")
    assert.falsy(text:find("%worst", 1, true), text)
    local x, o = roc.zeros(10, "float32"), roc.zeros(10, "float32")
    for i = 1, 10 do x[i] = i end
    local scope <close> = roc.on_device("cpu")
    roc.kernel(wrap):forall(10)(x, o)
    assert.same({ 10, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, o:totable())
    assert.error_matches(function()
      roc.kernel(wrap):forall(12)(x, roc.zeros(12, "float32"))
    end, "index 12 out of range 1..10 of 'x'")
  end)

  -- Such a float is rounded to 32 bits, and what does not fit is left to items one by one.
  it("may be made of floats beyond 32 bits", function()
    local kernel = roc.kernel(function(x, t, o)
      local i = roc.get_global_id(1)
      if i <= #o then o[i] = t[math.floor(x[i] * 2) % 16 + 1] end
    end)
    local t, o = roc.zeros(16, "int32"), roc.zeros(40, "int32")
    for i = 1, 16 do t[i] = i end
    local scope <close> = roc.on_device("cpu")
    for _, scale in ipairs { 1.0, 1e9, -1e12, 2.0 ^ 40 } do
      local x, expected = roc.zeros(40, "float64"), {}
      for i = 1, 40 do
        x[i] = i * scale + 0.25
        expected[i] = math.floor(x[i] * 2) % 16 + 1
      end
      kernel:forall(40)(x, t, o)
      assert.same(expected, o:totable())
    end
    local x = roc.zeros(40, "float64")
    x[7] = 0 / 0
    assert.error_matches(function()
      kernel:forall(40)(x, t, o)
      roc.current_device():synchronize()
    end, "has no integer representation")
  end)
end)
