-- Registered, pinned and smart arrays in kernels: the same results on every device, in place or
-- kept where they are.
local roc = require "roc"
local refuses = require "support.refuses"
local devices = require "support.devices"

devices.each(function(device)
  local function scale_kernel(opts)
    return devices.kernel("function(x, f) local i = roc.get_global_id(1) x[i] = x[i] * f end", opts)
  end

  for _, checked in ipairs { true, false } do
    local name = checked and "a checked kernel" or "an unchecked kernel"

    it("a registered array is read and written in place by " .. name, function()
      local a = roc.range(1, 100, 1, "float32")
      local r <close> = roc.register(a)
      local k = scale_kernel { check = checked }
      k:forall(100)(a, 2)
      k:forall(100)(a, 3) -- behind the first, without a wait between
      for i = 1, 100 do assert.equal(6.0 * i, a[i]) end
      assert.equal("roc.Registration: 1 array", tostring(r))
    end)
  end

  it("views of a registered array work in place, strided ones too", function()
    local m = roc.zeros({ 4, 6 }, "int32")
    local r <close> = roc.register(m)
    local k = devices.kernel("function(v) local i = roc.get_global_id(1) for j = 1, v.shape[2] "
      .. "do v[i][j] = i * 10 + j end end")
    k:forall(6)(m:transpose())
    for i = 1, 6 do
      for j = 1, 4 do assert.equal(i * 10 + j, m[j][i]) end
    end
    k:forall(2)(m:slice(1, 1, 4, 3):slice(2, 2, 6, 2))
    assert.same({ 11, 11, 31, 12, 51, 13 }, m[1]:totable())
    assert.same({ 14, 21, 34, 22, 54, 23 }, m[4]:totable())
    assert.equal("roc.Registration: 1 array", tostring(r))
  end)

  it("views of one registered array may overlap in a launch", function()
    local a = roc.range(1, 8, 1, "int64")
    local r <close> = roc.register(a)
    local k = devices.kernel("function(x, y) for i = 1, #y do y[i] = x[i] + y[i] end end")
    k:forall(1)(a:slice(1, 1, 7), a:slice(1, 2, 8))
    assert.same({ 1, 3, 6, 10, 15, 21, 28, 36 }, a:totable())
    assert.equal("roc.Registration: 1 array", tostring(r))
  end)

  it("a kernel that fails has written in place what came before", function()
    local a = roc.zeros(4, "int64")
    local r = roc.register(a)
    local k = devices.kernel("function(x) for i = 1, 5 do x[i] = i end end")
    k:forall(1)(a)
    refuses("index 5 out of range 1..4 of 'x'", function() return a[1] end)
    assert.same({ 1, 2, 3, 4 }, a:totable())
    k:forall(1)(a)
    refuses("index 5 out of range 1..4 of 'x'", r.close, r)
    refuses("not registered", function() roc.deregister(a) end)
    assert.same({ 1, 2, 3, 4 }, a:totable())
  end)

  it("an error that leaves the scope of a registration goes on, and the kernel's is kept",
    function()
    local a = roc.zeros(4, "int64")
    local k = devices.kernel("function(x) x[9] = 1 end")
    refuses("mine", function()
      local _ <close> = roc.register(a)
      k:forall(1)(a)
      error "mine"
    end)
    refuses("index 9 out of range", function() return a[1] end)
    assert.equal(0, a[1])
  end)

  for _, name in ipairs { "pinned_array", "mapped_array" } do
    it("an array of roc." .. name .. " is used in place", function()
      local a, d = roc[name](64, "float64"), devices.zeros(64, "float64")
      for i = 1, 64 do a[i] = i end
      local k =
        devices.kernel("function(x, y) local i = roc.get_global_id(1) y[i] = x[i] x[i] = -x[i] end")
      k:forall(64)(a, d)
      assert.equal(-64.0, a[64])
      assert.equal(64.0, d[64])
    end)
  end

  it("roc.In, Out and InOut change nothing for arrays that are not copied", function()
    local a, s = roc.ones(3, "float64"), roc.smart_array(roc.ones(3, "float64"))
    local r <close> = roc.register(a)
    local k = scale_kernel()
    for _, wrap in ipairs { "In", "Out", "InOut" } do
      k:forall(3)(roc[wrap](a), 2)
      k:forall(3)(roc[wrap](s), 2)
    end
    assert.same({ 8.0, 8.0, 8.0 }, a:totable())
    assert.same({ 8.0, 8.0, 8.0 }, s:totable())
    assert.equal("roc.Registration: 1 array", tostring(r))
  end)

  it("a roc.Out array that overlaps another is refused, registered or not", function()
    local a = roc.ones(4, "float64")
    local r <close> = roc.register(a)
    local k = devices.kernel("function(x, y) x[1] = 5 end")
    refuses("overlaps argument #2", function() k:forall(1)(roc.Out(a), a:slice(1, 1, 2)) end)
    refuses("overlaps argument #1", function() k:forall(1)(a, roc.Out(a)) end)
    assert.equal(1.0, a[1])
    assert.equal("roc.Registration: 1 array", tostring(r))
  end)

  it("atomics reach registered memory", function()
    local count = roc.zeros(1, "int32")
    local r <close> = roc.register(count)
    local k = devices.kernel("function(c) roc.atomic.add(c, 1, 1) end")
    k:forall(1000)(count)
    assert.equal(1000, count[1])
    assert.equal("roc.Registration: 1 array", tostring(r))
  end)

  it("signatures hold for registered and smart arrays", function()
    local k = devices.kernel("function(x) x[1] = 2 end", { signature = "(float32[:])" })
    local a, s = roc.zeros(2, "float32"), roc.smart_array(roc.zeros(2, "float32"))
    roc.register(a)
    k:forall(1)(a)
    k:forall(1)(s)
    assert.equal(2.0, a[1])
    assert.equal(2.0, s[1])
    for _, bad in ipairs { roc.zeros(2, "float64"), roc.zeros({ 2, 2 }, "float32") } do
      roc.register(bad)
      refuses("array of", function() k:forall(1)(bad) end)
      refuses("array of", function() k:forall(1)(roc.smart_array(bad)) end)
    end
  end)

  it("smart arrays stay on the device from launch to launch", function()
    local s = roc.smart_array(roc.range(1, 50, 1, "float32"))
    local k = scale_kernel()
    for _ = 1, 3 do k:forall(50)(s, 2) end
    for i = 1, 50 do assert.equal(8.0 * i, s[i]) end
    s[1] = 1
    k:forall(50)(s, 2)
    assert.same({ 2.0, 32.0 }, { s[1], s[2] })
    assert.equal(device.kind, s:get("device").device.kind)
  end)

  it("collecting arrays whose kernels are queued loses nothing", function()
    local k = devices.kernel [[function(x, f, done)
      local i = roc.get_global_id(1)
      x[i] = x[i] * f
      if x[i] == f then roc.atomic.add(done, 1, 1) end
    end]]
    local done = devices.zeros(1, "int64")
    for i = 1, 40 do
      local a = roc.ones(1000, "float32")
      if i % 2 == 0 then
        roc.register(a)
        k:forall(1000)(a, 2, done)
      else
        k:forall(1000)(roc.smart_array(a), 2, done)
      end
      if i % 7 == 0 then collectgarbage() end
    end
    roc.current_device():synchronize()
    collectgarbage()
    assert.equal(40000, done[1])
  end)
end)
