-- Kernels that a GPU stops: each stop is told of, however much it is like an earlier one.  The GPU
-- is the software one, in processes of their own.
local devices = require "support.devices"
local shell = require "support.shell"

-- `stop` touches private memory that it does not have.
local HEAD = [[
local roc = require "roc"
local env = { roc = roc }
local stop = roc.kernel([=[function(y, n)
  local t = roc.private.array(64, "float64")
  for j = 1, 64 do t[j] = y[j] end
  t[n] = 3
  y[1] = t[n - 1]
end]=], { name = "stop", check = false, env = env })
local add = roc.kernel("function(y, n) y[1] = y[1] + n end", { name = "add", env = env })
local spin = roc.kernel("function(y, n) for k = 1, n do roc.atomic.add(y, 2, 1) end end",
  { name = "spin", env = env })
local FAR = 1 << 20
local device = roc.current_device()
local function array()
  return roc.to_device(roc.zeros(64))
end
local function fails(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok and err.code == "fault", tostring(err))
  assert(tostring(err):find("kernel 'stop' launched at ", 1, true), tostring(err))
  assert(tostring(err):find("was stopped by the device", 1, true), tostring(err))
end
local function settle(stream)
  while not stream:query() do end
end
]]

local function run(gpu, script, environment)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(HEAD, script)
  file:close()
  local output, status = shell.run(("ROCLUA_EMULATE=%s %s timeout 100 ROCLUA %s"):format(gpu,
    environment or "", path))
  os.remove(path)
  return output, status
end

for _, gpu in ipairs { "gfx90a", "gfx1030" } do
  describe("a queue of a " .. gpu .. " that stops", function()
    if not shell.interpreter then return pending("not run by roclua") end
    if devices.missing then return pending(devices.missing) end

    local function passes(script, environment)
      local output, status = run(gpu, script .. " print 'done'", environment)
      assert.equal("done\n", output)
      assert.equal(0, status)
    end

    it("by the same kernel, launched again from the same line, says so each time", function()
      passes [[
        local y, s = array(), roc.stream()
        local waits = {
          function() device:synchronize() end,
          function() s:synchronize() end,
          function() return y:copy_to_host() end,
          function() return y[1] end,
          function() roc.event():record(s):synchronize() end,
        }
        for round = 1, 4 * #waits do
          stop[{ 1, 1, s }](y, FAR)
          fails(waits[(round - 1) % #waits + 1])
          device:synchronize()
          assert(device.state == "ok")
        end]]
    end)

    it("fails launches on plain host arrays, each time", function()
      passes [[
        local h = roc.zeros(64)
        for _ = 1, 10 do
          fails(function() stop[{ 1, 1 }](h, FAR) end)
          add[{ 1, 1 }](h, 1)
        end
        assert(h[1] == 10)]]
    end)

    it("says so once for each time when the waits come later", function()
      passes [[
        local s = roc.stream()
        local y, z = array(), array()
        for _ = 1, 10 do
          stop[{ 1, 1, s }](y, FAR)
          settle(s)
          add[{ 1, 1, s }](z, 1)
          settle(s)
        end
        for _ = 1, 10 do fails(s.synchronize, s) end
        s:synchronize()
        assert(z[1] == 10)]]
    end)

    it("fails another stream's work, also when it stops again and again before the wait", function()
      passes([[
        local a, b = roc.stream(), roc.stream()
        local y, z, w = array(), array(), array()
        spin[{ 1, 1, b }](w, 1)
        add[{ 1, 1, a }](z, 1)
        device:synchronize()
        spin[{ 1, 1, b }](w, 20000)
        stop[{ 1, 1, b }](y, FAR)
        add[{ 1, 1, a }](z, 1)
        fails(b.synchronize, b)
        for _ = 1, 30 do
          stop[{ 1, 1, b }](y, FAR)
          fails(b.synchronize, b)
        end
        fails(function() return z[1] end)
        assert(z[1] == 1)
        add[{ 1, 1, a }](z, 1)
        a:synchronize()
        assert(z[1] == 2)]], "ROCLUA_HSA_QUEUES=1")
    end)
  end)
end
