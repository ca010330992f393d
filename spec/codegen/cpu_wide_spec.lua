-- Loops around items and checks settled per group: what the CPU target makes of them, and that the
-- results stay those of items that run one after the other.
local roc = require "roc"
local compiler = require("roc.core").testing.compiler

local function dump(text, stage) return compiler.ir_dump(text, "cpu", stage) end

-- c[i][j] = sum over k of a[i][k] * b[k][j], guarded by c's shape; unchecked, a and b may be
-- smaller.
local function matmul(flags, checks)
  return ([[
kernel product(a.0: float32[2] c read narrow, b.1: float32[2] c read narrow, c.2: float32[2] c written narrow) %s contract
  array a.0 = param a.0
  array b.1 = param b.1
  array c.2 = param c.2
  var sum.0: f32
  var k.1: int
  site 0 index "m.lua" 5 9 dim 1 values 2 name "a"
  site 1 index "m.lua" 5 9 dim 2 values 2 name "b"
  %%0: int = global_id 0
  %%1: int = global_id 1
  %%2: int = extent c.2 0
  %%3: int = extent c.2 1
  %%4: int = extent a.0 1
  %%5: bool = le %%1 %%2
  %%6: bool = le %%0 %%3
  %%7: bool = const false
  %%8: bool = select %%5 %%6 %%7
  if %%8
    %%9: f32 = const 0
    set sum.0 %%9
    %%10: int = const 1
    %%11 = for k.1 %%10 %%4 %%10
      %%12: int = get k.1
      %%13: f32 = get sum.0
      %s
      %%14: f32 = load a.0 %%1 %%12
      %%15: f32 = load b.1 %%12 %%0
      %%16: f32 = mul %%14 %%15
      %%17: f32 = add %%13 %%16
      set sum.0 %%17
    end
    %%18: f32 = get sum.0
    store c.2 %%18 %%1 %%0
  end
end
]]):format(flags, checks)
end

local CHECKS = "check.index a.0 0 #0 %1\n      check.index b.1 1 #1 %0"

describe("loops around items", function()
  it("are made of a sequential loop, whose items then run in vectors", function()
    local text = dump(matmul("", ""), "asm")
    assert.truthy(text:find("vfmadd%d+ps"), text)
    assert.truthy(dump(matmul("", ""), "llvm"):find("row.for"))
  end)

  it("ask no item where the condition around them has bounds", function()
    local text = dump(matmul("", ""), "llvm")
    assert.truthy(text:find("row.some"), text)
    assert.falsy(text:find("row.mixed"), text)
  end)

  it("are vectorised as well when the kernel is checked", function()
    assert.truthy(dump(matmul("check", CHECKS), "asm"):find("vfmadd%d+ps"))
  end)
end)

describe("checks that hold for a whole group", function()
  it("are left out of its loops", function()
    local text = dump(matmul("check", CHECKS), "llvm")
    local clear = assert(text:match("\nclear:(.-)\ncold:"), text)
    assert.falsy(clear:find("\nfail"), clear)
    assert.truthy(text:match("\ncold:(.*)"):find("\nfail"))
  end)

  it("may follow from a guard of another sum with the same id", function()
    local k = roc.kernel(function(x)
      local at = (roc.get_global_id(1) - 1) * 4
      if at + 4 <= #x then x[at + 1], x[at + 2] = x[at + 3], x[at + 4] end
    end, { signature = "(float32[::1])" })
    local text = k:inspect_llvm("cpu", "raw")
    assert.truthy(text:find("call i64 @llvm.sadd.sat.i64", 1, true), text)
  end)
end)

local N = 200
local sequence = {}
for i = 1, N do sequence[i] = i end

-- Runs a kernel over N items that fills an integer array of N, and gives it as a table.
local function run(kernel, ...)
  local out = roc.device_array(N, "int64")
  kernel:launch({ grid = N, workgroup = 48 }, out, ...)
  local host, list = out:copy_to_host(), {}
  for i = 1, N do list[i] = host[i] end
  return list
end

local function expect(f)
  local list = {}
  for i = 1, N do list[i] = f(i) end
  return list
end

for _, check in ipairs { true, false } do
  describe("a loop in a kernel, check=" .. tostring(check), function()
    local data = roc.to_device(roc.array(sequence, "int64"))
    local function kernel(f) return roc.kernel(f, { check = check }) end

    it("may run as often as its item says", function()
      local triangle = kernel(function(out, x)
        local i, sum = roc.get_global_id(1), 0
        for k = 1, i do sum = sum + x[k] * k end
        out[i] = sum
      end)
      assert.same(expect(function(i)
        local sum = 0
        for k = 1, i do sum = sum + k * k end
        return sum
      end), run(triangle, data))
    end)

    it("may begin at its item, stride, and count down", function()
      local stride = kernel(function(out, x)
        local i, sum = roc.get_global_id(1), 0
        for k = i, #x, 7 do sum = sum * 3 + x[k] end
        for k = i, 1, -5 do sum = sum * 5 + x[k] end
        out[i] = sum
      end)
      assert.same(expect(function(i)
        local sum = 0
        for k = i, N, 7 do sum = sum * 3 + k end
        for k = i, 1, -5 do sum = sum * 5 + k end
        return sum
      end), run(stride, data))
    end)

    it("may stand under a condition that scattered items meet", function()
      local scattered = kernel(function(out, x)
        local i = roc.get_global_id(1)
        local sum = 0
        if x[i] * 7 % 5 < 2 then
          for k = 1, 40 do sum = sum + x[k] * i end
        else
          for k = 3, 60 do sum = sum - x[k] end
        end
        out[i] = sum
      end)
      assert.same(expect(function(i)
        local sum = 0
        if i * 7 % 5 < 2 then
          for k = 1, 40 do sum = sum + k * i end
        else
          for k = 3, 60 do sum = sum - k end
        end
        return sum
      end), run(scattered, data))
    end)

    it("may stand under a condition that a range of the items meets", function()
      for _, bounds in ipairs { { 17, 131 }, { 1, N }, { 60, 60 }, { 70, 65 }, { -9, 500 } } do
        local from, to = bounds[1], bounds[2]
        local ranged = kernel(function(out, x, from, to)
          local i, sum = roc.get_global_id(1), 0
          if i >= from and i <= to and 2 * i <= #x + 100 then
            for k = i, 160, 3 do sum = sum * 3 + x[k] end
          else
            for k = 1, 9 do sum = sum - x[k] * i end
          end
          if from < i then
            for k = 1, 20 do sum = sum + x[k] end
          end
          out[i] = sum
        end)
        assert.same(expect(function(i)
          local sum = 0
          if i >= from and i <= to and 2 * i <= N + 100 then
            for k = i, 160, 3 do sum = sum * 3 + k end
          else
            for k = 1, 9 do sum = sum - k * i end
          end
          return from < i and sum + 210 or sum
        end), run(ranged, data, from, to))
      end
    end)

    it("may follow items that have returned, and hold another loop", function()
      local nested = kernel(function(out, x)
        local i = roc.get_global_id(1)
        out[i] = -1
        if x[i] % 3 == 0 then return end
        local sum = 0
        for k = 1, i % 30 do
          for l = k, 25 do sum = sum + x[l] * k end
        end
        out[i] = sum
      end)
      assert.same(expect(function(i)
        if i % 3 == 0 then return -1 end
        local sum = 0
        for k = 1, i % 30 do
          for l = k, 25 do sum = sum + l * k end
        end
        return sum
      end), run(nested, data))
    end)

    it("keeps what each item has in private memory", function()
      local private = kernel(function(out, x)
        local i = roc.get_global_id(1)
        local mine = roc.private.array(2, roc.int64)
        for k = 1, 40 do
          if k == 1 then mine[1] = i end
          mine[1] = mine[1] * 3 + x[k] * i
          out[i] = mine[1]
        end
      end)
      assert.same(expect(function(i)
        local mine = i
        for k = 1, 40 do mine = mine * 3 + k * i end
        return mine
      end), run(private, data))
    end)
  end)
end

describe("a loop by a step", function()
  -- Reads x[k + lid - 1] in tiles of the workgroup's size, which end where x ends.
  local function tiled(loop)
    return roc.kernel(([[function(x, out, n)
      local tile, l = roc.shared.array(64, "int64"), roc.get_local_id(1)
      local w, sum = roc.get_local_size(1), 0
      %s
        tile[l] = x[k + l - 1]
        roc.barrier()
        for j = 1, w do sum = sum * 3 + tile[j] end
        roc.barrier()
      %s
      out[roc.get_global_id(1)] = sum
    end]]):format(table.unpack(loop)), { env = { roc = roc } })
  end
  local FOR = { "for k = 1, n, w do", "end" }
  local WHILE = { "local k = 1 while k <= n do", "k = k + w end" }

  for name, loop in pairs { ["for"] = FOR, ["while"] = WHILE } do
    it(name .. " ends at the last step within its bound, for checks too", function()
      local x = roc.to_device(roc.array(sequence, "int64"))
      local out = roc.to_device(roc.zeros(N, "int64"))
      local kernel = tiled(loop)
      local last = N - N % 16
      kernel:launch({ grid = 32, workgroup = 16 }, x, out, last)
      local sum = 0
      for k = 1, last do sum = sum * 3 + sequence[k] end
      assert.equal(sum, out:copy_to_host()[20])
      -- the value of the last turn is computed, not taken to be the bound
      local text = kernel:inspect_llvm("cpu:x86-64-v3")
      assert.truthy(text:find("ssub%.with%.overflow[^\n]*\n.-urem i64.-\nclear"))
    end)

    it(name .. " fails where its last turn goes beyond the array", function()
      local x = roc.to_device(roc.array(sequence, "int64"))
      local out = roc.to_device(roc.zeros(N, "int64"))
      tiled(loop):launch({ grid = 32, workgroup = 16 }, x, out, N - N % 16 + 1)
      local ok, message = pcall(out.copy_to_host, out)
      assert.is_false(ok)
      assert.matches("index " .. N + 1, message)
    end)
  end
end)

describe("a check that fails in a loop around items", function()
  it("ends its item in that iteration, and no other item", function()
    local x = roc.to_device(roc.array(sequence, "int64"))
    local seen = roc.to_device(roc.zeros(N, "int64"))
    local kernel = roc.kernel(function(x, seen)
      local i = roc.get_global_id(1)
      for k = 1, 50 do
        seen[i] = k
        if x[i + k] < 0 then seen[i] = -1 end
      end
    end)
    kernel:launch({ grid = N, workgroup = 48 }, x, seen)
    local ok, message = pcall(seen.copy_to_host, seen)
    assert.is_false(ok)
    assert.truthy(tostring(message):find("x", 1, true))
    local host = seen:copy_to_host()
    for i = 1, N do assert.equal(math.min(50, N - i + 1), host[i]) end
  end)
end)
