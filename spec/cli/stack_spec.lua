-- The stack of the process is not what our threads live on: `ulimit -s` may be small or unlimited.
local devices = require "support.devices"
local shell = require "support.shell"

-- Compiles without a cache; runs kernels with barriers, prints, faults, private memory and many
-- levels of nesting; copies through staging, scatters, calls back.
local SCRIPT = [==[
local roc = require "roc"
local env = { roc = roc, print = print }
local function kernel(text)
  return roc.kernel(text, { env = env })
end
local x = roc.to_device(roc.zeros(4096, "int64"))
-- Private memory beyond the small stack; with one stream alone a launch runs on the caller's.
local count = roc.current_device().kind == "cpu" and 180 or 40
local many, sum = {}, {}
for i = 1, count do
  many[i] = ("local a%d = roc.private.array(250, 'int64') a%d[n] = n a%d[n + 1] = x[n]"):format(i, i,
    i)
  sum[i] = ("s = s + a%d[m]"):format(i)
end
local arrays = kernel(("function(x, n, m) local s = 0 %s %s x[roc.get_global_id(1)] = s end"):format(
  table.concat(many, " "), table.concat(sum, " ")))
arrays:forall(1)(x, 5, 5)
assert(x[1] == 5 * count)
local s = roc.stream()
local fill = kernel("function(x) local i = roc.get_global_id(1) x[i] = i // 3 + i % 7 end")
fill:forall(4096, { stream = s })(x)
local swap = kernel([[function(x)
  local t = roc.shared.array(64, "int64")
  local l, g = roc.get_local_id(1), roc.get_global_id(1)
  t[l] = x[g]
  roc.barrier()
  x[g] = t[65 - l]
end]])
swap[{ 64, 64, s }](x)
s:synchronize()
arrays:forall(1)(x, 5, 5)
local deep = kernel(("function(x) x[2] = %sx[1]%s end"):format(("("):rep(40), (")"):rep(40)))
deep:forall(1)(x)
local row = kernel("function(x, y) y[1] = " .. ("x[2] + "):rep(900) .. "0 end")
local y = roc.to_device(roc.zeros(1, "int64"))
row:forall(1)(x, y)
assert(y[1] == 900 * x[2])
local blocks = kernel("function(y) " .. ("if y[1] > 0 then "):rep(120) .. "y[1] = -1"
  .. (" end"):rep(120) .. " end")
blocks:forall(1)(y)
assert(y[1] == -1)
kernel("function(x) print('value', x[64]) end"):forall(1)(x)
roc.current_device():synchronize()
local ok, err = pcall(function()
  kernel("function(x) x[roc.get_global_id(1) + 4095] = 1 end"):forall(2)(x)
  roc.current_device():synchronize()
end)
assert(not ok and err.code == "fault", tostring(err))
local h, big = roc.range(1, 700000), roc.to_device(roc.zeros(700000, "int64"))
big:copy_from_host(h, s)
big:slice(1, 1, 699999, 2):fill(7, s)
local called
s:callback(function() called = true end)
s:synchronize()
assert(called and big[1] == 7 and big[700000] == 700000)
assert(roc.reduce(math.max)(big) == 700000)
print(x[2] == x[1], x[64])
-- Ctrl-C is for the main thread. ROCR has a thread that takes signals, from ROCm 6 on.
local takers, most = 0, os.getenv("ROCLUA_HSA_LIBRARY") and 1 or 0
for task in io.popen("grep -H SigBlk /proc/" .. io.open("/proc/self/stat"):read("n")
  .. "/task/*/status"):lines() do
  local pid, tid, mask = task:match("/proc/(%d+)/task/(%d+)/status:SigBlk:%s*(%x+)")
  if pid ~= tid and tonumber(mask:sub(-1), 16) & 2 == 0 then takers = takers + 1 end
  assert(takers <= most, task)
end
]==]

local path
local function run(limit, environment)
  return shell.run(("ulimit -s %s && %s ROCLUA_CACHE=off timeout 100 ROCLUA %s"):format(limit,
    environment, path))
end

describe("with a small or an unlimited stack", function()
  if not shell.interpreter then return pending("not run by roclua") end

  setup(function()
    path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(SCRIPT)
  end)
  teardown(function() os.remove(path) end)

  local settings = { cpu = "ROCLUA_DEVICE=cpu", sim = "ROCLUA_DEVICE=sim" }
  if not devices.missing then
    settings.gfx90a = "ROCLUA_EMULATE=gfx90a"
    settings.gfx1030 = "ROCLUA_EMULATE=gfx1030"
    settings["gfx90a with checks"] = "ROCLUA_EMULATE=gfx90a ROCLUA_EMULATE_CHECK=1"
    settings["gfx90a with counts"] = "ROCLUA_EMULATE=gfx90a ROCLUA_EMULATE_STATS=/dev/null"
  end
  for name, environment in pairs(settings) do
    it("runs all on " .. name, function()
      for _, limit in ipairs { 64, 96, 8192, "unlimited" } do
        local output, status = run(limit, environment)
        assert.equal("value\t1\ntrue\t1\n", output)
        assert.equal(0, status)
      end
    end)
  end
end)
