--- Transposing a matrix: b[j][i] = a[i][j].
--- Dimension 1 of the launch goes along the rows of `a`, dimension 2 from row to row.
local roc = require "roc"

local TILE = 16
local BLOCK, ROWS = 32, 8
local WIDE, EACH = 64, 4 -- elements of a block's row, and of an item in it
local MOST_GROUPS = 1 << 40 -- more than memory has blocks for

local transpose = { TILE = TILE, BLOCK = BLOCK, ROWS = ROWS, WIDE = WIDE, EACH = EACH }

-- How many rows and columns of `a` come before the group's block, of `side` × `side`.  Groups that
-- begin one after the other take blocks of `a` below each other, which are beside each other in
-- `b`: memory gains more from writes that are together.
local function place(side)
  local down = roc.get_num_groups(2)
  local group = (roc.get_group_id(2) - 1) * roc.get_num_groups(1) + roc.get_group_id(1) - 1
  group = group & MOST_GROUPS - 1 -- which changes none, but lets nothing here overflow
  return group % down * side, group // down * side
end

--- One element a work-item: reads along rows, writes down columns.
--- `naive:launch({ grid = { columns, rows }, workgroup = { 16, 16 } }, a, b)`.
transpose.naive = roc.kernel(function(a, b)
  local j, i = roc.grid(2)
  if i <= a.shape[1] and j <= a.shape[2] then b[j][i] = a[i][j] end
end, { name = "transpose_naive" })

---Makes the tiled kernel for arrays of `dtype`: a workgroup of TILE × TILE turns its block round in
---shared memory, so that reads and writes both go along rows.  A row of the block is one element
---longer than it needs to be, which spreads a column over all memory banks.
---@param dtype roc.DType
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function transpose.tiled_for(dtype, check)
  return roc.kernel(function(a, b)
    local tile = roc.shared.array({ TILE, TILE + 1 }, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local column0 = (roc.get_group_id(1) - 1) * TILE
    local row0 = (roc.get_group_id(2) - 1) * TILE
    if row0 + y <= a.shape[1] and column0 + x <= a.shape[2] then
      tile[y][x] = a[row0 + y][column0 + x]
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if column0 + y <= b.shape[1] and row0 + x <= b.shape[2] then
      b[column0 + y][row0 + x] = tile[x][y]
    end
  end, { name = "transpose_tiled", check = check, workgroup = { TILE, TILE } })
end

--- The tiled kernel for float32.  Launch it in whole groups, as an item reads what its group has
--- stored:
--- `tiled[{ { ceil(columns / TILE), ceil(rows / TILE) }, { TILE, TILE } }](a, b)`.
transpose.tiled = transpose.tiled_for(roc.float32)

---Makes the kernel for arrays of `dtype` in which a workgroup of BLOCK × ROWS items turns a block
---of BLOCK × BLOCK round: an item moves an element of every ROWSth row, all of which it asks for
---before the first one comes.
---@param dtype roc.DType
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function transpose.blocked_for(dtype, check)
  return roc.kernel(function(a, b)
    local block = roc.shared.array({ BLOCK, BLOCK + 1 }, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row0, column0 = place(BLOCK)
    if column0 + x <= a.shape[2] then
      for k = 0, BLOCK - ROWS, ROWS do
        if row0 + y + k <= a.shape[1] then block[y + k][x] = a[row0 + y + k][column0 + x] end
      end
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if row0 + x <= b.shape[2] then
      for k = 0, BLOCK - ROWS, ROWS do
        if column0 + y + k <= b.shape[1] then b[column0 + y + k][row0 + x] = block[x][y + k] end
      end
    end
  end, { name = "transpose_blocked", check = check, workgroup = { BLOCK, ROWS } })
end

--- The blocked kernel for float32.  Launch it in whole groups:
--- `blocked[{ { ceil(columns / BLOCK), ceil(rows / BLOCK) }, { BLOCK, ROWS } }](a, b)`.
transpose.blocked = transpose.blocked_for(roc.float32)

---Makes the kernel for arrays of `dtype` in which a workgroup of WIDE × EACH items turns a block of
---WIDE × WIDE round.  An item reads EACH neighbours of a row, which are one access where they can
---be, of every WIDE // EACHth row; it writes one element of every EACHth row.
---@param dtype roc.DType
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function transpose.wide_for(dtype, check)
  return roc.kernel(function(a, b)
    local block = roc.shared.array({ WIDE, WIDE + 1 }, dtype)
    local x, y = roc.get_local_id(1), roc.get_local_id(2)
    local row0, column0 = place(WIDE)
    local across = WIDE // EACH
    local row, from = (x - 1) // across + EACH * y - EACH + 1, (x - 1) % across * EACH
    local column = column0 + from
    if row0 + WIDE <= a.shape[1] and column + EACH <= a.shape[2] then
      for i = row, row + WIDE - across, across do
        local j, r = column, row0 + i
        local v1, v2, v3, v4 = a[r][j + 1], a[r][j + 2], a[r][j + 3], a[r][j + 4]
        block[i][from + 1], block[i][from + 2] = v1, v2
        block[i][from + 3], block[i][from + 4] = v3, v4
      end
    else
      for i = row, row + WIDE - across, across do
        for j = 1, EACH do
          if row0 + i <= a.shape[1] and column + j <= a.shape[2] then
            block[i][from + j] = a[row0 + i][column + j]
          end
        end
      end
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    if row0 + x <= b.shape[2] then
      if column0 + WIDE <= b.shape[1] then
        for i = y, y + WIDE - across, across do
          for k = i, i + across - EACH, EACH do b[column0 + k][row0 + x] = block[x][k] end
        end
      else
        for i = y, y + WIDE - EACH, EACH do
          if column0 + i <= b.shape[1] then b[column0 + i][row0 + x] = block[x][i] end
        end
      end
    end
  end, { name = "transpose_wide", check = check, workgroup = { WIDE, EACH } })
end

--- The wide kernel for float32, the quickest on GPUs.  Launch it in whole groups:
--- `wide[{ { ceil(columns / WIDE), ceil(rows / WIDE) }, { WIDE, EACH } }](a, b)`.
transpose.wide = transpose.wide_for(roc.float32)

return transpose
