#!/bin/sh
# Starting roclua against starting lua5.4: bench/startup.sh [runs].  Prints milliseconds a start and their ratio.
set -eu
cd "$(dirname "$0")/.."
exec build/release/bin/roclua - "${1:-200}" <<'LUA'
local roc = require "roc"
local runs = tonumber((...))

-- Milliseconds a run; the shell's own loop is the same for both programs.
local function time(command)
  local start = roc.time()
  assert(os.execute(("i=0; while [ $i -lt %d ]; do %s; i=$((i+1)); done"):format(runs, command)))
  return (roc.time() - start) / runs * 1e3
end

local commands = { "build/release/bin/roclua -e ''", "lua5.4 -e ''" }
local best = { math.huge, math.huge }
for _ = 1, 3 do
  for i, command in ipairs(commands) do best[i] = math.min(best[i], time(command)) end
end
for i, command in ipairs(commands) do print(("%-32s %.3f ms"):format(command, best[i])) end
print(("ratio %.2f"):format(best[1] / best[2]))
LUA
