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
---each loaded once into shared memory and used `tile` times.  Any m, n and k; the edge is filled
---with zeros.
---@param dtype roc.DType of numbers
---@param check? boolean false: an unchecked kernel
---@param tile? integer TILE by default; 32 at most
---@return roc.Kernel
function gemm.tiled_for(dtype, check, tile)
  local side = tile or TILE
  return roc.kernel(function(a, b, c)
    local block_a = roc.shared.array({ side, side }, dtype)
    local block_b = roc.shared.array({ side, side }, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row0, column0 = (roc.get_group_id(2) - 1) * side, (roc.get_group_id(1) - 1) * side
    local i, j = row0 + y, column0 + x
    local m, n, depth = c.shape[1], c.shape[2], a.shape[2]
    local is_inside = row0 + side <= m and column0 + side <= n
    local sum = 0
    for k0 = 0, depth - 1, side do
      if is_inside and k0 + side <= depth then
        block_a[y][x], block_b[y][x] = a[i][k0 + x], b[k0 + y][j]
      else
        block_a[y][x], block_b[y][x] = 0, 0
        if i <= m and k0 + x <= depth then block_a[y][x] = a[i][k0 + x] end
        if k0 + y <= depth and j <= n then block_b[y][x] = b[k0 + y][j] end
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      for k = 1, side do sum = sum + block_a[y][k] * block_b[k][x] end
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

gemm.BLOCK, gemm.SIDE = BLOCK, SIDE

---Makes the kernel in which a workgroup of SIDE × SIDE has BLOCK × BLOCK elements of `c`, and an
---item EACH × EACH of them in registers: what it reads from shared memory serves EACH times.
---@param dtype roc.DType of numbers
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function gemm.blocked_for(dtype, check)
  return roc.kernel(function(a, b, c)
    local block_a = roc.shared.array({ DEPTH, BLOCK }, dtype) -- columns of `a`
    local block_b = roc.shared.array({ DEPTH, BLOCK }, dtype)
    local sums = roc.private.array({ EACH, EACH }, dtype)
    local mine_a, mine_b = roc.private.array(EACH, dtype), roc.private.array(EACH, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row0, column0 = (roc.get_group_id(2) - 1) * BLOCK, (roc.get_group_id(1) - 1) * BLOCK
    local m, n, depth = c.shape[1], c.shape[2], a.shape[2]
    local is_inside = row0 + BLOCK <= m and column0 + BLOCK <= n
    -- What an item brings of `a`: EACH rows, every (BLOCK // 4)th; of `b`: every second row.
    local item = (y - 1) * SIDE + x - 1
    local row_a, k_a = item // DEPTH + 1, item % DEPTH + 1
    local k_b, column_b = item // BLOCK + 1, item % BLOCK + 1
    for i = 1, EACH do
      for j = 1, EACH do sums[i][j] = 0 end
    end
    for k0 = 0, depth - 1, DEPTH do
      if is_inside and k0 + DEPTH <= depth then
        for s = 0, 3 do
          block_a[k_a][row_a + s * 32] = a[row0 + row_a + s * 32][k0 + k_a]
          block_b[k_b + s * 2][column_b] = b[k0 + k_b + s * 2][column0 + column_b]
        end
      else
        for s = 0, 3 do
          local i, k = row0 + row_a + s * 32, k0 + k_b + s * 2
          block_a[k_a][row_a + s * 32], block_b[k_b + s * 2][column_b] = 0, 0
          if i <= m and k0 + k_a <= depth then block_a[k_a][row_a + s * 32] = a[i][k0 + k_a] end
          if k <= depth and column0 + column_b <= n then
            block_b[k_b + s * 2][column_b] = b[k][column0 + column_b]
          end
        end
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      for k = 1, DEPTH do
        -- Four neighbours, and four in the other half: so the items of a wave use all banks.
        for i = 1, 4 do
          mine_a[i], mine_a[i + 4] = block_a[k][(y - 1) * 4 + i], block_a[k][64 + (y - 1) * 4 + i]
          mine_b[i], mine_b[i + 4] = block_b[k][(x - 1) * 4 + i], block_b[k][64 + (x - 1) * 4 + i]
        end
        for i = 1, EACH do
          for j = 1, EACH do sums[i][j] = sums[i][j] + mine_a[i] * mine_b[j] end
        end
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
    for i = 1, EACH do
      local row = row0 + (i - 1) // 4 * 64 + (y - 1) * 4 + (i - 1) % 4 + 1
      for j = 1, EACH do
        local column = column0 + (j - 1) // 4 * 64 + (x - 1) * 4 + (j - 1) % 4 + 1
        if row <= m and column <= n then c[row][column] = sums[i][j] end
      end
    end
  end, { name = "gemm_blocked", check = check, workgroup = { SIDE, SIDE } })
end

--- The blocked kernel for float32, the quickest on GPUs.  Launch it in whole groups:
--- `blocked[{ { ceil(n / BLOCK), ceil(m / BLOCK) }, { SIDE, SIDE } }](a, b, c)`.
gemm.blocked = gemm.blocked_for(roc.float32)

-- A launcher of whole groups of `side` × `side` items, which have `block` × `block` elements each.
local function whole_groups(kernel, c, block, side)
  local m, n = c.shape[1], c.shape[2]
  local groups = { (n + block - 1) // block, (m + block - 1) // block }
  return kernel[{ groups, { side, side } }]
end

-- How to run the product: one element an item, tiles, or blocks.
local CHOICES = { "naive", 8, 16, 32, "blocked" }

---The quickest of these kernels for the arrays' device, dtype and shapes, found by roc.tune, which
---writes products into `c`, and keeps on disk what it has found.
---@param a roc.DeviceArray
---@param b roc.DeviceArray
---@param c roc.DeviceArray
---@return fun(a: roc.DeviceArray, b: roc.DeviceArray, c: roc.DeviceArray) run
---@return string | integer choice "naive", the tile's side, or "blocked"
function gemm.tuned(a, b, c)
  return roc.tune(function(choice)
    if choice == "naive" then
      return whole_groups(gemm.naive, c, TILE, TILE)
    elseif choice == "blocked" then
      return whole_groups(gemm.blocked_for(c.dtype), c, BLOCK, SIDE)
    end
    return whole_groups(gemm.tiled_for(c.dtype, nil, choice), c, choice, choice)
  end, CHOICES, { a, b, c }, { name = "gemm" })
end

return gemm
