--- The matrix product c = a · b of row-major matrices: `a` is m × k, `b` is k × n, `c` is m × n.
--- Dimension 1 of the launch goes along the rows of `c`, dimension 2 from row to row.
local roc = require "roc"

local TILE = 16

local gemm = { TILE = TILE }

--- One element of `c` a work-item, straight from global memory.
--- `naive:launch({ grid = { n, m }, workgroup = { 16, 16 } }, a, b, c)`.
gemm.naive = roc.kernel(function(a, b, c)
  local j, i = roc.grid(2)
  if i <= c.shape[1] and j <= c.shape[2] then
    local sum = 0
    for k = 1, a.shape[2] do sum = sum + a[i][k] * b[k][j] end
    c[i][j] = sum
  end
end, { name = "gemm_naive" })

---Makes the tiled kernel for arrays of `dtype`: a workgroup of tile × tile walks along k in blocks,
---each loaded once into shared memory and used `tile` times.  While one block is multiplied the
---elements of the next one are on their way.  Any m, n and k; the edge is filled with zeros.
---@param dtype roc.DType of numbers
---@param check? boolean false: an unchecked kernel
---@param tile? integer TILE by default; 32 at most
---@return roc.Kernel
function gemm.tiled_for(dtype, check, tile)
  local side = tile or TILE
  return roc.kernel(function(a, b, c)
    local block_a = roc.shared.array({ 2, side, side }, dtype)
    local block_b = roc.shared.array({ 2, side, side }, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local i = (roc.get_group_id(2) - 1) * side + y
    local j = (roc.get_group_id(1) - 1) * side + x
    local m, n, depth = c.shape[1], c.shape[2], a.shape[2]
    local sum, stage = 0, 1
    for k0 = -side, depth - 1, side do
      local after, next_a, next_b = k0 + side, dtype(0), dtype(0)
      if i <= m and after + x <= depth then next_a = a[i][after + x] end
      if j <= n and after + y <= depth then next_b = b[after + y][j] end
      if k0 >= 0 then
        for k = 1, side do sum = sum + block_a[stage][y][k] * block_b[stage][k][x] end
      end
      stage = 3 - stage
      block_a[stage][y][x], block_b[stage][y][x] = next_a, next_b
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
    if i <= m and j <= n then c[i][j] = sum end
  end, { name = "gemm_tiled", check = check, workgroup = { side, side } })
end

--- The tiled kernel for float32.  Launch it in whole groups, as an item computes with what its
--- group has loaded:
--- `tiled[{ { ceil(n / TILE), ceil(m / TILE) }, { TILE, TILE } }](a, b, c)`.
gemm.tiled = gemm.tiled_for(roc.float32)

local BLOCK, DEPTH, SIDE = 128, 8, 16 -- of c a workgroup; of k at a time; items
local EACH = BLOCK // SIDE -- rows and columns of an item
local GAP = 4 -- after a column of `a`: so the items of a wave store to all banks

gemm.BLOCK, gemm.SIDE = BLOCK, SIDE

---Makes the kernel in which a workgroup of SIDE × SIDE has BLOCK × BLOCK elements of `c`, and an
---item EACH × EACH of them in registers: what it reads from shared memory serves EACH times.  As
---above, the next block is on its way while one is multiplied.  After the last row of `a` comes
---that row again: what it gives is not stored.
---@param dtype roc.DType of numbers
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function gemm.blocked_for(dtype, check)
  return roc.kernel(function(a, b, c)
    local block_a = roc.shared.array({ 2, DEPTH, BLOCK + GAP }, dtype) -- columns of `a`
    local block_b = roc.shared.array({ 2, DEPTH, BLOCK }, dtype)
    local sums = roc.private.array({ EACH, EACH }, dtype)
    local mine_a, mine_b = roc.private.array(EACH, dtype), roc.private.array(EACH, dtype)
    local next_a, next_b = roc.private.array(4, dtype), roc.private.array(4, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row0, column0 = (roc.get_group_id(2) - 1) * BLOCK, (roc.get_group_id(1) - 1) * BLOCK
    local m, n, depth = c.shape[1], c.shape[2], a.shape[2]
    -- What an item brings of `a`: one of each 32 rows; of `b`: one of each 2.
    local item = (y - 1) * SIDE + x - 1
    local row_a, k_a = item // DEPTH + 1, item % DEPTH + 1
    local k_b, column_b = item // 32 + 1, item % 32 + 1
    local column = column0 + column_b
    for i = 1, EACH do
      for j = 1, EACH do sums[i][j] = 0 end
    end
    local stage = 1
    for k0 = -DEPTH, depth - 1, DEPTH do
      local after = k0 + DEPTH
      for s = 0, 3 do
        local row = math.min(row0 + row_a + s * 32, m)
        next_a[s + 1], next_b[s + 1] = 0, 0
        if after + k_a <= depth then next_a[s + 1] = a[row][after + k_a] end
        if after + k_b <= depth and column + s * 32 <= n then
          next_b[s + 1] = b[after + k_b][column + s * 32]
        end
      end
      if k0 >= 0 then
        for k = 1, DEPTH do
          -- Four neighbours, and four in the other half: so the items of a wave use all banks.
          for i = 1, 4 do
            local at_a, at_b = (y - 1) * 4 + i, (x - 1) * 4 + i
            mine_a[i], mine_a[i + 4] = block_a[stage][k][at_a], block_a[stage][k][64 + at_a]
            mine_b[i], mine_b[i + 4] = block_b[stage][k][at_b], block_b[stage][k][64 + at_b]
          end
          for i = 1, EACH do
            for j = 1, EACH do sums[i][j] = sums[i][j] + mine_a[i] * mine_b[j] end
          end
        end
      end
      stage = 3 - stage
      for s = 0, 3 do
        block_a[stage][k_a][row_a + s * 32] = next_a[s + 1]
        block_b[stage][k_b][column_b + s * 32] = next_b[s + 1]
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
    for i = 1, EACH do
      local row = row0 + (i - 1) // 4 * 64 + (y - 1) * 4 + (i - 1) % 4 + 1
      for j = 1, EACH do
        local to = column0 + (j - 1) // 4 * 64 + (x - 1) * 4 + (j - 1) % 4 + 1
        if row <= m and to <= n then c[row][to] = sums[i][j] end
      end
    end
  end, { name = "gemm_blocked", check = check, workgroup = { SIDE, SIDE } })
end

--- The blocked kernel for float32.  Launch it in whole groups:
--- `blocked[{ { ceil(n / BLOCK), ceil(m / BLOCK) }, { SIDE, SIDE } }](a, b, c)`.
gemm.blocked = gemm.blocked_for(roc.float32)

local HALF = BLOCK // 2
local PAIR = 2 * DEPTH

-- The next elements of an item: four rows of `a` and four columns of `b`, which are inside both.
local function fetch(next_a, next_b, a, b, row, column, k_a, k_b)
  for s = 0, 3 do
    next_a[s + 1], next_b[s + 1] = a[row + s * 32][k_a], b[k_b][column + s * 32]
  end
end

-- The same with zeros for what is outside, or beyond `last`.
local function fetch_some(next_a, next_b, a, b, row, column, k_a, k_b, last)
  for s = 0, 3 do
    next_a[s + 1], next_b[s + 1] = 0, 0
    if row + s * 32 <= a.shape[1] and k_a <= last then next_a[s + 1] = a[row + s * 32][k_a] end
    if column + s * 32 <= b.shape[2] and k_b <= last then
      next_b[s + 1] = b[k_b][column + s * 32]
    end
  end
end

local function store(block_a, block_b, next_a, next_b, row, column, k_a, k_b)
  for s = 0, 3 do
    block_a[k_a][row + s * 32], block_b[k_b][column + s * 32] = next_a[s + 1], next_b[s + 1]
  end
end

-- Adds the product of two blocks to the sums of item x, y: four neighbours, and four in the other
-- half, so that the items of a wave use all banks.
local function multiply(sums, mine_a, mine_b, block_a, block_b, x, y)
  for k = 1, DEPTH do
    for i = 1, 4 do
      local at_a, at_b = (y - 1) * 4 + i, (x - 1) * 4 + i
      mine_a[i], mine_a[i + 4] = block_a[k][at_a], block_a[k][HALF + at_a]
      mine_b[i], mine_b[i + 4] = block_b[k][at_b], block_b[k][HALF + at_b]
    end
    for i = 1, EACH do
      for j = 1, EACH do sums[i][j] = sums[i][j] + mine_a[i] * mine_b[j] end
    end
  end
end

---Makes the blocked kernel for NVIDIA GPUs, whose blocks come in pairs: one is multiplied while the
---other is filled.  Each has its place in shared memory, and a workgroup inside of `c` compares
---nothing on its way.  What is left of whole pairs, and what a workgroup at the edge has, comes
---first, block by block.  RDNA has too few registers for it.
---@param dtype roc.DType of numbers
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function gemm.paired_for(dtype, check)
  return roc.kernel(function(a, b, c)
    local first_a = roc.shared.array({ DEPTH, BLOCK + GAP }, dtype) -- columns of `a`
    local second_a = roc.shared.array({ DEPTH, BLOCK + GAP }, dtype)
    local first_b = roc.shared.array({ DEPTH, BLOCK }, dtype)
    local second_b = roc.shared.array({ DEPTH, BLOCK }, dtype)
    local sums = roc.private.array({ EACH, EACH }, dtype)
    local mine_a, mine_b = roc.private.array(EACH, dtype), roc.private.array(EACH, dtype)
    local next_a, next_b = roc.private.array(4, dtype), roc.private.array(4, dtype)
    local row0, column0 = (roc.get_group_id(2) - 1) * BLOCK, (roc.get_group_id(1) - 1) * BLOCK
    local m, n, depth = a.shape[1], b.shape[2], math.min(a.shape[2], b.shape[1])
    -- The 32 items of a wave have 4 × 8 places, and neighbours the same columns: of shared memory
    -- they read 12 times four elements at once, where two rows of 16 items read 18 times four.
    local item = (roc.get_local_id(2) - 1) * SIDE + roc.get_local_id(1) - 1
    local wave, lane = item // 32, item % 32
    local x = wave % 2 * 8 + lane // 2 % 8 + 1
    local y = wave // 2 * 4 + lane // 16 * 2 + lane % 2 + 1
    -- What an item brings of `a`: one of each 32 rows; of `b`: one of each 32 columns.
    local row_a, k_a = item // DEPTH + 1, item % DEPTH + 1
    local k_b, column_b = item // 32 + 1, item % 32 + 1
    local row, column = row0 + row_a, column0 + column_b
    for i = 1, EACH do
      for j = 1, EACH do sums[i][j] = 0 end
    end
    local is_inside = row0 + BLOCK <= m and column0 + BLOCK <= n
    local rest = math.min(is_inside and depth % PAIR or depth, depth)
    for k0 = 0, rest - 1, DEPTH do
      fetch_some(next_a, next_b, a, b, row, column, k0 + k_a, k0 + k_b, rest)
      store(first_a, first_b, next_a, next_b, row_a, column_b, k_a, k_b)
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      multiply(sums, mine_a, mine_b, first_a, first_b, x, y)
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
    if is_inside and rest + PAIR <= depth then
      fetch(next_a, next_b, a, b, row, column, rest + k_a, rest + k_b)
      store(first_a, first_b, next_a, next_b, row_a, column_b, k_a, k_b)
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      for k0 = rest, depth - PAIR, PAIR do
        local second, third = k0 + DEPTH, k0 + PAIR
        fetch(next_a, next_b, a, b, row, column, second + k_a, second + k_b)
        multiply(sums, mine_a, mine_b, first_a, first_b, x, y)
        store(second_a, second_b, next_a, next_b, row_a, column_b, k_a, k_b)
        roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
        local goes_on = third + DEPTH <= depth
        if goes_on then fetch(next_a, next_b, a, b, row, column, third + k_a, third + k_b) end
        multiply(sums, mine_a, mine_b, second_a, second_b, x, y)
        if goes_on then
          store(first_a, first_b, next_a, next_b, row_a, column_b, k_a, k_b)
        end
        roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      end
    end
    for i = 1, EACH do
      local to_row = row0 + (i - 1) // 4 * HALF + (y - 1) * 4 + (i - 1) % 4 + 1
      for j = 1, EACH do
        local to = column0 + (j - 1) // 4 * HALF + (x - 1) * 4 + (j - 1) % 4 + 1
        if to_row <= c.shape[1] and to <= c.shape[2] then c[to_row][to] = sums[i][j] end
      end
    end
  end, { name = "gemm_paired", check = check, workgroup = { SIDE, SIDE } })
end

--- The paired kernel for float32, the quickest on an H200.  Launch it as the blocked one.
gemm.paired = gemm.paired_for(roc.float32)

local ROUNDS = 4 -- rows and columns of an item
local SPREAD = SIDE * ROUNDS -- of c a workgroup

gemm.SPREAD = SPREAD

---Makes the kernel in which a workgroup of SIDE × SIDE has SPREAD × SPREAD elements of `c`, and an
---item every SIDEth of them in both directions.  So neighbouring items always read neighbours, in
---registers that are vectors on a CPU.
---@param dtype roc.DType of numbers
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function gemm.spread_for(dtype, check)
  return roc.kernel(function(a, b, c)
    local block_a = roc.shared.array({ SPREAD, SIDE }, dtype)
    local block_b = roc.shared.array({ SIDE, SPREAD }, dtype)
    local sums = roc.private.array({ ROUNDS, ROUNDS }, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row0, column0 = (roc.get_group_id(2) - 1) * SPREAD, (roc.get_group_id(1) - 1) * SPREAD
    local m, n, depth = c.shape[1], c.shape[2], a.shape[2]
    for i = 1, ROUNDS do
      for j = 1, ROUNDS do sums[i][j] = 0 end
    end
    for k0 = 0, depth - 1, SIDE do
      for s = 0, SPREAD - 1, SIDE do
        block_a[y + s][x], block_b[y][x + s] = 0, 0
        if row0 + y + s <= m and k0 + x <= depth then
          block_a[y + s][x] = a[row0 + y + s][k0 + x]
        end
        if k0 + y <= depth and column0 + x + s <= n then
          block_b[y][x + s] = b[k0 + y][column0 + x + s]
        end
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      for k = 1, SIDE do
        for i = 1, ROUNDS do
          for j = 1, ROUNDS do
            local of_a, of_b = block_a[y + (i - 1) * SIDE][k], block_b[k][x + (j - 1) * SIDE]
            sums[i][j] = sums[i][j] + of_a * of_b
          end
        end
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
    for i = 0, ROUNDS - 1 do
      for j = 0, ROUNDS - 1 do
        local row, column = row0 + y + i * SIDE, column0 + x + j * SIDE
        if row <= m and column <= n then c[row][column] = sums[i + 1][j + 1] end
      end
    end
  end, { name = "gemm_spread", check = check, workgroup = { SIDE, SIDE } })
end

--- The spread kernel for float32, mostly the quickest on CPUs.  Launch it in whole groups:
--- `spread[{ { ceil(n / SPREAD), ceil(m / SPREAD) }, { SIDE, SIDE } }](a, b, c)`.
gemm.spread = gemm.spread_for(roc.float32)

-- A launcher of whole groups of `side` × `side` items, which have `block` × `block` elements each.
local function whole_groups(kernel, c, block, side)
  local m, n = c.shape[1], c.shape[2]
  local groups = { (n + block - 1) // block, (m + block - 1) // block }
  return kernel[{ groups, { side, side } }]
end

-- How to run the product: one element an item, tiles, or blocks.
local function choices_for(device)
  return { "naive", 8, 16, 32, device.kind == "cuda" and "paired" or "blocked", "spread" }
end

---The quickest of these kernels for the arrays' device, dtype and shapes, found by roc.tune, which
---writes products into `c`, and keeps on disk what it has found.
---@param a roc.DeviceArray
---@param b roc.DeviceArray
---@param c roc.DeviceArray
---@return fun(a: roc.DeviceArray, b: roc.DeviceArray, c: roc.DeviceArray) run
---@return string | integer choice "naive", the tile's side, "blocked", "paired" or "spread"
function gemm.tuned(a, b, c)
  return roc.tune(function(choice)
    if choice == "naive" then
      return whole_groups(gemm.naive, c, TILE, TILE)
    elseif choice == "blocked" then
      return whole_groups(gemm.blocked_for(c.dtype), c, BLOCK, SIDE)
    elseif choice == "paired" then
      return whole_groups(gemm.paired_for(c.dtype), c, BLOCK, SIDE)
    elseif choice == "spread" then
      return whole_groups(gemm.spread_for(c.dtype), c, SPREAD, SIDE)
    end
    return whole_groups(gemm.tiled_for(c.dtype, nil, choice), c, choice, choice)
  end, choices_for(c.device), { a, b, c }, { name = "gemm" })
end

return gemm
