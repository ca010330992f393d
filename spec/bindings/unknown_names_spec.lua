-- Names that are not there, and calls in the manner of other libraries: the message names what was
-- written and says what to write.
local roc = require "roc"

local function refuses(f, ...)
  local ok, why = pcall(f)
  assert.is_false(ok)
  for _, text in ipairs { ... } do
    assert.is_truthy(tostring(why):find(text, 1, true), ("%q does not contain %q"):format(
      tostring(why), text))
  end
end

local a = roc.array({ { 1, 2, 3 }, { 4, 5, 6 } }, "int32")

local function kinds()
  return { ["roc.Array"] = a, ["roc.DeviceArray"] = roc.to_device(a),
    ["roc.SmartArray"] = roc.smart_array(a:copy()) }
end

describe("walking over an array", function()
  it("by ipairs ends at its last element, or row", function()
    for class, m in pairs(kinds()) do
      local rows, sum = {}, 0
      for i, row in ipairs(m) do
        rows[#rows + 1] = i
        for j, x in ipairs(row) do sum = sum + j * x end
      end
      assert.same({ 1, 2 }, rows, class)
      assert.equal(1 + 4 + 9 + 4 + 10 + 18, sum, class)
      assert.equal(6, m[2][3])
    end
    for _ in ipairs(roc.zeros(0)) do error("an empty array has an element") end
    for _ in ipairs(roc.device_array { 0, 3 }) do error("an empty array has a row") end
  end)

  it("by ipairs of a table that inherits from it ends too", function()
    local t = setmetatable({}, { __index = roc.array { 7, 8 } })
    local list = {}
    for _, v in ipairs(t) do list[#list + 1] = v end
    assert.same({ 7.0, 8.0 }, list)
  end)

  it("by pairs gives indices in order", function()
    for class, m in pairs(kinds()) do
      local keys, values = {}, {}
      for k, row in pairs(m) do
        for j, x in pairs(row) do keys[#keys + 1], values[#values + 1] = k * 10 + j, x end
      end
      assert.same({ 11, 12, 13, 21, 22, 23 }, keys, class)
      assert.same({ 1, 2, 3, 4, 5, 6 }, values, class)
    end
    for _ in pairs(roc.zeros(0)) do error("an empty array has an element") end
  end)

  it("leaves the element after the last a mistake of the script", function()
    for _, m in pairs(kinds()) do
      local row = m[1]
      refuses(function() return m[3] end, "index 3 out of range 1..2")
      refuses(function() return row[4] end, "index 4 out of range 1..3")
      refuses(function() return row[0] end, "index 0 out of range 1..3")
      refuses(function() return table.unpack(row, 1, 4) end, "index 4 out of range 1..3")
      assert.same({ 1, 2, 3 }, { table.unpack(row) })
    end
  end)
end)

describe("an unknown field", function()
  it("of an array is an error with the near name", function()
    for class, m in pairs(kinds()) do
      local function no_field(name, advice)
        refuses(function() return m[name] end,
          ("%s has no field '%s'%s"):format(class, name, advice))
      end
      no_field("T", "; write a:transpose()")
      no_field("sizes", "; did you mean 'size'?")
      no_field("shpae", "; did you mean 'shape'?")
      no_field("Shape", "; did you mean 'shape'?")
      no_field("transposed", "; did you mean 'transpose'?")
      no_field("len", "; write #a")
      no_field("numel", "; write a.size")
      no_field("iscontiguous", "")
      no_field("is_ccontiguous", "; did you mean 'is_c_contiguous'?")
      no_field("qqqqqq", "")
      refuses(function() return m["1"] end, "index '1' is a string; write a[1]")
    end
    refuses(function() return roc.to_device(a):copy() end, "roc.DeviceArray has no field 'copy'",
      "d:copy_to_host()")
    assert.is_nil(a.device)
  end)

  it("of other values too", function()
    local s = roc.stream()
    refuses(function() return s:synchronise() end, "roc.Stream has no field 'synchronise'",
      "did you mean 'synchronize'?")
    refuses(function() return s:auto_synchronize():sync() end,
      "roc.StreamScope has no field 'sync'", "did you mean 'synchronize'?")
    refuses(function() return roc.event():recrod() end, "roc.Event has no field 'recrod'",
      "did you mean 'record'?")
    refuses(function() return roc.current_device().kidn end, "roc.Device has no field 'kidn'",
      "did you mean 'kind'?")
    refuses(function() return roc.float32.itemsze end, "roc.DType has no field 'itemsze'",
      "did you mean 'itemsize'?")
    refuses(function() return roc.register(a:copy()):clos() end,
      "roc.Registration has no field 'clos'", "did you mean 'close'?")
    local k = roc.kernel("function(x) x[1] = 1 end")
    refuses(function() return k:for_all(3) end, "roc.Kernel has no field 'for_all'",
      "did you mean 'forall'?")
    refuses(function() return k:inspect_assembly() end, "roc.Kernel has no field",
      "did you mean 'inspect_asm'?")
  end)

  it("is answered by names that there are", function()
    local places = { ARRAY = true, ROC = true, RNG = true }
    local rng, count = roc.rng(1), 0
    for line in io.lines("src/base/foreign.def") do
      local place, advice = line:match('^ROC_FOREIGN%((%u+),%s*"[^"]*",%s*(".*)%)$')
      advice = places[place] and load("return " .. advice)():gsub('require "[^"]*"', "")
      for path in string.gmatch(advice or "", "%f[%w_]roc%.([%a_][%w_.]*)") do
        local value = roc
        for name in path:gmatch("[^.]+") do value = value[name] end
        count = count + 1
      end
      for name in string.gmatch(advice or "", "%f[%w_]a:([%w_]+)") do
        assert.is_function(a[name])
        count = count + 1
      end
      for name in string.gmatch(advice or "", "%f[%w_]rng:([%w_]+)") do
        assert.is_function(rng[name])
      end
    end
    assert.is_true(count > 100)
    refuses(function() return rng.randint end, "; write rng:integers(low, high, shape)")
  end)

  it("of roc is one that names the near name, or what stands for a foreign one", function()
    local function no_field(name, advice)
      refuses(function() return roc[name] end, "unknown_names_spec.lua",
        ("roc has no field '%s'%s"):format(name, advice))
    end
    no_field("arange", "; write roc.range(first, last [, step])")
    no_field("get_globalid", "; did you mean 'roc.get_global_id'?")
    no_field("getGlobalId", "; did you mean 'roc.get_global_id'?")
    no_field("zeroes", "; did you mean 'roc.zeros'?")
    no_field("flaot32", "; did you mean 'roc.float32'?")
    no_field("Kernel", "; did you mean 'roc.kernel'?")
    no_field("syncthreads", "; write roc.barrier()")
    no_field("threadIdx", "; write roc.get_local_id(d)")
    no_field("jit", "; write roc.kernel(f)")
    no_field("double", "; write roc.float64")
    no_field("zeros_like", "; write roc.zeros(a.shape, a.dtype)")
    no_field("qqqqqq", "")
    refuses(function() return roc.atomic.ad end, "roc.atomic has no field 'ad'",
      "did you mean 'roc.atomic.add'?")
    refuses(function() return roc.math.expm end, "roc.math has no field 'expm'",
      "did you mean 'roc.math.expm1'?")
    refuses(function() return roc.wave.shufle end, "did you mean 'roc.wave.shuffle'?")
  end)

  it("of roc can be asked for without an error", function()
    assert.is_nil(rawget(roc, "fft"))
    assert.is_false((pcall(function() return roc.fft end)))
    local count = 0
    for name, value in pairs(roc) do
      count = count + 1
      assert.equal(value, roc[name])
    end
    assert.is_true(count > 50)
    assert.is_nil(roc[1])
    for _ in ipairs(roc) do error("roc has no elements") end
    roc.a_field_of_the_script = 1
    assert.equal(1, roc.a_field_of_the_script)
    roc.a_field_of_the_script = nil
  end)
end)

describe("the name of a dtype", function()
  it("that is none says which is meant", function()
    local function no_dtype(name, advice)
      refuses(function() return roc.zeros(3, name) end, "bad argument #2 to 'zeros'",
        ("'%s' is no dtype; there are bool int8"):format(name), advice)
      refuses(function() return a:astype(name) end, "bad argument #1 to 'astype'", advice)
    end
    no_dtype("f32", "; write \"float32\"")
    no_dtype("double", "; write \"float64\"")
    no_dtype("half", "; write \"float16\"")
    no_dtype("int", "\"int32\", C's int, or \"int64\"")
    no_dtype("float", "\"float32\"")
    no_dtype("flota64", "; did you mean 'float64'?")
    no_dtype("Float32", "; did you mean 'float32'?")
    no_dtype("int32_t", "; did you mean 'int32'?")
    no_dtype("unit8", "; did you mean 'uint8'?")
  end)

  it("in a signature as well", function()
    local function bad(signature, ...)
      refuses(function() roc.kernel(function(x) x[1] = 1 end, { signature = signature }) end,
        ("bad signature '%s'"):format(signature), ...)
    end
    bad("void(float32[:])", "write '(float32[:])'")
    bad("none(float32[:], int64)", "write '(float32[:], int64)'")
    bad("float32[:]", "write '(float32[:])'")
    bad("(f32[:])", "'f32' is none; write \"float32\"")
    bad("(flaot32[:])", "'flaot32' is none; write float32")
    bad("(double)", "write \"float64\"")
    bad("(float32*)", "an array as float32[:]")
  end)
end)

describe("a call in the manner of another library", function()
  it("says how extents are given", function()
    refuses(function() return roc.zeros(3, 4) end, "bad argument #2 to 'zeros'",
      "a shape is one argument: roc.zeros({3, 4})")
    refuses(function() return roc.ones(3, 4, 5) end, "roc.ones({3, 4, 5})")
    refuses(function() return roc.empty(3, 4) end, "roc.empty({3, 4})")
    refuses(function() return roc.random(3, 4) end, "roc.random({3, 4})")
    refuses(function() return roc.device_array(3, 4) end, "roc.device_array({3, 4})")
    refuses(function() return roc.pinned_array(3, 4) end, "roc.pinned_array({3, 4})")
    refuses(function() return roc.random_integers(1, 6, 3, 4) end,
      "roc.random_integers(..., {3, 4})")
    refuses(function() return roc.full(3, 4, 0) end, "roc.full({3, 4}, v)")
  end)

  it("says how a part of an array is taken", function()
    local x = roc.range(1, 9)
    refuses(function() return x:slice(2, 5) end, "bad argument #3 to 'slice'", "a:slice(1, 2, 5)")
    refuses(function() return x:slice(2, 5, 2) end, "dimension 2 out of range 1..1",
      "the dimension comes first: a:slice(dim, first, last [, step])")
    for _, m in pairs(kinds()) do
      refuses(function() return m[{ 1, 2, 3 }] end, "takes as many entries", "a[{{2, 5}}]")
    end
    refuses(function() return x[{ 1, 2 }] end, "a range is a table in the table")
  end)

  it("says how a kernel is launched, and what its arguments are", function()
    local k = roc.kernel("function(x) x[roc.get_global_id(1)] = 1 end", { env = { roc = roc } })
    local x = roc.zeros(4)
    refuses(function() k[4](x) end, "got k[4]", "k[{4, workgroup}](...), or k:forall(4)(...)")
    refuses(function() k:forall(4)({ 1, 2 }) end, "got table; make an array of it: roc.array(t)")
    refuses(function() return k[{ 1, 4, nil, 0, 7 }] end, "bad launch configuration",
      "got an entry 5")
    refuses(function() return k[{ 1, 4, grid = 3 }] end, "got an entry grid", "k:launch({grid =")
    refuses(function() return k[{ [0] = 1, 1, 4 }] end, "got an entry 0")
    local v = roc.vectorize(function(y) return 2 * y end)
    refuses(function() v { 1, 2, 3 } end, "got table; make an array of it: roc.array(t)")
    local w = roc.vectorize(function(y, z) return y * z end)
    refuses(function() w({ 1, 2 }, x) end, "bad argument #1", "roc.array(t)")
    refuses(function() w(x, { 1, 2 }) end, "bad argument #2", "roc.array(t)")
    local r = roc.reduce(function(y, z) return y + z end)
    refuses(function() r { 1, 2, 3 } end, "bad argument #1", "roc.array(t)")
    local c = roc.scan(function(y, z) return y + z end)
    refuses(function() c { 1, 2, 3 } end, "bad argument #1", "roc.array(t)")
    local g = roc.guvectorize(function(y, o) o[1] = y[1] end, "(n)->()")
    refuses(function() g { 1, 2, 3 } end, "roc.array(t)")
  end)

  it("says that an array is closed", function()
    local d = roc.to_device(roc.zeros(3))
    d:close()
    refuses(function() return d[1] end, "cannot read element 1: the array is closed")
    refuses(function() d[1] = 2 end, "cannot assign to element 1: the array is closed")
    refuses(function() return d.shape end, "cannot read field 'shape': the array is closed")
    refuses(function() return #d end, "cannot take the length: the array is closed")
    refuses(function() return ipairs(d)(d, 0) end, "the array is closed")
    refuses(function() for _ in pairs(d) do error("no") end end, "the array is closed")
    refuses(function() d:fill(1) end, "'fill'", "the array is closed")
    refuses(function() return roc.vectorize(math.sqrt)(d) end, "the array is closed")
    local k = roc.kernel("function(x) x[1] = 1 end", { name = "k" })
    refuses(function() k:forall(1)(d) end, "bad argument #1 to kernel 'k' (the array is closed)")
  end)

  it("says which keys a table of elements may have", function()
    refuses(function() return roc.array { x = 1 } end, "bad argument #1 to 'array'",
      "this one has 'x'")
    refuses(function() return roc.array { 1, 2, x = 1 } end, "keys 1 to 2, this one has 'x'")
    refuses(function() return roc.array { { 1 }, { 2, x = 1 } } end, "this one has 'x'")
    refuses(function() return roc.array { [0] = 1, 2 } end, "this one has 0")
    refuses(function() return roc.array { 1, [1.5] = 2 } end, "this one has 1.5")
    refuses(function() return roc.array { 1, [3] = 2 } end,
      "keys 1 to 1, this one has 3 after a gap")
    assert.same({ 1.0, 2.0 }, roc.array(table.pack(1, 2)):totable())
    local long = {}
    for i = 1, 5000 do long[i] = i end
    assert.equal(5000, #roc.array(long))
    long.x = 1
    refuses(function() return roc.array(long) end, "keys 1 to 5000, this one has 'x'")
  end)
end)
