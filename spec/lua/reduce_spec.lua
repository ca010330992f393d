-- roc.reduce against plain Lua folds, on every device.
local roc = require "roc"
local check = require("support.asserted").check
local devices = require "support.devices"
local programs = require "support.programs"
local watched = require "support.watched"

local function assert_raises(pattern, f)
  local ok, why = pcall(f)
  assert.is_false(ok)
  assert.matches(pattern, tostring(why))
end

local function add(x, y) return x + y end
local function left(x, _) return x end
local function right(_, y) return y end

-- Associative but not commutative: a and b are digits in base 7 of a map i -> a·i + b, modulo 7.
local function compose(f, g)
  local a, b = f // 7, f % 7
  local c, d = g // 7, g % 7
  return a * c % 7 * 7 + (c * b + d) % 7
end

local function fold(f, a)
  local acc = a[1]
  for i = 2, #a do acc = f(acc, a[i]) end
  return acc
end

devices.each(function(device)
  -- one group; a partial last item; several groups; items with more than their least span
  local sizes = device.kind == "sim" and { 1, 2, 255, 300, 5000 }
    or { 1, 2, 255, 256, 257, 4096, 4097, 100000, 5000011 }

  describe("roc.reduce", function()
    it("combines in the dtype that the function captures at the call", function()
      local dtype = roc.float32
      local sum = roc.reduce(function(a, b) return dtype(a) + dtype(b) end)
      assert.are.equal(roc.float32(0.3), sum(roc.array { 0.1, 0.2 }))
      dtype = roc.float64
      assert.are.equal(0.1 + 0.2, sum(roc.array { 0.1, 0.2 }))
    end)

    it("reads array and captured values anew in each of several calls", function()
      local weight
      local sum = roc.reduce(function(a, b) return a + b + weight end, 5)
      for _, n in ipairs { 100, 5000 } do
        local d = roc.to_device(roc.range(1, n):reshape(2, n // 2))
        for round = 1, 3 do
          weight = round
          local expected = 5 + n * (n + 1) // 2 + n * round
          assert.are.equal(expected, sum(d))
          assert.are.equal(expected - 5, sum(d, { init = 0 }))
        end
        d:close()
        assert_raises("closed", function() sum(d) end)
      end
      for _ = 1, 2 do assert.are.equal(5, sum(roc.array({}, "int64"))) end
    end)

    it("adds up any number of elements", function()
      local sum = roc.reduce(add)
      for _, n in ipairs(sizes) do
        assert.are.equal(n * (n + 1) // 2, sum(roc.range(1, n)))
        assert.are.equal(n * (n + 1) // 2, sum(roc.to_device(roc.range(1, n))))
      end
    end)

    it("keeps the order of the elements", function()
      local first, last, composed = roc.reduce(left), roc.reduce(right), roc.reduce(compose)
      for _, n in ipairs(sizes) do
        local x = roc.range(1, n)
        assert.are.equal(1, first(x))
        assert.are.equal(n, last(x))
        if n <= 5000 then
          for i = 1, n do x[i] = (i * 31 + i // 3) % 49 end
          assert.are.equal(fold(compose, x), composed(x))
        end
      end
    end)

    it("combines in a quicker order when it may", function()
      local sum = roc.reduce(add, nil, { commutative = true })
      for _, n in ipairs(sizes) do
        assert.are.equal(n * (n + 1) // 2, sum(roc.range(1, n)))
        assert.are.equal(n * (n + 1) // 2 - 3, sum(roc.to_device(roc.range(1, n)), { init = -3 }))
      end
    end)

    it("gives the same float in every run, for host and device arrays", function()
      local sum, x = roc.reduce(add), roc.random(5000, "float32")
      local once = sum(x)
      assert.are.equal(once, sum(x))
      assert.are.equal(once, sum(roc.to_device(x)))
      assert.near(fold(add, x:astype("float64")), once, 1e-2)
    end)

    it("combines in the type that elements have in a kernel", function()
      local sum = roc.reduce(add)
      assert.are.equal(300, sum(roc.array({ 100, 100, 100 }, "int8")))
      assert.are.equal(3.0, sum(roc.ones(3, "float16")))
      assert.are.equal("integer", math.type(sum(roc.ones(3, "uint8"))))
      assert.are.equal("float", math.type(sum(roc.ones(3))))
      assert.are.equal(2.0,
        roc.reduce(function(x, y) return x / 2 + y / 2 end)(roc.full(4, 2, "int32")))
      local all = roc.reduce(function(x, y) return x and y end)
      assert.is_true(all(roc.full(1000, true, "bool")))
      assert.is_false(all(roc.zeros(300, "bool")))
    end)

    it("takes views and several dimensions, in C order", function()
      local composed, m = roc.reduce(compose), roc.range(1, 48):reshape(6, 8)
      for i = 1, 6 do for j = 1, 8 do m[i][j] = (8 * i + 5 * j) % 49 end end
      for _, a in ipairs { m, m:transpose(), m:slice(1, 6, 2, -2), m:slice(2, 1, 7, 3) } do
        local expected = fold(compose, a:copy():ravel())
        assert.are.equal(expected, composed(a))
      end
      local d = roc.to_device(m)
      assert.are.equal(fold(compose, m:transpose():copy():ravel()), composed(d:transpose()))
    end)

    it("combines init in front, only when there is one", function()
      local product, first = roc.reduce(function(x, y) return x * y end), roc.reduce(left)
      assert.are.equal(24, product(roc.range(1, 4)))
      assert.are.equal(240, product(roc.range(1, 4), { init = 10 }))
      assert.are.equal(-3.0, roc.reduce(math.max)(roc.array { -5, -3, -4 }))
      assert.are.equal(9, first(roc.range(1, 5000), { init = 9 }))
      local sum = roc.reduce(add, 100)
      assert.are.equal(103.0, sum(roc.ones(3)))
      assert.are.equal(3.0, sum(roc.ones(3), { init = 0 }))
    end)

    it("gives init for an empty array", function()
      assert.are.equal(7.0, roc.reduce(add, 7)(roc.zeros(0)))
      assert.are.equal(8, roc.reduce(add)(roc.zeros({ 3, 0 }, "int32"), { init = 8 }))
      assert.are.equal(false,
        roc.reduce(function(x, y) return x or y end, false)(roc.zeros(0, "bool")))
    end)

    it("writes the result into out, without waiting", function()
      local sum, out = roc.reduce(add), devices.zeros(1, "int32")
      assert.are.equal(out, sum(roc.range(1, 1000), { out = out }))
      assert.are.equal(500500, out[1])
      local s = roc.stream()
      sum(roc.to_device(roc.range(1, 300)), { out = out, stream = s })
      s:synchronize()
      assert.are.equal(45150, out[1])
      local host = roc.zeros({ 1, 1 })
      sum(roc.ones(10), { out = host, init = 5 })
      assert.same({ { 15.0 } }, host:totable())
      sum(roc.zeros(0), { out = host, init = 2 })
      assert.same({ { 2.0 } }, host:totable())
    end)

    it("writes into out at each of several calls of a kind", function()
      local scale = 1
      local sum = roc.reduce(function(a, b) return a + b * scale end, 100)
      local x, outs = roc.to_device(roc.ones(5000, "int32")), {}
      for i = 1, 6 do
        if i == 5 then scale = 0 end
        outs[i] = i % 3 == 0 and devices.zeros({ 1, 1 }, "int32") or devices.zeros(1, "int32")
        assert.are.equal(outs[i], sum(x, { out = outs[i] }))
        if i == 2 then assert.equal(5100, sum(x)) end
      end
      for i = 1, 6 do
        assert.same({ i < 5 and 5100 or 100 }, outs[i]:ravel():copy_to_host():totable())
      end
      for _ = 1, 2 do -- the last of the elements
        local part = x:slice(1, 5000, 5000)
        scale = 1
        sum(x, { out = part })
        assert.equal(5100, part[1])
        part[1] = 1
      end
    end)

    it("reduces along an axis", function()
      local composed, m = roc.reduce(compose), roc.range(1, 24):reshape(2, 3, 4)
      for i = 1, 2 do for j = 1, 3 do for k = 1,
        4 do m[i][j][k] = (8 * i + 5 * j + 3 * k) % 49 end end end
      for axis = 1, 3 do
        for _, a in ipairs { m, roc.to_device(m) } do
          local y = composed(a, { axis = axis, init = 3 })
          local rest = { 2, 3, 4 }
          local extent = table.remove(rest, axis)
          assert.same(rest, y.shape)
          for p = 1, rest[1] do
            for q = 1, rest[2] do
              local acc = 3
              for r = 1, extent do
                local index = { p, q }
                table.insert(index, axis, r)
                acc = compose(acc, m:get(table.unpack(index)))
              end
              assert.are.equal(acc, y:get(p, q))
            end
          end
        end
      end
    end)

    it("reduces along an axis into out, and along empty and only axes", function()
      local sum, m = roc.reduce(add), roc.range(1, 6):reshape(2, 3)
      local out = devices.zeros(3, "int16")
      assert.are.equal(out, sum(m, { axis = 1, out = out }))
      assert.same({ 5, 7, 9 }, devices.table(out))
      sum(roc.to_device(m:astype("int16")):slice(1, 1, 2), { axis = 1, out = out, init = 1 })
      assert.same({ 6, 8, 10 }, devices.table(out))
      assert.same({ 4.0, 4.0 }, sum(roc.zeros { 2, 0 }, { axis = 2, init = 4 }):totable())
      assert.same({ 0 }, sum(roc.zeros { 2, 0 }, { axis = 1 }).shape)
      assert.are.equal(6, sum(roc.range(1, 3), { axis = 1 }))
      assert.same({ 3 }, sum(roc.range(1, 3):reshape(1, 3), { axis = 2, init = -3 }):totable())
    end)

    it("is right after a call that failed, on every stream", function()
      local table_ = roc.to_device(roc.array({ 0 }, "int64"))
      local sum = roc.reduce(function(a, b) return a + b + table_[a + b < 0 and 2 or 1] end)
      local values = roc.ones(20000, "int64")
      local good = roc.to_device(values)
      values[10001] = -1000000
      local bad, streams = roc.to_device(values), { roc.stream(), roc.stream() }
      for round = 1, 3 do
        assert.has_error(function() sum(bad) end)
        assert.equal(20000, sum(good))
        for _, stream in ipairs(streams) do
          local out = roc.device_array(1, "int64")
          sum(round == 2 and bad or good, { out = out, stream = stream })
          local is_fine = pcall(stream.synchronize, stream)
          assert.equal(round ~= 2, is_fine)
          if is_fine then assert.equal(20000, out[1]) end
          -- the second pass may have failed, too, by what the first one left unwritten
          repeat until pcall(stream.synchronize, stream)
        end
      end
    end)

    it("tells what failed in the first of two passes where the result is looked at", function()
      local table_ = roc.to_device(roc.array({ 0 }, "int64"))
      local sum = roc.reduce(function(a, b) return a + b + table_[a + b == 4 and 2 or 1] end)
      local x = roc.to_device(roc.ones(5000, "int64")) -- of two workgroups
      local current = roc.current_device()
      for _, make in ipairs { roc.device_array, roc.empty } do
        local out = make(1, "int64")
        assert_raises("reduce_spec.lua:%d+: index 2 out of range", function()
          sum(x, { out = out })
          return out[1]
        end)
        repeat until pcall(current.synchronize, current) -- the second pass may have failed, too
      end
    end)

    it("reports a failed check with the function's line", function()
      local f = roc.reduce(function(x, y) return x // y end)
      assert_raises("reduce_spec.lua:%d+: attempt to divide by zero",
        function() f(roc.array({ 1, 0 }, "int64")) end)
    end)
  end)
end)

describe("roc.reduce", function()
  it("has no check but those of the function", function()
    local kernels = require "roc.kernel"
    local make, made = kernels.kernel, nil
    kernels.kernel = function(...)
      made = make(...)
      return made
    end
    finally(function() kernels.kernel = make end)
    local support = require "roc.builders.support"
    local is_gpu = support.is_gpu
    finally(function() support.is_gpu = is_gpu end)
    for _, commutative in ipairs { true, false } do
      local sum = roc.reduce(function(a, b) return a + b end, nil, { commutative = commutative })
      assert.are.equal(300, sum(roc.ones(300)))
      assert.is_nil((made:inspect_asm("sm_90"):find("atom.", 1, true))) -- what reports a fault
      support.is_gpu = function() return true end -- in one launch
      assert.are.equal(5000, sum(roc.ones(5000)))
      assert.is_nil((made:inspect_ir():find("check.", 1, true)))
      support.is_gpu = is_gpu
    end
    -- several items of the tree a work-item, of many groups
    local sum = roc.reduce(function(a, b) return a + b end, nil, { commutative = true })
    support.is_gpu = function() return true end
    assert.are.equal(4300001, sum(roc.ones(4300001, "int32")))
    assert.is_nil((made:inspect_ir():find("check.", 1, true)))
    check(made:inspect_asm("sm_90"):find "ld%.global%.v4", 1, "elements are loaded one by one")
    support.is_gpu = is_gpu
    local quotient = roc.reduce(function(a, b) return a + b // (a - b + 1) end)
    quotient(roc.array({ 8, 2 }, "int32"))
    assert.is_truthy((made:inspect_asm("sm_90"):find("atom.", 1, true)))
  end)

  it("has one tree, however many of its items a work-item runs", function()
    local support = require "roc.builders.support"
    local is_gpu = support.is_gpu
    finally(function() support.is_gpu = is_gpu end)
    for _, n in ipairs { 4194304, 4198401, 5000011, 9000002 } do
      local x, sums = roc.random(n, "float32"), {}
      for i = 1, 2 do
        support.is_gpu = function() return i == 2 end
        sums[i] = roc.reduce(function(a, b) return a + b end, nil, { commutative = true })(x)
      end
      assert.are.equal(sums[1], sums[2])
    end
  end)

  it("combines no values of groups that the last workgroup does not have", function()
    if not programs.find("rocr_test") then return pending("ROCR is not installed") end
    local output, status = watched.run("gfx1030", "--check", [[
      local sum = roc.reduce(function(a, b) return a + b end, nil, { commutative = true })
      print(sum(roc.to_device(roc.ones(4198401, "int32"))))]])
    assert.are.equal("4198401\n", output)
    assert.are.equal(0, status)
  end)

  local sum = roc.reduce(add)

  local function it_refuses(title, message, f)
    it("refuses " .. title .. ", at the caller's line", function()
      assert_raises("reduce_spec.lua:%d+: .*" .. message, f)
    end)
  end

  it_refuses("what is no function", "bad argument #1 to 'reduce' %(function expected, got nil%)",
    function() roc.reduce() end)
  it_refuses("a function of three", "function of 2 parameters expected, 'f' has 3",
    function() roc.reduce(function(a, b, c) return a + b + c end, nil, { name = "f" }) end)
  it_refuses("an init of another kind",
    "bad argument #2 to 'reduce' %(number or boolean expected, got string%)",
    function() roc.reduce(add, "0") end)
  it_refuses("an init that the results cannot be",
    "bad option 'init' %(0.5 has no integer representation, and the results are int64%)",
    function() sum(roc.range(1, 2), { init = 0.5 }) end)
  it_refuses("a boolean init of numbers",
    "bad option 'init' %(number expected for results of float64, got boolean%)",
    function() sum(roc.ones(2), { init = true }) end)
  it_refuses("an empty array without init",
    "bad argument #1 to 'add' %(the array is empty, and there is no 'init'%)",
    function() sum(roc.zeros(0)) end)
  it_refuses("an empty axis without init", "there is no 'init'",
    function() sum(roc.zeros { 2, 0 }, { axis = 2 }) end)
  it_refuses("what is no array", "bad argument #1 to 'add' %(array expected, got table; "
      .. "make an array of it: roc.array%(t%)%)",
    function() sum({ 1, 2 }) end)
  it_refuses("an axis out of range",
    "bad option 'axis' of 'add' %(an integer from 1 to 2 expected, got 3%)",
    function() sum(roc.ones { 2, 2 }, { axis = 3 }) end)
  it_refuses("an out of several elements", "array of one element expected, got shape {2}",
    function() sum(roc.ones(2), { out = roc.ones(2) }) end)
  it_refuses("an out that cannot hold the result", "which an array of int32 cannot hold",
    function() sum(roc.ones(2), { out = roc.ones(1, "int32") }) end)
  it_refuses("what is no boolean", "bad option 'commutative' %(boolean expected, got number%)",
    function() roc.reduce(add, nil, { commutative = 0 }) end)
  it_refuses("an unknown option", "unknown option 'dtype'; known are axis, init, out, stream",
    function() sum(roc.ones(2), { dtype = "int32" }) end)
  it_refuses("a function that gives several values", "gives 2 values; it must give one",
    function() roc.reduce(function(x, y) return x, y end)(roc.ones(2)) end)
  it_refuses("a function that gives another type than it takes",
    "gives bool for two elements of float64; it must give what it takes",
    function() roc.reduce(function(x, y) return x < y end)(roc.ones(2)) end)
end)
