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

  it("adds what two bounds say where an index is a sum", function()
    local k = roc.kernel(function(x, w, y)
      local i, j = roc.grid(2)
      if i > y.shape[2] or j > y.shape[1] then return end
      local sum = 0
      for b = 1, w.shape[1] do
        for a = 1, w.shape[2] do sum = sum + x[j + b - 1][i + a - 1] * w[b][a] end
      end
      y[j][i] = sum
    end)
    for _, width in ipairs { 12, 11 } do
      local x = roc.zeros({ 9, width }, "int32"):fill(2)
      local w = roc.zeros({ 2, 3 }, "int32"):fill(1)
      local y = roc.zeros({ 8, 10 }, "int32")
      local ok, message = pcall(function()
        k:launch({ grid = { 16, 8 }, workgroup = { 16, 4 } }, x, w, y)
        roc.current_device():synchronize()
      end)
      assert.equal(width == 12, ok, message)
      if not ok then
        assert.matches("index 12 out of range 1..11 of 'x'", tostring(message), 1, true)
      end
      for j = 1, ok and 8 or 0 do
        for i = 1, 10 do assert.equal(12, y[j][i]) end
      end
    end
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

  -- Rows of a sparse matrix: `x[columns[k] + 1]` may fail in any round of a row.
  local gather = roc.kernel(function(starts, columns, values, x, y)
    local i = roc.get_global_id(1)
    if i <= #y then
      local sum, last = 0, -1
      for k = starts[i] + 1, starts[i + 1] do
        local c = columns[k] + 1
        sum, last = sum + values[k] * x[c], c
      end
      y[i] = sum * 10 + last
    end
  end)
  local ROWS, PER_ROW, WIDTH = 70, 5, 9

  local function run_gather(columns, width)
    local starts = {}
    for i = 0, ROWS do starts[i + 1] = i * PER_ROW end
    local y = devices.values(upto(ROWS), "int32")
    local ok, message = pcall(devices.run, gather, 128, { devices.values(starts, "int32"),
      devices.values(columns, "int32"), devices.values(upto(ROWS * PER_ROW), "int32"),
      devices.values(upto(width), "int32"), y }, 64)
    return not ok and tostring(message), devices.table(y)
  end

  local function columns_of(bad, at)
    local columns = {}
    for k = 1, ROWS * PER_ROW do columns[k] = (k * 7) % WIDTH end
    if at then columns[at] = bad end
    return columns
  end

  local function row_of(columns, i)
    local sum, last = 0, -1
    for k = (i - 1) * PER_ROW + 1, i * PER_ROW do
      sum, last = sum + k * (columns[k] + 1), columns[k] + 1
    end
    return sum * 10 + last
  end

  it("gathers in a loop, whose indices come from memory", function()
    local columns = columns_of()
    local message, y = run_gather(columns, WIDTH)
    assert.is_false(message)
    for i = 1, ROWS do assert.equal(row_of(columns, i), y[i]) end
  end)

  it("reports a wrong index of a gather where it is, in any round, and does the rest", function()
    for _, bad in ipairs { -1, WIDTH, -12, 2147483647, -2147483648 } do
      for _, at in ipairs { 1, 3, PER_ROW, 64 * PER_ROW + 1, ROWS * PER_ROW } do
        local columns = columns_of(bad, at)
        local message, y = run_gather(columns, WIDTH)
        local item = (at - 1) // PER_ROW + 1
        assert.matches(("index %d out of range 1..%d of 'x'"):format(bad + 1,
          WIDTH), message, 1, true)
        assert.matches(("(work-item {%d})"):format(item), message, 1, true)
        for i = 1, ROWS do
          assert.equal(i == item and i or row_of(columns, i), y[i])
        end
      end
    end
  end)

  it("reports every gather out of an empty array, and none of rows that are empty", function()
    local message, y = run_gather(columns_of(), 0)
    assert.matches("out of range 1..0 of 'x'", message, 1, true)
    assert.matches(("and %d more)"):format(ROWS - 1), message, 1, true)
    for i = 1, ROWS do assert.equal(i, y[i]) end
  end)

  it("leaves a loop of gathers early, and goes on in others", function()
    local k = roc.kernel(function(next, weights, y)
      local i = roc.get_global_id(1)
      local sum, count = 0, 0
      for k = 1, #next do
        local c = next[k]
        if c > i then break end
        if c ~= 2 then
          sum, count = sum + weights[c] + weights[next[c]], count + 1
        end
      end
      y[i] = sum * 100 + count
    end)
    local function expected(next, i)
      local sum, count = 0, 0
      for n = 1, #next do
        local c = next[n]
        if c > i then break end
        if c ~= 2 then
          if c < 1 then return nil end
          sum, count = sum + c * 3 + next[c] * 3, count + 1
        end
      end
      return sum * 100 + count
    end
    for _, next in ipairs { { 1, 2, 3, 4, 5 }, { 2, 1, 5, 3, 3 }, { 1, 1, 0, 4, 2 } } do
      local y = devices.zeros(70, "int32")
      pcall(devices.run, k, 70, { devices.values(next, "int32"),
        devices.values({ 3, 6, 9, 12, 15 }, "int32"), y }, 64)
      local done = devices.table(y)
      for i = 1, 70 do assert.equal(expected(next, i) or 0, done[i]) end
    end
  end)

  it("searches a range that it halves, and reports one that it leaves", function()
    local k = roc.kernel(function(sorted, keys, y, first, last)
      local i = roc.get_global_id(1)
      local low, high = first, last
      while low < high do
        local mid = (low + high) // 2
        if sorted[mid] < keys[i] then low = mid + 1 else high = mid end
      end
      y[i] = low
    end)
    local sorted, keys = {}, {}
    for i = 1, 50 do sorted[i], keys[i] = 3 * i, (i * 37) % 160 end
    local function run(first, last)
      local y = devices.zeros(50, "int32")
      local ok, message = pcall(devices.run, k, 50, { devices.values(sorted, "int32"),
        devices.values(keys, "int32"), y, first, last }, 32)
      return not ok and tostring(message), devices.table(y)
    end
    local message, y = run(1, 51)
    assert.is_false(message)
    for i = 1, 50 do assert.equal(math.max(0, (keys[i] - 1) // 3) + 1, y[i]) end
    assert.matches("index 51 out of range 1..50", run(51, 52), 1, true)
    assert.matches("index 0 out of range 1..50", run(-1, 2), 1, true)
    assert.matches("out of range 1..50 of 'sorted'", run(1, 1 << 62), 1, true)
  end)

  it("rounds floats to indices, and reports what is none", function()
    local k = roc.kernel(function(src, y, scale)
      local i = roc.get_global_id(1)
      local f = roc.float32((i - 1) * 0.75) * scale
      local n = math.floor(f)
      y[i] = src[math.min(n + 1, #src)] + n
    end)
    local function run(scale)
      local y = devices.zeros(40, "int64")
      local ok, message = pcall(devices.run, k, 40,
        { devices.values(upto(20), "int32"), y, scale }, 32)
      return not ok and tostring(message), devices.table(y)
    end
    local message, y = run(1.0)
    assert.is_false(message)
    for i = 1, 40 do
      local n = (i - 1) * 3 // 4
      assert.equal(math.min(n + 1, 20) + n, y[i])
    end
    assert.matches("out of range 1..20 of 'src'", (run(-1.0)), 1, true)
    assert.matches("out of range", (run(-1e9)), 1, true)
    for _, scale in ipairs { 0 / 0, 1 / 0, 1e30 } do
      assert.matches("(work-item {", (run(scale)), 1, true) -- plain Lua names another cause
    end
  end)

  it("takes rows of flat arrays whose length is an argument", function()
    local k = roc.kernel(function(x, y, w, h)
      local i, j = roc.grid(2)
      if i > w or j > h then return end
      local at = (j - 1) * w + i
      y[at] = x[at] + x[(h - j) * w + (w - i) + 1]
    end)
    local function run(nx, w, h)
      local x, y = devices.values(upto(nx), "int32"), devices.zeros(60, "int32")
      local ok, message = pcall(function()
        k:launch({ grid = { 16, 8 }, workgroup = { 16, 4 } }, x, y, w, h)
        roc.current_device():synchronize()
      end)
      return not ok and tostring(message), devices.table(y)
    end
    local message, y = run(60, 12, 5)
    assert.is_false(message)
    for at = 1, 60 do assert.equal(61, y[at]) end
    assert.matches("out of range 1..59 of 'x'", (run(59, 12, 5)), 1, true)
    assert.matches("out of range 1..60 of 'x'", (run(60, 12, 6)), 1, true)
    for _, wide in ipairs { 1 << 28, 1 << 31, 1 << 32, math.maxinteger } do
      assert.matches("out of range 1..60 of ", (run(60, wide, 8)), 1, true)
    end
    assert.is_false((run(60, -3, 8)))
  end)

  it("looks through hash tables by slots that wrap", function()
    local k = roc.kernel(function(keys, out)
      local i = roc.get_global_id(1)
      if i > #out then return end
      local slot, found = i * 2654435761 >> 7 & #keys - 1, 0
      for probe = 1, 64 do
        if keys[slot + 1] == i then
          found = probe
          break
        end
        slot = slot + 1 & #keys - 1
      end
      out[i] = found
    end)
    local function run(n)
      local keys = {}
      for i = 1, n do keys[i] = (i * 7) % n + 1 end
      local out = devices.zeros(60, "int32")
      local ok, message = pcall(devices.run, k, 64, { devices.values(keys, "int32"), out }, 32)
      return not ok and tostring(message), devices.table(out)
    end
    local message, out = run(64)
    assert.is_false(message)
    for i = 1, 60 do
      local slot = (i * 2654435761 >> 7) & 63
      local wanted = 0
      while (wanted + 1) * 7 % 64 + 1 ~= i do wanted = wanted + 1 end
      assert.equal((wanted - slot) % 64 + 1, out[i])
    end
    local empty = devices.zeros(0, "int32")
    assert.matches("out of range", fault_of(devices.run, k, 64,
      { empty, devices.zeros(60, "int32") }, 32), 1, true)
  end)
end)
