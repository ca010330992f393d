-- What roc.kernel and launches refuse, and how they say it.
local roc = require "roc"

local function noop(y) y[1] = 1 end

local function refuses(pattern, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.matches(pattern, tostring(err))
end

describe("roc.kernel", function()
  it("takes a function or a string", function()
    refuses("bad argument #1 to 'kernel' %(function or string expected, got number%)", roc.kernel,
      1)
    refuses("bad argument #1 to 'kernel' %(function or string expected, got nil%)", roc.kernel)
    refuses("it is a C function", roc.kernel, print)
  end)

  it("knows its options", function()
    refuses("unknown option 'chek'; known are check, contract", roc.kernel, noop, { chek = true })
    refuses("table of options expected, got number", roc.kernel, noop, 1)
    refuses("option 'check': boolean expected, got number", roc.kernel, noop, { check = 1 })
    refuses("option 'name': a name expected", roc.kernel, noop, { name = "" })
    refuses("option 'number': \"float32\" or \"float64\" expected, got \"float16\"", roc.kernel,
      noop, { number = "float16" })
    for shown, value in pairs { ["0"] = 0, ["-3"] = { 16, -3 }, ["1.5"] = 1.5, table = { {} },
      ["2147483648"] = 1 << 31 } do
      local message = ("integers from 1 to 2147483647 expected, got %s)"):format(shown)
      refuses("option 'workgroup': " .. message:gsub("[-)]", "%%%0"), roc.kernel, noop,
        { workgroup = value })
    end
    for _, value in ipairs { { 16, nil, 4 }, { nil, 4 }, { 16, x = 4 } } do
      refuses("option 'workgroup': 1 to 3 integers", roc.kernel, noop, { workgroup = value })
    end
    refuses("option 'workgroup': 1 to 3 integers", roc.kernel, noop, { workgroup = {} })
    refuses("option 'workgroup': 1 to 3 integers", roc.kernel, noop, { workgroup = { 1, 1, 1, 1 } })
    refuses("option 'env' goes with a kernel given as a string", roc.kernel, noop, { env = {} })
    refuses("option 'env': table expected", roc.kernel, "function() end", { env = 1 })
  end)

  it("checks signatures", function()
    for text, why in pairs {
      ["float32"] = "bad signature 'float32' %('%(' expected at character 1: write '%(float32%)'%)",
      ["(float33)"] = "a dtype such as float32 expected at character 2",
      ["(float32[)"] = "':' or '::1' expected at character 10",
      ["(float32[:::])"] = "'1' expected",
      ["(float32[1])"] = "':' or '::1' expected",
      ["(float32[:,:,:,:,:,:,:,:,:])"] = "at most 8 dimensions",
      ["(float32[:], )"] = "a dtype such as float32 expected at character 14",
      ["(float32[:], int64)"] = "kernel 'noop' has 1 parameter, the signature 2",
      ["(int8, int8, int8)"] = "too many types",
      ["()"] = "has 1 parameter, the signature 0",
    } do
      refuses(why, roc.kernel, noop, { signature = text })
    end
    refuses("a string like", roc.kernel, noop, { signature = 1 })
  end)

  it("prints and shows its name", function()
    local k = roc.kernel(noop, { name = "set_one" })
    assert.equal("set_one", k.name)
    assert.equal("roc.Kernel: set_one", tostring(k))
    assert.equal("noop", roc.kernel(noop).name)
    assert.error_matches(function() return k.nothing end, "roc.Kernel has no field 'nothing'")
  end)
end)

describe("a launch configuration", function()
  local k = roc.kernel(noop, { name = "noop" })

  it("is needed", function()
    refuses("kernel 'noop' is called without a launch configuration", k, roc.zeros(1))
    refuses("bad launch configuration.*got k%[256%]", function() return k[256] end)
  end)

  it("has groups and a workgroup", function()
    refuses("k%[{groups, workgroup %[, stream %[, shared%]%]}%] expected", function()
      return k[{}]
    end)
    refuses("no workgroup", function() return k[{ 1 }] end)
    refuses("bad groups %(%-1 is less than 0%)", function() return k[{ -1, 1 }] end)
    refuses("bad workgroup %(0 is less than 1%)", function() return k[{ 1, 0 }] end)
    refuses("bad groups %(integer expected, got a float%)", function() return k[{ 1.5, 1 }] end)
    refuses("bad groups %(integer expected, got string%)", function() return k[{ "1", 1 }] end)
    refuses("bad groups %(1 to 3 integers expected, got 4%)", function()
      return k[{ { 1, 1, 1, 1 }, 1 }]
    end)
    refuses("bad workgroup %(1 to 3 integers expected, got 0%)", function() return k[{ 1, {} }] end)
    refuses("groups times workgroup is too large", function() return k[{ math.maxinteger, 2 }] end)
    refuses("bad stream %(roc.Stream expected, got number%)", function() return k[{ 1, 1, 5 }] end)
    for _, bad in ipairs { -1, 1 << 31, 2.5, "8", {} } do
      refuses("bad shared %(bytes from 0 to 2147483647 expected, got ",
        function() return k[{ 1, 1, nil, bad }] end)
    end
  end)

  it("may be given by name", function()
    local y = roc.zeros(1)
    refuses("unknown option 'gird'; known are grid, groups, workgroup, stream, shared", k.launch, k,
      { gird = 1 }, y)
    refuses("one of grid and groups expected", k.launch, k, {}, y)
    refuses("one of grid and groups expected", k.launch, k, { grid = 1, groups = 1 }, y)
    refuses("groups needs a workgroup", k.launch, k, { groups = 1 }, y)
    refuses("table expected, got number", k.launch, k, 1, y)
  end)

  it("may be a count of work-items", function()
    refuses("count of work%-items is negative", k.forall, k, -1)
    refuses("number expected, got no value", k.forall, k)
    refuses("unknown option 'grid'; known are workgroup, stream, shared", k.forall, k, 1,
      { grid = 1 })
    refuses("workgroup of one dimension", k.forall, k, 1, { workgroup = { 2, 2 } })
  end)

  it("keeps the promise of the kernel's workgroup", function()
    local small = roc.kernel(noop, { name = "small", workgroup = 8 })
    refuses("kernel 'small' promises at most 8 in dimension 1, got 9", small[{ 1, 9 }],
      roc.zeros(1))
    refuses("kernel 'small' promises at most 1 in dimension 2, got 2", small[{ 1, { 4, 2 } }],
      roc.zeros(1))
    local y = roc.zeros(1)
    small[{ 1, 8 }](y)
    assert.equal(1.0, y[1])
  end)
end)

describe("an argument", function()
  local k = roc.kernel(function(n, y) if n > 0 then y[1] = n end end, { name = "two" })
  local config = k[{ 1, 1 }]

  it("must be there, and no more than there are parameters", function()
    refuses("kernel 'two' takes 2 arguments, got 0", config)
    refuses("kernel 'two' takes 2 arguments, got 3", config, 1, roc.zeros(1), 2)
    refuses("kernel 'two' takes 2 arguments, got 1", config, 1)
  end)

  it("cannot be one of '...'", function()
    local rest = roc.kernel(function(n, ...) return select("#", ...) + n end, { name = "rest" })
    refuses("kernel 'rest' takes 1 argument, got 3 %('...' takes none in a kernel; name the "
      .. "parameters, or pass an array%)", rest[{ 1, 1 }], 1, 2, 3)
    refuses("'...' cannot be used in a kernel; name the parameters", rest[{ 1, 1 }], 1)
  end)

  it("is an array, a number or a boolean", function()
    local y = roc.zeros(1)
    refuses("bad argument #1 to kernel 'two' %(array, number or boolean expected, got nil%)",
      config, nil, y)
    refuses("bad argument #1 to kernel 'two' %(array, number or boolean expected, got string%)",
      config, "1", y)
    refuses("bad argument #2 to kernel 'two' %(array, number or boolean expected, got table; "
      .. "make an array of it: roc.array%(t%)%)",
      config, 1, {})
    refuses("bad argument #2 to kernel 'two' %(array, number or boolean expected, got FILE%*%)",
      config, 1, io.stdout)
  end)

  it("must not be a closed array", function()
    local d = roc.to_device(roc.zeros(1))
    d:close()
    refuses("bad argument #2 to kernel 'two' %(the array is closed%)", config, 1, d)
  end)

  it("fits the signature", function()
    local s = roc.kernel(function(n, x, flag, y)
      if flag then y[1] = n * x end
    end, { name = "sig", signature = "(int32, float32, bool, float64[:])" })
    local launch, y = s[{ 1, 1 }], roc.zeros(1)
    launch(2, 1.5, true, y)
    assert.equal(3.0, y[1])
    launch(3.0, 2, true, y)
    assert.equal(6.0, y[1])
    refuses("#1 to kernel 'sig' %(int32 expected, got 2.5: number has no integer representation%)",
      launch, 2.5, 1, true, y)
    refuses("#1 to kernel 'sig' %(4294967296 is out of the range of int32%)", launch, 1 << 32, 1,
      true, y)
    refuses("#1 to kernel 'sig' %(int32 expected, got boolean%)", launch, true, 1, true, y)
    refuses("#1 to kernel 'sig' %(int32 expected, got an array%)", launch, y, 1, true, y)
    refuses("#3 to kernel 'sig' %(bool expected, got number%)", launch, 1, 1, 1, y)
    refuses("#4 to kernel 'sig' %(array of float64 expected, got a scalar%)", launch, 1, 1, true, 1)
    refuses("#4 to kernel 'sig' %(array of float64 expected, got float32%)", launch, 1, 1, true,
      roc.zeros(1, "float32"))
    refuses("#4 to kernel 'sig' %(array of rank 1 expected, got rank 2%)", launch, 1, 1, true,
      roc.zeros { 1, 1 })
  end)

  it("wrapped in roc.Out shares no memory with another", function()
    local two = roc.kernel(function(x, y) y[1] = x[1] end, { name = "two" })
    local a = roc.zeros(4)
    refuses("bad argument #2 to kernel 'two' %(a roc.Out array overlaps argument #1%)",
      two[{ 1, 1 }], a:slice(1, 1, 3), roc.Out(a:slice(1, 3, 4)))
    refuses("bad argument #1 to '.*In' %(roc.Array expected", roc.In, 1)
  end)

  it("with 0 groups is still checked, and nothing runs", function()
    local y = roc.zeros(1)
    k[{ 0, 16 }](5, y)
    k:forall(0)(5, y)
    k:launch({ grid = { 4, 0 } }, 5, y)
    assert.equal(0.0, y[1])
    refuses("takes 2 arguments, got 0", k[{ 0, 16 }])
  end)
end)

describe("a failing launch", function()
  it("names the place of the mistake in the kernel", function()
    local k = roc.kernel(function(n, y)
      y[1] = n .. "x"
    end, { name = "concat" })
    refuses("kernel_errors_spec.lua:%d+:%d+: kernel 'concat'", k:forall(1), 1, roc.zeros(1))
  end)

  it("names the caller's line when an argument is wrong", function()
    local k = roc.kernel(noop)
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, err = pcall(function() k:forall(1)() end)
    assert.is_false(ok)
    assert.matches("kernel_errors_spec.lua:" .. line .. ": ", tostring(err))
  end)
end)
