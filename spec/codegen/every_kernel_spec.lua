-- Every kernel of the kernel library, the examples and the conformance suite, with the types it is
-- launched with, for the GPUs of AMD and of NVIDIA.
local shell = require "support.shell"

local function compile(family, share, specs)
  local output =
    shell.run(("ROCLUA_CACHE=off ROCLUA_SPEC_FAMILY=%s ROCLUA_SPEC_SHARE=%s ROCLUA_SPEC "
    .. "spec/run.lua --helper=spec/support/compile_all.lua %s")
    :format(family, share, specs))
  local objects, kernels, failures = output:match(
    "compiled (%d+) objects of (%d+) kernels, (%d+) failures")
  assert.is_truthy(objects, output)
  local messages = {}
  for line in output:gmatch("FAILED [^\n]*") do messages[#messages + 1] = line end
  assert.are.equal("", table.concat(messages, "\n"))
  assert.are.equal("0", failures)
  assert.matches(" 0 failed, 0 skipped\n$", output)
  return tonumber(objects), tonumber(kernels)
end

local EXAMPLES = "spec/support/run_examples.lua "

describe("every kernel #amdgpu", function()
  it("of the library, the examples, memory and groups compiles for some target", function()
    if not shell.interpreter then return pending("needs roclua") end
    local objects, kernels = compile("amdgpu", "some",
      EXAMPLES .. "spec/kernels spec/cts/memory_spec.lua spec/cts/group_spec.lua")
    assert.is_true(kernels > 50, kernels)
    assert.are.equal(kernels, objects)
  end)

  it("compiles for every target, checked and unchecked #slow", function()
    if not shell.interpreter then return pending("needs roclua") end
    local objects, kernels = compile("amdgpu", "all", EXAMPLES .. "spec/kernels spec/cts")
    assert.is_true(kernels > 200, kernels)
    assert.are.equal(34 * kernels, objects)
  end)
end)

describe("every kernel for NVIDIA GPUs", function()
  it("of groups, atomics and the library compiles, and ptxas takes it", function()
    if not shell.interpreter then return pending("needs roclua") end
    local objects, kernels = compile("nvptx", "some",
      "spec/kernels spec/cts/atomic_spec.lua spec/cts/group_spec.lua '--filter=on cpu'")
    assert.is_true(kernels > 50, kernels)
    assert.are.equal(kernels, objects)
  end)

  it("compiles for every target, checked and unchecked, and ptxas takes it #slow", function()
    if not shell.interpreter then return pending("needs roclua") end
    local objects, kernels = compile("nvptx", "all", EXAMPLES .. "spec/kernels spec/cts")
    assert.is_true(kernels > 200, kernels)
    assert.are.equal(20 * kernels, objects)
  end)
end)
