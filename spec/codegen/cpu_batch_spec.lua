-- Workgroups that run a grid-stride loop side by side: which kernels do, and that the results stay
-- those of the reference, group by group, whatever the sizes.
local roc = require "roc"

-- Every feature that has a part in it: a private array and a shared one that is filled before the
-- loop, a loop of different lengths per item and group, a shared array that is read behind it.
local function make(check, dtype)
  return roc.kernel(function(out, x, bias)
    local part = roc.shared.array(64, dtype)
    local more = roc.shared.array(0, dtype)
    local mine = roc.private.array(2, dtype)
    local item, group = roc.get_local_id(1), roc.get_group_id(1)
    local size = roc.get_local_size(1)
    local present = math.min(size, roc.get_global_size(1) - (group - 1) * size)
    local other = present + 1 - item
    part[item] = dtype(group)
    more[item] = dtype(item)
    roc.barrier()
    local acc = dtype(bias)
    mine[1] = dtype(0)
    for i = roc.get_global_id(1), #x - group % 3, roc.get_global_size(1) do
      acc = acc * dtype(3) + x[i]
      mine[1] = mine[1] + part[other]
    end
    roc.barrier()
    part[item] = acc + more[other]
    roc.barrier()
    if item % 2 == 0 then return end
    out[roc.get_global_id(1)] = part[other] + mine[1]
  end, { check = check, contract = false })
end

-- What a launch leaves in an array of `grid` elements.
local function run(device, kernel, dtype, grid, workgroup, n)
  local scope <close> = roc.on_device(device)
  local x = roc.to_device(roc.range(1, n, 1, "int64"):astype(dtype))
  local out = roc.to_device(roc.zeros(grid, dtype))
  local shared = workgroup * roc[dtype].itemsize
  kernel:launch({ grid = grid, workgroup = workgroup, shared = shared }, out, x, 2)
  return out:copy_to_host():totable()
end

-- { work-items, workgroup, elements }: whole groups and partial ones, fewer elements than items and
-- many times more, more groups than one batch takes and just one.  (What has never run is given out
-- group by group, so the first is small.)
local SIZES = {
  { 64, 64, 1 }, { 640, 16, 5000 }, { 1344, 64, 4999 }, { 64, 64, 1000 }, { 1000, 64, 999 },
  { 673, 32, 9000 }, { 50, 1, 700 },
}

for _, check in ipairs { true, false } do
  for _, dtype in ipairs { "int64", "float32" } do
    local title = ("a grid-stride loop over %s, check=%s,"):format(dtype, check)
    describe(title, function()
      local kernel = make(check, roc[dtype])
      for _, size in ipairs(SIZES) do
        local grid, workgroup, n = table.unpack(size)
        it(("by %d work-items in groups of %d over %d elements is as on sim")
          :format(grid, workgroup, n), function()
          assert.same(run("sim", kernel, dtype, grid, workgroup, n),
            run("cpu", kernel, dtype, grid, workgroup, n))
        end)
      end
    end)
  end
end

describe("groups side by side", function()
  local function kernel_of(f) return roc.kernel(f, { signature = "(int64[:], int64[:])" }) end

  local function is_batched(kernel)
    return kernel:inspect_llvm("cpu"):find("row.work", 1, true) ~= nil
  end

  it("run loops that go on by the size of the grid, checked ones too", function()
    assert.is_true(is_batched(kernel_of(function(out, x)
      local i, sum = roc.get_global_id(1), 0
      for k = i, #x, roc.get_global_size(1) do sum = sum + x[k] end
      if i <= #out then out[i] = sum end
    end)))
  end)

  it("do not run loops that each item has for itself", function()
    assert.is_false(is_batched(kernel_of(function(out, x)
      local i, sum = roc.get_global_id(1), 0
      for k = 1, #x do sum = sum + x[k] end
      if i <= #out then out[i] = sum end
    end)))
  end)

  it("do not run loops that come after items that end", function()
    assert.is_false(is_batched(kernel_of(function(out, x)
      local i, sum = roc.get_global_id(1), 0
      if x[i % 7 + 1] == 3 then return end
      for k = i, #x, roc.get_global_size(1) do sum = sum + x[k] end
      if i <= #out then out[i] = sum end
    end)))
  end)

  it("count rows of several dimensions", function()
    local kernel = roc.kernel(function(out, x)
      local acc = roc.get_local_id(2) * 1000 + roc.get_group_id(2)
      for k = roc.get_global_id(1), #x, roc.get_global_size(1) do acc = acc * 3 + x[k] end
      out[roc.get_global_id(2)][roc.get_global_id(1)] = acc
    end)
    local results = {}
    for _, name in ipairs { "sim", "cpu" } do
      local scope <close> = roc.on_device(name)
      local x = roc.to_device(roc.range(1, 700, 1, "int64"))
      local out = roc.to_device(roc.zeros({ 7, 90 }, "int64"))
      for _ = 1, 2 do kernel:launch({ grid = { 90, 7 }, workgroup = { 8, 3 } }, out, x) end
      results[name] = out:copy_to_host():totable()
    end
    assert.same(results.sim, results.cpu)
  end)

  it("hand a group whose checks fail to the version that has them", function()
    local scope <close> = roc.on_device("cpu")
    local kernel = roc.kernel(function(out, x)
      local i, sum = roc.get_global_id(1), 0
      for k = i, 1000, roc.get_global_size(1) do sum = sum + x[k] end
      out[i] = sum
    end)
    local out = roc.device_array(320, "int64")
    kernel:launch({ grid = 320, workgroup = 32 }, out, roc.to_device(roc.ones(1000, "int64")))
    out:fill(0)
    local x = roc.to_device(roc.ones(980, "int64"))
    kernel:launch({ grid = 320, workgroup = 32 }, out, x)
    local ok, message = pcall(out.copy_to_host, out)
    assert.is_false(ok)
    assert.truthy(tostring(message):find("out of range 1..980 of 'x'", 1, true), message)
    local host = out:copy_to_host()
    for i = 1, 320 do
      local last = i + (1000 - i) // 320 * 320
      assert.equal(last > 980 and 0 or (1000 - i) // 320 + 1, host[i])
    end
  end)

  it("end before the first group whose checks fail", function()
    local scope <close> = roc.on_device("cpu")
    local kernel = roc.kernel(function(out, x)
      local i, sum = roc.get_global_id(1), 0
      for k = i, #x, roc.get_global_size(1) do sum = sum + x[k] end
      out[i] = sum
    end)
    local x = roc.to_device(roc.ones(1000, "int64"))
    kernel:launch({ grid = 320, workgroup = 32 }, roc.device_array(320, "int64"), x)
    assert.is_true(is_batched(kernel))
    local out = roc.to_device(roc.zeros(170, "int64"))
    kernel:launch({ grid = 320, workgroup = 32 }, out, x)
    local ok, message = pcall(out.copy_to_host, out)
    assert.is_false(ok)
    assert.truthy(tostring(message):find("out of range 1..170 of 'out'", 1, true), message)
    assert.truthy(tostring(message):find("and 149 more", 1, true), message)
    local host = out:copy_to_host()
    for i = 1, 170 do assert.equal((1000 - i) // 320 + 1, host[i]) end
  end)
end)
