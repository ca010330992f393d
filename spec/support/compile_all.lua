-- A helper of busted: after each test, the kernels it launched are compiled for the GPUs of the
-- family ROCLUA_SPEC_FAMILY.
--
-- ROCLUA_SPEC_SHARE=all: each for every target, checked and unchecked; else for one of these, which
-- go round. The last line but one of the output counts objects, kernels and failures; each failure
-- is a line of its own. Code for NVIDIA GPUs goes through ptxas, where it is there and has the GPU.
local busted = require "busted"
local core = require "roc.core"
local ptxas = require "support.ptxas"

local FAMILY = os.getenv("ROCLUA_SPEC_FAMILY") or "amdgpu"
local TARGETS = core.targets(FAMILY)
local is_all = os.getenv("ROCLUA_SPEC_SHARE") == "all"

local made, seen = {}, {}
local nkernels, nobjects, nfailures = 0, 0, 0

local new = core.kernel_new
function core.kernel_new(...)
  local kernel = new(...)
  made[#made + 1] = kernel
  return kernel
end

local function compile(kernel, target, check)
  nobjects = nobjects + 1
  local ok, why = pcall(function()
    local object = kernel:compile({ target = target, check = check })
    if FAMILY == "nvptx" and ptxas.has(target) then ptxas.assemble(object.bytes, target) end
    object:close()
  end)
  -- A kernel that no device takes is refused here as well.
  if not ok and not tostring(why):find("its shared arrays take", 1, true) then
    nfailures = nfailures + 1
    io.write(("FAILED %s, %s: %s\n"):format(target, check and "checked" or "unchecked",
      tostring(why):sub(1, 500)))
  end
end

local function compile_share(kernel)
  nkernels = nkernels + 1
  if not is_all then
    return compile(kernel, TARGETS[nkernels % #TARGETS + 1], nkernels // #TARGETS % 2 == 0)
  end
  for _, target in ipairs(TARGETS) do
    compile(kernel, target, true)
    compile(kernel, target, false)
  end
end

-- Kernels that were not launched yet have no types and are kept; the same one on another device is
-- compiled once.
local function compile_made()
  local waiting = {}
  for _, kernel in ipairs(made) do
    local has_types, ir = pcall(kernel.inspect_ir, kernel)
    if not has_types then
      waiting[#waiting + 1] = kernel
    elseif not seen[ir] then
      seen[ir] = true
      compile_share(kernel)
    end
  end
  made = waiting
end

busted.subscribe({ "test", "end" }, function()
  compile_made()
  return nil, true
end)

busted.subscribe({ "suite", "end" }, function()
  io.write(("\ncompiled %d objects of %d kernels, %d failures\n"):format(nobjects, nkernels,
    nfailures))
  return nil, true
end)
