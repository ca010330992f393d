-- A few random kernels of the fuzzer, the same ones in every run: each device against sim, and sim
-- against the untouched functions in the Lua VM.
local roc = require "roc"
local fuzz = require "support.fuzz"

-- Kernels that the compiler refuses are wasted: at most one in fifty.
local function compare(first, count, kinds)
  local refused = {}
  for seed = first, first + count - 1 do
    local difference, refusal = fuzz.check(fuzz.generate(seed), kinds)
    assert.is_nil(difference)
    refused[#refused + 1] = refusal
  end
  assert(#refused <= count // 50, refused[1])
end

describe("random kernels", function()
  for _, device in ipairs(roc.devices()) do
    if device.kind ~= "sim" then
      it("give on " .. device.kind .. " what they give on sim", function()
        compare(1, 50, { device.kind })
      end)
    end
  end

  it("give on sim what their functions give in Lua", function()
    compare(1000, 200, {})
  end)
end)
