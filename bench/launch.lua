-- What a launch costs the thread that makes it: build/release/bin/roclua-spec bench/launch.lua
--
-- For each device and kernel, a launch through a kept k[cfg], in nanoseconds (the least of a
-- hundred rounds) and in bytes of Lua memory.  On null nothing runs, so that row is the overhead
-- itself: reading arguments and captures, finding the specialisation, queueing.  On cpu so small a
-- grid runs on the calling thread, so that row has the kernel in it.  The peer is a C function that
-- checks three device arrays and returns: what Lua charges for any call of the kind.  The rows "in
-- C" are those of a C program that calls roclua_kernel_launch, on one thread.  On hsa, where
-- there is an AMD GPU or ROCLUA_EMULATE names one, the peer is a C program that copies the
-- arguments, writes the packet and rings the doorbell; the least round is one in which the queue
-- was never full.
local roc = require "roc"
local core = require "roc.core"

if not core.testing then error("call this by roclua-spec, whose hooks it needs", 0) end

local ROUNDS, LAUNCHES = 100, 2000 -- short rounds, so that one of them is undisturbed

local function three(a, b, c)
  local i = roc.get_global_id(1)
  if i <= #c then c[i] = a[i] + b[i] end
end

local function nothing() end

-- The least nanoseconds of f(...), and the bytes of Lua memory, a call.
local function measure(f, ...)
  collectgarbage()
  collectgarbage("stop")
  local bytes, best = collectgarbage("count"), math.huge
  for _ = 1, ROUNDS do
    local start = roc.time()
    for _ = 1, LAUNCHES do f(...) end
    best = math.min(best, roc.time() - start)
  end
  bytes = (collectgarbage("count") - bytes) * 1024
  collectgarbage("restart")
  return best / LAUNCHES * 1e9, bytes / LAUNCHES / ROUNDS
end

local function arrays()
  local function make() return roc.device_array(64, "float32") end
  return make(), make(), make()
end

local function report(device, name, nanoseconds, bytes, peer)
  print(("%-6s %-28s %8.0f ns %8.2f bytes %7.1f x"):format(device, name, nanoseconds, bytes,
    nanoseconds / peer))
end

local peer = measure(core.testing.check_arrays, arrays())
print("device launched                          a launch    Lua memory    C call")
report("-", "C function, 3 arrays checked", peer, 0, peer)
for _, device in ipairs { "null", "cpu" } do
  local scope <close> = roc.on_device(device)
  local a, b, c = arrays()
  local ns, bytes = measure(roc.kernel(three)[{ 1, 64 }], a, b, c)
  report(device, "c[i] = a[i] + b[i], 64 items", ns, bytes, peer)
  ns, bytes = measure(roc.kernel(nothing)[{ 1, 64 }])
  report(device, "nothing, 64 items", ns, bytes, peer)
  roc.current_device():synchronize()
end

local LIBRARIES = arg[-1]:match("^(.*)/bin/") .. "/lib"

local function has_program(command)
  return os.execute("mkdir -p build/bench") and os.execute(command) or false
end

if has_program(("gcc -O2 bench/peers/c_launch.c -o build/bench/c_launch -Isrc/include -L%s "
  .. "-lroclua -Wl,-rpath,%s $(pkg-config --cflags --libs lua5.4) -lpthread"):format(LIBRARIES,
  LIBRARIES)) then
  for _, device in ipairs { "null", "cpu" } do
    local pipe <close> = assert(io.popen("build/bench/c_launch " .. device))
    local three_arrays, none = pipe:read("n", "n")
    report(device, "c[i] = a[i] + b[i], in C", three_arrays, 0, peer)
    report(device, "nothing, in C", none, 0, peer)
  end
end

-- Nanoseconds of a bare launch of the kernel on the first GPU, or nil without a compiler or ROCR.
local function bare_launch(kernel, ...)
  local object = kernel:compile(roc.current_device().arch, ...)
  local path, program = "build/bench/launch.hsaco", "build/bench/hsa_launch"
  assert(os.execute("mkdir -p build/bench"))
  object:save(path)
  if not has_program("gcc -O2 bench/peers/hsa_launch.c -o " .. program .. " -lhsa-runtime64") then
    return nil
  end
  local libraries = LIBRARIES .. "/roclua/0" -- for ROCLUA_EMULATE
  local command = os.getenv("ROCLUA_EMULATE") and "LD_LIBRARY_PATH=" .. libraries .. " " or ""
  local pipe <close> = assert(io.popen(("%s%s %s %s %d"):format(command, program, path,
    object.entry, object.kernarg_bytes + 16)))
  return tonumber(pipe:read("l"))
end

local function measure_hsa(name, kernel, types, ...)
  local bare = bare_launch(kernel, table.unpack(types))
  if bare then report("hsa", "packet and doorbell in C", bare, 0, bare) end
  local device, launch = roc.current_device(), kernel[{ 1, 64 }]
  launch(...)
  device:synchronize()
  local ns, bytes = measure(launch, ...)
  report("hsa", name, ns, bytes, bare or ns)
  device:synchronize()
end

local has_gpu, scope = pcall(roc.on_device, "hsa")
if has_gpu then
  local array = "float32[:]"
  measure_hsa("c[i] = a[i] + b[i], 64 items", roc.kernel(three), { array, array, array }, arrays())
  measure_hsa("nothing, 64 items", roc.kernel(nothing), {})
  scope:close()
else
  print("hsa    no rows: " .. tostring(scope))
end
