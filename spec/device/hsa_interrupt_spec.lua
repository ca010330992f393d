-- ROCR without interrupts (HSA_ENABLE_INTERRUPT=0), as some machines need it: it then tells nothing
-- of memory faults.  Waits find them by themselves.  The GPU is the software one, in processes of
-- their own.
local devices = require "support.devices"
local shell = require "support.shell"

local HEAD = [[
local roc = require "roc"
local env = { roc = roc }
local bad = roc.kernel("function(y, n) y[n] = 7 end", { name = "bad", check = false, env = env })
local add = roc.kernel("function(y, n) y[1] = y[1] + n end", { name = "add", env = env })
local FAR = 1 << 28 -- 2 GiB from the array
local device = roc.current_device()
local function array()
  return roc.to_device(roc.zeros(64))
end
local function lost(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok and err.code == "lost", tostring(err))
  assert(tostring(err):find("is lost by kernel 'bad' launched at ", 1, true), tostring(err))
  assert(tostring(err):find("illegal access to memory at 0x", 1, true), tostring(err))
  assert(device.state == "lost")
end
local y, z, s, t = array(), array(), roc.stream(), roc.stream()
]]

local function run(gpu, script, environment)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(HEAD, script)
  file:close()
  local command = "HSA_ENABLE_INTERRUPT=0 ROCLUA_EMULATE=%s %s timeout 60 ROCLUA %s"
  local output, status = shell.run(command:format(gpu, environment or "", path))
  os.remove(path)
  return output, status
end

local WAITS = {
  ["a device's"] = "lost(device.synchronize, device)",
  ["its stream's"] = "lost(s.synchronize, s)",
  ["an element's"] = "lost(function() return y[1] end)",
  ["a copy's"] = "lost(y.copy_to_host, y)",
  ["an event's"] = "local e = roc.event():record(s) lost(e.synchronize, e)",
  ["another stream's"] = [[
    t:wait(roc.event():record(s))
    add[{ 1, 1, t }](z, 1)
    lost(t.synchronize, t)]],
  ["a copy to pageable memory's"] = [[
    local h = roc.zeros(64)
    y:copy_to_host(h, s)
    lost(s.synchronize, s)]],
  ["a launch's on a full queue"] = [[
    lost(function() for _ = 1, 100000 do add[{ 1, 1, s }](z, 1) end end)]],
  ["a loop of queries'"] = [[
    lost(function() while not s:query() do end end)]],
  ["a loop of an event's queries'"] = [[
    local e = roc.event():record(s)
    lost(function() while not e:query() do end end)]],
  ["a loop's that looks at the state"] = [[
    while device.state == "ok" do end
    lost(s.synchronize, s)]],
}

for _, gpu in ipairs { "gfx90a", "gfx1030" } do
  describe("without interrupts a memory fault of a " .. gpu, function()
    if not shell.interpreter then return pending("not run by roclua") end
    if devices.missing then return pending(devices.missing) end

    for name, wait in pairs(WAITS) do
      it("ends " .. name .. " wait", function()
        local output, status = run(gpu, "bad[{ 1, 1, s }](y, FAR)\n" .. wait .. "\nprint 'done'")
        assert.equal("done\n", output)
        assert.equal(0, status)
      end)
    end

    it("ends a launch on a plain host array", function()
      local output = run(gpu, "lost(function() bad[{ 1, 1 }](roc.zeros(64), FAR) end) print 'done'")
      assert.equal("done\n", output)
    end)

    it("ends the process that has waited for nothing, with status 1", function()
      local output, status = run(gpu, "bad[{ 1, 1, s }](y, FAR)")
      assert.equal(1, status)
      assert.is_truthy(output:find("is lost by kernel 'bad' launched at ", 1, true), output)
    end)

    it("loses that GPU alone", function()
      local output = run(gpu .. "," .. gpu, [[
        local scope <close> = roc.on_device(2)
        local other = array()
        bad[{ 1, 1, s }](y, FAR)
        lost(s.synchronize, s)
        add[{ 1, 1 }](other, 5)
        print(other[1], roc.devices()[2].state)]])
      assert.equal("5.0\tok\n", output)
    end)
  end)
end

describe("without interrupts the hsa driver", function()
  if not shell.interpreter then return pending("not run by roclua") end
  if devices.missing then return pending(devices.missing) end

  it("computes, copies, calls back and times as with them", function()
    local output, status = run("gfx90a", [[
      local called = 0
      local a, b = roc.event():record(s), roc.event()
      for i = 1, 100 do add[{ 1, 1, s }](y, i) end
      s:callback(function() called = called + 1 end)
      b:record(s)
      t:wait(b)
      y:copy_to_device(z, t)
      t:synchronize()
      s:synchronize()
      print(z[1], called, roc.elapsed(a, b) > 0)]])
    assert.equal("5050.0\t1\ttrue\n", output)
    assert.equal(0, status)
  end)

  it("starts again after a queue has stopped", function()
    local output = run("gfx90a", [[
      local stop = roc.kernel("function(y, n) local t = roc.private.array(64, 'float64') "
        .. "for j = 1, 64 do t[j] = y[j] end t[n] = 3 y[1] = t[n - 1] end",
        { name = "stop", check = false, env = env })
      for i = 1, 3 do
        stop[{ 1, 1, s }](y, 1 << 20)
        local ok, err = pcall(s.synchronize, s)
        assert(not ok and err.code == "fault", tostring(err))
        add[{ 1, 1, s }](z, i)
        s:synchronize()
      end
      print(z[1], device.state)]])
    assert.equal("6.0\tok\n", output)
  end)
end)
