-- Statements: control flow means what it means in Lua.
local roc = require "roc"
local devices = require "support.devices"

-- Runs `body` (a kernel text writing to `out`, an int64 array) for work-items 1 … n and compares
-- with Lua's own run of it.
local function check(body, n, extent)
  n, extent = n or 12, extent or 64
  local text = ("function(i, out) %s end"):format(body)
  local k =
    devices.kernel(
    ("function(out) local f = f f(roc.get_global_id(1), out[roc.get_global_id(1)]) end"):gsub(
    "local f = f ", ""),
    {
      env = { roc = roc, math = math,
      f = assert(load("return " .. text, "return " .. text, "t", { roc = roc, math = math }))() } })
  local reference = load("return " .. text, "=reference", "t", { math = math, roc = roc })()
  local out = devices.zeros({ n, extent }, "int64")
  devices.run(k, n, { out })
  local got = devices.table(out)
  for i = 1, n do
    local expected = {}
    for j = 1, extent do
      expected[j] = 0
    end
    reference(i, expected)
    assert.same(expected, got[i])
  end
end

devices.each(function()
  it("runs if, elseif and else", function()
    check [[
      if i < 3 then out[1] = 1
      elseif i < 6 then out[1] = 2
      elseif i == 7 then out[1] = 3
      else out[1] = 4 end]]
  end)

  -- The first result is the same for all items, the second is not.
  it("gives several variables one large constant", function()
    for _, constant in ipairs { math.maxinteger, -100, 1 << 40, 0.1 } do
      local is_float = math.type(constant) == "float"
      local dtype = is_float and "float64" or "int64"
      local k = devices.kernel(([[function(n, x, out)
        local i = roc.get_global_id(1)
        local a, b = %s, %s
        if not math.ult(n %% 5 + 1, 4) then a, b = n + %s, x[(i + 1) %% #x + 1] end
        out[i][2] = a
        out[i][3] = b
      end]]):format(constant, constant, is_float and "0.0" or "0"))
      local x, out = devices.values({ 7, 8 }, dtype), devices.zeros({ 2, 3 }, dtype)
      for _, n in ipairs { 5 << 40, (5 << 40) + 4 } do
        devices.run(k, 2, { n, x, out })
        local a, b = constant, constant
        if n % 5 == 4 then a, b = is_float and n + 0.0 or n, 7 end
        assert.same({ 0, a, b }, devices.table(out)[1])
      end
    end
  end)

  it("runs while, repeat and break", function()
    check [[
      local k = 0
      while k < i do k = k + 1 if k == 5 then break end out[k] = k * i end
      repeat local m = k + 1 k = m out[20] = out[20] + m until m >= i + 3
    ]]
  end)

  it("runs numeric loops of every direction", function()
    check [[
      for k = 1, i do out[k] = k end
      for k = i, 1, -2 do out[20 + k] = k end
      for k = 5, 1 do out[40] = 99 end
      for k = -3, 3, 3 do out[44 + k] = out[44 + k] + 1 end
    ]]
  end)

  it("ends loops at the ends of the integers", function()
    check [[
      for k = math.maxinteger - 2, math.maxinteger do out[1] = out[1] + 1 end
      for k = math.mininteger + 1, math.mininteger, -1 do out[2] = out[2] + 1 end
      for k = math.maxinteger - 1, math.maxinteger, 2 do out[3] = out[3] + 1 end
      for k = 1, 3.9 do out[4] = out[4] + k end
      for k = 3, 0.5, -1 do out[5] = out[5] + k end
      for k = 1, math.huge do if k > 4 then break end out[6] = out[6] + k end
      for k = 1, -math.huge do out[7] = 1 end
      for k = math.mininteger, -1e300 do out[8] = 1 end
      for k = math.maxinteger, 0x1p63, -1 do out[9] = 1 end
      for k = math.mininteger, -0x1p63 do out[10] = 1 end
    ]]
  end)

  it("goes through all integers", function()
    check [[
      for k = math.mininteger, math.maxinteger do
        if out[1] == 5 then break end
        out[1] = out[1] + 1
      end
      for k = math.maxinteger, math.mininteger, -1 do
        if out[2] == 5 then break end
        out[2] = out[2] + 1
      end
    ]]
    local k = roc.kernel(function(least, most, step, low, out)
      for _ = least, most, step do
        out[1] = out[1] + 1
        if out[1] == 5 then break end
      end
      for _ = most, least, -step do
        out[2] = out[2] + 1
        if out[2] == 5 then break end
      end
      for _ = least, low, step do out[3] = out[3] + 1 end
      for _ = most, -low, -step do out[4] = out[4] + 1 end
    end)
    local out = devices.zeros(4, "int64")
    devices.run(k, 1, { math.mininteger, math.maxinteger, 1, -1e300, out })
    assert.same({ 5, 5, 0, 0 }, devices.table(out))
  end)

  it("keeps each item's own step of a loop where a goto told the items apart", function()
    local k = roc.kernel(function(x, out)
      local i, step, sum = roc.get_global_id(1), 0, 0
      while true do
        step = step + 1
        if step >= i then goto known end
      end
      ::known::
      for j = 1, 100, step do sum = sum + x[j] end
      out[i] = sum
    end)
    local out, expected = devices.zeros(8, "int64"), {}
    for i = 1, 8 do
      expected[i] = 0
      for j = 1, 100, i do expected[i] = expected[i] + j end
    end
    devices.run(k, 8, { devices.values(roc.range(1, 100):totable(), "int64"), out })
    assert.same(expected, devices.table(out))
  end)

  it("runs float loops", function()
    check [[
      for x = 0.0, 1.0, 0.25 do out[1] = out[1] + math.floor(x * 4) end
      for x = 1.0, 0.0, -0.5 do out[2] = out[2] + 1 end
      for x = 1, 2, 0.5 do out[3] = out[3] + 1 end
    ]]
  end)

  it("does not see assignments to the loop variable in the count", function()
    check "for k = 1, 4 do out[k] = k k = k + 10 out[10] = k end"
  end)

  it("skips by goto continue and leaves nested loops by goto", function()
    check [[
      for k = 1, 8 do
        if k % 2 == 0 then goto continue end
        out[k] = k
        ::continue::
      end
      for a = 1, 4 do
        for b = 1, 4 do
          if a * b == i then goto done end
          out[20 + a] = out[20 + a] + b
        end
      end
      ::done::
      out[30] = 1
    ]]
  end)

  -- Loops of few rounds in one another become these rounds.
  it("leaves the inner of two loops whose rounds constants count", function()
    check [[
      for a = 1, 3 do
        out[a] = a
        for b = 1, 2 do
          if i * b > 7 then break end
          out[a * 2 + 8 + b] = i + b
        end
      end]]
  end)

  it("assigns several values at once", function()
    check [[
      local a, b, c = i, i * 2
      c = 0
      a, b = b, a
      out[1], out[2], out[3] = a, b, c
      out[1], out[2] = out[2], out[1]
      local x, y = 1
      y = 5
      out[4] = x + y
    ]]
  end)

  it("short-circuits", function()
    check [[
      local n = 0
      if i > 4 and 10 // (i - 4) > 2 then n = 1 end
      if i == 4 or 12 // (i - 4) < 3 then n = n + 2 end
      out[1] = n
      out[2] = i > 5 and 7 or 8
      out[3] = (i > 5 and i < 9) and (i == 7 and 1 or 2) or 3
      local flag = i > 3 or i == 1
      out[4] = flag and 1 or 0
      out[5] = (not flag) and 1 or 0
    ]]
  end)

  it("scopes locals by block", function()
    check [[
      local x = 1
      do local x = 2 out[1] = x end
      out[2] = x
      for x = 7, 7 do out[3] = x end
      out[4] = x
      local x = x + 1
      out[5] = x
    ]]
  end)

  it("returns early", function()
    check "if i > 5 then return end out[1] = i if i > 3 then out[2] = 1 return end out[3] = 1"
  end)

  it("calls functions with several results", function()
    local function divide(a, b)
      if b == 0 then
        return 0, a
      end
      return a // b, a % b
    end
    local function twice(x) return x, x end
    local k = roc.kernel(function(out)
      local i = roc.get_global_id(1)
      local q, r = divide(17, i - 1)
      local a, b, c = i, twice(q)
      out[i][1], out[i][2], out[i][3] = q, r, a + b + c
      out[i][4] = (divide(i, 2))
    end)
    local out = devices.zeros({ 5, 4 }, "int64")
    devices.run(k, 5, { out })
    local got = devices.table(out)
    for i = 1, 5 do
      local q, r = divide(17, i - 1)
      assert.same({ q, r, i + 2 * q, i // 2 }, got[i])
    end
  end)

  it("converts each of a call's results to what takes it", function()
    local function two(n) return n * 0.5, n * 0.25 end
    local function both(n) return n, n * 0.25 + 100 end
    local function either(n, x, out)
      if n < 0 then return out[1], x[1], out[1] end
      return 1.0, two(n)
    end
    local k = roc.kernel(function(x, d, out)
      local i = roc.get_global_id(1)
      local a, b = two(i)
      a = a + x[i]
      local p, q, r = either(i, x, d)
      out[1], out[2], out[3] = a + b, math.max(both(i)), p + q + r
      local e, f, g = 0.5, x[1], x[1]
      e, f, g = e, two(i)
      out[4] = e + f + g
    end)
    local out = devices.zeros(4, "float64")
    local x = devices.values({ 1.5 }, "float32")
    devices.run(k, 1, { x, devices.zeros(1, "float64"), out })
    assert.same({ 2.25, 100.25, 1.75, 1.25 }, devices.table(out))
  end)

  it("takes functions by value, in locals and through tables", function()
    local gid = roc.get_global_id
    local helpers = { deep = { square = function(x) return x * x end } }
    local k = roc.kernel(function(out)
      local i = gid(1)
      local square = helpers.deep.square
      local m = math
      out[i] = square(i) + m.max(i, 3)
    end)
    local out = devices.zeros(6, "int64")
    devices.run(k, 6, { out })
    for i = 1, 6 do
      assert.equal(i * i + math.max(i, 3), out[i])
    end
  end)

  it("counts integers across more than half of their range", function()
    local k = roc.kernel(function(out)
      local i, j = roc.get_global_id(1), 1
      for n = math.mininteger, math.maxinteger, math.maxinteger do
        out[i][j] = n
        j = j + 1
      end
    end)
    local out = devices.zeros({ 8, 4 }, "int64")
    devices.run(k, 8, { out })
    for _, row in ipairs(devices.table(out)) do
      assert.same({ math.mininteger, -1, math.maxinteger - 1, 0 }, row)
    end
  end)

  it("compares with a sum that wraps, in a loop that compared the difference", function()
    local k = roc.kernel(function(x, out, p, q)
      local low, size = p & math.maxinteger, q & math.maxinteger
      for i = 1, #x do
        local v = x[i] & math.maxinteger
        if v >= low then
          out[i] = 3
          if v - low < size then
            out[i] = v < low + size and 1 or 2
          end
        end
      end
    end)
    local out = devices.zeros(4, "int64")
    devices.run(k, 1, { devices.values({ 1, 2, 3, 4 }, "int64"), out, 1, math.maxinteger })
    assert.same({ 2, 2, 2, 2 }, devices.table(out))
  end)

  it("runs a float loop once when its limit or its start is no number", function()
    local k = roc.kernel(function(nan, out)
      for v = 0.5, nan do out[1] = out[1] + v end
      for _ = nan, 1.0, -1.0 do out[2] = out[2] + 1.0 end
      for _ = 2, nan do out[3] = 1.0 end
      for v = 0.5, nan do
        if v > 0 then break end
        out[4] = 1.0
      end
    end)
    local out = devices.zeros(4, "float64")
    devices.run(k, 1, { 0 / 0, out })
    assert.same({ 0.5, 1.0, 0.0, 0.0 }, devices.table(out))
  end)

  it("runs a float loop as one that counts down when its step is no number", function()
    local k = roc.kernel(function(x, out)
      for i = 1, #out do
        for _ = x[i], x[i + 1], x[4] do out[i] = out[i] + 1 end
      end
    end)
    for _, dtype in ipairs { "float32", "float64" } do
      local out = devices.zeros(2, "int64")
      devices.run(k, 1, { devices.values({ 1, 5, 1, 0 / 0 }, dtype), out })
      assert.same({ 0, 1 }, devices.table(out))
    end
  end)

  -- A loop cut off after three rounds: how many it ran, and the sum of the values.
  local LOOP = [[do
    local rounds, sum = 0, 0.0
    for v = %s, %s, %s do
      rounds, sum = rounds + 1, sum + v
      if rounds == 3 then break end
    end
    out[%d], out[%d] = rounds, sum
  end
  ]]

  -- Runs `count` such loops in a kernel and in Lua.
  local function compare_loops(params, loops, count, ...)
    local text = ("function(%s) %s end"):format(params, table.concat(loops))
    local reference, expected = assert(load("return " .. text, "=reference", "t", {}))(), {}
    reference(expected, ...)
    local out = devices.zeros(2 * count, "float64")
    devices.run(devices.kernel(text), 1, { out, ... }, 1)
    local got = devices.table(out)
    for i = 1, 2 * count do
      if not devices.same(expected[i] + 0.0, got[i]) then
        assert.equal(expected[i] + 0.0, got[i], loops[(i + 1) // 2])
      end
    end
  end

  it("runs loops whose constants are no number or infinite as often as Lua", function()
    local loops, count = {}, 0
    local numbers = { "(0/0)", "(1/0)", "(-1/0)", "2", "-2", "1.5", "-1.5" }
    for _, first in ipairs(numbers) do
      for _, last in ipairs(numbers) do
        for _, step in ipairs(numbers) do
          count = count + 1
          loops[count] = LOOP:format(first, last, step, 2 * count - 1, 2 * count)
        end
      end
    end
    compare_loops("out", loops, count)
  end)

  it("runs loops whose bounds turn out to be no number or infinite as often as Lua", function()
    local numbers = { 0 / 0, math.huge, -math.huge, 2, -2, 1.5, -1.5 }
    local loops, steps = {}, { "s", "-s", "n", "-n", "1", "-1", "0.5", "-0.5" }
    for i, step in ipairs(steps) do
      loops[i] = LOOP:format("a", "b", step, 2 * i - 1, 2 * i)
    end
    for _, first in ipairs(numbers) do
      for _, last in ipairs(numbers) do
        compare_loops("out, a, b, s, n", loops, #steps, first, last, 1.5, 2)
        compare_loops("out, a, b, s, n", loops, #steps, first, last, 0 / 0, -2)
      end
    end
  end)

  it("mixes a private array's elements in a loop", function()
    local k = roc.kernel(function(out, x, n)
      local mixed = roc.private.array(16, "int32")
      for i = 1, 16 do mixed[i] = 0 end
      for i = 0, n - 1 do mixed[(i & 15) + 1] = mixed[(i & 15) + 1] ~ x[i + 1] end
      for i = 1, 16 do out[i] = mixed[i] end
    end, { check = false })
    local x, expected = {}, {}
    for i = 1, 67 do x[i] = i * 7 % 256 end
    for i = 1, 16 do expected[i] = 0 end
    for i = 0, 66 do expected[i % 16 + 1] = expected[i % 16 + 1] ~ x[i + 1] end
    local out = devices.zeros(16, "uint8")
    devices.run(k, 1, { out, devices.values(x, "uint8"), 67 })
    assert.same(expected, devices.table(out))
  end)

  it("passes arrays and row views to functions", function()
    local function sum(row)
      local total = 0.0
      for j = 1, #row do
        total = total + row[j]
      end
      return total
    end
    local k = roc.kernel(function(m, out)
      local i = roc.get_global_id(1)
      out[i] = sum(m[i])
    end)
    local out = devices.zeros(3, "float64")
    devices.run(k, 3, { devices.values({ { 1, 2 }, { 3, 4 }, { 5, 6.5 } }, "float64"), out })
    assert.same({ 3.0, 7.0, 11.5 }, devices.table(out))
  end)

  it("counts to the ends of the bounds' type", function()
    local k = roc.kernel(function(bounds, ups, downs)
      local i = roc.get_global_id(1)
      local up, down = 0, 0
      for v = bounds[i][1] + 1, bounds[i][2] do up = up * 3 + v end
      for v = bounds[i][2], bounds[i][1] + 1, -1 do down = down * 3 + v end
      ups[i], downs[i] = up, down
    end)
    local most <const> = 2147483647
    local bounds = { { most - 3, most }, { -most - 1, -most + 1 }, { -3, 2 }, { most, most },
      { most, -most - 1 }, { 5, 5 }, { 4, 5 } }
    local ups, downs = {}, {}
    for i, b in ipairs(bounds) do
      ups[i], downs[i] = 0, 0
      for v = b[1] + 1, b[2] do ups[i] = ups[i] * 3 + v end
      for v = b[2], b[1] + 1, -1 do downs[i] = downs[i] * 3 + v end
    end
    local a, b = devices.zeros(#bounds, "int64"), devices.zeros(#bounds, "int64")
    devices.run(k, #bounds, { devices.values(bounds, "int32"), a, b })
    assert.same(ups, devices.table(a))
    assert.same(downs, devices.table(b))
  end)
end)
