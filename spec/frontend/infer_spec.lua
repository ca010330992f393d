-- Types by inference: what the `types` stage says of each local.
local compiler = require("roc.core").testing.compiler

local SIGNATURE = "(int64, float64, float32[:], float64[:], int32[:], bool[:])"
local HEAD = "function kernel(n, a, x, d, y, f)\n"

-- { name = "float32", … } of the kernel's locals, and the whole text.
local function types(body, opts)
  local text = body:find("function kernel", 1, true) and body or HEAD .. body .. "\nend"
  local dump, message = compiler.types(text, "t.lua", opts and opts.signature or SIGNATURE, opts)
  assert.is_string(dump, message)
  local found = {}
  for name, ty in dump:match("^kernel.-\n(.*)"):gmatch("local (%w+): ([^=;\n]-)%s*[=;]") do
    found[name] = found[name] or ty
  end
  return found, dump
end

local function it_types(name, body, expected, opts)
  it(name, function()
    local found = types(body, opts)
    for variable, ty in pairs(expected) do
      assert.equal(ty, found[variable], variable)
    end
  end)
end

describe("an element", function()
  it_types("loads as the type of its dtype", "local p, q, r, s = x[1], d[1], y[1], f[1]",
    { p = "float32", q = "float64", r = "integer", s = "boolean" })
  for dtype, ty in pairs { float16 = "float32", bfloat16 = "float32", uint8 = "integer",
    uint64 = "integer" } do
    it_types("of " .. dtype .. " loads as " .. ty, "function kernel(v)\nlocal p = v[1]\nend",
      { p = ty },
      { signature = "(" .. dtype .. "[:])" })
  end
end)

describe("arithmetic", function()
  it_types("on integers is integer, but for / and ^",
    "local p, q, r, s = n + 1, n // 2, n / 2, n ^ 2",
    { p = "integer", q = "integer", r = "float", s = "float" })
  it_types("of an integer and a float32 is float32", "local p, q = n * x[1], x[1] / n",
    { p = "float32", q = "float32" })
  it_types("of a literal and a float32 stays float32", "local p = 2.5 * x[1]", { p = "float32" })
  it_types("of a number argument and a float32 stays float32", "local p = a * x[1]",
    { p = "float32" })
  it_types("of what is computed from plain numbers stays float32",
    "local p = (a * 2 + n / 3) * x[1]", { p = "float32" })
  it_types("with a float64 element makes float64", "local p = d[1] * x[1]", { p = "float64" })
  it_types("with roc.float64 makes float64", "local p = roc.float64(x[1]) * x[2]",
    { p = "float64" })
  it_types("with roc.float32 makes float32 of a plain number", "local p = roc.float32(a) * n",
    { p = "float32" })
end)

describe("a local", function()
  it_types("that starts as an integer literal becomes the float it is given",
    "local acc = 0\nfor i = 1, n do acc = acc + x[i] end",
    { acc = "float32" })
  it_types("of plain floats is a float", "local acc = 0.0\nfor i = 1, n do acc = acc + a end",
    { acc = "float" })
  it_types("of plain floats becomes float32 by assignment",
    "local acc = 0.0\nfor i = 1, n do acc = acc + x[i] end",
    { acc = "float32" })
  it("says through which assignment it became float32", function()
    local _, dump = types("local acc = 0.0\nacc = acc + x[1]")
    assert.truthy(dump:find("local acc: float32  ; 2:7, plain float made float32 at 3:7", 1, true),
      dump)
  end)
  it_types("passes its type on in any order of statements",
    "local p, q = 0.0, 0.0\nfor i = 1, n do\np = q\nq = x[i]\nend",
    { p = "float32", q = "float32" })
  it_types("takes a constant as an integer", "local p = TILE\np = p + 1", { p = "integer" },
    { constants = { TILE = 16 } })
  it_types("without a value has the type of its assignments",
    "local p\nif n > 0 then p = x[1] else p = 1 end", { p = "float32" })
  it_types("may hold an array, a row, a function or a dtype",
    "function kernel(m)\nlocal r, g, t = m[1], roc.get_global_id, roc.int8\nlocal v, i = r[1], "
      .. "g(1)\nend",
    { r = "float32[1] array", g = "function", t = "dtype", v = "float32", i = "integer" },
    { signature = "(float32[:,:])" })
end)

describe("and, or", function()
  it_types("choose between numbers", "local p, q = n > 0 and x[1] or 0, n > 0 and n or 1",
    { p = "float32", q = "integer" })
  it_types("take the right side of a number, or the number itself",
    "local p, q = n and x[1], n or x[1]",
    { p = "float32", q = "integer" })
  it_types("on booleans give a boolean", "local p = n > 0 and f[1] or a > 1", { p = "boolean" })
end)

describe("a numeric for", function()
  it_types("counts integers when first and step are", "for i = 1, a do local p = i end",
    { i = "integer", p = "integer" })
  it_types("counts floats otherwise", "for i = 1, n, 0.5 do end\nfor j = x[1], 2 do end",
    { i = "float", j = "float32" })
end)

describe("a function", function()
  it_types("of the script is specialised on its arguments",
    "function kernel(x, d)\nlocal p, q = sq(x[1]), sq(d[1])\nend\nfunction sq(v) return v * v end",
    { p = "float32", q = "float64" }, { signature = "(float32[:], float64[:])" })
  it_types("gives several results, adjusted as in Lua",
    "function kernel(x)\nlocal p, q = two(x[1])\nlocal r, s = two(1), 2.5\nlocal t = (two(2))\n"
      .. "end\nfunction two(v) return v, 1.5 end",
    { p = "float32", q = "float", r = "integer", s = "float", t = "integer" },
      { signature = "(float32[:])" })
  it_types("joins what its returns give",
    "function kernel(x)\nlocal p = pos(x[1])\nend\n"
    .. "function pos(v) if v > 0 then return v end return 0 end",
    { p = "float32" }, { signature = "(float32[:])" })
  it_types("takes functions as arguments",
    "function kernel(x)\nlocal p = apply(sq, x[1])\nend\nfunction apply(g, v) return g(v) end\n"
      .. "function sq(v) return v * v end",
    { p = "float32" }, { signature = "(float32[:])" })
end)

describe("builtins", function()
  it_types("of math keep float32",
    "local p, q, r = math.sqrt(x[1]), math.sqrt(n), math.max(n, x[1])",
    { p = "float32", q = "float", r = "float32" })
  it_types("floor and ceil give integers", "local p, q = math.floor(x[1]), math.ceil(a)",
    { p = "integer", q = "integer" })
  it_types("grid gives as many integers as it is asked for", "local i, j = roc.grid(2)",
    { i = "integer", j = "integer" })
  it_types("are found through locals", "local m = roc.math\nlocal e = m.exp2\nlocal p = e(x[1])",
    { p = "float32" })
  it_types("atomics give the old element",
    "local p, q = roc.atomic.add(x, 1, 2), roc.atomic.cas(y, 1, 2, 3)",
    { p = "float32", q = "integer" })
end)

describe("number = 'float32'", function()
  it("computes plain numbers in float32", function()
    local text = compiler.ir("function kernel(a, d) d[1] = a * 0.1 end", "t.lua",
      "(float64, float64[:])", { number = "float32" })
    assert.truthy(text:find("f32 = mul", 1, true), text)
    assert.falsy(text:find("f64 = mul", 1, true), text)
  end)
end)
