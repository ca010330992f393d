-- Reductions of rows of a GPU's arrays are computed when their results are needed, in one kernel
-- with what is computed of them and of the same rows.  Nothing but time and memory may tell.
local roc = require "roc"
local core = require "roc.core"
local devices = require "support.devices"
local kernels_made = require "support.kernels_made"

local testing = core.testing
local AT_ONCE, SEPARATE, FUSED = math.maxinteger, math.maxinteger, 0
local KEPT = { axis = 2, keep = true }

local function softmax(x)
  local e = roc.math.exp(x - x:max(KEPT))
  return e / e:sum(KEPT)
end

local function normalised(x, weight, bias)
  local distance = x - x:mean(KEPT)
  return distance / roc.math.sqrt((distance * distance):mean(KEPT) + 1e-5) * weight + bias
end

-- Values of both signs, of which some are equal, the same on each device.
local function values(rows, n, dtype)
  local x = roc.rng(7, { device = roc.current_device() }):integers(-999, 999, { rows, n })
  return (x / 128):astype(dtype):eval()
end

local function same(a, b)
  a, b = a:copy_to_host(), b:copy_to_host()
  return a.dtype == b.dtype and roc.array_equal(a, b) or roc.array_equal(a:ne(a), b:ne(b))
    and roc.array_equal(roc.where(a:ne(a), 0, a), roc.where(b:ne(b), 0, b))
end

describe("Reductions of rows", function()
  local least, work

  local function at_once(f, ...)
    local a, b = testing.lazy(AT_ONCE, SEPARATE)
    local result = f(...):eval()
    testing.lazy(a, b)
    return result
  end

  local function check(f, ...)
    assert.is_true(same(at_once(f, ...), f(...):eval()))
  end

  before_each(function()
    collectgarbage()
    collectgarbage() -- what other specs have left pending
    least, work = testing.lazy(1, FUSED)
  end)
  after_each(function() testing.lazy(least, work) end)

  for _, device in ipairs(devices.list()) do
    if device.kind == "hsa" or device.kind == "cuda" then
      describe("on " .. device.label, function()
        devices.use(device.name)

        it("have the bits that they have when each is computed at once", function()
          for _, form in ipairs { { 3, 65 }, { 2, 128 }, { 3, 1000 }, { 1, 4097 } } do
            local x = values(form[1], form[2], "float32")
            check(softmax, x)
            check(normalised, x, values(1, form[2], "float32"), values(form[1], 1, "float32"))
            check(function(a) return a:std(KEPT) end, x)
            check(function(a) return a:argmin { axis = 2 } end, x)
          end
          check(softmax, values(1, 16384, "float32"))
          check(normalised, values(1, 20000, "float32"), 2, 1)
        end)

        it("take all dtypes, and what else reduces rows", function()
          for dtype, names in pairs { float64 = { "sum", "var" }, float16 = { "mean", "max" },
            bfloat16 = { "norm" }, int8 = { "prod", "min" }, uint64 = { "max", "mean" },
            int32 = { "argmax", "std" } } do
            for _, name in ipairs(names) do
              check(function(a) return a[name](a * a + 1, { axis = 2 }) end, values(2, 300, dtype))
            end
          end
          check(softmax, values(2, 300, "float64"))
          check(function(a) return a:gt(1):count { axis = 2 } end, values(2, 300, "float32"))
          check(function(a) return a:reshape(2, 3, 100):sum { axis = 3 } * 2 end,
            values(2, 300, "float32"))
        end)

        it("know the first of equal elements, zeros of both signs among them, and NaN", function()
          local x = roc.zeros({ 4, 200 }, "float32")
          x[1][3], x[2][1], x[2][150], x[3][70], x[4] = -0.0, -0.0, 1, 0 / 0, -0.0
          x = roc.to_device(x)
          for _, name in ipairs { "min", "max", "argmin", "argmax" } do
            local found = x[name](x, { axis = 2 }):copy_to_host()
            local expected = at_once(x[name], x, { axis = 2 }):copy_to_host()
            for k = 1, 4 do
              assert.equal(("%a"):format(expected[k]):gsub("^%-nan", "nan"),
                (("%a"):format(found[k]):gsub("^%-nan", "nan")))
            end
          end
        end)

        it("are one kernel with what follows, whose parts are not stored", function()
          local x = values(2, 640, "float32")
          collectgarbage()
          local before = testing.pending()
          local function f(a) return (a - a:min(KEPT)) * device.kind:len() / a:max(KEPT) end
          local y = f(x)
          assert.equal(before + 5, testing.pending())
          local made = kernels_made(function() y:eval() end)
          assert.is_true(made <= 1) -- kernels serve all devices
          assert.equal(before, testing.pending())
          assert.equal(0, kernels_made(function() f(values(3, 700, "float32")):eval() end))
          check(f, x)
        end)

        it("are computed by themselves where a workgroup has no room for the row", function()
          local x = values(1, 16384, "float64")
          check(function(a)
            local b, c = a * 3, a + 1
            return (b - a:sum(KEPT)) * (c - b:max(KEPT)) / b * c
          end, x)
          check(softmax, values(1, 40000, "float32"))
        end)

        it("have a kernel of their own, after one that found no memory to compile, too", function()
          testing.lazy(1, SEPARATE)
          local x = values(2, 70, "int16")
          local greatest = x:argmax { axis = 2, keep = true }
          testing.fail_compiler(1, 1 << 60) -- unless the cache has the code
          pcall(greatest.eval, greatest)
          testing.fail_compiler(0)
          local found = greatest:copy_to_host()
          testing.lazy(AT_ONCE, SEPARATE)
          assert.is_true(roc.array_equal(x:argmax { axis = 2, keep = true }:copy_to_host(), found))
        end)

        it("are computed before something else uses the memory", function()
          local x = roc.to_device(roc.ones({ 2, 500 }, "float32"))
          local set = roc.kernel(function(a)
            local i = roc.get_global_id(1)
            if i <= a.shape[2] then a[2][i] = 5 end
          end)
          local before = testing.pending()
          local sums, largest = x:sum { axis = 2 }, (x * 2):max { axis = 2 }
          assert.equal(before + 3, testing.pending())
          x:fill(3)
          assert.equal(before, testing.pending()) -- x * 2, too, which nothing needs any more
          local again = x:sum { axis = 2 }
          set:forall(500)(x)
          assert.same({ 500.0, 500.0 }, sums:copy_to_host():totable())
          assert.same({ 2.0, 2.0 }, largest:copy_to_host():totable())
          assert.same({ 1500.0, 1500.0 }, again:copy_to_host():totable())
          assert.same({ 1500.0, 2500.0 }, x:sum { axis = 2 }:copy_to_host():totable())
        end)

        it("are not of rows that may fail, and no numbers", function()
          local x = values(3, 100, "int32")
          collectgarbage()
          local before = testing.pending()
          local sums = { (x // (x + 2000)):sum { axis = 2 }, x:sum(), x[1]:sum { axis = 1 } }
          assert.equal(3, #sums)
          collectgarbage()
          assert.equal(before, testing.pending())
        end)
      end)
    end
  end
end)
