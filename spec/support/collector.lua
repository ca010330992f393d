-- A helper for busted that makes the collector hostile, so that what is collected too early, or in
-- an order that nothing promises, is seen:
--
--   roclua-spec spec/run.lua --helper=spec/support/collector.lua spec/runtime
--   roclua-spec spec/run.lua --helper=spec/support/collector.lua -Xhelper generational spec/runtime
--
-- Incremental, it never rests: after each KiB of allocation it marks or sweeps some thousands of
-- objects, so that a cycle is over after a few KiB. (Were a step as large as the heap, each
-- allocation would make a whole cycle, and the specs would take hours.) Generational, it takes the
-- young objects after each hundredth of growth. A whole collection follows each test, and an error
-- in a finalizer is shown as Lua's warning.
local busted = require "busted"

local MODES <const> = {
  incremental = function() collectgarbage("incremental", 10, 200, 10) end,
  generational = function() collectgarbage("generational", 1, 10) end,
}

local name = arg and arg[1] or "incremental"
local set_mode = MODES[name]
  or error(("no collector is called '%s'; write incremental or generational"):format(name))

warn "@on"
set_mode()
busted.subscribe({ "test", "end" }, function()
  collectgarbage()
  set_mode() -- the test may have left another
  return nil, true
end)
