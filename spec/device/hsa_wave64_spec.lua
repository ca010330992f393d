-- Wavefronts of 64 on an AMD GPU whose own are of 32: what the device says of itself, and the
-- conformance specs that depend on the width, in processes of their own.
local devices = require "support.devices"
local shell = require "support.shell"

local GPU = "ROCLUA_EMULATE=gfx1030 ROCLUA_DEVICE=hsa ROCLUA_WAVEFRONT="

describe("on gfx10 and later, ROCLUA_WAVEFRONT=64", function()
  if not shell.interpreter then return pending("not run by roclua") end
  if devices.missing then return pending(devices.missing) end

  local SCRIPT = [[
    local roc = require "roc"
    local d = roc.current_device()
    local k = roc.kernel("function(x) x[roc.get_global_id(1)] = roc.wavefront_size() end",
      { env = { roc = roc } })
    local x = roc.to_device(roc.zeros(3, "int64"))
    k:forall(3)(x)
    print(d.arch, d.wavefront_size, x[1], x[3], k:resources().wavefront_size)]]

  local function show(environment)
    return (shell.run(("%s ROCLUA -e '%s'"):format(environment, SCRIPT)))
  end

  it("makes wavefronts of 64, in name and in deed", function()
    assert.are.equal("gfx1030:wavefrontsize64\t64\t64\t64\t64\n", show(GPU .. "64"))
    assert.are.equal("gfx1030\t32\t32\t32\t32\n", show(GPU .. "32"))
    assert.are.equal("gfx1030\t32\t32\t32\t32\n", show(GPU))
  end)

  it("leaves gfx9 its only width", function()
    local output = show("ROCLUA_EMULATE=gfx90a ROCLUA_DEVICE=hsa ROCLUA_WAVEFRONT=32")
    assert.matches("^gfx90a[^\t]*\t64\t64\t64\t64\n$", output)
  end)

  it("is refused when it is neither 32 nor 64", function()
    assert.is_truthy(show(GPU .. "48"):find("ROCLUA_WAVEFRONT is '48', expected 32 or 64", 1, true))
  end)

  for _, name in ipairs { "group", "control", "atomic", "check", "meeting" } do
    it(("passes spec/cts/%s_spec.lua"):format(name), function()
      local output, status = shell.run(
        ("%s64 ROCLUA_SPEC spec/run.lua --filter='on hsa' spec/cts/%s_spec.lua"):format(GPU, name))
      assert.are.equal(0, status, output)
      assert.is_true(tonumber(output:match("(%d+) passed")) > 5, output)
    end)
  end
end)
