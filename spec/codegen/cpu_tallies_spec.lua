-- Atomics whose old values are not used, in arrays that a kernel does nothing else with: on the CPU
-- they need no atomic instructions where the arrays are small.
local roc = require "roc"

local UPDATES = {
  add = function(a, i, x) return roc.atomic.add(a, i, x) end,
  sub = function(a, i, x) return roc.atomic.sub(a, i, x) end,
  min = function(a, i, x) return roc.atomic.min(a, i, x) end,
  max = function(a, i, x) return roc.atomic.max(a, i, x) end,
  and_ = function(a, i, x) return roc.atomic.and_(a, i, x) end,
  or_ = function(a, i, x) return roc.atomic.or_(a, i, x) end,
  xor = function(a, i, x) return roc.atomic.xor(a, i, x) end,
}

local function make(update)
  return roc.kernel(function(x, o)
    local i = roc.get_global_id(1)
    if i <= #x then update(o, (x[i] & 0xffff) % #o + 1, x[i]) end
  end)
end

-- The old values are used.
local function make_reference(update)
  return roc.kernel(function(x, o, used)
    for i = 1, #x do used[1] = used[1] ~ update(o, (x[i] & 0xffff) % #o + 1, x[i]) end
  end)
end

local function numbers(count)
  local x = roc.zeros(count, "int64")
  for i = 1, count do x[i] = (i * 0x9e3779b97f4a7c15) >> 13 ~ -(i % 3) end
  return x
end

local function filled(count, dtype)
  local o = roc.zeros(count, dtype)
  for i = 1, count do o[i] = 1000003 * i % 5000 end
  return o
end

describe("atomics whose value is not used", function()
  for _, target in ipairs { "cpu:x86-64-v3", "cpu:x86-64-v4" } do
    local function listing(f)
      local signature = debug.getinfo(f, "u").nparams == 2 and "(uint8[:], int32[:])"
        or "(uint8[:], int32[:], int32[:])"
      return roc.kernel(f, { signature = signature, check = false })
        :inspect_llvm(target, "opt")
    end

    it("are sums in memory of the kernel: " .. target, function()
      local text = listing(function(x, o)
        local i = roc.get_global_id(1)
        if i <= #x then roc.atomic.add(o, x[i] + 1, 1) end
      end)
      assert.matches("store i32", text)
      assert.matches("atomicrmw add", text)
    end)

    it("are variables of the loop where all items name one element: " .. target, function()
      local text = roc.kernel(function(x, o)
        local i = roc.get_global_id(1)
        if i <= #x then roc.atomic.add(o, 1, x[i]) end
      end, { signature = "(int32[:], int32[:])", check = false }):inspect_llvm(target, "opt")
      assert.matches("add <%d+ x i32>", text)
    end)

    it("stay atomics where something else reads the array: " .. target, function()
      for _, f in ipairs {
        function(x, o)
          local i = roc.get_global_id(1)
          if i <= #x and o[i] == 0 then roc.atomic.add(o, x[i] + 1, 1) end
        end,
        function(x, o)
          if roc.atomic.add(o, 1, 1) == 3 then roc.atomic.add(o, x[1], 1) end
        end,
        function(x, o)
          roc.atomic.add(o, x[1], 1)
          roc.mem_fence()
        end,
        function(x, o)
          roc.atomic.add(o, x[1], 1)
          roc.atomic.max(o, x[2], 1)
        end,
        function(x, o, flag) -- the host may wait for the count before it sets the flag
          roc.atomic.add(o, x[1], 1)
          while roc.atomic.load(flag, 1) == 0 do end
        end,
      } do
        assert.not_matches("store i32", listing(f))
      end
    end)
  end
end)

describe("on the cpu they", function()
  local scope
  before_each(function() scope = roc.on_device "cpu" end)
  after_each(function() scope:close() end)

  for name, update in pairs(UPDATES) do
    it("come to what one after the other does: " .. name, function()
      local kernel, reference, x = make(update), make_reference(update), numbers(700)
      for _, dtype in ipairs { "int32", "uint32", "int64", "uint64" } do
        for _, size in ipairs { 1, 40, 5000 } do
          local o, want = filled(size, dtype), filled(size, dtype)
          for _ = 1, 2 do
            kernel:forall(#x)(x, o)
            reference:forall(1)(x, want, roc.zeros(1, "int64"))
          end
          roc.current_device():synchronize()
          assert.same(want:totable(), o:totable())
        end
      end
    end)
  end

  it("are right where all items name one element, in branches and between barriers", function()
    local kernel = roc.kernel(function(x, o, f, least, most, bits)
      local i = roc.get_global_id(1)
      if i > #x then return end
      if x[i] % 3 == 0 then
        roc.atomic.add(o, 2, x[i])
        roc.atomic.sub(f, 1, x[i] * 0.5)
      end
      roc.barrier()
      for k = 1, x[i] % 3 do roc.atomic.add(o, k, k) end
      roc.atomic.add(o, 2, 1)
      roc.atomic.add(f, 1, 1.0)
      roc.atomic.min(least, 1, x[i] == 7 and 0 / 0 or -1.0 * x[i])
      roc.atomic.max(most, 1, 0.5 * x[i])
      if x[i] < 1 then roc.atomic.xor(bits, 1, i) end
    end)
    local n = 1000
    for _, dtype in ipairs { "float32", "float64" } do
      local x = roc.zeros(n, "int32")
      local sum, half, one, two, odd = 0, 0, 0, 0, 9
      for i = 1, n do
        x[i] = i % 11
        if x[i] % 3 == 0 then sum, half = sum + x[i], half - x[i] / 2 end
        one, two = one + (x[i] % 3 > 0 and 1 or 0), two + (x[i] % 3 > 1 and 2 or 0)
        if x[i] < 1 then odd = odd ~ i end
      end
      local o, f, bits = roc.zeros(3, "int32"), roc.zeros(1, dtype), roc.array({ 9 }, "int32")
      local least, most = roc.array({ 1.5 }, dtype), roc.array({ 3 }, dtype)
      kernel:launch({ grid = n, workgroup = 64 }, x, o, f, least, most, bits)
      roc.current_device():synchronize()
      assert.same({ one, sum + two + n, 0 }, o:totable())
      assert.same({ half + n, -10.0, 5.0, odd }, { f[1], least[1], most[1], bits[1] })
    end
  end)

  it("are sums of floats in the order of an item", function()
    local kernel = roc.kernel(function(x, o)
      if roc.get_global_id(1) ~= 1 then return end
      for k = 1, #x do roc.atomic.add(o, 1, x[k]) end
    end)
    local x, o = roc.ones(100, "float32"), roc.full(1, 2 ^ 25, "float32")
    kernel:forall(256)(x, o)
    roc.current_device():synchronize()
    assert.equal(2.0 ^ 25, o[1]) -- 2^25 + 1 is rounded to it each time
  end)

  it("are sums and extremes of floats", function()
    local kernel = roc.kernel(function(x, sums, least, most)
      local i = roc.get_global_id(1)
      if i > #x then return end
      local k = i % #sums + 1
      roc.atomic.add(sums, k, x[i])
      roc.atomic.min(least, k, x[i])
      roc.atomic.max(most, k, x[i])
    end)
    for _, dtype in ipairs { "float32", "float64" } do
      local n, m = 900, 7
      local x, want = roc.zeros(n, dtype), { {}, {}, {} }
      for k = 1, m do want[1][k], want[2][k], want[3][k] = 0.0, 1 / 0, 2.0 ^ 20 end
      for i = 1, n do
        local k = i % m + 1
        x[i] = i * 37 % 512 - 100
        want[1][k] = want[1][k] + x[i]
        want[2][k], want[3][k] = math.min(want[2][k], x[i]), math.max(want[3][k], x[i])
      end
      local sums, least, most = roc.zeros(m, dtype), roc.full(m, 1 / 0, dtype),
        roc.full(m, 2 ^ 20, dtype)
      kernel:forall(n)(x, sums, least, most)
      roc.current_device():synchronize()
      assert.same(want, { sums:totable(), least:totable(), most:totable() })
    end
  end)

  it("count in rows and columns, and up to an index that is wrong", function()
    local kernel = roc.kernel(function(x, o)
      local i = roc.get_global_id(1)
      roc.atomic.add(o, { x[i], 2 }, i)
    end)
    local x, o = roc.zeros(300, "int32"), roc.zeros({ 3, 2 }, "int32")
    for i = 1, 300 do x[i] = i == 200 and 9 or i % 3 + 1 end
    x, o = roc.to_device(x), roc.to_device(o)
    assert.error_matches(function()
      kernel:forall(300)(x, o)
      roc.current_device():synchronize()
    end, "index 9 out of range 1..3 of 'o'", 1, true)
    assert.same({ 0, 15150, 0, 14950, 0, 14850 }, o:copy_to_host():reshape(6):totable())
  end)

  it("are right in the elements of two names", function()
    local kernel = roc.kernel(function(a, b)
      roc.atomic.add(a, 2, 1)
      roc.atomic.add(b, 1, 1)
    end)
    local a = roc.zeros(3, "int32")
    kernel:forall(500)(a, a:slice(1, 2, 3))
    roc.current_device():synchronize()
    assert.equal(1000, a[2])
  end)
end)
