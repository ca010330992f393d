-- Kernels whose checks depend on how the extents of a launch fit one another
-- (ir/loop_versioning.h): ways give what the text says.
local roc = require "roc"
local devices = require "support.devices"

local function fault_of(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok, "an error was expected")
  return tostring(message)
end

local function upto(n)
  local t = {}
  for i = 1, n do t[i] = i end
  return t
end

devices.each(function()
  local double = roc.kernel(function(x, y)
    local i = roc.get_global_id(1)
    if i <= #y then y[i] = 2 * x[i] end
  end)

  it("does all where extents fit, in a partial last group too", function()
    local y = devices.zeros(150, "int32")
    devices.run(double, 300, { devices.values(upto(200), "int32"), y }, 64)
    local expected = upto(150)
    for i = 1, 150 do expected[i] = 2 * i end
    assert.same(expected, devices.table(y))
  end)

  it("does what it can where they do not, and reports the rest", function()
    local y = devices.zeros(150, "int32")
    local message = fault_of(devices.run, double, 300,
      { devices.values(upto(100), "int32"), y }, 64)
    assert.matches("out of range 1..100 of 'x'", message, 1, true)
    assert.matches("and 49 more)", message, 1, true)
    local done = devices.table(y)
    for i = 1, 150 do assert.equal(i <= 100 and 2 * i or 0, done[i]) end
  end)

  it("lets work-items return while others of their wavefront go on", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then
        if x[i] % 3 == 0 then
          y[i] = -1
          return
        end
        if i % 2 == 0 then y[i] = x[i] end
      end
    end)
    for _, n in ipairs { 130, 100 } do
      local y = devices.zeros(n, "int32")
      devices.run(k, 192, { devices.values(upto(130), "int32"), y }, 64)
      local done = devices.table(y)
      for i = 1, n do
        assert.equal(i % 3 == 0 and -1 or i % 2 == 0 and i or 0, done[i])
      end
    end
  end)

  it("reports a check of its own beside those that fit", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then
        if i % 2 == 0 then y[i] = x[i] end
        if i % 5 == 0 then y[x[i] + 1] = 0 end
      end
    end)
    local y = devices.zeros(70, "int32")
    local message = fault_of(devices.run, k, 128, { devices.values(upto(70), "int32"), y }, 64)
    assert.matches("index 71 out of range 1..70 of 'y'", message, 1, true)
    local done = devices.table(y)
    assert.equal(64, done[64])
    assert.equal(0, done[63])
  end)

  it("ends a loop's items one by one under nested guards", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then
        if i % 4 ~= 0 then
          local sum = 0
          for j = 1, i do sum = sum + x[j] end
          y[i] = sum
        end
      end
    end)
    local y = devices.zeros(90, "int64")
    devices.run(k, 128, { devices.values(upto(90), "int64"), y }, 64)
    local done = devices.table(y)
    for i = 1, 90 do assert.equal(i % 4 ~= 0 and i * (i + 1) // 2 or 0, done[i]) end
  end)

  it("does the work of both of two opposite conditions", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then
        local odd = x[i] % 2 ~= 0
        if odd then y[i] = x[i] * 3 end
        if not odd then y[i] = x[i] * 5 end
      end
    end)
    local other = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i > #y then return end
      local sum = 0
      if x[i] > 40 then
        for j = 1, x[i] do sum = sum + j end
        y[i] = sum
      end
      if x[i] <= 40 then y[i] = -x[i] end
    end)
    local third = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i % 2 == 0 then
        if i <= #y then y[i] = x[i] * 3 end
      end
      if i % 2 ~= 0 then
        if i <= #y then y[i] = x[i] * 5 end
      end
    end)
    local x = devices.values(upto(90), "int32")
    local a, b, c = devices.zeros(90, "int32"), devices.zeros(90, "int32"),
      devices.zeros(90, "int32")
    devices.run(k, 128, { x, a }, 64)
    devices.run(other, 128, { x, b }, 64)
    devices.run(third, 128, { x, c }, 64)
    for i = 1, 90 do
      assert.equal(i % 2 ~= 0 and 3 * i or 5 * i, a[i])
      assert.equal(i > 40 and i * (i + 1) // 2 or -i, b[i])
      assert.equal(i % 2 == 0 and 3 * i or 5 * i, c[i])
    end
  end)

  it("takes a tile by the size of the workgroup", function()
    local k = roc.kernel(function(a, b)
      local tile = roc.shared.array({ 4, 5 }, "int32")
      local x, y = roc.get_local_id(1), roc.get_local_id(2)
      local j, i = roc.grid(2)
      if i <= a.shape[1] and j <= a.shape[2] then tile[y][x] = a[i][j] end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      if i <= b.shape[1] and j <= b.shape[2] then b[i][j] = 2 * tile[y][x] end
    end)
    local numbers = {}
    for i = 1, 10 do numbers[i] = upto(10) end
    local a, b = devices.values(numbers, "int32"), devices.zeros({ 10, 10 }, "int32")
    k:launch({ grid = { 12, 12 }, workgroup = { 4, 4 } }, a, b)
    roc.current_device():synchronize()
    assert.equal(14, b[9][7])
    assert.equal(20, b[10][10])
    local message = fault_of(function()
      k:launch({ grid = { 12, 12 }, workgroup = { 6, 6 } }, a, b)
      roc.current_device():synchronize()
    end)
    assert.matches("(dimension ", message, 1, true)
  end)
end)
