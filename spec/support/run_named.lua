-- The kernels of bench/amdgpu/kernels.lua, by their names: each gives on the default device what it
-- gives on cpu, checked and unchecked.  Not found by itself: named on the command line.
package.path = "bench/amdgpu/?.lua;" .. package.path
local bytes_of = require "inputs"
local roc = require "roc"
local rows = require "kernels"

-- The first element that is another; floats of two devices differ by what they contract.
local function difference(expected, got)
  for i = 1, math.max(#expected, #got) do
    local e, g = expected[i], got[i]
    local is_near = e == g or math.abs(e - g) <= 1e-4 * math.max(math.abs(e), math.abs(g), 1e-2)
    if not is_near then return ("element %d: %s, not %s"):format(i, g, e) end
  end
  return "none"
end

local function run(row, check, inputs)
  local args, result = { table.unpack(row.first or {}) }, nil
  for i, spec in ipairs(row.arrays) do
    local array = roc.to_device(roc.frombytes(inputs[i], spec[1], spec[2]))
    if i == row.result then result = array end
    table.insert(args, array)
  end
  for _, scalar in ipairs(row.scalars or {}) do table.insert(args, scalar) end
  row.make(check):launch({ grid = row.grid, workgroup = row.workgroup }, table.unpack(args))
  return result:copy_to_host():ravel()
end

describe("the kernel", function()
  for _, row in ipairs(rows) do
    it(row.name .. " gives what it gives on cpu", function()
      local inputs, expected = {}, nil
      for i, spec in ipairs(row.arrays) do inputs[i] = bytes_of(spec) end
      do
        local scope <close> = roc.on_device "cpu"
        expected = run(row, true, inputs)
      end
      for _, check in ipairs { true, false } do
        assert.equal("none", difference(expected, run(row, check, inputs)))
      end
    end)
  end
end)
