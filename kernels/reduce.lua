--- Sums of arrays, in two launches: each workgroup adds its share, then one workgroup adds the
--- groups' sums.
local roc = require "roc"

local SIZE = 256 -- items of a workgroup; a power of two
local GROUPS = 64 -- of the first launch

local reduce = { SIZE = SIZE }

---Makes the kernel that writes the sum of each workgroup's share of `x` to `sums`, one element a
---group, adding up in `dtype`. An item takes every n-th element, n the number of items, so
---neighbours read neighbours; then the items' sums are added in a tree.
---@param dtype roc.DType
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function reduce.sum_for(dtype, check)
  return roc.kernel(function(x, sums)
    local part = roc.shared.array(SIZE, dtype)
    local item = roc.get_local_id(1)
    local acc = dtype(0)
    for i = roc.get_global_id(1), #x, roc.get_global_size(1) do acc = acc + dtype(x[i]) end
    part[item] = acc
    local half = SIZE // 2
    while half > 0 do
      roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
      if item <= half then part[item] = part[item] + part[item + half] end
      half = half // 2
    end
    if item == 1 then sums[roc.get_group_id(1)] = part[1] end
  end, { name = "reduce_sum", check = check })
end

--- The sum kernel for float32 arrays; its workgroup is SIZE.
reduce.sum = reduce.sum_for(roc.float32)

---The sum of a float32 device array, as a number.  Waits.
---@param x roc.DeviceArray
---@return number
function reduce.total(x)
  local sums = roc.device_array(GROUPS, roc.float32)
  local total = roc.device_array(1, roc.float32)
  reduce.sum[{ GROUPS, SIZE }](x, sums)
  reduce.sum[{ 1, SIZE }](sums, total)
  return total[1]
end

return reduce
