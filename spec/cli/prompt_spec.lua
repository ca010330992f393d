-- The prompt in a terminal: the scenarios of spec/cli/prompt, each with the screens that it shows.
local files = require "support.files"
local screen = require "support.screen"
local shell = require "support.shell"

describe("the prompt, on a terminal:", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end
  if not screen.available() then return pending("no tmux") end

  for _, path in ipairs(files.list("spec/cli/prompt", "%.screen$")) do
    local scenario = screen.read(path)
    it(scenario.title, function()
      local expected, shown = screen.run(scenario)
      assert.are.equal(expected, shown)
    end)
  end
end)
