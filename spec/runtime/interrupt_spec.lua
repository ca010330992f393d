-- Kernels that never end: an interrupted wait ends them, wherever they spin, and the device stays
-- usable.  What Ctrl-C does is seen from outside.
local roc = require "roc"
local core = require "roc.core"
local devices = require "support.devices"
local shell = require "support.shell"

local testing = core.testing

-- Bodies of kernel(m, n): n is 2^50, the elements of m are 0.
local SPINS = {
  ["without a body"] = "while true do end",
  ["on an atomic load"] = "while roc.atomic.load(m, 1) == 0 do end",
  ["until memory changes"] = "while n > 0 and roc.atomic.load(m, 1) == 0 do end",
  ["until memory that nothing changes does"] = "repeat local x = m[2] until x == 7",
  ["over memory"] = "for k = 1, n do m[i] = m[i] * 31 ~ k end",
  ["in a sum"] = "local s = 0 for k = 1, n do s = s * 31 ~ m[k % 20 + 1] end m[i] = s",
  ["with a condition that a counter meets"] =
    "local k, s = 1, 0 while k <= n do s = s * 31 ~ m[k & 7 | 1] k = k + 1 end m[i] = s",
  ["in nested loops"] = "for j = 1, n do for k = 1, n do m[i] = m[i] * 31 ~ k end end",
  ["around short loops"] = "for _ = 1, n do for k = 1, 30 do m[i] = m[i] + k end end",
  ["around loops that are left early"] =
    "for j = 1, n do for k = 1, n do if k > j % 9 then break end m[i] = 1 end end",
  ["around loops that grow"] =
    "for j = 1, n do local k = 0 while k < j do k = k + 1 end m[i] = k end",
  ["by the strides of the grid"] =
    "for j = i, n, roc.get_global_size(1) do m[j % 20 + 1] = j end",
  ["in a function"] = "spin(m, i, n)",
  ["at barriers"] = "for _ = 1, n do roc.barrier() end",
  ["between barriers"] = "while true do for k = 1, n do m[i] = k end roc.barrier() end",
  ["in wave operations"] = "while true do m[i] = roc.wave.sum(i) end",
}

local function spin(m, i, n)
  while m[1] <= n do m[i] = m[i] ~ 1 end
end

describe("a kernel on cpu that spins", function()
  devices.use "cpu"

  for title, body in pairs(SPINS) do
    it(title .. " is ended by an interrupt", function()
      local device = roc.current_device()
      for _, check in ipairs { true, false } do
        local text = "function(m, n) local i = roc.get_global_id(1) " .. body .. " end"
        local kernel = roc.kernel(text, { env = { roc = roc, spin = spin }, check = check })
        for _, items in ipairs { 1, 20 } do
          local m = roc.to_device(roc.zeros(20, "int64"))
          kernel:launch({ grid = items, workgroup = items }, m, 1 << 50)
          testing.interrupt()
          local ok, err = pcall(device.synchronize, device)
          assert.is_false(ok)
          assert.equal("interrupted!", tostring(err))
          device:synchronize()
          m:fill(5)
          assert.equal(5, m[20])
        end
      end
    end)
  end

  it("in one of many workgroups is ended with all others", function()
    local device, m = roc.current_device(), roc.to_device(roc.zeros(1 << 12, "int64"))
    local kernel = roc.kernel([[function(m)
      local i = roc.get_global_id(1)
      while i > 70 and m[i] == 0 do end
      m[i] = 1
    end]], { env = { roc = roc } })
    kernel:forall(1 << 12)(m)
    kernel:forall(1 << 12)(m)
    testing.interrupt()
    assert.is_false((pcall(device.synchronize, device)))
    device:synchronize()
    kernel:forall(64)(m)
    assert.equal(1, m[64])
    assert.equal(0, m[1 << 12])
  end)
end)

describe("a launch on cpu", function()
  devices.use "cpu"

  -- What decides over the length of the second launch is unlike what it was at the short ones.
  local function returns_at_once(text, set)
    local device, z = roc.current_device(), roc.to_device(roc.zeros(64, "int64"))
    local kernel = roc.kernel(text, { env = { roc = roc } })
    for _ = 1, 3 do
      kernel:forall(64)(z, 10)
      device:synchronize()
    end
    if set then z:fill(set) end
    kernel:forall(64)(z, set and 10 or 1 << 50)
    testing.interrupt()
    local ok, err = pcall(device.synchronize, device)
    assert.is_false(ok)
    assert.equal("interrupted!", tostring(err))
    device:synchronize()
  end

  it("that was short returns when an argument makes it long", function()
    returns_at_once [[function(z, n)
      local i = roc.get_global_id(1)
      for k = 1, n do z[i] = z[i] * 31 ~ k end
    end]]
  end)

  it("that was short returns when memory makes it long", function()
    returns_at_once([[function(z, n)
      local i = roc.get_global_id(1)
      local k = 0
      while k < z[i] + n do k = (k + 1) & 0xffffff end
    end]], 1 << 40)
  end)
end)

describe("Ctrl-C", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  local SCRIPT = [[
local roc = require "roc"
local m = roc.to_device(roc.zeros(20, "int64"))
local k = roc.kernel("function(m, n) local i = roc.get_global_id(1) %s end",
  { env = { roc = roc }, check = %s })
local function press() os.execute("(sleep 0.7; kill -INT " .. arg[1] .. ") &") end
local device = roc.current_device()
k:launch({ grid = 2, workgroup = 2 }, m, 0)
device:synchronize()
print(pcall(function()
  if device.kind == "sim" then press() end -- its launch does not return before the kernel ends
  k:launch({ grid = 2, workgroup = 2 }, m, 1 << 50)
  if device.kind ~= "sim" then press() end
  device:synchronize()
end))
roc.current_device():synchronize()
m:fill(7)
print(m[3])
]]

  local function test(options, body, check)
    local file = os.tmpname()
    local out <close> = assert(io.open(file, "w"))
    out:write(SCRIPT:format(body, check))
    out:close()
    local output, status =
      shell.run(("timeout -k 1 60 sh -c 'exec ROCLUA %s %s $$' 2>&1"):format(options, file))
    os.remove(file)
    assert.matches("^false\t.*interrupted!\n7\n$", output)
    assert.equal(0, status)
  end

  local targets = { "--device cpu", "--device sim" }
  if not devices.missing then targets[#targets + 1] = "--emulate gfx90a" end
  for _, target in ipairs(targets) do
    for _, title in ipairs { "until memory changes", "over memory", "at barriers" } do
      it("ends a kernel with " .. target .. " that spins " .. title, function()
        test(target, SPINS[title], "true")
        test(target, SPINS[title], "false")
      end)
    end
  end

  it("ends an untouched function on sim", function()
    test("--device sim", SPINS["over memory"], "true")
    local was = SCRIPT
    SCRIPT = "require('roc.sim').is_raw = true\n" .. was
    test("--device sim", SPINS["over memory"], "true")
    SCRIPT = was
  end)
end)
