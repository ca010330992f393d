-- Sums that items keep over loops which all of them run: in variables and in private arrays, in
-- rows that are longer or shorter than a vector, and where items return or fail on the way.
local roc = require "roc"
local devices = require "support.devices"

local function numbers(n)
  local list = {}
  for i = 1, n do list[i] = i * 7 % 31 - 11 end
  return list
end

devices.each(function()
  for _, width in ipairs { 5, 16, 37, 64, 100 } do
    it(("keeps sums in variables and private arrays, workgroups of %d"):format(width), function()
      local x = devices.values(numbers(60), "int64")
      local out, n = devices.zeros({ 150, 3 }, "int64"), 150
      local k = roc.kernel(function(x, out)
        local i = roc.get_global_id(1)
        local sum, parts = i, roc.private.array(2, "int64")
        for p = 1, 2 do parts[p] = p end
        for j = 1, #x do
          sum = sum * 3 + x[j] * i
          for p = 1, 2 do parts[p] = parts[p] * 5 + x[j] - i * p end
        end
        out[i][1], out[i][2], out[i][3] = sum, parts[1], parts[2]
      end)
      devices.run(k, n, { x, out }, width)
      local got = devices.table(out)
      for i = 1, n do
        local sum, parts = i, { 1, 2 }
        for j = 1, 60 do
          local e = j * 7 % 31 - 11
          sum = sum * 3 + e * i
          for p = 1, 2 do parts[p] = parts[p] * 5 + e - i * p end
        end
        assert.same({ sum, parts[1], parts[2] }, got[i])
      end
    end)
  end

  for _, workgroup in ipairs { { 16, 4 }, { 17, 9 }, { 9, 5, 2 }, { 40, 3 } } do
    local name = table.concat(workgroup, " x ")
    it("keeps sums in rows of workgroups of " .. name, function()
      local grid = { 40, 11, workgroup[3] and 3 or nil }
      local depth = grid[3] or 1
      local x = devices.values(numbers(60), "int64")
      local out = devices.zeros(40 * 11 * depth, "int64")
      local k = roc.kernel(function(x, out)
        local a, b, c = roc.grid(3)
        local sum, twice = a * 100 + b * 10 + c, b
        for j = 1, #x do
          sum = sum * 3 + x[j] * a - b
          twice = twice * 5 + x[j] + c
        end
        out[a + 40 * (b - 1 + 11 * (c - 1))] = sum ~ twice
      end)
      k:launch({ grid = grid, workgroup = workgroup }, x, out)
      local got = devices.table(out)
      for c = 1, depth do
        for b = 1, 11 do
          for a = 1, 40 do
            local sum, twice = a * 100 + b * 10 + c, b
            for j = 1, 60 do
              local e = j * 7 % 31 - 11
              sum, twice = sum * 3 + e * a - b, twice * 5 + e + c
            end
            assert.equal(sum ~ twice, got[a + 40 * (b - 1 + 11 * (c - 1))])
          end
        end
      end
    end)
  end

  it("keeps sums of items whose neighbours have returned", function()
    local x, out = devices.values(numbers(40), "int64"), devices.zeros(100, "int64")
    local k = roc.kernel(function(x, out)
      local i = roc.get_global_id(1)
      if i % 64 == 3 then return end
      local sum = 0
      for j = 1, #x do sum = sum * 3 + x[j] + i end
      out[i] = sum
    end)
    devices.run(k, 100, { x, out }, 50)
    local got = devices.table(out)
    for i = 1, 100 do
      local sum = 0
      for j = 1, i % 64 == 3 and 0 or 40 do sum = sum * 3 + j * 7 % 31 - 11 + i end
      assert.equal(sum, got[i])
    end
  end)

  it("keeps sums over barriers, between which items fill a tile", function()
    local x, out = devices.values(numbers(96), "int64"), devices.zeros(96, "int64")
    local k = roc.kernel(function(x, out)
      local tile = roc.shared.array(48, "int64")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      local own, sum = x[i], 0
      for t = 0, 1 do
        tile[l] = x[t * 48 + l]
        roc.barrier()
        for j = 1, 48 do sum = sum * 3 + tile[j] - own end
        roc.barrier()
      end
      out[i] = sum
    end)
    devices.run(k, 96, { x, out }, 48)
    local got = devices.table(out)
    for i = 1, 96 do
      local sum = 0
      for j = 1, 96 do sum = sum * 3 + (j * 7 % 31 - 11) - (i * 7 % 31 - 11) end
      assert.equal(sum, got[i])
    end
  end)

  it("keeps private arrays whose elements are set in some iterations only", function()
    local out = devices.zeros(40, "int64")
    local k = roc.kernel(function(out)
      local i = roc.get_global_id(1)
      local last = roc.private.array(2, "int64")
      for p = 1, 2 do last[p] = 0 end
      for j = 1, 33 do
        if (i + j) % 3 == 0 then last[1] = j else last[2] = last[1] + j end
        out[i] = out[i] + last[2]
      end
    end)
    devices.run(k, 40, { out }, 40)
    local got = devices.table(out)
    for i = 1, 40 do
      local last, sum = { 0, 0 }, 0
      for j = 1, 33 do
        if (i + j) % 3 == 0 then last[1] = j else last[2] = last[1] + j end
        sum = sum + last[2]
      end
      assert.equal(sum, got[i])
    end
  end)

  it("ends an item whose check fails within a sum", function()
    local x, out = devices.values(numbers(60), "int64"), devices.zeros(64, "int64")
    local k = roc.kernel(function(x, out, wrong)
      local i = roc.get_global_id(1)
      local sum = 0
      for j = 1, 40 do
        sum = sum + x[j + (i == wrong and j or 0)]
        out[i] = sum
      end
    end)
    local ok, message = pcall(function()
      devices.run(k, 64, { x, out, 21 }, 64)
      return devices.table(out)
    end)
    assert.is_false(ok)
    assert.matches("62", message) -- x[31 + 31]
  end)

  it("contracts a product and a sum alike in all items of a row", function()
    local a = devices.zeros({ 30, 48 }, "float32")
    local b, c = devices.zeros({ 48, 19 }, "float32"), devices.zeros({ 30, 19 }, "float32")
    local fill = roc.kernel(function(a, b)
      local i, j = roc.grid(2)
      if i <= 30 then a[i][j] = 1 / (i * 7 + j * 3) end
      if i <= 19 then b[j][i] = 1 / (j * 5 + 2) end -- the same in all columns
    end)
    fill:launch({ grid = { 30, 48 }, workgroup = { 10, 4 } }, a, b)
    local k = roc.kernel(function(a, b, c)
      local at = roc.shared.array({ 5, 16 }, "float32")
      local bt = roc.shared.array({ 16, 19 }, "float32")
      local x, y = roc.get_local_id(1), roc.get_local_id(2)
      local row, sum = roc.get_global_id(2), roc.float32(0.0)
      for t = 0, 47, 16 do
        if x <= 16 then at[y][x] = a[row][t + x] end
        for k = y, 16, 5 do bt[k][x] = b[t + k][x] end
        roc.barrier()
        for k = 1, 16 do sum = sum + at[y][k] * bt[k][x] end
        roc.barrier()
      end
      c[row][x] = sum
    end)
    k:launch({ grid = { 19, 30 }, workgroup = { 19, 5 } }, a, b, c)
    for _, row in ipairs(devices.table(c)) do
      for x = 2, 19 do assert.equal(row[1], row[x]) end
    end
  end)

  for _, workgroup in ipairs { { 16, 4 }, { 21, 3 }, { 64 } } do
    local name = table.concat(workgroup, " x ")
    it("keeps more sums than there are registers, workgroups of " .. name, function()
      local x, out = devices.values(numbers(60), "int64"), devices.zeros({ 128 * 6, 16 }, "int64")
      local k = roc.kernel(function(x, out)
        local i, j = roc.grid(2)
        local sums, last = roc.private.array(16, "int64"), 0
        for p = 1, 16 do sums[p] = p * i end
        for k = 1, #x do
          last = last + x[k]
          for p = 1, 16 do sums[p] = sums[p] * 3 + x[k] * p + j end
          sums[2], sums[15] = sums[2] + sums[13] * last, sums[15] ~ sums[9] -- made of others, too
        end
        for p = 1, 16 do out[i + 128 * (j - 1)][p] = sums[p] end
      end)
      k:launch({ grid = { 128, 6 }, workgroup = workgroup }, x, out)
      local got = devices.table(out)
      for i = 1, 128, 9 do
        for j = 1, 6 do
          local sums, last = {}, 0
          for p = 1, 16 do sums[p] = p * i end
          for n = 1, 60 do
            local e = n * 7 % 31 - 11
            last = last + e
            for p = 1, 16 do sums[p] = sums[p] * 3 + e * p + j end
            sums[2], sums[15] = sums[2] + sums[13] * last, sums[15] ~ sums[9]
          end
          assert.same(sums, got[i + 128 * (j - 1)])
        end
      end
    end)
  end
end)
