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
  ["shifts and bits"] = [[
    local v, count = (i * 2654435761) & 0xffffffff, 0
    while v ~= 0 do
      v = v & (v - 1)
      count = count + 1
      if count > 12 then v = v >> (i & 3) end
    end
    out[1], out[2] = count, v]],
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
