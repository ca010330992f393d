-- The kernel library against plain Lua, on every device and at sizes that do not fill the last
-- workgroup.
local roc = require "roc"
local devices = require "support.devices"

local function groups_of(n, size) return (n + size - 1) // size end

-- A matrix of small integers, whose products and sums are exact in float32.
local function matrix(rows, columns)
  local t = {}
  for i = 1, rows do
    t[i] = {}
    for j = 1, columns do t[i][j] = (i * 7 + j * 3) % 11 - 5 end
  end
  return t
end

local function device_matrix(t) return roc.to_device(roc.array(t, "float32")) end

devices.each(function(device)
  describe("roc.kernels", function()
    it("saxpy adds a multiple, and triad two arrays", function()
      local blas = require "roc.kernels.saxpy"
      local x, y = devices.values({ 1, 2, 3 }, "float32"), devices.values({ 10, 20, 30 }, "float32")
      blas.saxpy:forall(3)(2, x, y)
      assert.same({ 12.0, 24.0, 36.0 }, devices.table(y))
      local c = devices.zeros(3, "float32")
      blas.triad:forall(3)(0.5, x, y, c)
      assert.same({ 7.0, 14.0, 21.0 }, devices.table(c))
    end)

    for _, name in ipairs { "naive", "tiled" } do
      it(name .. " transpose turns rows into columns", function()
        local transpose = require "roc.kernels.transpose"
        local rows, columns, tile = 19, 35, transpose.TILE
        local t = matrix(rows, columns)
        local b = devices.zeros({ columns, rows }, "float32")
        local groups = { groups_of(columns, tile), groups_of(rows, tile) }
        transpose[name][{ groups, { tile, tile } }](device_matrix(t), b)
        local got = devices.table(b)
        for i = 1, rows do
          for j = 1, columns do assert.are.equal(t[i][j], got[j][i]) end
        end
      end)

      it(name .. " gemm multiplies matrices", function()
        local gemm = require "roc.kernels.gemm"
        local m, k, n, tile = 17, 21, 18, gemm.TILE
        local a, b = matrix(m, k), matrix(k, n)
        local c = devices.zeros({ m, n }, "float32")
        local groups = { groups_of(n, tile), groups_of(m, tile) }
        gemm[name][{ groups, { tile, tile } }](device_matrix(a), device_matrix(b), c)
        local got = devices.table(c)
        for i = 1, m do
          for j = 1, n do
            local sum = 0
            for l = 1, k do sum = sum + a[i][l] * b[l][j] end
            assert.are.equal(sum, got[i][j])
          end
        end
      end)
    end

    -- Whole blocks and edges; rows of a multiple of 16 bytes, and others.
    for name, shapes in pairs { blocked = { { 37, 70 } }, wide = { { 70, 132 }, { 67, 70 } } } do
      it(name .. " transpose turns rows into columns, whole blocks and edges", function()
        local transpose = require "roc.kernels.transpose"
        local block = name == "wide" and transpose.WIDE or transpose.BLOCK
        local items = name == "wide" and transpose.EACH or transpose.ROWS
        for _, shape in ipairs(shapes) do
          local rows, columns = shape[1], shape[2]
          local t = matrix(rows, columns)
          local b = devices.zeros({ columns, rows }, "float32")
          local groups = { groups_of(columns, block), groups_of(rows, block) }
          transpose[name][{ groups, { block, items } }](device_matrix(t), b)
          local got = devices.table(b)
          for i = 1, rows do
            for j = 1, columns do assert.are.equal(t[i][j], got[j][i]) end
          end
        end
      end)
    end

    for _, name in ipairs { "blocked", "paired", "spread" } do
      it(name .. " gemm multiplies matrices, whole blocks and edges", function()
        local gemm = require "roc.kernels.gemm"
        local block = name == "spread" and gemm.SPREAD or gemm.BLOCK
        for _, case in ipairs(device.kind == "sim" and { { 5, name == "paired" and 3 or 9, 3 } }
          or { { 5, 9, 3 }, { 130, name == "paired" and 37 or 11, 128 } }) do
          local m, k, n = table.unpack(case)
          local a, b = matrix(m, k), matrix(k, n)
          local c = devices.zeros({ m, n }, "float32")
          gemm[name][{ { groups_of(n, block), groups_of(m, block) }, { gemm.SIDE, gemm.SIDE } }](
            device_matrix(a), device_matrix(b), c)
          local got, wrong = devices.table(c), 0
          for i = 1, m do
            for j = 1, n do
              local sum = 0
              for l = 1, k do sum = sum + a[i][l] * b[l][j] end
              wrong = wrong + (sum == got[i][j] and 0 or 1)
            end
          end
          assert.are.equal(0, wrong)
        end
      end)
    end

    it("gemm multiplies matrices of integers", function()
      local gemm = require "roc.kernels.gemm"
      local tile, long = gemm.TILE, 3037000500
      local a, b = devices.values({ { long, 2, 3 } }, "int64"),
        devices.values({ { long, 1 }, { 5, 6 }, { 7, 8 } }, "int64")
      for _, k in ipairs { gemm.naive, gemm.tiled_for(roc.int64) } do
        local c = devices.zeros({ 1, 2 }, "int64")
        k[{ 1, { tile, tile } }](a, b, c)
        assert.same({ { long * long + 31, long + 36 } }, devices.table(c))
      end
    end)

    it("reduce adds up an array of any length", function()
      local reduce = require "roc.kernels.reduce"
      for _, n in ipairs { 1, 255, 1000 } do
        local t, sum = {}, 0
        for i = 1, n do
          t[i] = i % 13 - 6
          sum = sum + t[i]
        end
        assert.are.equal(sum, reduce.total(devices.values(t, "float32")))
      end
    end)

    it("scan gives prefix sums, over several levels of blocks", function()
      local scan = require "roc.kernels.scan"
      for _, n in ipairs { 1, scan.SIZE, scan.SIZE * 3 + 5 } do
        local t = {}
        for i = 1, n do t[i] = i % 7 - 2 end
        local got, sum = devices.table(scan.inclusive(devices.values(t, "int64"))), 0
        for i = 1, n do
          sum = sum + t[i]
          assert.are.equal(sum, got[i])
        end
      end
    end)

    it("scan of nothing is nothing", function()
      assert.are.equal(0, #require("roc.kernels.scan").inclusive(devices.zeros(0, "int64")))
    end)

    it("histogram counts bytes", function()
      local histogram = require "roc.kernels.histogram"
      local text = ("a"):rep(300) .. "\0\255" .. ("bc"):rep(100)
      local counts = devices.zeros(histogram.BINS, "int64")
      histogram.bytes[{ 3, 64 }](roc.to_device(roc.frombytes(text, "uint8")), counts)
      local got = devices.table(counts)
      local expected = { [0] = 1, [97] = 300, [98] = 100, [99] = 100, [255] = 1 }
      for value = 0, 255 do assert.are.equal(expected[value] or 0, got[value + 1]) end
    end)

    it("nbody pulls two bodies towards each other", function()
      local nbody = require "roc.kernels.nbody"
      local bodies = device_matrix { { 0, 0, 0, 1 }, { 2, 0, 0, 3 } }
      local velocity, moved = devices.zeros({ 2, 3 }, "float32"), devices.zeros({ 2, 4 }, "float32")
      nbody.step[{ 1, nbody.BLOCK }](bodies, velocity, moved, 0.5, 1e-9)
      local v, p = devices.table(velocity), devices.table(moved)
      assert.near(0.375, v[1][1], 1e-6)  -- 3 / 2² · 0.5
      assert.near(-0.125, v[2][1], 1e-6) -- 1 / 2² · 0.5
      assert.near(0.1875, p[1][1], 1e-6)
      assert.near(1.9375, p[2][1], 1e-6)
      assert.same({ 0.0, 0.0, 1.0 }, { p[1][2], p[1][3], p[1][4] })
    end)

    it("random gives the numbers that the host computes", function()
      local random = require "roc.kernels.random"
      local x = devices.zeros(100, "float32")
      random.fill:forall(100)(x, 42)
      local got, sum = devices.table(x), 0
      for i = 1, 100 do
        assert.are.equal(random.uniform(42, i), got[i])
        sum = sum + got[i]
      end
      assert.near(50, sum, 15)
    end)
  end)
end)
