-- The Lua side of the prompt: tokens, locals of earlier chunks, values as text.
local files = require "support.files"
local lexer = require "roc.repl.lexer"
local locals = require "roc.repl.locals"
local roc = require "roc"
local show = require "roc.repl.show"
local source = require "roc.source"

local function kinds(text)
  local found = {}
  for _, token in ipairs(lexer.tokens(text)) do
    found[#found + 1] = ("%s:%s"):format(token.kind, token.text)
  end
  return found
end

describe("the prompt's tokens", function()
  it("are Lua's", function()
    assert.are.same({ "keyword:local", "name:x", "symbol:=", "number:0x1p-3", "symbol:..",
      "string:'a\\'b'", "comment:-- end" }, kinds "local x = 0x1p-3 .. 'a\\'b' -- end")
    assert.are.same({ "string:[==[a]]\nb]==]", "comment:--[[c\nd]]", "symbol:..." },
      kinds "[==[a]]\nb]==] --[[c\nd]] ...")
    assert.are.same({ "number:1.5e+3", "symbol:..", "number:.5", "symbol:~=", "symbol:::",
      "name:a1" }, kinds "1.5e+3 .. .5 ~= :: a1")
  end)

  it("reach to the end of a text that stops in a string or a comment", function()
    for _, text in ipairs { "\"abc", "'a\\", "[[ab]", "--[[ x", "\"a\\\"" } do
      local tokens = lexer.tokens(text)
      assert.are.same({ 1, #text, false }, { #tokens, tokens[1].last, tokens[1].is_closed })
    end
  end)
end)

-- Runs chunks one after the other in one scope; the values of the last.
local function run(...)
  local chunks = { ... }
  local scope, results = locals.new(), nil
  for i, text in ipairs(chunks) do
    local chunkname = "=repl_spec#" .. i
    local f, why, code, added = scope:load(text, chunkname)
    assert(f, why)
    source.register_chunk(chunkname, { text = text, lead = 0, code = code or text, added = added })
    results = table.pack(pcall(f))
    assert.is_true(results[1] or i == #chunks, results[2])
  end
  return table.unpack(results, 1, results.n)
end

describe("locals of earlier chunks", function()
  it("are variables of later ones", function()
    assert.are.same({ true, 2, 1 }, { run("local x, y = 1", "y = x x = x + 1", "return x, y") })
    assert.are.same({ true, 7 }, { run("local function f(n) return n == 0 and 7 or f(n - 1) end",
      "return f(3)") })
    assert.are.same({ true, 1, 2 }, { run("local x = 1 local f = function() return x end",
      "local x = 2", "return f(), x") })
  end)

  it("are found however the statement is written", function()
    local forms = {
      "local x = ({ 5, f = function() local y = 1 end, ('a'):rep(2), [1] = 5 })[2] and 5",
      "local x = #{ 1, 2 } + (function() do return 3 end end)()",
      "local x = -2 ^ 2 * -1 + 1 local z",
      "local x = 5 -- local y = 1",
      "local x = string.format('%s', 5) + 0 do local x = 1 end",
      "local s = [[local y]] local x = #s - 2",
      "local x = not nil and 5 or 1 if x then local x = 2 end",
      "local x <const> = 5",
      "local x <const>, w = 2 + 3, {}",
      "local x = 5 ; (print or error)('') return",
      "local f = math.abs local x = f'-5'",
      "repeat local y = 1 until y local x = 5",
      "for i = 1, 2 do local y = i end while false do local q end local x = 5",
      "local x x = 5",
      "local a <close> = setmetatable({}, { __close = print and function() end }) local x = 5",
      "function g() local y end local x = 5",
      "local x = 1 < 2 and 5 or ... == nil and 1",
      "local x = 5\nreturn x",
    }
    local print_before = print
    finally(function() print = print_before end) -- luacheck: ignore 121
    print = function() end -- luacheck: ignore 121
    for _, form in ipairs(forms) do
      local ok, x = run(form, "return x")
      assert.are.same({ form, true, 5 }, { form, ok, x })
    end
  end)

  it("that a `goto` jumps past end with their chunk", function()
    assert.are.same({ true }, { run("goto done local repl_spec_x = 1 ::done::",
      "return repl_spec_x") })
  end)

  it("keep lines, so that functions and errors have theirs", function()
    local ok, why = run("local x = 1\nlocal y = 2\nerror 'here'")
    assert.are.same({ false, "repl_spec#1:3: here" }, { ok, why })
  end)

  it("that are <const> are not assigned, and _ENV is that of the chunk that declares it", function()
    local scope = locals.new()
    assert(scope:load("local n <const> = 1", "=a"))()
    assert.matches("assign to const variable 'n'", (select(2, scope:load("n = 2", "=a"))))
    assert.are.same({ true, 4 }, { run("local _ENV = { v = 4 }", "return v") })
  end)

  it("are captured by kernels, whose text is the typed one", function()
    local a = roc.zeros(2)
    _G.repl_spec = { a = a, roc = roc }
    finally(function() _G.repl_spec = nil end)
    assert.is_true((run("local a, roc = repl_spec.a, repl_spec.roc local s = 2",
      "local function twice(x) return 2 * x end local z = 1 "
      .. "local k = roc.kernel(function(a) local i = roc.get_global_id(1) "
      .. "a[i] = twice(i) * s end) k:forall(2)(a)", "s = 10")))
    assert.are.same({ 4, 8 }, a:totable())
  end)
end)

describe("values at the prompt", function()
  local function shown(value) return show.values(value) end

  it("are tables as Lua reads them", function()
    assert.are.equal("{}", shown {})
    assert.are.equal('{1, "a\\"b", {true}, [5] = 1, a = {b = 2}, ["a b"] = 0.5, [false] = 1}',
      shown { 1, 'a"b', { true }, [5] = 1, a = { b = 2 }, ["a b"] = .5, [false] = 1 })
    assert.are.equal('{"\\0\\127", "\\xff"}', (shown { "\0\127", "\255" }:gsub("\\000", "\\0")))
  end)

  it("know a table that contains itself", function()
    local t = { 1 }
    t.t = { t, {} }
    assert.are.equal("{1, t = {<cycle>, {}}}", shown(t))
  end)

  it("are limited, whatever the table", function()
    local t = {}
    for i = 1, 300 do
      t[i] = {}
      for j = 1, 300 do t[i][j] = ("x"):rep(1000) end
    end
    assert.is_true(#shown(t) < 200000)
    assert.matches("more", shown(t))
  end)

  it("call no metamethods of tables but __tostring, whose failure is shown", function()
    local t = setmetatable({}, { __index = error, __len = error, __pairs = error })
    assert.are.equal("{}", shown(t))
    assert.matches("__tostring failed: .*no", shown { setmetatable({}, { __tostring = function()
      error "no"
    end }) })
  end)

  it("are arrays with what describes them", function()
    assert.are.equal("roc.Array uint64 {2}  min 1  max 1.84467e+19  mean 9.22337e+18\n"
      .. "[                   1 18446744073709551615]", shown(roc.array({ 1, -1 }, "uint64")))
    assert.are.equal("roc.Array float64 {0, 3}\n[]", shown(roc.zeros { 0, 3 }))
    assert.are.equal("roc.Array float64 {2}  all nan\n[nan nan]", shown(roc.array { 0 / 0, 0 / 0 }))
    local d = roc.device_array(3)
    d:close()
    assert.are.equal("{roc.DeviceArray (closed)}", shown { d })
  end)
end)

describe("help", function()
  local help = require "roc.repl.help"

  it("has what the docs say of every public name", function()
    local missing, count = {}, 0
    for name, value in pairs(roc) do
      if type(value) == "function" or type(value) == "userdata" then
        count = count + 1
        if not help.of_name("roc." .. name) then missing[#missing + 1] = name end
      end
    end
    for _, path in ipairs(require("roc.core").kernel_builtins()) do
      if path:find "^roc%." then
        count = count + 1
        if not (help.of_name(path) or ""):find(path .. "(", 1, true) then
          missing[#missing + 1] = path
        end
      end
    end
    assert.is_true(count > 140, count)
    assert.are.same({}, missing)
  end)

  it("takes functions, values, names and parts of names", function()
    local scan = help.text(roc.scan)
    assert.matches("^roc%.scan%(.*%(docs/reference/builders%.md%)", scan)
    assert.are.equal(scan, help.text "roc.scan")
    assert.are.equal(scan, help.text "scan")
    assert.matches("^roc%.barrier%(.*Meeting points and order", help.text "barrier")
    assert.matches("^roc%.Array:slice%(dimension, first", help.text "slice")
    assert.matches("^roc%.Array:fill%(value%)", help.text(roc.zeros(1).fill))
    assert.matches("^roc%.Stream:synchronize%(%)", help.text(roc.stream().synchronize))
    assert.matches("^roc%.DType\n", help.text(roc.float32))
    local atomic, all = help.text(roc.atomic), help.text(roc)
    assert.matches("^roc%.atomic\n\n%* `roc%.atomic%.add%(a, index, value%)`: Adds", atomic)
    assert.is_nil(atomic:find "roc%.[^a]")
    assert.matches("^roc\n\n%* `roc%.array%(.*\n%* `roc%.CLK_LOCAL_MEM_FENCE`: ", all)
    assert.is_nil(all:find "roc%.atomic%." or all:find "`roc%.Array")
    assert.matches("^roc%.Array\n.*`:argmax%(opts%)`: The place of", help.text(roc.zeros(1)))
    assert.matches("%.exclusive", scan)
    assert.matches("^'string%.rep' is Lua's own", help.text(string.rep))
    assert.matches("roc%.math%.pow", help.text(math.sin)) -- the table of errors
    assert.matches("nothing named 'no such'", help.text "no such")
    assert.matches("nothing of this boolean", help.text(true))
  end)
end)

describe("the entry of a name", function()
  local declared = require "roc.repl.declared"
  local entries = require "roc.repl.entries"
  local help = require "roc.repl.help"

  it("is one text at the prompt, in editors and in the pages", function()
    local count = 0
    for _, page in ipairs(declared.pages()) do
      local meta = files.read("lua/roc/meta/" .. page.name .. ".lua")
      local text = files.read("docs/reference/" .. page.name .. ".md"):gsub("%s+", " ")
      for _, section in ipairs(page.sections) do
        for _, item in ipairs(section.items) do
          local words = table.concat(item.doc, " "):gsub("%s+", " ")
          local said = words:match("^(.-) ?Example: ") or words
          count = count + 1
          assert.is_truthy(meta:find("---" .. item.doc[1], 1, true), item.path)
          assert.is_truthy(text:find(said, 1, true), item.path)
          assert.is_truthy(help.of_name(item.path):gsub("%s+", " "):find(said, 1, true), item.path)
        end
      end
    end
    assert.is_true(count > 250)
    assert.matches("^The running combination", entries.summary(declared.item "roc.scan"))
  end)
end)

describe("Tab", function()
  local complete = require "roc.repl.complete"
  local scope = locals.new()
  assert(scope:load("local roc = require 'roc'", "=repl_spec"))()

  local function at(text) return { complete.at(text, scope) } end

  it("completes wherever a name may stand", function()
    for text, insert in pairs {
      ["roc.linsp"] = "ace", ["x = roc.linsp"] = "ace", ["f(1, roc.linsp"] = "ace",
      ["local some_name = 1 print(some_n"] = "ame", ["for index_of = 1, 2 do index_"] = "of",
      ["roc.wave.shuffle_x"] = "or", ["?roc.linsp"] = "ace", [":time roc.linsp"] = "ace",
      [":dev"] = "ices ", ["=roc.linsp"] = "ace", ["roc.zeros(1):rav"] = "el",
      ["roc.stream():synchr"] = "onize", ["('x'):lowe"] = "r", ["roc.float32.items"] = "ize",
      ["roc.zeros(1).dtype.items"] = "ize", ["roc.zeros(2, 'bfl"] = "oat16'",
      ["roc.kernel(f, {fastm"] = "ath = ", ["roc.kernel(f, {check = true, fastm"] = "ath = ",
      ["roc.kernel(f, {number = 'float3"] = "2'", ["k = roc.kernel(f) k:launch({gro"] = "",
      ["local k = {} k.x"] = "", ["-- roc.linsp"] = "", ["'roc.linsp"] = "", ["f("] = "  ",
    } do
      assert.are.same({ text, insert }, { text, (complete.at(text, scope)) })
    end
  end)

  it("shows the arguments of a function, and what fits where several do", function()
    local full = "roc.full(shape, value, dtype?, order?) -> roc.Array\n"
    assert.are.same({ "", full }, at "roc.full(")
    assert.are.same({ "", full }, at "roc.full(3, ")
    assert.are.same({ "", "rep      reverse\n" }, at "string.re")
  end)

  it("calls nothing of the script", function()
    _G.repl_spec = setmetatable({}, { __index = error, __pairs = error })
    finally(function() _G.repl_spec = nil end)
    assert.are.same({ "", "" }, at "repl_spec.x")
    assert.are.same({ "", "" }, at "repl_spec.x.y:z")
  end)
end)
