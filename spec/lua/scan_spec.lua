-- roc.scan against plain Lua loops, on every device.
local roc = require "roc"
local devices = require "support.devices"

local function assert_raises(pattern, f)
  local ok, why = pcall(f)
  assert.is_false(ok)
  assert.matches(pattern, tostring(why))
end

local function add(x, y) return x + y end

-- Associative but not commutative: a and b are digits in base 7 of a map i -> a·i + b, modulo 7.
local function compose(f, g)
  local a, b = f // 7, f % 7
  local c, d = g // 7, g % 7
  return a * c % 7 * 7 + (c * b + d) % 7
end

-- The scan as a table.
local function expected_scan(f, x, options)
  local acc, y = options.init, {}
  for i, v in ipairs(x) do
    local before = acc
    if acc == nil then acc = v else acc = f(acc, v) end
    y[i] = options.exclusive and before or acc
  end
  return y
end

local function assert_scan(f, x, got, options)
  local expected = expected_scan(f, x, options)
  assert.are.equal(#expected, #got)
  for i, v in ipairs(got) do
    if v ~= expected[i] then assert.are.equal(expected[i], v, "element " .. i) end
  end
end

-- What a scan of floats gives on every device: 8 neighbours an item, 256 items a tile, whose values
-- are combined over distances of 1, 2, 4, …; then the tiles' values the same way.
local function tree_scan(f, x)
  local y, sums = {}, {}
  for first = 0, #x - 1, 2048 do
    local parts = {}
    for from = first, math.min(first + 2048, #x) - 1, 8 do
      local acc = x[from + 1]
      for i = from + 2, math.min(from + 8, #x) do acc = f(acc, x[i]) end
      parts[#parts + 1] = acc
    end
    local distance = 1
    while distance < 256 do
      local next = {}
      for k, v in ipairs(parts) do
        next[k] = k > distance and f(parts[k - distance], v) or v
      end
      parts, distance = next, distance * 2
    end
    sums[#sums + 1] = parts
  end
  local ends = {}
  for tile, parts in ipairs(sums) do ends[tile] = parts[#parts] end
  local carries = #ends > 1 and tree_scan(f, ends)
  for i, v in ipairs(x) do
    local tile, item = (i - 1) // 2048 + 1, (i - 1) % 2048 // 8 + 1
    if (i - 1) % 8 > 0 then
      y[i] = f(y[i - 1], v)
    else
      local before = item > 1 and sums[tile][item - 1]
      local carry = tile > 1 and carries[tile - 1]
      if carry then before = before and f(carry, before) or carry end
      y[i] = before and f(before, v) or v
    end
  end
  return y
end

local CASES = { {}, { init = 5 }, { init = 5, exclusive = true } }

devices.each(function(device)
  -- within a block of 2048 and one of 11520, at their ends, and over more than one block of blocks
  local sizes = device.kind == "sim" and { 1, 7, 9, 2049 }
    or { 1, 7, 8, 9, 2047, 2048, 2049, 11520, 11521, 30000, 2048 * 2048 + 1 }

  describe("roc.scan", function()
    it("reads array and captured values anew in each of several calls, in place too", function()
      local weight
      local function weighted(a, b) return a + b + weight end
      local scan = roc.scan(weighted)
      for _, n in ipairs { 100, 2500 } do -- of one tile, and of two
        local x, y = roc.range(1, n), roc.device_array(n, "int64")
        local d = roc.to_device(x)
        for round = 1, 2 do
          weight, x[2] = round, 10 * round
          d:copy_from_host(x)
          assert.equal(y, scan(d, { out = y }))
          assert_scan(weighted, x, y:copy_to_host(), {})
          assert_scan(weighted, x, scan(d):copy_to_host(), {})
          assert.equal(d, scan(d, { out = d }))
          assert_scan(weighted, x, d:copy_to_host(), {})
        end
        d:close()
        assert_raises("closed", function() scan(d, { out = y }) end)
      end
    end)

    it("gives the running combinations of any number of elements", function()
      local sums = roc.scan(add)
      for _, n in ipairs(sizes) do
        for _, options in ipairs(n < 1000000 and CASES or { CASES[3] }) do
          local y = sums(roc.range(1, n), options)
          local shift, first = options.exclusive and 1 or 0, options.init or 0
          for _, i in ipairs { 1, n // 3 + 1, n // 2 + 1, n } do
            local last = i - shift
            assert.are.equal(first + last * (last + 1) // 2, y[i])
          end
        end
      end
    end)

    it("tells what failed on the way to results that are looked at #unwritten", function()
      local n, table_ = 2048 * 10 + 1, roc.to_device(roc.array({ 0 }, "int64"))
      -- fails for the sums of two tiles alone, which are not the first
      local sums = roc.scan(function(a, b)
        return a + b + table_[a == 2048 and b == 2048 and 2 or 1]
      end)
      local x = roc.ones(n, "int64")
      x[1] = -n
      local d, pattern = roc.to_device(x), "scan_spec.lua:%d+: index 2 out of range"
      local current = roc.current_device()
      local function assert_fails(f)
        assert_raises(pattern, f)
        repeat until pcall(current.synchronize, current) -- later phases may have failed, too
      end
      assert_fails(function() sums(x) end)
      assert_fails(function() return sums(d)[n] end)
      for _, out in ipairs { roc.device_array(n, "float64"), roc.empty(n, "int64") } do
        assert_fails(function()
          sums(d, { out = out })
          return out[n]
        end)
      end
    end)

    it("keeps the order of the elements", function()
      local scan, t = roc.scan(compose), {}
      for i = 1, 2100 do t[i] = (i * 31 + i // 3) % 49 end
      for _, options in ipairs(CASES) do
        assert_scan(compose, t, scan(roc.array(t, "int64"), options):totable(), options)
        assert_scan(compose, t, devices.table(scan(devices.values(t, "int64"), options)), options)
      end
    end)

    it("combines floats in one tree, whatever the device", function()
      local function mix(x, y) return x * 0.75 + y end -- shows where something else is combined
      local scan = roc.scan(mix, { contract = false })
      for _, n in ipairs { 2045, 3 * 2048, 9 * 2048 + 13 } do
        local t = {}
        for i = 1, n do t[i] = (i * 37 % 101) / 8 end
        local got = devices.table(scan(devices.values(t, "float64")))
        assert.are.equal(n, #got)
        for i, v in ipairs(tree_scan(mix, t)) do
          if v ~= got[i] then assert.are.equal(v, got[i], ("element %d of %d"):format(i, n)) end
        end
      end
    end)

    it("combines in the type that elements have in a kernel", function()
      local y = roc.scan(add)(roc.array({ 100, 100, 100 }, "int8"))
      assert.are.equal(roc.int64, y.dtype)
      assert.same({ 100, 200, 300 }, y:totable())
      assert.are.equal(roc.float32, roc.scan(add)(roc.ones(2, "float16")).dtype)
      local any = roc.scan(function(x, z) return x or z end)
      assert.same({ false, true, true }, any(roc.array { false, true, false }):totable())
      assert.same({ true, true }, any(roc.zeros(2, "bool"), { init = true }):totable())
    end)

    it("takes views", function()
      local m = roc.range(1, 12):reshape(3, 4)
      for _, a in ipairs { m, roc.to_device(m) } do
        local y = roc.scan(add)(a:transpose()[2]:slice(1, 3, 1, -1))
        assert.same({ 10, 16, 18 }, y.device and devices.table(y) or y:totable())
      end
    end)

    it("writes into out, and over its argument", function()
      local sums = roc.scan(add)
      for _, make in ipairs { roc.array, devices.values } do
        local x = make({ 1, 2, 3, 4 }, "int64")
        assert.are.equal(x, sums(x, { out = x }))
        local out = make({ 0, 0, 0, 0 }, "float32")
        sums(x, { out = out, exclusive = true, init = 0.0 })
        sums(x:slice(1, 1, 3), { out = x:slice(1, 2, 4) })
        local function values(a) return make == roc.array and a:totable() or devices.table(a) end
        assert.same({ 1, 1, 4, 10 }, values(x))
        assert.same({ 0.0, 1.0, 4.0, 10.0 }, values(out))
      end
    end)

    it("rounds once into a narrower out", function()
      local t, out = {}, roc.zeros(3000, "int8")
      for i = 1, 3000 do t[i] = i % 100 end
      roc.scan(math.max)(roc.array(t, "int64"), { out = out, init = 120 })
      assert.are.equal(120, out[3000])
      local longest = roc.zeros(3000, "uint8")
      roc.scan(function(x, y) return math.max(x, y) end)(roc.range(1, 3000), { out = longest })
      assert.are.equal(3000 & 255, longest[3000])
    end)

    it("gives an empty array for an empty one", function()
      assert.are.equal(0, #roc.scan(add)(roc.zeros(0)))
      assert.are.equal(0, #roc.scan(add)(devices.zeros(0), { exclusive = true, init = 1 }))
    end)

    it("works on a stream", function()
      local s = roc.stream()
      local y = roc.scan(add)(devices.values({ 1, 2, 3 }, "int64"), { stream = s })
      s:synchronize()
      assert.same({ 1, 3, 6 }, devices.table(y))
    end)
  end)
end)

describe("roc.scan", function()
  local sums = roc.scan(add)

  local function it_refuses(title, message, f)
    it("refuses " .. title .. ", at the caller's line", function()
      assert_raises("scan_spec.lua:%d+: .*" .. message, f)
    end)
  end

  it_refuses("what is no function", "bad argument #1 to 'scan' %(function expected, got nil%)",
    function() roc.scan() end)
  it_refuses("a function of one", "function of 2 parameters expected",
    function() roc.scan(function(x) return x end) end)
  it_refuses("an exclusive scan without init", "bad option 'exclusive' of 'add' %(it needs 'init'",
    function() sums(roc.ones(2), { exclusive = true }) end)
  it_refuses("several dimensions", "array of 1 dimension expected, got shape {2, 2}; a:ravel%(%)",
    function() sums(roc.ones { 2, 2 }) end)
  it_refuses("what is no array", "array expected, got number", function() sums(1) end)
  it_refuses("an out of another shape", "array of shape {2} expected, got {3}",
    function() sums(roc.ones(2), { out = roc.ones(3) }) end)
  it_refuses("an out that cannot hold the result", "which an array of int32 cannot hold",
    function() sums(roc.ones(2), { out = roc.ones(2, "int32") }) end)
  it_refuses("an init that the results cannot be", "has no integer representation",
    function() sums(roc.range(1, 2), { init = 1.5 }) end)
  it_refuses("what is no boolean", "bad option 'exclusive' %(boolean expected, got number%)",
    function() roc.scan(add)(roc.ones(2), { exclusive = 0, init = 1 }) end)
  it_refuses("an unknown option", "unknown option 'axis'; known are exclusive, init, out, stream",
    function() sums(roc.ones(2), { axis = 1 }) end)
end)
