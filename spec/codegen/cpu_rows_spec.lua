-- Kernels whose items know no row: the entry is called for each row of a launch, and has neither
-- the place of a workgroup nor a loop over rows (base/codeobj.h: goes_by_rows).
local roc = require "roc"
local devices = require "support.devices"
local testing = require("roc.core").testing

local function make(body)
  return roc.kernel("function(x, o, n) local i = roc.get_global_id(1) " .. body .. " end",
    { env = { roc = roc }, name = "k", signature = "(float32[:], float32[:], int64)" })
end

-- Whether the code divides for the place of a workgroup.
local function divides(body)
  return make(body):inspect_llvm("cpu"):find("urem i64 %g,", 1, true) ~= nil
end

local SCALE = "o[i] = x[i] * 2 + n"

describe("a kernel goes by rows on cpu", function()
  it("where no item knows its row, and the order of workgroups is free", function()
    assert.is_false(divides(SCALE))
    assert.is_false(divides("if i > n then return end local s = 0 "
      .. "while s * s < i do s = s + 1 end o[i] = s"))
    assert.is_false(divides "o[i] = roc.get_local_id(1) + roc.get_group_id(1)")
    assert.is_false(divides "o[i] = roc.get_global_size(2) + roc.get_local_size(3)")
    assert.is_false(divides "roc.atomic.add(o, 1, 1)")
    assert.is_true(divides "o[i] = roc.get_global_id(2)")
    assert.is_true(divides "if roc.get_local_id(3) == 1 then o[i] = 1 end")
    assert.is_true(divides "o[i] = roc.atomic.add(o, 1, 1)")
    assert.is_true(divides "print(i)")
    assert.is_true(divides "o[i] = x[i] roc.barrier() x[i] = o[i + 1]")
  end)

  local GRIDS = { { 100 }, { 100, 3 }, { 100, 2, 3 }, { 1, 90 }, { 3, 9, 9 }, { 103, 3, 2 },
    { 2, 1 << 40, 0 } }
  local WORKGROUPS = { { 16, 1, 1 }, { 7, 2, 3 }, { 1, 32, 2 }, { 128, 1, 2 } }

  local function run(device, kernel, grid, workgroup)
    local scope <close> = roc.on_device(device)
    local x, o = roc.ones(100, "float32"), roc.zeros(100, "float32")
    local ok, why = pcall(function()
      local group = { table.unpack(workgroup, 1, #grid) }
      kernel:launch({ grid = grid, workgroup = group }, x, o, 3)
      roc.current_device():synchronize()
    end)
    return { ok, tostring(why), o:sum() }
  end

  for _, body in ipairs {
    SCALE, "if i > 90 then return end " .. SCALE, "roc.atomic.add(o, (i & 7) + 1, 1)",
    "o[i] = roc.get_local_id(1) + roc.get_global_size(2) * roc.get_num_groups(3)",
  } do
    it("with the results and faults of sim: " .. body, function()
      local kernel = make(body)
      for _, grid in ipairs(GRIDS) do
        for _, workgroup in ipairs(WORKGROUPS) do
          assert.same(run("sim", kernel, grid, workgroup), run("cpu", kernel, grid, workgroup))
        end
      end
    end)
  end

  it("when it is known to be short, too", function()
    local kernel, x = make "roc.atomic.add(o, (i & 3) + 1, n)", roc.ones(10, "float32")
    local scope <close> = roc.on_device "cpu"
    local o = roc.zeros(4, "float32")
    for _ = 1, 20 do kernel:launch({ grid = { 8, 3, 2 }, workgroup = { 4, 2, 1 } }, x, o, 1) end
    assert.same({ 240, 240, 240, 240 }, o:totable())
  end)

  devices.use "cpu"

  it("until it is interrupted, however short its rows are", function()
    local device = roc.current_device()
    local o = roc.to_device(roc.zeros(8, "float32"))
    for _, workgroup in ipairs { { 1, 1 }, { 1, 512 }, { 8, 8 } } do
      make("o[i] = n"):launch({ grid = { 8, 1 << 40 }, workgroup = workgroup }, o, o, 1)
      testing.interrupt()
      assert.is_false((pcall(device.synchronize, device)))
      device:synchronize()
    end
    assert.equal(1, o[8])
  end)
end)
