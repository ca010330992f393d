-- Loops around as many items as registers hold: what items keep from one iteration to the next is
-- in vector registers. That the results stay those of items that run one by one: cts/sums_spec.
local roc = require "roc"

-- How many vectors of floats, of `lanes` each, the block of a loop takes from one turn to the next
-- that has most of them, and writes nothing to memory.
local function count_kept(kernel, target, lanes)
  local most = 0
  for block in kernel:inspect_llvm(target, "opt"):gmatch("(.-)\n\n") do
    local count = select(2, block:gsub("phi <" .. lanes .. " x float>", ""))
    local adds = block:find("call <" .. lanes .. " x float> @llvm.fma.v" .. lanes .. "f32", 1, true)
    if adds and not block:find("store ") then most = math.max(most, count) end
  end
  return most
end

local function product(opts)
  return roc.kernel(function(a, b, c)
    local column, row = roc.grid(2)
    local sum = 0.0
    for k = 1, a.shape[2] do sum = sum + a[row][k] * b[k][column] end
    c[row][column] = sum
  end, opts)
end

local function guarded_product(opts)
  return roc.kernel(function(a, b, c)
    local column, row = roc.grid(2)
    if row <= c.shape[1] and column <= c.shape[2] then
      local sum = 0.0
      for k = 1, a.shape[2] do sum = sum + a[row][k] * b[k][column] end
      c[row][column] = sum
    end
  end, opts)
end

-- With returns in place of a guard.
local function returning_product(opts)
  return roc.kernel(function(a, b, c)
    local column, row = roc.grid(2)
    if row > c.shape[1] then return end
    if column > c.shape[2] then return end
    local sum = 0.0
    for k = 1, a.shape[2] do sum = sum + a[row][k] * b[k][column] end
    c[row][column] = sum
  end, opts)
end

local function returning_tiled(opts)
  return roc.kernel(function(a, b, c)
    local as, bs = roc.shared.array({ 16, 16 }, "float32"), roc.shared.array({ 16, 16 }, "float32")
    local column, row = roc.grid(2)
    if row > c.shape[1] or column > c.shape[2] then return end
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local sum = 0.0
    for t = 0, a.shape[2] - 1, 16 do
      as[y][x], bs[y][x] = a[row][t + x], b[t + y][column]
      roc.barrier()
      for k = 1, 16 do sum = sum + as[y][k] * bs[k][x] end
      roc.barrier()
    end
    c[row][column] = sum
  end, opts)
end

local function tiled(opts)
  return roc.kernel(function(a, b, c)
    local as, bs = roc.shared.array({ 16, 16 }, "float32"), roc.shared.array({ 16, 16 }, "float32")
    local column, row = roc.grid(2)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local sum = 0.0
    for t = 0, a.shape[2] - 1, 16 do
      as[y][x], bs[y][x] = a[row][t + x], b[t + y][column]
      roc.barrier()
      for k = 1, 16 do sum = sum + as[y][k] * bs[k][x] end
      roc.barrier()
    end
    c[row][column] = sum
  end, opts)
end

-- With two tiles in turn: one is multiplied while the next one is loaded.
local function double_buffered(opts)
  return roc.kernel(function(a, b, c)
    local as = roc.shared.array({ 2, 16, 16 }, "float32")
    local bs = roc.shared.array({ 2, 16, 16 }, "float32")
    local column, row = roc.grid(2)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local sum, stage = 0.0, 1
    for t = -16, a.shape[2] - 1, 16 do
      local next_a, next_b = roc.float32(0), roc.float32(0)
      if t + 16 + x <= a.shape[2] then next_a = a[row][t + 16 + x] end
      if t + 16 + y <= b.shape[1] then next_b = b[t + 16 + y][column] end
      if t >= 0 then
        for k = 1, 16 do sum = sum + as[stage][y][k] * bs[stage][k][x] end
      end
      stage = 3 - stage
      as[stage][y][x], bs[stage][y][x] = next_a, next_b
      roc.barrier()
    end
    c[row][column] = sum
  end, opts)
end

-- Each item has `side` × `side` elements, of tiles in shared memory.
local function register_tiled(side, opts)
  local tile = 16 * side
  return roc.kernel(function(a, b, c)
    local as = roc.shared.array({ tile, 16 }, "float32")
    local bs = roc.shared.array({ 16, tile }, "float32")
    local acc = roc.private.array({ side, side }, "float32")
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row, column = (roc.get_group_id(2) - 1) * tile, (roc.get_group_id(1) - 1) * tile
    for p = 1, side do for q = 1, side do acc[p][q] = 0.0 end end
    for t = 0, a.shape[2] // 16 - 1 do
      for p = 0, side - 1 do
        as[y + 16 * p][x] = a[row + y + 16 * p][t * 16 + x]
        bs[y][x + 16 * p] = b[t * 16 + y][column + x + 16 * p]
      end
      roc.barrier()
      for k = 1, 16 do
        for p = 1, side do
          for q = 1, side do
            acc[p][q] = acc[p][q] + as[y + 16 * (p - 1)][k] * bs[k][x + 16 * (q - 1)]
          end
        end
      end
      roc.barrier()
    end
    for p = 1, side do
      for q = 1, side do c[row + y + 16 * (p - 1)][column + x + 16 * (q - 1)] = acc[p][q] end
    end
  end, opts)
end

-- An item has eight neighbouring elements of a column, one of several stacked matrices.
local function strips(opts)
  return roc.kernel(function(a, b, c)
    local column, strip, z = roc.grid(3)
    local above = (strip - 1) * 8
    if z <= #c and column <= c.shape[3] and column <= b.shape[3] then
      if above + 8 <= c.shape[2] and above + 8 <= a.shape[2] then
        local sums = roc.private.array(8, "float32")
        for i = 1, 8 do sums[i] = 0.0 end
        for k = 1, a.shape[3] do
          for i = 1, 8 do sums[i] = sums[i] + a[z][above + i][k] * b[z][k][column] end
        end
        for i = 1, 8 do c[z][above + i][column] = sums[i] end
      else
        for i = above + 1, c.shape[2] do
          local sum = 0.0
          for k = 1, a.shape[3] do sum = sum + a[z][i][k] * b[z][k][column] end
          c[z][i][column] = sum
        end
      end
    end
  end, opts)
end

-- 8 × 8 elements an item, four neighbouring columns in each half of the tile.
local function neighbours(opts)
  return roc.kernel(function(a, b, c)
    local as = roc.shared.array({ 16, 128 }, "float32")
    local bs = roc.shared.array({ 16, 128 }, "float32")
    local acc = roc.private.array({ 8, 8 }, "float32")
    local mine_a, mine_b = roc.private.array(8, "float32"), roc.private.array(8, "float32")
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row, column = (roc.get_group_id(2) - 1) * 128, (roc.get_group_id(1) - 1) * 128
    for p = 1, 8 do for q = 1, 8 do acc[p][q] = 0.0 end end
    for t = 0, a.shape[2] // 16 - 1 do
      for p = 0, 7 do
        as[y][x + 16 * p] = a[t * 16 + y][row + x + 16 * p]
        bs[y][x + 16 * p] = b[t * 16 + y][column + x + 16 * p]
      end
      roc.barrier()
      for k = 1, 16 do
        for p = 1, 8 do mine_a[p] = as[k][(y - 1) * 8 + p] end
        for q = 1, 4 do
          mine_b[q], mine_b[q + 4] = bs[k][(x - 1) * 4 + q], bs[k][64 + (x - 1) * 4 + q]
        end
        for p = 1, 8 do
          for q = 1, 8 do acc[p][q] = acc[p][q] + mine_a[p] * mine_b[q] end
        end
      end
      roc.barrier()
    end
    for p = 1, 8 do
      for q = 1, 8 do c[row + (y - 1) * 8 + p][column + (x - 1) * 8 + q] = acc[p][q] end
    end
  end, opts)
end

local SIGNATURE = "(float32[:,::1], float32[:,::1], float32[:,::1])"

describe("what items keep over a loop", function()
  for lanes, target in pairs { [8] = "cpu:x86-64-v3", [16] = "cpu:x86-64-v4" } do
    it("is in registers on " .. target .. " in a kernel too large for all passes", function()
      local opts = { check = false, number = "float32", signature = SIGNATURE }
      -- 64 sums, in eight parts or four
      assert.equal(lanes == 8 and 8 or 16, count_kept(register_tiled(8, opts), target, lanes))
    end)
  end

  for lanes, target in pairs { [8] = "cpu:x86-64-v3", [16] = "cpu:x86-64-v4" } do
    it("is summed in parts that have neighbouring columns in common on " .. target, function()
      local opts = { check = false, number = "float32", signature = SIGNATURE }
      -- all sums of a part belong to four columns, which one piece of memory has
      local name = ("<%d x float>"):format(4 * lanes)
      local parts = 0
      for block in neighbours(opts):inspect_llvm(target, "opt"):gmatch("(.-)\n\n") do
        local _, nloads = block:gsub("load " .. name, "")
        if nloads > 0 and block:find("@llvm.fma", 1, true) then
          parts = parts + 1
          assert.equal(1, nloads, block)
        end
      end
      assert.equal(64 // lanes, parts)
    end)
  end

  it("is in registers where rows of several are written out in such a kernel", function()
    local opts = { check = false, number = "float32",
      signature = SIGNATURE:gsub("%[:,::1%]", "[:,:,::1]") }
    assert.equal(16, count_kept(strips(opts), "cpu:x86-64-v4", 16)) -- 8 sums of each of two rows
  end)

  it("is in halves of vectors of 64 bytes where rows have eight items", function()
    local opts = { check = false, number = "float32", signature = SIGNATURE }
    assert.equal(4, count_kept(product(opts), "cpu:x86-64-v4", 8))
  end)

  for _, check in ipairs { true, false } do
    for lanes, target in pairs { [8] = "cpu:x86-64-v3", [16] = "cpu:x86-64-v4" } do
      it(("is in registers on %s, check=%s"):format(target, check), function()
        local opts = { check = check, number = "float32", signature = SIGNATURE }
        -- two vectors of each of four rows of the workgroup: eight sums at once, two for each
        -- product that begins while another one ends
        assert.equal(8, count_kept(product(opts), target, lanes))
        -- in groups all of whose items pass the guard as well
        assert.equal(8, count_kept(guarded_product(opts), target, lanes))
        assert.equal(8, count_kept(returning_product(opts), target, lanes))
        -- (checked, a row is known to have no more than 16 items, one vector of 16)
        local nvectors = lanes == 16 and check and 1 or 2
        assert.equal(4 * nvectors, count_kept(tiled(opts), target, lanes))
        assert.equal(4 * nvectors, count_kept(returning_tiled(opts), target, lanes))
        assert.equal(4 * nvectors, count_kept(double_buffered(opts), target, lanes))
        -- of four sums each, two rows fit into 16 registers, and four into 32
        assert.equal(lanes == 8 and 8 or 16, count_kept(register_tiled(2, opts), target, lanes))
        -- 16 sums are half of 32 registers; where there are 16, the loop runs for 8 sums, twice
        assert.equal(lanes == 8 and 8 or 16, count_kept(register_tiled(4, opts), target, lanes))
      end)
    end
  end

  it("has a branch that all items of a row take around them, not in each", function()
    local function sums(x, c, o, n)
      local i = roc.get_global_id(1)
      if i > #x then return end
      local v, s, t = x[i], 0.0, 1.0
      for k = n, 1, -1 do
        if k % 2 == 1 then s = s * v + c[k] else s = s * v - c[k] end
        if k > 3 and k < n - 1 then
          t = t + s
          if k % 3 == 0 then s = s + x[i] end
        end
      end
      o[i] = s + t
    end
    for _, target in ipairs { "cpu:x86-64-v3", "cpu:x86-64-v4" } do
      local asm = roc.kernel(sums, { signature = "(float32[:], float32[:], float32[:], int64)",
        number = "float32", check = false }):inspect_asm(target)
      assert.not_matches("vfmadd%d+ss%s+%d+%(%%rsp", asm)
    end
    local function run(device, check, items, n)
      local scope <close> = roc.on_device(device) -- luacheck: ignore
      local x, c, o = roc.zeros(items, "float32"), roc.zeros(12, "float32"),
        roc.zeros(items, "float32")
      for i = 1, items do x[i] = (i % 7 - 3) / 4 end
      for k = 1, 12 do c[k] = k / 2 end
      roc.kernel(sums, { check = check, contract = false }):forall(items)(x, c, o, n)
      roc.current_device():synchronize()
      return o:totable()
    end
    for _, items in ipairs { 1, 37, 300 } do
      for _, n in ipairs { 0, 1, 12 } do
        local want = run("sim", true, items, n)
        assert.same(want, run("cpu", true, items, n))
        assert.same(want, run("cpu", false, items, n))
      end
    end
  end)
end)
