-- Random kernels, and the comparison of every device with sim on them.
--
--   local case = fuzz.generate(seed)
--   local difference, refusal = fuzz.check(case, { "cpu" })
--   local message = fuzz.compile(case, { "gfx90a", "gfx1030" })
--
-- The parts: choice (random choices), scope (names in sight), expressions, places (where an item
-- stores), statements, checks (statements that may fail), group (statements of a workgroup),
-- strides (loops by the size of the grid), flat (rows of rows in arrays of one dimension), tiles
-- (sums that items keep in registers), case (all of one), text (its source), run (running and
-- comparing), shrink.
local case = require "support.fuzz.case"
local run = require "support.fuzz.run"
local shrink = require "support.fuzz.shrink"
local text = require "support.fuzz.text"

local M = { generate = case.generate, check = run.check, compile = run.compile, run = run.run,
  text = text.of }

-- Makes a case that does not compile for `targets` smaller.
function M.shrink_compile(failing, targets)
  return shrink.shrink(failing, function(smaller)
    return run.compile(smaller, targets) ~= nil
  end)
end

-- Makes a case that differs smaller; one that some device refuses does not count.
function M.shrink(failing, devices)
  return shrink.shrink(failing, function(smaller)
    local difference, refusal = run.check(smaller, devices)
    return difference ~= nil and not refusal and not difference:find("refused", 1, true)
  end)
end

return M
