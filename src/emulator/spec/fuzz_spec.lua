-- The software GPU against kernels that no compiler made, and against memory that runs out.
local files = require "support.files"
local programs = require "support.programs"

local fuzz, memory = programs.find("emulator_fuzz_test"), programs.find("emulator_memory_test")
local rocluac = programs.find("rocluac")

local KERNEL = [[
local roc = require "roc"
roc.kernel(function(x, y, n)
  local i, sum = roc.get_global_id(1), 0.0
  for k = 1, n do sum = sum + x[k] * math.sin(y[i]) end
  roc.atomic.add(x, 1, sum)
  y[i] = sum
end, { name = "f", signature = "(float32[:], float32[:], int32)", check = false })
]]

describe("the emulator", function()
  if not fuzz or not memory then return pending("its tests are not built") end

  local function count(output)
    local counts, sum = {}, 0
    for how, number in output:gmatch("(%a+) (%d+)\n") do
      counts[how], sum = tonumber(number), sum + tonumber(number)
    end
    return counts, sum
  end

  for _, chip in ipairs { "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201" } do
    it("ends every kernel of random words and descriptors on " .. chip, function()
      local output, succeeded = files.run(("%s %s 1 400"):format(fuzz, chip))
      assert(succeeded, output)
      local counts, sum = count(output)
      assert.are.equal(400, sum)
      assert(counts.illegal > 0 and counts.packet > 0, output)
    end)

    it("ends every compiled kernel with some bytes changed on " .. chip, function()
      if not rocluac then return pending("rocluac is not built") end
      local folder = os.tmpname()
      os.remove(folder)
      assert(os.execute("mkdir " .. folder))
      local file = assert(io.open(folder .. "/kernel.lua", "w"))
      file:write(KERNEL)
      file:close()
      local made, succeeded = files.run(
        ("cd %s && %s -t %s -o f-%s.hsaco kernel.lua"):format(folder, rocluac, chip, chip))
      assert(succeeded, made)
      local output, ended = files.run(
        ("%s %s 1 400 %s/f-%s.hsaco"):format(fuzz, chip, folder, chip))
      os.execute("rm -rf " .. folder)
      assert(ended, output)
      local _, sum = count(output)
      assert.are.equal(400, sum)
    end)
  end

  it("survives the failure of each of its allocations, and leaks nothing", function()
    local output, succeeded = files.run(memory)
    assert(succeeded, output)
    assert(tonumber(output:match("(%d+) allocations failed")) > 50, output)
  end)
end)
