-- Kernels with several checks in a row, which GPUs decide together (ir/combined_checks.h): what a
-- wrong index reports, what was done in front of it, and what other work-items do stays.
local roc = require "roc"
local devices = require "support.devices"

local N <const> = 100

local function upto(n)
  local t = {}
  for i = 1, n do t[i] = i end
  return t
end

-- The message of the fault, false where there is none.
local function run(k, n, args)
  local ok, message = pcall(devices.run, k, n, args, 64)
  return not ok and tostring(message)
end

devices.each(function()
  local scatter = roc.kernel(function(x, y, z, p, q)
    local i = roc.get_global_id(1)
    if i <= #z then
      x[p[i]] = i
      y[q[i]] = i
      z[i] = x[p[i]] + y[q[i]]
    end
  end)

  -- Work-item `wrong` gets the two indices.
  local function check_scatter(wrong, p_of_wrong, q_of_wrong, expected)
    local p, q = upto(N), upto(N)
    if wrong then p[wrong], q[wrong] = p_of_wrong, q_of_wrong end
    local x, y, z = devices.zeros(N, "int32"), devices.zeros(N, "int32"), devices.zeros(N, "int32")
    local message = run(scatter, 128, { x, y, z, devices.values(p, "int64"),
      devices.values(q, "int64") })
    if expected then
      assert.matches(expected .. " (work-item {" .. wrong .. "})", message, 1, true)
    else
      assert.is_false(message)
    end
    local is_first_right = wrong and p_of_wrong == wrong
    x, y, z = devices.table(x), devices.table(y), devices.table(z)
    for i = 1, N do
      local is_right = i ~= wrong
      assert.equal((is_right or is_first_right) and i or 0, x[i])
      assert.equal(is_right and i or 0, y[i])
      assert.equal(is_right and 2 * i or 0, z[i])
    end
  end

  it("does all where every index is right", function() check_scatter() end)

  it("reports the check that stands first, after what stands in front of it", function()
    for _, wrong in ipairs { 1, 33, 64, 65, N } do
      check_scatter(wrong, wrong, N + 1, "index 101 out of range 1..100 of 'y'")
      check_scatter(wrong, 0, N + 1, "index 0 out of range 1..100 of 'x'")
    end
    check_scatter(7, 7, math.mininteger, "index -9223372036854775808 out of range 1..100 of 'y'")
    check_scatter(7, 7, 5 + (1 << 32), "index 4294967301 out of range 1..100 of 'y'")
    check_scatter(7, math.maxinteger, 7, "index 9223372036854775807 out of range 1..100 of 'x'")
  end)

  it("counts the work-items that fail, whichever check it is", function()
    local p, q = upto(N), upto(N)
    for i = 10, 90, 10 do p[i] = 0 end
    for i = 5, 95, 10 do q[i] = 0 end
    local x, y, z = devices.zeros(N, "int32"), devices.zeros(N, "int32"), devices.zeros(N, "int32")
    local message = run(scatter, 128, { x, y, z, devices.values(p, "int64"),
      devices.values(q, "int64") })
    assert.matches("and 18 more)", message, 1, true)
    x, y, z = devices.table(x), devices.table(y), devices.table(z)
    for i = 1, N do
      assert.equal((i % 10 ~= 0 or i == N) and i or 0, x[i])
      assert.equal((i % 5 ~= 0 or i == N) and i or 0, y[i])
      assert.equal((i % 5 ~= 0 or i == N) and 2 * i or 0, z[i])
    end
  end)

  it("tells which neighbour of a point between elements is none", function()
    local k = roc.kernel(function(q, xs, ys, out)
      local i = roc.get_global_id(1)
      if i > #out then return end
      local x, y = xs[i], ys[i]
      local x0, y0 = math.floor(x), math.floor(y)
      local top = q[y0][x0] + (x - x0) * (q[y0][x0 + 1] - q[y0][x0])
      local low = q[y0 + 1][x0] + (x - x0) * (q[y0 + 1][x0 + 1] - q[y0 + 1][x0])
      out[i] = top + (y - y0) * (low - top)
    end)
    local q = {}
    for y = 1, 8 do
      q[y] = {}
      for x = 1, 12 do q[y][x] = 16 * y + x end
    end
    local function sample(at, x, y)
      local xs, ys = {}, {}
      for i = 1, N do xs[i], ys[i] = 1 + i % 11 + 0.25, 1 + i % 7 + 0.5 end
      if at then xs[at], ys[at] = x, y end
      local out = devices.zeros(N, "float32")
      local message = run(k, 128, { devices.values(q, "float32"), devices.values(xs, "float32"),
        devices.values(ys, "float32"), out })
      out = devices.table(out)
      for i = 1, N do
        assert.equal(i == at and 0.0 or 16 * ys[i] + xs[i], out[i])
      end
      return message
    end
    assert.is_false(sample())
    assert.matches("index 0 out of range 1..12 of 'q' (dimension 2)", sample(3, 0.5, 1.5), 1, true)
    assert.matches("index 13 out of range 1..12 of 'q' (dimension 2)", sample(40, 12.5, 1.5), 1,
      true)
    assert.matches("index 9 out of range 1..8 of 'q' (dimension 1)", sample(70, 1.5, 8.5), 1, true)
    assert.matches("index -1 out of range 1..8 of 'q' (dimension 1)", sample(99, 13.5, -0.5), 1,
      true)
    for _, wrong in ipairs { 0 / 0, 1 / 0, -1e30 } do
      assert.matches("(work-item {9}", sample(9, wrong, 99.0), 1, true)
    end
  end)

  it("follows indices that come out of memory, loop by loop", function()
    local k = roc.kernel(function(first, next, values, sums)
      local i = roc.get_global_id(1)
      if i > #sums then return end
      local at, sum = first[i], 0
      while at ~= 0 do
        sum = sum + values[at]
        at = next[at]
        sums[i] = sum
      end
    end)
    local function follow(broken, link)
      local first, next, values = {}, {}, {}
      for i = 1, N do first[i], next[i], values[i] = i, i > 10 and i - 10 or 0, i end
      if broken then next[broken] = link end
      local sums = devices.zeros(N, "int32")
      local message = run(k, 128, { devices.values(first, "int32"), devices.values(next, "int32"),
        devices.values(values, "int32"), sums })
      sums = devices.table(sums)
      for i = 1, N do
        local expected, at = 0, i
        while at >= 1 and at <= N do expected, at = expected + values[at], next[at] end
        assert.equal(expected, sums[i])
      end
      return message
    end
    assert.is_false(follow())
    assert.matches("index 101 out of range 1..100 of 'values' (work-item {95})", follow(95, 101), 1,
      true)
    assert.matches("index -3 out of range 1..100 of 'values'", follow(42, -3), 1, true)
  end)

  it("asks for no index that is not reached", function()
    local k = roc.kernel(function(x, y, p, out)
      local i = roc.get_global_id(1)
      if i <= #out then
        local a = x[p[i]]
        if a < 0 then
          out[i] = -1
          return
        end
        local b = y[p[i] + 50]
        out[i] = a + b
      end
    end)
    local x, p = {}, upto(N)
    for i = 1, N do x[i] = i > 50 and -1 or i end
    local out = devices.zeros(N, "int32")
    assert.is_false(run(k, 128, { devices.values(x, "int32"), devices.values(upto(N), "int32"),
      devices.values(p, "int32"), out }))
    for i, value in ipairs(devices.table(out)) do
      assert.equal(i > 50 and -1 or 2 * i + 50, value)
    end
  end)

  it("asks for what a condition guards where it holds", function()
    local k = roc.kernel(function(words, first, out, width)
      local i = roc.get_global_id(1)
      if i <= #out then
        local at = first[i]
        local word, shift = at >> 5, at & 31
        local v = words[word + 1] >> shift
        if shift + width > 32 then
          v = v | words[word + 2] << 32 - shift
        else
          out[i] = words[word + 1 - width]
        end
        out[i] = v & (1 << width) - 1
      end
    end)
    local words = { 0, 0, 0, 0x89abcdef, 0x01234567 }
    local function expected(at)
      local word, shift = at >> 5, at & 31
      local both = words[word + 1] | (words[word + 2] or 0) << 32
      return both >> shift & 15
    end
    for _, last in ipairs { 150, 156, 157, 159, 128 } do
      local places, results = {}, {}
      for i = 1, N do places[i] = i < N and 128 + i % 20 or last end
      for i, at in ipairs(places) do results[i] = expected(at) end
      local out = devices.zeros(N, "int32")
      local message = run(k, 128, { devices.values(words, "uint32"),
        devices.values(places, "int64"), out, 4 })
      if last > 156 then
        assert.matches("index 6 out of range 1..5 of 'words' (work-item {" .. N .. "})", message, 1,
          true)
        results[N] = 0
      else
        assert.is_false(message)
      end
      assert.same(results, devices.table(out))
    end
  end)

  it("keeps what is stored last, where both ways store it", function()
    local k = roc.kernel(function(a, out)
      local i = roc.get_global_id(1)
      local first = a[1 % #a + 1]
      for _ = 1, 3, math.maxinteger do
        out[i] = out[i]
        out[i] = 1
      end
    end, { number = "float64" })
    local out = devices.zeros(1, "uint32")
    assert.is_false(run(k, 1, { devices.values({ 0.5 }, "float64"), out }))
    assert.same({ 1 }, devices.table(out))
  end)
end)
