-- The parser against Lua itself: mutated text is accepted by both or by neither, and both see the
-- same functions. Ten seconds by hand: ROCLUA_FUZZ_SECONDS=10 ROCLUA_FUZZ_SEED=7 with this file
-- alone.
--
-- What may differ, by design: a first line that starts with # and a byte order mark (loadfile's
-- business, not load's); limits of Lua's code generator (registers, constants, jumps); nesting
-- within a few levels of the limit; chains higher than 1000.
local compiler = require("roc.core").testing.compiler
local dump = require "roc.dump"

local FILES = { "kernels", "scopes", "syntax" }
local SECONDS = tonumber(os.getenv("ROCLUA_FUZZ_SECONDS"))
local SEED = tonumber(os.getenv("ROCLUA_FUZZ_SEED")) or 1
local SHORT_RUN = 10000

local SNIPPETS = {
  "local", "<const>", "<close>", "function", "end", "do", "if", "then", "else", "elseif", "while",
  "for", "in", "repeat", "until",
  "return", "break", "goto", "goto done", "::done::", "::continue::", "...", "..", "nil", "and",
  "not", "(", ")", "{", "}", "[", "]",
  "=", "==", "~", "~=", "<", "<<", ";", ":", "::", ",", ".", "-", "--", "--[[", "]]", "[[", "[==[",
  "'", '"', "\\", "\\z", "\\u{7F}",
  "\n", "\r\n", "\t", "\0", "\200", "#", "0x", "1e", "0x1p4", "3.", "9999999999999999999", "_ENV",
  "x", "local x <const> = 1 ",
  "x = 2 ", "local y ", "break end ", "f()", "f''", "a.b = 1 ", "a, b = 1 ",
  "function a.b:c() end ",
}

local function read(name)
  local file = assert(io.open("spec/support/corpus/" .. name .. ".lua", "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- A part of a text: whole tokens more often than bytes.
local function cut(text)
  local first = math.random(#text)
  if math.random(4) == 1 then return first, first + math.random(0, 3) end
  first = text:find("[%w_]+%s*", first) or first
  local _, last = text:find("^[%w_]+%s*", first)
  return first, math.random(3) == 1 and text:find("\n", first, true) or last or first
end

local MUTATIONS = {
  function(text) local i, j = cut(text) return text:sub(1, i - 1) .. text:sub(j + 1) end,
  function(text) local i, j = cut(text) return text:sub(1, j) .. text:sub(i) end,
  function(text)
    local i = math.random(#text + 1)
    return text:sub(1, i - 1) .. SNIPPETS[math.random(#SNIPPETS)] .. text:sub(i)
  end,
  function(text)
    local i, j = cut(text)
    return text:sub(1, i - 1) .. SNIPPETS[math.random(#SNIPPETS)] .. " " .. text:sub(j + 1)
  end,
  function(text)
    local i, j = cut(text)
    local at = math.random(#text)
    return text:sub(1, at) .. text:sub(i, j) .. text:sub(at + 1)
  end,
}

-- A window of some lines keeps the share of texts that still parse high.
local function window(text)
  if math.random(3) == 1 then return text end
  local lines = {}
  for line in text:gmatch("[^\n]*\n") do lines[#lines + 1] = line end
  local first = math.random(#lines)
  return table.concat(lines, "", first, math.min(#lines, first + math.random(12)))
end

local function mutant(texts)
  local text = window(texts[math.random(#texts)])
  for _ = 1, math.random(0, 3) do
    if #text > 0 then text = MUTATIONS[math.random(#MUTATIONS)](text) end
  end
  return text:gsub("^#", " "):gsub("^\239\187\191", " ")
end

-- Where each function ends; Lua's idea of where it begins is the line of its parenthesis.
local function ends_of_lua(f)
  local lines = {}
  for i, proto in ipairs(dump.prototypes(f)) do
    if i > 1 then lines[#lines + 1] = proto.last_line end
  end
  return table.concat(lines, " ")
end

local function ends_of_ours(functions)
  local lines = {}
  for i = 2, #functions do lines[#lines + 1] = functions[i].last_line end
  return table.concat(lines, " ")
end

-- nil when Lua and roclua agree on the text, else what each says.
local function disagreement(text)
  -- pcall: a stack overflow in load calls the message handler in force, busted's, which takes it
  -- for a failed test.
  local _, f, lua_message = pcall(load, text, "=mutant", "t")
  local functions, our_message = compiler.functions(text, "mutant")
  if (f == nil) ~= (functions == nil) then
    if lua_message and lua_message:find("too many registers", 1, true) then return nil end
    return ("Lua: %s\nroclua: %s\n%s"):format(lua_message or "accepts", our_message or "accepts",
      text)
  end
  if f and ends_of_lua(f) ~= ends_of_ours(functions) then
    return ("Lua's functions: %s\nroclua's: %s\n%s"):format(ends_of_lua(f), ends_of_ours(functions),
      text)
  end
  return nil, f ~= nil
end

describe("the parser and Lua", function()
  local texts = {}
  for i, name in ipairs(FILES) do texts[i] = read(name) end

  it("agree on the corpus", function()
    for _, text in ipairs(texts) do assert.is_nil((disagreement(text))) end
  end)

  it("agree on mutations of it", function()
    math.randomseed(SEED)
    local deadline = SECONDS and os.clock() + SECONDS
    local runs, accepted = 0, 0
    while deadline and os.clock() < deadline or not deadline and runs < SHORT_RUN do
      local difference, is_accepted = disagreement(mutant(texts))
      if difference then error(("run %d, seed %d\n%s"):format(runs, SEED, difference), 0) end
      runs = runs + 1
      accepted = accepted + (is_accepted and 1 or 0)
    end
    -- A mutator that breaks everything, or nothing, would compare too little.
    assert.is_true(accepted > runs * 0.03 and accepted < runs * 0.97,
      ("%d of %d accepted"):format(accepted, runs))
  end)

  it("agree on texts at the edge of a rule", function()
    local edges = {
      "", ";", "::a::", "::a:: ::a::", "do ::a:: end ::a::", "::a:: do ::a:: end", "goto a ::a::",
      "goto a local b ::a::",
      "goto a local b ::a:: ;", "goto a local b ::a:: print()", "do goto a end local b ::a::",
      "repeat goto a local b ::a:: until b",
      "do do goto a end local b ::a:: end", "::a:: goto a", "do ::a:: end goto a",
      "function f() goto a end ::a::",
      "break", "while 1 do break end", "while 1 do function f() break end end",
      "repeat break until 1", "if 1 then break end",
      "return return", "return 1 x", "return;", "return 1, 2; ", "return ;;",
      "do return end return", "local x <const> = 1 x = 2",
      "local x <const> = f() function g() x = 2 end", "local x <const> = 1 function x() end",
      "local x <close> = nil x = 1",
      "local x <const> = 1 function x.y() end", "local x <const> = 1 x.y = 2", "local x <foo> = 1",
      "local a <close>, b <close> = 1",
      "local a <close>, b <const> = 1", "local function f <const>() end",
      "for x <const> = 1, 2 do end", "a = b = c", "a, b",
      "a + 1", "f() = 1", "(a) = 1", "(a).b = 1", "(f())", "a.b:c = 1", "a.b:c()", "a.b:c{}.d = 1",
      "f{}''[[x]]", "f\n(1)", "''()",
      "local a = ...", "function f() return ... end",
      "function f(...) return function() return ... end end",
      "function f(a, ..., b) end", "function f(...,) end", "function f(,) end", "for i = 1 do end",
      "for i = 1, 2, 3, 4 do end",
      "for a.b in c do end", "for a, b = 1, 2 do end", "for a in b, c, d, e do end", "x = {,}",
      "x = {1,}", "x = {;}", "x = {1;;2}",
      "x = {a = 1, [2] = 3; f}", "x = {[1] 2}", "x = 1 .. 2", "x = 1..2", "x = 0x", "x = 0xg",
      "x = 0x.p1", "x = 0x.1", "x = 1e",
      "x = 1e+", "x = 3x", "x = 3..2", "x = .", "x = .e1", "x = 0x1p", "x = 0X1P-2", "x = 08",
      "x = 1__", "x = '\\xg'", "x = '\\x1'",
      "x = '\\u{}'", "x = '\\u{7FFFFFFF}'", "x = '\\u{80000000}'", "x = '\\u{1'", "x = '\\u1'",
      "x = '\\256'", "x = '\\q'", "x = '\\",
      "x = '\\z \n  '", "x = '\\\r\n'", "x = 'a\nb'", "x = [=[ ]] ]=]", "x = [=", "x = [==x",
      "x = a[ [[k]] ]", "--[==[ ]]", "--[==x",
      "--", "x = ~~~1", "x = not not -1", "x = - - -1", "x = #-a", "x = 2^-3^2", "x = a < b < c",
      "x = a ~ ~b", "x = a = b", "~x",
      "goto", "goto 1", "::1::", "::a:", "local", "local 1", "local a.b", "function",
      "function 1() end", "function a:b.c() end",
      "if x then elseif y else end", "if x then else elseif y then end", "if x do end",
      "while x then end", "end", "until", "else",
      "\0", "x = '\0'", "x\0", "\27Lua", "local _ENV = {} x = 1",
      "local _ENV <const> = {} x = 1 _ENV = 2", "return function(_ENV) x = 1 end",
      "f(", "f(1,)", "f(,)", "a.1", "a.", "a:", "a:b", "a:b.c()", "a[]", "a[1", "(", ")", "()",
      "(1", "x = function", "x = function(",
    }
    for _, text in ipairs(edges) do assert.is_nil((disagreement(text))) end
  end)

  it("have the same limits on locals, upvalues, levels and jumps", function()
    local function locals(n)
      local list = {}
      for i = 1, n do list[i] = "v" .. i end
      return table.concat(list, ", ")
    end
    for _, n in ipairs { 1, 196, 197, 198, 199, 200, 201, 300 } do
      for _, form in ipairs { "local %s", "function f(%s) end",
        "local function f(%s) local g = 1 end", "local %s for i = 1, 2 do end",
        "local %s for i in f do end", "do local %s end local x",
          "local %s local function f() end" } do
        assert.is_nil((disagreement(form:format(locals(n)))))
      end
    end
    for _, n in ipairs { 200, 254, 255, 256, 300 } do
      local declared, used = {}, {}
      for i = 1, n do
        local k = (i - 1) // 150
        declared[k + 1] = (declared[k + 1] or "") .. (" local u%d = f"):format(i)
        used[i] = "u" .. i .. "()"
      end
      local text = table.concat(declared, " local function g() ") .. " local function h() "
        .. table.concat(used, ";")
        .. (" end"):rep(#declared)
      assert.is_nil((disagreement(text)))
    end
    for _, n in ipairs { 1, 50, 140, 210, 400 } do -- the levels that called load count too
      for _, text in ipairs { "x = " .. ("("):rep(n) .. "1" .. (")"):rep(n),
        ("do "):rep(n) .. ("end "):rep(n),
        "x = " .. ("-"):rep(n, " ") .. "1", "x = " .. ("{"):rep(n) .. ("}"):rep(n),
        "x = " .. ("1 .. "):rep(n) .. "1",
        "x = " .. ("a + "):rep(n) .. "1", ("a, "):rep(n) .. "a = 1",
        ("if a then "):rep(n) .. ("end "):rep(n),
          "if a then " .. ("elseif b then "):rep(n) .. "end" } do
        assert.is_nil((disagreement(text)))
      end
    end
  end)
end)
