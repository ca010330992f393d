-- Ctrl-C while LLVM works: that compile ends, with `interrupted`; the next one works.
local roc = require "roc"
local compiles = require "support.compiles"

local testing = require("roc.core").testing

local count_entries = compiles.count_entries

describe("an interrupt of a compile", function()
  teardown(function() testing.interrupt_compiler(0) end)

  for name, work in pairs(compiles.WORK) do
    it(name .. " ends that one, and no other", function()
      work()
      -- How often the compiler asks is how often it allocates, or a little less.
      local count = compiles.count_allocations(work)
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
    local work = compiles.WORK["for gfx90a"]
    testing.interrupt()
    local ok, why = pcall(work)
    assert.is_false(ok)
    assert.equal("interrupted", why.code)
    work()
    roc.current_device():synchronize()
  end)

  it("leaves a kernel that is compiled, and its other specialisations", function()
    local device <close> = roc.on_device("cpu")
    local k, number = compiles.new_kernel()
    local x, y = roc.to_device(roc.zeros(64, "float32")), roc.to_device(roc.zeros(64, "float64"))
    k[{ 1, 64 }](x, x, 1)
    testing.interrupt_compiler(100)
    assert.has_error(function() k[{ 1, 64 }](y, y, 1) end)
    testing.interrupt_compiler(0)
    k[{ 1, 64 }](x, x, 0)
    k[{ 1, 64 }](y, y, 1)
    assert.equal(128 * (1 + number), y[7])
    assert.equal(2, (k:specialisations()))
  end)
end)
