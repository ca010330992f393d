-- Operations on large host arrays are computed when their results are needed, several in one
-- kernel. Nothing but time and memory may tell.
local roc = require "roc"
local core = require "roc.core"
local files = require "support.files"
local json = require "support.json"
local kernels_made = require "support.kernels_made"
local pending_operations = require "support.pending_operations"
local programs = require "support.programs"
local shell = require "support.shell"
local arrays = require "support.fuzz.arrays"

local testing = core.testing
local N = 8192 -- more elements than what is computed at once
local AT_ONCE, SEPARATE, FUSED = math.maxinteger, math.maxinteger, 0

local function ones(dtype) return roc.ones(N, dtype or "float32") end

local double = roc.kernel(function(a)
  local i = roc.get_global_id(1)
  if i <= #a then a[i] = a[i] * 2 end
end)

-- The names of the kernels that f launches.
local function launched(f)
  local path, names = os.tmpname(), {}
  local trace = roc.trace(path)
  local ok, why = pcall(f)
  trace:close()
  for _, event in ipairs(json.read(files.read(path)).traceEvents) do
    if event.cat == "kernel" then names[event.name] = true end
  end
  os.remove(path)
  assert(ok, why)
  return names
end

describe("Operations on host arrays", function()
  local least, work
  local function set_work(value) testing.lazy(1, value) end

  setup(function() return (ones() + 1) * 2 end) -- loads what operations are
  before_each(function()
    collectgarbage()
    collectgarbage() -- what other specs have left pending
    least, work = testing.lazy(1, SEPARATE)
  end)
  after_each(function() testing.lazy(least, work) end)

  it("are computed when they are looked at, and not before", function()
    local x = ones()
    local before = testing.pending()
    local y = x * 2 + 1
    assert.equal(before + 2, testing.pending())
    assert.same({ N }, y.shape)
    assert.equal("float32", y.dtype.name)
    assert.equal(N, #y)
    local row = y:reshape(2, N // 2)[2]
    assert.equal(before + 2, testing.pending())
    assert.equal(3, row[7])
    assert.equal(before, testing.pending()) -- the views share it
    assert.equal(3, y[1])
  end)

  it("are computed by eval, which gives the array", function()
    local before = testing.pending()
    local y = ones() + 1
    assert.equal(y, y:eval())
    assert.equal(before, testing.pending())
    local d = roc.to_device(y)
    assert.equal(d, d:eval())
  end)

  it("become one kernel, whatever the extents and numbers", function()
    set_work(FUSED)
    local function f(n, c)
      local x, y = roc.full(n, 3, "float64"), roc.full(n, 4, "float64")
      return roc.math.sqrt(x * x + y * y) * c + roc.math.exp(-(x - x))
    end
    assert.equal(1, kernels_made(function() assert.equal(11, f(N, 2)[1]) end))
    assert.equal(0, kernels_made(function() assert.equal(16, f(N + 5, 3)[N + 5]) end))
  end)

  it("are computed one by one until a kernel is worth it", function()
    local x = ones()
    local function f() return ((x + 2) * (x + 3))[1] end
    f()
    set_work(10 * 3 * N)
    local rounds = 0
    repeat
      local count = kernels_made(f)
      rounds = rounds + 1
    until count > 0 or rounds > 20
    assert.equal(9, rounds) -- the tenth time, the first one included
  end)

  it("that are wanted together, and what they share, are one kernel", function()
    set_work(FUSED)
    local add = roc.kernel(function(o, a, b)
      local i = roc.get_global_id(1)
      if i <= #o then o[i] = o[i] + a[i] * b[i] end
    end)
    local function make(n)
      local x, y = roc.ones(n), roc.full(n, 2)
      local part = x * y + 1
      return part + x, part - y, part
    end
    assert.equal(1, kernels_made(function() roc.eval(make(N + 5)) end))
    for _, want in ipairs {
      function(a, b, part) assert.equal(a, (roc.eval(a, b, part))) end,
      function(a, b, part) add:forall(N)(roc.zeros(N), a, b) part:eval() end,
    } do
      local a, b, part = make(N)
      local before = testing.pending()
      want(a, b, part)
      assert.equal(before - 4, testing.pending())
      assert.same({ 4, 1, 3 }, { a[N], b[1], part[N] })
    end
  end)

  it("store a part that is needed again in the pass that needs it", function()
    set_work(FUSED)
    local x = ones()
    local part = (x + 1) * 2
    local first, second, third = part + 1, part * part, part - 1
    local before = testing.pending()
    assert.equal(5, first[1])
    assert.equal(before - 1, testing.pending()) -- the part is not stored at first
    assert.equal(1, kernels_made(function() assert.equal(16, second[1]) end))
    x:fill(9) -- which no longer matters to the part
    assert.equal(0, kernels_made(function() assert.equal(4, part[N]) end))
    assert.equal(3, third[N])
  end)

  it("that are wanted together fail by themselves, and go on where memory is short", function()
    set_work(FUSED)
    local x, zeros = ones "int32", roc.zeros(N, "int32")
    local good, bad = x + 5, x // (zeros * x)
    assert.error_matches(function() roc.eval(bad, good) end, "divide by zero")
    assert.error_matches(function() roc.eval(good, bad) end, "divide by zero")
    assert.equal(6, good[N])
    for n = 1, 40 do
      local a = x + 1
      local b, c = a * 2, a * 3
      testing.fail_alloc(n)
      pcall(roc.eval, b, c)
      testing.fail_alloc(0)
      assert.equal(4, b[N])
      assert.equal(6, c[1])
    end
    assert.error_matches(function() roc.eval(x, 5) end, "bad argument #2 to 'eval'")
  end)

  it("compute a common part once", function()
    set_work(FUSED)
    local x = ones()
    local part = x + 1
    local before = testing.pending()
    local a, b = part * 2, part * 3
    assert.equal(4, a[1])
    assert.equal(6, b[2]) -- it was a part of another kernel, and has become memory
    assert.equal(before - 1, testing.pending())
    assert.equal(2, part[3])
  end)

  describe("of which elements are combined", function()
    local function eager(f)
      local before, usual = testing.lazy(AT_ONCE, AT_ONCE)
      local result = f()
      testing.lazy(before, usual)
      return result
    end
    local function same(a, b)
      if type(a) == "number" then return a == b or a ~= a and b ~= b end
      return a.dtype == b.dtype and table.concat(a.shape, "x") == table.concat(b.shape, "x")
        and (a:eq(b) | (a:ne(a) & b:ne(b))):all()
    end

    local ARRAYS = {
      function() return roc.math.sin(roc.range(1, 9000)):astype "float32" end,
      function() return roc.math.sin(roc.range(1, 9000)):reshape(90, 100) end,
      function() return (roc.range(1, 9000) % 7):reshape(100, 90):transpose() end,
      function() return roc.range(1, 9000):astype("int8"):reshape(3, 30, 100) end,
      function() return roc.math.cos(roc.range(1, 9000)):reshape(1500, 6) end,
      function() return roc.range(1, 9000):reshape(9000, 1) end,
    }
    local EXPRESSIONS = {
      function(a) return a * 3 end,
      function(a) return a * a - roc.math.abs(a) / 2 end,
      function(a) return a + a[{ { 1, 1 } }] end, -- broadcast along the first dimension
      function(a) return roc.maximum(a * 2, 5) end,
    }
    local REDUCTIONS = { "sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std",
      "norm" }

    it("become one kernel with the reduction's first pass, of the same bits", function()
      set_work(FUSED)
      for i, make in ipairs(ARRAYS) do
        local a = make():eval()
        for j, expression in ipairs(EXPRESSIONS) do
          local at = 4 * i + j
          local name, axis = REDUCTIONS[at % #REDUCTIONS + 1], at % (a.ndim + 1)
          local options = { axis = axis > 0 and axis or nil, keep = at % 3 == 0 }
          local function f()
            local e = expression(a)
            return e[name](e, options)
          end
          assert(same(eager(f), f()), name .. i .. j)
        end
      end
    end)

    it("are counted, and of two arrays multiplied", function()
      set_work(FUSED)
      local a, b = roc.math.sin(roc.range(1, 9000)):eval(), roc.range(1, 9000)
      local FUNCTIONS = {
        function() return a:gt(0.5):count() end, function() return a:gt(2):any() end,
        function() return a:lt(2):all() end, function() return a:dot(b * 2) end,
        function() return (a * 2):dot(a - 1) end, function() return (b * a):dot(b) end,
      }
      for _, f in ipairs(FUNCTIONS) do
        assert.equal(eager(f), f())
        assert.equal(0, kernels_made(f))
      end
    end)

    it("stay pending, and become memory when they are needed again", function()
      set_work(FUSED)
      local x = ones()
      local part = x * 2
      local y = part + 1
      local before = testing.pending()
      assert.equal(3 * N, y:sum())
      assert.equal(before, testing.pending())
      assert.equal(3, y:max())
      assert.equal(before - 1, testing.pending()) -- y alone: in one kernel, with its part
      assert.equal(3, y[5])
      assert.equal(2, part[5])
    end)

    it("compute a common part once", function()
      set_work(FUSED)
      local x = ones()
      local part = x + 1
      local double, triple = part * 2, part * 3
      local before = testing.pending()
      assert.equal(4 * N, double:sum())
      assert.equal(before, testing.pending())
      assert.equal(6 * N, triple:sum())
      assert.equal(before - 1, testing.pending()) -- the part has become memory
      assert.equal(2, part[1])
    end)

    it("keep their operands' values when these are written", function()
      set_work(FUSED)
      local x = ones()
      local y = x * 2
      x:fill(7)
      assert.equal(2 * N, y:sum())
    end)

    it("give their result or an error when allocations fail", function()
      set_work(FUSED)
      local x = ones()
      local function f() return (x * 2 + 1):sum() end
      assert.equal(3 * N, f())
      for n = 1, 40 do
        testing.fail_alloc(n)
        local ok, result = pcall(f)
        testing.fail_alloc(0)
        if ok then
          assert.equal(3 * N, result)
        else
          assert.matches("memory", tostring(result))
        end
      end
      assert.equal(3 * N, f())
    end)

    it("are computed first where a line is no one loop", function()
      set_work(FUSED)
      local rows, columns = roc.ones { 90, 1 }, roc.ones { 100 }
      local sum, again = rows + columns, rows + columns
      local before = testing.pending()
      assert.equal(18000, sum:sum())
      assert.equal(before - 1, testing.pending())
      assert.equal(200, again:sum { axis = 2 }[90])
      assert.equal(before - 1, testing.pending())
    end)
  end)

  describe("keep their operands' values when these are", function()
    local WRITES = {
      ["assigned an element"] = function(x) x[1] = 50 end,
      ["filled"] = function(x) x:fill(50) end,
      ["written through a view"] = function(x) x:slice(1, 1, N, 2):fill(50) end,
      ["assigned a range"] = function(x) x[{ { 1, 5 } }] = 50 end,
      ["assigned an array"] = function(x) x[{ {} }] = roc.full(N, 50, "float32") end,
      ["assigned their own results"] = function(x, y) x[{ {} }] = y end,
      ["written by a kernel"] = function(x) double:forall(N)(x) end,
      ["written by a kernel on a stream"] = function(x)
        local stream <close> = roc.stream()
        double:forall(N, { stream = stream })(x)
      end,
      ["written by vectorize"] = function(x)
        roc.vectorize(function(v) return v + 49 end)(x, { out = x })
      end,
      ["copied to"] = function(x) roc.to_device(roc.full(N, 50, "float32")):copy_to_host(x) end,
      ["registered and written"] = function(x)
        local registration <close> = roc.register(x)
        assert(registration)
        double:forall(N)(x)
        roc.current_device():synchronize()
      end,
      ["a smart array's, which is written"] = function(x)
        local s = roc.smart_array(x)
        double:forall(N)(s)
      end,
    }
    for name, write in pairs(WRITES) do
      it(name, function()
        for _, kind in ipairs { SEPARATE, FUSED } do
          set_work(kind)
          local x = ones()
          local y, z = x + 1, x:slice(1, N, 1, -1) * 3
          local sum = y + z
          write(x, y)
          assert.not_equal(1, x[1])
          assert.equal(5, sum[1])
          assert.equal(5 * N, sum:sum())
          assert.equal(2, y[1])
          assert.equal(3, z[N])
        end
      end)
    end
  end)

  it("read what queued work writes", function()
    local device = roc.current_device()
    local x = ones()
    local stream <close> = roc.stream()
    double:forall(N, { stream = stream })(x)
    local y = x + 1
    stream:synchronize()
    device:synchronize()
    assert.equal(3, y[1])
  end)

  it("do not read later what others may write", function()
    local before = testing.pending()
    local x = ones()
    assert(x.pointer)
    local r = ones()
    local registration <close> = roc.register(r)
    assert(registration)
    local kept = { x + 1, r + 1, roc.smart_array(ones()) + 1 }
    assert.equal(3, #kept)
    assert.equal(before, testing.pending())
  end)

  it("are computed through views, but not for two views of one", function()
    local a = roc.range(1, 6000):astype "float32":reshape(60, 100)
    local row = roc.range(1, 100):astype "float32"
    local views = {
      function(y) return y:transpose() + 1 end,
      function(y) return y[{ { 2, 60, 2 }, { 100, 1, -3 } }] * 3 end,
      function(y) local v = y[7] return v * v end,
      function(y) return row + y:transpose():slice(1, 100, 1, -1):transpose()[60] end,
      function(y) return y:reshape(60, 1, 100):slice(1, 60, 31, -1) - row end,
      function(y) return roc.math.sqrt(y):transpose()[{ { 3, 9 } }] / 2 end,
      function(y) return y[{ {}, 4 }]:reshape(60, 1) + y[{ { 1, 1 } }] end, -- two
      function(y) return y:reshape(6000) + 1 end, -- dimensions that y has not
    }
    for i, view in ipairs(views) do
      testing.lazy(AT_ONCE, AT_ONCE)
      local expected = view(a * 2 + row)
      for _, kind in ipairs { SEPARATE, FUSED } do
        testing.lazy(1, kind)
        collectgarbage() -- what else is pending
        local before = testing.pending()
        local y = a * 2 + row
        local z = view(y)
        local is_whole = testing.pending() < before + 5 -- y is in memory, and what it is made of
        assert.equal(i > #views - 2, is_whole, i)
        assert.is_true(z:eq(expected):all(), i)
        assert.equal(2 * 6000 + 100, y[60][100])
      end
    end
  end)

  it("go on one by one while their kernel is compiled", function()
    local rng, rounds, names = roc.rng(3), 0, nil
    local x, y = rng:uniform(N), rng:uniform(N)
    local function compute() return (x * y + x) * 2 - y end
    local function reduce() return (x - y * y):max() end
    testing.lazy(AT_ONCE, SEPARATE)
    local expected, most = compute(), reduce()
    testing.lazy(1, 1) -- a structure is worth a kernel at once
    local limit = os.time() + 120
    repeat
      names = launched(function()
        assert.is_true(roc.array_equal(expected, compute():eval()))
        assert.are.equal(most, reduce())
      end)
      rounds = rounds + 1
      if rounds == 1 then assert.is_nil(names["roc.Array expression"]) end
    until names["roc.Array expression"] and names["roc.Array max"] or os.time() > limit
    assert.is_true(os.time() <= limit)
    assert.is_nil(names["roc.Array *"])
  end)

  it("are stored before a reduction of few elements on cpu, and computed by it of many", function()
    local x = ones()
    testing.lazy(1, FUSED)
    local by_it = launched(function() assert.equal(3 * N, (x * 2 + 1):sum()) end)
    testing.lazy(N // 64, FUSED)
    local before = launched(function()
      local y = x * 2 + 1
      assert.equal(3 * N, y:sum())
      assert.equal(3, y:max())
    end)
    local function has_sum(names)
      for name in pairs(names) do
        if name:find "sum" then return true end
      end
      return false
    end
    assert.is_true(has_sum(by_it))
    assert.is_false(has_sum(before))
  end)

  it("may leave a kernel uncompiled at the end of the program", function()
    for _, ending in ipairs { "", "os.exit(0, true)", "os.exit(0)" } do
      local path = os.tmpname()
      finally(function() os.remove(path) end)
      local file <close> = assert(io.open(path, "w"))
      file:write([[
        local roc = require "roc"
        require "roc.core".testing.lazy(1, 1)
        local x = roc.ones(5000)
        for i = 1, 3 do
          local y = (x * x + x) / x - x
          for _ = 1, i do y = y + x * x end
          print(y:eval()[5000])
        end ]], ending):flush()
      assert.equal("2.0\n3.0\n4.0\n",
        shell.run("ROCLUA_CACHE=off timeout 60 ROCLUA_SPEC " .. path))
    end
  end)

  it("are divisions of integers", function()
    for _, kind in ipairs { SEPARATE, FUSED } do
      testing.lazy(1, kind)
      local before = testing.pending()
      local x, u = ones "int32", roc.full(N, -1, "uint64")
      local sum, rest = (x * 7) // 2 + (x * 7) % -4, u % 10
      local quotient = (x * -7) // (x + x) + (x * 7) % (x * -4)
      assert.equal(before + 13, testing.pending())
      x:fill(0)
      assert.same({ 2, 5, -5 }, { sum[N], rest[1], quotient[N] })
    end
  end)

  it("that fail by the value of an element fail at every look, with their own place", function()
    for _, kind in ipairs { SEPARATE, FUSED } do
      testing.lazy(1, kind)
      local x, y = ones "int32", ones "int32"
      y[N] = 0
      local failing = (x * 3 // y + 1) * 2
      local line = debug.getinfo(1, "l").currentline - 1
      y:fill(1)
      for _, look in ipairs {
        function() return failing[1] end, -- which none of the elements looked at makes fail
        function() return (failing:slice(1, 1, 10) + 1):eval() end,
        function() return failing:sum() end,
        function() return (failing * 2):max() end,
        function() return failing:copy() end,
        function() return double:forall(N)(failing) end,
        function() failing[2] = 5 end,
      } do
        assert.error_matches(look,
          "divide by zero %(work%-item {" .. N .. "}%) %(launched at [^ ]*spec.lua:" .. line)
      end
      failing = x % (y - 1)
      local others = {}
      for i = 1, 300 do others[i] = x + i end -- more than may be pending: the oldest are computed
      assert.equal(301, others[300][1])
      assert.error_matches(function() return failing[1] end, "'n%%0'")
    end
  end)

  it("are as lazy as before on what an operation that failed has read", function()
    set_work(FUSED)
    local x, zeros = ones "int32", roc.zeros(N, "int32")
    local failing = x % (zeros + zeros)
    for _ = 1, 5 do
      assert.error_matches(function() return failing[1] end, "'n%%0'")
      local before = testing.pending()
      local y = x + 1
      assert.equal(before + 1, testing.pending())
      assert.equal(2, y[N])
    end
  end)

  it("raise what is wrong with them at once", function()
    local x = ones "int32"
    local zeros = roc.zeros(N, "int32")
    assert.error_matches(function() return x % 0 end, "n%%0")
    assert.error_matches(function() return x + roc.ones(N + 1) end, "broadcast")
    assert.error_matches(function() return x + roc.ones(N, "bool") end, "bool")
    assert.equal(math.huge, (ones() // zeros)[1])
  end)

  it("can be written and changed themselves", function()
    local x = ones()
    local y = x + 1
    local z = y * 2
    y[1] = 100
    y:slice(1, 2, 2):fill(7)
    assert.equal(4, z[1])
    assert.equal(4, z[2])
    assert.equal(100, y[1])
    assert.equal(7, y[2])
    assert.equal(2, y[3])
  end)

  it("are bounded in number, and in what they keep alive", function()
    local x = ones()
    local before = testing.pending()
    for _ = 1, 3000 do x = x + 1 end
    assert.is_true(testing.pending() - before <= 257)
    assert.equal(3001, x[N])
    local kept = {}
    for i = 1, 600 do
      kept[i] = ones() * i
      assert.is_true(testing.pending() - before <= 257)
    end
    for i = 1, 600 do assert.equal(i, kept[i][N]) end
    before = testing.pending()
    local masks, count = {}, 1 << 20 -- 8 MiB each, of which masks need 1
    local doubled = roc.ones(count) * 2 -- the smallest results are computed first
    for i = 1, 40 do
      masks[i] = roc.full(count, i, "float64"):gt(20)
      collectgarbage()
    end
    local pending = testing.pending()
    assert.is_true(pending - before < 30)
    assert.equal(2, doubled[count])
    assert.equal(pending - 1, testing.pending())
    for i = 1, 40 do assert.equal(i > 20, masks[i][count]) end
  end)

  it("raise nothing in other operations when they cannot be computed", function()
    local x = ones()
    local y = x + 1
    testing.fail_alloc(1) -- of the copy
    x:fill(5)
    testing.fail_alloc(0)
    local kept = {}
    for i = 1, 600 do kept[i] = x * i end
    assert.error_matches(function() return y[1] end, "no room to keep an operand")
    assert.equal(5 * 7, kept[7][N])
  end)

  it("survive collections and finalizers in their middle", function()
    collectgarbage("incremental", 10, 1000)
    for round = 1, 40 do
      set_work(round % 2 == 0 and FUSED or SEPARATE)
      local x = ones()
      local y = roc.math.sqrt(x * x + round)
      local z = y * 2 + x
      setmetatable({}, { __gc = function()
        assert(y[1] > 0)
        x:fill(9)
      end })
      local w = z - y * 2
      collectgarbage "step"
      local garbage = {}
      for i = 1, 100 do garbage[i] = { tostring(i) } end
      assert.equal(100, #garbage)
      assert.equal(1, math.floor(w[1] + 0.5)) -- x was 1 when it was read
    end
    collectgarbage "generational"
  end)

  it("give their result or an error when allocations fail, and go on then", function()
    for _, kind in ipairs { SEPARATE, FUSED } do
      set_work(kind)
      pending_operations.check_failing_allocations(ones)
    end
  end)

  it("are the same, whether or not they are lazy, in random programs", function()
    for seed = 1, 10 do
      local ok, why = arrays.compare(seed, 60, { seed % 5 == 0 and FUSED or AT_ONCE })
      assert(ok, why)
    end
  end)

  if not shell.interpreter then return end

  local function run_script(text, command)
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    local output, status = shell.run((command or "ROCLUA") .. " " .. path)
    os.remove(path)
    return output, status
  end

  local FINALIZERS = [[
      local roc = require "roc"
      local x = roc.ones(10000, "float32")
      local y = (x + 1) * 2 - x
      first = setmetatable({}, { __gc = function() print("at the end", y[1], y[10000]) end })
      local z = (x + 2) * 3 - x -- its kernels are newer than the finalizer
      second = setmetatable({}, { __gc = function() print("before", z[1]) end })
      print(z[2])
  ]]
  local function check_finalizers(command)
    local output, status = run_script(FINALIZERS, command)
    assert.equal("8.0\nbefore\t8.0\nat the end\t3.0\t3.0\n", output)
    assert.equal(0, status)
  end

  it("are computed when a state closes, for finalizers", function() check_finalizers "ROCLUA" end)

  it("are computed when a state of a stock lua5.4 closes", function()
    local core = shell.interpreter:match "^(.*)/bin/[^/]*$"
    if not core or programs.sanitizer(core .. "/lib/lua/5.4/roc/core.so") ~= "" then
      return pending("the module was built with a sanitizer")
    end
    if not files.has_program "lua5.4" then return pending("needs lua5.4") end
    check_finalizers(("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s;;' lua5.4")
      :format(core .. "/lib/lua/5.4/?.so"))
  end)

  it("are computed at once with ROCLUA_LAZY=0", function()
    local text = [[
      local roc, core = require "roc", require "roc.core"
      local y = roc.ones(1) + 1 -- loads what operations are
      y = roc.ones(10000) + 1
      print(core.testing.pending(), y[1])
    ]]
    assert.equal("0\t2.0\n", (run_script(text, "ROCLUA_LAZY=0 ROCLUA_SPEC")))
    assert.equal("1\t2.0\n", (run_script(text, "ROCLUA_LAZY=1 ROCLUA_SPEC")))
    assert.equal("1\t2.0\n", (run_script(text, "ROCLUA_LAZY= ROCLUA_SPEC")))
  end)
end)
