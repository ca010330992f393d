-- .npy files: those in spec/support/npy were written by NumPy 2.4; ours are read back and compared
-- byte for byte.
local roc = require "roc"
local programs = require "support.programs"

local DIR = "spec/support/npy/"

local function read_file(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

local function write_file(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  file:write(bytes)
end

-- A file with this header text and these element bytes.
local function npy(header, elements)
  return "\x93NUMPY\1\0" .. ("<s2"):pack(header) .. (elements or "")
end

local path = os.tmpname()

teardown(function() os.remove(path) end)

describe("roc.load", function()
  local values = {
    int8 = { -128, 0, 127 }, int16 = { -32768, 258, 32767 },
    int32 = { -2147483648, 66051, 2147483647 },
    int64 = { math.mininteger, (1 << 40) + 1, math.maxinteger }, uint8 = { 0, 7, 255 },
    uint16 = { 0, 258, 65535 },
    uint32 = { 0, 66051, 4294967295 }, uint64 = { 0, (1 << 40) + 1, -1 },
    float16 = { -0.5, roc.float16(1 / 3), 65504.0 },
    float32 = { -0.5, roc.float32(1 / 3), roc.float32(1e30) },
    float64 = { -0.5, 1 / 3, 1e300 },
  }
  for name, want in pairs(values) do
    it("reads " .. name .. " in both byte orders", function()
      for _, order in ipairs { "le", "be" } do
        if roc[name].itemsize > 1 or order == "le" then
          local a = roc.load(DIR .. name .. "_" .. order .. ".npy")
          assert.equal(roc[name], a.dtype)
          assert.same(want, a:totable())
        end
      end
    end)
  end

  it("reads both element orders", function()
    local c, f = roc.load(DIR .. "c_order.npy"), roc.load(DIR .. "f_order.npy")
    assert.same({ 2, 3, 4 }, c.shape)
    assert.same({ 2, 3, 4 }, f.shape)
    assert.equal(23, c:get(2, 3, 4))
    assert.equal(6, c:get(1, 2, 3))
    assert.is_true(roc.array_equal(c, f))
    assert.is_true(f:is_f_contiguous())
    assert.same({ { 0.0, 1.0, 2.0 }, { 3.0, 4.0, 5.0 } },
      roc.load(DIR .. "f_order_be.npy"):totable())
  end)

  it("reads booleans, empty arrays, single numbers, and later versions of the format", function()
    assert.same({ { true, false }, { false, true }, { true, true } },
      roc.load(DIR .. "bool.npy"):totable())
    assert.same({ 0, 3 }, roc.load(DIR .. "empty.npy").shape)
    assert.same({ 2.5 }, roc.load(DIR .. "scalar.npy"):totable())
    assert.same({ 0, 1, 2 }, roc.load(DIR .. "version2.npy"):totable())
    assert.same({ 0, 1, 2 }, roc.load(DIR .. "version3.npy"):totable())
  end)

  it("refuses elements that no dtype holds", function()
    for name, pattern in pairs {
      complex = "elements of type '<c16'", text = "elements of type '<U2'",
      records = "holds records",
      nine_dims = "more than 8 dimensions",
    } do
      assert.error_matches(function() roc.load(DIR .. name .. ".npy") end, pattern)
    end
  end)

  it("says what is wrong with a file", function()
    local good = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }"
    local cases = {
      { "is no .npy file", "" },
      { "is no .npy, .npz or PNG file", "hello, this is text" },
      { "is no .npy file", "\x93NUMP" },
      { "version 4.0", "\x93NUMPY\4\0\0\0" },
      { "is cut short", "\x93NUMPY\1\0" },
      { "is cut short", "\x93NUMPY\1\0" .. ("<s2"):pack(good):sub(1, 20) },
      { "header of 4294967295 bytes", "\x93NUMPY\2\0\xff\xff\xff\xff" },
      { "promises 8 bytes, 7 are there", npy(good, "1234567") },
      { "promises 8 bytes, 0 are there", npy(good) },
      { "byte 0: '{' expected", npy("") },
      { "'{' expected", npy("[1]") },
      { "no 'descr'", npy("{}") },
      { "no 'fortran_order'", npy("{'descr': '<i4'}") },
      { "no 'shape'", npy("{'descr': '<i4', 'fortran_order': False}") },
      { "'shape' twice", npy("{'shape': (1,), 'shape': (1,)}") },
      { "unknown key 'x'", npy("{'x': 1}") },
      { "a string expected", npy("{descr: '<i4'}") },
      { "the end of the string expected", npy("{'descr") },
      { "':' expected", npy("{'descr' '<i4'}") },
      { "type '<i3'", npy("{'descr': '<i3'}") },
      { "type ''", npy("{'descr': ''}") },
      { "type 'i4'", npy("{'descr': 'i4'}") },
      { "True or False expected", npy("{'fortran_order': 1}") },
      { "a tuple expected", npy("{'shape': 3}") },
      { "an extent expected", npy("{'shape': (-3,)}") },
      { "fits 64 bits expected", npy("{'shape': (99999999999999999999,)}") },
      { "',' or '%)' expected", npy("{'shape': (1 2)}") },
      { "',' or '}' expected", npy("{'descr': '<i4' 'shape'}") },
      { "end of the header expected", npy(good .. "x") },
      { "zero byte", npy(good .. "\0") },
      { "'.-': shape {4611686018427387904, 4} of int32 is too large",
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }") },
      { "promises 40000000000000 bytes",
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (10000000000000,), }") },
    }
    for _, case in ipairs(cases) do
      write_file(path, case[2])
      assert.error_matches(function() roc.load(path) end, case[1])
    end
    write_file(path, npy(good, "12345678trailing"))
    assert.same({ 2 }, roc.load(path).shape)
  end)

  it("never crashes on a file with any byte changed or missing", function()
    local bytes = read_file(DIR .. "f_order_be.npy")
    for i = 1, #bytes do
      for _, byte in ipairs { "\0", "\xff", "'", ")", "9" } do
        write_file(path, bytes:sub(1, i - 1) .. byte .. bytes:sub(i + 1))
        local ok, err = pcall(roc.load, path)
        assert.is_true(ok or err.code == "invalid")
      end
      write_file(path, bytes:sub(1, i - 1))
      assert.is_false((pcall(roc.load, path)))
    end
  end)

  it("reports files that cannot be opened", function()
    local ok, err = pcall(roc.load, "/nonexistent/x.npy")
    assert.is_false(ok)
    assert.equal("io", err.code)
    assert.matches("cannot open '/nonexistent/x.npy'", tostring(err))
    assert.error_matches(function() roc.load("spec") end, "directory")
    assert.error_matches(function() roc.load("a\0b") end, "zero byte")
    assert.error_matches(function() roc.load() end, "string expected")
  end)
end)

describe("roc.save", function()
  it("writes what NumPy writes", function()
    for _, name in ipairs { "int8_le", "int64_le", "uint16_le", "float16_le", "float64_le", "bool",
      "c_order", "f_order", "empty" } do
      local original = DIR .. name .. ".npy"
      roc.save(path, roc.load(original))
      assert.equal(read_file(original), read_file(path))
    end
  end)

  it("packs strided arrays", function()
    local a = roc.range(1, 24):reshape(2, 3, 4):slice(3, 1, 4, 2):transpose(2, 1, 3)
    roc.save(path, a)
    local b = roc.load(path)
    assert.same(a:totable(), b:totable())
    assert.is_true(b:is_c_contiguous())
  end)

  it("replaces a file whole, and leaves it alone when it fails", function()
    roc.save(path, roc.array { 1, 2, 3 })
    assert.error_matches(function() roc.save(path, roc.zeros(3, "bfloat16")) end,
      "no bfloat16.*astype")
    assert.same({ 1.0, 2.0, 3.0 }, roc.load(path):totable())
    assert.error_matches(function() roc.save("/nonexistent/x.npy", roc.zeros(3)) end,
      "cannot write '/nonexistent/x.npy'")
    assert.error_matches(function() roc.save(path, { 1 }) end, "roc.Array expected, got table")
    local leftovers = io.popen("ls " .. path .. "*"):read("a")
    assert.equal(path .. "\n", leftovers)
  end)

  it("writes to devices and pipes", function()
    roc.save("/dev/null", roc.zeros(3))
    local code = "require('roc').save('/dev/stdout', require('roc').range(1, 3))"
    local ok, output = programs.run(programs.lua(code, "env") .. " | cat")
    assert.is_true(ok)
    assert.equal(string.pack("<i8i8i8", 1, 2, 3), output:sub(-24))
  end)

  it("reports a full disk", function()
    assert.error_matches(function() roc.save("/dev/full", roc.zeros(100000)) end,
      "cannot write '/dev/full'")
  end)
end)
