-- Element-wise kernels, whose neighbouring work-items a GPU may run in one thread: ids, guards,
-- checks and prints are those of each work-item, however the launch and the arrays are cut.
local roc = require "roc"
local devices = require "support.devices"

local DTYPES = { "float32", "float64", "int8", "int32", "float16" }
local WORKGROUPS = { 64, 96, 250, 256, 1024 }

local function count_up(n, dtype)
  local values = {}
  for i = 1, n do values[i] = i % 100 end
  return devices.values(values, dtype)
end

local function fault_of(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok, "an error was expected")
  return tostring(message)
end

devices.each(function()
  local guarded = roc.kernel(function(x, y)
    local i = roc.get_global_id(1)
    if i <= #y then y[i] = x[i] + y[i] + 1 end
  end)

  local returning = roc.kernel(function(n, x, y)
    local i = roc.get_global_id(1)
    if i > n then return end
    y[i] = x[i] + y[i] + 1
  end)

  local bare = roc.kernel(function(x, y)
    local i = roc.get_global_id(1)
    y[i] = x[i] + y[i] + 1
  end)

  -- Each launch over `whole` writes first … last, and nothing beside it.
  local function check(launch, n, dtype, first, last, workgroup)
    local x, whole = count_up(n, dtype), devices.zeros(n, dtype)
    launch(x, whole)
    roc.current_device():synchronize()
    local got, expected = devices.table(whole), {}
    for i = 1, n do expected[i] = i >= first and i <= last and i % 100 + 1 or 0 end
    assert.same(expected, got, ("%s, workgroup %d, %d … %d"):format(dtype, workgroup, first, last))
  end

  it("do each element once, in launches that are no multiple of anything", function()
    for _, dtype in ipairs(DTYPES) do
      for _, workgroup in ipairs(WORKGROUPS) do
        for _, n in ipairs { 1, 1021, 2048 } do
          local opts = { workgroup = workgroup }
          check(function(x, y) guarded:forall(n, opts)(x, y) end, n, dtype, 1, n, workgroup)
          check(function(x, y) bare:forall(n, opts)(x, y) end, n, dtype, 1, n, workgroup)
          check(function(x, y) bare:forall(n // 2, opts)(x, y) end, n, dtype, 1, n // 2, workgroup)
          local groups = (n + workgroup - 1) // workgroup
          check(function(x, y) guarded[{ groups, workgroup }](x, y) end, n, dtype, 1, n, workgroup)
          check(function(x, y) returning[{ groups, workgroup }](n - n // 3, x, y) end, n, dtype, 1,
            n - n // 3, workgroup)
        end
      end
    end
  end)

  it("do views that begin anywhere", function()
    for _, dtype in ipairs(DTYPES) do
      for first = 1, 6 do
        local last = 1000 + 2 * first
        local function between(k)
          return function(x, y)
            k:forall(last - first + 1)(x:slice(1, first, last), y:slice(1, first, last))
          end
        end
        check(between(guarded), 1100, dtype, first, last, 0)
        check(between(bare), 1100, dtype, first, last, 0)
      end
    end
  end)

  it("do arrays that overlap one element after the other", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = y[i] * 2 + x[i] * 0 end
    end)
    local a = count_up(1000, "int32")
    k:forall(500)(a:slice(1, 501, 1000), a:slice(1, 250, 749))
    roc.current_device():synchronize()
    local got = devices.table(a)
    for i = 1, 1000 do
      local expected = i % 100 * (i >= 250 and i <= 749 and 2 or 1)
      assert.are.equal(expected, got[i], i)
    end
  end)

  it("do the elements of matrices, with rows of any length", function()
    local k = roc.kernel(function(x, y)
      local i, row = roc.get_global_id(1), roc.get_global_id(2)
      if i <= y.shape[2] and row <= y.shape[1] then y[row][i] = x[row][i] + i * row end
    end)
    for _, width in ipairs { 128, 301, 304 } do
      local x, y = roc.zeros({ 5, width }, "int32"), roc.zeros({ 5, width }, "int32")
      for row = 1, 5 do
        for i = 1, width do x[row][i] = row - i end
      end
      local there = roc.to_device(y)
      k[{ { (width + 255) // 256, 5 }, { 256, 1 } }](roc.to_device(x), there)
      roc.current_device():synchronize()
      local got = there:copy_to_host()
      for row = 1, 5 do
        for i = 1, width do assert.are.equal(row - i + i * row, got[row][i]) end
      end
    end
  end)

  it("fail one by one, and do what comes in front of the failure", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      y[i] = x[i] * 2
    end)
    local y, x = devices.zeros(1030, "int32"), count_up(1022, "int32")
    local message = fault_of(function()
      k:forall(1023, { workgroup = 256 })(x, y)
      roc.current_device():synchronize()
    end)
    assert.matches("index 1023 out of range 1..1022 of 'x' (work-item {1023})", message, 1, true)
    local got = devices.table(y)
    for i = 1, 1030 do assert.are.equal(i <= 1022 and i % 100 * 2 or 0, got[i], i) end
  end)

  it("fail in the middle of four", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then
        if x[i] == 42 then error("forty-two") end
        y[i] = x[i]
      end
    end)
    local x = devices.zeros(1024, "int32")
    local host = roc.zeros({ 1024 }, "int32")
    host[514] = 42
    x:copy_from_host(host)
    local y = devices.zeros(1024, "int32")
    y:fill(7)
    local message = fault_of(function()
      k:forall(1024, { workgroup = 256 })(x, y)
      roc.current_device():synchronize()
    end)
    assert.matches("forty%-two.*work%-item {514}", message)
    local got = devices.table(y)
    for i = 1, 1024 do assert.are.equal(i == 514 and 7 or 0, got[i], i) end
  end)

  it("know their ids and sizes", function()
    local k = roc.kernel(function(a, b, c, d)
      local i = roc.get_global_id(1)
      a[i] = roc.get_local_id(1)
      b[i] = roc.get_group_id(1)
      c[i] = roc.get_local_size(1)
      d[i] = roc.get_global_size(1) + roc.get_num_groups(1)
    end)
    local arrays = {}
    for n = 1, 4 do arrays[n] = devices.zeros(1000, "int32") end
    k:forall(1000, { workgroup = 256 })(table.unpack(arrays))
    roc.current_device():synchronize()
    for n = 1, 4 do arrays[n] = devices.table(arrays[n]) end
    for i = 1, 1000 do
      local expected = { (i - 1) % 256 + 1, (i - 1) // 256 + 1, 256, 1004 }
      for n = 1, 4 do assert.are.equal(expected[n], arrays[n][i], i) end
    end
  end)
end)
