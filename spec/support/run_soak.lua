-- Random calls of the host API for SOAK_SECONDS (10), on the devices that SOAK_DEVICES lists (cpu,
-- sim), from the seed SOAK_SEED (1): right values, and all memory returned.  Not found by itself:
-- named on the command line.
local roc = require "roc"
local soak = require "support.soak"
local testing = require("roc.core").testing

local WARM <const> = 3000 -- calls that fill caches

local seconds = tonumber(os.getenv("SOAK_SECONDS") or 10)
local seed = tonumber(os.getenv("SOAK_SEED") or 1)
local devices = {}
for name in (os.getenv("SOAK_DEVICES") or "cpu,sim"):gmatch("[^,]+") do
  devices[#devices + 1] = name
end

-- What is held once garbage is collected and the pools are empty.
local function held()
  for _, name in ipairs(devices) do
    local _ <close> = roc.on_device(name)
    roc.current_device():synchronize()
  end
  collectgarbage()
  collectgarbage()
  roc.trim_memory()
  return { blocks = testing.live_blocks(), bytes = roc.memory_info().live }
end

it(("random calls on %s give right values"):format(table.concat(devices, ", ")), function()
  soak.run(seed, devices, function(count) return count == WARM end)
  local before, start, calls = held(), os.time(), 0
  soak.run(seed + 1, devices, function(count)
    calls = count
    return count % 100 == 0 and os.difftime(os.time(), start) >= seconds
  end)
  io.write(("%d calls\n"):format(calls))
  assert.same(before.bytes, held().bytes)
  assert.is_true(held().blocks <= before.blocks + 64, "caches grow")
end)
