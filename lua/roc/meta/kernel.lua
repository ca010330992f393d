---@meta
-- What a kernel may call, declared for language servers. All of these are functions on the host
-- too, where that means something; inside a kernel they are compiled. Ids, lanes, dimensions and
-- indices count from 1.

---@class roc
local roc = {}

---@alias roc.Shape integer | integer[]
---@alias roc.AnyArray roc.Array | roc.DeviceArray

-- where an item is --------------------------------------------------------------------------------

---The item's id in the whole launch, along a dimension; 1 beyond the launch's rank.
---@param dimension 1 | 2 | 3
---@return integer
function roc.get_global_id(dimension) end

---The item's id in its workgroup.
---@param dimension 1 | 2 | 3
---@return integer
function roc.get_local_id(dimension) end

---The workgroup's id.
---@param dimension 1 | 2 | 3
---@return integer
function roc.get_group_id(dimension) end

---The number of items of the launch: the exact grid.
---@param dimension 1 | 2 | 3
---@return integer
function roc.get_global_size(dimension) end

---The number of items of a workgroup as configured, in a partial last one too.
---@param dimension 1 | 2 | 3
---@return integer
function roc.get_local_size(dimension) end

---The number of workgroups, partial ones with them.
---@param dimension 1 | 2 | 3
---@return integer
function roc.get_num_groups(dimension) end

---The launch's rank.
---@return integer
function roc.get_work_dim() end

---The first n global ids.
---@param n 1 | 2 | 3
---@return integer, integer, integer
function roc.grid(n) end

---The first n global sizes.
---@param n 1 | 2 | 3
---@return integer, integer, integer
function roc.gridsize(n) end

-- memory ------------------------------------------------------------------------------------------

---Arrays of the workgroup.
roc.shared = {}

---One block a workgroup for each place in the text; contents start undefined. With shape 0 it lies
---over the launch's dynamic bytes, from `first_byte` on.
---@param shape roc.Shape constant, or a captured table of integers
---@param dtype roc.DTypeLike
---@param first_byte? integer
---@return roc.Array
function roc.shared.array(shape, dtype, first_byte) end

---Arrays of the work-item.
roc.private = {}

---An array of each work-item; its contents start undefined.
---@param shape roc.Shape constant, or a captured table of integers
---@param dtype roc.DTypeLike
---@return roc.Array
function roc.private.array(shape, dtype) end

---Constant arrays.
roc.const = {}

---On the host: a copy that kernels capture.  In a kernel: the same, of a captured table or array.
---@param t table | roc.Array
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.const.array(t, dtype) end

---Scope of a barrier or fence: the workgroup's shared memory.
---@type integer
roc.CLK_LOCAL_MEM_FENCE = 1

---Scope of a barrier or fence: global memory.
---@type integer
roc.CLK_GLOBAL_MEM_FENCE = 2

---Waits until all items of the group that have not returned are here, and orders the named memory
---among them.
---@param scope? integer a sum of fences; both by default
function roc.barrier(scope) end

---A meeting point of the wavefront.
function roc.wavebarrier() end

---Orders the item's accesses: acquire and release, at device scope for global memory, at workgroup
---scope for shared.
---@param scope? integer a sum of fences; both by default
function roc.mem_fence(scope) end

---Atomic operations on elements of global and shared arrays of 32- and 64-bit integers and floats.
---Each but `store` gives the old value. Relaxed; at device scope on global arrays, at workgroup
---scope on shared ones.
---@class roc.atomic
---@field add fun(a: roc.AnyArray, index: roc.Shape, value: number): number
---@field sub fun(a: roc.AnyArray, index: roc.Shape, value: number): number
---@field min fun(a: roc.AnyArray, index: roc.Shape, value: number): number
---@field max fun(a: roc.AnyArray, index: roc.Shape, value: number): number
---@field exch fun(a: roc.AnyArray, index: roc.Shape, value: number): number
---@field and_ fun(a: roc.AnyArray, index: roc.Shape, value: integer): integer
---@field or_ fun(a: roc.AnyArray, index: roc.Shape, value: integer): integer
---@field xor fun(a: roc.AnyArray, index: roc.Shape, value: integer): integer
---Compares bits.
---@field cas fun(a: roc.AnyArray, index: roc.Shape, expected: number, value: number): number
---Counts up to the limit, then from 0.
---@field inc fun(a: roc.AnyArray, index: roc.Shape, limit: integer): integer
---Counts down from the limit.
---@field dec fun(a: roc.AnyArray, index: roc.Shape, limit: integer): integer
---@field load fun(a: roc.AnyArray, index: roc.Shape): number
---@field store fun(a: roc.AnyArray, index: roc.Shape, value: number)
roc.atomic = {}

-- wavefronts --------------------------------------------------------------------------------------

---The number of lanes of a wavefront.
---@return integer
function roc.wavefront_size() end

---The item's lane in its wavefront.
---@return integer
function roc.lane_id() end

---Operations over the items of a wavefront that have not returned.
---@class roc.wave
---@field ballot fun(condition: boolean): integer bit 0 is lane 1
---@field any fun(condition: boolean): boolean
---@field all fun(condition: boolean): boolean
---The value of that lane; the own one where there is no such lane.
---@field shuffle fun(v: number, lane: integer): number
---@field shuffle_up fun(v: number, distance: integer): number the value of a lower lane
---@field shuffle_down fun(v: number, distance: integer): number the value of a higher lane
---That of lane ((lane_id() - 1) ~ mask) + 1.
---@field shuffle_xor fun(v: number, mask: integer): number
---@field broadcast fun(v: number, lane: integer): number
---@field sum fun(v: number): number
---@field min fun(v: number): number
---@field max fun(v: number): number
roc.wave = {}

---numba.roc's name of a permutation over active lanes.
---@param v number
---@param lane integer whose value is wanted
---@param identity number the result where `use_identity` holds
---@param use_identity boolean
---@return number
function roc.activelanepermute_wavewidth(v, lane, identity, use_identity) end

---Sends `v` to a lane; lanes wrap modulo the width.
---@param lane integer
---@param v number
---@return number
function roc.ds_permute(lane, v) end

---Fetches `v` of a lane; lanes wrap modulo the width.
---@param lane integer
---@param v number
---@return number
function roc.ds_bpermute(lane, v) end

-- mathematics -------------------------------------------------------------------------------------

---What Lua's math lacks.  In a kernel the functions keep the precision of their argument.
---@class roc.math
---Those of Lua's math, of arrays element by element.
---@field abs fun(x: number): number
---@field acos fun(x: number): number
---@field asin fun(x: number): number
---@field atan fun(y: number, x?: number): number
---@field ceil fun(x: number): number
---@field cos fun(x: number): number
---@field deg fun(x: number): number
---@field exp fun(x: number): number
---@field floor fun(x: number): number
---@field fmod fun(x: number, y: number): number
---@field log fun(x: number, base?: number): number
---@field max fun(x: number, ...: number): number
---@field min fun(x: number, ...: number): number
---@field rad fun(x: number): number
---@field sin fun(x: number): number
---@field sqrt fun(x: number): number
---@field tan fun(x: number): number
---@field exp2 fun(x: number): number
---@field log2 fun(x: number): number
---@field log10 fun(x: number): number
---@field log1p fun(x: number): number
---@field expm1 fun(x: number): number
---@field pow fun(x: number, y: number): number
---@field sinh fun(x: number): number
---@field cosh fun(x: number): number
---@field tanh fun(x: number): number
---@field asinh fun(x: number): number
---@field acosh fun(x: number): number
---@field atanh fun(x: number): number
---@field cbrt fun(x: number): number
---@field hypot fun(x: number, y: number): number
---@field rsqrt fun(x: number): number
---@field fma fun(x: number, y: number, z: number): number x · y + z, rounded once
---@field erf fun(x: number): number
---@field erfc fun(x: number): number
---@field gamma fun(x: number): number
---@field lgamma fun(x: number): number
---@field trunc fun(x: number): number a float
---@field round fun(x: number): number a float; halves away from zero
---@field copysign fun(x: number, y: number): number
---@field isnan fun(x: number): boolean
---@field isinf fun(x: number): boolean
---@field isfinite fun(x: number): boolean
---@field popcount fun(n: integer): integer
---@field clz fun(n: integer): integer
---@field ctz fun(n: integer): integer
---@field bitreverse fun(n: integer): integer
roc.math = {}
