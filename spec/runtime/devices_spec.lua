-- Several devices of a kind in one process: cpu's, of which ROCLUA_CPU_DEVICES makes two out of the
-- cores; software AMD GPUs; and NVIDIA GPUs where there are two.  Devices of another kind may stand
-- before them in the list.
local devices = require "support.devices"
local programs = require "support.programs"

local PRELUDE = [[
local roc = require "roc"
local env = { roc = roc }
local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "an error expected")
  return tostring(err)
end
local function has(text, part) assert(text:find(part, 1, true), text) end
local kind = os.getenv("ROCLUA_DEVICE"):match("%a+")
local first, second = kind .. ":1", kind .. ":2"
local place = 1 -- of the first one in the list
while roc.devices()[place].kind ~= kind do place = place + 1 end
local one, two = roc.devices()[place], roc.devices()[place + 1]
local function kernel(text, name) return roc.kernel(text, { env = env, name = name }) end
local count = kernel "function(y, n) local i = roc.get_global_id(1) y[i] = y[i] * 2 + n end"
local spin = kernel "function(f) while roc.atomic.load(f, 1) == 0 do end end"
local set = kernel "function(f) roc.atomic.store(f, 1, 1) end"
]]

local SETTINGS = {
  cpu = "ROCLUA_DEVICE=cpu ROCLUA_CPU_DEVICES=2 ROCLUA_CPU_THREADS=5 ",
  cuda = "ROCLUA_DEVICE=cuda ",
  hsa = "ROCLUA_DEVICE=hsa ROCLUA_EMULATE=gfx90a,gfx90a ",
}

-- The kinds of which there can be two devices here.
local function kinds()
  local count, found = { cpu = 2 }, {}
  for _, device in ipairs(devices.list()) do
    count[device.kind] = (count[device.kind] or 0) + 1
  end
  for kind in pairs(SETTINGS) do
    if (count[kind] or 0) > 1 then found[#found + 1] = kind end
  end
  table.sort(found)
  return found
end

local function run(kind, code, environment)
  local variables = SETTINGS[kind] .. (environment or "")
  local ok, output = programs.run("timeout 60 env " .. programs.lua(PRELUDE .. code, variables))
  assert.is_true(ok, output)
end

describe("two cpu devices", function()
  it("share the cores, and have names of their own", function()
    run("cpu", [[
      assert(one.name == "cpu:1" and two.name == "cpu:2")
      assert(one.kind == "cpu" and two.kind == "cpu")
      assert(one.compute_units == 2 and two.compute_units == 3)
      assert(one ~= two and two == roc.devices()[place + 1])
      assert(roc.devices()[place + 2].name == "sim")
      assert(two:memory_free() > 0 and two:memory_free() <= two.memory_total)
      has(tostring(two), "cpu:2")
    ]])
    run("cpu", "assert(one.compute_units == 1 and two.compute_units == 1)", "ROCLUA_CPU_THREADS=1")
  end)
end)

for _, kind in ipairs(kinds()) do
  describe(("two %s devices"):format(kind), function()
    local function try(title, code, environment)
      it(title, function() run(kind, code, environment) end)
    end

    try("are chosen by number and name, for a block too", [[
      assert(roc.current_device() == one)
      roc.select_device(second)
      assert(roc.current_device() == two and roc.device_array(1).device == two)
      roc.select_device(kind)
      assert(roc.current_device() == one)
      roc.select_device(place + 1)
      do
        local scope <close> = roc.on_device(first)
        assert(roc.current_device() == one and roc.stream().device == one)
        local inner <close> = roc.on_device(two)
        assert(roc.stream().device == two)
      end
      assert(roc.current_device() == two)
      has(message(roc.select_device, kind .. ":99"), "those of that kind are numbered 1 to ")
      has(message(roc.stream, 99), "there is no device 99")
    ]])

    try("are named by ROCLUA_DEVICE", "assert(roc.current_device() == two)",
      ("ROCLUA_DEVICE=%s:2"):format(kind))

    try("run kernels at the same time", [[
      local flag = roc.mapped_array(1, "int32") -- host memory, which both can use
      flag[1] = 0
      local s = roc.stream(two)
      spin[{ 1, 1 }](flag)
      set[{ 1, 1, s }](flag)
      one:synchronize()
    ]], "ROCLUA_CPU_THREADS=2")

    try("refuse each other's arrays in a launch, by name", [[
      local x, y = roc.to_device(roc.ones(4)), roc.to_device(roc.ones(4), { device = two })
      local add = kernel("function(x, y) x[1] = y[1] end", "add")
      local text = message(add:forall(4), x, y)
      has(text, "bad argument #2 to kernel 'add'")
      local function label(device) return tostring(device):match(": (.*)") end
      has(label(one), first) has(label(two), second)
      has(text, ("the array is on device '%s', the launch on '%s'"):format(label(two), label(one)))
      text = message(add:forall(4, { stream = roc.stream(two) }), x, y)
      has(text, "bad argument #1 to kernel 'add'")
      env.y = y
      local captured = kernel("function(x) x[1] = y[1] end", "captured")
      text = message(captured:forall(4), x)
      has(text, "'y'") has(text, second)
      assert(x[1] == 1)
    ]])

    try("copy to each other, in the order of a stream", [[
      local n = 100000
      local x, y = roc.to_device(roc.zeros(n)), roc.to_device(roc.ones(n), { device = two })
      local s, t = roc.stream(one), roc.stream(two)
      for i = 1, 10 do
        count:forall(n, { stream = s })(x, i)
        x:copy_to_device(y, s)
        t:wait(roc.event():record(s))
        count:forall(n, { stream = t })(y, i)
        y:copy_to_device(x, t)
        s:wait(roc.event():record(t))
      end
      local expected = 0
      for i = 1, 10 do expected = (expected * 2 + i) * 2 + i end
      assert(x[1] == expected and x[n] == expected and y[n] == expected)
      has(message(function() x:copy_to_device(roc.device_array(n - 1), s) end), "shape")
      has(message(function() x:copy_to_device(y, roc.stream("sim")) end), "of another device")
    ]])

    try("copy without a stream too, and by to_device, and where the layouts differ", [[
      local h = roc.range(1, 12, 1, "int32"):reshape(3, 4)
      local x = roc.to_device(h)
      local y = roc.to_device(x, { device = two })
      local z = roc.to_device(x:transpose(), { device = "sim" })
      assert(y.device == two and z.device.kind == "sim")
      assert(roc.array_equal(y:copy_to_host(), h))
      assert(roc.array_equal(z:copy_to_host(), h:transpose()))
      y:fill(5)
      y:copy_to_device(x)
      assert(x:get(3, 4) == 5)
      local s = roc.stream(two)
      assert(roc.to_device(x, { stream = s }).device == two)
      has(message(roc.to_device, x, { stream = s, device = one }), "of another device")
    ]])

    try("wait for their own work only", [[
      local flag = roc.to_device(roc.zeros(1, "int32"))
      local s, t = roc.stream(one), roc.stream(one)
      set[{ 1, 1, t }](flag) -- NVIDIA's driver loads a kernel only while none runs
      flag:fill(0)
      spin[{ 1, 1, s }](flag)
      local scope <close> = roc.on_device(two)
      local y = roc.to_device(roc.ones(1000))
      count:forall(1000)(y, 1)
      two:synchronize()
      two:reset()
      assert(y[1] == 3 and not s:query())
      set[{ 1, 1, t }](flag)
      s:synchronize()
    ]])

    try("compile a kernel for each, and free its memory where it was", [[
      local before = roc.current_device().memory_total
      for i = 1, 50 do
        local device = roc.devices()[place + i % 2]
        local y = roc.to_device(roc.zeros(1000), { device = device })
        count:forall(1000, { stream = roc.stream(device) })(y, i)
        if i % 10 == 0 then assert(y[1000] == i) end
      end
      assert(before > 0)
    ]])

    try("end with work on both that waits for each other", [[
      local s, t = roc.stream(one), roc.stream(two)
      local x = roc.to_device(roc.zeros(10000))
      local y = roc.to_device(roc.zeros(10000), { device = two })
      for i = 1, 50 do
        count:forall(10000, { stream = s })(x, i)
        t:wait(roc.event():record(s))
        count:forall(10000, { stream = t })(y, i)
        s:wait(roc.event():record(t))
      end
    ]])
  end)
end

describe("ROCLUA_CPU_DEVICES", function()
  it("is a number from 1 to 16", function()
    run("cpu", "assert(roc.devices()[place + 15].name == 'cpu:16')", "ROCLUA_CPU_DEVICES=16")
    run("cpu", "assert(one.name == 'cpu')", "ROCLUA_CPU_DEVICES=1")
    for _, value in ipairs { "0", "17", "two" } do
      local ok, output = programs.run(("env ROCLUA_DEVICE=cpu ROCLUA_CPU_DEVICES=%s %s"):format(
        value, programs.lua("require('roc').device_array(1)")))
      assert.is_false(ok)
      assert.is_truthy(output:find("ROCLUA_CPU_DEVICES is", 1, true), output)
    end
  end)
end)
