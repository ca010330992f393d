-- The interpreter seen from a shell: options, exit statuses, messages, the prompt.
local files = require "support.files"
local support = require "support.shell"
local terminal = require "support.terminal"

local shell = support.run

local function assert_prints(expected, command)
  local output, status = shell(command)
  assert.are.equal(expected, output)
  assert.are.equal(0, status)
end

local function assert_fails(pattern, command)
  local output, status = shell(command)
  assert.matches(pattern, output)
  assert.are.equal(1, status)
end

describe("roclua", function()
  if not support.interpreter then return pending("the specs do not run in roclua") end

  describe("runs scripts", function()
    it("from a file, with their arguments in arg and ...", function()
      local name = os.tmpname()
      local file = assert(io.open(name, "w"))
      file:write("#!first line\nprint(arg[0] == '" .. name .. "', arg[1], arg[-1] ~= nil, ...)\n")
      file:close()
      finally(function() os.remove(name) end)
      assert_prints("true\ta b\ttrue\ta b\t-x\n", "ROCLUA " .. name .. " 'a b' -x")
    end)

    it("from stdin, with - or without a terminal", function()
      assert_prints("1\t-\n", "echo 'print(..., arg[0])' | ROCLUA - 1")
      assert_prints("hello\n", "echo 'print \"hello\"' | ROCLUA")
      assert_prints("2\n", "printf '#!line\\nprint(debug.getinfo(1).currentline)' | ROCLUA -")
    end)

    it("and fails with the message and a traceback when they raise", function()
      assert_fails("roclua: %(command line%):1: boo\nstack traceback:\n",
        "ROCLUA -e 'error \"boo\"'")
      assert_fails("roclua: %(error object is a table value%)", "ROCLUA -e 'error {}'")
      assert_fails("roclua: cannot open '?nosuch.lua", "ROCLUA nosuch.lua")
      assert_fails("roclua: %(command line%):1: .*near <eof>", "ROCLUA -e 'x ='")
    end)

    it("and prints an error value through its __tostring", function()
      assert_fails("roclua: mine\n",
        "ROCLUA -e 'error(setmetatable({}, { __tostring = function() return \"mine\" end }))'")
    end)

    it("and exits as os.exit says", function()
      assert.are.equal(3, select(2, shell "ROCLUA -e 'os.exit(3)'"))
      assert.are.equal(0, select(2, shell "ROCLUA -e 'os.exit(true, true)'"))
      assert.are.equal(1, select(2, shell "ROCLUA -e 'os.exit(false)'"))
    end)

    it("and goes on, with its devices, where os.exit refuses the status", function()
      assert_prints("false\tbad argument #1 to 'os.exit' (number expected, got string)\n[1.]\n",
        "ROCLUA -l roc -e 'print(pcall(os.exit, \"x\")) print(roc.to_device(roc.ones(1)))'")
    end)
  end)

  describe("takes lua's options:", function()
    it("-e, several times and in order with -l and -W", function()
      assert_prints("1\n2\n", "ROCLUA -e 'print(1)' -e'print(2)'")
      assert_prints("abc\n", "ROCLUA -l s=string -e 'print(s.lower \"ABC\")'")
      assert_prints("Lua warning: seen\n", "ROCLUA -e 'warn \"unseen\"' -W -e 'warn \"seen\"'")
      local of_arrays = shell "ROCLUA -W -l roc -e 'a = roc.ones(1) print(a == a, a == -a)'"
      assert.matches("Lua warning: '==' of two arrays .*a:eq%(b%)\n", of_arrays)
      assert.matches("true\tfalse\n", of_arrays)
      assert_prints("10\n", "ROCLUA -W -l roc -e 'print(roc.scan(function(a, b) return a + b end)"
        .. "(roc.range(1, 4), { out = roc.zeros(4, \"int64\") })[4])'")
    end)

    it("-v, which alone prints the version, and --version, which adds LLVM and drivers", function()
      for _, option in ipairs { "-v", "--version" } do
        local output, status = shell("ROCLUA " .. option)
        local first, rest = output:match("^([^\n]*\n)(.*)$")
        assert.matches("^roclua %d+%.%d+%.%d+  %(Lua 5%.4%.%d+%)\n$", first)
        local line = "%a+ [^\n]+\n"
        local parts = "^LLVM %d+%.%d+%.%d+\n" .. line .. line .. "$"
        assert.matches(option == "-v" and "^$" or parts, rest)
        assert.are.equal(0, status)
      end
    end)

    it("-E, which ignores LUA_INIT", function()
      assert_prints("init\nmain\n", "LUA_INIT='print \"init\"' ROCLUA -e 'print \"main\"'")
      assert_prints("main\n", "LUA_INIT='print \"init\"' ROCLUA -E -e 'print \"main\"'")
    end)

    it("--, after which a script may begin with a dash", function()
      assert_fails("cannot open %-e", "ROCLUA -- -e")
    end)

    it("and says which one it does not know, or which lacks its argument", function()
      assert_fails("'%-x' unrecognized option\nusage: ", "ROCLUA -x")
      assert_fails("'%-%-nosuch' unrecognized option\n", "ROCLUA --nosuch")
      assert_fails("'%-e' needs argument\n", "ROCLUA -e")
      assert_fails("'%-%-device' needs argument\n", "ROCLUA --device")
      assert_fails("'%-%-device' needs argument\n", "ROCLUA --device '' x.lua")
      assert_fails("'%-%-device=' needs argument\n", "ROCLUA --device= x.lua")
      assert_fails("'%-%-stats=' needs argument\n", "ROCLUA --stats= x.lua")
    end)
  end)

  it("prints its options with --help", function()
    local output, status = shell "ROCLUA --help"
    assert.matches("^usage: .*%-%-device NAME.*%-%-list%-devices", output)
    assert.are.equal(0, status)
  end)

  it("chooses the default device with --device", function()
    assert_prints("sim\n", "ROCLUA --device sim -e 'print(require(\"roc\").current_device().kind)'")
    assert_prints("cpu\n", "ROCLUA --device=cpu -e 'print(require(\"roc\").current_device().kind)'")
  end)

  it("lists the devices", function()
    local output, status = shell "ROCLUA --list-devices"
    assert.matches("%* 1  cpu    cpu  %w[^\n]* %([^\n]*[SA][SV][EX]", (shell
      "ROCLUA_EMULATE= ROCLUA_DEVICE=cpu ROCLUA --list-devices"))
    assert.matches("\n  %d  sim    sim\n", output)
    assert.matches("\n  %-  null   not used unless it is asked for by name\n", output)
    assert.are.equal(0, status)
    assert.matches("\n%* %d  null   null\n", (shell "ROCLUA --device null --list-devices"))
    assert.matches("wavefront_size +%d+", (shell "ROCLUA --list-devices --verbose"))
  end)

  it("requires roc from what is built into it, wherever it is started", function()
    assert_prints("table\n",
      "cd / && case ROCLUA in /*) P=ROCLUA;; *) P=\"$OLDPWD/ROCLUA\";; esac; "
      .. "$P -E -e 'print(type(require \"roc\"))'")
  end)

  it("takes the Lua files of ROCLUA_LUA_DIR instead", function()
    assert_prints("lua/roc/init.lua\n",
      "ROCLUA_LUA_DIR=lua ROCLUA -e 'print((select(2, require \"roc\")))'")
    assert_prints("roc/init.lua\n", "ROCLUA -e 'print((select(2, require \"roc\")))'")
  end)

  it("says of a module that is not there what lua says, and of its own that it is not built in",
    function()
    assert_prints("module 'not.here' not found:\n\tno field package.preload['not.here']\n"
      .. "\tno file 'not/here.lua'\n\tno file 'not/here.so'\n\tno file 'not.so'\n",
      [[ROCLUA -e '
      package.path, package.cpath = "?.lua", "?.so"
      print(select(2, pcall(require, "not.here")))']])
    assert_prints("true\n", [[ROCLUA -e '
      local _, why = pcall(require, "roc.nosuch")
      print(why:find("no built%-in module .roc.nosuch.") ~= nil)']])
  end)

  it("has none of the hooks of the specs, and neither has any program that is installed", function()
    local script = os.tmpname()
    local file <close> = assert(io.open(script, "w"))
    file:write("assert(require('roc.core').testing == nil) assert(not pcall(require, ",
      "'roc.core.testing')) io.stderr:write 'none'")
    file:close()
    assert.matches("none$", (shell("ROCLUA " .. script)))
    local folder = support.interpreter:match "([^%s]*)/bin/[^/]*$"
    for _, program in ipairs { "bin/roclua", "bin/rocluac", "lib/libroclua.so.0",
      "lib/libroclua.a" } do
      local text = files.read(folder .. "/" .. program)
      assert.is_nil(text:find("most_compiles", 1, true), program)
      assert.is_nil(text:find("\0fail_alloc\0", 1, true), program)
    end
    assert.matches("none", (shell(("%s/bin/rocluac -t gfx90a %s"):format(folder, script))))
    os.remove(script)
  end)

  it("raises interrupted! at the first Ctrl-C", function()
    local output = shell [[timeout 60 ROCLUA -e 'io.popen "kill -INT $PPID" while true do end']]
    assert.matches("interrupted!\nstack traceback:", output)
  end)

  describe("at the prompt", function()
    it("takes =expression at the beginning of a chunk, as lua does", function()
      local quiet = [==[ | ROCLUA -e "_PROMPT='' _PROMPT2=''" -i | tail -n +2]==]
      assert_prints("3\t4\nb\nc\n\n", [==[printf 'a = [[b\nc]]\n=3,4\n=a\n']==] .. quiet)
      assert_prints("=3\n\n", [==[printf 'print([[\n=3]])\n']==] .. quiet)
    end)

    it("goes on where the prompts cannot be read", function()
      assert_prints("> > 2\n> \n", [==[printf '%s\n1+1\n' 'local _ = setmetatable(_G, ]==]
        .. [==[{ __index = function(_, name) error(name) end })' | ROCLUA -i | tail -n +2]==])
      assert_prints("> > 2\n> \n", [==[printf '%s\n1+1\n' '_PROMPT = setmetatable({}, ]==]
        .. [==[{ __tostring = error })' | ROCLUA -i | tail -n +2]==])
    end)

    it("prints the values of expressions and keeps globals", function()
      assert_prints("> 2\n> > 3\t4\n> \n", "printf '1+1\\nx=3\\nx,x+1\\n' | ROCLUA -i | tail -n +2")
    end)

    it("reads on while a chunk is incomplete", function()
      assert_prints("> >> >> 1\n2\n> \n",
        "printf 'for i=1,2 do\\nprint(i)\\nend\\n' | ROCLUA -i | tail -n +2")
    end)

    it("reports an error and goes on", function()
      assert_prints("stdin#1:1: boo\n2\n",
        "printf 'error \"boo\"\\n1+1\\n' | ROCLUA -i 2>&1 | grep -o -e 'stdin.*: boo' -e '2$'")
    end)

    it("has roc as a global", function()
      assert_prints("> float32\n> \n", "printf 'roc.float32\\n' | ROCLUA -i | tail -n +2")
    end)

    it("finds the source of kernels typed there", function()
      assert_prints("> > > > {11, 12}\n> \n", [[printf '%s\n' ]]
        .. [['k = roc.kernel(function(a) local i = roc.get_global_id(1) a[i] = a[i] + 10 end)' ]]
        .. [['a = roc.array({1, 2}, "int64")' 'k:forall(2)(a)' ]]
        .. [['print(("{%d, %d}"):format(a[1], a[2]))' ]]
        .. [[| ROCLUA -i | tail -n +2]])
    end)

    it("has its commands on a pipe, without colours", function()
      local output = shell([[printf '%s\n' 'k = roc.kernel(function(a) a[1] = 2 end, ]]
        .. [[{signature = "(int32[:])"})' ':ir k' ':asm k' ':types k' ':time 6 * 7' _ ':devices' ]]
        .. [['?roc.linspace' '?roc.CLK_LOCAL_MEM_FENCE' | ROCLUA -i 2>&1]])
      assert.matches("> kernel k%(a", output) -- :ir
      assert.matches("\n> %s*%.[^\n]*\n.*kernel k\n  param a: int32", output) -- :asm, :types
      assert.matches("> %d+%.%d+ [mµ]*s\n42\n> 42\n", output)
      assert.matches("wavefront_size +%d+.*> roc%.linspace%(a, b, n, dtype%?%)", output)
      assert.matches("\n> roc%.CLK_LOCAL_MEM_FENCE\n\nThe scope of shared memory", output)
      assert.is_nil(output:find "\27")
    end)

    it("gives up a line at Ctrl-C and ends at Ctrl-D, on a terminal", function()
      if not terminal.available() then return pending "no pseudo-terminal" end
      local screen, history = terminal.run("ROCLUA -i",
        { "> ", "abc\\003" }, { "abc\\^C\n> ", "20+3\\n" }, { "\n23\n> ", "\\004" })
      assert.matches("> abc%^C\r?\n> 20%+3\r?\n23\r?\n", screen)
      assert.matches("_HiStOrY_V2_\n20%+3\n$", history)
    end)
  end)
end)
