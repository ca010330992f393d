-- Random kernels, and the comparison of every device with sim on them.
--
--   local case = fuzz.generate(seed)
--   local difference, refusal = fuzz.check(case, { "cpu" })
--
-- The parts: choice (random choices), scope (names in sight), expressions, statements, group (statements of a workgroup), case (all of one),
-- text (its source), run (running and comparing), shrink.
local case = require "support.fuzz.case"
local run = require "support.fuzz.run"
local shrink = require "support.fuzz.shrink"
local text = require "support.fuzz.text"

local M = { generate = case.generate, check = run.check, run = run.run, text = text.of }

-- Makes a case that differs smaller; one that some device refuses does not count.
function M.shrink(failing, devices)
  return shrink.shrink(failing, function(smaller)
    local difference, refusal = run.check(smaller, devices)
    return difference ~= nil and not refusal and not difference:find("refused", 1, true)
  end)
end

return M
