---@meta
-- # Code and queues of other libraries
--
-- Kernels that other compilers made, and queues that another library in the process owns. The rules
-- are in [roc.md](../roc.md#kernels-of-other-compilers).
--
-- The examples run with `roclua --emulate gfx90a`.
--
-- ```lua
-- local roc = require "roc"
-- local seven = roc.kernel(function(x) x[1] = 7 end, { name = "seven", signature = "(int64[:])" })
-- seven:compile("gfx90a"):save("seven.hsaco")
-- local m = roc.module("seven.hsaco")
-- local x = roc.device_array(1, "int64")
-- ```

---@class roc
local roc = {}

-- ## Modules

---Code on a device. Its kernels share its global variables.
---@class roc.Module
---@field kernels string[] their names
---@field device roc.Device
local Module = {}

---Loads code of another compiler: for an AMD GPU a code object of clang's OpenCL C or HIP or of
---`rocluac`, or a bundle of them; for an NVIDIA GPU PTX. Code for another GPU, and code that needs
---what roclua does not pass to kernels, are refused by name. Nothing that its kernels do is
---checked.
---
---Example: `m.kernels[1]` gives `roc_seven`.
---@param code string a path, or the bytes
---@param device? roc.Device | integer | string default: the current one
---@return roc.Module
function roc.module(code, device) end

---A kernel of the module. Its arrays count as written, so that a wait for one waits for the kernel,
---unless the code says `const` or a declaration says otherwise.
---
---Example: `m:kernel("roc_seven").arguments[1].kind` gives `pointer`.
---@param name string
---@param declarations? table<integer, string | roc.DType> "in", "out", "inout" or a dtype by number
---@return roc.ModuleKernel
function Module:kernel(name, declarations) end

---Closes the module; the kernels that were taken from it stay. `<close>` does the same.
---
---Example: `local other <close> = roc.module("seven.hsaco") return other.device.kind` gives `hsa`.
function Module:close() end

---A kernel of a module, launched as a `roc.Kernel`. An argument is an array or nil for a pointer, a
---number, a boolean, or a string of the bytes of a struct. Host arrays must be registered or smart.
---@class roc.ModuleKernel
---@field name string
---@field arguments table[] {kind =, size =, dtype =, name =, is_written =} each
local ModuleKernel = {}

---Queues a launch. Only the number and the kinds of the arguments are checked.
---
---Example: `m:kernel("roc_seven"):launch({ groups = 1, workgroup = 1 }, x, 1, nil, nil) return
---x[1]` gives `7`.
---@param how roc.LaunchOpts
---@param ... any the kernel's arguments
function ModuleKernel:launch(how, ...) end

---A launcher of that many work-items, as `k:forall`. Kernels of HIP and PTX take only whole
---workgroups.
---
---Example: `m:kernel("roc_seven"):forall(1)(x, 1, nil, nil) return x[1]` gives `7`.
---@param ... any one to three extents, and options
---@return roc.Launcher
function ModuleKernel:forall(...) end

-- ## Queues

---A stream on a queue of another library, which goes on using it: the work of both runs in one
---order. The queue stays that library's, and must stay open until the stream is closed and its work
---is done. A wrong address is refused where the memory at it shows that it is wrong.
---
---Example: `select(2, pcall(roc.stream_from, 0))` gives `an hsa_queue_t of kernels expected`.
---@param pointer lightuserdata | integer a CUstream (0: the legacy default one), or an hsa_queue_t
---@param device? roc.Device | integer | string default: the current one
---@return roc.Stream
function roc.stream_from(pointer, device) end
