-- Output handler of busted: its plain one, or its coloured one on a terminal, then one line to be
-- read by scripts. Also fails tests without an assertion.
local asserted = require "support.asserted"
local term = require "term"

return function(options)
  local busted = require "busted"
  local name = term.isatty(io.stdout) and "utfTerminal" or "plainTerminal"
  local handler = require("busted.outputHandlers." .. name)(options)
  asserted.require_all(busted)

  busted.subscribe({ "exit" }, function()
    local passed = handler.successesCount
    local failed = handler.failuresCount + handler.errorsCount
    io.write(("%d passed, %d failed, %d skipped\n"):format(passed, failed, handler.pendingsCount))
    io.flush()
    return nil, true
  end)

  return handler
end
