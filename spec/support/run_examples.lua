-- The examples as specs of their own, so that a helper of busted sees the kernels they launch.
-- Not found by itself: named on the command line.
local examples = require "support.examples"
local files = require "support.files"

describe("the example", function()
  for _, path in ipairs(files.list("examples", "^examples/[^/]+%.lua$")) do
    local name = path:match("([^/]+)%.lua$")
    it(name .. " runs", function()
      local out, own_arg, own_print = os.tmpname(), _G.arg, _G.print
      finally(function()
        os.remove(out)
        os.remove(out .. ".png")
        _G.arg, _G.print = own_arg, own_print -- luacheck: ignore 122
      end)
      local words = { [0] = path }
      for word in assert(examples[name], name)[1]:gsub("OUT", out):gmatch("%S+") do
        words[#words + 1] = word
      end
      _G.arg, _G.print = words, function() end -- luacheck: ignore 122
      assert(loadfile(path))(table.unpack(words))
    end)
  end
end)
