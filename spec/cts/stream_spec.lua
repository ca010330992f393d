-- Streams and events as every device has them: order, waits, scopes, callbacks, and `stream=`
-- wherever work is queued.
local roc = require "roc"
local devices = require "support.devices"

local function fault(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal("fault", type(err) == "table" and err.code or err)
  return tostring(err)
end

devices.each(function()
  local fill = devices.kernel [[function(y, v)
    local i = roc.get_global_id(1)
    if i <= #y then y[i] = v end
  end]]
  local chain = devices.kernel [[function(y, n)
    local i = roc.get_global_id(1)
    y[i] = (y[i] * 3 + n) % 1000003
  end]]
  local beyond = devices.kernel "function(y) y[roc.get_global_id(1) + 1] = 1 end"
  local s
  before_each(function() s = roc.stream() end)
  after_each(function() s:close() end)

  describe("a stream", function()
    it("belongs to a device: the current one, or the one named", function()
      assert.is_true(s.device == roc.current_device())
      assert.equal("sim", roc.stream("sim").device.kind)
      assert.is_true(roc.stream(s.device).device == s.device)
      assert.is_truthy(tostring(s):find("^roc.Stream: "))
      assert.is_truthy(tostring(s):find(" on " .. s.device.name, 1, true))
    end)

    it("is done when nothing was queued", function()
      assert.is_true(s:query())
      s:synchronize()
    end)

    it("runs launches in order, in each of the three spellings", function()
      local y = devices.zeros(64, "int64")
      local expected = 0
      for n = 1, 10 do
        chain[{ 4, 16, s }](y, n)
        chain:launch({ grid = 64, workgroup = 16, stream = s }, y, n)
        chain:forall(64, { stream = s })(y, n)
        for _ = 1, 3 do expected = (expected * 3 + n) % 1000003 end
      end
      s:synchronize()
      assert.is_true(s:query())
      assert.equal(expected, y[1])
      assert.equal(expected, y[64])
    end)

    it("takes copies and fills between launches", function()
      local h, back = roc.linspace(1, 40, 40), roc.zeros(40)
      local y = roc.to_device(h, { stream = s })
      local z = roc.device_array_like(y)
      y:copy_to_device(z, s)
      y:fill(7, s)
      y:slice(1, 1, 39, 2):fill(8, s)
      local result = z:copy_to_host(back, s)
      assert.is_true(result == back)
      assert.equal(40.0, back[40])
      assert.same({ 8.0, 7.0, 8.0, 7.0 }, y:slice(1, 1, 4):copy_to_host():totable())
      z:copy_from_host(roc.ones(40), s)
      fill:forall(20, { stream = s })(z, 5)
      assert.equal(5.0, z[20])
      assert.equal(1.0, z[21])
    end)

    it("packs strided arrays and unpacks them", function()
      local h = roc.range(1, 12, 1, "int32"):reshape(3, 4)
      local d = roc.to_device(h:transpose(), { stream = s })
      local back = roc.zeros({ 3, 4 }, "int32")
      d:copy_to_host(back:transpose(), s)
      assert.is_true(roc.array_equal(h, back))
      local e = roc.to_device(roc.linspace(1, 6, 6))
      e:slice(1, 1, 5):copy_to_device(e:slice(1, 2, 6), s) -- they overlap
      assert.same({ 1.0, 1.0, 2.0, 3.0, 4.0, 5.0 }, e:copy_to_host():totable())
    end)

    it("runs kernels on host arrays, which are back when the call returns", function()
      local h = roc.zeros(30)
      fill:forall(30, { stream = s })(h, 3)
      assert.equal(3.0, h[30])
    end)

    it("keeps alive what its work uses, and goes on when it is closed", function()
      local y = devices.zeros(100)
      do
        local t = roc.stream()
        local k = devices.kernel "function(y) y[roc.get_global_id(1)] = 6 end"
        k[{ 10, 10, t }](y)
        t:close()
        t:close()
        assert.equal("roc.Stream (closed)", tostring(t))
      end
      collectgarbage()
      collectgarbage()
      assert.equal(6.0, y[100])
    end)

    it("is refused when it is closed, of another device, or none", function()
      local other = roc.stream(s.device.kind == "sim" and "cpu" or "sim")
      local y = devices.zeros(8)
      local closed = roc.stream()
      closed:close()
      for _, case in ipairs {
        { closed, "the stream is closed" },
        { 12, "roc.Stream expected, got number" },
      } do
        for _, use in ipairs {
          function() fill[{ 1, 8, case[1] }](y, 1) end,
          function() fill:launch({ grid = 8, stream = case[1] }, y, 1) end,
          function() fill:forall(8, { stream = case[1] })(y, 1) end,
          function() y:fill(1, case[1]) end,
          function() y:copy_to_host(nil, case[1]) end,
          function() y:copy_from_host(roc.zeros(8), case[1]) end,
          function() y:copy_to_device(y, case[1]) end,
          function() roc.to_device(roc.zeros(8), { stream = case[1] }) end,
          function() roc.event():record(case[1]) end,
        } do
          local ok, err = pcall(use)
          assert.is_false(ok)
          assert.is_truthy(tostring(err):find(case[2], 1, true), tostring(err))
        end
      end
      for _, use in ipairs {
        function() y:fill(1, other) end,
        function() y:copy_to_host(nil, other) end,
        function() y:copy_to_device(y, other) end,
        function() roc.to_device(roc.zeros(8), { stream = other, device = s.device }) end,
      } do
        local ok, err = pcall(use)
        assert.is_false(ok)
        assert.is_truthy(tostring(err):find("of another device", 1, true), tostring(err))
      end
      local ok, err = pcall(fill:forall(8, { stream = other }), y, 1)
      assert.is_false(ok)
      local expected = ("the launch on '%s'"):format(other.device.name)
      assert.is_truthy(tostring(err):find(expected, 1, true), tostring(err))
      ok, err = pcall(function() closed:synchronize() end)
      assert.is_false(ok)
      assert.is_truthy(err:find("the stream is closed", 1, true))
      assert.equal(0.0, y[1])
    end)

    it("gives the device of a copy that names none", function()
      local other = roc.stream(s.device.kind == "sim" and "cpu" or "sim")
      assert.is_true(roc.to_device(roc.ones(3), { stream = other }).device == other.device)
    end)

    it("reports a fault of its work once, and runs what is behind it", function()
      local y, z = devices.zeros(10), devices.zeros(10)
      beyond:forall(10, { stream = s })(y)
      fill:forall(10, { stream = s })(z, 4)
      assert.is_truthy(fault(s.synchronize, s):find("index 11 out of range 1..10 of 'y'", 1, true))
      s:synchronize()
      assert.equal(4.0, z[1])
      assert.equal(0.0, y[1])
      roc.current_device():synchronize()
    end)

    it("leaves its faults to the device when it is closed", function()
      local y = devices.zeros(10)
      beyond:forall(10, { stream = s })(y)
      s:close()
      fault(function() roc.current_device():synchronize() end)
      roc.current_device():synchronize()
    end)

    it("does not report the faults of another", function()
      local t, y = roc.stream(), devices.zeros(10)
      beyond:forall(10, { stream = t })(y)
      s:synchronize()
      fault(t.synchronize, t)
    end)
  end)

  describe("auto_synchronize", function()
    it("waits at the end of the scope", function()
      local y = devices.zeros(500, "int64")
      do
        local scope <close> = s:auto_synchronize()
        for n = 1, 20 do chain:forall(500, { stream = s })(y, n) end
      end
      assert.is_true(s:query())
    end)

    it("raises the fault of the work in it", function()
      local y = devices.zeros(10)
      fault(function()
        local scope <close> = s:auto_synchronize()
        beyond:forall(10, { stream = s })(y)
      end)
      s:synchronize()
    end)

    it("lets the user's error go on when one leaves the scope, and keeps the fault", function()
      local y, err = devices.zeros(10), {}
      local ok, raised = pcall(function()
        local scope <close> = s:auto_synchronize()
        beyond:forall(10, { stream = s })(y)
        error(err)
      end)
      assert.is_false(ok)
      assert.is_true(raised == err)
      assert.is_true(s:query())
      fault(s.synchronize, s)
      s:synchronize()
    end)

    it("waits though the stream was closed in it", function()
      local t, y = roc.stream(), devices.zeros(100)
      do
        local scope <close> = t:auto_synchronize()
        fill:forall(100, { stream = t })(y, 2)
        t:close()
      end
      assert.equal(2.0, y[100])
    end)
  end)

  describe("a callback", function()
    it("is called with its arguments at the next wait, in order", function()
      local seen, y = {}, devices.zeros(100)
      s:callback(function(...) seen[#seen + 1] = table.pack(...) end)
      fill:forall(100, { stream = s })(y, 1)
      s:callback(function(...) seen[#seen + 1] = table.pack(...) end, "a", nil, 3, nil)
      assert.equal(0, #seen)
      s:synchronize()
      assert.same({ { n = 0 }, { n = 4, "a", nil, 3, nil } }, seen)
      s:synchronize()
      assert.equal(2, #seen)
    end)

    it("is called by a query that finds its place passed", function()
      local count, y = 0, devices.zeros(100)
      fill:forall(100, { stream = s })(y, 1)
      s:callback(function() count = count + 1 end)
      -- It may be called at the end of a query that found the work queued.
      while not s:query() do assert.is_true(count <= 1) end
      assert.equal(1, count)
    end)

    it("may raise; then the others are called by the next wait", function()
      local count = 0
      s:callback(function() error("from the callback", 0) end)
      s:callback(function() count = count + 1 end)
      local ok, err = pcall(s.synchronize, s)
      assert.is_false(ok)
      assert.equal("from the callback", err)
      s:synchronize()
      assert.equal(1, count)
    end)

    it("may wait, queue work and add callbacks", function()
      local seen, y = {}, devices.zeros(10)
      s:callback(function()
        seen[#seen + 1] = "outer"
        fill:forall(10, { stream = s })(y, 9)
        s:callback(function() seen[#seen + 1] = "inner" end)
        s:synchronize()
      end)
      s:synchronize()
      assert.same({ "outer", "inner" }, seen)
      assert.equal(9.0, y[10])
    end)

    it("never takes the place of a fault", function()
      local count, y = 0, devices.zeros(10)
      beyond:forall(10, { stream = s })(y)
      s:callback(function() count = count + 1 end)
      fault(s.synchronize, s)
      assert.equal(0, count)
      s:synchronize()
      assert.equal(1, count)
    end)

    it("is called though its stream was closed", function()
      local count, t = 0, roc.stream()
      t:callback(function() count = count + 1 end)
      t:close()
      s:synchronize()
      assert.equal(1, count)
    end)

    it("is a function", function()
      local ok, err = pcall(function() s:callback("f") end)
      assert.is_false(ok)
      assert.is_truthy(err:find("function expected, got string", 1, true))
    end)
  end)

  describe("an event", function()
    it("is complete when it was never recorded", function()
      local e = roc.event()
      assert.is_true(e:query())
      e:synchronize()
      s:wait(e)
      assert.is_truthy(tostring(e):find("(not recorded)", 1, true))
    end)

    it("is recorded on a stream, or the default one, and waited for", function()
      local y, e = devices.zeros(1000), roc.event()
      fill:forall(1000, { stream = s })(y, 2)
      assert.is_true(e:record(s) == e)
      e:synchronize()
      assert.is_true(e:query())
      fill:forall(1000)(y, 3)
      e:record()
      e:synchronize()
      assert.is_true(e:query())
      assert.equal(3.0, y[1000])
    end)

    it("orders streams", function()
      local t, y, e = roc.stream(), devices.zeros(300, "int64"), roc.event()
      local expected = 0
      for n = 1, 40 do
        local stream, other = s, t
        if n % 2 == 0 then stream, other = t, s end
        chain[{ 3, 100, stream }](y, n)
        e:record(stream)
        other:wait(e)
        expected = (expected * 3 + n) % 1000003
      end
      s:synchronize()
      assert.equal(expected, y[300])
    end)

    it("measures milliseconds of device time", function()
      local y = devices.zeros(200, "int64")
      local e1, e2, e3 = roc.event():record(s), roc.event(), roc.event()
      for n = 1, 5 do chain:forall(200, { stream = s })(y, n) end
      e2:record(s)
      for n = 1, 5 do chain:forall(200, { stream = s })(y, n) end
      e3:record(s)
      local first, second, both = roc.elapsed(e1, e2), roc.elapsed(e2, e3), roc.elapsed(e1, e3)
      assert.equal("float", math.type(first))
      assert.is_true(first > 0 and second > 0)
      assert.is_true(math.abs(both - first - second) < 1e-6)
      assert.is_true(math.abs(roc.elapsed(e3, e1) + both) < 1e-6)
    end)

    it("reports a fault of its stream", function()
      local y, e = devices.zeros(10), roc.event()
      beyond:forall(10, { stream = s })(y)
      e:record(s)
      fault(e.synchronize, e)
      e:synchronize()
    end)

    it("is refused where it makes no sense", function()
      local e, closed = roc.event():record(s), roc.event()
      local function message(f, ...)
        local ok, err = pcall(f, ...)
        assert.is_false(ok)
        return tostring(err)
      end
      assert.is_truthy(message(roc.elapsed, e, closed):find("#2 .*the event was never recorded"))
      local other = roc.event():record(roc.stream(s.device.kind == "sim" and "cpu" or "sim"))
      assert.is_truthy(message(roc.elapsed, e, other):find("different devices", 1, true))
      closed:close()
      closed:close()
      assert.is_truthy(tostring(closed):find("(closed)", 1, true))
      for _, f in ipairs {
        function() closed:record() end,
        function() closed:query() end,
        function() closed:synchronize() end,
        function() s:wait(closed) end,
        function() roc.elapsed(closed, e) end,
      } do
        assert.is_truthy(message(f):find("the event is closed", 1, true))
      end
      local text = message(function() s:wait(s) end)
      assert.is_truthy(text:find("roc.Event expected, got roc.Stream", 1, true))
    end)

    it("may be dropped or closed while it is pending", function()
      local t, y, want = roc.stream(), devices.zeros(2000, "int64"), 0
      for n = 1, 50 do
        chain:forall(2000, { stream = s })(y, n)
        want = (want * 3 + n) % 1000003
        local e <close> = roc.event():record(s)
        t:wait(e)
        if n % 10 == 0 then collectgarbage() end
      end
      t:synchronize()
      s:synchronize()
      assert.equal(want, y[1])
      assert.equal(want, y[2000])
    end)

    it("makes the streams of one device wait for another's", function()
      local other = roc.stream(s.device.kind == "sim" and "cpu" or "sim")
      local y, h = devices.zeros(1000), roc.zeros(1000)
      fill:forall(1000, { stream = s })(y, 5)
      y:copy_to_host(h, s)
      other:wait(roc.event():record(s))
      local z = roc.to_device(h, { stream = other })
      assert.equal(5.0, z[1000])
    end)
  end)
end)
