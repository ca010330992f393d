-- Element types: names, and the exact rounding of every conversion.
local roc = require "roc"

local NAMES = {
  "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
  "float16", "bfloat16", "float32", "float64",
}

-- The bits a value is stored as.
local function bits(dtype, value)
  local format = ({ [1] = "<I1", [2] = "<I2", [4] = "<I4", [8] = "<i8" })[roc[dtype].itemsize]
  return (format:unpack(roc.array({ value }, dtype):tobytes()))
end

-- The value of the float with these 16 bits, by the definition of the format.
local function decode(pattern, mantissa_bits, exponent_bits)
  local bias = (1 << (exponent_bits - 1)) - 1
  local exponent = pattern >> mantissa_bits & ((1 << exponent_bits) - 1)
  local mantissa = pattern & ((1 << mantissa_bits) - 1)
  local sign = pattern >> 15 == 1 and -1.0 or 1.0
  if exponent == 2 * bias + 1 then return mantissa == 0 and sign * math.huge or 0 / 0 end
  if exponent == 0 then return sign * mantissa * 2.0 ^ (1 - bias - mantissa_bits) end
  return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ^ (exponent - bias)
end

local SMALL = { float16 = { 10, 5 }, bfloat16 = { 7, 8 } }

describe("dtypes", function()
  it("have name, itemsize and kind, and print as their name", function()
    local sizes = { 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8 }
    local kinds = "biiiiuuuuffff"
    for i, name in ipairs(NAMES) do
      local dtype = roc[name]
      assert.equal(name, dtype.name)
      assert.equal(name, tostring(dtype))
      assert.equal(sizes[i], dtype.itemsize)
      assert.equal(kinds:sub(i, i), dtype.kind)
      assert.error_matches(function() return dtype.nane end,
        "roc.DType has no field 'nane'; did you mean 'name'%?")
    end
  end)

  it("are identical however they are named", function()
    assert.equal(roc.float32, roc.zeros(1, "float32").dtype)
    assert.equal(roc.float32, roc.zeros(1, roc.float32).dtype)
  end)

  it("refuse unknown names and other values", function()
    assert.error_matches(function() roc.zeros(1, "float33") end,
      "bad argument #2.*'float33' is no dtype; there are bool int8 .* float64; "
        .. "did you mean 'float32'%?%)$")
    assert.error_matches(function() roc.zeros(1, 7) end,
      "bad argument #2.*dtype.*expected, got number")
    assert.error_matches(function() roc.zeros(1, {}) end,
      "bad argument #2.*dtype.*expected, got table")
  end)
end)

describe("calling a dtype", function()
  it("wraps integers", function()
    assert.equal(44, roc.int8(300))
    assert.equal(-128, roc.int8(128))
    assert.equal(255, roc.uint8(-1))
    assert.equal(-1, roc.uint64(-1))
    assert.equal(0x89abcdef - (1 << 32), roc.int32(0x123456789abcdef))
    assert.equal(math.mininteger, roc.int64(math.mininteger))
  end)

  it("truncates and saturates floats into integers, NaN to 0", function()
    assert.equal(-3, roc.int32(-3.9))
    assert.equal(3, roc.uint8(3.9))
    assert.equal(0, roc.uint8(-3.9))
    assert.equal(127, roc.int8(1e300))
    assert.equal(-128, roc.int8(-math.huge))
    assert.equal(4294967295, roc.uint32(1e10))
    assert.equal(math.maxinteger, roc.int64(2.0 ^ 63))
    assert.equal(math.mininteger, roc.int64(-2.0 ^ 63))
    assert.equal(-1, roc.uint64(2.0 ^ 64))
    assert.equal(math.mininteger, roc.uint64(2.0 ^ 63))
    for _, name in ipairs(NAMES) do
      if roc[name].kind == "i" or roc[name].kind == "u" then
        assert.equal(0, roc[name](0 / 0))
        assert.equal("integer", math.type(roc[name](1.5)))
      end
    end
  end)

  it("makes booleans of numbers and numbers of booleans", function()
    assert.is_true(roc.bool(2))
    assert.is_true(roc.bool(0 / 0))
    assert.is_false(roc.bool(0.0))
    assert.is_false(roc.bool(false))
    assert.equal(1, roc.int8(true))
    assert.equal(0.0, roc.float32(false))
  end)

  it("gives floats of its own precision", function()
    assert.equal(("<f"):unpack(("<f"):pack(0.1)), roc.float32(0.1))
    assert.equal("float", math.type(roc.float64(3)))
    assert.equal(math.huge, roc.float32(1e300))
    assert.equal(math.huge, roc.float16(65520))
    assert.equal(65504.0, roc.float16(65519.99))
  end)

  it("refuses what is no number", function()
    assert.error_matches(function() roc.int8("3") end,
      "bad argument #1 to 'int8' %(number or boolean expected, got string%)")
    assert.error_matches(function() roc.int8() end, "bad argument #1 to 'int8'")
  end)
end)

for name, format in pairs(SMALL) do
  describe(name, function()
    local mantissa_bits, exponent_bits = format[1], format[2]
    local infinity = ((1 << exponent_bits) - 1) << mantissa_bits

    it("reads every bit pattern exactly, and stores it back", function()
      local patterns = {}
      for pattern = 0, 0xffff do patterns[pattern + 1] = ("<I2"):pack(pattern) end
      local a = roc.frombytes(table.concat(patterns), name)
      local wrong = {}
      for pattern = 0, 0xffff do
        local got, want = a[pattern + 1], decode(pattern, mantissa_bits, exponent_bits)
        local same = got == want and (got ~= 0 or 1 / got == 1 / want)
          or (got ~= got and want ~= want)
        if not same then wrong[#wrong + 1] = pattern end
      end
      assert.same({}, wrong)
      local back = roc.array(a:totable(), name)
      assert.is_true(roc.array_equal(a:slice(1, 1, infinity + 1), back:slice(1, 1, infinity + 1)))
    end)

    it("rounds to the nearest, and ties to even", function()
      local wrong = {}
      for pattern = 0, infinity - 2, name == "float16" and 7 or 11 do
        local low = decode(pattern, mantissa_bits, exponent_bits)
        local high = decode(pattern + 1, mantissa_bits, exponent_bits)
        local middle = low + (high - low) / 2
        local even = pattern % 2 == 0 and pattern or pattern + 1
        local above, below = middle * (1 + 2.0 ^ -52), middle * (1 - 2.0 ^ -52)
        for _, case in ipairs { { middle, even }, { above, pattern + 1 }, { below, pattern } } do
          if bits(name, case[1]) ~= case[2] then wrong[#wrong + 1] = { pattern, case[1] } end
          if bits(name, -case[1]) ~= case[2] | 0x8000 then
            wrong[#wrong + 1] = { pattern, -case[1] }
          end
        end
      end
      assert.same({}, wrong)
    end)

    it("overflows to infinity half a step above its largest value", function()
      local largest = decode(infinity - 1, mantissa_bits, exponent_bits)
      local step = largest - decode(infinity - 2, mantissa_bits, exponent_bits)
      assert.equal(infinity, bits(name, largest + step / 2))
      assert.equal(infinity - 1, bits(name, (largest + step / 2) * (1 - 2.0 ^ -52)))
      assert.equal(infinity | 0x8000, bits(name, -math.huge))
      assert.equal(0, bits(name, 1e-320))
      assert.equal(0x8000, bits(name, -1e-320))
    end)

    it("keeps NaN a NaN", function()
      local nan = roc.array({ 0 / 0 }, name)[1]
      assert.is_true(nan ~= nan)
    end)
  end)
end

describe("one rounding", function()
  it("from a double to a small float never passes through float32", function()
    assert.equal(decode(0x3c01, 10, 5), roc.float16(1 + 2.0 ^ -11 + 2.0 ^ -40))
    assert.equal(1.0, roc.float16(1 + 2.0 ^ -11))
    assert.equal(1 + 2.0 ^ -7, roc.bfloat16(1 + 2.0 ^ -8 + 2.0 ^ -40))
  end)

  it("from an integer never passes through a double", function()
    -- One above the middle of two neighbours, where a double no longer sees the one.
    assert.equal(2.0 ^ 60 + 2.0 ^ 37, roc.float32((1 << 60) + (1 << 36) + 1))
    assert.equal(2.0 ^ 60, roc.float32((1 << 60) + (1 << 36)))
    assert.equal(2.0 ^ 60 + 2.0 ^ 53, roc.bfloat16((1 << 60) + (1 << 52) + 1))
    assert.equal(2.0 ^ 60, roc.bfloat16((1 << 60) + (1 << 52)))
    assert.equal(-2.0 ^ 63, roc.bfloat16(math.mininteger))
    assert.equal(2048.0, roc.float16(2049))
    assert.equal(2052.0, roc.float16(2051))
    assert.equal(65504.0, roc.float16(65519))
    assert.equal(math.huge, roc.float16(65520))
    assert.equal(-math.huge, roc.float16(math.mininteger))
  end)
end)

describe("storing", function()
  it("wraps integers that are out of range", function()
    assert.equal(44, roc.array({ 300 }, "int8")[1])
    assert.equal(65535, roc.array({ -1 }, "uint16")[1])
    assert.equal(-1, roc.array({ -1 }, "uint64")[1])
  end)

  it("takes a float into an integer array only when it has an integer value", function()
    assert.equal(3, roc.array({ 3.0 }, "int8")[1])
    for _, value in ipairs { 1.5, 1e300, math.huge, 0 / 0, 2.0 ^ 63 } do
      assert.error_matches(function() roc.array({ value }, "int64") end,
        "no integer representation")
    end
  end)

  it("keeps booleans and numbers apart", function()
    assert.error_matches(function() roc.array({ 1 }, "bool") end, "boolean expected, got number")
    assert.error_matches(function() roc.array({ true }, "int8") end, "number expected, got boolean")
    assert.error_matches(function() roc.array({ "1" }, "int8") end, "number expected, got string")
  end)
end)
