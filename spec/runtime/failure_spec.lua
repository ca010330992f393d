-- A scenario with streams, events, copies and launches, in which the n-th call of the driver of
-- each kind fails, for every n: the error comes out once, nothing is kept, and the next run
-- succeeds.
local roc = require "roc"
local devices = require "support.devices"
local testing = require("roc.core").testing

local KINDS = {
  "alloc", "alloc_host", "stream_create", "copy", "fill", "launch", "host_call", "stream_wait",
  "wait", "module_load",
}

describe("when a driver's call fails", function()
  devices.use("null")
  local device
  setup(function() device = roc.current_device() end)
  before_each(testing.null_clear)
  after_each(function()
    testing.null_clear()
    if device.state == "lost" then device:reset() end
  end)

  -- Every kind of call is in it; what it gives is right when it ends.
  local function scenario()
    local add = roc.kernel("function(y, v) y[roc.get_global_id(1)] = v assert(v > 0) end",
      { env = { roc = roc, assert = assert } })
    local h, back, called = roc.linspace(1, 64, 64), roc.zeros(64), 0
    local s <close> = roc.stream()
    local t <close> = roc.stream()
    local x <close> = roc.to_device(h, { stream = s })
    local e <close> = roc.event():record(s)
    t:wait(e)
    local y <close> = roc.device_array_like(x)
    x:copy_to_device(y, t)
    y:slice(1, 1, 63, 2):fill(7, t)
    add:forall(64, { stream = t })(y, 1)
    add[{ 4, 16, s }](h, 2)
    do
      local scope <close> = t:auto_synchronize()
      y:copy_to_host(back, t)
      t:callback(function() called = called + 1 end)
    end
    e:synchronize()
    assert.equal(7.0, back[63])
    assert.equal(64.0, y[64])
    assert.equal(1, called)
  end

  -- Failures to run the scenario with, one for each call of the kind.
  local function walk(kind, code)
    local count = 0
    for n = 1, 100 do
      testing.null_clear()
      testing.null_fail(kind, n, code)
      local ok, err = pcall(scenario)
      testing.null_fail(kind, 0, code)
      if device.state == "lost" then device:reset() end
      -- An allocation is tried again when memory is out, and wins.
      if ok and testing.null_calls(kind) < n then break end
      if not ok then
        assert.equal(code, type(err) == "table" and err.code or err, kind .. " " .. n)
      end
      count = count + 1
      device:synchronize()
      scenario()
    end
    collectgarbage()
    collectgarbage()
    testing.trim(device)
    assert.equal(0, testing.null_live_bytes(), kind)
    return count
  end

  for _, code in ipairs { "io", "oom", "lost" } do
    it(("with '%s', nothing is lost and the next run succeeds"):format(code), function()
      collectgarbage()
      testing.trim(device)
      local failures = 0
      for _, kind in ipairs(KINDS) do failures = failures + walk(kind, code) end
      assert.is_true(failures >= 12, failures .. " failures")
    end)
  end
end)
