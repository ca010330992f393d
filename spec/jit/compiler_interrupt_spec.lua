-- Ctrl-C while LLVM works: that compile ends, with `interrupted`; the next one works.
local roc = require "roc"
local lfs = require "lfs"

local testing = require("roc.core").testing
local FOREVER = 1 << 60

local serial, salt = 0, os.time() % 100000

-- A kernel that no cache has.
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
  end]]):format(serial, salt), { env = { roc = roc, math = math }, signature = signature })
end

local function compile(target)
  return function() new_kernel():compile(target, "float32[:]", "float32[:]", "float32"):close() end
end

local WORK = {
  ["for cpu"] = compile("cpu"),
  ["for gfx90a"] = compile("gfx90a"),
  ["for sm_90"] = compile("sm_90"),
  ["that is shown"] = function()
    local k = new_kernel("(float32[:], float32[:], float32)")
    assert.matches("s_endpgm", k:inspect_asm("gfx90a"))
  end,
  ["and a launch"] = function()
    local device <close> = roc.on_device("cpu")
    local x = roc.to_device(roc.zeros(64, "float32"))
    new_kernel()[{ 1, 64 }](x, x, 1)
    assert.equal(128 * (1 + serial), x[7])
  end,
}

local function count_entries(folder)
  local count = 0
  for _ in lfs.dir(folder) do count = count + 1 end
  return count
end

describe("an interrupt of a compile", function()
  teardown(function() testing.interrupt_compiler(0) end)

  -- How often the compiler asks is how often it allocates, or a little less.
  local function count_questions(work)
    testing.fail_compiler(FOREVER)
    work()
    local count = testing.compiler_memory().allocations
    testing.fail_compiler(0)
    return count
  end

  for name, work in pairs(WORK) do
    it(name .. " ends that one, and no other", function()
      work()
      local count = count_questions(work)
      local before = testing.compiler_memory()
      local threads, descriptors = count_entries("/proc/self/task"), count_entries("/proc/self/fd")
      local nended, asked = 0, 0
      for n = 1, count, count // 8 do
        asked = asked + 1
        testing.interrupt_compiler(n)
        local ok, why = pcall(work)
        testing.interrupt_compiler(0)
        if not ok then
          assert.equal("interrupted", type(why) == "table" and why.code or why)
          assert.equal("interrupted!", why.message)
          nended = nended + 1
        end
        work()
      end
      local after = testing.compiler_memory()
      assert.is_true(nended >= asked - 3, ("%d of %d"):format(nended, asked))
      assert.equal(nended, after.left - before.left)
      assert.is_true(after.reserve - before.reserve < 1 << 18)
      assert.is_true(count_entries("/proc/self/task") <= threads + 2)
      assert.equal(descriptors, count_entries("/proc/self/fd"))
    end)
  end

  it("that came before it ends it, and is one error", function()
    local work = WORK["for gfx90a"]
    testing.interrupt()
    local ok, why = pcall(work)
    assert.is_false(ok)
    assert.equal("interrupted", why.code)
    work()
    roc.current_device():synchronize()
  end)

  it("leaves a kernel that is compiled, and its other specialisations", function()
    local device <close> = roc.on_device("cpu")
    local k = new_kernel()
    local x, y = roc.to_device(roc.zeros(64, "float32")), roc.to_device(roc.zeros(64, "float64"))
    k[{ 1, 64 }](x, x, 1)
    testing.interrupt_compiler(100)
    assert.has_error(function() k[{ 1, 64 }](y, y, 1) end)
    testing.interrupt_compiler(0)
    k[{ 1, 64 }](x, x, 0)
    k[{ 1, 64 }](y, y, 1)
    assert.equal(128 * (1 + serial), y[7])
    assert.equal(2, (k:specialisations()))
  end)
end)
