-- The cuda driver from the script's side: what it says when there is no GPU, and what becomes of
-- errors.  The driver library is the stand-in of spec/c/fake_cuda.h, which runs no kernel, in
-- processes of their own.
local files = require "support.files"
local programs = require "support.programs"
local shell = require "support.shell"

local program = programs.find("cuda_calls_test")
local library = program and program:gsub("bin/[^/]*$", "lib/libfake_cuda.so")

local function has(output, text)
  assert.is_truthy(output:find(text, 1, true), output)
end

describe("without a GPU, the cuda driver", function()
  if io.open("/dev/nvidiactl") then return pending("this machine has an NVIDIA GPU") end

  it("says that there is none and what to do", function()
    local output, status = shell.run("ROCLUA --list-devices")
    assert.equal(0, status)
    has(output, "cuda   absent: there is no /dev/nvidiactl: this machine has no NVIDIA GPU, or the "
      .. "kernel module 'nvidia' is not loaded")
    output, status = shell.run("ROCLUA_DEVICE=cuda ROCLUA -e 'require \"roc\".device_array(1)'")
    assert.equal(1, status)
    has(output, "there is no /dev/nvidiactl")
  end)

  it("opens nothing to find that out", function()
    if not files.has_program("strace") then return pending("no strace") end
    local output = shell.run("strace -f -e trace=openat ROCLUA -e "
      .. "'require \"roc\".device_array(1)' 2>&1")
    assert.is_nil(output:find("libcuda", 1, true))
  end)

  it("says which library is missing, or is another one", function()
    local output = shell.run("ROCLUA_CUDA_LIBRARY=/nowhere/x.so ROCLUA --list-devices")
    has(output, "cuda   absent: NVIDIA's driver library cannot be opened: /nowhere/x.so")
    output = shell.run("ROCLUA_CUDA_LIBRARY=libm.so.6 ROCLUA --list-devices")
    has(output, "has no function 'cuInit': it is older than CUDA 11.4 (driver 470), or another")
  end)
end)

describe("the cuda driver on a stand-in", function()
  if not shell.interpreter then return pending("not run by roclua") end
  if not library then return pending("cuda_calls_test is not built") end
  local base = ("ROCLUA_CUDA_LIBRARY=%s "):format(library)

  -- Output and status of a script; what the stand-in counted, by name.
  local function run(script, environment)
    local path, report = os.tmpname(), os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write("roc = require 'roc'\n", script):flush()
    local output, status = shell.run(("%s FAKE_CUDA_REPORT=%s ROCLUA_DEVICE=cuda %s timeout 60 "
      .. "ROCLUA_SPEC %s"):format(base, report, environment or "", path))
    local counts = {}
    for line in io.lines(report) do
      local name, count = line:match("^(.*) (%-?%d+)$")
      counts[name] = tonumber(count)
    end
    os.remove(path)
    os.remove(report)
    return output:gsub(path:gsub("%p", "%%%0"), "script"), status, counts
  end

  -- Every context, stream, event, module and block of memory has been given back.
  local function is_balanced(counts)
    for _, name in ipairs { "contexts", "streams", "events", "modules", "pools",
      "memory", "host memory", "registered", "violations" } do
      assert.equal(0, counts[name], name)
    end
  end

  local function start(variable)
    return (shell.run(base .. variable .. " ROCLUA --list-devices"))
  end

  it("takes first blocks where it has one GPU, and nothing runs, the driver's quick way", function()
    local allocate = [[
      local arrays = {}
      for i = 1, 20 do arrays[i] = roc.device_array(5000 * i) end
    ]]
    local launch = [[
      roc.kernel(function(x) x[1] = 1.0 end, { check = false }):forall(1)(roc.device_array(1))
    ]]
    local _, status, counts = run(allocate, "FAKE_CUDA_DEVICES=1")
    assert.same({ 0, 16 }, { status, counts.cuMemAlloc_v2 })
    is_balanced(counts)
    _, status, counts = run(launch .. allocate, "FAKE_CUDA_DEVICES=1")
    assert.equal(0, status)
    assert.is_true(counts.cuMemAlloc_v2 < 5 and counts.cuMemAllocFromPoolAsync >= 20)
    is_balanced(counts)
    _, status, counts = run(allocate)
    assert.same({ 0, 0 }, { status, counts.cuMemAlloc_v2 })
    _, status, counts = run(allocate, "FAKE_CUDA_DEVICES=1 FAKE_CUDA_FAIL=cuMemAlloc_v2:0:2")
    assert.equal(0, status)
    is_balanced(counts)
  end)

  it("is asked for no memory and for no progress between calls of roc.reduce", function()
    local _, status, counts = run([[
      local sum = roc.reduce(function(a, b) return a + b end)
      local x, out = roc.device_array(100000, "float32"), roc.device_array(1, "float32")
      for _ = 1, 50 do sum(x, { out = out }) end
    ]])
    assert.same({ 0, 50 }, { status, counts.cuLaunchKernel })
    assert.is_true(counts.cuMemAllocFromPoolAsync < 10, counts.cuMemAllocFromPoolAsync)
    assert.is_true(counts.cuEventRecord < 20, counts.cuEventRecord)
    is_balanced(counts)
  end)

  it("gives a GPU back after what was printed has been written", function()
    local script, awaited = os.tmpname(), os.tmpname()
    os.remove(awaited)
    local file <close> = assert(io.open(script, "w"))
    file:write("io.write(#require 'roc'.device_array(7), '\\n')"):flush()
    local output = shell.run(("%s FAKE_CUDA_AWAIT=%s ROCLUA_DEVICE=cuda ROCLUA %s | "
      .. "{ read line; echo got $line >%s; cat; cat %s; }"):format(base, awaited, script, awaited,
      awaited))
    os.remove(script)
    os.remove(awaited)
    assert.equal("got 7\n", output)
  end)

  it("offers GPUs before the cpu, with targets and wavefronts", function()
    local output = shell.run(base .. "ROCLUA_DEVICE= ROCLUA --list-devices --verbose")
    assert.is_truthy(output:find("%* 1  cuda .-sm_90.-wavefront_size  32\n"
      .. ".-  2  cuda .-  3  cpu"), output)
  end)

  it("says why it does not start, and what to do", function()
    has(start "FAKE_CUDA_VERSION=11030", "NVIDIA's driver is too old: it has CUDA 11.3, and 11.4")
    has(start "FAKE_CUDA_DEVICES=0", "NVIDIA's driver does not start: no GPU (CUDA error 100")
    for result, advice in pairs { [100] = "CUDA_VISIBLE_DEVICES may hide", [803] = "kernel module",
      [802] = "nvidia-fabricmanager", [999] = "nvidia_uvm", [34] = "stub", [46] = "nvidia-smi" } do
      has(start("FAKE_CUDA_FAIL=cuInit:0:" .. result), advice)
    end
  end)

  it("copies, fills and frees, and gives everything back", function()
    local output, status, counts = run [[
      local h = roc.random_integers(0, 255, 100003, "uint8")
      local x, y = roc.to_device(h), roc.device_array(100003, "uint8")
      x:copy_to_device(y)
      assert(roc.array_equal(h, y:copy_to_host()))
      y:slice(1, 1, 99999, 2):fill(7)
      assert(y[1] == 7 and y[2] == h[2] and y[99999] == 7)
      local s = roc.stream()
      local pinned = roc.pinned_array(100003, "uint8")
      for i = 1, 20 do
        local z = roc.device_array(100003, "uint8")
        z:copy_from_host(h, s)
        z:copy_to_host(pinned, s)
      end
      s:synchronize()
      assert(roc.array_equal(h, pinned))
      local r = roc.register(h)
      x:copy_from_host(h, s)
      r:close()
      local a, b = roc.event(), roc.event()
      a:record(s)
      b:record(s)
      assert(roc.elapsed(a, b) > 0)
      print "done"]]
    assert.equal("done\n", output)
    assert.equal(0, status)
    is_balanced(counts)
  end)

  it("queues launches of every shape, and unloads modules", function()
    local output, _, counts = run [[
      local k = roc.kernel(function(x, n) x[roc.get_global_id(1)] = n end)
      local x = roc.to_device(roc.zeros(1000))
      for i = 1, 1000 do k:forall(1000)(x, i) end
      k[{ { 2, 70000, 3 }, { 1, 1, 1 } }](x, 1)
      k:launch({ grid = 0 }, x, 1)
      roc.current_device():synchronize()
      print(pcall(function() k:launch({ grid = { 1, 1, 65 }, workgroup = { 1, 1, 65 } }, x, 1) end))
    ]]
    has(output, "workgroup size 65 of dimension 3 is over the limit 64 of device 'stand-in 0'")
    assert.equal(1001, counts.cuLaunchKernel)
    assert.equal(counts.cuModuleLoadDataEx, counts.cuModuleUnload)
    is_balanced(counts)
  end)

  it("takes the memory that finished work gives back before it asks for more", function()
    local _, _, counts = run [[
      local k = roc.kernel(function(y) y[1] = 1 end)
      for i = 1, 60 do
        local y = roc.device_array(1 << 16)
        k[{ 1, 1 }](y)
        y:close()
        if i % 10 == 0 then roc.stream():synchronize() os.execute "sleep 0.02" end
      end]]
    assert.is_true(counts.cuMemAllocFromPoolAsync < 40)
    is_balanced(counts)
  end)

  it("is lost to a fault, names the kernel, and leaves other devices and memory as they were",
    function()
      local output, status, counts = run([[
        local bad = roc.kernel("function(y, n) y[1] = n end", { name = "bad" })
        local y = roc.to_device(roc.zeros(64))
        bad[{ 1, 1 }](y, 1)
        local ok, err = pcall(function() bad[{ 1, 1 }](y, 1) end)
        assert(not ok and err.code == "lost")
        print(tostring(err))
        assert(roc.current_device().state == "lost")
        ok, err = pcall(function() return y[1] end)
        assert(not ok and err.code == "lost")
        ok, err = pcall(function() roc.current_device():reset() end)
        assert(not ok and tostring(err):find("only a new process helps", 1, true))
        roc.select_device("cuda:2")
        assert(roc.to_device(roc.ones(3))[2] == 1)
        roc.select_device("cpu")
        print(roc.to_device(roc.ones(3))[1])]], "FAKE_CUDA_FAIL=cuLaunchKernel:2:700")
      assert.equal(0, status, output)
      has(output, "device 'stand-in 0 (cuda:1)' is lost by kernel 'bad' launched at script:4: an "
        .. "illegal access to memory (CUDA error 700)")
      has(output, "\n1.0\n")
      is_balanced(counts)
    end)

  it("leaves page-locked memory usable when the device is lost, here and on others", function()
    local output, status, counts = run([[
      local pinned, mapped = roc.pinned_array(16), roc.mapped_array(16)
      local host = roc.ones(16)
      local registration = roc.register(host)
      pinned:fill(3) mapped:fill(4)
      local k = roc.kernel("function(y) y[1] = 1 end")
      assert(not pcall(function() k[{ 1, 1 }](mapped) end))
      assert(roc.current_device().state == "lost")
      pinned[1], mapped[2], host[3] = 7, 8, 9
      print(pinned:sum(), mapped:sum(), host:sum())
      registration:close()
      roc.select_device "cpu"
      for _, a in ipairs { pinned, mapped, host } do
        k[{ 1, 1 }](a)
        assert(a[1] == 1)
      end
      roc.select_device "cuda:2"
      for _, a in ipairs { pinned, mapped, host } do
        assert(roc.array_equal(a, roc.to_device(a):copy_to_host()))
        k[{ 1, 1 }](a)
      end
      roc.current_device():synchronize()
      print "done"]], "FAKE_CUDA_FAIL=cuLaunchKernel:1:719")
    assert.equal("52.0\t68.0\t24.0\ndone\n", output)
    assert.equal(0, status)
    is_balanced(counts)
  end)

  it("raises what a call gives, and goes on", function()
    for call, text in pairs {
      ["cuModuleLoadDataEx:1:218"] = "NVIDIA's driver does not load a kernel compiled for 'sm_90' "
        .. "on device 'stand-in 0' (sm_90): PTX that the driver's compiler refuses (CUDA error 218",
      ["cuModuleLoadDataEx:1:222"] = "PTX of a version that the driver is too old for",
      ["cuLaunchKernel:1:701"] = "has no room on the GPU: kernel 'k' takes 32 registers each",
      ["cuLaunchKernel:1:1"] = "a kernel is not queued: an argument the driver does not take (CUDA "
        .. "error 1",
    } do
      local output, status, counts = run([[
        local k = roc.kernel("function(y) y[1] = 1 end", { name = "k" })
        local y = roc.to_device(roc.ones(64))
        print(select(2, pcall(function() k[{ 1, 1 }](y) end)))
        k[{ 1, 1 }](y)
        print(y[1])]], "ROCLUA_CACHE=off FAKE_CUDA_FAIL=" .. call)
      assert.equal(0, status, output)
      has(output, text)
      has(output, "\n1.0\n")
      is_balanced(counts)
    end
  end)

  it("collects and tries again when memory is out", function()
    local output, status, counts = run([[
      local x = roc.device_array(1000)
      local y = roc.device_array(1000)
      print(y.size)]], "FAKE_CUDA_FAIL=cuMemAllocFromPoolAsync:1:2")
    assert.equal("1000\n", output)
    assert.equal(0, status)
    is_balanced(counts)
    output = run "print(select(2, pcall(roc.device_array, 1 << 40)))"
    has(output, "out of memory: device 'stand-in 0' has no")
  end)
end)
