-- Indices that come out of memory, in straight code, in loops, and beside barriers: on `cpu` they
-- are checked for a whole workgroup before it runs (codegen/cpu/inspector.c). What a wrong one
-- reports and what is done in spite of it is as on `sim`, for each place and kind of wrong index.
local roc = require "roc"
local devices = require "support.devices"

local N <const> = 200
local GROUP <const> = 64

-- What the kernel leaves in its first argument, and the message of its fault, or false. Arguments
-- are numbers, and arrays as { elements, dtype }.
local function run(k, arrays)
  local args = {}
  for n, a in ipairs(arrays) do
    args[n] = type(a) == "table" and devices.values(a[1], a[2]) or a
  end
  local ok, message = pcall(devices.run, k, N, args, GROUP)
  message = not ok and tostring(message)
  return devices.table(args[1]), message and message:match "index.*$" or message
end

local function run_on_sim(k, arrays)
  local scope <close> = roc.on_device "sim"
  return run(k, arrays)
end

local function check(k, arrays, expected)
  local result, message = run(k, arrays)
  local sim_result, sim_message = run_on_sim(k, arrays)
  assert.same(sim_result, result)
  assert.equal(sim_message, message)
  if expected then assert.matches(expected, message, 1, true) else assert.is_false(message) end
end

local function fill(n, f)
  local t = {}
  for i = 1, n do t[i] = f(i) end
  return t
end

local function zeros(n) return fill(n, function() return 0 end) end

-- A permutation of 1 … N, with `value` at `place`.
local function indices(place, value, dtype)
  local t = fill(N, function(i) return i * 77 % N + 1 end)
  if place then t[place] = value end
  return { t, dtype or "int32" }
end

local function ramp(n) return { fill(n, function(i) return i * 10 end), "int32" } end

devices.each(function()
  local gather = roc.kernel(function(o, x, idx)
    local i = roc.get_global_id(1)
    if i > #o then return end
    o[i] = x[idx[i]] + 1
  end)

  it("gathers", function()
    check(gather, { { zeros(N), "int32" }, ramp(N), indices() })
    check(gather, { { zeros(N), "int32" }, ramp(N), indices(nil, nil, "int64") })
    check(gather, { { zeros(N - 3), "int32" }, ramp(N), indices(N, -5) }) -- which no item reads
  end)

  it("reports a wrong index wherever it stands", function()
    for _, place in ipairs { 1, GROUP, GROUP + 1, N } do
      for _, value in ipairs { 0, N + 1, -1, math.maxinteger >> 32, -(1 << 31) } do
        check(gather, { { zeros(N), "int32" }, ramp(N), indices(place, value) },
          ("index %d out of range 1..200 of 'x' (work-item {%d})"):format(value, place))
      end
    end
    for _, value in ipairs { 1 + (1 << 32), math.mininteger, math.maxinteger } do
      check(gather, { { zeros(N), "int32" }, ramp(N), indices(7, value, "int64") },
        ("index %d out of range 1..200 of 'x' (work-item {7})"):format(value))
    end
  end)

  it("adds to what it reads without losing the sign", function()
    local before = roc.kernel(function(o, x, idx)
      local i = roc.get_global_id(1)
      if i <= #o then o[i] = x[idx[i] - 3] end
    end)
    local after = roc.kernel(function(o, x, idx)
      local i = roc.get_global_id(1)
      if i <= #o then o[i] = x[idx[i] + 3] end
    end)
    for _, dtype in ipairs { "int32", "uint32", "int16", "uint8" } do
      local bits = roc[dtype].itemsize * 8
      local low = dtype:sub(1, 1) == "u" and 0 or -(1 << (bits - 1))
      local high = dtype:sub(1, 1) == "u" and (1 << bits) - 1 or (1 << (bits - 1)) - 1
      local x = ramp(100)
      local function idx(value)
        local t = fill(N, function(i) return i % 90 + 4 end)
        t[5] = value
        return { t, dtype }
      end
      check(before, { { zeros(N), "int32" }, x, idx(4) })
      check(after, { { zeros(N), "int32" }, x, idx(97) })
      for _, value in ipairs { low, high, 0, 3 } do
        check(before, { { zeros(N), "int32" }, x, idx(value) },
          ("index %d out of range 1..100 of 'x' (work-item {5})"):format(value - 3))
      end
      for _, value in ipairs { low, high, 98 } do
        local is_right = value + 3 >= 1 and value + 3 <= 100
        check(after, { { zeros(N), "int32" }, x, idx(value) }, not is_right and
          ("index %d out of range 1..100 of 'x' (work-item {5})"):format(value + 3) or nil)
      end
    end
  end)

  it("reads nothing where there is nothing", function()
    local k = roc.kernel(function(o, x, idx)
      local i = roc.get_global_id(1)
      if i <= #idx then o[i] = x[idx[i]] else o[i] = -1 end
    end)
    check(k, { { zeros(N), "int32" }, { {}, "int32" }, { {}, "int32" } })
    check(k, { { zeros(N), "int32" }, { {}, "int32" }, { { 1 }, "int32" } },
      "index 1 out of range 1..0 of 'x' (work-item {1})")
  end)

  it("follows one index to the next", function()
    local k = roc.kernel(function(o, x, a, b)
      local i = roc.get_global_id(1)
      if i > #o then return end
      o[i] = x[a[b[i]]]
    end)
    check(k, { { zeros(N), "int32" }, ramp(N), indices(), indices() })
    check(k, { { zeros(N), "int32" }, ramp(N), indices(), indices(70, N + 1) },
      "index 201 out of range 1..200 of 'a' (work-item {70})")
    local a = indices(78, 0) -- b[1] is 78
    check(k, { { zeros(N), "int32" }, ramp(N), a, indices() },
      "index 0 out of range 1..200 of 'x' (work-item {1})")
  end)

  it("scatters what is right, whatever is wrong beside it", function()
    local k = roc.kernel(function(o, idx, flag)
      local i = roc.get_global_id(1)
      if i > #idx or flag[i] == 0 then return end
      o[idx[i]] = i
    end)
    local flags = { fill(N, function(i) return i % 3 end), "int8" }
    check(k, { { zeros(N), "int32" }, indices(), flags })
    check(k, { { zeros(N), "int32" }, indices(3, 0), flags }) -- item 3 does nothing
    check(k, { { zeros(N), "int32" }, indices(4, 0), flags },
      "index 0 out of range 1..200 of 'o' (work-item {4})")
  end)

  it("sums rows of a sparse matrix", function()
    local k = roc.kernel(function(o, ptr, col, v, x)
      local i = roc.get_global_id(1)
      if i > #o then return end
      local sum = 0
      for p = ptr[i], ptr[i + 1] - 1 do sum = sum + v[p] * x[col[p]] end
      o[i] = sum
    end)
    local function ptr(place, value)
      local t = fill(N + 1, function(i) return (i - 1) * 3 + 1 end)
      if place then t[place] = value end
      return { t, "int64" }
    end
    local function col(place, value)
      local t = fill(3 * N, function(i) return i * 7 % 50 + 1 end)
      if place then t[place] = value end
      return { t, "int32" }
    end
    local v, x = ramp(3 * N), ramp(50)
    check(k, { { zeros(N), "int64" }, ptr(), col(), v, x })
    check(k, { { zeros(N), "int64" }, ptr(), col(31, 51), v, x },
      "index 51 out of range 1..50 of 'x' (work-item {11})")
    check(k, { { zeros(N), "int64" }, ptr(N + 1, 3 * N + 2), col(), v, x },
      "index 601 out of range 1..600 of 'v' (work-item {200})")
    -- A row without an end fails where its elements do.
    check(k, { { zeros(N), "int64" }, ptr(N + 1, 1 << 62), col(), v, x },
      "index 601 out of range 1..600 of 'v' (work-item {200})")
  end)

  it("ends in a row without an end that goes on at several places", function()
    local k = roc.kernel(function(o, ptr, col, x)
      local i = roc.get_global_id(1)
      if i > #o then return end
      local sum = 0
      for p = ptr[i], ptr[i + 1] - 1 do
        if p % 3 == 1 then goto continue end
        sum = sum + x[col[p]]
        ::continue::
      end
      o[i] = sum
    end)
    local rows = fill(N + 1, function(i) return (i - 1) * 3 + 1 end)
    local col = { fill(3 * N, function(i) return i * 7 % 50 + 1 end), "int32" }
    check(k, { { zeros(N), "int64" }, { rows, "int64" }, col, ramp(50) })
    rows[N + 1] = 1 << 62
    check(k, { { zeros(N), "int64" }, { rows, "int64" }, col, ramp(50) },
      "index 602 out of range 1..600 of 'col' (work-item {200})")
  end)

  it("fails beside barriers as it does without them", function()
    local k = roc.kernel(function(o, x, idx)
      local tile = roc.shared.array(64, "int32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      local last = math.min(64, roc.get_global_size(1) - (roc.get_group_id(1) - 1) * 64)
      tile[l] = -1
      roc.barrier()
      tile[l] = x[idx[i]]
      roc.barrier()
      o[i] = tile[l] + tile[last + 1 - l]
      roc.barrier()
      tile[l] = o[i]
      roc.barrier()
      o[i] = tile[last + 1 - l] + 1
    end)
    check(k, { { zeros(N), "int32" }, ramp(N), indices() })
    for _, place in ipairs { 1, 64, 65, N } do
      check(k, { { zeros(N), "int32" }, ramp(N), indices(place, N + 7) },
        ("index 207 out of range 1..200 of 'x' (work-item {%d})"):format(place))
    end
  end)

  it("fails in loops that hold a barrier", function()
    local k = roc.kernel(function(o, x, idx, rounds)
      local tile = roc.shared.array(64, "int32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      local sum, step = 0, 1
      while step <= rounds do
        local at = (i + step * 3) % #idx + 1
        tile[l] = x[idx[at]]
        roc.barrier()
        sum = sum + tile[l] + tile[(l ~ 1) > 8 and 1 or (l - 1 ~ step) % 8 + 1]
        roc.barrier()
        step = step + 1
      end
      o[i] = sum
    end)
    check(k, { { zeros(N), "int32" }, ramp(N), indices(), 5 })
    check(k, { { zeros(N), "int32" }, ramp(N), indices(nil, nil), 0 })
    -- In round 2 item 100 reads idx[107], and other rounds of other items do.
    local message = select(2, run(k, { { zeros(N), "int32" }, ramp(N), indices(107, 0), 2 }))
    assert.matches("index 0 out of range 1%.%.200 of 'x' %(work%-item {10[03]}, and 1 more%)",
      message)
  end)

  it("stores in rounds up to the one in which a check fails", function()
    local k = roc.kernel(function(o, idx, x, rounds)
      local i = roc.get_global_id(1)
      if i > #x then return end
      for round = 1, i % 3 == 0 and rounds - 1 or rounds do
        local at = idx[i][round]
        local part = math.floor(x[i] * round)
        roc.atomic.add(o, at, round + (part & 1023))
        o[at + N + 1] = i
      end
    end)
    local function rows(place, round, value)
      local t = fill(N, function(i)
        return fill(5, function(r) return (i * 77 + r * 31) % N + 1 end)
      end)
      if place then t[place][round] = value end
      return { t, "int32" }
    end
    local function floats(place, value)
      local t = fill(N, function(i) return i * 1.75 end)
      if place then t[place] = value end
      return { t, "float32" }
    end
    -- who of several stores last is open
    local function run_without_last(arrays)
      local result, message = run(k, arrays)
      for i = 1, #result do if i > N then result[i] = result[i] ~= 0 and 1 or 0 end end
      return result, message
    end
    local function compare(idx, x, expected)
      local arrays = { { zeros(2 * N + 1), "int32" }, idx, x, 5 }
      local result, message = run_without_last(arrays)
      local scope <close> = roc.on_device "sim"
      local sim_result, sim_message = run_without_last(arrays)
      assert.same(sim_result, result)
      assert.equal(sim_message, message)
      if expected then assert.matches(expected, message, 1, true) else assert.is_false(message) end
    end
    compare(rows(), floats())
    compare(rows(), floats(69, -0x1p61)) -- of rounds to 4, and -2^63 in the last of these
    for _, where in ipairs { { 1, 1 }, { 64, 5 }, { N, 4 } } do
      for _, value in ipairs { 0, -(1 << 31), (1 << 31) - 1 } do
        compare(rows(where[1], where[2], value), floats(),
          ("index %d out of range 1..401 of 'o' (work-item {%d})"):format(value, where[1]))
      end
      compare(rows(where[1], where[2], N + 1), floats(),
        ("index 402 out of range 1..401 of 'o' (work-item {%d})"):format(where[1]))
    end
  end)

  it("follows links up to the one that leads nowhere", function()
    local walk = roc.kernel(function(o, first, link, most)
      local i = roc.get_global_id(1)
      if i > #first then return end
      local at, count = first[i], 0
      while at ~= 0 and count < most do
        count = count + 1
        o[i] = o[i] + link[at] * count
        at = link[at]
      end
      o[i] = o[i] * 8 + count
    end)
    local compare_text = roc.kernel(function(o, first, link, most)
      local i, same = roc.get_global_id(1), 0
      if i > #first then return end
      local from = first[i]
      while same < most and i + same <= #link and link[from + same] == link[i + same] do
        same = same + 1
      end
      o[i] = same
    end)
    local function links(place, value)
      local t = fill(N, function(i) return i % 5 == 0 and 0 or i * 7 % N + 1 end)
      if place then t[place] = value end
      return { t, "int32" }
    end
    local firsts = { fill(N, function(i) return i * 3 % N + 1 end), "int32" }
    -- which of several items that fail is named is open
    local function without_item(message)
      return message and (message:gsub("work%-item {%d+}", "work-item"))
    end
    for _, kernel in ipairs { walk, compare_text } do
      local function compare(first, link)
        local arrays = { { zeros(N), "int32" }, first, link, 6 }
        local result, message = run(kernel, arrays)
        local sim_result, sim_message = run_on_sim(kernel, arrays)
        assert.same(sim_result, result)
        assert.equal(without_item(sim_message), without_item(message))
        return message
      end
      assert.is_false(compare(firsts, links()))
      for _, value in ipairs { N + 1, -(1 << 31) } do
        for _, place in ipairs { 63, N } do
          local wrong = { table.move(firsts[1], 1, N, 1, {}), "int32" }
          wrong[1][place] = value
          compare(firsts, links(place, value))
          assert.matches("out of range", compare(wrong, links()), 1, true)
        end
      end
    end
  end)

  -- Loops that store nothing go on with a clamped index until they see that it is wrong: here
  -- they would go on for ever.
  it("follows links without storing up to the one that leads nowhere", function()
    local function walk(o, first, link, value)
      local i = roc.get_global_id(1)
      if i > #first then return end
      local at, sum = first[i], 0
      while at > 0 do
        sum = sum + value[at]
        at = link[at]
      end
      o[i] = sum
    end
    local function search(o, first, link, value)
      local i = roc.get_global_id(1)
      if i > #first then return end
      local at, depth = first[i], 0
      repeat
        if value[at] % 3 == i % 3 then at = link[at] else at = at - 1 end
        depth = depth + 1
      until at == 0 or depth > 40
      o[i] = depth * 1000 + at
    end
    local function skip(o, first, link, value)
      local i = roc.get_global_id(1)
      if i > #first then return end
      local at, steps, sum = first[i], 0, 0
      while steps < 50 do
        steps = steps + 1
        if at <= 0 then break end
        if value[at] % 2 ~= 0 then
          at = link[at]
          goto continue
        end
        sum = sum + value[at + 1]
        at = link[at]
        ::continue::
      end
      o[i] = sum * 100 + steps
    end
    local function links(dtype, place, value)
      local t = fill(N, function(i) return i == N and N or i * 3 // 5 end)
      if place then t[place] = value end
      return { t, dtype }
    end
    local function firsts(place, value)
      local t = fill(N, function(i) return (i * 11) % (N - 1) + 1 end)
      if place then t[place] = value end
      return { t, "int32" }
    end
    local function values(n) return { fill(n, function(i) return i * 5 % 17 end), "int32" } end
    -- which of several items that fail is named is open, and so is its index
    local function without_item(message)
      message = message and message:gsub("work%-item {%d+}", "work-item")
      return message and (message:gsub("index %-?%d+ out", "index out"))
    end
    for _, fn in ipairs { walk, search, skip } do
      local kernel = roc.kernel(fn)
      local function compare(...)
        local arrays = { { zeros(N), "int32" }, ... }
        local result, message = run(kernel, arrays)
        local sim_result, sim_message = run_on_sim(kernel, arrays)
        assert.same(sim_result, result)
        assert.equal(without_item(sim_message), without_item(message))
        return message
      end
      for _, dtype in ipairs { "int32", "int64" } do
        local good = links(dtype)
        good[1][N] = 0
        compare(firsts(), good, values(N + 1))
        for _, value in ipairs { N + 1, N + 2, (1 << 31) - 1, -(1 << 31) } do
          compare(firsts(), links(dtype, 64, value), values(N + 1))
        end
        if dtype == "int64" then
          compare(firsts(), links(dtype, 8, (1 << 32) + 5), values(N + 1))
        end
        compare(firsts(100, 2 * N), links(dtype, N, 0), values(N))
        compare(firsts(), links(dtype, N, 0), values(60)) -- fewer values than links
        compare(firsts(), links(dtype, N, 0), { {}, "int32" })
      end
    end
  end)

  -- As sums over the rows of a sparse matrix around an item, or over neighbours in cells.
  it("sums in loops in loops up to the index that is wrong", function()
    local function ranges(o, first, count, x, next, n)
      local i = roc.get_global_id(1)
      if i > #o then return end
      local sum, last = 7, 0
      for d = -1, 1 do
        local c = (i + d + n - 1) % n + 1
        for k = first[c], first[c] + count[c] - 1 do
          sum = sum + x[k] * (d + 2)
          last = k
        end
        local at, steps = last, 0
        while at > 0 and steps < 5 do
          sum = sum + x[at]
          at, steps = next[at], steps + 1
        end
      end
      o[i] = sum * 3 + last
    end
    local k = roc.kernel(ranges)
    -- which of several items that fail is named is open, and so is its index
    local function without_item(message)
      return message and (message:gsub("^index %-?%d+", "index"):gsub("{%d+}", ""))
    end
    local function compare(change, array)
      local first = fill(N, function(i) return (i - 1) * 2 + 1 end)
      local count, x = fill(N, function(i) return i % 3 end), fill(2 * N, function(i) return i end)
      local next = fill(2 * N, function(i) return i % 7 == 0 and 0 or i * 3 % 150 + 1 end)
      change(first, count, x, next)
      local arrays = { { zeros(N), "int64" }, { first, "int32" }, { count, "int32" },
        { x, "int32" }, { next, "int32" }, N }
      local result, message = run(k, arrays)
      local sim_result, sim_message = run_on_sim(k, arrays)
      assert.same(sim_result, result)
      assert.equal(without_item(sim_message), without_item(message))
      if array then assert.matches(array, message, 1, true) else assert.is_false(message) end
    end
    compare(function() end)
    compare(function(first) first[1] = 900 end, "of 'x'")
    compare(function(first) first[6], first[9] = 900, -5 end) -- whose counts are 0
    compare(function(_, count) count[200] = 1000 end, "of 'x'")
    compare(function(_, _, _, next) for i = 31, 40 do next[i] = -3 end end)
    compare(function(_, _, _, next) for i = 31, 40 do next[i] = 500 end end, "of 'x'")
    compare(function(first, count) first[40], count[40] = 1 << 30, (1 << 31) - 1 end, "of 'x'")
  end)

  it("ends long loops in loops with the index that is wrong", function()
    local k = roc.kernel(function(o, last, x)
      local i = roc.get_global_id(1)
      local sum = 0
      for k = 1, last[i] do
        sum = sum + x[k]
        for j = 1, i % 3 do sum = sum + x[j] end
      end
      o[i] = sum
    end)
    local last = fill(N, function(i) return i % 7 end)
    check(k, { { zeros(N), "int64" }, { last, "int32" }, ramp(N) })
    last[77] = (1 << 31) - 1
    check(k, { { zeros(N), "int64" }, { last, "int32" }, ramp(N) },
      "index 201 out of range 1..200 of 'x' (work-item {77})")
  end)

  it("walks on to the index that is wrong, which is set before it is used", function()
    local decode = roc.kernel(function(o, bytes, offsets)
      local i = roc.get_global_id(1)
      if i > #o then return end
      local at, shift, value = offsets[i] + 1, 0, 0
      local byte = bytes[at]
      while byte >= 128 do
        value = value | (byte & 127) << shift
        shift = shift + 7
        at = at + 1
        byte = bytes[at]
      end
      o[i] = (value | byte << shift) + at
    end)
    local bytes = fill(2 * N, function(i) return i % 4 == 0 and i % 128 or 128 + i % 100 end)
    local offsets = fill(N, function(i) return 2 * i - 2 end)
    check(decode, { { zeros(N), "int64" }, { bytes, "uint8" }, { offsets, "int32" } })
    bytes[2 * N], offsets[N] = 200, offsets[N - 1] - 2
    check(decode, { { zeros(N), "int64" }, { bytes, "uint8" }, { offsets, "int32" } },
      "index 401 out of range 1..400 of 'bytes' (work-item {199})")
    bytes[2 * N], offsets[7] = 4, (1 << 31) - 1
    check(decode, { { zeros(N), "int64" }, { bytes, "uint8" }, { offsets, "int32" } },
      "index 2147483648 out of range 1..400 of 'bytes' (work-item {7})")
  end)

  it("searches by a table of where to go on, up to the index that is wrong", function()
    local search = roc.kernel(function(o, text, pattern, failure)
      local i = roc.get_global_id(1)
      if i > #o then return end
      local j, count = 0, 0
      for k = i, math.min(i + 20, #text) do
        local c = text[k]
        while j > 0 and pattern[j + 1] ~= c do j = failure[j] end
        if pattern[j + 1] == c then j = j + 1 end
        if j == #pattern - 1 then
          count = count + 1
          j = failure[j]
        end
      end
      o[i] = 100 * count + j
    end)
    local text = fill(3 * N, function(i) return i * i // 3 % 2 end)
    local pattern, failure = { { 1, 0, 1, 9 }, "uint8" }, { 0, 0, 1 }
    check(search, { { zeros(N), "int32" }, { text, "uint8" }, pattern, { failure, "int32" } })
    for _, wrong in ipairs { -1, 4, 7, (1 << 31) - 1, -(1 << 31) } do
      failure[3] = wrong
      local args = { { zeros(N), "int32" }, { text, "uint8" }, pattern, { failure, "int32" } }
      local result, message = run(search, args)
      local sim_result, sim_message = run_on_sim(search, args)
      assert.same(sim_result, result)
      assert.equal(sim_message, message)
    end
  end)

  it("does not check what an error ends before", function()
    local k = roc.kernel(function(o, x, idx)
      local i = roc.get_global_id(1)
      if i > #o then return end
      local p = idx[i]
      if p < 0 then error("negative") end
      o[i] = x[p]
    end)
    check(k, { { zeros(N), "int32" }, ramp(N), indices() })
    local result, message = run(k, { { zeros(N), "int32" }, ramp(N), indices(9, -9) })
    assert.matches("negative", message, 1, true)
    assert.equal(0, result[9])
    check(k, { { zeros(N), "int32" }, ramp(N), indices(9, 300) },
      "index 300 out of range 1..200 of 'x' (work-item {9})")
  end)

  it("reads again what it has written itself", function()
    local k = roc.kernel(function(o, idx)
      local i = roc.get_global_id(1)
      idx[i] = idx[i] + 1
      o[idx[i] - 1] = i
    end)
    check(k, { { zeros(N), "int32" }, indices() })
    check(k, { { zeros(N), "int32" }, indices(12, 0) },
      "index 0 out of range 1..200 of 'o' (work-item {12})")
  end)
end)
