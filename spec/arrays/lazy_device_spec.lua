-- Operations on device arrays are computed when their results are needed, on the stream that needs
-- them, in an order that no script has to care for.
local roc = require "roc"
local core = require "roc.core"
local devices = require "support.devices"
local kernels_made = require "support.kernels_made"
local arrays = require "support.fuzz.arrays"
local steps = require "support.fuzz.array_steps"
local pending_operations = require "support.pending_operations"

local testing = core.testing
local N = 256
local AT_ONCE, SEPARATE, FUSED = math.maxinteger, math.maxinteger, 0
local ROUNDS = 20000 -- of a loop that lasts longer than it takes to queue what follows

local function ones(dtype) return roc.to_device(roc.ones(N, dtype or "float32")) end

local set = roc.kernel(function(x, value)
  local i = roc.get_global_id(1)
  if i <= #x then x[i] = value end
end)

-- From any element to 2, slowly.
local approach_two = roc.kernel(function(x, rounds)
  local i = roc.get_global_id(1)
  if i <= #x then
    local v = x[i]
    for _ = 1, rounds do v = v * 0.5 + 1 end
    x[i] = v
  end
end)

local copy = roc.kernel(function(o, x)
  local i = roc.get_global_id(1)
  if i <= #x then o[i] = x[i] end
end)

local function each_device(define)
  for _, device in ipairs(devices.list()) do
    if device.kind ~= "sim" then
      describe("on " .. device.label, function()
        devices.use(device.name)
        define(device)
      end)
    end
  end
end

describe("Operations on device arrays", function()
  local least, work
  local function set_work(value) testing.lazy(1, value) end

  setup(function() return (roc.ones(1) + 1) * 2 end) -- loads what operations are
  before_each(function()
    collectgarbage()
    collectgarbage() -- what other specs have left pending
    least, work = testing.lazy(1, SEPARATE)
  end)
  after_each(function() testing.lazy(least, work) end)

  local dtypes = { "bfloat16", "float16", "float64", "float32" }

  each_device(function(device)
    it("are computed again where that takes less than to store them", function()
      set_work(FUSED)
      local x, y = ones(), ones()
      local difference = x - y
      local e = roc.math.exp(difference)
      local before = testing.pending()
      local function number_stored(f)
        assert.equal(f(1), f(e)[N])
        return before - testing.pending()
      end
      assert.equal(N, e:sum())
      local has_own_memory = device.kind ~= "cpu"
      assert.equal(has_own_memory and 0 or 1, number_stored(function(a) return a * 3 end))
      assert.equal(1, number_stored(function(a) return a * 5 end))
      assert.equal(0, difference[N])
    end)

    it("are computed when they are looked at, and have no memory before", function()
      local x = roc.to_device(roc.ones(1 << 20))
      local used, before = roc.memory_info().used, testing.pending()
      local y = x * 2 + 1
      assert.equal(before + 2, testing.pending())
      assert.equal(x.device, y.device)
      assert.same({ 1 << 20 }, y.shape)
      assert.equal(1 << 20, #y)
      local row = y:reshape(2, 1 << 19)[2]
      assert.equal(before + 2, testing.pending())
      assert.equal(used, roc.memory_info().used)
      assert.equal(3, row[7])
      assert.equal(before, testing.pending())
      assert.is_true(roc.memory_info().used >= used + (8 << 20))
      assert.equal(3, y:copy_to_host()[1 << 20])
    end)

    it("that are wanted with one that fails are right", function()
      set_work(FUSED)
      local x, y = ones "int32", roc.to_device(roc.range(0, N - 1, 1, "int32"))
      local sum, part = x + y, x * 3
      part:copy_to_host() -- the next kernel that needs it stores it
      local product = part * part
      -- Told once, by whatever waits for the kernel first.
      local told = 0
      for _, look in ipairs {
        function() roc.eval(part // y, sum, product, part) end,
        function() y:copy_to_host() end,
        function() roc.current_device():synchronize() end,
      } do
        local ok, message = pcall(look)
        if not ok then
          assert.matches("attempt to divide by zero", tostring(message), 1, true)
          told = told + 1
        end
      end
      assert.equal(1, told)
      assert.equal(1, sum:copy_to_host()[1])
      assert.equal(3, part:copy_to_host()[1])
      assert.equal(9, product:copy_to_host()[1])
    end)

    it("that fail are told of by the step of a random program that has queued them", function()
      local least, told = roc.to_device(roc.full(N, -128, "int8")), nil
      steps.all.bincount {
        on_device = true,
        any = function() return least end,
        keep = function(_, f, ...)
          local _, message = pcall(f, ...)
          told = tostring(message)
        end,
      }
      assert.matches("value without a bin: -128", told, 1, true)
    end)

    it("become one kernel, and one with the first pass of a reduction", function()
      set_work(FUSED)
      local dtype = table.remove(dtypes) -- another one on each device: kernels serve all devices
      local x, y = ones(dtype), ones(dtype)
      local function f(c) return roc.math.sqrt(x * x + y * y) * c + roc.math.exp(x - y) end
      assert.equal(1, kernels_made(function() assert.is_true(f(2)[1] > 3.8) end))
      assert.equal(0, kernels_made(function() assert.is_true(f(3)[N] > 5.1) end))
      collectgarbage() -- results of the above that are still pending
      local before = testing.pending()
      local product = x * y
      assert.equal(N, product:sum())
      assert.equal(before + 1, testing.pending())
      assert.equal(N, product:sum { axis = 1, keep = true }[1])
    end)

    if device.kind ~= "cpu" then
      it("of a mask select elements without being stored", function()
        set_work(FUSED)
        local x = roc.to_device(roc.range(1, 9000):astype("float32"))
        local mask, twice = x:gt(8998), x + x
        local before = testing.pending()
        assert.same({ 8999, 9000 }, x[mask]:copy_to_host():totable())
        assert.same({ 17998, 18000 }, twice[mask]:copy_to_host():totable())
        assert.same({ 8999, 9000 }, mask:nonzero():copy_to_host():totable())
        assert.equal(before, testing.pending())
        assert.equal(2, mask:count())
      end)

      it("are reduced in one launch or two, to the bits of the host", function()
        local limits = require "roc.arrays.tree".limits
        local kept = { many_chunks = limits.many_chunks, at_once = limits.at_once }
        local x = (roc.rng(3):uniform(4096 * 66 + 777, "float32") - 0.5):eval()
        local y = roc.to_device(x)
        for _, work in ipairs { SEPARATE, FUSED } do
          set_work(work)
          for _, at_once in ipairs { 1, kept.at_once } do
            for _, many in ipairs { 1, kept.many_chunks } do
              limits.many_chunks, limits.at_once = many, at_once
              assert.equal(x:sum(), y:sum())
              assert.equal((x * x):sum(), (y * y):sum())
              assert.equal(x:gt(0.25):any(), y:gt(0.25):any())
            end
          end
        end
        limits.many_chunks, limits.at_once = kept.many_chunks, kept.at_once
      end)
    end

    it("convert inside a kernel", function()
      set_work(FUSED)
      local flags = ones():gt(0)
      for _, name in ipairs { "float32", "float64", "float16", "int8", "uint64", "bool" } do
        local converted = flags:eval():astype(name)
        if name == "bool" then
          assert.is_true((converted & flags)[N])
        else
          assert.equal(3, (converted * 3)[1])
        end
      end
    end)

    it("wait for queued work that writes their operands, and are waited for", function()
      local s <close> = roc.stream()
      local t <close> = roc.stream()
      local u <close> = roc.stream()
      for _, kind in ipairs { SEPARATE, FUSED } do
        set_work(kind)
        local x, o = ones(), roc.device_array(N, "float32")
        approach_two:forall(N, { stream = s })(x, ROUNDS)
        local y = x * 2 - x + 1
        copy:forall(N, { stream = t })(o, y)      -- which is computed on t, after s
        set:forall(N, { stream = u })(x, 9)       -- on u, after t
        local z = x + 1
        set:forall(N, { stream = s })(x, 5)       -- after a copy for z, which is after u
        local p = roc.device_array(N, "float32")
        copy:forall(N, { stream = u })(p, z)
        s:wait(roc.event():record(t))             -- the copy to o, which the script has queued
        set:forall(N, { stream = s })(y, 7)       -- after what reads it
        assert.equal(3, o[N])
        assert.equal(10, p[1])
        assert.equal(10 * N, z:sum())
        assert.equal(5, x[N])
        assert.equal(7, y[1])
      end
    end)

    it("are ordered when they are computed at once, too", function()
      testing.lazy(AT_ONCE, AT_ONCE)
      local s <close> = roc.stream()
      local x = ones()
      approach_two:forall(N, { stream = s })(x, ROUNDS)
      local y, sum = x + 1, x:sum { axis = 1, keep = true }
      set:forall(N, { stream = s })(x, 9)
      assert.equal(3, y[N])
      assert.equal(2 * N, sum[1])
      assert.equal(9 * N, x:sum())
    end)

    it("are ordered with functions that roc builds, too, unless these name a stream", function()
      local s <close> = roc.stream()
      local x, sum = ones(), roc.reduce(function(a, b) return a + b end)
      local function next_of(v) return v + 1 end
      local function copy_row(row, out) for i = 1, #row do out[i] = row[i] + 1 end end
      local calls = {
        function() return roc.vectorize(next_of)(x)[N] end,
        function() return sum(x) / N + 1 end,
        function() return sum(x:reshape(1, N), { axis = 2 })[1] / N + 1 end,
        function() return roc.scan(function(a, b) return a + b end)(x)[N] / N + 1 end,
        function() return roc.guvectorize(copy_row, "(n)->(n)")(x)[1] end,
      }
      for i, call in ipairs(calls) do
        call() -- compiles
        x:fill(1)
        approach_two:forall(N, { stream = s })(x, ROUNDS)
        assert.equal(3, call(), "call " .. i)
        local y = roc.vectorize(next_of)(x)
        set:forall(N, { stream = s })(x, 9) -- after what reads it
        assert.equal(3, y[1])
      end
      local y = roc.vectorize(next_of)(x, { stream = s })
      assert.equal(10, y[N])
    end)

    it("are computed on a stream by eval, and by copies", function()
      local s <close> = roc.stream()
      local x = ones()
      local y, z, host = x + 1, x + 2, roc.empty(N, "float32")
      local before = testing.pending()
      assert.equal(y, y:eval(s))
      z:copy_to_host(host, s)
      assert.equal(before - 2, testing.pending())
      local w = x * 4
      w:eval()
      s:synchronize()
      assert.equal(2, y[1])
      assert.equal(3, host[N])
      assert.equal(4, w[N])
      assert.error_matches(function() (roc.ones(N) + 1):eval(s) end, "host array")
      assert.error_matches(function() y:eval(1) end, "Stream")
    end)

    it("are captured by kernels", function()
      local x = ones()
      local offset = x * 3
      local k = roc.kernel(function(o)
        local i = roc.get_global_id(1)
        if i <= #o then o[i] = offset[i] end
      end)
      local o = roc.device_array(N, "float32")
      k:forall(N)(o)
      assert.equal(3, o[1])
      offset = offset + 1
      local before = testing.pending()
      k:forall(N)(o)
      assert.equal(before - 1, testing.pending())
      assert.equal(4, o[N])
    end)

    local WRITES = {
      ["assigned an element"] = function(x) x[1] = 50 end,
      ["filled"] = function(x) x:fill(50) end,
      ["filled on a stream"] = function(x)
        local stream <close> = roc.stream()
        x:fill(50, stream)
      end,
      ["written through a view"] = function(x) x:slice(1, 1, N, 2):fill(50) end,
      ["assigned a range"] = function(x) x[{ { 1, 5 } }] = 50 end,
      ["assigned their own results"] = function(x, y) x[{ {} }] = y end,
      ["written by a kernel"] = function(x) set:forall(N)(x, 50) end,
      ["written by a kernel on a stream"] = function(x)
        local stream <close> = roc.stream()
        set:forall(N, { stream = stream })(x, 50)
      end,
      ["written by vectorize"] = function(x)
        roc.vectorize(function(v) return v + 49 end)(x, { out = x })
      end,
      ["copied to from the host"] = function(x) x:copy_from_host(roc.full(N, 50, "float32")) end,
      ["copied to"] = function(x) roc.to_device(roc.full(N, 50, "float32"), { to = x }) end,
      ["told by their address, and written"] = function(x)
        assert(x.pointer)
        set:forall(N)(x, 50)
      end,
    }
    for name, write in pairs(WRITES) do
      it("keep their operands' values when these are " .. name, function()
        local x = ones()
        local y, z = x + 1, x:slice(1, N, 1, -1) * 3
        local sum = y + z
        write(x, y)
        assert.not_equal(1, x[1])
        assert.equal(5, sum[1])
        assert.equal(5 * N, sum:sum())
        assert.equal(2, y[1])
        assert.equal(3, z[N])
      end)
    end

    it("keep the part of their operands that they read", function()
      local x = roc.to_device(roc.ones({ 64, 4096 }, "float32"))
      local rows = { x[7] + x[9]:slice(1, 4096, 1, -1), x[{ 8, { 5, 4000 } }] * 2 }
      local used = roc.memory_info().used
      x:fill(3)
      local copied = roc.memory_info().used - used
      assert.is_true(copied >= 3 * 4096 * 4 and copied <= 4 * 4096 * 4, copied)
      local more = x:reshape(64 * 4096):slice(1, 4096 * 63 + 18, 4096 * 64) - 1 -- not in the copy
      x:fill(9)
      assert.same({ 2, 2, 2, 2 }, { rows[1][1], rows[1][4096], rows[2][1], rows[2][3996] })
      assert.same({ 2, 2, 9 }, { more[1], more[#more], x[64][4096] })
    end)

    it("keep the values of a smart array's side", function()
      local s = roc.smart_array(roc.ones(N, "float32"))
      local side = s:get "device"
      local y = side + 1
      s[1] = 50
      s:get "device"
      assert.equal(2, y[1])
      assert.equal(51, (side + 1)[1])
    end)

    it("can be written themselves, closed, and outlive what they are made of", function()
      local x = ones()
      local y = x + 1
      local z = y * 2
      x:close()
      y[1] = 100
      y:slice(1, 2, 2):fill(7, nil)
      assert.equal(4, z[1])
      assert.equal(4, z[2])
      y:close()
      local before = testing.pending()
      local w = z + 1
      w:close()
      assert.equal(before, testing.pending())
      assert.equal(4, z[N])
    end)

    it("are bounded", function()
      local x = ones()
      local before = testing.pending()
      local kept = {}
      for i = 1, 600 do
        kept[i] = x * i
        assert.is_true(testing.pending() - before <= 257)
      end
      for i = 1, 600, 99 do assert.equal(i, kept[i][N]) end
      for _ = 1, 100 do x = x + 1 end
      assert.equal(101, x[N])
    end)
  end)

  describe("on cpu", function()
    devices.use("cpu")

    it("give their result or an error when allocations fail, and go on then", function()
      for _, kind in ipairs { SEPARATE, FUSED } do
        set_work(kind)
        pending_operations.check_failing_allocations(ones)
      end
    end)

    it("are the same, whether or not they are lazy, in random programs", function()
      for seed = 1, 5 do
        local ok, why = arrays.compare(seed, 50, { seed % 5 == 0 and FUSED or AT_ONCE }, true)
        assert(ok, why)
      end
    end)
  end)

  describe("on a device without memory", function()
    devices.use("null")

    it("are computed after a collection, whose finalizers may compute them", function()
      local y, is_computed = roc.device_array(1 << 16) + 1, false
      setmetatable({}, { __gc = function() is_computed = y:eval() == y end })
      assert(roc.device_array(1 << 16)) -- garbage, which is finalized first
      testing.null_limit(testing.null_live_bytes())
      local before = testing.pending()
      y:eval()
      testing.null_clear()
      assert.equal(before - 1, testing.pending())
      assert.is_true(is_computed)
    end)
  end)

  describe("on a device that is lost", function()
    devices.use("null")

    it("raise so at each look, and can be computed when it is well again", function()
      local y = roc.device_array(N) + 1
      local before = testing.pending()
      testing.null_lose()
      for _ = 1, 2 do
        assert.error_matches(function() return y[1] end, "device 'null' is lost")
        assert.error_matches(function() return y:eval() end, "device 'null' is lost")
      end
      assert.equal(before, testing.pending())
      roc.current_device():reset()
      y:eval()
      assert.equal(before - 1, testing.pending())
      testing.null_clear()
    end)
  end)
end)
