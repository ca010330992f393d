-- Ctrl-C: it finds the code that runs, in whatever coroutine, and at the end of a program what is
-- waited for is said.
local shell = require "support.shell"
local terminal = require "support.terminal"

-- Defines `ready()`, which asks for a Ctrl-C, and `spin()`, which is ended by one.
local HEAD = [[
local function ready() print "ready" io.stdout:flush() end
local function spin() ready() while true do end end
]]

-- Presses Ctrl-C for each line of the output that asks for it or says what the next one does, at
-- most so many times; two that are due at once are a second apart, as pending signals are one.
local PRESSING = [[
  pressed=0
  while [ $pressed -lt %d ] && kill -0 $$ 2>/dev/null; do
    due=$(grep -c "^ready\|Ctrl-C" %s)
    [ $due -gt $pressed ] && kill -INT $$ && pressed=$((pressed + 1))
    [ $due -gt $pressed ] && sleep 1
    sleep 0.02
  done]]

local function run(text, presses)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write(HEAD, text)
  file:close()
  local screen = path .. ".out"
  local output, status = shell.run(([[touch %s; timeout -s KILL 60 sh -c '{ %s; } &
    exec ROCLUA_SPEC %s >%s 2>&1' 2>&1; status=$?; cat %s; exit $status]]):format(screen,
    PRESSING:format(presses or 1, screen), path, screen, screen))
  os.remove(path)
  os.remove(screen)
  return output:gsub("ready\n", ""):gsub(path:gsub("%p", "%%%0"), "script"), status
end

-- Each spins in a coroutine; what it prints after Ctrl-C.
local SPINNING = {
  ["of coroutine.resume"] = "local co = coroutine.create(spin) "
    .. "print(coroutine.resume(co)) print(coroutine.status(co))",
  ["of coroutine.wrap"] = "local f = coroutine.wrap(spin) print(pcall(f))",
  ["that has run before"] = "local f = coroutine.wrap(function() coroutine.yield(1) spin() end) "
    .. "print(pcall(function() for x in f do assert(x == 1) end end))",
  ["inside two others"] = [[
    local f = coroutine.wrap(function()
      local co = coroutine.create(function() coroutine.wrap(spin)() end)
      error((select(2, coroutine.resume(co))))
    end)
    print(pcall(f))]],
  ["that others yield to"] = [[
    local other = coroutine.wrap(function() while true do coroutine.yield() end end)
    local f = coroutine.wrap(function() ready() while true do other() coroutine.isyieldable() end end)
    print(pcall(f))]],
  ["below a C function"] = "local f = coroutine.wrap(function() table.sort({ 3, 1, 2 }, spin) end) "
    .. "print(pcall(f))",
  ["below a metamethod and a protected call"] = [[
    local t = setmetatable({}, { __index = spin })
    local f = coroutine.wrap(function() return pcall(function() return t.x end) end)
    print(f())]],
  ["that is made anew again and again"] = "print(pcall(function() ready() while true do "
    .. "coroutine.wrap(function() for i = 1, 9 do coroutine.yield() end end)() end end))",
  ["that closes a variable"] = [[
    local co = coroutine.create(function()
      local x <close> = setmetatable({}, { __close = spin })
      coroutine.yield()
    end)
    coroutine.resume(co)
    print(coroutine.close(co))]],
  ["that closes a variable after an error"] = [[
    local f = coroutine.wrap(function()
      local x <close> = setmetatable({}, { __close = spin })
      error "mine"
    end)
    print(pcall(f))]],
}

describe("Ctrl-C", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  for name, text in pairs(SPINNING) do
    it("interrupts the code of a coroutine " .. name, function()
      local output, status = run(text .. "\nprint 'on'")
      assert.matches("^false\t[^\n]*interrupted!\n.*on\n$", output)
      assert.are.equal(0, status)
    end)
  end

  it("leaves the other coroutines and the script as they were", function()
    local output, status = run [[
      local other = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
      print(other())
      print(pcall(coroutine.wrap(function() other() spin() end)))
      print(other())]]
    assert.matches("^1\nfalse\t[^\n]*interrupted!\n3\n$", output)
    assert.are.equal(0, status)
  end)

  it("is one error each time, once the last was taken", function()
    local output, status = run([[
      for _ = 1, 3 do
        print(pcall(coroutine.wrap(spin)))
        print(pcall(spin))
      end]], 6)
    local _, count = output:gsub("interrupted!", "")
    assert.are.same({ 6, 0 }, { count, status })
  end)

  it("ends the process when the last was not taken", function()
    -- matching takes minutes, and Lua looks for nothing meanwhile
    local output, status = run([[
      ready()
      ready()
      print(("a"):rep(40):find(("a-"):rep(40) .. "b"))]], 2)
    assert.are.same({ "", 130 }, { output, status })
  end)

  it("at the prompt ends a coroutine and comes back", function()
    if not terminal.available() then return pending "no pseudo-terminal" end
    local screen = terminal.run("ROCLUA -i",
      { "> ", 'coroutine.wrap(function() print "spins" while true do end end)()\\n' },
      { "\nspins\n", "\\003" }, { "interrupted!.*\n> ", "20+3\\n" }, { "\n23\n> ", "\\004" })
    assert.matches("interrupted!.*> 20%+3\r?\n23\r?\n", screen)
  end)
end)

describe("a program whose devices still work at its end", function()
  if not shell.interpreter then return pending("the specs do not run in roclua") end

  -- Work that never ends, on a device that cannot be stopped.
  local HELD = [[
    local roc = require "roc"
    roc.select_device "null"
    require("roc.core").testing.null_hold(true)
    local held = roc.kernel(function(a) a[1] = 1 end)
    held:forall(1)(roc.device_array(4))
  ]]
  local WAITING = "roclua[^\n]*: waiting for kernel 'held' %(launched at script:7%); "

  it("says for which kernel after a while, and at Ctrl-C, and ends at the second", function()
    local output, status = run(HELD, 2)
    assert.matches("^[^\n]*" .. WAITING .. "Ctrl%-C ends the wait\n[^\n]*" .. WAITING
      .. "a second Ctrl%-C ends the process\n$", output)
    assert.are.equal(130, status)
  end)

  it("ends soon after one Ctrl-C with an error, where nothing stops", function()
    local output, status = run(HELD .. "os.exit(0)")
    assert.matches(WAITING .. "a second Ctrl%-C ends the process\n[^\n]*interrupted!\n$", output)
    assert.are.equal(1, status)
  end)

  it("waits on after a Ctrl-C that ended a wait of the script, and says so", function()
    local output, status = run(HELD .. [[
      print(pcall(function() ready() roc.current_device():synchronize() end))]], 2)
    assert.matches("^false\t[^\n]*interrupted!\n[^\n]*" .. WAITING
      .. "a second Ctrl%-C ends the process\n$", output)
    assert.are.equal(130, status)
  end)

  it("says nothing where the work ends by itself", function()
    assert.are.same({ "", 0 }, { run [[
      local roc = require "roc"
      roc.kernel(function(a) a[1] = 1 end):forall(1)(roc.device_array(4))]] })
  end)
end)

describe("coroutine", function()
  it("has functions that do what Lua's do", function()
    local co = coroutine.create(function(...)
      local sum = select("#", ...)
      while true do sum = sum + select("#", coroutine.yield(sum, nil)) end
    end)
    assert.same({ n = 3, true, 2 }, table.pack(coroutine.resume(co, 1, nil)))
    assert.same({ n = 3, true, 5 }, table.pack(coroutine.resume(co, 1, 2, 3)))
    assert.is_true(coroutine.close(co))
    assert.same({ false, "cannot resume dead coroutine" }, { coroutine.resume(co) })
    local f = coroutine.wrap(function() return 1, nil, nil end)
    assert.same({ n = 3, 1 }, table.pack(f()))
    local ok, why = pcall(function() f() end)
    assert.is_false(ok)
    assert.matches("_spec.lua:%d+: cannot resume dead coroutine$", why)
    local object = {}
    ok, why = pcall(coroutine.wrap(function() error(object) end))
    assert.is_false(ok)
    assert.equal(object, why)
    local closed
    ok, why = pcall(coroutine.wrap(function()
      local _ <close> = setmetatable({}, { __close = function(_, e) closed = e error "last" end })
      error "first"
    end))
    assert.is_false(ok)
    assert.matches("first$", closed)
    assert.matches("last$", why)
    for _, call in ipairs { coroutine.resume, coroutine.close } do
      assert.error_matches(function() call(1) end,
        "bad argument #1 to 'call' %(coroutine expected")
    end
    assert.error_matches(function() coroutine.wrap(1) end, "function expected")
    assert.error_matches(function() coroutine.close((coroutine.running())) end,
      "cannot close a running coroutine")
    assert.same({ false, "cannot resume non-suspended coroutine" },
      { coroutine.resume((coroutine.running())) })
  end)
end)
