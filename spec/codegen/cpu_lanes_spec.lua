-- Kernels whose items go different ways run in vectors with masks on the CPU
-- (codegen/cpu/lanes.c), where that pays.
local roc = require "roc"
local programs = require "support.programs"

local SIGNATURE = "(float32[:], int32[:], int64)"

local function make(body)
  return roc.kernel("function(x, counts, n) local i = roc.get_global_id(1) "
    .. "if i > #counts then return end " .. body .. " end", { env = { roc = roc, math = math },
    check = false, number = "float32", signature = SIGNATURE })
end

local function llvm_of(body, target)
  return make(body):inspect_llvm(target, "opt")
end

local DIVERGENT = [[
  local v, k = x[i], 0
  while k < n and v < 4 do
    v = v * v + 0.1
    k = k + 1
  end
  counts[i] = k]]

describe("a kernel on the cpu", function()
  for target, lanes in pairs { ["cpu:x86-64-v3"] = 16, ["cpu:x86-64-v4"] = 32 } do
    it("has lanes for items that go different ways: " .. target, function()
      local llvm = llvm_of(DIVERGENT, target)
      assert.matches("call <" .. lanes .. " x float> @llvm.fma", llvm, 1, true)
      assert.not_matches("call float @llvm.fma", llvm, 1, true)
    end)

    it("loads once what all lanes read: " .. target, function()
      local llvm = llvm_of([[
        local best = 0.0
        for k = 1, n do
          if x[k] > x[i] then break end
          best = best + x[k]
        end
        counts[i] = best > 1 and 1 or 0]], target)
      assert.matches("load float", llvm)
      assert.not_matches("masked%.gather", llvm)
    end)
  end

  it("loads where a loop begins what does not change in it, for items that begin it", function()
    local body = [[
      local best = 0.0
      for k = 1, counts[i] do
        if x[3 * i - 1] * k > best then best = x[3 * i - 1] * k + 1 / best end
      end
      y[i] = best]]
    local function nearest(signature)
      return roc.kernel("function(x, counts, y) local i = roc.get_global_id(1) "
        .. "if i > #counts then return end " .. body .. " end",
        { env = { roc = roc }, check = false, number = "float32", signature = signature })
    end
    local llvm = nearest("(float32[:], int32[:], float32[:])"):inspect_llvm "cpu:x86-64-v4"
    local loop = llvm:match "\nfor:(.-)\nnext:"
    assert.matches("\nfor.enter:[^:]*masked%.gather", llvm)
    assert.not_matches("masked.gather", loop, 1, true)
    -- The items from 11 on do nothing: their elements of x are far outside of it.
    local n = 100
    local x, counts, y = roc.full(30, 0.5, "float32"), roc.zeros(1 << 20, "int32"),
      roc.full(1 << 20, 7.0, "float32")
    for i = 1, 10 do counts[i] = 10 + i end
    local scope <close> = roc.on_device "cpu" -- luacheck: ignore
    nearest():forall(#counts)(x, counts, y)
    roc.current_device():synchronize()
    assert.equal(0.0, y[n])
    local best = 0.0
    for k = 1, 20 do
      if 0.5 * k > best then best = 0.5 * k + 1 / best end
    end
    assert.equal(best, y[10])
  end)

  it("counts in 32 bits where those do", function()
    local body = [[
      local v, k = x[i], 0
      while k < 200 and v < 4 do
        v = v * v + 0.1
        k = k + 1
      end
      counts[i] = k]]
    for target, lanes in pairs { ["cpu:x86-64-v3"] = 16, ["cpu:x86-64-v4"] = 32 } do
      local llvm = llvm_of(body, target)
      assert.matches("add <" .. lanes .. " x i32>", llvm, 1, true)
      assert.not_matches("add <" .. lanes .. " x i64>", llvm, 1, true)
    end
  end)

  it("compares a few bits of an integer of 64 without its low half", function()
    local llvm = llvm_of([[
      local v, k = n + i, 0
      while v ~= 1 do
        if v % 2 == 0 then v = v >> 1 else v = 3 * v + 1 end
        k = k + 1
      end
      counts[i] = k]], "cpu:x86-64-v4")
    assert.matches("and <16 x i64> %S+, splat %(i64 1%)", llvm)
    assert.not_matches("trunc <16 x i64>", llvm, 1, true)
  end)

  it("has masks of integers where there are no registers for bits", function()
    local body = [[
      local v, k = x[i], 0
      for step = 1, n do
        if v > 4 then goto continue end
        v = v * v + 0.1
        if v < 1 then k = k + 1 goto continue end
        k = k + 2
        ::continue::
      end
      counts[i] = k]]
    for target, has_bits in pairs { ["cpu:x86-64-v3"] = false, ["cpu:x86-64-v4"] = true } do
      local llvm = llvm_of(body, target)
      local made_of_bits = llvm:find("phi <%d+ x i1>") or llvm:find("and <%d+ x i1>")
      assert.are.equal(has_bits, made_of_bits ~= nil)
      assert.are.equal(has_bits, not llvm:find("call i%d+ @llvm.vector.reduce.or"))
    end
  end)

  it("stores at places of its items' own without branches", function()
    local llvm = llvm_of([[
      local v, k = x[i], 1
      while v > 1 do
        v = v * 0.5
        k = k * 2
        counts[k] = i
      end]], "cpu:x86-64-v3")
    assert.not_matches("masked.scatter", llvm, 1, true)
  end)

  it("keeps no old values of what is only read while a loop runs", function()
    assert.not_matches("select[^\n]*x float>", llvm_of(DIVERGENT, "cpu:x86-64-v4"))
    assert.matches("select[^\n]*x float>", llvm_of(DIVERGENT .. " x[i] = v", "cpu:x86-64-v4"))
  end)

  it("chooses once between what the branches of an item's condition set", function()
    local llvm = llvm_of([[
      local v, k = i, 0
      while v ~= 1 do
        if v % 2 == 0 then v = v >> 1 else v = 3 * v + 1 end
        k = k + 1
      end
      counts[i] = k]], "cpu:x86-64-v3")
    assert.matches("lshr <8 x i64> %%[^\n]*, splat %(i64 1%)", llvm)
    assert.not_matches("trunc <%d+ x i64> [^\n]* to <%d+ x i1>", llvm)
  end)

  it("divides integers in vectors, and one by one where a number is large", function()
    local text = [[function(out, a, b, n)
      local i = roc.get_global_id(1)
      local sum, k = 0, 0
      while k < n + i % 3 do
        sum = sum ~ ((a[i] + k) // b[i]) ~ ((a[i] - k) % b[i]) * 3
        k = k + 1
      end
      out[i] = sum
    end]]
    local edge, values = 1 << 51, {}
    for _, v in ipairs { 1, 2, 7, 100, 99999, edge // 3, edge - 2, edge - 1, edge, edge + 1,
      4 * edge + 1, math.maxinteger } do
      values[#values + 1] = v
      values[#values + 1] = -v
    end
    local n = #values * #values
    local a, b, out = roc.zeros(n, "int64"), roc.zeros(n, "int64"), roc.zeros(n, "int64")
    for i = 1, n do -- neighbours are large and small, and mostly small
      a[i], b[i] = values[(i - 1) // #values + 1], values[(i - 1) % #values + 1]
    end
    for i = 1, n // 2 do a[i] = (i * i * 977) - 5000 end
    local scope <close> = roc.on_device "cpu"
    local k = roc.kernel(text, { env = { roc = roc } })
    assert.matches("fdiv <%d+ x double>", make([[
      local m, r = counts[i], n
      while r ~= 0 do m, r = r, m % r end
      counts[i] = m]]):inspect_llvm "cpu:x86-64-v3")
    local result = roc.to_device(out)
    k:forall(n)(result, roc.to_device(a), roc.to_device(b), 1)
    for i = 1, n do
      local sum = 0
      for step = 0, i % 3 do
        sum = sum ~ ((a[i] + step) // b[i]) ~ ((a[i] - step) % b[i]) * 3
      end
      assert.are.equal(sum, result[i])
    end
  end)

  it("keeps what is in registers when it asks whether to go on", function()
    local text = [[function(o, n)
      local i = roc.get_global_id(1)
      local a, b, c = i, 0.5 * i, 0
      while c < n + i do
        c = c + 1
        a = (a * 3 + c) & 0xffffff
        if a % 2 == 0 then b = b + 1.0 else b = b - 0.25 end
      end
      o[i] = b + a
    end]]
    local scope <close> = roc.on_device "cpu"
    local out = roc.to_device(roc.zeros(16, "float64"))
    roc.kernel(text, { env = { roc = roc } }):forall(16)(out, 2000000)
    for _, i in ipairs { 1, 8, 15, 16 } do
      local a, b = i, 0.5 * i
      for c = 1, 2000000 + i do
        a = (a * 3 + c) & 0xffffff
        b = a % 2 == 0 and b + 1.0 or b - 0.25
      end
      assert.are.equal(b + a, out[i])
    end
  end)

  it("keeps conditions that all items share as branches", function()
    local llvm = make([[
      local v = x[i]
      while v < 4 do
        if n > 5 then v = v * 1.5 + 1 else v = v / 3 + 9 end
      end
      counts[i] = v > 0 and 1 or 0]]):inspect_llvm "cpu:x86-64-v4"
    assert.matches("label %%then, label %%else", llvm)
    assert.not_matches("lanes%.then", llvm)
  end)

  local SEARCHES = {
    { "a hash table", "local h = i % 65536 while counts[h + 1] > 0 and counts[h + 1] ~= n do "
      .. "h = (h + 1) % 65536 end counts[i] = h" },
    { "two strings", "local k = 0 while k < 8 and x[i + k] == x[1001 + k] do k = k + 1 end "
      .. "counts[i] = k" },
    { "a divisor", "local d = 2 while d * d <= i do if i % d == 0 then break end d = d + 1 end "
      .. "counts[i] = d" },
    { "a place in a private array", "local p = roc.private.array(16, 'float32') "
      .. "for k = 1, 16 do p[k] = x[i + k] end local j = 15 "
      .. "while j >= 1 and p[j] > p[16] do p[j + 1] = p[j] j = j - 1 end counts[i] = j" },
  }
  local CHAINS = {
    { "parents", "local p = i while counts[p] ~= p do p = counts[p] end x[i] = p" },
    { "remainders", "local a, b = i, n while b ~= 0 do a, b = b, a % b end counts[i] = a" },
    { "sums modulo a constant",
      "local a, b = 0, 1 for k = 1, i % 64 do a, b = b, (a + b) % 1000007 end counts[i] = a" },
    { "divisors, all of which are looked at",
      "local s = 0 for d = 1, i do if i % d == 0 then s = s + d end end counts[i] = s" },
    { "steps from what it loads", "local t = 0.0 while t < n do local u = x[i] + t * 0.3 "
      .. "local s = math.sqrt(u * u + t * t) - 1.5 if s > -0.01 then break end t = t - s end "
      .. "counts[i] = t > 1 and 1 or 0" },
  }

  for target, word in pairs { ["cpu:x86-64-v3"] = "AVX2", ["cpu:x86-64-v4"] = "AVX-512" } do
    it("has no lanes where items search, with " .. word, function()
      for _, case in ipairs(SEARCHES) do
        assert.not_matches("lanes%.begin", make(case[2]):inspect_llvm(target), nil, nil, case[1])
      end
    end)

    it("has lanes where items wait for what they follow, with " .. word, function()
      for _, case in ipairs(CHAINS) do
        assert.matches("lanes%.begin", make(case[2]):inspect_llvm(target), nil, nil, case[1])
      end
    end)
  end

  it("has none in loops as long as memory says, of which lanes wait for the longest", function()
    assert.not_matches("lanes%.begin", make([[
      local sum = 0.0
      for j = counts[i], counts[i + 1] - 1 do
        local u = math.floor(x[j])
        sum = sum + x[u] / x[u + 1]
      end
      x[i] = sum]]):inspect_llvm "cpu:x86-64-v4")
  end)

  local function find_best(distance)
    return roc.kernel([[function(x, y, counts, n)
      local i = roc.get_global_id(1)
      if i > #counts then return end
      local best, which = 1e30, 0
      for c = 1, n do
        local sum = 0.0
        ]] .. distance .. [[
        if sum < best then best, which = sum, c end
      end
      counts[i] = which
    end]], { env = { roc = roc }, check = false, number = "float32",
      signature = "(float32[:], float32[:], int32[:], int64)" })
      :inspect_llvm("cpu:x86-64-v3", "opt")
  end

  it("keeps a loop in the item that decides by what its items share", function()
    local llvm, nloads = find_best [[
      for f = 1, 4 do
        local d = x[4 * i + f] - y[4 * c + f]
        sum = sum + d * d
      end]]
    for block in llvm:gmatch("\n%w+:[^\n]*\n.-\n\n") do
      if block:find("phi <16 x float>", 1, true) then
        nloads = select(2, block:gsub("= load float", ""))
      end
    end
    assert.are.equal(4, nloads) -- of y: those of x are made before the loop
  end)

  it("turns a loop inside out in which each item goes through memory of its own", function()
    assert.not_matches("<16 x float>", find_best "sum = x[(c - 1) * #counts + i]", 1, true)
  end)

  it("has none where LLVM's vectors do as well", function()
    local llvm = make("counts[i] = x[i] > 0.5 and 1 or 2"):inspect_llvm "cpu:x86-64-v4"
    assert.not_matches("x i64>", llvm)
  end)

  it("takes ROCLUA_CPU_LANES", function()
    local function run(value)
      return select(2, programs.run(programs.lua([[
        local k = require "roc".kernel("function(x, n) local k = 0 "
          .. "while x[k % #x + 1] < n do k = k + 1 end x[1] = k end",
          { env = {}, check = false, signature = "(int64[:], int64)" })
        print(k:inspect_llvm "cpu":find "<4 x i64>" and "vectors" or "items")]],
        "ROCLUA_DEVICE=cpu ROCLUA_CPU_LANES=" .. value)))
    end
    assert.matches("items", run("1"))
    assert.matches("vectors", run("4"))
    assert.matches("ROCLUA_CPU_LANES is 'many', expected a number from 1 to 32", run("many"))
  end)
end)
