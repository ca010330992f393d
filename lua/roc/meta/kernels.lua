---@meta
-- # Kernels
--
-- How a kernel is made, launched, looked at and compiled ahead of time. [roc.md](../roc.md#kernels)
-- has the rules of launches; what a kernel may hold is in
-- [kernel-language.md](../kernel-language.md).
--
-- ```lua
-- local roc = require "roc"
-- local k = roc.kernel(function(x)
--   local i = roc.get_global_id(1)
--   if i <= #x then x[i] = x[i] + i end
-- end, { name = "k", signature = "(float32[:])" })
-- local count = roc.kernel(function(x)
--   local i = roc.get_global_id(1)
--   if i <= #x then x[i] = i end
-- end)
-- local x = roc.zeros(3, "float32")
-- ```

---@class roc
local roc = {}

-- ## Making kernels

---@class roc.KernelOpts
---@field name? string for messages and symbols; default: the name it has in its source
---@field signature? string "(float32[:,:], int64)": compiled at once, checked at every call
---@field check? boolean checks indices, divisions, barriers and the like; default true
---@field contract? boolean a product and a sum may be fused; default true
---@field fastmath? boolean floating point may be rearranged and approximated; default false
---@field number? "float64" | "float32" the precision of plain numbers; default "float64"
---@field workgroup? integer | integer[] a promise: no launch's workgroup is larger
---@field env? table where the free names of a string come from; default: the globals

---A kernel of a Lua function, or of a string that holds one. It is compiled at its first launch for
---each set of types and layouts of arguments, or at once for a signature. The source of a function
---is read when the kernel is made; it is an error when the source has changed since the function
---was loaded. A kernel that the compiler refuses is an error with the code `"compile"`, whose
---message names file, line and column.
---
---Example: `k:forall(3)(x) return x` gives `[1. 2. 3.]`.
---@param f function | string
---@param opts? roc.KernelOpts
---@return roc.Kernel
function roc.kernel(f, opts) end

---Registers the text of a chunk that is neither a file nor a `load`ed string, so that kernels can
---be made of its functions.
---
---Example: `local text = "return function(x) x[1] = 5 end" roc.source("=made", text)
---roc.kernel(load(text, "=made")()):forall(1)(x) return x[1]` gives `5.0`.
---@param chunkname string as given to `load`
---@param text string
function roc.source(chunkname, text) end

-- ## Launching
--
-- A launch checks its arguments, queues the work and returns. Device arrays, registered,
-- page-locked and smart arrays are used in place; a plain host array is copied to the device before
-- and, where the kernel writes it, back afterwards, for which the launch waits. A failure in the
-- kernel (an index out of range, `error`) is raised by the next wait that concerns the launch.

---A kernel. `k[{ groups, workgroup [, stream [, shared_bytes]] }](…)` launches it on whole
---workgroups: numbers, or tables of up to three. Calling `k` itself is an error.
---
---Example: `k[{ 1, 3 }](x) return x` gives `[1. 2. 3.]`.
---@class roc.Kernel
---@field name string as messages show it
---@field [table] fun(...)
local Kernel = {}

---@class roc.ForallOpts
---@field workgroup? integer | integer[] work-items of a workgroup; default: chosen for the device
---@field shared? integer bytes of dynamic shared memory; default 0
---@field stream? roc.Stream default: that of the device

---How a kernel is to be launched: a function of the kernel's arguments, each call of which queues a
---launch. It may be kept; calling it allocates nothing.
---@class roc.Launcher
---@overload fun(...: roc.AnyArray | number | boolean)

---A launcher of exactly n work-items, or n by m, or n by m by l. The options stand after the last
---extent. 0 items launch nothing.
---
---Example: `k:forall(2)(x) return x` gives `[1. 2. 0.]`.
---@param n integer | integer[] an extent, or a table of one to three
---@param m? integer
---@param l? integer
---@param opts? roc.ForallOpts
---@return roc.Launcher
---@overload fun(self: roc.Kernel, n: integer | integer[], opts?: roc.ForallOpts): roc.Launcher
---@overload fun(self: roc.Kernel, n: integer, m: integer, opts?: roc.ForallOpts): roc.Launcher
function Kernel:forall(n, m, l, opts) end

---@class roc.LaunchOpts
---@field grid? integer | integer[] work-items; either this or `groups`
---@field groups? integer | integer[] workgroups
---@field workgroup? integer | integer[] work-items of a workgroup; default: chosen for the device
---@field shared? integer bytes of dynamic shared memory; default 0
---@field stream? roc.Stream default: that of the device

---Queues a launch.
---
---Example: `k:launch({ groups = 1, workgroup = 3 }, x) return x` gives `[1. 2. 3.]`.
---@param how roc.LaunchOpts
---@param ... roc.AnyArray | number | boolean the kernel's arguments
function Kernel:launch(how, ...) end

---A host array with what a kernel does with it, as an argument of one launch.
---@class roc.KernelArgument

---The array is only read: it is not copied back.
---
---Example: `k:forall(3)(roc.In(x)) return x` gives `[0. 0. 0.]`.
---@param a roc.Array
---@return roc.KernelArgument
function roc.In(a) end

---The array is only written: it is not copied to the device. One that overlaps another argument is
---an error of the launch.
---
---Example: `count:forall(3)(roc.Out(x)) return x` gives `[1. 2. 3.]`.
---@param a roc.Array
---@return roc.KernelArgument
function roc.Out(a) end

---The array is read and written: it is copied both ways.
---
---Example: `k:forall(3)(roc.InOut(x)) return x` gives `[1. 2. 3.]`.
---@param a roc.Array
---@return roc.KernelArgument
function roc.InOut(a) end

-- ## Looking inside
--
-- Types are those of the last launch, else of the signature; without either, what needs them is an
-- error. A target is `"cpu"`, another processor such as `"cpu:x86-64-v3"`, or a GPU such as
-- `"gfx90a"` or `"sm_90"`, which need not be there; by default it is the current device's.

---The type of each parameter and local, and the place that decided it.
---
---Example: `k:inspect_types():match("local i: %w+")` gives `local i: integer`.
---@param ... roc.AnyArray | number | boolean arguments whose types count
---@return string
function Kernel:inspect_types(...) end

---The kernel's intermediate representation.
---
---Example: `k:inspect_ir():match("kernel k")` gives `kernel k`.
---@return string
function Kernel:inspect_ir() end

---LLVM's intermediate representation, as it is made or after LLVM's passes.
---
---Example: `k:inspect_llvm("gfx90a"):match("amdgpu_kernel")` gives `amdgpu_kernel`.
---@param target? string
---@param stage? "raw" | "opt" default "raw"
---@return string
function Kernel:inspect_llvm(target, stage) end

---Assembly, with each source line before its instructions: for an NVIDIA GPU PTX. `"sass"` is what
---its own machine code is, and `"cubin"` the bytes of that; NVIDIA's `ptxas` and `nvdisasm` make
---them, and it is an error where they are not installed.
---
---Example: `k:inspect_asm("gfx90a"):match("s_endpgm")` gives `s_endpgm`.
---@param target? string
---@param form? "sass" | "cubin" default: the assembly
---@return string
function Kernel:inspect_asm(target, form) end

---The source, each line with the types, the intermediate representation and the assembly that it
---became; then resources, the checks that remain, each with why it could not be proved and what
---would prove it, and hints.
---
---Example: `k:show("gfx90a"):match("vgprs")` gives `vgprs`.
---@param target? string
---@param ... roc.DType | string types, as for `k:compile`
---@return string
function Kernel:show(target, ...) end

---What is probably a mistake, a sentence each: float64 arithmetic in a kernel of narrower arrays, a
---number as a condition, a shared array written and read without a barrier, a plain host array
---copied for the third time. Each is also a warning when it is found (`-W`).
---
---Example: `#k:hints()` gives `0`.
---@return string[]
function Kernel:hints() end

---Milliseconds of the compile made last, by stage: `front_end` (types and lowering), `passes` (of
---the intermediate representation), `open` (LLVM), `build`, `verify`, `optimise`, `emit`, `load`.
---
---Example: `type(k:times())` gives `table`.
---@return table<string, number>? # nil before the first compile
function Kernel:times() end

---How many compiled versions are kept, and how many were ever made. At most 64 are kept; the least
---recently used one is dropped.
---
---Example: `k:forall(3)(x) return k:specialisations()` gives `1, 1`.
---@return integer kept
---@return integer compiled
function Kernel:specialisations() end

-- ## Compiling ahead of time

---@class roc.CompileOpts
---@field target? string default: the current device's
---@field level? integer of optimisation, 0 to 3
---@field check? boolean default: the kernel's own
---@field code_object_version? integer of AMD GPUs: 4, 5 or 6; default 5

---Compiles for a target; the machine need not have such a device. Integers and extents are taken to
---lie in 0 … 2^31−1.
---
---Example: `k:compile("gfx90a").target` gives `gfx90a`.
---@param target? string | roc.CompileOpts "gfx90a", "sm_90", "cpu", "cpu:x86-64-v3", …, or options
---@param ... roc.DType | string types of the parameters ("float32[:]"), or one signature
---@return roc.CodeObject
function Kernel:compile(target, ...) end

---What the compiler made for one target. Its bytes are kept until it is closed or collected.
---@class roc.CodeObject
---@field bytes string of AMD GPUs a shared object, of NVIDIA's PTX, of cpu an object file
---@field target string
---@field entry string the symbol of the kernel
---@field kernarg_bytes integer of the kernel's own arguments
---@field shared_bytes integer of a workgroup, without dynamic ones
local CodeObject = {}

---Writes the bytes to a file, whole or not at all. One that is there keeps its mode, owner and
---links. Failures are errors with the code `"io"`.
---
---Example: `k:compile("gfx90a"):save("k.hsaco") return io.open("k.hsaco"):read(4):sub(2)` gives
---`ELF`.
---@param path string
---@return roc.CodeObject # the code object itself
function CodeObject:save(path) end

---The registers, memory and occupancy on a GPU, as `k:resources` gives them. For code for a
---processor it is an error.
---
---Example: `k:compile("gfx90a"):resources().wavefront_size` gives `64`.
---@param workgroup? integer work-items
---@return roc.Resources
function CodeObject:resources(workgroup) end

---Frees the bytes; later use is an error. `<close>` does the same.
---
---Example: `local c <close> = k:compile("gfx90a") return c.target` gives `gfx90a`.
function CodeObject:close() end

---The registers, memory and occupancy of the kernel on a GPU. For a processor it is an error.
---
---Example: `k:resources("gfx1030").wavefront_size` gives `32`.
---@param target? string
---@param workgroup? integer work-items; default: what forall would choose, at most 256
---@return roc.Resources
function Kernel:resources(target, workgroup) end

---What a kernel takes of a GPU. Fields of the other vendor's GPUs are absent; so are `registers`,
---`spills` and `private_bytes` of an NVIDIA GPU where its assembler, `ptxas`, is not found.
---@class roc.Resources
---@field target string
---@field vgprs? integer of AMD GPUs; with the accumulation registers where the two share one file
---@field agprs? integer of AMD GPUs
---@field sgprs? integer of AMD GPUs
---@field vgpr_spills? integer of AMD GPUs
---@field sgpr_spills? integer of AMD GPUs
---@field registers? integer of NVIDIA GPUs
---@field spills? integer of AMD GPUs both kinds together; of NVIDIA GPUs in bytes
---@field shared_bytes integer of a workgroup, without dynamic ones
---@field private_bytes? integer scratch memory of a work-item
---@field kernarg_bytes integer
---@field max_workgroup integer
---@field wavefront_size integer
---@field code_object_bytes integer
---@field occupancy roc.Occupancy

---How many wavefronts a SIMD or multiprocessor holds in workgroups of a size.
---@class roc.Occupancy
---@field waves integer on a SIMD of an AMD GPU, on a multiprocessor of an NVIDIA GPU
---@field max integer how many it could be
---@field workgroup integer the size, in work-items
---@field limit string "waves" (nothing), "vgprs", "sgprs", "registers", "shared" or "workgroup"
