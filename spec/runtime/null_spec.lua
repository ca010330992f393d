-- The runtime under failures and held-back work, on the null device.
local roc = require "roc"
local devices = require "support.devices"
local testing = require("roc.core").testing

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err), type(err) == "table" and err.code or nil
end

describe("the null device", function()
  local device
  devices.use("null")
  setup(function() device = roc.current_device() end)
  before_each(function()
    collectgarbage()
    testing.trim(device)
    testing.null_clear()
  end)
  after_each(function()
    testing.null_clear()
    testing.fail_alloc(0)
    if device.state == "lost" then device:reset() end
  end)

  it("counts calls", function()
    local d = roc.to_device(roc.array { 1, 2, 3 })
    assert.equal(1, testing.null_calls("alloc"))
    assert.equal(1, testing.null_calls("copy"))
    d:fill(2)
    assert.equal(1, testing.null_calls("fill"))
    d:copy_to_host()
    assert.equal(2, testing.null_calls("copy"))
  end)

  it("is asked once for a strided fill or copy, however many elements it has", function()
    local calls = testing.null_calls
    local d = roc.to_device(roc.zeros({ 100, 200 }, "int16"))
    local view, h = d:slice(1, 2, 99, 3):slice(2, 1, 200, 7), roc.zeros({ 33, 29 }, "int16")
    testing.null_clear()
    view:fill(1)
    view:copy_from_host(h)
    view:copy_from_host(roc.zeros({ 29, 33 }, "int16"):transpose())
    assert.same({ 3, 0, 0 }, { calls("scatter"), calls("copy"), calls("fill") })
    view:copy_to_host(h)
    assert.same({ 3, 1, 1 }, { calls("scatter"), calls("copy"), calls("host_call") })
    view:copy_to_device(roc.device_array_like(d):slice(1, 2, 99, 3):slice(2, 1, 200, 7))
    assert.same({ 4, 2, 1 }, { calls("scatter"), calls("copy"), calls("host_call") })
  end)

  it("is asked run by run for long runs far apart", function()
    local calls = testing.null_calls
    local d = roc.to_device(roc.zeros({ 8, 1 << 17 }, "int16"))
    local whole = roc.device_array({ 4, 1 << 17 }, "int16")
    testing.null_clear()
    d:slice(1, 1, 8, 2):copy_to_device(whole)
    assert.same({ 0, 4 }, { calls("scatter"), calls("copy") })
  end)

  it("gives the memory of closed and collected arrays to the next ones", function()
    for _ = 1, 100 do
      roc.device_array(1000):close()
    end
    assert.equal(1, testing.null_calls("alloc"))
    for _ = 1, 1000 do
      roc.device_array(1000)
    end
    collectgarbage()
    testing.trim(device)
    assert.equal(0, testing.null_live_bytes())
    assert.equal(testing.null_calls("alloc"), testing.null_calls("free"))
  end)

  it("is paced: dropped arrays are collected before they fill the memory", function()
    for _ = 1, 400 do
      roc.device_array(1 << 17) -- 1 MiB
    end
    assert.is_true(testing.null_live_bytes() < 200 << 20)
  end)

  it("collects and tries again when an allocation fails", function()
    testing.null_fail("alloc", 1, "oom")
    assert.equal(10, roc.device_array(10).size)
    assert.equal(2, testing.null_calls("alloc"))
  end)

  it("raises 'oom' when nothing helps, and stays usable", function()
    testing.null_fail("alloc", 1, "invalid")
    local text, code = message(roc.device_array, 10)
    assert.is_truthy(text:find("planted failure of 'alloc'", 1, true))
    assert.equal("invalid", code)
    assert.equal(10, roc.device_array(10).size)
  end)

  it("raises what a copy or fill fails with and lets go of everything", function()
    local h, d = roc.array { 1, 2, 3 }, roc.device_array(3)
    local live = testing.live_blocks()
    testing.null_fail("copy", 1, "io")
    local _, code = message(d.copy_from_host, d, h)
    assert.equal("io", code)
    testing.null_fail("fill", 1, "io")
    _, code = message(d.fill, d, 1)
    assert.equal("io", code)
    assert.equal(live, testing.live_blocks())
    d:copy_from_host(h)
    assert.same({ 1.0, 2.0, 3.0 }, d:copy_to_host():totable())
  end)

  it("survives the failure of any single allocation of the core", function()
    local h = roc.range(1, 12, 1, "int32"):reshape(3, 4)
    local function work()
      local d = roc.to_device(h:transpose())
      d:slice(1, 1, 3, 2):fill(5)
      local back = d:copy_to_host():totable()
      d:close()
      return back
    end
    local expected = work()
    collectgarbage("stop") -- else a failure is answered by a collection and a second try
    local failures = 0
    for n = 1, 60 do
      collectgarbage() -- what the last run has left, and what any device keeps for later: while
      roc.trim_memory() -- there is some, a failure is answered by giving it up and trying again
      testing.fail_alloc(n)
      local ok, result = pcall(work)
      testing.fail_alloc(0)
      if ok then
        assert.same(expected, result)
      else
        failures = failures + 1
        assert.equal("oom", result.code)
      end
    end
    collectgarbage("restart")
    assert.is_true(failures >= 2, failures .. " failures")
    assert.same(expected, work())
  end)

  it("frees nothing that held-back work uses, whatever is collected", function()
    local d = roc.device_array(1000)
    testing.trim(device)
    testing.null_hold(true)
    testing.interrupt() -- so that the wait inside the fill does not take for ever
    local _, code = message(d.fill, d, 1)
    assert.equal("interrupted", code)
    d:close()
    d = nil
    collectgarbage()
    testing.trim(device)
    assert.is_true(testing.null_live_bytes() >= 8000)
    testing.null_hold(false)
    testing.trim(device)
    assert.equal(0, testing.null_live_bytes())
  end)

  it("can be waited for again after an interrupt", function()
    local d = roc.device_array(10)
    testing.null_hold(true)
    testing.interrupt()
    assert.is_truthy(message(d.fill, d, 1):find("interrupted!", 1, true))
    testing.null_hold(false)
    assert.equal(1.0, d[10])
  end)

  describe("when it is lost", function()
    it("raises one error from every operation, and says so in its state", function()
      local d = roc.device_array(10)
      local e = roc.device_array(10)
      assert.equal("ok", device.state)
      testing.null_lose()
      assert.equal("lost", device.state)
      local first = message(d.fill, d, 1):gsub("^.-device", "device")
      assert.is_truthy(first:find("device 'null' is lost", 1, true))
      for _, use in ipairs {
        function() d:copy_to_host() end, function() return d[1] end, function()
          roc.device_array(5)
        end,
        function() device:synchronize() end, function() d:copy_to_device(e) end,
      } do
        local text, code = message(use)
        assert.equal("lost", code)
        assert.equal(first, (text:gsub("^.-device", "device")))
      end
      e:close()
    end)

    it("leaves other devices and host arrays usable", function()
      testing.null_lose()
      local h = roc.array { 1, 2 }
      assert.same({ 1.0, 2.0 }, roc.to_device(h, { device = "cpu" }):copy_to_host():totable())
    end)

    it("works again after a reset", function()
      testing.null_fail("fill", 1, "lost")
      local d = roc.device_array(10)
      local _, code = message(d.fill, d, 1)
      assert.equal("lost", code)
      device:reset()
      assert.equal("ok", device.state)
      d:fill(3)
      assert.equal(3.0, d[10])
    end)
  end)
end)
