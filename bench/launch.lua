-- What a launch costs the Lua thread: build/release/bin/roclua bench/launch.lua Prints, for the
-- device that does nothing and for the cpu, microseconds and bytes of Lua memory a launch through
-- k[cfg] with three arrays.
local roc = require "roc"
local system = require "system"

local LAUNCHES = 100000

local function measure(name)
  local scope <close> = roc.on_device(name)
  local a, b, c = roc.device_array(64, "float32"), roc.device_array(64, "float32"), roc.device_array(64, "float32")
  local add = roc.kernel(function(a, b, c)
    local i = roc.get_global_id(1)
    if i <= #c then c[i] = a[i] + b[i] end
  end)
  local launch = add[{ 1, 64 }]
  local device = roc.current_device()
  launch(a, b, c)
  device:synchronize()

  collectgarbage()
  collectgarbage("stop")
  local bytes = collectgarbage("count")
  local start = system.monotime()
  for _ = 1, LAUNCHES do launch(a, b, c) end
  local seconds = system.monotime() - start
  bytes = (collectgarbage("count") - bytes) * 1024
  collectgarbage("restart")
  device:synchronize()
  print(("%-5s %8.3f µs %8.2f bytes"):format(name, seconds / LAUNCHES * 1e6, bytes / LAUNCHES))
end

measure("null")
measure("cpu")
