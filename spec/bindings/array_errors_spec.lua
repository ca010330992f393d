-- Misuse of arrays raises; nothing crashes, and the process goes on.
local roc = require "roc"
local testing = require("roc.core").testing

local function refuses(pattern, f)
  assert.error_matches(f, pattern)
end

local a = roc.zeros { 3, 4 }

describe("constructors", function()
  it("refuse shapes that are none", function()
    refuses("extent %-1 is negative", function() roc.zeros(-1) end)
    refuses("extent %-5 is negative", function() roc.zeros { 2, -5 } end)
    refuses("an extent is an integer, got 1.5", function() roc.zeros(1.5) end)
    refuses("an extent is an integer, got nan", function() roc.zeros(math.abs(0 / 0)) end)
    refuses("an extent is an integer, got x", function() roc.zeros { "x" } end)
    refuses("an extent is an integer, got 3", function() roc.zeros { "3" } end)
    refuses("an extent is an integer, got nil",
      function() roc.zeros(setmetatable({}, { __len = function() return 2 end })) end)
    refuses("1 to 8 extents, got 0", function() roc.zeros {} end)
    refuses("1 to 8 extents, got 9", function() roc.zeros { 1, 1, 1, 1, 1, 1, 1, 1, 1 } end)
    refuses("shape.*expected, got string", function() roc.zeros("3") end)
    refuses("shape.*expected, got no value", function() roc.zeros() end)
    refuses("bad argument #3 to 'zeros' %(\"C\" or \"F\" expected, got 'X'%)",
      function() roc.zeros(3, "int8", "X") end)
  end)

  it("refuse shapes whose bytes do not fit, and memory that is not there", function()
    refuses("too large", function() roc.zeros(1 << 62) end)
    refuses("too large", function() roc.zeros(math.maxinteger, "int16") end)
    refuses("too large", function() roc.zeros { 1 << 31, 1 << 31, 1 << 31 } end)
    refuses("too large", function() roc.zeros { 0, 1 << 62 } end)
    for _, make in ipairs { roc.empty, roc.zeros, roc.ones, roc.random } do
      local ok, err = pcall(make, 1 << 45)
      assert.is_false(ok)
      assert.equal("oom", err.code)
      assert.matches("out of memory", tostring(err))
      assert.matches("^failed: .*out of memory", "failed: " .. err)
    end
    assert.equal(1.0, roc.ones(3)[3])
  end)

  it("refuse ragged and wrong tables, naming the place", function()
    refuses("ragged table: element {2} has 1 elements where others have 2", function()
      roc.array { { 1, 2 }, { 3 } }
    end)
    refuses("ragged table: element {2} has 1 elements where others have 0", function()
      roc.array { {}, { 1 } }
    end)
    refuses("ragged table: element {2} is a number where others are tables", function()
      roc.array { { 1 }, 2 }
    end)
    refuses("ragged table: element {2} is a table where others are numbers", function()
      roc.array { 1, { 2 } }
    end)
    refuses("element {1, 2}: number expected, got string", function() roc.array { { 1, "2" } } end)
    refuses("element {2}: number expected, got boolean", function() roc.array { 1, true } end)
    refuses("element {2}: boolean expected, got number", function() roc.array { true, 1 } end)
    refuses("element {2}: number expected, got nil", function()
      roc.array(table.pack(1, nil, 3))
    end)
    refuses("element {1}: number expected, got roc.Array", function() roc.array { a } end)
    refuses("table or array expected, got number", function() roc.array(3) end)
    local loop = {}
    loop[1] = loop
    refuses("nested more than 8 deep", function() roc.array(loop) end)
  end)

  it("pass on what a table's metamethods raise, and survive what they change", function()
    refuses("mine",
      function() roc.array(setmetatable({}, { __len = function() error("mine") end })) end)
    local failing =
      setmetatable({}, { __len = function() return 1 end, __index = function() error("mine") end })
    refuses("mine", function() roc.array { { 1 }, failing } end)
    refuses("mine", function() roc.zeros(failing) end)
    local row = {}
    local outer = setmetatable({}, {
      __len = function() return 2 end,
      __index = function(_, i)
        if i == 2 then row[#row + 1] = 1 end
        return row
      end,
    })
    refuses("ragged", function() roc.array(outer) end)
    refuses("negative length",
      function() roc.array(setmetatable({}, { __len = function() return -1 end })) end)
  end)

  it("refuse sequences that do not end or do not fit", function()
    refuses("step is zero", function() roc.range(1, 10, 0) end)
    refuses("other than zero", function() roc.range(1.0, 10, 0) end)
    refuses("finite number", function() roc.range(1.0, math.huge) end)
    refuses("finite number", function() roc.range(0 / 0, 1) end)
    refuses("too many elements", function() roc.range(math.mininteger, math.maxinteger) end)
    refuses("too many elements", function() roc.range(0.0, 1e300) end)
    refuses("too small", function() roc.range(1e17, 1e17 + 64, 0.5) end)
    refuses("count is negative", function() roc.linspace(0, 1, -1) end)
    refuses("number expected", function() roc.range("a", 1) end)
    refuses("a dtype of numbers", function() roc.range(1, 2, 1, "bool") end)
    refuses("#4 .*1%.5 has no integer representation", function() roc.range(1, 2, 0.5, "int32") end)
    refuses("#4 .*3%.25 has no integer representation", function()
      roc.linspace(1, 10, 5, "uint8")
    end)
  end)

  it("refuse bytes that are no whole elements or another shape's", function()
    refuses("3 bytes are no whole number of int16 elements", function()
      roc.frombytes("abc", "int16")
    end)
    refuses("the bytes hold 4 elements, not {3}", function() roc.frombytes("abcd", "int8", 3) end)
    refuses("string expected", function() roc.frombytes(17, "int8") end)
  end)
end)

describe("methods", function()
  it("check their arguments", function()
    refuses("cannot reshape 12 elements into {5, 3}", function() a:reshape(5, 3) end)
    refuses("cannot reshape 12 elements into {5, %-1}", function() a:reshape(5, -1) end)
    refuses("cannot reshape 12 elements into {%-1, %-1}", function() a:reshape(-1, -1) end)
    refuses("cannot reshape 0 elements into {0, %-1}", function() roc.zeros(0):reshape(0, -1) end)
    refuses("cannot reshape", function() a:reshape(1 << 62, 1 << 62) end)
    refuses("extent %-2 is negative", function() a:reshape(-2) end)
    refuses('order is "C" or "F"', function() a:reshape(12, { order = "Z" }) end)
    refuses("unknown option 'ordr'", function() a:reshape(12, { ordr = "F" }) end)
    refuses("unknown option '1'", function() a:reshape({ 3, 4 }, { "F" }) end)
    refuses("shape.*expected", function() a:reshape() end)
    refuses("too many extents", function() a:reshape(1, 1, 1, 1, 1, 1, 1, 1, 12) end)
    refuses("2 axes expected, got 1", function() a:transpose(1) end)
    refuses("axis 3 out of range 1%.%.2", function() a:transpose(1, 3) end)
    refuses("axis 1 is named twice", function() a:transpose(1, 1) end)
    refuses("dimension 3 out of range 1%.%.2", function() a:slice(3, 1, 1) end)
    refuses("index 5 out of range 1%.%.4 %(dimension 2%)", function() a:slice(2, 1, 5) end)
    refuses("index 0 out of range 1%.%.3", function() a:slice(1, 0, 2) end)
    refuses("step is zero", function() a:slice(1, 1, 2, 0) end)
    refuses("number expected", function() a:fill("x") end)
    refuses("no integer representation", function() roc.zeros(2, "int8"):fill(0.5) end)
    refuses("value expected", function() a:fill() end)
    refuses("is no dtype", function() a:astype("int7") end)
    refuses("bad argument #1 to 'ravel' %(\"C\" or \"F\" expected, got 'K'%)",
      function() a:ravel("K") end)
    refuses("\"C\" or \"F\" expected, got table", function() a:ravel({}) end)
    refuses("finite", function() roc.range(1.0, 2, 1 / 0) end)
    refuses("tolerance is not negative", function() roc.allclose(a, a, -1) end)
  end)

  it("refuse a self that is no array", function()
    for name, method in pairs(require("roc.core").array_methods) do
      if name ~= "tostring" then
        refuses("roc%.Array", function() method(io.stdout) end)
        refuses("roc%.Array", function() method() end)
        refuses("roc%.Array", function() method({}) end)
      end
    end
    local meta = debug.getmetatable(a)
    refuses("roc%.Array", function() meta.__index({}, 1) end)
    refuses("roc%.Array", function() meta.__newindex(io.stdout, 1, 1) end)
    refuses("roc%.Array", function() meta.__len(7) end)
  end)
end)

describe("element access", function()
  it("refuses fields as targets, and what no element can hold", function()
    refuses("cannot set field 'shape'", function() a.shape = {} end)
    refuses("number expected, got table", function() roc.zeros(3)[1] = {} end)
    refuses("number expected, got nil", function() roc.zeros(3)[1] = nil end)
    refuses("roc.Array has no field 'nonsense'", function() return a.nonsense end)
  end)
end)

describe("an array whose memory was given back by force", function()
  it("is refused, not used", function()
    local b = roc.zeros { 2, 2 }
    local row = b[1]
    debug.getmetatable(b).__gc(b)
    debug.getmetatable(b).__gc(b)
    refuses("closed", function() return b[1] end)
    refuses("closed", function() b:reshape(4) end)
    refuses("closed", function() return #b end)
    refuses("closed", function() return b.shape end)
    assert.equal(0.0, row[2])
  end)
end)

describe("memory that runs out", function()
  local path = os.tmpname()
  local source = roc.range(1, 24):reshape(2, 3, 4)
  local strided = source:transpose(2, 3, 1)
  roc.save(path, source)

  teardown(function() os.remove(path) end)

  local operations = {
    zeros = function() roc.zeros { 3, 4 } end,
    array = function() roc.array { { 1, 2 }, { 3, 4 } } end,
    copy = function() strided:copy() end,
    astype = function() strided:astype("float32") end,
    ravel = function() strided:ravel() end,
    ["array of array"] = function() roc.array(strided, "int8") end,
    range = function() roc.range(1, 10, 0.5) end,
    random = function() roc.random(10) end,
    frombytes = function() roc.frombytes("abcd", "int8") end,
    save = function() roc.save(path, strided) end,
    load = function() roc.load(path) end,
  }

  -- Fails the n-th allocation of the core, for n = 1, 2, … until none is left to fail.
  local function each_failure(f, check)
    for n = 1, 20 do
      testing.fail_alloc(n)
      local ok, err = pcall(f)
      testing.fail_alloc(0)
      check(ok, err)
    end
  end

  for name, operation in pairs(operations) do
    it("raises or is tried again, and leaks nothing, in " .. name, function()
      operation()
      collectgarbage()
      collectgarbage()
      local before = testing.live_blocks()
      each_failure(operation, function(ok, err)
        assert.is_true(ok or err.code == "oom", tostring(err))
      end)
      collectgarbage("stop") -- now nothing is tried again
      local failures = 0
      each_failure(operation, function(ok, err)
        assert.is_true(ok or err.code == "oom", tostring(err))
        failures = failures + (ok and 0 or 1)
      end)
      collectgarbage("restart")
      assert.is_true(failures > 0)
      collectgarbage()
      collectgarbage()
      assert.equal(before, testing.live_blocks())
    end)
  end
end)
