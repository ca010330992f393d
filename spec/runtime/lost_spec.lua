-- A device that is lost: one error for every operation, waits that return at once, and what
-- stays usable.
local roc = require "roc"
local devices = require "support.devices"
local programs = require "support.programs"
local core = require "roc.core"
local testing = core.testing

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err), type(err) == "table" and err.code or nil
end

describe("a lost device", function()
  devices.use("null")
  local device, fill
  setup(function()
    device = roc.current_device()
    local options = { name = "fill", env = { roc = roc } }
    fill = roc.kernel("function(y) y[roc.get_global_id(1)] = 1 end", options)
  end)
  before_each(function()
    collectgarbage()
    testing.null_clear()
  end)
  after_each(function()
    testing.null_clear()
    if device.state == "lost" then device:reset() end
  end)

  it("says so in its state, and raises one error from every operation", function()
    local s, t, e = roc.stream(), roc.stream(), roc.event()
    local x, y, h = roc.device_array(10), roc.device_array(10), roc.zeros(10)
    e:record(s)
    testing.null_hold(true)
    fill[{ 1, 10, s }](x)
    local line = debug.getinfo(1, "l").currentline - 1
    t:wait(roc.event():record(s))
    assert.equal("ok", device.state)
    testing.null_lose()
    assert.equal("lost", device.state)
    local first = message(s.synchronize, s)
    local cause = "device 'null' is lost by kernel 'fill' launched at .*lost_spec.lua:" .. line
    assert.is_truthy(first:find(cause), first)
    for name, use in pairs {
      synchronize = function() t:synchronize() end,
      query = function() s:query() end,
      wait = function() t:wait(e) end,
      record = function() roc.event():record(t) end,
      record_default = function() roc.event():record() end,
      event_query = function() e:query() end,
      event_synchronize = function() e:synchronize() end,
      elapsed = function() roc.elapsed(e, e) end,
      scope = function() local scope <close> = s:auto_synchronize() end,
      stream = function() roc.stream() end,
      array = function() roc.device_array(5) end,
      like = function() roc.device_array_like(x) end,
      to_device = function() roc.to_device(h) end,
      to_device_on = function() roc.to_device(h, { stream = s }) end,
      from_host = function() x:copy_from_host(h, t) end,
      to_host = function() x:copy_to_host(h, t) end,
      to_array = function() x:copy_to_device(y, t) end,
      fill = function() x:fill(1, t) end,
      fill_now = function() x:fill(1) end,
      read = function() return x[1] end,
      write = function() x[1] = 2 end,
      text = function() return tostring(x) end,
      launch = function() fill:forall(10)(x) end,
      launch_on = function() fill[{ 1, 10, t }](x) end,
      launch_host = function() fill:forall(10)(h) end,
      device = function() device:synchronize() end,
    } do
      local text, code = message(use)
      assert.equal("lost", code, name)
      assert.equal(first, text, name)
    end
  end)

  it("does not keep a wait from returning, nor a scope that an error leaves", function()
    local s, x = roc.stream(), roc.device_array(10)
    testing.null_hold(true)
    fill[{ 1, 10, s }](x)
    testing.null_fail("wait", 1, "lost") -- the device goes while it is waited for
    assert.is_truthy(message(s.synchronize, s):find("is lost by kernel 'fill'", 1, true))
    assert.equal("mine", (message(function()
      local scope <close> = s:auto_synchronize()
      error("mine", 0)
    end)))
  end)

  it("lets go of everything: arrays, streams, events and kernels can be closed", function()
    do
      local s <close> = roc.stream()
      local x <close> = roc.device_array(1000)
      local e <close> = roc.event()
      testing.null_hold(true)
      fill[{ 10, 100, s }](x)
      e:record(s)
      testing.null_lose()
      message(s.synchronize, s)
    end
    collectgarbage()
    testing.trim(device)
    assert.equal(0, testing.null_live_bytes())
  end)

  it("leaves other devices and host arrays usable", function()
    local s, x, h = roc.stream(), roc.device_array(4), roc.zeros(4)
    testing.null_hold(true)
    x:copy_to_host(h, s)
    testing.null_lose()
    message(device.synchronize, device)
    -- What it was to receive will not come, which is told once.
    local _, code = message(function() return h[1] end)
    assert.equal("lost", code)
    h:fill(3)
    local on_cpu = roc.to_device(h, { device = "cpu" })
    assert.same({ 3.0, 3.0 }, on_cpu:slice(1, 1, 2):copy_to_host():totable())
    local cpu = roc.stream("cpu")
    local y = roc.to_device(h, { stream = cpu })
    fill:forall(4, { stream = cpu })(y)
    assert.equal(1.0, y[4])
  end)

  it("still calls back for the place that will never be reached", function()
    local s, x, count = roc.stream(), roc.device_array(4), 0
    testing.null_hold(true)
    fill[{ 1, 4, s }](x)
    s:callback(function() count = count + 1 end)
    testing.null_lose()
    message(s.synchronize, s)
    assert.equal(0, count)
    device:reset()
    s:synchronize()
    assert.equal(1, count)
  end)

  it("comes back by a reset, with its arrays, streams and events", function()
    local s, x, e = roc.stream(), roc.device_array(10), roc.event()
    local life = core.device_life()
    testing.null_fail("launch", 1, "lost")
    local _, code = message(fill[{ 1, 10, s }], x)
    assert.equal("lost", code)
    assert.equal(life, core.device_life())
    device:reset()
    assert.equal("ok", device.state)
    assert.not_equal(life, core.device_life())
    fill[{ 1, 10, s }](x)
    x:fill(4, s)
    e:record(s):synchronize()
    assert.equal(4.0, x[10])
    assert.is_true(s:query())
  end)

  it("is told of once at the end of the program", function()
    local lose = [[
      local roc = require "roc"
      roc.select_device("null")
      local x = roc.device_array(10)
      require("roc.core").testing.null_lose()
    ]]
    local roclua = programs.find("roclua-spec")
    if not roclua then return pending("roclua-spec is not built") end
    local function run(code)
      return programs.run(("timeout 20 %s -e '%s'"):format(roclua, code:gsub("'", '"')))
    end
    local ok, output = run(lose)
    assert.is_false(ok)
    assert.is_truthy(output:find("device 'null' is lost", 1, true), output)
    ok, output = run(lose .. "assert(not pcall(x.fill, x, 1))")
    assert.is_true(ok, output)
    assert.equal("", output)
  end)
end)
