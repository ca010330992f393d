-- Tokens to tree: shapes by the `ast` dump, then every syntax diagnostic in the order of diag.def.
local compiler = require("roc.core").testing.compiler

-- The main function's statements on one line, children in parentheses: "assign(free name a (global)
-- values(integer 1))".
local function tree(text)
  local dump = assert(compiler.ast(text, "t.lua"))
  local out, depth = {}, 1
  for indent, line in dump:gmatch("( *)([^\n]*)\n") do
    local level = #indent // 2
    if level > 0 then
      if level > depth then
        out[#out + 1] = "("
      else
        out[#out + 1] = (")"):rep(depth - level) .. (#out > 0 and " " or "")
      end
      out[#out + 1] = line:gsub(" %(global%)", "")
      depth = level
    end
  end
  return table.concat(out) .. (")"):rep(depth - 1)
end

local function expression(text)
  return tree("return " .. text):match("^return%(values%((.*)%)%)$")
end

-- Whether two ways to write an expression mean the same; parentheses do not count.
local function same(one, two)
  local function plain(text)
    local dump = assert(compiler.ast("return " .. text, "t.lua"))
    local lines, removed = {}, {}
    for indent, line in dump:gmatch("( *)([^\n]*)\n") do
      local level = #indent
      for i = #removed, 1, -1 do
        if removed[i] >= level then removed[i] = nil end
      end
      if line == "paren" then
        removed[#removed + 1] = level
      else
        lines[#lines + 1] = (" "):rep(level - 2 * #removed) .. line
      end
    end
    return table.concat(lines, "\n")
  end
  assert.are.equal(plain(two), plain(one))
end

local function message(text)
  local ok, why = compiler.ast(text, "t.lua")
  assert.is_nil(ok)
  return (why:match("^t%.lua:([^\n]*)"))
end

describe("the parser", function()
  it("makes the statements of a block", function()
    assert.are.equal(
      "assign(free name a values(integer 1)) call statement(call(free name f)) return",
      tree("a = 1; f() return"))
  end)

  it("makes every literal", function()
    assert.are.equal('nil true false integer 1 float 2.0 string "s" ...',
      expression("nil, true, false, 1, 2., 's', ..."))
  end)

  it("gives operators Lua's precedence", function()
    same("a or b and c", "a or (b and c)")
    same("a and b or c", "(a and b) or c")
    same("a and b < c", "a and (b < c)")
    same("a < b | c", "a < (b | c)")
    same("a | b ~ c & d << e", "a | (b ~ (c & (d << e)))")
    same("a << b .. c", "a << (b .. c)")
    same("a .. b + c", "a .. (b + c)")
    same("a + b * c", "a + (b * c)")
    same("a - b // c % d / e", "a - (((b // c) % d) / e)")
    same("-a * b", "(-a) * b")
    same("-a ^ b", "-(a ^ b)")
    same("2 ^ -3", "2 ^ (-3)")
    same("not a == b", "(not a) == b")
    same("~a & #b", "(~a) & (#b)")
  end)

  it("associates as Lua does: ^ and .. to the right, all others to the left", function()
    same("a ^ b ^ c", "a ^ (b ^ c)")
    same("a .. b .. c", "a .. (b .. c)")
    for op in ("+ - * / // % & | ~ << >> == ~= < <= > >= and or"):gmatch("%S+") do
      same(("a %s b %s c"):format(op, op), ("(a %s b) %s c"):format(op, op))
    end
  end)

  it("keeps parentheses, which adjust to one value", function()
    assert.are.equal("paren(call(free name f))", expression("(f())"))
  end)

  it("makes indices, calls and method calls in any order", function()
    assert.are.equal(
      'call(index(method call m(index(free name a string "b") integer 1) string "c") table)',
      expression("a.b:m(1)['c']{}"))
    assert.are.equal('call(call(free name f string "x") string "y")', expression("f'x'[[y]]"))
  end)

  it("makes tables of values and fields", function()
    assert.are.equal(
      'table(integer 1 field(string "x" integer 2) field(free name k integer 3) ...)',
      expression("{1; x = 2, [k] = 3, ...,}"))
  end)

  it("makes every control structure", function()
    assert.are.equal("while(free name a body(break))", tree("while a do break end"))
    assert.are.equal("repeat(free name a body(call statement(call(free name f))))",
      tree("repeat f() until a"))
    assert.are.equal("do(body(return))", tree("do return end"))
    assert.are.equal(
      "for i#0(integer 1 integer 2 integer 3 body(call statement(call(local name i#0))))",
      tree("for i = 1, 2, 3 do i() end"))
    assert.are.equal("for in(local name k#0 local name v#1 values(free name p) body(return))",
      tree("for k, v in p do return end"))
    assert.are.equal("if(free name a body(return) else(if(free name b else(return))))",
      tree("if a then return elseif b then else return end"))
    assert.are.equal("label l goto l", tree("::l:: goto l"))
  end)

  it("makes functions of every form, named after what they are assigned to", function()
    assert.are.equal(
      "local function f#0(function 1 f(a#0, ...) lines 1-1(return(values(local name a#0 ...))))",
      tree("local function f(a, ...) return a, ... end"))
    assert.are.equal(
      'function statement(index(free name a string "b") function 1 b(self#0) lines 1-1)',
      tree("function a:b() end"))
    assert.are.equal("local(local name g#0 values(function(function 1 g() lines 1-2)))",
      tree("local g = function()\nend"))
    assert.are.equal(
      'assign(index(free name a string "h") values(function(function 1 h() lines 1-1)))',
      tree("a.h = function() end"))
    assert.are.equal("return(values(function(function 1 () lines 1-1)))",
      tree("return function() end"))
  end)

  it("numbers functions as a dump does: by where they begin", function()
    local functions = compiler.functions("local f = function() return function() end end\nlocal "
      .. "g = { function() end, x(function() end) }", "t.lua")
    local begins = {}
    for i, f in ipairs(functions) do
      assert.are.equal(i - 1, f.index)
      begins[i] = f.begin
    end
    assert.are.same({ 0, 10, 28, 59, 77 }, begins)
  end)

  it("tells where functions are in the text", function()
    local text = "x = 1\nlocal f = function(a)\n  return a\nend -- tail"
    local f = compiler.functions(text, "t.lua")[2]
    assert.are.equal("function(a)\n  return a\nend", text:sub(f.begin + 1, f["end"]))
    assert.are.equal(2, f.first_line)
    assert.are.equal(4, f.last_line)
  end)

  it("resolves names by scope", function()
    assert.are.equal("local(local name x#0 values(free name x)) local(local name x#1 "
      .. "values(local name x#0)) do(body(local(local name x#2)))",
      tree("local x = x; local x = x; do local x end"))
    assert.are.equal("repeat(local name x#0 body(local(local name x#0)))",
      tree("repeat local x until x"))
    assert.are.equal("for i#0(free name i free name i body(return(values(local name i#0))))",
      tree("for i = i, i do return i end"))
  end)

  it("tells globals from upvalues, and marks what is captured and assigned", function()
    assert.are.equal(
      "local(local name x#0 captured assigned:2) assign(local name x#0 values(integer 1)) "
      .. "return(values(function(function 1 () lines 1-1(assign(free name x (upvalue) free name "
        .. "y values(integer 2))))))",
      tree("local x; x = 1; return function() x, y = 2 end"))
  end)

  it("puts compile-time constants of outer functions where they are used, as Lua does", function()
    local function inner(initialiser)
      return tree("local N <const> = " .. initialiser
        .. " return function() return N end"):match("lines 1%-1%(return%(values%((.-)%)%)%)")
    end
    local constants = {
      ["16"] = "integer 16", ["-1"] = "integer -1", ["2 * 8 + 1"] = "integer 17",
      ["1 << 4 | 1"] = "integer 17", ["~0"] = "integer -1",
      ["7 // -2"] = "integer -4", ["-7 % 3"] = "integer 2", ["1 / 2"] = "float 0.5",
      ["2 ^ 10"] = "float 1024.0", ["7.5 // 2"] = "float 3.0",
      ["-7.5 % 2"] = "float 0.5", ["'s'"] = 'string "s"', ["nil"] = "nil", ["not nil"] = "true",
      ["not 0"] = "false", ["true and 5"] = "integer 5",
      ["nil or 6"] = "integer 6", ["(3)"] = "integer 3", ["0.0"] = "float 0.0",
      ["9223372036854775807 + 1"] = "integer -9223372036854775808", ["1 << 64"] = "integer 0",
      ["1 << -1"] = "integer 0", ["-1 >> 63"] = "integer 1", ["2.0 | 1"] = "integer 3",
      ["-9223372036854775807 - 1 // -1"] = "integer -9223372036854775806",
    }
    for text, value in pairs(constants) do
      assert.are.equal(value, inner(text), text)
      local f = load("local N <const> = " .. text .. " return function() return N end")()
      assert.is_nil(debug.getupvalue(f, 1), text)
    end
    for _, text in ipairs { "f()", "1 // 0", "-0.0", "0 * 1.0", "0/0", "1 < 2", "'a' .. 'b'",
      "#'s'", "nil and 5", "5 or 6", "{}", "x", "'1' + 1", "1.5 | 1" } do
      assert.are.equal("free name N (upvalue", inner(text), text)
      local runs, f =
        pcall(load("local N <const> = " .. text .. " return function() return N end", "=", "t",
        { f = print }))
      assert.are.equal("N", runs and debug.getupvalue(f, 1) or "N", text)
    end
  end)
end)

describe("each syntax error", function()
  -- 300 locals in two functions, all used by a third.
  local captures = {}
  for i = 1, 300 do
    captures[i] = ("%slocal u%d "):format(i == 151 and "local function f() " or "", i)
    captures[300 + i] = (i == 1 and "\nlocal function g() " or "") .. ("u%d() "):format(i)
  end
  local labels = {}
  for i = 1, 32768 do labels[i] = ("::l%d:: f()\n"):format(i) end

  local cases = {
    { "x = 'abc\n'", "1:5: unfinished string near ''abc'" },
    { "x = [[abc\n", "2:1: unfinished long string (starting at line 1) near <eof>" },
    { "--[==[ ]]", "1:10: unfinished long comment (starting at line 1) near <eof>" },
    { "x = [==x", "1:5: invalid long string delimiter near '[=='" },
    { "x = 3x", "1:5: malformed number near '3x'" },
    { "x = '\\q'", "1:6: invalid escape sequence near '\\q'" },
    { "x = '\\xfg'", "1:6: hexadecimal digit expected near '\\xfg'" },
    { "x = '\\u{}'", "1:6: hexadecimal digit expected near '\\u{}'" },
    { "x = '\\300'", "1:6: decimal escape too large near '\\300''" },
    { "x = '\\u20'", "1:6: missing '{' in \\u{xxxx} near '\\u2'" },
    { "x = '\\u{80000000}'", "1:6: UTF-8 value too large near '\\u{80000000'" },
    { "x = '\\u{20'", "1:6: missing '}' in \\u{xxxx} near '\\u{20''" },
    { "x = )", "1:5: unexpected symbol near ')'" },
    { "x 1", "1:3: syntax error near '1'" },
    { "local 1", "1:7: <name> expected near '1'" },
    { "x, y 1", "1:6: '=' expected near '1'" },
    { "for x do end", "1:7: '=' or 'in' expected near 'do'" },
    { "x:y = 1", "1:5: function arguments expected near '='" },
    { "f(1", "1:4: ')' expected near <eof>" },
    { "end", "1:1: <eof> expected near 'end'" },
    { "do\nx = 1", "2:6: 'end' expected (to close 'do' at line 1) near <eof>" },
    { "f(\n1", "2:2: ')' expected (to close '(' at line 1) near <eof>" },
    { "(f()) = 1", "1:7: syntax error near '='" },
    { "function f() return ... end",
      "1:21: cannot use '...' outside a vararg function near '...'" },
    { "local x <foo> = 1", "1:10: unknown attribute 'foo'" },
    { "local x <close>, y <close> = 1", "1:18: multiple to-be-closed variables in local list" },
    { "local x <const> = 1 x = 2", "1:21: attempt to assign to const variable 'x'" },
    { "local x <const> = 1 return function() x = 2 end",
      "1:39: attempt to assign to const variable 'x'" },
    { "::a::\n::a::", "2:1: label 'a' already defined on line 1" },
    { "break", "1:1: break outside a loop" },
    { "goto a", "1:1: no visible label 'a' for goto" },
    { "goto a local b ::a:: f()", "1:1: goto 'a' jumps into the scope of local 'b'" },
    { "x = " .. ("("):rep(300),
      "1:204: chunk is nested too deeply (limit is 200 levels) near '('" },
    { "x = a" .. (".b"):rep(3000),
      "1:2008: chunk is nested too deeply (limit is 1000 levels) near '.'" },
    { "local " .. ("a,"):rep(200) .. "a",
      "1:407: too many local variables (limit is 200) in main function near 'a'" },
    { "\nfunction f() local " .. ("a,"):rep(200) .. "a end",
      "2:420: too many local variables (limit is 200) in function at line 2 near 'a'" },
    { table.concat(captures),
      "2:1697: too many upvalues (limit is 255) in function at line 2 near 'u256'" },
    { table.concat(labels),
      "32768:1: too many labels/gotos (limit is 32767) in main function near '::l32768::'" },
    { function() return ("a=1 "):rep(2500000) end,
      "1:4533698: chunk is too large: its syntax tree needs more than 512 MiB" },
    { function() return (" "):rep((64 << 20) + 1) end,
      "1:1: chunk is too large: its text has more than 64 MiB" },
  }
  for _, case in ipairs(cases) do
    it(("reads %s"):format(case[2]:gsub("^%d+:%d+: ", "")), function()
      local text = case[1] -- a function where it is long
      assert.are.equal(case[2], message(type(text) == "function" and text() or text))
    end)
  end

  it("stops at the first", function()
    local _, why = compiler.ast("x = = 1\ny = = 2", "t.lua")
    assert.is_nil(why:find("2:", 1, true))
  end)
end)

describe("a text of any shape", function()
  local MIB = 1 << 20
  local function survives(text)
    local before = os.clock()
    local list, why = compiler.functions(text, "big.lua")
    assert.is_true(list ~= nil or #why < 1000)
    assert.is_true(os.clock() - before < 20)
    return why and why:match("^[^\n]*")
  end

  it("may have ten million bytes", function()
    assert.is_nil(survives(("f()      "):rep(10 * MIB // 10)))
  end)

  it("may be one token", function()
    for _, text in ipairs { ("x"):rep(10 * MIB) .. "()", "x='" .. ("y"):rep(10 * MIB) .. "'",
      "x=1" .. ("0"):rep(10 * MIB), ("\n"):rep(10 * MIB),
      "--" .. ("-"):rep(10 * MIB) } do
      assert.is_nil(survives(text))
    end
    assert.matches("unfinished long string", survives("x=[[" .. ("]="):rep(5 * MIB)), 1, true)
  end)

  it("may be nested as deep as it likes", function()
    for _, open in ipairs { "(", "{", "x=function() ", "f(", "if a then ", "repeat ", "-", "not ",
      "a[", "do ", "a.b=" } do
      local prefix = open:find("^[%({%-n]") and "x=" or ""
      assert.is_string(survives(prefix .. open:rep(10000)))
    end
  end)

  it("may declare as many locals as it likes", function()
    local names = {}
    for i = 1, 100000 do names[i] = "v" .. i end
    assert.matches("too many local variables", survives("local " .. table.concat(names, ", ")))
    assert.matches("too many local variables", survives("local " .. table.concat(names, " local ")))
  end)

  it("may be random bytes", function()
    math.randomseed(3)
    for _ = 1, 3000 do
      local bytes = {}
      for i = 1, math.random(80) do bytes[i] = string.char(math.random(0, 255)) end
      survives(table.concat(bytes))
    end
  end)
end)
