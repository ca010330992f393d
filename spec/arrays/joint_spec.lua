-- Reductions of arrays of one shape, along the same axis, in one pass: the same bits as apart.
local roc = require "roc"
local core = require "roc.core"
local devices = require "support.devices"
local kernels_made = require "support.kernels_made"
local programs = require "support.programs"
local ptxas = require "support.ptxas"
local shell = require "support.shell"

local testing = core.testing
local AT_ONCE, SEPARATE, FUSED = math.maxinteger, math.maxinteger, 0
local KEEP = { keep = true }

-- The same on each device; some are equal.
local function values(shape, dtype)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  local x = roc.rng(5, { device = roc.current_device() }):integers(-999, 999, n)
  return (x / 128):astype(dtype):eval():reshape(shape)
end

local function host(array)
  return core.is_pending(array) and host(array:eval()) or array.device and array:copy_to_host()
    or array
end

describe("Reductions in one pass", function()
  local least, work

  before_each(function()
    collectgarbage()
    collectgarbage() -- what other specs have left pending
    least, work = testing.lazy(1, FUSED)
  end)
  after_each(function() testing.lazy(least, work) end)

  -- What `f` gives, a list of arrays, is the same together and one by one.
  local function check(f, ...)
    local a, b = testing.lazy(AT_ONCE, SEPARATE)
    local expected = f(...)
    for i = 1, #expected do expected[i] = host(expected[i]) end
    testing.lazy(a, b)
    local found = { roc.eval(table.unpack(f(...))) }
    for i = 1, #expected do
      assert.are.same(expected[i].shape, found[i].shape)
      assert.are.equal(expected[i].dtype, found[i].dtype)
      assert.is_true(roc.array_equal(expected[i], host(found[i])), i)
    end
  end

  devices.each(function(device)
    local is_gpu = device.kind == "hsa" or device.kind == "cuda"

    it("have the bits that they have apart, whole and along each axis", function()
      for _, shape in ipairs { { 65 }, { 9000 }, { 3, 70 }, { 2, 9, 100 } } do
        local x = values(shape, "float32")
        for axis = 0, #shape do
          local options = { axis = axis > 0 and axis or nil, keep = true }
          check(function(a)
            return { a:sum(options), (a * a):sum(options), a:min(options), a:argmax(options) }
          end, x)
        end
      end
    end)

    it("take all dtypes, views, and the other functions", function()
      for _, dtype in ipairs { "int8", "uint64", "float16", "float64" } do
        check(function(a)
          return { a:mean(KEEP), a:var(KEEP), a:max(KEEP), a:gt(3):count(KEEP), a:prod(KEEP) }
        end, values({ 150 }, dtype))
      end
      local x = values({ 40, 130 }, "float32")
      for axis = 1, 2 do
        local options = { axis = axis }
        check(function(a)
          local b = a:transpose()
          return { b:sum(options), (b + 1):max(options), (a:transpose() * b):norm(options),
            b:max(options) - b:min(options) }
        end, x)
      end
      check(function(a, row) return { (a - row):sum(KEEP), (a + row):min(KEEP) } end, x,
        values({ 130 }, "float32"))
    end)

    it("know the first of equal elements, zeros of both signs among them, and NaN", function()
      local x = roc.zeros({ 3, 200 }, "float32")
      x[1][3], x[1][150], x[2][70], x[3] = -0.0, 1, 0 / 0, -0.0
      if is_gpu then x = roc.to_device(x) end
      local function signs(f)
        local texts = {}
        for i, array in ipairs(f(x, { axis = 2 })) do
          array = host(array)
          for k = 1, 3 do texts[#texts + 1] = i .. (" %a"):format(array[k]):gsub("-nan", "nan") end
        end
        return texts
      end
      local function together(a, options)
        return { roc.eval(a:min(options), a:max(options), a:argmin(options)) }
      end
      local found = signs(together)
      testing.lazy(AT_ONCE, SEPARATE)
      assert.are.same(signs(together), found)
    end)

    if not is_gpu then return end

    it("are one kernel, and wait until they are needed", function()
      local x = values({ 500 }, "float32")
      collectgarbage()
      local before = testing.pending()
      local list = { x:sum(KEEP), (x * x):sum(KEEP), x:min(KEEP), x:max(KEEP) }
      assert.are.equal(before + 5, testing.pending())
      local made = kernels_made(function() roc.eval(table.unpack(list)) end)
      assert.is_true(made <= 1) -- kernels serve all devices
      assert.are.equal(before, testing.pending()) -- x * x, which nothing refers to, is not stored
      local y = x:max(KEEP) - x:min(KEEP)
      assert.is_true(kernels_made(function() y:eval() end) <= 2)
      assert.are.equal(list[4][1] - list[3][1], y[1])
    end)

    it("may be below others of several chunks, which are launched after them", function()
      local x = values({ 40000 }, "int32")
      local greatest = x:max()
      for i = 1, 2 do
        assert.are.equal(x:sum() - 40000 * greatest, (x - x:max(KEEP)):sum())
        assert.are.equal(greatest - x:sum(), (x - (x:reshape(2, 20000)):sum(KEEP)[1][1]):max())
        assert.are.equal((greatest - x:sum() - i)^2, ((x - (x + 0):sum(KEEP) - i) ^ 2):max())
      end
    end)

    it("are computed in as many passes as their fields need", function()
      local x = values({ 300 }, "float32")
      check(function(a) -- eight fields
        return { a:min(KEEP), a:max(KEEP), a:argmin(KEEP), a:argmax(KEEP), a:sum(KEEP) }
      end, x)
    end)

    it("have the values that their operands had", function()
      local x = values({ 300 }, "int32")
      local expected = x:sum()
      local sum, largest, rows = x:sum(KEEP), (x + 1):max(KEEP), x:reshape(3, 100):sum { axis = 1 }
      x:fill(20)
      assert.are.equal(expected, sum[1])
      assert.are.equal(expected, rows:sum())
      assert.are.equal(8, largest[1]) -- not 21
    end)

    it("can be views, operands of kernels, and closed", function()
      local x = values({ 6, 50 }, "float32")
      local sums = x:sum { axis = 1 }
      assert.are.equal(host(x:sum { axis = 1 })[50], sums:reshape(5, 10)[5][10])
      local unused = x:max(KEEP)
      unused:close()
      x:close()
      assert.has_error(function() x:sum(KEEP) end)
    end)
  end)

  it("are PTX that NVIDIA's assembler takes, launched once", function()
    local program = programs.find("cuda_calls_test")
    if not shell.interpreter then return pending("not run by roclua") end
    if not program then return pending("cuda_calls_test is not built") end
    local path, launches, texts = os.tmpname(), os.tmpname(), os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(([[
      local roc, kernel = require "roc", require "roc.kernel"
      local x = roc.device_array(70000, "float32")
      x:sum { keep = true }:eval()
      local made, new = {}, kernel.kernel
      kernel.kernel = function(...) made[#made + 1] = new(...) return made[#made] end
      local keep = { keep = true }
      roc.eval(x:sum(keep), x:max(keep), x:argmin(keep), x:prod(keep))
      assert(#made == 1)
      local file = assert(io.open(%q, "w"))
      file:write(made[1]:inspect_asm()):close()
    ]]):format(texts)):close()
    local library = program:gsub("bin/[^/]*$", "lib/libfake_cuda.so")
    local output, status = shell.run(("ROCLUA_CUDA_LIBRARY=%s FAKE_CUDA_LAUNCHES=%s "
      .. "ROCLUA_DEVICE=cuda timeout 100 ROCLUA_SPEC %s"):format(library, launches, path))
    assert.are.equal(0, status, output)
    local count = 0
    for line in io.lines(launches) do
      if line:find "reductions" then count = count + 1 end
    end
    assert.are.equal(1, count)
    if ptxas.has "sm_90" then
      local text <close> = assert(io.open(texts))
      ptxas.assemble(text:read "a", "sm_90")
    end
    for _, name in ipairs { path, launches, texts } do os.remove(name) end
  end)
end)
