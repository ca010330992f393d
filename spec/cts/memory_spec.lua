-- Arrays in kernels: element types, layouts, views, overlap, constants.
local roc = require "roc"
local devices = require "support.devices"

local INTEGER_TYPES = { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64" }
local FLOAT_TYPES = { "float16", "bfloat16", "float32", "float64" }

devices.each(function(device)
  for _, dtype in ipairs(INTEGER_TYPES) do
    it("loads and stores " .. dtype .. ", wrapping", function()
      local values = { 0, 1, -1, 127, 128, 255, 256, -129, 65535, 1 << 31, (1 << 32) + 5,
        math.maxinteger, math.mininteger }
      local k = devices.kernel("function(x, narrow, back) local i = roc.get_global_id(1) "
        .. "narrow[i] = x[i] back[i] = narrow[i] end")
      local narrow, back = devices.zeros(#values, dtype), devices.zeros(#values, "int64")
      devices.run(k, #values, { devices.values(values, "int64"), narrow, back })
      local expected = roc.array(values, "int64"):astype(dtype)
      assert.same(expected:totable(), devices.table(narrow))
      assert.same(expected:totable(), devices.table(back))
    end)
  end

  for _, dtype in ipairs(FLOAT_TYPES) do
    it("loads and stores " .. dtype .. ", rounding once", function()
      local values = { 0.0, -0.0, 1.0, 0.1, -2.5, 65504.0, 65520.0, 1e-7, 5.9604644775390625e-8,
        1e-40, 1e38, 1e300, 1 / 0, 0 / 0, 1.0009765625,
        1.00048828125, 2049.0, 16777217.0 }
      local k = devices.kernel("function(x, narrow, back) local i = roc.get_global_id(1) "
        .. "narrow[i] = x[i] back[i] = narrow[i] end")
      local narrow, back = devices.zeros(#values, dtype), devices.zeros(#values, "float64")
      devices.run(k, #values, { devices.values(values, "float64"), narrow, back })
      local expected = roc.array(values, "float64"):astype(dtype):totable()
      for i, v in ipairs(devices.table(back)) do
        assert(devices.same(expected[i], v),
          ("%s of %s: expected %s, got %s"):format(dtype, values[i], expected[i], v))
      end
    end)
  end

  it("stores integers into float arrays with one rounding", function()
    local values = { 1, 16777217, (1 << 53) + 1, (1 << 24) + 1, math.maxinteger, -((1 << 55) + 3) }
    local k =
      devices.kernel("function(x, s, d) local i = roc.get_global_id(1) s[i] = x[i] d[i] = x[i] end")
    local s, d = devices.zeros(#values, "float32"), devices.zeros(#values, "float64")
    devices.run(k, #values, { devices.values(values, "int64"), s, d })
    for i, v in ipairs(values) do
      assert.equal(roc.float32(v), s[i])
      assert.equal(v + 0.0, d[i])
    end
  end)

  it("loads and stores booleans", function()
    local k =
      devices.kernel("function(x, out) local i = roc.get_global_id(1) out[i] = not x[i] end")
    local out = devices.zeros(3, "bool")
    devices.run(k, 3, { devices.values({ true, false, true }), out })
    assert.same({ false, true, false }, devices.table(out))
  end)

  for _, name in ipairs { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64" } do
    it("converts by roc." .. name, function()
      local floats = { 0.0, 1.9, -1.9, 127.5, 128.0, 300.7, -300.7, 65535.5, 1e10, -1e10, 1e19,
        -1e19, 1 / 0, -1 / 0, 0 / 0, 0.1, 1e-45 }
      local integers = { 0, 1, -1, 127, 128, 300, -300, 65536, 1 << 31, 1 << 40, math.maxinteger,
        math.mininteger }
      local is_float = roc[name].kind == "f"
      local k =
        devices.kernel(("function(x, y, out, out2) local i = roc.get_global_id(1) out[i] "
        .. "= roc.%s(x[i]) if i <= #y then out2[i] = roc.%s(y[i]) end end"):format(name, name))
      local otype = is_float and "float64" or "int64"
      local out, out2 = devices.zeros(#floats, otype), devices.zeros(#floats, otype)
      devices.run(k, #floats, { devices.values(floats, "float64"),
        devices.values(integers, "int64"), out, out2 })
      local got, got2 = devices.table(out), devices.table(out2)
      for i, x in ipairs(floats) do
        assert(devices.same(roc[name](x), got[i]),
          ("roc.%s(%s): expected %s, got %s"):format(name, x, roc[name](x), got[i]))
      end
      for i, x in ipairs(integers) do
        assert(devices.same(roc[name](x), got2[i]),
          ("roc.%s(%s): expected %s, got %s"):format(name, x, roc[name](x), got2[i]))
      end
    end)
  end

  it("indexes arrays of every layout", function()
    local k = roc.kernel(function(m, out)
      local i = roc.get_global_id(1)
      for j = 1, m.shape[2] do
        out[i][j] = m[i][j] * 2 + #m + m.size + m.ndim
      end
    end)
    local base = roc.range(1, 24):reshape(4, 6)
    for _, view in ipairs { base, base:transpose(), base:slice(1, 1, 4, 2),
      base:slice(2, 2, 6, 2) } do
      local d = roc.to_device(view)
      local out = devices.zeros(view.shape, "int64")
      devices.run(k, view.shape[1], { d, out })
      for i = 1, view.shape[1] do
        for j = 1, view.shape[2] do
          assert.equal(view[i][j] * 2 + view.shape[1] + view.size + 2, out[i][j])
        end
      end
    end
  end)

  it("works on strided views of device arrays", function()
    local d = devices.zeros({ 4, 6 }, "int32")
    local k = roc.kernel(function(v)
      local i = roc.get_global_id(1)
      for j = 1, v.shape[2] do
        v[i][j] = i * 10 + j
      end
    end)
    devices.run(k, 6, { d:transpose() })
    for i = 1, 6 do
      for j = 1, 4 do
        assert.equal(i * 10 + j, d[j][i])
      end
    end
  end)

  it("is right when arguments overlap", function()
    local shift = roc.kernel(function(x, y)
      for i = 1, #y do
        y[i] = x[i] + y[i]
      end
    end)
    local d = devices.values({ 1, 2, 3, 4, 5, 6, 7, 8 }, "int64")
    devices.run(shift, 1, { d, d })
    assert.same({ 2, 4, 6, 8, 10, 12, 14, 16 }, devices.table(d))
    devices.run(shift, 1, { d:slice(1, 1, 7), d:slice(1, 2, 8) })
    assert.same({ 2, 6, 12, 20, 30, 42, 56, 72 }, devices.table(d))
  end)

  it("is right when an array is both passed and captured", function()
    local d = devices.values({ 1, 2, 3, 4 }, "int64")
    local k = roc.kernel(function(x)
      for i = 2, #x do
        x[i] = d[i - 1] + x[i]
      end
    end)
    devices.run(k, 1, { d })
    assert.same({ 1, 3, 6, 10 }, devices.table(d))
  end)

  it("copies captured host arrays once; the untouched function uses the array itself", function()
    local weights = roc.array({ 1, 2, 3 }, "float32")
    local k = roc.kernel(function(out)
      out[roc.get_global_id(1)] = weights[roc.get_global_id(1)]
    end)
    weights[1] = 100
    local out = devices.zeros(3, "float32")
    devices.run(k, 3, { out })
    assert.same({ device.raw and 100.0 or 1.0, 2.0, 3.0 }, devices.table(out))
  end)

  it("reads roc.const.array tables", function()
    local table_ = roc.const.array({ { 1, 2 }, { 3, 4 } }, "int16")
    local k = roc.kernel(function(out)
      local i = roc.get_global_id(1)
      out[i] = table_[i][1] * 10 + table_[i][2]
    end)
    local out = devices.zeros(2, "int64")
    devices.run(k, 2, { out })
    assert.same({ 12, 34 }, devices.table(out))
  end)

  it("makes of a table in a kernel what roc.const.array makes of it outside", function()
    local whole, parts = { 300, 2 }, { 0.1, 2 ^ 53, -1 }
    local mixed, host = { { 1.0, (1 << 53) + 1 }, { 2, 3 } }, roc.array({ 2.0, 70000.0 })
    local k = roc.kernel(function(out, floats)
      local bytes, named = roc.const.array(whole, roc.uint8), whole
      local singles, plain = roc.const.array(parts, "float32"), roc.const.array(named)
      out[1] = bytes[1]
      out[2] = roc.const.array(named, roc.int8)[1]
      out[3] = roc.const.array(mixed, roc.int64)[1][2]
      out[4] = roc.const.array(host, roc.int16)[2]
      out[5] = roc.const.array(roc.const.array(mixed, roc.int64), roc.int8)[2][1]
      floats[1] = singles[1] + roc.float64(0)
      floats[2] = plain[1] / 7
      floats[3] = roc.const.array(parts)[1]
      floats[4] = roc.const.array(host)[2]
    end)
    local out, floats = devices.zeros(5, "int64"), devices.zeros(4, "float64")
    devices.run(k, 1, { out, floats })
    assert.same({ 44, 44, (1 << 53) + 1, 4464, 2 }, devices.table(out))
    assert.same({ roc.float32(0.1), 300 / 7, 0.1, 70000.0 }, devices.table(floats))
  end)

  it("writes no captured host array, however large", function()
    for _, n in ipairs { 3, 10000 } do
      local big = roc.zeros(n)
      for _, k in ipairs {
        roc.kernel(function() big[1] = 99 end),
        roc.kernel(function() local b = big b[1] = 99 end),
        roc.kernel(function() roc.atomic.add(big, 1, 99) end),
      } do
        local ok, why = pcall(devices.run, k, 1, {})
        assert.is_false(ok)
        assert.matches("memory_spec.lua:%d+:%d+: kernel .*array.*\n.*99.*\n *%^", tostring(why))
        assert.are.equal(0.0, big[1])
      end
    end
  end)

  it("keeps what an item read before it stored there", function()
    local k = roc.kernel(function(x, y, c, out)
      local i = roc.get_global_id(1)
      local before = -1
      if c[i] > 0 then
        before = x[i]
        x[i] = y[i]
      end
      out[i] = before
    end)
    local n, x, y, c, expected = 512, {}, {}, {}, {}
    for i = 1, n do
      x[i], y[i], c[i] = i, 1000 + i, i % 2
      expected[i] = c[i] > 0 and i or -1
    end
    local out = devices.zeros(n, "int32")
    devices.run(k, n, { devices.values(x, "int32"), devices.values(y, "int32"),
      devices.values(c, "int32"), out }, 256)
    assert.same(expected, devices.table(out))
  end)

  it("computes with an extent of an empty array, which its size does not bound", function()
    local k = devices.kernel "function(x, o) o[1] = x.shape[2] * 4 + 9 end"
    local o = devices.zeros(1, "int64")
    devices.run(k, 1, { roc.device_array({ 0, (1 << 31) - 2 }, "float32"), o }, 1)
    assert.equal(((1 << 31) - 2) * 4 + 9, o[1])
  end)

  it("takes empty arrays", function()
    local k = roc.kernel(function(x, out) out[1] = #x + x.size end)
    local out = devices.values({ 7 }, "int64")
    devices.run(k, 1, { devices.zeros(0, "float64"), out })
    assert.equal(0, out[1])
  end)

  it("compares upvalues at each launch", function()
    local factor, config = 2, { bias = { value = 1 } }
    local k = roc.kernel(function(out)
      out[roc.get_global_id(1)] = roc.get_global_id(1) * factor + config.bias.value
    end)
    local out = devices.zeros(2, "int64")
    for n = 1, 6 do
      factor, config.bias.value = n, n * 100
      devices.run(k, 2, { out })
      assert.same({ n + n * 100, 2 * n + n * 100 }, devices.table(out))
    end
    factor = 0.5
    local fout = devices.zeros(2, "float64")
    devices.run(k, 2, { fout })
    assert.same({ 0.5 + 600, 1.0 + 600 }, devices.table(fout))
  end)

  it("brings back what is stored through one of two arguments that share memory", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      y[i] = x[i] * 2
    end)
    local host = roc.array({ 1, 2, 3 }, "int64")
    k[{ 1, 3 }](roc.In(host), roc.InOut(host))
    assert.same({ 2, 4, 6 }, host:totable())
    local other = roc.zeros(3, "int64")
    k[{ 1, 3 }](roc.InOut(host), roc.In(other))
    assert.same({ 0, 0, 0 }, other:totable())
  end)

  it("brings back a chain of arguments that share memory, in whatever order they come", function()
    local k = roc.kernel(function(x, y, z) x[1], y[1], z[1] = 1, 2, 3 end)
    for _, order in ipairs { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 3, 2, 1 } } do
      local host = roc.zeros(7, "int64")
      local links = { roc.In(host:slice(1, 1, 3)), roc.In(host:slice(1, 3, 5)),
        host:slice(1, 5, 7) }
      k:forall(1)(links[order[1]], links[order[2]], links[order[3]])
      local expected = { 0, 0, 0, 0, 0, 0, 0 }
      for i, link in ipairs(order) do expected[link * 2 - 1] = i end
      assert.same(expected, host:totable())
    end
  end)
end)
