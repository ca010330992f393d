-- Memory that ends inside of LLVM: that compile fails, with `oom`; the process goes on, and the
-- next compile works.
local roc = require "roc"
local compiles = require "support.compiles"
local files = require "support.files"
local shell = require "support.shell"

local testing = require("roc.core").testing
local FOREVER = 1 << 60

local count_entries, count_allocations = compiles.count_entries, compiles.count_allocations

-- Those of a warm compile, in a sample, with more at the end, where code is linked or loaded.
local function sample(count)
  local numbers = { 1, 2, 3 }
  for n = 5, count, count // 9 do numbers[#numbers + 1] = n end
  for n = count - 1500, count, 150 do numbers[#numbers + 1] = n end
  return numbers
end

-- What a process that compiled for the first time when memory ended says.
local COLD = [[
local testing = require("roc.core").testing
local roc = require "roc"
local function compile(c)
  local k = roc.kernel(("function(x) x[1] = math.exp(x[1]) * %%d end"):format(c))
  if arg[1] == "cpu" then
    local x = roc.to_device(roc.zeros(1))
    k:forall(1)(x)
    assert(x[1] == c)
  else
    k:compile(arg[1], "float64[:]"):close()
  end
end
testing.fail_compiler(math.tointeger(arg[2]), 1 << 60)
local ok, err = pcall(compile, 2)
testing.fail_compiler(0)
local works, why = pcall(compile, 3)
print(ok or err.code, works or why)
]]

-- How much of what a compile allocates is left after it.  The passes that make an object stay with
-- their target machine, which goes with a compile that fails; those of a listing do not stay.
local KEPT = [[
local testing = require("roc.core").testing
local roc = require "roc"
local scope <close> = roc.on_device "sim" -- which compiles nothing for itself
local function compile(c)
  local text = ("function(x) x[1] = math.exp(x[1]) * %%d end"):format(c)
  local k = roc.kernel(text, { signature = "(float64[:])" })
  assert(#k:inspect_asm(arg[1]) > 100)
end
for c = 1, 2 do compile(c) end
local before = testing.compiler_memory().kept
for c = 3, 12 do compile(c) end
print((testing.compiler_memory().kept - before) / 10 <= 4)
]]

-- What one of the interpreters that users have says under a limit.
local LIMITED = [[
local roc = require "roc"
for c = 1, 2 do
  local k = roc.kernel(("function(x) x[1] = math.exp(x[1]) * %%d end"):format(c))
  local ok, err = pcall(k.compile, k, arg[1], "float64[:]")
  print(ok or type(err) == "table" and err.code or err)
end
]]

describe("memory that ends in a compile", function()
  teardown(function() testing.fail_compiler(0) end)

  local function try(work, first, last)
    testing.fail_compiler(first, last)
    local ok, err = pcall(work)
    testing.fail_compiler(0)
    assert.is_true(ok or type(err) == "table" and err.code == "oom", tostring(err))
    return ok
  end

  for name, work in pairs(compiles.WORK) do
    it(name .. " ends that compile, and no other", function()
      work()
      local count = count_allocations(work)
      assert.is_true(count > 5000, "it is compiled")
      local before = testing.compiler_memory()
      local threads, descriptors = count_entries("/proc/self/task"), count_entries("/proc/self/fd")
      local nfailed = 0
      for _, n in ipairs(sample(count)) do
        if not try(work, n, FOREVER) then nfailed = nfailed + 1 end
        try(work, n, n)
        work()
      end
      local after = testing.compiler_memory()
      assert.is_true(nfailed >= 10)
      assert.is_true(after.left - before.left >= nfailed // 2, "LLVM was left")
      assert.is_true(after.reserve - before.reserve < 1 << 18)
      assert.is_true(after.reserve_most < 2 << 20)
      assert.is_true(count_entries("/proc/self/task") <= threads + 2, "threads are parked")
      assert.equal(descriptors, count_entries("/proc/self/fd"))
    end)
  end

  describe("in a process of its own", function()
    local folder

    setup(function()
      folder = files.run("mktemp -d -p ."):gsub("\n$", "")
      for name, text in pairs { cold = COLD, kept = KEPT, limited = LIMITED } do
        local file <close> = assert(io.open(("%s/%s.lua"):format(folder, name), "w"))
        file:write((text:gsub("%%%%", "%%")))
      end
    end)
    teardown(function() files.run("rm -rf " .. folder) end)

    local function run(command)
      return shell.run(("export ROCLUA_CACHE=off ROCLUA_DEVICE=cpu; ulimit -c 0; %s 2>&1"):format(
        command))
    end

    for _, target in ipairs { "cpu", "gfx90a" } do
      it("ends the first compile for " .. target .. ", and no other", function()
        if not shell.interpreter then return pending("needs roclua-spec") end
        for _, n in ipairs { 1, 2, 3, 40, 1000, 5000, 9000 } do
          local output, status = run(("timeout 60 ROCLUA_SPEC %s/cold.lua %s %d"):format(folder,
            target, n))
          assert.equal("oom\ttrue\n", output, ("allocation %d"):format(n))
          assert.equal(0, status)
        end
      end)

      -- What others use too is never on the list of what is freed when a compile fails.
      it("for " .. target .. " frees nothing but what is of that compile alone", function()
        if not shell.interpreter then return pending("needs roclua-spec") end
        local output = run(("ROCLUA_SPEC %s/kept.lua %s"):format(folder, target))
        assert.equal("true\n", output)
      end)

      it("for " .. target .. " under a limit of address space is an error", function()
        if not shell.interpreter then return pending("needs roclua") end
        if files.run("ldd " .. shell.interpreter):find "asan" then
          return pending("a sanitizer needs more address space than there is")
        end
        local seen = {}
        for limit = 95000, 140000, 4500 do
          local output, status = run(("ulimit -v %d; timeout 60 ROCLUA %s/limited.lua %s"):format(
            limit, folder, target))
          assert.equal(0, status, ("%d KiB: %s"):format(limit, output))
          for line in output:gmatch("[^\n]+") do seen[line] = true end
        end
        assert.are.same({ oom = true, ["true"] = true }, seen)
      end)
    end
  end)
end)
