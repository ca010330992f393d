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

---Makes the tiled kernel for arrays of `dtype`: a workgroup of TILE × TILE walks along k in blocks,
---each loaded once into shared memory and used TILE times.  Any m, n and k; the edge is filled with
---zeros.
---@param dtype roc.DType of numbers
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function gemm.tiled_for(dtype, check)
  return roc.kernel(function(a, b, c)
    local block_a = roc.shared.array({ TILE, TILE }, dtype)
    local block_b = roc.shared.array({ TILE, TILE }, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local j, i = roc.grid(2)
    local m, n, depth = c.shape[1], c.shape[2], a.shape[2]
    local sum = 0
    for k0 = 0, depth - 1, TILE do
      if i <= m and k0 + x <= depth then
        block_a[y][x] = a[i][k0 + x]
      else
        block_a[y][x] = 0
      end
      if k0 + y <= depth and j <= n then
        block_b[y][x] = b[k0 + y][j]
      else
        block_b[y][x] = 0
      end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      for k = 1, TILE do sum = sum + block_a[y][k] * block_b[k][x] end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    end
    if i <= m and j <= n then c[i][j] = sum end
  end, { name = "gemm_tiled", check = check, workgroup = { TILE, TILE } })
end

--- The tiled kernel for float32.  Launch it in whole groups, as an item computes with what its
--- group has loaded:
--- `tiled[{ { ceil(n / TILE), ceil(m / TILE) }, { TILE, TILE } }](a, b, c)`.
gemm.tiled = gemm.tiled_for(roc.float32)

return gemm
