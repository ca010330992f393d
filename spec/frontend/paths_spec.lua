-- Which free names a function uses: what the bindings look up before a kernel is compiled.
local core = require("roc.core")

-- "roc.math.exp2" for a global, "^y" for an upvalue, with "=" behind what is assigned to or
-- through; in order of first use.
local function paths(body, before)
  local chunk = core.kernel_chunk((before or "") .. "\nfunction k(a)\n" .. body .. "\nend", "t.lua")
  local list = chunk:paths(1)
  for i, path in ipairs(list) do
    local text = (path.is_global and "" or "^") .. path.root
    for _, key in ipairs(path) do
      text = text .. (math.type(key) and ("[%d]"):format(key) or "." .. key)
    end
    list[i] = text .. (path.is_assigned and "=" or "")
  end
  return table.concat(list, " ")
end

describe("the free names of a function", function()
  it("are globals and upvalues, not its locals and parameters", function()
    assert.are.equal("g ^u", paths("local x = a + g; return x + u", "local u"))
  end)

  it("are listed once, in the order of first use", function()
    assert.are.equal("b c d", paths("b(c, b); if d then c(d) end"))
  end)

  it("take their constant keys with them", function()
    assert.are.equal("roc.math.exp2 cfg[1].x t.y", paths("roc.math.exp2(cfg[1].x, t['y'])"))
  end)

  it("end where a key is not constant", function()
    assert.are.equal("x i y.z", paths("return x[i].w, y.z[a]"))
  end)

  it("are told apart by integer and string keys", function()
    assert.are.equal("t[1] t.1", paths("return t[1], t['1']"))
  end)

  it("are seen through parentheses and method calls", function()
    assert.are.equal("m.n o.p", paths("(m).n(); o.p:q()"))
  end)

  it("are seen through locals that are never assigned again", function()
    assert.are.equal("roc.math roc.math.exp2", paths("local m <const> = roc.math; m.exp2(a)"))
    assert.are.equal("roc.math roc.math.sinh", paths("local m = roc.math; local s = m.sinh; s(1)"))
  end)

  it("are not seen through locals that are", function()
    assert.are.equal("roc.math other", paths("local m = roc.math; m = other; m.exp2(a)"))
  end)

  it("say when the function assigns to them or through them", function()
    assert.are.equal("g= ^y= v h.i[1]= w=",
      paths("g = 1; y[a] = v; h.i[1][a] = 2; w[a][2] = 3", "local y"))
    assert.are.equal("out=", paths("local o = out; if a then o[a] = 1 end; return out"))
    assert.are.equal("f=", paths("function f() end"))
  end)

  it("do not include compile-time constants of outer functions, which are no upvalues", function()
    assert.are.equal("^B", paths("return N, M, B",
      "local N <const> = 2 * 8; local M <const> = 'm'; local B <const> = f()"))
  end)

  it("go through a local _ENV as Lua does", function()
    assert.are.equal("^_ENV.x", paths("return x", "local _ENV = {}"))
    assert.are.equal("^_ENV.y", paths("return _ENV.y"))
  end)

  it("of inner functions are not its own", function()
    assert.are.equal("g", paths("local f = function() return inner end; return g"))
  end)

  it("are found in time that grows with the text only", function()
    local parts = {}
    for i = 1, 50000 do parts[i] = ("g%d.x(h%d)"):format(i, i % 100) end
    local list = core.kernel_chunk("function k()" .. table.concat(parts, ";") .. " end",
      "t.lua"):paths(1)
    assert.are.equal(50100, #list)
  end)
end)
