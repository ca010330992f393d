--- Inclusive prefix sums: y[i] = x[1] + … + x[i]. Each workgroup scans a block and notes its sum;
--- the sums are scanned likewise; then each block is raised by what stands before it.
local roc = require "roc"

local SIZE = 256 -- items of a workgroup, elements of a block

local scan = { SIZE = SIZE }

---Makes the kernel that scans each block of SIZE elements by itself and writes the blocks' sums, by
---doubling distances.
---@param dtype roc.DType
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function scan.blocks_for(dtype, check)
  return roc.kernel(function(x, y, sums)
    local part = roc.shared.array(SIZE, dtype)
    local item, i = roc.get_local_id(1), roc.get_global_id(1)
    part[item] = dtype(0)
    if i <= #x then part[item] = x[i] end
    local distance = 1
    while distance < SIZE do
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      local before = dtype(0)
      if item > distance then before = part[item - distance] end
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      part[item] = part[item] + before
      distance = distance * 2
    end
    if i <= #y then y[i] = part[item] end
    if item == SIZE then sums[roc.get_group_id(1)] = part[item] end
  end, { name = "scan_blocks", check = check })
end

--- Adds to each block of `y` but the first the scanned sum of the blocks before it.
scan.raise = roc.kernel(function(y, sums)
  local group, i = roc.get_group_id(1), roc.get_global_id(1)
  if group > 1 and i <= #y then y[i] = y[i] + sums[group - 1] end
end, { name = "scan_raise" })

local blocks = {} -- by dtype name

---The inclusive prefix sum of a one-dimensional device array, as a new one of the same dtype.
---@param x roc.DeviceArray
---@return roc.DeviceArray
function scan.inclusive(x)
  local name = x.dtype.name
  blocks[name] = blocks[name] or scan.blocks_for(x.dtype)
  local y = roc.device_array_like(x)
  if #x == 0 then return y end
  local groups = (#x + SIZE - 1) // SIZE
  local sums = roc.device_array(groups, x.dtype)
  blocks[name][{ groups, SIZE }](x, y, sums)
  if groups > 1 then scan.raise[{ groups, SIZE }](y, scan.inclusive(sums)) end
  return y
end

return scan
