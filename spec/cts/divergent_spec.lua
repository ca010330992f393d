-- Work-items that go different ways: each gets what it would get alone, and a check that fails in
-- one ends that one.
local roc = require "roc"
local devices = require "support.devices"

local N, EXTENT = 83, 8 -- items: no multiple of a vector's lanes

-- Bodies for item i; x: integers, y: floats, of N elements; out: its own row of integers.
local BODIES = {
  ["loops of different lengths"] = [[
    local k, v = 0, i
    while v ~= 1 do
      if v % 2 == 0 then v = v // 2 else v = 3 * v + 1 end
      k = k + 1
    end
    out[1] = k]],
  ["a loop left by a condition in its middle"] = [[
    local sum = 0
    for k = 1, 100 do
      sum = sum + x[k % #x + 1]
      if sum > 9 * i then break end
      sum = sum - k % 3
    end
    out[1] = sum]],
  ["the nearest of what they share"] = [[
    local best, which = 1e30, 0
    for c = 1, #y do
      local sum = 0.0
      for f = 1, 3 do
        local d = y[i % #y + 1] * f - y[c]
        if d > 0.5 then sum = sum + math.sqrt(d) else sum = sum + d * d end
      end
      if sum < best then best, which = sum, c end
    end
    out[1], out[2] = which, best < 1e30 and 1 or 0]],
  ["a loop of no rounds in loops that end at different times"] = [[
    local v = 1
    for k = 1, 3 do
      for m = -2, 3, (i - k) % 4 + 1 do
        out[(i % 3) + 1] = out[(i % 3) + 1] + (i * v) % (#x + 3)
        for n = 1, #y - 83 do
          if i < n then break end
          out[4], v = m, i
        end
      end
    end]],
  ["goto continue"] = [[
    local sum, seen = 0, 0
    for k = 1, i do
      if (k + i) % 3 == 0 then goto continue end
      sum = sum + k
      if sum % 5 == 1 then goto continue end
      seen = seen + 1
      ::continue::
    end
    out[1], out[2] = sum, seen]],
  ["a return out of a loop"] = [[
    for k = 1, 50 do
      out[1] = k
      if k * k > i then return end
      out[2] = out[2] + k
    end
    out[3] = 1]],
  ["a return before a loop"] = [[
    if i % 4 == 1 then return end
    local k = 0
    repeat k = k + i until k > 200
    out[1] = k]],
  ["two loops left at once"] = [[
    local count = 0
    for a = 1, i do
      for b = a, 6 do
        count = count + 1
        if a * b == i % 13 then goto found end
      end
      count = count + 100
    end
    count = -count
    ::found::
    out[1] = count]],
  ["a loop in a branch"] = [[
    local v = i
    if i % 3 == 0 then
      for k = 1, i % 7 do v = v * 3 + k end
    elseif i % 3 == 1 then
      while v > 5 do v = v - 4 end
    else
      v = -v
    end
    out[1] = v]],
  ["a loop by the item's own bounds"] = [[
    local sum = 0
    for k = i, 3 * (i % 5), -(i % 4) - 1 do sum = sum * 2 + k end
    for k = 7, i % 11, -2 do sum = sum + k * i end
    out[1] = sum]],
  ["variables that live on after the loop"] = [[
    local a, b, c, k = 0, 1, false, 0
    while k < i % 17 do
      a, b = b, (a + b) % 1000003
      c = not c
      k = k + 1
    end
    out[1], out[2], out[3], out[4] = a, b, c and 1 or 0, k]],
  ["a condition that all share in a loop that not all take"] = [[
    local sum = 0
    for k = 1, 20 do
      if k > i then break end
      if #x > 5 then sum = sum + x[k] else sum = sum - 1 end
      if k == 15 then sum = sum + 1000 end
    end
    out[1] = sum]],
  ["a binary search"] = [[
    local low, high = 1, #x
    while low < high do
      local middle = (low + high) // 2
      if y[middle] < 0.37 * i then low = middle + 1 else high = middle end
    end
    out[1] = low]],
  ["division by what only some divide by"] = [[
    local sum = 0
    for k = 0, i % 6 do
      if k ~= 0 then sum = sum + i // k + i % k + (-i) // k + (-i) % -k end
    end
    out[1] = sum]],
  ["stores at places of their own"] = [[
    for k = 1, EXTENT do
      if (i + k) % 3 == 0 then out[k] = k * i end
      if out[EXTENT + 1 - k] > 40 then out[k] = out[k] - 1 end
    end]],
  ["floats"] = [[
    local v, k = y[i] + 0.25, 0
    while k < 60 do
      local next = 0.5 * (v + (i + 0.5) / v)
      if next == v then break end
      v = next
      k = k + 1
    end
    out[1], out[2] = k, v > 0 and math.floor(v * 1024) or -1]],
  ["several results of a function"] = [[
    local a, b = split(i * 3, i % 5 + 2)
    out[1], out[2] = a, b]],
  ["a loop of no iterations"] = [[
    local sum = 5
    for k = i, 10 do sum = sum + k end
    out[1] = sum]],
  ["what both branches set and read"] = [[
    local a, b, c = i, 2 * i, 0
    for k = 1, i % 9 do
      if (a + k) % 3 == 0 then
        a, b = b, a + 1
      else
        c = a + b
        b = c - k
      end
      if b % 2 == 0 then c = c + 1 end
    end
    out[1], out[2], out[3] = a, b, c]],
  ["what is read in a loop alone, and what after it too"] = [[
    local v, last, steps, sum = i, 0, 0, 0
    for round = 1, 3 do
      local w = v + round
      while w > 2 do
        if w % 2 == 0 then w = w >> 1 else last, w = w, w - 3 end
        steps = steps + 1
        if steps % 11 == round then break end
        sum = sum + w
      end
      v = v + last
    end
    out[1], out[2], out[3], out[4] = v, last, steps, sum]],
  ["what the next iteration reads after some went on early"] = [[
    local before, kept, sum = i, 0, 0
    for k = 1, 12 do
      local now = before * 5 % 23
      if now % 4 == i % 4 then
        before = now + 1
        goto continue
      end
      if now > 11 then kept = now else sum = sum + kept end
      before = now + k
      ::continue::
    end
    out[1], out[2], out[3] = before, kept, sum]],
  ["a number of rounds that all count while they are there"] = [[
    local sum, round = 0, 0
    while sum < i * 5 do
      round = round + 1
      if round > 9 then break end
      if (round + i) % 2 == 0 then sum = sum + round * i else sum = sum + x[round] end
    end
    out[1] = sum]],
  ["shifts and bits"] = [[
    local v, count = (i * 2654435761) & 0xffffffff, 0
    while v ~= 0 do
      v = v & (v - 1)
      count = count + 1
      if count > 12 then v = v >> (i & 3) end
    end
    out[1], out[2] = count, v]],
  ["integers that fit 32 bits, and sums of them that do not"] = [[
    local a, b, c, k = 0, 0xffffffff - i, -i, 0
    while k < 40 + i % 9 do
      a = (a * 75 + x[k % #x + 1]) & 0xffffffff
      b = math.max(b - k, (a >> 3) + 0x7fffffff) & 0xffffffff
      c = math.min(c + 0x7ffffff0, 0x7fffffff - k)
      if a < b then c = c - 2 * 0x7fffffff end
      if a - b < -0x7fffffff then k = k + 2 else k = k + 1 end
      if c < -0x80000000 then c = -0x80000000 end
    end
    out[1], out[2], out[3], out[4], out[5] = a, b, c, a - b, a + b
    for m = 0x7fffffff, 0x7ffffffb + i % 5, -1 do out[6] = out[6] + m end
    for m = 0x7ffffffc + i % 5, 0x80000000 do out[7] = out[7] ~ (m * i) end]],
}

local SPLIT = [[return function(v, by)
  for k = 1, 40 do
    if v < by then return k, v end
    v = v - by
  end
  return -1, v
end]]

local ENV = { math = math, split = assert(load(SPLIT, SPLIT))() }

local function values_of()
  local x, y = {}, {}
  for i = 1, N do x[i], y[i] = (i * 7) % 10, i * 0.37 end
  return x, y
end

local function source(body)
  return ("function(i, x, y, out) %s end"):format((body:gsub("EXTENT", tostring(EXTENT))))
end

local function kernel_of(body, check)
  local text = "return " .. source(body)
  local env = { roc = roc, math = math, f = assert(load(text, text, "t", ENV))() }
  return devices.kernel("function(x, y, out) local i = roc.get_global_id(1) "
    .. "f(i, x, y, out[i]) end", { env = env, check = check, contract = false })
end

devices.each(function(device)
  for name, body in pairs(BODIES) do
    it("go different ways: " .. name, function()
      local reference = assert(load("return " .. source(body), "=reference", "t", ENV))()
      local x, y = values_of()
      for _, check in ipairs { true, false } do
        local out = devices.zeros({ N, EXTENT }, "int64")
        devices.run(kernel_of(body, check), N,
          { devices.values(x, "int64"), devices.values(y, "float64"), out }, 64)
        local got = devices.table(out)
        for i = 1, N do
          local expected = {}
          for k = 1, EXTENT do expected[k] = 0 end
          reference(i, x, y, expected)
          assert.same(expected, got[i])
        end
      end
    end)
  end

  it("go different ways between barriers", function()
    for _, check in ipairs { true, false } do
      local k = devices.kernel([[function(x, out)
        local i, l = roc.get_global_id(1), roc.get_local_id(1)
        local tile = roc.shared.array(64, "int64")
        local v, steps, is_odd = x[i], 0, false
        while v > 3 do
          v = v - l % 4 - 1
          steps = steps + 1
          if v % 2 == 1 then is_odd = true end
        end
        tile[l] = steps
        roc.barrier()
        local other = tile[65 - l]
        for k = 1, other do
          if k % 5 == l % 5 then goto continue end
          v = v + k
          ::continue::
        end
        roc.barrier()
        tile[l] = v
        roc.barrier()
        out[i] = tile[l % 64 + 1] * 1000 + steps * 10 + (is_odd and 1 or 0)
      end]], { check = check })
      local x, vs, steps, odd, expected = {}, {}, {}, {}, {}
      for i = 1, 128 do x[i] = (i * 37) % 61 end
      for i = 1, 128 do
        local l, v, count, is_odd = (i - 1) % 64 + 1, x[i], 0, false
        while v > 3 do
          v, count = v - l % 4 - 1, count + 1
          is_odd = is_odd or v % 2 == 1
        end
        vs[i], steps[i], odd[i] = v, count, is_odd
      end
      for i = 1, 128 do
        local l, first = (i - 1) % 64 + 1, (i - 1) // 64 * 64
        for m = 1, steps[first + 65 - l] do
          if m % 5 ~= l % 5 then vs[i] = vs[i] + m end
        end
      end
      for i = 1, 128 do
        local l, first = (i - 1) % 64 + 1, (i - 1) // 64 * 64
        expected[i] = vs[first + l % 64 + 1] * 1000 + steps[i] * 10 + (odd[i] and 1 or 0)
      end
      local out = devices.zeros(128, "int64")
      devices.run(k, 128, { devices.values(x, "int64"), out }, 64)
      assert.same(expected, devices.table(out))
    end
  end)

  it("end at different times before a barrier", function()
    local k = devices.kernel([[function(x, out)
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      local tile = roc.shared.array(64, "int64")
      local v = x[i]
      tile[l] = 0
      roc.barrier()
      while v > 1 do
        v = v - 2
        if v == 4 then return end
      end
      tile[l] = v + i
      roc.barrier()
      for k = 1, l % 7 do
        if k == 5 then return end
        v = v + tile[(l + k) % 64 + 1]
      end
      roc.barrier()
      out[i] = v
    end]])
    local x, tile, expected = {}, {}, {}
    for i = 1, 64 do x[i] = (i * 11) % 23 end
    for i = 1, 64 do tile[i] = x[i] % 2 == 0 and x[i] > 5 and 0 or x[i] % 2 + i end
    for i = 1, 64 do
      local ends = x[i] % 2 == 0 and x[i] > 5 or i % 7 > 4
      local v = x[i] % 2
      for m = 1, i % 7 do v = v + tile[(i + m) % 64 + 1] end
      expected[i] = ends and 0 or v
    end
    local out = devices.zeros(64, "int64")
    devices.run(k, 64, { devices.values(x, "int64"), out }, 64)
    assert.same(expected, devices.table(out))
  end)

  it("store elements of a byte at places of their own", function()
    local steps = [[
      while v > 0 do
        if v % 3 ~= 0 then out[i][at % 6 + 1] = v end
        at = at + v
        v = v - at % 4 - 1
      end]]
    local x, out, expected = {}, devices.zeros({ N, 6 }, "int8"), {}
    for i = 1, N do x[i], expected[i] = (i * 13) % 101, { 0, 0, 0, 0, 0, 0 } end
    devices.run(devices.kernel("function(x, out) local i = roc.get_global_id(1) "
      .. "local v, at = x[i], i " .. steps .. " end"), N, { devices.values(x, "int64"), out }, 64)
    local reference = assert(load("local i, v, at, out = ... " .. steps))
    for i = 1, N do reference(i, x[i], i, expected) end
    assert.same(expected, devices.table(out))
  end)

  it("have private arrays of their own", function()
    local k = devices.kernel([[function(x, out)
      local i = roc.get_global_id(1)
      local own = roc.private.array(6, "int32")
      local large = roc.private.array(700, "float32")
      for k = 1, 6 do own[k] = k * i end
      for k = 1, 700 do large[k] = 0 end
      local v, at = x[i], 1
      while v > 0 do
        at = (at + v) % 6 + 1
        own[at] = own[at] + v
        large[at * 100] = large[at * 100] + 0.5
        v = v - at
      end
      out[i][1], out[i][2] = own[at], own[3]
      out[i][3] = math.floor(large[at * 100] * 2)
    end]])
    local x, out = {}, devices.zeros({ N, 3 }, "int64")
    for i = 1, N do x[i] = (i * 13) % 31 end
    devices.run(k, N, { devices.values(x, "int64"), out }, 64)
    local got = devices.table(out)
    for i = 1, N do
      local own, large, v, at = {}, {}, x[i], 1
      for m = 1, 6 do own[m], large[m] = m * i, 0 end
      while v > 0 do
        at = (at + v) % 6 + 1
        own[at], large[at], v = own[at] + v, large[at] + 1, v - at
      end
      assert.same({ own[at], own[3], large[at] }, got[i])
    end
  end)

  it("count together by atomics", function()
    local k = devices.kernel([[function(x, bins, seen)
      local i = roc.get_global_id(1)
      local v, steps = x[i], 0
      while v > 2 do
        v = v // 2
        steps = steps + 1
      end
      if steps ~= 3 then seen[i] = roc.atomic.max(bins, steps + 1, i) >= 0 and 1 or 2 end
      for _ = 1, i % 3 do roc.atomic.add(bins, 9, steps) end
    end]])
    local x, sum, most, flags = {}, 0, { 0, 0, 0, 0, 0, 0, 0, 0 }, {}
    for i = 1, N do
      x[i] = (i * 29) % 97
      local v, steps = x[i], 0
      while v > 2 do v, steps = v // 2, steps + 1 end
      if steps ~= 3 then most[steps + 1] = i end
      flags[i], sum = steps ~= 3 and 1 or 0, sum + i % 3 * steps
    end
    most[9] = sum
    local bins, seen = devices.zeros(9, "int64"), devices.zeros(N, "int64")
    devices.run(k, N, { devices.values(x, "int64"), bins, seen }, 64)
    assert.same(most, devices.table(bins))
    assert.same(flags, devices.table(seen))
  end)

  it("end where a check fails in one of them, and the others go on", function()
    local k = devices.kernel([[function(x, places, out)
      local i = roc.get_global_id(1)
      local sum = 0
      for k = 1, i % 9 + 1 do
        sum = sum + x[places[i] + k % 2]
        out[i] = sum
      end
    end]])
    local x, places, expected = {}, {}, {}
    for i = 1, N do
      x[i], places[i] = i, i == 50 and 3000 or i % 40 + 1
      local sum = 0
      for m = 1, i % 9 + 1 do sum = sum + (i == 50 and 0 or places[i] + m % 2) end
      expected[i] = sum
    end
    local out = devices.zeros(N, "int64")
    local ok, why = pcall(devices.run, k, N,
      { devices.values(x, "int64"), devices.values(places, "int64"), out }, 64)
    assert.is_false(ok)
    assert.matches("3001", tostring(why))
    assert.matches("work%-item {50}", tostring(why))
    assert.is_nil(tostring(why):match("more"))
    assert.same(expected, devices.table(out))
  end)

  it("go on reading what is the same for all while others have left their loop", function()
    local k = devices.kernel([[function(n, flag, a, o1, o3, total, shown, line)
      local gid, lid, lsz = roc.get_global_id(1), roc.get_local_id(1), roc.get_local_size(1)
      local tile = roc.shared.array(256, "int64")
      if lid == 1 then for k = 1, lsz do tile[k] = k end end
      roc.barrier()
      local f1 = math.fmod(math.pi, -0.75)
      do
        local k = gid
        while k <= #line do
          f1 = f1 + line[k]
          k = k + n % 5 + 1
        end
      end
      roc.barrier()
      local f3 = f1 - math.pi
      for k = gid, #line, roc.get_global_size(1) do
        f3 = line[k] - f3
        for _ = 1, 20 do f3 = f3 + line[k] end
        roc.atomic.add(total, 2, a[n % #a + 1][k % a.shape[2] + 1])
      end
      for k = 1, 3.7 do
        tile[lid] = lid + k
        roc.barrier()
        local _ = tile[(lid + 6) % lsz + 1]
        roc.barrier()
        for _ = 1, lid % 5 do o3[gid][4294967296 % 3 + 1] = 1e-310 % f3 end
      end
      if flag then local _ = 0xffffffffffffffff // math.mininteger end
      o1[gid] = n ~ gid
      local is_early = roc.get_global_id(1) > roc.get_global_id(2) and gid < lsz - 1
      if is_early then local _ = roc.float32(math.huge) > n end
      shown[gid][1], shown[gid][2] = f1, f3
    end]], { contract = false })
    local a, n = roc.empty({ 11, 5 }, "int64", "F"), 1 << 40
    for r = 1, 11 do
      for c = 1, 5 do a[r][c] = 100 * r + c end
    end
    local o1, o3 = devices.zeros(16, "uint32"), devices.zeros({ 32, 3 }, "float16")
    local total, shown = devices.zeros(3, "int32"), devices.zeros({ 16, 3 }, "float64")
    devices.run(k, 16, { n, true, roc.to_device(a), o1, o3:slice(1, 1, 32, 2), total, shown,
      devices.values({ 1 }, "float64") }, 8)
    assert.same({ 0, 202, 0 }, devices.table(total))
    local expected, got = {}, devices.table(shown)
    for i = 1, 16 do
      local f1 = math.fmod(math.pi, -0.75) + (i == 1 and 1 or 0)
      expected[i] = { f1, i == 1 and 21 - (f1 - math.pi) or f1 - math.pi }
      assert.near(expected[i][1], got[i][1], 1e-12)
      assert.near(expected[i][2], got[i][2], 1e-12)
      assert.are.equal((n ~ i) & 0xffffffff, o1[i])
    end
  end)

  it("leave two loops by what all compare, in a third", function()
    local k = devices.kernel([[function(n, b, o, p, q)
      local i, lid = roc.get_global_id(1), roc.get_local_id(1)
      local round = 0
      repeat
        round = round + 1
        do
          for k = 1, 3 do
            for m = k, 3 do
              o[i] = n + m
              if b[1][1] > 2 then goto done end
            end
          end
          p[i][(round // (lid | 1)) % 3 + 1] = 5
          ::done::
        end
      until round > 3 or math.ult(q[i], n)
    end]])
    local o, p = devices.zeros(37, "float64"), devices.zeros({ 37, 3 }, "float32")
    local b, q = devices.zeros({ 1, 1 }, "float32"), devices.zeros(37, "uint64")
    devices.run(k, 37, { 0, b, o, p, q }, 35)
    local got, last = devices.table(p), devices.table(o)
    for i = 1, 37 do
      local lid, expected = (i - 1) % 35 + 1, { 0, 0, 0 }
      for round = 1, 4 do expected[round // (lid | 1) % 3 + 1] = 5 end
      assert.same(expected, got[i])
      assert.equal(3, last[i])
    end
  end)

  it("leave a loop by a condition that holds for every id", function()
    local out = devices.zeros({ 33, 2 }, "int64")
    devices.run(devices.kernel([[function(n, out)
      local i, lid = roc.get_global_id(1), roc.get_local_id(1)
      local k = 0
      repeat k = k + 1 until k > 3 or (lid >> 8) <= n
      out[i][1] = k
      local lane = roc.lane_id()
      repeat k = k + 1 until k > 9 or (lane >> 8) <= n
      out[i][2] = k
    end]], { workgroup = { 33, 1, 1 } }), 33, { 5, out }, 33)
    for i, row in ipairs(devices.table(out)) do assert.same({ 1, 2 }, row, i) end
  end)

  it("wait for each other at a barrier to which they come by different ways", function()
    local k = devices.kernel [[function(n, x, values, out, out3, shown)
      local gid, lid, lsz = roc.get_global_id(1), roc.get_local_id(1), roc.get_local_size(1)
      local tile, sums = roc.shared.array(256, "int64"), roc.shared.array(256, "float64")
      if lid == 1 then for k = 1, lsz do tile[k] = k sums[k] = k end end
      roc.barrier()
      if n == x then
        local longest, sum = 1, 1.0
        for _ = 1, 2 do
          sums[lid] = 1.0
          roc.barrier()
          for k = 1, gid % 30 do
            longest = math.max(longest, k)
            sum = sum + values[(k + gid) % #values + 1]
          end
          roc.barrier()
        end
        if roc.get_global_id(2) < gid and (gid * 3 - 3 >= n % 40 or gid + 33 < #values) then
        else
          out3[gid] = longest
        end
      elseif true then
        out[gid] = 1.0
      end
      tile[lid] = n
      roc.barrier()
      local first = tile[1]
      roc.barrier()
      shown[gid][2] = first
    end]]
    local values = devices.values({ 1, 2, 3, 4 }, "float64")
    local out, out3 = devices.zeros(100, "float64"), devices.zeros(100, "uint64")
    local shown = devices.zeros({ 100, 2 }, "int64")
    for _, n in ipairs { 0, 5 } do
      devices.run(k, 100, { n, -0.0, values, out, out3, shown }, 64)
      local got = devices.table(shown)
      for i = 1, 100 do assert.are.equal(n, got[i][2]) end
    end
  end)

  if device.kind == "cpu" then
    it("have one form of each function", function()
      local k = devices.kernel([[function(x, out, one)
        local i = roc.get_global_id(1)
        local v = x[i]
        for _ = 1, one do
          if v > 0 then v = math.sin(v) + math.exp(-v) * math.log(v) + v ^ 1.5
          else v = math.cos(v * 1e7) + math.tan(v) end
        end
        out[i] = v
      end]], { contract = false })
      for _, dtype in ipairs { "float32", "float64" } do
        local x, all = {}, devices.zeros(N, dtype)
        for i = 1, N do x[i] = (i - 30) * 0.37 end
        devices.run(k, N, { devices.values(x, dtype), all, 3 }, 64)
        for i = 1, N, 7 do
          local alone = devices.zeros(1, dtype)
          devices.run(k, 1, { devices.values({ x[i] }, dtype), alone, 3 }, 1)
          assert.are.equal(devices.table(alone)[1], devices.table(all)[i])
        end
      end
    end)
  end
end)
