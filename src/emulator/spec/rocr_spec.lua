-- The emulated GPU under the real ROCR: runs the C tests, one process each, in the variants that
-- ROCR's environment offers; and AMD's rocminfo.
local files = require "support.files"
local programs = require "support.programs"

local KERNELS = [[
local roc = require "roc"
roc.kernel(function(x)
  local i = roc.get_global_id(1)
  x[i] = x[i] + 1.0
end, { name = "add", signature = "(float32[:])", check = false })
roc.kernel(function(x)
  repeat until roc.atomic.load(x, 1) ~= 0
end, { name = "spin", signature = "(int64[:])", check = false })
]]

local TITLES = {
  agents = "shows an agent with caches, pools and a wavefront",
  memory = "gives memory of every pool, tells its owner, and has it all back at the end",
  lock = "locks user memory of any alignment, twice and inside itself",
  copies = "copies both ways and on the device, in the order of the dependencies",
  rect = "copies a box out of a pitched image into another",
  fill = "fills memory with a word",
  threads = "serves copies of several threads",
  signals = "wakes threads and handlers that sleep on signals",
  barriers = "waits for all, for any, and for a masked value",
  many_queues = "has room for 62 queues, and refuses cleanly when it is full",
  churn = "makes and destroys queues without missing a wakeup",
  stream = "processes 24000 packets in order",
  idle = "sleeps when queues have nothing to do",
  reopen = "starts again after a shutdown, and ends without one",
  fork = "refuses work in a forked child, which does not hang",
  kernel = "loads a code object and runs its kernel, with times",
  errors = "stops a queue for each wrong packet, with a code and a text",
  memory_fault = "tells where a kernel touched memory it may not",
  quiet_fault = "tells a queue of its kernel's fault",
  endless = "ends an endless kernel with its queue",
  gpus = "runs code on two GPUs and copies between them",
}

-- ROCR's switches, and the tests that look at what each changes.
local VARIANTS = {
  { name = "without interrupts", environment = "HSA_ENABLE_INTERRUPT=0",
    tests = { "copies", "signals", "barriers", "churn", "kernel", "errors", "quiet_fault" } },
  { name = "without copy engines", environment = "HSA_ENABLE_SDMA=0",
    tests = { "copies", "fill", "threads", "lock" } },
  { name = "with XNACK", environment = "HSA_XNACK=1", tests = { "agents", "kernel" } },
  { name = "without ROCR's sub-allocator", environment = "HSA_DISABLE_FRAGMENT_ALLOCATOR=1",
    tests = { "memory", "copies", "kernel" } },
  { name = "as a gfx1030", environment = "ROCLUA_EMULATE=gfx1030",
    tests = { "agents", "memory", "copies", "fill", "kernel", "errors", "memory_fault",
      "endless" } },
  { name = "as two GPUs", environment = "ROCLUA_EMULATE=gfx90a,gfx1030",
    tests = { "gpus", "copies", "lock" } },
  { name = "with little memory", environment = "ROCLUA_EMULATE_MEMORY=256",
    tests = { "memory", "copies" } },
  { name = "with one thread", environment = "ROCLUA_EMULATE_THREADS=1",
    tests = { "kernel", "endless" } },
}

-- rocminfo asks for the kernel's driver in two ways before it asks ROCR.
local SHIM = [[
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
int open(const char *path, int flags, ...) {
  static int (*next)(const char *, int, ...);
  va_list args;
  va_start(args, flags);
  int mode = flags & O_CREAT ? va_arg(args, int) : 0;
  va_end(args);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "open");
  return next(strcmp(path, "/dev/kfd") == 0 ? "/dev/null" : path, flags, mode);
}
]]

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

local function last_line(text)
  return text:match("([^\n]*)\n?$")
end

describe("the emulated GPU under ROCR", function()
  local test, rocluac = programs.find("rocr_test"), programs.find("rocluac")
  if not test then return pending("rocr_test is not built") end
  local folder

  lazy_setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir -p %s/bin"):format(folder)))
    write(folder .. "/kernels.lua", KERNELS)
    local ok, output = programs.run(("cd %s && %s -t gfx90a -t gfx1030 kernels.lua")
      :format(folder, rocluac))
    assert(ok, output)
  end)

  lazy_teardown(function()
    os.execute("rm -rf " .. folder)
  end)

  local function check(name, environment)
    local ok, output = programs.run(("%s ROCR_TEST_OBJECTS=%s timeout 120 %s %s"):format(
      environment or "", folder, test, name))
    assert(ok and last_line(output) == "ok " .. name, output)
  end

  local seen = 0
  for name in assert(io.popen(test)):lines() do
    seen = seen + 1
    if name ~= "gpus" and name ~= "quiet_fault" then
      it(TITLES[name] or name, function() check(name) end)
    end
  end
  assert(seen >= 20, "rocr_test lists its tests")

  for _, variant in ipairs(VARIANTS) do
    for _, name in ipairs(variant.tests) do
      it(("%s %s"):format(TITLES[name], variant.name), function()
        check(name, variant.environment)
      end)
    end
  end

  it("refuses GPUs it does not know, naming those it does", function()
    local ok, output = programs.run("ROCLUA_EMULATE=gfx90a,gfx99 " .. test .. " agents")
    assert.is_false(ok)
    assert.matches("names 'gfx99', which is not emulated; expected some of gfx90a, gfx1030", output)
  end)

  it("is a GPU to rocminfo", function()
    if not files.has_program("rocminfo") then return pending("no rocminfo") end
    if not files.has_program("cc") then return pending("no C compiler") end
    write(folder .. "/shim.c", SHIM)
    write(folder .. "/bin/lsmod", "#!/bin/sh\necho amdgpu 1 0\n")
    assert(os.execute(("chmod +x %s/bin/lsmod"):format(folder)))
    local ok, output = programs.run(("cc -D_GNU_SOURCE -shared -fPIC -o %s/shim.so %s/shim.c -ldl")
      :format(folder, folder))
    assert(ok, output)
    local library = test:gsub("bin/rocr_test$", "lib/roclua/0")
    local runtime = programs.sanitizer(library .. "/libhsakmt.so.1")
    if runtime:find("libtsan", 1, true) then
      return pending("the open() of ThreadSanitizer comes before the one above")
    end
    ok, output = programs.run(
      ("PATH=%s/bin:$PATH LD_PRELOAD='%s %s/shim.so' LD_LIBRARY_PATH=%s rocminfo"):format(
        folder, runtime, folder, library))
    assert(ok, output)
    assert.matches("Name: +gfx90a", output)
    assert.matches("amdgcn%-amd%-amdhsa%-%-gfx90a", output)
    assert.matches("Wavefront Size: +64", output)
  end)
end)
