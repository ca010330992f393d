---@meta
-- # In kernels
--
-- What a kernel may call, apart from [mathematics](math.md). On the host these are errors, but for
-- `roc.const.array`. Ids, lanes, dimensions and indices count from 1. The rules of barriers and of
-- wavefronts are in [kernel-language.md](../kernel-language.md#meeting-points-and-order).
--
-- In the examples `six` runs a kernel with six work-items in two workgroups, each of which stores
-- one value, the integer `i` being the item's id.
--
-- ```lua
-- local roc = require "roc"
--
-- local function six(expression, before)
--   local out, total = roc.zeros(6, "int64"), roc.array({ 10 }, "int64")
--   local text = ([[function(out, total)
--     %s local i = roc.get_global_id(1) out[i] = %s
--   end]]):format(before or "", expression)
--   local kernel = roc.kernel(text, { env = { roc = roc } })
--   kernel[{ 2, 3 }](roc.InOut(out), roc.InOut(total))
--   return out
-- end
-- ```

---@class roc
local roc = {}

-- ## Where an item is
--
-- Dimensions are 1, 2 and 3; beyond the launch's rank an id is 1 and a size 1. A dimension below 1
-- is an error of a checked kernel.

---The item's id in the launch.
---
---Example: `six "roc.get_global_id(1)"` gives `[1 2 3 4 5 6]`.
---@param dimension integer
---@return integer
function roc.get_global_id(dimension) end

---The item's id in its workgroup.
---
---Example: `six "roc.get_local_id(1)"` gives `[1 2 3 1 2 3]`.
---@param dimension integer
---@return integer
function roc.get_local_id(dimension) end

---The id of the item's workgroup.
---
---Example: `six "roc.get_group_id(1)"` gives `[1 1 1 2 2 2]`.
---@param dimension integer
---@return integer
function roc.get_group_id(dimension) end

---The number of items of the launch, which need not be a multiple of a workgroup's.
---
---Example: `six "roc.get_global_size(1)"` gives `[6 6 6 6 6 6]`.
---@param dimension integer
---@return integer
function roc.get_global_size(dimension) end

---The number of items of a workgroup as configured, in a last one that is not full, too.
---
---Example: `six "roc.get_local_size(1)"` gives `[3 3 3 3 3 3]`.
---@param dimension integer
---@return integer
function roc.get_local_size(dimension) end

---The number of workgroups, with one that is not full.
---
---Example: `six "roc.get_num_groups(1)"` gives `[2 2 2 2 2 2]`.
---@param dimension integer
---@return integer
function roc.get_num_groups(dimension) end

---The number of dimensions of the launch.
---
---Example: `six "roc.get_work_dim()"` gives `[1 1 1 1 1 1]`.
---@return integer
function roc.get_work_dim() end

---The first n global ids: n results.
---
---Example: `six("x", "local x = roc.grid(1)")` gives `[1 2 3 4 5 6]`.
---@param n 1 | 2 | 3 constant
---@return integer ... # n of them
function roc.grid(n) end

---The first n global sizes: n results.
---
---Example: `six("x", "local x = roc.gridsize(1)")` gives `[6 6 6 6 6 6]`.
---@param n 1 | 2 | 3 constant
---@return integer ... # n of them
function roc.gridsize(n) end

-- ## Memory
--
-- Shapes are constant: integers, or captured integers and tables of them.

roc.shared = {}

---An array of the workgroup: one block for each place in the text. Its contents are undefined at
---first. With the shape 0 it lies over the launch's dynamic bytes, from `first_byte` to their end.
---
---Example: `six("t[4 - roc.get_local_id(1)]", "local t = roc.shared.array(3, 'int64')
---t[roc.get_local_id(1)] = roc.get_global_id(1) roc.barrier()")` gives `[3 2 1 6 5 4]`.
---@param shape roc.Shape
---@param dtype roc.DTypeLike
---@param first_byte? integer of shape 0: a constant multiple of the item size; default 0
---@return roc.Array
function roc.shared.array(shape, dtype, first_byte) end

roc.private = {}

---An array of the work-item. Its contents are undefined at first.
---
---Example: `six("t[1] + t[2]", "local t = roc.private.array(2, 'int64') t[1] = 1 t[2] =
---roc.get_local_id(1)")` gives `[2 3 4 2 3 4]`.
---@param shape roc.Shape
---@param dtype roc.DTypeLike
---@return roc.Array
function roc.private.array(shape, dtype) end

roc.const = {}

---A constant array: on the host a copy, which kernels capture; in a kernel that of a captured table
---or host array, made when the kernel is. It cannot be written in a kernel.
---
---Example: `roc.const.array({ 7, 8, 9 }, "int64")` gives `[7 8 9]`.
---@param t table | roc.Array
---@param dtype? roc.DTypeLike default: as `roc.array` takes it
---@return roc.Array
function roc.const.array(t, dtype) end

-- ## Meeting points and order

---The scope of shared memory, for a barrier or a fence.
---
---Example: `six("t[1]", "local t = roc.shared.array(1, 'int64') if roc.get_local_id(1) == 2 then
---t[1] = 7 end roc.barrier(roc.CLK_LOCAL_MEM_FENCE)")` gives `[7 7 7 7 7 7]`.
---@type integer
roc.CLK_LOCAL_MEM_FENCE = 1

---The scope of global memory, the kernel's arguments, for a barrier or a fence.
---
---Example: `roc.CLK_LOCAL_MEM_FENCE + roc.CLK_GLOBAL_MEM_FENCE` gives `3`.
---@type integer
roc.CLK_GLOBAL_MEM_FENCE = 2

---Waits until all items of the workgroup that have not returned are here, and orders their accesses
---to the memory of the scope. All of them must reach the same barrier the same number of times;
---otherwise a checked kernel fails with `barrier in divergent control flow`.
---
---Example: `six("t[1]", "local t = roc.shared.array(1, 'int64') if roc.get_local_id(1) == 3 then
---t[1] = roc.get_group_id(1) end roc.barrier()")` gives `[1 1 1 2 2 2]`.
---@param scope? integer one of the two, or their sum, the default
function roc.barrier(scope) end

---Waits until all items of the wavefront that have not returned are here, and orders their accesses
---to memory.
---
---Example: `six("i", "roc.wavebarrier()")` gives `[1 2 3 4 5 6]`.
function roc.wavebarrier() end

---Orders the item's own accesses, without waiting for other items: acquire and release, at the
---device's scope for global memory, at the workgroup's for shared.
---
---Example: `six("total[1]", "roc.mem_fence(roc.CLK_GLOBAL_MEM_FENCE)")` gives `[10 10 10 10 10
---10]`.
---@param scope? integer one of the two, or their sum, the default
function roc.mem_fence(scope) end

-- ## Atomic operations
--
-- They work on elements of arguments and of shared arrays, each in one piece, and give the
-- element's old value. Elements are 32- and 64-bit integers; `add sub min max exch cas load store`
-- take float32 and float64, too. An index is an integer, or a table of them: `{i, j}`. They are
-- relaxed: what else is in memory is ordered by fences and barriers alone.

roc.atomic = {}

---Adds the value to the element.
---
---Example: `six("roc.atomic.add(total, 1, 1)"):sort()` gives `[10 11 12 13 14 15]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value number
---@return number # the old value
function roc.atomic.add(a, index, value) end

---Subtracts the value from the element.
---
---Example: `six("roc.atomic.sub(total, 1, 1)"):sort()` gives `[ 5  6  7  8  9 10]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value number
---@return number # the old value
function roc.atomic.sub(a, index, value) end

---Stores the lesser of the element and the value.
---
---Example: `six("total[1]", "roc.atomic.min(total, 1, 4) roc.barrier()")` gives `[4 4 4 4 4 4]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value number
---@return number # the old value
function roc.atomic.min(a, index, value) end

---Stores the greater of the element and the value.
---
---Example: `six("total[1]", "roc.atomic.max(total, 1, 40) roc.barrier()")` gives
---`[40 40 40 40 40 40]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value number
---@return number # the old value
function roc.atomic.max(a, index, value) end

---Stores the value in place of the element's.
---
---Example: `six("roc.atomic.exch(total, 1, 7)"):sort()` gives `[ 7  7  7  7  7 10]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value number
---@return number # the old value
function roc.atomic.exch(a, index, value) end

---Stores the bits that both the element and the value have.
---
---Example: `six("total[1]", "roc.atomic.and_(total, 1, 2) roc.barrier()")` gives `[2 2 2 2 2 2]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value integer
---@return integer # the old value
function roc.atomic.and_(a, index, value) end

---Stores the bits that the element or the value has.
---
---Example: `six("total[1]", "roc.atomic.or_(total, 1, 5) roc.barrier()")` gives
---`[15 15 15 15 15 15]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value integer
---@return integer # the old value
function roc.atomic.or_(a, index, value) end

---Stores the bits that only one of the element and the value has.
---
---Example: `six("roc.atomic.xor(total, 1, 1)"):sort()` gives `[10 10 10 11 11 11]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value integer
---@return integer # the old value
function roc.atomic.xor(a, index, value) end

---Compares the bits of the element with those of `expected`, and stores the value if they are
---equal. It was stored when the old value has the bits of `expected`.
---
---Example: `six("roc.atomic.cas(total, 1, 10, 11)"):sort()` gives `[10 11 11 11 11 11]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param expected number
---@param value number
---@return number # the old value
function roc.atomic.cas(a, index, expected, value) end

---Adds 1 to the element; an element that is the limit or above becomes 0. Compares unsigned.
---
---Example: `six("roc.atomic.inc(total, 1, 100)"):sort()` gives `[10 11 12 13 14 15]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param limit integer
---@return integer # the old value
function roc.atomic.inc(a, index, limit) end

---Subtracts 1 from the element; an element that is 0 or above the limit becomes the limit. Compares
---unsigned.
---
---Example: `six("roc.atomic.dec(total, 1, 100)"):sort()` gives `[ 5  6  7  8  9 10]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param limit integer
---@return integer # the old value
function roc.atomic.dec(a, index, limit) end

---Reads an element, even where an ordinary read might be kept in a register.
---
---Example: `six("roc.atomic.load(total, 1)")` gives `[10 10 10 10 10 10]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@return number # the value
function roc.atomic.load(a, index) end

---Stores the value, and gives nothing.
---
---Example: `six("total[1]", "roc.atomic.store(total, 1, 3) roc.barrier()")` gives `[3 3 3 3 3 3]`.
---@param a roc.AnyArray
---@param index roc.Shape
---@param value number
function roc.atomic.store(a, index, value) end

-- ## Wavefronts
--
-- All items of the wavefront that have not returned must reach such an operation; otherwise a
-- checked kernel fails with `wave operation in divergent control flow`. What a lane that has
-- returned gives is unspecified.

---The number of lanes of a wavefront: 64 or 32.
---
---Example: `six("roc.wavefront_size() // roc.wavefront_size()")` gives `[1 1 1 1 1 1]`.
---@return integer
function roc.wavefront_size() end

---The item's lane in its wavefront.
---
---Example: `six "roc.lane_id()"` gives `[1 2 3 1 2 3]`.
---@return integer
function roc.lane_id() end

roc.wave = {}

---The conditions of all lanes, as an integer whose bit 0 is lane 1's.
---
---Example: `six "roc.wave.ballot(i % 2 == 1)"` gives `[5 5 5 2 2 2]`.
---@param condition boolean
---@return integer
function roc.wave.ballot(condition) end

---Whether the condition holds in some lane.
---
---Example: `six "roc.wave.any(i == 2) and 1 or 0"` gives `[1 1 1 0 0 0]`.
---@param condition boolean
---@return boolean
function roc.wave.any(condition) end

---Whether the condition holds in all lanes.
---
---Example: `six "roc.wave.all(i < 4) and 1 or 0"` gives `[1 1 1 0 0 0]`.
---@param condition boolean
---@return boolean
function roc.wave.all(condition) end

---The value of a lane; the item's own where there is no such lane.
---
---Example: `six "roc.wave.shuffle(i, 2)"` gives `[2 2 2 5 5 5]`.
---@param v number
---@param lane integer
---@return number
function roc.wave.shuffle(v, lane) end

---The value of the lane that is `distance` lower; the item's own where there is none.
---
---Example: `six "roc.wave.shuffle_up(i, 1)"` gives `[1 1 2 4 4 5]`.
---@param v number
---@param distance integer
---@return number
function roc.wave.shuffle_up(v, distance) end

---The value of the lane that is `distance` higher; the item's own where there is none.
---
---Example: `six "roc.wave.shuffle_down(i, 1)"` gives `[2 3 3 5 6 6]`.
---@param v number
---@param distance integer
---@return number
function roc.wave.shuffle_down(v, distance) end

---The value of lane ((roc.lane_id() - 1) ~ mask) + 1; the item's own where there is none.
---
---Example: `six "roc.wave.shuffle_xor(i, 1)"` gives `[2 1 3 5 4 6]`.
---@param v number
---@param mask integer
---@return number
function roc.wave.shuffle_xor(v, mask) end

---The value of a lane, to all lanes; the item's own where there is no such lane.
---
---Example: `six "roc.wave.broadcast(i, 3)"` gives `[3 3 3 6 6 6]`.
---@param v number
---@param lane integer
---@return number
function roc.wave.broadcast(v, lane) end

---The sum over the lanes that have not returned, the same to all: neighbouring lanes are added
---first, then neighbouring sums, and so on, on every device.
---
---Example: `six "roc.wave.sum(i)"` gives `[ 6  6  6 15 15 15]`.
---@param v number
---@return number
function roc.wave.sum(v) end

---The least value of the lanes that have not returned, to all.
---
---Example: `six "roc.wave.min(i)"` gives `[1 1 1 4 4 4]`.
---@param v number
---@return number
function roc.wave.min(v) end

---The greatest value of the lanes that have not returned, to all.
---
---Example: `six "roc.wave.max(i)"` gives `[3 3 3 6 6 6]`.
---@param v number
---@return number
function roc.wave.max(v) end

---The value of a lane, or `identity`: numba.roc's name.
---
---Example: `six "roc.activelanepermute_wavewidth(i, 1, 0, i % 2 == 0)"` gives `[1 0 1 0 4 0]`.
---@param v number
---@param lane integer
---@param identity number the result where `use_identity` holds
---@param use_identity boolean
---@return number
function roc.activelanepermute_wavewidth(v, lane, identity, use_identity) end

---Sends `v` to a lane; lanes wrap modulo the width. The result is what was sent to the item's own
---lane, 0 when nothing was.
---
---Example: `six "roc.ds_permute(4 - roc.lane_id(), i)"` gives `[3 2 1 6 5 4]`.
---@param lane integer
---@param v number
---@return number
function roc.ds_permute(lane, v) end

---Fetches `v` of a lane; lanes wrap modulo the width. Of a lane without an item it is the item's
---own.
---
---Example: `six "roc.ds_bpermute(2, i)"` gives `[2 2 2 5 5 5]`.
---@param lane integer
---@param v number
---@return number
function roc.ds_bpermute(lane, v) end
