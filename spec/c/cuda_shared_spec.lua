-- Runs the C program that shares a GPU's primary context with roclua, one process a test.
local roc = require "roc"
local programs = require "support.programs"

local TITLES = {
  memory = "memory of either is used by the other",
  stream = "work of both runs in the order of a stream",
  context = "each call leaves the thread the context that it had",
  shutdown = "what is the other's outlives roclua",
}

local function has_gpu()
  for _, device in ipairs(roc.devices()) do
    if device.kind == "cuda" then return true end
  end
end

describe("a GPU that another library uses", function()
  local path = programs.find("cuda_shared_test")
  if not path then return pending("cuda_shared_test is not built") end
  if not has_gpu() then return pending("this machine has no NVIDIA GPU") end
  local seen = 0
  for name in assert(io.popen(path)):lines() do
    seen = seen + 1
    it(assert(TITLES[name], name), function()
      local ok, output = programs.run(("ROCLUA_DEVICE=cuda timeout 100 %s %s"):format(path, name))
      assert(ok and output:find("ok " .. name, 1, true), output)
    end)
  end
  assert(seen == 4, "cuda_shared_test lists its tests")
end)
