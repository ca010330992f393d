-- Jumps that skip statements become branches around these, and those that cannot stay jumps.
local compiler = require("roc.core").testing.compiler

local function nest(body)
  return compiler.ir_nest_early_exits([[
kernel k(n.0: int, x.1: int32[1] c read written)
  array x.0 = param x.1
  var v.0: int
  %0: int = global_id 0
  %1: int = param n.0
  %2: bool = lt %1 %0
  %3: bool = lt %0 %1
]] .. body .. "end\n")
end

local function count(text, word) return select(2, text:gsub("%f[%w]" .. word .. "%f[%W]", "")) end

describe("early exits", function()
  it("of the kernel nest what follows under the opposite condition", function()
    local text = nest "if %2\n return\n end\n if %3\n return\n end\n store x.0 %0 %1\n"
    assert.matches("%%4: bool = not %%2%s+if %%4%s+%%5: bool = not %%3%s+if %%5%s+store", text)
    assert.equal(0, count(text, "return"))
  end)

  it("after other statements leave these in place", function()
    local text = nest "if %2\n store x.0 %1 %1\n return\n end\n store x.0 %0 %0\n"
    assert.matches("if %%2%s+store x.0 %%1 %%1%s+else%s+store x.0 %%0 %%0%s+end%s+end%s*$", text)
  end)

  it("of both ways drop what follows", function()
    local text = nest "if %2\n return\n else\n store x.0 %1 %1\n return\n end\n store x.0 %0 %0\n"
    assert.equal(1, count(text, "store"))
    assert.equal(0, count(text, "return"))
  end)

  it("of a function that is called leave no block", function()
    local text = nest [[
      %4 = block
        if %2
          set v.0 %1
          leave %4
        end
        set v.0 %0
      end
      %5: int = get v.0
      store x.0 %5 %0
    ]]
    assert.matches("if %%2%s+set v.0 %%1%s+else%s+set v.0 %%0%s+end%s+%%4: int = get v.0", text)
    assert.equal(0, count(text, "block"))
  end)

  it("of an iteration are branches in the loop, and its ends stay", function()
    local text = nest [[
      %4 = loop
        if %2
          leave %4
        end
        if %3
          next %4
        end
        store x.0 %0 %0
      end
    ]]
    assert.equal(1, count(text, "leave"))
    assert.equal(0, count(text, "next"))
    assert.matches("not %%3%s+if %%5%s+store", text)
  end)

  it("stay where something else follows the statement that they are in", function()
    local body = "if %2\n if %3\n return\n end\n store x.0 %1 %1\n end\n store x.0 %0 %0\n"
    assert.equal(1, count(nest(body), "return"))
  end)

  it("stay before a barrier, which does not wait for what has returned", function()
    local text = nest "if %2\n return\n end\n barrier 3\n store x.0 %0 %0\n"
    assert.equal(1, count(text, "return"))
  end)

  it("of any number are nested up to a depth", function()
    local text = nest(("if %2\n return\n end\n store x.0 %0 %0\n"):rep(200))
    assert.equal(200, count(text, "store"))
    assert.equal(184, count(text, "return"))
  end)
end)
