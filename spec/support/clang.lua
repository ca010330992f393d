-- Code objects of AMD GPUs as clang makes them of OpenCL C and of HIP, and PTX.
local files = require "support.files"

local M = {}

-- Why there are none; nil when clang is there.
M.missing = not files.has_program("clang-22") and "no clang-22" or nil

local LANGUAGES = {
  cl = "-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=%s "
    .. "--rocm-device-lib-path=$(dirname /usr/lib/*/amdgcn/bitcode/ockl.bc)",
  hip = "-x hip --offload-arch=%s --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib",
}

-- The words of HIP that its headers define, so that no header is needed.
local HIP = [[
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
]]

-- Compiles a text by a command, which takes the files for its result and of its source.
local function compile(command, text)
  local source, object = os.tmpname(), os.tmpname()
  local file = assert(io.open(source, "w"))
  file:write(text)
  file:close()
  local output, succeeded = files.run(command:format(object, source))
  assert(succeeded, output)
  local bytes = files.read(object)
  os.remove(source)
  os.remove(object)
  return bytes
end

-- Compiles a text of OpenCL C ("cl") or HIP ("hip") for a device's architecture; the bytes.
function M.compile(language, text, arch, options)
  local flags = LANGUAGES[language]:format(arch:match("^[^:]+"))
  return compile(("clang-22 %s -mcode-object-version=5 %s -o %%s %%s"):format(flags,
    options or "-O2"), (language == "hip" and HIP or "") .. text)
end

-- Compiles a text of OpenCL C for a GPU of NVIDIA; PTX.
function M.compile_ptx(text, chip)
  return compile(("clang-22 -x cl -cl-std=CL2.0 -target nvptx64-nvidia-cuda -Xclang -target-cpu "
    .. "-Xclang %s -Xclang -target-feature -Xclang +ptx70 -S -O2 -o %%s %%s"):format(chip), text)
end

return M
