-- A few random kernels of the fuzzer, the same ones in every run: each device against sim, and sim
-- against plain Lua.
local roc = require "roc"
local fuzz = require "support.fuzz"

local FIRST, COUNT = 1, 60

describe("random kernels", function()
  for _, device in ipairs(roc.devices()) do
    if device.kind ~= "sim" then
      it("give on " .. device.kind .. " what they give on sim", function()
        local refused = {}
        for seed = FIRST, FIRST + COUNT - 1 do
          local difference, refusal = fuzz.check(fuzz.generate(seed), { device.kind })
          assert.is_nil(difference)
          refused[#refused + 1] = refusal
        end
        assert(#refused <= COUNT // 50, refused[1])
      end)
    end
  end
end)
