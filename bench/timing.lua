-- What programs of bench/ share: times of our runs, and times that other programs print.
local roc = require "roc"

local timing = {}

-- The least of the times of `repeats` runs in seconds, each until the device is idle. Two runs
-- before them compile the kernels.
function timing.least(run, repeats)
  local device, best = roc.current_device(), math.huge
  for round = -1, repeats do
    local start = roc.time()
    run()
    device:synchronize()
    if round > 0 then best = math.min(best, roc.time() - start) end
  end
  return best
end

-- The number that a command prints first; nil where it prints none.
function timing.number_of(command)
  local pipe <close> = assert(io.popen(command .. " 2>/dev/null"))
  return tonumber(pipe:read("l"))
end

-- The commands run in turn, `rounds` times: of each the least number that it printed, by its
-- place; nil for one that printed none.
function timing.least_in_turn(commands, rounds)
  local times = {}
  for _ = 1, rounds do
    for i, command in ipairs(commands) do
      local took = timing.number_of(command)
      times[i] = took and math.min(took, times[i] or took)
    end
  end
  return times
end

return timing
