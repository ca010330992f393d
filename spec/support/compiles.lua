-- Compiles for specs that end them in the middle: when memory is out, by an interrupt.
local roc = require "roc"
local assert = require "luassert"
local lfs = require "lfs"

local testing = require("roc.core").testing
local FOREVER = 1 << 60

local M = {}

local serial, salt = 0, os.time() % 100000

---A kernel that no cache has, with shared memory, a barrier, a loop and functions of the device
---library.
---@param signature? string
---@return roc.Kernel
---@return integer its number: on equal elements 0 it gives 128 * (1 + number)
local function new_kernel(signature)
  serial = serial + 1
  return roc.kernel(([[function(y, x, a)
    local part = roc.shared.array(64, roc.float32)
    local i, l = roc.get_global_id(1), roc.get_local_id(1)
    part[l] = math.exp(x[i]) + %d
    roc.barrier()
    local sum = 0.0
    for k = 1, 64 do sum = sum + part[k] * 2 end
    if a == %d then sum = 1 end
    if i <= #y then y[i] = a * sum + y[i] end
  end]]):format(serial, salt), { env = { roc = roc, math = math }, signature = signature }), serial
end
M.new_kernel = new_kernel

local function compile(target)
  return function()
    local k = new_kernel()
    k:compile(target, "float32[:]", "float32[:]", "float32"):close()
  end
end

-- Compiles that end in several ways, by name.
M.WORK = {
  ["for cpu"] = compile("cpu"),
  ["for gfx90a"] = compile("gfx90a"),
  ["for sm_90"] = compile("sm_90"),
  ["that is shown"] = function()
    local k = new_kernel("(float32[:], float32[:], float32)")
    assert.matches("s_endpgm", k:inspect_asm("gfx90a"))
  end,
  ["and a load"] = function()
    local device <close> = roc.on_device("cpu")
    local x = roc.to_device(roc.zeros(64, "float32"))
    local k, number = new_kernel()
    k[{ 1, 64 }](x, x, 1)
    assert.equal(128 * (1 + number), x[7])
  end,
}

---How often LLVM allocates in it.
---@param work function
---@return integer
function M.count_allocations(work)
  testing.fail_compiler(FOREVER)
  work()
  local count = testing.compiler_memory().allocations
  testing.fail_compiler(0)
  return count
end

---How many entries a folder has, such as the threads of /proc/self/task.
---@param folder string
---@return integer
function M.count_entries(folder)
  local count = 0
  for _ in lfs.dir(folder) do count = count + 1 end
  return count
end

return M
