-- Listing, describing and choosing devices; what the environment sets.
local roc = require "roc"
local programs = require "support.programs"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

describe("roc.devices", function()
  it("lists cpu and sim", function()
    local kinds = {}
    for _, device in ipairs(roc.devices()) do
      kinds[device.kind] = true
    end
    assert.is_true(kinds.cpu)
    assert.is_true(kinds.sim)
  end)

  it("gives devices that are equal when they are the same", function()
    local a, b = roc.devices(), roc.devices()
    assert.is_true(a[1] == b[1])
    assert.is_false(a[1] == a[2])
  end)
end)

describe("a device", function()
  it("describes itself", function()
    for _, device in ipairs(roc.devices()) do
      if device.kind ~= "null" then
        assert.is_string(device.name)
        assert.is_string(device.arch)
        assert.is_true(device.wavefront_size == 32 or device.wavefront_size == 64)
        assert.is_true(device.compute_units >= 1)
        assert.is_true(device.max_workgroup >= 256)
        assert.is_true(device.shared_bytes >= 32768)
        assert.is_true(device.memory_total > 0)
        assert.equal("ok", device.state)
        assert.is_true(device:memory_free() > 0)
        assert.is_true(device:memory_free() <= device.memory_total)
        assert.is_truthy(tostring(device):find(device.name, 1, true))
      end
    end
  end)

  it("has no other fields", function()
    assert.error_matches(function() return roc.current_device().nome end,
      "roc.Device has no field 'nome'; did you mean 'name'%?")
  end)

  it("can be synchronized when nothing is queued, and reset", function()
    local device = roc.current_device()
    device:synchronize()
    device:reset()
    assert.equal("ok", device.state)
  end)
end)

describe("the current device", function()
  local was
  before_each(function() was = roc.current_device() end)
  after_each(function() roc.select_device(was) end)

  it("is chosen by kind, kind and number, ordinal or device", function()
    roc.select_device("sim")
    assert.equal("sim", roc.current_device().kind)
    roc.select_device("cpu:1")
    assert.equal("cpu", roc.current_device().kind)
    for i, device in ipairs(roc.devices()) do
      roc.select_device(i)
      assert.is_true(roc.current_device() == device)
    end
    roc.select_device(was)
    assert.is_true(roc.current_device() == was)
  end)

  it("is where arrays are made", function()
    roc.select_device("sim")
    assert.equal("sim", roc.device_array(3).device.kind)
    roc.select_device("cpu")
    assert.equal("cpu", roc.device_array(3).device.kind)
  end)

  it("is back at the end of an on_device scope, also when an error leaves it", function()
    do
      local scope <close> = roc.on_device("sim")
      assert.equal("sim", roc.current_device().kind)
      do
        local inner <close> = roc.on_device("cpu")
        assert.equal("cpu", roc.current_device().kind)
      end
      assert.equal("sim", roc.current_device().kind)
    end
    assert.is_true(roc.current_device() == was)
    pcall(function()
      local scope <close> = roc.on_device("sim")
      error("out")
    end)
    assert.is_true(roc.current_device() == was)
  end)

  it("is given back once by a scope that is closed by hand", function()
    local scope = roc.on_device("sim")
    scope:close()
    roc.select_device("sim")
    scope:close()
    assert.equal("sim", roc.current_device().kind)
  end)

  it("stays when a choice is refused, and the error says what there is", function()
    assert.is_truthy(message(roc.select_device,
      "vulkan"):find("there is no device 'vulkan'; expected one of hsa, cuda, cpu", 1, true))
    for _, absent in ipairs { "cpu:7", "cpu:0" } do
      assert.is_truthy(message(roc.select_device, absent):find(
        ("'%s': those of that kind are numbered 1 to 1"):format(absent), 1, true))
    end
    assert.is_truthy(message(roc.select_device, "cpu:x"):find("no device 'cpu:x'", 1, true))
    assert.is_truthy(message(roc.select_device, 99):find("there is no device 99, only 1 to", 1,
      true))
    assert.is_truthy(message(roc.select_device, 0):find("there is no device 0", 1, true))
    assert.is_truthy(message(roc.select_device, "cpu\0"):find("no device 'cpu\\0", 1, true))
    assert.is_truthy(message(roc.select_device, {}):find("device, its number or its name expected",
      1, true))
    assert.is_truthy(message(roc.select_device):find("value expected", 1, true))
    assert.is_true(roc.current_device() == was)
  end)
end)

describe("the environment", function()
  local function run(code, environment)
    return programs.run(programs.lua("local roc = require 'roc' " .. code, environment))
  end

  it("names the default device in ROCLUA_DEVICE", function()
    for _, kind in ipairs { "cpu", "sim", "null" } do
      local ok, output = run("io.write(roc.current_device().kind)", "ROCLUA_DEVICE=" .. kind)
      assert.is_true(ok, output)
      assert.equal(kind, output)
    end
    local ok, output = run("roc.current_device()", "ROCLUA_DEVICE=abacus")
    assert.is_false(ok)
    assert.is_truthy(output:find("ROCLUA_DEVICE: there is no device 'abacus'", 1, true))
  end)

  it("does not list null unless it is asked for", function()
    local ok, output = run("for _, d in ipairs(roc.devices()) do io.write(d.kind, ' ') end",
      "ROCLUA_DEVICE=")
    assert.is_true(ok, output)
    assert.is_nil(output:find("null", 1, true))
  end)

  it("sets the wavefront of cpu and sim in ROCLUA_WAVEFRONT", function()
    for _, kind in ipairs { "cpu", "sim" } do
      for _, width in ipairs { "32", "64" } do
        local ok, output = run("io.write(roc.current_device().wavefront_size)",
          ("ROCLUA_DEVICE=%s ROCLUA_WAVEFRONT=%s"):format(kind, width))
        assert.is_true(ok, output)
        assert.equal(width, output)
      end
    end
    local ok, output = run("roc.device_array(1)", "ROCLUA_DEVICE=cpu ROCLUA_WAVEFRONT=48")
    assert.is_false(ok)
    assert.is_truthy(output:find("ROCLUA_WAVEFRONT is '48', expected 32 or 64", 1, true))
  end)

  it("sets the number of threads in ROCLUA_CPU_THREADS", function()
    local ok, output = run("io.write(roc.current_device().compute_units)",
      "ROCLUA_DEVICE=cpu ROCLUA_CPU_THREADS=3")
    assert.is_true(ok, output)
    assert.equal("3", output)
    ok, output = run("roc.device_array(1)", "ROCLUA_DEVICE=cpu ROCLUA_CPU_THREADS=many")
    assert.is_false(ok)
    assert.is_truthy(output:find("ROCLUA_CPU_THREADS is 'many', expected a number", 1, true))
  end)

  it("keeps each thread on a core of its own with ROCLUA_CPU_PINNED", function()
    local SCRIPT = [[
      local a = roc.device_array(1 << 23, "float32"):fill(1.5)
      local function allowed(path)
        return io.open(path):read("a"):match("Cpus_allowed_list:%s*(%S+)")
      end
      local cores = {}
      for path in io.popen("ls -d /proc/" .. io.open("/proc/self/stat"):read("n")
          .. "/task/*/status"):lines() do
        local list = allowed(path)
        if list ~= allowed("/proc/self/status") then cores[#cores + 1] = list end
      end
      table.sort(cores)
      io.write(table.concat(cores, " "))
    ]]
    local list = io.open("/proc/self/status"):read("a"):match("Cpus_allowed_list:%s*(%S+)")
    local first, last = list:match("^(%d+)[-,](%d+)")
    if not first then return pending("one core alone may be used") end
    if list:find("^%d+-") then last = first + 1 end
    local ok, output = run(SCRIPT, "ROCLUA_DEVICE=cpu ROCLUA_CPU_THREADS=2 ROCLUA_CPU_PINNED=1")
    assert.is_true(ok, output)
    local expected = { tostring(first), ("%d"):format(last) }
    table.sort(expected)
    assert.equal(table.concat(expected, " "), output)
    ok, output = run(SCRIPT, "ROCLUA_DEVICE=cpu ROCLUA_CPU_THREADS=2 ROCLUA_CPU_PINNED=0")
    assert.is_true(ok, output)
    assert.equal("", output)
  end)
end)
