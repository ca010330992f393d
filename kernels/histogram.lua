--- How often each byte occurs: `counts[v + 1]` is the number of elements of `data` that are `v`.
local roc = require "roc"

local BINS = 256

local histogram = { BINS = BINS }

---Makes the kernel that adds the counts of a uint8 array to `counts`, 256 integers of 32 or 64
---bits.  Each workgroup counts in shared memory first, so that items meet in global memory once a
---bin and group.  Any launch: an item takes every n-th byte, n the number of items.
---@param check? boolean false: an unchecked kernel
---@return roc.Kernel
function histogram.make(check)
  return roc.kernel(function(data, counts)
    local mine = roc.shared.array(BINS, roc.int32)
    local item, step = roc.get_local_id(1), roc.get_local_size(1)
    for bin = item, BINS, step do mine[bin] = 0 end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    for i = roc.get_global_id(1), #data, roc.get_global_size(1) do
      roc.atomic.add(mine, data[i] + 1, 1)
    end
    roc.barrier(roc.CLK_LOCAL_MEM_FENCE)
    for bin = item, BINS, step do
      if mine[bin] > 0 then roc.atomic.add(counts, bin, mine[bin]) end
    end
  end, { name = "histogram_bytes", check = check })
end

--- The checked kernel.
histogram.bytes = histogram.make()

return histogram
