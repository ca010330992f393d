-- Lowering: the IR of small kernels.  Every module here has passed the verifier on its way.
local compiler = require("roc.core").testing.compiler

local SIGNATURE = "(int64 narrow, float64, float32[:], int32[:])"

local function lower(body, opts)
  local text = body:find("function kernel", 1, true) and body
    or "function kernel(n, a, x, y)\n" .. body .. "\nend"
  local ir, message = compiler.ir(text, "t.lua", opts and opts.signature or SIGNATURE, opts)
  assert.is_string(ir, message)
  return ir
end

-- The instructions of the body alone: no places, no result names but %n, one a line.
local function body_of(ir)
  local lines = {}
  for line in ir:gmatch("[^\n]+") do
    line = line:gsub("%s*!.*$", ""):gsub("^%s+", "")
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n")
end

-- The texts occur in this order (plain text, not patterns).
local function in_order(ir, texts)
  local at = 1
  local clean = body_of(ir)
  for _, text in ipairs(texts) do
    local _, last = clean:find(text, at, true)
    assert.truthy(last, ("'%s' is missing or out of order in\n%s"):format(text, ir))
    at = last
  end
end

local function count(ir, text)
  local n, at = 0, 1
  while true do
    local _, last = ir:find(text, at, true)
    if not last then
      return n
    end
    n, at = n + 1, last
  end
end

local function it_lowers(name, body, texts, opts)
  it(name, function()
    in_order(lower(body, opts), texts)
  end)
end

describe("a kernel", function()
  it("lowers to the IR that docs show", function()
    local ir = lower("local i = roc.get_global_id(1)\nif i <= n then y[i] = y[i] + 1 end")
    assert.equal(([[
kernel kernel(n.0: int narrow, a.1: f64, x.2: float32[1] c, y.3: int32[1] c read written) check contract
array x.0 = param x.2
array y.1 = param y.3
site 0 index "t.lua" 3 23 dim 0 values 2 name "y"
site 1 index "t.lua" 3 16 dim 0 values 2 name "y"
%0: int = param n.0
%1: f64 = param a.1
%2: int = global_id 0
%3: bool = le %2 %0
if %3
check.index y.1 0 #0 %2
%4: int = load y.1 %2
%5: int = const 1
%6: int = add %4 %5
check.index y.1 0 #1 %2
store y.1 %6 %2
end
end]]):gsub("%s+$", ""), body_of(ir))
  end)

  it("says of each array whether it is read and written", function()
    local ir = lower("x[1] = y[1]\nroc.atomic.add(y, 1, 1)")
    assert.truthy(ir:find("x.2: float32[1] c written", 1, true), ir)
    assert.truthy(ir:find("y.3: int32[1] c read written", 1, true), ir)
  end)
end)

describe("arithmetic", function()
  it_lowers("converts each operand once to the common type", "x[1] = a * x[2] + n",
    { "to.f32 %1", "mul", "to.f32 %0", "add" })
  it_lowers("makes constants in the type they meet", "x[1] = x[2] * 2.5 + 1",
    { "f32 = const 2.5", "f32 = const 1" })
  it_lowers("squares by a product", "x[1] = x[2] ^ 2", { "%3: f32 = load", "%4: f32 = mul %3 %3" })
  it_lowers("checks an integer division", "y[1] = n // y[1]", { "check.nonzero", "floordiv" })
  it("trusts a constant divisor", function()
    assert.equal(0, count(lower("y[1] = n // 3 + n % 7"), "check.nonzero"))
  end)
  it_lowers("compares an integer with a float exactly", "local b = n < a or a <= n or n == a",
    { "lt.if %0 %1", "le.fi %1 %0", "eq.if %0 %1" })
  it_lowers("compares a small integer constant as a float", "local b = x[1] > 0",
    { "f32 = const 0", "lt" })
end)

describe("and, or", function()
  it_lowers("select when the right side is cheap", "local b = n > 0 and n < 9",
    { "lt", "lt", "select" })
  it_lowers("branch when the right side reads memory", "if n > 0 and x[n] > 0 then y[1] = 1 end",
    { "set .0", "if", "check.index", "load", "set .0", "end", "get .0" })
  it_lowers("of numbers evaluate one side", "x[1] = n > 0 and x[2] or x[3]",
    { "if", "load", "end", "not", "if", "load", "end" })
end)

describe("control flow", function()
  it_lowers("while is a loop left at its top", "while n > 0 do y[1] = 1 end",
    { "= loop", "not", "if", "leave", "end", "store" })
  it_lowers("repeat is a loop left at its end", "repeat local v = y[1] until v > 0",
    { "= loop", "load", "lt", "if", "leave" })
  it_lowers("an endless loop has no test", "while true do if y[1] > 0 then break end end",
    { "= loop", "load", "if", "leave" })
  it_lowers("a condition that is false or a constant is tested",
    "while n > 0 and 1 do y[1] = 1 end",
    { "= loop", "lt", "not", "if", "leave", "store" })
  it_lowers("for over integers", "for i = 1, n do y[i] = i end",
    { "= for i.0", "get i.0", "store" })
  it_lowers("for whose variable the body assigns counts in its own",
    "for i = 1, n do i = i * 2; y[1] = i end",
    { "= for i.0", "get i.0", "set i.1", "mul" })
  it_lowers("for over floats", "for v = 0, 1, a do x[1] = v end",
    { "check", "set v.0", "select", "if", "= loop", "get v.0", "store", "add", "set v.0", "select",
      "leave" })
  it_lowers("for to a float limit clips it", "for i = 1, a do y[i] = 1 end",
    { "ceil", "floor", "le", "if", "= for" })
  it_lowers("goto continue leaves a block",
    "for i = 1, n do\nif i == 3 then goto continue end\ny[i] = i\n::continue::\nend",
    { "= for", "= block", "if", "leave", "store", "end", "end" })
  it_lowers("crossing labels nest",
    "if n == 1 then goto p end\nif n == 2 then goto q end\ny[1] = 1\n::p::\ny[2] = 2\n::q::",
    { "= block", "= block", "leave", "leave", "store", "end", "store", "end" })
  it_lowers("return in the middle stops the item", "if n > 0 then return end\ny[1] = 1",
    { "if", "return", "end", "store" })
end)

describe("assignment", function()
  it_lowers("of several evaluates all values first, and assigns from the right",
    "y[1], y[2] = y[2], y[1]",
    { "load", "load", "const 2", "check.index", "store y.1 %5", "store y.1 %3" })
end)

describe("arrays", function()
  local rows = { signature = "(float32[:,:], float32[:])" }
  it_lowers("a row view checks its index when it is made",
    "function kernel(m, v)\nlocal r = m[2]\nv[1] = r[3]\nend",
    { "check.index m.0 0", "check.index m.0 1", "load m.0 %0 %1" }, rows)
  it_lowers("extents of arguments are read, the product is the size",
    "function kernel(m, v)\nv[1] = m.size + #m[1]\nend",
    { "extent m.0 0", "extent m.0 1", "mul", "extent m.0 1" }, rows)
  it("a constant index into a shared array needs no check", function()
    local ir = lower("local t = roc.shared.array(4, roc.float32)\nt[4] = 1")
    assert.equal(0, count(ir, "check.index"))
    assert.truthy(ir:find("array t.2: float32[4] shared", 1, true), ir)
  end)
  it("one shared block stands for one place in the source", function()
    local ir = lower("function kernel(x)\nx[1] = f(1)\nx[2] = f(2)\nend\nfunction f(v)\nlocal t "
      .. "= roc.shared.array(4, roc.float32)\nt[1] = v\nreturn t[2]\nend",
      { signature = "(float32[:])" })
    assert.equal(1, count(ir, "shared"))
  end)
  it_lowers("dynamic shared bytes start where they are told",
    "local t = roc.shared.array(0, roc.int32, 64)\ny[1] = t[1]",
    { "dynamic", "check.index t.2 0", "load t.2" })
end)

describe("functions", function()
  it_lowers("that return at their end are lowered in place",
    "function kernel(x)\nx[1] = sq(x[2])\nend\nfunction sq(v) return v * v end",
    { "load", "mul", "store" }, { signature = "(float32[:])" })
  it_lowers("that return early are blocks",
    "function kernel(x)\nx[1] = pos(x[2])\nend\nfunction "
    .. "pos(v)\nif v > 0 then return v end\nreturn 0\nend",
    { "= block", "if", "set .0", "leave", "end", "set .0", "leave", "end", "get .0", "store" },
      { signature = "(float32[:])" })
end)

describe("builtins", function()
  it_lowers("ids of a constant dimension are one instruction", "y[1] = roc.get_global_id(2)",
    { "global_id 1" })
  it_lowers("ids of any dimension are selected", "y[1] = roc.get_local_id(n)",
    { "local_id 2", "select", "local_id 1", "select", "local_id 0", "select" })
  it_lowers("fences take their scope", "roc.barrier(1)\nroc.barrier()\nroc.mem_fence(2)",
    { "barrier 1", "barrier 3", "fence 2" })
  it_lowers("math.floor checks that there is an integer", "y[1] = math.floor(x[1])",
    { "check.int", "floor" })
  it_lowers("math.fmod of integers takes the sign of the dividend", "y[1] = math.fmod(n, 3)",
    { "mod", "bxor", "sub", "select" })
  it_lowers("math.modf gives two values", "local w, p = math.modf(x[1])\nx[1] = p",
    { "math trunc", "sub", "select", "store" })
  it_lowers("atomics check their index", "roc.atomic.add(y, n, 2)",
    { "check.index y.1 0", "atomic" })
  it_lowers("conversions state a width", "y[1] = roc.uint32(n * 16777619)",
    { "mul", "convert", "store" })
end)

describe("messages", function()
  it_lowers("print separates by tabs", "print('n is', n)",
    { 'site 0 print', '"n is"', '"\\x09"', "print" })
  it_lowers("error stops the item", "if n > 9 then error('too big: ', n) end",
    { "site 0 error", '"too big: "', "fail" })
  it_lowers("assert is a check with its message", "assert(n > 0, 'positive')",
    { "site 0 assert", '"positive"', "check" })
end)

describe("check = false", function()
  it("leaves no check but keeps error", function()
    local ir =
      lower("y[n] = n // y[1]\nassert(n > 0)\nif n > 9 then error('x') end\ny[1] = math.floor(a)",
      { check = false })
    assert.equal(0, count(ir, "check."))
    assert.equal(0, count(ir, " assert "))
    assert.equal(1, count(ir, "fail"))
  end)
end)

describe("upvalues", function()
  it_lowers("are constants, hidden arguments and arrays",
    "x[1] = scale * x[n] + bias\ny[1] = table[n] + 3 * STEP",
    { "scale.4: f64", "array table.2: int64[3] const", "param scale.4", "load table.2 %0",
      "const 12" },
    { hidden = { scale = "(float64)" }, constants = { bias = 0.5, STEP = 4 },
      arrays = { table = 3 } })
end)
