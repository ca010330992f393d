-- One test for each diagnostic of the kernel subset, in the order of diag.def: the text that is
-- refused, and the words of the refusal with its place.
local compiler = require("roc.core").testing.compiler

-- Every kernel here is `function kernel(n, a, x, y)` over (int64, float64, float32[:], int32[:]).
local SIGNATURE = "(int64, float64, float32[:], int32[:])"

local function refusal(body, opts)
  local text = body:find("function kernel", 1, true) and body
    or "function kernel(n, a, x, y)\n" .. body .. "\nend"
  local ir, message = compiler.ir(text, "k.lua", opts and opts.signature or SIGNATURE, opts)
  assert.is_nil(ir, "the kernel compiled")
  return message
end

local function it_refuses(name, body, place, words, opts)
  it("refuses " .. name, function()
    local message = refusal(body, opts)
    local expected = ("k.lua:%s: kernel 'kernel': "):format(place)
    assert.truthy(message:find(expected, 1, true), message)
    assert.truthy(message:find(words, 1, true), message)
  end)
end

describe("a form that kernels do not have", function()
  it_refuses("a closure", "local f = function() return 1 end", "2:11",
    "a function cannot be made in a kernel")
  it_refuses("a local function", "local function f() return 1 end", "2:16",
    "a function cannot be made in a kernel")
  it_refuses("varargs", "function kernel(...)\nlocal v = ...\nend", "2:11", "name the parameters",
    { signature = "()" })
  it_refuses("a vararg kernel", "function kernel(...)\nend", "1:1", "'...' cannot be used",
    { signature = "()" })
  it_refuses("concatenation", "print('a' .. n)", "2:7", "strings cannot be joined")
  it_refuses("nil", "local v = nil", "2:11", "nil is no value")
  it_refuses("a generic for", "for i, v in ipairs(x) do end", "2:1", "for i = 1, #a do")
  it_refuses("a method call", "x:fill(0)", "2:1", "method 'fill' cannot be called")
  it_refuses("a local to be closed", "local v <close> = n", "2:7", "cannot be <close>")
  it_refuses("a goto backward", "::top::\nif n > 0 then goto top end", "3:15",
    "jumps backward; write a while or repeat loop")
end)

it("a local function is refused once, not at each call again", function()
  local message = refusal("local function f(v) return v end\ny[1] = f(n) + f(2)\nlocal v = f(a)")
  assert.equal(1, select(2, message:gsub("kernel 'kernel': ", "")), message)
end)

describe("a local or a statement", function()
  it_refuses("a read before the assignment", "local v\nif n > 0 then v = 1 end\ny[1] = v", "4:8",
    "local 'v' may be read before it is assigned")
  it_refuses("a read without any assignment, reached or not",
    "while true do end\nlocal v\ny[1] = v", "4:8",
    "local 'v' may be read before it is assigned")
  it_refuses("a function that returns on some paths only",
    "function kernel(n)\nlocal v = f(n)\nend\nfunction f(n)\nif n > 0 then return 1 end\nend",
    "4:1",
    "function 'f' returns 1 value(s) on some paths and none at its end", { signature = "(int64)" })
  it_refuses("a result of a kernel", "return n", "2:1", "a kernel returns nothing")
  it_refuses("returns of different counts",
    "function kernel(n)\nlocal v = f(n)\nend\nfunction f(n)\nif n > 0 then return 1 end\nreturn "
      .. "1, 2\nend", "6:1",
    "returns 1 value(s) on another path and 2 here", { signature = "(int64)" })
  it_refuses("returns of different types",
    "function kernel(n)\nlocal v = f(n)\nend\nfunction f(n)\nif n > 0 then return 1 end\nreturn "
      .. "true\nend", "6:1",
    "result 1 is a boolean here and an integer on another path", { signature = "(int64)" })
  it_refuses("an integer returned among floats",
    "function kernel(n)\nlocal v = f(n)\nend\nfunction f(n)\nif n > 0 then return n end\nreturn "
      .. "0.5\nend", "5:22",
    "write 'n + 0.0'", { signature = "(int64)" })
  it_refuses("two types in one local", "local v = n\nv = true", "3:5",
    "local 'v' is an integer and cannot be given a boolean")
  it_refuses("an integer given to a float local", "local v = 0.5\nv = n", "3:5",
    "local 'v' is a float elsewhere")
  it("shows both places of a local that is float and integer", function()
    assert.truthy(refusal("local v = 0.5\nv = n"):find("k.lua:2:11:", 1, true))
  end)
  it_refuses("an integer that 'or' mixes with a float", "local v = n > 0 and n or 0.5", "2:21",
    "write 'n + 0.0'")
  it_refuses("a float given to an integer parameter", "local m = n * n\nn = n / 2", "3:5",
    "parameter 'n' was given an integer")
  it("shows where such a parameter is", function()
    assert.truthy(refusal("n = 0.5"):find("k.lua:1:17:", 1, true))
  end)
  it_refuses("a string in a local", "local v = 'text'", "2:11", "local 'v' cannot hold a string")
  it_refuses("a second array for a local", "local v = x\nv = x", "3:5", "can be assigned only once")
  it_refuses("assignment to a global", "total = n", "2:1", "global 'total' cannot be assigned")
  it_refuses("assignment to an upvalue",
    "local total = 0\nfunction kernel(n, a, x, y)\ntotal = n\nend", "3:1",
    "upvalue 'total' cannot be assigned")
  it_refuses("more targets than values", "local p, q = 1, 2\np, q = 3", "3:4",
    "this target gets no value")
  it_refuses("a step of zero", "for i = 1, n, 0 do end", "2:15", "'for' step is zero")
end)

describe("a value or an operator", function()
  it_refuses("a table", "local v = {1, 2}", "2:11", "roc.private.array")
  it_refuses("a string as a value", "y[1] = 'text'", "2:8",
    "only as an argument of print, error and assert")
  it_refuses("an array as a number", "y[1] = x", "2:8", "cannot be used as a number")
  it_refuses("false-or-number as a value", "y[1] = n > 0 and n", "2:8", "write 'c and x or y'")
  it_refuses("'or' of a boolean and a number", "local v = n > 0 or n", "2:11", "the sides of 'or'")
  it_refuses("a call without results as a value",
    "function kernel(n, a, x, y)\ny[1] = 1 + f(n)\nend\nfunction f(n)\nend", "2:12",
      "must return a value")
  for what, body in pairs {
    ["indexed"] = "y[1] = f(n)[1]", ["measured"] = "y[1] = #f(n)", ["called"] = "f(n)(1)",
    ["passed on"] = "y[1] = g(f(n), 1)", ["asked for its size"] = "y[1] = f(n).size",
    ["taken for an array"] = "roc.atomic.add(f(n), 1, 1)",
  } do
    it("refuses a call without results " .. what, function()
      local text = ("function kernel(n, a, x, y)\n%s\nend\nfunction f(n)\nend\n"
        .. "function g(p, q)\nreturn q\nend"):format(body)
      assert.truthy(refusal(text):find("must return a value", 1, true), refusal(text))
    end)
  end
  it_refuses("an atomic's indices by key", "roc.atomic.add(y, {[1] = 2}, 1)", "2:19",
    "but 0 index(es) are given")
  it_refuses("arithmetic on booleans", "y[1] = (n > 0) + 1", "2:8",
    "a number was expected, not a boolean")
  it_refuses("bits of a float", "y[1] = n & a", "2:12", "math.floor(x) or roc.int64(x)")
  it_refuses("a vote of numbers", "local v = roc.wave.any(n)", "2:24", "a boolean was expected")
  it_refuses("a comparison of boolean and number", "local v = (n > 0) == 1", "2:11",
    "is never equal to")
  it_refuses("the length of a number", "local v = #n", "2:12", "not the length of an integer")
end)

describe("arrays", function()
  it_refuses("a float index", "y[1] = n // 2 + x[n / 2]", "2:19", "use '//' instead of '/'")
  it_refuses("indexing a number", "local v = n[1]", "2:11", "an integer cannot be indexed")
  it_refuses("a table of the host with a computed key", "y[1] = math[n]", "2:8",
    "only by constant names")
  it_refuses("a shape beyond the rank", "local v = x.shape[2]", "2:19", "a constant from 1 to 1")
  it_refuses("unknown fields", "local v = x.length", "2:13", "no field 'length'")
  it_refuses("assignment to a property", "x.size = 1", "2:1",
    "only elements of arrays can be assigned")
  it_refuses("assignment of a row", "function kernel(m)\nm[1] = 0\nend", "2:1",
    "cannot be assigned as a whole",
    { signature = "(float32[:,:])" })
  it_refuses("a store into a constant array", "t[1] = 0", "2:1",
    "a constant array cannot be written",
    { arrays = { t = 4 } })
  it_refuses("a float into an integer array", "y[1] = x[1]", "2:8", "math.floor(x) or roc.int32(x)")
  it_refuses("a boolean into a number array", "x[1] = n > 0", "2:8", "bool arrays take booleans")
  it_refuses("a number into a bool array", "function kernel(f)\nf[1] = 1\nend", "2:8",
    "bool arrays take booleans",
    { signature = "(bool[:])" })
end)

describe("a free name", function()
  it_refuses("what is not defined", "y[1] = missing", "2:8", "'missing' is not defined")
  it_refuses("what is missing in a namespace", "y[1] = roc.nothing(1)", "2:8",
    "'roc.nothing' is not defined")
  it_refuses("what cannot be captured", "y[1] = greeting + 1", "2:8",
    "only as an argument of print",
    { constants = { greeting = "hello" } })
  it_refuses("a table that is captured", "y[1] = config", "2:8",
    "'config' is a table, which a kernel cannot capture",
    { constants = { config = {} } })
  it_refuses("math.random", "y[1] = math.random(6)", "2:8",
    "'math.random' cannot be called in a kernel: compute")
  it_refuses("tostring", "print(tostring(n))", "2:7", "print formats numbers by itself")
end)

describe("a call", function()
  it_refuses("a number that is called", "n(1)", "2:1", "an integer cannot be called")
  it_refuses("a wrong count of arguments", "y[1] = roc.get_global_id()", "2:8",
    "takes 1 argument(s), but gets 0 here")
  it_refuses("too few arguments of a function",
    "function kernel(n)\nf(n)\nend\nfunction f(p, q)\nend", "2:1",
    "'f' takes 2 argument(s), but gets 1 here", { signature = "(int64)" })
  it_refuses("a count outside a range", "y[1] = roc.int32(math.log(1, 2, 3))", "2:18",
    "takes 1 to 2 arguments")
  it_refuses("recursion", "function kernel(n)\nf(n)\nend\nfunction f(n)\nf(n - 1)\nend", "5:1",
    "function 'f' calls itself",
    { signature = "(int64)" })
  it_refuses("dimension 0", "y[1] = roc.get_local_id(0)", "2:25", "counts dimensions from 1")
  it_refuses("a grid of unknown rank", "local i = roc.grid(n)", "2:20", "as a constant: 1, 2 or 3")
  it_refuses("a shape that is not constant", "local t = roc.shared.array(n, roc.float32)", "2:28",
    "needs a constant shape")
  it_refuses("a float for an extent", "local t = roc.private.array(2.5, roc.float32)", "2:29",
    "needs a constant shape: an integer or a table of integers")
  it_refuses("an extent below 0", "local t = roc.private.array({4, -1}, roc.float32)", "2:29",
    "'roc.private.array' takes extents from 0 to 2147483647, but gets -1 here")
  it_refuses("an extent beyond 2^31", "local t = roc.shared.array(1 << 62, roc.float32)", "2:28",
    "'roc.shared.array' takes extents from 0 to 2147483647, but gets 4611686018427387904 here")
  it_refuses("a captured extent below 0", "local t = roc.shared.array(width, roc.float32)", "2:28",
    "takes extents from 0 to 2147483647, but gets -7 here", { constants = { width = -7 } })
  it_refuses("too many elements", "local t = roc.shared.array({65536, 65536}, roc.float32)", "2:28",
    "'roc.shared.array' makes arrays of at most 2147483647 elements")
  it_refuses("too many extents",
    "local t = roc.private.array({1, 1, 1, 1, 1, 1, 1, 1, 1}, 'int8')", "2:29",
    "'roc.private.array' takes 1 to 8 extents, but gets 9 here")
  it_refuses("no extents", "local t = roc.private.array({}, roc.float32)", "2:29",
    "'roc.private.array' takes 1 to 8 extents, but gets 0 here")
  it_refuses("what is no dtype", "local t = roc.private.array(4, 'float33')", "2:32",
    "needs a dtype such as")
  it_refuses("a first byte that is not aligned", "local t = roc.shared.array(0, roc.float32, 2)",
    "2:44", "constant multiple of the item size")
  it_refuses("a constant array made in a kernel", "local t = roc.const.array(x, roc.float32)",
    "2:11", "make it outside")
  it_refuses("an unknown scope", "roc.barrier(7)", "2:13", "takes a constant scope")
  it_refuses("an atomic on a private array",
    "local p = roc.private.array(4, roc.int32)\nroc.atomic.add(p, 1, 1)", "3:16",
    "an array argument or a shared array")
  it_refuses("an atomic on bytes", "function kernel(b)\nroc.atomic.add(b, 1, 1)\nend", "2:1",
    "32- or 64-bit",
    { signature = "(uint8[:])" })
  it_refuses("bits of floats in an atomic", "roc.atomic.xor(x, 1, 1)", "2:1", "32- or 64-bit")
  it_refuses("an atomic with too few indices", "function kernel(m)\nroc.atomic.add(m, 1, 1)\nend",
    "2:19",
    "2 dimension(s), but 1 index(es)", { signature = "(int32[:,:])" })
  it_refuses("a captured string in a message", "print(greeting)", "2:7",
    "must be literals in the kernel",
    { constants = { greeting = "hello" } })
  it_refuses("a message of many values", "print(n, n, n, n, n, n, n, n, n)", "2:1",
    "at most 8 values")
end)

describe("size", function()
  it("stops inlining before it grows without bound", function()
    local text = { "function kernel(y) y[1] = f30(1) end", "function f0(n) return n + 1 end" }
    for i = 1, 30 do
      text[#text + 1] = ("function f%d(n) return f%d(n) + f%d(n) end"):format(i, i - 1, i - 1)
    end
    local ir, message = compiler.ir(table.concat(text, "\n"), "k.lua", "(int64[:])")
    assert.is_nil(ir)
    assert.truthy(
      message:find("the kernel is too large once the functions it calls are compiled in", 1, true))
  end)

  it("stops a chain of calls that is too deep", function()
    local text = { "function kernel(y) y[1] = f100(1) end", "function f0(n) return n + 1 end" }
    for i = 1, 100 do
      text[#text + 1] = ("function f%d(n) return f%d(n) end"):format(i, i - 1)
    end
    local ir, message = compiler.ir(table.concat(text, "\n"), "k.lua", "(int64[:])")
    assert.is_nil(ir)
    assert.truthy(message:find("would be called more than 60 calls deep", 1, true), message)
  end)

  -- Each function is first met where it is called alone; only the last call is compiled.
  it("stops a chain of calls that is too deep when each link is known before", function()
    local function message_of(n, terms)
      local text = { "function kernel(y)\ngoto last" }
      for i = 1, n do text[#text + 1] = ("y[1] = f%d(1)"):format(i) end
      text[#text + 1] = ("::last::\ny[1] = f%d(1)\nend"):format(n)
      text[#text + 1] = "function f0(n) return n end"
      for i = 1, n do
        text[#text + 1] = ("function f%d(n) return f%d(n)%s end"):format(i, i - 1,
          (" + 1"):rep(terms))
      end
      local ir, message = compiler.ir(table.concat(text, "\n"), "k.lua", "(int64[:])")
      return ir and "compiled" or message
    end
    assert.equal("compiled", message_of(58, 20))
    assert.truthy(message_of(59, 1):find("would be called more than 60 calls deep", 1, true))
    assert.truthy(message_of(1500, 1):find("would be called more than 60 calls deep", 1, true))
    assert.truthy(message_of(30, 900):find("calls too deeply to be compiled", 1, true))
  end)

  it("stops a function that returns too much, and a block with too many labels", function()
    local function list(n, form)
      local t = {}
      for i = 1, n do t[i] = (form:gsub("N", i)) end
      return t
    end
    local function message_of(body, more)
      local text = ("function kernel(y) %s end\n%s"):format(body, more or "")
      local ir, message = compiler.ir(text, "k.lua", "(int64[:])")
      return ir and "compiled" or message
    end
    for n, says in pairs { [64] = "compiled", [65] = "'f' returns more than 64 values" } do
      local values = table.concat(list(n, "y[N]"), ", ")
      assert.matches(says, message_of("f(y)", ("function f(y) return %s end"):format(values)), 1,
        true)
    end
    for n, says in pairs { [64] = "compiled", [65] = "more than 64 labels of one block" } do
      local body = table.concat(list(n, "if y[N] > 0 then goto lN end "))
        .. table.concat(list(n, "::lN:: y[N] = 1 "))
      assert.matches(says, message_of("do " .. body .. "end"), 1, true)
    end
  end)
end)

describe("several mistakes", function()
  it("are told together", function()
    local message = refusal("y[1] = x[1]\nlocal v = nil\nprint('a' .. 'b')\nmath.random()")
    for _, line in ipairs { 2, 3, 4, 5 } do
      assert.truthy(message:find("k.lua:" .. line .. ":", 1, true), message)
    end
  end)
end)
