-- Kernels with barriers have code for the workgroup of their launch (jit/kernel.c), in which rows
-- have constant lengths (codegen/cpu/groups.c); and guards of every so manyth item around loops
-- (codegen/cpu/rows.c).
local roc = require "roc"

local function shift(check)
  return roc.kernel(function(o, x)
    local t = roc.shared.array({ 16, 64 }, "float32")
    local j, i = roc.grid(2)
    local a, b = roc.get_local_id(1), roc.get_local_id(2)
    local w = roc.get_local_size(1)
    t[b][a] = x[i][j]
    roc.barrier()
    local v = t[b][w - a + 1]
    if a > 1 and a < w then v = v + t[b][a - 1] - t[b][a + 1] end
    o[i][j] = v
  end, { check = check, name = "shift" })
end

local function run(k, device, size, grid)
  local scope <close> = roc.on_device(device)
  local x = roc.zeros({ 48, 64 }, "float32")
  for i = 1, 48 do
    for j = 1, 64 do x[i][j] = i * 7 + j * j % 31 end
  end
  local o = roc.to_device(roc.zeros({ 48, 64 }, "float32"))
  k:launch({ grid = grid, workgroup = size }, o, roc.to_device(x))
  roc.current_device():synchronize()
  return o:copy_to_host():totable()
end

describe("a kernel with barriers", function()
  local SIZES = { { 16, 16 }, { 64, 1 }, { 8, 8 }, { 4, 16 }, { 32, 2 }, { 2, 2 }, { 16, 3 } }

  for _, check in ipairs { true, false } do
    local title = check and "checked" or "unchecked"
    it("has the same results in workgroups of any size, " .. title, function()
      local k, reference = shift(check), shift(check)
      for _, size in ipairs(SIZES) do
        assert.same(run(reference, "sim", size, { 64, 48 }), run(k, "cpu", size, { 64, 48 }))
      end
      local grid, size = { 64, 41 }, { 8, 8 } -- the last workgroups have fewer items
      assert.same(run(reference, "sim", size, grid), run(k, "cpu", size, grid))
    end)
  end

  it("has code for the first few of them, and one for all others", function()
    local k = shift(true)
    for n, size in ipairs(SIZES) do
      run(k, "cpu", size, { 64, 48 })
      run(k, "cpu", size, { 64, 48 })
      assert.equal(math.min(n, 5), select(2, k:specialisations()))
    end
  end)

  it("has rows of constant lengths there, and no check of them", function()
    local k = shift(true)
    run(k, "cpu", { 16, 16 }, { 64, 48 })
    local known = k:inspect_llvm("cpu:x86-64-v3")
    assert.is_falsy(k:inspect_asm("cpu:x86-64-v3"):find("mem[cs]")) -- copies of short rows
    run(k, "cpu", { 8, 8 }, { 64, 41 })
    local any = k:inspect_llvm("cpu:x86-64-v3")
    assert.is_truthy(any:find("llvm.umin", 1, true))
    assert.is_falsy(known:find("llvm.umin", 1, true))
  end)

  it("is told from one without, whose workgroup does not matter", function()
    local k = roc.kernel(function(o)
      local i = roc.get_global_id(1)
      o[i] = i
    end, { name = "plain" })
    local scope <close> = roc.on_device("cpu")
    local o = roc.to_device(roc.zeros(1024, "int32"))
    for _, size in ipairs { 64, 128, 256, 32, 16 } do
      k:launch({ grid = 1024, workgroup = size }, o)
      roc.current_device():synchronize()
    end
    assert.equal(1, select(2, k:specialisations()))
  end)
end)

describe("a loop of every so manyth item", function()
  local function sums(from, every)
    return roc.kernel(([[function(o, x, n)
      local t, w = roc.shared.array(128, "int32"), roc.shared.array(128, "int32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      t[l], w[l] = x[i], 0
      roc.barrier()
      if (l - %d) %% %s == 0 and l <= 100 then
        local s = 0
        for k = 0, 15 do
          s = s + t[l + k]
          w[l + k] = w[l + k] + s
        end
        for k = 1, l // n do s = s - t[k] end
        o[i] = s
      end
      roc.barrier()
      o[i] = o[i] + 3 * w[l]
    end]]):format(from, every), { env = { roc = roc }, name = "sums" })
  end

  for _, form in ipairs { { 1, "16" }, { 3, "32" }, { 1, "n" }, { 2, "(n - 1)" }, { 1, "(-n)" } } do
    it(("from %d on, %s apart"):format(form[1], form[2]), function()
      local results = {}
      for _, device in ipairs { "sim", "cpu" } do
        local scope <close> = roc.on_device(device)
        local x = roc.zeros(256, "int32")
        for i = 1, 256 do x[i] = i * i % 97 - 40 end
        local o = roc.to_device(roc.zeros(256, "int32"))
        local k = sums(form[1], form[2])
        k:launch({ grid = 256, workgroup = 128 }, o, roc.to_device(x), 20)
        roc.current_device():synchronize()
        results[device] = o:copy_to_host():totable()
      end
      assert.same(results.sim, results.cpu)
    end)
  end
end)
