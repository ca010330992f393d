-- Launches that are still running, that fail, and that print: what the host sees of them, and when.
local roc = require "roc"
local devices = require "support.devices"
local programs = require "support.programs"
local testing = require("roc.core").testing

-- The kernels' own names, whatever a test makes of the global print.
local env = { roc = roc, print = print }
local function kernel(text)
  return roc.kernel(text, { env = env })
end

local fill = kernel [[function(y, v)
  local i = roc.get_global_id(1)
  if i <= #y then y[i] = v end
end]]

local beyond = kernel [[function(y)
  y[roc.get_global_id(1) + 1] = 1
end]]

local shift = kernel [[function(y, k)
  y[roc.get_global_id(1) + k] = 1
end]]

local slow = kernel [[function(y, n)
  local i = roc.get_global_id(1)
  local s = 0
  for j = 1, n do s = (s * 31 + j) % 1000003 end
  y[i] = s
end]]

local shout = kernel [[function(n)
  for i = 1, n do print("line", i, 0.5, i == 2) end
end]]

local function fault(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal("fault", err.code)
  return tostring(err)
end

describe("on the cpu device", function()
  local device
  devices.use("cpu")
  setup(function() device = roc.current_device() end)

  describe("a failed launch", function()
    it("is reported once, by the first access to an array it uses", function()
      local y, z = roc.to_device(roc.zeros(100)), roc.to_device(roc.zeros(100))
      beyond:forall(100)(y)
      fill:forall(100)(z, 3)
      assert.equal(3.0, z[100])
      local text = fault(function() return y[1] end)
      assert.is_truthy(text:find("index 101 out of range 1..100 of 'y' (work-item {100})", 1, true))
      assert.is_truthy(text:find("(launched at ", 1, true))
      assert.is_truthy(text:find("async_spec.lua:", 1, true))
      assert.equal(1.0, y[2])
      device:synchronize()
    end)

    it("is reported once, by the device", function()
      local y = roc.to_device(roc.zeros(100))
      beyond:forall(100)(y)
      fault(device.synchronize, device)
      device:synchronize()
      assert.equal(0.0, y[1])
      assert.equal(1.0, y[100])
    end)

    it("is reported though its array is gone", function()
      local y = roc.to_device(roc.zeros(100))
      beyond:forall(100)(y)
      y:close()
      collectgarbage()
      fault(device.synchronize, device)
      device:synchronize()
    end)

    it("does not keep what is queued behind it from running", function()
      local y = roc.to_device(roc.zeros(100))
      beyond:forall(100)(y)
      fill:forall(100)(y, 9)
      fault(function() return y[1] end)
      assert.equal(9.0, y[1])
    end)

    it("copies nothing back to host arrays", function()
      local h = roc.zeros(10)
      fault(function() beyond:forall(10)(h) end)
      for i = 1, 10 do assert.equal(0.0, h[i]) end
    end)

    it("each is reported, oldest first", function()
      local y, z = roc.to_device(roc.zeros(4)), roc.to_device(roc.zeros(5))
      beyond:forall(4)(y)
      beyond:forall(5)(z)
      assert.is_truthy(fault(device.synchronize, device):find("1..4", 1, true))
      assert.is_truthy(fault(device.synchronize, device):find("1..5", 1, true))
      device:synchronize()
    end)

    it("is reported by a later launch that waits, which goes well, and no other with it", function()
      local y, z, h = roc.to_device(roc.zeros(4)), roc.to_device(roc.zeros(5)), roc.zeros(10)
      beyond:forall(4)(y)
      beyond:forall(5)(z)
      assert.is_truthy(fault(shift:forall(10), h, 0):find("1..4", 1, true))
      assert.equal(1.0, h[10])
      assert.is_truthy(fault(device.synchronize, device):find("1..5", 1, true))
      device:synchronize()
    end)

    it("on a stream that is gone is no later launch's on the default stream", function()
      -- In a process of its own, where both streams count their work from the same number.
      local ok, output = programs.run("env " .. programs.lua([[
        local roc = require "roc"
        local env = { roc = roc }
        local shift = roc.kernel("function(y, k) y[roc.get_global_id(1) + k] = 1 end", { env = env })
        local device, y = roc.current_device(), roc.to_device(roc.zeros(100))
        for count = 20, 24 do
          local s <close> = roc.stream()
          for _ = 1, count do y:fill(0, s) end
          shift:forall(100, { stream = s })(y, 1)
        end
        for _ = 20, 24 do assert(not pcall(device.synchronize, device)) end
        device:synchronize()
        for _ = 1, 50 do
          local h = roc.zeros(10)
          shift:forall(10)(h, 0)
          assert(h[10] == 1)
        end
      ]], "ROCLUA_DEVICE=cpu"))
      assert.is_true(ok, output)
    end)
  end)

  describe("an array in use", function()
    it("is waited for by the access that conflicts with the use", function()
      local y = roc.to_device(roc.zeros(4096, "int64"))
      slow:forall(4096)(y, 3000)
      local last = y[4096]
      assert.is_true(last > 0)
      for i = 1, 4096, 512 do assert.equal(last, y[i]) end
    end)

    it("may be dropped at once", function()
      collectgarbage()
      device:synchronize()
      local used = roc.memory_info(device).used
      for i = 1, 50 do
        local y = roc.to_device(roc.zeros(256, "int64"))
        slow:forall(256)(y, 500)
        if i % 3 == 0 then y:close() end
        if i % 7 == 0 then collectgarbage() end
      end
      collectgarbage()
      device:synchronize()
      assert.equal(used, roc.memory_info(device).used)
    end)

    it("keeps the order of writes from host and device", function()
      local y = roc.to_device(roc.zeros(300))
      for n = 1, 30 do
        fill:forall(300)(y, n)
        y[n] = -n
        assert.equal(n + 0.0, y[300])
        assert.equal(-n + 0.0, y[n])
      end
    end)

    it("is waited for again when what is called back then queues more work on it", function()
      local a = roc.pinned_array(4096, "int64")
      local s <close> = roc.stream()
      slow:forall(4096, { stream = s })(a, 1)
      s:callback(function() slow:forall(4096, { stream = s })(a, 30000) end)
      local seen = a[4096]
      s:synchronize()
      assert.equal(a[4096], seen)
    end)

    it("may lose its kernel and device values", function()
      local y = roc.to_device(roc.zeros(64))
      do
        local k = kernel("function(y) y[roc.get_global_id(1)] = 5 end")
        k:forall(64)(y)
      end
      collectgarbage()
      collectgarbage()
      assert.equal(5.0, y[64])
    end)
  end)

  describe("print in a kernel", function()
    local lines, original
    before_each(function()
      lines, original = {}, print
      _G.print = function(line) lines[#lines + 1] = line end
    end)
    after_each(function() _G.print = original end)

    it("reaches the global print at the next wait, in order", function()
      shout:forall(1)(3)
      device:synchronize()
      assert.same({ "line\t1\t0.5\tfalse", "line\t2\t0.5\ttrue", "line\t3\t0.5\tfalse" }, lines)
      device:synchronize()
      assert.equal(3, #lines)
    end)

    it("is delivered before the error of a fault", function()
      local k = kernel [[function(y)
        print("before")
        y[0] = 1
      end]]
      local y = roc.to_device(roc.zeros(1))
      k:forall(1)(y)
      fault(device.synchronize, device)
      assert.same({ "before" }, lines)
    end)

    it("may raise from the script's print, and the rest comes with the next wait", function()
      _G.print = function(line)
        lines[#lines + 1] = line
        if #lines == 1 then error("no more", 0) end
      end
      shout:forall(1)(3)
      local ok, err = pcall(device.synchronize, device)
      assert.is_false(ok)
      assert.equal("no more", err)
      device:synchronize()
      assert.equal(3, #lines)
    end)

    it("says how many lines are lost beyond 1 MiB a launch", function()
      shout:forall(1)(100000)
      device:synchronize()
      local kept = (1 << 20) // (8 + 3 * 8)
      assert.is_true(#lines >= kept and #lines < 100000, #lines .. " lines")
      assert.is_truthy(lines[#lines]:find(("%d more lines"):format(100000 - #lines + 1), 1, true),
        lines[#lines])
    end)
  end)

  it("an interrupted wait raises 'interrupted!', and the kernel stops at its next workgroup",
    function()
    local y = roc.to_device(roc.zeros(1 << 20, "int64"))
    slow[{ 1 << 14, 64 }](y, 100000)
    testing.interrupt()
    local ok, err = pcall(device.synchronize, device)
    assert.is_false(ok)
    assert.equal("interrupted!", tostring(err))
    local before = os.time()
    device:synchronize()
    assert.is_true(os.time() - before < 5)
    fill:forall(10)(y, 7)
    assert.equal(7, y[10])
  end)
end)

devices.each(function(device)
  if device.kind == "sim" then return end
  it("an element that is read tells what failed with it, and nothing else", function()
    local y, z = roc.to_device(roc.zeros(100)), roc.to_device(roc.zeros(100))
    for round = 1, 3 do
      beyond:forall(100)(z)
      fill:forall(100)(y, round) -- the last work of the stream has written y
      assert.equal(round, y[50])
      assert.is_truthy(fault(function() return z[1] end):find("1..100", 1, true))
      assert.equal(1.0, z[2])
      fill:forall(100)(z, 2)
      beyond:forall(100)(y)
      fault(function() return y[1] end)
      assert.equal(1.0, y[2])
      assert.equal(2.0, z[2])
      roc.current_device():synchronize()
    end
  end)

  it("an element is read before other work that its stream has after it", function()
    local s <close> = roc.stream()
    local y, z = roc.to_device(roc.zeros(100)), roc.to_device(roc.zeros(100))
    for round = 1, 3 do
      fill[{ 1, 128, s }](y, round)
      fill[{ 1, 128, s }](z, round + 1)
      assert.equal(round, y[100])
      assert.equal(round + 1, z[1])
      y:fill(9, s)
      assert.equal(9, y[1])
    end
  end)
end)
