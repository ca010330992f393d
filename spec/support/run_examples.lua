-- The examples as specs of their own, so that a helper of busted sees the kernels they launch.
-- Not found by itself: named on the command line.
local examples = require "support.examples"
local roc = require "roc"

describe("the example", function()
  for name, case in pairs(examples) do
    it(name .. " runs", function()
      local missing = case.needs_lapack and select(2, roc.linalg.library())
      if missing then return pending(missing) end
      local out, own_arg, own_print = os.tmpname(), _G.arg, _G.print
      finally(function()
        os.remove(out)
        os.remove(out .. ".png")
        _G.arg, _G.print = own_arg, own_print -- luacheck: ignore 122
      end)
      local path = ("examples/%s.lua"):format(name)
      local words = { [0] = path }
      for word in case[1]:gsub("OUT", out):gmatch("%S+") do
        words[#words + 1] = word
      end
      _G.arg, _G.print = words, function() end -- luacheck: ignore 122
      assert(loadfile(path))(table.unpack(words))
    end)
  end
end)
