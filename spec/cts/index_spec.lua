-- Index arithmetic that a compiler may do in 32 bits, and kernels it may make twice, with and
-- without checks: results and faults are the same in all ways.
local roc = require "roc"
local devices = require "support.devices"

local function numbers(n) return devices.values(roc.range(1, n):totable(), "float32") end

devices.each(function()
  for _, check in ipairs { true, false } do
    local how = check and "checked" or "unchecked"

    it("transposes blocks of a ragged matrix, " .. how, function()
      local k = roc.kernel(function(a, b)
        local tile = roc.shared.array({ 4, 5 }, "int32")
        local x, y = roc.get_local_id(1), roc.get_local_id(2)
        local column0, row0 = (roc.get_group_id(1) - 1) * 4, (roc.get_group_id(2) - 1) * 4
        if row0 + y <= a.shape[1] and column0 + x <= a.shape[2] then
          tile[y][x] = a[row0 + y][column0 + x]
        end
        roc.barrier()
        if column0 + y <= b.shape[1] and row0 + x <= b.shape[2] then
          b[column0 + y][row0 + x] = tile[x][y]
        end
      end, { check = check })
      local rows, columns = 7, 10
      local a = devices.values(roc.range(1, rows * columns):reshape(rows, columns):totable(),
        "int32")
      local b = devices.zeros({ columns, rows }, "int32")
      k[{ { 3, 2 }, { 4, 4 } }](a, b)
      local got = devices.table(b)
      for i = 1, rows do
        for j = 1, columns do assert.are.equal((i - 1) * columns + j, got[j][i]) end
      end
    end)

    it("sorts a tile in shared memory and scans it, " .. how, function()
      local sort = roc.kernel(function(x)
        local t = roc.shared.array(64, "int32")
        local item = roc.get_local_id(1)
        local base = (roc.get_group_id(1) - 1) * 64
        t[item], t[item + 32] = x[base + item], x[base + item + 32]
        local size = 2
        while size <= 64 do
          local stride = size // 2
          while stride > 0 do
            roc.barrier()
            local at = 2 * (item - 1) - ((item - 1) & (stride - 1))
            local a, b = t[at + 1], t[at + stride + 1]
            if (a > b) == ((at & size) == 0) then t[at + 1], t[at + stride + 1] = b, a end
            stride = stride // 2
          end
          size = size * 2
        end
        -- sums of all in front, by Blelloch's trees
        local offset, d = 1, 32
        while d > 0 do
          roc.barrier()
          if item <= d then
            t[offset * 2 * item] = t[offset * 2 * item] + t[offset * (2 * item - 1)]
          end
          offset, d = offset * 2, d // 2
        end
        if item == 1 then t[offset] = 0 end
        d = 1
        while d < 64 do
          offset = offset // 2
          roc.barrier()
          if item <= d then
            local left = t[offset * (2 * item - 1)]
            t[offset * (2 * item - 1)] = t[offset * 2 * item]
            t[offset * 2 * item] = t[offset * 2 * item] + left
          end
          d = d * 2
        end
        roc.barrier()
        x[base + item], x[base + item + 32] = t[item], t[item + 32]
      end, { check = check, workgroup = 32 })
      local values = {}
      for i = 1, 128 do values[i] = (i * 37) % 101 end
      local x = devices.values(values, "int32")
      devices.run(sort, 64, { x }, 32)
      local got = devices.table(x)
      for first = 1, 65, 64 do
        local sorted, sum = table.move(values, first, first + 63, 1, {}), 0
        table.sort(sorted)
        for i = 1, 64 do
          assert.are.equal(sum, got[first + i - 1])
          sum = sum + sorted[i]
        end
      end
    end)

    it("goes around the edges of a grid, " .. how, function()
      local k = roc.kernel(function(now, next)
        local x, y = roc.grid(2)
        local h, w = now.shape[1], now.shape[2]
        if x > w or y > h then return end
        local left, right, up, down = x - 1, x + 1, y - 1, y + 1
        if x == 1 then left = w end
        if x == w then right = 1 end
        if y == 1 then up = h end
        if y == h then down = 1 end
        next[y][x] = now[y][left] + 10 * now[y][right] + 100 * now[up][x] + 1000 * now[down][x]
      end, { check = check })
      for _, shape in ipairs { { 5, 7 }, { 1, 6 }, { 3, 1 }, { 1, 1 } } do
        local h, w = table.unpack(shape)
        local now = devices.values(roc.range(1, h * w):reshape(h, w):totable(), "int32")
        local next = devices.zeros({ h, w }, "int32")
        k[{ { 2, 2 }, { 4, 4 } }](now, next)
        local got = devices.table(next)
        local function at(i, j) return (i - 1) % h * w + (j - 1) % w + 1 end
        for i = 1, h do
          for j = 1, w do
            assert.are.equal(at(i, j - 1) + 10 * at(i, j + 1) + 100 * at(i - 1, j)
              + 1000 * at(i + 1, j), got[i][j])
          end
        end
      end
    end)

    it("adds in rounds that are counted, and beyond 32 bits, " .. how, function()
      local k = roc.kernel(function(x, out, n)
        local i = roc.get_global_id(1)
        if i > #x then return end
        local few, many, both, down, huge = 3, 0, 0, 7, 0
        for j = 1, i do
          if x[j] > 2 then few = few + 1 end
          for _ = 1, 3 do many = many + x[j] end
          if x[j] > 1 then both = both + 2 else both = both - 3 end
          down = down - (x[j] & 1)
          huge = huge + n
        end
        out[i][1], out[i][2], out[i][3], out[i][4], out[i][5] = few, many, both, down, huge
      end, { check = check })
      local values = {}
      for i = 1, 40 do values[i] = i * 7 % 5 end
      local out = devices.zeros({ 40, 5 }, "int64")
      devices.run(k, 40, { devices.values(values, "uint8"), out, 1 << 29 }, 32)
      local few, many, both, down = 3, 0, 0, 7
      for i, row in ipairs(devices.table(out)) do
        local v = values[i]
        few, many, both = few + (v > 2 and 1 or 0), many + 3 * v, both + (v > 1 and 2 or -3)
        down = down - (v & 1)
        assert.are.same({ few, many, both, down, i << 29 }, row)
      end
    end)

    it("compares and bounds floors of any size, " .. how, function()
      local k = roc.kernel(function(x, t, low, high, inside, smaller, exact)
        local i = roc.get_global_id(1)
        if i > #x then return end
        local f, c = math.floor(x[i]), math.ceil(x[i] * 0.5)
        inside[i] = 0
        if f >= 1 and f <= #t then inside[i] = t[f] end
        smaller[i] = t[math.max(1, math.min(f, #t))] * 10 + t[math.min(math.max(c, 1), #t)]
        local g = f
        if c > 3 then g = c end
        low[i] = g < -5 and 1 or 0
        high[i] = g == 7 and 2 or g ~= 4 and 1 or 0
        exact[i] = math.floor(x[i] * 2.0)
        local far = 5e9
        if f > 6 then far = -4e9 end
        if (math.floor(far) > 9) == (f > 6) then inside[i] = -1 end
      end, { check = check })
      local values = { 0.5, -0.5, 1.0, 2.75, 6.0, 7.5, 8.0, 3e9, -3e9, 2147483648.0, -2147483648.0,
        2147483520.0, 4294967296.0, -4294967296.0, 4294967297.0 * 2, 1e17, -1e17, 13.5, 14.5 }
      for _, dtype in ipairs { "float32", "float64" } do
        local x = devices.values(values, dtype)
        local stored = devices.table(x)
        local t = devices.values({ 1, 2, 3, 4, 5, 6, 7 }, "int32")
        local out = {}
        for n = 1, 5 do out[n] = devices.zeros(#values, n == 5 and "int64" or "int32") end
        devices.run(k, #values, { x, t, table.unpack(out) }, 32)
        local function clamp(v) return math.max(1, math.min(v, 7)) end
        for i, v in ipairs(stored) do
          local f, c = math.floor(v), math.ceil(v * 0.5)
          local g = c > 3 and c or f
          assert.are.equal(g < -5 and 1 or 0, devices.table(out[1])[i], v)
          assert.are.equal(g == 7 and 2 or g ~= 4 and 1 or 0, devices.table(out[2])[i], v)
          assert.are.equal(f >= 1 and f <= 7 and f or 0, devices.table(out[3])[i], v)
          assert.are.equal(clamp(f) * 10 + clamp(c), devices.table(out[4])[i], v)
          assert.are.equal(math.floor(v * 2.0), devices.table(out[5])[i], v)
        end
      end
    end)

    it("compares and bounds sums with floors of any size, " .. how, function()
      local k = roc.kernel(function(x, t, n, out)
        local i = roc.get_global_id(1)
        if i > #x then return end
        local next, far, back = math.floor(x[i]) + 1, math.ceil(x[i]) + n, math.floor(x[i]) - 1
        local size, o = #t, out[i]
        if next >= 1 and next <= size then o[1] = t[next] end
        if far >= 1 and far <= size then o[2] = t[far] end
        if back >= 1 and back <= size then o[3] = t[back] end
        o[4] = t[math.max(1, math.min(next, size))] + 10 * t[math.min(math.max(far, 1), size)]
        o[5] = t[math.max(1, math.min(back, size))]
        local both = (next > 5 and 1 or 0) + (next < -7 and 2 or 0)
        both = both + (far ~= 3 and 4 or 0) + (far <= -2147483000 and 8 or 0)
        o[6] = both + (back > 5 and 16 or 0) + (back == -2 and 32 or 0)
        if next > 2 then
          if n < 5 then o[7] = next + n > 4 and 1 or 2 end
        end
      end, { check = check })
      local n <const> = 1000000
      local values = { 0.0, -0.5, 1.5, 5.0, 6.0, 7.0, -n + 0.5, -n, 3.0 - n, 3e9, -3e9,
        -2147483648.0, -2147483648.0 - n, -2147483647.0, -2147000000.0, 2147483520.0, 4294967296.0,
        -4294967296.0, 0x1p62, -0x1p62, 0x1.fffffep62, -0x1.fffffep62, -0x1p63 }
      for _, dtype in ipairs { "float32", "float64" } do
        local here = { table.unpack(values) }
        if dtype == "float64" then here[#here + 1] = 0x1.fffffffffffffp62 end
        local x = devices.values(here, dtype)
        local stored = devices.table(x)
        local t = devices.values({ 1, 2, 3, 4, 5, 6, 7 }, "int32")
        local out = devices.zeros({ #here, 7 }, "int32")
        devices.run(k, #here, { x, t, n, out }, 32)
        local function clamp(v) return math.max(1, math.min(v, 7)) end
        local function inside(v) return v >= 1 and v <= 7 and v or 0 end
        for i, row in ipairs(devices.table(out)) do
          local next, far = math.floor(stored[i]) + 1, math.ceil(stored[i]) + n
          local back = math.floor(stored[i]) - 1
          local both = (next > 5 and 1 or 0) + (next < -7 and 2 or 0)
          both = both + (far ~= 3 and 4 or 0) + (far <= -2147483000 and 8 or 0)
          both = both + (back > 5 and 16 or 0) + (back == -2 and 32 or 0)
          assert.are.same({ inside(next), inside(far), inside(back), clamp(next) + 10 * clamp(far),
            clamp(back), both, 0 }, row, stored[i])
        end
      end
    end)

    it("goes by quotients of extents, and knows what first items of workgroups do, " .. how,
      function()
        local k = roc.kernel(function(x, y, halo)
          local i, item = roc.get_global_id(1), roc.get_local_id(1)
          if i <= (#x + 2) // 3 then
            local at, o = (i - 1) * 3, (i - 1) * 2
            y[o + 1] = x[at + 1]
            y[o + 2] = at + 3 <= #x and x[at + 3] or -1
          end
          if item == 1 and i > 1 then halo[i - 1] = halo[i - 1] + i end
        end, { check = check, workgroup = { 16 } })
        for _, n in ipairs { 1, 2, 3, 46, 47, 48 } do
          local count = (n + 2) // 3
          local x, y = numbers(n), devices.zeros(2 * count, "float32")
          local halo = devices.zeros(33, "int32")
          k[{ 3, 16 }](x, y, halo)
          local got = devices.table(y)
          for i = 1, count do
            assert.are.equal(3 * i - 2, got[2 * i - 1])
            assert.are.equal(3 * i <= n and 3 * i or -1, got[2 * i])
          end
          halo = devices.table(halo)
          for i = 1, 33 do assert.are.equal((i == 16 or i == 32) and i + 1 or 0, halo[i]) end
        end
        if check then -- too small for one of them
          local x, halo = numbers(47), devices.zeros(31, "int32")
          assert.error_matches(function()
            k[{ 3, 16 }](x, devices.zeros(31, "float32"), halo)
            roc.current_device():synchronize()
          end, "index 32 out of range")
        end
      end)

    it("ends loops where they end, whatever their bounds, " .. how, function()
      local k = roc.kernel(function(x, first, last, out)
        local i = roc.get_global_id(1)
        local sum = 0
        for j = first[i] + 1, first[i] + last[i] do sum = sum + x[j] end
        out[i][1] = sum
        for j = 1, (1 << 32) + i do
          sum = sum + x[j]
          if j > 20 then break end
        end
        out[i][2] = sum
      end, { check = check })
      local x = devices.values(roc.range(1, 30):totable(), "int32")
      local first = devices.values({ 0, 5, 2147483647, -2147483648, 29 }, "int32")
      local last = devices.values({ 30, 3, 0, -2147483648, 1 }, "int32")
      local out = devices.zeros({ 5, 2 }, "int64")
      devices.run(k, 5, { x, first, last, out })
      assert.same({ { 465, 696 }, { 21, 252 }, { 0, 231 }, { 0, 231 }, { 30, 261 } },
        devices.table(out))
    end)

    it("divides indices by extents, " .. how, function()
      local k = roc.kernel(function(m, y)
        local i = roc.get_global_id(1)
        if i <= #y then
          local row, column = (i - 1) // m.shape[2] + 1, (i - 1) % m.shape[2] + 1
          y[i] = m[row][column] * 100 + row * 10 + column
        end
      end, { check = check })
      local m = devices.values({ { 1, 2, 3 }, { 4, 5, 6 } }, "int16")
      local y = devices.zeros(6, "int64")
      devices.run(k, 9, { m, y }, 4)
      assert.same({ 111, 212, 313, 421, 522, 623 }, devices.table(y))
    end)

    it("walks arrays of small elements from both ends, " .. how, function()
      local k = roc.kernel(function(x, y)
        local i = roc.get_global_id(1)
        if i <= #x and i <= #y then y[#y - i + 1] = x[i] + (i > 1 and x[i - 1] or 0) end
      end, { check = check })
      for _, dtype in ipairs { "uint8", "int16", "int32", "int64" } do
        local y = devices.zeros(5, dtype)
        devices.run(k, 7, { devices.values({ 1, 2, 3, 4, 5 }, dtype), y }, 4)
        assert.same({ 9, 7, 5, 3, 1 }, devices.table(y))
      end
    end)

    it("adds with a stride in a loop, " .. how, function()
      local k = roc.kernel(function(x, y)
        local part = roc.shared.array(8, "float32")
        local id, sum = roc.get_local_id(1), 0.0
        for i = roc.get_global_id(1), #x, roc.get_global_size(1) do sum = sum + x[i] end
        part[id] = sum
        roc.barrier()
        for width = 3, 1, -1 do
          if id <= 1 << (width - 1) then part[id] = part[id] + part[id + (1 << (width - 1))] end
          roc.barrier()
        end
        if id == 1 then y[roc.get_group_id(1)] = part[1] end
      end, { check = check })
      local y = devices.zeros(2, "float32")
      k[{ 2, 8 }](numbers(100), y)
      local got = devices.table(y)
      assert.are.equal(5050.0, got[1] + got[2])
    end)
  end

  -- Of as many elements as a vector of the processor has.
  for _, lanes in ipairs { 8, 16 } do
    it(("takes one id modulo several numbers, the least %d"):format(lanes), function()
      local long, short = {}, {}
      for i = 1, 256 do long[i] = i * 5 % 97 end
      for i = 1, lanes do short[i] = i * 1000 end
      local long_table = roc.const.array(long, "int32")
      local short_table = roc.const.array(short, "int32")
      local mask = lanes - 1
      local k = roc.kernel(function(out)
        local id = roc.get_local_id(1) - 1
        out[roc.get_global_id(1)] = long_table[(id & 255) + 1] + short_table[(id & mask) + 1]
      end)
      local expected, out = {}, devices.zeros(512, "int32")
      for i = 0, 511 do expected[i + 1] = long[(i & 255) + 1] + short[(i & mask) + 1] end
      devices.run(k, 512, { out }, 256)
      assert.same(expected, devices.table(out))
    end)
  end

  it("divides what all items share under a condition of some", function()
    local n <const>, size <const> = 333, 16
    local along = function(x, y, out)
      local sum, i = 0.0, roc.get_local_id(1)
      while i <= #x do
        sum = sum + x[i]
        if x[i] > 0 then sum = y[64 % #y + i] end
        i = i + roc.get_local_size(1)
      end
      out[roc.get_global_id(1)] = sum
    end
    local at_one = function(x, y, out)
      local sum, i = 0.0, roc.get_local_id(1)
      while i <= #x do
        sum = sum + x[i]
        if x[i] > 0 then sum = y[64 % #y + 1] end
        i = i + roc.get_local_size(1)
      end
      out[roc.get_global_id(1)] = sum
    end
    local x, y = {}, {}
    for i = 1, n do x[i] = i * 7 // 3 % 3 - 1 end
    for i = 1, n + 64 do y[i] = i * 5 end
    for kernel, step in pairs { [along] = 1, [at_one] = 0 } do
      local expected = {}
      for id = 1, 32 do
        local sum = 0
        for i = (id - 1) % size + 1, n, size do
          sum = x[i] > 0 and y[65 + (i - 1) * step] or sum + x[i]
        end
        expected[id] = sum
      end
      for _, check in ipairs { true, false } do
        local out = devices.zeros(32, "float64")
        devices.run(roc.kernel(kernel, { check = check }), 32,
          { devices.values(x, "float64"), devices.values(y, "float64"), out }, size)
        assert.same(expected, devices.table(out))
      end
    end
  end)

  it("stores what it can where extents do not fit one another", function()
    local k = roc.kernel(function(x, y)
      local i = roc.get_global_id(1)
      if i <= #y then y[i] = 2 * x[i] end
    end)
    local y = devices.zeros(40, "float32")
    local ok, message = pcall(devices.run, k, 64, { numbers(37), y }, 16)
    assert.is_false(ok)
    assert.matches("out of range 1..37 of 'x'", tostring(message), 1, true)
    assert.matches("and 2 more)", tostring(message), 1, true)
    local got = devices.table(y)
    for i = 1, 40 do assert.are.equal(i <= 37 and 2.0 * i or 0.0, got[i]) end
    local z = devices.zeros(40, "float32")
    devices.run(k, 64, { numbers(64), z }, 16) -- the same kernel, where they do
    assert.are.equal(80.0, devices.table(z)[40])
  end)

  it("keeps barriers matched where extents do not fit one another", function()
    local k = roc.kernel(function(x, y, n)
      local part = roc.shared.array(16, "int32")
      local id = roc.get_local_id(1)
      for round = 1, n do
        part[id] = x[round]
        roc.barrier()
        y[id] = y[id] + part[roc.get_local_size(1) - id + 1]
        roc.barrier()
      end
    end)
    local x = devices.values({ 1, 2, 3, 4 }, "int32")
    local y = devices.zeros(16, "int32")
    k[{ 1, 16 }](x, y, 4)
    assert.are.equal(10, devices.table(y)[16])
    k[{ 1, 8 }](x, y, 2)
    assert.are.equal(13, devices.table(y)[8])
    local ok, message = pcall(function()
      k[{ 1, 16 }](x, y, 5)
      roc.current_device():synchronize()
    end)
    assert.is_false(ok)
    assert.matches("index 5 out of range 1..4 of 'x'", tostring(message), 1, true)
  end)

  it("checks the index out of a float where no comparison bounds it", function()
    local k = roc.kernel(function(x, y)
      local t = roc.shared.array(8, "int32")
      local i = roc.get_local_id(1)
      if i <= 8 then t[i] = 10 * i end
      roc.barrier()
      local v, sum = x[i], 0
      if v < 5.0 then sum = t[math.floor(math.max(0.0, math.max(v, 0.0))) + 1] end
      y[i] = sum + t[math.floor(math.max(0.0, math.max(v, 0.0))) + 1]
    end)
    local y = devices.zeros(8, "int32")
    k[{ 1, 8 }](devices.values({ 0, 1, 2, 3, 4, 5, 6, 7 }, "float32"), y)
    assert.same({ 20, 40, 60, 80, 100, 60, 70, 80 }, devices.table(y))
    local ok, message = pcall(function()
      k[{ 1, 8 }](devices.values({ 0, 1, 2, 3, 4, 5, 1000, 7 }, "float32"), y)
      roc.current_device():synchronize()
    end)
    assert.is_false(ok)
    assert.matches("index 1001 out of range 1..8", tostring(message), 1, true)
  end)

  it("multiplies blocks of ragged matrices", function()
    local gemm = require "roc.kernels.gemm"
    local m, n, depth = 18, 21, 35
    local function matrix(rows, columns, f)
      local t = {}
      for i = 1, rows do
        t[i] = {}
        for j = 1, columns do t[i][j] = f(i, j) end
      end
      return t
    end
    local a = matrix(m, depth, function(i, j) return (i * 7 + j * 3) % 5 - 2 end)
    local b = matrix(depth, n, function(i, j) return (i * 2 + j * 5) % 7 - 3 end)
    local c = devices.zeros({ m, n }, "float32")
    gemm.tiled[{ { 2, 2 }, { 16, 16 } }](devices.values(a, "float32"), devices.values(b, "float32"),
      c)
    local got = devices.table(c)
    for i = 1, m do
      for j = 1, n do
        local sum = 0.0
        for k = 1, depth do sum = sum + a[i][k] * b[k][j] end
        assert.are.equal(sum, got[i][j])
      end
    end
  end)
end)
