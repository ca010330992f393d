-- roc.register and its like: nesting, handles, bad arguments, lifetimes; on memory that kernels
-- reach anyway and, by the null device, on memory a driver has to be told of.
local roc = require "roc"
local refuses = require "support.refuses"
local devices = require "support.devices"
local testing = require("roc.core").testing

for _, kind in ipairs { "cpu", "sim", "null" } do
  describe("a registration on " .. kind, function()
    local a, b
    devices.use(kind)
    before_each(function()
      testing.null_clear()
      a, b = roc.array { 1, 2, 3 }, roc.array { 4, 5 }
    end)

    -- Is it registered?  Undone at once when it was.
    local function is_registered(array)
      return (pcall(roc.deregister, array))
    end

    it("lasts until its handle is closed", function()
      local r = roc.register(a, b)
      assert.equal("roc.Registration: 2 arrays", tostring(r))
      r:close()
      assert.equal("roc.Registration (closed)", tostring(r))
      assert.is_false(is_registered(a))
      assert.is_false(is_registered(b))
      r:close()
    end)

    it("lasts until the scope of its handle ends, by an error too", function()
      do
        local r <close> = roc.register(a)
        assert.equal("roc.Registration: 1 array", tostring(r))
      end
      assert.is_false(is_registered(a))
      refuses("mine", function()
        local _ <close> = roc.register(a)
        error "mine"
      end)
      assert.is_false(is_registered(a))
    end)

    it("lasts until deregister, after which its handle does nothing", function()
      local r = roc.register(a)
      roc.deregister(a)
      assert.equal("roc.Registration (closed)", tostring(r))
      local again = roc.register(a)
      r:close()
      assert.equal("roc.Registration: 1 array", tostring(again))
      assert.is_true(is_registered(a))
    end)

    it("survives the handle", function()
      roc.register(a)
      collectgarbage()
      collectgarbage()
      assert.is_true(is_registered(a))
    end)

    it("nests", function()
      local r1, r2 = roc.register(a), roc.register(a)
      r1:close()
      assert.equal("roc.Registration: 1 array", tostring(r2))
      r2:close()
      assert.is_false(is_registered(a))
      local twice = roc.register(a, a)
      roc.deregister(a)
      assert.is_true(is_registered(a))
      assert.is_false(is_registered(a))
      assert.equal("roc.Registration (closed)", tostring(twice))
    end)

    it("is one for all views of an array", function()
      local m = roc.zeros { 4, 4 }
      local r = roc.register(m[2])
      assert.is_true(is_registered(m:slice(1, 3, 4)))
      assert.equal("roc.Registration (closed)", tostring(r))
    end)

    it("of nothing is fine, and of empty arrays too", function()
      roc.register():close()
      local empty = roc.empty(0)
      local r = roc.register(empty)
      assert.is_true(is_registered(empty))
      r:close()
    end)

    it("is all or nothing when an argument is bad", function()
      local d = roc.device_array(3)
      for _, bad in ipairs { { 1, 2 }, d, "x", 5 } do
        refuses("bad argument #2 to 'register' (roc.Array expected", function()
          roc.register(a, bad)
        end)
        assert.is_false(is_registered(a))
      end
      refuses("bad argument #2 to 'pinned'", function() roc.pinned(a, nil) end)
      assert.is_false(is_registered(a))
    end)

    it("that is not there cannot be undone, and then nothing is", function()
      refuses("bad argument #1 to 'deregister' (the array is not registered)", function()
        roc.deregister(a)
      end)
      roc.register(a)
      refuses("bad argument #2 to 'deregister' (the array is not registered)", function()
        roc.deregister(a, b)
      end)
      refuses("bad argument #2 to 'deregister' (the array is not registered)", function()
        roc.deregister(a, a)
      end)
      refuses("roc.Array expected", roc.deregister, a, 5)
      assert.is_true(is_registered(a))
    end)

    it("is what roc.pinned makes", function()
      do
        local _ <close> = roc.pinned(a, b)
      end
      assert.is_false(is_registered(a))
      roc.pinned(a)
      assert.is_true(is_registered(a))
    end)

    it("changes nothing for the array", function()
      local r <close> = roc.register(a)
      a[2] = 20
      local d = roc.to_device(a)
      d:copy_to_host(a)
      assert.same({ 1.0, 20.0, 3.0 }, a:totable())
      assert.equal("roc.Registration: 1 array", tostring(r))
    end)
  end)
end

describe("a driver that has to be told of registered memory", function()
  local device
  devices.use("null")
  setup(function() device = roc.current_device() end)
  before_each(function()
    collectgarbage()
    collectgarbage()
    testing.null_clear()
  end)
  after_each(function()
    testing.null_clear()
    if device.state == "lost" then device:reset() end
  end)

  local function calls()
    return { testing.null_calls("host_register"), testing.null_calls("host_unregister") }
  end

  it("is told once, however deep registrations nest", function()
    local a = roc.zeros(100)
    local r1, r2 = roc.register(a), roc.register(a)
    assert.same({ 1, 0 }, calls())
    r2:close()
    assert.same({ 1, 0 }, calls())
    r1:close()
    assert.same({ 1, 1 }, calls())
  end)

  it("is told when a registered array is collected, handle or not", function()
    local a = roc.zeros(100)
    local r = roc.register(a)
    a = nil
    collectgarbage()
    collectgarbage()
    assert.same({ 1, 1 }, calls())
    assert.equal("roc.Registration (closed)", tostring(r))
    r:close()
    assert.same({ 1, 1 }, calls())
    assert.is_nil(a)
  end)

  it("is not told while a view keeps the array's memory", function()
    local view = roc.zeros { 10, 10 }
    roc.register(view)
    view = view[3]
    collectgarbage()
    collectgarbage()
    assert.same({ 1, 0 }, calls())
    view = nil
    collectgarbage()
    collectgarbage()
    assert.same({ 1, 1 }, calls())
    assert.is_nil(view)
  end)

  it("leaves nothing registered when it refuses one of several arrays", function()
    local a, b, c = roc.zeros(1), roc.zeros(2), roc.zeros(3)
    local live = testing.live_blocks()
    testing.null_fail("host_register", 3, "unsupported")
    refuses("planted failure of 'host_register'", roc.register, a, b, c)
    assert.same({ 3, 2 }, calls())
    collectgarbage()
    assert.equal(live, testing.live_blocks())
    refuses("not registered", roc.deregister, a)
    roc.register(a, b, c):close()
    assert.same({ 6, 5 }, calls())
  end)

  it("is asked again after a collection when memory is short", function()
    testing.null_fail("host_register", 1, "oom")
    local a = roc.zeros(10)
    roc.register(a)
    assert.same({ 2, 0 }, calls())
    roc.deregister(a)
  end)

  it("is told at the first use when the memory was registered on another device", function()
    local a = roc.ones(8)
    local r <close> = roc.register(a)
    local k = roc.kernel(function(x) x[1] = 2.0 end)
    roc.select_device("cpu")
    local on_cpu = roc.register(a)
    assert.same({ 1, 0 }, calls())
    on_cpu:close()
    r:close()
    assert.same({ 1, 1 }, calls())
    on_cpu = roc.register(a)
    roc.select_device("null")
    k:launch({ grid = 1, workgroup = 1 }, a)
    assert.same({ 2, 1 }, calls())
    k:launch({ grid = 1, workgroup = 1 }, a)
    assert.same({ 2, 1 }, calls())
    on_cpu:close()
    assert.same({ 2, 2 }, calls())
  end)

  it("keeps memory that held-back work uses, whatever is collected", function()
    local a = roc.ones(8)
    local k = roc.kernel(function(x) x[1] = 2.0 end)
    roc.register(a)
    testing.null_hold(true)
    k:launch({ grid = 1, workgroup = 1 }, a)
    a = nil
    collectgarbage()
    collectgarbage()
    assert.same({ 1, 0 }, calls())
    testing.null_hold(false)
    device:synchronize()
    assert.same({ 1, 1 }, calls())
    assert.is_nil(a)
  end)

  it("is told only after the work that uses the memory, and an interrupted close can be repeated",
    function()
    local a = roc.ones(8)
    local k = roc.kernel(function(x) x[1] = 2.0 end)
    local r = roc.register(a)
    testing.null_hold(true)
    k:launch({ grid = 1, workgroup = 1 }, a)
    testing.interrupt()
    refuses("interrupted!", r.close, r)
    assert.same({ 1, 0 }, calls())
    testing.interrupt()
    refuses("interrupted!", roc.deregister, a)
    testing.interrupt()
    refuses("interrupted!", function() return a[1] end)
    testing.null_hold(false)
    r:close()
    assert.same({ 1, 1 }, calls())
  end)

  it("does not keep a registration from ending when it is lost", function()
    local a = roc.ones(8)
    local r = roc.register(a)
    testing.null_lose()
    r:close()
    assert.same({ 1, 1 }, calls())
    refuses("lost", roc.register, a)
  end)
end)
