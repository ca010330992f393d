-- Launching kernels: the three spellings, what host arrays see, overlap, and what a launch costs.
local roc = require "roc"
local devices = require "support.devices"

local function ids_kernel()
  return roc.kernel(function(y)
    local i = roc.get_global_id(1)
    if i <= #y then y[i] = i * 100 + roc.get_local_id(1) end
  end, { name = "ids" })
end

devices.each(function(device)
  describe("a launch", function()
    it("is spelled in three ways", function()
      local k = ids_kernel()
      local a, b, c = roc.zeros(5, "int64"), roc.zeros(5, "int64"), roc.zeros(5, "int64")
      k[{ 3, 2 }](a)
      k:launch({ grid = 5, workgroup = 2 }, b)
      k:forall(5, { workgroup = 2 })(c)
      assert.same({ 101, 202, 301, 402, 501 }, a:totable())
      assert.same(a:totable(), b:totable())
      assert.same(a:totable(), c:totable())
    end)

    it("has as many work-items as the grid says, though the last group is partial", function()
      local k = roc.kernel(function(y)
        roc.atomic.add(y, 1, 1)
        y[2] = roc.get_global_size(1)
        y[3] = roc.get_local_size(1)
      end)
      local y = roc.zeros(3, "int64")
      k:launch({ grid = 10, workgroup = 4 }, y)
      assert.same({ 10, 10, 4 }, y:totable())
      y:fill(0)
      k:launch({ groups = 3, workgroup = 4 }, y)
      assert.same({ 12, 12, 4 }, y:totable())
    end)

    it("has up to three dimensions", function()
      local k = roc.kernel(function(y)
        local i, j, l = roc.grid(3)
        y[i][j][l] = roc.get_work_dim() * 1000 + i * 100 + j * 10 + l
      end)
      local y = roc.zeros({ 2, 3, 4 }, "int64")
      k[{ { 2, 3, 2 }, { 1, 1, 2 } }](y)
      assert.equal(3234, y[2][3][4])
      assert.equal(3111, y[1][1][1])
    end)

    it("reads its configuration once, when the kernel is indexed", function()
      local cfg = { 1, 2 }
      local k = ids_kernel()
      local launch = k[cfg]
      cfg[1], cfg[2] = 100, 100
      local y = roc.zeros(5, "int64")
      launch(y)
      assert.same({ 101, 202, 0, 0, 0 }, y:totable())
    end)

    it("of the arrays of the last one reads scalars and memory again", function()
      local k = roc.kernel(function(x, y, n) y[n] = y[n] + x[1] * n end):forall(1)
      local x, y = roc.to_device(roc.ones(4)), roc.to_device(roc.zeros(4))
      for n = 1, 4 do k(x, y, n) end
      k(x, y, 2)
      x[1] = 10
      k(x, y, 1)
      assert.same({ 11, 4, 3, 4 }, y:copy_to_host():totable())
      k(y, x, 1)
      k(y, x, 1)
      assert.same({ 32, 1, 1, 1 }, x:copy_to_host():totable())
    end)

    it("sees that a scalar has another type, and an array another place or shape", function()
      local k = roc.kernel(function(x, y, n)
        y[1] = y[1] + x[1] * 1000 + #x * 100 + n * 2
      end):forall(1)
      local whole, y = roc.to_device(roc.range(1, 9)), roc.to_device(roc.zeros(1))
      local function run(x, n)
        k(x, y, n)
        k(x, y, n)
        local got = y[1]
        y[1] = 0
        return got
      end
      assert.equal(2 * (1000 + 900 + 6), run(whole, 3))
      assert.equal(2 * (1000 + 900 + 3), run(whole, 1.5))
      assert.equal(2 * (1000 + 900) + 2.0 ^ 42, run(whole, 1 << 40))
      assert.equal(2 * (4000 + 300 + 6), run(whole:slice(1, 4, 6), 3))
      assert.equal(2 * (5000 + 300 + 6), run(whole:slice(1, 5, 7), 3))
      assert.equal(2 * (5000 + 200 + 6), run(whole:slice(1, 5, 7, 2), 3))
      assert.equal(2 * (5000 + 200 + 6), run(whole:slice(1, 5, 6), 3))
      local z = roc.to_device(roc.full(9, 7))
      assert.equal(2 * (7000 + 900 + 6), run(z, 3))
      z:close()
      for n = 1, 3 do
        local other <close> = roc.to_device(roc.full(n, n, n == 2 and "int32" or "float64"))
        assert.equal(2 * (n * 1000 + n * 100 + 6), run(other, 3))
      end
      assert.equal(2 * (7000 + 200 + 2), run(roc.to_device(roc.full(2, 7)), 1))
    end)

    it("copies host arrays each time, and sees where device arrays overlap", function()
      local add = roc.kernel(function(x, y)
        for i = 1, #x do y[i] = y[i] + x[i] end
      end):forall(1)
      local x, y = roc.ones(3), roc.zeros(3)
      for _ = 1, 3 do
        add(x, y)
        x[1] = x[1] + 1
      end
      assert.same({ 6, 3, 3 }, y:totable())
      local d = roc.to_device(roc.array({ 1, 2, 3, 4 }, "float64"))
      local low, high = d:slice(1, 1, 3), d:slice(1, 2, 4)
      add(roc.to_device(x), high)
      assert.same({ 1, 6, 4, 5 }, d:copy_to_host():totable())
      add(low, high)
      add(low, high)
      assert.same({ 1, 8, 19, 35 }, d:copy_to_host():totable())
    end)

    it("reads captured values between launches of the same arrays", function()
      local scale, base = 2, roc.to_device(roc.full(1, 100))
      local k = roc.kernel(function(y) y[1] = y[1] * scale + base[1] end):forall(1)
      local y = roc.to_device(roc.ones(1))
      local seen = {}
      for i = 1, 6 do
        if i == 3 then scale = 3 end
        if i == 4 then scale = 0.5 end
        if i == 5 then base = roc.to_device(roc.full(1, 1000)) end
        k(y)
        seen[i] = y[1]
      end
      assert.same({ 102, 304, 1012, 606, 1303, 1651.5 }, seen)
    end)

    it("can be kept when its kernel is not", function()
      local launch = ids_kernel()[{ 1, 4 }]
      collectgarbage()
      collectgarbage()
      local y = roc.zeros(2, "int64")
      launch(y)
      assert.same({ 101, 202 }, y:totable())
    end)

    it("of 0 groups or items runs nothing", function()
      local y = roc.zeros(1, "int64")
      local k = ids_kernel()
      k[{ 0, 16 }](y)
      k:forall(0)(y)
      k:launch({ groups = { 1, 0 }, workgroup = 1 }, y)
      assert.same({ 0 }, y:totable())
    end)
  end)

  describe("a host array", function()
    local fill = function(x, y)
      local i = roc.get_global_id(1)
      y[i] = x[i] + 1
    end

    it("has the results when the launch returns", function()
      local k = roc.kernel(fill)
      local x, y = roc.range(1, 100), roc.zeros(100, "int64")
      k:forall(100)(x, y)
      assert.equal(101, y[100])
    end)

    it("may be strided, transposed, or a view", function()
      local k = roc.kernel(fill)
      local base, out = roc.range(1, 20), roc.zeros(20, "int64")
      k:forall(10)(base:slice(1, 1, 20, 2), out:slice(1, 20, 1, -2))
      for i = 1, 10 do
        assert.equal(2 * i, out[22 - 2 * i])
        assert.equal(0, out[21 - 2 * i])
      end
      local k2 = roc.kernel(function(a, b)
        local i, j = roc.grid(2)
        b[j][i] = a[i][j]
      end)
      local a, b = roc.range(1, 6):reshape(2, 3), roc.zeros({ 2, 3 }, "int64")
      k2:launch({ grid = { 2, 3 } }, a, b:transpose())
      assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, b:totable())
    end)

    it("is copied as roc.In, Out and InOut say", function()
      local k = roc.kernel(function(a, b, c)
        local i = roc.get_global_id(1)
        c[i] = a[i] + c[i]
        b[i] = 7
        a[i] = 0
      end)
      local a, b, c = roc.full(4, 3, "int64"), roc.full(4, 5, "int64"), roc.full(4, 10, "int64")
      k:forall(4)(roc.In(a), roc.Out(b), roc.InOut(c))
      assert.same({ 3, 3, 3, 3 }, a:totable())
      assert.same({ 7, 7, 7, 7 }, b:totable())
      assert.same({ 13, 13, 13, 13 }, c:totable())
    end)

    it("is untouched by a launch that fails", function()
      local k = roc.kernel(function(y)
        local i = roc.get_global_id(1)
        y[i] = i
        if i == 3 then y[5] = 1 end
      end)
      local y = roc.zeros(4, "int64")
      local ok, err = pcall(k:forall(4), y)
      assert.is_false(ok)
      assert.matches("launch_spec.lua:%d+: index 5 out of range 1..4 of 'y' %(work%-item {3}%)",
        tostring(err))
      assert.same({ 0, 0, 0, 0 }, y:totable())
      local again = roc.kernel(function(z) z[1] = 1 end)
      again:forall(1)(y)
      assert.equal(1, y[1])
    end)

    it("shares one device copy with the arrays that share its memory", function()
      local k = roc.kernel(function(a, b)
        a[1] = 10
        b[1] = a[2] + 1
      end)
      local x = roc.array({ 1, 2, 3, 4 }, "int64")
      k:forall(1)(x, x)
      assert.same({ 3, 2, 3, 4 }, x:totable())
      x = roc.array({ 1, 2, 3, 4 }, "int64")
      k:forall(1)(x:slice(1, 1, 3), x:slice(1, 2, 4))
      assert.same({ 10, 3, 3, 4 }, x:totable())
      local swap = roc.kernel(function(a, b) a[1] = b[2] end)
      x = roc.array({ 1, 2, 3, 4 }, "int64")
      swap:forall(1)(x:slice(1, 4, 1, -1), x:slice(1, 1, 4, 2))
      assert.same({ 1, 2, 3, 3 }, x:totable())
    end)

    it("may share memory with arrays of other types", function()
      local bytes = roc.zeros(16, "uint8")
      local k = roc.kernel(function(a, b)
        a[1] = 255
        b[16] = a[1] + 1
        b[9] = 1
      end)
      k:forall(1)(bytes:slice(1, 2, 9), bytes)
      assert.same({ 0, 255, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0 }, bytes:totable())
    end)

    it("may be empty", function()
      local k = roc.kernel(function(y, z) z[1] = #y end)
      local z = roc.zeros(1, "int64")
      k:forall(1)(roc.zeros(0), z)
      assert.same({ 0 }, z:totable())
    end)
  end)

  describe("device arrays", function()
    it("may overlap", function()
      local shift = roc.kernel(function(a, b)
        for i = 1, #a do b[i] = a[i] + 1 end
      end)
      local d = roc.to_device(roc.zeros(6, "int64"))
      shift:forall(1)(d:slice(1, 1, 5), d:slice(1, 2, 6))
      assert.same({ 0, 1, 2, 3, 4, 5 }, d:copy_to_host():totable())
      shift:forall(1)(d, d)
      assert.same({ 1, 2, 3, 4, 5, 6 }, d:copy_to_host():totable())
    end)

    it("may be passed and captured at once", function()
      local d = roc.to_device(roc.zeros(6, "int64"))
      local k = roc.kernel(function(a)
        for i = 2, #a do a[i] = d[i - 1] + 1 end
      end)
      k:forall(1)(d)
      assert.same({ 0, 1, 2, 3, 4, 5 }, d:copy_to_host():totable())
    end)
  end)

  if device.kind ~= "sim" then
    it("a kept launch allocates no Lua memory", function()
      local scale = 2
      local k = roc.kernel(function(n, x, y, z)
        local i = roc.get_global_id(1)
        if i <= n then z[i] = scale * x[i] + y[i] end
      end)
      local function make() return roc.to_device(roc.ones(16)) end
      local launch, x, y, z = k[{ 1, 16 }], make(), make(), make()
      launch(16, x, y, z)
      launch(16, x, y, z)
      collectgarbage()
      collectgarbage("stop")
      local before = collectgarbage("count")
      for _ = 1, 100 do launch(16, x, y, z) end
      local after = collectgarbage("count")
      collectgarbage("restart")
      assert.equal(before, after)
      assert.equal(3.0, z[1])
    end)
  end
end)

describe("a hint", function()
  devices.use("cpu")

  it("tells of a plain host array that is copied again and again", function()
    local k = roc.kernel(function(y) y[1] = 1 end, { name = "copies" })
    local y = roc.zeros(1)
    for _ = 1, 2 do k:forall(1)(y) end
    assert.same({}, k:hints())
    k:forall(1)(y)
    assert.equal(1, #k:hints())
    assert.matches("kernel 'copies' copied a plain host array for the third time", k:hints()[1])
  end)

  it("tells of float64 arithmetic in a kernel whose arrays are narrower", function()
    local y = roc.to_device(roc.zeros(1, "float32"))
    local wide = roc.kernel(function(n, a) a[1] = roc.float32(roc.float64(n) * 2.0) end,
      { name = "wide" })
    wide:forall(1)(1.5, y)
    assert.matches("launch_spec.lua:%d+: kernel 'wide' computes in float64", wide:hints()[1])
    local narrow = roc.kernel(function(n, a) a[1] = a[1] * 2.0 + n end)
    narrow:forall(1)(1.5, y)
    assert.same({}, narrow:hints())
  end)
end)
