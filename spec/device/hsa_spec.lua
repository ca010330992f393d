-- The hsa driver beside what the conformance specs show on every device: what it says when there is
-- no GPU, many streams and launches, devices side by side, and what becomes of a fault.  The GPU is
-- the software one, in processes of their own.
local devices = require "support.devices"
local shell = require "support.shell"
local files = require "support.files"

local GPU = "ROCLUA_EMULATE=gfx90a ROCLUA_DEVICE=hsa "

-- Output and status of a script in a process whose GPU is the software one.
local function run(script, environment)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write("roc = require 'roc'\n", script)
  file:close()
  local output, status =
    shell.run(("%s timeout 100 ROCLUA_SPEC %s"):format(environment or GPU, path))
  os.remove(path)
  return output:gsub(path:gsub("%p", "%%%0"), "script"), status
end

local function has(output, text)
  assert.is_truthy(output:find(text, 1, true), output)
end

describe("without a GPU, the hsa driver", function()
  if io.open("/dev/kfd") then return pending("this machine has an AMD GPU") end

  it("says that there is none and what to do", function()
    for _, options in ipairs { "", " --verbose" } do
      local output, status = shell.run("ROCLUA --list-devices" .. options)
      assert.equal(0, status)
      has(output, "hsa    absent: there is no /dev/kfd: this machine has no AMD GPU, or the kernel "
        .. "module 'amdgpu' is not loaded")
    end
  end)

  it("says so to who asks for one by name", function()
    local output, status = shell.run("ROCLUA --device hsa -e 'require \"roc\".zeros(1)'; true")
    assert.equal(0, status)
    output, status = shell.run("ROCLUA_DEVICE=hsa ROCLUA -e 'require \"roc\".device_array(1)'")
    assert.equal(1, status)
    has(output, "there is no /dev/kfd")
  end)

  it("opens nothing to find that out", function()
    if not files.has_program("strace") then return pending("no strace") end
    local output = shell.run("strace -f -e trace=openat ROCLUA -e "
      .. "'require \"roc\".device_array(1)' 2>&1")
    assert.is_nil(output:find("libhsa", 1, true))
  end)
end)

describe("the hsa driver", function()
  if not shell.interpreter then return pending("not run by roclua") end
  if devices.missing then return pending(devices.missing) end

  it("says which library is missing", function()
    local output, status = run("roc.device_array(1)", GPU .. "ROCLUA_HSA_LIBRARY=/nowhere/x.so ")
    assert.equal(1, status)
    has(output, "AMD's runtime ROCR cannot be opened: /nowhere/x.so")
    has(output, "libhsa-runtime64-1")
  end)

  it("says which function a library lacks that is not ROCR, or is too old", function()
    local output, status = run("roc.device_array(1)", GPU .. "ROCLUA_HSA_LIBRARY=libm.so.6 ")
    assert.equal(1, status)
    has(output, "has no function 'hsa_init': it is older than ROCm 5.0, or not AMD's runtime")
  end)

  it("looks for the library in $ROCM_PATH first", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir -p %s/lib && echo no > %s/lib/libhsa-runtime64.so.1"):format(folder,
      folder)))
    local command = "strace -f -e trace=openat %s ROCLUA_HSA_LIBRARY= ROCM_PATH=%s "
      .. "ROCLUA --list-devices 2>&1"
    local output = files.has_program("strace") and shell.run(command:format("env " .. GPU, folder))
    os.execute("rm -r " .. folder)
    if not output then return pending("no strace") end
    has(output, folder .. "/lib/libhsa-runtime64.so.1")
  end)

  it("names the GPUs that can be emulated", function()
    local output = shell.run("ROCLUA_EMULATE=gfx1 ROCLUA --list-devices --verbose")
    has(output, "hsa    absent: no GPU 'gfx1' can be emulated")
    has(output, "gfx90a")
  end)

  it("offers GPUs first, with their target ids and wavefronts", function()
    local output = shell.run("ROCLUA_EMULATE=gfx90a,gfx1030 ROCLUA --list-devices --verbose")
    assert.is_truthy(output:find("%* 1  hsa .-gfx90a:sramecc%-:xnack%-.-wavefront_size  64\n"
      .. ".-  2  hsa .-gfx1030.-wavefront_size  32\n.-  %d  cpu"), output)
  end)

  it("takes the software GPU's threads and memory from the environment, and refuses nonsense",
    function()
      for variable, bad in pairs {
        ROCLUA_EMULATE_THREADS = { "0", "-1", "x", "257" },
        ROCLUA_EMULATE_MEMORY = { "63", "1G", "99999999", " 64" },
      } do
        for _, value in ipairs(bad) do
          local setting = ("%s='%s' "):format(variable, value)
          local output, status = run("roc.device_array(1)", GPU .. setting)
          assert.equal(1, status)
          has(output, ("%s is '%s', expected a number from "):format(variable, value))
        end
      end
      has(run("print(roc.current_device().memory_total >> 20)", GPU
        .. "ROCLUA_EMULATE_MEMORY=96 ROCLUA_EMULATE_THREADS=2 "), "96\n")
    end)

  it("takes the number of its queues from the environment, and refuses nonsense", function()
    local output = run("roc.device_array(1)", GPU .. "ROCLUA_HSA_QUEUES=99 ")
    has(output, "ROCLUA_HSA_QUEUES is '99', expected a number from 1 to 16")
    output = run([[
      local y = roc.to_device(roc.zeros(1, "int64"))
      local add = roc.kernel(function(a, n) a[1] = a[1] * 3 + n end)
      local last
      for n = 1, 10 do
        local s = roc.stream()
        if last then s:wait(last) end
        add[{ 1, 1, s }](y, n)
        last = roc.event()
        last:record(s)
      end
      print(y[1])]], GPU .. "ROCLUA_HSA_QUEUES=1 ")
    assert.equal("44281\n", output)
  end)

  it("lets more streams than queues share them, and makes thousands at no cost", function()
    assert.equal("10000\n", (run [[
      for i = 1, 10000 do roc.stream():close() end
      local y = roc.to_device(roc.zeros(1, "int64"))
      local add = roc.kernel("function(y) roc.atomic.add(y, 1, 1) end")
      local streams = {}
      for i = 1, 10000 do
        streams[i] = roc.stream()
        add[{ 1, 1, streams[i] }](y)
      end
      for i = 1, 10000 do streams[i]:synchronize() end
      print(y[1])]]))
  end)

  it("takes more launches than a queue holds", function()
    assert.equal("50000\n", (run [[
      local y = roc.to_device(roc.zeros(1, "int64"))
      local add = roc.kernel(function(a) a[1] = a[1] + 1 end)[{ 1, 1 }]
      for i = 1, 50000 do add(y) end
      print(y[1])]]))
  end)

  it("copies blocks of all sizes, aligned or not, page-locked or not", function()
    assert.equal("done\n", (run [[
      for _, n in ipairs { 1, 3, 4095, 65537, 1 << 20, (1 << 20) + 1, (5 << 20) + 7 } do
        local h = roc.random_integers(0, 255, n + 1, "uint8")
        local pinned = roc.pinned_array(n + 1, "uint8")
        local s, d = roc.stream(), roc.device_array(n + 1, "uint8")
        d:copy_from_host(h, s)
        d:copy_to_host(pinned, s)
        s:synchronize()
        assert(roc.array_equal(h, pinned))
        local e = roc.zeros(n + 1, "uint8")
        d:fill(0, s)
        d:copy_from_host(pinned, s)
        d:slice(1, 2, n + 1):copy_to_host(e:slice(1, 2, n + 1), s)
        s:synchronize()
        assert(roc.array_equal(h:slice(1, 2, n + 1), e:slice(1, 2, n + 1)) and e[1] == 0)
      end
      print "done"]]))
  end)

  it("fills blocks of all sizes with elements of all sizes", function()
    assert.equal("done\n", (run [[
      for dtype, v in pairs { int8 = 7, int16 = 770, int32 = 70001, int64 = 1 << 40,
        float64 = 1.5 } do
        for _, n in ipairs { 1, 3, 64, 1000, 70001, 300007 } do
          local y = roc.device_array(n + 2, dtype)
          y:fill(0)
          y:slice(1, 2, n + 1):fill(v)
          local h = y:copy_to_host()
          assert(roc.array_equal(h:slice(1, 2, n + 1), roc.full(n, v, dtype)))
          assert(h[1] == 0 and h[n + 2] == 0)
        end
      end
      print "done"]]))
  end)

  it("refuses atomics on the host's memory where its link carries none", function()
    local script = [[
      local add = roc.kernel(function(hist, w)
        roc.atomic.add(hist, 1, w[roc.get_global_id(1)])
      end, { name = "add" })
      local mine = roc.kernel(function(hist) hist[1] = hist[1] + 1 end)
      local pinned, w = roc.pinned_array(1, "int32"), roc.to_device(roc.ones(8, "int32"))
      pinned:fill(0)
      print(pcall(function() add:launch({ grid = 8 }, pinned, w) end))
      print(pinned[1])
      mine:launch({ grid = 1 }, pinned)
      local copied, plain = roc.to_device(pinned), roc.zeros(1, "int32")
      add:launch({ grid = 8 }, copied, w)
      add:launch({ grid = 8 }, plain, w)
      print(copied[1], plain[1])
      local say = roc.kernel(function(x) print(x[1]) end, { name = "say" })
      print(pcall(function() say:launch({ grid = 1 }, copied) end))]]
    local output, status = run(script, GPU .. "ROCLUA_EMULATE_PCIE_ATOMICS=0 ")
    assert.equal(0, status)
    has(output, "false\tscript:8: kernel 'add' updates array 'hist' atomically, which lies in the "
      .. "host's memory: the link of device 'AMD Instinct MI210 (emulated)' to it carries no ")
    has(output, "\n0\n9\t8\n")
    has(output, "false\tscript:16: kernel 'say' calls print, which takes atomic operations on the")
    has(run(script), "true\n8\n17\t8\ntrue\n17\n")
  end)

  it("moves arrays between GPUs, and orders their streams by events", function()
    assert.equal("done\n", (run([[
      local add = roc.kernel("function(y) local i = roc.get_global_id(1) y[i] = y[i] + 1 end")
      local h = roc.range(1, 100000)
      local a = roc.to_device(h, { device = 1 })
      local b
      do
        local scope <close> = roc.on_device(2)
        b = roc.device_array(100000, "int64")
      end
      for i = 1, 5 do
        do
          local scope <close> = roc.on_device(1)
          add:forall(100000)(a)
        end
        a:copy_to_device(b)
        do
          local scope <close> = roc.on_device(2)
          add:forall(100000)(b)
        end
        b:copy_to_device(a)
      end
      assert(roc.array_equal(a:copy_to_host(), roc.range(11, 100010)))
      print "done"]], "ROCLUA_EMULATE=gfx90a,gfx1030 ROCLUA_DEVICE=hsa ")))
  end)

  it("copies between GPUs on a stream of either, and says so when one of them is lost", function()
    local output, status = run([[
      local queued = require("roc.core").testing.queued
      local h = roc.range(1, 100000)
      local a, b = roc.to_device(h, { device = 1 }), roc.to_device(roc.zeros(100000, "int64"),
        { device = 2 })
      for device = 1, 2 do
        local s = roc.stream(device)
        b:fill(0)
        roc.event():record(s):synchronize()
        local before = queued(s)
        a:copy_to_device(b, s)
        assert(queued(s) == before + 1)
        s:synchronize()
        assert(roc.array_equal(h, b:copy_to_host()))
        b:fill(0)
        a:slice(1, 1, 99999, 2):copy_to_device(b:slice(1, 2, 100000, 2), s)
        assert(queued(s) <= before + 3)
        s:synchronize()
        assert(b[1] == 0 and b[100000] == 99999 and b[99999] == 0 and b[2] == 1)
      end
      local s = roc.stream(2)
      local bad = roc.kernel("function(y, n) y[n] = 7 end", { name = "bad", check = false })
      bad[{ 1, 1 }](a, 1 << 40)
      pcall(function() roc.devices()[1]:synchronize() end)
      local ok, err = pcall(a.copy_to_device, a, b, s)
      assert(not ok and err.code == "lost", tostring(err))
      assert(roc.devices()[1].state == "lost" and roc.devices()[2].state == "ok")
      b:fill(5)
      s:synchronize()
      print(b[7])]], "ROCLUA_EMULATE=gfx90a,gfx1030 ROCLUA_DEVICE=hsa ")
    assert.equal("5\n", output)
    assert.equal(0, status)
  end)

  it("gives times of the device, in order", function()
    assert.equal("true\ttrue\ttrue\n", (run [[
      local a, b, c = roc.event(), roc.event(), roc.event()
      local work = roc.kernel(function(y)
        local i = roc.get_global_id(1)
        for k = 1, 200 do y[i] = y[i] * 0.5 + k end
      end)
      local y = roc.to_device(roc.zeros(2000))
      work:forall(2000)(y)
      a:record()
      work:forall(2000)(y)
      b:record()
      c:record()
      local ab, bc, ac = roc.elapsed(a, b), roc.elapsed(b, c), roc.elapsed(a, c)
      print(ab > 0, bc >= 0, math.abs(ac - ab - bc) < 1e-3)]]))
  end)

  it("loses the device to a memory fault, and nothing else", function()
    local output, status = run [[
      local bad = roc.kernel("function(y, n) y[n] = 7 end", { name = "bad", check = false })
      local y, h = roc.to_device(roc.zeros(64)), roc.zeros(64)
      local s = roc.stream()
      bad[{ 1, 1, s }](y, 1 << 40)
      local function fails(f, ...)
        local ok, err = pcall(f, ...)
        assert(not ok and err.code == "lost", tostring(err))
        return tostring(err)
      end
      print(fails(s.synchronize, s))
      assert(roc.current_device().state == "lost")
      fails(function() return y[1] end)
      fails(function() bad[{ 1, 1 }](y, 1) end)
      fails(roc.stream)
      local ok, err = pcall(function() roc.current_device():reset() end)
      assert(not ok and tostring(err):find("only a new process helps", 1, true))
      roc.select_device("cpu")
      print(roc.to_device(roc.ones(3))[1])]]
    assert.equal(0, status, output)
    has(output, "is lost by kernel 'bad' launched at script:5: illegal access to memory at 0x")
    has(output, "\n1.0\n")
  end)

  it("ends with status 1 and the error when nobody has waited for a fault", function()
    local output, status = run [[
      local bad = roc.kernel("function(y, n) y[n] = 7 end", { name = "bad", check = false })
      bad[{ 1, 1 }](roc.to_device(roc.zeros(64)), 1 << 40)]]
    assert.equal(1, status)
    has(output, "is lost by kernel 'bad' launched at script:3")
  end)

  it("lets an endless kernel be interrupted, and the process end", function()
    local output, status = run([[
      local core = require "roc.core"
      local spin = roc.kernel("function(y) while roc.atomic.load(y, 1) == 0 do end end")
      local y = roc.to_device(roc.zeros(1, "int64"))
      spin[{ 1, 1 }](y)
      core.testing.interrupt()
      print(pcall(function() roc.current_device():synchronize() end))
      io.stdout:flush()
      os.exit(true, false)]], GPU .. "timeout -s INT 3 ")
    has(output, "interrupted!")
    assert.is_true(status ~= nil)
  end)
end)
