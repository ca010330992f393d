-- roc.smart_array: one array on the host and on a device, copied only when the other side is stale.
local roc = require "roc"
local refuses = require "support.refuses"
local testing = require("roc.core").testing
local sim = require "roc.sim"
local devices = require "support.devices"

-- Runs f and returns what smart arrays copied meanwhile: to the device, to the host.
local function copies(f)
  local to_device, to_host = testing.smart_copies()
  f()
  local to_device2, to_host2 = testing.smart_copies()
  return { to_device2 - to_device, to_host2 - to_host }
end

for _, target in ipairs { { "cpu" }, { "sim" }, { "sim", raw = true } } do
  describe("a smart array on " .. target[1] .. (target.raw and " (raw)" or ""), function()
    local was, double, add
    setup(function()
      was = roc.current_device()
      roc.select_device(target[1])
      sim.is_raw = target.raw or false
      double = roc.kernel(function(x)
        local i = roc.get_global_id(1)
        x[i] = x[i] * 2
      end)
      add = roc.kernel(function(x, y)
        local i = roc.get_global_id(1)
        y[i] = x[i] + y[i]
      end)
    end)
    teardown(function()
      sim.is_raw = false
      roc.select_device(was)
    end)

    it("moves to the device when a kernel needs it and back when the host does, once each",
      function()
      local s = roc.smart_array(roc.array { 1, 2, 3 })
      assert.same({ 1, 0 }, copies(function()
        for _ = 1, 3 do double:forall(3)(s) end
      end))
      assert.same({ 0, 1 }, copies(function()
        assert.equal(8.0, s[1])
        assert.same({ 8.0, 16.0, 24.0 }, s:totable())
      end))
      assert.same({ 0, 0 }, copies(function() double:forall(3)(s) end))
      assert.equal(16.0, s[1])
    end)

    it("does not move back when the kernel has only read it", function()
      local x, y = roc.smart_array(roc.array { 1, 2 }), roc.smart_array(roc.array { 10, 20 })
      assert.same({ 2, 0 }, copies(function() add:forall(2)(x, y) end))
      assert.same({ 0, 1 }, copies(function()
        assert.same({ 1.0, 2.0 }, x:totable())
        assert.same({ 11.0, 22.0 }, y:totable())
      end))
    end)

    it("moves to the device again after a write on the host, through whatever view", function()
      local a = roc.array { { 1, 2 }, { 3, 4 } }
      local s = roc.smart_array(a)
      local k = roc.kernel(function(m) m[1][1] = m[1][1] + m[2][2] end)
      local function launch() k:forall(1)(s) end
      assert.same({ 1, 0 }, copies(launch))
      local writes = {
        function() s[2][2] = 40 end, function() a[2][2] = 50 end, function() s:set(60, 2, 2) end,
        function() s:get("host"):slice(1, 2, 2):fill(70) end,
        function() roc.to_device(roc.ones { 2, 2 }):copy_to_host(s) end,
      }
      for i, write in ipairs(writes) do
        assert.same({ 0, i == 1 and 1 or 1 }, copies(write))
        assert.same({ 1, 0 }, copies(launch))
      end
      assert.equal(2.0, s[1][1])
      assert.equal(2.0, a[1][1])
    end)

    it("gives its sides, up to date", function()
      local s = roc.smart_array(roc.array({ 1, 2, 3 }, "int32"))
      local d = s:get("device")
      assert.equal(target[1], d.device.kind)
      assert.same({ 1, 2, 3 }, d:copy_to_host():totable())
      double:forall(3)(s)
      assert.same({ 2, 4, 6 }, s:get("host"):totable())
      s[1] = 10
      assert.same({ 10, 4, 6 }, s:get("device"):copy_to_host():totable())
      assert.equal(10, s:get(1))
    end)

    it("is told of changes it cannot see", function()
      local s = roc.smart_array(roc.array { 1, 2, 3 })
      local d = s:get("device")
      d[1] = 100
      assert.equal(1.0, s[1])
      s:mark_changed("device")
      assert.equal(100.0, s[1])
      assert.same({ 1, 0 }, copies(function()
        s:mark_changed("host")
        s:get("device")
        s:get("device")
      end))
    end)

    it("has the properties and methods of arrays", function()
      local s = roc.smart_array(roc.range(1, 6, 1, "int32"):reshape(2, 3))
      assert.same({ 2, 3 }, s.shape)
      assert.equal(roc.int32, s.dtype)
      assert.same({ 2, 6, 24, 2 }, { s.ndim, s.size, s.nbytes, #s })
      assert.same({ { 1, 4 }, { 2, 5 }, { 3, 6 } }, s:transpose():totable())
      assert.same({ 4, 5, 6 }, s[2]:totable())
      assert.is_true(s:is_c_contiguous())
      assert.same({ 1, 2, 3, 4, 5, 6 }, s:ravel():totable())
      assert.equal("roc.Array", getmetatable(s:copy()).__name)
      assert.equal(tostring(s:get("host")), tostring(s))
      assert.equal(s:tostring(), tostring(s))
      s:fill(9)
      assert.equal(9, s[2][3])
      assert.error_matches(function() return s.nothing end,
        "roc.SmartArray has no field 'nothing'")
    end)

    it("is used where an array is", function()
      local s = roc.smart_array(roc.array { 1, 2, 3 })
      double:forall(3)(s)
      assert.is_true(roc.array_equal(s, roc.array { 2, 4, 6 }))
      double:forall(3)(s)
      assert.is_true(roc.allclose(s, { 4, 8, 12 }))
      double:forall(3)(s)
      assert.same({ 8.0, 16.0, 24.0 }, roc.array(s):totable())
      double:forall(3)(s)
      assert.same({ 16.0, 32.0, 48.0 }, roc.to_device(s):copy_to_host():totable())
      double:forall(3)(s)
      local d = roc.device_array(3):copy_from_host(s)
      assert.equal(32.0, d[1])
      assert.same({ 3 }, roc.device_array_like(s).shape)
    end)

    it("shares its device memory with its views, which may be arguments together", function()
      local s = roc.smart_array(roc.array { 1, 2, 3, 4, 5, 6 })
      local k = roc.kernel(function(x, y)
        for i = 1, #y do y[i] = x[i] + y[i] end
      end)
      assert.same({ 1, 1 }, copies(function()
        k:forall(1)(s:slice(1, 1, 5), s:slice(1, 2, 6))
        assert.same({ 1.0, 3.0, 6.0, 10.0, 15.0, 21.0 }, s:totable())
      end))
    end)

    it("of a strided view has the view's elements", function()
      local base = roc.zeros({ 3, 3 })
      local s = roc.smart_array(base:slice(2, 2, 2):reshape(3))
      s:fill(1)
      double:forall(3)(s)
      assert.same({ { 0.0, 2.0, 0.0 }, { 0.0, 2.0, 0.0 }, { 0.0, 2.0, 0.0 } }, base:totable())
    end)

    it("is the array it was made of, seen from its other handle", function()
      local a = roc.array { 1, 2, 3 }
      local s = roc.smart_array(a)
      double:forall(3)(s)
      assert.equal(2.0, a[1])
      double:forall(3)(a)
      assert.equal(4.0, roc.smart_array(a)[1])
    end)

    it("goes with device, host and wrapped arrays in one launch", function()
      local x, y = roc.smart_array(roc.array { 1, 2 }), roc.array { 10, 20 }
      add:forall(2)(x, y)
      assert.same({ 11.0, 22.0 }, y:totable())
      add:forall(2)(y, x)
      assert.same({ 12.0, 24.0 }, x:totable())
      add:forall(2)(roc.In(x), roc.InOut(y))
      assert.same({ 23.0, 46.0 }, y:totable())
      local d = roc.to_device(y)
      add:forall(2)(d, roc.InOut(x))
      assert.same({ 35.0, 70.0 }, x:totable())
    end)

    it("follows the launches from device to device", function()
      local s = roc.smart_array(roc.array { 1, 2 })
      double:forall(2)(s)
      roc.select_device("cpu")
      double:forall(2)(s)
      assert.equal("cpu", s:get("device").device.kind)
      roc.select_device(target[1])
      assert.same({ 4.0, 8.0 }, s:totable())
    end)

    it("reports the fault of a kernel at the next access, once", function()
      local s = roc.smart_array(roc.array { 1, 2, 3 })
      local bad = roc.kernel(function(x) x[4] = 1.0 end)
      bad:forall(1)(s)
      refuses("index 4 out of range 1..3 of 'x'", function() return s[1] end)
      assert.equal(1.0, s[1])
      local reads = roc.kernel(function(x, y) y[1] = x[5] end)
      reads:forall(1)(s, roc.to_device(roc.zeros(1)))
      pcall(function() roc.current_device():synchronize() end)
      assert.equal(2.0, s[2])
    end)

    it("may be empty", function()
      local s = roc.smart_array(roc.empty(0))
      assert.equal(0, s:get("device").size)
      double:forall(0)(s)
      assert.same({}, s:totable())
    end)

    it("is closed with its host side up to date", function()
      local a = roc.array { 1, 2 }
      do
        local s <close> = roc.smart_array(a)
        double:forall(2)(s)
      end
      assert.same({ 0, 0 }, copies(function() assert.same({ 2.0, 4.0 }, a:totable()) end))
      local s = roc.smart_array(a)
      s:close()
      s:close()
      assert.equal("roc.SmartArray (closed)", tostring(s))
      for _, use in ipairs {
        function() return s[1] end, function() s:get("device") end, function()
          double:forall(2)(s)
        end,
        function() s:mark_changed("host") end, function() return s.shape end,
      } do
        refuses("closed", use)
      end
      a[1] = 7
      assert.equal(7.0, a[1])
    end)

    it("explains misuse", function()
      local s = roc.smart_array(roc.array { 1, 2 })
      refuses("roc.Array, or a shape, expected", roc.smart_array, "five")
      refuses("roc.Array expected, got roc.DeviceArray", roc.smart_array, roc.device_array(2))
      refuses("\"host\" or \"device\" expected, got 'gpu'", s.get, s, "gpu")
      refuses("\"host\" or \"device\" expected, got 'gpu'", s.mark_changed, s, "gpu")
      refuses("\"host\" or \"device\" expected, got no value", s.mark_changed, s)
      refuses("smart_spec.lua:", function() return s[3] end)
      refuses("bad argument #1 to 'get' (number has no integer", function() s:get(1.5) end)
      refuses("\"host\", \"device\" or an index expected", s.get, s)
      refuses("no side on a device yet", s.mark_changed, s, "device")
      refuses("out of range", function() return s[3] end)
      refuses("roc.SmartArray expected", s.get, roc.zeros(2), "host")
    end)
  end)
end

describe("a smart array on a device with memory of its own", function()
  local device
  local kernel = roc.kernel(function(x) x[1] = 2.0 end) -- which does nothing there
  devices.use("null")
  setup(function() device = roc.current_device() end)
  before_each(function()
    collectgarbage()
    testing.null_clear()
  end)
  after_each(function()
    testing.null_clear()
    if device.state == "lost" then device:reset() end
  end)

  it("asks the driver for one block and one copy each way", function()
    local s = roc.smart_array(roc.array { 1, 2, 3 })
    for _ = 1, 3 do kernel:forall(1)(s) end
    assert.equal(1, testing.null_calls("copy"))
    s:get("device"):fill(5)
    assert.same({ 5.0, 5.0, 5.0 }, s:totable())
    assert.equal(2, testing.null_calls("copy"))
    assert.same({ 5.0, 5.0, 5.0 }, s:totable())
    assert.equal(2, testing.null_calls("copy"))
  end)

  it("loses nothing when a copy fails", function()
    local s = roc.smart_array(roc.array { 1, 2, 3 })
    testing.null_fail("copy", 1, "io")
    refuses("planted failure of 'copy'", function() kernel:forall(1)(s) end)
    kernel:forall(1)(s)
    s:get("device"):fill(5)
    testing.null_fail("copy", 1, "io")
    refuses("planted failure of 'copy'", function() return s[1] end)
    assert.equal(5.0, s[1])
  end)

  it("does not move when the launch fails", function()
    local s = roc.smart_array(roc.array { 1, 2, 3 })
    testing.null_fail("launch", 1, "io")
    refuses("planted failure of 'launch'", function() kernel:forall(1)(s) end)
    assert.equal(1.0, s[1])
    assert.equal(1, testing.null_calls("copy"))
  end)

  it("waits for the kernel that writes it, and for no other work", function()
    local s, other = roc.smart_array(roc.array { 1, 2, 3 }), roc.device_array(3)
    s:get("device")
    testing.null_hold(true)
    kernel:forall(1)(other)
    assert.equal(1.0, s[1])
    kernel:forall(1)(s)
    testing.interrupt()
    refuses("interrupted!", function() return s[1] end)
    testing.null_hold(false)
    assert.equal(1.0, s[1])
  end)

  it("tells once that its device was lost, and then has what the host last had", function()
    local s = roc.smart_array(roc.array { 1, 2, 3 })
    kernel:forall(1)(s)
    testing.null_lose()
    refuses("is lost", function() return s[1] end)
    assert.same({ 1.0, 2.0, 3.0 }, s:totable())
    s[1] = 7
    refuses("is lost", function() kernel:forall(1)(s) end)
    device:reset()
    kernel:forall(1)(s)
    assert.equal(7.0, s[1])
  end)

  it("gives its block back when it is closed or collected, not while a kernel uses it", function()
    local s = roc.smart_array(roc.zeros(100))
    kernel:forall(1)(s)
    s:close()
    roc.trim_memory()
    assert.equal(0, testing.null_live_bytes())
    s = roc.smart_array(roc.zeros(100))
    s:get("device")
    testing.null_hold(true)
    kernel:forall(1)(s)
    s = nil
    collectgarbage()
    collectgarbage()
    roc.trim_memory()
    assert.is_true(testing.null_live_bytes() >= 800)
    testing.null_hold(false)
    device:synchronize()
    roc.trim_memory()
    assert.equal(0, testing.null_live_bytes())
    assert.is_nil(s)
  end)
end)
