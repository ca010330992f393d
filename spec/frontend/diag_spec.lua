-- How diagnostics are shown: place, message, the part of the line around the span, a caret that
-- aligns.
local compiler = require("roc.core").testing.compiler

local function diagnostics(text, name)
  local tree, message = compiler.ast(text, name or "t.lua")
  assert.is_nil(tree)
  return message
end

local function lines(...) return table.concat({ ... }, "\n") .. "\n" end

describe("a diagnostic", function()
  it("shows file, line, column, message, the source line and a caret", function()
    assert.are.equal(lines("t.lua:2:9: unexpected symbol near 'then'", "    a = b then",
      "          ^~~~"),
      diagnostics("\n  a = b then"))
  end)

  it("marks the whole span", function()
    assert.are.equal(lines("t.lua:1:5: malformed number near '3xyz'", "    x = 3xyz",
      "        ^~~~"), diagnostics("x = 3xyz"))
  end)

  it("has a note with a place of its own", function()
    assert.are.equal(
      lines("t.lua:2:1: attempt to assign to const variable 'x'", "    x = 2", "    ^",
        "t.lua:1:7: note: 'x' is declared <const> here", "    local x <const> = 1", "          ^"),
      diagnostics("local x <const> = 1\nx = 2"))
  end)

  it("aligns the caret behind tabs", function()
    assert.are.equal(lines("t.lua:1:6: unexpected symbol near '='", "    x\t=\t=", "     \t \t^"),
      diagnostics("\tx\t=\t="))
  end)

  it("aligns the caret behind characters of several bytes", function()
    assert.are.equal(lines("t.lua:1:15: unexpected symbol near '='", "    x = 'äé' .. =",
      "                ^"),
      diagnostics("x = 'äé' .. ="))
  end)

  it("cuts long lines around the span", function()
    local message = diagnostics("x = " .. ("a + "):rep(100) .. "= " .. ("+ b"):rep(100))
    local source, caret = message:match("\n([^\n]*)\n([^\n]*)\n$")
    assert.is_true(#source < 120)
    assert.are.equal("    ...", source:sub(1, 7))
    assert.are.equal("...", source:sub(-3))
    assert.are.equal("=", source:sub(#caret, #caret))
    assert.are.equal("^", caret:match("^ *(.*)$"))
  end)

  it("points behind the last line's end when the text ends too early", function()
    assert.are.equal(lines("t.lua:1:10: unexpected symbol near <eof>", "    return f(",
      "             ^"), diagnostics("return f("))
  end)

  it("is printable whatever the text holds", function()
    local message = diagnostics("x = \0\27[31m\255\r")
    assert.are.equal(lines("t.lua:1:5: unexpected symbol near '<\\0>'", "    x = ??[31m?",
      "        ^"), message)
  end)

  it("keeps the name it is given", function()
    assert.are.equal('[string "x = "]:1:5: unexpected symbol near <eof>',
      diagnostics("x = ", '[string "x = "]'):match("^[^\n]*"))
  end)
end)
