-- Atomic operations on global and shared memory.
local roc = require "roc"
local devices = require "support.devices"

devices.each(function(device)
  for _, dtype in ipairs { "int32", "int64", "uint32", "uint64" } do
    it("adds, subtracts and combines " .. dtype, function()
      local k = roc.kernel(function(a)
        local i = roc.get_global_id(1)
        roc.atomic.add(a, 1, i)
        roc.atomic.sub(a, 2, i)
        roc.atomic.min(a, 3, 50 - i)
        roc.atomic.max(a, 4, i)
        roc.atomic.and_(a, 5, ~(1 << (i % 8)))
        roc.atomic.or_(a, 6, 1 << (i % 8))
        roc.atomic.xor(a, 7, i)
        roc.atomic.inc(a, 8, 6)
        roc.atomic.dec(a, 9, 6)
        roc.atomic.exch(a, 10, 77)
      end)
      local n = 40
      local start = { 0, 1000, 45, 3, 255, 0, 0, 0, 0, 5 }
      local a = devices.values(start, dtype)
      devices.run(k, n, { a })
      local x = 0
      for i = 1, n do
        x = x ~ i
      end
      assert.same({ n * (n + 1) // 2, 1000 - n * (n + 1) // 2, 10, 40, 0, 255, x, n % 7,
        (7 - n % 7) % 7, 77 }, devices.table(a))
    end)
  end

  for _, dtype in ipairs { "float32", "float64" } do
    it("adds and bounds " .. dtype, function()
      local k = roc.kernel(function(a)
        local i = roc.get_global_id(1)
        roc.atomic.add(a, 1, 0.5)
        roc.atomic.min(a, 2, 0.0 - i)
        roc.atomic.max(a, 3, i * 1.0)
        roc.atomic.exch(a, 4, 2.0)
      end)
      local a = devices.values({ 0, 0, 0, 0 }, dtype)
      devices.run(k, 100, { a })
      assert.same({ 50.0, -100.0, 100.0, 2.0 }, devices.table(a))
    end)
  end

  it("orders unsigned elements as unsigned", function()
    local k = devices.kernel("function(a, b) roc.atomic.max(a, 1, -1) roc.atomic.min(a, 2, -1) "
      .. "roc.atomic.max(b, 1, -1) end")
    local a, b = devices.values({ 5, 5 }, "uint64"), devices.values({ 5 }, "int64")
    devices.run(k, 1, { a, b })
    assert.same({ -1, 5, 5 }, { a[1], a[2], b[1] })
  end)

  it("gives the old value", function()
    local k = roc.kernel(function(counter, slots)
      local place = roc.atomic.add(counter, 1, 1)
      slots[place + 1] = roc.get_global_id(1)
    end)
    local n = 200
    local counter, slots = devices.zeros(1, "int32"), devices.zeros(n, "int32")
    devices.run(k, n, { counter, slots })
    local got = devices.table(slots)
    table.sort(got)
    for i = 1, n do
      assert.equal(i, got[i])
    end
  end)

  it("compares and swaps by bits", function()
    local k = roc.kernel(function(a, f, old)
      old[1] = roc.atomic.cas(a, 1, 5, 9)
      old[2] = roc.atomic.cas(a, 1, 5, 11)
      old[3] = roc.atomic.cas(f, 1, 0.0, 1.0)
      old[4] = roc.atomic.cas(f, 2, 0.0, 1.0)
    end)
    local a, f, old = devices.values({ 5 }, "int32"), devices.values({ -0.0, 0.0 }, "float64"),
      devices.zeros(4, "float64")
    devices.run(k, 1, { a, f, old })
    assert.equal(9, a[1])
    assert.same({ 5.0, 9.0, 0.0, 0.0 }, devices.table(old))
    assert.equal(-math.huge, 1 / f[1])
    assert.equal(1.0, f[2])
  end)

  it("indexes by a table of indices", function()
    local k = roc.kernel(function(m)
      local i = roc.get_global_id(1)
      roc.atomic.add(m, { i % 2 + 1, i % 3 + 1 }, 1)
    end)
    local m = devices.zeros({ 2, 3 }, "int32")
    devices.run(k, 60, { m })
    assert.same({ { 10, 10, 10 }, { 10, 10, 10 } }, devices.table(m))
  end)

  it("evaluates the indices before the values", function()
    local k = roc.kernel(function(out)
      out[2] = 1
      roc.atomic.add(out, { roc.atomic.add(out, 2, 1) }, roc.atomic.add(out, 2, 1))
    end)
    local out = devices.zeros(3, "int64")
    devices.run(k, 1, { out })
    assert.same({ 2, 3, 0 }, devices.table(out))
  end)

  it("works on shared memory", function()
    local k = roc.kernel(function(x, out)
      local bins = roc.shared.array(4, "int32")
      local lid = roc.get_local_id(1)
      if lid <= 4 then
        bins[lid] = 0
      end
      roc.barrier()
      roc.atomic.add(bins, x[roc.get_global_id(1)] + 1, 1)
      roc.barrier()
      if lid <= 4 then
        roc.atomic.add(out, lid, bins[lid])
      end
    end)
    local n = 128
    local x = roc.zeros(n, "uint8")
    for i = 1, n do
      x[i] = i % 4
    end
    local out = devices.zeros(4, "int64")
    devices.run(k, n, { roc.to_device(x), out }, 32)
    assert.same({ 32, 32, 32, 32 }, devices.table(out))
  end)

  it("wraps operands into the element type before it compares", function()
    local k = roc.kernel(function(v, u, i)
      roc.atomic.min(u, 1, v)
      roc.atomic.max(u, 2, v)
      roc.atomic.max(i, 1, v >> 1)
    end)
    local u, i = devices.zeros(2, "uint32"), devices.zeros(1, "int32")
    devices.run(k, 1, { -11, u, i })
    assert.same({ 0, 4294967285 }, devices.table(u))
    assert.same({ 0 }, devices.table(i))
  end)

  it("lets a group wait for a lower one", function()
    local k = roc.kernel(function(flags, out)
      local g = roc.get_group_id(1)
      if roc.get_local_id(1) == 1 then
        local previous = 0
        if g > 1 then
          while roc.atomic.load(flags, g - 1) == 0 do
          end
          roc.mem_fence()
          previous = out[g - 1]
        end
        out[g] = previous + g
        roc.mem_fence()
        roc.atomic.store(flags, g, 1)
      end
    end)
    local groups = device.kind == "sim" and 20 or 2000
    local flags, out = devices.zeros(groups, "int32"), devices.zeros(groups, "int64")
    k:launch({ groups = groups, workgroup = 4 }, flags, out)
    assert.equal(groups * (groups + 1) // 2, out[groups])
  end)
end)
