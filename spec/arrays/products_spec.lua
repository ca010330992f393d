-- Products of matrices and sums of products over labels, against loops over tables.
local roc = require "roc"
local devices = require "support.devices"

local function host(array)
  return array.device and array:copy_to_host() or array
end

-- Small integers: products and sums of them are exact in every dtype but the halves' own.
local function small(shape, dtype, seed)
  return roc.rng(seed or 1):integers(-4, 5, shape):astype(dtype or "float32")
end

local function product(a, b)
  local rows = {}
  for i = 1, #a do
    rows[i] = {}
    for j = 1, #b[1] do
      local sum = 0
      for k = 1, #b do sum = sum + a[i][k] * b[k][j] end
      rows[i][j] = sum
    end
  end
  return rows
end

-- The sum that einsum is, by one loop over all labels.
local function sum_of_products(inputs, result, ...)
  local arrays, labels, extents = { ... }, {}, {}
  for i, input in ipairs(inputs) do
    for k = 1, #input do
      local label = input:sub(k, k)
      if not extents[label] then labels[#labels + 1] = label end
      extents[label] = arrays[i].shape[k]
    end
  end
  local sums, at = {}, {}
  local function element(array, input)
    local index = {}
    for k = 1, #input do index[k] = at[input:sub(k, k)] end
    return array:get(table.unpack(index))
  end
  local function walk(depth)
    local label = labels[depth]
    if not label then
      local value, place = 1, 0
      for i, array in ipairs(arrays) do value = value * element(array, inputs[i]) end
      for k = 1, #result do
        place = place * extents[result:sub(k, k)] + at[result:sub(k, k)] - 1
      end
      sums[place + 1] = (sums[place + 1] or 0) + value
      return
    end
    for i = 1, extents[label] do
      at[label] = i
      walk(depth + 1)
    end
  end
  walk(1)
  return sums
end

local function specs(make)
  it("multiply matrices of all extents and layouts", function()
    for _, extents in ipairs { { 1, 1, 1 }, { 3, 5, 4 }, { 8, 2, 9 }, { 33, 17, 40 },
      { 70, 33, 65 } } do
      local m, k, n = table.unpack(extents)
      local a, b = small { m, k }, small({ k, n }, "float32", 2)
      local expected = product(a:totable(), b:totable())
      local of_columns = small({ n, k }, "float32", 2)
      assert.same(expected, host(make(a):matmul(make(b))):totable())
      local turned = make(of_columns):transpose()
      assert.same(product(a:totable(), host(turned:ravel()):reshape(k, n):totable()),
        host(make(a):matmul(turned)):totable())
    end
    local wide = make(small { 9, 12 })
    local part = wide:slice(1, 9, 1, -2):slice(2, 2, 12, 3)
    assert.same(product(host(part:ravel()):reshape(5, 4):totable(),
      host(part:transpose():ravel()):reshape(4, 5):totable()),
      host(part:matmul(part:transpose())):totable())
  end)

  it("take vectors for rows and columns", function()
    local a, x = make(small { 3, 4 }), make(small(4, "float32", 3))
    local y = make(small(3, "float32", 4))
    local column, row = host(a:matmul(x)), host(y:matmul(a))
    assert.same({ { 3 }, { 4 } }, { column.shape, row.shape })
    local list, of_y = host(x):totable(), host(y):totable()
    for i = 1, 3 do
      assert.equal(product({ host(a)[i]:totable() }, { { list[1] }, { list[2] }, { list[3] },
        { list[4] } })[1][1], column[i])
    end
    assert.same(product({ of_y }, host(a):totable())[1], row:totable())
    assert.equal(host(x):dot(host(x)), x:matmul(x))
  end)

  it("broadcast what comes before the matrices", function()
    local a, b = small { 2, 1, 3, 4 }, small({ 5, 4, 2 }, "float32", 2)
    local c = host(make(a):matmul(make(b)))
    assert.same({ 2, 5, 3, 2 }, c.shape)
    for i = 1, 2 do
      for j = 1, 5 do
        assert.same(product(a[i][1]:totable(), b[j]:totable()), c[i][j]:totable())
      end
    end
    local one = host(make(b):matmul(make(small { 2, 3 })))
    for j = 1, 5 do
      assert.same(product(b[j]:totable(), small({ 2, 3 }):totable()), one[j]:totable())
    end
    assert.same({ 5, 3 }, (make(b):matmul(make(small { 2, 3 })))[{ {}, 1 }].shape)
  end)

  it("are of the dtype of sums, or of one that is named", function()
    local function dtype_of(a, b, opts)
      local c = make(small({ 2, 2 }, a)):matmul(make(small({ 2, 2 }, b)), opts)
      assert.same(product(small({ 2, 2 }):totable(), small({ 2, 2 }):totable()),
        host(c):totable())
      return c.dtype.name
    end
    assert.equal("int64", dtype_of("int8", "int8"))
    assert.equal("int64", dtype_of("int32", "int16"))
    assert.equal("float32", dtype_of("float16", "float16"))
    assert.equal("float32", dtype_of("float16", "bfloat16"))
    assert.equal("float32", dtype_of("float32", "int64"))
    assert.equal("float64", dtype_of("float32", "float64"))
    assert.equal("float16", dtype_of("float16", "float16", { dtype = "float16" }))
    assert.equal("float64", dtype_of("float32", "float32", { dtype = "float64" }))
    assert.equal("int16", dtype_of("int8", "int8", { dtype = "int16" }))
    local largest = make(roc.full({ 1, 1 }, -1, "uint64"))
    assert.same({ "uint64", 1 }, { largest:matmul(largest).dtype.name,
      host(largest:matmul(largest)):get(1, 1) })
    local mixed = make(roc.full({ 1, 1 }, -1, "uint64")):matmul(make(roc.ones({ 1, 1 }, "float64")))
    assert.equal(2.0 ^ 64, host(mixed):get(1, 1))
  end)

  it("of no elements are empty, or zeros", function()
    assert.same({ 0, 3 }, make(roc.zeros { 0, 2 }):matmul(make(roc.zeros { 2, 3 })).shape)
    assert.same({ { 0, 0 } }, host(make(roc.zeros { 1, 0 }):matmul(make(roc.zeros { 0, 2 })))
      :totable())
    assert.same({ 0, 2, 2 }, make(roc.zeros { 0, 2, 2 }):matmul(make(roc.zeros { 2, 2 })).shape)
    assert.equal(0, roc.einsum("ij->", make(roc.zeros { 0, 2 })))
  end)

  it("sum over the labels that the result does not have", function()
    local square, a = make(small { 4, 4 }), make(small({ 3, 4 }, "int32", 2))
    local b, c = make(small({ 4, 5 }, "int32", 3)), make(small({ 2, 3, 4 }, "int32", 4))
    local v = make(small(4, "int32", 5))
    for _, case in ipairs {
      { { "ij", "jk" }, "ik", a, b }, { { "ij", "jk" }, "ki", a, b }, { { "ij" }, "ji", a },
      { { "ii" }, "i", square }, { { "ii" }, "", square }, { { "ij", "ij" }, "", a, a },
      { { "ij", "ij" }, "i", a, a }, { { "i", "j" }, "ij", v, v }, { { "ij" }, "j", a },
      { { "zij", "jk" }, "zik", c, b }, { { "zij", "zij" }, "z", c, c },
      { { "zij", "zkj" }, "zik", c, c }, { { "ij", "jk", "zij" }, "kz", a, b, c },
      { { "ij", "jj", "jk" }, "ik", a, square, b }, { { "ij", "k" }, "i", a, v },
      { { "i", "i", "i" }, "i", v, v, v }, { { "zij", "j", "i" }, "z", c, v, make(small(3)) },
      { { "iji" }, "ji", make(small({ 3, 2, 3 }, "int16")) },
    } do
      local inputs, result = case[1], case[2]
      local arrays = { table.unpack(case, 3) }
      local hosts = {}
      for i, array in ipairs(arrays) do hosts[i] = host(array) end
      local text = table.concat(inputs, ",") .. "->" .. result
      local found = roc.einsum(text, table.unpack(arrays))
      local expected = sum_of_products(inputs, result, table.unpack(hosts))
      if result == "" then
        assert.equal(expected[1], found, text)
      else
        assert.is_true(found:is_c_contiguous(), text)
        assert.same(expected, host(found:ravel()):totable(), text)
      end
    end
    assert.same(host(a:matmul(b)):totable(), host(roc.einsum("ij,jk", a, b)):totable())
    assert.same(host(roc.einsum("ba->ab", a)):totable(), host(roc.einsum("ba", a)):totable())
    assert.equal("int64", roc.einsum("ij->ji", a).dtype.name)
    assert.equal("float32", roc.einsum("ij,jk", a, b, { dtype = "float32" }).dtype.name)
  end)

  it("add in the dtype of the result from the first sum on", function()
    local large = make(roc.array({ 2 ^ 24, 1, 1, 1 }, "float32"))
    assert.equal(2 ^ 24 + 3, roc.einsum("i->", large, { dtype = "float64" }))
    assert.equal(2 ^ 25 + 6, roc.einsum("i,j->", large, make(roc.array { 2.0 })))
    assert.equal(300, roc.einsum("i->", make(roc.full(3, 100, "int8"))))
  end)

  it("take smart arrays", function()
    local a, b = small { 2, 3 }, small({ 3, 2 }, "float32", 2)
    local smart = roc.smart_array(a)
    local expected = product(a:totable(), b:totable())
    assert.same(expected, host(smart:matmul(make(b))):totable())
    assert.same(expected, host(roc.einsum("ij,jk", smart, make(b))):totable())
    assert.same(product(b:totable(), a:totable()), host(make(b):matmul(smart)):totable())
  end)

  it("give new arrays", function()
    local a = make(small { 2, 3 })
    local same = roc.einsum("ij->ij", a)
    same:fill(7)
    assert.same(small({ 2, 3 }):totable(), host(a):totable())
  end)

  it("give the bits of the host", function()
    local g = roc.rng(4)
    for _, dtype in ipairs { "float32", "float64", "float16" } do
      local a, b = g:normal({ 41, 50 }, dtype), g:normal({ 50, 67 }, dtype)
      local expected = a:matmul(b)
      assert.equal(expected:tobytes(), host(make(a):matmul(make(b))):tobytes())
      local strip = a:slice(1, 1, 5)
      assert.equal(expected:slice(1, 1, 5):tobytes(),
        host(make(strip):matmul(make(b))):tobytes())
      local sum = 0.0
      local class = dtype == "float64" and roc.float64 or roc.float32
      for k = 1, 50 do sum = sum + a[2][k] * b[k][3] end
      assert.near(sum, expected[2][3], class == roc.float64 and 1e-13 or 1e-4)
    end
  end)
end

describe("products of host arrays", function()
  specs(function(array) return array end)

  it("refuse what they cannot do, at the script's line", function()
    local a, b = roc.ones { 2, 3 }, roc.ones { 4, 5 }
    for pattern, f in pairs {
      ["b of shape {…, k, n} or {k}, got shapes {2, 3} and {4, 5}"] =
        function() return (a:matmul(b)) end,
      ["got shapes {2, 3, 3} and {5, 3, 3}"] =
        function() return (roc.ones({ 2, 3, 3 }):matmul(roc.ones { 5, 3, 3 })) end,
      ["bad argument #1 to 'matmul' %(roc.Array or roc.DeviceArray expected, got number%)"] =
        function() return (a:matmul(2)) end,
      ["'matmul' takes numbers, got bool and float64; write roc.where%(a, 1, 0%) for bool"] =
        function() return (a:eq(1):matmul(b)) end,
      ["a float dtype expected for products of float64, got int32"] =
        function() return (a:matmul(a:transpose(), { dtype = "int32" })) end,
      ["unknown option 'axis'; known is dtype"] =
        function() return (a:matmul(a:transpose(), { axis = 1 })) end,
      ["labels expected, as \"ij,jk%->ik\", got roc.Array"] =
        function() return (roc.einsum(a, b)) end,
      ["a letter for each dimension, commas and one %-> expected"] =
        function() return (roc.einsum("...i,i", a, b)) end,
      ["\"ij,jk\" has labels for 2 arrays, and 1 are given"] =
        function() return (roc.einsum("ij,jk", a)) end,
      ["the result's label 'z' is that of no array"] =
        function() return (roc.einsum("ij->z", a)) end,
      ["the result's label 'i' occurs twice"] = function() return (roc.einsum("ij->ii", a)) end,
      ["an array of 1 dimensions expected for 'i', got shape {2, 3}"] =
        function() return (roc.einsum("i", a)) end,
      ["bad argument #3 to 'einsum' %(extent 3 of 'j' expected, got shape {4, 5}%)"] =
        function() return (roc.einsum("ij,jk", a, b)) end,
      ["bad argument #2 to 'einsum' %(roc.Array or roc.DeviceArray expected, got nil%)"] =
        function() return (roc.einsum("ij", nil)) end,
    } do
      local ok, why = pcall(f)
      assert.is_false(ok, pattern)
      assert.matches("products_spec.lua:%d+: ", why)
      assert.matches(pattern, why)
    end
  end)
end)

describe("a product whose result has no memory", function()
  it("is an error at the script's line", function()
    local column, row = roc.zeros({ 2 ^ 20, 1 }), roc.zeros({ 1, 2 ^ 24 })
    local ok, why = pcall(function() return (column:matmul(row)) end)
    assert.is_false(ok)
    assert.equal("oom", why.code)
    assert.matches("^spec/arrays/products_spec.lua:%d+: out of memory", why.message)
  end)
end)

describe("products of device arrays", function()
  devices.each(function() specs(roc.to_device) end)
end)
