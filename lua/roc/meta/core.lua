---@meta
-- The host's side of `require "roc"`, declared for language servers.  roc/meta/kernel.lua declares
-- what kernels call.

---@class roc
---@field bool roc.DType
---@field int8 roc.DType
---@field int16 roc.DType
---@field int32 roc.DType
---@field int64 roc.DType
---@field uint8 roc.DType
---@field uint16 roc.DType
---@field uint32 roc.DType
---@field uint64 roc.DType
---@field float16 roc.DType
---@field bfloat16 roc.DType
---@field float32 roc.DType
---@field float64 roc.DType
local roc = {}

---An element type.  Called it converts a number: integers wrap, floats saturate into integers (NaN
---gives 0), and round once into narrower floats.
---@class roc.DType
---@field name string
---@field itemsize integer bytes
---@field kind string
---@overload fun(value: number | boolean): number | boolean

---@alias roc.DTypeLike roc.DType | string
---@alias roc.Order "C" | "F"

---What failures beyond a bad argument raise; prints, and concatenates, as its message.
---@class roc.Error
---"oom", "invalid", "unavailable", "closed", "compile", "fault", "lost", "interrupted", "io",
---"unsupported", "internal"
---@field code string
---@field message string
---@field native? integer errno or the driver's own code

-- host arrays
-- ----------------------------------------------------------------------------------------

---An n-dimensional array in host memory; or a view, which shares its memory and keeps it alive.
---Fields that are not listed are errors.  `ipairs` and `pairs` give indices and elements, or rows.
---@class roc.Array
---@field shape integer[] a fresh table
---@field dtype roc.DType
---@field ndim integer
---@field size integer elements
---@field nbytes integer
---@field strides integer[] in elements
---@field pointer integer the address of the first element, for C libraries
---@field [integer] number | boolean | roc.Array an element of a 1-D array, else a view of the row
---@operator len: integer
local Array = {}

---An element.
---@param ... integer one index a dimension
---@return number | boolean
function Array:get(...) end

---Sets an element; the value is converted as `a[i] = value` does.
---@param value number | boolean
---@param ... integer one index a dimension
function Array:set(value, ...) end

---A view of another shape; one extent may be -1.  An error where it would take a copy.
---@param ... integer | integer[] | { order: roc.Order }
---@return roc.Array
function Array:reshape(...) end

---One dimension: a view where it can be, else a copy.
---@param order? roc.Order
---@return roc.Array
function Array:ravel(order) end

---A view with its dimensions reversed, or in the order given.
---@param ... integer | integer[]
---@return roc.Array
function Array:transpose(...) end

---A view of the elements first, first + step, … last of a dimension.
---@param dimension integer
---@param first integer
---@param last integer inclusive
---@param step? integer
---@return roc.Array
function Array:slice(dimension, first, last, step) end

---Whether the elements lie without gaps, the last dimension together.
---@return boolean
function Array:is_c_contiguous() end

---Whether the elements lie without gaps, the first dimension together.
---@return boolean
function Array:is_f_contiguous() end

---Computes the elements now, where operations are computed when they are needed.
---@return roc.Array self
function Array:eval() end

---Converted as calling the dtype converts a number.
---@param dtype roc.DTypeLike
---@return roc.Array copy
function Array:astype(dtype) end

---A copy in C order, which shares no memory.
---@return roc.Array
function Array:copy() end

---Sets all elements.
---@param value number | boolean
---@return roc.Array self
function Array:fill(value) end

---The elements in tables; not of device arrays: copy first.
---@return table values nested as the dimensions are
function Array:totable() end

---All elements as text; `tostring(a)` leaves out the middle of large arrays.
---@return string text as NumPy prints it
function Array:tostring() end

---The elements as bytes; not of device arrays: copy first.
---@return string bytes in C order
function Array:tobytes() end

---An array of nested tables, or a copy of an array.
---@param t table | roc.Array | roc.DeviceArray nested tables; ragged ones are an error
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.array(t, dtype) end

---An array; its contents are undefined.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.empty(shape, dtype, order) end

---An array of zeros, or false.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.zeros(shape, dtype, order) end

---An array of ones, or true.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.ones(shape, dtype, order) end

---An array whose elements are all `value`.
---@param shape roc.Shape
---@param value number | boolean
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.full(shape, value, dtype) end

---The values of `for i = first, last, step`; of integers they are int64.
---@param first number
---@param last number inclusive
---@param step? number
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.range(first, last, step, dtype) end

---n values at even distances; the last is exactly b.
---@param a number
---@param b number
---@param n integer
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.linspace(a, b, n, dtype) end

---Uniform in [0, 1), with as many random bits as the dtype has.  The generator is xoshiro256**, one
---a Lua state.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike a float dtype
---@return roc.Array
function roc.random(shape, dtype) end

---Numbers of the normal distribution, mean 0 and variance 1.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.random_normal(shape, dtype) end

---Unbiased; both ends must fit the dtype.
---@param low integer
---@param high integer inclusive
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@return roc.Array
function roc.random_integers(low, high, shape, dtype) end

---Begins the sequence of roc.random and its like again, as `n` says.
---@param n integer
function roc.seed(n) end

---An array of bytes in C order, as `a:tobytes()` gives them.
---@param s string
---@param dtype roc.DTypeLike
---@param shape? roc.Shape
---@return roc.Array
function roc.frombytes(s, dtype, shape) end

---Writes a file in the format that the ending of its name says: ".npz" (a table of arrays by name),
---".png" (uint8 of shape {height, width [, channels]}), ".csv" and ".tsv" (a table of columns, or a
---matrix), else NumPy's .npy (an array). The file appears whole or not at all. One that is there
---keeps its mode, owner and links.
---@param path string
---@param a roc.AnyArray | table<string, roc.AnyArray> | roc.Columns
function roc.save(path, a) end

---The columns of a CSV file: the names in their order as t[1], t[2], …, and each column under its
---name, an array of numbers or a list of strings.
---@alias roc.Columns table<string | integer, string | roc.AnyArray | string[]>

---@alias roc.FileMapping "read" | "copy" | "write"

---Reads NumPy's .npy (an array, in the file's element order), .npz (a table of arrays by name), PNG
---(a uint8 array) or CSV (a table of columns). CSV is named .csv or .tsv, or asked for by the
---options; the others are known by their first byte. With `map` the elements of a .npy file stay in
---it: "read" only, or written as a "copy" in memory, or to "write" the file.
---@param path string
---@param opts? { format: "csv", header: boolean, separator: string, map: roc.FileMapping }
---@return roc.Array | table
function roc.load(path, opts) end

---|a - b| <= atol + rtol * |b| everywhere.  The shapes must agree.
---@param a roc.AnyArray | table
---@param b roc.AnyArray | table
---@param rtol? number default 1e-5
---@param atol? number default 1e-8
---@return boolean
function roc.allclose(a, b, rtol, atol) end

---The same shape and the same numbers, whatever the dtypes; NaN equals nothing.
---@param a roc.AnyArray | table
---@param b roc.AnyArray | table
---@return boolean
function roc.array_equal(a, b) end

-- device arrays
-- --------------------------------------------------------------------------------------

---An array in a device's memory.  Access to elements waits for the work that uses the array.
---@class roc.DeviceArray: roc.Array
---@field device roc.Device
local DeviceArray = {}

---Gives a host array; waits, unless the copy is queued on a stream.
---@param a? roc.Array to copy into
---@param stream? roc.Stream
---@return roc.Array
function DeviceArray:copy_to_host(a, stream) end

---Copies a host array into this one; waits, unless the copy is queued on a stream.
---@param a roc.Array of the same shape and dtype
---@param stream? roc.Stream
function DeviceArray:copy_from_host(a, stream) end

---Copies this array into another device array.
---@param d roc.DeviceArray of the same shape and dtype, on any device
---@param stream? roc.Stream of either device
function DeviceArray:copy_to_device(d, stream) end

---Sets all elements, on the device.
---@param value number | boolean
---@param stream? roc.Stream
---@return roc.DeviceArray self
function DeviceArray:fill(value, stream) end

---Gives the memory back; later use is an error.
function DeviceArray:close() end

---Contents are undefined.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.DeviceArray
function roc.device_array(shape, dtype, order) end

---A device array of the shape, dtype and order of another array; its contents are undefined.
---@param a roc.AnyArray
---@return roc.DeviceArray
function roc.device_array_like(a) end

---@class roc.CopyOpts
---@field copy? boolean false: allocate only
---@field to? roc.DeviceArray where to
---@field device? integer | string | roc.Device
---@field stream? roc.Stream on which the copy is queued; its device is the default for `device`

---Strided arrays are packed on the way.
---@param a roc.AnyArray
---@param opts? roc.CopyOpts
---@return roc.DeviceArray
function roc.to_device(a, opts) end

-- streams and events
-- ---------------------------------------------------------------------------------

---Work in order on one device; ordered with other streams by events alone.
---@class roc.Stream
---@field device roc.Device
local Stream = {}

---Waits for all that was queued, and raises its error if it failed.
function Stream:synchronize() end

---Whether all work is done.
---@return boolean done without waiting
function Stream:query() end

---What is queued from now on runs after the event as it is recorded now.
---@param event roc.Event
function Stream:wait(event) end

---Calls `f` at the end of the first wait or query that finds all done that was queued so far.
---@param f fun(...)
---@param ... any
function Stream:callback(f, ...) end

---Waits at the end of the scope: `local scope <close> = s:auto_synchronize()`.  The scope stands
---for its stream until then.
---@return roc.StreamScope
function Stream:auto_synchronize() end

---@class roc.StreamScope: roc.Stream
local StreamScope = {}

---Ends the scope: waits.
function StreamScope:close() end

---Gives the stream back; its work goes on.
function Stream:close() end

---A new stream on a device; default the current one.
---@param device? integer | string | roc.Device
---@return roc.Stream
function roc.stream(device) end

---A place in a stream; it counts as passed until it is recorded.
---@class roc.Event
local Event = {}

---Marks the point after all work queued so far on the stream, or on the default one.
---@param stream? roc.Stream
---@return roc.Event self
function Event:record(stream) end

---Waits for the place.
function Event:synchronize() end

---Whether the place is passed.
---@return boolean passed without waiting
function Event:query() end

---Gives the event back.
function Event:close() end

---A new event.
---@return roc.Event
function roc.event() end

---Device time between two events of one device; waits for both.
---@param e1 roc.Event
---@param e2 roc.Event
---@return number milliseconds
function roc.elapsed(e1, e2) end

---Seconds since an unspecified start, by the host's clock, which never goes back: the difference of
---two is what lay between them.
---@return number seconds a float
function roc.time() end

---A timeline of the process, from roc.trace on.
---@class roc.Trace
local Trace = {}

---Waits for this state's work, and writes the file.  Nothing the second time.
function Trace:close() end

---Waits, too.
---@return string table what took how long, by name
function Trace:summary() end

---Records launches, copies, fills, compiles, waits and callbacks until the value is closed.
---@param path? string a file for them, which Perfetto opens
---@return roc.Trace
function roc.trace(path) end

-- registered, page-locked and smart arrays
-- --------------------------------------------------------------------------------------

---What one call of roc.register has registered.  It belongs to the arrays: dropping the handle
---undoes nothing.
---@class roc.Registration
local Registration = {}

---Ends it, unless it is over; waits for the work that uses the arrays.  Also what `<close>` does.
function Registration:close() end

---Page-locks host arrays and maps them for the device: kernels use them in place.  Nests.
---@param ... roc.Array
---@return roc.Registration
function roc.register(...) end

---Ends the newest registration of each array; an error when there is none.
---@param ... roc.Array
function roc.deregister(...) end

---roc.register under numba.cuda's name.
---@param ... roc.Array
---@return roc.Registration
function roc.pinned(...) end

---A host array in page-locked memory, which kernels use in place.  Contents are undefined.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.pinned_array(shape, dtype, order) end

---The same as roc.pinned_array: all page-locked memory is mapped.
---@param shape roc.Shape
---@param dtype? roc.DTypeLike
---@param order? roc.Order
---@return roc.Array
function roc.mapped_array(shape, dtype, order) end

---A host array with a double on a device; data moves only when the side in use is stale.
---@class roc.SmartArray: roc.Array
local SmartArray = {}

---A side, up to date; or, by indices, an element.
---@param side "host" | "device"
---@return roc.Array | roc.DeviceArray
---@overload fun(self: roc.SmartArray, ...: integer): number | boolean
function SmartArray:get(side) end

---Says that a side was changed where roclua could not see it.
---@param side "host" | "device"
function SmartArray:mark_changed(side) end

---Brings the host's side up to date and gives the device's memory back.  Also what `<close>` does.
function SmartArray:close() end

---Of an array, or of a new one with undefined contents.
---@param a roc.Array | roc.Shape
---@param dtype? roc.DTypeLike of a new array; float64 unless told
---@param order? roc.Order
---@return roc.SmartArray
function roc.smart_array(a, dtype, order) end

---Bytes: `used` by arrays on the device, `cached` of freed ones, `free` and `total` on it; `live`:
---of all arrays of the process.
---@param device? integer | string | roc.Device default the current one
---@return { used: integer, cached: integer, free: integer, total: integer, live: integer }
function roc.memory_info(device) end

---Gives the blocks of freed arrays back to the driver.
---@param device? integer | string | roc.Device default all that are open
function roc.trim_memory(device) end

-- kernels
-- --------------------------------------------------------------------------------------------

---@class roc.KernelOpts
---@field name? string for messages
---@field signature? string "(float32[:,:], int64)": compiled at once, checked at every call
---@field check? boolean default true
---@field contract? boolean default true: a product and a sum may be fused
---@field fastmath? boolean default false
---@field number? "float64" | "float32" the precision of plain numbers
---@field workgroup? integer | integer[] a promise that bounds it
---@field env? table where the free names of a string come from

---@class roc.Launch
---@field grid? integer | integer[] work-items
---@field groups? integer | integer[] workgroups
---@field workgroup? integer | integer[]
---@field shared? integer dynamic shared bytes
---@field stream? roc.Stream

---@class roc.Kernel
---@field name string as messages show it
---@field [table] fun(...) { groups, workgroup [, stream [, shared_bytes]] }
local Kernel = {}

---Queues a launch; host arrays are copied there and, where the kernel writes them, back.
---@param how roc.Launch
---@param ... roc.AnyArray | number | boolean
function Kernel:launch(how, ...) end

---How a kernel is launched; called with the arguments it queues a launch.
---@class roc.Launcher
---@overload fun(...: roc.AnyArray | number | boolean)

---Exactly n work-items, or n by m, or n by m by l; the workgroup is chosen for the device.  The
---options stand after the last extent.
---@param n integer | integer[] one to three extents as a table
---@param m? integer
---@param l? integer
---@param opts? { workgroup?: integer | integer[], shared?: integer, stream?: roc.Stream }
---@return roc.Launcher
---@overload fun(self: roc.Kernel, n: integer | integer[], opts?: table): roc.Launcher
---@overload fun(self: roc.Kernel, n: integer, m: integer, opts?: table): roc.Launcher
function Kernel:forall(n, m, l, opts) end

---What each local is, and why.
---@param ... roc.AnyArray | number | boolean arguments; without any, those of the last launch
---@return string
function Kernel:inspect_types(...) end

---LLVM's text of the kernel: as it is made, or "opt": after LLVM's passes.
---@param target? string
---@param stage? "raw" | "opt" default "raw"
---@return string
function Kernel:inspect_llvm(target, stage) end

---Assembly, with the source line in front of what it became.
---@param target? string
---@return string
function Kernel:inspect_asm(target) end

---The source, each line with the types, the intermediate representation and the assembly that it
---became; then resources, the checks that remain, each with why it could not be proved and what
---would prove it, and hints.
---@param target? string "cpu", "gfx90a", "sm_90", …; default the current device's
---@param ... roc.DType | string types as for `compile`; else those of the last launch or signature
---@return string
function Kernel:show(target, ...) end

---@class roc.CompileOrder
---@field target? string
---@field level? integer 0 to 3
---@field check? boolean the kernel's own choice unless told otherwise
---@field code_object_version? integer 4, 5 (the default) or 6

---A code object for a target, which needs no device: for these types, else for those of the
---signature or the last launch.
---@param target string | roc.CompileOrder "gfx90a", …, "cpu" (this machine), "cpu:x86-64-v3", …
---@param ... roc.DType | string types of the parameters ("float32[:]"), or one signature
---@return roc.CodeObject
function Kernel:compile(target, ...) end

---What the kernel takes of a GPU, and how many of its wavefronts are kept at a time.
---@param target? string
---@param workgroup? integer work-items; default what forall would choose, 256 at most
---@return roc.Resources
function Kernel:resources(target, workgroup) end

---@class roc.Resources
---@field target string
---@field vgprs? integer of AMD GPUs; with accumulation registers where the two share one file
---@field agprs? integer
---@field sgprs? integer
---@field vgpr_spills? integer
---@field sgpr_spills? integer
---@field registers? integer of NVIDIA GPUs; absent, as are spills and private_bytes, without ptxas
---@field spills? integer of AMD GPUs both together; of NVIDIA GPUs in bytes
---@field shared_bytes integer static, of a workgroup
---@field private_bytes? integer scratch memory of a work-item
---@field kernarg_bytes integer
---@field max_workgroup integer
---@field wavefront_size integer
---@field code_object_bytes integer
---`limit` is what bounds it: "waves", "vgprs", "sgprs", "registers", "shared" or "workgroup".
---@field occupancy { waves: integer, max: integer, workgroup: integer, limit: string }

---What the compiler made for one target.
---@class roc.CodeObject
---@field bytes string for AMD GPUs a shared object, for NVIDIA's PTX; for cpu an object file
---@field target string
---@field entry string symbol of the kernel
---@field kernarg_bytes integer of the kernel's own arguments
---@field shared_bytes integer
local CodeObject = {}

---Writes the bytes to a file, whole or not at all. One that is there keeps its mode, owner and
---links.
---@param path string
---@return roc.CodeObject
function CodeObject:save(path) end

---What it takes of a GPU, as Kernel:resources.
---@param workgroup? integer
---@return roc.Resources
function CodeObject:resources(workgroup) end

---Frees the bytes.
function CodeObject:close() end

---Milliseconds by stage of the compile made last: front_end (types and lowering), passes (of the
---IR), open (LLVM), build, verify, optimise, emit, load.  nil before the first compile.
---@return table<string, number>?
function Kernel:times() end

---The kernel's intermediate representation.
---@return string
function Kernel:inspect_ir() end

---What is probably not meant, one sentence each; also given as Lua warnings when found.
---@return string[]
function Kernel:hints() end

---How many specialisations are kept, and how many were ever compiled.
---@return integer kept
---@return integer compiled
function Kernel:specialisations() end

---A kernel out of a Lua function or the text of one; compiled at its first launch for each set of
---types.
---@param f function | string
---@param opts? roc.KernelOpts
---@return roc.Kernel
function roc.kernel(f, opts) end

---Registers the text of a chunk that is neither a file nor a `load`ed string.
---@param chunkname string as given to `load`
---@param text string
function roc.source(chunkname, text) end

---A stream on a queue of another library, which goes on using it: a CUstream (0: the legacy default
---one), an hsa_queue_t.
---@param pointer lightuserdata | integer
---@param device? roc.Device | integer | string the current one
---@return roc.Stream
function roc.stream_from(pointer, device) end

---Loads code of another compiler on a device: a code object of clang's OpenCL C or HIP or of
---rocluac for an AMD GPU, PTX for an NVIDIA GPU.
---@param code string a path, or the bytes
---@param device? roc.Device | integer | string the current one
---@return roc.Module
function roc.module(code, device) end

---@class roc.Module
---@field kernels string[] names
---@field device roc.Device
local Module = {}

---@param name string
---@param declarations? table<integer, string | roc.DType> "in", "out" or "inout", or a dtype
---@return roc.ModuleKernel
function Module:kernel(name, declarations) end

---Kernels that were taken from it stay.
function Module:close() end

---Launched as a roc.Kernel; unchecked.
---@class roc.ModuleKernel
---@field name string
---@field arguments table[] {kind =, size =, dtype =, name =, is_written =}
local ModuleKernel = {}

---Queues a launch.
---@param config table as of roc.Kernel
---@param ... any
function ModuleKernel:launch(config, ...) end

---A launcher for that many work-items, as Kernel:forall.
---@param ... any extents, and options
---@return fun(...)
function ModuleKernel:forall(...) end

---An array with what a kernel does with it.
---@class roc.KernelArgument

---The array is only read: nothing is copied back.
---@param a roc.Array
---@return roc.KernelArgument
function roc.In(a) end

---The array is only written: nothing is copied there.
---@param a roc.Array
---@return roc.KernelArgument
function roc.Out(a) end

---The array is read and written.
---@param a roc.Array
---@return roc.KernelArgument
function roc.InOut(a) end

-- devices
-- --------------------------------------------------------------------------------------------

---@class roc.Device
---@field name string
---@field model string what the machine calls it; of `cpu` also its vector instructions
---@field kind string "cpu", "sim", …
---@field arch string
---@field wavefront_size integer
---@field compute_units integer
---@field max_workgroup integer
---@field shared_bytes integer of a workgroup
---@field memory_total integer
---@field state "ok" | "lost"
local Device = {}

---What is free on the device now.
---@return integer bytes
function Device:memory_free() end

---Waits for everything queued.
function Device:synchronize() end

---Ends all that is on the device, and starts again; of a lost one too.
function Device:reset() end

---The devices of this machine, in the order of their numbers.
---@return roc.Device[]
function roc.devices() end

---The device that new arrays, streams and launches are on.
---@return roc.Device
function roc.current_device() end

---Makes a device the current one of this Lua state.
---@param device integer | string counted from 1, or a name such as "cpu"
function roc.select_device(device) end

---The current device until the value is closed: `local scope <close> = roc.on_device("sim")`.
---@param device integer | string
---@return roc.DeviceScope
function roc.on_device(device) end

---@class roc.DeviceScope
local DeviceScope = {}

---Makes the device current again that was before.  Also what `<close>` does.
function DeviceScope:close() end
