-- What is known of one family of targets alone stays in its files: elsewhere the facts of
-- src/base/target.h are asked.
local files = require "support.files"

local WORDS = { "gfx", "amdgpu", "hsaco", "vgpr", "roc_gpu_chip", "nvptx", "ptxas", "libclc" }

-- Folders and files that are a family's: base/amdgpu_*, codegen/amdgpu/, testing/amdgpu.c, the
-- device, the software GPU, and likewise.
local OWN = { "amdgpu", "nvptx", "^src/device/hsa/", "^src/device/cuda/", "^src/emulator/" }

-- file -> the words that it may have, with the reason
local ALLOWED = {
  ["lua/roc/aot.lua"] = { "gfx", "hsaco" }, -- examples in the help text
  ["lua/roc/meta/kernels.lua"] = { "gfx", "amdgpu", "vgpr", "hsaco", "ptxas" }, -- k:resources()
  ["lua/roc/meta/modules.lua"] = { "gfx", "hsaco" }, -- an example
  ["lua/roc/meta/streams.lua"] = { "gfx" }, -- what device.arch is
  ["src/cli/main.c"] = { "gfx" }, -- an example in the help text; what --stats emulates
  ["src/CMakeLists.txt"] = { "amdgpu", "libclc" }, -- the software GPU's disassembler, math
  ["src/testing/hooks.c"] = { "amdgpu" }, -- the hooks of testing/amdgpu.c
  ["src/testing/testing.h"] = { "amdgpu" },
  -- Left: what shared code of codegen does for one family.
  ["src/codegen/compile.c"] = { "amdgpu" }, -- files of the device library
  ["src/codegen/llvm/machine.c"] = { "amdgpu" }, -- options of LLVM
}

-- Numbers that only a vendor's assembler tells.
local MAY_BE_UNKNOWN = { registers = true, private_bytes = true, spills = true }

local function is_own(path)
  for _, pattern in ipairs(OWN) do
    if path:find(pattern) then return true end
  end
  return path:find("%.def$") ~= nil
end

local function may_have(path, word)
  for _, each in ipairs(ALLOWED[path] or {}) do
    if each == word then return true end
  end
  return false
end

describe("the sources", function()
  it("name what is a family's only in its own files and in tables", function()
    local complaints, count = {}, 0
    for _, folder in ipairs { "src", "lua" } do
      for _, path in ipairs(files.list(folder)) do
        count = count + 1
        local text = is_own(path) and "" or files.read(path):lower()
        for _, word in ipairs(WORDS) do
          if text:find(word, 1, true) and not may_have(path, word) then
            complaints[#complaints + 1] = ("%s: '%s'"):format(path, word)
          end
        end
      end
    end
    assert.is_true(count > 0)
    assert.are.equal("", table.concat(complaints, "\n"))
  end)

  it("compare no target's name with a literal", function()
    local complaints = {}
    for _, path in ipairs(files.list("src", "%.[ch]$")) do
      for line in files.read(path):gmatch("[^\n]+") do
        local name = line:match('str%a*cmp%([^)]*[tT]arget[^)]*, "([^"]*)"')
          or line:match('str%a*cmp%([^)]*arch[^)]*, "([^"]*)"')
        if name and not is_own(path) then
          complaints[#complaints + 1] = ("%s: '%s'"):format(path, name)
        end
      end
    end
    assert.are.equal("", table.concat(complaints, "\n"))
  end)
end)

describe("the facts of targets", function()
  local core = require "roc.core"

  it("are there for every name that is listed", function()
    local names = core.targets()
    assert.is_true(#names > 0)
    for _, name in ipairs(names) do
      local facts = core.target_facts(name)
      assert.is_nil(core.check_target(name), name)
      assert.matches("^%.%l+$", facts.object_ending)
      assert.are.equal(#facts.numbers > 0, facts.occupancy_title ~= nil)
      assert.is_true(#facts.numbers == 0 or #facts.limits > 0)
    end
  end)

  it("are not there for other names", function()
    for _, name in ipairs { "", "cpux", "gfx90", "gfx90a:", "sm_9", "sm_90:" } do
      assert.is_nil(core.target_facts(name), name)
    end
  end)

  it("have the keys of k:resources() as their numbers", function()
    local roc = require "roc"
    local k = roc.kernel("function(x) x[1] = 1 end", { signature = "(float32[:])" })
    for _, name in ipairs(core.targets()) do
      local numbers = core.target_facts(name).numbers
      if #numbers > 0 then
        local resources = k:resources(name)
        for _, number in ipairs(numbers) do
          local value = resources[number.name]
          local is_told = value ~= nil or not MAY_BE_UNKNOWN[number.name]
          assert.are.equal(is_told and "integer" or nil, math.type(value), number.name)
        end
      end
    end
  end)
end)
