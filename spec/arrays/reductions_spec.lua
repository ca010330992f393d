-- Reductions of arrays: their values, dtypes and tree, against loops over Lua's numbers.
local roc = require "roc"
local sim = require "roc.sim"
local devices = require "support.devices"

local f32 = roc.float32

local function on(array, is_device)
  return is_device and roc.to_device(array) or array
end

local function host(array)
  return array.device and array:copy_to_host() or array
end

-- Neighbours in pairs, then neighbouring results; what has no neighbour passes on.
local function in_pairs(values)
  while #values > 1 do
    local next_level = {}
    for i = 1, #values, 2 do
      local right = values[i + 1]
      next_level[#next_level + 1] = right and f32(values[i] + right) or values[i]
    end
    values = next_level
  end
  return values[1]
end

-- The tree of sums, as the documents describe it.
local function sum_of(x)
  local chunks = {}
  for first = 1, #x, 4096 do
    local lanes = {}
    for i = first, math.min(first + 4095, #x) do
      local lane = (i - first) % 64 + 1
      lanes[lane] = lanes[lane] and f32(lanes[lane] + x[i]) or x[i]
    end
    chunks[#chunks + 1] = in_pairs(lanes)
  end
  return in_pairs(chunks)
end

local function specs(is_device)
  it("sum in one tree, whole and along an axis", function()
    roc.seed(7)
    local random = roc.random(9000, "float32") - 0.5
    -- untouched, Lua's functions do not round to float32: small integers need no rounding
    if sim.is_raw then random = roc.math.floor(random * 64) end
    for _, n in ipairs { 1, 2, 3, 7, 63, 64, 65, 127, 4096, 4097, 9000 } do
      local x = random:slice(1, 1, n)
      local expected = sum_of(x:totable())
      assert.are.equal(expected, on(x, is_device):sum(), n)
      local two = roc.zeros({ 2, n }, "float32")
      two[2] = x
      assert.are.equal(expected, host(on(two, is_device):sum { axis = 2 })[2], n)
      local turned = on(two, is_device):transpose()
      assert.are.equal(expected, host(turned:sum { axis = 1 })[2], n)
    end
  end)

  it("give the dtypes of the documents", function()
    for name, dtypes in pairs {
      int8 = { "int64", "float64", "int8" }, uint64 = { "uint64", "float64", "uint64" },
      uint8 = { "int64", "float64", "uint8" }, float16 = { "float32", "float32", "float16" },
      float32 = { "float32", "float32", "float32" }, float64 = { "float64", "float64", "float64" },
    } do
      local a = on(roc.array({ { 3, 1 }, { 2, 2 } }, name), is_device)
      assert.are.equal(dtypes[1], a:sum({ axis = 1 }).dtype.name)
      assert.are.equal(dtypes[1], a:prod({ axis = 1 }).dtype.name)
      assert.are.equal(dtypes[2], a:mean({ axis = 1 }).dtype.name)
      assert.are.equal(dtypes[2], a:std({ axis = 1 }).dtype.name)
      assert.are.equal(dtypes[3], a:max({ axis = 1 }).dtype.name)
      assert.are.equal("int64", a:argmax({ axis = 1 }).dtype.name)
      assert.same({ 5, 3 }, host(a:sum { axis = 1 }):totable())
      assert.same({ 3, 4 }, host(a:prod { axis = 2 }):totable())
      assert.same({ { 2.5, 1.5 } }, host(a:mean { axis = 1, keep = true }):totable())
      assert.same({ 1, 2 }, host(a:argmax { axis = 1 }):totable())
      assert.are.equal(8, a:sum())
      assert.are.equal(2.0, a:mean())
    end
  end)

  it("take NaN for the least and the greatest, and the first of equal ones", function()
    local a = on(roc.array { 3, 0 / 0, 5, 0 / 0 }, is_device)
    assert.is_true(a:max() ~= a:max())
    assert.is_true(a:min() ~= a:min())
    assert.are.equal(2, a:argmax())
    assert.are.equal(2, a:argmin())
    local b = on(roc.array { 1, 5, 5, 1 }, is_device)
    assert.same({ 2, 1 }, { b:argmax(), b:argmin() })
    assert.are.equal("-0.0", tostring(on(roc.array { -0.0, 0.0 }, is_device):max()))
    local long = roc.zeros(10000)
    long[5000], long[9000] = 2, 2
    assert.are.equal(5000, on(long, is_device):argmax())
    for _, dtype in ipairs { "uint64", "float32" } do -- of different lanes and chunks
      local ties = roc.full(4600, 5, dtype)
      ties[4], ties[66], ties[4500] = 0, 0, 0
      local c = on(ties, is_device)
      assert.same({ 4, 1 }, { c:argmin(), c:argmax() })
      assert.are.equal(4, c:reshape(2, 2300):argmin { axis = 2 }[1])
    end
    for i, dtype in ipairs { "float32", "float16", "bfloat16", "float64" } do -- of zeros
      local zeros, first = roc.ones(4600, dtype), i % 2 == 0 and "0.0" or "-0.0"
      local function see(value) assert.are.equal(first, tostring(value), dtype) end
      zeros[4], zeros[65], zeros[4500] = tonumber(first), -tonumber(first), -tonumber(first)
      local c = on(zeros, is_device)
      see(c:min())
      see(-(-c):max())
      see(c:reshape(2, 2300):min { axis = 2 }[1])
      see(c:reshape(2300, 2):min { axis = 1 }[2])
    end
    long[4000], long[66], long[7000] = 0 / 0, 0 / 0, 0 / 0
    assert.are.equal(66, on(long, is_device):argmax())
    assert.are.equal(-1, on(roc.array({ 1, -1, 2 }, "uint64"), is_device):max())
  end)

  it("count and join bool", function()
    local mask = on(roc.array { { true, false }, { true, true } }, is_device)
    assert.same({ 3, true, false }, { mask:count(), mask:any(), mask:all() })
    assert.same({ true, false }, host(mask:all { axis = 1 }):totable())
    assert.same({ 1, 2 }, host(mask:count { axis = 2 }):totable())
  end)

  it("of statistics are those of the definition", function()
    local a = on(roc.array { 1, 2, 3, 4 }, is_device)
    assert.are.equal(1.25, a:var())
    assert.are.equal(5 / 3, a:var { ddof = 1 })
    assert.are.equal(math.sqrt(1.25), a:std())
    assert.are.equal(math.sqrt(30), a:norm())
    local large = on(roc.array({ -2, -4 }, "uint64"), is_device) -- their sum wraps
    assert.are.equal(0.0, large:var())
    assert.are.equal(30.0, a:dot(a))
    local half = on(roc.array({ 300, 300 }, "float16"), is_device)
    assert.are.equal(180000.0, half:dot(half)) -- a half ends at 65504
  end)

  it("of empty arrays give their neutral element, or an error", function()
    local a = on(roc.zeros { 0, 3 }, is_device)
    assert.are.equal(0.0, a:sum())
    assert.are.equal(1.0, a:prod())
    assert.same({ 0, 0, 0 }, host(a:sum { axis = 1 }):totable())
    assert.same({ 0 }, a:sum({ axis = 2 }).shape)
    local mean = a:mean()
    assert.is_true(mean ~= mean)
    assert.error_matches(function() a:max() end, "'max' of no elements has no value")
  end)
end

describe("reductions of columns", function()
  it("combine as those of rows do, to the bit", function()
    local names = { "sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "norm" }
    for i, rows in ipairs { 65, 4096, 4097, 8300 } do
      for j, dtype in ipairs { "float32", "int8" } do
        local columns = (7 * i + j) % 19 + 1
        local a = (roc.math.sin(roc.range(1, rows * columns)) * 3):astype(dtype)
        a = a:reshape(rows, columns)
        local turned = a:transpose():copy()
        for _, name in ipairs { names[(i + j) % #names + 1], names[(3 * i + j) % #names + 1] } do
          local by_columns, by_rows = a[name](a, { axis = 1 }), turned[name](turned, { axis = 2 })
          assert.is_true(by_columns:eq(by_rows):all(), name)
        end
      end
    end
  end)
end)

describe("reductions of host arrays", function()
  specs(false)

  it("refuse what they do not take, at the script's line", function()
    local a = roc.ones { 2, 3 }
    for pattern, f in pairs {
      ["unknown option 'axes'; known are axis, keep"] = function() return (a:sum { axes = 1 }) end,
      ["an integer from 1 to 2 expected, got 3"] = function() return (a:sum { axis = 3 }) end,
      ["option 'keep' of 'max' %(boolean expected, got number"] =
        function() return (a:max { keep = 1 }) end,
      ["table of options expected, as {axis = 1}, got number"] = function() return (a:min(1)) end,
      ["'any' takes bool, and the array is float64; compare first, as in a:ne%(0%):any%(%)"] =
        function() return (a:any()) end,
      ["'sum' takes numbers, and the array is bool"] = function() return (a:eq(1):sum()) end,
      ["arrays of one dimension and one length, got shapes {2, 3} and {2, 3}"] =
        function() return (a:dot(a)) end,
      ["bad option 'ddof' of 'var'"] = function() return (a:var { ddof = -1 }) end,
    } do
      local ok, why = pcall(f)
      assert.is_false(ok)
      assert.matches("reductions_spec.lua:%d+: ", why)
      assert.matches(pattern, why)
    end
  end)
end)

-- Elements of a dtype, among them NaN, both zeros and equal ones.
local function elements(rng, dtype, shape)
  local x = rng:integers(-60, 60, shape)
  if dtype == "bool" then return x:gt(50) end
  if string.find(dtype, "float") then
    local which = rng:integers(1, 400, shape)
    x = roc.where(which:lt(90), -0.0, x:astype "float64" / 16)
    x = roc.where(which:eq(1), 0 / 0, x)
  end
  return x:astype(dtype)
end

local function shown(result)
  if type(result) ~= "userdata" then return string.format("%q", result) end
  local text = result.dtype.name
  for _, value in ipairs(result:ravel():totable()) do text = text .. string.format(" %q", value) end
  return text
end

describe("reductions of host arrays in memory", function()
  it("are those of kernels, to the bit", function()
    local scope <close> = roc.on_device "cpu"
    assert(scope)
    local rng, cases = roc.rng(31), 0
    local shapes = { { 4200 }, { 70, 40 }, { 5, 130 }, { 3, 20 } }
    local names = { "sum", "max", "argmin", "mean", "norm", "var", "std" }
    for _, dtype in ipairs { "int8", "uint64", "bfloat16", "float32", "bool" } do
      for _, name in ipairs(dtype == "bool" and { "any", "all", "count" } or names) do
        cases = cases + 1
        local a = elements(rng, dtype, shapes[cases % 4 + 1])
        local view = cases % 3 == 0 and a:flip { axis = 1 } or cases % 3 == 1 and a
          or a:transpose()
        local device = roc.to_device(view:copy())
        for axis = cases % 2, view.ndim, 2 do
          local opts = axis > 0 and { axis = axis, keep = axis == 2 } or nil
          local expected = device[name](device, opts)
          if type(expected) == "userdata" then expected = expected:copy_to_host() end
          assert.are.equal(shown(expected), shown(view[name](view, opts)))
        end
      end
    end
  end)

  it("multiply as kernels do, to the bit", function()
    local scope <close> = roc.on_device "cpu"
    assert(scope)
    local rng = roc.rng(32)
    for i, dtype in ipairs { "int8", "uint64", "bfloat16", "float32", "float64" } do
      for j, n in ipairs { 1, 130, 4097, i == 4 and (1 << 19) + 77 or 9000 } do
        local a, b = elements(rng, dtype, { 2 * n }), elements(rng, dtype, { n })
        local views = { a:slice(1, 1, n), a:slice(1, 1, 2 * n, 2), a:slice(1, 1, n):flip() }
        local view = views[(i + j) % 3 + 1]
        local expected = roc.to_device(view:copy()):dot(roc.to_device(b))
        assert.are.equal(shown(expected), shown(view:dot(b)))
        assert.are.equal(shown(expected), shown(b:dot(view)))
      end
    end
    local a = roc.ones(3)
    assert.are.equal(6.0, a:dot(roc.full(3, 2, "int8"))) -- what C leaves to kernels
    assert.are.equal(0.0, roc.ones(0):dot(roc.ones(0)))
    assert.are.equal(6.0, (a + a):dot(a))
    for _, b in ipairs { roc.ones(2), roc.ones { 3, 1 }, a:gt(0), 3 } do
      assert.is_false((pcall(a.dot, a, b)))
    end
    assert.is_false((pcall(a.dot, a)))
  end)

  it("are the same on several threads", function()
    local n = (1 << 20) + 4097
    local x = roc.math.sin(roc.range(1, n)):astype("float32"):eval()
    x[n - 5], x[700000] = 2, 2
    assert.are.equal(700000, x:argmax())
    assert.are.equal(700000, x:reshape(1, n):argmax({ axis = 2 })[1])
    local chunks = {}
    for first = 1, n, 4096 do
      chunks[#chunks + 1] = x:slice(1, first, math.min(first + 4095, n)):sum()
    end
    assert.are.equal(in_pairs(chunks), x:sum())
    local scope <close> = roc.on_device "cpu"
    local on_device = roc.to_device(x)
    for _, name in ipairs { "var", "std" } do
      assert.are.equal(on_device[name](on_device, { ddof = 3 }), x[name](x, { ddof = 3 }))
      assert.are.equal((on_device + 1)[name](on_device + 1), (x + 1)[name](x + 1))
    end
    local wide = x:slice(1, 1, 1 << 20):reshape(2048, 512)
    assert.are.equal(wide:slice(2, 300, 300):copy():sum(), wide:sum({ axis = 1 })[300])
    assert.are.equal(wide:slice(1, 300, 300):copy():sum(), wide:sum({ axis = 2 })[300])
  end)

  it("take options as device arrays do", function()
    local a = roc.range(1, 6):reshape(2, 3)
    assert.same({ 1, 3 }, a:sum({ axis = 1, keep = true }).shape)
    assert.same({ 2 }, a:sum({ axis = 2, keep = false }).shape)
    assert.are.equal(6, roc.range(1, 3):sum { axis = 1 })
    assert.same({ 4.5, 4.5, 4.5 }, a:var({ axis = 1, ddof = 1 }):totable())
    assert.are.equal(3.5, a:var { ddof = 1 })
    assert.are.equal(math.huge, a:std { ddof = 7 })
    assert.is_true(roc.ones(0):var() ~= roc.ones(0):var())
    for _, opts in ipairs { { axis = 3 }, { axis = 1.5 }, { axis = 1, keep = 1 }, { axes = 1 },
      { axis = 0 }, { 1 }, { ddof = 1 } } do
      assert.is_false((pcall(a.sum, a, opts)))
    end
  end)
end)

describe("reductions of device arrays", function()
  devices.each(function()
    specs(true)

    it("combine lines that lie side by side as those of the host, to the bit", function()
      for rows, columns in pairs { [71] = 40, [4103] = 9 } do
        local a = roc.math.sin(roc.range(1, rows * columns)):reshape(rows, columns)
        local on_device = roc.to_device(a)
        for _, name in ipairs { "sum", "argmin" } do
          local expected = a[name](a, { axis = 1 })
          local found = on_device[name](on_device, { axis = 1 })
          assert.is_true(roc.array_equal(expected, found), name)
        end
      end
    end)
  end)
end)
