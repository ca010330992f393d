-- Guards on the CPU: where a condition holds for a range of the items of a row, the loop runs over
-- that range (codegen/cpu/split.c).
local roc = require "roc"

local FORMS = {
  ["i <= #o"] = "if i <= #o then o[i] = x[i] + y[i] end",
  ["an early return"] = "if i > n then return end o[i] = x[i] + y[i]",
  ["two conditions"] = "if i > 1 and i < #o then o[i] = x[i - 1] + y[i + 1] end",
  ["two returns"] = "if i < 2 or i > n then return end o[i] = x[i - 1] + y[i]",
  ["nested conditions"] = "if i > 1 then if i < #o then o[i] = x[i] + y[i] end end",
  ["a condition in a local"] = "local is_inside = i >= 3 and i <= n "
    .. "if is_inside then o[i] = x[i] + y[i] end",
  ["not"] = "if not (i > n) then o[i] = x[i] + y[i] end",
  ["a sum that may wrap around"] = "if i + n <= 100 then o[i] = x[i] + y[i] end",
  ["one item"] = "if i == n then o[i] = x[i] + y[i] else o[i] = x[i] - y[i] end",
  ["an else"] = "if i <= n then o[i] = x[i] + y[i] else o[i] = x[i] end",
  ["an else under a guard"] = "if i > #o then return end "
    .. "if i <= n then o[i] = x[i] + y[i] else o[i] = x[i] end",
  ["what follows"] = "local v = 0.0 if i <= n then v = x[i] end o[i] = v + y[i]",
  ["a flag"] = "if n > 5 then o[i] = x[i] + y[i] end",
}

local function source(body)
  return "function(x, y, o, n) local i = roc.get_global_id(1) " .. body .. " end"
end

local function make(body, check)
  return roc.kernel(source(body), { env = { roc = roc }, check = check,
    signature = "(float32[:], float32[:], float32[:], int64)" })
end

describe("a guard", function()
  for _, target in ipairs { "cpu:x86-64-v3", "cpu:x86-64-v4" } do
    for name, body in pairs(FORMS) do
      it(("is no mask on %s: %s"):format(target, name), function()
        local llvm = make(body, false):inspect_llvm(target, "opt")
        assert.matches(target:find("v4") and "load <16 x float>" or "load <8 x float>", llvm)
        assert.not_matches("masked", llvm)
      end)
    end

    it("is no mask on " .. target .. " around a stencil of two dimensions", function()
      local k = roc.kernel([[function(a, b)
        local j, i = roc.grid(2)
        if i > 1 and i < #a and j > 1 and j < a.shape[2] then
          b[i][j] = a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]
        end
      end]], { env = { roc = roc }, signature = "(float32[:, :], float32[:, :])" })
      assert.not_matches("masked", k:inspect_llvm(target, "opt"))
    end)
  end
end)

describe("the range of a guard", function()
  local function run(device, kernel, n)
    local scope <close> = roc.on_device(device)
    local o = roc.to_device(roc.zeros({ 6, 40 }, "int64"))
    kernel:launch({ grid = { 40, 6 }, workgroup = { 16, 4 } }, o, n)
    return o:copy_to_host():totable()
  end

  local CONDITIONS = {
    "i <= n", "i < n", "i >= n", "i > n", "n - i >= 0", "3 * i - 7 <= n", "n < 4 - 2 * i",
    "i + n <= 20", "i - n <= 20", "i + n > n", "-i < n", "n * i <= 30", "i == n", "i ~= n",
    "i <= n and j <= 4", "i > 2 and i < n and j > 1", "not (i > n or j == 3)",
    "l <= n and l > 2", "i <= n or j <= 2", "math.maxinteger - i >= n", "math.mininteger + i < n",
    "j + n >= i", "(i < n) == (j < 5)",
    "(i - 1) % (n | 1) == 0", "l % (n | 1) == 3 and l > 4", "2 == (i + j) % (3 * n | 9)",
    "l % (n | 1) == n and i <= 30", "(i - 1) % 8 == 5",
    "2 * n * (l - 1) + 1 <= 64 - n", "30 <= n * i - j", "n * i <= n * n + l", "n * l == 51",
    "n * i - n * l >= n and i < 35",
  }
  local NUMBERS = { 0, 2, 17, 33, 41, -17, math.maxinteger, math.mininteger, math.maxinteger - 5,
    math.mininteger + 9 }
  local WAYS = {
    "if %s then o[j][i] = i * 100 + j end",
    "if not (%s) then return end o[j][i] = i * 100 + j",
    "if %s then o[j][i] = i * 100 + j else o[j][i] = o[j][i] - i end",
    "if i > 3 and l < 15 then if %s then o[j][i] = i else o[j][i] = -i end end",
    "local v = 5 if %s then v = o[j][i] + 7 end o[j][i] = v",
  }

  for _, condition in ipairs(CONDITIONS) do
    it("is right for " .. condition, function()
      for w, way in ipairs(WAYS) do
        local text = ("function(o, n) local i, j = roc.grid(2) local l = roc.get_local_id(1) "
          .. "%s end"):format(way:format(condition))
        local kernel = roc.kernel(text, { env = { roc = roc, math = math }, check = w % 2 == 0 })
        for _, n in ipairs(NUMBERS) do
          assert.same(run("sim", kernel, n), run("cpu", kernel, n), ("%s, n = %d"):format(text, n))
        end
      end
    end)
  end
end)

describe("guards that hold for every nth item", function()
  it("are no division of each item", function()
    local kernel = roc.kernel(function(x, out)
      local t = roc.shared.array(256, "float32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      t[l] = x[i]
      local s = 1
      while s < 256 do
        roc.barrier()
        if (l - 1) % (2 * s) == 0 then t[l] = t[l] + t[l + s] end
        s = 2 * s
      end
      out[i] = t[1]
    end, { check = false, signature = "(float32[:], float32[:])" })
    assert.not_matches("srem", kernel:inspect_llvm("cpu:x86-64-v3", "opt"))
  end)
end)

describe("guards whose operands grow by what is known at run time", function()
  it("are bounds, which are computed once for a row", function()
    local kernel = roc.kernel(function(x, out)
      local t = roc.shared.array(256, "float32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      t[l] = x[i]
      local s = 1
      while s < 256 do
        roc.barrier()
        local k = 2 * s * (l - 1) + 1
        if k <= 256 - s then t[k] = t[k] + t[k + s] end
        s = 2 * s
      end
      out[i] = t[1]
    end, { signature = "(float32[:], float32[:])" })
    assert.matches("sat%.i64", kernel:inspect_llvm("cpu:x86-64-v3", "opt"))
  end)
end)

describe("guards that hold for single items", function()
  local function halo(x, o)
    local t = roc.shared.array(258, "float32")
    local i, l = roc.get_global_id(1), roc.get_local_id(1)
    if i <= #x then t[l + 1] = x[i] end
    if l == 1 and i > 1 then t[1] = x[i - 1] end
    if l == 256 and i < #x then t[258] = x[i + 1] end
    roc.barrier()
    if i > 1 and i < #x then o[i] = t[l] + t[l + 1] + t[l + 2] end
  end

  it("leave the loops over the other items as they are", function()
    for _, check in ipairs { true, false } do
      local kernel = roc.kernel(halo, { check = check, signature = "(float32[:], float32[:])" })
      local llvm = kernel:inspect_llvm("cpu:x86-64-v4", "opt")
      assert.matches("load <%d+ x float>.-store <%d+ x float>.-load <%d+ x float>", llvm)
      assert.not_matches("masked", llvm)
    end
  end)
end)

describe("guards that hold for a few items", function()
  local function halo(x, o)
    local t = roc.shared.array(272, "float32")
    local i, l = roc.get_global_id(1), roc.get_local_id(1)
    t[l + 8] = x[i]
    if l <= 8 and i > 8 then t[l] = x[i - 8] end
    if l > 248 and i <= #x - 8 then t[l + 16] = x[i + 8] end
    roc.barrier()
    if i > 8 and i <= #x - 8 then o[i] = t[l] + t[l + 8] + t[l + 16] end
  end

  it("leave no items that have their turn one by one", function()
    local kernel = roc.kernel(halo, { check = false, signature = "(float32[:], float32[:])" })
    assert.not_matches("\nside", kernel:inspect_llvm "cpu:x86-64-v3")
  end)

  it("have the results of items one by one", function()
    local function run(device)
      local scope <close> = roc.on_device(device) -- luacheck: ignore
      local x, o = roc.range(1, 1024), roc.zeros(1024, "float32")
      roc.kernel(halo):launch({ grid = 1024, workgroup = 256 }, x:astype "float32", o)
      roc.current_device():synchronize()
      return o:totable()
    end
    assert.same(run "sim", run "cpu")
  end)
end)

describe("what guards leave", function()
  it("is looked at only where some row has it", function()
    for _, guard in ipairs { "base + i <= #b", "i <= n" } do
      local kernel = roc.kernel(([[function(a, b, n)
        local i, base = roc.get_local_id(1), (roc.get_group_id(1) - 1) * 16
        if %s then b[base + i] = a[base + i] %s end
      end]]):format(guard, guard == "i <= n" and "else b[base + i] = 1 a[base + i] = 2" or ""),
        { env = { roc = roc }, check = false, signature = "(float32[:], float32[:], int64)" })
      assert.matches("br i1 %%%w+, label %%rest, label %%after",
        kernel:inspect_llvm "cpu:x86-64-v3")
    end
  end)
end)

describe("guards of rows and columns", function()
  local FORMS = {
    "if y == 2 then t[1][x] = i > 1 and a[i - 1][j] or 0 end",
    "if y == 9 and j > 2 then t[10][x] = i < h and a[i + 1][j] or 0 end",
    "if x == 2 then t[y][1] = j > 1 and a[i][j - 1] or 0 end",
    "if x == 2 and y > 3 then t[y][1] = j end",
    "if y > n then t[y][x] = 7 + j end",
    "if y > n and x <= n + 3 then t[y][x] = 7 * i + j end",
    "if y > n and z < n then t[y][x] = 7 * z + j else t[1][1] = 3 end",
    "if y >= 3 and y < 8 and (y == 5 or x == 4) then t[y][x] = j - i end",
    "if y <= n * z and x == y then t[y][x] = z end",
    "if y - n < 4 then if x >= n then t[y][x] = -j else t[y][x] = j * 5 end end",
    "if y + n > n then t[y][x] = 3 end",
    "if n * y < 20 then t[y][x] = -5 end",
    "if z == 1 then t[y][x] = 11 end",
    "for k = 1, 5 do if y > k then t[y][x] = t[y][x] + k end roc.barrier() end",
    "for k = 1, 5 do if y > k and x >= k then t[y][x] = t[y][x] - k * n end roc.barrier() end",
  }
  for _, check in ipairs { true, false } do
    for _, form in ipairs(FORMS) do
      it(("hold for the items they say, check = %s: %s"):format(check, form), function()
        local text = ([[function(a, o, n)
          local t = roc.shared.array({ 10, 20 }, "float32")
          local j, i = roc.grid(2)
          local x, y, z = roc.get_local_id(1) + 1, roc.get_local_id(2) + 1, roc.get_local_id(3)
          local h, g = a.shape[1], roc.get_group_id(3)
          if x == 2 and y == 2 and z == 1 then
            for p = 1, 10 do for q = 1, 20 do t[p][q] = 100 * p + q end end
          end
          roc.barrier()
          %s
          roc.barrier()
          if i <= h and j <= a.shape[2] then
            o[z][i][j] = t[y][x] + t[1][x] * 3 + t[10][x] * 5 + t[y][1] * 7 + g
          end
        end]]):format(form:find "barrier" and form
          or ("if i <= h and j <= a.shape[2] and z == 1 then %s end"):format(form))
        local kernel = roc.kernel(text, { env = { roc = roc }, check = check })
        local function run(device, n)
          local scope <close> = roc.on_device(device) -- luacheck: ignore
          local a, o = roc.zeros({ 13, 37 }, "float32"), roc.zeros({ 2, 13, 37 }, "float32")
          for p = 1, 13 do for q = 1, 37 do a[p][q] = p * 50 + q end end
          kernel:launch({ grid = { 48, 16 }, workgroup = { 16, 8 } }, a, o, n)
          roc.current_device():synchronize()
          return o:totable()
        end
        for _, n in ipairs { 3, 0, 9, -4, math.maxinteger, math.mininteger } do
          assert.same(run("sim", n), run("cpu", n))
        end
      end)
    end
  end
end)

describe("what vectors leave of a short row", function()
  local function blurred(x, weights, o)
    local j, i = roc.grid(2)
    if i < 3 or j < 3 or i > x.shape[1] - 2 or j > x.shape[2] - 2 then return end
    local sum = 0.0
    for y = 1, 5 do
      for k = 1, 5 do sum = sum + weights[y][k] * x[i + y - 3][j + k - 3] end
    end
    o[i][j] = sum
  end

  local function added(x, weights, o)
    local j, i = roc.grid(2)
    if i > x.shape[1] or j > x.shape[2] then return end
    o[i][j] = x[i][j] + weights[1][1]
  end

  local function llvm_of(f, target)
    return roc.kernel(f, { signature = "(float32[:,:], float32[:,:], float32[:,:])",
      number = "float32", check = false }):inspect_llvm(target, "opt")
  end

  it("is a vector with a mask where items do much, with AVX-512", function()
    assert.matches("llvm.masked.store.v16f32", llvm_of(blurred, "cpu:x86-64-v4"), 1, true)
    assert.not_matches("llvm.masked.store", llvm_of(added, "cpu:x86-64-v4"), 1, true)
    assert.not_matches("llvm.masked.store", llvm_of(blurred, "cpu:x86-64-v3"), 1, true)
  end)

  it("is one, too, in a tile without its border", function()
    local function middle(x, weights, o)
      local t = roc.shared.array({ 16, 16 }, "float32")
      local k, l = roc.get_local_id(1), roc.get_local_id(2)
      local j, i = roc.grid(2)
      t[l][k] = x[i][j]
      roc.barrier()
      if k > 1 and k < 16 then o[i][j] = t[l][k - 1] + t[l][k + 1] * weights[1][1] end
    end
    assert.matches("llvm.masked.store.v16f32", llvm_of(middle, "cpu:x86-64-v4"), 1, true)
  end)

  it("has the results of items one by one", function()
    for _, width in ipairs { 5, 6, 21, 37, 64 } do
      local function run(device)
        local scope <close> = roc.on_device(device) -- luacheck: ignore
        local x, weights = roc.zeros({ 9, width }, "float32"), roc.zeros({ 5, 5 }, "float32")
        local o = roc.full({ 9, width }, -1.0, "float32")
        for i = 1, 9 do
          for j = 1, width do x[i][j] = i * 8 + j end
        end
        for i = 1, 25 do weights[(i - 1) // 5 + 1][(i - 1) % 5 + 1] = i end
        roc.kernel(blurred, { number = "float32" })
          :launch({ grid = { width, 9 }, workgroup = { 16, 4 } }, x, weights, o)
        roc.current_device():synchronize()
        return o:totable()
      end
      assert.same(run "sim", run "cpu")
    end
  end)
end)
