-- Text to tokens. Each test compares the `tokens` dump, or what Lua makes of the same text.
local compiler = require("roc.core").testing.compiler

-- All but the last, <eof>.
local function tokens(text)
  return (assert(compiler.tokens(text, "t.lua")):gsub("\n?%d+:%d+ <eof>\n$", ""))
end

-- The tree's constant for an expression, as the dump shows it.
local function constant(text)
  return assert(compiler.ast("return " .. text, "t.lua")):match("values\n%s*([^\n]*)\n")
end

describe("the lexer", function()
  it("gives line and column of each token", function()
    assert.are.equal("1:1 'local'\n1:7 <name> x\n2:3 '='\n2:5 <integer> 1",
      tokens("local x\n  = 1"))
  end)

  it("knows every keyword and every symbol", function()
    local words = "and break do else elseif end false for function goto if in local nil not or "
      .. "repeat return then true until while"
    local symbols = "+ - * / // % ^ # & ~ | << >> == ~= <= >= < > = ( ) { } [ ] :: ; : , . .. ..."
    for _, list in ipairs { words, symbols } do
      for word in list:gmatch("%S+") do
        assert.are.equal(("1:2 '%s'"):format(word), tokens(" " .. word))
      end
    end
  end)

  it("takes the longest symbol", function()
    assert.are.equal("1:1 '//'\n1:3 '/'\n1:4 '<<'\n1:6 '='\n1:7 '...'\n1:10 '.'",
      tokens("///<<=...."))
  end)

  it("counts each of the four kinds of line end once", function()
    assert.are.equal("1:1 <name> a\n2:1 <name> b\n3:1 <name> c\n4:1 <name> d\n5:1 <name> e",
      tokens("a\nb\rc\r\nd\n\re"))
  end)

  it("skips comments, short and long, and the levels of long ones", function()
    assert.are.equal("2:1 <name> a\n3:6 <name> b", tokens("--[=x\na --[==[ ]] ]=]\n ]==]b"))
    assert.are.equal("", tokens("-- to the end"))
  end)

  it("skips a byte order mark and a first line that starts with #", function()
    assert.are.equal("2:1 <name> x", tokens("\239\187\191#!/usr/bin/env roclua\nx"))
    assert.are.equal("1:2 '#'", tokens(" #"))
  end)

  it("reads integers: decimal, hexadecimal, too large ones as floats or wrapped", function()
    local values = {
      ["0"] = "integer 0", ["08"] = "integer 8",
      ["9223372036854775807"] = "integer 9223372036854775807",
      ["9223372036854775808"] = "float 9.2233720368547758e+18", ["0xFF"] = "integer 255",
      ["0xffffffffffffffff"] = "integer -1", ["0x1ffffffffffffffff"] = "integer -1",
    }
    for text, value in pairs(values) do assert.are.equal(value, constant(text)) end
  end)

  it("reads every float as Lua does, bit for bit", function()
    local numerals = {
      "1.", ".5", "3.25", "1e10", "1E+2", "5e-324", "2.4703282292062327e-324",
      "2.4703282292062328e-324", "1e400", "0x.1", "0xA.8p0", "0x1p-1074",
      "0x1p-1075", "0x1.8p-1075", "0x1.fffffffffffff7p0", "0x1.fffffffffffff8p0",
      "0x1.fffffffffffff80001p0", "0x1p1024", "0x1.fffffffffffff8p1023",
      "0x123456789abcdef01234.5p-7", "0x0.000000000000000000001p100", "0x1p99999999999",
      "0x1p-99999999999", "0x0p99999999999",
      "179769313486231580793e289", "0.1e1", "123456789012345678901234567890",
      "0x.0000000000000000001p0", "0x1.00000000000008p-1022", "0x0.8p-1022",
    }
    math.randomseed(7)
    for _ = 1, 500 do
      numerals[#numerals + 1] = ("%x.%xp%d"):format(math.random(0), math.random(0),
        math.random(-1250, 1100)):gsub("^", "0x")
      numerals[#numerals + 1] = ("%d.%de%d"):format(math.random(0) >> 1, math.random(0) >> 1,
        math.random(-345, 310))
    end
    for _, text in ipairs(numerals) do
      local value = load("return " .. text)()
      local ours = assert(compiler.tokens(text, "t.lua")):match("<number> (%S+)")
      local expected = ("%.17g"):format(value)
      assert.are.equal(expected, ours, text)
    end
  end)

  it("rounds hexadecimal denormals to nearest, which strtod of glibc 2.36 does not", function()
    for text, exact in pairs {
      ["0x556896.87900006p-1045"] = "0x0.aad12d0f20001p-1022",
      ["0x44cfe7bd.156846p-1053"] = "0x0.899fcf7a2ad09p-1022",
      ["0x49a190ef00500a000000000p-1114"] = "0x0.49a190ef00501p-1022",
    } do
      local ours = assert(compiler.tokens(text, "t.lua")):match("<number> (%S+)")
      assert.are.equal(("%.17g"):format(tonumber(exact)), ours, text)
    end
  end)

  it("does not depend on the locale", function()
    local before = os.setlocale(nil, "numeric")
    for _, name in ipairs { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" } do
      if os.setlocale(name, "numeric") then break end
    end
    local value = constant("0.5")
    os.setlocale(before, "numeric")
    assert.are.equal("float 0.5", value)
  end)

  it("decodes every escape as Lua does", function()
    local strings = {
      [["\a\b\f\n\r\t\v\\\"\'"]], [['\x00\x7f\xFF']], [['\0\10\0100\255']],
      [['\u{0}\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}']],
      [['\u{1FFFFF}\u{200000}\u{3FFFFFF}\u{4000000}\u{7FFFFFFF}']], "'a\\z \n\t  b'",
      "'a\\\nb\\\r\nc\\\n\rd'", "'\195\169'",
      "[[\nfirst]]", "[[\r\n\na\rb\n\rc]]", "[==[]]]=]]==]", "[=[\\n]=]", "''",
    }
    for _, text in ipairs(strings) do
      local value = load("return " .. text)()
      local quoted = value:gsub("[%c\128-\255\"\\]", function(c)
        return ("\\x%02X"):format(c:byte())
      end)
      assert.are.equal('string "' .. quoted .. '"', constant(text), text)
    end
  end)

  it("gives back any byte it does not know as one token", function()
    assert.are.equal("1:1 <invalid>", tokens("\1"))
    assert.are.equal("1:1 <name> a\n1:2 <invalid>\n1:3 <name> b", tokens("a\0b"))
  end)
end)
