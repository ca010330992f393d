---@meta
-- # Device arrays and memory
--
-- Arrays on a device, and host memory that kernels use in place. [memory.md](../memory.md) says
-- what moves when, and when memory is given back.
--
-- ```lua
-- local roc = require "roc"
-- local h = roc.array { 1, 2, 3 }
-- local d = roc.to_device(h)
-- ```

---@class roc
local roc = {}

-- ## Device arrays

---An array in a device's memory, with the fields, views and operators of `roc.Array`. From the
---host, reading an element waits for queued work that writes the array, writing one for all queued
---work that uses it. An array that is dropped or closed while queued work uses it lives until that
---work is over.
---@class roc.DeviceArray: roc.Array
---@field device roc.Device
local DeviceArray = {}

---@class roc.CopyOpts
---@field copy? boolean false: allocates only; default true
---@field to? roc.DeviceArray an array of the same shape and dtype to copy into; default: a new one
---@field device? integer | string | roc.Device default: the stream's, else the current one
---@field stream? roc.Stream on which the copy is queued

---A copy on a device, of a host array or of a device array; the result is contiguous. Without a
---stream the copy is done when the call returns; with one it is queued.
---
---Example: `roc.to_device(h)[3]` gives `3.0`.
---@param a roc.AnyArray
---@param opts? roc.CopyOpts
---@return roc.DeviceArray
function roc.to_device(a, opts) end

---An array on the current device, with undefined contents. When memory runs out, garbage is
---collected and the allocation is tried once more; then it is an error with the code `"oom"`.
---
---Example: `roc.device_array({ 2, 3 }, "int16").size` gives `6`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike default float64
---@param order? roc.Order
---@return roc.DeviceArray
function roc.device_array(shape, dtype, order) end

---An array with the shape, dtype and order of another one, and undefined contents: on the device of
---a device array, else on the current one.
---
---Example: `roc.device_array_like(h).dtype` gives `float64`.
---@param a roc.AnyArray
---@return roc.DeviceArray
function roc.device_array_like(a) end

---Copies to the host. Without a stream it waits for the work that writes the array and for the
---copy; with one the copy is queued.
---
---Example: `d:copy_to_host()` gives `[1. 2. 3.]`.
---@param a? roc.Array of the same shape and dtype to copy into; default: a new one
---@param stream? roc.Stream of the array's device
---@return roc.Array
function DeviceArray:copy_to_host(a, stream) end

---Copies a host array into this one. Without a stream it waits for the work that uses the array and
---for the copy; with one the copy is queued.
---
---Example: `local e = roc.device_array_like(d) e:copy_from_host(h) return e[2]` gives `2.0`.
---@param a roc.Array of the same shape and dtype
---@param stream? roc.Stream of the array's device
function DeviceArray:copy_from_host(a, stream) end

---Copies this array into another device array. Without a stream it waits for conflicting work and
---for the copy; with one the copy is queued.
---
---Example: `local e = roc.device_array_like(d) d:copy_to_device(e) return e[1]` gives `1.0`.
---@param d roc.DeviceArray of the same shape and dtype, on any device
---@param stream? roc.Stream of either device
function DeviceArray:copy_to_device(d, stream) end

---Sets all elements, on the device. Without a stream it waits for conflicting work and for the
---fill; with one the fill is queued.
---
---Example: `roc.device_array(3, "int32"):fill(9)` gives `[9 9 9]`.
---@param value number | boolean
---@param stream? roc.Stream of the array's device
---@return roc.DeviceArray # the array itself
function DeviceArray:fill(value, stream) end

---Gives the memory back once queued work no longer uses it. Does not wait. Later use of the array
---is an error. `<close>` does the same.
---
---Example: `local e <close> = roc.device_array(3) return #e` gives `3`.
function DeviceArray:close() end

-- ## Page-locked and registered memory

---A host array in page-locked memory, which kernels use in place and which is copied to and from a
---device asynchronously. Its contents are undefined.
---
---Example: `roc.pinned_array(4, "float32"):fill(1)` gives `[1. 1. 1. 1.]`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike default float64
---@param order? roc.Order
---@return roc.Array
function roc.pinned_array(shape, dtype, order) end

---The same as `roc.pinned_array`: all page-locked memory is mapped for the devices.
---
---Example: `roc.mapped_array(4, "float32"):fill(1)` gives `[1. 1. 1. 1.]`.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike default float64
---@param order? roc.Order
---@return roc.Array
function roc.mapped_array(shape, dtype, order) end

---What one call of `roc.register` has registered. It belongs to the arrays: dropping the handle
---ends nothing.
---@class roc.Registration
local Registration = {}

---Page-locks host arrays and maps them for the device: kernels use them in place, and copies are
---asynchronous. It covers the whole memory of an array, with all its views. Registrations nest.
---When one array is refused, none is registered.
---
---Example: `tostring(roc.register(h, roc.zeros(9)))` gives `roc.Registration: 2 arrays`.
---@param ... roc.Array
---@return roc.Registration # closed, or left by `<close>`, it ends
function roc.register(...) end

---The same as `roc.register`, under numba.cuda's name.
---
---Example: `tostring(roc.pinned(h))` gives `roc.Registration: 1 array`.
---@param ... roc.Array
---@return roc.Registration
function roc.pinned(...) end

---Ends the newest registration of each array; an error when there is none. The end of the last one
---waits for the work that uses the array, and raises the error of a kernel that failed there.
---
---Example: `roc.register(h) roc.deregister(h)`.
---@param ... roc.Array
function roc.deregister(...) end

---Ends the registration, unless it is over, as `roc.deregister` does. `<close>` does the same.
---
---Example: `roc.register(h):close()`.
function Registration:close() end

-- ## Smart arrays

---A host array with a copy on a device. Data moves only when one side is used while the other is
---newer. It has the fields and methods of a host array, and may be used wherever one may.
---@class roc.SmartArray: roc.Array
local SmartArray = {}

---A smart array of a host array, which shares its memory, or of a new array with undefined
---contents.
---
---Example: `roc.smart_array(h)[1]` gives `1.0`.
---@param a roc.Array | roc.Shape
---@param dtype? roc.DTypeLike of a new array; default float64
---@param order? roc.Order of a new array
---@return roc.SmartArray
function roc.smart_array(a, dtype, order) end

---A side, brought up to date: `"host"` waits for work that writes the array. With indices, an
---element.
---
---Example: `roc.smart_array(h):get("host")[2]` gives `2.0`.
---@param side "host" | "device"
---@return roc.Array | roc.DeviceArray
---@overload fun(self: roc.SmartArray, ...: integer): number | boolean
function SmartArray:get(side) end

---Says that a side was changed where roclua could not see it: through the array that
---`get("device")` gave, or by C code on the host. The other side is then out of date.
---
---Example: `local s = roc.smart_array(h) s:get("host")[1] = 8 s:mark_changed("host") return s[1]`
---gives `8.0`.
---@param side "host" | "device"
function SmartArray:mark_changed(side) end

---Brings the host's side up to date, for which it waits, and gives the device's memory back.
---`<close>` does the same.
---
---Example: `local s <close> = roc.smart_array(h) return s[3]` gives `3.0`.
function SmartArray:close() end

-- ## How much memory there is

---Numbers of bytes.
---@class roc.MemoryInfo
---@field used integer by arrays on the device
---@field cached integer of freed arrays, kept for the next ones
---@field free integer on the device
---@field total integer on the device
---@field live integer of all arrays of the process, on the host and on devices

---What memory is in use. Waits for nothing.
---
---Example: `roc.memory_info().total > 0` gives `true`.
---@param device? integer | string | roc.Device default: the current one
---@return roc.MemoryInfo
function roc.memory_info(device) end

---Gives the blocks of freed arrays back to the driver, and without a device those of host arrays to
---the system.
---
---Example: `roc.trim_memory()`.
---@param device? integer | string | roc.Device default: all that are open
function roc.trim_memory(device) end
